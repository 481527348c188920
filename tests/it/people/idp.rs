//! An OpenID provider in the test process that can give wrong answers.

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

/// The key that signs an ID token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// The RSA key that the provider publishes.
    Rsa,
    /// The `EdDSA` key that the provider publishes.
    EdDsa,
    /// An unpublished key with the key id of the `EdDSA` key.
    Forged,
    /// An unpublished key with its own key id.
    Unknown,
    /// The client secret.
    Shared,
    /// No signature.
    None,
}

/// How the provider answers at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// The correct response.
    Proper,
    /// No response for ten minutes.
    Silent,
    /// This status and body.
    Says(u16, String),
    /// A body above the size limit.
    Huge,
    /// A redirect to another address.
    Away,
}

struct Behaviour {
    discovery: Manner,
    keys: Manner,
    token: Manner,
    signed: Signed,
    /// Changes to the discovery document.
    metadata: Value,
    /// Changes to the claims of the ID token. A null value removes a claim.
    claims: Value,
    /// The response of the userinfo endpoint.
    userinfo: Manner,
    /// Whether the provider also publishes the unknown key.
    shows_all: bool,
    /// The issued code, with the parameters of the authorization request.
    given: Option<(String, Vec<(String, String)>)>,
    asked: Vec<String>,
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
            discovery: Manner::Proper,
            keys: Manner::Proper,
            token: Manner::Proper,
            signed: Signed::Rsa,
            metadata: json!({}),
            claims: json!({}),
            userinfo: Manner::Says(401, "{}".into()),
            shows_all: false,
            given: None,
            asked: Vec::new(),
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

    /// Returns the flags that configure the provider in a server.
    pub fn flags(&self) -> [String; 3] {
        [
            format!("--oidc-issuer={}", self.issuer),
            format!("--oidc-client-id={CLIENT_ID}"),
            format!("--oidc-client-secret={CLIENT_SECRET}"),
        ]
    }

    /// Sets the clock of the provider.
    pub fn goes_by(&self, clock: &Clock) {
        self.clock.set(clock.clone()).ok();
    }

    fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    pub fn says_of_itself(&self, metadata: Value) {
        self.change(|behaviour| behaviour.metadata = metadata);
    }

    pub fn claims(&self, claims: Value) {
        self.change(|behaviour| behaviour.claims = claims);
    }

    /// Adds a userinfo endpoint with this response.
    pub fn says_besides(&self, userinfo: Manner) {
        self.says_of_itself(json!({ "userinfo_endpoint": format!("{}/userinfo", self.issuer) }));
        self.change(|behaviour| behaviour.userinfo = userinfo);
    }

    pub fn signs(&self, signed: Signed) {
        self.change(|behaviour| behaviour.signed = signed);
    }

    pub fn shows_all_keys(&self) {
        self.change(|behaviour| behaviour.shows_all = true);
    }

    pub fn answers(&self, discovery: Manner, keys: Manner, token: Manner) {
        self.change(|behaviour| {
            (behaviour.discovery, behaviour.keys, behaviour.token) = (discovery, keys, token);
        });
    }

    /// Returns the requests since the last call.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.behaviour.lock().unwrap().asked)
    }

    /// Accepts a sign-in at the authorization endpoint and returns the query of the callback.
    pub fn lets_in(&self, address: &str) -> Vec<(String, String)> {
        let url = Url::parse(address).unwrap();
        assert!(
            address.starts_with(&format!("{}/authorize?", self.issuer)),
            "{address}"
        );
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let asked = |name: &str| {
            query
                .iter()
                .find(|(key, _)| key == name)
                .unwrap_or_else(|| panic!("no {name}: {address}"))
                .1
                .clone()
        };
        assert_eq!(
            (
                asked("response_type"),
                asked("client_id"),
                asked("code_challenge_method")
            ),
            ("code".into(), CLIENT_ID.into(), "S256".into())
        );
        assert_eq!(asked("scope"), "openid email");
        let state = asked("state");
        self.change(|behaviour| behaviour.given = Some(("the code".into(), query)));
        vec![("code".into(), "the code".into()), ("state".into(), state)]
    }

    fn signature(&self, signed: Signed, message: &[u8]) -> Vec<u8> {
        let Keys {
            rsa,
            eddsa,
            forged,
            unknown,
        } = &*self.keys;
        match signed {
            Signed::Rsa => rsa
                .sign(&CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, message)
                .unwrap(),
            Signed::EdDsa => eddsa
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            Signed::Forged => forged
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            Signed::Unknown => unknown
                .sign(&CoreJwsSigningAlgorithm::EdDsa, message)
                .unwrap(),
            Signed::Shared => CoreHmacKey::new(CLIENT_SECRET)
                .sign(&CoreJwsSigningAlgorithm::HmacSha256, message)
                .unwrap(),
            Signed::None => Vec::new(),
        }
    }

    fn id_token(&self, signed: Signed, nonce: &str, more: &Value) -> String {
        let header = match signed {
            Signed::Rsa => json!({ "alg": "RS256", "kid": "rsa" }),
            Signed::EdDsa | Signed::Forged => json!({ "alg": "EdDSA", "kid": "ed" }),
            Signed::Unknown => json!({ "alg": "EdDSA", "kid": "new" }),
            Signed::Shared => json!({ "alg": "HS256" }),
            Signed::None => json!({ "alg": "none" }),
        };
        let now = self.clock.get().unwrap().now().as_second();
        let mut claims = json!({
            "iss": self.issuer, "sub": "ada", "aud": CLIENT_ID, "exp": now + 300, "iat": now, "nonce": nonce,
            "email": "ada@example.com", "email_verified": true,
        });
        for (name, value) in more.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        let encoded = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.signature(signed, message.as_bytes()));
        format!("{message}.{signature}")
    }
}

