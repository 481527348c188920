//! Sessions of members: begins and ends them, and finds the signed-in member of a request by the
//! session's cookie. `validity.rs` has the rules for their lifetime.

use std::collections::BTreeSet;

use engine::access::{
    Access, Identified, Member, Organization, Revisions, hash, organization_of, token_of,
};
use engine::audit::{self, Actor, AuditEntryRow, Change, Target};
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, ErrorKind, Result};
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use http::HeaderMap;
use jiff::Timestamp;
use store::{Json, Row, Transaction, Value};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::cookie::Cookie;
use super::form;
use super::validity::{self, MAX_SESSION_IDLE, MAX_SESSION_LIFETIME, SignInRestriction};

store::statements! {
    /// Selects the session with a token hash, its member and the member's organization.
    BY_TOKEN = "select s.id, s.created_at, s.used_at, m.id, m.doc, o.id, o.doc, o.revision,
        o.stream_revision from member_session s
        join member m on m.organization_id = s.organization_id and m.id = s.member_id
        join organization o on o.id = s.organization_id where s.organization_id = ?1
        and s.token_hash = ?2 and o.erased_at is null";
    /// Inserts a session.
    INSERT = "insert into member_session (organization_id, id, member_id, token_hash, created_at,
        used_at) values (?1, ?2, ?3, ?4, ?5, ?5)";
    /// Deletes at most `?3` sessions of a member, and keeps the `?4` newest sessions. It runs
    /// before a new session is inserted, so the member never has more than `?4` + 1 sessions.
    MAKE_ROOM = "delete from member_session where organization_id = ?1 and id in
        (select id from member_session where organization_id = ?1 and member_id = ?2
        order by created_at desc, id desc limit ?3 offset ?4)";
    /// Sets the time of the last use of a session.
    NOTE_USE = "update member_session set used_at = ?3 where organization_id = ?1 and id = ?2
        and used_at < ?3";
    /// Deletes the session of a member who signs out.
    LEAVE = "delete from member_session where organization_id = ?1 and id = ?2";
    /// Deletes the session whose token has this hash.
    END = "delete from member_session where organization_id = ?1 and token_hash = ?2";
    /// Selects sessions that have reached their maximum lifetime.
    OLD = "select organization_id, id from member_session where created_at <= ?1 order by created_at
        limit ?2";
    /// Deletes a batch of an organization's sessions that have reached their maximum lifetime.
    REMOVE_OLD = engine::some_old!("member_session", "id", "created_at");
    /// Selects sessions that have not been used within the last [`MAX_SESSION_IDLE`].
    IDLING = "select organization_id, id from member_session where used_at <= ?1 order by used_at
        limit ?2";
    /// Deletes a batch of an organization's sessions that have not been used within the last
    /// [`MAX_SESSION_IDLE`].
    REMOVE_IDLING = engine::some_old!("member_session", "id", "used_at");
}

/// Maximum number of sessions of a member. A sign-in above the maximum ends the oldest session.
const MAX_SESSIONS: i64 = 100;
/// The prefix of a session token.
const PREFIX: &str = "vs_";
/// Maximum number of sessions that the sweep deletes in one transaction. A longer transaction would
/// delay other work.
const SWEEP_BATCH: u32 = 500;
/// The purpose with which the form token of a session is derived. A token that was derived with
/// another purpose is not accepted in a form.
const FORM: &str = "form";

/// Limits how many requests can write the time of a session's last use simultaneously. A request
/// above the limit does not write the time. The next request of its session tries again.
static USE_WRITES: Semaphore = Semaphore::const_new(16);

/// The member who is signed in, with their current data.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The id of the session.
    pub session: Uuid,
    /// The organization of the session.
    pub organization: Organization,
    pub member_id: Uuid,
    /// The member, as stored in the database when the session was read.
    pub member: Member,
    /// The organization's revisions when the session was read.
    revisions: Revisions,
    /// The token that every form of this session contains. It protects the forms against cross-site
    /// requests.
    form: String,
    /// The secret in the session's cookie. Neither a page nor the log shows it.
    secret: Secret,
}

