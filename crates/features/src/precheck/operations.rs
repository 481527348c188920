//! The operations that read, create and change one step.

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::field::{Create, Field, Update};
use engine::moment::Moment;
use engine::operation::{ById, CacheBasis, Findings, Needs, Object, Operation};
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use super::audited;
use super::fields::{self, RequestedRuleFields, Title, missing_configuration};
use super::guest_fields::{GuestFieldRule, GuestFieldRules};
use super::question::{
    self, Condition, LinkedText, Question, QuestionInput, QuestionKind, QuestionOption, YesNo,
};
use super::step::{Agreement, Core, Step, StepFields};
use super::step_answers::{self, WrittenStep};
use super::step_type::{CostKind, StepType};
use super::{records, visible};
use crate::records::{Record, RecordKind, first_missing, list_all, record_as};
use crate::translations::{
    self, CheckedText, ENGLISH, OtherLanguages, SourceTable, TextLink, TextWriter,
};

/// The error message and the error key for a step whose first heading is sent in another language
/// than English. Clients rely on this text.
const ENGLISH_REQUIRED: &str = "precheck_step.display_title_english_required";
/// The error message for a change of the type after a guest has saved an answer to the step.
/// Clients rely on this text.
const TYPE_LOCKED: &str = "PRECHECK_STEP_TYPE_LOCKED";
/// The error key for a step that cannot be active, because it lacks the configuration that its type
/// needs.
const CONFIGURATION_REQUIRED: &str = "precheck_step.configuration_required";

/// The response of `getPrecheckStep`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PrecheckStepDetail", example = example())]
struct StepDetail {
    #[serde(flatten)]
    core: Core,
    /// The heading in English; null means the built-in title of the type.
    display_title: Option<String>,
    /// The questions, in order.
    questions: Vec<Question>,
    /// The organization's damage waivers; empty unless the step offers damage waivers.
    #[schemars(schema_with = "step_answers::damage_waivers")]
    damage_waivers: Vec<Record>,
}

/// An example with two questions. The second question is asked only if the guest answers the first
/// with yes.
fn example() -> StepDetail {
    let mut step = step_answers::example();
    step.step_type = StepType::AdditionalQuestions;
    step.nickname = "Arrival".into();
    step.agreement = Agreement::default();
    let mut last = step.id.as_u128();
    let mut new_id = || {
        last += 1;
        Uuid::from_u128(last)
    };
    let text_ml_text_id = new_id();
    let [yes, no] = [YesNo::Yes, YesNo::No].map(|answer| QuestionOption {
        id: new_id(),
        name_ml_text_id: None,
        answer: Some(answer),
        is_flagged: false,
    });
    let conditions = vec![Condition { option_id: yes.id }];
    let mut ask = |kind, options, conditions| Question {
        id: new_id(),
        kind,
        text_ml_text_id,
        is_required: true,
        options,
        conditions,
    };
    let questions = vec![
        ask(QuestionKind::YesNo, vec![yes, no], Vec::new()),
        ask(QuestionKind::FreeFormInput, Vec::new(), conditions),
    ];
    StepDetail {
        core: Core::from(&step),
        display_title: Some("When do you arrive?".into()),
        questions,
        damage_waivers: Vec::new(),
    }
}

/// The details that a step asks of guests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PrecheckStepGuestFields", example = example_of_fields())]
struct StepGuestFields {
    /// Names of the details that guests must give, such as `birthDate`; null if the step names
    /// none.
    required_guest_fields: Option<Vec<String>>,
    /// For each detail, by name: which guests must give it. Null if the step has no such rules.
    guest_field_rules: Option<GuestFieldRules>,
}

fn example_of_fields() -> StepGuestFields {
    let name = "documentNumber".to_owned();
    let rule = GuestFieldRule {
        minimum_age: Some(14),
        ..GuestFieldRule::default()
    };
    StepGuestFields {
        required_guest_fields: Some(vec!["firstName".to_owned(), name.clone()]),
        guest_field_rules: Some(GuestFieldRules([(name, rule)].into())),
    }
}

/// Field names that clients often send with a text, although questions and options have no fields
/// of these names. A question or an option links its text by id. Each name has an error message.
const MISNOMERS: [(&str, &str); 4] = [
    ("questions.text", TEXT_OF_QUESTION),
    ("questions.title", TEXT_OF_QUESTION),
    ("questions.options.text", NAME_OF_OPTION),
    ("questions.options.name", NAME_OF_OPTION),
];
const TEXT_OF_QUESTION: &str = "is not a field of a question: create the text with \
    createTranslation (sourceTable precheck_question) and send its id as textMlTextId";
