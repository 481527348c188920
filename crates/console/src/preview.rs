//! The preview of the guest page next to a form, with the values that the member typed into that
//! form. A separate form requests the preview. Its first button loads the preview into an iframe
//! and stores nothing. Its second button stores a preview, and opens the preview's link in a new
//! tab.

use access::people;
use askama::Template;
use axum::response::Response;
use features::guest::{CREATE_PORTAL_PREVIEW, PREVIEW_GUEST_VIEW};
use features::words::own_name;
use page::render;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::frame::Bare;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::words::ConsoleWords;

/// The form with which a member requests a preview of the guest page. On the page of a portal or
/// branding, the preview uses the values that are typed in the portal's or branding's form.
pub struct PreviewForm {
    pub action: String,
    pub form: String,
    /// The languages of the organization. Each has its tag, and its name in the language itself.
    pub languages: Vec<(String, String)>,
    pub words: &'static ConsoleWords,
}

impl PreviewForm {
    /// Returns the form that requests a preview of the guest page by a POST to `path`. Returns
    /// `None` if the member may not create previews.
    pub fn of(request: &ConsoleRequest, path: &str) -> Option<Self> {
        let languages = &request.signed_in.organization.settings.languages;
        let name = |tag: &String| (tag.clone(), own_name(tag).to_owned());
        request.may("createPortalPreview").then(|| Self {
            action: request.address(path),
            form: request.signed_in.form_token(),
            languages: languages.iter().map(name).collect(),
            words: request.texts,
        })
    }
}

/// The page in the iframe if the typed values are invalid.
#[derive(Template)]
#[template(path = "unseen.html")]
struct InvalidPreview {
    frame: Bare,
    messages: Vec<String>,
}

/// Shows the guest page of a portal with the values that the member typed for the portal or its
/// branding.
pub async fn open(
    request: &ConsoleRequest,
    portal: Uuid,
    typed: (&str, Map<String, Value>),
) -> Result<Response, ConsoleRefusal> {
    let language = request.form_value("language").filter(|tag| !tag.is_empty());
    let is_all = request.form_value("includeInactive").is_some();
    let mut arguments = json!({ "id": portal, "language": language, "includeInactive": is_all });
    if !typed.1.is_empty() {
        arguments[typed.0] = typed.1.into();
    }
    show(request, arguments).await
}

/// Renders the guest page for the iframe if the form has the field `look`. Otherwise creates a
/// preview, and redirects to its link.
pub async fn show(request: &ConsoleRequest, arguments: Value) -> Result<Response, ConsoleRefusal> {
    if request.form_value("look").is_none() {
        return redirect_to_preview(request, arguments).await;
    }
    match request.read(PREVIEW_GUEST_VIEW, arguments).await {
        Ok(view) => Ok(render(view, request.service.clock.now())),
        Err(refusal) if refusal.status == 400 => {
            let frame = Bare::new(request.language, request.texts.portals.preview_wrong);
            let page = InvalidPreview {
                frame,
                messages: refusal.sentences(request),
            };
            Ok(reply::framed(request, 400, &page))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Stores a preview of the guest page, and redirects the browser to the previewed page.
async fn redirect_to_preview(
    request: &ConsoleRequest,
    arguments: Value,
) -> Result<Response, ConsoleRefusal> {
    let link = request
        .create_as(CREATE_PORTAL_PREVIEW, arguments, &request.new_key())
        .await?;
    let url = link.url.as_str();
    // The preview's link has the public host. The redirect has only the link's path, because the
    // browser may have opened the console at another host.
    let path = url
        .find("/stay/")
        .map(|place| &url[place..])
        .ok_or_else(ConsoleRefusal::broken)?;
    Ok(people::redirect(&people::address(&request.service, path)))
}
