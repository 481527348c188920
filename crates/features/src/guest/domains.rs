//! Domains of stays: the address of a stay's page, and the paths that each host serves.
//! `records/domains.rs` decides who owns a host.
//!
//! A stay has a domain if its branding has a custom URL for guest portals. The domain is the host
//! of this URL. The branding is that of the portal that serves the flat, or else the organization's
//! default branding.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use engine::access::organization_of;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::json;
use url::Url;
use uuid::Uuid;
use vestibule_http::surface::{
    GateDecision, HostRequest, attach_operation, query, refuse, request_id,
};

use super::link::PREVIEW_PREFIX;
use crate::portals;
use crate::records::{RecordKind, Reservation, find_domain, host_name, portal_hosts, records_as};
use crate::scopes::portals_of;

/// A path of the guest's page whose token opens no stay. The page then tells the guest, in the
/// browser's language, that the stay does not exist.
const NO_STAY: &str = "/stay/-";

/// Returns the address of a stay's page: the public URL, on `host` if the stay has a domain.
#[must_use]
pub fn page_address(public_url: &str, host: Option<&str>, token: &str) -> String {
    let base = public_url.trim_end_matches('/');
    let at_host = host.and_then(|host| {
        let mut url = Url::parse(base).ok()?;
        url.set_host(Some(host)).ok()?;
        Some(url)
    });
    match at_host {
        Some(url) => format!("{}/stay/{token}", url.as_str().trim_end_matches('/')),
        None => format!("{base}/stay/{token}"),
    }
}

/// Returns the URL at which the guest opens the page of a reservation. It contains `token`.
pub(crate) fn stay_url(
    context: &mut Context<'_, '_>,
    reservation: Uuid,
    token: &str,
) -> Result<String> {
    let hosts = hosts(context, vec![reservation])?;
    let host = hosts.get(&reservation).map(String::as_str);
    Ok(page_address(context.public_url(), host, token))
}

/// Returns the hosts of the custom URLs on which guests open the pages of these reservations, by
/// the reservation's id. Omits reservations without a custom URL.
pub fn hosts(
    context: &mut Context<'_, '_>,
    reservations: Vec<Uuid>,
) -> Result<HashMap<Uuid, String>> {
    let urls = portal_hosts(context)?;
    if urls.is_empty() {
        return Ok(HashMap::new());
    }
    let (mut of_branding, mut default) = (HashMap::new(), None);
    for branding in portals::brandings(context)? {
        let Some(host) = branding.custom_url_id.and_then(|id| urls.get(&id)) else {
            continue;
        };
        if branding.is_default {
            default = Some(host.clone());
        }
        of_branding.insert(branding.id, host.clone());
    }
    if of_branding.is_empty() {
        return Ok(HashMap::new());
    }
    let stays = records_as::<Reservation>(context, RecordKind::Reservation, reservations)?;
    let flats: BTreeSet<Uuid> = stays.values().filter_map(|stay| stay.property_id).collect();
    let portals = portals_of(context, flats.into_iter().collect())?;
    let distinct: BTreeSet<Uuid> = portals.values().copied().collect();
    let mut branding_of = HashMap::new();
    for id in distinct {
        let portal = portals::find_portal(context, id)?;
        branding_of.insert(id, portal.and_then(|portal| portal.branding_id));
    }
    let host = |stay: &Reservation| {
        let portal = stay.property_id.and_then(|flat| portals.get(&flat));
        match portal.and_then(|portal| branding_of.get(portal).copied().flatten()) {
            Some(branding) => of_branding.get(&branding).cloned(),
            None => default.clone(),
        }
    };
    let hosts = stays
        .iter()
        .filter_map(|(id, stay)| Some((*id, host(stay)?)));
    Ok(hosts.collect())
}

/// Decides whether a host other than the host of the public URL serves a request. The host of a
/// custom URL serves the guest's page and the guest interface, for the stays of its organization,
/// and `/healthz`. Any other path on it is a 404. A host that is not registered serves every path.
pub fn gate(
    service: Arc<Service>,
    host_request: HostRequest,
) -> BoxFuture<'static, Result<GateDecision>> {
    async move {
        let HostRequest { host, path } = host_request;
        if path == "/healthz" {
            return Ok(GateDecision::Pass);
        }
        let domain = service.store.read(move |tx| find_domain(tx, &host)).await?;
        let Some(domain) = domain else {
            return Ok(GateDecision::Pass);
        };
        if !domain.is_guest_portal {
            return Err(Error::not_found("Route"));
        }
        let service_path = ServicePath::of(&path);
        let is_own = match service_path {
            ServicePath::Page(token) | ServicePath::Interface(token) => {
                organization_in_token(token) == Some(domain.owner)
            }
            ServicePath::Icon => true,
            ServicePath::Elsewhere => false,
        };
        match service_path {
            _ if is_own => Ok(GateDecision::Pass),
            ServicePath::Page(_) => Ok(GateDecision::Rewrite(NO_STAY)),
            ServicePath::Interface(_) => Err(Error::not_found("Stay")),
            ServicePath::Icon | ServicePath::Elsewhere => Err(Error::not_found("Route")),
        }
    }
    .boxed()
}

