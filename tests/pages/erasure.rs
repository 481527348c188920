//! Tests of the erasure of organizations: an erased organization disappears from every response at
//! once, and from every table soon after.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::access::Permission;
use engine::operation::Surface;
use features::events::Timekeeper;
use reqwest::Method;
use serde_json::{Value, json};
use store::Value as Sql;
use strum::VariantArray;
use uuid::Uuid;

use test_support::house::House;
use test_support::receiver::{Receiver, subscribe, until_read};
use test_support::{Api, ApiResponse, App, Org, new_id, on_both, on_both_with};

/// Tables whose rows belong to no organization.
const WITHOUT_ORGANIZATION: [&str; 7] = [
    "domain",
    "duty",
    "oauth_app",
    "refinery_schema_history",
    "secret",
    "setup_ticket",
    "summary_version",
];

async fn erase(app: &App, id: Uuid) -> Value {
    app.platform()
        .ok(Method::DELETE, &format!("/organizations/{id}"), None)
        .await
}

/// Returns the number of rows that an organization has in each table.
async fn rows_of(app: &App, id: Uuid) -> BTreeMap<String, i64> {
    let mut columns = BTreeMap::<String, Vec<String>>::new();
    for (table, column, ..) in app.columns().await {
        columns.entry(table).or_default().push(column);
    }
    let mut results = BTreeMap::new();
    for (table, columns) in columns {
        let column = match table.as_str() {
            table if WITHOUT_ORGANIZATION.contains(&table) => continue,
            "organization" => "id",
            table => columns
                .iter()
                .find(|column| *column == "organization_id")
                .unwrap_or_else(|| panic!("whose are the rows of {table}?")),
        };
        let count = app
            .query(
                format!("select count(*) from {table} where {column} = ?1"),
                vec![id.into()],
                |row| row.get(0),
            )
            .await;
        results.insert(table, count[0]);
    }
    results
}

/// Inserts a row with invented values into a table that no operation of this test fills.
async fn invent_row(app: &App, table: &str, id: Uuid) {
    let columns: Vec<_> = app
        .columns()
        .await
        .into_iter()
        .filter(|(of, ..)| of == table)
        .collect();
    let is_sqlite = app.database_url.starts_with("sqlite:");
    let value = |(_, column, kind, is_nullable): &(String, String, String, bool)| match (
        column.as_str(),
        kind.to_lowercase().as_str(),
    ) {
        // An event refers to its calendar feed by `feed_id`. The row that this function invents in
        // `calendar_feed` therefore has the same `id` as the event's `feed_id`.
        ("organization_id" | "feed_id", _) => Sql::Uuid(id),
        ("id", _) if table == "calendar_feed" => Sql::Uuid(id),
        _ if *is_nullable => Sql::Null,
        (_, "blob" | "uuid") => Sql::Uuid(new_id()),
        (_, "bytea") => Sql::Bytes(vec![7; 16]),
        (_, "boolean") => Sql::Bool(true),
        (_, "timestamp with time zone") => Sql::Timestamp(app.clock.now()),
        (_, "integer" | "bigint") => Sql::Integer(1),
        (_, "jsonb") => Sql::Json("{}".into()),
        _ if is_sqlite => Sql::Text("{}".into()),
        _ => Sql::Text("x".into()),
    };
    let names: Vec<&str> = columns
        .iter()
        .map(|(_, column, ..)| column.as_str())
        .collect();
    let places: Vec<String> = (1..=columns.len())
        .map(|number| format!("?{number}"))
        .collect();
    let text = format!(
        "insert into {table} ({}) values ({})",
        names.join(", "),
        places.join(", ")
    );
    app.change(text, columns.iter().map(value).collect()).await;
}

