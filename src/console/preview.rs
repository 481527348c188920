//! A preview of the guest's page beside a form, with the typed values. A separate form loads the
//! preview into an iframe and stores nothing. Its other button stores a preview and opens the link
//! in a new tab.

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::frame::Bare;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::visit::ConsoleRequest;
use super::words::ConsoleWords;
use crate::guest::{CREATE_PORTAL_PREVIEW, PREVIEW_GUEST_VIEW};
use crate::page::look;
use crate::people;
use crate::words::own_name;

/// The form that requests a preview.
pub struct PreviewForm {
    /// The address that the request is sent to.
    pub action: String,
    pub form: String,
    /// The languages of the organization, with their own names.
    pub languages: Vec<(String, String)>,
    pub words: &'static ConsoleWords,
}

impl PreviewForm {
    /// Returns the form for a path. Returns `None` if the member may not create previews.
    pub fn of(visit: &ConsoleRequest, path: &str) -> Option<Self> {
        let languages = &visit.signed_in.organization.settings.languages;
        let name = |tag: &String| (tag.clone(), own_name(tag).to_owned());
        visit.may("createPortalPreview").then(|| Self {
            action: visit.address(path),
            form: visit.signed_in.form_token(),
            languages: languages.iter().map(name).collect(),
            words: visit.words,
        })
    }
}

/// The page in the iframe if the typed values are not valid.
#[derive(Template)]
#[template(path = "console/unseen.html")]
struct InvalidPreview {
    frame: Bare,
    messages: Vec<String>,
}

/// Shows the guest's page of a portal, with the typed values of the portal or of its branding.
pub async fn open(
    visit: &ConsoleRequest,
    portal: Uuid,
    typed: (&str, Map<String, Value>),
) -> Result<Response, ConsoleRefusal> {
    let language = visit.sent("language").filter(|tag| !tag.is_empty());
    let is_all = visit.sent("includeInactive").is_some();
    let mut arguments = json!({ "id": portal, "language": language, "includeInactive": is_all });
    if !typed.1.is_empty() {
        arguments[typed.0] = typed.1.into();
    }
    show(visit, arguments).await
}

/// With the form field `look`: renders the guest's page for the iframe beside the form. Without it:
/// creates a preview link and redirects to it.
pub async fn show(visit: &ConsoleRequest, arguments: Value) -> Result<Response, ConsoleRefusal> {
    if visit.sent("look").is_none() {
        return go_on(visit, arguments).await;
    }
    match visit.read(PREVIEW_GUEST_VIEW, arguments).await {
        Ok(view) => Ok(look(view, visit.service.clock.now())),
        Err(refusal) if refusal.status == 400 => {
            let frame = Bare::new(visit.language, visit.words.portals.preview_wrong);
            let page = InvalidPreview {
                frame,
                messages: refusal.sentences(visit),
            };
            Ok(reply::framed(visit, 400, &page))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Creates a preview and redirects to its page.
async fn go_on(visit: &ConsoleRequest, arguments: Value) -> Result<Response, ConsoleRefusal> {
    let link = visit
        .create_as(CREATE_PORTAL_PREVIEW, arguments, &visit.new_key())
        .await?;
    let url = link.url.as_str();
    // The redirect stays on the host that the browser used. The public host name can differ.
    let path = url
        .find("/stay/")
        .map(|place| &url[place..])
        .ok_or_else(ConsoleRefusal::broken)?;
    Ok(people::redirect(&people::address(&visit.service, path)))
}
