//! Tests of the sweep that deletes rows of webhooks in small batches. It deletes the rows of
//! deleted subscriptions and their logs, old deliveries, surplus pings, and surplus disabled
//! subscriptions.

use std::time::Duration;

use engine::access::Permission;
use engine::values;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::node::Node;
use test_support::receiver::{Receiver, subscribe, until, until_read};
use test_support::waiting::{read_until, wait_until};
use test_support::{App, Org, new_id, on_both, on_both_with, reservation};

/// A number of rows that is larger than one batch of the sweep.
const MANY: usize = 1_200;
const HOUR: Duration = Duration::from_secs(3_600);
/// The time for which the log of a subscription keeps an ended delivery: a week.
const RETENTION: Duration = Duration::from_secs(168 * 3_600);
/// One day. The sweep deletes an ended delivery when it is older than [`RETENTION`]. It deletes a
/// pending delivery one day later than an ended one.
const DAY: Duration = Duration::from_secs(24 * 3_600);

store::statements! {
    /// Inserts a delivery into the log of a subscription.
    LOG_DELIVERY = "insert into webhook_delivery
        (organization_id, id, subscription_id, status, next_attempt_at, created_at, doc)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    /// Counts the deliveries of an organization.
    DELIVERIES = "select count(*) from webhook_delivery where organization_id = ?1";
    /// Counts the subscriptions of an organization, including deleted ones.
    SUBSCRIPTIONS = "select count(*) from webhook_subscription where organization_id = ?1";
    /// Inserts the copy `?3` of the subscription `?2`. The copy is disabled since `?4`, as after 50
    /// consecutive failures.
    DISABLED_COPY = "insert into webhook_subscription
        (organization_id, id, credential, event, target_url, consecutive_failures,
            disabled_at, disabled_reason, created_at, doc)
        select organization_id, ?3, credential, event, target_url, 50, ?4, 'failures', created_at,
        doc
        from webhook_subscription where organization_id = ?1 and id = ?2";
    /// Makes SQLite refuse to delete a subscription that still has deliveries in its log. That
    /// deletion would delete the whole log at once, which could take very long.
    LOG_GOES_FIRST_ON_SQLITE = "create trigger log_goes_first before delete on webhook_subscription
        when exists (select 1 from webhook_delivery where subscription_id = old.id)
        begin select raise(abort, 'its log goes first'); end";
    /// Creates the function that the trigger [`LOG_GOES_FIRST_ON_POSTGRES`] runs.
    REFUSE_ON_POSTGRES = "create function log_goes_first() returns trigger language plpgsql as \
        $$ begin
            if exists (select 1 from webhook_delivery
            where subscription_id = old.id) then raise 'its log goes first'; end if;
            return old;
        end $$";
    /// Makes PostgreSQL refuse to delete a subscription that still has deliveries in its log.
    LOG_GOES_FIRST_ON_POSTGRES = "create trigger log_goes_first before delete
        on webhook_subscription
        for each row execute function log_goes_first()";
}

/// Time limit for writing many rows one by one.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

fn id_of(subscription: &Value) -> Uuid {
    subscription["id"].as_str().unwrap().parse().unwrap()
}

/// Inserts deliveries that have ended into the log of a subscription.
async fn fill(org: &Org<'_>, subscription: &Value, count: usize, status: &'static str) {
    fill_due(org, subscription, count, status, None).await;
}

/// Inserts deliveries into the log of a subscription. They become due after the duration `due`.
/// Without `due`, they have no due time.
async fn fill_due(
    org: &Org<'_>,
    subscription: &Value,
    count: usize,
    status: &'static str,
    due: Option<Duration>,
) {
    let (organization, subscription, service) =
        (org.id, id_of(subscription), org.app.server.service.clone());
    let now = org.app.clock.now();
    let doc = json!({
        "event": "reservation.created",
        "kind": "reservation",
        "recordId": new_id(),
        "occurredAt": "2026-11-21T09:30:00.000Z",
        "attempts": [],
    });
    let shared = service.clone();
    let write = service.store.write_within(WAIT_LIMIT, move |tx| {
        for _ in 0..count {
            let due = due.map(|due| now.checked_add(due).unwrap());
            let doc = store::Value::json(&doc)?;
            tx.execute(
                &LOG_DELIVERY,
                &values![
                    organization,
                    shared.app_state.ids.uuid(now),
                    subscription,
                    status,
                    due,
                    now,
                    doc
                ],
            )?;
        }
        Ok::<_, store::Error>(())
    });
    write.await.unwrap();
}

