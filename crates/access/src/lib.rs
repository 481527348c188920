//! How members and their assistants get access.
//!
//! [`people`] has members, their sessions and the ways to sign in. [`oauth`] is the authorization
//! server for assistants and other clients. `oauth` uses the sessions of `people`, and `people`
//! does not use `oauth`.

pub mod oauth;
pub mod people;
