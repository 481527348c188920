-- Apps that come by themselves, secrets of apps, and what members have allowed them.

-- The address of the metadata document that an app is described by, where it is one of those.
alter table oauth_app add column document_url text;
-- Since when nobody has allowed it anything, as far as has been looked; null of the platform's apps, which stay.
alter table oauth_app add column idle_since timestamptz;
-- The secret of a confidential app; the one before is good until a moment.
alter table oauth_app add column secret_hash bytea;
alter table oauth_app add column replaced_hash bytea;
alter table oauth_app add column replaced_until timestamptz;
create unique index oauth_app_document on oauth_app (document_url);
create index oauth_app_idle on oauth_app (idle_since, id) where idle_since is not null;
create index oauth_app_document_idle on oauth_app (idle_since, id) where document_url is not null;

-- What a member has allowed an app: a code at first, and once that is exchanged, tokens.
create table oauth_grant (
    id uuid primary key,
    organization_id uuid not null,
    member_id uuid not null,
    oauth_app_id uuid not null references oauth_app (id),
    resource text not null,
    code_hash bytea not null unique,
    created_at timestamptz not null,
    exchanged_at timestamptz,
    used_at timestamptz not null,
    expires_at timestamptz not null,
    doc jsonb not null,
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
);
create index oauth_grant_of_member on oauth_grant (organization_id, member_id, id);
create index oauth_grant_by_connection on oauth_grant (organization_id, oauth_app_id, member_id, resource);
create index oauth_grant_of_app on oauth_grant (oauth_app_id, member_id);
create index oauth_grant_ended on oauth_grant (expires_at);

create table oauth_refresh_token (
    token_hash bytea primary key,
    organization_id uuid not null,
    grant_id uuid not null references oauth_grant (id) on delete cascade,
    id uuid not null,
    replaced_at timestamptz,
    expires_at timestamptz not null
);
create index oauth_refresh_token_of_grant on oauth_refresh_token (grant_id, id);
create index oauth_refresh_token_of_organization on oauth_refresh_token (organization_id, token_hash);
create index oauth_refresh_token_ended on oauth_refresh_token (expires_at);

-- An access token of a grant goes with it, and by itself once it has expired.
alter table access_token add column grant_id uuid references oauth_grant (id) on delete cascade;
alter table access_token add column expires_at timestamptz;
create index access_token_of_grant on access_token (grant_id, id) where grant_id is not null;
create index access_token_of_app on access_token (oauth_app_id, member_id);
create index access_token_ended on access_token (expires_at) where expires_at is not null;
