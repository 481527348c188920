//! Tests of the console's home, search, webhooks, access and audit log screens.

use engine::access::Permission;
use serde_json::json;
use strum::VariantArray;
use test_support::house::House;
use test_support::{App, new_id, on_both, reservation};

use super::{Form, html, marta, member_with, page, plain};
use crate::people::field;

const NASTY: &str = "<script>alert(1)</script>";
/// An HTTPS address on which nothing listens.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/hook";

/// Each screen, and a REST path that needs the same permissions.
const SCREENS: [(&str, &str); 6] = [
    ("/console/submissions", "/precheckin-submissions"),
    ("/console/stays", "/reservations"),
    ("/console/webhooks", "/webhook-subscriptions"),
    ("/console/access", "/connections"),
    ("/console/access/members", "/members"),
    ("/console/audit", "/audit-log"),
];

on_both!(work_screens_follow_the_members_permissions);
async fn work_screens_follow_the_members_permissions(app: App) {
    let house = House::build(&app).await;
    for permission in Permission::VARIANTS {
        let id = new_id();
        house.org.member(id, None, &[*permission], true).await;
        let browser = crate::people::signed_in(&house.org, id).await;
        let api = house.org.token_of(id, &[*permission]).await;
        let home = page(&browser, "/console").await;
        for (screen, call) in SCREENS {
            let (shown, called) = (browser.get(screen).await, api.get(call).await.status);
            assert_eq!(shown.status, called, "{screen} {}", permission.as_ref());
            html(&shown);
            if screen != "/console/access/members" {
                assert_eq!(
                    home.contains(&format!("href=\"{screen}\"")),
                    called == 200,
                    "{screen} {}",
                    permission.as_ref()
                );
            }
        }
    }
}

on_both!(home_shows_arrivals_and_steps_that_need_configuration);
async fn home_shows_arrivals_and_steps_that_need_configuration(app: App) {
    let house = House::build(&app).await;
    house
        .step(
            "damage_deposit",
            json!({ "isSecurityDepositEnabled": true, "nickname": format!("Deposit {NASTY}") }),
        )
        .await;
    let today = app.clock.now().to_string()[..10].to_owned();
    let mut coming = reservation(Some(house.flat));
    coming["checkIn"] = today.as_str().into();
    coming["checkOut"] = "2027-01-31".into();
    coming["guest"]["firstName"] = format!("Grace {NASTY}").into();
    let coming = house.org.record("reservation", coming).await;
    let home = page(&marta(&house.org).await, "/console").await;
    assert!(
        home.contains(&format!("/console/stays/{coming}"))
            && home.contains("0 of 1 steps complete"),
        "{home}"
    );
    assert!(home.contains("Steps with missing settings"), "{home}");
    assert!(
        !home.contains(NASTY) && plain(&home).matches(NASTY).count() >= 2,
        "{home}"
    );
}

