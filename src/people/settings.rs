//! What flags say of how people come in.

use engine::pipeline::Service;
use url::Url;

use super::provider::Provider;
use super::return_path;

/// What flags say of how people come in; a part of the kit.
#[derive(Default)]
pub struct SignIn {
    /// Where people are sent who come without a ticket (`--sign-in-url`).
    pub elsewhere: Option<Url>,
    /// Where they can sign in besides (`--oidc-issuer`).
    pub provider: Option<Provider>,
}

/// Where people are sent who come without a ticket, with where to come back to.
pub(super) fn elsewhere(service: &Service, return_to: Option<&str>) -> Option<String> {
    let mut url = service.kit.part::<SignIn>()?.elsewhere.clone()?;
    if let Some(return_to) = return_to.and_then(return_path::right) {
        url.query_pairs_mut().append_pair("return_to", return_to);
    }
    Some(url.into())
}

/// The same place as a content security policy names it.
pub(super) fn elsewhere_source(service: &Service) -> Option<String> {
    Some(service.kit.part::<SignIn>()?.elsewhere.as_ref()?.origin().ascii_serialization())
}

/// Where people can sign in besides.
pub(super) fn provider(service: &Service) -> Option<&Provider> {
    service.kit.part::<SignIn>()?.provider.as_ref()
}
