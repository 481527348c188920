//! The one way through: authenticate → rate limit → two-factor → permission → validate → replay or run → envelope.
//!
//! REST, tools, platform and guest interfaces all enter at [`handle`]; there is no other way in, so nothing can skip a check.

mod audited;
mod authenticate;
mod deflated;
mod envelope;
mod homes;
mod idempotency;
mod memory;
mod rate_limit;
mod replicas;
mod request;
mod service;
mod shared_log;
mod stages;
mod unsent;
mod upload;
mod validate;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde_json::Value;
use store::{Share, Transaction};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use crate::access::{Access, Credential, Identified};
use crate::context::{Context, Lock};
use crate::error::{Error, Kind, Result};
use crate::operation::{Answer, Arguments, Effect, Job, Operation, Surface, Work};
use crate::stage;
use crate::uploads::TakesFile;
use audited::Audited;
pub(crate) use authenticate::at_tools;
pub use authenticate::{Callers, bearer};
pub use envelope::{error_body, success_body};
pub use homes::Homes;
pub use idempotency::{InFlight, sweep};
use memory::Question;
pub use memory::{Kept, Memory, Tally, tag};
pub use rate_limit::{Quota, RateLimits};
pub(crate) use replicas::count as count_replicas;
use request::Head;
pub use request::{Payload, Request};
pub use service::{Service, Settings};
pub use shared_log::SharedLog;
use stages::{Admitted, Call, Validated};
pub use unsent::{Held, Hurry, Unsent};

/// The statements of this chapter.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [idempotency::STATEMENTS, replicas::STATEMENTS].concat()
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
    pub quota: Option<Quota>,
    /// The answer of an earlier request with the same key.
    pub is_replay: bool,
    /// Whole seconds to wait before trying again.
    pub retry_after: Option<u64>,
    /// Whose request it was, once that is known.
    pub requester: Option<Requester>,
    /// What was refused or has failed, as the body says it.
    pub error: Option<Error>,
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
    quota: Option<Quota>,
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
    let call = Arc::new(Call { service: service.clone(), operation, head, now: service.clock.now() });
    let mut noted = Noted::default();
    let answered = through(&call, payload, &mut noted).await;
    let Noted { quota, requester } = noted;
    match answered {
        Ok(Success { status, body, etag, is_replay }) => {
            Outcome { status, body, etag, quota, is_replay, retry_after: None, requester, error: None }
        }
        Err(error) => {
            log_failure(&error, operation.id, request_id);
            let limited = quota.as_ref().and_then(|quota| quota.retry_after);
            Outcome {
                status: error.kind().status(),
                body: Body::Text(error_body(&error, request_id)),
                etag: None,
                retry_after: limited.or(error.retry_after()),
                quota,
                is_replay: false,
                requester,
                error: Some(error),
            }
        }
    }
}

async fn through(call: &Arc<Call>, payload: Payload, noted: &mut Noted) -> Result<Success> {
    let Call { service, operation, head, .. } = &**call;
    let known = known(call).instrument(stage!("authenticate")).await?;
    let share = known.as_ref().map_or_else(|| service.homes.of(operation, head), Caller::organization);
    service.room(share).await?;
    let Some(caller) = known else { return in_one_visit(call, share, payload, noted).await };
    let agreed = take_shared(call, &caller).await;
    let admitted = call.admit(caller, agreed, noted)?;
    if let Some(success) = recall(call, &admitted) {
        return Ok(success);
    }
    if let Some(file) = &operation.file {
        return with_file(call, file, admitted, payload).await;
    }
    let arguments = head.read(payload, operation).instrument(stage!("read")).await;
    answer(call, admitted, arguments).await
}

/// The same way on, for what comes with a file: that is kept where the work is done, and removed where it is refused.
async fn with_file(call: &Arc<Call>, file: &TakesFile, admitted: Admitted, payload: Payload) -> Result<Success> {
    let (arguments, brought) = upload::read(call, file, admitted.caller(), payload).instrument(stage!("read")).await;
    let answered = answer(call, admitted, arguments).await;
    if let Some(brought) = brought {
        brought.settle(&answered);
    }
    answered
}

/// What an admitted caller is answered, once what was sent has been read.
async fn answer(call: &Arc<Call>, admitted: Admitted, arguments: Result<Arguments>) -> Result<Success> {
    let Call { service, operation, .. } = &**call;
    let share = admitted.caller().organization();
    let validated = admitted.hear(call, arguments)?.validate_with_network(call).instrument(stage!("validate")).await?;
    match operation.effect {
        Effect::Read => {
            if let Some(answered) = replicas::read(call, &validated).await {
                return asked(call, answered?).await;
            }
            let shared = call.clone();
            let reading = move |tx: &mut Transaction<'_>| {
                let validated = if shared.service.store.is_private() { validated } else { validated.renewed(tx, &shared)? };
                stage!("run").in_scope(|| read_validated(tx, &shared, validated))
            };
            asked(call, service.store.read_for(share, reading).await?).await
        }
        Effect::Write => write(call, validated).await,
    }
}

