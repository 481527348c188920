-- Who did what to what, one row a write. The time of a row is in its id as well, by which the rows are in order.

create table audit_log (
    organization_id uuid not null,
    id uuid not null,
    occurred_at timestamptz not null,
    target_id uuid,
    actor_id uuid,
    actor_name text,
    doc jsonb not null,
    primary key (organization_id, id)
);

create index audit_log_of_target on audit_log (organization_id, target_id, id) where target_id is not null;
create index audit_log_of_actor on audit_log (organization_id, actor_id, id) where actor_id is not null;
create index audit_log_by_age on audit_log (occurred_at);
