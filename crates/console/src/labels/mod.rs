//! Labels and help texts of fields.
//!
//! In English, the label is derived from the field's name, and the help text is the summary in the
//! field's schema. So a new field has both without further work. For some fields,
//! `texts/en/fields.ftl` contains better texts. In other languages, all labels and help texts come
//! from that language's `fields.ftl`. A test fails if a label is missing.

use features::words::in_language;
use texts::{Label, fields, values};

use super::form::FieldSpec;

/// Returns the label of a field from the label table. If the table has none, derives a label from
/// the name of the field.
pub fn label(language: &str, name: &str) -> String {
    find(language, name)
        .and_then(|label| label.text)
        .map_or_else(|| plain(name), str::to_owned)
}

/// Returns the help text of a field. It comes from the label table, otherwise from the field's
/// schema.
pub fn help(language: &str, spec: &FieldSpec) -> String {
    hint(language, &spec.name, &spec.summary)
}

fn hint(language: &str, name: &str, summary: &str) -> String {
    let is_english = !fields::LANGUAGES[1..].contains(&language);
    let hint = match find(language, name) {
        // The label table has the field in this language but no help text for it. The summary in
        // the schema is English, so it is not used in other languages.
        Some(label) if !is_english => label.hint.unwrap_or_default(),
        Some(label) => label.hint.unwrap_or(summary),
        None => summary,
    };
    hint.to_owned()
}

/// Returns the label of a guest field or a document type that a step asks for. The guest's page
/// shows the same label.
pub fn asked(language: &str, name: &str) -> String {
    let words = in_language(language).0;
    let document = || {
        words
            .document_types()
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, called)| called)
    };
    words
        .guest_field(name)
        .or_else(document)
        .unwrap_or(name)
        .to_owned()
}

/// Returns the label of a value in a selection list.
pub fn choice(language: &str, value: &str) -> String {
    values::label(language, value)
        .and_then(|label| label.text)
        .map_or_else(|| capitalized(&value.replace('_', " ")), str::to_owned)
}

/// Returns the description of a category of rules from the label table. Returns `None` if the table
/// has no description. The form then shows the description in the schema.
pub fn rule(language: &str, category: &str) -> Option<&'static str> {
    values::label(language, category).and_then(|label| label.hint)
}

/// Finds the label and the help text of a field. If the label table lacks a field such as
/// `titleId`, returns those of `title`.
fn find(language: &str, name: &str) -> Option<&'static Label> {
    fields::label(language, name).or_else(|| fields::label(language, name.strip_suffix("Id")?))
}

