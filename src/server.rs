//! The running server: starts all parts of the service, runs the background tasks, and shuts the
//! parts down in a fixed order.
//!
//! [`Server::start`] puts the parts together. [`offline_service`] makes a service that opens no
//! port, for commands. `listening` opens the certificate and the listening socket.

mod listening;
mod sweeps;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use ::access::oauth::{ClientDocumentFetcher, Registrations};
use ::access::people::{IdentityProvider, SignInSettings};
use features::calendars::CalendarFetcher;
use features::devices::DeviceConnector;
use features::events::{self, Payloads, ReconnectDelay};
use features::guest::{self, ChargeNoticeWorker, UploadLimits, UploadRetention};
use features::manuals::StockPhotos;
use features::platform::{BackupStatusFile, ConsoleKeys};
use features::records::{FilesUrl, PhotoSigner};
use features::translations::Translator;
use page::{Apns, PageCache, PassPushes, PassSigner};
use vestibule_console::{AnonymousLimits, PageLimits};

use delivery::{self, ClientTls, Dependencies, Dispatcher, Names, Targets};
use engine::access;
use engine::app_state::{AppState, Extensions};
use engine::background::{Background, BackgroundTask};
use engine::clock::Clock;
use engine::ids::Ids;
use engine::pipeline::{
    Callers, InFlight, Incoming, Memory, OrganizationHints, OutboundBuffer, RateLimits, Service,
    ServiceSettings,
};
use engine::processors;
use engine::summaries;
use engine::traces;
use engine::uploads::Uploads;
use files::Files;
use futures_util::FutureExt as _;
use store::Location;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
pub use vestibule_http::server::Limits;
use vestibule_http::server::{Tls, TrustedProxies, accept, raise_open_files};
use vestibule_http::surface::{self, Metrics};

pub use self::listening::CertificateSource;
use self::listening::{listen, listening_url, open_certificate};
use self::sweeps::SWEEP_EVERY;
use crate::acme::CertificateRenewer;
use crate::app::app;
use crate::config::{DatabaseFlags, ServeFlags};

/// Time limit for the requests in progress and the background tasks to finish at shutdown.
const DRAIN_DEADLINE: Duration = Duration::from_secs(20);
/// Pause between two updates of PostgreSQL's statistics about tables that have grown.
const GROWN_EVERY: Duration = Duration::from_secs(2);

/// A running server. Dropping it stops the server.
pub struct Server {
    /// The address that the server listens on.
    pub address: SocketAddr,
    /// The TLS configuration, if the server uses TLS.
    tls: Option<Arc<Tls>>,
    /// The task that renews the certificate, if a certificate authority issues it.
    renewer: Option<Arc<CertificateRenewer>>,
    /// The service, whose state all requests use.
    pub service: Arc<Service>,
    /// The resources that all webhook deliveries use.
    pub dependencies: Arc<Dependencies>,
    /// Stops the server when this guard is dropped.
    stop: DropGuard,
    /// The task that accepts connections.
    accepting: JoinHandle<()>,
    background: Vec<JoinHandle<()>>,
    /// The task that exports traces. It stops last, because the other tasks produce traces until
    /// they end.
    traces: Option<(DropGuard, JoinHandle<()>)>,
    /// The task that notifies phones of changed passes, if Apple's push service is configured.
    pushes: Option<PassPushes>,
}

impl Server {
    /// Opens the database, binds the address and starts to accept connections.
    pub async fn start(flags: ServeFlags, clock: Clock) -> Result<Self, String> {
        Self::start_with_resolver(flags, clock, Names::System).await
    }

    /// Does the same as [`Server::start`], with the given resolver for the names of webhook
    /// targets.
    pub async fn start_with_resolver(
        flags: ServeFlags,
        clock: Clock,
        names: Names,
    ) -> Result<Self, String> {
        let limits = Limits::default().fitted(raise_open_files());
        Self::start_with_limits(flags, clock, names, limits).await
    }

