//! A member who acts for themselves is a caller of their own: judged anew, counted, remembered.

use engine::access::Permission;
use serde_json::json;
use strum::VariantArray;

use super::{Form, page};
use crate::people::{Browser, signed_in};
use crate::support::{App, new_id, on_both};

async fn may_read(browser: &Browser) -> u16 {
    browser.get("/console/portals").await.status
}

on_both! {
    async fn what_a_member_may_is_judged_at_each_request(app: App) {
        let org = app.org().await;
        let id = new_id();
        org.member(id, None, Permission::VARIANTS, true).await;
        let browser = signed_in(&org, id).await;
        assert_eq!(may_read(&browser).await, 200);
        org.member(id, None, &[Permission::ViewGuides], true).await;
        assert_eq!(may_read(&browser).await, 403);
        org.member(id, None, Permission::VARIANTS, false).await;
        assert_eq!(may_read(&browser).await, 200);
        org.put("", json!({ "name": "Org", "isTwoFactorRequired": true })).await;
        assert_eq!(may_read(&browser).await, 303);
    }

    async fn requests_are_counted_by_member(app: App, "--rate-limit-per-minute=12") {
        let org = app.org().await;
        let id = new_id();
        org.member(id, None, Permission::VARIANTS, true).await;
        let (browser, copy) = (signed_in(&org, id).await, signed_in(&org, id).await);
        let mut last = 200;
        for number in 0..20 {
            last = may_read(if number % 2 == 0 { &browser } else { &copy }).await;
            if last == 429 {
                break;
            }
        }
        assert_eq!(last, 429);
        let other = new_id();
        org.member(other, None, Permission::VARIANTS, true).await;
        assert_eq!(may_read(&signed_in(&org, other).await).await, 200);
    }

    async fn a_member_owns_their_keys(app: App) {
        let org = app.org().await;
        let (one, other) = (new_id(), new_id());
        for id in [one, other] {
            org.member(id, None, Permission::VARIANTS, true).await;
        }
        let (first, second) = (signed_in(&org, one).await, signed_in(&org, other).await);
        let form = Form::of(&page(&first, "/console/portals/new").await, "/console/portals/new").with("name", "First");
        form.done(&first, "created").await;
        let theirs = Form::of(&page(&second, "/console/portals/new").await, "/console/portals/new");
        let same_key = theirs.with("key", form.value("key").unwrap()).with("name", "Second");
        same_key.done(&second, "created").await;
        assert_eq!(org.key().await.get("/portals").await.data().as_array().unwrap().len(), 2);
    }
}
