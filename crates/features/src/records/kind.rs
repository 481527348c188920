//! The kinds of records that the platform synchronizes, and the properties of each kind: schema,
//! references to other records, read permission, size limit.
//!
//! [`kinds`](super::kinds) declares the fields of each kind. To add a kind, add a variant here and
//! a line in [`RecordKind::declaration`]. The compiler then names the other code that must change.

use std::sync::LazyLock;

use engine::access::Permission;
use engine::operation::inline_generator;
use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray};

use super::RecordOrigin;
use super::kinds::{
    CheckAccountFields, CustomFieldFields, FeeFields, LockCodeFields, UpsellFields, WaiverFields,
};
use super::kinds::{
    CustomUrl, DeclaredFields, Device, Instruction, ManualImage, NamedRecord, PaymentAccount,
    PricedRecord, Property, REFERENCE_KEYWORD, Reservation, ReviewRecord, TaskRecord,
    WITHHELD_KEYWORD, Workflow, WorkflowStepRun, photo_urls,
};

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    AsRefStr,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RecordKind {
    Property,
    PropertyGroup,
    Tag,
    Reservation,
    Task,
    Device,
    Review,
    Workflow,
    WorkflowStepRun,
    PaymentAccount,
    BackgroundCheckAccount,
    FeeProduct,
    DamageWaiver,
    CustomField,
    CustomUrl,
    Image,
    Upsell,
    LockCode,
    TaskTemplate,
    Department,
    Shift,
    ClockedShift,
    Instruction,
}

/// The records of a kind that a caller with access to only some properties can access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitedAccess {
    /// The records of the caller's properties, and the records without a property.
    OnProperties,
    /// The records to which the caller's properties link, such as their groups and tags.
    LinkedToProperties,
    /// A caller with access to only some properties can access no record of this kind.
    None,
}

/// The data of other modules that depends on records of a kind. When such a record is deleted or
/// changed, those modules match on this value to find the rows that they must update. Links from
/// steps and manuals need no variant, because the table `record_link` lists them for records of
/// every kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// The assignments to a flat, its calendar feeds, and the charges of its stays.
    Flat,
    /// For a group or a tag: the assignments of manuals, steps and portals to it.
    Assignments,
    /// For a reservation: the guest link, the answers, the submission and the charges of its stay.
    Stay,
    /// For a custom URL: the brandings that link the custom URL.
    Brandings,
    None,
}

/// A field of a record that contains the id of another record.
pub struct Reference {
    /// The name of the field that contains the id of another record.
    pub field: String,
    /// The kind of the record whose id the field contains.
    pub to: RecordKind,
}

/// A function that returns a JSON Schema of a record's fields.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The attributes of a record kind, as [`RecordKind::declaration`] declares them.
#[derive(Clone, Copy)]
struct Declaration {
    /// The JSON Schema of the record's data.
    schema: SchemaOf,
    /// The JSON Schema of the fields in forms and CSV files.
    by_hand: SchemaOf,
    /// The permission that reading a record needs.
    read_permission: Permission,
    /// Whether the kind is a stream, such as reservations: its records change with each stay.
    /// Records of other kinds are part of the organization's setup.
    is_stream: bool,
    /// Whether the schema names only the required fields; the platform defines all other fields.
    is_free: bool,
    /// Maximum size of a record's data as JSON, in bytes.
    data_limit: usize,
}

impl Declaration {
    const fn of<T: DeclaredFields>(read_permission: Permission) -> Self {
        Self {
            schema: T::schema,
            by_hand: T::schema,
            read_permission,
            is_stream: false,
            is_free: false,
            data_limit: 64 << 10,
        }
    }

    /// Sets the schema `T`, whose fields forms and CSV files have. It is for a kind whose own
    /// schema names only the required fields.
    const fn by_hand<T: DeclaredFields>(self) -> Self {
        Self {
            by_hand: T::schema,
            ..self
        }
    }

