//! The one way through: authenticate → rate limit → two-factor → permission → validate → replay or run → envelope.
//!
//! REST, tools, platform and guest interfaces all enter at [`handle`]; no other door exists, so nothing can skip a check.

mod authenticate;
mod envelope;
mod idempotency;
mod rate_limit;
mod request;
mod validate;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

pub use authenticate::bearer;
pub use envelope::{error_body, success_body};
pub use idempotency::{InFlight, sweep};
pub use rate_limit::{RateLimits, Standing};
use request::{Arguments, Head};
pub use request::{Payload, Request};
pub use validate::Shape;

use crate::access::{Access, Identified};
use crate::context::{Context, System, Wakes};
use crate::error::{Error, Kind, Result};
use crate::operation::{Answer, Effect, Needs, Operation, Surface, Work};
use crate::service::Service;
use idempotency::Key;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [authenticate::STATEMENTS, idempotency::STATEMENTS].concat()
}

/// What is answered, whichever surface asked.
#[derive(Debug)]
pub struct Outcome {
    /// The HTTP status.
    pub status: u16,
    /// The envelope, or the error, as JSON text.
    pub body: String,
    /// How the caller stands with its rate limit, once it is known who it is.
    pub standing: Option<Standing>,
    /// The answer of an earlier request with the same key.
    pub is_replay: bool,
    /// Whole seconds to wait before trying again.
    pub retry_after: Option<u64>,
}

/// A success, before it is put on the wire.
struct Success {
    status: u16,
    body: String,
    is_replay: bool,
}

impl Success {
    fn of(operation: &Operation, answer: &Answer, request_id: Uuid) -> Self {
        Self { status: operation.status, body: success_body(answer, request_id), is_replay: false }
    }
}

/// What a read comes to while its transaction is open.
enum Reading {
    /// Its answer.
    Done(Success),
    /// What it has to ask another service. Nothing of that has begun.
    Asks(BoxFuture<'static, Result<Answer>>),
}

/// Takes a request through every stage and answers it, whatever happens.
pub async fn handle(service: &Arc<Service>, operation: &'static Operation, request: Request) -> Outcome {
    let (head, payload) = request.split();
    let request_id = head.id;
    let mut standing = None;
    match through(service, operation, head, payload, &mut standing).await {
        Ok(Success { status, body, is_replay }) => Outcome { status, body, standing, is_replay, retry_after: None },
        Err(error) => {
            log_failure(&error, operation, request_id);
            let limited = standing.as_ref().and_then(|standing| standing.retry_after);
            Outcome {
                status: error.kind().status(),
                body: error_body(&error, request_id),
                retry_after: limited.or(error.retry_after()),
                standing,
                is_replay: false,
            }
        }
    }
}

async fn through(
    service: &Arc<Service>,
    operation: &'static Operation,
    head: Head,
    payload: Payload,
    standing: &mut Option<Standing>,
) -> Result<Success> {
    let now = service.clock.now();
    let (shared, head) = (service.clone(), Arc::new(head));
    let sent = head.clone();
    match operation.effect {
        Effect::Read => {
            let arguments = head.read(payload, operation).await;
            // One visit to the database: who asks, whether they may, and the answer come from one state.
            let (taken, answered) = service
                .store
                .read(move |tx| {
                    let mut taken = None;
                    let answered = admit(tx, &shared, operation, &sent, now, &mut taken)
                        .and_then(|caller| read(tx, &shared, operation, &arguments?, &caller, now, sent.id));
                    Ok::<_, Error>((taken, answered))
                })
                .await?;
            *standing = taken;
            match answered? {
                Reading::Done(success) => Ok(success),
                Reading::Asks(asking) => Ok(Success::of(operation, &asking.await?, head.id)),
            }
        }
        Effect::Write => {
            let (taken, admitted) = service
                .store
                .read(move |tx| {
                    let mut taken = None;
                    let admitted = admit(tx, &shared, operation, &sent, now, &mut taken);
                    Ok::<_, Error>((taken, admitted))
                })
                .await?;
            *standing = taken;
            let caller = admitted?;
            let arguments = head.read(payload, operation).await;
            if let (Needs::ByBody(check), Ok(arguments)) = (operation.needs, &arguments) {
                check(arguments.body(), caller.access())?;
            }
            let key = Key::of(operation, &head, caller.access().credential)?;
            let arguments = arguments?;
            let shape = operation.shape();
            let input = shape.validate_with_network(operation, &arguments, service, caller.country(), now).await?;
            let key = key.map(|key| key.for_request(operation, &arguments));
            write(service, operation, input, caller, now, head.id, key).await
        }
    }
}

/// Authenticate, rate limit, two-factor, permission: what every request passes before anything it says is looked at.
fn admit(
    tx: &mut Transaction<'_>,
    service: &Service,
    operation: &Operation,
    head: &Head,
    now: Timestamp,
    standing: &mut Option<Standing>,
) -> Result<Caller> {
    let caller = authenticate::identify(tx, service, operation, head, now)?;
    let access = caller.access();
    if operation.surface == Surface::Public {
        *standing = service.limits.take(access.credential, service.clock.elapsed(), now);
        if standing.as_ref().is_some_and(|standing| standing.retry_after.is_some()) {
            return Err(Kind::RateLimit.into());
        }
    }
    access.require_two_factor()?;
    if let Needs::Permission(permission) = operation.needs {
        access.require(permission)?;
    }
    Ok(caller)
}

/// Who was let in: someone of an organization, or the platform where no organization is concerned.
pub(crate) enum Caller {
    Tenant(Identified),
    /// The platform, for an organization named in the path that has not been looked up yet.
    Platform(Access, Option<Uuid>),
}

impl Caller {
    fn access(&self) -> &Access {
        match self {
            Self::Tenant(identified) => &identified.access,
            Self::Platform(access, _) => access,
        }
    }

