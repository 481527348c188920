//! The surfaces that are generated from the list of operations: HTTP routes and the OpenAPI
//! documents. This module also serves the API reference page.

mod answers;
mod compressed;
mod docs;
mod gate;
mod interface;
mod observe;
pub mod openapi;
mod reading;
mod router;

pub use compressed::CompressedText;
pub use gate::{Gate, GateDecision, HostRequest};
pub use interface::Interface;
pub(crate) use interface::OverLimit;
pub use observe::{Metrics, ServedOperation};
pub(crate) use reading::UnreadBody;
pub use router::{
    EXPOSED_HEADERS, OtherRoutes, PathParams, Peer, RequestId, add_quota_headers, attach_operation,
    method_not_found, not_found, query, readable, refuse, refuse_as, request_for, request_id,
    router, with_challenge,
};
