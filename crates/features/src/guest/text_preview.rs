//! The operation `previewTranslation`: a text with its placeholders filled, as an invented guest of
//! a flat would read it.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::field::Language;
use engine::operation::{Needs, Operation, OperationName};
use http::Method;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::placeholders::{self, TextPlacement, Values};
use super::preview::invented_reservation;
use super::stay::{Stay, StayFlat};
use super::view::language_of;
use crate::manuals;
use crate::records::{Guest, RecordKind, get_record};
use crate::translations::{self, TextPiece, check_readable, pieces};
use crate::words::in_language;

/// The operation that returns a text as a guest of a property would read it, with filled
/// placeholders.
pub const PREVIEW_TRANSLATION: OperationName<TextPreview> =
    OperationName::new("previewTranslation");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "propertyId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "language": "fr",
}))]
struct PreviewTranslation {
    /// Id of the text, as in fields such as `descriptionId`.
    id: Uuid,
    /// Id of the property that a made-up guest stays in, from today.
    property_id: Uuid,
    /// Language of the text, as a BCP 47 tag; null or left out: English.
    #[serde(default)]
    language: Option<Language>,
}

/// A text as a guest of the property would read it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({
    "language": "en",
    "text": "Welcome to Casa Azul 2-1.",
    "html": "<p>Welcome to Casa Azul 2-1.</p>",
    "missing": [],
}))]
pub struct TextPreview {
    /// Language of the text; null without a text.
    language: Option<String>,
    /// Text with the values in place of the placeholders; null if a value is missing, because the
    /// guest does not get such a text.
    text: Option<String>,
    /// The filled text as HTML, for texts that are Markdown.
    pub html: Option<String>,
    /// Placeholders without a value.
    pub missing: Vec<MissingValue>,
}

/// A placeholder without a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct MissingValue {
    /// Name of the placeholder, as the text writes it.
    pub placeholder: String,
    /// The reason for the missing value as a sentence, for people.
    message: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            PREVIEW_TRANSLATION.id(),
            Method::POST,
            "/translations/{id}/preview",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("Read a text with its placeholders filled for a property")
        .tool(
            "translations",
            "Preview a text",
            "A text as a guest of a property would read it, with values in place of \
                `{{property.name}}` and the like.",
        )
        .reads()
        .run_as(PREVIEW_TRANSLATION, preview),
    ]
}

fn preview(context: &mut Context<'_, '_>, input: PreviewTranslation) -> Result<TextPreview> {
    check_readable(context, input.id)?;
    get_record(context, RecordKind::Property, input.property_id)?;
    let guest = Guest::default();
    let language = language_of(input.language.as_deref(), &guest);
    let stay = stay(context, input.property_id, &language)?;
    let texts = translations::texts(context, [input.id], &language)?;
    let Some(text) = texts.of(Some(input.id)) else {
        return Ok(TextPreview {
            language: None,
            text: None,
            html: None,
            missing: Vec::new(),
        });
    };
    let placement = placement(context, input.id)?;
    let custom = placeholders::custom_values(
        context,
        Some(input.property_id),
        std::iter::once(text.as_str()),
    )?;
    let values = Values::of(&stay, &custom, &language, true);
    let written_in = texts.language_of(input.id).unwrap_or(&language);
    Ok(TextPreview {
        language: texts.language_of(input.id).map(str::to_owned),
        html: values.html(&text, placement, written_in).ok().flatten(),
        missing: missing_values(&text, &values, placement),
        text: values.plain(&text, placement).ok(),
    })
}

/// Returns the stay of an invented guest who arrives today.
fn stay(context: &mut Context<'_, '_>, property: Uuid, language: &str) -> Result<Stay> {
    let flat = StayFlat::load(context, Some(property))?;
    let zone = flat
        .as_ref()
        .and_then(|flat| TimeZone::get(&flat.property.timezone).ok())
        .unwrap_or(TimeZone::UTC);
    let mut reservation = invented_reservation(context.now().to_zoned(zone).date());
    reservation.guest = Guest {
        first_name: Some(in_language(language).0.preview.guest.to_owned()),
        ..Guest::default()
    };
    Ok(Stay {
        id: context.new_id(),
        reservation,
        flat: flat.map(Arc::new),
    })
}

/// Returns the placement of a text: `WifiManual` for the description of a Wi-Fi manual, otherwise
/// `Elsewhere`. Only the description of a Wi-Fi manual may show the password of the flat's Wi-Fi
/// network in place of a placeholder.
fn placement(context: &mut Context<'_, '_>, text: Uuid) -> Result<TextPlacement> {
    let manuals = manuals::all_manuals(context)?;
    let is_of_wifi = manuals.iter().any(|covered| {
        let manual = &covered.manual.answered;
        manual.description_id == Some(text)
            && TextPlacement::of_icon(manual.icon_name.as_deref()) == TextPlacement::WifiManual
    });
    Ok(if is_of_wifi {
        TextPlacement::WifiManual
    } else {
        TextPlacement::Elsewhere
    })
}

fn missing_values(text: &str, values: &Values<'_>, placement: TextPlacement) -> Vec<MissingValue> {
    let of = |piece: &TextPiece<'_>| match piece {
        TextPiece::Text(_) => None,
        TextPiece::Named { whole, .. } => {
            let missing = values.plain(whole, placement).err()?;
            Some(MissingValue {
                message: missing.message(),
                placeholder: missing.name,
            })
        }
    };
    let missing_values: BTreeSet<MissingValue> = pieces(text).iter().filter_map(of).collect();
    missing_values.into_iter().collect()
}
