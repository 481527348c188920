//! Tests of the guest view over HTTP, and of the guest page that shows it (rules:
//! stays#guest-view).

use reqwest::Method;
use serde_json::{Value, json};

use test_support::{App, on_both, reservation};

on_both!(the_guest_view_shows_the_portal_of_the_property);
async fn the_guest_view_shows_the_portal_of_the_property(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let (district, sea) = (org.group().await, org.tag().await);
    let flat = org.property(Some(district), &[sea]).await;
    let stay = org.reservation(Some(flat)).await;
    assert_eq!(org.guest_view(stay).await["portal"], Value::Null);
    let mut portals = std::collections::HashMap::new();
    for name in ["default", "by tag", "later by tag", "by group", "direct"] {
        app.clock.advance(std::time::Duration::from_millis(5));
        let portal = api
            .post(
                "/portals",
                json!({ "name": name, "isDefault": name == "default" }),
            )
            .await
            .data();
        portals.insert(name, portal["id"].clone());
    }
    let scope = |name: &str, field: &str, id: uuid::Uuid| {
        let body =
            json!({ "entityType": "portal_settings", "entityId": portals[name], field: [id] });
        let api = api.clone();
        async move { api.post("/entity-scopes/add", body).await.data() }
    };
    assert_eq!(org.guest_view(stay).await["portal"]["name"], "default");
    scope("later by tag", "tagIds", sea).await;
    scope("by tag", "tagIds", sea).await;
    assert_eq!(
        org.guest_view(stay).await["portal"]["name"],
        "by tag",
        "the portal created first wins"
    );
    scope("by group", "propertyGroupIds", district).await;
    assert_eq!(org.guest_view(stay).await["portal"]["name"], "by group");
    scope("direct", "propertyIds", flat).await;
    assert_eq!(org.guest_view(stay).await["portal"]["name"], "direct");
    let homeless = org.reservation(None).await;
    let view = org.guest_view(homeless).await;
    assert_eq!(
        (&view["portal"], &view["property"], &view["contact"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
}

on_both!(a_guest_sees_the_portal_in_their_language);
async fn a_guest_sees_the_portal_in_their_language(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let flat = org.property(None, &[]).await;
    let branding = api
        .post(
            "/portal-brandings",
            json!({ "name": "Mar", "calloutMessage": "Hello" }),
        )
        .await
        .data();
    let portal = api
        .post(
            "/portals",
            json!({
                "name": "Casa",
                "isDefault": true,
                "brandingId": branding["id"],
                "supportWhatsapp": "612 34 56 78",
                "communicationMethod": "whatsapp",
                "isSpecialOfferActive": true,
                "specialOfferTitle": "Late",
                "specialOfferUrl": "https://example.com/late",
                "excludedQuickAccessTypes": ["uber"],
            }),
        )
        .await
        .data();
    let title = portal["specialOfferTitleId"].as_str().unwrap();
    api.ok(
        Method::PUT,
        &format!("/translations/{title}/entries/PT-br"),
        Some(json!({ "text": "Tarde" })),
    )
    .await;
    let stay = org.reservation(Some(flat)).await;
    let token = org.stay_token(stay).await;
    let mut view = app.stay(&token, "").await.data();
    for pointer in [
        "/reservation/id",
        "/property/id",
        "/portal/id",
        "/branding/id",
    ] {
        *view.pointer_mut(pointer).unwrap() = json!("[id]");
    }
    insta::assert_json_snapshot!("guest_view", view);
    assert_eq!(
        app.stay(&token, "?language=pt-BR").await.data()["specialOffer"]["title"],
        "Tarde"
    );
    let with_a_slash = app.stay(&token, "/?language=pt-BR").await.data();
    assert_eq!(
        with_a_slash["specialOffer"]["title"], "Tarde",
        "what is joined to a stay's address may be nothing"
    );
    assert_eq!(
        app.stay(&token, "?language=pt").await.data()["specialOffer"]["title"],
        "Tarde",
        "the default region"
    );
    let step = json!({ "stepType": "main", "nickname": "Ready", "isActive": true });
    let step = api.post("/precheck-steps", step).await.data()["id"].clone();
    let assigned =
        json!({ "entityType": "precheck_step", "entityId": step, "propertyIds": [flat] });
    api.post("/entity-scopes/add", assigned).await.data();
    let french = app.stay(&token, "?language=fr").await.data();
    assert!(
        french["precheckin"]["promptMessage"]
            .as_str()
            .unwrap()
            .starts_with("Merci")
    );
    assert_eq!(app.stay(&token, "?language=!").await.issues(), ["language"]);

    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    api.patch(
        &path,
        json!({ "data": { "isPrecheckinEnabled": false, "isSpecialOfferActive": false } }),
    )
    .await
    .data();
    let view = app.stay(&token, "").await.data();
    assert_eq!(
        (&view["precheckin"]["isEnabled"], &view["specialOffer"]),
        (&json!(false), &Value::Null)
    );
}

on_both!(a_stay_is_shown_only_to_its_token);
async fn a_stay_is_shown_only_to_its_token(app: App) {
    let org = app.org().await;
    let stay = org.reservation(None).await;
    let token = org.stay_token(stay).await;
    assert_eq!(org.stay_token(stay).await, token, "the same one each time");
    app.stay("nonsense", "").await.error(404);
    let at = "?at=2026-12-12T10:00:00Z";
    app.stay(&token, at).await.error(401);
    let preview = |key: String| {
        let request = app
            .http
            .get(format!("{}/guest/v1/stays/{token}{at}", app.base))
            .bearer_auth(key);
        async move { test_support::ApiResponse::of(request).await }
    };
    preview(app.org().await.key().await.token.unwrap())
        .await
        .error(401);
    preview(org.key().await.token.unwrap()).await.data();
    org.put_record("reservation", stay, reservation(None)).await;
    assert_eq!(org.stay_token(stay).await, token);
    let link = org
        .key()
        .await
        .get(&format!("/reservations/{stay}/guest-link"))
        .await
        .data();
    assert_eq!(link["url"], format!("{}/stay/{token}", app.base));
    org.delete_record("reservation", stay).await;
    app.stay(&token, "").await.error(404);
}

on_both!(the_page_shows_the_guest_view_in_html);
async fn the_page_shows_the_guest_view_in_html(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    api.post(
        "/portals",
        json!({ "name": "Casa", "isDefault": true, "supportNotes": "<script>alert(1)</script>" }),
    )
    .await
    .data();
    let flat = org.property(None, &[]).await;
    let token = org.stay_token(org.reservation(Some(flat)).await).await;
    let page = test_support::ApiResponse::of(
        app.http
            .get(format!("{}/stay/{token}?language=es", app.base)),
    )
    .await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let html = page.body.as_str().unwrap();
    assert!(html.contains("lang=\"es\"") && html.contains("Flat") && html.contains("Tu estancia"));
    assert!(
        !html.contains("alert(1)</script>"),
        "what was written is text"
    );
    let missing =
        test_support::ApiResponse::of(app.http.get(format!("{}/stay/nonsense", app.base))).await;
    assert_eq!(missing.status, 404);
    assert!(
        missing
            .body
            .as_str()
            .unwrap()
            .contains("We cannot find this stay.")
    );
}