    /// Marks the kind as a stream: its records change with each stay, such as reservations. Records
    /// of other kinds are part of the organization's setup.
    const fn stream(self) -> Self {
        Self {
            is_stream: true,
            ..self
        }
    }

    /// Marks a kind whose schema names only the required fields; the platform defines the others.
    const fn free(self) -> Self {
        Self {
            is_free: true,
            ..self
        }
    }

    /// Raises the size limit for records of a kind with long texts. No list may return such
    /// records, because a page of them would be too large.
    const fn long(self) -> Self {
        Self {
            data_limit: 256 << 10,
            ..self
        }
    }
}

impl RecordKind {
    const fn declaration(self) -> Declaration {
        use Permission::{ViewDevices, ViewProperties, ViewReservations, ViewTasks, ViewWorkflows};
        match self {
            Self::Property => Declaration::of::<Property>(ViewProperties),
            Self::PropertyGroup | Self::Tag => Declaration::of::<NamedRecord>(ViewProperties),
            Self::Reservation => Declaration::of::<Reservation>(ViewReservations).stream(),
            Self::Task => Declaration::of::<TaskRecord>(ViewTasks).stream(),
            Self::Device => Declaration::of::<Device>(ViewDevices).stream(),
            Self::Review => Declaration::of::<ReviewRecord>(ViewReservations)
                .stream()
                .long(),
            Self::Workflow => Declaration::of::<Workflow>(ViewWorkflows).long(),
            Self::WorkflowStepRun => Declaration::of::<WorkflowStepRun>(ViewWorkflows).stream(),
            Self::PaymentAccount => Declaration::of::<PaymentAccount>(ViewProperties),
            Self::CustomUrl => Declaration::of::<CustomUrl>(ViewProperties).free(),
            Self::Image => Declaration::of::<ManualImage>(ViewProperties).free(),
            Self::Instruction => Declaration::of::<Instruction>(ViewProperties),
            Self::FeeProduct => Declaration::of::<PricedRecord>(ViewProperties)
                .free()
                .by_hand::<FeeFields>(),
            Self::DamageWaiver => Declaration::of::<PricedRecord>(ViewProperties)
                .free()
                .by_hand::<WaiverFields>(),
            Self::Upsell => Declaration::of::<PricedRecord>(ViewProperties)
                .free()
                .by_hand::<UpsellFields>(),
            Self::BackgroundCheckAccount => Declaration::of::<NamedRecord>(ViewProperties)
                .free()
                .by_hand::<CheckAccountFields>(),
            Self::CustomField => Declaration::of::<NamedRecord>(ViewProperties)
                .free()
                .by_hand::<CustomFieldFields>(),
            Self::TaskTemplate | Self::Department => {
                Declaration::of::<NamedRecord>(ViewTasks).free()
            }
            Self::LockCode => Declaration::of::<NamedRecord>(ViewDevices)
                .free()
                .stream()
                .by_hand::<LockCodeFields>(),
            Self::Shift | Self::ClockedShift => {
                Declaration::of::<NamedRecord>(ViewTasks).free().stream()
            }
        }
    }

    /// Returns which records of this kind `listRecords` and `getRecord` return to a caller that can
    /// access only some properties.
    pub(super) const fn limited_access(self) -> LimitedAccess {
        match self {
            Self::PropertyGroup | Self::Tag => LimitedAccess::LinkedToProperties,
            Self::Instruction => LimitedAccess::None,
            Self::Property
            | Self::Reservation
            | Self::Task
            | Self::Device
            | Self::Review
            | Self::Workflow
            | Self::WorkflowStepRun
            | Self::PaymentAccount
            | Self::BackgroundCheckAccount
            | Self::FeeProduct
            | Self::DamageWaiver
            | Self::CustomField
            | Self::CustomUrl
            | Self::Image
            | Self::Upsell
            | Self::LockCode
            | Self::TaskTemplate
            | Self::Department
            | Self::Shift
            | Self::ClockedShift => LimitedAccess::OnProperties,
        }
    }

