//! The operations that list charges, and the operation with which the platform reports the outcome
//! of a charge.

use engine::access::Permission;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::{Note2000, Text200};
use engine::operation::{ById, Listing, Needs, Operation, OperationName, Page, PageLimits};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::charge::{Charge, ChargeStatus, ReportedStatus, example};
use super::records::{self, from_row};
use crate::records::{RecordKind, get_record};

/// Lists the charges of a stay.
pub const LIST_RESERVATION_CHARGES: OperationName<Vec<Charge>> =
    OperationName::new("listReservationCharges");

/// Number of charges on a page of the platform's list if the request sets no limit.
const PAGE: u32 = 100;
/// The page limits of [`LIST_RESERVATION_CHARGES`].
const PAGES: PageLimits = PageLimits {
    default: 100,
    max: 200,
};

store::statements! {
    /// Selects the charges after an id, in the order of ids, which is roughly the order of
    /// creation.
    AFTER = "select doc from guest_charge where organization_id = ?1 and id > ?2 order by id
        limit ?3";
    /// Selects at most `?4` charges with the status `?2` and an id above `?3`, in the order of ids.
    WITH_STATUS_AFTER = "select doc from guest_charge where organization_id = ?1 and status = ?2
        and id > ?3 order by id limit ?4";
    /// Counts the charges of a stay.
    COUNT_OF_STAY = "select count(*) from guest_charge where organization_id = ?1
        and reservation_id = ?2";
    /// Selects a page of the charges of a stay, oldest first.
    PAGE_OF_STAY = "select doc from guest_charge where organization_id = ?1 and reservation_id = ?2
        order by created_at, id limit ?3 offset ?4";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListCharges {
    /// Id of the organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Only charges with this status. Left out: charges with any status.
    #[serde(default)]
    status: Option<ChargeStatus>,
    /// The `next` of the previous page; the list starts after this id. Left out: the list starts
    /// with the oldest charge.
    #[serde(default)]
    after: Option<Uuid>,
    /// Maximum number of charges in the answer. Left out: 100.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "status": "paid", "reference": "pi_3NkR" }))]
struct ReportCharge {
    /// Id of the organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the charge; an unknown id is a 404.
    charge_id: Uuid,
    /// The outcome: `paid`, `failed`, or `released` for a deposit that is paid. 409 if the charge
    /// can no longer have this outcome.
    status: ReportedStatus,
    /// A message for the team, 1 to 2000 characters and not blank. Null or left out: none.
    #[serde(default)]
    message: Option<Note2000>,
    /// The reference of the payment in the platform, 1 to 200 characters and not blank. Null or
    /// left out: none.
    #[serde(default)]
    reference: Option<Text200>,
}

/// A page of charges.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = page_example())]
struct ChargePage {
    items: Vec<Charge>,
    /// Value of `after` for the next page. If this page has no charges, `next` equals the `after`
    /// of this request, or is null if the request has no `after`.
    next: Option<Uuid>,
}

fn page_example() -> Value {
    let charge = example();
    let next = charge["id"].clone();
    json!({ "items": [charge], "next": next })
}

pub(in crate::guest) fn operations() -> Vec<Operation> {
    let reads = Needs::Permission(Permission::ViewReservations);
    vec![
        Operation::public(
            LIST_RESERVATION_CHARGES.id(),
            Method::GET,
            "/reservations/{id}/charges",
            reads,
        )
        .summary("List what a stay is charged, oldest first")
        .tool(
            "reservations",
            "List charges of a stay",
            "Fees, waivers and deposits of a stay: amount, account, when due and released, whether \
                paid.",
        )
        .pages_as(LIST_RESERVATION_CHARGES, PAGES, of_stay),
        Operation::platform(
            "listCharges",
            Method::GET,
            "/organizations/{organizationId}/charges",
        )
        .summary("List charges of guests, oldest first")
        .run(list),
        Operation::platform(
            "reportCharge",
            Method::PUT,
            "/organizations/{organizationId}/charges/{chargeId}",
        )
        .summary("Report the outcome of a charge")
        .touches_stream()
        .run(report),
    ]
}

fn of_stay(context: &mut Context<'_, '_>, input: ById, page: Page) -> Result<Listing<Charge>> {
    get_record(context, RecordKind::Reservation, input.id)?;
    let total = context
        .row(&COUNT_OF_STAY, values![input.id])?
        .map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&PAGE_OF_STAY, values![input.id, page.limit, page.offset])?;
    let items = rows
        .iter()
        .map(|row| from_row(row).map(|stored| stored.charge))
        .collect::<Result<_>>()?;
    Ok(Listing { items, total })
}

fn list(context: &mut Context<'_, '_>, input: ListCharges) -> Result<ChargePage> {
    let (after, limit) = (input.after.unwrap_or_default(), input.limit.unwrap_or(PAGE));
    let rows = match input.status {
        None => context.rows(&AFTER, values![after, limit])?,
        Some(status) => context.rows(&WITH_STATUS_AFTER, values![status.as_ref(), after, limit])?,
    };
    let items = rows
        .iter()
        .map(|row| from_row(row).map(|stored| stored.charge))
        .collect::<Result<Vec<_>>>()?;
    let next = items.last().map(|charge| charge.id).or(input.after);
    Ok(ChargePage { items, next })
}

/// Stores the outcome that the platform reports for a charge. Fails with 404 for an unknown charge,
/// and with 409 for an outcome that the charge cannot have. A repeated report changes nothing.
fn report(context: &mut Context<'_, '_>, input: ReportCharge) -> Result<Charge> {
    let mut stored =
        records::find(context, input.charge_id)?.ok_or_else(|| Error::not_found("Charge"))?;
    let message = input.message.map(|message| message.0);
    let reference = input.reference.map(|reference| reference.0);
    let now = context.now();
    if stored.report(input.status, message, reference, now)? {
        records::save(context, std::slice::from_ref(&stored))?;
    }
    Ok(stored.charge)
}
