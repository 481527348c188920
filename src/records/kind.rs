//! The kinds of records the platform keeps in step: what each must hold, and what it refers to.
//!
//! What a kind's records hold is declared in [`kinds`](super::kinds). What follows from that is made once.

use std::sync::LazyLock;

use engine::operation::inline_generator;
use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray};

use super::kinds::{
    CustomUrl, Declared, Device, Image, Instruction, NAMES, Named, PaymentAccount, Property, Reservation, Review, Task, WITHHELD, Workflow,
    WorkflowStepRun, photo_urls,
};

/// A kind of record.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, AsRefStr, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Kind {
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

/// A field of a record that names another record.
pub(crate) struct Reference {
    pub(crate) field: String,
    pub(crate) to: Kind,
}

/// What there is to say of a kind.
#[derive(Clone, Copy)]
struct Declaration {
    /// The JSON Schema of what its records hold, as the declaration has it.
    schema: fn(&mut SchemaGenerator) -> Schema,
    is_stream: bool,
    is_free: bool,
    data_limit: usize,
}

impl Declaration {
    const fn of<T: Declared>() -> Self {
        Self { schema: T::schema, is_stream: false, is_free: false, data_limit: 64 << 10 }
    }

    /// Its records come and go with the guests.
    const fn stream(self) -> Self {
        Self { is_stream: true, ..self }
    }

    /// The platform defines all but what is required.
    const fn free(self) -> Self {
        Self { is_free: true, ..self }
    }

    /// Its records have long texts of their own, and are in no list.
    const fn long(self) -> Self {
        Self { data_limit: 256 << 10, ..self }
    }
}

impl Kind {
    const fn declaration(self) -> Declaration {
        match self {
            Self::Property => Declaration::of::<Property>(),
            Self::PropertyGroup | Self::Tag => Declaration::of::<Named>(),
            Self::Reservation => Declaration::of::<Reservation>().stream(),
            Self::Task => Declaration::of::<Task>().stream(),
            Self::Device => Declaration::of::<Device>().stream(),
            Self::Review => Declaration::of::<Review>().stream().long(),
            Self::Workflow => Declaration::of::<Workflow>().long(),
            Self::WorkflowStepRun => Declaration::of::<WorkflowStepRun>().stream(),
            Self::PaymentAccount => Declaration::of::<PaymentAccount>(),
            Self::CustomUrl => Declaration::of::<CustomUrl>().free(),
            Self::Image => Declaration::of::<Image>().free(),
            Self::Instruction => Declaration::of::<Instruction>(),
            Self::BackgroundCheckAccount
            | Self::FeeProduct
            | Self::DamageWaiver
            | Self::CustomField
            | Self::Upsell
            | Self::TaskTemplate
            | Self::Department => Declaration::of::<Named>().free(),
            Self::LockCode | Self::Shift | Self::ClockedShift => Declaration::of::<Named>().free().stream(),
        }
    }

    fn shape(self) -> &'static Shape {
        static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| Kind::VARIANTS.iter().copied().map(Shape::of).collect());
        &SHAPES[self as usize]
    }

    /// Whether records of it come and go with the guests, rather than being what the organization is set up from.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        self.declaration().is_stream
    }

    /// What 404 calls it.
    #[must_use]
    pub fn label(self) -> String {
        let words = self.as_ref().replace('_', " ");
        let mut letters = words.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }

    /// Which of its fields name other records. Sync refuses unknown ones; deleting the other record empties the field.
    pub(crate) fn references(self) -> &'static [Reference] {
        &self.shape().references
    }

    /// Fields that no read of the public interface returns, nor any webhook.
    pub(super) fn withheld(self) -> &'static [String] {
        &self.shape().withheld
    }

    /// Whether its data may have a field of this name; the platform may have misspelt any other. Of some kinds the platform
    /// defines all but a name, and none of their fields is a surprise.
    pub(crate) fn knows(self, field: &str) -> bool {
        self.declaration().is_free || self.defines(field)
    }

    /// Whether its schema says what a field of this name holds.
    pub(crate) fn defines(self, field: &str) -> bool {
        self.shape().fields.contains_key(field)
    }

    /// The most bytes its data may have as JSON, so that a page of records stays one. What has long texts of its own, and is
    /// in no list, may have more.
    pub(crate) const fn data_limit(self) -> usize {
        self.declaration().data_limit
    }

    /// The JSON Schema of `data`. What it does not name is the platform's own, and kept.
    #[must_use]
    pub fn schema(self) -> Value {
        let Shape { required, fields, .. } = self.shape();
        json!({ "type": "object", "required": required, "properties": fields })
    }

    /// The JSON Schema of a record as its reads return it.
    #[must_use]
    pub fn view_schema(self) -> Value {
        let Shape { required, fields, references, withheld, .. } = self.shape();
        let required: Vec<_> = ["id", "createdAt", "updatedAt"].into_iter().chain(required.iter().map(String::as_str)).collect();
        let mut fields = fields.clone();
        fields.retain(|field, _| !withheld.contains(field));
        fields.insert("id".into(), json!({ "type": "string", "format": "uuid" }));
        for field in ["createdAt", "updatedAt"] {
            fields.insert(field.into(), json!({ "type": "string", "format": "date-time" }));
        }
        if self == Self::Review {
            fields.insert("photoUrls".into(), photo_urls());
        }
        for reference in references {
            // What was deleted since reads as pointing at nothing.
            if let Some(kind) = fields.get_mut(&reference.field).and_then(|field| field.get_mut("type"))
                && kind == "string"
            {
                *kind = json!(["string", "null"]);
            }
        }
        json!({ "type": "object", "required": required, "properties": fields, "examples": [self.example()] })
    }

    /// A record as its reads return it.
    fn example(self) -> Value {
        let mut example = self.shape().example.clone().unwrap_or_else(|| json!({ "name": self.label() }));
        example["id"] = "0192f0c1-2345-7abc-8def-0123456789ac".into();
        example["createdAt"] = "2026-11-21T09:30:00.000Z".into();
        example["updatedAt"] = "2026-11-21T09:30:00.000Z".into();
        example
    }
}

