//! The guest's page at `/stay/…`: the data of the guest interface as HTML for phones, and the forms
//! that call its operations (rules: stays#page).
//!
//! [`routes`] has the addresses, [`request`] reads a request, and [`sending`] handles a form. Pages
//! are rendered from [`page_stay::PageStay`]: [`home`], [`step`], [`review`], [`manuals`],
//! [`messages`], each with its template in `templates`.

mod additional_faults;
mod answers;
mod calendar;
mod console_preview;
mod contact_links;
mod extras;
mod fault;
mod fields;
mod form;
mod form_check;
mod form_page;
mod frame;
mod guest_fields;
mod home;
mod icons;
mod issues;
mod links;
mod manuals;
mod messages;
mod missing_page;
mod offline;
mod operation_calls;
mod page_cache;
mod page_stay;
mod qr;
mod reply;
mod request;
mod review;
mod routes;
mod sending;
mod stay_files;
mod step;
mod step_mark;
mod summary;
mod surveys;
mod theme;
mod uploads;
mod wallet;

pub use console_preview::render;
use engine::module::Module;
pub use features::words::{DateFormats, dates_in};
pub use frame::icon;
pub use guest_fields::document;
pub use page_cache::PageCache;
pub use theme::contrast;
pub use wallet::{Apns, PassPushes, PassSigner};

/// The registration of the guest's page. The page has no operations of its own. It calls the
/// operations of the guest interface, and reads the guest's view with `guest::page_view`.
pub static MODULE: Module = Module {
    routes: Some(routes::routes),
    ..Module::new("page")
};
