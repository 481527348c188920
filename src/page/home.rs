//! The page by which a guest enters: what matters on this day of the stay comes first.

use askama::Template;
use engine::error::{Error, Result};
use jiff::Unit;

use super::frame::{self, Frame, Way, icon};
use super::phase::Phase;
use super::reading::{self, About, Card, Shelf};
use super::seen::{Status, Step};
use super::shown::Shown;
use crate::guest::OfferView;
use crate::portals::Tile;
use crate::words::fill;

#[derive(Template)]
#[template(path = "page/home.html")]
struct Home<'v> {
    frame: Frame<'v>,
    head: Head<'v>,
    /// Whether nothing is set up yet.
    is_bare: bool,
    callout: Option<&'v str>,
    /// A question, and where it is answered.
    asks_for_review: Option<(&'static str, String)>,
    /// What is needed on this day.
    first: Vec<Shelf<'v>>,
    /// Where the way is shown, and where it leads to.
    way: Option<(String, Option<String>)>,
    asking: Option<Asking<'v>>,
    headings: Vec<Shelf<'v>>,
    /// What will be shown, and when.
    upcoming: Vec<(&'v str, String)>,
    offer: Option<&'v OfferView>,
    tiles: Vec<Way>,
    contact: Vec<Way>,
}

/// What a stay is: where, when, and how it stands.
struct Head<'v> {
    photo: Option<&'v str>,
    /// Above the name.
    over: String,
    name: &'v str,
    said: Option<String>,
    more: Option<String>,
    address: Option<String>,
    map: Option<String>,
    pin: String,
    shows_dates: bool,
    range: String,
    check_in: String,
    check_in_time: Option<String>,
    check_out: String,
    check_out_time: Option<String>,
    /// Leads to the stay as an event, while it is still to come.
    calendar: Option<String>,
    calendar_icon: String,
    /// Leads to the stay as a pass, where there is one.
    pass: Option<String>,
    pass_icon: String,
}

/// Pre-check-in, as it stands.
struct Asking<'v> {
    is_folded: bool,
    is_open: bool,
    icon: String,
    prompt: &'v str,
    /// How far it is, in words, and in steps.
    progress: String,
    done: usize,
    status: &'static str,
    /// What has become of it, once it has been submitted.
    outcome: Option<&'static str>,
    /// What staff wrote.
    message: Option<&'v str>,
    /// The one thing to do: what it is, and where.
    next: Option<(String, String)>,
    /// Leads to the answers, where something else is to be done first but they can be handed in as they are.
    review: Option<String>,
    rows: Vec<Row<'v>>,
    has_confetti: bool,
    /// Where they fall from, in hundredths.
    bits: Vec<u8>,
}

/// A step, and how it stands.
struct Row<'v> {
    step: &'v Step,
    href: String,
    sign: String,
    /// Further classes of its sign.
    kind: &'static str,
    mark: &'static str,
}

/// The page by which a guest enters.
///
/// `is_handed_in` says that pre-check-in was handed in just now.
pub fn render(shown: &Shown, is_handed_in: bool) -> Result<String> {
    let phase = shown.phase();
    let view = &shown.view;
    let is_cancelled = phase == Phase::Cancelled;
    // What a host says to everybody is said to whoever comes or is there.
    let is_on = !is_cancelled && phase != Phase::After;
    let first = first(shown, phase);
    let is_first = |manual: &super::seen::Manual| {
        first.iter().flat_map(|shelf: &Shelf<'_>| &shelf.manuals).any(|card: &Card<'_>| card.manual.id == manual.id)
    };
    let headings = if is_cancelled { Vec::new() } else { reading::shelves(shown, is_first) };
    let asking = if is_on { asking(shown, phase, is_handed_in) } else { None };
    let is_there = matches!(phase, Phase::ArrivalDay | Phase::Stay);
    let upcoming = view.upcoming.iter().filter_map(|later| {
        let when = fill(shown.words.manuals.unlocks, &[("moment", &shown.moment(later.visible_from))]);
        Some((later.title.as_deref()?, when))
    });
    Home {
        frame: Frame::of(shown, None),
        head: head(shown, phase),
        is_bare: view.portal.is_none() && headings.is_empty() && first.is_empty() && !is_cancelled,
        callout: view.branding.as_ref().and_then(|branding| branding.callout_message.as_deref()).filter(|_| is_on),
        asks_for_review: asks_for_review(shown, phase),
        way: shown.place().filter(|_| is_there).map(|place| (place.directions(), address(shown, "\n"))),
        asking,
        upcoming: if is_cancelled { Vec::new() } else { upcoming.collect() },
        offer: view.special_offer.as_ref().filter(|_| !is_cancelled),
        tiles: if is_on { tiles(shown) } else { Vec::new() },
        contact: contact(shown),
        first,
        headings,
    }
    .render()
    .map_err(Error::internal)
}

