//! What flags say of how people come in.

use engine::pipeline::Service;
use url::Url;

use super::return_path;

/// What flags say of how people come in; a part of the kit.
#[derive(Debug, Clone, Default)]
pub struct SignIn {
    /// Where people are sent who come without a ticket (`--sign-in-url`).
    pub elsewhere: Option<Url>,
}

/// Where people are sent who come without a ticket, with where to come back to.
pub(super) fn elsewhere(service: &Service, return_to: Option<&str>) -> Option<String> {
    let mut url = service.kit.part::<SignIn>()?.elsewhere.clone()?;
    if let Some(return_to) = return_to.and_then(return_path::right) {
        url.query_pairs_mut().append_pair("return_to", return_to);
    }
    Some(url.into())
}
