//! Settings of the sign-in, from command-line flags.

use engine::pipeline::Service;
use url::Url;

use super::provider::IdentityProvider;
use super::return_path;

/// The settings of the sign-in. They are an extension of the application state.
#[derive(Default)]
pub struct SignInSettings {
    /// The sign-in page of the platform (`--sign-in-url`), to which visitors without a sign-in
    /// ticket are redirected.
    pub external_url: Option<Url>,
    /// An OpenID provider for sign-ins (`--oidc-issuer`).
    pub provider: Option<IdentityProvider>,
}

/// Returns the URL of the platform's sign-in page, with the return path in its query. Returns
/// `None` if the flag `--sign-in-url` is not set.
pub(super) fn external_sign_in_url(service: &Service, return_to: Option<&str>) -> Option<String> {
    let mut url = service
        .app_state
        .extension::<SignInSettings>()?
        .external_url
        .clone()?;
    if let Some(return_to) = return_to.and_then(return_path::valid_return_path) {
        url.query_pairs_mut().append_pair("return_to", return_to);
    }
    Some(url.into())
}

/// Returns the OpenID provider with which members sign in, if `--oidc-issuer` names one.
pub(super) fn provider(service: &Service) -> Option<&IdentityProvider> {
    service
        .app_state
        .extension::<SignInSettings>()?
        .provider
        .as_ref()
}
