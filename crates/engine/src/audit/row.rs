//! Rows of the audit log: written with the work they tell of, and removed when they are old.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Transaction, Value};
use uuid::Uuid;

use super::Target;
use super::changes::{Change, bounded};
use crate::access::Credential;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::sweeping;
use crate::values;

/// Old rows removed in one transaction, so that a sweep holds up no one.
const SWEEP_BATCH: u32 = 500;
/// Characters of a target's name.
const LONGEST_NAME: usize = 200;

store::statements! {
    /// A new row. What the actor is called is looked up with it: the name of an API key, or of a member and the app that acts
    /// for them.
    INSERT = "insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc, actor_name)
        select o.id, ?2, ?3, ?4, ?5, ?6, coalesce(k.doc ->> 'name',
            coalesce(nullif(m.doc ->> 'name', ''), m.doc ->> 'email') || ?9)
        from organization o
        left join api_key k on k.organization_id = o.id and k.id = ?7
        left join member m on m.organization_id = o.id and m.id = ?8
        where o.id = ?1 and o.erased_at is null";
    /// What the app is called that acts for a member. It is asked for by itself: an app is no organization's.
    APP = "select doc ->> 'name' from oauth_app where id = ?2 and coalesce(?1, id) = ?1";
    /// Old rows.
    OLD = "select organization_id, id from audit_log where occurred_at <= ?1 order by occurred_at limit ?2";
    /// Removes some of an organization's.
    REMOVE = crate::some_old!("audit_log", "id", "occurred_at");
}

/// What sort of credential acted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// An API key.
    ApiKey,
    /// An app, for a member.
    Oauth,
    /// A member who is signed in.
    Session,
    /// The platform around us.
    #[default]
    Platform,
}

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    kind: ActorKind,
    /// The key, or the member.
    id: Option<Uuid>,
    app: Option<Uuid>,
}

impl Actor {
    /// A member who is signed in, or is about to be.
    #[must_use]
    pub const fn session(member: Uuid) -> Self {
        Self { kind: ActorKind::Session, id: Some(member), app: None }
    }

    /// By what sort of credential they act.
    #[must_use]
    pub const fn kind(self) -> ActorKind {
        self.kind
    }

    /// The key, or the member; none for the platform.
    #[must_use]
    pub const fn id(self) -> Option<Uuid> {
        self.id
    }

    /// Who acts by a credential. Guests are not the log's concern.
    pub fn of(credential: Credential) -> Result<Self> {
        Ok(match credential {
            Credential::ApiKey(id) => Self { kind: ActorKind::ApiKey, id: Some(id), app: None },
            Credential::Connection { app, member } => Self { kind: ActorKind::Oauth, id: Some(member), app: Some(app) },
            Credential::Member(member) => Self { kind: ActorKind::Session, id: Some(member), app: None },
            Credential::Platform => Self { kind: ActorKind::Platform, id: None, app: None },
            Credential::Guest { .. } | Credential::Preview { .. } => {
                return Err(Error::internal("a guest's write is none of the audit log's"));
            }
        })
    }

    /// The key, and the member, by which their name is found.
    const fn named_by(self) -> (Option<Uuid>, Option<Uuid>) {
        match self.kind {
            ActorKind::ApiKey => (self.id, None),
            ActorKind::Oauth | ActorKind::Session => (None, self.id),
            ActorKind::Platform => (None, None),
        }
    }
}

/// Something that was done.
#[derive(Debug)]
pub struct Entry {
    /// Who did it.
    pub actor: Actor,
    /// What they did, by its name.
    pub operation: &'static str,
    /// What they did it to.
    pub target: Target,
    /// What became another by it.
    pub changes: Vec<Change>,
    /// The request by which they did it.
    pub request_id: Uuid,
    /// When.
    pub at: Timestamp,
}

/// What of a row stands in no column of its own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Doc<'e> {
    actor_kind: ActorKind,
    operation: &'e str,
    target: &'e Target,
    changes: Vec<Change>,
    request_id: Uuid,
}

/// Writes a row, in the transaction of what it tells of.
pub fn write(context: &mut Context<'_, '_>, entry: Entry) -> Result<()> {
    let Entry { actor, operation, mut target, changes, request_id, at } = entry;
    target.name = target.name.map(|name| name.chars().take(LONGEST_NAME).collect());
    let doc = Doc { actor_kind: actor.kind, operation, target: &target, changes: bounded(changes), request_id };
    let (key, member) = actor.named_by();
    let id = context.ids().uuid(at);
    // An id that nobody has, where null would have a spread database ask every server.
    let [key, member] = [key, member].map(|id| id.unwrap_or_else(|| context.new_id()));
    let app: Option<String> = match actor.app {
        Some(app) => context.row(&APP, values![app])?.map_or(Ok(None), |row| row.get(0))?,
        None => None,
    };
    let via = app.map(|app| format!(" via {app}")).unwrap_or_default();
    context.execute_along(&INSERT, values![id, at, target.id, actor.id, Value::json(&doc)?, key, member, via])
}

/// Removes rows that are kept no longer; true when there may be more of them.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else { return Ok(false) };
    Ok(sweeping::remove::<Uuid>(tx, &OLD, &REMOVE, oldest, SWEEP_BATCH)? >= u64::from(SWEEP_BATCH))
}
