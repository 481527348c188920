//! Wallet passes of stays: their door codes, their tokens, and the devices that have a pass.
//! `pushes.rs` notifies devices of changes, and `page/wallet/` builds the pass files.

use engine::access::{Access, Credential};
use engine::context::{Context, RaisedRevision};
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::{Object, Operation, OperationName};
use engine::pipeline::Service;
use engine::typed;
use engine::values;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Transaction};
use uuid::Uuid;

use super::hours::StayHours;
use super::operations::own_reservation;
use super::stay::Stay;
use crate::records::{PhotoSigner, ReservationStatus};

/// Returns the content of the stay's wallet pass.
pub const GET_PASS: OperationName<PassView> = OperationName::new("getPass");

/// The prefix of a pass's token.
const PREFIX: &str = "wp_";
/// Number of characters of the organization's id in a pass's token.
const ORGANIZATION_LENGTH: usize = 32;
/// The name from which the service derives the key that signs the tokens of passes. Tokens for
/// other purposes are signed with keys that are derived from other names.
const PURPOSE: &str = "wallet_passes";
/// Maximum number of devices with the pass of a stay.
const MAX_DEVICES: i64 = 20;
/// Maximum number of passes on a device.
const MAX_PASSES: i64 = 100;
/// Maximum number of door codes in a pass.
const MAX_CODES: usize = 4;

store::statements! {
    /// Selects the door codes that may belong to a stay, in the order of creation.
    CODES_OF = "select doc from record where organization_id = ?1 and kind = 'lock_code'
        and (property_id = ?2 or lower(doc ->> 'reservationId') = ?3) order by created_at, id";
    /// Selects the token in a stay's guest link. The statement does not check whether a caller can
    /// access the stay.
    STAY = "select l.token from guest_link l join organization o on o.id = l.organization_id
        where l.organization_id = ?1 and l.reservation_id = ?2 and o.erased_at is null";
    /// Selects the stays whose passes are on a device, in all organizations.
    ON_DEVICE = "select r.organization_id, r.reservation_id, l.token from pass_registration r
        join guest_link l on l.organization_id = r.organization_id
        and l.reservation_id = r.reservation_id
        join organization o on o.id = r.organization_id
        where r.device_id = ?1 and o.erased_at is null order by r.organization_id, r.reservation_id
        limit ?2";
    /// Tests whether a device has the pass of a stay.
    REGISTERED = "select 1 from pass_registration where organization_id = ?1 and reservation_id = ?2
        and device_id = ?3";
    /// Counts the devices with the pass of a stay.
    COUNT = "select count(*) from pass_registration where organization_id = ?1
        and reservation_id = ?2";
    /// Registers a device, or replaces its push token.
    REGISTER = "insert into pass_registration
        (organization_id, reservation_id, device_id, push_token, told_at)
        values (?1, ?2, ?3, ?4, ?5)
        on conflict (organization_id, reservation_id, device_id) do update
        set push_token = excluded.push_token, told_at = excluded.told_at, attempts = 0,
        next_push_at = null";
    /// Deletes the registration of a device for the pass of a stay.
    UNREGISTER = "delete from pass_registration where organization_id = ?1 and reservation_id = ?2
        and device_id = ?3";
    /// Deletes the registrations of all devices for the passes of the given stays.
    FORGET = "delete from pass_registration where organization_id = ?1 and reservation_id = \
        any(?2)";
    /// Selects the last known hash of a pass's content, and the time at which the content changed.
    STATE = "select content_hash, changed_at from pass_state where organization_id = ?1
        and reservation_id = ?2";
    /// Stores the hash of a pass's content.
    PUT_STATE = "insert into pass_state (organization_id, reservation_id, content_hash, changed_at)
        values (?1, ?2, ?3, ?4)
        on conflict (organization_id, reservation_id) do update
        set content_hash = excluded.content_hash, changed_at = excluded.changed_at";
    /// Deletes the rows of the given stays in `pass_state`. Each row has the hash of the content of
    /// a stay's pass.
    FORGET_STATES = "delete from pass_state where organization_id = ?1 and reservation_id = \
        any(?2)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetPass {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
}

