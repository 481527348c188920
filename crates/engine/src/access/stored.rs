//! Members, credentials and organizations, as they are stored.
//!
//! If a document was stored by another version of the program and lacks a field, the field has its
//! default. For credentials the default gives the fewest rights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Permission, Resource};
use crate::currency;
use crate::field::Country;
use crate::format::ENGLISH;
use crate::moment::Moment;

/// The country whose numbering plan applies to phone numbers without a country prefix, if an
/// organization has not set a country.
pub const DEFAULT_COUNTRY: &str = "US";

/// An organization, as it is loaded for every request.
#[derive(Debug, Clone)]
pub struct Organization {
    pub id: Uuid,
    pub settings: Settings,
}

/// The organization's settings.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Settings {
    /// The organization's name.
    pub name: String,
    /// The country whose numbering plan applies to phone numbers without a country prefix, and
    /// whose currency is the default.
    pub country: Country,
    /// The languages for guests; English is always included.
    pub languages: Vec<String>,
    /// Whether members must enrol in two-factor authentication.
    pub is_two_factor_required: bool,
    /// The maximum number of bytes of guests' stored files. Null: the limit of the service.
    pub upload_limit_bytes: Option<u64>,
    /// ISO 4217 code of the currency of amounts without a currency. Null: the currency of the
    /// country.
    pub currency: Option<String>,
    /// The time zone of flats that are added by hand without a time zone. Null: such a flat is
    /// refused.
    pub timezone: Option<String>,
}

impl Settings {
    /// Returns the currency of amounts that name no currency: the currency in the settings, or else
    /// the currency of the organization's country.
    #[must_use]
    pub fn currency(&self) -> &str {
        self.currency
            .as_deref()
            .unwrap_or_else(|| currency::of_country(&self.country))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            country: Country(DEFAULT_COUNTRY.into()),
            languages: vec![ENGLISH.into()],
            is_two_factor_required: false,
            upload_limit_bytes: None,
            currency: None,
            timezone: None,
        }
    }
}

/// An API key as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct ApiKey {
    /// The key's name.
    pub name: String,
    /// The permissions of the key.
    pub permissions: Vec<Permission>,
    /// When the key expires. Null: never.
    pub expires_at: Option<Moment>,
}

/// A member as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Member {
    /// The member's name.
    pub name: String,
    /// The member's mail address.
    pub email: String,
    /// The member's permissions. A token that acts for the member has no other permissions.
    pub permissions: Vec<Permission>,
    /// The properties that the member may access. Null: all properties.
    pub property_ids: Option<Vec<Uuid>>,
    /// Whether the member may use the service.
    pub is_active: bool,
    /// Whether the member has enrolled in two-factor authentication.
    pub is_two_factor_enrolled: bool,
}

impl Member {
    /// Returns the display name: the name, or the mail address if the name is empty.
    #[must_use]
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() {
            &self.email
        } else {
            &self.name
        }
    }
}

impl Default for Member {
    fn default() -> Self {
        Self {
            name: String::new(),
            email: String::new(),
            permissions: Vec::new(),
            property_ids: Some(Vec::new()),
            is_active: false,
            is_two_factor_enrolled: false,
        }
    }
}

/// An access token as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessToken {
    /// The permissions that were granted to the token. A permission applies only if the member has
    /// it too.
    pub permissions: Vec<Permission>,
    /// The only address for which the token is valid (the OAuth parameter `resource`); `None` means
    /// every address of the service.
    pub resource: Option<Resource>,
    /// When the token expires; `None` means never.
    pub expires_at: Option<Moment>,
}
