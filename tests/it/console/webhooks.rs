//! Webhooks of the whole organization: who reaches whose subscriptions, in the console and over REST.

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;

use super::{Form, marta, member_with, page, plain};
use crate::people::field;
use crate::support::{Api, App, new_id, on_both};

const NASTY: &str = "<script>alert(1)</script>";
/// Where nobody listens.
const NOBODY: &str = "https://127.0.0.1:9/hook";

async fn subscription(api: &Api, event: &str, url: &str) -> String {
    api.post("/webhook-subscriptions", json!({ "event": event, "targetUrl": url })).await.data()["id"].as_str().unwrap().to_owned()
}

on_both! {
    async fn whoever_manages_the_organization_manages_what_keys_and_apps_subscribed(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        let key = org.key().await;
        let ada = new_id();
        org.member(ada, None, Permission::VARIANTS, true).await;
        let (of_key, of_app) = (subscription(&key, "task.created", NOBODY).await, subscription(&org.token_of(ada, Permission::VARIANTS).await, "review.submitted", "https://127.0.0.1:9/other").await);
        let browser = marta(&org).await;
        let list = page(&browser, "/console/webhooks").await;
        for id in [&of_key, &of_app] {
            assert!(list.contains(&format!("/console/webhooks/{id}")), "{list}");
        }
        assert!(list.contains("key · API key") && list.contains("· app"), "{list}");
        for (query, shown) in [
            ("event=task.created", [true, false]),
            ("event=review.submitted", [false, true]),
            ("state=working", [true, true]),
            ("state=failing", [false, false]),
            ("state=nonsense&event=nonsense", [true, true]),
            ("host=127.0.0.1", [true, true]),
            ("host=127.0.0.1:9/o", [false, true]),
            ("host=%25", [false, false]),
            ("host=client.example", [false, false]),
        ] {
            let list = page(&browser, &format!("/console/webhooks?{query}")).await;
            assert_eq!([&of_key, &of_app].map(|id| list.contains(&format!("/console/webhooks/{id}"))), shown, "{query}");
        }
        assert_eq!(browser.get(&format!("/console/webhooks?host={}", "a".repeat(256))).await.status, 400);

        let path = format!("/console/webhooks/{of_key}");
        let (_, shown) = Form::of(&page(&browser, &path).await, "/ping").done(&browser, "sent").await;
        assert!(shown.contains("<b>ping</b>") && shown.contains("key · API key"), "{shown}");
        Form::of(&shown, "/failed").with("since", "2026-11-01T00:00").done(&browser, "sent").await;
        let rotated = Form::of(&page(&browser, &format!("{path}/rotate")).await, "/rotate").send(&browser).await;
        assert!(rotated.status == 200 && rotated.body.as_str().unwrap().contains("whsec_"), "{}", rotated.body);
        Form::of(&page(&browser, &format!("{path}/delete")).await, "/delete").done(&browser, "removed").await;
        assert_eq!(key.get("/webhook-subscriptions").await.data(), json!([]));
        let log = page(&browser, "/console/audit").await;
        assert!(plain(&log).contains(NOBODY) && log.contains("made a new signing secret"), "{log}");
    }

    async fn one_that_is_switched_off_says_so_and_leads_on(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        let (key, key_id) = org.key_and_id(Permission::VARIANTS).await;
        let id = subscription(&key, "task.created", NOBODY).await;
        let browser = marta(&org).await;
        let path = format!("/console/webhooks/{id}");
        let before = page(&browser, &path).await;
        let ping = Form::of(&before, "/ping");
        let failed = Form::of(&before, "/failed").with("since", "2026-11-01T00:00");
        assert_eq!(app.platform().send(Method::DELETE, &org.path(&format!("/api-keys/{key_id}")), None).await.status, 200);
        let shown = page(&browser, &path).await;
        assert!(shown.contains("It was switched off on 21 November 2026") && shown.contains("may no longer use the interface"), "{shown}");
        for gone in ["/ping\"", "/rotate\"", "/failed\""] {
            assert!(shown.contains("/delete\"") && !shown.contains(&format!("{path}{gone}")), "{gone}: {shown}");
        }
        // Whoever still has the page open is told why it is of no use.
        for form in [ping, failed] {
            let refused = form.refused(&browser, 409).await;
            assert!(refused.contains("It was switched off on") && refused.contains("Make a new one like it"), "{refused}");
        }
        let way = plain(shown.split("/console/webhooks/new?").nth(1).unwrap().split('"').next().unwrap());
        let form = Form::of(&page(&browser, &format!("/console/webhooks/new?{way}")).await, "/new");
        assert_eq!((form.value("targetUrl"), form.value("event").is_some()), (Some(NOBODY), true));
        let made = form.with("event", "task.created").send(&browser).await;
        assert!(made.status == 200 && made.body.as_str().unwrap().contains("whsec_"), "{}", made.body);
    }

    async fn a_new_one_is_limited_to_flats_and_says_what_is_for_apps(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        for name in ["Casa Uno", "Casa Dos", "Casa"] {
            org.record("property", json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })).await;
        }
        let browser = marta(&org).await;
        let new = page(&browser, "/console/webhooks/new").await;
        assert!(new.contains("workflow.step is for connected apps alone") && !new.contains("<option>workflow.step"), "{new}");
        assert!(page(&browser, "/console/webhooks/events").await.contains("workflow.step is for connected apps alone"));
        let form = Form::of(&new, "/new").with("event", "reservation.created").with("targetUrl", NOBODY);
        let refused = form.clone().with("flats", "Casa Uno\r\nCas").refused(&browser, 400).await;
        assert!(refused.contains("“Cas” is not the name of one flat") && refused.contains("Casa Uno") && refused.contains(NOBODY), "{refused}");
        let many = form.clone().with("flats", &"Casa\n".repeat(21)).refused(&browser, 400).await;
        assert!(many.contains("At most 20 flats"), "{many}");
        let made = form.with("flats", "casa uno\r\n\r\nCasa").send(&browser).await;
        assert_eq!(made.status, 200, "{}", made.body);
        let list = page(&browser, "/console/webhooks").await;
        let id = list.split("/console/webhooks/").find_map(|rest| uuid::Uuid::parse_str(rest.get(..36)?).ok()).unwrap();
        let shown = page(&browser, &format!("/console/webhooks/{id}")).await;
        assert!(shown.contains("Only of these flats") && shown.contains("Casa Uno") && !shown.contains("Casa Dos"), "{shown}");
        // Whoever may not look for flats is not asked for any.
        let other = member_with(&org, &[Permission::ViewTasks], None).await;
        assert!(!page(&other, "/console/webhooks/new").await.contains("Only of these flats"));
    }

    async fn others_reach_their_own_alone(app: App, "--webhook-allow=127.0.0.0/8") {
        let (org, elsewhere) = (app.org().await, app.org().await);
        let id = subscription(&org.key().await, "task.created", NOBODY).await;
        let others: Vec<Permission> = Permission::VARIANTS.iter().copied().filter(|known| *known != Permission::ManageOrganization).collect();
        let flat = org.property(None, &[]).await;
        for browser in [
            member_with(&org, &others, None).await,
            member_with(&org, Permission::VARIANTS, Some(&[flat])).await,
            marta(&elsewhere).await,
        ] {
            let list = page(&browser, "/console/webhooks").await;
            assert!(!list.contains(&id) && list.contains("There is no subscription"), "{list}");
            let form = field(&list, "form");
            for place in ["", "/rotate", "/delete"] {
                assert_eq!(browser.get(&format!("/console/webhooks/{id}{place}")).await.status, 404, "{place}");
            }
            for place in ["ping", "failed", "rotate", "delete", &format!("deliveries/{id}")] {
                let sent = [("form", form.as_str()), ("since", "2026-11-01T00:00"), ("hours", "1")];
                assert_eq!(browser.post(&format!("/console/webhooks/{id}/{place}"), &sent).await.status, 404, "{place}");
            }
        }
    }

    async fn keys_and_tokens_reach_their_own_whatever_they_hold(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        let (key, other) = (org.key().await, org.key().await);
        let ada = new_id();
        org.member(ada, None, Permission::VARIANTS, true).await;
        let token = org.token_of(ada, Permission::VARIANTS).await;
        let id = subscription(&key, "task.created", NOBODY).await;
        for api in [&other, &token] {
            for list in ["/webhook-subscriptions", "/webhook-subscriptions/reached"] {
                assert_eq!(api.get(list).await.data(), json!([]), "{list}");
            }
            assert_eq!(api.get(&format!("/webhook-subscriptions/{id}/deliveries")).await.status, 404);
            assert_eq!(api.post(&format!("/webhook-subscriptions/{id}/ping"), json!({})).await.status, 404);
            assert_eq!(api.post(&format!("/webhook-subscriptions/{id}/rotate-secret"), json!({})).await.status, 404);
            assert_eq!(api.send(Method::DELETE, &format!("/webhook-subscriptions?id={id}"), None).await.status, 404);
        }
        let own = key.get("/webhook-subscriptions/reached?limit=1").await;
        assert_eq!((&own.data()[0]["id"], &own.data()[0]["owner"]["kind"]), (&json!(id), &json!("api_key")));
        assert_eq!(own.body["meta"]["pagination"]["total"], 1);
        assert_eq!(key.get("/webhook-subscriptions/reached?state=late&event=x").await.issues(), ["event", "state"]);
        // A member deletes by address what is their own alone.
        let browser = marta(&org).await;
        assert!(page(&browser, "/console/webhooks").await.contains(&id));
    }

    async fn names_of_owners_are_text(app: App, "--webhook-allow=127.0.0.0/8") {
        let org = app.org().await;
        let made = app.platform().post(&org.path("/api-keys"), json!({ "name": NASTY, "permissions": ["view_tasks"] })).await.data();
        let api = app.api(made["token"].as_str().unwrap());
        let id = subscription(&api, "task.created", NOBODY).await;
        let browser = marta(&org).await;
        for place in [String::new(), format!("/{id}"), format!("/{id}/rotate"), format!("/{id}/delete")] {
            let shown = page(&browser, &format!("/console/webhooks{place}")).await;
            assert!(!shown.contains(NASTY) && plain(&shown).contains(NASTY), "{place}: {shown}");
        }
    }
}
