//! Tests of stays with their own check-in and check-out times, of seasons that repeat every year,
//! of unconfirmed bookings, of outdated translations, and of conditional updates (rules: stays;
//! manuals; translations; errors).

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use test_support::house::{House, id, with};
use test_support::{ApiResponse, App, new_id, on_both, reservation};

const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);

async fn view(house: &House<'_>) -> Value {
    house.org.app.stay(&house.token, "").await.data()
}

/// Returns the body of the guest's page, or of a file below it. `rest` is the part of the path
/// after the address of the guest's page, such as `/stay.ics`.
async fn text(house: &House<'_>, rest: &str) -> String {
    let app = house.org.app;
    let url = format!("{}/stay/{}{rest}", app.base, house.token);
    app.http
        .get(url)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap()
}

async fn explained(house: &House<'_>) -> Value {
    let path = format!("/reservations/{}/explain", house.stay);
    house.api.get(&path).await.data()
}

/// Writes the reservation of the house again: the default reservation, with the fields of `more`
/// added or replaced.
async fn change(house: &House<'_>, more: Value) {
    let stay = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, stay).await;
}

/// Creates an active manual that is assigned to the flat of `house`. `more` has further fields.
async fn manual(house: &House<'_>, more: Value) -> Value {
    let fields = with(
        json!({
            "nickname": "M",
            "title": "M",
            "description": "Text",
            "propertyId": house.flat,
            "isActive": true,
        }),
        more,
    );
    house.api.post("/portal-manuals", fields).await.data()
}

fn titles(view: &Value) -> Vec<String> {
    let categories = view["manualCategories"].as_array().unwrap().iter();
    categories
        .flat_map(|category| category["manuals"].as_array().unwrap())
        .map(|manual| manual["title"].as_str().unwrap().to_owned())
        .collect()
}

on_both!(the_own_times_of_a_stay_replace_those_of_the_flat_everywhere);
async fn the_own_times_of_a_stay_replace_those_of_the_flat_everywhere(app: App) {
    let house = House::build(&app).await;
    let anchor = |start: &str, end: &str| {
        json!([
            {
                "ruleCategory": "relative_date",
                "startDateRelativeType": start,
                "endDateRelativeType": end,
            },
        ])
    };
    manual(
        &house,
        json!({ "title": "Inside", "visibilityRules": anchor("check_in_time", "check_out_time") }),
    )
    .await;
    let guest_view = view(&house).await;
    assert_eq!(
        (
            &guest_view["property"]["checkInTime"],
            &guest_view["property"]["checkOutTime"]
        ),
        (&json!("15:00"), &json!("11:00"))
    );
    change(
        &house,
        json!({ "checkInTime": "13:00", "checkOutTime": "17:30" }),
    )
    .await;
    let guest_view = view(&house).await;
    for part in ["property", "reservation"] {
        assert_eq!(
            (
                &guest_view[part]["checkInTime"],
                &guest_view[part]["checkOutTime"]
            ),
            (&json!("13:00"), &json!("17:30")),
            "{part}"
        );
    }
    let page = text(&house, "").await;
    assert!(
        page.contains("from 13:00") && page.contains("by 17:30"),
        "{page}"
    );
    let file = text(&house, "/stay.ics").await;
    assert!(
        file.contains("T130000") && file.contains("T173000") && file.contains("STATUS:CONFIRMED"),
        "{file}"
    );
    let google = page
        .split("https://calendar.google.com/calendar/render?action=TEMPLATE")
        .nth(1)
        .unwrap();
    assert!(
        !google.split('"').next().unwrap().contains(&house.token),
        "{page}"
    );
    // The clock moves from 21 November, 9:30 UTC, to 11 December, 12:59 in Madrid. A minute
    // later the stay begins.
    app.clock
        .advance(DAY * 20 + HOUR * 2 + Duration::from_secs(29 * 60));
    assert_eq!(titles(&view(&house).await), [""; 0]);
    app.clock.advance(Duration::from_secs(60));
    assert_eq!(titles(&view(&house).await), ["Inside"]);
    let read = house
        .api
        .get(&format!("/reservations/{}", house.stay))
        .await
        .data();
    assert_eq!(read["checkOutTime"], "17:30");
    let wrong = house
        .org
        .sync(json!([
            {
                "kind": "reservation",
                "id": house.stay,
                "data": with(reservation(None), json!({ "checkInTime": "25:00" })),
            },
        ]))
        .await;
    assert_eq!(wrong.issues(), ["records.0.data.checkInTime"]);
}