/// Responds in the given manner. `proper` builds the correct response.
async fn in_manner(manner: Manner, proper: impl FnOnce() -> Response) -> Response {
    let text = |status: u16, body: String| {
        (
            StatusCode::from_u16(status).unwrap(),
            [(CONTENT_TYPE, "application/json")],
            body,
        )
            .into_response()
    };
    match manner {
        Manner::Proper => proper(),
        Manner::Silent => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            text(200, String::new())
        }
        Manner::Says(status, body) => text(status, body),
        Manner::Huge => text(200, format!("\"{}\"", "x".repeat(2 << 20))),
        Manner::Away => {
            (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")]).into_response()
        }
    }
}

fn json_text(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn discovery(State(idp): State<Idp>) -> Response {
    let (manner, more) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.asked.push("discovery".into());
        (behaviour.discovery.clone(), behaviour.metadata.clone())
    };
    let issuer = &idp.issuer;
    let mut metadata = json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"), "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"), "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "EdDSA", "HS256", "none"],
    });
    for (name, value) in more.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    in_manner(manner, || json_text(&metadata)).await
}

async fn keys_of(State(idp): State<Idp>) -> Response {
    let (manner, shows_all) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.asked.push("keys".into());
        (behaviour.keys.clone(), behaviour.shows_all)
    };
    let mut keys: Vec<CoreJsonWebKey> = vec![
        idp.keys.rsa.as_verification_key(),
        idp.keys.eddsa.as_verification_key(),
    ];
    if shows_all {
        keys.push(idp.keys.unknown.as_verification_key());
    }
    in_manner(manner, || json_text(&json!({ "keys": keys }))).await
}

async fn userinfo(State(idp): State<Idp>, headers: HeaderMap) -> Response {
    let manner = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.asked.push("userinfo".into());
        behaviour.userinfo.clone()
    };
    assert_eq!(headers.get(AUTHORIZATION).unwrap(), "Bearer at");
    in_manner(manner, || {
        json_text(&json!({ "sub": "ada", "email": "ada@example.com", "email_verified": true }))
    })
    .await
}

async fn token(State(idp): State<Idp>, headers: HeaderMap, body: String) -> Response {
    let (manner, signed, claims, given) = {
        let mut behaviour = idp.behaviour.lock().unwrap();
        behaviour.asked.push("token".into());
        (
            behaviour.token.clone(),
            behaviour.signed,
            behaviour.claims.clone(),
            behaviour.given.take(),
        )
    };
    in_manner(manner, || {
        let refusal = || {
            (
                StatusCode::BAD_REQUEST,
                json_text(&json!({ "error": "invalid_grant" })),
            )
                .into_response()
        };
        let Some((code, asked)) = given else {
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
            && of(&sent, "redirect_uri") == of(&asked, "redirect_uri")
            && challenge == of(&asked, "code_challenge");
        if !is_right {
            return refusal();
        }
        let id_token = idp.id_token(signed, &of(&asked, "nonce"), &claims);
        json_text(&json!({ "access_token": "at", "token_type": "Bearer", "id_token": id_token }))
    })
    .await
}
