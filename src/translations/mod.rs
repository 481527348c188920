//! Guest-facing texts: one translation record each, one entry a language.
//!
//! A text is written in English and translated by machine into the organization's other languages. A write leaves jobs in
//! the queue, in its own transaction; the translator claims them once that is committed, asks the provider, and writes what
//! came back, unless the text has changed in between.

mod audited;
mod erased;
mod fallback;
mod operations;
mod provider;
mod queue;
mod retry;
mod shown;
mod uses;
mod worker;

use std::collections::{BTreeSet, HashMap, HashSet};

use engine::chapter::Chapter;
use engine::context::Context;
use engine::error::Result;
use engine::kit::Bell;
use engine::moment::Moment;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Row;
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

pub use fallback::pick;
pub(crate) use queue::follow_languages;
pub(crate) use uses::{Form, LONGEST, Link, News, Shows, Writer, Writing, note_links, wrong_links};
pub use worker::Translator;

/// Rings when there is something to translate.
pub const TO_TRANSLATE: Bell = Bell("translations");

store::statements! {
    /// A new translation.
    INSERT = "insert into translation (organization_id, id, source_table, created_at, updated_at) values (?1, ?2, ?3, ?4, ?4)";
    /// Writes a text in one language.
    PUT_ENTRY = "insert into translation_entry (organization_id, translation_id, language, text, is_machine_translated, updated_at)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, translation_id, language) do update set text = excluded.text,
        is_machine_translated = excluded.is_machine_translated, updated_at = excluded.updated_at";
    /// Takes back a text in one language.
    DELETE_ENTRY = "delete from translation_entry where organization_id = ?1 and translation_id = ?2 and language = ?3";
    /// Removes a translation with its texts and whatever is queued for them.
    DELETE = "delete from translation where organization_id = ?1 and id = ?2";
    /// Notes that a translation changed.
    TOUCH = "update translation set updated_at = ?3 where organization_id = ?1 and id = ?2";
    /// The texts of a translation.
    ENTRIES = "select language, text, is_machine_translated, updated_at from translation_entry where organization_id = ?1 and translation_id = ?2";
    /// The texts of several translations in one language.
    IN_LANGUAGE = "select translation_id, text from translation_entry
        where organization_id = ?1 and translation_id = any(?2) and language = ?3";
    /// The texts of several translations.
    TEXTS = "select translation_id, language, text, is_machine_translated from translation_entry
        where organization_id = ?1 and translation_id = any(?2)";
}

/// Texts.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || [operations::operations(), shown::operations()].into_iter().flatten().collect(),
    statements: || [STATEMENTS, queue::STATEMENTS, shown::STATEMENTS, uses::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    subjects: &[("translations", "Texts in every language that guests are addressed in.")],
    ..Chapter::new("translations")
};

/// The language a text is written in before it is translated.
pub use engine::format::ENGLISH;

/// Whether a language is English, of whatever region (contract: Steps).
#[must_use]
pub fn is_english(language: &str) -> bool {
    language.split('-').next() == Some(ENGLISH)
}

/// What a translation is of: a resource may only link texts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, AsRefStr, EnumString, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum SourceTable {
    PrecheckStepDetail,
    PrecheckQuestion,
    Manual,
    ManualCategory,
    PortalSettings,
    PortalBranding,
}

/// A text in one language.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Entry {
    language: String,
    text: String,
    is_machine_translated: bool,
    updated_at: Moment,
}

impl Entry {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self { language: row.get(0)?, text: row.get(1)?, is_machine_translated: row.get(2)?, updated_at: Moment(row.get(3)?) })
    }
}

/// What a change of a text's English means for its other languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// All are translated anew, those written by hand too (spec: portals, Copy rules).
    Replace,
    /// Those that are missing or a machine's are translated anew.
    Renew,
    /// None is.
    Keep,
}

/// Makes a translation with its first text. An English one is queued for the organization's other languages.
pub(crate) fn create(context: &mut Context<'_, '_>, source: SourceTable, language: &str, text: &str) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    context.execute_along(&INSERT, values![id, source.as_ref(), now])?;
    context.execute_along(&PUT_ENTRY, values![id, language, text, false, now])?;
    if language == ENGLISH {
        let languages = to_translate(&context.organization.settings.languages, &[], Others::Renew);
        queue::enqueue(context, id, &languages, false)?;
    }
    Ok(id)
}

/// Writes a text by hand in one language; the text that is there already, written by hand, changes nothing. For who knows
/// that nothing else shows the text; [`Writing`] is for the others.
///
/// A new English text is queued for the languages that `others` says. In any other language, what is queued for it or under
/// way is dropped: a translation of an older text never replaces what is written now.
pub(crate) fn put(context: &mut Context<'_, '_>, id: Uuid, language: &str, text: &str, others: Others) -> Result<()> {
    let entries = entries(context, id)?;
    let stored = entries.iter().find(|entry| entry.language == language);
    if language != ENGLISH {
        queue::cancel(context, id, language)?;
    }
    if stored.is_some_and(|stored| stored.text == text && !stored.is_machine_translated) {
        return Ok(());
    }
    write(context, id, language, text, false, stored)?;
    if language == ENGLISH {
        let languages = to_translate(&context.organization.settings.languages, &entries, others);
        queue::enqueue(context, id, &languages, others == Others::Replace)?;
    }
    Ok(())
}