/// Creates at least one of each kind of data that an organization can have. Returns an API client
/// of the organization.
pub async fn furnish(house: &House<'_>) -> Api {
    let House {
        org,
        api,
        flat,
        portal,
        token,
        ..
    } = house;
    let app = org.app;
    let member = new_id();
    org.member(member, None, Permission::VARIANTS, true).await;
    let connected = org.token_of(member, Permission::VARIANTS).await;
    crate::people::signed_in(org, member).await;
    crate::people::link(org, member).await;
    crate::oauth::connect(org, member).await;
    subscribe(api, "device.offline", "https://receiver.invalid/").await;
    let step = house
        .step("additional_questions", json!({ "displayTitle": "Arrival" }))
        .await;
    let guest = |method: Method, path: String, body: Value| {
        ApiResponse::of(
            app.http
                .request(method, format!("{}/guest/v1/stays/{token}{path}", app.base))
                .json(&body),
        )
    };
    guest(
        Method::PUT,
        format!("/steps/{step}"),
        json!({ "answers": {} }),
    )
    .await
    .data();
    guest(Method::POST, "/messages".into(), json!({ "text": "Hello" }))
        .await
        .data();
    guest(Method::POST, "/submit".into(), json!({}))
        .await
        .data();
    let check = house.unassigned_step("identity_check", json!({})).await;
    let path = org.path(&format!("/reservations/{}/steps/{check}", house.stay));
    app.platform()
        .ok(Method::PUT, &path, Some(json!({ "status": "pending" })))
        .await;
    let device = |is_online: bool| {
        json!({
            "propertyId": flat,
            "name": "D",
            "deviceType": "hub",
            "vendor": "V",
            "isOnline": is_online,
        })
    };
    let hub = org.record("device", device(false)).await;
    org.put_record("device", hub, device(true)).await;
    org.put_record("device", hub, device(false)).await;
    org.put_record("device", hub, device(true)).await;
    let category = api
        .post("/portal-manual-categories", json!({ "title": "Inside" }))
        .await
        .data()["id"]
        .clone();
    let image = org
        .record("image", json!({ "url": "https://img.example/1.png" }))
        .await;
    let manual = json!({
        "nickname": "Wi-Fi",
        "title": "Wi-Fi",
        "manualCategoryId": category,
        "propertyId": flat,
    });
    let manual = api.post("/portal-manuals", manual).await.data()["id"].clone();
    let cover = json!({ "data": { "imageId": image } });
    api.patch(
        &format!("/portal-manuals/{}", manual.as_str().unwrap()),
        cover,
    )
    .await
    .data();
    api.post(
        "/portal-brandings",
        json!({ "name": "Blue", "calloutMessage": "Hello" }),
    )
    .await
    .data();
    api.post_with_key("/portals", "once", json!({ "name": "Keyed" }))
        .await
        .data();
    api.post(&format!("/portals/{portal}/preview"), json!({}))
        .await
        .data();
    connected
}

/// Makes a request as each kind of caller. Returns a description and the status of each request.
async fn statuses_of_all_callers(
    app: &App,
    org: &Org<'_>,
    apis: &[&Api],
    token: &str,
) -> Vec<(String, u16)> {
    let mut answers = Vec::new();
    for api in apis {
        for path in [
            "/portals",
            "/properties",
            "/reservations",
            "/precheck-steps",
            "/search?query=flat",
            "/webhook-subscriptions",
        ] {
            answers.push((path.to_owned(), api.get(path).await.status));
        }
        answers.push((
            "POST /portals".into(),
            api.post("/portals", json!({ "name": "P" })).await.status,
        ));
    }
    answers.push(("stay".into(), app.stay(token, "").await.status));
    let page = app
        .http
        .get(format!("{}/stay/{token}", app.base))
        .send()
        .await
        .unwrap();
    answers.push(("page".into(), page.status().as_u16()));
    let text = app
        .http
        .post(format!("{}/guest/v1/stays/{token}/messages", app.base))
        .json(&json!({ "text": "x" }));
    answers.push(("message".into(), ApiResponse::of(text).await.status));
    for operation in vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Platform)
    {
        let Some(rest) = operation
            .path
            .strip_prefix("/organizations/{organizationId}")
        else {
            continue;
        };
        if rest.is_empty() {
            continue;
        }
        let path = rest.split('/').map(|part| {
            if part.starts_with('{') {
                new_id().to_string()
            } else {
                part.to_owned()
            }
        });
        let path = org.path(&path.collect::<Vec<_>>().join("/"));
        let body = operation.has_body().then(|| {
            json!({
                "reservationIds": [],
                "records": [],
                "name": "x",
                "permissions": [],
                "email": "a@example.com",
                "propertyIds": null,
                "isActive": true,
                "isTwoFactorEnrolled": true,
                "memberId": new_id(),
                "oauthAppId": new_id(),
                "status": "completed",
            })
        });
        // Unknown fields would be refused before the operation looks up the organization, so the
        // test removes them from the body.
        let body = body.map(|mut body| {
            let shape = operation.input_schema(&mut engine::operation::inline_generator());
            body.as_object_mut().unwrap().retain(|name, _| {
                shape["properties"].get(name).is_some() && !operation.is_path_field(name)
            });
            if operation.id == "reportCharge" {
                body["status"] = json!("paid");
            }
            body
        });
        answers.push((
            format!("{} {}", operation.id, operation.path),
            app.platform()
                .send(operation.method.clone(), &path, body)
                .await
                .status,
        ));
    }
    answers.push((
        "getOrganization".into(),
        app.platform().get(&org.path("")).await.status,
    ));
    answers
}

