//! Writes the address of a flat as lines, from a text or from the address fields of a platform.

use serde_json::Value;

/// The fields of an address that the platform sends as an object. Each entry has the names under
/// which platforms send one field.
const ADDRESS_FIELDS: [&[&str]; 6] = [
    &["line1", "street", "address1", "addressLine1"],
    &["line2", "address2", "addressLine2"],
    &["postalCode", "postcode", "zip", "zipCode"],
    &["city", "town"],
    &["state", "region", "province"],
    &["country", "countryCode"],
];

/// Returns the lines of an address that the platform sent: a text, or an object with common field
/// names. City and postal code share a line. Fields that are unknown or not texts are left out.
#[must_use]
pub fn address_lines(address: &Value) -> Vec<String> {
    if let Some(text) = address.as_str() {
        return text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
    }
    let field = |names: &&[&str]| {
        let text = names.iter().find_map(|name| {
            address
                .get(name)?
                .as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty())
        });
        text.map(str::to_owned)
    };
    let [first, second, postal_code, city, region, country] = ADDRESS_FIELDS.each_ref().map(field);
    let number = address
        .get("number")
        .or_else(|| address.get("houseNumber"))
        .and_then(Value::as_str);
    let first =
        first.map(|street| number.map_or(street.clone(), |number| format!("{street} {number}")));
    let town = [postal_code, city]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    [
        first,
        second,
        Some(town).filter(|town| !town.is_empty()),
        region,
        country,
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_read_from_text_or_fields() {
        assert_eq!(
            address_lines(&json!("Carrer Gran 7\r\n 08012 Barcelona \n\n")),
            ["Carrer Gran 7", "08012 Barcelona"]
        );
        let fields = json!({
            "country": "ES",
            "line1": "Carrer Gran 7",
            "line2": " 2n 1a ",
            "city": "Barcelona",
            "postalCode": "08012",
            "state": "",
            "floor": 2,
        });
        assert_eq!(
            address_lines(&fields),
            ["Carrer Gran 7", "2n 1a", "08012 Barcelona", "ES"]
        );
        for nothing in [
            json!(null),
            json!({}),
            json!([]),
            json!(7),
            json!(" \n"),
            json!({ "city": 7, "street": null }),
        ] {
            assert_eq!(address_lines(&nothing), [""; 0], "{nothing}");
        }
    }
}
