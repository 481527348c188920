//! A command: an operation that another service carries out. The steps are: look for a recorded
//! response, prepare in a transaction, commit, send the request to the other service, and record
//! its outcome in a second transaction.
//!
//! This process locks the idempotency key during all steps. If several processes share the
//! database, the first transaction also stores a record without a response. Other processes then
//! refuse requests with the same key. The command continues if the client disconnects.

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

/// The result of the first transaction of a command, which decides whether to call the other
/// service.
enum CommandStart {
    /// The recorded response of an earlier request with the same idempotency key.
    Replayed(Success),
    /// The request to send to the other service, and the write that records its outcome.
    Asks(Box<(CommandRequest, Write)>),
}

/// Runs a command and waits for its outcome.
pub(super) async fn command(
    write: Write,
    organization: Uuid,
    key_guard: Option<KeyGuard>,
    prepare: CommandJob,
) -> Result<Success> {
    let (call, service) = (write.call.clone(), write.call.service.clone());
    let lock = Lock::of(&service.app_state, organization, RaisedRevision::Stream);
    let start = service
        .store
        .write_for(Some(organization), call.operation.timeout, move |tx| {
            if let Some(recorded) = write.replay(tx)? {
                return Ok(CommandStart::Replayed(recorded));
            }
            let request = begin(&write, tx, lock, prepare)?;
            Ok::<_, Error>(CommandStart::Asks(Box::new((request, write))))
        })
        .await?;
    let (request, write) = match start {
        CommandStart::Replayed(recorded) => return Ok(recorded),
        CommandStart::Asks(request_and_write) => *request_and_write,
    };
    let fresh = || service.app_state.ids.uuid(call.now);
    let context = CommandContext {
        app_state: service.app_state.clone(),
        clock: service.clock.clone(),
        idempotency_key: write.key.as_ref().map_or_else(fresh, IdempotencyKey::id),
    };
    let task = async move {
        let answer = request(context).instrument(stage!("run")).await;
        let outcome = settle(write, organization, answer).await;
        drop(key_guard);
        outcome
    };
    tokio::spawn(task.in_current_span())
        .await
        .map_err(Error::internal)?
}

/// Runs the first transaction of a command: locks the organization, checks the command and builds
/// the request to the other service. Reserves the idempotency key, so that other processes refuse
/// requests with the same key.
fn begin(
    write: &Write,
    tx: &mut Transaction<'_>,
    lock: Lock,
    prepare: CommandJob,
) -> Result<CommandRequest> {
    let service = &write.call.service;
    let (locked, reauthenticated) = write.lock(tx, lock)?;
    let access = write.access(reauthenticated.as_deref());
    let system = service.system(tx, write.call.now);
    let mut context = Context::of_locked(system, locked, access);
    let request = stage!("run").in_scope(|| prepare(&mut context))?;
    if let Some(key) = write
        .key
        .as_ref()
        .filter(|_| !service.store.is_only_process())
    {
        key.reserve(&mut context, service.clock.now())?;
    }
    Ok(request)
}

/// Records the outcome of the command. For a command that was carried out, records the response
/// under the idempotency key, and the audit entry. If the service that carries out commands, such
/// as the device connector, refused the command, records the 502 under the key. After any other
/// error, releases the key.
async fn settle(mut write: Write, organization: Uuid, outcome: Result<Answer>) -> Result<Success> {
    let call = write.call.clone();
    let (operation, request_id) = (call.operation, call.head.id);
    let (key, audited) = (write.key.take(), write.audited.take());
    let error = match outcome {
        Ok(answer) => {
            let body = success_body(&answer.clone().into_text().map_err(unknown)?, request_id);
            let success = match call.head.local_value(&answer) {
                Some(value) => Success::value(operation.status, value),
                None => Success::text(operation.status, body.clone()),
            };
            let now = call.service.clock.now();
            let recording = in_organization(write, organization, move |context| {
                if let Some(audited) = audited {
                    let audited_call = audited.begin(context)?;
                    audited_call.end(context, &answer, request_id, now)?;
                }
                key.map_or(Ok(()), |key| key.record(context, operation.status, &body))
            });
            // The command was carried out. If recording fails, the error must therefore say that
            // the outcome is unknown.
            return recording.await.map(|()| success).map_err(unknown);
        }
        Err(error) => error,
    };
    let refusal = (error.kind() == ErrorKind::Provider)
        .then(|| (error.kind().status(), error_body(&error, request_id)));
    // A refusal by the other service has the status 502 and is recorded. After any other error
    // there is nothing to record, but a reserved idempotency key must be released. `begin` reserves
    // such a key only if other processes use the database.
    if let Some(key) = key.filter(|_| refusal.is_some() || !call.service.store.is_only_process()) {
        let recording = in_organization(write, organization, move |context| match refusal {
            Some((status, body)) => key.record(context, status, &body),
            None => key.release(context),
        });
        // The other service did not carry out the command. The client may therefore send the
        // command again, even if this node could not record the refusal or release the key.
        if let Err(failure) = recording.await {
            log_failure(&failure, operation.id, request_id);
        }
    }
    Err(error)
}

/// Runs work in a transaction that locks the organization. Does not authenticate the caller again,
/// because that was done before the command was sent.
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

/// Returns the error for a command that was carried out but could not be recorded.
fn unknown(error: Error) -> Error {
    store::Error::Unknown(error.cause().unwrap_or_default().to_owned()).into()
}