/// The data of a stay's wallet pass that the guest's view does not contain.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "isEnabled": true,
    "authenticationToken": "wp_…",
    "doorCodes": [{ "name": "Front door", "code": "4711" }],
    "nextChangeAt": null,
}))]
pub struct PassView {
    /// Whether the pass is valid; `false` makes the wallet void it.
    pub is_enabled: bool,
    /// The token with which a device fetches updates of the pass.
    pub authentication_token: String,
    /// The door codes that are valid now.
    pub door_codes: Vec<DoorCode>,
    /// The next time at which a door code becomes valid or expires; null if there is no such time.
    pub next_change_at: Option<Moment>,
}

/// A door code of a stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoorCode {
    /// Name of the door code, from the record of the code.
    pub name: String,
    /// The code to type at the door.
    pub code: String,
}

/// A pass on a device.
pub struct RegisteredPass {
    /// The organization of the stay.
    pub organization: Uuid,
    /// The id of the stay, which is also the serial number of the pass.
    pub reservation: Uuid,
    /// The stay token in the guest's link, with which the guest view of the stay can be read.
    pub token: String,
}

/// The result of registering a device for a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationOutcome {
    /// The device did not have the pass before.
    New,
    /// The device had the pass already.
    Known,
    /// Too many devices have the pass.
    Full,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest(GET_PASS.id(), Method::GET, "/stays/{token}/pass")
            .summary("What a wallet pass of the stay holds: its door codes and its token")
            .run_as(GET_PASS, pass),
    ]
}

fn pass(context: &mut Context<'_, '_>, _: GetPass) -> Result<PassView> {
    if let Credential::Preview { .. } = context.access.credential {
        return Err(Error::not_found("Pass"));
    }
    let stay = Stay::load(context, own_reservation(context)?)?;
    let is_enabled = !stay.is_cancelled()
        && !stay.is_tentative()
        && stay
            .portal()
            .is_some_and(|portal| portal.is_wallet_pass_enabled);
    let signer = context.extension::<PhotoSigner>()?.signer(PURPOSE)?;
    let organization = context.organization.id;
    let signature = signer.sign(&[organization.as_bytes(), stay.id.as_bytes()]);
    let (door_codes, next_change_at) = if is_enabled {
        door_codes(context, &stay)?
    } else {
        (Vec::new(), None)
    };
    Ok(PassView {
        is_enabled,
        authentication_token: format!("{PREFIX}{}{signature}", organization.simple()),
        door_codes,
        next_change_at: next_change_at.map(Moment),
    })
}

/// Returns the door codes that are valid now. The codes whose record names the stay come first.
/// Also returns the next time at which a code becomes valid or expires. A stay that is not
/// confirmed has no codes.
fn door_codes(
    context: &mut Context<'_, '_>,
    stay: &Stay,
) -> Result<(Vec<DoorCode>, Option<Timestamp>)> {
    let is_confirmed = stay.reservation.status == ReservationStatus::Confirmed;
    let (Some(flat), Some(hours), true) = (stay.flat.clone(), StayHours::of(stay), is_confirmed)
    else {
        return Ok((Vec::new(), None));
    };
    let property = flat.placement.property;
    let now = context.now();
    let rows = context.rows(&CODES_OF, values![property, stay.id.to_string()])?;
    let (mut own, mut others, mut next) = (Vec::new(), Vec::new(), None);
    for row in rows {
        let Json(record): Json<Object> = row.get(0)?;
        for field in ["startsAt", "endsAt"] {
            let timestamp = timestamp_of(&record, field).filter(|timestamp| now < *timestamp);
            next = next.into_iter().chain(timestamp).min();
        }
        match valid_code(
            &record,
            stay.id,
            property,
            (hours.check_in(), hours.check_out()),
            now,
        ) {
            Some((code, true)) => own.push(code),
            Some((code, false)) => others.push(code),
            None => {}
        }
    }
    own.extend(others);
    own.truncate(MAX_CODES);
    Ok((own, next))
}

/// Returns the timestamp in a field of a record; `None` if the field has no valid timestamp.
fn timestamp_of(record: &Object, name: &str) -> Option<Timestamp> {
    let text = record.get(name).and_then(Value::as_str)?;
    text.parse::<Moment>().ok().map(|at| at.0)
}

