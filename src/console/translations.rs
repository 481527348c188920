//! Texts in every language: those of each sort of thing, and one of them in all languages, edited where it stands.

use askama::Template;
use axum::response::Response;
use engine::format;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::frame::{Done, Frame};
use super::paging::Paging;
use super::refusal::Refusal;
use super::reply;
use super::screens::{Answering, Group, Page, Screen};
use super::texts::texts_in;
use super::visit::{Visit, first};
use super::words::Words;
use crate::translations::ENGLISH;
use crate::words::own_name;

/// The screen.
pub static SCREEN: Screen = Screen {
    path: "/translations",
    icon: "languages",
    title: |words| words.translations.translations,
    group: Group::Setup,
    needs: Some("listTranslationEntries"),
    pages: &[
        Page::get("getTranslationsScreen", "/translations", list),
        Page::get("getTranslationScreen", "/translations/{id}", show),
        Page::post("updateTranslationOnScreen", "/translations/{id}", save).needing(&["listTranslationEntries", "setTranslationEntry"]),
    ],
};

/// Things that have texts: what lists them, what they are called by, and the fields that link texts.
struct Source {
    word: &'static str,
    list: &'static str,
    called: &'static [&'static str],
    fields: &'static [&'static str],
    title: fn(&Words) -> &'static str,
}

static SOURCES: [Source; 4] = [
    Source {
        word: "manuals",
        list: "listPortalManuals",
        called: &["nickname"],
        fields: &["titleId", "descriptionId"],
        title: |words| words.manuals.manuals,
    },
    Source {
        word: "categories",
        list: "listPortalManualCategories",
        called: &["title"],
        fields: &["titleId"],
        title: |words| words.manuals.categories,
    },
    Source {
        word: "steps",
        list: "listPrecheckSteps",
        called: &["nickname"],
        fields: &[
            "displayTitleMlTextId",
            "contractTemplateTextMlTextId",
            "damageDepositSubtitleMlTextId",
            "securityDepositSubtitleMlTextId",
            "esignATitleMlTextId",
            "esignASubtitleMlTextId",
            "esignBHeadingMlTextId",
            "esignBSubtitleMlTextId",
        ],
        title: |words| words.steps.steps,
    },
    Source {
        word: "brandings",
        list: "listPortalBrandings",
        called: &["name"],
        fields: &["calloutMessageId"],
        title: |words| words.portals.brandings,
    },
];

/// A text in the list.
struct Line {
    way: String,
    thing: String,
    field: String,
    text: String,
    is_missing: bool,
}

/// A choice: its value, what it is called, whether it is chosen.
type Choice = (String, String, bool);

#[derive(Template)]
#[template(path = "console/translations.html")]
struct List<'v> {
    frame: Frame<'v>,
    path: String,
    tabs: Vec<(&'static str, String, bool)>,
    of: &'static str,
    languages: Vec<Choice>,
    lines: Vec<Line>,
    paging: Paging,
}

fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let sources: Vec<&Source> = SOURCES.iter().filter(|source| visit.may(source.list)).collect();
        let wanted = visit.asks("of").unwrap_or_default();
        let source = *sources.iter().find(|source| source.word == wanted).or(sources.first()).ok_or_else(Refusal::missing)?;
        let languages = &visit.signed_in.organization.settings.languages;
        let language = visit.asks("language").filter(|tag| languages.iter().any(|known| known == tag)).unwrap_or(visit.language).to_owned();
        let rows: Vec<Value> = visit.get(source.list, json!({})).await?;
        let text = |row: &Value, field: &str| row[field].as_str().map(str::to_owned);
        let links = rows.iter().flat_map(|row| {
            let thing = source.called.iter().find_map(|field| text(row, field)).unwrap_or_default();
            source.fields.iter().filter_map(move |field| Some((thing.clone(), *field, row[*field].as_str()?.parse::<Uuid>().ok()?)))
        });
        let links: Vec<(String, &str, Uuid)> = links.collect();
        let paging = Paging::of(visit, "/translations", links.len());
        let links = paging.cut(links);
        let texts = texts_in(visit, &language, links.iter().map(|(_, _, id)| *id)).await;
        let line = |(thing, field, id): (String, &str, Uuid)| Line {
            way: visit.address(&format!("/translations/{id}")),
            field: super::labels::label(visit.language, field),
            is_missing: !texts.contains_key(&id),
            text: texts.get(&id).map(|text| text.chars().take(160).collect()).unwrap_or_default(),
            thing,
        };
        let page = List {
            frame: Frame::new(visit, visit.words.translations.translations),
            path: visit.address("/translations"),
            tabs: sources
                .iter()
                .map(|other| {
                    let way = visit.address_with("/translations", &[("of", other.word), ("language", &language)]);
                    ((other.title)(visit.words), way, std::ptr::eq(*other, source))
                })
                .collect(),
            of: source.word,
            languages: languages.iter().map(|tag| (tag.clone(), own_name(tag).to_owned(), *tag == language)).collect(),
            lines: links.into_iter().map(line).collect(),
            paging,
        };
        Ok(reply::of(visit, 200, &page))
    })
}

