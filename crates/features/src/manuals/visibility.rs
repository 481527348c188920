//! Decides whether a manual that is assigned to a property is shown for a stay (rules:
//! manuals#visibility). The entry point is [`decide`].

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use strum::IntoStaticStr;

use super::rule::{Anchor, SourceRuleType, Unit, VisibilityRule, Window};
use crate::records::VerificationStatus;

/// An upper bound of the number of days in eight years. Every day of the calendar, even 29
/// February, occurs within any eight years.
const ALL_DAYS: i64 = 8 * 366;

impl VisibilityRule {
    /// Returns the reason for which this rule hides the manual; `None` if the rule does not hide
    /// it.
    fn refusal(&self, stay: &VisibilityInput, at: Timestamp) -> Option<Visibility> {
        match self {
            Self::RelativeDate(rule) => {
                let bound = |anchor: Option<Anchor>, number, unit| {
                    anchor.map(|anchor| stay.timestamp_from(anchor, number, unit))
                };
                let start = bound(
                    rule.start_date_relative_type,
                    rule.days_before,
                    rule.days_before_time_unit,
                );
                let end = bound(
                    rule.end_date_relative_type,
                    rule.days_after,
                    rule.days_after_time_unit,
                );
                let too_early = start
                    .filter(|start| at < *start)
                    .map(|start| Visibility::TooEarly(stay.zone.to_datetime(start)));
                too_early.or_else(|| {
                    end.filter(|end| at >= *end)
                        .map(|end| Visibility::TooLate(stay.zone.to_datetime(end)))
                })
            }
            Self::Seasonal(rule) => {
                let has_night_in = |window: &Window| {
                    let nights = stay.nights();
                    if window.is_yearly {
                        // Every day of the calendar occurs within eight years, so later nights need
                        // no check.
                        let days = (0..nights.min(ALL_DAYS))
                            .map(|day| SignedDuration::from_hours(24 * day));
                        return days
                            .map(|days| stay.check_in.saturating_add(days))
                            .any(|night| window.contains_night(night));
                    }
                    nights > 0
                        && window.start_date < stay.check_out
                        && stay.check_in <= window.end_date
                };
                (!rule.seasonal_windows.iter().any(has_night_in)).then_some(Visibility::OutOfSeason)
            }
            Self::LengthOfStay(rule) => {
                let nights = stay.nights();
                let short = rule
                    .length_of_stay_from_days
                    .filter(|minimum| nights < i64::from(*minimum));
                let long = rule
                    .length_of_stay_to_days
                    .filter(|maximum| nights > i64::from(*maximum));
                let short = short.map(|minimum| Visibility::StayTooShort {
                    nights,
                    least: minimum,
                });
                short.or_else(|| {
                    long.map(|maximum| Visibility::StayTooLong {
                        nights,
                        most: maximum,
                    })
                })
            }
            Self::BookingSource(rule) => {
                let names = |channels: &Option<Vec<String>>| {
                    channels
                        .iter()
                        .flatten()
                        .any(|channel| *channel == stay.channel)
                };
                let is_allowed = match rule.source_rule_type {
                    SourceRuleType::OnlySelected => names(&rule.included_booking_sources),
                    SourceRuleType::AllExceptSelected => !names(&rule.excluded_booking_sources),
                };
                (!is_allowed).then(|| Visibility::BookingSource(stay.channel.clone()))
            }
            Self::VerificationStatus(rule) => {
                let status = stay.verification_status.unwrap_or_default();
                (!rule.verification_statuses.contains(&status))
                    .then_some(Visibility::VerificationStatus(status))
            }
        }
    }
}

/// The data of a stay on which the visibility rules depend.
#[derive(Debug, Clone)]
pub struct VisibilityInput {
    /// The day of arrival.
    pub check_in: Date,
    /// The day of departure.
    pub check_out: Date,
    /// Local time from which guests may arrive. `None` means the start of the day.
    pub check_in_time: Option<Time>,
    /// Local time by which guests must leave. `None` means the end of the day.
    pub check_out_time: Option<Time>,
    /// The property's time zone.
    pub zone: TimeZone,
    /// The booking channel.
    pub channel: String,
    /// The guest's verification status. `None` is treated as the default value of
    /// [`VerificationStatus`].
    pub verification_status: Option<VerificationStatus>,
}

