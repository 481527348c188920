//! The running server: connections in with deadlines, background work beside, and an orderly end.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use delivery::{self, Dispatcher, Means, Names, Targets};
use engine::access;
use engine::audit;
use engine::background::Background;
use engine::clock::Clock;
use engine::error;
use engine::ids::Ids;
use engine::kit::{Kit, Parts};
use engine::pipeline::{self, Callers, Homes, InFlight, Memory, RateLimits, Service, Settings, Unsent};
use engine::processors;
pub use engine::server::Limits;
use engine::server::{Tls, accept};
use engine::summaries;
use engine::surface::{self, Metrics};
use engine::traces;
use engine::uploads::Uploads;
use files::Files;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app::app;
use crate::config::{DatabaseFlags, ServeFlags};
use crate::events::{self, Payloads, ReconnectDelay, Timekeeper};
use crate::guest::{self, UploadRetention};
use crate::manuals::StockPhotos;
use crate::oauth::{self, Documents, Registrations};
use crate::page::{Pages, PassSigner};
use crate::people::{self, Provider, SignIn};
use crate::platform::{self, ConsoleKeys};
use crate::records::{self, FilesUrl, Photos};
use crate::translations::Translator;

/// How long what is in flight may take once the end has begun.
const DRAIN_DEADLINE: Duration = Duration::from_secs(20);
/// How often tables that have grown are looked for.
const GROWN_EVERY: Duration = Duration::from_secs(2);
/// How often what time has ended is looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// A server that is listening.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it shows clients, where it speaks TLS.
    tls: Option<Arc<Tls>>,
    /// What its requests share.
    pub service: Arc<Service>,
    /// What its deliveries are made with.
    pub means: Arc<Means>,
    /// A server that is dropped stops, too.
    stop: DropGuard,
    accepting: JoinHandle<()>,
    background: Vec<JoinHandle<()>>,
    /// Who tells what all of that has gone through, and so ends after it.
    traces: Option<(DropGuard, JoinHandle<()>)>,
}

impl Server {
    /// Opens the database, binds the address, starts to answer.
    pub async fn start(flags: ServeFlags, clock: Clock) -> Result<Self, String> {
        Self::start_asking(flags, clock, Names::System).await
    }

    /// The same, asking somebody else for the addresses of webhook targets.
    pub async fn start_asking(flags: ServeFlags, clock: Clock, names: Names) -> Result<Self, String> {
        Self::start_within(flags, clock, names, Limits::default()).await
    }

