//! Reviews of what guests hand in: what waits for staff, what it says, and what they decide of it (contract: Reviews of what
//! guests hand in).

use std::collections::{BTreeSet, HashMap};

use engine::access::{Permission, Reach};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::{Language, Note2000};
use engine::moment::Moment;
use engine::operation::{Basis, ById, Findings, Listing, Needs, Object, Operation, Page, PageLimits};
use engine::values;
use http::Method;
use jiff::civil::Date;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Row;
use uuid::Uuid;

use super::audited;
use super::decision::{Decision, Submitted};
use super::files::{AddressedFile, addressed};
use super::precheckin::{self, Asked, Given, OptionView, Precheckin, PrecheckinStatus, QuestionView, linked_texts};
use super::progress::{Progress, ProgressStatus};
use super::setup;
use super::stay::Stay;
use super::submission::answered_earlier;
use crate::precheck::{self, QuestionKind, Step, StepType};
use crate::records::{Guest, Kind, Reservation, record_names, typed, typed_among};
use crate::translations::{self, ENGLISH};

/// The submissions of a page that is told by a query for its reservations.
macro_rules! page {
    ($of:literal) => {
        concat!(
            "select p.reservation_id, p.status, p.submitted_at, p.doc from (",
            $of,
            ") as page join precheckin p on p.organization_id = ?1 and p.reservation_id = page.reservation_id
            order by p.submitted_at, p.reservation_id"
        )
    };
}

store::statements! {
    /// How many submissions there are.
    COUNT = "select count(*) from precheckin where organization_id = ?1";
    /// A page of them, the longest waiting first. Which they are is told by an index alone, here and below.
    PAGE = page!("select reservation_id from precheckin where organization_id = ?1 order by submitted_at, reservation_id limit ?2 offset ?3");
    /// How many stand somewhere.
    COUNT_STANDING = "select count(*) from precheckin where organization_id = ?1 and status = ?2";
    /// A page of them.
    PAGE_STANDING = page!("select reservation_id from precheckin where organization_id = ?1 and status = ?2
            order by submitted_at, reservation_id limit ?3 offset ?4");
    /// How many are of stays in some properties.
    COUNT_ON = "select count(*) from precheckin where organization_id = ?1 and property_id = any(?2) and (?3 or status = ?4)";
    /// A page of them. They are found first and put in order then: SQLite would rather walk through everything in order.
    PAGE_ON = page!("with found as materialized (select reservation_id, submitted_at from precheckin
                where organization_id = ?1 and property_id = any(?2) and (?3 or status = ?4))
            select reservation_id from found order by submitted_at, reservation_id limit ?5 offset ?6");
    /// Notes what staff decided.
    DECIDE = "update precheckin set status = ?3, doc = ?4 where organization_id = ?1 and reservation_id = ?2";
    /// Notes which properties some reservations name now.
    FOLLOW = "update precheckin set property_id = (select r.property_id from record r
            where r.organization_id = ?1 and r.kind = 'reservation' and r.id = precheckin.reservation_id)
        where organization_id = ?1 and reservation_id = any(?2)";
}

/// Which submissions are wanted; of several filters all hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListSubmissions {
    /// `in_review` waits for staff, `changes_requested` for the guest, `approved` for nobody. Left out:
    /// all that were submitted.
    #[serde(default)]
    #[schemars(schema_with = "submitted_status")]
    status: Option<PrecheckinStatus>,
    /// Only submissions of stays in this property. An unknown one finds nothing.
    #[serde(default)]
    property_id: Option<Uuid>,
}

fn submitted_status(_: &mut SchemaGenerator) -> Schema {
    use PrecheckinStatus::{Approved, ChangesRequested, InReview};
    json_schema!({ "type": "string", "enum": [InReview, ChangesRequested, Approved] })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadSubmission {
    /// Id of the reservation whose pre-check-in is read.
    id: Uuid,
    /// Language of titles and questions, as a BCP 47 tag. Left out: English.
    #[serde(default)]
    language: Option<Language>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "message": "The photo of the passport cannot be read. Please take another one.",
    "stepIds": ["0192f0c1-2345-7abc-8def-0123456789ac"],
}))]
struct RequestChanges {
    /// Id of the reservation whose guest is asked for changes.
    id: Uuid,
    /// What the guest is to change, in words they read as they are: 1 to 2000 characters, not blank.
    message: Note2000,
    /// Ids of the steps that are open to the guest again, each once; the others stay as they are. One that the guest does not
    /// get is a 404.
    #[schemars(length(min = 1, max = 200))]
    step_ids: Vec<Uuid>,
}

