//! Records of reviews.

use engine::moment::Moment;
use serde::Serialize;
use serde_json::{Value, json};
use strum::VariantArray;

use super::FLAT;
use super::values::{
    AtMost, LongText, MapByName, OneOf, PropertyId, Rating, ReservationId, WithheldField,
};

record! {
    /// A guest's review of a stay.
    pub struct ReviewRecord {
        /// Id of the property that the review is about.
        property_id: PropertyId;
        /// Origin of the review: the guest portal's survey, or a property-management system.
        source: OneOf<ReviewSource>;
        /// The survey of the guest portal that the review answers; null for any other review.
        survey_kind: Option<OneOf<SurveyKind>>;
        /// When the guest gave the review.
        submitted_at: Moment;
        /// Id of the reservation that the review is about; null if unknown.
        reservation_id: Option<ReservationId>;
        /// Overall rating, from 1 to 5; null if the guest gave none.
        overall_rating: Option<Rating>;
        /// Rating from 1 to 5 for each category, by the category's name; null if the guest gave
        /// none.
        category_ratings: Option<MapByName<Rating>>;
        /// The guest's public text, up to 20,000 characters.
        public_text: Option<LongText>;
        /// The guest's text for the host alone, up to 20,000 characters. Returned only with
        /// `view_analytics`.
        private_review: Option<LongText>;
        /// Keys of the guest's photos, at most 100. Reads return short-lived `photoUrls` in their
        /// place.
        photo_keys: Option<WithheldField<AtMost<100, String>>>;
    }
    example {
        "propertyId": FLAT, "source": "pms", "submittedAt": "2026-11-02T10:00:00.000Z",
        "overallRating": 5, "photoUrls": [],
    }
}

/// The origin of a review.
#[derive(Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
enum ReviewSource {
    PortalSurvey,
    Pms,
}

engine::stored_enum! {
    /// A survey of the guest portal.
    pub enum SurveyKind {
        /// The survey during the stay.
        Checkin,
        /// The survey from the day of departure on.
        Checkout,
    }
}

/// Returns the schema of `photoUrls`, which reads return in place of `photoKeys`. Clients download
/// photos from the signed addresses in `photoUrls`, and never see the keys.
pub(in crate::records) fn photo_urls() -> Value {
    json!({ "type": "array", "items": { "type": "string", "format": "uri" } })
}
