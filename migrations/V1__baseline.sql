-- The schema, in one text for both databases. The build fills in each database's types:
--
--   id        a UUID                           uuid                     blob
--   moment    an instant, in microseconds      timestamptz              integer
--   json      a document                       jsonb                    text
--   bytes     a hash or a secret               bytea                    blob
--   flag      true or false                    boolean                  integer
--   integer   64 bits                          bigint                   integer
--   bytewise  text that is compared by bytes   text collate "C"         text
--
-- PostgreSQL leaves out what follows `strict`. SQLite has no `include`: those columns become part of the index.
-- A line that ends with `-- only postgres` or `-- only sqlite` is left out for the other.
--
-- A primary key begins with the organization, so that a table can be distributed by it (docs/how-to/distribute-organizations.md).
-- A secret is stored as its hash alone.

-- Organizations, and who may call.

create table organization (
    id id primary key,
    -- Raised by each change of the configuration, and of the records that it refers to.
    revision integer not null,
    -- Raised by each change of reservations, tasks and other records that come and go.
    stream_revision integer not null default 0,
    -- The latest change of a record. No later change has an earlier time, so that a reader of changes misses none.
    records_at moment,
    created_at moment not null,
    updated_at moment not null,
    -- Set when the organization is deleted. No statement finds it from then on; its rows are removed in steps.
    erased_at moment,
    doc json not null
) strict;
create index organization_erased on organization (erased_at, id) where erased_at is not null;

create table api_key (
    organization_id id not null references organization (id),
    id id not null,
    token_hash bytes not null,
    -- The token before a rotation, and until when it is accepted.
    replaced_hash bytes,
    replaced_until moment,
    -- To the minute.
    last_used_at moment,
    created_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict;
create index api_key_by_token on api_key (token_hash);
create index api_key_by_replaced_token on api_key (replaced_hash) where replaced_hash is not null;
create index api_key_by_organization on api_key (organization_id, created_at, id);

-- Hashes of API keys that were revoked, kept for a while so that a refusal can say so.
create table revoked_key (
    organization_id id not null references organization (id),
    token_hash bytes not null,
    revoked_at moment not null,
    primary key (organization_id, token_hash)
) strict;
create index revoked_key_by_time on revoked_key (organization_id, revoked_at);

create table member (
    organization_id id not null references organization (id),
    id id not null,
    created_at moment not null,
    updated_at moment not null,
    doc json not null,
    -- The address in lower case (ASCII letters only).
    email_key text generated always as (lower((doc ->> 'email') collate "C")) virtual, -- only postgres
    email_key text generated always as (lower(json_extract(doc, '$.email'))) virtual, -- only sqlite
    primary key (organization_id, id)
) strict, without rowid;
create index member_by_email on member (email_key);
create index member_by_change on member (organization_id, updated_at, id);

create table oauth_app (
    id id primary key,
    -- Of a client that is described by a metadata document: the address of that document.
    document_url text,
    -- Since when no member has allowed the app anything. Null for the apps of the platform, which are kept.
    idle_since moment,
    -- The secret of a confidential app, and the one before it with the end of its validity.
    secret_hash bytes,
    replaced_hash bytes,
    replaced_until moment,
    created_at moment not null,
    updated_at moment not null,
    doc json not null
) strict;
create unique index oauth_app_document on oauth_app (document_url);
create index oauth_app_idle on oauth_app (idle_since, id) where idle_since is not null;
create index oauth_app_document_idle on oauth_app (idle_since, id) where document_url is not null;

-- What a member has allowed an app: an authorization code at first, tokens once the code is exchanged.
create table oauth_grant (
    organization_id id not null,
    id id not null,
    member_id id not null,
    oauth_app_id id not null references oauth_app (id),
    resource text not null,
    code_hash bytes not null,
    created_at moment not null,
    exchanged_at moment,
    used_at moment not null,
    expires_at moment not null,
    doc json not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
) strict;
create index oauth_grant_by_code on oauth_grant (code_hash);
create index oauth_grant_by_connection on oauth_grant (organization_id, oauth_app_id, member_id, resource);
create index oauth_grant_ended on oauth_grant (expires_at);
create index oauth_grant_of_app on oauth_grant (oauth_app_id, member_id);
create index oauth_grant_of_member on oauth_grant (organization_id, member_id, id);

create table access_token (
    organization_id id not null,
    id id not null,
    member_id id not null,
    oauth_app_id id not null references oauth_app (id),
    -- Null for a token that the platform issued.
    grant_id id,
    token_hash bytes not null,
    created_at moment not null,
    expires_at moment,
    doc json not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id),
    foreign key (organization_id, grant_id) references oauth_grant (organization_id, id) on delete cascade
) strict;
create index access_token_by_token on access_token (token_hash);
create index access_token_by_connection on access_token (organization_id, member_id, oauth_app_id);
create index access_token_ended on access_token (expires_at) where expires_at is not null;
create index access_token_of_app on access_token (oauth_app_id, member_id);
create index access_token_of_grant on access_token (grant_id, id) where grant_id is not null;

