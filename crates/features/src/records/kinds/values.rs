//! Types for the fields in `record!` declarations. Each type only supplies a JSON Schema and is
//! never instantiated.
//!
//! Two internal schema keywords, [`REFERENCE_KEYWORD`] and [`WITHHELD_KEYWORD`], mark references
//! and withheld fields. `kind.rs` removes them before a schema is published.

use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;
use strum::VariantArray;

use super::DeclaredFields;
use crate::records::RecordKind;

/// The schema keyword that marks the id of another record. Its value is the kind of that record.
pub(in crate::records) const REFERENCE_KEYWORD: &str = "x-names";
/// The schema keyword that marks a field that no read of the public interface and no webhook
/// returns.
pub(in crate::records) const WITHHELD_KEYWORD: &str = "x-withheld";

/// Implements `JsonSchema` for a type. The schema is inlined into the record's schema, instead of
/// becoming a named definition with a `$ref`.
macro_rules! inline {
    ($generator:pat, $schema:expr) => {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> std::borrow::Cow<'static, str> {
            std::any::type_name::<Self>().into()
        }

        fn json_schema($generator: &mut SchemaGenerator) -> Schema {
            $schema
        }
    };
}

/// Declares a type by its JSON Schema.
macro_rules! value {
    ($(#[$doc:meta])* $name:ident, $schema:tt) => {
        $(#[$doc])*
        pub(super) enum $name {}

        impl JsonSchema for $name {
            inline!(_, json_schema!($schema));
        }
    };
}

/// Declares the type of a field that contains the id of another record. Sync refuses unknown ids.
/// When the other record is deleted, the service empties the field, so rules read an `Option`.
macro_rules! reference {
    ($(#[$doc:meta])* $name:ident to $kind:ident) => {
        value!(
            $(#[$doc])*
            $name,
            { "type": "string", "format": "uuid", REFERENCE_KEYWORD: RecordKind::$kind }
        );
    };
}

reference!(
    /// The id of a property.
    PropertyId to Property
);
reference!(
    /// The id of a group of properties.
    PropertyGroupId to PropertyGroup
);
reference!(
    /// The id of a tag.
    TagId to Tag
);
reference!(
    /// The id of a reservation.
    ReservationId to Reservation
);
reference!(
    /// The id of a workflow.
    WorkflowId to Workflow
);
reference!(
    /// The id of a department.
    DepartmentId to Department
);

value!(
    /// A text of up to 20,000 characters.
    LongText, { "type": "string", "maxLength": 20_000 }
);
value!(
    /// A calendar day, such as `2026-12-11`.
    Day, { "type": "string", "format": "date" }
);
value!(
    /// A time of day, such as `15:00`.
    TimeOfDay, { "type": "string", "format": "time-of-day" }
);
value!(
    /// An IANA time zone.
    TimeZone, { "type": "string", "format": "time-zone" }
);
value!(
    /// A language as a BCP 47 tag. The service stores null in place of any other value.
    LanguageTag, { "type": ["string", "number", "boolean"], "maxLength": 65_536 }
);
value!(
    /// An address: one text, or an object with fields that the platform defines.
    Address, { "type": ["string", "object"], "additionalProperties": true }
);
value!(
    /// A latitude, in degrees north of the equator.
    Latitude, { "type": "number", "minimum": -90, "maximum": 90 }
);
value!(
    /// A longitude, in degrees east of Greenwich.
    Longitude, { "type": "number", "minimum": -180, "maximum": 180 }
);
value!(
    /// An absolute https URL.
    HttpsUrl, { "type": "string", "format": "https-url", "maxLength": 2048 }
);
value!(
    /// An absolute http or https URL of any length.
    WebUrl, { "type": "string", "format": "http-url" }
);
value!(
    /// An ISO 4217 code of a currency, in upper or lower case.
    CurrencyCode, { "type": "string", "format": "currency" }
);
value!(
    /// The identifier of a booking channel.
    Channel, { "type": "string", "minLength": 1, "maxLength": 200 }
);
value!(
    /// A number of people.
    Headcount, { "type": "integer", "minimum": 0, "maximum": 1000 }
);
value!(
    /// An amount in the minor unit of a currency.
    Cents, { "type": "integer", "minimum": 0, "maximum": 100_000_000_000_i64 }
);
value!(
    /// A zero-based position in a list.
    Place, { "type": "integer", "minimum": 0 }
);
value!(
    /// A rating from 1 to 5.
    Rating, { "type": "number", "minimum": 1, "maximum": 5 }
);

/// One of the values of an enum.
pub(super) struct OneOf<E>(PhantomData<E>);

impl<E: VariantArray + Serialize> JsonSchema for OneOf<E> {
    inline!(_, json_schema!({ "type": "string", "enum": E::VARIANTS }));
}

/// The value of a field that a record must have, but whose value may be null.
pub(super) struct OrNull<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    inline!(generator, Option::<T>::json_schema(generator));
}

/// A list of at most `MOST` items.
pub(super) struct AtMost<const MOST: usize, T>(PhantomData<T>);

impl<const MOST: usize, T: JsonSchema> JsonSchema for AtMost<MOST, T> {
    inline!(
        generator,
        json_schema!({ "type": "array", "items": T::json_schema(generator), "maxItems": MOST })
    );
}

/// An object with one value for each name; a value may be null.
pub(super) struct MapByName<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for MapByName<T> {
    inline!(
        generator,
        json_schema!({
            "type": "object",
            "additionalProperties": Option::<T>::json_schema(generator),
        })
    );
}

/// An object inside a record, declared by `record!`.
pub(super) struct NestedObject<T>(PhantomData<T>);

impl<T: DeclaredFields> JsonSchema for NestedObject<T> {
    inline!(generator, T::schema(generator));
}

/// A value that no read of the public interface and no webhook returns.
pub(super) struct WithheldField<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for WithheldField<T> {
    inline!(generator, {
        let mut schema = T::json_schema(generator);
        schema.insert(WITHHELD_KEYWORD.into(), Value::Bool(true));
        schema
    });
}
