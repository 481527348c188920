//! The platform interface: organizations, their credentials, and the records the platform around us keeps in step.

mod blocks;
mod credentials;
mod facets;
mod kind;
mod listing;
mod organizations;
mod photos;
mod reads;
mod records;
mod sync;

pub use facets::fill;
pub use kind::{Device, Guest, Kind, Property, Reservation, ReservationStatus, Task, TaskStatus, VerificationStatus};
pub use photos::{PhotoAddress, Photos};
pub use records::{Record, find_record, find_records, get_record};
pub(crate) use records::{
    all_records, exists, link_records, linked_from, list_all, remove_record, replace_record, save_record, typed, typed_among,
    unlink_records,
};
pub use sync::MAX_RECORDS;

use crate::operation::Operation;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [
        blocks::STATEMENTS,
        credentials::STATEMENTS,
        facets::STATEMENTS,
        listing::STATEMENTS,
        organizations::STATEMENTS,
        photos::STATEMENTS,
        reads::STATEMENTS,
        records::STATEMENTS,
        sync::STATEMENTS,
    ]
    .concat()
}

/// The operations of this chapter.
pub(crate) fn operations() -> Vec<Operation> {
    [organizations::operations(), credentials::operations(), sync::operations(), reads::operations()].into_iter().flatten().collect()
}