create table oauth_refresh_token (
    organization_id id not null,
    token_hash bytes not null,
    grant_id id not null,
    id id not null,
    replaced_at moment,
    -- Of a replaced token: what its successors are derived from, together with the token itself, and their scope.
    seed text,
    scope text,
    expires_at moment not null,
    primary key (organization_id, token_hash),
    foreign key (organization_id, grant_id) references oauth_grant (organization_id, id) on delete cascade
) strict, without rowid;
create index oauth_refresh_token_ended on oauth_refresh_token (expires_at);
create index oauth_refresh_token_of_grant on oauth_refresh_token (grant_id, id);

create table member_session (
    organization_id id not null,
    id id not null,
    member_id id not null,
    token_hash bytes not null,
    created_at moment not null,
    used_at moment not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
) strict;
create index member_session_by_token on member_session (token_hash);
create index member_session_of on member_session (organization_id, member_id, created_at, id);
create index member_session_by_start on member_session (created_at);
create index member_session_by_use on member_session (used_at);

-- Sign-in links, each good once.
create table sign_in_ticket (
    organization_id id not null,
    id id not null,
    member_id id not null,
    token_hash bytes not null,
    expires_at moment not null,
    return_to text not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
) strict;
create index sign_in_ticket_by_token on sign_in_ticket (token_hash);
create index sign_in_ticket_of on sign_in_ticket (organization_id, member_id, expires_at, id);
create index sign_in_ticket_by_end on sign_in_ticket (expires_at);

-- Links to set up the first organization. They are good until there is one.
create table setup_ticket (
    token_hash bytes primary key,
    expires_at moment not null
) strict;

-- Records: one row each, whatever their kind.

create table record (
    organization_id id not null references organization (id),
    kind bytewise not null,
    id id not null,
    property_id id,
    created_at moment not null,
    updated_at moment not null,
    doc json not null,
    -- Who wrote the record: the platform, a member or a program by hand, or a calendar feed.
    origin bytewise not null,
    -- What the search finds a record by.
    name text generated always as (case when kind in ('property', 'property_group', 'tag') then doc ->> 'name' end) virtual,
    -- What lists are filtered by. The writer of the record takes these out of the document, because no database folds names as needed.
    status bytewise,
    check_in bytewise,
    name_key bytewise,
    -- The folded e-mail address of a reservation's guest, by which earlier stays are found.
    guest_email bytewise,
    -- The references by which staff find a stay or a flat, each between two blanks.
    lookup_key bytewise,
    primary key (organization_id, kind, id)
) strict;
-- A list and its count are read from one of these indexes alone.
create index record_in_order on record (organization_id, kind, created_at, id) include (property_id, status, check_in, name_key);
create index record_by_status on record (organization_id, kind, status, created_at, id) include (name_key) where status is not null;
create index record_by_property on record (organization_id, property_id, kind, created_at, id) include (status, check_in, name_key);
create index record_by_check_in on record (organization_id, kind, check_in) include (created_at, id, property_id, status, name_key) where check_in is not null;
create index record_by_guest_email on record (organization_id, guest_email, kind, status, check_in, id) where guest_email is not null;
create index record_by_change on record (organization_id, kind, updated_at, id) include (property_id, status, check_in, name_key);
create index record_by_reference on record (organization_id, kind, lookup_key, id) where lookup_key is not null;
create index record_by_name on record (organization_id, kind, name, id) where name is not null; -- only sqlite

