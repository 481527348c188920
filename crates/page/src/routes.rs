//! The routes of the guest's page, at `/stay/{token}` and below. Unknown addresses get an HTML page
//! too.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any, get};
use engine::pipeline::Service;
use features::guest::passes::GET_PASS;
use features::guest::{GET_STEP_FILE, LIST_OWN_MESSAGES, Message};
use features::records::SurveyKind;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use vestibule_http::browser;
use vestibule_http::surface::{PathParams, attach_operation};

use super::form::{self, FormFields};
use super::missing_page::{self, MissingThing};
use super::operation_calls::PageRefusal;
use super::page_stay::PageStay;
use super::request::PageRequest;
use super::step::StepOptions;
use super::{
    extras, home, icons, issues, manuals, messages, reply, review, sending, stay_files, step,
    surveys, wallet,
};

type PageService = State<Arc<Service>>;

pub(super) fn routes(service: &Arc<Service>) -> Router {
    // If an address has no handler for the method of a request, such as DELETE, the response is the
    // 404 page for unknown addresses.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(lost);
    Router::new()
        .route("/stay/{token}", only(get(home_page)))
        .route(
            "/stay/{token}/steps/{stepId}",
            only(get(step_page).post(sending::step)),
        )
        .route(
            "/stay/{token}/steps/{stepId}/files",
            only(get(to_step).post(sending::file)),
        )
        .route(
            "/stay/{token}/steps/{stepId}/files/{fileId}",
            only(get(step_file)),
        )
        .route(
            "/stay/{token}/steps/{stepId}/files/{fileId}/remove",
            only(get(to_step).post(sending::remove_file)),
        )
        .route("/stay/{token}/review", only(get(review_page)))
        .route(
            "/stay/{token}/submit",
            only(get(to_review).post(sending::submit)),
        )
        .route(
            "/stay/{token}/messages",
            only(get(messages_page).post(sending::message)),
        )
        .route(
            "/stay/{token}/issues",
            only(get(issues::get).post(issues::post)),
        )
        .route(
            "/stay/{token}/reviews/checkin",
            only(survey(SurveyKind::Checkin)),
        )
        .route(
            "/stay/{token}/reviews/checkout",
            only(survey(SurveyKind::Checkout)),
        )
        .route(
            "/stay/{token}/extras",
            only(get(extras::get).post(extras::post)),
        )
        .route("/stay/{token}/manuals/{manualId}", only(get(manual_page)))
        .route("/stay/{token}/stay.ics", only(get(calendar_file)))
        .route("/stay/{token}/stay.pkpass", only(get(pass_file)))
        .route(
            "/stay/{token}/manifest.webmanifest",
            only(get(manifest_file)),
        )
        .route("/stay/{token}/worker.js", only(get(worker_file)))
        .route("/stay", any(lost))
        .route("/stay/", any(lost))
        .route("/stay/{token}/", only(get(behind_token)))
        .route("/stay/{token}/{*rest}", only(get(behind_token)))
        .route("/favicon.ico", get(favicon))
        .with_state(service.clone())
        .merge(wallet::routes(service))
}

/// Returns the handlers of a survey's page.
fn survey(kind: SurveyKind) -> MethodRouter<Arc<Service>> {
    get(
        move |server: PageService, params: PathParams, request: HttpRequest| {
            surveys::get(kind, server, params, request)
        },
    )
    .post(
        move |server: PageService, params: PathParams, request: HttpRequest| {
            surveys::post(kind, server, params, request)
        },
    )
}

/// The HTML of a page, or the error of its template.
type Html = engine::error::Result<String>;

/// Responds with a page of a stay. The function `made` renders the page, and returns the HTTP
/// status and the HTML. If the stay cannot be read, responds with an error page.
async fn shown(
    server: PageService,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&PageRequest, &PageStay) -> (u16, Html),
) -> Response {
    let (mut request, _) = PageRequest::of(server.0, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => {
            let (status, html) = made(&request, &page_stay);
            reply::page_of_stay(&page_stay, status, html)
        }
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, operation, request.requester);
    response
}

