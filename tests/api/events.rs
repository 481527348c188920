//! Tests of events: which changes of records fire an event, delayed events of devices, workflow
//! steps, and photos of reviews (rules: sync#events).

use std::cell::Cell;
use std::time::Duration;

use engine::access::Permission;
use features::events::{Event, Timekeeper};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use store::{Json, Statement, Store};
use strum::VariantArray;
use uuid::Uuid;
use vestibule::server::Server;

use test_support::receiver::Receiver;
use test_support::waiting::read_until;
use test_support::{
    Api, ApiResponse, App, Org, new_id, on_both, on_both_with, reservation, serve_flags,
};

/// Value of `--device-reconnect-delay`: an offline device that comes back must be online for this
/// time before the event `device.reconnected` fires.
const DELAY: Duration = Duration::from_secs(600);
const SECOND: Duration = Duration::from_secs(1);
/// Time for which the address of a photo is valid.
const LIFETIME: Duration = Duration::from_secs(900);
/// An HTTPS address on which nothing listens, so deliveries stay in the outbox. The tests read them
/// there.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/";
const NO_EVENT: &[&str] = &[];
const NOTHING: [(String, Uuid); 0] = [];

static OUTBOX: Statement = Statement::new(
    "select doc from webhook_delivery where organization_id = ?1 order by created_at, id",
);

/// Returns, for each delivery in the outbox, the name of its event and the id of its record, in the
/// order in which the events fired.
async fn outbox(store: &Store, organization: Uuid) -> Vec<(String, Uuid)> {
    let read = store.read(move |tx| {
        let rows = tx.rows(&OUTBOX, &[organization.into()])?;
        rows.iter()
            .map(|row| row.get(0).map(|Json(doc)| doc))
            .collect::<store::Result<Vec<Value>>>()
    });
    let reported = |doc: &Value| {
        (
            doc["event"].as_str().unwrap().to_owned(),
            doc["recordId"].as_str().unwrap().parse().unwrap(),
        )
    };
    read.await.unwrap().iter().map(reported).collect()
}

/// An organization with a property, and with subscriptions to all events except those of workflows.
/// `read` is the number of deliveries that the test has read.
struct EventHouse<'a> {
    app: &'a App,
    org: Org<'a>,
    flat: Uuid,
    keeper: Timekeeper,
    read: Cell<usize>,
}

impl<'a> EventHouse<'a> {
    async fn build(app: &'a App) -> Self {
        let org = app.org().await;
        let (flat, key) = (org.property(None, &[]).await, org.key().await);
        for event in Event::VARIANTS
            .iter()
            .filter(|event| **event != Event::WorkflowStep)
        {
            key.post(
                "/webhook-subscriptions",
                json!({ "event": event.as_ref(), "targetUrl": CLOSED_ADDRESS }),
            )
            .await
            .data();
        }
        Self {
            app,
            org,
            flat,
            keeper: Timekeeper::new(app.server.service.clone()),
            read: Cell::default(),
        }
    }

    /// Returns the events that fired since the last call, each with its record.
    async fn fired_events(&self) -> Vec<(String, Uuid)> {
        let mut all = outbox(&self.app.server.service.store, self.org.id).await;
        let fresh = all.split_off(self.read.get());
        self.read.set(all.len() + fresh.len());
        fresh
    }

    /// Syncs a record. Returns the names of the events that the sync fired.
    async fn put(&self, kind: &str, id: Uuid, data: Value) -> Vec<String> {
        let answer = self
            .org
            .sync(json!([{ "kind": kind, "id": id, "data": data }]))
            .await
            .data();
        let reported = self.fired_events().await;
        assert_eq!(answer["events"], reported.len());
        assert!(
            reported.iter().all(|(_, record)| *record == id),
            "{reported:?}"
        );
        reported.into_iter().map(|(event, _)| event).collect()
    }

