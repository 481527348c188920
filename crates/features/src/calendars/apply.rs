//! Writes the changes of a fetched calendar to the reservations of its feed (rules:
//! calendar-feeds#changes). `plan.rs` decides the change of each event.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use store::Json;
use uuid::Uuid;

use super::feed::{self, FeedState};
use super::ics::FeedContent;
use super::plan::{
    CurrentReservation, EventOutcome, StayChange, StoredEvent, plan_absent, plan_present,
    plan_unchanged,
};
use crate::platform::{OnInvalid, SyncRecord, SyncSettings, apply_records};
use crate::records::{Property, RecordKind, RecordOrigin, ReservationStatus, record_as, stored};

/// Maximum length of a reservation's channel name, in characters. A longer name is cut.
const MAX_CHANNEL_CHARS: usize = 200;

/// The parsed result of a successful fetch.
pub(super) enum FetchOutcome {
    /// The calendar has not changed since the last fetch.
    Unchanged,
    /// The calendar has changed since the last fetch.
    Calendar {
        content: FeedContent,
        /// The `ETag` of the new version of the calendar. The next fetch sends it.
        etag: Option<String>,
    },
}

/// The current time, and the time zone and check-in time of a feed's flat.
struct Clock {
    now: Timestamp,
    zone: TimeZone,
    check_in_time: Time,
}

impl Clock {
    fn of(context: &mut Context<'_, '_>, property: Uuid) -> Result<Self> {
        let property = record_as::<Property>(context, RecordKind::Property, property)?;
        let property = property.as_ref();
        let zone = property.and_then(|property| TimeZone::get(&property.timezone).ok());
        let time = property.and_then(|property| property.check_in_time.as_deref()?.parse().ok());
        Ok(Self {
            now: context.now(),
            zone: zone.unwrap_or(TimeZone::UTC),
            check_in_time: time.unwrap_or(Time::midnight()),
        })
    }

    /// Returns whether a stay that begins on the day `check_in` has begun.
    fn is_past(&self, check_in: Date) -> bool {
        let start = check_in.to_datetime(self.check_in_time);
        self.zone
            .to_timestamp(start)
            .is_ok_and(|start| start <= self.now)
    }
}

/// The data and the origin of a stored reservation of a feed, before the feed changes it.
struct FeedStay {
    data: Object,
    origin: RecordOrigin,
}

impl FeedStay {
    /// Returns the facts about the reservation that decide how the feed may change it.
    fn current(&self, clock: &Clock) -> CurrentReservation {
        let day = |field: &str| self.data.get(field)?.as_str()?.parse::<Date>().ok();
        CurrentReservation {
            is_cancelled: self.data.get("status").and_then(Value::as_str)
                == Some(ReservationStatus::Cancelled.as_ref()),
            has_begun: day("checkIn").is_some_and(|check_in| clock.is_past(check_in)),
            is_of_platform: self.origin == RecordOrigin::Platform,
        }
    }
}

/// Returns the id of the reservation of an event. It is derived from the event's UID, so that every
/// fetch finds the same reservation.
fn reservation_id(organization: Uuid, feed: Uuid, uid: &str) -> Uuid {
    let name = [feed.as_bytes(), uid.as_bytes()].concat();
    Uuid::new_v5(&organization, &name)
}

/// Applies the result of a successful fetch to the reservations of a feed, and updates the feed's
/// state.
pub(super) fn apply_outcome(
    context: &mut Context<'_, '_>,
    feed: Uuid,
    property: Uuid,
    state: &mut FeedState,
    news: FetchOutcome,
) -> Result<()> {
    let organization = context.organization.id;
    let stored_events = feed::stored_events(context, &[feed])?;
    let mut events = HashMap::new();
    let mut unchanged: BTreeSet<Uuid> = BTreeSet::new();
    match news {
        FetchOutcome::Unchanged => unchanged.extend(
            stored_events
                .iter()
                .filter(|(_, event)| event.missed == 0)
                .map(|(id, _)| *id),
        ),
        FetchOutcome::Calendar { content, etag } => {
            state.etag = etag;
            state.skipped_count = content.skipped;
            state.warnings = content.warnings;
            let id = |uid: &str| reservation_id(organization, feed, uid);
            unchanged.extend(content.skipped_uids.iter().map(|uid| id(uid)));
            events.extend(
                content
                    .events
                    .into_iter()
                    .map(|event| (id(&event.uid), event)),
            );
        }
    }
    let ids: BTreeSet<Uuid> = stored_events.keys().chain(events.keys()).copied().collect();
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let stays = stays(context, ids.clone())?;
    let clock = Clock::of(context, property)?;
    let (mut changed_events, mut records) = (Vec::new(), Vec::new());
    for id in ids {
        let stored_event = stored_events.get(&id);
        let stay = stays.get(&id);
        let current = stay.map(|stay| stay.current(&clock));
        let outcome = match (events.get(&id), stored_event) {
            (Some(event), stored_event) => {
                plan_present(event, state.ambiguous, stored_event, current)
            }
            (None, Some(stored_event)) if unchanged.contains(&id) => plan_unchanged(stored_event),
            (None, Some(stored_event)) => plan_absent(stored_event, current),
            (None, None) => EventOutcome::default(),
        };
        changed_events.extend(outcome.stored_event.map(|event: StoredEvent| (id, event)));
        if let Some(change) = outcome.change {
            let data = changed_data(stay, change, property, state, context.now());
            records.push(SyncRecord {
                kind: RecordKind::Reservation,
                id,
                data: Some(data),
                is_deleted: None,
                version: None,
            });
        }
    }
    write(context, records)?;
    feed::put_events(context, feed, changed_events)
}

