//! Browser tests in which a guest completes every step by keyboard alone, with and without scripts.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::App;

use super::casa::{BEFORE, Casa};
use super::driver::browse;
use super::window::{DOWN, ENTER, PHONE, SPACE, TAB, Window};

const DEADLINE: Duration = Duration::from_secs(120);
/// Maximum number of key presses to fill in one form.
const MAX_KEYS: usize = 250;

/// Returns the text to type into a field.
fn text_for(field: &Value) -> &'static str {
    match field["type"].as_str().unwrap() {
        "email" => "ada@example.com",
        "tel" => "+34 612 345 678",
        // The Tab key stops at the month, the day and the year of a date field. The digits fill all
        // three.
        "date" => "03271985",
        _ if ["nationality", "country"]
            .iter()
            .any(|name| field["name"].as_str().unwrap().ends_with(name)) =>
        {
            "ES"
        }
        _ => "Ada",
    }
}

/// Fills in the form of a step and sends it: types into empty fields and selects required choices.
async fn fill_in(window: &Window) {
    let path = window.path().await.split('?').next().unwrap().to_owned();
    let mut passed = Vec::new();
    for _ in 0..MAX_KEYS {
        window.press(TAB).await;
        let field = window.focused().await;
        assert!(
            field["isOutlined"] == true || field["tag"] == "body",
            "the focus is not seen: {field}"
        );
        if field["sendsTo"] != path {
            continue;
        }
        let is_empty = field["value"] == "";
        let is_open = field["isChosen"] == false && field["isRequired"] == true;
        match (
            field["tag"].as_str().unwrap(),
            field["type"].as_str().unwrap(),
        ) {
            ("input", "radio" | "checkbox") if is_open => window.press(SPACE).await,
            ("input", "radio" | "checkbox") => {}
            ("select", _) if is_empty => window.press(DOWN).await,
            ("input" | "textarea", _) if is_empty => window.types(text_for(&field)).await,
            ("button", "submit") if field["name"] == "" => {
                return window.leaves(window.press(ENTER)).await;
            }
            _ => {}
        }
        passed.push(field["is"].clone());
    }
    panic!("no button sends {path}, but {passed:?}");
}

/// Opens the first page of a stay, completes every step with the keyboard, and submits the
/// pre-check-in.
async fn complete_every_step(window: &Window) {
    let app = App::on_sqlite(&[]).await;
    let casa = Casa::build(&app).await;
    let token = casa.stay(BEFORE, json!({})).await;
    // The file dialog of the browser is not part of the page and does not receive keys from the
    // driver. The test therefore uploads the file over HTTP.
    let identity = casa.step("identity_check");
    casa.send_file(&token, identity, "passport.pdf", b"%PDF-1.7 passport")
        .await;
    window.resize(PHONE).await;
    window
        .go(&format!("{}/stay/{token}?language=en", app.base))
        .await;
    window
        .tabs_to("link to the next step", |at| {
            at["href"].as_str().unwrap().contains("/steps/")
        })
        .await;
    window.leaves(window.press(ENTER)).await;
    let mut forms = 0;
    while !window.path().await.contains("/review") {
        let path = window.path().await;
        assert!(
            path.contains("/steps/") && forms < 40,
            "form {forms} leads to {path}: {}",
            window.text().await
        );
        fill_in(window).await;
        forms += 1;
    }
    let steps = casa.view(&token).await["precheckin"]["steps"].clone();
    let undone: Vec<&Value> = steps
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["state"] != "done" && step["state"] != "pending")
        .collect();
    assert!(
        undone.is_empty() && steps.as_array().unwrap().len() == casa.steps.len(),
        "{undone:?}"
    );
    window
        .tabs_to("button that submits", |at| {
            at["tag"] == "button" && at["sendsTo"].as_str().unwrap().ends_with("/submit")
        })
        .await;
    window.leaves(window.press(ENTER)).await;
    assert_eq!(casa.view(&token).await["precheckin"]["status"], "in_review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_is_completed_by_keyboard() {
    browse(DEADLINE, complete_every_step).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_is_completed_by_keyboard_without_scripts() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        complete_every_step(window).await;
    })
    .await;
}

/// A refused form focuses an error summary and still shows the typed values. The summary links to
/// the fields that have errors.
async fn focus_moves_to_the_errors(window: &Window) {
    let app = App::on_sqlite(&[]).await;
    let casa = Casa::build(&app).await;
    let token = casa.stay(BEFORE, json!({})).await;
    let details = casa.steps[0].1;
    window
        .go(&format!(
            "{}/stay/{token}/steps/{details}?language=en",
            app.base
        ))
        .await;
    // The browser's validation would prevent the submission of the form, so the test switches that
    // validation off.
    window
        .run("document.querySelector('main form').noValidate = true")
        .await;
    window.tabs_to("field", |at| at["type"] == "email").await;
    window.types("ada at example").await;
    window
        .tabs_to("button that sends", |at| {
            at["type"] == "submit" && at["name"] == "" && at["sendsTo"] != ""
        })
        .await;
    window.leaves(window.press(ENTER)).await;
    let summary = window.focused().await;
    assert_eq!(
        summary["role"], "alert",
        "the summary has the focus: {summary}"
    );
    window
        .tabs_to("link to the field", |at| {
            at["href"].as_str().unwrap().ends_with("#phone")
        })
        .await;
    window.press(ENTER).await;
    window
        .until(
            "the field has the focus",
            "return document.activeElement.name === 'phone'",
        )
        .await;
    let field = window.focused().await;
    assert_eq!(field["isInvalid"], true, "{field}");
    assert!(
        field["described"].as_str().unwrap().trim().len() > 3,
        "it says what is wrong: {field}"
    );
    assert_eq!(
        window
            .run("return document.querySelector('[name=email]').value")
            .await,
        "ada at example",
        "what was typed is kept"
    );
    let answers = casa.view(&token).await["precheckin"]["steps"][0]["answers"].clone();
    assert_eq!(answers, Value::Null, "nothing of it was saved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_form_moves_the_focus_to_its_errors() {
    browse(DEADLINE, focus_moves_to_the_errors).await;
}

/// The form of the other guests has buttons that add and remove a guest. They work without a
/// script.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_are_added_and_removed_without_scripts() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        let token = casa.stay(BEFORE, json!({})).await;
        let (_, others) = casa
            .steps
            .iter()
            .find(|(step_type, _)| *step_type == "other_guests")
            .unwrap();
        window
            .go(&format!(
                "{}/stay/{token}/steps/{others}?language=en",
                app.base
            ))
            .await;
        let named = "return [...document.querySelectorAll('main [name$=firstName]')].map((field) \
            => field.value).join()";
        assert_eq!(window.run(named).await, "");
        window
            .tabs_to("first name", |at| at["name"] == "g.0.firstName")
            .await;
        window.types("Grace").await;
        window
            .tabs_to("button that adds", |at| at["name"] == "add")
            .await;
        window.leaves(window.press(ENTER)).await;
        assert_eq!(
            window.run(named).await,
            "Grace,",
            "another one, and nothing typed is lost"
        );
        window
            .tabs_to("button that removes", |at| {
                at["name"] == "remove" && at["value"] == "0"
            })
            .await;
        window.leaves(window.press(ENTER)).await;
        assert_eq!(window.run(named).await, "");
    })
    .await;
}
