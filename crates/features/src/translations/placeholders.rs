//! Placeholders in guest-facing texts: `{{property.name}}`, `{{custom.Door code}}` (rules:
//! translations#placeholders).
//!
//! This file defines placeholders and their names, and ensures that a machine translation contains
//! them unchanged. `guest/placeholders.rs` fills in the values of a stay.

use std::collections::HashMap;
use std::fmt::Write as _;

use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::operation::Object;
use serde_json::Value;
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use crate::records::{RecordKind, all_records};

/// The prefix of a placeholder's name that refers to a custom field.
const CUSTOM: &str = "custom.";

/// A value of a stay that can replace a placeholder.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsRefStr, EnumString, VariantArray,
)]
pub enum StayValue {
    #[strum(serialize = "property.name")]
    PropertyName,
    #[strum(serialize = "property.address")]
    PropertyAddress,
    #[strum(serialize = "property.checkInTime")]
    CheckInTime,
    #[strum(serialize = "property.checkOutTime")]
    CheckOutTime,
    #[strum(serialize = "property.wifiName")]
    WifiName,
    #[strum(serialize = "property.wifiPassword")]
    WifiPassword,
    #[strum(serialize = "guest.firstName")]
    GuestFirstName,
    #[strum(serialize = "stay.checkIn")]
    CheckIn,
    #[strum(serialize = "stay.checkOut")]
    CheckOut,
    #[strum(serialize = "stay.nights")]
    Nights,
}

/// A known placeholder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Placeholder {
    /// A value of the stay or its flat.
    Stay(StayValue),
    /// The value of the custom field with this name. The name is stored in the form in which names
    /// are compared.
    Custom(String),
}

impl Placeholder {
    /// Returns the placeholder with this name; `None` for an unknown name.
    fn by_name(name: &str) -> Option<Self> {
        if let Some(field) = name.strip_prefix(CUSTOM) {
            return Some(Self::Custom(key(field)));
        }
        name.parse().ok().map(Self::Stay)
    }
}

/// A part of a text: a placeholder, or the text between two placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TextPiece<'t> {
    /// A part without placeholders.
    Text(&'t str),
    /// A placeholder. `name` is its name, and `whole` is the whole placeholder with its braces.
    Named { name: &'t str, whole: &'t str },
}

impl TextPiece<'_> {
    /// Returns the known placeholder in this part; `None` for a part without a placeholder and for
    /// an unknown name.
    pub(crate) fn placeholder(&self) -> Option<Placeholder> {
        match self {
            Self::Text(_) => None,
            Self::Named { name, .. } => Placeholder::by_name(name),
        }
    }
}

/// Splits a text at its placeholders. Words in double braces without a dot are ordinary text.
pub(crate) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(end) = text[from..].find("}}").map(|offset| from + offset) {
        let placeholder = text[start..end]
            .rfind("{{")
            .map(|offset| start + offset)
            .and_then(|open| Some((open, name_in(&text[open + 2..end])?)));
        // There may be three braces, as in `{{{name}}}`, so the search continues after the first
        // closing brace.
        from = end + 1;
        if let Some((open, name)) = placeholder {
            if open > start {
                pieces.push(TextPiece::Text(&text[start..open]));
            }
            let whole = &text[open..end + 2];
            pieces.push(TextPiece::Named { name, whole });
            (start, from) = (end + 2, end + 2);
        }
    }
    if start < text.len() {
        pieces.push(TextPiece::Text(&text[start..]));
    }
    pieces
}

/// Returns the trimmed text between double braces if it has the form of a placeholder's name, such
/// as `property.name`.
fn name_in(inside: &str) -> Option<&str> {
    let name = inside.trim();
    let (group, rest) = name.split_once('.')?;
    let is_name = !group.is_empty()
        && group
            .chars()
            .all(|character| character.is_ascii_alphabetic())
        && !rest.trim().is_empty()
        && !name.contains(['{', '}', '\n', '\r']);
    is_name.then_some(name)
}

