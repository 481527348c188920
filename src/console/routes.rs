//! Who gets into the console, and what becomes of a form that is sent.
//!
//! A page is for whoever is signed in; everybody else signs in first and comes back. A form carries the token of its session. One that was
//! typed into while the session ended is not lost ([`kept`]): it comes back filled in, and changes nothing until it is sent again. Nor is
//! one lost that cannot be dealt with at the moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, any, on};
use engine::access::Credential;
use engine::pipeline::{Requester, Service};
use engine::surface::{PathParams, note, query, readable, request_id};
use http::Method;

use super::refusal::Refusal;
use super::screens::{Page, SCREENS, Screen};
use super::visit::{BASE, Fields, Parts, Visit, first};
use super::{frame, kept, reply};
use crate::people::{self, Bounds};

/// The greatest form: a long text, each character of it three bytes. What is larger is refused whole.
const BOUNDS: Bounds = Bounds { bytes: 1 << 20, fields: 5_000 };

type Server = State<Arc<Service>>;

/// The routes of the chapter.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    let mut by_path: BTreeMap<&str, MethodRouter<Arc<Service>>> = BTreeMap::new();
    for screen in SCREENS {
        for page in screen.pages {
            let filter = MethodFilter::try_from(page.method.clone()).unwrap_or(MethodFilter::GET);
            let answer = move |state: Server, params: PathParams, request: HttpRequest| enter(screen, page, state, params, request);
            let known = by_path.remove(page.path).unwrap_or_default();
            by_path.insert(page.path, known.merge(on(filter, answer)));
        }
    }
    let routes = by_path.into_iter().fold(Router::new(), |routes, (path, methods)| {
        // What is sent by another method is not there.
        routes.route(&format!("{BASE}{path}"), methods.fallback(lost))
    });
    routes.route(&format!("{BASE}/"), any(lost)).route(&format!("{BASE}/{{*rest}}"), any(lost)).with_state(service.clone())
}

async fn enter(screen: &'static Screen, page: &'static Page, State(service): Server, params: PathParams, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let id = request_id(&parts);
    let fields = if page.method == Method::POST { people::read_form_within(BOUNDS, &parts.headers, body).await } else { None };
    let is_form = page.method != Method::POST || fields.is_some();
    let fields: Fields = fields.unwrap_or_default().into_iter().map(|(name, value)| (name, plain(&value))).collect();
    let asked_for = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let is_typed = page.method == Method::POST && is_form && kept::is_from_here(&service, &parts.headers);
    let signed_in = match people::signed_in(&service, &parts.headers, id).await {
        Ok(signed_in) => signed_in,
        Err(error) if is_typed => {
            let refusal = Refusal::said(&error, people::language(&service, &parts.headers));
            return noted(kept::again(&service, &parts.headers, &asked_for, &fields, &refusal), page.name, None);
        }
        Err(error) => return reply::unavailable(&service, &parts.headers, id, &error),
    };
    let Some(signed_in) = signed_in else {
        let response =
            if is_typed { kept::page(&service, &parts.headers, &asked_for, &fields) } else { people::sign_in_first(&service, &asked_for) };
        return noted(response, page.name, None);
    };
    let is_own = first(&fields, "form").is_some_and(|form| signed_in.is_own_form(form));
    let is_kept = !is_own && kept::is_kept(&fields) && kept::is_from_here(&service, &parts.headers);
    let params = readable(params);
    let is_there = params.is_some();
    let params = params.iter().flat_map(|params| params.iter()).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let path = parts.uri.path().strip_prefix(BASE).unwrap_or_default().to_owned();
    let requester = Requester { organization: Some(signed_in.organization.id), credential: Credential::Member(signed_in.member_id) };
    let query = query(&parts);
    let visit =
        Visit::new(Parts { service, id, signed_in, screen, path, headers: parts.headers, fields, query, params, may_write: is_own });
    let answer = if !is_there {
        Err(Refusal::missing())
    } else if page.method == Method::POST && !is_form {
        Err(Refusal { status: 400, message: visit.words.frame.too_large.to_owned(), ..Refusal::default() })
    } else if page.method == Method::POST && !is_own && !is_kept {
        Err(Refusal::foreign_form())
    } else {
        answered(&visit, page).await
    };
    noted(answer.unwrap_or_else(|refusal| refused(&visit, page, &asked_for, &refusal)), page.name, Some(requester))
}

/// The page that says why nothing came of a request; of a form that may be sent again it has what was typed.
fn refused(visit: &Visit, page: &Page, asked_for: &str, refusal: &Refusal) -> Response {
    let Visit { service, headers, fields, .. } = visit;
    if page.method == Method::POST && kept::is_for_a_moment(refusal) {
        return kept::again(service, headers, asked_for, fields, refusal);
    }
    if page.method == Method::POST && refusal.status == 401 {
        return kept::page(service, headers, asked_for, fields);
    }
    frame::refusal(visit, refusal)
}

/// What a page answers whoever may ask for what it needs. A form is refused by its operation, and comes back with what was typed.
async fn answered(visit: &Visit, page: &Page) -> Result<Response, Refusal> {
    if page.method == Method::GET {
        visit.screen.needs.iter().chain(page.needs).try_for_each(|operation| visit.require(operation))?;
    }
    (page.run)(visit).await
}

/// What was typed: a browser ends lines with CR LF, which is the form's doing.
fn plain(value: &str) -> String {
    value.replace("\r\n", "\n")
}

/// Whatever else is asked for, in whatever way.
async fn lost(State(service): Server, request: HttpRequest) -> Response {
    let (parts, _) = request.into_parts();
    let id = request_id(&parts);
    let asked_for = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let signed_in = match people::signed_in(&service, &parts.headers, id).await {
        Ok(Some(signed_in)) => signed_in,
        Ok(None) => return noted(people::sign_in_first(&service, &asked_for), "getConsolePage", None),
        Err(error) => return reply::unavailable(&service, &parts.headers, id, &error),
    };
    let requester = Requester { organization: Some(signed_in.organization.id), credential: Credential::Member(signed_in.member_id) };
    let visit = Visit::new(Parts {
        service,
        id,
        signed_in,
        screen: &frame::SCREEN,
        path: String::new(),
        headers: parts.headers,
        fields: Fields::new(),
        query: Fields::new(),
        params: Fields::new(),
        may_write: false,
    });
    noted(frame::refusal(&visit, &Refusal::missing()), "getConsolePage", Some(requester))
}

fn noted(mut response: Response, name: &'static str, requester: Option<Requester>) -> Response {
    note(&mut response, name, requester);
    response
}
