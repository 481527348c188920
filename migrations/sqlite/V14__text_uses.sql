-- Which things show which texts, and in which of their fields.

create table translation_use (
    organization_id blob not null,
    translation_id blob not null,
    thing_id blob not null,
    field text not null,
    primary key (organization_id, translation_id, thing_id, field),
    foreign key (organization_id, translation_id) references translation (organization_id, id) on delete cascade
) strict, without rowid;
create index translation_use_by_thing on translation_use (organization_id, thing_id);

insert or ignore into translation_use (organization_id, translation_id, thing_id, field)
select t.organization_id, t.id, linked.thing_id, linked.field from (
    select s.organization_id, s.id as thing_id, j.key as field, j.value as text from precheck_step s, json_tree(s.doc) j
        where j.type = 'text' and j.key in ('displayTitleMlTextId', 'damageDepositSubtitleMlTextId',
            'securityDepositSubtitleMlTextId', 'contractTemplateTextMlTextId', 'esignATitleMlTextId', 'esignASubtitleMlTextId',
            'esignBHeadingMlTextId', 'esignBSubtitleMlTextId', 'guestDescriptionMlTextId', 'textMlTextId', 'nameMlTextId')
    union all
    select m.organization_id, m.id, j.key, j.value from manual m, json_each(m.doc, '$.answered') j
        where j.type = 'text' and j.key in ('titleId', 'descriptionId')
    union all
    select p.organization_id, p.id, j.key, j.value from portal p, json_each(p.doc) j
        where j.type = 'text'
        and j.key in ('specialOfferTitleId', 'specialOfferTypeId', 'specialOfferCtaTextId', 'precheckinPromptMessageId')
    union all
    select b.organization_id, b.id, j.key, j.value from portal_branding b, json_each(b.doc) j
        where j.type = 'text' and j.key = 'calloutMessageId'
    union all
    select c.organization_id, c.id, 'titleId', hex(c.title_id) from manual_category c where c.title_id is not null
) linked
join translation t on t.organization_id = linked.organization_id and t.id = unhex(replace(linked.text, '-', ''));
