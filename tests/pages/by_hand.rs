//! Tests of records that members keep by hand: `putRecords`, `updateRecord`, the origin of records,
//! and the order of lists of records by name (rules: records#records-by-hand; records#origin).

use std::time::Duration;

use engine::access::Permission;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::{Api, App, new_id, on_both, reservation};

fn flat(name: &str) -> Value {
    json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })
}

fn record(kind: &str, id: Uuid, data: &Value) -> Value {
    json!({ "kind": kind, "id": id, "data": data })
}

async fn put(api: &Api, records: Value) -> test_support::ApiResponse {
    api.post("/records", json!({ "records": records })).await
}

async fn origin_of(api: &Api, id: Uuid) -> Value {
    let flats = api.get("/properties").await.data();
    let expected = json!(id);
    let found = flats
        .as_array()
        .unwrap()
        .iter()
        .find(|flat| flat["id"] == expected);
    found.map_or(Value::Null, |flat| flat["origin"].clone())
}

on_both!(records_by_hand_have_the_rules_and_events_of_a_sync);
async fn records_by_hand_have_the_rules_and_events_of_a_sync(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (home, stay) = (new_id(), new_id());
    let response = put(
        &api,
        json!([
            record("property", home, &flat("Flat 2")),
            record("reservation", stay, &reservation(Some(home)))
        ]),
    )
    .await;
    assert_eq!(
        response.data(),
        json!({ "applied": 2, "events": 1, "warnings": [] })
    );
    assert_eq!(origin_of(&api, home).await, "manual");
    assert_eq!(
        api.get(&format!("/reservations/{stay}")).await.data()["origin"],
        "manual"
    );
    // A record that equals the stored record changes nothing. If one record of a request is wrong,
    // the service refuses the whole request.
    assert_eq!(
        put(&api, json!([record("property", home, &flat("Flat 2"))]))
            .await
            .data()["events"],
        0
    );
    let wrong = put(
        &api,
        json!([
            record("tag", new_id(), &json!({ "name": "Sea" })),
            record("property", home, &json!({ "name": 1 }))
        ]),
    )
    .await;
    assert_eq!(
        wrong.issues(),
        [
            "records.1.data.country",
            "records.1.data.name",
            "records.1.data.timezone"
        ]
    );
    let unknown = put(
        &api,
        json!([record(
            "reservation",
            new_id(),
            &reservation(Some(new_id()))
        )]),
    )
    .await;
    assert_eq!(unknown.issues(), ["records.0.data.propertyId"]);
    assert_eq!(api.get("/tags").await.data(), json!([]));
    let dry = api
        .post(
            "/records",
            json!({
                "dryRun": true,
                "records": [{ "kind": "property", "id": home, "isDeleted": true }],
            }),
        )
        .await;
    assert_eq!(dry.data()["applied"], 1);
    assert_eq!(origin_of(&api, home).await, "manual");
    assert_eq!(
        put(
            &api,
            json!([{ "kind": "property", "id": home, "isDeleted": true }])
        )
        .await
        .data()["applied"],
        1
    );
    assert_eq!(origin_of(&api, home).await, Value::Null);
    let many: Vec<Value> = (0..1_001)
        .map(|_| record("tag", new_id(), &json!({ "name": "x" })))
        .collect();
    assert_eq!(put(&api, json!(many)).await.issues(), ["records"]);
}

on_both!(the_platform_takes_over_records_and_its_records_are_read_only);
async fn the_platform_takes_over_records_and_its_records_are_read_only(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let theirs = org.record("property", flat("Theirs")).await;
    let group = org.group().await;
    org.put_record(
        "property",
        theirs,
        json!({
            "name": "Theirs",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "propertyGroupId": group,
        }),
    )
    .await;
    for change in [
        record("property", theirs, &flat("Mine")),
        json!({ "kind": "property", "id": theirs, "isDeleted": true }),
        json!({ "kind": "property_group", "id": group, "isDeleted": true }),
    ] {
        let refused = put(
            &api,
            json!([record("tag", new_id(), &json!({ "name": "Sea" })), change]),
        )
        .await
        .error(409);
        assert_eq!(refused["details"]["key"], "record.managed_by_platform");
    }
    assert_eq!(
        api.get("/tags").await.data(),
        json!([]),
        "nothing is applied"
    );
    let same = json!({
        "name": "Theirs",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "propertyGroupId": group,
    });
    assert_eq!(
        put(&api, json!([record("property", theirs, &same)]))
            .await
            .data()["applied"],
        1,
        "the same data is no change"
    );
    assert_eq!(origin_of(&api, theirs).await, "platform");
    let mine = new_id();
    put(&api, json!([record("property", mine, &flat("Mine"))]))
        .await
        .data();
    app.clock.advance(Duration::from_secs(1));
    let taken = org
        .sync(json!([record("property", mine, &flat("Mine"))]))
        .await
        .data();
    assert_eq!(
        (&taken["events"], origin_of(&api, mine).await),
        (&json!(0), json!("platform"))
    );
    put(&api, json!([record("property", mine, &flat("Again"))]))
        .await
        .error(409);
    // A member created the property group by hand. A record of the platform refers to the group, so
    // no member can delete it.
    let own = new_id();
    put(
        &api,
        json!([record("property_group", own, &json!({ "name": "Own" }))]),
    )
    .await
    .data();
    org.put_record(
        "property",
        theirs,
        json!({
            "name": "Theirs",
            "timezone": "Europe/Madrid",
            "country": "ES",
            "propertyGroupId": own,
        }),
    )
    .await;
    put(
        &api,
        json!([{ "kind": "property_group", "id": own, "isDeleted": true }]),
    )
    .await
    .error(409);
}

