//! The public read operations on records (rules: records#reads; limits#pages). The queries are in
//! `listing.rs`, `named_records.rs` and `stored.rs`.

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::{
    ById, CacheBasis, Declaration, Listing, Needs, Nothing, Operation, Page, PageLimits,
};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use strum::VariantArray;
use uuid::Uuid;

use super::facets::{canonical_day, name_patterns};
use super::listing::{self, Filter, PropertyFilter};
use super::stored::{self, Record};
use super::{RecordKind, ReservationStatus, named_records};

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = property_and_stay_reads();
    operations.extend(staff_and_device_reads());
    operations.extend(setting_reads());
    operations.extend(any_kind_reads());
    operations
}

/// Declares the operations that read properties, their groups and tags, and their stays.
fn property_and_stay_reads() -> Vec<Operation> {
    use Permission::{ViewProperties, ViewReservations};
    vec![
        Operation::public(
            "listProperties",
            Method::GET,
            "/properties",
            Needs::Permission(ViewProperties),
        )
        .summary(
            "List properties within the caller's reach, by creation; by name, group or tag if \
                wanted",
        )
        .tool(
            "records",
            "List properties",
            "Flats and houses: name, address, time zone, check-in and check-out time, group, tags. \
                Filter by words of the name, external reference, group or tag. `search` finds one \
                across all sorts of things.",
        )
        .not_for_tools(&["ids", "updatedSince"])
        .cached(cache_basis(RecordKind::Property))
        .may_lag()
        .pages(
            PageLimits {
                default: 50,
                max: 500,
            },
            properties,
        )
        .with_output_schema(|| list_schema(RecordKind::Property)),
        page(
            declare("listTags", "/tags", ViewProperties).tool(
                "records",
                "List tags",
                "Tags of properties: id, name. Assigning something to a tag reaches every property \
                    that has it.",
            ),
            RecordKind::Tag,
            100,
            500,
        ),
        page(
            declare("listPropertyGroups", "/property-groups", ViewProperties).tool(
                "records",
                "List property groups",
                "Groups of properties: id, name. A property is in one group at most. Assigning to \
                    a group reaches its properties; `listProperties` with `propertyGroupId` shows \
                    them.",
            ),
            RecordKind::PropertyGroup,
            200,
            200,
        ),
        Operation::public(
            "listReservations",
            Method::GET,
            "/reservations",
            Needs::Permission(ViewReservations),
        )
        .summary(
            "List reservations within the caller's reach, by creation; by guest, property, status \
                or check-in if wanted",
        )
        .tool(
            "reservations",
            "List reservations",
            "Stays of guests: guest, property, dates, status, channel, verification. Filter by \
                guest name, booking code, e-mail, phone, property, status, day of check-in. \
                Example: {\"query\": \"Lovelace\", \"status\": \"confirmed\"}",
        )
        .not_for_tools(&["ids", "updatedSince"])
        .cached(cache_basis(RecordKind::Reservation))
        .may_lag()
        .pages(
            PageLimits {
                default: 20,
                max: 100,
            },
            reservations,
        )
        .with_output_schema(|| list_schema(RecordKind::Reservation)),
        one(
            declare("getReservation", "/reservations/{id}", ViewReservations).tool(
                "reservations",
                "Read a reservation",
                "One stay: guest, property, dates, status, channel. What its guest sees says \
                    `explainGuestView`.",
            ),
            RecordKind::Reservation,
        ),
        one(
            declare("getReview", "/reviews/{id}", ViewReservations).tool(
                "reservations",
                "Read a review",
                "One guest review: ratings, public text, photos. Its id comes with review events; \
                    there is no list.",
            ),
            RecordKind::Review,
        ),
    ]
}

