//! What was sent with a request, read and parsed.

use serde_json::Value;

use crate::error::Issue;
use crate::json::{self, Exact};

/// Everything a caller sent, read and parsed.
pub enum Arguments {
    /// From an HTTP request: fields by where they travelled, and the numbers of the body that are to be kept exactly.
    Http {
        /// Parameters of the path.
        path: Vec<(String, String)>,
        /// Parameters of the query, in order.
        query: Vec<(String, String)>,
        /// The body.
        body: Value,
        /// Its numbers that no double is equal to.
        exact: Vec<Exact>,
        /// What was found wrong with fields as they were read.
        found: Vec<Issue>,
    },
    /// From a tool call.
    Tool(Value),
}

impl Arguments {
    /// The body, or what stands for it.
    pub(crate) fn body(&self) -> &Value {
        match self {
            Self::Http { body, .. } => body,
            Self::Tool(arguments) => arguments,
        }
    }

    /// What was found wrong with fields as they were read.
    pub(crate) fn found(&self) -> &[Issue] {
        match self {
            Self::Http { found, .. } => found,
            Self::Tool(_) => &[],
        }
    }

    /// Puts numbers that are to be kept exactly into the input that was made of this.
    pub(crate) fn keep_numbers(&self, input: &mut Value) {
        if let Self::Http { exact, .. } = self {
            json::keep(input, exact);
        }
    }
}
