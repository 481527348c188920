//! Tests of connections between apps and members: how they are listed and how they end.

use std::time::Duration;

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use test_support::receiver::subscribe;
use test_support::{App, on_both};

use super::site::{Page, Site};
use super::{MemberScene, Tokens, ask, refused, token, with};

on_both!(each_app_member_and_resource_is_a_connection);
async fn each_app_member_and_resource_is_a_connection(app: App) {
    let scene = MemberScene::build(&app).await;
    let admin = scene.org.key().await;
    assert_eq!(admin.get("/connections").await.data(), json!([]));
    scene.code(&scene.ask()).await;
    assert_eq!(
        admin.get("/connections").await.data(),
        json!([]),
        "a code is none yet"
    );
    scene
        .tokens(&with(scene.ask_for_api(), "scope", "view_tasks"))
        .await;
    app.clock.advance(Duration::from_secs(60));
    let second = scene
        .tokens(&with(scene.ask_for_api(), "scope", "view_devices"))
        .await;
    scene.tokens(&scene.ask()).await;
    app.clock.advance(Duration::from_secs(60));
    Tokens::of(&scene.refresh(&second.refresh).await);
    let listed = admin.get("/connections").await;
    assert_eq!(listed.body["meta"]["pagination"]["total"], 2);
    let listed = listed.data();
    assert_eq!(
        listed[0],
        json!({
            "oauthAppId": scene.org.oauth_app,
            "memberId": scene.member,
            "name": "Client",
            "redirectHost": "client.example",
            "scopes": ["view_tasks", "view_devices"],
            "resource": scene.resource("/api/v1"),
            "connectedAt": "2026-11-21T09:30:00.000Z",
            "lastUsedAt": "2026-11-21T09:32:00.000Z",
        })
    );
    assert_eq!(
        (
            &listed[1]["resource"],
            &listed[1]["scopes"].as_array().unwrap().len()
        ),
        (&json!(scene.resource("/mcp")), &11)
    );
    assert_eq!(
        admin.get("/connections?limit=1&offset=1").await.data()[0],
        listed[1]
    );
    scene
        .org
        .key_without(Permission::ManageOrganization)
        .await
        .get("/connections")
        .await
        .error(403);
    assert_eq!(
        app.org().await.key().await.get("/connections").await.data(),
        json!([]),
        "each organization has its own"
    );
}

on_both!(ending_a_connection_revokes_everything_it_granted);
async fn ending_a_connection_revokes_everything_it_granted(app: App) {
    for ends in ["connection", "platform", "member"] {
        let scene = MemberScene::build(&app).await;
        let admin = scene.org.key().await;
        let (api, mcp, code) = (
            scene.tokens(&scene.ask_for_api()).await,
            scene.tokens(&scene.ask()).await,
            scene.code(&scene.ask()).await,
        );
        let subscription = subscribe(
            &scene.api(&api),
            "device.offline",
            "https://receiver.invalid/",
        )
        .await["id"]
            .clone();
        let path = format!("/connections/{}/{}", scene.org.oauth_app, scene.member);
        let stranger = app.org().await.key().await;
        stranger.send(Method::DELETE, &path, None).await.error(404);
        scene.api(&api).get("/portals").await.data();
        match ends {
            "connection" => drop(admin.ok(Method::DELETE, &path, None).await),
            "platform" => drop(
                app.platform()
                    .ok(Method::DELETE, &scene.org.path(&path), None)
                    .await,
            ),
            _ => drop(
                app.platform()
                    .ok(
                        Method::DELETE,
                        &scene.org.path(&format!("/members/{}", scene.member)),
                        None,
                    )
                    .await,
            ),
        }
        scene.api(&api).get("/portals").await.error(401);
        for tokens in [&api, &mcp] {
            refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        }
        refused(&scene.exchange(&code).await, 400, "invalid_grant");
        assert_eq!(admin.get("/connections").await.data(), json!([]));
        let text = "select disabled_reason from webhook_subscription where organization_id = ?1 \
            and id = ?2 and disabled_at is not null";
        let id: uuid::Uuid = subscription.as_str().unwrap().parse().unwrap();
        let disabled = app
            .query(text, vec![scene.org.id.into(), id.into()], |row| {
                row.get::<String>(0)
            })
            .await;
        assert_eq!(disabled.len(), 1, "{ends}");
        admin.send(Method::DELETE, &path, None).await.error(404);
    }
}

on_both!(an_unknown_connection_is_404);
async fn an_unknown_connection_is_404(app: App) {
    let scene = MemberScene::build(&app).await;
    let admin = scene.org.key().await;
    for app in [
        "x",
        "https%3A%2F%2Fapp.example%2Fclient.json",
        "https%3A%2F%2F",
        "a%00b",
    ] {
        admin
            .send(
                Method::DELETE,
                &format!("/connections/{app}/{}", scene.member),
                None,
            )
            .await
            .error(404);
    }
}

