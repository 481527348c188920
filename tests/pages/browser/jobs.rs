//! Browser tests that do the main job of each console screen by keyboard alone: on phone, tablet
//! and desktop, with and without the console's script.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use test_support::files::uploads;
use test_support::waiting::wait_until;
use test_support::{App, Org};

use super::console::sign_in;
use super::desk::Desk;
use super::driver::browse;
use super::window::{ENTER, PHONE, TABLET, Window};
use crate::console::things::{KEYS, Things, WEBHOOKS, submitted_stay};
use crate::oauth::connect;

const DEADLINE: Duration = Duration::from_secs(400);
const DESKTOP: (u32, u32) = (1280, 800);

const SAVE: &str = "main form[method=post] .actions button";

/// Reads the list at `path`. Returns the item whose field `field` has the value `name`.
async fn item_with(things: &Things<'_>, path: &str, field: &str, name: &str) -> Value {
    let all = things.house.api.get(path).await.data();
    all.as_array()
        .unwrap()
        .iter()
        .find(|thing| thing[field] == name)
        .unwrap_or_else(|| panic!("no {name}: {all}"))
        .clone()
}

fn id(thing: &Value) -> &str {
    thing["id"].as_str().unwrap()
}

async fn a_portal(desk: &Desk<'_>, things: &Things<'_>) {
    let name = format!("Portal {}", desk.mark);
    desk.open("").await;
    desk.enter("main a[href$='/console/portals']", "").await;
    desk.enter("main a[href$='/portals/new']", "").await;
    desk.write("#f-name", &name).await;
    desk.enter(SAVE, "").await;
    // A refused form focuses its error summary. The link in the summary leads to the field that has
    // the error.
    desk.write("#f-supportEmail", "nobody at home").await;
    desk.write("#f-supportNotes", "Ring twice").await;
    desk.enter(SAVE, "").await;
    let focused = desk.window.focused().await;
    assert_eq!(
        focused["role"], "alert",
        "the refusal has the focus: {focused}"
    );
    desk.tab("main [role=alert] a", "").await;
    desk.window.press(ENTER).await;
    desk.window
        .until(
            "the field has the focus",
            "return document.activeElement.id === 'f-supportEmail'",
        )
        .await;
    let field = desk.window.focused().await;
    assert!(
        field["isInvalid"] == true && field["described"].as_str().unwrap().trim().len() > 3,
        "it says what is wrong: {field}"
    );
    desk.write("#f-supportEmail", "hello@example.com").await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    let portal = item_with(things, "/portals", "name", &name).await;
    let portal = things
        .house
        .api
        .get(&format!("/portals/{}", id(&portal)))
        .await
        .data();
    assert_eq!(
        (&portal["supportEmail"], &portal["supportNotes"]),
        (&json!("hello@example.com"), &json!("Ring twice"))
    );

    // Next, the member assigns a flat to the portal.
    desk.enter("main .counts a", "").await;
    desk.write("main .filters input[type=search]", "flat of")
        .await;
    desk.window.leaves(desk.window.press(ENTER)).await;
    desk.tick("main input[name=assigned]").await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    let scopes = things
        .house
        .api
        .get(&format!(
            "/entity-scopes?entityType=portal_settings&entityId={}",
            id(&portal)
        ))
        .await
        .data();
    assert_eq!(
        scopes["propertyIds"].as_array().unwrap().len(),
        1,
        "{scopes}"
    );
}

async fn a_flat(desk: &Desk<'_>, things: &Things<'_>) {
    let (name, code) = (
        format!("Flat {}", desk.mark),
        format!("Street door {}", desk.mark),
    );
    desk.open("/flats").await;
    desk.enter("main a[href$='/flats/new']", "").await;
    desk.write("#f-name", &name).await;
    desk.write("#f-timezone", "Europe/Madrid").await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    // The flat's page links to the form for a door code of the flat.
    desk.enter(
        "main .parts a[href*='kind=lock_code'][href*='propertyId']",
        "",
    )
    .await;
    desk.write("#f-name", &code).await;
    desk.write("#f-code", "4711").await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    let flat = item_with(things, "/properties?limit=500", "name", &name).await;
    let found = item_with(things, "/lock-codes?limit=100", "name", &code).await;
    assert_eq!(found["propertyId"], flat["id"], "{found}");
}

