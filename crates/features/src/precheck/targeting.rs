//! The rules that decide which reservations get a step, if the step is assigned to their property
//! (rules: steps#targeting).

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::Targeting;

/// The `maxLos` that means no maximum.
pub const NO_MAXIMUM: u32 = 1000;

/// The booking channels for which a step is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InclusionType {
    /// All channels except those in `excludedSources`.
    AllExceptSelected,
    /// Only the channels in `includedSourcesReturning`.
    OnlySelected,
}

/// The data of a stay on which the targeting rules depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetingInput {
    /// The day of arrival.
    pub check_in: Date,
    /// The day of departure.
    pub check_out: Date,
    /// The day of booking, in the property's time zone.
    pub booked_on: Date,
    /// The booking channel.
    pub channel: String,
    /// Whether the guest is a returning guest.
    pub is_returning: bool,
}

/// The result of the targeting rules of a step for a stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetingVerdict {
    /// The step has `isAlwaysShown`, so no other rule is applied.
    AlwaysShown,
    /// The stay passes every rule.
    AllRulesPass,
    /// The stay is shorter than `minLos`.
    MinLos,
    /// The stay is longer than `maxLos`.
    MaxLos,
    /// The stay was booked less than `leadTimeMinDays` before check-in.
    LeadTimeMin,
    /// The stay was booked more than `leadTimeMaxDays` before check-in.
    LeadTimeMax,
    /// The channel is among `excludedSources`.
    ChannelExcluded,
    /// The channel is not among `includedSourcesReturning`.
    ChannelNotIncluded,
    /// The step excludes returning guests, and the guest stayed before.
    ReturningGuest,
}

impl TargetingVerdict {
    /// Whether a stay with this result gets the step.
    #[must_use]
    pub const fn is_shown(self) -> bool {
        matches!(self, Self::AlwaysShown | Self::AllRulesPass)
    }
}

/// Returns the number of days from one date to another; negative if `to` is earlier.
#[must_use]
pub fn days_between(from: Date, to: Date) -> i64 {
    // A date has a year of at most 9999, so the number of days always fits.
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}

/// Returns how many days before the day of check-in a stay was booked. Returns 0 for a booking on
/// or after that day.
#[must_use]
pub fn days_ahead(stay: &TargetingInput) -> i64 {
    days_between(stay.booked_on, stay.check_in).max(0)
}

