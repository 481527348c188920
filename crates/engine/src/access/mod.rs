//! Callers, their permissions, and the properties that they may access.

mod credential;
mod permission;
mod property_scope;
mod resource;
mod stored;
mod token;
mod uses;

pub use credential::{
    Access, Credential, Identified, Owner, PresentedToken, Revisions, find, find_all, key, load,
    member, revisions_of, revoked_at,
};
pub use permission::{Permission, Permissions};
pub use property_scope::PropertyScope;
pub use resource::Resource;
pub use stored::{AccessToken, ApiKey, DEFAULT_COUNTRY, Member, Organization, Settings};
pub use token::{hash, organization_of, owner, token, token_of, token_with};
pub use uses::Uses;

/// Returns the SQL statements of this module's files `credential` and `uses`.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [credential::STATEMENTS, uses::STATEMENTS].concat()
}
