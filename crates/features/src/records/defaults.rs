//! Default values for required fields of a new record that a form or a CSV file omits (rules:
//! records#records-by-hand).

use engine::access::Settings;
use engine::moment::Moment;
use engine::operation::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::RecordKind;

/// Returns default values for required fields of a new record, such as the status `confirmed` for a
/// reservation. Fields without a reasonable default are absent.
#[must_use]
pub fn default_fields(kind: RecordKind, settings: &Settings, now: Timestamp) -> Object {
    let defaults = match kind {
        RecordKind::Property => {
            json!({ "timezone": settings.timezone, "country": settings.country })
        }
        RecordKind::Reservation => json!({
            "propertyId": null,
            "status": "confirmed",
            "channel": "direct",
            "bookedAt": Moment(now),
            "guest": {},
        }),
        RecordKind::Task => json!({ "status": "open" }),
        RecordKind::PaymentAccount => json!({ "isActive": true, "isDefault": false }),
        RecordKind::CustomUrl => json!({ "isGuestPortal": true }),
        RecordKind::Instruction => json!({ "position": 0 }),
        RecordKind::PropertyGroup
        | RecordKind::Tag
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::BackgroundCheckAccount
        | RecordKind::FeeProduct
        | RecordKind::DamageWaiver
        | RecordKind::CustomField
        | RecordKind::Image
        | RecordKind::Upsell
        | RecordKind::LockCode
        | RecordKind::TaskTemplate
        | RecordKind::Department
        | RecordKind::Shift
        | RecordKind::ClockedShift => json!({}),
    };
    let Value::Object(mut defaults) = defaults else {
        return Object::new();
    };
    // Null means that the field has no default, so the user must fill it in. Only `propertyId` may
    // stay null, because a reservation may have no flat.
    defaults.retain(|field, value| !value.is_null() || field == "propertyId");
    defaults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_gets_the_country_and_the_time_zone_of_its_organization() {
        let settings = Settings {
            timezone: Some("Europe/Madrid".to_owned()),
            ..Settings::default()
        };
        let flat = default_fields(RecordKind::Property, &settings, Timestamp::UNIX_EPOCH);
        assert_eq!(
            Value::Object(flat),
            json!({ "timezone": "Europe/Madrid", "country": "US" })
        );
        let flat = default_fields(
            RecordKind::Property,
            &Settings::default(),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(Value::Object(flat), json!({ "country": "US" }));
    }
}
