//! Pages that are given again: as they were while nothing has changed, and anew as soon as anything has.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::GzDecoder;
use reqwest::Method;
use serde_json::json;

use super::{Browser, lacks, manual, shows, text};
use crate::support::house::{House, guest, with};
use crate::support::{App, new_id, on_both, reservation};

/// What a browser gets that takes a coding: the coding, and the bytes.
async fn coded(app: &App, address: &str, accepts: &str) -> (Option<String>, Vec<u8>) {
    let response = app.http.get(format!("{}{address}", app.base)).header("accept-encoding", accepts).send().await.unwrap();
    let headers = response.headers();
    assert_eq!((response.status().as_u16(), headers["cache-control"].to_str().unwrap()), (200, "no-store"));
    assert!(headers["vary"].to_str().unwrap().contains("accept-encoding") && headers.contains_key("content-security-policy"));
    let coding = headers.get("content-encoding").map(|coding| coding.to_str().unwrap().to_owned());
    (coding, response.bytes().await.unwrap().to_vec())
}

on_both! {
    async fn a_page_that_is_opened_again_is_the_same_in_every_coding(app: App) {
        let house = House::build(&app).await;
        let here = manual(&house, json!({ "title": "Pool", "description": "**Open** until ten. ".repeat(100) })).await;
        for address in [format!("/stay/{}", house.token), format!("/stay/{}/manuals/{here}", house.token)] {
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

    async fn what_has_changed_is_shown_at_once(app: App) {
        let house = House::build(&app).await;
        let title = text(&house, "manual", "Pool", "Piscina").await;
        let pool = manual(&house, json!({ "titleId": title, "description": "Open until ten." })).await;
        let details = house.step("your_details", json!({})).await;
        let mut unspoken = reservation(Some(house.flat));
        unspoken["guest"]["language"] = json!(null);
        house.org.put_record("reservation", house.stay, unspoken.clone()).await;
        let browser = Browser::new(&house);
        let speaking = async |language: &str| {
            let url = format!("{}/stay/{}", app.base, house.token);
            app.http.get(url).header("accept-language", language).send().await.unwrap().text().await.unwrap()
        };
        for _ in 0..2 {
            shows(&browser.open("").await, &["Pool", "0 of 1 done"]);
            shows(&speaking("es").await, &["Piscina", "lang=\"es\""]);
            shows(&speaking("en").await, &["Pool", "lang=\"en\""]);
            shows(&browser.open("?language=es").await, &["Piscina", "language=es"]);
        }
        // A text of the other language alone.
        let entry = format!("/translations/{}/entries/es", title.as_str().unwrap());
        house.api.ok(Method::PUT, &entry, Some(json!({ "text": "Alberca" }))).await;
        shows(&speaking("es").await, &["Alberca"]);
        shows(&browser.open("?language=es").await, &["Alberca"]);
        // What the guest does.
        house.answer(details, json!({ "firstName": "Ada" })).await.data();
        shows(&browser.open("").await, &["1 of 1 done"]);
        // The guest's own language, which comes before those that the browser accepts.
        unspoken["guest"]["language"] = json!("fr");
        house.org.put_record("reservation", house.stay, unspoken.clone()).await;
        shows(&speaking("es").await, &["lang=\"fr\""]);
        // The minute, and the day.
        let before = browser.open("?language=en").await;
        app.clock.advance(Duration::from_secs(60));
        assert_ne!(browser.open("?language=en").await, before, "the page says when it was read");
        app.clock.advance(Duration::from_secs(86_400 * 20));
        shows(&browser.open("?language=en").await, &["Today you arrive"]);
        // A manual that is gone, and a stay.
        browser.open(&format!("/manuals/{pool}")).await;
        house.api.ok(Method::PATCH, &format!("/portal-manuals/{pool}"), Some(json!({ "data": { "isActive": false } }))).await;
        lacks(&browser.open("?language=en").await, &["Pool"]);
        browser.missing(&format!("/manuals/{pool}")).await;
        let cancelled = with(reservation(Some(house.flat)), json!({ "status": "cancelled" }));
        house.org.put_record("reservation", house.stay, cancelled).await;
        shows(&browser.open("?language=en").await, &["This stay has been cancelled."]);
        house.org.delete_record("reservation", house.stay).await;
        browser.missing("?language=en").await;
    }

    async fn nobody_is_given_what_another_has_opened(app: App) {
        let house = House::build(&app).await;
        let mut other = reservation(Some(house.flat));
        other["guest"]["firstName"] = json!("Grace");
        let stay = house.org.record("reservation", other).await;
        let second = Browser::with_token(&app, &house.org.stay_token(stay).await);
        for _ in 0..2 {
            let page = Browser::new(&house).open("").await;
            shows(&page, &["Ada"]);
            lacks(&page, &["Grace"]);
            shows(&second.open("").await, &["Grace"]);
        }
        guest(&app, &new_id().to_string(), Method::GET, "", None).await.error(404);
    }
}