impl VisibilityInput {
    fn nights(&self) -> i64 {
        (self.check_in.duration_until(self.check_out).as_hours() / 24).max(0)
    }

    /// Returns the time that is `number` units before or after check-in or check-out. The anchor
    /// says which of the two, and whether to count back or forward. A time outside the range of the
    /// calendar becomes the nearest time inside it.
    pub(super) fn timestamp_from(
        &self,
        anchor: Anchor,
        number: Option<u32>,
        unit: Option<Unit>,
    ) -> Timestamp {
        let (date, time) = if anchor.is_check_in() {
            (self.check_in, self.check_in_time.unwrap_or(Time::MIN))
        } else {
            (self.check_out, self.check_out_time.unwrap_or(Time::MAX))
        };
        let count = anchor.direction() * i64::from(number.unwrap_or(0));
        match unit.unwrap_or_default() {
            // The date is shifted, not the timestamp. So a change of the clocks leaves the local
            // time unchanged.
            Unit::Day => self.at_local(
                date.saturating_add(SignedDuration::from_hours(24 * count)),
                time,
            ),
            Unit::Hour => {
                let anchor_time = self.at_local(date, time);
                anchor_time
                    .saturating_add(SignedDuration::from_hours(count))
                    .unwrap_or(anchor_time)
            }
        }
    }

    /// Converts a local time to a timestamp. If the clocks skip the time, the offset before the
    /// change applies. If the time occurs twice, the result is its first occurrence.
    fn at_local(&self, date: Date, time: Time) -> Timestamp {
        let end = if date.year() < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.zone
            .to_timestamp(date.to_datetime(time))
            .unwrap_or(end)
    }
}

/// The decision of the visibility rules about a manual, for a stay at a time: the manual is shown,
/// or the reason why it is not.
#[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Visibility {
    /// Every rule is met, so the manual is shown.
    Visible,
    /// The manual is hidden until this local time, which is in the future.
    TooEarly(DateTime),
    /// The manual was shown until this local time, which is in the past.
    TooLate(DateTime),
    /// No night of the stay is in a season.
    OutOfSeason,
    /// The stay has too few nights.
    StayTooShort {
        /// Nights of the stay.
        nights: i64,
        /// The minimum number of nights.
        least: u32,
    },
    /// The stay has too many nights.
    StayTooLong {
        /// Nights of the stay.
        nights: i64,
        /// The maximum number of nights.
        most: u32,
    },
    /// The manual is hidden for stays booked through this channel.
    BookingSource(String),
    /// The manual is hidden for guests with this verification status.
    VerificationStatus(VerificationStatus),
}

impl Visibility {
    /// Returns whether the manual is shown.
    #[must_use]
    pub const fn is_shown(&self) -> bool {
        matches!(self, Self::Visible)
    }

    /// Returns the decision as a sentence that gives the reason.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Visible => "Every visibility rule holds.".into(),
            Self::TooEarly(from) => {
                format!("It is shown from {from:.0}, in the property's time zone.")
            }
            Self::TooLate(until) => {
                format!("It is shown until {until:.0}, in the property's time zone.")
            }
            Self::OutOfSeason => "No night of the stay is in one of its seasons.".into(),
            Self::StayTooShort { nights, least } => {
                format!("It is shown for stays of {least} nights or more; this one has {nights}.")
            }
            Self::StayTooLong { nights, most } => {
                format!("It is shown for stays of {most} nights or fewer; this one has {nights}.")
            }
            Self::BookingSource(channel) => {
                format!("It is not shown for bookings through {channel}.")
            }
            Self::VerificationStatus(status) => format!(
                "It is not shown while the guest's verification is {}.",
                status.as_ref()
            ),
        }
    }
}

/// Decides whether a manual with these rules is shown for a stay at a time. If not, returns the
/// reason of the first rule, in the order of categories, that hides the manual.
///
/// The period of a `relative_date` rule includes its start and excludes its end. So one manual can
/// replace another at the same anchor. If the start is not before the end, the manual is never
/// shown.
#[must_use]
pub fn decide(rules: &[VisibilityRule], stay: &VisibilityInput, at: Timestamp) -> Visibility {
    let mut rules: Vec<&VisibilityRule> = rules.iter().collect();
    rules.sort_by_key(|rule| rule.category());
    rules
        .into_iter()
        .find_map(|rule| rule.refusal(stay, at))
        .unwrap_or(Visibility::Visible)
}

#[cfg(test)]
mod tests;
