//! Browser tests of every state of the guest page: on phone and desktop, light and dark, in four
//! languages including Arabic. No page may have axe violations, overflow the narrowest screen, log
//! errors, or load anything from another host.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use test_support::App;

use super::axe;
use super::casa::{AFTER, ARRIVAL_DAY, BEFORE, Casa, DEPARTURE_DAY, DURING};
use super::driver::browse;
use super::window::{DESKTOP, NARROWEST, PHONE, Window};

const DEADLINE: Duration = Duration::from_secs(300);

/// Script that returns the elements that overflow the page, innermost first.
pub(super) const OVERFLOWING: &str = "
    if (document.scrollingElement.scrollWidth <= innerWidth) return [];
    const isOut = (box) => box.right > innerWidth + 1 || box.left < -1;
    return [...document.querySelectorAll('body *')].filter((it) =>
        isOut(it.getBoundingClientRect())).reverse().slice(0, 3)
        .map((it) => it.outerHTML.slice(0, 120));
";

/// Script that submits the form of a step with empty fields and skips the browser's validation.
const SEND_NOTHING: &str = "
    const form = document.querySelector('main form');
    for (const it of form.elements) {
        if (['checkbox', 'radio'].includes(it.type)) it.checked = false;
        else if (it.localName !== 'button' && it.type !== 'hidden') it.value = '';
    }
    HTMLFormElement.prototype.submit.call(form);
";

/// A state of the page, and the address that shows it.
struct PageScene {
    name: String,
    /// The path of the guest's page, relative to `/stay/`.
    path: String,
    /// Whether the test first submits the form empty. The scene then shows the page with the
    /// errors.
    is_refused: bool,
}

impl PageScene {
    fn new(name: &str, path: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            is_refused: false,
        }
    }

    /// Whether the page's status is 404 or 400. The browser logs such a status as an error.
    fn has_error_status(&self) -> bool {
        self.is_refused || self.name.starts_with("no such")
    }
}

async fn scenes(casa: &Casa<'_>) -> Vec<PageScene> {
    let mut scenes = Vec::new();
    for (name, dates) in [
        ("arrival day", ARRIVAL_DAY),
        ("during", DURING),
        ("departure day", DEPARTURE_DAY),
        ("after", AFTER),
    ] {
        scenes.push(PageScene::new(name, casa.stay(dates, json!({})).await));
    }
    scenes.push(PageScene::new(
        "cancelled",
        casa.stay(BEFORE, json!({ "status": "cancelled" })).await,
    ));
    let token = casa.stay(BEFORE, json!({})).await;
    scenes.push(PageScene::new("before", &token));
    for (step_type, step) in &casa.steps {
        scenes.push(PageScene::new(step_type, format!("{token}/steps/{step}")));
        let refusable = [
            "your_details",
            "other_guests",
            "additional_questions",
            "agreement",
            "damage_deposit",
            "document_upload",
        ];
        if refusable.contains(step_type) {
            let name = format!("{step_type}, refused");
            scenes.push(PageScene {
                is_refused: true,
                ..PageScene::new(&name, format!("{token}/steps/{step}"))
            });
        }
    }
    scenes.push(PageScene::new("review", format!("{token}/review")));
    scenes.push(PageScene::new("messages", format!("{token}/messages")));
    scenes.push(PageScene {
        is_refused: true,
        ..PageScene::new("messages, refused", format!("{token}/messages"))
    });
    for rest in ["issues", "extras"] {
        scenes.push(PageScene::new(rest, format!("{token}/{rest}")));
    }
    scenes.push(PageScene {
        is_refused: true,
        ..PageScene::new("issues, refused", format!("{token}/issues"))
    });
    let during = casa.stay(DURING, json!({})).await;
    scenes.push(PageScene::new(
        "survey",
        format!("{during}/reviews/checkin"),
    ));
    scenes.push(PageScene {
        is_refused: true,
        ..PageScene::new("survey, refused", format!("{during}/reviews/checkin"))
    });
    for manual in &casa.manuals {
        scenes.push(PageScene::new(
            "manual",
            format!("{token}/manuals/{manual}"),
        ));
    }
    let documents = casa.step("document_upload");
    scenes.push(PageScene::new(
        "files",
        format!("{}/steps/{documents}", casa.with_files().await),
    ));
    let preview = casa.preview().await;
    scenes.push(PageScene::new("preview", &preview));
    for step_type in ["your_details", "document_upload", "agreement"] {
        scenes.push(PageScene::new(
            &format!("preview, {step_type}"),
            format!("{preview}/steps/{}", casa.step(step_type)),
        ));
    }
    scenes.push(PageScene::new(
        "preview, messages",
        format!("{preview}/messages"),
    ));
    let back = casa.sent_back().await;
    scenes.push(PageScene::new("sent back", &back));
    scenes.push(PageScene::new(
        "sent back, review",
        format!("{back}/review"),
    ));
    for (step_type, step) in casa.steps.iter().take(4) {
        scenes.push(PageScene::new(
            &format!("sent back, {step_type}"),
            format!("{back}/steps/{step}"),
        ));
    }
    let waiting = casa.stay(BEFORE, json!({})).await;
    casa.answer_all(&waiting).await;
    scenes.push(PageScene::new("answered", &waiting));
    scenes.push(PageScene::new(
        "answered, review",
        format!("{waiting}/review"),
    ));
    scenes.push(PageScene::new(
        "answered, background_check",
        format!("{waiting}/steps/{}", casa.step("background_check")),
    ));
    let nobodys = test_support::new_id();
    scenes.push(PageScene::new("no such stay", "nonsense"));
    scenes.push(PageScene::new(
        "no such step",
        format!("{token}/steps/{nobodys}"),
    ));
    scenes.push(PageScene::new(
        "no such manual",
        format!("{token}/manuals/{nobodys}"),
    ));
    for (name, is_reviewed) in [("in review", true), ("approved", false)] {
        casa.house
            .update_portal(
                casa.house.portal,
                json!({ "isManualReviewEnabled": is_reviewed }),
            )
            .await;
        let token = casa.stay(BEFORE, json!({})).await;
        casa.submit_all(&token).await;
        scenes.push(PageScene::new(name, &token));
        scenes.push(PageScene::new(
            &format!("{name}, reviewed"),
            format!("{token}/review"),
        ));
        for (step_type, step) in &casa.steps {
            scenes.push(PageScene::new(
                &format!("{name}, {step_type}"),
                format!("{token}/steps/{step}"),
            ));
        }
    }
    scenes
}

