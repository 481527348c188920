-- Files that guests hand in: what is known of each. Their bytes lie elsewhere, under the key.

create table guest_file (
    organization_id blob not null references organization (id),
    id blob not null,
    reservation_id blob not null,
    step_id blob not null,
    key text not null,
    created_at integer not null,
    -- When it is looked at whether it has been kept for long enough.
    due_at integer not null,
    doc text not null,
    primary key (organization_id, id)
) strict, without rowid;
create index guest_file_by_stay on guest_file (organization_id, reservation_id, created_at, id);
create unique index guest_file_by_key on guest_file (key);
create index guest_file_due on guest_file (due_at);

-- Keys whose bytes are to be removed, and folders of them, which end with a slash.

create table file_removal (
    organization_id blob not null,
    key text not null,
    primary key (organization_id, key)
) strict, without rowid;

-- Work that one of all nodes does now and then, and when the next of them may.

create table duty (
    name text primary key,
    due_at integer not null
) strict, without rowid;