/// Responds with a page that contains no form. Returns the cached page if it was rendered from the
/// current guest view. Otherwise renders the page.
async fn read(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&PageRequest, &PageStay) -> (u16, Html),
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = opened(&mut request, operation, made)
        .await
        .unwrap_or_else(|refusal| request.error_page(&refusal));
    attach_operation(&mut response, operation, request.requester);
    response
}

async fn opened(
    request: &mut PageRequest,
    operation: &str,
    made: impl FnOnce(&PageRequest, &PageStay) -> (u16, Html),
) -> Result<Response, PageRefusal> {
    let key = request.key(operation);
    let view = request.view().await?;
    let state = view.state.clone();
    if let Some(key) = &key
        && let Some(page) = request.cached_page(key, state.as_ref())
    {
        return Ok(reply::cached_page(&page, &request.headers).await);
    }
    let page_stay = request.page_stay(view)?;
    let (status, html) = made(request, &page_stay);
    if let (Some(key), Some(state), 200, Ok(html)) = (key, state, status, &html) {
        request.cache_page(key, &page_stay, state, html);
    }
    Ok(reply::page_of_stay(&page_stay, status, html))
}

async fn home_page(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    if let Some(address) = PageRequest::without_trailing_punctuation(&server.0, &params, &request) {
        return reply::redirect(&address);
    }
    read(
        server,
        params,
        request,
        "getStayPage",
        |request, page_stay| (200, home::render(page_stay, request.is_just_submitted())),
    )
    .await
}

async fn step_page(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    shown(
        server,
        params,
        request,
        "getStepPage",
        |request, page_stay| {
            let Some(step) = request.path_id("stepId").and_then(|id| page_stay.step(id)) else {
                return (404, missing_page::missing(page_stay, MissingThing::Step));
            };
            let guests = request
                .query_parameter("guests")
                .and_then(|number| number.parse().ok())
                .filter(|number| *number <= form::MAX_GUESTS);
            (
                200,
                step::render(
                    page_stay,
                    step,
                    StepOptions {
                        guests,
                        marks_missing: request.query_parameter("lacking").is_some(),
                    },
                    None,
                ),
            )
        },
    )
    .await
}

async fn review_page(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    shown(server, params, request, "getReviewPage", |_, page_stay| {
        (200, review::render(page_stay, None))
    })
    .await
}

async fn manual_page(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    read(
        server,
        params,
        request,
        "getManualPage",
        |request, page_stay| match request
            .path_id("manualId")
            .and_then(|id| page_stay.manual(id))
        {
            Some(manual) => (200, manuals::render(page_stay, manual)),
            None => (404, missing_page::missing(page_stay, MissingThing::Manual)),
        },
    )
    .await
}

async fn messages_page(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => {
            let messages = written(&mut request).await;
            let html = messages::render(&page_stay, &messages, None);
            reply::page_of_stay(&page_stay, 200, html)
        }
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, "getMessagesPage", request.requester);
    response
}

/// Returns the guest's messages. Returns an empty list if they cannot be read, so that the guest
/// can still write a message.
pub(super) async fn written(request: &mut PageRequest) -> Arc<Vec<Message>> {
    request
        .call(LIST_OWN_MESSAGES, &[], Body::empty())
        .await
        .unwrap_or_default()
}

/// Responds with a file, such as the calendar file. The function `made` builds the response from
/// the stay.
async fn file(
    server: PageService,
    params: PathParams,
    request: HttpRequest,
    operation: &'static str,
    made: impl FnOnce(&PageRequest, &PageStay) -> Response,
) -> Response {
    let (mut request, _) = PageRequest::of(server.0, params, request);
    let mut response = match request.load_stay().await {
        Ok(page_stay) => made(&request, &page_stay),
        Err(refusal) => request.error_page(&refusal),
    };
    attach_operation(&mut response, operation, request.requester);
    response
}

async fn calendar_file(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    file(
        server,
        params,
        request,
        "getStayCalendar",
        |request, page_stay| {
            reply::file(
                "text/calendar; charset=utf-8",
                stay_files::calendar(request, page_stay),
            )
        },
    )
    .await
}

async fn pass_file(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let mut response = offered_pass(&mut request)
        .await
        .unwrap_or_else(|refusal| request.error_page(&refusal));
    attach_operation(&mut response, "getStayPass", request.requester);
    response
}

