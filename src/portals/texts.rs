//! The texts of portals and brandings, and what a new one has to pass, whichever operation writes it.

use std::collections::HashSet;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::portal::Portal;
use super::portal_operations::{find, put};
use crate::scopes::Coverage;
use crate::translations::{Form, LONGEST, News, Shows, SourceTable};

/// The copy of portals: each text is of one portal, which writes it as text and links it by itself.
pub(crate) struct PortalCopy;

/// The callouts of brandings.
pub(crate) struct Callouts;

/// The field that links the prompt; the others are of the special offer.
const PROMPT: &str = "precheckinPromptMessageId";

impl Portal {
    /// The texts it links, each with the name of its field.
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

impl Shows for PortalCopy {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::PortalSettings]
    }

    fn form(&self, field: &str) -> Form {
        Form::trimmed_up_to(if field == PROMPT { LONGEST } else { 200 })
    }

    fn visible(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        let coverage = Coverage::load(context)?;
        Ok(things.iter().copied().filter(|id| coverage.may_read_portal(*id)).collect())
    }

    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        let coverage = Coverage::load(context)?;
        Ok(things.iter().copied().filter(|id| coverage.may_write_portal(*id)).collect())
    }

    /// Spec: guest portals, Copy rules.
    fn admit(&self, context: &mut Context<'_, '_>, news: &News<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)?;
        if news.is_english() { context.require(Permission::ManageOrganization) } else { Ok(()) }
    }

    fn changed(&self, context: &mut Context<'_, '_>, news: &News<'_>) -> Result<()> {
        if !news.is_english() {
            return Ok(());
        }
        for id in news.things(|_| true) {
            let Some(mut portal) = find(context, id)? else { continue };
            portal.updated_at = portal.updated_at.advanced_to(context.now());
            put(context, &portal)?;
        }
        Ok(())
    }
}

impl Shows for Callouts {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::PortalBranding]
    }

    fn form(&self, _: &str) -> Form {
        Form::up_to(2_000)
    }

    /// Brandings are everybody's to change (contract: Brandings).
    fn admit(&self, context: &mut Context<'_, '_>, _: &News<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)
    }
}
