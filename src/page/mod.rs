//! The guest view as pages at `/stay/…`: the same data as the interface, for a phone, and the forms that answer it
//! (contract: The guest's page).
//!
//! [`routes`] has the addresses, [`visit`] what a request is about, [`sending`] what becomes of a form. A page is made of
//! [`shown::Shown`]: [`home`], [`step`], [`review`], [`reading`], [`messages`], each with its template in `templates/page`.

mod asking;
mod besides;
mod calendar;
mod dates;
mod fault;
mod fields;
mod form;
mod frame;
mod given;
mod handy;
mod home;
mod icons;
mod keeping;
mod languages;
mod links;
mod look;
mod memory;
mod messages;
mod notice;
mod offline;
mod person;
mod phase;
mod qr;
mod reading;
mod reply;
mod review;
mod routes;
mod seen;
mod sending;
mod shown;
mod step;
mod summary;
mod theme;
mod uploads;
mod visit;
mod wallet;

pub use dates::{Dates, in_language as dates_in};
use engine::chapter::Chapter;
pub use frame::icon;
pub use look::look;
pub use memory::Pages;
pub use person::document;
pub use theme::contrast;
pub use wallet::PassSigner;

/// The guest's page. It has no operation of its own: it asks those of the guest interface, as any other caller would.
pub(crate) static CHAPTER: Chapter = Chapter { routes: Some(routes::routes), ..Chapter::new("page") };