/// The problems of all scenes. The key is a problem, and the value contains the names of the scenes
/// that have it.
#[derive(Default)]
struct Problems(BTreeMap<String, BTreeSet<String>>);

impl Problems {
    fn add(&mut self, what: impl Into<String>, scene_name: &str) {
        self.0
            .entry(what.into())
            .or_default()
            .insert(scene_name.to_owned());
    }

    fn report(&self) -> String {
        let mut report = String::new();
        for (what, places) in &self.0 {
            let some: Vec<&str> = places.iter().take(4).map(String::as_str).collect();
            writeln!(
                report,
                "{what}\n    in {} places: {}",
                places.len(),
                some.join("; ")
            )
            .unwrap();
        }
        report
    }
}

async fn check_scene(
    window: &Window,
    app: &App,
    scene: &PageScene,
    language: &str,
    problems: &mut Problems,
) {
    let name = format!("{} ({language})", scene.name);
    window.resize(PHONE).await;
    window
        .go(&format!(
            "{}/stay/{}?language={language}",
            app.base, scene.path
        ))
        .await;
    if scene.is_refused {
        window
            .leaves(async { drop(window.run(SEND_NOTHING).await) })
            .await;
    }
    // If the stay does not exist, the service does not know the guest's language. The test then
    // does not check the language of the page.
    if scene.name != "no such stay" {
        let shown = window
            .run("return document.documentElement.lang + ' ' + document.documentElement.dir")
            .await;
        let direction = if language == "ar" { "rtl" } else { "ltr" };
        if shown != format!("{language} {direction}") {
            problems.add(format!("language and direction are {shown}"), &name);
        }
    }
    for (device, size) in [("phone", PHONE), ("desktop", DESKTOP)] {
        window.resize(size).await;
        for scheme in ["light", "dark"] {
            window.prefer(&[("prefers-color-scheme", scheme)]).await;
            for violation in axe::violations(window).await {
                problems.add(violation, &format!("{name} {device} {scheme}"));
            }
        }
    }
    window.resize(NARROWEST).await;
    for wide in window.run(OVERFLOWING).await.as_array().unwrap() {
        problems.add(
            format!(
                "sticks out at {} px: {}",
                NARROWEST.0,
                wide.as_str().unwrap()
            ),
            &name,
        );
    }
    for complaint in window.console_errors().await {
        if !(scene.has_error_status()
            && complaint.contains("the server responded with a status of 40"))
        {
            problems.add(
                format!("console: {}", complaint.replace(&app.base, "")),
                &name,
            );
        }
    }
    for address in window.requests().await {
        if !address.starts_with(&app.base) && !address.starts_with("data:") {
            problems.add(format!("asks {address}"), &name);
        }
    }
}

async fn assert_states_pass_in(language: &str) {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        axe::install(window).await;
        let mut problems = Problems::default();
        for scene in scenes(&casa).await {
            check_scene(window, &app, &scene, language, &mut problems).await;
        }
        assert!(
            problems.0.is_empty(),
            "{} kinds of things are wrong:\n{}",
            problems.0.len(),
            problems.report()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_state_passes_the_checks_in_english() {
    assert_states_pass_in("en").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_state_passes_the_checks_in_spanish() {
    assert_states_pass_in("es").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_state_passes_the_checks_in_french() {
    assert_states_pass_in("fr").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_state_passes_the_checks_in_arabic() {
    assert_states_pass_in("ar").await;
}
