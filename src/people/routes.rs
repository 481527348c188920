//! The addresses by which people come in and leave: all that is there is a page, and so is all that is not.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use axum::routing::{MethodRouter, any, get};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::access::token;
use engine::pipeline::Service;

use super::cookie::Cookie;
use super::form::{read_form, sent};
use super::place::{FROM_PROVIDER, SIGN_IN, SIGN_OUT, TO_PROVIDER, address};
use super::provider::{Answer, Provider, is_state};
use super::refusal::Refusal;
use super::reply::{redirect, with_cookies};
use super::session::{self, signed_in};
use super::standing::LONGEST;
use super::visit::Visit;
use super::{members, pages, return_path, settings, tickets};

/// How long a sign-in may take at the provider, in seconds.
const PROVIDER_LASTS: u64 = 600;

type Server = State<Arc<Service>>;

/// The routes of the chapter.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    // What is sent by another method is not there.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(lost);
    Router::new()
        .route(SIGN_IN, only(get(sign_in_page).post(sign_in)))
        .route(TO_PROVIDER, only(get(to_provider)))
        .route(FROM_PROVIDER, only(get(from_provider)))
        .route(SIGN_OUT, only(get(sign_out_page).post(sign_out)))
        .route("/sign-in/", any(lost))
        .route("/sign-in/{*rest}", any(lost))
        .route("/sign-out/", any(lost))
        .route("/sign-out/{*rest}", any(lost))
        .with_state(service.clone())
}

async fn sign_in_page(State(service): Server, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, request);
    let answer = match visit.asks("ticket") {
        Some(ticket) => tickets::look(&visit.service, ticket).await.map(|admission| pages::ticket(&visit, ticket, &admission)),
        None => ways(&visit).await,
    };
    visit.answered("getSignInPage", answer)
}

/// How whoever comes without a ticket goes on.
async fn ways(visit: &Visit) -> Result<Response, Refusal> {
    if let Some(signed_in) = signed_in(&visit.service, &visit.headers, visit.request_id).await? {
        return Ok(pages::signed_in(visit, &signed_in));
    }
    if let Some(elsewhere) = settings::elsewhere(&visit.service, visit.return_to()) {
        return Ok(redirect(&elsewhere));
    }
    Ok(pages::ways(visit, settings::provider(&visit.service).is_some()))
}

/// Uses a ticket up.
async fn sign_in(State(service): Server, request: HttpRequest) -> Response {
    let (visit, body) = Visit::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let answer = if visit.is_own_form(&fields) { redeemed(&visit, &fields).await } else { Err(Refusal::ForeignForm) };
    visit.answered("signIn", answer)
}

async fn redeemed(visit: &Visit, fields: &[(String, String)]) -> Result<Response, Refusal> {
    let ticket = sent(fields, "ticket").or_else(|| visit.asks("ticket")).ok_or(Refusal::UsedLink)?;
    let (token, admission) =
        tickets::redeem(&visit.service, ticket, session::shown(&visit.service, &visit.headers), visit.request_id).await?;
    tracing::info!(
        request_id = %visit.request_id, organization = %admission.organization.id, member = %admission.member_id, by = "ticket", "signed in"
    );
    Ok(begun(visit, &token, &admission.return_to))
}

/// On to where somebody wanted to go, with their session.
fn begun(visit: &Visit, token: &str, return_to: &str) -> Response {
    let service = &visit.service;
    let seconds = LONGEST.as_secs().unsigned_abs();
    // It was a path of this service when it was stored, or when it was put into the cookie: it is judged again all the same.
    let path = return_path::right(return_to).unwrap_or(return_path::DEFAULT);
    let response = with_cookies(redirect(&address(service, path)), Cookie::Session.keep(service, token, seconds));
    with_cookies(response, Cookie::Forms.forget(service))
}

async fn to_provider(State(service): Server, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, request);
    let answer = begun_elsewhere(&visit).await;
    visit.answered("signInWithProvider", answer)
}

/// Off to the provider, with what brings the browser back to where it wanted to go.
async fn begun_elsewhere(visit: &Visit) -> Result<Response, Refusal> {
    let service = &visit.service;
    let provider = settings::provider(service).ok_or(Refusal::Missing)?;
    let secret = token("", &service.kit.ids);
    let url = provider.begin(&service.clock, &callback(service), &secret).await?;
    let return_to = visit.return_to().unwrap_or(return_path::DEFAULT);
    let under_way = format!("{secret}.{}", URL_SAFE_NO_PAD.encode(return_to));
    Ok(with_cookies(redirect(url.as_str()), Cookie::Provider.keep_parts(service, &under_way, PROVIDER_LASTS)))
}

