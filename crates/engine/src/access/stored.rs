//! What credentials and their organization are, as they are stored.
//!
//! What a document of another version lacks reads as its default. Of a credential that is what gives the least.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Permission, Resource};
use crate::field::Country;
use crate::format::ENGLISH;
use crate::moment::Moment;

/// The region assumed for phone numbers where an organization names none.
pub const DEFAULT_COUNTRY: &str = "US";

/// An organization as every request knows it.
#[derive(Debug, Clone)]
pub struct Organization {
    /// Which one.
    pub id: Uuid,
    /// What it has set.
    pub settings: Settings,
}

/// What an organization has set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Settings {
    /// The organization's name.
    pub name: String,
    /// The region assumed for phone numbers without a prefix.
    pub country: Country,
    /// The languages guests are addressed in; English is always one.
    pub languages: Vec<String>,
    /// Whether members must have enrolled in two-factor authentication.
    pub is_two_factor_required: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            country: Country(DEFAULT_COUNTRY.into()),
            languages: vec![ENGLISH.into()],
            is_two_factor_required: false,
        }
    }
}

/// An API key as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct ApiKey {
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub permissions: Vec<Permission>,
    /// When it stops working by itself.
    pub expires_at: Option<Moment>,
}

/// A member as they are stored.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Member {
    /// The member's name.
    pub name: String,
    /// The member's mail address.
    pub email: String,
    /// What they may do, and so what a token of theirs may do at the most.
    pub permissions: Vec<Permission>,
    /// The properties they reach; null is every property.
    pub property_ids: Option<Vec<Uuid>>,
    /// Whether they may do anything at all.
    pub is_active: bool,
    /// Whether they have enrolled in two-factor authentication.
    pub is_two_factor_enrolled: bool,
}

impl Member {
    /// What people call them: by their name, and where that is blank by their address.
    #[must_use]
    pub fn called(&self) -> &str {
        if self.name.is_empty() { &self.email } else { &self.name }
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
    /// What it grants, as far as the member holds it.
    pub permissions: Vec<Permission>,
    /// The one resource that it is good at; both where it names none.
    pub resource: Option<Resource>,
    /// When it stops working by itself.
    pub expires_at: Option<Moment>,
}
