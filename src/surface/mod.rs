//! Readings of the list of operations: HTTP routes, tools, the OpenAPI document; and the pages beside them.

mod answers;
mod docs;
mod files;
mod observe;
pub mod openapi;
mod packed;
mod reading;
mod router;
mod tools;
mod unsent;

pub use observe::Metrics;
pub use router::router;
pub use unsent::{Held, Hurry, Unsent};
