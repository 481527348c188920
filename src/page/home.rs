//! The entry page of a guest. It leads with what matters on this day of the stay.

use askama::Template;
use engine::error::{Error, Result};
use jiff::Unit;

use super::frame::{self, Frame, Tongue, Way, icon};
use super::handy::Place;
use super::keeping;
use super::mark::Mark;
use super::reading::{self, Card, Shelf};
use super::shown::Shown;
use super::surveys;
use crate::guest::{
    About, ExtraView, InstructionView, ManualView, OfferView, Phase, PrecheckinStatus, StepView,
    UpcomingView,
};
use crate::portals::Tile;
use crate::words::fill;

/// Maximum number of extras on the entry page.
const EXTRAS: usize = 5;

#[derive(Template)]
#[template(path = "page/home.html")]
struct Home<'v> {
    frame: Frame<'v>,
    head: Head<'v>,
    /// Whether nothing is configured yet.
    is_bare: bool,
    callout: Option<&'v str>,
    callout_language: Tongue<'v>,
    /// A question for a review, and the address where the guest answers it.
    asks_for_review: Option<(&'static str, String)>,
    /// The instructions for the arrival.
    instructions: Vec<&'v InstructionView>,
    /// The manuals that are needed on this day.
    first: Vec<Shelf<'v>>,
    /// The link to directions, and the address that they lead to.
    directions: Option<(String, Option<String>)>,
    asking: Option<Asking<'v>>,
    headings: Vec<Shelf<'v>>,
    /// The manuals that will be shown, with the text that says when.
    upcoming: Vec<(&'v UpcomingView, String)>,
    offer: Option<&'v OfferView>,
    extras: Option<Extras<'v>>,
    tiles: Vec<Way>,
    contact: Vec<Way>,
}

/// The extras that the guest can ask for.
struct Extras<'v> {
    /// The name and the price of the first extras.
    rows: Vec<(&'v str, Option<String>)>,
    href: String,
    /// Whether the guest has selected some and not asked for them.
    has_selection: bool,
}

/// The head of the page: the place, the dates and the state of the stay.
struct Head<'v> {
    photo: Option<&'v str>,
    /// The line above the name.
    over: String,
    name: &'v str,
    /// A sentence about this phase of the stay, in bold; none before the stay.
    sentence: Option<String>,
    /// A second sentence below it, such as the time to leave by; none in some phases.
    detail: Option<String>,
    /// The sentence that the booking is not confirmed yet.
    unconfirmed: Option<&'static str>,
    address: Option<String>,
    map: Option<String>,
    pin: String,
    shows_dates: bool,
    range: String,
    check_in: String,
    check_in_time: Option<String>,
    check_out: String,
    check_out_time: Option<String>,
    /// The link to the calendar file, before the stay.
    calendar: Option<String>,
    /// The link that adds the stay to Google Calendar, before the stay.
    google_calendar: Option<String>,
    calendar_icon: String,
    /// The link to the wallet pass, where passes are offered.
    pass: Option<String>,
    pass_icon: String,
}

/// Pre-check-in in its current state.
struct Asking<'v> {
    is_folded: bool,
    is_open: bool,
    icon: String,
    /// The invitation; `None` where nothing is asked.
    prompt: Option<&'v str>,
    prompt_language: Tongue<'v>,
    /// The progress in words; `done` is the number of complete steps.
    progress: String,
    done: usize,
    status: &'static str,
    /// The result of the submission; `None` before it.
    outcome: Option<&'static str>,
    /// The message of staff.
    message: Option<&'v str>,
    /// The next thing to do: its label and its address.
    next: Option<(String, String)>,
    /// The link to the review, where the next thing is a step that was sent back but everything can
    /// be submitted as it is.
    review: Option<String>,
    rows: Vec<Row<'v>>,
    has_confetti: bool,
    /// The horizontal positions from which the confetti falls, in percent.
    bits: Vec<u8>,
}

/// A step and its state.
struct Row<'v> {
    step: &'v StepView,
    href: String,
    sign: String,
    /// Additional CSS classes of the sign.
    kind: &'static str,
    mark: &'static str,
}

