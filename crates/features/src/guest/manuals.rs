//! The manuals that a guest can read, under their headings (rules: stays#guest-view;
//! manuals#assigned-manuals). A guest can read a manual if it is visible now and is assigned to the
//! flat, directly or through the flat's group or tags. `manuals/visibility.rs` has the rules of
//! visibility.

use std::collections::HashMap;
use std::ops::Not;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::about::is_over;
use super::hours::StayHours;
use super::phase::Phase;
use super::placeholders::{MissingPlaceholder, TextPlacement, Values, WIFI_ICON};
use super::setup::SetupScope;
use super::stay::{Stay, StayFlat};
use crate::manuals::{
    self, DisplayMode, ManualWithCover, StoredCategory, Visibility, VisibilityInput,
    VisibilityRule, WrittenManual as Stored,
};
use crate::markdown;
use crate::records::{Property, RecordKind, record_as};
use crate::scopes::{self, EntityType};
use crate::translations::{TextLanguages, Texts, has_placeholders};

/// A heading with its manuals.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualCategoryView {
    /// Title of the heading. Null for a heading without a title, and for the manuals without a
    /// heading, which come last.
    pub title: Option<String>,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
    /// The manuals under this heading.
    pub manuals: Vec<ManualView>,
}

/// A manual as the guest sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualView {
    /// Manual id.
    pub id: Uuid,
    /// Title in the guest's language.
    pub title: Option<String>,
    /// Text of the manual: Markdown, or the value of a custom field.
    pub description: Option<String>,
    /// Description as safe HTML.
    pub description_html: Option<String>,
    /// Name of the cover icon in the Lucide icon set.
    pub icon_name: Option<String>,
    /// Cover image; null if the cover is an icon.
    pub image_url: Option<String>,
    /// Https address of a video; null without a video.
    pub video_url: Option<String>,
    /// The flat's wireless network, for a manual with the `wifi` icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<WifiView>,
    /// Whether the manual is inactive, so that guests do not get it. Only previews have the field,
    /// and only if it is true.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

impl ManualView {
    /// Returns whether the manual has content besides its title.
    #[must_use]
    pub const fn has_body(&self) -> bool {
        self.description_html.is_some()
            || self.image_url.is_some()
            || self.video_url.is_some()
            || self.wifi.is_some()
    }
}

/// A wireless network.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WifiView {
    /// Network name.
    pub name: String,
    /// Password of the network; null if none is needed or known.
    pub password: Option<String>,
}

/// A manual that is hidden only because it becomes visible later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingView {
    /// Title in the guest's language.
    pub title: String,
    /// Time from which the guest can see the manual.
    pub visible_from: Moment,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
}

/// For each custom field, by id: its name, and its value at the flat.
type CustomFields = HashMap<Uuid, (Option<String>, Option<String>)>;

/// The heading of a category: its id, its title, and the language of the title. The id is `None` in
/// the heading of the manuals without a category.
type Heading = (Option<Uuid>, Option<String>, TextLanguages);

/// The manuals that are assigned to a flat, before translation.
#[derive(Default)]
pub(super) struct FlatManuals {
    /// The categories of the organization, in the order in which guests see them as headings.
    categories: Vec<StoredCategory>,
    /// Manuals in the order of their creation.
    manuals: Vec<ManualWithCover>,
    /// Names and values of the custom fields that manuals show, by the field's id.
    fields: CustomFields,
    /// The flat's wireless network.
    wifi: Option<WifiView>,
}

/// The manuals that are assigned to a flat, in one language. All stays in the flat share them.
#[derive(Serialize)]
pub(super) struct ManualGroups {
    /// The organization's categories as headings, in the order in which guests see them. The last
    /// entry is for manuals without a category.
    headings: Vec<Heading>,
    /// Manuals in the order of their creation.
    manuals: Vec<TranslatedManual>,
}

