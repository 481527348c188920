//! Tests of limits for guests: how much a guest may write, and how often a guest may make requests
//! (rules: stays#messages; pre-check-in#saving).

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, with};
use test_support::{ApiResponse, App, Org, new_id, on_both, reservation};

/// Builds a request to the guest interface, for a path below the stay.
fn guest_request(app: &App, token: &str, method: Method, rest: &str) -> RequestBuilder {
    app.http
        .request(method, format!("{}/guest/v1/stays/{token}{rest}", app.base))
}

async fn say(app: &App, token: &str, text: &str) -> ApiResponse {
    ApiResponse::of(
        guest_request(app, token, Method::POST, "/messages").json(&json!({ "text": text })),
    )
    .await
}

/// Returns the messages of a stay as its guest reads them.
async fn own_messages(app: &App, token: &str) -> Value {
    ApiResponse::of(guest_request(app, token, Method::GET, "/messages"))
        .await
        .data()
}

async fn save(app: &App, token: &str, step: Uuid, answers: Value) -> ApiResponse {
    ApiResponse::of(
        guest_request(app, token, Method::PUT, &format!("/steps/{step}"))
            .json(&json!({ "answers": answers })),
    )
    .await
}

/// Sends a form of the guest page. Returns the response, and the HTML in its body.
async fn form(
    app: &App,
    token: &str,
    rest: &str,
    fields: &[(&str, &str)],
) -> (ApiResponse, String) {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    // The client does not follow the redirect, because the second request would count towards the
    // rate limit.
    let browser = test_support::plain_client()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let request = browser
        .post(format!("{}/stay/{token}{rest}", app.base))
        .body(body);
    let response =
        ApiResponse::of(request.header("content-type", "application/x-www-form-urlencoded")).await;
    let html = response.body.as_str().unwrap_or_default().to_owned();
    (response, html)
}

/// Returns the messages of a stay as the platform reads them.
async fn messages_of(org: &Org<'_>, stay: Uuid, query: &str) -> ApiResponse {
    org.app
        .platform()
        .get(&org.path(&format!("/reservations/{stay}/messages{query}")))
        .await
}

fn texts(messages: &Value) -> Vec<&str> {
    messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap())
        .collect()
}

on_both!(a_guest_sends_at_most_200_messages);
async fn a_guest_sends_at_most_200_messages(app: App) {
    let house = House::build(&app).await;
    for number in 0..200 {
        say(&app, &house.token, &number.to_string()).await.data();
    }
    let refused = say(&app, &house.token, "One more").await;
    assert_eq!(refused.issues(), ["text"]);
    let error = refused.error(400);
    assert_eq!(error["details"]["key"], "guest.messages_limit");
    assert!(
        error["message"].as_str().unwrap().contains("200"),
        "{error}"
    );

    let own = own_messages(&app, &house.token).await;
    assert_eq!(
        texts(&own),
        (0..200)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
    );
    let path = house
        .org
        .path(&format!("/reservations/{}/precheckin", house.stay));
    assert_eq!(app.platform().get(&path).await.data()["messages"], own);

    // The guest page explains the refusal and still shows the typed text.
    let (answer, html) = form(
        &app,
        &house.token,
        "/messages?language=es",
        &[("text", "Una más")],
    )
    .await;
    assert_eq!(
        (
            answer.status,
            html.contains("tantos mensajes"),
            html.contains("Una más")
        ),
        (400, true, true),
        "{html}"
    );
    let (_, html) = form(&app, &house.token, "/messages", &[("text", " ")]).await;
    assert!(
        html.contains("Please fill this in."),
        "another refusal has other words: {html}"
    );

    // The limit applies to the messages of one stay, so the guest of another stay can still write.
    let other = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    say(&app, &other, "Hello").await.data();
}

on_both!(a_guest_reads_only_their_own_messages);
async fn a_guest_reads_only_their_own_messages(app: App) {
    let house = House::build(&app).await;
    let other = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    assert_eq!(own_messages(&app, &house.token).await, json!([]));
    // The guest sends all messages at the same time of the test clock. Their stored timestamps
    // differ nevertheless.
    for text in ["first", "second", "third"] {
        let sent = say(&app, &house.token, text).await.data();
        assert_eq!(
            own_messages(&app, &house.token)
                .await
                .as_array()
                .unwrap()
                .last(),
            Some(&sent)
        );
    }
    say(&app, &other, "theirs").await.data();
    let own = own_messages(&app, &house.token).await;
    assert_eq!(texts(&own), ["first", "second", "third"]);
    let moments: Vec<&str> = own
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["createdAt"].as_str().unwrap())
        .collect();
    assert!(moments.is_sorted_by(|one, next| one < next), "{moments:?}");

    // A guest can still read messages when the host has switched messages off.
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let cancelled = with(
        reservation(Some(house.flat)),
        json!({ "status": "cancelled" }),
    );
    house
        .org
        .put_record("reservation", house.stay, cancelled)
        .await;
    assert_eq!(own_messages(&app, &house.token).await, own);
    ApiResponse::of(guest_request(&app, "nonsense", Method::GET, "/messages"))
        .await
        .error(404);
    house.org.delete_record("reservation", house.stay).await;
    ApiResponse::of(guest_request(&app, &house.token, Method::GET, "/messages"))
        .await
        .error(404);
}

