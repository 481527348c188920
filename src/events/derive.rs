//! From a change of a record to its events: pure, one function a kind.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Event;
use crate::error::{Error, Result};
use crate::operation::Object;
use crate::platform::{Kind, Property, Reservation, ReservationStatus, Task, TaskStatus};

/// A record before and after, and the property it is of.
pub struct Change<'c> {
    /// As it was; `None` for one seen for the first time.
    pub before: Option<&'c Object>,
    /// As it is.
    pub after: &'c Object,
    /// The property it names now.
    pub property: Option<&'c Property>,
}

/// The events a change fires, in order.
pub fn derive(kind: Kind, change: &Change<'_>, now: Timestamp) -> Result<Vec<Event>> {
    match kind {
        Kind::Reservation => {
            let is_over = |reservation: &Reservation| check_out(reservation.check_out, change.property).is_none_or(|moment| moment < now);
            Ok(reservation(read(change.before)?.as_ref(), &read_one(change.after)?, is_over))
        }
        Kind::Task => Ok(task(read(change.before)?.as_ref(), &read_one(change.after)?)),
        Kind::Review if change.before.is_none() => Ok(vec![Event::ReviewSubmitted]),
        _ => Ok(Vec::new()),
    }
}

fn read<T: DeserializeOwned>(data: Option<&Object>) -> Result<Option<T>> {
    data.map(read_one).transpose()
}

fn read_one<T: DeserializeOwned>(data: &Object) -> Result<T> {
    serde_json::from_value(Value::Object(data.clone())).map_err(Error::internal)
}

/// Check-out as an instant: the date at the property's check-out time, in its time zone. The end of the day where the
/// property names no time. `None` without a property.
#[must_use]
pub fn check_out(date: Date, property: Option<&Property>) -> Option<Timestamp> {
    let property = property?;
    let zone = TimeZone::get(&property.timezone).ok()?;
    let time = property.check_out_time.as_deref().and_then(|text| text.parse::<Time>().ok());
    let local = date.to_datetime(time.unwrap_or(Time::MAX));
    Some(local.to_zoned(zone).ok()?.timestamp())
}

fn reservation(before: Option<&Reservation>, after: &Reservation, is_over: impl Fn(&Reservation) -> bool) -> Vec<Event> {
    use ReservationStatus::{Cancelled, Confirmed};
    let is_settled = |reservation: &Reservation| reservation.status == Confirmed && reservation.property_id.is_some();
    let mut events = Vec::new();
    if is_settled(after) && !before.is_some_and(is_settled) && !is_over(after) {
        events.push(Event::ReservationCreated);
    }
    let Some(before) = before else { return events };
    if after.status == Cancelled && before.status != Cancelled {
        events.push(Event::ReservationCancelled);
    }
    let is_moved = (before.check_in, before.check_out) != (after.check_in, after.check_out);
    if is_moved && after.status == Confirmed && before.status == Confirmed {
        events.push(Event::ReservationDatesChanged);
    }
    events
}

