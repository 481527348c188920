//! What an app may do for a member: its access tokens, and the end of them.

use delivery::DisabledReason;
use engine::access::{self, AccessToken, Credential, Permission};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::Operation;
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Value;
use uuid::Uuid;

use super::audited::named_member;
use super::credentials::{Done, Expiry, each_once};
use crate::events::{disable_all_elsewhere, disable_all_of};

store::statements! {
    /// Whether a member is known.
    MEMBER_EXISTS = "select id from member where organization_id = ?1 and id = ?2";
    /// Whether an OAuth app is known. Apps belong to no organization.
    APP_EXISTS = "select a.id from oauth_app a join organization o on o.id = ?1 where a.id = ?2 and o.erased_at is null";
    /// A new access token, of a grant that it goes with or of none.
    INSERT_TOKEN = "insert into access_token (organization_id, id, member_id, oauth_app_id, token_hash, created_at, doc, grant_id, expires_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    /// Ends the tokens of a connection in the other organizations.
    DELETE_TOKENS_ELSEWHERE = "delete from access_token where organization_id <> ?1 and oauth_app_id = ?2 and member_id = ?3";
    /// And what they were made of.
    DELETE_GRANTS_ELSEWHERE = "delete from oauth_grant where organization_id <> ?1 and oauth_app_id = ?2 and member_id = ?3";
    /// Ends the tokens of a connection.
    DELETE_TOKENS = "delete from access_token where organization_id = ?1 and oauth_app_id = ?2 and member_id = ?3";
    /// Ends what a member has allowed an app, with every code and refresh token of it.
    DELETE_GRANTS = "delete from oauth_grant where organization_id = ?1 and oauth_app_id = ?2 and member_id = ?3";
    /// Notes of an app that came by itself since when this organization allows it nothing more.
    NOTE_END = "update oauth_app set idle_since = ?3 where id = ?2 and idle_since is not null and coalesce(?1, id) = ?1";
    /// Ends every token of a member, whichever app has it.
    DELETE_TOKENS_OF_MEMBER = "delete from access_token where organization_id = ?1 and member_id = ?2";
    /// Ends what a member has allowed, whichever app.
    DELETE_GRANTS_OF_MEMBER = "delete from oauth_grant where organization_id = ?1 and member_id = ?2";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "memberId": "0192f0c1-2345-7abc-8def-0123456789ab", "oauthAppId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "permissions": ["view_properties"]
}))]
struct CreateToken {
    /// Id of the organization that the token acts in.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the member who authorizes the app: the token reaches their properties. An unknown one is a 404.
    member_id: Uuid,
    /// Id of the OAuth app that the token is for. An unknown one is a 404.
    oauth_app_id: Uuid,
    /// What the token may do, as far as the member still holds it: permissions such as `view_reservations`.
    permissions: Vec<Permission>,
    /// Moment at which the token stops working by itself. Null or left out: never; a moment that has passed is refused.
    #[serde(default)]
    expires_at: Option<Expiry>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TokenView {
    id: Uuid,
    token: String,
    expires_at: Option<Moment>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneConnection {
    /// Id of the organization that the member is of.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the OAuth app to disconnect.
    oauth_app_id: Uuid,
    /// Id of the member it is disconnected from; other members stay connected.
    member_id: Uuid,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("createAccessToken", Method::POST, "/organizations/{organizationId}/access-tokens")
            .summary("Make an access token of an app for a member; the token is shown once")
            .creates()
            .audited(Audits::does(named_member).telling(&["id", "oauthAppId", "permissions", "expiresAt"]).withholding(&["token"]))
            .run(create_token),
        Operation::platform("disconnect", Method::DELETE, "/organizations/{organizationId}/connections/{oauthAppId}/{memberId}")
            .summary("Disconnect an app from a member: its tokens die, its subscriptions are disabled")
            .audited(Audits::does(named_member).telling(&["oauthAppId"]))
            .run(disconnect),
    ]
}

/// The connection that an access token is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    /// The app.
    pub(crate) app: Uuid,
    /// The member.
    pub(crate) member: Uuid,
}

