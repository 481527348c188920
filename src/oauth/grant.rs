//! Grants: what a member has allowed an app. A grant begins as a code, and is tokens once that is exchanged; with the grant they all
//! end.

use engine::access::{Access, AccessToken, Member, Permission, Resource, Settings};
use engine::context::{Context, Touches};
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Json, Row, Value};
use uuid::Uuid;

use super::scope::Scopes;
use crate::platform::Connection;

store::statements! {
    /// A new grant, which is a code for now.
    INSERT = "insert into oauth_grant
        (id, organization_id, member_id, oauth_app_id, resource, code_hash, created_at, exchanged_at, used_at, expires_at, doc)
        values (?2, ?1, ?3, ?4, ?5, ?6, ?7, null, ?7, ?8, ?9)";
    /// Ends the codes of a member beyond so many, the oldest of them.
    LIMIT_CODES = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2 and exchanged_at is null order by id desc limit ?3 offset ?4)";
    /// Ends the grants of a member beyond so many, those that are longest without use.
    LIMIT_GRANTS = "delete from oauth_grant where organization_id = ?1 and id in
        (select id from oauth_grant where organization_id = ?1 and member_id = ?2 and exchanged_at is not null
        order by used_at desc, id desc limit ?3 offset ?4)";
    /// The grant that a code is, or was.
    BY_CODE = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.code_hash = ?2";
    /// A grant.
    BY_ID = "select g.id, g.member_id, g.oauth_app_id, g.exchanged_at, g.expires_at, g.doc, m.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        where g.organization_id = ?1 and g.id = ?2";
    /// Notes that a code is exchanged, unless it has been; the grant then lasts until a moment.
    EXCHANGE = "update oauth_grant set exchanged_at = ?3, used_at = ?3, expires_at = ?4
        where organization_id = ?1 and id = ?2 and exchanged_at is null";
    /// Notes that a grant is used, and how long it lasts then.
    NOTE_USE = "update oauth_grant set used_at = ?3, expires_at = ?4 where organization_id = ?1 and id = ?2";
    /// Ends a grant.
    END = "delete from oauth_grant where organization_id = ?1 and id = ?2";
    /// Ends the access tokens of a grant beyond so many, the oldest of them.
    LIMIT_TOKENS = "delete from access_token where organization_id = ?1 and id in
        (select id from access_token where organization_id = ?1 and grant_id = ?2 order by id desc limit ?3 offset ?4)";
}

/// How long a grant lasts without use (contract: People: OAuth 2.1).
const LASTS: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long an access token lasts (contract: People: OAuth 2.1), which clients are told in whole seconds.
pub(super) const TOKEN_LASTS: SignedDuration = SignedDuration::from_secs(3_600);
/// Codes of a member that wait at once.
const MOST_CODES: i64 = 20;
/// Grants of a member at once.
const MOST_GRANTS: i64 = 100;
/// Access tokens of a grant at once.
const MOST_TOKENS: i64 = 50;
/// Rows that go at once to make room.
const STEP: i64 = 500;

/// What a grant is made of, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Allowed {
    /// What the app may do, as far as the member holds it.
    pub(super) permissions: Vec<Permission>,
    /// The one resource it is for.
    pub(super) resource: Option<Resource>,
    /// Where the code was sent.
    pub(super) redirect_uri: String,
    /// The hash of the secret that the app shows for the code (RFC 7636).
    pub(super) challenge: String,
}

impl Allowed {
    /// The scopes that were given.
    pub(super) fn scopes(&self) -> Scopes {
        Scopes::of(self.permissions.iter().copied())
    }
}

/// A grant, with the member whose it is as they are now.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) id: Uuid,
    pub(super) member_id: Uuid,
    /// The app it is for.
    pub(super) app: Uuid,
    /// When its code was exchanged, where that has happened.
    pub(super) exchanged_at: Option<Timestamp>,
    /// When it ends by itself.
    pub(super) expires_at: Timestamp,
    /// What was allowed.
    pub(super) allowed: Allowed,
    member: Member,
}

/// The moment after a while.
pub(super) fn after(now: Timestamp, while_: SignedDuration) -> Timestamp {
    now.checked_add(while_).unwrap_or(Timestamp::MAX)
}

impl Grant {
    /// From the columns of [`BY_CODE`].
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

