//! The worker that fetches feeds in the background and on request, and applies their events.
//!
//! Only the node with the lease on a feed's row fetches the feed. The worker fetches and parses the
//! calendar file outside of any transaction. Then one transaction applies all changes of the feed,
//! or none.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use delivery::{ClientTls, Targets, on_behalf_of};
use engine::access::Access;
use engine::app_state::WakeSignal;
use engine::background::{BackgroundTask, ClaimingWork, keep_claiming};
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::RaisedRevision;
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use store::{Json, Transaction};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::apply::{self, FetchOutcome};
use super::client::{CalendarClient, CalendarResponse, DEADLINE, FetchError, FetchErrorCode};
use super::feed::{self, CalendarFeed, FeedState};
use super::ics::{self, CalendarParseError};
use crate::records::{Property, RecordKind, record_as};

/// The signal that wakes the background work when a feed becomes due.
pub(super) const FEED_DUE: WakeSignal = WakeSignal("calendar feeds");

/// Maximum number of concurrent fetches in the background.
const MAX_FETCHES: usize = 8;
/// Time that a lease allows for parsing and writing, in addition to the deadline of the fetch.
const LEASE_MARGIN: Duration = Duration::from_secs(60);
/// Maximum pause between two queries for due feeds. A feed that another node created is found
/// within this time.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// Pause after a failed query for due feeds.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How `refreshCalendarFeed` waits if another node or task is fetching the feed: the number of
/// attempts to claim the feed, and the pause between two attempts.
const CLAIM_ATTEMPTS: (u32, Duration) = (60, Duration::from_millis(250));

store::statements! {
    /// The feeds that are due for a fetch, those with the earliest due time first.
    DUE = "select f.organization_id, f.id from calendar_feed f
        join organization o on o.id = f.organization_id
        where f.next_fetch_at <= ?1 and (f.leased_until is null or f.leased_until <= ?1)
        and o.erased_at is null
        order by f.next_fetch_at, f.id limit ?2";
    /// Claims a feed if it is due. If `?4` is true, also claims a feed that is not due. If two
    /// nodes claim the same feed, the second waits for the first and gets no row.
    CLAIM = "update calendar_feed set leased_until = ?5 where organization_id = ?1 and id = ?2
        and (leased_until is null or leased_until <= ?3) and (?4 or next_fetch_at <= ?3)
        returning property_id, url, doc";
    /// Selects the earliest due time after `?1`.
    NEXT = "select next_fetch_at from calendar_feed where next_fetch_at > ?1 order by next_fetch_at
        limit 1";
    /// Selects the feeds whose due time is after `?1`, the latest first.
    LATE = "select organization_id, id from calendar_feed where next_fetch_at > ?1
        order by next_fetch_at desc limit ?2";
    /// Sets the due time of a batch of feeds to `?3`, if their stored due time is later than `?3`.
    BRING_FORWARD = engine::some_late!("calendar_feed", "id", "next_fetch_at");
    /// Selects the feeds whose lease ends after `?1`, the latest end first.
    LEASED_LONG = "select organization_id, id from calendar_feed where leased_until is not null
        and leased_until > ?1
        order by leased_until desc limit ?2";
    /// Ends the leases of a batch of feeds, if these leases would end after `?3`.
    END_LEASES = engine::some_late!("calendar_feed", "id", "id", "leased_until", "null");
    /// Ends the leases of all feeds. The only process on a database uses this when it starts,
    /// because no fetch is then in progress.
    RELEASE_ALL = "update calendar_feed set leased_until = null where leased_until is not null";
}

/// Number of due feeds that one query reads. It is more than one, because other nodes may claim
/// some of the feeds first.
const DUE_BATCH: i64 = 8;

/// Fetches calendar feeds. An extension of the application state.
pub struct CalendarFetcher {
    client: CalendarClient,
    /// The pause between two fetches of a feed.
    interval: Duration,
    /// The service whose feeds are fetched; set when the service starts.
    service: OnceLock<Weak<Service>>,
}

