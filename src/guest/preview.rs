//! Previews: what a guest of a portal would see, for whoever has the link, marked as a preview (contract: Previews).
//!
//! A preview is of one portal, whichever serves the flat, and nothing of it is stored but what was asked for. It is good for
//! whoever has its link, so of a guest who is coming it shows the first name and how far they are, and nothing they gave.

use engine::access::{Access, Permission, hash, token_of};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::{Field, Language};
use engine::moment::Moment;
use engine::operation::{Findings, Needs, Operation};
use engine::sweeping;
use engine::values;
use http::Method;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Transaction};
use uuid::Uuid;

use super::draft::{Draft, Kept};
use super::link::PREVIEW_PREFIX;
use super::operations::stay_url;
use super::precheckin::Precheckin;
use super::setup::{Setup, Which};
use super::stay::{Flat, Stay, reservation};
use super::view::{GuestView, PrecheckinView, language_of, precheckin_view, view_of};
use crate::portals::{self, BrandingFields, PortalFields};
use crate::records::{Guest, Kind, Property, Reservation, ReservationStatus, get_record, typed};
use crate::scopes;
use crate::words::in_language;

/// How long a preview is good.
const GOOD_FOR: SignedDuration = SignedDuration::from_hours(1);
/// Previews of an organization at once, those that have ended and are not swept yet among them.
const MOST: i64 = 1_000;
/// Previews removed in one transaction, so that a sweep holds up no one.
const SWEEP_BATCH: u32 = 500;
/// What stands in a preview for a password.
const HIDDEN: &str = "••••••••";
/// Nights that a made-up guest stays.
const NIGHTS: i64 = 3;
/// What the audit log tells of a preview.
const TOLD: [&str; 6] = ["reservationId", "propertyId", "language", "at", "includeInactive", "expiresAt"];
/// Days before check-in on which a made-up guest booked.
const BOOKED_AHEAD: i64 = 30;

store::statements! {
    /// A new preview.
    INSERT = "insert into portal_preview (organization_id, id, token_hash, expires_at, doc) values (?1, ?2, ?3, ?4, ?5)";
    /// Ends those beyond so many that would end first.
    MAKE_ROOM = "delete from portal_preview where organization_id = ?1 and id in
        (select id from portal_preview where organization_id = ?1 order by expires_at desc, id desc limit ?2 offset ?3)";
    /// A preview.
    ONE = "select expires_at, doc from portal_preview where organization_id = ?1 and id = ?2";
    /// Those that have ended.
    ENDED = "select organization_id, id from portal_preview where expires_at <= ?1 order by expires_at limit ?2";
    /// Removes some of an organization's.
    REMOVE = engine::some_old!("portal_preview", "id", "expires_at");
}

/// A preview, for whoever holds `view_properties`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "propertyId": "0192f0c1-2345-7abc-8def-0123456789ab", "language": "fr", "at": "2026-12-11T14:00:00.000Z" }))]
struct CreatePreview {
    /// Id of the portal to preview; it is shown whichever portal serves the flat.
    id: Uuid,
    /// Id of the reservation whose guest's page is shown, with how far they are and without what they gave; it needs
    /// `view_reservations` besides, and does not go with `propertyId`. Null or left out: the page of a made-up guest.
    #[serde(default)]
    reservation_id: Option<Uuid>,
    /// Id of the property that a made-up guest stays in. Null or left out: that of the reservation, else the first that the portal
    /// serves, else the first there is, else a made-up one.
    #[serde(default)]
    property_id: Option<Uuid>,
    /// Language of the page, as a BCP 47 tag. Null or left out: that of the reservation's guest, else English.
    #[serde(default)]
    language: Option<Language>,
    /// Moment that the page is of; a made-up guest arrives on its day. Null or left out: whenever it is looked at.
    #[serde(default)]
    at: Option<Moment>,
    /// Whether what is not active is shown as well, marked as such. Default `false`.
    #[serde(default)]
    include_inactive: Option<bool>,
    /// Settings of the portal to show in the place of those it has, as `updatePortal` takes them under `data`; nothing is changed. Left
    /// out: those it has.
    #[serde(default)]
    portal: Field<Kept<PortalFields>>,
    /// The same of the branding that the portal shows, as `updatePortalBranding` takes it, with `calloutMessage` besides.
    #[serde(default)]
    branding: Field<Kept<BrandingFields>>,
}

/// Where a preview is looked at, and until when.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({ "url": "https://stay.example.com/stay/pv_kq3…", "expiresAt": "2026-11-21T10:30:00.000Z" }))]
struct PreviewLink {
    /// The page, for whoever has this address.
    url: String,
    /// When it ends.
    expires_at: Moment,
}

/// That a view is a preview, and of what.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewView {
    /// When its link ends.
    pub expires_at: Moment,
    /// The moment it shows.
    pub at: Moment,
    /// Whether it shows what is not active, too.
    pub is_inactive_included: bool,
}

