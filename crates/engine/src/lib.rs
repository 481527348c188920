//! The engine: the declaration of operations, and the pipeline for every request.
//!
//! A program lists its operations in modules ([`module`]) and puts them together
//! ([`module::assemble`]). The crate `vestibule-http` makes an HTTP route, a tool and a part of the
//! OpenAPI document from each operation. Each request for an operation goes through the
//! [`pipeline`], which opens a [`context`] on a transaction of the store and runs the operation.
//!
//! The engine does not depend on any module of the program. Modules register their state in the
//! [`app_state`], where it is found by its type.
//!
//! The modules from low to high: error; moment, fold, logging, nearest, currency, typed; json,
//! clock, ids, processors, erased, background; traces; format; language; field; access;
//! `app_state`, uploads; context; sweeping; audit; operation; app; pipeline; summaries, due;
//! module. A semicolon separates layers. A module imports only modules of lower layers, which
//! `tests/api/house.rs` checks.

pub mod access;
pub mod app;
pub mod app_state;
pub mod audit;
pub mod background;
pub mod clock;
pub mod context;
pub mod currency;
pub mod due;
pub mod erased;
pub mod error;
pub mod field;
pub mod fold;
pub mod format;
pub mod ids;
pub mod json;
pub mod language;
pub mod logging;
pub mod module;
pub mod moment;
pub mod nearest;
pub mod operation;
pub mod pipeline;
pub mod processors;
pub mod summaries;
pub mod sweeping;
pub mod traces;
pub mod typed;
pub mod uploads;

pub use store;

/// Returns the statements of the engine.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    let of_modules = [
        audit::STATEMENTS,
        context::STATEMENTS,
        erased::STATEMENTS,
        summaries::STATEMENTS,
    ]
    .concat();
    [access::statements(), of_modules, pipeline::statements()].concat()
}
