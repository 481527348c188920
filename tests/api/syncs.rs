//! Tests of syncs by the platform: skipped invalid records, rewritten records, versions, canonical
//! forms, and reads of changes (rules: sync; records).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, Instant};

use engine::access::Permission;
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use test_support::house::{House, with};
use test_support::server_process::output_of;
use test_support::{Api, ApiResponse, App, Org, new_id, on_both, reservation};

const SECOND: Duration = Duration::from_secs(1);

fn flat(name: &str) -> Value {
    json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })
}

fn record(kind: &str, id: Uuid, data: &Value) -> Value {
    json!({ "kind": kind, "id": id, "data": data })
}

fn deleted(kind: &str, id: Uuid) -> Value {
    json!({ "kind": kind, "id": id, "isDeleted": true })
}

/// Sends a sync of these records. `body` contains the other fields of the request. Returns `data`
/// of the response.
async fn sync(org: &Org<'_>, mut body: Value, records: Value) -> Value {
    body["records"] = records;
    let path = org.path("/sync");
    org.app.platform().post(&path, body).await.data()
}

async fn skip(org: &Org<'_>, records: Value) -> Value {
    sync(org, json!({ "onInvalid": "skip" }), records).await
}

/// Returns the positions of the rejected records. With each position it returns the paths of the
/// issues, relative to the record.
fn rejected(data: &Value) -> BTreeMap<u64, Vec<String>> {
    let path = |issue: &Value| {
        let steps = issue["path"].as_array().unwrap();
        let steps = steps[2..].iter();
        let step = |step: &Value| {
            step.as_str()
                .map_or_else(|| step.to_string(), str::to_owned)
        };
        steps.map(step).collect::<Vec<_>>().join(".")
    };
    let items = data["rejected"].as_array().unwrap().iter();
    items
        .map(|item| {
            let issues = item["issues"].as_array().unwrap();
            (
                item["index"].as_u64().unwrap(),
                issues.iter().map(path).collect(),
            )
        })
        .collect()
}

