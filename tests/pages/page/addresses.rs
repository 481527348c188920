//! Tests of every address of the guest page with every method: each response is a page.

use http::Method;
use serde_json::json;
use test_support::house::House;
use test_support::{ApiResponse, App, new_id, on_both};

use super::{ADA, StayBrowser, action, lacks, manual, shows};

on_both!(the_page_is_shown_only_to_its_token);
async fn the_page_is_shown_only_to_its_token(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    let browser = StayBrowser::new(&house);
    let stranger = StayBrowser::with_token(&app, "nonsense");
    for rest in [
        format!("/steps/{details}"),
        "/submit".into(),
        "/messages".into(),
        format!("/steps/{details}/files"),
    ] {
        shows(
            &stranger.refused(404, &rest, ADA).await,
            &["We cannot find this stay."],
        );
        let json = stranger
            .body(&rest, "{}")
            .header("content-type", "application/json");
        shows(
            &stranger.page_of(404, json).await,
            &["We cannot find this stay."],
        );
    }
    for rest in [
        "",
        "/review",
        "/messages",
        "/stay.ics",
        "/manifest.webmanifest",
        "/worker.js",
    ] {
        stranger.open_missing(rest).await;
    }
    let below = format!("/steps/{details}/x");
    lacks(&browser.refused(404, "/", ADA).await, &["<form"]);
    for rest in [
        "/submit/",
        "/steps",
        "/steps/",
        "/steps/nonsense",
        "/steps/%00",
        below.as_str(),
        "/else",
        "/manuals/x",
    ] {
        browser.open_missing(rest).await;
        lacks(&browser.refused(404, rest, ADA).await, &["<form"]);
    }
    for token in ["%00", "%ff", "a%20b", "%22%3E%3Cscript%3E"] {
        let browser = StayBrowser::with_token(&app, token);
        browser.open_missing("").await;
        browser.refused(404, "/submit", ADA).await;
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        browser
            .page_of(
                404,
                browser
                    .http
                    .request(method, format!("{}/stay/{}", app.base, house.token)),
            )
            .await;
    }
    for path in ["/stay", "/stay/"] {
        browser
            .page_of(404, browser.http.get(format!("{}{path}", app.base)))
            .await;
    }
    let french = browser
        .http
        .get(format!("{}/stay/nonsense", app.base))
        .header("accept-language", "fr-CH, en;q=0.5");
    shows(&browser.page_of(404, french).await, &["lang=\"fr\""]);
    assert_eq!(house.status().await, "not_started");
}

on_both!(opening_the_address_of_a_form_redirects_to_its_page);
async fn opening_the_address_of_a_form_redirects_to_its_page(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    let browser = StayBrowser::new(&house);
    let file = format!("/steps/{step}/files/{}/remove", new_id());
    for (rest, leads) in [
        (
            format!("/steps/{step}/files?language=es"),
            format!("/steps/{step}?language=es"),
        ),
        (file, format!("/steps/{step}")),
        ("/submit".into(), "/review".into()),
    ] {
        let response = ApiResponse::of(
            browser
                .http
                .get(format!("{}/stay/{}{rest}", app.base, house.token)),
        )
        .await;
        let leads = format!("/stay/{}{leads}", house.token);
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some(leads.as_str())),
            "{rest}"
        );
        browser.visit(&leads).await;
    }
    shows(
        &browser.open(&format!("/steps/{step}")).await,
        &[
            "Step 1 of 1",
            "<title>Step 1 of 1: Upload documents · Flat</title>",
        ],
    );
}

