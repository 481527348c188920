//! Dynamic client registration (RFC 7591): apps that this server does not know register themselves.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access;
use engine::pipeline::{PeerLimits, Service};
use engine::values;
use features::platform::new_secret;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};
use vestibule_http::surface::{Peer, attach_operation, request_id};

use super::client_metadata::{ClientAuthMethod, ClientMetadata};
use super::refusal::{OauthError, OauthErrorCode};
use super::reply;

store::statements! {
    /// Inserts a client that registers itself. Sets `idle_since` to the current time, so that the
    /// sweep deletes the client if no member grants it access.
    INSERT = "insert into oauth_app (id, created_at, updated_at, doc, idle_since, secret_hash)
        values (?1, ?2, ?2, ?3, ?2, ?4)";
}

/// Maximum size of the body of a registration: 64 KiB.
const BODY_LIMIT: usize = 64 << 10;
/// Time limit for a client to send the body of a registration.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Length of the window in which registrations are counted: an hour.
const WINDOW: Duration = Duration::from_secs(3_600);
/// Maximum number of registrations from one IP address within [`WINDOW`]. The addresses of one
/// network together may make three times as many registrations.
const MAX_PER_ADDRESS: u32 = 20;

/// Counts the registrations from each IP address at this node. An extension of the application
/// state.
pub struct Registrations(PeerLimits);

impl Default for Registrations {
    fn default() -> Self {
        Self(PeerLimits::new(MAX_PER_ADDRESS, WINDOW))
    }
}

/// Handles `POST /oauth/register`: an app registers itself.
pub(super) async fn register(
    State(service): State<Arc<Service>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts
        .extensions
        .get::<Peer>()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    let mut response = match register_client(&service, &parts.headers, body, peer).await {
        Ok(client) => reply::json(StatusCode::CREATED, &client),
        Err(error) => {
            error.log("register", &peer.to_string(), request_id(&parts));
            error.response()
        }
    };
    attach_operation(&mut response, "registerClient", None);
    response
}

/// Registers a client. Returns the client's metadata (RFC 7591, section 3.2.1), and the secret of a
/// confidential client. The secret does not expire. Only this response contains it.
async fn register_client(
    service: &Arc<Service>,
    headers: &HeaderMap,
    body: Body,
    peer: IpAddr,
) -> Result<Value, OauthError> {
    let metadata = ClientMetadata::read(&read_body(headers, body).await?)?;
    let method = metadata.method()?;
    let about = metadata.into_registered_app()?;
    let limit_check = service
        .app_state
        .extension::<Registrations>()
        .map_or(Ok(()), |registrations| {
            registrations.0.take(peer, service.clock.elapsed())
        });
    limit_check.map_err(|seconds| {
        OauthError::too_many_requests(
            "Too many clients have been registered from this address; try again after the seconds \
                in Retry-After.",
            seconds,
        )
    })?;
    let now = service.clock.now();
    let id = service.app_state.ids.uuid(now);
    let secret = (method != ClientAuthMethod::None).then(|| new_secret(&service.app_state.ids));
    let hash = secret.as_deref().map_or(store::Value::Null, |secret| {
        store::Value::Bytes(access::hash(secret))
    });
    let doc = store::Value::json(&about).map_err(engine::error::Error::from)?;
    service
        .store
        .write(move |tx| tx.execute(&INSERT, &values![id, now, doc, hash]))
        .await
        .map_err(engine::error::Error::from)?;
    tracing::info!(client = %id, %peer, "registered an OAuth client");
    let mut client = json!({
        "client_id": id,
        "client_id_issued_at": now.as_second(),
        "client_name": about.name,
        "redirect_uris": about.redirect_uris,
        "token_endpoint_auth_method": method.as_ref(),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    if let Some(secret) = secret {
        client["client_secret"] = secret.into();
        client["client_secret_expires_at"] = 0.into();
    }
    Ok(client)
}

/// Reads the JSON body of a registration. Returns an error if the content type is not JSON, or if
/// the body exceeds the size limit or the time limit.
async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, OauthError> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(OauthError::new(
            OauthErrorCode::InvalidClientMetadata,
            "The body must be application/json.",
        ));
    }
    let body_result =
        tokio::time::timeout(BODY_DEADLINE, Limited::new(body, BODY_LIMIT).collect()).await;
    let error = OauthError::new(
        OauthErrorCode::InvalidClientMetadata,
        "The body must have at most 64 KiB and arrive within 30 seconds.",
    );
    Ok(body_result
        .map_err(|_| error.clone())?
        .map_err(|_| error)?
        .to_bytes()
        .to_vec())
}
