//! Vestibule: guest portals for short-term rentals.
//!
//! `ARCHITECTURE.md` describes the code along the path of the data. In short: the modules declare
//! operations, and [`app`] collects them. The engine passes every request through one pipeline and
//! runs the operation in a transaction of the store. [`events`] and the crate `delivery` send
//! events to webhooks. Guests see the result through [`guest`].
//!
//! Each module imports only modules that are listed before it here: `acme`, [`records`] and
//! `markdown`, [`events`] and [`devices`], [`translations`], [`scopes`], [`portals`], [`precheck`]
//! and [`manuals`], [`words`], [`guest`], `page`, [`search`], [`platform`], `calendars`, [`people`]
//! and [`tables`], `oauth`, [`console`]. [`app`], [`server`] and [`commands`] may import all of
//! them.

mod acme;
pub mod app;
mod calendars;
pub mod commands;
pub mod config;
pub mod console;
pub mod devices;
pub mod events;
pub mod guest;
mod guides;
pub mod manuals;
mod markdown;
mod migrations;
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
pub mod tables;
pub mod translations;
pub mod words;

pub use migrations::{SHARDING, migrations};
