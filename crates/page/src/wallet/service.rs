//! The web service with which phones update their passes. Its interface is defined by Apple. A
//! phone registers and unregisters a pass, lists changed passes, fetches the latest pass, and
//! reports problems.
//!
//! The server builds the pass for each request. A pass has changed if the hash of its content
//! differs from the recorded hash.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use engine::error::Error;
use engine::pipeline::Service;
use features::guest::passes::{self, GET_PASS, RegisteredPass, RegistrationOutcome};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, IF_MODIFIED_SINCE, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use vestibule_http::browser::first_value;
use vestibule_http::surface::{attach_operation, query};

use super::super::page_stay::PageStay;
use super::super::request::PageRequest;
use super::super::theme;
use super::{PassSigner, package, pass};

/// Maximum size of a request body: 16 KiB.
const BODY_LIMIT: usize = 16 << 10;
/// Time limit for a request body.
const BODY_DEADLINE: Duration = Duration::from_secs(10);
/// Maximum length of a device's identifier and of a push token, in bytes.
const MAX_IDENTIFIER_LENGTH: usize = 200;

type WalletService = State<Arc<Service>>;
type WalletPath<T> = Result<Path<T>, PathRejection>;

/// Returns the routes of the web service from which wallets fetch changed passes.
pub fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route(
            "/passes/v1/devices/{device}/registrations/{passType}/{serial}",
            post(register).delete(unregister),
        )
        .route(
            "/passes/v1/devices/{device}/registrations/{passType}",
            get(changed),
        )
        .route("/passes/v1/passes/{passType}/{serial}", get(latest))
        .route("/passes/v1/log", post(log))
        .with_state(service.clone())
}

/// The JSON body with which a device registers itself for the updates of a pass.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    push_token: String,
}

/// A pass whose device has sent a valid token, and the request with which the service reads the
/// stay of the pass.
struct OpenedPass {
    request: PageRequest,
    stay: (Uuid, Uuid),
}

/// The current state of a pass: its stay, its content, whether the pass is valid, and the times of
/// the last change and of the next known change.
pub(super) struct CurrentPass {
    page_stay: PageStay,
    content: Value,
    is_enabled: bool,
    changed_at: Timestamp,
    /// The next time at which a door code becomes valid or expires; `None` if no such time is
    /// known.
    pub(super) next_change_at: Option<Timestamp>,
}

impl CurrentPass {
    /// Returns whether the day of check-out is before the day on which `time` falls in the time
    /// zone of the flat.
    pub(super) fn departs_before(&self, time: Timestamp) -> bool {
        let date = time.to_zoned(self.page_stay.zone()).date();
        self.page_stay.view.reservation.check_out < date
    }
}

fn empty(status: u16) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the response to a device. The error in `outcome` is the HTTP status of the response.
fn answered(operation: &'static str, outcome: Result<Response, u16>) -> Response {
    let mut response = outcome.unwrap_or_else(empty);
    attach_operation(&mut response, operation, None);
    response
}

async fn register(
    State(service): WalletService,
    names: WalletPath<(String, String, String)>,
    request: HttpRequest,
) -> Response {
    let outcome = registered(&service, names, request).await;
    answered("registerPass", outcome)
}

async fn registered(
    service: &Arc<Service>,
    names: WalletPath<(String, String, String)>,
    request: HttpRequest,
) -> Result<Response, u16> {
    let Ok(Path((device, pass_type, serial))) = names else {
        return Err(404);
    };
    let (parts, body) = request.into_parts();
    let mut opened = open(service, &parts.headers, &pass_type, &serial).await?;
    let body = read(body).await.ok_or(400_u16)?;
    let registration: Registration = serde_json::from_slice(&body).map_err(|_| 400_u16)?;
    let is_name = |text: &str| !text.trim().is_empty() && text.len() <= MAX_IDENTIFIER_LENGTH;
    if !is_name(&device) || !is_name(&registration.push_token) {
        return Err(400);
    }
    // The service detects a change by comparing a pass with its recorded content. So the content
    // must be recorded before the device asks for changed passes.
    let current = current(service, &mut opened.request, opened.stay).await?;
    if !current.is_enabled {
        return Err(401);
    }
    let (shared, stay) = (service.clone(), opened.stay);
    let registered = service
        .store
        .write(move |tx| passes::register(tx, &shared, stay, &device, &registration.push_token))
        .await
        .map_err(|error| failed(&error))?;
    match registered {
        RegistrationOutcome::New => Ok(empty(201)),
        RegistrationOutcome::Known => Ok(empty(200)),
        RegistrationOutcome::Full => Err(400),
    }
}

