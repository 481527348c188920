//! What the platform around us pushes: properties, reservations, tasks and the other kinds of records, and their reads.
//!
//! Chapters above say what becomes of theirs when a record goes ([`OnGone`], [`Linking`]).

pub(crate) mod blocks;
mod erased;
mod facets;
mod files;
mod gone;
mod kind;
mod kinds;
mod listing;
mod photos;
mod reads;
mod sets;
pub(crate) mod stored;
mod within;

use engine::chapter::Chapter;

pub use facets::fill;
pub(crate) use facets::{facets, pattern};
pub(crate) use gone::{Linking, OnGone, OnRelinked};
pub use kind::Kind;
pub use kinds::{
    Device, Guest, Property, Reservation, ReservationStatus, Task, TaskStatus, VerificationStatus, Workflow, WorkflowNode, WorkflowStepRun,
};
pub(crate) use photos::Signer;
pub use photos::{FilesUrl, PhotoAddress, Photos};
pub(crate) use reads::{basis, list_of};
pub(crate) use sets::{all_exist, note_named, record_names};
pub use stored::{Record, find_record, find_records, get_record};
pub(crate) use stored::{all_records, exists, linked_from, list_all, remove_record, replace_record, save_record, typed, typed_among};

/// The records.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: reads::operations,
    statements: || {
        [
            blocks::STATEMENTS,
            facets::STATEMENTS,
            listing::STATEMENTS,
            photos::STATEMENTS,
            sets::STATEMENTS,
            stored::STATEMENTS,
            within::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(files::routes),
    subjects: &[
        ("tags", "Tags that properties have."),
        ("property-groups", "Groups that properties are in."),
        ("reviews", "What guests say of their stay."),
        ("tasks", "Work to do in a flat."),
        ("task-templates", "What tasks are made from."),
        ("departments", "Who does which work."),
        ("shifts", "When somebody is to work."),
        ("clocked-shifts", "When somebody did work."),
        ("devices", "Locks, thermostats, sensors and hubs in flats."),
        ("lock-codes", "Codes of locks."),
        ("upsells", "What guests can book besides."),
        ("payment-accounts", "Where money goes."),
        ("custom-fields", "Fields of the organization's own, whose values stand in texts."),
        ("fee-products", "Fees that a step may ask for."),
        ("custom-urls", "Addresses of the organization's own."),
        ("background-check-accounts", "Accounts with providers of background checks."),
    ],
    ..Chapter::new("records")
};
