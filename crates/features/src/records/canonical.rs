//! The canonical form of a record's data, in which the service stores it (rules: records#kinds).

use engine::currency;
use engine::format::is_uuid;
use engine::operation::Object;
use serde_json::Value;

use super::RecordKind;

/// Fields that only the service sets. Read operations add them to the data.
const SET_BY_THE_SERVICE: [&str; 3] = ["id", "createdAt", "updatedAt"];

/// Fields that contain ids of other records, in kinds whose schema names only the required fields.
/// The platform defines the other fields of these kinds.
const FREE_IDS: [&str; 3] = ["propertyId", "propertyIds", "reservationId"];

/// The field of a property whose keys are ids of custom fields.
const CUSTOM_FIELDS: &str = "customFields";

/// The name of a field that the service does not store as the client sent it, and a description of
/// the difference.
pub(crate) type CanonicalChange = (&'static str, &'static str);

/// Changes the data of a valid record to its stored form: ids in lower case, currencies in
/// capitals, and without the fields that only the service sets. Returns a description for each
/// field that it removes.
pub fn canonicalize(kind: RecordKind, data: &mut Object) -> Vec<CanonicalChange> {
    let of_schema = kind.id_fields().iter().map(String::as_str);
    for field in of_schema.chain(FREE_IDS) {
        match data.get_mut(field) {
            Some(Value::Array(items)) => items.iter_mut().for_each(lower_id),
            Some(value) => lower_id(value),
            None => {}
        }
    }
    if let Some(Value::Object(values)) = data.get_mut(CUSTOM_FIELDS) {
        lower_keys(values);
    }
    if kind.describes_field("currency")
        && let Some(Value::String(text)) = data.get_mut("currency")
        && let Some(code) = currency::code(text)
    {
        *text = code;
    }
    let mut notes = Vec::new();
    for field in SET_BY_THE_SERVICE {
        if data.remove(field).is_some() {
            notes.push((field, "is set by the service; it was left out"));
        }
    }
    notes
}

/// Returns whether only the service sets this field, so that no request can set it.
pub(crate) fn is_service_field(field: &str) -> bool {
    SET_BY_THE_SERVICE.contains(&field)
}

fn lower_id(value: &mut Value) {
    if let Value::String(text) = value
        && is_uuid(text)
    {
        text.make_ascii_lowercase();
    }
}

/// Changes keys that are ids to lower case. If the object has two keys that differ only in upper
/// and lower case, the value of the lower-case key stays, and the other value is dropped.
fn lower_keys(values: &mut Object) {
    let capitals: Vec<String> = values
        .keys()
        .filter(|key| is_uuid(key) && key.bytes().any(|byte| byte.is_ascii_uppercase()))
        .cloned()
        .collect();
    for key in capitals {
        if let Some(value) = values.remove(&key) {
            values.entry(key.to_ascii_lowercase()).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CAPITALS: &str = "0192F0C1-2345-7ABC-8DEF-0123456789AB";
    const LOWER: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

    fn of(kind: RecordKind, data: Value) -> (Value, Vec<CanonicalChange>) {
        let Value::Object(mut data) = data else {
            panic!("data is an object");
        };
        let notes = canonicalize(kind, &mut data);
        (Value::Object(data), notes)
    }

    #[test]
    fn ids_are_kept_in_lower_case() {
        let (data, notes) = of(
            RecordKind::Property,
            json!({
                "name": CAPITALS, "propertyGroupId": CAPITALS, "tagIds": [CAPITALS, LOWER],
                "customFields": { CAPITALS: 1, "Door": 2 },
            }),
        );
        let expected = json!({
            "name": CAPITALS,
            "propertyGroupId": LOWER,
            "tagIds": [LOWER, LOWER],
            "customFields": { LOWER: 1, "Door": 2 },
        });
        assert_eq!((data, notes), (expected, Vec::new()));
        let (data, _) = of(
            RecordKind::Property,
            json!({ "customFields": { CAPITALS: 1, LOWER: 2 } }),
        );
        assert_eq!(data, json!({ "customFields": { LOWER: 2 } }));
        let (data, _) = of(RecordKind::Instruction, json!({ "scopeId": CAPITALS }));
        assert_eq!(data, json!({ "scopeId": LOWER }));
        let (data, _) = of(
            RecordKind::Upsell,
            json!({ "propertyIds": [CAPITALS], "externalId": CAPITALS }),
        );
        assert_eq!(
            data,
            json!({ "propertyIds": [LOWER], "externalId": CAPITALS })
        );
    }

    #[test]
    fn fields_of_the_service_are_left_out_with_a_note() {
        let (data, notes) = of(
            RecordKind::LockCode,
            json!({ "id": "x", "createdAt": 1, "updatedAt": null, "name": "Door" }),
        );
        assert_eq!(data, json!({ "name": "Door" }));
        let fields: Vec<_> = notes.into_iter().map(|(field, _)| field).collect();
        assert_eq!(fields, ["id", "createdAt", "updatedAt"]);
    }

    #[test]
    fn currencies_are_kept_in_capitals() {
        for kind in [
            RecordKind::FeeProduct,
            RecordKind::DamageWaiver,
            RecordKind::Upsell,
            RecordKind::PaymentAccount,
        ] {
            let (data, _) = of(kind, json!({ "currency": "eur" }));
            assert_eq!(data, json!({ "currency": "EUR" }));
        }
        let (data, _) = of(RecordKind::Department, json!({ "currency": "eur" }));
        assert_eq!(data, json!({ "currency": "eur" }));
    }
}
