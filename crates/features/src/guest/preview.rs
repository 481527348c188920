//! Previews: the page of a portal as a guest would see it, for anyone with the link, marked as a
//! preview (rules: stays#previews).
//!
//! A preview shows one portal, even if another portal serves the flat. Only the request for the
//! preview is stored. Because anyone with the link can open a preview, it shows only the first name
//! and the progress of a real guest, and no other data of the guest.

use engine::access::{Access, Permission, hash, token_of};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::{Field, Language};
use engine::moment::Moment;
use engine::operation::{Findings, Needs, Operation, OperationName};
use engine::sweeping;
use engine::values;
use http::Method;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Transaction};
use uuid::Uuid;

use super::domains::page_address;
use super::draft::{DraftFields, PreviewDraft};
use super::link::PREVIEW_PREFIX;
use super::placeholders::HIDDEN;
use super::precheckin::Precheckin;
use super::recognition::{self, RecognitionNeeds};
use super::setup::{GuestSetup, SetupScope};
use super::stay::{Stay, StayFlat, reservation};
use super::view::{GuestState, GuestView, PrecheckinView, language_of, precheckin_view, view_of};
use crate::portals::{self, BrandingFields, PortalFields};
use crate::records::{
    Guest, Property, RecordKind, Reservation, ReservationStatus, get_record, record_as,
};
use crate::scopes;
use crate::words::in_language;

/// Creates a preview of a portal and returns its link.
pub const CREATE_PORTAL_PREVIEW: OperationName<PreviewLink> =
    OperationName::new("createPortalPreview");
/// The operation that returns the guest's view with unsaved settings of a portal. It stores no
/// preview.
pub const PREVIEW_GUEST_VIEW: OperationName<GuestView> = OperationName::new("previewGuestView");

/// The time for which the link of a preview is valid.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// Maximum number of previews of an organization, including expired previews that are not deleted
/// yet.
const MAX_PREVIEWS: i64 = 1_000;
/// Number of previews that one transaction deletes, so that a sweep does not block other writes for
/// long.
const SWEEP_BATCH: u32 = 500;
/// Number of nights of an invented guest's stay.
const NIGHTS: i64 = 3;
/// Fields of a request for a preview. The audit log records the values of these fields.
const STATED_FIELDS: [&str; 6] = [
    "reservationId",
    "propertyId",
    "language",
    "at",
    "includeInactive",
    "expiresAt",
];
/// A preview without a reservation shows an invented stay. This is the number of days between the
/// booking and the check-in of that stay.
const BOOKED_AHEAD: i64 = 30;

store::statements! {
    /// Stores a new preview.
    INSERT = "insert into portal_preview (organization_id, id, token_hash, expires_at, doc)
        values (?1, ?2, ?3, ?4, ?5)";
    /// Deletes at most `?2` previews of an organization, and keeps the `?3` previews that expire
    /// last.
    DELETE_SURPLUS = "delete from portal_preview where organization_id = ?1 and id in
        (select id from portal_preview where organization_id = ?1 order by expires_at desc, id desc
        limit ?2 offset ?3)";
    /// Selects a preview.
    PREVIEW = "select expires_at, doc from portal_preview where organization_id = ?1 and id = ?2";
    /// Selects expired previews.
    EXPIRED = "select organization_id, id from portal_preview where expires_at <= ?1
        order by expires_at limit ?2";
    /// Deletes the given previews of an organization, except previews that have not expired.
    REMOVE = engine::some_old!("portal_preview", "id", "expires_at");
}

/// The preview to create. The caller needs the permission `view_properties`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "propertyId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "language": "fr",
    "at": "2026-12-11T14:00:00.000Z",
}))]
struct CreatePreview {
    /// Id of the portal to preview. The preview shows this portal even if another portal serves
    /// the property.
    id: Uuid,
    /// Id of the reservation whose guest's page is shown: with the guest's progress, but without
    /// the guest's answers and personal data. Needs `view_reservations` as well, and excludes
    /// `propertyId`. Null or left out: the page of a made-up guest.
    #[serde(default)]
    reservation_id: Option<Uuid>,
    /// Id of the property that a made-up guest stays in. Null or left out: the property of the
    /// reservation. Without a reservation: the first property that the portal serves, else the
    /// organization's first property, else a made-up property.
    #[serde(default)]
    property_id: Option<Uuid>,
    /// Language of the page, as a BCP 47 tag. Null or left out: that of the reservation's guest,
    /// else English.
    #[serde(default)]
    language: Option<Language>,
    /// Time for which the page is shown; a made-up guest arrives on that day. Null or left out: the
    /// time at which someone opens the preview.
    #[serde(default)]
    at: Option<Moment>,
    /// Whether inactive steps, manuals and offers are shown too, marked as inactive; default
    /// `false`.
    #[serde(default)]
    include_inactive: Option<bool>,
    /// Portal settings to show instead of the saved ones, in the format of `data` in
    /// `updatePortal`; nothing is changed. Left out: the saved settings.
    #[serde(default)]
    portal: Field<DraftFields<PortalFields>>,
    /// Branding settings to show instead of the saved ones, in the format of
    /// `updatePortalBranding`, and `calloutMessage`.
    #[serde(default)]
    branding: Field<DraftFields<BrandingFields>>,
}

