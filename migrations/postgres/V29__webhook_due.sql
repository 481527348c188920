-- Organizations with something to send, where they are on several servers (docs/scaling.md); on one, none.

create table webhook_due (
    organization_id uuid primary key,
    due_at timestamptz not null
);

create index webhook_due_by_time on webhook_due (due_at);
