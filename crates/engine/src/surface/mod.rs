//! Readings of the list of operations: HTTP routes, tools, the OpenAPI document; and the pages beside them.

mod answers;
mod docs;
mod interface;
mod observe;
pub mod openapi;
mod packed;
mod reading;
mod router;
mod tools;

pub use interface::Interface;
pub use observe::{Metrics, Served};
pub use packed::Packed;
pub use router::{
    Others, PathParams, Peer, RequestId, not_found, note, query, readable, refuse, refuse_as, request_for, request_id, router,
};
pub use tools::describe_all as tools;