/// Derives a label from the name of a field. For example, `isChatEnabled` becomes "Chat enabled".
fn plain(name: &str) -> String {
    let name = name
        .strip_suffix("MlTextId")
        .or_else(|| name.strip_suffix("Id"))
        .unwrap_or(name);
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(if letter == '_' {
            ' '
        } else {
            letter.to_ascii_lowercase()
        });
    }
    capitalized(words.strip_prefix("is ").unwrap_or(&words))
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use engine::operation::{Effect, Surface, inline_generator};
    use serde_json::Value;
    use vestibule::app::app;

    use super::*;
    use crate::form::extensions::summary;

    /// The operations whose input a form shows.
    const FORMS: [&str; 9] = [
        "createPortal",
        "updatePortal",
        "createPortalBranding",
        "updatePortalBranding",
        "createPrecheckStep",
        "updatePrecheckStep",
        "createPortalManual",
        "updatePortalManual",
        "createPortalManualCategory",
    ];
    /// Fields that no generated form shows.
    const UNSHOWN: [&str; 13] = [
        "id",
        "data",
        "expectedUpdatedAt",
        "questions",
        "options",
        "conditions",
        "kind",
        "textMlTextId",
        "texts",
        "nameMlTextId",
        "optionId",
        "questionIndex",
        "optionIndex",
    ];

    /// Collects the names of the fields in a schema, and the values that a member can choose for
    /// them.
    fn collect(schema: &Value, names: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if field["deprecated"] != true && field.get("const").is_none() {
                names.insert(name.clone());
                if name != "questions" {
                    collect(field, names, values);
                }
            }
        }
        values.extend(
            schema["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
        collect_each(&schema["items"], names, values);
        for shapes in ["anyOf", "oneOf"] {
            schema[shapes]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|shape| collect(shape, names, values));
        }
    }

    fn collect_each(items: &Value, names: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
        if items.is_object() {
            collect(items, names, values);
        }
    }

    #[test]
    fn form_fields_and_values_have_spanish_and_french_labels() {
        let (mut names, mut values) = (BTreeSet::new(), BTreeSet::new());
        for form in FORMS {
            let schema = app()
                .operation(form)
                .unwrap()
                .input_schema(&mut inline_generator());
            collect(&schema, &mut names, &mut values);
        }
        let lacks_name =
            |name: &&String| !UNSHOWN.contains(&name.as_str()) && find("es", name).is_none();
        let names: Vec<_> = names.iter().filter(lacks_name).collect();
        let values: Vec<_> = values
            .iter()
            .filter(|value| values::label("es", value).is_none())
            .collect();
        assert!(
            names.is_empty() && values.is_empty(),
            "fields without a name: {names:?}; values: {values:?}"
        );
    }

    /// Every field that a client can send needs a label, because refusals and the audit log show
    /// that label.
    #[test]
    fn every_sent_field_has_a_spanish_and_french_label() {
        /// Fields that need no label, because neither refusals nor the audit log show their names.
        const WITHOUT_LABEL: [&str; 3] = ["id", "data", "expectedUpdatedAt"];
        let public = app().operations.iter().filter(|operation| {
            operation.surface == Surface::Public && operation.effect == Effect::Write
        });
        let mut names = BTreeSet::new();
        for operation in public {
            collect(
                &operation.input_schema(&mut inline_generator()),
                &mut names,
                &mut BTreeSet::new(),
            );
        }
        // The audit log also shows these fields, which are in no operation's input.
        let reported = [
            "status",
            "by",
            "languages",
            "country",
            "email",
            "isTwoFactorEnrolled",
            "redelivered",
            "returnTo",
            "tokenType",
            "token",
        ];
        let lacking: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .chain(reported)
            .filter(|name| !WITHOUT_LABEL.contains(name))
            .collect();
        let lacking: Vec<&str> = lacking
            .into_iter()
            .filter(|name| !UNSHOWN.contains(name) && find("es", name).is_none())
            .collect();
        assert!(lacking.is_empty(), "{lacking:?}");
    }

    /// The audit log shows the statuses of stays and tasks. The test omits the status
    /// `in_progress`, because its label is that of the pre-check-in status with the same name.
    #[test]
    fn every_status_in_the_audit_log_has_a_spanish_and_french_label() {
        for status in ["open", "completed", "confirmed", "tentative", "cancelled"] {
            for language in ["es", "fr"] {
                assert!(
                    values::label(language, status).is_some(),
                    "{language} {status}"
                );
            }
        }
    }

    /// Collects the fields of a schema and of the objects in it, each with its summary. Leaves out
    /// deprecated fields and fields with a constant value.
    fn described(schema: &Value, found: &mut BTreeSet<(String, String)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if field["deprecated"] != true && field.get("const").is_none() {
                found.insert((name.clone(), summary(field)));
                described(field, found);
            }
        }
        if schema["items"].is_object() {
            described(&schema["items"], found);
        }
        for shapes in ["anyOf", "oneOf"] {
            schema[shapes]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|shape| described(shape, found));
        }
    }

    /// A member who fills in a form does not know the names of fields in the REST interface. So
    /// help texts must not contain such names.
    #[test]
    fn help_texts_contain_no_identifiers_of_the_api() {
        /// `IN_NO_FORM` has the fields that no form contains; the test skips their help texts.
        /// `NAMES` has the names of brands, which help texts may contain.
        const IN_NO_FORM: [&str; 3] = ["answer", "displayTitleLanguage", "displayTitleMlTextId"];
        const NAMES: [&str; 2] = ["WhatsApp", "LinkedIn"];
        let is_name = |word: &str| {
            let letters: Vec<char> = word.chars().collect();
            !NAMES.contains(&word)
                && (word.contains('_')
                    || letters
                        .windows(2)
                        .any(|two| two[0].is_lowercase() && two[1].is_uppercase()))
        };
        let mut found = BTreeSet::new();
        for form in FORMS {
            described(
                &app()
                    .operation(form)
                    .unwrap()
                    .input_schema(&mut inline_generator()),
                &mut found,
            );
        }
        assert!(found.len() > 100);
        for (name, summary) in found.iter().filter(|(name, _)| {
            !UNSHOWN.contains(&name.as_str()) && !IN_NO_FORM.contains(&name.as_str())
        }) {
            for language in ["en", "es", "fr"] {
                let hint = hint(language, name, summary);
                let words = hint.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                assert_eq!(
                    words.filter(|word| is_name(word)).collect::<Vec<_>>(),
                    [""; 0],
                    "{name}: {hint}"
                );
            }
        }
    }

    /// The form shows the fields of a rule together, so each needs a different label.
    #[test]
    fn the_fields_of_a_manual_rule_have_distinct_labels() {
        let schema = app()
            .operation("updatePortalManual")
            .unwrap()
            .input_schema(&mut inline_generator());
        let rules = schema
            .pointer("/properties/data/properties/visibilityRules/items")
            .unwrap();
        for shape in rules["oneOf"]
            .as_array()
            .or(rules["anyOf"].as_array())
            .unwrap()
        {
            let names = || shape["properties"].as_object().unwrap().keys();
            for language in ["en", "es", "fr"] {
                let labels: BTreeSet<String> = names().map(|name| label(language, name)).collect();
                assert_eq!(labels.len(), names().count(), "{labels:?}");
            }
        }
    }

    #[test]
    fn guest_fields_have_the_labels_of_the_guest_page() {
        for (language, birth, passport) in [
            ("en", "Date of birth", "Passport"),
            ("es", "Fecha de nacimiento", "Pasaporte"),
        ] {
            assert_eq!(
                [
                    asked(language, "birthDate"),
                    asked(language, "passport"),
                    asked(language, "Car")
                ],
                [birth, passport, "Car"]
            );
        }
    }

    #[test]
    fn field_names_become_readable_labels() {
        for (name, expected) in [
            ("isChatEnabled", "Chat enabled"),
            ("supportPhone", "Support phone"),
            ("guestDescriptionMlTextId", "Guest description"),
            ("x", "X"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }
}
