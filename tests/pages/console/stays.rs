//! Tests of the console screens for stays: search, details, and the explanation of a guest's
//! view.

use engine::access::Permission;
use serde_json::json;
use test_support::house::House;
use test_support::{App, on_both, reservation};

use super::{Form, html, marta, member_with, page, plain};
use crate::people::field;

const NASTY: &str = "<script>alert(1)</script>";

on_both!(stays_are_found_by_guest_dates_status_and_flat);
async fn stays_are_found_by_guest_dates_status_and_flat(app: App) {
    let house = House::build(&app).await;
    let browser = marta(&house.org).await;
    let path = format!("/console/stays/{}", house.stay);
    let mut other = reservation(None);
    other["guest"] = json!({
        "firstName": NASTY,
        "lastName": null,
        "email": null,
        "phone": null,
        "language": "fr",
    });
    other["status"] = "cancelled".into();
    let cancelled = house.org.record("reservation", other).await;
    for (query, is_found) in [
        ("query=ada", true),
        ("query=lovelace", false),
        ("flat=flat", true),
        ("flat=nowhere", false),
        ("from-day=2026-12-11&to-day=2026-12-11", true),
        ("from-day=2026-12-12&to-day=", false),
        ("status=confirmed", true),
        ("status=cancelled", false),
        ("query=&from-day=&to-day=", true),
    ] {
        let list = page(&browser, &format!("/console/stays?{query}")).await;
        assert_eq!(list.contains(&path), is_found, "{query}: {list}");
    }
    let found = page(&browser, "/console/search?query=ada").await;
    assert!(found.contains("Ada L · Flat · 11 December 2026"), "{found}");
    let all = page(&browser, "/console/stays?query=").await;
    assert!(
        !all.contains(NASTY) && plain(&all).contains(NASTY) && all.contains("No flat yet"),
        "{all}"
    );
    let shown = page(&browser, &format!("/console/stays/{cancelled}")).await;
    assert!(
        !shown.contains(NASTY) && shown.contains("Cancelled") && shown.contains("Français"),
        "{shown}"
    );
    for wrong in ["from-day=soon", "status=odd", "from-day=2026-02-30"] {
        let response = browser
            .get(&format!("/console/stays?query=ada&{wrong}"))
            .await;
        assert_eq!(response.status, 400, "{wrong}");
        assert!(html(&response).contains("value=\"ada\""), "{wrong}");
    }
}

on_both!(a_name_of_invisible_characters_is_no_name);
async fn a_name_of_invisible_characters_is_no_name(app: App) {
    let house = House::build(&app).await;
    let step = house.step("your_details", json!({})).await;
    house
        .answer(step, json!({ "firstName": "Ada" }))
        .await
        .data();
    house.submit().await.data();
    let browser = marta(&house.org).await;
    let lists = [
        "/console/stays?from-day=2026-12-11",
        "/console/flats?kind=reservation",
        "/console/submissions",
    ];
    for (names, shown) in [
        (
            json!({ "firstName": "\u{3164}", "lastName": "Lovelace" }),
            Some("Lovelace"),
        ),
        (
            json!({ "firstName": "\u{3164}", "lastName": "\u{200b}" }),
            None,
        ),
    ] {
        let mut booked = reservation(Some(house.flat));
        booked["guest"] = names;
        house
            .org
            .put_record("reservation", house.stay, booked)
            .await;
        for path in lists {
            let list = page(&browser, path).await;
            assert!(!list.contains(['\u{3164}', '\u{200b}']), "{path}: {list}");
            assert!(
                shown.is_none_or(|name| list.contains(&format!(">{name}<"))),
                "{path}: {list}"
            );
        }
        let listed = house.api.get("/precheckin-submissions").await.data();
        assert_eq!(listed[0]["guestName"], json!(shown), "{listed}");
    }
}

