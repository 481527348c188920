//! Tests of features that flags of the portal switch on: issues, surveys, extras, carts and tiles.
//! Also tests instructions, and manuals after the stay.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, id, with};
use test_support::waiting::read_until;
use test_support::{App, new_id, on_both, reservation};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Returns the kinds of the guest changes in the platform's list.
async fn changes(house: &House<'_>) -> Vec<String> {
    items(house)
        .await
        .iter()
        .map(|item| item["kind"].as_str().unwrap().to_owned())
        .collect()
}

async fn items(house: &House<'_>) -> Vec<Value> {
    let path = house.org.path("/guest-changes");
    let page = house.org.app.platform().get(&path).await.data();
    page["items"].as_array().unwrap().clone()
}

async fn view(house: &House<'_>) -> Value {
    house.org.app.stay(&house.token, "").await.data()
}

/// Subscribes to an event. Returns the REST path that lists the subscription's deliveries;
/// [`fired`] counts them.
async fn subscribe(house: &House<'_>, event: &str) -> String {
    let body = json!({ "event": event, "targetUrl": "https://hooks.invalid/" });
    let subscription = house.api.post("/webhook-subscriptions", body).await.data();
    format!(
        "/webhook-subscriptions/{}/deliveries",
        subscription["id"].as_str().unwrap()
    )
}

/// Returns the number of a subscription's deliveries. `deliveries` is the REST path that lists
/// them.
async fn fired(house: &House<'_>, deliveries: &str) -> usize {
    let list = house.api.get(deliveries).await.data();
    list.as_array().unwrap().len()
}

/// Cancels the reservation of the house.
async fn cancel(house: &House<'_>) {
    let cancelled = with(
        reservation(Some(house.flat)),
        json!({ "status": "cancelled" }),
    );
    house
        .org
        .put_record("reservation", house.stay, cancelled)
        .await;
}

async fn report(house: &House<'_>, text: &str) -> test_support::ApiResponse {
    house
        .guest(Method::POST, "/issues", Some(json!({ "text": text })))
        .await
}

async fn give_review(house: &House<'_>, body: Value) -> test_support::ApiResponse {
    house.guest(Method::POST, "/reviews", Some(body)).await
}

async fn save_cart(house: &House<'_>, items: Value) -> test_support::ApiResponse {
    house
        .guest(Method::PUT, "/cart", Some(json!({ "items": items })))
        .await
}

async fn request_cart(house: &House<'_>) -> test_support::ApiResponse {
    house.guest(Method::POST, "/cart/request", None).await
}

on_both!(an_issue_becomes_a_task);
async fn an_issue_becomes_a_task(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let created = subscribe(&house, "task.created").await;
    assert_eq!(
        view(&house).await["quickAccess"],
        json!(["report_an_issue"])
    );
    let text = "\n  The shower drips.  \nSince Monday.";
    let response = report(&house, text).await;
    assert_eq!(response.status, 201);
    let task = id(&response.data()["id"]);
    let read = house.api.get(&format!("/tasks/{task}")).await.data();
    for (field, value) in [
        ("title", json!("The shower drips.")),
        ("description", json!(text)),
        ("status", json!("open")),
        ("source", json!("guest_portal")),
        ("propertyId", json!(house.flat)),
        ("reservationId", json!(house.stay)),
    ] {
        assert_eq!(read[field], value, "{field}");
    }
    let listed = house.api.get("/tasks").await.data();
    assert_eq!(listed, json!([read]));
    assert_eq!(fired(&house, &created).await, 1);
    let change = &items(&house).await[0];
    assert_eq!(
        (&change["kind"], &change["reservationId"], &change["taskId"]),
        (&json!("issue_reported"), &json!(house.stay), &json!(task))
    );
    let own = house.guest(Method::GET, "/issues", None).await.data();
    assert_eq!(
        (&own[0]["text"], &own[0]["status"]),
        (&json!(text), &json!("open"))
    );
    // The platform can change the task of a guest's issue in the same way as any other task.
    let done = with(
        json!({ "propertyId": house.flat, "title": "Done", "status": "completed" }),
        json!({}),
    );
    house.org.put_record("task", task, done).await;
    assert_eq!(
        house.guest(Method::GET, "/issues", None).await.data()[0]["status"],
        "completed"
    );
}

