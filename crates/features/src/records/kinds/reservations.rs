//! Records of reservations and their guests.

use engine::field::Label;
use engine::moment::Moment;
use engine::operation::Object;
use engine::{language, typed};
use jiff::civil::{self, Time};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{AsRefStr, VariantArray};
use uuid::Uuid;

use super::values::{
    Channel, Day, Headcount, LanguageTag, NestedObject, OneOf, OrNull, PropertyId, TimeOfDay,
};
use super::{FLAT, Property};

record! {
    /// A booked stay.
    pub struct Reservation {
        /// Id of the property of the stay; null while it is not known.
        #[schemars(extend("x-summary" = "The property of the stay."))]
        property_id: OrNull<PropertyId>, read as Option<Uuid>;
        /// Status of the reservation; guests of a cancelled reservation see no steps and no
        /// manuals.
        status: OneOf<ReservationStatus>, read as ReservationStatus;
        /// Identifier of the booking channel, such as `direct`; rules of steps and manuals compare
        /// it.
        channel: Channel, read as String;
        /// Time of the booking, from which lead times are counted.
        booked_at: Moment, read as Moment;
        /// The first day of the stay.
        check_in: Day, read as civil::Date;
        /// The day on which the guests leave.
        check_out: Day, read as civil::Date;
        /// Time of day from which these guests may come, in the flat's time zone; null: the
        /// `checkInTime` of the flat.
        check_in_time: Option<TimeOfDay>, read where it fits as Option<Time>;
        /// Time of day by which these guests must have left, in the flat's time zone; null: the
        /// `checkOutTime` of the flat.
        check_out_time: Option<TimeOfDay>, read where it fits as Option<Time>;
        /// Code of the booking at its channel, by which staff find the stay. Null: none.
        booking_code: Option<Label>;
        /// The guest who booked.
        guest: NestedObject<Guest>, read as Guest;
        /// Whether the guest stayed before; some steps are not shown to such a guest. Null: no.
        is_returning_guest: Option<bool>, read as Option<bool>;
        /// How many adults come; null while it is not known.
        adults: Option<Headcount>, read as Option<u32>;
        /// How many children come; null while it is not known.
        children: Option<Headcount>, read as Option<u32>;
        /// How far the guest's identity has been verified; rules of manuals read it. Null:
        /// `unverified`.
        verification_status: Option<OneOf<VerificationStatus>>, read as Option<VerificationStatus>;
    }
    example {
        "propertyId": FLAT, "status": "confirmed", "channel": "direct",
        "bookedAt": "2026-11-02T10:00:00.000Z",
        "checkIn": "2026-12-11", "checkOut": "2026-12-15",
        "guest": {
            "firstName": "Ada", "lastName": "L", "email": "ada@example.com", "phone": null,
            "language": "en",
        },
    }
}

impl Reservation {
    /// Returns the time of day from which the guests may come: the time of the stay, or else the
    /// time of the flat.
    #[must_use]
    pub fn arrival_time(&self, flat: Option<&Property>) -> Option<Time> {
        self.check_in_time
            .or_else(|| flat?.check_in_time.as_deref()?.parse().ok())
    }

    /// Returns the time of day by which the guests must have left: the time of the stay, or else
    /// the time of the flat. Returns `None` if neither has such a time.
    #[must_use]
    pub fn departure_time(&self, flat: Option<&Property>) -> Option<Time> {
        self.check_out_time
            .or_else(|| flat?.check_out_time.as_deref()?.parse().ok())
    }
}

record! {
    /// The lead guest.
    #[derive(Default, Serialize, JsonSchema)]
    #[serde(default)]
    pub struct Guest {
        /// Given name of the guest.
        first_name: Option<Label>, read as Option<String>;
        /// Family name of the guest.
        last_name: Option<Label>, read as Option<String>;
        /// The guest's mail address.
        email: Option<Label>;
        /// The guest's phone number.
        phone: Option<Label>;
        /// Language the guest is addressed in, as a BCP 47 tag. Null: English.
        language: Option<LanguageTag>, read as Option<String>;
    }
}

/// A reason why the dates of a reservation are implausible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImplausibleDates {
    /// Check-out is not after check-in, so the stay has no night.
    NoNight,
    /// The stay was booked after its first day.
    BookedLate,
}

/// Checks the dates of a reservation in the time zone of its flat, or in UTC if the flat is
/// unknown.
#[must_use]
pub fn implausible_dates(reservation: &Reservation, zone: &TimeZone) -> Option<ImplausibleDates> {
    if reservation.check_out <= reservation.check_in {
        return Some(ImplausibleDates::NoNight);
    }
    let booked = zone.to_datetime(reservation.booked_at.0).date();
    (booked > reservation.check_in).then_some(ImplausibleDates::BookedLate)
}