on_both!(pages_are_not_stored_indexed_or_sent_as_referrer);
async fn pages_are_not_stored_indexed_or_sent_as_referrer(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let ask = |rest: &str| {
        browser
            .http
            .get(format!("{}/stay/{}{rest}", app.base, house.token))
    };
    for rest in [
        "",
        "/review",
        "/messages",
        "/nowhere",
        "/stay.ics",
        "/manifest.webmanifest",
        "/worker.js",
    ] {
        let response = ApiResponse::of(ask(rest)).await;
        for (name, value) in [
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-robots-tag", "noindex"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(response.header(name), Some(value), "{rest} {name}");
        }
        assert_eq!(response.header("set-cookie"), None);
        let policy = response.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; ")
                && !policy.contains("unsafe-eval")
                && !policy.contains('*'),
            "{policy}"
        );
        let permissions = response.header("permissions-policy").unwrap();
        assert!(
            permissions.contains("camera=(), ") && !permissions.contains("bluetooth"),
            "{rest}"
        );
    }
    let page = ApiResponse::of(ask("")).await;
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "worker-src 'self'",
        "manifest-src 'self'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        !policy.contains("script-src 'self'") && !policy.contains("script-src 'unsafe"),
        "{policy}"
    );
    // The documentation contains the content security policy without the hashes of the script.
    let is_hash = |word: &str| word.starts_with("'sha256-");
    let words: Vec<&str> = policy.split(' ').filter(|word| !is_hash(word)).collect();
    let document = include_str!("../../../docs/explanation/security.md");
    let stated = document
        .split("```")
        .find(|block| block.contains("default-src"))
        .unwrap();
    let stated: Vec<&str> = stated
        .split_whitespace()
        .filter(|word| !is_hash(word))
        .collect();
    assert_eq!(words, stated);
    let worker = ApiResponse::of(ask("/worker.js")).await;
    assert_eq!(
        worker.header("service-worker-allowed"),
        Some(format!("/stay/{}", house.token).as_str())
    );
    assert_eq!(
        worker.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    let calendar = ApiResponse::of(ask("/stay.ics?language=es")).await;
    assert_eq!(
        calendar.header("content-type"),
        Some("text/calendar; charset=utf-8")
    );
    shows(
        calendar.body.as_str().unwrap(),
        &[
            "DTSTART;TZID=Europe/Madrid:20261211T150000",
            "DTEND;TZID=Europe/Madrid:20261215T110000",
            "Flat",
        ],
    );
    let manifest = ApiResponse::of(ask("/manifest.webmanifest")).await;
    assert_eq!(
        manifest.header("content-type"),
        Some("application/manifest+json")
    );
    let favicon = ApiResponse::of(browser.http.get(format!("{}/favicon.ico", app.base))).await;
    assert_eq!(
        (favicon.status, favicon.header("content-type")),
        (200, Some("image/svg+xml"))
    );
}

on_both!(the_guest_page_is_small);
async fn the_guest_page_is_small(app: App) {
    let house = House::build(&app).await;
    for step in [
        "your_details",
        "other_guests",
        "document_upload",
        "agreement",
        "damage_deposit",
        "main",
    ] {
        house.step(step, json!({})).await;
    }
    for number in 0..10 {
        manual(
            &house,
            json!({
                "title": format!("Manual {number}"),
                "description": "Some words to read.",
                "iconName": "key",
            }),
        )
        .await;
    }
    let page = ApiResponse::of(app.http.get(format!("{}/stay/{}", app.base, house.token))).await;
    let html = page.body.as_str().unwrap();
    let within = |from: &str, until: &str| {
        html.split_once(from)
            .unwrap()
            .1
            .split_once(until)
            .unwrap()
            .0
            .len()
    };
    assert!(html.len() <= 50 << 10, "{} bytes", html.len());
    assert!(
        within("<style>", "</style>") <= 12 << 10 && within("<script>", "</script>") <= 10 << 10,
        "style and script"
    );
    assert_eq!(
        (
            html.matches("<style").count(),
            html.matches(" src=").count()
        ),
        (1, 0),
        "one request"
    );
}

on_both!(
    a_page_behind_a_path_links_below_that_path,
    "--public-url=https://stay.example.com/guests/"
);
async fn a_page_behind_a_path_links_below_that_path(app: App) {
    let house = House::build(&app).await;
    let browser = StayBrowser::new(&house);
    let page = browser.open("/messages").await;
    assert_eq!(
        action(&page, "/messages"),
        Some(format!("/guests/stay/{}/messages", house.token))
    );
    let response = browser.post("/messages", &[("text", "Hello")]).await;
    assert_eq!(
        response.header("location"),
        Some(format!("/guests/stay/{}/messages", house.token).as_str())
    );
    shows(
        &page,
        &[&format!("data-scope=\"/guests/stay/{}\"", house.token)],
    );
}
