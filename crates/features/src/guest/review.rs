//! The operations with which staff review submitted pre-check-ins: the list, the answers and the
//! decision (rules: submissions#reviews).

use std::collections::{BTreeSet, HashMap};

use engine::access::{Permission, PropertyScope};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::{Language, Note2000};
use engine::moment::Moment;
use engine::operation::{
    ById, CacheBasis, Findings, Listing, Needs, Object, Operation, OperationName, Page, PageLimits,
};
use engine::values;
use http::Method;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Row;
use uuid::Uuid;

use super::acceptance::AcceptanceView;
use super::audited;
use super::decision::{Decision, StoredSubmission};
use super::files::{AddressedFile, with_addresses};
use super::flags::{FlagView, StoredFlag};
use super::openness::StayStage;
use super::precheckin::{Precheckin, PrecheckinStatus};
use super::progress::{Progress, ProgressStatus};
use super::setup;
use super::stay::Stay;
use super::step_of_stay::StepOfStay;
use super::step_view::{OptionView, QuestionView, linked_texts};
use super::stored_answers::{self, StoredAnswers};
use super::submission::former_steps;
use super::surveys;
use crate::precheck::{self, QuestionKind, Step, StepState, StepType};
use crate::records::{Guest, RecordKind, Reservation, record_as, record_names, records_as};
use crate::translations::{self, ENGLISH};

/// Lists the submissions of guests.
pub const LIST_PRECHECKIN_SUBMISSIONS: OperationName<Vec<PrecheckinSubmission>> =
    OperationName::new("listPrecheckinSubmissions");
/// Reads the submission of a reservation's guest.
pub const GET_PRECHECKIN_SUBMISSION: OperationName<ReviewedSubmission> =
    OperationName::new("getPrecheckinSubmission");

/// Selects the submissions of one page. `$of` is the query for the reservation ids of that page.
macro_rules! page {
    ($of:literal) => {
        concat!(
            "select p.reservation_id, p.status, p.submitted_at, p.doc from (",
            $of,
            ") as page
            join precheckin p on p.organization_id = ?1 and p.reservation_id = page.reservation_id
            order by p.submitted_at, p.reservation_id"
        )
    };
}

