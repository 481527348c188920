//! Helpers for the demo's data: texts in three languages, and assignments.

use serde_json::{Value, json};

use super::{LocalCaller, Portfolio};

/// A text in English, Spanish and French.
pub(super) type DemoText = [&'static str; 3];

/// A target of an assignment: portals and flats by their index, districts and tags by their name.
pub(super) enum AssignmentTarget {
    Portal(usize),
    Flat(usize),
    District(&'static str),
    Tag(&'static str),
}

/// Creates the demo's data through the API.
pub(super) struct Maker<'m> {
    pub(super) api: &'m LocalCaller<'m>,
    pub(super) portfolio: &'m Portfolio,
    pub(super) portals: &'m [Value],
}

impl Maker<'_> {
    /// Creates a text in its three languages and returns its id.
    pub(super) async fn text(&self, source: &str, text: &DemoText) -> Result<Value, String> {
        let [english, ..] = text;
        let made = self
            .api
            .call(
                "createTranslation",
                &[],
                json!({ "sourceTable": source, "text": english }),
            )
            .await?;
        self.translate(&made["id"], text).await?;
        Ok(made["id"].clone())
    }

    /// Adds Spanish and French to an English text.
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

    /// Assigns an entity to these targets. Does nothing without targets.
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
        for property_scope in property_scope {
            let (field, id) = match property_scope {
                AssignmentTarget::Portal(place) => {
                    ("portalSettingsIds", portals.get(*place).map(|id| json!(id)))
                }
                AssignmentTarget::Flat(place) => (
                    "propertyIds",
                    portfolio.flats.get(*place).map(|id| json!(id)),
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
