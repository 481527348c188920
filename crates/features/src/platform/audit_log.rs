//! The operation `listAuditLog`: the entries of the audit log, newest first. The pipeline writes
//! the entries (`pipeline/audited.rs` of the engine).

use engine::access::Permission;
use engine::audit::{Actor, ActorKind, Change, Target};
use engine::context::Context;
use engine::error::Result;
use engine::moment::Moment;
use engine::operation::{Needs, Operation, OperationName};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Row};
use uuid::Uuid;

store::statements! {
    /// A page of the audit log, newest first: the entries whose ids are before `?2`.
    LIST = "select id, occurred_at, actor_id, actor_name, doc from audit_log
        where organization_id = ?1 and id < ?2 order by id desc limit ?3";
    /// A page of the audit entries about one object, the target.
    OF_TARGET = "select id, occurred_at, actor_id, actor_name, doc from audit_log
        where organization_id = ?1 and target_id = ?2 and id < ?3 order by id desc limit ?4";
    /// Selects a page of the audit entries whose actor is the credential or member `?2`.
    OF_ACTOR = "select id, occurred_at, actor_id, actor_name, doc from audit_log
        where organization_id = ?1 and actor_id = ?2 and id < ?3 order by id desc limit ?4";
    /// A page of the audit entries about one target by one actor. The statement forces SQLite to
    /// use the index by target, because a target has fewer entries than an actor.
    OF_BOTH = "select id, occurred_at, actor_id, actor_name, doc
        from audit_log indexed by audit_log_of_target
        where organization_id = ?1 and target_id = ?2 and actor_id = ?3 and id < ?4 order by id desc
        limit ?5";
}

/// The operation that lists the entries of the audit log, the newest first.
pub const LIST_AUDIT_LOG: OperationName<Vec<AuditEntry>> = OperationName::new("listAuditLog");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListAuditLog {
    /// Id of the last entry that the client has read. The response contains older entries.
    #[serde(default)]
    after: Option<Uuid>,
    /// Maximum number of entries.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100), extend("x-page-size" = true))]
    limit: u32,
    /// Only entries with this target.
    #[serde(default)]
    target_id: Option<Uuid>,
    /// Only entries of this actor: a key or a member.
    #[serde(default)]
    actor_id: Option<Uuid>,
}

const fn default_limit() -> u32 {
    50
}

/// An audit log entry.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct AuditEntry {
    pub id: Uuid,
    pub occurred_at: Moment,
    pub actor: ActorView,
    /// Name of the operation, or `signIn`, `signOut`, `allowApp`, `revokeToken`.
    pub operation: String,
    pub target: TargetView,
    /// Changed fields by name, with old and new value; for a new target, the sent fields. Long
    /// values are cut and end in `…` and their full size.
    pub changes: Vec<Change>,
    /// The request's `X-Request-Id`.
    request_id: Uuid,
}

/// The actor of an entry.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActorView {
    pub kind: ActorKind,
    /// Id of the API key or of the member; null for the platform.
    id: Option<Uuid>,
    /// Name of the actor at that time: of the key, or of the member and the app that acted for
    /// them.
    pub name: Option<String>,
}

/// The target of an entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TargetView {
    /// Type of the target, such as `portal`, `precheck_step`, `manual`, `property`, `translation`,
    /// `webhook_subscription`, `reservation`, `api_key`, `member`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Id of the target; null if the change concerns no single object, such as the order of all
    /// headings.
    pub id: Option<Uuid>,
    /// Name of the target at that time; null if it has no name.
    pub name: Option<String>,
}

impl From<Target> for TargetView {
    fn from(Target { kind, id, name }: Target) -> Self {
        Self { kind, id, name }
    }
}

/// The part of an entry that the database stores as a JSON document.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Doc {
    actor_kind: ActorKind,
    operation: String,
    target: Target,
    changes: Vec<Change>,
    request_id: Uuid,
}

impl AuditEntry {
    /// Reads an entry from the columns of [`LIST`].
    fn from_row(row: &Row) -> Result<Self> {
        let Json(Doc {
            actor_kind,
            operation,
            target,
            changes,
            request_id,
        }) = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            occurred_at: Moment(row.get(1)?),
            actor: ActorView {
                kind: actor_kind,
                id: row.get(2)?,
                name: row.get(3)?,
            },
            operation,
            target: target.into(),
            changes,
            request_id,
        })
    }
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab",
        "occurredAt": "2026-11-21T09:30:00.000Z",
        "actor": {
            "kind": "oauth",
            "id": "0192f0c1-2345-7abc-8def-0123456789ac",
            "name": "Marta via Notes",
        },
        "operation": "updatePortal",
        "target": {
            "type": "portal",
            "id": "0192f0c1-2345-7abc-8def-0123456789ad",
            "name": "Casa Azul",
        },
        "changes": [{ "field": "isChatEnabled", "before": true, "after": false }],
        "requestId": "0192f0c1-2345-7abc-8def-0123456789ae",
    })
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_AUDIT_LOG.id(),
            Method::GET,
            "/audit-log",
            Needs::Permission(Permission::ManageOrganization),
        )
        .summary("List who did what, the newest first")
        .tool(
            "records",
            "Read the audit log",
            "Who changed what and when, newest first.",
        )
        .may_lag()
        .run_as(LIST_AUDIT_LOG, list),
    ]
}

/// Lists entries. A caller who is limited to some properties sees only their own entries, because
/// other entries contain names of resources that they may not see.
fn list(context: &mut Context<'_, '_>, input: ListAuditLog) -> Result<Vec<AuditEntry>> {
    let (before, limit) = (input.after.unwrap_or(Uuid::max()), input.limit);
    let own = if context.property_scope().is_limited() {
        Some(Actor::of(context.access.credential)?.id())
    } else {
        None
    };
    let actor = match own {
        Some(own) if input.actor_id.is_some_and(|actor| Some(actor) != own) => {
            return Ok(Vec::new());
        }
        Some(own) => own,
        None => input.actor_id,
    };
    let rows = match (input.target_id, actor) {
        (None, None) => context.rows(&LIST, values![before, limit])?,
        (Some(target), None) => context.rows(&OF_TARGET, values![target, before, limit])?,
        (None, Some(actor)) => context.rows(&OF_ACTOR, values![actor, before, limit])?,
        (Some(target), Some(actor)) => {
            context.rows(&OF_BOTH, values![target, actor, before, limit])?
        }
    };
    rows.iter().map(AuditEntry::from_row).collect()
}
