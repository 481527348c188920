//! Describes portals and brandings for entries of the audit log.

use engine::audit::{AuditedObject, Target, id};
use engine::context::Context;
use engine::error::Result;
use serde_json::{Value, json};

use super::{branding_operations, portal_operations};
use crate::translations::{self, ENGLISH};

/// Describes a portal for its audit entry. Requests contain texts of the portal, but responses
/// contain only the ids of their translations. So the description adds the English texts.
pub(super) fn portal(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let portal = id(input, "id").map_or(Ok(None), |id| portal_operations::find(context, id))?;
    let Some(portal) = portal else {
        return Ok(None);
    };
    let (title, kind) = (portal.special_offer_title_id, portal.special_offer_type_id);
    let (call_to_action, prompt) = (
        portal.special_offer_cta_text_id,
        portal.precheckin_prompt_message_id,
    );
    let texts = translations::texts(
        context,
        [title, kind, call_to_action, prompt].into_iter().flatten(),
        ENGLISH,
    )?;
    let english_texts = json!({
        "specialOfferTitle": texts.of(title),
        "specialOfferType": texts.of(kind),
        "specialOfferCtaText": texts.of(call_to_action),
        "precheckinPromptMessage": texts.of(prompt),
    });
    AuditedObject::new("portal", Some(portal.id), portal.name.clone())
        .showing(&portal)?
        .withholding(&english_texts)
        .map(Some)
}

/// Returns the id and the name of the portal that an input refers to.
pub(crate) fn named_portal(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let id = id(input, "id");
    let name = id.map_or(Ok(None), |id| portal_operations::name(context, id))?;
    Ok(Target::new("portal", id, name))
}

/// Describes, for the audit log, the branding whose id is in `input`. Returns `None` if the
/// branding does not exist.
pub(super) fn branding(
    context: &mut Context<'_, '_>,
    input: &Value,
) -> Result<Option<AuditedObject>> {
    let branding = id(input, "id").map_or(Ok(None), |id| branding_operations::find(context, id))?;
    branding
        .map(|branding| {
            AuditedObject::new(
                "portal_branding",
                Some(branding.id),
                Some(branding.name.clone()),
            )
            .showing(&branding)
        })
        .transpose()
}
