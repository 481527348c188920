//! Calendar feeds: calendars of booking sites, whose events become reservations (rules:
//! calendar-feeds#feeds).
//!
//! [`worker`] fetches each feed every few minutes, on one node at a time, with [`client`]. [`ics`]
//! parses the calendar file. [`classify`] decides whether an event is a booking. [`plan`] compares
//! each event with the last fetch and decides the change. [`apply`] writes the changes as
//! reservations of origin `calendar`.

mod apply;
mod audited;
mod classify;
mod client;
mod erased;
mod feed;
mod ics;
mod operations;
mod plan;
mod worker;

use engine::module::Module;

use crate::records::{Dependents, OnDeleted};

pub use feed::{Ambiguous, CalendarFeed};
pub use operations::{GET_CALENDAR_FEED, LIST_CALENDAR_FEEDS};
pub use worker::{CalendarFetcher, repair_future_feeds};

/// Registers this module's operations, statements and routes with the engine.
pub static MODULE: Module = Module {
    operations: operations::operations,
    statements: || [feed::STATEMENTS, worker::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    lists: |lists| {
        lists.add(OnDeleted(|context, kind, ids| match kind.dependents() {
            Dependents::Flat => {
                let feeds = feed::of_properties(context, ids)?;
                if feeds.is_empty() {
                    return Ok(());
                }
                apply::delete_feeds(context, &feeds, false)
            }
            Dependents::Assignments
            | Dependents::Stay
            | Dependents::Brandings
            | Dependents::None => Ok(()),
        }));
    },
    subjects: &[(
        "calendar-feeds",
        "Calendars of booking sites, whose events become reservations.",
    )],
    ..Module::new("calendars")
};
