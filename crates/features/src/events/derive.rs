//! The rules that decide which events a change of a record fires, and whether the change starts or
//! ends a timer. Each kind of record has a pure function.

use engine::error::{Error, Result};
use engine::operation::Object;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Event;
use crate::records::{
    Device, Property, RecordKind, Reservation, ReservationStatus, TaskRecord, TaskStatus,
};

/// A record before and after a change, and the property of the record.
pub struct RecordChange<'c> {
    /// The record before the change. `None` for a new record.
    pub before: Option<&'c Object>,
    /// The record after the change.
    pub after: &'c Object,
    /// The property of the record after the change.
    pub property: Option<&'c Property>,
}

/// The events that a change of a record fires, and the effect of the change on the record's timer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DerivedEvents {
    /// Events that fire immediately, without a delay by the timer, in the order in which they fire.
    pub events: Vec<Event>,
    /// The effect of the change on the record's timer.
    pub timer: TimerEffect,
}

/// The effect of a change on the timer of the changed record. A record has at most one timer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimerEffect {
    /// The timer does not change.
    #[default]
    Keep,
    /// The timer starts, or starts again.
    Arm,
    /// The timer ends without firing.
    Disarm,
}

impl DerivedEvents {
    fn firing(fires: Vec<Event>) -> Self {
        Self {
            events: fires,
            timer: TimerEffect::Keep,
        }
    }

    /// Removes the events from the result, for a change that the platform sends as history. Such a
    /// change starts no timer either. It still ends the timer of a device that is no longer online.
    #[must_use]
    pub fn without_events(self) -> Self {
        let timer = if self.timer == TimerEffect::Arm {
            TimerEffect::Keep
        } else {
            self.timer
        };
        Self {
            events: Vec::new(),
            timer,
        }
    }
}

/// The rule that derives events from changes of the records of one kind.
enum EventRule {
    Reservation,
    Task,
    /// The rule for devices. Some events of a device fire only after its timer has run.
    Device,
    /// A new record fires an event. Later changes fire nothing.
    New(Event),
    /// Records of the kind fire no events.
    Nothing,
}

impl EventRule {
    const fn of(kind: RecordKind) -> Self {
        match kind {
            RecordKind::Reservation => Self::Reservation,
            RecordKind::Task => Self::Task,
            RecordKind::Device => Self::Device,
            RecordKind::Review => Self::New(Event::ReviewSubmitted),
            RecordKind::WorkflowStepRun => Self::New(Event::WorkflowStep),
            RecordKind::Property
            | RecordKind::PropertyGroup
            | RecordKind::Tag
            | RecordKind::Workflow
            | RecordKind::PaymentAccount
            | RecordKind::BackgroundCheckAccount
            | RecordKind::FeeProduct
            | RecordKind::DamageWaiver
            | RecordKind::CustomField
            | RecordKind::CustomUrl
            | RecordKind::Image
            | RecordKind::Upsell
            | RecordKind::LockCode
            | RecordKind::TaskTemplate
            | RecordKind::Department
            | RecordKind::Shift
            | RecordKind::ClockedShift
            | RecordKind::Instruction => Self::Nothing,
        }
    }
}

/// Returns whether records of a kind have timers.
#[must_use]
pub const fn has_timers(kind: RecordKind) -> bool {
    match EventRule::of(kind) {
        EventRule::Device => true,
        EventRule::Reservation | EventRule::Task | EventRule::New(_) | EventRule::Nothing => false,
    }
}

/// Returns the events that a change of a record fires, and the effect of the change on the record's
/// timer.
pub fn derive_events(
    kind: RecordKind,
    change: &RecordChange<'_>,
    now: Timestamp,
) -> Result<DerivedEvents> {
    Ok(match EventRule::of(kind) {
        EventRule::Reservation => {
            let is_over = |reservation: &Reservation| {
                check_out(reservation, change.property).is_none_or(|check_out| check_out < now)
            };
            DerivedEvents::firing(reservation(
                read_optional(change.before)?.as_ref(),
                &read(change.after)?,
                is_over,
            ))
        }
        EventRule::Task => DerivedEvents::firing(task(
            read_optional(change.before)?.as_ref(),
            &read(change.after)?,
        )),
        EventRule::Device => device(read_optional(change.before)?.as_ref(), &read(change.after)?),
        EventRule::New(event) if change.before.is_none() => DerivedEvents::firing(vec![event]),
        EventRule::New(_) | EventRule::Nothing => DerivedEvents::default(),
    })
}

