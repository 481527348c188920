//! Operations of the platform on API keys and members of an organization, and `listTeamMembers`.
//! The operations of members on API keys are in `api_keys.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use delivery::DisabledReason;
use engine::access::{self, ApiKey, Credential, Member, Permission};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::{EmailAddress, Field, Label};
use engine::moment::Moment;
use engine::operation::{CacheBasis, Listing, Needs, Operation, OperationName, Page, PageLimits};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Row, Statement};
use strum::VariantArray;
use uuid::Uuid;

use super::audited;
use super::connections;
use super::organizations::PAGES;
use crate::events::Event;
use crate::events::{disable_all_of, disable_events_of_member};
use crate::records::stored;

store::statements! {
    /// A page of members, ordered by the time of creation.
    MEMBERS_BY_CREATION = "select id, doc, created_at, updated_at from member
        where organization_id = ?1 order by created_at, id limit ?2 offset ?3";
    /// A page of the members whose last change was at or after a time, ordered by the time of that
    /// change.
    MEMBERS_SINCE = "select id, doc, created_at, updated_at from member where organization_id = ?1
        and updated_at >= ?2
        order by updated_at, id limit ?3 offset ?4";
    /// Counts the members that changed at the time `?2` or later.
    COUNT_MEMBERS_SINCE = "select count(*) from member where organization_id = ?1
        and updated_at >= ?2";
    /// Inserts an API key.
    INSERT_KEY = "insert into api_key (organization_id, id, token_hash, created_at, doc)
        values (?1, ?2, ?3, ?4, ?5)";
    /// Selects the API keys of an organization, in the order of creation.
    LIST_KEYS = "select id, doc, created_at from api_key where organization_id = ?1
        order by created_at, id";
    /// Replaces the token of an API key. The previous token stays valid until time `?4`. A token
    /// that was replaced earlier becomes invalid.
    ROTATE_KEY = "update api_key set replaced_hash = token_hash, replaced_until = ?4,
        token_hash = ?3
        where organization_id = ?1 and id = ?2 returning id, doc, created_at";
    /// Stores the token hash of an API key that is about to be revoked.
    KEEP_HASH = "insert into revoked_key (organization_id, token_hash, revoked_at)
        select organization_id, token_hash, ?3 from api_key where organization_id = ?1 and id = ?2
        on conflict do nothing";
    /// Deletes the hashes of keys that were revoked before a time.
    FORGET_HASHES = "delete from revoked_key where organization_id = ?1 and revoked_at < ?2";
    /// Revokes an API key.
    DELETE_KEY = "delete from api_key where organization_id = ?1 and id = ?2";
    /// Creates or replaces a member.
    PUT_MEMBER = "insert into member (organization_id, id, created_at, updated_at, doc)
        values (?1, ?2, ?3, ?3, ?4)
        on conflict (organization_id, id) do update
        set updated_at = excluded.updated_at, doc = excluded.doc
        returning id, doc, created_at, updated_at";
    /// Selects a page of an organization's members, ordered by id.
    LIST_MEMBERS = "select id, doc, created_at, updated_at from member where organization_id = ?1
        order by id limit ?2 offset ?3";
    /// Number of members.
    COUNT_MEMBERS = "select count(*) from member where organization_id = ?1";
    /// Deletes a member.
    DELETE_MEMBER = "delete from member where organization_id = ?1 and id = ?2";
}

/// The operation that lists the members of the organization.
pub const LIST_TEAM_MEMBERS: OperationName<Vec<MemberView>> = OperationName::new("listTeamMembers");

/// Default time for which a replaced token stays valid: a day, in seconds.
const GRACE_SECONDS: u32 = 86_400;

/// Time for which the hash of a revoked key is stored. With the hash, the error for a request with
/// the key can say that the key was revoked.
const REVOKED_HASH_RETENTION: Duration = Duration::from_secs(90 * 86_400);

/// A time of expiry. Its schema refuses times in the past.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(transparent)]
pub(super) struct Expiry(pub(super) Moment);

impl JsonSchema for Expiry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expiry".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "future-date-time" })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "name": "Channel manager",
    "permissions": ["view_properties", "view_reservations"],
}))]
struct CreateApiKey {
    /// Id of the organization that the key acts in.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Purpose of the key, which tells it from the other keys in the list.
    name: Label,
    /// Permissions of the key, such as `view_properties`, across the whole organization; duplicates
    /// are ignored.
    permissions: Vec<Permission>,
    /// Time at which the key expires. Null or left out: never; a time in the past is refused.
    #[serde(default)]
    expires_at: Option<Expiry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfOrganization {
    /// Id of the organization whose API keys are listed.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MembersOf {
    /// Id of the organization whose members are listed.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Only members who were changed at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

/// The filter of the members of the caller's organization.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListTeam {
    /// Only members who were changed at this time or later. The list is then ordered by
    /// `updatedAt`, then by id.
    #[serde(default)]
    updated_since: Option<Moment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneApiKey {
    /// Id of the organization that the key acts in.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the API key to revoke; it stops working with the next request.
    api_key_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "graceSeconds": 86_400 }))]
