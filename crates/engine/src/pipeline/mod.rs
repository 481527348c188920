//! The request pipeline: authenticate → rate limit → two-factor → permission → validate → replay or
//! run → envelope.
//!
//! REST, tools, platform and guest interfaces enter at [`handle`] and get JSON text. Code of this
//! process, such as pages, enters at [`call`] and gets values. Both run the same stages, so no
//! check can be skipped.

mod audited;
mod authenticate;
mod command;
mod compressed_prefix;
mod envelope;
mod idempotency;
mod incoming;
mod local;
mod memory;
mod organization_hints;
mod outbound;
mod peer_limits;
mod precondition;
mod rate_limit;
mod replicas;
mod request;
mod service;
mod shared_log;
mod stages;
mod unauthenticated;
mod upload;
mod validate;
mod write;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde_json::Value;
use store::{Share, Transaction};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use crate::access::{Access, Credential, Identified};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Answer, Arguments, Effect, LocalValue, Operation, Surface, Work};
use crate::stage;
use crate::uploads::TakesFile;
pub use authenticate::at_tools;
pub use authenticate::{Callers, bearer};
pub use envelope::error_body;
use envelope::success_body;
pub use idempotency::{InFlight, sweep};
pub use incoming::{Incoming, Refusal, Sender, out_of_memory};
pub use local::{LocalAnswer, LocalData, LocalOutcome, call};
use memory::{AnswerKey, CachedForm};
pub use memory::{CacheStatistics, CachedAnswer, Memory, tag};
pub use organization_hints::OrganizationHints;
pub use outbound::{OutboundBuffer, OutboundReservation, TimeoutGuard};
pub use peer_limits::PeerLimits;
pub use precondition::{CODINGS, coded};
pub use rate_limit::{Quota, RateLimits};
pub use replicas::count as count_replicas;
use request::Head;
pub use request::{Payload, Receiving, Request, counted_for};
pub use service::{Service, ServiceSettings};
pub use shared_log::SharedLog;
use stages::{Admitted, Call, Validated};
pub use unauthenticated::{RequiredCredential, refusal as unauthenticated, was_sent};
use write::write;

/// Returns the statements of the pipeline.
pub(crate) fn statements() -> Vec<&'static store::Statement> {
    [idempotency::STATEMENTS, replicas::STATEMENTS].concat()
}

/// The result of a request, for every surface.
#[derive(Debug)]
pub struct Outcome {
    pub status: u16,
    /// The success envelope or the error body.
    pub body: Body,
    /// The `ETag` of a read's response.
    pub etag: Option<HeaderValue>,
    /// The caller's rate limit quota; `None` until the caller is known.
    pub quota: Option<Quota>,
    /// Whether this is the recorded response of an earlier request with the same idempotency key.
    pub is_replay: bool,
    /// Seconds to wait before a retry, for `Retry-After`.
    pub retry_after: Option<u64>,
    /// The caller of the request; `None` if the caller was not identified.
    pub requester: Option<Requester>,
    /// The error behind an error body; `None` for a success.
    pub error: Option<Error>,
}

/// The organization and the credential of a request, for the log.
#[derive(Debug, Clone, Copy)]
pub struct Requester {
    /// The organization; `None` if the request concerns none.
    pub organization: Option<Uuid>,
    pub credential: Credential,
}

/// The quota and the requester of a request, for the headers and the log.
#[derive(Debug, Default)]
struct RequestInfo {
    quota: Option<Quota>,
    requester: Option<Requester>,
}

/// A response body: JSON text, or a reference to a cached response.
#[derive(Debug)]
pub enum Body {
    /// JSON text.
    Text(String),
    /// A cached response, to be sent with this request id.
    Cached(Arc<CachedAnswer>, Uuid),
}

impl Body {
    /// Returns the body as JSON text.
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Cached(response, request_id) => {
                String::from_utf8_lossy(&response.pieces(request_id).concat()).into_owned()
            }
        }
    }
}

/// The body of a successful response.
enum SuccessBody {
    /// The text that the surface sends to its client.
    Written(Body),
    /// A value for code of this process.
    Value(LocalValue),
}

