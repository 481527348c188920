//! Tests of documents and summaries that other versions of the service stored. A missing field gets
//! its default, and the service rewrites outdated summaries.

use futures_util::future::join_all;
use serde_json::{Value, json};
use store::{Json, Value as Sql};
use test_support::house::House;
use test_support::{Api, ApiResponse, App, new_id, on_both, serve_flags};
use uuid::Uuid;
use vestibule::server::offline_service;

use crate::erasure::furnish;

/// Stored documents, one for each table and kind of record. An entry contains the name of the table
/// (for a record, followed by a dot and the kind), and a document as release 0.1.0 wrote it. If
/// release 0.1.0 had no such document, the first release that had one wrote it.
const DOCUMENTS: [(&str, &str); 26] = [
    (
        "organization",
        include_str!("fixtures/0.1.0/organization.json"),
    ),
    ("api_key", include_str!("fixtures/0.1.0/api_key.json")),
    ("member", include_str!("fixtures/0.1.0/member.json")),
    (
        "access_token",
        include_str!("fixtures/0.1.0/access_token.json"),
    ),
    ("portal", include_str!("fixtures/0.1.0/portal.json")),
    (
        "portal_branding",
        include_str!("fixtures/0.1.0/portal_branding.json"),
    ),
    (
        "precheck_step",
        include_str!("fixtures/0.1.0/precheck_step.json"),
    ),
    (
        "precheck_answer",
        include_str!("fixtures/0.1.0/precheck_answer.json"),
    ),
    (
        "step_progress",
        r#"{ "status": "pending", "message": "Soon." }"#,
    ),
    (
        "guest_file",
        concat!(
            r#"{ "name": "id.pdf", "contentType": "application/pdf", "size": 4, "#,
            r#""documentType": "passport" }"#,
        ),
    ),
    (
        "precheckin",
        concat!(
            r#"{ "decidedAt": "2026-11-21T09:30:00.000Z", "decidedBy": "key", "#,
            r#""message": "Again?", "keptStepIds": [] }"#,
        ),
    ),
    ("manual", include_str!("fixtures/0.1.0/manual.json")),
    (
        "webhook_subscription",
        include_str!("fixtures/0.1.0/webhook_subscription.json"),
    ),
    (
        "webhook_delivery",
        include_str!("fixtures/0.1.0/webhook_delivery.json"),
    ),
    (
        "record.property",
        include_str!("fixtures/0.1.0/record.property.json"),
    ),
    (
        "record.reservation",
        include_str!("fixtures/0.1.0/record.reservation.json"),
    ),
    (
        "record.task",
        include_str!("fixtures/0.1.0/record.task.json"),
    ),
    (
        "record.device",
        include_str!("fixtures/0.1.0/record.device.json"),
    ),
    (
        "record.review",
        include_str!("fixtures/0.1.0/record.review.json"),
    ),
    (
        "record.workflow",
        include_str!("fixtures/0.1.0/record.workflow.json"),
    ),
    (
        "record.workflow_step_run",
        include_str!("fixtures/0.1.0/record.workflow_step_run.json"),
    ),
    (
        "portal_preview",
        concat!(
            r#"{ "portalId": "0192f0c1-0000-7000-8000-000000000001", "propertyId": null, "#,
            r#""checkIn": "2026-12-11", "language": "fr", "isInactiveIncluded": true }"#,
        ),
    ),
    (
        "oauth_grant",
        concat!(
            r#"{ "permissions": ["view_tasks"], "resource": "api", "#,
            r#""redirectUri": "https://client.example/cb", "challenge": "x" }"#,
        ),
    ),
    (
        "audit_log",
        concat!(
            r#"{ "actorKind": "api_key", "operation": "updatePortal", "#,
            r#""target": { "type": "portal", "id": null, "name": "Casa" },
            "changes": [{ "field": "name", "before": "Mar", "after": "Casa" }], "#,
            r#""requestId": "0192f0c1-0000-7000-8000-000000000001" }"#,
        ),
    ),
    (
        "record.custom_field",
        r#"{ "name": "Door code", "value": "1234" }"#,
    ),
    (
        "calendar_feed",
        concat!(
            r#"{ "channel": "airbnb", "ambiguous": "hold", "#,
            r#""lastFetchedAt": "2026-11-21T09:00:00.000Z", "#,
            r#""lastAttemptAt": "2026-11-21T09:30:00.000Z",
            "lastError": { "code": "timed_out", "message": "Nothing came." }, "#,
            r#""consecutiveFailures": 1, "etag": "a", "skippedCount": 1,
            "warnings": [{ "uid": "a", "problem": "It has no end." }] }"#,
        ),
    ),
];

