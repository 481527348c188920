//! Tests of the list of guest changes, which the platform reads page by page: in order, without
//! gaps or repetitions, for 30 days.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::values;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, guest, id};
use test_support::waiting::in_time_within;
use test_support::{ApiResponse, App, new_id, on_both};

const DAY: Duration = Duration::from_secs(24 * 3_600);

store::statements! {
    /// Inserts one guest change.
    FILL = "insert into guest_change (organization_id, cursor, kind, reservation_id, step_id,
        occurred_at) values (?1, ?2, 'message', ?3, null, ?4)";
    /// Inserts the row with the cursor of the organization's latest guest change.
    FILLED = "insert into guest_change_cursor (organization_id, latest, latest_at)
        values (?1, ?2, ?3)";
}

async fn page(app: &App, organization: Uuid, query: &str) -> ApiResponse {
    app.platform()
        .get(&format!(
            "/organizations/{organization}/guest-changes{query}"
        ))
        .await
}

/// Returns the kind of each change on a page, and the change's step if it has one.
fn kinds_and_steps(page: &Value) -> Vec<(String, Option<Uuid>)> {
    let change = |item: &Value| {
        (
            item["kind"].as_str().unwrap().to_owned(),
            (!item["stepId"].is_null()).then(|| id(&item["stepId"])),
        )
    };
    page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(change)
        .collect()
}

on_both!(guest_changes_are_listed_in_order);
async fn guest_changes_are_listed_in_order(app: App) {
    let house = House::build(&app).await;
    let org = house.org.id;
    assert_eq!(
        page(&app, org, "").await.data(),
        json!({ "items": [], "next": 0 })
    );
    assert_eq!(
        page(&app, org, "?after=0").await.data(),
        json!({ "items": [], "next": 0 })
    );
    let step = house.step("your_details", json!({})).await;
    house
        .answer(step, json!({ "firstName": "Ada" }))
        .await
        .data();
    app.clock.advance(Duration::from_secs(1));
    house.say("Hello").await.data();
    house.submit().await.data();
    // Refused requests and actions of staff add no guest change.
    house.answer(step, json!({})).await.error(409);
    house.submit().await.error(409);
    house.say(" ").await.error(400);
    let review = format!("/reservations/{}/precheckin", house.stay);
    house
        .api
        .post(
            &format!("{review}/request-changes"),
            json!({ "message": "Again", "stepIds": [step] }),
        )
        .await
        .data();
    house.submit().await.data();

    let all = page(&app, org, "").await.data();
    let kinds = [
        ("answers_saved", Some(step)),
        ("message", None),
        ("submitted", None),
        ("submitted", None),
    ];
    let kinds = kinds.map(|(kind, step)| (kind.to_owned(), step));
    assert_eq!(
        (kinds_and_steps(&all), &all["next"]),
        (kinds.to_vec(), &json!(4))
    );
    assert_eq!(
        all["items"][0],
        json!({
            "cursor": 1,
            "kind": "answers_saved",
            "reservationId": house.stay,
            "stepId": step,
            "occurredAt": "2026-11-21T09:30:00.001Z",
        })
    );
    assert_eq!(all["items"][1]["occurredAt"], "2026-11-21T09:30:01.001Z");
    assert_eq!(page(&app, org, "?after=0").await.data(), all);
    let mut after = 0;
    for kind in &kinds {
        let one = page(&app, org, &format!("?after={after}&limit=1"))
            .await
            .data();
        assert_eq!(kinds_and_steps(&one), std::slice::from_ref(kind));
        assert_eq!(one["next"], one["items"][0]["cursor"]);
        after = one["next"].as_i64().unwrap();
    }
    assert_eq!(
        page(&app, org, &format!("?after={after}")).await.data(),
        json!({ "items": [], "next": after })
    );
    // Another organization has its own list of guest changes and its own cursors. The changes of a
    // deleted stay remain in the list.
    let other = House::build(&app).await;
    other.say("Hello").await.data();
    assert_eq!(
        page(&app, other.org.id, "").await.data()["items"][0]["cursor"],
        1
    );
    house.org.delete_record("reservation", house.stay).await;
    assert_eq!(page(&app, org, "").await.data(), all);
}

on_both!(an_unknown_cursor_is_refused);
async fn an_unknown_cursor_is_refused(app: App) {
    let house = House::build(&app).await;
    house.say("Hello").await.data();
    for after in [
        "2",
        "-1",
        "01",
        "x",
        "1.0",
        "%201",
        "9223372036854775808",
        "9999999999999999999",
        "99999999999999999999",
    ] {
        assert_eq!(
            page(&app, house.org.id, &format!("?after={after}"))
                .await
                .issues(),
            ["after"],
            "{after}"
        );
    }
    for limit in ["0", "1001", "x"] {
        assert_eq!(
            page(&app, house.org.id, &format!("?limit={limit}"))
                .await
                .issues(),
            ["limit"],
            "{limit}"
        );
    }
    page(&app, house.org.id, "?after=1&limit=1000").await.data();
    page(&app, new_id(), "").await.error(404);
}

