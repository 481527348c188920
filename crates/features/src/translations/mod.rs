//! Guest-facing texts. Each text is one translation record with one entry for each language.
//! `uses.rs` checks every write of a text against the resources that show it, and `placeholders.rs`
//! finds placeholders in texts.
//!
//! Texts are written in English and translated by machine into the organization's other languages.
//! A write of an English text queues one translation job for each other language, in the same
//! transaction (`queue.rs`). After the commit, the translator (`worker.rs`) claims the jobs, calls
//! the provider (`provider.rs`) outside of any transaction, and writes the translations. A
//! translation never overwrites a newer text. It overwrites a hand-written text only if the write
//! of the English text required this ([`OtherLanguages::Replace`]).

mod audited;
mod erased;
mod fallback;
mod operations;
mod placeholders;
mod provider;
mod queue;
mod retry;
mod text_uses;
mod uses;
mod worker;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engine::app_state::WakeSignal;
use engine::context::Context;
use engine::error::Result;
use engine::field::TextsByLanguage;
use engine::module::Module;
use engine::moment::Moment;
use engine::values;
use schemars::JsonSchema;
use serde::Serialize;
use store::Row;
use uuid::Uuid;

pub use fallback::{TextLanguages, pick};
pub use operations::{LIST_TRANSLATION_ENTRIES, LIST_TRANSLATION_VERSIONS, LIST_TRANSLATIONS};
pub use placeholders::StayValue;
pub(crate) use placeholders::{
    Placeholder, TextPiece, check_placeholders, custom_fields, has_placeholders, pieces,
    unknown_placeholder,
};
pub use queue::bring_forward;
pub(crate) use queue::follow_languages;
pub use text_uses::{LIST_SHOWN_TEXTS, ShownText};
pub use uses::TextRules;
pub(crate) use uses::{
    CheckedText, MAX_TEXT_LENGTH, TextChange, TextForm, TextLink, TextWriter, check_readable,
    save_links, wrong_links,
};
pub use worker::Translator;

/// The wake signal that is sent when translation jobs are queued.
pub const TO_TRANSLATE: WakeSignal = WakeSignal("translations");

store::statements! {
    /// Inserts a translation.
    INSERT = "insert into translation (organization_id, id, source_table, created_at, updated_at)
        values (?1, ?2, ?3, ?4, ?4)";
    /// Writes a text in one language.
    PUT_ENTRY = "insert into translation_entry
        (organization_id, translation_id, language, text, is_machine_translated, updated_at)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (organization_id, translation_id, language) do update set text = excluded.text,
        is_machine_translated = excluded.is_machine_translated, updated_at = excluded.updated_at";
    /// Deletes the text that a translation has in one language.
    DELETE_ENTRY = "delete from translation_entry where organization_id = ?1 and translation_id = ?2
        and language = ?3";
    /// Deletes a translation. Foreign keys delete its texts and its queued jobs, too.
    DELETE = "delete from translation where organization_id = ?1 and id = ?2";
    /// Sets the time of the last change of a translation.
    TOUCH = "update translation set updated_at = ?3 where organization_id = ?1 and id = ?2";
    /// Selects the texts of a translation.
    ENTRIES = "select language, text, is_machine_translated, updated_at from translation_entry
        where organization_id = ?1 and translation_id = ?2";
    /// Selects the texts of several translations in one language.
    IN_LANGUAGE = "select translation_id, text from translation_entry
        where organization_id = ?1 and translation_id = any(?2) and language = ?3";
    /// Selects the texts of the given translations, in all languages.
    TEXTS = "select translation_id, language, text, is_machine_translated, updated_at
        from translation_entry
        where organization_id = ?1 and translation_id = any(?2)";
    /// For each of the given texts: selects the languages in which the text is older than its
    /// English version.
    OUTDATED = "select e.translation_id, e.language from translation_entry e
        join translation_entry s
        on s.organization_id = e.organization_id and s.translation_id = e.translation_id
        and s.language = 'en'
        where e.organization_id = ?1 and s.organization_id = ?1 and e.translation_id = any(?2)
        and e.updated_at < s.updated_at
        order by e.language";
}

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        [operations::operations(), text_uses::operations()]
            .into_iter()
            .flatten()
            .collect()
    },
    statements: || {
        [
            STATEMENTS,
            queue::STATEMENTS,
            text_uses::STATEMENTS,
            uses::STATEMENTS,
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    subjects: &[(
        "translations",
        "Texts in every language that guests are addressed in.",
    )],
    ..Module::new("translations")
};

/// The language that texts are translated from.
pub use engine::format::ENGLISH;

/// Returns whether a language is English, of any region (rules: steps#titles).
#[must_use]
pub fn is_english(language: &str) -> bool {
    language.split('-').next() == Some(ENGLISH)
}

engine::stored_enum! {
    /// Kind of resource that a text belongs to. Resources of other kinds cannot link the text.
    #[derive(PartialOrd, Ord)]
    pub enum SourceTable {
        PrecheckStepDetail,
        PrecheckQuestion,
        Manual,
        ManualCategory,
        PortalSettings,
        PortalBranding,
    }
}

/// A text in one language.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TranslationEntry {
    pub language: String,
    pub text: String,
    pub is_machine_translated: bool,
    /// Whether the English text has changed since this text was written.
    pub is_outdated: bool,
    updated_at: Moment,
}