fn task(before: Option<&Task>, after: &Task) -> Vec<Event> {
    let mut events = Vec::new();
    if before.is_none() {
        events.push(Event::TaskCreated);
    }
    let assignee = before.and_then(|before| before.assignee_id);
    if after.assignee_id.is_some() && after.assignee_id != assignee {
        events.push(Event::TaskAssigned);
    }
    if let Some(before) = before
        && before.status != after.status
    {
        match after.status {
            TaskStatus::Open => {}
            TaskStatus::InProgress => events.push(Event::TaskStarted),
            TaskStatus::Completed => events.push(Event::TaskCompleted),
            TaskStatus::Cancelled => events.push(Event::TaskCancelled),
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn flat() -> Property {
        serde_json::from_value(json!({
            "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "checkInTime": "15:00", "checkOutTime": "11:00",
        }))
        .unwrap()
    }

    const FLAT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

    fn stay(status: &str, property: Option<&str>, check_out: &str) -> Object {
        object(json!({
            "propertyId": property, "status": status, "channel": "direct", "bookedAt": "2026-11-01T10:00:00Z",
            "checkIn": "2026-11-18", "checkOut": check_out, "guest": {},
        }))
    }

    fn fired(before: Option<Object>, after: &Object, now: &str) -> Vec<&'static str> {
        let (flat, is_linked) = (flat(), !after["propertyId"].is_null());
        let change = Change { before: before.as_ref(), after, property: is_linked.then_some(&flat) };
        derive(Kind::Reservation, &change, now.parse().unwrap()).unwrap().into_iter().map(Event::name).collect()
    }

    #[test]
    fn a_reservation_is_created_once_it_is_confirmed_and_has_a_property() {
        let now = "2026-11-10T12:00:00Z";
        let confirmed = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(fired(None, &confirmed, now), ["reservation.created"]);
        assert_eq!(fired(None, &stay("tentative", Some(FLAT), "2026-11-21"), now), [""; 0]);
        assert_eq!(fired(None, &stay("confirmed", None, "2026-11-21"), now), [""; 0]);
        assert_eq!(fired(Some(stay("tentative", Some(FLAT), "2026-11-21")), &confirmed, now), ["reservation.created"]);
        assert_eq!(fired(Some(stay("cancelled", Some(FLAT), "2026-11-21")), &confirmed, now), ["reservation.created"]);
        assert_eq!(fired(Some(stay("confirmed", None, "2026-11-21")), &confirmed, now), ["reservation.created"]);
        let elsewhere = stay("confirmed", Some("0192f0c1-2345-7abc-8def-0123456789ff"), "2026-11-21");
        assert_eq!(fired(Some(elsewhere), &confirmed, now), [""; 0]);
    }

    #[test]
    fn a_stay_is_over_at_check_out_in_the_time_zone_of_the_property() {
        let leaving = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(fired(None, &leaving, "2026-11-21T09:59:59Z"), ["reservation.created"]);
        assert_eq!(fired(None, &leaving, "2026-11-21T10:00:01Z"), [""; 0]);
    }

    #[test]
    fn cancelling_and_moving() {
        let now = "2026-11-10T12:00:00Z";
        let confirmed = || stay("confirmed", Some(FLAT), "2026-11-21");
        let cancelled = || stay("cancelled", Some(FLAT), "2026-11-21");
        assert_eq!(fired(Some(confirmed()), &cancelled(), now), ["reservation.cancelled"]);
        assert_eq!(fired(Some(cancelled()), &cancelled(), now), [""; 0]);
        assert_eq!(fired(None, &cancelled(), now), [""; 0]);
        assert_eq!(fired(Some(confirmed()), &stay("confirmed", Some(FLAT), "2026-11-22"), now), ["reservation.dates_changed"]);
        let tentative = stay("tentative", Some(FLAT), "2026-11-20");
        assert_eq!(fired(Some(tentative), &stay("tentative", Some(FLAT), "2026-11-22"), now), [""; 0]);
    }

    #[test]
    fn a_task_tells_of_its_assignee_and_its_progress() {
        let task = |status: &str, assignee: Option<&str>| {
            object(json!({ "propertyId": FLAT, "title": "T", "status": status, "assigneeId": assignee }))
        };
        let fired = |before: Option<Object>, after: Object| {
            let change = Change { before: before.as_ref(), after: &after, property: None };
            let now = "2026-11-10T12:00:00Z".parse().unwrap();
            derive(Kind::Task, &change, now).unwrap().into_iter().map(Event::name).collect::<Vec<_>>()
        };
        assert_eq!(fired(None, task("in_progress", None)), ["task.created"]);
        assert_eq!(fired(None, task("open", Some(FLAT))), ["task.created", "task.assigned"]);
        assert_eq!(fired(Some(task("open", Some(FLAT))), task("open", None)), [""; 0]);
        assert_eq!(fired(Some(task("open", None)), task("in_progress", Some(FLAT))), ["task.assigned", "task.started"]);
        assert_eq!(fired(Some(task("in_progress", None)), task("completed", None)), ["task.completed"]);
        assert_eq!(fired(Some(task("completed", None)), task("cancelled", None)), ["task.cancelled"]);
    }
}