impl SuccessBody {
    /// Returns the body that a surface sends. If the body is a value for code of this process,
    /// converts the value to JSON text.
    fn written(self, request_id: Uuid) -> Result<Body> {
        match self {
            Self::Written(body) => Ok(body),
            Self::Value(value) => {
                let text = value.into_text()?;
                Ok(Body::Text(success_body(&text, request_id)))
            }
        }
    }
}

/// The result of a request that succeeded.
struct Success {
    status: u16,
    body: SuccessBody,
    etag: Option<HeaderValue>,
    is_replay: bool,
}

impl Success {
    /// Creates a success from the answer of an operation. If code of this process has called the
    /// operation and the answer is a value, the success contains that value. Otherwise it contains
    /// the answer as JSON text.
    fn of(operation: &Operation, answer: Answer, head: &Head) -> Result<Self> {
        if let Some(value) = head.local_value(&answer) {
            return Ok(Self::value(operation.status, value));
        }
        let text = answer.into_text()?;
        let etag = (operation.method == Method::GET).then(|| memory::etag(&text));
        Ok(Self {
            etag,
            ..Self::text(operation.status, success_body(&text, head.id))
        })
    }

    fn text(status: u16, body: String) -> Self {
        Self::with(status, SuccessBody::Written(Body::Text(body)), None)
    }

    const fn value(status: u16, value: LocalValue) -> Self {
        Self::with(status, SuccessBody::Value(value), None)
    }

    fn cached(operation: &Operation, entry: CachedForm, request_id: Uuid) -> Self {
        let (body, etag) = match entry {
            CachedForm::Text(entry) => {
                let etag = entry.etag();
                (SuccessBody::Written(Body::Cached(entry, request_id)), etag)
            }
            CachedForm::Value(entry) => {
                (SuccessBody::Value(entry.value.clone()), entry.etag.clone())
            }
        };
        Self::with(operation.status, body, Some(etag))
    }

    const fn with(status: u16, body: SuccessBody, etag: Option<HeaderValue>) -> Self {
        Self {
            status,
            body,
            etag,
            is_replay: false,
        }
    }
}

/// The result of a read's transaction.
enum ReadOutcome {
    /// The operation has answered, without a call to another service.
    Done(Success),
    /// A call to another service, to be made after the transaction is closed.
    Calls(BoxFuture<'static, Result<Answer>>),
}

/// Runs a request of a surface through every stage. Always returns an outcome; errors become error
/// bodies.
pub async fn handle(
    service: &Arc<Service>,
    operation: &'static Operation,
    request: Request,
) -> Outcome {
    let request_id = request.id;
    let FinishedCall {
        call,
        facts: RequestInfo { quota, requester },
        answered,
    } = finish(service, operation, request, false).await;
    let written = answered.and_then(|success| {
        let body = success.body.written(request_id)?;
        Ok((success.status, body, success.etag, success.is_replay))
    });
    match written {
        Ok((status, body, etag, is_replay)) => Outcome {
            status,
            body: with_parameter_warnings(&call, body),
            etag,
            quota,
            is_replay,
            retry_after: None,
            requester,
            error: None,
        },
        Err(error) => Outcome {
            status: error.kind().status(),
            body: Body::Text(error_body(&error, request_id)),
            etag: None,
            retry_after: retry_after(&error, quota.as_ref()),
            quota,
            is_replay: false,
            requester,
            error: Some(error),
        },
    }
}

/// The call of a request, the quota and the caller of the request, and the result of its stages.
struct FinishedCall {
    call: Arc<Call>,
    facts: RequestInfo,
    answered: Result<Success>,
}

/// Runs the stages of a request. The future is boxed, because otherwise the compiler would compile
/// all stages again in each crate that awaits them.
fn finish<'s>(
    service: &'s Arc<Service>,
    operation: &'static Operation,
    request: Request,
    is_local: bool,
) -> BoxFuture<'s, FinishedCall> {
    Box::pin(async move {
        let (head, payload) = request.split(is_local);
        let call = Arc::new(Call {
            service: service.clone(),
            operation,
            head,
            now: service.clock.now(),
        });
        let mut facts = RequestInfo::default();
        let answered = match run_stages(&call, payload, &mut facts).await {
            Err(error) => {
                let error = if error.kind() == ErrorKind::Authentication {
                    let required = RequiredCredential::at(operation.surface);
                    unauthenticated(service, &call.head.headers, required).await
                } else {
                    error
                };
                log_failure(&error, operation.id, call.head.id);
                Err(error)
            }
            success => success,
        };
        FinishedCall {
            call,
            facts,
            answered,
        }
    })
}

