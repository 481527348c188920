//! The components of an OpenAPI document that several operations share: parameters, headers,
//! errors, and the envelope.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use strum::VariantArray;

use super::{example, pascal};
use engine::error::{Error, ErrorKind, MAX_ISSUES};
use engine::operation::Surface;

/// Returns a `$ref` to a component in a section of the document.
#[must_use]
pub fn reference(section: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{section}/{name}") })
}

/// Returns the `headers` object of a response: a `$ref` for each of these names.
pub(super) fn header_references(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), reference("headers", name)))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns the names of the headers that every response of an interface has.
pub(super) fn common_headers(surface: Surface) -> Vec<&'static str> {
    let mut headers = vec!["X-Request-Id"];
    if surface != Surface::Platform {
        headers.extend([
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
        ]);
    }
    headers
}

/// Returns the parameters that several operations accept.
pub(super) fn parameters(surface: Surface) -> Value {
    let mut parameters = json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "Makes a retry safe: the same key with the same request is answered \
                with the first answer, for 24 hours.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        },
        "IfMatch": {
            "name": "If-Match",
            "in": "header",
            "required": false,
            "description": "The `ETag` of the resource's read by id: 409 unless the resource is \
                still in that state.",
            "schema": { "type": "string" },
        },
        "IfNoneMatch": {
            "name": "If-None-Match",
            "in": "header",
            "required": false,
            "description": "The `ETag` of an answer that the caller has: 304 as long as it would \
                be the same.",
            "schema": { "type": "string" },
        },
    });
    if surface != Surface::Public
        && let Some(parameters) = parameters.as_object_mut()
    {
        parameters.remove("IdempotencyKey");
        parameters.remove("IfMatch");
    }
    parameters
}

/// Returns the component section `headers`: the headers that responses of an interface may have.
pub(super) fn headers(surface: Surface) -> Value {
    let number = |description: &str| {
        json!({
            "description": description,
            "schema": { "type": "integer", "minimum": 0 },
        })
    };
    let mut headers = json!({
        "X-Request-Id": {
            "description": "Unique per request. On a replay it differs from `meta.requestId`, \
                which is the first request's.",
            "schema": { "type": "string", "format": "uuid" },
        },
        "X-RateLimit-Limit": number("Requests that are accepted in a rolling minute."),
        "X-RateLimit-Remaining": number("Requests that would still be accepted now."),
        "X-RateLimit-Reset": number("When the oldest counted request leaves the window, in Unix \
            seconds."),
        "Idempotency-Replayed": {
            "description": "Only on the answer of an earlier request with the same \
                Idempotency-Key.",
            "schema": { "type": "string", "const": "true" },
        },
        "Retry-After": number("Whole seconds to wait before the next attempt."),
        "WWW-Authenticate": {
            "description": "Where to get a token: `Bearer resource_metadata=\"…\"` names the \
                metadata of this interface (RFC 9728). `error=\"invalid_token\"` stands there \
                where a token was sent.",
            "schema": { "type": "string" },
        },
        "ETag": {
            "description": "Names the state of what is answered: the same for the same data, \
                whatever `meta.requestId` is.",
            "schema": { "type": "string" },
        },
    });
    if let Some(headers) = headers.as_object_mut() {
        let common = common_headers(surface);
        let is_sent = |name: &str| match name {
            "Idempotency-Replayed" | "WWW-Authenticate" => surface == Surface::Public,
            "ETag" | "Retry-After" => true,
            _ => common.contains(&name),
        };
        headers.retain(|name, _| is_sent(name));
    }
    headers
}

/// Returns the name of an error's response, such as `ValidationError` for `validation_error`.
/// Errors with the same status have the same type, and share a response.
pub(super) fn refusal_name(kind: ErrorKind) -> String {
    let (_, name, ..) = kind.row();
    pascal(name)
}

/// Returns the responses that operations share: 304 and the errors.
pub(super) fn responses(surface: Surface) -> Map<String, Value> {
    let headers: Vec<_> = common_headers(surface)
        .into_iter()
        .chain(["ETag"])
        .collect();
    let not_modified = json!({
        "description": "What is answered is what the caller has by `If-None-Match`.",
        "headers": header_references(&headers),
    });
    let mut responses = refusals(surface);
    responses.insert("NotModified".into(), not_modified);
    responses
}

/// Returns the kinds of errors that an interface can return.
fn error_kinds(surface: Surface) -> impl Iterator<Item = ErrorKind> {
    ErrorKind::VARIANTS
        .iter()
        .copied()
        .filter(move |kind| kind.is_public() || surface == Surface::Platform)
}