/// The steps that a request for changes names, whatever else is wrong with it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NamedSteps {
    step_ids: Vec<Uuid>,
}

impl NamedSteps {
    fn issue(&self) -> Option<Issue> {
        let distinct: BTreeSet<&Uuid> = self.step_ids.iter().collect();
        (distinct.len() < self.step_ids.len()).then(|| Issue::new(&["stepIds"], Reason::Twice))
    }
}

/// What a guest handed in, and what has become of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
struct PrecheckinSubmission {
    reservation_id: Uuid,
    property_id: Option<Uuid>,
    property_name: Option<String>,
    /// Given name and family name, as far as they are known.
    guest_name: Option<String>,
    #[schemars(with = "String")]
    check_in: Date,
    status: PrecheckinStatus,
    /// When it was submitted last.
    submitted_at: Option<Moment>,
    /// When staff decided on what was submitted last; null while they have not, and where it was approved without them.
    decided_at: Option<Moment>,
    /// The name of the member or API key who decided.
    decided_by: Option<String>,
    /// What the guest was last asked to change.
    message: Option<String>,
}

/// What a guest handed in, with the answers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = detailed_example())]
struct ReviewedSubmission {
    #[serde(flatten)]
    item: PrecheckinSubmission,
    /// The steps the guest gets, in their order, and after them those that were answered and are no longer shown.
    steps: Vec<ReviewedStep>,
}

/// A step, and what the guest gave.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReviewedStep {
    id: Uuid,
    step_type: StepType,
    /// What the guest reads above it, in the language asked for.
    title: String,
    /// Whether the guest gets it now.
    is_shown: bool,
    /// Whether the guest has done what it asks.
    is_complete: bool,
    /// Whether the guest may save it now.
    is_open: bool,
    /// What the guest gave; null where nothing is saved.
    answers: Option<GivenAnswers>,
    /// What was handed in with it, for document uploads and identity checks, each with an address that is good for 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<AddressedFile>>,
    /// How it stands with the system that carries it out, where that has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ReviewedProgress>,
}

/// How a step stands that another system carries out; where the guest goes on is for the guest alone.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReviewedProgress {
    status: ProgressStatus,
    /// What the guest is told.
    message: Option<String>,
    /// What it is about in money, in cents.
    amount_cents: Option<u64>,
    /// ISO 4217 code of that.
    currency: Option<String>,
}

/// What a guest gave in a step.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum GivenAnswers {
    /// To additional questions, those that are asked, in their order.
    Questions(Vec<ReviewedQuestion>),
    /// To any other step, as it was saved.
    Fields(Object),
}

/// A question that is asked, and what the guest answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReviewedQuestion {
    question_id: Uuid,
    /// What is asked, in the language asked for.
    question: Option<String>,
    kind: QuestionKind,
    /// What the guest chose.
    options: Vec<OptionView>,
    /// What the guest wrote.
    text: Option<String>,
}

impl PrecheckinSubmission {
    fn new(id: Uuid, stay: &Reservation, property_name: Option<String>, status: PrecheckinStatus, submitted: Option<Submitted>) -> Self {
        let (submitted_at, decision) = submitted.map(|submitted| (submitted.at, submitted.decision)).unzip();
        let Decision { decided_at, decided_by, message, .. } = decision.unwrap_or_default();
        Self {
            reservation_id: id,
            property_id: stay.property_id,
            property_name,
            guest_name: full_name(&stay.guest),
            check_in: stay.check_in,
            status,
            submitted_at,
            decided_at,
            decided_by,
            message,
        }
    }

    /// Of the stay of a reservation.
    fn of(stay: &Stay, status: PrecheckinStatus, submitted: Option<Submitted>) -> Self {
        let property_name = stay.flat.as_ref().map(|flat| flat.property.name.clone());
        Self::new(stay.id, &stay.reservation, property_name, status, submitted)
    }
}

