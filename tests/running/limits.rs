//! Tests of rate limits over HTTP (rules: limits#rate-limits). The time windows are tested in the
//! engine's own tests.

use std::time::Duration;

use test_support::{App, on_both};

on_both!(
    the_minute_limit_is_announced_and_enforced,
    "--rate-limit-per-minute=3"
);
async fn the_minute_limit_is_announced_and_enforced(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    for remaining in ["2", "1", "0"] {
        let response = api.get("/portals").await;
        response.data();
        assert_eq!(
            (
                response.header("x-ratelimit-limit"),
                response.header("x-ratelimit-remaining")
            ),
            (Some("3"), Some(remaining))
        );
        assert_eq!(response.header("x-ratelimit-reset"), Some("1795253460"));
    }
    let refused = api.get("/no-permission-needed-to-be-told").await;
    refused.error(404);
    let refused = api.get("/portals").await;
    let error = refused.error(429);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&"rate_limit_error".into(), &"RATE_LIMITED".into())
    );
    assert_eq!(
        (
            refused.header("retry-after"),
            refused.header("x-ratelimit-remaining")
        ),
        (Some("60"), Some("0"))
    );
    org.key().await.get("/portals").await.data();
    app.clock.advance(Duration::from_secs(60));
    assert_eq!(
        api.get("/portals").await.header("x-ratelimit-remaining"),
        Some("2")
    );
}

on_both!(
    the_second_limit_is_announced_if_it_is_the_only_limit,
    "--rate-limit-per-second=1"
);
async fn the_second_limit_is_announced_if_it_is_the_only_limit(app: App) {
    let api = app.org().await.key().await;
    assert_eq!(
        api.get("/portals").await.header("x-ratelimit-limit"),
        Some("1")
    );
    let refused = api.get("/portals").await;
    refused.error(429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    app.clock.advance(Duration::from_secs(1));
    api.get("/portals").await.data();
    let anonymous = app.anonymous().get("/portals").await;
    anonymous.error(401);
    assert_eq!(anonymous.header("x-ratelimit-limit"), None);
}

on_both!(without_limits_no_rate_limit_headers_are_sent);
async fn without_limits_no_rate_limit_headers_are_sent(app: App) {
    let api = app.org().await.key().await;
    assert_eq!(api.get("/portals").await.header("x-ratelimit-limit"), None);
}
