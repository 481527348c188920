//! The home page of the console: submissions that wait for review, arrivals, and problems that a
//! member should fix. A member sees only the parts that the member's permissions allow.

use std::collections::BTreeSet;

use askama::Template;
use engine::moment::Moment;
use features::events::WebhookSubscription;
use features::guest::LIST_PRECHECKIN_SUBMISSIONS;
use features::manuals::LIST_PORTAL_MANUALS;
use features::platform::{BackupStatusFile, GET_LAST_BACKUP};
use features::precheck::ConfigurationIssue;
use features::translations::{ENGLISH, LIST_TRANSLATIONS};
use features::words::{fill, own_name};
use futures_util::future::{try_join_all, try_join4};
use jiff::ToSpan as _;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::first_steps::{FirstStep, first_steps};
use super::flats;
use super::frame::ConsoleFrame;
use super::ready_made_set;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::stays::{self, StayItem};
use super::submissions;
use super::time_format;
use super::webhooks::{self, SubscriptionState};
use super::words::ConsoleBeginWords;

pub static SCREEN: Screen = Screen {
    path: "",
    icon: "house",
    title: |words| words.frame.home,
    group: ScreenGroup::Today,
    needs: None,
    pages: &[
        ScreenPage::get("getConsoleHome", "", home),
        ScreenPage::get(
            "getReadySetScreen",
            ready_made_set::PATH,
            ready_made_set::ask,
        )
        .with_needs(ready_made_set::NEEDS),
        ScreenPage::post(
            "createReadySetOnScreen",
            ready_made_set::PATH,
            ready_made_set::create,
        )
        .with_needs(ready_made_set::NEEDS),
    ],
};

/// Maximum number of rows in each list of this page.
const MOST: usize = 6;
/// Maximum number of stays that the page checks for arrivals. For each stay, the page reads the
/// time zone of the flat. If the guest arrives today or tomorrow, the page also reads the guest's
/// submission.
const SCAN_LIMIT: usize = 8;
/// Maximum number of titles that the page checks for missing languages.
const TITLES: usize = 500;
/// Maximum number of languages other than English in which the page looks for missing titles.
const LANGUAGES: usize = 4;

#[derive(Template)]
#[template(path = "home.html")]
struct ConsoleHome<'v> {
    frame: ConsoleFrame<'v>,
    about: String,
    waiting: Option<WaitingSubmissions>,
    arrivals: Option<Arrivals>,
    /// Webhook subscriptions whose deliveries fail. Each has its target, its problem, and the path
    /// of the subscription's page in the console.
    failing: Vec<(String, String, String)>,
    /// Steps without a required setting. Each has its name, its problem, and the path of the step's
    /// page in the console.
    lacking: Vec<(String, &'static str, Option<String>)>,
    /// The steps without a required setting that `lacking` does not list: a sentence with their
    /// number, and the address of the list of steps.
    lacking_more: Option<(String, Option<String>)>,
    /// Titles of steps or manuals that are missing in a language. Each entry has a sentence with
    /// the language and the number of missing titles, and the address of the list of these titles.
    untranslated: Vec<(String, String)>,
    /// Whether the page shows submissions or arrivals.
    has_work: bool,
    /// The entries of the checklist of first steps.
    first: Vec<FirstStep>,
    /// Path of the page on which the member creates the ready-made set of steps and manuals. `None`
    /// if the member may not create the set.
    ready: Option<String>,
    /// Sentences about the last backup. Only members who manage the organization see them.
    backups: Vec<String>,
}

