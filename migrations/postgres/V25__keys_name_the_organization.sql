-- Every key and every reference of what belongs to an organization begins with it, so that the rows of one organization can be
-- kept on one server of several (docs/scaling.md). A secret is found by its organization and its hash; that no two are the same
-- is for its 256 bits to see to. Nothing that nodes of the version before say names a key that goes here.

lock table organization in access exclusive mode;

alter table api_key drop constraint api_key_pkey, add primary key (organization_id, id);
alter table api_key drop constraint api_key_token_hash_key;
create index api_key_by_token on api_key (token_hash);
drop index api_key_by_replaced_hash;
create index api_key_by_replaced_token on api_key (replaced_hash) where replaced_hash is not null;

alter table oauth_refresh_token drop constraint oauth_refresh_token_grant_id_fkey;
alter table access_token drop constraint access_token_grant_id_fkey;
alter table oauth_grant drop constraint oauth_grant_pkey, add primary key (organization_id, id);
alter table oauth_grant drop constraint oauth_grant_code_hash_key;
create index oauth_grant_by_code on oauth_grant (code_hash);

drop index oauth_refresh_token_of_organization;
alter table oauth_refresh_token drop constraint oauth_refresh_token_pkey, add primary key (organization_id, token_hash),
    add foreign key (organization_id, grant_id) references oauth_grant (organization_id, id) on delete cascade;
create index oauth_refresh_token_by_token on oauth_refresh_token (token_hash);

alter table access_token drop constraint access_token_pkey, add primary key (organization_id, id),
    add foreign key (organization_id, grant_id) references oauth_grant (organization_id, id) on delete cascade;
alter table access_token drop constraint access_token_token_hash_key;
create index access_token_by_token on access_token (token_hash);

alter table guest_link drop constraint guest_link_pkey, add primary key (organization_id, token);
create index guest_link_by_token on guest_link (token);

alter table portal_preview drop constraint portal_preview_token_hash_key;
create index portal_preview_by_token on portal_preview (token_hash);

alter table member_session drop constraint member_session_token_hash_key;
create index member_session_by_token on member_session (token_hash);

alter table sign_in_ticket drop constraint sign_in_ticket_token_hash_key;
create index sign_in_ticket_by_token on sign_in_ticket (token_hash);

drop index guest_file_by_key;
create index guest_file_of_key on guest_file (key);

-- The sweep of old deliveries goes along their ids; nodes of the version before find them by their id alone.
alter table webhook_delivery drop constraint webhook_delivery_pkey, add primary key (organization_id, id);
create index webhook_delivery_by_id on webhook_delivery (id);
