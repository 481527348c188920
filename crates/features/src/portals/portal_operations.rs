//! The operations that list, read, create and change portals, and the functions by which other
//! files read portals.

use engine::access::Permission;
use engine::app::Summary;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::field::{Create, Field, Update, fold_name};
use engine::moment::Moment;
use engine::operation::{ById, CacheBasis, Needs, Operation, OperationName};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Json;
use uuid::Uuid;

use super::portal::{Portal, PortalFields, contact_issue};
use super::{audited, branding_operations};
use crate::scopes::Coverage;
use crate::translations::{self, ENGLISH, OtherLanguages, SourceTable};

store::statements! {
    /// Builds the response of `listPortals` as one text, with all portals. The inner query reads
    /// the rows in order from an index. An `order by` in the aggregate would instead sort the rows
    /// with their texts.
    LIST = "select '[' || coalesce(string_agg(summary, ','), '') || ']' from
        (select summary from portal where organization_id = ?1 order by created_at, id) as portals";
    /// Builds the response of `listPortals` with only the portals whose ids are in `?2`.
    LIST_SOME = "select '[' || coalesce(string_agg(summary, ','), '') || ']' from
        (select summary from portal where organization_id = ?1 and id = any(?2)
        order by created_at, id) as portals";
    /// Selects those of the given ids that are ids of portals.
    AMONG = "select id from portal where organization_id = ?1 and id = any(?2)";
    /// Selects the ids and the names of the portals with the given ids.
    NAMES = "select id, doc ->> 'name' from portal where organization_id = ?1 and id = any(?2)";
    /// Selects the ids of an organization's portals.
    IDS = "select id from portal where organization_id = ?1";
    /// Selects a portal.
    PORTAL = "select doc from portal where organization_id = ?1 and id = ?2";
    /// Selects the default portal.
    DEFAULT = "select doc from portal where organization_id = ?1 and is_default = true";
    /// Selects the id of the portal with this name. `?2` is the name in the form in which names are
    /// compared.
    BY_NAME = "select id from portal where organization_id = ?1 and name_key = ?2";
    /// Inserts or updates a portal.
    PUT = "insert into portal (organization_id, id, name_key, is_default, created_at, updated_at,
        summary, doc) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        on conflict (organization_id, id) do update
        set name_key = excluded.name_key, is_default = excluded.is_default,
        updated_at = excluded.updated_at, summary = excluded.summary, doc = excluded.doc";
    /// Selects the portals with an id after `?2`, in the order of ids. After a change of `SUMMARY`,
    /// the service reads all portals in batches of this order and writes their list items again.
    AFTER = "select id, doc from portal where organization_id = ?1 and id > ?2 order by id limit \
        ?3";
    /// Writes the list item of a portal.
    PUT_SUMMARY = "update portal set summary = ?3 where organization_id = ?1 and id = ?2";
}

/// The list item of a portal, which is stored beside the portal. Raise its version when
/// [`PortalRow`] changes; a test checks that both change together.
pub(crate) static SUMMARY: Summary = Summary {
    name: "portal",
    version: 1,
    read: &AFTER,
    write: &PUT_SUMMARY,
    of: |row| {
        let Json(portal) = row.get(1)?;
        summary(&portal)
    },
};

pub const LIST_PORTALS: OperationName<Vec<PortalRow>> = OperationName::new("listPortals");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListPortals {
    /// Whether to list only portals that the caller may change. These serve no property outside the
    /// caller's access. The filter has no effect for an API key. Left out: every portal.
    #[serde(default)]
    writable_only: Option<bool>,
}

/// A portal in the list of portals.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul", "isDefault": true,
    "supportEmail": "hello@example.com", "brandingId": null
}))]
pub struct PortalRow {
    pub id: Uuid,
    pub name: Option<String>,
    pub is_default: bool,
    pub support_email: Option<String>,
    pub branding_id: Option<Uuid>,
}

