//! Test data for most tests: an organization with a flat, a portal, a stay and its guest.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Api, ApiResponse, App, Org};

/// A flat in a group and with a tag, the organization's default portal, and a stay in the flat.
pub struct House<'a> {
    pub org: Org<'a>,
    pub api: Api,
    pub group: Uuid,
    pub tag: Uuid,
    pub flat: Uuid,
    pub portal: Uuid,
    pub stay: Uuid,
    pub token: String,
}

impl<'a> House<'a> {
    pub async fn build(app: &'a App) -> Self {
        let org = app.org().await;
        let api = org.key().await;
        let (group, tag) = (org.group().await, org.tag().await);
        let flat = org.property(Some(group), &[tag]).await;
        let portal = id(&api
            .post("/portals", json!({ "name": "Casa", "isDefault": true }))
            .await
            .data()["id"]);
        let stay = org.reservation(Some(flat)).await;
        let token = org.stay_token(stay).await;
        Self {
            org,
            api,
            group,
            tag,
            flat,
            portal,
            stay,
            token,
        }
    }

    /// Creates an active step without assignments.
    pub async fn unassigned_step(&self, step_type: &str, more: Value) -> Uuid {
        let needed = match step_type {
            "agreement" => json!({ "contractTemplateText": "No parties." }),
            "additional_questions" => {
                json!({
                    "questions": [
                        {
                            "kind": "free_form_input",
                            "textMlTextId": self.text(&[("en", "When?")]).await,
                        },
                    ],
                })
            }
            "mandatory_fee" => {
                json!({
                    "feeProductIds": [
                        self.org.record("fee_product", json!({ "name": "Linen" })).await,
                    ],
                })
            }
            "background_check" => {
                json!({
                    "backgroundCheckAccountId": self.org.record("background_check_account", json!({
                        "name": "Checks",
                    })).await,
                })
            }
            _ => json!({}),
        };
        let fields = with(
            with(
                json!({ "stepType": step_type, "nickname": step_type, "isActive": true }),
                needed,
            ),
            more,
        );
        // Each step gets a later creation time than the step before.
        self.org.app.clock.advance(Duration::from_millis(1));
        id(&self.api.post("/precheck-steps", fields).await.data()["id"])
    }

    /// Creates an active step and assigns it to the flat.
    pub async fn step(&self, step_type: &str, more: Value) -> Uuid {
        let step = self.unassigned_step(step_type, more).await;
        self.scopes(
            "add",
            "precheck_step",
            step,
            json!({ "propertyIds": [self.flat] }),
        )
        .await;
        step
    }

    pub async fn scopes(&self, change: &str, entity_type: &str, entity: Uuid, targets: Value) {
        let body = with(
            json!({ "entityType": entity_type, "entityId": entity }),
            targets,
        );
        self.api
            .post(&format!("/entity-scopes/{change}"), body)
            .await
            .data();
    }

    pub async fn update(&self, step: Uuid, data: Value) -> ApiResponse {
        self.api
            .patch(&format!("/precheck-steps/{step}"), json!({ "data": data }))
            .await
    }

    pub async fn update_portal(&self, portal: Uuid, data: Value) {
        self.api
            .patch(&format!("/portals/{portal}"), json!({ "data": data }))
            .await
            .data();
    }

    /// Creates a text that questions can use, with an entry in each of these languages. Returns its
    /// id.
    pub async fn text(&self, texts: &[(&str, &str)]) -> Uuid {
        let (language, text) = texts[0];
        let body =
            json!({ "sourceTable": "precheck_question", "language": language, "text": text });
        let created = id(&self.api.post("/translations", body).await.data()["id"]);
        for (language, text) in &texts[1..] {
            self.api
                .ok(
                    Method::PUT,
                    &format!("/translations/{created}/entries/{language}"),
                    Some(json!({ "text": text })),
                )
                .await;
        }
        created
    }

    pub async fn precheckin(&self) -> Value {
        self.org.app.stay(&self.token, "").await.data()["precheckin"].clone()
    }

    pub async fn status(&self) -> String {
        self.precheckin().await["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Returns a step as the guest view shows it in this language.
    pub async fn step_view(&self, step: Uuid, language: &str) -> Value {
        let view = self
            .org
            .app
            .stay(&self.token, &format!("?language={language}"))
            .await
            .data();
        let steps = view["precheckin"]["steps"].as_array().unwrap();
        steps
            .iter()
            .find(|row| id(&row["id"]) == step)
            .cloned()
            .unwrap()
    }

    pub async fn guest(&self, method: Method, path: &str, body: Option<Value>) -> ApiResponse {
        guest(self.org.app, &self.token, method, path, body).await
    }

    pub async fn answer(&self, step: Uuid, answers: Value) -> ApiResponse {
        self.guest(
            Method::PUT,
            &format!("/steps/{step}"),
            Some(json!({ "answers": answers })),
        )
        .await
    }

    pub async fn submit(&self) -> ApiResponse {
        self.guest(Method::POST, "/submit", None).await
    }

    pub async fn say(&self, text: &str) -> ApiResponse {
        self.guest(Method::POST, "/messages", Some(json!({ "text": text })))
            .await
    }

    /// Returns the submission of the stay as the platform reads it.
    pub async fn submission(&self) -> Value {
        let path = self
            .org
            .path(&format!("/reservations/{}/precheckin", self.stay));
        self.org.app.platform().get(&path).await.data()
    }
}

/// Sends a request to the guest interface. `path` is relative to the path of the stay, such as
/// `/messages`.
pub async fn guest(
    app: &App,
    token: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> ApiResponse {
    let request = app
        .http
        .request(method, format!("{}/guest/v1/stays/{token}{path}", app.base));
    ApiResponse::of(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

pub fn with(mut fields: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut fields, more) else {
        panic!("both are objects")
    };
    all.extend(more);
    fields
}

pub fn id(value: &Value) -> Uuid {
    value.as_str().unwrap().parse().unwrap()
}

pub fn ids(rows: &Value) -> Vec<Uuid> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| id(&row["id"]))
        .collect()
}
