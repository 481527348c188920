//! Fetches feeds in the background and on request, and applies their events.
//!
//! A lease on the feed's row keeps nodes apart. The file is fetched and read outside of any
//! transaction. One transaction then applies all changes of a feed, or none.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use delivery::{Targets, on_behalf_of};
use engine::access::Access;
use engine::app_state::WakeSignal;
use engine::background::{ClaimingWork, keep_claiming};
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use store::{Json, Transaction};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::apply::{self, FetchedNews};
use super::client::{CalendarClient, DEADLINE, FailureCode, FetchFailure, Fetched};
use super::feed::{self, CalendarFeed, FeedState};
use super::ics::{self, Unreadable};
use crate::records::{Property, RecordKind, typed};

/// Wakes the background work when a feed is due.
pub(super) const TO_FETCH: WakeSignal = WakeSignal("calendar feeds");

/// Maximum number of fetches under way in the background.
const AT_ONCE: usize = 8;
/// Time that a lease allows for reading and writing, on top of the deadline of the fetch.
const LEASE_MARGIN: Duration = Duration::from_secs(60);
/// Maximum pause between two looks. Feeds that another node created are found within it.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Pause after a failed query.
const RESPITE: Duration = Duration::from_secs(1);
/// The number of times that a request checks whether a fetch under way has ended, and the pause
/// between two checks.
const LOOKS: (u32, Duration) = (60, Duration::from_millis(250));

store::statements! {
    /// The feed that is due first.
    DUE = "select f.organization_id, f.id from calendar_feed f join organization o on o.id = f.organization_id
        where f.next_fetch_at <= ?1 and (f.leased_until is null or f.leased_until <= ?1) and o.erased_at is null
        order by f.next_fetch_at, f.id limit ?2";
    /// Claims a feed. If two nodes saw the same row, the second one waits for the first and gets no
    /// row.
    CLAIM = "update calendar_feed set leased_until = ?5 where organization_id = ?1 and id = ?2
        and (leased_until is null or leased_until <= ?3) and (?4 or next_fetch_at <= ?3) returning property_id, url, doc";
    /// The time at which the next feed is due.
    NEXT = "select next_fetch_at from calendar_feed where next_fetch_at > ?1 order by next_fetch_at limit 1";
    /// Feeds that are due after a moment, the latest first.
    LATE = "select organization_id, id from calendar_feed where next_fetch_at > ?1 order by next_fetch_at desc limit ?2";
    /// Makes some of them due at that moment.
    BRING_FORWARD = engine::some_late!("calendar_feed", "id", "next_fetch_at");
    /// Feeds whose lease lasts beyond a moment.
    LEASED_LONG = "select organization_id, id from calendar_feed where leased_until is not null and leased_until > ?1
        order by leased_until desc limit ?2";
    /// Ends such leases.
    END_LEASES = engine::some_late!("calendar_feed", "id", "id", "leased_until", "null");
    /// Ends every lease.
    RELEASE_ALL = "update calendar_feed set leased_until = null where leased_until is not null";
}

/// Number of due feeds that are read together. Other nodes may take some of them first.
const WINDOW: i64 = 8;

/// Fetches calendar feeds.
pub struct CalendarFetcher {
    client: CalendarClient,
    /// The pause between two fetches of a feed.
    interval: Duration,
    /// The service, once it runs.
    service: OnceLock<Weak<Service>>,
}

/// A claim on a feed. It allows one node to fetch it.
struct FeedClaim {
    organization: Uuid,
    feed: Uuid,
    property_id: Uuid,
    url: String,
    state: FeedState,
    /// The time zone of the flat; `None` if there is no such flat.
    zone: Option<TimeZone>,
    until: Timestamp,
}

impl CalendarFetcher {
    /// Makes a fetcher. `ca` is a PEM bundle of further certificate authorities.
    pub fn new(targets: Targets, ca: Option<&[u8]>, interval: Duration) -> Result<Self, String> {
        Ok(Self {
            client: CalendarClient::new(targets, ca)?,
            interval,
            service: OnceLock::new(),
        })
    }

    /// Fetches the feeds of a service until `stop` is cancelled.
    pub async fn run(service: Arc<Service>, stop: CancellationToken) {
        let Some(fetcher) = service.app_state.extension::<Self>() else {
            return stop.cancelled().await;
        };
        fetcher.serve(&service);
        if service.store.is_only_process()
            && let Err(error) = service.store.write(release_all).await
        {
            warn(&error);
        }
        let due = service.app_state.wake_signal(TO_FETCH);
        keep_claiming(&Background { service, due }, &stop).await;
    }

    /// Returns the pause between two fetches of a feed.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets the service that the feeds belong to.
    pub fn serve(&self, service: &Arc<Service>) {
        self.service.get_or_init(|| Arc::downgrade(service));
    }