/// Returns the names of the items in the list at `path`.
async fn names(api: &Api, path: &str) -> BTreeSet<String> {
    let items = api.get(path).await.data();
    let items = items.as_array().unwrap().iter();
    items
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

async fn count(api: &Api, path: &str) -> usize {
    api.get(path).await.data().as_array().unwrap().len()
}

on_both!(a_sync_with_skip_rejects_invalid_records_and_records_that_refer_to_them);
async fn a_sync_with_skip_rejects_invalid_records_and_records_that_refer_to_them(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (known, group, bad, stay) = (new_id(), new_id(), new_id(), new_id());
    org.put_record("property", known, flat("Known")).await;
    let stay_in = |flat: Uuid| reservation(Some(flat));
    let records = json!([
        record("property_group", group, &json!({ "name": 7 })),
        record("property", bad, &with(flat("Grouped"), json!({ "propertyGroupId": group }))),
        record("reservation", stay, &stay_in(bad)),
        record("property", known, &with(flat("Known"), json!({ "timezone": "Mars/Olympus" }))),
        record("reservation", new_id(), &stay_in(known)),
        record("reservation", new_id(), &with(reservation(None), json!({
            "checkOut": "2026-12-11",
        }))),
        { "kind": "spaceship", "id": new_id(), "data": {} },
        { "kind": "tag", "id": "no id", "data": { "name": "T" } },
        "no record",
        record("tag", new_id(), &json!({ "name": "Good" })),
    ]);
    let dry = sync(
        &org,
        json!({ "onInvalid": "skip", "dryRun": true }),
        records.clone(),
    )
    .await;
    assert_eq!(count(&api, "/tags").await, 0);
    let data = skip(&org, records.clone()).await;
    assert_eq!(data, dry);
    assert_eq!(
        (&data["applied"], &data["rejectedCount"]),
        (&json!(1), &json!(9))
    );
    let expected: BTreeMap<u64, Vec<String>> = [
        (0, "data.name"),
        (1, "data.propertyGroupId"),
        (2, "data.propertyId"),
        (3, "data.timezone"),
        (4, "data.propertyId"),
        (5, "data.checkOut"),
        (6, "kind"),
        (7, "id"),
        (8, ""),
    ]
    .map(|(place, path)| (place, vec![path.to_owned()]))
    .into();
    assert_eq!(rejected(&data), expected, "{data}");
    let ids: Vec<&Value> = data["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["id"])
        .collect();
    assert_eq!(
        [ids[0], ids[7], ids[8]],
        [&json!(group), &json!("no id"), &Value::Null]
    );
    assert_eq!(
        data["rejected"][4]["issues"][0]["message"],
        "refers to a property that was rejected"
    );
    assert_eq!(
        names(&api, "/tags").await,
        BTreeSet::from(["Good".to_owned()])
    );
    assert_eq!(count(&api, "/reservations").await, 0);
    let refused = org.sync(records).await;
    assert_eq!(refused.status, 400, "without the field nothing is applied");
    assert_eq!(org.sync(json!([])).await.data().get("rejected"), None);
}

on_both!(a_sync_lists_at_most_100_rejected_records_and_counts_all);
async fn a_sync_lists_at_most_100_rejected_records_and_counts_all(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let bad = |number: usize| record("tag", new_id(), &json!({ "name": number }));
    let mut records: Vec<Value> = (0..250).map(bad).collect();
    records.push(record("tag", new_id(), &json!({ "name": "Last" })));
    let data = skip(&org, json!(records)).await;
    assert_eq!(
        (&data["applied"], &data["rejectedCount"]),
        (&json!(1), &json!(250))
    );
    assert_eq!(
        rejected(&data).keys().copied().collect::<Vec<_>>(),
        (0..100).collect::<Vec<_>>()
    );
    assert_eq!(
        names(&api, "/tags").await,
        BTreeSet::from(["Last".to_owned()])
    );
}

on_both!(hosts_above_the_limit_reject_only_their_records);
async fn hosts_above_the_limit_reject_only_their_records(app: App) {
    const HOST: &str = "records.0.data.host";
    let org = app.org().await;
    let api = org.key().await;
    let ids: Vec<Uuid> = (0..1_002).map(|_| new_id()).collect();
    let url = |id: Uuid, host: &str| {
        record(
            "custom_url",
            id,
            &json!({ "host": host, "isGuestPortal": true }),
        )
    };
    let all: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| url(*id, &format!("h{number}.example")))
        .collect();
    let refused = app
        .platform()
        .post(
            &org.path("/sync"),
            json!({ "records": all, "dryRun": true }),
        )
        .await;
    assert_eq!(
        refused.issues(),
        ["records.1001.data.host"],
        "a dry run checks everything"
    );
    let data = skip(&org, json!(all)).await;
    assert_eq!(
        (&data["applied"], &data["rejectedCount"]),
        (&json!(1_000), &json!(2))
    );
    let paths: BTreeMap<u64, Vec<String>> = [1_000, 1_001]
        .map(|index| (index, vec!["data.host".to_owned()]))
        .into();
    assert_eq!(rejected(&data), paths);
    assert_eq!(count(&api, "/custom-urls").await, 1_000);
    // An organization may have 1,000 hosts. In a sync that does not skip invalid records, deleting
    // a custom URL or changing its host makes room for another host, even if the deletion comes
    // later in the request.
    assert_eq!(
        org.sync(json!([url(ids[1_000], "new.example")]))
            .await
            .issues(),
        [HOST]
    );
    org.sync(json!([
        url(ids[1_000], "new.example"),
        deleted("custom_url", ids[0])
    ]))
    .await
    .data();
    let data = skip(
        &org,
        json!([
            url(ids[1], "newer.example"),
            url(ids[1_001], "newest.example"),
            deleted("custom_url", ids[2]),
            url(ids[1_001], "newest.example")
        ]),
    )
    .await;
    assert_eq!(rejected(&data).into_keys().collect::<Vec<_>>(), [1]);
    // One more record does not count towards the limit of 1,000 hosts if its host is already a host
    // of the organization.
    org.sync(json!([url(ids[2], "new.example")])).await.data();
    assert_eq!(count(&api, "/custom-urls").await, 1_001);
}

on_both!(a_number_that_would_lose_digits_rejects_only_its_record);
async fn a_number_that_would_lose_digits_rejects_only_its_record(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (one, two) = (new_id(), new_id());
    let long = r#"{"name": "Long", "n": 12345678901234567890123}"#;
    let body = format!(
        r#"{{"onInvalid": "skip", "records": [
            {{"kind": "tag", "id": "{one}", "data": {long}}},
            {{"kind": "tag", "id": "{two}", "data": {{"name": "Short", "n": 1}}}}]}}"#
    );
    let request = app
        .http
        .post(format!("{}/platform/v1{}", app.base, org.path("/sync")))
        .bearer_auth(test_support::PLATFORM_KEY);
    let data = test_support::ApiResponse::of(request.body(body))
        .await
        .data();
    assert_eq!(
        rejected(&data),
        BTreeMap::from([(0, vec!["data.n".to_owned()])])
    );
    assert_eq!(
        names(&api, "/tags").await,
        BTreeSet::from(["Short".to_owned()])
    );
}