    /// The same, with other limits to what clients may take up.
    pub async fn start_within(flags: ServeFlags, clock: Clock, names: Names, limits: Limits) -> Result<Self, String> {
        let limits = Limits { connections_per_address: NonZeroUsize::new(flags.connections_per_address), ..limits };
        let (platform_keys, translator_key) = (flags.platform_keys()?, flags.translator_key()?);
        let (stock_photos_key, redis_url) = (flags.stock_photos_key()?, flags.redis_url()?);
        let provider = flags.oidc()?.map(|oidc| Provider::new(&oidc.issuer, &oidc.client_id, oidc.client_secret)).transpose()?;
        let sign_in = SignIn { elsewhere: flags.sign_in_url.clone(), provider };
        let uploads = uploads(flags.uploads_url.as_deref(), &flags.database.url()?)?;
        let passes = flags.pass_certificate.as_deref().map(PassSigner::read).transpose()?;
        if passes.as_ref().is_some_and(|passes| !passes.is_valid(clock.now())) {
            tracing::warn!("--pass-certificate: not valid at the moment, so no pass is offered until it is");
        }
        let metrics = Metrics::install()?;
        let tls = flags.tls()?.map(|(certificate, key)| Tls::open(certificate, key, clock.now())).transpose();
        let tls = tls.map_err(|error| format!("TLS: {error}"))?.map(Arc::new);
        let options = store::Options { replicas: flags.replica_urls()?, ..flags.database.options()? };
        let store = open(&flags.database.url()?, options).await?;
        let listener = TcpListener::bind(flags.listen).await.map_err(|error| format!("cannot listen on {}: {error}", flags.listen))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let public_url = flags.public_url.clone().unwrap_or_else(|| bound(address, tls.as_deref()));
        let authority =
            flags.webhook_ca_file.as_ref().map(|path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display())));
        let stock_photos = flags.stock_photos_url.map(|url| StockPhotos::new(&url, stock_photos_key.as_deref())).transpose()?;
        let targets = Targets::new(flags.webhook_allow).asking(names);
        let parts = Parts::default().with(targets.clone()).with(ReconnectDelay(flags.device_reconnect_delay)).with(sign_in);
        let parts = flags.files_url.into_iter().fold(parts, |parts, url| parts.with(FilesUrl(url)));
        let parts = stock_photos.into_iter().fold(parts, Parts::with);
        let parts = parts.with(UploadRetention(flags.upload_retention)).with(ConsoleKeys(flags.console_keys));
        let authority = authority.transpose()?;
        let parts = parts.with(Documents::new(targets.clone(), authority.as_deref())?).with(Registrations::default());
        let parts = uploads.into_iter().fold(parts, |parts, files| parts.with(Uploads::new(files)));
        let parts = parts.with(Pages::seeing(flags.processors.map_or_else(processors::count, NonZeroUsize::get)));
        let parts = passes.into_iter().fold(parts, Parts::with);
        let (idempotency_retention, audit_retention) = (flags.idempotency_retention, flags.audit_retention);
        let settings = Settings { platform_keys, idempotency_retention, audit_retention };
        let rate_limits = RateLimits::new(flags.rate_limit_per_minute, flags.rate_limit_per_second);
        let rate_limits = redis_url.iter().try_fold(rate_limits, |limits, url| limits.shared_in(url))?;
        let service = Arc::new(Service {
            limits: rate_limits,
            guest_limits: RateLimits::new(flags.guest_rate_limit_per_minute, 0),
            memory: Memory::seeing(flags.processors.map_or_else(processors::count, NonZeroUsize::get)),
            unsent: Arc::new(Unsent::new(limits.unsent, limits.room)),
            ..assemble(store, clock, &public_url, settings, parts).await?
        });
        brought_up_to_date(&service).await?;
        let stop = CancellationToken::new().drop_guard();
        let means = Arc::new(Means {
            store: service.store.clone(),
            clock: service.clock.clone(),
            ids: service.kit.ids.clone(),
            targets,
            settings: delivery::Settings {
                retry_base: flags.webhook_retry_base,
                timeout: flags.webhook_timeout,
                retention: flags.delivery_retention,
            },
            due: service.kit.bell(events::DELIVERIES),
            deleted: service.kit.bell(events::DELETIONS),
        });
        let dispatcher = Dispatcher::new(means.clone(), Arc::new(Payloads(service.clone())), authority.as_deref())?;
        let translator = flags.translator_url.map(|url| Translator::new(service.clone(), &url, translator_key)).transpose()?;
        let timekeeper = Timekeeper::new(service.clone());
        let (swept, kept, keeper) = ((service.clone(), means.clone()), metrics.clone(), service.clone());
        let mut background = vec![
            begin(&service, "webhooks", stop.token(), move |stop| dispatcher.clone().run(stop)),
            begin(&service, "sweep", stop.token(), move |stop| sweep(swept.0.clone(), swept.1.clone(), stop)),
            begin(&service, "metrics", stop.token(), move |stop| kept.clone().keep(stop)),
            begin(&service, "uploads", stop.token(), move |stop| guest::keep_files(keeper.clone(), stop)),
            begin(&service, "timers", stop.token(), move |stop| timekeeper.clone().run(stop)),
        ];
        let traces = flags.otlp_endpoint.is_some().then(|| {
            let stop = CancellationToken::new().drop_guard();
            let task = begin(&service, "traces", stop.token(), traces::keep);
            (stop, task)
        });
        if !service.store.is_private() {
            let store = service.store.clone();
            background.push(begin(&service, "statistics", stop.token(), move |stop| keep_statistics(store.clone(), stop)));
        }
        if service.store.is_spread() {
            let means = means.clone();
            background.push(begin(&service, "queue", stop.token(), move |stop| {
                let means = means.clone();
                async move { delivery::keep_queue(&means, &stop).await }
            }));
        }
        if let Some(translator) = translator {
            background.push(begin(&service, "translations", stop.token(), move |stop| translator.clone().run(stop)));
        }
        if let Some(log) = service.limits.shared_log() {
            let attempt = log.next_attempt();
            background.push(begin(&service, "redis", stop.token(), move |stop| log.clone().keep(stop)));
            // So that the first requests already count for all nodes.
            attempt.await;
        }
        let interface = surface::router(&service, metrics, &flags.cors_origin, crate::app::routes(&service))?;
        let accepting = tokio::spawn(accept(listener, tls.clone(), interface, limits, service.unsent.clone(), stop.token().clone()));
        Ok(Self { address, tls, service, means, stop, accepting, background, traces })
    }

    /// Where it listens, as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        bound(self.address, self.tls.as_deref())
    }

    /// What it shows clients, where it speaks TLS.
    #[must_use]
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// Does away with what time has ended, as is done once a minute.
    pub async fn sweep_once(&self) {
        guest::sweep_files(&self.service).await;
        sweep_once(&self.service, &self.means).await;
    }

    /// Stops accepting, finishes what is in flight, and ends the background work.
    pub async fn stop(self) {
        drop(self.stop);
        let all = async {
            // A task that panicked has been logged; there is nothing left of it to wait for.
            let _ = self.accepting.await;
            for task in self.background {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(DRAIN_DEADLINE, all).await.is_err() {
            tracing::warn!("what was in flight did not finish in time");
        }
        if let Some((stop, task)) = self.traces {
            drop(stop);
            let _ = task.await;
        }
        let store = self.service.store.clone();
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || store.settle()).await {
            tracing::warn!(%error, "the write-ahead log stays beside the database");
        }
    }
}