store::statements! {
    /// Counts all submissions.
    COUNT = "select count(*) from precheckin where organization_id = ?1";
    /// Selects a page of submissions, the longest waiting first. The inner query of this statement
    /// and of the statements below reads only an index.
    PAGE = page!("select reservation_id from precheckin where organization_id = ?1
        order by submitted_at, reservation_id limit ?2 offset ?3");
    /// Counts the submissions with a status.
    COUNT_WITH_STATUS = "select count(*) from precheckin where organization_id = ?1 and status = \
        ?2";
    /// Selects a page of the submissions with a status.
    PAGE_WITH_STATUS = page!("select reservation_id from precheckin where organization_id = ?1
        and status = ?2
            order by submitted_at, reservation_id limit ?3 offset ?4");
    /// Counts the submissions of stays in the properties `?2`.
    COUNT_IN_PROPERTIES = "select count(*) from precheckin where organization_id = ?1
        and property_id = any(?2) and (?3 or status = ?4)";
    /// Selects a page of the submissions of stays in the properties `?2`. The inner query is
    /// materialized, and its result is sorted afterwards. Otherwise SQLite would read all
    /// submissions of the organization in the order of `submitted_at`.
    PAGE_IN_PROPERTIES = page!("with found as materialized
        (select reservation_id, submitted_at from precheckin
                where organization_id = ?1 and property_id = any(?2) and (?3 or status = ?4))
            select reservation_id from found order by submitted_at, reservation_id
            limit ?5 offset ?6");
    /// Stores the status of a submission and the decision on it.
    DECIDE = "update precheckin set status = ?3, doc = ?4 where organization_id = ?1
        and reservation_id = ?2";
    /// Copies the current property of the given reservations to their submissions.
    FOLLOW = "update precheckin set property_id = (select r.property_id from record r
            where r.organization_id = ?1 and r.kind = 'reservation'
            and r.id = precheckin.reservation_id)
        where organization_id = ?1 and reservation_id = any(?2)";
}

/// Filters for submissions; all must match.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListSubmissions {
    /// Status: `in_review` waits for staff, `changes_requested` waits for the guest, `approved` is
    /// done. Left out: all.
    #[serde(default)]
    #[schemars(schema_with = "submitted_status")]
    status: Option<PrecheckinStatus>,
    /// Property of the stays. An unknown id finds nothing.
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
    /// Message that the guest reads unchanged, on what to change: 1 to 2000 characters, not blank.
    message: Note2000,
    /// Ids of the steps that the guest must change, each once; all other steps stay as they are. A
    /// step that the guest does not get is a 404.
    #[schemars(length(min = 1, max = 200))]
    step_ids: Vec<Uuid>,
}

/// The step ids of a request for changes. The service parses a request into this type, which has no
/// other field, so it checks the ids even if other fields are invalid.
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

/// A guest's pre-check-in and its review status.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct PrecheckinSubmission {
    pub reservation_id: Uuid,
    pub property_id: Option<Uuid>,
    pub property_name: Option<String>,
    /// Given and family name, as far as known.
    pub guest_name: Option<String>,
    #[schemars(with = "String")]
    pub check_in: Date,
    pub status: PrecheckinStatus,
    /// Last submission time.
    pub submitted_at: Option<Moment>,
    /// Time of the staff's decision on the last submission. Null before the decision, and if the
    /// submission was approved without review.
    pub decided_at: Option<Moment>,
    /// Name of the member or API key that decided.
    pub decided_by: Option<String>,
    /// Message of the last request for changes.
    pub message: Option<String>,
    /// Ids of shown steps that are open to the guest again since the last submission, in the order
    /// in which guests get steps: incomplete steps, steps that the guest has saved since, and steps
    /// that staff asked the guest to change. Empty before the first submission and from the
    /// check-in time on.
    pub open_steps: Vec<Uuid>,
}

/// A guest's pre-check-in, with the answers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = detailed_example())]
pub struct ReviewedSubmission {
    #[serde(flatten)]
    pub item: PrecheckinSubmission,
    /// The guest's steps, in order, then answered steps that are no longer shown.
    pub steps: Vec<ReviewedStep>,
    /// Reasons to look at the submission: those of the last submission, and those that other
    /// systems reported.
    pub flags: Vec<FlagView>,
}

/// A step with the guest's answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedStep {
    pub id: Uuid,
    pub step_type: StepType,
    /// Title for the guest, in the requested language.
    pub title: String,
    /// Whether the guest gets the step now.
    pub is_shown: bool,
    /// State of the step.
    pub state: StepState,
    /// Whether the step is complete.
    pub is_complete: bool,
    /// Whether the guest may save the step now.
    pub is_open: bool,
    /// The guest's answers; null if nothing is saved.
    pub answers: Option<GivenAnswers>,
    /// The accepted text and its recorded proof, for an accepted agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceView>,
    /// Files that the guest uploaded in a document upload or an identity check, each with a
    /// download URL that is valid for 10 minutes. Absent for other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<AddressedFile>>,
    /// Progress that another system reported, if that system carries the step out and has sent a
    /// report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ReviewedProgress>,
}

/// Progress of a step that another system carries out. It does not contain the link for the guest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedProgress {
    pub status: ProgressStatus,
    /// Message to the guest.
    pub message: Option<String>,
    /// Amount of money, in cents, that the other system reported together with the status.
    pub amount_cents: Option<u64>,
    /// ISO 4217 code of the amount's currency.
    pub currency: Option<String>,
}

/// A guest's answers in a step.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GivenAnswers {
    /// Answers to the questions that are shown, in order.
    Questions(Vec<ReviewedQuestion>),
    /// Saved answers to any other step.
    Fields(Object),
}