on_both!(a_record_that_is_deleted_and_written_again_in_one_sync_is_changed);
async fn a_record_that_is_deleted_and_written_again_in_one_sync_is_changed(app: App) {
    let house = House::build(&app).await;
    let org = &house.org;
    let step = house
        .step("your_details", json!({ "requiredGuestFields": ["phone"] }))
        .await;
    house
        .answer(
            step,
            json!({ "firstName": "Ada", "lastName": "L", "phone": "+34 600 123 456" }),
        )
        .await
        .data();
    let before = house
        .api
        .get(&format!("/reservations/{}", house.stay))
        .await
        .data();
    app.clock.advance(SECOND);
    let moved = with(
        reservation(Some(house.flat)),
        json!({ "checkOut": "2026-12-16" }),
    );
    let data = org
        .sync(json!([
            deleted("reservation", house.stay),
            deleted("property", house.flat),
            record(
                "property",
                house.flat,
                &with(
                    flat("Flat"),
                    json!({ "propertyGroupId": house.group, "tagIds": [house.tag] })
                )
            ),
            record("reservation", house.stay, &moved),
        ]))
        .await
        .data();
    assert_eq!(
        (&data["applied"], &data["events"]),
        (&json!(4), &json!(1)),
        "the dates have changed"
    );
    let after = house
        .api
        .get(&format!("/reservations/{}", house.stay))
        .await
        .data();
    assert_eq!(
        (&after["createdAt"], &after["checkOut"]),
        (&before["createdAt"], &json!("2026-12-16"))
    );
    assert_ne!(after["updatedAt"], before["updatedAt"]);
    assert_eq!(org.stay_token(house.stay).await, house.token);
    let view = app.stay(&house.token, "").await.data();
    assert_eq!(view["precheckin"]["steps"][0]["isComplete"], true, "{view}");
    // The second record is invalid, so the sync skips it. The deletion before it still applies.
    let data = skip(
        org,
        json!([
            deleted("reservation", house.stay),
            record(
                "reservation",
                house.stay,
                &with(moved, json!({ "checkOut": "2026-12-01" }))
            ),
        ]),
    )
    .await;
    assert_eq!(data["rejectedCount"], 1);
    assert_eq!(
        house
            .api
            .get(&format!("/reservations/{}", house.stay))
            .await
            .status,
        404
    );
}

