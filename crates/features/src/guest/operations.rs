//! The operations of the guest interface, and the operations that return links to it.

use std::sync::Arc;

use engine::access::{Credential, Permission};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::{Language, Text6000};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Needs, Object, Operation, OperationName, PageLimits};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::changes::{self, ChangeKind};
use super::charges;
use super::domains;
use super::explain::{Explanation, explain};
use super::extras;
use super::files;
use super::issues;
use super::messages::{self, Message};
use super::passes;
use super::precheckin::{AnswersInRequest, Precheckin};
use super::preview::{self, PreviewTime};
use super::setup::{self, GuestSetup};
use super::stay::{Stay, reservation};
use super::step_view::StepView;
use super::stored_answers;
use super::submission::{self, Submission};
use super::surveys;
use super::view::{GuestView, PrecheckinView, precheckin_view, view};
use crate::events::{self, Event};
use crate::records::{RecordKind, get_record};

/// Saves a guest's answers to a step.
pub const SAVE_STEP_ANSWERS: OperationName<StepView> = OperationName::new("saveStepAnswers");
/// Lists the messages that the guest of the caller's stay wrote.
pub const LIST_OWN_MESSAGES: OperationName<Vec<Message>> = OperationName::new("listOwnMessages");

/// Returns the link that opens the guest page of a reservation.
pub const GET_GUEST_LINK: OperationName<GuestPageAddress> = OperationName::new("getGuestLink");
/// Explains the guest's view of a reservation.
pub const EXPLAIN_GUEST_VIEW: OperationName<Explanation> = OperationName::new("explainGuestView");
/// Lists the messages of a reservation's guest.
pub const LIST_RESERVATION_MESSAGES: OperationName<Vec<Message>> =
    OperationName::new("listReservationMessages");

/// Number of messages on a page if the request sets no limit.
const MESSAGES_PAGE: u32 = 50;
/// Page limits of [`LIST_RESERVATION_MESSAGES`]. A stay has at most 200 messages, so one page can
/// contain all of them.
const MESSAGES: PageLimits = PageLimits {
    default: 50,
    max: 200,
};

