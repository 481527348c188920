//! The addresses of the page, at `/stay/{token}` and below: all that is there is HTML, and so is all that is not.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any, get};
use engine::pipeline::Service;
use engine::surface::{PathParams, note};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body_util::{BodyExt as _, Limited};

use super::asking::Refusal;
use super::form::{self, Fields};
use super::notice::{self, Missing};
use super::seen::Addressed;
use super::shown::Shown;
use super::step::Asked;
use super::visit::Visit;
use super::{home, icons, keeping, messages, reading, reply, review, sending, step};
use crate::guest::Message;

/// How long a browser may take to send a form.
const FORM_DEADLINE: Duration = Duration::from_secs(30);

type Server = State<Arc<Service>>;

/// The routes of the page.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    // What is sent by another method is not there.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(lost);
    Router::new()
        .route("/stay/{token}", only(get(home_page)))
        .route("/stay/{token}/steps/{stepId}", only(get(step_page).post(sending::step)))
        .route("/stay/{token}/steps/{stepId}/files", only(get(to_step).post(sending::file)))
        .route("/stay/{token}/steps/{stepId}/files/{fileId}", only(get(step_file)))
        .route("/stay/{token}/steps/{stepId}/files/{fileId}/remove", only(get(to_step).post(sending::remove_file)))
        .route("/stay/{token}/review", only(get(review_page)))
        .route("/stay/{token}/submit", only(get(to_review).post(sending::submit)))
        .route("/stay/{token}/messages", only(get(messages_page).post(sending::message)))
        .route("/stay/{token}/manuals/{manualId}", only(get(manual_page)))
        .route("/stay/{token}/stay.ics", only(get(calendar_file)))
        .route("/stay/{token}/stay.pkpass", only(get(pass_file)))
        .route("/stay/{token}/manifest.webmanifest", only(get(manifest_file)))
        .route("/stay/{token}/worker.js", only(get(worker_file)))
        .route("/stay", any(lost))
        .route("/stay/", any(lost))
        .route("/stay/{token}/", any(lost))
        .route("/stay/{token}/{*rest}", any(lost))
        .route("/favicon.ico", get(favicon))
        .with_state(service.clone())
}

/// What is rendered of a stay.
type Html = engine::error::Result<String>;

/// A page of a stay: what is made of what the guest sees, with its status.
async fn shown(
    server: Server,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&Visit, &Shown) -> (u16, Html),
) -> Response {
    let (mut visit, _) = Visit::of(server.0, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => {
            let (status, html) = made(&visit, &shown);
            framed(&shown, reply::page(status, html, shown.language))
        }
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, operation, visit.requester);
    response
}

/// A page of a preview may be shown in a frame.
fn framed(shown: &Shown, mut response: Response) -> Response {
    if shown.view.preview.is_some() {
        reply::in_our_frames(&mut response);
    }
    response
}

/// The same of a page without a form, which is kept for whoever opens it again.
async fn read(
    State(service): Server,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&Visit, &Shown) -> (u16, Html),
) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let mut response = opened(&mut visit, operation, made).await.unwrap_or_else(|refusal| visit.instead(&refusal));
    note(&mut response, operation, visit.requester);
    response
}

async fn opened(visit: &mut Visit, operation: &str, made: impl FnOnce(&Visit, &Shown) -> (u16, Html)) -> Result<Response, Refusal> {
    let key = visit.key(operation);
    if let Some(key) = &key
        && let Some(page) = visit.remembered(key).await?
    {
        return Ok(reply::kept(&page, &visit.headers).await);
    }
    let shown = visit.look().await?;
    let (status, html) = made(visit, &shown);
    if let (Some(key), 200, Ok(html)) = (key, status, &html) {
        visit.remember(key, &shown, html);
    }
    Ok(framed(&shown, reply::page(status, html, shown.language)))
}

async fn home_page(server: Server, params: PathParams, request: HttpRequest) -> Response {
    read(server, params, request, "getStayPage", |visit, shown| (200, home::render(shown, visit.is_handed_in()))).await
}

async fn step_page(server: Server, params: PathParams, request: HttpRequest) -> Response {
    shown(server, params, request, "getStepPage", |visit, shown| {
        let Some(step) = visit.named("stepId").and_then(|id| shown.step(id)) else { return (404, notice::missing(shown, Missing::Step)) };
        let guests = visit.asks("guests").and_then(|number| number.parse().ok()).filter(|number| *number <= form::MOST_GUESTS);
        (200, step::render(shown, step, Asked { guests, shows_lacks: visit.asks("lacking").is_some() }, None))
    })
    .await
}

async fn review_page(server: Server, params: PathParams, request: HttpRequest) -> Response {
    shown(server, params, request, "getReviewPage", |_, shown| (200, review::render(shown, None))).await
}

