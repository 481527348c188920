//! Building blocks of request bodies: optional fields, and texts of a given form.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::moment::Moment;

/// A field that a request may omit. If `T` is an `Option`, an explicit `null` clears the stored
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<T>(Option<T>);

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Field<T> {
    /// Returns the value, if the field was sent.
    pub const fn sent(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Returns the value, if the field was sent.
    pub fn into_sent(self) -> Option<T> {
        self.0
    }

    /// Overwrites `target` with the value, if the field was sent.
    pub fn apply<S>(self, target: &mut S)
    where
        T: StoredAs<S>,
    {
        if let Some(value) = self.0 {
            *target = value.stored();
        }
    }
}

/// A conversion from the type in a request to the stored type.
pub trait StoredAs<S> {
    /// Returns the value as it is stored.
    fn stored(self) -> S;
}

impl<T> StoredAs<T> for T {
    fn stored(self) -> T {
        self
    }
}

/// Declares an enum whose values are stored and sent by their names in snake case.
#[macro_export]
macro_rules! stored_enum {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident { $($variants:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[derive(strum::AsRefStr, strum::EnumString, strum::VariantArray)]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        $visibility enum $name { $($variants)* }
    };
}

/// Declares a resource, each field once.
///
/// `name: type = value` declares a field that is stored and returned. `value` is its default in a
/// new resource, and in a resource that was stored by a version without the field. If clients can
/// write the field, the description for clients and the type of the request field follow, after
/// `sent as`. A field with `by hand` is not copied by [`StoredAs`]; the operation sets it.
///
/// A resource that is returned as it is stored needs nothing more. If the response has fewer
/// fields, `answered as` declares a third struct for it. That struct has the fields with the mark
/// `answered`, in order, with the attributes after the mark. After `and as`, a field is repeated
/// under a second name.
///
/// The second struct is the request body. It distinguishes a field with null from a missing field.
/// Fields that are declared in it are sent, but not stored under the same name.
///
/// Each struct after it is a part of the stored struct. In a request, the fields of these parts are
/// at the top level.
///
/// `in contact` puts a sent field into the section `contact` of the form. The fields of a section
/// are in the order of their declaration, except those that are `in contact after` or
/// `in contact before` another field of the section ([`FormField`]).
#[macro_export]
macro_rules! resource {
    (
        $(#[$stored_meta:meta])*
        pub struct $stored:ident {
            $(
                $(#[$meta:meta])*
                $name:ident: $type:ty = $new:expr
                $(, answered $(#[$answered_meta:meta])* $(and as $(#[$copy_meta:meta])* $copy:ident)?)?
                $(
                    , $(#[$sent_meta:meta])* sent as $sent:ty $(, by $hand:ident)?
                    $(, in $section:ident $(after $after:ident)? $(before $before:ident)?)?
                )?;
            )*
        }

        $(answered as $(#[$answer_meta:meta])* pub struct $answer:ident;)?

        $(#[$fields_meta:meta])*
        pub struct $fields:ident {
            $(
                $(#[$only_meta:meta])* $only:ident: $only_type:ty
                $(, in $only_section:ident $(after $only_after:ident)? $(before $only_before:ident)?)?;
            )*
        }

        $(
            $(#[$part_meta:meta])*
            pub struct $part:ident in $place:ident {
                $(
                    $(#[$inner_meta:meta])*
                    $inner:ident: $inner_type:ty = $inner_new:expr
                    $(
                        , $(#[$inner_sent_meta:meta])* sent as $inner_sent:ty $(, by $inner_hand:ident)?
                        $(, in $inner_section:ident $(after $inner_after:ident)? $(before $inner_before:ident)?)?
                    )?;
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
        #[schemars(transform = $fields::write_sections)]
        $(#[$fields_meta])*
        pub struct $fields {
            $($($(#[$sent_meta])* pub $name: $crate::field::Field<$sent>,)?)*
            $($(#[$only_meta])* pub $only: $crate::field::Field<$only_type>,)*
            $($($($(#[$inner_sent_meta])* pub $inner: $crate::field::Field<$inner_sent>,)?)*)*
        }

        impl $fields {
            /// Overwrites the fields that were sent, except those marked `by hand`.
            pub fn apply(self, target: &mut $stored) {
                let sent = self;
                $($($crate::resource!(@apply sent.$name as $sent, target $(, $hand)?);)?)*
                $($($($crate::resource!(@apply sent.$inner as $inner_sent, target.$place $(, $inner_hand)?);)?)*)*
            }

            /// Writes the section of each field of the form into a schema of the fields.
            fn write_sections(schema: &mut schemars::Schema) {
                $crate::field::write_sections(schema, &[
                    $($($($crate::resource!(@section $name $section $(after $after)? $(before $before)?),)?)?)*
                    $($($crate::resource!(@section $only $only_section $(after $only_after)? $(before $only_before)?),)?)*
                    $($($($($crate::resource!(
                        @section $inner $inner_section $(after $inner_after)? $(before $inner_before)?
                    ),)?)?)*)*
                ]);
            }
        }
    };
    (@section $name:ident $section:ident) => {
        $crate::field::FormField { name: stringify!($name), section: stringify!($section), beside: None }
    };
    (@section $name:ident $section:ident after $other:ident) => {
        $crate::field::FormField {
            name: stringify!($name),
            section: stringify!($section),
            beside: Some($crate::field::Beside::After(stringify!($other))),
        }
    };
    (@section $name:ident $section:ident before $other:ident) => {
        $crate::field::FormField {
            name: stringify!($name),
            section: stringify!($section),
            beside: Some($crate::field::Beside::Before(stringify!($other))),
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

/// A field of a form, with the section that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormField {
    /// Name of the field in Rust.
    pub name: &'static str,
    pub section: &'static str,
    /// The position of the field, if it does not follow the field that is declared before it.
    pub beside: Option<Beside>,
}

/// The position of a field in its section: directly before or after another field, which has this
/// name in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    After(&'static str),
    Before(&'static str),
}

/// The keyword in a field's schema for the section of the form that contains the field.
pub const SECTION: &str = "x-section";
/// The keyword in a field's schema for the field's position among all fields that have a section.
pub const PLACE: &str = "x-place";

/// Writes the section and the position of each field of a form into the schema of the fields.
/// `fields` must be in the order of declaration.
pub fn write_sections(schema: &mut Schema, fields: &[FormField]) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (position, field) in in_form_order(fields).into_iter().enumerate() {
        if let Some(Value::Object(property)) = properties.get_mut(&camel_case(field.name)) {
            property.insert(SECTION.into(), field.section.into());
            property.insert(PLACE.into(), position.into());
        }
    }
}

/// Returns the fields in the order of the form. A field beside an unknown field is last.
fn in_form_order(fields: &[FormField]) -> Vec<FormField> {
    let (mut placed, mut others): (Vec<FormField>, Vec<FormField>) = fields
        .iter()
        .copied()
        .partition(|field| field.beside.is_none());
    let position = |placed: &[FormField], beside: Beside| {
        let (Beside::After(other) | Beside::Before(other)) = beside;
        let position = placed.iter().position(|field| field.name == other)?;
        Some(position + usize::from(matches!(beside, Beside::After(_))))
    };
    // A field can be beside a field that this loop has not placed yet, so the search repeats.
    while let Some((index, position)) = others
        .iter()
        .enumerate()
        .find_map(|(index, field)| Some((index, position(&placed, field.beside?)?)))
    {
        placed.insert(position, others.remove(index));
    }
    placed.extend(others);
    placed
}

/// Returns the name of a field in JSON.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        name.chars().chain(initial).chain(letters).collect()
    })
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

/// The rules for a resource's fields in create and update bodies.
pub trait Creatable: JsonSchema {
    /// Names of fields that a create must send.
    const REQUIRED: &'static [&'static str];
    /// Names of fields that an update does not accept.
    const CREATE_ONLY: &'static [&'static str] = &[];
    /// Names of fields that a create does not accept.
    const UPDATE_ONLY: &'static [&'static str] = &[];
    /// Whether an update accepts `expectedUpdatedAt`.
    const IS_GUARDED: bool = true;

    /// Returns a complete create body, for the published document.
    fn example() -> Value;
}

/// The body of a create: the resource's fields at the top level, some of them required.
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

/// The body of an update: the fields to change under `data`, and the version of the resource that
/// the change is based on.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Update<T> {
    /// Id of the resource to update.
    pub id: uuid::Uuid,
    /// The fields to change; those left out keep their value.
    pub data: T,
    /// The `updatedAt` that the change is based on. The update conflicts if the stored value
    /// differs.
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
        data.insert(
            "description".into(),
            "The fields to change; those left out keep their value.".into(),
        );
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
    HttpUrlOrEmpty, { "type": "string", "format": "http-url-or-empty", "maxLength": 2048 }, stored by unless_empty
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
    HexColor, { "type": "string", "pattern": "^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$" }, stored by expand_color
);
text!(
    /// A name of 1 to 60 characters, not blank.
    Name60, { "type": "string", "minLength": 1, "maxLength": 60, "format": "not-blank" }
);
text!(
    /// A name on the platform interface. May be empty, because real listings have empty names.
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
/// A guest-facing text by language: at least one of up to 50 BCP 47 tags, each with a text of 1 to
/// 6000 characters that is not blank.
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

/// Declares a number type that a JSON Schema validates before it is constructed.
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
    /// A number of things, of days or of nights, or a position in an order.
    Count(u32), i32::MAX
);
number!(
    /// An age in years.
    Age(u32), 150
);
number!(
    /// An amount in cents. The maximum is the largest integer that every JSON reader keeps exact.
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

/// Returns a name in the form in which names are compared: trimmed, NFC, full case folding. Both
/// databases compare this form.
#[must_use]
pub fn fold_name(name: &str) -> String {
    fold_case(crate::typed::trim(name))
}

/// Returns a text in the form that searches use: NFC and case folded, but not trimmed.
#[must_use]
pub fn fold_case(text: &str) -> String {
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
    fn names_are_compared_without_case_and_composition() {
        assert_eq!(fold_name("  Straße "), fold_name("STRASSE"));
        assert_eq!(fold_name("Caf\u{e9}"), fold_name("CAFE\u{301}"));
        assert_ne!(fold_name("Casa Azul"), fold_name("Casa  Azul"));
    }

    #[test]
    fn fields_follow_their_declaration_or_the_field_beside_them() {
        let field = |name, beside| FormField {
            name,
            section: "basics",
            beside,
        };
        let fields = [
            field("a", Some(Beside::After("c"))),
            field("b", None),
            field("c", Some(Beside::Before("b"))),
            field("d", None),
            field("e", Some(Beside::After("nothing"))),
        ];
        let names = in_form_order(&fields).into_iter().map(|field| field.name);
        assert_eq!(names.collect::<Vec<_>>(), ["c", "a", "b", "d", "e"]);
    }

    #[test]
    fn a_schema_has_the_section_and_the_place_of_each_field() {
        let field = |name, section| FormField {
            name,
            section,
            beside: None,
        };
        let mut schema = schemars::json_schema!({
            "properties": { "isDefault": { "type": "boolean" }, "name": {}, "url": {} },
        });
        let fields = [field("name", "basics"), field("is_default", "links")];
        write_sections(&mut schema, &fields);
        let expected = json!({ "properties": {
            "isDefault": { "type": "boolean", "x-section": "links", "x-place": 1 },
            "name": { "x-section": "basics", "x-place": 0 },
            "url": {},
        } });
        assert_eq!(schema.to_value(), expected);
    }

    proptest! {
        #[test]
        fn folding_a_folded_name_changes_nothing(name: String) {
            prop_assert_eq!(fold_name(&fold_name(&name)), fold_name(&name));
        }
    }
}