on_both!(issues_are_refused_without_the_flag_or_beyond_twenty);
async fn issues_are_refused_without_the_flag_or_beyond_twenty(app: App) {
    let house = House::build(&app).await;
    assert_eq!(report(&house, " \n ").await.issues(), ["text"]);
    assert_eq!(report(&house, &"x".repeat(6001)).await.issues(), ["text"]);
    let key = new_id();
    let keyed = json!({ "text": "Once", "key": key });
    let first = house
        .guest(Method::POST, "/issues", Some(keyed.clone()))
        .await
        .data();
    assert_eq!(
        house
            .guest(Method::POST, "/issues", Some(keyed))
            .await
            .data(),
        first
    );
    for number in 1..20 {
        report(&house, &format!("Issue {number}")).await.data();
    }
    assert_eq!(report(&house, "One more").await.issues(), ["text"]);
    assert_eq!(changes(&house).await.len(), 20);
    let long = house.api.get("/tasks?limit=1").await;
    assert_eq!(long.body["meta"]["pagination"]["total"], 20);
    house
        .update_portal(house.portal, json!({ "isTicketingEnabled": false }))
        .await;
    report(&house, "Hello").await.error(403);
    assert_eq!(
        view(&house).await["quickAccess"],
        json!([]),
        "the tile is hidden"
    );
    house
        .update_portal(house.portal, json!({ "isTicketingEnabled": true }))
        .await;
    cancel(&house).await;
    report(&house, "Hello").await.error(403);
    // The task of the guest's issue remains when the reservation is deleted.
    house.org.delete_record("reservation", house.stay).await;
    assert_eq!(
        house
            .api
            .get(&format!("/tasks/{}", first["id"].as_str().unwrap()))
            .await
            .data()["reservationId"],
        Value::Null
    );
}

on_both!(a_title_is_cut_at_120_characters);
async fn a_title_is_cut_at_120_characters(app: App) {
    let house = House::build(&app).await;
    let task = report(&house, &"ü".repeat(300)).await.data()["id"].clone();
    let read = house
        .api
        .get(&format!("/tasks/{}", task.as_str().unwrap()))
        .await
        .data();
    assert_eq!(
        (
            read["title"].as_str().unwrap().chars().count(),
            read["description"].as_str().unwrap().chars().count()
        ),
        (120, 300)
    );
}

