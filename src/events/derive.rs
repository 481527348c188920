//! From a change of a record to what it leads to, events and timers: pure, one function a kind.

use engine::error::{Error, Result};
use engine::operation::Object;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Event;
use crate::records::{Device, Kind, Property, Reservation, ReservationStatus, Task, TaskStatus};

/// A record before and after, and the property it is of.
pub struct Change<'c> {
    /// As it was; `None` for one seen for the first time.
    pub before: Option<&'c Object>,
    /// As it is.
    pub after: &'c Object,
    /// The property it names now.
    pub property: Option<&'c Property>,
}

/// What a change leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derived {
    /// Events that fire now, in order.
    pub fires: Vec<Event>,
    /// What becomes of the record's timer.
    pub timer: Timer,
}

/// What becomes of a record's timer, of which there is one at the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Timer {
    /// It runs on, if it does.
    #[default]
    Keep,
    /// It begins anew.
    Arm,
    /// It ends.
    Disarm,
}

impl Derived {
    fn firing(fires: Vec<Event>) -> Self {
        Self { fires, timer: Timer::Keep }
    }

    /// The same of a change that is history: it fires nothing and starts no timer. It ends one, though, because what the
    /// timer waited for is over.
    #[must_use]
    pub fn of_history(self) -> Self {
        let timer = if self.timer == Timer::Arm { Timer::Keep } else { self.timer };
        Self { fires: Vec::new(), timer }
    }
}

/// Whether records of a kind have timers.
#[must_use]
pub const fn has_timers(kind: Kind) -> bool {
    matches!(kind, Kind::Device)
}

/// What a change leads to.
pub fn derive(kind: Kind, change: &Change<'_>, now: Timestamp) -> Result<Derived> {
    let is_new = change.before.is_none();
    Ok(match kind {
        Kind::Reservation => {
            let is_over = |reservation: &Reservation| check_out(reservation.check_out, change.property).is_none_or(|moment| moment < now);
            Derived::firing(reservation(read(change.before)?.as_ref(), &read_one(change.after)?, is_over))
        }
        Kind::Task => Derived::firing(task(read(change.before)?.as_ref(), &read_one(change.after)?)),
        Kind::Device => device(read(change.before)?.as_ref(), &read_one(change.after)?),
        Kind::Review if is_new => Derived::firing(vec![Event::ReviewSubmitted]),
        Kind::WorkflowStepRun if is_new => Derived::firing(vec![Event::WorkflowStep]),
        _ => Derived::default(),
    })
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

/// How a device stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Online,
    Offline,
    /// Put away: whether it is online says nothing any more.
    Archived,
}

fn presence(device: &Device) -> Presence {
    match (device.is_archived.unwrap_or(false), device.is_online) {
        (true, _) => Presence::Archived,
        (false, true) => Presence::Online,
        (false, false) => Presence::Offline,
    }
}

/// Whether a device whose timer has run out is what the timer waited for.
#[must_use]
pub fn is_back(device: &Device) -> bool {
    presence(device) == Presence::Online
}