impl ReviewedStep {
    fn new(context: &Context<'_, '_>, asked: &Asked, is_shown: bool, texts: &translations::Texts, language: &str) -> Result<Self> {
        let files = asked.step.step_type.takes_files().then(|| addressed(context, &asked.given.files)).transpose()?;
        let questions = asked.questions(texts, language);
        let answers = asked.answers().map(|answers| match questions {
            Some(questions) => GivenAnswers::Questions(questions.into_iter().map(ReviewedQuestion::from).collect()),
            None => GivenAnswers::Fields(answers.clone()),
        });
        Ok(Self {
            id: asked.step.id,
            step_type: asked.step.step_type,
            title: asked.title(texts, language),
            is_shown,
            is_complete: asked.is_complete(),
            is_open: asked.is_open(),
            answers,
            files,
            progress: asked.given.progress.clone().map(ReviewedProgress::from),
        })
    }
}

impl From<Progress> for ReviewedProgress {
    fn from(Progress { status, message, amount_cents, currency, .. }: Progress) -> Self {
        Self { status, message, amount_cents, currency }
    }
}

impl From<QuestionView> for ReviewedQuestion {
    fn from(view: QuestionView) -> Self {
        let QuestionView { id, kind, text, mut options, answer, .. } = view;
        let answer = answer.unwrap_or_default();
        let chosen = answer["optionIds"].as_array().map(Vec::as_slice).unwrap_or_default();
        options.retain(|option| chosen.contains(&json!(option.id)));
        Self { question_id: id, question: text, kind, options, text: answer["text"].as_str().map(str::to_owned) }
    }
}

/// What a guest is called, as far as it is known.
fn full_name(guest: &Guest) -> Option<String> {
    let names = [&guest.first_name, &guest.last_name].into_iter().flatten().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(" "))
}

pub(super) fn operations() -> Vec<Operation> {
    let reads = Needs::Permission(Permission::ViewReservations);
    let decides = Needs::Permissions(&[Permission::ViewReservations, Permission::ModifyProperties]);
    vec![
        Operation::public("listPrecheckinSubmissions", Method::GET, "/precheckin-submissions", reads)
            .summary("List what guests handed in before arrival within the caller's reach, the longest waiting first; by status or property if wanted")
            .tool(
                "reservations",
                "List submitted pre-check-ins",
                "What guests handed in before arrival, the longest waiting first: guest, property, status. Filter with `status`: \
                    \"in_review\" for what staff has to decide.",
            )
            .kept(Basis::Everything)
            .pages(PageLimits { default: 50, max: 100 }, list),
        Operation::public("getPrecheckinSubmission", Method::GET, "/reservations/{id}/precheckin", reads)
            .summary("Read what a reservation's guest handed in before arrival, answers and all")
            .tool(
                "reservations",
                "Read a pre-check-in",
                "What one guest handed in: the steps with answers in words, files, status. Read it before `approvePrecheckin` or \
                    `requestPrecheckinChanges`.",
            )
            .not_for_tools(&["language"])
            .run(read),
        Operation::public("approvePrecheckin", Method::POST, "/reservations/{id}/precheckin/approve", decides)
            .summary("Approve what a guest handed in and is in review")
            .tool(
                "reservations",
                "Approve a pre-check-in",
                "Approves what a guest handed in; only while it is in review (409 otherwise). To send it back use \
                    `requestPrecheckinChanges`.",
            )
            .idempotent()
            .touches_stream()
            .audited(Audits::changes(audited::submission))
            .run(approve),
        Operation::public("requestPrecheckinChanges", Method::POST, "/reservations/{id}/precheckin/request-changes", decides)
            .summary("Send some steps of what is in review back to the guest, with a message")
            .tool(
                "reservations",
                "Ask a guest for changes",
                "Opens steps of a pre-check-in in review to the guest again, with a message the guest reads; the other steps stay \
                    done. Step ids are in `getPrecheckinSubmission`.",
            )
            .idempotent()
            .touches_stream()
            .rules(|input: NamedSteps, _| Findings::sent(input.issue()))
            .audited(Audits::changes(audited::submission).telling(&["stepIds"]))
            .run(request_changes),
    ]
}

