//! What is set up for the guests of a flat, whoever they are: its portal, how that looks, and the steps, manuals and texts
//! that reach it.
//!
//! All of it is configuration, so it is kept in memory under the revision of that, from one guest to the next and however
//! many reservations come and go. What depends on the stay or on the moment is decided anew for each view.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use engine::context::Context;
use engine::error::Result;
use engine::kit::Weighed;
use serde::Serialize;
use uuid::Uuid;

use super::draft::Draft;
use super::manuals::{Shelves, Stock};
use super::precheckin;
use super::preview;
use super::stay::{Flat, Stay, reservation};
use super::view::language_of;
use crate::portals::{self, Branding};
use crate::precheck::{self, Cost, Step};
use crate::translations::{self, Texts};

/// What is set up for the guests of a flat, in one language.
pub(super) struct Setup {
    /// The flat, where there is one.
    pub flat: Option<Arc<Flat>>,
    /// The language.
    pub language: String,
    /// How the portal looks; the organization's default where the portal has none of its own or there is none.
    pub branding: Option<Branding>,
    /// Which of what follows there is.
    pub which: Which,
    /// The steps that reach the flat, in guest order.
    pub steps: Vec<Arc<Step>>,
    /// What of them costs something, by step.
    pub costs: HashMap<Uuid, Cost>,
    /// The texts of all but the manuals.
    pub texts: Texts,
    /// The manuals that reach the flat.
    pub shelves: Shelves,
}

/// Which steps, manuals and offers are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those that are active: what guests get.
    Active,
    /// Those that are not, as well.
    All,
}

/// A stay and what is set up for it, in the language asked for or else the guest's; 404 where there is no such reservation.
pub(super) fn visit(context: &mut Context<'_, '_>, id: Uuid, asked: Option<&str>) -> Result<(Stay, Arc<Setup>)> {
    let reservation = reservation(context, id)?;
    let setup = Setup::of(context, reservation.property_id, language_of(asked, &reservation.guest))?;
    Ok((Stay { id, reservation, flat: setup.flat.clone() }, setup))
}

impl Setup {
    /// What is set up for a flat now.
    fn of(context: &mut Context<'_, '_>, property: Option<Uuid>, language: String) -> Result<Arc<Self>> {
        let key = format!("{} {language}", property.unwrap_or_default());
        context.cached(&key, |context| {
            let flat = Flat::load(context, property)?;
            Self::load(context, flat, language, Which::Active)
        })
    }

    /// What is set up for a flat as a preview of a portal shows it, kept apart from what guests get; 404 where the portal or the
    /// flat is no longer there.
    pub(super) fn previewed(
        context: &mut Context<'_, '_>,
        portal: Uuid,
        property: Option<Uuid>,
        language: String,
        which: Which,
        draft: Draft,
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
        draft.dress(setup.branding.as_mut());
        setup.texts.extend(draft.texts(), &setup.language);
        Ok(Arc::new(setup))
    }

    fn load(context: &mut Context<'_, '_>, flat: Option<Flat>, language: String, which: Which) -> Result<Self> {
        let (steps, stock) = match &flat {
            Some(flat) => (precheckin::reaching(context, flat, which)?, Stock::load(context, flat, which)?),
            None => Default::default(),
        };
        let costs = precheck::costs(context, &steps)?;
        let portal = flat.as_ref().and_then(Flat::portal);
        let branding = match portal.and_then(|portal| portal.branding_id) {
            Some(id) => portals::find_branding(context, id)?,
            None => portals::default_branding(context)?,
        };
        let copy = portal.iter().flat_map(|portal| {
            let offer = [portal.special_offer_title_id, portal.special_offer_type_id, portal.special_offer_cta_text_id];
            offer.into_iter().chain([portal.precheckin_prompt_message_id])
        });
        let callout = branding.iter().map(|branding| branding.callout_message_id);
        let of_steps = steps.iter().flat_map(|step| precheckin::linked_texts(step));
        let linked: HashSet<Uuid> = copy.chain(callout).flatten().chain(of_steps).collect();
        let mut texts = translations::texts(context, linked.iter().copied().chain(stock.linked_texts()), &language)?;
        let shelves = stock.shelve(&texts);
        texts.retain(&linked);
        Ok(Self { flat: flat.map(Arc::new), language, branding, which, steps, costs, texts, shelves })
    }
}

impl Weighed for Setup {
    /// How long it is as JSON, which is about what it takes in memory.
    fn weight(&self) -> u64 {
        let flat = self.flat.as_ref().map(|flat| (&flat.property, flat.portal()));
        let steps: Vec<&Step> = self.steps.iter().map(AsRef::as_ref).collect();
        length_of(&(flat, &self.branding, steps, &self.costs, &self.texts, &self.shelves))
    }
}

/// How many bytes a value takes as JSON.
pub(super) fn length_of(value: &impl Serialize) -> u64 {
    let mut length = Length(0);
    // Counting cannot fail; what were left out would only be thought lighter than it is.
    let _ = serde_json::to_writer(&mut length, value);
    length.0
}

/// Counts what is written to it.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
