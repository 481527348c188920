//! The guest view: exactly the data that a guest sees, translated and with filled placeholders
//! (rules: stays#guest-view). `setup.rs` loads the configuration from which the view is built.

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

use super::decision::StoredSubmission;
use super::extras::{self, CartItem, ExtraView};
use super::hours::StayHours;
use super::instructions::{self, InstructionView};
use super::issues;
use super::manuals::{ManualCategoryView, UpcomingView};
use super::precheckin::{Precheckin, PrecheckinStatus};
use super::preview::PreviewView;
use super::setup::{GuestSetup, SetupScope};
use super::stay::{Stay, StayFlat};
use super::step_view::StepView;
use super::surveys;
use crate::portals::{Branding, CommunicationMethod, Portal, Tile, contact, tiles};
use crate::records::{Guest, Property, Reservation, ReservationStatus, SurveyKind};
use crate::translations::{ENGLISH, TextLanguages, Texts};
use crate::words::in_language;

/// The guest's current view of a stay.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct GuestView {
    /// The stay.
    pub reservation: StayView,
    /// The flat; null while the stay has no flat.
    pub property: Option<PropertyView>,
    /// The portal that serves the flat.
    pub portal: Option<PortalView>,
    /// The branding of the portal, or else the organization's default branding.
    pub branding: Option<BrandingView>,
    /// Contact for the contact bubble on the guest's page; null without a contact.
    pub contact: Option<ContactView>,
    /// The quick-access tiles to show.
    pub quick_access: Vec<Tile>,
    /// The special offer of the portal; null while the offer is not active.
    pub special_offer: Option<OfferView>,
    /// The pre-check-in.
    pub precheckin: PrecheckinView,
    /// Visible manuals, by heading.
    pub manual_categories: Vec<ManualCategoryView>,
    /// Manuals that become visible later, the soonest first; empty if the portal does not announce
    /// them.
    pub upcoming: Vec<UpcomingView>,
    /// The surveys that the guest is asked to answer now.
    #[serde(default)]
    pub review_requests: Vec<SurveyKind>,
    /// Extras that the guest can ask for.
    #[serde(default)]
    pub extras: Vec<ExtraView>,
    /// The extras that the guest selected and has not asked for.
    #[serde(default)]
    pub cart: Vec<CartItem>,
    /// Instructions for the arrival. Present before the stay and on its first day; empty later.
    #[serde(default)]
    pub instructions: Vec<InstructionView>,
    /// The organization's guest languages, English first.
    pub languages: Vec<String>,
    /// Details of a preview; absent for a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewView>,
}

/// The stay.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StayView {
    pub id: Uuid,
    pub status: ReservationStatus,
    #[schemars(with = "String")]
    pub check_in: Date,
    #[schemars(with = "String")]
    pub check_out: Date,
    /// Time of day from which the guests may come, on the flat's clock.
    #[serde(default)]
    pub check_in_time: Option<String>,
    /// Time of day by which the guests must have left, on the flat's clock.
    #[serde(default)]
    pub check_out_time: Option<String>,
    pub guest: Guest,
    pub adults: Option<u32>,
    pub children: Option<u32>,
}

/// The flat.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PropertyView {
    pub id: Uuid,
    pub name: String,
    pub address: Option<Value>,
    pub country: String,
    pub timezone: String,
    /// Check-in time of the stay.
    pub check_in_time: Option<String>,
    /// Check-out time of the stay.
    pub check_out_time: Option<String>,
    /// Degrees north of the equator.
    pub latitude: Option<f64>,
    /// Degrees east of Greenwich.
    pub longitude: Option<f64>,
    /// Https address of a photo of the flat.
    pub photo_url: Option<String>,
}

/// The portal settings that concern a guest.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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

/// The portal's design.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
    /// Host of the guest's link; null if the link uses the public URL.
    #[serde(default)]
    pub domain: Option<String>,
}

/// Contact for the contact bubble on the guest's page.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ContactView {
    /// The method of contact.
    pub method: CommunicationMethod,
    /// The phone number, in international form.
    pub value: String,
}

