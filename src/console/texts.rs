//! The texts that things link, read together: never one by one.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::refusal::Refusal;
use super::screens::way;
use super::visit::Visit;
use crate::translations::ENGLISH;
use crate::words::own_name;

/// Texts that are asked for at once, in one language and in all.
const MOST: usize = 500;
const MOST_SPOKEN: usize = 20;

#[derive(Deserialize)]
struct Text {
    id: Uuid,
    text: String,
}

/// Some texts in the language of the page, or the nearest there is. What is not to be had is left out.
pub async fn texts(visit: &Visit, ids: impl Iterator<Item = Uuid>) -> HashMap<Uuid, String> {
    texts_in(visit, visit.language, ids).await
}

/// The same in a language.
pub async fn texts_in(visit: &Visit, language: &str, ids: impl Iterator<Item = Uuid>) -> HashMap<Uuid, String> {
    texts_of_form(visit, language, ids).await.unwrap_or_default()
}

/// The same of a form: what was refused is no text that is empty, or whoever types would write over it.
pub async fn texts_of_form(visit: &Visit, language: &str, ids: impl Iterator<Item = Uuid>) -> Result<HashMap<Uuid, String>, Refusal> {
    let ids: Vec<Uuid> = ids.collect();
    let mut found = HashMap::new();
    for part in ids.chunks(MOST) {
        let texts: Vec<Text> = visit.get("listTranslations", json!({ "ids": part, "language": language })).await?;
        found.extend(texts.into_iter().map(|text| (text.id, text.text)));
    }
    Ok(found)
}

/// Writes a text in a language: of what a form says there is no other way. Whether it may be written over is found out before
/// ([`super::meanwhile`]).
pub async fn write(visit: &Visit, id: &str, language: &str, text: &str) -> Result<(), Refusal> {
    visit.change("setTranslationEntry", json!({ "id": id, "language": language, "text": text })).await.map(drop)
}

/// A text in a field of a thing.
#[derive(Deserialize)]
pub struct Shown {
    pub id: Uuid,
    pub field: String,
}

/// The texts of a source table that a thing shows.
pub async fn shown_by(visit: &Visit, table: &str, thing: Uuid) -> Result<Vec<Shown>, Refusal> {
    visit.get("listShownTexts", json!({ "sourceTable": table, "thingId": thing, "limit": MOST })).await
}

/// Languages that a text is shown in beside each other, and letters of each.
const LANGUAGES: usize = 12;
const LETTERS: usize = 160;

/// A text in all languages of the organization, beside each other.
pub struct Spoken {
    /// What shows it.
    pub field: String,
    /// Where it is written.
    pub way: Option<String>,
    pub versions: Vec<Version>,
}

/// A text in one language.
pub struct Version {
    pub language: String,
    pub name: String,
    /// Its beginning; nothing where it is not there yet.
    pub text: Option<String>,
    pub is_machine: bool,
}

/// A version, as it is answered.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versioned {
    id: Uuid,
    language: String,
    text: String,
    is_machine_translated: bool,
}

impl Spoken {
    /// Some texts, each with what shows it; none where they are not to be had.
    pub async fn all(visit: &Visit, texts: &[(String, Uuid)]) -> Vec<Self> {
        let texts = &texts[..texts.len().min(MOST_SPOKEN)];
        if texts.is_empty() {
            return Vec::new();
        }
        let ids: Vec<Uuid> = texts.iter().map(|(_, id)| *id).collect();
        let Ok(found) = visit.get::<Vec<Versioned>>("listTranslationVersions", json!({ "ids": ids })).await else { return Vec::new() };
        let own = visit.signed_in.organization.settings.languages.iter().map(String::as_str).filter(|language| *language != ENGLISH);
        let languages: Vec<&str> = std::iter::once(ENGLISH).chain(own).take(LANGUAGES).collect();
        let version = |id: Uuid, language: &str| {
            let found = found.iter().find(|version| version.id == id && version.language == language);
            Version {
                language: language.to_owned(),
                name: own_name(language).to_owned(),
                text: found.map(|found| cut(&found.text)),
                is_machine: found.is_some_and(|found| found.is_machine_translated),
            }
        };
        let spoken = |(field, id): &(String, Uuid)| Self {
            field: field.clone(),
            way: way(visit, "/translations/{id}", &id.to_string()),
            versions: languages.iter().map(|language| version(*id, language)).collect(),
        };
        texts.iter().map(spoken).collect()
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() > LETTERS { text.chars().take(LETTERS).chain(['…']).collect() } else { text.to_owned() }
}
