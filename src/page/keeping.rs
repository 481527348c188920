//! What a guest keeps of a stay: its event for a calendar, and what makes the page last without a connection.

use engine::error::Result;
use jiff::ToSpan as _;

use super::calendar::{self, Event};
use super::shown::Shown;
use super::visit::Visit;
use super::wallet::{self, PassSigner};
use super::{offline, theme};
use crate::records::ReservationStatus;
use crate::words::fill;

/// The stay as an event of a calendar.
#[must_use]
pub fn calendar(visit: &Visit, shown: &Shown) -> String {
    let (stay, flat, words) = (&shown.view.reservation, shown.flat(), &shown.words.keep);
    let url = visit.url();
    let time = |time: Option<&String>| time.and_then(|time| time.parse().ok());
    let location = shown.address().join(", ");
    calendar::ics(&Event {
        id: stay.id,
        now: shown.now,
        check_in: (stay.check_in, time(flat.and_then(|flat| flat.check_in_time.as_ref()))),
        check_out: (stay.check_out, time(flat.and_then(|flat| flat.check_out_time.as_ref()))),
        zone: &shown.zone(),
        is_cancelled: stay.status == ReservationStatus::Cancelled,
        summary: &fill(words.calendar_title, &[("property", shown.name())]),
        description: &fill(words.calendar_description, &[("url", &url)]),
        location: Some(location.as_str()).filter(|location| !location.is_empty()),
        coordinates: flat.and_then(|flat| flat.latitude.zip(flat.longitude)),
        url: Some(&url),
    })
}

/// The stay as a pass for a wallet.
pub fn pass(visit: &Visit, shown: &Shown, signer: &PassSigner) -> Result<Vec<u8>> {
    let brand = theme::brand_parts(shown.view.branding.as_ref());
    wallet::package(signer, &wallet::pass(shown, signer, &visit.url()), brand, shown.now)
}

/// What a phone makes an application of.
#[must_use]
pub fn manifest(shown: &Shown) -> String {
    offline::manifest(shown.name(), shown.view.branding.as_ref(), shown.links.path(), shown.language)
}

/// What keeps the page until the stay is over: the end of its last day, in the flat's time. Of one that is cancelled nothing is
/// kept.
#[must_use]
pub fn worker(shown: &Shown) -> String {
    let stay = &shown.view.reservation;
    let last = stay.check_out.max(stay.check_in);
    let end = last.checked_add(1.day()).and_then(|day| day.to_zoned(shown.zone())).map_or(shown.now, |end| end.timestamp());
    let is_on = stay.status != ReservationStatus::Cancelled && !shown.is_preview;
    offline::worker(shown.links.path(), if is_on { end } else { shown.now })
}
