//! A branding: the fields that decide the look of all portals with this branding (rules:
//! brandings).

use engine::field::{Creatable, HexColor, HttpUrlOrEmpty, Name60, Text2000};
use engine::moment::Moment;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

engine::resource! {
    /// A portal branding in the database and in responses.
    #[schemars(rename = "PortalBranding", example = example())]
    pub struct Branding {
        /// Id that the server assigns.
        id: Uuid = Uuid::nil();

        /// Name shown in the header of portals; several brandings may share a name.
        name: String = String::new(),
        /// Name shown in the header of the portals that use the branding, 1 to 60 characters and
        /// not blank. Several brandings may share a name.
        sent as Name60, in basics;

        /// Internal label, never shown to guests.
        nickname: Option<String> = None,
        /// Internal label of the branding, 1 to 60 characters and not blank. It can be changed, not
        /// cleared.
        sent as Name60, in basics;

        /// Colour of text, with six hexadecimal digits.
        text_color: String = "#1A1A1A".into(),
        /// Colour of text, as `#` and three or six hexadecimal digits. Three are stored as six.
        /// Default `#1A1A1A`.
        sent as HexColor, in colours after secondary_color;

        /// Colour of buttons and accents, with six hexadecimal digits.
        primary_color: String = "#2563EB".into(),
        /// Colour of buttons and accents, as `#` and three or six hexadecimal digits. Three are
        /// stored as six. Default `#2563EB`.
        sent as HexColor, in colours;

        /// Colour of elements beside the primary one, with six hexadecimal digits.
        secondary_color: String = "#64748B".into(),
        /// Colour of elements beside the primary one, as `#` and three or six hexadecimal digits.
        /// Three are stored as six. Default `#64748B`.
        sent as HexColor, in colours;

        /// Colour of the page's background, with six hexadecimal digits; null means the default
        /// white page.
        background_color: Option<String> = None,
        /// Colour of the page's background, as `#` and three or six hexadecimal digits. Three are
        /// stored as six. Null or left out on create: the default white page.
        sent as Option<HexColor>, in colours;

        /// Colour of the footer, with six hexadecimal digits.
        footer_color: String = "#F8FAFC".into(),
        /// Colour of the footer, as `#` and three or six hexadecimal digits. Three are stored as
        /// six. Default `#F8FAFC`.
        sent as HexColor, in colours;

        /// Address of the logo that is shown on dark headers.
        logo_white_url: Option<String> = None,
        /// Address of the logo for dark headers, an absolute http or https URL. `""` or null clears
        /// it.
        sent as Option<HttpUrlOrEmpty>, in links;

        /// Address of the host's Facebook page, linked in the footer.
        facebook_url: Option<String> = None,
        /// Address of the host's Facebook page, an absolute http or https URL. `""` or null clears
        /// it.
        sent as Option<HttpUrlOrEmpty>, in links;

        /// Address of the host's LinkedIn page, linked in the footer.
        linkedin_url: Option<String> = None,
        /// Address of the host's LinkedIn page, an absolute http or https URL. `""` or null clears
        /// it.
        sent as Option<HttpUrlOrEmpty>, in links after instagram_url;

        /// Address of the host's Instagram page, linked in the footer.
        instagram_url: Option<String> = None,
        /// Address of the host's Instagram page, an absolute http or https URL. `""` or null clears
        /// it.
        sent as Option<HttpUrlOrEmpty>, in links;

        /// Whether portals without a branding of their own use this branding. An organization has
        /// at most one default branding.
        is_default: bool = false,
        /// Whether portals with no branding of their own use this branding. `true` takes the flag
        /// from the current default branding. `false` on the default branding is a 409. Default
        /// `false`.
        sent as bool, by hand, in basics;

        /// Deprecated; always false.
        show_powered_by: bool = false,
        /// Deprecated: accepted, ignored, and always read as `false`.
        #[schemars(extend("deprecated" = true))]
        sent as Option<bool>, by hand;

        /// Id of the custom URL on whose domain guests find portals with this branding; null means
        /// the default domain.
        custom_url_id: Option<Uuid> = None,
        /// Id of the custom URL on whose domain guests find portals with this branding, as
        /// `listCustomUrls` gives it. The custom URL must have `isGuestPortal`. Null or left out on
        /// create: the default domain.
        #[schemars(extend("x-choices-from" = "listCustomUrls"))]
        sent as Option<Uuid>, in links after logo_white_url;

        /// Id of the translation of the callout, the message at the head of the portal.
        callout_message_id: Option<Uuid> = None,
        /// Id of a `portal_branding` translation: the message that guests see at the head of their
        /// portal. Null unlinks it. If `calloutMessage` is sent too, this id is ignored.
        #[schemars(extend(
            "x-text-source" = "portal_branding",
            "x-summary" = "The message that guests see at the head of their portal.",
        ))]
        sent as Option<Uuid>, in basics;

        /// Time of the last change.
        updated_at: Moment = Moment::default();
    }

    /// The writable fields of a branding.
    #[schemars(rename = "PortalBranding")]
    pub struct BrandingFields {
        /// Message that guests see at the head of their portal, in English, up to 2000 characters.
        /// It is translated in the background. Only a create accepts it; a blank text adds no
        /// message.
        callout_message: Option<Text2000>;
    }
}

impl Branding {
    /// Returns a branding with this id, this name and `now` as the time of its last change. All
    /// other fields have their default values.
    #[must_use]
    pub fn new(id: Uuid, name: String, now: Moment) -> Self {
        Self {
            id,
            name,
            updated_at: now,
            ..Self::default()
        }
    }
}

impl Creatable for BrandingFields {
    const REQUIRED: &'static [&'static str] = &["name"];
    const CREATE_ONLY: &'static [&'static str] = &["calloutMessage"];

    fn example() -> Value {
        json!({
            "name": "Casa Mar",
            "primaryColor": "#0E7490",
            "calloutMessage": "Welcome to Barcelona",
        })
    }
}

/// Returns the example of a branding in the OpenAPI document. The branding links a text as its
/// callout message.
fn example() -> Value {
    let [id, callout] =
        [0xab, 0xac].map(|last| Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_8900 + last));
    let branding = Branding::new(
        id,
        "Casa Mar".into(),
        Moment(Timestamp::constant(1_795_253_400, 0)),
    );
    json!(Branding {
        primary_color: "#0E7490".into(),
        callout_message_id: Some(callout),
        ..branding
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_link_is_cleared_and_a_short_colour_expanded() {
        let mut branding: Branding = serde_json::from_value(example()).unwrap();
        branding.facebook_url = Some("https://example.com".into());
        let sent = json!({
            "facebookUrl": "",
            "primaryColor": "#abC",
            "backgroundColor": null,
            "showPoweredBy": true,
        });
        serde_json::from_value::<BrandingFields>(sent)
            .unwrap()
            .apply(&mut branding);
        assert_eq!(
            (branding.facebook_url, branding.primary_color.as_str()),
            (None, "#aabbCC")
        );
        assert!(!branding.show_powered_by);
    }
}
