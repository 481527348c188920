-- Who may call, and for which organization.

create table organization (
    id uuid primary key,
    revision bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null
);

create table api_key (
    id uuid primary key,
    organization_id uuid not null references organization (id),
    token_hash bytea not null unique,
    created_at timestamptz not null,
    doc jsonb not null
);
create index api_key_by_organization on api_key (organization_id, created_at, id);

create table member (
    organization_id uuid not null references organization (id),
    id uuid not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id)
);

create table oauth_app (
    id uuid primary key,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null
);

create table access_token (
    id uuid primary key,
    organization_id uuid not null,
    member_id uuid not null,
    oauth_app_id uuid not null references oauth_app (id),
    token_hash bytea not null unique,
    created_at timestamptz not null,
    doc jsonb not null,
    foreign key (organization_id, member_id) references member (organization_id, id)
);
create index access_token_by_connection on access_token (organization_id, member_id, oauth_app_id);

-- What the platform synchronizes: one row a record, whatever its kind.

create table record (
    organization_id uuid not null references organization (id),
    kind text collate "C" not null,
    id uuid not null,
    property_id uuid,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, kind, id)
);
create index record_in_order on record (organization_id, kind, created_at, id);
create index record_by_property on record (organization_id, property_id, kind);

create table record_link (
    organization_id uuid not null,
    from_kind text not null,
    from_id uuid not null,
    to_kind text not null,
    to_id uuid not null,
    primary key (organization_id, from_kind, from_id, to_kind, to_id)
);
create index record_link_by_target on record_link (organization_id, to_kind, to_id, from_kind, from_id);

create table guest_link (
    token text primary key,
    organization_id uuid not null references organization (id),
    reservation_id uuid not null,
    unique (organization_id, reservation_id)
);

-- What the organization configures.

create table translation (
    organization_id uuid not null references organization (id),
    id uuid not null,
    source_table text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (organization_id, id)
);

create table translation_entry (
    organization_id uuid not null,
    translation_id uuid not null,
    language text collate "C" not null,
    text text not null,
    is_machine_translated boolean not null,
    updated_at timestamptz not null,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
);

create table portal_branding (
    organization_id uuid not null references organization (id),
    id uuid not null,
    is_default boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id)
);
create unique index portal_branding_default on portal_branding (organization_id) where is_default;

create table portal (
    organization_id uuid not null references organization (id),
    id uuid not null,
    name_key text collate "C",
    is_default boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    summary text not null,
    doc jsonb not null,
    primary key (organization_id, id)
);
-- The list is read from this index alone.
create index portal_in_order on portal (organization_id, created_at, id) include (summary);
create unique index portal_name on portal (organization_id, name_key);
create unique index portal_default on portal (organization_id) where is_default;

create table entity_scope (
    organization_id uuid not null references organization (id),
    entity_type text not null,
    entity_id uuid not null,
    target_kind text not null,
    target_id uuid not null,
    created_at timestamptz not null,
    primary key (organization_id, entity_type, entity_id, target_kind, target_id)
);
create index entity_scope_by_target on entity_scope (organization_id, target_kind, target_id, entity_type, entity_id);

-- What is told to other systems.

create table webhook_subscription (
    organization_id uuid not null references organization (id),
    id uuid not null,
    credential text not null,
    event text not null,
    target_url text not null,
    consecutive_failures bigint not null,
    disabled_at timestamptz,
    disabled_reason text,
    last_delivered_at timestamptz,
    created_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id)
);
create index webhook_subscription_by_event on webhook_subscription (organization_id, event) where disabled_at is null;
create index webhook_subscription_by_credential on webhook_subscription (organization_id, credential, created_at, id);

create table webhook_delivery (
    id uuid primary key,
    organization_id uuid not null,
    subscription_id uuid not null,
    status text not null,
    next_attempt_at timestamptz,
    leased_until timestamptz,
    created_at timestamptz not null,
    doc jsonb not null,
    foreign key (organization_id, subscription_id) references webhook_subscription (organization_id, id) on delete cascade
);
create index webhook_delivery_due on webhook_delivery (next_attempt_at, id) where status = 'pending';
create index webhook_delivery_log on webhook_delivery (organization_id, subscription_id, created_at, id);

-- What was answered, for retries with the same Idempotency-Key.

create table idempotency_record (
    credential text not null,
    key text collate "C" not null,
    organization_id uuid not null references organization (id),
    fingerprint bytea not null,
    status bigint not null,
    body text not null,
    completed_at timestamptz not null,
    primary key (credential, key)
);
create index idempotency_record_by_age on idempotency_record (completed_at);
