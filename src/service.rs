//! What every request shares: the database, the clock, the limits, the settings.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use store::{Share, Transaction};
use tokio::sync::Notify;

use crate::ambient::{Clock, Ids};
use crate::background::Background;
use crate::context::{System, Wakes};
use crate::error::{Error, Result};
use crate::guest::Setups;
use crate::manuals::StockPhotos;
use crate::pipeline::{Homes, InFlight, Memory, RateLimits};
use crate::platform::Photos;
use crate::surface::Unsent;
use crate::webhooks::Targets;

/// How the service behaves, as far as flags decide it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The platform interface's keys; without one it lets nobody in.
    pub platform_keys: Vec<String>,
    /// How long an answered idempotency key is remembered.
    pub idempotency_retention: Duration,
    /// The longest first pause between two attempts of a delivery.
    pub webhook_retry_base: Duration,
    /// How long a receiver may take to answer.
    pub webhook_timeout: Duration,
    /// How long a delivery that is over stays in the log.
    pub delivery_retention: Duration,
    /// How long a device has to be back before that is told.
    pub device_reconnect_delay: Duration,
    /// Where photos are whose key is no address, without a slash at its end.
    pub files_url: Option<String>,
}

/// The running service.
pub struct Service {
    /// The database.
    pub store: store::Store,
    /// The time.
    pub clock: Clock,
    /// Fresh ids and secrets.
    pub ids: Ids,
    /// The address guests and receivers see, without a slash at its end.
    pub public_url: String,
    /// Makes and judges the addresses of photos.
    pub photos: Photos,
    /// What flags decide.
    pub settings: Settings,
    /// Rate limits per credential.
    pub limits: RateLimits,
    /// Rate limits per stay.
    pub guest_limits: RateLimits,
    /// What is remembered from one request to the next.
    pub memory: Memory,
    /// Which organizations tokens belong to, for taking turns.
    pub homes: Homes,
    /// What is set up for the guests of flats.
    pub setups: Setups,
    /// Idempotency keys being worked on.
    pub in_flight: InFlight,
    /// Which webhook targets are let through.
    pub targets: Targets,
    /// Wakes the webhook dispatcher.
    pub dispatch: Arc<Notify>,
    /// Wakes the translator.
    pub translate: Arc<Notify>,
    /// Wakes the sweep before its minute is over.
    pub sweep: Arc<Notify>,
    /// Where stock photos are searched for.
    pub stock_photos: Option<StockPhotos>,
    /// What has been answered and not been sent yet.
    pub unsent: Arc<Unsent>,
    /// Which background work is down.
    pub background: Background,
}

impl Service {
    /// What work over a transaction has at hand.
    pub fn system<'c, 't>(&'c self, tx: &'c mut Transaction<'t>, now: Timestamp) -> System<'c, 't> {
        let Self { ids, public_url, photos, setups, .. } = self;
        System { tx, now, ids, public_url, photos, setups, wakes: Wakes::default() }
    }

    /// Waits until there is room for another answer that waits to be sent, of an organization; 503 where there is none in time.
    pub async fn room(&self, share: Share) -> Result<()> {
        if self.unsent.has_room(share).await { Ok(()) } else { Err(Error::unavailable("too much that was answered waits to be sent")) }
    }

    /// Wakes what a committed transaction left something to do.
    pub fn wake(&self, wakes: Wakes) {
        if wakes.deliveries {
            self.dispatch.notify_one();
        }
        if wakes.translations {
            self.translate.notify_one();
        }
        if wakes.deletions {
            self.sweep.notify_one();
        }
    }
}