on_both!(fields_of_the_service_inside_data_are_ignored_with_a_warning);
async fn fields_of_the_service_inside_data_are_ignored_with_a_warning(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tag = new_id();
    let named = |more: Value| record("tag", tag, &with(json!({ "name": "Sea" }), more));
    let data = org
        .sync(json!([named(
            json!({ "id": "x", "createdAt": "2020-01-01", "updatedAt": "2020-01-01" })
        )]))
        .await
        .data();
    let warnings = data["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 3, "{data}");
    assert_eq!(
        warnings[2],
        json!({
            "path": ["records", 0, "data", "updatedAt"],
            "message": "is set by the service; it was left out",
        })
    );
    let first = api.get("/tags").await.data()[0].clone();
    assert_eq!(
        (&first["id"], &first["createdAt"]),
        (&json!(tag), &json!("2026-11-21T09:30:00.000Z"))
    );
    app.clock.advance(SECOND);
    org.sync(json!([named(json!({ "updatedAt": "2021-01-01" }))]))
        .await
        .data();
    assert_eq!(
        api.get("/tags").await.data()[0],
        first,
        "nothing else has changed"
    );
}

on_both!(prices_are_whole_numbers_and_currencies_are_kept_in_capitals);
async fn prices_are_whole_numbers_and_currencies_are_kept_in_capitals(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for kind in ["fee_product", "damage_waiver", "upsell"] {
        for (field, value) in [
            ("amountCents", json!(19.99)),
            ("amountCents", json!("1999")),
            ("priceCents", json!(-5)),
            ("currency", json!("€")),
            ("currency", json!("EURO")),
            ("currency", json!(978)),
        ] {
            let refused = org
                .sync(json!([record(
                    kind,
                    new_id(),
                    &with(json!({ "name": "P" }), json!({ field: value }))
                )]))
                .await;
            assert_eq!(
                refused.issues(),
                [format!("records.0.data.{field}")],
                "{kind} {value}"
            );
        }
        let good =
            json!({ "name": "P", "amountCents": 0, "priceCents": 1999.0, "currency": "eur" });
        org.record(kind, good).await;
    }
    for path in ["/fee-products", "/damage-waivers", "/upsells"] {
        let item = api.get(path).await.data()[0].clone();
        assert_eq!(
            [&item["amountCents"], &item["priceCents"], &item["currency"]],
            [&json!(0), &json!(1999), &json!("EUR")],
            "{path}"
        );
    }
    for zone in ["localtime", "Factory", "posixrules"] {
        let refused = org
            .sync(json!([record(
                "property",
                new_id(),
                &with(flat("F"), json!({ "timezone": zone }))
            )]))
            .await;
        assert_eq!(refused.issues(), ["records.0.data.timezone"], "{zone}");
    }
}

on_both!(an_older_version_that_arrives_late_is_ignored);
async fn an_older_version_that_arrives_late_is_ignored(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tag = new_id();
    let send = async |name: &str, version: Value| {
        let mut record = record("tag", tag, &json!({ "name": name }));
        record["version"] = version;
        let data = org.sync(json!([record])).await.data();
        let stale = data["stale"].as_u64().unwrap();
        assert_eq!(data["applied"], 1 - stale);
        (
            names(&api, "/tags")
                .await
                .into_iter()
                .next()
                .unwrap_or_default(),
            stale,
        )
    };
    let is = |name: &str, stale: u64| (name.to_owned(), stale);
    assert_eq!(send("seven", json!(7)).await, is("seven", 0));
    assert_eq!(send("six", json!(6)).await, is("seven", 1));
    assert_eq!(
        send("again", json!(7)).await,
        is("again", 0),
        "the same version is applied"
    );
    org.put_record("tag", tag, json!({ "name": "without" }))
        .await;
    assert_eq!(
        send("five", json!(5)).await,
        is("without", 1),
        "the stored version stays"
    );
    assert_eq!(
        send("time", json!("2026-11-21T10:00:00Z")).await,
        is("time", 0),
        "versions of another sort are not compared"
    );
    assert_eq!(
        send("earlier", json!("2026-11-21T10:59:59+01:00")).await,
        is("time", 1)
    );
    assert_eq!(
        send("later", json!("2026-11-21T10:00:00.001Z")).await,
        is("later", 0)
    );
    // The service also compares the version of a deletion with the stored version. If one sync
    // contains a record twice, the service compares the versions of these two changes.
    let gone =
        |version: &str| json!({ "kind": "tag", "id": tag, "isDeleted": true, "version": version });
    let data = org.sync(json!([gone("2026-11-21T09:00:00Z")])).await.data();
    assert_eq!(
        (data["stale"].as_u64(), count(&api, "/tags").await),
        (Some(1), 1)
    );
    let mut late = record("tag", tag, &json!({ "name": "late" }));
    late["version"] = "2026-11-21T11:00:00Z".into();
    let data = org
        .sync(json!([gone("2026-11-21T12:00:00Z"), late]))
        .await
        .data();
    assert_eq!(
        (data["stale"].as_u64(), count(&api, "/tags").await),
        (Some(1), 0)
    );
    assert_eq!(
        send("back", json!("2026-11-21T11:30:00Z")).await,
        is("", 1),
        "the deletion was later"
    );
    assert_eq!(
        send("new", json!("2026-11-21T13:00:00Z")).await,
        is("new", 0)
    );
    let wrong = |version: Value| {
        json!([
            { "kind": "tag", "id": tag, "data": { "name": "T" }, "version": version },
        ])
    };
    for version in [json!(1.5), json!("seven"), json!(true), json!([1])] {
        assert_eq!(
            org.sync(wrong(version.clone())).await.issues(),
            ["records.0.version"],
            "{version}"
        );
    }
}

on_both!(ids_in_capitals_are_returned_in_lower_case_everywhere);
async fn ids_in_capitals_are_returned_in_lower_case_everywhere(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag, property, field, stay) = (new_id(), new_id(), new_id(), new_id(), new_id());
    let capitals = |id: Uuid| id.to_string().to_uppercase();
    let kinds = json!([
        { "kind": "property_group", "id": capitals(group), "data": { "name": "G" } },
        { "kind": "tag", "id": capitals(tag), "data": { "name": "T" } },
        { "kind": "custom_field", "id": capitals(field), "data": { "name": "Door" } },
        {
            "kind": "property",
            "id": capitals(property),
            "data": with(flat("F"), json!({
                "propertyGroupId": capitals(group),
                "tagIds": [capitals(tag)],
                "customFields": { capitals(field): "4711" },
            })),
        },
        {
            "kind": "reservation",
            "id": capitals(stay),
            "data": with(reservation(None), json!({ "propertyId": capitals(property) })),
        },
    ]);
    org.sync(kinds).await.data();
    let read = api.get("/properties").await.data()[0].clone();
    assert_eq!(
        [&read["id"], &read["propertyGroupId"], &read["tagIds"][0]],
        [&json!(property), &json!(group), &json!(tag)]
    );
    assert_eq!(read["customFields"], json!({ field.to_string(): "4711" }));
    assert_eq!(
        api.get("/reservations").await.data()[0]["propertyId"],
        json!(property)
    );
    api.post("/portals", json!({ "name": "Casa", "isDefault": true }))
        .await
        .data();
    let manual = json!({
        "nickname": "Door",
        "title": "Door",
        "displayMode": "pms_variable",
        "customFieldId": field,
        "propertyId": property,
        "isActive": true,
    });
    api.post("/portal-manuals", manual).await.data();
    let view = org.guest_view(stay).await;
    assert_eq!(
        view["manualCategories"][0]["manuals"][0]["description"], "4711",
        "{view}"
    );
}

