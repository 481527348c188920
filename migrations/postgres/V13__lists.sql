-- What lists of records are filtered by. It is taken out of the document by whoever writes the record: how names are folded,
-- no database knows. Records that are there already get it when the process next starts.

alter table record add column status text collate "C";
alter table record add column check_in text collate "C";
alter table record add column name_key text collate "C";
create index record_unfilled on record (kind) where name_key is null and kind in ('property', 'reservation');

-- A list and its count are read from one of these alone, whatever it is filtered by.
drop index record_in_order;
create index record_in_order on record (organization_id, kind, created_at, id) include (property_id, status, check_in, name_key);
drop index record_by_property;
create index record_by_property on record (organization_id, property_id, kind, created_at, id) include (status, check_in, name_key);
create index record_by_status on record (organization_id, kind, status, created_at, id) include (name_key)
    where status is not null;
create index record_by_check_in on record (organization_id, kind, check_in) include (created_at, id, property_id, status, name_key)
    where check_in is not null;

-- How many records of a kind there are, in blocks along their order, so that a page far back is found without passing over
-- what comes before it. A block holds the records from its own place up to that of the next; the first begins before them all.
create table record_block (
    organization_id uuid not null references organization (id) on delete cascade,
    kind text collate "C" not null,
    from_created_at timestamptz not null,
    from_id uuid not null,
    records bigint not null,
    primary key (organization_id, kind, from_created_at, from_id)
);

insert into record_block (organization_id, kind, from_created_at, from_id, records)
select organization_id, kind, case when place = 1 then '1970-01-01T00:00:00Z' else created_at end,
    case when place = 1 then '00000000-0000-0000-0000-000000000000' else id end, least(4000, total - place + 1)
from (
    select organization_id, kind, created_at, id, count(*) over (partition by organization_id, kind) as total,
        row_number() over (partition by organization_id, kind order by created_at, id) as place
    from record
) as placed
where place % 4000 = 1;
