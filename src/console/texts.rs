//! The texts that things link, read together: never one by one.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::visit::Visit;

/// Texts that are asked for at once.
const MOST: usize = 500;

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
    let ids: Vec<Uuid> = ids.collect();
    let mut found = HashMap::new();
    for part in ids.chunks(MOST) {
        let texts: Vec<Text> = visit.get("listTranslations", json!({ "ids": part, "language": language })).await.unwrap_or_default();
        found.extend(texts.into_iter().map(|text| (text.id, text.text)));
    }
    found
}
