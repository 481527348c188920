//! Links of the bar and the tiles: what a phone opens to ring, to write, to find the flat and what is around it.
//!
//! Maps are asked for by the address that Google documents for every device (Maps URLs): Android and iOS open it in their app
//! where there is one, anything else in the browser. `geo:` is known to Android alone.

use serde_json::Value;

/// The fields of an address that has fields, in the order in which it is written, each under the names it may have.
const ADDRESS_FIELDS: [&[&str]; 6] = [
    &["line1", "street", "address1", "addressLine1"],
    &["line2", "address2", "addressLine2"],
    &["postalCode", "postcode", "zip", "zipCode"],
    &["city", "town"],
    &["state", "region", "province"],
    &["country", "countryCode"],
];

/// The lines of an address as the platform pushed it: one text, or an object with fields of common names. Town and postal code
/// share a line; what is neither text nor known is left out.
#[must_use]
pub fn address_lines(address: &Value) -> Vec<String> {
    if let Some(text) = address.as_str() {
        return text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    }
    let field = |names: &&[&str]| {
        let text = names.iter().find_map(|name| address.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty()));
        text.map(str::to_owned)
    };
    let [first, second, postal_code, city, region, country] = ADDRESS_FIELDS.each_ref().map(field);
    let number = address.get("number").or_else(|| address.get("houseNumber")).and_then(Value::as_str);
    let first = first.map(|street| number.map_or(street.clone(), |number| format!("{street} {number}")));
    let town = [postal_code, city].into_iter().flatten().collect::<Vec<_>>().join(" ");
    [first, second, Some(town).filter(|town| !town.is_empty()), region, country].into_iter().flatten().collect()
}

/// Where the flat is, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// Latitude and longitude in degrees.
    pub coordinates: Option<(f64, f64)>,
    /// Its address in one line; empty where there is none.
    pub address: String,
}

impl Place {
    /// A place by what is known of a flat. Coordinates count where both are there and on the globe.
    #[must_use]
    pub fn of(latitude: Option<f64>, longitude: Option<f64>, address: &[String]) -> Option<Self> {
        let on_the_globe = |(latitude, longitude): &(f64, f64)| latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let place = Self { coordinates: latitude.zip(longitude).filter(on_the_globe), address: address.join(", ") };
        (place.coordinates.is_some() || !place.address.is_empty()).then_some(place)
    }

    /// The words by which a map finds it: the coordinates, which are exact, or else the address.
    fn query(&self) -> String {
        self.coordinates.map_or_else(|| self.address.clone(), |(latitude, longitude)| format!("{latitude},{longitude}"))
    }

    /// The place on a map.
    #[must_use]
    pub fn map(&self) -> String {
        link("https://www.google.com/maps/search/", &[("api", "1"), ("query", &self.query())])
    }

    /// The way there from where the phone is.
    #[must_use]
    pub fn directions(&self) -> String {
        link("https://www.google.com/maps/dir/", &[("api", "1"), ("destination", &self.query())])
    }

    /// Parking around it, on a map.
    #[must_use]
    pub fn parking(&self) -> String {
        link("https://www.google.com/maps/search/", &[("api", "1"), ("query", &format!("parking near {}", self.query()))])
    }

    /// Parking around it that can be booked, with `JustPark`.
    #[must_use]
    pub fn justpark(&self) -> String {
        match self.coordinates {
            Some((latitude, longitude)) => {
                let coordinates = format!("{latitude},{longitude}");
                link("https://www.justpark.com/search/", &[("coords", &coordinates), ("q", &self.address)])
            }
            None => link("https://www.justpark.com/search/", &[("q", &self.address)]),
        }
    }

    /// A ride there, from where the phone is: Uber's universal link, which opens the app or its page.
    #[must_use]
    pub fn uber(&self, name: &str) -> String {
        let (latitude, longitude) = self.coordinates.map(|(latitude, longitude)| (latitude.to_string(), longitude.to_string())).unzip();
        let mut query = vec![("action", "setPickup"), ("pickup", "my_location")];
        query.extend(latitude.as_deref().map(|latitude| ("dropoff[latitude]", latitude)));
        query.extend(longitude.as_deref().map(|longitude| ("dropoff[longitude]", longitude)));
        query.push(("dropoff[nickname]", name));
        query.extend(Some(("dropoff[formatted_address]", self.address.as_str())).filter(|(_, address)| !address.is_empty()));
        link("https://m.uber.com/ul/", &query)
    }

    /// Who rents out cots and prams around it, on a map: no one provider serves every place.
    #[must_use]
    pub fn baby_gear(&self) -> String {
        link("https://www.google.com/maps/search/", &[("api", "1"), ("query", &format!("baby equipment rental near {}", self.query()))])
    }
}

/// Rings a number in international form.
#[must_use]
pub fn call(number: &str) -> String {
    format!("tel:{}", dialled(number))
}

