//! Renders the guest's entry page for an iframe of the console. The links of the page do nothing.

use std::sync::Arc;

use axum::response::Response;
use features::guest::GuestView;
use features::translations::ENGLISH;
use jiff::Timestamp;
use uuid::Uuid;

use super::links::StayLinks;
use super::page_stay::PageStay;
use super::{home, reply};

/// Renders the guest's entry page from a guest view. The response headers allow pages of this
/// service to show the page in a frame.
#[must_use]
pub fn render(mut view: Arc<GuestView>, now: Timestamp) -> Response {
    // The page that contains the frame already has the form that sets the time of the preview. So
    // the page in the frame has no such form.
    let preview = Arc::make_mut(&mut view).preview.take();
    let now = preview.map_or(now, |preview| preview.at.0);
    let tag = view
        .reservation
        .guest
        .language
        .clone()
        .unwrap_or_else(|| ENGLISH.to_owned());
    let page_stay = PageStay::new(
        view,
        StayLinks::new("#".to_owned(), None),
        &tag,
        now,
        true,
        Uuid::nil(),
    );
    reply::framed_page(200, home::render(&page_stay, false), page_stay.language)
}
