//! Tests of messages that a guest writes on the guest page.

use std::time::Duration;

use serde_json::json;
use test_support::App;
use test_support::house::House;
use test_support::{ApiResponse, new_id, on_both};
use uuid::Uuid;

use super::{StayBrowser, action, shows};

/// Returns the idempotency key of the message form.
fn key(page: &str) -> Uuid {
    let (_, rest) = page
        .split_once("name=\"key\" value=\"")
        .unwrap_or_else(|| panic!("no key: {page}"));
    rest.split('"').next().unwrap().parse().unwrap()
}

on_both!(a_guest_sends_messages_and_reads_them_again);
async fn a_guest_sends_messages_and_reads_them_again(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let page = browser.open("/messages?language=fr").await;
    shows(&page, &["Écrire à votre hôte", "Votre message"]);
    let first = key(&page).to_string();
    let sent = [
        ("text", "Bonjour,\r\nà quelle heure ?"),
        ("key", first.as_str()),
    ];
    let (address, page) = browser.fill_in(&page, "/messages", &sent).await;
    assert_eq!(
        address,
        format!("/stay/{}/messages?language=fr", house.token)
    );
    shows(&page, &["Bonjour,\nà quelle heure ?</p>"]);
    assert_ne!(
        key(&page).to_string(),
        first,
        "a new form has a key of its own"
    );
    app.clock.advance(Duration::from_millis(5));
    browser.fill_in(&page, "/messages", &sent).await;
    let (address, page) = browser
        .fill_in(
            &browser.open("/messages").await,
            "/messages",
            &[("text", "<b>Hello</b>")],
        )
        .await;
    assert_eq!(
        address,
        format!("/stay/{}/messages", house.token),
        "the redirect keeps the language"
    );
    let (hello, bonjour) = (
        page.find("&#60;b&#62;Hello").unwrap(),
        page.find("Bonjour,").unwrap(),
    );
    assert!(hello < bonjour, "the latest first");
    assert_eq!(
        page.matches("Bonjour,").count(),
        1,
        "sent twice, written once"
    );

    for text in [" ".to_owned(), "x".repeat(6001)] {
        let page = browser
            .refused(400, "/messages?language=es", &[("text", &text)])
            .await;
        shows(
            &page,
            &[
                "<a href=\"#text\">",
                "id=\"text-error\"",
                "aria-invalid=\"true\"",
                &format!("\n{text}</textarea>"),
            ],
        );
    }
    browser
        .refused(400, "/messages", &[("text", "Hello"), ("to", "all")])
        .await;
    browser
        .refused(400, "/messages", &[("text", "Hello"), ("key", "mine")])
        .await;
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let page = browser
        .refused(403, "/messages?language=fr", &[("text", "Hello")])
        .await;
    shows(
        &page,
        &["Votre hôte ne reçoit pas de messages ici.", "Bonjour,"],
    );
    assert_eq!(action(&page, "/messages"), None);
    let messages = house.submission().await["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(
        (&messages[0]["text"], &messages[1]["text"]),
        (&json!("Bonjour,\nà quelle heure ?"), &json!("<b>Hello</b>"))
    );
}

on_both!(a_repeated_key_sends_a_message_once);
async fn a_repeated_key_sends_a_message_once(app: App) {
    let house = House::build(&app).await;
    let other = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    let send = |token: String, body: serde_json::Value| {
        let request = app
            .http
            .post(format!("{}/guest/v1/stays/{token}/messages", app.base))
            .json(&body);
        async move { ApiResponse::of(request).await }
    };
    let (one, two) = (new_id(), new_id());
    let first = send(house.token.clone(), json!({ "text": "One", "key": one }))
        .await
        .data();
    assert_eq!(
        send(
            house.token.clone(),
            json!({ "text": "Changed", "key": one })
        )
        .await
        .data(),
        first
    );
    for token in [&house.token, &other] {
        let written = send(token.clone(), json!({ "text": "Two", "key": two }))
            .await
            .data();
        assert_eq!(written["text"], "Two", "a key is a stay's own");
    }
    send(house.token.clone(), json!({ "text": "Three" }))
        .await
        .data();
    send(house.token.clone(), json!({ "text": "Three" }))
        .await
        .data();
    assert_eq!(
        send(house.token.clone(), json!({ "text": "x", "key": "mine" }))
            .await
            .issues(),
        ["key"]
    );
    assert_eq!(
        house.submission().await["messages"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}
