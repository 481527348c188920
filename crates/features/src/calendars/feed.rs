//! Storage of feeds: their settings, their state after the last fetch, and the events of earlier
//! fetches.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::values;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use url::Url;
use uuid::Uuid;

use super::client::FetchError;
use super::ics::FeedWarning;
use super::plan::StoredEvent;

store::statements! {
    /// Selects a feed by its id.
    FEED = "select id, property_id, url, created_at, doc from calendar_feed
        where organization_id = ?1 and id = ?2";
    /// Selects the feeds of an organization, ordered by the time of creation.
    FEEDS = "select id, property_id, url, created_at, doc from calendar_feed
        where organization_id = ?1 order by created_at, id";
    /// The number of all feeds of a property, and the number of those feeds that have the URL `?3`.
    COUNT = "select count(*), count(case when url = ?3 then 1 end) from calendar_feed
        where organization_id = ?1 and property_id = ?2";
    /// Selects the ids of the feeds of the properties `?2`.
    OF_PROPERTIES = "select id from calendar_feed where organization_id = ?1
        and property_id = any(?2)";
    /// Inserts a feed whose first fetch is due at once.
    INSERT = "insert into calendar_feed (organization_id, id, property_id, url, next_fetch_at,
        created_at, doc)
        values (?1, ?2, ?3, ?4, ?5, ?5, ?6)";
    /// Deletes feeds. The foreign key of `calendar_event` also deletes the stored states of their
    /// events.
    DELETE = "delete from calendar_feed where organization_id = ?1 and id = any(?2)";
    /// For each feed of the organization: counts the feed's reservations whose origin is still
    /// `calendar` and that are not cancelled.
    RESERVATIONS = "select e.feed_id, count(*) from calendar_event e
        join record r on r.organization_id = e.organization_id
        and r.kind = 'reservation' and r.id = e.reservation_id
        where e.organization_id = ?1 and r.origin = 'calendar' and r.status <> 'cancelled'
        group by e.feed_id";
    /// Selects the stored state of each event of the given feeds.
    EVENTS = "select reservation_id, doc from calendar_event where organization_id = ?1
        and feed_id = any(?2)";
    /// Inserts or replaces the stored state of an event.
    PUT_EVENT = "insert into calendar_event (organization_id, feed_id, reservation_id, doc)
        values (?1, ?2, ?3, ?4)
        on conflict (organization_id, feed_id, reservation_id) do update set doc = excluded.doc";
    /// Selects the state of a feed, if the feed still has the lease that ends at `?3`.
    CLAIMED = "select doc from calendar_feed where organization_id = ?1 and id = ?2
        and leased_until = ?3";
    /// Writes the state of a feed, and ends its lease.
    SAVE = "update calendar_feed set doc = ?3, next_fetch_at = ?4, leased_until = null
        where organization_id = ?1 and id = ?2";
}

engine::stored_enum! {
    /// The treatment of an event that may be a booking or a closure.
    #[derive(Default)]
    pub enum Ambiguous {
        /// The event becomes a tentative reservation, which staff confirm or cancel.
        #[default]
        Hold,
        /// The event is ignored.
        Ignore,
        /// The event becomes a confirmed reservation.
        Import,
    }
}

/// The stored document of a feed: its settings and its state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FeedState {
    pub channel: String,
    pub ambiguous: Ambiguous,
    /// The time of the last successful fetch.
    pub last_fetched_at: Option<Moment>,
    /// The time of the last fetch, whether it succeeded or failed.
    pub last_attempt_at: Option<Moment>,
    /// The error of the last fetch; `None` if it succeeded.
    pub last_error: Option<FetchError>,
    /// Number of fetches that failed since the last successful fetch.
    pub consecutive_failures: u32,
    /// The `ETag` of the calendar at the last successful fetch.
    pub etag: Option<String>,
    /// Number of events that the last successful fetch skipped.
    pub skipped_count: u32,
    pub warnings: Vec<FeedWarning>,
}

/// A feed, with the data of its row in the database.
#[derive(Debug, Clone)]
pub(super) struct StoredFeed {
    pub id: Uuid,
    pub property_id: Uuid,
    /// The address of the calendar, which is a secret.
    pub url: String,
    pub created_at: Moment,
    pub state: FeedState,
}

