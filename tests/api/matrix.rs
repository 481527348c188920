//! Tests every operation of every interface with every kind of credential. The tests iterate over
//! the list of operations, so they cover new operations as well.

use engine::access::Permission;
use engine::operation::{Needs, Operation, Surface};
use serde_json::{Value, json};
use strum::VariantArray;

use test_support::{Api, ApiResponse, App, new_id, on_both};

/// Returns the path of an operation, with ids of resources that do not exist.
fn path(operation: &Operation) -> String {
    let parts = operation.path.split('/').map(|part| match part {
        "{language}" => "fr".to_owned(),
        part if part.starts_with('{') => new_id().to_string(),
        part => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Sends a body that no operation accepts. A caller with permission gets 400 or 404, and nothing
/// changes.
async fn send_invalid_body(api: &Api, operation: &Operation) -> ApiResponse {
    let body = operation
        .has_body()
        .then(|| json!({ "no such field": true }));
    api.send(operation.method.clone(), &path(operation), body)
        .await
}

fn is_let_in(response: &ApiResponse) -> bool {
    matches!(response.status, 200 | 201 | 400 | 404)
}

on_both!(every_operation_requires_its_credential_and_permission);
async fn every_operation_requires_its_credential_and_permission(app: App) {
    let org = app.org().await;
    let all = org.key().await;
    let strict = app
        .org_with(json!({ "name": "Strict", "isTwoFactorRequired": true }))
        .await;
    let member = new_id();
    strict
        .member(member, None, Permission::VARIANTS, false)
        .await;
    let not_enrolled = strict.token_of(member, Permission::VARIANTS).await;
    let limited = org.limited(&[]).await;
    let mut single = Vec::new();
    let mut all_but = Vec::new();
    for permission in Permission::VARIANTS.iter().copied() {
        single.push((permission, org.key_with(&[permission]).await));
        all_but.push((permission, org.key_without(permission).await));
    }
    let wrong = [
        app.api("sk_wrong"),
        app.api("at_wrong"),
        app.api(test_support::PLATFORM_KEY),
        app.api("\u{7f}"),
    ];
    for operation in vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public)
    {
        let id = operation.id;
        send_invalid_body(&app.anonymous(), operation)
            .await
            .error(401);
        for api in &wrong[..3] {
            send_invalid_body(api, operation).await.error(401);
        }
        assert!(
            is_let_in(&send_invalid_body(&all, operation).await),
            "{id} with every permission"
        );
        assert!(
            is_let_in(&send_invalid_body(&limited, operation).await),
            "{id} limited to no property"
        );
        let refused = send_invalid_body(&not_enrolled, operation).await;
        assert_eq!(refused.error(403)["code"], "TWO_FACTOR_REQUIRED", "{id}");
        let needed = match &operation.needs {
            Needs::Permission(needed) => std::slice::from_ref(needed),
            Needs::Permissions(needed) => *needed,
            Needs::Credential | Needs::ByBody(_) => continue,
        };
        for (permission, api) in &single {
            let response = send_invalid_body(api, operation).await;
            assert_eq!(
                is_let_in(&response),
                needed == [*permission],
                "{id} with {} alone: {}",
                permission.as_ref(),
                response.status
            );
        }
        for (permission, api) in &all_but {
            let response = send_invalid_body(api, operation).await;
            assert_eq!(
                is_let_in(&response),
                !needed.contains(permission),
                "{id} without {}: {}",
                permission.as_ref(),
                response.status
            );
            if needed.contains(permission) {
                let error = response.error(403);
                assert!(
                    error["message"]
                        .as_str()
                        .unwrap()
                        .starts_with("Missing permission"),
                    "{id}"
                );
            }
        }
    }
}

on_both!(platform_operations_accept_only_the_platform_key);
async fn platform_operations_accept_only_the_platform_key(app: App) {
    let org = app.org().await;
    let token = org.key().await.token.unwrap();
    for operation in vestibule::app::app()
        .operations
        .iter()
        .filter(|operation| operation.surface == Surface::Platform)
    {
        let send = |bearer: Option<&str>| {
            let url = format!("{}/platform/v1{}", app.base, path(operation));
            let request = app
                .http
                .request(operation.method.clone(), url)
                .json(&json!({ "no such field": true }));
            ApiResponse::of(match bearer {
                Some(bearer) => request.bearer_auth(bearer),
                None => request,
            })
        };
        send(None).await.error(401);
        send(Some(&token)).await.error(401);
        let response = send(Some(test_support::PLATFORM_KEY)).await;
        assert!(
            is_let_in(&response),
            "{}: {}",
            operation.id,
            response.status
        );
    }
}

on_both!(the_event_permission_is_checked_before_the_body);
async fn the_event_permission_is_checked_before_the_body(app: App) {
    let org = app.org().await;
    let key = org.key_with(&[Permission::ViewTasks]).await;
    let body =
        json!({ "event": "reservation.created", "targetUrl": "nonsense", "colour": Value::Null });
    key.post("/webhook-subscriptions", body).await.error(403);
    let body = json!({ "event": "task.created", "targetUrl": "nonsense", "colour": Value::Null });
    assert_eq!(
        key.post("/webhook-subscriptions", body).await.issues(),
        ["colour", "targetUrl"]
    );
    assert_eq!(
        key.post("/webhook-subscriptions", json!({ "event": "tram.late" }))
            .await
            .issues(),
        ["event", "targetUrl"]
    );
}

/// Compares the list of all operations with the stored snapshot `operations`. Each line has the
/// interface, the method and the path of an operation, and whether it is a tool.
#[test]
fn the_list_of_operations_is_unchanged() {
    let listed: Vec<String> = vestibule::app::app()
        .operations
        .iter()
        .map(|operation| {
            format!(
                "{:?} {} {}{}",
                operation.surface,
                operation.method,
                operation.path,
                if operation.is_tool { " (tool)" } else { "" }
            )
        })
        .collect();
    insta::assert_snapshot!("operations", listed.join("\n"));
}
