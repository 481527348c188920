-- What guests do before they arrive.

create table precheck_step (
    organization_id uuid not null references organization (id),
    id uuid not null,
    step_type text not null,
    sort_order bigint,
    is_active boolean not null,
    is_used boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    summary text not null,
    doc jsonb not null,
    primary key (organization_id, id)
);

create table precheck_answer (
    organization_id uuid not null references organization (id),
    reservation_id uuid not null,
    step_id uuid not null,
    saved_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, reservation_id, step_id)
);

create table precheckin (
    organization_id uuid not null references organization (id),
    reservation_id uuid not null,
    status text not null,
    submitted_at timestamptz not null,
    primary key (organization_id, reservation_id)
);

create table guest_message (
    organization_id uuid not null references organization (id),
    id uuid not null,
    reservation_id uuid not null,
    text text not null,
    created_at timestamptz not null,
    primary key (organization_id, id)
);
create index guest_message_by_stay on guest_message (organization_id, reservation_id, created_at, id);