/// A version of a text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    language: String,
    text: String,
    is_machine_translated: bool,
}

/// A language of a text as it is shown.
struct Version {
    language: String,
    name: String,
    text: String,
    was: String,
    is_machine: bool,
    is_missing: bool,
    errors: Vec<String>,
    /// What somebody else has made of it meanwhile.
    theirs: Option<String>,
}

#[derive(Template)]
#[template(path = "console/translation.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    action: String,
    versions: Vec<Version>,
    note: Option<&'static str>,
    problem: Option<String>,
    may_change: bool,
}

/// The languages of a text: those it has, and those of the organization that it lacks.
async fn versions(visit: &Visit, id: Uuid) -> Result<Vec<Version>, Refusal> {
    let entries: Vec<Entry> = visit.get("listTranslationEntries", json!({ "id": id })).await?;
    let lacking = visit.signed_in.organization.settings.languages.iter().filter(|tag| !entries.iter().any(|entry| entry.language == **tag));
    let lacking: Vec<String> = lacking.cloned().collect();
    let version = |language: String, text: String, is_machine, is_missing| Version {
        name: own_name(&language).to_owned(),
        was: text.clone(),
        text,
        language,
        is_machine,
        is_missing,
        errors: Vec::new(),
        theirs: None,
    };
    let known = entries.into_iter().map(|entry| version(entry.language, entry.text, entry.is_machine_translated, false));
    Ok(known.chain(lacking.into_iter().map(|tag| version(tag, String::new(), false, true))).collect())
}

fn page(visit: &Visit, id: Uuid, versions: Vec<Version>, note: Option<&'static str>, problem: Option<(u16, String)>) -> Response {
    let words = visit.words;
    let first = versions.iter().find(|version| !version.was.is_empty()).map(|version| version.was.chars().take(60).collect::<String>());
    let page = Shown {
        frame: Frame::new(visit, first.unwrap_or_else(|| words.translations.text.to_owned())).below(
            visit,
            words.translations.translations,
            "/translations",
        ),
        action: visit.address(&format!("/translations/{id}")),
        versions,
        note,
        problem: problem.as_ref().map(|(_, text)| text.clone()),
        may_change: visit.may("setTranslationEntry"),
    };
    reply::of(visit, problem.map_or(200, |(status, _)| status), &page)
}

fn show(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let id = visit.named("id")?;
        Ok(page(visit, id, versions(visit, id).await?, None, None))
    })
}

fn save(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let id = visit.named("id")?;
        let mut versions = versions(visit, id).await?;
        let (mut is_changed, mut refused) = (false, None);
        // English first: a new one has the others translated anew, and what is written by hand comes after that.
        versions.sort_by_key(|version| version.language != ENGLISH);
        for version in &mut versions {
            let Some(typed) = first(&visit.fields, &format!("text.{}", version.language)) else { continue };
            let was = first(&visit.fields, &format!("was.{}", version.language)).unwrap_or_default();
            typed.clone_into(&mut version.text);
            if typed == was || !visit.may_write() {
                continue;
            }
            if version.was != was && version.was != typed {
                // The other's is there to be seen; saving again is the choice of this one.
                version.theirs = Some(version.was.clone());
                refused = Some((409, visit.words.forms.conflict.to_owned()));
                continue;
            }
            let Some(language) = format::language(&version.language) else { continue };
            match visit.change("setTranslationEntry", json!({ "id": id, "language": language, "text": typed })).await {
                Ok(_) => {
                    is_changed = true;
                    typed.clone_into(&mut version.was);
                }
                Err(refusal) => {
                    version.errors = refusal.issues.iter().map(|issue| issue.message.clone()).collect();
                    refused = Some((refusal.status, refusal.message));
                }
            }
        }
        if !visit.may_write() {
            return Ok(page(visit, id, versions, Some(visit.words.frame.is_kept), None));
        }
        if refused.is_some() {
            return Ok(page(visit, id, versions, None, refused));
        }
        Ok(reply::done(visit, &visit.path, if is_changed { Done::Saved } else { Done::Unchanged }))
    })
}
