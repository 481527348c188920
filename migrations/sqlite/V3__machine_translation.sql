-- What is to be translated by machine: a row goes when it is done.

create table translation_job (
    organization_id blob not null,
    translation_id blob not null,
    language text not null,
    ticket blob not null,
    replaces_hand_written integer not null,
    attempts integer not null,
    next_attempt_at integer not null,
    leased_until integer,
    primary key (organization_id, translation_id, language),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;
create index translation_job_due on translation_job (next_attempt_at, translation_id, language);

-- English texts that were there before there was a translator.
insert into translation_job (organization_id, translation_id, language, ticket, replaces_hand_written, attempts, next_attempt_at)
select e.organization_id, e.translation_id, l.value, randomblob(16), false, 0, e.updated_at
from translation_entry e
join organization o on o.id = e.organization_id
join json_each(o.doc, '$.languages') l
where e.language = 'en' and l.value <> 'en' and not exists (
    select 1 from translation_entry t
    where t.organization_id = e.organization_id and t.translation_id = e.translation_id and t.language = l.value
);
