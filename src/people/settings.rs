//! Settings of the sign-in, from command-line flags.

use engine::pipeline::Service;
use url::Url;

use super::provider::IdentityProvider;
use super::return_path;

/// The settings of the sign-in, as an extension of the application state.
#[derive(Default)]
pub struct SignIn {
    /// The sign-in page of the platform, for visitors without a ticket (`--sign-in-url`).
    pub elsewhere: Option<Url>,
    /// An OpenID provider for sign-ins (`--oidc-issuer`).
    pub provider: Option<IdentityProvider>,
}

/// Returns the address of the platform's sign-in page, with the return path. Returns `None` without
/// `--sign-in-url`.
pub(super) fn elsewhere(service: &Service, return_to: Option<&str>) -> Option<String> {
    let mut url = service.app_state.extension::<SignIn>()?.elsewhere.clone()?;
    if let Some(return_to) = return_to.and_then(return_path::right) {
        url.query_pairs_mut().append_pair("return_to", return_to);
    }
    Some(url.into())
}

/// Returns the provider, if there is one.
pub(super) fn provider(service: &Service) -> Option<&IdentityProvider> {
    service.app_state.extension::<SignIn>()?.provider.as_ref()
}
