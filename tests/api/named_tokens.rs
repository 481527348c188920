//! Tests that each token contains the id of its organization. Without that id, the service does not
//! know the token.

use engine::access;
use engine::ids::Ids;
use reqwest::Method;
use serde_json::json;
use store::Value;
use uuid::Uuid;

use test_support::house::House;
use test_support::{App, on_both};

on_both!(a_token_names_its_organization);
/// The service looks a token up in the organization whose id the token contains. It refuses a
/// token in which a valid secret follows the id of another organization.
async fn a_token_names_its_organization(app: App) {
    let (org, other) = (app.org().await, app.org().await);
    let token = org.key().await.token.unwrap();
    assert_eq!(access::organization_of("sk_", &token), Some(org.id));
    app.api(&token).ok(Method::GET, "/portals", None).await;
    let secret = &token[token.len() - 43..];
    let moved = access::token_of("sk_", other.id, &Ids::default());
    let forged = format!("{}{secret}", &moved[..moved.len() - 43]);
    let nobodys = access::token_of("sk_", Uuid::nil(), &Ids::default());
    for wrong in [forged, nobodys, format!("sk_{secret}")] {
        assert_eq!(app.api(&wrong).get("/portals").await.status, 401);
    }
}

on_both!(tokens_without_an_organization_are_unknown);
/// The service searches for the hash of a token only in the organization that the token names.
/// A token without an organization is therefore unknown, even if its hash is stored.
async fn tokens_without_an_organization_are_unknown(app: App) {
    let house = House::build(&app).await;
    let org = &house.org;
    let old = access::token("sk_", &Ids::default());
    let key = org.key().await.token.unwrap();
    let replace = "update api_key set token_hash = ?2 where token_hash = ?1";
    let hashes = vec![
        Value::Bytes(access::hash(&key)),
        Value::Bytes(access::hash(&old)),
    ];
    assert_eq!(app.change(replace, hashes).await, 1);
    for token in [&old, &key] {
        app.api(token)
            .post("/portals", json!({ "name": "Old" }))
            .await
            .error(401);
        app.api(token).get("/portals").await.error(401);
    }
    let stay = access::token("", &Ids::default());
    let replace = "update guest_link set token = ?2 where token = ?1";
    assert_eq!(
        app.change(
            replace,
            vec![house.token.clone().into(), stay.clone().into()]
        )
        .await,
        1
    );
    for token in [&stay, &house.token] {
        app.stay(token, "").await.error(404);
    }
}
