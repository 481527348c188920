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
    AnswerContext, FIRST_BIRTH_DATE, GuestInput, Merging, chosen_deposit, deposit_choice,
    flagged as flagged_questions, given as given_answer, guest_field_fault, has_flags, is_accepted,
    issues as answer_issues, merged as merged_answers, required_fields, shown as shown_questions,
    tidied as normalize_answers,
};
pub(crate) use costs::costs;
pub use costs::{Cost, DepositChoice, DepositOption, Fee, choices_for, total_of};
pub use guest_fields::{AskedGuest, GuestFieldRules, GuestPart, field_rules, is_there};
pub use identity::{
    FlagAction, IdentityVerdict, RETAKE_LIMIT, UNDERAGE, actions as identity_actions, age_on,
    check_list, finding, flagged_below, verdict as identity_verdict,
};
pub use order::{SortKey, compare, is_together};
pub use question::{Question, QuestionKind, QuestionOption, YesNo};
pub(crate) use records::{all, among, mark_used, one, some};
pub use state::{Reported, StepState, state};
pub use step::{PricingBasis, Step, Targeting};
pub use step_answers::StepSettings;
pub use step_type::{AnswerForm, Carrier, CostKind, FileUse, ReviewRule, StepType};
pub(crate) use targeting::NO_MAXIMUM;
pub use targeting::{TargetingFacts, TargetingVerdict, days, days_ahead, decide};
pub(crate) use visible::{check_exists, visible_ids};

/// The registration of this module.
pub(crate) static MODULE: Module = Module {
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
            "What guests complete before they arrive: one step a type, in an order, for whom and when.",
        ),
        (
            "damage-waivers",
            "Damage waivers that a deposit step may offer in place of the deposit.",
        ),
    ],
    ..Module::new("precheck")
};