/// Returns the seconds to wait before a retry: those of the rate limit, or else those of the error.
fn retry_after(error: &Error, quota: Option<&Quota>) -> Option<u64> {
    quota
        .and_then(|quota| quota.retry_after)
        .or(error.retry_after())
}

/// Adds warnings about unknown query parameters to a success. Does not change the success of a tool
/// call, because a tool call with unknown parameters is refused.
fn with_parameter_warnings(call: &Call, body: Body) -> Body {
    if call.head.query.is_empty() || call.head.is_tool_call {
        return body;
    }
    let unknown_parameters = call
        .operation
        .shape()
        .unknown_parameters(call.operation, &call.head.query);
    if unknown_parameters.is_empty() {
        return body;
    }
    Body::Text(envelope::with_warnings(
        body.into_text(),
        &unknown_parameters,
    ))
}

async fn run_stages(
    call: &Arc<Call>,
    payload: Payload,
    facts: &mut RequestInfo,
) -> Result<Success> {
    let Call {
        service,
        operation,
        head,
        ..
    } = &**call;
    let caller = early_caller(call)
        .instrument(stage!("authenticate"))
        .await?;
    // If the caller is not known yet, the organization is the one to which the token belonged in an
    // earlier request.
    let share = caller.as_ref().map_or_else(
        || service.organization_hints.of(operation, head),
        Caller::organization,
    );
    service.wait_for_outbound_space(share).await?;
    let Some(caller) = caller else {
        return identify_and_read(call, share, payload, facts).await;
    };
    let shared_quota = take_shared_quota(call, &caller).await;
    let admitted = call.admit(caller, shared_quota, facts)?;
    if let Some(success) = recall(call, &admitted) {
        return Ok(success);
    }
    let payload = payload.within(service, admitted.caller().organization());
    if let Some(file) = &operation.file {
        return answer_with_file(call, file, admitted, payload).await;
    }
    let arguments = head
        .read(payload, operation)
        .instrument(stage!("read"))
        .await;
    answer(call, admitted, arguments).await
}

/// Answers a request that uploads a file. The file is stored before the operation runs, and deleted
/// again if the operation fails.
async fn answer_with_file(
    call: &Arc<Call>,
    file: &TakesFile,
    admitted: Admitted,
    payload: Payload,
) -> Result<Success> {
    let (arguments, stored_file) = upload::read(call, file, admitted.caller(), payload)
        .instrument(stage!("read"))
        .await;
    let result = answer(call, admitted, arguments).await;
    if let Some(stored_file) = stored_file {
        stored_file.settle(&result);
    }
    result
}

/// Validates the arguments of a caller who may call the operation, and runs the operation.
async fn answer(
    call: &Arc<Call>,
    admitted: Admitted,
    arguments: Result<Arguments>,
) -> Result<Success> {
    let Call {
        service, operation, ..
    } = &**call;
    let share = admitted.caller().organization();
    let validated = admitted
        .parse(call, arguments)?
        .validate_with_network(call)
        .instrument(stage!("validate"))
        .await?;
    match operation.effect {
        Effect::Read => {
            if let Some(replica_result) = replicas::read(call, &validated).await {
                return finish_read(call, replica_result?).await;
            }
            let shared = call.clone();
            let read = move |tx: &mut Transaction<'_>| {
                let validated = if shared.service.store.is_only_process() {
                    validated
                } else {
                    validated.reauthenticate(tx, &shared)?
                };
                stage!("run").in_scope(|| read_validated(tx, &shared, validated))
            };
            finish_read(call, service.store.read_for(share, read).await?).await
        }
        Effect::Write => write(call, validated).await,
    }
}

