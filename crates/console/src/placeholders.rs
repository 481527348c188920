//! Help next to the forms of texts: the list of known placeholders, and a preview of a text with
//! the values of a flat.

use features::guest::{MissingValue, PREVIEW_TRANSLATION};
use features::translations::StayValue;
use features::words::fill;
use serde_json::{Value, json};
use strum::VariantArray as _;
use texts::console::ConsoleTranslationsWords;
use uuid::Uuid;

use super::flats;
use super::refusal::ConsoleRefusal;
use super::request::ConsoleRequest;
use super::words::ConsoleWords;

const FIELDS: &str = "listCustomFields";
/// The operation that renders a text with the values of a flat.
const PREVIEW: &str = PREVIEW_TRANSLATION.id();
/// Maximum number of custom fields that the list of placeholders contains.
const MOST: usize = 100;

/// Returns a description of the value that a placeholder stands for.
const fn meaning(words: &ConsoleTranslationsWords, value: StayValue) -> &'static str {
    match value {
        StayValue::PropertyName => words.p_name,
        StayValue::PropertyAddress => words.p_address,
        StayValue::CheckInTime => words.p_check_in_time,
        StayValue::CheckOutTime => words.p_check_out_time,
        StayValue::WifiName => words.p_wifi_name,
        StayValue::WifiPassword => words.p_wifi_password,
        StayValue::GuestFirstName => words.p_first_name,
        StayValue::CheckIn => words.p_check_in,
        StayValue::CheckOut => words.p_check_out,
        StayValue::Nights => words.p_nights,
    }
}

/// The known placeholders. Each has its name in braces, and its meaning.
pub struct Placeholders {
    pub rows: Vec<(String, String)>,
    pub words: &'static ConsoleWords,
}

impl Placeholders {
    pub async fn of(request: &ConsoleRequest) -> Self {
        let words = &request.texts.translations;
        let code = |name: &str| format!("{{{{{name}}}}}");
        let stay = StayValue::VARIANTS
            .iter()
            .map(|value| (code(value.as_ref()), meaning(words, *value).to_owned()));
        let fields: Vec<Value> = if request.may(FIELDS) {
            let fields = request.get(FIELDS, json!({ "limit": MOST })).await;
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
            words: request.texts,
        }
    }
}

/// The preview of a text in which the placeholders have the values of a flat, and the search for
/// this flat by its name.
pub struct FlatTextPreview {
    pub path: String,
    /// The name of a flat, as the member typed it.
    pub flat: String,
    /// The names of the flats that match the typed name. Empty unless there are several.
    pub choices: Vec<String>,
    /// The text as safe HTML. `None` if the member chose no flat, or if a value is missing.
    pub html: Option<String>,
    /// The reasons why the preview shows no text.
    pub messages: Vec<String>,
    pub words: &'static ConsoleWords,
}

impl FlatTextPreview {
    /// Reads the preview of a text. `path` is the path of the page that shows the preview. Returns
    /// `None` if there is no text, or if the member may not preview it.
    pub async fn of(
        request: &ConsoleRequest,
        text: Option<Uuid>,
        path: &str,
    ) -> Result<Option<Self>, ConsoleRefusal> {
        let Some(text) = text.filter(|_| request.may(PREVIEW) && flats::may_search(request)) else {
            return Ok(None);
        };
        let flat = request
            .query_parameter("flat")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let mut preview = Self {
            path: request.address(path),
            choices: Vec::new(),
            html: None,
            messages: Vec::new(),
            words: request.texts,
            flat,
        };
        if preview.flat.is_empty() {
            return Ok(Some(preview));
        }
        match flats::by_name(request, &preview.flat).await? {
            Ok(property) => preview.fill(request, text, property).await?,
            Err(flats) => {
                let message = request.texts.calendars.which_flat;
                preview
                    .messages
                    .push(fill(message, &[("name", &preview.flat)]));
                preview.choices = flats.into_iter().map(|flat| flat.name).collect();
            }
        }
        Ok(Some(preview))
    }

    async fn fill(
        &mut self,
        request: &ConsoleRequest,
        text: Uuid,
        property: Uuid,
    ) -> Result<(), ConsoleRefusal> {
        let arguments = json!({ "id": text, "propertyId": property, "language": request.language });
        let filled = request.read(PREVIEW_TRANSLATION, arguments).await?;
        self.html.clone_from(&filled.html);
        let message = request.texts.translations.no_value;
        let sentence = |missing: &MissingValue| {
            let name = format!("{{{{{}}}}}", missing.placeholder);
            fill(message, &[("name", &name)])
        };
        self.messages.extend(filled.missing.iter().map(sentence));
        Ok(())
    }
}
