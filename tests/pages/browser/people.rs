//! Browser tests of the pages for signing in and out (rules: members#signing-in).

use std::time::Duration;

use serde_json::json;
use test_support::{App, Org, new_id};
use uuid::Uuid;

use super::axe;
use super::driver::browse;
use super::matrix::OVERFLOWING;
use super::window::{DESKTOP, ENTER, NARROWEST, PHONE, TABLET, Window};
use crate::people::idp::Idp;
use crate::people::{Browser, ada, link, member};

const DEADLINE: Duration = Duration::from_secs(240);

/// Starts a server that uses an OpenID provider.
pub(super) async fn app_with_provider(idp: &Idp, more: &[&str]) -> App {
    let flags = idp.flags();
    let flags: Vec<&str> = flags
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    let app = App::on_sqlite(&flags).await;
    idp.use_clock(&app.clock);
    app
}

pub(super) async fn speak(window: &Window, language: &str) {
    window.devtools("Network.enable", json!({})).await;
    window
        .devtools(
            "Network.setExtraHTTPHeaders",
            json!({ "headers": { "Accept-Language": language } }),
        )
        .await;
}

/// Adds the problems of the current page (axe violations, overflow and console errors), in every
/// size and colour scheme, to `problems`.
pub(super) async fn collect_problems(window: &Window, name: &str, problems: &mut Vec<String>) {
    for (device, size) in [("phone", PHONE), ("tablet", TABLET), ("desktop", DESKTOP)] {
        window.resize(size).await;
        for scheme in ["light", "dark"] {
            window.prefer(&[("prefers-color-scheme", scheme)]).await;
            for violation in axe::violations(window).await {
                problems.push(format!("{name} {device} {scheme}: {violation}"));
            }
        }
    }
    window.resize(NARROWEST).await;
    for wide in window.run(OVERFLOWING).await.as_array().unwrap() {
        problems.push(format!("{name} sticks out at {} px: {wide}", NARROWEST.0));
    }
    for complaint in window.console_errors().await {
        if !complaint.contains("the server responded with a status of 4") {
            problems.push(format!("{name}: {complaint}"));
        }
    }
}

/// Clicks an element and waits for the next page.
pub(super) async fn press(window: &Window, selector: &str) {
    window.leaves(window.clicks(selector)).await;
}

/// Opens the page on which a person chooses the organization to sign in to. An HTTP client begins
/// the sign-in, and the provider accepts it. The window then continues the sign-in with the
/// client's cookie.
async fn choice(window: &Window, app: &App, idp: &Idp) {
    let browser = Browser::new(app);
    let off = browser.get("/sign-in/provider").await;
    let callback_query = idp.accept_sign_in(off.header("location").unwrap());
    let cookie = browser.cookie("vestibule_provider").unwrap();
    let cookie = json!({ "name": "vestibule_provider", "value": cookie, "url": app.base });
    window.devtools("Network.setCookie", cookie).await;
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(callback_query)
        .finish();
    window
        .go(&format!("{}/sign-in/callback?{query}", app.base))
        .await;
}