impl TranslationEntry {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            language: row.get(0)?,
            text: row.get(1)?,
            is_machine_translated: row.get(2)?,
            is_outdated: false,
            updated_at: Moment(row.get(3)?),
        })
    }
}

impl TranslationEntry {
    /// Returns whether this version has the given text, was written by hand, and is not older than
    /// the English version.
    fn is_written(&self, text: &str) -> bool {
        self.text == text && !self.is_machine_translated && !self.is_outdated
    }
}

/// Marks those versions of a text as outdated that are older than its English version.
fn mark_outdated(entries: &mut [TranslationEntry]) {
    let english = entries
        .iter()
        .find(|entry| entry.language == ENGLISH)
        .map(|entry| entry.updated_at);
    for entry in entries {
        entry.is_outdated = english.is_some_and(|english| entry.updated_at < english);
    }
}

/// The effect of a new English text on the other languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherLanguages {
    /// The versions in all other languages are translated again, even those that were written by
    /// hand (rules: portals#copy).
    Replace,
    /// Missing versions are translated, and machine-translated versions are translated again.
    /// Versions that were written by hand stay.
    Renew,
    /// The other languages keep their texts, and missing languages stay missing.
    Keep,
}

/// Creates a translation with its first text. An English text is queued for translation into the
/// organization's other languages.
pub(crate) fn create(
    context: &mut Context<'_, '_>,
    source: SourceTable,
    language: &str,
    text: &str,
) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    context.execute_deferred(&INSERT, values![id, source.as_ref(), now])?;
    context.execute_deferred(&PUT_ENTRY, values![id, language, text, false, now])?;
    if language == ENGLISH {
        let languages = to_translate(
            &context.organization.settings.languages,
            &[],
            OtherLanguages::Renew,
        );
        queue::enqueue(context, id, &languages, false)?;
    }
    Ok(id)
}

/// Creates a translation from texts by language tag. An English text is queued for translation into
/// those languages of the organization for which no text is given.
pub(crate) fn create_in(
    context: &mut Context<'_, '_>,
    source: SourceTable,
    texts: &TextsByLanguage,
) -> Result<Uuid> {
    let (id, now) = (context.new_id(), context.now());
    context.execute_deferred(&INSERT, values![id, source.as_ref(), now])?;
    let texts: BTreeMap<String, &str> = texts
        .0
        .iter()
        .filter_map(|(tag, text)| Some((engine::format::language(tag)?, text.as_str())))
        .collect();
    for (language, text) in &texts {
        context.execute_deferred(
            &PUT_ENTRY,
            values![id, language.as_str(), *text, false, now],
        )?;
    }
    if texts.contains_key(ENGLISH) {
        let missing: BTreeSet<String> = to_translate(
            &context.organization.settings.languages,
            &[],
            OtherLanguages::Renew,
        )
        .into_iter()
        .filter(|language| !texts.contains_key(language))
        .collect();
        queue::enqueue(context, id, &missing, false)?;
    }
    Ok(id)
}