/// Returns the door code in a record, and whether the record names the stay. Returns `None` if the
/// code is not for this stay or not valid now. A record that names no stay must have the stay's
/// flat and a period that overlaps the stay.
fn valid_code(
    record: &Object,
    reservation: Uuid,
    property: Uuid,
    (check_in, check_out): (Timestamp, Timestamp),
    now: Timestamp,
) -> Option<(DoorCode, bool)> {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    let id = |name: &str| text(name).and_then(|text| text.parse::<Uuid>().ok());
    let code = match record.get("code")? {
        Value::String(code) if !typed::is_blank(code) => typed::trim(code).to_owned(),
        Value::Number(code) => code.to_string(),
        _ => return None,
    };
    let (starts, ends) = (
        timestamp_of(record, "startsAt"),
        timestamp_of(record, "endsAt"),
    );
    let is_own = match record.get("reservationId") {
        None | Some(Value::Null) => false,
        Some(_) if id("reservationId") == Some(reservation) => true,
        Some(_) => return None,
    };
    let overlaps = || {
        starts
            .zip(ends)
            .is_some_and(|(starts, ends)| starts < check_out && check_in < ends)
    };
    let is_of_stay = is_own || id("propertyId") == Some(property) && overlaps();
    let is_now = starts.is_none_or(|starts| starts <= now) && ends.is_none_or(|ends| now < ends);
    let name = text("name").unwrap_or_default().to_owned();
    (is_of_stay && is_now).then_some((DoorCode { name, code }, is_own))
}

/// Checks the token of a pass and returns the organization of its stay; `None` for a wrong token.
pub fn organization_in_pass_token(
    service: &Service,
    token: &str,
    reservation: Uuid,
) -> Option<Uuid> {
    let (organization, signature) = token
        .strip_prefix(PREFIX)?
        .split_at_checked(ORGANIZATION_LENGTH)?;
    let organization = Uuid::try_parse(organization).ok()?;
    let signer = service
        .app_state
        .extension::<PhotoSigner>()?
        .signer(PURPOSE)
        .ok()?;
    signer
        .is_signed(
            &[organization.as_bytes(), reservation.as_bytes()],
            signature,
        )
        .then_some(organization)
}

/// Returns the token of a stay; `None` if the stay is deleted.
pub fn token_of_stay(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    reservation: Uuid,
) -> Result<Option<String>> {
    let row = tx.row(&STAY, &values![organization, reservation])?;
    Ok(row.map(|row| row.get(0)).transpose()?)
}

/// Returns the passes on a device, at most `MAX_PASSES`.
pub fn passes_on_device(tx: &mut Transaction<'_>, device: &str) -> Result<Vec<RegisteredPass>> {
    let rows = tx.rows(&ON_DEVICE, &values![device, MAX_PASSES])?;
    let pass_from_row = |row: &store::Row| -> Result<RegisteredPass> {
        Ok(RegisteredPass {
            organization: row.get(0)?,
            reservation: row.get(1)?,
            token: row.get(2)?,
        })
    };
    rows.iter().map(pass_from_row).collect()
}

/// Registers a device for the pass of a stay.
pub fn register(
    tx: &mut Transaction<'_>,
    service: &Service,
    (organization, reservation): (Uuid, Uuid),
    device: &str,
    push_token: &str,
) -> Result<RegistrationOutcome> {
    let access = Access::platform();
    let mut context = open_context(tx, service, organization, &access)?;
    let is_registered = context.exists(&REGISTERED, values![reservation, device])?;
    if !is_registered {
        let count: i64 = context
            .row(&COUNT, values![reservation])?
            .map_or(Ok(0), |row| row.get(0))?;
        if count >= MAX_DEVICES {
            return Ok(RegistrationOutcome::Full);
        }
    }
    // A device fetches the pass after it registers, so it needs no push about earlier changes.
    let now = context.now();
    let told_at = context
        .row(&STATE, values![reservation])?
        .map_or(Ok(now), |row| row.get(1))?;
    context.execute_deferred(&REGISTER, values![reservation, device, push_token, told_at])?;
    Ok(if is_registered {
        RegistrationOutcome::Known
    } else {
        RegistrationOutcome::New
    })
}

/// Deletes the registration of a device for the pass of a stay. Without a device, deletes the
/// registrations of all devices for this pass.
pub fn unregister(
    tx: &mut Transaction<'_>,
    service: &Service,
    (organization, reservation): (Uuid, Uuid),
    device: Option<&str>,
) -> Result<()> {
    let access = Access::platform();
    let mut context = open_context(tx, service, organization, &access)?;
    match device {
        Some(device) => context.execute_deferred(&UNREGISTER, values![reservation, device]),
        None => context.execute_deferred(&FORGET, values![vec![reservation]]),
    }
}