on_both!(an_explanation_links_to_the_rule_that_decided);
async fn an_explanation_links_to_the_rule_that_decided(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "your_details",
            json!({ "nickname": format!("Names {NASTY}"), "minLos": 30 }),
        )
        .await;
    let idle = house
        .unassigned_step("main", json!({ "nickname": "Idle" }))
        .await;
    let browser = marta(&house.org).await;
    let path = format!("/console/stays/{}", house.stay);
    let stay = page(&browser, &path).await;
    assert!(
        stay.contains("0 of 2 steps are shown")
            && stay.contains(&format!("/console/portals/{}", house.portal)),
        "{stay}"
    );
    assert!(stay.contains("Ada L") && stay.contains("/stay/"), "{stay}");
    let why = page(&browser, &format!("{path}/why")).await;
    for text in [
        "The stay has 4 nights; the step is for stays of 30 nights or more.",
        "Shortest stay of 4 nights or less",
        "flat Flat",
        "To change this:",
        &format!("/console/steps/{step}"),
        &format!("/console/assignments/steps/{idle}"),
    ] {
        assert!(why.contains(text), "{text}: {why}");
    }
    assert!(!why.contains(NASTY) && plain(&why).contains(NASTY));
    assert!(
        why.contains(&format!("/console/steps/{step}#f-minLos")),
        "a link to the rule: {why}"
    );
    assert!(
        !page(&browser, &format!("{path}/why?query=idle"))
            .await
            .contains("#f-minLos")
    );
    assert!(
        !page(&browser, &format!("{path}/why?shown=yes"))
            .await
            .contains("Idle")
    );
    assert_eq!(
        browser
            .get(&format!("{path}/why?at=2026-12-11T14:00"))
            .await
            .status,
        200
    );
    assert_eq!(
        browser.get(&format!("{path}/why?at=soon")).await.status,
        400
    );
    let spanish = browser
        .request(reqwest::Method::GET, &format!("{path}/why"))
        .header("accept-language", "es");
    let spanish = html(&browser.send(spanish).await);
    for text in [
        "Qué lo cambiaría",
        "La estancia tiene 4 noches; el paso es para estancias de 30 noches o más.",
        "Estancia mínima de 4 noches o menos",
    ] {
        assert!(spanish.contains(text), "{text}: {spanish}");
    }
    assert!(!spanish.contains("minLos ("), "{spanish}");

    let preview = Form::of(&stay, "/preview");
    let response = preview
        .clone()
        .with("at", "2026-12-11T16:00")
        .with("language", "fr")
        .send(&browser)
        .await;
    assert_eq!(response.status, 303, "{}", response.body);
    let shown = browser.get(response.header("location").unwrap()).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    assert_eq!(preview.with("at", "soon").send(&browser).await.status, 400);
}

