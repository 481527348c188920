//! Tests that a request with a long list runs as many statements as one with a short list, and that
//! the work grows at most in proportion to the items.

use serde_json::{Value, json};
use store::WorkCount;
use test_support::{Api, App, Org, new_id, on_both, reservation};
use uuid::Uuid;

use crate::precheck::{change, create, translation};

/// Runs a request. Returns the work of the largest transaction that ran for an organization during
/// the request. Background work, such as the dispatcher's searches, runs for no organization, so it
/// is not included.
async fn work_of(app: &App, request: impl Future<Output = test_support::ApiResponse>) -> WorkCount {
    let store = &app.server.service.store;
    store.max_work();
    request.await.data();
    store.max_work()
}

/// Checks that a request for `many` items runs no more statements than a request for `few` items.
/// On SQLite, also checks that the work for each item at most doubles.
#[track_caller]
fn assert_same_statements(
    what: &str,
    (few, of_few): (u64, WorkCount),
    (many, of_many): (u64, WorkCount),
) {
    assert!(
        of_few.statements > 0 && of_many.statements <= of_few.statements,
        "{what}: {of_few:?}, {of_many:?}"
    );
    let times = many / few;
    assert!(
        of_many.instructions <= of_few.instructions * times * 2,
        "{what}, {times} times as many: {of_few:?}, {of_many:?}"
    );
}

/// Creates `count` properties. Returns their ids.
async fn flats(org: &Org<'_>, count: usize) -> Vec<Uuid> {
    let ids: Vec<Uuid> = (0..count).map(|_| new_id()).collect();
    let data = json!({ "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" });
    for chunk in ids.chunks(1_000) {
        org.sync(
            chunk
                .iter()
                .map(|id| json!({ "kind": "property", "id": id, "data": data }))
                .collect(),
        )
        .await
        .data();
    }
    ids
}

async fn portal(api: &Api, name: &str) -> Value {
    api.post("/portals", json!({ "name": name })).await.data()["id"].clone()
}

/// Returns `count` questions of a step, each with options. Every question and option has a text.
fn questions(texts: &[Value], count: usize, options: usize) -> Value {
    let names: Vec<_> = texts[..options]
        .iter()
        .map(|text| json!({ "nameMlTextId": text }))
        .collect();
    let question =
        |text: &Value| json!({ "kind": "single_select", "textMlTextId": text, "options": names });
    texts[..count].iter().map(question).collect()
}

on_both!(assigning_many_flats_takes_as_many_statements_as_a_few);
async fn assigning_many_flats_takes_as_many_statements_as_a_few(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = flats(&org, 2_000).await;
    let (first, second) = (portal(&api, "First").await, portal(&api, "Second").await);
    let body = |portal: &Value, ids: &[Uuid]| {
        json!({
            "entityType": "portal_settings",
            "entityId": portal,
            "propertyIds": ids,
        })
    };
    for how in ["/add", "", "/remove"] {
        let mut measured = Vec::new();
        for count in [200, 2_000] {
            // Before each measurement, all properties are assigned to the first portal and none to
            // the second portal.
            api.post("/entity-scopes", body(&second, &[])).await.data();
            api.post("/entity-scopes", body(&first, &all)).await.data();
            let path = format!("/entity-scopes{how}");
            let moved = work_of(
                &app,
                api.post(
                    &path,
                    body(
                        if how == "/remove" { &first } else { &second },
                        &all[..count],
                    ),
                ),
            )
            .await;
            measured.push((count as u64, moved));
        }
        assert_same_statements(how, measured[0], measured[1]);
    }
    let read = |portal: &Value| {
        format!(
            "/entity-scopes?entityType=portal_settings&entityId={}",
            portal.as_str().unwrap()
        )
    };
    api.post("/entity-scopes", body(&first, &all[..100]))
        .await
        .data();
    api.post("/entity-scopes", body(&second, &all[1_000..]))
        .await
        .data();
    let few = work_of(&app, api.get(&read(&first))).await;
    assert_same_statements(
        "read",
        (100, few),
        (1_000, work_of(&app, api.get(&read(&second))).await),
    );
}

