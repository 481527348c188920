//! Tests of the parts of the guest page that flags of the portal switch on: issues, surveys,
//! extras, instructions, tiles and header.

use std::time::Duration;

use serde_json::json;
use test_support::App;
use test_support::house::House;
use test_support::on_both;

use super::{StayBrowser, action, between, lacks, manual, shows};

const DAY: Duration = Duration::from_secs(86_400);

on_both!(a_guest_reports_an_issue_without_a_script);
async fn a_guest_reports_an_issue_without_a_script(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let link = format!("href=\"/stay/{}/issues?language=fr\"", house.token);
    shows(&browser.open("?language=fr").await, &[&link]);
    let page = browser.open("/issues?language=fr").await;
    shows(
        &page,
        &[
            "<h1>Signaler un problème</h1>",
            "name=\"text\"",
            "name=\"key\"",
        ],
    );
    let (address, page) = browser
        .fill_in(&page, "/issues", &[("text", "<b>La douche</b>\r\ngoutte")])
        .await;
    assert!(
        address.ends_with("/issues?language=fr&sent=true"),
        "{address}"
    );
    shows(
        &page,
        &[
            "Merci. Votre hôte a été prévenu.",
            "Vos signalements",
            "&#60;b&#62;La douche&#60;/b&#62;\ngoutte",
        ],
    );
    assert_eq!(
        house.api.get("/tasks").await.data()[0]["title"],
        "<b>La douche</b>"
    );

    for text in [" ".to_owned(), "x".repeat(6001)] {
        let page = browser.refused(400, "/issues", &[("text", &text)]).await;
        shows(
            &page,
            &[
                "<a href=\"#text\">",
                "id=\"text-error\"",
                &format!("\n{text}</textarea>"),
            ],
        );
    }
    browser
        .refused(400, "/issues", &[("text", "Hello"), ("to", "all")])
        .await;
    house
        .update_portal(house.portal, json!({ "isTicketingEnabled": false }))
        .await;
    let page = browser.refused(403, "/issues", &[("text", "Hello")]).await;
    shows(&page, &["Issues cannot be reported here at the moment."]);
    assert_eq!(action(&page, "/issues"), None);
    lacks(&browser.open("").await, &["/issues"]);
}

on_both!(a_guest_answers_a_survey_without_a_script);
async fn a_guest_answers_a_survey_without_a_script(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let browser = StayBrowser::new(&house);
    browser.open_missing("/reviews/checkin").await;
    app.clock.advance(DAY * 21);
    shows(
        &browser.open("").await,
        &[
            "Has everything been all right so far?",
            "/reviews/checkin\"",
        ],
    );
    let page = browser.open("/reviews/checkin").await;
    shows(
        &page,
        &[
            "name=\"overallRating\" value=\"5\" required",
            "name=\"cleanliness\"",
            "name=\"privateReview\"",
        ],
    );
    let page = browser
        .refused(
            400,
            "/reviews/checkin",
            &[("overallRating", ""), ("publicText", "Lovely")],
        )
        .await;
    shows(&page, &["Please choose one.", "\nLovely</textarea>"]);
    browser
        .refused(400, "/reviews/checkin", &[("overallRating", "9")])
        .await;
    let page = browser
        .refused(
            400,
            "/reviews/checkin",
            &[("overallRating", "4"), ("publicText", &"x".repeat(6001))],
        )
        .await;
    shows(&page, &["Please shorten this to 6000 characters."]);
    let fields = [
        ("overallRating", "4"),
        ("cleanliness", "5"),
        ("value", ""),
        ("publicText", "Lovely"),
        ("privateReview", " "),
    ];
    let (_, page) = browser.fill_in(&page, "/reviews/checkin", &fields).await;
    shows(&page, &["Thank you for your review."]);
    assert_eq!(action(&page, "/reviews"), None);
    // The same form, sent a second time, redirects as it did the first time.
    assert_eq!(browser.post("/reviews/checkin", &fields).await.status, 303);
    browser.open_missing("/reviews/checkin").await;
    lacks(&browser.open("").await, &["/reviews/checkin"]);
}