/// What a preview is of, as it is stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preview {
    /// The portal.
    portal_id: Uuid,
    /// The flat; none where it is made up. It is that of the day on which the preview was made: whoever made it reached that.
    property_id: Option<Uuid>,
    /// The reservation; none where the guest is made up.
    reservation_id: Option<Uuid>,
    /// When a made-up guest comes.
    check_in: Date,
    /// The language asked for.
    language: Option<String>,
    /// The moment asked for.
    at: Option<Moment>,
    /// Whether what is not active is shown.
    is_inactive_included: bool,
    /// What is shown in the place of what is set up.
    draft: Draft,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public("createPortalPreview", Method::POST, "/portals/{id}/preview", Needs::ByBody(may_preview))
            .summary("A link that shows, for an hour, what a guest of a portal would see")
            .tool(
                "portals",
                "Preview a portal",
                "A link that shows for an hour what a guest would see: of a reservation, or of a made-up guest of a flat, at any \
                    moment. Stores nothing. To know why something is (not) shown use `explainGuestView`. Returns {url, expiresAt}.",
            )
            .not_for_tools(&["portal", "branding"])
            .creates()
            .touches_stream()
            .rules(|input: CreatePreview, _| Findings::sent(issue(&input)))
            .audited(Audits::does(portals::named_portal).telling(&TOLD).withholding(&["url"]))
            .run(create),
        Operation::public("previewGuestView", Method::POST, "/portals/{id}/guest-view", Needs::ByBody(may_preview))
            .summary("What a guest of a portal would see, without a link to it")
            .rest_only()
            .reads()
            .rules(|input: CreatePreview, _| Findings::sent(issue(&input)))
            .run(look),
    ]
}

/// The stay of a guest is for those who may see reservations; what nobody has saved is for those who may save it, since a preview shows it
/// to whoever has its link.
fn may_preview(body: &Value, access: &Access) -> Result<()> {
    access.require(Permission::ViewProperties)?;
    let is_sent = |draft| body.get(draft).and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    if ["portal", "branding"].into_iter().any(is_sent) {
        access.require(Permission::ModifyProperties)?;
    }
    if body.get("reservationId").is_some_and(|id| !id.is_null()) {
        access.require(Permission::ViewReservations)?;
    }
    Ok(())
}

/// A reservation has a property of its own.
fn issue(input: &CreatePreview) -> Option<Issue> {
    let are_both = input.reservation_id.is_some() && input.property_id.is_some();
    are_both.then(|| Issue::new(&["propertyId"], Reason::rule("stay_has_flat", "does not go with reservationId: the stay has its own")))
}

