-- What waits for each subscription, so that nobody's backlog is in the way of another's; and when leases run out.

create index webhook_delivery_waiting on webhook_delivery (subscription_id, next_attempt_at, id)
    where status = 'pending' and leased_until is null;
create index webhook_delivery_leased on webhook_delivery (leased_until) where leased_until is not null;
