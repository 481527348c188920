//! What every page of a stay is made of: what the guest sees, in which language, at what moment.

use engine::moment::Moment;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::dates::{self, Dates};
use super::handy::{self, Place};
use super::links::Links;
use super::phase::{Phase, phase};
use super::seen::{Flat, Manual, Step, View};
use crate::words::{Words, fill, in_language};

/// A stay, as its pages show it.
pub struct Shown {
    pub view: View,
    pub links: Links,
    pub words: &'static Words,
    /// The language that is spoken, as far as there are texts in it.
    pub tag: String,
    /// The language of the words.
    pub language: &'static str,
    /// When it is shown.
    pub now: Timestamp,
    /// Whether it is another moment than now: then nothing can be sent.
    pub is_preview: bool,
    /// The key of a form, if one is on the page.
    pub key: Uuid,
    /// Whether somebody vouches for passes.
    pub has_passes: bool,
}

impl Shown {
    /// What a guest sees, in words of the language with this tag.
    #[must_use]
    pub fn new(view: View, links: Links, tag: &str, now: Timestamp, is_preview: bool, key: Uuid) -> Self {
        let (words, language) = in_language(tag);
        Self { view, links, words, tag: tag.to_owned(), language, now, is_preview, key, has_passes: false }
    }

    /// Where the guest is in the stay, in the flat's time.
    #[must_use]
    pub fn phase(&self) -> Phase {
        let stay = &self.view.reservation;
        let check_in_time = self.flat().and_then(|flat| flat.check_in_time.as_ref()).and_then(|time| time.parse().ok());
        phase(stay.status, (stay.check_in, stay.check_out), check_in_time, &self.zone(), self.now)
    }

    /// The flat.
    #[must_use]
    pub const fn flat(&self) -> Option<&Flat> {
        self.view.property.as_ref()
    }

    /// The flat's time zone.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        self.flat().and_then(|flat| TimeZone::get(&flat.timezone).ok()).unwrap_or(TimeZone::UTC)
    }

    /// What the stay is called: its flat, or else itself.
    #[must_use]
    pub fn name(&self) -> &str {
        self.flat().map_or(self.words.phase.your_stay, |flat| &flat.name)
    }

    /// What is asked, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.view.precheckin.steps
    }

    /// A step that is asked.
    #[must_use]
    pub fn step(&self, id: Uuid) -> Option<&Step> {
        self.steps().iter().find(|step| step.id == id)
    }

    /// How many of the steps are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.steps().iter().filter(|step| step.is_complete).count()
    }

    /// Whether a step can be saved now.
    #[must_use]
    pub fn is_open(&self, step: &Step) -> bool {
        let precheckin = &self.view.precheckin;
        precheckin.is_enabled && step.is_open && !precheckin.status.is_submitted() && !self.is_preview
    }

    /// The step to do next, behind one or from the first.
    #[must_use]
    pub fn next(&self, behind: Option<Uuid>) -> Option<&Step> {
        let place = behind.and_then(|id| self.steps().iter().position(|step| step.id == id)).map_or(0, |place| place + 1);
        let (before, after) = self.steps().split_at(place);
        after.iter().chain(before).find(|step| !step.is_complete && Some(step.id) != behind && self.is_open(step))
    }

    /// Where a step stands among the others, as `Step 3 of 8`.
    #[must_use]
    pub fn position(&self, id: Uuid) -> String {
        let place = self.steps().iter().position(|step| step.id == id).unwrap_or_default() + 1;
        fill(self.words.precheckin.position, &[("n", &place.to_string()), ("total", &self.steps().len().to_string())])
    }

    /// A manual that the guest can read now.
    #[must_use]
    pub fn manual(&self, id: Uuid) -> Option<&Manual> {
        self.view.manual_categories.iter().flat_map(|category| &category.manuals).find(|manual| manual.id == id)
    }

    /// Whether the guest can write to the host here.
    #[must_use]
    pub fn takes_messages(&self) -> bool {
        self.view.portal.as_ref().is_some_and(|portal| portal.is_chat_enabled)
    }

    /// Whether the stay can be had as a pass: until the day of departure, where the portal offers that and somebody signs it.
    #[must_use]
    pub fn offers_pass(&self) -> bool {
        let is_on = self.view.portal.as_ref().is_some_and(|portal| portal.is_wallet_pass_enabled);
        let is_time = matches!(self.phase(), Phase::Before | Phase::ArrivalDay | Phase::Stay);
        self.has_passes && is_on && is_time && !self.is_preview
    }

    /// How dates and amounts are written: as in the guest's own country, where the words are of that language.
    #[must_use]
    pub fn dates(&self) -> &'static Dates {
        dates::in_language(if in_language(&self.tag).1 == self.language { &self.tag } else { self.language })
    }

    /// A day, in words.
    #[must_use]
    pub fn day(&self, date: Date) -> String {
        self.dates().day(date)
    }

    /// The lines of the flat's address.
    #[must_use]
    pub fn address(&self) -> Vec<String> {
        self.flat().and_then(|flat| flat.address.as_ref()).map(handy::address_lines).unwrap_or_default()
    }

    /// Where the flat is, as far as that is known.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let flat = self.flat()?;
        Place::of(flat.latitude, flat.longitude, &self.address())
    }

    /// A moment in the flat's time, in words.
    #[must_use]
    pub fn moment(&self, at: Moment) -> String {
        self.dates().moment(self.zone().to_datetime(at.0))
    }

    /// A time of the flat's, such as `15:00`, as it is written in the guest's language.
    #[must_use]
    pub fn time(&self, text: &str) -> String {
        text.parse().map_or_else(|_| text.to_owned(), |time| self.dates().time(time))
    }

    /// An amount of money, where there is one.
    #[must_use]
    pub fn money(&self, cents: Option<i64>, currency: Option<&str>) -> Option<String> {
        Some(self.dates().money(cents?, currency))
    }
}
