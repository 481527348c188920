//! Grants: the permissions that a member gives an app. A grant begins as a code. Once the code is
//! exchanged, the grant has tokens. All of them end with the grant.

use engine::access::{Access, AccessToken, Member, Permission, Resource, Settings};
use engine::context::{Context, RaisedRevision};
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Json, Row, Value};
use uuid::Uuid;

use super::scope::ScopeSet;
use crate::platform::AppConnection;

store::statements! {
    /// A new grant, which begins as a code.
    INSERT = "insert into oauth_grant
        (id, organization_id, member_id, oauth_app_id, resource, code_hash, created_at, exchanged_at, used_at, expires_at, doc)
        values (?2, ?1, ?3, ?4, ?5, ?6, ?7, null, ?7, ?8, ?9)";
    /// Deletes the oldest codes of a member above a limit.
    LIMIT_CODES = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2 and exchanged_at is null order by id desc limit ?3 offset ?4)";
    /// Deletes the least recently used grants of a member above a limit.
    LIMIT_GRANTS = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2 and exchanged_at is not null
        order by used_at desc, id desc limit ?3 offset ?4)";
    /// The grant of a code, exchanged or not.
    BY_CODE = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.code_hash = ?2";
    /// A grant.
    BY_ID = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.id = ?2";
    /// Marks a code as exchanged, unless it already is, and sets the expiry of the grant.
    EXCHANGE = "update oauth_grant set exchanged_at = ?3, used_at = ?3, expires_at = ?4
        where organization_id = ?1 and id = ?2 and exchanged_at is null";
    /// Sets the last use of a grant and its new expiry.
    NOTE_USE = "update oauth_grant set used_at = ?3, expires_at = ?4 where organization_id = ?1 and id = ?2";
    /// Deletes a grant.
    END = "delete from oauth_grant where organization_id = ?1 and id = ?2";
    /// Deletes the oldest access tokens of a grant above a limit.
    LIMIT_TOKENS = "delete from access_token where organization_id = ?1 and id in
        (select id from access_token where organization_id = ?1 and grant_id = ?2 order by id desc limit ?3 offset ?4)";
}

/// Time after which an unused grant expires (rules: oauth#tokens).
const LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Lifetime of an access token (rules: oauth#tokens). Answers give it in whole seconds.
pub(super) const TOKEN_LASTS: SignedDuration = SignedDuration::from_secs(3_600);
/// Maximum number of unexchanged codes of a member.
const MOST_CODES: i64 = 20;
/// Maximum number of grants of a member.
const MOST_GRANTS: i64 = 100;
/// Maximum number of access tokens of a grant.
const MOST_TOKENS: i64 = 50;
/// Maximum number of rows deleted at once to enforce a limit.
const STEP: i64 = 500;

/// The content of a grant, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Allowed {
    /// The permissions of the app, as far as the member holds them.
    pub(super) permissions: Vec<Permission>,
    /// The resource that the grant is for.
    pub(super) resource: Option<Resource>,
    /// The address that the code was sent to.
    pub(super) redirect_uri: String,
    /// The hash of the secret that the app presents with the code (RFC 7636).
    pub(super) challenge: String,
}

impl Allowed {
    /// Returns the granted scopes.
    pub(super) fn scopes(&self) -> ScopeSet {
        ScopeSet::of(self.permissions.iter().copied())
    }
}

/// A grant, with the current state of its member.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) id: Uuid,
    pub(super) member_id: Uuid,
    /// The app that holds the grant.
    pub(super) app: Uuid,
    /// The time at which its code was exchanged, if it was.
    pub(super) exchanged_at: Option<Timestamp>,
    /// The time at which the grant expires.
    pub(super) expires_at: Timestamp,
    /// The content of the grant.
    pub(super) allowed: Allowed,
    member: Member,
}

/// Returns the time a while after `now`.
pub(super) fn after(now: Timestamp, while_: SignedDuration) -> Timestamp {
    now.checked_add(while_).unwrap_or(Timestamp::MAX)
}