store::statements! {
    /// Deletes the links of deleted reservations, so that these links no longer open a stay.
    DELETE_GUEST_LINKS = "delete from guest_link where organization_id = ?1
        and reservation_id = any(?2)";
    /// Selects the stay token of a reservation.
    STAY_TOKEN = "select token from guest_link where organization_id = ?1 and reservation_id = ?2";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetStay {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Language to answer in, as a BCP 47 tag. Left out: the language of the reservation's guest,
    /// else English.
    #[serde(default)]
    language: Option<Language>,
    /// Time for which the stay is shown, for a preview. Needs `Authorization` with a credential of
    /// the organization, unless the token belongs to a preview. Left out: now, or the time of the
    /// preview.
    #[serde(default)]
    at: Option<Moment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SaveAnswers {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Id of the answered step; 404 for a step that this guest does not get.
    step_id: Uuid,
    /// The guest's answers; missing ones leave the step incomplete. For `your_details` the guest's
    /// fields and for `other_guests` `{guests: [{…}]}`, at most 50, both merged with saved answers,
    /// field by field and guest by guest: null removes a field. Each saved guest has an `id`. An
    /// item with an `id` changes that guest, or removes it with `isRemoved: true`; a list without
    /// any `id` stands for all guests. Other answers replace the saved ones: for
    /// `additional_questions` by question id `{optionIds: […]}` or `{text}`, for `agreement`
    /// `{isAccepted, signedName}`, for `background_check` `{isAccepted}`, for `damage_deposit`
    /// `{choice: "deposit"}` or `{choice: "waiver", damageWaiverId}`, for other types any object.
    answers: Object,
    /// Language in which the guest reads the step, as a BCP 47 tag. The response has this language,
    /// and the proof of an accepted agreement records it. Left out: the language of the
    /// reservation's guest, else English.
    #[serde(default)]
    language: Option<Language>,
    /// Whether `answers` of `additional_questions` and `other_guests` contain only changes:
    /// questions and guests that are not named stay as they are saved. Left out: `false`.
    #[serde(default)]
    is_change: Option<bool>,
    /// SHA-256 of the agreement text that the guest read, in hexadecimal digits. If the text has
    /// changed since then, the request fails with 409 and `details.key` is
    /// `agreement.text_changed`. Left out: the texts are not compared.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    shown_text_sha256: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Submit {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SendMessage {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Message to the host, 1 to 6000 characters and not blank. A stay has at most 200 messages.
    text: Text6000,
    /// A UUID that the sender chooses for this message. If the stay has a message with the same
    /// UUID, this earlier message is returned and nothing is sent; the texts are not compared. Left
    /// out: every request sends a message.
    #[serde(default)]
    key: Option<Uuid>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadMessages {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListMessages {
    /// Id of the reservation's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose guest's messages are listed.
    reservation_id: Uuid,
    /// Id of the last message already read: the list starts after it. Left out: from the first.
    #[serde(default)]
    after: Option<Uuid>,
    /// Maximum number of messages. Left out: 50.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetGuestLink {
    /// Id of the reservation whose guest's link is returned.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetMessages {
    /// Id of the reservation.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExplainGuestView {
    /// Id of the reservation whose guest's view is explained.
    id: Uuid,
    /// The time for which the view is explained: rules that depend on the time are applied as at
    /// this time. Left out: now.
    #[serde(default)]
    at: Option<Moment>,
    /// Id of the only step to explain; then no manual is explained. A step that the caller cannot
    /// see is a 404. Left out: every step and manual is explained.
    #[serde(default)]
    step_id: Option<Uuid>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReservationOfLink {
    /// Id of the reservation's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose pre-check-in is read.
    reservation_id: Uuid,
}

/// Address of a guest's page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "url": "https://stay.example.com/stay/kq3…" }))]
pub struct GuestPageAddress {
    pub url: String,
}

pub(super) fn operations() -> Vec<Operation> {
    let reads = Needs::Permission(Permission::ViewReservations);
    vec![
        Operation::guest("getStay", Method::GET, "/stays/{token}")
            .summary("What this guest of this flat sees now")
            .cached(CacheBasis::Everything)
            .run(stay),
        Operation::guest(
            SAVE_STEP_ANSWERS.id(),
            Method::PUT,
            "/stays/{token}/steps/{stepId}",
        )
        .summary("Save a step")
        .touches_stream()
        .run_as(SAVE_STEP_ANSWERS, save),
        Operation::guest("submitPrecheckin", Method::POST, "/stays/{token}/submit")
            .summary("Submit pre-check-in")
            .touches_stream()
            .run(submit),
        Operation::guest("sendGuestMessage", Method::POST, "/stays/{token}/messages")
            .summary("Write to the host")
            .creates()
            .touches_stream()
            .run(send),
        Operation::guest(
            LIST_OWN_MESSAGES.id(),
            Method::GET,
            "/stays/{token}/messages",
        )
        .summary("What the guest has written to the host, oldest first")
        .run_as(LIST_OWN_MESSAGES, read_messages),
        Operation::public(
            GET_GUEST_LINK.id(),
            Method::GET,
            "/reservations/{id}/guest-link",
            reads,
        )
        .summary("The link that opens a reservation's guest portal")
        .tool(
            "reservations",
            "Get a guest link",
            "The real link of a reservation's guest to their portal. Whoever has it is the guest: \
                to look without acting use `createPortalPreview`.",
        )
        .run_as(GET_GUEST_LINK, |context, input: GetGuestLink| {
            get_record(context, RecordKind::Reservation, input.id)?;
            let token = stay_token(context, input.id)?;
            Ok(GuestPageAddress {
                url: domains::stay_url(context, input.id, &token)?,
            })
        }),
        Operation::public(
            LIST_RESERVATION_MESSAGES.id(),
            Method::GET,
            "/reservations/{id}/messages",
            reads,
        )
        .summary("List what a reservation's guest has written to the host, oldest first")
        .tool(
            "reservations",
            "List guest messages",
            "What a guest wrote, oldest first.",
        )
        .pages_as(
            LIST_RESERVATION_MESSAGES,
            MESSAGES,
            |context, input: GetMessages, page| {
                get_record(context, RecordKind::Reservation, input.id)?;
                messages::message_page(context, input.id, page)
            },
        ),
        Operation::public(
            EXPLAIN_GUEST_VIEW.id(),
            Method::GET,
            "/reservations/{id}/explain",
            reads,
        )
        .summary("Why the guest of a reservation sees what they see")
        .tool(
            "reservations",
            "Explain what a guest sees",
            "Why a guest sees or does not see each step and manual, and which portal serves them: \
                `isShown`, `reason` (the one rule that decided) and `path` (how the assignment \
                reaches the flat). Ask for one step with `stepId`, for another moment with `at`.",
        )
        .run_as(EXPLAIN_GUEST_VIEW, |context, input: ExplainGuestView| {
            get_record(context, RecordKind::Reservation, input.id)?;
            let at = input.at.map_or_else(|| context.now(), |at| at.0);
            explain(context, input.id, at, input.step_id)
        }),
        Operation::platform(
            "getPrecheckin",
            Method::GET,
            "/organizations/{organizationId}/reservations/{reservationId}/precheckin",
        )
        .summary("What a guest has handed in, and how it is to be acted on")
        .run(|context, input: ReservationOfLink| -> Result<Submission> {
            get_record(context, RecordKind::Reservation, input.reservation_id)?;
            submission::read(context, input.reservation_id)
        }),
        Operation::platform(
            "listGuestMessages",
            Method::GET,
            "/organizations/{organizationId}/reservations/{reservationId}/messages",
        )
        .summary("What a guest has written to the host, oldest first")
        .run(|context, input: ListMessages| -> Result<Vec<Message>> {
            get_record(context, RecordKind::Reservation, input.reservation_id)?;
            messages::page(
                context,
                input.reservation_id,
                input.after,
                input.limit.unwrap_or(MESSAGES_PAGE),
            )
        }),
    ]
}

/// Returns the reservation that the caller's token opens; 404 for a caller without such a token.
pub(super) fn own_reservation(context: &Context<'_, '_>) -> Result<Uuid> {
    let Credential::Guest { opens: reservation } = context.access.credential else {
        return Err(Error::not_found("Stay"));
    };
    Ok(reservation)
}

/// Loads the stay that the caller's token opens, and the setup of its flat.
pub(super) fn own_stay(
    context: &mut Context<'_, '_>,
    language: Option<&str>,
) -> Result<(Stay, Arc<GuestSetup>)> {
    let id = own_reservation(context)?;
    setup::load_with_setup(context, id, language)
}

fn stay(context: &mut Context<'_, '_>, input: GetStay) -> Result<GuestView> {
    if let Credential::Preview { opens } = context.access.credential {
        let at = input.at.map(|at| PreviewTime::Exact(at.0));
        return preview::view(context, opens, input.language.as_deref(), at);
    }
    let (stay, setup) = own_stay(context, input.language.as_deref())?;
    view_at(context, stay, &setup, input.at.map(|at| at.0))
}

/// Builds the view of a stay at the time `at`, or at the current time without `at`. A view at the
/// current time is cached until the next time at which the view changes.
pub(super) fn view_at(
    context: &mut Context<'_, '_>,
    stay: Stay,
    setup: &GuestSetup,
    at: Option<Timestamp>,
) -> Result<GuestView> {
    let time = at.unwrap_or_else(|| context.now());
    if at.is_none() {
        let until = surveys::next_view_change(&stay, time);
        context.limit_validity(setup.manual_groups.next_change(&stay, time).min(until));
    }
    view(context, stay, setup, time)
}

fn save(context: &mut Context<'_, '_>, input: SaveAnswers) -> Result<StepView> {
    let (stay, setup) = own_stay(context, input.language.as_deref())?;
    let mut precheckin = Precheckin::load_for(context, &stay, &setup)?;
    let answers_in_request = AnswersInRequest {
        answers: input.answers,
        is_change: input.is_change.unwrap_or(false),
        shown_text_sha256: input.shown_text_sha256,
    };
    precheckin.save(context, &stay, &setup, input.step_id, answers_in_request)?;
    changes::record(
        context,
        ChangeKind::AnswersSaved,
        stay.id,
        Some(input.step_id),
    )?;
    precheckin.view(input.step_id, &setup)
}

fn submit(context: &mut Context<'_, '_>, _: Submit) -> Result<PrecheckinView> {
    let (stay, setup) = own_stay(context, None)?;
    let mut precheckin = Precheckin::load_for(context, &stay, &setup)?;
    precheckin.submit(context, &stay)?;
    changes::record(context, ChangeKind::Submitted, stay.id, None)?;
    charges::save_submission_charges(context, &stay, &setup, &precheckin)?;
    events::fire(
        context,
        Event::ReservationPrecheckinSubmitted,
        RecordKind::Reservation,
        stay.id,
        stay.reservation.property_id,
    )?;
    Ok(precheckin_view(&precheckin, &setup))
}

fn send(context: &mut Context<'_, '_>, input: SendMessage) -> Result<Message> {
    let id = own_reservation(context)?;
    let stay = Stay::load(context, id)?;
    let message = messages::send(context, &stay, input.text.0, input.key)?;
    changes::record(context, ChangeKind::Message, id, None)?;
    Ok(message)
}

/// Returns the messages that the guest wrote. A preview has no messages.
fn read_messages(context: &mut Context<'_, '_>, _: ReadMessages) -> Result<Vec<Message>> {
    if let Credential::Preview { .. } = context.access.credential {
        return Ok(Vec::new());
    }
    let id = own_reservation(context)?;
    reservation(context, id)?;
    messages::latest(context, id)
}

/// Deletes the links of deleted reservations, and all data of their guests.
pub(super) fn forget_stays(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&DELETE_GUEST_LINKS, values![reservations])?;
    stored_answers::forget(context, reservations)?;
    charges::forget(context, reservations)?;
    files::forget(context, reservations)?;
    issues::forget(context, reservations)?;
    surveys::forget(context, reservations)?;
    extras::forget(context, reservations)?;
    passes::forget(context, reservations)?;
    messages::forget(context, reservations)
}

/// Returns the stay token of a reservation. Every reservation has a token from its first sync on.
pub fn stay_token(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<String> {
    let row = context
        .row(&STAY_TOKEN, values![reservation])?
        .ok_or_else(|| Error::not_found("Reservation"))?;
    Ok(row.get(0)?)
}