/// Writes a hand-written text in one language. Nothing changes if the same hand-written text is
/// stored already and the English text has not changed since. Call this only if no other resource
/// than the one that is written shows the text. Otherwise use [`CheckedText`].
///
/// A new English text is queued for translation into the languages that `others` selects. A text in
/// another language cancels the queued or running translation into that language, so a translation
/// of an older text never replaces the new text.
pub(crate) fn put(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: &str,
    text: &str,
    others: OtherLanguages,
) -> Result<()> {
    let entries = entries(context, id)?;
    let stored = entries.iter().find(|entry| entry.language == language);
    if language != ENGLISH {
        queue::cancel(context, id, language)?;
    }
    if stored.is_some_and(|stored| stored.is_written(text)) {
        return Ok(());
    }
    write(context, id, language, text, false, &entries)?;
    if language == ENGLISH {
        let languages = to_translate(&context.organization.settings.languages, &entries, others);
        queue::enqueue(context, id, &languages, others == OtherLanguages::Replace)?;
    }
    Ok(())
}

/// Writes a text in one language and replaces the stored version. An English text gets a later
/// timestamp than all stored versions. Any other text gets a timestamp that is not before the
/// timestamp of the English text.
fn write(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: &str,
    text: &str,
    is_machine_translated: bool,
    entries: &[TranslationEntry],
) -> Result<()> {
    let now = context.now();
    let since = |language: &str| {
        let entry = entries.iter().find(|entry| entry.language == language)?;
        Some(entry.updated_at)
    };
    let before = if language == ENGLISH {
        entries.iter().map(|entry| entry.updated_at).max()
    } else {
        since(language)
    };
    let updated_at = before.map_or(Moment(now), |before| before.advanced_to(now));
    let updated_at = since(ENGLISH).map_or(updated_at, |english| updated_at.max(english));
    context.execute_deferred(
        &PUT_ENTRY,
        values![id, language, text, is_machine_translated, updated_at],
    )?;
    context.execute_deferred(&TOUCH, values![id, now])
}

