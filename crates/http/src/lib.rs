//! HTTP: connections, the surfaces that are generated from the list of operations, and responses
//! for browsers.
//!
//! [`server`] accepts connections, limits their number, their time and their memory, and passes
//! each request to the [`surface`]. The surface consists of REST routes, tools and the OpenAPI
//! documents, all generated from the operations of the engine. [`browser`] sets the security
//! headers of pages.
//!
//! Modules of the program add other routes ([`engine::module::Module::routes`]). This crate does
//! not depend on any of these modules.

pub mod browser;
pub mod server;
pub mod surface;
