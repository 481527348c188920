//! The things that a guest keeps of a stay: its calendar event, its wallet pass, and the page for
//! use without a connection.

use engine::error::Result;
use jiff::ToSpan as _;

use super::calendar::{self, Event, EventStatus};
use super::shown::Shown;
use super::visit::Visit;
use super::wallet::{self, PassSigner};
use super::{offline, theme};
use crate::guest::passes::PassView;
use crate::records::ReservationStatus;
use crate::words::fill;

/// Returns the calendar file of the stay.
#[must_use]
pub fn calendar(visit: &Visit, shown: &Shown) -> String {
    let url = visit.url(&shown.view);
    with_event(shown, Some(&url), calendar::ics)
}

/// Returns the address that adds the stay to Google's calendar. It leaves out the address of the
/// stay's page, which is the guest's credential.
#[must_use]
pub fn google_calendar(shown: &Shown) -> String {
    with_event(shown, None, calendar::google)
}

/// Passes the calendar event of the stay to `write`. `url` is the address of the stay's page.
fn with_event(shown: &Shown, url: Option<&str>, write: impl Fn(&Event<'_>) -> String) -> String {
    let (stay, words) = (&shown.view.reservation, &shown.words.keep);
    let time = |time: Option<&String>| time.and_then(|time| time.parse().ok());
    let flat = shown.flat();
    let location = shown.address().join(", ");
    let description = url.map(|url| fill(words.calendar_description, &[("url", url)]));
    write(&Event {
        id: stay.id,
        now: shown.now,
        check_in: (
            stay.check_in,
            time(flat.and_then(|flat| flat.check_in_time.as_ref())),
        ),
        check_out: (
            stay.check_out,
            time(flat.and_then(|flat| flat.check_out_time.as_ref())),
        ),
        zone: &shown.zone(),
        status: match stay.status {
            ReservationStatus::Confirmed => EventStatus::Confirmed,
            ReservationStatus::Tentative => EventStatus::Tentative,
            ReservationStatus::Cancelled => EventStatus::Cancelled,
        },
        summary: &fill(words.calendar_title, &[("property", shown.name())]),
        description: description.as_deref().unwrap_or_default(),
        location: Some(location.as_str()).filter(|location| !location.is_empty()),
        coordinates: flat.and_then(|flat| flat.latitude.zip(flat.longitude)),
        url,
    })
}

/// Returns the wallet pass of the stay.
pub(crate) fn pass(
    visit: &Visit,
    shown: &Shown,
    signer: &PassSigner,
    details: &PassView,
) -> Result<Vec<u8>> {
    let brand = theme::brand_parts(shown.view.branding.as_ref());
    wallet::package(
        signer,
        &wallet::pass(
            shown,
            signer,
            &visit.url(&shown.view),
            &visit.passes_url(),
            details,
        ),
        brand,
        shown.now,
    )
}

/// Returns the manifest, by which a phone installs the page.
#[must_use]
pub fn manifest(shown: &Shown) -> String {
    offline::manifest(
        shown.name(),
        shown.view.branding.as_ref(),
        shown.links.path(),
        shown.language,
    )
}

/// Returns the worker, which keeps the page until the end of the stay's last day, in the flat's
/// time. It keeps nothing of a cancelled stay.
#[must_use]
pub fn worker(shown: &Shown) -> String {
    let stay = &shown.view.reservation;
    let last = stay.check_out.max(stay.check_in);
    let end = last
        .checked_add(1.day())
        .and_then(|day| day.to_zoned(shown.zone()))
        .map_or(shown.now, |end| end.timestamp());
    let is_on = stay.status != ReservationStatus::Cancelled && !shown.is_preview;
    offline::worker(shown.links.path(), if is_on { end } else { shown.now })
}
