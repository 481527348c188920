//! The page of a stay. It shows the stay's data, the guest's progress, and a preview of the guest
//! page.

use askama::Template;
use features::guest::{ExplainedItem, GET_GUEST_LINK, LIST_RESERVATION_MESSAGES};
use features::words::{fill, own_name};
use futures_util::future::try_join3;
use serde_json::json;
use uuid::Uuid;

use super::super::audit::LatestChanges;
use super::super::charges::StayCharges;
use super::super::flats;
use super::super::frame::ConsoleFrame;
use super::super::preview::{self, PreviewForm};
use super::super::records;
use super::super::refusal::ConsoleRefusal;
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::super::submissions;
use super::super::time_format::{self, FormattedTime};
use super::super::words::{precheckin_status, stay_status};
use super::explanation::{self, StayExplanation};
use super::{SCREEN, StayItem};

/// Number of messages that the page requests. A stay can have at most this number of messages, so
/// the page shows all of them.
const MESSAGES: usize = 200;

/// A value that the page of a stay shows behind a label.
struct LabelledValue {
    label: &'static str,
    value: String,
}

#[derive(Template)]
#[template(path = "stay.html")]
struct StayPage<'v> {
    frame: ConsoleFrame<'v>,
    state: (&'static str, &'static str),
    facts: Vec<LabelledValue>,
    precheckin: (&'static str, &'static str),
    so_far: String,
    /// A sentence about the steps that the guest can change again. `None` if there are none.
    opened: Option<String>,
    submission: String,
    portal: explanation::StayPortal,
    steps_shown: String,
    manuals_shown: String,
    why: String,
    preview: Option<PreviewForm>,
    /// The id of the portal whose preview the page offers.
    portal_id: String,
    at_hint: String,
    link: Option<String>,
    /// Address of the page that changes the stay. `None` if the member may not change it.
    edit: Option<String>,
    charges: Option<StayCharges>,
    changed: Option<LatestChanges>,
    /// The guest's messages, the newest first. Each has its text and its time.
    messages: Vec<(String, FormattedTime)>,
}

/// Reads the guest's messages, the newest first.
async fn messages(
    request: &ConsoleRequest,
    id: Uuid,
) -> Result<Vec<(String, FormattedTime)>, ConsoleRefusal> {
    let written = request
        .read(
            LIST_RESERVATION_MESSAGES,
            json!({ "id": id, "limit": MESSAGES }),
        )
        .await?;
    Ok(written
        .iter()
        .rev()
        .map(|message| {
            (
                message.text.clone(),
                time_format::of(request, message.created_at),
            )
        })
        .collect())
}

fn facts(request: &ConsoleRequest, stay: &StayItem, flat: Option<&str>) -> Vec<LabelledValue> {
    let words = &request.texts.stays;
    let people = stay.adults.map(|adults| {
        let (adults, children) = (
            adults.to_string(),
            stay.children.unwrap_or_default().to_string(),
        );
        fill(
            words.adults_and_children,
            &[("adults", &adults), ("children", &children)],
        )
    });
    let language = stay
        .guest
        .language
        .as_deref()
        .map(|tag| own_name(tag).to_owned());
    let all = [
        (
            words.flat,
            Some(flat.unwrap_or(request.texts.submissions.no_flat).to_owned()),
        ),
        (
            words.dates,
            Some(time_format::days(request, &stay.check_in, &stay.check_out)),
        ),
        (words.people, people),
        (words.email, stay.guest.email.clone()),
        (words.phone, stay.guest.phone.clone()),
        (words.guest_language, language),
        (words.channel, Some(stay.channel.clone())),
        (
            words.booked,
            Some(time_format::timestamp(request, &stay.booked_at).text),
        ),
    ];
    all.into_iter()
        .filter_map(|(label, value)| {
            Some(LabelledValue {
                label,
                value: value?,
            })
        })
        .collect()
}

pub(super) fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.stays;
        let id = request.path_id("id")?;
        // Each of these calls can be slow in a large organization, so they run concurrently.
        let stay = Box::pin(request.get::<StayItem>("getReservation", json!({ "id": id })));
        let (stay, submission, explanation) = try_join3(
            stay,
            Box::pin(submissions::read(request, id)),
            Box::pin(StayExplanation::read(request, id, None)),
        )
        .await?;
        let (done, all) = submissions::progress(&submission);
        let (done, all) = (done.to_string(), all.to_string());
        let zone = flats::zone(request, stay.property_id).await;
        let link = if request.may(GET_GUEST_LINK.id()) {
            request.read(GET_GUEST_LINK, json!({ "id": id })).await.ok()
        } else {
            None
        };
        let counted = |text: &str, items: &[&ExplainedItem]| {
            let shown = items
                .iter()
                .filter(|item| item.is_shown)
                .count()
                .to_string();
            fill(
                text,
                &[("shown", &shown), ("all", &items.len().to_string())],
            )
        };
        let portal_id = explanation.portal_id();
        let page = StayPage {
            frame: ConsoleFrame::new(request, stay.called(request)).with_parent(
                request,
                words.stays,
                SCREEN.path,
            ),
            state: stay_status(words, stay.status),
            facts: facts(request, &stay, submission.item.property_name.as_deref()),
            precheckin: precheckin_status(&request.texts.submissions, submission.item.status),
            opened: submissions::opened(request, &submission.item),
            so_far: fill(words.so_far, &[("done", &done), ("all", &all)]),
            submission: request.address(&format!("/submissions/{id}")),
            steps_shown: counted(words.steps_shown, &explanation.steps()),
            manuals_shown: counted(words.manuals_shown, &explanation.manuals()),
            portal: explanation.portal(request),
            why: request.address(&format!("/stays/{id}/why")),
            preview: portal_id
                .and_then(|_| PreviewForm::of(request, &format!("/stays/{id}/preview"))),
            portal_id: portal_id.map(|id| id.to_string()).unwrap_or_default(),
            at_hint: fill(
                words.at_hint,
                &[("zone", zone.iana_name().unwrap_or("UTC"))],
            ),
            link: link.map(|link| link.url.clone()),
            edit: records::edit_stay(request, id),
            charges: StayCharges::of(request, id).await,
            changed: LatestChanges::of(request, id).await,
            messages: messages(request, id).await?,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

/// Creates a preview of the page that the guest of this stay sees.
pub(super) fn preview(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = request.path_id("id")?;
        let at = match request.form_value("at").filter(|at| !at.trim().is_empty()) {
            None => None,
            Some(at) => {
                let submission = submissions::read(request, id).await?;
                let zone = flats::zone(request, submission.item.property_id).await;
                // A text that is not a valid time is sent as the member typed it. The operation
                // refuses it with a message.
                Some(time_format::parse_local(at, &zone).unwrap_or_else(|| at.to_owned()))
            }
        };
        let language = request.form_value("language").filter(|tag| !tag.is_empty());
        let is_all = request.form_value("includeInactive").is_some();
        let portal = request.form_value("portal").unwrap_or_default();
        let arguments = json!({
            "id": portal,
            "reservationId": id,
            "language": language,
            "at": at,
            "includeInactive": is_all,
        });
        preview::show(request, arguments).await
    })
}
