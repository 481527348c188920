//! The operation `createGuestLinks`, which returns the guest links of many stays in one response.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::Operation;
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::guest;
use crate::records::RecordKind;

store::statements! {
    /// Selects the token in the guest link of each of these reservations.
    STAY_TOKENS = "select r.id, l.token from record r
        join guest_link l on l.organization_id = r.organization_id and l.reservation_id = r.id
        where r.organization_id = ?1 and r.kind = ?2 and r.id = any(?3)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "reservationIds": ["0192f0c1-2345-7abc-8def-0123456789ab"] }))]
struct CreateGuestLinks {
    /// Id of the organization that has the reservations.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Ids of the reservations whose links to return, at most 1000. If an id is repeated, so is its
    /// link; an unknown id is a 404.
    #[schemars(length(max = 1_000))]
    reservation_ids: Vec<Uuid>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlatformGuestLink {
    reservation_id: Uuid,
    /// Address of the stay's page, for the guest's browser.
    url: String,
    /// The stay token, which is also part of `url`.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "createGuestLinks",
            Method::POST,
            "/organizations/{organizationId}/guest-links",
        )
        .summary("The guests' links to stays, in the order asked for; the same ones each time")
        .reads()
        .run(create),
    ]
}

fn create(
    context: &mut Context<'_, '_>,
    input: CreateGuestLinks,
) -> Result<Vec<PlatformGuestLink>> {
    let rows = context.rows(
        &STAY_TOKENS,
        values![
            RecordKind::Reservation.as_ref(),
            input.reservation_ids.as_slice()
        ],
    )?;
    let tokens: HashMap<Uuid, String> = rows
        .iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect::<Result<_>>()?;
    let hosts = guest::hosts(context, input.reservation_ids.clone())?;
    let link = |reservation_id: Uuid| {
        let token = tokens
            .get(&reservation_id)
            .cloned()
            .ok_or_else(|| Error::not_found("Reservation"))?;
        Ok(PlatformGuestLink {
            reservation_id,
            url: guest::page_address(
                context.public_url(),
                hosts.get(&reservation_id).map(String::as_str),
                &token,
            ),
            token,
        })
    };
    input.reservation_ids.into_iter().map(link).collect()
}
