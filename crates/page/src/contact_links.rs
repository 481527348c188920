//! Builds links that call the host, write to the host, or show the flat and places near the flat on
//! a map. The bar at the bottom of each page and the tiles of the entry page have these links.
//!
//! Map links use Google's documented URLs (Maps URLs), which work on every device. Android and iOS
//! open them in the Maps app if it is installed. Other devices open them in the browser. `geo:`
//! links would work on Android only.

/// The position of the flat. The coordinates or the postal address may be unknown, but not both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlatPosition {
    /// Latitude and longitude in degrees; `None` if they are not known.
    pub coordinates: Option<(f64, f64)>,
    /// The postal address of the flat in one line; empty if the address is not known.
    pub address: String,
}

impl FlatPosition {
    /// Builds a position from the data of a flat; `None` if neither coordinates nor address are
    /// known. Coordinates are used only if both are present and in range.
    #[must_use]
    pub fn of(latitude: Option<f64>, longitude: Option<f64>, address: &[String]) -> Option<Self> {
        let on_the_globe =
            |(latitude, longitude): &(f64, f64)| latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        let place = Self {
            coordinates: latitude.zip(longitude).filter(on_the_globe),
            address: address.join(", "),
        };
        (place.coordinates.is_some() || !place.address.is_empty()).then_some(place)
    }

    /// Returns an unknown position. Map links from an unknown position search without a location.
    #[must_use]
    pub fn anywhere() -> Self {
        Self::default()
    }

    /// Returns the text of a map search for `thing` near the flat. If the position is unknown, the
    /// text is `thing` alone.
    fn near(&self, thing: &str) -> String {
        match self.query() {
            query if query.is_empty() => thing.to_owned(),
            query => format!("{thing} near {query}"),
        }
    }

    /// Returns the text with which a map service finds the flat: the flat's coordinates if they are
    /// known, otherwise its address.
    fn query(&self) -> String {
        self.coordinates.map_or_else(
            || self.address.clone(),
            |(latitude, longitude)| format!("{latitude},{longitude}"),
        )
    }

    /// Returns a link that shows the flat on a map.
    #[must_use]
    pub fn map(&self) -> String {
        link(
            "https://www.google.com/maps/search/",
            &[("api", "1"), ("query", &self.query())],
        )
    }

    /// Returns a link to directions from the guest's position to the flat.
    #[must_use]
    pub fn directions(&self) -> String {
        link(
            "https://www.google.com/maps/dir/",
            &[("api", "1"), ("destination", &self.query())],
        )
    }

    /// Returns a link that shows car parks near the flat on a map.
    #[must_use]
    pub fn parking(&self) -> String {
        link(
            "https://www.google.com/maps/search/",
            &[("api", "1"), ("query", &self.near("parking"))],
        )
    }

    /// Returns a link to the website `JustPark`, where the guest can book a parking space near the
    /// flat.
    #[must_use]
    pub fn justpark(&self) -> String {
        match self.coordinates {
            Some((latitude, longitude)) => {
                let coordinates = format!("{latitude},{longitude}");
                link(
                    "https://www.justpark.com/search/",
                    &[("coords", &coordinates), ("q", &self.address)],
                )
            }
            None if self.address.is_empty() => "https://www.justpark.com/".to_owned(),
            None => link("https://www.justpark.com/search/", &[("q", &self.address)]),
        }
    }

    /// Returns a link that orders a ride from the guest's position to the flat. Uber's universal
    /// link opens the app or a web page.
    #[must_use]
    pub fn uber(&self, name: &str) -> String {
        if *self == Self::default() {
            return link(
                "https://m.uber.com/ul/",
                &[("action", "setPickup"), ("pickup", "my_location")],
            );
        }
        let (latitude, longitude) = self
            .coordinates
            .map(|(latitude, longitude)| (latitude.to_string(), longitude.to_string()))
            .unzip();
        let mut query = vec![("action", "setPickup"), ("pickup", "my_location")];
        query.extend(
            latitude
                .as_deref()
                .map(|latitude| ("dropoff[latitude]", latitude)),
        );
        query.extend(
            longitude
                .as_deref()
                .map(|longitude| ("dropoff[longitude]", longitude)),
        );
        query.push(("dropoff[nickname]", name));
        query.extend(
            Some(("dropoff[formatted_address]", self.address.as_str()))
                .filter(|(_, address)| !address.is_empty()),
        );
        link("https://m.uber.com/ul/", &query)
    }

    /// Returns a link that shows shops near the flat on a map. The shops rent out cots and prams.
    /// The link does not name a company, because no company has shops in every city.
    #[must_use]
    pub fn baby_gear(&self) -> String {
        link(
            "https://www.google.com/maps/search/",
            &[("api", "1"), ("query", &self.near("baby equipment rental"))],
        )
    }
}

