//! Rows of the audit log. A row is written in the transaction of the write that it describes, and
//! removed after the retention time.

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

/// The maximum number of rows that one transaction removes, so that other writes do not wait long.
const SWEEP_BATCH: u32 = 500;
/// The maximum number of characters of a target's name. A longer name is cut.
const MAX_NAME_LENGTH: usize = 200;

store::statements! {
    /// Adds a row to the audit log.
    INSERT = "insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc,
        actor_name)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    /// Reads the name of the app that acts for a member. Apps do not belong to organizations. The
    /// condition on `?1` is always true; it exists because every statement must use the
    /// organization.
    APP = "select doc ->> 'name' from oauth_app where id = ?2 and coalesce(?1, id) = ?1";
    /// Lists rows with a time of `?1` or earlier, oldest first.
    OLD = "select organization_id, id from audit_log where occurred_at <= ?1 order by occurred_at
        limit ?2";
    /// Removes from the audit log the rows that `OLD` has listed, for one organization at a time.
    REMOVE = crate::some_old!("audit_log", "id", "occurred_at");
}

/// The type of a credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// An API key.
    ApiKey,
    /// An OAuth app that acts for a member.
    Oauth,
    /// A signed-in member.
    Session,
    /// The platform.
    #[default]
    Platform,
}

/// The credential with which a write was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    kind: ActorKind,
    /// Id of the API key or of the member.
    id: Option<Uuid>,
    app: Option<Uuid>,
}

impl Actor {
    /// Returns the actor for a member who is signed in, or who is signing in.
    #[must_use]
    pub const fn session(member: Uuid) -> Self {
        Self {
            kind: ActorKind::Session,
            id: Some(member),
            app: None,
        }
    }

    /// Returns the type of the credential.
    #[must_use]
    pub const fn kind(self) -> ActorKind {
        self.kind
    }

    /// Returns the id of the API key or of the member. Returns `None` for the platform.
    #[must_use]
    pub const fn id(self) -> Option<Uuid> {
        self.id
    }

    /// Returns the actor of a credential. Fails for guests, whose writes are not audited.
    pub fn of(credential: Credential) -> Result<Self> {
        Ok(match credential {
            Credential::ApiKey(id) => Self {
                kind: ActorKind::ApiKey,
                id: Some(id),
                app: None,
            },
            Credential::Connection { app, member } => Self {
                kind: ActorKind::Oauth,
                id: Some(member),
                app: Some(app),
            },
            Credential::Member(member) => Self {
                kind: ActorKind::Session,
                id: Some(member),
                app: None,
            },
            Credential::Platform => Self {
                kind: ActorKind::Platform,
                id: None,
                app: None,
            },
            Credential::Guest { .. } | Credential::Preview { .. } => {
                return Err(Error::internal(
                    "the audit log cannot record a write by a guest",
                ));
            }
        })
    }

    /// Returns the current name of the actor. If an app acts for a member, returns the member's
    /// name, followed by the app's name.
    fn name(self, context: &mut Context<'_, '_>) -> Result<Option<String>> {
        let name = if Self::of(context.access.credential).is_ok_and(|caller| caller == self) {
            context.access.name.as_deref().map(str::to_owned)
        } else {
            match (self.kind, self.id) {
                (ActorKind::ApiKey, Some(id)) => context.api_key(id)?.map(|key| key.name),
                (ActorKind::Oauth | ActorKind::Session, Some(id)) => context
                    .member(id)?
                    .map(|member| member.display_name().to_owned()),
                _ => None,
            }
        };
        let app: Option<String> = match self.app {
            Some(app) => context
                .row(&APP, values![app])?
                .map_or(Ok(None), |row| row.get(0))?,
            None => None,
        };
        Ok(name.map(|name| app.map_or(name.clone(), |app| format!("{name} via {app}"))))
    }
}

/// An audit entry to write.
#[derive(Debug)]
pub struct AuditEntryRow {
    /// The credential with which the write was made.
    pub actor: Actor,
    /// The name of the operation.
    pub operation: &'static str,
    /// The object that the operation acted on.
    pub target: Target,
    pub changes: Vec<Change>,
    /// The id of the request.
    pub request_id: Uuid,
    /// The time of the write.
    pub at: Timestamp,
}

/// The fields of a row that are stored together in the column `doc`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Doc<'e> {
    actor_kind: ActorKind,
    operation: &'e str,
    target: &'e Target,
    changes: Vec<Change>,
    request_id: Uuid,
}

/// Writes a row, in the transaction of the write that it describes.
pub fn write(context: &mut Context<'_, '_>, entry: AuditEntryRow) -> Result<()> {
    let AuditEntryRow {
        actor,
        operation,
        mut target,
        changes,
        request_id,
        at,
    } = entry;
    target.name = target
        .name
        .map(|name| name.chars().take(MAX_NAME_LENGTH).collect());
    let doc = Doc {
        actor_kind: actor.kind,
        operation,
        target: &target,
        changes: bounded(changes),
        request_id,
    };
    let (id, name) = (context.ids().uuid(at), actor.name(context)?);
    context.execute_deferred(
        &INSERT,
        values![id, at, target.id, actor.id, Value::json(&doc)?, name],
    )
}

/// Removes the rows that are older than `retention`, up to a maximum number. Returns true if more
/// such rows may remain.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp, retention: Duration) -> Result<bool> {
    let Ok(oldest) = now.checked_sub(retention) else {
        return Ok(false);
    };
    Ok(sweeping::remove::<Uuid>(tx, &OLD, &REMOVE, oldest, SWEEP_BATCH)? >= u64::from(SWEEP_BATCH))
}
