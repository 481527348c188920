//! A sentence that says which guests get a step.

use serde::Deserialize;

use crate::console::words::ConsoleWords;
use crate::precheck::NO_MAXIMUM;
use crate::words::fill;

/// The rules of a step, as the REST interface returns them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rules {
    pub min_los: u32,
    pub max_los: u32,
    pub lead_time_min_days: Option<u32>,
    pub lead_time_max_days: Option<u32>,
    pub inclusion_type: Option<String>,
    pub excluded_sources: Option<Vec<String>>,
    pub included_sources_returning: Option<Vec<String>>,
    pub is_returning_guest_excluded: bool,
    pub is_always_shown: bool,
}

/// The number of assignments of a step, for each kind of target.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    pub property_count: usize,
    pub portal_count: usize,
    pub property_group_count: usize,
    pub tag_count: usize,
}

impl Rules {
    /// Returns a sentence that says which guests get the step. If the number of flats is known, the
    /// sentence contains it. For an inactive step, the sentence says which guests would get it.
    pub fn text_of(&self, words: &ConsoleWords, flats: Option<usize>, is_active: bool) -> String {
        let who = self.who(words, flats);
        if is_active {
            who
        } else {
            fill(words.steps.off, &[("who", &who)])
        }
    }

    fn who(&self, words: &ConsoleWords, flats: Option<usize>) -> String {
        let parts = self.parts(words);
        let words = &words.steps;
        let flats = match flats {
            None => None,
            Some(0) if parts.is_empty() || self.is_always_shown => return words.nobody.to_owned(),
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
        if self.is_always_shown {
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
    fn parts(&self, words: &ConsoleWords) -> Vec<String> {
        let (words, counted) = (&words.steps, &words.stays);
        let number = |number: u32| number.to_string();
        let mut parts = Vec::new();
        match (self.min_los, self.max_los) {
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
        match (self.lead_time_min_days, self.lead_time_max_days) {
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
        match self.inclusion_type.as_deref() {
            Some("all_except_selected") if !channels(&self.excluded_sources).is_empty() => {
                parts.push(fill(
                    words.not_by,
                    &[("channels", &channels(&self.excluded_sources))],
                ));
            }
            Some("only_selected") => parts.push(fill(
                words.only_by,
                &[("channels", &channels(&self.included_sources_returning))],
            )),
            _ => {}
        }
        if self.is_returning_guest_excluded {
            parts.push(words.not_returning.to_owned());
        }
        parts
    }
}

impl Counts {
    /// Returns a sentence about the assignments of the step.
    pub fn text(&self, words: &ConsoleWords) -> String {
        let parts = [
            (self.property_count, words.assign.properties),
            (self.property_group_count, words.assign.groups),
            (self.tag_count, words.assign.tags),
            (self.portal_count, words.portals.portals),
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::words::of;

    #[test]
    fn the_rules_of_a_step_are_written_as_sentences() {
        let rules = Rules {
            max_los: NO_MAXIMUM,
            ..Rules::default()
        };
        let text = |rules: &Rules| rules.text_of(of("en"), None, true);
        assert_eq!(text(&rules), "Every guest of the assigned flats gets it.");
        assert_eq!(
            text(&Rules {
                is_always_shown: true,
                min_los: 3,
                ..rules.clone()
            }),
            "Every guest of the assigned flats gets it, whatever the stay."
        );
        let rules = Rules {
            min_los: 2,
            lead_time_max_days: Some(3),
            inclusion_type: Some("all_except_selected".into()),
            excluded_sources: Some(vec!["direct".into(), "airbnb".into()]),
            is_returning_guest_excluded: true,
            ..rules
        };
        assert_eq!(
            text(&rules),
            "For stays of 2 nights or more; booked at most 3 days ahead; not through direct, airbnb; not of guests who stayed before."
        );
        assert_eq!(
            Rules {
                is_returning_guest_excluded: false,
                lead_time_max_days: None,
                ..rules.clone()
            }
            .text_of(of("en"), Some(214), true),
            "Guests of 214 flats, for stays of 2 nights or more; not through direct, airbnb."
        );
        let rules = Rules {
            max_los: NO_MAXIMUM,
            ..Rules::default()
        };
        assert_eq!(
            rules.text_of(of("en"), Some(0), true),
            "It is assigned to no flat yet, so nobody gets it."
        );
        assert_eq!(
            Rules {
                min_los: 2,
                ..rules.clone()
            }
            .text_of(of("en"), Some(0), true),
            "It is assigned to no flat yet, so nobody gets it. For stays of 2 nights or more."
        );
        assert_eq!(
            rules.text_of(of("fr"), Some(1), true),
            "Tout voyageur de 1 logement la reçoit."
        );
        assert_eq!(
            rules.text_of(of("en"), Some(686), false),
            "It is switched off, so nobody gets it. When it is on: Every guest of 686 flats gets it."
        );
        let short = Rules {
            min_los: 1,
            lead_time_min_days: Some(1),
            ..rules
        };
        assert_eq!(
            short.text_of(of("en"), None, true),
            "For stays of 1 night or more; booked at least 1 day ahead."
        );
        assert_eq!(
            Counts {
                tag_count: 2,
                ..Counts::default()
            }
            .text(of("fr")),
            "Affectée à : étiquettes : 2."
        );
    }
}
