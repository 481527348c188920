//! People: the member who is signed in in a browser, sign-in and sign-out (rules:
//! members#signing-in).
//!
//! The first member of the first organization comes by a set-up link ([`setup`]), the others by an
//! invitation ([`team`], [`invite`]).
//!
//! Members have no password. They sign in by a link from the platform ([`tickets`]) or with their
//! organization's provider ([`provider`]). Both begin a *session* ([`session`]): a secret in a
//! cookie, of which only the hash is stored. Each request checks again whether the session is valid
//! and the member may be signed in ([`validity`]).

mod addresses;
mod cookie;
mod discovery;
mod erased;
mod form;
mod frame;
mod id_token;
mod invite;
mod language;
mod members;
mod pages;
mod provider;
mod refusal;
mod reply;
mod return_path;
mod routes;
mod session;
mod settings;
mod setup;
mod setup_page;
mod team;
mod tickets;
mod validity;
mod visit;

use engine::module::Module;

pub use addresses::{FROM_PROVIDER, address};
pub(crate) use form::derived;
pub use form::{Bounds, read_form, read_form_with_files, read_form_within, sent};
pub use frame::SignInFrame;
pub use invite::{Invitation, Invited, NewOrganization, add_organization, invite};
pub use language::{language, with_language};
pub use provider::{IdentityProvider, is_loopback};
pub(crate) use reply::FormRedirects;
pub use reply::{page, page_leading_anywhere, page_under, redirect, sign_in_first};
pub use return_path::may_return_to;
pub(crate) use session::sweep as sweep_sessions;
pub use session::{SignedIn, signed_in};
pub use settings::SignIn;
pub use setup::link as setup_link;
pub use texts::sign_in::{LANGUAGES, SignInWords};
pub(crate) use tickets::sweep as sweep_tickets;
pub use validity::SignInBar;

/// The registration of this module.
pub(crate) static MODULE: Module = Module {
    operations: || {
        let mut operations = tickets::operations();
        operations.extend(team::operations());
        operations
    },
    statements: || {
        [
            invite::STATEMENTS,
            members::STATEMENTS,
            session::STATEMENTS,
            setup::STATEMENTS,
            team::STATEMENTS,
            tickets::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(routes::routes),
    ..Module::new("people")
};