    fn organization(&self) -> Option<Uuid> {
        match self {
            Self::Tenant(identified) => Some(identified.organization.id),
            Self::Platform(_, organization) => *organization,
        }
    }

    fn country(&self) -> &str {
        match self {
            Self::Tenant(identified) => &identified.organization.settings.country.0,
            Self::Platform(..) => crate::access::DEFAULT_COUNTRY,
        }
    }
}

fn read(
    tx: &mut Transaction<'_>,
    service: &Arc<Service>,
    operation: &Operation,
    arguments: &Arguments,
    caller: &Caller,
    now: Timestamp,
    request_id: Uuid,
) -> Result<Reading> {
    let input = operation.shape().validate(operation, arguments, caller.country(), now)?;
    let system = System { tx, now, ids: &service.ids, public_url: &service.public_url, wakes: Wakes::default() };
    let answer = match (&operation.work, caller) {
        (Work::Tenant(work), Caller::Tenant(Identified { access, organization })) => {
            work(&mut Context::of_known(system, organization.clone(), access), input)
        }
        (Work::Tenant(work), Caller::Platform(access, Some(id))) => work(&mut Context::for_reading(system, *id, access)?, input),
        (Work::Tenant(_), Caller::Platform(_, None)) => Err(Error::not_found("Organization")),
        (Work::System(work), _) => work(&mut { system }, input),
        (Work::Provider(work), _) => return Ok(Reading::Asks(work(service.clone(), input))),
    }?;
    Ok(Reading::Done(Success::of(operation, &answer, request_id)))
}

async fn write(
    service: &Arc<Service>,
    operation: &'static Operation,
    input: serde_json::Value,
    caller: Caller,
    now: Timestamp,
    request_id: Uuid,
    key: Option<Key>,
) -> Result<Success> {
    // Held until the outcome is known; dropped on every way out, a panic included.
    let _held = key.as_ref().map(|key| service.in_flight.hold(key)).transpose()?;
    let shared = service.clone();
    let retention = service.settings.idempotency_retention;
    let (success, wakes) = service
        .store
        .write_within(operation.patience, move |tx| {
            if let Some(key) = &key
                && let Some(recorded) = key.recorded(tx, now, retention)?
            {
                return Ok((recorded, Wakes::default()));
            }
            let mut system = System { tx, now, ids: &shared.ids, public_url: &shared.public_url, wakes: Wakes::default() };
            let success = |answer: &Answer| Success::of(operation, answer, request_id);
            match (&operation.work, caller.organization()) {
                (Work::Tenant(work), Some(id)) => {
                    let mut context = Context::for_writing(system, id, caller.access())?;
                    let success = success(&work(&mut context, input)?);
                    if let Some(key) = key {
                        key.record(&mut context, &success)?;
                    }
                    Ok((success, context.wakes()))
                }
                (Work::System(work), _) => {
                    let success = success(&work(&mut system, input)?);
                    Ok((success, system.wakes))
                }
                (Work::Tenant(_), None) => Err(Error::not_found("Organization")),
                (Work::Provider(_), _) => Err(Error::internal("a provider is asked by a read")),
            }
        })
        .await?;
    service.wake(wakes);
    Ok(success)
}

fn log_failure(error: &Error, operation: &Operation, request_id: Uuid) {
    let cause = error.cause().unwrap_or_default();
    match error.kind() {
        Kind::Internal => tracing::error!(%request_id, operation = operation.id, cause, "failed"),
        Kind::Unavailable | Kind::Provider => tracing::warn!(%request_id, operation = operation.id, cause, "not available"),
        _ => {}
    }
}