/// Makes the database refuse the deletion of a subscription that still has deliveries in its log.
async fn require_log_deletion_first(app: &App) {
    let store = &app.server.service.store;
    let is_sqlite = store.is_only_process();
    let write = store.write(move |tx| {
        let statements: &[_] = if is_sqlite {
            &[&LOG_GOES_FIRST_ON_SQLITE]
        } else {
            &[&REFUSE_ON_POSTGRES, &LOG_GOES_FIRST_ON_POSTGRES]
        };
        statements
            .iter()
            .try_for_each(|statement| tx.execute(statement, &[]).map(drop))
    });
    write.await.unwrap();
}

/// Returns the numbers of subscriptions and deliveries that an organization has in the database.
async fn rows(org: &Org<'_>) -> (i64, i64) {
    let id = org.id;
    let count = move |tx: &mut store::Transaction<'_>| {
        let mut count = |statement| tx.row(statement, &values![id])?.unwrap().get(0);
        Ok::<(i64, i64), store::Error>((count(&SUBSCRIPTIONS)?, count(&DELIVERIES)?))
    };
    org.app.server.service.store.read(count).await.unwrap()
}

/// Waits until the organization has the `expected` numbers of subscriptions and deliveries. The
/// test does not run the sweep of every minute. So only the removal that the deletion of a
/// subscription starts can change these numbers.
async fn until_rows(org: &Org<'_>, expected: (i64, i64)) {
    read_until(async || rows(org).await, |rows| *rows == expected).await;
}

on_both_with!(
    a_deleted_subscription_disappears_at_once_and_its_log_later,
    Receiver
);
async fn a_deleted_subscription_disappears_at_once_and_its_log_later(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let kept = subscribe(&api, "task.created", &receiver.url).await;
    fill(&org, &kept, 3, "delivered").await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    fill(&org, &subscription, MANY, "delivered").await;
    fill_due(&org, &subscription, 20, "pending", Some(HOUR)).await;
    let path = format!("/webhook-subscriptions/{}", id_of(&subscription));
    let delivery = api.get(&format!("{path}/deliveries?limit=1")).await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    require_log_deletion_first(&app).await;
    let by_id = format!("/webhook-subscriptions?id={}", id_of(&subscription));
    assert_eq!(
        api.send(Method::DELETE, &by_id, None).await.data(),
        json!({ "deleted": 1 })
    );

    // No caller sees the deleted subscription, although some of its rows remain.
    assert_eq!(
        api.get("/webhook-subscriptions")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    api.get(&format!("{path}/deliveries")).await.error(404);
    for rest in [
        "/ping",
        "/rotate-secret",
        &format!("/deliveries/{delivery}/redeliver"),
    ] {
        api.post(&format!("{path}{rest}"), json!({}))
            .await
            .error(404);
    }
    api.post(
        &format!("{path}/redeliver-failed"),
        json!({ "since": "2026-11-21T08:00:00Z" }),
    )
    .await
    .error(404);
    api.send(Method::DELETE, &by_id, None).await.error(404);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    app.clock.advance(2 * HOUR);
    app.server.dependencies.due.notify_one();
    assert!(receiver.is_quiet().await);
    until_rows(&org, (1, 3)).await;
    assert_eq!(
        api.get(&format!(
            "/webhook-subscriptions/{}/deliveries",
            id_of(&kept)
        ))
        .await
        .data()
        .as_array()
        .unwrap()
        .len(),
        3
    );
}

on_both_with!(a_410_deletes_the_subscription_and_its_long_log, Receiver);
async fn a_410_deletes_the_subscription_and_its_long_log(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "reservation.created", &receiver.url).await;
    fill(&org, &subscription, MANY, "failed").await;
    require_log_deletion_first(&app).await;
    receiver.answer(&[410]);
    let flat = org.property(None, &[]).await;
    org.reservation(Some(flat)).await;
    receiver.next().await;
    until(&api, |listed| listed == &json!([])).await;
    until_rows(&org, (0, 0)).await;
}