/// The special offer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferView {
    /// Title of the offer.
    pub title: Option<String>,
    /// Kind of the offer.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Call to action of the offer.
    pub cta_text: Option<String>,
    /// Address to which a click on the offer leads.
    pub url: Option<String>,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
    /// Whether the offer is inactive, so that guests do not get it. Only previews have the field,
    /// and only if it is true.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_inactive: bool,
}

/// The pre-check-in.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrecheckinView {
    /// Whether the portal has pre-check-in enabled and the stay is not cancelled.
    pub is_enabled: bool,
    /// Status of the guest's pre-check-in.
    pub status: PrecheckinStatus,
    /// Text that invites the guest to pre-check-in; null if the stay has no steps.
    pub prompt_message: Option<String>,
    /// Language of each text that is not in the requested language, by the name of the text's
    /// field; absent if all texts are in the requested language.
    #[serde(default, skip_serializing_if = "TextLanguages::is_empty")]
    pub text_languages: TextLanguages,
    /// The message in which staff ask the guest for changes; absent if no changes are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Time at which staff asked the guest for changes; absent if no changes are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Moment>,
    /// Ids of steps that are open again since the last submission: incomplete steps, steps that the
    /// guest has saved since, and steps that staff asked the guest to change. Empty before the
    /// first submission and from the check-in time on.
    #[serde(default)]
    pub open_steps: Vec<Uuid>,
    /// The steps, in order.
    pub steps: Vec<StepView>,
}

/// Returns the language in which a guest reads: the requested language, or else the language of the
/// reservation's guest. Returns English if both are missing, or if the chosen text is not a
/// language tag.
#[must_use]
pub fn language_of(requested: Option<&str>, guest: &Guest) -> String {
    requested
        .or(guest.language.as_deref())
        .and_then(engine::language::parse_lenient)
        .unwrap_or_else(|| ENGLISH.into())
}

/// The open surveys and the cart of a guest. Both are empty in a preview.
#[derive(Default)]
pub(super) struct GuestState {
    /// The open surveys that the guest has not answered.
    pub review_requests: Vec<SurveyKind>,
    /// The extras that the guest selected.
    pub cart: Vec<CartItem>,
}

/// Reads the pre-check-in, the cart and the surveys of a stay, and builds the guest's view of the
/// stay at a timestamp.
pub(super) fn view(
    context: &mut Context<'_, '_>,
    stay: Stay,
    setup: &GuestSetup,
    at: Timestamp,
) -> Result<GuestView> {
    let precheckin = Precheckin::load_for(context, &stay, setup)?.at(&stay, at);
    let precheckin = precheckin_view(&precheckin, setup);
    let languages = context.organization.settings.languages.clone();
    let guest_state = GuestState {
        review_requests: surveys::unanswered_surveys(context, &stay, at)?,
        cart: extras::selection(context, &stay, setup)?,
    };
    Ok(view_of(stay, setup, precheckin, guest_state, languages, at))
}

/// Builds the guest's view of a stay from data that is already read. Previews use this function as
/// well.
pub(super) fn view_of(
    stay: Stay,
    setup: &GuestSetup,
    precheckin: PrecheckinView,
    guest_state: GuestState,
    languages: Vec<String>,
    at: Timestamp,
) -> GuestView {
    let portal = stay.portal();
    let times = stay
        .times()
        .map(|time| time.map(|time| time.strftime("%H:%M").to_string()));
    let is_arriving =
        StayHours::of(&stay).is_some_and(|hours| instructions::shows_instructions(hours.phase(at)));
    GuestView {
        contact: portal.and_then(contact).map(|(method, value)| ContactView {
            method,
            value: value.to_owned(),
        }),
        quick_access: portal.map(offered_tiles).unwrap_or_default(),
        review_requests: guest_state.review_requests,
        extras: if stay.is_cancelled() {
            Vec::new()
        } else {
            setup.extras.clone()
        },
        cart: guest_state.cart,
        instructions: if is_arriving {
            setup.instructions.clone()
        } else {
            Vec::new()
        },
        special_offer: portal
            .filter(|portal| is_offered(portal, setup.which))
            .map(|portal| offer(portal, setup)),
        precheckin,
        manual_categories: setup.manual_groups.view(&stay, at),
        upcoming: portal
            .filter(|portal| portal.is_unlock_hint_shown)
            .map(|_| setup.manual_groups.upcoming(&stay, at))
            .unwrap_or_default(),
        languages,
        property: setup
            .flat
            .as_deref()
            .map(|flat| property_view(flat, &times)),
        portal: portal.map(portal_view),
        branding: setup
            .branding
            .as_ref()
            .map(|branding| branding_view(branding, setup)),
        reservation: stay_view(stay.id, stay.reservation, times),
        preview: None,
    }
}