on_both!(a_late_confirmation_fires_created_until_the_stays_own_check_out_time);
async fn a_late_confirmation_fires_created_until_the_stays_own_check_out_time(app: App) {
    let house = House::build(&app).await;
    // The time is 21 November, 10:30 in Madrid. A new confirmed reservation fires no event if its
    // stay ended at 10:00.
    let leaving = |time: Value| {
        json!({
            "checkIn": "2026-11-19",
            "checkOut": "2026-11-21",
            "checkOutTime": time,
        })
    };
    for (time, events) in [(json!("10:00"), 0), (json!("12:00"), 1), (Value::Null, 1)] {
        let stay = with(reservation(Some(house.flat)), leaving(time.clone()));
        let data = house
            .org
            .sync(json!([{ "kind": "reservation", "id": new_id(), "data": stay }]))
            .await
            .data();
        assert_eq!(data["events"], events, "{time}");
    }
}

on_both!(a_skipped_time_is_shown_as_the_time_after_the_gap);
async fn a_skipped_time_is_shown_as_the_time_after_the_gap(app: App) {
    let house = House::build(&app).await;
    change(
        &house,
        json!({ "checkIn": "2027-03-28", "checkOut": "2027-03-30", "checkInTime": "02:30" }),
    )
    .await;
    let seen = view(&house).await;
    assert_eq!(seen["property"]["checkInTime"], "03:30");
    assert!(text(&house, "/stay.ics").await.contains("20270328T033000"));
    manual(
        &house,
        json!({ "description": "From {{property.checkInTime}}." }),
    )
    .await;
    let seen = view(&house).await.to_string();
    assert!(seen.contains("From 03:30."), "{seen}");
}

on_both!(a_season_of_every_year_counts_month_and_day);
async fn a_season_of_every_year_counts_month_and_day(app: App) {
    let house = House::build(&app).await;
    let season = |start: &str, end: &str, is_yearly: Value| {
        json!([
            {
                "ruleCategory": "seasonal",
                "seasonalWindows": [with(json!({ "startDate": start, "endDate": end }), is_yearly)],
            },
        ])
    };
    let yearly = json!({ "isYearly": true });
    let winter = season("2020-12-01", "2020-02-28", yearly.clone());
    let created = manual(
        &house,
        json!({ "title": "Winter", "visibilityRules": winter }),
    )
    .await;
    assert_eq!(created["visibilityRules"], winter);
    manual(
        &house,
        json!({ "title": "Summer", "visibilityRules": season("2020-06-01", "2020-08-31", yearly) }),
    )
    .await;
    manual(
        &house,
        json!({
            "title": "Once",
            "visibilityRules": season("2020-12-01", "2021-02-28", json!({})),
        }),
    )
    .await;
    assert_eq!(titles(&view(&house).await), ["Winter"]);
    let turned = json!({
        "nickname": "T",
        "title": "T",
        "propertyId": house.flat,
        "visibilityRules": season("2020-12-01", "2020-02-28", json!({})),
    });
    assert_eq!(
        house.api.post("/portal-manuals", turned).await.issues(),
        ["visibilityRules.0.seasonalWindows.0.startDate"]
    );
}