/// Handles a read of a caller who is not in the cache, in one transaction. Authentication,
/// permission check and answer use the same snapshot.
async fn identify_and_read(
    call: &Arc<Call>,
    share: Share,
    payload: Payload,
    facts: &mut RequestInfo,
) -> Result<Success> {
    let arguments = call
        .head
        .read(payload, call.operation)
        .instrument(stage!("read"))
        .await;
    let shared = call.clone();
    let read_all = move |tx: &mut Transaction<'_>| {
        let mut facts_of_read = RequestInfo::default();
        let identified = stage!("authenticate").in_scope(|| {
            authenticate::identify(
                tx,
                &shared.service,
                shared.operation,
                &shared.head,
                shared.now,
            )
        });
        let result = identified.and_then(|caller| {
            let admitted = shared.admit(caller, None, &mut facts_of_read)?;
            if let Some(success) = recall(&shared, &admitted) {
                return Ok(ReadOutcome::Done(success));
            }
            let parsed = admitted.parse(&shared, arguments)?;
            let validated = stage!("validate").in_scope(|| parsed.validate(&shared))?;
            stage!("run").in_scope(|| read_validated(tx, &shared, validated))
        });
        Ok::<_, Error>((facts_of_read, result))
    };
    let (facts_of_read, result) = call.service.store.read_for(share, read_all).await?;
    *facts = facts_of_read;
    finish_read(call, result?).await
}

/// Identifies the caller from the cache, or with a separate query if the caller must be known
/// before the transaction of the operation. Otherwise returns `None`, and [`identify_and_read`]
/// identifies the caller.
async fn early_caller(call: &Arc<Call>) -> Result<Option<Caller>> {
    let Call {
        service,
        operation,
        head,
        now,
    } = &**call;
    let cached = authenticate::recall(service, operation, head, *now)?;
    if cached.is_some() {
        return Ok(cached);
    }
    let is_public = operation.surface == Surface::Public;
    // Nodes that share quotas check the caller's quota with a network call, during which no
    // transaction may be open. The caller must therefore be known before the transaction begins.
    let is_shared = is_public && service.limits.are_shared();
    let is_write = operation.effect == Effect::Write;
    // On PostgreSQL, one query looks up the callers of several waiting requests. If the response is
    // then found in the cache, the request needs no other query.
    let is_batched = !service.store.is_only_process() && authenticate::is_plain(operation, head);
    let is_cached = is_batched && operation.cached.is_some() && !head.is_tool_call;
    // A replica may answer only if it has the same revisions of the organization as the primary had
    // at the look-up of the caller.
    let uses_replica = is_batched && replicas::may_answer(service, operation);
    if !is_write && !is_shared && !is_cached && !uses_replica {
        return Ok(None);
    }
    if is_batched {
        return authenticate::look_up_caller(call).await.map(Some);
    }
    let (share, shared) = (service.organization_hints.of(operation, head), call.clone());
    let identify = move |tx: &mut Transaction<'_>| {
        authenticate::identify(
            tx,
            &shared.service,
            shared.operation,
            &shared.head,
            shared.now,
        )
    };
    service.store.read_for(share, identify).await.map(Some)
}

/// Counts one request against the caller's quota that all nodes share. Returns `None` if quotas are
/// not shared or the shared store is unavailable. Also returns `None` outside of the public
/// interface, and for a caller whom the surface has identified.
async fn take_shared_quota(call: &Call, caller: &Caller) -> Option<Quota> {
    let Call {
        service,
        operation,
        head,
        now,
    } = call;
    if operation.surface != Surface::Public || head.caller.is_some() {
        return None;
    }
    let Caller::Organization(identified) = caller else {
        return None;
    };
    let span = if service.limits.are_shared() {
        stage!("rate limit")
    } else {
        Span::none()
    };
    service
        .limits
        .take_shared(identified.owner(), &service.clock, *now)
        .instrument(span)
        .await
}

/// Returns the cached response, if it is still valid.
fn recall(call: &Call, admitted: &Admitted) -> Option<Success> {
    let Caller::Organization(identified) = admitted.caller() else {
        return None;
    };
    let (key, basis) = AnswerKey::of(call.operation, identified, &call.head)?;
    let response = call
        .service
        .memory
        .answer(&key, basis, identified.revisions, call.now)?;
    Some(Success::cached(call.operation, response, call.head.id))
}

/// Returns the response of a read. If the operation calls another service, that call runs here.
async fn finish_read(call: &Call, read: ReadOutcome) -> Result<Success> {
    match read {
        ReadOutcome::Done(success) => Ok(success),
        ReadOutcome::Calls(asking) => Success::of(call.operation, asking.await?, &call.head),
    }
}

