//! The texts that steps link, and the checks that run when any operation changes one of these
//! texts.

use std::collections::HashSet;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::step::Step;
use super::{records, visible};
use crate::translations::{MAX_TEXT_LENGTH, SourceTable, TextChange, TextForm, TextRules};

/// The rules for the texts of steps and of their questions. Several steps may link the same text.
pub(crate) struct StepTexts;

/// The name of the field that links a step's heading. The operations on steps can also write the
/// heading as text.
pub(super) const HEADING: &str = "displayTitleMlTextId";
/// The name of the field that links the text of a question.
pub(super) const QUESTION: &str = "textMlTextId";
/// The name of the field that links the name of an option.
pub(super) const OPTION: &str = "nameMlTextId";

impl Step {
    /// Returns every text that the step and its questions link, with the name of the field that
    /// links it.
    pub fn all_linked_texts(&self) -> impl Iterator<Item = (&'static str, Option<Uuid>)> {
        let of_questions = self.questions.iter().flat_map(|question| {
            let names = question
                .options
                .iter()
                .map(|option| (OPTION, option.name_ml_text_id));
            names.chain([(QUESTION, Some(question.text_ml_text_id))])
        });
        self.linked_texts().into_iter().chain(of_questions)
    }
}

impl TextRules for StepTexts {
    fn sources(&self) -> &'static [SourceTable] {
        &[
            SourceTable::PrecheckStepDetail,
            SourceTable::PrecheckQuestion,
        ]
    }

    fn form(&self, field: &str) -> TextForm {
        TextForm::up_to(if field == HEADING {
            200
        } else {
            MAX_TEXT_LENGTH
        })
    }

    fn visible(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::accessible_step_ids(context, things)
    }

    /// A caller who can access a step may also change the texts that the step links.
    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::accessible_step_ids(context, things)
    }

    fn admit(&self, context: &mut Context<'_, '_>, _: &TextChange<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)?;
        context.require(Permission::ModifyTasks)
    }

    /// Sets the time of the last change of each step whose heading changes. Operations on steps
    /// write the heading as a field of the step, so a new heading changes the step.
    fn changed(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()> {
        for mut step in records::steps_by_id(context, change.things(|field| field == HEADING))? {
            step.updated_at = step.updated_at.advanced_to(context.now());
            records::put(context, &step)?;
        }
        Ok(())
    }
}
