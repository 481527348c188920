//! Steps, questions and agreements in the guest's view, and the ids of their texts.

use std::ops::Not;

use engine::moment::Moment;
use engine::operation::Object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::acceptance::AcceptanceView;
use super::charges::{self, DepositView};
use super::files::{FileView, GuestFile};
use super::progress::Progress;
use super::setup::GuestSetup;
use super::step_of_stay::StepOfStay;
use crate::precheck::{
    self, AnswerForm, Cost, Fee, FileUse, GuestFieldRules, GuestPart, Question, QuestionKind,
    QuestionOption, Step, StepState, StepType,
};
use crate::translations::{TextLanguages, Texts};
use crate::words::{in_language, step_title, yes_or_no};

/// A step as the guest sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Step id.
    pub id: Uuid,
    /// Step type.
    pub step_type: StepType,
    /// Title of the step; without one, the built-in title of the step's type.
    pub title: String,
    /// State of the step: `todo`, `done`, `pending` while another system's result is missing, or
    /// `action_required` where the guest must act again.
    pub state: StepState,
    /// Whether the step is done. If another system has reported on the step, the report decides;
    /// otherwise the guest's data decides.
    pub is_complete: bool,
    /// Whether the guest may save the step now: before the submission, and after it while the step
    /// is open again.
    pub is_open: bool,
    /// Description for guests; absent if the organization has not written one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For `agreement`, the text to agree to and its heading; absent for other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementView>,
    /// For `additional_questions`, the questions that the guest sees; absent for other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Vec<QuestionView>>,
    /// Saved answers; absent if nothing is saved. Absent for `additional_questions`, because
    /// `questions` has the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Object>,
    /// For `your_details` and `other_guests`, the fields that each guest must fill; absent for
    /// other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_fields: Option<Vec<String>>,
    /// For each required field that not every guest must fill: the guests who must fill it. Absent
    /// if there is no such field.
    #[serde(default, skip_serializing_if = "GuestFieldRules::is_empty")]
    pub guest_field_rules: GuestFieldRules,
    /// For `other_guests`, the number of guests besides the guest who booked; null if the
    /// reservation has no number of guests. Absent for other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_guests: Option<Option<u32>>,
    /// For `agreement`, whether the guest must sign: with their name, or at an e-signature provider
    /// if `isSignedElsewhere` is true. Absent for other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_signature_required: Option<bool>,
    /// Time of acceptance, for accepted agreements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Moment>,
    /// The accepted text and its proof; absent if the guest has accepted no agreement in this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceView>,
    /// True if the text of the agreement has changed since the guest accepted it. The guest must
    /// then accept it again. Absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_text_changed: bool,
    /// For `damage_deposit`, the choice between a deposit and waivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<DepositView>,
    /// For `mandatory_fee`, the fees to pay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fees: Option<Vec<Fee>>,
    /// For `mandatory_fee`, the sum of the fees. Null if the fees have several currencies, or if an
    /// amount is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cents: Option<Option<u64>>,
    /// Progress of the step, as another system that carries it out has reported; absent without a
    /// report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// For `document_upload` and `identity_check`, the files that the guest uploaded, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileView>>,
    /// For `document_upload` and `identity_check`, the types of documents that the guest must
    /// upload, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_document_types: Option<Vec<String>>,
    /// True for an identity check if the service cannot store files. The step is then complete once
    /// the guest saves it. Absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_upload_unavailable: bool,
    /// Whether the step is inactive, so that guests do not get it. Only previews have the field,
    /// and only if it is true.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// The text of an agreement, in the guest's language.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgreementView {
    /// Title of the signature; null without a title.
    pub title: Option<String>,
    /// Text below the title; null without such a text.
    pub subtitle: Option<String>,
    /// Text to agree to; null if only an e-signature provider has the text.
    pub text: Option<String>,
    /// Whether the guest signs at an e-signature provider instead of on this page.
    pub is_signed_elsewhere: bool,
}

