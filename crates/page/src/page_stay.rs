//! The data that every page of a stay needs: the guest view, the language and the time.

use std::sync::Arc;

use engine::moment::Moment;
use engine::typed;
use features::guest::{
    GuestView, ManualView, Phase, PrecheckinStatus, PropertyView, StepView, address_lines, phase,
};
use features::precheck::StepState;
use features::records::ReservationStatus;
use features::words::{DateFormats, Words, dates_in, fill, in_language, language_of};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::contact_links::FlatPosition;
use super::links::StayLinks;

/// A stay, with the data that its pages need.
pub struct PageStay {
    pub view: Arc<GuestView>,
    pub links: StayLinks,
    pub texts: &'static Words,
    /// The requested language of the page's texts. A text without a version in this language is
    /// shown in another language.
    pub tag: String,
    /// The language tag whose region, such as `GB` in `en-GB`, decides the formats of dates and
    /// times.
    pub regional: String,
    /// The language of the product's own texts, such as labels and buttons.
    pub language: &'static str,
    /// The time of the request, or the chosen time of a preview.
    pub now: Timestamp,
    /// Whether forms of this page cannot be sent, because the page is a preview or shows another
    /// time than now.
    pub is_preview: bool,
    /// Whether the stay ended before the guest submitted anything. Then the guest can no longer
    /// save any step.
    pub is_over: bool,
    /// The idempotency key of the forms for messages and files.
    pub key: Uuid,
    /// Whether the server can sign wallet passes.
    pub has_passes: bool,
}

impl PageStay {
    /// Builds the data that the pages of a stay need, from the guest view of the stay. `tag` is the
    /// requested language of the pages.
    #[must_use]
    pub fn new(
        mut view: Arc<GuestView>,
        links: StayLinks,
        tag: &str,
        now: Timestamp,
        is_preview: bool,
        key: Uuid,
    ) -> Self {
        let (words, language) = in_language(tag);
        let precheckin = &view.precheckin;
        // Before the first submission, only the end of the stay prevents the guest from saving
        // steps. So if no step is open, the stay is over.
        let is_over = precheckin.is_enabled
            && matches!(
                precheckin.status,
                PrecheckinStatus::NotStarted | PrecheckinStatus::InProgress
            )
            && !precheckin.steps.is_empty()
            && !precheckin.steps.iter().any(|step| step.is_open);
        if !is_preview {
            // The page hides a closed step that the guest has not begun, because the guest cannot
            // save it. An example is a step that was added after the submission.
            let is_shown = |step: &StepView| step.is_open || step.state != StepState::Todo;
            if !view.precheckin.steps.iter().all(is_shown) {
                // Other requests may share the view, so the hidden steps are removed from a copy of
                // it.
                let steps = &mut Arc::make_mut(&mut view).precheckin.steps;
                steps.retain(is_shown);
            }
        }
        Self {
            view,
            links,
            texts: words,
            regional: tag.to_owned(),
            tag: tag.to_owned(),
            language,
            now,
            is_preview,
            is_over,
            key,
            has_passes: false,
        }
    }

    /// Returns the phase of the stay, in the flat's time zone.
    #[must_use]
    pub fn phase(&self) -> Phase {
        let stay = &self.view.reservation;
        let check_in_time = self
            .flat()
            .and_then(|flat| flat.check_in_time.as_ref())
            .and_then(|time| time.parse().ok());
        phase(
            stay.status,
            (stay.check_in, stay.check_out),
            check_in_time,
            &self.zone(),
            self.now,
        )
    }

    /// Returns whether the host has not confirmed the booking yet.
    #[must_use]
    pub fn is_tentative(&self) -> bool {
        self.view.reservation.status == ReservationStatus::Tentative
    }

    /// Returns the flat of the stay; `None` if it is not known.
    #[must_use]
    pub fn flat(&self) -> Option<&PropertyView> {
        self.view.property.as_ref()
    }