    /// The grant that a code is, or was.
    pub(super) fn by_code(context: &mut Context<'_, '_>, hash: &[u8]) -> Result<Option<Self>> {
        context.row(&BY_CODE, [Value::Bytes(hash.to_vec())])?.as_ref().map(Self::of_row).transpose()
    }

    /// A grant by its id.
    pub(super) fn by_id(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Self>> {
        context.row(&BY_ID, values![id])?.as_ref().map(Self::of_row).transpose()
    }

    /// Whether its member may be acted for: active, and within the two-factor rule of the organization as it is now.
    pub(super) const fn has_good_member(&self, settings: &Settings) -> bool {
        self.member.is_active && (self.member.is_two_factor_enrolled || !settings.is_two_factor_required)
    }

    /// Notes that its code is exchanged; false where it has been already.
    pub(super) fn exchange(&self, context: &mut Context<'_, '_>) -> Result<bool> {
        let now = context.now();
        if context.execute(&EXCHANGE, values![self.id, now, after(now, LASTS)])? == 0 {
            return Ok(false);
        }
        context.execute_along(&LIMIT_GRANTS, values![self.member_id, STEP, MOST_GRANTS])?;
        self.connection().end_elsewhere(context)?;
        Ok(true)
    }

    /// Notes that it is used, which lets it last.
    pub(super) fn note_use(&self, context: &mut Context<'_, '_>) -> Result<()> {
        let now = context.now();
        context.execute_along(&NOTE_USE, values![self.id, now, after(now, LASTS)])?;
        Ok(())
    }

    /// Makes an access token of it.
    pub(super) fn issue(&self, context: &mut Context<'_, '_>, scopes: &Scopes) -> Result<String> {
        let expires_at = Some(Moment(after(context.now(), TOKEN_LASTS)));
        let token = AccessToken { permissions: scopes.permissions().to_vec(), resource: self.allowed.resource, expires_at };
        let issued = self.connection().issue(context, Some(self.id), &token)?;
        context.execute_along(&LIMIT_TOKENS, values![self.id, STEP, MOST_TOKENS])?;
        Ok(issued.secret)
    }

    /// Ends it, with every token that came of it. Requests under way by one of them are looked at again.
    pub(super) fn end(&self, context: &mut Context<'_, '_>) -> Result<()> {
        context.touch_configuration();
        context.execute_along(&END, values![self.id])?;
        self.connection().note_end(context)
    }

    const fn connection(&self) -> Connection {
        Connection { app: self.app, member: self.member_id }
    }
}

/// Notes what a member allows an app, as a code that is good until a moment.
pub(super) fn begin(context: &mut Context<'_, '_>, of: (Uuid, Uuid), allowed: &Allowed, hash: Vec<u8>, until: Timestamp) -> Result<()> {
    let ((member, app), id, now) = (of, context.new_id(), context.now());
    let resource = allowed.resource.as_ref().map_or_else(String::new, |resource| resource.as_ref().to_owned());
    let doc = Value::json(allowed)?;
    context.execute_along(&LIMIT_CODES, values![member, STEP, MOST_CODES - 1])?;
    context.execute_along(&INSERT, values![id, member, app, resource, Value::Bytes(hash), now, until, doc])?;
    Ok(())
}

/// Does something in an organization that is locked for it, on its own behalf: who asks has been judged by what they show.
pub(super) async fn within<T: Send + 'static>(
    service: &std::sync::Arc<Service>,
    organization: Uuid,
    work: impl FnOnce(&mut Context<'_, '_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let shared = service.clone();
    let done = service.store.write_for(Some(organization), store::WORK_LIMIT, move |tx| {
        // What time it is once the lock is held is what counts: whoever waited may have waited for too long.
        let (access, now) = (Access::platform(), shared.clock.now());
        let mut system = shared.system(tx, now);
        let locked = system.lock(organization, Touches::Stream)?.ok_or_else(|| Error::not_found("Organization"))?;
        system.now = shared.clock.now();
        let mut context = Context::of_locked(system, locked, &access);
        let done = work(&mut context)?;
        context.close()?;
        Ok::<_, Error>((done, context.rung()))
    });
    let (done, rung) = done.await?;
    service.kit.ring(&rung);
    Ok(done)
}