on_both!(guest_changes_are_deleted_after_30_days);
async fn guest_changes_are_deleted_after_30_days(app: App) {
    let house = House::build(&app).await;
    let org = house.org.id;
    for _ in 0..2 {
        house.say("Old").await.data();
    }
    app.clock.advance(10 * DAY);
    house.say("New").await.data();
    app.clock.advance(20 * DAY);
    app.server.sweep_once().await;
    assert_eq!(
        kinds_and_steps(&page(&app, org, "?after=0").await.data()).len(),
        3,
        "30 days are not over yet"
    );
    app.clock.advance(Duration::from_secs(1));
    app.server.sweep_once().await;
    for after in ["0", "1"] {
        let gone = page(&app, org, &format!("?after={after}")).await.error(410);
        assert_eq!(
            (&gone["type"], &gone["code"]),
            (&json!("gone_error"), &json!("GONE"))
        );
        assert!(gone["message"].as_str().unwrap().contains("30 days"));
    }
    // A reader whose cursor is the last deleted change has missed nothing. A new reader begins
    // with the oldest change that remains.
    let kept = page(&app, org, "").await.data();
    assert_eq!(
        (&kept["items"][0]["cursor"], &kept["next"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(page(&app, org, "?after=2").await.data(), kept);
    app.clock.advance(10 * DAY);
    app.server.sweep_once().await;
    for query in ["", "?after=3"] {
        assert_eq!(
            page(&app, org, query).await.data(),
            json!({ "items": [], "next": 3 }),
            "{query}"
        );
    }
    page(&app, org, "?after=2").await.error(410);
    assert_eq!(page(&app, org, "?after=4").await.issues(), ["after"]);
    house.say("Newest").await.data();
    assert_eq!(
        page(&app, org, "?after=3").await.data()["items"][0]["cursor"],
        4
    );
}

on_both!(old_guest_changes_are_swept_in_batches);
async fn old_guest_changes_are_swept_in_batches(app: App) {
    let org = app.org().await.id;
    let (now, service) = (app.clock.now(), app.server.service.clone());
    let fill = service
        .store
        .write_within(Duration::from_secs(30), move |tx| {
            tx.execute(&FILLED, &values![org, 1_200_i64, now])?;
            for cursor in 1..=1_200_i64 {
                tx.execute(&FILL, &values![org, cursor, new_id(), now])?;
            }
            Ok::<_, store::Error>(())
        });
    fill.await.unwrap();
    app.clock.advance(31 * DAY);
    let now = app.clock.now();
    for (has_more, oldest) in [(true, Some(501)), (true, Some(1_001)), (false, None)] {
        let swept = service
            .store
            .write(move |tx| features::guest::sweep(tx, now))
            .await
            .unwrap();
        let first: Vec<Option<i64>> = app
            .query(
                "select min(cursor) from guest_change where organization_id = ?1",
                vec![org.into()],
                |row| row.get(0),
            )
            .await;
        assert_eq!((swept, first[0]), (has_more, oldest));
    }
    assert_eq!(page(&app, org, "").await.data()["next"], 1200);
}

/// Guests write through two nodes while a reader polls the list of guest changes. The reader gets
/// every change once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_every_change_once_while_two_nodes_write() {
    const STAYS: usize = 8;
    const MESSAGES: usize = 20;
    const READ_LIMIT: Duration = Duration::from_secs(120);
    let Some(app) = App::on_postgres(&[]).await else {
        return;
    };
    let second = app.second_node(&[]).await;
    let house = House::build(&app).await;
    let org = house.org.id;
    let mut tokens = Vec::new();
    for _ in 0..STAYS {
        let stay = house.org.reservation(Some(house.flat)).await;
        tokens.push(house.org.stay_token(stay).await);
    }
    let is_over = AtomicBool::new(false);
    let write = async {
        let guests = tokens.iter().enumerate().map(|(number, token)| {
            let node = if number % 2 == 0 { &app } else { &second };
            async move {
                for _ in 0..MESSAGES {
                    guest(
                        node,
                        token,
                        Method::POST,
                        "/messages",
                        Some(json!({ "text": "Hello" })),
                    )
                    .await
                    .data();
                }
            }
        });
        futures_util::future::join_all(guests).await;
        is_over.store(true, Ordering::SeqCst);
    };
    let read = async {
        let (mut seen, mut after, mut was_over) = (Vec::new(), 0, false);
        for node in [&app, &second].into_iter().cycle() {
            let next = page(node, org, &format!("?after={after}&limit=7"))
                .await
                .data();
            seen.extend(
                next["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| usize::try_from(item["cursor"].as_u64().unwrap()).unwrap()),
            );
            after = next["next"].as_i64().unwrap();
            if was_over && next["items"] == json!([]) {
                break;
            }
            was_over = is_over.load(Ordering::SeqCst);
        }
        seen
    };
    let both = async { tokio::join!(write, read) };
    let ((), seen) = in_time_within(READ_LIMIT, "the reader sees every change", both).await;
    assert_eq!(seen, (1..=STAYS * MESSAGES).collect::<Vec<_>>());
}
