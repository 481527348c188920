//! Tests of previews. A preview shows an operator the guest page of a portal, for a real stay or an
//! invented one, before guests see it (rules: stays#previews).

use std::time::Duration;

use engine::access::Permission;
use engine::moment::Moment;
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, guest, id, ids, with};
use test_support::{Api, ApiResponse, App, new_id, on_both};

/// Creates a preview of a portal. Returns the token from its address.
async fn preview(api: &Api, portal: Uuid, body: Value) -> String {
    let created = api.post(&format!("/portals/{portal}/preview"), body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let url = created.data()["url"].as_str().unwrap().to_owned();
    url.rsplit('/').next().unwrap().to_owned()
}

/// Creates a preview of a portal. Returns its guest view.
async fn previewed(app: &App, api: &Api, portal: Uuid, body: Value) -> Value {
    app.stay(&preview(api, portal, body).await, "").await.data()
}

async fn rows(app: &App, table: &str) -> i64 {
    app.query(format!("select count(*) from {table}"), Vec::new(), |row| {
        row.get(0)
    })
    .await[0]
}

async fn page(app: &App, path: &str) -> (u16, String) {
    let response = ApiResponse::of(app.http.get(format!("{}/stay/{path}", app.base))).await;
    (response.status, response.body.as_str().unwrap().to_owned())
}

/// Returns the types of the steps in a view.
fn steps(view: &Value) -> Vec<&str> {
    view["precheckin"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["stepType"].as_str().unwrap())
        .collect()
}

/// Returns the titles of the manuals in a view.
fn manuals(view: &Value) -> Vec<&str> {
    let headings = view["manualCategories"].as_array().unwrap().iter();
    headings
        .flat_map(|heading| heading["manuals"].as_array().unwrap())
        .map(|manual| manual["title"].as_str().unwrap())
        .collect()
}

/// Creates a manual of the house's property.
async fn manual(house: &House<'_>, title: &str, more: Value) -> Uuid {
    let body = with(
        json!({ "nickname": title, "title": title, "propertyId": house.flat, "isActive": true }),
        more,
    );
    id(&house.api.post("/portal-manuals", body).await.data()["id"])
}

on_both!(a_preview_of_a_stay_is_marked_and_hides_the_guests_answers);
async fn a_preview_of_a_stay_is_marked_and_hides_the_guests_answers(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    let questions = house.step("additional_questions", json!({})).await;
    house
        .answer(details, json!({ "email": "ada@secret.example" }))
        .await
        .data();
    let asked = house.step_view(questions, "en").await["questions"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    house
        .answer(questions, json!({ asked: { "text": "Past midnight" } }))
        .await
        .data();
    house.say("A secret").await.data();
    let before = app.stay(&house.token, "").await.data();

    let created = house
        .api
        .post(
            &format!("/portals/{}/preview", house.portal),
            json!({ "reservationId": house.stay }),
        )
        .await;
    let now = Moment(app.clock.now());
    let end = Moment(now.0 + SignedDuration::from_hours(1));
    assert_eq!(
        (created.status, &created.data()["expiresAt"]),
        (201, &json!(end))
    );
    let token = created.data()["url"]
        .as_str()
        .unwrap()
        .strip_prefix(&format!("{}/stay/", app.base))
        .unwrap()
        .to_owned();
    assert!(token.len() > 40 && token != house.token);
    let view = app.stay(&token, "").await.data();
    assert_eq!(
        view["preview"],
        json!({ "expiresAt": end, "at": now, "isInactiveIncluded": false })
    );
    assert_eq!(view["reservation"]["id"], json!(house.stay));
    assert_eq!(view["reservation"]["checkIn"], "2026-12-11");
    assert_eq!(
        view["reservation"]["guest"],
        json!({ "firstName": "Ada", "lastName": null, "language": "en" })
    );
    assert_eq!(steps(&view), steps(&before));
    for step in view["precheckin"]["steps"].as_array().unwrap() {
        assert_eq!(step["isComplete"], true, "{step}");
    }
    assert_eq!(
        (
            &view["precheckin"]["status"],
            &before["precheckin"]["status"]
        ),
        (&json!("in_progress"), &json!("in_progress"))
    );
    let text = view.to_string();
    assert!(
        !text.contains("secret")
            && !text.contains("midnight")
            && before.to_string().contains("midnight")
    );
    assert_eq!(
        guest(&app, &token, Method::GET, "/messages", None)
            .await
            .data(),
        json!([])
    );
    assert_eq!(
        house
            .guest(Method::GET, "/messages", None)
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let (status, html) = page(&app, &token).await;
    assert!(
        status == 200
            && html.contains("Ada")
            && !html.contains("midnight")
            && !html.contains("secret")
    );

    house.submit().await.data();
    assert_eq!(
        app.stay(&token, "").await.data()["precheckin"]["status"],
        "in_review"
    );
    let real = app.stay(&house.token, "").await.data();
    assert!(before.get("preview").is_none() && real.get("preview").is_none());
    house.org.delete_record("reservation", house.stay).await;
    app.stay(&token, "").await.error(404);
}

on_both!(forms_of_a_preview_change_nothing);
async fn forms_of_a_preview_change_nothing(app: App) {
    let house = House::build(&app).await;
    let step = house.step("agreement", json!({})).await;
    let before = app.stay(&house.token, "").await.data();
    let tables = [
        "precheck_answer",
        "precheckin",
        "guest_message",
        "webhook_delivery",
    ];
    for body in [json!({}), json!({ "reservationId": house.stay })] {
        let token = preview(&house.api, house.portal, body).await;
        let shown = app.stay(&token, "").await.data();
        let answers = json!({ "answers": { "isAccepted": true } });
        let writes = [
            (Method::PUT, format!("/steps/{step}"), Some(answers)),
            (
                Method::PUT,
                format!("/steps/{}", new_id()),
                Some(json!({ "nonsense": 1 })),
            ),
            (Method::POST, "/submit".to_owned(), None),
            (
                Method::POST,
                "/messages".to_owned(),
                Some(json!({ "text": "Hello" })),
            ),
        ];
        for (method, path, body) in writes {
            let refused = guest(&app, &token, method, &path, body).await.error(403);
            assert!(
                refused["message"].as_str().unwrap().contains("preview"),
                "{refused}"
            );
        }
        let (own, submission, message) = (
            format!("steps/{step}"),
            "submit".to_owned(),
            "messages".to_owned(),
        );
        let forms = [
            (own.clone(), "isAccepted=true"),
            (own, "x=1"),
            (submission, ""),
            (message, "text=Hello"),
        ];
        for (path, fields) in forms {
            let request = app
                .http
                .post(format!("{}/stay/{token}/{path}", app.base))
                .body(fields);
            let response = ApiResponse::of(
                request.header("content-type", "application/x-www-form-urlencoded"),
            )
            .await;
            assert_eq!(response.status, 403, "{path} {fields}");
            assert!(response.body.as_str().unwrap().contains("<!doctype html>"));
        }
        assert_eq!(app.stay(&token, "").await.data(), shown);
    }
    for table in tables {
        assert_eq!(rows(&app, table).await, 0, "{table}");
    }
    assert_eq!(app.stay(&house.token, "").await.data(), before);
    house
        .update(step, json!({ "stepType": "main" }))
        .await
        .data();
}

on_both!(a_preview_is_valid_for_an_hour_with_its_token_only);
async fn a_preview_is_valid_for_an_hour_with_its_token_only(app: App) {
    let house = House::build(&app).await;
    let token = preview(&house.api, house.portal, json!({})).await;
    let stranger = app.org().await.key().await;
    let looked = app
        .http
        .get(format!("{}/guest/v1/stays/{token}", app.base))
        .bearer_auth(stranger.token.unwrap());
    ApiResponse::of(looked).await.data();
    let mut forged = token.clone();
    forged.replace_range(10..11, if &token[10..11] == "A" { "B" } else { "A" });
    for wrong in [&forged, "pv_", &token[..token.len() - 1], &token[3..]] {
        app.stay(wrong, "").await.error(404);
        assert_eq!(page(&app, wrong).await.0, 404);
    }
    app.api(&token).get("/portals").await.error(401);
    let stored = app
        .query("select token_hash from portal_preview", Vec::new(), |row| {
            row.get::<Vec<u8>>(0)
        })
        .await;
    assert_eq!(stored, [engine::access::hash(&token)]);

    app.clock.advance(Duration::from_secs(3_599));
    app.stay(&token, "").await.data();
    app.server.sweep_once().await;
    assert_eq!(rows(&app, "portal_preview").await, 1);
    app.clock.advance(Duration::from_secs(1));
    app.stay(&token, "").await.error(404);
    guest(&app, &token, Method::POST, "/submit", None)
        .await
        .error(404);
    assert_eq!(page(&app, &token).await.0, 404);
    let later = preview(&house.api, house.portal, json!({})).await;
    app.server.sweep_once().await;
    assert_eq!(
        rows(&app, "portal_preview").await,
        1,
        "what has ended is swept"
    );
    app.stay(&later, "").await.data();
}

on_both!(an_invented_guest_stays_in_a_flat_of_the_portal);
async fn an_invented_guest_stays_in_a_flat_of_the_portal(app: App) {
    let house = House::build(&app).await;
    let House {
        org,
        api,
        flat,
        portal,
        ..
    } = &house;
    let other = org.property(None, &[]).await;
    let theirs = id(&api
        .post("/portals", json!({ "name": "Theirs" }))
        .await
        .data()["id"]);
    house
        .scopes(
            "add",
            "portal_settings",
            theirs,
            json!({ "propertyIds": [other] }),
        )
        .await;
    let idle = id(&api.post("/portals", json!({ "name": "Idle" })).await.data()["id"]);
    house.step("your_details", json!({})).await;

    let view = previewed(&app, api, *portal, json!({})).await;
    assert_eq!(
        (&view["property"]["id"], &view["portal"]["id"]),
        (&json!(flat), &json!(portal))
    );
    let reservation = &view["reservation"];
    let dates = [&reservation["checkIn"], &reservation["checkOut"]];
    assert_eq!(
        (&reservation["status"], dates),
        (
            &json!("confirmed"),
            [&json!("2026-11-21"), &json!("2026-11-24")]
        )
    );
    assert_eq!(
        reservation["guest"],
        json!({ "firstName": "Guest", "lastName": null, "language": "en" })
    );
    assert_eq!(
        (steps(&view), &view["precheckin"]["status"]),
        (vec!["your_details"], &json!("not_started"))
    );
    assert_eq!(
        previewed(&app, api, theirs, json!({})).await["property"]["id"],
        json!(other),
        "the first that it serves"
    );
    let view = previewed(&app, api, idle, json!({})).await;
    assert_eq!(
        (&view["property"]["id"], &view["portal"]["name"]),
        (&json!(flat), &json!("Idle")),
        "else the first there is"
    );

    let day = |at: &str| previewed(&app, api, *portal, json!({ "at": at, "language": "fr-CA" }));
    let view = day("2027-01-31T23:30:00Z").await;
    assert_eq!(
        view["reservation"]["checkIn"], "2027-02-01",
        "the day in the flat's zone"
    );
    assert_eq!(view["preview"]["at"], "2027-01-31T23:30:00.000Z");
    assert_eq!(
        view["reservation"]["guest"],
        json!({ "firstName": "Voyageur", "lastName": null, "language": "fr-CA" })
    );
    assert!(
        view["precheckin"]["promptMessage"]
            .as_str()
            .unwrap()
            .starts_with("Merci")
    );
    for at in ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"] {
        day(at).await;
    }

    let bare = app.org().await;
    let key = bare.key().await;
    let made = id(&key
        .post("/portals", json!({ "name": "First" }))
        .await
        .data()["id"]);
    let view = previewed(&app, &key, made, json!({})).await;
    let flat =
        ["name", "timezone", "country"].map(|field| view["property"][field].as_str().unwrap());
    assert_eq!(flat, ["First", "UTC", "ES"]);
    assert_eq!(view["portal"]["id"], json!(made));
    let homeless = bare.reservation(None).await;
    assert_eq!(
        previewed(&app, &key, made, json!({ "reservationId": homeless })).await["property"]["name"],
        "First"
    );
}

on_both!(a_preview_shows_the_named_portal);
async fn a_preview_shows_the_named_portal(app: App) {
    let house = House::build(&app).await;
    let House {
        api,
        flat,
        portal,
        stay,
        ..
    } = &house;
    let draft = id(&api
        .post(
            "/portals",
            json!({ "name": "Draft", "supportNotes": "New" }),
        )
        .await
        .data()["id"]);
    for (place, of) in [("agreement", *portal), ("your_details", draft)] {
        let step = house.unassigned_step(place, json!({})).await;
        house
            .scopes(
                "add",
                "precheck_step",
                step,
                json!({ "portalSettingsIds": [of] }),
            )
            .await;
    }
    house.step("main", json!({})).await;
    // The test reads the guest view of the preview and that of the guest in turn. If both used
    // the same cache entry, one would show data of the other.
    for body in [
        json!({ "propertyId": flat }),
        json!({ "reservationId": stay }),
    ] {
        for _ in 0..2 {
            let view = previewed(&app, api, draft, body.clone()).await;
            assert_eq!(
                (&view["portal"]["name"], &view["portal"]["supportNotes"]),
                (&json!("Draft"), &json!("New"))
            );
            assert_eq!(steps(&view), ["your_details", "main"]);
            let real = app.stay(&house.token, "").await.data();
            assert_eq!(
                (&real["portal"]["name"], steps(&real)),
                (&json!("Casa"), vec!["agreement", "main"])
            );
            let own = previewed(&app, api, *portal, body.clone()).await;
            assert_eq!(
                (&own["portal"]["name"], steps(&own)),
                (&json!("Casa"), vec!["agreement", "main"])
            );
        }
    }
    let token = preview(api, draft, json!({})).await;
    house
        .update_portal(
            draft,
            json!({ "supportNotes": "Newer", "isPrecheckinEnabled": false }),
        )
        .await;
    let view = app.stay(&token, "").await.data();
    assert_eq!(
        (&view["portal"]["supportNotes"], steps(&view)),
        (&json!("Newer"), vec![""; 0]),
        "as it is when it is looked at"
    );
}

on_both!(inactive_parts_are_shown_marked_on_request);
async fn inactive_parts_are_shown_marked_on_request(app: App) {
    let house = House::build(&app).await;
    let House {
        api, portal, flat, ..
    } = &house;
    house.step("your_details", json!({})).await;
    house.step("main", json!({ "isActive": false })).await;
    manual(&house, "Wi-Fi", json!({})).await;
    manual(&house, "Sauna", json!({ "isActive": false })).await;
    let marked = |view: &Value| {
        let marks = |of: &Value| {
            of.as_array()
                .unwrap()
                .iter()
                .map(|one| one["isInactive"].clone())
                .collect::<Vec<_>>()
        };
        (
            marks(&view["precheckin"]["steps"]),
            marks(&view["manualCategories"][0]["manuals"]),
        )
    };
    for body in [
        json!({ "propertyId": flat }),
        json!({ "reservationId": house.stay }),
    ] {
        for _ in 0..2 {
            let all = previewed(
                &app,
                api,
                *portal,
                with(body.clone(), json!({ "includeInactive": true })),
            )
            .await;
            assert_eq!(
                (steps(&all), manuals(&all)),
                (vec!["your_details", "main"], vec!["Wi-Fi", "Sauna"])
            );
            assert_eq!(
                marked(&all),
                (
                    vec![Value::Null, json!(true)],
                    vec![Value::Null, json!(true)]
                )
            );
            assert_eq!(all["preview"]["isInactiveIncluded"], true);
            let active = previewed(
                &app,
                api,
                *portal,
                with(body.clone(), json!({ "includeInactive": false })),
            )
            .await;
            let real = app.stay(&house.token, "").await.data();
            for view in [&active, &real] {
                assert_eq!(
                    (steps(view), manuals(view)),
                    (vec!["your_details"], vec!["Wi-Fi"])
                );
                assert_eq!(marked(view), (vec![Value::Null], vec![Value::Null]));
            }
        }
    }
    let offer = async |include: bool| {
        previewed(&app, api, *portal, json!({ "includeInactive": include })).await["specialOffer"]
            .clone()
    };
    assert_eq!(offer(true).await, Value::Null, "there is none");
    house
        .update_portal(*portal, json!({ "specialOfferTitle": "Late" }))
        .await;
    let (shown, hidden) = (offer(true).await, offer(false).await);
    assert_eq!(
        (&shown["title"], &shown["isInactive"], hidden),
        (&json!("Late"), &json!(true), Value::Null)
    );
    house
        .update_portal(*portal, json!({ "isSpecialOfferActive": true }))
        .await;
    let shown = offer(true).await;
    assert_eq!(
        (&shown["title"], shown.get("isInactive")),
        (&json!("Late"), None)
    );
}

on_both!(unsaved_settings_replace_the_saved_settings_in_a_preview);
#[expect(clippy::too_many_lines, reason = "one case for each kind of setting")]
async fn unsaved_settings_replace_the_saved_settings_in_a_preview(app: App) {
    let house = House::build(&app).await;
    house.step("your_details", json!({})).await;
    let House { api, portal, .. } = &house;
    let mar = id(&api
        .post(
            "/portal-brandings",
            json!({ "name": "Mar", "calloutMessage": "Ahoy" }),
        )
        .await
        .data()["id"]);
    house
        .update_portal(
            *portal,
            json!({
                "brandingId": mar,
                "supportNotes": "Old",
                "specialOfferTitle": "Old",
                "specialOfferType": "Kept",
            }),
        )
        .await;
    let draft = json!({
        "portal": {
            "supportNotes": "New",
            "supportPhone": "93 412 34 56",
            "communicationMethod": "phone",
            "isSpecialOfferActive": true,
            "specialOfferTitle": " New ",
            "specialOfferType": "",
            "specialOfferUrl": "https://example.com",
            "excludedQuickAccessTypes": [],
            "precheckinPromptMessage": "Come in",
        },
        "branding": { "name": "Tierra", "primaryColor": "#abc", "calloutMessage": "Land" },
        "language": "fr",
    });
    let before = (
        api.get(&format!("/portals/{portal}")).await.data(),
        api.get("/portal-brandings").await.data(),
    );
    let looked = api
        .post(&format!("/portals/{portal}/guest-view"), draft.clone())
        .await;
    assert_eq!(looked.status, 200, "{}", looked.body);
    assert_eq!(
        rows(&app, "portal_preview").await,
        0,
        "looking makes no link"
    );
    let token = preview(api, *portal, draft).await;
    for view in [
        looked.data(),
        app.stay(&token, "").await.data(),
        app.stay(&token, "").await.data(),
    ] {
        assert_eq!(
            (&view["portal"]["supportNotes"], &view["contact"]["value"]),
            (&json!("New"), &json!("+34934123456"))
        );
        let offer = json!({
            "title": "New",
            "type": "Kept",
            "ctaText": null,
            "url": "https://example.com",
            "textLanguages": { "type": "en" },
        });
        assert_eq!(
            (&view["specialOffer"], &view["precheckin"]["promptMessage"]),
            (&offer, &json!("Come in"))
        );
        assert_eq!(view["quickAccess"].as_array().unwrap().len(), 5);
        let look = ["name", "primaryColor", "calloutMessage"]
            .map(|field| view["branding"][field].as_str().unwrap());
        assert_eq!(look, ["Tierra", "#aabbcc", "Land"]);
        assert_eq!(view["reservation"]["guest"]["language"], "fr");
    }
    // If another field of the portal changes later, the preview shows the new value. Only the
    // preview shows its unsaved settings.
    house
        .update_portal(*portal, json!({ "supportEmail": "hi@example.com" }))
        .await;
    let view = app.stay(&token, "").await.data();
    assert_eq!(
        (
            &view["portal"]["supportEmail"],
            &view["portal"]["supportNotes"]
        ),
        (&json!("hi@example.com"), &json!("New"))
    );
    house
        .update_portal(*portal, json!({ "supportEmail": null }))
        .await;
    let own = previewed(&app, api, *portal, json!({})).await;
    assert_eq!(
        (
            &own["portal"]["supportNotes"],
            &own["branding"]["calloutMessage"]
        ),
        (&json!("Old"), &json!("Ahoy"))
    );
    assert_eq!(
        app.stay(&house.token, "").await.data()["portal"]["supportNotes"],
        "Old"
    );
    let mut after = (
        api.get(&format!("/portals/{portal}")).await.data(),
        api.get("/portal-brandings").await.data(),
    );
    after.0["updatedAt"] = before.0["updatedAt"].clone();
    assert_eq!(after, before);

    let look = async |body| {
        api.post(&format!("/portals/{portal}/guest-view"), body)
            .await
    };
    let cleared = look(json!({
        "portal": { "specialOfferTitle": null, "isSpecialOfferActive": true, "brandingId": null },
        "branding": { "calloutMessage": null },
    }))
    .await
    .data();
    assert_eq!(
        (&cleared["specialOffer"]["title"], &cleared["branding"]),
        (&Value::Null, &Value::Null)
    );
    let wrong = look(json!({
        "portal": { "supportPhone": "x", "colour": 1 },
        "branding": { "primaryColor": "red" },
    }))
    .await;
    assert_eq!(
        wrong.issues(),
        [
            "branding.primaryColor",
            "portal.colour",
            "portal.supportPhone"
        ]
    );
    look(json!({ "portal": { "brandingId": new_id() } }))
        .await
        .error(404);
    assert_eq!(look(json!({ "portal": null })).await.status, 400);
    let path = format!("/portals/{portal}/guest-view");
    house
        .org
        .key_with(&[Permission::ModifyProperties])
        .await
        .post(&path, json!({}))
        .await
        .error(403);
    // Only callers who may save settings may preview unsaved settings, because the preview's link
    // opens a public page on the operator's site.
    let viewer = house.org.key_with(&[Permission::ViewProperties]).await;
    for at in [path.clone(), format!("/portals/{portal}/preview")] {
        viewer
            .post(&at, json!({ "portal": {}, "branding": {} }))
            .await
            .data();
        for draft in [
            json!({ "portal": { "supportNotes": "Pay here" } }),
            json!({ "branding": { "calloutMessage": "Pay here" } }),
        ] {
            viewer.post(&at, draft).await.error(403);
        }
    }
    house
        .org
        .key_with(&[Permission::ViewProperties])
        .await
        .post(&path, json!({ "reservationId": house.stay }))
        .await
        .error(403);
    app.org()
        .await
        .key()
        .await
        .post(&path, json!({}))
        .await
        .error(404);
    house
        .org
        .limited(&[house.org.property(None, &[]).await])
        .await
        .post(&path, json!({ "propertyId": house.flat }))
        .await
        .error(404);
}

on_both!(a_preview_can_show_another_time_and_language);
async fn a_preview_can_show_another_time_and_language(app: App) {
    let house = House::build(&app).await;
    let before =
        json!([{ "ruleCategory": "relative_date", "startDateRelativeType": "check_in_time" }]);
    manual(&house, "Door", json!({ "visibilityRules": before })).await;
    let token = preview(
        &house.api,
        house.portal,
        json!({ "reservationId": house.stay, "at": "2026-12-11T14:00:00Z" }),
    )
    .await;
    assert_eq!(manuals(&app.stay(&token, "").await.data()), ["Door"]);
    let earlier = app
        .stay(&token, "?at=2026-12-11T13:59:59Z&language=es")
        .await
        .data();
    assert_eq!(
        (manuals(&earlier), &earlier["preview"]["at"]),
        (vec![""; 0], &json!("2026-12-11T13:59:59.000Z"))
    );
    assert_eq!(earlier["reservation"]["guest"]["language"], "es");
    assert_eq!(app.stay(&token, "?at=yesterday").await.issues(), ["at"]);
    let (status, html) = page(
        &app,
        &format!("{token}?at=2026-12-01T10:00:00Z&language=es"),
    )
    .await;
    assert!(
        status == 200
            && html.contains("lang=\"es\"")
            && html.contains("Tu estancia")
            && !html.contains("Door")
    );
    let (_, html) = page(&app, &token).await;
    assert!(html.contains("lang=\"en\"") && html.contains("Door"));
    app.stay(&house.token, "?at=2026-12-11T14:00:00Z")
        .await
        .error(401);
    // The form on a preview's page sends a time in the time zone of the flat. The page of a
    // real stay ignores that time.
    for (at, is_there) in [("14:59", false), ("15:00", true)] {
        let (status, html) = page(&app, &format!("{token}?at=2026-12-11T{at}")).await;
        assert_eq!((status, html.contains("Door")), (200, is_there), "{at}");
    }
    let (status, html) = page(&app, &format!("{}?at=2026-12-11T15:00", house.token)).await;
    assert_eq!((status, html.contains("Door")), (200, false));
    // A preview without a reservation shows an invented stay. The parameter `at` does not change
    // the dates of that stay.
    let token = preview(&house.api, house.portal, json!({})).await;
    let view = app.stay(&token, "?at=2026-11-20T10:00:00Z").await.data();
    assert_eq!(
        (&view["reservation"]["checkIn"], manuals(&view)),
        (&json!("2026-11-21"), vec![""; 0])
    );
    assert_eq!(
        manuals(&app.stay(&token, "?at=2026-11-21T14:00:00Z").await.data()),
        ["Door"]
    );
}

on_both!(a_preview_needs_the_permissions_for_its_contents);
async fn a_preview_needs_the_permissions_for_its_contents(app: App) {
    let house = House::build(&app).await;
    let House {
        org,
        api,
        flat,
        portal,
        stay,
        ..
    } = &house;
    let path = format!("/portals/{portal}/preview");
    let of_stay = json!({ "reservationId": stay });
    let properties = org.key_with(&[Permission::ViewProperties]).await;
    properties
        .post(&path, json!({ "reservationId": null }))
        .await
        .data();
    properties.post(&path, of_stay.clone()).await.error(403);
    properties
        .post(&path, json!({ "reservationId": "nonsense", "colour": 1 }))
        .await
        .error(403);
    org.key_with(&[Permission::ViewReservations])
        .await
        .post(&path, json!({}))
        .await
        .error(403);
    org.key_with(&[Permission::ViewProperties, Permission::ViewReservations])
        .await
        .post(&path, of_stay.clone())
        .await
        .data();

    assert_eq!(
        api.post(&path, json!({ "reservationId": stay, "propertyId": flat }))
            .await
            .issues(),
        ["propertyId"]
    );
    let wrong = json!({
        "reservationId": stay,
        "propertyId": flat,
        "language": "!",
        "at": "soon",
        "includeInactive": "yes",
        "colour": 1,
        "url": "x",
    });
    assert_eq!(
        api.post(&path, wrong).await.issues(),
        [
            "at",
            "colour",
            "includeInactive",
            "language",
            "propertyId",
            "url"
        ]
    );
    assert_eq!(
        api.post(&path, json!({ "propertyId": 7 })).await.issues(),
        ["propertyId"]
    );

    let message = |answer: &ApiResponse| answer.error(404)["message"].as_str().unwrap().to_owned();
    let missing = api
        .post(
            &format!("/portals/{}/preview", new_id()),
            json!({ "reservationId": new_id() }),
        )
        .await;
    assert!(
        message(&missing).contains("Portal"),
        "the portal comes first"
    );
    assert!(
        message(&api.post(&path, json!({ "reservationId": new_id() })).await)
            .contains("Reservation")
    );
    assert!(
        message(&api.post(&path, json!({ "propertyId": new_id() })).await).contains("Property")
    );
    let strangers = app.org().await.key().await;
    strangers.post(&path, json!({})).await.error(404);
    let other_house = House::build(&app).await;
    for body in [
        json!({ "reservationId": other_house.stay }),
        json!({ "propertyId": other_house.flat }),
    ] {
        api.post(&path, body).await.error(404);
    }

    let beyond = org.property(None, &[]).await;
    let limited = org.limited(&[beyond]).await;
    limited.post(&path, of_stay.clone()).await.error(404);
    limited
        .post(&path, json!({ "propertyId": flat }))
        .await
        .error(404);
    assert_eq!(
        previewed(&app, &limited, *portal, json!({})).await["property"]["id"],
        json!(beyond),
        "the first of theirs"
    );
    let theirs = id(&api
        .post("/portals", json!({ "name": "Theirs" }))
        .await
        .data()["id"]);
    house
        .scopes(
            "add",
            "portal_settings",
            theirs,
            json!({ "propertyIds": [flat] }),
        )
        .await;
    limited.get(&format!("/portals/{theirs}")).await.error(404);
    limited
        .post(&format!("/portals/{theirs}/preview"), json!({}))
        .await
        .error(404);
    let nobody = org.limited(&[]).await;
    nobody.post(&path, json!({})).await.error(404);
    let idle = id(&api.post("/portals", json!({ "name": "Idle" })).await.data()["id"]);
    let view = previewed(&app, &nobody, idle, json!({})).await;
    assert_eq!(
        (
            &view["property"]["name"],
            view["property"]["id"] == json!(flat)
        ),
        (&json!("Idle"), false),
        "no flat of others"
    );
    // The reservation moves to a property that the creator of the preview cannot access. The
    // preview then stops working.
    let moving = org.reservation(Some(beyond)).await;
    let token = preview(&limited, *portal, json!({ "reservationId": moving })).await;
    org.put_record(
        "reservation",
        moving,
        test_support::reservation(Some(*flat)),
    )
    .await;
    assert_eq!(
        app.stay(&token, "").await.data()["property"]["id"],
        json!(beyond)
    );
}

on_both!(the_number_of_previews_is_bounded);
async fn the_number_of_previews_is_bounded(app: App) {
    let house = House::build(&app).await;
    let first = preview(&house.api, house.portal, json!({})).await;
    app.clock.advance(Duration::from_secs(1));
    let second = preview(&house.api, house.portal, json!({})).await;
    let other = House::build(&app).await;
    let theirs = preview(&other.api, other.portal, json!({})).await;
    let another = "insert into portal_preview (organization_id, id, token_hash, expires_at, doc) \
        values (?1, ?2, ?3, ?4, ?5)";
    let end = app.clock.now() + SignedDuration::from_hours(1);
    for _ in 0..998 {
        let created = new_id();
        let hash = store::Value::Bytes(created.as_bytes().to_vec());
        let params = vec![
            house.org.id.into(),
            created.into(),
            hash,
            end.into(),
            store::Value::Json("{}".into()),
        ];
        app.change(another, params).await;
    }
    app.stay(&first, "").await.data();
    let latest = preview(&house.api, house.portal, json!({})).await;
    app.stay(&first, "").await.error(404);
    for token in [&second, &latest, &theirs] {
        app.stay(token, "").await.data();
    }
    assert_eq!(rows(&app, "portal_preview").await, 1_000 + 1);
}

on_both!(creating_a_preview_changes_no_configuration);
async fn creating_a_preview_changes_no_configuration(app: App) {
    let house = House::build(&app).await;
    let portals = async || house.api.get("/portals").await;
    let before = portals().await;
    let created = house
        .api
        .post_with_key(
            &format!("/portals/{}/preview", house.portal),
            "once",
            json!({}),
        )
        .await;
    let again = house
        .api
        .post_with_key(
            &format!("/portals/{}/preview", house.portal),
            "once",
            json!({}),
        )
        .await;
    assert_eq!(
        (created.status, again.status, &created.body),
        (201, 201, &again.body)
    );
    assert_eq!(rows(&app, "portal_preview").await, 1);
    let after = portals().await;
    assert_eq!(
        (after.header("etag"), ids(&after.data())),
        (before.header("etag"), vec![house.portal])
    );
    let tokens = [
        preview(&house.api, house.portal, json!({})).await,
        preview(&house.api, house.portal, json!({})).await,
    ];
    assert_ne!(tokens[0], tokens[1], "each has a token of its own");
}
