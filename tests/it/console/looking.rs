//! The guest's page beside a form, as it would be with what is typed there: looking changes nothing, and is no change.

use serde_json::json;

use super::{Form, marta, page, plain, read};
use crate::support::house::House;
use crate::support::{Answer, App, on_both};

/// What is sent to be looked at: a form's fields as they are typed, to the address of the preview.
fn looking(page: &str, typed: &Form) -> Form {
    let mut form = Form::of(page, "/preview");
    form.fields.push(("look".to_owned(), "1".to_owned()));
    let own: Vec<String> = form.fields.iter().map(|(name, _)| name.clone()).collect();
    form.fields.extend(typed.fields.iter().filter(|(name, _)| !own.contains(name)).cloned());
    form
}

/// A page that stands in a frame of the console.
fn framed(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", answer.body);
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'self'") && policy.contains("default-src 'none'"), "{policy}");
    assert_ne!(answer.header("x-frame-options"), Some("DENY"));
    plain(answer.body.as_str().unwrap())
}

on_both! {
    async fn what_is_typed_is_seen_before_it_is_saved(app: App) {
        let house = House::build(&app).await;
        let path = format!("/console/portals/{}", house.portal);
        let before = read(&house.api, &format!("/portals/{}", house.portal)).await;
        let browser = marta(&house.org).await;
        let shown = page(&browser, &path).await;
        let typed = Form::of(&shown, &path)
            .with("supportNotes", "Ring <twice>")
            .with("isSpecialOfferActive", "true")
            .with("specialOfferTitle", "Late & lazy")
            .with("precheckinPromptMessage", "Tell us who comes")
            .with("supportEmail", "");
        house.step("your_details", json!({})).await;
        let seen = framed(&looking(&shown, &typed).send(&browser).await, 200);
        for said in ["Ring <twice>", "Late & lazy"] {
            assert!(seen.contains(said), "{said}: {seen}");
        }
        let french = framed(&looking(&shown, &typed).with("language", "fr").send(&browser).await, 200);
        assert!(french.contains("lang=\"fr\"") && french.contains("Late & lazy"), "{french}");
        // As it is stored, where nothing is typed.
        let stored = Form { action: String::new(), fields: Vec::new() };
        assert!(!framed(&looking(&shown, &stored).send(&browser).await, 200).contains("Ring"));
        // What cannot be saved is said in the frame; in a tab there is a link that has it all.
        let wrong = framed(&looking(&shown, &typed.clone().with("supportPhone", "nonsense")).send(&browser).await, 400);
        assert!(wrong.contains("cannot be shown yet") && wrong.contains("Support phone"), "{wrong}");
        assert_eq!(read(&house.api, &format!("/portals/{}", house.portal)).await, before);
        let rows = app.query("select count(*) from portal_preview", Vec::new(), |row| row.get::<i64>(0)).await;
        assert_eq!(rows, [0], "nothing is written by looking");
        let log = house.api.get("/audit-log").await.data().to_string();
        assert!(!log.contains("Preview"), "{log}");

        let mut in_tab = looking(&shown, &typed);
        in_tab.fields.retain(|(name, _)| name != "look");
        let answer = in_tab.send(&browser).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        let tab = browser.get(answer.header("location").unwrap()).await;
        assert!(framed(&tab, 200).contains("Ring <twice>"));
        // It is told, and is not the last who changed it.
        assert!(house.api.get("/audit-log").await.data().to_string().contains("createPortalPreview"));
        let again = page(&browser, &path).await;
        assert!(again.contains("Who changed this") && !again.contains("made a preview"), "{again}");
    }

    async fn colours_that_are_typed_are_seen_and_told(app: App) {
        let house = House::build(&app).await;
        let made = house.api.post("/portal-brandings", json!({ "name": "Mar", "primaryColor": "#0E7490", "calloutMessage": "Hello" })).await.data();
        let id = made["id"].as_str().unwrap();
        house.update_portal(house.portal, json!({ "brandingId": id })).await;
        let path = format!("/console/brandings/{id}");
        let browser = marta(&house.org).await;
        let shown = page(&browser, &path).await;
        let typed = Form::of(&shown, &path).with("primaryColor", "#abc").with("name", "Typed").with("calloutMessageId", "Come in");
        let seen = framed(&looking(&shown, &typed).send(&browser).await, 200);
        assert!(seen.contains("Typed") && seen.contains("Come in") && seen.contains("#aabbcc"), "{seen}");
        let cleared = framed(&looking(&shown, &typed.clone().with("calloutMessageId", "")).send(&browser).await, 200);
        assert!(!cleared.contains("Come in") && !cleared.contains("Hello"), "{cleared}");
        // Of a form that is shown again, its colours are told.
        let refused = typed.with("primaryColor", "#eee").with("facebookUrl", "nonsense").refused(&browser, 400).await;
        assert!(refused.contains("fill=\"#eeeeee\"") && refused.contains("1.2 · adjusted"), "{refused}");
        assert_eq!(house.api.get("/portal-brandings").await.data()[0]["primaryColor"], "#0E7490");
    }
}