fn read_optional<T: DeserializeOwned>(data: Option<&Object>) -> Result<Option<T>> {
    data.map(read).transpose()
}

fn read<T: DeserializeOwned>(data: &Object) -> Result<T> {
    serde_json::from_value(Value::Object(data.clone())).map_err(Error::internal)
}

/// Returns the check-out of a stay as an instant in the property's time zone. The time of day is
/// the check-out time of the stay, or else of the property, or else the end of the day. Returns
/// `None` without a property.
#[must_use]
pub fn check_out(reservation: &Reservation, property: Option<&Property>) -> Option<Timestamp> {
    let zone = TimeZone::get(&property?.timezone).ok()?;
    let time = reservation.departure_time(property);
    let local = reservation.check_out.to_datetime(time.unwrap_or(Time::MAX));
    Some(local.to_zoned(zone).ok()?.timestamp())
}

fn reservation(
    before: Option<&Reservation>,
    after: &Reservation,
    is_over: impl Fn(&Reservation) -> bool,
) -> Vec<Event> {
    use ReservationStatus::{Cancelled, Confirmed};
    let is_booked = |reservation: &Reservation| {
        reservation.status == Confirmed && reservation.property_id.is_some()
    };
    let mut events = Vec::new();
    if is_booked(after) && !before.is_some_and(is_booked) && !is_over(after) {
        events.push(Event::ReservationCreated);
    }
    let Some(before) = before else { return events };
    if after.status == Cancelled && before.status != Cancelled {
        events.push(Event::ReservationCancelled);
    }
    let is_moved = (before.check_in, before.check_out) != (after.check_in, after.check_out);
    if is_moved && after.status != Cancelled {
        events.push(Event::ReservationDatesChanged);
    }
    events
}

fn task(before: Option<&TaskRecord>, after: &TaskRecord) -> Vec<Event> {
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

/// The connection state of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Online,
    Offline,
    /// The device is archived, so its online state is ignored.
    Archived,
}

fn presence(device: &Device) -> Presence {
    match (device.is_archived.unwrap_or(false), device.is_online) {
        (true, _) => Presence::Archived,
        (false, true) => Presence::Online,
        (false, false) => Presence::Offline,
    }
}

/// Returns whether a device is online when its timer expires. If it is not, `device.reconnected`
/// does not fire.
#[must_use]
pub fn is_back(device: &Device) -> bool {
    presence(device) == Presence::Online
}

