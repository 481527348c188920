//! The revocation endpoint (RFC 7009): a client revokes one of its tokens.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access::{self, Credential};
use engine::audit::{self, Actor, AuditEntryRow, Change};
use engine::context::Context;
use engine::error::{ErrorKind, Result as Worked};
use engine::pipeline::Service;
use engine::values;
use features::platform::member_target;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use store::Value;
use uuid::Uuid;
use vestibule_http::surface::{attach_operation, request_id};

use super::parameters::OauthParameters;
use super::refusal::OauthError;
use super::token::{
    RequestClient, authenticate_client, organization_of_refresh_token, organization_of_token,
};
use super::{grant, refresh, reply};

store::statements! {
    /// Returns a row if the organization has the access token with this hash.
    HAS_ACCESS_TOKEN = "select organization_id from access_token where organization_id = ?1
        and token_hash = ?2";
    /// Selects the app and the member of an access token.
    APP_OF = "select oauth_app_id, member_id from access_token where organization_id = ?1
        and token_hash = ?2";
    /// Deletes an access token.
    END = "delete from access_token where organization_id = ?1 and token_hash = ?2";
}

/// Handles `POST /oauth/revoke`.
pub(super) async fn revoke(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let mut request_client = RequestClient::default();
    let request_id = request_id(&parts);
    let mut response = match revoke_token(
        &service,
        &parts.headers,
        body,
        &mut request_client,
        request_id,
    )
    .await
    {
        // The body is an empty JSON object, because clients ignore the body of this response (RFC
        // 7009, section 2.2).
        Ok(()) => reply::json(StatusCode::OK, &json!({})),
        Err(error) => {
            error.log("revoke", &request_client.client, request_id);
            error.response()
        }
    };
    attach_operation(&mut response, "revokeToken", None);
    response
}

/// Revokes a token. Succeeds if the token is unknown (RFC 7009, section 2.2). The prefix of the
/// token gives its type, so `token_type_hint` is ignored (RFC 7009, section 2.1).
async fn revoke_token(
    service: &Arc<Service>,
    headers: &HeaderMap,
    body: Body,
    request_client: &mut RequestClient,
    request_id: Uuid,
) -> Result<(), OauthError> {
    let parameters = OauthParameters::from_form(headers, body).await?;
    parameters.check()?;
    let client = authenticate_client(service, headers, &parameters, request_client).await?;
    let token = parameters
        .get("token")
        .ok_or(OauthError::invalid_request("token is missing."))?;
    let (hash, is_refresh, app) = (
        access::hash(token),
        token.starts_with(refresh::PREFIX),
        client.app,
    );
    let organization = if is_refresh {
        organization_of_refresh_token(service, token).await?
    } else {
        organization_of_token(service, ("at_", token), &HAS_ACCESS_TOKEN).await?
    };
    let Some(organization) = organization else {
        return Ok(());
    };
    let revocation = grant::in_organization(service, organization, move |context| {
        if is_refresh {
            end_grant(context, &hash, app, request_id)
        } else {
            end_token(context, hash, app, request_id)
        }
    });
    match revocation.await {
        Ok(true) => Ok(()),
        Ok(false) => Err(OauthError::invalid_grant(
            "The token was issued to another client.",
        )),
        // The organization was erased with all its tokens, so there is no token left to revoke.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends the grant of a refresh token (RFC 7009, section 2.1), deletes its access tokens, and writes
/// an audit entry. Returns false, and changes nothing, if the token belongs to another client.
fn end_grant(
    context: &mut Context<'_, '_>,
    hash: &[u8],
    app: Uuid,
    request_id: Uuid,
) -> Worked<bool> {
    let Some(grant) = refresh::grant_of(context, hash)? else {
        return Ok(true);
    };
    if grant.app != app {
        return Ok(false);
    }
    grant.end(context)?;
    write_audit_entry(context, (app, grant.member_id), "refresh_token", request_id)?;
    Ok(true)
}

/// Deletes an access token. The grant and its other tokens remain. Returns false, and changes
/// nothing, if the token belongs to another client.
fn end_token(
    context: &mut Context<'_, '_>,
    hash: Vec<u8>,
    app: Uuid,
    request_id: Uuid,
) -> Worked<bool> {
    let Some(row) = context.row(&APP_OF, values![Value::Bytes(hash.clone())])? else {
        return Ok(true);
    };
    if row.get::<Uuid>(0)? != app {
        return Ok(false);
    }
    context.touch_configuration();
    context.execute_deferred(&END, values![Value::Bytes(hash)])?;
    write_audit_entry(context, (app, row.get(1)?), "access_token", request_id)?;
    Ok(true)
}

/// Writes the audit entry for an app that has revoked a token of a member.
fn write_audit_entry(
    context: &mut Context<'_, '_>,
    (app, member): (Uuid, Uuid),
    token_type: &str,
    request_id: Uuid,
) -> Worked<()> {
    let target = member_target(context, &json!({ "memberId": member }))?;
    let changes = vec![
        Change::to("oauthAppId", json!(app)),
        Change::to("tokenType", token_type.into()),
    ];
    let (actor, at) = (
        Actor::of(Credential::Connection { app, member })?,
        context.now(),
    );
    audit::write(
        context,
        AuditEntryRow {
            actor,
            operation: "revokeToken",
            target,
            changes,
            request_id,
            at,
        },
    )
}
