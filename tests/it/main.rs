//! One integration binary: the real server over HTTP, on SQLite and on PostgreSQL.

mod brandings;
mod document;
mod edge;
mod guest;
mod idempotency;
mod limited;
mod limits;
mod matrix;
mod platform;
mod portals;
mod process;
mod scopes;
mod store;
mod support;
mod tools;
mod translator;
mod webhooks;
