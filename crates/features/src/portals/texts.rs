//! The texts that portals and brandings link, and the checks that run when any operation changes
//! one of these texts.

use std::collections::HashSet;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::portal::Portal;
use super::portal_operations::{find, put};
use crate::scopes::Coverage;
use crate::translations::{MAX_TEXT_LENGTH, SourceTable, TextChange, TextForm, TextRules};

/// The rules for the texts of portals. Each of these texts belongs to one portal. The operations on
/// portals write the text, and store the id of its translation in the portal.
pub(crate) struct PortalCopy;

/// The rules for the callouts of brandings. A callout is the message at the head of a portal.
pub(crate) struct Callouts;

/// The field that links the prompt for pre-check-in. The other three texts of a portal belong to
/// the special offer.
const PROMPT: &str = "precheckinPromptMessageId";

impl Portal {
    /// Returns the texts that the portal links, each with the name of the field that links it.
    #[must_use]
    pub fn linked_texts(&self) -> [(&'static str, Option<Uuid>); 4] {
        [
            ("specialOfferTitleId", self.special_offer_title_id),
            ("specialOfferTypeId", self.special_offer_type_id),
            ("specialOfferCtaTextId", self.special_offer_cta_text_id),
            (PROMPT, self.precheckin_prompt_message_id),
        ]
    }
}

impl TextRules for PortalCopy {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::PortalSettings]
    }

    fn form(&self, field: &str) -> TextForm {
        TextForm::trimmed_up_to(if field == PROMPT {
            MAX_TEXT_LENGTH
        } else {
            200
        })
    }

    fn visible(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        let coverage = Coverage::load(context)?;
        Ok(things
            .iter()
            .copied()
            .filter(|id| coverage.may_read_portal(*id))
            .collect())
    }

    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        let coverage = Coverage::load(context)?;
        Ok(things
            .iter()
            .copied()
            .filter(|id| coverage.may_write_portal(*id))
            .collect())
    }

    /// Requires the permissions for a change of a text that a portal links. The operations on
    /// portals require the same permissions (rules: portals#copy).
    fn admit(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)?;
        if change.is_english() {
            context.require(Permission::ManageOrganization)
        } else {
            Ok(())
        }
    }

    fn changed(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()> {
        if !change.is_english() {
            return Ok(());
        }
        for id in change.things(|_| true) {
            let Some(mut portal) = find(context, id)? else {
                continue;
            };
            portal.updated_at = portal.updated_at.advanced_to(context.now());
            put(context, &portal)?;
        }
        Ok(())
    }
}

impl TextRules for Callouts {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::PortalBranding]
    }

    fn form(&self, _: &str) -> TextForm {
        TextForm::up_to(2_000)
    }

    /// Callers with the permission `ModifyProperties` may change every branding, even if they are
    /// limited to some properties (rules: access#portals-of-limited-callers, 6).
    fn admit(&self, context: &mut Context<'_, '_>, _: &TextChange<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)
    }
}
