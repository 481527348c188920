//! How members and their assistants get access.
//!
//! [`people`] has members, their sessions and the ways to sign in. [`oauth`] is the authorization
//! server for assistants and other clients. It builds on the sessions, and `people` does not know
//! it.

pub mod oauth;
pub mod people;
