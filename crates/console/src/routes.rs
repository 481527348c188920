//! The routes of the console: authentication, and how submitted forms are handled.
//!
//! Pages require a session. A visitor without a session is redirected to the sign-in page, and
//! afterwards back to the console. A form contains the form token of the member's session. If the
//! session ends before the form is sent, the form is returned ([`returned_form`]). After the
//! sign-in the console shows it again. The form changes nothing until the member sends it once
//! more. The console also returns a form if a temporary problem prevents handling it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use access::people;
use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, any, on};
use engine::access::{Credential, Owner};
use engine::error::ErrorKind;
use engine::pipeline::{PeerLimits, RateLimits, Receiving, Requester, Service, counted_for};
use http::Method;
use http::header::ACCEPT;
use vestibule_http::browser::{self, FormLimits};
use vestibule_http::surface::{
    PathParams, Peer, attach_operation, not_found, query, readable, request_id,
};

use super::refusal::ConsoleRefusal;
use super::request::{BASE, ConsoleFields, ConsoleRequest, ConsoleRequestParts, first_value};
use super::screens::{SCREENS, Screen, ScreenPage};
use super::{frame, reply, returned_form};

/// Limits of a member's form. They allow the longest text of any field, even if each character
/// needs three bytes. A larger form is refused as a whole.
const BOUNDS: FormLimits = FormLimits {
    bytes: 1 << 20,
    fields: 5_000,
};

/// Limits of a member's form that contains a file. The upload form contains the file itself. The
/// form that starts an import contains the file's text in a field.
const WITH_FILE: FormLimits = FormLimits {
    bytes: 48 << 20,
    fields: 200,
};

/// Limits of a form that is sent without a session. The response repeats the form's values as
/// escaped HTML, so it can be larger than the request.
const ANONYMOUS: FormLimits = FormLimits {
    bytes: 64 << 10,
    fields: 5_000,
};

/// Maximum number of forms without a session that the console reads per minute and IP address.
const ANONYMOUS_PER_MINUTE: u32 = 200;

/// Rate limits, by IP address, for forms that are sent without a session.
pub struct AnonymousLimits(PeerLimits);

impl Default for AnonymousLimits {
    fn default() -> Self {
        Self(PeerLimits::new(
            ANONYMOUS_PER_MINUTE,
            Duration::from_mins(1),
        ))
    }
}

/// Returns whether the console may read a form that is sent without a session. The number of such
/// forms from one IP address is limited ([`AnonymousLimits`]).
fn is_let_in(service: &Service, parts: &http::request::Parts) -> bool {
    let limits = service.app_state.extension::<AnonymousLimits>();
    let peer = parts.extensions.get::<Peer>();
    match (limits, peer) {
        (Some(AnonymousLimits(limits)), Some(Peer(address))) => {
            limits.take(*address, service.clock.elapsed()).is_ok()
        }
        _ => true,
    }
}

/// Limits on the number of pages that a member may request.
pub struct PageLimits(RateLimits);

impl PageLimits {
    /// Creates rate limits of this many pages per minute and per second; 0 disables a limit.
    #[must_use]
    pub fn new(per_minute: u32, per_second: u32) -> Self {
        Self(RateLimits::new(per_minute, per_second))
    }
}

/// Counts a page request for the member's rate limit. Refuses the request if the limit is reached
/// (rules: limits#rate-limits).
fn counted(request: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    let service = &request.service;
    let Some(PageLimits(limits)) = service.app_state.extension() else {
        return Ok(());
    };
    let owner = Owner {
        organization: request.signed_in.organization.id,
        credential: Credential::Member(request.signed_in.member_id),
    };
    let quota = limits.take(owner, service.clock.elapsed(), service.clock.now());
    match quota.and_then(|quota| quota.retry_after) {
        Some(seconds) => Err(ConsoleRefusal {
            retry_after: Some(seconds),
            ..ConsoleRefusal::of(&ErrorKind::RateLimit.into(), request.language)
        }),
        None => Ok(()),
    }
}

