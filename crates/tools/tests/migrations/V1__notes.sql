-- Tables of the engine.

create table organization (
    id blob primary key,
    revision integer not null,
    stream_revision integer not null default 0,
    created_at integer not null,
    updated_at integer not null,
    erased_at integer,
    doc text not null
) strict;

create table api_key (
    id blob primary key,
    organization_id blob not null references organization (id),
    token_hash blob not null unique,
    replaced_hash blob,
    replaced_until integer,
    created_at integer not null,
    doc text not null
) strict;

create table member (
    organization_id blob not null references organization (id),
    id blob not null,
    doc text not null,
    primary key (organization_id, id)
) strict, without rowid;

create table access_token (
    id blob primary key,
    organization_id blob not null,
    member_id blob not null,
    oauth_app_id blob not null,
    token_hash blob not null unique,
    created_at integer not null,
    doc text not null
) strict;

create table idempotency_record (
    organization_id blob not null references organization (id),
    credential text not null,
    key text not null,
    fingerprint blob not null,
    status integer not null,
    body text not null,
    completed_at integer not null,
    primary key (organization_id, credential, key)
) strict, without rowid;

-- The table of the example.

create table note (
    organization_id blob not null references organization (id),
    id blob not null,
    doc text not null,
    primary key (organization_id, id)
) strict, without rowid;
