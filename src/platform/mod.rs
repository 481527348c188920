//! The platform interface: organizations, their credentials, and the records the platform around us keeps in step.

mod blocks;
mod credentials;
mod erased_tables;
mod erasure;
mod facets;
mod kind;
mod links;
mod listing;
mod organizations;
mod photos;
mod reads;
mod records;
mod sets;
mod sync;
mod within;

pub use erasure::sweep;
pub use facets::fill;
pub use kind::{Device, Guest, Kind, Property, Reservation, ReservationStatus, Task, TaskStatus, VerificationStatus};
pub use photos::{FilesUrl, PhotoAddress, Photos};
pub use records::{Record, find_record, find_records, get_record};
pub(crate) use records::{
    all_records, exists, linked_from, list_all, remove_record, replace_record, save_record, typed, typed_among, unlink_records,
};
pub(crate) use sets::{all_exist, link_to, record_names};
pub use sync::MAX_RECORDS;
pub(crate) use within::may_change_instruction;

use crate::operation::Operation;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [
        blocks::STATEMENTS,
        credentials::STATEMENTS,
        erased_tables::STATEMENTS,
        erasure::STATEMENTS,
        facets::STATEMENTS,
        links::STATEMENTS,
        listing::STATEMENTS,
        organizations::STATEMENTS,
        photos::STATEMENTS,
        reads::STATEMENTS,
        records::STATEMENTS,
        sets::STATEMENTS,
        sync::STATEMENTS,
        within::STATEMENTS,
    ]
    .concat()
}

/// The operations of this chapter.
pub(crate) fn operations() -> Vec<Operation> {
    [organizations::operations(), credentials::operations(), links::operations(), sync::operations(), reads::operations()]
        .into_iter()
        .flatten()
        .collect()
}