/// Returns whether a text has a placeholder, known or not.
pub(crate) fn has_placeholders(text: &str) -> bool {
    text.contains("{{")
        && pieces(text)
            .iter()
            .any(|piece| matches!(piece, TextPiece::Named { .. }))
}

/// Returns a custom field's name in lower case and without surrounding spaces, the form in which
/// names of custom fields are compared.
fn key(name: &str) -> String {
    name.trim().to_lowercase()
}

/// A custom field, with the data that is needed to fill in its placeholders.
#[derive(Debug, Clone)]
pub(crate) struct CustomField {
    pub id: Uuid,
    /// The default value of the custom field. It applies to each flat that has no value of its own.
    pub value: Option<Value>,
}

/// Returns the custom fields of the organization by name, in the form in which names are compared.
pub(crate) fn custom_fields(
    context: &mut Context<'_, '_>,
) -> Result<HashMap<String, Vec<CustomField>>> {
    let mut fields = HashMap::<String, Vec<CustomField>>::new();
    for (id, mut data) in all_records::<Object>(context, RecordKind::CustomField)? {
        let Some(name) = data.get("name").and_then(Value::as_str).map(key) else {
            continue;
        };
        let value = data.remove("value");
        fields
            .entry(name)
            .or_default()
            .push(CustomField { id, value });
    }
    Ok(fields)
}

/// Fails with 400 if a linked text contains an unknown placeholder. `path` is the path of the text
/// in the request.
pub(crate) fn check_placeholders(
    context: &mut Context<'_, '_>,
    path: &[&str],
    text: &str,
) -> Result<()> {
    match unknown_placeholder(context, [text])? {
        Some(reason) => Err(Error::invalid(path, reason)),
        None => Ok(()),
    }
}

/// Returns the reason to refuse the first unknown or ambiguous placeholder in these texts.
pub(crate) fn unknown_placeholder<'t>(
    context: &mut Context<'_, '_>,
    texts: impl IntoIterator<Item = &'t str>,
) -> Result<Option<Reason>> {
    let mut fields = None;
    for text in texts {
        for piece in pieces(text) {
            let TextPiece::Named { name, whole } = piece else {
                continue;
            };
            match Placeholder::by_name(name) {
                None => return Ok(Some(unknown(whole))),
                Some(Placeholder::Stay(_)) => {}
                Some(Placeholder::Custom(field)) => {
                    if fields.is_none() {
                        fields = Some(custom_fields(context)?);
                    }
                    let fields_of_name = fields.as_ref().and_then(|fields| fields.get(&field));
                    match fields_of_name.map_or(0, Vec::len) {
                        0 => return Ok(Some(unknown(whole))),
                        1 => {}
                        _ => return Ok(Some(ambiguous(whole))),
                    }
                }
            }
        }
    }
    Ok(None)
}

fn unknown(whole: &str) -> Reason {
    let known: Vec<&str> = StayValue::VARIANTS.iter().map(AsRef::as_ref).collect();
    Reason::rule(
        "unknown_placeholder",
        format!(
            "names {whole}, which is unknown; known are {} and custom.NAME for a custom field",
            known.join(", ")
        ),
    )
}

fn ambiguous(whole: &str) -> Reason {
    Reason::rule(
        "ambiguous_placeholder",
        format!("names {whole}, but several custom fields have this name"),
    )
}

/// A text whose placeholders are replaced by numbers in double braces. Translators usually do not
/// change these numbers.
pub(super) struct NumberedText<'t> {
    /// The text for the translator, in which a number in double braces replaces each placeholder.
    pub text: String,
    /// The placeholders, in the order of their numbers.
    wholes: Vec<&'t str>,
}

