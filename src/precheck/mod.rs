//! Pre-check-in steps: what guests are asked before they arrive (spec: Pre-check step).

mod answers;
mod charging;
mod fields;
mod identity;
mod list;
mod operations;
mod order;
mod question;
mod records;
mod step;
mod targeting;
mod texts;
mod visible;

pub use answers::{given as given_answer, is_complete, issues as answer_issues, shown as shown_questions};
pub use identity::{FlagAction, actions as identity_actions};
pub use order::{Place, compare};
pub use question::{Question, QuestionKind, QuestionOption, YesNo};
pub(crate) use records::{LINKED_AS, SUMMARY, all, among, forget_records, mark_used, one};
pub use step::{Step, StepSettings, StepType, Targeting};
pub use targeting::{StayFacts, Verdict, days, decide};
pub(crate) use texts::StepTexts;
pub(crate) use visible::{check_exists, visible_ids};

use crate::operation::Operation;

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [list::STATEMENTS, records::STATEMENTS].concat()
}

pub(crate) fn operations() -> Vec<Operation> {
    [list::operations(), operations::operations()].into_iter().flatten().collect()
}