/// The address of a preview, and the time at which the preview expires.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "url": "https://stay.example.com/stay/pv_kq3…",
    "expiresAt": "2026-11-21T10:30:00.000Z",
}))]
pub struct PreviewLink {
    /// URL of the preview. Everyone who knows the URL can open the preview.
    pub url: String,
    /// Expiry time.
    expires_at: Moment,
}

/// The details of a preview. A guest's own view does not have them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewView {
    /// Time at which the link expires.
    pub expires_at: Moment,
    /// Time that the preview assumes: the page is as the guest would see it then.
    pub at: Moment,
    /// Whether inactive steps, manuals and offers are shown.
    pub is_inactive_included: bool,
}

/// The time at which the viewer of a preview wants to see the page.
#[derive(Debug, Clone, Copy)]
pub(super) enum PreviewTime {
    Exact(Timestamp),
    /// A local time in the flat's time zone.
    Local(DateTime),
}

impl PreviewTime {
    /// Returns the requested time as a timestamp. A local time is in the time zone of the flat.
    /// Returns `None` for a local time outside the range of timestamps.
    fn at(self, flat: Option<&StayFlat>) -> Option<Timestamp> {
        match self {
            Self::Exact(at) => Some(at),
            Self::Local(time) => flat
                .and_then(|flat| TimeZone::get(&flat.property.timezone).ok())
                .unwrap_or(TimeZone::UTC)
                .to_timestamp(time)
                .ok(),
        }
    }
}

/// The request for a preview, as it is stored.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredPreview {
    /// The portal that the preview shows.
    portal_id: Uuid,
    /// The flat of the preview; `None` for an invented flat. The flat is chosen when the preview is
    /// created, because the creator's access is checked for that flat.
    property_id: Option<Uuid>,
    /// The reservation whose guest is shown; `None` for an invented guest.
    reservation_id: Option<Uuid>,
    /// The arrival day of an invented guest.
    check_in: Date,
    /// The requested language of the page.
    language: Option<String>,
    /// The requested time: the preview shows the page as the guest would see it then. `None` means
    /// the time at which someone opens the preview.
    at: Option<Moment>,
    /// Whether the preview shows inactive steps, manuals and offers.
    is_inactive_included: bool,
    /// Unsaved settings that are shown instead of the saved ones.
    draft: PreviewDraft,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            CREATE_PORTAL_PREVIEW.id(),
            Method::POST,
            "/portals/{id}/preview",
            Needs::ByBody(may_preview),
        )
        .summary("A link that shows, for an hour, what a guest of a portal would see")
        .tool(
            "portals",
            "Preview a portal",
            "A link that shows for an hour what a guest would see: of a reservation, or of a \
                made-up guest of a flat, at any moment. Stores nothing. To know why something is \
                (not) shown use `explainGuestView`. Returns {url, expiresAt}.",
        )
        .not_for_tools(&["portal", "branding"])
        .creates()
        .touches_stream()
        .rules(|input: CreatePreview, _| Findings::sent(issue(&input)))
        .audited(
            Audits::acts_on(portals::named_portal)
                .recording(&STATED_FIELDS)
                .withholding(&["url"]),
        )
        .run_as(CREATE_PORTAL_PREVIEW, create),
        Operation::public(
            PREVIEW_GUEST_VIEW.id(),
            Method::POST,
            "/portals/{id}/guest-view",
            Needs::ByBody(may_preview),
        )
        .summary("What a guest of a portal would see, without a link to it")
        .rest_only()
        .reads()
        .rules(|input: CreatePreview, _| Findings::sent(issue(&input)))
        .run_as(PREVIEW_GUEST_VIEW, read_draft_view),
    ]
}