/// A shown question with the guest's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedQuestion {
    pub question_id: Uuid,
    /// Question text, in the requested language.
    pub question: Option<String>,
    pub kind: QuestionKind,
    /// Chosen options.
    pub options: Vec<OptionView>,
    /// Written answer.
    pub text: Option<String>,
}

impl PrecheckinSubmission {
    fn new(
        id: Uuid,
        stay: &Reservation,
        property_name: Option<String>,
        status: PrecheckinStatus,
        submitted: Option<StoredSubmission>,
        open_steps: Vec<Uuid>,
    ) -> Self {
        let (submitted_at, decision) = submitted
            .map(|submitted| (submitted.at, submitted.decision))
            .unzip();
        let Decision {
            decided_at,
            decided_by,
            message,
            ..
        } = decision.unwrap_or_default();
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
            open_steps,
        }
    }

    /// Builds the list item of a submission from a loaded stay.
    fn of(stay: &Stay, precheckin: &Precheckin) -> Self {
        let property_name = stay.flat.as_ref().map(|flat| flat.property.name.clone());
        Self::new(
            stay.id,
            &stay.reservation,
            property_name,
            precheckin.status(),
            precheckin.submitted.clone(),
            precheckin.open_steps(),
        )
    }
}

/// Whether the guest gets a step, and whether the guest may save the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReviewPosition {
    /// The guest gets the step and may save it.
    Open,
    /// The guest gets the step, but may not save it.
    Closed,
    /// The guest no longer gets the step.
    Earlier,
}

impl ReviewedStep {
    fn new(
        context: &Context<'_, '_>,
        stay_step: &StepOfStay,
        position: ReviewPosition,
        texts: &translations::Texts,
        language: &str,
    ) -> Result<Self> {
        let files = stay_step
            .step
            .step_type
            .takes_files()
            .then(|| with_addresses(context, &stay_step.stored.files))
            .transpose()?;
        let questions = stay_step.questions(texts, language);
        let answers = stay_step.answers().map(|answers| match questions {
            Some(questions) => {
                GivenAnswers::Questions(questions.into_iter().map(ReviewedQuestion::from).collect())
            }
            None => GivenAnswers::Fields(answers.clone()),
        });
        let state = stay_step.state();
        Ok(Self {
            id: stay_step.step.id,
            step_type: stay_step.step.step_type,
            title: stay_step.title(texts, language),
            is_shown: position != ReviewPosition::Earlier,
            state,
            is_complete: state == StepState::Done,
            is_open: position == ReviewPosition::Open,
            answers,
            acceptance: stay_step.acceptance(),
            files,
            progress: stay_step.progress().cloned().map(ReviewedProgress::from),
        })
    }
}

impl From<Progress> for ReviewedProgress {
    fn from(
        Progress {
            status,
            message,
            amount_cents,
            currency,
            ..
        }: Progress,
    ) -> Self {
        Self {
            status,
            message,
            amount_cents,
            currency,
        }
    }
}

impl From<QuestionView> for ReviewedQuestion {
    fn from(view: QuestionView) -> Self {
        let QuestionView {
            id,
            kind,
            text,
            mut options,
            answer,
            ..
        } = view;
        let answer = answer.unwrap_or_default();
        let chosen = answer["optionIds"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        options.retain(|option| chosen.contains(&json!(option.id)));
        Self {
            question_id: id,
            question: text,
            kind,
            options,
            text: answer["text"].as_str().map(str::to_owned),
        }
    }
}

/// Joins the first and the last name of a guest; `None` if both are missing.
fn full_name(guest: &Guest) -> Option<String> {
    let names = [&guest.first_name, &guest.last_name]
        .into_iter()
        .flatten()
        .map(|name| engine::typed::trim(name))
        .filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(" "))
}

