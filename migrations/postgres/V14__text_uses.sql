-- Which things show which texts, and in which of their fields.

create table translation_use (
    organization_id uuid not null,
    translation_id uuid not null,
    thing_id uuid not null,
    field text collate "C" not null,
    primary key (organization_id, translation_id, thing_id, field),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
);
create index translation_use_by_thing on translation_use (organization_id, thing_id);

insert into translation_use (organization_id, translation_id, thing_id, field)
select t.organization_id, t.id, linked.thing_id, linked.field from (
    select s.organization_id, s.id as thing_id, f.key as field, f.value as text
        from precheck_step s, jsonb_path_query(s.doc, 'strict $.** ? (@.type() == "object")') o, jsonb_each_text(o) f
        where f.key in ('displayTitleMlTextId', 'damageDepositSubtitleMlTextId',
            'securityDepositSubtitleMlTextId', 'contractTemplateTextMlTextId', 'esignATitleMlTextId', 'esignASubtitleMlTextId',
            'esignBHeadingMlTextId', 'esignBSubtitleMlTextId', 'guestDescriptionMlTextId', 'textMlTextId', 'nameMlTextId')
    union all
    select m.organization_id, m.id, f.key, f.value from manual m, jsonb_each_text(m.doc -> 'answered') f
        where f.key in ('titleId', 'descriptionId')
    union all
    select p.organization_id, p.id, f.key, f.value from portal p, jsonb_each_text(p.doc) f
        where f.key in ('specialOfferTitleId', 'specialOfferTypeId', 'specialOfferCtaTextId', 'precheckinPromptMessageId')
    union all
    select b.organization_id, b.id, f.key, f.value from portal_branding b, jsonb_each_text(b.doc) f
        where f.key = 'calloutMessageId'
    union all
    select c.organization_id, c.id, 'titleId', c.title_id::text from manual_category c where c.title_id is not null
) linked
join translation t on t.organization_id = linked.organization_id and t.id = linked.text::uuid
where linked.text is not null
on conflict do nothing;