fn bound(address: SocketAddr, tls: Option<&Tls>) -> String {
    format!("{}://{address}", if tls.is_some() { "https" } else { "http" })
}

/// Where files are kept that guests hand in: where it is said, else beside a SQLite database.
fn uploads(given: Option<&str>, database_url: &str) -> Result<Option<Files>, String> {
    if let Some(url) = given.filter(|url| !url.is_empty()) {
        return Files::open(url).map(Some).map_err(|error| format!("--uploads-url: {error}"));
    }
    let Some(path) = database_url.strip_prefix("sqlite:") else { return Ok(None) };
    // Nobody has asked for it, so that it cannot be had ends nothing.
    let files = Files::in_directory(Path::new(&format!("{path}.uploads")));
    Ok(files.inspect_err(|error| tracing::warn!(%error, "files of guests are not taken")).ok())
}

/// Opens the database, bringing it to this version first; where a pooler stands in the way of that, it may be refused.
async fn open(url: &str, options: store::Options) -> Result<store::Store, String> {
    let (url, options) = (url.to_owned(), store::Options { spread: Some(&crate::SPREAD), ..options });
    let open = move || store::Store::open_with(&url, &crate::migrations(), &options);
    let opened = tokio::task::spawn_blocking(open).await;
    let store = opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    records::fill(&store).await.map_err(|error| error.cause().unwrap_or_default().to_owned())?;
    Ok(store)
}

/// A service without a socket, for commands that work on the database themselves; its platform key is nobody else's.
pub async fn offline(database: &DatabaseFlags, clock: Clock) -> Result<Arc<Service>, String> {
    serviced(open(&database.url()?, database.options()?).await?, clock).await
}

/// The same, on a database that is of this version afterwards by this process's own doing.
pub async fn migrated(database: &DatabaseFlags, clock: Clock) -> Result<Arc<Service>, String> {
    let options = store::Options { is_to_migrate: true, ..database.options()? };
    serviced(open(&database.url()?, options).await?, clock).await
}

async fn serviced(store: store::Store, clock: Clock) -> Result<Arc<Service>, String> {
    let platform_keys = vec![access::token("", &Ids::default())];
    let settings = Settings { platform_keys, idempotency_retention: Duration::ZERO, audit_retention: Duration::MAX };
    let parts = Parts::default().with(Targets::new(Vec::new()));
    let service = assemble(store, clock, "", settings, parts).await.map(Arc::new)?;
    brought_up_to_date(&service).await?;
    Ok(service)
}

/// Brings what the database keeps in this program's words to its version, as migrations bring the schema.
async fn brought_up_to_date(service: &Arc<Service>) -> Result<(), String> {
    summaries::rebuild(service).await.map_err(|error| error.cause().unwrap_or_default().to_owned())
}

async fn assemble(store: store::Store, clock: Clock, public_url: &str, settings: Settings, parts: Parts) -> Result<Service, String> {
    let ids = Ids::default();
    let photos = Photos::open(&store, &ids).await.map_err(|error| error.cause().unwrap_or_default().to_owned())?;
    let app = app();
    Ok(Service {
        app,
        callers: Callers::of(app, &store, &clock),
        store,
        clock,
        kit: Arc::new(Kit::new(ids, public_url, &app.lists, parts.with(photos))),
        settings,
        limits: RateLimits::new(0, 0),
        guest_limits: RateLimits::new(0, 0),
        memory: Memory::seeing(processors::count()),
        homes: Homes::default(),
        in_flight: InFlight::default(),
        unsent: Arc::new(Unsent::new(u64::MAX, Duration::ZERO)),
        background: Background::default(),
    })
}

