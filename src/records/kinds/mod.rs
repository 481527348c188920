//! What records hold, a declaration a kind.
//!
//! A field is declared once, by `record!`: the line above it is its description in the published document, its type is what
//! sync holds it against, and where a rule reads it, it says as what. The types are in [`values`]; some of them say more than
//! what a field looks like: which record it names, or that no read returns it.

/// Declares a record, or a part of one, by its fields: `name: type` is what it must hold to be let in. One that may be left out,
/// or be null, is an `Option`. Where rules read it, it stands behind it what it is `read as`; the others are kept and no
/// rule's concern, whatever has been stored under their name. The struct that comes of it has the fields that are read.
///
/// A field that is younger than the records of its kind is read `where it fits`: they may hold anything under its name, and that
/// is then none.
///
/// Below the fields stands an example of what a read returns, but for the id and the timestamps. What has none is shown by its
/// name alone.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* } $(example $example:tt)?) => {
        record!(@sort [$(#[$meta])* $name $(example $example)?] [] [] $($fields)*);
    };
    (@sort $record:tt [$($held:tt)*] [$($read:tt)*] $(#[$doc:meta])* $field:ident: $type:ty, read where it fits as $as:ty; $($rest:tt)*) => {
        record!(
            @sort $record [$($held)* $(#[$doc])* $field: $type,]
            [$($read)* $(#[$doc])* #[serde(default, deserialize_with = "crate::records::kinds::where_it_fits")] pub $field: $as,] $($rest)*
        );
    };
    (@sort $record:tt [$($held:tt)*] [$($read:tt)*] $(#[$doc:meta])* $field:ident: $type:ty, read as $as:ty; $($rest:tt)*) => {
        record!(@sort $record [$($held)* $(#[$doc])* $field: $type,] [$($read)* $(#[$doc])* pub $field: $as,] $($rest)*);
    };
    (@sort $record:tt [$($held:tt)*] $read:tt $(#[$doc:meta])* $field:ident: $type:ty; $($rest:tt)*) => {
        record!(@sort $record [$($held)* $(#[$doc])* $field: $type,] $read $($rest)*);
    };
    (@sort [$(#[$meta:meta])* $name:ident $(example $example:tt)?] [$($held:tt)*] [$($read:tt)*]) => {
        #[derive(Debug, Clone, serde::Deserialize)]
        $(#[$meta])*
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($read)*
        }

        impl $crate::records::kinds::Declared for $name {
            fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                #[derive(schemars::JsonSchema)]
                #[schemars(rename_all = "camelCase")]
                $(#[schemars(example = serde_json::json!($example))])?
                #[expect(dead_code, reason = "its fields are there for their schemas")]
                struct Held {
                    $($held)*
                }
                <Held as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}

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

pub use devices::Device;
pub use properties::Property;
pub use reservations::{Guest, Reservation, ReservationStatus, VerificationStatus};
pub(super) use reviews::{Review, photo_urls};
pub(super) use setup::{CustomUrl, Image, Instruction, Named, PaymentAccount};
pub use tasks::{Task, TaskStatus};
pub(super) use values::{NAMES, WITHHELD};
pub use workflows::{Workflow, WorkflowNode, WorkflowStepRun};

/// Something whose fields are declared by `record!`.
pub(super) trait Declared {
    /// The JSON Schema of all its fields, with the marks of [`values`].
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// What is no value of the type is none.
fn where_it_fits<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(deserializer).map(|value| serde_json::from_value(value).ok())
}

/// A flat, in examples.
const FLAT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";
