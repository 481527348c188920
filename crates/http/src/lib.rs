//! HTTP: connections, the surfaces that are generated from the list of operations, and the pages in
//! browsers.
//!
//! [`server`] accepts connections, limits their number, their time and their memory, and passes
//! each request to the [`surface`]. The surface consists of REST routes and the OpenAPI
//! documents, all generated from the operations of the engine. [`browser`] reads the forms of
//! pages and sets their security headers.
//!
//! Modules of the program add other routes ([`engine::module::Module::routes`]). This crate does
//! not depend on any of these modules.

pub mod browser;
pub mod server;
pub mod surface;
