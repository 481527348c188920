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
use vestibule_http::browser::{read_form, single_value};

use super::addresses::{
    PROVIDER_CALLBACK, SETUP, SIGN_IN, SIGN_IN_WITH_PROVIDER, SIGN_OUT, address,
};
use super::cookie::Cookie;
use super::provider::{IdentityProvider, ProviderCallback, is_state};
use super::refusal::SignInError;
use super::reply::{redirect, with_cookies};
use super::session::{self, signed_in};
use super::validity::MAX_SESSION_LIFETIME;
use super::visit::SignInRequest;
use super::{members, pages, return_path, settings, setup, setup_page, tickets};

/// Maximum duration of a sign-in at the provider, in seconds.
const PROVIDER_COOKIE_SECONDS: u64 = 600;

type PeopleService = State<Arc<Service>>;

pub(super) fn routes(service: &Arc<Service>) -> Router {
    // A request to one of these paths, with a method that its route does not serve, gets the page
    // for unknown paths.
    let only = |methods: MethodRouter<Arc<Service>>| methods.fallback(unknown_path);
    Router::new()
        .route(SIGN_IN, only(get(sign_in_page).post(sign_in)))
        .route(SIGN_IN_WITH_PROVIDER, only(get(to_provider)))
        .route(PROVIDER_CALLBACK, only(get(from_provider)))
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
    let result = match visit.query_value("ticket") {
        Some(ticket) => tickets::find_ticket(&visit.service, ticket)
            .await
            .map(|grant| pages::ticket(&visit, ticket, &grant)),
        None => sign_in_options(&visit).await,
    };
    visit.respond("getSignInPage", result)
}

async fn setup_page_of(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let ticket = visit.query_value("ticket").unwrap_or_default();
    let result = setup::check_setup_ticket(&visit.service, ticket).await;
    let page = result.map(|()| setup_page::empty_form(&visit, ticket));
    visit.respond("getSetupPage", page)
}

/// Sets up the first organization, and signs its first member in.
async fn set_up(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = if visit.is_own_form(&fields) {
        create_organization(&visit, &fields).await
    } else {
        Err(SignInError::ForeignForm)
    };
    visit.respond("setUp", result)
}