on_both!(a_list_of_changes_is_ordered_by_change_and_follows_small_pages);
async fn a_list_of_changes_is_ordered_by_change_and_follows_small_pages(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let ids: Vec<Uuid> = (0..30).map(|_| new_id()).collect();
    let tags = |names: &dyn Fn(usize) -> String| -> Value {
        ids.iter()
            .enumerate()
            .map(|(number, id)| record("tag", *id, &json!({ "name": names(number) })))
            .collect()
    };
    org.sync(tags(&|number| format!("first {number}")))
        .await
        .data();
    app.clock.advance(SECOND);
    let since = "2026-11-21T09:30:01.000Z";
    assert_eq!(count(&api, &format!("/tags?updatedSince={since}")).await, 0);
    org.put_record("tag", ids[3], json!({ "name": "changed" }))
        .await;
    let changed = api.get(&format!("/tags?updatedSince={since}")).await;
    assert_eq!(
        (
            &changed.data()[0]["id"],
            &changed.body["meta"]["pagination"]["total"]
        ),
        (&json!(ids[3]), &json!(1))
    );
    org.sync(tags(&|number| format!("second {number}")))
        .await
        .data();
    let mut seen = BTreeMap::new();
    let mut from = "2026-11-21T09:30:00.000Z".to_owned();
    let mut stamps = Vec::new();
    for page in 0..100 {
        let items = api
            .get(&format!("/tags?limit=2&updatedSince={from}"))
            .await
            .data();
        let items = items.as_array().unwrap();
        for item in items {
            seen.insert(
                item["id"].as_str().unwrap().to_owned(),
                item["name"].clone(),
            );
            stamps.push(item["updatedAt"].as_str().unwrap().to_owned());
        }
        // The test changes this record after the reader has read it, so a later page contains the
        // record again.
        if page == 4 {
            let first = seen.keys().next().unwrap().parse().unwrap();
            org.put_record("tag", first, json!({ "name": "third" }))
                .await;
        }
        match items
            .last()
            .map(|item| item["updatedAt"].as_str().unwrap().to_owned())
        {
            Some(last) if last != from => from = last,
            _ => break,
        }
    }
    assert!(stamps.is_sorted());
    assert_eq!(seen.len(), 30);
    assert_eq!(seen.values().filter(|name| **name == "third").count(), 1);
    assert_eq!(
        api.get("/tags?updatedSince=yesterday").await.issues(),
        ["updatedSince"]
    );
}