on_both!(moving_a_flat_costs_the_same_with_many_flats);
async fn moving_a_flat_costs_the_same_with_many_flats(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = flats(&org, 2_000).await;
    let (first, second) = (portal(&api, "First").await, portal(&api, "Second").await);
    let body = |portal: &Value, ids: &[Uuid]| {
        json!({
            "entityType": "portal_settings",
            "entityId": portal,
            "propertyIds": ids,
        })
    };
    let mut measured = Vec::new();
    for count in [20, 2_000] {
        api.post("/entity-scopes", body(&first, &all[..count]))
            .await
            .data();
        let path = format!("/properties/{}/assign-portal", all[0]);
        measured.push(work_of(&app, api.post(&path, json!({ "portalSettingsId": second }))).await);
    }
    assert!(
        measured[1].statements == measured[0].statements
            && measured[1].instructions <= measured[0].instructions * 2,
        "{measured:?}"
    );
}

on_both!(deleting_a_flat_costs_the_same_with_many_flats);
async fn deleting_a_flat_costs_the_same_with_many_flats(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = flats(&org, 2_000).await;
    let first = portal(&api, "First").await;
    let mut measured = Vec::new();
    for (count, gone) in [(20, all[0]), (2_000, all[1])] {
        let assigned: Vec<_> = all[..count]
            .iter()
            .filter(|id| **id != all[0] || count == 20)
            .collect();
        api.post(
            "/entity-scopes",
            json!({ "entityType": "portal_settings", "entityId": first, "propertyIds": assigned }),
        )
        .await
        .data();
        measured.push(
            work_of(
                &app,
                org.sync(json!([{ "kind": "property", "id": gone, "isDeleted": true }])),
            )
            .await,
        );
    }
    assert!(
        measured[1].statements == measured[0].statements
            && measured[1].instructions <= measured[0].instructions * 2,
        "{measured:?}"
    );
}

on_both!(limited_callers_assign_many_flats_in_as_many_statements);
async fn limited_callers_assign_many_flats_in_as_many_statements(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = flats(&org, 500).await;
    let limited = org.limited(&all).await;
    let portal = portal(&api, "First").await;
    let mut measured = Vec::new();
    for count in [5, 500] {
        let body = json!({
            "entityType": "portal_settings",
            "entityId": portal,
            "propertyIds": all[..count],
        });
        measured.push(
            work_of(&app, limited.post("/entity-scopes", body))
                .await
                .statements,
        );
    }
    assert_eq!(measured[0], measured[1]);
}

on_both!(the_access_of_a_limited_caller_is_cached_until_it_changes);
async fn the_access_of_a_limited_caller_is_cached_until_it_changes(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let all = flats(&org, 3).await;
    let limited = org.limited(&all[..1]).await;
    let (own, other) = (portal(&api, "Own").await, portal(&api, "Other").await);
    let assign = |entity: Value, flats: Vec<Uuid>| {
        let api = api.clone();
        async move {
            api.post(
                "/entity-scopes",
                json!({
                    "entityType": "portal_settings",
                    "entityId": entity,
                    "propertyIds": flats,
                }),
            )
            .await
            .data();
        }
    };
    assign(own, vec![all[0]]).await;
    assign(other.clone(), vec![all[1]]).await;
    let search = || {
        let limited = limited.clone();
        async move { limited.get("/search?query=o").await }
    };
    // This read puts the caller into the cache, so neither of the two searches below needs a
    // statement to identify the caller.
    limited.get("/departments").await.data();
    let first = work_of(&app, search()).await.statements;
    let again = work_of(&app, search()).await.statements;
    assert!(again < first, "{again} after {first}");
    let path = format!("/portals/{}", other.as_str().unwrap());
    let reads = async || limited.get(&path).await.status;
    assert_eq!(reads().await, 404);
    assign(other.clone(), vec![all[2], all[0]]).await;
    assert_eq!(reads().await, 200, "it serves a flat of theirs now");
    assign(other, vec![all[1]]).await;
    assert_eq!(reads().await, 404);
}

