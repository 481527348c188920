//! The operations on translations (contract: Translations).

use std::collections::HashSet;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::{Language, Text6000};
use engine::format;
use engine::moment::Moment;
use engine::operation::{Basis, Needs, Operation};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::audited;
use super::uses::{self, Writer, Writing, check_readable};
use super::{ENGLISH, Entry, Others, SourceTable, TEXTS, create, entries, texts};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "sourceTable": "portal_branding", "text": "Welcome to Barcelona" }))]
struct CreateTranslation {
    /// What sort of thing is going to link the text, such as `precheck_step_detail` for a step's texts; nothing of another sort can link
    /// it.
    source_table: SourceTable,
    /// The text that guests read, 1 to 6000 characters and not blank, stored exactly as sent. What links it may allow less.
    text: Text6000,
    /// Language that the text is in, as a BCP 47 tag. Null or left out: English, which is translated into the organization's other
    /// languages in the background.
    #[serde(default)]
    language: Option<Language>,
}

/// A translation, without its texts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Translation {
    id: Uuid,
    source_table: SourceTable,
    created_at: Moment,
    updated_at: Moment,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfTranslation {
    /// Id of the translation, which fields such as `titleId` hold.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListTexts {
    /// Ids of translations.
    #[schemars(length(max = 500))]
    ids: Vec<Uuid>,
    /// A BCP 47 tag. Left out: English.
    #[serde(default)]
    language: Option<Language>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListVersions {
    /// Ids of translations.
    #[schemars(length(max = 20))]
    ids: Vec<Uuid>,
}

/// A text in one of its languages.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab", "language": "fr", "text": "Bienvenue à Barcelone", "isMachineTranslated": true
}))]
struct VersionView {
    /// The translation.
    id: Uuid,
    /// The language that the text is in.
    language: String,
    /// The text.
    text: String,
    /// Whether a machine wrote it.
    is_machine_translated: bool,
}

/// A text as it would be shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab", "language": "en", "text": "Welcome to Barcelona", "isMachineTranslated": false,
}))]
struct TextView {
    /// The translation.
    id: Uuid,
    /// The language that the text is in.
    language: String,
    /// The text.
    text: String,
    /// Whether a machine made it.
    is_machine_translated: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "text": "Bienvenue à Barcelone" }))]
struct SetEntry {
    /// Id of the translation whose text is written.
    id: Uuid,
    /// Language to write, as a BCP 47 tag such as `fr` or `pt-BR`. A new English text has the machine-translated languages translated anew.
    language: String,
    /// The text in that language, 1 to 6000 characters and not blank, stored exactly as sent. What shows it may allow less.
    text: Text6000,
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::public("createTranslation", Method::POST, "/translations", Needs::Permission(Permission::ModifyTasks))
            .summary("Create a guest-facing text that resources can link")
            .tool(
                "translations",
                "Create a text",
                "Creates a guest-facing text and returns its `id`, to be linked where a field takes the id of a translation \
                    (`textMlTextId`, `titleId` …). Example: {\"sourceTable\": \
                    \"precheck_question\", \"text\": \"Do you bring a pet?\"}",
            )
            .creates()
            .audited(Audits::makes("translation", "text").telling(&["text", "language"]))
            .run(create_translation),
        Operation::public(
            "listTranslationEntries",
            Method::GET,
            "/translations/{id}/entries",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("List a text's versions, English first, then by language")
        .tool(
            "translations",
            "Read a text",
            "A linked text in every language it has: `language`, `text`, whether machine-translated. The id is what a field such \
                as `titleId` holds.",
        )
        .kept(Basis::Configuration)
        .run(list_entries),
        Operation::public("listTranslations", Method::GET, "/translations", Needs::Permission(Permission::ViewProperties))
            .summary("Read several texts in one language")
            .tool("translations", "Read texts", "Texts by ids, in one language.")
            .kept(Basis::Configuration)
            .run(list_texts),
        Operation::public("listTranslationVersions", Method::GET, "/translations/versions", Needs::Permission(Permission::ViewProperties))
            .summary("Read several texts in every language they have")
            .rest_only()
            .kept(Basis::Configuration)
            .run(list_versions),
        Operation::public(
            "setTranslationEntry",
            Method::PUT,
            "/translations/{id}/entries/{language}",
            Needs::Permission(Permission::ModifyTasks),
        )
        .summary("Write a text by hand in one language")
        .tool(
            "translations",
            "Write a text",
            "Writes a linked text by hand in one language. Changing the English one has the others translated anew. Changes \
                titles and bodies of manuals after their creation too. Example: {\"id\": \"…\", \"language\": \"fr\", \"text\": \
                \"Bienvenue\"}",
        )
        .audited(Audits::changes(audited::text))
        .run(set_entry),
    ]
}

