//! The guest view as a page: the same data as the interface, for a phone.

use askama::Template;

use super::view::{GuestView, language_of};
use super::words::{self, PageWords};
use crate::error::{Error, Result};

#[derive(Template)]
#[template(path = "stay.html")]
struct Stay<'v> {
    view: &'v GuestView,
    language: &'v str,
    words: PageWords,
    is_cancelled: bool,
    tiles: Vec<&'static str>,
    contact_href: Option<String>,
}

#[derive(Template)]
#[template(path = "stay_missing.html")]
struct Missing<'m> {
    message: &'m str,
}

/// The page of a stay, in the language asked for or the guest's own.
pub fn render(view: &GuestView, asked: Option<&str>) -> Result<String> {
    let language = language_of(asked, &view.reservation.guest);
    let page = Stay {
        view,
        words: words::page(&language),
        is_cancelled: view.reservation.status == crate::platform::ReservationStatus::Cancelled,
        tiles: view.quick_access.iter().map(|tile| words::tile(*tile, &language)).collect(),
        contact_href: view.contact.as_ref().map(|contact| contact.method.link(&contact.value)),
        language: &language,
    };
    page.render().map_err(Error::internal)
}

/// The page where there is no stay to show.
pub fn render_missing(message: &str) -> Result<String> {
    Missing { message }.render().map_err(Error::internal)
}
