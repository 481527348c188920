//! What the audit log tells of organizations, their keys and their members.

use engine::access::ApiKey;
use engine::audit::{Target, Thing, id};
use engine::context::Context;
use engine::error::Result;
use engine::values;
use serde_json::{Value, json};
use store::Json;

store::statements! {
    /// An API key, and the hash of its token.
    KEY = "select doc, token_hash from api_key where organization_id = ?1 and id = ?2";
}

/// An API key.
pub(super) fn api_key(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some(id) = id(input, "apiKeyId") else { return Ok(None) };
    let Some(row) = context.row(&KEY, values![id])? else { return Ok(None) };
    let (Json(key), hash): (Json<ApiKey>, Vec<u8>) = (row.get(0)?, row.get(1)?);
    Thing::new("api_key", Some(id), Some(key.name.clone())).showing(&key)?.withholding(&json!({ "token": hash })).map(Some)
}

/// A member.
pub(super) fn member(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<Thing>> {
    let Some(id) = id(input, "memberId") else { return Ok(None) };
    let Some(member) = context.member(id)? else { return Ok(None) };
    Thing::new("member", Some(id), Some(member.name.clone())).showing(&member).map(Some)
}

/// What a member that an input names is called.
pub(crate) fn named_member(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    let found = member(context, input)?.map(|thing| thing.target);
    Ok(found.unwrap_or_else(|| Target::new("member", id(input, "memberId"), None)))
}

/// The organization itself.
pub(super) fn organization(context: &mut Context<'_, '_>, _: &Value) -> Result<Option<Thing>> {
    let organization = context.organization.clone();
    Thing::new("organization", Some(organization.id), Some(organization.settings.name.clone())).showing(&organization.settings).map(Some)
}
