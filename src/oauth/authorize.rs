//! The authorization endpoint (RFC 6749, section 3.1). An app redirects a browser here. This server
//! shows the consent page (`consent.rs`), and then redirects the browser to the app with a code or an
//! error.
//!
//! First this module checks that the client has registered the redirect address. Until then, an
//! error is shown on a page (RFC 6749, section 4.1.2.1). Later errors go to the client in a redirect.
//! Before sign-in, only clients of the platform get such a redirect; with a redirect for every
//! registered client, this server would be an open redirector (RFC 9700, section 4.11.2).

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

use super::client::{AppOrigin, Client, ClientId};
use super::parameters::Parameters;
use super::pkce::Challenge;
use super::problem::{self, PageProblem};
use super::refusal::{Code, OauthRefusal};
use super::scope::ScopeSet;
use super::token::resource;
use super::{client_document, consent, paths, redirect};
use crate::people::{self, SignedIn};

/// The parameters of an authorization request. Other parameters are ignored (RFC 6749, section 3.1).
pub(super) const NAMES: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
];

/// A browser's request to the authorization endpoint or the consent form.
pub(super) struct OauthRequest {
    pub(super) service: Arc<Service>,
    pub(super) headers: HeaderMap,
    pub(super) parameters: Parameters,
    pub(super) request_id: Uuid,
    /// The member who is signed in in the browser.
    pub(super) signed_in: Option<SignedIn>,
}

/// A client and the registered address to which the server redirects the browser with the result.
#[derive(Debug)]
pub(super) struct AnswerAddress {
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    state: Option<String>,
}

/// The validated parameters of a client's request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthorizationRequest {
    pub(super) scopes: ScopeSet,
    pub(super) resource: Resource,
    pub(super) challenge: Challenge,
}

/// `GET /oauth/authorize`.
pub(super) async fn get(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let parameters = Parameters::of_query(parts.uri.query());
    respond(service, request_id(&parts), parts.headers, Ok(parameters)).await
}

/// `POST /oauth/authorize`: the same request as a form (RFC 6749, section 3.1).
pub(super) async fn post(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let parameters = Parameters::of_form(&parts.headers, body).await;
    respond(service, request_id(&parts), parts.headers, parameters).await
}

async fn respond(
    service: Arc<Service>,
    request_id: Uuid,
    headers: HeaderMap,
    parameters: Result<Parameters, OauthRefusal>,
) -> Response {
    let service_ref = service.clone();
    let page = async {
        let mut request = OauthRequest::begin(service, request_id, headers, parameters?).await?;
        let redirect_target = match request.way().await? {
            Ok(redirect_target) => redirect_target,
            Err(page) => return Ok(page),
        };
        match (request.asked(), request.signed_in.take()) {
            (Err(error), signed_in)
                if signed_in.is_some() || redirect_target.client.origin == AppOrigin::Platform =>
            {
                Ok(request.back(&redirect_target, &error))
            }
            (_, None) => Ok(request.sign_in_first()),
            (Ok(authorization), Some(signed_in)) => {
                consent::show(&request, &redirect_target, &authorization, &signed_in).await
            }
            (Err(error), Some(_)) => Ok(request.back(&redirect_target, &error)),
        }
    };
    let mut response = match page.await {
        Ok(response) => response,
        Err(error) => error.answer(&service_ref, request_id),
    };
    attach_operation(&mut response, "authorize", None);
    response
}

/// An error for which the client's redirect address is not known.
pub(super) enum InvalidClient {
    /// The request cannot be read.
    Request(OauthRefusal),
    /// An internal error of this server, or a failure of a service that it needs.
    Own(Error),
}

impl From<OauthRefusal> for InvalidClient {
    fn from(error: OauthRefusal) -> Self {
        Self::Request(error)
    }
}

