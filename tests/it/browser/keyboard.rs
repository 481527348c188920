//! A guest without a mouse: every step by Tab, Space, Enter and typing alone, with scripts and without.

use std::time::Duration;

use serde_json::{Value, json};

use super::casa::{BEFORE, Casa};
use super::driver::browse;
use super::window::{DOWN, ENTER, PHONE, SPACE, TAB, Window};
use crate::support::App;

const DEADLINE: Duration = Duration::from_secs(120);
/// Keys until a form is filled in, at the most.
const MOST_KEYS: usize = 250;

/// What is typed into a field.
fn typed(field: &Value) -> &'static str {
    match field["type"].as_str().unwrap() {
        "email" => "ada@example.com",
        "tel" => "+34 612 345 678",
        // Month, day and year, each with a place of its own in the field.
        "date" => "03271985",
        _ if ["nationality", "country"].iter().any(|name| field["name"].as_str().unwrap().ends_with(name)) => "ES",
        _ => "Ada",
    }
}

/// Fills in the form of a step and sends it: what is empty is typed, what has to be chosen is chosen.
async fn fills_in(window: &Window) {
    let path = window.path().await.split('?').next().unwrap().to_owned();
    let mut passed = Vec::new();
    for _ in 0..MOST_KEYS {
        window.press(TAB).await;
        let field = window.focused().await;
        assert!(field["isOutlined"] == true || field["tag"] == "body", "the focus is not seen: {field}");
        if field["sendsTo"] != path {
            continue;
        }
        let is_empty = field["value"] == "";
        let is_open = field["isChosen"] == false && field["isRequired"] == true;
        match (field["tag"].as_str().unwrap(), field["type"].as_str().unwrap()) {
            ("input", "radio" | "checkbox") if is_open => window.press(SPACE).await,
            ("input", "radio" | "checkbox") => {}
            ("select", _) if is_empty => window.press(DOWN).await,
            ("input" | "textarea", _) if is_empty => window.types(typed(&field)).await,
            ("button", "submit") if field["name"] == "" => return window.leaves(window.press(ENTER)).await,
            _ => {}
        }
        passed.push(field["is"].clone());
    }
    panic!("no button sends {path}, but {passed:?}");
}

/// From the page by which a guest enters to its being handed in.
async fn goes_all_the_way(window: &Window) {
    let app = App::on_sqlite(&[]).await;
    let casa = Casa::build(&app).await;
    let token = casa.stay(BEFORE, json!({})).await;
    window.resize(PHONE).await;
    window.go(&format!("{}/stay/{token}?language=en", app.base)).await;
    window.tabs_to("link to the next step", |at| at["href"].as_str().unwrap().contains("/steps/")).await;
    window.leaves(window.press(ENTER)).await;
    let mut forms = 0;
    while !window.path().await.contains("/review") {
        let path = window.path().await;
        assert!(path.contains("/steps/") && forms < 40, "form {forms} leads to {path}: {}", window.text().await);
        fills_in(window).await;
        forms += 1;
    }
    let steps = casa.view(&token).await["precheckin"]["steps"].clone();
    let undone: Vec<&Value> = steps.as_array().unwrap().iter().filter(|step| step["isComplete"] != true).collect();
    assert!(undone.is_empty() && steps.as_array().unwrap().len() == casa.steps.len(), "{undone:?}");
    window.tabs_to("button that submits", |at| at["tag"] == "button" && at["sendsTo"].as_str().unwrap().ends_with("/submit")).await;
    window.leaves(window.press(ENTER)).await;
    assert_eq!(casa.view(&token).await["precheckin"]["status"], "in_review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_is_done_by_keyboard() {
    browse(DEADLINE, goes_all_the_way).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_is_done_by_keyboard_without_scripts() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        goes_all_the_way(window).await;
    })
    .await;
}

/// A form that is refused says what is wrong where a screen reader begins, and leads to each field with what was typed in it.
async fn is_led_to_what_was_refused(window: &Window) {
    let app = App::on_sqlite(&[]).await;
    let casa = Casa::build(&app).await;
    let token = casa.stay(BEFORE, json!({})).await;
    let details = casa.steps[0].1;
    window.go(&format!("{}/stay/{token}/steps/{details}?language=en", app.base)).await;
    // What the browser checks by itself would keep the form back.
    window.run("document.querySelector('main form').noValidate = true").await;
    window.tabs_to("field", |at| at["type"] == "email").await;
    window.types("ada at example").await;
    window.tabs_to("button that sends", |at| at["type"] == "submit" && at["name"] == "" && at["sendsTo"] != "").await;
    window.leaves(window.press(ENTER)).await;
    let summary = window.focused().await;
    assert_eq!(summary["role"], "alert", "the summary has the focus: {summary}");
    window.tabs_to("link to the field", |at| at["href"].as_str().unwrap().ends_with("#phone")).await;
    window.press(ENTER).await;
    window.until("the field has the focus", "return document.activeElement.name === 'phone'").await;
    let field = window.focused().await;
    assert_eq!(field["isInvalid"], true, "{field}");
    assert!(field["described"].as_str().unwrap().trim().len() > 3, "it says what is wrong: {field}");
    assert_eq!(window.run("return document.querySelector('[name=email]').value").await, "ada at example", "what was typed is kept");
    let answers = casa.view(&token).await["precheckin"]["steps"][0]["answers"].clone();
    assert_eq!(answers, Value::Null, "nothing of it was saved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_leads_to_its_fields() {
    browse(DEADLINE, is_led_to_what_was_refused).await;
}

/// Another guest is added, and taken out again, by buttons that work without a script.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_are_added_and_removed_without_scripts() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        let token = casa.stay(BEFORE, json!({})).await;
        let (_, others) = casa.steps.iter().find(|(step_type, _)| *step_type == "other_guests").unwrap();
        window.go(&format!("{}/stay/{token}/steps/{others}?language=en", app.base)).await;
        let named = "return [...document.querySelectorAll('main [name$=firstName]')].map((field) => field.value).join()";
        assert_eq!(window.run(named).await, "");
        window.tabs_to("first name", |at| at["name"] == "g.0.firstName").await;
        window.types("Grace").await;
        window.tabs_to("button that adds", |at| at["name"] == "add").await;
        window.leaves(window.press(ENTER)).await;
        assert_eq!(window.run(named).await, "Grace,", "another one, and nothing typed is lost");
        window.tabs_to("button that removes", |at| at["name"] == "remove" && at["value"] == "0").await;
        window.leaves(window.press(ENTER)).await;
        assert_eq!(window.run(named).await, "");
    })
    .await;
}