on_both!(every_paginated_list_of_records_takes_updated_since_with_its_filters);
async fn every_paginated_list_of_records_takes_updated_since_with_its_filters(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let one = org.property(Some(group), &[tag]).await;
    let other = org.property(None, &[]).await;
    for property in [one, other] {
        org.reservation(Some(property)).await;
        org.record(
            "task",
            json!({ "propertyId": property, "title": "T", "status": "open" }),
        )
        .await;
        org.record(
            "device",
            json!({
                "propertyId": property,
                "name": "D",
                "deviceType": "lock",
                "vendor": "V",
                "isOnline": true,
            }),
        )
        .await;
        for kind in [
            "task_template",
            "department",
            "shift",
            "clocked_shift",
            "lock_code",
            "upsell",
        ] {
            org.record(kind, json!({ "name": "N", "propertyId": property }))
                .await;
        }
    }
    let paths = [
        "/properties",
        "/tags",
        "/property-groups",
        "/reservations",
        "/tasks",
        "/task-templates",
        "/departments",
        "/shifts",
        "/clocked-shifts",
        "/devices",
        "/lock-codes",
        "/upsells",
    ];
    let limited = org.limited(&[one]).await;
    for path in paths {
        for api in [&api, &limited] {
            let all = api.get(path).await.data();
            let changed = api
                .get(&format!("{path}?updatedSince=2026-11-21T09:30:00Z"))
                .await
                .data();
            let ids = |list: &Value| -> BTreeSet<String> {
                list.as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["id"].to_string())
                    .collect()
            };
            assert_eq!(ids(&changed), ids(&all), "{path}");
            assert_eq!(
                count(api, &format!("{path}?updatedSince=2026-11-21T09:31:00Z")).await,
                0,
                "{path}"
            );
        }
    }
    let since = "updatedSince=2026-11-21T09:30:00Z";
    for (path, found) in [
        (format!("/properties?{since}&propertyGroupId={group}"), 1),
        (format!("/properties?{since}&tagId={tag}&ids={other}"), 0),
        (format!("/properties?{since}&query=flat"), 2),
        (format!("/reservations?{since}&propertyId={one}"), 1),
        (format!("/reservations?{since}&status=cancelled"), 0),
        (format!("/reservations?{since}&checkInFrom=2026-12-12"), 0),
        (format!("/reservations?{since}&query=lovelace"), 0),
        (format!("/reservations?{since}&query=ada"), 2),
    ] {
        assert_eq!(count(&api, &path).await, found, "{path}");
    }
}

on_both!(changes_have_different_times_while_the_clock_is_behind);
async fn changes_have_different_times_while_the_clock_is_behind(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tags: Vec<Value> = (0..300)
        .map(|number| record("tag", new_id(), &json!({ "name": format!("T {number}") })))
        .collect();
    org.sync(json!(tags)).await.data();
    // The sync gave the 300 tags increasing timestamps, so the timestamp of the last tag is in the
    // future, as if the clock had been ahead.
    let ids: Vec<Uuid> = (0..30).map(|_| new_id()).collect();
    for id in &ids {
        org.put_record("tag", *id, json!({ "name": "later" })).await;
    }
    let all = api
        .get("/tags?updatedSince=2026-11-21T09:30:00Z&limit=500")
        .await
        .data();
    let later = &all.as_array().unwrap()[300..];
    let times: BTreeSet<&str> = later
        .iter()
        .map(|tag| tag["updatedAt"].as_str().unwrap())
        .collect();
    assert_eq!(times.len(), 30, "{times:?}");
    assert_eq!(
        later
            .iter()
            .map(|tag| tag["id"].clone())
            .collect::<Vec<_>>(),
        json!(ids).as_array().unwrap().clone()
    );
    assert!(all[299]["updatedAt"].as_str().unwrap() < *times.first().unwrap());
}