/// Returns the responses for errors. A response has an example for each error code of its status.
fn refusals(surface: Surface) -> Map<String, Value> {
    let mut responses = Map::new();
    for kind in error_kinds(surface) {
        let (_, _, code, message) = kind.row();
        let response = responses.entry(refusal_name(kind)).or_insert_with(|| {
            let mut headers = if kind == ErrorKind::Authentication {
                vec!["X-Request-Id"]
            } else {
                common_headers(surface)
            };
            if matches!(kind, ErrorKind::RateLimit | ErrorKind::Unavailable) {
                headers.push("Retry-After");
            }
            if kind == ErrorKind::Authentication && surface == Surface::Public {
                headers.push("WWW-Authenticate");
            }
            json!({
                "description": message,
                "headers": header_references(&headers),
                "content": {
                    "application/json": { "schema": reference("schemas", "Error"), "examples": {} },
                },
            })
        });
        let error = match kind {
            ErrorKind::Validation => Error::invalid(&["nickname"], "is required"),
            ErrorKind::Authorization => Error::forbidden("Missing permission view_properties."),
            _ => kind.into(),
        };
        let example = json!({ "error": error.body(), "meta": { "requestId": example::ID } });
        response["content"]["application/json"]["examples"][code] = json!({ "value": example });
    }
    responses
}

/// Returns the schemas of the envelope around `data`.
pub(super) fn envelope_schemas(surface: Surface) -> Map<String, Value> {
    let types: BTreeSet<_> = error_kinds(surface).map(|kind| kind.row().1).collect();
    let number = json!({ "type": "integer", "minimum": 0 });
    let request_id =
        json!({ "type": "string", "format": "uuid", "description": "Unique per request." });
    let schemas = json!({
        "Meta": {
            "type": "object",
            "properties": { "requestId": request_id, "warnings": reference("schemas", "Warnings") },
            "required": ["requestId"],
        },
        "Warnings": {
            "type": "array",
            "maxItems": 10,
            "description": "What was accepted and may not be meant, such as a misspelt parameter, \
                or HTML that guests do not see; absent where there is nothing.",
            "items": {
                "type": "object",
                "properties": {
                    "parameter": {
                        "type": "string",
                        "description": "Name of the query parameter; absent for a field.",
                    },
                    "field": {
                        "type": "string",
                        "description": "Name of the field of the request; absent for a parameter.",
                    },
                    "message": { "type": "string", "description": "What there is to say of it." },
                },
                "required": ["message"],
            },
        },
        "PageMeta": {
            "type": "object",
            "properties": {
                "requestId": request_id,
                "pagination": reference("schemas", "Pagination"),
                "warnings": reference("schemas", "Warnings"),
            },
            "required": ["requestId", "pagination"],
        },
        "Pagination": {
            "type": "object",
            "properties": { "limit": number, "offset": number, "total": number },
            "required": ["limit", "offset", "total"],
            "description": "The limit and offset applied, and how many items match before paging.",
        },
        "Issue": {
            "type": "object",
            "properties": {
                "path": {
                    "type": "array",
                    "items": { "type": ["string", "integer"] },
                    "description": "From the body's root to the field, or the parameter's name.",
                },
                "message": { "type": "string" },
            },
            "required": ["path", "message"],
        },
        "Error": {
            "type": "object",
            "properties": {
                "error": {
                    "type": "object",
                    "properties": {
                        "type": {
                            "type": "string",
                            "enum": types,
                            "description": "The category, fixed by the status.",
                        },
                        "code": {
                            "type": "string",
                            "description": "The specific error in UPPER_SNAKE_CASE.",
                        },
                        "message": {
                            "type": "string",
                            "description": "For people; wording may change.",
                        },
                        "details": {
                            "type": "object",
                            "properties": {
                                "issues": {
                                    "type": "array",
                                    "items": reference("schemas", "Issue"),
                                    "maxItems": MAX_ISSUES,
                                },
                                "more": {
                                    "type": "integer",
                                    "minimum": 1,
                                    "description": "How many issues there are besides.",
                                },
                                "key": {
                                    "type": "string",
                                    "description": "The machine key of a business reason.",
                                },
                            },
                            "description": "Left out when empty.",
                        },
                    },
                    "required": ["type", "code", "message"],
                },
                "meta": reference("schemas", "Meta"),
            },
            "required": ["error", "meta"],
        },
    });
    if let Value::Object(schemas) = schemas {
        schemas
    } else {
        Map::new()
    }
}
