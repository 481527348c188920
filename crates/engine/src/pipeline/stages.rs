//! The stages of a request between the identification of the caller and the run of the operation.
//!
//! authenticate → [`Call::admit`] (rate limit → two-factor → permission) → [`Admitted::parse`]
//! (permission by the body → form of the `Idempotency-Key` → arguments) → [`ParsedCall::validate`]
//! → run.
//!
//! Each stage takes a value that only the stage before it can create. The order is therefore the
//! same in every code path, and no stage can be skipped.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use store::Transaction;

use super::idempotency::IdempotencyKey;
use super::request::Head;
use super::{Caller, Quota, RequestInfo, Requester, Service, admit_again, validate};
use crate::access::Access;
use crate::error::{ErrorKind, Result};
use crate::operation::{Arguments, Effect, Needs, Operation, Surface};

/// A call of an operation, with everything that does not change between stages.
pub(super) struct Call {
    pub(super) service: Arc<Service>,
    pub(super) operation: &'static Operation,
    pub(super) head: Head,
    /// The time of the request, the same in every stage.
    pub(super) now: Timestamp,
}

/// A caller who may call the operation. The body is not parsed yet.
pub(super) struct Admitted(Caller);

/// A caller who may call the operation, with parsed arguments.
pub(super) struct ParsedCall {
    caller: Caller,
    key: Option<IdempotencyKey>,
    arguments: Arguments,
}

/// A caller who may call the operation, with the validated input.
pub(super) struct Validated {
    parsed: ParsedCall,
    input: Value,
}

impl Call {
    /// Checks rate limit, two-factor and permission. `shared_quota` is the caller's quota that all
    /// nodes share. If it is `None`, the limit of this process applies. A page of the console
    /// counts as one request, so the calls that the page makes are not counted in addition.
    pub(super) fn admit(
        &self,
        caller: Caller,
        shared_quota: Option<Quota>,
        facts: &mut RequestInfo,
    ) -> Result<Admitted> {
        let Self {
            service,
            operation,
            now,
            ..
        } = self;
        facts.requester = Some(Requester {
            organization: caller.organization(),
            credential: caller.access().credential,
        });
        if let Caller::Organization(identified) = &caller {
            service.app_state.last_uses.record(identified.owner(), *now);
        }
        let elapsed = service.clock.elapsed();
        facts.quota = match (operation.surface, &caller) {
            (Surface::Public, Caller::Organization(identified))
                if self.head.caller.is_none() || self.head.is_tool_call =>
            {
                shared_quota.or_else(|| service.limits.take(identified.owner(), elapsed, *now))
            }
            (Surface::Guest, Caller::Organization(identified)) => {
                service.guest_limits.take(identified.owner(), elapsed, *now)
            }
            _ => None,
        };
        if facts
            .quota
            .as_ref()
            .is_some_and(|quota| quota.retry_after.is_some())
        {
            return Err(ErrorKind::RateLimit.into());
        }
        self.permit(caller.access())?;
        Ok(Admitted(caller))
    }

    /// Checks the organization's two-factor rule, then the permission. A caller with the link to a
    /// preview may never run a write.
    pub(super) fn permit(&self, access: &Access) -> Result<()> {
        access.require_two_factor()?;
        if self.operation.effect == Effect::Write {
            access.require_more_than_a_preview()?;
        }
        self.operation.needs.check(access)
    }

    /// Checks the permissions that depend on the body.
    pub(super) fn permit_body(&self, access: &Access, arguments: &Arguments) -> Result<()> {
        match self.operation.needs {
            Needs::ByBody(check) => check(arguments.body(), access),
            Needs::Credential | Needs::Permission(_) | Needs::Permissions(_) => Ok(()),
        }
    }
}

impl Admitted {
    pub(super) const fn caller(&self) -> &Caller {
        &self.0
    }

    /// Checks the permissions that depend on the body, then the idempotency key of a write. Then
    /// returns the error of the arguments, if they could not be parsed.
    pub(super) fn parse(self, call: &Call, arguments: Result<Arguments>) -> Result<ParsedCall> {
        let Self(caller) = self;
        if let Ok(arguments) = &arguments {
            call.permit_body(caller.access(), arguments)?;
        }
        let key = match &caller {
            Caller::Organization(identified) if call.operation.effect == Effect::Write => {
                IdempotencyKey::of(call.operation, &call.head, identified.owner())?
            }
            _ => None,
        };
        Ok(ParsedCall {
            caller,
            key,
            arguments: arguments?,
        })
    }
}

impl ParsedCall {
    /// Validates the arguments as the operation's input.
    pub(super) fn validate(self, call: &Call) -> Result<Validated> {
        let shape = call.operation.shape();
        let input = shape.validate(
            call.operation,
            &self.arguments,
            self.caller.country(),
            call.now,
        )?;
        Ok(self.with_input(call, input))
    }

    /// Validates the arguments, including formats that need a network call. No transaction may be
    /// open.
    pub(super) async fn validate_with_network(self, call: &Call) -> Result<Validated> {
        let input = validate::validate(
            &call.service,
            call.operation,
            &self.arguments,
            self.caller.country(),
            call.now,
        )
        .await?;
        Ok(self.with_input(call, input))
    }

    fn with_input(mut self, call: &Call, input: Value) -> Validated {
        self.key = self
            .key
            .map(|key| key.for_request(call.operation, &self.arguments));
        Validated {
            parsed: self,
            input,
        }
    }
}

impl Validated {
    /// Authenticates the caller again in this transaction. The response is cached under the
    /// caller's revisions, which must come from the snapshot of the response.
    pub(super) fn reauthenticate(mut self, tx: &mut Transaction<'_>, call: &Call) -> Result<Self> {
        if let Some(identified) = admit_again(tx, call, &self.parsed.arguments)? {
            self.parsed.caller = Caller::Organization(identified);
        }
        Ok(self)
    }

    pub(super) const fn caller(&self) -> &Caller {
        &self.parsed.caller
    }

    pub(super) const fn input(&self) -> &Value {
        &self.input
    }

    pub(super) fn into_parts(self) -> (Caller, Option<IdempotencyKey>, Arguments, Value) {
        let Self {
            parsed:
                ParsedCall {
                    caller,
                    key,
                    arguments,
                },
            input,
        } = self;
        (caller, key, arguments, input)
    }
}
