//! People: which member is signed in in a browser, how they come in and how they leave (contract: People: signing in).
//!
//! A member has no password here. They come by a link that the platform mints ([`tickets`]) or by their organization's provider
//! ([`provider`]), and are then a *session* ([`session`]): a secret in a cookie, of which only the hash is stored. Each request
//! judges anew whether the session goes on and whether the member may be signed in ([`standing`]).

mod cookie;
mod erased;
mod form;
mod frame;
mod language;
mod members;
mod pages;
mod place;
mod provider;
mod refusal;
mod reply;
mod return_path;
mod routes;
mod session;
mod settings;
mod standing;
mod tickets;
mod visit;
mod words;

use engine::chapter::Chapter;

pub use form::{Bounds, read_form, read_form_within, sent};
pub use frame::Frame;
pub use language::{language, with_language};
pub use place::address;
pub use provider::{Provider, is_loopback};
pub(crate) use reply::LeadsOn;
pub use reply::{page, page_under, redirect, sign_in_first, sign_in_source};
pub use return_path::may_return_to;
pub(crate) use session::sweep as sweep_sessions;
pub use session::{SignedIn, signed_in};
pub use settings::SignIn;
pub use standing::Barred;
pub(crate) use tickets::sweep as sweep_tickets;
pub use words::{LANGUAGES, Words};

/// The sign-in of people.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: tickets::operations,
    statements: || [members::STATEMENTS, session::STATEMENTS, tickets::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    routes: Some(routes::routes),
    ..Chapter::new("people")
};
