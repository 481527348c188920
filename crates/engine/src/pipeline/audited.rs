//! The audit entry of a write: its object is read before and after the write, and the entry is
//! written in the same transaction.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::access::Access;
use crate::audit::{self, Actor, Audits, Change, Entry, Target, Thing, What};
use crate::context::{Context, System};
use crate::error::{Error, Kind, Result};
use crate::operation::{Answer, Operation};

/// The input field that names the organization of an operation that runs outside of one.
const ORGANIZATION: &str = "organizationId";

/// A call that gets an audit entry.
pub(super) struct Audited {
    operation: &'static Operation,
    audits: Audits,
    input: Value,
}

/// A call in progress, with its object as it was before.
pub(super) struct Begun {
    audited: Audited,
    before: Option<Thing>,
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

    /// Reads the object before the change.
    pub(super) fn begin(self, context: &mut Context<'_, '_>) -> Result<Begun> {
        let before = match self.audits.what {
            What::Changes(read) => read(context, &self.input)?,
            What::Makes(..) | What::Does(_) => None,
        };
        Ok(Begun {
            audited: self,
            before,
        })
    }

    /// Reads the object of an operation that runs outside of an organization. Its input names the
    /// organization that it creates or changes.
    pub(super) fn begin_beside(
        self,
        system: &mut System<'_, '_>,
        access: &Access,
    ) -> Result<Begun> {
        match self.organization(system, access)? {
            Some(mut context) => self.begin(&mut context),
            None => Ok(Begun {
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
        let Some(id) = audit::id(&self.input, ORGANIZATION) else {
            return Ok(None);
        };
        match Context::for_reading(system.again(), id, access) {
            Ok(context) => Ok(Some(context)),
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Begun {
    /// Writes the audit entry after the operation succeeded.
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
            serde_json::from_str(&answer.data).map_err(Error::internal)?
        } else {
            Value::Null
        };
        let (target, mut changes) = match audits.what {
            What::Makes(kind, name) => {
                let name = answer
                    .get(name)
                    .or_else(|| input.get(name))
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                (
                    Target::new(kind, audit::id(&answer, "id"), name),
                    made(operation, &audits, &input, &answer),
                )
            }
            What::Changes(read) => {
                let after = read(context, &input)?;
                let Some(changes) = audit::difference(before.as_ref(), after.as_ref()) else {
                    return Ok(());
                };
                let Some(thing) = after.or(before) else {
                    return Ok(());
                };
                (
                    thing.target,
                    [changes, audit::told(audits.tells, &input, &answer)].concat(),
                )
            }
            What::Does(name) => (
                name(context, &input)?,
                audit::told(audits.tells, &input, &answer),
            ),
        };
        changes.extend(audits.withholds.iter().map(|field| Change::withheld(field)));
        let actor = Actor::of(context.access.credential)?;
        audit::write(
            context,
            Entry {
                actor,
                operation: operation.id,
                target,
                changes,
                request_id,
                at,
            },
        )
    }

    /// Writes the audit entry of a call that [`Audited::begin_beside`] began.
    pub(super) fn end_beside(
        self,
        system: &mut System<'_, '_>,
        access: &Access,
        answer: &Answer,
        request_id: Uuid,
        at: Timestamp,
    ) -> Result<()> {
        let found = self.audited.organization(system, access)?;
        found.map_or(Ok(()), |mut context| {
            self.end(&mut context, answer, request_id, at)
        })
    }
}

/// Returns the audited fields of a created object: the sent fields except path parameters.
fn made(operation: &Operation, audits: &Audits, input: &Value, answer: &Value) -> Vec<Change> {
    let sent = input
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !operation.is_path_field(name));
    audit::made(sent, answer, audits.tells)
}
