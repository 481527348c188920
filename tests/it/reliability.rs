//! What goes wrong around a server, and what its clients see of it: docs/reliability.md says what is promised.
//!
//! Variables make the tests longer: `VESTIBULE_RELIABILITY_REQUESTS` for the one with the kills, and
//! `VESTIBULE_SOAK_SECONDS` for the soak, which is left out unless it is asked for (`just soak`).

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::access::Permission;
use engine::ambient::Clock;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use vestibule::server::Server;

use crate::support::{Answer, App, Org, PLATFORM_KEY, choose_tls_provider, new_id, on_both, postgres, serve_flags};

/// What an answer may take where the database does not answer: the five seconds of the promise, and a half for a machine that
/// has other things to do.
const AT_THE_LATEST: Duration = Duration::from_millis(5_500);
/// How long a client that is let down goes on asking.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server process, killed when dropped.
struct Process {
    child: Child,
    base: String,
    log: NamedTempFile,
}

impl Process {
    fn start(database_url: &str) -> Self {
        Self::start_with(database_url, &[])
    }

    fn start_with(database_url: &str, environment: &[(&str, &Path)]) -> Self {
        choose_tls_provider();
        let log = NamedTempFile::new().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_vestibule"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", database_url, "--platform-key", PLATFORM_KEY])
            .args(["--rate-limit-per-minute", "0", "--rate-limit-per-second", "0"])
            .env("VESTIBULE_LOG", "warn")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log.reopen().unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, base, log }
    }

    fn address(&self) -> &str {
        self.base.strip_prefix("http://").unwrap()
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// `kill -9`, and the end of it.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Nothing that would be a defect stands in its log.
    fn assert_sound(&self) {
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        for trouble in ["panicked", "\"message\":\"failed\"", "could not be rolled back"] {
            assert!(!log.contains(trouble), "{log}");
        }
    }

    /// Resident memory in KiB, where the system tells.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What was answered.
struct Heard {
    status: u16,
    is_replay: bool,
    body: Value,
}

impl Heard {
    /// Whether the same request may be answered otherwise in a moment: the database is not to be had, or the request that is
    /// repeated is still being worked on.
    fn is_passing(&self) -> bool {
        let is_in_flight = self.status == 409 && self.body["error"]["message"].as_str().unwrap().contains("in flight");
        self.status == 503 || is_in_flight
    }
}

/// An organization's API key, at whichever server has its turn.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    base: Arc<Mutex<String>>,
    token: String,
}

impl Client {
    /// With a key to a fresh organization, which may do everything.
    async fn of(server: &Process) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(20)).build().unwrap();
        let mut client = Self { http, base: Arc::new(Mutex::new(server.base.clone())), token: PLATFORM_KEY.to_owned() };
        let organization = format!("/platform/v1/organizations/{}", new_id());
        client.ask(Method::PUT, &organization, None, Some(json!({ "name": "O" }))).await.unwrap();
        let body = json!({ "name": "k", "permissions": Permission::ALL });
        let key = client.ask(Method::POST, &format!("{organization}/api-keys"), None, Some(body)).await.unwrap();
        key.body["data"]["token"].as_str().unwrap().clone_into(&mut client.token);
        client
    }

    /// `None` where no whole answer comes back.
    async fn ask(&self, method: Method, path: &str, key: Option<&str>, body: Option<Value>) -> Option<Heard> {
        let url = format!("{}{path}", self.base.lock().unwrap());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.ok()?;
        let (status, is_replay) = (response.status().as_u16(), response.headers().contains_key("idempotency-replayed"));
        Some(Heard { status, is_replay, body: response.json().await.ok()? })
    }

    async fn get(&self, path: &str) -> Option<Heard> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Creates a manual under a key that is its name.
    async fn create(&self, name: &str) -> Option<Heard> {
        let body = json!({ "nickname": name, "title": "Wi-Fi" });
        self.ask(Method::POST, "/api/v1/portal-manuals", Some(name), Some(body)).await
    }

    /// The manuals by name; none is there twice, though nothing but the key keeps a name from being given twice.
    async fn manuals(&self) -> HashMap<String, Value> {
        let listed = self.get("/api/v1/portal-manuals").await.unwrap();
        assert_eq!(listed.status, 200, "{}", listed.body);
        let rows = listed.body["data"].as_array().unwrap();
        let by_name: HashMap<_, _> = rows.iter().map(|row| (row["nickname"].as_str().unwrap().to_owned(), row.clone())).collect();
        assert_eq!(by_name.len(), rows.len(), "each was applied once");
        by_name
    }
}

