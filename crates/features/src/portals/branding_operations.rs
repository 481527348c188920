//! The operations that list, create and change brandings, and the functions by which other files
//! read brandings.

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::field::{Create, Update};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Needs, Nothing, Object, Operation};
use engine::values;
use http::Method;
use serde_json::Value;
use store::Json;
use uuid::Uuid;

use super::audited;
use super::branding::{Branding, BrandingFields};
use crate::records::{RecordKind, record_as};
use crate::translations::{self, ENGLISH, SourceTable, TextLink};

store::statements! {
    /// Selects the brandings of an organization: the default branding first, then the others from
    /// the oldest to the newest.
    LIST = "select doc from portal_branding where organization_id = ?1
        order by is_default desc, created_at, id";
    /// Selects a branding.
    BRANDING = "select doc from portal_branding where organization_id = ?1 and id = ?2";
    /// Selects the default branding.
    DEFAULT = "select doc from portal_branding where organization_id = ?1 and is_default = true";
    /// Inserts or updates a branding.
    PUT = "insert into portal_branding (organization_id, id, is_default, created_at, updated_at,
        doc) values (?1, ?2, ?3, ?4, ?4, ?5)
        on conflict (organization_id, id) do update
        set is_default = excluded.is_default, updated_at = excluded.updated_at, doc = excluded.doc";
}

/// The field that links the callout, the message at the head of the portal.
const CALLOUT: &str = "calloutMessageId";

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyProperties, ViewProperties};
    vec![
        Operation::public(
            "listPortalBrandings",
            Method::GET,
            "/portal-brandings",
            Needs::Permission(ViewProperties),
        )
        .summary("List brandings, the default first, then oldest first")
        .tool(
            "brandings",
            "List brandings",
            "Looks of guest portals: name, logo, colours, links, domain. The default first. A \
                portal names its own by `brandingId`.",
        )
        .cached(CacheBasis::Configuration)
        .run(list),
        Operation::public(
            "createPortalBranding",
            Method::POST,
            "/portal-brandings",
            Needs::Permission(ModifyProperties),
        )
        .summary("Create a branding")
        .tool(
            "brandings",
            "Create a branding",
            "Creates a look for guest portals; give it to a portal by `updatePortal` with \
                `brandingId`. Example: {\"name\": \"Casa Mar\", \"nickname\": \"Casa Mar\", \
                \"primaryColor\": \"#0F766E\"}",
        )
        .creates()
        .audited(Audits::makes("portal_branding", "name"))
        .run(create),
        Operation::public(
            "updatePortalBranding",
            Method::PATCH,
            "/portal-brandings/{id}",
            Needs::Permission(ModifyProperties),
        )
        .summary("Change fields of a branding")
        .tool(
            "brandings",
            "Change a branding",
            "Changes fields of a branding, and so the look of every portal that shows it; returns \
                it.",
        )
        .audited(Audits::changes(audited::branding))
        .run(update),
    ]
}

fn list(context: &mut Context<'_, '_>, _: Nothing) -> Result<Vec<Branding>> {
    all_brandings(context)
}

/// Reads every branding of the organization, the default first.
pub fn all_brandings(context: &mut Context<'_, '_>) -> Result<Vec<Branding>> {
    let rows = context.rows(&LIST, [])?;
    rows.iter()
        .map(|row| Ok(row.get(0).map(|Json(branding)| branding)?))
        .collect()
}

fn create(context: &mut Context<'_, '_>, input: Create<BrandingFields>) -> Result<Branding> {
    let fields = input.0;
    let becomes_default = fields.is_default.sent() == Some(&true);
    let callout = fields
        .callout_message
        .sent()
        .and_then(Option::as_ref)
        .map(|text| text.0.clone());
    let callout = callout.filter(|text| !engine::typed::is_blank(text));
    let issues = wrong_links(context, &fields, None, callout.is_some(), &[])?;
    if !issues.is_empty() {
        return Err(Error::issues(issues));
    }
    let mut branding = Branding::new(context.new_id(), String::new(), Moment(context.now()));
    fields.apply(&mut branding);
    if let Some(text) = callout {
        translations::check_placeholders(context, &["calloutMessage"], &text)?;
        branding.callout_message_id = Some(translations::create(
            context,
            SourceTable::PortalBranding,
            ENGLISH,
            &text,
        )?);
    }
    if becomes_default {
        clear_default(context)?;
        branding.is_default = true;
    }
    save(context, None, &branding)?;
    Ok(branding)
}

