//! Charges of stays, with their accounts and moments.
//!
//! This service moves no money. A submission writes charges, in its own transaction. The platform
//! reads them, carries them out, and reports each outcome. When a charge is due, and when a paid
//! deposit is to be released, the list of guests' changes tells it once.

mod charge;
mod follow;
mod moments;
mod operations;
mod records;
mod settle;
mod teller;
mod view;

pub(super) use follow::follow;
pub(super) use operations::operations;
pub(super) use records::forget;
pub(super) use settle::of_submission;
pub use teller::ChargeTeller;
pub use view::DepositView;
pub(super) use view::{deposit, subtitles};

/// Returns every statement on charges.
pub(super) fn statements() -> Vec<&'static store::Statement> {
    [
        follow::STATEMENTS,
        operations::STATEMENTS,
        records::STATEMENTS,
        teller::STATEMENTS,
    ]
    .concat()
}
