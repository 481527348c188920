//! Vestibule: guest portals for short-term rentals.
//!
//! `ARCHITECTURE.md` walks through the code as data flows. In one breath: the engine reads the list of operations that the
//! chapters bring ([`app`]), takes every request through its one pipeline, and runs the operation on a transaction of the
//! store; what happened leaves by [`events`] and the crate `delivery`; a guest sees it through [`guest`].
//!
//! The chapters, each of which names only those before it: [`records`], [`events`], [`translations`], [`scopes`], [`portals`],
//! [`precheck`] and [`manuals`], [`words`], [`guest`], [`search`], [`platform`], [`people`], the authorization server, [`console`]. Above all: [`app`], [`server`], [`commands`].

pub mod app;
pub mod commands;
pub mod config;
pub mod console;
pub mod events;
pub mod guest;
mod guides;
pub mod manuals;
mod oauth;
mod page;
pub mod people;
pub mod platform;
pub mod portals;
pub mod precheck;
pub mod records;
pub mod scopes;
pub mod search;
pub mod server;
pub mod translations;
pub mod words;

/// How a PostgreSQL database is spread over several servers: by organization. The apps that members connect are no organization's.
pub const SPREAD: store::Spread = store::Spread { root: ("organization", "id"), column: "organization_id", copied: &["oauth_app"] };

/// The migrations of both databases, built into the binary.
#[must_use]
pub fn migrations() -> store::Migrations {
    mod listed {
        include!(concat!(env!("OUT_DIR"), "/migrations.rs"));
        pub(super) const ALL: [&[(&str, &str)]; 2] = [SQLITE, POSTGRES];
    }
    let [sqlite, postgres] = listed::ALL.map(store::Migrations::runner);
    store::Migrations { sqlite, postgres }
}
