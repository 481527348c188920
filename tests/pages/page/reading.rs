//! Tests of the manuals that the guest page shows.

use serde_json::json;
use test_support::App;
use test_support::house::House;
use test_support::on_both;

use super::{StayBrowser, between, category, lacks, manual, shows};

on_both!(manuals_are_grouped_under_their_categories);
async fn manuals_are_grouped_under_their_categories(app: App) {
    let house = House::build(&app).await;
    let (away, home) = (
        category(&house, "Getting <b>away</b>").await,
        category(&house, "At home").await,
    );
    category(&house, "Nothing").await;
    house
        .api
        .post(
            "/portal-manual-categories/reorder",
            json!({ "orderedIds": [home, away] }),
        )
        .await
        .data();
    let field = house
        .org
        .record(
            "custom_field",
            json!({ "name": "Door code", "value": "<b>4711</b>\nthen #" }),
        )
        .await;
    let door = manual(
        &house,
        json!({ "displayMode": "pms_variable", "customFieldId": field, "iconName": "key-round" }),
    )
    .await;
    let bus = manual(
        &house,
        json!({
            "title": "Bus",
            "manualCategoryId": away,
            "videoUrl": "https://video.example/1?a=b&c=d",
        }),
    )
    .await;
    let body = "# Network **Casa**\npassword \
        `1234`\n\n<script>alert(1)</script>\n\n[map](https://map.example)";
    let wifi = json!({
        "title": "<i>Wi-Fi</i>",
        "manualCategoryId": home,
        "description": body,
        "imageUrl": "https://a.example/1.jpg?a=b&c=d",
    });
    let wifi = manual(&house, wifi).await;
    let bare = manual(
        &house,
        json!({ "title": "Be kind", "manualCategoryId": home }),
    )
    .await;
    let raw = manual(
        &house,
        json!({
            "title": "Raw",
            "manualCategoryId": home,
            "description": "<video src=\"x\"></video>",
        }),
    )
    .await;

    let browser = StayBrowser::new(&house);
    let page = browser.open("?language=es").await;
    // A text in another language than the page has a `lang` attribute.
    let titles = [
        ("At home", "lang=\"en\" dir=\"ltr\""),
        (
            "Getting &#60;b&#62;away&#60;/b&#62;",
            "lang=\"en\" dir=\"ltr\"",
        ),
        ("Información útil", "dir=\"auto\""),
    ];
    let places = titles.map(|(title, tongue)| {
        page.find(&format!("<h2 {tongue}>{title}</h2>"))
            .unwrap_or_else(|| panic!("no {title}: {page}"))
    });
    let cards = [wifi, bare, bus, door]
        .map(|manual| page.find(&format!("id=\"manual-{manual}\"")).unwrap());
    assert!(
        [
            places[0], cards[0], cards[1], places[1], cards[2], places[2], cards[3]
        ]
        .is_sorted(),
        "in portal order: {page}"
    );
    lacks(
        &page,
        &[
            "<h2 dir=\"auto\">Nothing</h2>",
            "for the team",
            "key-round",
            "alert(1)",
        ],
    );
    shows(&page, &["<a href=\"#about-0\">", "id=\"about-0\""]);

    let reading =
        |manual: uuid::Uuid| between(&page, &format!("id=\"manual-{manual}\""), "</details>");
    shows(
        reading(wifi),
        &[
            "<span class=\"t\" lang=\"en\" dir=\"ltr\">&#60;i&#62;Wi-Fi&#60;/i&#62;</span>",
            "<div class=\"prose\" lang=\"en\" dir=\"ltr\">",
            "<img class=\"cover\" src=\"https://a.example/1.jpg?a=b&#38;c=d\" alt=\"\" \
                loading=\"lazy\" width=\"640\" height=\"360\">",
            "<h3>Network <strong>Casa</strong></h3>",
            "<code>1234</code>",
            "<a href=\"https://map.example\" rel=\"noopener noreferrer nofollow\">map</a>",
        ],
    );
    shows(
        reading(bus),
        &["href=\"https://video.example/1?a=b&#38;c=d\">Ver el vídeo</a>"],
    );
    shows(
        reading(door),
        &[
            "<span class=\"t\" dir=\"auto\">Door code</span>",
            "&lt;b&gt;4711",
            "<br>then",
            "<svg",
        ],
    );
    shows(
        &page,
        &[
            &format!("<div class=\"manual\" id=\"manual-{bare}\">"),
            &format!("<details class=\"manual\" id=\"manual-{wifi}\">"),
        ],
    );
    shows(
        &page,
        &[&format!("<div class=\"manual\" id=\"manual-{raw}\">")],
    );
    assert_eq!(page.matches("<h1").count(), 1, "and none of a manual's");

    let alone = browser.open(&format!("/manuals/{wifi}?language=es")).await;
    shows(
        &alone,
        &[
            "<h1 lang=\"en\" dir=\"ltr\">&#60;i&#62;Wi-Fi",
            "<code>1234</code>",
            &format!("href=\"/stay/{}?language=es\"", house.token),
        ],
    );
    let missing = browser
        .open_missing(&format!("/manuals/{}?language=fr", house.flat))
        .await;
    shows(&missing, &["lang=\"fr\""]);

    house.org.delete_record("custom_field", field).await;
    let page = browser.open("?language=fr").await;
    shows(&page, &["Voir la vidéo"]);
    lacks(&page, &["Bon à savoir", &door.to_string()]);
}

on_both!(manuals_are_shown_without_a_portal);
async fn manuals_are_shown_without_a_portal(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let token = org.stay_token(org.reservation(Some(flat)).await).await;
    let browser = StayBrowser::with_token(&app, &token);
    let not_yet = "Your host has not set up this page yet.";
    shows(&browser.open("").await, &[not_yet]);
    let fields =
        json!({ "nickname": "Wi-Fi", "title": "Wi-Fi", "isActive": true, "propertyId": flat });
    org.key().await.post("/portal-manuals", fields).await.data();
    let page = browser.open("").await;
    shows(
        &page,
        &[
            "<h2 dir=\"auto\">Good to know</h2>",
            "<span class=\"t\" dir=\"auto\">Wi-Fi</span>",
        ],
    );
    lacks(&page, &[not_yet]);
}
