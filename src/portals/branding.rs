//! A branding: how the portals that use it look.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::field::{Creatable, Field, HexColor, HttpUrlOrEmpty, Name60, Text2000};
use crate::moment::Moment;

/// A portal branding, as it is stored and answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default, rename = "PortalBranding", example = example())]
pub struct Branding {
    /// Server-assigned.
    pub id: Uuid,
    /// Shown in portal headers; not unique.
    pub name: String,
    /// Internal label.
    pub nickname: Option<String>,
    /// Six-digit hex.
    pub text_color: String,
    /// Six-digit hex.
    pub primary_color: String,
    /// Six-digit hex.
    pub secondary_color: String,
    /// Six-digit hex; null means the default white page.
    pub background_color: Option<String>,
    /// Six-digit hex.
    pub footer_color: String,
    /// The logo for dark headers.
    pub logo_white_url: Option<String>,
    /// A link in the footer.
    pub facebook_url: Option<String>,
    /// A link in the footer.
    pub linkedin_url: Option<String>,
    /// A link in the footer.
    pub instagram_url: Option<String>,
    /// At most one in the organization.
    pub is_default: bool,
    /// Deprecated; always false.
    pub show_powered_by: bool,
    /// The domain the branding is served on; null means the default domain.
    pub custom_url_id: Option<Uuid>,
    /// Translation of the callout.
    pub callout_message_id: Option<Uuid>,
    /// When it last changed.
    pub updated_at: Moment,
}

/// What a document of another version lacks is as it is in a new branding.
impl Default for Branding {
    fn default() -> Self {
        Self::new(Uuid::nil(), String::new(), Moment::default())
    }
}

impl Branding {
    /// A branding as it is when nothing but its name is given.
    #[must_use]
    pub fn new(id: Uuid, name: String, now: Moment) -> Self {
        Self {
            id,
            name,
            nickname: None,
            text_color: "#1A1A1A".into(),
            primary_color: "#2563EB".into(),
            secondary_color: "#64748B".into(),
            background_color: None,
            footer_color: "#F8FAFC".into(),
            logo_white_url: None,
            facebook_url: None,
            linkedin_url: None,
            instagram_url: None,
            is_default: false,
            show_powered_by: false,
            custom_url_id: None,
            callout_message_id: None,
            updated_at: now,
        }
    }
}

/// The writable fields of a branding.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "PortalBranding")]
pub struct BrandingFields {
    /// Name shown in the header of the portals that use the branding, 1 to 60 characters and not blank. Several brandings may have the
    /// same.
    pub name: Field<Name60>,
    /// Internal label of the branding, 1 to 60 characters and not blank. It can be changed, not cleared.
    pub nickname: Field<Name60>,
    /// Colour of text, as `#` and three or six hexadecimal digits; three are stored as six. `#1A1A1A` where a create leaves it out.
    pub text_color: Field<HexColor>,
    /// Colour of buttons and accents, as `#` and three or six hexadecimal digits; three are stored as six. `#2563EB` where a create leaves
    /// it out.
    pub primary_color: Field<HexColor>,
    /// Colour of what stands beside the primary one, as `#` and three or six hexadecimal digits; three are stored as six. `#64748B` where a
    /// create leaves it out.
    pub secondary_color: Field<HexColor>,
    /// Colour of the page behind everything, as `#` and three or six hexadecimal digits; three are stored as six. Null or left out on
    /// create: the default white page.
    pub background_color: Field<Option<HexColor>>,
    /// Colour of the footer, as `#` and three or six hexadecimal digits; three are stored as six. `#F8FAFC` where a create leaves it out.
    pub footer_color: Field<HexColor>,
    /// Address of the logo for dark headers, an absolute http or https URL. `""` or null clears it.
    pub logo_white_url: Field<Option<HttpUrlOrEmpty>>,
    /// Address of the host's Facebook page, an absolute http or https URL. `""` or null clears it.
    pub facebook_url: Field<Option<HttpUrlOrEmpty>>,
    /// Address of the host's LinkedIn page, an absolute http or https URL. `""` or null clears it.
    pub linkedin_url: Field<Option<HttpUrlOrEmpty>>,
    /// Address of the host's Instagram page, an absolute http or https URL. `""` or null clears it.
    pub instagram_url: Field<Option<HttpUrlOrEmpty>>,
    /// Whether portals with no branding of their own use this one. `true` takes the flag from the branding that has it, `false` on the
    /// default branding is a 409; `false` on create.
    pub is_default: Field<bool>,
    /// Deprecated: accepted, ignored, and always read as `false`.
    pub show_powered_by: Field<Option<bool>>,
    /// Id of the custom URL whose domain the branding is served on, as `listCustomUrls` gives it; it must be a guest-portal URL. Null or
    /// left out on create: the default domain.
    pub custom_url_id: Field<Option<Uuid>>,
    /// Id of a `portal_branding` translation: the message that guests see at the head of their portal. Null unlinks it; where
    /// `calloutMessage` is sent too, that text wins.
    pub callout_message_id: Field<Option<Uuid>>,
    /// Message that guests see at the head of their portal, in English, up to 2000 characters; it is translated in the background. On
    /// create only; blank text says nothing.
    pub callout_message: Field<Option<Text2000>>,
}