    /// Returns the kind of data in other modules that depends on records of this kind.
    pub(crate) const fn dependents(self) -> Dependents {
        match self {
            Self::Property => Dependents::Flat,
            Self::PropertyGroup | Self::Tag => Dependents::Assignments,
            Self::Reservation => Dependents::Stay,
            Self::CustomUrl => Dependents::Brandings,
            Self::Task
            | Self::Device
            | Self::Review
            | Self::Workflow
            | Self::WorkflowStepRun
            | Self::PaymentAccount
            | Self::BackgroundCheckAccount
            | Self::FeeProduct
            | Self::DamageWaiver
            | Self::CustomField
            | Self::Image
            | Self::Upsell
            | Self::LockCode
            | Self::TaskTemplate
            | Self::Department
            | Self::Shift
            | Self::ClockedShift
            | Self::Instruction => Dependents::None,
        }
    }

    /// Returns the permission that reading a record of this kind needs.
    #[must_use]
    pub const fn read_permission(self) -> Permission {
        self.declaration().read_permission
    }

    fn shape_by_hand(self) -> &'static KindShape {
        static SHAPES: LazyLock<Vec<KindShape>> = LazyLock::new(|| {
            let of = |kind: RecordKind| KindShape::of(kind.declaration().by_hand);
            RecordKind::VARIANTS.iter().copied().map(of).collect()
        });
        &SHAPES[self as usize]
    }

    /// Returns the JSON Schema of the fields in forms and CSV files.
    #[must_use]
    pub fn form_schema(self) -> Value {
        let KindShape {
            required, fields, ..
        } = self.shape_by_hand();
        json!({ "type": "object", "required": required, "properties": fields })
    }

    /// Returns those fields of the kind that contain the id of another record, among the fields
    /// that a form or a CSV file can set.
    #[must_use]
    pub fn form_references(self) -> &'static [Reference] {
        &self.shape_by_hand().references
    }

    fn shape(self) -> &'static KindShape {
        static SHAPES: LazyLock<Vec<KindShape>> = LazyLock::new(|| {
            let of = |kind: RecordKind| KindShape::of(kind.declaration().schema);
            RecordKind::VARIANTS.iter().copied().map(of).collect()
        });
        &SHAPES[self as usize]
    }

    /// Whether the kind is a stream, such as reservations: its records change with each stay.
    /// Records of other kinds are part of the organization's setup.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        self.declaration().is_stream
    }

    /// Returns the name of the kind, such as `Custom field`, for the message of a 404 error.
    #[must_use]
    pub fn label(self) -> String {
        let words = self.as_ref().replace('_', " ");
        let mut letters = words.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect())
            .unwrap_or_default()
    }

    /// Returns the fields that contain ids of other records. Sync refuses ids of unknown records.
    /// When the other record is deleted, the service empties the field.
    pub(crate) fn references(self) -> &'static [Reference] {
        &self.shape().references
    }

    /// Returns the fields that no read of the public interface and no webhook returns.
    #[must_use]
    pub fn withheld_fields(self) -> &'static [String] {
        &self.shape().withheld
    }

    /// Whether the schema of this kind names only the required fields; the platform defines the
    /// others.
    pub(crate) const fn has_open_schema(self) -> bool {
        self.declaration().is_free
    }

    /// Returns the fields that contain an id, or a list of ids.
    pub(super) fn id_fields(self) -> &'static [String] {
        &self.shape().ids
    }

    /// Whether records of this kind may have a field of this name. Sync warns of any other name,
    /// because the platform may have misspelled it. If the platform defines the fields of the kind,
    /// every name is accepted.
    pub(crate) fn accepts_field(self, field: &str) -> bool {
        self.declaration().is_free || self.describes_field(field)
    }

    /// Returns whether the schema of this kind describes a field with this name.
    pub(crate) fn describes_field(self, field: &str) -> bool {
        self.shape().fields.contains_key(field)
    }

    /// Returns the maximum size of a record's data as JSON, in bytes. The limit bounds the size of
    /// pages of records. A kind with long texts has a higher limit, and no list returns its
    /// records.
    pub(crate) const fn data_limit(self) -> usize {
        self.declaration().data_limit
    }

    /// Returns the JSON Schema of a record's data. The service also stores fields that the schema
    /// does not name.
    #[must_use]
    pub fn schema(self) -> Value {
        let KindShape {
            required, fields, ..
        } = self.shape();
        json!({ "type": "object", "required": required, "properties": fields })
    }

    /// Returns the JSON Schema of a record as the read operations return it.
    #[must_use]
    pub fn view_schema(self) -> Value {
        let KindShape {
            required,
            fields,
            references,
            withheld,
            ..
        } = self.shape();
        let required: Vec<_> = ["id", "createdAt", "updatedAt", "origin"]
            .into_iter()
            .chain(required.iter().map(String::as_str))
            .collect();
        let mut fields = fields.clone();
        fields.retain(|field, _| !withheld.contains(field));
        fields.insert("id".into(), json!({ "type": "string", "format": "uuid" }));
        for field in ["createdAt", "updatedAt"] {
            fields.insert(
                field.into(),
                json!({ "type": "string", "format": "date-time" }),
            );
        }
        fields.insert("origin".into(), RecordOrigin::view_schema());
        if self == Self::Review {
            fields.insert("photoUrls".into(), photo_urls());
        }
        for reference in references {
            // A reference to a deleted record reads as null.
            if let Some(kind) = fields
                .get_mut(&reference.field)
                .and_then(|field| field.get_mut("type"))
                && kind == "string"
            {
                *kind = json!(["string", "null"]);
            }
        }
        json!({
            "type": "object",
            "required": required,
            "properties": fields,
            "examples": [self.example()],
        })
    }

    /// Returns an example of a record as the read operations return it.
    fn example(self) -> Value {
        let mut example = self
            .shape()
            .example
            .clone()
            .unwrap_or_else(|| json!({ "name": self.label() }));
        example["id"] = "0192f0c1-2345-7abc-8def-0123456789ac".into();
        example["createdAt"] = "2026-11-21T09:30:00.000Z".into();
        example["updatedAt"] = "2026-11-21T09:30:00.000Z".into();
        example["origin"] = RecordOrigin::Platform.as_ref().into();
        example
    }
}

