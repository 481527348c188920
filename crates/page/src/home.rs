//! The entry page of a guest. Its content and order depend on the phase of the stay.

use askama::Template;
use engine::error::{Error, Result};
use features::guest::{
    ExtraView, InstructionView, ManualSubject, ManualView, OfferView, Phase, PrecheckinStatus,
    StepView, UpcomingView,
};
use features::portals::Tile;
use features::words::{Words, fill, tile_title};
use jiff::Unit;

use super::contact_links::FlatPosition;
use super::frame::{self, ContactLink, PageFrame, TextLanguage, icon};
use super::manuals::{self, Card, ManualSection};
use super::page_stay::PageStay;
use super::stay_files;
use super::step_mark::StepMark;
use super::surveys;

/// Maximum number of extras that the entry page shows.
const EXTRAS: usize = 5;

#[derive(Template)]
#[template(path = "home.html")]
struct GuestHome<'v> {
    frame: PageFrame<'v>,
    head: PageHead<'v>,
    /// Whether there is nothing to show yet: the stay has no portal, is not cancelled, and the
    /// guest can read no manuals.
    is_bare: bool,
    callout: Option<&'v str>,
    callout_language: TextLanguage<'v>,
    /// The question with which the page asks the guest to answer a survey, and the address of the
    /// survey's page. `None` if the guest can answer no survey now.
    asks_for_review: Option<(&'static str, String)>,
    instructions: Vec<&'v InstructionView>,
    /// The manuals that the guest needs on the day of the request. The page shows them before all
    /// other manuals.
    first: Vec<ManualSection<'v>>,
    /// The URL of the directions to the flat, and the postal address of the flat.
    directions: Option<(String, Option<String>)>,
    asking: Option<PrecheckinPrompt<'v>>,
    headings: Vec<ManualSection<'v>>,
    /// The manuals that the guest cannot read yet. Each has a sentence that says when it will be
    /// shown.
    upcoming: Vec<(&'v UpcomingView, String)>,
    offer: Option<&'v OfferView>,
    extras: Option<Extras<'v>>,
    tiles: Vec<ContactLink>,
    contact: Vec<ContactLink>,
}

/// The extras that the guest can request.
struct Extras<'v> {
    /// The name and the price of each extra that the entry page shows.
    rows: Vec<(&'v str, Option<String>)>,
    href: String,
    /// Whether the guest has selected extras without requesting them.
    has_selection: bool,
}

/// The head of the page: the flat, the dates and the state of the stay.
struct PageHead<'v> {
    photo: Option<&'v str>,
    /// The short line above the name of the flat, such as `Your stay · Ada`.
    line_above: String,
    name: &'v str,
    /// A sentence about the current phase of the stay, in bold; `None` before the day of arrival.
    sentence: Option<String>,
    /// The sentence below `sentence`, such as the check-out time; `None` in phases without such a
    /// sentence, and if the flat has no such time.
    detail: Option<String>,
    /// A sentence that tells the guest that the booking is not confirmed yet; `None` if it is
    /// confirmed.
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
    /// The link to the calendar file; `None` for a cancelled stay, and from the day of arrival on.
    calendar: Option<String>,
    /// The link that adds the stay to Google Calendar; `None` if `calendar` is `None`.
    google_calendar: Option<String>,
    calendar_icon: String,
    /// The link to the wallet pass; `None` if the page offers no pass.
    pass: Option<String>,
    pass_icon: String,
}

/// The section of the entry page that asks the guest to complete the steps of the pre-check-in.
struct PrecheckinPrompt<'v> {
    is_folded: bool,
    is_open: bool,
    icon: String,
    /// The host's invitation to the pre-check-in; `None` if the guest has nothing to do.
    prompt: Option<&'v str>,
    prompt_language: TextLanguage<'v>,
    /// A sentence with the number of complete steps (`done`) and the number of all steps.
    progress: String,
    done: usize,
    status: &'static str,
    /// A sentence on the status of the submitted pre-check-in; `None` before the submission.
    outcome: Option<&'static str>,
    /// The message that staff wrote when they sent the pre-check-in back for changes.
    message: Option<&'v str>,
    /// The link to the next step or to the review.
    next: Option<NextLink<'v>>,
    /// The link to the review of all answers. It is set if all steps are complete but staff sent a
    /// step back for changes. `next` then leads to that step, and this link lets the guest submit
    /// the pre-check-in without changing that step.
    review: Option<String>,
    rows: Vec<HomeStepRow<'v>>,
    has_confetti: bool,
    /// The horizontal positions of the confetti, in percent.
    confetti: Vec<u8>,
}

