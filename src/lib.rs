//! Vestibule: guest portals for short-term rentals.
//!
//! `ARCHITECTURE.md` walks through the code as data flows. In one breath: [`surface`] reads the list of [`operations`],
//! every request goes through the one [`pipeline`], which opens a [`context`] on a transaction of the store and runs the
//! operation; what happened leaves by [`events`] and [`webhooks`]; a guest sees it through [`guest`].

pub mod access;
pub mod ambient;
pub mod background;
pub mod commands;
pub mod config;
pub mod context;
pub mod delivery;
pub mod error;
pub mod events;
pub mod field;
pub mod format;
pub mod guest;
pub mod json;
pub mod kit;
pub mod logging;
pub mod manuals;
pub mod moment;
pub mod operation;
pub mod pipeline;
pub mod platform;
pub mod portals;
pub mod precheck;
pub mod scopes;
pub mod search;
pub mod server;
pub mod service;
pub mod summaries;
pub mod surface;
pub mod translations;
pub mod webhooks;

use std::sync::LazyLock;

use operation::Operation;

/// Every operation of every surface.
#[must_use]
pub fn operations() -> &'static [Operation] {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        [
            precheck::operations(),
            manuals::operations(),
            portals::operations(),
            scopes::operations(),
            search::operations(),
            translations::operations(),
            webhooks::operations(),
            guest::operations(),
            platform::operations(),
        ]
        .into_iter()
        .flatten()
        .collect()
    });
    &OPERATIONS
}

/// What each chapter says of the texts that its things show.
pub(crate) fn texts() -> &'static [&'static dyn translations::Shows] {
    &[&precheck::StepTexts, &manuals::ManualTexts, &manuals::CategoryTitles, &portals::PortalCopy, &portals::Callouts]
}

/// What the chapters list for each other.
pub(crate) fn lists() -> &'static kit::Lists {
    static LISTS: LazyLock<kit::Lists> = LazyLock::new(kit::Lists::default);
    &LISTS
}

/// Every statement of the product, so that a test can prepare each on both migrated schemas.
#[must_use]
pub fn statements() -> Vec<&'static store::Statement> {
    [
        access::STATEMENTS.to_vec(),
        context::STATEMENTS.to_vec(),
        delivery::statements(),
        events::STATEMENTS.to_vec(),
        pipeline::statements(),
        platform::statements(),
        portals::statements(),
        precheck::statements(),
        manuals::statements(),
        scopes::statements(),
        search::STATEMENTS.to_vec(),
        summaries::STATEMENTS.to_vec(),
        translations::statements(),
        webhooks::statements(),
        guest::statements(),
    ]
    .concat()
}

/// The migrations of both databases, built into the binary.
#[must_use]
pub fn migrations() -> store::Migrations {
    mod sqlite {
        refinery::embed_migrations!("migrations/sqlite");
    }
    mod postgres {
        refinery::embed_migrations!("migrations/postgres");
    }
    store::Migrations { sqlite: sqlite::migrations::runner(), postgres: postgres::migrations::runner() }
}