on_both_with!(
    a_hundred_subscriptions_are_deleted_by_a_single_request,
    Receiver
);
async fn a_hundred_subscriptions_are_deleted_by_a_single_request(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    for _ in 0..100 {
        let subscription = subscribe(&api, "task.created", &receiver.url).await;
        fill(&org, &subscription, 12, "delivered").await;
    }
    api.post(
        "/webhook-subscriptions",
        json!({ "event": "task.created", "targetUrl": receiver.url }),
    )
    .await
    .error(409);
    require_log_deletion_first(&app).await;
    let by_url = format!("/webhook-subscriptions?target_url={}", receiver.url);
    assert_eq!(
        api.send(Method::DELETE, &by_url, None).await.data(),
        json!({ "deleted": 100 })
    );
    api.send(Method::DELETE, &by_url, None).await.error(404);
    assert_eq!(api.get("/webhook-subscriptions").await.data(), json!([]));
    // Deleted subscriptions do not count towards the limit of 100 subscriptions.
    subscribe(&api, "task.created", &receiver.url).await;
    until_rows(&org, (1, 0)).await;
}

on_both_with!(
    undelivered_rows_are_swept_a_day_after_ended_deliveries,
    Receiver
);
async fn undelivered_rows_are_swept_a_day_after_ended_deliveries(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "task.created", &receiver.url).await;
    fill_due(&org, &subscription, MANY, "pending", Some(2 * RETENTION)).await;
    fill(&org, &subscription, MANY, "delivered").await;
    app.clock.advance(RETENTION + Duration::from_millis(1));
    app.server.sweep_once().await;
    assert_eq!(rows(&org).await, (1, i64::try_from(MANY).unwrap()));
    app.clock.advance(DAY);
    // The deliveries are due, so the dispatcher may lock some of them. The sweep skips locked
    // rows and deletes them in a later run.
    for _ in 0..20 {
        app.server.sweep_once().await;
        if rows(&org).await == (1, 0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the sweeps left rows behind: {:?}", rows(&org).await);
}

on_both_with!(the_log_keeps_at_most_100_pings, Receiver);
async fn the_log_keeps_at_most_100_pings(app: App, receiver: Receiver) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "task.created", &receiver.url).await;
    fill(&org, &subscription, 5, "delivered").await;
    let path = format!("/webhook-subscriptions/{}", id_of(&subscription));
    for _ in 0..104 {
        api.post(&format!("{path}/ping"), json!({})).await.data();
    }
    // Each new ping deletes surplus pings. A surplus ping that the dispatcher has locked is
    // skipped, and deleted when the next ping is added. So the test waits until no ping is in
    // delivery, and then adds one more.
    let is_over = |log: &Value| {
        log.as_array()
            .unwrap()
            .iter()
            .all(|row| row["status"] == "delivered")
    };
    until_read(&api, &format!("{path}/deliveries?limit=100"), is_over).await;
    let last = api.post(&format!("{path}/ping"), json!({})).await.data();
    let page = api.get(&format!("{path}/deliveries?limit=1")).await;
    assert_eq!(page.data()[0]["id"], last["id"]);
    assert_eq!(
        page.body["meta"]["pagination"]["total"], 105,
        "a hundred pings, and five events"
    );
}

