//! Tests of sessions of members: how members sign in, stay signed in and sign out (rules:
//! members#signing-in).

mod forms;
pub mod idp;
mod links;
mod log;
mod pages;
mod provider;
mod sessions;
mod setup;

use std::collections::BTreeMap;
use std::sync::Mutex;

use engine::access::Permission;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use strum::VariantArray;
use uuid::Uuid;

use test_support::{ApiResponse, App, Org, new_id, plain_client};

/// A browser without scripts. It stores cookies and does not follow redirects.
pub struct Browser {
    http: Client,
    base: String,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    pub fn new(app: &App) -> Self {
        Self::at(&app.base)
    }

    pub fn at(base: &str) -> Self {
        let http = plain_client().redirect(Policy::none()).build().unwrap();
        Self {
            http,
            base: base.to_owned(),
            cookies: Mutex::default(),
        }
    }

    /// Returns another browser with a copy of this browser's cookies.
    pub fn copy(&self) -> Self {
        Self {
            cookies: Mutex::new(self.cookies.lock().unwrap().clone()),
            ..Self::at(&self.base)
        }
    }

    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    pub fn set(&self, name: &str, value: &str) {
        self.cookies
            .lock()
            .unwrap()
            .insert(name.to_owned(), value.to_owned());
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies = self.cookies.lock().unwrap();
        let line = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("; ");
        let request = self
            .http
            .request(method.clone(), format!("{}{path}", self.base))
            .header("accept", "text/html,*/*;q=0.8");
        // Browsers send `Origin` with every form.
        let request = if method == Method::POST {
            request.header("origin", &self.base)
        } else {
            request
        };
        if line.is_empty() {
            request
        } else {
            request.header("cookie", line)
        }
    }

    pub async fn send(&self, request: RequestBuilder) -> ApiResponse {
        let response = ApiResponse::of(request).await;
        for line in response.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            if line.contains("Max-Age=0;") {
                self.cookies.lock().unwrap().remove(name);
            } else {
                self.set(name, value);
            }
        }
        response
    }

    pub async fn get(&self, path: &str) -> ApiResponse {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> ApiResponse {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let kind = "application/x-www-form-urlencoded";
        self.send(
            self.request(Method::POST, path)
                .header("content-type", kind)
                .body(body),
        )
        .await
    }

    /// Opens a page and returns its HTML.
    #[track_caller]
    fn page(&self, path: &str) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.get(path).await;
            assert_eq!(
                response.status, 200,
                "{path} at {caller}: {}",
                response.body
            );
            html(&response)
        }
    }

    /// Opens a sign-in link and submits its form. Returns the address of the redirect.
    pub async fn sign_in(&self, link: &str) -> String {
        let page = self.page(link).await;
        let response = self
            .post(
                "/sign-in",
                &[
                    ("form", &field(&page, "form")),
                    ("ticket", &field(&page, "ticket")),
                ],
            )
            .await;
        assert_eq!(response.status, 303, "{}", response.body);
        response.header("location").unwrap().to_owned()
    }

    /// Returns whether the browser has a session of a member.
    async fn is_signed_in(&self) -> bool {
        let page = self.page("/sign-in").await;
        page.contains("You are signed in")
    }
}

/// Checks that the headers of a page forbid caches and frames, and that its content security policy
/// has all of `directives`. Returns the HTML, and its tags without attribute values.
#[track_caller]
pub fn guarded(response: &ApiResponse, directives: &[&str]) -> (String, Vec<String>) {
    let html = response
        .body
        .as_str()
        .unwrap_or_else(|| panic!("no page: {}", response.body))
        .to_owned();
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let policy = response.header("content-security-policy").unwrap();
    // The consent form redirects to the app, and the app may redirect to any address. The content
    // security policy therefore does not restrict the addresses to which that form may be sent.
    let asks_for_an_app = html.contains("/oauth/consent\"");
    assert_eq!(
        policy.contains("form-action 'self'"),
        !asks_for_an_app,
        "{policy}"
    );
    for directive in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
    .iter()
    .chain(directives)
    {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let tags = html
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap());
    // Attribute values are between quotes, so every second part is outside a value.
    let tags: Vec<String> = tags
        .map(|tag| tag.split('"').step_by(2).collect())
        .collect();
    assert!(
        !tags
            .iter()
            .any(|tag| tag.contains(" style=") || tag.contains(" on")),
        "{html}"
    );
    assert_eq!(html.matches("<h1").count(), 1, "{html}");
    (html, tags)
}

/// Returns the HTML of a sign-in page. Checks that the page has no script and loads nothing.
#[track_caller]
pub fn html(response: &ApiResponse) -> String {
    let (html, tags) = guarded(response, &[]);
    assert!(
        !response
            .header("content-security-policy")
            .unwrap()
            .contains("script-src")
    );
    assert!(!tags.iter().any(|tag| tag.starts_with("script")), "{html}");
    html
}

/// Returns the value of the first hidden field `name` of a page. Panics if the page has no such
/// field.
#[track_caller]
pub fn field(page: &str, name: &str) -> String {
    fields(page, name)
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no field {name}: {page}"))
}

/// Returns the values of all hidden fields whose name is `name`.
pub fn fields(page: &str, name: &str) -> Vec<String> {
    let start = format!("name=\"{name}\" value=\"");
    page.split(&start)
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

/// Returns the fields of an active member with all permissions.
pub fn member(email: &str) -> Value {
    json!({
        "name": "Ada",
        "email": email,
        "permissions": Permission::VARIANTS,
        "propertyIds": null,
        "isActive": true,
        "isTwoFactorEnrolled": true,
    })
}

/// Creates a member with the mail address `ada@example.com` and all permissions. Returns the
/// member's id.
pub async fn ada(org: &Org<'_>) -> Uuid {
    let id = new_id();
    org.put(&format!("/members/{id}"), member("ada@example.com"))
        .await;
    id
}

/// Creates a sign-in link for a member. Returns the platform interface's response.
pub async fn link_for(org: &Org<'_>, id: Uuid, body: Value) -> ApiResponse {
    org.app
        .platform()
        .post(&org.path(&format!("/members/{id}/sign-in-links")), body)
        .await
}

/// Creates a sign-in link for a member and returns its path.
pub async fn link(org: &Org<'_>, id: Uuid) -> String {
    path_of(&link_for(org, id, json!({})).await.data())
}

/// Returns the path and query of a sign-in link.
pub fn path_of(link: &Value) -> String {
    let url = link["url"].as_str().unwrap();
    url[url.find("/sign-in").unwrap()..].to_owned()
}

/// Signs a member in. Returns the browser.
pub async fn signed_in(org: &Org<'_>, id: Uuid) -> Browser {
    let browser = Browser::new(org.app);
    browser.sign_in(&link(org, id).await).await;
    browser
}