/// A text that is hidden in debug output.
#[derive(Clone)]
struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl SignedIn {
    /// Returns the member as the caller of operations.
    #[must_use]
    pub fn caller(&self) -> Identified {
        Identified::member(
            self.member_id,
            &self.member,
            self.organization.clone(),
            self.revisions,
        )
    }

    /// Returns the token that every form of this session contains in the hidden field `form`.
    #[must_use]
    pub fn form_token(&self) -> String {
        self.form.clone()
    }

    /// Returns whether `token`, which was sent with a form, is the form token of this session.
    #[must_use]
    pub fn is_own_form(&self, token: &str) -> bool {
        form::is_derived_token(token, &self.secret.0, FORM)
    }

    /// Returns the signed-in member's name, or their mail address if they have no name.
    #[must_use]
    pub fn name(&self) -> &str {
        display_name(&self.member)
    }
}

/// Returns a member's name, or their mail address if they have no name.
pub(super) fn display_name(member: &Member) -> &str {
    if member.name.trim().is_empty() {
        &member.email
    } else {
        &member.name
    }
}

/// The result of the search for a session by the token in a cookie.
enum SessionLookup {
    /// No session has this token.
    NotFound,
    /// The session has expired. Contains the id of the organization.
    Expired(Uuid),
    /// The member is inactive or lacks a required second factor. Contains the id of the
    /// organization, and the reason.
    Restricted(Uuid, SignInRestriction),
    /// The session is valid. Contains the member, and the time of the last recorded use.
    Valid(Box<SignedIn>, Timestamp),
}

/// Returns the member who is signed in with the session cookie of the request. Returns `None` if
/// the cookie is invalid, the session has expired, or the member is deleted, inactive or without a
/// required second factor. The reason is logged.
///
/// Records the use of the session in the background, at most once a minute.
pub async fn signed_in(
    service: &Service,
    headers: &HeaderMap,
    request_id: Uuid,
) -> Result<Option<SignedIn>> {
    let Some(token) = session_token(service, headers) else {
        return Ok(None);
    };
    let now = service.clock.now();
    match service.store.read(move |tx| find(tx, token, now)).await? {
        SessionLookup::NotFound => Ok(None),
        SessionLookup::Expired(organization) => {
            tracing::debug!(
                %request_id,
                %organization,
                reason = "the session has ended",
                "not signed in"
            );
            Ok(None)
        }
        SessionLookup::Restricted(organization, barred) => {
            tracing::info!(%request_id, %organization, reason = barred.reason(), "not signed in");
            Ok(None)
        }
        SessionLookup::Valid(signed_in, used_at) => {
            if validity::must_record_use(used_at, now) {
                record_use(service, &signed_in, now);
            }
            Ok(Some(*signed_in))
        }
    }
}

/// Returns the session token in the cookie of a request.
pub(super) fn session_token(service: &Service, headers: &HeaderMap) -> Option<String> {
    Cookie::Session
        .read(service, headers)
        .filter(|token| token.starts_with(PREFIX))
}

fn find(tx: &mut Transaction<'_>, token: String, now: Timestamp) -> Result<SessionLookup> {
    let Some(organization) = organization_of(PREFIX, &token) else {
        return Ok(SessionLookup::NotFound);
    };
    let Some(row) = tx.row(
        &BY_TOKEN,
        &values![organization, Value::Bytes(hash(&token))],
    )?
    else {
        return Ok(SessionLookup::NotFound);
    };
    lookup_from_row(&row, token, now)
}

fn lookup_from_row(row: &Row, token: String, now: Timestamp) -> Result<SessionLookup> {
    let (created_at, used_at): (Timestamp, Timestamp) = (row.get(1)?, row.get(2)?);
    let (Json(member), id, Json(settings)) = (row.get(4)?, row.get(5)?, row.get(6)?);
    let organization = Organization { id, settings };
    if validity::session_end(created_at, used_at) <= now {
        return Ok(SessionLookup::Expired(id));
    }
    if let Some(barred) = validity::sign_in_restriction(&member, &organization.settings) {
        return Ok(SessionLookup::Restricted(id, barred));
    }
    let form = form::derive_token(&token, FORM);
    let revisions = Revisions {
        configuration: row.get(7)?,
        stream: row.get(8)?,
    };
    let signed_in = SignedIn {
        session: row.get(0)?,
        organization,
        member_id: row.get(3)?,
        member,
        revisions,
        form,
        secret: Secret(token),
    };
    Ok(SessionLookup::Valid(Box::new(signed_in), used_at))
}

