//! Unsaved settings of a portal and of its branding, which a preview shows instead of the saved
//! settings.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;

use engine::field::Field;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::portals::{Branding, BrandingFields, Portal, PortalFields};

/// Fields of a resource, stored as the client sent them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DraftFields<T>(Value, #[serde(skip)] PhantomData<T>);

impl<T: JsonSchema> JsonSchema for DraftFields<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<FieldsSchema<T>>()
    }
}

/// The schema of a resource's fields under a name that ends in `Draft`. The published documents
/// already contain a schema of the same resource under the name without `Draft`.
struct FieldsSchema<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for FieldsSchema<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Draft", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: DeserializeOwned + Default> DraftFields<T> {
    /// Parses the fields. Returns the default value if they do not parse, because another version
    /// of the service may have stored them.
    fn fields(&self) -> T {
        T::deserialize(&self.0).unwrap_or_default()
    }
}

/// The unsaved settings of a preview.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PreviewDraft {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portal: Option<DraftFields<PortalFields>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branding: Option<DraftFields<BrandingFields>>,
}

/// Ids of the texts in a draft. No translation has these ids.
const TITLE: Uuid = Uuid::from_u128(1);
const TYPE: Uuid = Uuid::from_u128(2);
const CALL: Uuid = Uuid::from_u128(3);
const PROMPT: Uuid = Uuid::from_u128(4);
const CALLOUT: Uuid = Uuid::from_u128(5);

/// The state of a text field in a draft.
enum DraftText {
    Absent,
    Null,
    Text(String),
}

impl DraftText {
    /// Reads a field. An empty text is treated like a field that was not sent.
    fn of<T: Deref<Target = str>>(field: &Field<Option<T>>) -> Self {
        match field.sent() {
            None => Self::Absent,
            Some(None) => Self::Null,
            Some(Some(text)) if text.is_empty() => Self::Absent,
            Some(Some(text)) => Self::Text((**text).to_owned()),
        }
    }

    /// Changes `link`, the id of the translation that a resource shows, by this field of the draft.
    /// A text sets `link` to `id`, null sets it to `None`, and a field that was not sent leaves it
    /// unchanged.
    fn link(&self, link: &mut Option<Uuid>, id: Uuid) {
        match self {
            Self::Absent => {}
            Self::Null => *link = None,
            Self::Text(_) => *link = Some(id),
        }
    }

    fn text(self) -> Option<String> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }
}

impl PreviewDraft {
    pub fn is_empty(&self) -> bool {
        self.portal.is_none() && self.branding.is_none()
    }

    /// Returns the branding that the draft selects for the portal.
    pub fn branding_id(&self) -> Option<Uuid> {
        self.portal.as_ref()?.fields().branding_id.into_sent()?
    }

    /// Applies the draft's settings to a portal, and lets the portal refer to the draft's texts.
    pub fn apply_to_portal(&self, portal: &mut Portal) {
        let Some(sent_fields) = &self.portal else {
            return;
        };
        let fields = sent_fields.fields();
        DraftText::of(&fields.special_offer_title).link(&mut portal.special_offer_title_id, TITLE);
        DraftText::of(&fields.special_offer_type).link(&mut portal.special_offer_type_id, TYPE);
        DraftText::of(&fields.special_offer_cta_text)
            .link(&mut portal.special_offer_cta_text_id, CALL);
        DraftText::of(&fields.precheckin_prompt_message)
            .link(&mut portal.precheckin_prompt_message_id, PROMPT);
        fields.apply(portal);
    }

    /// Applies the draft's settings to a branding. If the draft has a callout message, the
    /// branding's `callout_message_id` becomes the id of the draft's message.
    pub fn apply_to_branding(&self, branding: Option<&mut Branding>) {
        let (Some(sent_fields), Some(branding)) = (&self.branding, branding) else {
            return;
        };
        let fields = sent_fields.fields();
        let callout = DraftText::of(&fields.callout_message);
        fields.apply(branding);
        callout.link(&mut branding.callout_message_id, CALLOUT);
    }

    /// Lists the texts of the draft, each with the id by which a field refers to it.
    pub fn texts(&self) -> impl Iterator<Item = (Uuid, String)> {
        let portal = self
            .portal
            .as_ref()
            .map(DraftFields::fields)
            .unwrap_or_default();
        let branding = self
            .branding
            .as_ref()
            .map(DraftFields::fields)
            .unwrap_or_default();
        let all = [
            (TITLE, DraftText::of(&portal.special_offer_title)),
            (TYPE, DraftText::of(&portal.special_offer_type)),
            (CALL, DraftText::of(&portal.special_offer_cta_text)),
            (PROMPT, DraftText::of(&portal.precheckin_prompt_message)),
            (CALLOUT, DraftText::of(&branding.callout_message)),
        ];
        all.into_iter()
            .filter_map(|(id, text)| Some((id, text.text()?)))
    }
}
