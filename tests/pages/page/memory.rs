//! Tests of guest pages that the server caches. A page stays the same while nothing changes, and is
//! rendered again after any write.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::GzDecoder;
use reqwest::Method;
use serde_json::json;
use test_support::house::{House, guest, with};
use test_support::{App, new_id, on_both, reservation};

use super::{StayBrowser, lacks, manual, shows, text};

/// Requests a page with an `Accept-Encoding` header. Returns the content coding and the bytes of
/// the response.
async fn coded(app: &App, address: &str, accepts: &str) -> (Option<String>, Vec<u8>) {
    let response = app
        .http
        .get(format!("{}{address}", app.base))
        .header("accept-encoding", accepts)
        .send()
        .await
        .unwrap();
    let headers = response.headers();
    assert_eq!(
        (
            response.status().as_u16(),
            headers["cache-control"].to_str().unwrap()
        ),
        (200, "no-store")
    );
    assert!(
        headers["vary"]
            .to_str()
            .unwrap()
            .contains("accept-encoding")
            && headers.contains_key("content-security-policy")
    );
    let coding = headers
        .get("content-encoding")
        .map(|coding| coding.to_str().unwrap().to_owned());
    (coding, response.bytes().await.unwrap().to_vec())
}

on_both!(a_reopened_page_is_the_same_in_every_content_coding);
async fn a_reopened_page_is_the_same_in_every_content_coding(app: App) {
    let house = House::build(&app).await;
    let here = manual(
        &house,
        json!({ "title": "Pool", "description": "**Open** until ten. ".repeat(100) }),
    )
    .await;
    for address in [
        format!("/stay/{}", house.token),
        format!("/stay/{}/manuals/{here}", house.token),
    ] {
        let (first, plain) = coded(&app, &address, "identity").await;
        assert_eq!(first, None);
        for coding in ["gzip", "br", "gzip", "br", "identity"] {
            let (sent, bytes) = coded(&app, &address, coding).await;
            assert_eq!(sent.as_deref(), (coding != "identity").then_some(coding));
            assert_eq!(bytes == plain, coding == "identity");
            if coding == "gzip" {
                let mut read = Vec::new();
                GzDecoder::new(&bytes[..]).read_to_end(&mut read).unwrap();
                assert!(read == plain);
            }
        }
    }
}

on_both!(changes_are_shown_on_the_page_at_once);
async fn changes_are_shown_on_the_page_at_once(app: App) {
    let house = House::build(&app).await;
    let title = text(&house, "manual", "Pool", "Piscina").await;
    let pool = manual(
        &house,
        json!({ "titleId": title, "description": "Open until ten." }),
    )
    .await;
    let details = house.step("your_details", json!({})).await;
    let mut unspoken = reservation(Some(house.flat));
    unspoken["guest"]["language"] = json!(null);
    house
        .org
        .put_record("reservation", house.stay, unspoken.clone())
        .await;
    let browser = StayBrowser::new(&house);
    let speaking = async |language: &str| {
        let url = format!("{}/stay/{}", app.base, house.token);
        app.http
            .get(url)
            .header("accept-language", language)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    };
    for _ in 0..2 {
        shows(&browser.open("").await, &["Pool", "0 of 1 done"]);
        shows(&speaking("es").await, &["Piscina", "lang=\"es\""]);
        shows(&speaking("en").await, &["Pool", "lang=\"en\""]);
        shows(
            &browser.open("?language=es").await,
            &["Piscina", "language=es"],
        );
    }
    // Only the Spanish version of the title changes. The Spanish page then shows the new title.
    let entry = format!("/translations/{}/entries/es", title.as_str().unwrap());
    house
        .api
        .ok(Method::PUT, &entry, Some(json!({ "text": "Alberca" })))
        .await;
    shows(&speaking("es").await, &["Alberca"]);
    shows(&browser.open("?language=es").await, &["Alberca"]);
    // A saved answer of the guest changes the progress on the page.
    house
        .answer(details, json!({ "firstName": "Ada" }))
        .await
        .data();
    shows(&browser.open("").await, &["1 of 1 done"]);
    // The guest's own language takes precedence over the browser's languages.
    unspoken["guest"]["language"] = json!("fr");
    house
        .org
        .put_record("reservation", house.stay, unspoken.clone())
        .await;
    shows(&speaking("es").await, &["lang=\"fr\""]);
    // The page also changes without a write. It contains the current time, which changes after a
    // minute. On the day of arrival, it says that the guest arrives today.
    let before = browser.open("?language=en").await;
    app.clock.advance(Duration::from_secs(60));
    assert_ne!(
        browser.open("?language=en").await,
        before,
        "the page says when it was read"
    );
    app.clock.advance(Duration::from_secs(86_400 * 20));
    shows(&browser.open("?language=en").await, &["You arrive today"]);
    // The page changes when the host deactivates a manual, and when the platform cancels or
    // deletes the stay.
    browser.open(&format!("/manuals/{pool}")).await;
    house
        .api
        .ok(
            Method::PATCH,
            &format!("/portal-manuals/{pool}"),
            Some(json!({ "data": { "isActive": false } })),
        )
        .await;
    lacks(&browser.open("?language=en").await, &["Pool"]);
    browser.open_missing(&format!("/manuals/{pool}")).await;
    let cancelled = with(
        reservation(Some(house.flat)),
        json!({ "status": "cancelled" }),
    );
    house
        .org
        .put_record("reservation", house.stay, cancelled)
        .await;
    shows(
        &browser.open("?language=en").await,
        &["This stay has been cancelled."],
    );
    house.org.delete_record("reservation", house.stay).await;
    browser.open_missing("?language=en").await;
}

on_both!(cached_pages_are_never_shown_to_another_guest);
async fn cached_pages_are_never_shown_to_another_guest(app: App) {
    let house = House::build(&app).await;
    let mut other = reservation(Some(house.flat));
    other["guest"]["firstName"] = json!("Grace");
    let stay = house.org.record("reservation", other).await;
    let second = StayBrowser::with_token(&app, &house.org.stay_token(stay).await);
    for _ in 0..2 {
        let page = StayBrowser::new(&house).open("").await;
        shows(&page, &["Ada"]);
        lacks(&page, &["Grace"]);
        shows(&second.open("").await, &["Grace"]);
    }
    guest(&app, &new_id().to_string(), Method::GET, "", None)
        .await
        .error(404);
}