/// A claim on a feed. Only the node with the claim fetches the feed.
struct FeedClaim {
    organization: Uuid,
    feed: Uuid,
    property_id: Uuid,
    url: String,
    state: FeedState,
    /// The time zone of the flat; `None` if the flat does not exist.
    zone: Option<TimeZone>,
    /// The time at which the claim's lease on the feed ends. After that, another node may claim the
    /// feed.
    until: Timestamp,
}

impl CalendarFetcher {
    pub fn new(targets: Targets, tls: &ClientTls, interval: Duration) -> Result<Self, String> {
        Ok(Self {
            client: CalendarClient::new(targets, tls)?,
            interval,
            service: OnceLock::new(),
        })
    }

    /// Fetches the due feeds of a service until `stop` is cancelled.
    pub fn run(service: Arc<Service>, stop: CancellationToken) -> BackgroundTask {
        async move {
            let Some(fetcher) = service.app_state.extension::<Self>() else {
                return stop.cancelled().await;
            };
            fetcher.set_service(&service);
            if service.store.is_only_process()
                && let Err(error) = service.store.write(release_all).await
            {
                log_query_failure(&error);
            }
            let due = service.app_state.wake_signal(FEED_DUE);
            keep_claiming(&Background { service, due }, &stop).await;
        }
        .boxed()
    }

    /// Returns the pause between two fetches of a feed.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets the service whose feeds are fetched. Only the first call has an effect.
    pub fn set_service(&self, service: &Arc<Service>) {
        self.service.get_or_init(|| Arc::downgrade(service));
    }

    /// Fetches a feed now, and returns its new state. If another fetch of the feed is in progress,
    /// waits for its end first. Fails with 409 if that fetch takes too long.
    pub(super) async fn fetch_now(&self, organization: Uuid, feed: Uuid) -> Result<CalendarFeed> {
        let service = self
            .service
            .get()
            .and_then(Weak::upgrade)
            .ok_or_else(|| Error::internal("the service does not fetch feeds yet"))?;
        for _ in 0..CLAIM_ATTEMPTS.0 {
            let now = service.clock.now();
            let service_ref = service.clone();
            let claim_result = service
                .store
                .write(move |tx| claim(tx, &service_ref, (organization, feed), now, true))
                .await?;
            if let Some(claim) = claim_result {
                return self
                    .carry_out(&service, claim)
                    .await?
                    .ok_or_else(|| Error::not_found("Calendar feed"));
            }
            tokio::time::sleep(CLAIM_ATTEMPTS.1).await;
        }
        Err(Error::conflict(Reason::rule(
            "feed_is_fetched",
            "The feed is being fetched; try again in a minute.",
        )))
    }

    /// Fetches a claimed feed and applies the events of the calendar. Returns the new state of the
    /// feed, or `None` if the feed was deleted or the lease has ended.
    async fn carry_out(
        &self,
        service: &Arc<Service>,
        claim: FeedClaim,
    ) -> Result<Option<CalendarFeed>> {
        let fetch = self.client.fetch(&claim.url, claim.state.etag.as_deref());
        let response = on_behalf_of(claim.organization, fetch).await;
        let outcome = match (response, claim.zone.clone()) {
            (Ok(response), Some(zone)) => parse(response, zone).await,
            (Ok(_), None) => Err(FetchError::new(
                FetchErrorCode::NotApplied,
                "The property of the feed does not exist any more.",
            )),
            (Err(failure), _) => Err(failure),
        };
        let claim = Arc::new(claim);
        let result = self.record(service, &claim, outcome).await;
        match result {
            Err(error) if error.cause().is_none() => {
                let failure = FetchError::new(
                    FetchErrorCode::NotApplied,
                    format!("The reservations could not be written: {error}"),
                );
                self.record(service, &claim, Err(failure)).await
            }
            other => other,
        }
    }

