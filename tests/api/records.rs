//! Tests of the records that the platform synchronizes: batches, warnings, unknown fields, and
//! lists (rules: sync; records).

use std::collections::BTreeMap;
use std::time::Duration;

use engine::access::Permission;
use serde_json::{Value, json};
use store::WorkCount;
use uuid::Uuid;

use test_support::dice::Dice;
use test_support::waiting::wait_until_within;
use test_support::{Api, ApiResponse, App, Org, new_id, on_both, reservation};

/// A function that returns whether a list with a certain filter must contain a given reservation.
type Holds<'f> = Box<dyn Fn(&Value) -> bool + 'f>;

/// An HTTPS address on which nothing listens, so no delivery succeeds and every delivery stays in
/// the outbox.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/";

static STATE: store::Statement =
    store::Statement::new("select revision, stream_revision from organization where id = ?1");
static DELIVERIES: store::Statement =
    store::Statement::new("select count(*) from webhook_delivery where organization_id = ?1");
static TIMERS: store::Statement =
    store::Statement::new("select count(*) from device_timer where organization_id = ?1");
fn record(kind: &str, id: Uuid, data: &Value) -> Value {
    json!({ "kind": kind, "id": id, "data": data })
}

fn deleted(kind: &str, id: Uuid) -> Value {
    json!({ "kind": kind, "id": id, "isDeleted": true })
}

fn flat(name: &str) -> Value {
    json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })
}

/// Returns a reservation with this status that begins on the day `check_in`. Its guest has this
/// first and last name.
fn stay(property: Option<Uuid>, first: &str, last: &str, status: &str, check_in: &str) -> Value {
    let mut stay = reservation(property);
    stay["guest"] = json!({ "firstName": first, "lastName": last });
    stay["status"] = status.into();
    stay["checkIn"] = check_in.into();
    stay["checkOut"] = "2027-12-31".into();
    stay
}

async fn send(org: &Org<'_>, mut body: Value, records: &[Value]) -> ApiResponse {
    body["records"] = records.into();
    org.app.platform().post(&org.path("/sync"), body).await
}