    /// Syncs records with `isInitialSync`, as history. Such a sync fires no event.
    async fn import(&self, records: Value) {
        let body = json!({ "isInitialSync": true, "records": records });
        let response = self
            .app
            .platform()
            .post(&self.org.path("/sync"), body)
            .await
            .data();
        assert_eq!(response["events"], 0);
        assert_eq!(self.fired_events().await, NOTHING);
    }

    fn device(&self, is_online: bool) -> Value {
        json!({
            "propertyId": self.flat,
            "name": "Front door",
            "deviceType": "lock",
            "vendor": "Acme",
            "isOnline": is_online,
        })
    }

    /// Creates a device that went offline and has just come back online.
    async fn device_back(&self) -> Uuid {
        let id = new_id();
        for (is_online, reported) in [(true, NO_EVENT), (false, &["device.offline"]), (true, &[])] {
            assert_eq!(
                self.put("device", id, self.device(is_online)).await,
                reported
            );
        }
        id
    }

    /// Advances the clock by `time`. Returns the events that fired meanwhile.
    async fn after(&self, time: Duration) -> Vec<(String, Uuid)> {
        self.app.clock.advance(time);
        self.keeper.run_once().await;
        self.fired_events().await
    }
}

/// Returns a copy of a record's data in which one field has another value.
fn with(data: &Value, field: &str, value: impl Into<Value>) -> Value {
    let mut data = data.clone();
    data[field] = value.into();
    data
}

fn reconnected(id: Uuid) -> (String, Uuid) {
    ("device.reconnected".into(), id)
}

on_both!(
    reservation_events_follow_the_event_table,
    "--webhook-allow=127.0.0.0/8"
);
async fn reservation_events_follow_the_event_table(app: App) {
    let house = EventHouse::build(&app).await;
    let elsewhere = house.org.property(None, &[]).await;
    let confirmed = reservation(Some(house.flat));
    let [tentative, cancelled] =
        ["tentative", "cancelled"].map(|status| with(&confirmed, "status", status));
    let later = with(&confirmed, "checkOut", "2026-12-16");
    let over = with(
        &with(&confirmed, "checkIn", "2026-11-19"),
        "checkOut",
        "2026-11-20",
    );
    let id = new_id();
    for (what, data, reported) in [
        ("arrives tentative", &tentative, NO_EVENT),
        ("becomes confirmed", &confirmed, &["reservation.created"]),
        ("is sent again", &confirmed, &[]),
        (
            "moves to another property",
            &with(&confirmed, "propertyId", elsewhere.to_string()),
            &[],
        ),
        (
            "loses its property",
            &with(&confirmed, "propertyId", Value::Null),
            &[],
        ),
        ("gets one again", &confirmed, &["reservation.created"]),
        ("changes otherwise", &with(&confirmed, "adults", 3), &[]),
        ("is moved", &later, &["reservation.dates_changed"]),
        (
            "is cancelled",
            &with(&later, "status", "cancelled"),
            &["reservation.cancelled"],
        ),
        ("is moved, cancelled", &cancelled, &[]),
        ("is confirmed again", &confirmed, &["reservation.created"]),
        ("is cancelled again", &cancelled, &["reservation.cancelled"]),
        (
            "is tentative, with other dates",
            &with(&over, "status", "tentative"),
            &["reservation.dates_changed"],
        ),
        ("is confirmed too late", &over, &[]),
        (
            "is moved to what is to come",
            &confirmed,
            &["reservation.dates_changed"],
        ),
        ("is tentative again", &tentative, &[]),
        (
            "is moved while tentative",
            &with(&tentative, "checkOut", "2026-12-17"),
            &["reservation.dates_changed"],
        ),
        (
            "is confirmed with other dates",
            &later,
            &["reservation.created", "reservation.dates_changed"],
        ),
    ] {
        assert_eq!(
            house.put("reservation", id, data.clone()).await,
            reported,
            "{what}"
        );
    }
    for (what, data, reported) in [
        ("confirmed", &confirmed, &["reservation.created"][..]),
        ("cancelled", &cancelled, &[]),
        (
            "without a property",
            &with(&confirmed, "propertyId", Value::Null),
            &[],
        ),
        ("over", &over, &[]),
    ] {
        assert_eq!(
            house.put("reservation", new_id(), data.clone()).await,
            reported,
            "arrives {what}"
        );
    }
    house.org.delete_record("reservation", id).await;
    assert_eq!(house.fired_events().await, NOTHING);
    assert_eq!(
        house.put("reservation", id, confirmed).await,
        ["reservation.created"],
        "to us it is a new one"
    );
}

