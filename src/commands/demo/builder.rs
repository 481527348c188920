//! Functions with which `super::manuals` and `super::precheckin` create translated texts, and
//! assign manuals and steps to flats, districts, tags and portals.

use serde_json::{Value, json};

use super::{LocalCaller, Portfolio};

/// A text in English, Spanish and French.
pub(super) type DemoText = [&'static str; 3];

/// A target of an assignment: a portal or flat by its index, a district or tag by its name.
pub(super) enum AssignmentTarget {
    Portal(usize),
    Flat(usize),
    District(&'static str),
    Tag(&'static str),
}

/// Creates the demo's data through the API, for the listings in `portfolio` and for the given
/// portals.
pub(super) struct DemoBuilder<'m> {
    pub(super) api: &'m LocalCaller<'m>,
    pub(super) portfolio: &'m Portfolio,
    pub(super) portals: &'m [Value],
}

impl DemoBuilder<'_> {
    /// Creates a text in its three languages. Returns the id of the text.
    pub(super) async fn text(&self, source: &str, text: &DemoText) -> Result<Value, String> {
        let [english, ..] = text;
        let translation = self
            .api
            .call(
                "createTranslation",
                &[],
                json!({ "sourceTable": source, "text": english }),
            )
            .await?;
        self.translate(&translation["id"], text).await?;
        Ok(translation["id"].clone())
    }

    /// Adds the Spanish and French translations to an English text.
    pub(super) async fn translate(
        &self,
        id: &Value,
        [_, spanish, french]: &DemoText,
    ) -> Result<(), String> {
        let id = id.as_str().unwrap_or_default();
        for (language, text) in [("es", spanish), ("fr", french)] {
            self.api
                .call(
                    "setTranslationEntry",
                    &[("id", id), ("language", language)],
                    json!({ "text": text }),
                )
                .await?;
        }
        Ok(())
    }

    /// Assigns an entity, such as a manual or a step, to these targets. Does nothing without
    /// targets.
    pub(super) async fn assign(
        &self,
        entity_type: &str,
        entity: &Value,
        property_scope: &[AssignmentTarget],
    ) -> Result<(), String> {
        if property_scope.is_empty() {
            return Ok(());
        }
        let Self {
            portfolio, portals, ..
        } = self;
        let mut scopes = json!({ "entityType": entity_type, "entityId": entity });
        for target in property_scope {
            let (field, id) = match target {
                AssignmentTarget::Portal(index) => {
                    ("portalSettingsIds", portals.get(*index).map(|id| json!(id)))
                }
                AssignmentTarget::Flat(index) => (
                    "propertyIds",
                    portfolio.flats.get(*index).map(|id| json!(id)),
                ),
                AssignmentTarget::District(name) => (
                    "propertyGroupIds",
                    portfolio.districts.get(*name).map(|id| json!(id)),
                ),
                AssignmentTarget::Tag(name) => {
                    ("tagIds", portfolio.tags.get(*name).map(|id| json!(id)))
                }
            };
            let id = id.ok_or_else(|| {
                format!(
                    "a {entity_type} of the demo is assigned to something that is not in {field}"
                )
            })?;
            match scopes[field].as_array_mut() {
                Some(ids) => ids.push(id),
                None => scopes[field] = json!([id]),
            }
        }
        self.api
            .call("addEntityScopes", &[], scopes)
            .await
            .map(drop)
    }
}
