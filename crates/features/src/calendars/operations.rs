//! Operations on calendar feeds: `createCalendarFeed`, `listCalendarFeeds`, `getCalendarFeed`,
//! `deleteCalendarFeed`, `refreshCalendarFeed` and `listHeldReservations`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::{ById, CommandContext, Needs, Nothing, Operation, OperationName};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::feed::{self, Ambiguous, CalendarFeed, FeedState, StoredFeed};
use super::worker::{CalendarFetcher, FEED_DUE};
use super::{apply, audited};
use crate::records::{Record, RecordKind, RecordOrigin, ReservationStatus, exists, find_records};

/// The operation that lists the feeds.
pub const LIST_CALENDAR_FEEDS: OperationName<Vec<CalendarFeed>> =
    OperationName::new("listCalendarFeeds");
/// The operation that reads one feed.
pub const GET_CALENDAR_FEED: OperationName<CalendarFeed> = OperationName::new("getCalendarFeed");

/// Maximum number of feeds of a property (rules: calendar-feeds#feeds).
const MAX_FEEDS: i64 = 20;
/// The permissions that are needed to create, delete or fetch a feed.
const NEEDS: Needs =
    Needs::Permissions(&[Permission::ModifyProperties, Permission::ViewReservations]);

/// The address of a calendar: https, and not in a private network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct FeedUrl(String);

impl JsonSchema for FeedUrl {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FeedUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "webhook-target", "maxLength": 2048 })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "propertyId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "url": "https://www.example.com/calendar/1.ics?s=secret",
    "channel": "airbnb",
}))]
struct CreateCalendarFeed {
    /// Id of the property whose bookings the calendar has.
    property_id: Uuid,
    /// Address of the calendar in the iCalendar format: an https URL without a user name and a
    /// password. Its host must not be private or loopback. The address is a secret, so no read
    /// returns it.
    url: FeedUrl,
    /// Channel of the feed's reservations, such as `airbnb`. Rules of steps and manuals refer to
    /// the channel.
    #[schemars(length(min = 1, max = 200))]
    channel: String,
    /// The treatment of an event that may be a booking or a closure: `hold` makes a tentative
    /// reservation, `import` a confirmed one, `ignore` none. Null or left out: `hold`.
    #[serde(default)]
    ambiguous: Option<Ambiguous>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeleteCalendarFeed {
    /// Id of the feed to delete.
    id: Uuid,
    /// Whether to cancel the feed's reservations whose stay has not begun. Left out: `false`, which
    /// cancels none. Every reservation of the feed remains, with the origin `manual`.
    #[serde(default)]
    cancel_upcoming: Option<bool>,
}

/// The confirmation of a deletion.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedCalendarFeed {
    success: bool,
}

/// The feed that `refreshCalendarFeed` fetches, and the organization of this feed.
struct PreparedFeed {
    organization: Uuid,
    feed: Uuid,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_CALENDAR_FEEDS.id(),
            Method::GET,
            "/calendar-feeds",
            Needs::Permission(Permission::ViewReservations),
        )
        .summary("List calendar feeds with the state of each")
        .tool(
            "records",
            "List calendar feeds",
            "Calendars of booking sites whose events become reservations, each with its last fetch \
                and its faults.",
        )
        .run_as(LIST_CALENDAR_FEEDS, list),
        Operation::public(
            GET_CALENDAR_FEED.id(),
            Method::GET,
            "/calendar-feeds/{id}",
            Needs::Permission(Permission::ViewReservations),
        )
        .summary("Read one calendar feed with its state")
        .tool(
            "records",
            "Read a calendar feed",
            "A feed from `listCalendarFeeds`, with its last fetch and its faults.",
        )
        .run_as(GET_CALENDAR_FEED, get),
        Operation::public("createCalendarFeed", Method::POST, "/calendar-feeds", NEEDS)
            .summary("Take a property's bookings from a calendar of another site")
            .tool(
                "records",
                "Add a calendar feed",
                "Takes a property's bookings from an iCalendar address of a booking site, from now \
                    on.",
            )
            .creates()
            .touches_stream()
            .audited(Audits::makes(audited::KIND, "channel"))
            .run(create),
        Operation::public(
            "deleteCalendarFeed",
            Method::DELETE,
            "/calendar-feeds/{id}",
            NEEDS,
        )
        .summary("Delete a calendar feed; its reservations stay")
        .tool(
            "records",
            "Delete a calendar feed",
            "Deletes a feed from `listCalendarFeeds`. Its reservations stay; `cancelUpcoming` \
                cancels those that have not begun.",
        )
        .destructive()
        .touches_stream()
        .audited(Audits::changes(audited::audited_feed))
        .run(delete),
        Operation::public(
            "refreshCalendarFeed",
            Method::POST,
            "/calendar-feeds/{id}/refresh",
            NEEDS,
        )
        .summary("Fetch a calendar feed now")
        .tool(
            "records",
            "Fetch a calendar feed",
            "Fetches a feed from `listCalendarFeeds` now, and returns its state afterwards.",
        )
        .idempotent()
        .audited(Audits::acts_on(|context, input| {
            Ok(audited::feed_target(context, input))
        }))
        .commands(prepare, refresh),
        Operation::public(
            "listHeldReservations",
            Method::GET,
            "/calendar-feeds/{id}/held",
            Needs::Permission(Permission::ViewReservations),
        )
        .summary("List a feed's tentative reservations, which wait for a person")
        .tool(
            "records",
            "List held bookings",
            "Tentative reservations of a feed whose events may be bookings or closures; confirm or \
                cancel them with `putRecords`.",
        )
        .run(list_held),
    ]
}