/// Builds the guest's view of pre-check-in.
pub(super) fn precheckin_view(precheckin: &Precheckin, setup: &GuestSetup) -> PrecheckinView {
    let GuestSetup {
        texts, language, ..
    } = setup;
    let portal = setup.flat.as_deref().and_then(StayFlat::portal);
    let written = portal.and_then(|portal| texts.of(portal.precheckin_prompt_message_id));
    let request = precheckin
        .submitted
        .as_ref()
        .and_then(StoredSubmission::request);
    PrecheckinView {
        is_enabled: precheckin.is_enabled,
        status: precheckin.status(),
        message: request.and_then(|decision| decision.message.clone()),
        requested_at: request.and_then(|decision| decision.decided_at),
        open_steps: precheckin.open_steps(),
        prompt_message: (!precheckin.steps.is_empty()).then(|| {
            written.unwrap_or_else(|| in_language(language).0.precheckin.prompt.to_owned())
        }),
        steps: precheckin.views(setup),
        text_languages: prompt_language(portal, texts, language),
    }
}

/// Returns the language of the text that invites the guest to pre-check-in, if it is not the
/// guest's language.
fn prompt_language(portal: Option<&Portal>, texts: &Texts, language: &str) -> TextLanguages {
    let field = "promptMessage";
    match portal.and_then(|portal| portal.precheckin_prompt_message_id) {
        Some(id) if texts.of(Some(id)).is_some() => texts.languages(language, [(field, Some(id))]),
        _ => TextLanguages::default().with_text_language(field, in_language(language).1, language),
    }
}

/// Returns the tiles of a portal. Leaves out the tile for reporting issues if the portal accepts no
/// reports of issues.
fn offered_tiles(portal: &Portal) -> Vec<Tile> {
    let mut tiles = tiles(portal.excluded_quick_access_types.as_deref());
    tiles.retain(|tile| *tile != Tile::ReportAnIssue || issues::allows_issue_reports(portal));
    tiles
}

fn stay_view(
    id: Uuid,
    reservation: Reservation,
    [check_in_time, check_out_time]: [Option<String>; 2],
) -> StayView {
    let Reservation {
        status,
        check_in,
        check_out,
        guest,
        adults,
        children,
        ..
    } = reservation;
    StayView {
        id,
        status,
        check_in,
        check_out,
        check_in_time,
        check_out_time,
        guest,
        adults,
        children,
    }
}

/// Builds the view of the flat, with the check-in and check-out times of the stay.
fn property_view(
    flat: &StayFlat,
    [check_in_time, check_out_time]: &[Option<String>; 2],
) -> PropertyView {
    let Property {
        name,
        timezone,
        country,
        address,
        latitude,
        longitude,
        photo_url,
        ..
    } = flat.property.clone();
    PropertyView {
        id: flat.placement.property,
        name,
        address,
        country,
        timezone,
        check_in_time: check_in_time.clone(),
        check_out_time: check_out_time.clone(),
        latitude,
        longitude,
        photo_url: photo_url.filter(|url| engine::format::is_https_url(url)),
    }
}