fn device(before: Option<&Device>, after: &Device) -> Derived {
    use Presence::{Archived, Offline, Online};
    // Nothing is known of what was before the first sight, so nothing has changed by it.
    let Some(before) = before else { return Derived::default() };
    match (presence(before), presence(after)) {
        (Online, Offline) => Derived { fires: vec![Event::DeviceOffline], timer: Timer::Disarm },
        (Offline, Online) if after.reconnects_at_once.unwrap_or(false) => Derived::firing(vec![Event::DeviceReconnected]),
        (Offline, Online) => Derived { fires: Vec::new(), timer: Timer::Arm },
        (Online | Offline, Archived) => Derived { fires: Vec::new(), timer: Timer::Disarm },
        // What comes back from the archive begins anew, as if seen for the first time.
        (Archived, _) | (Online, Online) | (Offline, Offline) => Derived::default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;
    use strum::VariantArray;

    use super::Presence::{Archived, Offline, Online};
    use super::*;

    const FLAT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";
    const ELSEWHERE: &str = "0192f0c1-2345-7abc-8def-0123456789ff";
    const NOW: &str = "2026-11-10T12:00:00Z";
    /// Minutes a device has to stay, in the lives below.
    const DELAY: i64 = 10;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn flat() -> Property {
        serde_json::from_value(json!({
            "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "checkInTime": "15:00", "checkOutTime": "11:00",
        }))
        .unwrap()
    }

    fn stay(status: &str, property: Option<&str>, check_out: &str) -> Object {
        object(json!({
            "propertyId": property, "status": status, "channel": "direct", "bookedAt": "2026-11-01T10:00:00Z",
            "checkIn": "2026-11-18", "checkOut": check_out, "guest": {},
        }))
    }

    fn stays() -> impl Strategy<Value = Object> {
        let (statuses, properties) = (vec!["confirmed", "tentative", "cancelled"], vec![None, Some(FLAT), Some(ELSEWHERE)]);
        (select(statuses), select(properties), 1..=30)
            .prop_map(|(status, property, day)| stay(status, property, &format!("2026-11-{day:02}")))
    }

    fn job(status: &str, assignee: Option<&str>) -> Object {
        object(json!({ "propertyId": FLAT, "title": "T", "status": status, "assigneeId": assignee }))
    }

    fn lock(presence: Presence) -> Object {
        object(json!({
            "propertyId": FLAT, "name": "D", "deviceType": "lock", "vendor": "V",
            "isOnline": presence != Offline, "isArchived": presence == Archived,
        }))
    }

    fn derived(kind: Kind, before: Option<&Object>, after: &Object, now: &str) -> Derived {
        let (flat, is_linked) = (flat(), after.get("propertyId").is_some_and(Value::is_string));
        let change = Change { before, after, property: is_linked.then_some(&flat) };
        derive(kind, &change, now.parse().unwrap()).unwrap()
    }

    /// The events of a change of a record that has no timer.
    fn fired(kind: Kind, before: Option<Object>, after: &Object, now: &str) -> Vec<&'static str> {
        let derived = derived(kind, before.as_ref(), after, now);
        assert_eq!(derived.timer, Timer::Keep);
        derived.fires.into_iter().map(<&str>::from).collect()
    }

    fn of_stay(before: Option<Object>, after: &Object, now: &str) -> Vec<&'static str> {
        fired(Kind::Reservation, before, after, now)
    }

    fn of_task(before: Option<Object>, after: &Object) -> Vec<&'static str> {
        fired(Kind::Task, before, after, NOW)
    }

    #[test]
    fn a_reservation_is_created_once_it_is_confirmed_and_has_a_property() {
        let confirmed = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(of_stay(None, &confirmed, NOW), ["reservation.created"]);
        assert_eq!(of_stay(None, &stay("tentative", Some(FLAT), "2026-11-21"), NOW), [""; 0]);
        assert_eq!(of_stay(None, &stay("confirmed", None, "2026-11-21"), NOW), [""; 0]);
        assert_eq!(of_stay(Some(stay("tentative", Some(FLAT), "2026-11-21")), &confirmed, NOW), ["reservation.created"]);
        assert_eq!(of_stay(Some(stay("cancelled", Some(FLAT), "2026-11-21")), &confirmed, NOW), ["reservation.created"]);
        assert_eq!(of_stay(Some(stay("confirmed", None, "2026-11-21")), &confirmed, NOW), ["reservation.created"]);
        assert_eq!(of_stay(Some(stay("confirmed", Some(ELSEWHERE), "2026-11-21")), &confirmed, NOW), [""; 0]);
        let removed = stay("confirmed", None, "2026-11-21");
        assert_eq!(of_stay(Some(confirmed.clone()), &removed, NOW), [""; 0]);
        assert_eq!(of_stay(Some(removed), &confirmed, NOW), ["reservation.created"], "again, once it is set again");
    }

    #[test]
    fn a_stay_is_over_at_check_out_in_the_time_zone_of_the_property() {
        let leaving = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(of_stay(None, &leaving, "2026-11-21T09:59:59Z"), ["reservation.created"]);
        assert_eq!(of_stay(None, &leaving, "2026-11-21T10:00:00Z"), ["reservation.created"]);
        assert_eq!(of_stay(None, &leaving, "2026-11-21T10:00:01Z"), [""; 0]);
        let tentative = stay("tentative", Some(FLAT), "2026-11-21");
        assert_eq!(of_stay(Some(tentative), &leaving, "2026-11-22T12:00:00Z"), [""; 0], "confirmed too late");
        let longer = stay("confirmed", Some(FLAT), "2026-11-30");
        assert_eq!(of_stay(Some(leaving), &longer, "2026-11-22T12:00:00Z"), ["reservation.dates_changed"], "no second arrival");
    }

    #[test]
    fn check_out_is_an_instant() {
        let at = |zone: &str, time: Option<&str>, date: &str| {
            let property = Property { timezone: zone.into(), check_out_time: time.map(str::to_owned), ..flat() };
            check_out(date.parse().unwrap(), Some(&property)).map(|moment| moment.to_string())
        };
        for (zone, time, date, instant) in [
            ("Europe/Madrid", Some("11:00"), "2026-11-21", "2026-11-21T10:00:00Z"),
            ("Europe/Madrid", Some("11:00"), "2026-07-21", "2026-07-21T09:00:00Z"),
            ("Pacific/Auckland", Some("11:00"), "2026-11-21", "2026-11-20T22:00:00Z"),
            ("Europe/Madrid", None, "2026-11-21", "2026-11-21T22:59:59.999999999Z"),
            // A time that the clocks pass over is as much later as they are put forward.
            ("Europe/Madrid", Some("02:30"), "2026-03-29", "2026-03-29T01:30:00Z"),
        ] {
            assert_eq!(at(zone, time, date).as_deref(), Some(instant), "{zone} {time:?} {date}");
        }
        assert_eq!(at("Europe/Nowhere", None, "2026-11-21"), None);
        assert_eq!(check_out("2026-11-21".parse().unwrap(), None), None);
    }

    #[test]
    fn cancelling_and_moving() {
        let confirmed = || stay("confirmed", Some(FLAT), "2026-11-21");
        let cancelled = || stay("cancelled", Some(FLAT), "2026-11-21");
        assert_eq!(of_stay(Some(confirmed()), &cancelled(), NOW), ["reservation.cancelled"]);
        assert_eq!(of_stay(Some(stay("tentative", None, "2026-11-21")), &cancelled(), NOW), ["reservation.cancelled"]);
        assert_eq!(of_stay(Some(cancelled()), &cancelled(), NOW), [""; 0]);
        assert_eq!(of_stay(None, &cancelled(), NOW), [""; 0]);
        assert_eq!(of_stay(Some(confirmed()), &stay("confirmed", Some(FLAT), "2026-11-22"), NOW), ["reservation.dates_changed"]);
        let tentative = || stay("tentative", Some(FLAT), "2026-11-20");
        assert_eq!(of_stay(Some(tentative()), &stay("tentative", Some(FLAT), "2026-11-22"), NOW), [""; 0]);
        assert_eq!(of_stay(Some(tentative()), &confirmed(), NOW), ["reservation.created"], "with other dates than before");
        assert_eq!(of_stay(Some(confirmed()), &stay("cancelled", Some(FLAT), "2026-11-22"), NOW), ["reservation.cancelled"]);
    }

    #[test]
    fn a_task_tells_of_its_assignee_and_its_progress() {
        assert_eq!(of_task(None, &job("in_progress", None)), ["task.created"]);
        assert_eq!(of_task(None, &job("open", Some(FLAT))), ["task.created", "task.assigned"]);
        assert_eq!(of_task(Some(job("open", None)), &job("open", Some(FLAT))), ["task.assigned"]);
        assert_eq!(of_task(Some(job("open", Some(ELSEWHERE))), &job("open", Some(FLAT))), ["task.assigned"]);
        assert_eq!(of_task(Some(job("open", Some(FLAT))), &job("open", Some(FLAT))), [""; 0]);
        assert_eq!(of_task(Some(job("open", Some(FLAT))), &job("open", None)), [""; 0]);
        assert_eq!(of_task(Some(job("open", None)), &job("in_progress", Some(FLAT))), ["task.assigned", "task.started"]);
    }

    #[test]
    fn a_status_is_told_each_time_it_is_entered() {
        let entered = |status: &str| match status {
            "in_progress" => vec!["task.started"],
            "completed" => vec!["task.completed"],
            "cancelled" => vec!["task.cancelled"],
            _ => Vec::new(),
        };
        let statuses = ["open", "in_progress", "completed", "cancelled"];
        for before in statuses {
            for after in statuses {
                let wanted = if before == after { Vec::new() } else { entered(after) };
                assert_eq!(of_task(Some(job(before, None)), &job(after, None)), wanted, "{before} {after}");
            }
        }
    }

    #[test]
    fn a_device_is_not_known_to_have_gone_before_it_was_seen() {
        for presence in [Online, Offline, Archived] {
            assert_eq!(derived(Kind::Device, None, &lock(presence), NOW), Derived::default(), "{presence:?}");
        }
    }

    #[test]
    fn what_a_device_was_and_is_decides() {
        let (keep, nothing) = (Timer::Keep, Vec::new);
        for (before, after, fires, timer) in [
            (Online, Online, nothing(), keep),
            (Online, Offline, vec![Event::DeviceOffline], Timer::Disarm),
            (Online, Archived, nothing(), Timer::Disarm),
            (Offline, Online, nothing(), Timer::Arm),
            (Offline, Offline, nothing(), keep),
            (Offline, Archived, nothing(), Timer::Disarm),
            (Archived, Online, nothing(), keep),
            (Archived, Offline, nothing(), keep),
            (Archived, Archived, nothing(), keep),
        ] {
            let found = derived(Kind::Device, Some(&lock(before)), &lock(after), NOW);
            assert_eq!(found, Derived { fires, timer }, "{before:?} {after:?}");
            let history = found.clone().of_history();
            assert_eq!(history.fires, nothing());
            assert_eq!(history.timer == Timer::Disarm, timer == Timer::Disarm);
            assert_ne!(history.timer, Timer::Arm);
        }
    }

    #[test]
    fn a_vendor_may_have_its_reconnects_told_at_once() {
        let mut after = lock(Online);
        after.insert("reconnectsAtOnce".into(), true.into());
        let found = derived(Kind::Device, Some(&lock(Offline)), &after, NOW);
        assert_eq!(found, Derived::firing(vec![Event::DeviceReconnected]));
        for before in [Online, Archived] {
            assert_eq!(derived(Kind::Device, Some(&lock(before)), &after, NOW), Derived::default());
        }
        after.insert("isArchived".into(), true.into());
        assert!(derived(Kind::Device, Some(&lock(Offline)), &after, NOW).fires.is_empty());
    }

    #[test]
    fn only_a_device_that_is_there_is_back() {
        let is_back = |presence| is_back(&serde_json::from_value(Value::Object(lock(presence))).unwrap());
        assert!(is_back(Online) && !is_back(Offline) && !is_back(Archived));
    }

    #[test]
    fn a_review_and_a_run_are_told_once() {
        for (kind, event) in [(Kind::Review, "review.submitted"), (Kind::WorkflowStepRun, "workflow.step")] {
            let (first, edited) = (object(json!({ "publicText": "Nice" })), object(json!({ "publicText": "Very nice" })));
            assert_eq!(fired(kind, None, &first, NOW), [event]);
            assert_eq!(fired(kind, Some(first), &edited, NOW), [""; 0]);
        }
    }

    #[test]
    fn other_kinds_have_no_events() {
        use Kind::{Device, Reservation, Review, Task, WorkflowStepRun};
        let (first, edited) = (object(json!({ "name": "a" })), object(json!({ "name": "b" })));
        for kind in Kind::VARIANTS.iter().copied().filter(|kind| !matches!(kind, Device | Reservation | Review | Task | WorkflowStepRun)) {
            assert_eq!(fired(kind, None, &first, NOW), [""; 0], "{}", kind.as_ref());
            assert_eq!(fired(kind, Some(first.clone()), &edited, NOW), [""; 0], "{}", kind.as_ref());
        }
    }

    proptest! {
        /// "A new confirmed reservation with a current or upcoming stay arrives or is linked to a property; also when an existing
        /// reservation becomes confirmed later", and no row of the table beside it.
        #[test]
        fn a_reservation_fires_what_the_table_says(before in of(stays()), after in stays(), day in 1..=30) {
            let now = format!("2026-11-{day:02}T12:00:00Z");
            let fired = of_stay(before.clone(), &after, &now);
            let is_confirmed = |stay: &Object| stay["status"] == "confirmed";
            // Check-out is two hours before the noon that it is.
            let is_current_or_upcoming = after["checkOut"].as_str() > Some(&now[..10]);
            let arrives = before.is_none();
            let is_linked = before.as_ref().is_some_and(|before| before["propertyId"].is_null());
            let becomes_confirmed = before.as_ref().is_some_and(|before| !is_confirmed(before));
            let is_created = is_confirmed(&after) && !after["propertyId"].is_null() && is_current_or_upcoming
                && (arrives || is_linked || becomes_confirmed);
            let is_cancelled = after["status"] == "cancelled" && before.as_ref().is_some_and(|before| before["status"] != "cancelled");
            let is_moved = is_confirmed(&after)
                && before.as_ref().is_some_and(|before| is_confirmed(before) && before["checkOut"] != after["checkOut"]);
            let wanted = [("reservation.created", is_created), ("reservation.cancelled", is_cancelled), ("reservation.dates_changed", is_moved)];
            prop_assert_eq!(fired, wanted.into_iter().filter(|(_, fires)| *fires).map(|(name, _)| name).collect::<Vec<_>>());
        }

        /// "A device goes offline", and "a device that went offline has been back online for about 10 minutes", over whole lives:
        /// each time it goes is told at once, and each time it comes back to stay, when it has stayed.
        #[test]
        fn a_device_is_told_of_as_it_goes_and_stays(life in vec((select(vec![Online, Offline, Archived]), 1_i64..15), 1..15)) {
            let (mut told, mut since, mut minute, mut before) = (Vec::new(), None, 0_i64, None);
            for (presence, minutes) in &life {
                let after = lock(*presence);
                let found = derived(Kind::Device, before.as_ref(), &after, NOW);
                told.extend(found.fires.iter().map(|event| (minute, <&str>::from(event))));
                match found.timer {
                    Timer::Keep => {}
                    Timer::Arm => since = Some(minute),
                    Timer::Disarm => since = None,
                }
                minute += *minutes;
                if let Some(due) = since.map(|since| since + DELAY).filter(|due| *due <= minute) {
                    told.push((due, "device.reconnected"));
                    since = None;
                }
                before = Some(after);
            }
            let (mut wanted, mut minute) = (Vec::new(), 0_i64);
            for (index, (presence, minutes)) in life.iter().enumerate() {
                let before = index.checked_sub(1).map(|index| life[index].0);
                let stays: i64 = life[index..].iter().take_while(|(next, _)| next == presence).map(|(_, minutes)| minutes).sum();
                match (before, presence) {
                    (Some(Online), Offline) => wanted.push((minute, "device.offline")),
                    (Some(Offline), Online) if stays >= DELAY => wanted.push((minute + DELAY, "device.reconnected")),
                    _ => {}
                }
                minute += *minutes;
            }
            prop_assert_eq!(told, wanted);
        }
    }
}