/// The link to the next step or to the review.
struct NextLink<'v> {
    /// The label of the link. If the link leads to a step, the label has a placeholder for the
    /// step's title.
    words: &'static str,
    /// The step to which the link leads; `None` if the link leads to the page on which the guest
    /// reviews all answers and submits them.
    step: Option<&'v StepView>,
    href: String,
}

/// A row of the step list: a step and its state.
struct HomeStepRow<'v> {
    step: &'v StepView,
    href: String,
    sign: String,
    /// CSS classes of the step's icon, which show the state of the step.
    kind: &'static str,
    mark: &'static str,
}

/// Renders the entry page.
///
/// `was_just_submitted` is true if the guest submitted the pre-check-in just before this request.
pub fn render(page_stay: &PageStay, was_just_submitted: bool) -> Result<String> {
    let phase = page_stay.phase();
    let view = &page_stay.view;
    let is_cancelled = phase == Phase::Cancelled;
    // After the stay and for a cancelled stay, the page shows no message of the branding
    // (`callout`), no pre-check-in, no extras and no tiles.
    let is_on = !is_cancelled && phase != Phase::After;
    let first = first(page_stay, phase);
    let is_first = |manual: &ManualView| {
        first
            .iter()
            .flat_map(|section: &ManualSection<'_>| &section.manuals)
            .any(|card: &Card<'_>| card.manual.id == manual.id)
    };
    let headings = if is_cancelled {
        Vec::new()
    } else {
        manuals::sections(page_stay, is_first)
    };
    let asking = if is_on {
        asking(page_stay, phase, was_just_submitted)
    } else {
        None
    };
    let is_there = matches!(phase, Phase::ArrivalDay | Phase::Stay);
    let upcoming = view.upcoming.iter().map(|later| {
        let when = fill(
            page_stay.texts.manuals.unlocks,
            &[("moment", &page_stay.timestamp_text(later.visible_from))],
        );
        (later, when)
    });
    GuestHome {
        frame: PageFrame::of(page_stay, None),
        head: head(page_stay, phase),
        is_bare: view.portal.is_none() && headings.is_empty() && first.is_empty() && !is_cancelled,
        callout: view
            .branding
            .as_ref()
            .and_then(|branding| branding.callout_message.as_deref())
            .filter(|_| is_on),
        callout_language: TextLanguage(
            view.branding
                .as_ref()
                .and_then(|branding| branding.text_languages.of("calloutMessage")),
        ),
        asks_for_review: asks_for_review(page_stay),
        directions: page_stay
            .flat_position()
            .filter(|_| is_there)
            .map(|place| (place.directions(), address(page_stay, "\n"))),
        asking,
        upcoming: if is_cancelled {
            Vec::new()
        } else {
            upcoming.collect()
        },
        offer: view.special_offer.as_ref().filter(|_| !is_cancelled),
        instructions: view.instructions.iter().collect(),
        extras: extras(page_stay).filter(|_| is_on),
        tiles: if is_on { tiles(page_stay) } else { Vec::new() },
        contact: contact(page_stay),
        first,
        headings,
    }
    .render()
    .map_err(Error::internal)
}

/// Returns the manuals that the guest needs on this day. The page shows them before all other
/// manuals.
fn first(page_stay: &PageStay, phase: Phase) -> Vec<ManualSection<'_>> {
    let words = page_stay.texts;
    let sections = match phase {
        Phase::ArrivalDay | Phase::Stay => vec![
            manuals::section_about(
                page_stay,
                ManualSubject::Door,
                "door",
                words.phase.at_the_door,
            ),
            manuals::section_about(page_stay, ManualSubject::Wifi, "wifi", words.wifi.title),
        ],
        Phase::DepartureDay => vec![manuals::section_about(
            page_stay,
            ManualSubject::Leaving,
            "leaving",
            words.phase.before_you_leave,
        )],
        Phase::Cancelled | Phase::Before | Phase::After => Vec::new(),
    };
    sections.into_iter().flatten().collect()
}

fn address(page_stay: &PageStay, between: &str) -> Option<String> {
    let lines = page_stay.address();
    (!lines.is_empty()).then(|| lines.join(between))
}

fn head(page_stay: &PageStay, phase: Phase) -> PageHead<'_> {
    let words = &page_stay.texts.phase;
    let (stay, flat) = (&page_stay.view.reservation, page_stay.flat());
    let (check_in, check_out) = (page_stay.day(stay.check_in), page_stay.day(stay.check_out));
    let time = |time: Option<&String>| time.map(|time| page_stay.time(time));
    let leaves = time(flat.and_then(|flat| flat.check_out_time.as_ref()));
    let (sentence, detail) = match phase {
        Phase::Cancelled => (
            Some(words.cancelled.to_owned()),
            (!contact(page_stay).is_empty()).then(|| words.cancelled_contact.to_owned()),
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
    let line_above = match page_stay.guest_name() {
        Some(name) => format!("{} · {name}", words.your_stay),
        None => words.your_stay.to_owned(),
    };
    let nights = stay
        .check_in
        .until((Unit::Day, stay.check_out))
        .map_or(0, |span| span.get_days())
        .unsigned_abs();
    let is_on = phase != Phase::Cancelled && phase != Phase::After;
    PageHead {
        // For a guest who has arrived or is leaving, other information is more useful than a photo
        // of the flat.
        photo: flat
            .and_then(|flat| flat.photo_url.as_deref())
            .filter(|_| matches!(phase, Phase::Before | Phase::After)),
        line_above,
        name: page_stay.name(),
        sentence,
        detail,
        unconfirmed: (is_on && page_stay.is_tentative()).then_some(words.tentative),
        address: address(page_stay, ", ").filter(|_| is_on),
        map: page_stay.flat_position().map(|place| place.map()),
        pin: icon("map-pin"),
        shows_dates: is_on,
        range: format!(
            "{} · {}",
            page_stay.days(stay.check_in, stay.check_out),
            page_stay.texts.phase.nights.of(nights)
        ),
        check_in,
        check_in_time: time(flat.and_then(|flat| flat.check_in_time.as_ref()))
            .map(|time| fill(words.from_time, &[("time", &time)])),
        check_out,
        check_out_time: leaves.map(|time| fill(words.until_time, &[("time", &time)])),
        calendar: (phase == Phase::Before).then(|| page_stay.links.calendar()),
        google_calendar: (phase == Phase::Before).then(|| stay_files::google_calendar(page_stay)),
        calendar_icon: icon("calendar-plus"),
        pass: page_stay.offers_pass().then(|| page_stay.links.pass()),
        pass_icon: icon("ticket"),
    }
}

/// Returns the question of the last survey that the guest can answer now, and the address of the
/// survey's page. Returns `None` if the guest can answer no survey now.
fn asks_for_review(page_stay: &PageStay) -> Option<(&'static str, String)> {
    let kind = page_stay.view.review_requests.last().copied()?;
    Some((
        surveys::question(page_stay.texts, kind),
        page_stay.links.survey(kind),
    ))
}

/// Returns the extras and the address of their page; `None` if there are no extras.
fn extras(page_stay: &PageStay) -> Option<Extras<'_>> {
    let extras = &page_stay.view.extras;
    let row = |extra: &'_ ExtraView| page_stay.money(extra.price_cents, extra.currency.as_deref());
    (!extras.is_empty()).then(|| Extras {
        rows: extras
            .iter()
            .take(EXTRAS)
            .map(|extra| (extra.name.as_str(), row(extra)))
            .collect(),
        href: page_stay.links.extras(),
        has_selection: !page_stay.view.cart.is_empty(),
    })
}

fn asking(
    page_stay: &PageStay,
    phase: Phase,
    was_just_submitted: bool,
) -> Option<PrecheckinPrompt<'_>> {
    let precheckin = &page_stay.view.precheckin;
    let prompt = precheckin.prompt_message.as_deref();
    let is_asked = page_stay.should_submit();
    let is_shown = precheckin.status.is_submitted()
        || (prompt.is_some() && (is_asked || page_stay.is_preview));
    if !precheckin.is_enabled || !is_shown {
        return None;
    }
    let words = &page_stay.texts.precheckin;
    let (done, total) = (page_stay.complete_count(), page_stay.steps().len());
    let status = precheckin.status;
    let unfinished = page_stay.next(None);
    // A step that staff sent back is complete, but the guest must check the step again.
    let sent_back = page_stay
        .steps()
        .iter()
        .find(|step| status == PrecheckinStatus::ChangesRequested && page_stay.is_open(step));
    let next = is_asked.then(|| match unfinished.or(sent_back) {
        Some(step) => NextLink {
            words: words.next,
            step: Some(step),
            href: page_stay.links.step(step.id),
        },
        None => NextLink {
            words: words.review,
            step: None,
            href: page_stay.links.review(),
        },
    });
    let rows = page_stay
        .steps()
        .iter()
        .enumerate()
        .map(|(place, step)| row(page_stay, place, step));
    let is_folded = phase != Phase::Before;
    Some(PrecheckinPrompt {
        is_folded,
        is_open: is_folded
            && (status == PrecheckinStatus::ChangesRequested || page_stay.is_reopened()),
        icon: icon("clipboard-check"),
        prompt: prompt.map(|prompt| invitation(prompt, phase, page_stay.texts)),
        prompt_language: TextLanguage(precheckin.text_languages.of("promptMessage")),
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
        outcome: submission_status(page_stay),
        message: precheckin
            .message
            .as_deref()
            .filter(|_| status == PrecheckinStatus::ChangesRequested),
        next,
        review: (is_asked && unfinished.is_none() && sent_back.is_some())
            .then(|| page_stay.links.review()),
        rows: rows.collect(),
        has_confetti: was_just_submitted
            && status.is_submitted()
            && !page_stay.is_reopened()
            && page_stay
                .view
                .portal
                .as_ref()
                .is_some_and(|portal| portal.is_confetti_enabled),
        confetti: (2..100).step_by(7).collect(),
    })
}

