//! The console, as a browser shows it: judged by axe, used by the keyboard, with its script and without.

use std::time::Duration;

use serde_json::{Value, json};

use super::axe;
use super::driver::browse;
use super::people::{judged, press, speak};
use super::window::{ENTER, Window};
use crate::people::{ada, link_for};
use crate::support::{Api, App, Org};

const DEADLINE: Duration = Duration::from_secs(400);

/// What there is to see: a thing of each sort.
struct Things {
    portal: String,
    branding: String,
    step: String,
    questions: String,
    manual: String,
    category: String,
    text: String,
}

async fn made(api: &Api, path: &str, body: Value) -> Value {
    api.post(path, body).await.data()
}

fn id(thing: &Value) -> String {
    thing["id"].as_str().unwrap().to_owned()
}

impl Things {
    async fn make(org: &Org<'_>) -> Self {
        let api = org.key().await;
        let (group, tag) = (org.group().await, org.tag().await);
        let property = org.property(Some(group), &[tag]).await;
        let branding =
            id(&made(&api, "/portal-brandings", json!({ "name": "Casa Azul", "primaryColor": "#0E7490", "calloutMessage": "Welcome" }))
                .await);
        let portal = json!({ "name": "Casa Azul", "brandingId": branding, "isDefault": true, "specialOfferTitle": "Late check-out" });
        let portal = id(&made(&api, "/portals", portal).await);
        let scope = json!({ "entityType": "portal_settings", "entityId": portal, "propertyIds": [property] });
        made(&api, "/entity-scopes/add", scope).await;
        let step = json!({ "stepType": "damage_deposit", "nickname": "Deposit", "minLos": 2, "displayTitle": "Your deposit" });
        let step = id(&made(&api, "/precheck-steps", step).await);
        let text = id(&made(&api, "/translations", json!({ "sourceTable": "precheck_question", "text": "Do you bring a pet?" })).await);
        let question = json!({ "kind": "yes_no", "textMlTextId": text });
        let questions = json!({ "stepType": "additional_questions", "nickname": "Pets", "questions": [question] });
        let questions = id(&made(&api, "/precheck-steps", questions).await);
        made(&api, "/precheck-steps", json!({ "stepType": "damage_deposit", "nickname": "Another" })).await;
        let category = id(&made(&api, "/portal-manual-categories", json!({ "title": "Essentials" })).await);
        made(&api, "/portal-manual-categories", json!({ "title": "Around" })).await;
        let rule = json!({ "ruleCategory": "seasonal", "seasonalWindows": [{ "startDate": "2027-06-01", "endDate": "2027-08-31" }] });
        let manual = json!({
            "nickname": "Wi-Fi", "title": "Wi-Fi", "description": "Network **Casa**", "iconName": "wifi", "manualCategoryId": category,
            "visibilityRules": [rule],
        });
        let manual = made(&api, "/portal-manuals", manual).await;
        Self { portal, branding, step, questions, text: manual["titleId"].as_str().unwrap().to_owned(), manual: id(&manual), category }
    }

    fn addresses(&self) -> Vec<(&'static str, String)> {
        let Self { portal, branding, step, questions, manual, category, text } = self;
        vec![
            ("home", String::new()),
            ("portals", "/portals".into()),
            ("portal", format!("/portals/{portal}")),
            ("new-portal", "/portals/new".into()),
            ("brandings", "/brandings".into()),
            ("branding", format!("/brandings/{branding}")),
            ("assignments", format!("/assignments/portals/{portal}")),
            ("steps", "/steps".into()),
            ("new-step", "/steps/new".into()),
            ("step", format!("/steps/{step}")),
            ("questions", format!("/steps/{questions}/questions")),
            ("manuals", "/manuals".into()),
            ("manual", format!("/manuals/{manual}")),
            ("icons", format!("/manuals/{manual}/icon?query=wifi")),
            ("visibility", format!("/manuals/{manual}/visibility")),
            ("categories", "/categories".into()),
            ("category", format!("/categories/{category}")),
            ("translations", "/translations".into()),
            ("translation", format!("/translations/{text}")),
            ("missing", "/nothing".into()),
        ]
    }
}

