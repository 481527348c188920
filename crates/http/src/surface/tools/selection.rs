//! The tools that an address offers: `/mcp/read-only` has the reading ones, `?toolsets=…` those of
//! some toolsets.

use std::collections::BTreeSet;

use http::Uri;

use super::{READ_ONLY_PATH, catalogue};
use engine::access::Resource;
use engine::app::App;
use engine::error::{Error, Result};
use engine::operation::{Effect, Operation};

/// Returns the resource that an address of the tools belongs to. The query is no part of a resource.
pub(super) fn resource(uri: &Uri) -> Resource {
    if uri.path() == READ_ONLY_PATH {
        Resource::McpReadOnly
    } else {
        Resource::Mcp
    }
}

/// The tools that an address offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    reads_only: bool,
    /// The named toolsets; null means all of them.
    toolsets: Option<BTreeSet<String>>,
}

impl Selection {
    /// Parses an address. Returns 400 for an unknown toolset. Toolsets are separated by commas or
    /// given as several parameters.
    pub(super) fn of(app: &App, uri: &Uri) -> Result<Self> {
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let lists: Vec<_> = query
            .filter(|(name, _)| name == "toolsets")
            .map(|(_, list)| list)
            .collect();
        let named: BTreeSet<String> = lists
            .iter()
            .flat_map(|list| list.split(','))
            .map(|name| name.trim().to_owned())
            .collect();
        let known = catalogue::toolsets(app);
        if let Some(unknown) = named.iter().find(|name| !known.contains(name.as_str())) {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(
                &["toolsets"],
                format!("must contain only {known}; \"{unknown}\" is unknown"),
            ));
        }
        Ok(Self {
            reads_only: uri.path() == READ_ONLY_PATH,
            toolsets: (!lists.is_empty()).then_some(named),
        })
    }

    /// Returns whether the selection contains an operation.
    pub(super) fn has(&self, operation: &Operation) -> bool {
        let is_named = self
            .toolsets
            .as_ref()
            .is_none_or(|named| named.contains(operation.toolset));
        is_named && (operation.effect == Effect::Read || !self.reads_only)
    }
}