/// Returns the text that invites the guest to the pre-check-in. The built-in prompt asks the guest
/// to finish before the arrival. So from the arrival day on, another built-in text replaces that
/// prompt. A prompt that the host wrote is never replaced.
fn invitation<'v>(prompt: &'v str, phase: Phase, words: &'static Words) -> &'v str {
    if phase != Phase::Before && prompt == words.precheckin.prompt {
        words.progress.action_required
    } else {
        prompt
    }
}

/// Returns the text about the submitted pre-check-in; `None` before the submission. The text about
/// an approved submission says that the guest has nothing left to do. So if a step is incomplete,
/// this function returns `None` instead of that text.
#[must_use]
pub fn submission_status(page_stay: &PageStay) -> Option<&'static str> {
    let words = &page_stay.texts.precheckin;
    match page_stay.view.precheckin.status {
        PrecheckinStatus::NotStarted | PrecheckinStatus::InProgress => None,
        PrecheckinStatus::ChangesRequested => Some(words.outcome_changes),
        PrecheckinStatus::InReview | PrecheckinStatus::Approved if page_stay.is_reopened() => {
            Some(words.outcome_new)
        }
        PrecheckinStatus::InReview => Some(words.outcome_in_review),
        PrecheckinStatus::Approved => page_stay
            .steps()
            .iter()
            .all(|step| step.state.is_ready())
            .then_some(words.outcome_approved),
    }
}