/// Returns a link that calls a phone number.
#[must_use]
pub fn call(number: &str) -> String {
    format!("tel:{}", dialable(number))
}

/// Returns a link that sends a text message to a phone number.
#[must_use]
pub fn text(number: &str) -> String {
    format!("sms:{}", dialable(number))
}

/// Returns a link that opens a WhatsApp chat with a phone number.
#[must_use]
pub fn whatsapp(number: &str) -> String {
    format!("https://wa.me/{}", dialable(number).trim_start_matches('+'))
}

/// Returns the characters of a phone number that a phone dials: the digits, and a leading plus.
fn dialable(number: &str) -> String {
    let plus = if number.trim_start().starts_with('+') {
        "+"
    } else {
        ""
    };
    plus.chars()
        .chain(number.chars().filter(char::is_ascii_digit))
        .collect()
}

/// Builds a link with a percent-encoded query. A space becomes `%20`, because `+` means a space
/// only in form data.
fn link(address: &str, query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    format!("{address}?{}", query.replace('+', "%20"))
}

#[cfg(test)]
mod tests {
    use features::guest::address_lines;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn place() -> FlatPosition {
        let address = address_lines(&json!({
            "street": "Carrer Gran",
            "number": "7",
            "city": "Barcelona",
            "postalCode": "08012",
        }));
        FlatPosition::of(Some(41.4), Some(2.15), &address).unwrap()
    }

    #[test]
    fn a_place_is_found_by_coordinates_or_address() {
        assert_eq!(FlatPosition::of(None, Some(2.0), &[]), None);
        assert_eq!(FlatPosition::of(Some(91.0), Some(2.0), &[]), None);
        assert_eq!(FlatPosition::of(Some(f64::NAN), Some(2.0), &[]), None);
        assert_eq!(
            place().map(),
            "https://www.google.com/maps/search/?api=1&query=41.4%2C2.15"
        );
        let by_address = FlatPosition {
            coordinates: None,
            ..place()
        };
        assert_eq!(
            by_address.directions(),
            "https://www.google.com/maps/dir/?api=1\
                &destination=Carrer%20Gran%207%2C%2008012%20Barcelona"
        );
    }

    #[test]
    fn tiles_link_to_places_and_rides() {
        let expected = "https://m.uber.com/ul/?action=setPickup&pickup=my_location\
            &dropoff%5Blatitude%5D=41.4&dropoff%5Blongitude%5D=2.15\
            &dropoff%5Bnickname%5D=Casa%20%26%20Ana\
            &dropoff%5Bformatted_address%5D=Carrer%20Gran%207%2C%2008012%20Barcelona";
        assert_eq!(place().uber("Casa & Ana"), expected);
        assert_eq!(
            place().parking(),
            "https://www.google.com/maps/search/?api=1&query=parking%20near%2041.4%2C2.15"
        );
        let justpark = "https://www.justpark.com/search/?coords=41.4%2C2.15\
            &q=Carrer%20Gran%207%2C%2008012%20Barcelona";
        assert_eq!(place().justpark(), justpark);
    }

    #[test]
    fn phone_numbers_become_call_text_and_whatsapp_links() {
        assert_eq!(call("+44 (0)20 7946 0958"), "tel:+4402079460958");
        assert_eq!(text("+34600000000"), "sms:+34600000000");
        assert_eq!(whatsapp("+34 600 000 000"), "https://wa.me/34600000000");
        assert_eq!(call("112"), "tel:112");
    }

    proptest! {
        /// For any name and position of a flat, each link is a valid URL. Parsing the URL returns
        /// the parameters from which it was built.
        #[test]
        fn every_link_to_a_place_is_a_valid_url(
            name in "\\PC{0,20}",
            address in "\\PC{1,30}",
            coordinates in prop::option::of((-90.0..90.0, -180.0..180.0)),
        ) {
            let place = FlatPosition {
                coordinates,
                address: address.clone(),
            };
            for link in [
                place.map(),
                place.directions(),
                place.parking(),
                place.justpark(),
                place.uber(&name),
                place.baby_gear(),
            ] {
                let url = url::Url::parse(&link).unwrap();
                prop_assert_eq!(url.as_str(), &link, "nothing is left to encode");
                prop_assert_eq!(url.fragment(), None);
            }
            let url = url::Url::parse(&place.uber(&name)).unwrap();
            let parameter = |name: &str| {
                url.query_pairs()
                    .find(|(field, _)| field == name)
                    .map(|(_, value)| value.into_owned())
            };
            prop_assert_eq!(parameter("dropoff[nickname]"), Some(name));
            prop_assert_eq!(parameter("dropoff[formatted_address]"), Some(address));
        }
    }
}