/// Deletes the version of a text in one language, and updates the time of the text's last change.
fn delete_entry(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<()> {
    let now = context.now();
    context.execute_deferred(&DELETE_ENTRY, values![id, language])?;
    context.execute_deferred(&TOUCH, values![id, now])
}

/// Returns the languages into which the English version of a text is translated. The candidates are
/// the languages other than English that the organization has, or in which the text has a version.
/// `Replace` returns all candidates, `Renew` leaves out those with a version written by hand, and
/// `Keep` returns none.
fn to_translate(
    languages: &[String],
    entries: &[TranslationEntry],
    others: OtherLanguages,
) -> BTreeSet<String> {
    let is_kept = |language: &str| match others {
        OtherLanguages::Replace => false,
        OtherLanguages::Renew => entries
            .iter()
            .any(|entry| entry.language == language && !entry.is_machine_translated),
        OtherLanguages::Keep => true,
    };
    let all = languages
        .iter()
        .chain(entries.iter().map(|entry| &entry.language));
    all.filter(|language| language.as_str() != ENGLISH && !is_kept(language))
        .cloned()
        .collect()
}

/// Returns all versions of a text.
fn entries(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<TranslationEntry>> {
    let rows = context.rows(&ENTRIES, values![id])?;
    let mut entries = rows
        .iter()
        .map(TranslationEntry::from_row)
        .collect::<Result<Vec<_>>>()?;
    mark_outdated(&mut entries);
    Ok(entries)
}

/// Returns, for each of these translations, the languages whose text is older than the English
/// text.
pub(crate) fn outdated(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, Vec<String>>> {
    let mut outdated = HashMap::<Uuid, Vec<String>>::new();
    if !ids.is_empty() {
        for row in context.rows(&OUTDATED, values![ids])? {
            outdated.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
    }
    Ok(outdated)
}

/// Returns all versions of a text, as pairs of language and text.
pub(crate) fn versions(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<(String, String)>> {
    Ok(entries(context, id)?
        .into_iter()
        .map(|entry| (entry.language, entry.text))
        .collect())
}

/// Returns the version of a text in exactly this language; `None` if there is none.
pub(crate) fn written(
    context: &mut Context<'_, '_>,
    id: Uuid,
    language: &str,
) -> Result<Option<String>> {
    let entry = entries(context, id)?
        .into_iter()
        .find(|entry| entry.language == language);
    Ok(entry.map(|entry| entry.text))
}

/// Returns the version of each of these texts in exactly this language, by the id of the text.
/// Texts without a version in this language are left out.
pub(crate) fn texts_in_language(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
    language: &str,
) -> Result<HashMap<Uuid, String>> {
    let rows = context.rows(&IN_LANGUAGE, values![ids, language])?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Returns whether all versions other than the English one were translated by machine.
pub(crate) fn are_others_machine_made(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    Ok(entries(context, id)?
        .iter()
        .all(|entry| entry.language == ENGLISH || entry.is_machine_translated))
}

/// Deletes a translation with all of its texts.
pub(crate) fn delete(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    context.execute_deferred(&DELETE, values![id])
}

/// Returns the texts of several translations, each in the requested language or in the nearest
/// available one.
pub(crate) fn texts(
    context: &mut Context<'_, '_>,
    ids: impl IntoIterator<Item = Uuid>,
    language: &str,
) -> Result<Texts> {
    let ids: Vec<Uuid> = ids.into_iter().collect();
    let mut picker = fallback::VersionPicker::of(language);
    let texts = all_entries(context, ids)?
        .into_iter()
        .filter_map(|(id, entries)| {
            let version = |entry: TranslationEntry| {
                let version = TextVersion {
                    text: entry.text,
                    is_machine_translated: entry.is_machine_translated,
                    is_outdated: entry.is_outdated,
                };
                (entry.language, version)
            };
            let versions = entries.into_iter().map(version).collect();
            Some((id, picker.pick(versions)?))
        });
    Ok(Texts(texts.collect()))
}

/// Returns all versions of several texts, by the id of the text.
fn all_entries(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<HashMap<Uuid, Vec<TranslationEntry>>> {
    let mut all = HashMap::<Uuid, Vec<TranslationEntry>>::new();
    if ids.is_empty() {
        return Ok(all);
    }
    for row in context.rows(&TEXTS, values![ids])? {
        all.entry(row.get(0)?).or_default().push(TranslationEntry {
            language: row.get(1)?,
            text: row.get(2)?,
            is_machine_translated: row.get(3)?,
            is_outdated: false,
            updated_at: Moment(row.get(4)?),
        });
    }
    for entries in all.values_mut() {
        mark_outdated(entries);
    }
    Ok(all)
}

/// A version of a text. States whether a machine translated it, and whether the English text has
/// changed since this version was written.
#[derive(Serialize)]
struct TextVersion {
    text: String,
    is_machine_translated: bool,
    is_outdated: bool,
}

/// Texts by the id of their translation. Each text is in the reader's language or in the nearest
/// available one, and is stored with the tag of its language.
#[derive(Serialize)]
pub(crate) struct Texts(HashMap<Uuid, (String, TextVersion)>);

impl Texts {
    /// Returns the text of a translation, if it has any.
    pub(crate) fn of(&self, id: Option<Uuid>) -> Option<String> {
        self.0.get(&id?).map(|(_, version)| version.text.clone())
    }

    /// Returns the language of a translation's text; `None` if the translation has no text.
    pub(crate) fn language_of(&self, id: Uuid) -> Option<&str> {
        self.0.get(&id).map(|(language, _)| language.as_str())
    }

    /// Returns, for each field whose text is not in the requested language, the language of its
    /// text.
    pub(crate) fn languages<'f>(
        &self,
        requested: &str,
        fields: impl IntoIterator<Item = (&'f str, Option<Uuid>)>,
    ) -> TextLanguages {
        let other = |(field, id): (&str, Option<Uuid>)| {
            let language = self.language_of(id?)?;
            (language != requested).then(|| (field.to_owned(), language.to_owned()))
        };
        TextLanguages(fields.into_iter().filter_map(other).collect())
    }

    /// Returns whether the text of a translation was translated by machine.
    fn is_machine_translated(&self, id: Uuid) -> bool {
        self.0
            .get(&id)
            .is_some_and(|(_, version)| version.is_machine_translated)
    }

    /// Returns whether the English text of a translation has changed since the text in the reader's
    /// language was written.
    fn is_outdated(&self, id: Uuid) -> bool {
        self.0
            .get(&id)
            .is_some_and(|(_, version)| version.is_outdated)
    }

    /// Adds texts that have no rows in the database, such as built-in texts. All of them are in the
    /// same language.
    pub(crate) fn extend(
        &mut self,
        texts: impl IntoIterator<Item = (Uuid, String)>,
        language: &str,
    ) {
        let version = |text| {
            (
                language.to_owned(),
                TextVersion {
                    text,
                    is_machine_translated: false,
                    is_outdated: false,
                },
            )
        };
        self.0
            .extend(texts.into_iter().map(|(id, text)| (id, version(text))));
    }

    /// Returns the texts with filled placeholders. A text for which `fill` returns `None` is left
    /// out.
    pub(crate) fn filled(&self, fill: impl Fn(&str) -> Option<String>) -> Self {
        let filled = |(id, (language, version)): (&Uuid, &(String, TextVersion))| {
            let version = TextVersion {
                text: fill(&version.text)?,
                is_machine_translated: version.is_machine_translated,
                is_outdated: version.is_outdated,
            };
            Some((*id, (language.clone(), version)))
        };
        Self(self.0.iter().filter_map(filled).collect())
    }

    /// Returns the texts of all translations, without their languages.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|(_, version)| version.text.as_str())
    }

    /// Returns the text of a translation, without filling its placeholders; `None` if `id` is
    /// `None`, or if `self` does not contain the translation.
    pub(crate) fn unfilled_text(&self, id: Option<Uuid>) -> Option<&str> {
        self.0.get(&id?).map(|(_, version)| version.text.as_str())
    }

    /// Removes all texts except those of the translations with these ids.
    pub(crate) fn retain(&mut self, ids: &HashSet<Uuid>) {
        self.0.retain(|id, _| ids.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_english_text_is_translated_into_the_right_languages() {
        let entry = |language: &str, is_machine_translated| TranslationEntry {
            language: language.into(),
            text: "text".into(),
            is_machine_translated,
            is_outdated: false,
            updated_at: Moment("2026-11-21T09:30:00Z".parse().unwrap()),
        };
        let entries = [
            entry("en", false),
            entry("es", true),
            entry("fr", false),
            entry("pt-BR", false),
            entry("it", true),
        ];
        let languages = ["en", "es", "fr", "de"].map(String::from);
        let targets = |others| {
            to_translate(&languages, &entries, others)
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            targets(OtherLanguages::Replace),
            ["de", "es", "fr", "it", "pt-BR"]
        );
        assert_eq!(targets(OtherLanguages::Renew), ["de", "es", "it"]);
        assert!(targets(OtherLanguages::Keep).is_empty());
        assert_eq!(
            to_translate(&languages, &[], OtherLanguages::Renew).len(),
            3
        );
    }

    #[test]
    fn versions_older_than_the_english_one_are_outdated() {
        let entry = |language: &str, second: i64| TranslationEntry {
            language: language.into(),
            text: "text".into(),
            is_machine_translated: false,
            is_outdated: false,
            updated_at: Moment(jiff::Timestamp::from_second(second).unwrap()),
        };
        let outdated = |mut entries: Vec<TranslationEntry>| -> Vec<String> {
            mark_outdated(&mut entries);
            let outdated = entries.into_iter().filter(|entry| entry.is_outdated);
            outdated.map(|entry| entry.language).collect()
        };
        let all = vec![
            entry("en", 5),
            entry("es", 5),
            entry("fr", 4),
            entry("de", 6),
        ];
        assert_eq!(outdated(all), ["fr"]);
        assert_eq!(outdated(vec![entry("es", 5), entry("fr", 4)]), [""; 0]);
    }
}
