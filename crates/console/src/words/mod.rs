//! The texts of the console, and functions that choose a text for a value, such as a status. A
//! language has these texts if its folder in `texts/` contains `console.ftl`.
//!
//! [`super::labels`] has the labels and help texts of fields.

mod audit;
mod records;
mod refused;
mod states;

pub use audit::{AuditedAction, describe_action, entrance};
pub use records::{add_label, records_title};
pub use refused::{kind_text, reason_text};
pub use states::{
    charge_kind, charge_status, delivery_status, disabled_reason, named_permission_text,
    permission_text, precheckin_status, progress_status, stay_status, step_state,
};
pub use texts::console::{ConsoleBeginWords, ConsoleWords, table as of};