async fn a_branding(desk: &Desk<'_>, things: &Things<'_>) {
    let name = format!("Branding {}", desk.mark);
    desk.open("/brandings").await;
    desk.enter("main a[href$='/brandings/new']", "").await;
    desk.write("#f-name", &name).await;
    desk.enter(SAVE, "").await;
    desk.write("#f-primaryColor", "#7c3aed").await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    assert_eq!(
        item_with(things, "/portal-brandings", "name", &name).await["primaryColor"],
        "#7c3aed"
    );
}

async fn a_step(desk: &Desk<'_>, things: &Things<'_>) {
    let api = &things.house.api;
    let name = format!("Step {}", desk.mark);
    desk.open("/steps").await;
    desk.enter("main a[href$='/steps/new']", "").await;
    desk.choose("#f-stepType", "additional_questions").await;
    desk.write("#f-nickname", &name).await;
    desk.enter(SAVE, "").await;
    desk.enter("main a[href$='/questions']", "").await;
    desk.enter("main button[value=add]", "").await;
    desk.write("#q0-text", "Do you bring a pet?").await;
    desk.choose("#q0-kind", "yes_no").await;
    desk.tick("input[name='q0.required']").await;
    desk.enter("main button[value=save]", "").await;
    desk.done().await;
    let step = item_with(things, "/precheck-steps", "nickname", &name).await;
    let step = api
        .get(&format!("/precheck-steps/{}", id(&step)))
        .await
        .data();
    assert_eq!(
        (
            &step["questions"][0]["kind"],
            &step["questions"][0]["isRequired"]
        ),
        (&json!("yes_no"), &json!(true)),
        "{step}"
    );
    // The new step moves up or down past the existing step.
    let order = async || {
        let all = api.get("/precheck-steps").await.data();
        let place = |wanted: &str| {
            all.as_array()
                .unwrap()
                .iter()
                .position(|step| id(step) == wanted)
                .unwrap()
        };
        place(id(&step)) < place(&things.questions.to_string())
    };
    let was = order().await;
    desk.open("/steps").await;
    let (way, moved) = if was {
        ("down", id(&step))
    } else {
        ("up", id(&step))
    };
    for _ in 0..8 {
        desk.enter(&format!("main button[name={way}][value='{moved}']"), "")
            .await;
        desk.done().await;
        if order().await != was {
            return;
        }
    }
    panic!("it is not moved");
}

async fn a_manual(desk: &Desk<'_>, things: &Things<'_>) {
    let name = format!("Manual {}", desk.mark);
    desk.open("/manuals").await;
    desk.enter("main a[href$='/manuals/new']", "").await;
    desk.write("#f-nickname", &name).await;
    desk.write("#f-title", "The boiler").await;
    desk.write("#f-description", "Press **twice**.").await;
    desk.enter(SAVE, "").await;
    desk.enter("main .aside a[href$='/visibility']", "").await;
    desk.tick("input[name='use.length_of_stay']").await;
    desk.write("#f-length_of_stay-lengthOfStayFromDays", "3")
        .await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    let manual = item_with(things, "/portal-manuals", "nickname", &name).await;
    assert_eq!(
        manual["visibilityRules"][0]["lengthOfStayFromDays"], 3,
        "{manual}"
    );
}

async fn a_category(desk: &Desk<'_>, things: &Things<'_>) {
    let name = format!("Category {}", desk.mark);
    desk.open("/categories").await;
    desk.write("main #title", &name).await;
    desk.window.leaves(desk.window.press(ENTER)).await;
    desk.done().await;
    desk.enter("main .list a", &name).await;
    desk.write("main #title", &format!("{name} again")).await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    item_with(
        things,
        "/portal-manual-categories",
        "title",
        &format!("{name} again"),
    )
    .await;
}

async fn a_translation(desk: &Desk<'_>, things: &Things<'_>) {
    let text = format!("Bienvenidos {}", desk.mark);
    desk.open("/translations").await;
    desk.enter(&format!("main .list a[href$='{}']", things.text), "")
        .await;
    desk.write("textarea[name='text.es']", &text).await;
    desk.enter(SAVE, "").await;
    desk.done().await;
    let all = things
        .house
        .api
        .get(&format!("/translations/{}/entries", things.text))
        .await
        .data();
    assert!(
        all.as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["language"] == "es" && entry["text"] == text.as_str()),
        "{all}"
    );
}

