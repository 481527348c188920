//! The operations on translations (rules: translations).

use std::collections::HashSet;

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::field::{Language, Text6000, TextsByLanguage};
use engine::format;
use engine::moment::Moment;
use engine::operation::{CacheBasis, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::audited;
use super::uses::{self, CheckedText, TextWriter, check_readable};
use super::{
    ENGLISH, OtherLanguages, SourceTable, TranslationEntry, all_entries, create, create_in,
    entries, texts,
};
use crate::markdown;

/// Lists a text's versions, English first.
pub const LIST_TRANSLATION_ENTRIES: OperationName<Vec<TranslationEntry>> =
    OperationName::new("listTranslationEntries");
/// Reads several texts in one language.
pub const LIST_TRANSLATIONS: OperationName<Vec<TextView>> = OperationName::new("listTranslations");
/// Reads several texts in every language they have.
pub const LIST_TRANSLATION_VERSIONS: OperationName<Vec<VersionView>> =
    OperationName::new("listTranslationVersions");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "sourceTable": "portal_branding", "text": "Welcome to Barcelona" }))]
struct CreateTranslation {
    /// Kind of resource that will link the text, such as `precheck_step_detail` for a step's texts.
    /// Other kinds cannot link it.
    source_table: SourceTable,
    /// The text that guests read, 1 to 6000 characters and not blank, stored exactly as sent. A
    /// field that links the text may have a lower limit.
    #[serde(default)]
    text: Option<Text6000>,
    /// Language of the text, as a BCP 47 tag. Null or left out: English, which is translated into
    /// the organization's other languages in the background.
    #[serde(default)]
    language: Option<Language>,
    /// The text by language tag, in place of `text` and `language`.
    #[serde(default)]
    texts: Option<TextsByLanguage>,
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
    /// Id of the translation, for fields such as `titleId`.
    id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListTexts {
    /// Ids of translations.
    #[schemars(length(max = 500))]
    ids: Vec<Uuid>,
    /// Language of the texts, as a BCP 47 tag; left out: English.
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
    "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    "language": "fr",
    "text": "Bienvenue à Barcelone",
    "isMachineTranslated": true,
    "isOutdated": false,
}))]
pub struct VersionView {
    /// Id of the translation.
    pub id: Uuid,
    /// Language of the text.
    pub language: String,
    /// The text.
    pub text: String,
    /// Whether the text was translated by machine.
    pub is_machine_translated: bool,
    /// Whether the English text has changed since this text was written.
    pub is_outdated: bool,
}

/// A text as guests see it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    "language": "en",
    "text": "Welcome to Barcelona",
    "isMachineTranslated": false,
    "isOutdated": false,
}))]
pub struct TextView {
    /// Id of the translation.
    pub id: Uuid,
    /// Language of the text.
    pub language: String,
    /// The text.
    pub text: String,
    /// Whether the text was translated by machine.
    pub is_machine_translated: bool,
    /// Whether the English text has changed since this text was written.
    pub is_outdated: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "text": "Bienvenue à Barcelone" }))]