on_both!(a_tentative_stay_shows_its_status_and_withholds_some_values);
async fn a_tentative_stay_shows_its_status_and_withholds_some_values(app: App) {
    let house = House::build(&app).await;
    let flat = json!({
        "name": "Flat",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "wifiName": "casa",
        "wifiPassword": "secret",
        "propertyGroupId": house.group,
    });
    house.org.put_record("property", house.flat, flat).await;
    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": true }))
        .await;
    manual(&house, json!({ "title": "Network", "iconName": "wifi" })).await;
    let code = json!({
        "name": "Door",
        "code": "4711",
        "reservationId": house.stay,
        "propertyId": house.flat,
    });
    house.org.record("lock_code", code).await;
    let pass = || async { house.guest(Method::GET, "/pass", None).await.data() };
    let confirmed = view(&house).await;
    assert_eq!(
        confirmed["manualCategories"][0]["manuals"][0]["wifi"]["password"],
        "secret"
    );
    assert_eq!(explained(&house).await["withheld"], json!([]));
    assert_eq!(pass().await["isEnabled"], true);

    change(&house, json!({ "status": "tentative" })).await;
    let guest_view = view(&house).await;
    assert_eq!(
        (
            titles(&guest_view),
            guest_view["manualCategories"][0]["manuals"][0].get("wifi")
        ),
        (vec!["Network".to_owned()], None)
    );
    let page = text(&house, "").await;
    assert!(
        page.contains("Your booking is not confirmed yet.") && !page.contains("secret"),
        "{page}"
    );
    assert!(text(&house, "/stay.ics").await.contains("STATUS:TENTATIVE"));
    assert_eq!(
        (&pass().await["isEnabled"], &pass().await["doorCodes"]),
        (&json!(false), &json!([]))
    );
    let explained = explained(&house).await;
    let withheld: Vec<&Value> = explained["withheld"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["value"])
        .collect();
    assert_eq!(withheld, ["wifi", "door_codes", "wallet_pass"]);
    assert_eq!(explained["withheld"][0]["reason"]["key"], "tentative");

    change(&house, json!({})).await;
    assert_eq!(view(&house).await, confirmed);
    assert!(!text(&house, "").await.contains("not confirmed"));
}

on_both!(a_door_code_of_invisible_characters_is_no_code);
async fn a_door_code_of_invisible_characters_is_no_code(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isWalletPassEnabled": true }))
        .await;
    let door = new_id();
    for (code, shown) in [
        ("\u{200b}", json!([])),
        (" 4711 ", json!([{ "name": "Door", "code": "4711" }])),
    ] {
        let lock = json!({
            "name": "Door",
            "code": code,
            "reservationId": house.stay,
            "propertyId": house.flat,
        });
        house.org.put_record("lock_code", door, lock).await;
        let pass = house.guest(Method::GET, "/pass", None).await.data();
        assert_eq!(pass["doorCodes"], shown, "{code:?}");
    }
}

on_both!(a_booking_after_its_check_in_day_began_counts_as_no_day_ahead);
async fn a_booking_after_its_check_in_day_began_counts_as_no_day_ahead(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "main",
            json!({ "leadTimeMinDays": 0, "leadTimeMaxDays": 0 }),
        )
        .await;
    for (booked, is_shown) in [
        ("2026-12-10T12:00:00Z", false),
        ("2026-12-11T12:00:00Z", true),
        ("2026-12-13T12:00:00Z", true),
    ] {
        change(&house, json!({ "bookedAt": booked })).await;
        let steps = view(&house).await["precheckin"]["steps"].clone();
        assert_eq!(
            steps
                .as_array()
                .unwrap()
                .iter()
                .any(|shown| id(&shown["id"]) == step),
            is_shown,
            "{booked}"
        );
    }
    house
        .update(
            step,
            json!({ "leadTimeMinDays": 1, "leadTimeMaxDays": null }),
        )
        .await
        .data();
    let reason = explained(&house).await["steps"][0]["reason"].clone();
    assert_eq!(
        (&reason["key"], &reason["facts"]["days"]),
        (&json!("lead_time_min"), &json!(0))
    );
}