const NAME_OF_OPTION: &str = "is not a field of an option: create the text with createTranslation \
    (sourceTable precheck_question) and send its id as nameMlTextId";

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyProperties, ViewProperties};
    vec![
        Operation::public(
            "getPrecheckStep",
            Method::GET,
            "/precheck-steps/{id}",
            Needs::Permission(ViewProperties),
        )
        .summary("Read a step with its questions")
        .tool(
            "steps",
            "Read a step",
            "One pre-check-in step with all its settings and its questions (ids of questions and \
                options). Use `listPrecheckSteps` or `search` to find its id, `listEntityScopes` \
                for what it is assigned to.",
        )
        .cached(CacheBasis::Configuration)
        .run(get),
        Operation::public(
            "getPrecheckStepGuestFields",
            Method::GET,
            "/precheck-steps/{id}/guest-fields",
            Needs::Permission(ModifyProperties),
        )
        .summary("Read the details that a step asks of guests, for those who may change them")
        .rest_only()
        .cached(CacheBasis::Configuration)
        .run(get_guest_fields),
        Operation::public(
            "createPrecheckStep",
            Method::POST,
            "/precheck-steps",
            Needs::Permission(ModifyProperties),
        )
        .summary("Create a step; it is assigned to nothing yet")
        .tool(
            "steps",
            "Create a step",
            "Creates something guests must do before arrival (sign an agreement, answer questions, \
                pay a deposit …). It reaches no guest until `isActive` is true and \
                `addEntityScopes` assigns it. Example: {\"stepType\": \"damage_deposit\", \
                \"nickname\": \"Deposit\", \"isSecurityDepositEnabled\": true, \
                \"securityDepositAmountCents\": 20000}",
        )
        .creates()
        .field_hints(&MISNOMERS)
        .rules(|input: Create<StepFields>, wrong| rules(input.0, wrong, RequestShape::CREATE))
        .audited(
            Audits::makes("precheck_step", "nickname").recording(&["displayTitle", "questions"]),
        )
        .run(create),
        Operation::public(
            "updatePrecheckStep",
            Method::PATCH,
            "/precheck-steps/{id}",
            Needs::Permission(ModifyProperties),
        )
        .summary("Change fields of a step")
        .tool(
            "steps",
            "Change a step",
            "Changes fields of a step; returns it. Lists such as `questions` are replaced whole: \
                read them with `getPrecheckStep` first. Example: {\"id\": \"…\", \"data\": \
                {\"isActive\": true}}",
        )
        .field_hints(&MISNOMERS)
        .rules(|input: Update<StepFields>, wrong| rules(input.data, wrong, RequestShape::UPDATE))
        .audited(Audits::changes(audited::step))
        .run(update),
    ]
}

fn get(context: &mut Context<'_, '_>, input: ById) -> Result<StepDetail> {
    let (step, _) = records::find(context, input.id)?.ok_or_else(not_found)?;
    visible::check(context, step.id)?;
    let texts = translations::texts(context, step.display_title_ml_text_id, ENGLISH)?;
    let offers_waiver =
        step.step_type.cost_kind() == CostKind::Deposit && step.charges.is_damage_waiver_enabled;
    let damage_waivers = if offers_waiver {
        list_all(context, RecordKind::DamageWaiver)?
    } else {
        Vec::new()
    };
    Ok(StepDetail {
        core: Core::from(&step),
        display_title: texts.of(step.display_title_ml_text_id),
        questions: step.questions,
        damage_waivers,
    })
}

fn get_guest_fields(context: &mut Context<'_, '_>, input: ById) -> Result<StepGuestFields> {
    let (step, _) = records::find(context, input.id)?.ok_or_else(not_found)?;
    visible::check(context, step.id)?;
    Ok(StepGuestFields {
        required_guest_fields: step.write_only.required_guest_fields,
        guest_field_rules: step.write_only.guest_field_rules,
    })
}

/// Checks the fields that a request contains. A new step is checked completely. For an update, this
/// function checks only the rules that need no stored data. The transaction checks all other rules.
fn rules(
    sent: StepFields,
    wrong: &[&str],
    RequestShape { is_create, base }: RequestShape,
) -> Findings {
    let questions = sent.questions.sent().map(Vec::as_slice).unwrap_or_default();
    let questions = question_issues(question::question_input_issues(questions, is_create), base);
    let title = if wrong.contains(&"displayTitle") {
        None
    } else {
        sent.title(is_create, base).err()
    };
    if !is_create {
        return Findings::merged(questions.into_iter().chain(title));
    }
    let sent_ends = sent.requested_rule_fields();
    let mut step = new_step(Uuid::nil(), &sent, Moment::default());
    sent.apply(&mut step);
    Findings {
        sent: questions,
        merged: fields::issues(&step, sent_ends, base)
            .into_iter()
            .chain(title)
            .collect(),
    }
}