on_both!(an_erased_organization_disappears_from_answers_and_tables);
async fn an_erased_organization_disappears_from_answers_and_tables(app: App) {
    let house = House::build(&app).await;
    let connected = furnish(&house).await;
    let (org, other) = (&house.org, app.org().await);
    let theirs = other.key().await;
    other.property(None, &[]).await;
    let before = rows_of(&app, org.id).await;
    let empty: BTreeSet<_> = before
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(table, _)| table.clone())
        .collect();
    // The tables are filled in reverse order, so that a calendar feed exists before its events.
    for table in empty.iter().rev() {
        invent_row(&app, table, org.id).await;
    }
    assert!(rows_of(&app, org.id).await.values().all(|count| *count > 0));
    let untouched = rows_of(&app, other.id).await;
    let apis = [&house.api, &connected];
    for (what, status) in statuses_of_all_callers(&app, org, &apis, &house.token).await {
        assert_ne!(status, 401, "{what}");
    }

    assert_eq!(erase(&app, org.id).await, json!({ "success": true }));
    for round in 0..2 {
        for (what, status) in statuses_of_all_callers(&app, org, &apis, &house.token).await {
            assert!(
                matches!(status, 401 | 404),
                "{what}: {status}, round {round}"
            );
        }
        let listed = app.platform().get("/organizations").await;
        assert_eq!(
            (
                &listed.data()[0]["id"],
                &listed.body["meta"]["pagination"]["total"]
            ),
            (&json!(other.id), &json!(1))
        );
        assert_eq!(erase(&app, org.id).await, json!({ "success": true }));
        if round == 0 {
            let refused = app
                .platform()
                .send(Method::PUT, &org.path(""), Some(json!({ "name": "Again" })))
                .await;
            refused.error(409);
            app.server.sweep_once().await;
            let remaining: Vec<_> = rows_of(&app, org.id)
                .await
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .collect();
            assert_eq!(remaining, []);
        }
    }
    assert_eq!(rows_of(&app, other.id).await, untouched);
    assert_eq!(
        theirs
            .get("/properties")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        erase(&app, new_id()).await,
        json!({ "success": true }),
        "one that never was"
    );
}

on_both!(a_recreated_organization_has_none_of_the_erased_data);
async fn a_recreated_organization_has_none_of_the_erased_data(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    api.post("/portals", json!({ "name": "Old", "isDefault": true }))
        .await
        .data();
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        1
    );
    let stay = org.reservation(Some(flat)).await;
    org.guest_view(stay).await;
    erase(&app, org.id).await;
    app.server.sweep_once().await;
    org.put("", json!({ "name": "New", "country": "FR" })).await;
    api.get("/portals").await.error(401);
    let fresh = org.key().await;
    // The new organization has the id of the erased one and gets at least as many writes. If a
    // revision only counted writes, both organizations would reach the same revision, and the new
    // one would get responses of the erased one from the cache.
    for _ in 0..8 {
        for path in [
            "/portals",
            "/properties",
            "/reservations",
            "/members",
            "/webhook-subscriptions",
        ] {
            assert_eq!(fresh.get(path).await.data(), json!([]), "{path}");
        }
        org.put("", json!({ "name": "New" })).await;
    }
    assert_eq!(
        app.platform().get(&org.path("")).await.data()["country"],
        "FR"
    );
    org.put_record(
        "property",
        flat,
        json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" }),
    )
    .await;
    org.put_record("reservation", stay, test_support::reservation(Some(flat)))
        .await;
    assert_eq!(org.guest_view(stay).await["portal"], Value::Null);
}

