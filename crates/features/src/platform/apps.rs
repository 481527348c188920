//! Operations of the platform on OAuth apps and their client secrets. Apps belong to no
//! organization. The authorization server is in `crates/access/src/oauth/`.

use std::time::Duration;

use engine::access;
use engine::context::System;
use engine::error::{Error, Result};
use engine::field::{Label, RedirectUri};
use engine::moment::Moment;
use engine::operation::Operation;
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

store::statements! {
    /// Creates or replaces an OAuth app, and makes it an app of the platform: the sweep no longer
    /// deletes it when it is idle, and its metadata document (`document_url`) is forgotten. The
    /// secret does not change.
    PUT_APP = "insert into oauth_app (id, created_at, updated_at, doc) values (?1, ?2, ?2, ?3)
        on conflict (id) do update set updated_at = excluded.updated_at, doc = excluded.doc,
        idle_since = null, document_url = null
        returning created_at, updated_at";
    /// Replaces the secret of an app. The previous secret stays valid until time `?3`. A secret
    /// that was replaced earlier becomes invalid.
    REPLACE_SECRET = "update oauth_app set replaced_hash = secret_hash, replaced_until = ?3,
        secret_hash = ?2
        where id = ?1 and document_url is null returning id";
}

/// Time for which a replaced secret stays valid: a day (rules: oauth#clients).
const SECRET_GRACE: Duration = Duration::from_secs(86_400);

/// The stored document of an OAuth app. The platform created the app, the app registered itself, or
/// the service fetched the app's metadata document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OauthApp {
    /// Name of the app; may be empty.
    pub name: String,
    /// Addresses to which the authorization server may redirect the browser.
    pub redirect_uris: Vec<String>,
    /// Time at which the app's metadata document was fetched; null for an app without such a
    /// document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Moment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "name": "Zap", "redirectUris": ["https://client.example/callback"] }))]
struct PutApp {
    /// Id of the OAuth app, chosen by the caller. A known id replaces its app, and an unknown id
    /// creates an app.
    oauth_app_id: Uuid,
    /// Name of the app on the page where members connect it; may be empty.
    name: Label,
    /// Addresses to which the authorization server may redirect a browser: absolute https URLs,
    /// http loopback URLs (`http://127.0.0.1/callback`, with any port), or addresses of the app's
    /// own scheme (`com.example.app:/callback`, `app://host.example/callback`). Replaces the whole
    /// list.
    #[schemars(length(max = 100))]
    redirect_uris: Vec<RedirectUri>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AppView {
    id: Uuid,
    name: String,
    redirect_uris: Vec<RedirectUri>,
    created_at: Moment,
    updated_at: Moment,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreateClientSecret {
    /// Id of the OAuth app that gets a new secret. An unknown app is a 404.
    oauth_app_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({ "clientSecret": "cs_4tq0H9bX0yY0k1m8rYvQ3m0wV9o7m2c1l5s8t3u6w9x" }))]
struct ClientSecretView {
    /// The new secret, shown once; only its hash is stored.
    client_secret: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("putOauthApp", Method::PUT, "/oauth-apps/{oauthAppId}")
            .summary("Create an OAuth app, or replace one")
            .run_system(put_app),
        Operation::platform(
            "createClientSecret",
            Method::POST,
            "/oauth-apps/{oauthAppId}/client-secret",
        )
        .summary(
            "Make a secret for an OAuth app, shown once, which it must show from then on; the one \
                before is good for a day",
        )
        .creates()
        .run_system(create_secret),
    ]
}

/// Returns a new client secret. The prefix `cs_` identifies it as a client secret.
#[must_use]
pub fn new_secret(ids: &engine::ids::Ids) -> String {
    access::token("cs_", ids)
}

fn put_app(system: &mut System<'_, '_>, input: PutApp) -> Result<AppView> {
    let redirect_uris = input
        .redirect_uris
        .iter()
        .map(|uri| uri.0.clone())
        .collect();
    let doc = store::Value::json(&OauthApp {
        name: input.name.0.clone(),
        redirect_uris,
        fetched_at: None,
    })?;
    let row = system
        .tx
        .row(&PUT_APP, &values![input.oauth_app_id, system.now, doc])?;
    let row = row.ok_or_else(|| Error::internal("an upsert returned nothing"))?;
    Ok(AppView {
        id: input.oauth_app_id,
        name: input.name.0,
        redirect_uris: input.redirect_uris,
        created_at: Moment(row.get(0)?),
        updated_at: Moment(row.get(1)?),
    })
}

fn create_secret(
    system: &mut System<'_, '_>,
    input: CreateClientSecret,
) -> Result<ClientSecretView> {
    let client_secret = new_secret(&system.app_state.ids);
    let until = system
        .now
        .checked_add(SECRET_GRACE)
        .unwrap_or(Timestamp::MAX);
    let hash = store::Value::Bytes(access::hash(&client_secret));
    match system
        .tx
        .row(&REPLACE_SECRET, &values![input.oauth_app_id, hash, until])?
    {
        Some(_) => Ok(ClientSecretView { client_secret }),
        None => Err(Error::not_found("OAuth app")),
    }
}
