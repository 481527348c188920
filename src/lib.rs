//! Vestibule: guest portals for short-term rentals.
//!
//! `ARCHITECTURE.md` describes the code along the path of the data. In short: the modules declare
//! operations, and [`app`] collects them. The engine passes every request through one pipeline and
//! runs the operation in a transaction of the store.
//!
//! The modules are in the crates `features`, `page`, `access` and `vestibule-console`. This crate
//! assembles the program and reads its settings. It also has the modules that only the program
//! needs: certificates (`acme`), the served documents (`guides`) and the migrations.

mod acme;
pub mod app;
pub mod commands;
pub mod config;
mod guides;
mod migrations;
pub mod server;

pub use migrations::{SHARDING, migrations};
