//! What every request shares: the database, the clock, the limits, the settings.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use store::{Share, Transaction};

use super::unsent::Unsent;
use super::{Callers, Homes, InFlight, Memory, RateLimits};
use crate::app::App;
use crate::background::Background;
use crate::clock::Clock;
use crate::context::System;
use crate::error::{Error, Result};
use crate::kit::Kit;

/// How the service behaves, as far as flags decide it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The platform interface's keys; without one it lets nobody in.
    pub platform_keys: Vec<String>,
    /// How long an answered idempotency key is remembered.
    pub idempotency_retention: Duration,
    /// How long the audit log is kept.
    pub audit_retention: Duration,
}

/// The running service.
pub struct Service {
    /// The program.
    pub app: &'static App,
    /// The database.
    pub store: store::Store,
    /// The time.
    pub clock: Clock,
    /// What work over a transaction has at hand.
    pub kit: Arc<Kit>,
    /// What flags decide.
    pub settings: Settings,
    /// Rate limits per credential.
    pub limits: RateLimits,
    /// Rate limits per guest's link.
    pub guest_limits: RateLimits,
    /// What is remembered from one request to the next.
    pub memory: Memory,
    /// Who callers are, asked for together where that is a question to a server.
    pub callers: Callers,
    /// Which organizations tokens belong to, for taking turns.
    pub homes: Homes,
    /// Idempotency keys being worked on.
    pub in_flight: InFlight,
    /// What has been answered and not been sent yet.
    pub unsent: Arc<Unsent>,
    /// Which background work is down.
    pub background: Background,
}

impl Service {
    /// What work over a transaction has at hand.
    pub fn system<'c, 't>(&'c self, tx: &'c mut Transaction<'t>, now: Timestamp) -> System<'c, 't> {
        System { tx, now, kit: &self.kit, rung: BTreeSet::new() }
    }

    /// Waits until there is room for another answer that waits to be sent, of an organization; 503 where there is none in time.
    pub async fn room(&self, share: Share) -> Result<()> {
        if self.unsent.has_room(share).await { Ok(()) } else { Err(Error::unavailable("too much that was answered waits to be sent")) }
    }
}
