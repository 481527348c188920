//! Readings of the list of operations: HTTP routes, tools, the OpenAPI document; and the pages beside them.

mod answers;
mod docs;
mod files;
mod observe;
pub mod openapi;
mod reading;
mod router;
mod tools;

pub use observe::Metrics;
pub use router::router;