/// A translated manual with its heading and its visibility rules.
#[derive(Serialize)]
struct TranslatedManual {
    heading: Option<Uuid>,
    /// Whether the description is a text that the organization wrote. Such a text may have
    /// placeholders; the value of a custom field has none.
    is_written: bool,
    rules: Vec<VisibilityRule>,
    view: ManualView,
}

impl FlatManuals {
    pub(super) fn load(
        context: &mut Context<'_, '_>,
        flat: &StayFlat,
        which: SetupScope,
    ) -> Result<Self> {
        let ids = scopes::reaching_ids(context, EntityType::Manual, &flat.targets())?;
        let mut manuals = manuals::manuals_by_id(context, ids)?;
        manuals.retain(|manual| which == SetupScope::All || manual.manual.answered.is_active);
        let categories = if manuals.is_empty() {
            Vec::new()
        } else {
            manuals::categories_in_order(context)?
        };
        let fields = fields(context, flat, &manuals)?;
        Ok(Self {
            categories,
            manuals,
            fields,
            wifi: wifi(flat),
        })
    }

    /// Returns the ids of the translations that the manuals and their headings link.
    pub(super) fn linked_texts(&self) -> impl Iterator<Item = Uuid> {
        let headings = self
            .categories
            .iter()
            .filter_map(|category| category.title_id);
        let of_manuals = self.manuals.iter().flat_map(|covered| {
            let manual = &covered.manual.answered;
            let is_text = manual.display_mode == DisplayMode::MultiLingualText;
            [manual.title_id, manual.description_id.filter(|_| is_text)]
                .into_iter()
                .flatten()
        });
        headings.chain(of_manuals)
    }

    /// Translates the manuals and the headings.
    pub(super) fn into_translated(self, texts: &Texts, language: &str) -> ManualGroups {
        let Self {
            categories,
            manuals,
            fields,
            wifi,
        } = self;
        let headings = categories
            .iter()
            .map(|category| {
                let languages = texts.languages(language, [("title", category.title_id)]);
                (Some(category.id), texts.of(category.title_id), languages)
            })
            .chain([(None, None, TextLanguages::default())]);
        let translated = |covered| translated(covered, (texts, language), &fields, wifi.as_ref());
        ManualGroups {
            headings: headings.collect(),
            manuals: manuals.into_iter().map(translated).collect(),
        }
    }
}

impl TranslatedManual {
    /// Returns the manual with filled placeholders. Fails if a placeholder has no value.
    fn filled(&self, values: &Values<'_>) -> std::result::Result<Self, MissingPlaceholder> {
        let mut view = self.view.clone();
        let title = view.title.as_deref();
        view.title = title
            .map(|title| values.plain(title, TextPlacement::Elsewhere))
            .transpose()?;
        let description = self.view.description.as_deref();
        if let Some(text) = description.filter(|text| self.is_written && has_placeholders(text)) {
            let placement = TextPlacement::of_icon(view.icon_name.as_deref());
            let language = view.text_languages.of("description");
            let language = language.unwrap_or_else(|| values.language());
            view.description_html = values.html(text, placement, language)?;
            view.description = Some(values.markdown(text, placement)?);
        }
        Ok(Self {
            heading: self.heading,
            is_written: self.is_written,
            rules: self.rules.clone(),
            view,
        })
    }
}

impl ManualGroups {
    /// Returns the manuals with filled placeholders. A manual is left out if one of its
    /// placeholders has no value. A heading loses its title if a placeholder in the title has no
    /// value.
    pub(super) fn filled(&self, values: &Values<'_>) -> Self {
        let heading = |(id, title, languages): &Heading| {
            let title = title.as_deref();
            let title = title.and_then(|title| values.plain(title, TextPlacement::Elsewhere).ok());
            let languages = match title {
                Some(_) => languages.clone(),
                None => TextLanguages::default(),
            };
            (*id, title, languages)
        };
        let manuals = self.manuals.iter();
        Self {
            headings: self.headings.iter().map(heading).collect(),
            manuals: manuals
                .filter_map(|translated| translated.filled(values).ok())
                .collect(),
        }
    }