type ConsoleService = State<Arc<Service>>;

pub(super) fn routes(service: &Arc<Service>) -> Router {
    let mut by_path: BTreeMap<&str, MethodRouter<Arc<Service>>> = BTreeMap::new();
    for screen in SCREENS {
        for page in screen.pages {
            let filter = MethodFilter::try_from(page.method.clone()).unwrap_or(MethodFilter::GET);
            let answer = move |state: ConsoleService, params: PathParams, request: HttpRequest| {
                enter(screen, page, state, params, request)
            };
            let known = by_path.remove(page.path).unwrap_or_default();
            by_path.insert(page.path, known.merge(on(filter, answer)));
        }
    }
    let routes = by_path
        .into_iter()
        .fold(Router::new(), |routes, (path, methods)| {
            // A request with a method that the path does not support gets the same 404 page as an
            // unknown path.
            routes.route(&format!("{BASE}{path}"), methods.fallback(lost))
        });
    routes
        .route("/", on(MethodFilter::GET, root))
        .route(&format!("{BASE}/"), any(lost))
        .route(&format!("{BASE}/{{*rest}}"), any(lost))
        .with_state(service.clone())
}

async fn enter(
    screen: &'static Screen,
    page: &'static ScreenPage,
    State(service): ConsoleService,
    params: PathParams,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let asked_for = parts
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let signed_in = people::signed_in(&service, &parts.headers, id).await;
    let is_post = page.method == Method::POST;
    // The console reads a form that arrives without a session only to return it to the visitor.
    // Anyone can send such a form, so its size and its rate are limited.
    let body = match &signed_in {
        Ok(Some(signed_in)) => {
            if let Some(receiving) = parts.extensions.get::<Receiving>() {
                receiving.release();
            }
            let organization = signed_in.organization.id;
            let bounds = if page.takes_file { WITH_FILE } else { BOUNDS };
            Some((bounds, counted_for(&service, organization, body)))
        }
        _ if is_post && is_let_in(&service, &parts) => Some((ANONYMOUS, body)),
        _ => None,
    };
    let fields = match body {
        Some((bounds, body)) if is_post && page.takes_file => {
            browser::read_form_with_files(bounds, &parts.headers, body).await
        }
        Some((bounds, body)) if is_post => {
            browser::read_form_within(bounds, &parts.headers, body).await
        }
        _ => None,
    };
    let is_form = !is_post || fields.is_some();
    let fields: ConsoleFields = browser::with_line_feeds(fields.unwrap_or_default());
    let is_typed = is_post && is_form && returned_form::is_same_origin(&service, &parts.headers);
    let signed_in = match signed_in {
        Ok(signed_in) => signed_in,
        Err(error) if is_typed => {
            let refusal = ConsoleRefusal::of(&error, people::language(&service, &parts.headers));
            return noted(
                returned_form::again(&service, &parts.headers, &asked_for, &fields, &refusal),
                page.name,
                None,
            );
        }
        Err(error) => return reply::unavailable(&service, &parts.headers, id, &error),
    };
    let Some(signed_in) = signed_in else {
        let response = if is_typed {
            returned_form::page(&service, &parts.headers, &asked_for, &fields)
        } else {
            people::redirect_to_sign_in(&service, &asked_for)
        };
        return noted(response, page.name, None);
    };
    let is_own = first_value(&fields, "form").is_some_and(|form| signed_in.is_own_form(form));
    let is_kept = !is_own
        && returned_form::is_returned(&fields)
        && returned_form::is_same_origin(&service, &parts.headers);
    let params = readable(params);
    let is_there = params.is_some();
    let params = params
        .iter()
        .flat_map(|params| params.iter())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let path = parts
        .uri
        .path()
        .strip_prefix(BASE)
        .unwrap_or_default()
        .to_owned();
    let requester = Requester {
        organization: Some(signed_in.organization.id),
        credential: Credential::Member(signed_in.member_id),
    };
    let query = query(&parts);
    let request = ConsoleRequest::new(ConsoleRequestParts {
        service,
        id,
        signed_in,
        screen,
        path,
        headers: parts.headers,
        fields,
        query,
        params,
        may_write: is_own,
    });
    let answer = if let Err(refusal) = counted(&request) {
        Err(refusal)
    } else if !is_there {
        Err(ConsoleRefusal::missing())
    } else if page.method == Method::POST && !is_form {
        Err(ConsoleRefusal {
            status: 400,
            message: request.texts.frame.too_large.to_owned(),
            ..ConsoleRefusal::default()
        })
    } else if page.method == Method::POST && !is_own && !is_kept {
        Err(ConsoleRefusal::form_of_another_session())
    } else {
        answered(&request, page).await
    };
    noted(
        answer.unwrap_or_else(|refusal| refused(&request, page, &asked_for, &refusal)),
        page.name,
        Some(requester),
    )
}

