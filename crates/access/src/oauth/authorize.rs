//! The authorization endpoint (RFC 6749, section 3.1). An app redirects a browser to this endpoint.
//! This server shows the consent page (`consent.rs`), and then redirects the browser to the app
//! with an authorization code or an error.
//!
//! First, this module checks that the client has registered the redirect address. If not, it shows
//! an error page (RFC 6749, section 4.1.2.1). Any other error in the request is sent to the client
//! by a redirect of the browser. If no member is signed in, this redirect is made only to clients
//! that the platform created. For all other clients, the member must sign in first. Otherwise this
//! server would be an open redirector (RFC 9700, section 4.11.2).

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access::Resource;
use engine::error::Error;
use engine::pipeline::Service;
use form_urlencoded::Serializer;
use http::HeaderMap;
use uuid::Uuid;
use vestibule_http::surface::{attach_operation, request_id};

use super::client::{AppOrigin, ClientId, OauthClient};
use super::parameters::OauthParameters;
use super::pkce::Challenge;
use super::problem::{self, ErrorPageKind};
use super::refusal::{OauthError, OauthErrorCode};
use super::scope::ScopeSet;
use super::token::resource;
use super::{client_document, consent, paths, redirect};
use crate::people::{self, SignedIn};

/// The parameters of an authorization request. Other parameters are ignored (RFC 6749, section
/// 3.1).
pub(super) const REQUEST_PARAMETERS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
];

/// A request of a browser: an authorization request, or a sent form of the consent page.
pub(super) struct OauthRequest {
    pub(super) service: Arc<Service>,
    pub(super) headers: HeaderMap,
    pub(super) parameters: OauthParameters,
    pub(super) request_id: Uuid,
    /// The member who is signed in in the browser; `None` if no member is signed in.
    pub(super) signed_in: Option<SignedIn>,
}

/// The target of the redirect after an authorization request: the client, one of its registered
/// redirect addresses, and the request's `state`. The server adds a code or an error to the
/// address.
#[derive(Debug)]
pub(super) struct RedirectTarget {
    pub(super) client: OauthClient,
    pub(super) redirect_uri: String,
    state: Option<String>,
}

/// The validated parameters of a client's authorization request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthorizationRequest {
    pub(super) scopes: ScopeSet,
    pub(super) resource: Resource,
    pub(super) challenge: Challenge,
}

/// Handles `GET /oauth/authorize`, to which an app has redirected the browser.
pub(super) async fn get(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let parameters = OauthParameters::from_query(parts.uri.query());
    respond(service, request_id(&parts), parts.headers, Ok(parameters)).await
}

/// Handles `POST /oauth/authorize`. The body is a form with the parameters of an authorization
/// request (RFC 6749, section 3.1).
pub(super) async fn post(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let parameters = OauthParameters::from_form(&parts.headers, body).await;
    respond(service, request_id(&parts), parts.headers, parameters).await
}

async fn respond(
    service: Arc<Service>,
    request_id: Uuid,
    headers: HeaderMap,
    parameters: Result<OauthParameters, OauthError>,
) -> Response {
    let service_ref = service.clone();
    let page = async {
        let mut request = OauthRequest::begin(service, request_id, headers, parameters?).await?;
        let redirect_target = match request.redirect_target().await? {
            Ok(redirect_target) => redirect_target,
            Err(page) => return Ok(page),
        };
        match (request.authorization_request(), request.signed_in.take()) {
            (Err(error), signed_in)
                if signed_in.is_some() || redirect_target.client.origin == AppOrigin::Platform =>
            {
                Ok(request.redirect_with_error(&redirect_target, &error))
            }
            (_, None) => Ok(request.redirect_to_sign_in()),
            (Ok(authorization), Some(signed_in)) => {
                consent::show(&request, &redirect_target, &authorization, &signed_in).await
            }
            (Err(error), Some(_)) => Ok(request.redirect_with_error(&redirect_target, &error)),
        }
    };
    let mut response = match page.await {
        Ok(response) => response,
        Err(error) => error.into_page(&service_ref, request_id),
    };
    attach_operation(&mut response, "authorize", None);
    response
}

/// An error for which the browser cannot be redirected to the client, because the redirect address
/// is not known yet.
pub(super) enum PageError {
    /// The body of the request is not form data (`application/x-www-form-urlencoded`), or too long.
    Request(OauthError),
    /// An internal error of this server, or a failure of a service that it needs.
    Server(Error),
}

impl From<OauthError> for PageError {
    fn from(error: OauthError) -> Self {
        Self::Request(error)
    }
}

impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl PageError {
    /// Returns an error page in English. The browser's language is unknown here, because the
    /// request's headers are no longer available.
    pub(super) fn into_page(self, service: &Service, request_id: Uuid) -> Response {
        match self {
            Self::Request(error) => {
                error.log("authorize", "", request_id);
                problem::error_page(service, &HeaderMap::new(), None, ErrorPageKind::Request)
            }
            Self::Server(error) => {
                OauthError::from(error).log("authorize", "", request_id);
                problem::error_page(service, &HeaderMap::new(), None, ErrorPageKind::Unavailable)
            }
        }
    }
}