impl PortalRow {
    /// Returns the name of the portal, or the portal's id if it has no name. Only old portals have
    /// no name.
    #[must_use]
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyProperties, ViewProperties};
    vec![
        Operation::public(
            LIST_PORTALS.id(),
            Method::GET,
            "/portals",
            Needs::Permission(ViewProperties),
        )
        .summary("List every portal of the organization")
        .tool(
            "portals",
            "List portals",
            "Guest portals (the page a guest gets before and during a stay): name, whether \
                default, branding. All settings of one: `getPortal`; what it serves: \
                `listEntityScopes`.",
        )
        .cached(CacheBasis::Configuration)
        .run_text_as(LIST_PORTALS, list),
        Operation::public(
            "getPortal",
            Method::GET,
            "/portals/{id}",
            Needs::Permission(ViewProperties),
        )
        .summary("Read a portal's full configuration")
        .tool(
            "portals",
            "Read a portal",
            "All settings of a guest portal: what is switched on, contacts, special offer, \
                branding. Its id comes from `listPortals` or `search`.",
        )
        .cached(CacheBasis::Configuration)
        .run(|context, input: ById| readable(context, input.id)),
        Operation::public(
            "createPortal",
            Method::POST,
            "/portals",
            Needs::Permission(ModifyProperties),
        )
        .summary("Create a portal; it serves no property until assigned")
        .tool(
            "portals",
            "Create a portal",
            "Creates a guest portal. It serves no property until assigned: one by \
                `assignPortalToProperty`, groups or tags by `addEntityScopes` (entityType \
                portal_settings). Example: {\"name\": \"Beach flats\", \"supportEmail\": \
                \"hi@example.com\"}",
        )
        .creates()
        .rules(|input: Create<PortalFields>, wrong| input.0.rules(wrong))
        .audited(Audits::makes("portal", "name"))
        .run(create),
        Operation::public(
            "updatePortal",
            Method::PATCH,
            "/portals/{id}",
            Needs::Permission(ModifyProperties),
        )
        .summary("Change fields of a portal")
        .tool(
            "portals",
            "Change a portal",
            "Changes settings of a guest portal for all properties it serves; returns it. Example: \
                {\"id\": \"…\", \"data\": {\"isChatEnabled\": false}}",
        )
        .not_for_tools(&["expectedUpdatedAt"])
        .audited(Audits::changes(audited::portal))
        .run(update),
    ]
}

/// Returns the stored list items of portals as one JSON text, which the database builds. With
/// `writableOnly`, returns only portals that the caller may change.
fn list(context: &mut Context<'_, '_>, input: ListPortals) -> Result<String> {
    let row = if input.writable_only == Some(true) {
        let coverage = Coverage::load(context)?;
        let ids = context
            .rows(&IDS, [])?
            .iter()
            .map(|row| row.get(0))
            .collect::<Result<Vec<Uuid>, _>>()?;
        let writable: Vec<Uuid> = ids
            .into_iter()
            .filter(|id| coverage.may_write_portal(*id))
            .collect();
        context.row(&LIST_SOME, values![writable])?
    } else {
        context.row(&LIST, [])?
    };
    Ok(row.map_or(Ok("[]".into()), |row| row.get(0))?)
}

/// Reads a portal that the caller can read; 404 for any other portal.
pub(crate) fn readable(context: &mut Context<'_, '_>, id: Uuid) -> Result<Portal> {
    let portal = find(context, id)?.ok_or_else(not_found)?;
    if Coverage::load(context)?.may_read_portal(portal.id) {
        Ok(portal)
    } else {
        Err(not_found())
    }
}

fn create(context: &mut Context<'_, '_>, input: Create<PortalFields>) -> Result<Portal> {
    let fields = input.0;
    let base = Portal::new(context.new_id(), Moment(context.now()));
    let becomes_default = fields.is_default.sent() == Some(&true);
    let is_method_sent = fields
        .communication_method
        .sent()
        .is_some_and(Option::is_some);
    check_branding(context, &fields)?;
    let texts = PortalText::of(&fields);
    let changes = texts.changes(context, &base)?;
    check_permissions(context, &changes, becomes_default)?;

    let mut portal = base;
    fields.apply(&mut portal);
    check_name(context, &portal)?;
    if let Some(issue) = contact_issue(&portal, is_method_sent, &[]) {
        return Err(Error::issues(vec![issue]));
    }
    write_texts(context, &mut portal, changes, &[])?;
    if becomes_default {
        clear_default(context)?;
        portal.is_default = true;
    }
    save(context, None, &portal)?;
    Ok(portal)
}

fn update(context: &mut Context<'_, '_>, input: Update<PortalFields>) -> Result<Portal> {
    let before = writable(context, input.id)?;
    let fields = input.data;
    let is_default = fields
        .is_default
        .sent()
        .copied()
        .unwrap_or(before.is_default);
    let becomes_default = is_default && !before.is_default;
    let is_method_sent = fields
        .communication_method
        .sent()
        .is_some_and(Option::is_some);
    check_branding(context, &fields)?;
    let changes = PortalText::of(&fields).changes(context, &before)?;
    check_permissions(context, &changes, becomes_default)?;

    if input
        .expected_updated_at
        .is_some_and(|expected| expected != before.updated_at)
    {
        return Err(Error::conflict(Reason::rule(
            "changed_since",
            "The portal has changed since it was read.",
        )));
    }
    let mut portal = before.clone();
    fields.apply(&mut portal);
    if portal.name != before.name {
        check_name(context, &portal)?;
    }
    if before.is_default && !is_default {
        return Err(Error::conflict(Reason::rule(
            "default_portal",
            "This is the only default portal; make another one the default instead.",
        )));
    }
    if let Some(issue) = contact_issue(&portal, is_method_sent, &["data"]) {
        return Err(Error::issues(vec![issue]));
    }
    let texts_change = !changes.is_empty();
    write_texts(context, &mut portal, changes, &["data"])?;
    if becomes_default {
        clear_default(context)?;
        portal.is_default = true;
    }
    if portal != before || texts_change {
        portal.updated_at = before.updated_at.advanced_to(context.now());
        save(context, Some(&before), &portal)?;
    }
    Ok(portal)
}

