-- A key belongs to a credential in an organization: a member may come into several by one app.

alter table idempotency_record drop constraint idempotency_record_pkey;
alter table idempotency_record add primary key (organization_id, credential, key);
