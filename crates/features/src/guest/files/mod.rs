//! Files that guests upload in a step, such as passports and permits (rules: pre-check-in#files).
//! `operations.rs` adds and removes files, `address.rs` sends their bytes, and `sweep.rs` deletes
//! them after their retention.

mod address;
mod kind;
mod operations;
mod records;
mod sweep;

pub use address::AddressedFile;
pub(super) use address::routes;
pub(super) use address::with_addresses;
pub use operations::GET_STEP_FILE;
pub(super) use operations::operations;
pub use records::FileView;
pub(super) use records::{GuestFile, forget, of_stay, of_stays};
pub(crate) use sweep::remove_folder;
pub use sweep::{UploadRetention, run, sweep};

/// Returns every SQL statement about the files of guests.
pub(super) fn statements() -> Vec<&'static store::Statement> {
    [address::STATEMENTS, records::STATEMENTS, sweep::STATEMENTS].concat()
}