/// Reads a portal of the organization, without a check of the caller's access. Returns `None` if
/// the portal does not exist.
pub(crate) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Portal>> {
    let row = context.row(&PORTAL, values![id])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(portal)| portal))
        .transpose()?)
}

/// Returns the name of a portal.
pub(super) fn name(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<String>> {
    Ok(find(context, id)?.and_then(|portal| portal.name))
}

/// Returns the first of these ids that is not the id of a portal; `None` if all are ids of portals.
pub(crate) fn first_missing(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<Option<Uuid>> {
    let existing = context
        .rows(&AMONG, values![ids.clone()])?
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<Vec<Uuid>>>()?;
    Ok(ids.into_iter().find(|id| !existing.contains(id)))
}

/// Returns the names of the portals with these ids. Ids that belong to no portal are left out.
pub(crate) fn names(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<Vec<(Uuid, Option<String>)>> {
    let rows = context.rows(&NAMES, values![ids])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Reads the default portal; `None` if the organization has none.
pub(crate) fn default_portal(context: &mut Context<'_, '_>) -> Result<Option<Portal>> {
    let row = context.row(&DEFAULT, [])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(portal)| portal))
        .transpose()?)
}

/// Reads a portal that the caller may change; 404 for any other portal.
fn writable(context: &mut Context<'_, '_>, id: Uuid) -> Result<Portal> {
    let portal = find(context, id)?.ok_or_else(not_found)?;
    if Coverage::load(context)?.may_write_portal(id) {
        Ok(portal)
    } else {
        Err(not_found())
    }
}

fn not_found() -> Error {
    Error::not_found("Portal")
}

fn check_branding(context: &mut Context<'_, '_>, fields: &PortalFields) -> Result<()> {
    match fields.branding_id.sent() {
        Some(Some(id)) => branding_operations::find(context, *id)?
            .map(drop)
            .ok_or_else(|| Error::not_found("Branding").of(*id)),
        _ => Ok(()),
    }
}

fn check_permissions(
    context: &Context<'_, '_>,
    changes: &[TextFieldChange],
    becomes_default: bool,
) -> Result<()> {
    if !changes.is_empty() {
        context.require(Permission::ManageOrganization)?;
    }
    if becomes_default && context.property_scope().is_limited() {
        return Err(Error::forbidden(Reason::rule(
            "default_portal_of_all",
            "A caller limited to some properties cannot choose the default portal.",
        )));
    }
    Ok(())
}

fn check_name(context: &mut Context<'_, '_>, portal: &Portal) -> Result<()> {
    let key = portal.name.as_deref().map(fold_name);
    let owner = context
        .row(&BY_NAME, values![key])?
        .map(|row| row.get::<Uuid>(0))
        .transpose()?;
    if owner.is_some_and(|id| id != portal.id) {
        return Err(Error::conflict(Reason::rule(
            "portal_name_taken",
            "Another portal has this name.",
        )));
    }
    Ok(())
}

/// Removes the default flag from the current default portal.
fn clear_default(context: &mut Context<'_, '_>) -> Result<()> {
    let Some(mut portal) = default_portal(context)? else {
        return Ok(());
    };
    portal.is_default = false;
    portal.updated_at = portal.updated_at.advanced_to(context.now());
    put(context, &portal)
}

/// Writes a portal, and the links to its texts.
fn save(context: &mut Context<'_, '_>, before: Option<&Portal>, portal: &Portal) -> Result<()> {
    put(context, portal)?;
    translations::save_links(
        context,
        portal.id,
        before.into_iter().flat_map(Portal::linked_texts),
        portal.linked_texts(),
    )
}

/// Writes a portal without its links to texts. Call it only if these links are unchanged.
pub(super) fn put(context: &mut Context<'_, '_>, portal: &Portal) -> Result<()> {
    let key = portal.name.as_deref().map(fold_name);
    let doc = store::Value::json(portal)?;
    let params = values![
        portal.id,
        key,
        portal.is_default,
        portal.created_at,
        portal.updated_at,
        summary(portal)?,
        doc
    ];
    context.execute_deferred(&PUT, params)
}

/// Returns the list item of a portal as JSON text.
fn summary(portal: &Portal) -> Result<String> {
    let row = PortalRow {
        id: portal.id,
        name: portal.name.clone(),
        is_default: portal.is_default,
        support_email: portal.support_email.clone(),
        branding_id: portal.branding_id,
    };
    serde_json::to_string(&row).map_err(Error::internal)
}

/// A text of a portal in a request. A request contains the text itself; the portal stores only the
/// id of its translation (rules: portals#copy).
struct PortalText<'f> {
    /// The name of the field in a request.
    field: &'static str,
    sent: SentText<'f>,
    link: fn(&mut Portal) -> &mut Option<Uuid>,
}

