//! Texts in all languages: a list of texts for each kind of resource, and a page that changes one
//! text in all languages.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use features::translations::{
    ENGLISH, LIST_SHOWN_TEXTS, LIST_TRANSLATION_ENTRIES, ShownText, TranslationEntry,
};
use features::words::own_name;
use serde_json::{Value, json};
use uuid::Uuid;

use super::frame::{CompletedAction, ConsoleFrame};
use super::labels;
use super::merge::{MergeResult, merge};
use super::paging::{Paging, ROWS};
use super::placeholders::{FlatTextPreview, Placeholders};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::{ConsoleFields, ConsoleRequest, first_value};
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::texts;
use super::words::ConsoleWords;

pub static SCREEN: Screen = Screen {
    path: "/translations",
    icon: "languages",
    title: |words| words.translations.translations,
    group: ScreenGroup::Setup,
    needs: Some("listTranslationEntries"),
    pages: &[
        ScreenPage::get("getTranslationsScreen", "/translations", list),
        ScreenPage::get("getTranslationScreen", "/translations/{id}", show),
        ScreenPage::post("updateTranslationOnScreen", "/translations/{id}", save).with_needs(&[
            "listTranslationEntries",
            "setTranslationEntry",
            "deleteTranslationEntry",
        ]),
    ],
};

/// A kind of resource that has texts. `word` names the kind in addresses of the console. `table` is
/// the `sourceTable` of the texts. `list` is the operation that lists the resources. `called` is
/// the field with the name of a resource in that list.
struct TextSource {
    word: &'static str,
    /// The path of the screen that lists the resources of this kind.
    screen: &'static str,
    table: &'static str,
    list: &'static str,
    called: &'static str,
    title: fn(&ConsoleWords) -> &'static str,
}

static SOURCES: [TextSource; 6] = [
    TextSource {
        word: "manuals",
        screen: "/manuals",
        table: "manual",
        list: "listPortalManuals",
        called: "nickname",
        title: |words| words.manuals.manuals,
    },
    TextSource {
        word: "categories",
        screen: "/categories",
        table: "manual_category",
        list: "listPortalManualCategories",
        called: "title",
        title: |words| words.manuals.categories,
    },
    TextSource {
        word: "steps",
        screen: "/steps",
        table: "precheck_step_detail",
        list: "listPrecheckSteps",
        called: "nickname",
        title: |words| words.steps.steps,
    },
    TextSource {
        word: "questions",
        screen: "/steps",
        table: "precheck_question",
        list: "listPrecheckSteps",
        called: "nickname",
        title: |words| words.steps.questions,
    },
    TextSource {
        word: "portals",
        screen: "/portals",
        table: "portal_settings",
        list: "listPortals",
        called: "name",
        title: |words| words.portals.portals,
    },
    TextSource {
        word: "brandings",
        screen: "/brandings",
        table: "portal_branding",
        list: "listPortalBrandings",
        called: "name",
        title: |words| words.portals.brandings,
    },
];

/// Number of characters at the beginning of a text that the list shows. The list omits the rest of
/// a longer text.
const MAX_SHOWN: usize = 160;

/// A row of the list of texts: the beginning of a text, and the language in which the list shows
/// it. `thing` is the name of the resource that shows the text, `field` is the label of the field,
/// and `way` is the address of the page of the text. `is_missing` means that the text has no
/// version in the language that the member chose for the list.
struct TextLine {
    way: String,
    thing: String,
    field: String,
    language: String,
    text: String,
    is_missing: bool,
    is_machine: bool,
    is_outdated: bool,
}

/// An option of a filter: value, label, and whether it is selected.
type FilterOption = (String, String, bool);