/// Writes a text message to it.
#[must_use]
pub fn text(number: &str) -> String {
    format!("sms:{}", dialled(number))
}

/// Writes to it by WhatsApp.
#[must_use]
pub fn whatsapp(number: &str) -> String {
    format!("https://wa.me/{}", dialled(number).trim_start_matches('+'))
}

/// What of a number is dialled: its digits, and the plus before them.
fn dialled(number: &str) -> String {
    let plus = if number.trim_start().starts_with('+') { "+" } else { "" };
    plus.chars().chain(number.chars().filter(char::is_ascii_digit)).collect()
}

/// An address with its query, percent-encoded. A space is `%20`, which every reader of an address knows; `+` is a form's.
fn link(address: &str, query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    format!("{address}?{}", query.replace('+', "%20"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn place() -> Place {
        let address = address_lines(&json!({ "street": "Carrer Gran", "number": "7", "city": "Barcelona", "postalCode": "08012" }));
        Place::of(Some(41.4), Some(2.15), &address).unwrap()
    }

    #[test]
    fn addresses_are_texts_or_have_fields() {
        assert_eq!(address_lines(&json!("Carrer Gran 7\r\n 08012 Barcelona \n\n")), ["Carrer Gran 7", "08012 Barcelona"]);
        let fields = json!({
            "country": "ES", "line1": "Carrer Gran 7", "line2": " 2n 1a ", "city": "Barcelona", "postalCode": "08012", "state": "", "floor": 2
        });
        assert_eq!(address_lines(&fields), ["Carrer Gran 7", "2n 1a", "08012 Barcelona", "ES"]);
        for nothing in [json!(null), json!({}), json!([]), json!(7), json!(" \n"), json!({ "city": 7, "street": null })] {
            assert_eq!(address_lines(&nothing), [""; 0], "{nothing}");
        }
    }

    #[test]
    fn a_place_is_known_by_its_coordinates_or_its_address() {
        assert_eq!(Place::of(None, Some(2.0), &[]), None);
        assert_eq!(Place::of(Some(91.0), Some(2.0), &[]), None);
        assert_eq!(Place::of(Some(f64::NAN), Some(2.0), &[]), None);
        assert_eq!(place().map(), "https://www.google.com/maps/search/?api=1&query=41.4%2C2.15");
        let by_address = Place { coordinates: None, ..place() };
        assert_eq!(by_address.directions(), "https://www.google.com/maps/dir/?api=1&destination=Carrer%20Gran%207%2C%2008012%20Barcelona");
    }

    #[test]
    fn tiles_lead_somewhere() {
        let expected = "https://m.uber.com/ul/?action=setPickup&pickup=my_location&dropoff%5Blatitude%5D=41.4&dropoff%5Blongitude%5D=2.15\
            &dropoff%5Bnickname%5D=Casa%20%26%20Ana&dropoff%5Bformatted_address%5D=Carrer%20Gran%207%2C%2008012%20Barcelona";
        assert_eq!(place().uber("Casa & Ana"), expected);
        assert_eq!(place().parking(), "https://www.google.com/maps/search/?api=1&query=parking%20near%2041.4%2C2.15");
        let justpark = "https://www.justpark.com/search/?coords=41.4%2C2.15&q=Carrer%20Gran%207%2C%2008012%20Barcelona";
        assert_eq!(place().justpark(), justpark);
    }

    #[test]
    fn numbers_are_dialled() {
        assert_eq!(call("+44 (0)20 7946 0958"), "tel:+4402079460958");
        assert_eq!(text("+34600000000"), "sms:+34600000000");
        assert_eq!(whatsapp("+34 600 000 000"), "https://wa.me/34600000000");
        assert_eq!(call("112"), "tel:112");
    }

    proptest! {
        /// Whatever a flat is called and wherever it is, a link stays one address, with the same fields.
        #[test]
        fn links_are_addresses(name in "\\PC{0,20}", address in "\\PC{1,30}", coordinates in prop::option::of((-90.0..90.0, -180.0..180.0))) {
            let place = Place { coordinates, address: address.clone() };
            for link in [place.map(), place.directions(), place.parking(), place.justpark(), place.uber(&name), place.baby_gear()] {
                let url = url::Url::parse(&link).unwrap();
                prop_assert_eq!(url.as_str(), &link, "nothing is left to encode");
                prop_assert_eq!(url.fragment(), None);
            }
            let url = url::Url::parse(&place.uber(&name)).unwrap();
            let sent = |wanted: &str| url.query_pairs().find(|(field, _)| field == wanted).map(|(_, value)| value.into_owned());
            prop_assert_eq!(sent("dropoff[nickname]"), Some(name));
            prop_assert_eq!(sent("dropoff[formatted_address]"), Some(address));
        }
    }
}