async fn offered_pass(request: &mut PageRequest) -> Result<Response, PageRefusal> {
    let page_stay = request.load_stay().await?;
    if !page_stay.offers_pass() {
        let html = missing_page::missing(&page_stay, MissingThing::Pass);
        return Ok(reply::page(404, html, page_stay.language));
    }
    let details = request.call(GET_PASS, &[], Body::empty()).await?;
    let pass = match request.signer() {
        Some(signer) => stay_files::pass(request, &page_stay, signer, &details),
        None => {
            return Ok(reply::page(
                404,
                missing_page::missing(&page_stay, MissingThing::Pass),
                page_stay.language,
            ));
        }
    };
    Ok(match pass {
        Ok(pass) => reply::file("application/vnd.apple.pkpass", pass),
        Err(error) => reply::page(500, Err(error), page_stay.language),
    })
}

async fn manifest_file(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    file(
        server,
        params,
        request,
        "getStayManifest",
        |_, page_stay| reply::file("application/manifest+json", stay_files::manifest(page_stay)),
    )
    .await
}

async fn worker_file(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    file(server, params, request, "getStayWorker", |_, page_stay| {
        reply::worker(stay_files::worker(page_stay), page_stay.links.path())
    })
    .await
}

/// Redirects to the short-lived URL of a file that the guest uploaded.
async fn step_file(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (mut request, _) = PageRequest::of(service, params, request);
    let ids = request.path_id("stepId").zip(request.path_id("fileId"));
    let mut response = match ids {
        Some((step, file)) => {
            let path = [("stepId", step), ("fileId", file)];
            match request.call(GET_STEP_FILE, &path, Body::empty()).await {
                Ok(file) => reply::redirect(&file.url),
                Err(refusal) => request.error_page(&refusal),
            }
        }
        None => request.error_page(&PageRefusal {
            status: 404,
            ..PageRefusal::default()
        }),
    };
    attach_operation(&mut response, "getStepFilePage", request.requester);
    response
}

/// Handles a GET request to an address that accepts only POST requests with forms of a step.
/// Redirects the browser to the page of that step.
async fn to_step(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, _) = PageRequest::of(service, params, request);
    match request
        .path_id("stepId")
        .filter(|_| request.has_valid_ids())
    {
        Some(step) => reply::redirect(&request.links.step(step)),
        None => request.error_page(&PageRefusal {
            status: 404,
            ..PageRefusal::default()
        }),
    }
}

async fn to_review(
    State(service): PageService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (request, _) = PageRequest::of(service, params, request);
    reply::redirect(&request.links.review())
}

/// Handles requests for unknown paths below the path of a stay's page. Redirects to the stay if
/// only punctuation follows the token (rules: stays#links). Otherwise responds with 404.
async fn behind_token(server: PageService, params: PathParams, request: HttpRequest) -> Response {
    match PageRequest::without_trailing_punctuation(&server.0, &params, &request) {
        Some(address) => reply::redirect(&address),
        None => lost(server, params, request).await,
    }
}

async fn lost(State(service): PageService, params: PathParams, request: HttpRequest) -> Response {
    let (request, _) = PageRequest::of(service, params, request);
    request.error_page(&PageRefusal {
        status: 404,
        ..PageRefusal::default()
    })
}

/// Reads the fields of a form; `None` if the body is not a form, exceeds the size limit, or does
/// not arrive within the time limit.
pub(super) async fn read_form(headers: &HeaderMap, body: Body) -> Option<FormFields> {
    let fields = browser::read_form_within(form::LIMITS, headers, body).await;
    fields.map(browser::with_line_feeds)
}

/// Responds to the browser's automatic request for `/favicon.ico` with a drawing of a house.
async fn favicon() -> Response {
    let house = icons::drawing("house").unwrap_or_default();
    let drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 24 24\" fill=\"none\" \
            stroke=\"#2563eb\" stroke-width=\"2\">{house}</svg>"
    );
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (
            CACHE_CONTROL,
            HeaderValue::from_static("public, max-age=86400"),
        ),
    ];
    (headers, drawing).into_response()
}