/// Returns a new step with the id `id`, the type from the request, the creation time `now`, and
/// default values in all other fields. The JSON Schema of the request requires the type.
fn new_step(id: Uuid, fields: &StepFields, now: Moment) -> Step {
    Step::new(
        id,
        fields.step_type.sent().copied().unwrap_or(StepType::Main),
        String::new(),
        now,
    )
}

fn create(context: &mut Context<'_, '_>, input: Create<StepFields>) -> Result<WrittenStep> {
    let mut fields = input.0;
    // In a request for a new step, null in this field means the default of 3 days. Every other
    // field that can be null has null as its default.
    let release_days = &mut fields.security_deposit_release_days_after_checkout;
    if matches!(release_days.sent(), Some(None)) {
        *release_days = Field::default();
    }
    let before = new_step(context.new_id(), &fields, Moment(context.now()));
    let draft = StepDraft::new(context, fields, &before, RequestShape::CREATE)?;
    if draft.links_new_question_text {
        context.require(Permission::ModifyTasks)?;
    }
    let step = draft.finish(context)?;
    records::save(context, None, &step)?;
    Ok(WrittenStep::from(&step))
}

fn update(context: &mut Context<'_, '_>, input: Update<StepFields>) -> Result<WrittenStep> {
    let (before, is_used) = records::find(context, input.id)?.ok_or_else(not_found)?;
    let serves_others = visible::check(context, before.id)?;
    let mut draft = StepDraft::new(context, input.data, &before, RequestShape::UPDATE)?;
    let relinks = draft.step.linked_texts() != before.linked_texts();
    if draft.has_title || relinks || draft.links_new_question_text {
        context.require(Permission::ModifyTasks)?;
    }
    if serves_others && draft.step.fee_product_ids != before.fee_product_ids {
        return Err(Error::forbidden(Reason::rule(
            "fees_of_others",
            "The step also serves properties that you cannot reach, so you cannot change its fees.",
        )));
    }
    draft.check_title(context)?;
    if input
        .expected_updated_at
        .is_some_and(|expected| expected != before.updated_at)
    {
        return Err(Error::conflict(Reason::rule(
            "changed_since",
            "The step has changed since it was read.",
        )));
    }
    if is_used && draft.step.step_type != before.step_type {
        return Err(Error::conflict(Reason::rule("type_locked", TYPE_LOCKED)));
    }
    let changes_title = draft.changes_title();
    let mut step = draft.finish(context)?;
    if step != before || changes_title {
        step.updated_at = before.updated_at.advanced_to(context.now());
        records::save(context, Some(&before), &step)?;
    }
    Ok(WrittenStep::from(&step))
}

fn not_found() -> Error {
    Error::not_found("Pre-check step")
}

/// The difference between a request that creates a step and a request that changes one. `base` is
/// the path of the object that contains the step's fields. The path of a field in an error begins
/// with it.
#[derive(Clone, Copy)]
struct RequestShape {
    is_create: bool,
    base: &'static [&'static str],
}

impl RequestShape {
    const CREATE: Self = Self {
        is_create: true,
        base: &[],
    };
    const UPDATE: Self = Self {
        is_create: false,
        base: &["data"],
    };
}

/// The step that a request would create or change. All records and translations that it links
/// exist. The rules of steps are not checked yet.
struct StepDraft {
    step: Step,
    shape: RequestShape,
    title: Result<Title, Issue>,
    /// The new text of the heading, if the step already links a translation as its heading.
    writing: Option<CheckedText>,
    /// Whether the request contains `displayTitle`, even with the value null.
    has_title: bool,
    links_new_question_text: bool,
    questions: Option<Vec<QuestionInput>>,
    sent_ends: RequestedRuleFields,
    /// An issue for each link to a translation of the wrong kind.
    issues: Vec<Issue>,
}

