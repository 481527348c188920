//! The texts of steps, and what a new one has to pass, whichever operation writes it.

use std::collections::HashSet;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::step::Step;
use super::{records, visible};
use crate::translations::{Form, LONGEST, News, Shows, SourceTable};

/// The texts of steps and of their questions; several steps may link the same.
pub(crate) struct StepTexts;

/// The field that links the heading, which a step's own operations write as text.
pub(super) const HEADING: &str = "displayTitleMlTextId";
/// The field that links the text of a question.
pub(super) const QUESTION: &str = "textMlTextId";
/// The field that links the name of an option.
pub(super) const OPTION: &str = "nameMlTextId";

impl Step {
    /// Every text it links, those of its questions included, each with the name of its field.
    pub fn all_linked_texts(&self) -> impl Iterator<Item = (&'static str, Option<Uuid>)> {
        let of_questions = self.questions.iter().flat_map(|question| {
            let names = question.options.iter().map(|option| (OPTION, option.name_ml_text_id));
            names.chain([(QUESTION, Some(question.text_ml_text_id))])
        });
        self.linked_texts().into_iter().chain(of_questions)
    }
}

impl Shows for StepTexts {
    fn sources(&self) -> &'static [SourceTable] {
        &[SourceTable::PrecheckStepDetail, SourceTable::PrecheckQuestion]
    }

    fn form(&self, field: &str) -> Form {
        Form::up_to(if field == HEADING { 200 } else { LONGEST })
    }

    fn visible(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::known_ids(context, things)
    }

    /// Whoever may know of a step may change it.
    fn writable(&self, context: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        visible::known_ids(context, things)
    }

    fn admit(&self, context: &mut Context<'_, '_>, _: &News<'_>) -> Result<()> {
        context.require(Permission::ModifyProperties)?;
        context.require(Permission::ModifyTasks)
    }

    /// A heading is a change of its step in whichever language, as it is where the step's own operations write it.
    fn changed(&self, context: &mut Context<'_, '_>, news: &News<'_>) -> Result<()> {
        for mut step in records::some(context, news.things(|field| field == HEADING))? {
            step.updated_at = step.updated_at.advanced_to(context.now());
            records::put(context, &step)?;
        }
        Ok(())
    }
}