/// Facts about a record kind that are derived from its schema.
struct KindShape {
    /// The names of the required fields.
    required: Vec<String>,
    /// The JSON Schema of each field's value, with its description.
    fields: Map<String, Value>,
    /// The references of the kind. References in required fields come first.
    references: Vec<Reference>,
    /// The fields that contain an id, or a list of ids.
    ids: Vec<String>,
    /// The fields that no read of the public interface and no webhook returns.
    withheld: Vec<String>,
    /// An example of a record as the read operations return it.
    example: Option<Value>,
}

impl KindShape {
    fn of(schema: SchemaOf) -> Self {
        let mut schema = schema(&mut inline_generator()).to_value();
        let required: Vec<String> = schema["required"]
            .as_array_mut()
            .map(std::mem::take)
            .into_iter()
            .flatten()
            .filter_map(text)
            .collect();
        let mut fields = schema["properties"]
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let example = schema["examples"].get_mut(0).map(Value::take);
        let (mut references, mut ids, mut withheld) = (Vec::new(), Vec::new(), Vec::new());
        for (field, schema) in &mut fields {
            on_one_line(schema);
            if schema["format"] == "uuid" || schema["items"]["format"] == "uuid" {
                ids.push(field.clone());
            }
            references.extend(take_reference(schema).map(|to| Reference {
                field: field.clone(),
                to,
            }));
            if schema
                .as_object_mut()
                .is_some_and(|schema| schema.remove(WITHHELD_KEYWORD).is_some())
            {
                withheld.push(field.clone());
            }
        }
        references.sort_by_key(|reference| !required.contains(&reference.field));
        Self {
            required,
            fields,
            references,
            ids,
            withheld,
            example,
        }
    }
}

fn text(value: Value) -> Option<String> {
    if let Value::String(text) = value {
        Some(text)
    } else {
        None
    }
}