on_both!(the_platform_reads_messages_in_pages);
async fn the_platform_reads_messages_in_pages(app: App) {
    let house = House::build(&app).await;
    let (org, stay) = (&house.org, house.stay);
    assert_eq!(messages_of(org, stay, "").await.data(), json!([]));
    for number in 0..53 {
        say(&app, &house.token, &number.to_string()).await.data();
    }
    let all = own_messages(&app, &house.token).await;
    let first = messages_of(org, stay, "").await.data();
    assert_eq!(
        first.as_array().unwrap()[..],
        all.as_array().unwrap()[..50],
        "fifty where nothing is said"
    );
    assert_eq!(messages_of(org, stay, "?limit=200").await.data(), all);
    // Read page by page, the list contains each message once.
    let (mut seen, mut query) = (Vec::new(), "?limit=20".to_owned());
    loop {
        let page = messages_of(org, stay, &query).await.data();
        let Some(last) = page.as_array().unwrap().last() else {
            break;
        };
        query = format!("?limit=20&after={}", last["id"].as_str().unwrap());
        seen.extend(page.as_array().unwrap().clone());
        assert!(seen.len() <= 53, "the list has no last page");
    }
    assert_eq!(Value::from(seen), all);
    say(&app, &house.token, "late").await.data();
    assert_eq!(
        texts(&messages_of(org, stay, &query).await.data()),
        ["late"],
        "who has read to the end hears of what follows"
    );

    for limit in ["0", "201", "-1", "x"] {
        assert_eq!(
            messages_of(org, stay, &format!("?limit={limit}"))
                .await
                .issues(),
            ["limit"],
            "{limit}"
        );
    }
    assert_eq!(
        messages_of(org, stay, "?after=nonsense").await.issues(),
        ["after"]
    );
    messages_of(org, stay, &format!("?after={}", new_id()))
        .await
        .error(404);
    let other = org.reservation(Some(house.flat)).await;
    let theirs = say(&app, &org.stay_token(other).await, "theirs")
        .await
        .data();
    messages_of(
        org,
        stay,
        &format!("?after={}", theirs["id"].as_str().unwrap()),
    )
    .await
    .error(404);
    messages_of(org, new_id(), "").await.error(404);
    messages_of(&app.org().await, stay, "").await.error(404);
}

on_both!(a_guest_saves_at_most_a_mebibyte_of_answers);
async fn a_guest_saves_at_most_a_mebibyte_of_answers(app: App) {
    let house = House::build(&app).await;
    let (one, other) = (
        house.step("other_guests", json!({})).await,
        house.step("main", json!({})).await,
    );
    let long = |kibibytes: usize| json!({ "note": "x".repeat(kibibytes << 10) });
    save(&app, &house.token, one, long(600)).await.data();
    // The size limit applies to the answers that are stored now. Answers that were replaced do not
    // count.
    save(&app, &house.token, one, long(700)).await.data();
    let refused = save(&app, &house.token, other, long(400)).await;
    assert_eq!(refused.issues(), ["answers"]);
    let error = refused.error(400);
    assert_eq!(error["details"]["key"], "guest.answers_limit");
    assert!(
        error["message"].as_str().unwrap().contains("1 MiB"),
        "{error}"
    );
    assert_eq!(
        house.precheckin().await["steps"][1]["isComplete"],
        false,
        "nothing of it was saved"
    );
    save(&app, &house.token, other, long(300)).await.data();
    // The size limit of the answers counts bytes, not characters.
    let accented = json!({ "note": "é".repeat(200 << 10) });
    save(&app, &house.token, other, accented).await.error(400);

    let (answer, html) = form(
        &app,
        &house.token,
        &format!("/steps/{one}"),
        &[("g.0.firstName", "Ana")],
    )
    .await;
    assert_eq!(answer.status, 303, "{html}");
    // Saved answers that a request does not name stay saved, and count towards the size limit of
    // all answers: the 1,000 characters fit only after another answer is removed.
    save(&app, &house.token, other, long(1000)).await.error(400);
    save(&app, &house.token, one, json!({ "note": null }))
        .await
        .data();
    save(&app, &house.token, other, long(1020)).await.data();
    // No field is too long by itself; together they exceed the size limit of the answers.
    let name = "n".repeat(200);
    let fields: Vec<String> = (0..30)
        .map(|guest| format!("g.{guest}.firstName"))
        .collect();
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|field| (field.as_str(), name.as_str()))
        .collect();
    let (answer, html) = form(&app, &house.token, &format!("/steps/{one}"), &fields).await;
    assert_eq!(
        (answer.status, html.contains("more than can be saved")),
        (400, true)
    );
    assert_eq!(
        html.matches(&name).count(),
        fields.len(),
        "what was written is still there"
    );
    // The limit applies to the answers of one stay, so the guest of another stay can still save
    // answers.
    let another = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    save(&app, &another, one, long(600)).await.data();
}

