-- Organizations with something to send, where they are on several servers (docs/scaling.md); on one, none.

create table webhook_due (
    organization_id blob not null primary key,
    due_at integer not null
) strict, without rowid;

create index webhook_due_by_time on webhook_due (due_at);