pub(super) fn operations() -> Vec<Operation> {
    let reads = Needs::Permission(Permission::ViewReservations);
    let decides = Needs::Permissions(&[Permission::ViewReservations, Permission::ModifyProperties]);
    vec![
        Operation::public(
            LIST_PRECHECKIN_SUBMISSIONS.id(),
            Method::GET,
            "/precheckin-submissions",
            reads,
        )
        .summary(
            "List what guests handed in before arrival within the caller's reach, the longest \
                waiting first; by status or property if wanted",
        )
        .tool(
            "reservations",
            "List submitted pre-check-ins",
            "What guests handed in before arrival, the longest waiting first: guest, property, \
                status. Filter with `status`: \"in_review\" for what staff has to decide.",
        )
        .cached(CacheBasis::Everything)
        .pages_as(
            LIST_PRECHECKIN_SUBMISSIONS,
            PageLimits {
                default: 50,
                max: 100,
            },
            list,
        ),
        Operation::public(
            GET_PRECHECKIN_SUBMISSION.id(),
            Method::GET,
            "/reservations/{id}/precheckin",
            reads,
        )
        .summary("Read what a reservation's guest handed in before arrival, answers and all")
        .tool(
            "reservations",
            "Read a pre-check-in",
            "What one guest handed in: the steps with answers in words, files, flags (reasons to \
                look at it), status, `openSteps` (open to the guest again). Read it before \
                `approvePrecheckin` or `requestPrecheckinChanges`.",
        )
        .not_for_tools(&["language"])
        .run_as(GET_PRECHECKIN_SUBMISSION, read),
        Operation::public(
            "approvePrecheckin",
            Method::POST,
            "/reservations/{id}/precheckin/approve",
            decides,
        )
        .summary("Approve what a guest handed in and is in review")
        .tool(
            "reservations",
            "Approve a pre-check-in",
            "Approves what a guest handed in; only while it is in review (409 otherwise). To send \
                it back use `requestPrecheckinChanges`.",
        )
        .idempotent()
        .touches_stream()
        .audited(Audits::changes(audited::submission))
        .run(approve),
        Operation::public(
            "requestPrecheckinChanges",
            Method::POST,
            "/reservations/{id}/precheckin/request-changes",
            decides,
        )
        .summary(
            "Send some steps of what is in review, or approved before the check-in time, back to \
                the guest, with a message",
        )
        .tool(
            "reservations",
            "Ask a guest for changes",
            "Opens steps of a pre-check-in to the guest again, with a message the guest reads; the \
                other steps stay done. Possible in review, and for an approved one until the \
                check-in time. Step ids are in `getPrecheckinSubmission`.",
        )
        .idempotent()
        .touches_stream()
        .rules(|input: NamedSteps, _| Findings::sent(input.issue()))
        .audited(Audits::changes(audited::submission).recording(&["stepIds"]))
        .run(request_changes),
    ]
}

fn list(
    context: &mut Context<'_, '_>,
    input: ListSubmissions,
    page: Page,
) -> Result<Listing<PrecheckinSubmission>> {
    let Page { limit, offset } = page;
    let status = input.status.as_ref().map(AsRef::as_ref);
    let properties = match (context.property_scope(), input.property_id) {
        (PropertyScope::Everything, None) => None,
        (PropertyScope::Properties(ids), None) => Some(ids.iter().copied().collect()),
        (property_scope, Some(property)) => Some(if property_scope.covers(property) {
            vec![property]
        } else {
            Vec::new()
        }),
    };
    let (total, rows) = match (properties, status) {
        (None, None) => (
            context.row(&COUNT, values![])?,
            context.rows(&PAGE, values![limit, offset])?,
        ),
        (None, Some(status)) => (
            context.row(&COUNT_WITH_STATUS, values![status])?,
            context.rows(&PAGE_WITH_STATUS, values![status, limit, offset])?,
        ),
        (Some(properties), status) => {
            let (any, status) = (status.is_none(), status.unwrap_or_default());
            let total = context.row(
                &COUNT_IN_PROPERTIES,
                values![properties.clone(), any, status],
            )?;
            (
                total,
                context.rows(
                    &PAGE_IN_PROPERTIES,
                    values![properties, any, status, limit, offset],
                )?,
            )
        }
    };
    Ok(Listing {
        items: items(context, &rows)?,
        total: total.map_or(Ok(0), |row| row.get(0))?,
    })
}

