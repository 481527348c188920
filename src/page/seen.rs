//! The guest view as the page reads it: the answer of `getStay`, with what it may lack.

use engine::moment::Moment;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::guest::{BrandingView, ContactView, OfferView, PortalView, QuestionView, StayView};
use crate::portals::Tile;
use crate::precheck::StepType;

/// What this guest of this flat sees now.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    pub reservation: StayView,
    pub property: Option<Flat>,
    pub portal: Option<PortalView>,
    pub branding: Option<BrandingView>,
    pub contact: Option<ContactView>,
    pub quick_access: Vec<Tile>,
    pub special_offer: Option<OfferView>,
    pub precheckin: Precheckin,
    pub manual_categories: Vec<Category>,
    /// What there will be to read.
    #[serde(default)]
    pub upcoming: Vec<Upcoming>,
    /// Those of the organization, English first.
    #[serde(default)]
    pub languages: Vec<String>,
    /// What it is a preview of, where it is one.
    #[serde(default)]
    pub preview: Option<Preview>,
}

/// What a preview shows.
#[derive(Debug, Deserialize)]
pub struct Preview {
    /// The moment.
    pub at: Moment,
}

/// The flat.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flat {
    pub name: String,
    pub timezone: String,
    pub country: String,
    pub address: Option<Value>,
    #[serde(default)]
    pub latitude: Option<f64>,
    #[serde(default)]
    pub longitude: Option<f64>,
    #[serde(default)]
    pub photo_url: Option<String>,
    pub check_in_time: Option<String>,
    pub check_out_time: Option<String>,
}

/// What is asked before arrival.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Precheckin {
    pub is_enabled: bool,
    pub status: Status,
    pub prompt_message: Option<String>,
    pub steps: Vec<Step>,
    /// What staff asked for, while changes are requested.
    #[serde(default)]
    pub message: Option<String>,
}

/// Where a guest stands with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    NotStarted,
    InProgress,
    InReview,
    ChangesRequested,
    Approved,
}

impl Status {
    /// Whether there is nothing to be handed in any more.
    #[must_use]
    pub const fn is_submitted(self) -> bool {
        matches!(self, Self::InReview | Self::Approved)
    }
}

/// A step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub id: Uuid,
    pub step_type: StepType,
    pub title: String,
    pub is_complete: bool,
    /// Whether it may be saved now.
    #[serde(default = "yes")]
    pub is_open: bool,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub agreement_text: Option<String>,
    #[serde(default)]
    pub questions: Option<Vec<QuestionView>>,
    /// What is saved.
    #[serde(default)]
    pub answers: Option<Map<String, Value>>,
    #[serde(default)]
    pub required_fields: Vec<String>,
    /// How many guests besides the one who booked are to be named.
    #[serde(default)]
    pub expected_guests: Option<usize>,
    #[serde(default)]
    pub is_signature_required: bool,
    /// When an agreement was accepted.
    #[serde(default)]
    pub accepted_at: Option<Moment>,
    #[serde(default)]
    pub deposit: Option<Deposit>,
    #[serde(default)]
    pub files: Vec<StepFile>,
    #[serde(default)]
    pub required_document_types: Vec<String>,
    #[serde(default)]
    pub progress: Option<Progress>,
    #[serde(default)]
    pub fees: Vec<Fee>,
    /// Whether guests do not get it; in a preview only.
    #[serde(default)]
    pub is_inactive: bool,
}

const fn yes() -> bool {
    true
}

/// What a deposit comes to, and what can be had in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deposit {
    pub amount_cents: Option<i64>,
    pub currency: Option<String>,
    pub release_days_after_checkout: Option<u32>,
    pub days_before_checkin: Option<u32>,
    pub waivers: Vec<Waiver>,
}

/// What is paid in place of a deposit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiver {
    pub id: Uuid,
    pub name: String,
    pub price_cents: Option<i64>,
    pub pricing_basis: Option<Basis>,
    pub cap_cents: Option<i64>,
}

/// What the price of a waiver is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    PerNight,
    PerStay,
}

/// A file that was handed in.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepFile {
    pub id: Uuid,
    pub name: String,
    pub content_type: String,
    pub document_type: Option<String>,
}

/// Where a file can be looked at, for a while.
#[derive(Debug, Deserialize)]
pub struct Addressed {
    pub url: String,
}

/// How a step stands that others carry out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub status: Standing,
    #[serde(default)]
    pub action_url: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub amount_cents: Option<i64>,
    #[serde(default)]
    pub currency: Option<String>,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Pending,
    ActionRequired,
    Completed,
    Failed,
}

/// What the stay costs besides.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fee {
    pub name: String,
    pub amount_cents: Option<i64>,
    pub currency: Option<String>,
}

/// A heading and what stands under it.
#[derive(Debug, Deserialize)]
pub struct Category {
    pub title: Option<String>,
    pub manuals: Vec<Manual>,
}

/// A manual.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manual {
    pub id: Uuid,
    pub title: Option<String>,
    pub description_html: Option<String>,
    pub icon_name: Option<String>,
    pub image_url: Option<String>,
    pub video_url: Option<String>,
    #[serde(default)]
    pub wifi: Option<Wifi>,
    /// Whether guests do not get it; in a preview only.
    #[serde(default)]
    pub is_inactive: bool,
}

impl Manual {
    /// Whether there is anything in it besides its title.
    #[must_use]
    pub const fn has_body(&self) -> bool {
        self.description_html.is_some() || self.image_url.is_some() || self.video_url.is_some() || self.wifi.is_some()
    }
}

/// How to get onto the flat's network.
#[derive(Debug, Deserialize)]
pub struct Wifi {
    pub name: String,
    pub password: Option<String>,
}

/// What will be shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upcoming {
    pub title: Option<String>,
    pub visible_from: Moment,
}
