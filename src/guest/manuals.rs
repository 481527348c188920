//! What a guest reads: the manuals that reach the flat and are visible now, under their headings (contract: Guest
//! interface, Manuals).

use std::collections::HashMap;
use std::ops::Not;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::Object;
use jiff::Timestamp;
use jiff::civil::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::markdown;
use super::setup::Which;
use super::stay::{Flat, Stay};
use crate::manuals::{self, Category, Covered, DisplayMode, ManualView as Stored, Rule, StayFacts, Visibility};
use crate::records::{Kind, Property, typed};
use crate::scopes::{self, EntityType};
use crate::translations::Texts;

/// A heading and what stands under it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ManualCategoryView {
    /// Null for manuals without a heading, which come last, and for a heading without a title.
    pub title: Option<String>,
    /// What there is to read.
    pub manuals: Vec<ManualView>,
}

/// A manual as the guest sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualView {
    /// Which manual.
    pub id: Uuid,
    /// In the guest's language.
    pub title: Option<String>,
    /// Markdown, or the value of a custom field.
    pub description: Option<String>,
    /// The same as HTML that is safe to show.
    pub description_html: Option<String>,
    /// The cover, where it is an icon of Lucide's.
    pub icon_name: Option<String>,
    /// The cover, where it is an image.
    pub image_url: Option<String>,
    /// A video to go with it.
    pub video_url: Option<String>,
    /// How to get into the flat's wireless network, for a manual whose icon says that it is about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<WifiView>,
    /// Whether guests do not get it, because it is not active: in a preview only; absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
}

/// A wireless network.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WifiView {
    /// What it is called.
    pub name: String,
    /// Null where it takes none, or none is known.
    pub password: Option<String>,
}

/// A manual that time alone still hides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingView {
    /// In the guest's language.
    pub title: String,
    /// From when it is shown.
    pub visible_from: Moment,
}

/// The icon of manuals about the wireless network.
const WIFI_ICON: &str = "wifi";

/// What custom fields are called, and their values at the flat.
type CustomFields = HashMap<Uuid, (Option<String>, Option<String>)>;

/// The manuals that reach a flat, before they are put into words.
#[derive(Default)]
pub(super) struct Stock {
    /// In portal order.
    categories: Vec<Category>,
    /// By creation.
    manuals: Vec<Covered>,
    /// Names and values of the custom fields that are shown, by field.
    fields: CustomFields,
    /// The flat's wireless network.
    wifi: Option<WifiView>,
}

/// The same in a language, for whoever stays in the flat.
#[derive(Serialize)]
pub(super) struct Shelves {
    /// In portal order, the one for what has no heading last.
    headings: Vec<(Option<Uuid>, Option<String>)>,
    /// By creation.
    manuals: Vec<Shelved>,
}

/// A manual on its shelf.
#[derive(Serialize)]
struct Shelved {
    heading: Option<Uuid>,
    rules: Vec<Rule>,
    view: ManualView,
}

impl Stock {
    pub(super) fn load(context: &mut Context<'_, '_>, flat: &Flat, which: Which) -> Result<Self> {
        let ids = scopes::reaching_ids(context, EntityType::Manual, &flat.targets())?;
        let mut manuals = manuals::among(context, ids)?;
        manuals.retain(|manual| which == Which::All || manual.manual.answered.is_active);
        let categories = if manuals.is_empty() { Vec::new() } else { manuals::categories_in_order(context)? };
        let fields = fields(context, flat, &manuals)?;
        Ok(Self { categories, manuals, fields, wifi: wifi(flat) })
    }

    /// The translations that showing it takes.
    pub(super) fn linked_texts(&self) -> impl Iterator<Item = Uuid> {
        let headings = self.categories.iter().filter_map(|category| category.title_id);
        let of_manuals = self.manuals.iter().flat_map(|covered| {
            let manual = &covered.manual.answered;
            let is_text = manual.display_mode == DisplayMode::MultiLingualText;
            [manual.title_id, manual.description_id.filter(|_| is_text)].into_iter().flatten()
        });
        headings.chain(of_manuals)
    }

    /// Puts it into words.
    pub(super) fn shelve(self, texts: &Texts) -> Shelves {
        let Self { categories, manuals, fields, wifi } = self;
        let headings = categories.iter().map(|category| (Some(category.id), texts.of(category.title_id))).chain([(None, None)]);
        let shelved = |covered| shelved(covered, texts, &fields, wifi.as_ref());
        Shelves { headings: headings.collect(), manuals: manuals.into_iter().map(shelved).collect() }
    }
}

