//! The routes for signing in and out. Every answer below them is a page, even for an unknown path.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use axum::routing::{MethodRouter, any, get};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::access::token;
use engine::pipeline::Service;

use super::addresses::{FROM_PROVIDER, SETUP, SIGN_IN, SIGN_OUT, TO_PROVIDER, address};
use super::cookie::Cookie;
use super::form::{read_form, sent};
use super::provider::{IdentityProvider, ProviderAnswer, is_state};
use super::refusal::SignInRefusal;
use super::reply::{redirect, with_cookies};
use super::session::{self, signed_in};
use super::validity::LONGEST;
use super::visit::SignInRequest;
use super::{members, pages, return_path, settings, setup, setup_page, tickets};

/// Maximum duration of a sign-in at the provider, in seconds.
const PROVIDER_LASTS: u64 = 600;

type PeopleService = State<Arc<Service>>;

/// The routes of this module.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    // Other methods get the page for unknown paths.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(lost);
    Router::new()
        .route(SIGN_IN, only(get(sign_in_page).post(sign_in)))
        .route(TO_PROVIDER, only(get(to_provider)))
        .route(FROM_PROVIDER, only(get(from_provider)))
        .route(SIGN_OUT, only(get(sign_out_page).post(sign_out)))
        .route(SETUP, only(get(setup_page_of).post(set_up)))
        .route("/setup/", any(lost))
        .route("/setup/{*rest}", any(lost))
        .route("/sign-in/", any(lost))
        .route("/sign-in/{*rest}", any(lost))
        .route("/sign-out/", any(lost))
        .route("/sign-out/{*rest}", any(lost))
        .with_state(service.clone())
}

async fn sign_in_page(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let answer = match visit.asks("ticket") {
        Some(ticket) => tickets::look(&visit.service, ticket)
            .await
            .map(|grant| pages::ticket(&visit, ticket, &grant)),
        None => ways(&visit).await,
    };
    visit.answered("getSignInPage", answer)
}

async fn setup_page_of(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let ticket = visit.asks("ticket").unwrap_or_default();
    let answer = setup::check(&visit.service, ticket).await;
    let page = answer.map(|()| setup_page::empty(&visit, ticket));
    visit.answered("getSetupPage", page)
}

/// Sets up the first organization, and signs its first member in.
async fn set_up(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let answer = if visit.is_own_form(&fields) {
        create(&visit, &fields).await
    } else {
        Err(SignInRefusal::ForeignForm)
    };
    visit.answered("setUp", answer)
}

async fn create(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInRefusal> {
    let ticket = sent(fields, "ticket").unwrap_or_default();
    setup::check(&visit.service, ticket).await?;
    let typed = setup::SetupInput::of(fields);
    let wrong = typed.wrong();
    if !wrong.is_empty() {
        return Ok(setup_page::again(visit, ticket, &typed, &wrong));
    }
    let (token, organization, member) =
        setup::make(&visit.service, ticket, typed, visit.request_id).await?;
    tracing::info!(
        request_id = %visit.request_id, %organization, %member, "set up the first organization"
    );
    Ok(started(visit, &token, return_path::DEFAULT))
}

/// Answers a visitor without a ticket.
async fn ways(visit: &SignInRequest) -> Result<Response, SignInRefusal> {
    if let Some(signed_in) = signed_in(&visit.service, &visit.headers, visit.request_id).await? {
        return Ok(pages::signed_in(visit, &signed_in));
    }
    if let Some(elsewhere) = settings::elsewhere(&visit.service, visit.return_to()) {
        return Ok(redirect(&elsewhere));
    }
    Ok(pages::ways(
        visit,
        settings::provider(&visit.service).is_some(),
    ))
}

/// Redeems a ticket.
async fn sign_in(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let answer = if visit.is_own_form(&fields) {
        redeemed(&visit, &fields).await
    } else {
        Err(SignInRefusal::ForeignForm)
    };
    visit.answered("signIn", answer)
}

async fn redeemed(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInRefusal> {
    let ticket = sent(fields, "ticket")
        .or_else(|| visit.asks("ticket"))
        .ok_or(SignInRefusal::UsedLink)?;
    let (token, grant) = tickets::redeem(
        &visit.service,
        ticket,
        session::shown(&visit.service, &visit.headers),
        visit.request_id,
    )
    .await?;
    tracing::info!(
        request_id = %visit.request_id, organization = %grant.organization.id, member = %grant.member_id, by = "ticket", "signed in"
    );
    Ok(started(visit, &token, &grant.return_to))
}

/// Redirects a person with a new session to the page that they wanted.
fn started(visit: &SignInRequest, token: &str, return_to: &str) -> Response {
    let service = &visit.service;
    let seconds = LONGEST.as_secs().unsigned_abs();
    // The path was valid when it was stored or put into the cookie. It is checked again to be safe.
    let path = return_path::right(return_to).unwrap_or(return_path::DEFAULT);
    let response = with_cookies(
        redirect(&address(service, path)),
        Cookie::Session.keep(service, token, seconds),
    );
    with_cookies(response, Cookie::Forms.forget(service))
}

async fn to_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let answer = started_at_provider(&visit).await;
    visit.answered("signInWithProvider", answer)
}

/// Redirects to the provider. A cookie keeps the secret of the sign-in and the return path.
async fn started_at_provider(visit: &SignInRequest) -> Result<Response, SignInRefusal> {
    let service = &visit.service;
    let provider = settings::provider(service).ok_or(SignInRefusal::Missing)?;
    let secret = token("", &service.app_state.ids);
    let url = provider
        .begin(&service.clock, &callback(service), &secret)
        .await?;
    let return_to = visit.return_to().unwrap_or(return_path::DEFAULT);
    let under_way = format!("{secret}.{}", URL_SAFE_NO_PAD.encode(return_to));
    Ok(with_cookies(
        redirect(url.as_str()),
        Cookie::Provider.keep_parts(service, &under_way, PROVIDER_LASTS),
    ))
}

async fn from_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let answer = match settings::provider(&visit.service) {
        Some(provider) => returned(&visit, provider).await,
        None => Err(SignInRefusal::Missing),
    };
    // The sign-in at the provider is over, whatever its result.
    with_cookies(
        visit.answered("returnFromProvider", answer),
        Cookie::Provider.forget_parts(&visit.service),
    )
}