async fn create_organization(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInError> {
    let ticket = single_value(fields, "ticket").unwrap_or_default();
    setup::check_setup_ticket(&visit.service, ticket).await?;
    let input = setup::SetupInput::of(fields);
    let errors = input.field_errors();
    if !errors.is_empty() {
        return Ok(setup_page::form_with_errors(visit, ticket, &input, &errors));
    }
    let (token, organization, member) =
        setup::set_up_organization(&visit.service, ticket, input, visit.request_id).await?;
    tracing::info!(
        request_id = %visit.request_id, %organization, %member, "set up the first organization"
    );
    Ok(redirect_with_session(visit, &token, return_path::DEFAULT))
}

/// Responds to a request for the sign-in page without a ticket. Shows who is signed in, redirects
/// to the platform's sign-in page, or shows how to sign in.
async fn sign_in_options(visit: &SignInRequest) -> Result<Response, SignInError> {
    if let Some(signed_in) = signed_in(&visit.service, &visit.headers, visit.request_id).await? {
        return Ok(pages::signed_in(visit, &signed_in));
    }
    if let Some(external_url) = settings::external_sign_in_url(&visit.service, visit.return_to()) {
        return Ok(redirect(&external_url));
    }
    Ok(pages::ways(
        visit,
        settings::provider(&visit.service).is_some(),
    ))
}

/// Signs a member in with the sign-in ticket in the sent form.
async fn sign_in(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = if visit.is_own_form(&fields) {
        redeem_ticket(&visit, &fields).await
    } else {
        Err(SignInError::ForeignForm)
    };
    visit.respond("signIn", result)
}

async fn redeem_ticket(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInError> {
    let ticket = single_value(fields, "ticket")
        .or_else(|| visit.query_value("ticket"))
        .ok_or(SignInError::InvalidLink)?;
    let (token, grant) = tickets::redeem(
        &visit.service,
        ticket,
        session::session_token(&visit.service, &visit.headers),
        visit.request_id,
    )
    .await?;
    tracing::info!(
        request_id = %visit.request_id,
        organization = %grant.organization.id,
        member = %grant.member_id,
        by = "ticket",
        "signed in"
    );
    Ok(redirect_with_session(visit, &token, &grant.return_to))
}

/// Redirects a person to the return path, and sets the cookie of the new session.
fn redirect_with_session(visit: &SignInRequest, token: &str, return_to: &str) -> Response {
    let service = &visit.service;
    let seconds = MAX_SESSION_LIFETIME.as_secs().unsigned_abs();
    // The return path was valid when it was stored. A newer version of this service may have
    // stricter rules.
    let path = return_path::valid_return_path(return_to).unwrap_or(return_path::DEFAULT);
    let response = with_cookies(
        redirect(&address(service, path)),
        Cookie::Session.set(service, token, seconds),
    );
    with_cookies(response, Cookie::Forms.delete(service))
}

async fn to_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let result = redirect_to_provider(&visit).await;
    visit.respond("signInWithProvider", result)
}

/// Redirects to the provider. A cookie stores the secret of the sign-in and the return path.
async fn redirect_to_provider(visit: &SignInRequest) -> Result<Response, SignInError> {
    let service = &visit.service;
    let provider = settings::provider(service).ok_or(SignInError::PageNotFound)?;
    let secret = token("", &service.app_state.ids);
    let url = provider
        .begin(&service.clock, &callback(service), &secret)
        .await?;
    let return_to = visit.return_to().unwrap_or(return_path::DEFAULT);
    let cookie_value = format!("{secret}.{}", URL_SAFE_NO_PAD.encode(return_to));
    Ok(with_cookies(
        redirect(url.as_str()),
        Cookie::Provider.set_parts(service, &cookie_value, PROVIDER_COOKIE_SECONDS),
    ))
}

async fn from_provider(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    let result = match settings::provider(&visit.service) {
        Some(provider) => finish_provider_sign_in(&visit, provider).await,
        None => Err(SignInError::PageNotFound),
    };
    // The browser has returned from the provider, so it no longer needs the cookie with the secret
    // of this sign-in.
    with_cookies(
        visit.respond("returnFromProvider", result),
        Cookie::Provider.delete_parts(&visit.service),
    )
}

/// Signs in the member of a browser that returns from the provider (OpenID Connect Core 1.0,
/// 3.1.2.5 to 3.1.3.7). A person with several memberships gets a page on which they choose a
/// membership.
async fn finish_provider_sign_in(
    visit: &SignInRequest,
    provider: &IdentityProvider,
) -> Result<Response, SignInError> {
    let service = &visit.service;
    let cookie_value = Cookie::Provider.read_parts(service, &visit.headers);
    let cookie_value = cookie_value.ok_or(SignInError::NoProviderSignIn(
        "no sign-in at the provider is in progress in this browser",
    ))?;
    let (secret, return_to) = cookie_value.split_once('.').unwrap_or((&cookie_value, ""));
    if !visit
        .query_value("state")
        .is_some_and(|state| is_state(state, secret))
    {
        return Err(SignInError::NoProviderSignIn(
            "the state does not belong to a sign-in in this browser",
        ));
    }
    if !provider.is_issuer(visit.query_value("iss")) {
        return Err(SignInError::NoProviderSignIn(
            "the answer is from another issuer",
        ));
    }
    if let Some(error) = visit.query_value("error") {
        return Err(SignInError::ProviderRefused(error.to_owned()));
    }
    let code = visit
        .query_value("code")
        .ok_or(SignInError::NoProviderSignIn("the answer has no code"))?;
    let email = provider
        .finish(
            &service.clock,
            ProviderCallback {
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
    let return_to = return_path::valid_return_path(&return_to).unwrap_or(return_path::DEFAULT);
    let memberships = members::memberships_of_address(service, &email).await?;
    let [membership] = memberships.as_slice() else {
        let tickets = members::create_membership_tickets(service, &memberships, return_to).await?;
        return Ok(pages::choose(visit, &memberships, tickets, return_to));
    };
    let token = members::begin_session(
        service,
        membership,
        session::session_token(service, &visit.headers),
        visit.request_id,
    )
    .await?;
    tracing::info!(
        request_id = %visit.request_id,
        organization = %membership.organization.id,
        member = %membership.member_id,
        by = "provider",
        "signed in"
    );
    Ok(redirect_with_session(visit, &token, return_to))
}

/// Returns the address to which the provider redirects browsers after a sign-in.
fn callback(service: &Service) -> String {
    format!("{}{PROVIDER_CALLBACK}", service.app_state.public_url)
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
    visit.respond("getSignOutPage", page.map_err(SignInError::from))
}

async fn sign_out(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, body) = SignInRequest::of(service, request);
    let fields = read_form(&visit.headers, body).await.unwrap_or_default();
    let result = end_session(&visit, &fields).await;
    visit.respond("signOut", result)
}

/// Ends the session of a browser, if the form has the token of this session. If there is no
/// session, only deletes the cookie.
async fn end_session(
    visit: &SignInRequest,
    fields: &[(String, String)],
) -> Result<Response, SignInError> {
    let service = &visit.service;
    if let Some(signed_in) = signed_in(service, &visit.headers, visit.request_id).await? {
        if !single_value(fields, "form").is_some_and(|form| signed_in.is_own_form(form)) {
            return Err(SignInError::ForeignForm);
        }
        session::end_session_of_member(service, &signed_in, visit.request_id).await?;
        tracing::info!(
            request_id = %visit.request_id,
            organization = %signed_in.organization.id,
            member = %signed_in.member_id,
            "signed out"
        );
    }
    Ok(with_cookies(
        redirect(&address(service, SIGN_OUT)),
        Cookie::Session.delete(service),
    ))
}

/// Responds to a request that no other route handles, with the page for unknown paths.
async fn unknown_path(State(service): PeopleService, request: HttpRequest) -> Response {
    let (visit, _) = SignInRequest::of(service, request);
    visit.respond("-", Err(SignInError::PageNotFound))
}