fn row<'v>(page_stay: &PageStay, place: usize, step: &'v StepView) -> HomeStepRow<'v> {
    let StepMark {
        icon: sign,
        classes: kind,
        text,
    } = StepMark::of(page_stay, step);
    HomeStepRow {
        step,
        href: page_stay.links.step(step.id),
        sign: sign.map_or_else(|| (place + 1).to_string(), str::to_owned),
        kind,
        mark: text,
    }
}

/// Returns the tiles of the entry page: links to places near the flat and to other services. If the
/// position of the flat is unknown, map links search without a location.
fn tiles(page_stay: &PageStay) -> Vec<ContactLink> {
    let place = page_stay
        .flat_position()
        .unwrap_or_else(FlatPosition::anywhere);
    let tile = |tile: &Tile| {
        let (name, href, is_away) = match tile {
            Tile::Uber => ("car", place.uber(page_stay.name()), true),
            Tile::ReportAnIssue => ("wrench", page_stay.links.issue(), false),
            Tile::FindParking => ("circle-parking", place.parking(), true),
            Tile::FindParkingJustpark => ("square-parking", place.justpark(), true),
            Tile::RentBabyGear => ("baby", place.baby_gear(), true),
        };
        ContactLink {
            icon: icon(name),
            label: tile_title(page_stay.texts, *tile),
            href,
            is_external: is_away,
        }
    };
    page_stay.view.quick_access.iter().map(tile).collect()
}

/// Returns the links to contact the host by phone, message or e-mail.
fn contact(page_stay: &PageStay) -> Vec<ContactLink> {
    let email = page_stay
        .view
        .portal
        .as_ref()
        .and_then(|portal| portal.support_email.as_deref());
    let email = email.map(|email| ContactLink {
        icon: icon("mail"),
        label: page_stay.texts.contact.email,
        href: format!("mailto:{email}"),
        is_external: true,
    });
    frame::host(page_stay).into_iter().chain(email).collect()
}