/// Renders the entry page.
///
/// `is_handed_in` says that the guest submitted pre-check-in just now.
pub fn render(shown: &Shown, is_handed_in: bool) -> Result<String> {
    let phase = shown.phase();
    let view = &shown.view;
    let is_cancelled = phase == Phase::Cancelled;
    // The host's messages to all guests are shown before and during the stay only.
    let is_on = !is_cancelled && phase != Phase::After;
    let first = first(shown, phase);
    let is_first = |manual: &ManualView| {
        first
            .iter()
            .flat_map(|shelf: &Shelf<'_>| &shelf.manuals)
            .any(|card: &Card<'_>| card.manual.id == manual.id)
    };
    let headings = if is_cancelled {
        Vec::new()
    } else {
        reading::shelves(shown, is_first)
    };
    let asking = if is_on {
        asking(shown, phase, is_handed_in)
    } else {
        None
    };
    let is_there = matches!(phase, Phase::ArrivalDay | Phase::Stay);
    let upcoming = view.upcoming.iter().map(|later| {
        let when = fill(
            shown.words.manuals.unlocks,
            &[("moment", &shown.moment(later.visible_from))],
        );
        (later, when)
    });
    Home {
        frame: Frame::of(shown, None),
        head: head(shown, phase),
        is_bare: view.portal.is_none() && headings.is_empty() && first.is_empty() && !is_cancelled,
        callout: view
            .branding
            .as_ref()
            .and_then(|branding| branding.callout_message.as_deref())
            .filter(|_| is_on),
        callout_language: Tongue(
            view.branding
                .as_ref()
                .and_then(|branding| branding.text_languages.of("calloutMessage")),
        ),
        asks_for_review: asks_for_review(shown),
        directions: shown
            .place()
            .filter(|_| is_there)
            .map(|place| (place.directions(), address(shown, "\n"))),
        asking,
        upcoming: if is_cancelled {
            Vec::new()
        } else {
            upcoming.collect()
        },
        offer: view.special_offer.as_ref().filter(|_| !is_cancelled),
        instructions: view.instructions.iter().collect(),
        extras: extras(shown).filter(|_| is_on),
        tiles: if is_on { tiles(shown) } else { Vec::new() },
        contact: contact(shown),
        first,
        headings,
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the manuals that are needed on this day, which come before everything else.
fn first(shown: &Shown, phase: Phase) -> Vec<Shelf<'_>> {
    let words = shown.words;
    let shelves = match phase {
        Phase::ArrivalDay | Phase::Stay => vec![
            reading::shelf_about(shown, About::Door, "door", words.phase.at_the_door),
            reading::shelf_about(shown, About::Wifi, "wifi", words.wifi.title),
        ],
        Phase::DepartureDay => vec![reading::shelf_about(
            shown,
            About::Leaving,
            "leaving",
            words.phase.before_you_leave,
        )],
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
    let (sentence, detail) = match phase {
        Phase::Cancelled => (
            Some(words.cancelled.to_owned()),
            (!contact(shown).is_empty()).then(|| words.cancelled_contact.to_owned()),
        ),
        Phase::Before => (None, None),
        Phase::ArrivalDay => (Some(words.arrives_today.to_owned()), None),
        Phase::Stay => (Some(fill(words.here_until, &[("date", &check_out)])), None),
        Phase::DepartureDay => (
            Some(words.departure.to_owned()),
            leaves
                .as_ref()
                .map(|time| fill(words.leave_by, &[("time", time)])),
        ),
        Phase::After => (
            Some(words.thanks.to_owned()),
            Some(words.thanks_more.to_owned()),
        ),
    };
    let over = match shown.guest_name() {
        Some(name) => format!("{} · {name}", words.your_stay),
        None => words.your_stay.to_owned(),
    };
    let nights = stay
        .check_in
        .until((Unit::Day, stay.check_out))
        .map_or(0, |span| span.get_days())
        .unsigned_abs();
    let is_on = phase != Phase::Cancelled && phase != Phase::After;
    Head {
        // A guest who stands at the door or leaves knows what the flat looks like, and needs other
        // information.
        photo: flat
            .and_then(|flat| flat.photo_url.as_deref())
            .filter(|_| matches!(phase, Phase::Before | Phase::After)),
        over,
        name: shown.name(),
        sentence,
        detail,
        unconfirmed: (is_on && shown.is_tentative()).then_some(words.tentative),
        address: address(shown, ", ").filter(|_| is_on),
        map: shown.place().map(|place| place.map()),
        pin: icon("map-pin"),
        shows_dates: is_on,
        range: format!(
            "{} · {}",
            shown.days(stay.check_in, stay.check_out),
            shown.words.nights(nights)
        ),
        check_in,
        check_in_time: time(flat.and_then(|flat| flat.check_in_time.as_ref()))
            .map(|time| fill(words.from_time, &[("time", &time)])),
        check_out,
        check_out_time: leaves.map(|time| fill(words.until_time, &[("time", &time)])),
        calendar: (phase == Phase::Before).then(|| shown.links.calendar()),
        google_calendar: (phase == Phase::Before).then(|| keeping::google_calendar(shown)),
        calendar_icon: icon("calendar-plus"),
        pass: shown.offers_pass().then(|| shown.links.pass()),
        pass_icon: icon("ticket"),
    }
}

/// Returns the question of the last open survey, and the address where the guest answers it.
fn asks_for_review(shown: &Shown) -> Option<(&'static str, String)> {
    let kind = shown.view.review_requests.last().copied()?;
    Some((
        surveys::question(shown.words, kind),
        shown.links.survey(kind),
    ))
}

/// Returns the name and the price of each extra, and the address where the guest selects them.
fn extras(shown: &Shown) -> Option<Extras<'_>> {
    let extras = &shown.view.extras;
    let row = |extra: &'_ ExtraView| shown.money(extra.price_cents, extra.currency.as_deref());
    (!extras.is_empty()).then(|| Extras {
        rows: extras
            .iter()
            .take(EXTRAS)
            .map(|extra| (extra.name.as_str(), row(extra)))
            .collect(),
        href: shown.links.extras(),
        has_selection: !shown.view.cart.is_empty(),
    })
}

fn asking(shown: &Shown, phase: Phase, is_handed_in: bool) -> Option<Asking<'_>> {
    let precheckin = &shown.view.precheckin;
    let prompt = precheckin.prompt_message.as_deref();
    let is_asked = shown.is_asked();
    let is_shown =
        precheckin.status.is_submitted() || (prompt.is_some() && (is_asked || shown.is_preview));
    if !precheckin.is_enabled || !is_shown {
        return None;
    }
    let words = &shown.words.precheckin;
    let (done, total) = (shown.done(), shown.steps().len());
    let status = precheckin.status;
    let unfinished = shown.next(None);
    // A step that was sent back is complete, but the guest must look at it again.
    let sent_back = shown
        .steps()
        .iter()
        .find(|step| status == PrecheckinStatus::ChangesRequested && shown.is_open(step));
    let next = is_asked.then(|| match unfinished.or(sent_back) {
        Some(step) => (
            fill(words.next, &[("title", &step.title)]),
            shown.links.step(step.id),
        ),
        None => (words.review.to_owned(), shown.links.review()),
    });
    let rows = shown
        .steps()
        .iter()
        .enumerate()
        .map(|(place, step)| row(shown, place, step));
    let is_folded = phase != Phase::Before;
    Some(Asking {
        is_folded,
        is_open: is_folded && (status == PrecheckinStatus::ChangesRequested || shown.has_new()),
        icon: icon("clipboard-check"),
        prompt,
        prompt_language: Tongue(precheckin.text_languages.of("promptMessage")),
        progress: fill(
            words.progress,
            &[("done", &done.to_string()), ("total", &total.to_string())],
        ),
        done,
        status: match status {
            PrecheckinStatus::NotStarted => words.not_started,
            PrecheckinStatus::InProgress => words.in_progress,
            PrecheckinStatus::InReview => words.in_review,
            PrecheckinStatus::ChangesRequested => words.changes_requested,
            PrecheckinStatus::Approved => words.approved,
        },
        outcome: outcome(shown),
        message: precheckin
            .message
            .as_deref()
            .filter(|_| status == PrecheckinStatus::ChangesRequested),
        next,
        review: (is_asked && unfinished.is_none() && sent_back.is_some())
            .then(|| shown.links.review()),
        rows: rows.collect(),
        has_confetti: is_handed_in
            && status.is_submitted()
            && !shown.has_new()
            && shown
                .view
                .portal
                .as_ref()
                .is_some_and(|portal| portal.is_confetti_enabled),
        bits: (2..100).step_by(7).collect(),
    })
}

/// Returns the text on the result of a submission; `None` before it, and where something is left to
/// do in a step that is not open here.
#[must_use]
pub fn outcome(shown: &Shown) -> Option<&'static str> {
    let words = &shown.words.precheckin;
    match shown.view.precheckin.status {
        PrecheckinStatus::NotStarted | PrecheckinStatus::InProgress => None,
        PrecheckinStatus::ChangesRequested => Some(words.outcome_changes),
        PrecheckinStatus::InReview | PrecheckinStatus::Approved if shown.has_new() => {
            Some(words.outcome_new)
        }
        PrecheckinStatus::InReview => Some(words.outcome_in_review),
        PrecheckinStatus::Approved => shown
            .steps()
            .iter()
            .all(|step| step.state.is_ready())
            .then_some(words.outcome_approved),
    }
}

fn row<'v>(shown: &Shown, place: usize, step: &'v StepView) -> Row<'v> {
    let Mark { sign, kind, said } = Mark::of(shown, step);
    Row {
        step,
        href: shown.links.step(step.id),
        sign: sign.map_or_else(|| (place + 1).to_string(), str::to_owned),
        kind,
        mark: said,
    }
}

