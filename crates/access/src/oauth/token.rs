//! The token endpoint (RFC 6749, section 3.2). It exchanges an authorization code (`code.rs`) or a
//! refresh token (`refresh.rs`) for tokens.

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
use super::client::OauthClient;
use super::parameters::OauthParameters;
use super::refresh::TokenResponse;
use super::refusal::{OauthError, OauthErrorCode};
use super::{code, grant, refresh, reply};

store::statements! {
    /// Returns a row if the organization has the authorization code with this hash.
    HAS_CODE = "select organization_id from oauth_grant where organization_id = ?1
        and code_hash = ?2";
    /// Returns a row if the organization has the refresh token with this hash.
    HAS_REFRESH_TOKEN = "select organization_id from oauth_refresh_token where organization_id = ?1
        and token_hash = ?2";
}

/// Handles `POST /oauth/token`.
pub(super) async fn token(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let mut request_client = RequestClient::default();
    let mut response = match exchange(&service, &parts.headers, body, &mut request_client).await {
        Ok(tokens) => reply::json(StatusCode::OK, &tokens),
        Err(error) => {
            error.log("token", &request_client.client, request_id(&parts));
            error.response()
        }
    };
    attach_operation(&mut response, "exchangeToken", None);
    response
}

/// The client id of a request, for the log. Empty until the client id has been parsed.
#[derive(Default)]
pub(super) struct RequestClient {
    pub(super) client: String,
}

async fn exchange(
    service: &Arc<Service>,
    headers: &HeaderMap,
    body: Body,
    request_client: &mut RequestClient,
) -> Result<TokenResponse, OauthError> {
    let parameters = OauthParameters::from_form(headers, body).await?;
    parameters.check()?;
    let client = authenticate_client(service, headers, &parameters, request_client).await?;
    match parameters.get("grant_type") {
        Some("authorization_code") => exchange_code(service, &client, &parameters).await,
        Some("refresh_token") => exchange_refresh_token(service, &client, &parameters).await,
        Some(_) => Err(OauthError::new(
            OauthErrorCode::UnsupportedGrantType,
            "grant_type must be authorization_code or refresh_token.",
        )),
        None => Err(OauthError::invalid_request("grant_type is missing.")),
    }
}

/// Authenticates the client of a request (RFC 6749, section 3.2.1).
pub(super) async fn authenticate_client(
    service: &Service,
    headers: &HeaderMap,
    parameters: &OauthParameters,
    request_client: &mut RequestClient,
) -> Result<OauthClient, OauthError> {
    let credentials = ClaimedClient::read(headers, parameters)?;
    let id = credentials.id()?;
    request_client.client = id.to_string();
    let client = service
        .store
        .read(move |tx| OauthClient::find(tx, &id))
        .await?;
    credentials.verify(client, service.clock.now())
}

/// Exchanges an authorization code for tokens (RFC 6749, section 4.1.3).
async fn exchange_code(
    service: &Arc<Service>,
    client: &OauthClient,
    parameters: &OauthParameters,
) -> Result<TokenResponse, OauthError> {
    let code = parameters
        .get("code")
        .ok_or(OauthError::invalid_request("code is missing."))?;
    let presented = code::CodeRequest {
        app: client.app,
        hash: access::hash(code),
        verifier: parameters
            .get("code_verifier")
            .ok_or(OauthError::invalid_request("code_verifier is missing."))?
            .to_owned(),
        redirect_uri: parameters.get("redirect_uri").map(str::to_owned),
        resource: resource(parameters, &service.app_state.public_url)?,
    };
    let organization = organization_of_token(service, (code::PREFIX, code), &HAS_CODE)
        .await?
        .ok_or(code::UNKNOWN)?;
    grant::in_organization(service, organization, move |context| {
        code::redeem_code(context, &presented)
    })
    .await?
}

/// Exchanges a refresh token for a new token pair (RFC 6749, section 6).
async fn exchange_refresh_token(
    service: &Arc<Service>,
    client: &OauthClient,
    parameters: &OauthParameters,
) -> Result<TokenResponse, OauthError> {
    let token = parameters
        .get("refresh_token")
        .ok_or(OauthError::invalid_request("refresh_token is missing."))?;
    let presented = refresh::RefreshRequest {
        app: client.app,
        token: token.to_owned(),
        scope: parameters.get("scope").map(str::to_owned),
        resource: resource(parameters, &service.app_state.public_url)?,
    };
    let organization = organization_of_refresh_token(service, token)
        .await?
        .ok_or(refresh::UNKNOWN)?;
    grant::in_organization(service, organization, move |context| {
        refresh::refresh(context, &presented)
    })
    .await?
}

/// Returns the resource that a request names; `None` if it names none. The resource must be the
/// address of a resource of this server (RFC 8707, section 2). The query of the address is ignored,
/// because it only selects tools.
pub(super) fn resource(
    parameters: &OauthParameters,
    public_url: &str,
) -> Result<Option<Resource>, OauthError> {
    let Some(address) = parameters.get("resource") else {
        return Ok(None);
    };
    let address = address.split('?').next().unwrap_or_default();
    let resource = Resource::VARIANTS
        .iter()
        .copied()
        .find(|resource| resource.url(public_url) == address);
    resource.map(Some).ok_or(OauthError::new(
        OauthErrorCode::InvalidTarget,
        "resource is not a resource of this server.",
    ))
}

/// Returns the organization of a refresh token; `None` if the token is unknown.
pub(super) async fn organization_of_refresh_token(
    service: &Service,
    token: &str,
) -> Result<Option<Uuid>, Error> {
    organization_of_token(service, (refresh::PREFIX, token), &HAS_REFRESH_TOKEN).await
}

/// Returns the organization of an authorization code or a token. A transaction that changes the
/// code or the token must lock this organization.
pub(super) async fn organization_of_token(
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
