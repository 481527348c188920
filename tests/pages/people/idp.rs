//! An OpenID provider on loopback. A test can make the provider send wrong responses.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use engine::clock::Clock;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, StatusCode};
use openidconnect::core::{
    CoreEdDsaPrivateSigningKey, CoreHmacKey, CoreJsonWebKey, CoreJwsSigningAlgorithm,
    CoreRsaPrivateSigningKey,
};
use openidconnect::{JsonWebKeyId, PrivateSigningKey};
use rcgen::{KeyPair, PKCS_ED25519};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use url::Url;

pub const CLIENT_ID: &str = "vestibule";
pub const CLIENT_SECRET: &str = "a secret of the client/+ä";

/// The key with which the provider signs an ID token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKey {
    /// The RSA key that the provider publishes.
    Rsa,
    /// The `EdDSA` key that the provider publishes.
    EdDsa,
    /// An unpublished key that has the key id of the `EdDSA` key.
    Forged,
    /// The provider publishes neither this key nor its key id.
    Unknown,
    /// The client secret, as an HMAC key.
    Shared,
    /// No signature.
    None,
}

/// Behaviour of an endpoint of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseKind {
    /// Sends the correct response.
    Correct,
    /// Sends nothing for ten minutes.
    Silent,
    /// Sends a response with this status and body.
    Custom(u16, String),
    /// Sends a body above the service's size limit.
    Huge,
    /// Responds with a redirect to another URL.
    Redirect,
}

struct Behaviour {
    discovery: ResponseKind,
    keys: ResponseKind,
    token: ResponseKind,
    signing_key: SigningKey,
    /// Fields that replace fields of the discovery document.
    metadata: Value,
    /// Claims that replace claims of the ID token. A null value removes a claim.
    override_claims: Value,
    /// The response of the userinfo endpoint.
    userinfo: ResponseKind,
    /// Whether the provider publishes the key [`SigningKey::Unknown`] in addition to its other
    /// keys.
    publishes_all: bool,
    /// The issued authorization code, with the parameters of its authorization request; `None` if
    /// no code waits to be exchanged.
    issued_code: Option<(String, Vec<(String, String)>)>,
    requests: Vec<String>,
}

#[derive(Clone)]
pub struct Idp {
    pub issuer: String,
    clock: Arc<OnceLock<Clock>>,
    behaviour: Arc<Mutex<Behaviour>>,
    keys: Arc<Keys>,
}

struct Keys {
    rsa: CoreRsaPrivateSigningKey,
    eddsa: CoreEdDsaPrivateSigningKey,
    forged: CoreEdDsaPrivateSigningKey,
    unknown: CoreEdDsaPrivateSigningKey,
}