/// Returns the tiles with their links. Without an address or coordinates of the flat, the links are
/// general.
fn tiles(shown: &Shown) -> Vec<Way> {
    let place = shown.place().unwrap_or_else(Place::anywhere);
    let tile = |tile: &Tile| {
        let (name, href, is_away) = match tile {
            Tile::Uber => ("car", place.uber(shown.name()), true),
            Tile::ReportAnIssue => ("wrench", shown.links.issue(), false),
            Tile::FindParking => ("circle-parking", place.parking(), true),
            Tile::FindParkingJustpark => ("square-parking", place.justpark(), true),
            Tile::RentBabyGear => ("baby", place.baby_gear(), true),
        };
        Way {
            icon: icon(name),
            label: shown.words.tile(*tile),
            href,
            is_away,
        }
    };
    shown.view.quick_access.iter().map(tile).collect()
}

/// Returns every way to reach the host outside of this page.
fn contact(shown: &Shown) -> Vec<Way> {
    let email = shown
        .view
        .portal
        .as_ref()
        .and_then(|portal| portal.support_email.as_deref());
    let email = email.map(|email| Way {
        icon: icon("mail"),
        label: shown.words.contact.email,
        href: format!("mailto:{email}"),
        is_away: true,
    });
    frame::host(shown).into_iter().chain(email).collect()
}