/// What is asked for, of what the caller reaches.
fn asked(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<Preview> {
    let portal_id = portals::readable_portal(context, input.id)?.id;
    let named = match (input.reservation_id, input.property_id) {
        (Some(id), _) => {
            get_record(context, Kind::Reservation, id)?;
            reservation(context, id)?.property_id
        }
        (None, Some(id)) => {
            get_record(context, Kind::Property, id)?;
            Some(id)
        }
        (None, None) => None,
    };
    let draft = Draft { portal: input.portal.into_sent(), branding: input.branding.into_sent() };
    if let Some(branding) = draft.branding_id() {
        portals::find_branding(context, branding)?.ok_or_else(|| Error::not_found("Branding"))?;
    }
    let property_id = match named {
        Some(id) => Some(id),
        None => scopes::first_served(context, portal_id)?,
    };
    let property = property_id.map_or(Ok(None), |id| typed::<Property>(context, Kind::Property, id))?;
    let zone = property.and_then(|property| TimeZone::get(&property.timezone).ok()).unwrap_or(TimeZone::UTC);
    Ok(Preview {
        portal_id,
        property_id,
        reservation_id: input.reservation_id,
        check_in: input.at.map_or(context.now(), |at| at.0).to_zoned(zone).date(),
        language: input.language.as_deref().map(str::to_owned),
        at: input.at,
        is_inactive_included: input.include_inactive.unwrap_or(false),
        draft,
    })
}

fn create(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<PreviewLink> {
    let preview = asked(context, input)?;
    let (id, token) = (context.new_id(), token_of(PREVIEW_PREFIX, context.organization.id, context.ids()));
    let expires_at = Moment(context.now().checked_add(GOOD_FOR).unwrap_or(Timestamp::MAX));
    context.execute_along(&MAKE_ROOM, values![MOST, MOST - 1])?;
    context.execute_along(&INSERT, values![id, store::Value::Bytes(hash(&token)), expires_at, store::Value::json(&preview)?])?;
    Ok(PreviewLink { url: stay_url(context, &token), expires_at })
}

/// The same, looked at once by whoever asks.
fn look(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<GuestView> {
    let preview = asked(context, input)?;
    let (id, now) = (context.new_id(), Moment(context.now()));
    seen(context, id, preview, now, None, None)
}

/// What whoever has a preview's link sees: at the moment and in the language asked for, else those it was made for. 404 once the
/// stay or the flat it is of is gone.
pub(super) fn view(context: &mut Context<'_, '_>, id: Uuid, language: Option<&str>, at: Option<Timestamp>) -> Result<GuestView> {
    let row = context.row(&ONE, values![id])?.ok_or_else(|| Error::not_found("Stay"))?;
    let (expires_at, Json(preview)): (_, Json<Preview>) = (Moment(row.get(0)?), row.get(1)?);
    // Made for whoever designs a portal, and looked at once or twice: not worth the room.
    context.holds_until(context.now());
    seen(context, id, preview, expires_at, language, at)
}

/// What a preview of an id shows.
fn seen(
    context: &mut Context<'_, '_>,
    id: Uuid,
    preview: Preview,
    expires_at: Moment,
    language: Option<&str>,
    at: Option<Timestamp>,
) -> Result<GuestView> {
    let now = context.now();
    let at = at.or(preview.at.map(|at| at.0)).unwrap_or(now);
    let which = if preview.is_inactive_included { Which::All } else { Which::Active };
    let (stay, reservation) = match preview.reservation_id {
        Some(stay) => (stay, reservation(context, stay)?),
        None => (id, made_up(preview.check_in)),
    };
    let language = language_of(language.or(preview.language.as_deref()), &reservation.guest);
    let setup = Setup::previewed(context, preview.portal_id, preview.property_id, language, which, preview.draft)?;
    let mut stay = Stay { id: stay, reservation, flat: setup.flat.clone() };
    stay.reservation.guest = Guest {
        first_name: match preview.reservation_id {
            Some(_) => stay.reservation.guest.first_name,
            None => Some(in_language(&setup.language).0.preview.guest.to_owned()),
        },
        last_name: None,
        language: Some(setup.language.clone()),
    };
    let precheckin = match preview.reservation_id {
        Some(_) => without_answers(context, &stay, &setup)?,
        None => precheckin_view(&Precheckin::unanswered(&stay, &setup.steps), &setup),
    };
    let mut view = view_of(stay, &setup, precheckin, context.organization.settings.languages.clone(), at);
    for manual in view.manual_categories.iter_mut().flat_map(|category| &mut category.manuals) {
        // Whoever may see the configuration may look at a preview, and this is for guests alone.
        if let Some(password) = manual.wifi.as_mut().and_then(|wifi| wifi.password.as_mut()) {
            HIDDEN.clone_into(password);
        }
    }
    view.preview = Some(PreviewView { expires_at, at: Moment(at), is_inactive_included: preview.is_inactive_included });
    Ok(view)
}

/// How far a guest is, made of nothing they gave: neither what they answered, nor which questions that leads to.
fn without_answers(context: &mut Context<'_, '_>, stay: &Stay, setup: &Setup) -> Result<PrecheckinView> {
    let theirs = Precheckin::load(context, stay, &setup.steps)?;
    let mut view = precheckin_view(&Precheckin::unanswered(stay, &setup.steps), setup);
    view.status = theirs.status();
    for (step, asked) in view.steps.iter_mut().zip(&theirs.steps) {
        step.is_complete = asked.is_complete();
    }
    Ok(view)
}

/// The flat of a preview as if it were the portal's; 404 where either is gone.
pub(super) fn flat(context: &mut Context<'_, '_>, portal: Uuid, property: Option<Uuid>, draft: &Draft) -> Result<Flat> {
    let mut portal = portals::find_portal(context, portal)?.ok_or_else(|| Error::not_found("Portal"))?;
    draft.set_up(&mut portal);
    let (id, property) = match property {
        Some(id) => (id, typed(context, Kind::Property, id)?.ok_or_else(|| Error::not_found("Property"))?),
        None => (portal.id, made_up_flat(context, &portal)),
    };
    Ok(Flat::served_by(portal, id, property))
}

/// A flat of an organization that has none: it has the portal's name, and nothing is assigned to it.
fn made_up_flat(context: &Context<'_, '_>, portal: &portals::Portal) -> Property {
    let settings = &context.organization.settings;
    Property {
        name: portal.name.clone().unwrap_or_else(|| settings.name.clone()),
        timezone: "UTC".into(),
        country: settings.country.0.clone(),
        property_group_id: None,
        tag_ids: None,
        address: None,
        check_in_time: None,
        check_out_time: None,
        latitude: None,
        longitude: None,
        photo_url: None,
        wifi_name: None,
        wifi_password: None,
    }
}

/// The reservation of a made-up guest who comes on a day.
fn made_up(check_in: Date) -> Reservation {
    let booked_on = check_in.saturating_sub(BOOKED_AHEAD.days()).to_zoned(TimeZone::UTC);
    Reservation {
        property_id: None,
        status: ReservationStatus::Confirmed,
        channel: "direct".into(),
        booked_at: Moment(booked_on.map_or(Timestamp::MIN, |zoned| zoned.timestamp())),
        check_in,
        check_out: check_in.saturating_add(NIGHTS.days()),
        guest: Guest::default(),
        is_returning_guest: None,
        verification_status: None,
        adults: Some(2),
        children: Some(0),
    }
}

/// Removes previews that have ended; true when there may be more of them.
pub(crate) fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    Ok(sweeping::remove::<Uuid>(tx, &ENDED, &REMOVE, now, SWEEP_BATCH)? >= u64::from(SWEEP_BATCH))
}