/// Returns sentences about the last backup. Returns no sentences if the member may not manage the
/// organization, or if the database is PostgreSQL.
async fn backups(request: &ConsoleRequest) -> Result<Vec<String>, ConsoleRefusal> {
    // `vestibule backup` records its backups in a file. Only a server with a SQLite database has
    // that file.
    let is_noted = request
        .service
        .app_state
        .extension::<BackupStatusFile>()
        .is_some();
    if !is_noted || !request.may(GET_LAST_BACKUP.id()) {
        return Ok(Vec::new());
    }
    let Some(last) = if_readable(request.read(GET_LAST_BACKUP, json!({})).await)? else {
        return Ok(Vec::new());
    };
    let words = &request.texts.begin;
    let text =
        |sentence: &str, at: Moment| fill(sentence, &[("at", &time_format::of(request, at).text)]);
    let made = last.last_backup_at.map_or_else(
        || words.no_backup.to_owned(),
        |at| text(words.backed_up, at),
    );
    let failed = last.last_failure_at.map(|at| text(words.backup_failed, at));
    Ok([made].into_iter().chain(failed).collect())
}

/// Submissions that wait for the member's decision. `all` is the label of the link to the page with
/// all of these submissions, and `way` is the address of that page.
struct WaitingSubmissions {
    rows: Vec<submissions::SubmissionRow>,
    all: String,
    way: String,
}

/// The list of the stays whose check-in is today or tomorrow. `all` is the label of the link to the
/// page with all these stays, and `way` is the address of that page.
struct Arrivals {
    rows: Vec<Arrival>,
    all: &'static str,
    way: String,
}

struct Arrival {
    guest: String,
    about: String,
    status: (&'static str, &'static str),
    so_far: String,
    way: String,
}

/// The fields of a step that this page uses. The list operation returns steps as JSON text, and
/// this page parses no other field.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HomeStep {
    id: Uuid,
    nickname: String,
    configuration_issue: Option<ConfigurationIssue>,
    display_title_ml_text_id: Option<Uuid>,
}

/// Turns a refusal with status 403 or 404 into `None`, so that the page omits data that the member
/// may not read.
fn if_readable<T>(answer: Result<T, ConsoleRefusal>) -> Result<Option<T>, ConsoleRefusal> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) if matches!(refusal.status, 403 | 404) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

async fn waiting(request: &ConsoleRequest) -> Result<Option<WaitingSubmissions>, ConsoleRefusal> {
    if !request.may(LIST_PRECHECKIN_SUBMISSIONS.id()) {
        return Ok(None);
    }
    let answer = request
        .read_page(
            LIST_PRECHECKIN_SUBMISSIONS,
            json!({ "status": "in_review", "limit": MOST }),
        )
        .await;
    Ok(if_readable(answer)?.map(|answer| WaitingSubmissions {
        rows: answer
            .data
            .iter()
            .map(|one| submissions::SubmissionRow::of(request, one))
            .collect(),
        all: fill(
            request.texts.begin.waiting_all,
            &[("count", &answer.total.unwrap_or_default().to_string())],
        ),
        way: request.address(submissions::SCREEN.path),
    }))
}