/// Returns the page for a refusal. If the same form can succeed later, the page contains the typed
/// values.
fn refused(
    request: &ConsoleRequest,
    page: &ScreenPage,
    asked_for: &str,
    refusal: &ConsoleRefusal,
) -> Response {
    let ConsoleRequest {
        service,
        headers,
        fields,
        ..
    } = request;
    if page.method == Method::POST && returned_form::is_temporary(refusal) {
        return returned_form::again(service, headers, asked_for, fields, refusal);
    }
    if page.method == Method::POST && refusal.status == 401 {
        return returned_form::page(service, headers, asked_for, fields);
    }
    frame::refusal(request, refusal)
}

/// Handles a request with a page. For a GET request, first checks that the member may call the
/// page's operations. For a form, the operation itself checks this, so that a refused form is shown
/// with its values.
async fn answered(request: &ConsoleRequest, page: &ScreenPage) -> Result<Response, ConsoleRefusal> {
    if page.method == Method::GET {
        request
            .screen
            .needs
            .iter()
            .chain(page.needs)
            .try_for_each(|operation| request.require(operation))?;
    }
    (page.run)(request).await
}

/// Handles `GET /`. Redirects a browser to the console. Any other client gets a 404 response, as
/// for an unknown path.
async fn root(State(service): ConsoleService, request: HttpRequest) -> Response {
    let is_browser = request.headers().get_all(ACCEPT).iter().any(|kinds| {
        kinds
            .to_str()
            .is_ok_and(|kinds| kinds.contains("text/html"))
    });
    if is_browser {
        noted(
            people::redirect(&people::address(&service, BASE)),
            "getRootPage",
            None,
        )
    } else {
        not_found(request).await
    }
}

/// Responds to an unknown path or an unsupported method with a 404 page.
async fn lost(State(service): ConsoleService, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let id = request_id(&parts);
    let asked_for = parts
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let signed_in = match people::signed_in(&service, &parts.headers, id).await {
        Ok(Some(signed_in)) => signed_in,
        Ok(None) => {
            return noted(
                people::redirect_to_sign_in(&service, &asked_for),
                "getConsolePage",
                None,
            );
        }
        Err(error) => return reply::unavailable(&service, &parts.headers, id, &error),
    };
    let requester = Requester {
        organization: Some(signed_in.organization.id),
        credential: Credential::Member(signed_in.member_id),
    };
    let request = ConsoleRequest::new(ConsoleRequestParts {
        service,
        id,
        signed_in,
        screen: &frame::SCREEN,
        path: String::new(),
        headers: parts.headers,
        fields: ConsoleFields::new(),
        query: ConsoleFields::new(),
        params: ConsoleFields::new(),
        may_write: false,
    });
    noted(
        frame::refusal(&request, &ConsoleRefusal::missing()),
        "getConsolePage",
        Some(requester),
    )
}

fn noted(mut response: Response, name: &'static str, requester: Option<Requester>) -> Response {
    attach_operation(&mut response, name, requester);
    response
}
