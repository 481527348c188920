//! One integration binary: the real server over HTTP, on SQLite and on PostgreSQL.

mod brandings;
mod checkin;
mod covers;
mod document;
mod edge;
mod explain;
mod guest;
mod idempotency;
mod limited;
mod limits;
mod matrix;
mod page;
mod platform;
mod portals;
mod precheck;
mod precheck_questions;
mod precheck_rules;
mod precheck_scopes;
mod process;
mod scopes;
mod store;
mod support;
mod tools;
mod translator;
mod webhooks;