    /// Fetches a feed now, and returns it afterwards. A fetch that is under way is waited for.
    pub(super) async fn fetch_now(&self, organization: Uuid, feed: Uuid) -> Result<CalendarFeed> {
        let service = self
            .service
            .get()
            .and_then(Weak::upgrade)
            .ok_or_else(|| Error::internal("the service does not fetch feeds yet"))?;
        for _ in 0..LOOKS.0 {
            let now = service.clock.now();
            let shared = service.clone();
            let claimed = service
                .store
                .write(move |tx| claim(tx, &shared, (organization, feed), now, true))
                .await?;
            if let Some(claim) = claimed {
                return self
                    .carry_out(&service, claim)
                    .await?
                    .ok_or_else(|| Error::not_found("Calendar feed"));
            }
            tokio::time::sleep(LOOKS.1).await;
        }
        Err(Error::conflict(Reason::rule(
            "feed_is_fetched",
            "The feed is being fetched; try again in a minute.",
        )))
    }

    /// Fetches a claimed feed and applies it. Returns the feed afterwards; `None` if it was deleted
    /// meanwhile.
    async fn carry_out(
        &self,
        service: &Arc<Service>,
        claim: FeedClaim,
    ) -> Result<Option<CalendarFeed>> {
        let fetch = self.client.fetch(&claim.url, claim.state.etag.as_deref());
        let fetched = on_behalf_of(claim.organization, fetch).await;
        let news = match (fetched, claim.zone.clone()) {
            (Ok(fetched), Some(zone)) => read(fetched, zone).await,
            (Ok(_), None) => Err(FetchFailure::new(
                FailureCode::NotApplied,
                "The property of the feed does not exist any more.",
            )),
            (Err(failure), _) => Err(failure),
        };
        let claim = Arc::new(claim);
        let applied = self.record(service, &claim, news).await;
        match applied {
            Err(error) if error.cause().is_none() => {
                let failure = FetchFailure::new(
                    FailureCode::NotApplied,
                    format!("The reservations could not be written: {error}"),
                );
                self.record(service, &claim, Err(failure)).await
            }
            other => other,
        }
    }

    /// Records the outcome of a fetch: its changes and the state of the feed, together.
    async fn record(
        &self,
        service: &Arc<Service>,
        claim: &Arc<FeedClaim>,
        news: Result<FetchedNews, FetchFailure>,
    ) -> Result<Option<CalendarFeed>> {
        let (shared, claim) = (service.clone(), claim.clone());
        let now = service.clock.now();
        let next = now.checked_add(self.interval).unwrap_or(Timestamp::MAX);
        let organization = claim.organization;
        let (feed, wake_signals) = service
            .store
            .write_within(LEASE_MARGIN, move |tx| {
                settle(tx, &shared, &claim, news, (now, next))
            })
            .await
            .inspect_err(|error: &Error| {
                tracing::warn!(
                    %organization,
                    cause = error.cause().unwrap_or_default(),
                    "could not apply a calendar feed; it is fetched again"
                );
            })?;
        service.app_state.wake(&wake_signals);
        Ok(feed)
    }
}

/// Reads a fetched file. Large files take a while, so a thread of their own reads them.
async fn read(fetched: Fetched, zone: TimeZone) -> Result<FetchedNews, FetchFailure> {
    let (text, etag) = match fetched {
        Fetched::Unchanged => return Ok(FetchedNews::Unchanged),
        Fetched::Calendar { text, etag } => (text, etag),
    };
    let content = tokio::task::spawn_blocking(move || ics::read(&text, &zone)).await;
    let unreadable = |code, message: &str| Err(FetchFailure::new(code, message));
    match content {
        Ok(Ok(content)) => Ok(FetchedNews::Calendar { content, etag }),
        Ok(Err(Unreadable::TooManyEvents)) => unreadable(
            FailureCode::TooLarge,
            "The calendar has more than 5000 events.",
        ),
        Ok(Err(Unreadable::NoCalendar)) | Err(_) => unreadable(
            FailureCode::NoCalendar,
            "The answer is not a whole calendar in the iCalendar format.",
        ),
    }
}

/// Claims a feed until its lease ends. With `is_asked` it need not be due. Returns `None` if
/// another fetch of it is under way, or if there is no such feed.
fn claim(
    tx: &mut Transaction<'_>,
    service: &Service,
    (organization, feed): (Uuid, Uuid),
    now: Timestamp,
    is_asked: bool,
) -> Result<Option<FeedClaim>> {
    let until = now
        .checked_add(DEADLINE + LEASE_MARGIN)
        .unwrap_or(Timestamp::MAX);
    let Some(row) = tx.row(&CLAIM, &values![organization, feed, now, is_asked, until])? else {
        return Ok(None);
    };
    let property_id: Uuid = row.get(0)?;
    let Json(state) = row.get(2)?;
    let url = row.get(1)?;
    let access = Access::platform();
    let mut context = Context::for_reading(service.system(tx, now), organization, &access)?;
    let property = typed::<Property>(&mut context, RecordKind::Property, property_id)?;
    let zone = property.map(|property| TimeZone::get(&property.timezone).unwrap_or(TimeZone::UTC));
    Ok(Some(FeedClaim {
        organization,
        feed,
        property_id,
        url,
        state,
        zone,
        until,
    }))
}