/// Builds the items of a page from the columns of [`PAGE`].
fn items(context: &mut Context<'_, '_>, rows: &[Row]) -> Result<Vec<PrecheckinSubmission>> {
    let submissions = rows
        .iter()
        .map(|row| Ok((row.get(0)?, StoredSubmission::from_row(row, 1)?)))
        .collect::<Result<Vec<(Uuid, StoredSubmission)>>>()?;
    let ids = submissions.iter().map(|(id, _)| *id).collect();
    let stays: HashMap<Uuid, Reservation> = records_as(context, RecordKind::Reservation, ids)?;
    let mut open = open_steps_of(context, &submissions, &stays)?;
    let properties: BTreeSet<Uuid> = stays.values().filter_map(|stay| stay.property_id).collect();
    let names: HashMap<Uuid, Option<String>> = record_names(
        context,
        RecordKind::Property,
        properties.into_iter().collect(),
    )?
    .into_iter()
    .collect();
    let item = |(id, submitted): (Uuid, StoredSubmission)| {
        let stay = stays
            .get(&id)
            .ok_or_else(|| Error::internal("the reservation of a submission does not exist"))?;
        let name = stay
            .property_id
            .and_then(|id| names.get(&id).cloned().flatten());
        Ok(PrecheckinSubmission::new(
            id,
            stay,
            name,
            submitted.status,
            Some(submitted),
            open.remove(&id).unwrap_or_default(),
        ))
    };
    submissions.into_iter().map(item).collect()
}

/// Returns the ids of the open steps of several stays, by stay. Skips stays whose check-in date is
/// before yesterday in UTC, because from the check-in time on no step is open.
fn open_steps_of(
    context: &mut Context<'_, '_>,
    submissions: &[(Uuid, StoredSubmission)],
    stays: &HashMap<Uuid, Reservation>,
) -> Result<HashMap<Uuid, Vec<Uuid>>> {
    let yesterday = context.now().to_zoned(TimeZone::UTC).date();
    let yesterday = yesterday.saturating_sub(1.day());
    let recent: Vec<(Uuid, &StoredSubmission, &Reservation)> = submissions
        .iter()
        .filter_map(|(id, submitted)| Some((*id, submitted, stays.get(id)?)))
        .filter(|(.., stay)| stay.check_in >= yesterday)
        .collect();
    let ids = recent.iter().map(|(id, ..)| *id).collect();
    let mut answers_by_stay = stored_answers::load_answers_of_stays(context, ids)?;
    let mut open = HashMap::new();
    for (id, submitted, reservation) in recent {
        let (stay, setup) = setup::load_setup_for(context, id, reservation.clone(), Some(ENGLISH))?;
        let answers_by_step = answers_by_stay.remove(&id).unwrap_or_default();
        let precheckin =
            Precheckin::of_list(context, &stay, &setup, answers_by_step, submitted.clone())?;
        context.limit_validity(surveys::next_view_change(&stay, context.now()));
        open.insert(id, precheckin.open_steps());
    }
    Ok(open)
}

/// Fails with 404 for a missing reservation, and for a reservation of a property that the caller
/// may not access.
fn check_within_scope(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    let property_scope = context.property_scope();
    let stay: Option<Reservation> = record_as(context, RecordKind::Reservation, id)?;
    let is_in_scope = |stay: &Reservation| {
        !property_scope.is_limited() || stay.property_id.is_some_and(|id| property_scope.covers(id))
    };
    stay.filter(is_in_scope)
        .map(drop)
        .ok_or_else(|| Error::not_found(&RecordKind::Reservation.label()))
}