on_both!(a_survey_becomes_a_review);
async fn a_survey_becomes_a_review(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let submitted = subscribe(&house, "review.submitted").await;
    let checkin = json!({ "kind": "checkin", "overallRating": 5 });
    assert_eq!(view(&house).await["reviewRequests"], json!([]));
    give_review(&house, checkin.clone()).await.error(403);
    // The stay begins on 11 December at 14:00 UTC. The test first moves the clock to half an
    // hour before that.
    app.clock.advance(DAY * 20 + HOUR * 4);
    give_review(&house, checkin.clone()).await.error(403);
    app.clock.advance(HOUR);
    assert_eq!(view(&house).await["reviewRequests"], json!(["checkin"]));
    give_review(&house, json!({ "kind": "checkout", "overallRating": 5 }))
        .await
        .error(403);
    let wrong = json!({
        "kind": "checkin",
        "overallRating": 6,
        "categoryRatings": { "cleanliness": 0, "view": 3 },
        "publicText": "x".repeat(6001),
    });
    let issues = give_review(&house, wrong).await.issues();
    assert_eq!(
        issues,
        [
            "categoryRatings.cleanliness",
            "categoryRatings.view",
            "overallRating",
            "publicText"
        ]
    );
    assert_eq!(
        give_review(&house, json!({ "kind": "checkin", "overallRating": 4.5 }))
            .await
            .issues(),
        ["overallRating"]
    );
    assert_eq!(
        give_review(&house, json!({ "kind": "checkin" }))
            .await
            .issues(),
        ["overallRating"]
    );

    let full = json!({
        "kind": "checkin",
        "overallRating": 4,
        "categoryRatings": { "cleanliness": 5, "value": 3 },
        "publicText": "Lovely",
        "privateReview": "The bed creaks",
    });
    let response = give_review(&house, full).await;
    assert_eq!(response.status, 201);
    let review = house
        .api
        .get(&format!(
            "/reviews/{}",
            response.data()["id"].as_str().unwrap()
        ))
        .await
        .data();
    for (field, value) in [
        ("source", json!("portal_survey")),
        ("surveyKind", json!("checkin")),
        ("overallRating", json!(4)),
        ("publicText", json!("Lovely")),
        ("categoryRatings", json!({ "cleanliness": 5, "value": 3 })),
        ("privateReview", json!("The bed creaks")),
        ("propertyId", json!(house.flat)),
        ("reservationId", json!(house.stay)),
        ("photoUrls", json!([])),
    ] {
        assert_eq!(review[field], value, "{field}");
    }
    assert_eq!(fired(&house, &submitted).await, 1);
    assert_eq!(view(&house).await["reviewRequests"], json!([]));
    give_review(&house, checkin).await.error(409);
}

on_both!(the_survey_of_departure_is_open_for_fourteen_days);
async fn the_survey_of_departure_is_open_for_fourteen_days(app: App) {
    let house = House::build(&app).await;
    let checkout = json!({ "kind": "checkout", "overallRating": 1 });
    // The time is 15 December, 00:30 in Madrid. The check-out survey is open from the day of
    // check-out on.
    app.clock.advance(DAY * 23 + HOUR * 14);
    assert_eq!(
        view(&house).await["reviewRequests"],
        json!(["checkin", "checkout"])
    );
    app.clock.advance(HOUR * 11);
    assert_eq!(
        view(&house).await["reviewRequests"],
        json!(["checkout"]),
        "check-out was at 11:00"
    );
    house
        .update_portal(
            house.portal,
            json!({ "isReviewRequestCheckoutEnabled": false }),
        )
        .await;
    assert_eq!(view(&house).await["reviewRequests"], json!([]));
    give_review(&house, checkout.clone()).await.error(403);
    house
        .update_portal(
            house.portal,
            json!({ "isReviewRequestCheckoutEnabled": true }),
        )
        .await;
    // The time is 29 December, 23:30 in Madrid. The check-out survey closes at midnight.
    app.clock.advance(DAY * 14 + HOUR * 12);
    assert_eq!(view(&house).await["reviewRequests"], json!(["checkout"]));
    let id = give_review(&house, checkout.clone()).await.data()["id"].clone();
    let review = house
        .api
        .get(&format!("/reviews/{}", id.as_str().unwrap()))
        .await
        .data();
    assert_eq!(
        (&review["categoryRatings"], &review["publicText"]),
        (&Value::Null, &Value::Null)
    );
    let late = house
        .org
        .stay_token(house.org.reservation(Some(house.flat)).await)
        .await;
    app.clock.advance(HOUR);
    assert_eq!(
        app.stay(&late, "").await.data()["reviewRequests"],
        json!([]),
        "day 14 is over"
    );
    test_support::house::guest(&app, &late, Method::POST, "/reviews", Some(checkout))
        .await
        .error(403);
}

on_both!(a_cancelled_stay_gets_no_review_request);
async fn a_cancelled_stay_gets_no_review_request(app: App) {
    let house = House::build(&app).await;
    app.clock.advance(DAY * 22);
    cancel(&house).await;
    assert_eq!(view(&house).await["reviewRequests"], json!([]));
    give_review(&house, json!({ "kind": "checkin", "overallRating": 5 }))
        .await
        .error(403);
}

