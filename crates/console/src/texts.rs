//! Reads and writes the texts of resources. Reads many texts with one call of an operation.

use std::collections::HashMap;
use std::sync::Arc;

use features::translations::{
    ENGLISH, LIST_SHOWN_TEXTS, LIST_TRANSLATION_VERSIONS, LIST_TRANSLATIONS, ShownText,
};
use features::words::own_name;
use serde_json::json;
use uuid::Uuid;

use super::refusal::ConsoleRefusal;
use super::request::ConsoleRequest;
use super::screens::resource_address;

/// `MOST` is the maximum number of texts that one call reads in a single language. `MOST_TEXTS` is
/// the maximum number of texts that one call of [`TextWithVersions::all`] reads in every language.
const MOST: usize = 500;
const MOST_TEXTS: usize = 20;

/// Reads texts in the language of the page. If a text lacks that language, returns another version,
/// such as the English one (rules: translations#languages). Omits texts that cannot be read.
pub async fn texts(
    request: &ConsoleRequest,
    ids: impl Iterator<Item = Uuid>,
) -> HashMap<Uuid, String> {
    texts_in(request, request.language, ids).await
}

/// Reads texts in the language `language`. Omits texts that cannot be read.
pub async fn texts_in(
    request: &ConsoleRequest,
    language: &str,
    ids: impl Iterator<Item = Uuid>,
) -> HashMap<Uuid, String> {
    texts_of_form(request, language, ids)
        .await
        .unwrap_or_default()
}

/// Reads texts for a form. Returns an error if a text cannot be read. If the form showed an empty
/// field instead of the text, saving the form would delete the text.
pub async fn texts_of_form(
    request: &ConsoleRequest,
    language: &str,
    ids: impl Iterator<Item = Uuid>,
) -> Result<HashMap<Uuid, String>, ConsoleRefusal> {
    let ids: Vec<Uuid> = ids.collect();
    let mut results = HashMap::new();
    for part in ids.chunks(MOST) {
        let arguments = json!({ "ids": part, "language": language });
        let texts = request.read(LIST_TRANSLATIONS, arguments).await?;
        results.extend(texts.iter().map(|text| (text.id, text.text.clone())));
    }
    Ok(results)
}

/// Writes a text in one language. Every form writes existing texts with this function. The calling
/// function must have checked that the stored text may be overwritten ([`super::merge`]).
pub async fn write(
    request: &ConsoleRequest,
    id: &str,
    language: &str,
    text: &str,
) -> Result<(), ConsoleRefusal> {
    request
        .change(
            "setTranslationEntry",
            json!({ "id": id, "language": language, "text": text }),
        )
        .await
        .map(drop)
}

/// Deletes a text in one language. Its other languages do not change.
pub async fn remove(
    request: &ConsoleRequest,
    id: Uuid,
    language: &str,
) -> Result<(), ConsoleRefusal> {
    request
        .change(
            "deleteTranslationEntry",
            json!({ "id": id, "language": language }),
        )
        .await
        .map(drop)
}

/// Returns the texts of a resource that belong to one source table, such as `precheck_step_detail`.
pub async fn texts_of(
    request: &ConsoleRequest,
    table: &str,
    thing: Uuid,
) -> Result<Arc<Vec<ShownText>>, ConsoleRefusal> {
    let arguments = json!({ "sourceTable": table, "thingId": thing, "limit": MOST });
    request.read(LIST_SHOWN_TEXTS, arguments).await
}

/// Maximum number of languages in which the page shows a text.
const LANGUAGES: usize = 12;
/// Number of characters at the beginning of a text that the page shows in each language. In a
/// longer text, `…` stands for the rest.
const LETTERS: usize = 160;

/// A text in all languages of the organization.
pub struct TextWithVersions {
    /// Label of the field that refers to the text.
    pub field: String,
    /// Address of the page that changes the text.
    pub edit_address: Option<String>,
    pub versions: Vec<TextInLanguage>,
}

/// A text in one language.
pub struct TextInLanguage {
    pub language: String,
    pub name: String,
    /// The beginning of the text. `None` if the text does not exist in this language.
    pub text: Option<String>,
    pub is_machine: bool,
    /// Whether the English text has changed since the text in this language was written.
    pub is_outdated: bool,
}

impl TextWithVersions {
    /// Reads the first `MOST_TEXTS` of `texts`, each in all languages of the organization. `texts`
    /// has the id of each text, and the label of the field that refers to the text. Returns an
    /// empty list if the texts cannot be read.
    pub async fn all(request: &ConsoleRequest, texts: &[(String, Uuid)]) -> Vec<Self> {
        let texts = &texts[..texts.len().min(MOST_TEXTS)];
        if texts.is_empty() {
            return Vec::new();
        }
        let ids: Vec<Uuid> = texts.iter().map(|(_, id)| *id).collect();
        let arguments = json!({ "ids": ids });
        let Ok(found) = request.read(LIST_TRANSLATION_VERSIONS, arguments).await else {
            return Vec::new();
        };
        let own = request
            .signed_in
            .organization
            .settings
            .languages
            .iter()
            .map(String::as_str)
            .filter(|language| *language != ENGLISH);
        let languages: Vec<&str> = std::iter::once(ENGLISH)
            .chain(own)
            .take(LANGUAGES)
            .collect();
        let version = |id: Uuid, language: &str| {
            let found = found
                .iter()
                .find(|version| version.id == id && version.language == language);
            TextInLanguage {
                language: language.to_owned(),
                name: own_name(language).to_owned(),
                text: found.map(|found| cut(&found.text)),
                is_machine: found.is_some_and(|found| found.is_machine_translated),
                is_outdated: found.is_some_and(|found| found.is_outdated),
            }
        };
        let spoken = |(field, id): &(String, Uuid)| Self {
            field: field.clone(),
            edit_address: resource_address(request, "/translations/{id}", &id.to_string()),
            versions: languages
                .iter()
                .map(|language| version(*id, language))
                .collect(),
        };
        texts.iter().map(spoken).collect()
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() > LETTERS {
        text.chars().take(LETTERS).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}