on_both!(explanations_show_the_numbers_of_the_deciding_rule);
async fn explanations_show_the_numbers_of_the_deciding_rule(app: App) {
    let house = House::build(&app).await;
    for (name, rule) in [
        ("Long ahead", json!({ "leadTimeMaxDays": 14 })),
        ("Short ahead", json!({ "leadTimeMinDays": 60 })),
        ("Short stays", json!({ "maxLos": 2 })),
        (
            "Not direct",
            json!({ "inclusionType": "all_except_selected", "excludedSources": ["direct"] }),
        ),
        (
            "Only others",
            json!({ "inclusionType": "only_selected", "includedSourcesReturning": ["airbnb"] }),
        ),
    ] {
        let mut more = rule;
        more["nickname"] = name.into();
        house.step("your_details", more).await;
    }
    let category = house
        .api
        .post("/portal-manual-categories", json!({ "title": "House" }))
        .await
        .data()["id"]
        .clone();
    for rule in [
        json!({ "ruleCategory": "relative_date", "startDateRelativeType": "check_in_time" }),
        json!({
            "ruleCategory": "seasonal",
            "seasonalWindows": [{ "startDate": "2027-01-01", "endDate": "2027-02-01" }],
        }),
        json!({ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 9 }),
        json!({
            "ruleCategory": "booking_source",
            "sourceRuleType": "only_selected",
            "includedBookingSources": ["airbnb"],
        }),
        json!({ "ruleCategory": "verification_status", "verificationStatuses": ["verified"] }),
    ] {
        let manual = json!({
            "nickname": "Door",
            "title": "Door",
            "description": "Text",
            "manualCategoryId": category,
            "isActive": true,
            "visibilityRules": [rule],
        });
        let id = house.api.post("/portal-manuals", manual).await.data()["id"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        house
            .scopes("add", "manual", id, json!({ "propertyIds": [house.flat] }))
            .await;
    }
    let browser = marta(&house.org).await;
    let path = format!("/console/stays/{}/why", house.stay);
    let (steps, manuals) = (
        page(&browser, &path).await,
        page(&browser, &format!("{path}?of=manuals")).await,
    );
    for text in [
        "Booked 39 days before check-in; the step asks for at most 14 days ahead.",
        "“Booked at most this many days ahead” set to 39 or more, or left empty; or “For every \
            guest” ticked.",
        "Booked 39 days before check-in; the step asks for at least 60 days ahead.",
        "Longest stay of 4 nights or more",
        "Booked through direct, which is among “All channels but these”.",
        "“Only these channels” with direct",
    ] {
        assert!(steps.contains(text), "{text}: {steps}");
    }
    for text in [
        "It is shown from 11 December 2026, 15:00, in the flat’s time zone.",
        "No night of the stay is in one of its seasons.",
        "that has a night of this stay: 11–15 December",
        "The stay has 4 nights; the manual is for stays of 9 nights or more.",
        "a rule “Booking channel” that includes direct.",
        "It is not shown while the guest’s identity is: Not verified.",
    ] {
        assert!(manuals.contains(text), "{text}: {manuals}");
    }
    for (language, title) in [("es", "Por qué"), ("fr", "Pourquoi")] {
        let request = browser
            .request(reqwest::Method::GET, &format!("{path}?of=manuals"))
            .header("accept-language", language);
        let shown = html(&browser.send(request).await);
        assert!(
            shown.contains(title)
                && !shown.contains("It is shown from")
                && !shown.contains("The stay has"),
            "{shown}"
        );
    }
}

on_both!(stays_of_others_are_not_found);
async fn stays_of_others_are_not_found(app: App) {
    let house = House::build(&app).await;
    let other = app.org().await;
    let theirs = marta(&other).await;
    let form = field(&page(&theirs, "/console").await, "form");
    let path = format!("/console/stays/{}", house.stay);
    for path in [
        path.clone(),
        format!("{path}/why"),
        "/console/stays/x".to_owned(),
        "/console/stays/x/why".to_owned(),
    ] {
        assert_eq!(theirs.get(&path).await.status, 404, "{path}");
    }
    let portal = house.portal.to_string();
    assert_eq!(
        theirs
            .post(
                &format!("{path}/preview"),
                &[("form", &form), ("portal", &portal)]
            )
            .await
            .status,
        404
    );
    // The query names a flat of another organization, so the list is empty.
    let list = page(
        &theirs,
        &format!("/console/stays?propertyId={}", house.flat),
    )
    .await;
    assert!(list.contains("Nothing was found"), "{list}");
    let stranger = member_with(&house.org, &[Permission::ViewProperties], None).await;
    for path in [
        path.clone(),
        format!("{path}/why"),
        "/console/stays".to_owned(),
    ] {
        assert_eq!(stranger.get(&path).await.status, 403, "{path}");
    }
    let reader = member_with(&house.org, &[Permission::ViewReservations], None).await;
    let html = page(&reader, &path).await;
    assert!(
        !html.contains("/preview") && html.contains("/why"),
        "{html}"
    );
    assert_eq!(reader.get("/console/stays").await.status, 200);
}
