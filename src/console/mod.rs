//! The console at `/console`: what a signed-in member may do, as pages and forms.
//!
//! It is the fourth reading of the list of operations, after REST, the tools and the document. It has no rule, no query and no access of
//! its own: whatever it shows it has asked an operation for, as the member, through the one way there is.
//!
//! To be read in this order: [`screens`] (what there is: each screen registers itself there), [`routes`] (who gets in, what becomes of a
//! form that was sent), [`visit`] and [`asking`] (a request, and how it asks an operation), [`form`] (from an operation's schema to a
//! form, and from a form to a request), [`frame`] and [`reply`] (what stands around a screen), [`words`] and [`labels`] (what is said). A
//! screen is a file or a folder: its pages, its template in `templates/console`.

mod access;
mod answers;
mod asking;
mod assign;
mod audit;
mod brandings;
mod categories;
mod flats;
mod form;
mod frame;
mod home;
mod kept;
mod labels;
mod manuals;
mod meanwhile;
mod paging;
mod portals;
mod preview;
mod refusal;
mod reply;
mod routes;
mod screens;
mod search;
mod stays;
mod steps;
mod submissions;
mod texts;
mod translations;
mod visit;
mod webhooks;
mod when;
mod words;

use engine::chapter::Chapter;

pub use self::screens::{Address, addresses};

/// The console. It has no operation of its own.
pub(crate) static CHAPTER: Chapter = Chapter { routes: Some(routes::routes), ..Chapter::new("console") };
