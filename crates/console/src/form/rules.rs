//! Form fields whose value maps names to rules. For example, `guestFieldRules` maps the name of a
//! guest field to a rule such as "required of guests over 18". This module suggests the names, and
//! finds faults that the operation cannot find.

use std::collections::HashSet;

use serde_json::Value;

use super::fill::subjects;
use super::spec::{FieldSpec, InputKind, RULE_NAME_FIELD};
use crate::labels;
use crate::request::{ConsoleFields, ConsoleRequest};

/// Returns the names that the form suggests, each with its label: the known names in `names`, and
/// the other names in `list`. If a name in `list` equals the label of a known name, that label also
/// contains the known name, as in `Phone (phone)`.
pub fn suggested(
    language: &str,
    names: &[&'static str],
    list: Option<&Value>,
) -> Vec<(String, String)> {
    let listed = list.and_then(Value::as_array).into_iter().flatten();
    let unknown: Vec<&str> = listed
        .filter_map(Value::as_str)
        .filter(|name| !names.contains(name))
        .collect();
    let of_known = |name: &&'static str| {
        let label = labels::asked(language, name);
        let is_ambiguous = unknown
            .iter()
            .any(|other| other.to_lowercase() == label.to_lowercase());
        let label = if is_ambiguous {
            format!("{label} ({name})")
        } else {
            label
        };
        ((*name).to_owned(), label)
    };
    let known = names.iter().map(of_known);
    let others = unknown
        .iter()
        .map(|name| ((*name).to_owned(), (*name).to_owned()));
    known.chain(others).collect()
}

/// Returns the faults in form fields whose value maps names to rules, such as `guestFieldRules`:
/// two rows of the form with the same name, and a row without a name. The operation cannot find
/// these faults, because its input is an object, in which each name occurs once.
pub fn faults(
    request: &ConsoleRequest,
    specs: &[FieldSpec],
    fields: &ConsoleFields,
) -> Vec<(Vec<String>, String)> {
    let words = &request.texts.forms;
    let mut faults = Vec::new();
    for spec in specs {
        let InputKind::Rules(parts) = &spec.kind else {
            continue;
        };
        let mut seen = HashSet::new();
        for (number, about) in subjects(parts, &spec.name, fields) {
            let is_blank = about.is_empty();
            let message = match (is_blank, seen.insert(about)) {
                (true, _) => words.rule_of_nothing,
                (false, false) => words.rule_twice,
                (false, true) => continue,
            };
            let path = vec![
                spec.name.clone(),
                number.to_string(),
                RULE_NAME_FIELD.to_owned(),
            ];
            faults.push((path, message.to_owned()));
        }
    }
    faults
}

/// Changes the path of an issue about a rule. The path names the rule by its key, such as the guest
/// field `phone`. The result has the number of the rule's row in the form instead, because the
/// names of the form fields contain that number.
pub fn in_row(path: &[String], specs: &[FieldSpec], fields: &ConsoleFields) -> Vec<String> {
    let [field, name, rest @ ..] = path else {
        return path.to_vec();
    };
    let parts = specs.iter().find_map(|spec| match &spec.kind {
        InputKind::Rules(parts) if spec.name == *field => Some(parts),
        _ => None,
    });
    let row = parts.and_then(|parts| {
        subjects(parts, field, fields)
            .into_iter()
            .find(|(_, about)| about == name)
    });
    let Some((number, _)) = row else {
        return path.to_vec();
    };
    let mut path = vec![field.clone(), number.to_string()];
    path.extend_from_slice(rest);
    if rest.is_empty() {
        path.push(RULE_NAME_FIELD.to_owned());
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_label_is_unambiguous() {
        let list = json!(["firstName", "Plate", "phone number"]);
        let known = suggested("en", &["firstName", "phone"], Some(&list));
        let label = |name: &str| {
            known
                .iter()
                .find(|(known, _)| known == name)
                .unwrap()
                .1
                .clone()
        };
        assert_eq!(label("Plate"), "Plate");
        assert_eq!(known.len(), 4);
        let own = json!([label("firstName").to_lowercase()]);
        let known = suggested("en", &["firstName"], Some(&own));
        let labels: HashSet<String> = known
            .iter()
            .map(|(_, label)| label.to_lowercase())
            .collect();
        assert_eq!(labels.len(), 2, "{known:?}");
        for language in ["en", "es", "fr"] {
            let names = &[
                "firstName",
                "lastName",
                "secondLastName",
                "documentType",
                "documentNumber",
            ];
            let known = suggested(language, names, None);
            let labels: HashSet<&String> = known.iter().map(|(_, label)| label).collect();
            assert_eq!(labels.len(), names.len(), "{language}");
        }
    }
}