fn device(before: Option<&Device>, after: &Device) -> DerivedEvents {
    use Presence::{Archived, Offline, Online};
    // The earlier state of a new device is unknown, so a new device fires nothing.
    let Some(before) = before else {
        return DerivedEvents::default();
    };
    match (presence(before), presence(after)) {
        (Online, Offline) => DerivedEvents {
            events: vec![Event::DeviceOffline],
            timer: TimerEffect::Disarm,
        },
        (Offline, Online) if after.reconnects_at_once.unwrap_or(false) => {
            DerivedEvents::firing(vec![Event::DeviceReconnected])
        }
        (Offline, Online) => DerivedEvents {
            events: Vec::new(),
            timer: TimerEffect::Arm,
        },
        (Online | Offline, Archived) => DerivedEvents {
            events: Vec::new(),
            timer: TimerEffect::Disarm,
        },
        // A device that is no longer archived fires nothing, because its earlier state is unknown,
        // as for a new device.
        (Archived, _) | (Online, Online) | (Offline, Offline) => DerivedEvents::default(),
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
    /// Delay of a timer in these tests, in minutes.
    const DELAY: i64 = 10;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn flat() -> Property {
        serde_json::from_value(json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
        }))
        .unwrap()
    }

    fn stay(status: &str, property: Option<&str>, check_out: &str) -> Object {
        object(json!({
            "propertyId": property,
            "status": status,
            "channel": "direct",
            "bookedAt": "2026-11-01T10:00:00Z",
            "checkIn": "2026-11-18",
            "checkOut": check_out,
            "guest": {},
        }))
    }

    fn stays() -> impl Strategy<Value = Object> {
        let (statuses, properties) = (
            vec!["confirmed", "tentative", "cancelled"],
            vec![None, Some(FLAT), Some(ELSEWHERE)],
        );
        (select(statuses), select(properties), 1..=30).prop_map(|(status, property, day)| {
            stay(status, property, &format!("2026-11-{day:02}"))
        })
    }

    fn job(status: &str, assignee: Option<&str>) -> Object {
        object(
            json!({ "propertyId": FLAT, "title": "T", "status": status, "assigneeId": assignee }),
        )
    }

    fn lock(presence: Presence) -> Object {
        object(json!({
            "propertyId": FLAT, "name": "D", "deviceType": "lock", "vendor": "V",
            "isOnline": presence != Offline, "isArchived": presence == Archived,
        }))
    }

    fn derive_change(
        kind: RecordKind,
        before: Option<&Object>,
        after: &Object,
        now: &str,
    ) -> DerivedEvents {
        let (flat, is_linked) = (
            flat(),
            after.get("propertyId").is_some_and(Value::is_string),
        );
        let change = RecordChange {
            before,
            after,
            property: is_linked.then_some(&flat),
        };
        derive_events(kind, &change, now.parse().unwrap()).unwrap()
    }

    /// Returns the names of the events that a change of a record fires. Panics if the change starts
    /// or ends a timer.
    fn event_names(
        kind: RecordKind,
        before: Option<Object>,
        after: &Object,
        now: &str,
    ) -> Vec<&'static str> {
        let derived = derive_change(kind, before.as_ref(), after, now);
        assert_eq!(derived.timer, TimerEffect::Keep);
        derived.events.into_iter().map(<&str>::from).collect()
    }

    fn stay_events(before: Option<Object>, after: &Object, now: &str) -> Vec<&'static str> {
        event_names(RecordKind::Reservation, before, after, now)
    }

    fn task_events(before: Option<Object>, after: &Object) -> Vec<&'static str> {
        event_names(RecordKind::Task, before, after, NOW)
    }

    #[test]
    fn reservation_created_fires_once_confirmed_with_a_property() {
        let confirmed = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(stay_events(None, &confirmed, NOW), ["reservation.created"]);
        assert_eq!(
            stay_events(None, &stay("tentative", Some(FLAT), "2026-11-21"), NOW),
            [""; 0]
        );
        assert_eq!(
            stay_events(None, &stay("confirmed", None, "2026-11-21"), NOW),
            [""; 0]
        );
        assert_eq!(
            stay_events(
                Some(stay("tentative", Some(FLAT), "2026-11-21")),
                &confirmed,
                NOW
            ),
            ["reservation.created"]
        );
        assert_eq!(
            stay_events(
                Some(stay("cancelled", Some(FLAT), "2026-11-21")),
                &confirmed,
                NOW
            ),
            ["reservation.created"]
        );
        assert_eq!(
            stay_events(Some(stay("confirmed", None, "2026-11-21")), &confirmed, NOW),
            ["reservation.created"]
        );
        assert_eq!(
            stay_events(
                Some(stay("confirmed", Some(ELSEWHERE), "2026-11-21")),
                &confirmed,
                NOW
            ),
            [""; 0]
        );
        let removed = stay("confirmed", None, "2026-11-21");
        assert_eq!(stay_events(Some(confirmed.clone()), &removed, NOW), [""; 0]);
        assert_eq!(
            stay_events(Some(removed), &confirmed, NOW),
            ["reservation.created"],
            "again, once it is set again"
        );
    }

    #[test]
    fn a_stay_ends_at_check_out_in_the_property_time_zone() {
        let last_day = stay("confirmed", Some(FLAT), "2026-11-21");
        assert_eq!(
            stay_events(None, &last_day, "2026-11-21T09:59:59Z"),
            ["reservation.created"]
        );
        assert_eq!(
            stay_events(None, &last_day, "2026-11-21T10:00:00Z"),
            ["reservation.created"]
        );
        assert_eq!(
            stay_events(None, &last_day, "2026-11-21T10:00:01Z"),
            [""; 0]
        );
        let tentative = stay("tentative", Some(FLAT), "2026-11-21");
        assert_eq!(
            stay_events(Some(tentative), &last_day, "2026-11-22T12:00:00Z"),
            [""; 0],
            "confirmed too late"
        );
        let longer = stay("confirmed", Some(FLAT), "2026-11-30");
        assert_eq!(
            stay_events(Some(last_day), &longer, "2026-11-22T12:00:00Z"),
            ["reservation.dates_changed"],
            "no second arrival"
        );
    }

    #[test]
    fn check_out_is_resolved_in_the_property_time_zone() {
        let check_out_times = |zone: &str, time: Option<&str>, date: &str| {
            let property = Property {
                timezone: zone.into(),
                check_out_time: time.map(str::to_owned),
                ..flat()
            };
            let mut reservation = stay("confirmed", Some(FLAT), date);
            let of = |stay: &Object| {
                let stay: Reservation = read(stay).unwrap();
                check_out(&stay, Some(&property)).map(|timestamp| timestamp.to_string())
            };
            let own = (time == Some("11:00")).then(|| {
                reservation.insert("checkOutTime".into(), json!("12:00"));
                of(&reservation)
            });
            reservation.remove("checkOutTime");
            (of(&reservation), own.flatten())
        };
        for (zone, time, date, instant) in [
            (
                "Europe/Madrid",
                Some("11:00"),
                "2026-11-21",
                "2026-11-21T10:00:00Z",
            ),
            (
                "Europe/Madrid",
                Some("11:00"),
                "2026-07-21",
                "2026-07-21T09:00:00Z",
            ),
            (
                "Pacific/Auckland",
                Some("11:00"),
                "2026-11-21",
                "2026-11-20T22:00:00Z",
            ),
            (
                "Europe/Madrid",
                None,
                "2026-11-21",
                "2026-11-21T22:59:59.999999999Z",
            ),
            // A time skipped by daylight saving is moved forward by the length of the gap.
            (
                "Europe/Madrid",
                Some("02:30"),
                "2026-03-29",
                "2026-03-29T01:30:00Z",
            ),
        ] {
            assert_eq!(
                check_out_times(zone, time, date).0.as_deref(),
                Some(instant),
                "{zone} {time:?} {date}"
            );
        }
        assert_eq!(
            check_out_times("Europe/Madrid", Some("11:00"), "2026-11-21")
                .1
                .as_deref(),
            Some("2026-11-21T11:00:00Z"),
            "the stay's own time"
        );
        assert_eq!(
            check_out_times("Europe/Nowhere", None, "2026-11-21").0,
            None
        );
        let stay: Reservation = read(&stay("confirmed", Some(FLAT), "2026-11-21")).unwrap();
        assert_eq!(check_out(&stay, None), None);
    }

    #[test]
    fn cancelled_and_moved_reservations_fire_their_events() {
        let confirmed = || stay("confirmed", Some(FLAT), "2026-11-21");
        let cancelled = || stay("cancelled", Some(FLAT), "2026-11-21");
        assert_eq!(
            stay_events(Some(confirmed()), &cancelled(), NOW),
            ["reservation.cancelled"]
        );
        assert_eq!(
            stay_events(
                Some(stay("tentative", None, "2026-11-21")),
                &cancelled(),
                NOW
            ),
            ["reservation.cancelled"]
        );
        assert_eq!(stay_events(Some(cancelled()), &cancelled(), NOW), [""; 0]);
        assert_eq!(stay_events(None, &cancelled(), NOW), [""; 0]);
        assert_eq!(
            stay_events(
                Some(confirmed()),
                &stay("confirmed", Some(FLAT), "2026-11-22"),
                NOW
            ),
            ["reservation.dates_changed"]
        );
        let tentative = || stay("tentative", Some(FLAT), "2026-11-20");
        assert_eq!(
            stay_events(
                Some(tentative()),
                &stay("tentative", Some(FLAT), "2026-11-22"),
                NOW
            ),
            ["reservation.dates_changed"]
        );
        assert_eq!(
            stay_events(Some(tentative()), &confirmed(), NOW),
            ["reservation.created", "reservation.dates_changed"],
            "with other dates than before"
        );
        assert_eq!(
            stay_events(
                Some(cancelled()),
                &stay("tentative", Some(FLAT), "2026-11-22"),
                NOW
            ),
            ["reservation.dates_changed"]
        );
        assert_eq!(
            stay_events(
                Some(confirmed()),
                &stay("cancelled", Some(FLAT), "2026-11-22"),
                NOW
            ),
            ["reservation.cancelled"]
        );
    }

    #[test]
    fn a_task_fires_events_for_assignment_and_progress() {
        assert_eq!(
            task_events(None, &job("in_progress", None)),
            ["task.created"]
        );
        assert_eq!(
            task_events(None, &job("open", Some(FLAT))),
            ["task.created", "task.assigned"]
        );
        assert_eq!(
            task_events(Some(job("open", None)), &job("open", Some(FLAT))),
            ["task.assigned"]
        );
        assert_eq!(
            task_events(Some(job("open", Some(ELSEWHERE))), &job("open", Some(FLAT))),
            ["task.assigned"]
        );
        assert_eq!(
            task_events(Some(job("open", Some(FLAT))), &job("open", Some(FLAT))),
            [""; 0]
        );
        assert_eq!(
            task_events(Some(job("open", Some(FLAT))), &job("open", None)),
            [""; 0]
        );
        assert_eq!(
            task_events(Some(job("open", None)), &job("in_progress", Some(FLAT))),
            ["task.assigned", "task.started"]
        );
    }

    #[test]
    fn a_task_event_fires_each_time_its_status_is_entered() {
        let event_of_status = |status: &str| match status {
            "in_progress" => vec!["task.started"],
            "completed" => vec!["task.completed"],
            "cancelled" => vec!["task.cancelled"],
            _ => Vec::new(),
        };
        let statuses = ["open", "in_progress", "completed", "cancelled"];
        for before in statuses {
            for after in statuses {
                let expected = if before == after {
                    Vec::new()
                } else {
                    event_of_status(after)
                };
                assert_eq!(
                    task_events(Some(job(before, None)), &job(after, None)),
                    expected,
                    "{before} {after}"
                );
            }
        }
    }

    #[test]
    fn a_new_device_fires_no_event() {
        for presence in [Online, Offline, Archived] {
            assert_eq!(
                derive_change(RecordKind::Device, None, &lock(presence), NOW),
                DerivedEvents::default(),
                "{presence:?}"
            );
        }
    }

    #[test]
    fn device_events_depend_on_old_and_new_presence() {
        let (keep, nothing) = (TimerEffect::Keep, Vec::new);
        for (before, after, events, timer) in [
            (Online, Online, nothing(), keep),
            (
                Online,
                Offline,
                vec![Event::DeviceOffline],
                TimerEffect::Disarm,
            ),
            (Online, Archived, nothing(), TimerEffect::Disarm),
            (Offline, Online, nothing(), TimerEffect::Arm),
            (Offline, Offline, nothing(), keep),
            (Offline, Archived, nothing(), TimerEffect::Disarm),
            (Archived, Online, nothing(), keep),
            (Archived, Offline, nothing(), keep),
            (Archived, Archived, nothing(), keep),
        ] {
            let derived = derive_change(RecordKind::Device, Some(&lock(before)), &lock(after), NOW);
            assert_eq!(
                derived,
                DerivedEvents { events, timer },
                "{before:?} {after:?}"
            );
            let history = derived.clone().without_events();
            assert_eq!(history.events, nothing());
            assert_eq!(
                history.timer == TimerEffect::Disarm,
                timer == TimerEffect::Disarm
            );
            assert_ne!(history.timer, TimerEffect::Arm);
        }
    }

    #[test]
    fn device_reconnected_fires_at_once_if_its_vendor_says_so() {
        let mut after = lock(Online);
        after.insert("reconnectsAtOnce".into(), true.into());
        let derived = derive_change(RecordKind::Device, Some(&lock(Offline)), &after, NOW);
        assert_eq!(
            derived,
            DerivedEvents::firing(vec![Event::DeviceReconnected])
        );
        for before in [Online, Archived] {
            assert_eq!(
                derive_change(RecordKind::Device, Some(&lock(before)), &after, NOW),
                DerivedEvents::default()
            );
        }
        after.insert("isArchived".into(), true.into());
        assert!(
            derive_change(RecordKind::Device, Some(&lock(Offline)), &after, NOW)
                .events
                .is_empty()
        );
    }

    #[test]
    fn only_an_online_device_counts_as_back() {
        let is_back =
            |presence| is_back(&serde_json::from_value(Value::Object(lock(presence))).unwrap());
        assert!(is_back(Online) && !is_back(Offline) && !is_back(Archived));
    }

    #[test]
    fn a_review_or_workflow_run_fires_its_event_once() {
        for (kind, event) in [
            (RecordKind::Review, "review.submitted"),
            (RecordKind::WorkflowStepRun, "workflow.step"),
        ] {
            let (first, edited) = (
                object(json!({ "publicText": "Nice" })),
                object(json!({ "publicText": "Very nice" })),
            );
            assert_eq!(event_names(kind, None, &first, NOW), [event]);
            assert_eq!(event_names(kind, Some(first), &edited, NOW), [""; 0]);
        }
    }

    #[test]
    fn other_kinds_have_no_events() {
        use RecordKind::{Device, Reservation, Review, Task, WorkflowStepRun};
        let (first, edited) = (
            object(json!({ "name": "a" })),
            object(json!({ "name": "b" })),
        );
        for kind in RecordKind::VARIANTS
            .iter()
            .copied()
            .filter(|kind| !matches!(kind, Device | Reservation | Review | Task | WorkflowStepRun))
        {
            assert_eq!(
                event_names(kind, None, &first, NOW),
                [""; 0],
                "{}",
                kind.as_ref()
            );
            assert_eq!(
                event_names(kind, Some(first.clone()), &edited, NOW),
                [""; 0],
                "{}",
                kind.as_ref()
            );
        }
    }

    proptest! {
        /// Compares the events with the table of events in the rules: `reservation.created` fires
        /// when "a new confirmed reservation with a current or upcoming stay arrives or is linked
        /// to a property; also when an existing reservation becomes confirmed later".
        #[test]
        fn reservation_events_agree_with_the_event_table(
            before in of(stays()),
            after in stays(),
            day in 1..=30,
        ) {
            let now = format!("2026-11-{day:02}T12:00:00Z");
            let event_names = stay_events(before.clone(), &after, &now);
            let is_confirmed = |stay: &Object| stay["status"] == "confirmed";
            // `now` is noon UTC. A stay that ends on that day is over, because check-out is at
            // 11:00 in Madrid, which is 10:00 UTC.
            let is_current_or_upcoming = after["checkOut"].as_str() > Some(&now[..10]);
            let arrives = before.is_none();
            let is_linked = before
                .as_ref()
                .is_some_and(|before| before["propertyId"].is_null());
            let becomes_confirmed = before.as_ref().is_some_and(|before| !is_confirmed(before));
            let is_created = is_confirmed(&after)
                && !after["propertyId"].is_null()
                && is_current_or_upcoming
                && (arrives || is_linked || becomes_confirmed);
            let is_cancelled = after["status"] == "cancelled"
                && before
                    .as_ref()
                    .is_some_and(|before| before["status"] != "cancelled");
            let is_moved = after["status"] != "cancelled"
                && before
                    .as_ref()
                    .is_some_and(|before| before["checkOut"] != after["checkOut"]);
            let expected = [
                ("reservation.created", is_created),
                ("reservation.cancelled", is_cancelled),
                ("reservation.dates_changed", is_moved),
            ];
            prop_assert_eq!(
                event_names,
                expected
                    .into_iter()
                    .filter(|(_, fires)| *fires)
                    .map(|(name, _)| name)
                    .collect::<Vec<_>>()
            );
        }

        /// Compares the events of random sequences of a device's states with a model. In the model,
        /// `device.offline` fires at once, and `device.reconnected` fires after the device has
        /// stayed online for the delay.
        #[test]
        fn device_events_agree_with_a_sequence_of_states(
            life in vec((select(vec![Online, Offline, Archived]), 1_i64..15), 1..15),
        ) {
            let (mut reported, mut since, mut minute, mut before) = (Vec::new(), None, 0_i64, None);
            for (presence, minutes) in &life {
                let after = lock(*presence);
                let derived = derive_change(RecordKind::Device, before.as_ref(), &after, NOW);
                reported.extend(
                    derived
                        .events
                        .iter()
                        .map(|event| (minute, <&str>::from(event))),
                );
                match derived.timer {
                    TimerEffect::Keep => {}
                    TimerEffect::Arm => since = Some(minute),
                    TimerEffect::Disarm => since = None,
                }
                minute += *minutes;
                if let Some(due) = since
                    .map(|since| since + DELAY)
                    .filter(|due| *due <= minute)
                {
                    reported.push((due, "device.reconnected"));
                    since = None;
                }
                before = Some(after);
            }
            let (mut expected, mut minute) = (Vec::new(), 0_i64);
            for (index, (presence, minutes)) in life.iter().enumerate() {
                let before = index.checked_sub(1).map(|index| life[index].0);
                let stays: i64 = life[index..]
                    .iter()
                    .take_while(|(next, _)| next == presence)
                    .map(|(_, minutes)| minutes)
                    .sum();
                match (before, presence) {
                    (Some(Online), Offline) => expected.push((minute, "device.offline")),
                    (Some(Offline), Online) if stays >= DELAY => {
                        expected.push((minute + DELAY, "device.reconnected"));
                    }
                    _ => {}
                }
                minute += *minutes;
            }
            prop_assert_eq!(reported, expected);
        }
    }
}
