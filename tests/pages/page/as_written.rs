//! Tests that the guest page shows texts of hosts, and stores values of guests, exactly as they
//! were written.

use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{House, id, with};
use test_support::{App, on_both, reservation};
use uuid::Uuid;

use super::{StayBrowser, between, lacks, manual, shows};

/// Creates a text of a manual. `texts` contains the version in each language, by language tag.
/// Returns the id of the text.
async fn versions(house: &House<'_>, texts: Value) -> Value {
    let body = json!({ "sourceTable": "manual", "texts": texts });
    house.api.post("/translations", body).await.data()["id"].clone()
}

/// Returns the first manual of the guest view.
async fn first_manual(house: &House<'_>, language: &str) -> Value {
    let view = house
        .org
        .app
        .stay(&house.token, &format!("?language={language}"))
        .await
        .data();
    view["manualCategories"][0]["manuals"][0].clone()
}

/// Writes the reservation of the house again: the default reservation, with the fields of `more`
/// added or replaced.
async fn rebook(house: &House<'_>, more: Value) {
    let data = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, data).await;
}

on_both!(codes_in_a_manual_keep_every_character);
async fn codes_in_a_manual_keep_every_character(app: App) {
    let house = House::build(&app).await;
    let text =
        "Press *1234*, then 5*6*7#. Password: <b3ach>\n\n    a*b*c_d_e<f>&g\n\n[Door]: 4321#";
    manual(&house, json!({ "title": "Door", "description": text })).await;
    let html = first_manual(&house, "en").await["descriptionHtml"]
        .as_str()
        .unwrap()
        .to_owned();
    for line in [
        "<p>Press *1234*, then 5*6*7#. Password: &lt;b3ach&gt;</p>",
        "<p>a*b*c_d_e&lt;f&gt;&amp;g</p>",
        "<p>[Door]: 4321#</p>",
    ] {
        assert!(html.contains(line), "{line} is not in {html}");
    }
    shows(
        &StayBrowser::new(&house).open("").await,
        &["Press *1234*, then 5*6*7#. Password: &lt;b3ach&gt;"],
    );
}

on_both!(a_write_warns_of_html_that_guests_do_not_see);
async fn a_write_warns_of_html_that_guests_do_not_see(app: App) {
    let house = House::build(&app).await;
    let door = |description: &str| {
        json!({
            "nickname": "Door",
            "title": "Door",
            "description": description,
        })
    };
    let fine = house
        .api
        .post("/portal-manuals", door("**Ring** the <b>bell</b> <b3ach>"))
        .await;
    assert_eq!(fine.body["meta"].get("warnings"), None, "{}", fine.body);
    let created = house
        .api
        .post("/portal-manuals", door("Hello <script>alert(1)</script>"))
        .await;
    let warning =
        json!([{ "field": "description", "message": "has HTML that guests do not see: <script>" }]);
    assert_eq!(
        created.body["meta"]["warnings"], warning,
        "{}",
        created.body
    );

    let text = id(&created.data()["descriptionId"]);
    let video = json!({ "text": "<iframe src=\"https://www.youtube.com/embed/abc\"></iframe>" });
    let written = house
        .api
        .send(
            Method::PUT,
            &format!("/translations/{text}/entries/en"),
            Some(video),
        )
        .await;
    let warning = json!([
        {
            "field": "text",
            "message": "has an embedded player, which guests see as a link to the video",
        },
    ]);
    assert_eq!(
        written.body["meta"]["warnings"], warning,
        "{}",
        written.body
    );
}

on_both!(a_guest_gets_the_nearest_language_and_the_page_says_which);
async fn a_guest_gets_the_nearest_language_and_the_page_says_which(app: App) {
    let house = House::build(&app).await;
    let texts = json!({
        "en": "Wash",
        "pt-BR": "Lavar",
        "zh": "洗衣",
        "zh-TW": "洗衣機",
        "he": "כביסה *12#",
        "nb": "Vask",
    });
    let title = versions(&house, texts).await;
    manual(&house, json!({ "titleId": title })).await;
    for (language, expected) in [
        ("pt", "Lavar"),
        ("pt-PT", "Lavar"),
        ("zh-Hant", "洗衣機"),
        ("zh-CN", "洗衣"),
        ("zh-HK", "洗衣機"),
        ("iw", "כביסה *12#"),
        ("no", "Vask"),
        ("nn", "Vask"),
        ("sv", "Wash"),
        ("sr-Latn", "Wash"),
    ] {
        assert_eq!(
            first_manual(&house, language).await["title"],
            expected,
            "{language}"
        );
    }
    let browser = StayBrowser::new(&house);
    shows(
        &browser.open("?language=zh-Hant").await,
        &["<html lang=\"en\"", "lang=\"zh-TW\" dir=\"ltr\">洗衣機<"],
    );
    shows(
        &browser.open("?language=iw").await,
        &[
            "<html lang=\"he\" dir=\"rtl\">",
            "כביסה <bdi dir=\"ltr\">*12#</bdi>",
        ],
    );
    let accepted = browser
        .http
        .get(format!("{}/stay/{}", app.base, house.token))
        .header("accept-language", "iw");
    rebook(
        &house,
        json!({ "guest": { "firstName": "Ada", "language": "" } }),
    )
    .await;
    shows(
        &browser.page_of(200, accepted).await,
        &["<html lang=\"he\""],
    );
}

