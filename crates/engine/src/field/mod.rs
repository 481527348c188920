//! Building blocks of request bodies: optional fields, the declaration of resources, the create and
//! update bodies of resources, and types of values.

mod bodies;
mod names;
mod resource;
mod values;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

pub use bodies::{Creatable, Create, Update};
pub use names::{fold_case, fold_name};
pub use resource::{Beside, FormField, PLACE, SECTION, write_sections};
pub use values::{
    Age, CategoryTitle, Cents, Copy200, Copy6000, Count, Country, Currency, EmailAddress, HexColor,
    HttpUrl, HttpUrlOrEmpty, Label, Language, Name60, Note2000, PhoneNumber, RedirectUri, Text200,
    Text2000, Text5000, Text6000, Text50000, TextsByLanguage, TimeZone, UpTo200,
};

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

    /// Consumes the field, and returns its value if the field was sent.
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
