//! The guest view: exactly what a guest sees, resolved and in their language (contract: Guest interface).

use std::ops::Not;

use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::decision::Submitted;
use super::manuals::{ManualCategoryView, UpcomingView};
use super::precheckin::{Precheckin, PrecheckinStatus, StepView};
use super::preview::PreviewView;
use super::setup::{Setup, Which};
use super::stay::{Flat, Stay};
use crate::portals::{Branding, CommunicationMethod, Portal, Tile, contact, tiles};
use crate::records::{Guest, Property, Reservation, ReservationStatus};
use crate::translations::{ENGLISH, Texts};
use crate::words::in_language;

/// What this guest of this flat sees now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
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
    pub manual_categories: Vec<ManualCategoryView>,
    /// What there will be to read, by the moment from which there is; nothing where the portal does not tell of it.
    pub upcoming: Vec<UpcomingView>,
    /// The languages the organization addresses guests in, English first.
    pub languages: Vec<String>,
    /// What it is a preview of, where it is one; absent for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewView>,
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
    /// Degrees north of the equator.
    pub latitude: Option<f64>,
    /// Degrees east of Greenwich.
    pub longitude: Option<f64>,
    /// An https address.
    pub photo_url: Option<String>,
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
    /// Whether guests do not get it, because it is not active: in a preview only; absent otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
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
    /// What the host asks to be changed, while they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the host asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Moment>,
    /// What to do, in order.
    pub steps: Vec<StepView>,
}

/// The language a guest is addressed in: the one asked for, else the reservation's, else English.
#[must_use]
pub fn language_of(asked: Option<&str>, guest: &Guest) -> String {
    asked.or(guest.language.as_deref()).and_then(engine::format::language).unwrap_or_else(|| ENGLISH.into())
}

/// Resolves what the guest of a stay sees at a moment.
pub(super) fn view(context: &mut Context<'_, '_>, stay: Stay, setup: &Setup, at: Timestamp) -> Result<GuestView> {
    let precheckin = precheckin_view(&Precheckin::load(context, &stay, &setup.steps)?, setup);
    let languages = context.organization.settings.languages.clone();
    Ok(view_of(stay, setup, precheckin, languages, at))
}

/// The same with pre-check-in as it is said to stand.
pub(super) fn view_of(stay: Stay, setup: &Setup, precheckin: PrecheckinView, languages: Vec<String>, at: Timestamp) -> GuestView {
    let portal = stay.portal();
    GuestView {
        contact: portal.and_then(contact).map(|(method, value)| ContactView { method, value: value.to_owned() }),
        quick_access: portal.map(|portal| tiles(portal.excluded_quick_access_types.as_deref())).unwrap_or_default(),
        special_offer: portal.filter(|portal| is_offered(portal, setup.which)).map(|portal| offer(portal, &setup.texts)),
        precheckin,
        manual_categories: setup.shelves.view(&stay, at),
        upcoming: portal.filter(|portal| portal.is_unlock_hint_shown).map(|_| setup.shelves.upcoming(&stay, at)).unwrap_or_default(),
        languages,
        property: setup.flat.as_deref().map(flat_of),
        portal: portal.map(shown),
        branding: setup.branding.as_ref().map(|branding| look(branding, &setup.texts)),
        reservation: stay_of(stay.id, stay.reservation),
        preview: None,
    }
}

/// Pre-check-in of a stay.
pub(super) fn precheckin_view(precheckin: &Precheckin, setup: &Setup) -> PrecheckinView {
    let Setup { texts, language, .. } = setup;
    let portal = setup.flat.as_deref().and_then(Flat::portal);
    let written = portal.and_then(|portal| texts.of(portal.precheckin_prompt_message_id));
    let request = precheckin.submitted.as_ref().and_then(Submitted::request);
    PrecheckinView {
        is_enabled: precheckin.is_enabled,
        status: precheckin.status(),
        message: request.and_then(|decision| decision.message.clone()),
        requested_at: request.and_then(|decision| decision.decided_at),
        prompt_message: precheckin.is_enabled.then(|| written.unwrap_or_else(|| in_language(language).0.precheckin.prompt.to_owned())),
        steps: precheckin.views(setup),
    }
}

fn stay_of(id: Uuid, reservation: Reservation) -> StayView {
    let Reservation { status, check_in, check_out, guest, adults, children, .. } = reservation;
    StayView { id, status, check_in, check_out, guest, adults, children }
}

