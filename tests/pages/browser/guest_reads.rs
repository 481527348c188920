//! Browser tests of the texts that a guest reads: codes in manuals, languages, unconfirmed and
//! last-minute bookings, and amounts (rules: manuals; translations; stays).

use std::time::Duration;

use serde_json::{Value, json};
use test_support::App;
use test_support::house::{House, id, with};

use super::changes::{SAVE, fill, open, press, rebook, says};
use super::driver::browse;
use super::people::speak;
use super::window::PHONE;
use crate::page::wallet::{WalletAuthority, is_tested};

const DEADLINE: Duration = Duration::from_secs(60);

/// Script that returns the language of the page, and the text and language of the manual's title
/// and description.
const LANGUAGES_IN_PAGE: &str = "
    const spoken = (selector) => {
        const it = document.querySelector(selector);
        return [it.innerText.trim(), it.closest('[lang]').lang];
    };
    return [document.documentElement.lang, spoken('article h1'), spoken('article .prose')];
";

/// Creates an active manual of the flat. Returns the path of its page below the guest's page.
async fn manual(house: &House<'_>, more: Value) -> String {
    let fields = json!({ "nickname": "Manual", "isActive": true, "propertyId": house.flat });
    let created = house
        .api
        .post("/portal-manuals", with(fields, more))
        .await
        .data();
    format!("/manuals/{}", id(&created["id"]))
}