/// Applies the targeting rules of a step to a stay. Returns the first rule that excludes the stay,
/// or the reason for which the stay gets the step.
#[must_use]
pub fn decide(rules: &Targeting, stay: &TargetingInput) -> TargetingVerdict {
    if rules.is_always_shown {
        return TargetingVerdict::AlwaysShown;
    }
    let nights = days_between(stay.check_in, stay.check_out);
    let lead = days_ahead(stay);
    let names = |sources: &Option<Vec<String>>| {
        sources
            .iter()
            .flatten()
            .any(|source| *source == stay.channel)
    };
    let refusals = [
        (nights < i64::from(rules.min_los), TargetingVerdict::MinLos),
        (
            rules.max_los != NO_MAXIMUM && nights > i64::from(rules.max_los),
            TargetingVerdict::MaxLos,
        ),
        (
            rules
                .lead_time_min_days
                .is_some_and(|minimum| lead < i64::from(minimum)),
            TargetingVerdict::LeadTimeMin,
        ),
        (
            rules
                .lead_time_max_days
                .is_some_and(|maximum| lead > i64::from(maximum)),
            TargetingVerdict::LeadTimeMax,
        ),
        (
            rules.inclusion_type == Some(InclusionType::AllExceptSelected)
                && names(&rules.excluded_sources),
            TargetingVerdict::ChannelExcluded,
        ),
        (
            rules.inclusion_type == Some(InclusionType::OnlySelected)
                && !names(&rules.included_sources_returning),
            TargetingVerdict::ChannelNotIncluded,
        ),
        (
            rules.is_returning_guest_excluded && stay.is_returning,
            TargetingVerdict::ReturningGuest,
        ),
    ];
    refusals
        .into_iter()
        .find(|(refuses, _)| *refuses)
        .map_or(TargetingVerdict::AllRulesPass, |(_, verdict)| verdict)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use proptest::prelude::*;

    use super::*;

    const CHANNELS: [&str; 3] = ["direct", "booking.com", "airbnb"];

    fn sources() -> impl Strategy<Value = Option<Vec<String>>> {
        prop::option::of(
            prop::sample::subsequence(CHANNELS.to_vec(), 0..=3)
                .prop_map(|names| names.into_iter().map(Into::into).collect()),
        )
    }

    prop_compose! {
        fn rules()(
            min_los in prop_oneof![Just(0), 0..10_u32],
            max_los in prop_oneof![Just(1000), 0..10_u32],
            lead in (prop::option::of(0..10_u32), prop::option::of(0..10_u32)),
            inclusion_type in prop::option::of(prop_oneof![
                Just(InclusionType::AllExceptSelected),
                Just(InclusionType::OnlySelected),
            ]),
            excluded_sources in sources(),
            included_sources_returning in sources(),
            is_returning_guest_excluded: bool,
            is_always_shown in prop::bool::weighted(0.2),
        ) -> Targeting {
            Targeting {
                min_los,
                max_los,
                lead_time_min_days: lead.0,
                lead_time_max_days: lead.1,
                inclusion_type,
                excluded_sources,
                included_sources_returning,
                is_returning_guest_excluded,
                is_always_shown,
            }
        }
    }

    prop_compose! {
        fn stay()(
            start in 0..400_i64,
            nights in 0..1100_i64,
            lead in -2..12_i64,
            channel in prop::sample::select(CHANNELS.to_vec()),
            is_returning: bool,
        ) -> TargetingInput {
            let check_in = jiff::civil::date(2026, 1, 1).saturating_add(start.days());
            TargetingInput {
                check_in,
                check_out: check_in.saturating_add(nights.days()),
                booked_on: check_in.saturating_sub(lead.days()),
                channel: channel.into(),
                is_returning,
            }
        }
    }

    /// Counts the nights of a stay by stepping through its days.
    fn nights(stay: &TargetingInput) -> usize {
        stay.check_in
            .series(1.day())
            .take_while(|day| *day < stay.check_out)
            .count()
    }

    /// Returns whether a stay gets the step, as a second implementation of the rules. Tests compare
    /// its result with that of `decide` (rules: steps#targeting).
    fn gets_the_step(rules: &Targeting, stay: &TargetingInput) -> bool {
        if rules.is_always_shown {
            return true;
        }
        let stay_length = nights(stay);
        let is_long_enough = rules.min_los == 0 || stay_length >= rules.min_los as usize;
        let is_short_enough = rules.max_los == 1000 || stay_length <= rules.max_los as usize;
        let was_booked_early_enough = rules.lead_time_min_days.is_none_or(|minimum| {
            stay.booked_on
                .min(stay.check_in)
                .saturating_add(i64::from(minimum).days())
                <= stay.check_in
        });
        let was_booked_late_enough = rules.lead_time_max_days.is_none_or(|maximum| {
            stay.booked_on.saturating_add(i64::from(maximum).days()) >= stay.check_in
        });
        let channel_fits = match rules.inclusion_type {
            None => true,
            Some(InclusionType::AllExceptSelected) => !rules
                .excluded_sources
                .clone()
                .unwrap_or_default()
                .contains(&stay.channel),
            Some(InclusionType::OnlySelected) => rules
                .included_sources_returning
                .clone()
                .unwrap_or_default()
                .contains(&stay.channel),
        };
        let guest_fits = !(rules.is_returning_guest_excluded && stay.is_returning);
        is_long_enough
            && is_short_enough
            && was_booked_early_enough
            && was_booked_late_enough
            && channel_fits
            && guest_fits
    }

    proptest! {
        #[test]
        fn targeting_agrees_with_the_spec(rules in rules(), stay in stay()) {
            prop_assert_eq!(
                decide(&rules, &stay).is_shown(),
                gets_the_step(&rules, &stay),
                "{:?}",
                decide(&rules, &stay)
            );
        }
    }

    #[test]
    fn a_maximum_of_1000_nights_means_no_limit() {
        let stay = TargetingInput {
            check_in: jiff::civil::date(2026, 1, 1),
            check_out: jiff::civil::date(2029, 1, 1),
            booked_on: jiff::civil::date(2025, 12, 1),
            channel: "direct".into(),
            is_returning: false,
        };
        assert_eq!(
            decide(&Targeting::default(), &stay),
            TargetingVerdict::AllRulesPass
        );
        assert_eq!(
            decide(
                &Targeting {
                    max_los: 999,
                    ..Targeting::default()
                },
                &stay
            ),
            TargetingVerdict::MaxLos
        );
        assert_eq!(
            decide(
                &Targeting {
                    max_los: 1001,
                    ..Targeting::default()
                },
                &stay
            ),
            TargetingVerdict::MaxLos
        );
    }
}
