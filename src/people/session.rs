//! Sessions: the member who is signed in in a browser.

use std::collections::BTreeSet;

use engine::access::{Access, Identified, Member, Organization, Revisions, hash, named, token_of};
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
use super::validity::{self, IDLE, LONGEST, SignInBar};

store::statements! {
    /// A session by the hash of its token, with its member and their organization.
    BY_TOKEN = "select s.id, s.created_at, s.used_at, m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision from member_session s
        join member m on m.organization_id = s.organization_id and m.id = s.member_id
        join organization o on o.id = s.organization_id where s.organization_id = ?1 and s.token_hash = ?2 and o.erased_at is null";
    /// A new session.
    INSERT = "insert into member_session (organization_id, id, member_id, token_hash, created_at, used_at) values (?1, ?2, ?3, ?4, ?5, ?5)";
    /// Deletes the oldest sessions of a member above a limit.
    MAKE_ROOM = "delete from member_session where organization_id = ?1 and id in
        (select id from member_session where organization_id = ?1 and member_id = ?2 order by created_at desc, id desc limit ?3 offset ?4)";
    /// Sets the last use of a session.
    NOTE_USE = "update member_session set used_at = ?3 where organization_id = ?1 and id = ?2 and used_at < ?3";
    /// Deletes the session of a member who signs out.
    LEAVE = "delete from member_session where organization_id = ?1 and id = ?2";
    /// Deletes the session of a token.
    END = "delete from member_session where organization_id = ?1 and token_hash = ?2";
    /// Sessions that have reached their maximum lifetime.
    OLD = "select organization_id, id from member_session where created_at <= ?1 order by created_at limit ?2";
    /// Deletes some of these sessions of an organization.
    REMOVE_OLD = engine::some_old!("member_session", "id", "created_at");
    /// Sessions that have been unused for too long.
    IDLING = "select organization_id, id from member_session where used_at <= ?1 order by used_at limit ?2";
    /// Deletes some of these sessions of an organization.
    REMOVE_IDLING = engine::some_old!("member_session", "id", "used_at");
}

/// Maximum number of sessions of a member; one more ends the oldest.
const MOST: i64 = 100;
/// The prefix of a session token.
const PREFIX: &str = "vs_";
/// Maximum number of sessions deleted in one transaction, so that a sweep never blocks other work
/// for long.
const SWEEP_BATCH: u32 = 500;
/// The purpose of the derived form token.
const FORM: &str = "form";

/// The slots for concurrent writes of a last use. A use that finds no free slot is recorded with a
/// later request.
static NOTING: Semaphore = Semaphore::const_new(16);

/// The signed-in member, in their current state.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The session.
    pub session: Uuid,
    /// The organization of the session.
    pub organization: Organization,
    /// The id of the member.
    pub member_id: Uuid,
    /// The current data of the member.
    pub member: Member,
    /// The revisions of the organization at that time.
    revisions: Revisions,
    /// The token of the session's forms.
    form: String,
    /// The secret in the cookie. Neither a page nor the log shows it.
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
    /// Returns the member as a caller of operations who acts for themselves.
    #[must_use]
    pub fn caller(&self) -> Identified {
        Identified::member(
            self.member_id,
            &self.member,
            self.organization.clone(),
            self.revisions,
        )
    }

    /// Returns the token of the session's forms. Every form of a page has it in a hidden field
    /// `form`.
    #[must_use]
    pub fn form_token(&self) -> String {
        self.form.clone()
    }

    /// Whether a form with this token belongs to the session.
    #[must_use]
    pub fn is_own_form(&self, sent: &str) -> bool {
        form::is_derived(sent, &self.secret.0, FORM)
    }

    /// Returns the member's name, or their mail address if they have no name.
    #[must_use]
    pub fn name(&self) -> &str {
        called(&self.member)
    }
}

/// Returns a member's name, or their mail address if they have no name.
pub(super) fn called(member: &Member) -> &str {
    if member.name.trim().is_empty() {
        &member.email
    } else {
        &member.name
    }
}

/// The state of a session, found by its cookie.
enum SessionLookup {
    /// No session has this token.
    Nothing,
    /// The session of this organization has expired.
    Over(Uuid),
    /// The member may not be signed in at the moment.
    Barred(Uuid, SignInBar),
    /// The session is valid. The time is its recorded last use.
    Going(Box<SignedIn>, Timestamp),
}

/// Returns the member who is signed in in the browser of a request, in their current state. Returns
/// `None` if the cookie is invalid, the session has expired, or the member is deleted, inactive or
/// without a required second factor.
///
/// The use of the session is recorded in the background, at most once a minute. The log says why a
/// member is not signed in.
pub async fn signed_in(
    service: &Service,
    headers: &HeaderMap,
    request_id: Uuid,
) -> Result<Option<SignedIn>> {
    let Some(token) = shown(service, headers) else {
        return Ok(None);
    };
    let now = service.clock.now();
    match service.store.read(move |tx| find(tx, token, now)).await? {
        SessionLookup::Nothing => Ok(None),
        SessionLookup::Over(organization) => {
            tracing::debug!(%request_id, %organization, reason = "the session has ended", "not signed in");
            Ok(None)
        }
        SessionLookup::Barred(organization, barred) => {
            tracing::info!(%request_id, %organization, reason = barred.reason(), "not signed in");
            Ok(None)
        }
        SessionLookup::Going(signed_in, used_at) => {
            if validity::is_to_be_noted(used_at, now) {
                note_use(service, &signed_in, now);
            }
            Ok(Some(*signed_in))
        }
    }
}

