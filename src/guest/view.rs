//! The guest view: exactly what a guest sees, resolved and in their language (contract: Guest interface).

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::words;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::platform::{Guest, Kind, Property, Reservation, ReservationStatus, typed};
use crate::portals::{self, Branding, CommunicationMethod, Portal, Tile, contact, tiles};
use crate::translations::{self, ENGLISH, Texts};

/// What this guest of this flat sees now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuestView {
    /// The stay.
    pub reservation: StayView,
    /// The flat, once it is known.
    pub property: Option<PropertyView>,
    /// The portal that serves the flat.
    pub portal: Option<PortalView>,
    /// How it looks.
    pub branding: Option<BrandingView>,
    /// What the contact bubble opens.
    pub contact: Option<ContactView>,
    /// The tiles shown.
    pub quick_access: Vec<Tile>,
    /// The offer, while it is active.
    pub special_offer: Option<OfferView>,
    /// What is asked before arrival.
    pub precheckin: PrecheckinView,
    /// What there is to read, by heading.
    pub manual_categories: Vec<Value>,
}

/// The stay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StayView {
    pub id: Uuid,
    pub status: ReservationStatus,
    #[schemars(with = "String")]
    pub check_in: Date,
    #[schemars(with = "String")]
    pub check_out: Date,
    pub guest: Guest,
    pub adults: Option<u32>,
    pub children: Option<u32>,
}

/// The flat.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PropertyView {
    pub id: Uuid,
    pub name: String,
    pub address: Option<Value>,
    pub country: String,
    pub timezone: String,
    pub check_in_time: Option<String>,
    pub check_out_time: Option<String>,
}

/// What of the portal's settings concerns a guest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PortalView {
    pub id: Uuid,
    pub name: Option<String>,
    pub support_email: Option<String>,
    pub support_notes: Option<String>,
    pub is_chat_enabled: bool,
    pub is_ticketing_enabled: bool,
    pub is_confetti_enabled: bool,
    pub is_wallet_pass_enabled: bool,
    pub is_review_request_checkin_enabled: bool,
    pub is_review_request_checkout_enabled: bool,
    pub is_cart_abandonment_enabled: bool,
}

/// How the portal looks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrandingView {
    pub id: Uuid,
    pub name: String,
    pub text_color: String,
    pub primary_color: String,
    pub secondary_color: String,
    pub background_color: Option<String>,
    pub footer_color: String,
    pub logo_white_url: Option<String>,
    pub facebook_url: Option<String>,
    pub linkedin_url: Option<String>,
    pub instagram_url: Option<String>,
    pub callout_message: Option<String>,
}

/// What the contact bubble opens.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContactView {
    /// How.
    pub method: CommunicationMethod,
    /// The number, in international form.
    pub value: String,
}

/// The special offer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferView {
    /// Its title.
    pub title: Option<String>,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its call to action.
    pub cta_text: Option<String>,
    /// Where it leads.
    pub url: Option<String>,
}

/// Where a guest stands with what is asked before arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrecheckinStatus {
    /// Nothing has been answered yet.
    NotStarted,
}

/// What is asked before arrival.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrecheckinView {
    /// Whether it is asked at all.
    pub is_enabled: bool,
    /// Where the guest stands.
    pub status: PrecheckinStatus,
    /// What asks for it.
    pub prompt_message: Option<String>,
    /// What to do, in order.
    pub steps: Vec<Value>,
}

/// The language a guest is addressed in: the one asked for, else the reservation's, else English.
#[must_use]
pub fn language_of(asked: Option<&str>, guest: &Guest) -> String {
    asked.or(guest.language.as_deref()).and_then(crate::format::language).unwrap_or_else(|| ENGLISH.into())
}