/// A calendar feed with its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct CalendarFeed {
    pub id: Uuid,
    pub property_id: Uuid,
    /// Scheme and host of the address, and `…` for the rest, which is a secret.
    pub url: String,
    /// Channel of the feed's reservations.
    pub channel: String,
    /// The treatment of an event that may be a booking or a closure.
    pub ambiguous: Ambiguous,
    /// Time of the last successful fetch; null before the first.
    pub last_fetched_at: Option<Moment>,
    /// Time of the last fetch; null before the first.
    pub last_attempt_at: Option<Moment>,
    /// Why the last fetch failed; null if it succeeded.
    pub last_error: Option<String>,
    /// Code of the last error, for programs; null if the last fetch succeeded.
    pub last_error_code: Option<&'static str>,
    /// Number of fetches that failed since the last successful fetch.
    pub consecutive_failures: u32,
    /// Number of the feed's reservations that are not cancelled.
    pub reservation_count: u64,
    /// Number of events that the last successful fetch skipped.
    pub skipped_count: u32,
    /// Events with a fault, at most 20.
    pub warnings: Vec<FeedWarning>,
    pub created_at: Moment,
}

impl StoredFeed {
    /// Reads a feed from the columns of [`FEED`].
    fn from_row(row: &Row) -> Result<Self> {
        let Json(state) = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            property_id: row.get(1)?,
            url: row.get(2)?,
            created_at: Moment(row.get(3)?),
            state,
        })
    }

    /// Returns the feed in the form in which operations return it.
    pub(super) fn view(self, reservation_count: u64) -> CalendarFeed {
        let state = self.state;
        CalendarFeed {
            id: self.id,
            property_id: self.property_id,
            url: without_secret(&self.url),
            channel: state.channel,
            ambiguous: state.ambiguous,
            last_fetched_at: state.last_fetched_at,
            last_attempt_at: state.last_attempt_at,
            last_error_code: state.last_error.as_ref().map(|error| error.code.into()),
            last_error: state.last_error.map(|error| error.message),
            consecutive_failures: state.consecutive_failures,
            reservation_count,
            skipped_count: state.skipped_count,
            warnings: state.warnings,
            created_at: self.created_at,
        }
    }
}

/// Returns scheme and host of an address. The rest is a secret, because anyone with the whole
/// address can read the calendar.
pub(super) fn without_secret(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed
        .as_ref()
        .and_then(|url| Some((url.scheme(), url.host_str()?)));
    host.map_or_else(
        || "…".to_owned(),
        |(scheme, host)| format!("{scheme}://{host}/…"),
    )
}

/// Reads a feed of a flat that the caller can access, or fails with 404.
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<StoredFeed> {
    let feed = context
        .row(&FEED, values![id])?
        .map(|row| StoredFeed::from_row(&row))
        .transpose()?;
    feed.filter(|feed| context.property_scope().covers(feed.property_id))
        .ok_or_else(|| Error::not_found("Calendar feed"))
}

/// Reads the feeds of the flats that the caller can access, ordered by the time of creation.
pub(super) fn list_feeds(context: &mut Context<'_, '_>) -> Result<Vec<CalendarFeed>> {
    let mut counts = counts(context)?;
    let mut feeds = Vec::new();
    for row in context.rows(&FEEDS, [])? {
        let feed = StoredFeed::from_row(&row)?;
        if context.property_scope().covers(feed.property_id) {
            let count = counts.remove(&feed.id).unwrap_or_default();
            feeds.push(feed.view(count));
        }
    }
    Ok(feeds)
}

/// Returns a feed as operations return it. Counts the feed's reservations for this purpose.
pub(super) fn view_of_feed(
    context: &mut Context<'_, '_>,
    feed: StoredFeed,
) -> Result<CalendarFeed> {
    let count = counts(context)?.remove(&feed.id).unwrap_or_default();
    Ok(feed.view(count))
}

fn counts(context: &mut Context<'_, '_>) -> Result<HashMap<Uuid, u64>> {
    let rows = context.rows(&RESERVATIONS, [])?;
    rows.iter()
        .map(|row| {
            let count: i64 = row.get(1)?;
            Ok((row.get(0)?, u64::try_from(count).unwrap_or_default()))
        })
        .collect()
}

