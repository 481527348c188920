//! Records that the platform synchronizes: properties, reservations, tasks and other kinds, and the
//! operations that read them.
//!
//! Start with `kind.rs`, which lists the kinds, and `kinds/`, which declares their fields.
//! `stored.rs` reads and writes records, `listing.rs` pages through them.
//! `crates/features/src/platform/batch.rs` calls `stored.rs` when the platform synchronizes.
//!
//! Higher modules register callbacks for deleted records ([`OnDeleted`], [`LinkSources`]).

pub(crate) mod blocks;
mod canonical;
mod defaults;
mod deletions;
mod domains;
mod erased;
mod facets;
mod files;
mod kind;
mod kinds;
mod listing;
mod named_records;
mod origin;
mod photos;
mod reads;
mod sets;
pub(crate) mod stored;
mod visibility;

use engine::module::Module;

pub(crate) use canonical::canonicalize;
pub(crate) use canonical::is_service_field;
pub use defaults::default_fields;
pub(crate) use deletions::{LinkSources, OnChanged, OnDeleted, OnLinksChanged};
pub(crate) use domains::{
    HostTally, check_host as claimable_host, find_domain, host_name, portal_host, portal_hosts,
    release_domains, update_domains as follow_domains,
};
pub(crate) use facets::{facets, name_patterns};
pub(crate) use kind::Dependents;
pub use kind::RecordKind;
pub use kinds::{
    Device, DeviceType, Guest, Property, Reservation, ReservationStatus, SurveyKind, TaskRecord,
    TaskStatus, VerificationStatus, Workflow, WorkflowNode, WorkflowStepRun,
};
pub(crate) use kinds::{
    ImplausibleDates, WorkflowSubject, implausible_dates, normalize_guest_language,
};
pub(crate) use listing::find_by_reference;
pub use origin::RecordOrigin;
pub(crate) use photos::AddressSigner;
pub use photos::{FilesUrl, PhotoAddress, PhotoSigner};
pub(crate) use reads::{cache_basis, list_schema};
pub(crate) use sets::{first_missing, record_names, update_record_links};
pub(crate) use stored::exists;
pub use stored::{Record, find_record, find_records, get_record};
pub(crate) use stored::{
    add_record, all_records, link_sources, list_all, record_as, records_as, remove_record,
    replace_record, save_record,
};

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: reads::operations,
    statements: || {
        [
            blocks::STATEMENTS,
            domains::STATEMENTS,
            listing::STATEMENTS,
            named_records::STATEMENTS,
            photos::STATEMENTS,
            sets::STATEMENTS,
            stored::STATEMENTS,
            visibility::STATEMENTS,
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
        (
            "custom-fields",
            "Fields of the organization's own, whose values stand in texts.",
        ),
        ("fee-products", "Fees that a step may ask for."),
        ("custom-urls", "Addresses of the organization's own."),
        (
            "background-check-accounts",
            "Accounts with providers of background checks.",
        ),
    ],
    ..Module::new("records")
};