on_both!(a_review_fires_one_event_for_its_id);
async fn a_review_fires_one_event_for_its_id(app: App) {
    let house = House::build(&app).await;
    let submitted = subscribe(&house, "review.submitted").await;
    let data =
        json!({ "propertyId": house.flat, "source": "pms", "submittedAt": "2026-11-02T10:00:00Z" });
    let (one, other) = (new_id(), new_id());
    house.org.put_record("review", one, data.clone()).await;
    house.org.delete_record("review", one).await;
    house.org.put_record("review", one, data.clone()).await;
    assert_eq!(fired(&house, &submitted).await, 1);
    let twice = json!([
        { "kind": "review", "id": one, "isDeleted": true },
        { "kind": "review", "id": one, "data": data },
        { "kind": "review", "id": other, "data": data },
    ]);
    assert_eq!(house.org.sync(twice).await.data()["events"], 1);
    // A sync with `isInitialSync` creates a review without an event. If the review is deleted and
    // synced again, no event fires either.
    let old = new_id();
    let records = json!([{ "kind": "review", "id": old, "data": data }]);
    let body = json!({ "isInitialSync": true, "records": records });
    app.platform()
        .ok(Method::POST, &house.org.path("/sync"), Some(body))
        .await;
    house.org.delete_record("review", old).await;
    house.org.put_record("review", old, data).await;
    assert_eq!(fired(&house, &submitted).await, 2);
}

on_both!(a_guest_is_offered_the_extras_of_the_flat);
async fn a_guest_is_offered_the_extras_of_the_flat(app: App) {
    let house = House::build(&app).await;
    let upsell = |more: Value| {
        let org = &house.org;
        async move {
            org.app.clock.advance(Duration::from_millis(1));
            org.record("upsell", with(json!({ "name": "Cot" }), more))
                .await
        }
    };
    let cot = upsell(json!({
        "description": "For one night",
        "priceCents": 1500,
        "currency": "EUR",
        "imageUrl": "https://images.example.com/cot.jpg",
    }))
    .await;
    let late = upsell(json!({ "name": "Late check-out", "propertyIds": [house.flat] })).await;
    for more in [
        json!({ "isActive": false }),
        json!({ "propertyIds": [] }),
        json!({ "propertyIds": [new_id()] }),
    ] {
        upsell(more).await;
    }
    let nothing =
        json!({ "description": null, "priceCents": null, "currency": null, "imageUrl": null });
    let expected = json!([
        {
            "id": cot,
            "name": "Cot",
            "description": "For one night",
            "priceCents": 1500,
            "currency": "EUR",
            "imageUrl": "https://images.example.com/cot.jpg",
        },
        with(json!({ "id": late, "name": "Late check-out" }), nothing),
    ]);
    assert_eq!(view(&house).await["extras"], expected);
    house
        .update_portal(house.portal, json!({ "isCartAbandonmentEnabled": false }))
        .await;
    assert_eq!(
        view(&house).await["extras"],
        expected,
        "the flag decides about reminders alone"
    );
    cancel(&house).await;
    assert_eq!(view(&house).await["extras"], json!([]));
    save_cart(&house, json!([{ "upsellId": cot, "quantity": 1 }]))
        .await
        .error(403);
}

