-- What is searched by name. A name stands in its row beside the document, which may be long and is left packed. It is in no
-- index: a name may be longer than an entry of one can be.

alter table record add column name text
    generated always as (case when kind in ('property', 'property_group', 'tag') then doc ->> 'name' end) stored;

alter table precheck_step
    add column nickname text generated always as (doc ->> 'nickname') stored,
    add column title_id uuid generated always as ((doc ->> 'displayTitleMlTextId')::uuid) stored;

alter table manual add column nickname text generated always as (doc -> 'answered' ->> 'nickname') stored;