on_both!(
    deleting_a_property_removes_it_from_its_reservations,
    "--webhook-allow=127.0.0.0/8"
);
async fn deleting_a_property_removes_it_from_its_reservations(app: App) {
    let house = EventHouse::build(&app).await;
    let flat = house.org.property(None, &[]).await;
    let stay = new_id();
    assert_eq!(
        house
            .put("reservation", stay, reservation(Some(flat)))
            .await,
        ["reservation.created"]
    );
    house.org.delete_record("property", flat).await;
    assert_eq!(house.fired_events().await, NOTHING);
    assert_eq!(
        house
            .put("reservation", stay, reservation(Some(house.flat)))
            .await,
        ["reservation.created"]
    );
}

on_both!(
    task_events_follow_the_event_table,
    "--webhook-allow=127.0.0.0/8"
);
async fn task_events_follow_the_event_table(app: App) {
    let house = EventHouse::build(&app).await;
    let (ada, ben) = (new_id().to_string(), new_id().to_string());
    let open = json!({ "propertyId": house.flat, "title": "Linen", "status": "open" });
    let of = |status: &str, assignee: Option<&String>| {
        with(
            &with(&open, "status", status),
            "assigneeId",
            assignee.cloned(),
        )
    };
    let id = new_id();
    for (data, reported) in [
        (open.clone(), &["task.created"][..]),
        (of("open", Some(&ada)), &["task.assigned"]),
        (of("open", Some(&ben)), &["task.assigned"]),
        (of("open", None), &[]),
        (
            of("in_progress", Some(&ada)),
            &["task.assigned", "task.started"],
        ),
        (of("completed", Some(&ada)), &["task.completed"]),
        (of("open", Some(&ada)), &[]),
        (of("in_progress", Some(&ada)), &["task.started"]),
        (of("cancelled", Some(&ada)), &["task.cancelled"]),
        (with(&of("cancelled", Some(&ada)), "title", "Towels"), &[]),
    ] {
        assert_eq!(
            house.put("task", id, data.clone()).await,
            reported,
            "{data}"
        );
    }
    assert_eq!(
        house
            .put("task", new_id(), of("completed", Some(&ada)))
            .await,
        ["task.created", "task.assigned"]
    );
}