fn portal_view(portal: &Portal) -> PortalView {
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

fn branding_view(branding: &Branding, setup: &GuestSetup) -> BrandingView {
    let branding = branding.clone();
    BrandingView {
        callout_message: setup.texts.of(branding.callout_message_id),
        text_languages: setup.texts.languages(
            &setup.language,
            [("calloutMessage", branding.callout_message_id)],
        ),
        domain: setup.domain.clone(),
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

/// Returns whether the special offer is shown. A preview that includes inactive steps, manuals and
/// offers shows an inactive offer only if the offer has a text.
fn is_offered(portal: &Portal, which: SetupScope) -> bool {
    let has_copy = || {
        [
            portal.special_offer_title_id,
            portal.special_offer_type_id,
            portal.special_offer_cta_text_id,
        ]
        .iter()
        .any(Option::is_some)
    };
    portal.is_special_offer_active || which == SetupScope::All && has_copy()
}

fn offer(portal: &Portal, setup: &GuestSetup) -> OfferView {
    let texts = &setup.texts;
    let linked = [
        ("title", portal.special_offer_title_id),
        ("type", portal.special_offer_type_id),
        ("ctaText", portal.special_offer_cta_text_id),
    ];
    OfferView {
        text_languages: texts.languages(&setup.language, linked),
        title: texts.of(portal.special_offer_title_id),
        kind: texts.of(portal.special_offer_type_id),
        cta_text: texts.of(portal.special_offer_cta_text_id),
        url: portal.special_offer_url.clone(),
        is_inactive: !portal.is_special_offer_active,
    }
}

/// Returns the example of a guest's view in the OpenAPI document: a portal with an offer, before
/// the guest has started pre-check-in.
fn example() -> Value {
    let [stay, flat, portal, branding, step, upsell, instruction] =
        [0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0, 0xb1]
            .map(|last| Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_8900 + last));
    json!({
        "reservation": {
            "id": stay,
            "status": "confirmed",
            "checkIn": "2026-12-11",
            "checkOut": "2026-12-14",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
            "guest": { "firstName": "Guest", "lastName": null, "language": "en" },
            "adults": 2,
            "children": 0,
        },
        "property": {
            "id": flat,
            "name": "Casa Azul 2-1",
            "address": null,
            "country": "ES",
            "timezone": "Europe/Madrid",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
            "latitude": null,
            "longitude": null,
            "photoUrl": null,
        },
        "portal": {
            "id": portal,
            "name": "Casa Azul",
            "supportEmail": null,
            "supportNotes": null,
            "isChatEnabled": true,
            "isTicketingEnabled": true,
            "isConfettiEnabled": true,
            "isWalletPassEnabled": true,
            "isReviewRequestCheckinEnabled": true,
            "isReviewRequestCheckoutEnabled": true,
            "isCartAbandonmentEnabled": true,
        },
        "branding": {
            "id": branding,
            "name": "Casa Mar",
            "textColor": "#1A1A1A",
            "primaryColor": "#0E7490",
            "secondaryColor": "#64748B",
            "backgroundColor": null,
            "footerColor": "#F8FAFC",
            "logoWhiteUrl": null,
            "facebookUrl": null,
            "linkedinUrl": null,
            "instagramUrl": null,
            "calloutMessage": "Welcome to Barcelona",
        },
        "contact": { "method": "phone", "value": "+34934123456" },
        "quickAccess": ["report_an_issue"],
        "specialOffer": {
            "title": "Late check-out",
            "type": null,
            "ctaText": "Ask for it",
            "url": null,
        },
        "precheckin": {
            "isEnabled": true,
            "status": "not_started",
            "promptMessage": "Please complete your pre-check-in before you arrive.",
            "openSteps": [],
            "steps": [
                {
                    "id": step,
                    "stepType": "main",
                    "title": "Ready for check-in",
                    "state": "todo",
                    "isComplete": false,
                    "isOpen": true,
                },
            ],
        },
        "manualCategories": [],
        "upcoming": [],
        "reviewRequests": [],
        "extras": [
            {
                "id": upsell,
                "name": "Late check-out",
                "description": "Stay until 14:00.",
                "priceCents": 2500,
                "currency": "EUR",
                "imageUrl": null,
            },
        ],
        "cart": [{ "upsellId": upsell, "quantity": 1 }],
        "instructions": [
            {
                "id": instruction,
                "title": "Ring the bell",
                "text": "The one at the top.",
                "imageUrl": null,
            },
        ],
        "languages": ["en", "es"],
        "preview": {
            "expiresAt": "2026-11-21T09:30:00.000Z",
            "at": "2026-11-21T09:30:00.000Z",
            "isInactiveIncluded": false,
        },
    })
}