async fn unregister(
    State(service): WalletService,
    names: WalletPath<(String, String, String)>,
    request: HttpRequest,
) -> Response {
    let outcome = unregistered(&service, names, request.headers()).await;
    answered("unregisterPass", outcome)
}

async fn unregistered(
    service: &Arc<Service>,
    names: WalletPath<(String, String, String)>,
    headers: &HeaderMap,
) -> Result<Response, u16> {
    let Ok(Path((device, pass_type, serial))) = names else {
        return Err(404);
    };
    let opened = open(service, headers, &pass_type, &serial).await?;
    let (shared, stay) = (service.clone(), opened.stay);
    service
        .store
        .write(move |tx| passes::unregister(tx, &shared, stay, Some(&device)))
        .await
        .map_err(|error| failed(&error))?;
    Ok(empty(200))
}

async fn changed(
    State(service): WalletService,
    names: WalletPath<(String, String)>,
    request: HttpRequest,
) -> Response {
    let (parts, _) = request.into_parts();
    let since = first_value(&query(&parts), "passesUpdatedSince").and_then(|tag| tag.parse().ok());
    let outcome = changed_since(&service, names, since).await;
    answered("listChangedPasses", outcome)
}

async fn changed_since(
    service: &Arc<Service>,
    names: WalletPath<(String, String)>,
    since: Option<i64>,
) -> Result<Response, u16> {
    let Ok(Path((device, pass_type))) = names else {
        return Err(404);
    };
    signer(service, &pass_type).ok_or(404_u16)?;
    if device.len() > MAX_IDENTIFIER_LENGTH {
        return Err(404);
    }
    let held: Vec<RegisteredPass> = service
        .store
        .read(move |tx| passes::passes_on_device(tx, &device))
        .await
        .map_err(|error| failed(&error))?;
    let (mut serials, mut last) = (Vec::new(), None);
    for pass in held {
        let mut request = PageRequest::without_browser(service.clone(), pass.token);
        let stay = (pass.organization, pass.reservation);
        // The stay cannot be read now, so this list omits its pass. The device learns from a later
        // list that the pass has changed.
        let Ok(current) = current(service, &mut request, stay).await else {
            continue;
        };
        let second = current.changed_at.as_second();
        last = last.max(Some(second));
        if since.is_none_or(|since| since < second) {
            serials.push(pass.reservation.to_string());
        }
    }
    if serials.is_empty() {
        return Ok(empty(204));
    }
    let body =
        json!({ "serialNumbers": serials, "lastUpdated": last.unwrap_or_default().to_string() });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, body.to_string()).into_response())
}

async fn latest(
    State(service): WalletService,
    names: WalletPath<(String, String)>,
    request: HttpRequest,
) -> Response {
    let outcome = latest_pass(&service, names, request.headers()).await;
    answered("getLatestPass", outcome)
}

async fn latest_pass(
    service: &Arc<Service>,
    names: WalletPath<(String, String)>,
    headers: &HeaderMap,
) -> Result<Response, u16> {
    let Ok(Path((pass_type, serial))) = names else {
        return Err(404);
    };
    let mut opened = open(service, headers, &pass_type, &serial).await?;
    let stay = opened.stay;
    let current = current(service, &mut opened.request, stay).await?;
    if !current.is_enabled {
        let shared = service.clone();
        service
            .store
            .write(move |tx| passes::unregister(tx, &shared, stay, None))
            .await
            .map_err(|error| failed(&error))?;
    }
    let since = headers
        .get(IF_MODIFIED_SINCE)
        .and_then(|header| header.to_str().ok())
        .and_then(|text| rfc2822::parse(text).ok())
        .map(|at| at.timestamp());
    if since.is_some_and(|since| current.changed_at <= since) {
        return Ok(empty(304));
    }
    let signer = signer(service, &pass_type).ok_or(404_u16)?;
    let brand = theme::brand_parts(current.page_stay.view.branding.as_ref());
    let bytes = package(signer, &current.content, brand, current.page_stay.now)
        .map_err(|error| failed(&error))?;
    let modified = rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&current.changed_at)
        .ok()
        .and_then(|text| HeaderValue::from_str(&text).ok())
        .ok_or(500_u16)?;
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/vnd.apple.pkpass"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (LAST_MODIFIED, modified),
    ];
    Ok((headers, bytes).into_response())
}