struct RotateApiKey {
    /// Id of the organization that the key acts in.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the API key that gets another token; its subscriptions and limits do not change.
    api_key_id: Uuid,
    /// For how many seconds the current token stays valid beside the new one, at most 604800 (7
    /// days). Null or left out: 86400, a day.
    #[serde(default)]
    #[schemars(range(max = 604_800))]
    grace_seconds: Option<u32>,
}

/// An API key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = key_example())]
pub struct ApiKeyView {
    pub id: Uuid,
    #[serde(flatten)]
    pub key: ApiKey,
    created_at: Moment,
    /// The token of the key, shown once, at creation. Null if the response is repeated for the same
    /// `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

fn key_example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab",
        "name": "Channel manager",
        "permissions": ["view_reservations"],
        "expiresAt": null,
        "createdAt": "2026-11-21T09:30:00.000Z",
        "token": "sk_3nS0…",
    })
}

impl ApiKeyView {
    /// Reads a key from the columns `id, doc, created_at`. `token` is the key's token, if the
    /// operation has just created it; otherwise `None`.
    fn from_row(row: &Row, token: Option<String>) -> Result<Self> {
        let Json(key) = row.get(1)?;
        Ok(Self {
            id: row.get(0)?,
            key,
            created_at: Moment(row.get(2)?),
            token,
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "name": "Marta", "email": "marta@example.com", "permissions": ["view_properties"],
    "propertyIds": null, "isActive": true, "isTwoFactorEnrolled": true
}))]
struct PutMember {
    /// Id of the member's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the member, chosen by the caller. A known id replaces its member, and an unknown id
    /// creates a member.
    member_id: Uuid,
    /// Name of the member; may be empty.
    name: Label,
    /// The member's own mail address.
    email: EmailAddress,
    /// Permissions of the member, such as `modify_guides`. A token of the member has at most these.
    permissions: Vec<Permission>,
    /// Ids of the properties that the member has access to, at most 25,000. Null means every
    /// property, and `[]` means none. Required, because no default is safe.
    #[schemars(length(max = 25_000))]
    property_ids: Field<Option<Vec<Uuid>>>,
    /// Whether the member is active. `false` stops their tokens with the next request and disables
    /// their webhook subscriptions.
    is_active: bool,
    /// Whether the member has enrolled in two-factor authentication. If the organization requires
    /// it, tokens of members who have not enrolled are refused.
    is_two_factor_enrolled: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneMember {
    /// Id of the member's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the member to remove; their tokens stop working with the next request.
    member_id: Uuid,
}

/// A member of an organization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    pub id: Uuid,
    #[serde(flatten)]
    pub member: Member,
    created_at: Moment,
    pub updated_at: Moment,
}

impl MemberView {
    /// Reads a member from the columns `id, doc, created_at, updated_at`.
    pub fn from_row(row: &Row) -> Result<Self> {
        let Json(member) = row.get(1)?;
        Ok(Self {
            id: row.get(0)?,
            member,
            created_at: Moment(row.get(2)?),
            updated_at: Moment(row.get(3)?),
        })
    }
}

