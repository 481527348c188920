//! The authorization server (rules: oauth): members grant access to apps, and apps fetch tokens.
//!
//! The files follow the RFCs:
//!
//! - [`metadata`] describes the server and its endpoints (RFC 8414, RFC 9728).
//! - [`client`] is the app that requests access. It has registered itself ([`registration`],
//!   RFC 7591), is described by a document ([`client_document`]), or was created by the platform.
//!   [`authentication`] verifies it (RFC 6749, section 2.3).
//! - [`authorize`] checks the request (RFC 6749, section 4.1): redirect address ([`redirect`]),
//!   scopes ([`scope`]), proof key ([`pkce`], RFC 7636) and resource (RFC 8707).
//! - [`consent`] asks the member.
//! - The result is a [`code`], a [`grant`] and tokens ([`token`], [`refresh`]), until they are
//!   revoked ([`revoke`], RFC 7009; [`connections`]).
//!
//! The server issues the access tokens of the interface. A token belongs to an app together with a
//! member. It has the member's access, and the granted permissions as far as the member still holds
//! them. The engine alone decides on the rights of a token.

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

pub(crate) use client_document::Documents;
pub(crate) use registration::Registrations;
pub(crate) use sweep::sweep;

/// The paths of the endpoints, below the public URL.
mod paths {
    /// A browser brings an app's request to this path.
    pub(super) const AUTHORIZE: &str = "/oauth/authorize";
    /// The consent page sends its form to this path.
    pub(super) const CONSENT: &str = "/oauth/consent";
    /// Codes and refresh tokens are exchanged here.
    pub(super) const TOKEN: &str = "/oauth/token";
    /// Tokens are revoked here.
    pub(super) const REVOKE: &str = "/oauth/revoke";
    /// Clients register themselves here.
    pub(super) const REGISTER: &str = "/oauth/register";
}

/// The registration of this module.
pub(crate) static MODULE: Module = Module {
    operations: connections::operations,
    statements: || {
        let of_clients = [
            client::STATEMENTS,
            client_document::STATEMENTS,
            registration::STATEMENTS,
        ]
        .concat();
        let of_grants = [
            grant::STATEMENTS,
            refresh::STATEMENTS,
            token::STATEMENTS,
            revoke::STATEMENTS,
        ]
        .concat();
        let of_people = [
            consent::STATEMENTS,
            connections::STATEMENTS,
            sweep::STATEMENTS,
        ]
        .concat();
        [of_clients, of_grants, of_people].concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(pages),
    open_routes: Some(endpoints),
    lists: |lists| lists.add(people::FormRedirects(authorize::leads_on)),
    ..Module::new("oauth")
};

/// The routes for browsers.
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

/// The routes for programs, including programs in browsers of any origin.
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
