//! Operations of members on the API keys of their organization: `listTeamApiKeys`,
//! `createTeamApiKey`, `rotateTeamApiKey` and `revokeTeamApiKey`. The operations of the platform on
//! the same keys are in `credentials.rs`.
//!
//! Only signed-in members can create, replace and revoke keys here, and only with `--console-keys`.
//! Without this option, only the platform can do this. A key has access to the whole organization,
//! so its creator must have access to all properties and hold every permission of the key. API keys
//! and OAuth apps cannot create keys, because such a key would outlive the access of its creator.

use std::collections::HashMap;

use engine::access::{ApiKey, Permission, Permissions};
use engine::audit::{Audits, Target};
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::field::Text200;
use engine::moment::Moment;
use engine::operation::{Listing, Needs, Nothing, Operation, OperationName, Page, PageLimits};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Json, Row};
use uuid::Uuid;

use super::audit_log::TargetView;
use super::audited;
use super::credentials::{
    ApiKeyView, CredentialSuccess, Expiry, create_api_key, replace_token, revoke_api_key,
};

/// The operation that lists the API keys of the organization.
pub const LIST_TEAM_API_KEYS: OperationName<Vec<TeamApiKey>> =
    OperationName::new("listTeamApiKeys");
/// The operation that creates an API key for the organization.
pub const CREATE_TEAM_API_KEY: OperationName<ApiKeyView> = OperationName::new("createTeamApiKey");
/// The operation that replaces the token of an API key.
pub const ROTATE_TEAM_API_KEY: OperationName<ApiKeyView> = OperationName::new("rotateTeamApiKey");

store::statements! {
    /// Counts the API keys of an organization.
    COUNT = "select count(*) from api_key where organization_id = ?1";
    /// A page of API keys, ordered by the time of creation.
    PAGE = "select id, doc, created_at, last_used_at from api_key where organization_id = ?1
        order by created_at, id limit ?2 offset ?3";
    /// For each API key among `?2`: the newest audit log entry whose actor is the key.
    LAST_WRITES = "select k.id, a.occurred_at, a.doc ->> 'operation', a.doc -> 'target'
        from api_key k
        join audit_log a on a.organization_id = ?1 and a.id =
            (select l.id from audit_log l where l.organization_id = ?1 and l.actor_id = k.id
            order by l.id desc limit 1)
        where k.organization_id = ?1 and k.id = any(?2)";
}

/// Whether members can create, replace and revoke API keys in the console (`--console-keys`).
#[derive(Debug, Clone, Copy)]
pub struct ConsoleKeys(pub bool);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "name": "Channel manager",
    "permissions": ["view_properties", "view_reservations"],
}))]
struct CreateTeamApiKey {
    /// Purpose of the key, which tells it from the other keys in the list.
    name: Text200,
    /// Permissions of the key, chosen from your own. They apply across the whole organization.
    #[schemars(length(max = 11))]
    permissions: Vec<Permission>,
    /// Time at which the key expires. Null or left out: never; a time in the past is refused.
    #[serde(default)]
    expires_at: Option<Expiry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneTeamApiKey {
    /// Id of the API key to revoke; it stops working with the next request.
    api_key_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "graceSeconds": 86_400 }))]
struct RotateTeamApiKey {
    /// Id of the API key that gets another token; its subscriptions and limits do not change.
    api_key_id: Uuid,
    /// For how many seconds the current token stays valid beside the new one, at most 604800 (7
    /// days). Null or left out: 86400, a day.
    #[serde(default)]
    #[schemars(range(max = 604_800))]
    grace_seconds: Option<u32>,
}

/// An API key with its last use.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    "name": "Channel manager",
    "permissions": ["view_reservations"],
    "expiresAt": null,
    "createdAt": "2026-11-21T09:30:00.000Z",
    "lastUsedAt": "2026-11-22T08:00:00.000Z",
    "lastWrite": {
        "operation": "updatePortal",
        "occurredAt": "2026-11-21T10:30:00.000Z",
        "target": {
            "type": "portal",
            "id": "0192f0c1-2345-7abc-8def-0123456789ad",
            "name": "Casa Azul",
        },
    },
}))]
pub struct TeamApiKey {
    pub id: Uuid,
    #[serde(flatten)]
    pub key: ApiKey,
    pub created_at: Moment,
    /// Time at which the key was last used. Uses on other servers within the last minute may be
    /// missing.
    pub last_used_at: Option<Moment>,
    /// The last change that the key made, from the audit log. Null if the audit log has none, and
    /// for a caller limited to some properties.
    pub last_write: Option<LastWrite>,
}