/// The confirmation of a successful change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CredentialSuccess {
    pub success: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "createApiKey",
            Method::POST,
            "/organizations/{organizationId}/api-keys",
        )
        .summary("Make an API key; its token is shown once")
        .creates()
        .audited(Audits::makes("api_key", "name").withholding(&["token"]))
        .run(create_key),
        Operation::platform(
            "listApiKeys",
            Method::GET,
            "/organizations/{organizationId}/api-keys",
        )
        .summary("List API keys, without their tokens")
        .run(list_keys),
        Operation::platform(
            "rotateApiKey",
            Method::POST,
            "/organizations/{organizationId}/api-keys/{apiKeyId}/rotate",
        )
        .summary(
            "Make another token for an API key, shown once; the one before is good until the grace \
                time is over",
        )
        .creates()
        .audited(Audits::changes(audited::audited_api_key).recording(&["graceSeconds"]))
        .run(rotate_key),
        Operation::platform(
            "revokeApiKey",
            Method::DELETE,
            "/organizations/{organizationId}/api-keys/{apiKeyId}",
        )
        .summary(
            "Revoke an API key: it stops working with the next request, and its subscriptions are \
                disabled",
        )
        .audited(Audits::changes(audited::audited_api_key))
        .run(revoke_key),
        Operation::platform(
            "putMember",
            Method::PUT,
            "/organizations/{organizationId}/members/{memberId}",
        )
        .summary("Create a member, or replace one")
        .audited(Audits::changes(audited::audited_member))
        .run(put_member),
        Operation::platform(
            "listMembers",
            Method::GET,
            "/organizations/{organizationId}/members",
        )
        .summary("List an organization's members, by id; by change with `updatedSince`")
        .pages(PAGES, list_members),
        Operation::platform(
            "removeMember",
            Method::DELETE,
            "/organizations/{organizationId}/members/{memberId}",
        )
        .summary(
            "Remove a member: their tokens stop working with the next request, and their \
                subscriptions are disabled",
        )
        .audited(Audits::changes(audited::audited_member))
        .run(remove_member),
        Operation::public(
            LIST_TEAM_MEMBERS.id(),
            Method::GET,
            "/members",
            Needs::Permission(Permission::ManageOrganization),
        )
        .summary("List the organization's members")
        .tool(
            "records",
            "List team members",
            "People of the organization: name, email, permissions, properties they reach.",
        )
        .not_for_tools(&["updatedSince"])
        .cached(CacheBasis::Configuration)
        .pages_as(
            LIST_TEAM_MEMBERS,
            PageLimits {
                default: 50,
                max: 100,
            },
            members_by_creation,
        ),
    ]
}

fn create_key(context: &mut Context<'_, '_>, input: CreateApiKey) -> Result<ApiKeyView> {
    create_api_key(context, input.name.0, input.permissions, input.expires_at)
}

/// Creates an API key.
pub(super) fn create_api_key(
    context: &mut Context<'_, '_>,
    name: String,
    permissions: Vec<Permission>,
    expires_at: Option<Expiry>,
) -> Result<ApiKeyView> {
    let (id, now) = (context.new_id(), context.now());
    let token = access::token_of("sk_", context.organization.id, context.ids());
    let key = ApiKey {
        name,
        permissions: without_duplicates(permissions),
        expires_at: expires_at.map(|expiry| expiry.0),
    };
    let hash = store::Value::Bytes(access::hash(&token));
    context.execute_deferred(
        &INSERT_KEY,
        values![id, hash, now, store::Value::json(&key)?],
    )?;
    Ok(ApiKeyView {
        id,
        key,
        created_at: Moment(now),
        token: Some(token),
    })
}

fn list_keys(context: &mut Context<'_, '_>, _: OfOrganization) -> Result<Vec<ApiKeyView>> {
    context
        .rows(&LIST_KEYS, [])?
        .iter()
        .map(|row| ApiKeyView::from_row(row, None))
        .collect()
}

fn rotate_key(context: &mut Context<'_, '_>, input: RotateApiKey) -> Result<ApiKeyView> {
    replace_token(context, input.api_key_id, input.grace_seconds)
}

/// Replaces the token of an API key. The key's subscriptions, idempotency keys and limits do not
/// change.
pub(super) fn replace_token(
    context: &mut Context<'_, '_>,
    id: Uuid,
    grace_seconds: Option<u32>,
) -> Result<ApiKeyView> {
    let token = access::token_of("sk_", context.organization.id, context.ids());
    let grace = Duration::from_secs(grace_seconds.unwrap_or(GRACE_SECONDS).into());
    let until = context.now().checked_add(grace).unwrap_or(Timestamp::MAX);
    let hash = store::Value::Bytes(access::hash(&token));
    let row = context.row(&ROTATE_KEY, values![id, hash, until])?;
    ApiKeyView::from_row(
        &row.ok_or_else(|| Error::not_found("API key"))?,
        Some(token),
    )
}

fn revoke_key(context: &mut Context<'_, '_>, input: OneApiKey) -> Result<CredentialSuccess> {
    revoke_api_key(context, input.api_key_id)
}

/// Revokes an API key and disables its subscriptions.
pub(super) fn revoke_api_key(context: &mut Context<'_, '_>, id: Uuid) -> Result<CredentialSuccess> {
    let now = context.now();
    context.execute_deferred(&KEEP_HASH, values![id, now])?;
    let oldest = now
        .checked_sub(REVOKED_HASH_RETENTION)
        .unwrap_or(Timestamp::MIN);
    context.execute_deferred(&FORGET_HASHES, values![oldest])?;
    if context.execute(&DELETE_KEY, values![id])? == 0 {
        return Err(Error::not_found("API key"));
    }
    disable_all_of(
        context,
        Credential::ApiKey(id),
        DisabledReason::CredentialInvalid,
    )?;
    Ok(CredentialSuccess { success: true })
}

