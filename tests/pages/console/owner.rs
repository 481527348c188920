//! Tests of a console member as a caller of operations: permissions are checked on every request,
//! and each member has separate rate limits and idempotency keys.

use engine::access::Permission;
use serde_json::json;
use strum::VariantArray;
use test_support::{App, new_id, on_both};

use super::{Form, page};
use crate::people::{Browser, signed_in};

async fn may_read(browser: &Browser) -> u16 {
    browser.get("/console/portals").await.status
}

on_both!(permissions_are_checked_on_every_request);
async fn permissions_are_checked_on_every_request(app: App) {
    let org = app.org().await;
    let id = new_id();
    org.member(id, None, Permission::VARIANTS, true).await;
    let browser = signed_in(&org, id).await;
    assert_eq!(may_read(&browser).await, 200);
    org.member(id, None, &[Permission::ViewGuides], true).await;
    assert_eq!(may_read(&browser).await, 403);
    org.member(id, None, Permission::VARIANTS, false).await;
    assert_eq!(may_read(&browser).await, 200);
    org.put("", json!({ "name": "Org", "isTwoFactorRequired": true }))
        .await;
    assert_eq!(may_read(&browser).await, 303);
}

on_both!(
    a_page_counts_once_for_its_member,
    "--console-rate-limit-per-minute=12",
    "--rate-limit-per-minute=2"
);
async fn a_page_counts_once_for_its_member(app: App) {
    let org = app.org().await;
    let id = new_id();
    org.member(id, None, Permission::VARIANTS, true).await;
    let (browser, copy) = (signed_in(&org, id).await, signed_in(&org, id).await);
    for number in 0..10 {
        let session = if number % 2 == 0 { &browser } else { &copy };
        assert_eq!(may_read(session).await, 200, "page {number}");
    }
    for _ in 10..12 {
        may_read(&copy).await;
    }
    let refused = browser.get("/console/portals").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("60"))
    );
    let other = new_id();
    org.member(other, None, Permission::VARIANTS, true).await;
    assert_eq!(may_read(&signed_in(&org, other).await).await, 200);
}

on_both!(idempotency_keys_belong_to_a_member);
async fn idempotency_keys_belong_to_a_member(app: App) {
    let org = app.org().await;
    let (one, other) = (new_id(), new_id());
    for id in [one, other] {
        org.member(id, None, Permission::VARIANTS, true).await;
    }
    let (first, second) = (signed_in(&org, one).await, signed_in(&org, other).await);
    let form = Form::of(
        &page(&first, "/console/portals/new").await,
        "/console/portals/new",
    )
    .with("name", "First");
    form.done(&first, "created").await;
    let theirs = Form::of(
        &page(&second, "/console/portals/new").await,
        "/console/portals/new",
    );
    let same_key = theirs
        .with("key", form.value("key").unwrap())
        .with("name", "Second");
    same_key.done(&second, "created").await;
    assert_eq!(
        org.key()
            .await
            .get("/portals")
            .await
            .data()
            .as_array()
            .unwrap()
            .len(),
        2
    );
}