fn read(context: &mut Context<'_, '_>, input: ReadSubmission) -> Result<ReviewedSubmission> {
    check_within_scope(context, input.id)?;
    let language = input.language.as_deref().unwrap_or(ENGLISH);
    let (stay, setup) = setup::load_with_setup(context, input.id, Some(language))?;
    let precheckin = Precheckin::load_for(context, &stay, &setup)?;
    let item = PrecheckinSubmission::of(&stay, &precheckin);
    let flags = precheckin.flags();
    let positions: Vec<ReviewPosition> = precheckin
        .steps
        .iter()
        .map(|stay_step| {
            if precheckin.is_open(stay_step) {
                ReviewPosition::Open
            } else {
                ReviewPosition::Closed
            }
        })
        .collect();
    let Precheckin { steps, earlier, .. } = precheckin;
    let earlier = earlier_within_scope(context, &stay, &steps, earlier)?;
    let texts = translations::texts(
        context,
        earlier
            .iter()
            .flat_map(|stay_step| linked_texts(&stay_step.step)),
        &setup.language,
    )?;
    let flag = |flag: StoredFlag| {
        let is_its_step = |stay_step: &&StepOfStay| stay_step.step.id == flag.step_id;
        let current = steps.iter().find(is_its_step);
        let current = current.map(|stay_step| (stay_step, &setup.texts));
        let earlier_step = || {
            earlier
                .iter()
                .find(is_its_step)
                .map(|stay_step| (stay_step, &texts))
        };
        let questions = current
            .or_else(earlier_step)
            .and_then(|(stay_step, texts)| stay_step.questions(texts, &setup.language));
        flag.view(&questions.unwrap_or_default())
    };
    let flags = flags.into_iter().map(flag).collect();
    let current = steps.iter().zip(positions).map(|(stay_step, position)| {
        ReviewedStep::new(context, stay_step, position, &setup.texts, &setup.language)
    });
    let earlier = earlier.iter().map(|stay_step| {
        ReviewedStep::new(
            context,
            stay_step,
            ReviewPosition::Earlier,
            &texts,
            &setup.language,
        )
    });
    let steps = current.chain(earlier).collect::<Result<_>>()?;
    Ok(ReviewedSubmission { item, steps, flags })
}

/// Returns the answered steps that the stay no longer gets, without those that the caller cannot
/// access.
fn earlier_within_scope(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    current_steps: &[StepOfStay],
    answers: HashMap<Uuid, StoredAnswers>,
) -> Result<Vec<StepOfStay>> {
    let mut earlier = former_steps(context, stay, current_steps, answers)?;
    let steps: Vec<Step> = earlier
        .iter()
        .map(|stay_step| Step::clone(&stay_step.step))
        .collect();
    let visible = precheck::visible_ids(context, &steps)?;
    earlier.retain(|stay_step| visible.contains(&stay_step.step.id));
    Ok(earlier)
}

fn approve(context: &mut Context<'_, '_>, input: ById) -> Result<PrecheckinSubmission> {
    check_within_scope(context, input.id)?;
    let (stay, setup) = setup::load_with_setup(context, input.id, Some(ENGLISH))?;
    let precheckin = Precheckin::load_for(context, &stay, &setup)?;
    let submitted = precheckin.submitted.as_ref();
    StoredSubmission::require_in_review(submitted)?;
    let decision = Decision {
        message: submitted.and_then(|submitted| submitted.decision.message.clone()),
        ..Decision::default()
    };
    decide(
        context,
        &stay,
        precheckin,
        PrecheckinStatus::Approved,
        decision,
    )
}

fn request_changes(
    context: &mut Context<'_, '_>,
    input: RequestChanges,
) -> Result<PrecheckinSubmission> {
    check_within_scope(context, input.id)?;
    let (stay, setup) = setup::load_with_setup(context, input.id, Some(ENGLISH))?;
    let precheckin = Precheckin::load_for(context, &stay, &setup)?;
    let steps = precheckin.steps.iter();
    let current_steps: BTreeSet<Uuid> = steps.map(|stay_step| stay_step.step.id).collect();
    if !input.step_ids.iter().all(|id| current_steps.contains(id)) {
        return Err(Error::not_found("Step"));
    }
    let stage = StayStage::of(&stay, context.now());
    StoredSubmission::require_changeable(precheckin.submitted.as_ref(), stage)?;
    let decision = Decision {
        message: Some(input.message.0),
        requested_step_ids: input.step_ids,
        ..Decision::default()
    };
    decide(
        context,
        &stay,
        precheckin,
        PrecheckinStatus::ChangesRequested,
        decision,
    )
}