/// Returns the number of a property's feeds, and the information whether one of them has the
/// calendar URL `url`.
pub(super) fn count_of_property(
    context: &mut Context<'_, '_>,
    property: Uuid,
    url: &str,
) -> Result<(i64, bool)> {
    let row = context
        .row(&COUNT, values![property, url])?
        .ok_or_else(|| Error::internal("a count has no row"))?;
    Ok((row.get(0)?, row.get::<i64>(1)? > 0))
}

/// Returns the ids of the feeds of these properties.
pub(super) fn of_properties(
    context: &mut Context<'_, '_>,
    properties: &[Uuid],
) -> Result<Vec<Uuid>> {
    let rows = context.rows(&OF_PROPERTIES, values![properties])?;
    rows.iter().map(|row| Ok(row.get(0)?)).collect()
}

/// Stores a new feed, whose first fetch is due at once.
pub(super) fn insert(context: &mut Context<'_, '_>, feed: &StoredFeed) -> Result<()> {
    let doc = store::Value::json(&feed.state)?;
    context.execute_deferred(
        &INSERT,
        values![
            feed.id,
            feed.property_id,
            feed.url.as_str(),
            feed.created_at,
            doc
        ],
    )
}

/// Deletes feeds, and the stored state of their events.
pub(super) fn delete(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<()> {
    context.execute_deferred(&DELETE, values![ids])
}

/// Reads the stored events of these feeds. The key of an event is the id of its reservation.
pub(super) fn stored_events(
    context: &mut Context<'_, '_>,
    feeds: &[Uuid],
) -> Result<HashMap<Uuid, StoredEvent>> {
    let rows = context.rows(&EVENTS, values![feeds])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1).map(|Json(event)| event)?)))
        .collect()
}

/// Stores the new states of these events of a feed.
pub(super) fn put_events(
    context: &mut Context<'_, '_>,
    feed: Uuid,
    events: Vec<(Uuid, StoredEvent)>,
) -> Result<()> {
    let row = |(reservation, event): &(Uuid, StoredEvent)| {
        Ok(values![feed, *reservation, store::Value::json(event)?])
    };
    let rows = events.iter().map(row).collect::<Result<Vec<_>>>()?;
    context.execute_many(&PUT_EVENT, rows).map(drop)
}

/// Returns the state of a feed. Returns `None` if the lease that ends at `until` is no longer
/// valid.
pub(super) fn leased_state(
    context: &mut Context<'_, '_>,
    id: Uuid,
    until: Timestamp,
) -> Result<Option<FeedState>> {
    let row = context.row(&CLAIMED, values![id, until])?;
    Ok(row
        .map(|row| row.get(0).map(|Json(state)| state))
        .transpose()?)
}

/// Writes the state of a feed after a fetch, and the time of the next fetch.
pub(super) fn save(
    context: &mut Context<'_, '_>,
    id: Uuid,
    state: &FeedState,
    next: Timestamp,
) -> Result<()> {
    context.execute_deferred(&SAVE, values![id, store::Value::json(state)?, next])
}

fn example() -> serde_json::Value {
    serde_json::json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab",
        "propertyId": "0192f0c1-2345-7abc-8def-0123456789ac",
        "url": "https://www.airbnb.com/…",
        "channel": "airbnb",
        "ambiguous": "hold",
        "lastFetchedAt": "2026-11-21T09:30:00.000Z",
        "lastAttemptAt": "2026-11-21T09:30:00.000Z",
        "lastError": null,
        "lastErrorCode": null,
        "consecutiveFailures": 0,
        "reservationCount": 4,
        "skippedCount": 1,
        "warnings": [{ "uid": "1@example.com", "problem": "has no valid start" }],
        "createdAt": "2026-11-20T09:30:00.000Z",
    })
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secret() {
        for (url, expected) in [
            (
                "https://www.airbnb.com/calendar/ical/1.ics?s=secret",
                "https://www.airbnb.com/…",
            ),
            ("https://a.example:8443/secret", "https://a.example/…"),
            ("nothing", "…"),
        ] {
            assert_eq!(without_secret(url), expected);
        }
    }

    #[test]
    fn every_setting_for_unclear_events_is_written_in_one_word() {
        for setting in Ambiguous::VARIANTS {
            assert_eq!(serde_json::to_value(setting).unwrap(), setting.as_ref());
        }
    }
}