on_both!(an_app_acts_for_a_member_in_a_single_organization);
async fn an_app_acts_for_a_member_in_a_single_organization(app: App) {
    let scene = MemberScene::build(&app).await;
    let tokens = scene.tokens(&scene.ask_for_api()).await;
    // A member with the same id in another organization connects the same app.
    let other = app.org().await;
    other
        .member(scene.member, None, &[Permission::ViewTasks], true)
        .await;
    let there = MemberScene {
        browser: crate::people::signed_in(&other, scene.member).await,
        member: scene.member,
        org: other,
    };
    let ask = with(
        there.ask_for_api(),
        "client_id",
        &scene.org.oauth_app.to_string(),
    );
    let moved = Tokens::of(&scene.exchange(&there.code(&ask).await).await);
    scene.api(&tokens).get("/portals").await.error(401);
    refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    scene.api(&moved).get("/tasks").await.data();
}

on_both!(organizations_that_connect_an_app_at_once_do_not_block_each_other);
async fn organizations_that_connect_an_app_at_once_do_not_block_each_other(app: App) {
    let scene = MemberScene::build(&app).await;
    let other = app.org().await;
    other
        .member(scene.member, None, &[Permission::ViewTasks], true)
        .await;
    let connect = async |org: &test_support::Org<'_>| {
        let body = json!({
            "memberId": scene.member,
            "oauthAppId": scene.org.oauth_app,
            "permissions": ["view_tasks"],
        });
        app.platform()
            .send(Method::POST, &org.path("/access-tokens"), Some(body))
            .await
    };
    for round in 0..20 {
        let answers = tokio::join!(connect(&scene.org), connect(&other));
        let mut working = 0;
        for answer in [answers.0, answers.1] {
            // If both requests change the connection simultaneously, the service may answer one of
            // them with 503. The platform then has to send that request again.
            assert!(
                [201, 503].contains(&answer.status),
                "round {round}: {}",
                answer.body
            );
            if let Some(token) = answer.body["data"]["token"].as_str() {
                working += usize::from(app.api(token).get("/tasks").await.status == 200);
            }
        }
        assert_eq!(
            working, 1,
            "round {round}: the member is connected in one organization"
        );
    }
}

on_both!(subscriptions_last_as_long_as_their_grant);
async fn subscriptions_last_as_long_as_their_grant(app: App) {
    let scene = MemberScene::build(&app).await;
    let tokens = scene.tokens(&scene.ask_for_api()).await;
    let id: uuid::Uuid = subscribe(
        &scene.api(&tokens),
        "device.offline",
        "https://receiver.invalid/",
    )
    .await["id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let is_active = async || {
        let text = "select id from webhook_subscription where organization_id = ?1 and id = ?2 and \
            disabled_at is null";
        app.query(text, vec![scene.org.id.into(), id.into()], |row| {
            row.get::<uuid::Uuid>(0)
        })
        .await
        .len()
            == 1
    };
    app.clock.advance(Duration::from_secs(7_200));
    app.server.sweep_once().await;
    scene.api(&tokens).get("/portals").await.error(401);
    assert!(
        is_active().await,
        "the app can have another token whenever it likes"
    );
    app.clock.advance(Duration::from_secs(30 * 86_400));
    app.server.sweep_once().await;
    assert!(!is_active().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_a_document_client_is_named_by_its_url() {
    let site = Site::start().await;
    for app in site.servers().await {
        let scene = MemberScene::build(&app).await;
        let (url, redirect) = (
            format!("{}/client.json?v=1", site.base),
            "https://notes.example/cb",
        );
        site.put(
            "/client.json?v=1",
            Page::json(
                &json!({ "client_id": url, "client_name": "Notes", "redirect_uris": [redirect] }),
            ),
        );
        let code = scene
            .code(&with(
                ask(&url, redirect),
                "resource",
                &scene.resource("/api/v1"),
            ))
            .await;
        let form = with(
            with(scene.exchange_of(&code), "client_id", &url),
            "redirect_uri",
            redirect,
        );
        let tokens = Tokens::of(&token(&app, &form).await);
        let admin = scene.org.key().await;
        assert_eq!(
            admin.get("/connections").await.data()[0]["oauthAppId"],
            json!(url)
        );
        let encoded: String = form_urlencoded::byte_serialize(url.as_bytes()).collect();
        admin
            .ok(
                Method::DELETE,
                &format!("/connections/{encoded}/{}", scene.member),
                None,
            )
            .await;
        scene.api(&tokens).get("/portals").await.error(401);
    }
}
