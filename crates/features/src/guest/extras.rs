//! The extras that a guest can order, and the guest's cart. `abandonment.rs` finds carts that
//! guests have abandoned.

use std::collections::HashSet;

use engine::context::Context;
use engine::error::{Error, Issue, Result};
use engine::moment::Moment;
use engine::operation::{Findings, Object, Operation};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Json;
use uuid::Uuid;

use super::abandonment::CartAbandonmentDelay;
use super::changes::{self, ChangeDetails, ChangeKind};
use super::operations::own_stay;
use super::setup::GuestSetup;
use super::stay::{Stay, StayFlat};
use crate::records::{RecordKind, all_records};

/// Maximum number of extras in the guest's view.
const MAX_EXTRAS: usize = 200;

store::statements! {
    /// Selects the cart of a stay.
    CART = "select doc from guest_cart where organization_id = ?1 and reservation_id = ?2";
    /// Selects the cart of a stay, if the cart was already recorded as abandoned.
    RECORDED_CART = "select doc from guest_cart where organization_id = ?1 and reservation_id = ?2
        and due_at is null";
    /// Inserts or replaces the cart of a stay.
    PUT_CART = "insert into guest_cart (organization_id, reservation_id, changed_at, due_at, doc)
        values (?1, ?2, ?3, ?4, ?5)
        on conflict (organization_id, reservation_id) do update
        set changed_at = excluded.changed_at, due_at = excluded.due_at,
        doc = excluded.doc";
    /// Deletes the carts of the given stays.
    EMPTY = "delete from guest_cart where organization_id = ?1 and reservation_id = any(?2)";
}

/// An extra that a guest can ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtraView {
    /// Id of the upsell record.
    pub id: Uuid,
    /// Name of the extra, as the organization wrote it.
    pub name: String,
    /// Description of the extra; null without a description.
    pub description: Option<String>,
    /// Price of the extra in the minor unit of the currency; null if no price is known.
    pub price_cents: Option<u64>,
    /// ISO 4217 code of the price's currency; null if it is not known.
    pub currency: Option<String>,
    /// Https address of a picture of the extra; null without a picture.
    pub image_url: Option<String>,
}

/// An extra in a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CartItem {
    /// Id of the extra, from `extras` of the guest's view.
    pub upsell_id: Uuid,
    /// Quantity of the extra, from 1 to 99.
    #[schemars(range(min = 1, max = 99))]
    pub quantity: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SaveCart {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// All extras that the guest now selects, each once; an empty list empties the cart. An unknown
    /// or inactive extra is a 404.
    #[schemars(length(max = 100))]
    items: Vec<CartItem>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestExtras {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
}

/// The extras that a guest selected.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(example = json!({
    "items": [{ "upsellId": "0192f0c1-2345-7abc-8def-0123456789ab", "quantity": 2 }],
}))]
struct Cart {
    /// The chosen extras, each with its quantity.
    items: Vec<CartItem>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest("saveCart", Method::PUT, "/stays/{token}/cart")
            .summary("Keep the guest's selection of extras")
            .touches_stream()
            .rules(|input: SaveCart, _| Findings::sent(repeated_items(&input.items)))
            .run(save),
        Operation::guest("requestExtras", Method::POST, "/stays/{token}/cart/request")
            .summary("Ask the host for the selected extras, and empty the cart")
            .touches_stream()
            .run(request),
    ]
}

/// Loads the active extras that are offered in a flat, in the order of their creation, at most
/// [`MAX_EXTRAS`]. Returns none if no portal serves the flat.
pub(super) fn load(context: &mut Context<'_, '_>, flat: &StayFlat) -> Result<Vec<ExtraView>> {
    if flat.portal().is_none() {
        return Ok(Vec::new());
    }
    let upsells = all_records::<Object>(context, RecordKind::Upsell)?;
    let offered = upsells
        .iter()
        .filter(|(_, upsell)| is_offered(upsell, flat.placement.property))
        .map(|(id, upsell)| extra(*id, upsell));
    Ok(offered.take(MAX_EXTRAS).collect())
}

/// Returns whether an upsell is active and offered in a flat. An upsell whose `propertyIds` are
/// null or absent is offered in every flat.
fn is_offered(upsell: &Object, property: Uuid) -> bool {
    let is_active = upsell.get("isActive") != Some(&Value::Bool(false));
    let is_here = match upsell.get("propertyIds") {
        None | Some(Value::Null) => true,
        Some(Value::Array(ids)) => ids
            .iter()
            .filter_map(Value::as_str)
            .any(|id| id.parse() == Ok(property)),
        Some(_) => false,
    };
    is_active && is_here
}

fn extra(id: Uuid, upsell: &Object) -> ExtraView {
    let text = |name| field::<String>(upsell, name).filter(|text| !engine::typed::is_blank(text));
    ExtraView {
        id,
        name: text("name").unwrap_or_default(),
        description: text("description"),
        price_cents: field(upsell, "priceCents"),
        currency: text("currency"),
        image_url: text("imageUrl").filter(|url| engine::format::is_https_url(url)),
    }
}