/// Creates a text for a manual, with a version for each language in `texts`. Returns the id of the
/// text.
async fn text(house: &House<'_>, texts: Value) -> Value {
    let body = json!({ "sourceTable": "manual", "texts": texts });
    house.api.post("/translations", body).await.data()["id"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_in_a_manual_are_read_with_every_sign() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let typed = "Press *1234*, then 5*6*7#. Password: <b3ach>\n\n    a*b*c_d_e<f>&g\n\n[Door]: \
            4321#";
        let door = manual(
            &house,
            json!({ "title": "Door 5*6*7#", "description": typed }),
        )
        .await;
        window.resize(PHONE).await;
        open(window, &house, &door).await;
        let read = "return [document.querySelector('article h1').innerText, \
            document.querySelector('article .prose').innerText]";
        let shown = typed.replace("    ", "");
        assert_eq!(window.run(read).await, json!(["Door 5*6*7#", shown]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_reads_the_nearest_language_and_the_page_names_it() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let title = json!({ "en": "Washing", "pt-BR": "Lavar", "zh": "洗衣", "zh-TW": "洗衣機" });
        let description = json!({ "en": "Press", "pt-BR": "Aperte", "zh": "按", "zh-TW": "按鈕" });
        let ids = json!({
            "titleId": text(&house, title).await,
            "descriptionId": text(&house, description).await,
        });
        let washing = manual(&house, ids).await;
        window.resize(PHONE).await;
        for (language, expected) in [
            (
                "zh-TW",
                json!(["en", ["洗衣機", "zh-TW"], ["按鈕", "zh-TW"]]),
            ),
            ("zh-CN", json!(["en", ["洗衣", "zh"], ["按", "zh"]])),
        ] {
            rebook(
                &house,
                json!({ "guest": { "firstName": "Ada", "language": language } }),
            )
            .await;
            open(window, &house, &washing).await;
            assert_eq!(window.run(LANGUAGES_IN_PAGE).await, expected, "{language}");
        }
        // The reservation names no language, so the browser's preferred languages decide.
        rebook(
            &house,
            json!({ "guest": { "firstName": "Ada", "language": null } }),
        )
        .await;
        speak(window, "pt").await;
        open(window, &house, &washing).await;
        let expected = json!(["pt", ["Lavar", "pt"], ["Aperte", "pt"]]);
        assert_eq!(window.run(LANGUAGES_IN_PAGE).await, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tentative_stay_shows_no_password_no_code_and_no_pass() {
    if !is_tested() {
        return;
    }
    browse(DEADLINE, async |window| {
        let authority = WalletAuthority::new();
        let app = App::on_sqlite(&["--pass-certificate", &authority.usual("pass.pem", 2026)]).await;
        let house = House::build(&app).await;
        let network = json!({ "wifiName": "casa", "wifiPassword": "s3cret-pw" });
        let flat = json!({
            "name": "Flat",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
        });
        house
            .org
            .put_record("property", house.flat, with(flat, network))
            .await;
        let code = json!({
            "name": "Door",
            "code": "90909",
            "reservationId": house.stay,
            "propertyId": house.flat,
        });
        house.org.record("lock_code", code).await;
        let wifi = manual(
            &house,
            json!({
                "title": "Network",
                "iconName": "wifi",
                "description": "Ask us.",
            }),
        )
        .await;
        // The guest arrives today, on the first day of the tests' clock.
        let today = json!({ "checkIn": "2026-11-21", "checkOut": "2026-11-25" });
        let tentative = json!({ "status": "tentative" });
        window.resize(PHONE).await;
        let (unconfirmed, pass) = ("Your booking is not confirmed yet.", "Add to Apple Wallet");

        rebook(&house, with(today.clone(), tentative)).await;
        open(window, &house, "").await;
        says(
            &window.text().await,
            &["You arrive today", unconfirmed, "Ask us."],
            &["s3cret-pw", "90909", pass],
        );
        // The QR code of the network contains the password as well, so the page must not contain
        // the QR code either.
        let secrets_in_page = "return [document.querySelector('.wifi'), ...['s3cret-pw', '90909', \
            '.pkpass'].filter((it) => document.documentElement.outerHTML.includes(it))]";
        assert_eq!(window.run(secrets_in_page).await, json!([null]));
        open(window, &house, &wifi).await;
        assert_eq!(window.run(secrets_in_page).await, json!([null]));

        rebook(&house, today).await;
        open(window, &house, "").await;
        says(
            &window.text().await,
            &["You arrive today", "s3cret-pw", pass],
            &[unconfirmed],
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_who_books_after_midnight_gets_the_last_minute_step() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let last_minute = json!({
            "leadTimeMinDays": 0,
            "leadTimeMaxDays": 0,
            "displayTitle": "Tonight",
        });
        let details = house.step("your_details", last_minute).await;
        house
            .step(
                "main",
                json!({ "leadTimeMinDays": 1, "displayTitle": "Early" }),
            )
            .await;
        // The time is 22 November, 00:40 in Madrid. The guest booked ten minutes ago, for the night
        // that began on 21 November.
        app.clock.advance(Duration::from_secs(14 * 3_600 + 10 * 60));
        let begun = json!({
            "bookedAt": "2026-11-21T23:30:00Z",
            "checkIn": "2026-11-21",
            "checkOut": "2026-11-25",
        });
        rebook(&house, begun).await;
        window.resize(PHONE).await;
        open(window, &house, "").await;
        window
            .run("document.querySelector('#precheckin details').open = true")
            .await;
        says(&window.text().await, &["Tonight"], &["Early"]);
        press(window, "#precheckin .todo a").await;
        assert!(window.path().await.ends_with(&details.to_string()));
        fill(
            window,
            &[("lastName", "Lovelace"), ("email", "ada@example.com")],
        )
        .await;
        press(window, SAVE).await;
        assert_eq!(house.step_view(details, "en").await["isComplete"], true);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn amounts_have_the_decimals_of_their_currency() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let mut products = Vec::new();
        for (name, currency) in [("Yen", "JPY"), ("Dinar", "KWD"), ("Euro", "EUR")] {
            let fee = json!({ "name": name, "amountCents": 5_000, "currency": currency });
            products.push(house.org.record("fee_product", fee).await);
        }
        let fees = house
            .step("mandatory_fee", json!({ "feeProductIds": products }))
            .await;
        window.resize(PHONE).await;
        open(window, &house, &format!("/steps/{fees}")).await;
        says(
            &window.text().await,
            &["¥5,000", "KWD\u{a0}5.000", "€50.00"],
            &[],
        );
    })
    .await;
}