/// Declares the operations that read staff, tasks and devices.
fn staff_and_device_reads() -> Vec<Operation> {
    use Permission::{ViewDevices, ViewTasks};
    vec![
        page(
            declare("listTasks", "/tasks", ViewTasks).tool(
                "records",
                "List tasks",
                "Tasks for staff (cleaning, repairs, issues of guests: `source` `guest_portal`): \
                    title, status, property, assignee.",
            ),
            RecordKind::Task,
            20,
            100,
        ),
        one(
            declare("getTask", "/tasks/{id}", ViewTasks).tool(
                "records",
                "Read a task",
                "One task for staff, by its id from `listTasks`.",
            ),
            RecordKind::Task,
        ),
        page(
            declare("listTemplates", "/task-templates", ViewTasks).tool(
                "records",
                "List task templates",
                "Templates that tasks for staff are made from.",
            ),
            RecordKind::TaskTemplate,
            20,
            100,
        ),
        page(
            declare("listDepartments", "/departments", ViewTasks).tool(
                "records",
                "List departments",
                "Departments of the staff, which tasks are given to.",
            ),
            RecordKind::Department,
            50,
            100,
        ),
        page(
            declare("listShifts", "/shifts", ViewTasks).tool(
                "records",
                "List shifts",
                "Planned shifts of the staff. Times actually worked: `listClockedShifts`.",
            ),
            RecordKind::Shift,
            50,
            1000,
        ),
        page(
            declare("listClockedShifts", "/clocked-shifts", ViewTasks).tool(
                "records",
                "List clocked shifts",
                "Times that staff actually worked. Planned ones: `listShifts`.",
            ),
            RecordKind::ClockedShift,
            50,
            200,
        ),
        page(
            declare("listDevices", "/devices", ViewDevices).tool(
                "records",
                "List devices",
                "Locks, thermostats, noise sensors and hubs in properties: name, vendor, whether \
                    online.",
            ),
            RecordKind::Device,
            20,
            100,
        ),
        one(
            declare("getDevice", "/devices/{id}", ViewDevices).tool(
                "records",
                "Read a device",
                "One lock, thermostat, sensor or hub, by its id from `listDevices`.",
            ),
            RecordKind::Device,
        ),
        declare("listCodes", "/lock-codes", ViewDevices)
            .tool(
                "records",
                "List lock codes",
                "Door codes of locks; of one property with `propertyId`.",
            )
            .not_for_tools(&["updatedSince"])
            .cached(cache_basis(RecordKind::LockCode))
            .may_lag()
            .pages(
                PageLimits {
                    default: 20,
                    max: 100,
                },
                lock_codes,
            )
            .with_output_schema(|| list_schema(RecordKind::LockCode)),
    ]
}

/// Declares the operations that read records to which steps, manuals and brandings refer.
fn setting_reads() -> Vec<Operation> {
    use Permission::ViewProperties;
    vec![
        page(
            declare("listUpsells", "/upsells", ViewProperties).tool(
                "records",
                "List upsells",
                "Extras that guests can buy, such as late check-out.",
            ),
            RecordKind::Upsell,
            50,
            200,
        ),
        all(
            declare("listPaymentAccounts", "/payment-accounts", ViewProperties).tool(
                "records",
                "List payment accounts",
                "Accounts that deposits and fees are charged on: id, whether active and default. \
                    For `securityDepositPaymentAccountId` and its like of a step.",
            ),
            RecordKind::PaymentAccount,
        ),
        all(
            declare("listCustomFields", "/custom-fields", ViewProperties).tool(
                "records",
                "List custom fields",
                "Custom fields of properties, for `customFieldId` of a manual that shows one's \
                    value.",
            ),
            RecordKind::CustomField,
        ),
        all(
            declare("listFeeProducts", "/fee-products", ViewProperties).tool(
                "records",
                "List fee products",
                "Fees that a `mandatory_fee` step can charge, for its `feeProductIds`.",
            ),
            RecordKind::FeeProduct,
        ),
        all(
            declare("listCustomUrls", "/custom-urls", ViewProperties).tool(
                "records",
                "List custom URLs",
                "Domains of the organization, for `customUrlId` of a branding (those with \
                    `isGuestPortal`).",
            ),
            RecordKind::CustomUrl,
        ),
        all(
            declare(
                "listBackgroundCheckAccounts",
                "/background-check-accounts",
                ViewProperties,
            )
            .tool(
                "records",
                "List background-check accounts",
                "Accounts at the background-check provider, for `backgroundCheckAccountId` of a \
                    step.",
            ),
            RecordKind::BackgroundCheckAccount,
        ),
        all(
            declare("listDamageWaivers", "/damage-waivers", ViewProperties).tool(
                "records",
                "List damage waivers",
                "Damage waivers that a `damage_deposit` step offers in place of a deposit where \
                    `isDamageWaiverEnabled`.",
            ),
            RecordKind::DamageWaiver,
        ),
    ]
}