fn update(context: &mut Context<'_, '_>, input: Update<BrandingFields>) -> Result<Branding> {
    let before = find(context, input.id)?.ok_or_else(|| Error::not_found("Branding"))?;
    let fields = input.data;
    let is_default = fields
        .is_default
        .sent()
        .copied()
        .unwrap_or(before.is_default);
    let issues = wrong_links(context, &fields, Some(&before), false, &["data"])?;
    if input
        .expected_updated_at
        .is_some_and(|expected| expected != before.updated_at)
    {
        return Err(Error::conflict(Reason::rule(
            "changed_since",
            "The branding has changed since it was read.",
        )));
    }
    if before.is_default && !is_default {
        return Err(Error::conflict(Reason::rule(
            "default_branding",
            "This is the default branding; make another one the default instead.",
        )));
    }
    if !issues.is_empty() {
        return Err(Error::issues(issues));
    }
    let mut branding = before.clone();
    fields.apply(&mut branding);
    if is_default && !before.is_default {
        clear_default(context)?;
        branding.is_default = true;
    }
    if branding != before {
        branding.updated_at = before.updated_at.advanced_to(context.now());
        save(context, Some(&before), &branding)?;
    }
    Ok(branding)
}

/// Checks the links of a branding to a custom URL and to a translation. Fails with 404 if a linked
/// object does not exist. Returns an issue for each link to an object of the wrong kind. If
/// `text_wins`, the request contains the callout as text, and the linked callout is ignored.
fn wrong_links(
    context: &mut Context<'_, '_>,
    fields: &BrandingFields,
    before: Option<&Branding>,
    text_wins: bool,
    base: &[&str],
) -> Result<Vec<Issue>> {
    let mut issues = Vec::new();
    let custom_url = match fields.custom_url_id.sent() {
        Some(Some(id)) => Some(
            record_as::<Object>(context, RecordKind::CustomUrl, *id)?
                .ok_or_else(|| Error::not_found("Custom URL").of(*id))?,
        ),
        _ => None,
    };
    if let Some(Some(id)) = fields.callout_message_id.sent()
        && !text_wins
    {
        let path = [base, &[CALLOUT]]
            .concat()
            .into_iter()
            .map(PathSegment::from)
            .collect();
        let is_kept = before.is_some_and(|before| before.callout_message_id == Some(*id));
        let link = TextLink {
            path,
            id: *id,
            source: SourceTable::PortalBranding,
            field: CALLOUT,
            is_stored: is_kept,
        };
        issues.extend(translations::wrong_links(context, &[link])?);
    }
    if custom_url.is_some_and(|url| url.get("isGuestPortal") != Some(&Value::Bool(true))) {
        issues.push(Issue::new(
            &[base, &["customUrlId"]].concat(),
            Reason::rule("no_portal_url", "must be a custom URL with isGuestPortal"),
        ));
    }
    Ok(issues)
}

/// Reads a branding of the organization. Returns `None` if the branding does not exist.
pub(crate) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Branding>> {
    let row = context.row(&BRANDING, values![id])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(branding)| branding))
        .transpose()?)
}

/// Reads the organization's default branding.
pub(crate) fn default_branding(context: &mut Context<'_, '_>) -> Result<Option<Branding>> {
    let row = context.row(&DEFAULT, [])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(branding)| branding))
        .transpose()?)
}

/// Removes deleted custom URLs from the brandings that link them. Portals with such a branding are
/// then served on the default domain.
pub(crate) fn forget_custom_urls(context: &mut Context<'_, '_>, deleted: &[Uuid]) -> Result<()> {
    for mut branding in all_brandings(context)? {
        if branding
            .custom_url_id
            .is_some_and(|id| deleted.contains(&id))
        {
            branding.custom_url_id = None;
            branding.updated_at = branding.updated_at.advanced_to(context.now());
            put(context, &branding)?;
        }
    }
    Ok(())
}

/// Removes the default flag from the current default branding.
fn clear_default(context: &mut Context<'_, '_>) -> Result<()> {
    let Some(mut branding) = default_branding(context)? else {
        return Ok(());
    };
    branding.is_default = false;
    branding.updated_at = branding.updated_at.advanced_to(context.now());
    put(context, &branding)
}

/// Writes a branding and its link to the translation of the callout.
fn save(
    context: &mut Context<'_, '_>,
    before: Option<&Branding>,
    branding: &Branding,
) -> Result<()> {
    put(context, branding)?;
    let before = before.and_then(|before| before.callout_message_id);
    translations::save_links(
        context,
        branding.id,
        [(CALLOUT, before)],
        [(CALLOUT, branding.callout_message_id)],
    )
}

/// Writes a branding, but not its link to the translation of the callout. A new row gets
/// `updated_at` as its `created_at`, and an update keeps the stored `created_at`.
fn put(context: &mut Context<'_, '_>, branding: &Branding) -> Result<()> {
    let doc = store::Value::json(branding)?;
    context.execute_deferred(
        &PUT,
        values![branding.id, branding.is_default, branding.updated_at, doc],
    )
}
