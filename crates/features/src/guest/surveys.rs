//! Surveys that guests answer during and after the stay. Each answered survey becomes a review.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::{Object, Operation};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use super::hours::StayHours;
use super::operations::own_reservation;
use super::stay::Stay;
use crate::events::{self, Event};
use crate::portals::Portal;
use crate::records::{RecordKind, SurveyKind, add_record};

/// Number of days after the day of check-out for which the check-out survey stays open.
const OPEN_DAYS: i64 = 14;

store::statements! {
    /// Selects the kinds of the surveys that the guest of a stay has answered.
    ANSWERED = "select kind from guest_survey where organization_id = ?1 and reservation_id = ?2";
    /// Stores that the guest has answered a survey of a stay, and the id of the resulting review.
    INSERT_ANSWERED = "insert into guest_survey (organization_id, reservation_id, kind, review_id)
        values (?1, ?2, ?3, ?4)";
    /// Deletes the rows that say which surveys the guests of deleted reservations have answered.
    FORGET = "delete from guest_survey where organization_id = ?1 and reservation_id = any(?2)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GiveReview {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// The survey: `checkin` is open from check-in to check-out, `checkout` from the day of
    /// check-out to 14 days after it. A guest can answer each survey once.
    kind: SurveyKind,
    /// The rating as a whole, from 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    overall_rating: u8,
    /// Ratings from 1 to 5 by category. Null or left out: none.
    #[serde(default)]
    category_ratings: Option<CategoryRatings>,
    /// Text for everyone, up to 6000 characters. Null, blank or left out: none.
    #[serde(default)]
    #[schemars(length(max = 6000))]
    public_text: Option<String>,
    /// Text for the host alone, up to 6000 characters. Null, blank or left out: none.
    #[serde(default)]
    #[schemars(length(max = 6000))]
    private_review: Option<String>,
}

/// Ratings by category; null or left out: not rated.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
struct CategoryRatings {
    /// How clean the flat was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    cleanliness: Option<u8>,
    /// How well the host communicated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    communication: Option<u8>,
    /// How good the location is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    location: Option<u8>,
    /// How accurate the description was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    accuracy: Option<u8>,
    /// Value for money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    value: Option<u8>,
    /// How well arrival went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5))]
    checkin: Option<u8>,
}

/// The response to an answered survey: the review that was stored.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "id": "0192f0c1-2345-7abc-8def-0123456789ab" }))]
struct GivenReview {
    /// Id of the review.
    id: Uuid,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest("giveReview", Method::POST, "/stays/{token}/reviews")
            .summary("Answer a survey about the stay, which becomes a review")
            .creates()
            .touches_stream()
            .run(create_review),
    ]
}

/// Returns whether the portal has a survey switched on.
const fn is_enabled(portal: &Portal, kind: SurveyKind) -> bool {
    match kind {
        SurveyKind::Checkin => portal.is_review_request_checkin_enabled,
        SurveyKind::Checkout => portal.is_review_request_checkout_enabled,
    }
}

/// Returns whether a survey is open at a timestamp. The check-in survey is open from check-in to
/// check-out. The check-out survey is open on the day of check-out and on the [`OPEN_DAYS`] days
/// after it.
fn is_open(kind: SurveyKind, hours: &StayHours, at: Timestamp) -> bool {
    let (from, until) = match kind {
        SurveyKind::Checkin => (hours.check_in(), hours.check_out()),
        SurveyKind::Checkout => (
            hours.days_after_check_out(0),
            hours.days_after_check_out(OPEN_DAYS + 1),
        ),
    };
    from <= at && at < until
}

/// Returns the surveys that are open to a stay's guest at a timestamp, including answered ones.
pub(super) fn open_surveys(stay: &Stay, at: Timestamp) -> Vec<SurveyKind> {
    let (Some(portal), Some(hours), false) =
        (stay.portal(), StayHours::of(stay), stay.is_cancelled())
    else {
        return Vec::new();
    };
    SurveyKind::VARIANTS
        .iter()
        .copied()
        .filter(|kind| is_enabled(portal, *kind) && is_open(*kind, &hours, at))
        .collect()
}

/// Returns the first timestamp after `at` at which the passage of time changes the view of a stay:
/// its surveys or its phase.
pub(super) fn next_view_change(stay: &Stay, at: Timestamp) -> Timestamp {
    StayHours::of(stay).map_or(Timestamp::MAX, |hours| hours.next(at, OPEN_DAYS + 1))
}

/// Returns the open surveys of a stay that the guest has not answered yet.
pub(super) fn unanswered_surveys(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    at: Timestamp,
) -> Result<Vec<SurveyKind>> {
    let mut open = open_surveys(stay, at);
    if !open.is_empty() {
        let answered = answered_surveys(context, stay.id)?;
        open.retain(|kind| !answered.contains(kind));
    }
    Ok(open)
}

fn answered_surveys(context: &mut Context<'_, '_>, reservation: Uuid) -> Result<Vec<SurveyKind>> {
    let kind = |row: &store::Row| -> Result<SurveyKind> {
        row.get::<String>(0)?
            .parse()
            .map_err(|_| Error::internal("a survey of an unknown kind"))
    };
    let rows = context.rows(&ANSWERED, values![reservation])?;
    rows.iter().map(kind).collect()
}

fn create_review(context: &mut Context<'_, '_>, input: GiveReview) -> Result<GivenReview> {
    let stay = Stay::load(context, own_reservation(context)?)?;
    let is_open = open_surveys(&stay, context.now()).contains(&input.kind);
    let Some(property) = stay.reservation.property_id.filter(|_| is_open) else {
        return Err(Error::forbidden("This review is not asked for now."));
    };
    if answered_surveys(context, stay.id)?.contains(&input.kind) {
        return Err(Error::conflict("This review has been given already."));
    }
    let id = context.new_id();
    context.execute_deferred(&INSERT_ANSWERED, values![stay.id, input.kind.as_ref(), id])?;
    let review = review(&input, property, stay.id, Moment(context.now()));
    let links = [
        (RecordKind::Property, property),
        (RecordKind::Reservation, stay.id),
    ];
    add_record(context, RecordKind::Review, id, review, &links)?;
    events::record_arrived_reviews(context, [id])?;
    events::fire(
        context,
        Event::ReviewSubmitted,
        RecordKind::Review,
        id,
        Some(property),
    )?;
    Ok(GivenReview { id })
}

/// Builds the record of a review.
fn review(input: &GiveReview, property: Uuid, reservation: Uuid, now: Moment) -> Object {
    let written =
        |text: &Option<String>| text.clone().filter(|text| !engine::typed::is_blank(text));
    let Value::Object(review) = json!({
        "propertyId": property, "reservationId": reservation, "source": "portal_survey",
        "surveyKind": input.kind, "submittedAt": now, "overallRating": input.overall_rating,
        "categoryRatings": input.category_ratings, "publicText": written(&input.public_text),
        "privateReview": written(&input.private_review),
    }) else {
        return Object::new();
    };
    review
}

/// Deletes the rows that say which surveys the guests of deleted reservations have answered. The
/// reviews that the guests wrote are separate records, which this function does not delete.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET, values![reservations])
}