#[derive(Template)]
#[template(path = "translations.html")]
struct TextList<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    tabs: Vec<(&'static str, String, bool)>,
    of: &'static str,
    languages: Vec<FilterOption>,
    /// Whether the list shows only texts that a member should check: those that are missing,
    /// machine-translated or outdated in a language.
    is_todo: bool,
    lines: Vec<TextLine>,
    paging: Paging,
    /// Label and address of the screen that lists the resources with these texts. If the list of
    /// texts is empty, the page shows a link to that screen.
    empty_link: Option<(&'static str, String)>,
}

/// Returns the names of all resources of the kind that `source` describes, by the resource's id.
async fn names(
    request: &ConsoleRequest,
    source: &TextSource,
) -> Result<HashMap<String, String>, ConsoleRefusal> {
    let rows: Vec<Value> = request.get(source.list, json!({})).await?;
    Ok(rows
        .iter()
        .filter_map(|row| {
            Some((
                row["id"].as_str()?.to_owned(),
                row[source.called].as_str()?.to_owned(),
            ))
        })
        .collect())
}

fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let sources: Vec<&TextSource> = SOURCES
            .iter()
            .filter(|source| request.may(source.list))
            .collect();
        let word = request.query_parameter("of").unwrap_or_default();
        let source = *sources
            .iter()
            .find(|source| source.word == word)
            .or(sources.first())
            .ok_or_else(ConsoleRefusal::missing)?;
        let languages = &request.signed_in.organization.settings.languages;
        let language = request
            .query_parameter("language")
            .filter(|tag| languages.iter().any(|known| known == tag))
            .unwrap_or(request.language)
            .to_owned();
        let is_todo = request.query_parameter("todo").is_some();
        let arguments = json!({
            "sourceTable": source.table,
            "language": language,
            "isUnfinished": is_todo,
            "limit": ROWS,
            "offset": Paging::offset(request),
        });
        let texts = request.read_page(LIST_SHOWN_TEXTS, arguments).await?;
        let names = names(request, source).await?;
        let line = |text: &ShownText| TextLine {
            way: request.address(&format!("/translations/{}", text.id)),
            thing: names
                .get(&text.thing_id.to_string())
                .cloned()
                .unwrap_or_default(),
            field: labels::label(request.language, &text.field),
            is_missing: !text.language.eq_ignore_ascii_case(&language),
            is_machine: text.is_machine_translated,
            is_outdated: text.is_outdated,
            text: text.text.chars().take(MAX_SHOWN).collect(),
            language: text.language.clone(),
        };
        let todo = is_todo.then_some(("todo", "1"));
        let tab = |other: &&TextSource| {
            let query: Vec<(&str, &str)> = [("of", other.word), ("language", &language)]
                .into_iter()
                .chain(todo)
                .collect();
            (
                (other.title)(request.texts),
                request.address_with("/translations", &query),
                std::ptr::eq(*other, source),
            )
        };
        let page = TextList {
            frame: ConsoleFrame::new(request, request.texts.translations.translations),
            path: request.address("/translations"),
            tabs: sources.iter().map(tab).collect(),
            of: source.word,
            languages: languages
                .iter()
                .map(|tag| (tag.clone(), own_name(tag).to_owned(), *tag == language))
                .collect(),
            is_todo,
            empty_link: resource_address(request, source.screen, "")
                .map(|way| ((source.title)(request.texts), way)),
            paging: Paging::of(request, "/translations", texts.total.unwrap_or_default()),
            lines: texts.data.iter().map(line).collect(),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

/// A text in one language, as the page shows it.
struct VersionItem {
    language: String,
    name: String,
    text: String,
    /// The text that the form showed when it was opened.
    was: String,
    is_machine: bool,
    is_missing: bool,
    /// Whether the English text has changed since the text in this language was written.
    is_outdated: bool,
    /// Whether the member ticked the box that says that the outdated text is still correct.
    is_confirmed: bool,
    errors: Vec<String>,
    /// The text that another member has saved in this language since the form was opened. Set only
    /// if the signed-in member has changed the text in the form as well.
    theirs: Option<String>,
}

impl VersionItem {
    fn of(language: String, text: &str, is_machine: bool, is_missing: bool) -> Self {
        // A browser sends line ends as CR LF. The console converts them to LF.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let (name, was, errors) = (own_name(&language).to_owned(), text.clone(), Vec::new());
        Self {
            language,
            name,
            text,
            was,
            is_machine,
            is_missing,
            is_outdated: false,
            is_confirmed: false,
            errors,
            theirs: None,
        }
    }

    fn stored(entry: &TranslationEntry) -> Self {
        Self {
            is_outdated: entry.is_outdated,
            ..Self::of(
                entry.language.clone(),
                &entry.text,
                entry.is_machine_translated,
                false,
            )
        }
    }

    /// Returns whether the member has emptied the text, so that saving deletes it. Nobody can
    /// delete the English text.
    fn is_removed(&self) -> bool {
        self.text.trim().is_empty() && !self.is_missing && self.language != ENGLISH
    }

    /// Merges the typed text with the stored text. Returns which of the two applies, or that they
    /// conflict.
    fn take(&mut self, fields: &ConsoleFields) -> MergeResult {
        let sent = |what: &str| first_value(fields, &format!("{what}.{}", self.language));
        let (Some(typed), None | Some("mine")) = (sent("text"), sent("choose")) else {
            return MergeResult::Stored;
        };
        self.is_confirmed = self.is_outdated && sent("confirm").is_some();
        let result = merge(sent("was").unwrap_or_default(), &self.was, typed);
        if result == MergeResult::Stored && self.is_confirmed {
            return MergeResult::Typed;
        }
        if result != MergeResult::Stored {
            typed.clone_into(&mut self.text);
        }
        result
    }
}

/// The messages that the page shows in addition to the form.
#[derive(Default)]
struct TranslationExtras {
    status: u16,
    note: Option<&'static str>,
    /// Error messages. Each has the name of the language whose text it is about.
    problems: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "translation.html")]
struct TranslationPage<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    versions: Vec<VersionItem>,
    note: Option<&'static str>,
    problems: Vec<(String, String)>,
    is_asked: bool,
    may_change: bool,
    placeholders: Placeholders,
    text_preview: Option<FlatTextPreview>,
}