/// The value that a request sends for a field with a text of the portal.
enum SentText<'f> {
    Absent,
    Null,
    Text(&'f str),
}

/// A change of one of the portal's texts.
struct TextFieldChange {
    /// The name of the field that contains the new text in a request.
    field: &'static str,
    /// The new English text; `None` if the request unlinks the translation.
    text: Option<String>,
    link: fn(&mut Portal) -> &mut Option<Uuid>,
}

/// The four texts of a portal that a request can write: the title, the type and the call to action
/// of the special offer, and the pre-check-in prompt.
struct PortalTexts<'f>([PortalText<'f>; 4]);

impl<'f> PortalText<'f> {
    fn of(fields: &'f PortalFields) -> PortalTexts<'f> {
        fn sent<T: std::ops::Deref<Target = str>>(field: &Field<Option<T>>) -> SentText<'_> {
            match field.sent() {
                None => SentText::Absent,
                Some(None) => SentText::Null,
                Some(Some(text)) => SentText::Text(text),
            }
        }
        PortalTexts([
            PortalText {
                field: "specialOfferTitle",
                sent: sent(&fields.special_offer_title),
                link: |portal| &mut portal.special_offer_title_id,
            },
            PortalText {
                field: "specialOfferType",
                sent: sent(&fields.special_offer_type),
                link: |portal| &mut portal.special_offer_type_id,
            },
            PortalText {
                field: "specialOfferCtaText",
                sent: sent(&fields.special_offer_cta_text),
                link: |portal| &mut portal.special_offer_cta_text_id,
            },
            PortalText {
                field: "precheckinPromptMessage",
                sent: sent(&fields.precheckin_prompt_message),
                link: |portal| &mut portal.precheckin_prompt_message_id,
            },
        ])
    }
}

impl PortalTexts<'_> {
    /// Returns the changes that the request makes to the stored texts of the portal. An empty text
    /// in the request changes nothing.
    fn changes(
        self,
        context: &mut Context<'_, '_>,
        portal: &Portal,
    ) -> Result<Vec<TextFieldChange>> {
        let mut portal = portal.clone();
        let mut changes = Vec::new();
        for PortalText { field, sent, link } in self.0 {
            let linked = *link(&mut portal);
            match sent {
                SentText::Text(text) if !text.is_empty() => {
                    let stored = linked
                        .map_or(Ok(None), |id| translations::written(context, id, ENGLISH))?;
                    if stored.as_deref() != Some(text) {
                        changes.push(TextFieldChange {
                            field,
                            text: Some(text.to_owned()),
                            link,
                        });
                    }
                }
                SentText::Null if linked.is_some() => changes.push(TextFieldChange {
                    field,
                    text: None,
                    link,
                }),
                _ => {}
            }
        }
        Ok(changes)
    }
}

fn write_texts(
    context: &mut Context<'_, '_>,
    portal: &mut Portal,
    changes: Vec<TextFieldChange>,
    base: &[&str],
) -> Result<()> {
    for TextFieldChange { field, text, link } in changes {
        if let Some(text) = &text {
            translations::check_placeholders(context, &[base, &[field]].concat(), text)?;
        }
        let linked = link(portal);
        match (text, *linked) {
            (Some(text), Some(id)) => {
                translations::put(context, id, ENGLISH, &text, OtherLanguages::Replace)?;
            }
            (Some(text), None) => {
                *linked = Some(translations::create(
                    context,
                    SourceTable::PortalSettings,
                    ENGLISH,
                    &text,
                )?);
            }
            (None, _) => *linked = None,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn fields_and_version_of_the_stored_list_item_change_together() {
        let portal = Portal::new(Uuid::nil(), Moment(jiff::Timestamp::UNIX_EPOCH));
        let item: Map<String, Value> = serde_json::from_str(&summary(&portal).unwrap()).unwrap();
        let mut fields: Vec<_> = item.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(
            (SUMMARY.version, fields.join(" ").as_str()),
            (1, "brandingId id isDefault name supportEmail"),
            "raise `SUMMARY.version`, so that stored list items are rewritten, and change this test"
        );
    }
}
