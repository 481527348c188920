//! The attack of an organization that knows all ids and idempotency keys of another organization,
//! the victim, and uses them with its own credentials.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bench::permissions::PERMISSIONS;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::crowd::grouped;
use crate::organization::{Organization, record};
use crate::stage::Stage;

const MANUALS: &str = "/api/v1/portal-manuals";
/// The maximum number of requests that an attacker sends.
const MAX_REQUESTS: u64 = 1_000_000;
/// The pause between two rounds of an attacker.
const ROUND_DELAY: Duration = Duration::from_millis(20);

/// Creates one object of every type that has an id. Returns the ids.
async fn create_objects(victim: &Organization) -> anyhow::Result<Vec<String>> {
    let (stay, _) = victim.stay().await?;
    let [group, tag, task, device, review] = [(); 5].map(|()| victim.new_id());
    victim
        .sync(&[
            record("property_group", group, json!({ "name": "District" })),
            record("tag", tag, json!({ "name": "Sea" })),
            record(
                "task",
                task,
                json!({
                    "propertyId": victim.flat,
                    "title": "Change the linen",
                    "status": "open",
                }),
            ),
            record(
                "device",
                device,
                json!({
                    "propertyId": victim.flat,
                    "name": "Door",
                    "deviceType": "lock",
                    "vendor": "Acme",
                    "isOnline": true,
                }),
            ),
            record(
                "review",
                review,
                json!({
                    "propertyId": victim.flat,
                    "source": "pms",
                    "submittedAt": "2026-11-02T10:00:00Z",
                }),
            ),
        ])
        .await?;
    let mut ids: Vec<_> = [stay, victim.flat, group, tag, task, device, review]
        .map(|id| id.to_string())
        .into();
    for (path, body) in [
        ("/api/v1/portals", json!({ "name": "Casa" })),
        ("/api/v1/portal-brandings", json!({ "name": "Casa" })),
        (
            "/api/v1/portal-manual-categories",
            json!({ "title": "Casa" }),
        ),
        (
            "/api/v1/precheck-steps",
            json!({ "stepType": "main", "nickname": "Casa" }),
        ),
        (
            "/api/v1/translations",
            json!({ "sourceTable": "manual", "text": "Casa" }),
        ),
        (
            "/api/v1/webhook-subscriptions",
            json!({ "event": "task.created", "targetUrl": "https://127.0.0.1:9/" }),
        ),
    ] {
        ids.push(victim.key.create(path, body).await?);
    }
    Ok(ids)
}

/// Returns the method and path of every operation on an object that has an id.
async fn operations(caller: &Caller) -> anyhow::Result<Vec<(Method, String)>> {
    let document: Value = serde_json::from_slice(&caller.get("/api/v1/openapi.json").await?.body)?;
    let mut operations_with_id = Vec::new();
    for (path, operations) in document["paths"]
        .as_object()
        .context("a document without paths")?
    {
        for method in [
            Method::GET,
            Method::PATCH,
            Method::POST,
            Method::PUT,
            Method::DELETE,
        ] {
            if path.contains('{') && operations.get(method.as_str().to_lowercase()).is_some() {
                operations_with_id.push((method, path.clone()));
            }
        }
    }
    ensure!(!operations_with_id.is_empty(), "a document without ids");
    Ok(operations_with_id)
}

/// Replaces each parameter of a path: a language by `en`, and any other parameter by `id`.
fn path_with_id(path: &str, id: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{language}" => "en",
        part if part.starts_with('{') => id,
        part => part,
    });
    format!("/api/v1{}", parts.collect::<Vec<_>>().join("/"))
}

/// Creates two access tokens for the same member and the same app, one for each organization.
async fn member_tokens(
    platform: &Caller,
    organizations: [&Organization; 2],
) -> anyhow::Result<[Caller; 2]> {
    let (app, member) = (organizations[0].new_id(), organizations[0].new_id());
    let body = json!({ "name": "Client", "redirectUris": ["https://client.example/cb"] });
    platform
        .ok(Method::PUT, &format!("/platform/v1/oauth-apps/{app}"), body)
        .await?;
    let mut callers = organizations.map(|organization| organization.key.clone());
    for (organization, caller) in organizations.into_iter().zip(&mut callers) {
        let body = json!({
            "name": "Member",
            "email": "member@example.com",
            "permissions": PERMISSIONS,
            "propertyIds": null,
            "isActive": true,
            "isTwoFactorEnrolled": true,
        });
        platform
            .ok(
                Method::PUT,
                &format!("{}/members/{member}", organization.path),
                body,
            )
            .await?;
        let body = json!({ "memberId": member, "oauthAppId": app, "permissions": PERMISSIONS });
        let token = platform
            .ok(
                Method::POST,
                &format!("{}/access-tokens", organization.path),
                body,
            )
            .await?;
        *caller = organization.key.with(
            token["token"]
                .as_str()
                .context("an access token without a token")?,
        );
    }
    Ok(callers)
}