async fn a_submission(desk: &Desk<'_>, things: &Things<'_>) {
    let status = async |stay: &str| {
        things
            .house
            .api
            .get(&format!("/reservations/{stay}/precheckin"))
            .await
            .data()
    };
    let guest = async |name: &str| {
        submitted_stay(&things.house, things.steps, (name, "Casa"), None)
            .await
            .0
            .to_string()
    };
    let (one, other) = (guest("Grace").await, guest("Joan").await);
    desk.open("/submissions").await;
    desk.enter(&format!("main .list a[href$='{one}']"), "")
        .await;
    desk.enter("main form[action$='/approve'] button", "").await;
    desk.done().await;
    assert_eq!(status(&one).await["status"], "approved");
    desk.open("/submissions").await;
    desk.enter(&format!("main .list a[href$='{other}']"), "")
        .await;
    // The form is refused if no step is selected. The page still shows the typed message.
    desk.write(
        "main textarea[name=message]",
        "Please sign with your own name.",
    )
    .await;
    desk.enter("main form[action$='/changes'] button", "").await;
    assert_eq!(
        desk.window.focused().await["role"],
        "alert",
        "the refusal has the focus"
    );
    desk.tick("main form[action$='/changes'] input[name=step]")
        .await;
    desk.enter("main form[action$='/changes'] button", "").await;
    desk.done().await;
    let asked = status(&other).await;
    assert_eq!(
        (&asked["status"], &asked["message"]),
        (
            &json!("changes_requested"),
            &json!("Please sign with your own name.")
        )
    );
}

async fn a_stay(desk: &Desk<'_>, things: &Things<'_>) {
    desk.open("/stays").await;
    desk.write("main #query", "Casa").await;
    // The Tab key stops at the month, the day and the year of a date field. The digits fill all
    // three.
    desk.tab("main #to-day", "").await;
    desk.window.types("12312026").await;
    desk.enter("main .filters button", "").await;
    desk.enter(&format!("main .list a[href$='/{}']", things.house.stay), "")
        .await;
    desk.enter("main a[href*='/why']", "").await;
    desk.choose("main #shown", "no").await;
    desk.enter("main .filters button", "").await;
    let text = desk.window.text().await;
    assert!(
        text.contains("To change this") || text.to_lowercase().contains("change"),
        "{text}"
    );
    assert!(desk.window.path().await.contains("shown=no"));
}

async fn a_webhook(desk: &Desk<'_>, things: &Things<'_>) {
    desk.open("/webhooks").await;
    desk.enter("main a[href$='/webhooks/new']", "").await;
    desk.choose("main #event", "task.created").await;
    let url = format!("https://127.0.0.1:9/{}", desk.mark);
    desk.write("main #url", &url).await;
    desk.enter(SAVE, "").await;
    desk.enter("main a[href*='/console/webhooks/']", "").await;
    desk.enter("main form[action$='/ping'] button", "").await;
    desk.done().await;
    // The test advances the clock until the delivery has failed for the last time, and then sends
    // the delivery again.
    let path = desk.window.path().await;
    let path = path.split('?').next().unwrap().to_owned();
    wait_until("the delivery fails for the last time", async || {
        desk.app.clock.advance(Duration::from_secs(1));
        desk.app.server.dependencies.due.notify_one();
        let page = things.browser.get(&path).await.body;
        page.as_str().unwrap().contains("/deliveries/")
    })
    .await;
    desk.window.reload().await;
    desk.enter("main form[action*='/deliveries/'] button", "")
        .await;
    desk.done().await;
    desk.enter("main a[href$='/rotate']", "").await;
    desk.enter(SAVE, "").await;
    assert!(
        desk.window.text().await.contains("whsec_")
            || desk
                .window
                .run("return document.documentElement.innerHTML.includes('whsec_')")
                .await
                == true
    );
    desk.enter("main a[href*='/console/webhooks/']", "").await;
    desk.enter("main a[href$='/delete']", "").await;
    desk.enter("main button.danger", "").await;
    desk.done().await;
}