impl StepDraft {
    /// Builds the step from `before` and the fields of the request, and creates the new texts of
    /// its questions. Fails with 404 if the request links an object that does not exist.
    fn new(
        context: &mut Context<'_, '_>,
        fields: StepFields,
        before: &Step,
        shape: RequestShape,
    ) -> Result<Self> {
        let title = fields.title(shape.is_create, shape.base);
        let has_title = fields.display_title.sent().is_some();
        let sent_ends = fields.requested_rule_fields();
        let mut questions = fields.questions.sent().cloned();
        question::create_texts(questions.as_deref_mut().unwrap_or_default(), |texts| {
            translations::create_in(context, SourceTable::PrecheckQuestion, texts)
        })?;
        // `patch` has only the fields that the request contains. So the checks below look only at
        // the records and texts to which the request refers.
        let mut patch = Step::new(
            before.id,
            before.step_type,
            String::new(),
            before.created_at,
        );
        fields.clone().apply(&mut patch);
        check_records(context, &patch)?;
        let linked = questions
            .as_deref()
            .map(|sent| question::linked_texts(sent, &before.questions))
            .unwrap_or_default();
        let links_new_question_text = linked.iter().any(|text| !text.is_kept);
        let mut issues =
            translations::wrong_links(context, &links(&patch, before, linked, shape.base))?;
        let contract = patch.write_only.contract_template_text.as_deref();
        issues.extend(
            translations::unknown_placeholder(context, contract)?
                .map(|fault| Issue::new(&[shape.base, &["contractTemplateText"]].concat(), fault)),
        );

        let mut step = before.clone();
        fields.apply_with_deprecated(&mut step);
        Ok(Self {
            step,
            shape,
            title,
            writing: None,
            has_title,
            links_new_question_text,
            questions,
            sent_ends,
            issues,
        })
    }

    /// Checks the new text of the heading if the step already links a translation. Other steps may
    /// link the same translation, so their rules are checked, too.
    fn check_title(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        if let (Ok(Title::Write { text, language }), Some(id)) =
            (&self.title, self.step.display_title_ml_text_id)
        {
            let path = [self.shape.base, &["displayTitle"]].concat();
            let writer = TextWriter {
                thing: Some(self.step.id),
                path: &path,
            };
            self.writing = Some(CheckedText::check_write(
                context,
                id,
                &title_language(language.as_deref()),
                text,
                writer,
            )?);
        }
        Ok(())
    }

    /// Returns whether the request changes the text of the heading and the step still links the
    /// same translation.
    fn changes_title(&self) -> bool {
        self.writing.as_ref().is_some_and(CheckedText::is_change)
    }

    /// Replaces the questions of the step, and checks the rules of steps. If the step breaks none,
    /// writes the text of its heading and returns the step. Otherwise fails with an issue for each
    /// broken rule.
    fn finish(mut self, context: &mut Context<'_, '_>) -> Result<Step> {
        let base = self.shape.base;
        let mut issues = std::mem::take(&mut self.issues);
        issues.extend(replace_questions(context, &mut self));
        issues.extend(fields::issues(&self.step, self.sent_ends, base));
        let mut needs_english = false;
        match &self.title {
            Err(issue) => issues.push(issue.clone()),
            Ok(Title::Write { language, text }) if self.step.display_title_ml_text_id.is_none() => {
                let fault = translations::unknown_placeholder(context, [text.as_str()])?;
                issues.extend(
                    fault.map(|fault| Issue::new(&[base, &["displayTitle"]].concat(), fault)),
                );
                if title_language(language.as_deref()) != ENGLISH {
                    needs_english = true;
                    issues.push(Issue::new(
                        &[base, &["displayTitleLanguage"]].concat(),
                        Reason::rule(
                            "title_in_english",
                            "must be en for the first title of a step",
                        ),
                    ));
                }
            }
            Ok(_) => {}
        }
        let missing = if self.step.is_active {
            missing_configuration(&self.step)
        } else {
            None
        };
        if let Some(field) = missing {
            issues.push(Issue::new(
                &[base, &[field]].concat(),
                Reason::rule(
                    "needed_by_active_step",
                    "is required for an active step of this type",
                ),
            ));
        }
        if !issues.is_empty() {
            let error = Error::issues(issues);
            return Err(match (needs_english, missing) {
                (true, _) => error
                    .with_message(ENGLISH_REQUIRED)
                    .with_key(ENGLISH_REQUIRED),
                (false, Some(_)) => error.with_key(CONFIGURATION_REQUIRED),
                (false, None) => error,
            });
        }
        let Self {
            mut step,
            title,
            writing,
            ..
        } = self;
        if let Ok(title) = title {
            write_title(context, &mut step, title, writing)?;
        }
        Ok(step)
    }
}