/// The part of the service that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServicePath<'p> {
    /// The guest's page, with the token of a stay.
    Page(&'p str),
    /// The guest interface, with the token of a stay.
    Interface(&'p str),
    /// The icon of the guest's page.
    Icon,
    /// Any other path. Under a host that belongs to a guest portal, such a path gets a 404.
    Elsewhere,
}

impl<'p> ServicePath<'p> {
    fn of(path: &'p str) -> Self {
        if let Some(rest) = path.strip_prefix("/stay/") {
            Self::Page(leading_token(rest))
        } else if let Some(rest) = path.strip_prefix("/guest/v1/stays/") {
            Self::Interface(leading_token(rest))
        } else {
            match path {
                "/stay" => Self::Page(""),
                "/favicon.ico" => Self::Icon,
                _ => Self::Elsewhere,
            }
        }
    }
}

/// Returns the longest beginning of a text that has only the characters of a token: letters,
/// digits, `-` and `_`.
fn leading_token(rest: &str) -> &str {
    let is_token_character =
        |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let end = rest.find(|character| !is_token_character(character));
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

/// Returns the organization that the token of a stay or of a preview contains. This does not check
/// whether the token is valid.
fn organization_in_token(token: &str) -> Option<Uuid> {
    organization_of(PREVIEW_PREFIX, token).or_else(|| organization_of("", token))
}

/// Returns the route that checks whether a host is registered for guest portals. A proxy calls it
/// before it obtains a certificate for the host.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/domain-check", get(check))
        .with_state(service.clone())
}

async fn check(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let id = request_id(&parts);
    let query = query(&parts);
    let mut domains = query.iter().filter(|(name, _)| name == "domain");
    let host = match (domains.next(), domains.next()) {
        (Some((_, text)), None) => host_name(text),
        _ => None,
    };
    let mut response = match is_registered(&service, host).await {
        Ok(true) => {
            let body = json!({ "data": {}, "meta": { "requestId": id } });
            let headers = [
                (CONTENT_TYPE, "application/json"),
                (CACHE_CONTROL, "no-store"),
            ];
            (headers, body.to_string()).into_response()
        }
        Ok(false) => refuse(&Error::not_found("Domain"), id),
        Err(error) => refuse(&error, id),
    };
    attach_operation(&mut response, "checkDomain", None);
    response
}

/// Returns whether guest portals are served under a host.
async fn is_registered(service: &Service, host: Option<String>) -> Result<bool> {
    let Some(host) = host else {
        return Ok(false);
    };
    let domain = service.store.read(move |tx| find_domain(tx, &host)).await?;
    Ok(domain.is_some_and(|domain| domain.is_guest_portal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_keeps_the_scheme_and_the_port_of_the_public_url() {
        let at = |public_url: &str, host| page_address(public_url, host, "abc");
        let host = Some("stay.example.org");
        assert_eq!(at("https://a.example", None), "https://a.example/stay/abc");
        assert_eq!(
            at("https://a.example", host),
            "https://stay.example.org/stay/abc"
        );
        assert_eq!(
            at("http://a.example:8080/", host),
            "http://stay.example.org:8080/stay/abc"
        );
        assert_eq!(
            at("http://127.0.0.1:80", host),
            "http://stay.example.org/stay/abc"
        );
        assert_eq!(
            at("https://a.example/guests", host),
            "https://stay.example.org/guests/stay/abc"
        );
        assert_eq!(at("", host), "/stay/abc");
    }

    #[test]
    fn a_place_is_known_by_its_path() {
        for (path, place) in [
            ("/stay/abc", ServicePath::Page("abc")),
            ("/stay/a-_1/steps/x", ServicePath::Page("a-_1")),
            ("/stay/abc.", ServicePath::Page("abc")),
            ("/stay/abc%2Fd", ServicePath::Page("abc")),
            ("/stay/", ServicePath::Page("")),
            ("/stay", ServicePath::Page("")),
            ("/guest/v1/stays/abc/submit", ServicePath::Interface("abc")),
            ("/favicon.ico", ServicePath::Icon),
            ("/guest/v1/openapi.json", ServicePath::Elsewhere),
            ("/stays/abc", ServicePath::Elsewhere),
            ("/api/v1/portals", ServicePath::Elsewhere),
            ("/", ServicePath::Elsewhere),
        ] {
            assert_eq!(ServicePath::of(path), place, "{path}");
        }
    }
}