/// Signs a member in, in the window.
async fn enter(window: &Window, org: &Org<'_>) {
    let made = link_for(org, ada(org).await, json!({ "returnTo": "/console" })).await.data();
    window.go(made["url"].as_str().unwrap()).await;
    press(window, "main button").await;
    window.until("the console", "return location.pathname === '/console'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_wrong_with_any_screen() {
    if !axe::is_there() {
        return;
    }
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&["--rate-limit-per-minute=0", "--rate-limit-per-second=0"]).await;
        let org = app.org_with(json!({ "name": "Casa Azul", "languages": ["en", "es", "fr"] })).await;
        let things = Things::make(&org).await;
        axe::install(window).await;
        enter(window, &org).await;
        let mut found = Vec::new();
        for language in ["en", "es", "fr"] {
            speak(window, language).await;
            for (name, path) in things.addresses() {
                window.go(&format!("{}/console{path}", app.base)).await;
                judged(window, &format!("{name}-{language}"), &mut found).await;
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_portal_is_changed_by_the_keyboard_with_and_without_scripts() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let org = app.org().await;
        let things = Things::make(&org).await;
        enter(window, &org).await;
        let address = format!("{}/console/portals/{}", app.base, things.portal);
        for (number, has_scripts) in [true, false].into_iter().enumerate() {
            if !has_scripts {
                window.without_scripts().await;
            }
            window.go(&address).await;
            let is = |name: &'static str| move |focused: &Value| focused.to_string().contains(name);
            window.tabs_to("the notes", is("f-supportNotes")).await;
            window.types(&format!(" night {number}")).await;
            window.tabs_to("the button", is("Save")).await;
            window.press(ENTER).await;
            window.until("saved", "return !!document.querySelector('.done')").await;
            let notes = org.key().await.get(&format!("/portals/{}", things.portal)).await.data()["supportNotes"].clone();
            assert!(notes.as_str().unwrap().contains(&format!("night {number}")), "{notes}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_script_makes_it_handier() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let org = app.org().await;
        let things = Things::make(&org).await;
        enter(window, &org).await;
        let go = async |path: &str| window.go(&format!("{}/console{path}", app.base)).await;
        go(&format!("/portals/{}", things.portal)).await;
        let shown = "const frame = document.querySelector('iframe'); return !!frame.contentDocument && frame.contentDocument.body.textContent.includes('Casa Azul')";
        window.until("the guest's page beside the form", shown).await;
        go(&format!("/manuals/{}", things.manual)).await;
        let typed = "const area = document.querySelector('[data-render]'); area.value = '# Night'; area.dispatchEvent(new Event('input', { bubbles: true }))";
        window.run(typed).await;
        window.until("the text as it will look", "return document.querySelector('.rendered h3')?.textContent === 'Night'").await;
        go(&format!("/manuals/{}/visibility", things.manual)).await;
        let hidden = "const box = document.getElementsByName('use.relative_date')[0]; return getComputedStyle(box.closest('section').querySelector('.rule-fields')).display === 'none'";
        assert_eq!(window.run(hidden).await, json!(true));
        go(&format!("/brandings/{}", things.branding)).await;
        let picked = "const picker = document.querySelector('input[type=color]'); picker.value = '#112233'; picker.dispatchEvent(new Event('input')); return picker.nextElementSibling.value";
        assert_eq!(window.run(picked).await, json!("#112233"));
        let complaints: Vec<String> = window.complaints().await;
        // Nobody has touched the page that was left with something typed.
        let complaints: Vec<_> = complaints.iter().filter(|complaint| !complaint.contains("beforeunload")).collect();
        assert!(complaints.is_empty(), "{complaints:?}");
    })
    .await;
}