/// The last change by an API key, from the audit log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastWrite {
    pub operation: String,
    pub target: TargetView,
    pub occurred_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    let declare = |id, method, path| {
        Operation::public(
            id,
            method,
            path,
            Needs::Permission(Permission::ManageOrganization),
        )
    };
    vec![
        declare(LIST_TEAM_API_KEYS.id(), Method::GET, "/api-keys")
            .summary("List the organization's API keys, without their tokens")
            .tool(
                "records",
                "List API keys",
                "API keys: permissions, last use and change.",
            )
            .pages_as(
                LIST_TEAM_API_KEYS,
                PageLimits {
                    default: 50,
                    max: 100,
                },
                list,
            ),
        declare(CREATE_TEAM_API_KEY.id(), Method::POST, "/api-keys")
            .summary(
                "Make an API key; its token is shown once. For members who are signed in, with \
                    --console-keys",
            )
            .rest_only()
            .creates()
            .audited(Audits::makes("api_key", "name").withholding(&["token"]))
            .shows_once("token", check)
            .run_as(CREATE_TEAM_API_KEY, create),
        declare(
            ROTATE_TEAM_API_KEY.id(),
            Method::POST,
            "/api-keys/{apiKeyId}/rotate",
        )
        .summary(
            "Make another token for an API key, shown once. For members who are signed in, with \
                --console-keys",
        )
        .rest_only()
        .creates()
        .audited(Audits::changes(audited::audited_api_key).recording(&["graceSeconds"]))
        .shows_once("token", check)
        .run_as(ROTATE_TEAM_API_KEY, rotate),
        declare("revokeTeamApiKey", Method::DELETE, "/api-keys/{apiKeyId}")
            .summary(
                "Revoke an API key, and disable its subscriptions. For members who are signed in, \
                    with --console-keys",
            )
            .rest_only()
            .audited(Audits::changes(audited::audited_api_key))
            .run(revoke),
    ]
}

fn list(context: &mut Context<'_, '_>, _: Nothing, page: Page) -> Result<Listing<TeamApiKey>> {
    let total = context.row(&COUNT, [])?.map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&PAGE, values![page.limit, page.offset])?;
    let ids = rows
        .iter()
        .map(|row| row.get(0))
        .collect::<store::Result<Vec<Uuid>>>()?;
    // The audit log shows a limited caller only the caller's own entries. So a limited caller does
    // not see what each key wrote last.
    let last_writes = if context.property_scope().is_limited() {
        Vec::new()
    } else {
        context.rows(&LAST_WRITES, values![ids])?
    };
    let mut last_writes = last_writes
        .iter()
        .map(|row| {
            let Json(target) = row.get::<Json<Target>>(3)?;
            Ok((
                row.get(0)?,
                LastWrite {
                    occurred_at: Moment(row.get(1)?),
                    operation: row.get(2)?,
                    target: target.into(),
                },
            ))
        })
        .collect::<Result<HashMap<Uuid, LastWrite>>>()?;
    let item = |row: &Row| {
        let (id, Json(key)) = (row.get(0)?, row.get(1)?);
        let stored_last_use: Option<Timestamp> = row.get(3)?;
        let last_used_at = stored_last_use.max(context.last_use(id)).map(Moment);
        Ok(TeamApiKey {
            id,
            key,
            created_at: Moment(row.get(2)?),
            last_used_at,
            last_write: last_writes.remove(&id),
        })
    };
    Ok(Listing {
        items: rows.iter().map(item).collect::<Result<_>>()?,
        total,
    })
}

/// Returns 403 if the caller is not allowed to manage API keys.
fn check(context: &Context<'_, '_>) -> Result<()> {
    let ConsoleKeys(is_on) = *context.extension()?;
    if !is_on {
        return Err(Error::forbidden(Reason::rule(
            "keys_of_platform",
            "Only the platform can manage API keys, because the service runs without \
                --console-keys.",
        )));
    }
    if !context.access.may_act_for_organization() {
        return Err(Error::forbidden(Reason::rule(
            "keys_of_members",
            "Only a signed-in member with access to every property can manage API keys.",
        )));
    }
    Ok(())
}

/// Returns 403 if the permissions of a key include a permission that the caller does not hold.
fn check_permissions(context: &Context<'_, '_>, permissions: &[Permission]) -> Result<()> {
    let own: Permissions = context.access.permissions;
    match permissions.iter().find(|permission| !own.has(**permission)) {
        None => Ok(()),
        Some(missing) => {
            let message = format!(
                "You do not have the permission {}; a key can have only permissions that you have.",
                missing.as_ref()
            );
            Err(Error::forbidden(Reason::rule("key_holds_more", message)))
        }
    }
}

fn create(context: &mut Context<'_, '_>, input: CreateTeamApiKey) -> Result<ApiKeyView> {
    check(context)?;
    check_permissions(context, &input.permissions)?;
    create_api_key(context, input.name.0, input.permissions, input.expires_at)
}

fn require_key(context: &mut Context<'_, '_>, id: Uuid) -> Result<ApiKey> {
    context
        .api_key(id)?
        .ok_or_else(|| Error::not_found("API key"))
}

fn rotate(context: &mut Context<'_, '_>, input: RotateTeamApiKey) -> Result<ApiKeyView> {
    let key = require_key(context, input.api_key_id)?;
    check(context)?;
    check_permissions(context, &key.permissions)?;
    replace_token(context, input.api_key_id, input.grace_seconds)
}

fn revoke(context: &mut Context<'_, '_>, input: OneTeamApiKey) -> Result<CredentialSuccess> {
    require_key(context, input.api_key_id)?;
    check(context)?;
    revoke_api_key(context, input.api_key_id)
}
