//! The setup of a flat: the configuration that all guests of the flat share. It consists of the
//! portal, its branding, the steps and manuals that are assigned to the flat, and their texts.
//!
//! The setup is cached under the configuration revision. One cache entry serves many guests, and
//! changes of reservations do not invalidate it. The guest's view (`view.rs`) decides everything
//! that depends on the stay or on the time.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use engine::app_state::Cacheable;
use engine::context::Context;
use engine::error::Result;
use serde::Serialize;
use uuid::Uuid;

use super::draft::PreviewDraft;
use super::extras::{self, ExtraView};
use super::instructions::{self, InstructionView};
use super::manuals::{FlatManuals, ManualGroups};
use super::placeholders::{self, CustomValues, TextPlacement, Values};
use super::precheckin;
use super::preview;
use super::recognition::{self, RecognitionNeeds};
use super::stay::{Stay, StayFlat, reservation};
use super::step_view::linked_texts;
use super::view::language_of;
use crate::portals::{self, Branding};
use crate::precheck::{self, Cost, Step};
use crate::records::{Reservation, portal_host};
use crate::translations::{self, Texts, has_placeholders};

/// The configuration for the guests of a flat, in one language.
pub(super) struct GuestSetup {
    /// The flat; `None` if the stay has no flat.
    pub flat: Option<Arc<StayFlat>>,
    pub language: String,
    /// The branding of the portal. Without a portal, or for a portal without a branding, this is
    /// the organization's default branding.
    pub branding: Option<Branding>,
    /// The host of the branding's custom URL, on which guests open their pages; `None` if they open
    /// them on the host of the service's public URL.
    pub domain: Option<String>,
    /// Whether the setup includes inactive steps, manuals and offers.
    pub which: SetupScope,
    /// The steps that are assigned to the flat, in the order in which guests see them.
    pub steps: Vec<Arc<Step>>,
    /// The costs of the steps in `steps`, by the step's id. Steps without costs are left out.
    pub costs: HashMap<Uuid, Cost>,
    /// All texts of the setup, except those of the manuals.
    pub texts: Texts,
    /// The manuals that are assigned to the flat.
    pub manual_groups: ManualGroups,
    /// The extras that are offered in the flat.
    pub extras: Vec<ExtraView>,
    /// The instructions for guests of the flat.
    pub instructions: Vec<InstructionView>,
    /// The values of the custom fields that placeholders in texts name.
    custom: CustomValues,
    /// Whether any text has a placeholder. If so, each stay gets its own copy of the setup, with
    /// filled placeholders.
    has_placeholders: bool,
    /// The setup from which this one was copied. Set only in a copy for one stay, whose
    /// placeholders are filled; otherwise `None`.
    source: Option<Arc<Self>>,
}

/// Which steps, manuals and offers a setup includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupScope {
    /// Only active steps, manuals and offers, as guests get them.
    Active,
    /// Active and inactive steps, manuals and offers, for previews.
    All,
}

/// Loads the stay of the reservation with this id, and the setup of its flat. Texts are in
/// `language`, or without it in the guest's language. Fails with 404 if the reservation does not
/// exist.
pub(super) fn load_with_setup(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: Option<&str>,
) -> Result<(Stay, Arc<GuestSetup>)> {
    let reservation = reservation(context, id)?;
    load_setup_for(context, id, reservation, language)
}

/// Does the same as [`load_with_setup`], for a reservation that the calling function has already
/// read from the database.
pub(super) fn load_setup_for(
    context: &mut Context<'_, '_>,
    id: Uuid,
    mut reservation: Reservation,
    language: Option<&str>,
) -> Result<(Stay, Arc<GuestSetup>)> {
    let setup = GuestSetup::of(
        context,
        reservation.property_id,
        language_of(language, &reservation.guest),
    )?;
    recognition::complete(context, id, &mut reservation, RecognitionNeeds::by(&setup))?;
    let stay = Stay {
        id,
        reservation,
        flat: setup.flat.clone(),
    };
    let setup = setup.filled(&stay, false);
    Ok((stay, setup))
}

impl GuestSetup {
    /// Returns the setup of a flat, from the cache if possible.
    fn of(
        context: &mut Context<'_, '_>,
        property: Option<Uuid>,
        language: String,
    ) -> Result<Arc<Self>> {
        let key = format!("{} {language}", property.unwrap_or_default());
        context.cached(&key, |context| {
            let flat = StayFlat::load(context, property)?;
            Self::load(context, flat, language, SetupScope::Active)
        })
    }

    /// Returns the setup of a flat for a preview of a portal. `draft` has the unsaved values of a
    /// form that the preview shows. Only a setup without such values is cached, under another key
    /// than the setups of guests. Fails with 404 if the portal or the flat is deleted.
    pub(super) fn previewed(
        context: &mut Context<'_, '_>,
        portal: Uuid,
        property: Option<Uuid>,
        language: String,
        which: SetupScope,
        draft: PreviewDraft,
    ) -> Result<Arc<Self>> {
        let flat = property.map_or_else(|| "-".into(), |id| id.to_string());
        let key = format!("preview {portal} {flat} {which:?} {language}");
        let load = |context: &mut Context<'_, '_>| {
            let flat = preview::flat(context, portal, property, &draft)?;
            Self::load(context, Some(flat), language, which)
        };
        if draft.is_empty() {
            return context.cached(&key, load);
        }
        let mut setup = load(context)?;
        draft.apply_to_branding(setup.branding.as_mut());
        let draft_texts: Vec<(Uuid, String)> = draft.texts().collect();
        let texts = draft_texts.iter().map(|(_, text)| text.as_str());
        let flat = placeholders::flat_id(setup.flat.as_deref());
        let custom = placeholders::custom_values(context, flat, texts.clone())?;
        setup.has_placeholders |= texts.into_iter().any(has_placeholders);
        setup.custom.extend(custom);
        setup.texts.extend(draft_texts, &setup.language);
        Ok(Arc::new(setup))
    }