/// Declares the read operations that have the record kind as a parameter. The console uses them for
/// pages that show all kinds in the same way.
fn any_kind_reads() -> Vec<Operation> {
    use Permission::ViewProperties;
    vec![
        declare("listRecords", "/records/{kind}", ViewProperties)
            .summary(
                "List records of a kind within the caller's reach, by name as people order them; \
                    by change with `updatedSince`",
            )
            .rest_only()
            .may_lag()
            .pages(
                PageLimits {
                    default: 50,
                    max: 500,
                },
                |context, input: FindRecords, page| {
                    require(context, input.kind)?;
                    let since = input.updated_since.map(|timestamp| timestamp.0);
                    named_records::list(context, input.kind, input.query.as_deref(), since, page)
                },
            ),
        declare("getRecord", "/records/{kind}/{id}", ViewProperties)
            .summary("Read a record of any kind")
            .rest_only()
            .may_lag()
            .run(|context, input: OneRecord| {
                require(context, input.kind)?;
                named_records::get_any_record(context, input.kind, input.id)
            }),
    ]
}

/// Returns 403 if the caller may not read records of a kind.
fn require(context: &Context<'_, '_>, kind: RecordKind) -> Result<()> {
    context.require(kind.read_permission())
}

/// A kind, and a part of the name of its records.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FindRecords {
    /// Kind of the records.
    #[schemars(schema_with = "kinds")]
    kind: RecordKind,
    /// Part of the name, in upper or lower case, with or without accents.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// Only records that were written at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneRecord {
    /// Kind of the record.
    #[schemars(schema_with = "kinds")]
    kind: RecordKind,
    /// Id of the record.
    id: Uuid,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "string", "enum": RecordKind::VARIANTS }))
}

/// Filters of a property list. A property must match all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListProperties {
    /// Words of the property's name in any order, in upper or lower case, with or without accents.
    /// A property is also found by its id or external reference. Other filters must match as well.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// Only properties in this property group. With an unknown group, the list is empty.
    #[serde(default)]
    property_group_id: Option<Uuid>,
    /// Only properties that have this tag. With an unknown tag, the list is empty.
    #[serde(default)]
    tag_id: Option<Uuid>,
    /// Only these properties. An unknown id matches no property.
    #[serde(default)]
    #[schemars(length(min = 1, max = 500))]
    ids: Option<Vec<Uuid>>,
    /// Only properties that were written at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

/// Filters of a reservation list. A reservation must match all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListReservations {
    /// Words of the guest's name in any order, with or without comma, in upper or lower case, with
    /// or without accents. A stay is also found by its booking code or id, and by the guest's
    /// e-mail address or phone number. Other filters must match as well.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    query: Option<String>,
    /// Only reservations of this property. With an unknown property, the list is empty.
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
    /// Only these reservations. An unknown id finds nothing.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100))]
    ids: Option<Vec<Uuid>>,
    /// Only reservations that were written at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

/// The filter of every list of records.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListRecords {
    /// Only records that were written at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

/// Filters of a list of door codes. A door code must match all of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListCodes {
    /// Only door codes of this property. With an unknown property, the list is empty.
    #[serde(default)]
    property_id: Option<Uuid>,
    /// Only door codes that were written at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

fn status(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "string", "enum": ReservationStatus::VARIANTS }))
}

fn date(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "string", "format": "date" }))
}

fn properties(
    context: &mut Context<'_, '_>,
    input: ListProperties,
    page: Page,
) -> Result<Listing<Record>> {
    let (among, name) = resolve_query(
        context,
        RecordKind::Property,
        input.query.as_deref(),
        input.ids,
    )?;
    let filter = PropertyFilter {
        name,
        group: input.property_group_id,
        tag: input.tag_id,
        since: input.updated_since.map(|timestamp| timestamp.0),
    };
    listing::properties(context, &filter, among, page)
}

