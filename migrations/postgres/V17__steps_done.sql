-- How the steps of a stay stand that another system carries out.

create table step_progress (
    organization_id uuid not null references organization (id),
    reservation_id uuid not null,
    step_id uuid not null,
    updated_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, reservation_id, step_id)
);

-- What was shown when an agreement was accepted, beside what the guest sent.

alter table precheck_answer add column acceptance jsonb;