on_both!(many_questions_take_as_many_statements_as_a_few);
async fn many_questions_take_as_many_statements_as_a_few(app: App) {
    let api = app.org().await.key().await;
    let mut texts = Vec::new();
    for _ in 0..40 {
        texts.push(translation(&api, "precheck_question").await);
    }
    let create_questions = |count, options| {
        let (api, body) = (
            api.clone(),
            json!({
                "nickname": "Questions",
                "stepType": "additional_questions",
                "questions": questions(&texts, count, options),
            }),
        );
        async move { api.post("/precheck-steps", body).await }
    };
    assert_same_statements(
        "create",
        (2, work_of(&app, create_questions(2, 2)).await),
        (800, work_of(&app, create_questions(40, 40)).await),
    );
    let step = create(&api, "additional_questions", json!({})).await;
    // This update saves a question first, so that both measured updates replace stored
    // questions.
    change(&api, &step, json!({ "questions": questions(&texts, 1, 1) }))
        .await
        .data();
    let few = json!({ "questions": questions(&texts, 2, 2) });
    let many = json!({ "questions": questions(&texts, 40, 40) });
    assert_same_statements(
        "update",
        (2, work_of(&app, change(&api, &step, few)).await),
        (800, work_of(&app, change(&api, &step, many)).await),
    );
}

on_both!(many_fees_take_as_many_statements_as_a_few);
async fn many_fees_take_as_many_statements_as_a_few(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let fees: Vec<Uuid> = (0..300).map(|_| new_id()).collect();
    org.sync(
        fees.iter()
            .map(|id| json!({ "kind": "fee_product", "id": id, "data": { "name": "Fee" } }))
            .collect(),
    )
    .await
    .data();
    let step = create(&api, "mandatory_fee", json!({})).await;
    // This update saves a fee first, so that both measured updates replace stored fees.
    change(&api, &step, json!({ "feeProductIds": fees[3..4] }))
        .await
        .data();
    let few = work_of(
        &app,
        change(&api, &step, json!({ "feeProductIds": fees[..3] })),
    )
    .await;
    assert_same_statements(
        "fees",
        (3, few),
        (
            300,
            work_of(&app, change(&api, &step, json!({ "feeProductIds": fees }))).await,
        ),
    );
}

on_both!(many_categories_take_as_many_statements_as_a_few);
async fn many_categories_take_as_many_statements_as_a_few(app: App) {
    let api = app.org().await.key().await;
    let create = |title: String| {
        let api = api.clone();
        async move {
            api.post("/portal-manual-categories", json!({ "title": title }))
                .await
        }
    };
    create("One".into()).await.data();
    let few = work_of(&app, create("Two".into())).await;
    for number in 0..30 {
        create(format!("Title {number}")).await.data();
    }
    let many = work_of(&app, create("Last".into())).await;
    assert!(many.statements <= few.statements, "{few:?}, {many:?}");
    let rows = api.get("/portal-manual-categories").await.data();
    let text = rows[0]["titleId"].as_str().unwrap().to_owned();
    let entry = format!("/translations/{text}/entries/en");
    let written = work_of(
        &app,
        api.send(
            reqwest::Method::PUT,
            &entry,
            Some(json!({ "text": "Other" })),
        ),
    )
    .await;
    assert!(written.statements < 30, "{written:?}");
}

on_both!(many_guest_links_take_as_many_statements_as_a_few);
async fn many_guest_links_take_as_many_statements_as_a_few(app: App) {
    let org = app.org().await;
    let stays: Vec<Uuid> = (0..600).map(|_| new_id()).collect();
    org.sync(
        stays
            .iter()
            .map(|id| json!({ "kind": "reservation", "id": id, "data": reservation(None) }))
            .collect(),
    )
    .await
    .data();
    let platform = app.platform();
    let links = async |count: usize| {
        let body = json!({ "reservationIds": stays[..count] });
        (
            count as u64,
            work_of(&app, platform.post(&org.path("/guest-links"), body)).await,
        )
    };
    assert_same_statements("links", links(60).await, links(600).await);
}
