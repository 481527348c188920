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
    /// A new row.
    INSERT = "insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc, actor_name)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
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

    /// What they are called, as of now.
    fn name(self, context: &mut Context<'_, '_>) -> Result<Option<String>> {
        let name = if Self::of(context.access.credential).is_ok_and(|caller| caller == self) {
            context.access.name.as_deref().map(str::to_owned)
        } else {
            match (self.kind, self.id) {
                (ActorKind::ApiKey, Some(id)) => context.api_key(id)?.map(|key| key.name),
                (ActorKind::Oauth | ActorKind::Session, Some(id)) => context.member(id)?.map(|member| member.called().to_owned()),
                _ => None,
            }
        };
        let app: Option<String> = match self.app {
            Some(app) => context.row(&APP, values![app])?.map_or(Ok(None), |row| row.get(0))?,
            None => None,
        };
        Ok(name.map(|name| app.map_or(name.clone(), |app| format!("{name} via {app}"))))
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
    let (id, name) = (context.ids().uuid(at), actor.name(context)?);
    context.execute_along(&INSERT, values![id, at, target.id, actor.id, Value::json(&doc)?, name])
}

/// Removes rows that are kept no longer; true when there may be more of them.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else { return Ok(false) };
    Ok(sweeping::remove::<Uuid>(tx, &OLD, &REMOVE, oldest, SWEEP_BATCH)? >= u64::from(SWEEP_BATCH))
}
