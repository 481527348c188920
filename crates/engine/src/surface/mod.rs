//! The surfaces that are generated from the list of operations: HTTP routes, tools and the OpenAPI
//! documents. Also the pages beside them.

mod answers;
mod docs;
mod gate;
mod interface;
mod observe;
pub mod openapi;
mod packed;
mod reading;
mod router;
mod tools;

pub use gate::{Admission, Gate, Knock};
pub(crate) use interface::Crowded;
pub use interface::Interface;
pub use observe::{Metrics, Served};
pub use packed::Packed;
pub(crate) use reading::Unread;
pub use router::{
    Others, PathParams, Peer, READ_BY_PAGES, RequestId, not_found, note, query, readable, refuse,
    refuse_as, request_for, request_id, router,
};
pub use tools::describe_all as tools;
