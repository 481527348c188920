//! Tests of the set-up link of a new server, and of invitations of members (rules:
//! organizations#first-start; members#invitations).

use std::time::Duration;

use access::people::{self, Invitation};
use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;
use test_support::{ApiResponse, App, new_id, on_both};

use super::{Browser, field, guarded, html, signed_in};
use crate::console;

const TYPED: [(&str, &str); 6] = [
    ("organization", "Casa Mar"),
    ("country", "es"),
    ("timezone", "Europe/Madrid"),
    ("languages", "es"),
    ("name", "Marta"),
    ("email", "marta@example.com"),
];

async fn link(app: &App) -> Option<String> {
    let link = people::setup_link(&app.server.service).await.unwrap()?;
    Some(link.strip_prefix(&app.base).unwrap().to_owned())
}

on_both!(a_set_up_link_creates_the_first_organization_and_its_member);
async fn a_set_up_link_creates_the_first_organization_and_its_member(app: App) {
    let (first, second) = (link(&app).await.unwrap(), link(&app).await.unwrap());
    let browser = Browser::new(&app);
    let response = browser.get(&first).await;
    let (page, _) = guarded(&response, &[]);
    assert!(
        page.contains("Set up Vestibule") && page.contains("Europe/Madrid"),
        "{page}"
    );
    let (form, ticket) = (field(&page, "form"), field(&page, "ticket"));
    let hidden = [("form", form.as_str()), ("ticket", ticket.as_str())];
    let wrong = [
        ("organization", ""),
        ("country", "Spain"),
        ("timezone", "Madrid"),
        ("name", "Marta"),
        ("email", "marta"),
    ];
    let again = browser
        .post("/setup", &[&hidden[..], &wrong].concat())
        .await;
    assert_eq!(again.status, 400, "{}", again.body);
    let again = html(&again);
    assert!(
        again.contains("value=\"Marta\"")
            && again.contains("must be a time zone")
            && again.contains("must be an email address"),
        "{again}"
    );
    assert_eq!(
        Browser::new(&app)
            .post(
                "/setup",
                &[&[("ticket", ticket.as_str())], &TYPED[..]].concat()
            )
            .await
            .status,
        403
    );
    let created = browser
        .post("/setup", &[&hidden[..], &TYPED].concat())
        .await;
    assert_eq!(
        (created.status, created.header("location")),
        (303, Some("/console")),
        "{}",
        created.body
    );
    let home = browser.get("/console").await;
    assert!(
        home.status == 200 && console::html(&home).contains("Casa Mar"),
        "{}",
        home.body
    );
    // The first set-up link is used up, and the second one is void. The service creates no
    // third link.
    for link in [&first, &second] {
        assert_eq!(browser.get(link).await.status, 404);
    }
    assert_eq!(
        browser
            .post("/setup", &[&hidden[..], &TYPED].concat())
            .await
            .status,
        403
    );
    assert_eq!(link(&app).await, None);
    let organizations = app.platform().get("/organizations").await.data();
    assert_eq!(
        (
            organizations.as_array().unwrap().len(),
            &organizations[0]["timezone"],
            &organizations[0]["languages"]
        ),
        (1, &json!("Europe/Madrid"), &json!(["en", "es"]))
    );
    let members = app
        .platform()
        .get(&format!(
            "/organizations/{}/members",
            organizations[0]["id"].as_str().unwrap()
        ))
        .await
        .data();
    assert_eq!(
        (
            &members[0]["email"],
            members[0]["permissions"].as_array().unwrap().len()
        ),
        (&json!("marta@example.com"), Permission::VARIANTS.len())
    );
}

