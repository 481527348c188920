//! Browser tests of the console: accessibility with axe, operation by keyboard, with and without
//! the console's script.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use test_support::App;
use test_support::files::uploads;
use vestibule_console::addresses;

use super::axe;
use super::driver::browse;
use super::people::{collect_problems, press, speak};
use super::window::{ENTER, Window};
use crate::console::steps::with_questions;
use crate::console::things::{KEYS, Things, WEBHOOKS};
use crate::covers::PhotoProvider;
use crate::people::link_for;

const DEADLINE: Duration = Duration::from_secs(400);

/// Signs in the member of `things` in the window.
pub(super) async fn sign_in(window: &Window, things: &Things<'_>) {
    let created = link_for(
        &things.house.org,
        things.member,
        json!({ "returnTo": "/console" }),
    )
    .await
    .data();
    window.go(created["url"].as_str().unwrap()).await;
    press(window, "main button").await;
    window
        .until("the console", "return location.pathname === '/console'")
        .await;
}

/// Starts a server, creates one resource of each type, and runs a test with the server and the
/// resources.
async fn with_test_data(window: &Window, test: impl AsyncFnOnce(&App, &Things<'_>)) {
    let photos = PhotoProvider::start().await;
    let flags = photos.flags();
    let flags: Vec<&str> = [WEBHOOKS, KEYS, uploads()]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    let app = App::on_sqlite(&flags).await;
    // In the response of the fake photo provider, the links to images lead to this server, because
    // the browser cannot load images from `i.example`.
    let shown = crate::covers::page().to_string().replace(
        "https://i.example/a/small",
        &format!("{}/favicon.ico", app.base),
    );
    photos.answer(
        200,
        &shown.replace(
            "https://i.example/b/small",
            &format!("{}/favicon.ico", app.base),
        ),
    );
    let things = Things::make(&app, "Casa Azul").await;
    sign_in(window, &things).await;
    test(&app, &things).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_screen_passes_the_accessibility_checks() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        axe::install(window).await;
        with_test_data(window, async |app, things| {
            let many = with_questions(&things.house.api, 12).await;
            let looks = addresses().filter(|address| address.method == Method::GET);
            let looks: Vec<_> = looks
                .map(|address| (address.name, things.at(&address).pop().unwrap()))
                .chain([
                    ("missing", "/console/nothing".into()),
                    ("many-questions", format!("/console/steps/{many}/questions")),
                ])
                .chain([(
                    "photos",
                    format!("/console/manuals/{}/icon?query=house", things.manual),
                )])
                .collect();
            let mut problems = Vec::new();
            for language in ["en", "es", "fr"] {
                speak(window, language).await;
                for (name, at) in &looks {
                    window.go(&format!("{}{at}", app.base)).await;
                    collect_problems(window, &format!("{name}-{language}"), &mut problems).await;
                }
            }
            assert!(problems.is_empty(), "{}", problems.join("\n"));
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_portal_is_changed_by_keyboard_with_and_without_scripts() {
    browse(DEADLINE, async |window| {
        with_test_data(window, async |app, things| {
            let address = format!("{}/console/portals/{}", app.base, things.house.portal);
            for (number, has_scripts) in [true, false].into_iter().enumerate() {
                if !has_scripts {
                    window.without_scripts().await;
                }
                window.go(&address).await;
                let is =
                    |name: &'static str| move |focused: &Value| focused.to_string().contains(name);
                window.tabs_to("the notes", is("f-supportNotes")).await;
                window.types(&format!(" night {number}")).await;
                window.tabs_to("the button", is("Save")).await;
                window.press(ENTER).await;
                window
                    .until("saved", "return !!document.querySelector('.done')")
                    .await;
                let notes = things
                    .house
                    .api
                    .get(&format!("/portals/{}", things.house.portal))
                    .await
                    .data()["supportNotes"]
                    .clone();
                assert!(
                    notes.as_str().unwrap().contains(&format!("night {number}")),
                    "{notes}"
                );
            }
            // Without a script, the member presses a button to update the preview. The form still
            // contains the typed text afterwards.
            let is = |name: &'static str| move |focused: &Value| focused.to_string().contains(name);
            window.tabs_to("the notes", is("f-supportNotes")).await;
            window.types(" and day").await;
            window.tabs_to("the button", is("formaction")).await;
            window.press(ENTER).await;
            let shown = "const frame = document.querySelector('iframe'); return \
                !!frame.contentDocument?.body?.textContent.includes('and day')";
            window
                .until("what is typed on the guest's page", shown)
                .await;
            assert_eq!(
                window
                    .run(
                        "return document.getElementById('f-supportNotes').value.includes('and day')"
                    )
                    .await,
                json!(true)
            );
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incomplete_placeholder_is_completed() {
    browse(DEADLINE, async |window| {
        with_test_data(window, async |app, things| {
            let page = format!("{}/console/manuals/{}", app.base, things.manual);
            window.go(&page).await;
            window
                .run("document.querySelector('[data-render]').focus()")
                .await;
            window.empties().await;
            let written = "return document.querySelector('[data-render]').value";
            window.types("At {{property.n").await;
            assert_eq!(window.run(written).await, json!("At {{property.name}}"));
            // The console completes the placeholder and selects the added part, so the next typed
            // character replaces this part.
            window.types("ame}}, {{word}} {{stay.n").await;
            assert_eq!(
                window.run(written).await,
                json!("At {{property.name}}, {{word}} {{stay.nights}}")
            );
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_script_adds_previews_colour_pickers_and_unsaved_warnings() {
    browse(DEADLINE, async |window| {
        with_test_data(window, async |app, things| {
            let go = async |path: &str| window.go(&format!("{}/console{path}", app.base)).await;
            go(&format!("/portals/{}", things.house.portal)).await;
            let shown = "const frame = document.querySelector('iframe'); return \
                !!frame.contentDocument && frame.contentDocument.body.textContent.includes('Casa \
                Azul')";
            window
                .until("the guest's page beside the form", shown)
                .await;
            let typed = "const notes = document.getElementById('f-supportNotes'); notes.value = \
                'Ring twice'; notes.dispatchEvent(new Event('input', { bubbles: true }))";
            window.run(typed).await;
            let shown = "const frame = document.querySelector('iframe'); return \
                !!frame.contentDocument?.body?.textContent.includes('Ring twice')";
            window
                .until("what is typed on the guest's page", shown)
                .await;
            go(&format!("/manuals/{}", things.manual)).await;
            let typed = "const area = document.querySelector('[data-render]'); area.value = '# \
                Night'; area.dispatchEvent(new Event('input', { bubbles: true }))";
            window.run(typed).await;
            window
                .until(
                    "the text as it will look",
                    "return document.querySelector('.rendered h3')?.textContent === 'Night'",
                )
                .await;
            go(&format!("/manuals/{}/visibility", things.manual)).await;
            let hidden = "const box = document.getElementsByName('use.relative_date')[0]; return \
                getComputedStyle(box.closest('section').querySelector('.rule-fields')).display === \
                'none'";
            assert_eq!(window.run(hidden).await, json!(true));
            go(&format!("/brandings/{}", things.branding)).await;
            let picked = "const picker = document.querySelector('input[type=color]'); picker.value \
                = '#112233'; picker.dispatchEvent(new Event('input')); return \
                picker.nextElementSibling.value";
            assert_eq!(window.run(picked).await, json!("#112233"));
            // The colour picker of an unset colour starts with the effective colour, white.
            let unset = "const typed = document.getElementById('f-backgroundColor'); return \
                [typed.value, typed.previousElementSibling.value]";
            assert_eq!(window.run(unset).await, json!(["", "#ffffff"]));
            let reported = "return document.querySelector('[data-ground=primaryColor] \
                .pill').textContent";
            assert_eq!(
                window.run(reported).await,
                json!("16.1 · good"),
                "how well it can be read"
            );
            // A member has typed a text. The browser warns when another form of the page is
            // submitted, because the text would be lost. It does not warn when the form with the
            // text is submitted.
            go(&format!("/categories/{}", things.category)).await;
            let guarded = "const field = document.getElementById('title'); field.value = 'x';
                field.dispatchEvent(new Event('input', { bubbles: true }));
            const asks = () => !dispatchEvent(new Event('beforeunload', { cancelable: true }));
            addEventListener('submit', event => event.preventDefault());
            const typed = asks();
            document.querySelector('form.search').requestSubmit();
            const searched = asks();
            field.form.requestSubmit();
            return [typed, searched, asks()]";
            assert_eq!(window.run(guarded).await, json!([true, true, false]));
            let errors: Vec<String> = window.console_errors().await;
            // Chromium logs an error that it blocked the `beforeunload` prompt, because no user
            // gesture happened on the page.
            let errors: Vec<_> = errors
                .iter()
                .filter(|complaint| !complaint.contains("beforeunload"))
                .collect();
            assert!(errors.is_empty(), "{errors:?}");
        })
        .await;
    })
    .await;
}
