//! Tests of messages from a guest to the host.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use test_support::house::House;
use test_support::{App, on_both};

on_both!(a_guest_sends_messages_to_the_host);
async fn a_guest_sends_messages_to_the_host(app: App) {
    let house = House::build(&app).await;
    assert_eq!(house.submission().await["messages"], json!([]));
    for text in ["Is there parking?", "  And a sauna?\n"] {
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(house.say(text).await.status, 201);
    }
    for (body, issues) in [
        (json!({ "text": "" }), ["text"]),
        (json!({ "text": " \n\t" }), ["text"]),
        (json!({ "text": null }), ["text"]),
        (json!({}), ["text"]),
        (json!({ "text": "Hello", "to": "host" }), ["to"]),
    ] {
        assert_eq!(
            house
                .guest(Method::POST, "/messages", Some(body.clone()))
                .await
                .issues(),
            issues,
            "{body}"
        );
    }
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    assert_eq!(house.say("Anyone?").await.error(403)["code"], "FORBIDDEN");
    let messages = house.submission().await["messages"].clone();
    let texts: Vec<&Value> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["text"])
        .collect();
    assert_eq!(texts, ["Is there parking?", "  And a sauna?\n"]);
}
