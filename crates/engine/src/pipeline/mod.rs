//! The one way through: authenticate → rate limit → two-factor → permission → validate → replay or run → envelope.
//!
//! REST, tools, platform and guest interfaces all enter at [`handle`]; no other door exists, so nothing can skip a check.

mod authenticate;
mod deflated;
mod envelope;
mod homes;
mod idempotency;
mod memory;
mod rate_limit;
mod request;
mod service;
mod shared_log;
mod unsent;
mod validate;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, Method};
use jiff::Timestamp;
use store::Transaction;
use uuid::Uuid;

pub use authenticate::bearer;
pub use envelope::{error_body, success_body};
pub use homes::Homes;
pub use idempotency::{InFlight, sweep};
pub use memory::{Kept, Memory, Tally, tag};
pub use rate_limit::{RateLimits, Standing};
use request::Head;
pub use request::{Payload, Request};
pub use service::{Service, Settings};
pub use shared_log::SharedLog;
pub use unsent::{Held, Hurry, Unsent};

use crate::access::{Access, Credential, Identified};
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::operation::{Answer, Arguments, Effect, Job, Needs, Operation, Surface, Work};
use idempotency::Key;
use memory::Question;

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    idempotency::STATEMENTS.to_vec()
}

/// What is answered, whichever surface asked.
#[derive(Debug)]
pub struct Outcome {
    /// The HTTP status.
    pub status: u16,
    /// The envelope, or the error.
    pub body: Body,
    /// Names the state of what a read answered.
    pub etag: Option<HeaderValue>,
    /// How the caller stands with its rate limit, once it is known who it is.
    pub standing: Option<Standing>,
    /// The answer of an earlier request with the same key.
    pub is_replay: bool,
    /// Whole seconds to wait before trying again.
    pub retry_after: Option<u64>,
    /// Whose request it was, once that is known.
    pub requester: Option<Requester>,
}

/// Whose request it was, as the log names them.
#[derive(Debug, Clone, Copy)]
pub struct Requester {
    /// The organization, where one is concerned.
    pub organization: Option<Uuid>,
    /// The credential.
    pub credential: Credential,
}

/// What is known of a request before its answer is.
#[derive(Debug, Default)]
struct Noted {
    standing: Option<Standing>,
    requester: Option<Requester>,
}

/// A body on its way out.
#[derive(Debug)]
pub enum Body {
    /// JSON text.
    Text(String),
    /// An answer that is kept, for the request of this id.
    Kept(Arc<Kept>, Uuid),
}

impl Body {
    /// JSON text.
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Kept(kept, request_id) => String::from_utf8_lossy(&kept.pieces(request_id).concat()).into_owned(),
        }
    }
}

/// A success, before it is put on the wire.
struct Success {
    status: u16,
    body: Body,
    etag: Option<HeaderValue>,
    is_replay: bool,
}

impl Success {
    fn of(operation: &Operation, answer: &Answer, request_id: Uuid) -> Self {
        let etag = (operation.method == Method::GET).then(|| memory::etag(answer));
        Self { etag, ..Self::text(operation.status, success_body(answer, request_id)) }
    }

    fn text(status: u16, body: String) -> Self {
        Self { status, body: Body::Text(body), etag: None, is_replay: false }
    }