on_both!(titles_questions_and_answers_in_another_language_are_marked);
async fn titles_questions_and_answers_in_another_language_are_marked(app: App) {
    let house = House::build(&app).await;
    let title = json!({ "sourceTable": "precheck_step_detail", "texts": { "zh-TW": "抵達" } });
    let title = house.api.post("/translations", title).await.data()["id"].clone();
    let question = house.text(&[("zh-TW", "怎麼來？")]).await;
    let (car, train) = (
        house.text(&[("zh-TW", "開車")]).await,
        house.text(&[("zh-TW", "火車")]).await,
    );
    let options = json!([{ "nameMlTextId": car }, { "nameMlTextId": train }]);
    let questions = json!([
        {
            "kind": "single_select",
            "textMlTextId": question,
            "isRequired": true,
            "options": options,
        },
    ]);
    let step = house
        .step(
            "additional_questions",
            json!({ "displayTitleMlTextId": title, "questions": questions }),
        )
        .await;
    rebook(
        &house,
        json!({ "guest": { "firstName": "Ada", "language": "zh-TW" } }),
    )
    .await;
    let browser = StayBrowser::new(&house);
    let marked = |text: &str| format!("lang=\"zh-TW\" dir=\"ltr\">{text}</");
    shows(
        &browser.open("").await,
        &[&format!("Next: <span {}span>", marked("抵達"))],
    );
    let lacking = browser.open(&format!("/steps/{step}?lacking=true")).await;
    shows(
        &lacking,
        &[&format!("{}span>: Please choose one.", marked("怎麼來？"))],
    );

    let asked = house.step_view(step, "zh-TW").await["questions"][0].clone();
    let chosen = json!({ "optionIds": [asked["options"][0]["id"]] });
    house
        .answer(step, json!({ (asked["id"].as_str().unwrap()): chosen }))
        .await
        .data();
    let answered = format!("<dt {}dt><dd {}dd>", marked("怎麼來？"), marked("開車"));
    shows(&browser.open("/review").await, &[&answered]);
    house.submit().await.data();
    shows(&browser.open(&format!("/steps/{step}")).await, &[&answered]);

    // If page and texts have the same language, the page has no `lang` attributes on texts.
    rebook(
        &house,
        json!({ "guest": { "firstName": "Ada", "language": "en" } }),
    )
    .await;
    let body = json!({ "text": "How will you come?" });
    house
        .api
        .ok(
            Method::PUT,
            &format!("/translations/{question}/entries/en"),
            Some(body),
        )
        .await;
    shows(
        &browser.open("/review").await,
        &["<dt dir=\"auto\">How will you come?</dt><dd lang=\"zh-TW\""],
    );
}

on_both!(a_record_with_an_invalid_language_tag_is_accepted);
async fn a_record_with_an_invalid_language_tag_is_accepted(app: App) {
    let house = House::build(&app).await;
    for (sent, kept, warned) in [
        ("en_US", json!("en-US"), 0),
        (" es ", json!("es"), 0),
        ("", Value::Null, 0),
        ("English", Value::Null, 1),
    ] {
        let data = with(
            reservation(Some(house.flat)),
            json!({ "guest": { "firstName": "Ada", "language": sent } }),
        );
        let records = json!([{ "kind": "reservation", "id": house.stay, "data": data }]);
        let answer = house.org.sync(records).await.data();
        assert_eq!(
            answer["warnings"].as_array().unwrap().len(),
            warned,
            "{answer}"
        );
        assert_eq!(
            house.org.guest_view(house.stay).await["reservation"]["guest"]["language"],
            kept,
            "{sent}"
        );
    }
}

on_both!(dates_follow_the_region_and_name_other_years);
async fn dates_follow_the_region_and_name_other_years(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    shows(
        &browser.open("?language=en-US").await,
        &["December 11–15 · 4 nights", "from 3:00 PM"],
    );
    shows(
        &browser.open("?language=en-GB").await,
        &["11–15 December · 4 nights", "from 15:00"],
    );
    let american = browser
        .http
        .get(format!("{}/stay/{}", app.base, house.token))
        .header("accept-language", "en-US");
    shows(
        &browser.page_of(200, american).await,
        &["December 11–15", "3:00 PM"],
    );
    rebook(&house, json!({ "checkOut": "2027-12-11" })).await;
    shows(
        &browser.open("").await,
        &[
            "11 December 2026 – 11 December 2027 · 365 nights",
            "11 December 2027<span>",
        ],
    );
}

on_both!(a_stay_can_be_added_to_google_calendar);
async fn a_stay_can_be_added_to_google_calendar(app: App) {
    let house = House::build(&app).await;
    let page = StayBrowser::new(&house).open("").await;
    let link = between(&page, "https://calendar.google.com/calendar/render?", "\"");
    shows(
        link,
        &[
            "dates=20261211T150000%2F20261215T110000",
            "ctz=Europe%2FMadrid",
        ],
    );
    // The page's address contains the guest's token, so the link to another site must not
    // contain the address.
    lacks(link, &[house.token.as_str()]);
}

