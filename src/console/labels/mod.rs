//! What fields are called and what they are for.
//!
//! In English the name of a field and the schema's description say it, so a field that is new is there at once; [`fields`] has a better
//! name for some. Spanish and French are in the tables alone, and a test names what is missing there.

mod fields;
mod values;

use super::form::{Spec, brief};
use crate::words::in_language;

/// A field: what it is called in English (nothing where its name says it), Spanish and French, and what it is for in the latter two; in
/// all three where the schema's description is for whoever asks the interface.
pub(super) struct Label {
    pub name: &'static str,
    pub called: [&'static str; 3],
    pub about: &'static [&'static str],
}

impl Label {
    /// What it is for, where that is said here.
    fn about(&self, language: &str) -> Option<&'static str> {
        (place(language) + self.about.len()).checked_sub(self.called.len()).and_then(|place| self.about.get(place)).copied()
    }
}

/// What a field is called.
pub fn label(language: &str, name: &str) -> String {
    let known = find(name).map(|label| label.called[place(language)]).filter(|text| !text.is_empty());
    known.map_or_else(|| plain(name), str::to_owned)
}

/// What a field is for.
pub fn help(language: &str, spec: &Spec) -> String {
    hint(language, &spec.name, &spec.description)
}

fn hint(language: &str, name: &str, description: &str) -> String {
    find(name).and_then(|label| label.about(language)).map_or_else(|| brief(description), str::to_owned)
}

/// What a name is called that a step asks guests for: as their own page calls it.
pub fn asked(language: &str, name: &str) -> String {
    let words = in_language(language).0;
    let document = || words.document_types().into_iter().find(|(known, _)| *known == name).map(|(_, called)| called);
    words.guest_field(name).or_else(document).unwrap_or(name).to_owned()
}

/// What a value to choose is called.
pub fn choice(language: &str, value: &str) -> String {
    let known = values::VALUES.iter().find(|(known, _)| *known == value).map(|(_, called)| called[place(language)]);
    known.map_or_else(|| capitalized(&value.replace('_', " ")), str::to_owned)
}

/// What a rule of a category says, where it is not the schema that says it.
pub fn rule(language: &str, category: &str) -> Option<&'static str> {
    let known = values::RULES.iter().find(|(known, _)| *known == category).map(|(_, about)| about);
    match language {
        "es" => known.map(|about| about[0]),
        "fr" => known.map(|about| about[1]),
        _ => None,
    }
}

/// A field of a name; one that links a text is called what the text is.
fn find(name: &str) -> Option<&'static Label> {
    let of = |name: &str| fields::FIELDS.iter().find(|label| label.name == name);
    of(name).or_else(|| of(name.strip_suffix("Id")?))
}

fn place(language: &str) -> usize {
    match language {
        "es" => 1,
        "fr" => 2,
        _ => 0,
    }
}