async fn arrivals(request: &ConsoleRequest) -> Result<Option<Arrivals>, ConsoleRefusal> {
    if !request.may(stays::LIST) {
        return Ok(None);
    }
    // Time zones differ by up to 26 hours. So the days from `first` to `last` include every day
    // that is today or tomorrow anywhere.
    let now = request.service.clock.now();
    let (first, last) = (
        time_format::day_at(now, -12),
        time_format::day_at(now, 14).saturating_add(1.days()),
    );
    let (from, to) = (first.to_string(), last.to_string());
    let arguments =
        json!({ "checkInFrom": from, "checkInTo": to, "status": "confirmed", "limit": 100 });
    let Some(answer) = if_readable(request.call::<Vec<StayItem>>(stays::LIST, arguments).await)?
    else {
        return Ok(None);
    };
    let mut coming = answer.data;
    // The page checks only the first [`SCAN_LIMIT`] stays. Stays whose check-in date is before
    // today in UTC come last, because for most flats that date is in the past. It is today only in
    // some time zones west of UTC.
    let today = time_format::today(request).to_string();
    coming.sort_by(|one, other| {
        (one.check_in < today, &one.check_in, one.id).cmp(&(
            other.check_in < today,
            &other.check_in,
            other.id,
        ))
    });
    coming.truncate(SCAN_LIMIT);
    let flats = flats::by_ids(request, coming.iter().filter_map(|stay| stay.property_id)).await?;
    coming.retain(|stay| {
        time_format::is_today_or_tomorrow(
            &stay.check_in,
            now,
            &flats::zone_among(&flats, stay.property_id),
        )
    });
    let looked_at = try_join_all(
        coming
            .iter()
            .map(|stay| async { if_readable(submissions::read(request, stay.id).await) }),
    )
    .await?;
    let mut rows = Vec::new();
    for (stay, submission) in coming
        .iter()
        .zip(looked_at)
        .filter_map(|(stay, submission)| Some((stay, submission?)))
        .take(MOST)
    {
        let row = submissions::SubmissionRow::of(request, &submission.item);
        let (done, all) = submissions::progress(&submission);
        let so_far = [("done", done.to_string()), ("all", all.to_string())];
        let so_far: Vec<(&str, &str)> = so_far
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        rows.push((
            stay.check_in.clone(),
            Arrival {
                guest: row.guest,
                about: row.about,
                status: row.status,
                so_far: if all == 0 {
                    String::new()
                } else {
                    let so_far = fill(request.texts.stays.so_far, &so_far);
                    let opened = row.opened.map(|opened| format!("{so_far} · {opened}"));
                    opened.unwrap_or(so_far)
                },
                way: request.address(&format!("/stays/{}", stay.id)),
            },
        ));
    }
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    let query = [
        ("from-day", from.as_str()),
        ("to-day", to.as_str()),
        ("status", "confirmed"),
    ];
    Ok(Some(Arrivals {
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        all: request.texts.begin.arrivals_all,
        way: request.address_with(stays::SCREEN.path, &query),
    }))
}

async fn failing(
    request: &ConsoleRequest,
) -> Result<Vec<(String, String, String)>, ConsoleRefusal> {
    let mut subscriptions = Vec::new();
    for state in [SubscriptionState::Disabled, SubscriptionState::Failing] {
        subscriptions.extend(
            if_readable(webhooks::in_state(request, state, MOST).await)?.unwrap_or_default(),
        );
    }
    let words = &request.texts.begin;
    let row = |one: WebhookSubscription| {
        let about = match (one.disabled_at, one.consecutive_failures) {
            (Some(_), _) => words.disabled.to_owned(),
            (None, 0) => return None,
            (None, count) => fill(words.failures, &[("count", &count.to_string())]),
        };
        Some((
            one.target_url,
            format!("{} · {about}", one.event),
            request.address(&format!("/webhooks/{}", one.id)),
        ))
    };
    Ok(subscriptions
        .into_iter()
        .filter_map(row)
        .take(MOST)
        .collect())
}