fn create_translation(context: &mut Context<'_, '_>, input: CreateTranslation) -> Result<Translation> {
    let language = input.language.and_then(|tag| format::language(&tag)).unwrap_or_else(|| ENGLISH.into());
    let id = create(context, input.source_table, &language, &input.text)?;
    let now = Moment(context.now());
    Ok(Translation { id, source_table: input.source_table, created_at: now, updated_at: now })
}

fn list_entries(context: &mut Context<'_, '_>, input: OfTranslation) -> Result<Vec<Entry>> {
    check_readable(context, input.id)?;
    let mut entries = entries(context, input.id)?;
    entries.sort_by(|one, other| (one.language != ENGLISH, &one.language).cmp(&(other.language != ENGLISH, &other.language)));
    Ok(entries)
}

/// In the order in which they are asked for, each once.
fn list_texts(context: &mut Context<'_, '_>, input: ListTexts) -> Result<Vec<TextView>> {
    let language = input.language.and_then(|tag| format::language(&tag)).unwrap_or_else(|| ENGLISH.into());
    let ids = readable(context, input.ids)?;
    let found = texts(context, ids.iter().copied(), &language)?;
    let view = |id: Uuid| {
        let (language, text) = (found.language_of(id)?.to_owned(), found.of(Some(id))?);
        Some(TextView { id, language, text, is_machine_translated: found.is_machine_translated(id) })
    };
    Ok(ids.into_iter().filter_map(view).collect())
}

/// In the order in which they are asked for, each once: English first, then by language.
fn list_versions(context: &mut Context<'_, '_>, input: ListVersions) -> Result<Vec<VersionView>> {
    let ids = readable(context, input.ids)?;
    let mut versions: Vec<VersionView> = Vec::new();
    for row in context.rows(&TEXTS, values![ids.clone()])? {
        versions.push(VersionView { id: row.get(0)?, language: row.get(1)?, text: row.get(2)?, is_machine_translated: row.get(3)? });
    }
    let place = |id: Uuid| ids.iter().position(|known| *known == id);
    versions.sort_by(|one, other| {
        let order = |version: &VersionView| (place(version.id), version.language != ENGLISH);
        order(one).cmp(&order(other)).then_with(|| one.language.cmp(&other.language))
    });
    Ok(versions)
}

/// Each once, and of those of a limited caller what they may read.
fn readable(context: &mut Context<'_, '_>, mut ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    if context.reach().is_limited() {
        let readable = uses::readable(context, &ids)?;
        ids.retain(|id| readable.contains(id));
    }
    Ok(ids)
}

fn set_entry(context: &mut Context<'_, '_>, input: SetEntry) -> Result<Entry> {
    let language = format::language(&input.language).ok_or_else(|| Error::not_found("Language"))?;
    let writer = Writer { thing: None, path: &["text"] };
    Writing::judged(context, input.id, &language, &input.text, writer)?.carry_out(context, Others::Renew)?;
    let written = entries(context, input.id)?.into_iter().find(|entry| entry.language == language);
    written.ok_or_else(|| Error::internal("a text that was written is not there"))
}
