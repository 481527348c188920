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
mod place;
mod reply;
mod return_path;
mod session;
mod settings;
mod standing;
mod words;

use engine::chapter::Chapter;

pub use form::{read_form, sent};
pub use frame::Frame;
pub use language::language;
pub use place::address;
pub use reply::{page, redirect, sign_in_first};
pub use session::{SignedIn, signed_in};
pub use settings::SignIn;
pub use standing::Barred;
pub use words::Words;

/// The sign-in of people.
pub(crate) static CHAPTER: Chapter =
    Chapter { statements: || session::STATEMENTS.to_vec(), erased: erased::STATEMENTS, ..Chapter::new("people") };
