//! The entry page of a guest, as the console shows it to a member in an iframe. The links of this
//! page lead nowhere.

use axum::response::Response;
use engine::error::{Error, Result};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::links::StayLinks;
use super::page_stay::PageStay;
use super::{home, reply};
use crate::guest::GuestView;
use crate::translations::ENGLISH;

/// Renders the guest's view from an operation's response. Pages of this service may show the result
/// in a frame.
pub fn look(seen: Value, now: Timestamp) -> Result<Response> {
    let mut view: GuestView = serde_json::from_value(seen).map_err(Error::internal)?;
    // The moment is chosen where this page is requested, so the page has no form for it.
    let now = view.preview.take().map_or(now, |preview| preview.at.0);
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
    Ok(reply::framed_page(
        200,
        home::render(&page_stay, false),
        page_stay.language,
    ))
}
