//! The way in by HTTP: connections, the surfaces that are made of the list of operations, and
//! responses for browsers.
//!
//! [`server`] accepts connections within limits of number, time and memory, and gives each request
//! to the [`surface`]: REST routes, tools and the OpenAPI documents, which are made of the
//! operations of the engine. [`browser`] has the security headers of pages.
//!
//! Modules of the program add routes of their own ([`engine::module::Module::routes`]). This crate
//! knows none of them.

pub mod browser;
pub mod server;
pub mod surface;
