//! Describes which guests must fill in a detail.

use features::words::fill;
use serde_json::{Map, Value};

use crate::labels;
use crate::words::ConsoleWords;

/// Returns a sentence that says which guests must fill in a detail.
pub fn describe(
    words: &ConsoleWords,
    language: &str,
    field: &str,
    rule: &Map<String, Value>,
) -> String {
    let steps = &words.steps;
    let age = |name: &str| {
        let age = rule.get(name).and_then(Value::as_u64);
        age.map(|age| age.to_string())
    };
    let ages = match (age("minimumAge"), age("maximumAge")) {
        (None, None) => None,
        (Some(from), None) => Some(fill(steps.rule_from, &[("from", &from)])),
        (None, Some(to)) => Some(fill(steps.rule_to, &[("to", &to)])),
        (Some(from), Some(to)) => Some(fill(steps.rule_between, &[("from", &from), ("to", &to)])),
    };
    let nations = rule.get("nationalities").and_then(Value::as_array);
    let nations = nations.map(|codes| {
        let codes: Vec<&str> = codes.iter().filter_map(Value::as_str).collect();
        fill(steps.rule_nations, &[("codes", &codes.join(", "))])
    });
    let part = match rule.get("only").and_then(Value::as_str) {
        Some("lead") => Some(steps.rule_lead.to_owned()),
        Some("others") => Some(steps.rule_others.to_owned()),
        _ => None,
    };
    let parts: Vec<String> = [ages, nations, part].into_iter().flatten().collect();
    let label = labels::asked(language, field);
    let guests = if parts.is_empty() {
        steps.rule_all.to_owned()
    } else {
        parts.join("; ")
    };
    words.frame.labelled(&label, &guests)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::of;

    #[test]
    fn a_rule_is_described_in_a_sentence() {
        for (language, field, rule, expected) in [
            (
                "en",
                "documentNumber",
                json!({ "minimumAge": 14 }),
                "Document number: guests from the age of 14",
            ),
            (
                "en",
                "secondLastName",
                json!({ "nationalities": ["ES", "PT"], "only": "others" }),
                "Second last name: nationality ES, PT; only the other guests",
            ),
            (
                "en",
                "Shoe size",
                json!({ "minimumAge": 3, "maximumAge": 12, "only": "lead" }),
                "Shoe size: guests from the age of 3 to 12; only the guest who booked",
            ),
            ("en", "Shoe size", json!({}), "Shoe size: every guest"),
            (
                "fr",
                "Pointure",
                json!({ "maximumAge": 12 }),
                "Pointure : voyageurs jusqu’à l’âge de 12 ans",
            ),
        ] {
            let rule = rule.as_object().unwrap();
            assert_eq!(describe(of(language), language, field, rule), expected);
        }
    }
}
