//! The routes for signing in, signing out and setting up. Every response is an HTML page or a
//! redirect, even for an unknown path. `pages.rs` and `setup_page.rs` render the pages.

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
const PROVIDER_COOKIE_SECONDS: u64 = 600;

/// The state of the handlers.
type PeopleService = State<Arc<Service>>;

/// The routes of this module.
pub(super) fn routes(service: &Arc<Service>) -> Router {
    // Other methods get the page for unknown paths.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(unknown_path);
    Router::new()
        .route(SIGN_IN, only(get(sign_in_page).post(sign_in)))
        .route(TO_PROVIDER, only(get(to_provider)))
        .route(FROM_PROVIDER, only(get(from_provider)))
        .route(SIGN_OUT, only(get(sign_out_page).post(sign_out)))
        .route(SETUP, only(get(setup_page_of).post(set_up)))
        .route("/setup/", any(unknown_path))
        .route("/setup/{*rest}", any(unknown_path))
        .route("/sign-in/", any(unknown_path))
        .route("/sign-in/{*rest}", any(unknown_path))
        .route("/sign-out/", any(unknown_path))
        .route("/sign-out/{*rest}", any(unknown_path))
        .with_state(service.clone())
}

async fn sign_in_page(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let result = match visit.asks("ticket") {
        Some(ticket) => tickets::look(&visit.service, ticket)
            .await
            .map(|grant| pages::ticket(&visit, ticket, &grant)),
        None => sign_in_options(&visit).await,
    };
    visit.answered("getSignInPage", result)
}

async fn setup_page_of(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let ticket = visit.asks("ticket").unwrap_or_default();
    let result = setup::check(&visit.service, ticket).await;
    let page = result.map(|()| setup_page::empty(&visit, ticket));
    visit.answered("getSetupPage", page)
}

/// Sets up the first organization, and signs its first member in.
async fn set_up(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = if visit.is_own_form(&fields) {
        create_organization(&visit, &fields).await
    } else {
        Err(SignInRefusal::ForeignForm)
    };
    visit.answered("setUp", result)
}

async fn create_organization(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInRefusal> {
    let ticket = sent(fields, "ticket").unwrap_or_default();
    setup::check(&visit.service, ticket).await?;
    let input = setup::SetupInput::of(fields);
    let errors = input.wrong();
    if !errors.is_empty() {
        return Ok(setup_page::again(visit, ticket, &input, &errors));
    }
    let (token, organization, member) =
        setup::make(&visit.service, ticket, input, visit.request_id).await?;
    tracing::info!(
        request_id = %visit.request_id, %organization, %member, "set up the first organization"
    );
    Ok(redirect_with_session(visit, &token, return_path::DEFAULT))
}

/// Responds to a visitor without a ticket: shows who is signed in, redirects to the platform's
/// sign-in page, or shows how to sign in.
async fn sign_in_options(visit: &SignInRequest) -> Result<Response, SignInRefusal> {
    if let Some(signed_in) = signed_in(&visit.service, &visit.headers, visit.request_id).await? {
        return Ok(pages::signed_in(visit, &signed_in));
    }
    if let Some(external_url) = settings::elsewhere(&visit.service, visit.return_to()) {
        return Ok(redirect(&external_url));
    }
    Ok(pages::ways(
        visit,
        settings::provider(&visit.service).is_some(),
    ))
}

/// Signs a member in with the ticket of a form.
async fn sign_in(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = if visit.is_own_form(&fields) {
        redeem_ticket(&visit, &fields).await
    } else {
        Err(SignInRefusal::ForeignForm)
    };
    visit.answered("signIn", result)
}

async fn redeem_ticket(
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
    Ok(redirect_with_session(visit, &token, &grant.return_to))
}

/// Redirects a person with a new session to their return path, and sets the session's cookie.
fn redirect_with_session(visit: &SignInRequest, token: &str, return_to: &str) -> Response {
    let service = &visit.service;
    let seconds = LONGEST.as_secs().unsigned_abs();
    // The path was valid when it was stored, but the rules may have changed since.
    let path = return_path::right(return_to).unwrap_or(return_path::DEFAULT);
    let response = with_cookies(
        redirect(&address(service, path)),
        Cookie::Session.keep(service, token, seconds),
    );
    with_cookies(response, Cookie::Forms.forget(service))
}

async fn to_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let result = redirect_to_provider(&visit).await;
    visit.answered("signInWithProvider", result)
}