impl Idp {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let kid = |name: &str| Some(JsonWebKeyId::new(name.into()));
        let eddsa = |name: &str| {
            let pem = KeyPair::generate_for(&PKCS_ED25519)
                .unwrap()
                .serialize_pem();
            CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, kid(name)).unwrap()
        };
        let rsa = CoreRsaPrivateSigningKey::from_pem(
            include_str!("../fixtures/people/provider.pem"),
            kid("rsa"),
        )
        .unwrap();
        let keys = Arc::new(Keys {
            rsa,
            eddsa: eddsa("ed"),
            forged: eddsa("ed"),
            unknown: eddsa("new"),
        });
        let behaviour = Arc::new(Mutex::new(Behaviour {
            discovery: ResponseKind::Correct,
            keys: ResponseKind::Correct,
            token: ResponseKind::Correct,
            signing_key: SigningKey::Rsa,
            metadata: json!({}),
            override_claims: json!({}),
            userinfo: ResponseKind::Custom(401, "{}".into()),
            publishes_all: false,
            issued_code: None,
            requests: Vec::new(),
        }));
        let idp = Self {
            issuer,
            clock: Arc::default(),
            behaviour,
            keys,
        };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys_of))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(idp.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        idp
    }

    /// Returns the flags with which a server uses this provider.
    pub fn flags(&self) -> [String; 3] {
        [
            format!("--oidc-issuer={}", self.issuer),
            format!("--oidc-client-id={CLIENT_ID}"),
            format!("--oidc-client-secret={CLIENT_SECRET}"),
        ]
    }

    /// Makes the provider use the clock of a test.
    pub fn use_clock(&self, clock: &Clock) {
        self.clock.set(clock.clone()).ok();
    }

    fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    pub fn override_metadata(&self, metadata: Value) {
        self.change(|behaviour| behaviour.metadata = metadata);
    }

    pub fn override_claims(&self, override_claims: Value) {
        self.change(|behaviour| behaviour.override_claims = override_claims);
    }

    /// Adds a userinfo endpoint that sends this response.
    pub fn add_userinfo(&self, userinfo: ResponseKind) {
        self.override_metadata(json!({ "userinfo_endpoint": format!("{}/userinfo", self.issuer) }));
        self.change(|behaviour| behaviour.userinfo = userinfo);
    }

    pub fn sign_with(&self, signing_key: SigningKey) {
        self.change(|behaviour| behaviour.signing_key = signing_key);
    }

    pub fn publish_all_keys(&self) {
        self.change(|behaviour| behaviour.publishes_all = true);
    }

    pub fn set_responses(&self, discovery: ResponseKind, keys: ResponseKind, token: ResponseKind) {
        self.change(|behaviour| {
            (behaviour.discovery, behaviour.keys, behaviour.token) = (discovery, keys, token);
        });
    }

    /// Returns the requests that the provider got since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.behaviour.lock().unwrap().requests)
    }

    /// Accepts a sign-in at the authorization endpoint. Returns the query of the callback.
    pub fn accept_sign_in(&self, address: &str) -> Vec<(String, String)> {
        let url = Url::parse(address).unwrap();
        assert!(
            address.starts_with(&format!("{}/authorize?", self.issuer)),
            "{address}"
        );
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let parameter = |name: &str| {
            query
                .iter()
                .find(|(key, _)| key == name)
                .unwrap_or_else(|| panic!("no {name}: {address}"))
                .1
                .clone()
        };
        assert_eq!(
            (
                parameter("response_type"),
                parameter("client_id"),
                parameter("code_challenge_method")
            ),
            ("code".into(), CLIENT_ID.into(), "S256".into())
        );
        assert_eq!(parameter("scope"), "openid email");
        let state = parameter("state");
        self.change(|behaviour| behaviour.issued_code = Some(("the code".into(), query)));
        vec![("code".into(), "the code".into()), ("state".into(), state)]
    }

    fn signature(&self, signing_key: SigningKey, message: &[u8]) -> Vec<u8> {
        let Keys {
            rsa,
            eddsa,
            forged,
            unknown,
        } = &*self.keys;
        match signing_key {
            SigningKey::Rsa => rsa
                .sign(&CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, message)
                .unwrap(),
            SigningKey::EdDsa => eddsa
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            SigningKey::Forged => forged
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            SigningKey::Unknown => unknown
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            SigningKey::Shared => CoreHmacKey::new(CLIENT_SECRET)
                .sign(&CoreJwsSigningAlgorithm::HmacSha256, message)
                .unwrap(),
            SigningKey::None => Vec::new(),
        }
    }

    fn id_token(&self, signing_key: SigningKey, nonce: &str, more: &Value) -> String {
        let header = match signing_key {
            SigningKey::Rsa => json!({ "alg": "RS256", "kid": "rsa" }),
            SigningKey::EdDsa | SigningKey::Forged => json!({ "alg": "EdDSA", "kid": "ed" }),
            SigningKey::Unknown => json!({ "alg": "EdDSA", "kid": "new" }),
            SigningKey::Shared => json!({ "alg": "HS256" }),
            SigningKey::None => json!({ "alg": "none" }),
        };
        let now = self.clock.get().unwrap().now().as_second();
        let mut override_claims = json!({
            "iss": self.issuer,
            "sub": "ada",
            "aud": CLIENT_ID,
            "exp": now + 300,
            "iat": now,
            "nonce": nonce,
            "email": "ada@example.com",
            "email_verified": true,
        });
        for (name, value) in more.as_object().unwrap() {
            if value.is_null() {
                override_claims.as_object_mut().unwrap().remove(name);
            } else {
                override_claims[name] = value.clone();
            }
        }
        let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(&header), encoded(&override_claims));
        let signature =
            BASE64_URL_SAFE_NO_PAD.encode(self.signature(signing_key, message.as_bytes()));
        format!("{message}.{signature}")
    }
}