    /// Returns the flat's time zone; UTC if it is not known.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        self.flat()
            .and_then(|flat| TimeZone::get(&flat.timezone).ok())
            .unwrap_or(TimeZone::UTC)
    }

    /// Returns the name of the stay: the name of its flat, or a general name such as "your stay" if
    /// the stay has no flat.
    #[must_use]
    pub fn name(&self) -> &str {
        self.flat()
            .map_or(self.texts.phase.your_stay, |flat| &flat.name)
    }

    /// Returns the name for greeting the guest: the first name, or else the last name. Returns
    /// `None` if both are missing or blank.
    #[must_use]
    pub fn guest_name(&self) -> Option<&str> {
        let guest = &self.view.reservation.guest;
        [&guest.first_name, &guest.last_name]
            .into_iter()
            .flatten()
            .map(|name| typed::trim(name))
            .find(|name| !name.is_empty())
    }

    /// Returns the steps of the stay, in order.
    #[must_use]
    pub fn steps(&self) -> &[StepView] {
        &self.view.precheckin.steps
    }

    /// Returns the step with this id, if the stay has it.
    #[must_use]
    pub fn step(&self, id: Uuid) -> Option<&StepView> {
        self.steps().iter().find(|step| step.id == id)
    }

    /// Returns the number of complete steps.
    #[must_use]
    pub fn complete_count(&self) -> usize {
        self.steps().iter().filter(|step| step.is_complete).count()
    }

    /// Returns whether the guest can save this step now.
    #[must_use]
    pub fn is_open(&self, step: &StepView) -> bool {
        self.view.precheckin.is_enabled && step.is_open && !self.is_preview
    }

    /// Returns whether the guest can save steps again after the submission.
    #[must_use]
    pub fn is_reopened(&self) -> bool {
        !self.view.precheckin.open_steps.is_empty()
    }

    /// Returns whether the pre-check-in still needs a submission by the guest. Does not check
    /// whether the steps are complete.
    #[must_use]
    pub fn should_submit(&self) -> bool {
        let precheckin = &self.view.precheckin;
        let has_open = || self.steps().iter().any(|step| step.is_open);
        let is_asked = match precheckin.status {
            PrecheckinStatus::InReview | PrecheckinStatus::Approved => self.is_reopened(),
            PrecheckinStatus::ChangesRequested => !self.steps().is_empty(),
            PrecheckinStatus::NotStarted | PrecheckinStatus::InProgress => has_open(),
        };
        precheckin.is_enabled && is_asked && !self.is_preview
    }

    /// Returns the next step that the guest can save and must still complete. The search begins
    /// after the step `behind`. After the last step, it continues with the first step, up to the
    /// step before `behind`. If `behind` is `None`, the search covers all steps in order. Steps for
    /// which only another system must act are skipped.
    #[must_use]
    pub fn next(&self, behind: Option<Uuid>) -> Option<&StepView> {
        let place = behind
            .and_then(|id| self.steps().iter().position(|step| step.id == id))
            .map_or(0, |place| place + 1);
        let (before, after) = self.steps().split_at(place);
        after
            .iter()
            .chain(before)
            .find(|step| !step.state.is_ready() && Some(step.id) != behind && self.is_open(step))
    }

    /// Returns the position of a step as a text, such as `Step 3 of 8`.
    #[must_use]
    pub fn position(&self, id: Uuid) -> String {
        let place = self
            .steps()
            .iter()
            .position(|step| step.id == id)
            .unwrap_or_default()
            + 1;
        fill(
            self.texts.precheckin.position,
            &[
                ("n", &place.to_string()),
                ("total", &self.steps().len().to_string()),
            ],
        )
    }

    /// Returns the manual with this id, if the guest can read it now.
    #[must_use]
    pub fn manual(&self, id: Uuid) -> Option<&ManualView> {
        self.view
            .manual_categories
            .iter()
            .flat_map(|category| &category.manuals)
            .find(|manual| manual.id == id)
    }

    /// Returns whether the guest can send messages to the host.
    #[must_use]
    pub fn accepts_messages(&self) -> bool {
        self.view
            .portal
            .as_ref()
            .is_some_and(|portal| portal.is_chat_enabled)
    }

    /// Returns whether the guest can report issues.
    #[must_use]
    pub fn accepts_issues(&self) -> bool {
        let is_on = self
            .view
            .portal
            .as_ref()
            .is_some_and(|portal| portal.is_ticketing_enabled);
        is_on && self.phase() != Phase::Cancelled
    }

    /// Returns whether the page offers a wallet pass. The portal must offer passes, and the server
    /// must be able to sign them. The page offers none for a preview, for an unconfirmed booking,
    /// or from the day of departure on.
    #[must_use]
    pub fn offers_pass(&self) -> bool {
        let is_on = self
            .view
            .portal
            .as_ref()
            .is_some_and(|portal| portal.is_wallet_pass_enabled);
        let is_time = matches!(
            self.phase(),
            Phase::Before | Phase::ArrivalDay | Phase::Stay
        );
        self.has_passes && is_on && is_time && !self.is_tentative() && !self.is_preview
    }

    /// Returns the formats of dates and amounts. If `regional` is a tag of the page's language,
    /// such as `en-GB` on an English page, the formats are those of its region. Otherwise they are
    /// the usual formats of the page's language.
    #[must_use]
    pub fn dates(&self) -> Arc<DateFormats> {
        let is_spoken = language_of(&self.regional) == Some(self.language);
        dates_in(if is_spoken {
            &self.regional
        } else {
            self.language
        })
    }

    /// Returns today's date at the flat.
    #[must_use]
    pub fn today(&self) -> Date {
        self.zone().to_datetime(self.now).date()
    }

    /// Formats a date in words. The text contains the year unless it is the current year.
    #[must_use]
    pub fn day(&self, date: Date) -> String {
        self.dates().day(date, self.today())
    }

    /// Formats a range of dates in words. The text contains each year that is not the current year.
    #[must_use]
    pub fn days(&self, from: Date, until: Date) -> String {
        self.dates().days(from, until, self.today())
    }

    /// Returns the lines of the flat's address.
    #[must_use]
    pub fn address(&self) -> Vec<String> {
        self.flat()
            .and_then(|flat| flat.address.as_ref())
            .map(address_lines)
            .unwrap_or_default()
    }

    /// Returns the position of the flat; `None` if it is unknown.
    #[must_use]
    pub fn flat_position(&self) -> Option<FlatPosition> {
        let flat = self.flat()?;
        FlatPosition::of(flat.latitude, flat.longitude, &self.address())
    }

    /// Formats a timestamp in words, in the flat's time zone.
    #[must_use]
    pub fn timestamp_text(&self, at: Moment) -> String {
        self.dates()
            .moment(self.zone().to_datetime(at.0), self.today())
    }

    /// Formats a time of day, such as `15:00`, in the guest's language.
    #[must_use]
    pub fn time(&self, text: &str) -> String {
        text.parse()
            .map_or_else(|_| text.to_owned(), |time| self.dates().time(time))
    }

    /// Formats an amount of money; `None` if there is no amount.
    #[must_use]
    pub fn money(&self, cents: Option<u64>, currency: Option<&str>) -> Option<String> {
        let cents = i64::try_from(cents?).ok()?;
        Some(self.dates().money(cents, currency))
    }
}
