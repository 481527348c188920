//! Tests of the console's audit log screen: the sentence of each entry, and the names of actors and
//! targets.

use engine::access::Permission;
use serde_json::json;
use store::Value;
use strum::VariantArray;
use test_support::house::House;
use test_support::{App, new_id, on_both, reservation};

use super::{Form, html, marta, page, plain};
use crate::people::signed_in;

on_both!(the_log_describes_each_action_on_a_member);
async fn the_log_describes_each_action_on_a_member(app: App) {
    let org = app.org().await;
    let ada = new_id();
    org.member(ada, None, Permission::VARIANTS, true).await;
    let platform = app.platform();
    platform
        .post(
            &org.path(&format!("/members/{ada}/sign-in-links")),
            json!({}),
        )
        .await
        .data();
    org.token_of(ada, &[Permission::ViewTasks]).await;
    let connection = org.path(&format!("/connections/{}/{ada}", org.oauth_app));
    assert_eq!(
        platform
            .send(reqwest::Method::DELETE, &connection, None)
            .await
            .status,
        200
    );
    let other = new_id();
    org.member(other, None, &[], true).await;
    assert_eq!(
        platform
            .send(
                reqwest::Method::DELETE,
                &org.path(&format!("/members/{other}")),
                None
            )
            .await
            .status,
        200
    );
    let browser = signed_in(&org, ada).await;
    let log = plain(&page(&browser, "/console/audit").await);
    for text in [
        "The platform created a sign-in link for the member Member",
        "The platform created an access token of an app for the member Member",
        "The platform disconnected an app from the member Member",
        "The platform removed the member Member",
        "The platform created the member Member",
        "a sign-in link",
    ] {
        assert!(log.contains(text), "{text}: {log}");
    }
    assert_eq!(
        log.matches("<b dir=\"auto\">The platform removed the member")
            .count(),
        1,
        "{log}"
    );
    assert_eq!(
        log.matches("<b dir=\"auto\">The platform created the member")
            .count(),
        2,
        "{log}"
    );
    assert!(!log.contains("The platform did"), "{log}");
    // A PUT of an existing member adds an entry that says that the platform changed the member.
    org.member(ada, None, &[Permission::ManageOrganization], true)
        .await;
    assert!(
        page(&browser, "/console/audit")
            .await
            .contains("The platform changed the member Member")
    );
}

on_both!(the_log_names_the_stay_of_a_decision);
async fn the_log_names_the_stay_of_a_decision(app: App) {
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": true }))
        .await;
    let step = house.step("agreement", json!({})).await;
    house
        .answer(step, json!({ "isAccepted": true, "signedName": "Ada L" }))
        .await
        .data();
    house.submit().await.data();
    house
        .api
        .post(
            &format!("/reservations/{}/precheckin/approve", house.stay),
            json!({}),
        )
        .await
        .data();
    let browser = marta(&house.org).await;
    let text = "key approved the submission for the stay of Ada L (11–15 December)";
    for path in [
        "/console/audit".to_owned(),
        format!("/console/stays/{}", house.stay),
        "/console/access/keys".to_owned(),
    ] {
        let shown = page(&browser, &path).await;
        assert!(shown.contains(text), "{path}: {shown}");
    }
    let spanish = browser
        .request(reqwest::Method::GET, "/console/audit")
        .header("accept-language", "es");
    let spanish = html(&browser.send(spanish).await);
    assert!(
        spanish.contains("key aprobó lo enviado para la estancia de Ada L"),
        "{spanish}"
    );
    assert!(
        spanish.contains("asignaciones del paso"),
        "articles run together: {spanish}"
    );
}

on_both!(every_stay_on_a_log_page_is_named);
async fn every_stay_on_a_log_page_is_named(app: App) {
    let org = app.org().await;
    let flat = org.property(None, &[]).await;
    let insert =
        "insert into audit_log (organization_id, id, occurred_at, doc) values (?1, ?2, ?3, ?4)";
    for _ in 0..20 {
        let stay = org.reservation(Some(flat)).await;
        let doc = json!({
            "actorKind": "api_key",
            "operation": "approvePrecheckin",
            "target": { "type": "reservation", "id": stay, "name": null },
            "changes": [],
            "requestId": new_id(),
        });
        app.change(
            insert,
            vec![
                org.id.into(),
                new_id().into(),
                app.clock.now().into(),
                Value::Json(doc.to_string()),
            ],
        )
        .await;
    }
    let log = page(&marta(&org).await, "/console/audit").await;
    let (asked, named) = (
        log.matches("the submission").count(),
        log.matches("the submission for the stay of").count(),
    );
    assert!(asked >= 20 && named == asked, "{named} of {asked} {log}");
}

on_both!(the_log_shows_both_statuses_of_a_changed_stay);
async fn the_log_shows_both_statuses_of_a_changed_stay(app: App) {
    let org = app.org().await;
    let (api, stay) = (org.key().await, new_id());
    let record = json!({ "kind": "reservation", "id": stay, "data": reservation(None) });
    api.post("/records", json!({ "records": [record] }))
        .await
        .data();
    let change = json!({ "data": { "status": "cancelled" } });
    api.patch(&format!("/records/reservation/{stay}"), change)
        .await
        .data();
    let log = page(&marta(&org).await, "/console/audit").await;
    for label in ["Confirmed", "Cancelled"] {
        assert!(
            log.contains(&format!("dir=\"auto\">{label}</span>")),
            "{label}: {log}"
        );
    }
    assert!(!log.contains("Not started"), "{log}");
}

on_both!(
    the_log_describes_resent_deliveries_of_a_subscription,
    "--webhook-allow=127.0.0.0/8"
);
async fn the_log_describes_resent_deliveries_of_a_subscription(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let (created, _) = crate::console::things::subscribed(&browser, "task.created")
        .await
        .unwrap();
    let path = format!("/console/webhooks/{created}");
    Form::of(&page(&browser, &path).await, "/failed")
        .with("since", "2026-11-01T00:00")
        .done(&browser, "sent")
        .await;
    let log = plain(&page(&browser, "/console/audit").await);
    assert!(
        log.contains(
            "Member sent failed deliveries again for the webhook subscription \
                https://127.0.0.1:9/hook"
        ),
        "{log}"
    );
}