on_both!(members_are_listed_by_change);
async fn members_are_listed_by_change(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let members: Vec<Uuid> = (0..3).map(|_| new_id()).collect();
    for member in &members {
        org.member(*member, None, Permission::VARIANTS, true).await;
        app.clock.advance(SECOND);
    }
    org.member(members[0], Some(&[]), Permission::VARIANTS, true)
        .await;
    let listed = async |query: &str| -> Vec<(Value, Value)> {
        let ids = |answer: &ApiResponse| {
            json!(
                answer
                    .data()
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|member| member["id"].clone())
                    .collect::<Vec<_>>()
            )
        };
        let answers = [
            api.get(&format!("/members?{query}")).await,
            app.platform()
                .get(&org.path(&format!("/members?{query}")))
                .await,
        ];
        answers
            .iter()
            .map(|answer| {
                (
                    ids(answer),
                    answer.body["meta"]["pagination"]["total"].clone(),
                )
            })
            .collect()
    };
    let since = |second: u32| format!("updatedSince=2026-11-21T09:30:0{second}Z");
    for (query, ids, total) in [
        (since(0), json!([members[1], members[2], members[0]]), 3),
        (since(2), json!([members[2], members[0]]), 2),
        (since(4), json!([]), 0),
        (format!("{}&limit=1", since(0)), json!([members[1]]), 3),
        (
            format!("{}&limit=1&offset=2", since(0)),
            json!([members[0]]),
            3,
        ),
    ] {
        assert_eq!(
            listed(&query).await,
            vec![(ids, json!(total)); 2],
            "{query}"
        );
    }
    assert_eq!(
        api.get("/members?updatedSince=yesterday").await.issues(),
        ["updatedSince"]
    );
    // One sync gives its records different timestamps, and the last timestamps are in the
    // future. A member that is written after the sync gets a still later timestamp.
    let tags: Vec<Value> = (0..30)
        .map(|number| record("tag", new_id(), &json!({ "name": format!("T {number}") })))
        .collect();
    org.sync(json!(tags)).await.data();
    let last = api
        .get("/tags?updatedSince=2026-11-21T09:30:00Z&limit=100")
        .await
        .data();
    let last = last.as_array().unwrap().last().unwrap()["updatedAt"]
        .as_str()
        .unwrap()
        .to_owned();
    org.member(members[1], Some(&[]), Permission::VARIANTS, true)
        .await;
    assert_eq!(
        listed(&format!("updatedSince={last}")).await,
        vec![(json!([members[1]]), json!(1)); 2]
    );
}

on_both!(records_of_any_kind_are_listed_by_change);
async fn records_of_any_kind_are_listed_by_change(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let ids = [new_id(), new_id(), new_id()];
    for (id, name) in ids.iter().zip(["Flat 10", "Flat 9", "House"]) {
        org.put_record("property", *id, flat(name)).await;
        app.clock.advance(SECOND);
    }
    org.put_record("property", ids[0], flat("Flat 8")).await;
    let listed = async |api: &Api, query: &str| -> Value {
        let data = api.get(&format!("/records/property{query}")).await.data();
        json!(
            data.as_array()
                .unwrap()
                .iter()
                .map(|item| item["id"].clone())
                .collect::<Vec<_>>()
        )
    };
    assert_eq!(listed(&api, "").await, json!(ids), "Flat 8 before Flat 9");
    let since = "?updatedSince=2026-11-21T09:30:01Z";
    assert_eq!(listed(&api, since).await, json!([ids[1], ids[2], ids[0]]));
    assert_eq!(
        listed(&api, &format!("{since}&query=flat")).await,
        json!([ids[1], ids[0]])
    );
    assert_eq!(
        listed(&api, &format!("{since}&limit=1&offset=1")).await,
        json!([ids[2]])
    );
    assert_eq!(
        listed(&api, "?updatedSince=2026-11-21T09:30:04Z").await,
        json!([])
    );
    let limited = org.limited(&[ids[2]]).await;
    assert_eq!(listed(&limited, since).await, json!([ids[2]]));
    assert_eq!(
        api.get("/records/property?updatedSince=yesterday")
            .await
            .issues(),
        ["updatedSince"]
    );
}

