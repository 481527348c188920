//! Describes portals, brandings and assignments of portals for the audit log.

use engine::audit::{Target, Thing, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};

use super::{branding_operations, portal_operations};
use crate::translations::{self, ENGLISH};

/// Describes a portal. Requests contain its copy as text, and answers contain the ids of
/// translations, so the texts are added here.
pub(super) fn portal(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let found = id(input, "id").map_or(Ok(None), |id| portal_operations::find(context, id))?;
    let Some(portal) = found else { return Ok(None) };
    let (title, kind) = (portal.special_offer_title_id, portal.special_offer_type_id);
    let (call, prompt) = (
        portal.special_offer_cta_text_id,
        portal.precheckin_prompt_message_id,
    );
    let texts = translations::texts(
        context,
        [title, kind, call, prompt].into_iter().flatten(),
        ENGLISH,
    )?;
    let copy = json!({
        "specialOfferTitle": texts.of(title), "specialOfferType": texts.of(kind), "specialOfferCtaText": texts.of(call),
        "precheckinPromptMessage": texts.of(prompt),
    });
    Thing::new("portal", Some(portal.id), portal.name.clone())
        .showing(&portal)?
        .withholding(&copy)
        .map(Some)
}

/// Describes the portal that an input names, by its name.
pub(crate) fn named_portal(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let id = id(input, "id");
    let name = id.map_or(Ok(None), |id| portal_operations::name(context, id))?;
    Ok(Target::new("portal", id, name))
}

/// Describes a branding.
pub(super) fn branding(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let found = id(input, "id").map_or(Ok(None), |id| branding_operations::find(context, id))?;
    found
        .map(|branding| {
            Thing::new(
                "portal_branding",
                Some(branding.id),
                Some(branding.name.clone()),
            )
            .showing(&branding)
        })
        .transpose()
}