/// Accepts a device's report of problems. Logs only the number of problems, because their texts may
/// contain secrets.
async fn log(request: HttpRequest) -> Response {
    let outcome = match read(request.into_body()).await {
        Some(body) => match serde_json::from_slice::<Value>(&body) {
            Ok(text) => {
                let messages = text["logs"].as_array().map_or(0, Vec::len);
                tracing::info!(messages, "a device reports problems with a pass");
                Ok(empty(200))
            }
            Err(_) => Err(400),
        },
        None => Err(400),
    };
    answered("logPass", outcome)
}

/// Returns the signer of passes. Returns `None` if the signer has another pass type than
/// `pass_type`, or if its certificate is not valid now.
fn signer<'s>(service: &'s Service, pass_type: &str) -> Option<&'s PassSigner> {
    service
        .app_state
        .extension::<PassSigner>()
        .filter(|signer| signer.pass_type == pass_type && signer.is_valid(service.clock.now()))
}

/// Finds the pass that a request names, and checks the request's token. The error is an HTTP
/// status: 404 for another pass type, 401 if the token is wrong or the stay no longer exists.
async fn open(
    service: &Arc<Service>,
    headers: &HeaderMap,
    pass_type: &str,
    serial: &str,
) -> Result<OpenedPass, u16> {
    signer(service, pass_type).ok_or(404_u16)?;
    let reservation = Uuid::try_parse(serial).map_err(|_| 401_u16)?;
    let token = headers
        .get(AUTHORIZATION)
        .and_then(|header| header.to_str().ok())
        .and_then(|text| text.strip_prefix("ApplePass "))
        .ok_or(401_u16)?;
    let organization =
        passes::organization_in_pass_token(service, token.trim(), reservation).ok_or(401_u16)?;
    let token = service
        .store
        .read(move |tx| passes::token_of_stay(tx, organization, reservation))
        .await
        .map_err(|error| failed(&error))?
        .ok_or(401_u16)?;
    Ok(OpenedPass {
        request: PageRequest::without_browser(service.clone(), token),
        stay: (organization, reservation),
    })
}

/// Builds the current content of a pass. If the content differs from the recorded content, records
/// the change and its time.
pub(super) async fn current(
    service: &Arc<Service>,
    request: &mut PageRequest,
    (organization, reservation): (Uuid, Uuid),
) -> Result<CurrentPass, u16> {
    let page_stay = request
        .load_stay()
        .await
        .map_err(|refusal| refusal.status)?;
    let details = request
        .call(GET_PASS, &[], Body::empty())
        .await
        .map_err(|refusal| refusal.status)?;
    let signer = request.signer().ok_or(404_u16)?;
    let content = pass(
        &page_stay,
        signer,
        &request.url(&page_stay.view),
        &request.passes_url(),
        &details,
    );
    let hash = Sha256::digest(content.to_string()).to_vec();
    let known = hash.clone();
    let noted = service
        .store
        .read(move |tx| passes::changed_at(tx, organization, reservation, &known))
        .await
        .map_err(|error| failed(&error))?;
    let changed_at = if let Some(changed_at) = noted {
        changed_at
    } else {
        let shared = service.clone();
        service
            .store
            .write(move |tx| {
                passes::record_pass_change(tx, &shared, (organization, reservation), &hash)
            })
            .await
            .map_err(|error| failed(&error))?
    };
    Ok(CurrentPass {
        page_stay,
        content,
        is_enabled: details.is_enabled,
        changed_at,
        next_change_at: details.next_change_at.map(|at| at.0),
    })
}

/// Logs an internal error. Returns the HTTP status for it.
fn failed(error: &Error) -> u16 {
    tracing::error!(cause = error.cause(), "could not answer for a pass");
    error.kind().status()
}

async fn read(body: Body) -> Option<Vec<u8>> {
    let collected = Limited::new(body, BODY_LIMIT).collect();
    let collected = tokio::time::timeout(BODY_DEADLINE, collected).await;
    Some(collected.ok()?.ok()?.to_bytes().to_vec())
}