on_both!(a_cart_is_saved_until_it_is_requested);
async fn a_cart_is_saved_until_it_is_requested(app: App) {
    let house = House::build(&app).await;
    let cot = house.org.record("upsell", json!({ "name": "Cot" })).await;
    let off = house
        .org
        .record("upsell", json!({ "name": "Off", "isActive": false }))
        .await;
    request_cart(&house).await.error(409);
    let items = json!([{ "upsellId": cot, "quantity": 2 }]);
    assert_eq!(
        save_cart(&house, items.clone()).await.data(),
        json!({ "items": items })
    );
    assert_eq!(view(&house).await["cart"], items);
    for unknown in [off, new_id()] {
        save_cart(&house, json!([{ "upsellId": unknown, "quantity": 1 }]))
            .await
            .error(404);
    }
    for quantity in [json!(0), json!(100), json!(1.5), json!("1")] {
        assert_eq!(
            save_cart(&house, json!([{ "upsellId": cot, "quantity": quantity }]))
                .await
                .issues(),
            ["items.0.quantity"]
        );
    }
    let twice = json!([{ "upsellId": cot, "quantity": 1 }, { "upsellId": cot, "quantity": 1 }]);
    assert_eq!(
        save_cart(&house, twice).await.issues(),
        ["items.1.upsellId"]
    );
    assert_eq!(view(&house).await["cart"], items);
    assert_eq!(request_cart(&house).await.data(), json!({ "items": items }));
    let change = &self::items(&house).await[0];
    assert_eq!(
        (&change["kind"], &change["items"]),
        (&json!("extras_requested"), &items)
    );
    assert_eq!(view(&house).await["cart"], json!([]));
    request_cart(&house).await.error(409);
    save_cart(&house, items).await.data();
    save_cart(&house, json!([])).await.data();
    assert_eq!(view(&house).await["cart"], json!([]));
}

on_both!(an_abandoned_cart_is_reported_once_for_each_change);
async fn an_abandoned_cart_is_reported_once_for_each_change(app: App) {
    let house = House::build(&app).await;
    let cot = house.org.record("upsell", json!({ "name": "Cot" })).await;
    let items = |quantity: u8| json!([{ "upsellId": cot, "quantity": quantity }]);
    save_cart(&house, items(1)).await.data();
    app.clock.advance(HOUR * 23);
    app.server.sweep_once().await;
    assert_eq!(changes(&house).await, [""; 0]);
    for _ in 0..2 {
        app.clock.advance(HOUR);
        app.server.sweep_once().await;
        assert_eq!(changes(&house).await, ["cart_abandoned"]);
    }
    save_cart(&house, items(2)).await.data();
    app.clock.advance(DAY);
    app.server.sweep_once().await;
    assert_eq!(changes(&house).await, ["cart_abandoned"; 2]);
    // While `isCartAbandonmentEnabled` is false, the service reports no abandoned cart. When the
    // setting is true again, the service reports the cart, which is still stored.
    house
        .update_portal(house.portal, json!({ "isCartAbandonmentEnabled": false }))
        .await;
    save_cart(&house, items(3)).await.data();
    app.clock.advance(DAY);
    app.server.sweep_once().await;
    assert_eq!(changes(&house).await.len(), 2);
    house
        .update_portal(house.portal, json!({ "isCartAbandonmentEnabled": true }))
        .await;
    app.clock.advance(HOUR);
    app.server.sweep_once().await;
    assert_eq!(changes(&house).await.len(), 3);
    // The service reports neither the cart of a cancelled stay nor an empty cart.
    save_cart(&house, items(4)).await.data();
    cancel(&house).await;
    app.clock.advance(DAY);
    app.server.sweep_once().await;
    assert_eq!(changes(&house).await.len(), 3);
}

on_both!(
    a_server_reports_abandoned_carts_in_the_background,
    "--cart-abandonment-delay=200ms"
);
async fn a_server_reports_abandoned_carts_in_the_background(app: App) {
    let house = House::build(&app).await;
    let cot = house.org.record("upsell", json!({ "name": "Cot" })).await;
    save_cart(&house, json!([{ "upsellId": cot, "quantity": 1 }]))
        .await
        .data();
    app.clock.advance(Duration::from_millis(200));
    read_until(
        async || changes(&house).await,
        |changes| *changes == ["cart_abandoned"],
    )
    .await;
}