on_both!(only_callers_with_access_to_all_flats_write_records);
async fn only_callers_with_access_to_all_flats_write_records(app: App) {
    let org = app.org().await;
    let home = org.property(None, &[]).await;
    let body = json!({ "records": [record("tag", new_id(), &json!({ "name": "Sea" }))] });
    org.limited(&[home])
        .await
        .post("/records", body.clone())
        .await
        .error(403);
    org.key_without(Permission::ManageOrganization)
        .await
        .post("/records", body.clone())
        .await
        .error(403);
    let api = org.key().await;
    api.post("/records", body).await.data();
    let entry = api.get("/audit-log?limit=1").await.data()[0].clone();
    assert_eq!(
        (
            &entry["operation"],
            &entry["target"]["type"],
            &entry["target"]["name"]
        ),
        (&json!("putRecords"), &json!("tag"), &json!("Sea"))
    );
}

on_both!(an_update_replaces_the_fields_that_are_sent);
async fn an_update_replaces_the_fields_that_are_sent(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (home, stay) = (new_id(), new_id());
    let mut data = flat("Flat");
    data["wifiPassword"] = "secret".into();
    put(
        &api,
        json!([
            record("property", home, &data),
            record("reservation", stay, &reservation(Some(home)))
        ]),
    )
    .await
    .data();
    let read = api.get(&format!("/records/property/{home}")).await.data();
    assert_eq!(
        (&read["name"], read.get("wifiPassword")),
        (&json!("Flat"), None)
    );
    let path = format!("/records/property/{home}");
    let changed = api
        .patch(
            &path,
            json!({ "data": { "wifiName": "Casa" }, "expectedUpdatedAt": read["updatedAt"] }),
        )
        .await
        .data();
    assert_eq!(
        (&changed["name"], &changed["wifiName"]),
        (&json!("Flat"), &json!("Casa"))
    );
    api.patch(
        &path,
        json!({ "data": { "name": "Other" }, "expectedUpdatedAt": read["updatedAt"] }),
    )
    .await
    .error(409);
    assert_eq!(
        api.patch(&path, json!({ "data": { "timezone": "Nowhere" } }))
            .await
            .issues(),
        ["data.timezone"]
    );
    api.patch(
        &format!("/records/property/{}", new_id()),
        json!({ "data": {} }),
    )
    .await
    .error(404);
    let path = format!("/records/reservation/{stay}");
    let changed = api
        .patch(
            &path,
            json!({ "data": { "guest": { "firstName": "Grace" } } }),
        )
        .await
        .data();
    assert_eq!(
        (
            &changed["guest"]["firstName"],
            &changed["guest"]["lastName"]
        ),
        (&json!("Grace"), &json!("L"))
    );
    let changed = api
        .patch(
            &path,
            json!({ "data": { "guest": { "language": "English" }, "colour": "red" } }),
        )
        .await;
    let warnings = json!([
        {
            "field": "data",
            "message": "guest.language is no language tag (English); it is stored as null",
        },
    ]);
    assert!(
        changed.body["meta"]["warnings"]
            .as_array()
            .unwrap()
            .contains(&warnings[0]),
        "{}",
        changed.body
    );
    assert_eq!(changed.data()["guest"]["language"], Value::Null);
    let renamed = api
        .patch(
            &path,
            json!({ "data": { "guest": { "firstName": "Eve" } } }),
        )
        .await;
    assert_eq!(
        renamed.body["meta"].get("warnings"),
        None,
        "{}",
        renamed.body
    );
    let theirs = org.property(None, &[]).await;
    api.patch(
        &format!("/records/property/{theirs}"),
        json!({ "data": { "name": "Mine" } }),
    )
    .await
    .error(409);
}

on_both!(records_are_listed_by_name_as_people_order_them);
async fn records_are_listed_by_name_as_people_order_them(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for name in ["Flat 11", "Flat 2", "atico", "Flat 1"] {
        org.record("property", flat(name)).await;
    }
    let names = async |path: &str| -> Vec<String> {
        let response = api.get(path).await.data();
        response
            .as_array()
            .unwrap()
            .iter()
            .map(|flat| flat["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("/records/property").await,
        ["atico", "Flat 1", "Flat 2", "Flat 11"]
    );
    assert_eq!(
        names("/records/property?limit=2&offset=1").await,
        ["Flat 1", "Flat 2"]
    );
    assert_eq!(names("/records/property?query=\u{c1}TI").await, ["atico"]);
    org.key_without(Permission::ViewReservations)
        .await
        .get("/records/reservation")
        .await
        .error(403);
}
