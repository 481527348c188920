//! The tools at a URL. `/mcp/read-only` has the tools that only read. The query parameter
//! `toolsets` selects groups of tools.

use std::collections::BTreeSet;

use engine::access::Resource;
use engine::app::App;
use engine::error::{Error, Result};
use engine::operation::{Effect, Operation};
use http::Uri;

use super::{READ_ONLY_PATH, catalogue};

/// Returns the OAuth resource of the tools at a URL. The query of the URL does not change the
/// resource.
pub(super) fn resource(uri: &Uri) -> Resource {
    if uri.path() == READ_ONLY_PATH {
        Resource::McpReadOnly
    } else {
        Resource::Mcp
    }
}

/// The tools that can be called at a URL: all tools or only some groups of tools, with or without
/// the tools that write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    reads_only: bool,
    /// The names of the selected groups of tools. `None` means all tools.
    toolsets: Option<BTreeSet<String>>,
}

impl Selection {
    /// Parses the URL of a request. Returns 400 for an unknown toolset. The query parameter
    /// `toolsets` lists toolsets, separated by commas, and may be repeated.
    pub(super) fn of(app: &App, uri: &Uri) -> Result<Self> {
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let lists: Vec<_> = query
            .filter(|(name, _)| name == "toolsets")
            .map(|(_, list)| list)
            .collect();
        let selected: BTreeSet<String> = lists
            .iter()
            .flat_map(|list| list.split(','))
            .map(|name| name.trim().to_owned())
            .collect();
        let toolsets = catalogue::toolsets(app);
        if let Some(unknown) = selected
            .iter()
            .find(|name| !toolsets.contains(name.as_str()))
        {
            let toolsets = toolsets.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(
                &["toolsets"],
                format!("must contain only {toolsets}; \"{unknown}\" is unknown"),
            ));
        }
        Ok(Self {
            reads_only: uri.path() == READ_ONLY_PATH,
            toolsets: (!lists.is_empty()).then_some(selected),
        })
    }

    /// Returns whether the selection contains an operation. Its toolset must be selected. If the
    /// selection is limited to reads, the operation must be a read.
    pub(super) fn has(&self, operation: &Operation) -> bool {
        let is_selected = self
            .toolsets
            .as_ref()
            .is_none_or(|selected| selected.contains(operation.toolset));
        is_selected && (operation.effect == Effect::Read || !self.reads_only)
    }
}