on_both!(a_guest_sees_instructions_of_flat_group_and_tags);
async fn a_guest_sees_instructions_of_flat_group_and_tags(app: App) {
    let house = House::build(&app).await;
    app.clock.advance(Duration::from_millis(1));
    let second = house.org.tag().await;
    house
        .org
        .put_record(
            "property",
            house.flat,
            json!({
                "name": "Flat",
                "timezone": "Europe/Madrid",
                "country": "ES",
                "checkInTime": "15:00",
                "checkOutTime": "11:00",
                "propertyGroupId": house.group,
                "tagIds": [second, house.tag],
            }),
        )
        .await;
    let instruction = |scope: Uuid, title: &'static str, position: u32| {
        house.org.record(
            "instruction",
            json!({ "scopeId": scope, "title": title, "position": position }),
        )
    };
    instruction(second, "Second tag", 0).await;
    instruction(house.tag, "Tag", 0).await;
    instruction(house.group, "Group", 0).await;
    instruction(house.flat, "Flat two", 1).await;
    let first = house
        .org
        .record(
            "instruction",
            json!({
                "scopeId": house.flat,
                "title": "Flat one",
                "position": 0,
                "text": "Ring",
                "imageUrl": "https://images.example.com/bell.jpg",
            }),
        )
        .await;
    instruction(new_id(), "Elsewhere", 0).await;
    let titles = |view: &Value| -> Vec<String> {
        view["instructions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect()
    };
    let shown = view(&house).await;
    assert_eq!(
        titles(&shown),
        ["Flat one", "Flat two", "Group", "Tag", "Second tag"]
    );
    assert_eq!(
        shown["instructions"][0],
        json!({
            "id": first,
            "title": "Flat one",
            "text": "Ring",
            "imageUrl": "https://images.example.com/bell.jpg",
        })
    );
    app.clock.advance(DAY * 20);
    assert_eq!(titles(&view(&house).await).len(), 5, "the day of arrival");
    app.clock.advance(DAY);
    assert_eq!(titles(&view(&house).await), [""; 0]);
}

on_both!(the_door_and_the_network_are_hidden_after_the_stay);
async fn the_door_and_the_network_are_hidden_after_the_stay(app: App) {
    let house = House::build(&app).await;
    let manual = |more: Value| {
        let fields = json!({
            "nickname": "m",
            "isActive": true,
            "propertyId": house.flat,
            "description": "4711",
        });
        house.api.post("/portal-manuals", with(fields, more))
    };
    manual(json!({ "title": "Door", "iconName": "key-round" }))
        .await
        .data();
    let wifi = id(&manual(json!({ "title": "Network", "iconName": "wifi" }))
        .await
        .data()["id"]);
    let kept = json!([
        {
            "ruleCategory": "relative_date",
            "endDateRelativeType": "after_check_out",
            "daysAfter": 5,
        },
    ]);
    manual(json!({ "title": "Lost keys", "iconName": "key", "visibilityRules": kept }))
        .await
        .data();
    manual(json!({ "title": "Sights", "iconName": "map" }))
        .await
        .data();
    let titles = |view: &Value| -> Vec<String> {
        let manuals = view["manualCategories"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|category| category["manuals"].as_array().unwrap());
        let mut titles: Vec<String> = manuals
            .map(|manual| manual["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        titles
    };
    // The time is 15 December, 22:30 in Madrid. On the day of check-out, the guest still sees the
    // manuals that are hidden after the stay.
    app.clock.advance(DAY * 24 + HOUR * 12);
    assert_eq!(
        titles(&view(&house).await),
        ["Door", "Lost keys", "Network", "Sights"]
    );
    app.clock.advance(HOUR * 2);
    assert_eq!(titles(&view(&house).await), ["Lost keys", "Sights"]);
    let explained = house
        .api
        .get(&format!("/reservations/{}/explain", house.stay))
        .await
        .data();
    let of_wifi = explained["manuals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| id(&item["id"]) == wifi)
        .unwrap();
    assert_eq!(
        (&of_wifi["isShown"], &of_wifi["reason"]["key"]),
        (&json!(false), &json!("stay_over"))
    );
}