on_both!(a_reader_of_changes_sees_every_change_of_concurrent_writers);
async fn a_reader_of_changes_sees_every_change_of_concurrent_writers(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let ids: Vec<Uuid> = (0..40).map(|_| new_id()).collect();
    let writers = (0..4_usize).map(|writer| {
        let (platform, path, ids, clock) = (
            app.platform(),
            org.path("/sync"),
            ids.clone(),
            app.clock.clone(),
        );
        tokio::spawn(async move {
            for round in 0..12_usize {
                let records: Vec<Value> = (0..7)
                    .map(|number| {
                        record(
                            "tag",
                            ids[(writer * 13 + round * 5 + number * 3) % 40],
                            &json!({ "name": format!("{writer} {round} {number}") }),
                        )
                    })
                    .collect();
                clock.advance(Duration::from_millis(1));
                platform
                    .post(&path, json!({ "records": records }))
                    .await
                    .data();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut seen = BTreeMap::<String, Value>::new();
    let mut from = "2026-11-21T09:30:00.000Z".to_owned();
    let start = Instant::now();
    loop {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "the reads reach no last page"
        );
        let is_over = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let items = api
            .get(&format!("/tags?limit=25&updatedSince={from}"))
            .await
            .data();
        let items = items.as_array().unwrap();
        for item in items {
            seen.insert(item["id"].to_string(), item["name"].clone());
        }
        if let Some(last) = items.last() {
            last["updatedAt"].as_str().unwrap().clone_into(&mut from);
        }
        if is_over && items.len() < 25 {
            break;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let all = api.get("/tags?limit=500").await.data();
    let all: BTreeMap<String, Value> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].to_string(), item["name"].clone()))
        .collect();
    assert_eq!(seen, all);
}

on_both!(stays_and_flats_are_found_by_words_and_references);
async fn stays_and_flats_are_found_by_words_and_references(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let property = org
        .record(
            "property",
            with(
                flat("Casa del Mar Azul"),
                json!({ "externalId": "BCN-0042" }),
            ),
        )
        .await;
    let stay = |first: &str, last: &str, more: Value| {
        let mut stay = with(reservation(Some(property)), more);
        stay["guest"] = json!({
            "firstName": first,
            "lastName": last,
            "email": format!("{first}@example.com"),
            "phone": "+34 600 123 456",
        });
        stay
    };
    let jose = org
        .record(
            "reservation",
            stay("José", "García López", json!({ "bookingCode": "HM-4X9Q" })),
        )
        .await;
    let wang = org
        .record(
            "reservation",
            stay("小明", "王", json!({ "confirmationCode": 7_788_990 })),
        )
        .await;
    let find = async |path: &str, query: &str| -> BTreeSet<String> {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", query)
            .finish();
        let data = api.get(&format!("{path}?{query}")).await.data();
        data.as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let only = |id: Uuid| BTreeSet::from([id.to_string()]);
    for path in ["/reservations", "/search"] {
        for query in [
            "garcia, jose",
            "lopez jose",
            "García,José",
            "hm4x9q",
            "HM-4X9Q",
            "josé@example.com",
            &jose.to_string(),
            &jose.to_string().to_uppercase(),
        ] {
            assert_eq!(find(path, query).await, only(jose), "{path} {query}");
        }
        for query in ["王小明", "小明 王", "7788990"] {
            assert_eq!(find(path, query).await, only(wang), "{path} {query}");
        }
        assert_eq!(
            find(path, "600 123 456").await,
            [jose, wang].map(|id| id.to_string()).into(),
            "{path}"
        );
    }
    for path in ["/properties", "/search"] {
        for query in ["bcn-0042", "BCN0042", &property.to_string()] {
            assert_eq!(find(path, query).await, only(property), "{path} {query}");
        }
    }
    assert_eq!(find("/properties", "azul casa").await, only(property));
    let limited = org.limited(&[]).await;
    assert_eq!(count(&limited, "/reservations?query=hm4x9q").await, 0);
    assert_eq!(count(&limited, "/properties?query=bcn-0042").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_with_skip_writes_the_rejected_records_as_ndjson() {
    let app = App::on_sqlite(&[]).await;
    let org = app.org().await;
    let (tag, bad) = (new_id(), new_id());
    let lines = [
        record("tag", tag, &json!({ "name": "Good" })).to_string(),
        record("property", bad, &json!({ "name": "No zone" })).to_string(),
        "not json".to_owned(),
        record("reservation", new_id(), &reservation(Some(bad))).to_string(),
    ];
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("records.ndjson");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let output = output_of(
        Command::new(test_support::program())
            .args(["import", "--skip-invalid", "--organization"])
            .arg(org.id.to_string())
            .args(["--database-url", &app.database_url])
            .arg(&file),
    );
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{reported}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "imported 1 records, 0 events, 3 left out\n"
    );
    let left_out: Vec<Value> = reported
        .lines()
        .filter(|line| line.starts_with(r#"{"line":"#))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let places: Vec<&Value> = left_out.iter().map(|line| &line["line"]).collect();
    assert_eq!(places, [2, 3, 4], "{reported}");
    assert_eq!(left_out[0]["id"], json!(bad));
    assert_eq!(
        left_out[0]["record"],
        serde_json::from_str::<Value>(&lines[1]).unwrap()
    );
    assert_eq!(left_out[1]["record"], "not json");
    assert!(!left_out[2]["issues"].as_array().unwrap().is_empty());
}
