//! Builds the files that a guest can save on a phone: the calendar event, the wallet pass, and the
//! offline copy of the page.

use engine::error::Result;
use features::guest::passes::PassView;
use features::records::ReservationStatus;
use features::words::fill;
use jiff::ToSpan as _;

use super::calendar::{self, CalendarEvent, EventStatus};
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::wallet::{self, PassSigner};
use super::{offline, theme};

/// Returns the calendar file of the stay.
#[must_use]
pub fn calendar(request: &PageRequest, page_stay: &PageStay) -> String {
    let url = request.url(&page_stay.view);
    with_event(page_stay, Some(&url), calendar::ics)
}

/// Returns the link that adds the stay to Google Calendar. The link does not contain the address of
/// the stay's page, because that address is the guest's credential.
#[must_use]
pub fn google_calendar(page_stay: &PageStay) -> String {
    with_event(page_stay, None, calendar::google)
}

/// Calls `write` with the calendar event of the stay. `url` is the address of the stay's page.
fn with_event(
    page_stay: &PageStay,
    url: Option<&str>,
    write: impl Fn(&CalendarEvent<'_>) -> String,
) -> String {
    let (stay, words) = (&page_stay.view.reservation, &page_stay.texts.keep);
    let time = |time: Option<&String>| time.and_then(|time| time.parse().ok());
    let flat = page_stay.flat();
    let location = page_stay.address().join(", ");
    let description = url.map(|url| fill(words.calendar_description, &[("url", url)]));
    write(&CalendarEvent {
        id: stay.id,
        now: page_stay.now,
        check_in: (
            stay.check_in,
            time(flat.and_then(|flat| flat.check_in_time.as_ref())),
        ),
        check_out: (
            stay.check_out,
            time(flat.and_then(|flat| flat.check_out_time.as_ref())),
        ),
        zone: &page_stay.zone(),
        status: match stay.status {
            ReservationStatus::Confirmed => EventStatus::Confirmed,
            ReservationStatus::Tentative => EventStatus::Tentative,
            ReservationStatus::Cancelled => EventStatus::Cancelled,
        },
        summary: &fill(words.calendar_title, &[("property", page_stay.name())]),
        description: description.as_deref().unwrap_or_default(),
        location: Some(location.as_str()).filter(|location| !location.is_empty()),
        coordinates: flat.and_then(|flat| flat.latitude.zip(flat.longitude)),
        url,
    })
}

/// Returns the wallet pass of the stay.
pub(crate) fn pass(
    request: &PageRequest,
    page_stay: &PageStay,
    signer: &PassSigner,
    details: &PassView,
) -> Result<Vec<u8>> {
    let brand = theme::brand_parts(page_stay.view.branding.as_ref());
    wallet::package(
        signer,
        &wallet::pass(
            page_stay,
            signer,
            &request.url(&page_stay.view),
            &request.passes_url(),
            details,
        ),
        brand,
        page_stay.now,
    )
}

/// Returns the web manifest, with which a phone installs the page on its home screen.
#[must_use]
pub fn manifest(page_stay: &PageStay) -> String {
    offline::manifest(
        page_stay.name(),
        page_stay.view.branding.as_ref(),
        page_stay.links.path(),
        page_stay.language,
    )
}

/// Returns the service worker. The worker stores the offline copy until the end of the last day of
/// the stay, in the flat's time zone. For a cancelled stay, the worker stores no copy.
#[must_use]
pub fn worker(page_stay: &PageStay) -> String {
    let stay = &page_stay.view.reservation;
    let last = stay.check_out.max(stay.check_in);
    let end = last
        .checked_add(1.day())
        .and_then(|day| day.to_zoned(page_stay.zone()))
        .map_or(page_stay.now, |end| end.timestamp());
    let is_on = stay.status != ReservationStatus::Cancelled && !page_stay.is_preview;
    offline::worker(
        page_stay.links.path(),
        if is_on { end } else { page_stay.now },
    )
}
