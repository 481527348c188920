//! The guest view as a page at `/stay/…`: the same data as the interface, for a phone, and the forms that answer it
//! (contract: The guest's page).

mod calendar;
mod dates;
mod form;
mod handy;
mod icons;
mod offline;
mod phase;
mod qr;
mod render;
mod routes;
mod theme;
mod words;

use engine::chapter::Chapter;

/// The guest's page. It has no operation of its own: it asks those of the guest interface, as any other caller would.
pub(crate) static CHAPTER: Chapter = Chapter { routes: Some(routes::routes), ..Chapter::new("page") };
