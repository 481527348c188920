-- What guests do before they arrive.

create table precheck_step (
    organization_id blob not null references organization (id),
    id blob not null,
    step_type text not null,
    sort_order integer,
    is_active integer not null,
    is_used integer not null,
    created_at integer not null,
    updated_at integer not null,
    summary text not null,
    doc text not null,
    primary key (organization_id, id)
) strict;

create table precheck_answer (
    organization_id blob not null references organization (id),
    reservation_id blob not null,
    step_id blob not null,
    saved_at integer not null,
    doc text not null,
    primary key (organization_id, reservation_id, step_id)
) strict;

create table precheckin (
    organization_id blob not null references organization (id),
    reservation_id blob not null,
    status text not null,
    submitted_at integer not null,
    primary key (organization_id, reservation_id)
) strict;

create table guest_message (
    organization_id blob not null references organization (id),
    id blob not null,
    reservation_id blob not null,
    text text not null,
    created_at integer not null,
    primary key (organization_id, id)
) strict;
create index guest_message_by_stay on guest_message (organization_id, reservation_id, created_at, id);
