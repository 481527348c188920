//! The ready-made set: steps and manuals that most hosts need. The console creates all of them at
//! once, in the languages of the organization. They are inactive until a member has checked and
//! activated them.

use askama::Template;
use axum::response::Response;
use engine::format::is_uuid;
use features::translations::ENGLISH;
use serde_json::{Value, json};
use texts::ready::{LANGUAGES, ReadyWords, table};

use super::frame::{CompletedAction, ConsoleFrame};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::ScreenResponse;

/// The operations that the console calls to create the ready-made set.
pub const NEEDS: &[&str] = &[
    "createTranslation",
    "createPrecheckStep",
    "createPortalManual",
    "setTranslationEntry",
];
/// The path of the page that offers the ready-made set, relative to the path of the console.
pub const PATH: &str = "/ready-set";

/// A function that returns one text of the set in the language of its argument.
type ReadyText = fn(&ReadyWords) -> &'static str;

/// A manual of the set: its internal name, its icon, its title and its text.
struct ReadyManual {
    nickname: &'static str,
    icon: &'static str,
    title: ReadyText,
    text: ReadyText,
}

static MANUALS: [ReadyManual; 3] = [
    ReadyManual {
        nickname: "Wi-Fi",
        icon: "wifi",
        title: |words| words.wifi_title,
        text: |words| words.wifi,
    },
    ReadyManual {
        nickname: "Arrival",
        icon: "map-pin",
        title: |words| words.arrival_title,
        text: |words| words.arrival,
    },
    ReadyManual {
        nickname: "Departure",
        icon: "luggage",
        title: |words| words.leaving_title,
        text: |words| words.leaving,
    },
];

#[derive(Template)]
#[template(path = "ready-set.html")]
struct ReadySet<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    /// The idempotency key of the form. If only a part of the set could be created, sending the
    /// form again creates the other parts.
    key: String,
    problem: Option<String>,
}

fn page(request: &ConsoleRequest, problem: Option<(u16, String)>) -> Response {
    let page = ReadySet {
        frame: ConsoleFrame::new(request, request.texts.begin.ready),
        action: request.address(PATH),
        key: request.form_key(),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    reply::page_of_template(request, problem.map_or(200, |(status, _)| status), &page)
}

/// Shows the content of the set, before the member creates the set.
pub fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move { Ok(page(request, None)) })
}

/// Creates the steps and the manuals of the set.
pub fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        // The console checks all permissions first. If the member lacks the permission for one part
        // of the set, no part is created.
        for operation in NEEDS {
            request.require(operation)?;
        }
        // Without an idempotency key, sending the form twice would create the set twice.
        let has_key = request.form_value("key").is_some_and(is_uuid);
        if !request.may_write() || !has_key {
            return Ok(page(request, None));
        }
        match create_all(request).await {
            Ok(()) => Ok(reply::redirect_with_confirmation(
                request,
                "/steps",
                CompletedAction::Created,
            )),
            Err(refusal) => {
                let text = refusal.sentences(request).join(" ");
                Ok(page(request, Some((refusal.status, text))))
            }
        }
    })
}

async fn create_all(request: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    let agreement = text(request, "precheck_step_detail", "agreement", |words| {
        words.agreement
    })
    .await?;
    let question = text(request, "precheck_question", "question", |words| {
        words.question
    })
    .await?;
    let steps = [
        json!({ "stepType": "your_details", "nickname": "Guest details" }),
        json!({
            "stepType": "agreement",
            "nickname": "House rules",
            "contractTemplateTextMlTextId": agreement,
        }),
        json!({
            "stepType": "additional_questions", "nickname": "Arrival",
            "questions": [{ "kind": "free_form_input", "textMlTextId": question }],
        }),
    ];
    for (place, mut step) in steps.into_iter().enumerate() {
        step["isActive"] = false.into();
        let key = request.key(&format!("step{place}"));
        request
            .create::<Value>("createPrecheckStep", step, &key)
            .await?;
    }
    for manual in &MANUALS {
        let title = text(
            request,
            "manual",
            &format!("{} title", manual.icon),
            manual.title,
        )
        .await?;
        let body = text(request, "manual", manual.icon, manual.text).await?;
        let arguments = json!({
            "nickname": manual.nickname,
            "iconName": manual.icon,
            "titleId": title,
            "descriptionId": body,
            "isActive": false,
        });
        let key = request.key(&format!("manual {}", manual.icon));
        request
            .create::<Value>("createPortalManual", arguments, &key)
            .await?;
    }
    Ok(())
}

/// Creates a text in all languages of the organization. Returns the id of the text.
async fn text(
    request: &ConsoleRequest,
    source: &str,
    name: &str,
    text: ReadyText,
) -> Result<String, ConsoleRefusal> {
    let arguments = json!({ "sourceTable": source, "text": text(table(ENGLISH)) });
    let key = request.key(&format!("text {name}"));
    let created: Value = request.create("createTranslation", arguments, &key).await?;
    let id = created["id"].as_str().unwrap_or_default().to_owned();
    for language in &request.signed_in.organization.settings.languages {
        let primary = language.split('-').next().unwrap_or_default();
        if primary != ENGLISH && LANGUAGES.contains(&primary) {
            let text = text(table(primary));
            let arguments = json!({ "id": id, "language": language, "text": text });
            request.change("setTranslationEntry", arguments).await?;
        }
    }
    Ok(id)
}
