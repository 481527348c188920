//! What is asked of a guest: how each field is labelled, filled in by a browser, and called in an address.

use crate::words::Words;

/// What is asked of the guest who booked, where a step names nothing; a host cannot do without what is marked.
const USUAL: [(&str, bool); 4] = [("firstName", true), ("lastName", true), ("email", true), ("phone", false)];
/// What is asked of the others, where a step names nothing.
const OTHERS: [(&str, bool); 2] = [("firstName", true), ("lastName", false)];

/// A field of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail<'n> {
    /// Its name, as the step has it.
    pub name: &'n str,
    /// Whether the step is incomplete without it.
    pub is_required: bool,
}

/// The fields that are asked of a guest.
#[must_use]
pub fn asked(required: &[String], is_other: bool) -> Vec<Detail<'_>> {
    if required.is_empty() {
        let usual: &'static [(&'static str, bool)] = if is_other { &OTHERS } else { &USUAL };
        return usual.iter().map(|(name, is_required)| Detail { name, is_required: *is_required }).collect();
    }
    required.iter().map(|name| Detail { name, is_required: true }).collect()
}

impl<'n> Detail<'n> {
    /// What it is called; a name that nobody knows stands for itself.
    #[must_use]
    pub fn label(&self, words: &'static Words) -> &'n str {
        words.guest_field(self.name).unwrap_or(self.name)
    }

    /// What helps to fill it in.
    #[must_use]
    pub fn hint(&self, words: &'static Words) -> Option<&'static str> {
        words.guest_field_hint(self.name)
    }

    /// The type of its input.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.name {
            "email" => "email",
            "phone" => "tel",
            "birthDate" => "date",
            _ => "text",
        }
    }

    /// What a browser fills in by itself, of the guest whose browser it is.
    #[must_use]
    pub fn autocomplete(&self) -> &'static str {
        match self.name {
            "firstName" => "given-name",
            "lastName" => "family-name",
            "email" => "email",
            "phone" => "tel",
            "birthDate" => "bday",
            "gender" => "sex",
            "address" => "street-address",
            "city" => "address-level2",
            "postalCode" => "postal-code",
            "country" => "country-name",
            _ => "off",
        }
    }

    /// What can be chosen, where that is a list: the value that is sent, and what it is called.
    #[must_use]
    pub fn choices(&self, words: &'static Words) -> Vec<(&'static str, &'static str)> {
        match self.name {
            "gender" => words.genders().to_vec(),
            "documentType" => words.document_types().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// What a kind of document is called; nothing for one that is not among the usual.
#[must_use]
pub fn document(kind: &str, words: &'static Words) -> Option<&'static str> {
    let kind = match kind {
        "id_card" | "national_id" | "id" => "identity_card",
        "driving_license" | "driver_license" | "drivers_license" => "driving_licence",
        other => other,
    };
    words.document_types().into_iter().find(|(known, _)| *known == kind).map(|(_, name)| name)
}

/// The name of a guest's field in the form of the others.
#[must_use]
pub fn field_of(guest: usize, name: &str) -> String {
    format!("g.{guest}.{name}")
}

/// Which guest a field is of, and which of theirs.
#[must_use]
pub fn guest_of(field: &str) -> Option<(usize, &str)> {
    let (number, name) = field.strip_prefix("g.")?.split_once('.')?;
    let guest = number.parse().ok()?;
    (field == field_of(guest, name)).then_some((guest, name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_step_requires_is_asked_and_else_the_usual() {
        let names =
            |details: Vec<Detail<'_>>| details.iter().map(|detail| (detail.name.to_owned(), detail.is_required)).collect::<Vec<_>>();
        let usual = names(asked(&[], false));
        assert_eq!(usual.iter().filter(|(_, is_required)| *is_required).count(), 3);
        assert_eq!(names(asked(&["birthDate".into(), "Car".into()], true)), [("birthDate".into(), true), ("Car".into(), true)]);
    }

    proptest! {
        #[test]
        fn a_field_is_read_as_it_was_written(guest in 0..60_usize, name in "[a-zA-Z .]{1,12}", other in ".{0,12}") {
            let field = field_of(guest, &name);
            prop_assert_eq!(guest_of(&field), Some((guest, name.as_str())));
            if let Some((guest, name)) = guest_of(&other) {
                prop_assert_eq!(field_of(guest, name), other);
            }
        }
    }
}
