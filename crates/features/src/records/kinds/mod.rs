//! The fields of records, with one `record!` declaration per kind.
//!
//! `record!` declares each field once. The doc comment is the field's description in the published
//! document. The type (in [`values`]) defines the schema against which sync validates the field.
//! The type can also mark a field as a reference to another record, or as withheld from reads. If a
//! rule of the service reads the field, `read as` adds the Rust type in which the rule gets the
//! value.

/// Declares a record, or an object inside a record, by its fields. In `name: type`, sync accepts
/// the values of the type. A field with the type `Option` may be left out or null. With `read as`,
/// the generated struct has the field with the second type, and rules can read it. Fields without
/// `read as` are stored, but are not in the struct.
///
/// Use `read where it fits as` for a field that was added later, because older records may have any
/// value under its name. A value of another type reads as `None`.
///
/// Each field has a doc comment, and below it optional schema extensions in
/// `#[schemars(extend(…))]`.
///
/// The declaration ends with an example of the record as the read operations return it, without id
/// and timestamps. If the declaration has no example, the example has only a name.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* } $(example $example:tt)?) => {
        record!(@sort [$(#[$meta])* $name $(example $example)?] [] [] $($fields)*);
    };
    (
        @sort $record:tt [$($stored:tt)*] [$($read:tt)*]
        $(#[doc = $doc:literal])* $(#[schemars $extension:tt])*
        $field:ident: $type:ty, read where it fits as $as:ty; $($rest:tt)*
    ) => {
        record!(
            @sort $record [$($stored)* $(#[doc = $doc])* $(#[schemars $extension])* $field: $type,]
            [
                $($read)* $(#[doc = $doc])*
                #[serde(default, deserialize_with = "crate::records::kinds::where_it_fits")]
                pub $field: $as,
            ]
            $($rest)*
        );
    };
    (
        @sort $record:tt [$($stored:tt)*] [$($read:tt)*]
        $(#[doc = $doc:literal])* $(#[schemars $extension:tt])*
        $field:ident: $type:ty, read as $as:ty; $($rest:tt)*
    ) => {
        record!(
            @sort $record [$($stored)* $(#[doc = $doc])* $(#[schemars $extension])* $field: $type,]
            [$($read)* $(#[doc = $doc])* pub $field: $as,]
            $($rest)*
        );
    };
    (
        @sort $record:tt [$($stored:tt)*] $read:tt
        $(#[doc = $doc:literal])* $(#[schemars $extension:tt])*
        $field:ident: $type:ty; $($rest:tt)*
    ) => {
        record!(
            @sort $record [$($stored)* $(#[doc = $doc])* $(#[schemars $extension])* $field: $type,]
            $read
            $($rest)*
        );
    };
    (
        @sort [$(#[$meta:meta])* $name:ident $(example $example:tt)?]
        [$($stored:tt)*] [$($read:tt)*]
    ) => {
        #[derive(Debug, Clone, serde::Deserialize)]
        $(#[$meta])*
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($read)*
        }

        impl $crate::records::kinds::DeclaredFields for $name {
            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                #[derive(schemars::JsonSchema)]
                #[schemars(rename_all = "camelCase")]
                $(#[schemars(example = serde_json::json!($example))])?
                #[expect(dead_code, reason = "only the schema of this type is used")]
                struct AllFields {
                    $($stored)*
                }
                <AllFields as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}

mod by_hand;
mod devices;
mod properties;
mod reservations;
mod reviews;
mod setup;
mod tasks;
mod values;
mod workflows;

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

pub(super) use by_hand::{
    CheckAccountFields, CustomFieldFields, FeeFields, LockCodeFields, UpsellFields, WaiverFields,
};
pub use devices::{Device, DeviceType};
pub use properties::Property;
pub use reservations::{Guest, Reservation, ReservationStatus, VerificationStatus};
pub(crate) use reservations::{ImplausibleDates, implausible_dates, normalize_guest_language};
pub use reviews::SurveyKind;
pub(super) use reviews::{ReviewRecord, photo_urls};
pub(super) use setup::{
    CustomUrl, Instruction, ManualImage, NamedRecord, PaymentAccount, PricedRecord,
};
pub use tasks::{TaskRecord, TaskStatus};
pub(super) use values::{REFERENCE_KEYWORD, WITHHELD_KEYWORD};
pub(crate) use workflows::WorkflowSubject;
pub use workflows::{Workflow, WorkflowNode, WorkflowStepRun};

/// A type whose fields are declared by `record!`.
pub(super) trait DeclaredFields {
    /// Returns the JSON Schema of all fields. The schema contains the internal keywords of
    /// [`values`] that mark references and withheld fields.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// Deserializes a value. Returns `None` for a value that does not fit the type `T`, instead of an
/// error.
fn where_it_fits<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Value::deserialize(deserializer).map(|value| serde_json::from_value(value).ok())
}

/// The id of a flat in examples.
const FLAT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";
