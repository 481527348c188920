//! Browser tests of the first start: a person gets from the set-up link of a new server to a
//! guest's page, and every screen for records kept by hand is accessible without scripts (rules:
//! organizations#first-start; records#records-by-hand).

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use test_support::files::uploads;
use test_support::server_process::{ServerProcess, serve};
use test_support::{App, new_id};

use super::axe;
use super::console::sign_in;
use super::driver::browse;
use super::people::press;
use super::window::{DESKTOP, PHONE, Window};
use crate::console::things::{KEYS, Things, WEBHOOKS};

const DEADLINE: Duration = Duration::from_secs(400);
/// Maximum time from the start of the server until the guest's page is open.
const MAX_DURATION: Duration = Duration::from_secs(180);
/// Maximum number of times that the person clicks a link, a button or another control until the
/// guest's page is open.
const MAX_CLICKS: u32 = 9;

/// A person who clicks and types in a window. Counts the clicks.
struct Person<'w> {
    window: &'w Window,
    clicks: u32,
}

impl Person<'_> {
    /// Clicks a link or a button that leads to another page.
    async fn press(&mut self, selector: &str) {
        self.clicks += 1;
        press(self.window, selector).await;
    }

    /// Replaces the content of a field.
    async fn write(&self, selector: &str, text: &str) {
        self.window
            .run(&format!("document.querySelector({selector:?}).focus()"))
            .await;
        self.window.empties().await;
        self.window.types(text).await;
    }

    /// Enters a date into a date field. A script sets the value, because the order of the keys for
    /// day, month and year depends on the browser's language.
    async fn enter_day(&self, selector: &str, day: &str) {
        self.window
            .run(&format!(
                "document.querySelector({selector:?}).value = {day:?}"
            ))
            .await;
    }
}

/// Runs `vestibule setup-link` beside a running server and returns the link that the command
/// prints.
fn setup_link(database: &str, base: &str) -> String {
    let output = Command::new(test_support::program())
        .args(["setup-link", "--database-url", database])
        .args(["--public-url", base])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let link = text
        .split_whitespace()
        .find(|word| word.starts_with(base))
        .unwrap_or_else(|| panic!("{text}"));
    link.to_owned()
}

/// Sets up an organization, a portal, a flat and a stay in the console, and opens the guest's page.
async fn set_up(window: &Window) {
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let database = format!(
        "sqlite:{}",
        folder.path().join("vestibule.db").to_str().unwrap()
    );
    let server = ServerProcess::start(&mut serve(&database, &[]));
    window.go(&setup_link(&database, &server.base)).await;
    let mut person = Person { window, clicks: 0 };
    for (field, text) in [
        ("#organization", "Casa Mar"),
        ("#country", "ES"),
        ("#timezone", "Europe/Madrid"),
        ("#name", "Marta"),
        ("#email", "marta@example.com"),
    ] {
        person.write(field, text).await;
    }
    person.press("main button").await;
    assert_eq!(window.path().await, "/console");
    person.press("main a[href$='/console/portals/new']").await;
    person.write("#f-name", "Casa Mar").await;
    person.press("#edit button").await;
    person.press(".brand a[href$='/console']").await;
    person.press("main a[href$='/console/flats/new']").await;
    person.write("#f-name", "Flat 1").await;
    person.press("#edit button").await;
    // The first portal serves every flat. The flat's page names that portal, and links to the form
    // for a new stay in the flat.
    let parts = window
        .run("return document.querySelector('.parts').innerText")
        .await;
    assert!(parts.as_str().unwrap().contains("Casa Mar"), "{parts}");
    person
        .press(".parts a[href*='kind=reservation'][href*='propertyId']")
        .await;
    person.enter_day("#f-checkIn", "2027-06-11").await;
    person.enter_day("#f-checkOut", "2027-06-15").await;
    person.write("#f-guest-firstName", "Ada").await;
    person.press("#edit button").await;
    person.clicks += 1;
    window.clicks("main details:has(#guest-link) summary").await;
    let link = window
        .run("return document.querySelector('#guest-link').value")
        .await;
    window.go(link.as_str().unwrap()).await;
    let page = window.text().await;
    assert!(page.contains("Ada") && page.contains("Flat 1"), "{page}");
    assert!(
        person.clicks <= MAX_CLICKS,
        "{} clicks in place of {MAX_CLICKS}",
        person.clicks
    );
    let taken = begun.elapsed();
    assert!(taken < MAX_DURATION, "{taken:?}");
    assert!(window.console_errors().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_gets_from_a_new_server_to_a_guests_page_in_nine_clicks() {
    browse(DEADLINE, async |window| {
        window.resize(DESKTOP).await;
        set_up(window).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_with_a_phone_and_no_scripts_gets_there_too() {
    browse(DEADLINE, async |window| {
        window.without_scripts().await;
        window.resize(PHONE).await;
        set_up(window).await;
    })
    .await;
}

/// The kinds of records that members can create and change in the console (rules:
/// records#records-by-hand).
const KINDS: [&str; 13] = [
    "property",
    "property_group",
    "tag",
    "reservation",
    "lock_code",
    "instruction",
    "upsell",
    "fee_product",
    "damage_waiver",
    "payment_account",
    "custom_field",
    "custom_url",
    "background_check_account",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn screens_of_records_pass_the_accessibility_checks_without_scripts() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[WEBHOOKS, KEYS, uploads()]).await;
        let things = Things::make(&app, "Casa").await;
        // With more than 300 flats, a form offers a search by name instead of a list of flats.
        let flat = |number: u32| {
            json!({
                "kind": "property",
                "id": new_id(),
                "data": {
                    "name": format!("Flat {number}"),
                    "timezone": "Europe/Madrid",
                    "country": "ES",
                },
            })
        };
        let flats: Vec<_> = (0..=300).map(flat).collect();
        things.house.org.sync(flats.into()).await.data();
        sign_in(window, &things).await;
        let mut paths: Vec<String> = [
            String::new(),
            format!("/flats/{}", things.house.flat),
            format!("/flats/{}?kind=reservation", things.house.stay),
            "/flats?query=nothing".to_owned(),
            "/calendars".to_owned(),
            "/calendars/new".to_owned(),
            format!("/calendars/{}", things.feed),
            "/access/members/new".to_owned(),
            "/ready-set".to_owned(),
        ]
        .into();
        for kind in KINDS {
            paths.push(format!("/flats?kind={kind}"));
            paths.push(format!("/flats/new?kind={kind}"));
            paths.push(format!("/flats/import?kind={kind}"));
        }
        let mut results = Vec::new();
        for path in &paths {
            for (width, size) in [(390, PHONE), (1280, DESKTOP)] {
                window.resize(size).await;
                let page = format!("{}/console{path}", app.base);
                for violation in axe::violations_without_scripts(window, &page).await {
                    results.push(format!("{path} at {width} px: {violation}"));
                }
            }
        }
        assert!(results.is_empty(), "{}", results.join("\n"));
    })
    .await;
}
