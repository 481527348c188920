//! The webhooks of the document: what is sent to a subscription's target, event by event.

use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::components::reference;
use super::example::{self, Detail};
use super::record_name;
use crate::events::Event;
use crate::webhooks::{ping_schema, step_run_schema, subject};

/// Every event, and the ping.
pub(super) fn webhooks(schemas: &Map<String, Value>) -> Map<String, Value> {
    let entry = |name: &str, description: String, data: &Value| (name.to_owned(), webhook(name, &description, data, schemas));
    let mut webhooks: Map<_, _> = Event::VARIANTS
        .iter()
        .map(|event| {
            let data = subject(*event).map_or_else(step_run_schema, |kind| reference("schemas", &record_name(kind)));
            let description = format!(
                "{} Sent to subscriptions whose credential holds `{}`; the data is read when the delivery is sent.",
                event.fires(),
                event.permission().as_ref()
            );
            entry(event.as_ref(), description, &data)
        })
        .collect();
    webhooks.extend([entry("ping", "Sent when `pingWebhookSubscription` asks for it; tried once.".into(), &ping_schema())]);
    webhooks
}

fn webhook(name: &str, description: &str, data: &Value, schemas: &Map<String, Value>) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "Stable across the attempts of one delivery." },
            "event": { "type": "string", "const": name },
            "occurredAt": { "type": "string", "format": "date-time" },
            "data": data,
        },
        "required": ["id", "event", "occurredAt", "data"],
    });
    let example = example::of(&schema, schemas, Detail::Everything);
    let headers = ["WebhookId", "WebhookTimestamp", "WebhookSignature", "WebhookUserAgent"];
    json!({
        "post": {
            "summary": name,
            "description": description,
            "security": [],
            "parameters": headers.map(|header| reference("parameters", header)),
            "requestBody": {
                "required": true,
                "content": { "application/json": { "schema": schema, "example": example } },
            },
            "responses": {
                "2XX": { "description": "Received, within 10 seconds. Anything else is tried again, 5 times in all." },
                "410": { "description": "No longer wanted: deletes the subscription." },
            },
        },
    })
}
