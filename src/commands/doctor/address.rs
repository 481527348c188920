//! Checks the public address: whether requests to it reach this service, on every public path.

use std::time::Duration;

use access::people::is_loopback;
use engine::error::innermost;
use jiff::Timestamp;
use reqwest::header::DATE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::report::DoctorReport;
use crate::config::ServeFlags;

const ADDRESS: &str = "public URL";
/// Time limit for a response.
const DEADLINE: Duration = Duration::from_secs(5);
/// The path of the authorization server's metadata, whose field `issuer` is the public address.
const METADATA: &str = "/.well-known/oauth-authorization-server";
/// Paths that every proxy must forward to the service.
const FORWARDED_PATHS: [&str; 3] = [
    "/console",
    "/docs",
    "/.well-known/oauth-protected-resource/mcp",
];

/// Checks whether requests to the public URL reach this service. Returns the time in the `Date`
/// header of the response.
pub(super) async fn check(flags: &ServeFlags, report: &mut DoctorReport) -> Option<Timestamp> {
    let Some(address) = &flags.public_address() else {
        report.add_note(
            ADDRESS,
            "it is not set, so links lead to the address that the service listens on",
            "set --public-url to the address that guests see",
        );
        return None;
    };
    let url = Url::parse(address).ok()?;
    if url.scheme() == "http" && !is_loopback(&url) {
        report.add_error(
            ADDRESS,
            &format!("{address} is not https, so links, cookies and keys travel readably"),
            "serve TLS, or put a proxy with TLS before the service, and begin --public-url with \
                https",
        );
    }
    let client = Client::builder()
        .timeout(DEADLINE)
        .redirect(Policy::none())
        .no_proxy()
        .build()
        .ok()?;
    let response = match get(&client, &format!("{address}{METADATA}")).await {
        Ok(response) => response,
        Err(reason) => {
            report.add_note(
                ADDRESS,
                &format!("nothing answers at {address}: {reason}"),
                "start the service, and check the DNS record, the proxy and its certificate",
            );
            return None;
        }
    };
    let time = time_of(&response);
    if check_metadata(response, address, report).await {
        check_paths(&client, address, &url, report).await;
    }
    time
}

/// Checks the response with the metadata of the authorization server. Returns whether the issuer in
/// the metadata is the public address.
async fn check_metadata(response: Response, address: &str, report: &mut DoctorReport) -> bool {
    let status = response.status();
    if status != StatusCode::OK {
        report.add_error(
            ADDRESS,
            &format!("{address}{METADATA} answers {status}"),
            "let the proxy pass on /.well-known; docs/how-to has a page for each proxy",
        );
        return false;
    }
    let metadata: Option<Value> = response.json().await.ok();
    let issuer = metadata
        .as_ref()
        .and_then(|metadata| metadata["issuer"].as_str());
    if issuer == Some(address) {
        report.add_success(ADDRESS, &format!("{address} leads to this service"));
        return true;
    }
    report.add_error(
        ADDRESS,
        &format!(
            "the service at {address} has the public URL {}",
            issuer.unwrap_or("of something else")
        ),
        "give the running service the same --public-url, and restart it",
    );
    false
}

/// Checks that a proxy forwards the public paths, and that it does not forward `/metrics`.
async fn check_paths(client: &Client, address: &str, url: &Url, report: &mut DoctorReport) {
    let prefix = url.path().trim_end_matches('/');
    // For an address such as `https://host/prefix`, clients look for the metadata at the well-known
    // path followed by `/prefix`, not below `/prefix` (RFC 8414).
    let metadata_of_prefix = (!prefix.is_empty()).then(|| {
        let host = address.strip_suffix(prefix).unwrap_or(address);
        format!("{host}{METADATA}{prefix}")
    });
    let urls = FORWARDED_PATHS
        .iter()
        .map(|path| format!("{address}{path}"));
    for url in urls.chain(metadata_of_prefix) {
        let status = get(client, &url).await.map(|response| response.status());
        if status.is_ok_and(|status| status == StatusCode::NOT_FOUND || status.is_server_error()) {
            report.add_error(
                ADDRESS,
                &format!("{url} does not reach the service"),
                "let the proxy pass this path on; docs/how-to has a page for each proxy",
            );
        }
    }
    let metrics = get(client, &format!("{address}/metrics")).await;
    if !is_loopback(url) && metrics.is_ok_and(|response| response.status() == StatusCode::OK) {
        report.add_note(
            ADDRESS,
            &format!("{address}/metrics can be read without a credential"),
            "keep /metrics and /platform/v1 inside your network",
        );
    }
}

/// Sends a GET request. Describes the error if there is no response.
async fn get(client: &Client, url: &str) -> Result<Response, String> {
    let text = |error: reqwest::Error| {
        let error = error.without_url();
        if error.is_timeout() {
            "no answer in time".to_owned()
        } else {
            innermost(&error).to_string()
        }
    };
    client.get(url).send().await.map_err(text)
}

/// Returns the time in a response's `Date` header. Returns `None` if the header is missing or
/// invalid.
fn time_of(response: &Response) -> Option<Timestamp> {
    let date = response.headers().get(DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(date)
        .ok()
        .map(|date| date.timestamp())
}
