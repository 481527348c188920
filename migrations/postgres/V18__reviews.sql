-- What staff decided of a submission, and the property of its stay, by which a list for some properties passes over no others.

alter table precheckin add column property_id uuid;
alter table precheckin add column doc jsonb not null default '{}';
update precheckin set property_id = (select r.property_id from record r
    where r.organization_id = precheckin.organization_id and r.kind = 'reservation' and r.id = precheckin.reservation_id);

-- A list and its count are read from one of these alone, the longest waiting first.
create index precheckin_in_order on precheckin (organization_id, submitted_at, reservation_id);
create index precheckin_by_status on precheckin (organization_id, status, submitted_at, reservation_id);
create index precheckin_by_property on precheckin (organization_id, property_id, submitted_at, reservation_id) include (status);

-- What guests did, in order, and how far the order goes in each organization.

create table guest_change_cursor (
    organization_id uuid primary key references organization (id),
    latest bigint not null,
    latest_at timestamptz not null
);

create table guest_change (
    organization_id uuid not null references organization (id),
    cursor bigint not null,
    kind text not null,
    reservation_id uuid not null,
    step_id uuid,
    occurred_at timestamptz not null,
    primary key (organization_id, cursor)
);
create index guest_change_by_age on guest_change (occurred_at, organization_id, cursor);
