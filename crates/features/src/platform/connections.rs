//! Connections between OAuth apps and members: their access tokens, and the operations that end a
//! connection. The authorization server (`crates/access/src/oauth/`) issues tokens through
//! [`AppConnection`] as well.

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

use super::audited::member_target;
use super::credentials::{CredentialSuccess, Expiry, without_duplicates};
use crate::events::{disable_all_in_other_organizations, disable_all_of};

store::statements! {
    /// Finds a member, to check whether the member exists.
    MEMBER_EXISTS = "select id from member where organization_id = ?1 and id = ?2";
    /// Finds an OAuth app, to check whether the app exists. Apps belong to no organization, so the
    /// join only checks that the organization is not erased.
    APP_EXISTS = "select a.id from oauth_app a join organization o on o.id = ?1 where a.id = ?2
        and o.erased_at is null";
    /// Inserts an access token. `grant_id` is null for a token that the platform created.
    INSERT_TOKEN = "insert into access_token
        (organization_id, id, member_id, oauth_app_id, token_hash, created_at, doc, grant_id,
        expires_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    /// Selects the grants of a connection in all organizations except `?1`.
    GRANTS_ELSEWHERE = "select organization_id, id from oauth_grant
        where organization_id <> ?1 and oauth_app_id = ?2 and member_id = ?3
        order by organization_id, id";
    /// Deletes a grant in another organization, unless another transaction has locked the grant.
    /// The tokens of the grant are deleted with it.
    DELETE_GRANT_ELSEWHERE = "with free as (select id from oauth_grant
            where organization_id <> ?1 and organization_id = ?2 and id = ?3 for update skip locked)
        delete from oauth_grant where organization_id <> ?1 and organization_id = ?2
        and id in (select id from free)";
    /// Selects the access tokens of a connection in all organizations except `?1`.
    TOKENS_ELSEWHERE = "select organization_id, id from access_token
        where organization_id <> ?1 and oauth_app_id = ?2 and member_id = ?3
        order by organization_id, id";
    /// Deletes a token of another organization, unless another transaction has locked the token.
    DELETE_TOKEN_ELSEWHERE = "with free as (select id from access_token
            where organization_id <> ?1 and organization_id = ?2 and id = ?3 for update skip locked)
        delete from access_token where organization_id <> ?1 and organization_id = ?2
        and id in (select id from free)";
    /// Deletes the tokens of a connection.
    DELETE_TOKENS = "delete from access_token where organization_id = ?1 and oauth_app_id = ?2
        and member_id = ?3";
    /// Deletes the grants of a connection, with their codes and refresh tokens.
    DELETE_GRANTS = "delete from oauth_grant where organization_id = ?1 and oauth_app_id = ?2
        and member_id = ?3";
    /// Restarts the idle period of an app that the platform did not create. Skips an app that
    /// another transaction has locked. That transaction restarts the period as well, or deletes the
    /// app.
    NOTE_END = "update oauth_app set idle_since = ?3 where id in
        (select id from oauth_app where id = ?2 and idle_since is not null
        and coalesce(?1, id) = ?1 for no key update skip locked)";
    /// Deletes all tokens of a member, for every app.
    DELETE_TOKENS_OF_MEMBER = "delete from access_token where organization_id = ?1
        and member_id = ?2";
    /// Deletes all grants of a member, for every app.
    DELETE_GRANTS_OF_MEMBER = "delete from oauth_grant where organization_id = ?1
        and member_id = ?2";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "memberId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "oauthAppId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "permissions": ["view_properties"],
}))]
struct CreateToken {
    /// Id of the organization that the token acts in.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the member who authorizes the app: the token has access to this member's properties.
    /// An unknown member is a 404.
    member_id: Uuid,
    /// Id of the OAuth app that gets the token. An unknown app is a 404.
    oauth_app_id: Uuid,
    /// Permissions of the token, such as `view_reservations`. The token has only those that the
    /// member still holds.
    permissions: Vec<Permission>,
    /// Time at which the token expires. Null or left out: never; a time in the past is refused.
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
struct PlatformConnection {
    /// Id of the member's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the OAuth app to disconnect.
    oauth_app_id: Uuid,
    /// Id of the member from whom the app is disconnected; other members stay connected.
    member_id: Uuid,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "createAccessToken",
            Method::POST,
            "/organizations/{organizationId}/access-tokens",
        )
        .summary("Make an access token of an app for a member; the token is shown once")
        .creates()
        .audited(
            Audits::acts_on(member_target)
                .recording(&["id", "oauthAppId", "permissions", "expiresAt"])
                .withholding(&["token"]),
        )
        .run(create_token),
        Operation::platform(
            "disconnect",
            Method::DELETE,
            "/organizations/{organizationId}/connections/{oauthAppId}/{memberId}",
        )
        .summary("Disconnect an app from a member: its tokens die, its subscriptions are disabled")
        .audited(Audits::acts_on(member_target).recording(&["oauthAppId"]))
        .run(disconnect),
    ]
}

/// The connection between an OAuth app and a member. Every access token belongs to a connection.
#[derive(Debug, Clone, Copy)]
pub struct AppConnection {
    pub app: Uuid,
    pub member: Uuid,
}

impl AppConnection {
    const fn credential(self) -> Credential {
        Credential::Connection {
            app: self.app,
            member: self.member,
        }
    }