/// Returns a text in each of its languages. For each language of the organization that the text
/// lacks, the result has an empty entry.
async fn versions(request: &ConsoleRequest, id: Uuid) -> Result<Vec<VersionItem>, ConsoleRefusal> {
    let arguments = json!({ "id": id });
    let entries = request.read(LIST_TRANSLATION_ENTRIES, arguments).await?;
    let lacking = request
        .signed_in
        .organization
        .settings
        .languages
        .iter()
        .filter(|tag| !entries.iter().any(|entry| entry.language == **tag));
    let lacking: Vec<String> = lacking.cloned().collect();
    let known = entries.iter().map(VersionItem::stored);
    Ok(known
        .chain(
            lacking
                .into_iter()
                .map(|tag| VersionItem::of(tag, "", false, true)),
        )
        .collect())
}

async fn page(
    request: &ConsoleRequest,
    id: Uuid,
    versions: Vec<VersionItem>,
    extras: TranslationExtras,
) -> Response {
    let words = request.texts;
    let first = versions
        .iter()
        .find(|version| !version.was.is_empty())
        .map(|version| version.was.chars().take(60).collect::<String>());
    let page = TranslationPage {
        frame: ConsoleFrame::new(
            request,
            first.unwrap_or_else(|| words.translations.text.to_owned()),
        )
        .with_parent(request, words.translations.translations, "/translations"),
        action: request.address(&format!("/translations/{id}")),
        is_asked: versions.iter().any(|version| version.theirs.is_some()),
        versions,
        note: extras.note,
        problems: extras.problems,
        may_change: request.may("setTranslationEntry"),
        placeholders: Placeholders::of(request).await,
        // The member can use the form even if the preview fails.
        text_preview: FlatTextPreview::of(request, Some(id), &format!("/translations/{id}"))
            .await
            .unwrap_or_default(),
    };
    reply::page_of_template(
        request,
        if extras.status == 0 {
            200
        } else {
            extras.status
        },
        &page,
    )
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = request.path_id("id")?;
        Ok(page(
            request,
            id,
            versions(request, id).await?,
            TranslationExtras::default(),
        )
        .await)
    })
}

fn save(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let id = request.path_id("id")?;
        let mut versions = versions(request, id).await?;
        // English is saved first, because a new English text starts machine translations. If it
        // were saved last, those translations could replace the texts of this form.
        versions.sort_by_key(|version| version.language != ENGLISH);
        let fates: Vec<MergeResult> = versions
            .iter_mut()
            .map(|version| version.take(&request.fields))
            .collect();
        if !request.may_write() {
            // If the form has the form token of another session, nothing is saved, and the page
            // shows the form again. `was` has the text that the form showed when it was opened. It
            // is copied from the request, so that the next save still detects changes by other
            // members.
            for (version, _) in versions
                .iter_mut()
                .zip(&fates)
                .filter(|(_, result)| **result != MergeResult::Stored)
            {
                first_value(&request.fields, &format!("was.{}", version.language))
                    .unwrap_or_default()
                    .clone_into(&mut version.was);
            }
            return Ok(page(
                request,
                id,
                versions,
                TranslationExtras {
                    note: Some(request.texts.frame.is_kept),
                    ..TranslationExtras::default()
                },
            )
            .await);
        }
        if fates.contains(&MergeResult::Conflict) {
            for (version, _) in versions
                .iter_mut()
                .zip(&fates)
                .filter(|(_, result)| **result == MergeResult::Conflict)
            {
                version.theirs = Some(version.was.clone());
            }
            return Ok(page(
                request,
                id,
                versions,
                TranslationExtras {
                    status: 409,
                    ..TranslationExtras::default()
                },
            )
            .await);
        }
        let (mut extras, mut is_changed) = (TranslationExtras::default(), false);
        for (version, _) in versions
            .iter_mut()
            .zip(&fates)
            .filter(|(_, result)| **result == MergeResult::Typed)
        {
            let written = if version.is_removed() {
                texts::remove(request, id, &version.language).await
            } else {
                texts::write(request, &id.to_string(), &version.language, &version.text).await
            };
            match written {
                Ok(()) => {
                    is_changed = true;
                    version.was.clone_from(&version.text);
                }
                Err(refusal) => {
                    extras.status = refusal.status;
                    version.errors = refusal
                        .issues
                        .iter()
                        .map(|issue| issue.message.clone())
                        .collect();
                    if version.errors.is_empty() {
                        version.errors.push(refusal.message);
                    }
                    let problem = |error: &String| {
                        (
                            format!("{}: {error}", version.name),
                            version.language.clone(),
                        )
                    };
                    extras.problems.extend(version.errors.iter().map(problem));
                }
            }
        }
        if extras.problems.is_empty() {
            let action = CompletedAction::of_save(is_changed);
            return Ok(reply::redirect_with_confirmation(
                request,
                &request.path,
                action,
            ));
        }
        extras.note = is_changed.then_some(request.texts.forms.rest_saved);
        Ok(page(request, id, versions, extras).await)
    })
}
