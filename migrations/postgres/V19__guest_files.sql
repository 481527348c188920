-- Files that guests hand in: what is known of each. Their bytes lie elsewhere, under the key.

create table guest_file (
    organization_id uuid not null references organization (id),
    id uuid not null,
    reservation_id uuid not null,
    step_id uuid not null,
    key text collate "C" not null,
    created_at timestamptz not null,
    -- When it is looked at whether it has been kept for long enough.
    due_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id)
);
create index guest_file_by_stay on guest_file (organization_id, reservation_id, created_at, id);
create unique index guest_file_by_key on guest_file (key);
create index guest_file_due on guest_file (due_at);

-- Keys whose bytes are to be removed, and folders of them, which end with a slash.

create table file_removal (
    organization_id uuid not null,
    key text collate "C" not null,
    primary key (organization_id, key)
);

-- Work that one of all nodes does now and then, and when the next of them may.

create table duty (
    name text collate "C" primary key,
    due_at timestamptz not null
);