on_both!(
    requests_are_limited_per_stay_and_minute,
    "--guest-rate-limit-per-minute=3"
);
async fn requests_are_limited_per_stay_and_minute(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    let other = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    // The rate limit counts every request that it does not refuse.
    let viewed = app.stay(&house.token, "").await;
    viewed.data();
    assert_eq!(
        (
            viewed.header("x-ratelimit-limit"),
            viewed.header("x-ratelimit-remaining")
        ),
        (Some("3"), Some("2"))
    );
    say(&app, &house.token, "Hello").await.data();
    save(&app, &house.token, step, json!({})).await.data();
    for _ in 0..2 {
        let refused = app.stay(&house.token, "").await;
        let error = refused.error(429);
        assert_eq!(
            (&error["type"], &error["code"]),
            (&"rate_limit_error".into(), &"RATE_LIMITED".into())
        );
        assert_eq!(refused.header("retry-after"), Some("60"));
    }
    say(&app, &house.token, "Hello?").await.error(429);
    save(&app, &house.token, step, json!({})).await.error(429);
    app.stay(&other, "").await.data();

    // The guest page explains the refusal.
    let page = ApiResponse::of(
        app.http
            .get(format!("{}/stay/{}?language=fr", app.base, house.token)),
    )
    .await;
    assert_eq!((page.status, page.header("retry-after")), (429, Some("60")));
    assert!(
        page.body.as_str().unwrap().contains("Merci de patienter"),
        "{}",
        page.body
    );
    app.clock.advance(Duration::from_secs(60));
    app.stay(&house.token, "").await.data();
    // A request for an unknown stay gets 404, however often the client repeats it.
    for _ in 0..5 {
        app.stay("nonsense", "").await.error(404);
    }
}

on_both!(
    a_page_counts_as_one_request_in_every_language,
    "--guest-rate-limit-per-minute=1"
);
async fn a_page_counts_as_one_request_in_every_language(app: App) {
    let house = House::build(&app).await;
    // If the reservation names no language, the languages of the browser decide.
    let mut unspoken = reservation(Some(house.flat));
    unspoken["guest"]["language"] = json!(null);
    house
        .org
        .put_record("reservation", house.stay, unspoken)
        .await;
    let open = async || {
        let page = app.http.get(format!("{}/stay/{}", app.base, house.token));
        ApiResponse::of(page.header("accept-language", "es")).await
    };
    for _ in 0..2 {
        let page = open().await;
        assert_eq!(page.status, 200, "{}", page.body);
        assert!(
            page.body.as_str().unwrap().contains("lang=\"es\""),
            "{}",
            page.body
        );
        assert_eq!(open().await.status, 429);
        app.clock.advance(Duration::from_secs(60));
    }
}

on_both!(
    a_form_over_the_limit_is_not_lost,
    "--guest-rate-limit-per-minute=3"
);
async fn a_form_over_the_limit_is_not_lost(app: App) {
    let house = House::build(&app).await;
    let (answer, _) = form(&app, &house.token, "/messages", &[("text", "One")]).await;
    assert_eq!(answer.status, 303);
    let (answer, html) = form(&app, &house.token, "/messages", &[("text", "Two")]).await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, Some("60")),
        "{html}"
    );
    assert!(
        html.contains("Please wait a minute") && html.contains("Two"),
        "{html}"
    );
    app.clock.advance(Duration::from_secs(60));
    assert_eq!(texts(&own_messages(&app, &house.token).await), ["One"]);
}

on_both!(
    stays_with_the_same_id_have_separate_limits,
    "--guest-rate-limit-per-minute=1"
);
async fn stays_with_the_same_id_have_separate_limits(app: App) {
    let (one, other) = (app.org().await, app.org().await);
    let stay = new_id();
    for org in [&one, &other] {
        org.put_record("reservation", stay, reservation(None)).await;
    }
    let tokens = [one.stay_token(stay).await, other.stay_token(stay).await];
    for token in &tokens {
        app.stay(token, "").await.data();
    }
    for token in &tokens {
        app.stay(token, "").await.error(429);
    }
}

on_both!(
    the_guest_rate_limit_can_be_switched_off,
    "--guest-rate-limit-per-minute=0"
);
async fn the_guest_rate_limit_can_be_switched_off(app: App) {
    let org = app.org().await;
    let token = org.stay_token(org.reservation(None).await).await;
    assert_eq!(app.stay(&token, "").await.header("x-ratelimit-limit"), None);
}
