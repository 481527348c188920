//! Pre-check-in steps: what guests are asked before they arrive (spec: Pre-check step).

mod answers;
mod audited;
mod charging;
mod costs;
mod erased;
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

use engine::chapter::Chapter;

use crate::records::Linking;
use crate::scopes::{Assignable, EntityType};
use crate::translations::Shows;
pub use answers::{
    Ground, given as given_answer, guest_field_fault, is_accepted, is_complete, issues as answer_issues, merged as merged_answers,
    required_fields, shown as shown_questions,
};
pub(crate) use costs::costs;
pub use costs::{Cost, Deposit, Fee, Waiver};
pub use identity::{FlagAction, actions as identity_actions};
pub use order::{SortKey, compare, is_together};
pub use question::{Question, QuestionKind, QuestionOption, YesNo};
pub(crate) use records::{all, among, mark_used, one, some};
pub use step::{PricingBasis, Step, StepSettings, StepType, Targeting};
pub(crate) use targeting::NO_MAXIMUM;
pub use targeting::{StayFacts, Verdict, days, decide};
pub(crate) use visible::{check_exists, visible_ids};

/// Pre-check-in steps.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || [list::operations(), operations::operations()].into_iter().flatten().collect(),
    statements: || [list::STATEMENTS, records::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    summaries: &[&records::SUMMARY],
    lists: |lists| {
        lists.add::<&'static dyn Shows>(&texts::StepTexts);
        lists.add(Linking { filed_as: records::LINKED_AS, forget: records::forget_records });
        lists.add(Assignable { entity_type: EntityType::PrecheckStep, check: visible::check_exists, name: records::name, needs: None });
    },
    subjects: &[
        ("precheck-steps", "What guests complete before they arrive: one step a type, in an order, for whom and when."),
        ("damage-waivers", "Damage waivers that a deposit step may offer in place of the deposit."),
    ],
    ..Chapter::new("precheck")
};
