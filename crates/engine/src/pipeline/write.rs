//! Writes of organizations. One transaction either replays the recorded response, or locks the
//! organization, runs the operation and records the response. A command uses two transactions
//! (`command.rs`), and an operation of the whole service locks no organization.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use store::Transaction;

use super::audited::Audited;
use super::command::command;
use super::idempotency::IdempotencyKey;
use super::precondition::Precondition;
use super::stages::{Call, Validated};
use super::{Caller, Success, admit_again, success_body};
use crate::access::{Access, Identified};
use crate::app_state::WakeSignal;
use crate::context::{Context, Lock, Locked, System};
use crate::error::{Error, Result};
use crate::operation::{Answer, Arguments, Job, Warning, Work};
use crate::stage;

/// A write whose input is valid and whose transaction has not begun.
pub(super) struct Write {
    pub(super) call: Arc<Call>,
    pub(super) caller: Caller,
    pub(super) key: Option<IdempotencyKey>,
    arguments: Arguments,
    pub(super) audited: Option<Audited>,
    precondition: Option<Precondition>,
}

/// The work of a write whose arguments are parsed: the job of an operation within an organization
/// and the lock that it needs, or the input of an operation outside of any organization.
enum Prepared {
    Organization(Lock, Job),
    System(Value),
}

/// A success, and the wake signals to send after the commit.
type Written = (Success, BTreeSet<WakeSignal>);

/// Runs a write when the scheduler reaches its organization, and sends its wake signals after the
/// commit.
pub(super) async fn write(call: &Arc<Call>, validated: Validated) -> Result<Success> {
    let service = &call.service;
    let (caller, key, arguments, input) = validated.into_parts();
    // The idempotency key is locked until the outcome of the write is known. The guard is dropped
    // in every case, also after a panic.
    let key_guard = key
        .as_ref()
        .map(|key| service.in_flight.hold(key))
        .transpose()?;
    let audited = Audited::of(call.operation, &input);
    let share = caller.organization();
    let precondition = Precondition::of(call, &input)?;
    let write = Write {
        call: call.clone(),
        caller,
        key,
        arguments,
        audited,
        precondition,
    };
    let prepared = match (&call.operation.work, share) {
        (Work::Command(prepare), Some(id)) => {
            return command(write, id, key_guard, prepare(input)?).await;
        }
        (Work::Organization(prepare), Some(id)) => Prepared::Organization(
            Lock::of(&service.app_state, id, call.operation.raised_revision),
            prepare(input)?,
        ),
        (Work::System(_), _) => Prepared::System(input),
        (Work::Organization(_) | Work::Command(_), None) => {
            return Err(Error::not_found("Organization"));
        }
        (Work::Provider(_), _) => {
            return Err(Error::internal(
                "an operation that asks a provider must be a read",
            ));
        }
    };
    let (success, wake_signals) = service
        .store
        .write_for(share, call.operation.timeout, move |tx| {
            if let Some(recorded) = write.replay(tx)? {
                return Ok((recorded, BTreeSet::new()));
            }
            match prepared {
                Prepared::Organization(lock, job) => write.in_organization(tx, lock, job),
                Prepared::System(input) => write.outside_organizations(tx, input),
            }
        })
        .await?;
    service.app_state.wake(&wake_signals);
    drop(key_guard);
    Ok(success)
}

impl Write {
    /// Returns the recorded response of an earlier request with the same idempotency key. Runs
    /// before the organization is locked. A request whose key is replayed or refused therefore does
    /// not wait for that lock.
    pub(super) fn replay(&self, tx: &mut Transaction<'_>) -> Result<Option<Success>> {
        let (service, now) = (&self.call.service, self.call.now);
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(recorded) = key.recorded(tx, now, service.settings.idempotency_retention)? else {
            return Ok(None);
        };
        let reauthenticated = self.authenticate_again(tx)?;
        // The answer of this operation contains a secret. Its recorded response lacks the secret,
        // and is still returned only to callers who may see the answer.
        if let (Some(once), Some(id)) = (self.call.operation.shows_once, self.caller.organization())
        {
            let access = self.access(reauthenticated.as_deref());
            (once.check)(&Context::for_reading(service.system(tx, now), id, access)?)?;
        }
        Ok(Some(recorded))
    }

