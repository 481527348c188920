//! Tests of the guest page and its forms over HTTP, without scripts (rules: stays#page).

mod addresses;
mod as_written;
mod flags;
mod hostile;
mod memory;
mod messages;
mod phases;
mod pushes;
mod reading;
mod sizes;
mod steps;
pub mod wallet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use test_support::house::{House, id, with};
use test_support::{ApiResponse, App, plain_client};

const FORM: &str = "application/x-www-form-urlencoded";

/// A browser without scripts that opens the page of one stay.
struct StayBrowser<'a> {
    app: &'a App,
    /// An HTTP client that follows no redirects.
    http: Client,
    token: String,
}

impl<'a> StayBrowser<'a> {
    fn new(house: &House<'a>) -> Self {
        Self::with_token(house.org.app, &house.token)
    }

    fn with_token(app: &'a App, token: &str) -> Self {
        let http = plain_client().redirect(Policy::none()).build().unwrap();
        Self {
            app,
            http,
            token: token.into(),
        }
    }

    /// Opens a path below the stay's page. Returns its HTML.
    async fn open(&self, rest: &str) -> String {
        self.visit(&format!("/stay/{}{rest}", self.token)).await
    }

    async fn visit(&self, address: &str) -> String {
        self.page_of(200, self.http.get(format!("{}{address}", self.app.base)))
            .await
    }

    /// Opens a path below the stay's page and expects a 404. Returns its HTML.
    async fn open_missing(&self, rest: &str) -> String {
        self.page_of(
            404,
            self.http
                .get(format!("{}/stay/{}{rest}", self.app.base, self.token)),
        )
        .await
    }

    /// Builds a POST of a form to a path below the stay's page.
    fn form(&self, rest: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.body(rest, body).header("content-type", FORM)
    }

    fn body(&self, rest: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.http
            .post(format!("{}/stay/{}{rest}", self.app.base, self.token))
            .body(body)
    }

    async fn post(&self, rest: &str, fields: &[(&str, &str)]) -> ApiResponse {
        ApiResponse::of(self.form(rest, fields)).await
    }

    /// Submits a form and checks that it is refused with this status. Returns the HTML of the page
    /// in the response.
    async fn refused(&self, status: u16, rest: &str, fields: &[(&str, &str)]) -> String {
        self.page_of(status, self.form(rest, fields)).await
    }

    /// Sends a request and expects this status. Returns the page.
    async fn page_of(&self, status: u16, request: RequestBuilder) -> String {
        let response = ApiResponse::of(request).await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (status, Some("text/html; charset=utf-8")),
            "{}",
            response.body
        );
        html(&response)
    }

    /// Submits the form whose address contains `address_part`, with its hidden fields, and follows
    /// the redirect. Returns the address and the HTML of the page that the redirect leads to.
    async fn fill_in(
        &self,
        page: &str,
        address_part: &str,
        fields: &[(&str, &str)],
    ) -> (String, String) {
        let action = action(page, address_part)
            .unwrap_or_else(|| panic!("no form goes to {address_part}: {page}"));
        let rest = action
            .strip_prefix(&format!("/stay/{}", self.token))
            .unwrap()
            .to_owned();
        let hidden = hidden(page, address_part);
        let all: Vec<(&str, &str)> = hidden
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(fields.iter().copied())
            .collect();
        let response = self.post(&rest, &all).await;
        assert_eq!(response.status, 303, "{}", response.body);
        assert_eq!(
            (
                response.header("cache-control"),
                response.header("referrer-policy")
            ),
            (Some("no-store"), Some("no-referrer"))
        );
        let address = response.header("location").unwrap().to_owned();
        let page = self.visit(&address).await;
        (address, page)
    }
}

