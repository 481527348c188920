-- Devices that went offline and are back: a row goes when that is told, or is so no more.

create table device_timer (
    organization_id blob not null references organization (id),
    device_id blob not null,
    online_since integer not null,
    primary key (organization_id, device_id)
) strict, without rowid;
create index device_timer_due on device_timer (online_since, organization_id);

-- What all nodes on this database sign with. Made by the first one that starts.

create table secret (
    name text primary key,
    value blob not null
) strict, without rowid;
