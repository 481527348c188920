//! Types of fields: texts and numbers that a JSON Schema validates.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::StoredAs;

/// Declares a text type that a JSON Schema validates before it is constructed. The text is stored
/// unchanged, or converted by a function that may return `None`.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $schema:tt) => {
        text!($(#[$doc])* $name, $schema, stored by Some);
    };
    ($(#[$doc:meta])* $name:ident, $schema:tt, stored by $stored:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!($schema)
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl StoredAs<String> for $name {
            fn stored(self) -> String {
                $stored(self.0).unwrap_or_default()
            }
        }

        /// Stores the text in an optional field. A request can change such a text but not clear it.
        impl StoredAs<Option<String>> for $name {
            fn stored(self) -> Option<String> {
                $stored(self.0)
            }
        }

        impl StoredAs<Option<String>> for Option<$name> {
            fn stored(self) -> Option<String> {
                self.and_then(|text| $stored(text.0))
            }
        }

        impl StoredAs<Option<Vec<String>>> for Option<Vec<$name>> {
            fn stored(self) -> Option<Vec<String>> {
                self.map(|texts| texts.into_iter().map(StoredAs::stored).collect())
            }
        }
    };
}

text!(
    /// An absolute http or https URL.
    HttpUrl, { "type": "string", "format": "http-url", "maxLength": 2048 }
);
text!(
    /// An address to which an OAuth app's users may be redirected.
    RedirectUri, { "type": "string", "format": "redirect-uri", "maxLength": 2000 }
);
text!(
    /// An absolute http or https URL. The empty string clears the stored value.
    HttpUrlOrEmpty, { "type": "string", "format": "http-url-or-empty", "maxLength": 2048 },
    stored by unless_empty
);
text!(
    /// A mail address.
    EmailAddress, { "type": "string", "format": "email", "maxLength": 254 }
);
text!(
    /// A phone number in any common format. A number without a country prefix is read as a number
    /// of the organization's country. Validation converts it to international form.
    PhoneNumber, { "type": "string", "format": "phone", "maxLength": 60 }
);
text!(
    /// A colour: `#` and three or six hexadecimal digits.
    HexColor, { "type": "string", "pattern": "^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" },
    stored by expand_color
);
text!(
    /// A name of 1 to 60 characters, not blank.
    Name60, { "type": "string", "minLength": 1, "maxLength": 60, "format": "not-blank" }
);
text!(
    /// A name in the records that the platform sends. It may be empty, because real listings have
    /// empty names.
    Label, { "type": "string", "maxLength": 1000 }
);
text!(
    /// A language as a BCP 47 tag.
    Language,
    { "type": "string", "format": "language", "maxLength": crate::format::LANGUAGE_LENGTH }
);
text!(
    /// A country as its two-letter ISO 3166-1 code.
    Country, { "type": "string", "format": "country" }
);
text!(
    /// An IANA time zone, such as `Europe/Madrid`.
    TimeZone, { "type": "string", "format": "time-zone" }
);
text!(
    /// A currency as its ISO 4217 code, in any case. It is stored in capitals.
    Currency, { "type": "string", "format": "currency" }, stored by to_capitals
);
text!(
    /// A short guest-facing text: up to 200 characters after trimming.
    Copy200, { "type": "string", "maxLength": 200, "x-trimmed": true }
);
text!(
    /// A guest-facing text, stored untrimmed: 1 to 6000 characters, not blank.
    Text6000, { "type": "string", "minLength": 1, "maxLength": 6000, "format": "not-blank" }
);
/// A guest-facing text by language. The object has 1 to 50 fields, each with a BCP 47 tag as its
/// name and a text of 1 to 6000 characters that is not blank.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct TextsByLanguage(pub BTreeMap<String, String>);

impl TextsByLanguage {
    /// Returns the first tag whose language an earlier tag has too, such as `en` after `EN`.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        let mut languages = BTreeSet::new();
        self.0
            .keys()
            .find(|tag| !languages.insert(crate::format::language(tag)))
            .map(String::as_str)
    }
}

impl JsonSchema for TextsByLanguage {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TextsByLanguage".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": 50,
            "propertyNames": Language::json_schema(generator),
            "additionalProperties": Text6000::json_schema(generator),
        })
    }
}

text!(
    /// A text of up to 2000 characters, stored untrimmed.
    Text2000, { "type": "string", "maxLength": 2000 }
);
text!(
    /// A text of 1 to 2000 characters, not blank, stored untrimmed.
    Note2000, { "type": "string", "minLength": 1, "maxLength": 2000, "format": "not-blank" }
);
text!(
    /// A text of 1 to 200 characters, not blank.
    Text200, { "type": "string", "minLength": 1, "maxLength": 200, "format": "not-blank" }
);
text!(
    /// A text of up to 200 characters, stored untrimmed.
    UpTo200, { "type": "string", "maxLength": 200 }
);
text!(
    /// A text of up to 5000 characters, stored untrimmed.
    Text5000, { "type": "string", "maxLength": 5000 }
);
text!(
    /// A heading of 1 to 200 characters after trimming.
    CategoryTitle, { "type": "string", "minLength": 1, "maxLength": 200, "x-trimmed": true }
);
text!(
    /// A long text of up to 50,000 characters, stored untrimmed.
    Text50000, { "type": "string", "maxLength": 50_000 }
);
text!(
    /// A long guest-facing text: up to 6000 characters after trimming.
    Copy6000, { "type": "string", "maxLength": 6000, "x-trimmed": true }
);

/// Declares a type for whole numbers from 0 to `$maximum`. Its JSON Schema contains these limits,
/// which are checked before a value of the type is created.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($type:ty), $maximum:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $type);

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": $maximum })
            }
        }

        impl StoredAs<$type> for $name {
            fn stored(self) -> $type {
                self.0
            }
        }

        impl StoredAs<Option<$type>> for Option<$name> {
            fn stored(self) -> Option<$type> {
                self.map(StoredAs::stored)
            }
        }
    };
}

number!(
    /// A number of items, days or nights, or a position in an order.
    Count(u32), i32::MAX
);
number!(
    /// An age in years.
    Age(u32), 150
);
number!(
    /// An amount in cents. The maximum is the largest integer that every JSON reader represents
    /// exactly.
    Cents(u64), 9_007_199_254_740_991_u64
);

fn unless_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Converts a currency code to capitals.
#[expect(
    clippy::unnecessary_wraps,
    reason = "other texts may be stored as none"
)]
fn to_capitals(code: String) -> Option<String> {
    Some(code.to_ascii_uppercase())
}

/// Expands a three-digit colour to six digits. The case of the letters does not change.
fn expand_color(color: String) -> Option<String> {
    let digits = color.strip_prefix('#')?;
    if digits.len() != 3 {
        return Some(color);
    }
    Some(
        std::iter::once('#')
            .chain(digits.chars().flat_map(|digit| [digit, digit]))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorthand_colours_are_expanded() {
        let stored = |color: &str| -> String { HexColor(color.into()).stored() };
        assert_eq!(stored("#aB3"), "#aaBB33");
        assert_eq!(stored("#aB3Cd4"), "#aB3Cd4");
    }
}
