//! Tests of the preview of the guest page, which the console shows beside a form. The preview shows
//! the unsaved values of the form and does not save them.

use serde_json::json;
use test_support::house::House;
use test_support::{ApiResponse, App, on_both};

use super::{Form, marta, page, plain, read};

/// Returns the form on `page` that requests the preview in the frame of that page. Adds the values
/// of `typed`, the form that the member filled in.
fn preview_form(page: &str, typed: &Form) -> Form {
    let mut form = Form::of(page, "/preview");
    form.fields.push(("look".to_owned(), "1".to_owned()));
    let own: Vec<String> = form.fields.iter().map(|(name, _)| name.clone()).collect();
    form.fields.extend(
        typed
            .fields
            .iter()
            .filter(|(name, _)| !own.contains(name))
            .cloned(),
    );
    form
}

/// Returns a page that the console may show in a frame, after checking its status and headers.
fn framed(response: &ApiResponse, status: u16) -> String {
    assert_eq!(response.status, status, "{}", response.body);
    let policy = response.header("content-security-policy").unwrap();
    assert!(
        policy.contains("frame-ancestors 'self'") && policy.contains("default-src 'none'"),
        "{policy}"
    );
    assert_ne!(response.header("x-frame-options"), Some("DENY"));
    plain(response.body.as_str().unwrap())
}

on_both!(the_preview_shows_typed_values_before_saving);
async fn the_preview_shows_typed_values_before_saving(app: App) {
    let house = House::build(&app).await;
    let path = format!("/console/portals/{}", house.portal);
    let before = read(&house.api, &format!("/portals/{}", house.portal)).await;
    let browser = marta(&house.org).await;
    let html = page(&browser, &path).await;
    let typed = Form::of(&html, &path)
        .with("supportNotes", "Ring <twice>")
        .with("isSpecialOfferActive", "true")
        .with("specialOfferTitle", "Late & lazy")
        .with("precheckinPromptMessage", "Tell us who comes")
        .with("supportEmail", "");
    house.step("your_details", json!({})).await;
    let preview = framed(&preview_form(&html, &typed).send(&browser).await, 200);
    for text in ["Ring <twice>", "Late & lazy"] {
        assert!(preview.contains(text), "{text}: {preview}");
    }
    let french = framed(
        &preview_form(&html, &typed)
            .with("language", "fr")
            .send(&browser)
            .await,
        200,
    );
    assert!(
        french.contains("lang=\"fr\"") && french.contains("Late & lazy"),
        "{french}"
    );
    // A preview without typed values shows the stored portal.
    let stored = Form {
        action: String::new(),
        fields: Vec::new(),
    };
    assert!(!framed(&preview_form(&html, &stored).send(&browser).await, 200).contains("Ring"));
    // If a typed value is invalid, the frame shows an error in place of the preview.
    let wrong = framed(
        &preview_form(&html, &typed.clone().with("supportPhone", "nonsense"))
            .send(&browser)
            .await,
        400,
    );
    assert!(
        wrong.contains("cannot be shown yet") && wrong.contains("Support phone"),
        "{wrong}"
    );
    assert_eq!(
        read(&house.api, &format!("/portals/{}", house.portal)).await,
        before
    );
    let rows = app
        .query("select count(*) from portal_preview", Vec::new(), |row| {
            row.get::<i64>(0)
        })
        .await;
    assert_eq!(rows, [0], "a preview in the frame stores nothing");
    let log = house.api.get("/audit-log").await.data().to_string();
    assert!(!log.contains("Preview"), "{log}");

    let mut tab_form = preview_form(&html, &typed);
    tab_form.fields.retain(|(name, _)| name != "look");
    let response = tab_form.send(&browser).await;
    assert_eq!(response.status, 303, "{}", response.body);
    let tab = browser.get(response.header("location").unwrap()).await;
    assert!(framed(&tab, 200).contains("Ring <twice>"));
    // A preview that the member opens in a tab adds an entry to the audit log. The portal's
    // page does not list that entry among the portal's changes.
    assert!(
        house
            .api
            .get("/audit-log")
            .await
            .data()
            .to_string()
            .contains("createPortalPreview")
    );
    let again = page(&browser, &path).await;
    assert!(
        again.contains("Who changed this") && !again.contains("created a preview"),
        "{again}"
    );
}

on_both!(typed_colours_are_previewed_and_rated);
async fn typed_colours_are_previewed_and_rated(app: App) {
    let house = House::build(&app).await;
    let created = house
        .api
        .post(
            "/portal-brandings",
            json!({ "name": "Mar", "primaryColor": "#0E7490", "calloutMessage": "Hello" }),
        )
        .await
        .data();
    let id = created["id"].as_str().unwrap();
    house
        .update_portal(house.portal, json!({ "brandingId": id }))
        .await;
    let path = format!("/console/brandings/{id}");
    let browser = marta(&house.org).await;
    let html = page(&browser, &path).await;
    let typed = Form::of(&html, &path)
        .with("primaryColor", "#abc")
        .with("name", "Typed")
        .with("calloutMessageId", "Come in");
    let preview = framed(&preview_form(&html, &typed).send(&browser).await, 200);
    assert!(
        preview.contains("Typed") && preview.contains("Come in") && preview.contains("#aabbcc"),
        "{preview}"
    );
    let cleared = framed(
        &preview_form(&html, &typed.clone().with("calloutMessageId", ""))
            .send(&browser)
            .await,
        200,
    );
    assert!(
        !cleared.contains("Come in") && !cleared.contains("Hello"),
        "{cleared}"
    );
    // A refused form shows the contrast of the colours that the member typed, not that of the
    // stored colours.
    let refused = typed
        .with("primaryColor", "#eee")
        .with("facebookUrl", "nonsense")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("fill=\"#eeeeee\"") && refused.contains("1.2 · adjusted"),
        "{refused}"
    );
    assert_eq!(
        house.api.get("/portal-brandings").await.data()[0]["primaryColor"],
        "#0E7490"
    );
}