/// Counts the titles of steps and of manuals that are missing in languages of the organization.
/// Checks at most [`TITLES`] titles in at most [`LANGUAGES`] languages other than English.
async fn untranslated(
    request: &ConsoleRequest,
    steps: &[HomeStep],
) -> Result<Vec<(String, String)>, ConsoleRefusal> {
    let languages = &request.signed_in.organization.settings.languages;
    let others: Vec<&String> = languages
        .iter()
        .filter(|tag| *tag != ENGLISH)
        .take(LANGUAGES)
        .collect();
    if others.is_empty() || !request.may(LIST_TRANSLATIONS.id()) {
        return Ok(Vec::new());
    }
    let manuals = if request.may(LIST_PORTAL_MANUALS.id()) {
        if_readable(request.read(LIST_PORTAL_MANUALS, json!({})).await)?
    } else {
        None
    };
    let of_manuals: BTreeSet<Uuid> = manuals
        .iter()
        .flat_map(|manuals| manuals.iter())
        .filter_map(|row| row.manual.title_id)
        .collect();
    let of_steps: BTreeSet<Uuid> = steps
        .iter()
        .filter_map(|step| step.display_title_ml_text_id)
        .collect();
    let ids: Vec<Uuid> = of_steps.union(&of_manuals).copied().take(TITLES).collect();
    let places = [
        ("steps", request.texts.steps.steps, of_steps),
        ("manuals", request.texts.manuals.manuals, of_manuals),
    ];
    let mut missing = Vec::new();
    for language in others {
        if ids.is_empty() {
            break;
        }
        let arguments = json!({ "ids": ids, "language": language });
        let texts = request.read(LIST_TRANSLATIONS, arguments).await?;
        let lacking: Vec<Uuid> = texts
            .iter()
            .filter(|text| !text.language.eq_ignore_ascii_case(language))
            .map(|text| text.id)
            .collect();
        for (of, what, titles) in &places {
            let count = lacking.iter().filter(|id| titles.contains(id)).count();
            if count > 0 {
                let sentence = [
                    ("what", *what),
                    ("count", &count.to_string()),
                    ("language", own_name(language)),
                ];
                let way = request.address_with(
                    "/translations",
                    &[("of", *of), ("language", language.as_str()), ("todo", "1")],
                );
                missing.push((fill(request.texts.begin.missing_in, &sentence), way));
            }
        }
    }
    Ok(missing)
}

/// Returns the sentence for the setting that a step lacks.
const fn configuration_issue(words: &ConsoleBeginWords, issue: ConfigurationIssue) -> &'static str {
    match issue {
        ConfigurationIssue::MissingPaymentAccount => words.missing_payment_account,
        ConfigurationIssue::MissingAuthenticateAccount => words.missing_authenticate_account,
    }
}

/// Returns all steps, and an entry for each language in which titles of steps or manuals are
/// missing: a sentence, and the address of the list of these titles. The calling function selects
/// the steps that lack a setting.
async fn problems_to_fix(
    request: &ConsoleRequest,
) -> Result<(Vec<HomeStep>, Vec<(String, String)>), ConsoleRefusal> {
    let steps = if request.may("listPrecheckSteps") {
        if_readable(
            request
                .get::<Vec<HomeStep>>("listPrecheckSteps", json!({}))
                .await,
        )?
    } else {
        None
    };
    let steps = steps.unwrap_or_default();
    let untranslated = untranslated(request, &steps).await?;
    Ok((steps, untranslated))
}

fn home(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.frame;
        let title = fill(words.welcome, &[("name", request.signed_in.name())]);
        let about = fill(
            words.welcome_text,
            &[(
                "organization",
                &request.signed_in.organization.settings.name,
            )],
        );
        // The parts of the page are independent, and each can be slow in a large organization. So
        // they are read concurrently.
        let (waiting, arrivals, failing, (steps, untranslated)) = try_join4(
            Box::pin(waiting(request)),
            Box::pin(arrivals(request)),
            Box::pin(failing(request)),
            Box::pin(problems_to_fix(request)),
        )
        .await?;
        let all: Vec<_> = steps
            .into_iter()
            .filter_map(|step| Some((step.id, step.nickname, step.configuration_issue?)))
            .collect();
        let more = all.len().saturating_sub(MOST);
        let lacking = all.into_iter().take(MOST).map(|(id, nickname, issue)| {
            (
                nickname,
                configuration_issue(&request.texts.begin, issue),
                resource_address(request, "/steps/{id}", &id.to_string()),
            )
        });
        let page = ConsoleHome {
            frame: ConsoleFrame::new(request, title),
            about,
            first: first_steps(request).await,
            ready: resource_address(request, ready_made_set::PATH, ""),
            backups: backups(request).await?,
            has_work: waiting.is_some() || arrivals.is_some(),
            waiting,
            arrivals,
            failing,
            untranslated,
            lacking: lacking.collect(),
            lacking_more: (more > 0).then(|| {
                (
                    fill(
                        request.texts.begin.lacking_more,
                        &[("count", &more.to_string())],
                    ),
                    resource_address(request, "/steps", ""),
                )
            }),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}
