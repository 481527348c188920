//! The ready set: steps and manuals that most hosts have, made at once in the languages of the
//! organization. Nothing of it is shown to guests until a member looks at it and switches it on.

mod texts;

use askama::Template;
use axum::response::Response;
use engine::format::is_uuid;
use serde_json::{Value, json};

use self::texts::{
    AGREEMENT, ARRIVAL, ARRIVAL_TITLE, LEAVING, LEAVING_TITLE, QUESTION, ReadyText, WIFI,
    WIFI_TITLE,
};
use super::frame::{CompletedAction, ConsoleFrame};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::screens::ScreenAnswer;
use super::visit::ConsoleRequest;
use crate::translations::ENGLISH;
use crate::words::LANGUAGES;

/// The operations that the set needs.
pub const NEEDS: &[&str] = &[
    "createTranslation",
    "createPrecheckStep",
    "createPortalManual",
    "setTranslationEntry",
];
/// The path of the page.
pub const PATH: &str = "/ready-set";

/// A manual of the set: its internal name, its icon, its title and its text.
struct ReadyManual {
    nickname: &'static str,
    icon: &'static str,
    title: &'static ReadyText,
    text: &'static ReadyText,
}

static MANUALS: [ReadyManual; 3] = [
    ReadyManual {
        nickname: "Wi-Fi",
        icon: "wifi",
        title: &WIFI_TITLE,
        text: &WIFI,
    },
    ReadyManual {
        nickname: "Arrival",
        icon: "map-pin",
        title: &ARRIVAL_TITLE,
        text: &ARRIVAL,
    },
    ReadyManual {
        nickname: "Departure",
        icon: "luggage",
        title: &LEAVING_TITLE,
        text: &LEAVING,
    },
];

#[derive(Template)]
#[template(path = "console/ready-set.html")]
struct ReadySet<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    /// The key of the form. Sent again after a failure, the form goes on where it stopped.
    key: String,
    problem: Option<String>,
}

fn page(visit: &ConsoleRequest, problem: Option<(u16, String)>) -> Response {
    let page = ReadySet {
        frame: ConsoleFrame::new(visit, visit.words.begin.ready),
        action: visit.address(PATH),
        key: visit.form_key(),
        problem: problem.as_ref().map(|(_, text)| text.clone()),
    };
    reply::of(visit, problem.map_or(200, |(status, _)| status), &page)
}

/// Shows the contents of the set.
pub fn ask(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move { Ok(page(visit, None)) })
}

/// Makes the set.
pub fn make(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        // A member who may not create all of it creates nothing of it.
        for operation in NEEDS {
            visit.require(operation)?;
        }
        // Without its key the form could create the set twice.
        let has_key = visit.sent("key").is_some_and(is_uuid);
        if !visit.may_write() || !has_key {
            return Ok(page(visit, None));
        }
        match made(visit).await {
            Ok(()) => Ok(reply::done(visit, "/steps", CompletedAction::Created)),
            Err(refusal) => {
                let text = refusal.sentences(visit).join(" ");
                Ok(page(visit, Some((refusal.status, text))))
            }
        }
    })
}

async fn made(visit: &ConsoleRequest) -> Result<(), ConsoleRefusal> {
    let agreement = text(visit, "precheck_step_detail", "agreement", &AGREEMENT).await?;
    let question = text(visit, "precheck_question", "question", &QUESTION).await?;
    let steps = [
        json!({ "stepType": "your_details", "nickname": "Guest details" }),
        json!({
            "stepType": "agreement", "nickname": "House rules", "contractTemplateTextMlTextId": agreement,
        }),
        json!({
            "stepType": "additional_questions", "nickname": "Arrival",
            "questions": [{ "kind": "free_form_input", "textMlTextId": question }],
        }),
    ];
    for (place, mut step) in steps.into_iter().enumerate() {
        step["isActive"] = false.into();
        let key = visit.key(&format!("step{place}"));
        visit
            .create::<Value>("createPrecheckStep", step, &key)
            .await?;
    }
    for manual in &MANUALS {
        let title = text(
            visit,
            "manual",
            &format!("{} title", manual.icon),
            manual.title,
        )
        .await?;
        let body = text(visit, "manual", manual.icon, manual.text).await?;
        let arguments = json!({
            "nickname": manual.nickname, "iconName": manual.icon, "titleId": title, "descriptionId": body,
            "isActive": false,
        });
        let key = visit.key(&format!("manual {}", manual.icon));
        visit
            .create::<Value>("createPortalManual", arguments, &key)
            .await?;
    }
    Ok(())
}

/// Makes a text in the languages of the organization, and returns its id.
async fn text(
    visit: &ConsoleRequest,
    source: &str,
    name: &str,
    text: &'static ReadyText,
) -> Result<String, ConsoleRefusal> {
    let of = |language: &str| {
        let place = LANGUAGES.iter().position(|known| *known == language);
        place.map(|place| text[place])
    };
    let english = of(ENGLISH).unwrap_or_default();
    let arguments = json!({ "sourceTable": source, "text": english });
    let key = visit.key(&format!("text {name}"));
    let made: Value = visit.create("createTranslation", arguments, &key).await?;
    let id = made["id"].as_str().unwrap_or_default().to_owned();
    for language in &visit.signed_in.organization.settings.languages {
        let primary = language.split('-').next().unwrap_or_default();
        if let Some(text) = of(primary).filter(|_| primary != ENGLISH) {
            let arguments = json!({ "id": id, "language": language, "text": text });
            visit.change("setTranslationEntry", arguments).await?;
        }
    }
    Ok(id)
}