    fn kept(operation: &Operation, kept: Arc<Kept>, request_id: Uuid) -> Self {
        let etag = Some(kept.etag());
        Self { status: operation.status, body: Body::Kept(kept, request_id), etag, is_replay: false }
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
    let mut noted = Noted::default();
    let answered = through(service, operation, head, payload, &mut noted).await;
    let Noted { standing, requester } = noted;
    match answered {
        Ok(Success { status, body, etag, is_replay }) => Outcome { status, body, etag, standing, is_replay, retry_after: None, requester },
        Err(error) => {
            log_failure(&error, operation, request_id);
            let limited = standing.as_ref().and_then(|standing| standing.retry_after);
            Outcome {
                status: error.kind().status(),
                body: Body::Text(error_body(&error, request_id)),
                etag: None,
                retry_after: limited.or(error.retry_after()),
                standing,
                is_replay: false,
                requester,
            }
        }
    }
}

async fn through(
    service: &Arc<Service>,
    operation: &'static Operation,
    head: Head,
    payload: Payload,
    noted: &mut Noted,
) -> Result<Success> {
    let now = service.clock.now();
    let (shared, head) = (service.clone(), Arc::new(head));
    let sent = head.clone();
    match operation.effect {
        Effect::Read => {
            let known = match authenticate::recall(service, operation, &head, now)? {
                // What nodes share is asked over the network: between two transactions, not in one.
                None if operation.surface == Surface::Public && service.limits.are_shared() => {
                    Some(identify(service, operation, &head, now).await?)
                }
                known => known,
            };
            let share = known.as_ref().map_or_else(|| service.homes.of(operation, &head), Caller::organization);
            service.room(share).await?;
            if let Some(caller) = known {
                let agreed = take_shared(service, operation, &caller, now).await;
                admit(service, operation, &caller, now, agreed, noted)?;
                if let Some(success) = recall(service, operation, &caller, &head) {
                    return Ok(success);
                }
                let arguments = head.read(payload, operation).await?;
                let read = move |tx: &mut Transaction<'_>| read(tx, &shared, operation, &arguments, &caller, now, &sent);
                return asked(operation, service.store.read_for(share, read).await?, head.id).await;
            }
            let arguments = head.read(payload, operation).await;
            // One visit to the database: who asks, whether they may, and the answer come from one state.
            let (taken, answered) = service
                .store
                .read_for(share, move |tx| {
                    let mut taken = Noted::default();
                    let answered = authenticate::identify(tx, &shared, operation, &sent, now).and_then(|caller| {
                        admit(&shared, operation, &caller, now, None, &mut taken)?;
                        match recall(&shared, operation, &caller, &sent) {
                            Some(success) => Ok(Reading::Done(success)),
                            None => read(tx, &shared, operation, &arguments?, &caller, now, &sent),
                        }
                    });
                    Ok::<_, Error>((taken, answered))
                })
                .await?;
            *noted = taken;
            asked(operation, answered?, head.id).await
        }
        Effect::Write => {
            let caller = match authenticate::recall(service, operation, &head, now)? {
                Some(caller) => caller,
                None => identify(service, operation, &head, now).await?,
            };
            service.room(caller.organization()).await?;
            let agreed = take_shared(service, operation, &caller, now).await;
            admit(service, operation, &caller, now, agreed, noted)?;
            let arguments = head.read(payload, operation).await;
            if let (Needs::ByBody(check), Ok(arguments)) = (operation.needs, &arguments) {
                check(arguments.body(), caller.access())?;
            }
            let key = match &caller {
                Caller::Tenant(identified) => Key::of(operation, &head, identified.owner())?,
                Caller::Platform(..) => None,
            };
            let arguments = arguments?;
            let mut input = validate::validate(service, operation, &arguments, caller.country(), now).await?;
            arguments.keep_numbers(&mut input);
            let key = key.map(|key| key.for_request(operation, &arguments));
            write(service, operation, Sent { head, arguments, input }, caller, now, key).await
        }
    }
}

/// Who asks, in a transaction of its own.
async fn identify(service: &Arc<Service>, operation: &'static Operation, head: &Arc<Head>, now: Timestamp) -> Result<Caller> {
    let (shared, sent) = (service.clone(), head.clone());
    let share = service.homes.of(operation, head);
    service.store.read_for(share, move |tx| authenticate::identify(tx, &shared, operation, &sent, now)).await
}

/// The caller's standing with a limit that nodes share, if they do and it is to be had.
async fn take_shared(service: &Service, operation: &Operation, caller: &Caller, now: Timestamp) -> Option<Standing> {
    if operation.surface != Surface::Public {
        return None;
    }
    let Caller::Tenant(identified) = caller else { return None };
    service.limits.take_shared(identified.owner(), &service.clock, now).await
}

/// Rate limit, two-factor, permission: with authentication, what every request passes before anything it says is looked at.
///
/// The limit is the one that nodes have agreed on, or else this process's own.
fn admit(
    service: &Service,
    operation: &Operation,
    caller: &Caller,
    now: Timestamp,
    agreed: Option<Standing>,
    noted: &mut Noted,
) -> Result<()> {
    noted.requester = Some(Requester { organization: caller.organization(), credential: caller.access().credential });
    let elapsed = service.clock.elapsed();
    noted.standing = match (operation.surface, caller) {
        (Surface::Public, Caller::Tenant(identified)) => agreed.or_else(|| service.limits.take(identified.owner(), elapsed, now)),
        (Surface::Guest, Caller::Tenant(identified)) => service.guest_limits.take(identified.owner(), elapsed, now),
        _ => None,
    };
    if noted.standing.as_ref().is_some_and(|standing| standing.retry_after.is_some()) {
        return Err(Kind::RateLimit.into());
    }
    permit(operation, caller.access())
}

/// Two-factor, then permission.
fn permit(operation: &Operation, access: &Access) -> Result<()> {
    access.require_two_factor()?;
    if let Needs::Permission(permission) = operation.needs {
        access.require(permission)?;
    }
    Ok(())
}

/// The answer that is kept, if it still holds.
fn recall(service: &Service, operation: &Operation, caller: &Caller, head: &Head) -> Option<Success> {
    let Caller::Tenant(identified) = caller else { return None };
    let (question, basis) = Question::of(operation, identified, head)?;
    let kept = service.memory.answer(&question, basis, identified.revisions)?;
    Some(Success::kept(operation, kept, head.id))
}

/// The answer of a read, once another service has been asked where that is what it takes.
async fn asked(operation: &Operation, reading: Reading, request_id: Uuid) -> Result<Success> {
    match reading {
        Reading::Done(success) => Ok(success),
        Reading::Asks(asking) => Ok(Success::of(operation, &asking.await?, request_id)),
    }
}

/// Who was let in: someone of an organization, or the platform where no organization is concerned.
pub(crate) enum Caller {
    Tenant(Arc<Identified>),
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

