//! Pre-check-in steps: the tasks that guests complete before they arrive (rules: steps).
//!
//! `step.rs` declares the fields of a step, and `step_type.rs` the differences between types.
//! `targeting.rs` decides which stays get a step, `order.rs` sorts the steps, and `answers/` checks
//! the answers of guests. The guest's side of pre-check-in is in `guest/precheckin.rs`.

mod answers;
mod audited;
mod charging;
mod costs;
mod erased;
mod fields;
mod guest_fields;
mod identity;
mod list;
mod operations;
mod order;
mod question;
mod records;
mod state;
mod step;
mod step_answers;
mod step_rules;
mod step_type;
mod targeting;
mod texts;
mod visible;

use engine::module::Module;

use crate::records::LinkSources;
use crate::scopes::{Assignable, EntityType};
use crate::translations::TextRules;
pub use answers::{
    AnswerContext, FIRST_BIRTH_DATE, GuestInput, MergeContext, answer_issues, chosen_deposit,
    deposit_choice, flagged_questions, given_answer, guest_field_fault, has_flags, is_accepted,
    merged_answers, normalize_answers, required_fields, shown_questions,
};
pub use charging::ConfigurationIssue;
pub(crate) use costs::costs;
pub use costs::{Cost, DepositChoice, DepositOption, Fee, choices_for, total_of};
pub use guest_fields::{GuestCategory, GuestFieldRules, GuestPart, field_rules, has_field_value};
pub use identity::{
    FlagAction, IdentityVerdict, RETAKE_LIMIT, UNDERAGE, age_on, check_list, finding,
    flagged_below, identity_actions, identity_verdict,
};
pub use list::ScopeCounts;
pub use order::{SortKey, compare, is_together};
pub use question::{Question, QuestionKind, QuestionOption, YesNo};
pub(crate) use records::{active_steps_by_id, all_steps, mark_used, step_by_id, steps_by_id};
pub use state::{StepReport, StepState, state};
pub use step::{PricingBasis, Step, Targeting};
pub use step_answers::StepSettings;
pub use step_type::{AnswerForm, CostKind, FileUse, ReviewRule, StepProvider, StepType};
pub use targeting::NO_MAXIMUM;
pub use targeting::{
    InclusionType, TargetingInput, TargetingVerdict, days_ahead, days_between, decide,
};
pub(crate) use visible::{check_exists, visible_ids};

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        [list::operations(), operations::operations()]
            .into_iter()
            .flatten()
            .collect()
    },
    statements: || [list::STATEMENTS, records::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    summaries: &[&records::SUMMARY],
    lists: |lists| {
        lists.add::<&'static dyn TextRules>(&texts::StepTexts);
        lists.add(LinkSources {
            from_kind: records::LINKED_AS,
            remove_links: records::forget_records,
        });
        lists.add(Assignable {
            entity_type: EntityType::PrecheckStep,
            check: visible::check_exists,
            name: records::name,
            needs: None,
        });
    },
    subjects: &[
        (
            "precheck-steps",
            "What guests complete before they arrive: one step a type, in an order, for whom and \
                when.",
        ),
        (
            "damage-waivers",
            "Damage waivers that a deposit step may offer in place of the deposit.",
        ),
    ],
    ..Module::new("precheck")
};
