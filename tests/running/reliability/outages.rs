//! Tests of a PostgreSQL that fails and comes back. During the failure the server answers with 503
//! in time, and afterwards it recovers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use test_support::pgbouncer::PgBouncer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Client, Process, fresh_postgres};

/// Time limit of a response while the database does not respond: the guaranteed five seconds, and
/// half a second for a busy machine.
const RESPONSE_LIMIT: Duration = Duration::from_millis(5_500);
/// Time limit of a write, with its repetitions.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// How the proxy treats the bytes between a server and its database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyMode {
    /// Passes all bytes on between the server and its database at once.
    Open,
    /// Keeps the connections open, but holds all bytes back until the mode changes.
    Held,
    /// Closes open connections and refuses new connections.
    Cut,
}

/// A proxy in front of PostgreSQL that a test can block or disconnect.
struct DatabaseProxy {
    database_url: String,
    mode: watch::Sender<ProxyMode>,
}

impl DatabaseProxy {
    async fn before(database_url: &str) -> Self {
        let mut url = url::Url::parse(database_url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port()))
            .unwrap();
        let (mode, current_mode) = watch::channel(ProxyMode::Open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, current_mode.clone()));
            }
        });
        Self {
            database_url: url.into(),
            mode,
        }
    }
}

async fn carry(client: TcpStream, port: u16, mode: watch::Receiver<ProxyMode>) {
    let is_cut = *mode.borrow() == ProxyMode::Cut;
    if is_cut {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    tokio::select! {
        () = pump(from_client, to_server, mode.clone()) => {}
        () = pump(from_server, to_client, mode.clone()) => {}
        () = until_mode(mode, ProxyMode::Cut) => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mode: watch::Receiver<ProxyMode>) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        until_mode(mode.clone(), ProxyMode::Open).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn until_mode(mut mode: watch::Receiver<ProxyMode>, expected: ProxyMode) {
    mode.wait_for(|mode| *mode == expected).await.ok();
}

/// One request of the load, and its result.
#[derive(Clone)]
struct Sample {
    sent: Instant,
    took: Duration,
    status: Option<u16>,
}

/// Clients that read and write continuously.
struct ReadWriteLoad {
    samples: Arc<Mutex<Vec<Sample>>>,
    is_over: Arc<AtomicBool>,
    clients: JoinSet<Vec<String>>,
}

impl ReadWriteLoad {
    fn start(client: &Client, clients: usize) -> Self {
        let mut load = Self {
            samples: Arc::default(),
            is_over: Arc::default(),
            clients: JoinSet::new(),
        };
        for number in 0..clients {
            load.clients.spawn(send_requests(
                client.clone(),
                number,
                load.samples.clone(),
                load.is_over.clone(),
            ));
        }
        load
    }

    fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap().clone()
    }

    /// Waits until this many requests have succeeded.
    async fn until_successes(&self, count: usize) {
        self.until_count(Instant::now(), count, Duration::from_secs(30))
            .await;
    }

    /// Waits until this many requests that were sent after `since` have succeeded.
    async fn until_successes_since(&self, since: Instant, count: usize) {
        self.until_count(since, count, Duration::from_secs(7)).await;
    }

    async fn until_count(&self, since: Instant, count: usize, time_limit: Duration) {
        let is_success =
            |sample: &Sample| sample.sent > since && matches!(sample.status, Some(200 | 201));
        while self.samples().into_iter().filter(is_success).count() < count {
            assert!(since.elapsed() < time_limit, "the service does not recover");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        eprintln!(
            "{count} requests have succeeded {:.1?} after the proxy was open",
            since.elapsed()
        );
    }

    /// Stops the load. Checks that each acknowledged write exists exactly once, and that every
    /// request got a valid status in time.
    async fn end(self, client: &Client, server: &Process) {
        self.is_over.store(true, Ordering::Relaxed);
        let acknowledged = self.clients.join_all().await.concat();
        let manuals = client.manuals().await;
        for name in &acknowledged {
            assert!(manuals.contains_key(name), "{name} was acknowledged");
        }
        assert_eq!(manuals.len(), acknowledged.len());
        let samples = self.samples.lock().unwrap();
        let (mut longest, mut refused) = (Duration::ZERO, 0);
        for sample in samples.iter() {
            // A client may repeat a request while its first attempt is in progress. The repeated
            // request then gets a 409.
            assert!(
                matches!(sample.status, Some(200 | 201 | 409 | 503)),
                "{:?}",
                sample.status
            );
            assert!(
                sample.took < RESPONSE_LIMIT,
                "{:?} until {:?}",
                sample.took,
                sample.status
            );
            longest = longest.max(sample.took);
            refused += usize::from(sample.status == Some(503));
        }
        assert!(refused > 0, "the database was gone");
        eprintln!(
            "{} requests, {refused} of them 503, the longest took {longest:.2?}",
            samples.len()
        );
        server.assert_sound();
    }
}

/// Creates manuals if `number` is even, and otherwise reads the list of portals. A request to
/// create a manual is repeated with the same idempotency key until it succeeds. Returns the names
/// of the created manuals.
async fn send_requests(
    client: Client,
    number: usize,
    samples: Arc<Mutex<Vec<Sample>>>,
    is_over: Arc<AtomicBool>,
) -> Vec<String> {
    let mut written = Vec::new();
    let (mut is_owed, mut first_sent) = (false, Instant::now());
    while is_owed || !is_over.load(Ordering::Relaxed) {
        let (name, sent) = (format!("l{number}-{}", written.len()), Instant::now());
        if !is_owed {
            first_sent = sent;
        }
        assert!(first_sent.elapsed() < WAIT_LIMIT, "{name} is not answered");
        let is_write = number.is_multiple_of(2);
        let received = if is_write {
            client.create(&name).await
        } else {
            client.get("/api/v1/portals").await
        };
        let status = received.as_ref().map(|received| received.status);
        is_owed = is_write && status != Some(201);
        assert!(
            status != Some(409) || received.unwrap().is_retryable(),
            "{name}"
        );
        samples.lock().unwrap().push(Sample {
            sent,
            took: sent.elapsed(),
            status,
        });
        match status {
            Some(201) => written.push(name),
            Some(200) => {}
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    written
}

/// Sets the proxy to the mode `closed` under load. Checks that the server answers with 503 in time,
/// and that it recovers when the proxy passes bytes on again.
async fn assert_outage_survived(closed: ProxyMode, clients: usize) {
    let Some(database_url) = fresh_postgres().await else {
        return;
    };
    let proxy = DatabaseProxy::before(&database_url).await;
    let server = Process::start(&proxy.database_url);
    let client = Client::of(&server).await;
    let load = ReadWriteLoad::start(&client, clients);
    load.until_successes(50).await;
    proxy.mode.send_replace(closed);
    let outage_start = Instant::now();
    // This pause and the checks after it take longer than a request may wait for the database.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_outage_noticed(&server, &client, &load, outage_start).await;
    proxy.mode.send_replace(ProxyMode::Open);
    load.until_successes_since(Instant::now(), 100).await;
    load.end(&client, &server).await;
}

/// Checks the responses of a server whose database has been unavailable for a while.
async fn assert_outage_noticed(
    server: &Process,
    client: &Client,
    load: &ReadWriteLoad,
    gone: Instant,
) {
    let page = async |path: &str| {
        client
            .http
            .get(format!("{}{path}", server.base))
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(page("/healthz").await, 200, "the process is up");
    assert_eq!(
        page("/readyz").await,
        503,
        "the database is not, as is found out after a second or two"
    );
    let after_a_moment = gone + Duration::from_millis(200);
    let is_success =
        |sample: &Sample| sample.sent > after_a_moment && matches!(sample.status, Some(200 | 201));
    assert_eq!(
        load.samples().into_iter().filter(is_success).count(),
        0,
        "there is no database to have asked"
    );
}

/// Kills a pooler in transaction mode during many transactions, and starts it again. The pooler has
/// fewer connections to PostgreSQL than the node has to the pooler.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killing_the_pooler_loses_no_acknowledged_writes() {
    let Some(database_url) = fresh_postgres().await else {
        return;
    };
    let Some(mut pooler) = PgBouncer::in_front_of(
        &database_url,
        "pool_mode = transaction\ndefault_pool_size = 4",
    ) else {
        return;
    };
    let environment = [
        ("VESTIBULE_DATABASE_DIRECT_URL", Path::new(&database_url)),
        ("VESTIBULE_DATABASE_CONNECTIONS", Path::new("16")),
    ];
    let server = Process::start_with(&pooler.database_url, &environment);
    let client = Client::of(&server).await;
    let load = ReadWriteLoad::start(&client, 40);
    load.until_successes(200).await;
    pooler.kill();
    let outage_start = Instant::now();
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_outage_noticed(&server, &client, &load, outage_start).await;
    pooler.restart();
    load.until_successes_since(Instant::now(), 100).await;
    load.end(&client, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_silent_postgres_gives_503_until_it_recovers() {
    assert_outage_survived(ProxyMode::Held, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cut_postgres_connections_give_503_until_they_recover() {
    assert_outage_survived(ProxyMode::Cut, 6).await;
}

/// The server has more clients than connections to PostgreSQL. Some clients wait for a connection,
/// and others wait for PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cut_postgres_gives_503_with_more_clients_than_connections() {
    assert_outage_survived(ProxyMode::Cut, 48).await;
}