/// Resolves what the guest of a reservation sees.
pub fn view(context: &mut Context<'_, '_>, id: Uuid, asked: Option<&str>) -> Result<GuestView> {
    let reservation: Reservation = typed(context, Kind::Reservation, id)?.ok_or_else(|| Error::not_found("Stay"))?;
    let language = language_of(asked, &reservation.guest);
    let property = match reservation.property_id {
        Some(id) => typed::<Property>(context, Kind::Property, id)?.map(|property| (id, property)),
        None => None,
    };
    let resolved = match &property {
        Some((id, _)) => portals::effective_portal(context, *id)?,
        None => None,
    };
    let portal = match resolved {
        Some(resolved) => portals::find_portal(context, resolved.portal)?,
        None => None,
    };
    let branding = match portal.as_ref().and_then(|portal| portal.branding_id) {
        Some(id) => portals::find_branding(context, id)?,
        None => portals::default_branding(context)?,
    };
    let linked = portal.iter().flat_map(|portal| {
        [portal.special_offer_title_id, portal.special_offer_type_id, portal.special_offer_cta_text_id, portal.precheckin_prompt_message_id]
    });
    let linked: Vec<Uuid> = linked.chain(branding.iter().map(|branding| branding.callout_message_id)).flatten().collect();
    let texts = translations::texts(context, linked, &language)?;
    Ok(GuestView {
        contact: portal.as_ref().and_then(contact).map(|(method, value)| ContactView { method, value: value.to_owned() }),
        quick_access: portal.as_ref().map(|portal| tiles(portal.excluded_quick_access_types.as_deref())).unwrap_or_default(),
        special_offer: portal.as_ref().filter(|portal| portal.is_special_offer_active).map(|portal| offer(portal, &texts)),
        precheckin: precheckin(portal.as_ref(), &texts, &language),
        manual_categories: Vec::new(),
        reservation: stay(id, reservation),
        property: property.map(|(id, property)| flat(id, property)),
        portal: portal.map(shown),
        branding: branding.map(|branding| look(branding, &texts)),
    })
}

fn stay(id: Uuid, reservation: Reservation) -> StayView {
    let Reservation { status, check_in, check_out, guest, adults, children, .. } = reservation;
    StayView { id, status, check_in, check_out, guest, adults, children }
}

fn flat(id: Uuid, property: Property) -> PropertyView {
    let Property { name, timezone, country, address, check_in_time, check_out_time, .. } = property;
    PropertyView { id, name, address, country, timezone, check_in_time, check_out_time }
}

fn shown(portal: Portal) -> PortalView {
    PortalView {
        id: portal.id,
        name: portal.name,
        support_email: portal.support_email,
        support_notes: portal.support_notes,
        is_chat_enabled: portal.is_chat_enabled,
        is_ticketing_enabled: portal.is_ticketing_enabled,
        is_confetti_enabled: portal.is_confetti_enabled,
        is_wallet_pass_enabled: portal.is_wallet_pass_enabled,
        is_review_request_checkin_enabled: portal.is_review_request_checkin_enabled,
        is_review_request_checkout_enabled: portal.is_review_request_checkout_enabled,
        is_cart_abandonment_enabled: portal.is_cart_abandonment_enabled,
    }
}

fn look(branding: Branding, texts: &Texts) -> BrandingView {
    BrandingView {
        callout_message: texts.of(branding.callout_message_id),
        id: branding.id,
        name: branding.name,
        text_color: branding.text_color,
        primary_color: branding.primary_color,
        secondary_color: branding.secondary_color,
        background_color: branding.background_color,
        footer_color: branding.footer_color,
        logo_white_url: branding.logo_white_url,
        facebook_url: branding.facebook_url,
        linkedin_url: branding.linkedin_url,
        instagram_url: branding.instagram_url,
    }
}

fn offer(portal: &Portal, texts: &Texts) -> OfferView {
    OfferView {
        title: texts.of(portal.special_offer_title_id),
        kind: texts.of(portal.special_offer_type_id),
        cta_text: texts.of(portal.special_offer_cta_text_id),
        url: portal.special_offer_url.clone(),
    }
}

fn precheckin(portal: Option<&Portal>, texts: &Texts, language: &str) -> PrecheckinView {
    let is_enabled = portal.is_some_and(|portal| portal.is_precheckin_enabled);
    let written = portal.and_then(|portal| texts.of(portal.precheckin_prompt_message_id));
    PrecheckinView {
        is_enabled,
        status: PrecheckinStatus::NotStarted,
        prompt_message: is_enabled.then(|| written.unwrap_or_else(|| words::precheckin_prompt(language).to_owned())),
        steps: Vec::new(),
    }
}
