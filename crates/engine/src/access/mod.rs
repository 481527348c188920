//! Who is calling, what they may do, and which properties they reach.

mod credential;
mod permission;
mod reach;
mod resource;
mod stored;
mod token;
mod uses;

pub use credential::{Access, Credential, Identified, Owner, Revisions, Shown, find, find_all, key, load, member, revisions_of};
pub use permission::{Permission, Permissions};
pub use reach::Reach;
pub use resource::Resource;
pub use stored::{AccessToken, ApiKey, DEFAULT_COUNTRY, Member, Organization, Settings};
pub use token::{hash, named, owner, token, token_of};
pub use uses::Uses;

/// The statements of this module.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [credential::STATEMENTS, uses::STATEMENTS].concat()
}
