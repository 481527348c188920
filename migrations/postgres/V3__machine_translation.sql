-- What is to be translated by machine: a row goes when it is done.

create table translation_job (
    organization_id uuid not null,
    translation_id uuid not null,
    language text collate "C" not null,
    ticket uuid not null,
    replaces_hand_written boolean not null,
    attempts bigint not null,
    next_attempt_at timestamptz not null,
    leased_until timestamptz,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
);
create index translation_job_due on translation_job (next_attempt_at, translation_id, language);

-- English texts that were there before there was a translator.
insert into translation_job (organization_id, translation_id, language, ticket, replaces_hand_written, attempts, next_attempt_at)
select e.organization_id, e.translation_id, l.language, gen_random_uuid(), false, 0, e.updated_at
from translation_entry e
join organization o on o.id = e.organization_id
cross join lateral jsonb_array_elements_text(o.doc -> 'languages') as l (language)
where e.language = 'en' and l.language <> 'en' and not exists (
    select 1 from translation_entry t
    where t.organization_id = e.organization_id and t.translation_id = e.translation_id and t.language = l.language
);