/// A question as the guest sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// Question id.
    pub id: Uuid,
    /// Kind of the question, which decides the form of the answer.
    pub kind: QuestionKind,
    /// Question text.
    pub text: Option<String>,
    /// Whether the step is incomplete without an answer to this question.
    pub is_required: bool,
    /// Answer options.
    pub options: Vec<OptionView>,
    /// The guest's answer: `{optionIds}` or `{text}`; null without an answer.
    pub answer: Option<Value>,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// An option as the guest sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionView {
    /// Option id.
    pub id: Uuid,
    /// Option name.
    pub name: Option<String>,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// Returns the ids of the translations that the view of a step shows.
pub(super) fn linked_texts(step: &Step) -> impl Iterator<Item = Uuid> {
    let own = [
        step.display_title_ml_text_id,
        step.write_only.guest_description_ml_text_id,
        agreement_text_id(step),
    ];
    let questions: &[Question] = if step.step_type.answer_form() == AnswerForm::Questions {
        &step.questions
    } else {
        &[]
    };
    let of_questions = questions.iter().flat_map(|question| {
        let names = question
            .options
            .iter()
            .filter_map(|option| option.name_ml_text_id);
        [question.text_ml_text_id].into_iter().chain(names)
    });
    let heading = step.agreement_heading();
    own.into_iter()
        .chain(heading)
        .flatten()
        .chain(charges::subtitles(step))
        .chain(of_questions)
}

/// Returns the id of the translation with the text of an agreement; `None` for a step of another
/// type.
pub(super) fn agreement_text_id(step: &Step) -> Option<Uuid> {
    if step.step_type.answer_form() == AnswerForm::Agreement {
        step.agreement.contract_template_text_ml_text_id
    } else {
        None
    }
}

/// Returns the agreement's text in the guest's language, or else the step's
/// `contract_template_text`. Returns `None` without either text, for example because only an
/// e-signature provider has the text.
pub(super) fn agreement_text(step: &Step, texts: &Texts) -> Option<String> {
    let written = || {
        (step.step_type.answer_form() == AnswerForm::Agreement)
            .then(|| step.write_only.contract_template_text.clone())
            .flatten()
    };
    texts.of(agreement_text_id(step)).or_else(written)
}

impl StepOfStay {
    /// Returns the heading of the step in the guest's language.
    pub(super) fn title(&self, texts: &Texts, language: &str) -> String {
        let step = &self.step;
        texts
            .of(step.display_title_ml_text_id)
            .unwrap_or_else(|| step_title(in_language(language).0, step.step_type).to_owned())
    }

    /// Returns the questions that the guest sees, given the answers so far; `None` if the step's
    /// type has no questions.
    pub(super) fn questions(&self, texts: &Texts, language: &str) -> Option<Vec<QuestionView>> {
        let answers = self.answers().cloned().unwrap_or_default();
        (self.step.step_type.answer_form() == AnswerForm::Questions).then(|| {
            let asked_questions = precheck::shown_questions(&self.step.questions, &answers);
            asked_questions
                .into_iter()
                .map(|question| question_view(question, &answers, texts, language))
                .collect()
        })
    }

