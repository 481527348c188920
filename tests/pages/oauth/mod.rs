//! Tests of apps that members connect with OAuth (rules: oauth), and of attempts to get access
//! without consent.

mod asking;
mod clients;
mod codes;
mod connections;
mod consent;
mod documents;
mod kills;
mod lost_access;
mod metadata;
mod nodes;
mod refreshing;
pub mod site;
mod sweeping;

use engine::access::Permission;
use form_urlencoded::Serializer;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::{Api, ApiResponse, App, Org, new_id};
use url::Url;
use uuid::Uuid;

use crate::people::{Browser, fields, html, signed_in};

/// Code verifier and code challenge of RFC 7636, appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// Redirect URI of the test app of every organization.
pub const REDIRECT: &str = "https://client.example/cb";

/// The parameters of a query or the fields of a form, each as a name and a value.
pub type Pairs = Vec<(String, String)>;

pub fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Sets a parameter to this value, or removes it if the value is empty.
pub fn with(mut pairs: Pairs, name: &str, value: &str) -> Pairs {
    pairs.retain(|(own, _)| own != name);
    if !value.is_empty() {
        pairs.push((name.to_owned(), value.to_owned()));
    }
    pairs
}

pub fn encoded(pairs: &Pairs) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// An organization with an app, and a browser in which a member is signed in.
pub struct MemberScene<'a> {
    pub org: Org<'a>,
    pub member: Uuid,
    pub browser: Browser,
}

impl<'a> MemberScene<'a> {
    pub async fn build(app: &'a App) -> Self {
        Self::of(app, None, Permission::VARIANTS).await
    }

    /// Builds a scene whose member has these properties and permissions.
    pub async fn of(app: &'a App, properties: Option<&[Uuid]>, permissions: &[Permission]) -> Self {
        let (org, member) = (app.org().await, new_id());
        org.member(member, properties, permissions, true).await;
        let browser = signed_in(&org, member).await;
        Self {
            org,
            member,
            browser,
        }
    }

    pub fn app(&self) -> &'a App {
        self.org.app
    }

    /// Returns the parameters of a valid authorization request of the organization's app.
    pub fn ask(&self) -> Pairs {
        ask(&self.org.oauth_app.to_string(), REDIRECT)
    }

    /// Gives consent to an authorization request. Returns the authorization code.
    pub async fn code(&self, ask: &Pairs) -> String {
        let there = self.decide(ask, "approve").await;
        query(&there, "code").unwrap_or_else(|| panic!("no code: {there}"))
    }

    /// Submits the member's decision about a request. Returns the address of the redirect to the
    /// app.
    pub async fn decide(&self, ask: &Pairs, decision: &str) -> Url {
        let page = self.page(ask).await;
        let response = self
            .browser
            .post(
                "/oauth/consent",
                &form(&page, decision)
                    .iter()
                    .map(borrowed)
                    .collect::<Vec<_>>(),
            )
            .await;
        assert_eq!(response.status, 303, "{}", response.body);
        leads_to(&response)
    }

    /// Opens the consent page of a request. Returns its HTML.
    pub async fn page(&self, ask: &Pairs) -> String {
        let response = self
            .browser
            .get(&format!("/oauth/authorize?{}", encoded(ask)))
            .await;
        assert_eq!(
            response.status,
            200,
            "{:?} {}",
            response.header("location"),
            response.body
        );
        html(&response)
    }

    /// Exchanges a code as the organization's app.
    pub async fn exchange(&self, code: &str) -> ApiResponse {
        token(self.app(), &self.exchange_of(code)).await
    }

    /// Returns the parameters of a valid token request for a code.
    pub fn exchange_of(&self, code: &str) -> Pairs {
        let id = self.org.oauth_app.to_string();
        pairs(&[
            ("grant_type", "authorization_code"),
            ("client_id", &id),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
        ])
    }

    /// Gives consent to the authorization request `ask`, and exchanges the authorization code for
    /// tokens.
    pub async fn tokens(&self, ask: &Pairs) -> Tokens {
        Tokens::of(&self.exchange(&self.code(ask).await).await)
    }

    /// Sends a refresh token with the client id of the organization's OAuth app. Returns the
    /// response, which contains new tokens if the service accepts the refresh token.
    pub async fn refresh(&self, token: &str) -> ApiResponse {
        self.refresh_with(token, &[]).await
    }

    pub async fn refresh_with(&self, refresh_token: &str, more: &[(&str, &str)]) -> ApiResponse {
        let id = self.org.oauth_app.to_string();
        let all = [
            &[
                ("grant_type", "refresh_token"),
                ("client_id", &id),
                ("refresh_token", refresh_token),
            ],
            more,
        ]
        .concat();
        token(self.app(), &pairs(&all)).await
    }

    /// Returns a REST client with the access token.
    pub fn api(&self, tokens: &Tokens) -> Api {
        self.app().api(&tokens.access)
    }

    pub fn resource(&self, path: &str) -> String {
        format!("{}{path}", self.app().server.service.app_state.public_url)
    }

    /// Returns the parameters of a valid authorization request for the REST interface.
    pub fn ask_for_api(&self) -> Pairs {
        with(self.ask(), "resource", &self.resource("/api/v1"))
    }
}