on_both_with!(
    webhook_rows_of_a_member_stay_within_each_organization,
    Receiver
);
async fn webhook_rows_of_a_member_stay_within_each_organization(app: App, receiver: Receiver) {
    let (here, there) = (app.org().await, app.org().await);
    let member = new_id();
    for org in [&here, &there] {
        org.member(member, None, &[Permission::ViewTasks], true)
            .await;
    }
    let token = async |org: &Org<'_>| {
        let body = json!({
            "memberId": member,
            "oauthAppId": here.oauth_app,
            "permissions": ["view_tasks"],
        });
        let token = app
            .platform()
            .ok(Method::POST, &org.path("/access-tokens"), Some(body))
            .await;
        app.api(token["token"].as_str().unwrap())
    };
    let first = token(&here).await;
    let mine = subscribe(&first, "task.created", &receiver.url).await;
    for _ in 1..100 {
        subscribe(&first, "task.created", "https://127.0.0.1:9/").await;
    }
    fill(&here, &mine, 3, "failed").await;
    let second = token(&there).await;
    first.get("/webhook-subscriptions").await.error(401);

    // The member also has 100 subscriptions in the first organization. Callers in the second
    // organization can neither see nor change them, and the limit of the second organization does
    // not include them.
    assert_eq!(second.get("/webhook-subscriptions").await.data(), json!([]));
    let path = format!("/webhook-subscriptions/{}", id_of(&mine));
    second.get(&format!("{path}/deliveries")).await.error(404);
    for rest in ["/ping", "/rotate-secret"] {
        second
            .post(&format!("{path}{rest}"), json!({}))
            .await
            .error(404);
    }
    second
        .post(
            &format!("{path}/redeliver-failed"),
            json!({ "since": "2026-11-21T08:00:00Z" }),
        )
        .await
        .error(404);
    let theirs = subscribe(&second, "task.created", &receiver.url).await;
    second
        .send(
            Method::DELETE,
            &format!("/webhook-subscriptions?id={}", id_of(&mine)),
            None,
        )
        .await
        .error(404);
    let by_url = format!("/webhook-subscriptions?target_url={}", receiver.url);
    assert_eq!(
        second.send(Method::DELETE, &by_url, None).await.data(),
        json!({ "deleted": 1 })
    );
    until_rows(&there, (0, 0)).await;
    assert_eq!(rows(&here).await, (100, 3));
    assert_ne!(theirs["id"], mine["id"]);

    // The changes that the test makes in the first organization end the subscriptions there. The
    // subscriptions of the second organization remain.
    let kept = subscribe(&second, "task.created", &receiver.url).await;
    let off = json!({
        "name": "M",
        "email": "m@example.com",
        "permissions": ["view_tasks"],
        "propertyIds": null,
        "isActive": false,
        "isTwoFactorEnrolled": true,
    });
    here.put(&format!("/members/{member}"), off).await;
    let disconnected = app
        .platform()
        .send(
            Method::DELETE,
            &here.path(&format!("/connections/{}/{member}", here.oauth_app)),
            None,
        )
        .await;
    assert_eq!(
        disconnected.status, 404,
        "it is connected in the second only"
    );
    app.server.sweep_once().await;
    let listed = second.get("/webhook-subscriptions").await.data();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["disabledAt"]),
        (&kept["id"], &Value::Null)
    );
    let flat = there.property(None, &[]).await;
    there
        .record(
            "task",
            json!({ "propertyId": flat, "title": "T", "status": "open" }),
        )
        .await;
    receiver.next().await;
    assert_eq!(
        rows(&here).await,
        (100, 3),
        "and an event of the second is none of the first"
    );
}

on_both!(
    deletions_marked_before_a_restart_are_swept_after_the_restart,
    "--webhook-allow=127.0.0.0/8"
);
async fn deletions_marked_before_a_restart_are_swept_after_the_restart(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let subscription = subscribe(&api, "task.created", "https://127.0.0.1:9/").await;
    fill(&org, &subscription, MANY, "delivered").await;
    mark(&org, &subscription).await;
    assert_eq!(api.get("/webhook-subscriptions").await.data(), json!([]));
    assert_eq!(rows(&org).await.0, 1, "nobody was told");
    app.server.sweep_once().await;
    assert_eq!(rows(&org).await, (0, 0));
}