/// A read of somebody who is not known yet. One visit to the database: who asks, whether they may, and the answer come from
/// one state.
async fn in_one_visit(call: &Arc<Call>, share: Share, payload: Payload, noted: &mut Noted) -> Result<Success> {
    let arguments = call.head.read(payload, call.operation).instrument(stage!("read")).await;
    let shared = call.clone();
    let visit = move |tx: &mut Transaction<'_>| {
        let mut taken = Noted::default();
        let identified =
            stage!("authenticate").in_scope(|| authenticate::identify(tx, &shared.service, shared.operation, &shared.head, shared.now));
        let answered = identified.and_then(|caller| {
            let admitted = shared.admit(caller, None, &mut taken)?;
            if let Some(success) = recall(&shared, &admitted) {
                return Ok(Reading::Done(success));
            }
            let heard = admitted.hear(&shared, arguments)?;
            let validated = stage!("validate").in_scope(|| heard.validate(&shared))?;
            stage!("run").in_scope(|| read_validated(tx, &shared, validated))
        });
        Ok::<_, Error>((taken, answered))
    };
    let (taken, answered) = call.service.store.read_for(share, visit).await?;
    *noted = taken;
    asked(call, answered?).await
}

/// Who asks, where that is remembered or has to be known before the rest begins. A read finds it out in its own visit otherwise.
async fn known(call: &Arc<Call>) -> Result<Option<Caller>> {
    let Call { service, operation, head, now } = &**call;
    let remembered = authenticate::recall(service, operation, head, *now)?;
    if remembered.is_some() {
        return Ok(remembered);
    }
    let is_public = operation.surface == Surface::Public;
    // What nodes share is asked over the network: between two transactions, not in one.
    let is_shared = is_public && service.limits.are_shared();
    let is_written = operation.effect == Effect::Write;
    // A server is asked for whoever comes, together; and what is kept takes no more than that.
    let is_together = !service.store.is_private() && authenticate::is_plain(operation, head);
    let is_kept = is_together && operation.kept.is_some() && !head.is_tool_call;
    // What a replica finds is held against the state they are found in.
    let is_elsewhere = is_together && operation.may_lag && service.store.has_replicas();
    if !is_written && !is_shared && !is_kept && !is_elsewhere {
        return Ok(None);
    }
    if is_together {
        return authenticate::ask(call).await.map(Some);
    }
    let (share, shared) = (service.homes.of(operation, head), call.clone());
    let identify = move |tx: &mut Transaction<'_>| authenticate::identify(tx, &shared.service, shared.operation, &shared.head, shared.now);
    service.store.read_for(share, identify).await.map(Some)
}

/// The caller's quota with a limit that nodes share, if they do and it is to be had.
async fn take_shared(call: &Call, caller: &Caller) -> Option<Quota> {
    let Call { service, operation, now, .. } = call;
    if operation.surface != Surface::Public {
        return None;
    }
    let Caller::Tenant(identified) = caller else { return None };
    let span = if service.limits.are_shared() { stage!("rate limit") } else { Span::none() };
    service.limits.take_shared(identified.owner(), &service.clock, *now).instrument(span).await
}

/// The answer that is kept, if it still holds.
fn recall(call: &Call, admitted: &Admitted) -> Option<Success> {
    let Caller::Tenant(identified) = admitted.caller() else { return None };
    let (question, basis) = Question::of(call.operation, identified, &call.head)?;
    let kept = call.service.memory.answer(&question, basis, identified.revisions, call.now)?;
    Some(Success::kept(call.operation, kept, call.head.id))
}