/// Returns the provider's response of this kind. `correct` builds the response for the kind
/// `Correct`.
async fn respond(kind: ResponseKind, correct: impl FnOnce() -> Response) -> Response {
    let text = |status: u16, body: String| {
        (
            StatusCode::from_u16(status).unwrap(),
            [(CONTENT_TYPE, "application/json")],
            body,
        )
            .into_response()
    };
    match kind {
        ResponseKind::Correct => correct(),
        ResponseKind::Silent => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            text(200, String::new())
        }
        ResponseKind::Custom(status, body) => text(status, body),
        ResponseKind::Huge => text(200, format!("\"{}\"", "x".repeat(2 << 20))),
        ResponseKind::Redirect => {
            (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")]).into_response()
        }
    }
}

fn json_text(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn discovery(State(idp): State<Idp>) -> Response {
    let (kind, more) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.requests.push("discovery".into());
        (behaviour.discovery.clone(), behaviour.metadata.clone())
    };
    let issuer = &idp.issuer;
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "EdDSA", "HS256", "none"],
    });
    for (name, value) in more.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    respond(kind, || json_text(&metadata)).await
}

async fn keys_of(State(idp): State<Idp>) -> Response {
    let (kind, publishes_all) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.requests.push("keys".into());
        (behaviour.keys.clone(), behaviour.publishes_all)
    };
    let mut keys: Vec<CoreJsonWebKey> = vec![
        idp.keys.rsa.as_verification_key(),
        idp.keys.eddsa.as_verification_key(),
    ];
    if publishes_all {
        keys.push(idp.keys.unknown.as_verification_key());
    }
    respond(kind, || json_text(&json!({ "keys": keys }))).await
}

async fn userinfo(State(idp): State<Idp>, headers: HeaderMap) -> Response {
    let kind = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.requests.push("userinfo".into());
        behaviour.userinfo.clone()
    };
    assert_eq!(headers.get(AUTHORIZATION).unwrap(), "Bearer at");
    respond(kind, || {
        json_text(&json!({ "sub": "ada", "email": "ada@example.com", "email_verified": true }))
    })
    .await
}

async fn token(State(idp): State<Idp>, headers: HeaderMap, body: String) -> Response {
    let (kind, signing_key, override_claims, issued_code) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.requests.push("token".into());
        (
            behaviour.token.clone(),
            behaviour.signing_key,
            behaviour.override_claims.clone(),
            behaviour.issued_code.take(),
        )
    };
    respond(kind, || {
        let refusal = || {
            (
                StatusCode::BAD_REQUEST,
                json_text(&json!({ "error": "invalid_grant" })),
            )
                .into_response()
        };
        let Some((code, parameter)) = issued_code else {
            return refusal();
        };
        let sent: Vec<(String, String)> = form_urlencoded::parse(body.as_bytes())
            .into_owned()
            .collect();
        let of = |fields: &[(String, String)], name: &str| {
            fields
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.clone())
                .unwrap_or_default()
        };
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let basic =
            BASE64_STANDARD.encode(format!("{}:{}", encoded(CLIENT_ID), encoded(CLIENT_SECRET)));
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(of(&sent, "code_verifier")));
        let is_right = headers
            .get(AUTHORIZATION)
            .is_some_and(|value| value == &format!("Basic {basic}"))
            && of(&sent, "grant_type") == "authorization_code"
            && of(&sent, "code") == code
            && of(&sent, "redirect_uri") == of(&parameter, "redirect_uri")
            && challenge == of(&parameter, "code_challenge");
        if !is_right {
            return refusal();
        }
        let id_token = idp.id_token(signing_key, &of(&parameter, "nonce"), &override_claims);
        json_text(&json!({ "access_token": "at", "token_type": "Bearer", "id_token": id_token }))
    })
    .await
}