/// Returns the path of each warning in a response. The parts of a path are joined by dots.
fn warned(data: &Value) -> Vec<String> {
    let joined = |warning: &Value| {
        let steps = warning["path"].as_array().unwrap().iter();
        steps
            .map(|step| {
                step.as_str()
                    .map_or_else(|| step.to_string(), str::to_owned)
            })
            .collect::<Vec<_>>()
            .join(".")
    };
    data["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(joined)
        .collect()
}

/// Number of pages after which [`all`] gives up. No list of these tests has so many pages.
const MAX_PAGES: usize = 1_000;

/// Reads all pages of a list. Returns the items and the reported total.
async fn all(api: &Api, path: &str, limit: usize) -> (Vec<Value>, i64) {
    let (mut items, mut total) = (Vec::new(), 0);
    let joint = if path.contains('?') { '&' } else { '?' };
    for _ in 0..MAX_PAGES {
        let page = api
            .get(&format!(
                "{path}{joint}limit={limit}&offset={}",
                items.len()
            ))
            .await;
        total = page.body["meta"]["pagination"]["total"]
            .as_i64()
            .unwrap_or(total);
        let more = page.data().as_array().unwrap().clone();
        if more.is_empty() {
            return (items, total);
        }
        items.extend(more);
    }
    panic!("{path} has more than {MAX_PAGES} pages");
}

/// Removes `updatedAt` from the items of a list. The test compares records from two large syncs
/// with records from many small syncs, and their `updatedAt` differ.
fn without_change_times((mut items, total): (Vec<Value>, i64)) -> (Vec<Value>, i64) {
    for item in &mut items {
        item.as_object_mut().unwrap().remove("updatedAt");
    }
    (items, total)
}

fn ids(items: &[Value]) -> Vec<Uuid> {
    items
        .iter()
        .map(|item| item["id"].as_str().unwrap().parse().unwrap())
        .collect()
}

on_both!(unknown_fields_of_a_record_are_kept_with_a_warning);
async fn unknown_fields_of_a_record_are_kept_with_a_warning(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let mut misspelt = flat("F");
    misspelt["chekInTime"] = json!("15:00");
    let records = [
        record("tag", new_id(), &json!({ "name": "Sea", "colour": "blue" })),
        record("property", new_id(), &misspelt),
        record(
            "lock_code",
            new_id(),
            &json!({ "name": "Door", "code": "1234" }),
        ),
        deleted("tag", new_id()),
    ];
    for body in [
        json!({ "dryRun": true }),
        json!({}),
        json!({ "dryRun": false, "isInitialSync": true }),
    ] {
        let data = send(&org, body, &records).await.data();
        assert_eq!((&data["applied"], &data["events"]), (&json!(4), &json!(0)));
        assert_eq!(
            warned(&data),
            ["records.0.data.colour", "records.1.data.chekInTime"]
        );
        assert_eq!(
            data["warnings"][1]["message"],
            "is not a known field of a property; it is stored unchanged"
        );
    }
    assert_eq!(
        api.get("/properties").await.data()[0]["chekInTime"],
        "15:00"
    );
    let many: serde_json::Map<_, _> = (0..120)
        .map(|number| (format!("f{number}"), json!(number)))
        .collect();
    let mut many = Value::Object(many);
    many["name"] = json!("Many");
    let data = send(
        &org,
        json!({}),
        &[
            record("tag", new_id(), &many),
            record("tag", new_id(), &many),
        ],
    )
    .await
    .data();
    assert_eq!(data["warnings"].as_array().unwrap().len(), 100);
}

on_both!(property_fields_are_validated_and_the_password_is_never_read);
async fn property_fields_are_validated_and_the_password_is_never_read(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let mut full = flat("F");
    for (field, value) in [
        ("latitude", json!(41.38)),
        ("longitude", json!(2)),
        ("photoUrl", json!("https://photos.example/f.jpg")),
        ("wifiName", json!("Casa")),
        ("wifiPassword", json!("hunter2 is no secret")),
        ("customFields", json!({})),
    ] {
        full[field] = value;
    }
    let id = new_id();
    assert_eq!(
        send(&org, json!({}), &[record("property", id, &full)])
            .await
            .data()["warnings"],
        json!([])
    );
    let read = api.get("/properties").await.data()[0].clone();
    assert_eq!(
        (
            &read["wifiName"],
            &read["latitude"],
            read.get("wifiPassword")
        ),
        (&json!("Casa"), &json!(41.38), None)
    );
    let stay = org.reservation(Some(id)).await;
    for path in [
        "/properties".into(),
        "/search?query=hunter2".into(),
        "/search?query=F".into(),
        format!("/reservations/{stay}/explain"),
    ] {
        let response = api.get(&path).await;
        assert!(
            response.status == 200 && !response.body.to_string().contains("hunter2"),
            "{path}"
        );
    }
    // A change of the password changes `updatedAt`, although no read returns the password.
    app.clock.advance(Duration::from_secs(1));
    full["wifiPassword"] = json!("hunter3");
    org.put_record("property", id, full.clone()).await;
    assert_ne!(
        api.get("/properties").await.data()[0]["updatedAt"],
        read["updatedAt"]
    );
    for (field, value) in [
        ("latitude", json!(90.1)),
        ("longitude", json!("2")),
        ("photoUrl", json!("http://photos.example/f.jpg")),
    ] {
        let mut wrong = full.clone();
        wrong[field] = value;
        assert_eq!(
            send(&org, json!({}), &[record("property", id, &wrong)])
                .await
                .issues(),
            [format!("records.0.data.{field}")]
        );
    }
}

on_both!(
    a_dry_run_validates_everything_and_applies_nothing,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_dry_run_validates_everything_and_applies_nothing(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for event in [
        "reservation.created",
        "device.offline",
        "device.reconnected",
    ] {
        api.post(
            "/webhook-subscriptions",
            json!({ "event": event, "targetUrl": CLOSED_ADDRESS }),
        )
        .await
        .data();
    }
    let flat = org.property(None, &[]).await;
    let (device, deleted_stay) = (new_id(), org.reservation(Some(flat)).await);
    let online = |is_online: bool| {
        json!({
            "propertyId": flat,
            "name": "D",
            "deviceType": "lock",
            "vendor": "V",
            "isOnline": is_online,
        })
    };
    org.put_record("device", device, online(true)).await;
    org.put_record("device", device, online(false)).await;
    let state = || async {
        let id = org.id;
        let read = app.server.service.store.read(move |tx| {
            let count = |tx: &mut store::Transaction<'_>, statement| {
                tx.row(statement, &[id.into()])?.unwrap().get::<i64>(0)
            };
            let row = tx.row(&STATE, &[id.into()])?.unwrap();
            Ok::<_, store::Error>((
                row.get::<i64>(0)?,
                row.get::<i64>(1)?,
                count(tx, &DELIVERIES)?,
                count(tx, &TIMERS)?,
            ))
        });
        let lists = [
            api.get("/reservations").await.data(),
            api.get("/devices").await.data(),
            api.get("/tags").await.data(),
        ];
        (read.await.unwrap(), lists)
    };
    let before = state().await;
    let records = [
        record("tag", new_id(), &json!({ "name": "T" })),
        record("reservation", new_id(), &reservation(Some(flat))),
        record("device", device, &online(true)),
        deleted("reservation", deleted_stay),
    ];
    let dry = send(&org, json!({ "dryRun": true }), &records).await.data();
    assert_eq!(dry, json!({ "applied": 4, "events": 1, "warnings": [] }));
    assert_eq!(state().await, before);
    let wrong = send(
        &org,
        json!({ "dryRun": true }),
        &[
            record("device", device, &online(true)),
            record("reservation", new_id(), &reservation(Some(new_id()))),
        ],
    )
    .await;
    assert_eq!(wrong.issues(), ["records.1.data.propertyId"]);
    assert_eq!(
        send(&org, json!({}), &records).await.data(),
        dry,
        "what was foretold"
    );
    assert_ne!(state().await, before);
}

on_both!(a_number_that_would_lose_digits_is_refused_with_its_path);
async fn a_number_that_would_lose_digits_is_refused_with_its_path(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let id = new_id();
    let sync = |fields: &str| {
        let data =
            format!(r#"{{"name": "F", "timezone": "Europe/Madrid", "country": "ES", {fields}}}"#);
        let body =
            format!(r#"{{"records": [{{"kind": "property", "id": "{id}", "data": {data}}}]}}"#);
        let request = app
            .http
            .post(format!("{}/platform/v1{}", app.base, org.path("/sync")))
            .bearer_auth(test_support::PLATFORM_KEY);
        async move { ApiResponse::of(request.body(body)).await }
    };
    let too_precise = concat!(
        r#""big": 12345678901234567890123, "f": 0.1000000000000000055511151231257827, "#,
        r#""list": [1.5, {"deep": -9007199254740993.25}], "#,
        r#""latitude": 41.000000000000000000000001"#,
    );
    let refused = sync(too_precise).await;
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.issues(),
        ["big", "f", "latitude", "list.1.deep"].map(|field| format!("records.0.data.{field}"))
    );
    assert_eq!(
        refused.body["error"]["details"]["issues"][0]["message"],
        "has more digits than can be stored; send it as a string"
    );
    let kept = concat!(
        r#""big": 18446744073709551615, "low": -9223372036854775808, "#,
        r#""f": 0.30000000000000004, "latitude": 41.385063812345677"#,
    );
    sync(kept).await.data();
    let read = || async { api.get("/properties").await.data()[0].clone() };
    let first = read().await;
    assert_eq!(
        [&first["big"], &first["low"]],
        [&json!(u64::MAX), &json!(i64::MIN)]
    );
    assert_eq!(
        [&first["f"], &first["latitude"]],
        [
            &json!(0.300_000_000_000_000_04),
            &json!(41.385_063_812_345_68)
        ]
    );
    app.clock.advance(Duration::from_secs(1));
    sync(kept).await.data();
    assert_eq!(
        read().await["updatedAt"],
        first["updatedAt"],
        "the same record changes nothing"
    );
}

on_both!(stays_without_a_night_are_refused_and_late_bookings_warned);
async fn stays_without_a_night_are_refused_and_late_bookings_warned(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let with = |check_in: &str, check_out: &str, booked: &str| {
        let mut stay = reservation(Some(flat));
        (stay["checkIn"], stay["checkOut"], stay["bookedAt"]) =
            (check_in.into(), check_out.into(), booked.into());
        record("reservation", new_id(), &stay)
    };
    let early = "2026-11-01T10:00:00Z";
    let refused = send(
        &org,
        json!({}),
        &[
            with("2026-12-11", "2026-12-12", early),
            with("2026-12-11", "2026-12-11", early),
            with("2026-12-11", "2026-12-10", early),
        ],
    )
    .await;
    assert_eq!(
        refused.issues(),
        ["records.1.data.checkOut", "records.2.data.checkOut"]
    );
    assert_eq!(
        refused.body["error"]["details"]["issues"][0]["message"],
        "must be after checkIn"
    );
    let late = [
        with("2026-12-11", "2026-12-15", "2026-12-12T10:00:00Z"),
        with("2026-12-11", "2026-12-15", "2026-12-11T22:00:00Z"),
    ];
    for body in [json!({ "dryRun": true }), json!({})] {
        let data = send(&org, body, &late).await.data();
        assert_eq!(
            (warned(&data), &data["applied"]),
            (vec!["records.0.data.bookedAt".to_owned()], &json!(2))
        );
    }
}

on_both!(a_record_has_at_most_64_kib);
async fn a_record_has_at_most_64_kib(app: App) {
    let org = app.org().await;
    let id = new_id();
    let name = |length: usize| json!({ "name": "T", "notes": "x".repeat(length) });
    let around = name(0).to_string().len();
    assert_eq!(
        send(
            &org,
            json!({}),
            &[record("tag", id, &name((64 << 10) - around + 1))]
        )
        .await
        .issues(),
        ["records.0.data"]
    );
    send(
        &org,
        json!({}),
        &[record("tag", id, &name((64 << 10) - around))],
    )
    .await
    .data();
}

on_both!(a_single_sync_has_the_same_result_as_many_syncs);
async fn a_single_sync_has_the_same_result_as_many_syncs(app: App) {
    let mut dice = Dice(7);
    for _ in 0..12 {
        let (one, many) = (app.org().await, app.org().await);
        let records = history(&mut dice, 40);
        let (mut events, mut applied) = (0, 0);
        for record in &records {
            let data = send(&many, json!({}), std::slice::from_ref(record))
                .await
                .data();
            events += data["events"].as_u64().unwrap();
            applied += data["applied"].as_u64().unwrap();
        }
        let (first, rest) = records.split_at(records.len() / 3);
        let mut at_once = 0;
        for part in [first, rest] {
            at_once += send(&one, json!({}), part).await.data()["events"]
                .as_u64()
                .unwrap();
        }
        assert_eq!(
            (at_once, applied),
            (events, records.len() as u64),
            "{records:?}"
        );
        let (one, many) = (one.key().await, many.key().await);
        for path in [
            "/properties",
            "/tags",
            "/property-groups",
            "/reservations",
            "/tasks",
            "/departments",
            "/devices",
        ] {
            assert_eq!(
                without_change_times(all(&one, path, 7).await),
                without_change_times(all(&many, path, 100).await),
                "{path} {records:?}"
            );
        }
    }
}

on_both!(
    a_sync_of_many_records_takes_few_statements,
    "--webhook-allow=127.0.0.0/8",
    "--webhook-timeout=1h"
);
async fn a_sync_of_many_records_takes_few_statements(app: App) {
    // The webhook target accepts connections and never responds, so the service records no
    // outcome during the measurement.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("https://{}/", silent.local_addr().unwrap());
    let store = &app.server.service.store;
    let mut efforts = Vec::new();
    for count in [20_usize, 2_400] {
        let org = app.org().await;
        let api = org.key().await;
        for event in ["reservation.created", "reservation.cancelled"] {
            api.post(
                "/webhook-subscriptions",
                json!({ "event": event, "targetUrl": target }),
            )
            .await
            .data();
        }
        let flats: Vec<_> = (0..count / 20).map(|_| new_id()).collect();
        let ids: Vec<_> = (0..count).map(|_| new_id()).collect();
        let stays = |status: &str| {
            ids.iter()
                .enumerate()
                .map(|(number, id)| {
                    record(
                        "reservation",
                        *id,
                        &stay(
                            Some(flats[number % flats.len()]),
                            "Ada",
                            "L",
                            status,
                            "2026-12-11",
                        ),
                    )
                })
                .collect::<Vec<_>>()
        };
        let mut first: Vec<_> = flats
            .iter()
            .map(|id| record("property", *id, &flat("F")))
            .collect();
        first.extend(stays("confirmed"));
        let last: Vec<_> = ids
            .iter()
            .map(|id| deleted("reservation", *id))
            .chain(flats.iter().map(|id| deleted("property", *id)))
            .collect();
        let mut effort = Vec::new();
        for (records, events) in [
            (first, count),
            (stays("confirmed"), 0),
            (stays("cancelled"), count),
            (last, 0),
        ] {
            store.max_work();
            assert_eq!(
                send(&org, json!({}), &records).await.data()["events"],
                events
            );
            effort.push(store.max_work());
        }
        efforts.push(effort);
    }
    for (few, many) in efforts[0].iter().zip(&efforts[1]) {
        assert!(
            many.statements < 40 && many.statements <= few.statements + 8,
            "{few:?} {many:?}"
        );
        assert!(
            many.instructions <= few.instructions * 200,
            "120 times as much: {few:?} {many:?}"
        );
    }
}

on_both!(a_page_at_a_high_offset_costs_little_more_than_the_first);
async fn a_page_at_a_high_offset_costs_little_more_than_the_first(app: App) {
    let org = app.org().await;
    let api = org.key_with(&[Permission::ViewProperties]).await;
    // The records are as short as possible, so that the sync takes little time.
    let ids: Vec<Uuid> = (0..9_000).map(|_| new_id()).collect();
    let records: Vec<_> = ids
        .iter()
        .map(|id| record("tag", *id, &json!({ "name": "T" })))
        .collect();
    send(&org, json!({}), &records).await.data();
    let store = &app.server.service.store;
    let page = |offset: usize| {
        let api = api.clone();
        async move {
            store.max_work();
            let response = api.get(&format!("/tags?limit=100&offset={offset}")).await;
            assert_eq!(response.body["meta"]["pagination"]["total"], 9_000);
            (
                self::ids(response.data().as_array().unwrap()),
                store.max_work(),
            )
        }
    };
    let (html, first) = page(0).await;
    assert_eq!(html, ids[..100]);
    for offset in [3_950, 4_000, 7_999, 8_001, 8_930, 9_000] {
        let (
            html,
            WorkCount {
                statements,
                rows,
                instructions,
            },
        ) = page(offset).await;
        assert_eq!(html, ids[offset..(offset + 100).min(9_000)]);
        assert!(
            statements <= first.statements && rows <= first.rows,
            "{offset}"
        );
        // The list skips the rows before the offset in whole blocks, because it knows how many rows
        // each block has. It reads at most one block in addition to the returned rows.
        assert!(
            instructions <= first.instructions + 4_000 * 12,
            "{offset}: {instructions} {}",
            first.instructions
        );
    }
    let gone: Vec<_> = ids
        .iter()
        .step_by(3)
        .map(|id| deleted("tag", *id))
        .collect();
    app.clock.advance(Duration::from_secs(1));
    let late = new_id();
    send(
        &org,
        json!({}),
        &[gone, vec![record("tag", late, &json!({ "name": "Late" }))]].concat(),
    )
    .await
    .data();
    let mut remaining: Vec<Uuid> = ids
        .iter()
        .enumerate()
        .filter(|(number, _)| number % 3 > 0)
        .map(|(_, id)| *id)
        .collect();
    remaining.push(late);
    let (items, total) = all(&api, "/tags", 500).await;
    assert_eq!((self::ids(&items), total), (remaining, 6_001));
}

on_both!(reservation_filters_respect_the_callers_access);
#[expect(clippy::too_many_lines, reason = "a table of filters")]
async fn reservation_filters_respect_the_callers_access(app: App) {
    let org = app.org().await;
    let flats = [
        org.property(None, &[]).await,
        org.property(None, &[]).await,
        org.property(None, &[]).await,
    ];
    let mut stays: Vec<(Uuid, Value)> = Vec::new();
    let mut dice = Dice(3);
    let names = [
        ("Ada", "Lovelace"),
        ("José", "GARCÍA"),
        ("Ana", "100%_sure!"),
        ("", "Straße"),
        ("Zoë", ""),
    ];
    for number in 0..120_u64 {
        let property = [Some(flats[0]), Some(flats[1]), Some(flats[2]), None]
            [usize::try_from(dice.roll(4)).unwrap()];
        let (first, last) = dice.one_of(&names);
        let status = dice.one_of(&["confirmed", "tentative", "cancelled"]);
        stays.push((
            new_id(),
            stay(
                property,
                first,
                last,
                status,
                &format!("2026-12-{:02}", 1 + number % 28),
            ),
        ));
    }
    let records: Vec<_> = stays
        .iter()
        .map(|(id, data)| record("reservation", *id, data))
        .collect();
    send(&org, json!({}), &records).await.data();
    let reaches: [(Api, Option<&[Uuid]>); 3] = [
        (org.key().await, None),
        (org.limited(&flats[..2]).await, Some(&flats[..2])),
        (org.limited(&[]).await, Some(&[])),
    ];
    let name_of = |data: &Value| {
        format!(
            "{} {}",
            data["guest"]["firstName"].as_str().unwrap(),
            data["guest"]["lastName"].as_str().unwrap()
        )
    };
    let filters: Vec<(String, Holds<'_>)> = vec![
        (String::new(), Box::new(|_| true)),
        (
            "query=LOVE".into(),
            Box::new(|data| name_of(data) == "Ada Lovelace"),
        ),
        (
            "query=lovelace%20ada".into(),
            Box::new(|data| name_of(data) == "Ada Lovelace"),
        ),
        (
            "query=jose%20garcia".into(),
            Box::new(|data| name_of(data) == "José GARCÍA"),
        ),
        (
            "query=0%25_s".into(),
            Box::new(|data| name_of(data).contains("100%")),
        ),
        (
            "query=%25".into(),
            Box::new(|data| name_of(data).contains('%')),
        ),
        (
            "query=STRASSE".into(),
            Box::new(|data| name_of(data).contains("Straße")),
        ),
        ("query=nobody".into(), Box::new(|_| false)),
        ("query=%CC%81".into(), Box::new(|_| false)),
        (
            format!("propertyId={}", flats[0]),
            Box::new(|data| data["propertyId"] == json!(flats[0])),
        ),
        (
            format!("propertyId={}", flats[2]),
            Box::new(|data| data["propertyId"] == json!(flats[2])),
        ),
        (format!("propertyId={}", new_id()), Box::new(|_| false)),
        (
            "status=tentative".into(),
            Box::new(|data| data["status"] == "tentative"),
        ),
        (
            "checkInFrom=2026-12-10&checkInTo=2026-12-12".into(),
            Box::new(|data| {
                ("2026-12-10"..="2026-12-12").contains(&data["checkIn"].as_str().unwrap())
            }),
        ),
        (
            "checkInFrom=2026-12-20".into(),
            Box::new(|data| data["checkIn"].as_str().unwrap() >= "2026-12-20"),
        ),
        (
            "checkInTo=2026-12-03".into(),
            Box::new(|data| data["checkIn"].as_str().unwrap() <= "2026-12-03"),
        ),
        (
            "checkInFrom=2026-12-12&checkInTo=2026-12-10".into(),
            Box::new(|_| false),
        ),
        (
            format!(
                "query=ada&status=confirmed&propertyId={}&checkInFrom=2026-12-02",
                flats[1]
            ),
            Box::new(|data| {
                name_of(data).starts_with("Ada")
                    && data["status"] == "confirmed"
                    && data["propertyId"] == json!(flats[1])
                    && data["checkIn"].as_str().unwrap() >= "2026-12-02"
            }),
        ),
        (
            "status=cancelled&checkInTo=2026-12-15&query=zoe".into(),
            Box::new(|data| {
                data["status"] == "cancelled"
                    && data["checkIn"].as_str().unwrap() <= "2026-12-15"
                    && name_of(data).contains("Zoë")
            }),
        ),
    ];
    let check = || async {
        for (api, reach) in &reaches {
            for (filter, holds) in &filters {
                let reaches = |data: &Value| {
                    reach.is_none_or(|reach| {
                        data["propertyId"].is_null()
                            || reach.iter().any(|id| data["propertyId"] == json!(id))
                    })
                };
                let expected: Vec<Uuid> = stays
                    .iter()
                    .filter(|(_, data)| holds(data) && reaches(data))
                    .map(|(id, _)| *id)
                    .collect();
                let (items, total) = all(api, &format!("/reservations?{filter}"), 9).await;
                assert_eq!(
                    (ids(&items), total),
                    (expected.clone(), i64::try_from(expected.len()).unwrap()),
                    "{filter} {reach:?}"
                );
            }
        }
    };
    check().await;
    // A filter by ids applies together with all other filters. It finds only reservations that
    // the caller can access.
    let (requested, others) = (&stays[..60], [new_id(), stays[0].0]);
    let query = requested
        .iter()
        .map(|(id, _)| *id)
        .chain(others)
        .map(|id| format!("ids={id}"))
        .collect::<Vec<_>>()
        .join("&");
    for (api, reach) in &reaches {
        for (filter, holds) in &filters {
            let reaches = |data: &Value| {
                reach.is_none_or(|reach| {
                    data["propertyId"].is_null()
                        || reach.iter().any(|id| data["propertyId"] == json!(id))
                })
            };
            let expected: Vec<Uuid> = requested
                .iter()
                .filter(|(_, data)| holds(data) && reaches(data))
                .map(|(id, _)| *id)
                .collect();
            let (items, total) = all(
                api,
                format!("/reservations?{query}&{filter}").trim_end_matches('&'),
                9,
            )
            .await;
            assert_eq!(
                (ids(&items), total),
                (expected.clone(), i64::try_from(expected.len()).unwrap()),
                "{filter} {reach:?}"
            );
        }
    }
    let api = &reaches[0].0;
    let too_many = (0..101)
        .map(|_| format!("ids={}", new_id()))
        .collect::<Vec<_>>()
        .join("&");
    assert_eq!(
        api.get(&format!("/reservations?{too_many}")).await.issues(),
        ["ids"]
    );
    for (query, field) in [
        ("status=open", "status"),
        ("checkInFrom=2026-13-01", "checkInFrom"),
        ("checkInTo=tomorrow", "checkInTo"),
        ("propertyId=x", "propertyId"),
        ("query=%20", "query"),
        ("query=a&query=b", "query"),
    ] {
        assert_eq!(
            api.get(&format!("/reservations?{query}")).await.issues(),
            [field],
            "{query}"
        );
    }
}

on_both!(properties_are_filtered_by_name_group_and_tag);
async fn properties_are_filtered_by_name_group_and_tag(app: App) {
    let org = app.org().await;
    let (group, tags) = (org.group().await, [org.tag().await, org.tag().await]);
    let mut flats = BTreeMap::new();
    for (name, group, tags) in [
        ("Casa Azul", Some(group), vec![tags[0]]),
        ("Casa Verde", None, vec![tags[0], tags[1]]),
        ("Ático", Some(group), vec![]),
        ("Bajo", None, vec![tags[1]]),
    ] {
        let mut data = flat(name);
        data["propertyGroupId"] = json!(group);
        data["tagIds"] = json!(tags);
        flats.insert(name, org.record("property", data).await);
    }
    let everyone = org.key().await;
    let limited = org.limited(&[flats["Casa Azul"], flats["Bajo"]]).await;
    for (query, expected) in [
        ("query=casa".into(), vec!["Casa Azul", "Casa Verde"]),
        ("query=atico".into(), vec!["Ático"]),
        (
            format!("propertyGroupId={group}"),
            vec!["Casa Azul", "Ático"],
        ),
        (
            format!("tagId={}", tags[0]),
            vec!["Casa Azul", "Casa Verde"],
        ),
        (format!("tagId={}&query=verde", tags[1]), vec!["Casa Verde"]),
        (format!("tagId={}&propertyGroupId={group}", tags[1]), vec![]),
        (format!("tagId={}", new_id()), vec![]),
        (
            format!(
                "ids={}&ids={}&ids={}&ids={0}",
                flats["Bajo"],
                flats["Casa Azul"],
                new_id()
            ),
            vec!["Casa Azul", "Bajo"],
        ),
        (
            format!(
                "ids={}&ids={}&query=casa",
                flats["Bajo"], flats["Casa Verde"]
            ),
            vec!["Casa Verde"],
        ),
    ] {
        for (api, reach) in [
            (&everyone, vec!["Casa Azul", "Casa Verde", "Ático", "Bajo"]),
            (&limited, vec!["Casa Azul", "Bajo"]),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .filter(|name| reach.contains(name))
                .map(|name| flats[*name])
                .collect();
            let (items, total) = all(api, &format!("/properties?{query}"), 1).await;
            assert_eq!(
                (ids(&items), total),
                (expected.clone(), i64::try_from(expected.len()).unwrap()),
                "{query}"
            );
        }
    }
    assert_eq!(
        everyone
            .get("/properties?tagId=x&propertyGroupId=y&query=")
            .await
            .issues(),
        ["propertyGroupId", "query", "tagId"]
    );
    // After the deletion of a group, the filter by that group finds no property.
    org.delete_record("property_group", group).await;
    assert_eq!(
        all(
            &everyone,
            &format!("/properties?propertyGroupId={group}"),
            10
        )
        .await,
        (vec![], 0)
    );
}

/// Returns random writes, changes and deletions of records. A record refers only to records that
/// exist at that point. No record is written again after its deletion, because a sync that contains
/// both treats the second write as a change of an existing record.
fn history(dice: &mut Dice, length: usize) -> Vec<Value> {
    const KINDS: [&str; 7] = [
        "property_group",
        "tag",
        "department",
        "property",
        "reservation",
        "task",
        "device",
    ];
    let mut ids: BTreeMap<&str, Vec<Uuid>> = KINDS
        .iter()
        .map(|kind| (*kind, (0..3).map(|_| new_id()).collect()))
        .collect();
    let mut there: BTreeMap<&str, Vec<Uuid>> = BTreeMap::new();
    let mut records = Vec::new();
    while records.len() < length {
        let kind = dice.one_of(&KINDS);
        let id = dice.one_of(&ids[kind]);
        if dice.roll(5) == 0 {
            records.push(deleted(kind, id));
            there.entry(kind).or_default().retain(|there| *there != id);
            let known = ids.get_mut(kind).unwrap();
            known.retain(|known| *known != id);
            known.push(new_id());
            continue;
        }
        let mut any = |kind: &str| {
            there
                .get(kind)
                .filter(|there| !there.is_empty())
                .map(|there| dice.one_of(there))
        };
        let (group, tag, department, property) = (
            any("property_group"),
            any("tag"),
            any("department"),
            any("property"),
        );
        let data = match (kind, property) {
            ("property", _) => {
                let mut flat = flat("F");
                flat["propertyGroupId"] = json!(group);
                flat["tagIds"] = json!(tag.into_iter().collect::<Vec<_>>());
                flat
            }
            ("reservation", property) => stay(
                property,
                "Ada",
                "L",
                dice.one_of(&["confirmed", "tentative", "cancelled"]),
                "2026-12-11",
            ),
            ("task", Some(property)) => {
                let status = dice.one_of(&["open", "in_progress", "completed", "cancelled"]);
                json!({
                    "propertyId": property,
                    "title": "T",
                    "status": status,
                    "departmentId": department,
                })
            }
            ("device", Some(property)) => {
                json!({
                    "propertyId": property,
                    "name": "D",
                    "deviceType": "lock",
                    "vendor": "V",
                    "isOnline": dice.roll(2) == 0,
                })
            }
            ("task" | "device", None) => continue,
            _ => json!({ "name": dice.one_of(&["A", "B"]) }),
        };
        records.push(record(kind, id, &data));
        there.entry(kind).or_default().retain(|there| *there != id);
        there.entry(kind).or_default().push(id);
    }
    records
}

/// After an import, the query planner would have no statistics for a table that was empty before.
/// The import must therefore update the statistics.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_updates_the_planner_statistics() {
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let org = app.org().await;
    let planned = async || {
        let looked_at = "select pg_stat_get_last_analyze_time('record'::regclass) is not null and \
            reltuples >= 1500 from pg_class where oid = 'record'::regclass";
        app.query(looked_at, vec![], |row| row.get::<bool>(0)).await == [true]
    };
    let flats: Vec<_> = (0..1_500)
        .map(|_| record("property", new_id(), &flat("F")))
        .collect();
    send(&org, json!({}), &flats).await.data();
    wait_until_within(Duration::from_secs(30), "the table is analyzed", planned).await;
}
