-- When leases run out, so that what a node left behind is found then.

create index webhook_delivery_leased on webhook_delivery (leased_until) where leased_until is not null;