async fn manual_page(server: Server, params: PathParams, request: HttpRequest) -> Response {
    read(server, params, request, "getManualPage", |visit, shown| match visit.named("manualId").and_then(|id| shown.manual(id)) {
        Some(manual) => (200, reading::render(shown, manual)),
        None => (404, notice::missing(shown, Missing::Manual)),
    })
    .await
}

async fn messages_page(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => {
            let messages = written(&mut visit).await;
            let is_issue = visit.asks("about") == Some("issue");
            framed(&shown, reply::page(200, messages::render(&shown, &messages, is_issue, None), shown.language))
        }
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, "getMessagesPage", visit.requester);
    response
}

/// What the guest wrote; nothing where that is not to be had, which keeps nobody from writing.
pub(super) async fn written(visit: &mut Visit) -> Vec<Message> {
    visit.ask("listOwnMessages", &[], Vec::new(), HeaderMap::new(), Body::empty()).await.unwrap_or_default()
}

/// What is no page, made of what the guest sees.
async fn file(
    server: Server,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&Visit, &Shown) -> Response,
) -> Response {
    let (mut visit, _) = Visit::of(server.0, params, request);
    let mut response = match visit.look().await {
        Ok(shown) => made(&visit, &shown),
        Err(refusal) => visit.instead(&refusal),
    };
    note(&mut response, operation, visit.requester);
    response
}

async fn calendar_file(server: Server, params: PathParams, request: HttpRequest) -> Response {
    file(server, params, request, "getStayCalendar", |visit, shown| {
        reply::file("text/calendar; charset=utf-8", keeping::calendar(visit, shown))
    })
    .await
}

async fn pass_file(server: Server, params: PathParams, request: HttpRequest) -> Response {
    file(server, params, request, "getStayPass", |visit, shown| match visit.signer().filter(|_| shown.offers_pass()) {
        Some(signer) => match keeping::pass(visit, shown, signer) {
            Ok(pass) => reply::file("application/vnd.apple.pkpass", pass),
            Err(error) => reply::page(500, Err(error), shown.language),
        },
        None => reply::page(404, notice::missing(shown, Missing::Pass), shown.language),
    })
    .await
}

async fn manifest_file(server: Server, params: PathParams, request: HttpRequest) -> Response {
    file(server, params, request, "getStayManifest", |_, shown| reply::file("application/manifest+json", keeping::manifest(shown))).await
}

async fn worker_file(server: Server, params: PathParams, request: HttpRequest) -> Response {
    file(server, params, request, "getStayWorker", |_, shown| reply::worker(keeping::worker(shown), shown.links.path())).await
}

/// A file of a step, at the address where it can be looked at for a while.
async fn step_file(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (mut visit, _) = Visit::of(service, params, request);
    let ids = visit.named("stepId").zip(visit.named("fileId"));
    let mut response = match ids {
        Some((step, file)) => {
            let path = [("stepId", step), ("fileId", file)];
            match visit.ask::<Addressed>("getStepFile", &path, Vec::new(), HeaderMap::new(), Body::empty()).await {
                Ok(file) => reply::redirect(&file.url),
                Err(refusal) => visit.instead(&refusal),
            }
        }
        None => visit.instead(&Refusal { status: 404, ..Refusal::default() }),
    };
    note(&mut response, "getStepFilePage", visit.requester);
    response
}

/// The address of a form that is sent: the page of its step.
async fn to_step(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, params, request);
    match visit.named("stepId").filter(|_| visit.is_plausible()) {
        Some(step) => reply::redirect(&visit.links.step(step)),
        None => visit.instead(&Refusal { status: 404, ..Refusal::default() }),
    }
}

async fn to_review(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, params, request);
    reply::redirect(&visit.links.review())
}

/// Whatever else is asked for, in whatever way.
async fn lost(State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, params, request);
    visit.instead(&Refusal { status: 404, ..Refusal::default() })
}

/// The fields of a form; nothing where the body is none, is too large or does not arrive.
pub(super) async fn read_form(headers: &HeaderMap, body: Body) -> Option<Fields> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (types.next(), types.next()) else { return None };
    let kind = kind.to_str().ok()?.split(';').next()?.trim();
    if headers.contains_key(CONTENT_ENCODING) || !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let collected = tokio::time::timeout(FORM_DEADLINE, Limited::new(body, form::BODY_LIMIT).collect()).await;
    Some(form::parse(&collected.ok()?.ok()?.to_bytes()))
}

/// The sign that a browser shows beside the title, for it asks for one.
async fn favicon() -> Response {
    let house = icons::drawing("house").unwrap_or_default();
    let drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\">{house}</svg>"
    );
    let headers =
        [(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")), (CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"))];
    (headers, drawing).into_response()
}
