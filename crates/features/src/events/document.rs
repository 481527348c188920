//! The part of the OpenAPI document about events: the schemas of records, and the messages that the
//! service sends to a subscription's target.

use engine::app::Named;
use engine::operation::Surface;
use serde_json::{Map, Value, json};
use strum::VariantArray;
use vestibule_http::surface::openapi::{Detail, example, pascal, reference};

use super::Event;
use super::event_types::{ping_schema, step_run_schema, subject};
use crate::records::RecordKind;

/// Returns named schemas for the OpenAPI document of an interface. The document of the platform
/// interface gets the schemas of the data that the platform sends, one for each kind of record. The
/// documents of other interfaces get the schemas of records as the read operations return them. The
/// document of the public interface also gets the schemas of webhook messages.
pub fn schemas(surface: Surface) -> Vec<Named> {
    let event_kinds: Vec<RecordKind> = Event::VARIANTS
        .iter()
        .copied()
        .filter_map(subject)
        .collect();
    let schema_of = |kind: RecordKind| match surface {
        Surface::Platform => Named {
            name: data_name(kind),
            schema: kind.schema(),
            is_always: false,
        },
        Surface::Public | Surface::Guest => Named {
            name: record_name(kind),
            schema: kind.view_schema(),
            is_always: surface == Surface::Public && event_kinds.contains(&kind),
        },
    };
    let records = RecordKind::VARIANTS.iter().copied().map(schema_of);
    let message_schemas = messages()
        .into_iter()
        .filter(|_| surface == Surface::Public);
    let message_schemas = message_schemas.map(|(name, _, data)| Named {
        name: message_name(name),
        schema: message(name, &data),
        is_always: true,
    });
    records.chain(message_schemas).collect()
}

/// Returns the name of the schema for the data of a record kind, as the platform sends the data. If
/// the data consists of a name alone, the kind shares the schema `NamedData` with other kinds.
pub(crate) fn data_name(kind: RecordKind) -> String {
    let schema = kind.schema();
    let same_schema = RecordKind::VARIANTS
        .iter()
        .filter(|kind| kind.schema() == schema);
    if same_schema.count() > 1 {
        "NamedData".to_owned()
    } else {
        format!("{}Data", pascal(kind.as_ref()))
    }
}

/// Returns the messages of all events and of the ping. Each message has a name, a description and
/// the schema of its data.
fn messages() -> Vec<(&'static str, String, Value)> {
    let of_event = |event: &Event| {
        let data = subject(*event).map_or_else(step_run_schema, |kind| {
            reference("schemas", &record_name(kind))
        });
        let description = format!(
            "{} Sent to subscriptions whose credential holds `{}`; the data is read when the \
                delivery is sent.",
            event.fires(),
            event.permission().as_ref()
        );
        (event.into(), description, data)
    };
    let ping = (
        "ping",
        "Sent when `pingWebhookSubscription` asks for it; tried once.".to_owned(),
        ping_schema(),
    );
    Event::VARIANTS.iter().map(of_event).chain([ping]).collect()
}

/// Returns the schema name of an event's message: `ReservationCreatedMessage` for
/// `reservation.created`.
fn message_name(event: &str) -> String {
    format!("{}Message", pascal(&event.replace('.', "_")))
}

/// Returns the name of the schema for records of a kind in the responses of the read operations,
/// such as `TaskTemplateRecord`.
fn record_name(kind: RecordKind) -> String {
    format!("{}Record", pascal(kind.as_ref()))
}

/// Returns the headers of a webhook message as OpenAPI parameters.
#[must_use]
pub fn parameters() -> Value {
    json!({
        "WebhookId": {
            "name": "webhook-id",
            "in": "header",
            "required": true,
            "description": "The `id` of the body: the same in every attempt, so that repeats can \
                be told.",
            "schema": { "type": "string", "format": "uuid" },
        },
        "WebhookTimestamp": {
            "name": "webhook-timestamp",
            "in": "header",
            "required": true,
            "description": "When this attempt was made, in Unix seconds.",
            "schema": { "type": "string", "pattern": "^[0-9]+$" },
        },
        "WebhookSignature": {
            "name": "webhook-signature",
            "in": "header",
            "required": true,
            "description": "Standard Webhooks 1.0: `v1,` and the base64 HMAC-SHA256 of \
                `<webhook-id>.<webhook-timestamp>.<body>`, keyed with the subscription's \
                `signingSecret`: the part after `whsec_`, base64-decoded. Several, separated by \
                spaces, while a replaced secret is in its grace time.",
            "schema": { "type": "string" },
        },
        "WebhookUserAgent": {
            "name": "User-Agent",
            "in": "header",
            "required": true,
            "schema": { "type": "string", "const": "Vestibule-Webhooks/1" },
        },
    })
}

/// Returns the webhook messages as OpenAPI webhooks: one for each event, and one for the ping.
#[must_use]
pub fn webhooks(schemas: &Map<String, Value>) -> Map<String, Value> {
    messages()
        .into_iter()
        .map(|(name, description, _)| (name.to_owned(), webhook(name, &description, schemas)))
        .collect()
}

/// Returns the operation id of an event's webhook: `onReservationCreated` for
/// `reservation.created`.
fn operation_id(name: &str) -> String {
    format!("on{}", pascal(&name.replace('.', "_")))
}

/// Returns the schema of an event's message.
fn message(name: &str, data: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "Stable across the attempts of one delivery.",
            },
            "event": { "type": "string", "const": name },
            "occurredAt": { "type": "string", "format": "date-time" },
            "data": data,
        },
        "required": ["id", "event", "occurredAt", "data"],
    })
}

/// Returns an event's webhook as an OpenAPI path item.
fn webhook(name: &str, description: &str, schemas: &Map<String, Value>) -> Value {
    let schema = reference("schemas", &message_name(name));
    let example = example(&schema, schemas, Detail::Everything);
    let headers = [
        "WebhookId",
        "WebhookTimestamp",
        "WebhookSignature",
        "WebhookUserAgent",
    ];
    json!({
        "post": {
            "operationId": operation_id(name),
            "summary": name,
            "description": description,
            "security": [],
            "parameters": headers.map(|header| reference("parameters", header)),
            "requestBody": {
                "required": true,
                "content": { "application/json": { "schema": schema, "example": example } },
            },
            "responses": {
                "2XX": {
                    "description": "Received, within 10 seconds. Anything else is tried again, 5 \
                        times in all.",
                },
                "410": { "description": "No longer wanted: deletes the subscription." },
            },
        },
    })
}
