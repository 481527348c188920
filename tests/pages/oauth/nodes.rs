//! Tests of OAuth with two nodes on one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join;
use serde_json::json;
use test_support::middle_box::MiddleBox;
use test_support::standby::Standby;
use test_support::{ApiResponse, App, postgres};

use super::site::{Page, Site};
use super::{MemberScene, Pairs, Tokens, ask, encoded, post, refused, register, token, with};
use crate::people::Browser;

/// Flag with the public URL of both nodes.
const PUBLIC_URL: &str = "--public-url=http://stay.example";
/// Time limit of a fail-over.
const OUTAGE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_of_a_node_is_exchanged_once_on_the_other_node() {
    let Some(app) = App::on_postgres(&[PUBLIC_URL]).await else {
        return;
    };
    let other = app.second_node(&[PUBLIC_URL]).await;
    let scene = MemberScene::build(&app).await;
    let code = scene.code(&scene.ask_for_api()).await;
    let form = scene.exchange_of(&code);
    refused(
        &token(&other, &with(form.clone(), "code_verifier", "short")).await,
        400,
        "invalid_grant",
    );
    let tokens = Tokens::of(&token(&other, &form).await);
    for node in [&app, &other] {
        node.api(&tokens.access).get("/portals").await.data();
    }
    refused(&token(&app, &form).await, 400, "invalid_grant");
    for node in [&app, &other] {
        node.api(&tokens.access).get("/portals").await.error(401);
    }
    for _ in 0..10 {
        let form = scene.exchange_of(&scene.code(&scene.ask_for_api()).await);
        let (one, two) = join(token(&app, &form), token(&other, &form)).await;
        let (won, lost) = if one.status == 200 {
            (one, two)
        } else {
            (two, one)
        };
        let tokens = Tokens::of(&won);
        refused(&lost, 400, "invalid_grant");
        app.api(&tokens.access).get("/portals").await.error(401);
        let tokens = Tokens::of(
            &scene
                .exchange(&scene.code(&scene.ask_for_api()).await)
                .await,
        );
        let refresh = super::pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &scene.org.oauth_app.to_string()),
            ("refresh_token", &tokens.refresh),
        ]);
        let (one, two) = join(token(&app, &refresh), token(&other, &refresh)).await;
        assert_eq!(Tokens::of(&one).refresh, Tokens::of(&two).refresh);
    }
}

/// Two processes of one assistant refresh the same grant every 15 seconds, each at its own node.
/// The two processes send their requests at the same time or some seconds apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_refreshers_on_two_nodes_keep_their_grant_for_ten_minutes() {
    const ROUND: u64 = 15;
    const ROUNDS: u64 = 600 / ROUND;
    let Some(app) = App::on_postgres(&[PUBLIC_URL]).await else {
        return;
    };
    let other = app.second_node(&[PUBLIC_URL]).await;
    let scene = MemberScene::build(&app).await;
    let first = scene.tokens(&scene.ask_for_api()).await;
    let client = scene.org.oauth_app.to_string();
    let form = |tokens: &Tokens| {
        super::pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", &tokens.refresh),
        ])
    };
    let advance = |seconds| {
        app.clock.advance(Duration::from_secs(seconds));
        other.clock.advance(Duration::from_secs(seconds));
    };
    let (mut one, mut two) = (first.clone(), first);
    for round in 0..ROUNDS {
        let (here, there) = if round % 2 == 0 {
            (&app, &other)
        } else {
            (&other, &app)
        };
        let (forms, lag) = ((form(&one), form(&two)), round % 3 * 7);
        let (early, late) = if lag == 0 {
            join(token(here, &forms.0), token(there, &forms.1)).await
        } else {
            let early = token(here, &forms.0).await;
            advance(lag);
            (early, token(there, &forms.1).await)
        };
        (one, two) = (Tokens::of(&early), Tokens::of(&late));
        for (node, tokens) in [(here, &two), (there, &one)] {
            node.api(&tokens.access).get("/portals").await.data();
        }
        advance(ROUND - lag);
    }
}