impl OauthRequest {
    /// Creates an authorization request from its parameters and headers. Reads the member who is
    /// signed in in the browser.
    pub(super) async fn begin(
        service: Arc<Service>,
        request_id: Uuid,
        headers: HeaderMap,
        parameters: OauthParameters,
    ) -> Result<Self, Error> {
        let signed_in = people::signed_in(&service, &headers, request_id).await?;
        Ok(Self {
            service,
            headers,
            parameters,
            request_id,
            signed_in,
        })
    }

    /// Returns the client and its redirect address. Returns an error page if the client is unknown,
    /// or if it has not registered the address. Returns a redirect to the sign-in page if
    /// the client's metadata document must be fetched and no member is signed in.
    pub(super) async fn redirect_target(&self) -> Result<Result<RedirectTarget, Response>, Error> {
        let Some(id) = self.parameters.get("client_id").and_then(ClientId::parse) else {
            return Ok(Err(self.respond_with_error_page(ErrorPageKind::Client, "")));
        };
        let (now, client_id) = (self.service.clock.now(), id.clone());
        let stored = self
            .service
            .store
            .read(move |tx| OauthClient::find(tx, &client_id))
            .await?;
        let client = match (&id, &self.signed_in) {
            (ClientId::App(_), _) => stored.ok_or(ErrorPageKind::Client),
            (ClientId::Document(url), signed_in) => {
                match (client_document::if_fresh(stored, now), signed_in) {
                    (Some(client), _) => Ok(client),
                    // The server fetches the metadata document only for a signed-in member, so that
                    // strangers cannot make the server send requests.
                    (None, None) => return Ok(Err(self.redirect_to_sign_in())),
                    (None, Some(signed_in)) => {
                        client_document::fetch_client(&self.service, url, &signed_in.organization)
                            .await?
                            .ok_or(ErrorPageKind::Document)
                    }
                }
            }
        };
        let client = match client {
            Ok(client) => client,
            Err(problem) => return Ok(Err(self.respond_with_error_page(problem, &id.to_string()))),
        };
        let requested = self.parameters.get("redirect_uri");
        let is_invalid = requested.is_none() && self.parameters.has("redirect_uri");
        match redirect::redirect_address(&client.data.redirect_uris, requested)
            .ok()
            .filter(|_| !is_invalid)
        {
            Some(redirect_uri) => Ok(Ok(RedirectTarget {
                client,
                redirect_uri,
                state: self.parameters.get("state").map(str::to_owned),
            })),
            None => Ok(Err(
                self.respond_with_error_page(ErrorPageKind::Redirect, &id.to_string())
            )),
        }
    }

    /// Validates the parameters of the authorization request.
    pub(super) fn authorization_request(&self) -> Result<AuthorizationRequest, OauthError> {
        parse_request(&self.parameters, &self.service.app_state.public_url)
    }

    /// Redirects to the sign-in page. After the sign-in, the browser repeats this request. Returns
    /// an error page if the request is too long for a return path.
    pub(super) fn redirect_to_sign_in(&self) -> Response {
        let query = Serializer::new(String::new())
            .extend_pairs(self.parameters.all(&REQUEST_PARAMETERS))
            .finish();
        let path = format!("{}?{query}", paths::AUTHORIZE);
        if people::may_return_to(&path) {
            return people::redirect_to_sign_in(&self.service, &path);
        }
        self.respond_with_error_page(
            ErrorPageKind::TooLong,
            self.parameters.get("client_id").unwrap_or_default(),
        )
    }

    /// Redirects the browser to the client with an error, and logs the error.
    pub(super) fn redirect_with_error(
        &self,
        redirect_target: &RedirectTarget,
        error: &OauthError,
    ) -> Response {
        error.log(
            "authorize",
            &redirect_target.client.id.to_string(),
            self.request_id,
        );
        self.redirect_with(
            redirect_target,
            &[
                ("error", error.code.as_ref()),
                ("error_description", error.description),
            ],
        )
    }

    /// Redirects the browser to the client's redirect URI. The query of this URI contains the
    /// result, the client's `state` (RFC 6749, section 4.1.2) and the issuer (RFC 9207, section 2).
    pub(super) fn redirect_with(
        &self,
        redirect_target: &RedirectTarget,
        result: &[(&str, &str)],
    ) -> Response {
        let state = redirect_target
            .state
            .as_deref()
            .map(|state| ("state", state));
        let parameters: Vec<_> = result
            .iter()
            .copied()
            .chain(state)
            .chain([("iss", self.service.app_state.public_url.as_str())])
            .collect();
        people::redirect(&redirect::with_parameters(
            &redirect_target.redirect_uri,
            &parameters,
        ))
    }