impl Shelves {
    /// What the guest of a stay sees of it at a moment, heading by heading; headings without anything are left out.
    pub(super) fn view(&self, stay: &Stay, at: Timestamp) -> Vec<ManualCategoryView> {
        let Some(facts) = facts(stay).filter(|_| !stay.is_cancelled()) else { return Vec::new() };
        let mut by_heading = HashMap::<Option<Uuid>, Vec<ManualView>>::new();
        for Shelved { heading, rules, view } in &self.manuals {
            if judge(rules, &facts, at).is_none_or(|visibility| visibility.is_shown()) {
                by_heading.entry(*heading).or_default().push(view.clone());
            }
        }
        let shown = self.headings.iter().filter_map(|(id, title)| Some((title.clone(), by_heading.remove(id)?)));
        shown.map(|(title, manuals)| ManualCategoryView { title, manuals }).collect()
    }

    /// Until when the guest of a stay sees the same of it, and is told the same of what is to come.
    pub(super) fn until(&self, stay: &Stay, at: Timestamp) -> Timestamp {
        let Some(facts) = facts(stay) else { return Timestamp::MAX };
        let bounds = self.manuals.iter().filter_map(|Shelved { rules, .. }| manuals::changes_at(rules, &facts, at));
        bounds.min().unwrap_or(Timestamp::MAX)
    }

    /// What time alone hides of it from the guest of a stay at a moment, what comes first before the rest.
    pub(super) fn upcoming(&self, stay: &Stay, at: Timestamp) -> Vec<UpcomingView> {
        let Some(facts) = facts(stay).filter(|_| !stay.is_cancelled()) else { return Vec::new() };
        let hint = |Shelved { rules, view, .. }: &Shelved| {
            let visible_from = Moment(manuals::shown_from(rules, &facts, at)?);
            Some(UpcomingView { title: view.title.clone()?, visible_from })
        };
        let mut upcoming: Vec<UpcomingView> = self.manuals.iter().filter_map(hint).collect();
        upcoming.sort_by_key(|hint| hint.visible_from);
        upcoming
    }
}

/// The flat's wireless network, where it has one that is called something.
fn wifi(flat: &Flat) -> Option<WifiView> {
    let Property { wifi_name, wifi_password, .. } = &flat.property;
    let name = wifi_name.clone().filter(|name| !name.trim().is_empty())?;
    Some(WifiView { name, password: wifi_password.clone().filter(|password| !password.is_empty()) })
}

fn shelved(covered: Covered, texts: &Texts, fields: &CustomFields, wifi: Option<&WifiView>) -> Shelved {
    let Covered { manual, image_url } = covered;
    let Stored { id, manual_category_id, title_id, description_id, display_mode, custom_field_id, icon_name, video_url, is_active, .. } =
        manual.answered;
    let (name, value) = custom_field_id.and_then(|id| fields.get(&id)).cloned().unwrap_or_default();
    let (title, description, description_html) = match display_mode {
        DisplayMode::MultiLingualText => {
            let description = texts.of(description_id);
            (texts.of(title_id), description.clone(), description.as_deref().and_then(markdown::to_html))
        }
        // The value is the platform's, and no Markdown.
        DisplayMode::PmsVariable => (texts.of(title_id).or(name), value.clone(), value.as_deref().map(markdown::escape)),
    };
    let wifi = wifi.filter(|_| icon_name.as_deref() == Some(WIFI_ICON)).cloned();
    let is_inactive = !is_active;
    let view = ManualView { id, title, description, description_html, icon_name, image_url, video_url, wifi, is_inactive };
    Shelved { heading: manual_category_id, rules: manual.answered.visibility_rules, view }
}

/// The custom fields that are shown: what each is called, and its value at the property, or else its value everywhere.
fn fields(context: &mut Context<'_, '_>, flat: &Flat, manuals: &[Covered]) -> Result<CustomFields> {
    let mut wanted: Vec<Uuid> = manuals.iter().filter_map(|covered| covered.manual.answered.custom_field_id).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(HashMap::new());
    }
    let property = typed::<Object>(context, Kind::Property, flat.placement.property)?.unwrap_or_default();
    let mut fields = HashMap::new();
    for id in wanted {
        let field = typed::<Object>(context, Kind::CustomField, id)?.unwrap_or_default();
        let here = property.get("customFields").and_then(|values| values.get(id.to_string())).filter(|value| !value.is_null());
        let value = here.or_else(|| field.get("value")).and_then(written);
        fields.insert(id, (field.get("name").and_then(written), value));
    }
    Ok(fields)
}

/// A value as a guest reads it.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What the visibility rules of a manual come to; nothing for one without rules.
pub(super) fn judge(rules: &[Rule], facts: &StayFacts, at: Timestamp) -> Option<Visibility> {
    (!rules.is_empty()).then(|| manuals::decide(rules, facts, at))
}

/// What visibility rules look at; nothing without a flat.
pub(super) fn facts(stay: &Stay) -> Option<StayFacts> {
    let Flat { property, .. } = stay.flat.as_deref()?;
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Time>().ok());
    let reservation = &stay.reservation;
    Some(StayFacts {
        check_in: reservation.check_in,
        check_out: reservation.check_out,
        check_in_time: time(&property.check_in_time),
        check_out_time: time(&property.check_out_time),
        zone: stay.zone(),
        channel: reservation.channel.clone(),
        verification_status: reservation.verification_status,
    })
}