/// The answer of a read, once another service has been asked where that is what it takes.
async fn asked(call: &Call, reading: Reading) -> Result<Success> {
    match reading {
        Reading::Done(success) => Ok(success),
        Reading::Asks(asking) => Ok(Success::of(call.operation, &asking.await?, call.head.id)),
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

fn read_validated(tx: &mut Transaction<'_>, call: &Call, validated: Validated) -> Result<Reading> {
    let (caller, _, _, input) = validated.into_parts();
    read(tx, call, caller, input)
}

fn read(tx: &mut Transaction<'_>, call: &Call, caller: Caller, input: Value) -> Result<Reading> {
    let Call { service, operation, head, now } = call;
    let system = service.system(tx, *now);
    let answer = match (&operation.work, &caller) {
        (Work::Tenant(prepare), Caller::Tenant(identified)) => {
            let mut context = Context::of_known(system, identified);
            let answer = prepare(input)?(&mut context)?;
            let holds = context.holds();
            if let Some((question, _)) = Question::of(operation, identified, head).filter(|_| !holds.is_empty()) {
                let kept = service.memory.keep(question, &answer, identified.revisions, holds);
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

/// What a write does in its transaction.
enum Writing {
    Tenant(Lock, Job),
    System(Value),
}

async fn write(call: &Arc<Call>, validated: Validated) -> Result<Success> {
    let Call { service, operation, now, .. } = &**call;
    let now = *now;
    let (caller, key, arguments, input) = validated.into_parts();
    let audited = Audited::of(operation, &input);
    // Held until the outcome is known; dropped on every way out, a panic included.
    let _held = key.as_ref().map(|key| service.in_flight.hold(key)).transpose()?;
    let within = call.clone();
    let retention = service.settings.idempotency_retention;
    let share = caller.organization();
    let foreseen = share.map(|id| operation.foreseen(id, &input)).unwrap_or_default();
    let mut writing = match (&operation.work, share) {
        (Work::Tenant(prepare), Some(id)) => Writing::Tenant(Lock::of(&service.kit, id, operation.touches), prepare(input)?),
        (Work::System(_), _) => Writing::System(input),
        (Work::Tenant(_), None) => return Err(Error::not_found("Organization")),
        (Work::Provider(_), _) => return Err(Error::internal("a provider is asked by a read")),
    };
    let (success, rung) = service
        .store
        .write_for(share, operation.patience, move |tx| {
            let Call { service: shared, operation, head, .. } = &*within;
            let again = |tx: &mut Transaction<'_>| admit_again(tx, &within, &arguments);
            let mut behind = Vec::new();
            if let Writing::Tenant(lock, _) = &mut writing {
                // In a transaction that has locked the organization already, that is another since this caller was let in.
                let admits = if tx.is_held() { authenticate::asks(operation, head) } else { None };
                if key.is_some() && !tx.is_held() {
                    // Nobody who is told of an answer that is kept, or that there will be one, waits for another node's write.
                    *lock = lock.tried_first();
                    behind.clone_from(&foreseen);
                }
                tx.foresee(key.iter().flat_map(idempotency::Key::asks).chain([lock.ask()]).chain(admits).chain(foreseen).collect());
            }
            if let Some(key) = &key
                && let Some(recorded) = key.recorded(tx, now, retention)?
            {
                // The lock may have been taken already, and it raises the revision.
                tx.rehearse();
                let renewed = again(tx)?;
                if let (Some(once), Some(id)) = (operation.shows_once, share) {
                    let access = renewed.as_ref().map_or_else(|| caller.access(), |identified| &identified.access);
                    (once.check)(&Context::for_reading(shared.system(tx, now), id, access)?)?;
                }
                return Ok((recorded, BTreeSet::new()));
            }
            let mut system = shared.system(tx, now);
            match (writing, &operation.work) {
                (Writing::Tenant(lock, job), _) => {
                    let locked = lock.take(system.tx, behind)?.ok_or_else(|| Error::not_found("Organization"))?;
                    let renewed = if caller.holds(locked.found, shared.clock.now()) { None } else { again(system.tx)? };
                    let access = renewed.as_ref().map_or_else(|| caller.access(), |identified| &identified.access);
                    let mut context = Context::of_locked(system, locked, access);
                    let audited = audited.map(|audited| audited.begin(&mut context)).transpose()?;
                    let answer = stage!("run").in_scope(|| job(&mut context))?;
                    let body = success_body(&answer, head.id);
                    context.close()?;
                    if let Some(audited) = audited {
                        audited.end(&mut context, &answer, head.id, shared.clock.now())?;
                    }
                    if let Some(key) = key {
                        let kept = operation.shows_once.map(|once| answer.without(once.field)).transpose()?;
                        let kept = kept.map(|answer| success_body(&answer, head.id));
                        key.record(&mut context, operation.status, kept.as_ref().unwrap_or(&body))?;
                    }
                    Ok((Success::text(operation.status, body), context.rung()))
                }
                (Writing::System(input), Work::System(work)) => {
                    let audited = audited.map(|audited| audited.begin_beside(&mut system, caller.access())).transpose()?;
                    let answer = stage!("run").in_scope(|| work(&mut system, input))?;
                    let body = success_body(&answer, head.id);
                    if let Some(audited) = audited {
                        audited.end_beside(&mut system, caller.access(), &answer, head.id, shared.clock.now())?;
                    }
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
fn admit_again(tx: &mut Transaction<'_>, call: &Call, arguments: &Arguments) -> Result<Option<Arc<Identified>>> {
    let identified = authenticate::identify_again(tx, call.service.app, call.operation, &call.head, call.service.clock.now())?;
    if let Some(identified) = &identified {
        call.permit(&identified.access)?;
        call.permit_body(&identified.access, arguments)?;
    }
    Ok(identified)
}

/// Writes down what was not the client's fault, under the name of what was asked for.
pub(crate) fn log_failure(error: &Error, operation: &str, request_id: Uuid) {
    let cause = error.cause().unwrap_or_default();
    match error.kind() {
        Kind::Internal => tracing::error!(%request_id, operation, cause, "failed"),
        Kind::Unavailable | Kind::Provider => tracing::warn!(%request_id, operation, cause, "not available"),
        _ => {}
    }
}