/// What follows from the declaration of a kind.
struct Shape {
    /// The names of the fields that must be there.
    required: Vec<String>,
    /// Every field with the JSON Schema of its value, which says what it is for.
    fields: Map<String, Value>,
    /// The required ones first.
    references: Vec<Reference>,
    withheld: Vec<String>,
    example: Option<Value>,
}

impl Shape {
    fn of(kind: Kind) -> Self {
        let mut schema = (kind.declaration().schema)(&mut inline_generator()).to_value();
        let required: Vec<String> = schema["required"].as_array_mut().map(std::mem::take).into_iter().flatten().filter_map(text).collect();
        let mut fields = schema["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
        let example = schema["examples"].get_mut(0).map(Value::take);
        let (mut references, mut withheld) = (Vec::new(), Vec::new());
        for (field, schema) in &mut fields {
            on_one_line(schema);
            references.extend(named(schema).map(|to| Reference { field: field.clone(), to }));
            if schema.as_object_mut().is_some_and(|schema| schema.remove(WITHHELD).is_some()) {
                withheld.push(field.clone());
            }
        }
        references.sort_by_key(|reference| !required.contains(&reference.field));
        Self { required, fields, references, withheld, example }
    }
}

fn text(value: Value) -> Option<String> {
    if let Value::String(text) = value { Some(text) } else { None }
}

/// Takes the mark off a field that names a record of a kind, or several.
fn named(schema: &mut Value) -> Option<Kind> {
    let mark = schema.as_object_mut()?.remove(NAMES);
    match mark {
        Some(kind) => serde_json::from_value(kind).ok(),
        None => named(schema.get_mut("items")?),
    }
}

/// Where a line of a description ends says something of the source alone.
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
    fn a_name_and_its_kind_find_each_other() {
        for kind in Kind::VARIANTS {
            assert_eq!(kind.as_ref().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
        assert_eq!(Kind::TaskTemplate.label(), "Task template");
    }

    #[test]
    fn a_kind_knows_its_fields_and_is_surprised_by_others() {
        assert!(Kind::Property.knows("wifiPassword") && Kind::Property.knows("customFields") && !Kind::Property.knows("wifipassword"));
        assert!(Kind::Tag.knows("name") && !Kind::Tag.knows("colour"));
        assert!(Kind::LockCode.knows("anything"));
        assert_eq!(Kind::Property.view_schema()["properties"].get("wifiPassword"), None);
    }

    #[test]
    fn a_property_from_before_its_fields_were_known_is_read_without_them() {
        let property: Property = serde_json::from_value(json!({
            "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "latitude": "41.4", "longitude": 2, "photoUrl": null,
            "wifiName": { "ssid": "Casa" }, "wifiPassword": "secret",
        }))
        .unwrap();
        assert_eq!((property.latitude, property.longitude, &property.photo_url), (None, Some(2.0), &None));
        assert_eq!((property.wifi_name.as_deref(), property.wifi_password.as_deref()), (None, Some("secret")));
    }

    #[test]
    fn every_example_fits_its_schema() {
        for kind in Kind::VARIANTS {
            let schema = kind.view_schema();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            assert!(validator.is_valid(&schema["examples"][0]), "{}", kind.as_ref());
        }
    }

    #[test]
    fn what_a_kind_refers_to_is_said_where_its_fields_are() {
        let named = |kind: Kind| -> Vec<(&str, Kind)> { kind.references().iter().map(|named| (named.field.as_str(), named.to)).collect() };
        assert_eq!(named(Kind::Property), [("propertyGroupId", Kind::PropertyGroup), ("tagIds", Kind::Tag)]);
        assert_eq!(named(Kind::Task), [("propertyId", Kind::Property), ("departmentId", Kind::Department)]);
        assert_eq!(named(Kind::Review), [("propertyId", Kind::Property), ("reservationId", Kind::Reservation)]);
        assert_eq!(named(Kind::WorkflowStepRun), [("workflowId", Kind::Workflow)]);
        assert_eq!(named(Kind::Shift), []);
        assert_eq!((Kind::Property.withheld(), Kind::Review.withheld()), (&["wifiPassword".to_owned()][..], &["photoKeys".to_owned()][..]));
        for kind in Kind::VARIANTS {
            let schema = kind.schema().to_string();
            assert!(!schema.contains(NAMES) && !schema.contains(WITHHELD), "{} shows its marks", kind.as_ref());
        }
    }
}