on_both!(
    the_latest_1000_disabled_subscriptions_are_kept,
    "--webhook-allow=127.0.0.0/8"
);
async fn the_latest_1000_disabled_subscriptions_are_kept(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let first = subscribe(&api, "task.created", "https://127.0.0.1:9/").await;
    let (organization, subscription, service) = (org.id, id_of(&first), app.server.service.clone());
    let shared = service.clone();
    let write = service.store.write_within(WAIT_LIMIT, move |tx| {
        for number in 0..1_003 {
            let now = shared.clock.now();
            let disabled = now.checked_add(Duration::from_secs(number)).unwrap();
            tx.execute(
                &DISABLED_COPY,
                &values![
                    organization,
                    subscription,
                    shared.app_state.ids.uuid(now),
                    disabled
                ],
            )?;
        }
        Ok::<_, store::Error>(())
    });
    write.await.unwrap();
    assert_eq!(
        api.get("/webhook-subscriptions")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        1_004
    );
    subscribe(&api, "task.created", "https://127.0.0.1:9/").await;
    let listed = api.get("/webhook-subscriptions").await.data();
    let mut disabled: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["disabledAt"].as_str())
        .collect();
    disabled.sort_unstable();
    assert_eq!(
        (disabled.len(), disabled[0]),
        (1_000, "2026-11-21T09:30:03.000Z")
    );
    until_rows(&org, (1_002, 0)).await;
}

/// Marks a subscription as deleted and does not wake the sweep. The database then looks as if the
/// process had been killed right after the request.
async fn mark(org: &Org<'_>, subscription: &Value) {
    static MARK: store::Statement = store::Statement::new(
        "update webhook_subscription set deleted_at = created_at, \
            disabled_at = created_at where organization_id = ?1 and id = ?2",
    );
    let (organization, subscription) = (org.id, id_of(subscription));
    org.app
        .server
        .service
        .store
        .write(move |tx| tx.execute(&MARK, &values![organization, subscription]))
        .await
        .unwrap();
}

/// For a failed delivery, the service logs a line with the organization, subscription, delivery and
/// host. The line contains no secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_delivery_is_logged_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("test.db").display());
    let node = Node::start(
        &url,
        &[
            "--webhook-allow",
            "127.0.0.0/8",
            "--webhook-retry-base",
            "1ms",
        ],
    );
    let (platform, organization) = (node.platform(), new_id());
    let base = format!("/organizations/{organization}");
    platform
        .ok(Method::PUT, &base, Some(json!({ "name": "O" })))
        .await;
    let body = json!({ "name": "k", "permissions": ["view_reservations"] });
    let key = platform
        .ok(Method::POST, &format!("{base}/api-keys"), Some(body))
        .await;
    let api = node.api(key["token"].as_str().unwrap());
    let target = "https://127.0.0.1:9/a-path-of-theirs?a-query-of-theirs";
    let subscription = subscribe(&api, "reservation.created", target).await;
    let flat = new_id();
    let records = json!([
        {
            "kind": "property",
            "id": flat,
            "data": { "name": "Flat", "timezone": "Europe/Madrid", "country": "ES" },
        },
        { "kind": "reservation", "id": new_id(), "data": reservation_in_years(flat) },
    ]);
    platform
        .ok(
            Method::POST,
            &format!("{base}/sync"),
            Some(json!({ "records": records })),
        )
        .await;
    until_read(&api, "/webhook-subscriptions", |listed| {
        listed[0]["consecutiveFailures"] == 1
    })
    .await;
    let mut lines = Vec::new();
    wait_until("the failed delivery is logged", async || {
        lines = node.lines("a webhook delivery failed");
        !lines.is_empty()
    })
    .await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in [
        &organization.to_string(),
        subscription["id"].as_str().unwrap(),
        "127.0.0.1",
        "\"attempts\":5",
    ] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    for secret in ["of-theirs", "whsec", "sk_"] {
        assert_eq!(node.logged(secret), 0, "{secret}");
    }
}

/// Returns a reservation in the distant future, because this server uses the machine's clock.
fn reservation_in_years(flat: Uuid) -> Value {
    let mut data = reservation(Some(flat));
    (data["checkIn"], data["checkOut"]) = ("2099-12-11".into(), "2099-12-15".into());
    data
}
