//! People: how members sign in to the console in a browser, their sessions, and invitations of
//! members (rules: members#signing-in).
//!
//! A set-up link creates the first organization and its first member ([`setup`]). Other members are
//! invited in the console ([`team`]) or from a shell ([`invite`]).
//!
//! Members have no password. They sign in by a link from the platform ([`tickets`]) or with their
//! organization's OpenID provider ([`provider`]). Both begin a *session* ([`session`]). The browser
//! stores the secret of the session in a cookie. The database stores only the hash of the secret.
//! Each request checks again whether the session is valid and the member is still allowed to be
//! signed in ([`validity`]).
//!
//! Start with [`routes`], which has a function for each page.

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
mod signing_key;
mod team;
mod tickets;
mod validity;
mod visit;

use engine::module::Module;

pub use addresses::{PROVIDER_CALLBACK, address};
pub(crate) use form::derive_token;
pub use frame::SignInFrame;
pub use invite::{Invitation, InvitedMember, NewOrganization, add_organization, invite};
pub use language::{language, with_language};
pub use provider::{IdentityProvider, is_loopback};
pub(crate) use reply::FormRedirects;
pub use reply::{page, page_with_external_form, page_with_policy, redirect, redirect_to_sign_in};
pub use return_path::may_return_to;
pub use session::sweep as sweep_sessions;
pub use session::{SignedIn, signed_in};
pub use settings::SignInSettings;
pub use setup::link as setup_link;
pub use texts::sign_in::{LANGUAGES, SignInWords};
pub use tickets::sweep as sweep_tickets;
pub use validity::SignInRestriction;

/// Registers this module's operations, statements and routes with the engine.
pub static MODULE: Module = Module {
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
