//! Grants: the permissions that a member grants to an app. A grant begins with an authorization
//! code. After the exchange of the code, the app gets access tokens and refresh tokens of the
//! grant. When the grant ends, the server deletes these tokens.

use engine::access::{Access, AccessToken, Member, Permission, Resource, Settings};
use engine::context::{Context, RaisedRevision};
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use features::platform::AppConnection;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Json, Row, Value};
use uuid::Uuid;

use super::scope::ScopeSet;

store::statements! {
    /// Inserts a grant whose authorization code has not been exchanged.
    INSERT = "insert into oauth_grant
        (id, organization_id, member_id, oauth_app_id, resource, code_hash, created_at,
        exchanged_at, used_at, expires_at, doc)
        values (?2, ?1, ?3, ?4, ?5, ?6, ?7, null, ?7, ?8, ?9)";
    /// Deletes the oldest unexchanged authorization codes of a member, if the member has more than
    /// the maximum.
    LIMIT_CODES = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2
        and exchanged_at is null order by id desc limit ?3 offset ?4)";
    /// Deletes the least recently used grants of a member, if the member has more than the maximum.
    /// Counts and deletes only grants whose authorization code was exchanged.
    LIMIT_GRANTS = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2
        and exchanged_at is not null
        order by used_at desc, id desc limit ?3 offset ?4)";
    /// Selects the grant with an authorization code, even if the code has been exchanged.
    BY_CODE = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc
        from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.code_hash = ?2";
    /// Selects the grant with an id.
    BY_ID = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc
        from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.id = ?2";
    /// Sets the time of the exchange of an authorization code, and the expiry of its grant. Changes
    /// nothing if the code was exchanged before.
    EXCHANGE = "update oauth_grant set exchanged_at = ?3, used_at = ?3, expires_at = ?4
        where organization_id = ?1 and id = ?2 and exchanged_at is null";
    /// Sets the last use of a grant and its new expiry.
    NOTE_USE = "update oauth_grant set used_at = ?3, expires_at = ?4 where organization_id = ?1
        and id = ?2";
    /// Deletes a grant.
    END = "delete from oauth_grant where organization_id = ?1 and id = ?2";
    /// Deletes the oldest access tokens of a grant, if the grant has more than the maximum.
    LIMIT_TOKENS = "delete from access_token where organization_id = ?1 and id in
        (select id from access_token where organization_id = ?1 and grant_id = ?2 order by id desc
        limit ?3 offset ?4)";
}

/// Time after which an unused grant expires (rules: oauth#tokens).
const IDLE_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Lifetime of an access token (rules: oauth#tokens). It is a whole number of seconds, because the
/// token response has it in seconds (`expires_in`).
pub(super) const ACCESS_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_secs(3_600);
/// Maximum number of authorization codes of a member that have not been exchanged.
const MAX_CODES: i64 = 20;
/// Maximum number of grants of a member.
const MAX_GRANTS: i64 = 100;
/// Maximum number of access tokens of a grant.
const MAX_TOKENS: i64 = 50;
/// Maximum number of rows that one statement deletes to enforce a limit.
const DELETE_BATCH: i64 = 500;

/// The stored document of a grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GrantData {
    /// The granted permissions. A token gives only those permissions that the member still holds.
    pub(super) permissions: Vec<Permission>,
    /// The interface to which the grant gives access (RFC 8707).
    pub(super) resource: Option<Resource>,
    /// The redirect address of the authorization request.
    pub(super) redirect_uri: String,
    /// The PKCE challenge: the hash of the secret that the app sends with the code (RFC 7636).
    pub(super) challenge: String,
}

impl GrantData {
    /// Returns the granted permissions as scopes.
    pub(super) fn scopes(&self) -> ScopeSet {
        ScopeSet::of(self.permissions.iter().copied())
    }
}

/// A grant, with the current data of its member.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) id: Uuid,
    pub(super) member_id: Uuid,
    pub(super) app: Uuid,
    /// The time at which the app exchanged the authorization code; `None` before the exchange.
    pub(super) exchanged_at: Option<Timestamp>,
    /// The time at which the grant expires.
    pub(super) expires_at: Timestamp,
    /// The permissions, the resource and the other stored data of the grant.
    pub(super) allowed: GrantData,
    member: Member,
}

/// Adds a duration to `now`. If the result is out of range, returns the latest timestamp.
pub(super) fn after(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.checked_add(duration).unwrap_or(Timestamp::MAX)
}

impl Grant {
    /// Reads a grant from the columns of [`BY_CODE`] or [`BY_ID`].
    fn from_row(row: &Row) -> Result<Self> {
        let (Json(allowed), Json(member)) = (row.get(5)?, row.get(6)?);
        Ok(Self {
            id: row.get(0)?,
            member_id: row.get(1)?,
            app: row.get(2)?,
            exchanged_at: row.get(3)?,
            expires_at: row.get(4)?,
            allowed,
            member,
        })
    }

