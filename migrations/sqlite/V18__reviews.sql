-- What staff decided of a submission, and the property of its stay, by which a list for some properties passes over no others.

alter table precheckin add column property_id blob;
alter table precheckin add column doc text not null default '{}';
update precheckin set property_id = (select r.property_id from record r
    where r.organization_id = precheckin.organization_id and r.kind = 'reservation' and r.id = precheckin.reservation_id);

-- A list and its count are read from one of these alone, the longest waiting first.
create index precheckin_in_order on precheckin (organization_id, submitted_at, reservation_id);
create index precheckin_by_status on precheckin (organization_id, status, submitted_at, reservation_id);
create index precheckin_by_property on precheckin (organization_id, property_id, submitted_at, reservation_id, status);

-- What guests did, in order, and how far the order goes in each organization.

create table guest_change_cursor (
    organization_id blob primary key references organization (id),
    latest integer not null,
    latest_at integer not null
) strict, without rowid;

create table guest_change (
    organization_id blob not null references organization (id),
    cursor integer not null,
    kind text not null,
    reservation_id blob not null,
    step_id blob,
    occurred_at integer not null,
    primary key (organization_id, cursor)
) strict, without rowid;
create index guest_change_by_age on guest_change (occurred_at, organization_id, cursor);
