//! The building blocks of request bodies: fields that may be left out, and texts with a form.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::moment::Moment;

/// A field that may be left out. Where `T` is an `Option`, `null` is a value of its own: it clears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<T>(Option<T>);

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Field<T> {
    /// The value, where one was sent.
    pub const fn sent(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, where one was sent.
    pub fn into_sent(self) -> Option<T> {
        self.0
    }

    /// Overwrites `target` with what was sent, if anything.
    pub fn apply<S>(self, target: &mut S)
    where
        T: StoredAs<S>,
    {
        if let Some(value) = self.0 {
            *target = value.stored();
        }
    }
}

/// What is sent as one type and stored as another, or as it is.
pub trait StoredAs<S> {
    /// As it is stored.
    fn stored(self) -> S;
}

impl<T> StoredAs<T> for T {
    fn stored(self) -> T {
        self
    }
}

/// Declares a resource, each field once: `name: type = value` is how it is stored and answered, with what it is in a new
/// resource, and in a stored one of a version that did not have it. Below that, where it can be written, stands what its writer
/// is told and the type it is `sent as`. What [`StoredAs`] cannot do for it is done `by hand`: by the operation.
///
/// A resource that is answered as it is stored needs no more. One of which answers say less names a third struct, `answered as`:
/// the fields that are marked `answered`, in their order, with what the attributes beside the mark make of them (a part is
/// flattened), and a copy of a field under a second name.
///
/// The second struct is what a request says of the resource, null and left out told apart. Its own fields are those that are
/// sent and never stored under their name. The others are parts of the stored one, whose fields stand beside the rest wherever
/// they are sent.
#[macro_export]
macro_rules! resource {
    (
        $(#[$stored_meta:meta])*
        pub struct $stored:ident {
            $(
                $(#[$meta:meta])*
                $name:ident: $type:ty = $new:expr
                $(, answered $(#[$answered_meta:meta])* $(and as $(#[$copy_meta:meta])* $copy:ident)?)?
                $(, $(#[$sent_meta:meta])* sent as $sent:ty $(, by $hand:ident)?)?;
            )*
        }

        $(answered as $(#[$answer_meta:meta])* pub struct $answer:ident;)?

        $(#[$fields_meta:meta])*
        pub struct $fields:ident {
            $($(#[$only_meta:meta])* $only:ident: $only_type:ty;)*
        }

        $(
            $(#[$part_meta:meta])*
            pub struct $part:ident in $place:ident {
                $(
                    $(#[$inner_meta:meta])*
                    $inner:ident: $inner_type:ty = $inner_new:expr
                    $(, $(#[$inner_sent_meta:meta])* sent as $inner_sent:ty $(, by $inner_hand:ident)?)?;
                )*
            }
        )*
    ) => {
        $crate::resource!(@stored $(#[$stored_meta])* $stored { $($(#[$meta])* $name: $type = $new;)* });
        $crate::resource!(@answer [$($(#[$answer_meta])* $answer)?] of $stored, [] [] $(
            $(#[$meta])* $name: $type $(, answered $(#[$answered_meta])* $(and as $(#[$copy_meta])* $copy)?)?;
        )*);
        $($crate::resource!(@stored $(#[$part_meta])* $part { $($(#[$inner_meta])* $inner: $inner_type = $inner_new;)* });)*

        #[derive(Debug, Clone, Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        $(#[$fields_meta])*
        pub struct $fields {
            $($($(#[$sent_meta])* pub $name: $crate::field::Field<$sent>,)?)*
            $($(#[$only_meta])* pub $only: $crate::field::Field<$only_type>,)*
            $($($($(#[$inner_sent_meta])* pub $inner: $crate::field::Field<$inner_sent>,)?)*)*
        }

        impl $fields {
            /// Overwrites what was sent, but for what is done by hand.
            pub fn apply(self, target: &mut $stored) {
                let sent = self;
                $($($crate::resource!(@apply sent.$name as $sent, target $(, $hand)?);)?)*
                $($($($crate::resource!(@apply sent.$inner as $inner_sent, target.$place $(, $inner_hand)?);)?)*)*
            }
        }
    };
    (@stored $(#[$struct_meta:meta])* $stored:ident { $($(#[$meta:meta])* $name:ident: $type:ty = $new:expr;)* }) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", default)]
        #[schemars(!default)]
        $(#[$struct_meta])*
        pub struct $stored {
            $($(#[$meta])* pub $name: $type,)*
        }

        impl Default for $stored {
            fn default() -> Self {
                Self { $($name: $new,)* }
            }
        }
    };
    (@answer [] $($rest:tt)*) => {};
    (
        @answer [$($answer:tt)+] of $stored:ident, [$($declared:tt)*] [$($read:tt)*]
        $(#[$meta:meta])* $name:ident: $type:ty, answered $(#[$answered_meta:meta])* $(and as $(#[$copy_meta:meta])* $copy:ident)?;
        $($rest:tt)*
    ) => {
        $crate::resource!(@answer [$($answer)+] of $stored,
            [$($declared)* $(#[$meta])* $(#[$answered_meta])* $name: $type, $($(#[$copy_meta])* $copy: $type,)?]
            [$($read)* $name: $name, $($copy: $name,)?]
            $($rest)*
        );
    };
    (
        @answer [$($answer:tt)+] of $stored:ident, [$($declared:tt)*] [$($read:tt)*]
        $(#[$meta:meta])* $name:ident: $type:ty;
        $($rest:tt)*
    ) => {
        $crate::resource!(@answer [$($answer)+] of $stored, [$($declared)*] [$($read)*] $($rest)*);
    };
    (@answer [$(#[$answer_meta:meta])* $answer:ident] of $stored:ident, [$($declared:tt)*] [$($field:ident: $read:ident,)*]) => {
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        $(#[$answer_meta])*
        pub struct $answer {
            $($declared)*
        }

        impl From<&$stored> for $answer {
            fn from(stored: &$stored) -> Self {
                Self { $($field: Clone::clone(&stored.$read),)* }
            }
        }
    };
    (@apply $fields:ident.$name:ident as $sent:ty, $($target:ident).+) => {
        $fields.$name.apply(&mut $($target).+.$name)
    };
    (@apply $fields:ident.$name:ident as $sent:ty, $($target:ident).+, hand) => {};
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for Field<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The fields of a resource that a create must have.
pub trait Creatable: JsonSchema {
    /// Names of fields that may not be left out on create.
    const REQUIRED: &'static [&'static str];
    /// Names of fields that an update does not have.
    const CREATE_ONLY: &'static [&'static str] = &[];
    /// Names of fields that a create does not have.
    const UPDATE_ONLY: &'static [&'static str] = &[];
    /// Whether an update takes `expectedUpdatedAt`.
    const IS_GUARDED: bool = true;

    /// A complete create body, for the published document.
    fn example() -> Value;
}

/// The body of a create: a resource's fields at the top level, some of them required.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Create<T>(pub T);

impl<T: Creatable> JsonSchema for Create<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Create{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        remove_fields(&mut schema, T::UPDATE_ONLY);
        schema.insert("required".into(), json!(T::REQUIRED));
        schema.insert("examples".into(), json!([T::example()]));
        schema
    }
}

/// The body of an update: the fields to change under `data`, and the state they were read from.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Update<T> {
    /// What to update.
    pub id: uuid::Uuid,
    /// The fields to change; those left out keep their value.
    pub data: T,
    /// The `updatedAt` this change was made against; another one stored is a conflict.
    #[serde(default)]
    pub expected_updated_at: Option<Moment>,
}

impl<T: Creatable> JsonSchema for Update<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Update{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut example = T::example();
        if let Value::Object(fields) = &mut example {
            fields.retain(|name, _| !T::CREATE_ONLY.contains(&name.as_str()));
        }
        let mut data = T::json_schema(generator);
        remove_fields(&mut data, T::CREATE_ONLY);
        data.insert("description".into(), "The fields to change; those left out keep their value.".into());
        let mut schema = schemars::json_schema!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "format": "uuid", "description": "Id of what is changed, as lists and creates give it." },
                "data": data,
                "expectedUpdatedAt": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "The `updatedAt` that this was made against: 409 when it is another by now. \
                        Null or left out: the change overwrites whatever is there.",
                },
            },
            "required": ["id", "data"],
            "additionalProperties": false,
            "examples": [{ "data": example }],
        });
        if !T::IS_GUARDED {
            remove_fields(&mut schema, &["expectedUpdatedAt"]);
        }
        schema
    }
}

fn remove_fields(schema: &mut Schema, names: &[&str]) {
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Declares a text type that is checked by a JSON Schema before it is ever made, and is stored as it is, or by a function that may
/// find that it is none.
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

        /// A text that can be changed, and not cleared.
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
    /// An address that an app's people may be sent back to.
    RedirectUri, { "type": "string", "format": "redirect-uri", "maxLength": 2000 }
);
text!(
    /// An absolute http or https URL, or the empty string, which clears.
    HttpUrlOrEmpty, { "type": "string", "format": "http-url-or-empty", "maxLength": 2048 }, stored by unless_empty
);
text!(
    /// A mail address.
    EmailAddress, { "type": "string", "format": "email", "maxLength": 254 }
);
text!(
    /// A phone number in any common format; numbers without a country's prefix are read as of the organization's country. Once
    /// validated it is in international form.
    PhoneNumber, { "type": "string", "format": "phone", "maxLength": 60 }
);
text!(
    /// A colour: `#` and three or six hexadecimal digits.
    HexColor, { "type": "string", "pattern": "^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" }, stored by expanded
);
text!(
    /// A name of 1 to 60 characters, not blank.
    Name60, { "type": "string", "minLength": 1, "maxLength": 60, "pattern": "\\S" }
);
text!(
    /// A name on the platform interface. May be empty: real listings have such names.
    Label, { "type": "string", "maxLength": 1000 }
);
text!(
    /// A language as a BCP 47 tag.
    Language, { "type": "string", "format": "language", "maxLength": crate::format::LANGUAGE_LENGTH }
);
text!(
    /// A country as its two-letter ISO 3166-1 code.
    Country, { "type": "string", "format": "country" }
);
text!(
    /// A short guest-facing text: up to 200 characters after trimming.
    Copy200, { "type": "string", "maxLength": 200, "x-trimmed": true }
);
text!(
    /// A guest-facing text as it is: 1 to 6000 characters, not blank.
    Text6000, { "type": "string", "minLength": 1, "maxLength": 6000, "pattern": "\\S" }
);
text!(
    /// A text of up to 2000 characters, as it is.
    Text2000, { "type": "string", "maxLength": 2000 }
);
text!(
    /// A text of 1 to 2000 characters, not blank, as it is.
    Note2000, { "type": "string", "minLength": 1, "maxLength": 2000, "pattern": "\\S" }
);
text!(
    /// A text of 1 to 200 characters, not blank.
    Text200, { "type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S" }
);
text!(
    /// A text of up to 200 characters, as it is.
    UpTo200, { "type": "string", "maxLength": 200 }
);
text!(
    /// A text of up to 5000 characters, as it is.
    Text5000, { "type": "string", "maxLength": 5000 }
);
text!(
    /// A heading of 1 to 200 characters after trimming.
    CategoryTitle, { "type": "string", "minLength": 1, "maxLength": 200, "x-trimmed": true }
);
text!(
    /// A long text of up to 50,000 characters, as it is.
    Text50000, { "type": "string", "maxLength": 50_000 }
);
text!(
    /// A long guest-facing text: up to 6000 characters after trimming.
    Copy6000, { "type": "string", "maxLength": 6000, "x-trimmed": true }
);

/// Declares a number type that is checked by a JSON Schema before it is ever made.
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
    /// A number of things, of days or of nights, or a place in an order.
    Count(u32), i32::MAX
);
number!(
    /// An age in years.
    Age(u32), 150
);
number!(
    /// An amount in cents, as far as every JSON reader counts exactly.
    Cents(u64), 9_007_199_254_740_991_u64
);

fn unless_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A colour with six digits for the three of the shorthand; the letters keep their case.
fn expanded(color: String) -> Option<String> {
    let digits = color.strip_prefix('#')?;
    if digits.len() != 3 {
        return Some(color);
    }
    Some(std::iter::once('#').chain(digits.chars().flat_map(|digit| [digit, digit])).collect())
}

/// A name as names are compared: trimmed, NFC, full case folding. The same on both databases.
#[must_use]
pub fn folded(name: &str) -> String {
    case_folded(name.trim())
}

/// A text as it is searched for and in: the same without regard to case, blanks and all.
#[must_use]
pub fn case_folded(text: &str) -> String {
    use caseless::Caseless as _;
    use unicode_normalization::UnicodeNormalization as _;
    text.nfc().default_case_fold().nfc().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shorthand_colours_are_expanded() {
        let stored = |color: &str| -> String { HexColor(color.into()).stored() };
        assert_eq!(stored("#aB3"), "#aaBB33");
        assert_eq!(stored("#aB3Cd4"), "#aB3Cd4");
    }

    #[test]
    fn names_that_read_the_same_are_the_same() {
        assert_eq!(folded("  Straße "), folded("STRASSE"));
        assert_eq!(folded("Caf\u{e9}"), folded("CAFE\u{301}"));
        assert_ne!(folded("Casa Azul"), folded("Casa  Azul"));
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(name: String) {
            prop_assert_eq!(folded(&folded(&name)), folded(&name));
        }
    }
}