fn reservations(
    context: &mut Context<'_, '_>,
    input: ListReservations,
    page: Page,
) -> Result<Listing<Record>> {
    let day = |text: Option<String>| text.as_deref().and_then(canonical_day);
    let (among, name) = resolve_query(
        context,
        RecordKind::Reservation,
        input.query.as_deref(),
        input.ids,
    )?;
    let filter = Filter {
        among,
        name,
        property: input.property_id,
        status: input.status.map(|status| status.as_ref().to_owned()),
        from: day(input.check_in_from),
        to: day(input.check_in_to),
        since: input.updated_since.map(|timestamp| timestamp.0),
    };
    listing::list(context, RecordKind::Reservation, &filter, page)
}

fn lock_codes(
    context: &mut Context<'_, '_>,
    input: ListCodes,
    page: Page,
) -> Result<Listing<Record>> {
    let filter = Filter {
        property: input.property_id,
        since: input.updated_since.map(|timestamp| timestamp.0),
        ..Filter::default()
    };
    listing::list(context, RecordKind::LockCode, &filter, page)
}

/// The patterns of a filter by name, as [`name_patterns`] builds them; `None` without such a
/// filter.
type NamePatterns = Option<[String; 3]>;

/// Translates a search query into a filter by ids or by name patterns. If the query matches
/// references of records, such as booking codes, the result is the ids of these records, without
/// those that are missing in `ids`. Otherwise the result is `ids` and the name patterns of the
/// query.
fn resolve_query(
    context: &mut Context<'_, '_>,
    kind: RecordKind,
    query: Option<&str>,
    ids: Option<Vec<Uuid>>,
) -> Result<(Option<Vec<Uuid>>, NamePatterns)> {
    let Some(query) = query else {
        return Ok((ids, None));
    };
    Ok(match listing::find_by_reference(context, kind, query)? {
        Some(matching) => (Some(listing::intersect_ids(ids, matching)), None),
        None => (ids, Some(name_patterns(query))),
    })
}

/// Begins the declaration of a GET operation on records.
fn declare(id: &'static str, path: &'static str, needs: Permission) -> Declaration {
    Operation::public(id, Method::GET, path, Needs::Permission(needs))
}

/// Completes the declaration of an operation that returns a paginated list of the records of one
/// kind.
fn page(declaration: Declaration, kind: RecordKind, default: u32, max: u32) -> Operation {
    declaration
        .not_for_tools(&["updatedSince"])
        .cached(cache_basis(kind))
        .may_lag()
        .pages(
            PageLimits { default, max },
            move |context, input: ListRecords, page| {
                let filter = Filter {
                    since: input.updated_since.map(|timestamp| timestamp.0),
                    ..Filter::default()
                };
                listing::list(context, kind, &filter, page)
            },
        )
        .with_output_schema(move || list_schema(kind))
}

/// Completes the declaration of an operation that lists all records of a kind without pages.
fn all(declaration: Declaration, kind: RecordKind) -> Operation {
    declaration
        .cached(cache_basis(kind))
        .may_lag()
        .run(move |context, _: Nothing| -> Result<Vec<Record>> { stored::list_all(context, kind) })
        .with_output_schema(move || list_schema(kind))
}

/// Completes the declaration of a read of one record by id.
fn one(declaration: Declaration, kind: RecordKind) -> Operation {
    declaration
        .may_lag()
        .run(move |context, input: ById| stored::get_record(context, kind, input.id))
        .with_output_schema(move || schema(kind.view_schema()))
}

/// Returns the revisions on which a cached list of a kind depends. A change of the configuration
/// makes all cached lists outdated. A change of stream records, such as reservations, makes only
/// lists of streams outdated.
pub(crate) fn cache_basis(kind: RecordKind) -> CacheBasis {
    if kind.is_stream() {
        CacheBasis::Everything
    } else {
        CacheBasis::Configuration
    }
}

/// Returns the JSON Schema of a list of records of a kind.
pub(crate) fn list_schema(kind: RecordKind) -> Schema {
    schema(json!({ "type": "array", "items": kind.view_schema() }))
}

fn schema(value: serde_json::Value) -> Schema {
    value.try_into().unwrap_or_default()
}
