//! The operations that list, read, create and change manuals.

use std::collections::HashSet;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Result};
use engine::field::{Create, Field, Text5000, UpTo200, Update, fold_case};
use engine::moment::Moment;
use engine::operation::{ById, CacheBasis, Findings, Needs, Object, Operation, OperationName};
use http::Method;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::manual::{CoverChange, CoverImage, Manual, ManualFields, Patch, WrittenManual, issues};
use super::records::{self, ManualWithCover};
use super::texts::{DESCRIPTION, TITLE};
use super::{audited, categories, visible};
use crate::markdown;
use crate::records::{
    Property, RecordKind, exists, link_sources, record_as, remove_record, save_record,
};
use crate::scopes::{self, Coverage, EntityType, Target, TargetKind};
use crate::translations::{self, ENGLISH, SourceTable, TextLink};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListManuals {
    /// Part of the nickname, up to 200 characters, in upper or lower case. Titles that guests see
    /// are not searched.
    #[serde(default)]
    search: Option<UpTo200>,
    /// Only manuals assigned directly to any of these properties. Manuals assigned by a group or
    /// tag are left out. A manual must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    property_ids: Option<Vec<Uuid>>,
    /// Only manuals assigned to any of these property groups. A manual must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    property_group_ids: Option<Vec<Uuid>>,
    /// Only manuals assigned to any of these tags. A manual must match all filters.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    tag_ids: Option<Vec<Uuid>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfProperty {
    /// Id of the property whose manuals are listed, with those of its group and tags.
    property_id: Uuid,
}

/// Lists manuals by nickname.
pub const LIST_PORTAL_MANUALS: OperationName<Vec<ManualRow>> =
    OperationName::new("listPortalManuals");
/// Lists the manuals that are assigned to a property directly, or through its group or tags.
pub const LIST_PORTAL_MANUALS_BY_PROPERTY: OperationName<Vec<ManualRowOfProperty>> =
    OperationName::new("listPortalManualsByProperty");

/// A manual in the list of all manuals.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PortalManualRow", transform = exemplify_row)]
pub struct ManualRow {
    #[serde(flatten)]
    pub manual: WrittenManual,
    /// Address of the cover image, as it was sent; null if the cover is not an image.
    image_url: Option<String>,
}

/// A manual in the list of a property's manuals.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PortalManualOfProperty", transform = exemplify_row_of_property)]
pub struct ManualRowOfProperty {
    #[serde(flatten)]
    pub row: ManualRow,
    /// Position of the manual's assignment; null sorts last.
    sort_order: Option<i64>,
}

fn exemplify_row(schema: &mut Schema) {
    add_to_example(schema, &[("imageUrl", Value::Null)]);
}

fn exemplify_row_of_property(schema: &mut Schema) {
    add_to_example(
        schema,
        &[("imageUrl", Value::Null), ("sortOrder", Value::Null)],
    );
}