on_both!(search_results_link_to_their_screens);
async fn search_results_link_to_their_screens(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("main", json!({ "nickname": format!("Casa step {NASTY}") }))
        .await;
    let browser = marta(&house.org).await;
    let html = page(&browser, "/console/search?query=casa").await;
    assert!(
        html.contains(&format!("/console/portals/{}", house.portal))
            && html.contains(&format!("/console/steps/{step}")),
        "{html}"
    );
    assert!(
        !html.contains(NASTY) && plain(&html).contains(NASTY),
        "{html}"
    );
    assert!(
        page(&browser, "/console/search?query=ada")
            .await
            .contains(&format!("/console/stays/{}", house.stay))
    );
    assert!(
        page(&browser, "/console/search?query=flat")
            .await
            .contains("propertyId=")
    );
    assert!(
        page(&browser, "/console/search?query=zzzz")
            .await
            .contains("Nothing was found")
    );
    // Groups and tags have no screen of their own, so the search shows their names without a link.
    for (kind, name) in [("property_group", "Seaside"), ("tag", "Balcony")] {
        house.org.record(kind, json!({ "name": name })).await;
        let html = page(&browser, &format!("/console/search?query={name}")).await;
        assert!(
            html.contains(&format!("<p class=\"main\" dir=\"auto\">{name}</p>")),
            "{html}"
        );
    }
    let nasty = page(
        &browser,
        "/console/search?query=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    )
    .await;
    assert!(!nasty.contains(NASTY), "{nasty}");
    assert!(
        page(&browser, "/console/search")
            .await
            .contains("What are you looking for?")
    );
    assert_eq!(
        browser
            .get(&format!("/console/search?query={}", "a".repeat(201)))
            .await
            .status,
        400
    );
}

on_both!(audit_entries_link_to_resources_and_name_references);
async fn audit_entries_link_to_resources_and_name_references(app: App) {
    let house = House::build(&app).await;
    let House { api, org, .. } = &house;
    let create = async |path: &str, body| {
        api.post(path, body).await.data()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let branding = create("/portal-brandings", json!({ "name": "Casa Mar" })).await;
    house
        .update_portal(
            house.portal,
            json!({
                "brandingId": branding,
                "communicationMethod": null,
                "excludedQuickAccessTypes": ["find_parking"],
            }),
        )
        .await;
    let category = create("/portal-manual-categories", json!({ "title": "Kitchen" })).await;
    let text = create(
        "/translations",
        json!({ "sourceTable": "manual", "text": "Oven" }),
    )
    .await;
    let flats: Vec<_> = [org.property(None, &[]).await, org.property(None, &[]).await].into();
    house
        .scopes(
            "add",
            "portal_settings",
            house.portal,
            json!({ "propertyIds": flats }),
        )
        .await;
    house
        .scopes(
            "remove",
            "portal_settings",
            house.portal,
            json!({ "propertyIds": [flats[0]] }),
        )
        .await;
    let browser = marta(org).await;
    let log = page(&browser, "/console/audit").await;
    let assigned = format!(
        "/console/assignments/portals/{}?to=properties",
        house.portal
    );
    for message in [
        &format!("/console/categories/{category}"),
        &format!("/console/translations/{text}"),
        &assigned,
        "Casa Mar",
        "Find parking",
        "2 added",
        "1 removed",
    ] {
        assert!(
            log.contains(&*message.replace('&', "&#38;")),
            "{message}: {log}"
        );
    }
    assert!(
        !log.contains(&format!("<span dir=\"auto\">{branding}")),
        "{log}"
    );
    assert!(!log.contains(&flats[0].to_string()), "{log}");
    let opened = log
        .split("<a href=\"")
        .skip(1)
        .filter(|rest| rest.contains(">Open<"))
        .map(|rest| rest.split('"').next().unwrap());
    assert!(
        opened.clone().count() > 3 && opened.clone().all(|way| way != "/console"),
        "{log}"
    );
    let spanish = browser
        .request(reqwest::Method::GET, "/console/audit")
        .header("accept-language", "es");
    let spanish = html(&browser.send(spanish).await);
    assert!(
        spanish.contains("2 añadidos")
            && spanish.contains("Alojamientos")
            && spanish.contains("Buscar aparcamiento"),
        "{spanish}"
    );
}

on_both!(refusals_are_shown_in_the_browser_language);
async fn refusals_are_shown_in_the_browser_language(app: App) {
    let org = app.org().await;
    let stranger = member_with(&org, &[Permission::ViewTasks], None).await;
    let text = |answer: test_support::ApiResponse| (answer.status, html(&answer));
    let asked = stranger
        .request(reqwest::Method::GET, "/console/portals")
        .header("accept-language", "es");
    let (status, refused) = text(stranger.send(asked).await);
    assert!(
        status == 403 && refused.contains("Le falta un permiso") && !refused.contains("You lack"),
        "{refused}"
    );
    let form = stranger
        .request(reqwest::Method::POST, "/console/portals/new")
        .header("accept-language", "fr");
    let form = form
        .header("content-type", "application/x-www-form-urlencoded")
        .body("form=x&name=y");
    let (status, refused) = text(stranger.send(form).await);
    assert!(
        status == 403 && refused.contains("Ce formulaire") && !refused.contains("The form"),
        "{refused}"
    );
}

on_both!(
    webhooks_are_created_monitored_and_deleted,
    "--webhook-allow=127.0.0.0/8"
);
async fn webhooks_are_created_monitored_and_deleted(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let new = Form::of(
        &page(&browser, "/console/webhooks/new").await,
        "/webhooks/new",
    );
    let nasty = format!("ftp://{NASTY}");
    let refused = new
        .clone()
        .with("event", "task.created")
        .with("targetUrl", &nasty)
        .refused(&browser, 400)
        .await;
    assert!(
        !refused.contains(NASTY)
            && plain(&refused).contains(&nasty)
            && refused.contains("selected"),
        "{refused}"
    );
    let created = new
        .with("event", "task.created")
        .with("targetUrl", CLOSED_ADDRESS)
        .send(&browser)
        .await;
    assert_eq!(created.status, 200, "{}", created.body);
    let created = html(&created);
    assert!(created.contains("whsec_"), "{created}");
    let path = format!(
        "/console/webhooks/{}",
        created
            .split("/console/webhooks/")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
    );
    assert!(page(&browser, "/console/webhooks").await.contains(&path));
    assert!(
        page(&browser, "/console/webhooks/events")
            .await
            .contains("Change the linen")
    );
    let shown = page(&browser, &path).await;
    assert!(
        shown.contains("Nothing was sent yet") && !shown.contains("whsec_"),
        "{shown}"
    );
    let (_, shown) = Form::of(&shown, "/ping").done(&browser, "sent").await;
    assert!(shown.contains("<b>ping</b>"), "{shown}");
    assert_eq!(
        Form::of(&shown, "/failed")
            .with("since", "soon")
            .send(&browser)
            .await
            .status,
        400
    );
    Form::of(&shown, "/failed")
        .with("since", "2026-11-01T00:00")
        .done(&browser, "sent")
        .await;
    // By default, the form sends the failed deliveries of the last day again. No delivery has
    // failed in that day, so the page says that nothing was sent.
    let (_, text) = Form::of(&page(&browser, &path).await, "/failed")
        .done(&browser, "sent_none")
        .await;
    assert!(text.contains("Nothing has failed since then"), "{text}");
    let rotate = page(&browser, &format!("{path}/rotate")).await;
    assert!(
        rotate.contains(&format!(
            "<a class=\"button plain\" href=\"{path}\">Cancel</a>"
        )),
        "{rotate}"
    );
    let rotate = Form::of(&rotate, "/rotate");
    let secret = html(&rotate.clone().send(&browser).await);
    assert!(secret.contains("whsec_") && secret != created);
    assert_eq!(
        rotate
            .with("hours", "many")
            .with("key", "")
            .send(&browser)
            .await
            .status,
        400
    );

    let others: Vec<Permission> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|permission| *permission != Permission::ManageOrganization)
        .collect();
    let other = member_with(&org, &others, None).await;
    assert_eq!(other.get(&path).await.status, 404);
    let form = field(&page(&other, "/console").await, "form");
    for place in [
        "ping",
        "failed",
        "rotate",
        "delete",
        "deliveries/0192f0c1-2345-7abc-8def-0123456789ab",
    ] {
        let response = other
            .post(
                &format!("{path}/{place}"),
                &[
                    ("form", &form),
                    ("since", "2026-11-01T00:00"),
                    ("hours", "1"),
                ],
            )
            .await;
        assert_eq!(response.status, 404, "{place}: {}", response.body);
    }
    let delete = page(&browser, &format!("{path}/delete")).await;
    assert!(delete.contains("cannot be undone"), "{delete}");
    Form::of(&delete, "/delete").done(&browser, "removed").await;
    assert_eq!(browser.get(&path).await.status, 404);
    let log = page(&browser, "/console/audit").await;
    assert!(
        !log.contains(&format!("href=\"{path}\"")),
        "nothing leads to what is gone: {log}"
    );
}

on_both!(members_and_their_sign_ins_and_changes_are_listed);
async fn members_and_their_sign_ins_and_changes_are_listed(app: App) {
    let org = app.org().await;
    let id = new_id();
    org.member(id, None, Permission::VARIANTS, true).await;
    let browser = crate::people::signed_in(&org, id).await;
    org.put(&format!("/members/{}", new_id()), json!({
        "name": NASTY, "email": "eve@example.com", "permissions": ["view_tasks"], "propertyIds": [],
        "isActive": false, "isTwoFactorEnrolled": false,
    })).await;
    let members = page(&browser, "/console/access/members").await;
    assert!(
        !members.contains(NASTY)
            && plain(&members).contains(NASTY)
            && members.contains("see tasks")
            && members.contains("0 flats"),
        "{members}"
    );
    assert!(
        page(&browser, "/console/access")
            .await
            .contains("No app is connected")
    );
    for query in ["", "?app=x&member=y", &format!("?app={id}&member={id}")] {
        assert_eq!(
            browser
                .get(&format!("/console/access/end{query}"))
                .await
                .status,
            404,
            "{query}"
        );
    }
    let api = org.key().await;
    let portal = api
        .post("/portals", json!({ "name": format!("Casa {NASTY}") }))
        .await
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for step in 0..30 {
        api.patch(
            &format!("/portals/{portal}"),
            json!({ "data": { "supportNotes": format!("Note {step}") } }),
        )
        .await;
    }
    let log = page(&browser, "/console/audit").await;
    assert!(
        !log.contains(NASTY)
            && plain(&log).contains(&format!("key changed the portal Casa {NASTY}")),
        "{log}"
    );
    assert!(
        log.contains("Note 29") && log.contains(&format!("/console/portals/{portal}")),
        "{log}"
    );
    let older = plain(
        log.split("rel=\"next\"")
            .next()
            .unwrap()
            .rsplit("href=\"")
            .next()
            .unwrap()
            .split('"')
            .next()
            .unwrap(),
    );
    let behind = page(&browser, &older).await;
    assert!(
        behind.contains("created the portal") && !behind.contains("Note 29"),
        "{behind}"
    );
    let one = page(&browser, &format!("/console/audit?target={portal}")).await;
    assert!(
        one.contains("Show everything") && !one.contains("signed in"),
        "{one}"
    );
    assert!(
        page(&browser, "/console/audit?after=nonsense&target=nonsense")
            .await
            .contains("changed the portal")
    );
    let limited = member_with(&org, Permission::VARIANTS, Some(&[])).await;
    assert!(
        !page(&limited, "/console/audit").await.contains(&portal),
        "what others did is nothing to somebody who reaches a part only"
    );
    assert_eq!(
        page(
            &browser,
            "/console/audit?target=0192f0c1-2345-7abc-8def-0123456789ab"
        )
        .await
        .matches("<li><p>")
        .count(),
        0
    );
}