/// An identified caller: of an organization, or the platform.
pub(crate) enum Caller {
    Organization(Arc<Identified>),
    /// The platform, and the id of the organization in the path of the request. `None` if the path
    /// names no organization. The organization is not looked up yet.
    Platform(Access, Option<Uuid>),
}

impl Caller {
    fn access(&self) -> &Access {
        match self {
            Self::Organization(identified) => &identified.access,
            Self::Platform(access, _) => access,
        }
    }

    fn organization(&self) -> Option<Uuid> {
        match self {
            Self::Organization(identified) => Some(identified.organization.id),
            Self::Platform(_, organization) => *organization,
        }
    }

    /// Returns whether the caller's identification is still valid: it has not expired at `now`, and
    /// the organization's configuration revision is still `configuration`.
    fn is_valid_for(&self, configuration: i64, now: Timestamp) -> bool {
        match self {
            Self::Organization(identified) => {
                identified.revisions.configuration == configuration && identified.is_valid(now)
            }
            Self::Platform(..) => true,
        }
    }

    fn country(&self) -> &str {
        match self {
            Self::Organization(identified) => &identified.organization.settings.country.0,
            Self::Platform(..) => crate::access::DEFAULT_COUNTRY,
        }
    }
}

fn read_validated(
    tx: &mut Transaction<'_>,
    call: &Call,
    validated: Validated,
) -> Result<ReadOutcome> {
    let (caller, _, _, input) = validated.into_parts();
    read(tx, call, caller, input)
}

fn read(
    tx: &mut Transaction<'_>,
    call: &Call,
    caller: Caller,
    input: Value,
) -> Result<ReadOutcome> {
    let Call {
        service,
        operation,
        head,
        now,
    } = call;
    let system = service.system(tx, *now);
    let answer = match (&operation.work, &caller) {
        (Work::Organization(prepare), Caller::Organization(identified)) => {
            let mut context = Context::of_identified(system, identified);
            let answer = prepare(input)?(&mut context)?;
            let holds = context.validity();
            if let Some((key, _)) =
                AnswerKey::of(operation, identified, head).filter(|_| !holds.is_empty())
            {
                let cached = service
                    .memory
                    .store(key, answer, identified.revisions, holds)?;
                return Ok(ReadOutcome::Done(Success::cached(
                    operation, cached, head.id,
                )));
            }
            answer
        }
        (Work::Organization(prepare), Caller::Platform(access, Some(id))) => {
            prepare(input)?(&mut Context::for_reading(system, *id, access)?)?
        }
        (Work::Organization(_), Caller::Platform(_, None)) => {
            return Err(Error::not_found("Organization"));
        }
        (Work::System(work), _) => work(&mut { system }, input)?,
        (Work::Provider(work), _) => {
            return Ok(ReadOutcome::Calls(work(service.app_state.clone(), input)));
        }
        (Work::Command(_), _) => return Err(Error::internal("a command is no read")),
    };
    Success::of(operation, answer, head).map(ReadOutcome::Done)
}

/// Authenticates a caller again within a transaction and checks the caller's permissions again,
/// because the credential may have been revoked or changed while the body arrived. Returns 401 for
/// a revoked credential.
fn admit_again(
    tx: &mut Transaction<'_>,
    call: &Call,
    arguments: &Arguments,
) -> Result<Option<Arc<Identified>>> {
    let identified = authenticate::identify_again(
        tx,
        call.service.app,
        call.operation,
        &call.head,
        call.service.clock.now(),
    )?;
    if let Some(identified) = &identified {
        call.permit(&identified.access)?;
        call.permit_body(&identified.access, arguments)?;
    }
    Ok(identified)
}

/// Logs a failure that the client did not cause, with the name of the operation.
pub fn log_failure(error: &Error, operation: &str, request_id: Uuid) {
    let cause = error.cause().unwrap_or_default();
    match error.kind() {
        ErrorKind::Internal => {
            tracing::error!(
                %request_id,
                operation,
                cause,
                "a request failed with an internal error"
            );
        }
        ErrorKind::Unavailable | ErrorKind::Provider => {
            tracing::warn!(
                %request_id,
                operation,
                cause,
                "a request failed because a service it needs is not available"
            );
        }
        _ => {}
    }
}