-- How many records of a kind there are, in blocks along their order, so that a page far back is found without reading all before it.
-- A block holds the records from its own place up to the place of the next block. The first block begins before all records.
create table record_block (
    organization_id id not null references organization (id) on delete cascade,
    kind bytewise not null,
    from_created_at moment not null,
    from_id id not null,
    records integer not null,
    primary key (organization_id, kind, from_created_at, from_id)
) strict, without rowid;

-- The versions that the sender gave to records. A row outlives its record, so that an older version which arrives late does not
-- bring a deleted record back.
create table record_version (
    organization_id id not null references organization (id),
    kind bytewise not null,
    record_id id not null,
    -- A whole number, or a timestamp.
    version text not null,
    primary key (organization_id, kind, record_id)
) strict, without rowid;

-- The hosts of custom URLs, in lower case and ASCII form. A host belongs to one organization, so this table is not distributed.
create table domain (
    host bytewise primary key,
    owner_id id not null,
    is_guest_portal flag not null
) strict;
create index domain_by_owner on domain (owner_id, host);

-- Calendars of other sites, whose bookings become reservations. The document is the feed's state.
create table calendar_feed (
    organization_id id not null references organization (id),
    id id not null,
    property_id id not null,
    -- The address, which lets anyone read the calendar.
    url text not null,
    next_fetch_at moment not null,
    leased_until moment,
    created_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict;
create index calendar_feed_by_property on calendar_feed (organization_id, property_id);
create index calendar_feed_due on calendar_feed (next_fetch_at, id);
create index calendar_feed_leased on calendar_feed (leased_until) where leased_until is not null;

-- Events of feeds that became reservations. A row outlives its reservation, so that what a person deleted stays deleted.
create table calendar_event (
    organization_id id not null,
    feed_id id not null,
    reservation_id id not null,
    doc json not null,
    primary key (organization_id, feed_id, reservation_id),
    foreign key (organization_id, feed_id) references calendar_feed (organization_id, id) on delete cascade
) strict, without rowid;

create table record_link (
    organization_id id not null,
    from_kind text not null,
    from_id id not null,
    to_kind text not null,
    to_id id not null,
    primary key (organization_id, from_kind, from_id, to_kind, to_id)
) strict, without rowid;
create index record_link_by_target on record_link (organization_id, to_kind, to_id, from_kind, from_id);

-- Devices that went offline and are online again. A row goes when the reconnection is told, or when the device goes offline before.
create table device_timer (
    organization_id id not null references organization (id),
    device_id id not null,
    online_since moment not null,
    primary key (organization_id, device_id)
) strict, without rowid;
create index device_timer_due on device_timer (online_since, organization_id);

-- Reviews that arrived at some time. A row outlives its review, so that no review fires its event twice.
create table review_arrival (
    organization_id id not null references organization (id),
    review_id id not null,
    primary key (organization_id, review_id)
) strict, without rowid;

-- Guest-facing texts.

create table translation (
    organization_id id not null references organization (id),
    id id not null,
    source_table text not null,
    created_at moment not null,
    updated_at moment not null,
    primary key (organization_id, id)
) strict, without rowid;

create table translation_entry (
    organization_id id not null,
    translation_id id not null,
    language bytewise not null,
    text text not null,
    is_machine_translated flag not null,
    updated_at moment not null,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;

-- Machine translations that are due. A row goes when its text is translated.
create table translation_job (
    organization_id id not null,
    translation_id id not null,
    language bytewise not null,
    ticket id not null,
    replaces_hand_written flag not null,
    attempts integer not null,
    next_attempt_at moment not null,
    leased_until moment,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;
create index translation_job_due on translation_job (next_attempt_at, translation_id, language);
create index translation_job_leased on translation_job (leased_until) where leased_until is not null;

-- Which resources show a text, and in which of their fields.
create table translation_use (
    organization_id id not null,
    translation_id id not null,
    thing_id id not null,
    field bytewise not null,
    primary key (organization_id, translation_id, thing_id, field),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;
create index translation_use_by_thing on translation_use (organization_id, thing_id);

-- Configuration.

create table portal_branding (
    organization_id id not null references organization (id),
    id id not null,
    is_default flag not null,
    created_at moment not null,
    updated_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict;
create unique index portal_branding_default on portal_branding (organization_id) where is_default = true;

create table portal (
    organization_id id not null references organization (id),
    id id not null,
    name_key bytewise,
    is_default flag not null,
    created_at moment not null,
    updated_at moment not null,
    -- The portal's item of the list, as JSON text.
    summary text not null,
    doc json not null,
    primary key (organization_id, id)
) strict;
-- The list is read from this index alone.
create index portal_in_order on portal (organization_id, created_at, id) include (summary);
create unique index portal_name on portal (organization_id, name_key);
create unique index portal_default on portal (organization_id) where is_default = true;

-- Links to a guest's page as staff would see it, each good for an hour.
create table portal_preview (
    organization_id id not null references organization (id),
    id id not null,
    token_hash bytes not null,
    expires_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict, without rowid;
create index portal_preview_by_token on portal_preview (token_hash);
create index portal_preview_by_end on portal_preview (organization_id, expires_at, id);
create index portal_preview_ended on portal_preview (expires_at);

create table precheck_step (
    organization_id id not null references organization (id),
    id id not null,
    step_type text not null,
    sort_order integer,
    is_active flag not null,
    is_used flag not null,
    created_at moment not null,
    updated_at moment not null,
    -- The step's item of the list, as JSON text.
    summary text not null,
    doc json not null,
    nickname text generated always as (doc ->> 'nickname') virtual,
    title_id id generated always as ((doc ->> 'displayTitleMlTextId')::uuid) virtual, -- only postgres
    title_id id generated always as (unhex(replace(doc ->> 'displayTitleMlTextId', '-', ''))) virtual, -- only sqlite
    primary key (organization_id, id)
) strict;
-- The search reads names from an index; SQLite calls no index over derived columns a covering one unless it names them all.
create index precheck_step_by_name on precheck_step (organization_id, nickname, id, title_id); -- only sqlite

create table manual_category (
    organization_id id not null references organization (id),
    id id not null,
    title_id id,
    sort_order integer not null,
    created_at moment not null,
    updated_at moment not null,
    primary key (organization_id, id)
) strict;

create table manual (
    organization_id id not null references organization (id),
    id id not null,
    nickname_key text not null,
    category_id id,
    image_id id,
    is_active flag not null,
    created_at moment not null,
    updated_at moment not null,
    doc json not null,
    nickname text generated always as (doc -> 'answered' ->> 'nickname') virtual,
    primary key (organization_id, id),
    foreign key (organization_id, category_id) references manual_category (organization_id, id)
) strict;
create index manual_by_category on manual (organization_id, category_id);
create index manual_by_name on manual (organization_id, nickname, id); -- only sqlite

-- What steps, manuals and portals are assigned to.
create table entity_scope (
    organization_id id not null references organization (id),
    entity_type text not null,
    entity_id id not null,
    target_kind text not null,
    target_id id not null,
    created_at moment not null,
    primary key (organization_id, entity_type, entity_id, target_kind, target_id)
) strict, without rowid;
create index entity_scope_by_target on entity_scope (organization_id, target_kind, target_id, entity_type, entity_id);

-- Guests.

create table guest_link (
    organization_id id not null references organization (id),
    token text not null,
    reservation_id id not null,
    primary key (organization_id, token),
    unique (organization_id, reservation_id)
) strict, without rowid;

create table precheck_answer (
    organization_id id not null references organization (id),
    reservation_id id not null,
    step_id id not null,
    saved_at moment not null,
    doc json not null,
    -- Of an agreement: the moment, the language and the hash of the accepted text.
    acceptance json,
    primary key (organization_id, reservation_id, step_id)
) strict;

-- Texts of agreements that guests accepted, each once.
create table accepted_text (
    organization_id id not null references organization (id),
    sha256 text not null,
    text text not null,
    primary key (organization_id, sha256)
) strict;

-- What the platform reported of steps that another system carries out.
create table step_progress (
    organization_id id not null references organization (id),
    reservation_id id not null,
    step_id id not null,
    updated_at moment not null,
    doc json not null,
    primary key (organization_id, reservation_id, step_id)
) strict;

create table precheckin (
    organization_id id not null references organization (id),
    reservation_id id not null,
    -- The property of the stay, by which a limited caller's list is read.
    property_id id,
    status text not null,
    submitted_at moment not null,
    doc json not null default '{}',
    primary key (organization_id, reservation_id)
) strict;
-- A list and its count are read from one of these indexes alone, the longest waiting first.
create index precheckin_in_order on precheckin (organization_id, submitted_at, reservation_id);
create index precheckin_by_status on precheckin (organization_id, status, submitted_at, reservation_id);
create index precheckin_by_property on precheckin (organization_id, property_id, submitted_at, reservation_id) include (status);

-- Files of guests. Their bytes lie in the upload storage, under the key.
create table guest_file (
    organization_id id not null references organization (id),
    id id not null,
    reservation_id id not null,
    step_id id not null,
    key bytewise not null,
    -- In bytes.
    size integer not null,
    created_at moment not null,
    -- When the retention of the file is judged next.
    due_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict, without rowid;
create index guest_file_by_key on guest_file (key);
create index guest_file_by_stay on guest_file (organization_id, reservation_id, created_at, id);
create index guest_file_due on guest_file (due_at);
create index guest_file_size on guest_file (organization_id) include (reservation_id, size);

-- Keys of files whose bytes are to be removed. A key that ends with a slash stands for a folder.
create table file_removal (
    organization_id id not null,
    key bytewise not null,
    primary key (organization_id, key)
) strict, without rowid;

create table guest_message (
    organization_id id not null references organization (id),
    id id not null,
    reservation_id id not null,
    text text not null,
    created_at moment not null,
    -- The form that the message was sent from: a form that is sent twice makes one message.
    form_key id,
    primary key (organization_id, id)
) strict;
create index guest_message_by_stay on guest_message (organization_id, reservation_id, created_at, id);
create unique index guest_message_by_form on guest_message (organization_id, reservation_id, form_key) where form_key is not null;

-- What guests are charged. The document is the charge.
create table guest_charge (
    organization_id id not null references organization (id),
    id id not null,
    reservation_id id not null,
    status bytewise not null,
    -- When the platform is told next that it is due, or that its deposit is to be released. Null: nothing to tell.
    notice_at moment,
    created_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict, without rowid;
create index guest_charge_by_stay on guest_charge (organization_id, reservation_id, created_at, id);
create index guest_charge_by_status on guest_charge (organization_id, status, id);
create index guest_charge_notice on guest_charge (notice_at, organization_id) where notice_at is not null;

-- Issues that guests reported. The id is that of the task.
create table guest_issue (
    organization_id id not null references organization (id),
    id id not null,
    reservation_id id not null,
    text text not null,
    created_at moment not null,
    -- The form that the issue was sent from: a form that is sent twice makes one issue.
    form_key id,
    primary key (organization_id, id)
) strict;
create index guest_issue_by_stay on guest_issue (organization_id, reservation_id, created_at, id);
create unique index guest_issue_by_form on guest_issue (organization_id, reservation_id, form_key) where form_key is not null;

-- Surveys that guests answered: one of each kind for a stay.
create table guest_survey (
    organization_id id not null references organization (id),
    reservation_id id not null,
    kind text not null,
    review_id id not null,
    primary key (organization_id, reservation_id, kind)
) strict;

-- Extras that guests selected and have not asked for.
create table guest_cart (
    organization_id id not null references organization (id),
    reservation_id id not null,
    changed_at moment not null,
    -- When the cart counts as abandoned. Null once that was told.
    due_at moment,
    doc json not null,
    primary key (organization_id, reservation_id)
) strict;
create index guest_cart_due on guest_cart (due_at) where due_at is not null;

-- Devices that keep the wallet pass of a stay up to date.
create table pass_registration (
    organization_id id not null references organization (id),
    reservation_id id not null,
    device_id bytewise not null,
    push_token text not null,
    -- The change of the pass that the device was last told of.
    told_at moment not null,
    -- Failed pushes of the change after it, and when the next push may be sent; null for at once.
    attempts integer not null default 0,
    next_push_at moment,
    primary key (organization_id, reservation_id, device_id)
) strict;
create index pass_registration_by_device on pass_registration (device_id);

-- The content of wallet passes at the last look, and when it changed.
create table pass_state (
    organization_id id not null references organization (id),
    reservation_id id not null,
    content_hash bytes not null,
    changed_at moment not null,
    primary key (organization_id, reservation_id)
) strict;

-- What guests did, in order, and the last cursor of each organization.
create table guest_change (
    organization_id id not null references organization (id),
    cursor integer not null,
    kind text not null,
    reservation_id id not null,
    step_id id,
    occurred_at moment not null,
    -- Further fields of some kinds; null for the others.
    details json,
    primary key (organization_id, cursor)
) strict, without rowid;
create index guest_change_by_age on guest_change (occurred_at, organization_id, cursor);

create table guest_change_cursor (
    organization_id id primary key references organization (id),
    latest integer not null,
    latest_at moment not null
) strict, without rowid;

-- Webhooks.

create table webhook_subscription (
    organization_id id not null references organization (id),
    id id not null,
    credential text not null,
    event text not null,
    target_url text not null,
    consecutive_failures integer not null,
    disabled_at moment,
    disabled_reason text,
    last_delivered_at moment,
    -- Set when the subscription is deleted. It counts as disabled then; its deliveries are removed in steps, then the row.
    deleted_at moment,
    created_at moment not null,
    doc json not null,
    primary key (organization_id, id)
) strict;
create index webhook_subscription_active on webhook_subscription (credential, organization_id, created_at, id) where disabled_at is null;
create index webhook_subscription_by_credential on webhook_subscription (organization_id, credential, created_at, id);
create index webhook_subscription_by_event on webhook_subscription (organization_id, event) where disabled_at is null;
create index webhook_subscription_deleted on webhook_subscription (organization_id, id) where deleted_at is not null;

-- The outbox. SQLite is served by one process, which leases nothing and finds a delivery by its id alone.
create table webhook_delivery (
    organization_id id not null,
    id id not null, -- only postgres
    id id primary key, -- only sqlite
    subscription_id id not null,
    status text not null,
    is_ping flag not null default false,
    ended_by_disabling flag not null default false, -- discarded because its subscription was disabled
    next_attempt_at moment,
    leased_until moment,
    created_at moment not null,
    doc json not null,
    primary key (organization_id, id), -- only postgres
    foreign key (organization_id, subscription_id) references webhook_subscription (organization_id, id) on delete cascade
) strict;
create index webhook_delivery_by_id on webhook_delivery (id); -- only postgres
create index webhook_delivery_due on webhook_delivery (next_attempt_at, id) where status = 'pending';
create index webhook_delivery_waiting on webhook_delivery (subscription_id, next_attempt_at, id) where status = 'pending' and leased_until is null;
create index webhook_delivery_leased on webhook_delivery (leased_until) where leased_until is not null; -- only postgres
create index webhook_delivery_log on webhook_delivery (organization_id, subscription_id, created_at, id);
create index webhook_delivery_failed on webhook_delivery (organization_id, subscription_id, created_at, id) where status = 'failed' and is_ping = false;
create index webhook_delivery_pings on webhook_delivery (organization_id, subscription_id, created_at, id) where is_ping = true;
create index webhook_delivery_by_disabling on webhook_delivery (organization_id, subscription_id, created_at, id) where ended_by_disabling = true;

-- Organizations with a delivery that is due, where organizations are distributed over several servers; empty on a single one.
create table webhook_due (
    organization_id id not null primary key,
    due_at moment not null
) strict, without rowid;
create index webhook_due_by_time on webhook_due (due_at);

-- What the service itself keeps.

-- Answers to requests with an Idempotency-Key.
create table idempotency_record (
    organization_id id not null references organization (id),
    credential text not null,
    key bytewise not null,
    fingerprint bytes not null,
    status integer not null,
    body text not null,
    completed_at moment not null,
    primary key (organization_id, credential, key)
) strict;
create index idempotency_record_by_age on idempotency_record (completed_at);

-- One row a write. The id begins with the moment, so its order is the order of time.
create table audit_log (
    organization_id id not null,
    id id not null,
    occurred_at moment not null,
    target_id id,
    actor_id id,
    actor_name text,
    doc json not null,
    primary key (organization_id, id)
) strict, without rowid;
create index audit_log_by_age on audit_log (occurred_at);
create index audit_log_of_target on audit_log (organization_id, target_id, id) where target_id is not null;
create index audit_log_of_actor on audit_log (organization_id, actor_id, id) where actor_id is not null;

-- Secrets that all nodes share, each made by the first node that starts.
create table secret (
    name text primary key,
    value bytes not null
) strict, without rowid;

-- Which version of the program wrote the summaries.
create table summary_version (
    name text primary key,
    version integer not null
) strict, without rowid;

-- Background work that one node at a time does, and when it is due again.
create table duty (
    name bytewise primary key,
    due_at moment not null
) strict, without rowid;