/// Tables that the test skips. Their documents belong to no organization, or every request that
/// reads them also changes them.
const NOT_READ: [&str; 4] = ["calendar_event", "guest_cart", "guest_charge", "oauth_app"];

/// Fields without a default. Every stored document has them, so the test does not remove them.
const REQUIRED: [&str; 35] = [
    "precheck_step.questions[].id",
    "precheck_step.questions[].kind",
    "precheck_step.questions[].textMlTextId",
    "precheck_step.questions[].options[].id",
    "precheck_step.questions[].conditions[].optionId",
    "step_progress.status",
    "manual.answered.visibilityRules[].ruleCategory",
    "manual.answered.visibilityRules[].seasonalWindows",
    "manual.answered.visibilityRules[].seasonalWindows[].startDate",
    "manual.answered.visibilityRules[].seasonalWindows[].endDate",
    "manual.answered.visibilityRules[].sourceRuleType",
    "manual.answered.visibilityRules[].verificationStatuses",
    "webhook_subscription.secret",
    "webhook_subscription.retiring[].secret",
    "webhook_subscription.retiring[].until",
    "webhook_delivery.event",
    "webhook_delivery.kind",
    "webhook_delivery.recordId",
    "webhook_delivery.occurredAt",
    "webhook_delivery.attempts[].attemptedAt",
    "record.property.name",
    "record.property.timezone",
    "record.property.country",
    "record.reservation.status",
    "record.reservation.channel",
    "record.reservation.bookedAt",
    "record.reservation.checkIn",
    "record.reservation.checkOut",
    "record.reservation.guest",
    "record.workflow.name",
    "record.workflow.draftNodes[].id",
    "record.workflow.draftNodes[].nodeType",
    "record.workflow.draftNodes[].label",
    "record.workflow.liveNodes[]",
    "calendar_feed.warnings[].problem",
];

/// An organization with a row in every table that has documents, and clients that can read these
/// rows.
struct StoredScene<'a> {
    house: House<'a>,
    connected: Api,
    step: Uuid,
    subscription: Uuid,
    review: Uuid,
    /// The token of a preview of the guest page.
    preview: String,
}

/// Stores a calendar feed. The next fetch of the feed is due in many years, so the service does not
/// fetch it during the test.
async fn store_feed(house: &House<'_>) {
    let text = "insert into calendar_feed (organization_id, id, property_id, url, next_fetch_at,
        created_at, doc)
        values (?1, ?2, ?3, 'https://calendar.invalid/a.ics', ?4, ?5, ?6)";
    let (now, due): (jiff::Timestamp, jiff::Timestamp) = (
        "2026-11-21T09:30:00Z".parse().unwrap(),
        "2036-11-21T09:30:00Z".parse().unwrap(),
    );
    let params = vec![
        house.org.id.into(),
        new_id().into(),
        house.flat.into(),
        due.into(),
        now.into(),
        Sql::json(&json!({})).unwrap(),
    ];
    house.org.app.change(text, params).await;
}

