//! The guest interface, and the links that lead to it.

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::view::{GuestView, view};
use crate::access::{Credential, Permission};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::field::Language;
use crate::moment::Moment;
use crate::operation::{ById, Needs, Operation};
use crate::platform::{Kind, get_record};
use crate::values;

store::statements! {
    /// The stay token of a reservation.
    STAY_TOKEN = "select token from guest_link where organization_id = ?1 and reservation_id = ?2";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetStay {
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// The language to answer in; the reservation's where it is left out.
    #[serde(default)]
    language: Option<Language>,
    /// Another moment to preview; needs a credential of the organization.
    #[serde(default)]
    #[expect(dead_code, reason = "nothing that depends on the moment is shown yet")]
    at: Option<Moment>,
}

/// Where a guest's browser goes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "url": "https://stay.example.com/stay/kq3…" }))]
struct GuestLink {
    url: String,
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest("getStay", Method::GET, "/stays/{token}").summary("What this guest of this flat sees now").run(stay),
        Operation::public("getGuestLink", Method::GET, "/reservations/{id}/guest-link", Needs::Permission(Permission::ViewReservations))
            .summary("The link that opens a reservation's guest portal")
            .run(|context, input: ById| {
                get_record(context, Kind::Reservation, input.id)?;
                let token = stay_token(context, input.id)?;
                Ok(GuestLink { url: stay_url(context, &token) })
            }),
    ]
}

fn stay(context: &mut Context<'_, '_>, input: GetStay) -> Result<GuestView> {
    let Credential::Guest { reservation } = context.access.credential else { return Err(Error::not_found("Stay")) };
    view(context, reservation, input.language.as_deref())
}

/// The stay token of a reservation; every reservation has one from the moment it is first synced.
pub(crate) fn stay_token(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<String> {
    let row = context.row(&STAY_TOKEN, values![reservation])?.ok_or_else(|| Error::not_found("Reservation"))?;
    Ok(row.get(0)?)
}

/// Where a guest's browser goes with a stay token.
pub(crate) fn stay_url(context: &Context<'_, '_>, token: &str) -> String {
    format!("{}/stay/{token}", context.public_url())
}