/// Connects the organization's app to a member. Returns the tokens.
pub async fn connect(org: &Org<'_>, member: Uuid) -> Tokens {
    let org = Org {
        app: org.app,
        id: org.id,
        oauth_app: org.oauth_app,
    };
    let browser = signed_in(&org, member).await;
    let scene = MemberScene {
        org,
        member,
        browser,
    };
    scene.tokens(&scene.ask_for_api()).await
}

pub fn borrowed(pair: &(String, String)) -> (&str, &str) {
    (&pair.0, &pair.1)
}

/// Returns the parameters of a valid authorization request.
pub fn ask(client: &str, redirect: &str) -> Pairs {
    pairs(&[
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", redirect),
        ("state", "s p&=é"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ])
}

/// Returns the fields that the consent form sends with this decision.
pub fn form(page: &str, decision: &str) -> Pairs {
    let unescaped = |text: &str| {
        text.replace("&#38;", "&")
            .replace("&#39;", "'")
            .replace("&#34;", "\"")
            .replace("&amp;", "&")
    };
    let names = [
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "code_challenge",
        "code_challenge_method",
        "resource",
    ];
    // The page begins with a form for signing out, so the last `form` field belongs to the consent
    // form.
    let mut all = vec![("form".to_owned(), fields(page, "form").pop().unwrap())];
    all.extend(names.iter().flat_map(|name| {
        fields(page, name)
            .into_iter()
            .map(|value| ((*name).to_owned(), unescaped(&value)))
    }));
    with(all, "decision", decision)
}

/// Returns the address that a response redirects to. Panics if there is none.
#[track_caller]
pub fn leads_to(response: &ApiResponse) -> Url {
    let location = response
        .header("location")
        .unwrap_or_else(|| panic!("leads nowhere: {} {}", response.status, response.body));
    Url::parse(location).unwrap_or_else(|_| panic!("leads back: {location}"))
}

pub fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs()
        .find(|(own, _)| own == name)
        .map(|(_, value)| value.into_owned())
}

/// Builds a POST of a form.
pub fn post(app: &App, path: &str, pairs: &Pairs) -> RequestBuilder {
    let request = app
        .http
        .request(Method::POST, format!("{}{path}", app.base));
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(encoded(pairs))
}

/// Sends a request to the token endpoint. Checks that the response forbids caching.
pub async fn token(app: &App, pairs: &Pairs) -> ApiResponse {
    let response = ApiResponse::of(post(app, "/oauth/token", pairs)).await;
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    response
}

/// The tokens that the token endpoint returns.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
    pub scope: String,
}

impl Tokens {
    #[track_caller]
    pub fn of(response: &ApiResponse) -> Self {
        assert_eq!(response.status, 200, "{}", response.body);
        let text = |name: &str| response.body[name].as_str().unwrap().to_owned();
        assert_eq!(
            (text("token_type").as_str(), &response.body["expires_in"]),
            ("Bearer", &json!(3600))
        );
        let tokens = Self {
            access: text("access_token"),
            refresh: text("refresh_token"),
            scope: text("scope"),
        };
        assert!(tokens.access.starts_with("at_") && tokens.refresh.starts_with("rt_"));
        tokens
    }
}

/// Checks that a response refuses the request with this status and OAuth error code.
#[track_caller]
pub fn refused(response: &ApiResponse, status: u16, error: &str) {
    assert_eq!(
        (response.status, &response.body["error"]),
        (status, &json!(error)),
        "{}",
        response.body
    );
    assert!(
        response.body["error_description"].is_string() && response.header("x-request-id").is_some()
    );
}

/// Registers a client at the registration endpoint.
pub async fn register(app: &App, metadata: Value) -> ApiResponse {
    ApiResponse::of(
        app.http
            .request(Method::POST, format!("{}/oauth/register", app.base))
            .json(&metadata),
    )
    .await
}