    /// Returns the setup for one stay, with the values of the stay in place of placeholders. A text
    /// is left out if a placeholder in it has no value. A manual with such a text is left out as
    /// well.
    pub(super) fn filled(self: Arc<Self>, stay: &Stay, is_preview: bool) -> Arc<Self> {
        if !self.has_placeholders {
            return self;
        }
        let values = Values::of(stay, &self.custom, &self.language, is_preview);
        let steps = self.steps.iter();
        Arc::new(Self {
            flat: self.flat.clone(),
            language: self.language.clone(),
            branding: self.branding.clone(),
            domain: self.domain.clone(),
            which: self.which,
            steps: steps
                .filter_map(|step| placeholders::filled_step(step, &self.texts, &values))
                .collect(),
            costs: self.costs.clone(),
            texts: self
                .texts
                .filled(|text| values.plain(text, TextPlacement::Elsewhere).ok()),
            manual_groups: self.manual_groups.filled(&values),
            extras: self.extras.clone(),
            instructions: self.instructions.clone(),
            custom: CustomValues::new(),
            has_placeholders: false,
            source: Some(Arc::clone(&self)),
        })
    }

    /// Returns the setup from which this one was copied, in which the placeholders are not filled.
    /// If this setup is no copy, returns this setup.
    pub(super) fn source(&self) -> &Self {
        self.source.as_deref().unwrap_or(self)
    }

    fn load(
        context: &mut Context<'_, '_>,
        flat: Option<StayFlat>,
        language: String,
        which: SetupScope,
    ) -> Result<Self> {
        let (steps, manuals, extras, instructions) = match &flat {
            Some(flat) => (
                precheckin::steps_reaching(context, flat, which)?,
                FlatManuals::load(context, flat, which)?,
                extras::load(context, flat)?,
                instructions::load(context, flat)?,
            ),
            None => Default::default(),
        };
        let costs = precheck::costs(context, &steps)?;
        let portal = flat.as_ref().and_then(StayFlat::portal);
        let branding = match portal.and_then(|portal| portal.branding_id) {
            Some(id) => portals::find_branding(context, id)?,
            None => portals::default_branding(context)?,
        };
        let custom_url = branding
            .as_ref()
            .and_then(|branding| branding.custom_url_id);
        let domain = match custom_url {
            Some(id) => portal_host(context, id)?,
            None => None,
        };
        let copy = portal.iter().flat_map(|portal| {
            let offer = [
                portal.special_offer_title_id,
                portal.special_offer_type_id,
                portal.special_offer_cta_text_id,
            ];
            offer
                .into_iter()
                .chain([portal.precheckin_prompt_message_id])
        });
        let callout = branding.iter().map(|branding| branding.callout_message_id);
        let of_steps = steps.iter().flat_map(|step| linked_texts(step));
        let linked: HashSet<Uuid> = copy.chain(callout).flatten().chain(of_steps).collect();
        let mut texts = translations::texts(
            context,
            linked.iter().copied().chain(manuals.linked_texts()),
            &language,
        )?;
        let contracts = steps
            .iter()
            .filter_map(|step| step.write_only.contract_template_text.as_deref());
        let texts_with_placeholders: Vec<&str> = texts.all().chain(contracts).collect();
        let flat_id = placeholders::flat_id(flat.as_ref());
        let custom =
            placeholders::custom_values(context, flat_id, texts_with_placeholders.iter().copied())?;
        let has_placeholders = texts_with_placeholders.into_iter().any(has_placeholders);
        let manual_groups = manuals.into_translated(&texts, &language);
        texts.retain(&linked);
        Ok(Self {
            flat: flat.map(Arc::new),
            language,
            branding,
            domain,
            which,
            steps,
            costs,
            texts,
            manual_groups,
            extras,
            instructions,
            custom,
            has_placeholders,
            source: None,
        })
    }
}

impl Cacheable for GuestSetup {
    /// Returns the length of the setup as JSON, as an estimate of the memory that the setup uses.
    fn weight(&self) -> u64 {
        let flat = self
            .flat
            .as_ref()
            .map(|flat| (&flat.property, flat.portal()));
        let steps: Vec<&Step> = self.steps.iter().map(AsRef::as_ref).collect();
        length_of(&(
            flat,
            &self.branding,
            steps,
            &self.costs,
            &self.texts,
            &self.manual_groups,
            (&self.extras, &self.instructions, &self.custom),
        ))
    }
}

/// Returns the length of a value as JSON, in bytes.
pub(super) fn length_of(value: &impl Serialize) -> u64 {
    let mut length = ByteCounter(0);
    // Writing to this counter cannot fail. If `value` cannot be serialized, the counted length is
    // only too small.
    let _ = serde_json::to_writer(&mut length, value);
    length.0
}

/// A writer that counts the bytes written to it and discards them.
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
