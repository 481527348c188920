//! Tests of the guest page on each day of the stay, in the time zone of the flat.

use std::time::Duration;

use serde_json::json;
use test_support::App;
use test_support::house::{House, with};
use test_support::{on_both, reservation};

use super::{StayBrowser, lacks, manual, shows};

const DAY: Duration = Duration::from_secs(86_400);

on_both!(the_page_follows_the_phase_of_the_stay);
async fn the_page_follows_the_phase_of_the_stay(app: App) {
    let house = House::build(&app).await;
    let offer = json!({
        "isSpecialOfferActive": true,
        "specialOfferTitle": "Stay longer",
        "isReviewRequestCheckinEnabled": true,
        "isReviewRequestCheckoutEnabled": true,
    });
    house.update_portal(house.portal, offer).await;
    let step = house.step("main", json!({})).await;
    let door = manual(
        &house,
        json!({ "title": "Door code", "description": "4711", "iconName": "key-round" }),
    )
    .await;
    let wifi = manual(
        &house,
        json!({ "title": "Network", "description": "casa", "iconName": "wifi" }),
    )
    .await;
    let leaving = manual(
        &house,
        json!({ "title": "Before you go", "description": "Keys", "iconName": "log-out" }),
    )
    .await;
    let browser = StayBrowser::new(&house);
    let open =
        |manual: uuid::Uuid| format!("<details class=\"manual\" id=\"manual-{manual}\" open>");

    // The tests' clock starts on 21 November. The stay is from 11 to 15 December, in Madrid.
    let page = browser.open("").await;
    shows(
        &page,
        &[
            "Friday 11 December",
            "4 nights",
            "from 15:00",
            "by 11:00",
            "0 of 1 done",
            "Stay longer",
            "stay.ics",
        ],
    );
    shows(
        &page,
        &[&format!(
            "class=\"button first\" href=\"/stay/{}/steps/{step}\"",
            house.token
        )],
    );
    lacks(
        &page,
        &[
            &open(door),
            "You arrive today",
            "Has everything been all right",
        ],
    );

    app.clock.advance(DAY * 20);
    let page = browser.open("").await;
    shows(
        &page,
        &["You arrive today", "At the door", &open(door), &open(wifi)],
    );
    assert!(
        page.find(&open(door)) < page.find(&open(wifi))
            && page.find(&open(wifi)) < page.find("id=\"precheckin\""),
        "{page}"
    );
    shows(&page, &["id=\"precheckin\"><details", "0 of 1 done"]);
    lacks(&page, &[&open(leaving)]);

    app.clock.advance(DAY);
    shows(
        &browser.open("").await,
        &[
            "You are here until Tuesday 15 December",
            &open(door),
            "Has everything been all right so far?",
        ],
    );

    app.clock.advance(DAY * 3);
    let page = browser.open("").await;
    shows(
        &page,
        &[
            "Departure day",
            "Please leave by 11:00",
            "Before you leave",
            &open(leaving),
        ],
    );
    lacks(&page, &[&open(door)]);

    app.clock.advance(DAY);
    let page = browser.open("").await;
    shows(
        &page,
        &["Thank you for staying", "Stay longer", "How was your stay?"],
    );
    lacks(&page, &["id=\"precheckin\"", "<form", "stay.ics"]);

    let cancelled = with(
        reservation(Some(house.flat)),
        json!({ "status": "cancelled" }),
    );
    house
        .org
        .put_record("reservation", house.stay, cancelled)
        .await;
    let page = browser.open("").await;
    shows(&page, &["This stay has been cancelled."]);
    lacks(
        &page,
        &["4711", "id=\"precheckin\"", "Stay longer", "/messages"],
    );
}

on_both!(the_built_in_prompt_fits_the_phase);
async fn the_built_in_prompt_fits_the_phase(app: App) {
    let house = House::build(&app).await;
    house.step("main", json!({})).await;
    let browser = StayBrowser::new(&house);
    let before = "Please complete your pre-check-in before you arrive.";
    let later = "There is something for you to do.";
    let page = browser.open("").await;
    shows(&page, &[before]);
    lacks(&page, &[later]);
    app.clock.advance(DAY * 20);
    let page = browser.open("").await;
    shows(&page, &[later]);
    lacks(&page, &[before]);
    shows(
        &browser.open("?language=de").await,
        &["Hier müssen Sie noch etwas tun."],
    );
    // If the host has written a prompt, the page shows the host's prompt and no standard
    // prompt.
    let own = json!({ "precheckinPromptMessage": "Fill this in early" });
    house.update_portal(house.portal, own).await;
    let page = browser.open("").await;
    shows(&page, &["Fill this in early"]);
    lacks(&page, &[later]);
}

on_both!(the_page_language_follows_request_reservation_and_browser);
async fn the_page_language_follows_request_reservation_and_browser(app: App) {
    let house = House::build(&app).await;
    let unknown = json!({ "guest": { "firstName": "Ada" } });
    house
        .org
        .put_record(
            "reservation",
            house.stay,
            with(reservation(Some(house.flat)), unknown),
        )
        .await;
    let browser = StayBrowser::new(&house);
    let asking = |rest: &str, accepted: &str| {
        browser
            .http
            .get(format!("{}/stay/{}{rest}", app.base, house.token))
            .header("accept-language", accepted)
    };
    shows(
        &browser
            .page_of(200, asking("", "sv, ar;q=0.9, en;q=0.8"))
            .await,
        &["lang=\"ar\" dir=\"rtl\""],
    );
    shows(
        &browser.page_of(200, asking("?language=fr", "ar")).await,
        &["lang=\"fr\" dir=\"ltr\"", "Votre séjour"],
    );
    shows(
        &browser
            .page_of(200, asking("?language=xx-yy-zz", "de"))
            .await,
        &["lang=\"de\"", "Freitag, 11. Dezember"],
    );
    shows(
        &browser.page_of(200, asking("?language=sv", "")).await,
        &["lang=\"en\"", "Your stay"],
    );
    shows(
        &browser.page_of(404, asking("/nowhere", "it")).await,
        &["lang=\"it\""],
    );
    // The reservation's language takes precedence over the browser's languages.
    house
        .org
        .put_record("reservation", house.stay, reservation(Some(house.flat)))
        .await;
    shows(
        &browser.page_of(200, asking("", "de")).await,
        &["lang=\"en\""],
    );
}