    /// Returns the key of the database lock that a transaction acquires before it moves the
    /// connection to another organization. So two transactions cannot move the connection at the
    /// same time.
    const fn lock(self) -> i64 {
        let [app, member] = [self.app.as_u64_pair(), self.member.as_u64_pair()];
        (app.0 ^ app.1.rotate_left(21) ^ member.0.rotate_left(42) ^ member.1.rotate_left(7))
            .cast_signed()
    }

    /// Creates an access token that belongs to no grant.
    fn issue(self, context: &mut Context<'_, '_>, token: &AccessToken) -> Result<NewAccessToken> {
        let secret = access::token_of("at_", context.organization.id, context.ids());
        let id = self.store(context, None, token, &secret)?;
        Ok(NewAccessToken { id, secret })
    }

    /// Stores an access token with the hash of its secret. `grant` is the grant to which the token
    /// belongs, if any. Returns the token's id.
    pub fn store(
        self,
        context: &mut Context<'_, '_>,
        grant: Option<Uuid>,
        token: &AccessToken,
        secret: &str,
    ) -> Result<Uuid> {
        let (id, now) = (context.new_id(), context.now());
        let (hash, doc) = (Value::Bytes(access::hash(secret)), Value::json(token)?);
        // The sweep deletes a token of a grant after the token expires. A token that the platform
        // created stays until the connection ends.
        let deleted_after = grant.and(token.expires_at).map(|expiry| expiry.0);
        context.execute_deferred(
            &INSERT_TOKEN,
            values![
                id,
                self.member,
                self.app,
                hash,
                now,
                doc,
                grant,
                deleted_after
            ],
        )?;
        Ok(id)
    }

    /// Ends the connection in every other organization, because a member authorizes an app for one
    /// organization at a time (rules: oauth#connections, 3).
    ///
    /// Does not wait for locks. The locks of two organizations have no common order, so waiting
    /// could end in a deadlock. Returns 503 if another transaction changes the same connection.
    pub fn end_in_other_organizations(self, context: &mut Context<'_, '_>) -> Result<()> {
        if !context.try_lock(self.lock())? {
            return Err(changes_elsewhere());
        }
        // The deletion of a grant also deletes its tokens. So the grants are deleted first, and the
        // second query then finds only tokens without a grant.
        for (rows, delete) in [
            (&GRANTS_ELSEWHERE, &DELETE_GRANT_ELSEWHERE),
            (&TOKENS_ELSEWHERE, &DELETE_TOKEN_ELSEWHERE),
        ] {
            for row in context.rows(rows, values![self.app, self.member])? {
                let (organization, id): (Uuid, Uuid) = (row.get(0)?, row.get(1)?);
                if context.execute(delete, values![organization, id])? == 0 {
                    return Err(changes_elsewhere());
                }
            }
        }
        disable_all_in_other_organizations(
            context,
            self.credential(),
            DisabledReason::CredentialInvalid,
        )
    }

    /// Ends the connection: deletes its grants and tokens, and disables its subscriptions. A
    /// deleted token stops working with the next request. Returns false if there were no tokens and
    /// no grants.
    pub fn end(self, context: &mut Context<'_, '_>) -> Result<bool> {
        // Every transaction deletes grants before tokens, because the deletion of a grant locks its
        // tokens. Another order could deadlock.
        let grants = context.execute(&DELETE_GRANTS, values![self.app, self.member])?;
        let tokens = context.execute(&DELETE_TOKENS, values![self.app, self.member])?;
        if tokens + grants == 0 {
            return Ok(false);
        }
        self.restart_idle_period(context)?;
        disable_all_of(
            context,
            self.credential(),
            DisabledReason::CredentialInvalid,
        )?;
        Ok(true)
    }

    /// Restarts the idle period of the app, because a token or grant has ended. At the end of the
    /// period, the sweep deletes the app, unless the platform created it.
    pub fn restart_idle_period(self, context: &mut Context<'_, '_>) -> Result<()> {
        let now = context.now();
        context.execute_deferred(&NOTE_END, values![self.app, now])?;
        Ok(())
    }
}

/// Returns the 503 for a connection that is being changed in another organization.
fn changes_elsewhere() -> Error {
    Error::unavailable("the connection is being changed in another organization")
}

/// An access token that was just created.
struct NewAccessToken {
    id: Uuid,
    /// The token itself, which is not stored.
    secret: String,
}

/// Ends the connections between a member and all OAuth apps. The calling function disables the
/// member's subscriptions.
pub(super) fn end_connections_of_member(context: &mut Context<'_, '_>, member: Uuid) -> Result<()> {
    context.execute_deferred(&DELETE_GRANTS_OF_MEMBER, values![member])?;
    context.execute_deferred(&DELETE_TOKENS_OF_MEMBER, values![member])?;
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
    let token = AccessToken {
        permissions: without_duplicates(input.permissions),
        resource: None,
        expires_at,
    };
    let connection = AppConnection {
        app: input.oauth_app_id,
        member: input.member_id,
    };
    let NewAccessToken { id, secret } = connection.issue(context, &token)?;
    connection.end_in_other_organizations(context)?;
    Ok(TokenView {
        id,
        token: secret,
        expires_at,
    })
}

fn disconnect(
    context: &mut Context<'_, '_>,
    input: PlatformConnection,
) -> Result<CredentialSuccess> {
    let connection = AppConnection {
        app: input.oauth_app_id,
        member: input.member_id,
    };
    if connection.end(context)? {
        Ok(CredentialSuccess { success: true })
    } else {
        Err(Error::not_found("Connection"))
    }
}