/// Checks the caller's permissions for a preview. Every preview needs `view_properties`. A preview
/// of a reservation's page also needs `view_reservations`. A preview with unsaved settings also
/// needs `modify_properties`, the permission to save them, because the preview shows them to anyone
/// with its link.
fn may_preview(body: &Value, access: &Access) -> Result<()> {
    access.require(Permission::ViewProperties)?;
    let is_sent = |draft| {
        body.get(draft)
            .and_then(Value::as_object)
            .is_some_and(|fields| !fields.is_empty())
    };
    if ["portal", "branding"].into_iter().any(is_sent) {
        access.require(Permission::ModifyProperties)?;
    }
    if body.get("reservationId").is_some_and(|id| !id.is_null()) {
        access.require(Permission::ViewReservations)?;
    }
    Ok(())
}

/// Returns an issue if a request has both `propertyId` and `reservationId`, because a reservation
/// has its own property.
fn issue(input: &CreatePreview) -> Option<Issue> {
    let are_both = input.reservation_id.is_some() && input.property_id.is_some();
    are_both.then(|| {
        Issue::new(
            &["propertyId"],
            Reason::rule(
                "stay_has_flat",
                "must not be sent with reservationId: the reservation has its own property",
            ),
        )
    })
}

/// Builds the preview that a request describes. Checks that the caller has access to everything
/// that the request names.
fn preview_of(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<StoredPreview> {
    let portal_id = portals::readable_portal(context, input.id)?.id;
    let property_of_input = match (input.reservation_id, input.property_id) {
        (Some(id), _) => {
            get_record(context, RecordKind::Reservation, id)?;
            reservation(context, id)?.property_id
        }
        (None, Some(id)) => {
            get_record(context, RecordKind::Property, id)?;
            Some(id)
        }
        (None, None) => None,
    };
    let draft = PreviewDraft {
        portal: input.portal.into_sent(),
        branding: input.branding.into_sent(),
    };
    if let Some(branding) = draft.branding_id() {
        portals::find_branding(context, branding)?.ok_or_else(|| Error::not_found("Branding"))?;
    }
    let property_id = match property_of_input {
        Some(id) => Some(id),
        None => scopes::first_served_property(context, portal_id)?,
    };
    let property = property_id.map_or(Ok(None), |id| {
        record_as::<Property>(context, RecordKind::Property, id)
    })?;
    let zone = property
        .and_then(|property| TimeZone::get(&property.timezone).ok())
        .unwrap_or(TimeZone::UTC);
    Ok(StoredPreview {
        portal_id,
        property_id,
        reservation_id: input.reservation_id,
        check_in: input
            .at
            .map_or(context.now(), |at| at.0)
            .to_zoned(zone)
            .date(),
        language: input.language.as_deref().map(str::to_owned),
        at: input.at,
        is_inactive_included: input.include_inactive.unwrap_or(false),
        draft,
    })
}

fn create(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<PreviewLink> {
    let preview = preview_of(context, input)?;
    let (id, token) = (
        context.new_id(),
        token_of(PREVIEW_PREFIX, context.organization.id, context.ids()),
    );
    let expires_at = Moment(
        context
            .now()
            .checked_add(LIFETIME)
            .unwrap_or(Timestamp::MAX),
    );
    context.execute_deferred(&DELETE_SURPLUS, values![MAX_PREVIEWS, MAX_PREVIEWS - 1])?;
    context.execute_deferred(
        &INSERT,
        values![
            id,
            store::Value::Bytes(hash(&token)),
            expires_at,
            store::Value::json(&preview)?
        ],
    )?;
    Ok(PreviewLink {
        url: page_address(context.public_url(), None, &token),
        expires_at,
    })
}

/// Returns the guest's view of a preview without storing the preview.
fn read_draft_view(context: &mut Context<'_, '_>, input: CreatePreview) -> Result<GuestView> {
    let preview = preview_of(context, input)?;
    let (id, now) = (context.new_id(), Moment(context.now()));
    build_view(context, id, preview, now, None, None)
}

/// Returns the view for a preview's link. The time and the language of the request take precedence
/// over those of the preview. Fails with 404 if the stay or the flat of the preview is deleted.
pub(super) fn view(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: Option<&str>,
    at: Option<PreviewTime>,
) -> Result<GuestView> {
    let row = context
        .row(&PREVIEW, values![id])?
        .ok_or_else(|| Error::not_found("Stay"))?;
    let (expires_at, Json(preview)): (_, Json<StoredPreview>) = (Moment(row.get(0)?), row.get(1)?);
    // The response is not cached: people who design a portal open a preview once or twice.
    context.limit_validity(context.now());
    build_view(context, id, preview, expires_at, language, at)
}

/// Builds the view of the preview with this id.
fn build_view(
    context: &mut Context<'_, '_>,
    id: Uuid,
    preview: StoredPreview,
    expires_at: Moment,
    language: Option<&str>,
    at: Option<PreviewTime>,
) -> Result<GuestView> {
    let now = context.now();
    let which = if preview.is_inactive_included {
        SetupScope::All
    } else {
        SetupScope::Active
    };
    let (stay, reservation) = match preview.reservation_id {
        Some(stay) => (stay, reservation(context, stay)?),
        None => (id, invented_reservation(preview.check_in)),
    };
    let language = language_of(language.or(preview.language.as_deref()), &reservation.guest);
    let setup = GuestSetup::previewed(
        context,
        preview.portal_id,
        preview.property_id,
        language,
        which,
        preview.draft,
    )?;
    let at = at
        .and_then(|at| at.at(setup.flat.as_deref()))
        .or(preview.at.map(|at| at.0))
        .unwrap_or(now);
    let mut stay = Stay {
        id: stay,
        reservation,
        flat: setup.flat.clone(),
    };
    if preview.reservation_id.is_some() {
        let needs = RecognitionNeeds::by(&setup);
        recognition::complete(context, stay.id, &mut stay.reservation, needs)?;
    }
    stay.reservation.guest = Guest {
        first_name: match preview.reservation_id {
            Some(_) => stay.reservation.guest.first_name,
            None => Some(in_language(&setup.language).0.preview.guest.to_owned()),
        },
        last_name: None,
        language: Some(setup.language.clone()),
    };
    let setup = setup.filled(&stay, true);
    let precheckin = match preview.reservation_id {
        Some(_) => without_answers(context, &stay, &setup, at)?,
        None => precheckin_view(
            &Precheckin::unanswered(context, &stay, &setup.steps),
            &setup,
        ),
    };
    let mut view = view_of(
        stay,
        &setup,
        precheckin,
        GuestState::default(),
        context.organization.settings.languages.clone(),
        at,
    );
    for manual in view
        .manual_categories
        .iter_mut()
        .flat_map(|category| &mut category.manuals)
    {
        // A member may open a preview with `view_properties` alone, and the password is for guests
        // only.
        if let Some(password) = manual.wifi.as_mut().and_then(|wifi| wifi.password.as_mut()) {
            HIDDEN.clone_into(password);
        }
    }
    view.preview = Some(PreviewView {
        expires_at,
        at: Moment(at),
        is_inactive_included: preview.is_inactive_included,
    });
    Ok(view)
}

/// Returns a guest's progress without their data: without the answers, and without questions that
/// depend on an answer.
fn without_answers(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    setup: &GuestSetup,
    at: Timestamp,
) -> Result<PrecheckinView> {
    let precheckin = Precheckin::load_for(context, stay, setup)?.at(stay, at);
    let unanswered = Precheckin::unanswered(context, stay, &setup.steps);
    let mut view = precheckin_view(&unanswered, setup);
    (view.status, view.open_steps) = (precheckin.status(), precheckin.open_steps());
    for (step, stay_step) in view.steps.iter_mut().zip(&precheckin.steps) {
        (step.state, step.is_complete) = (stay_step.state(), stay_step.is_complete());
    }
    Ok(view)
}

/// Returns the flat of a preview as if the preview's portal served the flat. Fails with 404 if the
/// flat or the portal is deleted.
pub(super) fn flat(
    context: &mut Context<'_, '_>,
    portal: Uuid,
    property: Option<Uuid>,
    draft: &PreviewDraft,
) -> Result<StayFlat> {
    let mut portal =
        portals::find_portal(context, portal)?.ok_or_else(|| Error::not_found("Portal"))?;
    draft.apply_to_portal(&mut portal);
    let (id, property) = match property {
        Some(id) => (
            id,
            record_as(context, RecordKind::Property, id)?
                .ok_or_else(|| Error::not_found("Property"))?,
        ),
        None => (portal.id, invented_flat(context, &portal)),
    };
    Ok(StayFlat::served_by(portal, id, property))
}

/// Builds an invented flat for an organization without flats. The flat has the portal's name, and
/// nothing is assigned to the flat.
fn invented_flat(context: &Context<'_, '_>, portal: &portals::Portal) -> Property {
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

/// Builds the reservation of an invented guest who arrives on a day.
pub(super) fn invented_reservation(check_in: Date) -> Reservation {
    let booked_on = check_in
        .saturating_sub(BOOKED_AHEAD.days())
        .to_zoned(TimeZone::UTC);
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
        check_in_time: None,
        check_out_time: None,
    }
}

/// Deletes expired previews. Returns true if more of them may remain.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    Ok(
        sweeping::remove::<Uuid>(tx, &EXPIRED, &REMOVE, now, SWEEP_BATCH)?
            >= u64::from(SWEEP_BATCH),
    )
}
