//! Guest-facing texts: one translation record each, one entry a language.

mod fallback;
mod operations;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use fallback::pick;
pub(crate) use operations::operations;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::values;

store::statements! {
    /// A new translation.
    INSERT = "insert into translation (organization_id, id, source_table, created_at, updated_at) values (?1, ?2, ?3, ?4, ?4)";
    /// What a translation is of.
    TRANSLATION = "select source_table from translation where organization_id = ?1 and id = ?2";
    /// Writes a text in one language.
    PUT_ENTRY = "insert into translation_entry (organization_id, translation_id, language, text, is_machine_translated, updated_at)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, translation_id, language) do update set text = excluded.text,
        is_machine_translated = excluded.is_machine_translated, updated_at = excluded.updated_at";
    /// Notes that a translation changed.
    TOUCH = "update translation set updated_at = ?3 where organization_id = ?1 and id = ?2";
    /// The texts of a translation.
    ENTRIES = "select language, text, is_machine_translated, updated_at from translation_entry where organization_id = ?1 and translation_id = ?2";
    /// The texts of several translations.
    TEXTS = "select translation_id, language, text from translation_entry where organization_id = ?1 and translation_id = any(?2)";
}

pub(crate) fn statements() -> Vec<&'static store::Statement> {
    STATEMENTS.to_vec()
}

/// The language a text is written in before it is translated.
pub const ENGLISH: &str = "en";

/// What a translation is of: a resource may only link texts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum SourceTable {
    PrecheckStepDetail,
    PrecheckQuestion,
    Manual,
    ManualCategory,
    PortalSettings,
    PortalBranding,
}

impl SourceTable {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrecheckStepDetail => "precheck_step_detail",
            Self::PrecheckQuestion => "precheck_question",
            Self::Manual => "manual",
            Self::ManualCategory => "manual_category",
            Self::PortalSettings => "portal_settings",
            Self::PortalBranding => "portal_branding",
        }
    }
}

/// Makes a translation with its first text.
pub(crate) fn create(context: &mut Context<'_, '_>, source: SourceTable, language: &str, text: &str) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    context.execute(&INSERT, values![id, source.name(), now])?;
    put(context, id, language, text)?;
    Ok(id)
}

/// Writes a text by hand in one language.
pub(crate) fn put(context: &mut Context<'_, '_>, id: Uuid, language: &str, text: &str) -> Result<()> {
    let now = context.now();
    context.execute(&PUT_ENTRY, values![id, language, text, false, now])?;
    context.execute(&TOUCH, values![id, now]).map(drop)
}

/// The English text of a translation.
pub(crate) fn english(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<String>> {
    for row in context.rows(&ENTRIES, values![id])? {
        if row.get::<String>(0)? == ENGLISH {
            return Ok(Some(row.get(1)?));
        }
    }
    Ok(None)
}

/// 404 for a translation that is not there, 400 at `path` for one of another source table.
pub(crate) fn check_link(context: &mut Context<'_, '_>, id: Uuid, source: SourceTable, path: &[&str]) -> Result<()> {
    let row = context.row(&TRANSLATION, values![id])?.ok_or_else(|| Error::not_found("Translation"))?;
    if row.get::<String>(0)? == source.name() {
        return Ok(());
    }
    Err(Error::invalid(path, format!("is not a {} translation", source.name())))
}

/// The texts of several translations, each in the language asked for or the nearest there is.
pub(crate) fn texts(context: &mut Context<'_, '_>, ids: impl IntoIterator<Item = Uuid>, language: &str) -> Result<Texts> {
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let mut entries = std::collections::HashMap::<Uuid, Vec<(String, String)>>::new();
    if !ids.is_empty() {
        for row in context.rows(&TEXTS, values![ids])? {
            entries.entry(row.get(0)?).or_default().push((row.get(1)?, row.get(2)?));
        }
    }
    let picked = entries.into_iter().filter_map(|(id, entries)| pick(language, entries).map(|text| (id, text)));
    Ok(Texts(picked.collect()))
}

/// Texts in a guest's language, by translation.
pub(crate) struct Texts(std::collections::HashMap<Uuid, String>);

impl Texts {
    /// The text of a translation, where it has any.
    pub(crate) fn of(&self, id: Option<Uuid>) -> Option<String> {
        self.0.get(&id?).cloned()
    }
}