fn list(context: &mut Context<'_, '_>, _: Nothing) -> Result<Vec<CalendarFeed>> {
    feed::list_feeds(context)
}

fn get(context: &mut Context<'_, '_>, input: ById) -> Result<CalendarFeed> {
    let feed = feed::find(context, input.id)?;
    feed::view_of_feed(context, feed)
}

fn create(context: &mut Context<'_, '_>, input: CreateCalendarFeed) -> Result<CalendarFeed> {
    let property = input.property_id;
    if !context.property_scope().covers(property)
        || !exists(context, RecordKind::Property, property)?
    {
        return Err(Error::not_found("Property").of(property));
    }
    let (count, is_duplicate) = feed::count_of_property(context, property, &input.url.0)?;
    if is_duplicate {
        return Err(Error::conflict(Reason::rule(
            "feed_exists",
            "The property has a feed with this address already.",
        )));
    }
    if count >= MAX_FEEDS {
        return Err(Error::conflict(Reason::rule(
            "most_feeds",
            format!("A property has at most {MAX_FEEDS} calendar feeds; delete one first."),
        )));
    }
    let channel = input.channel.trim();
    if channel.is_empty() {
        return Err(Error::invalid(&["channel"], Reason::Blank));
    }
    let feed = StoredFeed {
        id: context.new_id(),
        property_id: property,
        url: input.url.0,
        created_at: Moment(context.now()),
        state: FeedState {
            channel: channel.to_owned(),
            ambiguous: input.ambiguous.unwrap_or_default(),
            ..FeedState::default()
        },
    };
    feed::insert(context, &feed)?;
    context.wake(FEED_DUE);
    Ok(feed.view(0))
}

fn delete(context: &mut Context<'_, '_>, input: DeleteCalendarFeed) -> Result<DeletedCalendarFeed> {
    let feed = feed::find(context, input.id)?;
    apply::delete_feeds(context, &[feed.id], input.cancel_upcoming.unwrap_or(false))?;
    Ok(DeletedCalendarFeed { success: true })
}

fn prepare(context: &mut Context<'_, '_>, input: ById) -> Result<PreparedFeed> {
    Ok(PreparedFeed {
        organization: context.organization.id,
        feed: feed::find(context, input.id)?.id,
    })
}

async fn refresh(context: CommandContext, prepared: PreparedFeed) -> Result<CalendarFeed> {
    let fetcher = context
        .app_state
        .extension::<CalendarFetcher>()
        .ok_or_else(|| Error::internal("there is no fetcher of calendars"))?;
    fetcher
        .fetch_now(prepared.organization, prepared.feed)
        .await
}

/// Returns the reservations of a feed that wait for a decision of staff: the tentative ones,
/// ordered by the day of check-in.
fn list_held(context: &mut Context<'_, '_>, input: ById) -> Result<Vec<Record>> {
    let feed = feed::find(context, input.id)?;
    let ids: BTreeSet<Uuid> = feed::stored_events(context, &[feed.id])?
        .into_keys()
        .collect();
    let records = find_records(context, RecordKind::Reservation, ids.into_iter().collect())?;
    let mut reservations = Vec::new();
    for record in records.into_values() {
        let record = record?;
        let is_held = record.field::<ReservationStatus>("status")
            == Some(ReservationStatus::Tentative)
            && record.field::<RecordOrigin>("origin") == Some(RecordOrigin::Calendar);
        if is_held {
            reservations.push(record);
        }
    }
    reservations.sort_by_cached_key(|record| {
        (
            record.field::<String>("checkIn"),
            record.field::<Uuid>("id"),
        )
    });
    Ok(reservations)
}
