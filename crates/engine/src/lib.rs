//! The engine: what an operation is, and the one way through for every request.
//!
//! A program lists its operations in chapters ([`chapter`]) and has them put together ([`chapter::assemble`]). Each is read as
//! an HTTP route, as a tool and as a part of the OpenAPI document ([`surface`]); each request for one goes through the
//! [`pipeline`], which opens a [`context`] on a transaction of the store and runs it.
//!
//! The engine knows no chapter. What chapters need of their own travels in the [`kit`], found by its type.
//!
//! From below to above: error; moment, fold, logging; json, clock, ids, processors, erased, background; traces; format; field; access;
//! kit; context; audit; operation; app; pipeline; summaries and surface; server; chapter. A module names only what is before it, which a
//! test of the program reads (`tests/it/house.rs`).

pub mod access;
pub mod app;
pub mod audit;
pub mod background;
pub mod chapter;
pub mod clock;
pub mod context;
pub mod erased;
pub mod error;
pub mod field;
pub mod fold;
pub mod format;
pub mod ids;
pub mod json;
pub mod kit;
pub mod logging;
pub mod moment;
pub mod operation;
pub mod pipeline;
pub mod processors;
pub mod server;
pub mod summaries;
pub mod surface;
pub mod sweeping;
pub mod traces;
pub mod uploads;

pub use store;

/// The statements of the engine.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    let of_modules = [audit::STATEMENTS, context::STATEMENTS, erased::STATEMENTS, summaries::STATEMENTS].concat();
    [access::statements(), of_modules, pipeline::statements()].concat()
}