fn flat_of(flat: &Flat) -> PropertyView {
    let Property { name, timezone, country, address, check_in_time, check_out_time, latitude, longitude, photo_url, .. } =
        flat.property.clone();
    PropertyView {
        id: flat.placement.property,
        name,
        address,
        country,
        timezone,
        check_in_time,
        check_out_time,
        latitude,
        longitude,
        photo_url: photo_url.filter(|url| engine::format::is_https_url(url)),
    }
}

fn shown(portal: &Portal) -> PortalView {
    PortalView {
        id: portal.id,
        name: portal.name.clone(),
        support_email: portal.support_email.clone(),
        support_notes: portal.support_notes.clone(),
        is_chat_enabled: portal.is_chat_enabled,
        is_ticketing_enabled: portal.is_ticketing_enabled,
        is_confetti_enabled: portal.is_confetti_enabled,
        is_wallet_pass_enabled: portal.is_wallet_pass_enabled,
        is_review_request_checkin_enabled: portal.is_review_request_checkin_enabled,
        is_review_request_checkout_enabled: portal.is_review_request_checkout_enabled,
        is_cart_abandonment_enabled: portal.is_cart_abandonment_enabled,
    }
}

fn look(branding: &Branding, texts: &Texts) -> BrandingView {
    let branding = branding.clone();
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

/// Whether the special offer is shown. One that is not active is worth showing only where there is something to it.
fn is_offered(portal: &Portal, which: Which) -> bool {
    let has_copy =
        || [portal.special_offer_title_id, portal.special_offer_type_id, portal.special_offer_cta_text_id].iter().any(Option::is_some);
    portal.is_special_offer_active || which == Which::All && has_copy()
}

fn offer(portal: &Portal, texts: &Texts) -> OfferView {
    OfferView {
        title: texts.of(portal.special_offer_title_id),
        kind: texts.of(portal.special_offer_type_id),
        cta_text: texts.of(portal.special_offer_cta_text_id),
        url: portal.special_offer_url.clone(),
        is_inactive: !portal.is_special_offer_active,
    }
}

/// As it is published: of a portal with an offer, before the guest has begun.
fn example() -> Value {
    let [stay, flat, portal, branding] =
        [0xab, 0xac, 0xad, 0xae].map(|last| Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_8900 + last));
    json!({
        "reservation": {
            "id": stay, "status": "confirmed", "checkIn": "2026-12-11", "checkOut": "2026-12-14",
            "guest": { "firstName": "Guest", "lastName": null, "language": "en" }, "adults": 2, "children": 0,
        },
        "property": {
            "id": flat, "name": "Casa Azul 2-1", "address": null, "country": "ES", "timezone": "Europe/Madrid", "checkInTime": "15:00",
            "checkOutTime": "11:00", "latitude": null, "longitude": null, "photoUrl": null,
        },
        "portal": {
            "id": portal, "name": "Casa Azul", "supportEmail": null, "supportNotes": null, "isChatEnabled": true, "isTicketingEnabled": true,
            "isConfettiEnabled": true, "isWalletPassEnabled": true, "isReviewRequestCheckinEnabled": true,
            "isReviewRequestCheckoutEnabled": true, "isCartAbandonmentEnabled": true,
        },
        "branding": {
            "id": branding, "name": "Casa Mar", "textColor": "#1A1A1A", "primaryColor": "#0E7490", "secondaryColor": "#64748B",
            "backgroundColor": null, "footerColor": "#F8FAFC", "logoWhiteUrl": null, "facebookUrl": null, "linkedinUrl": null,
            "instagramUrl": null, "calloutMessage": "Welcome to Barcelona",
        },
        "contact": { "method": "phone", "value": "+34934123456" },
        "quickAccess": ["report_an_issue"],
        "specialOffer": { "title": "Late check-out", "type": null, "ctaText": "Ask for it", "url": null },
        "precheckin": {
            "isEnabled": true, "status": "not_started", "promptMessage": "Please complete your pre-check-in before you arrive.", "steps": [],
        },
        "manualCategories": [],
        "upcoming": [],
        "languages": ["en", "es"],
        "preview": { "expiresAt": "2026-11-21T09:30:00.000Z", "at": "2026-11-21T09:30:00.000Z", "isInactiveIncluded": false },
    })
}