on_both!(rows_of_an_erased_organization_are_deleted_in_batches);
async fn rows_of_an_erased_organization_are_deleted_in_batches(app: App) {
    let org = app.org().await;
    let records: Vec<Value> = (0..1_200)
        .map(|_| json!({ "kind": "tag", "id": new_id(), "data": { "name": "T" } }))
        .collect();
    org.sync(json!(records)).await.data();
    erase(&app, org.id).await;
    let count = async || rows_of(&app, org.id).await.values().sum::<i64>();
    let (mut left, mut steps) = (count().await, 0);
    loop {
        let clock = app.clock.clone();
        let has_more = app
            .server
            .service
            .store
            .write(move |tx| features::platform::sweep(tx, vestibule::app::app(), &clock))
            .await
            .unwrap();
        let now = count().await;
        assert!(left - now <= 550, "{left} {now}");
        left = now;
        if !has_more {
            break;
        }
        steps += 1;
        assert!(steps < 100, "the sweep does not end");
    }
    assert!(left == 0 && steps >= 3, "{left} {steps}");
}

on_both!(background_work_skips_erased_organizations);
async fn background_work_skips_erased_organizations(app: App) {
    let house = House::build(&app).await;
    furnish(&house).await;
    let waiting = "select count(*) from device_timer";
    assert_eq!(
        app.query(waiting, Vec::new(), |row| row.get::<i64>(0))
            .await,
        [1]
    );
    erase(&app, house.org.id).await;
    app.clock.advance(Duration::from_secs(3_600));
    assert_eq!(
        Timekeeper::new(app.server.service.clone()).run_once().await,
        0
    );
    let translator = features::translations::Translator::new(
        app.server.service.clone(),
        "http://127.0.0.1:9",
        None,
    )
    .unwrap();
    assert_eq!(
        translator.step().await,
        0,
        "no text of theirs is sent anywhere"
    );
    assert_eq!(
        app.query(waiting, Vec::new(), |row| row.get::<i64>(0))
            .await,
        [1]
    );
}

on_both!(
    photo_addresses_of_an_erased_organization_are_404,
    "--files-url=https://files.example"
);
async fn photo_addresses_of_an_erased_organization_are_404(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let review = json!({
        "propertyId": flat,
        "source": "pms",
        "submittedAt": "2026-11-02T10:00:00Z",
        "photoKeys": ["a.jpg"],
    });
    let review = org.record("review", review).await;
    let read = org
        .key()
        .await
        .get(&format!("/reviews/{review}"))
        .await
        .data();
    let client = test_support::plain_client()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let open = async || {
        client
            .get(read["photoUrls"][0].as_str().unwrap())
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(open().await / 100, 3);
    erase(&app, org.id).await;
    assert_eq!(open().await, 404);
}

on_both_with!(
    pending_deliveries_of_an_erased_organization_are_dropped,
    Receiver
);
async fn pending_deliveries_of_an_erased_organization_are_dropped(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    let flat = org.property(None, &[]).await;
    receiver.answer(&[500, 204]);
    org.reservation(Some(flat)).await;
    receiver.next().await;
    let log = format!(
        "/webhook-subscriptions/{}/deliveries",
        subscription["id"].as_str().unwrap()
    );
    until_read(&api, &log, |log| {
        log[0]["attempts"]
            .as_array()
            .is_some_and(|attempts| attempts.len() == 1)
    })
    .await;
    erase(&app, org.id).await;
    app.clock.advance(Duration::from_secs(60));
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await);
    app.server.sweep_once().await;
    assert!(
        rows_of(&app, org.id)
            .await
            .values()
            .all(|count| *count == 0)
    );
}

/// Checks that every statement that looks up an organization excludes erased organizations.
#[test]
fn every_organization_lookup_excludes_erased_organizations() {
    // The statement that raises the revision needs no condition. It runs in a transaction that has
    // already looked up the organization by another statement, which excludes erased organizations.
    let is_exempt = |text: &str| {
        text.starts_with("update organization set revision = revision +")
            && !text.contains("returning")
    };
    let mut found = 0;
    for text in vestibule::app::app()
        .statements
        .iter()
        .map(|statement| statement.text())
    {
        let words: Vec<&str> = text
            .split(|character: char| !character.is_alphanumeric() && character != '_')
            .collect();
        let reads = words
            .windows(2)
            .any(|pair| matches!(pair, ["from" | "join" | "update" | "into", "organization"]));
        if reads && !is_exempt(text) {
            found += 1;
            assert!(text.contains("erased_at"), "{text}");
        }
    }
    assert!(found > 12, "{found}");
}