    /// Does the same as [`Server::start_with_resolver`], with the given limits for clients.
    #[expect(
        clippy::too_many_lines,
        reason = "the parts of the server are put together in one place"
    )]
    pub async fn start_with_limits(
        flags: ServeFlags,
        clock: Clock,
        names: Names,
        limits: Limits,
    ) -> Result<Self, String> {
        let limits = Limits {
            connections_per_address: NonZeroUsize::new(flags.connections_per_address),
            trusted_proxies: TrustedProxies::new(&flags.trusted_proxy),
            incoming_bytes: flags.request_memory.unwrap_or(limits.incoming_bytes),
            idle: flags.keep_alive.unwrap_or(limits.idle),
            ..limits
        };
        let location = Location::of(&flags.database.url()?).map_err(|error| error.to_string())?;
        let (platform_keys, translator_key) = (flags.platform_keys()?, flags.translator_key()?);
        let (stock_photos_key, redis_url) = (flags.stock_photos_key()?, flags.redis_url()?);
        let device_connector_key = flags.device_connector_key()?;
        let device_connector = flags
            .device_connector_url
            .clone()
            .map(|url| DeviceConnector::new(url, device_connector_key.as_deref()))
            .transpose()?;
        let provider = flags
            .oidc()?
            .map(|oidc| IdentityProvider::new(&oidc.issuer, &oidc.client_id, oidc.client_secret))
            .transpose()?;
        let sign_in = SignInSettings {
            external_url: flags.sign_in_url.clone(),
            provider,
        };
        let (pages_per_minute, pages_per_second) = flags.console_rate_limits();
        let guest_limits = RateLimits::new(flags.guest_rate_limit(), 0);
        let (uploads, uploads_at) = open_upload_storage(flags.uploads_url.as_deref(), &location)?;
        let passes = flags
            .pass_certificate
            .as_deref()
            .map(PassSigner::read)
            .transpose()?;
        if passes
            .as_ref()
            .is_some_and(|passes| !passes.is_valid(clock.now()))
        {
            tracing::warn!(
                "--pass-certificate: the certificate is not valid now; no pass is offered until it \
                    is"
            );
        }
        let metrics = Metrics::install()?;
        let (tls, certificates) = open_certificate(&flags, &clock)?;
        let options = store::Options {
            replicas: flags.replica_urls()?,
            ..flags.database.options()?
        };
        let store = open(&flags.database.url()?, options).await?;
        tracing::info!(
            database = %location,
            is_new = store.is_new(),
            uploads = uploads_at,
            "the database is open"
        );
        let listener = listen(&flags).await?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let public_url = flags
            .public_address()
            .unwrap_or_else(|| listening_url(address, tls.as_deref()));
        let authority = flags.webhook_ca_file.as_ref().map(|path| {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        });
        let stock_photos = flags
            .stock_photos_url
            .map(|url| StockPhotos::new(&url, stock_photos_key.as_deref()))
            .transpose()?;
        let targets = Targets::new(flags.webhook_allow).with_names(names);
        let parts = Extensions::default()
            .with(targets.clone())
            .with(ReconnectDelay(flags.device_reconnect_delay))
            .with(guest::CartAbandonmentDelay(flags.cart_abandonment_delay))
            .with(sign_in);
        let parts = flags
            .files_url
            .into_iter()
            .fold(parts, |parts, url| parts.with(FilesUrl(url)));
        let parts = stock_photos.into_iter().fold(parts, Extensions::with);
        let parts = device_connector.into_iter().fold(parts, Extensions::with);
        let parts = parts
            .with(UploadRetention(flags.upload_retention))
            .with(UploadLimits {
                per_stay: flags.uploads_per_stay,
                per_organization: flags.uploads_per_organization,
            })
            .with(ConsoleKeys(flags.console_keys))
            .with(PageLimits::new(pages_per_minute, pages_per_second));
        let authority = authority.transpose()?;
        let client_tls = ClientTls::new(authority.as_deref())?;
        let apns = match (flags.apns_url, &passes) {
            (Some(url), Some(signer)) => Some(Apns::new(url, signer, authority.as_deref())?),
            (Some(_), None) => return Err("--apns-url needs --pass-certificate".into()),
            (None, _) => None,
        };
        let parts = parts
            .with(CalendarFetcher::new(
                targets.clone(),
                &client_tls,
                flags.calendar_interval,
            )?)
            .with(ClientDocumentFetcher::new(targets.clone(), &client_tls)?)
            .with(Registrations::default())
            .with(AnonymousLimits::default());
        let parts = uploads.into_iter().fold(parts, |parts, files| {
            parts.with(Uploads::new(files, flags.uploads_reserve))
        });
        let parts = parts.with(PageCache::with_processors(
            flags
                .processors
                .map_or_else(processors::count, NonZeroUsize::get),
        ));
        let parts = BackupStatusFile::for_database(&flags.database.url()?)
            .into_iter()
            .fold(parts, Extensions::with);
        let parts = passes.into_iter().fold(parts, Extensions::with);
        let (idempotency_retention, audit_retention) =
            (flags.idempotency_retention, flags.audit_retention);
        let settings = ServiceSettings {
            platform_keys,
            idempotency_retention,
            audit_retention,
        };
        let rate_limits = RateLimits::new(flags.rate_limit_per_minute, flags.rate_limit_per_second);
        let rate_limits = redis_url
            .iter()
            .try_fold(rate_limits, |limits, url| limits.shared_in(url))?;
        let service = Arc::new(Service {
            limits: rate_limits,
            guest_limits,
            memory: Memory::for_processors(
                flags
                    .processors
                    .map_or_else(processors::count, NonZeroUsize::get),
            ),
            incoming: Arc::new(Incoming::new(limits.incoming_bytes, limits.space_timeout)),
            outbound: Arc::new(OutboundBuffer::new(
                limits.outbound_bytes,
                limits.space_timeout,
            )),
            ..assemble(store, clock, &public_url, settings, parts).await?
        });
        rebuild_summaries(&service).await?;
        let stop = CancellationToken::new().drop_guard();
        let dependencies = Arc::new(Dependencies {
            store: service.store.clone(),
            clock: service.clock.clone(),
            ids: service.app_state.ids.clone(),
            targets,
            settings: delivery::Settings {
                retry_base: flags.webhook_retry_base,
                timeout: flags.webhook_timeout,
                retention: flags.delivery_retention,
            },
            due: service.app_state.wake_signal(events::DELIVERIES),
            deleted: service.app_state.wake_signal(events::DELETIONS),
        });
        let dispatcher = Dispatcher::new(
            dependencies.clone(),
            Arc::new(Payloads(service.clone())),
            &client_tls,
        );
        let translator = flags
            .translator_url
            .map(|url| Translator::new(service.clone(), &url, translator_key))
            .transpose()?;
        let (swept, kept) = (dependencies.clone(), metrics.clone());
        if let Some(fetcher) = service.app_state.extension::<CalendarFetcher>() {
            fetcher.set_service(&service);
        }
        let mut background = vec![
            spawn_background_task(&service, "webhooks", stop.token(), move |_, stop| {
                dispatcher.clone().run(stop)
            }),
            spawn_background_task(&service, "sweep", stop.token(), move |service, stop| {
                sweeps::run(service, swept.clone(), stop).boxed()
            }),
            spawn_background_task(&service, "metrics", stop.token(), move |_, stop| {
                kept.clone().aggregate(stop)
            }),
            spawn_background_task(&service, "uploads", stop.token(), guest::keep_files),
            spawn_background_task(&service, "carts", stop.token(), guest::tell_of_carts),
            spawn_background_task(&service, "calendars", stop.token(), CalendarFetcher::run),
            spawn_background_task(&service, "timers", stop.token(), events::fire_timers),
            spawn_background_task(
                &service,
                "charges",
                stop.token(),
                guest::send_charge_notices,
            ),
        ];
        let pushes = apns.map(|apns| PassPushes::new(service.clone(), apns));
        if let Some(pushes) = pushes.clone() {
            background.push(spawn_background_task(
                &service,
                "passes",
                stop.token(),
                move |_, stop| pushes.clone().run(stop),
            ));
        }
        if let Some(keeper) = certificates.clone() {
            background.push(spawn_background_task(
                &service,
                "certificate",
                stop.token(),
                move |_, stop| keeper.clone().run(stop).boxed(),
            ));
        }
        let traces = flags.otlp_endpoint.is_some().then(|| {
            let stop = CancellationToken::new().drop_guard();
            let task = spawn_background_task(&service, "traces", stop.token(), |_, stop| {
                traces::keep(stop)
            });
            (stop, task)
        });
        if !service.store.is_only_process() {
            let store = service.store.clone();
            background.push(spawn_background_task(
                &service,
                "statistics",
                stop.token(),
                move |_, stop| keep_statistics(store.clone(), stop).boxed(),
            ));
        }
        background.push({
            let dependencies = dependencies.clone();
            spawn_background_task(&service, "queue", stop.token(), move |_, stop| {
                delivery::keep_queue(dependencies.clone(), stop)
            })
        });
        if let Some(translator) = translator {
            background.push(spawn_background_task(
                &service,
                "translations",
                stop.token(),
                move |_, stop| translator.clone().run(stop),
            ));
        }
        if let Some(log) = service.limits.shared_log() {
            let attempt = log.next_attempt();
            background.push(spawn_background_task(
                &service,
                "redis",
                stop.token(),
                move |_, stop| log.clone().keep(stop),
            ));
            // Waits for the first attempt to connect to Redis. If it succeeds, the rate limits that
            // all nodes share count the first requests too.
            attempt.await;
        }
        let interface = surface::router(
            &service,
            metrics,
            &flags.cors_origin,
            crate::app::routes(&service, &flags.cors_origin),
        )?;
        let accepting = tokio::spawn(accept(
            listener,
            tls.clone(),
            interface,
            limits,
            service.outbound.clone(),
            stop.token().clone(),
        ));
        Ok(Self {
            address,
            tls,
            renewer: certificates,
            service,
            dependencies,
            stop,
            accepting,
            background,
            traces,
            pushes,
        })
    }

    /// Returns the URL of the address that the server listens on.
    #[must_use]
    pub fn url(&self) -> String {
        listening_url(self.address, self.tls.as_deref())
    }

    /// Returns the source of the certificate, if the server uses TLS.
    #[must_use]
    pub fn certificate_source(&self) -> Option<CertificateSource> {
        let authority = self.renewer.clone().map(CertificateSource::Authority);
        authority.or_else(|| self.tls.clone().map(CertificateSource::Files))
    }

    /// Obtains a certificate from the authority if the current certificate is due for renewal. The
    /// background task does the same. Returns whether this call obtained a certificate.
    pub async fn renew_certificate(&self) -> Result<bool, String> {
        match &self.renewer {
            Some(keeper) => keeper.check().await,
            None => Ok(false),
        }
    }

    /// Removes expired data, as a background task does once a minute.
    pub async fn sweep_once(&self) {
        guest::sweep_files(&self.service).await;
        guest::sweep_carts(&self.service).await;
        sweeps::run_once(&self.service, &self.dependencies).await;
    }

    /// Fires the events of guests' charges that are due, as a background task does. Returns the
    /// number of these charges.
    pub async fn fire_due_charges(&self) -> usize {
        ChargeNoticeWorker::new(self.service.clone())
            .run_once()
            .await
    }

    /// Notifies phones of changed passes, as the background task does.
    pub async fn push_passes(&self) {
        if let Some(pushes) = &self.pushes {
            pushes.step().await;
        }
    }

    /// Stops accepting connections, finishes the requests in progress, and stops the background
    /// tasks.
    pub async fn stop(self) {
        drop(self.stop);
        let all = async {
            // The join of a task returns an error only if the task has panicked. The panic is
            // already in the log.
            let _ = self.accepting.await;
            for task in self.background {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(DRAIN_DEADLINE, all).await.is_err() {
            tracing::warn!(
                "requests or background jobs did not finish before the deadline; stopping without \
                    them"
            );
        }
        if let Some((stop, task)) = self.traces {
            drop(stop);
            let _ = task.await;
        }
        let store = self.service.store.clone();
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || store.checkpoint()).await {
            tracing::warn!(
                %error,
                "could not move the write-ahead log into the database; the next start does it"
            );
        }
    }
}

