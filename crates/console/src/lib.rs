//! The console at `/console`: pages and forms for all actions that a signed-in member may take.
//!
//! The console is built from the list of operations, like REST, the tools and the OpenAPI document.
//! It contains no rule, no query and no access check. All its data comes from operations. It calls
//! them through the pipeline, with the member as caller.
//!
//! Read the modules in this order:
//!
//! - [`screens`]: the list of all screens.
//! - [`routes`]: authentication, and how a submitted form is handled.
//! - [`request`] and [`operation_calls`]: a request, and how it calls an operation.
//! - [`form`]: how an operation's schema becomes a form, and a form becomes a request.
//! - [`editor`]: the pages with a form that creates or changes a resource.
//! - [`frame`] and [`reply`]: the parts of a page around the content of its screen.
//! - [`words`] and [`labels`]: the texts.
//!
//! A screen is a file or a folder with its pages. Its template is in `templates`.

mod access;
mod answers;
mod assign;
mod audit;
mod brandings;
mod calendars;
mod categories;
mod charges;
mod editor;
mod first_steps;
mod flats;
mod form;
mod frame;
mod home;
mod labels;
mod manuals;
mod merge;
mod operation_calls;
mod paging;
mod placeholders;
mod portals;
mod preview;
mod ready_made_set;
mod records;
mod refusal;
mod reply;
mod request;
mod returned_form;
mod routes;
mod screens;
mod search;
mod stays;
mod steps;
mod submissions;
mod texts;
mod time_format;
mod translations;
mod webhooks;
mod words;

use engine::module::Module;

pub use self::routes::{AnonymousLimits, PageLimits};
pub use self::screens::{ScreenAddress, addresses};

/// The registration of the console. It registers no operations.
pub static MODULE: Module = Module {
    routes: Some(routes::routes),
    ..Module::new("console")
};