impl From<Error> for InvalidClient {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl InvalidClient {
    /// Returns an error page in English, because the request headers are no longer available.
    pub(super) fn answer(self, service: &Service, request_id: Uuid) -> Response {
        match self {
            Self::Request(error) => {
                error.log("authorize", "", request_id);
                problem::page(service, &HeaderMap::new(), None, PageProblem::Request)
            }
            Self::Own(error) => {
                OauthRefusal::from(error).log("authorize", "", request_id);
                problem::page(service, &HeaderMap::new(), None, PageProblem::Unavailable)
            }
        }
    }
}

impl OauthRequest {
    /// Reads the member who is signed in in the browser.
    pub(super) async fn begin(
        service: Arc<Service>,
        request_id: Uuid,
        headers: HeaderMap,
        parameters: Parameters,
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

    /// Returns the client and its redirect address. Returns an error page if one of them is unknown.
    pub(super) async fn way(&self) -> Result<Result<AnswerAddress, Response>, Error> {
        let Some(id) = self.parameters.get("client_id").and_then(ClientId::parse) else {
            return Ok(Err(self.problem(PageProblem::Client, "")));
        };
        let (now, client_id) = (self.service.clock.now(), id.clone());
        let stored = self
            .service
            .store
            .read(move |tx| Client::find(tx, &client_id))
            .await?;
        let client = match (&id, &self.signed_in) {
            (ClientId::App(_), _) => stored.ok_or(PageProblem::Client),
            (ClientId::Document(url), signed_in) => {
                match (client_document::kept(stored, now), signed_in) {
                    (Some(client), _) => Ok(client),
                    // The server fetches a document only for signed-in members, so that strangers
                    // cannot make it send requests.
                    (None, None) => return Ok(Err(self.sign_in_first())),
                    (None, Some(signed_in)) => {
                        client_document::fetched(&self.service, url, &signed_in.organization)
                            .await?
                            .ok_or(PageProblem::Document)
                    }
                }
            }
        };
        let client = match client {
            Ok(client) => client,
            Err(problem) => return Ok(Err(self.problem(problem, &id.to_string()))),
        };
        let requested = self.parameters.get("redirect_uri");
        let is_invalid = requested.is_none() && self.parameters.has("redirect_uri");
        match redirect::chosen(&client.about.redirect_uris, requested)
            .ok()
            .filter(|_| !is_invalid)
        {
            Some(redirect_uri) => Ok(Ok(AnswerAddress {
                client,
                redirect_uri,
                state: self.parameters.get("state").map(str::to_owned),
            })),
            None => Ok(Err(self.problem(PageProblem::Redirect, &id.to_string()))),
        }
    }

    /// Validates the parameters of the client's request.
    pub(super) fn asked(&self) -> Result<AuthorizationRequest, OauthRefusal> {
        parse_request(&self.parameters, &self.service.app_state.public_url)
    }

    /// Redirects to the sign-in page, from which the browser returns to the same request. Returns an
    /// error page if the request is too long for a return path.
    pub(super) fn sign_in_first(&self) -> Response {
        let query = Serializer::new(String::new())
            .extend_pairs(self.parameters.all(&NAMES))
            .finish();
        let path = format!("{}?{query}", paths::AUTHORIZE);
        if people::may_return_to(&path) {
            return people::sign_in_first(&self.service, &path);
        }
        self.problem(
            PageProblem::TooLong,
            self.parameters.get("client_id").unwrap_or_default(),
        )
    }

    /// Redirects to the client with an error, and logs the error.
    pub(super) fn back(&self, redirect_target: &AnswerAddress, error: &OauthRefusal) -> Response {
        error.log(
            "authorize",
            &redirect_target.client.id.to_string(),
            self.request_id,
        );
        self.to(
            redirect_target,
            &[
                ("error", error.code.as_ref()),
                ("error_description", error.description),
            ],
        )
    }

    /// Redirects to the client with a result, the client's `state` (RFC 6749, section 4.1.2) and the
    /// issuer (RFC 9207, section 2).
    pub(super) fn to(&self, redirect_target: &AnswerAddress, result: &[(&str, &str)]) -> Response {
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
        people::redirect(&redirect::with(&redirect_target.redirect_uri, &parameters))
    }

    /// Returns an error page, and logs the error.
    pub(super) fn problem(&self, problem: PageProblem, client: &str) -> Response {
        tracing::info!(request_id = %self.request_id, endpoint = "authorize", client, reason = problem.reason(), "refused an OAuth request");
        problem::page(
            &self.service,
            &self.headers,
            self.signed_in.as_ref(),
            problem,
        )
    }
}

/// Returns the policy source (CSP `form-action`) to which this endpoint may redirect a request with
/// this path. See [`people::FormRedirects`].
pub(super) fn leads_on(path: &str) -> Option<String> {
    let query = path.strip_prefix(paths::AUTHORIZE)?.strip_prefix('?')?;
    redirect::claimed_source(Parameters::of_query(Some(query)).get("redirect_uri")?)
}

/// Validates a client's request (RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707, section
/// 2.1). The default resource is the tool interface.
fn parse_request(
    parameters: &Parameters,
    public_url: &str,
) -> Result<AuthorizationRequest, OauthRefusal> {
    parameters.check()?;
    match parameters.get("response_type") {
        Some("code") => {}
        Some(_) => {
            return Err(OauthRefusal::new(
                Code::UnsupportedResponseType,
                "response_type must be code.",
            ));
        }
        None => return Err(OauthRefusal::request("response_type is missing.")),
    }
    let challenge = Challenge::parse(
        parameters.get("code_challenge"),
        parameters.get("code_challenge_method"),
    )?;
    let scopes = ScopeSet::asked(parameters.get("scope"))?;
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

    fn parsed(parameters: &[(&str, &str)]) -> Result<AuthorizationRequest, OauthRefusal> {
        let parameters = Parameters::of(
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
            ("response_type", "", Code::InvalidRequest),
            ("response_type", "token", Code::UnsupportedResponseType),
            (
                "response_type",
                "code id_token",
                Code::UnsupportedResponseType,
            ),
            ("code_challenge", "", Code::InvalidRequest),
            ("code_challenge", "short", Code::InvalidRequest),
            ("code_challenge_method", "", Code::InvalidRequest),
            ("code_challenge_method", "plain", Code::InvalidRequest),
            ("code_challenge_method", "S512", Code::InvalidRequest),
            ("scope", "view_everything", Code::InvalidScope),
            ("resource", "https://x.example/", Code::InvalidTarget),
            ("resource", "https://y.example/mcp", Code::InvalidTarget),
            ("state", "\u{0}", Code::InvalidRequest),
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
                Code::InvalidRequest,
                "{}",
                twice.0
            );
        }
    }

    proptest! {
        #[test]
        fn parsing_an_authorization_request_never_panics(query in ".{0,200}") {
            let _ = parse_request(&Parameters::of_query(Some(&query)), "https://x.example");
        }
    }
}
