//! The OAuth 2.1 authorization server (rules: oauth): members grant access to apps, and apps get
//! tokens for the REST and tool interfaces.
//!
//! The modules, in the order of an authorization:
//!
//! - [`metadata`] publishes the server's endpoints (RFC 8414, RFC 9728).
//! - [`client`] reads the data of the app that requests access. The app has registered itself
//!   ([`registration`], RFC 7591), has a metadata document ([`client_document`]), or was created by
//!   the platform. [`authentication`] verifies its credentials (RFC 6749, section 2.3).
//! - [`authorize`] checks the app's request (RFC 6749, section 4.1): redirect address
//!   ([`redirect`]), scopes ([`scope`]), proof key ([`pkce`], RFC 7636) and resource (RFC 8707).
//! - [`consent`] shows the request to the member and processes the decision.
//! - [`code`] creates an authorization code, with which a [`grant`] begins. [`token`] and
//!   [`refresh`] exchange codes and refresh tokens for access tokens.
//! - [`revoke`] (RFC 7009) and [`connections`] end grants and tokens.
//!
//! An access token belongs to an app and a member. It has the granted permissions that the member
//! still holds, on the properties that the member can access. The engine checks this on every
//! request.

mod authentication;
mod authorize;
mod client;
mod client_document;
mod client_metadata;
mod code;
mod connections;
mod consent;
mod erased;
mod grant;
mod metadata;
mod parameters;
mod pkce;
mod problem;
mod redirect;
mod refresh;
mod refusal;
mod registration;
mod reply;
mod revoke;
mod scope;
mod sweep;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use engine::module::Module;
use engine::pipeline::Service;
use vestibule_http::surface::method_not_found;

use crate::people;

pub use client_document::ClientDocumentFetcher;
pub use connections::{ConnectionView, LIST_CONNECTIONS};
pub use registration::Registrations;
pub use sweep::sweep_oauth;

/// The paths of the endpoints, below the public URL.
mod paths {
    /// The authorization endpoint, to which an app redirects the browser.
    pub(super) const AUTHORIZE: &str = "/oauth/authorize";
    /// The target of the form on the consent page.
    pub(super) const CONSENT: &str = "/oauth/consent";
    /// The token endpoint, which exchanges authorization codes and refresh tokens for new tokens.
    pub(super) const TOKEN: &str = "/oauth/token";
    /// The revocation endpoint, at which a client revokes its tokens.
    pub(super) const REVOKE: &str = "/oauth/revoke";
    /// The registration endpoint, at which an app registers itself as a client.
    pub(super) const REGISTER: &str = "/oauth/register";
}

/// Registers this module's operations, statements and routes with the engine.
pub static MODULE: Module = Module {
    operations: connections::operations,
    statements: || {
        let client_statements = [
            client::STATEMENTS,
            client_document::STATEMENTS,
            registration::STATEMENTS,
        ]
        .concat();
        let grant_statements = [
            grant::STATEMENTS,
            refresh::STATEMENTS,
            token::STATEMENTS,
            revoke::STATEMENTS,
        ]
        .concat();
        let other_statements = [
            consent::STATEMENTS,
            connections::STATEMENTS,
            sweep::STATEMENTS,
        ]
        .concat();
        [client_statements, grant_statements, other_statements].concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(pages),
    open_routes: Some(endpoints),
    lists: |lists| lists.add(people::FormRedirects(authorize::form_redirect_source)),
    ..Module::new("oauth")
};

/// Returns the routes of the pages that people open in a browser, such as the page that asks a
/// member for consent.
fn pages(service: &Arc<Service>) -> Router {
    Router::new()
        .route(
            paths::AUTHORIZE,
            get(authorize::get)
                .post(authorize::post)
                .fallback(method_not_found),
        )
        .route(
            paths::CONSENT,
            post(consent::decide).fallback(method_not_found),
        )
        .with_state(service.clone())
}

/// Returns the routes that programs call. Scripts from any website may call them, too.
fn endpoints(service: &Arc<Service>) -> Router {
    metadata::routes(service)
        .route(
            paths::TOKEN,
            post(token::token)
                .options(reply::preflight)
                .fallback(method_not_found),
        )
        .route(
            paths::REVOKE,
            post(revoke::revoke)
                .options(reply::preflight)
                .fallback(method_not_found),
        )
        .route(
            paths::REGISTER,
            post(registration::register)
                .options(reply::preflight)
                .fallback(method_not_found),
        )
        .with_state(service.clone())
}