async fn from_provider(State(service): Server, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, request);
    let answer = match settings::provider(&visit.service) {
        Some(provider) => returned(&visit, provider).await,
        None => Err(Refusal::Missing),
    };
    // Whatever came of it, it is over.
    with_cookies(visit.answered("returnFromProvider", answer), Cookie::Provider.forget_parts(&visit.service))
}

/// What comes of a browser that the provider sends back (OpenID Connect Core 1.0, 3.1.2.5 to 3.1.3.7).
async fn returned(visit: &Visit, provider: &Provider) -> Result<Response, Refusal> {
    let service = &visit.service;
    let under_way = Cookie::Provider.read_parts(service, &visit.headers);
    let under_way = under_way.ok_or(Refusal::ProviderLost("no sign-in at the provider is under way in this browser"))?;
    let (secret, return_to) = under_way.split_once('.').unwrap_or((&under_way, ""));
    if !visit.asks("state").is_some_and(|sent| is_state(sent, secret)) {
        return Err(Refusal::ProviderLost("the state is none of a sign-in in this browser"));
    }
    if !provider.is_of(visit.asks("iss")) {
        return Err(Refusal::ProviderLost("the answer is of another issuer"));
    }
    if let Some(error) = visit.asks("error") {
        return Err(Refusal::ProviderRefused(error.to_owned()));
    }
    let code = visit.asks("code").ok_or(Refusal::ProviderLost("there is no code"))?;
    let email = provider.finish(&service.clock, Answer { redirect: &callback(service), secret, code }).await?;
    let return_to = URL_SAFE_NO_PAD.decode(return_to).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let return_to = return_path::right(&return_to).unwrap_or(return_path::DEFAULT);
    let memberships = members::of_address(service, &email).await?;
    let [one] = memberships.as_slice() else {
        let tickets = members::offer(service, &memberships, return_to).await?;
        return Ok(pages::choose(visit, &memberships, tickets, return_to));
    };
    let token = members::enter(service, one, session::shown(service, &visit.headers), visit.request_id).await?;
    tracing::info!(
        request_id = %visit.request_id, organization = %one.organization.id, member = %one.member_id, by = "provider", "signed in"
    );
    Ok(begun(visit, &token, return_to))
}

/// Where the provider sends browsers back to.
fn callback(service: &Service) -> String {
    format!("{}{FROM_PROVIDER}", service.kit.public_url)
}

async fn sign_out_page(State(service): Server, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, request);
    let found = signed_in(&visit.service, &visit.headers, visit.request_id).await;
    let answer = found.map(|found| found.map_or_else(|| pages::signed_out(&visit), |signed_in| pages::sign_out(&visit, &signed_in)));
    visit.answered("getSignOutPage", answer.map_err(Refusal::from))
}

async fn sign_out(State(service): Server, request: HttpRequest) -> Response {
    let (visit, body) = Visit::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let answer = left(&visit, &fields).await;
    visit.answered("signOut", answer)
}

/// Ends the session of a browser whose form it is. Where there is none, there is nothing to end.
async fn left(visit: &Visit, fields: &[(String, String)]) -> Result<Response, Refusal> {
    let service = &visit.service;
    if let Some(signed_in) = signed_in(service, &visit.headers, visit.request_id).await? {
        if !sent(fields, "form").is_some_and(|form| signed_in.is_own_form(form)) {
            return Err(Refusal::ForeignForm);
        }
        session::leave(service, &signed_in, visit.request_id).await?;
        tracing::info!(
            request_id = %visit.request_id, organization = %signed_in.organization.id, member = %signed_in.member_id, "signed out"
        );
    }
    Ok(with_cookies(redirect(&address(service, SIGN_OUT)), Cookie::Session.forget(service)))
}

/// Whatever else is asked for, in whatever way.
async fn lost(State(service): Server, request: HttpRequest) -> Response {
    let (visit, _) = Visit::of(service, request);
    visit.answered("-", Err(Refusal::Missing))
}