struct SetEntry {
    /// Id of the translation whose text is written.
    id: Uuid,
    /// Language to write, as a BCP 47 tag such as `fr` or `pt-BR`. A new English text renews the
    /// machine translations.
    language: String,
    /// The text in that language, 1 to 6000 characters and not blank, stored exactly as sent. A
    /// field that links the text may have a lower limit.
    text: Text6000,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeleteEntry {
    /// Id of the translation whose text is removed.
    id: Uuid,
    /// Language to remove, as a BCP 47 tag such as `fr` or `pt-BR`. The English text cannot be
    /// removed.
    language: String,
}

/// The result of a removal.
#[derive(Debug, Serialize, JsonSchema)]
struct Removed {
    /// Always true.
    success: bool,
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            "createTranslation",
            Method::POST,
            "/translations",
            Needs::Permission(Permission::ModifyTasks),
        )
        .summary("Create a guest-facing text that resources can link")
        .tool(
            "translations",
            "Create a text",
            "Creates a guest-facing text and returns its `id`, for fields that take the id of a \
                translation (`titleId` …). Example: {\"sourceTable\": \"manual\", \"texts\": \
                {\"en\": \"Pool\", \"es\": \"Piscina\"}}",
        )
        .creates()
        .audited(Audits::makes("translation", "text").recording(&["text", "language", "texts"]))
        .run(create_translation),
        Operation::public(
            LIST_TRANSLATION_ENTRIES.id(),
            Method::GET,
            "/translations/{id}/entries",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("List a text's versions, English first, then by language")
        .tool(
            "translations",
            "Read a text",
            "A linked text in every language it has. The id is what a field such as `titleId` \
                holds.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_TRANSLATION_ENTRIES, list_entries),
        Operation::public(
            LIST_TRANSLATIONS.id(),
            Method::GET,
            "/translations",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("Read several texts in one language")
        .tool(
            "translations",
            "Read texts",
            "Texts by ids, in one language.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_TRANSLATIONS, list_texts),
        Operation::public(
            LIST_TRANSLATION_VERSIONS.id(),
            Method::GET,
            "/translations/versions",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("Read several texts in every language they have")
        .rest_only()
        .cached(CacheBasis::Configuration)
        .run_as(LIST_TRANSLATION_VERSIONS, list_versions),
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
            "Writes a linked text by hand in one language, also titles and bodies of manuals. A \
                new English text renews the machine translations. Example: {\"id\": \"…\", \
                \"language\": \"fr\", \"text\": \"Bienvenue\"}",
        )
        .audited(Audits::changes(audited::text))
        .run(set_entry),
        Operation::public(
            "deleteTranslationEntry",
            Method::DELETE,
            "/translations/{id}/entries/{language}",
            Needs::Permission(Permission::ModifyTasks),
        )
        .summary("Remove a text in one language, never in English")
        .tool(
            "translations",
            "Remove a translation",
            "Removes a linked text in one language that was written by mistake; guests then read \
                the nearest other language. The English text cannot be removed. Example: {\"id\": \
                \"…\", \"language\": \"fr\"}",
        )
        .audited(Audits::changes(audited::text))
        .run(delete_entry),
    ]
}

fn create_translation(
    context: &mut Context<'_, '_>,
    input: CreateTranslation,
) -> Result<Translation> {
    let source = input.source_table;
    warn_of_hidden_parts(context, &input);
    let id = match (input.text, input.texts) {
        (Some(text), None) => {
            let language = input
                .language
                .and_then(|tag| format::language(&tag))
                .unwrap_or_else(|| ENGLISH.into());
            create(context, source, &language, &text)?
        }
        (None, Some(texts)) if input.language.is_none() => {
            if let Some(tag) = texts.repeated() {
                return Err(Error::invalid(&["texts", tag], Reason::Twice));
            }
            create_in(context, source, &texts)?
        }
        (None, None) => return Err(Error::invalid(&["text"], Reason::Required)),
        (text, _) => {
            let field = if text.is_some() { "texts" } else { "language" };
            return Err(Error::invalid(
                &[field],
                Reason::rule(
                    "text_or_texts",
                    "is sent beside the other form; send either text and language, or texts",
                ),
            ));
        }
    };
    let now = Moment(context.now());
    Ok(Translation {
        id,
        source_table: source,
        created_at: now,
        updated_at: now,
    })
}

/// Adds a warning to the response if the new text may become the body of a manual and has HTML that
/// guests do not see, or an embedded player, which guests see as a link.
fn warn_of_hidden_parts(context: &mut Context<'_, '_>, input: &CreateTranslation) {
    if input.source_table != SourceTable::Manual {
        return;
    }
    if let Some(warning) = input.text.as_deref().and_then(markdown::warning) {
        context.warn("text", warning);
    }
    let versions = input.texts.iter().flat_map(|texts| texts.0.values());
    if let Some(warning) = versions
        .into_iter()
        .find_map(|text| markdown::warning(text))
    {
        context.warn("texts", warning);
    }
}

fn list_entries(
    context: &mut Context<'_, '_>,
    input: OfTranslation,
) -> Result<Vec<TranslationEntry>> {
    check_readable(context, input.id)?;
    let mut entries = entries(context, input.id)?;
    entries.sort_by(|one, other| {
        (one.language != ENGLISH, &one.language).cmp(&(other.language != ENGLISH, &other.language))
    });
    Ok(entries)
}

/// Returns the requested texts in the order of the request. A text that is requested twice is
/// returned once.
fn list_texts(context: &mut Context<'_, '_>, input: ListTexts) -> Result<Vec<TextView>> {
    let language = input
        .language
        .and_then(|tag| format::language(&tag))
        .unwrap_or_else(|| ENGLISH.into());
    let ids = readable(context, input.ids)?;
    let texts_by_id = texts(context, ids.iter().copied(), &language)?;
    let view = |id: Uuid| {
        let (language, text) = (
            texts_by_id.language_of(id)?.to_owned(),
            texts_by_id.of(Some(id))?,
        );
        Some(TextView {
            id,
            language,
            text,
            is_machine_translated: texts_by_id.is_machine_translated(id),
            is_outdated: texts_by_id.is_outdated(id),
        })
    };
    Ok(ids.into_iter().filter_map(view).collect())
}

/// Returns the versions of the requested texts in the order of the request. A text that is
/// requested twice is returned once. The versions of a text are ordered by language, English first.
fn list_versions(context: &mut Context<'_, '_>, input: ListVersions) -> Result<Vec<VersionView>> {
    let ids = readable(context, input.ids)?;
    let view = |id: Uuid, entry: TranslationEntry| VersionView {
        id,
        language: entry.language,
        text: entry.text,
        is_machine_translated: entry.is_machine_translated,
        is_outdated: entry.is_outdated,
    };
    let mut versions: Vec<VersionView> = all_entries(context, ids.clone())?
        .into_iter()
        .flat_map(|(id, entries)| entries.into_iter().map(move |entry| view(id, entry)))
        .collect();
    let position = |id: Uuid| ids.iter().position(|other| *other == id);
    versions.sort_by(|one, other| {
        let order = |version: &VersionView| (position(version.id), version.language != ENGLISH);
        order(one)
            .cmp(&order(other))
            .then_with(|| one.language.cmp(&other.language))
    });
    Ok(versions)
}

/// Removes duplicate ids, and the ids of texts that a limited caller cannot read.
fn readable(context: &mut Context<'_, '_>, mut ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    if context.property_scope().is_limited() {
        let readable = uses::readable(context, &ids)?;
        ids.retain(|id| readable.contains(id));
    }
    Ok(ids)
}

fn set_entry(context: &mut Context<'_, '_>, input: SetEntry) -> Result<TranslationEntry> {
    let language = format::language(&input.language).ok_or_else(|| Error::not_found("Language"))?;
    let writer = TextWriter {
        thing: None,
        path: &["text"],
    };
    CheckedText::check_write(context, input.id, &language, &input.text, writer)?
        .write_checked(context, OtherLanguages::Renew)?;
    if let Some(warning) = markdown::warning(&input.text)
        && uses::is_markdown(context, input.id)?
    {
        context.warn("text", warning);
    }
    let entry = entries(context, input.id)?
        .into_iter()
        .find(|entry| entry.language == language);
    entry.ok_or_else(|| Error::internal("the text that was written does not exist"))
}

fn delete_entry(context: &mut Context<'_, '_>, input: DeleteEntry) -> Result<Removed> {
    let language = format::language(&input.language).ok_or_else(|| Error::not_found("Language"))?;
    uses::remove(context, input.id, &language)?;
    Ok(Removed { success: true })
}
