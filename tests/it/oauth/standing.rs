//! Members who lose something while an app acts for them.

use engine::access::Permission;
use reqwest::Method;
use serde_json::json;
use strum::VariantArray;

use super::{Scene, Tokens, refused};
use crate::people::signed_in;
use crate::support::{App, new_id, on_both};

on_both! {
    async fn what_a_member_loses_their_apps_lose(app: App) {
        let org = app.org().await;
        let (mine, other, member) = (org.property(None, &[]).await, org.property(None, &[]).await, new_id());
        org.member(member, Some(&[mine, other]), Permission::VARIANTS, true).await;
        let browser = signed_in(&org, member).await;
        let scene = Scene { org, member, browser };
        let tokens = scene.tokens(&scene.ask_for_api()).await;
        let api = scene.api(&tokens);
        assert_eq!(api.get("/properties").await.data().as_array().unwrap().len(), 2);
        scene.org.member(member, Some(&[mine]), Permission::VARIANTS, true).await;
        assert_eq!(api.get("/properties").await.data().as_array().unwrap().len(), 1);
        scene.org.member(member, Some(&[mine]), &[Permission::ViewTasks], true).await;
        api.get("/properties").await.error(403);
        api.get("/tasks").await.data();
        let renewed = Tokens::of(&scene.refresh(&tokens.refresh).await);
        scene.api(&renewed).get("/properties").await.error(403);
    }

    async fn who_may_not_act_is_not_acted_for(app: App) {
        let scene = Scene::build(&app).await;
        let (tokens, code) = (scene.tokens(&scene.ask_for_api()).await, scene.code(&scene.ask_for_api()).await);
        let member = |is_active: bool, is_enrolled: bool| {
            json!({
                "name": "Member", "email": "member@example.com", "permissions": Permission::VARIANTS, "propertyIds": null,
                "isActive": is_active, "isTwoFactorEnrolled": is_enrolled,
            })
        };
        let path = format!("/members/{}", scene.member);
        scene.org.put(&path, member(false, true)).await;
        scene.api(&tokens).get("/portals").await.error(401);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        refused(&scene.exchange(&code).await, 400, "invalid_grant");
        scene.org.put(&path, member(true, false)).await;
        scene.org.put("", json!({ "name": "Casa", "isTwoFactorRequired": true })).await;
        assert_eq!(scene.api(&tokens).get("/portals").await.error(403)["code"], "TWO_FACTOR_REQUIRED");
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        refused(&scene.exchange(&code).await, 400, "invalid_grant");
        // Back in order, it goes on where it was: nothing has been used up.
        scene.org.put(&path, member(true, true)).await;
        Tokens::of(&scene.refresh(&tokens.refresh).await);
        Tokens::of(&scene.exchange(&code).await);
        app.platform().ok(Method::DELETE, &scene.org.path(&path), None).await;
        scene.api(&tokens).get("/portals").await.error(401);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
    }

    async fn whoever_is_out_says_yes_to_nothing(app: App) {
        let scene = Scene::build(&app).await;
        let page = scene.page(&scene.ask()).await;
        let form = crate::oauth::form(&page, "approve");
        app.platform().ok(Method::DELETE, &scene.org.path(&format!("/members/{}", scene.member)), None).await;
        let answer = scene.browser.post("/oauth/consent", &form.iter().map(crate::oauth::borrowed).collect::<Vec<_>>()).await;
        assert!(answer.header("location").unwrap().starts_with("/sign-in?"), "{answer:?}");
    }

    async fn an_organization_that_is_erased_takes_all_with_it(app: App) {
        let scene = Scene::build(&app).await;
        let (tokens, code) = (scene.tokens(&scene.ask_for_api()).await, scene.code(&scene.ask()).await);
        app.platform().ok(Method::DELETE, &format!("/organizations/{}", scene.org.id), None).await;
        scene.api(&tokens).get("/portals").await.error(401);
        refused(&scene.refresh(&tokens.refresh).await, 400, "invalid_grant");
        refused(&scene.exchange(&code).await, 400, "invalid_grant");
        app.server.sweep_once().await;
        for table in ["oauth_grant", "oauth_refresh_token", "access_token"] {
            let left = app.query(format!("select count(*) from {table} where organization_id = ?1"), vec![scene.org.id.into()], |row| row.get::<i64>(0)).await;
            assert_eq!(left, [0], "{table}");
        }
    }
}