/// The name of a field in words: `isChatEnabled` is Chat enabled.
fn plain(name: &str) -> String {
    let name = name.strip_suffix("MlTextId").or_else(|| name.strip_suffix("Id")).unwrap_or(name);
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(if letter == '_' { ' ' } else { letter.to_ascii_lowercase() });
    }
    capitalized(words.strip_prefix("is ").unwrap_or(&words))
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use engine::operation::{Effect, Surface, inline_generator};
    use serde_json::Value;

    use super::*;
    use crate::app::app;

    /// What forms are made of.
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
    /// What is said by other means than a form.
    const UNSHOWN: [&str; 12] = [
        "id",
        "data",
        "expectedUpdatedAt",
        "questions",
        "options",
        "conditions",
        "kind",
        "textMlTextId",
        "nameMlTextId",
        "optionId",
        "questionIndex",
        "optionIndex",
    ];

    /// The names of fields in a schema, and the values there are to choose from.
    fn collect(schema: &Value, names: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if field["deprecated"] != true && field.get("const").is_none() {
                names.insert(name.clone());
                if name != "questions" {
                    collect(field, names, values);
                }
            }
        }
        values.extend(schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
        collect_each(&schema["items"], names, values);
        for shapes in ["anyOf", "oneOf"] {
            schema[shapes].as_array().into_iter().flatten().for_each(|shape| collect(shape, names, values));
        }
    }

    fn collect_each(items: &Value, names: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
        if items.is_object() {
            collect(items, names, values);
        }
    }

    #[test]
    fn fields_and_values_are_called_something_in_spanish_and_french() {
        let (mut names, mut values) = (BTreeSet::new(), BTreeSet::new());
        for form in FORMS {
            let schema = app().operation(form).unwrap().input_schema(&mut inline_generator());
            collect(&schema, &mut names, &mut values);
        }
        let lacks_name = |name: &&String| !UNSHOWN.contains(&name.as_str()) && find(name).is_none();
        let names: Vec<_> = names.iter().filter(lacks_name).collect();
        let values: Vec<_> = values.iter().filter(|value| !super::values::VALUES.iter().any(|(known, _)| known == value)).collect();
        assert!(names.is_empty() && values.is_empty(), "fields without a name: {names:?}; values: {values:?}");
    }

    /// Of what is refused and of what the audit log tells, the field is named.
    #[test]
    fn every_field_that_is_sent_is_called_something_in_spanish_and_french() {
        /// What no change is of, and no refusal.
        const BESIDE: [&str; 3] = ["id", "data", "expectedUpdatedAt"];
        let public = app().operations.iter().filter(|operation| operation.surface == Surface::Public && operation.effect == Effect::Write);
        let mut names = BTreeSet::new();
        for operation in public {
            collect(&operation.input_schema(&mut inline_generator()), &mut names, &mut BTreeSet::new());
        }
        // What things have that are changed by other means, and what is told of what was done.
        let told =
            ["status", "by", "languages", "country", "email", "isTwoFactorEnrolled", "redelivered", "returnTo", "tokenType", "token"];
        let lacking: Vec<&str> = names.iter().map(String::as_str).chain(told).filter(|name| !BESIDE.contains(name)).collect();
        let lacking: Vec<&str> = lacking.into_iter().filter(|name| !UNSHOWN.contains(name) && find(name).is_none()).collect();
        assert!(lacking.is_empty(), "{lacking:?}");
    }

    /// What a schema says of its fields, by their names.
    fn described(schema: &Value, found: &mut BTreeSet<(String, String)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if field["deprecated"] != true && field.get("const").is_none() {
                found.insert((name.clone(), field["description"].as_str().unwrap_or_default().to_owned()));
                described(field, found);
            }
        }
        if schema["items"].is_object() {
            described(&schema["items"], found);
        }
        for shapes in ["anyOf", "oneOf"] {
            schema[shapes].as_array().into_iter().flatten().for_each(|shape| described(shape, found));
        }
    }

    /// Whoever fills in a form knows nothing of the interface's names.
    #[test]
    fn no_hint_has_a_name_of_the_interface() {
        /// What no form asks for, and what is a name to everybody.
        const BESIDE: [&str; 3] = ["answer", "displayTitleLanguage", "displayTitleMlTextId"];
        const NAMES: [&str; 2] = ["WhatsApp", "LinkedIn"];
        let is_name = |word: &str| {
            let letters: Vec<char> = word.chars().collect();
            !NAMES.contains(&word) && (word.contains('_') || letters.windows(2).any(|two| two[0].is_lowercase() && two[1].is_uppercase()))
        };
        let mut found = BTreeSet::new();
        for form in FORMS {
            described(&app().operation(form).unwrap().input_schema(&mut inline_generator()), &mut found);
        }
        assert!(found.len() > 100);
        for (name, description) in found.iter().filter(|(name, _)| !UNSHOWN.contains(&name.as_str()) && !BESIDE.contains(&name.as_str())) {
            for language in ["en", "es", "fr"] {
                let hint = hint(language, name, description);
                let words = hint.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                assert_eq!(words.filter(|word| is_name(word)).collect::<Vec<_>>(), [""; 0], "{name}: {hint}");
            }
        }
    }

    /// Fields of a form that stand beside each other are told apart.
    #[test]
    fn a_rule_of_a_manual_has_labels_that_differ() {
        let schema = app().operation("updatePortalManual").unwrap().input_schema(&mut inline_generator());
        let rules = schema.pointer("/properties/data/properties/visibilityRules/items").unwrap();
        for shape in rules["oneOf"].as_array().or(rules["anyOf"].as_array()).unwrap() {
            let names = || shape["properties"].as_object().unwrap().keys();
            for language in ["en", "es", "fr"] {
                let labels: BTreeSet<String> = names().map(|name| label(language, name)).collect();
                assert_eq!(labels.len(), names().count(), "{labels:?}");
            }
        }
    }

    #[test]
    fn what_is_said_is_said() {
        for label in fields::FIELDS {
            let [_, spanish, french] = label.called;
            assert!(!spanish.is_empty() && !french.is_empty(), "{} is not called anything", label.name);
            assert!(matches!(label.about.len(), 2 | 3), "{}", label.name);
            assert!(label.about.iter().all(|text| text.is_empty() || text.ends_with('.')), "{}", label.name);
        }
        let names: BTreeSet<_> = fields::FIELDS.iter().map(|label| label.name).collect();
        assert_eq!(names.len(), fields::FIELDS.len());
    }

    #[test]
    fn what_guests_are_asked_for_is_called_as_on_their_page() {
        for (language, birth, passport) in [("en", "Date of birth", "Passport"), ("es", "Fecha de nacimiento", "Pasaporte")] {
            assert_eq!([asked(language, "birthDate"), asked(language, "passport"), asked(language, "Car")], [birth, passport, "Car"]);
        }
    }

    #[test]
    fn a_name_says_what_it_is() {
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
