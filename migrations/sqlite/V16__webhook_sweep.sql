-- A subscription that was deleted: nobody sees it any more, and its row stays until its deliveries are gone, which go a few
-- at a time. It counts as disabled from the moment it is marked.

alter table webhook_subscription add column deleted_at integer;
create index webhook_subscription_deleted on webhook_subscription (organization_id, id) where deleted_at is not null;

-- The active ones of a credential, whichever organization they are in.

create index webhook_subscription_active on webhook_subscription (credential, organization_id, created_at, id) where disabled_at is null;

-- Pings, of which a log holds only so many; and the deliveries that are to be sent again together.

alter table webhook_delivery add column is_ping integer not null default 0;
create index webhook_delivery_pings on webhook_delivery (organization_id, subscription_id, created_at, id) where is_ping = true;
create index webhook_delivery_failed on webhook_delivery (organization_id, subscription_id, created_at, id)
    where status = 'failed' and is_ping = false;
