//! Charges of stays, with their accounts and moments.
//!
//! This service moves no money. A submission writes charges, in its own transaction. The platform
//! reads them, carries them out, and reports each outcome. When a charge is due, and when a paid
//! deposit is to be released, the list of guests' changes tells it once.

mod charge;
mod charge_notices;
mod follow;
mod moments;
mod operations;
mod records;
mod submission_charges;
mod view;

pub use charge_notices::ChargeTeller;
pub(super) use follow::follow;
pub(super) use operations::operations;
pub(super) use records::forget;
pub(super) use submission_charges::of_submission;
pub use view::DepositView;
pub(super) use view::{deposit, subtitles};

/// Returns every statement on charges.
pub(super) fn statements() -> Vec<&'static store::Statement> {
    [
        follow::STATEMENTS,
        operations::STATEMENTS,
        records::STATEMENTS,
        charge_notices::STATEMENTS,
    ]
    .concat()
}
