//! The operation `listWebhookEventTypes`: the events to which a credential can subscribe, with the
//! schema of their data.
//!
//! `document.rs` uses the same schemas for the webhooks of the OpenAPI document.

use engine::access::Permission;
use engine::operation::{Needs, Nothing, Object, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use strum::VariantArray;
use vestibule_http::surface::openapi::publish;

use super::Event;
use super::subscriptions::event_name;
use crate::records::{RecordKind, WorkflowSubject};

/// Lists the events that can be subscribed to.
pub const LIST_WEBHOOK_EVENT_TYPES: OperationName<Vec<WebhookEventType>> =
    OperationName::new("listWebhookEventTypes");

/// A webhook event that a client can subscribe to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = event_type(Event::TaskCreated))]
pub struct WebhookEventType {
    #[schemars(schema_with = "event_name")]
    pub event: Event,
    /// Permission that a credential needs for the event.
    pub permission: Permission,
    /// When the event fires.
    pub description: &'static str,
    /// JSON Schema of `data` in the event's messages.
    schema: Object,
    /// Example of `data` in a message.
    pub example: Object,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_WEBHOOK_EVENT_TYPES.id(),
            Method::GET,
            "/webhook-event-types",
            Needs::Credential,
        )
        .summary(
            "List the events that can be subscribed to, with the JSON Schema of their data and an \
                example of it",
        )
        .tool(
            "records",
            "List webhook events",
            "Events that other systems can be notified of, with the JSON Schema and an example of \
                each. Large. Subscriptions are made by the REST interface, not by tools.",
        )
        .run_as(LIST_WEBHOOK_EVENT_TYPES, |_, _: Nothing| {
            Ok(Event::VARIANTS.iter().copied().map(event_type).collect())
        }),
    ]
}

fn event_type(event: Event) -> WebhookEventType {
    let mut schema = object(data_schema(event));
    // Every event's schema has an example; a test checks this.
    let example = schema
        .remove("examples")
        .and_then(|examples| examples.get(0).cloned())
        .unwrap_or_default();
    WebhookEventType {
        event,
        permission: event.permission(),
        description: event.fires(),
        schema,
        example: object(example),
    }
}

fn object(value: Value) -> Object {
    if let Value::Object(fields) = value {
        fields
    } else {
        Object::new()
    }
}

/// Returns the kind of record that an event's data contains. Returns `None` for `workflow.step`,
/// whose data has a schema of its own.
pub(crate) fn subject(event: Event) -> Option<RecordKind> {
    let kind = event
        .as_ref()
        .split('.')
        .next()?
        .parse::<RecordKind>()
        .ok()?;
    (kind != RecordKind::Workflow).then_some(kind)
}

/// Returns the JSON Schema of an event's `data`. The data of most events is a record as the read
/// operations return it.
fn data_schema(event: Event) -> Value {
    let mut schema = subject(event).map_or_else(step_run_schema, RecordKind::view_schema);
    publish(&mut schema);
    schema
}

/// Returns the JSON Schema of the `data` of `workflow.step`.
pub(crate) fn step_run_schema() -> Value {
    let object_with = |label: &str, id: &Value| {
        json!({
            "type": "object",
            "properties": { "id": id, label: { "type": "string" } },
            "required": ["id", label],
        })
    };
    let subjects = WorkflowSubject::VARIANTS.iter().map(Some);
    let subjects: Vec<Option<&WorkflowSubject>> = subjects.chain([None]).collect();
    json!({
        "type": "object",
        "properties": {
            "workflow": object_with("name", &json!({ "type": "string", "format": "uuid" })),
            "step": object_with("label", &json!({ "type": "string" })),
            "record_type": {
                "type": ["string", "null"],
                "enum": subjects,
                "description": "What the run was about; null when it had no record.",
            },
            "data": {
                "type": ["object", "null"],
                "properties": {
                    "id": {
                        "type": "string",
                        "format": "uuid",
                        "description": "Id of the record.",
                    },
                },
                "required": ["id"],
                "additionalProperties": true,
                "description": "The record as its read returns it.",
            },
        },
        "required": ["workflow", "step", "record_type", "data"],
        "examples": [{
            "workflow": { "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Welcome call" },
            "step": { "id": "node-1", "label": "Tell the concierge" },
            "record_type": null,
            "data": null,
        }],
    })
}

/// Returns the JSON Schema of the `data` of a ping.
pub(crate) fn ping_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "subscriptionId": { "type": "string", "format": "uuid" } },
        "required": ["subscriptionId"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_an_example_that_fits_its_schema() {
        for event in Event::VARIANTS.iter().copied() {
            let listed = event_type(event);
            assert!(!listed.example.is_empty(), "{}", event.as_ref());
            let schema = jsonschema::draft202012::new(&Value::Object(listed.schema)).unwrap();
            assert!(
                schema.is_valid(&Value::Object(listed.example)),
                "{}",
                event.as_ref()
            );
        }
    }

    #[test]
    fn events_name_the_kind_of_their_record() {
        assert_eq!(
            subject(Event::ReservationPrecheckinSubmitted),
            Some(RecordKind::Reservation)
        );
        assert_eq!(subject(Event::DeviceOffline), Some(RecordKind::Device));
        assert_eq!(subject(Event::WorkflowStep), None);
    }
}