/// What is needed on this day, before all else.
fn first(shown: &Shown, phase: Phase) -> Vec<Shelf<'_>> {
    let words = shown.words;
    let shelves = match phase {
        Phase::ArrivalDay | Phase::Stay => vec![
            reading::shelf_about(shown, About::Door, "door", words.phase.at_the_door),
            reading::shelf_about(shown, About::Wifi, "wifi", words.wifi.title),
        ],
        Phase::DepartureDay => vec![reading::shelf_about(shown, About::Leaving, "leaving", words.phase.before_you_leave)],
        Phase::Cancelled | Phase::Before | Phase::After => Vec::new(),
    };
    shelves.into_iter().flatten().collect()
}

fn address(shown: &Shown, between: &str) -> Option<String> {
    let lines = shown.address();
    (!lines.is_empty()).then(|| lines.join(between))
}

fn head(shown: &Shown, phase: Phase) -> Head<'_> {
    let words = &shown.words.phase;
    let (stay, flat) = (&shown.view.reservation, shown.flat());
    let (check_in, check_out) = (shown.day(stay.check_in), shown.day(stay.check_out));
    let time = |time: Option<&String>| time.map(|time| shown.time(time));
    let leaves = time(flat.and_then(|flat| flat.check_out_time.as_ref()));
    let (said, more) = match phase {
        Phase::Cancelled => (Some(words.cancelled.to_owned()), (!contact(shown).is_empty()).then(|| words.cancelled_contact.to_owned())),
        Phase::Before => (None, None),
        Phase::ArrivalDay => (Some(words.arrives_today.to_owned()), None),
        Phase::Stay => (Some(fill(words.here_until, &[("date", &check_out)])), None),
        Phase::DepartureDay => (Some(words.departure.to_owned()), leaves.as_ref().map(|time| fill(words.leave_by, &[("time", time)]))),
        Phase::After => (Some(words.thanks.to_owned()), Some(words.thanks_more.to_owned())),
    };
    let over = match &stay.guest.first_name {
        Some(name) => format!("{} · {name}", words.your_stay),
        None => words.your_stay.to_owned(),
    };
    let nights = stay.check_in.until((Unit::Day, stay.check_out)).map_or(0, |span| span.get_days()).unsigned_abs();
    let is_on = phase != Phase::Cancelled && phase != Phase::After;
    Head {
        // Whoever stands at the door, or leaves, knows what it looks like and wants to know something else.
        photo: flat.and_then(|flat| flat.photo_url.as_deref()).filter(|_| matches!(phase, Phase::Before | Phase::After)),
        over,
        name: shown.name(),
        said,
        more,
        address: address(shown, ", ").filter(|_| is_on),
        map: shown.place().map(|place| place.map()),
        pin: icon("map-pin"),
        shows_dates: is_on,
        range: format!("{} · {}", shown.dates().days(stay.check_in, stay.check_out), shown.words.nights(nights)),
        check_in,
        check_in_time: time(flat.and_then(|flat| flat.check_in_time.as_ref())).map(|time| fill(words.from_time, &[("time", &time)])),
        check_out,
        check_out_time: leaves.map(|time| fill(words.until_time, &[("time", &time)])),
        calendar: (phase == Phase::Before).then(|| shown.links.calendar()),
        calendar_icon: icon("calendar-plus"),
        pass: shown.offers_pass().then(|| shown.links.pass()),
        pass_icon: icon("ticket"),
    }
}

/// The host may ask how it is, once the guest is there, and how it was.
fn asks_for_review(shown: &Shown, phase: Phase) -> Option<(&'static str, String)> {
    let portal = shown.view.portal.as_ref().filter(|portal| portal.is_chat_enabled)?;
    let words = &shown.words.offer;
    let asked = match phase {
        Phase::Stay if portal.is_review_request_checkin_enabled => words.review_checkin,
        Phase::After if portal.is_review_request_checkout_enabled => words.review_checkout,
        _ => return None,
    };
    Some((asked, shown.links.messages()))
}