/// Begins work that goes on beside the requests until it is told to stop, and is begun again where it ends before.
fn begin<W: Future<Output = ()> + Send + 'static>(
    service: &Arc<Service>,
    name: &'static str,
    stop: &CancellationToken,
    work: impl Fn(CancellationToken) -> W + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (service, stop) = (service.clone(), stop.clone());
    tokio::spawn(async move { service.background.keep_up(name, stop.clone(), || work(stop.clone())).await })
}

/// Keeps what the database knows of its tables abreast of a sync.
async fn keep_statistics(store: store::Store, stop: CancellationToken) {
    let mut pause = GROWN_EVERY;
    while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        pause = if refresh_statistics(&store).await { GROWN_EVERY } else { SWEEP_EVERY.min(2 * pause) };
    }
}

/// Has the database look at tables that have grown; whether it has.
pub async fn refresh_statistics(store: &store::Store) -> bool {
    let refreshed = store.refresh_statistics().await;
    // It does so once a minute by itself.
    refreshed.inspect_err(|error| tracing::debug!(%error, "the database has not looked at its tables")).is_ok()
}

async fn sweep(service: Arc<Service>, means: Arc<Means>, stop: CancellationToken) {
    let mut minute = tokio::time::interval_at(Instant::now() + SWEEP_EVERY, SWEEP_EVERY);
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_minute = tokio::select! {
            () = stop.cancelled() => return,
            _ = minute.tick() => true,
            () = means.deleted.notified() => false,
        };
        let swept = async { if is_minute { sweep_once(&service, &means).await } else { sweep_deleted(&means).await } };
        // A batch that is under way ends by itself; the next one can wait for the next start.
        if stop.run_until_cancelled(swept).await.is_none() {
            return;
        }
    }
}

/// Does away with what time has ended: what is left of erased organizations, answered idempotency keys, the audit log, what tells
/// of changes by guests, previews, sign-in links, sessions, what apps were allowed, deliveries that are over, subscriptions whose
/// credential is no longer valid.
async fn sweep_once(service: &Arc<Service>, means: &Means) {
    let (now, remembered) = (service.clock.now(), service.settings.idempotency_retention);
    let clock = service.clock.clone();
    in_batches(service, "what is left of erased organizations stays for now", move |tx| platform::sweep(tx, app(), &clock)).await;
    in_batches(service, "expired idempotency records stay for now", move |tx| pipeline::sweep(tx, now, remembered)).await;
    let kept = service.settings.audit_retention;
    in_batches(service, "old entries of the audit log stay for now", move |tx| audit::sweep(tx, now, kept)).await;
    in_batches(service, "old changes by guests stay for now", move |tx| guest::sweep(tx, now)).await;
    in_batches(service, "expired previews stay for now, unseen", move |tx| guest::sweep_previews(tx, now)).await;
    in_batches(service, "expired sign-in links stay for now, of no use", move |tx| people::sweep_tickets(tx, now)).await;
    in_batches(service, "sessions that are over stay for now, of no use", move |tx| people::sweep_sessions(tx, now)).await;
    in_batches(service, "ended grants and tokens of apps stay for now", move |tx| oauth::sweep(tx, now)).await;
    if let Err(error) = service.kit.uses.settle(&service.store).await {
        tracing::warn!(cause = error.cause(), "when some API keys were last used is not known");
    }
    if let Err(error) = delivery::sweep_old(means).await {
        tracing::warn!(cause = error.cause(), "old webhook deliveries stay for now");
    }
    sweep_deleted(means).await;
    if let Err(error) = events::disable_lapsed(service).await {
        tracing::warn!(cause = error.cause(), "webhook subscriptions of lapsed credentials stay for now");
    }
}

/// Does away with what is left of webhook subscriptions that were deleted, as much as is done in one go.
async fn sweep_deleted(means: &Means) {
    if let Err(error) = delivery::sweep_deleted(means).await {
        tracing::warn!(cause = error.cause(), "deleted webhook subscriptions stay for now, unseen");
    }
}

/// Removes batch after batch, each in a transaction of its own, until there is no more.
async fn in_batches(
    service: &Service,
    otherwise: &str,
    batch: impl Fn(&mut store::Transaction<'_>) -> error::Result<bool> + Clone + Send + 'static,
) {
    loop {
        match service.store.write(batch.clone()).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(cause = error.cause(), "{otherwise}");
                return;
            }
        }
    }
}