on_both!(a_link_with_punctuation_after_the_token_shows_the_stay);
async fn a_link_with_punctuation_after_the_token_shows_the_stay(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let link = format!("/stay/{}", house.token);
    for ending in [
        ".",
        ",",
        ")",
        "/",
        "%20",
        "%E2%80%A6",
        ").",
        "/).",
        "%22",
        "%3E",
    ] {
        let request = browser
            .http
            .get(format!("{}{link}{ending}?language=es", app.base));
        let response = test_support::ApiResponse::of(request).await;
        let expected = format!("{link}?language=es");
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some(expected.as_str())),
            "{ending}"
        );
    }
    browser.open_missing("/nowhere").await;
    browser.open_missing("x.y").await;
}

on_both!(invisible_characters_are_removed_from_values);
async fn invisible_characters_are_removed_from_values(app: App) {
    let house = House::build(&app).await;
    let required = json!({
        "requiredGuestFields": [
            "firstName",
            "phone",
            "email",
            "documentNumber",
            "postalCode",
            "birthDate",
        ],
    });
    let step = house.step("your_details", required).await;
    let sent = json!({
        "firstName": "Ada",
        "phone": "+\u{0669}\u{0666}\u{0666}\u{0665}\u{0660}\u{0661}\
            \u{0662}\u{0663}\u{0664}\u{0665}\u{0666}\u{0667}",
        "email": "ada@example.com\u{200b}",
        "documentNumber": " \u{ff11}\u{ff12}X\u{ad}3 ",
        "postalCode": "\u{0967}\u{0968}\u{a0}3",
        "birthDate": "1985-03-12",
    });
    let answer = house.answer(step, sent).await.data();
    let kept = json!({
        "firstName": "Ada",
        "phone": "+966501234567",
        "email": "ada@example.com",
        "documentNumber": "12X3",
        "postalCode": "12 3",
        "birthDate": "1985-03-12",
    });
    assert_eq!(
        (&answer["answers"], &answer["isComplete"]),
        (&kept, &json!(true))
    );
    for date in ["0085-03-12", "1899-12-31", "2085-03-12"] {
        let refused = house.answer(step, json!({ "birthDate": date })).await;
        assert_eq!(refused.issues(), ["answers.birthDate"], "{date}");
        assert!(
            refused.body.to_string().contains("four figures"),
            "{}",
            refused.body
        );
    }
    let blank = house
        .answer(step, json!({ "firstName": "\u{3164}" }))
        .await
        .data();
    assert_eq!(blank["isComplete"], false);
    let page = StayBrowser::new(&house)
        .open(&format!("/steps/{step}"))
        .await;
    shows(&page, &["min=\"1900-01-01\" max=\"2026-11-21\""]);
    // When staff create a step, the service refuses a nickname without a visible character.
    let unseen = json!({ "nickname": "\u{200b}\u{3164}", "stepType": "main" });
    assert_eq!(
        house.api.post("/precheck-steps", unseen).await.issues(),
        ["nickname"]
    );
}

on_both!(a_guest_is_greeted_with_the_available_name);
async fn a_guest_is_greeted_with_the_available_name(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    rebook(
        &house,
        json!({ "guest": { "firstName": "\u{3164}", "lastName": "Lovelace", "language": "en" } }),
    )
    .await;
    shows(&browser.open("").await, &["Your stay · Lovelace"]);
    rebook(
        &house,
        json!({ "guest": { "firstName": "", "language": "en" } }),
    )
    .await;
    lacks(&browser.open("").await, &["Your stay ·"]);
}

on_both!(amounts_are_shown_in_the_minor_unit_of_their_currency);
async fn amounts_are_shown_in_the_minor_unit_of_their_currency(app: App) {
    let house = House::build(&app).await;
    let mut products: Vec<Uuid> = Vec::new();
    for (name, currency) in [("Yen", "JPY"), ("Dinar", "KWD")] {
        let fee = json!({ "name": name, "amountCents": 5000, "currency": currency });
        products.push(house.org.record("fee_product", fee).await);
    }
    let step = house
        .step("mandatory_fee", json!({ "feeProductIds": products }))
        .await;
    let page = StayBrowser::new(&house)
        .open(&format!("/steps/{step}"))
        .await;
    shows(&page, &["¥5,000", "KWD\u{a0}5.000"]);
}

on_both!(support_numbers_are_stored_like_numbers_of_guests);
async fn support_numbers_are_stored_like_numbers_of_guests(app: App) {
    let house = House::build(&app).await;
    let number = "\u{202a}+\u{0663}\u{0664}\u{2009}934 123 456\u{202c}";
    let portal = house
        .api
        .ok(
            Method::PATCH,
            &format!("/portals/{}", house.portal),
            Some(json!({ "data": { "supportPhone": number } })),
        )
        .await;
    assert!(portal.to_string().contains("+34934123456"), "{portal}");
}