/// Removes the keyword [`REFERENCE_KEYWORD`] from the schema of a field. Returns the kind of record
/// whose id the field, or each item of the field, contains.
fn take_reference(schema: &mut Value) -> Option<RecordKind> {
    let mark = schema.as_object_mut()?.remove(REFERENCE_KEYWORD);
    match mark {
        Some(kind) => serde_json::from_value(kind).ok(),
        None => take_reference(schema.get_mut("items")?),
    }
}

/// Joins the lines of each description in a schema. The line breaks of a description come from the
/// source code and have no meaning.
fn on_one_line(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            fields.values_mut().for_each(on_one_line);
        }
        Value::Array(items) => items.iter_mut().for_each(on_one_line),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_parses_from_its_name() {
        for kind in RecordKind::VARIANTS {
            assert_eq!(kind.as_ref().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
        assert_eq!(RecordKind::TaskTemplate.label(), "Task template");
    }

    #[test]
    fn a_kind_knows_only_its_own_fields() {
        assert!(
            RecordKind::Property.accepts_field("wifiPassword")
                && RecordKind::Property.accepts_field("customFields")
                && !RecordKind::Property.accepts_field("wifipassword")
        );
        assert!(RecordKind::Tag.accepts_field("name") && !RecordKind::Tag.accepts_field("colour"));
        assert!(RecordKind::LockCode.accepts_field("anything"));
        assert_eq!(
            RecordKind::Property.view_schema()["properties"].get("wifiPassword"),
            None
        );
    }

    #[test]
    fn property_fields_of_a_wrong_type_are_read_as_missing() {
        let property: Property = serde_json::from_value(json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "latitude": "41.4",
            "longitude": 2,
            "photoUrl": null,
            "wifiName": { "ssid": "Casa" },
            "wifiPassword": "secret",
        }))
        .unwrap();
        assert_eq!(
            (property.latitude, property.longitude, &property.photo_url),
            (None, Some(2.0), &None)
        );
        assert_eq!(
            (
                property.wifi_name.as_deref(),
                property.wifi_password.as_deref()
            ),
            (None, Some("secret"))
        );
    }

    #[test]
    fn every_example_fits_its_schema() {
        for kind in RecordKind::VARIANTS {
            let schema = kind.view_schema();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            assert!(
                validator.is_valid(&schema["examples"][0]),
                "{}",
                kind.as_ref()
            );
        }
    }

    #[test]
    fn references_between_kinds_are_declared_in_their_fields() {
        let references = |kind: RecordKind| -> Vec<(&str, RecordKind)> {
            kind.references()
                .iter()
                .map(|references| (references.field.as_str(), references.to))
                .collect()
        };
        assert_eq!(
            references(RecordKind::Property),
            [
                ("propertyGroupId", RecordKind::PropertyGroup),
                ("tagIds", RecordKind::Tag)
            ]
        );
        assert_eq!(
            references(RecordKind::Task),
            [
                ("propertyId", RecordKind::Property),
                ("departmentId", RecordKind::Department),
                ("reservationId", RecordKind::Reservation)
            ]
        );
        assert_eq!(
            references(RecordKind::Review),
            [
                ("propertyId", RecordKind::Property),
                ("reservationId", RecordKind::Reservation)
            ]
        );
        assert_eq!(
            references(RecordKind::WorkflowStepRun),
            [("workflowId", RecordKind::Workflow)]
        );
        assert_eq!(references(RecordKind::Shift), []);
        assert_eq!(
            (
                RecordKind::Property.withheld_fields(),
                RecordKind::Review.withheld_fields()
            ),
            (
                &["wifiPassword".to_owned()][..],
                &["photoKeys".to_owned()][..]
            )
        );
        for kind in RecordKind::VARIANTS {
            let schema = kind.schema().to_string();
            assert!(
                !schema.contains(REFERENCE_KEYWORD) && !schema.contains(WITHHELD_KEYWORD),
                "{} shows its marks",
                kind.as_ref()
            );
        }
    }
}