on_both!(
    imported_history_fires_no_events,
    "--webhook-allow=127.0.0.0/8"
);
async fn imported_history_fires_no_events(app: App) {
    let house = EventHouse::build(&app).await;
    let [stay, task, review, device, flow, run] = [(); 6].map(|()| new_id());
    let tentative = with(&reservation(Some(house.flat)), "status", "tentative");
    let written = json!({
        "propertyId": house.flat,
        "source": "pms",
        "submittedAt": "2026-11-02T10:00:00Z",
        "publicText": "Nice",
    });
    house
        .import(json!([
            { "kind": "reservation", "id": stay, "data": tentative },
            { "kind": "reservation", "id": new_id(), "data": reservation(Some(house.flat)) },
            {
                "kind": "task",
                "id": task,
                "data": {
                    "propertyId": house.flat,
                    "title": "T",
                    "status": "open",
                    "assigneeId": new_id(),
                },
            },
            {
                "kind": "task",
                "id": task,
                "data": { "propertyId": house.flat, "title": "T", "status": "completed" },
            },
            { "kind": "review", "id": review, "data": written },
            { "kind": "device", "id": device, "data": house.device(true) },
            { "kind": "device", "id": device, "data": house.device(false) },
            { "kind": "workflow", "id": flow, "data": { "name": "W" } },
            {
                "kind": "workflow_step_run",
                "id": run,
                "data": { "workflowId": flow, "nodeId": "a", "occurredAt": "2026-11-02T10:00:00Z" },
            },
        ]))
        .await;
    assert_eq!(
        house
            .put("review", review, with(&written, "publicText", "Very nice"))
            .await,
        NO_EVENT
    );
    assert_eq!(
        house
            .put("reservation", stay, reservation(Some(house.flat)))
            .await,
        ["reservation.created"]
    );
    assert_eq!(
        house.put("review", new_id(), written.clone()).await,
        ["review.submitted"]
    );
    house
        .import(json!([{ "kind": "device", "id": device, "data": house.device(true) }]))
        .await;
    assert_eq!(
        house.after(DELAY).await,
        NOTHING,
        "what history brought back is not told"
    );
}

on_both!(
    device_events_fire_when_offline_and_after_a_stable_return,
    "--webhook-allow=127.0.0.0/8"
);
async fn device_events_fire_when_offline_and_after_a_stable_return(app: App) {
    let house = EventHouse::build(&app).await;
    let id = house.device_back().await;
    assert_eq!(
        house.after(DELAY.checked_sub(2 * SECOND).unwrap()).await,
        NOTHING
    );
    // Changes of a device's name and property do not restart the delay before `device.reconnected`.
    // When the delay ends, the event goes to the subscriptions without a filter and to those for
    // the device's new property.
    let moved = house.org.property(None, &[]).await;
    let renamed = with(
        &with(&house.device(true), "name", "Back door"),
        "propertyId",
        moved.to_string(),
    );
    let api = house.org.key().await;
    let there = json!({
        "event": "device.reconnected",
        "targetUrl": CLOSED_ADDRESS,
        "filters": { "propertyIds": [moved] },
    });
    api.post("/webhook-subscriptions", there).await.data();
    assert_eq!(house.put("device", id, renamed.clone()).await, NO_EVENT);
    assert_eq!(house.after(SECOND).await, NOTHING);
    assert_eq!(
        house.after(SECOND).await,
        [reconnected(id), reconnected(id)],
        "once to each"
    );
    assert_eq!(house.after(DELAY).await, NOTHING);
    assert_eq!(
        house
            .put("device", id, with(&renamed, "isOnline", false))
            .await,
        ["device.offline"]
    );
    assert_eq!(
        house
            .put(
                "device",
                id,
                with(&with(&renamed, "isOnline", false), "name", "Door")
            )
            .await,
        NO_EVENT
    );
}

on_both!(
    going_offline_archiving_or_deleting_ends_a_reconnect_timer,
    "--webhook-allow=127.0.0.0/8"
);
async fn going_offline_archiving_or_deleting_ends_a_reconnect_timer(app: App) {
    let house = EventHouse::build(&app).await;
    let (offline, archived) = (
        house.device(false),
        with(&house.device(true), "isArchived", true),
    );
    let [gone, put_away, deleted, long_gone] = [
        house.device_back().await,
        house.device_back().await,
        house.device_back().await,
        house.device_back().await,
    ];
    assert_eq!(
        house.put("device", gone, offline.clone()).await,
        ["device.offline"]
    );
    assert_eq!(house.put("device", put_away, archived).await, NO_EVENT);
    house.org.delete_record("device", deleted).await;
    house
        .import(json!([{ "kind": "device", "id": long_gone, "data": offline }]))
        .await;
    assert_eq!(house.after(DELAY).await, NOTHING);
    // The service treats a device that returns from the archive, or after its deletion, like a new
    // device: its first state fires no event. If a device goes offline again before its event has
    // fired, the next return of the device starts the delay again.
    for id in [gone, put_away, deleted] {
        assert_eq!(house.put("device", id, house.device(true)).await, NO_EVENT);
    }
    assert_eq!(
        house.after(DELAY.checked_sub(SECOND).unwrap()).await,
        NOTHING
    );
    assert_eq!(house.after(SECOND).await, [reconnected(gone)]);
}