impl Grant {
    /// Reads a grant from the columns of [`BY_CODE`].
    fn of_row(row: &Row) -> Result<Self> {
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

    /// Returns the grant of a code, exchanged or not.
    pub(super) fn by_code(context: &mut Context<'_, '_>, hash: &[u8]) -> Result<Option<Self>> {
        context
            .row(&BY_CODE, [Value::Bytes(hash.to_vec())])?
            .as_ref()
            .map(Self::of_row)
            .transpose()
    }

    /// Returns a grant by its id.
    pub(super) fn by_id(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Self>> {
        context
            .row(&BY_ID, values![id])?
            .as_ref()
            .map(Self::of_row)
            .transpose()
    }

    /// Whether an app may act for the member: the member is active and fulfils the current
    /// two-factor rule of the organization.
    pub(super) const fn has_good_member(&self, settings: &Settings) -> bool {
        self.member.is_active
            && (self.member.is_two_factor_enrolled || !settings.is_two_factor_required)
    }

    /// Marks the code as exchanged. Returns false if it already was.
    pub(super) fn exchange(&self, context: &mut Context<'_, '_>) -> Result<bool> {
        let now = context.now();
        if context.execute(&EXCHANGE, values![self.id, now, after(now, LASTS)])? == 0 {
            return Ok(false);
        }
        context.execute_deferred(&LIMIT_GRANTS, values![self.member_id, STEP, MOST_GRANTS])?;
        self.connection().end_elsewhere(context)?;
        Ok(true)
    }

    /// Records a use, which extends the grant.
    pub(super) fn note_use(&self, context: &mut Context<'_, '_>) -> Result<()> {
        let now = context.now();
        context.execute_deferred(&NOTE_USE, values![self.id, now, after(now, LASTS)])?;
        Ok(())
    }

    /// Stores an access token of the grant.
    pub(super) fn issue(
        &self,
        context: &mut Context<'_, '_>,
        scopes: &ScopeSet,
        secret: &str,
    ) -> Result<()> {
        let expires_at = Some(Moment(after(context.now(), TOKEN_LASTS)));
        let token = AccessToken {
            permissions: scopes.permissions().to_vec(),
            resource: self.allowed.resource,
            expires_at,
        };
        self.connection()
            .store(context, Some(self.id), &token, secret)?;
        context.execute_deferred(&LIMIT_TOKENS, values![self.id, STEP, MOST_TOKENS])?;
        Ok(())
    }

    /// Ends the grant with all its tokens. Running requests with one of the tokens are
    /// authenticated again.
    pub(super) fn end(&self, context: &mut Context<'_, '_>) -> Result<()> {
        context.touch_configuration();
        context.execute_deferred(&END, values![self.id])?;
        self.connection().note_end(context)
    }

    const fn connection(&self) -> AppConnection {
        AppConnection {
            app: self.app,
            member: self.member_id,
        }
    }
}

/// Stores a new grant of a member to an app, as a code that is valid until a given time.
pub(super) fn begin(
    context: &mut Context<'_, '_>,
    of: (Uuid, Uuid),
    allowed: &Allowed,
    hash: Vec<u8>,
    until: Timestamp,
) -> Result<()> {
    let ((member, app), id, now) = (of, context.new_id(), context.now());
    let resource = allowed
        .resource
        .as_ref()
        .map_or_else(String::new, |resource| resource.as_ref().to_owned());
    let doc = Value::json(allowed)?;
    context.execute_deferred(&LIMIT_CODES, values![member, STEP, MOST_CODES - 1])?;
    context.execute_deferred(
        &INSERT,
        values![
            id,
            member,
            app,
            resource,
            Value::Bytes(hash),
            now,
            until,
            doc
        ],
    )?;
    Ok(())
}

/// Runs work in an organization under its lock, with the rights of the server itself. The caller
/// has already verified the client by its credentials.
pub(super) async fn within<T: Send + 'static>(
    service: &std::sync::Arc<Service>,
    organization: Uuid,
    work: impl FnOnce(&mut Context<'_, '_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let shared = service.clone();
    let done = service
        .store
        .write_for(Some(organization), store::WORK_LIMIT, move |tx| {
            // The time is read once the lock is held, because a request may expire while it waits
            // for the lock.
            let (access, now) = (Access::platform(), shared.clock.now());
            let mut system = shared.system(tx, now);
            let locked = system
                .lock(organization, RaisedRevision::Stream)?
                .ok_or_else(|| Error::not_found("Organization"))?;
            system.now = shared.clock.now();
            let mut context = Context::of_locked(system, locked, &access);
            let done = work(&mut context)?;
            context.close()?;
            Ok::<_, Error>((done, context.take_wake_signals()))
        });
    let (done, wake_signals) = done.await?;
    service.app_state.wake(&wake_signals);
    Ok(done)
}
