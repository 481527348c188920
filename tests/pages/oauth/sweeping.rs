//! Tests of the background task that deletes expired OAuth rows, and of the limits on their number.

use std::time::Duration;

use serde_json::json;
use test_support::{App, on_both};

use super::{MemberScene, Tokens, ask, refused, register, token, with};
use crate::people::signed_in;

const DAY: Duration = Duration::from_secs(86_400);

async fn count(app: &App, table: &str) -> i64 {
    app.query(format!("select count(*) from {table}"), Vec::new(), |row| {
        row.get(0)
    })
    .await[0]
}

on_both!(expired_grants_and_tokens_are_removed);
async fn expired_grants_and_tokens_are_removed(app: App) {
    let scene = MemberScene::build(&app).await;
    let tokens = scene.tokens(&scene.ask()).await;
    scene.code(&scene.ask()).await;
    let counts = async || {
        (
            count(&app, "oauth_grant").await,
            count(&app, "oauth_refresh_token").await,
            count(&app, "access_token").await,
        )
    };
    assert_eq!(counts().await, (2, 1, 1));
    app.clock.advance(Duration::from_secs(61));
    app.server.sweep_once().await;
    assert_eq!(counts().await, (1, 1, 1));
    app.clock.advance(Duration::from_secs(3_600));
    app.server.sweep_once().await;
    assert_eq!(counts().await, (1, 1, 0));
    Tokens::of(&scene.refresh(&tokens.refresh).await);
    app.clock.advance(30 * DAY);
    app.server.sweep_once().await;
    assert_eq!(counts().await, (0, 0, 0));
    // The platform created this access token without an expiry, so the sweep does not delete
    // it.
    scene.org.token_of(scene.member, &[]).await;
    app.clock.advance(400 * DAY);
    app.server.sweep_once().await;
    assert_eq!(count(&app, "access_token").await, 1);
}

on_both!(a_registered_client_without_grants_is_removed_after_30_days);
async fn a_registered_client_without_grants_is_removed_after_30_days(app: App) {
    let scene = MemberScene::build(&app).await;
    let uri = "https://notes.example/cb";
    let metadata = json!({ "redirect_uris": [uri], "token_endpoint_auth_method": "none" });
    let idle = register(&app, metadata.clone()).await.body["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let used = register(&app, metadata).await.body["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let form = with(
        with(
            scene.exchange_of(&scene.code(&ask(&used, uri)).await),
            "client_id",
            &used,
        ),
        "redirect_uri",
        uri,
    );
    let mut tokens = Tokens::of(&token(&app, &form).await);
    let renew = async |refresh: &str| {
        token(
            &app,
            &crate::oauth::pairs(&[
                ("grant_type", "refresh_token"),
                ("client_id", &used),
                ("refresh_token", refresh),
            ]),
        )
        .await
    };
    app.clock.advance(29 * DAY);
    app.server.sweep_once().await;
    tokens = Tokens::of(&renew(&tokens.refresh).await);
    app.clock.advance(DAY);
    app.server.sweep_once().await;
    let known = async |client: &str| {
        let browser = signed_in(&scene.org, scene.member).await;
        browser
            .get(&format!(
                "/oauth/authorize?{}",
                crate::oauth::encoded(&ask(client, uri))
            ))
            .await
            .status
            == 200
    };
    assert!(!known(&idle).await && known(&used).await);
    app.clock.advance(29 * DAY);
    app.server.sweep_once().await;
    refused(&renew(&tokens.refresh).await, 400, "invalid_grant");
    assert!(
        known(&used).await,
        "its time begins with the end of its last grant"
    );
    app.clock.advance(30 * DAY);
    app.server.sweep_once().await;
    assert!(!known(&used).await);
    assert_eq!(count(&app, "oauth_app").await, 1, "the platform's stay");
}

on_both!(the_number_of_codes_of_a_member_is_bounded);
async fn the_number_of_codes_of_a_member_is_bounded(app: App) {
    let scene = MemberScene::build(&app).await;
    let mut codes = Vec::new();
    for _ in 0..21 {
        codes.push(scene.code(&scene.ask()).await);
        app.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(count(&app, "oauth_grant").await, 20);
    refused(&scene.exchange(&codes[0]).await, 400, "invalid_grant");
    Tokens::of(&scene.exchange(&codes[1]).await);
    Tokens::of(&scene.exchange(&codes[20]).await);
}