/// Returns the value of a field of an upsell. Returns `None` if the field is missing, or if its
/// value does not have the type `T`.
fn field<T: DeserializeOwned>(upsell: &Object, name: &str) -> Option<T> {
    serde_json::from_value(upsell.get(name)?.clone()).ok()
}

/// Returns an issue for each item whose extra an earlier item of the list already names.
fn repeated_items(items: &[CartItem]) -> Vec<Issue> {
    let mut seen = HashSet::new();
    let mut issues = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if !seen.insert(item.upsell_id) {
            issues.push(Issue::at(
                vec!["items".into(), index.into(), "upsellId".into()],
                "is in the list already",
            ));
        }
    }
    issues
}

/// Returns the extras in the guest's cart, without those that are no longer offered. The cart of a
/// cancelled stay counts as empty.
pub(super) fn selection(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    setup: &GuestSetup,
) -> Result<Vec<CartItem>> {
    if setup.extras.is_empty() || stay.is_cancelled() {
        return Ok(Vec::new());
    }
    let Some(row) = context.row(&CART, values![stay.id])? else {
        return Ok(Vec::new());
    };
    let Json(Cart { mut items }) = row.get(0)?;
    items.retain(|item| is_available(setup, item.upsell_id));
    Ok(items)
}

fn is_available(setup: &GuestSetup, upsell: Uuid) -> bool {
    setup.extras.iter().any(|extra| extra.id == upsell)
}

fn save(context: &mut Context<'_, '_>, input: SaveCart) -> Result<Cart> {
    let (stay, setup) = own_stay(context, None)?;
    check_not_cancelled(&stay)?;
    if input
        .items
        .iter()
        .any(|item| !is_available(&setup, item.upsell_id))
    {
        return Err(Error::not_found(&RecordKind::Upsell.label()));
    }
    let cart = Cart { items: input.items };
    if cart.items.is_empty() {
        forget(context, &[stay.id])?;
        return Ok(cart);
    }
    if let Some(row) = context.row(&RECORDED_CART, values![stay.id])? {
        let Json(recorded): Json<Cart> = row.get(0)?;
        if recorded == cart {
            // The guest has not changed the cart since it was recorded as abandoned. Storing the
            // cart again would set a new due time, and the cart would be recorded a second time.
            return Ok(cart);
        }
    }
    let now = context.now();
    let CartAbandonmentDelay(delay) = *context.extension()?;
    let due_at = now.checked_add(delay).unwrap_or(Timestamp::MAX);
    context.execute_deferred(
        &PUT_CART,
        values![
            stay.id,
            Moment(now),
            Moment(due_at),
            store::Value::json(&cart)?
        ],
    )?;
    Ok(cart)
}

fn request(context: &mut Context<'_, '_>, _: RequestExtras) -> Result<Cart> {
    let (stay, setup) = own_stay(context, None)?;
    check_not_cancelled(&stay)?;
    let items = selection(context, &stay, &setup)?;
    if items.is_empty() {
        return Err(Error::conflict("The cart is empty."));
    }
    forget(context, &[stay.id])?;
    let details = ChangeDetails {
        items: Some(items.clone()),
        ..ChangeDetails::default()
    };
    changes::record_with(
        context,
        ChangeKind::ExtrasRequested,
        stay.id,
        None,
        &details,
    )?;
    Ok(Cart { items })
}

/// Refuses extras of a cancelled stay with 403.
fn check_not_cancelled(stay: &Stay) -> Result<()> {
    if stay.is_cancelled() {
        return Err(Error::forbidden(
            "The stay is cancelled, so no extras are offered.",
        ));
    }
    Ok(())
}

/// Deletes the carts of stays.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&EMPTY, values![reservations])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upsell(more: Value) -> Object {
        let Value::Object(mut upsell) = json!({ "name": "Late check-out" }) else {
            return Object::new();
        };
        upsell.extend(more.as_object().cloned().unwrap_or_default());
        upsell
    }

    #[test]
    fn an_extra_is_offered_in_the_flats_that_it_names_or_everywhere() {
        let (here, there) = (Uuid::from_u128(1), Uuid::from_u128(2));
        for (more, expected) in [
            (json!({}), true),
            (json!({ "isActive": null, "propertyIds": null }), true),
            (json!({ "isActive": false }), false),
            (json!({ "propertyIds": [] }), false),
            (json!({ "propertyIds": [there] }), false),
            (json!({ "propertyIds": [there, here] }), true),
            (json!({ "propertyIds": "all" }), false),
        ] {
            assert_eq!(is_offered(&upsell(more.clone()), here), expected, "{more}");
        }
    }

    #[test]
    fn fields_of_another_type_count_as_unknown() {
        let extra = extra(
            Uuid::nil(),
            &upsell(
                json!({ "priceCents": "10", "currency": 3, "imageUrl": "http://x.example/a.png" }),
            ),
        );
        assert_eq!(
            (extra.price_cents, extra.currency, extra.image_url),
            (None, None, None)
        );
    }
}