/// Writes reservations of feeds. They fire the same webhook events as reservations of the platform.
fn write(context: &mut Context<'_, '_>, records: Vec<SyncRecord>) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let settings = SyncSettings {
        writer: RecordOrigin::Calendar,
        fires: true,
        is_dry_run: false,
        on_invalid: OnInvalid::Refuse,
    };
    apply_records(context, records, settings).map(drop)
}

/// Reads the reservations with these ids.
fn stays(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, FeedStay>> {
    let rows = stored::find_rows(context, RecordKind::Reservation, ids)?;
    rows.iter()
        .map(|row| {
            let Json(data) = row.get(2)?;
            let origin = RecordOrigin::from_row(row)?;
            Ok((row.get(0)?, FeedStay { data, origin }))
        })
        .collect()
}

/// Returns the data of a reservation after a change. Fields that a calendar cannot contain do not
/// change.
fn changed_data(
    stay: Option<&FeedStay>,
    change: StayChange,
    property: Uuid,
    state: &FeedState,
    now: Timestamp,
) -> Object {
    let before = stay.map(|stay| stay.data.clone());
    let (dates, status, guest) = match change {
        StayChange::Cancel => (None, ReservationStatus::Cancelled, None),
        StayChange::Put {
            check_in,
            check_out,
            status,
            guest,
        } => (Some((check_in, check_out)), status, guest),
    };
    let mut data = before.unwrap_or_else(|| new_reservation(property, &state.channel, guest, now));
    if let Some((check_in, check_out)) = dates {
        data.insert("checkIn".into(), json!(check_in.to_string()));
        data.insert("checkOut".into(), json!(check_out.to_string()));
    }
    data.insert("status".into(), json!(status.as_ref()));
    data
}

/// Returns the data of a new reservation, without its dates and its status.
fn new_reservation(property: Uuid, channel: &str, guest: Option<String>, now: Timestamp) -> Object {
    let (first, last) = match guest.as_deref().map(|name| name.split_once(' ')) {
        Some(Some((first, last))) => (Some(first), Some(last)),
        Some(None) => (guest.as_deref(), None),
        None => (None, None),
    };
    let channel: String = channel.chars().take(MAX_CHANNEL_CHARS).collect();
    let data = json!({
        "propertyId": property,
        "channel": channel,
        "bookedAt": Moment(now),
        "guest": {
            "firstName": first,
            "lastName": last,
            "email": null,
            "phone": null,
            "language": null,
        },
    });
    match data {
        Value::Object(data) => data,
        _ => Object::new(),
    }
}

/// Deletes feeds. Their reservations get the origin `manual`, so that people can edit them. If
/// `cancels` is true, first cancels the stays that have not begun.
pub(super) fn delete_feeds(
    context: &mut Context<'_, '_>,
    feeds: &[Uuid],
    cancels: bool,
) -> Result<()> {
    let stored_events = feed::stored_events(context, feeds)?;
    let ids: Vec<Uuid> = stored_events.into_keys().collect();
    if cancels {
        cancel_upcoming(context, ids.clone())?;
    }
    stored::make_manual(context, ids)?;
    feed::delete(context, feeds)
}

fn cancel_upcoming(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<()> {
    let mut clocks = HashMap::new();
    let mut records = Vec::new();
    for (id, stay) in stays(context, ids)? {
        let property = stay.data.get("propertyId").and_then(Value::as_str);
        let property: Uuid = property.and_then(|id| id.parse().ok()).unwrap_or_default();
        let clock = match clocks.entry(property) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Clock::of(context, property)?),
        };
        let current = stay.current(clock);
        if current.is_cancelled || current.has_begun || current.is_of_platform {
            continue;
        }
        let mut data = stay.data;
        data.insert(
            "status".into(),
            json!(ReservationStatus::Cancelled.as_ref()),
        );
        records.push(SyncRecord {
            kind: RecordKind::Reservation,
            id,
            data: Some(data),
            is_deleted: None,
            version: None,
        });
    }
    write(context, records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_reservation_depends_on_organization_feed_and_uid() {
        let [one, other] = [1, 2].map(Uuid::from_u128);
        let id = reservation_id(one, other, "a");
        assert_eq!(id, reservation_id(one, other, "a"));
        for different in [
            reservation_id(other, other, "a"),
            reservation_id(one, one, "a"),
            reservation_id(one, other, "b"),
        ] {
            assert_ne!(id, different);
        }
    }

    #[test]
    fn a_guest_gets_the_name_of_the_event() {
        let now = "2026-11-21T09:30:00Z".parse().unwrap();
        let name = |guest: Option<&str>| {
            let data = new_reservation(Uuid::nil(), "airbnb", guest.map(str::to_owned), now);
            (
                data["guest"]["firstName"].clone(),
                data["guest"]["lastName"].clone(),
            )
        };
        assert_eq!(
            name(Some("Ada Maria Lovelace")),
            (json!("Ada"), json!("Maria Lovelace"))
        );
        assert_eq!(name(Some("Ada")), (json!("Ada"), Value::Null));
        assert_eq!(name(None), (Value::Null, Value::Null));
    }
}