impl<'t> NumberedText<'t> {
    /// Replaces the placeholders of a text by numbers. Returns `None` if the text has no
    /// placeholders.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let mut numbered = Self {
            text: String::with_capacity(text.len()),
            wholes: Vec::new(),
        };
        for piece in pieces(text) {
            match piece {
                TextPiece::Text(part) => numbered.text.push_str(part),
                TextPiece::Named { whole, .. } => {
                    numbered.wholes.push(whole);
                    // Writing to a String cannot fail.
                    let _ = write!(numbered.text, "{{{{{}}}}}", numbered.wholes.len());
                }
            }
        }
        (!numbered.wholes.is_empty()).then_some(numbered)
    }

    /// Puts the placeholders back into a translation. Returns `None` if the translation lost,
    /// repeated or invented a placeholder.
    pub(super) fn restore_placeholders(&self, translated: &str) -> Option<String> {
        let mut restored = String::with_capacity(translated.len());
        let mut seen = vec![false; self.wholes.len()];
        let mut rest = translated;
        while let Some(open) = rest.find("{{") {
            let (before, from_braces) = rest.split_at(open);
            let (inside, after) = from_braces[2..].split_once("}}")?;
            let number: usize = inside.trim().parse().ok()?;
            let index = number.checked_sub(1)?;
            let whole = self.wholes.get(index)?;
            if std::mem::replace(seen.get_mut(index)?, true) {
                return None;
            }
            restored.push_str(before);
            restored.push_str(whole);
            rest = after;
        }
        restored.push_str(rest);
        seen.into_iter().all(|is_seen| is_seen).then_some(restored)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let name = |piece| match piece {
            TextPiece::Named { name, .. } => Some(name),
            TextPiece::Text(_) => None,
        };
        pieces(text).into_iter().filter_map(name).collect()
    }

    #[test]
    fn placeholders_are_found_in_texts() {
        assert_eq!(
            names("Hi {{guest.firstName}}, see {{ custom.Door code }}."),
            ["guest.firstName", "custom.Door code"]
        );
        assert_eq!(names("{{{property.name}}}"), ["property.name"]);
        assert_eq!(names("{{a {{property.name}} b}}"), ["property.name"]);
        for text in [
            "{{word}}",
            "{{}}",
            "{{.name}}",
            "{{property.}}",
            "{{property.\nname}}",
            "{{3.5}}",
            "{property.name}",
            "}} {{",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
            assert!(!has_placeholders(text), "{text}");
        }
    }

    #[test]
    fn every_value_is_named_as_documented() {
        for value in StayValue::VARIANTS {
            let text = format!("{{{{ {} }}}}", value.as_ref());
            let found = pieces(&text)[0].placeholder();
            assert_eq!(found, Some(Placeholder::Stay(*value)));
        }
        assert_eq!(Placeholder::by_name("property.Name"), None);
        assert_eq!(Placeholder::by_name("guest.email"), None);
        assert_eq!(
            Placeholder::by_name("custom.DOOR Code"),
            Some(Placeholder::Custom("door code".into()))
        );
    }

    #[test]
    fn a_translator_that_loses_a_placeholder_is_noticed() {
        let numbered = NumberedText::of("{{guest.firstName}} at {{property.name}}").unwrap();
        assert_eq!(numbered.text, "{{1}} at {{2}}");
        assert_eq!(
            numbered
                .restore_placeholders("en {{ 2 }}, {{1}}")
                .as_deref(),
            Some("en {{property.name}}, {{guest.firstName}}")
        );
        for lost in [
            "en {{2}}",
            "{{1}} {{1}} {{2}}",
            "{{1}} {{2}} {{3}}",
            "{{1}} {{2} }",
        ] {
            assert_eq!(numbered.restore_placeholders(lost), None, "{lost}");
        }
        assert!(NumberedText::of("{{word}}").is_none());
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_text_make_the_text(text in "[a.{} \n]{0,40}") {
            let joined: String = pieces(&text)
                .into_iter()
                .map(|piece| match piece {
                    TextPiece::Text(part) => part,
                    TextPiece::Named { whole, .. } => whole,
                })
                .collect();
            prop_assert_eq!(joined, text);
        }
    }
}