on_both!(a_guest_asks_for_extras_without_a_script);
async fn a_guest_asks_for_extras_without_a_script(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    browser.open_missing("/extras").await;
    lacks(&browser.open("").await, &["id=\"extras\""]);
    let cot = house
        .org
        .record(
            "upsell",
            json!({
                "name": "Cot",
                "description": "For <one> night",
                "priceCents": 1500,
                "currency": "EUR",
            }),
        )
        .await;
    shows(&browser.open("").await, &["id=\"extras\"", "Cot", "€15.00"]);
    let page = browser.open("/extras").await;
    let field = format!("x.{cot}");
    shows(
        &page,
        &[
            "For &#60;one&#62; night",
            "€15.00",
            &format!("name=\"{field}\" type=\"number\""),
        ],
    );
    for quantity in ["100", "-1", "two", "1.5"] {
        let page = browser.refused(400, "/extras", &[(&field, quantity)]).await;
        shows(
            &page,
            &[
                "Please enter a whole number from 0 to 99.",
                &format!("value=\"{quantity}\""),
            ],
        );
    }
    shows(
        &browser
            .refused(400, "/extras", &[(&field, ""), ("request", "true")])
            .await,
        &["Please choose at least one extra."],
    );
    let (_, page) = browser.fill_in(&page, "/extras", &[(&field, "2")]).await;
    shows(&page, &["Your selection is kept.", "value=\"2\""]);
    shows(&browser.open("").await, &["Your selection is kept."]);
    let (_, page) = browser
        .fill_in(&page, "/extras", &[(&field, "3"), ("request", "true")])
        .await;
    shows(&page, &["Your host has been asked"]);
    lacks(&browser.open("").await, &["Your selection is kept."]);
    let changes = app
        .platform()
        .get(&house.org.path("/guest-changes"))
        .await
        .data();
    assert_eq!(
        changes["items"][0]["items"],
        json!([{ "upsellId": cot, "quantity": 3 }])
    );
}

on_both!(instructions_are_read_until_the_day_of_arrival);
async fn instructions_are_read_until_the_day_of_arrival(app: App) {
    let house = House::build(&app).await;
    let bell = json!({
        "scopeId": house.flat,
        "title": "Ring the bell",
        "position": 0,
        "text": "The <top> one",
    });
    house.org.record("instruction", bell).await;
    let browser = StayBrowser::new(&house);
    for days in [0, 20] {
        app.clock.advance(DAY * days);
        shows(
            &browser.open("").await,
            &[
                "Your arrival, step by step",
                "Ring the bell",
                "The &#60;top&#62; one",
            ],
        );
    }
    app.clock.advance(DAY);
    lacks(&browser.open("").await, &["Ring the bell"]);
}

on_both!(all_five_tiles_are_shown_without_an_address);
async fn all_five_tiles_are_shown_without_an_address(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(
            house.portal,
            json!({ "excludedQuickAccessTypes": [], "isChatEnabled": false }),
        )
        .await;
    let page = StayBrowser::new(&house).open("").await;
    let tiles = between(&page, "<ul class=\"tiles\">", "</ul>");
    assert_eq!(tiles.matches("<li>").count(), 5, "{tiles}");
    shows(
        tiles,
        &[
            "https://m.uber.com/ul/?action=setPickup",
            "query=parking\"",
            "https://www.justpark.com/\"",
            "query=baby%20equipment%20rental\"",
            "/issues\"",
        ],
    );
    lacks(tiles, &["dropoff", "near"]);
}

on_both!(an_unknown_icon_is_an_empty_square);
async fn an_unknown_icon_is_an_empty_square(app: App) {
    let house = House::build(&app).await;
    let id = manual(
        &house,
        json!({ "title": "Sights", "description": "Many", "iconName": "no-such-icon" }),
    )
    .await;
    let page = StayBrowser::new(&house).open("").await;
    let card = between(&page, &format!("id=\"manual-{id}\""), "</summary>");
    shows(
        card,
        &[
            "<span class=\"sq\"><svg class=\"icon\" aria-hidden=\"true\" width=\"24\" \
                height=\"24\" viewBox=\"0 0 24 24\"></svg></span>",
        ],
    );
}

on_both!(the_name_of_the_branding_is_on_every_page);
async fn the_name_of_the_branding_is_on_every_page(app: App) {
    let house = House::build(&app).await;
    let branding = json!({
        "name": "Casa & Mar",
        "isDefault": true,
        "logoWhiteUrl": "https://images.example.com/logo.png",
    });
    house.api.post("/portal-brandings", branding).await.data();
    let step = house.step("main", json!({})).await;
    house.org.record("upsell", json!({ "name": "Cot" })).await;
    let id = manual(&house, json!({ "title": "Sights", "description": "Many" })).await;
    let browser = StayBrowser::new(&house);
    let pages = [
        "",
        "/review",
        "/messages",
        "/issues",
        "/extras",
        &format!("/steps/{step}"),
        &format!("/manuals/{id}"),
    ]
    .map(str::to_owned);
    for rest in pages {
        let page = browser.open(&rest).await;
        shows(
            between(&page, "<header", "</header>"),
            &["<span>Casa &#38; Mar</span>", "logo.png"],
        );
    }
}
