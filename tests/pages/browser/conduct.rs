//! Browser tests of double taps, printing and forced colours.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use test_support::App;
use test_support::house::guest;

use super::casa::{BEFORE, Casa, DURING};
use super::driver::browse;
use super::window::{PHONE, Window};

const DEADLINE: Duration = Duration::from_secs(90);

/// Opens every form of the guest page and double-clicks its submit button.
async fn taps_twice(window: &Window) {
    let app = App::on_sqlite(&[]).await;
    let casa = Casa::build(&app).await;
    let token = casa.stay(BEFORE, json!({})).await;
    let page = format!("{}/stay/{token}", app.base);
    let button =
        |rest: &str| format!("main form[action*='{rest}'] button[type=submit]:not([name])");
    window.resize(PHONE).await;

    window.go(&format!("{page}/messages?language=en")).await;
    window
        .tabs_to("box for a message", |at| at["name"] == "text")
        .await;
    window.types("The shower drips.").await;
    window
        .leaves(window.double_clicks(&button("/messages")))
        .await;
    window
        .until(
            "it is sent",
            "return document.body.innerText.includes('The shower drips.')",
        )
        .await;
    let messages = guest(&app, &token, Method::GET, "/messages", None)
        .await
        .data();
    assert_eq!(messages.as_array().unwrap().len(), 1, "{messages}");

    let (_, confirmed) = casa.steps.last().unwrap();
    window
        .go(&format!("{page}/steps/{confirmed}?language=en"))
        .await;
    window
        .leaves(window.double_clicks(&button("/steps/")))
        .await;
    window
        .until(
            "it goes on",
            &format!("return !location.pathname.endsWith('{confirmed}')"),
        )
        .await;

    casa.answer_all(&token).await;
    window.go(&format!("{page}/review?language=en")).await;
    window
        .leaves(window.double_clicks(&button("/submit")))
        .await;
    window
        .until(
            "it is there",
            &format!("return location.pathname === '/stay/{token}'"),
        )
        .await;
    assert_eq!(casa.view(&token).await["precheckin"]["status"], "in_review");
    assert!(
        window.console_errors().await.is_empty(),
        "none of it was refused"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_tap_sends_once() {
    browse(DEADLINE, taps_twice).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_tap_sends_once_without_scripts() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        taps_twice(window).await;
    })
    .await;
}

/// A manual that is collapsed on the screen is printed with its text, even if scripts are disabled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_manuals_are_visible_in_print() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        window
            .go(&format!(
                "{}/stay/{}?language=en",
                app.base,
                casa.stay(DURING, json!({})).await
            ))
            .await;
        let hidden = "return [...document.querySelectorAll('main details[id^=manual-]')]\
            .filter((it) => [...it.children].slice(1)
            .some((part) => !part.checkVisibility() ||
                !part.getBoundingClientRect().height)).map((it) => it.innerText)";
        assert_ne!(window.run(hidden).await, json!([]), "there are closed ones");
        window.on_paper().await;
        assert_eq!(window.run(hidden).await, json!([]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controls_have_a_border_in_forced_colours() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let casa = Casa::build(&app).await;
        window.prefer(&[("forced-colors", "active")]).await;
        let token = casa.stay(BEFORE, json!({})).await;
        for rest in [
            String::new(),
            format!("/steps/{}", casa.steps[3].1),
            "/messages".to_owned(),
            "/review".to_owned(),
        ] {
            window
                .go(&format!("{}/stay/{token}{rest}?language=en", app.base))
                .await;
            let bare = window.run(
                "return [...document.querySelectorAll('button, .button, input, \
                textarea, select')].filter((it) => {
                    const { display, borderTopStyle, borderTopWidth } = getComputedStyle(it);
                    const hasOwn = ['checkbox', 'radio', 'hidden', 'file'].includes(it.type);
                    return !hasOwn && display !== 'none' && (borderTopStyle === 'none' ||
                        !parseFloat(borderTopWidth));
                }).map((it) => it.outerHTML.slice(0, 120))",
            );
            assert_eq!(bare.await, Value::Array(Vec::new()), "{rest}");
        }
    })
    .await;
}