impl<'a> StoredScene<'a> {
    async fn build(app: &'a App) -> Self {
        let house = House::build(app).await;
        let connected = furnish(&house).await;
        store_feed(&house).await;
        let review = json!({
            "propertyId": house.flat,
            "source": "pms",
            "submittedAt": "2026-11-02T10:00:00Z",
            "photoKeys": ["a"],
        });
        let review = house.org.record("review", review).await;
        house
            .org
            .record(
                "task",
                json!({ "propertyId": house.flat, "title": "T", "status": "open" }),
            )
            .await;
        house
            .org
            .record("custom_field", json!({ "name": "Door code" }))
            .await;
        let nodes = json!([{ "id": "n", "nodeType": "external_automation", "label": "L" }]);
        let workflow = house
            .org
            .record("workflow", json!({ "name": "W", "liveNodes": nodes }))
            .await;
        let run =
            json!({ "workflowId": workflow, "nodeId": "n", "occurredAt": "2026-11-02T10:00:00Z" });
        house.org.record("workflow_step_run", run).await;
        let first = async |table: &str| -> Uuid {
            let text =
                format!("select id from {table} where organization_id = ?1 order by created_at");
            app.query(text, vec![house.org.id.into()], |row| row.get(0))
                .await[0]
        };
        let (step, subscription) = (
            first("precheck_step").await,
            first("webhook_subscription").await,
        );
        let file =
            "insert into guest_file (organization_id, id, reservation_id, step_id, key, size,
            created_at, due_at, doc)
            values (?1, ?2, ?3, ?4, 'key', 1, ?5, ?5, ?6)";
        let now: jiff::Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let of_file = vec![
            house.org.id.into(),
            new_id().into(),
            house.stay.into(),
            step.into(),
            now.into(),
            Sql::json(&json!({})).unwrap(),
        ];
        app.change(file, of_file).await;
        let preview = house
            .api
            .post(&format!("/portals/{}/preview", house.portal), json!({}))
            .await
            .data();
        let preview = preview["url"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        Self {
            house,
            connected,
            step,
            subscription,
            review,
            preview,
        }
    }

    /// Writes `doc` into the document column of all rows of the organization in one table.
    /// `document` is the name of the table, or `record.` and the kind of the records, such as
    /// `record.property`.
    async fn put(&self, document: &str, doc: &Value) {
        let app = self.house.org.app;
        let (table, kind) = document.split_once('.').unwrap_or((document, ""));
        let column = if table == "organization" {
            "id"
        } else {
            "organization_id"
        };
        let of_kind = if kind.is_empty() {
            String::new()
        } else {
            format!(" and kind = '{kind}'")
        };
        let params = vec![self.house.org.id.into(), Sql::json(doc).unwrap()];
        let changed = app
            .change(
                format!("update {table} set doc = ?2 where {column} = ?1{of_kind}"),
                params,
            )
            .await;
        assert!(changed > 0, "there is no {document}");
        if !["organization", "api_key", "member", "access_token"].contains(&table) {
            // This write changes the revision of the organization, so the service does not answer
            // from the cache.
            self.house.org.put("", json!({})).await;
        }
    }

    /// Sends all requests that read the rows of `document`: a table, or `record` with a record
    /// kind. Returns each path with its response.
    async fn read(&self, document: &str) -> Vec<(String, ApiResponse)> {
        let House {
            org,
            api,
            flat,
            portal,
            stay,
            token,
            ..
        } = &self.house;
        let (step, subscription, review) = (self.step, self.subscription, self.review);
        let (public, connected, platform, guest) = ("public", "connected", "platform", "guest");
        let submission = (
            platform,
            org.path(&format!("/reservations/{stay}/precheckin")),
        );
        let explained = (public, format!("/reservations/{stay}/explain"));
        let reviewed = (public, format!("/reservations/{stay}/precheckin"));
        let view = (guest, String::new());
        let paths = match document {
            "organization" => vec![
                (public, "/portals".into()),
                (platform, org.path("")),
                (platform, "/organizations".into()),
                view,
            ],
            "api_key" => vec![
                (public, "/portals".into()),
                (platform, org.path("/api-keys")),
            ],
            "member" => vec![
                (connected, "/portals".into()),
                (platform, org.path("/members")),
            ],
            "oauth_grant" => vec![(public, "/connections".into())],
            "audit_log" => vec![(public, "/audit-log".into())],
            "access_token" => vec![(connected, "/portals".into())],
            "portal" => vec![
                (public, "/portals".into()),
                (public, format!("/portals/{portal}")),
                (public, "/precheck-steps".into()),
                explained,
                view,
            ],
            "portal_preview" => vec![("preview", String::new())],
            "portal_branding" => vec![(public, "/portal-brandings".into()), view],
            "precheck_step" => {
                vec![
                    (public, "/precheck-steps".into()),
                    (public, format!("/precheck-steps/{step}")),
                    submission,
                    explained,
                    view,
                ]
            }
            "precheck_answer" | "guest_file" => vec![submission, reviewed, view],
            "step_progress" => vec![submission, view],
            "precheckin" => vec![
                submission,
                reviewed,
                (public, "/precheckin-submissions".into()),
                view,
            ],
            "manual" => vec![
                (public, "/portal-manuals".into()),
                (public, format!("/properties/{flat}/portal-manuals")),
                explained,
                view,
            ],
            "webhook_subscription" => vec![(public, "/webhook-subscriptions".into())],
            "webhook_delivery" => vec![(
                public,
                format!("/webhook-subscriptions/{subscription}/deliveries"),
            )],
            "record.property" => vec![(public, "/properties".into()), explained, view],
            "record.reservation" => {
                vec![(public, format!("/reservations/{stay}")), explained, view]
            }
            "record.task" => vec![(public, "/tasks".into())],
            "calendar_feed" => vec![(public, "/calendar-feeds".into())],
            "record.device" => vec![(public, "/devices".into())],
            "record.review" => vec![(public, format!("/reviews/{review}"))],
            "record.workflow" => vec![(public, "/workflow-zapier-steps".into())],
            "record.workflow_step_run" | "record.custom_field" => vec![view],
            other => panic!("who reads {other}?"),
        };
        join_all(paths.into_iter().map(|(who, path)| async move {
            let response = match who {
                "public" => api.get(&path).await,
                "connected" => self.connected.get(&path).await,
                "platform" => org.app.platform().get(&path).await,
                "preview" => org.app.stay(&self.preview, "").await,
                _ => org.app.stay(token, "").await,
            };
            (path, response)
        }))
        .await
    }
}

