//! Paths of the sign-in pages, and functions that build addresses from them. If the public URL has
//! a path prefix, the addresses include it. A proxy may serve this service below such a prefix.

use engine::pipeline::Service;
use form_urlencoded::Serializer;
use url::Url;

use super::return_path;

pub(super) const SIGN_IN: &str = "/sign-in";
/// The path of the page that sets up the first organization.
pub(super) const SETUP: &str = "/setup";
pub(super) const SIGN_OUT: &str = "/sign-out";
/// The path that begins a sign-in: it redirects the browser to the OpenID provider.
pub(super) const SIGN_IN_WITH_PROVIDER: &str = "/sign-in/provider";
/// The path to which the OpenID provider redirects browsers after a sign-in.
pub const PROVIDER_CALLBACK: &str = "/sign-in/callback";

/// Returns the path that browsers request: the path prefix of the public URL, if it has one,
/// followed by `path`.
#[must_use]
pub fn address(service: &Service, path: &str) -> String {
    let prefix = Url::parse(&service.app_state.public_url)
        .map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{}{path}", prefix.unwrap_or_default())
}

/// Adds the parameter `return_to` to `path`. Its value is the path that the browser opens after the
/// sign-in. Omits an invalid value.
pub(super) fn with_return_path(path: &str, return_to: Option<&str>) -> String {
    match return_to.and_then(return_path::valid_return_path) {
        Some(return_to) => format!(
            "{path}?{}",
            Serializer::new(String::new())
                .append_pair("return_to", return_to)
                .finish()
        ),
        None => path.to_owned(),
    }
}

/// Adds a sign-in ticket to the query of a path. A ticket needs no percent-encoding, because all
/// its characters are URL-safe.
pub(super) fn with_ticket(path: &str, ticket: &str) -> String {
    format!("{path}?ticket={ticket}")
}
