//! The token endpoint (RFC 6749, section 3.2): exchanges a code (`code.rs`) or a refresh token
//! (`refresh.rs`) for tokens.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access::{self, Resource};
use engine::error::Error;
use engine::pipeline::Service;
use http::{HeaderMap, StatusCode};
use store::Statement;
use strum::VariantArray as _;
use uuid::Uuid;
use vestibule_http::surface::{attach_operation, request_id};

use super::authentication::ClaimedClient;
use super::client::Client;
use super::parameters::Parameters;
use super::refresh::TokenAnswer;
use super::refusal::{Code, OauthRefusal};
use super::{code, grant, refresh, reply};

store::statements! {
    /// The organization of a code.
    HAS_CODE = "select organization_id from oauth_grant where organization_id = ?1 and code_hash = ?2";
    /// The organization of a refresh token.
    HAS_REFRESH_TOKEN = "select organization_id from oauth_refresh_token where organization_id = ?1 and token_hash = ?2";
}

/// `POST /oauth/token`.
pub(super) async fn token(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let mut request_client = RequestClient::default();
    let mut response = match exchange(&service, &parts.headers, body, &mut request_client).await {
        Ok(tokens) => reply::json(StatusCode::OK, &tokens),
        Err(error) => {
            error.log("token", &request_client.client, request_id(&parts));
            error.answer()
        }
    };
    attach_operation(&mut response, "exchangeToken", None);
    response
}

/// The client of a request, for the log. Empty until the client id has been parsed.
#[derive(Default)]
pub(super) struct RequestClient {
    pub(super) client: String,
}

async fn exchange(
    service: &Arc<Service>,
    headers: &HeaderMap,
    body: Body,
    request_client: &mut RequestClient,
) -> Result<TokenAnswer, OauthRefusal> {
    let parameters = Parameters::of_form(headers, body).await?;
    parameters.check()?;
    let client = authenticated(service, headers, &parameters, request_client).await?;
    match parameters.get("grant_type") {
        Some("authorization_code") => exchange_code(service, &client, &parameters).await,
        Some("refresh_token") => exchange_refresh_token(service, &client, &parameters).await,
        Some(_) => Err(OauthRefusal::new(
            Code::UnsupportedGrantType,
            "grant_type must be authorization_code or refresh_token.",
        )),
        None => Err(OauthRefusal::request("grant_type is missing.")),
    }
}

/// Authenticates the client of a request (RFC 6749, section 3.2.1).
pub(super) async fn authenticated(
    service: &Service,
    headers: &HeaderMap,
    parameters: &Parameters,
    request_client: &mut RequestClient,
) -> Result<Client, OauthRefusal> {
    let credentials = ClaimedClient::read(headers, parameters)?;
    let id = credentials.id()?;
    request_client.client = id.to_string();
    let client = service.store.read(move |tx| Client::find(tx, &id)).await?;
    credentials.verify(client, service.clock.now())
}

/// Exchanges a code for tokens (RFC 6749, section 4.1.3).
async fn exchange_code(
    service: &Arc<Service>,
    client: &Client,
    parameters: &Parameters,
) -> Result<TokenAnswer, OauthRefusal> {
    let code = parameters
        .get("code")
        .ok_or(OauthRefusal::request("code is missing."))?;
    let presented = code::PresentedCode {
        app: client.app,
        hash: access::hash(code),
        verifier: parameters
            .get("code_verifier")
            .ok_or(OauthRefusal::request("code_verifier is missing."))?
            .to_owned(),
        redirect_uri: parameters.get("redirect_uri").map(str::to_owned),
        resource: resource(parameters, &service.app_state.public_url)?,
    };
    let organization = owner(service, (code::PREFIX, code), &HAS_CODE)
        .await?
        .ok_or(code::UNKNOWN)?;
    grant::within(service, organization, move |context| {
        code::exchange(context, &presented)
    })
    .await?
}

/// Exchanges a refresh token for tokens (RFC 6749, section 6).
async fn exchange_refresh_token(
    service: &Arc<Service>,
    client: &Client,
    parameters: &Parameters,
) -> Result<TokenAnswer, OauthRefusal> {
    let token = parameters
        .get("refresh_token")
        .ok_or(OauthRefusal::request("refresh_token is missing."))?;
    let presented = refresh::PresentedToken {
        app: client.app,
        token: token.to_owned(),
        scope: parameters.get("scope").map(str::to_owned),
        resource: resource(parameters, &service.app_state.public_url)?,
    };
    let organization = refresh_owner(service, token)
        .await?
        .ok_or(refresh::UNKNOWN)?;
    grant::within(service, organization, move |context| {
        refresh::refresh(context, &presented)
    })
    .await?
}

/// Returns the resource in a request, if there is one. It must be the address of a resource of this
/// server (RFC 8707, section 2). Ignores the query of the address, which selects tools.
pub(super) fn resource(
    parameters: &Parameters,
    public_url: &str,
) -> Result<Option<Resource>, OauthRefusal> {
    let Some(address) = parameters.get("resource") else {
        return Ok(None);
    };
    let address = address.split('?').next().unwrap_or_default();
    let resource = Resource::VARIANTS
        .iter()
        .copied()
        .find(|resource| resource.url(public_url) == address);
    resource.map(Some).ok_or(OauthRefusal::new(
        Code::InvalidTarget,
        "resource is not a resource of this server.",
    ))
}

/// Returns the organization of a refresh token.
pub(super) async fn refresh_owner(service: &Service, token: &str) -> Result<Option<Uuid>, Error> {
    owner(service, (refresh::PREFIX, token), &HAS_REFRESH_TOKEN).await
}

/// Returns the organization of a code or token. Every change of the code or token must lock this
/// organization.
pub(super) async fn owner(
    service: &Service,
    (prefix, token): (&'static str, &str),
    has: &'static Statement,
) -> Result<Option<Uuid>, Error> {
    let token = token.to_owned();
    service
        .store
        .read(move |tx| access::owner(tx, (prefix, &token), has))
        .await
}