on_both!(a_translation_of_an_older_english_text_is_marked);
async fn a_translation_of_an_older_english_text_is_marked(app: App) {
    let house = House::build(&app).await;
    let created = manual(&house, json!({ "title": "Door" })).await;
    let text = id(&created["descriptionId"]);
    let path = format!("/translations/{text}/entries");
    let put = async |language: &str, text: &str| {
        house
            .api
            .ok(
                Method::PUT,
                &format!("{path}/{language}"),
                Some(json!({ "text": text })),
            )
            .await
    };
    let marks = async || {
        let entries = house.api.get(&path).await.data();
        let entries = entries.as_array().unwrap().iter();
        entries
            .map(|entry| {
                (
                    entry["language"].as_str().unwrap().to_owned(),
                    entry["isOutdated"].as_bool().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let are = |marks: &[(&str, bool)]| {
        marks
            .iter()
            .map(|(language, is_outdated)| ((*language).to_owned(), *is_outdated))
            .collect::<Vec<_>>()
    };
    put("es", "Código 1").await;
    put("fr", "Code 1").await;
    assert_eq!(
        marks().await,
        are(&[("en", false), ("es", false), ("fr", false)])
    );
    put("en", "Code 2").await;
    assert_eq!(
        marks().await,
        are(&[("en", false), ("es", true), ("fr", true)])
    );
    assert_eq!(
        explained(&house).await["manuals"][0]["outdatedLanguages"],
        json!(["es", "fr"])
    );
    let unfinished = format!(
        "/translations/shown?sourceTable=manual&language=fr&isUnfinished=true&thingId={}",
        created["id"].as_str().unwrap()
    );
    let todo = house.api.get(&unfinished).await.data();
    assert!(
        todo.as_array()
            .unwrap()
            .iter()
            .any(|shown| id(&shown["id"]) == text && shown["isOutdated"] == true),
        "{todo}"
    );
    let again = put("es", "Código 1").await;
    assert_eq!(
        (&again["text"], &again["isOutdated"]),
        (&json!("Código 1"), &json!(false)),
        "the same text again"
    );
    put("fr", "Code 2").await;
    put("en", "Code 2").await;
    assert_eq!(
        marks().await,
        are(&[("en", false), ("es", false), ("fr", false)])
    );
    assert_eq!(
        explained(&house).await["manuals"][0]["outdatedLanguages"],
        json!([])
    );
}

on_both!(a_translation_is_removed_but_never_in_english);
async fn a_translation_is_removed_but_never_in_english(app: App) {
    let house = House::build(&app).await;
    let created = manual(&house, json!({ "title": "Door" })).await;
    let text = id(&created["descriptionId"]);
    let path = format!("/translations/{text}/entries");
    house
        .api
        .ok(
            Method::PUT,
            &format!("{path}/fr"),
            Some(json!({ "text": "Porte" })),
        )
        .await;
    let remove = async |api: &test_support::Api, language: &str| {
        api.send(Method::DELETE, &format!("{path}/{language}"), None)
            .await
    };
    assert_eq!(remove(&house.api, "en").await.status, 409);
    assert_eq!(remove(&house.api, "de").await.status, 404);
    assert_eq!(remove(&house.api, "klingon language").await.status, 404);
    let without = house
        .org
        .key_without(engine::access::Permission::ModifyTasks)
        .await;
    assert_eq!(remove(&without, "fr").await.status, 403);
    let without = house
        .org
        .key_without(engine::access::Permission::ModifyGuides)
        .await;
    assert_eq!(remove(&without, "fr").await.status, 403);
    assert_eq!(
        remove(&house.org.limited(&[]).await, "fr").await.status,
        404
    );
    assert_eq!(
        remove(&house.api, "FR").await.data(),
        json!({ "success": true })
    );
    let entries = house.api.get(&path).await.data();
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries}");
    assert_eq!(remove(&house.api, "fr").await.status, 404);
}

on_both!(a_conditional_update_is_refused_if_the_resource_has_changed);
async fn a_conditional_update_is_refused_if_the_resource_has_changed(app: App) {
    let house = House::build(&app).await;
    let step = house.step("main", json!({})).await;
    let manual = manual(&house, json!({})).await;
    for path in [
        format!("/portals/{}", house.portal),
        format!("/precheck-steps/{step}"),
        format!("/portal-manuals/{}", manual["id"].as_str().unwrap()),
    ] {
        let read = house.api.get(&path).await;
        let tag = read.header("etag").unwrap().to_owned();
        let (field, name) = if path.starts_with("/portals") {
            ("name", "Named")
        } else {
            ("nickname", "Named")
        };
        let patch = async |tag: &str, name: &str| {
            let request = house
                .api
                .request(Method::PATCH, &path)
                .header("if-match", tag);
            ApiResponse::of(request.json(&json!({ "data": { field: name } }))).await
        };
        let refused = patch("\"other\"", name).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (409, &json!("CONFLICT")),
            "{path}"
        );
        assert_eq!(house.api.get(&path).await.data(), read.data());
        patch(&tag, name).await.data();
        assert_eq!(patch(&tag, "Again").await.status, 409, "{path}");
        let tag = house
            .api
            .get(&path)
            .await
            .header("etag")
            .unwrap()
            .to_owned();
        patch(&format!("\"other\", W/{tag}"), "Again").await.data();
        patch("*", "Any").await.data();
        house
            .api
            .patch(&path, json!({ "data": { field: "Without" } }))
            .await
            .data();
    }
    let missing = house
        .api
        .request(Method::PATCH, &format!("/portals/{}", new_id()))
        .header("if-match", "\"x\"");
    assert_eq!(
        ApiResponse::of(missing.json(&json!({ "data": { "name": "N" } })))
            .await
            .status,
        404
    );
}

on_both!(a_plus_sign_that_arrives_as_a_blank_is_explained);
async fn a_plus_sign_that_arrives_as_a_blank_is_explained(app: App) {
    let house = House::build(&app).await;
    for (path, field) in [
        (
            format!(
                "/reservations/{}/explain?at=2026-12-11T15:00:00+01:00",
                house.stay
            ),
            "at",
        ),
        (
            "/tags?updatedSince=2026-12-11T15:00:00+01:00".to_owned(),
            "updatedSince",
        ),
    ] {
        let refused = house.api.get(&path).await;
        assert_eq!(refused.issues(), [field]);
        let message = refused.body["error"]["details"]["issues"][0]["message"].clone();
        assert!(message.as_str().unwrap().contains("%2B"), "{message}");
        assert_eq!(house.api.get(&path.replace('+', "%2B")).await.status, 200);
    }
}

on_both!(the_reference_page_names_its_files_relative_to_itself);
async fn the_reference_page_names_its_files_relative_to_itself(app: App) {
    let page = app
        .http
        .get(format!("{}/docs", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        page.contains("src=\"docs/start.js?")
            && page.contains("src=\"docs/scalar.js?")
            && !page.contains("=\"/"),
        "{page}"
    );
    let start = app
        .http
        .get(format!("{}/docs/start.js", app.base))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        start.contains("at(\"api/v1/openapi.json\")") && !start.contains("\"/"),
        "{start}"
    );
}

on_both!(all_contact_addresses_follow_one_rule);
async fn all_contact_addresses_follow_one_rule(app: App) {
    let house = House::build(&app).await;
    for bad in ["https:///x", "https://a..b/", "https://"] {
        let portal = house
            .api
            .patch(
                &format!("/portals/{}", house.portal),
                json!({ "data": { "specialOfferUrl": bad } }),
            )
            .await;
        assert_eq!(portal.issues(), ["data.specialOfferUrl"], "{bad}");
        let manual = json!({ "nickname": "M", "title": "M", "propertyId": house.flat });
        for field in ["videoUrl", "imageUrl"] {
            assert_eq!(
                house
                    .api
                    .post(
                        "/portal-manuals",
                        with(manual.clone(), json!({ field: bad }))
                    )
                    .await
                    .issues(),
                [field],
                "{bad}"
            );
        }
        let branding =
            json!({ "name": "B", "facebookUrl": bad, "instagramUrl": bad, "linkedinUrl": bad });
        assert_eq!(
            house
                .api
                .post("/portal-brandings", branding)
                .await
                .issues()
                .len(),
            3,
            "{bad}"
        );
        let hook = json!({ "event": "task.created", "targetUrl": bad });
        assert_eq!(
            house
                .api
                .post("/webhook-subscriptions", hook)
                .await
                .issues(),
            ["targetUrl"],
            "{bad}"
        );
    }
}