/// Claims the first feed that is due. Returns `None` if there is none.
fn claim_due(
    tx: &mut Transaction<'_>,
    service: &Service,
    now: Timestamp,
) -> Result<Option<FeedClaim>> {
    let due = tx.rows(&DUE, &values![now, WINDOW])?;
    for row in &due {
        if let Some(claim) = claim(tx, service, (row.get(0)?, row.get(1)?), now, false)? {
            return Ok(Some(claim));
        }
    }
    Ok(None)
}

/// Applies the outcome of a fetch while its claim holds. Returns the feed afterwards, and the wake
/// signals to send.
fn settle(
    tx: &mut Transaction<'_>,
    service: &Service,
    claim: &FeedClaim,
    news: Result<FetchedNews, FetchFailure>,
    (now, next): (Timestamp, Timestamp),
) -> Result<(Option<CalendarFeed>, BTreeSet<WakeSignal>)> {
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        claim.organization,
        &access,
        RaisedRevision::Stream,
    )?;
    let Some(mut state) = feed::claimed(&mut context, claim.feed, claim.until)? else {
        return Ok((None, BTreeSet::new()));
    };
    state.last_attempt_at = Some(Moment(now));
    match news {
        Ok(news) => {
            apply::apply(
                &mut context,
                claim.feed,
                claim.property_id,
                &mut state,
                news,
            )?;
            state.last_fetched_at = Some(Moment(now));
            state.last_error = None;
            state.consecutive_failures = 0;
        }
        Err(failure) => {
            state.last_error = Some(failure);
            state.consecutive_failures = state.consecutive_failures.saturating_add(1);
        }
    }
    feed::save(&mut context, claim.feed, &state, next)?;
    let feed = feed::find(&mut context, claim.feed)?;
    let shown = feed::shown(&mut context, feed)?;
    Ok((Some(shown), context.take_wake_signals()))
}

/// Brings forward the fetches that were put off or leased while the clock was ahead. Returns
/// whether there may be more.
pub(crate) fn bring_forward(
    tx: &mut Transaction<'_>,
    interval: Duration,
    now: Timestamp,
) -> Result<bool> {
    let after = |pause: Duration| now.checked_add(pause).unwrap_or(Timestamp::MAX);
    let has_more = sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, after(interval))?;
    let longest = after(DEADLINE + LEASE_MARGIN);
    Ok(sweeping::bring_forward(tx, &LEASED_LONG, &END_LEASES, longest)? || has_more)
}

fn release_all(tx: &mut Transaction<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, &[])?;
    Ok(())
}

/// The fetches of feeds that are due.
struct Background {
    service: Arc<Service>,
    due: Arc<Notify>,
}

impl ClaimingWork for Background {
    const ABNORMAL: &str = "fetching a calendar feed ended unexpectedly; it is fetched again";
    const CLAIMS_AT_END: bool = true;

    async fn begin_due(&self, pieces: &mut JoinSet<()>) -> Duration {
        let now = self.service.clock.now();
        while pieces.len() < AT_ONCE {
            let shared = self.service.clone();
            let claimed = self
                .service
                .store
                .write(move |tx| claim_due(tx, &shared, now))
                .await;
            match claimed {
                Ok(Some(claim)) => {
                    pieces.spawn(fetch(self.service.clone(), claim));
                }
                Ok(None) => break,
                Err(error) => {
                    warn(&error);
                    return RESPITE;
                }
            }
        }
        self.sleep_after(now).await
    }

    async fn woken(&self) {
        self.due.notified().await;
    }
}

impl Background {
    /// Returns the time until a feed becomes due that was not due at `now`.
    async fn sleep_after(&self, now: Timestamp) -> Duration {
        let next = self.service.store.read(move |tx| next_due(tx, now)).await;
        match next {
            Ok(Some(next)) => {
                let wait = self.service.clock.now().duration_until(next);
                Duration::try_from(wait)
                    .unwrap_or(Duration::ZERO)
                    .min(LONGEST_SLEEP)
            }
            Ok(None) => LONGEST_SLEEP,
            Err(error) => {
                warn(&error);
                RESPITE
            }
        }
    }
}

fn next_due(tx: &mut Transaction<'_>, now: Timestamp) -> Result<Option<Timestamp>> {
    Ok(tx
        .row(&NEXT, &values![now])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// Fetches a claimed feed. A failure is noted in the feed or in the log.
async fn fetch(service: Arc<Service>, claim: FeedClaim) {
    if let Some(fetcher) = service.app_state.extension::<CalendarFetcher>() {
        // A failure was logged. The feed is claimed again when the lease has ended.
        let _ = fetcher.carry_out(&service, claim).await;
    }
}

fn warn(error: &Error) {
    tracing::warn!(
        cause = error.cause().unwrap_or_default(),
        "could not look for calendar feeds that are due; retrying"
    );
}