/// Records the use of a session in the background, so that no request waits for the write. Records
/// nothing if too many of these writes are in progress.
fn record_use(service: &Service, signed_in: &SignedIn, now: Timestamp) {
    let Ok(slot) = USE_WRITES.try_acquire() else {
        return;
    };
    let (store, organization, session) = (
        service.store.clone(),
        signed_in.organization.id,
        signed_in.session,
    );
    tokio::spawn(async move {
        let _slot = slot;
        let note = move |tx: &mut Transaction<'_>| {
            tx.execute(&NOTE_USE, &values![organization, session, now])
        };
        if let Err(error) = store
            .write_for(Some(organization), store::WORK_LIMIT, note)
            .await
        {
            tracing::warn!(
                %organization,
                cause = %error,
                "could not store when a session was last used; trying again at its next use"
            );
        }
    });
}

/// The method by which a member signed in, for the audit entry of the sign-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignInMethod {
    /// The name of the sign-in method: `link`, `provider` or `setup`.
    pub(super) by: &'static str,
    pub(super) request_id: Uuid,
}

/// Begins a session of a member. Returns the session's token. The calling function must send the
/// token only in a cookie to the browser.
pub(super) fn begin(
    context: &mut Context<'_, '_>,
    (member_id, member): (Uuid, &Member),
    method: SignInMethod,
) -> Result<String> {
    let token = token_of(PREFIX, context.organization.id, context.ids());
    let (id, now) = (context.new_id(), context.now());
    context.execute_deferred(
        &MAKE_ROOM,
        values![member_id, MAX_SESSIONS, MAX_SESSIONS - 1],
    )?;
    context.execute_deferred(
        &INSERT,
        values![id, member_id, Value::Bytes(hash(&token)), now],
    )?;
    let target = Target::new(
        "member",
        Some(member_id),
        Some(display_name(member).to_owned()),
    );
    let changes = vec![Change::to("by", method.by.into())];
    let entry = AuditEntryRow {
        actor: Actor::session(member_id),
        operation: "signIn",
        target,
        changes,
        request_id: method.request_id,
        at: now,
    };
    audit::write(context, entry)?;
    Ok(token)
}

/// Ends the session of a member who signs out.
pub(super) async fn end_session_of_member(
    service: &Service,
    signed_in: &SignedIn,
    request_id: Uuid,
) -> Result<()> {
    let (signed_in_member, now, app_state) = (
        signed_in.clone(),
        service.clock.now(),
        service.app_state.clone(),
    );
    let leave = move |tx: &mut Transaction<'_>| {
        let (access, system) = (
            Access::platform(),
            System {
                tx,
                now,
                app_state: &app_state,
                wake_signals: BTreeSet::new(),
            },
        );
        let mut context = Context::for_writing(
            system,
            signed_in_member.organization.id,
            &access,
            RaisedRevision::Stream,
        )?;
        if context.execute(&LEAVE, values![signed_in_member.session])? == 0 {
            return Ok(());
        }
        let target = Target::new(
            "member",
            Some(signed_in_member.member_id),
            Some(signed_in_member.name().to_owned()),
        );
        let actor = Actor::session(signed_in_member.member_id);
        audit::write(
            &mut context,
            AuditEntryRow {
                actor,
                operation: "signOut",
                target,
                changes: Vec::new(),
                request_id,
                at: now,
            },
        )
    };
    let result = service
        .store
        .write_for(Some(signed_in.organization.id), store::WORK_LIMIT, leave)
        .await;
    // The organization was erased, and the session with it. So a missing organization is no error.
    result.or_else(|error: Error| {
        if error.kind() == ErrorKind::NotFound {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Deletes the session with this token, without an audit entry.
pub(super) fn delete_by_token(tx: &mut Transaction<'_>, token: &str) -> Result<()> {
    if let Some(organization) = organization_of(PREFIX, token) {
        tx.execute(&END, &values![organization, Value::Bytes(hash(token))])?;
    }
    Ok(())
}

/// Deletes a batch of expired sessions. Returns true if more expired sessions may remain.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let before = |time| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let old = sweeping::remove::<Uuid>(
        tx,
        &OLD,
        &REMOVE_OLD,
        before(MAX_SESSION_LIFETIME),
        SWEEP_BATCH,
    )?;
    let idle = sweeping::remove::<Uuid>(
        tx,
        &IDLING,
        &REMOVE_IDLING,
        before(MAX_SESSION_IDLE),
        SWEEP_BATCH,
    )?;
    Ok(old.max(idle) >= u64::from(SWEEP_BATCH))
}
