//! The public read side of the records (spec: Pagination; permissions as each kind's).

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::operation::{Basis, ById, Listing, Needs, Nothing, Operation, Page, PageLimits};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use strum::VariantArray;
use uuid::Uuid;

use super::facets::{day, pattern};
use super::listing::{self, Filter, PropertyFilter};
use super::stored::{self, Record};
use super::{Kind, ReservationStatus};

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ViewDevices, ViewProperties, ViewReservations, ViewTasks};
    vec![
        Operation::public("listProperties", Method::GET, "/properties", Needs::Permission(ViewProperties))
            .summary("List properties within the caller's reach, by creation; by name, group or tag if wanted")
            .kept(basis(Kind::Property))
            .pages(PageLimits { default: 50, max: 500 }, properties)
            .answering(|| list_of(Kind::Property)),
        page("listTags", "/tags", Kind::Tag, ViewProperties, 100, 500),
        page("listPropertyGroups", "/property-groups", Kind::PropertyGroup, ViewProperties, 200, 200),
        Operation::public("listReservations", Method::GET, "/reservations", Needs::Permission(ViewReservations))
            .summary("List reservations within the caller's reach, by creation; by guest, property, status or check-in if wanted")
            .kept(basis(Kind::Reservation))
            .pages(PageLimits { default: 20, max: 100 }, reservations)
            .answering(|| list_of(Kind::Reservation)),
        one("getReservation", "/reservations/{id}", Kind::Reservation, ViewReservations),
        one("getReview", "/reviews/{id}", Kind::Review, ViewReservations),
        page("listTasks", "/tasks", Kind::Task, ViewTasks, 20, 100),
        one("getTask", "/tasks/{id}", Kind::Task, ViewTasks),
        page("listTemplates", "/task-templates", Kind::TaskTemplate, ViewTasks, 20, 100),
        page("listDepartments", "/departments", Kind::Department, ViewTasks, 50, 100),
        page("listShifts", "/shifts", Kind::Shift, ViewTasks, 50, 1000),
        page("listClockedShifts", "/clocked-shifts", Kind::ClockedShift, ViewTasks, 50, 200),
        page("listDevices", "/devices", Kind::Device, ViewDevices, 20, 100),
        one("getDevice", "/devices/{id}", Kind::Device, ViewDevices),
        page("listCodes", "/lock-codes", Kind::LockCode, ViewDevices, 20, 100),
        page("listUpsells", "/upsells", Kind::Upsell, ViewProperties, 50, 200),
        all("listPaymentAccounts", "/payment-accounts", Kind::PaymentAccount, ViewProperties),
        all("listCustomFields", "/custom-fields", Kind::CustomField, ViewProperties),
        all("listFeeProducts", "/fee-products", Kind::FeeProduct, ViewProperties),
        all("listCustomUrls", "/custom-urls", Kind::CustomUrl, ViewProperties),
        all("listBackgroundCheckAccounts", "/background-check-accounts", Kind::BackgroundCheckAccount, ViewProperties),
        all("listDamageWaivers", "/damage-waivers", Kind::DamageWaiver, ViewProperties),
    ]
}

/// Which properties are wanted; of several filters all hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListProperties {
    /// Part of the property's name, in either case, with or without accents. With other filters, all must hold.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// Only properties in this property group. An unknown one finds nothing.
    #[serde(default)]
    property_group_id: Option<Uuid>,
    /// Only properties that have this tag. An unknown one finds nothing.
    #[serde(default)]
    tag_id: Option<Uuid>,
}

/// Which reservations are wanted; of several filters all hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListReservations {
    /// Part of the guest's name, in either case, with or without accents. With other filters, all must hold.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// Only reservations of this property. An unknown one finds nothing.
    #[serde(default)]
    property_id: Option<Uuid>,
    /// Only reservations that are confirmed, tentative or cancelled.
    #[serde(default)]
    #[schemars(schema_with = "status")]
    status: Option<ReservationStatus>,
    /// Only reservations that check in on this day or later.
    #[serde(default)]
    #[schemars(schema_with = "date")]
    check_in_from: Option<String>,
    /// Only reservations that check in on this day or earlier.
    #[serde(default)]
    #[schemars(schema_with = "date")]
    check_in_to: Option<String>,
}

fn status(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "string", "enum": ReservationStatus::VARIANTS }))
}

fn date(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "string", "format": "date" }))
}

fn properties(context: &mut Context<'_, '_>, input: ListProperties, page: Page) -> Result<Listing<Record>> {
    let name = input.query.as_deref().map(pattern);
    listing::properties(context, &PropertyFilter { name, group: input.property_group_id, tag: input.tag_id }, page)
}

fn reservations(context: &mut Context<'_, '_>, input: ListReservations, page: Page) -> Result<Listing<Record>> {
    let day = |text: Option<String>| text.as_deref().and_then(day);
    let filter = Filter {
        name: input.query.as_deref().map(pattern),
        property: input.property_id,
        status: input.status.map(|status| status.as_ref().to_owned()),
        from: day(input.check_in_from),
        to: day(input.check_in_to),
    };
    listing::list(context, Kind::Reservation, &filter, page)
}

fn page(id: &'static str, path: &'static str, kind: Kind, needs: Permission, default: u32, max: u32) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("List records of this kind within the caller's reach, by creation")
        .kept(basis(kind))
        .pages(PageLimits { default, max }, move |context, _: Nothing, page| listing::list(context, kind, &Filter::default(), page))
        .answering(move || list_of(kind))
}

fn all(id: &'static str, path: &'static str, kind: Kind, needs: Permission) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("List every record of this kind within the caller's reach, by creation")
        .kept(basis(kind))
        .run(move |context, _: Nothing| -> Result<Vec<Record>> { stored::list_all(context, kind) })
        .answering(move || list_of(kind))
}

fn one(id: &'static str, path: &'static str, kind: Kind, needs: Permission) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("Read a record of this kind within the caller's reach")
        .run(move |context, input: ById| stored::get_record(context, kind, input.id))
        .answering(move || schema(kind.view_schema()))
}

/// A list is made of nothing but its records.
pub(crate) fn basis(kind: Kind) -> Basis {
    if kind.is_stream() { Basis::Everything } else { Basis::Configuration }
}

pub(crate) fn list_of(kind: Kind) -> Schema {
    schema(json!({ "type": "array", "items": kind.view_schema() }))
}

fn schema(value: serde_json::Value) -> Schema {
    value.try_into().unwrap_or_default()
}