    /// Builds the guest's view of the step, for a stay of this many nights. `is_open` means that
    /// the guest may save the step.
    pub(super) fn view(&self, setup: &GuestSetup, nights: i64, is_open: bool) -> StepView {
        let GuestSetup {
            texts,
            language,
            costs,
            ..
        } = setup;
        let step = &self.step;
        let of_form = |form| step.step_type.answer_form() == form;
        let questions = self.questions(texts, language);
        let required = || {
            precheck::required_fields(step)
                .into_iter()
                .map(str::to_owned)
                .collect()
        };
        let agreement = || {
            let [title, subtitle] = step.agreement_heading().map(|id| texts.of(id));
            AgreementView {
                title,
                subtitle,
                text: agreement_text(step, texts),
                is_signed_elsewhere: step.is_signed_elsewhere(),
            }
        };
        let state = self.state();
        let fees = costs.get(&step.id).and_then(|cost| {
            if let Cost::Fees(fees) = cost {
                Some(fees.clone())
            } else {
                None
            }
        });
        StepView {
            id: step.id,
            step_type: step.step_type,
            title: self.title(texts, language),
            state,
            is_complete: state == StepState::Done,
            is_open,
            description: texts.of(step.write_only.guest_description_ml_text_id),
            answers: self.answers().filter(|_| questions.is_none()).cloned(),
            agreement: of_form(AnswerForm::Agreement).then(agreement),
            questions,
            required_fields: GuestPart::asked_in(step.step_type).map(|_| required()),
            guest_field_rules: precheck::field_rules(step),
            expected_guests: of_form(AnswerForm::OtherGuests).then_some(self.other_guests),
            is_signature_required: of_form(AnswerForm::Agreement)
                .then(|| step.is_signature_required()),
            accepted_at: self
                .stored
                .saved
                .as_ref()
                .and_then(|saved| saved.acceptance.as_ref())
                .map(|acceptance| acceptance.proof.accepted_at),
            acceptance: self.acceptance(),
            is_text_changed: self.is_text_changed,
            deposit: self.deposit(setup, nights),
            total_cents: fees.as_deref().map(precheck::total_of),
            fees,
            progress: self.progress().cloned(),
            files: step
                .step_type
                .takes_files()
                .then(|| self.stored.files.iter().map(GuestFile::view).collect()),
            required_document_types: step
                .step_type
                .takes_files()
                .then(|| step.required_documents().to_vec()),
            is_upload_unavailable: step.step_type.file_use() == FileUse::Identity
                && !self.has_storage,
            is_inactive: !step.is_active,
            text_languages: self.text_languages(texts, language),
        }
    }

    /// Returns the language of each text of the step that is not in the guest's language. Leaves
    /// out the texts of questions and options.
    fn text_languages(&self, texts: &Texts, language: &str) -> TextLanguages {
        let step = &self.step;
        let [title, subtitle] = step.agreement_heading();
        let fields = [
            ("title", step.display_title_ml_text_id),
            ("description", step.write_only.guest_description_ml_text_id),
            ("agreement.title", title),
            ("agreement.subtitle", subtitle),
            ("agreement.text", agreement_text_id(step)),
        ];
        let subtitles = charges::subtitles(step).map(|id| ("deposit.subtitle", Some(id)));
        let languages = texts.languages(language, fields.into_iter().chain(subtitles));
        match texts.of(step.display_title_ml_text_id) {
            Some(_) => languages,
            None => languages.with_text_language("title", in_language(language).1, language),
        }
    }

    /// Returns the progress that another system reported.
    pub(super) fn progress(&self) -> Option<&Progress> {
        self.stored.report.as_ref().map(|report| &report.progress)
    }
}

fn question_view(
    question: &Question,
    answers: &Object,
    texts: &Texts,
    language: &str,
) -> QuestionView {
    let option = |option: &QuestionOption| OptionView {
        id: option.id,
        name: option
            .answer
            .map(|answer| yes_or_no(in_language(language).0, answer).to_owned())
            .or_else(|| texts.of(option.name_ml_text_id)),
        text_languages: match option.answer {
            Some(_) => TextLanguages::default().with_text_language(
                "name",
                in_language(language).1,
                language,
            ),
            None => texts.languages(language, [("name", option.name_ml_text_id)]),
        },
    };
    QuestionView {
        id: question.id,
        kind: question.kind,
        text: texts.of(Some(question.text_ml_text_id)),
        is_required: question.is_required,
        options: question.options.iter().map(option).collect(),
        answer: precheck::given_answer(question, answers),
        text_languages: texts.languages(language, [("text", Some(question.text_ml_text_id))]),
    }
}