/// Repeats a request to the token endpoint until the response is not a 503.
async fn token_after_retries(node: &App, form: &Pairs) -> Tokens {
    let start = Instant::now();
    loop {
        let response = ApiResponse::of(post(node, "/oauth/token", form)).await;
        if response.status != 503 {
            return Tokens::of(&response);
        }
        assert!(start.elapsed() < OUTAGE, "{}", response.body);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Two processes of one assistant refresh the same grant at two nodes, while the primary becomes
/// unreachable and its standby takes over. A process that gets a 503 repeats its request, because
/// the exchange may have been committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_refreshers_on_two_nodes_keep_their_grant_over_a_fail_over() {
    const ROUNDS: u32 = 40;
    const ROUND: Duration = Duration::from_secs(15);
    let Some(primary) = tokio::task::spawn_blocking(postgres::fresh_cluster)
        .await
        .unwrap()
    else {
        return;
    };
    let url = primary.clone();
    let standby = tokio::task::spawn_blocking(move || {
        let standby = Standby::of(&url);
        standby.make_synchronous();
        standby
    });
    let standby = Arc::new(standby.await.unwrap());
    let first_host = MiddleBox::in_front_of(&primary).await;
    let (first, database) = first_host.database_url.rsplit_once('/').unwrap();
    let second = standby.database_url.split_once('@').unwrap().1;
    assert!(second.ends_with(database));
    let both = format!("{first},{second}?target_session_attrs=read-write");
    let app = App::on(both, &[PUBLIC_URL]).await;
    let other = app.second_node(&[PUBLIC_URL]).await;
    let scene = MemberScene::build(&app).await;
    let tokens = scene.tokens(&scene.ask_for_api()).await;
    let client = scene.org.oauth_app.to_string();
    let form = |tokens: &Tokens| {
        super::pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", &tokens.refresh),
        ])
    };
    let (mut one, mut two) = (tokens.clone(), tokens);
    let mut takeover = None;
    for round in 0..ROUNDS {
        if round == ROUNDS / 2 {
            first_host.close();
            let new_primary = standby.clone();
            takeover = Some(tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(500));
                new_primary.promote();
            }));
        }
        let (here, there) = if round % 2 == 0 {
            (&app, &other)
        } else {
            (&other, &app)
        };
        let forms = (form(&one), form(&two));
        (one, two) = join(
            token_after_retries(here, &forms.0),
            token_after_retries(there, &forms.1),
        )
        .await;
        for (node, tokens) in [(here, &two), (there, &one)] {
            let request = node.api(&tokens.access).get("/portals").await;
            assert_eq!(request.status, 200, "{round}: {}", request.body);
        }
        app.clock.advance(ROUND);
        other.clock.advance(ROUND);
    }
    takeover.unwrap().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registered_client_can_be_used_on_both_nodes() {
    let site = Site::start().await;
    let flags = site.flags();
    let flags = [PUBLIC_URL, &flags[0], &flags[1]];
    let Some(app) = App::on_postgres(&flags).await else {
        return;
    };
    let other = app.second_node(&flags).await;
    let scene = MemberScene::build(&app).await;
    let (url, redirect) = (
        format!("{}/client.json", site.base),
        "https://notes.example/cb",
    );
    site.put(
        "/client.json",
        Page::json(&json!({ "client_id": url, "redirect_uris": [redirect] })),
    );
    let registered = register(
        &app,
        json!({ "redirect_uris": [redirect], "token_endpoint_auth_method": "none" }),
    )
    .await
    .body;
    let there = Browser::at(&other.base);
    there.set(
        "vestibule_session",
        &scene.browser.cookie("vestibule_session").unwrap(),
    );
    for client in [url.as_str(), registered["client_id"].as_str().unwrap()] {
        scene.page(&ask(client, redirect)).await;
        let response = there
            .get(&format!(
                "/oauth/authorize?{}",
                encoded(&ask(client, redirect))
            ))
            .await;
        assert_eq!(response.status, 200, "{client}");
    }
    assert_eq!(site.request_count(), 1);
}