/// Writes a text in one language, in the place of what is stored in it.
fn write(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: &str,
    text: &str,
    is_machine_translated: bool,
    stored: Option<&Entry>,
) -> Result<()> {
    let now = context.now();
    let updated_at = stored.map_or(Moment(now), |stored| stored.updated_at.advanced_to(now));
    context.execute_along(&PUT_ENTRY, values![id, language, text, is_machine_translated, updated_at])?;
    context.execute_along(&TOUCH, values![id, now])
}

/// Takes back a text in one language.
fn take_back(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<()> {
    let now = context.now();
    context.execute_along(&DELETE_ENTRY, values![id, language])?;
    context.execute_along(&TOUCH, values![id, now])
}

/// The languages that an English text is translated into: the organization's and those it is in already, as far as `others`
/// lets them change.
fn to_translate(languages: &[String], entries: &[Entry], others: Others) -> BTreeSet<String> {
    let is_kept = |language: &str| match others {
        Others::Replace => false,
        Others::Renew => entries.iter().any(|entry| entry.language == language && !entry.is_machine_translated),
        Others::Keep => true,
    };
    let all = languages.iter().chain(entries.iter().map(|entry| &entry.language));
    all.filter(|language| language.as_str() != ENGLISH && !is_kept(language)).cloned().collect()
}

/// A text in every language it has.
fn entries(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<Entry>> {
    context.rows(&ENTRIES, values![id])?.iter().map(Entry::from_row).collect()
}

/// A text in every language it has: language and text.
pub(crate) fn versions(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<(String, String)>> {
    Ok(entries(context, id)?.into_iter().map(|entry| (entry.language, entry.text)).collect())
}

/// The text of a translation in this very language.
pub(crate) fn written(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<Option<String>> {
    let entry = entries(context, id)?.into_iter().find(|entry| entry.language == language);
    Ok(entry.map(|entry| entry.text))
}

/// The texts of several translations in this very language.
pub(crate) fn all_written(context: &mut Context<'_, '_>, ids: Vec<Uuid>, language: &str) -> Result<HashMap<Uuid, String>> {
    let rows = context.rows(&IN_LANGUAGE, values![ids, language])?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Whether no language but English was written by hand.
pub(crate) fn are_others_machine_made(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    Ok(entries(context, id)?.iter().all(|entry| entry.language == ENGLISH || entry.is_machine_translated))
}

/// Removes a translation with all of its texts.
pub(crate) fn delete(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    context.execute_along(&DELETE, values![id])
}

/// The texts of several translations, each in the language asked for or the nearest there is.
pub(crate) fn texts(context: &mut Context<'_, '_>, ids: impl IntoIterator<Item = Uuid>, language: &str) -> Result<Texts> {
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let mut entries = HashMap::<Uuid, Vec<(String, Version)>>::new();
    if !ids.is_empty() {
        for row in context.rows(&TEXTS, values![ids])? {
            entries.entry(row.get(0)?).or_default().push((row.get(1)?, Version { text: row.get(2)?, is_machine_translated: row.get(3)? }));
        }
    }
    let picked = entries.into_iter().filter_map(|(id, entries)| Some((id, pick(language, entries)?)));
    Ok(Texts(picked.collect()))
}

/// A text, and whether a machine made it.
#[derive(Serialize)]
struct Version {
    text: String,
    is_machine_translated: bool,
}

/// Texts in a guest's language, or in the nearest there is, each with the language that it is in, by translation.
#[derive(Serialize)]
pub(crate) struct Texts(HashMap<Uuid, (String, Version)>);

impl Texts {
    /// The text of a translation, where it has any.
    pub(crate) fn of(&self, id: Option<Uuid>) -> Option<String> {
        self.0.get(&id?).map(|(_, version)| version.text.clone())
    }

    /// The language that the text of a translation is in, where it has any.
    pub(crate) fn language_of(&self, id: Uuid) -> Option<&str> {
        self.0.get(&id).map(|(language, _)| language.as_str())
    }

    /// Whether a machine made the text of a translation.
    fn is_machine_translated(&self, id: Uuid) -> bool {
        self.0.get(&id).is_some_and(|(_, version)| version.is_machine_translated)
    }

    /// With texts of a language that nobody has saved.
    pub(crate) fn extend(&mut self, texts: impl IntoIterator<Item = (Uuid, String)>, language: &str) {
        let version = |text| (language.to_owned(), Version { text, is_machine_translated: false });
        self.0.extend(texts.into_iter().map(|(id, text)| (id, version(text))));
    }

    /// Keeps these texts only.
    pub(crate) fn retain(&mut self, ids: &HashSet<Uuid>) {
        self.0.retain(|id, _| ids.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_new_english_text_is_translated_into() {
        let entry = |language: &str, is_machine_translated| Entry {
            language: language.into(),
            text: "text".into(),
            is_machine_translated,
            updated_at: Moment("2026-11-21T09:30:00Z".parse().unwrap()),
        };
        let entries = [entry("en", false), entry("es", true), entry("fr", false), entry("pt-BR", false), entry("it", true)];
        let languages = ["en", "es", "fr", "de"].map(String::from);
        let wanted = |others| to_translate(&languages, &entries, others).into_iter().collect::<Vec<_>>();
        assert_eq!(wanted(Others::Replace), ["de", "es", "fr", "it", "pt-BR"]);
        assert_eq!(wanted(Others::Renew), ["de", "es", "it"]);
        assert!(wanted(Others::Keep).is_empty());
        assert_eq!(to_translate(&languages, &[], Others::Renew).len(), 3);
    }
}
