-- A key whose token has been replaced: the token before the newest, and until when it is good.

alter table api_key add column replaced_hash bytea;
alter table api_key add column replaced_until timestamptz;
create unique index api_key_by_replaced_hash on api_key (replaced_hash) where replaced_hash is not null;

-- An organization that is erased is found by nothing any more, while its rows are removed little by little.

alter table organization add column erased_at timestamptz;
create index organization_erased on organization (erased_at, id) where erased_at is not null;

-- Which version of the program wrote what lists read beside the documents.

create table summary_version (
    name text primary key,
    version bigint not null
);
