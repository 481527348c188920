-- A process that is alone on its database leases nothing: what is left of a lease would keep a delivery from being sent.

update webhook_delivery set leased_until = null where leased_until is not null;
drop index webhook_delivery_leased;