/// Stores the caller's decision on a submission, with the current time.
fn decide(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    mut precheckin: Precheckin,
    status: PrecheckinStatus,
    decision: Decision,
) -> Result<PrecheckinSubmission> {
    let submitted = precheckin.submitted.take();
    let flags = submitted
        .as_ref()
        .map(|submitted| submitted.decision.flags.clone())
        .unwrap_or_default();
    let decision = Decision {
        decided_at: Some(Moment(context.now())),
        decided_by: context.access.name.as_deref().map(str::to_owned),
        flags,
        ..decision
    };
    put_decision(context, stay.id, status, &decision)?;
    precheckin.submitted = submitted.map(|submitted| StoredSubmission {
        status,
        decision,
        ..submitted
    });
    Ok(PrecheckinSubmission::of(stay, &precheckin))
}

/// Writes the status of a submission and the decision on it.
pub(super) fn put_decision(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    status: PrecheckinStatus,
    decision: &Decision,
) -> Result<()> {
    let doc = store::Value::json(decision)?;
    context.execute_deferred(&DECIDE, values![reservation, status.as_ref(), doc])
}

/// Copies the current property of these reservations to their submissions.
pub(super) fn follow_reservations(
    context: &mut Context<'_, '_>,
    reservations: &[Uuid],
) -> Result<()> {
    context.execute_deferred(&FOLLOW, values![reservations])
}

fn example() -> Value {
    json!({
        "reservationId": "0192f0c1-2345-7abc-8def-0123456789ab",
        "propertyId": "0192f0c1-2345-7abc-8def-0123456789ad",
        "propertyName": "Casa Azul 2-1",
        "guestName": "Ada Lovelace",
        "checkIn": "2026-12-11",
        "status": "changes_requested",
        "submittedAt": "2026-11-21T09:30:00.000Z",
        "decidedAt": "2026-11-21T10:05:00.000Z",
        "decidedBy": "Front desk",
        "message": "Please tell us the number plate of your car.",
        "openSteps": ["0192f0c1-2345-7abc-8def-0123456789ac"],
    })
}

fn detailed_example() -> Value {
    let mut example = example();
    example["steps"] = json!([
        {
            "id": "0192f0c1-2345-7abc-8def-0123456789ac",
            "stepType": "additional_questions",
            "title": "Your arrival",
            "isShown": true,
            "state": "done",
            "isComplete": true,
            "isOpen": true,
            "answers": [
                {
                    "questionId": "0192f0c1-2345-7abc-8def-0123456789ae",
                    "question": "How will you arrive?",
                    "kind": "single_select",
                    "options": [{ "id": "0192f0c1-2345-7abc-8def-0123456789af", "name": "By car" }],
                    "text": null,
                },
            ],
        },
        {
            "id": "0192f0c1-2345-7abc-8def-0123456789b0",
            "stepType": "identity_check",
            "title": "Verify your identity",
            "isShown": true,
            "state": "action_required",
            "isComplete": false,
            "isOpen": true,
            "answers": null,
            "progress": {
                "status": "action_required",
                "message": "Please take the photo again.",
                "amountCents": null,
                "currency": null,
            },
        },
    ]);
    example["flags"] = json!([
        {
            "stepId": "0192f0c1-2345-7abc-8def-0123456789ac",
            "kind": "answer",
            "key": "0192f0c1-2345-7abc-8def-0123456789ae",
            "message": "“How will you arrive?”: By car",
        },
    ]);
    example
}