on_both!(
    the_first_state_of_a_device_fires_no_event,
    "--webhook-allow=127.0.0.0/8"
);
async fn the_first_state_of_a_device_fires_no_event(app: App) {
    let house = EventHouse::build(&app).await;
    let [online, offline, archived] = [(); 3].map(|()| new_id());
    let put_away = |is_online| with(&house.device(is_online), "isArchived", true);
    assert_eq!(
        house.put("device", online, house.device(true)).await,
        NO_EVENT
    );
    assert_eq!(
        house.put("device", offline, house.device(false)).await,
        NO_EVENT
    );
    assert_eq!(
        house.put("device", archived, put_away(true)).await,
        NO_EVENT
    );
    assert_eq!(
        house.put("device", archived, put_away(false)).await,
        NO_EVENT
    );
    assert_eq!(
        house.put("device", archived, put_away(true)).await,
        NO_EVENT
    );
    assert_eq!(house.after(DELAY).await, NOTHING);
    // The device was offline when it was first synced. So its return fires `device.reconnected`,
    // once it has stayed online for the full delay.
    assert_eq!(
        house.put("device", offline, house.device(true)).await,
        NO_EVENT
    );
    assert_eq!(house.after(DELAY).await, [reconnected(offline)]);
}

on_both!(
    a_device_with_reconnects_at_once_fires_without_a_delay,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_device_with_reconnects_at_once_fires_without_a_delay(app: App) {
    let house = EventHouse::build(&app).await;
    let id = new_id();
    for (is_online, reported) in [
        (true, ""),
        (false, "device.offline"),
        (true, "device.reconnected"),
        (false, "device.offline"),
    ] {
        let data = with(&house.device(is_online), "reconnectsAtOnce", true);
        assert_eq!(house.put("device", id, data).await.join(" "), reported);
    }
    assert_eq!(house.after(DELAY).await, NOTHING);
}

on_both!(
    a_timer_is_fired_by_a_single_node,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_timer_is_fired_by_a_single_node(app: App) {
    let house = EventHouse::build(&app).await;
    let mut back = Vec::new();
    for _ in 0..12 {
        back.push(house.device_back().await);
    }
    let node = app.second_node(&["--webhook-allow=127.0.0.0/8"]).await;
    app.clock.advance(DELAY);
    node.clock.advance(DELAY);
    let others = [
        Timekeeper::new(node.server.service.clone()),
        Timekeeper::new(node.server.service.clone()),
    ];
    tokio::join!(
        house.keeper.run_once(),
        others[0].run_once(),
        others[1].run_once()
    );
    let mut reported = house.fired_events().await;
    reported.sort();
    assert_eq!(
        reported,
        back.into_iter().map(reconnected).collect::<Vec<_>>()
    );
}

on_both!(a_timer_survives_a_restart, "--webhook-allow=127.0.0.0/8");
async fn a_timer_survives_a_restart(app: App) {
    let house = EventHouse::build(&app).await;
    let (organization, id) = (house.org.id, house.device_back().await);
    drop(house);
    app.server.stop().await;
    app.clock.advance(DELAY);
    let server = Server::start(
        serve_flags(&app.database_url, &["--webhook-allow=127.0.0.0/8"]),
        app.clock.clone(),
    )
    .await
    .unwrap();
    Timekeeper::new(server.service.clone()).run_once().await;
    let reported = outbox(&server.service.store, organization).await;
    assert_eq!(
        reported,
        [("device.offline".to_owned(), id), reconnected(id)]
    );
    server.stop().await;
}

on_both!(
    a_server_fires_due_timers_in_the_background,
    "--device-reconnect-delay=200ms"
);
async fn a_server_fires_due_timers_in_the_background(app: App) {
    let org = app.org().await;
    let (flat, key) = (org.property(None, &[]).await, org.key().await);
    key.post(
        "/webhook-subscriptions",
        json!({ "event": "device.reconnected", "targetUrl": "https://hooks.invalid/" }),
    )
    .await
    .data();
    let id = new_id();
    for is_online in [true, false, true] {
        let device = json!({
            "propertyId": flat,
            "name": "D",
            "deviceType": "hub",
            "vendor": "V",
            "isOnline": is_online,
        });
        org.put_record("device", id, device).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(
        outbox(&app.server.service.store, org.id).await,
        NOTHING,
        "by the clock of the test no time has passed"
    );
    app.clock.advance(Duration::from_millis(200));
    read_until(
        async || outbox(&app.server.service.store, org.id).await,
        |rows| *rows == [reconnected(id)],
    )
    .await;
}

/// The flag with the base address of the photos of reviews.
const FILES_URL: &str = "--files-url=https://files.example/photos/";

on_both_with!(
    workflow_step_events_reach_only_authorized_subscriptions,
    Receiver,
    FILES_URL
);
async fn workflow_step_events_reach_only_authorized_subscriptions(app: App, receiver: Receiver) {
    let org = app.org().await;
    let (mine, theirs) = (org.property(None, &[]).await, org.property(None, &[]).await);
    let node = |id: &str, label: &str| {
        json!({
            "id": id,
            "nodeType": "external_automation",
            "label": label,
        })
    };
    let welcome = json!({
        "name": "Welcome",
        "draftNodes": [node("a", "Draft"), node("b", "Bell")],
        "liveNodes": [node("a", "Call")],
    });
    let flow = org.record("workflow", welcome).await;
    let held: Vec<_> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|permission| *permission != Permission::ViewTasks)
        .collect();
    let member = new_id();
    org.member(member, Some(&[mine]), &held, true).await;
    let token = org.token_of(member, Permission::VARIANTS).await;
    let body = |filters: Value| {
        json!({
            "event": "workflow.step",
            "targetUrl": receiver.url,
            "filters": filters,
        })
    };
    let step = json!({ "workflowStep": format!("{flow}:a") });
    org.key()
        .await
        .post("/webhook-subscriptions", body(step.clone()))
        .await
        .error(403);
    assert_eq!(
        token
            .post("/webhook-subscriptions", body(json!({})))
            .await
            .issues(),
        ["filters.workflowStep"]
    );
    token
        .post(
            "/webhook-subscriptions",
            body(json!({ "workflowStep": format!("{flow}:c") })),
        )
        .await
        .error(404);
    let formless = token
        .post(
            "/webhook-subscriptions",
            body(json!({ "workflowStep": flow })),
        )
        .await;
    assert_eq!(formless.issues(), ["filters.workflowStep"]);
    token
        .post("/webhook-subscriptions", body(step))
        .await
        .data();

    let run = |node: &str, kind: &str, record: Value| {
        json!({
            "workflowId": flow,
            "nodeId": node,
            "occurredAt": "2026-11-02T10:00:00Z",
            "recordType": kind,
            "recordId": record,
        })
    };
    let bare =
        || json!({ "workflowId": flow, "nodeId": "a", "occurredAt": "2026-11-02T10:00:00Z" });
    let stay = org.reservation(Some(mine)).await;
    let id = new_id();
    let record = json!([
        { "kind": "workflow_step_run", "id": id, "data": run("a", "reservation", json!(stay)) },
    ]);
    assert_eq!(org.sync(record.clone()).await.data()["events"], 1);
    let delivery = receiver.next().await;
    let read = token.get(&format!("/reservations/{stay}")).await.data();
    let named = json!({ "id": flow, "name": "Welcome" });
    assert_eq!(
        delivery.body["data"],
        json!({
            "workflow": named,
            "step": { "id": "a", "label": "Call" },
            "record_type": "reservation",
            "data": read,
        })
    );
    assert_eq!(delivery.body["occurredAt"], "2026-11-02T10:00:00.000Z");
    assert_eq!(org.sync(record).await.data()["events"], 0);
    let edited = with(&run("a", "reservation", json!(stay)), "nodeId", "b");
    assert_eq!(
        org.sync(json!([{ "kind": "workflow_step_run", "id": id, "data": edited }]))
            .await
            .data()["events"],
        0,
        "once an id"
    );

    org.record("workflow_step_run", bare()).await;
    let without = json!({
        "workflow": named,
        "step": { "id": "a", "label": "Call" },
        "record_type": null,
        "data": null,
    });
    assert_eq!(receiver.next().await.body["data"], without);

    // No event is sent for any of these runs of workflow steps. The subscription cannot access the
    // first run's record, the second run's record does not exist, and the member may not read the
    // third run's record. The fourth run is of step `b`, which has no subscription.
    let task = org
        .record(
            "task",
            json!({ "propertyId": mine, "title": "T", "status": "open" }),
        )
        .await;
    let elsewhere = org.reservation(Some(theirs)).await;
    for data in [
        run("a", "reservation", json!(elsewhere)),
        run("a", "device", json!(new_id())),
        run("a", "task", json!(task)),
        run("b", "reservation", json!(stay)),
    ] {
        org.record("workflow_step_run", data).await;
    }
    assert!(receiver.is_quiet().await);
    org.put_record("workflow", flow, json!({ "name": "Goodbye" }))
        .await;
    org.record("workflow_step_run", bare()).await;
    let since = json!({
        "workflow": { "id": flow, "name": "Goodbye" },
        "step": { "id": "a", "label": "a" },
        "record_type": null,
        "data": null,
    });
    assert_eq!(
        receiver.next().await.body["data"],
        since,
        "a step that has gone is called by its id"
    );
    let last = org
        .sync(json!([
            { "kind": "workflow_step_run", "id": new_id(), "data": bare() },
            { "kind": "workflow", "id": flow, "isDeleted": true },
        ]))
        .await
        .data();
    assert_eq!(last["events"], 1);
    assert!(receiver.is_quiet().await);
    let listed = token.get("/webhook-subscriptions").await.data();
    assert_eq!(
        (&listed[0]["consecutiveFailures"], &listed[0]["disabledAt"]),
        (&json!(0), &Value::Null)
    );
}

on_both_with!(photo_addresses_expire, Receiver, FILES_URL);
async fn photo_addresses_expire(app: App, receiver: Receiver) {
    let org = app.org().await;
    let (flat, api) = (org.property(None, &[]).await, org.key().await);
    api.post(
        "/webhook-subscriptions",
        json!({ "event": "review.submitted", "targetUrl": receiver.url }),
    )
    .await
    .data();
    let written = json!({
        "propertyId": flat, "source": "pms", "submittedAt": "2026-11-02T10:00:00Z",
        "photoKeys": ["https://cdn.example/a.jpg", "2026/b.jpg", "../c.jpg"],
    });
    let review = org.record("review", written.clone()).await;
    let read = api.get(&format!("/reviews/{review}")).await.data();
    assert_eq!(
        receiver.next().await.body["data"],
        read,
        "data is what the read returns"
    );
    let urls = photo_urls(&api, review).await;
    assert!(
        urls.len() == 3
            && urls
                .iter()
                .all(|url| url.starts_with(&format!("{}/files/", app.base))),
        "{urls:?}"
    );

    let first = open(&urls[0]).await;
    assert_eq!(
        (first.status, first.header("location")),
        (302, Some("https://cdn.example/a.jpg"))
    );
    assert_eq!(
        (
            first.header("cache-control"),
            first.header("referrer-policy")
        ),
        (Some("no-store"), Some("no-referrer"))
    );
    assert_eq!(
        open(&urls[1]).await.header("location"),
        Some("https://files.example/photos/2026/b.jpg")
    );
    let nowhere = open(&urls[2]).await;
    let refusal = nowhere.error(404);
    assert_eq!(
        (
            nowhere.header("cache-control"),
            nowhere.header("referrer-policy")
        ),
        (Some("no-store"), Some("no-referrer"))
    );

    let (address, query) = urls[0].split_once('?').unwrap();
    let (expiry, signature) = query.split_once('&').unwrap();
    let second = urls[1].split_once('?').unwrap().0;
    let seconds: i64 = expiry.strip_prefix("expires=").unwrap().parse().unwrap();
    for tampered in [
        address.to_owned(),
        format!("{address}?{expiry}"),
        format!("{address}?{signature}"),
        format!("{address}?{expiry}&signature=AAAA"),
        format!("{address}?expires={}&{signature}", seconds + 1),
        format!("{second}?{query}"),
        format!("{}{query}", &urls[0][..address.len()]),
        urls[0].replace(&review.to_string(), &new_id().to_string()),
        urls[0].replace(&org.id.to_string(), &new_id().to_string()),
        urls[0].replace("/0?", "/9?"),
        urls[0].replace("/0?", "/%00?"),
        urls[0].replace("/0?", "/%ff?"),
        urls[0].replace("/0?", "/0/?"),
    ] {
        let mut found = open(&tampered).await.error(404);
        // All tampered URLs whose path matches a route get the same error as `refusal`. A tampered
        // URL whose path matches no route gets a 404 with another message, which this test accepts.
        if found["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("Route not found."))
        {
            found = refusal.clone();
        }
        assert_eq!(found, refusal, "{tampered}");
    }
    ApiResponse::of(app.http.post(&urls[0])).await.error(404);

    // Every node can check a photo's signature. The base URL is a flag of each node.
    let node = app.second_node(&[]).await;
    let there = |url: &str| url.replace(&app.base, &node.base);
    assert_eq!(open(&there(&urls[0])).await.status, 302);
    open(&there(&urls[1])).await.error(404);

    app.clock.advance(LIFETIME.checked_sub(SECOND).unwrap());
    assert_eq!(open(&urls[0]).await.status, 302);
    app.clock.advance(SECOND);
    assert_eq!(open(&urls[0]).await.error(404), refusal);
    let urls = photo_urls(&api, review).await;
    assert_eq!(open(&urls[0]).await.status, 302);
    org.put_record(
        "review",
        review,
        with(&written, "photoKeys", json!(["2026/b.jpg"])),
    )
    .await;
    assert_eq!(
        open(&urls[0]).await.error(404),
        refusal,
        "another photo has its place"
    );
    let urls = photo_urls(&api, review).await;
    assert_eq!((urls.len(), open(&urls[0]).await.status), (1, 302));
    org.delete_record("review", review).await;
    assert_eq!(open(&urls[0]).await.error(404), refusal);
    let bare = org
        .record("review", with(&written, "photoKeys", Value::Null))
        .await;
    assert!(photo_urls(&api, bare).await.is_empty());
}

async fn photo_urls(api: &Api, review: Uuid) -> Vec<String> {
    let read = api.get(&format!("/reviews/{review}")).await.data();
    read["photoUrls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|url| url.as_str().unwrap().to_owned())
        .collect()
}

/// Requests an address without following the redirect.
async fn open(url: &str) -> ApiResponse {
    let client = test_support::plain_client()
        .redirect(Policy::none())
        .build()
        .unwrap();
    ApiResponse::of(client.get(url)).await
}