    /// Returns whether a rule of a manual depends on the guest's verification status.
    pub(super) fn depends_on_verification(&self) -> bool {
        let mut rules = self.manuals.iter().flat_map(|translated| &translated.rules);
        rules.any(|rule| matches!(rule, VisibilityRule::VerificationStatus(_)))
    }

    /// Returns the manuals that the guest of a stay sees at a timestamp, by heading. Headings
    /// without visible manuals are left out. A guest of a cancelled stay sees no manuals.
    pub(super) fn view(&self, stay: &Stay, at: Timestamp) -> Vec<ManualCategoryView> {
        let Some(input) = visibility_input(stay).filter(|_| !stay.is_cancelled()) else {
            return Vec::new();
        };
        let phase = StayHours::of(stay).map_or(Phase::Before, |hours| hours.phase(at));
        let is_tentative = stay.is_tentative();
        let mut by_heading = HashMap::<Option<Uuid>, Vec<ManualView>>::new();
        for TranslatedManual {
            heading,
            rules,
            view,
            ..
        } in &self.manuals
        {
            let is_over = is_over(view.icon_name.as_deref(), rules, phase);
            if !is_over
                && visibility_of(rules, &input, at).is_none_or(|visibility| visibility.is_shown())
            {
                let mut view = view.clone();
                view.wifi = view.wifi.filter(|_| !is_tentative);
                by_heading.entry(*heading).or_default().push(view);
            }
        }
        let categories = self.headings.iter().filter_map(|(id, title, languages)| {
            Some(ManualCategoryView {
                title: title.clone(),
                text_languages: languages.clone(),
                manuals: by_heading.remove(id)?,
            })
        });
        categories.collect()
    }

    /// Returns the next time at which the visible or the upcoming manuals of a stay change.
    pub(super) fn next_change(&self, stay: &Stay, at: Timestamp) -> Timestamp {
        let Some(input) = visibility_input(stay) else {
            return Timestamp::MAX;
        };
        let bounds = self
            .manuals
            .iter()
            .filter_map(|TranslatedManual { rules, .. }| manuals::changes_at(rules, &input, at));
        bounds.min().unwrap_or(Timestamp::MAX)
    }

    /// Returns the manuals that become visible later and are hidden only because of the time, the
    /// soonest first.
    pub(super) fn upcoming(&self, stay: &Stay, at: Timestamp) -> Vec<UpcomingView> {
        let Some(input) = visibility_input(stay).filter(|_| !stay.is_cancelled()) else {
            return Vec::new();
        };
        let hint = |TranslatedManual { rules, view, .. }: &TranslatedManual| {
            let visible_from = Moment(manuals::shown_from(rules, &input, at)?);
            Some(UpcomingView {
                title: view.title.clone()?,
                visible_from,
                text_languages: view.text_languages.clone(),
            })
        };
        let mut upcoming: Vec<UpcomingView> = self.manuals.iter().filter_map(hint).collect();
        upcoming.sort_by_key(|hint| hint.visible_from);
        upcoming
    }
}

/// Returns the flat's wireless network; `None` if the flat has no network name.
fn wifi(flat: &StayFlat) -> Option<WifiView> {
    let Property {
        wifi_name,
        wifi_password,
        ..
    } = &flat.property;
    let name = wifi_name
        .clone()
        .filter(|name| !engine::typed::is_blank(name))?;
    Some(WifiView {
        name,
        password: wifi_password
            .clone()
            .filter(|password| !password.is_empty()),
    })
}

