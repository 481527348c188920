//! The guest's page beside a form: a preview, asked for by a form of its own into a frame.

use axum::response::Response;
use serde_json::{Value, json};
use uuid::Uuid;

use super::refusal::Refusal;
use super::visit::Visit;
use super::words::Words;
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
    /// That of a path; nothing for whoever may ask for none.
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

/// On to what a guest of a portal would see.
pub async fn open(visit: &Visit, portal: Uuid) -> Result<Response, Refusal> {
    let language = visit.sent("language").filter(|tag| !tag.is_empty());
    let is_all = visit.sent("includeInactive").is_some();
    go_on(visit, json!({ "id": portal, "language": language, "includeInactive": is_all })).await
}

/// On to the page that a preview of these arguments shows.
pub async fn go_on(visit: &Visit, arguments: Value) -> Result<Response, Refusal> {
    let link: Value = visit.create("createPortalPreview", arguments, &visit.new_key()).await?;
    let url = link["url"].as_str().unwrap_or_default();
    // On the host that the browser has asked, whatever it is called outside.
    let path = url.find("/stay/").map(|place| &url[place..]).ok_or_else(Refusal::broken)?;
    Ok(people::redirect(&people::address(&visit.service, path)))
}
