-- How the steps of a stay stand that another system carries out.

create table step_progress (
    organization_id blob not null references organization (id),
    reservation_id blob not null,
    step_id blob not null,
    updated_at integer not null,
    doc text not null,
    primary key (organization_id, reservation_id, step_id)
) strict;

-- What was shown when an agreement was accepted, beside what the guest sent.

alter table precheck_answer add column acceptance text;