/// Returns the time at which the content of a pass last changed. Returns `None` if the stored hash
/// is missing or differs from `hash`, the hash of the current content.
pub fn changed_at(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    reservation: Uuid,
    hash: &[u8],
) -> Result<Option<Timestamp>> {
    let Some(row) = tx.row(&STATE, &values![organization, reservation])? else {
        return Ok(None);
    };
    let (stored_hash, changed_at): (Vec<u8>, Timestamp) = (row.get(0)?, row.get(1)?);
    Ok((stored_hash == hash).then_some(changed_at))
}

/// Stores the hash of a pass's new content, and returns the time of the change. This time is at
/// least a second after the time of the previous change, because devices ask for changes with a
/// precision of seconds.
pub fn record_pass_change(
    tx: &mut Transaction<'_>,
    service: &Service,
    (organization, reservation): (Uuid, Uuid),
    hash: &[u8],
) -> Result<Timestamp> {
    let access = Access::platform();
    let mut context = open_context(tx, service, organization, &access)?;
    let mut before: Option<Timestamp> = None;
    if let Some(row) = context.row(&STATE, values![reservation])? {
        let (stored_hash, changed_at): (Vec<u8>, Timestamp) = (row.get(0)?, row.get(1)?);
        if stored_hash == hash {
            // Another request has stored the same change.
            return Ok(changed_at);
        }
        before = Some(changed_at);
    }
    let second = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
    let now = second(context.now());
    let next = before.and_then(|before| before.checked_add(SignedDuration::from_secs(1)).ok());
    let changed_at = next.map_or(now, |next| next.max(now));
    context.execute_deferred(
        &PUT_STATE,
        values![reservation, store::Value::Bytes(hash.to_vec()), changed_at],
    )?;
    Ok(changed_at)
}

/// Opens the context of an organization for background work on its passes.
pub(super) fn open_context<'c, 't>(
    tx: &'c mut Transaction<'t>,
    service: &'c Service,
    organization: Uuid,
    access: &'c Access,
) -> Result<Context<'c, 't>> {
    let now = service.clock.now();
    Context::for_writing(
        service.system(tx, now),
        organization,
        access,
        RaisedRevision::Stream,
    )
}

/// Deletes the registrations for the passes of deleted reservations, and the hashes of these
/// passes.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET, values![reservations])?;
    context.execute_deferred(&FORGET_STATES, values![reservations])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_in_force_for_its_stay_or_for_its_flat_and_time() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (stay, flat, other) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let hours = (at("2026-12-11T14:00:00Z"), at("2026-12-15T10:00:00Z"));
        let now = at("2026-12-12T00:00:00Z");
        let times = json!({ "startsAt": "2026-12-11T00:00:00Z", "endsAt": "2026-12-16T00:00:00Z" });
        let with = |more: Value| {
            let mut record = json!({ "name": "Door", "code": "4711" });
            record
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            record
        };
        let both = |one: Value, other: &Value| {
            let mut one = one;
            one.as_object_mut()
                .unwrap()
                .extend(other.as_object().unwrap().clone());
            with(one)
        };
        for (record, expected) in [
            (with(json!({ "reservationId": stay })), Some(true)),
            (both(json!({ "reservationId": stay }), &times), Some(true)),
            (
                with(json!({ "reservationId": stay, "startsAt": "2026-12-12T00:00:01Z" })),
                None,
            ),
            (
                with(json!({ "reservationId": stay, "endsAt": "2026-12-12T00:00:00Z" })),
                None,
            ),
            (
                both(
                    json!({ "reservationId": other, "propertyId": flat }),
                    &times,
                ),
                None,
            ),
            (both(json!({ "propertyId": flat }), &times), Some(false)),
            (
                both(json!({ "propertyId": flat, "reservationId": null }), &times),
                Some(false),
            ),
            (with(json!({ "propertyId": flat })), None),
            (both(json!({ "propertyId": other }), &times), None),
            (
                with(json!({
                    "propertyId": flat,
                    "startsAt": "2026-12-01T00:00:00Z",
                    "endsAt": "2026-12-11T14:00:00Z",
                })),
                None,
            ),
            (with(json!({ "reservationId": stay, "code": " " })), None),
        ] {
            let found = valid_code(record.as_object().unwrap(), stay, flat, hours, now);
            assert_eq!(found.map(|(_, is_own)| is_own), expected, "{record}");
        }
    }
}