    /// Writes the reservations that a fetch changes, and the new state of the feed, in one
    /// transaction. Returns the feed; `None` if the claim had ended, so that nothing was written.
    async fn record(
        &self,
        service: &Arc<Service>,
        claim: &Arc<FeedClaim>,
        outcome: Result<FetchOutcome, FetchError>,
    ) -> Result<Option<CalendarFeed>> {
        let (service_ref, claim) = (service.clone(), claim.clone());
        let now = service.clock.now();
        let next = now.checked_add(self.interval).unwrap_or(Timestamp::MAX);
        let organization = claim.organization;
        let (feed, wake_signals) = service
            .store
            .write_within(LEASE_MARGIN, move |tx| {
                write_outcome(tx, &service_ref, &claim, outcome, (now, next))
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

/// Parses a fetched file on a blocking thread, because a large file would delay other tasks.
async fn parse(fetched: CalendarResponse, zone: TimeZone) -> Result<FetchOutcome, FetchError> {
    let (text, etag) = match fetched {
        CalendarResponse::Unchanged => return Ok(FetchOutcome::Unchanged),
        CalendarResponse::Calendar { text, etag } => (text, etag),
    };
    let content = tokio::task::spawn_blocking(move || ics::parse_calendar(&text, &zone)).await;
    let unreadable = |code, message: &str| Err(FetchError::new(code, message));
    match content {
        Ok(Ok(content)) => Ok(FetchOutcome::Calendar { content, etag }),
        Ok(Err(CalendarParseError::TooManyEvents)) => unreadable(
            FetchErrorCode::TooLarge,
            "The calendar has more than 5000 events.",
        ),
        Ok(Err(CalendarParseError::NoCalendar)) | Err(_) => unreadable(
            FetchErrorCode::NoCalendar,
            "The answer is not a whole calendar in the iCalendar format.",
        ),
    }
}

/// Claims a feed with a new lease. With `is_on_request`, the feed need not be due. Returns `None`
/// if another fetch of the feed is in progress, or if the feed does not exist.
fn claim(
    tx: &mut Transaction<'_>,
    service: &Service,
    (organization, feed): (Uuid, Uuid),
    now: Timestamp,
    is_on_request: bool,
) -> Result<Option<FeedClaim>> {
    let until = now
        .checked_add(DEADLINE + LEASE_MARGIN)
        .unwrap_or(Timestamp::MAX);
    let Some(row) = tx.row(
        &CLAIM,
        &values![organization, feed, now, is_on_request, until],
    )?
    else {
        return Ok(None);
    };
    let property_id: Uuid = row.get(0)?;
    let Json(state) = row.get(2)?;
    let url = row.get(1)?;
    let access = Access::platform();
    let mut context = Context::for_reading(service.system(tx, now), organization, &access)?;
    let property = record_as::<Property>(&mut context, RecordKind::Property, property_id)?;
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

/// Claims the first due feed that no other node has claimed. Returns `None` if there is no such
/// feed.
fn claim_due(
    tx: &mut Transaction<'_>,
    service: &Service,
    now: Timestamp,
) -> Result<Option<FeedClaim>> {
    let due = tx.rows(&DUE, &values![now, DUE_BATCH])?;
    for row in &due {
        if let Some(claim) = claim(tx, service, (row.get(0)?, row.get(1)?), now, false)? {
            return Ok(Some(claim));
        }
    }
    Ok(None)
}

/// Applies the outcome of a fetch at the time `now`, unless the lease of the feed has ended. `next`
/// is one fetch interval after `now`. Returns the new state of the feed, and the wake signals to
/// send after the commit.
fn write_outcome(
    tx: &mut Transaction<'_>,
    service: &Service,
    claim: &FeedClaim,
    outcome: Result<FetchOutcome, FetchError>,
    (now, next): (Timestamp, Timestamp),
) -> Result<(Option<CalendarFeed>, BTreeSet<WakeSignal>)> {
    let access = Access::platform();
    let mut context = Context::for_writing(
        service.system(tx, now),
        claim.organization,
        &access,
        RaisedRevision::Stream,
    )?;
    let Some(mut state) = feed::leased_state(&mut context, claim.feed, claim.until)? else {
        return Ok((None, BTreeSet::new()));
    };
    state.last_attempt_at = Some(Moment(now));
    match outcome {
        Ok(outcome) => {
            apply::apply_outcome(
                &mut context,
                claim.feed,
                claim.property_id,
                &mut state,
                outcome,
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
    let view = feed::view_of_feed(&mut context, feed)?;
    Ok((Some(view), context.take_wake_signals()))
}

/// Repairs feeds that a node wrote while its clock was ahead. Brings forward fetches that are
/// planned too far in the future, and ends leases that end too far in the future. Returns whether
/// more feeds may need this repair.
pub fn repair_future_feeds(
    tx: &mut Transaction<'_>,
    interval: Duration,
    now: Timestamp,
) -> Result<bool> {
    let after = |pause: Duration| now.checked_add(pause).unwrap_or(Timestamp::MAX);
    let has_more = sweeping::bring_forward(tx, &LATE, &BRING_FORWARD, after(interval))?;
    let latest_end = after(DEADLINE + LEASE_MARGIN);
    Ok(sweeping::bring_forward(tx, &LEASED_LONG, &END_LEASES, latest_end)? || has_more)
}

fn release_all(tx: &mut Transaction<'_>) -> Result<()> {
    tx.execute(&RELEASE_ALL, &[])?;
    Ok(())
}

/// The background work that fetches due feeds.
struct Background {
    service: Arc<Service>,
    due: Arc<Notify>,
}

impl ClaimingWork for Background {
    const PANIC_MESSAGE: &str = "fetching a calendar feed ended unexpectedly; it is fetched again";
    const CLAIMS_AT_END: bool = true;

    async fn begin_due(&self, fetches: &mut JoinSet<()>) -> Duration {
        let now = self.service.clock.now();
        while fetches.len() < MAX_FETCHES {
            let service_ref = self.service.clone();
            let claim_result = self
                .service
                .store
                .write(move |tx| claim_due(tx, &service_ref, now))
                .await;
            match claim_result {
                Ok(Some(claim)) => {
                    fetches.spawn(fetch(self.service.clone(), claim));
                }
                Ok(None) => break,
                Err(error) => {
                    log_query_failure(&error);
                    return RETRY_PAUSE;
                }
            }
        }
        self.sleep_after(now).await
    }

    async fn until_due(&self) {
        self.due.notified().await;
    }
}

impl Background {
    /// Returns the time until the next feed becomes due, at most [`MAX_SLEEP`]. Ignores feeds that
    /// were already due at `now`, because `begin_due` has just tried to claim them.
    async fn sleep_after(&self, now: Timestamp) -> Duration {
        let next = self.service.store.read(move |tx| next_due(tx, now)).await;
        match next {
            Ok(Some(next)) => {
                let wait = self.service.clock.now().duration_until(next);
                Duration::try_from(wait)
                    .unwrap_or(Duration::ZERO)
                    .min(MAX_SLEEP)
            }
            Ok(None) => MAX_SLEEP,
            Err(error) => {
                log_query_failure(&error);
                RETRY_PAUSE
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

/// Fetches a claimed feed in the background.
async fn fetch(service: Arc<Service>, claim: FeedClaim) {
    if let Some(fetcher) = service.app_state.extension::<CalendarFetcher>() {
        // On an error, `carry_out` has stored the error in the feed's state or logged it. If the
        // state was not stored, the feed becomes due again when its lease ends.
        let _ = fetcher.carry_out(&service, claim).await;
    }
}

fn log_query_failure(error: &Error) {
    tracing::warn!(
        cause = error.cause().unwrap_or_default(),
        "could not look for calendar feeds that are due; retrying"
    );
}