/// Returns copies of a document. Each copy lacks one field or list item, and comes with the path of
/// that part.
fn without_one(document: &str, doc: &Value) -> Vec<(String, Value)> {
    fn inside(path: &str, value: &Value, copies: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let mut rest = fields.clone();
                    rest.remove(name);
                    let path = format!("{path}.{name}");
                    copies.push((path.clone(), Value::Object(rest)));
                    let mut deeper = Vec::new();
                    inside(&path, field, &mut deeper);
                    copies.extend(deeper.into_iter().map(|(path, field)| {
                        let mut fields = fields.clone();
                        fields.insert(name.clone(), field);
                        (path, Value::Object(fields))
                    }));
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    let mut deeper = Vec::new();
                    inside(&format!("{path}[]"), item, &mut deeper);
                    copies.extend(deeper.into_iter().map(|(path, item)| {
                        let mut items = items.clone();
                        items[place] = item;
                        (path, Value::Array(items))
                    }));
                }
            }
            _ => {}
        }
    }
    let mut copies = Vec::new();
    inside(document, doc, &mut copies);
    copies.retain(|(path, _)| {
        !REQUIRED.iter().any(|required| {
            path == required || required.ends_with("[]") && path.starts_with(required)
        })
    });
    copies
}

on_both!(documents_of_the_first_release_can_be_read);
async fn documents_of_the_first_release_can_be_read(app: App) {
    let scene = StoredScene::build(&app).await;
    let holding: Vec<String> = app
        .columns()
        .await
        .into_iter()
        .filter(|(_, column, ..)| column == "doc")
        .map(|(table, ..)| table)
        .collect();
    for table in holding
        .iter()
        .filter(|table| !NOT_READ.contains(&table.as_str()))
    {
        assert!(
            DOCUMENTS
                .iter()
                .any(|(document, _)| document.split('.').next() == Some(table)),
            "{table} has no document here"
        );
    }
    for (document, text) in DOCUMENTS {
        let mut doc: Value = serde_json::from_str(text).unwrap();
        if document == "record.reservation" {
            // The stay of this test's guest must be in the flat of the scene, so the
            // reservation refers to that flat.
            doc["propertyId"] = json!(scene.house.flat);
        }
        if document == "portal_preview" {
            doc["portalId"] = json!(scene.house.portal);
        }
        if document == "member" {
            doc["propertyIds"] = json!([scene.house.flat]);
        }
        scene.put(document, &doc).await;
        for (path, answer) in scene.read(document).await {
            assert_eq!(answer.status, 200, "{document} {path}: {}", answer.body);
        }
    }
    let House { api, portal, .. } = &scene.house;
    assert_eq!(
        api.get(&format!("/portals/{portal}")).await.data()["name"],
        "Fixture"
    );
    let step = api
        .get(&format!("/precheck-steps/{}", scene.step))
        .await
        .data();
    assert_eq!(
        (
            &step["nickname"],
            step["questions"].as_array().unwrap().len()
        ),
        (&json!("Fixture"), 3)
    );
    let manual = api.get("/portal-manuals").await.data()[0].clone();
    assert_eq!(
        (
            &manual["nickname"],
            manual["visibilityRules"].as_array().unwrap().len()
        ),
        (&json!("Fixture"), 5)
    );
    assert_eq!(
        api.get("/portal-brandings").await.data()[0]["nickname"],
        "blue"
    );
}