/// Redirects to the provider. A cookie stores the secret of the sign-in and the return path.
async fn redirect_to_provider(visit: &SignInRequest) -> Result<Response, SignInRefusal> {
    let service = &visit.service;
    let provider = settings::provider(service).ok_or(SignInRefusal::Missing)?;
    let secret = token("", &service.app_state.ids);
    let url = provider
        .begin(&service.clock, &callback(service), &secret)
        .await?;
    let return_to = visit.return_to().unwrap_or(return_path::DEFAULT);
    let cookie_value = format!("{secret}.{}", URL_SAFE_NO_PAD.encode(return_to));
    Ok(with_cookies(
        redirect(url.as_str()),
        Cookie::Provider.keep_parts(service, &cookie_value, PROVIDER_COOKIE_SECONDS),
    ))
}

async fn from_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let result = match settings::provider(&visit.service) {
        Some(provider) => finish_provider_sign_in(&visit, provider).await,
        None => Err(SignInRefusal::Missing),
    };
    // The browser has returned from the provider, so the cookie is no longer needed.
    with_cookies(
        visit.answered("returnFromProvider", result),
        Cookie::Provider.forget_parts(&visit.service),
    )
}

/// Signs a member in whose browser returns from the provider (OpenID Connect Core 1.0, 3.1.2.5 to
/// 3.1.3.7). A person with several memberships gets a page to choose one.
async fn finish_provider_sign_in(
    visit: &SignInRequest,
    provider: &IdentityProvider,
) -> Result<Response, SignInRefusal> {
    let service = &visit.service;
    let cookie_value = Cookie::Provider.read_parts(service, &visit.headers);
    let cookie_value = cookie_value.ok_or(SignInRefusal::ProviderLost(
        "no sign-in at the provider is in progress in this browser",
    ))?;
    let (secret, return_to) = cookie_value.split_once('.').unwrap_or((&cookie_value, ""));
    if !visit
        .asks("state")
        .is_some_and(|state| is_state(state, secret))
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
    let [membership] = memberships.as_slice() else {
        let tickets = members::offer(service, &memberships, return_to).await?;
        return Ok(pages::choose(visit, &memberships, tickets, return_to));
    };
    let token = members::enter(
        service,
        membership,
        session::shown(service, &visit.headers),
        visit.request_id,
    )
    .await?;
    tracing::info!(
        request_id = %visit.request_id, organization = %membership.organization.id, member = %membership.member_id, by = "provider", "signed in"
    );
    Ok(redirect_with_session(visit, &token, return_to))
}

/// Returns the address to which the provider redirects browsers after a sign-in.
fn callback(service: &Service) -> String {
    format!("{}{FROM_PROVIDER}", service.app_state.public_url)
}

async fn sign_out_page(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let session = signed_in(&visit.service, &visit.headers, visit.request_id).await;
    let page = session.map(|session| {
        session.map_or_else(
            || pages::signed_out(&visit),
            |signed_in| pages::sign_out(&visit, &signed_in),
        )
    });
    visit.answered("getSignOutPage", page.map_err(SignInRefusal::from))
}

async fn sign_out(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = end_session(&visit, &fields).await;
    visit.answered("signOut", result)
}

/// Ends the session of a browser, if the form has the token of this session. Without a session, only
/// deletes the cookie.
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

/// Responds to any other request with the page for unknown paths.
async fn unknown_path(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    visit.answered("-", Err(SignInRefusal::Missing))
}