async fn a_connection(desk: &Desk<'_>, things: &Things<'_>) {
    let org = Org {
        app: desk.app,
        id: things.house.org.id,
        oauth_app: things.house.org.oauth_app,
    };
    if things
        .house
        .api
        .get("/connections")
        .await
        .data()
        .as_array()
        .unwrap()
        .is_empty()
    {
        connect(&org, things.member).await;
    }
    desk.open("/access").await;
    desk.enter("main a.danger", "").await;
    desk.enter("main button.danger", "").await;
    desk.done().await;
    assert_eq!(things.house.api.get("/connections").await.data(), json!([]));
}

async fn a_search(desk: &Desk<'_>, things: &Things<'_>, has_scripts: bool) {
    desk.open("/audit").await;
    if has_scripts {
        desk.window.press('/').await;
        assert_eq!(desk.window.focused().await["name"], "query");
    } else {
        desk.tab("#search-all", "").await;
    }
    desk.window.types("casa").await;
    desk.window.leaves(desk.window.press(ENTER)).await;
    desk.enter(
        &format!("main a[href$='/portals/{}']", things.house.portal),
        "",
    )
    .await;
    assert!(
        desk.window
            .path()
            .await
            .ends_with(&things.house.portal.to_string())
    );
}

async fn every_job(window: &Window, has_scripts: bool) {
    let app = App::on_sqlite(&[WEBHOOKS, KEYS, uploads()]).await;
    let things = Things::make(&app, "Casa").await;
    for number in 0..3 {
        let flat = json!({
            "name": format!("Flat of {number}"),
            "timezone": "Europe/Madrid",
            "country": "ES",
        });
        things.house.org.record("property", flat).await;
    }
    sign_in(window, &things).await;
    if !has_scripts {
        window.without_scripts().await;
    }
    for device in ["desktop", "tablet", "phone"] {
        match device {
            "phone" => window.held(PHONE).await,
            "tablet" => window.held(TABLET).await,
            _ => window.resize(DESKTOP).await,
        }
        let desk = Desk {
            window,
            app: &app,
            mark: format!("{device}-{has_scripts}"),
        };
        a_portal(&desk, &things).await;
        a_flat(&desk, &things).await;
        a_branding(&desk, &things).await;
        a_step(&desk, &things).await;
        a_manual(&desk, &things).await;
        a_category(&desk, &things).await;
        a_translation(&desk, &things).await;
        a_submission(&desk, &things).await;
        a_stay(&desk, &things).await;
        a_webhook(&desk, &things).await;
        a_connection(&desk, &things).await;
        a_search(&desk, &things, has_scripts).await;
    }
    let errors: Vec<String> = window.console_errors().await;
    // Some jobs cause responses with a 4xx status on purpose. The browser logs those as errors.
    let errors: Vec<_> = errors
        .iter()
        .filter(|it| !it.contains("status of 4") && !it.contains("beforeunload"))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_done_by_keyboard() {
    browse(DEADLINE, async |window| every_job(window, true).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_done_by_keyboard_without_scripts() {
    browse(DEADLINE, async |window| every_job(window, false).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tab_key_reaches_every_control_of_every_screen() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[WEBHOOKS, KEYS, uploads()]).await;
        let things = Things::make(&app, "Casa").await;
        sign_in(window, &things).await;
        // With scripts, Tab would also stop inside the preview frame.
        window.without_scripts().await;
        let desk = Desk {
            window,
            app: &app,
            mark: String::new(),
        };
        let attempts: Vec<_> = vestibule_console::addresses()
            .filter(|address| address.method == Method::GET)
            .collect();
        for (number, address) in attempts.iter().enumerate() {
            if number % 2 == 0 {
                window.held(PHONE).await;
            } else {
                window.resize(DESKTOP).await;
            }
            let at = things.at(address).remove(0);
            window.go(&format!("{}{at}", app.base)).await;
            desk.assert_tab_order().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn injected_scripts_never_run_in_the_console() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[WEBHOOKS, KEYS, uploads()]).await;
        let things = Things::make(&app, crate::console::hostile::ATTEMPT).await;
        sign_in(window, &things).await;
        for at in crate::console::hostile::all_pages(&things) {
            window.go(&format!("{}{at}", app.base)).await;
            let created = window
                .run(
                    "return document.querySelectorAll('[onerror], main script, \
                        img[src^=data]').length",
                )
                .await;
            assert_eq!(created, 0, "{at}");
            let errors = window.console_errors().await;
            assert!(errors.is_empty(), "{at}: {errors:?}");
        }
    })
    .await;
}
