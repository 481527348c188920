//! Placeholders beside the forms of texts: the list of known placeholders, and a preview of a text
//! for a flat.

use serde::Deserialize;
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use super::flats;
use super::refusal::Refusal;
use super::visit::Visit;
use super::words::Words;
use crate::translations::StayValue;
use crate::words::fill;

/// The operation that lists custom fields.
const FIELDS: &str = "listCustomFields";
/// The operation that fills a text.
const PREVIEW: &str = "previewTranslation";
/// Maximum number of custom fields in the list.
const MOST: usize = 100;

/// The known placeholders: each with its braces and its meaning.
pub struct Placeholders {
    pub rows: Vec<(String, String)>,
    pub words: &'static Words,
}

impl Placeholders {
    pub async fn of(visit: &Visit) -> Self {
        let words = &visit.words.translations;
        let code = |name: &str| format!("{{{{{name}}}}}");
        let stay = StayValue::VARIANTS
            .iter()
            .map(|value| (code(value.as_ref()), words.meaning(*value).to_owned()));
        let fields: Vec<Value> = if visit.may(FIELDS) {
            let fields = visit.get(FIELDS, json!({ "limit": MOST })).await;
            fields.unwrap_or_default()
        } else {
            Vec::new()
        };
        let names = fields
            .iter()
            .filter_map(|field| field["name"].as_str())
            .filter(|name| !name.trim().is_empty());
        let custom: Vec<(String, String)> = names
            .map(|name| {
                let name = name.trim();
                (
                    code(&format!("custom.{name}")),
                    fill(words.p_custom, &[("name", name)]),
                )
            })
            .collect();
        Self {
            rows: stay.chain(custom).collect(),
            words: visit.words,
        }
    }
}

/// A text for a chosen flat.
pub struct TextPreview {
    pub path: String,
    /// The typed name of the flat.
    pub flat: String,
    /// The flats that the name may mean.
    pub choices: Vec<String>,
    /// The text as safe HTML. `None` if nothing was chosen, or if a value is missing.
    pub html: Option<String>,
    /// What is wrong.
    pub said: Vec<String>,
    pub words: &'static Words,
}

#[derive(Deserialize)]
struct Filled {
    html: Option<String>,
    missing: Vec<Missing>,
}

#[derive(Deserialize)]
struct Missing {
    placeholder: String,
}

impl TextPreview {
    /// Reads the preview of a text on the page with this path. Returns `None` for no text, or if the
    /// member may not preview it.
    pub async fn of(
        visit: &Visit,
        text: Option<Uuid>,
        path: &str,
    ) -> Result<Option<Self>, Refusal> {
        let Some(text) = text.filter(|_| visit.may(PREVIEW) && flats::are_found(visit)) else {
            return Ok(None);
        };
        let flat = visit.asks("flat").unwrap_or_default().trim().to_owned();
        let mut preview = Self {
            path: visit.address(path),
            choices: Vec::new(),
            html: None,
            said: Vec::new(),
            words: visit.words,
            flat,
        };
        if preview.flat.is_empty() {
            return Ok(Some(preview));
        }
        match flats::meant(visit, &preview.flat).await? {
            Ok(property) => preview.fill(visit, text, property).await?,
            Err(flats) => {
                let said = visit.words.calendars.which_flat;
                preview.said.push(fill(said, &[("name", &preview.flat)]));
                preview.choices = flats.into_iter().map(|flat| flat.name).collect();
            }
        }
        Ok(Some(preview))
    }

    async fn fill(&mut self, visit: &Visit, text: Uuid, property: Uuid) -> Result<(), Refusal> {
        let arguments = json!({ "id": text, "propertyId": property, "language": visit.language });
        let filled: Filled = visit.get(PREVIEW, arguments).await?;
        self.html = filled.html;
        let said = visit.words.translations.no_value;
        let sentence = |missing: Missing| {
            let name = format!("{{{{{}}}}}", missing.placeholder);
            fill(said, &[("name", &name)])
        };
        self.said.extend(filled.missing.into_iter().map(sentence));
        Ok(())
    }
}