async fn scenes(
    window: &Window,
    (org, id): (&Org<'_>, Uuid),
    idp: &Idp,
    language: &str,
    problems: &mut Vec<String>,
) {
    let app = org.app;
    let name = |scene: &str| format!("{scene}-{language}");
    window.go(&format!("{}/sign-in", app.base)).await;
    collect_problems(window, &name("ways"), problems).await;
    window
        .go(&format!("{}/sign-in?ticket=st_nothing", app.base))
        .await;
    collect_problems(window, &name("used"), problems).await;
    window
        .go(&format!("{}{}", app.base, link(org, id).await))
        .await;
    collect_problems(window, &name("ticket"), problems).await;
    press(window, "main button").await;
    assert_eq!(window.path().await, "/console");
    window
        .go(&format!("{}/sign-in?return_to=/console", app.base))
        .await;
    collect_problems(window, &name("signed-in"), problems).await;
    window.go(&format!("{}/sign-out", app.base)).await;
    collect_problems(window, &name("sign-out"), problems).await;
    press(window, "main button").await;
    collect_problems(window, &name("signed-out"), problems).await;
    choice(window, app, idp).await;
    collect_problems(window, &name("choose"), problems).await;
    press(window, "main button").await;
    window.go(&format!("{}/sign-in/nothing", app.base)).await;
    collect_problems(window, &name("missing"), problems).await;
    window
        .devtools("Network.clearBrowserCookies", json!({}))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_in_pages_pass_the_accessibility_checks() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let idp = Idp::start().await;
        let app = app_with_provider(&idp, &[]).await;
        let org = app.org().await;
        let long = "Apartamentos Turísticos del Eixample y de la Barceloneta, Sociedad Limitada \
            Unipersonal";
        let other = app.org_with(json!({ "name": long })).await;
        let mut somebody = member("ada@example.com");
        somebody["name"] = json!("Ada");
        other.put(&format!("/members/{}", new_id()), somebody).await;
        axe::install(window).await;
        let id = ada(&org).await;
        let mut problems = Vec::new();
        for language in ["en", "es", "fr"] {
            speak(window, language).await;
            scenes(window, (&org, id), &idp, language, &mut problems).await;
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_signs_in_and_out_by_keyboard() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let org = app.org().await;
        let id = ada(&org).await;
        let created = crate::people::link_for(&org, id, json!({ "returnTo": "/sign-in" }))
            .await
            .data();
        window.without_scripts().await;
        window.go(created["url"].as_str().unwrap()).await;
        let button = |text: &'static str| {
            move |focused: &serde_json::Value| focused.to_string().contains(text)
        };
        window.tabs_to("button", button("Sign in")).await;
        window.press(ENTER).await;
        window
            .until("signed in", "return document.title === 'You are signed in'")
            .await;
        window.tabs_to("button", button("Sign out")).await;
        window.press(ENTER).await;
        window
            .until(
                "signed out",
                "return document.title === 'You are signed out'",
            )
            .await;
    })
    .await;
}

/// Writes a value into each of several form fields. Each pair has the CSS selector of a field, and
/// the value.
async fn fill(window: &Window, values: &[(&str, &str)]) {
    for (selector, value) in values {
        let set = json!([selector, value]);
        window
            .run(&format!(
                "const [selector, value] = {set}; document.querySelector(selector).value = value;"
            ))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_gets_from_the_set_up_link_to_a_guests_page() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        axe::install(window).await;
        let mut problems = Vec::new();
        let link = access::people::setup_link(&app.server.service)
            .await
            .unwrap()
            .unwrap();
        for language in ["es", "fr", "en"] {
            speak(window, language).await;
            window.go(&link).await;
            collect_problems(window, &format!("setup-{language}"), &mut problems).await;
        }
        let mut clicks = 0;
        let mut press = async |selector: &'static str| {
            clicks += 1;
            press(window, selector).await;
        };
        fill(
            window,
            &[
                ("#organization", "Casa Mar"),
                ("#country", "ES"),
                ("#timezone", "Europe/Madrid"),
                ("#name", "Marta"),
                ("#email", "marta@example.com"),
            ],
        )
        .await;
        press("main button").await;
        assert_eq!(window.path().await, "/console");
        press("main a[href$='/console/flats/new']").await;
        fill(window, &[("#f-name", "Flat 1")]).await;
        press("#edit button").await;
        for path in [
            "",
            "/flats",
            "/flats?kind=tag",
            "/flats/new",
            "/flats/import",
            "/ready-set",
            "/access/members",
            "/access/members/new",
        ] {
            window.go(&format!("{}/console{path}", app.base)).await;
            collect_problems(window, path, &mut problems).await;
        }
        window
            .go(&format!("{}/console/portals/new", app.base))
            .await;
        fill(window, &[("#f-name", "Casa Mar")]).await;
        press("#edit button").await;
        window
            .go(&format!("{}/console/flats/new?kind=reservation", app.base))
            .await;
        fill(
            window,
            &[
                ("#f-checkIn", "2026-12-11"),
                ("#f-checkOut", "2026-12-15"),
                ("#f-guest-firstName", "Ada"),
            ],
        )
        .await;
        window
            .run(
                "const flat = document.querySelector('#f-propertyId'); flat.value = \
                    [...flat.options].find((it) => it.text === 'Flat 1').value;",
            )
            .await;
        press("#edit button").await;
        let link = window
            .run("return document.querySelector('#guest-link').value")
            .await;
        window.go(link.as_str().unwrap()).await;
        assert!(
            window.text().await.contains("Ada"),
            "{}",
            window.text().await
        );
        assert!(clicks <= 5, "{clicks} clicks");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    })
    .await;
}
