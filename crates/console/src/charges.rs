//! The charges of a stay, each with its dates, its payment account and its outcome.

use std::collections::HashMap;

use features::guest::{Charge, LIST_RESERVATION_CHARGES};
use serde_json::{Value, json};
use uuid::Uuid;

use super::request::ConsoleRequest;
use super::time_format::{self, FormattedTime};
use super::words::{ConsoleWords, charge_kind, charge_status};

const ACCOUNTS: &str = "listPaymentAccounts";
const FEES: &str = "listFeeProducts";
const WAIVERS: &str = "listDamageWaivers";
/// Maximum number of charges that the page shows.
const MOST: usize = 200;

/// A charge, as the page of a stay shows it.
pub struct ChargeRow {
    pub kind: &'static str,
    /// The name of the fee or the damage waiver that is charged. `None` if the charge is for
    /// neither, or if the name cannot be read.
    pub name: Option<String>,
    pub amount: String,
    pub status: (&'static str, &'static str),
    pub due: FormattedTime,
    pub release: Option<FormattedTime>,
    /// The name of the payment account. `None` if no account is charged.
    pub account: Option<String>,
    pub message: Option<String>,
    pub reference: Option<String>,
}

/// The charges of a stay, oldest first.
pub struct StayCharges {
    pub rows: Vec<ChargeRow>,
    /// Whether the stay has more charges than the page shows.
    pub is_truncated: bool,
    pub words: &'static ConsoleWords,
}

impl StayCharges {
    /// Reads the charges of a stay. Returns `None` if the stay has none, or if the member may not
    /// read charges.
    pub async fn of(request: &ConsoleRequest, reservation: Uuid) -> Option<Self> {
        if !request.may(LIST_RESERVATION_CHARGES.id()) {
            return None;
        }
        let answer = request
            .read_page(
                LIST_RESERVATION_CHARGES,
                json!({ "id": reservation, "limit": MOST }),
            )
            .await
            .ok()?;
        let charges = answer.data;
        if charges.is_empty() {
            return None;
        }
        let wanted = |id: fn(&Charge) -> Option<Uuid>| charges.iter().any(|one| id(one).is_some());
        let accounts = names(request, ACCOUNTS, wanted(|one| one.payment_account_id)).await;
        let mut things = names(request, FEES, wanted(|one| one.fee_product_id)).await;
        things.extend(names(request, WAIVERS, wanted(|one| one.damage_waiver_id)).await);
        let total = answer.total.unwrap_or_default();
        Some(Self {
            is_truncated: total > charges.len(),
            rows: charges
                .iter()
                .map(|one| row(request, one, &accounts, &things))
                .collect(),
            words: request.texts,
        })
    }
}

/// Calls the list operation `list` and returns the names of its records, by the id of the record.
/// Returns no names if `is_wanted` is false, or if the member may not call the operation.
async fn names(request: &ConsoleRequest, list: &str, is_wanted: bool) -> HashMap<Uuid, String> {
    if !is_wanted || !request.may(list) {
        return HashMap::new();
    }
    let rows: Vec<Value> = request.get(list, json!({})).await.unwrap_or_default();
    rows.iter()
        .filter_map(|row| {
            let (id, name) = (row["id"].as_str()?, row["name"].as_str()?);
            Some((id.parse().ok()?, name.to_owned()))
        })
        .collect()
}

fn row(
    request: &ConsoleRequest,
    charge: &Charge,
    accounts: &HashMap<Uuid, String>,
    things: &HashMap<Uuid, String>,
) -> ChargeRow {
    let words = &request.texts.charges;
    let thing = charge.fee_product_id.or(charge.damage_waiver_id);
    ChargeRow {
        kind: charge_kind(words, charge.kind),
        name: thing.and_then(|id| things.get(&id).cloned()),
        amount: request.dates().money(
            i64::try_from(charge.amount_cents).unwrap_or(i64::MAX),
            Some(&charge.currency),
        ),
        status: charge_status(words, charge.status),
        due: time_format::of(request, charge.due_at),
        release: time_format::of_any(request, charge.release_at),
        account: charge
            .payment_account_id
            .map(|id| accounts.get(&id).cloned().unwrap_or_else(|| id.to_string())),
        message: charge.message.clone(),
        reference: charge.reference.clone(),
    }
}