fn add_to_example(schema: &mut Schema, fields: &[(&str, Value)]) {
    let example = schema
        .get_mut("examples")
        .and_then(|examples| examples.get_mut(0))
        .and_then(Value::as_object_mut);
    if let Some(example) = example {
        example.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
    }
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyGuides, ViewGuides};
    vec![
        Operation::public(
            LIST_PORTAL_MANUALS.id(),
            Method::GET,
            "/portal-manuals",
            Needs::Permission(ViewGuides),
        )
        .summary("List manuals by nickname")
        .tool(
            "manuals",
            "List manuals",
            "House manuals by internal nickname: cover, category, `visibilityRules`, ids of title \
                and body. Filter by name or by direct assignment; for all that reach one flat use \
                `listPortalManualsByProperty`.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_PORTAL_MANUALS, list),
        Operation::public(
            LIST_PORTAL_MANUALS_BY_PROPERTY.id(),
            Method::GET,
            "/properties/{propertyId}/portal-manuals",
            Needs::Permission(ViewGuides),
        )
        .summary("List the manuals that reach a property, as its portal orders them")
        .tool(
            "manuals",
            "List a property's manuals",
            "Every manual that reaches a property, directly or by its group, tags or portal, in \
                the order its guests see them; inactive ones too.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_PORTAL_MANUALS_BY_PROPERTY, list_of_property),
        Operation::public(
            "getPortalManual",
            Method::GET,
            "/portal-manuals/{id}",
            Needs::Permission(ViewGuides),
        )
        .summary("Read a manual as the list shows it")
        .tool(
            "manuals",
            "Read a manual",
            "One house manual: cover, category, `visibilityRules`, ids of title and body \
                (`listTranslationEntries` reads those texts). What it is assigned to says \
                `listEntityScopes`. Find its id with `search`.",
        )
        .cached(CacheBasis::Configuration)
        .run(get),
        Operation::public(
            "createPortalManual",
            Method::POST,
            "/portal-manuals",
            Needs::Permission(ModifyGuides),
        )
        .summary("Create a manual")
        .tool(
            "manuals",
            "Create a manual",
            "Creates something guests can read during their stay. Guests see it once `isActive` is \
                true and `addEntityScopes` (entityType manual) assigns it. Example: {\"nickname\": \
                \"Wi-Fi\", \"title\": \"Wi-Fi\", \"description\": \"Network **casa**\", \
                \"iconName\": \"wifi\", \"isActive\": true}",
        )
        .creates()
        .rules(|input: Create<ManualFields>, wrong| rules_of_new(input.0, wrong))
        .audited(Audits::makes("manual", "nickname").recording(&["propertyId"]))
        .run(create),
        Operation::public(
            "updatePortalManual",
            Method::PATCH,
            "/portal-manuals/{id}",
            Needs::Permission(ModifyGuides),
        )
        .summary("Change fields of a manual")
        .tool(
            "manuals",
            "Change a manual",
            "Changes fields of a manual; returns it. When guests see it: `visibilityRules`, which \
                replaces all rules. Title and body are changed by `setTranslationEntry` on \
                `titleId`, `descriptionId`.",
        )
        .rules(|input: Update<ManualFields>, _| rules_of_change(&input.data))
        .audited(Audits::changes(audited::manual))
        .run(update),
    ]
}

impl From<ManualWithCover> for ManualRow {
    fn from(covered: ManualWithCover) -> Self {
        Self {
            manual: covered.manual.answered,
            image_url: covered.image_url,
        }
    }
}

fn list(context: &mut Context<'_, '_>, input: ListManuals) -> Result<Vec<ManualRow>> {
    let filters = [
        (TargetKind::Property, input.property_ids),
        (TargetKind::PropertyGroup, input.property_group_ids),
        (TargetKind::Tag, input.tag_ids),
    ];
    let filters: Vec<Vec<Target>> = filters
        .into_iter()
        .filter_map(|(kind, ids)| ids.map(|ids| ids.into_iter().map(|id| (kind, id)).collect()))
        .collect();
    let mut rows = records::all_manuals(context)?;
    if let Some(search) = input.search {
        let search = fold_case(&search);
        rows.retain(|row| fold_case(&row.manual.answered.nickname).contains(&search));
    }
    if !filters.is_empty() {
        let coverage = Coverage::load(context)?;
        for filter in filters {
            let visible_targets: Vec<Target> = filter
                .into_iter()
                .filter(|(kind, id)| coverage.is_visible(*kind, *id))
                .collect();
            let matches: HashSet<Uuid> =
                scopes::reaching(context, EntityType::Manual, &visible_targets)?
                    .into_iter()
                    .map(|(id, _)| id)
                    .collect();
            rows.retain(|row| matches.contains(&row.manual.answered.id));
        }
    }
    let visible = visible::visible_ids(context, rows.iter().map(|row| row.manual.answered.id))?;
    Ok(rows
        .into_iter()
        .filter(|row| visible.contains(&row.manual.answered.id))
        .map(ManualRow::from)
        .collect())
}

/// Returns the list item of a manual. Fails with 404 if the manual does not exist or the caller
/// cannot see it.
fn get(context: &mut Context<'_, '_>, input: ById) -> Result<ManualRow> {
    visible::check_exists(context, input.id)?;
    let rows = records::manuals_by_id(context, vec![input.id])?;
    rows.into_iter()
        .next()
        .map(ManualRow::from)
        .ok_or_else(|| Error::not_found("Manual"))
}

/// Lists the manuals that are assigned to a property, its group or its tags. Fails with 404 for an
/// unknown property. For a property that a limited caller cannot access, returns an empty list, so
/// that the response does not reveal whether the property exists.
fn list_of_property(
    context: &mut Context<'_, '_>,
    input: OfProperty,
) -> Result<Vec<ManualRowOfProperty>> {
    let id = input.property_id;
    let property: Option<Property> = if context.property_scope().covers(id) {
        record_as(context, RecordKind::Property, id)?
    } else {
        None
    };
    let Some(property) = property else {
        return if context.property_scope().is_limited() {
            Ok(Vec::new())
        } else {
            Err(Error::not_found("Property"))
        };
    };
    let group = property
        .property_group_id
        .map(|id| (TargetKind::PropertyGroup, id));
    let tags = property
        .tag_ids
        .unwrap_or_default()
        .into_iter()
        .map(|id| (TargetKind::Tag, id));
    let targets: Vec<Target> = [(TargetKind::Property, id)]
        .into_iter()
        .chain(group)
        .chain(tags)
        .collect();
    let manual_ids = scopes::reaching_ids(context, EntityType::Manual, &targets)?;
    let rows = records::manuals_by_id(context, manual_ids)?;
    Ok(rows
        .into_iter()
        .map(|covered| ManualRowOfProperty {
            row: covered.into(),
            sort_order: None,
        })
        .collect())
}

/// Returns the issues of a new manual that the JSON Schemas of its fields cannot detect. `wrong`
/// has the names of the fields that already have an issue.
fn rules_of_new(fields: ManualFields, wrong: &[&str]) -> Findings {
    let (mut sent, mut merged) = (Vec::new(), Vec::new());
    value_or_default(fields.rules(&[]), &mut sent);
    value_or_default(fields.cover(&[]), &mut merged);
    let has_title = fields.title.sent().is_some_and(Option::is_some);
    let mut manual = WrittenManual::default();
    fields.apply(&mut manual);
    // `issues` compares these three fields with each other, so it is not called while one of them
    // already has an issue.
    if !["titleId", "displayMode", "customFieldId"]
        .iter()
        .any(|field| wrong.contains(field))
    {
        merged.extend(issues(
            &manual,
            has_title || manual.title_id.is_some(),
            "title",
            &[],
        ));
    }
    Findings { sent, merged }
}

/// Checks a change of a manual against the rules that need no stored fields.
fn rules_of_change(fields: &ManualFields) -> Findings {
    let mut merged = Vec::new();
    value_or_default(fields.rules(&["data"]), &mut merged);
    value_or_default(fields.cover(&["data"]), &mut merged);
    Findings::merged(merged)
}

fn create(context: &mut Context<'_, '_>, input: Create<ManualFields>) -> Result<WrittenManual> {
    let fields = input.0;
    let property = fields.property_id.sent().copied().flatten();
    if let Some(id) = property
        && !(context.property_scope().covers(id) && exists(context, RecordKind::Property, id)?)
    {
        return Err(Error::not_found("Property").of(id));
    }
    let title = fields
        .title
        .sent()
        .and_then(Option::as_ref)
        .map(|title| title.0.clone());
    let description = sent_text(&fields.description);
    let mut found_issues = check_references(
        context,
        &fields,
        None,
        title.is_some(),
        description.is_some(),
        &[],
    )?;

    let mut manual = Manual::new(context.new_id(), String::new(), Moment(context.now()));
    let cover = value_or_default(fields.cover(&[]), &mut found_issues);
    let rules = value_or_default(fields.rules(&[]), &mut found_issues);
    fields.apply(&mut manual.answered);
    let has_title = title.is_some() || manual.answered.title_id.is_some();
    found_issues.extend(issues(&manual.answered, has_title, "title", &[]));
    if !found_issues.is_empty() {
        return Err(Error::issues(found_issues));
    }
    if let Some(title) = title {
        translations::check_placeholders(context, &["title"], &title)?;
        manual.answered.title_id = Some(translations::create(
            context,
            SourceTable::Manual,
            ENGLISH,
            &title,
        )?);
    }
    if let Some(description) = description {
        translations::check_placeholders(context, &["description"], &description)?;
        warn_of_hidden_parts(context, "description", &description);
        manual.answered.description_id = Some(translations::create(
            context,
            SourceTable::Manual,
            ENGLISH,
            &description,
        )?);
    }
    manual.answered.visibility_rules = rules.unwrap_or_default();
    set_cover(context, &mut manual, cover)?;
    records::save(context, None, &manual)?;
    if let Some(property) = property {
        scopes::add(
            context,
            EntityType::Manual,
            manual.answered.id,
            TargetKind::Property,
            &[property],
        )?;
    }
    Ok(manual.answered)
}

fn update(context: &mut Context<'_, '_>, input: Update<ManualFields>) -> Result<WrittenManual> {
    let before = visible::check_writable(context, input.id)?;
    let fields = input.data;
    let base = &["data"];
    let mut found_issues =
        check_references(context, &fields, Some(&before.answered), false, false, base)?;
    let mut manual = before.clone();
    let cover = value_or_default(fields.cover(base), &mut found_issues);
    let rules = value_or_default(fields.rules(base), &mut found_issues);
    fields.apply(&mut manual.answered);
    // The stored manual may already break a rule, because a record that it linked was deleted. The
    // issue of the stored manual must not prevent changes of other fields.
    let stored_issues = issues(
        &before.answered,
        before.answered.title_id.is_some(),
        "titleId",
        base,
    );
    let new_issues = issues(
        &manual.answered,
        manual.answered.title_id.is_some(),
        "titleId",
        base,
    );
    found_issues.extend(
        new_issues
            .into_iter()
            .filter(|issue| !stored_issues.contains(issue)),
    );
    if !found_issues.is_empty() {
        return Err(Error::issues(found_issues));
    }
    if let Some(rules) = rules {
        manual.answered.visibility_rules = rules;
    }
    set_cover(context, &mut manual, cover)?;
    if manual.answered.description_id != before.answered.description_id {
        warn_of_linked_description(context, manual.answered.description_id)?;
    }
    if manual != before {
        manual.answered.updated_at = before.answered.updated_at.advanced_to(context.now());
        records::save(context, Some(&before), &manual)?;
    }
    Ok(manual.answered)
}

/// Adds a warning to the response if a description has HTML that guests do not see, or an embedded
/// player, which guests see as a link (rules: manuals#texts-as-hosts-write-them).
fn warn_of_hidden_parts(context: &mut Context<'_, '_>, field: &'static str, description: &str) {
    if let Some(warning) = markdown::warning(description) {
        context.warn(field, warning);
    }
}

/// Adds the same warning as [`warn_of_hidden_parts`] for a linked description. All languages of the
/// description are checked.
fn warn_of_linked_description(
    context: &mut Context<'_, '_>,
    description: Option<Uuid>,
) -> Result<()> {
    let Some(id) = description else { return Ok(()) };
    let mut versions = translations::versions(context, id)?;
    versions.sort_by_key(|(language, _)| language != ENGLISH);
    let warning = versions
        .iter()
        .find_map(|(_, text)| markdown::warning(text));
    if let Some(warning) = warning {
        context.warn(DESCRIPTION, warning);
    }
    Ok(())
}

/// Returns the text that the request sends in a field; `None` if the text is missing, null or
/// blank.
fn sent_text(field: &Field<Option<Text5000>>) -> Option<String> {
    field
        .sent()
        .and_then(Option::as_ref)
        .map(|text| text.0.clone())
        .filter(|text| !engine::typed::is_blank(text))
}

/// Checks the references of a request. Fails with 404 if a referenced object does not exist, and
/// returns issues for objects of the wrong kind. If the request sends a title or a description as
/// text, the id that it sends for the same text is ignored.
fn check_references(
    context: &mut Context<'_, '_>,
    fields: &ManualFields,
    before: Option<&WrittenManual>,
    has_title: bool,
    has_description: bool,
    base: &[&str],
) -> Result<Vec<Issue>> {
    let id_in_request = |field: &Field<Option<Uuid>>| field.sent().copied().flatten();
    if let Some(id) = id_in_request(&fields.manual_category_id) {
        categories::find(context, id)?.ok_or_else(|| Error::not_found("Manual category").of(id))?;
    }
    for (kind, id) in [
        (
            RecordKind::CustomField,
            id_in_request(&fields.custom_field_id),
        ),
        (RecordKind::Image, id_in_request(&fields.image_id)),
    ] {
        if let Some(id) = id
            && !exists(context, kind, id)?
        {
            return Err(Error::not_found(&kind.label()).of(id));
        }
    }
    let linked = |field, id: Option<Uuid>, before: Option<Uuid>| {
        let path = [base, &[field]]
            .concat()
            .into_iter()
            .map(PathSegment::from)
            .collect();
        id.map(|id| TextLink {
            path,
            id,
            source: SourceTable::Manual,
            field,
            is_stored: before == Some(id),
        })
    };
    let title = linked(
        TITLE,
        id_in_request(&fields.title_id).filter(|_| !has_title),
        before.and_then(|before| before.title_id),
    );
    let description = linked(
        DESCRIPTION,
        id_in_request(&fields.description_id).filter(|_| !has_description),
        before.and_then(|before| before.description_id),
    );
    translations::wrong_links(
        context,
        &title.into_iter().chain(description).collect::<Vec<_>>(),
    )
}

/// Returns the value of a successful result. Otherwise adds the issues to `found_issues` and
/// returns the default value.
fn value_or_default<T: Default>(result: Result<T, Vec<Issue>>, found_issues: &mut Vec<Issue>) -> T {
    result.unwrap_or_else(|issues| {
        found_issues.extend(issues);
        T::default()
    })
}

/// Sets the cover of a manual. If this replaces or removes an image that was created for this
/// manual and that nothing else uses, deletes the image.
fn set_cover(context: &mut Context<'_, '_>, manual: &mut Manual, cover: CoverChange) -> Result<()> {
    match cover.icon {
        Patch::Keep => {}
        Patch::Clear => manual.answered.icon_name = None,
        Patch::Set(name) => manual.answered.icon_name = Some(name),
    }
    let (image_id, owns_image) = match cover.image {
        Patch::Keep => return Ok(()),
        Patch::Clear => (None, false),
        Patch::Set(CoverImage::Record(id)) => (
            Some(id),
            manual.owns_image && manual.answered.image_id == Some(id),
        ),
        Patch::Set(CoverImage::Url(url)) if is_cover_from(context, manual, &url)? => return Ok(()),
        Patch::Set(CoverImage::Url(url)) => {
            let id = context.new_id();
            save_record(
                context,
                RecordKind::Image,
                id,
                Object::from_iter([("url".to_owned(), Value::from(url))]),
            )?;
            (Some(id), true)
        }
    };
    let previous = std::mem::replace(&mut manual.answered.image_id, image_id)
        .filter(|previous| Some(*previous) != image_id);
    if let Some(previous) = previous
        && manual.owns_image
        && !is_used_elsewhere(context, previous, manual.answered.id)?
    {
        remove_record(context, RecordKind::Image, previous)?;
    }
    manual.owns_image = owns_image;
    Ok(())
}

/// Returns whether the manual's cover is an image that was created for this manual from exactly the
/// address `url`.
fn is_cover_from(context: &mut Context<'_, '_>, manual: &Manual, url: &str) -> Result<bool> {
    let Some(id) = manual.answered.image_id.filter(|_| manual.owns_image) else {
        return Ok(false);
    };
    let image = record_as::<Object>(context, RecordKind::Image, id)?;
    Ok(image.is_some_and(|image| image.get("url").and_then(Value::as_str) == Some(url)))
}

fn is_used_elsewhere(context: &mut Context<'_, '_>, image: Uuid, manual: Uuid) -> Result<bool> {
    Ok(link_sources(context, RecordKind::Image, image)?
        .iter()
        .any(|(_, user)| *user != manual))
}