/// Returns the HTML of a page without its script. Checks that the page has exactly one script, and
/// that the content security policy allows this script.
fn html(response: &ApiResponse) -> String {
    let html = response.body.as_str().unwrap();
    let (before, rest) = html
        .split_once("<script>")
        .unwrap_or_else(|| panic!("no script: {html}"));
    let (script, after) = rest.split_once("</script>").unwrap();
    let hash = format!(
        "'sha256-{}'",
        BASE64_STANDARD.encode(Sha256::digest(script))
    );
    let policy = response.header("content-security-policy").unwrap();
    let scripts = policy
        .split("; ")
        .find(|part| part.starts_with("script-src "));
    assert!(scripts.unwrap().contains(&hash), "{policy}");
    let html = format!("{before}{after}");
    assert!(
        !html.to_lowercase().contains("<script"),
        "none written by anyone: {html}"
    );
    html
}

/// Returns the unescaped address to which a form of the page is sent, for the first form whose
/// address contains `address_part`; `None` if there is no such form.
fn action(page: &str, address_part: &str) -> Option<String> {
    let actions = page
        .split("action=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    actions
        .map(|action| action.replace("&#38;", "&"))
        .find(|action| action.contains(address_part))
}

/// Returns the hidden fields of the form whose address contains `address_part`.
fn hidden(page: &str, address_part: &str) -> Vec<(String, String)> {
    let unescaped = |text: &str| {
        let text = text.replace("&#34;", "\"").replace("&#39;", "'");
        text.replace("&#60;", "<")
            .replace("&#62;", ">")
            .replace("&#38;", "&")
    };
    let form = page
        .split("<form ")
        .skip(1)
        .map(|form| form.split("</form>").next().unwrap())
        .find(|form| form.split('>').next().unwrap().contains(address_part));
    let inputs = form
        .unwrap_or_default()
        .split("<input type=\"hidden\" name=\"")
        .skip(1);
    inputs
        .filter_map(|rest| rest.split_once("\" value=\""))
        .map(|(name, rest)| (unescaped(name), unescaped(rest.split('"').next().unwrap())))
        .filter(|(name, _)| {
            name.rsplit_once('.').is_some_and(|(_, last)| last == "was")
                || name.starts_with("id.")
                || name == "shownText"
        })
        .collect()
}

/// Returns the part of a page that begins with `from` and ends before the next `until`.
fn between<'p>(page: &'p str, from: &str, until: &str) -> &'p str {
    let start = page
        .find(from)
        .unwrap_or_else(|| panic!("no {from}: {page}"));
    let rest = &page[start..];
    &rest[..rest[from.len()..]
        .find(until)
        .map_or(rest.len(), |address_part| address_part + from.len())]
}

#[track_caller]
fn shows(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text:?} is not in {page}");
    }
}

#[track_caller]
fn lacks(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(!page.contains(text), "{text:?} is in {page}");
    }
}

/// Creates a text with an English and a Spanish version.
async fn text(house: &House<'_>, table: &str, english: &str, spanish: &str) -> Value {
    let created = house
        .api
        .post(
            "/translations",
            json!({ "sourceTable": table, "text": english }),
        )
        .await
        .data()["id"]
        .clone();
    let path = format!("/translations/{}/entries/es", created.as_str().unwrap());
    house
        .api
        .ok(Method::PUT, &path, Some(json!({ "text": spanish })))
        .await;
    created
}

/// Creates a category of manuals.
async fn category(house: &House<'_>, title: &str) -> Value {
    house
        .api
        .post("/portal-manual-categories", json!({ "title": title }))
        .await
        .data()["id"]
        .clone()
}

/// Creates an active manual of the flat. Advances the clock first, so that the manual is newer than
/// all earlier manuals.
async fn manual(house: &House<'_>, more: Value) -> Uuid {
    house
        .org
        .app
        .clock
        .advance(std::time::Duration::from_millis(5));
    let fields = json!({ "nickname": "for the team", "isActive": true, "propertyId": house.flat });
    id(&house
        .api
        .post("/portal-manuals", with(fields, more))
        .await
        .data()["id"])
}

const ADA: &[(&str, &str)] = &[
    ("firstName", "Ada"),
    ("lastName", "Lovelace"),
    ("email", "ada@example.com"),
    ("phone", ""),
];