    /// Returns the grant whose authorization code has this hash, even if the code has been
    /// exchanged.
    pub(super) fn by_code(context: &mut Context<'_, '_>, hash: &[u8]) -> Result<Option<Self>> {
        context
            .row(&BY_CODE, [Value::Bytes(hash.to_vec())])?
            .as_ref()
            .map(Self::from_row)
            .transpose()
    }

    pub(super) fn by_id(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Self>> {
        context
            .row(&BY_ID, values![id])?
            .as_ref()
            .map(Self::from_row)
            .transpose()
    }

    /// Returns whether an app may act for the member: the member is active, and has enrolled in
    /// two-factor authentication if the organization requires it.
    pub(super) const fn has_eligible_member(&self, settings: &Settings) -> bool {
        self.member.is_active
            && (self.member.is_two_factor_enrolled || !settings.is_two_factor_required)
    }

    /// Marks the authorization code of this grant as exchanged. Returns false if it was exchanged
    /// before.
    pub(super) fn exchange(&self, context: &mut Context<'_, '_>) -> Result<bool> {
        let now = context.now();
        if context.execute(&EXCHANGE, values![self.id, now, after(now, IDLE_LIFETIME)])? == 0 {
            return Ok(false);
        }
        context.execute_deferred(
            &LIMIT_GRANTS,
            values![self.member_id, DELETE_BATCH, MAX_GRANTS],
        )?;
        self.connection().end_in_other_organizations(context)?;
        Ok(true)
    }

    /// Records that the grant was used now. This postpones the expiry of the grant.
    pub(super) fn record_use(&self, context: &mut Context<'_, '_>) -> Result<()> {
        let now = context.now();
        context.execute_deferred(&NOTE_USE, values![self.id, now, after(now, IDLE_LIFETIME)])?;
        Ok(())
    }

    /// Stores an access token of the grant.
    pub(super) fn issue(
        &self,
        context: &mut Context<'_, '_>,
        scopes: &ScopeSet,
        secret: &str,
    ) -> Result<()> {
        let expires_at = Some(Moment(after(context.now(), ACCESS_TOKEN_LIFETIME)));
        let token = AccessToken {
            permissions: scopes.permissions().to_vec(),
            resource: self.allowed.resource,
            expires_at,
        };
        self.connection()
            .store(context, Some(self.id), &token, secret)?;
        context.execute_deferred(&LIMIT_TOKENS, values![self.id, DELETE_BATCH, MAX_TOKENS])?;
        Ok(())
    }

    /// Deletes the grant and all its tokens. Raises the revision of the organization's
    /// configuration. So a request that is in progress with one of the tokens is authenticated
    /// again, and fails.
    pub(super) fn end(&self, context: &mut Context<'_, '_>) -> Result<()> {
        context.touch_configuration();
        context.execute_deferred(&END, values![self.id])?;
        self.connection().restart_idle_period(context)
    }

    const fn connection(&self) -> AppConnection {
        AppConnection {
            app: self.app,
            member: self.member_id,
        }
    }
}

/// Stores a new grant of a member to an app, with the hash and the expiry of its authorization
/// code.
pub(super) fn create_grant(
    context: &mut Context<'_, '_>,
    (member, app): (Uuid, Uuid),
    allowed: &GrantData,
    hash: Vec<u8>,
    expires_at: Timestamp,
) -> Result<()> {
    let (id, now) = (context.new_id(), context.now());
    let resource = allowed
        .resource
        .as_ref()
        .map_or_else(String::new, |resource| resource.as_ref().to_owned());
    let doc = Value::json(allowed)?;
    context.execute_deferred(&LIMIT_CODES, values![member, DELETE_BATCH, MAX_CODES - 1])?;
    context.execute_deferred(
        &INSERT,
        values![
            id,
            member,
            app,
            resource,
            Value::Bytes(hash),
            now,
            expires_at,
            doc
        ],
    )?;
    Ok(())
}

/// Runs `work` in a write transaction that locks the organization, with the rights of the server
/// instead of a caller's. The calling function must have verified the client's credentials.
pub(super) async fn in_organization<T: Send + 'static>(
    service: &std::sync::Arc<Service>,
    organization: Uuid,
    work: impl FnOnce(&mut Context<'_, '_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let service_ref = service.clone();
    let result = service
        .store
        .write_for(Some(organization), store::WORK_LIMIT, move |tx| {
            // Read the time again after the lock is acquired, because a code or token may expire
            // while the request waits for the lock.
            let (access, now) = (Access::platform(), service_ref.clock.now());
            let mut system = service_ref.system(tx, now);
            let locked = system
                .lock(organization, RaisedRevision::Stream)?
                .ok_or_else(|| Error::not_found("Organization"))?;
            system.now = service_ref.clock.now();
            let mut context = Context::of_locked(system, locked, &access);
            let result = work(&mut context)?;
            context.close()?;
            Ok::<_, Error>((result, context.take_wake_signals()))
        });
    let (result, wake_signals) = result.await?;
    service.app_state.wake(&wake_signals);
    Ok(result)
}
