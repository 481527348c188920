-- A key belongs to a credential in an organization: a member may come into several by one app.

create table idempotency_record_by_organization (
    organization_id blob not null references organization (id),
    credential text not null,
    key text not null,
    fingerprint blob not null,
    status integer not null,
    body text not null,
    completed_at integer not null,
    primary key (organization_id, credential, key)
) strict;
insert into idempotency_record_by_organization (organization_id, credential, key, fingerprint, status, body, completed_at)
select organization_id, credential, key, fingerprint, status, body, completed_at from idempotency_record;
drop table idempotency_record;
alter table idempotency_record_by_organization rename to idempotency_record;
create index idempotency_record_by_age on idempotency_record (completed_at);