impl Creatable for BrandingFields {
    const REQUIRED: &'static [&'static str] = &["name"];
    const CREATE_ONLY: &'static [&'static str] = &["calloutMessage"];

    fn example() -> Value {
        json!({ "name": "Casa Mar", "primaryColor": "#0E7490", "calloutMessage": "Welcome to Barcelona" })
    }
}

impl BrandingFields {
    /// Overwrites everything that was sent but `isDefault` and the callout's text, which concern more than this branding.
    pub fn apply(self, branding: &mut Branding) {
        let color = |sent: Field<HexColor>, target: &mut String| {
            if let Some(color) = sent.into_sent() {
                *target = color.expanded();
            }
        };
        let link = |sent: Field<Option<HttpUrlOrEmpty>>, target: &mut Option<String>| {
            if let Some(url) = sent.into_sent() {
                *target = url.map(|url| url.0).filter(|url| !url.is_empty());
            }
        };
        self.name.apply(&mut branding.name);
        if let Some(nickname) = self.nickname.into_sent() {
            branding.nickname = Some(nickname.0);
        }
        color(self.text_color, &mut branding.text_color);
        color(self.primary_color, &mut branding.primary_color);
        color(self.secondary_color, &mut branding.secondary_color);
        color(self.footer_color, &mut branding.footer_color);
        if let Some(background) = self.background_color.into_sent() {
            branding.background_color = background.map(HexColor::expanded);
        }
        link(self.logo_white_url, &mut branding.logo_white_url);
        link(self.facebook_url, &mut branding.facebook_url);
        link(self.linkedin_url, &mut branding.linkedin_url);
        link(self.instagram_url, &mut branding.instagram_url);
        self.custom_url_id.apply(&mut branding.custom_url_id);
        self.callout_message_id.apply(&mut branding.callout_message_id);
    }
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Mar", "nickname": null, "textColor": "#1A1A1A",
        "primaryColor": "#0E7490", "secondaryColor": "#64748B", "backgroundColor": null, "footerColor": "#F8FAFC",
        "logoWhiteUrl": null, "facebookUrl": null, "linkedinUrl": null, "instagramUrl": null, "isDefault": false,
        "showPoweredBy": false, "customUrlId": null, "calloutMessageId": "0192f0c1-2345-7abc-8def-0123456789ac",
        "updatedAt": "2026-11-21T09:30:00.000Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_link_clears_and_a_short_colour_grows() {
        let mut branding: Branding = serde_json::from_value(example()).unwrap();
        branding.facebook_url = Some("https://example.com".into());
        let sent = json!({ "facebookUrl": "", "primaryColor": "#abC", "backgroundColor": null, "showPoweredBy": true });
        serde_json::from_value::<BrandingFields>(sent).unwrap().apply(&mut branding);
        assert_eq!((branding.facebook_url, branding.primary_color.as_str()), (None, "#aabbCC"));
        assert!(!branding.show_powered_by);
    }
}
