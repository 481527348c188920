//! The bodies that create and update a resource.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::moment::Moment;

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

    /// Returns a complete create body, as an example for the OpenAPI document.
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
                "id": {
                    "type": "string",
                    "format": "uuid",
                    "description": "Id of what is changed, as lists and creates give it.",
                },
                "data": data,
                "expectedUpdatedAt": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "The `updatedAt` that this was made against: 409 when it is \
                        another by now. Null or left out: the change overwrites whatever is there.",
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
