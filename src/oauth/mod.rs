//! The authorization server (contract: People: OAuth 2.1): how a member lets an app in, and how the app comes to its tokens.
//!
//! It reads like the RFCs it follows. What it is and where: [`metadata`] (RFC 8414, RFC 9728). Who asks: [`client`], which has
//! registered itself ([`registration`], RFC 7591), is described by a document ([`client_document`]), or is known to the platform, and
//! shows who it is ([`authentication`], RFC 6749, section 2.3). What it asks for ([`authorize`], RFC 6749, section 4.1): an address to
//! be sent to ([`redirect`]), scopes ([`scope`]), a proof ([`pkce`], RFC 7636), a resource (RFC 8707). The member's word: [`consent`].
//! What comes of that: a [`code`], a [`grant`], tokens ([`token`], [`refresh`]), and their end ([`revoke`], RFC 7009; [`connections`]).
//!
//! What it issues are the access tokens of the interface: owned by an app together with a member, with the reach of that member, and
//! with what was granted as far as the member still holds it. So what such a token may do is decided in one place, by the engine.

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
mod words;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use engine::chapter::Chapter;
use engine::pipeline::Service;
use engine::surface::not_found;

use crate::people;

pub(crate) use client_document::Documents;
pub(crate) use registration::Registrations;
pub(crate) use sweep::sweep;

/// Where the endpoints are, below the public URL.
mod paths {
    /// Where a browser comes with what an app asks for.
    pub(super) const AUTHORIZE: &str = "/oauth/authorize";
    /// Where the form of the page that asks is sent to.
    pub(super) const CONSENT: &str = "/oauth/consent";
    /// Where codes and refresh tokens are exchanged.
    pub(super) const TOKEN: &str = "/oauth/token";
    /// Where tokens are ended.
    pub(super) const REVOKE: &str = "/oauth/revoke";
    /// Where clients register themselves.
    pub(super) const REGISTER: &str = "/oauth/register";
}

/// How members let apps in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: connections::operations,
    statements: || {
        let of_clients = [client::STATEMENTS, client_document::STATEMENTS, registration::STATEMENTS].concat();
        let of_grants = [grant::STATEMENTS, refresh::STATEMENTS, token::STATEMENTS, revoke::STATEMENTS].concat();
        let of_people = [consent::STATEMENTS, connections::STATEMENTS, sweep::STATEMENTS].concat();
        [of_clients, of_grants, of_people].concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(pages),
    open_routes: Some(endpoints),
    lists: |lists| lists.add(people::LeadsOn(authorize::leads_on)),
    ..Chapter::new("oauth")
};

/// What browsers go to.
fn pages(service: &Arc<Service>) -> Router {
    Router::new()
        .route(paths::AUTHORIZE, get(authorize::get).post(authorize::post).fallback(not_found))
        .route(paths::CONSENT, post(consent::decide).fallback(not_found))
        .with_state(service.clone())
}

/// What programs ask, those in browsers of any origin as well.
fn endpoints(service: &Arc<Service>) -> Router {
    metadata::routes(service)
        .route(paths::TOKEN, post(token::token).options(reply::preflight).fallback(not_found))
        .route(paths::REVOKE, post(revoke::revoke).options(reply::preflight).fallback(not_found))
        .route(paths::REGISTER, post(registration::register).options(reply::preflight).fallback(not_found))
        .with_state(service.clone())
}
