//! Tests of webhooks in the console: members manage their own subscriptions and cannot access other
//! subscriptions.

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;
use test_support::{Api, App, new_id, on_both};

use super::{Form, marta, member_with, page, plain};
use crate::people::{Browser, field, signed_in};

/// An HTTPS address on which nothing listens.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/hook";

async fn subscription(api: &Api, event: &str, url: &str) -> String {
    api.post(
        "/webhook-subscriptions",
        json!({ "event": event, "targetUrl": url }),
    )
    .await
    .data()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Creates a subscription in the console. Returns its id.
async fn subscribe(browser: &Browser, event: &str, url: &str) -> String {
    let form = Form::of(&page(browser, "/console/webhooks/new").await, "/new");
    let subscribe = form
        .with("event", event)
        .with("targetUrl", url)
        .send(browser)
        .await;
    let text = subscribe.body.as_str().unwrap();
    let ids = text
        .split("/console/webhooks/")
        .filter_map(|rest| rest.get(..36));
    let mut ids = ids.filter(|id| uuid::Uuid::parse_str(id).is_ok());
    ids.next()
        .unwrap_or_else(|| panic!("no id in {text}"))
        .to_owned()
}

on_both!(
    a_member_manages_subscriptions_that_they_created,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_member_manages_subscriptions_that_they_created(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let [tasks, reviews] = [
        subscribe(&browser, "task.created", CLOSED_ADDRESS).await,
        subscribe(&browser, "review.submitted", "https://127.0.0.1:9/other").await,
    ];
    let list = page(&browser, "/console/webhooks").await;
    let place = |id: &String| list.find(&format!("/console/webhooks/{id}")).unwrap();
    assert!(place(&reviews) < place(&tasks), "the newest first: {list}");
    for (query, shown) in [
        ("event=task.created", [true, false]),
        ("event=review.submitted", [false, true]),
        ("state=working", [true, true]),
        ("state=failing", [false, false]),
        ("state=nonsense&event=nonsense", [true, true]),
        ("host=127.0.0.1", [true, true]),
        ("host=127.0.0.1:9/O", [false, true]),
        ("host=%25", [false, false]),
        ("host=client.example", [false, false]),
    ] {
        let list = page(&browser, &format!("/console/webhooks?{query}")).await;
        assert_eq!(
            [&tasks, &reviews].map(|id| list.contains(&format!("/console/webhooks/{id}"))),
            shown,
            "{query}"
        );
    }

    let path = format!("/console/webhooks/{tasks}");
    let (_, shown) = Form::of(&page(&browser, &path).await, "/ping")
        .done(&browser, "sent")
        .await;
    assert!(shown.contains("<b>ping</b>"), "{shown}");
    Form::of(&shown, "/failed")
        .with("since", "2026-11-01T00:00")
        .done(&browser, "sent")
        .await;
    let rotated = Form::of(&page(&browser, &format!("{path}/rotate")).await, "/rotate")
        .send(&browser)
        .await;
    assert!(
        rotated.status == 200 && rotated.body.as_str().unwrap().contains("whsec_"),
        "{}",
        rotated.body
    );
    Form::of(&page(&browser, &format!("{path}/delete")).await, "/delete")
        .done(&browser, "removed")
        .await;
    let list = page(&browser, "/console/webhooks").await;
    assert!(!list.contains(&tasks) && list.contains(&reviews), "{list}");
    let log = page(&browser, "/console/audit").await;
    assert!(
        plain(&log).contains(CLOSED_ADDRESS) && log.contains("created a new signing secret"),
        "{log}"
    );
}

on_both!(
    a_disabled_subscription_says_so_and_offers_a_new_subscription,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_disabled_subscription_says_so_and_offers_a_new_subscription(app: App) {
    let org = app.org().await;
    let marta = new_id();
    org.member(marta, None, Permission::VARIANTS, true).await;
    let browser = signed_in(&org, marta).await;
    let id = subscribe(&browser, "task.created", CLOSED_ADDRESS).await;
    let path = format!("/console/webhooks/{id}");
    let before = page(&browser, &path).await;
    let ping = Form::of(&before, "/ping");
    let failed = Form::of(&before, "/failed").with("since", "2026-11-01T00:00");
    // A subscription is disabled when the member who created it loses the permission that its event
    // requires. It stays disabled when the member gets the permission back.
    let others: Vec<Permission> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|known| *known != Permission::ViewTasks)
        .collect();
    org.member(marta, None, &others, true).await;
    app.server.sweep_once().await;
    org.member(marta, None, Permission::VARIANTS, true).await;
    let html = page(&browser, &path).await;
    assert!(
        html.contains("It was switched off on 21 November 2026")
            && html.contains("no longer has the permission"),
        "{html}"
    );
    for gone in ["/ping\"", "/rotate\"", "/failed\""] {
        assert!(
            html.contains("/delete\"") && !html.contains(&format!("{path}{gone}")),
            "{gone}: {html}"
        );
    }
    // The member may still have a page open that was loaded before the subscription was
    // disabled. The service refuses the forms of that page and says why the subscription is
    // disabled.
    for form in [ping, failed] {
        let refused = form.refused(&browser, 409).await;
        assert!(
            refused.contains("It was switched off on")
                && refused.contains("Create a new one like it"),
            "{refused}"
        );
    }
    let prefilled_query = plain(
        html.split("/console/webhooks/new?")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap(),
    );
    let form = Form::of(
        &page(
            &browser,
            &format!("/console/webhooks/new?{prefilled_query}"),
        )
        .await,
        "/new",
    );
    assert_eq!(
        (form.value("targetUrl"), form.value("event").is_some()),
        (Some(CLOSED_ADDRESS), true)
    );
    let subscribe = form.with("event", "task.created").send(&browser).await;
    assert!(
        subscribe.status == 200 && subscribe.body.as_str().unwrap().contains("whsec_"),
        "{}",
        subscribe.body
    );
}

on_both!(
    a_new_subscription_can_be_limited_to_flats,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_new_subscription_can_be_limited_to_flats(app: App) {
    let org = app.org().await;
    for name in ["Casa Uno", "Casa Dos", "Casa"] {
        org.record(
            "property",
            json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" }),
        )
        .await;
    }
    let browser = marta(&org).await;
    let new = page(&browser, "/console/webhooks/new").await;
    assert!(
        new.contains("Only connected apps can subscribe to workflow.step")
            && !new.contains("<option>workflow.step"),
        "{new}"
    );
    assert!(
        page(&browser, "/console/webhooks/events")
            .await
            .contains("Only connected apps can subscribe to workflow.step")
    );
    let form = Form::of(&new, "/new")
        .with("event", "reservation.created")
        .with("targetUrl", CLOSED_ADDRESS);
    let refused = form
        .clone()
        .with("flats", "Casa Uno\r\nCas")
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("“Cas” is not the name of exactly one flat")
            && refused.contains("Casa Uno")
            && refused.contains(CLOSED_ADDRESS),
        "{refused}"
    );
    let many = form
        .clone()
        .with("flats", &"Casa\n".repeat(21))
        .refused(&browser, 400)
        .await;
    assert!(many.contains("At most 20 flats"), "{many}");
    let subscribe = form
        .with("flats", "casa uno\r\n\r\nCasa")
        .send(&browser)
        .await;
    assert_eq!(subscribe.status, 200, "{}", subscribe.body);
    let list = page(&browser, "/console/webhooks").await;
    let id = list
        .split("/console/webhooks/")
        .find_map(|rest| uuid::Uuid::parse_str(rest.get(..36)?).ok())
        .unwrap();
    let html = page(&browser, &format!("/console/webhooks/{id}")).await;
    assert!(
        html.contains("Only for these flats")
            && html.contains("Casa Uno")
            && !html.contains("Casa Dos"),
        "{html}"
    );
    // A member who may not read flats sees no field for flats.
    let other = member_with(&org, &[Permission::ViewTasks], None).await;
    assert!(
        !page(&other, "/console/webhooks/new")
            .await
            .contains("Only for these flats")
    );
}

on_both!(
    a_manager_cannot_access_subscriptions_of_keys_and_other_members,
    "--webhook-allow=127.0.0.0/8"
);
async fn a_manager_cannot_access_subscriptions_of_keys_and_other_members(app: App) {
    let (org, elsewhere) = (app.org().await, app.org().await);
    let id = subscription(&org.key().await, "task.created", CLOSED_ADDRESS).await;
    let of_other = subscribe(&marta(&org).await, "task.created", CLOSED_ADDRESS).await;
    let flat = org.property(None, &[]).await;
    for browser in [
        marta(&org).await,
        member_with(&org, Permission::VARIANTS, Some(&[flat])).await,
        marta(&elsewhere).await,
    ] {
        let list = page(&browser, "/console/webhooks").await;
        assert!(
            !list.contains(&id) && list.contains("There are no subscriptions"),
            "{list}"
        );
        let form = field(&list, "form");
        for (id, place) in [&id, &of_other]
            .into_iter()
            .flat_map(|id| ["", "/rotate", "/delete"].map(|place| (id, place)))
        {
            assert_eq!(
                browser
                    .get(&format!("/console/webhooks/{id}{place}"))
                    .await
                    .status,
                404,
                "{place}"
            );
        }
        for place in [
            "ping",
            "failed",
            "rotate",
            "delete",
            &format!("deliveries/{id}"),
        ] {
            let sent = [
                ("form", form.as_str()),
                ("since", "2026-11-01T00:00"),
                ("hours", "1"),
            ];
            assert_eq!(
                browser
                    .post(&format!("/console/webhooks/{id}/{place}"), &sent)
                    .await
                    .status,
                404,
                "{place}"
            );
        }
    }
}

on_both!(
    keys_and_tokens_access_only_their_own_subscriptions,
    "--webhook-allow=127.0.0.0/8"
);
async fn keys_and_tokens_access_only_their_own_subscriptions(app: App) {
    let org = app.org().await;
    let (key, other) = (org.key().await, org.key().await);
    let ada = new_id();
    org.member(ada, None, Permission::VARIANTS, true).await;
    let token = org.token_of(ada, Permission::VARIANTS).await;
    let id = subscription(&key, "task.created", CLOSED_ADDRESS).await;
    for api in [&other, &token] {
        assert_eq!(api.get("/webhook-subscriptions").await.data(), json!([]));
        assert_eq!(
            api.get(&format!("/webhook-subscriptions/{id}/deliveries"))
                .await
                .status,
            404
        );
        assert_eq!(
            api.post(&format!("/webhook-subscriptions/{id}/ping"), json!({}))
                .await
                .status,
            404
        );
        assert_eq!(
            api.post(
                &format!("/webhook-subscriptions/{id}/rotate-secret"),
                json!({})
            )
            .await
            .status,
            404
        );
        assert_eq!(
            api.send(
                Method::DELETE,
                &format!("/webhook-subscriptions?id={id}"),
                None
            )
            .await
            .status,
            404
        );
    }
    // Neither the requests of the other key nor those of the member have deleted the
    // subscription.
    let own = key.get("/webhook-subscriptions").await.data();
    assert_eq!(
        (own.as_array().unwrap().len(), &own[0]["id"]),
        (1, &json!(id))
    );
    assert_eq!(key.get("/webhook-subscriptions/reached").await.status, 404);
}

on_both!(
    revoking_a_key_ends_its_subscriptions,
    "--webhook-allow=127.0.0.0/8"
);
async fn revoking_a_key_ends_its_subscriptions(app: App) {
    let org = app.org().await;
    let (key, key_id) = org.key_and_id(Permission::VARIANTS).await;
    subscription(&key, "task.created", CLOSED_ADDRESS).await;
    let manager = org.key().await;
    assert_eq!(
        app.platform()
            .send(
                Method::DELETE,
                &org.path(&format!("/api-keys/{key_id}")),
                None
            )
            .await
            .status,
        200
    );
    key.get("/webhook-subscriptions").await.error(401);
    assert_eq!(
        manager.get("/webhook-subscriptions").await.data(),
        json!([])
    );
    let reason = app.query(
        "select disabled_reason from webhook_subscription where organization_id = ?1",
        vec![org.id.into()],
        |row| row.get::<Option<String>>(0),
    );
    assert_eq!(reason.await, [Some("credential_invalid".to_owned())]);
}