/// A server on a database of its own, and a client of it, once on each database.
macro_rules! on_each {
    ($($(#[$meta:meta])* async fn $name:ident($database_url:ident: String) $body:block)*) => {
        $($(#[$meta])* mod $name {
            use super::*;

            async fn run($database_url: String) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_sqlite() {
                let directory = tempfile::tempdir().unwrap();
                run(sqlite_in(directory.path())).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn on_postgres() {
                if let Some(url) = fresh_postgres().await {
                    run(url).await;
                }
            }
        })*
    };
}

fn sqlite_in(directory: &Path) -> String {
    format!("sqlite:{}", directory.join("reliability.db").display())
}

async fn fresh_postgres() -> Option<String> {
    tokio::task::spawn_blocking(postgres::fresh_database).await.unwrap()
}

/// A number from the environment, for a run that takes longer.
fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// SQLite says that nothing in the file contradicts itself; the back-up reads it through.
fn assert_whole(database_url: &str) {
    if database_url.starts_with("sqlite:") {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vestibule"));
        let output = command.args(["backup", "--database-url", database_url]).arg(directory.path().join("copy.db")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

// Kills.

/// How far the clients of a server that is killed have come.
#[derive(Default)]
struct Course {
    answered: AtomicUsize,
    sent_again: AtomicUsize,
    is_over: AtomicBool,
}

impl Course {
    /// Asks until there is an answer that stays, always with the same key.
    async fn answered(&self, client: &Client, method: Method, path: &str, key: Option<&str>, body: Option<Value>) -> Heard {
        let began = Instant::now();
        loop {
            if let Some(heard) = client.ask(method.clone(), path, key, body.clone()).await
                && !heard.is_passing()
            {
                self.answered.fetch_add(1, Ordering::Relaxed);
                return heard;
            }
            self.sent_again.fetch_add(1, Ordering::Relaxed);
            assert!(began.elapsed() < PATIENCE, "no answer: {method} {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Creates manuals, reads and changes them, and reads them again. Their names with the id and the icon that were
    /// acknowledged.
    async fn write_and_read(self: Arc<Self>, client: Client, writer: usize) -> Vec<(String, Value, String)> {
        let mut made = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let name = format!("w{writer}-{}-", made.len());
            let body = json!({ "nickname": name, "title": "Wi-Fi" });
            let created = self.answered(&client, Method::POST, "/api/v1/portal-manuals", Some(&name), Some(body)).await;
            assert_eq!(created.status, 201, "{}", created.body);
            let id = created.body["data"]["id"].clone();
            let icon = format!("icon-{}", made.len());
            let (list, one) = (format!("/api/v1/portal-manuals?search={name}"), format!("/api/v1/portal-manuals/{}", id.as_str().unwrap()));
            for change in [false, true] {
                if change {
                    let body = json!({ "data": { "iconName": icon } });
                    let changed = self.answered(&client, Method::PATCH, &one, None, Some(body)).await;
                    assert_eq!(changed.status, 200, "{}", changed.body);
                }
                let listed = self.answered(&client, Method::GET, &list, None, None).await;
                assert_eq!(listed.status, 200, "{}", listed.body);
                let rows = listed.body["data"].as_array().unwrap();
                assert_eq!((rows.len(), &rows[0]["id"]), (1, &id), "what was acknowledged is read, by whichever process answers");
                assert!(!change || rows[0]["iconName"] == icon.as_str(), "{}", rows[0]);
            }
            made.push((name, id, icon));
        }
        made
    }
}

on_each! {
    /// Reads and writes, and a server that is killed every second or so: what was acknowledged is there, what was sent again
    /// with its key was applied once, and the first answer is still given to it.
    async fn kills_lose_nothing_and_repeat_nothing(database_url: String) {
        const WRITERS: usize = 16;
        const KILLS: u64 = 3;
        let (wanted, began) = (number("VESTIBULE_RELIABILITY_REQUESTS", 2_000), Instant::now());
        let mut server = Process::start(&database_url);
        let (client, course) = (Client::of(&server).await, Arc::new(Course::default()));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(course.clone().write_and_read(client.clone(), writer));
        }
        let mut kills = 0;
        while kills < KILLS || course.answered.load(Ordering::Relaxed) < wanted {
            // A moment that differs from kill to kill and from run to run.
            let noise = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9).wrapping_add(kills * 7_919) % 601;
            tokio::time::sleep(Duration::from_millis(900 + noise)).await;
            server.kill();
            server.assert_sound();
            server = Process::start(&database_url);
            client.base.lock().unwrap().clone_from(&server.base);
            kills += 1;
        }
        course.is_over.store(true, Ordering::Relaxed);
        let made = writers.join_all().await.concat();

        let manuals = client.manuals().await;
        assert_eq!(manuals.len(), made.len(), "nothing is there that nobody asked for");
        for (name, id, icon) in &made {
            let row = manuals.get(name).unwrap_or_else(|| panic!("{name} was acknowledged"));
            assert_eq!((&row["id"], row["iconName"].as_str()), (id, Some(icon.as_str())), "{name}");
        }
        // Every key once more: the answer that was given, and nothing new.
        for some in made.chunks(WRITERS) {
            for (again, (name, id, _)) in join_all(some.iter().map(|(name, ..)| client.create(name))).await.into_iter().zip(some) {
                let again = again.unwrap();
                assert_eq!((again.status, again.is_replay, &again.body["data"]["id"]), (201, true, id), "{name}");
            }
        }
        assert_eq!(client.manuals().await.len(), made.len());
        server.assert_sound();
        assert_whole(&database_url);
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        eprintln!(
            "{}: {} requests answered, {} times one was sent again, {kills} kills, {} manuals, {:.1} s",
            database_url.split(':').next().unwrap(), count(&course.answered), count(&course.sent_again), made.len(), began.elapsed().as_secs_f64(),
        );
    }
}

// PostgreSQL that goes away and comes back.

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

    /// Waits until so many requests that were sent after a moment succeeded.
    async fn succeeds_again(&self, since: Instant, count: usize) {
        let good = |sample: &Sample| sample.sent > since && matches!(sample.status, Some(200 | 201));
        while self.samples().into_iter().filter(good).count() < count {
            assert!(since.elapsed() < Duration::from_secs(7), "it does not recover");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        eprintln!("{count} requests have succeeded {:.1?} after the way was open again", since.elapsed());
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
    load.succeeds_again(Instant::now(), 50).await;
    proxy.way.send_replace(closed);
    let gone = Instant::now();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let page = async |path: &str| client.http.get(format!("{}{path}", server.base)).send().await.unwrap().status();
    assert_eq!(page("/healthz").await, 200, "the process is up");
    assert_eq!(page("/readyz").await, 503, "the database is not, as is found out after some four seconds");
    let after_a_moment = gone + Duration::from_millis(200);
    let good = |sample: &Sample| sample.sent > after_a_moment && matches!(sample.status, Some(200 | 201));
    assert_eq!(load.samples().into_iter().filter(good).count(), 0, "there is no database to have asked");
    proxy.way.send_replace(Way::Open);
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

// A full disk.

/// A small file system of the test's own, gone when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` where the test may not mount one, and the run goes on without.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]).arg(directory.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(directory));
        }
        eprintln!("a tmpfs cannot be mounted here (it takes root): the test of a full disk is LEFT OUT of this run");
        None
    }

    /// Takes all the space that is left; the file to remove to have it back.
    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("ballast");
        let mut file = std::fs::File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

/// Writes on a full disk are 503 and leave nothing behind, reads go on, and with room it writes again, without a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_refuses_writes_whole_and_goes_on_reading() {
    let Some(disk) = SmallDisk::mount() else { return };
    let database_url = sqlite_in(disk.0.path());
    let server = Process::start(&database_url);
    let fill = || {
        let ballast = disk.fill();
        move || std::fs::remove_file(ballast).unwrap()
    };
    // What still fits into the log as it is may be written.
    writes_are_refused_whole(server, &database_url, 100, fill).await;
}

/// A library that is put before the system's: what is to reach the disk does not, as long as a file is there.
const NO_FSYNC: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int is_broken(void) { const char *path = getenv("VESTIBULE_TEST_BROKEN"); return path && access(path, F_OK) == 0; }
static int ask(const char *name, int file) {
    if (is_broken()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return ask("fsync", file); }
int fdatasync(int file) { return ask("fdatasync", file); }
"#;

/// Where the disk does not confirm what was written, nobody is told that it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_fsync_that_fails_refuses_writes_whole_and_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("no_fsync.c"), NO_FSYNC).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([path("no_fsync.so"), path("no_fsync.c")]).arg("-ldl").status();
    assert!(built.unwrap().success(), "a C compiler builds SQLite, and this");
    let database_url = sqlite_in(directory.path());
    let broken = path("broken");
    let server = Process::start_with(&database_url, &[("LD_PRELOAD", &path("no_fsync.so")), ("VESTIBULE_TEST_BROKEN", &broken)]);
    let break_it = || {
        std::fs::write(&broken, "").unwrap();
        || std::fs::remove_file(&broken).unwrap()
    };
    writes_are_refused_whole(server, &database_url, 200, break_it).await;
}

/// Writes before, while and after something is wrong with the disk; of 200 meanwhile at least `refused` are refused.
async fn writes_are_refused_whole<Mend: FnOnce()>(
    mut server: Process,
    database_url: &str,
    least_refused: usize,
    break_it: impl FnOnce() -> Mend,
) {
    const BEFORE: usize = 20;
    const MEANWHILE: usize = 200;
    let client = Client::of(&server).await;
    let name = |number: usize| format!("manual {number}");
    for number in 0..BEFORE {
        assert_eq!(client.create(&name(number)).await.unwrap().status, 201);
    }
    let mend = break_it();
    let (mut acknowledged, mut refused) = ((0..BEFORE).map(name).collect::<Vec<_>>(), Vec::new());
    // Ten at once, so that they share commits.
    for first in (BEFORE..BEFORE + MEANWHILE).step_by(10) {
        let names: Vec<_> = (first..first + 10).map(name).collect();
        for (answer, name) in join_all(names.iter().map(|name| client.create(name))).await.into_iter().zip(&names) {
            let answer = answer.expect("an answer");
            match answer.status {
                201 => acknowledged.push(name.clone()),
                503 => refused.push(name.clone()),
                status => panic!("{status} {}", answer.body),
            }
        }
        assert_eq!(client.get("/api/v1/portals").await.unwrap().status, 200);
    }
    assert!(refused.len() >= least_refused, "{} of {MEANWHILE} were refused", refused.len());
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(client.manuals().await.into_keys().collect()), sorted(acknowledged.clone()), "all or nothing");
    assert_eq!(client.http.get(format!("{}/readyz", server.base)).send().await.unwrap().status(), 200);

    mend();
    for name in &refused {
        let answer = client.create(name).await.unwrap();
        assert_eq!((answer.status, answer.is_replay), (201, false), "{}", answer.body);
    }
    assert_eq!(client.manuals().await.len(), BEFORE + MEANWHILE);
    server.assert_sound();
    server.kill();
    let server = Process::start(database_url);
    client.base.lock().unwrap().clone_from(&server.base);
    assert_eq!(client.manuals().await.len(), BEFORE + MEANWHILE);
    assert_whole(database_url);
}

// The end of a process.

/// A connection that has a request for a manual under way.
async fn begin(address: &str, token: &str, body: &str, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let head = format!(
        "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..sent]).await.unwrap();
    stream
}

/// All that comes until the connection ends; an end with an error is an end.
async fn rest(stream: &mut TcpStream) -> String {
    let (mut heard, mut bytes) = (Vec::new(), vec![0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        heard.extend_from_slice(&bytes[..count]);
    }
    String::from_utf8(heard).unwrap()
}

/// Whether that is an answer to its last byte.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    length == Some(body.len())
}

on_each! {
    /// SIGTERM under load. A request whose headers were read before is answered, even if the rest of it comes only after the
    /// signal; a request that came too late is refused whole: nothing is answered by halves, and nothing that got no answer is
    /// applied.
    async fn an_orderly_end_loses_no_answer(database_url: String) {
        const BEGUN: usize = 40;
        let mut server = Process::start(&database_url);
        let client = Client::of(&server).await;
        let (address, token) = (server.address().to_owned(), client.token.clone());
        let body = |name: &str| json!({ "nickname": name, "title": "Wi-Fi" }).to_string();

        // Half of each is sent; the server waits for the other half.
        let mut begun = Vec::new();
        for number in 0..BEGUN {
            let body = body(&format!("begun {number}"));
            begun.push((begin(&address, &token, &body, body.len() / 2).await, body));
        }
        // And a stream of others, each on a connection of its own.
        let mut others: JoinSet<Vec<(String, String)>> = JoinSet::new();
        for sender in 0..16 {
            let (address, token) = (address.clone(), token.clone());
            others.spawn(async move {
                let mut heard = Vec::new();
                for number in 0.. {
                    let name = format!("other {sender} {number}");
                    // Once the listening socket is closed, that is said at once.
                    let Ok(mut stream) = TcpStream::connect(&address).await else { break };
                    let body = json!({ "nickname": name, "title": "Wi-Fi" }).to_string();
                    let request = format!(
                        "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(request.as_bytes()).await.ok();
                    heard.push((name, rest(&mut stream).await));
                }
                heard
            });
        }
        tokio::time::sleep(Duration::from_millis(800)).await;
        server.signal("-TERM");
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(TcpStream::connect(&address).await.is_err(), "nobody is let in any more");
        assert!(server.child.try_wait().unwrap().is_none(), "it waits for those that have begun");
        for (stream, body) in &mut begun {
            stream.write_all(&body.as_bytes()[body.len() / 2..]).await.unwrap();
        }
        for (stream, _) in &mut begun {
            let answer = rest(stream).await;
            assert!(answer.starts_with("HTTP/1.1 201") && is_whole(&answer), "{answer:?}");
        }
        let heard = others.join_all().await.concat();
        let ending = Instant::now();
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        assert!(ending.elapsed() < Duration::from_secs(5), "it waits for nobody else");
        server.assert_sound();

        let server = Process::start(&database_url);
        client.base.lock().unwrap().clone_from(&server.base);
        let manuals = client.manuals().await;
        let mut unanswered = 0;
        for (name, answer) in &heard {
            assert!(answer.is_empty() || (answer.starts_with("HTTP/1.1 201") && is_whole(answer)), "{answer:?}");
            assert_eq!(manuals.contains_key(name), !answer.is_empty(), "{name}: {answer:?}");
            unanswered += usize::from(answer.is_empty());
        }
        assert_eq!(manuals.len(), BEGUN + heard.len() - unanswered);
        // Those that the kernel had let in, and the server not yet: at most one a sender.
        assert!(unanswered <= 16 && heard.len() > 50, "{unanswered} of {} without an answer", heard.len());
        eprintln!("{} answered under load, {unanswered} never taken up", heard.len() - unanswered);
    }
}

// Slow clients.

/// Says a byte at a time until the connection ends; how long that took.
async fn dribble(address: String, beginning: String, byte: &'static [u8]) -> Duration {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let began = Instant::now();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.split();
    let mut bytes = [0; 1024];
    loop {
        let told = tokio::time::timeout(Duration::from_millis(250), from.read(&mut bytes)).await;
        let is_over = match told {
            Ok(read) => !matches!(read, Ok(1..)),
            Err(_) => to.write_all(byte).await.is_err(),
        };
        if is_over {
            return began.elapsed();
        }
    }
}

/// Others are answered at once while a hundred slow clients hold their connections, which end when they should.
async fn slow_clients_end(beginning: impl Fn(&Client) -> String, byte: &'static [u8], from: u64, to: u64) {
    let directory = tempfile::tempdir().unwrap();
    let server = Process::start(&sqlite_in(directory.path()));
    let client = Client::of(&server).await;
    let mut slow = JoinSet::new();
    for _ in 0..100 {
        slow.spawn(dribble(server.address().to_owned(), beginning(&client), byte));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for number in 0..50 {
        let began = Instant::now();
        assert_eq!(client.create(&format!("meanwhile {number}")).await.unwrap().status, 201);
        assert_eq!(client.get("/api/v1/portals").await.unwrap().status, 200);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    let (from, to) = (Duration::from_secs(from), Duration::from_secs(to));
    for lasted in slow.join_all().await {
        assert!((from..to).contains(&lasted), "{lasted:?}");
    }
    server.assert_sound();
}

/// Each byte comes soon after the last; the deadline is for all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn headers_that_come_byte_by_byte_are_not_waited_for() {
    slow_clients_end(|_| "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ".to_owned(), b"x", 9, 13).await;
}

/// The same of a body.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "waits for the thirty seconds that a body may take; `just soak` runs it"]
async fn bodies_that_come_byte_by_byte_are_not_waited_for() {
    let beginning = |client: &Client| {
        let token = &client.token;
        format!(
            "POST /api/v1/portal-manuals HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n"
        )
    };
    slow_clients_end(beginning, b" ", 29, 34).await;
}

// Clocks that jump.

/// A server on the same database whose clock says something else.
struct Elsewhen {
    server: Server,
    http: reqwest::Client,
}

impl Elsewhen {
    async fn start(app: &App, now: &str) -> Self {
        let clock = Clock::manual(now.parse().unwrap());
        let server = Server::start(serve_flags(&app.database_url, &[]), clock).await.unwrap();
        Self { server, http: app.http.clone() }
    }

    async fn send(&self, method: Method, path: &str, token: &str, key: &str, body: Value) -> Answer {
        let request = self.http.request(method, format!("http://{}/api/v1{path}", self.server.address)).bearer_auth(token);
        Answer::of(request.header("idempotency-key", key).json(&body)).await
    }
}

async fn expiring_key(org: &Org<'_>, expires_at: &str) -> String {
    let body = json!({ "name": "key", "permissions": Permission::ALL, "expiresAt": expires_at });
    let key = org.app.platform().ok(Method::POST, &org.path("/api-keys"), Some(body)).await;
    key["token"].as_str().unwrap().to_owned()
}

on_both! {
    async fn a_clock_that_jumps_a_day_ahead_ends_what_has_had_its_time(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let (tonight, next_week) = (expiring_key(&org, "2026-11-22T02:00:00Z").await, expiring_key(&org, "2026-11-28T00:00:00Z").await);
        let stay = org.reservation(Some(org.property(None, &[]).await)).await;
        let token = org.stay_token(stay).await;
        let first = api.post_with_key("/portals", "k", json!({ "name": "One" })).await.data();
        let path = format!("/portals/{}", first["id"].as_str().unwrap());
        app.api(&tonight).get("/portals").await.data();

        app.clock.advance(Duration::from_secs(25 * 3_600));
        app.api(&tonight).get("/portals").await.error(401);
        app.api(&next_week).get("/portals").await.data();
        app.stay(&token, "").await.data();
        // The key's day is over, swept or not: it is a new request, which finds the name taken.
        api.post_with_key("/portals", "k", json!({ "name": "One" })).await.error(409);
        app.server.sweep_once().await;
        let other = api.post_with_key("/portals", "k", json!({ "name": "Two" })).await;
        assert_eq!((other.status, other.header("idempotency-replayed")), (201, None));
        let changed = api.patch(&path, json!({ "data": { "supportNotes": "later" } })).await.data();
        assert_eq!(changed["updatedAt"], "2026-11-22T10:30:00.000Z");
        app.platform().ok(Method::PUT, &org.path(""), Some(json!({ "name": "Still there" }))).await;
        for pages in ["/readyz", "/metrics", "/healthz"] {
            assert_eq!(app.http.get(format!("{}{pages}", app.base)).send().await.unwrap().status(), 200, "{pages}");
        }
    }

    /// As after a restart of a machine whose clock was set back, or on a second node whose clock is slow.
    async fn a_clock_that_is_set_back_takes_nothing_back(app: App) {
        let org = app.org().await;
        let api = org.key().await;
        let key = api.token.clone().unwrap();
        let soon = expiring_key(&org, "2026-11-21T09:35:00Z").await;
        let first = api.post_with_key("/portals", "k", json!({ "name": "One" })).await;
        let path = format!("/portals/{}", first.body["data"]["id"].as_str().unwrap());
        let mut last = first.body["data"]["updatedAt"].as_str().unwrap().to_owned();
        let behind = Elsewhen::start(&app, "2026-11-21T09:20:00Z").await;

        let again = behind.send(Method::POST, "/portals", &key, "k", json!({ "name": "One" })).await;
        assert_eq!((again.status, again.header("idempotency-replayed"), &again.body), (201, Some("true"), &first.body));
        for number in 0..6 {
            let body = json!({ "data": { "supportNotes": format!("{number}") }, "expectedUpdatedAt": last });
            let changed = if number % 3 == 2 {
                api.patch(&path, body).await.data()
            } else {
                behind.send(Method::PATCH, &path, &key, "-", body).await.data()
            };
            let now = changed["updatedAt"].as_str().unwrap().to_owned();
            assert!(now > last, "{last}, then {now}");
            last = now;
        }
        let second = behind.send(Method::POST, "/portals", &key, "later", json!({ "name": "Two" })).await.data();
        assert_eq!(api.post_with_key("/portals", "later", json!({ "name": "Two" })).await.header("idempotency-replayed"), Some("true"));
        assert!(second["updatedAt"].as_str() >= Some("2026-11-21T09:20:00.000Z"), "{second}");
        behind.send(Method::GET, "/portals", &soon, "-", json!({})).await.data();
        app.clock.advance(Duration::from_secs(6 * 60));
        app.api(&soon).get("/portals").await.error(401);
        behind.server.sweep_once().await;
        let again = api.post_with_key("/portals", "k", json!({ "name": "One" })).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "a slow node sweeps nothing away");
        behind.server.stop().await;
    }
}

// Two nodes on one database. `process.rs` has portals' names and keys, `redis.rs` rate limits, `crash.rs` deliveries.

/// Two processes on one PostgreSQL, and a client of each with the same key.
async fn two_nodes() -> Option<([Process; 2], [Client; 2])> {
    let database_url = fresh_postgres().await?;
    let nodes = [Process::start(&database_url), Process::start(&database_url)];
    let one = Client::of(&nodes[0]).await;
    let two = Client { base: Arc::new(Mutex::new(nodes[1].base.clone())), ..one.clone() };
    Some((nodes, [one, two]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_subscriptions_are_enough_for_two_nodes() {
    let Some((nodes, clients)) = two_nodes().await else { return };
    let subscribing = (0..130).map(|number| {
        let client = &clients[number % 2];
        let body = json!({ "event": "task.created", "targetUrl": format!("https://hooks.invalid/{number}") });
        async move { client.ask(Method::POST, "/api/v1/webhook-subscriptions", None, Some(body)).await.unwrap().status }
    });
    let statuses = join_all(subscribing).await;
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((count(201), count(409)), (100, 30), "{statuses:?}");
    for client in &clients {
        let listed = client.get("/api/v1/webhook-subscriptions").await.unwrap();
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 100);
    }
    for node in &nodes {
        node.assert_sound();
    }
}

/// Each key is sent to both nodes four times at once: one request is applied, and whoever is answered 201 is told of that one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_is_applied_once_by_two_nodes() {
    let Some((nodes, clients)) = two_nodes().await else { return };
    for round in 0..8 {
        let name = |number: usize| format!("raced {round} {}", number / 8);
        let sent = (0..64).map(|number| {
            let (client, name) = (&clients[number % 2], name(number));
            async move { client.create(&name).await.unwrap() }
        });
        let mut ids: HashMap<String, Value> = HashMap::new();
        for (number, heard) in join_all(sent).await.into_iter().enumerate() {
            assert!(heard.status == 201 || heard.is_passing(), "{} {}", heard.status, heard.body);
            if heard.status == 201 {
                let id = heard.body["data"]["id"].clone();
                assert_eq!(*ids.entry(name(number)).or_insert_with(|| id.clone()), id);
            }
        }
        assert_eq!(ids.len(), 8, "each was applied");
    }
    for client in &clients {
        assert_eq!(client.manuals().await.len(), 64);
    }
    for node in &nodes {
        node.assert_sound();
    }
}

/// The default is moved from portal to portal on both nodes at once: after each write there is exactly one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_have_one_default_at_any_moment() {
    let Some((nodes, clients)) = two_nodes().await else { return };
    let mut ids = Vec::new();
    for number in 0..6 {
        let body = json!({ "name": format!("Portal {number}"), "isDefault": true });
        let made = clients[number % 2].ask(Method::POST, "/api/v1/portals", None, Some(body)).await.unwrap();
        ids.push(made.body["data"]["id"].as_str().unwrap().to_owned());
    }
    let moving = (0..48).map(|number| {
        let (client, path) = (&clients[number % 2], format!("/api/v1/portals/{}", ids[number % ids.len()]));
        async move { client.ask(Method::PATCH, &path, None, Some(json!({ "data": { "isDefault": true } }))).await.unwrap().status }
    });
    let looking = (0..48).map(|number| {
        let client = &clients[number % 2];
        async move {
            let listed = client.get("/api/v1/portals").await.unwrap();
            listed.body["data"].as_array().unwrap().iter().filter(|row| row["isDefault"] == true).count()
        }
    });
    let (statuses, defaults) = tokio::join!(join_all(moving), join_all(looking));
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert!(defaults.iter().all(|count| *count == 1), "{defaults:?}");
    for node in &nodes {
        node.assert_sound();
    }
}

// The soak.

/// Minutes of everything at once: reads and writes by sixteen clients, and nothing but right answers; memory is told, and does
/// not grow without end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes ten minutes; `just soak` runs it"]
async fn soak() {
    const MOST: u64 = 150 * 1024;
    let seconds = number("VESTIBULE_SOAK_SECONDS", 600) as u64;
    let directory = tempfile::tempdir().unwrap();
    let database_url = std::env::var("VESTIBULE_SOAK_DATABASE_URL").unwrap_or_else(|_| sqlite_in(directory.path()));
    let server = Process::start(&database_url);
    let client = Client::of(&server).await;
    let (requests, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut clients = JoinSet::new();
    for number in 0..16 {
        clients.spawn(use_portals(client.clone(), number, requests.clone(), is_over.clone()));
    }
    let (began, mut seen) = (Instant::now(), Vec::new());
    while began.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(Duration::from_secs(seconds.clamp(10, 600) / 10)).await;
        let memory = server.memory().unwrap_or_default();
        println!("{:>4} s {:>9} requests {:>7} KiB", began.elapsed().as_secs(), requests.load(Ordering::Relaxed), memory);
        seen.push(memory);
    }
    is_over.store(true, Ordering::Relaxed);
    clients.join_all().await;
    server.assert_sound();
    assert_whole(&database_url);
    assert!(seen.iter().all(|memory| *memory < MOST), "{seen:?} KiB");
    // By the middle, everything that has a limit has reached it.
    let (first, second) = seen.split_at(seen.len() / 2);
    let most = |seen: &[u64]| seen.iter().copied().max().unwrap_or_default();
    assert!(most(second) <= most(first) + most(first) / 10, "memory grows: {seen:?} KiB");
}

/// Asks for what must succeed; `data` of the answer.
async fn served(client: &Client, requests: &AtomicUsize, method: Method, path: &str, key: Option<&str>, body: Option<Value>) -> Value {
    let heard = client.ask(method, path, key, body).await.unwrap_or_else(|| panic!("no answer: {path}"));
    assert!(matches!(heard.status, 200 | 201), "{path}: {} {}", heard.status, heard.body);
    requests.fetch_add(1, Ordering::Relaxed);
    heard.body["data"].clone()
}

/// A portal and a heading of its own, changed and read again and again. What there is does not grow, so memory should not
/// either; records of keys do, on the disk.
async fn use_portals(client: Client, number: usize, requests: Arc<AtomicUsize>, is_over: Arc<AtomicBool>) {
    let portal = Some(json!({ "name": format!("Portal {number}") }));
    let portal = served(&client, &requests, Method::POST, "/api/v1/portals", None, portal).await;
    let path = format!("/api/v1/portals/{}", portal["id"].as_str().unwrap());
    let heading = Some(json!({ "title": format!("Heading {number}") }));
    let heading = served(&client, &requests, Method::POST, "/api/v1/portal-manual-categories", None, heading).await;
    let mut round = 0;
    while !is_over.load(Ordering::Relaxed) {
        round += 1;
        let notes = format!("round {round}");
        let change = Some(json!({ "data": { "supportNotes": notes } }));
        served(&client, &requests, Method::PATCH, &path, None, change).await;
        assert_eq!(served(&client, &requests, Method::GET, &path, None, None).await["supportNotes"], notes.as_str());
        for list in ["/api/v1/portals", "/api/v1/precheck-steps", "/api/v1/properties?limit=10", "/api/v1/search?query=portal"] {
            served(&client, &requests, Method::GET, list, None, None).await;
        }
        let (key, order) = (format!("{number} {round}"), Some(json!({ "orderedIds": [heading["id"]] })));
        served(&client, &requests, Method::POST, "/api/v1/portal-manual-categories/reorder", Some(&key), order).await;
    }
}
