//! The state that all requests share: the database, the clock, the limits, the settings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use store::{Share, Transaction};

use super::incoming::Incoming;
use super::outbound::OutboundBuffer;
use super::{Callers, InFlight, Memory, OrganizationHints, RateLimits};
use crate::app::App;
use crate::app_state::AppState;
use crate::background::Background;
use crate::clock::Clock;
use crate::context::System;
use crate::error::{Error, Result};

/// Settings from command-line flags.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// The keys of the platform interface. If the list is empty, the interface refuses every
    /// request.
    pub platform_keys: Vec<String>,
    /// How long the recorded response of an idempotency key is stored.
    pub idempotency_retention: Duration,
    /// How long entries of the audit log are stored.
    pub audit_retention: Duration,
}

/// The running service, shared by all requests.
pub struct Service {
    /// The program that the service runs.
    pub app: &'static App,
    pub store: store::Store,
    pub clock: Clock,
    /// The application state for work in a transaction.
    pub app_state: Arc<AppState>,
    /// Settings from command-line flags.
    pub settings: ServiceSettings,
    /// Rate limits per credential.
    pub limits: RateLimits,
    /// Rate limits per guest's link.
    pub guest_limits: RateLimits,
    /// The caches of callers and responses.
    pub memory: Memory,
    /// Looks up callers by their tokens. On PostgreSQL, concurrent look-ups for several requests
    /// share a query.
    pub callers: Callers,
    /// The organization to which each recently used token belonged. A read waits for a turn of its
    /// organization's share before its token is authenticated. The stored organization tells in
    /// advance which share this is.
    pub organization_hints: OrganizationHints,
    /// Idempotency keys of requests in progress.
    pub in_flight: InFlight,
    /// The memory budget of request bodies.
    pub incoming: Arc<Incoming>,
    /// The buffer of response bodies that are not sent yet.
    pub outbound: Arc<OutboundBuffer>,
    /// The background tasks that have ended and are not restarted yet.
    pub background: Background,
}

impl Service {
    /// Combines a transaction with the application state and the time of the request.
    pub fn system<'c, 't>(&'c self, tx: &'c mut Transaction<'t>, now: Timestamp) -> System<'c, 't> {
        System {
            tx,
            now,
            app_state: &self.app_state,
            wake_signals: BTreeSet::new(),
        }
    }

    /// Waits until the outbound buffer has space for another response of a share. Returns 503 after
    /// the time limit.
    pub async fn wait_for_outbound_space(&self, share: Share) -> Result<()> {
        if self.outbound.wait_for_outbound_space(share).await {
            Ok(())
        } else {
            Err(Error::unavailable("the buffer of unsent answers is full"))
        }
    }
}
