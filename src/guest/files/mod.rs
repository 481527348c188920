//! Files that guests hand in with a step: passports, permits, proofs (contract: Steps that are really done).

mod address;
mod kind;
mod operations;
mod records;
mod sweep;

pub(super) use address::routes;
pub(super) use address::{AddressedFile, addressed};
pub(super) use operations::operations;
pub use records::FileView;
pub(super) use records::{GuestFile, forget, of_stay};
pub(crate) use sweep::{UploadRetention, remove_folder, run, sweep};

/// Every statement on files.
pub(super) fn statements() -> Vec<&'static store::Statement> {
    [address::STATEMENTS, records::STATEMENTS, sweep::STATEMENTS].concat()
}
