//! A sentence that says which guests get a step.

use features::precheck::{InclusionType, NO_MAXIMUM, ScopeCounts, Targeting};
use features::words::fill;

use crate::words::ConsoleWords;

/// Returns a sentence that says which guests get the step. If the number of flats is known, the
/// sentence contains it. For an inactive step, the sentence says which guests would get it.
pub fn audience(
    rules: &Targeting,
    words: &ConsoleWords,
    flats: Option<usize>,
    is_active: bool,
) -> String {
    let who = who(rules, words, flats);
    if is_active {
        who
    } else {
        fill(words.steps.off, &[("who", &who)])
    }
}

fn who(rules: &Targeting, words: &ConsoleWords, flats: Option<usize>) -> String {
    let parts = parts(rules, words);
    let words = &words.steps;
    let flats = match flats {
        None => None,
        Some(0) if parts.is_empty() || rules.is_always_shown => return words.nobody.to_owned(),
        Some(0) => {
            return format!(
                "{} {}",
                words.nobody,
                fill(words.those, &[("parts", &parts.join("; "))])
            );
        }
        Some(count) => Some(words.flats.of(count)),
    };
    let of = |known: &str, of_flats: &str| {
        flats.as_ref().map_or_else(
            || known.to_owned(),
            |flats| fill(of_flats, &[("flats", flats)]),
        )
    };
    if rules.is_always_shown {
        return of(words.always, words.always_of);
    }
    if parts.is_empty() {
        return of(words.everyone, words.everyone_of);
    }
    fill(
        &of(words.those, words.those_of),
        &[("parts", &parts.join("; "))],
    )
}

/// Describes the stays that get the step. Each rule contributes one part.
fn parts(rules: &Targeting, words: &ConsoleWords) -> Vec<String> {
    let (words, counted) = (&words.steps, &words.stays);
    let number = |number: u32| number.to_string();
    let mut parts = Vec::new();
    match (rules.min_los, rules.max_los) {
        (0, NO_MAXIMUM) => {}
        (from, NO_MAXIMUM) => {
            parts.push(fill(
                words.nights_from,
                &[("from", &counted.nights.of(from))],
            ));
        }
        (0, to) => parts.push(fill(words.nights_to, &[("to", &counted.nights.of(to))])),
        (from, to) => parts.push(fill(
            words.nights_between,
            &[("from", &number(from)), ("to", &counted.nights.of(to))],
        )),
    }
    match (rules.lead_time_min_days, rules.lead_time_max_days) {
        (None, None) => {}
        (Some(from), None) => {
            parts.push(fill(words.ahead_from, &[("from", &counted.days.of(from))]));
        }
        (None, Some(to)) => parts.push(fill(words.ahead_to, &[("to", &counted.days.of(to))])),
        (Some(from), Some(to)) => parts.push(fill(
            words.ahead_between,
            &[("from", &number(from)), ("to", &counted.days.of(to))],
        )),
    }
    let channels = |names: &Option<Vec<String>>| {
        names
            .iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match rules.inclusion_type {
        Some(InclusionType::AllExceptSelected) if !channels(&rules.excluded_sources).is_empty() => {
            parts.push(fill(
                words.not_by,
                &[("channels", &channels(&rules.excluded_sources))],
            ));
        }
        Some(InclusionType::OnlySelected) => parts.push(fill(
            words.only_by,
            &[("channels", &channels(&rules.included_sources_returning))],
        )),
        Some(InclusionType::AllExceptSelected) | None => {}
    }
    if rules.is_returning_guest_excluded {
        parts.push(words.not_returning.to_owned());
    }
    parts
}

/// Returns a sentence about the assignments of the step.
pub fn assignments(counts: &ScopeCounts, words: &ConsoleWords) -> String {
    let parts = [
        (counts.property_count, words.assign.properties),
        (counts.property_group_count, words.assign.groups),
        (counts.tag_count, words.assign.tags),
        (counts.portal_count, words.portals.portals),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| {
            words
                .frame
                .labelled(&what.to_lowercase(), &count.to_string())
        })
        .collect();
    if parts.is_empty() {
        words.steps.unassigned.to_owned()
    } else {
        fill(words.steps.assigned, &[("what", &parts.join(", "))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::of;

    #[test]
    fn the_rules_of_a_step_are_written_as_sentences() {
        let rules = Targeting::default();
        let text = |rules: &Targeting| audience(rules, of("en"), None, true);
        let text_for =
            |rules: &Targeting, flats: usize| audience(rules, of("en"), Some(flats), true);
        assert_eq!(text(&rules), "Every guest of the assigned flats gets it.");
        assert_eq!(
            text(&Targeting {
                is_always_shown: true,
                min_los: 3,
                ..rules.clone()
            }),
            "Every guest of the assigned flats gets it, whatever the stay."
        );
        let rules = Targeting {
            min_los: 2,
            lead_time_max_days: Some(3),
            inclusion_type: Some(InclusionType::AllExceptSelected),
            excluded_sources: Some(vec!["direct".into(), "airbnb".into()]),
            is_returning_guest_excluded: true,
            ..rules
        };
        assert_eq!(
            text(&rules),
            "For stays of 2 nights or more; booked at most 3 days ahead; not through direct, \
                airbnb; not of guests who stayed before."
        );
        assert_eq!(
            text_for(
                &Targeting {
                    is_returning_guest_excluded: false,
                    lead_time_max_days: None,
                    ..rules
                },
                214
            ),
            "Guests of 214 flats, for stays of 2 nights or more; not through direct, airbnb."
        );
        let rules = Targeting::default();
        assert_eq!(
            text_for(&rules, 0),
            "It is assigned to no flat yet, so nobody gets it."
        );
        assert_eq!(
            text_for(
                &Targeting {
                    min_los: 2,
                    ..rules.clone()
                },
                0
            ),
            "It is assigned to no flat yet, so nobody gets it. For stays of 2 nights or more."
        );
        assert_eq!(
            audience(&rules, of("fr"), Some(1), true),
            "Tout voyageur de 1 logement la reçoit."
        );
        assert_eq!(
            audience(&rules, of("en"), Some(686), false),
            "It is switched off, so nobody gets it. When it is on: Every guest of 686 flats gets \
                it."
        );
        let short = Targeting {
            min_los: 1,
            lead_time_min_days: Some(1),
            ..rules
        };
        assert_eq!(
            text(&short),
            "For stays of 1 night or more; booked at least 1 day ahead."
        );
        assert_eq!(
            assignments(
                &ScopeCounts {
                    tag_count: 2,
                    ..ScopeCounts::default()
                },
                of("fr")
            ),
            "Affectée à : étiquettes : 2."
        );
    }
}
