//! Stays, and who comes.

use engine::field::Label;
use engine::moment::Moment;
use jiff::civil;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{AsRefStr, VariantArray};
use uuid::Uuid;

use super::FLAT;
use super::values::{Channel, Day, Headcount, LanguageTag, OneOf, OrNull, Part, PropertyId};

record! {
    /// A stay that was booked.
    pub struct Reservation {
        /// Id of the property that is stayed in; null while it is not known.
        property_id: OrNull<PropertyId>, read as Option<Uuid>;
        /// Where the reservation stands; guests of a cancelled one are shown no steps and no manuals.
        status: OneOf<ReservationStatus>, read as ReservationStatus;
        /// Identifier of the booking channel, such as `direct`; rules of steps and manuals name it.
        channel: Channel, read as String;
        /// When it was booked; lead times count from it.
        booked_at: Moment, read as Moment;
        /// The first day of the stay.
        check_in: Day, read as civil::Date;
        /// The day on which the guests leave.
        check_out: Day, read as civil::Date;
        /// The guest who booked.
        guest: Part<Guest>, read as Guest;
        /// Whether the guest stayed before; some steps pass over those. Null: no.
        is_returning_guest: Option<bool>, read as Option<bool>;
        /// How many adults come; null while it is not known.
        adults: Option<Headcount>, read as Option<u32>;
        /// How many children come; null while it is not known.
        children: Option<Headcount>, read as Option<u32>;
        /// How far the guest's identity has been verified; rules of manuals look at it. Null: `unverified`.
        verification_status: Option<OneOf<VerificationStatus>>, read as Option<VerificationStatus>;
    }
    example {
        "propertyId": FLAT, "status": "confirmed", "channel": "direct", "bookedAt": "2026-11-02T10:00:00.000Z",
        "checkIn": "2026-12-11", "checkOut": "2026-12-15",
        "guest": { "firstName": "Ada", "lastName": "L", "email": "ada@example.com", "phone": null, "language": "en" },
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

/// Where a reservation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum ReservationStatus {
    Confirmed,
    Tentative,
    Cancelled,
}

/// How far a guest's identity has been verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VerificationStatus {
    /// Not at all.
    #[default]
    Unverified,
    /// It is being looked at.
    Pending,
    /// It is who they say.
    Verified,
    /// It could not be verified.
    Failed,
}
