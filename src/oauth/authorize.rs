//! The authorization endpoint (RFC 6749, section 3.1). A browser brings an app's request. It is
//! redirected to the app with a code or an error, or it gets a page.
//!
//! Until the redirect address is known to belong to the client, the browser is not redirected. It
//! gets an error page instead (RFC 6749, section 4.1.2.1). After that, all other errors go back to
//! the client. Before sign-in, only clients that the platform knows get such a redirect. Otherwise
//! this server would be an open redirector (RFC 9700, section 4.11.2).

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access::Resource;
use engine::error::Error;
use engine::pipeline::Service;
use form_urlencoded::Serializer;
use http::HeaderMap;
use uuid::Uuid;
use vestibule_http::surface::{note, request_id};

use super::client::{AppOrigin, Client, ClientId};
use super::parameters::Parameters;
use super::pkce::Challenge;
use super::problem::{self, PageProblem};
use super::refusal::{Code, OauthRefusal};
use super::scope::ScopeSet;
use super::token::resource;
use super::{client_document, consent, paths, redirect};
use crate::people::{self, SignedIn};

/// The known parameters; others are ignored (RFC 6749, section 3.1).
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

/// A request of a browser to the pages of this module.
pub(super) struct OauthRequest {
    pub(super) service: Arc<Service>,
    pub(super) headers: HeaderMap,
    pub(super) parameters: Parameters,
    pub(super) request_id: Uuid,
    /// The member who is signed in, if any.
    pub(super) signed_in: Option<SignedIn>,
}

/// A client and the address at which it wants the answer.
#[derive(Debug)]
pub(super) struct AnswerAddress {
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    state: Option<String>,
}

/// A valid request of a client.
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
    answer(service, request_id(&parts), parts.headers, Ok(parameters)).await
}

/// `POST /oauth/authorize`: the same request as a form (RFC 6749, section 3.1).
pub(super) async fn post(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let parameters = Parameters::of_form(&parts.headers, body).await;
    answer(service, request_id(&parts), parts.headers, parameters).await
}

async fn answer(
    service: Arc<Service>,
    request_id: Uuid,
    headers: HeaderMap,
    parameters: Result<Parameters, OauthRefusal>,
) -> Response {
    let shared = service.clone();
    let shown = async {
        let mut visit = OauthRequest::begin(service, request_id, headers, parameters?).await?;
        let way = match visit.way().await? {
            Ok(way) => way,
            Err(instead) => return Ok(instead),
        };
        match (visit.asked(), visit.signed_in.take()) {
            (Err(refusal), signed_in)
                if signed_in.is_some() || way.client.origin == AppOrigin::Platform =>
            {
                Ok(visit.back(&way, &refusal))
            }
            (_, None) => Ok(visit.sign_in_first()),
            (Ok(asked), Some(signed_in)) => consent::show(&visit, &way, &asked, &signed_in).await,
            (Err(refusal), Some(_)) => Ok(visit.back(&way, &refusal)),
        }
    };
    let mut response = match shown.await {
        Ok(response) => response,
        Err(wrong) => wrong.answer(&shared, request_id),
    };
    note(&mut response, "authorize", None);
    response
}

/// The reason why no page can be shown.
pub(super) enum InvalidClient {
    /// The request cannot be read.
    Request(OauthRefusal),
    /// This server failed.
    Own(Error),
}

impl From<OauthRefusal> for InvalidClient {
    fn from(refusal: OauthRefusal) -> Self {
        Self::Request(refusal)
    }
}

