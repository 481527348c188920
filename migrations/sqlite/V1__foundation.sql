-- Who may call, and for which organization.

create table organization (
    id blob primary key,
    revision integer not null,
    created_at integer not null,
    updated_at integer not null,
    doc text not null
) strict;

create table api_key (
    id blob primary key,
    organization_id blob not null references organization (id),
    token_hash blob not null unique,
    created_at integer not null,
    doc text not null
) strict;
create index api_key_by_organization on api_key (organization_id, created_at, id);

create table member (
    organization_id blob not null references organization (id),
    id blob not null,
    created_at integer not null,
    updated_at integer not null,
    doc text not null,
    primary key (organization_id, id)
) strict, without rowid;

create table oauth_app (
    id blob primary key,
    created_at integer not null,
    updated_at integer not null,
    doc text not null
) strict;

create table access_token (
    id blob primary key,
    organization_id blob not null,
    member_id blob not null,
    oauth_app_id blob not null references oauth_app (id),
    token_hash blob not null unique,
    created_at integer not null,
    doc text not null,
    foreign key (organization_id, member_id) references member (organization_id, id)
) strict;
create index access_token_by_connection on access_token (organization_id, member_id, oauth_app_id);

-- What the platform synchronizes: one row a record, whatever its kind.

create table record (
    organization_id blob not null references organization (id),
    kind text not null,
    id blob not null,
    property_id blob,
    created_at integer not null,
    updated_at integer not null,
    doc text not null,
    primary key (organization_id, kind, id)
) strict;
create index record_in_order on record (organization_id, kind, created_at, id);
create index record_by_property on record (organization_id, property_id, kind);

create table record_link (
    organization_id blob not null,
    from_kind text not null,
    from_id blob not null,
    to_kind text not null,
    to_id blob not null,
    primary key (organization_id, from_kind, from_id, to_kind, to_id)
) strict, without rowid;
create index record_link_by_target on record_link (organization_id, to_kind, to_id, from_kind, from_id);

create table guest_link (
    token text primary key,
    organization_id blob not null references organization (id),
    reservation_id blob not null,
    unique (organization_id, reservation_id)
) strict, without rowid;

-- What the organization configures.

create table translation (
    organization_id blob not null references organization (id),
    id blob not null,
    source_table text not null,
    created_at integer not null,
    updated_at integer not null,
    primary key (organization_id, id)
) strict, without rowid;

create table translation_entry (
    organization_id blob not null,
    translation_id blob not null,
    language text not null,
    text text not null,
    is_machine_translated integer not null,
    updated_at integer not null,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;

create table portal_branding (
    organization_id blob not null references organization (id),
    id blob not null,
    is_default integer not null,
    created_at integer not null,
    updated_at integer not null,
    doc text not null,
    primary key (organization_id, id)
) strict;
create unique index portal_branding_default on portal_branding (organization_id) where is_default = true;

create table portal (
    organization_id blob not null references organization (id),
    id blob not null,
    name_key text,
    is_default integer not null,
    created_at integer not null,
    updated_at integer not null,
    summary text not null,
    doc text not null,
    primary key (organization_id, id)
) strict;
-- The list is read from this index alone.
create index portal_in_order on portal (organization_id, created_at, id, summary);
create unique index portal_name on portal (organization_id, name_key);
create unique index portal_default on portal (organization_id) where is_default = true;

create table entity_scope (
    organization_id blob not null references organization (id),
    entity_type text not null,
    entity_id blob not null,
    target_kind text not null,
    target_id blob not null,
    created_at integer not null,
    primary key (organization_id, entity_type, entity_id, target_kind, target_id)
) strict, without rowid;
create index entity_scope_by_target on entity_scope (organization_id, target_kind, target_id, entity_type, entity_id);

-- What is told to other systems.

create table webhook_subscription (
    organization_id blob not null references organization (id),
    id blob not null,
    credential text not null,
    event text not null,
    target_url text not null,
    consecutive_failures integer not null,
    disabled_at integer,
    disabled_reason text,
    last_delivered_at integer,
    created_at integer not null,
    doc text not null,
    primary key (organization_id, id)
) strict;
create index webhook_subscription_by_event on webhook_subscription (organization_id, event) where disabled_at is null;
create index webhook_subscription_by_credential on webhook_subscription (organization_id, credential, created_at, id);

create table webhook_delivery (
    id blob primary key,
    organization_id blob not null,
    subscription_id blob not null,
    status text not null,
    next_attempt_at integer,
    leased_until integer,
    created_at integer not null,
    doc text not null,
    foreign key (organization_id, subscription_id) references webhook_subscription (organization_id, id) on delete cascade
) strict;
create index webhook_delivery_due on webhook_delivery (next_attempt_at, id) where status = 'pending';
create index webhook_delivery_log on webhook_delivery (organization_id, subscription_id, created_at, id);

-- What was answered, for retries with the same Idempotency-Key.

create table idempotency_record (
    credential text not null,
    key text not null,
    organization_id blob not null references organization (id),
    fingerprint blob not null,
    status integer not null,
    body text not null,
    completed_at integer not null,
    primary key (credential, key)
) strict;
create index idempotency_record_by_age on idempotency_record (completed_at);
