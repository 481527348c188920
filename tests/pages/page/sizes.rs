//! Tests of the compressed size of the guest page, so that it loads quickly over a slow network.

use serde_json::json;
use test_support::demo::Demo;
use test_support::dice::Dice;
use test_support::house::House;
use test_support::{App, choose_tls_provider, http_client};

use super::manual;

/// Words from which the test generates manuals. Random words compress worse than real text, so the
/// test is strict.
const WORDS: &str = "the a in of by at turn press hold pull close open leave take put wait left \
    right behind below beside door key window wheel switch tap valve boiler router meter lift \
    stairs kitchen bedroom balcony terrace cellar garage bin glass paper plastic towel linen \
    pillow blanket oven hob fridge dishwasher kettle toaster shower drain heater thermostat socket \
    lamp remote television speaker minutes seconds hours morning evening night quiet neighbours \
    landlord market bakery pharmacy station platform tram bus ticket taxi airport harbour beach \
    museum garden bridge corner street square number floor code card coin cash receipt deposit \
    notice please never always only first then after before until again twice slowly gently firmly \
    upwards downwards red green blue yellow white small large";

/// Returns the length of a page, uncompressed and compressed with gzip.
async fn lengths(address: &str) -> (usize, usize) {
    let http = http_client();
    let length = async |coding: &str| {
        let response = http
            .get(address)
            .header("accept-encoding", coding)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(
            response
                .headers()
                .get("content-encoding")
                .map(|coding| coding.to_str().unwrap()),
            Some(coding).filter(|it| *it != "identity")
        );
        response.bytes().await.unwrap().len()
    };
    (length("identity").await, length("gzip").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_30_manuals_and_20_steps_is_small() {
    let app = App::on_sqlite(&[]).await;
    let house = House::build(&app).await;
    let (mut dice, words) = (Dice(7), WORDS.split_whitespace().collect::<Vec<_>>());
    let mut written = |count: usize| {
        (0..count)
            .map(|_| dice.one_of(&words))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for number in 0..30 {
        let icon = [
            "key",
            "wifi",
            "log-out",
            "heater",
            "washing-machine",
            "recycle",
            "siren",
            "coffee",
        ][number % 8];
        let title = format!("{} {number}", written(3));
        let description = format!("{}\n\n- {}\n- {}", written(40), written(12), written(12));
        manual(
            &house,
            json!({ "title": title, "description": description, "iconName": icon }),
        )
        .await;
    }
    for number in 0..20 {
        let step_type = [
            "your_details",
            "other_guests",
            "document_upload",
            "agreement",
            "main",
        ][number % 5];
        house
            .step(
                step_type,
                json!({
                    "displayTitle": format!("{} {number}", written(3)),
                    "nickname": format!("Step {number}"),
                }),
            )
            .await;
    }
    let (plain, packed) = lengths(&format!("{}/stay/{}", app.base, house.token)).await;
    assert!(packed <= 25 << 10, "{plain} bytes, {packed} compressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_page_is_small_on_every_day() {
    choose_tls_provider();
    let demo = tokio::task::spawn_blocking(Demo::start).await.unwrap();
    let flat = demo.flat().await;
    let mut pages = vec![demo.guest_link().to_owned()];
    for days in [(-6, -2), (-4, 0), (-1, 3), (0, 4), (1, 5)] {
        pages.push(demo.page(&flat, days).await);
    }
    for page in pages {
        let (plain, packed) = lengths(&page).await;
        assert!(
            plain <= 50 << 10 && packed <= 15 << 10,
            "{plain} bytes, {packed} compressed: {page}"
        );
    }
}
