//! What the audit log says on its screen: of what it is true, and whom and what it names.

use engine::access::Permission;
use serde_json::json;
use store::Value;
use strum::VariantArray;

use super::{Form, html, marta, page, plain};
use crate::people::signed_in;
use crate::support::house::House;
use crate::support::{App, new_id, on_both};

on_both! {
    async fn what_is_done_to_a_member_is_no_member(app: App) {
        let org = app.org().await;
        let ada = new_id();
        org.member(ada, None, Permission::VARIANTS, true).await;
        let platform = app.platform();
        platform.post(&org.path(&format!("/members/{ada}/sign-in-links")), json!({})).await.data();
        org.token_of(ada, &[Permission::ViewTasks]).await;
        let connection = org.path(&format!("/connections/{}/{ada}", org.oauth_app));
        assert_eq!(platform.send(reqwest::Method::DELETE, &connection, None).await.status, 200);
        let other = new_id();
        org.member(other, None, &[], true).await;
        assert_eq!(platform.send(reqwest::Method::DELETE, &org.path(&format!("/members/{other}")), None).await.status, 200);
        let browser = signed_in(&org, ada).await;
        let log = plain(&page(&browser, "/console/audit").await);
        for said in [
            "The platform made a sign-in link for the member Member",
            "The platform made an access token of an app for the member Member",
            "The platform disconnected an app from the member Member",
            "The platform removed the member Member",
            "The platform made the member Member",
            "a sign-in link",
        ] {
            assert!(log.contains(said), "{said}: {log}");
        }
        assert_eq!(log.matches("<b dir=\"auto\">The platform removed the member").count(), 1, "{log}");
        assert_eq!(log.matches("<b dir=\"auto\">The platform made the member").count(), 2, "{log}");
        assert!(!log.contains("The platform did"), "{log}");
        // What is put again is changed.
        org.member(ada, None, &[Permission::ManageOrganization], true).await;
        assert!(page(&browser, "/console/audit").await.contains("The platform changed the member Member"));
    }

    async fn which_stay_it_was_is_told(app: App) {
        let house = House::build(&app).await;
        house.update_portal(house.portal, json!({ "isManualReviewEnabled": true })).await;
        let step = house.step("agreement", json!({})).await;
        house.answer(step, json!({ "isAccepted": true, "signedName": "Ada L" })).await.data();
        house.submit().await.data();
        house.api.post(&format!("/reservations/{}/precheckin/approve", house.stay), json!({})).await.data();
        let browser = marta(&house.org).await;
        let said = "key approved what was handed in for the stay of Ada L (11–15 December)";
        for path in ["/console/audit".to_owned(), format!("/console/stays/{}", house.stay), "/console/access/keys".to_owned()] {
            let shown = page(&browser, &path).await;
            assert!(shown.contains(said), "{path}: {shown}");
        }
        let spanish = browser.request(reqwest::Method::GET, "/console/audit").header("accept-language", "es");
        let spanish = html(&browser.send(spanish).await);
        assert!(spanish.contains("key aprobó lo enviado para la estancia de Ada L"), "{spanish}");
        assert!(spanish.contains("asignaciones del paso"), "articles run together: {spanish}");
    }

    /// However many stays a page of the log is about, they are asked for at once: the page is one of few requests.
    async fn all_stays_of_a_page_are_named(app: App, "--rate-limit-per-minute=15") {
        let org = app.org().await;
        let flat = org.property(None, &[]).await;
        let insert = "insert into audit_log (organization_id, id, occurred_at, doc) values (?1, ?2, ?3, ?4)";
        for _ in 0..20 {
            let stay = org.reservation(Some(flat)).await;
            let doc = json!({
                "actorKind": "api_key", "operation": "approvePrecheckin", "target": { "type": "reservation", "id": stay, "name": null },
                "changes": [], "requestId": new_id(),
            });
            app.change(insert, vec![org.id.into(), new_id().into(), app.clock.now().into(), Value::Json(doc.to_string())]).await;
        }
        let log = page(&marta(&org).await, "/console/audit").await;
        let (asked, named) = (log.matches("what was handed in").count(), log.matches("what was handed in for the stay of").count());
        assert!(asked >= 20 && named == asked, "{named} of {asked} {log}");
    }

    async fn what_a_subscription_was_asked_for_is_told(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        let browser = marta(&org).await;
        let made = org.key().await.post("/webhook-subscriptions", json!({ "event": "task.created", "targetUrl": "https://127.0.0.1:9/hook" })).await.data();
        let path = format!("/console/webhooks/{}", made["id"].as_str().unwrap());
        Form::of(&page(&browser, &path).await, "/failed").with("since", "2026-11-01T00:00").done(&browser, "sent").await;
        let log = plain(&page(&browser, "/console/audit").await);
        assert!(log.contains("Member had what failed sent again for the webhook subscription https://127.0.0.1:9/hook"), "{log}");
    }
}
