//! Which of the tools an address is of: `/mcp/read-only` has those that read, `?toolsets=…` those of some sets.

use std::collections::BTreeSet;

use http::Uri;

use super::{READ_ONLY_PATH, catalogue};
use crate::app::App;
use crate::error::{Error, Result};
use crate::operation::{Effect, Operation};

/// The tools that an address is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selection {
    reads_only: bool,
    /// All where none is named.
    toolsets: Option<BTreeSet<String>>,
}

impl Selection {
    /// 400 for a set that there is not. A list is written with commas, as several parameters, or both.
    pub(super) fn of(app: &App, uri: &Uri) -> Result<Self> {
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let lists: Vec<_> = query.filter(|(name, _)| name == "toolsets").map(|(_, list)| list).collect();
        let named: BTreeSet<String> = lists.iter().flat_map(|list| list.split(',')).map(|name| name.trim().to_owned()).collect();
        let known = catalogue::toolsets(app);
        if let Some(unknown) = named.iter().find(|name| !known.contains(name.as_str())) {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(&["toolsets"], format!("there is no toolset \"{unknown}\"; there are {known}")));
        }
        Ok(Self { reads_only: uri.path() == READ_ONLY_PATH, toolsets: (!lists.is_empty()).then_some(named) })
    }

    /// Whether an operation is among them.
    pub(super) fn has(&self, operation: &Operation) -> bool {
        let is_named = self.toolsets.as_ref().is_none_or(|named| named.contains(operation.toolset));
        is_named && (operation.effect == Effect::Read || !self.reads_only)
    }
}
