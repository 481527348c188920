//! The guest's page beside a form, as it would be with what is typed there: asked for by a form of its own into a frame, which writes
//! nothing. In a tab of its own it is a preview, which has a link.

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::frame::Bare;
use super::refusal::Refusal;
use super::reply;
use super::visit::Visit;
use super::words::Words;
use crate::page::look;
use crate::people;
use crate::words::own_name;

/// What asks for a preview.
pub struct Preview {
    /// Where it is asked for.
    pub action: String,
    pub form: String,
    /// The languages of the organization, and what they call themselves.
    pub languages: Vec<(String, String)>,
    pub words: &'static Words,
}

impl Preview {
    /// That of a path, beside a form; nothing for whoever may ask for none.
    pub fn of(visit: &Visit, path: &str) -> Option<Self> {
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

/// What cannot be shown yet, in the frame for it.
#[derive(Template)]
#[template(path = "console/unseen.html")]
struct Unseen {
    frame: Bare,
    said: Vec<String>,
}

/// What a guest of a portal would see, with what is typed of the portal or of its branding.
pub async fn open(visit: &Visit, portal: Uuid, typed: (&str, Map<String, Value>)) -> Result<Response, Refusal> {
    let language = visit.sent("language").filter(|tag| !tag.is_empty());
    let is_all = visit.sent("includeInactive").is_some();
    let mut arguments = json!({ "id": portal, "language": language, "includeInactive": is_all });
    if !typed.1.is_empty() {
        arguments[typed.0] = typed.1.into();
    }
    show(visit, arguments).await
}

/// What a guest would see, or on to a preview of it.
pub async fn show(visit: &Visit, arguments: Value) -> Result<Response, Refusal> {
    if visit.sent("look").is_none() {
        return go_on(visit, arguments).await;
    }
    match visit.get::<Value>("previewGuestView", arguments).await {
        Ok(view) => look(view, visit.service.clock.now()).map_err(|error| Refusal::said(&error, visit.language)),
        Err(refusal) if refusal.status == 400 => {
            let frame = Bare::new(visit.language, visit.words.portals.preview_wrong);
            let page = Unseen { frame, said: refusal.sentences(visit) };
            Ok(reply::in_our_frames(reply::of(visit, 400, &page)))
        }
        Err(refusal) => Err(refusal),
    }
}

/// On to the page that a preview of these arguments shows.
async fn go_on(visit: &Visit, arguments: Value) -> Result<Response, Refusal> {
    let link: Value = visit.create("createPortalPreview", arguments, &visit.new_key()).await?;
    let url = link["url"].as_str().unwrap_or_default();
    // On the host that the browser has asked, whatever it is called outside.
    let path = url.find("/stay/").map(|place| &url[place..]).ok_or_else(Refusal::broken)?;
    Ok(people::redirect(&people::address(&visit.service, path)))
}