    /// Whether what is known of the caller is so in a state of the organization, at a time.
    fn holds(&self, configuration: i64, now: Timestamp) -> bool {
        match self {
            Self::Tenant(identified) => identified.revisions.configuration == configuration && identified.is_valid(now),
            Self::Platform(..) => true,
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
    head: &Head,
) -> Result<Reading> {
    let input = operation.shape().validate(operation, arguments, caller.country(), now)?;
    let system = service.system(tx, now);
    let answer = match (&operation.work, caller) {
        (Work::Tenant(prepare), Caller::Tenant(identified)) => {
            let answer = prepare(input)?(&mut Context::of_known(system, identified))?;
            if let Some((question, _)) = Question::of(operation, identified, head) {
                let kept = service.memory.keep(question, &answer, identified.revisions);
                return Ok(Reading::Done(Success::kept(operation, kept, head.id)));
            }
            answer
        }
        (Work::Tenant(prepare), Caller::Platform(access, Some(id))) => prepare(input)?(&mut Context::for_reading(system, *id, access)?)?,
        (Work::Tenant(_), Caller::Platform(_, None)) => return Err(Error::not_found("Organization")),
        (Work::System(work), _) => work(&mut { system }, input)?,
        (Work::Provider(work), _) => return Ok(Reading::Asks(work(service.kit.clone(), input))),
    };
    Ok(Reading::Done(Success::of(operation, &answer, head.id)))
}

/// What a write was sent, read and validated.
struct Sent {
    head: Arc<Head>,
    arguments: Arguments,
    input: serde_json::Value,
}

/// What a write does in its transaction.
enum Writing {
    Tenant(Uuid, Job),
    System(serde_json::Value),
}

async fn write(
    service: &Arc<Service>,
    operation: &'static Operation,
    sent: Sent,
    caller: Caller,
    now: Timestamp,
    key: Option<Key>,
) -> Result<Success> {
    // Held until the outcome is known; dropped on every way out, a panic included.
    let _held = key.as_ref().map(|key| service.in_flight.hold(key)).transpose()?;
    let shared = service.clone();
    let retention = service.settings.idempotency_retention;
    let share = caller.organization();
    let Sent { head, arguments, input } = sent;
    let writing = match (&operation.work, share) {
        (Work::Tenant(prepare), Some(id)) => Writing::Tenant(id, prepare(input)?),
        (Work::System(_), _) => Writing::System(input),
        (Work::Tenant(_), None) => return Err(Error::not_found("Organization")),
        (Work::Provider(_), _) => return Err(Error::internal("a provider is asked by a read")),
    };
    let (success, rung) = service
        .store
        .write_for(share, operation.patience, move |tx| {
            let again = |tx: &mut Transaction<'_>| admit_again(tx, &shared, operation, &head, &arguments);
            if let Some(key) = &key
                && let Some(recorded) = key.recorded(tx, now, retention)?
            {
                again(tx)?;
                return Ok((recorded, BTreeSet::new()));
            }
            let mut system = shared.system(tx, now);
            match (writing, &operation.work) {
                (Writing::Tenant(id, job), _) => {
                    let locked = system.lock(id, operation.touches)?.ok_or_else(|| Error::not_found("Organization"))?;
                    let renewed = if caller.holds(locked.found, shared.clock.now()) { None } else { again(system.tx)? };
                    let access = renewed.as_ref().map_or_else(|| caller.access(), |identified| &identified.access);
                    let mut context = Context::of_locked(system, locked, access);
                    let body = success_body(&job(&mut context)?, head.id);
                    context.close()?;
                    if let Some(key) = key {
                        key.record(&mut context, operation.status, &body)?;
                    }
                    Ok((Success::text(operation.status, body), context.rung()))
                }
                (Writing::System(input), Work::System(work)) => {
                    let body = success_body(&work(&mut system, input)?, head.id);
                    Ok((Success::text(operation.status, body), system.rung))
                }
                (Writing::System(_), _) => Err(Error::internal("work of another kind was prepared")),
            }
        })
        .await?;
    service.kit.ring(&rung);
    Ok(success)
}

/// Identifies a caller anew, where the organization is another since it was let in: a body may take its time to arrive, and
/// what was revoked meanwhile counts.
fn admit_again(
    tx: &mut Transaction<'_>,
    service: &Service,
    operation: &Operation,
    head: &Head,
    arguments: &Arguments,
) -> Result<Option<Arc<Identified>>> {
    let identified = authenticate::identify_again(tx, service.app, operation, head, service.clock.now())?;
    if let Some(identified) = &identified {
        permit(operation, &identified.access)?;
        if let Needs::ByBody(check) = operation.needs {
            check(arguments.body(), &identified.access)?;
        }
    }
    Ok(identified)
}

fn log_failure(error: &Error, operation: &Operation, request_id: Uuid) {
    let cause = error.cause().unwrap_or_default();
    match error.kind() {
        Kind::Internal => tracing::error!(%request_id, operation = operation.id, cause, "failed"),
        Kind::Unavailable | Kind::Provider => tracing::warn!(%request_id, operation = operation.id, cause, "not available"),
        _ => {}
    }
}