/// Answers a browser that returns from the provider (OpenID Connect Core 1.0, 3.1.2.5 to 3.1.3.7).
async fn returned(
    visit: &SignInRequest,
    provider: &IdentityProvider,
) -> Result<Response, SignInRefusal> {
    let service = &visit.service;
    let under_way = Cookie::Provider.read_parts(service, &visit.headers);
    let under_way = under_way.ok_or(SignInRefusal::ProviderLost(
        "no sign-in at the provider is in progress in this browser",
    ))?;
    let (secret, return_to) = under_way.split_once('.').unwrap_or((&under_way, ""));
    if !visit
        .asks("state")
        .is_some_and(|sent| is_state(sent, secret))
    {
        return Err(SignInRefusal::ProviderLost(
            "the state does not belong to a sign-in in this browser",
        ));
    }
    if !provider.is_of(visit.asks("iss")) {
        return Err(SignInRefusal::ProviderLost(
            "the answer is from another issuer",
        ));
    }
    if let Some(error) = visit.asks("error") {
        return Err(SignInRefusal::ProviderRefused(error.to_owned()));
    }
    let code = visit
        .asks("code")
        .ok_or(SignInRefusal::ProviderLost("the answer has no code"))?;
    let email = provider
        .finish(
            &service.clock,
            ProviderAnswer {
                redirect: &callback(service),
                secret,
                code,
            },
        )
        .await?;
    let return_to = URL_SAFE_NO_PAD
        .decode(return_to)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default();
    let return_to = return_path::right(&return_to).unwrap_or(return_path::DEFAULT);
    let memberships = members::of_address(service, &email).await?;
    let [one] = memberships.as_slice() else {
        let tickets = members::offer(service, &memberships, return_to).await?;
        return Ok(pages::choose(visit, &memberships, tickets, return_to));
    };
    let token = members::enter(
        service,
        one,
        session::shown(service, &visit.headers),
        visit.request_id,
    )
    .await?;
    tracing::info!(
        request_id = %visit.request_id, organization = %one.organization.id, member = %one.member_id, by = "provider", "signed in"
    );
    Ok(started(visit, &token, return_to))
}

/// Returns the address at which the provider sends browsers back.
fn callback(service: &Service) -> String {
    format!("{}{FROM_PROVIDER}", service.app_state.public_url)
}

async fn sign_out_page(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let found = signed_in(&visit.service, &visit.headers, visit.request_id).await;
    let answer = found.map(|found| {
        found.map_or_else(
            || pages::signed_out(&visit),
            |signed_in| pages::sign_out(&visit, &signed_in),
        )
    });
    visit.answered("getSignOutPage", answer.map_err(SignInRefusal::from))
}

async fn sign_out(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let answer = end_session(&visit, &fields).await;
    visit.answered("signOut", answer)
}

/// Ends the session of a browser, if the form belongs to it. Without a session there is nothing to
/// end.
async fn end_session(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInRefusal> {
    let service = &visit.service;
    if let Some(signed_in) = signed_in(service, &visit.headers, visit.request_id).await? {
        if !sent(fields, "form").is_some_and(|form| signed_in.is_own_form(form)) {
            return Err(SignInRefusal::ForeignForm);
        }
        session::leave(service, &signed_in, visit.request_id).await?;
        tracing::info!(
            request_id = %visit.request_id, organization = %signed_in.organization.id, member = %signed_in.member_id, "signed out"
        );
    }
    Ok(with_cookies(
        redirect(&address(service, SIGN_OUT)),
        Cookie::Session.forget(service),
    ))
}

/// Answers any other request with the page for unknown paths.
async fn lost(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    visit.answered("-", Err(SignInRefusal::Missing))
}