on_both!(a_set_up_link_is_valid_for_an_hour);
async fn a_set_up_link_is_valid_for_an_hour(app: App) {
    let link = link(&app).await.unwrap();
    let browser = Browser::new(&app);
    app.clock.advance(Duration::from_secs(3_599));
    assert_eq!(browser.get(&link).await.status, 200);
    app.clock.advance(Duration::from_secs(2));
    assert_eq!(browser.get(&link).await.status, 404);
    for path in ["/setup", "/setup?ticket=su_x", "/setup/x"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
}

on_both!(the_root_redirects_a_browser_to_the_console);
async fn the_root_redirects_a_browser_to_the_console(app: App) {
    let response = Browser::new(&app).get("/").await;
    assert_eq!(
        (response.status, response.header("location")),
        (303, Some("/console"))
    );
    let response = ApiResponse::of(app.http.get(format!("{}/", app.base))).await;
    assert_eq!(response.error(404)["code"], "NOT_FOUND");
    let response = ApiResponse::of(
        app.http
            .post(format!("{}/", app.base))
            .header("accept", "text/html"),
    )
    .await;
    response.error(404);
}

on_both!(an_invited_member_signs_in_by_the_link);
async fn an_invited_member_signs_in_by_the_link(app: App) {
    let org = app.org().await;
    let invitation = Invitation {
        organization: org.id,
        email: "Ada@Example.com".into(),
        name: None,
        permissions: None,
    };
    let invited = people::invite(&app.server.service, invitation.clone())
        .await
        .unwrap();
    assert!(invited.is_new && invited.has_every_permission);
    app.clock.advance(Duration::from_secs(3_500));
    let browser = Browser::new(&app);
    assert_eq!(
        browser
            .sign_in(invited.url.strip_prefix(&app.base).unwrap())
            .await,
        "/console"
    );
    let again = Invitation {
        email: "ada@example.com".into(),
        name: Some("Ada".into()),
        permissions: Some(vec![Permission::ViewGuides]),
        ..invitation.clone()
    };
    let again = people::invite(&app.server.service, again).await.unwrap();
    assert_eq!((again.member, again.is_new), (invited.member, false));
    let member = app.platform().get(&org.path("/members")).await.data()[0].clone();
    assert_eq!(
        (&member["email"], &member["name"], &member["permissions"]),
        (
            &json!("Ada@Example.com"),
            &json!("Ada"),
            &json!(["view_guides"])
        )
    );
    let mut inactive = member.clone();
    for field in ["id", "createdAt", "updatedAt"] {
        inactive.as_object_mut().unwrap().remove(field);
    }
    inactive["isActive"] = false.into();
    org.put(&format!("/members/{}", invited.member), inactive)
        .await;
    assert!(
        people::invite(&app.server.service, invitation.clone())
            .await
            .is_err()
    );
    let nowhere = Invitation {
        organization: new_id(),
        ..invitation
    };
    assert!(people::invite(&app.server.service, nowhere).await.is_err());
}

on_both!(a_member_grants_at_most_their_own_permissions);
async fn a_member_grants_at_most_their_own_permissions(app: App) {
    let org = app.org().await;
    let own: Vec<Permission> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|permission| *permission != Permission::ViewDevices)
        .collect();
    let (me, other) = (new_id(), new_id());
    org.member(me, None, &own, true).await;
    org.put(
        &format!("/members/{other}"),
        json!({
            "name": "Other",
            "email": "other@example.com",
            "permissions": ["view_devices"],
            "propertyIds": null,
            "isActive": true,
            "isTwoFactorEnrolled": false,
        }),
    )
    .await;
    let browser = signed_in(&org, me).await;
    let page = console::html(&browser.get("/console/access/members/new").await);
    let form = field(&page, "form");
    let invite = async |email: &str, permission: &str| {
        let key = new_id().to_string();
        browser
            .post(
                "/console/access/members/new",
                &[
                    ("form", form.as_str()),
                    ("key", &key),
                    ("name", "New"),
                    ("email", email),
                    ("permissions.here", "1"),
                    ("permissions", permission),
                    ("propertyIds.here", "1"),
                    ("propertyIds.set", "no"),
                ],
            )
            .await
    };
    assert_eq!(invite("new@example.com", "view_devices").await.status, 403);
    assert_eq!(invite("OTHER@example.com", "view_guides").await.status, 409);
    let created = invite("new@example.com", "view_guides").await;
    assert!(
        created.status == 200 && console::html(&created).contains("/sign-in?ticket=st_"),
        "{}",
        created.body
    );
    let link = browser
        .post(
            &format!("/console/access/members/{other}/link"),
            &[("form", &form)],
        )
        .await;
    assert_eq!(
        link.status, 403,
        "nobody signs in as a member with more permissions"
    );
    // An API key may have the permission to write members. Nevertheless only a member can
    // invite members.
    let body = json!({ "email": "key@example.com", "permissions": [] });
    org.key().await.post("/members", body).await.error(403);
    let token = org.token_of(me, &own).await;
    token
        .send(
            Method::PATCH,
            &format!("/members/{other}"),
            Some(json!({ "data": { "isActive": false } })),
        )
        .await
        .error(403);
}

on_both!(a_member_changes_no_access_that_they_lack);
async fn a_member_changes_no_access_that_they_lack(app: App) {
    let org = app.org().await;
    let own: Vec<Permission> = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|permission| *permission != Permission::ViewDevices)
        .collect();
    let (me, other, flat) = (new_id(), new_id(), org.property(None, &[]).await);
    org.member(me, None, &own, true).await;
    org.put(
        &format!("/members/{other}"),
        json!({
            "name": "Other",
            "email": "other@example.com",
            "permissions": ["view_devices", "view_guides"],
            "propertyIds": [flat],
            "isActive": true,
            "isTwoFactorEnrolled": false,
        }),
    )
    .await;
    let stored = async || {
        let members = app.platform().get(&org.path("/members")).await.data();
        members
            .as_array()
            .unwrap()
            .iter()
            .find(|member| member["id"] == json!(other))
            .unwrap()
            .clone()
    };
    let before = stored().await;
    let browser = signed_in(&org, me).await;
    let path = format!("/console/access/members/{other}");
    let form = console::Form::of(&console::page(&browser, &path).await, &path);
    form.clone()
        .with("propertyIds.set", "no")
        .refused(&browser, 403)
        .await;
    form.clone()
        .with("email", "else@example.com")
        .refused(&browser, 403)
        .await;
    form.clone()
        .without("isActive")
        .refused(&browser, 403)
        .await;
    form.clone()
        .with("permissions", "view_guides")
        .refused(&browser, 403)
        .await;
    assert_eq!(stored().await, before);
    form.with("name", "Ada").done(&browser, "saved").await;
    assert_eq!(stored().await["name"], "Ada");
}
