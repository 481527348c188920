//! PostgreSQL that goes away and comes back: 503 in time, and as before once it is back.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Client, Process, fresh_postgres};
use crate::support::pgbouncer::PgBouncer;

/// What an answer may take where the database does not answer: the five seconds of the promise, and a half for a machine that
/// has other things to do.
const AT_THE_LATEST: Duration = Duration::from_millis(5_500);

/// What becomes of the bytes between a server and its database.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// They pass.
    Open,
    /// They go nowhere, and nobody is told.
    Held,
    /// Connections end, and there are no new ones.
    Cut,
}

/// A way to a PostgreSQL that a test can close.
struct Proxy {
    database_url: String,
    way: watch::Sender<Way>,
}

impl Proxy {
    async fn before(database_url: &str) -> Self {
        let mut url = url::Url::parse(database_url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let (way, seen) = watch::channel(Way::Open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, seen.clone()));
            }
        });
        Self { database_url: url.into(), way }
    }
}

async fn carry(client: TcpStream, port: u16, way: watch::Receiver<Way>) {
    let is_cut = *way.borrow() == Way::Cut;
    if is_cut {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = pump(from_client, to_server, way.clone()) => {}
        () = pump(from_server, to_client, way.clone()) => {}
        () = turned(way, Way::Cut) => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: watch::Receiver<Way>) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        turned(way.clone(), Way::Open).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn turned(mut way: watch::Receiver<Way>, wanted: Way) {
    way.wait_for(|way| *way == wanted).await.ok();
}

/// One request of a load.
#[derive(Clone)]
struct Sample {
    sent: Instant,
    took: Duration,
    status: Option<u16>,
}

/// Clients that read and write all the while.
struct Load {
    samples: Arc<Mutex<Vec<Sample>>>,
    is_over: Arc<AtomicBool>,
    clients: JoinSet<Vec<String>>,
}

impl Load {
    fn start(client: &Client, clients: usize) -> Self {
        let mut load = Self { samples: Arc::default(), is_over: Arc::default(), clients: JoinSet::new() };
        for number in 0..clients {
            load.clients.spawn(ask_on(client.clone(), number, load.samples.clone(), load.is_over.clone()));
        }
        load
    }

    fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap().clone()
    }

    /// Waits until so many requests succeeded.
    async fn succeeds(&self, count: usize) {
        self.has(Instant::now(), count, Duration::from_secs(30)).await;
    }

    /// Waits until so many requests that were sent after a moment succeeded.
    async fn succeeds_again(&self, since: Instant, count: usize) {
        self.has(since, count, Duration::from_secs(7)).await;
    }

    async fn has(&self, since: Instant, count: usize, patience: Duration) {
        let good = |sample: &Sample| sample.sent > since && matches!(sample.status, Some(200 | 201));
        while self.samples().into_iter().filter(good).count() < count {
            assert!(since.elapsed() < patience, "it does not recover");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        eprintln!("{count} requests have succeeded {:.1?} after the way was open", since.elapsed());
    }

    /// Stops; what was acknowledged is there, once, and every request got an answer that says so, in time.
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
            // 409 is told to a request that is sent again while the first one is still under way.
            assert!(matches!(sample.status, Some(200 | 201 | 409 | 503)), "{:?}", sample.status);
            assert!(sample.took < AT_THE_LATEST, "{:?} until {:?}", sample.took, sample.status);
            longest = longest.max(sample.took);
            refused += usize::from(sample.status == Some(503));
        }
        assert!(refused > 0, "the database was gone");
        eprintln!("{} requests, {refused} of them 503, the longest took {longest:.2?}", samples.len());
        server.assert_sound();
    }
}

/// Every other client writes, each until it is answered, always with the same key; the others read. The names written.
async fn ask_on(client: Client, number: usize, samples: Arc<Mutex<Vec<Sample>>>, is_over: Arc<AtomicBool>) -> Vec<String> {
    let mut written = Vec::new();
    let mut is_owed = false;
    while is_owed || !is_over.load(Ordering::Relaxed) {
        let (name, sent) = (format!("l{number}-{}", written.len()), Instant::now());
        let is_write = number.is_multiple_of(2);
        let heard = if is_write { client.create(&name).await } else { client.get("/api/v1/portals").await };
        let status = heard.as_ref().map(|heard| heard.status);
        is_owed = is_write && status != Some(201);
        assert!(status != Some(409) || heard.unwrap().is_passing(), "{name}");
        samples.lock().unwrap().push(Sample { sent, took: sent.elapsed(), status });
        match status {
            Some(201) => written.push(name),
            Some(200) => {}
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    written
}

/// A PostgreSQL behind a way that is closed under load: 503 in time, and as before once it is open.
async fn is_survived(closed: Way, clients: usize) {
    let Some(database_url) = fresh_postgres().await else { return };
    let proxy = Proxy::before(&database_url).await;
    let server = Process::start(&proxy.database_url);
    let client = Client::of(&server).await;
    let load = Load::start(&client, clients);
    load.succeeds(50).await;
    proxy.way.send_replace(closed);
    let gone = Instant::now();
    // Longer, with what follows, than anybody is kept waiting.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    is_noticed(&server, &client, &load, gone).await;
    proxy.way.send_replace(Way::Open);
    load.succeeds_again(Instant::now(), 100).await;
    load.end(&client, &server).await;
}

/// What a server says whose database has been gone for a while.
async fn is_noticed(server: &Process, client: &Client, load: &Load, gone: Instant) {
    let page = async |path: &str| client.http.get(format!("{}{path}", server.base)).send().await.unwrap().status();
    assert_eq!(page("/healthz").await, 200, "the process is up");
    assert_eq!(page("/readyz").await, 503, "the database is not, as is found out after a second or two");
    let after_a_moment = gone + Duration::from_millis(200);
    let good = |sample: &Sample| sample.sent > after_a_moment && matches!(sample.status, Some(200 | 201));
    assert_eq!(load.samples().into_iter().filter(good).count(), 0, "there is no database to have asked");
}

/// The same of a pooler that works by transaction, with fewer connections to the server than the node has to it, which is killed in
/// the middle of many transactions and started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pooler_that_is_killed_loses_nothing() {
    let Some(database_url) = fresh_postgres().await else { return };
    let Some(mut pooler) = PgBouncer::before(&database_url, "pool_mode = transaction\ndefault_pool_size = 4") else { return };
    let environment = [("VESTIBULE_DATABASE_DIRECT_URL", Path::new(&database_url)), ("VESTIBULE_DATABASE_CONNECTIONS", Path::new("16"))];
    let server = Process::start_with(&pooler.database_url, &environment);
    let client = Client::of(&server).await;
    let load = Load::start(&client, 40);
    load.succeeds(200).await;
    pooler.kill();
    let gone = Instant::now();
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    is_noticed(&server, &client, &load, gone).await;
    pooler.restart();
    load.succeeds_again(Instant::now(), 100).await;
    load.end(&client, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_postgres_that_falls_silent_is_unavailable_and_then_is_not() {
    is_survived(Way::Held, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_postgres_whose_connections_are_cut_is_unavailable_and_then_is_not() {
    is_survived(Way::Cut, 6).await;
}

/// The same with more clients than there are connections: they wait for a place, and then for a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_postgres_whose_connections_are_cut_keeps_nobody_waiting_twice() {
    is_survived(Way::Cut, 48).await;
}