/// Changes the language of a reservation's guest in place, to a BCP 47 tag or null. Returns the
/// original text if the text is not a tag (rules: records#kinds).
pub(crate) fn normalize_guest_language(reservation: &mut Object) -> Option<String> {
    let language = reservation.get_mut("guest")?.get_mut("language")?;
    let text = match &*language {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let tag = language::parse_lenient(&text);
    let is_invalid = tag.is_none() && !typed::is_blank(&text);
    *language = tag.map_or(Value::Null, Value::String);
    is_invalid.then_some(text)
}

/// Status of a reservation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReservationStatus {
    Confirmed,
    Tentative,
    Cancelled,
}

/// How far a guest's identity has been verified.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AsRefStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VerificationStatus {
    /// The guest's identity is not verified, and no verification is in progress.
    #[default]
    Unverified,
    /// The verification of the guest's identity has started and has no result yet.
    Pending,
    /// The verification shows that the guest is the person whom they claim to be.
    Verified,
    /// The verification of the guest's identity failed.
    Failed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_rules_read_keep_their_descriptions() {
        let schema = schemars::schema_for!(Guest).to_value();
        let fields = schema["properties"].as_object().unwrap();
        assert!(
            fields
                .values()
                .all(|field| field["description"].is_string())
        );
        assert!(fields.contains_key("firstName"));
    }

    #[test]
    fn a_stay_has_its_own_times_before_those_of_its_flat() {
        let flat: Property = serde_json::from_value(json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
        }))
        .unwrap();
        let of = |own: [Option<&str>; 2], flat: Option<&Property>| {
            let stay: Reservation = serde_json::from_value(json!({
                "propertyId": null,
                "status": "confirmed",
                "channel": "direct",
                "bookedAt": "2026-11-01T10:00:00Z",
                "checkIn": "2026-12-11",
                "checkOut": "2026-12-12",
                "guest": {},
                "checkInTime": own[0],
                "checkOutTime": own[1],
            }))
            .unwrap();
            [stay.arrival_time(flat), stay.departure_time(flat)]
                .map(|time| time.map(|time| time.strftime("%H:%M").to_string()))
        };
        let times = |first: &str, last: &str| [Some(first.to_owned()), Some(last.to_owned())];
        assert_eq!(of([None, None], Some(&flat)), times("15:00", "11:00"));
        assert_eq!(
            of([Some("13:00"), None], Some(&flat)),
            times("13:00", "11:00")
        );
        assert_eq!(
            of([Some("13:00"), Some("12:30")], None),
            times("13:00", "12:30")
        );
        assert_eq!(of([None, None], None), [None, None]);
    }

    #[test]
    fn a_language_of_a_guest_is_kept_as_a_tag_or_as_null() {
        for (input, expected, is_invalid) in [
            (json!("en_US"), json!("en-US"), false),
            (json!(" es "), json!("es"), false),
            (json!(""), json!(null), false),
            (json!("\u{200b}"), json!(null), false),
            (json!("English"), json!(null), true),
            (json!(7), json!(null), true),
            (json!(null), json!(null), false),
            (json!("PT-br"), json!("pt-BR"), false),
        ] {
            let mut data: Object =
                serde_json::from_value(json!({ "guest": { "language": input } })).unwrap();
            assert_eq!(
                normalize_guest_language(&mut data).is_some(),
                is_invalid,
                "{input}"
            );
            assert_eq!(data["guest"]["language"], expected, "{input}");
        }
        assert_eq!(normalize_guest_language(&mut Object::new()), None);
    }

    #[test]
    fn stays_without_a_night_or_booked_late_are_flagged() {
        let of = |booked: &str, check_in: &str, check_out: &str, zone: &str| {
            let reservation = json!({
                "propertyId": null, "status": "confirmed", "channel": "direct", "bookedAt": booked,
                "checkIn": check_in, "checkOut": check_out, "guest": {},
            });
            implausible_dates(
                &serde_json::from_value(reservation).unwrap(),
                &TimeZone::get(zone).unwrap(),
            )
        };
        let early = "2026-11-01T10:00:00Z";
        assert_eq!(of(early, "2026-12-11", "2026-12-12", "UTC"), None);
        for check_out in ["2026-12-11", "2026-12-10"] {
            assert_eq!(
                of(early, "2026-12-11", check_out, "UTC"),
                Some(ImplausibleDates::NoNight)
            );
        }
        let late = "2026-12-12T05:00:00Z";
        assert_eq!(
            of(late, "2026-12-11", "2026-12-14", "UTC"),
            Some(ImplausibleDates::BookedLate)
        );
        assert_eq!(
            of(late, "2026-12-11", "2026-12-14", "America/Los_Angeles"),
            None
        );
    }
}
