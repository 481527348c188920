//! The first page of a guest for somebody who looks at it without a link to it: it leads nowhere.

use axum::response::Response;
use engine::error::{Error, Result};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::links::Links;
use super::seen::View;
use super::shown::Shown;
use super::{home, reply};
use crate::translations::ENGLISH;

/// The page of what a guest sees, as an operation has answered it; it may stand in a frame of this service.
pub fn look(seen: Value, now: Timestamp) -> Result<Response> {
    let mut view: View = serde_json::from_value(seen).map_err(Error::internal)?;
    // Another moment is chosen where it is asked for.
    let now = view.preview.take().map_or(now, |preview| preview.at.0);
    let tag = view.reservation.guest.language.clone().unwrap_or_else(|| ENGLISH.to_owned());
    let shown = Shown::new(view, Links::new("#".to_owned(), None), &tag, now, true, Uuid::nil());
    let mut response = reply::page(200, home::render(&shown, false), shown.language);
    reply::in_our_frames(&mut response);
    Ok(response)
}