on_both!(missing_fields_of_a_document_have_defaults);
async fn missing_fields_of_a_document_have_defaults(app: App) {
    let scene = StoredScene::build(&app).await;
    for (document, text) in DOCUMENTS {
        let before: Value = serde_json::from_str(text).unwrap();
        for (path, doc) in without_one(document, &before) {
            scene.put(document, &doc).await;
            for (asked, answer) in scene.read(document).await {
                assert!(
                    answer.status < 500,
                    "without {path}: GET {asked} is {} {}",
                    answer.status,
                    answer.body
                );
            }
        }
        scene.put(document, &before).await;
    }
}

on_both!(summaries_of_older_versions_are_rewritten);
async fn summaries_of_older_versions_are_rewritten(app: App) {
    let house = House::build(&app).await;
    let House { org, api, .. } = &house;
    for number in 0..250 {
        api.post("/portals", json!({ "name": format!("Portal {number}") }))
            .await
            .data();
    }
    house
        .unassigned_step("main", json!({ "displayTitle": "Welcome" }))
        .await;
    let lists = async || {
        (
            api.get("/portals").await.data(),
            api.get("/precheck-steps").await.data(),
        )
    };
    let expected = lists().await;
    let versions = async || -> Vec<(String, i64)> {
        app.query(
            "select name, version from summary_version order by name",
            Vec::new(),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .await
    };
    let current = versions().await;
    assert_eq!(
        current
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        ["portal", "precheck_step"]
    );

    for table in ["portal", "precheck_step"] {
        app.change(
            format!("update {table} set summary = '{{\"old\": true}}'"),
            Vec::new(),
        )
        .await;
    }
    org.put("", json!({})).await;
    assert_ne!(
        lists().await,
        expected,
        "it is the summaries that lists read"
    );
    let database = serve_flags(&app.database_url, &[]).database;
    offline_service(&database, app.clock.clone()).await.unwrap();
    assert_ne!(
        lists().await,
        expected,
        "the version is the program's: nothing to do"
    );
    app.change("update summary_version set version = 0", Vec::new())
        .await;
    offline_service(&database, app.clock.clone()).await.unwrap();
    assert_eq!(lists().await, expected);
    assert_eq!(versions().await, current);

    app.change("update summary_version set version = 99", Vec::new())
        .await;
    offline_service(&database, app.clock.clone()).await.unwrap();
    assert!(
        versions().await.iter().all(|(_, version)| *version == 99),
        "a newer program's are left to it"
    );
}

on_both!(documents_keep_unchanged_fields_when_rewritten);
async fn documents_keep_unchanged_fields_when_rewritten(app: App) {
    let scene = StoredScene::build(&app).await;
    let text = "select doc from precheck_step where organization_id = ?1 order by created_at";
    let read = async || {
        app.query(text, vec![scene.house.org.id.into()], |row| {
            row.get::<Json<Value>>(0).map(|Json(doc)| doc)
        })
        .await
    };
    let before = read().await;
    let touched = json!({ "data": { "nickname": "Renamed" } });
    scene
        .house
        .api
        .patch(&format!("/precheck-steps/{}", scene.step), touched)
        .await
        .data();
    let mut after = read().await;
    let renamed = after
        .iter_mut()
        .find(|doc| doc["nickname"] == "Renamed")
        .unwrap();
    renamed["nickname"] = before[0]["nickname"].clone();
    renamed["updatedAt"] = before[0]["updatedAt"].clone();
    assert_eq!(after, before, "no default takes the place of what is there");
}
