//! Charges of stays: fees, damage waivers and deposits.
//!
//! This service moves no money. The transaction of a submission also writes the charges
//! (`submission_charges.rs`). The platform reads the charges, collects the money, and reports each
//! outcome (`operations.rs`). When a charge is due, or a paid deposit must be released, the list of
//! guests' changes gets one entry (`charge_notices.rs`).

mod charge;
mod charge_notices;
mod follow;
mod operations;
mod records;
mod stay_times;
mod submission_charges;
mod view;

pub use charge::{Charge, ChargeKind, ChargeStatus};
pub use charge_notices::{ChargeNoticeWorker, run as send_charge_notices};
pub(super) use follow::follow_stays;
pub use operations::LIST_RESERVATION_CHARGES;
pub(super) use operations::operations;
pub(super) use records::forget;
pub(super) use submission_charges::save_submission_charges;
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
