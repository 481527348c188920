//! The guest's page at `/stay/…`: the data of the guest interface as HTML for phones, and the forms
//! that call its operations (rules: stays#page).
//!
//! [`routes`] has the addresses, [`request`] reads a request, and [`sending`] handles a form. Pages
//! are rendered from [`page_stay::PageStay`]: [`home`], [`step`], [`review`], [`reading`],
//! [`messages`], each with its template in `templates/page`.

mod additional_faults;
mod answers;
mod calendar;
mod contact_links;
mod extras;
mod fault;
mod fields;
mod form;
mod frame;
mod home;
mod icons;
mod issues;
mod keeping;
mod links;
mod look;
mod mark;
mod memory;
mod messages;
mod notice;
mod offline;
mod operation_calls;
mod page_stay;
mod person;
mod posted;
mod qr;
mod reading;
mod reply;
mod review;
mod routes;
mod sending;
mod sheet;
mod step;
mod summary;
mod surveys;
mod theme;
mod uploads;
mod visit;
mod wallet;

pub use crate::words::{DateFormats, dates_in};
use engine::module::Module;
pub use frame::icon;
pub use look::look;
pub use memory::Pages;
pub use person::document;
pub use theme::contrast;
pub use wallet::{Apns, PassPushes, PassSigner};

/// The registration of the guest's page. It registers no operation: it calls those of the guest
/// interface, and `guest::page_view` for the guest's view.
pub(crate) static MODULE: Module = Module {
    routes: Some(routes::routes),
    ..Module::new("page")
};