/// Opens the storage for files of guests: the storage at `url` or, without a URL, the directory
/// beside a SQLite database. For PostgreSQL without a URL, returns no storage. Also returns the
/// location of the storage, for the log.
fn open_upload_storage(
    url: Option<&str>,
    location: &Location,
) -> Result<(Option<Files>, String), String> {
    if let Some(url) = url.filter(|url| !url.is_empty()) {
        let files = Files::open(url).map_err(|error| format!("--uploads-url: {error}"))?;
        return Ok((Some(files), url.to_owned()));
    }
    let Some(path) = location.with_suffix(".uploads") else {
        return Ok((None, "none, set --uploads-url".to_owned()));
    };
    // The directory beside the SQLite database is only the default, and no flag names it. So if it
    // cannot be opened, the server starts without storage for files of guests.
    let files = Files::in_directory(&path).inspect_err(|error| {
        tracing::warn!(
            directory = %path.display(),
            %error,
            "cannot open the directory for files of guests; uploads are refused until a restart"
        );
    });
    let absolute = std::path::absolute(&path).unwrap_or(path);
    Ok((files.ok(), absolute.display().to_string()))
}

/// Migrates and opens the database. Behind a connection pooler that prevents migrations, fails
/// unless the database is migrated already.
async fn open(url: &str, options: store::Options) -> Result<store::Store, String> {
    let (url, options) = (
        url.to_owned(),
        store::Options {
            sharding: Some(&crate::SHARDING),
            ..options
        },
    );
    let open = move || store::Store::open_with(&url, &crate::migrations(), &options);
    let result = tokio::task::spawn_blocking(open).await;
    result
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

/// Makes a service that opens no port, for commands that work on the database. Its platform key is
/// random, and only this process knows the key.
pub async fn offline_service(
    database: &DatabaseFlags,
    clock: Clock,
) -> Result<Arc<Service>, String> {
    offline_service_at(database, clock, "").await
}

/// Makes a service as [`offline_service`] does, but with a public URL, for commands that print
/// links.
pub async fn offline_service_at(
    database: &DatabaseFlags,
    clock: Clock,
    public_url: &str,
) -> Result<Arc<Service>, String> {
    let store = open(&database.url()?, database.options()?).await?;
    service_of_store(store, clock, public_url).await
}

/// Does the same as [`offline_service`], but fails if this process cannot migrate the database
/// itself, for example behind a connection pooler.
pub async fn migrated_service(
    database: &DatabaseFlags,
    clock: Clock,
) -> Result<Arc<Service>, String> {
    let options = store::Options {
        is_to_migrate: true,
        ..database.options()?
    };
    service_of_store(open(&database.url()?, options).await?, clock, "").await
}

/// Makes a service that opens no port, for a database that is open already.
async fn service_of_store(
    store: store::Store,
    clock: Clock,
    public_url: &str,
) -> Result<Arc<Service>, String> {
    let platform_keys = vec![access::token("", &Ids::default())];
    let settings = ServiceSettings {
        platform_keys,
        idempotency_retention: Duration::ZERO,
        audit_retention: Duration::MAX,
    };
    let parts = Extensions::default()
        .with(Targets::new(Vec::new()))
        .with(guest::CartAbandonmentDelay::default());
    let service = assemble(store, clock, public_url, settings, parts)
        .await
        .map(Arc::new)?;
    rebuild_summaries(&service).await?;
    Ok(service)
}

/// Rebuilds the stored summaries that another version of the program has written in another format.
async fn rebuild_summaries(service: &Arc<Service>) -> Result<(), String> {
    summaries::rebuild(service)
        .await
        .map_err(|error| error.cause().unwrap_or_default().to_owned())
}

/// Makes a service that limits no client and opens no port.
async fn assemble(
    store: store::Store,
    clock: Clock,
    public_url: &str,
    settings: ServiceSettings,
    parts: Extensions,
) -> Result<Service, String> {
    let ids = Ids::default();
    let photos = PhotoSigner::open(&store, &ids)
        .await
        .map_err(|error| error.cause().unwrap_or_default().to_owned())?;
    let app = app();
    Ok(Service {
        app,
        callers: Callers::of(app, &store, &clock),
        store,
        clock,
        app_state: Arc::new(AppState::new(
            ids,
            public_url,
            &app.lists,
            parts.with(photos),
        )),
        settings,
        limits: RateLimits::new(0, 0),
        guest_limits: RateLimits::new(0, 0),
        memory: Memory::for_processors(processors::count()),
        organization_hints: OrganizationHints::default(),
        in_flight: InFlight::default(),
        incoming: Arc::new(Incoming::new(u64::MAX, Duration::ZERO)),
        outbound: Arc::new(OutboundBuffer::new(u64::MAX, Duration::ZERO)),
        background: Background::default(),
    })
}

/// Starts a background task. Starts it again if it ends before `stop` is cancelled.
fn spawn_background_task(
    service: &Arc<Service>,
    name: &'static str,
    stop: &CancellationToken,
    work: impl Fn(Arc<Service>, CancellationToken) -> BackgroundTask + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (task_service, task_stop) = (service.clone(), stop.clone());
    let work = move || work(task_service.clone(), task_stop.clone());
    spawn_supervised(service.clone(), name, stop.clone(), Box::new(work))
}

/// Starts a background task. Every task has the same type here, so that the compiler compiles this
/// function, and the supervision, only once.
fn spawn_supervised(
    service: Arc<Service>,
    name: &'static str,
    stop: CancellationToken,
    work: Box<dyn Fn() -> BackgroundTask + Send + Sync>,
) -> JoinHandle<()> {
    tokio::spawn(async move { service.background.supervise(name, stop, work).await })
}

/// Updates PostgreSQL's statistics about tables that grow, for example during a sync, until `stop`
/// is cancelled.
async fn keep_statistics(store: store::Store, stop: CancellationToken) {
    let mut pause = GROWN_EVERY;
    while stop
        .run_until_cancelled(tokio::time::sleep(pause))
        .await
        .is_some()
    {
        pause = if refresh_statistics(&store).await {
            GROWN_EVERY
        } else {
            SWEEP_EVERY.min(2 * pause)
        };
    }
}

/// Makes the database analyze the tables that have grown. Returns whether that succeeded.
pub async fn refresh_statistics(store: &store::Store) -> bool {
    let refreshed = store.refresh_statistics().await;
    // A failed refresh is harmless, because PostgreSQL's own autovacuum analyzes tables once a
    // minute.
    refreshed
        .inspect_err(|error| {
            tracing::debug!(
                %error,
                "could not refresh the database's statistics; retrying"
            );
        })
        .is_ok()
}