pub async fn ids(stage: &mut Stage) -> anyhow::Result<String> {
    let victim = stage.victim.organization.clone();
    let ids = create_objects(&victim).await?;
    let operations = operations(&victim.key).await?;
    // First the victim, which owns the objects, reads each path with every id. If it gets no object
    // at a path, a 404 for the attacker at this path proves nothing.
    for (_, path) in operations
        .iter()
        .filter(|(method, _)| method == Method::GET)
    {
        let mut is_readable = false;
        for id in &ids {
            is_readable |= victim.key.get(&path_with_id(path, id)).await?.status == 200;
        }
        // This check makes an exception for the path of a manual, because the victim has not
        // created its first manual yet.
        ensure!(
            is_readable || path == "/portal-manuals/{id}",
            "no object can be read at {path}"
        );
    }
    let [victim_member, neighbour_member] =
        member_tokens(&stage.platform(), [&victim, &stage.neighbour]).await?;
    let (attacker, end) = (stage.neighbour.key.clone(), stage.begin());
    let (mut requested, mut repeated_keys, mut unanswered) = (0_u64, 0_u64, 0_u64);
    tokio::time::sleep(ROUND_DELAY * 50).await;
    while Instant::now() < end && requested + repeated_keys < MAX_REQUESTS {
        let last_write = stage.victim.last()?;
        for (method, path) in &operations {
            for id in ids.iter().chain([&last_write.id]) {
                let body = match *method {
                    Method::GET => &b""[..],
                    Method::PATCH => b"{\"data\":{}}",
                    _ => b"{}",
                };
                requested += 1;
                match attacker
                    .send(
                        method.clone(),
                        &path_with_id(path, id),
                        None,
                        Bytes::from_static(body),
                    )
                    .await
                {
                    // The attacker must get 404, or 503 from a busy server. A request other than a
                    // read may get 400, because the server checks its body before it looks for the
                    // object.
                    Ok(response) if response.status == 404 || response.status == 503 => {}
                    Ok(response) if method != Method::GET && response.status == 400 => {}
                    Ok(response) => stage.defects.push(format!(
                        "{method} {} of the victim: {}",
                        path_with_id(path, id),
                        response.status
                    )),
                    Err(_) => unanswered += 1,
                }
            }
        }
        // The attacker sends the victim's idempotency key and body to the neighbour's organization.
        // Then one member sends the same idempotency key to both organizations.
        let body = json!({ "nickname": last_write.key, "title": "Wi-Fi" }).to_string();
        let response = attacker
            .send(Method::POST, MANUALS, Some(&last_write.key), body.into())
            .await?;
        if response.is_replay || response.data()["id"] == last_write.id.as_str() {
            stage.defects.push(format!(
                "a key of the victim: {} {:.300}",
                response.status,
                response.text()
            ));
        }
        let key = stage.keys.next().to_string();
        let category = Bytes::from(json!({ "title": key }).to_string());
        let path = "/api/v1/portal-manual-categories";
        let first = victim_member
            .send(Method::POST, path, Some(&key), category.clone())
            .await?;
        let second = neighbour_member
            .send(Method::POST, path, Some(&key), category)
            .await?;
        if second.is_replay || first.data()["id"] == second.data()["id"] {
            stage.defects.push(format!(
                "a key in both organizations: {} {:.300}",
                second.status,
                second.text()
            ));
        }
        repeated_keys += 2;
        tokio::time::sleep(ROUND_DELAY).await;
    }
    let counts = format!(
        "{} requests for {} ids by {} operations",
        grouped(requested),
        ids.len() + 1,
        operations.len()
    );
    Ok(format!(
        "{counts}, {} keys repeated; {unanswered} unanswered",
        grouped(repeated_keys)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_parameters_are_replaced_by_values() {
        assert_eq!(
            path_with_id("/translations/{id}/entries/{language}", "7"),
            "/api/v1/translations/7/entries/en"
        );
        assert_eq!(
            path_with_id("/properties/{propertyId}/portal-manuals", "7"),
            "/api/v1/properties/7/portal-manuals"
        );
    }
}
