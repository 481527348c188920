//! The audit entry of a write. The object that the entry names is read before and after the write.
//! The entry is written in the transaction of the write.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::authenticate::ORGANIZATION_ID;
use crate::access::Access;
use crate::audit::{self, Actor, AuditEntryRow, AuditedObject, Audits, Change, Target, WriteKind};
use crate::context::{Context, System};
use crate::error::{ErrorKind, Result};
use crate::operation::{Answer, Operation};

/// A call that writes an audit entry: its operation, the declaration of the entry's contents, and
/// the input.
pub(super) struct Audited {
    operation: &'static Operation,
    audits: Audits,
    input: Value,
}

/// A call of an audited operation that is in progress, and the state of the audited object before
/// the change.
pub(super) struct AuditedCall {
    audited: Audited,
    before: Option<AuditedObject>,
}

impl Audited {
    /// Returns the call, if its operation is audited.
    pub(super) fn of(operation: &'static Operation, input: &Value) -> Option<Self> {
        operation.audits.map(|audits| Self {
            operation,
            audits,
            input: input.clone(),
        })
    }

    /// Reads the object before the operation changes it. Reads nothing for an operation that
    /// creates an object or only acts on one.
    pub(super) fn begin(self, context: &mut Context<'_, '_>) -> Result<AuditedCall> {
        let before = match self.audits.what {
            WriteKind::Changes(read) => read(context, &self.input)?,
            WriteKind::Creates(..) | WriteKind::ActsOn(_) => None,
        };
        Ok(AuditedCall {
            audited: self,
            before,
        })
    }

    /// Does the same as [`Self::begin`] for an operation that runs outside of an organization. The
    /// operation's input names the organization that the operation creates or changes.
    pub(super) fn begin_outside(
        self,
        system: &mut System<'_, '_>,
        access: &Access,
    ) -> Result<AuditedCall> {
        match self.organization(system, access)? {
            Some(mut context) => self.begin(&mut context),
            None => Ok(AuditedCall {
                audited: self,
                before: None,
            }),
        }
    }

    fn organization<'s, 't>(
        &self,
        system: &'s mut System<'_, 't>,
        access: &'s Access,
    ) -> Result<Option<Context<'s, 't>>> {
        let Some(id) = audit::id(&self.input, ORGANIZATION_ID) else {
            return Ok(None);
        };
        match Context::for_reading(system.again(), id, access) {
            Ok(context) => Ok(Some(context)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AuditedCall {
    /// Reads the object after the change, and writes the audit entry. Writes no entry if the
    /// operation is declared with [`Audits::changes`] and has not changed the object.
    pub(super) fn end(
        self,
        context: &mut Context<'_, '_>,
        answer: &Answer,
        request_id: Uuid,
        at: Timestamp,
    ) -> Result<()> {
        let Self {
            audited:
                Audited {
                    operation,
                    audits,
                    input,
                },
            before,
        } = self;
        let answer = if audits.reads_answer() {
            answer.json()?
        } else {
            Value::Null
        };
        let (target, mut changes) = match audits.what {
            WriteKind::Creates(kind, name) => {
                let name = answer
                    .get(name)
                    .or_else(|| input.get(name))
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                (
                    Target::new(kind, audit::id(&answer, "id"), name),
                    created(operation, &audits, &input, &answer),
                )
            }
            WriteKind::Changes(read) => {
                let after = read(context, &input)?;
                let Some(changes) = audit::difference(before.as_ref(), after.as_ref()) else {
                    return Ok(());
                };
                let Some(thing) = after.or(before) else {
                    return Ok(());
                };
                (
                    thing.target,
                    [
                        changes,
                        audit::recorded(audits.recorded_fields, &input, &answer),
                    ]
                    .concat(),
                )
            }
            WriteKind::ActsOn(name) => (
                name(context, &input)?,
                audit::recorded(audits.recorded_fields, &input, &answer),
            ),
        };
        changes.extend(
            audits
                .secret_fields
                .iter()
                .map(|field| Change::withheld(field)),
        );
        let actor = Actor::of(context.access.credential)?;
        audit::write(
            context,
            AuditEntryRow {
                actor,
                operation: operation.id,
                target,
                changes,
                request_id,
                at,
            },
        )
    }

    /// Writes the audit entry of a call that [`Audited::begin_outside`] began.
    pub(super) fn end_outside(
        self,
        system: &mut System<'_, '_>,
        access: &Access,
        answer: &Answer,
        request_id: Uuid,
        at: Timestamp,
    ) -> Result<()> {
        let context = self.audited.organization(system, access)?;
        context.map_or(Ok(()), |mut context| {
            self.end(&mut context, answer, request_id, at)
        })
    }
}

/// Returns the audited fields of a created object: the fields that were sent, except path
/// parameters.
fn created(operation: &Operation, audits: &Audits, input: &Value, answer: &Value) -> Vec<Change> {
    let sent = input
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !operation.is_path_field(name));
    audit::created(sent, answer, audits.recorded_fields)
}
