//! Organizations and their settings.

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::{DEFAULT_COUNTRY, Settings};
use crate::context::{Context, System};
use crate::error::{Error, Result};
use crate::field::{Country, Label, Language};
use crate::format;
use crate::moment::Moment;
use crate::operation::{Operation, Touches};
use crate::translations;
use crate::values;

store::statements! {
    /// Creates an organization, or replaces its settings.
    PUT_ORGANIZATION = "insert into organization (id, revision, created_at, updated_at, doc) values (?1, ?4, ?2, ?2, ?3)
        on conflict (id) do update set updated_at = excluded.updated_at, doc = excluded.doc
        returning created_at, updated_at";
    /// When an organization was made and last changed.
    ORGANIZATION_TIMES = "select created_at, updated_at from organization where id = ?1";
}

/// The language every organization has.
const ENGLISH: &str = "en";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({ "name": "Casa Mar", "country": "ES", "languages": ["en", "es", "fr"] }))]
struct PutOrganization {
    organization_id: Uuid,
    name: Label,
    #[serde(default)]
    country: Option<Country>,
    #[serde(default)]
    languages: Option<Vec<Language>>,
    #[serde(default)]
    is_two_factor_required: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetOrganization {
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
}

/// An organization as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OrganizationView {
    id: Uuid,
    #[serde(flatten)]
    settings: Settings,
    created_at: Moment,
    updated_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("putOrganization", Method::PUT, "/organizations/{organizationId}")
            .summary("Create an organization, or replace its settings")
            .run_system(put),
        Operation::platform("getOrganization", Method::GET, "/organizations/{organizationId}").summary("Read an organization").run(get),
    ]
}

fn put(system: &mut System<'_, '_>, input: PutOrganization) -> Result<OrganizationView> {
    let settings = Settings {
        name: input.name.0,
        country: input.country.unwrap_or_else(|| Country(DEFAULT_COUNTRY.into())),
        languages: languages(input.languages.unwrap_or_default()),
        is_two_factor_required: input.is_two_factor_required.unwrap_or(false),
    };
    let before = system
        .lock(input.organization_id, Touches::Configuration)?
        .map(|before| before.organization.settings.languages)
        .unwrap_or_default();
    let doc = store::Value::json(&settings)?;
    let row = system.tx.row(&PUT_ORGANIZATION, &values![input.organization_id, system.now, doc, system.ids.step()])?;
    let row = row.ok_or_else(|| Error::internal("an upsert returned nothing"))?;
    translations::follow_languages(system, input.organization_id, &before, &settings.languages)?;
    Ok(OrganizationView { id: input.organization_id, settings, created_at: Moment(row.get(0)?), updated_at: Moment(row.get(1)?) })
}

fn get(context: &mut Context<'_, '_>, _: GetOrganization) -> Result<OrganizationView> {
    let row = context.row(&ORGANIZATION_TIMES, [])?.ok_or_else(|| Error::not_found("Organization"))?;
    let settings = context.organization.settings.clone();
    Ok(OrganizationView { id: context.organization.id, settings, created_at: Moment(row.get(0)?), updated_at: Moment(row.get(1)?) })
}

/// The languages in canonical case, each once, English among them.
fn languages(sent: Vec<Language>) -> Vec<String> {
    let mut languages = vec![ENGLISH.to_owned()];
    for tag in sent.iter().filter_map(|tag| format::language(tag)) {
        if !languages.contains(&tag) {
            languages.push(tag);
        }
    }
    languages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_always_a_language() {
        let tags = |texts: &[&str]| languages(texts.iter().map(|text| Language((*text).into())).collect());
        assert_eq!(tags(&[]), ["en"]);
        assert_eq!(tags(&["es", "PT-br", "es"]), ["en", "es", "pt-BR"]);
    }
}