fn asking(shown: &Shown, phase: Phase, is_handed_in: bool) -> Option<Asking<'_>> {
    let precheckin = &shown.view.precheckin;
    let prompt = precheckin.prompt_message.as_deref()?;
    let words = &shown.words.precheckin;
    let (done, total) = (shown.done(), shown.steps().len());
    let status = precheckin.status;
    let is_over = status.is_submitted();
    let is_asked = total > 0 && !is_over && !shown.is_preview;
    let unfinished = shown.next(None);
    // What was sent back is done already, and to be looked at all the same.
    let sent_back = shown.steps().iter().find(|step| status == Status::ChangesRequested && shown.is_open(step));
    let next = is_asked.then(|| match unfinished.or(sent_back) {
        Some(step) => (fill(words.next, &[("title", &step.title)]), shown.links.step(step.id)),
        None => (words.review.to_owned(), shown.links.review()),
    });
    let rows = shown.steps().iter().enumerate().map(|(place, step)| row(shown, place, step));
    let is_folded = phase != Phase::Before;
    Some(Asking {
        is_folded,
        is_open: is_folded && status == Status::ChangesRequested,
        icon: icon("clipboard-check"),
        prompt,
        progress: fill(words.progress, &[("done", &done.to_string()), ("total", &total.to_string())]),
        done,
        status: match status {
            Status::NotStarted => words.not_started,
            Status::InProgress => words.in_progress,
            Status::InReview => words.in_review,
            Status::ChangesRequested => words.changes_requested,
            Status::Approved => words.approved,
        },
        outcome: outcome(shown),
        message: precheckin.message.as_deref().filter(|_| status == Status::ChangesRequested),
        next,
        review: (is_asked && unfinished.is_none() && sent_back.is_some()).then(|| shown.links.review()),
        rows: rows.collect(),
        has_confetti: is_handed_in && is_over && shown.view.portal.as_ref().is_some_and(|portal| portal.is_confetti_enabled),
        bits: (2..100).step_by(7).collect(),
    })
}

/// What has become of what was handed in; nothing before.
#[must_use]
pub fn outcome(shown: &Shown) -> Option<&'static str> {
    let words = &shown.words.precheckin;
    match shown.view.precheckin.status {
        Status::NotStarted | Status::InProgress => None,
        Status::InReview => Some(words.outcome_in_review),
        Status::ChangesRequested => Some(words.outcome_changes),
        Status::Approved => Some(words.outcome_approved),
    }
}

fn row<'v>(shown: &Shown, place: usize, step: &'v Step) -> Row<'v> {
    let words = &shown.words.precheckin;
    let is_back = shown.view.precheckin.status == Status::ChangesRequested && step.is_open;
    let number = (place + 1).to_string();
    let (sign, kind, mark) = match (is_back, step.is_complete) {
        (true, _) => ("!".to_owned(), " back", words.sent_back),
        (false, true) => ("✓".to_owned(), " on", words.done),
        (false, false) => (number, "", words.to_do),
    };
    Row { step, href: shown.links.step(step.id), sign, kind, mark }
}

/// The tiles, each with where it leads; one that leads nowhere is not shown.
fn tiles(shown: &Shown) -> Vec<Way> {
    let place = shown.place();
    let tile = |tile: &Tile| {
        let place = place.as_ref();
        let (name, href, is_away) = match tile {
            Tile::Uber => ("car", place?.uber(shown.name()), true),
            Tile::ReportAnIssue if shown.takes_messages() => ("wrench", shown.links.issue(), false),
            Tile::ReportAnIssue => ("wrench", frame::host(shown)?.href, true),
            Tile::FindParking => ("circle-parking", place?.parking(), true),
            Tile::FindParkingJustpark => ("square-parking", place?.justpark(), true),
            Tile::RentBabyGear => ("baby", place?.baby_gear(), true),
        };
        Some(Way { icon: icon(name), label: shown.words.tile(*tile), href, is_away })
    };
    shown.view.quick_access.iter().filter_map(tile).collect()
}

/// Every way to reach the host that does not lead through this page.
fn contact(shown: &Shown) -> Vec<Way> {
    let email = shown.view.portal.as_ref().and_then(|portal| portal.support_email.as_deref());
    let email =
        email.map(|email| Way { icon: icon("mail"), label: shown.words.contact.email, href: format!("mailto:{email}"), is_away: true });
    frame::host(shown).into_iter().chain(email).collect()
}
