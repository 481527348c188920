//! Where the pages for people are: below whatever a proxy in front puts before the path.

use engine::pipeline::Service;
use form_urlencoded::Serializer;
use url::Url;

use super::return_path;

/// Where people sign in.
pub(super) const SIGN_IN: &str = "/sign-in";
/// Where they sign out.
pub(super) const SIGN_OUT: &str = "/sign-out";
/// Where the way to the organization's provider begins.
pub(super) const TO_PROVIDER: &str = "/sign-in/provider";
/// Where the provider sends them back to.
pub(super) const FROM_PROVIDER: &str = "/sign-in/callback";

/// The address of a path of this service as a browser knows it, on the host that it has asked already.
#[must_use]
pub fn address(service: &Service, path: &str) -> String {
    let prefix = Url::parse(&service.kit.public_url).map(|url| url.path().trim_end_matches('/').to_owned());
    format!("{}{path}", prefix.unwrap_or_default())
}

/// A path with where to come back to, where that is a path of this service.
pub(super) fn returning(path: &str, return_to: Option<&str>) -> String {
    match return_to.and_then(return_path::right) {
        Some(return_to) => format!("{path}?{}", Serializer::new(String::new()).append_pair("return_to", return_to).finish()),
        None => path.to_owned(),
    }
}

/// A path with a ticket, which is made of characters that an address has as they are.
pub(super) fn with_ticket(path: &str, ticket: &str) -> String {
    format!("{path}?ticket={ticket}")
}
