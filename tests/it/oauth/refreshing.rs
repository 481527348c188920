//! Refresh tokens and revocation.

use std::time::Duration;

use futures_util::future::join;
use serde_json::json;

use super::{Scene, Tokens, pairs, post, refused, register, with};
use crate::support::{Answer, App, on_both};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

async fn revoke(app: &App, client: &str, token: &str) -> Answer {
    Answer::of(post(app, "/oauth/revoke", &pairs(&[("client_id", client), ("token", token)]))).await
}

on_both! {
    async fn a_refresh_token_is_exchanged_for_a_pair_and_answers_for_a_minute_more(app: App) {
        let scene = Scene::build(&app).await;
        let first = scene.tokens(&scene.ask_for_api()).await;
        let second = Tokens::of(&scene.refresh(&first.refresh).await);
        assert!(second.refresh != first.refresh && second.access != first.access && second.scope == first.scope);
        // Its answer was lost, perhaps.
        app.clock.advance(Duration::from_secs(59));
        let again = Tokens::of(&scene.refresh(&first.refresh).await);
        let third = Tokens::of(&scene.refresh(&again.refresh).await);
        for tokens in [&first, &second, &again, &third] {
            scene.api(tokens).get("/portals").await.data();
        }
    }

    async fn a_refresh_token_that_was_replaced_for_long_ends_the_grant(app: App) {
        let scene = Scene::build(&app).await;
        let (first, bystander) = (scene.tokens(&scene.ask_for_api()).await, scene.tokens(&scene.ask_for_api()).await);
        let second = Tokens::of(&scene.refresh(&first.refresh).await);
        app.clock.advance(MINUTE);
        let third = Tokens::of(&scene.refresh(&second.refresh).await);
        refused(&scene.refresh(&first.refresh).await, 400, "invalid_grant");
        for tokens in [&first, &second, &third] {
            scene.api(tokens).get("/portals").await.error(401);
            refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        }
        scene.api(&bystander).get("/portals").await.data();
        Tokens::of(&scene.refresh(&bystander.refresh).await);
    }

    async fn two_at_once_both_have_a_pair(app: App) {
        let scene = Scene::build(&app).await;
        let first = scene.tokens(&scene.ask_for_api()).await;
        let (one, other) = join(scene.refresh(&first.refresh), scene.refresh(&first.refresh)).await;
        let (one, other) = (Tokens::of(&one), Tokens::of(&other));
        assert_ne!(one.refresh, other.refresh);
        for tokens in [&one, &other] {
            scene.api(tokens).get("/portals").await.data();
        }
        for tokens in [&one, &other] {
            Tokens::of(&scene.refresh(&tokens.refresh).await);
        }
    }

    async fn of_two_heirs_the_one_that_is_used_goes_on_alone(app: App) {
        for is_first_used in [true, false] {
            let scene = Scene::build(&app).await;
            let first = scene.tokens(&scene.ask_for_api()).await;
            let pair = [Tokens::of(&scene.refresh(&first.refresh).await), Tokens::of(&scene.refresh(&first.refresh).await)];
            let [used, other] = if is_first_used { [&pair[0], &pair[1]] } else { [&pair[1], &pair[0]] };
            let mut latest = Tokens::of(&scene.refresh(&used.refresh).await);
            // An answer may be lost again, and the one before answers for its minute.
            latest = Tokens::of(&scene.refresh(&latest.refresh).await);
            Tokens::of(&scene.refresh(&used.refresh).await);
            Tokens::of(&scene.refresh(&first.refresh).await);
            latest = Tokens::of(&scene.refresh(&latest.refresh).await);
            for _ in 0..3 {
                app.clock.advance(DAY);
                latest = Tokens::of(&scene.refresh(&latest.refresh).await);
            }
            // Whoever has the other has been given what was meant for somebody else.
            refused(&scene.refresh(&other.refresh).await, 400, "invalid_grant");
            scene.api(&latest).get("/portals").await.error(401);
            refused(&scene.refresh(&latest.refresh).await, 400, "invalid_grant");
        }
    }

    async fn the_other_heir_answers_for_a_minute_and_then_ends_the_grant(app: App) {
        let scene = Scene::build(&app).await;
        let first = scene.tokens(&scene.ask_for_api()).await;
        let [used, other] = [Tokens::of(&scene.refresh(&first.refresh).await), Tokens::of(&scene.refresh(&first.refresh).await)];
        let third = Tokens::of(&scene.refresh(&used.refresh).await);
        app.clock.advance(Duration::from_secs(59));
        let fourth = Tokens::of(&scene.refresh(&other.refresh).await);
        app.clock.advance(Duration::from_secs(2));
        refused(&scene.refresh(&other.refresh).await, 400, "invalid_grant");
        for tokens in [&third, &fourth] {
            scene.api(tokens).get("/portals").await.error(401);
            refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        }
    }

    async fn a_refresh_may_ask_for_less_and_never_for_more(app: App) {
        let scene = Scene::build(&app).await;
        let first = scene.tokens(&with(scene.ask_for_api(), "scope", "view_tasks view_devices")).await;
        for (scope, error) in [("view_tasks manage_organization", "invalid_scope"), ("view_everything", "invalid_scope"), (" ", "invalid_scope")] {
            refused(&scene.refresh_with(&first.refresh, &[("scope", scope)]).await, 400, error);
        }
        let mcp = scene.resource("/mcp");
        refused(&scene.refresh_with(&first.refresh, &[("resource", &mcp)]).await, 400, "invalid_target");
        let less = Tokens::of(&scene.refresh_with(&first.refresh, &[("scope", "view_tasks"), ("resource", &scene.resource("/api/v1"))]).await);
        assert_eq!(less.scope, "view_tasks");
        scene.api(&less).get("/tasks").await.data();
        scene.api(&less).get("/devices").await.error(403);
        // What was granted stays granted (RFC 6749, section 6).
        assert_eq!(Tokens::of(&scene.refresh(&less.refresh).await).scope, "view_tasks view_devices");
    }

    async fn thirty_days_without_use_end_it(app: App) {
        let scene = Scene::build(&app).await;
        let mut tokens = scene.tokens(&scene.ask_for_api()).await;
        for _ in 0..3 {
            app.clock.advance(29 * DAY);
            app.server.sweep_once().await;
            tokens = Tokens::of(&scene.refresh(&tokens.refresh).await);
        }
        app.clock.advance(30 * DAY);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        app.server.sweep_once().await;
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    }

    async fn a_refresh_token_is_of_one_client(app: App) {
        let scene = Scene::build(&app).await;
        let tokens = scene.tokens(&scene.ask_for_api()).await;
        let other = register(&app, json!({ "redirect_uris": ["https://x.example/"], "token_endpoint_auth_method": "none" })).await;
        let other = other.body["client_id"].as_str().unwrap().to_owned();
        let stolen = pairs(&[("grant_type", "refresh_token"), ("client_id", &other), ("refresh_token", &tokens.refresh)]);
        refused(&crate::oauth::token(&app, &stolen).await, 400, "invalid_grant");
        for token in [&tokens.refresh, &tokens.access] {
            refused(&revoke(&app, &other, token).await, 400, "invalid_grant");
        }
        scene.api(&tokens).get("/portals").await.data();
        Tokens::of(&scene.refresh(&tokens.refresh).await);
        for token in ["", "rt_", "rt_x", "ac_x", "at_x", "\0", &"a".repeat(5_000)] {
            let answer = scene.refresh(token).await;
            assert_eq!(answer.status, 400, "{token}: {}", answer.body);
        }
    }

    async fn a_client_ends_what_it_holds(app: App) {
        let scene = Scene::build(&app).await;
        let id = scene.org.oauth_app.to_string();
        let (one, other) = (scene.tokens(&scene.ask_for_api()).await, scene.tokens(&scene.ask_for_api()).await);
        assert_eq!(revoke(&app, &id, &one.access).await.status, 200);
        scene.api(&one).get("/portals").await.error(401);
        let one = Tokens::of(&scene.refresh(&one.refresh).await);
        scene.api(&one).get("/portals").await.data();
        assert_eq!(revoke(&app, &id, &one.refresh).await.status, 200);
        scene.api(&one).get("/portals").await.error(401);
        refused(&scene.refresh(&one.refresh).await, 400, "invalid_grant");
        scene.api(&other).get("/portals").await.data();
        for unknown in [one.refresh.as_str(), one.access.as_str(), "rt_x", "at_x", "x"] {
            assert_eq!(revoke(&app, &id, unknown).await.status, 200, "{unknown}");
        }
        refused(&revoke(&app, &id, "").await, 400, "invalid_request");
        refused(&revoke(&app, "nobody", &other.access).await, 401, "invalid_client");
        scene.api(&other).get("/portals").await.data();
    }
}