    /// Locks the organization, checks the precondition of the request, runs the operation, and
    /// records its response if the request has an idempotency key.
    fn in_organization(
        mut self,
        tx: &mut Transaction<'_>,
        lock: Lock,
        job: Job,
    ) -> Result<Written> {
        let call = self.call.clone();
        let (locked, reauthenticated) = self.lock(tx, lock)?;
        let (key, audited) = (self.key.take(), self.audited.take());
        let precondition = self.precondition.take();
        let access = self.access(reauthenticated.as_deref());
        let system = call.service.system(tx, call.now);
        let mut context = Context::of_locked(system, locked, access);
        if let Some(precondition) = precondition {
            precondition.check(&mut context)?;
        }
        let answer = run(&mut context, &call, job, audited)
            .map_err(|error| error.located_in(self.arguments.body()))?;
        let success = match key {
            Some(key) => recorded(&mut context, &call, key, answer)?,
            None => Success::of(call.operation, answer, &call.head)?,
        };
        Ok((success, context.take_wake_signals()))
    }

    /// Locks the organization. Authenticates the caller again if the organization's configuration
    /// has changed since the caller was authenticated.
    pub(super) fn lock(
        &self,
        tx: &mut Transaction<'_>,
        lock: Lock,
    ) -> Result<(Locked, Option<Arc<Identified>>)> {
        let locked = lock
            .take(tx)?
            .ok_or_else(|| Error::not_found("Organization"))?;
        let reauthenticated = if self
            .caller
            .is_valid_for(locked.previous_revision, self.call.service.clock.now())
        {
            None
        } else {
            self.authenticate_again(tx)?
        };
        Ok((locked, reauthenticated))
    }

    fn authenticate_again(&self, tx: &mut Transaction<'_>) -> Result<Option<Arc<Identified>>> {
        admit_again(tx, &self.call, &self.arguments)
    }

    pub(super) fn access<'a>(&'a self, reauthenticated: Option<&'a Identified>) -> &'a Access {
        reauthenticated.map_or_else(|| self.caller.access(), |identified| &identified.access)
    }

    /// Runs a platform operation outside of any organization. It has no idempotency key, because
    /// keys belong to organizations.
    fn outside_organizations(self, tx: &mut Transaction<'_>, input: Value) -> Result<Written> {
        let Self {
            call,
            caller,
            audited,
            ..
        } = self;
        let Work::System(work) = &call.operation.work else {
            return Err(Error::internal(
                "the prepared work is not of the operation's kind",
            ));
        };
        let mut system: System<'_, '_> = call.service.system(tx, call.now);
        let audited = audited
            .map(|audited| audited.begin_outside(&mut system, caller.access()))
            .transpose()?;
        let answer = stage!("run").in_scope(|| work(&mut system, input))?;
        if let Some(audited) = audited {
            audited.end_outside(
                &mut system,
                caller.access(),
                &answer,
                call.head.id,
                call.service.clock.now(),
            )?;
        }
        let success = Success::of(call.operation, answer, &call.head)?;
        Ok((success, system.wake_signals))
    }
}

/// Runs the operation and writes its audit entry.
fn run(
    context: &mut Context<'_, '_>,
    call: &Call,
    job: Job,
    audited: Option<Audited>,
) -> Result<Answer> {
    let audited = audited.map(|audited| audited.begin(context)).transpose()?;
    let mut answer = stage!("run").in_scope(|| job(context))?;
    answer.warnings = warnings(context);
    context.close()?;
    if let Some(audited) = audited {
        audited.end(context, &answer, call.head.id, call.service.clock.now())?;
    }
    Ok(answer)
}

/// Removes the warnings of the operation from the context and returns them for the answer.
fn warnings(context: &mut Context<'_, '_>) -> Vec<Warning> {
    let warnings = context.take_warnings();
    warnings
        .into_iter()
        .map(|(field, message)| Warning { field, message })
        .collect()
}

/// Records the response to a write under the request's idempotency key. If the answer has a secret
/// that is shown only once, the recorded response omits the secret, and only the returned response
/// contains it.
fn recorded(
    context: &mut Context<'_, '_>,
    call: &Call,
    key: IdempotencyKey,
    answer: Answer,
) -> Result<Success> {
    let (status, id) = (call.operation.status, call.head.id);
    let without_secret = call
        .operation
        .shows_once
        .map(|once| answer.text_without(once.field))
        .transpose()?
        .map(|text| success_body(&text, id));
    let value = call.head.local_value(&answer);
    let body = success_body(&answer.into_text()?, id);
    key.record(context, status, without_secret.as_deref().unwrap_or(&body))?;
    Ok(match value {
        Some(value) => Success::value(status, value),
        None => Success::text(status, body),
    })
}