impl Connection {
    const fn credential(self) -> Credential {
        Credential::Connection { app: self.app, member: self.member }
    }

    /// Makes an access token, of a grant where it comes of one.
    pub(crate) fn issue(self, context: &mut Context<'_, '_>, grant: Option<Uuid>, token: &AccessToken) -> Result<Issued> {
        let (id, now) = (context.new_id(), context.now());
        let secret = access::token_of("at_", context.organization.id, context.ids());
        let (hash, doc) = (Value::Bytes(access::hash(&secret)), Value::json(token)?);
        // What comes of a grant goes by itself; what the platform has made stays until it ends that.
        let goes_at = grant.and(token.expires_at).map(|expiry| expiry.0);
        context.execute_along(&INSERT_TOKEN, values![id, self.member, self.app, hash, now, doc, grant, goes_at])?;
        Ok(Issued { id, secret })
    }

    /// Ends it in every other organization: a member authorizes an app for one at a time (spec: Webhook subscription, credential
    /// invalid).
    pub(crate) fn end_elsewhere(self, context: &mut Context<'_, '_>) -> Result<()> {
        context.execute_along(&DELETE_TOKENS_ELSEWHERE, values![self.app, self.member])?;
        context.execute_along(&DELETE_GRANTS_ELSEWHERE, values![self.app, self.member])?;
        disable_all_elsewhere(context, self.credential(), DisabledReason::CredentialInvalid)
    }

    /// Ends it: tokens die with the next request, subscriptions are disabled. Whether there was anything to end.
    pub(crate) fn end(self, context: &mut Context<'_, '_>) -> Result<bool> {
        let tokens = context.execute(&DELETE_TOKENS, values![self.app, self.member])?;
        let grants = context.execute(&DELETE_GRANTS, values![self.app, self.member])?;
        if tokens + grants == 0 {
            return Ok(false);
        }
        self.note_end(context)?;
        disable_all_of(context, self.credential(), DisabledReason::CredentialInvalid)?;
        Ok(true)
    }

    /// Notes that something of it has ended: an app that came by itself is forgotten some time after the last of that.
    pub(crate) fn note_end(self, context: &mut Context<'_, '_>) -> Result<()> {
        let now = context.now();
        context.execute_along(&NOTE_END, values![self.app, now])?;
        Ok(())
    }
}

/// An access token that has just been made.
pub(crate) struct Issued {
    id: Uuid,
    /// The token itself, which is stored nowhere.
    pub(crate) secret: String,
}

/// Ends every connection of a member; their subscriptions are left to the caller.
pub(super) fn end_all_of(context: &mut Context<'_, '_>, member: Uuid) -> Result<()> {
    context.execute_along(&DELETE_TOKENS_OF_MEMBER, values![member])?;
    context.execute_along(&DELETE_GRANTS_OF_MEMBER, values![member])?;
    Ok(())
}

fn create_token(context: &mut Context<'_, '_>, input: CreateToken) -> Result<TokenView> {
    if !context.exists(&MEMBER_EXISTS, values![input.member_id])? {
        return Err(Error::not_found("Member"));
    }
    if !context.exists(&APP_EXISTS, values![input.oauth_app_id])? {
        return Err(Error::not_found("OAuth app"));
    }
    let expires_at = input.expires_at.map(|expiry| expiry.0);
    let token = AccessToken { permissions: each_once(input.permissions), resource: None, expires_at };
    let connection = Connection { app: input.oauth_app_id, member: input.member_id };
    let Issued { id, secret } = connection.issue(context, None, &token)?;
    connection.end_elsewhere(context)?;
    Ok(TokenView { id, token: secret, expires_at })
}

fn disconnect(context: &mut Context<'_, '_>, input: OneConnection) -> Result<Done> {
    let connection = Connection { app: input.oauth_app_id, member: input.member_id };
    if connection.end(context)? { Ok(Done { success: true }) } else { Err(Error::not_found("Connection")) }
}