fn list(context: &mut Context<'_, '_>, input: ListSubmissions, page: Page) -> Result<Listing<PrecheckinSubmission>> {
    let Page { limit, offset } = page;
    let status = input.status.as_ref().map(AsRef::as_ref);
    let on = match (context.reach(), input.property_id) {
        (Reach::Everything, None) => None,
        (Reach::Properties(ids), None) => Some(ids.iter().copied().collect()),
        (reach, Some(property)) => Some(if reach.covers(property) { vec![property] } else { Vec::new() }),
    };
    let (total, rows) = match (on, status) {
        (None, None) => (context.row(&COUNT, values![])?, context.rows(&PAGE, values![limit, offset])?),
        (None, Some(status)) => {
            (context.row(&COUNT_STANDING, values![status])?, context.rows(&PAGE_STANDING, values![status, limit, offset])?)
        }
        (Some(on), status) => {
            let (any, status) = (status.is_none(), status.unwrap_or_default());
            let total = context.row(&COUNT_ON, values![on.clone(), any, status])?;
            (total, context.rows(&PAGE_ON, values![on, any, status, limit, offset])?)
        }
    };
    Ok(Listing { items: items(context, &rows)?, total: total.map_or(Ok(0), |row| row.get(0))? })
}

/// The items of a page, from the columns of [`PAGE`].
fn items(context: &mut Context<'_, '_>, rows: &[Row]) -> Result<Vec<PrecheckinSubmission>> {
    let ids = rows.iter().map(|row| Ok(row.get(0)?)).collect::<Result<Vec<Uuid>>>()?;
    let stays: HashMap<Uuid, Reservation> = typed_among(context, Kind::Reservation, ids)?;
    let properties: BTreeSet<Uuid> = stays.values().filter_map(|stay| stay.property_id).collect();
    let names: HashMap<Uuid, Option<String>> =
        record_names(context, Kind::Property, properties.into_iter().collect())?.into_iter().collect();
    let item = |row: &Row| {
        let (id, submitted) = (row.get(0)?, Submitted::from_row(row, 1)?);
        let stay = stays.get(&id).ok_or_else(|| Error::internal("a submission of a reservation that is not there"))?;
        let name = stay.property_id.and_then(|id| names.get(&id).cloned().flatten());
        Ok(PrecheckinSubmission::new(id, stay, name, submitted.status, Some(submitted)))
    };
    rows.iter().map(item).collect()
}

/// 404 for a reservation that is not there, and for one that is in no property of a limited caller.
fn check_within_reach(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    let reach = context.reach();
    let stay: Option<Reservation> = typed(context, Kind::Reservation, id)?;
    let is_theirs = |stay: &Reservation| !reach.is_limited() || stay.property_id.is_some_and(|id| reach.covers(id));
    stay.filter(is_theirs).map(drop).ok_or_else(|| Error::not_found(&Kind::Reservation.label()))
}

fn read(context: &mut Context<'_, '_>, input: ReadSubmission) -> Result<ReviewedSubmission> {
    check_within_reach(context, input.id)?;
    let language = input.language.as_deref().unwrap_or(ENGLISH);
    let (stay, setup) = setup::visit(context, input.id, Some(language))?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    let status = precheckin.status();
    let Precheckin { steps, earlier, submitted, .. } = precheckin;
    let earlier = earlier_within_reach(context, &stay, &steps, earlier)?;
    let texts = translations::texts(context, earlier.iter().flat_map(|asked| linked_texts(&asked.step)), &setup.language)?;
    let shown = steps.iter().map(|asked| ReviewedStep::new(context, asked, true, &setup.texts, &setup.language));
    let earlier = earlier.iter().map(|asked| ReviewedStep::new(context, asked, false, &texts, &setup.language));
    let steps = shown.chain(earlier).collect::<Result<_>>()?;
    Ok(ReviewedSubmission { steps, item: PrecheckinSubmission::of(&stay, status, submitted) })
}

