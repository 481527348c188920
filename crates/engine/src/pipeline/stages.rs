//! What a request passes between knowing who asks and running it.
//!
//! authenticate → [`Call::admit`] (rate limit → two-factor → permission) → [`Admitted::hear`] (permission by the body → shape of the
//! `Idempotency-Key` → arguments) → [`Heard::validate`] → run.
//!
//! A stage takes what the one before it gives, and nothing else makes that. So the order is the same wherever a stage runs,
//! between transactions or in one, and none can be left out.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use store::Transaction;

use super::idempotency::Key;
use super::request::Head;
use super::{Caller, Noted, Quota, Requester, Service, admit_again, validate};
use crate::access::Access;
use crate::error::{Kind, Result};
use crate::operation::{Arguments, Effect, Needs, Operation, Surface};

/// A call of an operation: what does not change on its way.
pub(super) struct Call {
    pub(super) service: Arc<Service>,
    pub(super) operation: &'static Operation,
    pub(super) head: Head,
    /// When it began.
    pub(super) now: Timestamp,
}

/// A caller who may ask for the operation. Nothing of what the request says has been looked at.
pub(super) struct Admitted(Caller);

/// What an admitted caller says.
pub(super) struct Heard {
    caller: Caller,
    key: Option<Key>,
    arguments: Arguments,
}

/// What an admitted caller says, as the operation's input.
pub(super) struct Validated {
    heard: Heard,
    input: Value,
}

impl Call {
    /// Rate limit, two-factor, permission. The limit is the one that nodes have agreed on, or else this process's own.
    pub(super) fn admit(&self, caller: Caller, agreed: Option<Quota>, noted: &mut Noted) -> Result<Admitted> {
        let Self { service, operation, now, .. } = self;
        noted.requester = Some(Requester { organization: caller.organization(), credential: caller.access().credential });
        if let Caller::Tenant(identified) = &caller {
            service.kit.uses.note(identified.owner(), *now);
        }
        let elapsed = service.clock.elapsed();
        noted.quota = match (operation.surface, &caller) {
            (Surface::Public, Caller::Tenant(identified)) => agreed.or_else(|| service.limits.take(identified.owner(), elapsed, *now)),
            (Surface::Guest, Caller::Tenant(identified)) => service.guest_limits.take(identified.owner(), elapsed, *now),
            _ => None,
        };
        if noted.quota.as_ref().is_some_and(|quota| quota.retry_after.is_some()) {
            return Err(Kind::RateLimit.into());
        }
        self.permit(caller.access())?;
        Ok(Admitted(caller))
    }

    /// Two-factor, then permission. Nothing is written for a preview, whichever operation it is.
    pub(super) fn permit(&self, access: &Access) -> Result<()> {
        access.require_two_factor()?;
        if self.operation.effect == Effect::Write {
            access.require_more_than_a_preview()?;
        }
        self.operation.needs.check(access)
    }

    /// What the body asks of the caller.
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

    /// What the body asks of the caller, then the key of a write, then whatever was wrong with reading the arguments.
    pub(super) fn hear(self, call: &Call, arguments: Result<Arguments>) -> Result<Heard> {
        let Self(caller) = self;
        if let Ok(arguments) = &arguments {
            call.permit_body(caller.access(), arguments)?;
        }
        let key = match &caller {
            Caller::Tenant(identified) if call.operation.effect == Effect::Write => {
                Key::of(call.operation, &call.head, identified.owner())?
            }
            _ => None,
        };
        Ok(Heard { caller, key, arguments: arguments? })
    }
}

impl Heard {
    /// The arguments as the operation's input.
    pub(super) fn validate(self, call: &Call) -> Result<Validated> {
        let shape = call.operation.shape();
        let input = shape.validate(call.operation, &self.arguments, self.caller.country(), call.now)?;
        Ok(self.with_input(call, input))
    }

    /// The same, with the fields that only the network can judge: for where no transaction is open.
    pub(super) async fn validate_with_network(self, call: &Call) -> Result<Validated> {
        let input = validate::validate(&call.service, call.operation, &self.arguments, self.caller.country(), call.now).await?;
        Ok(self.with_input(call, input))
    }

    fn with_input(mut self, call: &Call, mut input: Value) -> Validated {
        self.arguments.keep_numbers(&mut input);
        self.key = self.key.map(|key| key.for_request(call.operation, &self.arguments));
        Validated { heard: self, input }
    }
}

impl Validated {
    /// The same of whoever the caller is in the state that is read: answers are kept under the revisions of that.
    pub(super) fn renewed(mut self, tx: &mut Transaction<'_>, call: &Call) -> Result<Self> {
        if let Some(identified) = admit_again(tx, call, &self.heard.arguments)? {
            self.heard.caller = Caller::Tenant(identified);
        }
        Ok(self)
    }

    pub(super) const fn caller(&self) -> &Caller {
        &self.heard.caller
    }

    pub(super) const fn input(&self) -> &Value {
        &self.input
    }

    pub(super) fn into_parts(self) -> (Caller, Option<Key>, Arguments, Value) {
        let Self { heard: Heard { caller, key, arguments }, input } = self;
        (caller, key, arguments, input)
    }
}
