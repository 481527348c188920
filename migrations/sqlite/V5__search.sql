-- What is searched by name. A name is taken out of its document once, when it is written, and the search reads these indexes
-- alone, though a query plan calls no index over derived columns a covering one.

alter table record add column name text
    generated always as (case when kind in ('property', 'property_group', 'tag') then doc ->> 'name' end) virtual;
create index record_by_name on record (organization_id, kind, name, id) where name is not null;

alter table precheck_step add column nickname text generated always as (doc ->> 'nickname') virtual;
alter table precheck_step add column title_id blob
    generated always as (unhex(replace(doc ->> 'displayTitleMlTextId', '-', ''))) virtual;
create index precheck_step_by_name on precheck_step (organization_id, nickname, id, title_id);

alter table manual add column nickname text generated always as (doc -> 'answered' ->> 'nickname') virtual;
create index manual_by_name on manual (organization_id, nickname, id);
