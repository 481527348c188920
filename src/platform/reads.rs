//! The public read side of the records (spec: Pagination; permissions as each kind's).

use http::Method;
use schemars::Schema;
use serde_json::json;

use super::Kind;
use super::credentials::MemberView;
use super::records::{self, Record};
use crate::access::Permission;
use crate::context::Context;
use crate::error::Result;
use crate::operation::{Basis, ById, Listing, Needs, Nothing, Operation, Page, PageLimits};
use crate::values;

store::statements! {
    /// A page of members.
    MEMBERS = "select id, doc, created_at, updated_at from member where organization_id = ?1 order by created_at, id limit ?2 offset ?3";
    /// How many members there are.
    COUNT_MEMBERS = "select count(*) from member where organization_id = ?1";
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ViewDevices, ViewProperties, ViewReservations, ViewTasks};
    vec![
        page("listProperties", "/properties", Kind::Property, ViewProperties, 50, 500),
        page("listTags", "/tags", Kind::Tag, ViewProperties, 100, 500),
        page("listPropertyGroups", "/property-groups", Kind::PropertyGroup, ViewProperties, 200, 200),
        page("listReservations", "/reservations", Kind::Reservation, ViewReservations, 20, 100),
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
        all("listInstructions", "/instructions", Kind::Instruction, ViewProperties),
        Operation::public("listTeamMembers", Method::GET, "/members", Needs::Permission(Permission::ManageOrganization))
            .summary("List the organization's members")
            .kept(Basis::Configuration)
            .pages(PageLimits { default: 50, max: 100 }, members),
    ]
}

fn page(id: &'static str, path: &'static str, kind: Kind, needs: Permission, default: u32, max: u32) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("List records of this kind within the caller's reach, by creation")
        .kept(basis(kind))
        .pages(PageLimits { default, max }, move |context, _: Nothing, page| records::list(context, kind, page))
        .answering(move || list_of(kind))
}

fn all(id: &'static str, path: &'static str, kind: Kind, needs: Permission) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("List every record of this kind within the caller's reach, by creation")
        .kept(basis(kind))
        .run(move |context, _: Nothing| -> Result<Vec<Record>> { records::list_all(context, kind) })
        .answering(move || list_of(kind))
}

fn one(id: &'static str, path: &'static str, kind: Kind, needs: Permission) -> Operation {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
        .summary("Read a record of this kind within the caller's reach")
        .run(move |context, input: ById| records::get_record(context, kind, input.id))
        .answering(move || schema(kind.view_schema()))
}

/// A list is made of nothing but its records.
fn basis(kind: Kind) -> Basis {
    if kind.is_stream() { Basis::Everything } else { Basis::Configuration }
}

fn list_of(kind: Kind) -> Schema {
    schema(json!({ "type": "array", "items": kind.view_schema() }))
}

fn schema(value: serde_json::Value) -> Schema {
    value.try_into().unwrap_or_default()
}

fn members(context: &mut Context<'_, '_>, _: Nothing, page: Page) -> Result<Listing<MemberView>> {
    let total = context.row(&COUNT_MEMBERS, [])?.map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&MEMBERS, values![page.limit, page.offset])?;
    Ok(Listing { items: rows.iter().map(MemberView::from_row).collect::<Result<_>>()?, total })
}