/// Returns the session token of a browser.
pub(super) fn shown(service: &Service, headers: &HeaderMap) -> Option<String> {
    Cookie::Session
        .read(service, headers)
        .filter(|token| token.starts_with(PREFIX))
}

fn find(tx: &mut Transaction<'_>, token: String, now: Timestamp) -> Result<SessionLookup> {
    let Some(organization) = named(PREFIX, &token) else {
        return Ok(SessionLookup::Nothing);
    };
    let Some(row) = tx.row(
        &BY_TOKEN,
        &values![organization, Value::Bytes(hash(&token))],
    )?
    else {
        return Ok(SessionLookup::Nothing);
    };
    of_row(&row, token, now)
}

fn of_row(row: &Row, token: String, now: Timestamp) -> Result<SessionLookup> {
    let (created_at, used_at): (Timestamp, Timestamp) = (row.get(1)?, row.get(2)?);
    let (Json(member), id, Json(settings)) = (row.get(4)?, row.get(5)?, row.get(6)?);
    let organization = Organization { id, settings };
    if validity::end(created_at, used_at) <= now {
        return Ok(SessionLookup::Over(id));
    }
    if let Some(barred) = validity::barred(&member, &organization.settings) {
        return Ok(SessionLookup::Barred(id, barred));
    }
    let form = form::derived(&token, FORM);
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
    Ok(SessionLookup::Going(Box::new(signed_in), used_at))
}

/// Records the use of a session in the background; no request waits for it.
fn note_use(service: &Service, signed_in: &SignedIn, now: Timestamp) {
    let Ok(place) = NOTING.try_acquire() else {
        return;
    };
    let (store, organization, session) = (
        service.store.clone(),
        signed_in.organization.id,
        signed_in.session,
    );
    tokio::spawn(async move {
        let _place = place;
        let note = move |tx: &mut Transaction<'_>| {
            tx.execute(&NOTE_USE, &values![organization, session, now])
        };
        if let Err(error) = store
            .write_for(Some(organization), store::WORK_LIMIT, note)
            .await
        {
            tracing::warn!(%organization, cause = %error, "could not store when a session was last used; trying again at its next use");
        }
    });
}

/// The way in which a member signs in.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignInMethod {
    /// The name of the way in the audit log.
    pub(super) by: &'static str,
    /// The id of the request.
    pub(super) request_id: Uuid,
}

/// Begins a session of a member. Returns its token, which only the browser may learn.
pub(super) fn begin(
    context: &mut Context<'_, '_>,
    of: (Uuid, &Member),
    entrance: SignInMethod,
) -> Result<String> {
    let ((member, known), token) = (of, token_of(PREFIX, context.organization.id, context.ids()));
    let (id, now) = (context.new_id(), context.now());
    context.execute_deferred(&MAKE_ROOM, values![member, MOST, MOST - 1])?;
    context.execute_deferred(
        &INSERT,
        values![id, member, Value::Bytes(hash(&token)), now],
    )?;
    let target = Target::new("member", Some(member), Some(called(known).to_owned()));
    let changes = vec![Change::to("by", entrance.by.into())];
    let entry = AuditEntryRow {
        actor: Actor::session(member),
        operation: "signIn",
        target,
        changes,
        request_id: entrance.request_id,
        at: now,
    };
    audit::write(context, entry)?;
    Ok(token)
}

/// Ends the session of a member who signs out.
pub(super) async fn leave(service: &Service, signed_in: &SignedIn, request_id: Uuid) -> Result<()> {
    let (leaving, now, app_state) = (
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
            leaving.organization.id,
            &access,
            RaisedRevision::Stream,
        )?;
        if context.execute(&LEAVE, values![leaving.session])? == 0 {
            return Ok(());
        }
        let target = Target::new(
            "member",
            Some(leaving.member_id),
            Some(leaving.name().to_owned()),
        );
        let actor = Actor::session(leaving.member_id);
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
    let left = service
        .store
        .write_for(Some(signed_in.organization.id), store::WORK_LIMIT, leave)
        .await;
    // The session was deleted with its organization.
    left.or_else(|error: Error| {
        if error.kind() == ErrorKind::NotFound {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Ends the session of a token.
pub(super) fn end(tx: &mut Transaction<'_>, token: &str) -> Result<()> {
    if let Some(organization) = named(PREFIX, token) {
        tx.execute(&END, &values![organization, Value::Bytes(hash(token))])?;
    }
    Ok(())
}

/// Deletes expired sessions. Returns true if there may be more.
pub(crate) fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    let before = |time| now.checked_sub(time).unwrap_or(Timestamp::MIN);
    let old = sweeping::remove::<Uuid>(tx, &OLD, &REMOVE_OLD, before(LONGEST), SWEEP_BATCH)?;
    let idle = sweeping::remove::<Uuid>(tx, &IDLING, &REMOVE_IDLING, before(IDLE), SWEEP_BATCH)?;
    Ok(old.max(idle) >= u64::from(SWEEP_BATCH))
}
