//! Tests of the console over HTTP, as a browser without scripts uses it.

mod access;
mod assignments;
mod changing;
mod concurrent_changes;
mod empty;
pub mod hostile;
mod keeping;
mod keys;
mod log;
mod looking;
mod manuals;
mod matrix;
mod owner;
mod records;
mod refusals;
mod sizes;
mod stays;
pub mod steps;
mod submissions;
mod texts;
pub mod things;
mod webhooks;
mod work;

use engine::access::Permission;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::{Api, ApiResponse, Org, new_id};
use uuid::Uuid;

use crate::people::{Browser, guarded, signed_in};

/// Returns the HTML of a console page. Checks that the page runs only the console's own script and
/// is at most 100 KiB long.
#[track_caller]
pub fn html(response: &ApiResponse) -> String {
    let (html, tags) = guarded(response, &["script-src 'sha256-", "style-src 'sha256-"]);
    let scripts = tags.iter().filter(|tag| tag.starts_with("script")).count();
    assert_eq!(scripts, usize::from(html.contains("</nav>")), "{html}");
    assert!(html.len() <= 100 << 10, "{} bytes", html.len());
    html
}

/// Signs in a member with all permissions. Returns the member's browser.
pub async fn marta(org: &Org<'_>) -> Browser {
    member_with(org, Permission::VARIANTS, None).await
}

/// Signs in a member with these permissions, limited to these properties. Returns the member's
/// browser.
pub async fn member_with(
    org: &Org<'_>,
    permissions: &[Permission],
    properties: Option<&[Uuid]>,
) -> Browser {
    let id = new_id();
    org.member(id, properties, permissions, true).await;
    signed_in(org, id).await
}

/// Opens a console page and returns its HTML.
pub async fn page(browser: &Browser, path: &str) -> String {
    let response = browser.get(path).await;
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    html(&response)
}

/// A form of a page: its address, and the fields that a browser would send.
#[derive(Debug, Clone)]
pub struct Form {
    pub action: String,
    pub fields: Vec<(String, String)>,
}

impl Form {
    /// Returns the form whose HTML attribute `action` ends with the text `action`, from the HTML of
    /// a page. If there are several, a form that writes takes precedence over a search form.
    #[track_caller]
    pub fn of(page: &str, action: &str) -> Self {
        let forms = page
            .split("<form ")
            .skip(1)
            .map(|rest| rest.split("</form>").next().unwrap());
        let is_it = |form: &&str| {
            attribute(form.split('>').next().unwrap(), "action")
                .is_some_and(|field_name| plain(&field_name).ends_with(action))
        };
        let mut forms: Vec<&str> = forms.filter(is_it).collect();
        // The page may have a search form (GET) and a form that writes (POST) with this action.
        // This sort moves the search form to the end, so that the form that writes is chosen.
        forms.sort_by_key(|form| !form.split('>').next().unwrap().contains("method=\"post\""));
        let form = forms
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("no form for {action}: {page}"));
        let mut fields = Vec::new();
        let mut rest = form;
        while let Some(offset) = rest.find('<') {
            rest = &rest[offset + 1..];
            let (tag, rest_of_page) = rest.split_once('>').unwrap();
            let name = attribute(tag, "name").filter(|_| !has(tag, "disabled"));
            if let (true, Some(name)) = (tag.starts_with("input"), &name) {
                let kind = attribute(tag, "type").unwrap_or_default();
                if !matches!(&*kind, "checkbox" | "radio") || has(tag, "checked") {
                    fields.push((
                        name.clone(),
                        plain(&attribute(tag, "value").unwrap_or_default()),
                    ));
                }
            } else if let (true, Some(name)) = (tag.starts_with("textarea"), &name) {
                let text = rest_of_page.split("</textarea>").next().unwrap();
                fields.push((
                    name.clone(),
                    plain(text.strip_prefix('\n').unwrap_or(text)).replace('\n', "\r\n"),
                ));
            } else if let (true, Some(name)) = (tag.starts_with("select"), &name) {
                let options = rest_of_page
                    .split("</select>")
                    .next()
                    .unwrap()
                    .split("<option ")
                    .skip(1)
                    .map(|option| option.split('>').next().unwrap());
                let options: Vec<&str> = options.collect();
                let chosen = options
                    .iter()
                    .find(|option| has(option, "selected"))
                    .or(options.first());
                fields.extend(chosen.map(|option| {
                    (
                        name.clone(),
                        plain(&attribute(option, "value").unwrap_or_default()),
                    )
                }));
            }
        }
        Self {
            action: plain(&attribute(form.split('>').next().unwrap(), "action").unwrap()),
            fields,
        }
    }

    /// Sets a field to this value. If several checkboxes have this name, ticks the one with this
    /// value and unticks the others.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(field_name, _)| field_name != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a field, as if its checkbox were not ticked.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field_name, _)| field_name != name);
        self
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field_name, _)| field_name == name)
            .map(|(_, value)| value.as_str())
    }

    pub async fn send(&self, browser: &Browser) -> ApiResponse {
        let fields: Vec<(&str, &str)> = self
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        browser.post(&self.action, &fields).await
    }

    /// Sends the form, checks that the redirect contains `done={text}`, and follows it. Returns the
    /// address and the page.
    #[track_caller]
    pub fn done(&self, browser: &Browser, text: &str) -> impl Future<Output = (String, String)> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.send(browser).await;
            assert_eq!(response.status, 303, "{caller}: {}", response.body);
            let location = response.header("location").unwrap().to_owned();
            assert!(
                location.contains(&format!("done={text}")),
                "{caller}: {location}"
            );
            let page = page(browser, location.split('#').next().unwrap()).await;
            (location, page)
        }
    }

    /// Sends the form and expects this status. Returns the page, which shows the form again.
    #[track_caller]
    pub fn refused(&self, browser: &Browser, status: u16) -> impl Future<Output = String> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.send(browser).await;
            assert_eq!(response.status, status, "{caller}: {}", response.body);
            html(&response)
        }
    }
}

/// Returns the value of the attribute `name` of an HTML tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = format!(" {name}=\"");
    let tag = format!(" {tag}");
    let rest = tag.split_once(&start)?.1.to_owned();
    Some(rest.split('"').next().unwrap().to_owned())
}

fn has(tag: &str, name: &str) -> bool {
    tag.split_whitespace().any(|word| word == name)
}

/// Unescapes HTML entities.
pub fn plain(text: &str) -> String {
    let mut plain = text.to_owned();
    for (written, meant) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(written, meant);
    }
    plain
}

/// Creates a portal and returns its id and its address in the console.
pub async fn portal(api: &Api, name: &str) -> (String, String) {
    let id = api.post("/portals", json!({ "name": name })).await.data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/console/portals/{id}");
    (id, path)
}

/// Reads a resource through the REST interface.
pub async fn read(api: &Api, path: &str) -> Value {
    api.get(path).await.data()
}
