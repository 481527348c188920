//! A point in time as the interface writes it: `2026-11-21T09:30:00.000Z`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::{Timestamp, ToSpan as _};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time. It is written in UTC with milliseconds, and read with any offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// Returns the time of a change: `now`, or 1 ms after `self` if the clock has not advanced. The
    /// `updatedAt` of a resource therefore always increases.
    #[must_use]
    pub fn advanced_to(self, now: Timestamp) -> Self {
        Self(
            self.0
                .checked_add(1.millisecond())
                .map_or(now, |next| next.max(now)),
        )
    }
}

impl FromStr for Moment {
    type Err = jiff::Error;

    /// Parses a time. A time too late for a [`Timestamp`] becomes the greatest timestamp. Clients
    /// often write the end of the year 9999 to mean "never", and a [`Timestamp`] ends 26 hours
    /// earlier.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).or_else(|error| {
            let year_before = text.strip_prefix("9999").map(|rest| format!("9998{rest}"));
            match year_before.map(|text| text.parse::<Timestamp>()) {
                Some(Ok(_)) => Ok(Self(Timestamp::MAX)),
                _ => Err(error),
            }
        })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl From<Moment> for store::Value {
    fn from(moment: Moment) -> Self {
        Self::Timestamp(moment.0)
    }
}

impl JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc_with_milliseconds() {
        let moment = Moment("2026-11-21T10:30:00+01:00".parse().unwrap());
        assert_eq!(moment.to_string(), "2026-11-21T09:30:00.000Z");
    }

    #[test]
    fn moments_at_the_end_of_year_9999_are_clamped() {
        for (text, expected) in [
            ("9999-12-30T21:59:59Z", Some("9999-12-30T21:59:59.000Z")),
            ("9999-12-31T23:59:59.999Z", Some("9999-12-30T22:00:00.999Z")),
            (
                "9999-12-31T23:59:59+01:00",
                Some("9999-12-30T22:00:00.999Z"),
            ),
            ("9999-12-31T24:59:59Z", None),
            ("9999-12-32T00:00:00Z", None),
            ("9999-12-31", None),
            ("10000-01-01T00:00:00Z", None),
        ] {
            assert_eq!(
                text.parse::<Moment>()
                    .ok()
                    .map(|moment| moment.to_string())
                    .as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_change_within_the_same_millisecond_still_advances() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        assert_eq!(
            Moment(now).advanced_to(now).to_string(),
            "2026-11-21T09:30:00.001Z"
        );
        assert!(Moment(now).advanced_to("2026-11-21T09:20:00Z".parse().unwrap()) > Moment(now));
    }
}