/// Returns the language under which a title is stored: English if no language or a variant of
/// English is given, otherwise the given language.
fn title_language(language: Option<&str>) -> String {
    let tag = language
        .and_then(engine::format::language)
        .unwrap_or_else(|| ENGLISH.into());
    if translations::is_english(&tag) {
        ENGLISH.into()
    } else {
        tag
    }
}

/// Writes the step's title (rules: steps#titles, 5). If the request names no language, the title is
/// English, and the other languages are translated from it again.
fn write_title(
    context: &mut Context<'_, '_>,
    step: &mut Step,
    title: Title,
    writing: Option<CheckedText>,
) -> Result<()> {
    match (title, writing) {
        (Title::Keep, _) => {}
        (Title::Clear, _) => step.display_title_ml_text_id = None,
        (Title::Link(id), _) => step.display_title_ml_text_id = Some(id),
        (Title::Write { language, .. }, Some(writing)) => {
            writing.write_checked(
                context,
                if language.is_some() {
                    OtherLanguages::Keep
                } else {
                    OtherLanguages::Renew
                },
            )?;
        }
        (Title::Write { text, .. }, None) => {
            step.display_title_ml_text_id = Some(translations::create(
                context,
                SourceTable::PrecheckStepDetail,
                ENGLISH,
                &text,
            )?);
        }
    }
    Ok(())
}

/// Returns 404 for an unknown or inactive payment account, and for an unknown fee product or
/// background-check account.
fn check_records(context: &mut Context<'_, '_>, step: &Step) -> Result<()> {
    for id in step.payment_accounts().into_iter().flatten() {
        let account = record_as::<Object>(context, RecordKind::PaymentAccount, id)?;
        if account.is_none_or(|account| account.get("isActive") != Some(&true.into())) {
            return Err(Error::not_found(&RecordKind::PaymentAccount.label()).of(id));
        }
    }
    let check = step.write_only.background_check_account_id;
    let products = step.fee_product_ids.iter().copied().collect();
    for (kind, ids) in [
        (RecordKind::FeeProduct, products),
        (
            RecordKind::BackgroundCheckAccount,
            check.into_iter().collect(),
        ),
    ] {
        if let Some(id) = first_missing(context, kind, &ids)? {
            return Err(Error::not_found(&kind.label()).of(id));
        }
    }
    Ok(())
}

/// Returns the links to translations that a request sends: those in the fields of the step, and
/// those in its questions (`of_questions`). `base` is the path of the step's fields in the body.
fn links(
    input: &Step,
    before: &Step,
    of_questions: Vec<LinkedText>,
    base: &[&str],
) -> Vec<TextLink<'static>> {
    let of_step = input
        .linked_texts()
        .into_iter()
        .zip(before.linked_texts())
        .filter_map(|((field, id), (_, before))| {
            let path = [base, &[field]]
                .concat()
                .into_iter()
                .map(PathSegment::from)
                .collect();
            Some(TextLink {
                path,
                id: id?,
                source: SourceTable::PrecheckStepDetail,
                field,
                is_stored: id == before,
            })
        });
    let of_questions = of_questions.into_iter().map(
        |LinkedText {
             path,
             field,
             id,
             is_kept,
         }| {
            let path = question_path(base, &path);
            TextLink {
                path,
                id,
                source: SourceTable::PrecheckQuestion,
                field,
                is_stored: is_kept,
            }
        },
    );
    of_step.chain(of_questions).collect()
}

/// Replaces the questions of the drafted step by the questions in the request, if the request
/// contains questions. If these have issues, returns the issues and replaces nothing.
fn replace_questions(context: &Context<'_, '_>, draft: &mut StepDraft) -> Vec<Issue> {
    let Some(inputs) = draft.questions.take() else {
        return Vec::new();
    };
    let base = draft.shape.base;
    match question::replace(&inputs, &draft.step.questions, || context.new_id()) {
        Ok(questions) => {
            draft.step.questions = questions;
            Vec::new()
        }
        Err(issues) => question_issues(issues, base),
    }
}

fn question_issues(issues: Vec<Issue>, base: &[&str]) -> Vec<Issue> {
    issues
        .into_iter()
        .map(|issue| Issue::at(question_path(base, &issue.path), issue.reason))
        .collect()
}

fn question_path(base: &[&str], path: &[PathSegment]) -> Vec<PathSegment> {
    base.iter()
        .copied()
        .chain(["questions"])
        .map(PathSegment::from)
        .chain(path.iter().cloned())
        .collect()
}