fn translated(
    covered: ManualWithCover,
    (texts, language): (&Texts, &str),
    fields: &CustomFields,
    wifi: Option<&WifiView>,
) -> TranslatedManual {
    let ManualWithCover { manual, image_url } = covered;
    let Stored {
        id,
        manual_category_id,
        title_id,
        description_id,
        display_mode,
        custom_field_id,
        icon_name,
        video_url,
        is_active,
        ..
    } = manual.answered;
    let (name, value) = custom_field_id
        .and_then(|id| fields.get(&id))
        .cloned()
        .unwrap_or_default();
    let (title, description, description_html) = match display_mode {
        DisplayMode::MultiLingualText => {
            let description = texts.of(description_id);
            let written_in = description_id.and_then(|id| texts.language_of(id));
            (
                texts.of(title_id),
                description.clone(),
                description
                    .as_deref()
                    .and_then(|text| markdown::to_html(text, written_in)),
            )
        }
        // The value of the custom field is plain text from the platform, not Markdown.
        DisplayMode::PmsVariable => (
            texts.of(title_id).or(name),
            value.clone(),
            value.as_deref().map(markdown::lines),
        ),
    };
    let wifi = wifi
        .filter(|_| icon_name.as_deref() == Some(WIFI_ICON))
        .cloned();
    let is_inactive = !is_active;
    let text_languages = texts.languages(
        language,
        [("title", title_id), ("description", description_id)],
    );
    let view = ManualView {
        id,
        title,
        description,
        description_html,
        icon_name,
        image_url,
        video_url,
        wifi,
        is_inactive,
        text_languages,
    };
    TranslatedManual {
        heading: manual_category_id,
        is_written: display_mode == DisplayMode::MultiLingualText,
        rules: manual.answered.visibility_rules,
        view,
    }
}

/// Returns the name and the value of each custom field that a manual shows. A value at the property
/// takes precedence over the value of the field itself.
fn fields(
    context: &mut Context<'_, '_>,
    flat: &StayFlat,
    manuals: &[ManualWithCover],
) -> Result<CustomFields> {
    let mut field_ids: Vec<Uuid> = manuals
        .iter()
        .filter_map(|covered| covered.manual.answered.custom_field_id)
        .collect();
    field_ids.sort_unstable();
    field_ids.dedup();
    if field_ids.is_empty() {
        return Ok(HashMap::new());
    }
    let property = record_as::<Object>(context, RecordKind::Property, flat.placement.property)?
        .unwrap_or_default();
    let mut fields = HashMap::new();
    for id in field_ids {
        let field = record_as::<Object>(context, RecordKind::CustomField, id)?.unwrap_or_default();
        let at_property = property
            .get("customFields")
            .and_then(|values| values.get(id.to_string()))
            .filter(|value| !value.is_null());
        let value = at_property
            .or_else(|| field.get("value"))
            .and_then(guest_text);
        fields.insert(id, (field.get("name").and_then(guest_text), value));
    }
    Ok(fields)
}

/// Returns a value as the guest reads it; `None` unless the value is a text or a number.
pub(super) fn guest_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the decision of a manual's visibility rules about a stay at the time `at`; `None` for a
/// manual without rules.
pub(super) fn visibility_of(
    rules: &[VisibilityRule],
    input: &VisibilityInput,
    at: Timestamp,
) -> Option<Visibility> {
    (!rules.is_empty()).then(|| manuals::decide(rules, input, at))
}

/// Returns the data of a stay on which the visibility rules depend; `None` for a stay without a
/// flat.
pub(super) fn visibility_input(stay: &Stay) -> Option<VisibilityInput> {
    let StayFlat { property, .. } = stay.flat.as_deref()?;
    let reservation = &stay.reservation;
    Some(VisibilityInput {
        check_in: reservation.check_in,
        check_out: reservation.check_out,
        check_in_time: reservation.arrival_time(Some(property)),
        check_out_time: reservation.departure_time(Some(property)),
        zone: stay.zone(),
        channel: reservation.channel.clone(),
        verification_status: reservation.verification_status,
    })
}
