//! A command: something that another service does. The order is: look for a recorded answer,
//! prepare in a transaction, commit, send the request, record its outcome in a second transaction.
//!
//! The key is held by this process for the whole time. Where several processes share the database,
//! the first transaction also stores a record without an answer, so that another process refuses
//! the key. The request goes on if the client leaves.

use store::Transaction;
use tracing::Instrument as _;
use uuid::Uuid;

use super::idempotency::{IdempotencyKey, KeyGuard};
use super::write::Write;
use super::{Success, error_body, log_failure, success_body};
use crate::context::{Context, Lock, RaisedRevision};
use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Answer, CommandContext, CommandJob, CommandRequest};
use crate::stage;

/// The result of the first transaction.
enum CommandStart {
    /// The recorded answer of an earlier request with the same key.
    Replayed(Success),
    /// The request that is to be sent.
    Asks(Box<(CommandRequest, Write)>),
}

/// Runs a command. Waits for its outcome.
pub(super) async fn command(
    write: Write,
    organization: Uuid,
    held: Option<KeyGuard>,
    prepare: CommandJob,
) -> Result<Success> {
    let (call, service) = (write.call.clone(), write.call.service.clone());
    let lock = Lock::of(&service.app_state, organization, RaisedRevision::Stream);
    let begun = service
        .store
        .write_for(Some(organization), call.operation.timeout, move |tx| {
            if let Some(recorded) = write.replay(tx)? {
                return Ok(CommandStart::Replayed(recorded));
            }
            let asking = begin(&write, tx, lock, prepare)?;
            Ok::<_, Error>(CommandStart::Asks(Box::new((asking, write))))
        })
        .await?;
    let (asking, write) = match begun {
        CommandStart::Replayed(recorded) => return Ok(recorded),
        CommandStart::Asks(asked) => *asked,
    };
    let fresh = || service.app_state.ids.uuid(call.now);
    let commanded = CommandContext {
        app_state: service.app_state.clone(),
        clock: service.clock.clone(),
        idempotency_key: write.key.as_ref().map_or_else(fresh, IdempotencyKey::id),
    };
    let running = async move {
        let answered = asking(commanded).instrument(stage!("run")).await;
        let settled = settle(write, organization, answered).await;
        drop(held);
        settled
    };
    tokio::spawn(running.in_current_span())
        .await
        .map_err(Error::internal)?
}

/// Prepares the command in its organization, and reserves its key for all processes.
fn begin(
    write: &Write,
    tx: &mut Transaction<'_>,
    lock: Lock,
    prepare: CommandJob,
) -> Result<CommandRequest> {
    let service = &write.call.service;
    let (locked, renewed) = write.lock(tx, lock)?;
    let access = write.access(renewed.as_deref());
    let system = service.system(tx, write.call.now);
    let mut context = Context::of_locked(system, locked, access);
    let asking = stage!("run").in_scope(|| prepare(&mut context))?;
    if let Some(key) = write
        .key
        .as_ref()
        .filter(|_| !service.store.is_only_process())
    {
        key.reserve(&mut context, service.clock.now())?;
    }
    Ok(asking)
}

/// Records the outcome: an answer or a refusal under its key, and the audit entry of the command.
async fn settle(mut write: Write, organization: Uuid, answered: Result<Answer>) -> Result<Success> {
    let call = write.call.clone();
    let (operation, request_id) = (call.operation, call.head.id);
    let (key, audited) = (write.key.take(), write.audited.take());
    let error = match answered {
        Ok(answer) => {
            let body = success_body(&answer.clone().into_text().map_err(unknown)?, request_id);
            let success = match call.head.local(&answer) {
                Some(value) => Success::value(operation.status, value),
                None => Success::text(operation.status, body.clone()),
            };
            let now = call.service.clock.now();
            let recorded = in_organization(write, organization, move |context| {
                if let Some(audited) = audited {
                    let begun = audited.begin(context)?;
                    begun.end(context, &answer, request_id, now)?;
                }
                key.map_or(Ok(()), |key| key.record(context, operation.status, &body))
            });
            // The command was carried out. An error must not say that it was not.
            return recorded.await.map(|()| success).map_err(unknown);
        }
        Err(error) => error,
    };
    let refusal = (error.kind() == ErrorKind::Provider)
        .then(|| (error.kind().status(), error_body(&error, request_id)));
    // Without a refusal there is nothing to record, and only other processes need a release.
    if let Some(key) = key.filter(|_| refusal.is_some() || !call.service.store.is_only_process()) {
        let recorded = in_organization(write, organization, move |context| match refusal {
            Some((status, body)) => key.record(context, status, &body),
            None => key.release(context),
        });
        // The command was not carried out, so the client may send it again in any case.
        if let Err(failed) = recorded.await {
            log_failure(&failed, operation.id, request_id);
        }
    }
    Err(error)
}

/// Runs work in a transaction that locks the organization. The caller was admitted before the
/// command was sent.
async fn in_organization(
    write: Write,
    organization: Uuid,
    work: impl FnOnce(&mut Context<'_, '_>) -> Result<()> + Send + 'static,
) -> Result<()> {
    let (call, service) = (write.call.clone(), write.call.service.clone());
    let lock = Lock::of(&service.app_state, organization, RaisedRevision::Stream);
    let recording = move |tx: &mut Transaction<'_>| {
        let locked = lock
            .take(tx)?
            .ok_or_else(|| Error::not_found("Organization"))?;
        let system = write.call.service.system(tx, write.call.now);
        work(&mut Context::of_locked(system, locked, write.access(None)))
    };
    service
        .store
        .write_for(Some(organization), call.operation.timeout, recording)
        .await
}

/// Returns the error of a command that was carried out and could not be recorded.
fn unknown(error: Error) -> Error {
    store::Error::Unknown(error.cause().unwrap_or_default().to_owned()).into()
}