/// The steps that were answered and are no longer shown, as far as the caller may know of them.
fn earlier_within_reach(context: &mut Context<'_, '_>, stay: &Stay, shown: &[Asked], given: HashMap<Uuid, Given>) -> Result<Vec<Asked>> {
    let mut earlier = answered_earlier(context, stay, shown, given)?;
    let steps: Vec<Step> = earlier.iter().map(|asked| Step::clone(&asked.step)).collect();
    let visible = precheck::visible_ids(context, &steps)?;
    earlier.retain(|asked| visible.contains(&asked.step.id));
    Ok(earlier)
}

fn approve(context: &mut Context<'_, '_>, input: ById) -> Result<PrecheckinSubmission> {
    check_within_reach(context, input.id)?;
    let stay = Stay::load(context, input.id)?;
    let submitted = precheckin::submission(context, stay.id)?;
    Submitted::require_in_review(submitted.as_ref())?;
    let message = submitted.as_ref().and_then(|submitted| submitted.decision.message.clone());
    decide(context, &stay, submitted, PrecheckinStatus::Approved, Decision { message, ..Decision::default() })
}

fn request_changes(context: &mut Context<'_, '_>, input: RequestChanges) -> Result<PrecheckinSubmission> {
    check_within_reach(context, input.id)?;
    let (stay, setup) = setup::visit(context, input.id, Some(ENGLISH))?;
    let Precheckin { steps, submitted, .. } = Precheckin::load(context, &stay, &setup.steps)?;
    let shown: BTreeSet<Uuid> = steps.iter().map(|asked| asked.step.id).collect();
    if !input.step_ids.iter().all(|id| shown.contains(id)) {
        return Err(Error::not_found("Step"));
    }
    Submitted::require_in_review(submitted.as_ref())?;
    let kept_step_ids = shown.into_iter().filter(|id| !input.step_ids.contains(id)).collect();
    let decision = Decision { message: Some(input.message.0), kept_step_ids, ..Decision::default() };
    decide(context, &stay, submitted, PrecheckinStatus::ChangesRequested, decision)
}

/// Notes what the caller decides now of what was submitted.
fn decide(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    submitted: Option<Submitted>,
    status: PrecheckinStatus,
    decision: Decision,
) -> Result<PrecheckinSubmission> {
    let decision =
        Decision { decided_at: Some(Moment(context.now())), decided_by: context.access.name.as_deref().map(str::to_owned), ..decision };
    context.execute_along(&DECIDE, values![stay.id, status.as_ref(), store::Value::json(&decision)?])?;
    let submitted = submitted.map(|submitted| Submitted { status, decision, ..submitted });
    Ok(PrecheckinSubmission::of(stay, status, submitted))
}

/// Notes which properties some reservations name now.
pub(super) fn follow(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_along(&FOLLOW, values![reservations])
}

fn example() -> Value {
    json!({
        "reservationId": "0192f0c1-2345-7abc-8def-0123456789ab", "propertyId": "0192f0c1-2345-7abc-8def-0123456789ad",
        "propertyName": "Casa Azul 2-1", "guestName": "Ada Lovelace", "checkIn": "2026-12-11", "status": "changes_requested",
        "submittedAt": "2026-11-21T09:30:00.000Z", "decidedAt": "2026-11-21T10:05:00.000Z", "decidedBy": "Front desk",
        "message": "Please tell us the number plate of your car.",
    })
}

fn detailed_example() -> Value {
    let mut example = example();
    example["steps"] = json!([{
        "id": "0192f0c1-2345-7abc-8def-0123456789ac", "stepType": "additional_questions", "title": "Your arrival",
        "isShown": true, "isComplete": true, "isOpen": true,
        "answers": [{
            "questionId": "0192f0c1-2345-7abc-8def-0123456789ae", "question": "How will you arrive?", "kind": "single_select",
            "options": [{ "id": "0192f0c1-2345-7abc-8def-0123456789af", "name": "By car" }], "text": null,
        }],
    }, {
        "id": "0192f0c1-2345-7abc-8def-0123456789b0", "stepType": "identity_check", "title": "Verify your identity",
        "isShown": true, "isComplete": false, "isOpen": true, "answers": null,
        "progress": { "status": "action_required", "message": "Please take the photo again.", "amountCents": null, "currency": null },
    }]);
    example
}