    /// Returns an error page, and logs the error.
    pub(super) fn respond_with_error_page(&self, problem: ErrorPageKind, client: &str) -> Response {
        tracing::info!(
            request_id = %self.request_id,
            endpoint = "authorize",
            client,
            reason = problem.reason(),
            "refused an OAuth request"
        );
        problem::error_page(
            &self.service,
            &self.headers,
            self.signed_in.as_ref(),
            problem,
        )
    }
}

/// Returns the site to which the authorization endpoint redirects for the request in `path`. The
/// content security policy of a page with a form that leads to `path` needs this site in
/// `form-action`, because browsers also check the redirects after a form. See
/// [`people::FormRedirects`].
pub(super) fn form_redirect_source(path: &str) -> Option<String> {
    let query = path.strip_prefix(paths::AUTHORIZE)?.strip_prefix('?')?;
    redirect::claimed_source(OauthParameters::from_query(Some(query)).get("redirect_uri")?)
}

/// Validates an authorization request (RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707,
/// section 2.1). If the request names no resource, the resource is the tool interface.
fn parse_request(
    parameters: &OauthParameters,
    public_url: &str,
) -> Result<AuthorizationRequest, OauthError> {
    parameters.check()?;
    match parameters.get("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(OauthError::new(
                OauthErrorCode::UnsupportedResponseType,
                "response_type must be code.",
            ));
        }
        None => return Err(OauthError::invalid_request("response_type is missing.")),
    }
    let challenge = Challenge::parse(
        parameters.get("code_challenge"),
        parameters.get("code_challenge_method"),
    )?;
    let scopes = ScopeSet::parse_or_all(parameters.get("scope"))?;
    let resource = resource(parameters, public_url)?.unwrap_or(Resource::Mcp);
    Ok(AuthorizationRequest {
        scopes,
        resource,
        challenge,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALID: [(&str, &str); 6] = [
        ("response_type", "code"),
        (
            "code_challenge",
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        ),
        ("code_challenge_method", "S256"),
        ("scope", "view_tasks"),
        ("resource", "https://x.example/api/v1"),
        ("state", "s"),
    ];

    fn parsed(parameters: &[(&str, &str)]) -> Result<AuthorizationRequest, OauthError> {
        let parameters = OauthParameters::of(
            parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        parse_request(&parameters, "https://x.example")
    }

    #[test]
    fn optional_parameters_have_defaults_and_unknown_are_ignored() {
        assert_eq!(parsed(&VALID).unwrap().resource, Resource::Api);
        let request = parsed(&VALID[..3]).unwrap();
        assert_eq!(
            (request.scopes, request.resource),
            (ScopeSet::all(), Resource::Mcp)
        );
        let unknown = [&VALID[..], &[("prompt", "none"), ("nonce", "x")]].concat();
        assert!(parsed(&unknown).is_ok());
    }

    #[test]
    fn each_fault_of_a_request_has_its_error_code() {
        for (name, value, code) in [
            ("response_type", "", OauthErrorCode::InvalidRequest),
            (
                "response_type",
                "token",
                OauthErrorCode::UnsupportedResponseType,
            ),
            (
                "response_type",
                "code id_token",
                OauthErrorCode::UnsupportedResponseType,
            ),
            ("code_challenge", "", OauthErrorCode::InvalidRequest),
            ("code_challenge", "short", OauthErrorCode::InvalidRequest),
            ("code_challenge_method", "", OauthErrorCode::InvalidRequest),
            (
                "code_challenge_method",
                "plain",
                OauthErrorCode::InvalidRequest,
            ),
            (
                "code_challenge_method",
                "S512",
                OauthErrorCode::InvalidRequest,
            ),
            ("scope", "view_everything", OauthErrorCode::InvalidScope),
            (
                "resource",
                "https://x.example/",
                OauthErrorCode::InvalidTarget,
            ),
            (
                "resource",
                "https://y.example/mcp",
                OauthErrorCode::InvalidTarget,
            ),
            ("state", "\u{0}", OauthErrorCode::InvalidRequest),
        ] {
            let changed = VALID.map(|(own, value_of_valid)| {
                (own, if own == name { value } else { value_of_valid })
            });
            assert_eq!(parsed(&changed).unwrap_err().code, code, "{name}={value}");
        }
        for twice in VALID {
            let parameters = [&VALID[..], &[twice]].concat();
            assert_eq!(
                parsed(&parameters).unwrap_err().code,
                OauthErrorCode::InvalidRequest,
                "{}",
                twice.0
            );
        }
    }

    proptest! {
        #[test]
        fn parsing_an_authorization_request_never_panics(query in ".{0,200}") {
            let _ = parse_request(
                &OauthParameters::from_query(Some(&query)),
                "https://x.example",
            );
        }
    }
}