fn put_member(context: &mut Context<'_, '_>, input: PutMember) -> Result<MemberView> {
    let member = Member {
        name: input.name.0,
        email: input.email.0,
        permissions: without_duplicates(input.permissions),
        property_ids: input
            .property_ids
            .into_sent()
            .flatten()
            .map(without_duplicates),
        is_active: input.is_active,
        is_two_factor_enrolled: input.is_two_factor_enrolled,
    };
    let now = context.now();
    save_member(context, input.member_id, &member, now)
}

/// Creates or replaces a member. Disables the member's subscriptions that the new permissions do
/// not allow.
///
/// The member's `updatedAt` is never before that of an earlier change in the organization. So a
/// client that polls with `updatedSince` misses no change (rules: records#reading-changes).
pub fn save_member(
    context: &mut Context<'_, '_>,
    id: Uuid,
    member: &Member,
    at: Timestamp,
) -> Result<MemberView> {
    disable_lost_subscriptions(context, id, member)?;
    let change_time = stored::begin_change(context)?;
    let at = at.max(change_time);
    if at > change_time {
        stored::end_change(context, at)?;
    }
    let row = context.row(&PUT_MEMBER, values![id, at, store::Value::json(member)?])?;
    MemberView::from_row(&row.ok_or_else(|| Error::internal("an upsert returned nothing"))?)
}

fn members_by_creation(
    context: &mut Context<'_, '_>,
    input: ListTeam,
    page: Page,
) -> Result<Listing<MemberView>> {
    members(context, input.updated_since, &MEMBERS_BY_CREATION, page)
}

fn list_members(
    context: &mut Context<'_, '_>,
    input: MembersOf,
    page: Page,
) -> Result<Listing<MemberView>> {
    members(context, input.updated_since, &LIST_MEMBERS, page)
}

/// Returns a page of the members, in the order of the statement `all`. With `since`, omits members
/// whose last change was before this time, and orders the others by the time of that change, then
/// by id.
fn members(
    context: &mut Context<'_, '_>,
    since: Option<Moment>,
    all: &'static Statement,
    page: Page,
) -> Result<Listing<MemberView>> {
    let (total, rows) = match since {
        None => (
            context.row(&COUNT_MEMBERS, [])?,
            context.rows(all, values![page.limit, page.offset])?,
        ),
        Some(Moment(since)) => (
            context.row(&COUNT_MEMBERS_SINCE, values![since])?,
            context.rows(&MEMBERS_SINCE, values![since, page.limit, page.offset])?,
        ),
    };
    Ok(Listing {
        items: rows
            .iter()
            .map(MemberView::from_row)
            .collect::<Result<_>>()?,
        total: total.map_or(Ok(0), |row| row.get(0))?,
    })
}

fn remove_member(context: &mut Context<'_, '_>, input: OneMember) -> Result<CredentialSuccess> {
    connections::end_connections_of_member(context, input.member_id)?;
    if context.execute(&DELETE_MEMBER, values![input.member_id])? == 0 {
        return Err(Error::not_found("Member"));
    }
    disable_events_of_member(
        context,
        input.member_id,
        Event::VARIANTS,
        DisabledReason::CredentialInvalid,
    )?;
    Ok(CredentialSuccess { success: true })
}

/// Disables a member's webhook subscriptions to events that the member may no longer receive. These
/// subscriptions stay disabled even if the member later gets the permission again.
fn disable_lost_subscriptions(
    context: &mut Context<'_, '_>,
    id: Uuid,
    member: &Member,
) -> Result<()> {
    let is_valid = member.is_active
        && (member.is_two_factor_enrolled || !context.organization.settings.is_two_factor_required);
    if !is_valid {
        return disable_events_of_member(
            context,
            id,
            Event::VARIANTS,
            DisabledReason::CredentialInvalid,
        );
    }
    let lost_events: Vec<Event> = Event::VARIANTS
        .iter()
        .copied()
        .filter(|event| !member.permissions.contains(&event.permission()))
        .collect();
    disable_events_of_member(context, id, &lost_events, DisabledReason::PermissionLost)
}

/// Removes duplicates from a list. The remaining items stay in order.
#[must_use]
pub fn without_duplicates<T: Ord + Copy>(items: Vec<T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    items
        .into_iter()
        .filter(|item| seen.insert(*item))
        .collect()
}
