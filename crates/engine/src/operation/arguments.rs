//! The parsed values of a request: path, query and body, or the arguments of a tool call.

use serde_json::Value;

use crate::error::Issue;

/// All parsed values of one request.
pub enum Arguments {
    /// The values of an HTTP request.
    Http {
        /// Parameters of the path.
        path: Vec<(String, String)>,
        /// Parameters of the query string, in the order in which they were sent.
        query: Vec<(String, String)>,
        body: Value,
        /// Issues that were found while the body was parsed, before its validation.
        found: Vec<Issue>,
    },
    /// The arguments of a tool call.
    Tool(Value),
}

impl Arguments {
    /// Returns the body, or the arguments of a tool call.
    pub(crate) fn body(&self) -> &Value {
        match self {
            Self::Http { body, .. } => body,
            Self::Tool(arguments) => arguments,
        }
    }

    /// Returns the issues that were found while the body was parsed.
    pub(crate) fn issues(&self) -> &[Issue] {
        match self {
            Self::Http { found, .. } => found,
            Self::Tool(_) => &[],
        }
    }
}