impl From<Error> for InvalidClient {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl InvalidClient {
    /// Returns an error page. The visitor's language is no longer known.
    pub(super) fn answer(self, service: &Service, request_id: Uuid) -> Response {
        match self {
            Self::Request(refusal) => {
                refusal.log("authorize", "", request_id);
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
    /// Begins a visit with the member who is signed in in the browser.
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

    /// Returns the client and its redirect address, or the page to show instead.
    pub(super) async fn way(&self) -> Result<Result<AnswerAddress, Response>, Error> {
        let Some(id) = self.parameters.get("client_id").and_then(ClientId::parse) else {
            return Ok(Err(self.problem(PageProblem::Client, "")));
        };
        let (now, named) = (self.service.clock.now(), id.clone());
        let found = self
            .service
            .store
            .read(move |tx| Client::find(tx, &named))
            .await?;
        let client = match (&id, &self.signed_in) {
            (ClientId::App(_), _) => found.ok_or(PageProblem::Client),
            (ClientId::Document(url), signed_in) => {
                match (client_document::kept(found, now), signed_in) {
                    (Some(client), _) => Ok(client),
                    // A document is fetched for signed-in members only, so that strangers cannot
                    // make this server send requests.
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
        let asked = self.parameters.get("redirect_uri");
        let is_illegible = asked.is_none() && self.parameters.has("redirect_uri");
        match redirect::chosen(&client.about.redirect_uris, asked)
            .ok()
            .filter(|_| !is_illegible)
        {
            Some(redirect_uri) => Ok(Ok(AnswerAddress {
                client,
                redirect_uri,
                state: self.parameters.get("state").map(str::to_owned),
            })),
            None => Ok(Err(self.problem(PageProblem::Redirect, &id.to_string()))),
        }
    }

    /// Returns the request of the client, or its error.
    pub(super) fn asked(&self) -> Result<AuthorizationRequest, OauthRefusal> {
        asked(&self.parameters, &self.service.app_state.public_url)
    }

    /// Redirects to the sign-in, which leads back to the same request. If the request is too long
    /// for that, an error page is shown.
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
    pub(super) fn back(&self, way: &AnswerAddress, refusal: &OauthRefusal) -> Response {
        refusal.log("authorize", &way.client.id.to_string(), self.request_id);
        self.to(
            way,
            &[
                ("error", refusal.code.as_ref()),
                ("error_description", refusal.description),
            ],
        )
    }

    /// Redirects to the client with an answer, with the client's `state` (RFC 6749, section 4.1.2)
    /// and with the issuer (RFC 9207, section 2).
    pub(super) fn to(&self, way: &AnswerAddress, answer: &[(&str, &str)]) -> Response {
        let state = way.state.as_deref().map(|state| ("state", state));
        let parameters: Vec<_> = answer
            .iter()
            .copied()
            .chain(state)
            .chain([("iss", self.service.app_state.public_url.as_str())])
            .collect();
        people::redirect(&redirect::with(&way.redirect_uri, &parameters))
    }

    /// Returns an error page for the person.
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

/// Returns the source that this endpoint may redirect to, as far as the request's path tells.
pub(super) fn leads_on(path: &str) -> Option<String> {
    let query = path.strip_prefix(paths::AUTHORIZE)?.strip_prefix('?')?;
    redirect::claimed_source(Parameters::of_query(Some(query)).get("redirect_uri")?)
}

/// Validates a client's request (RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707, section
/// 2.1). The default resource is the tool interface.
fn asked(parameters: &Parameters, public_url: &str) -> Result<AuthorizationRequest, OauthRefusal> {
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

    const RIGHT: [(&str, &str); 6] = [
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

    fn judged(parameters: &[(&str, &str)]) -> Result<AuthorizationRequest, OauthRefusal> {
        let parameters = Parameters::of(
            parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        asked(&parameters, "https://x.example")
    }

    #[test]
    fn optional_parameters_have_defaults_and_unknown_are_ignored() {
        assert_eq!(judged(&RIGHT).unwrap().resource, Resource::Api);
        let asked = judged(&RIGHT[..3]).unwrap();
        assert_eq!(
            (asked.scopes, asked.resource),
            (ScopeSet::all(), Resource::Mcp)
        );
        let unknown = [&RIGHT[..], &[("prompt", "none"), ("nonce", "x")]].concat();
        assert!(judged(&unknown).is_ok());
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
            let changed = RIGHT.map(|(own, right)| (own, if own == name { value } else { right }));
            assert_eq!(judged(&changed).unwrap_err().code, code, "{name}={value}");
        }
        for twice in RIGHT {
            let parameters = [&RIGHT[..], &[twice]].concat();
            assert_eq!(
                judged(&parameters).unwrap_err().code,
                Code::InvalidRequest,
                "{}",
                twice.0
            );
        }
    }

    proptest! {
        #[test]
        fn parsing_an_authorization_request_never_panics(query in ".{0,200}") {
            let _ = asked(&Parameters::of_query(Some(&query)), "https://x.example");
        }
    }
}
