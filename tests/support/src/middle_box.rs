//! A proxy between a node and its PostgreSQL. It can accept bytes and drop them silently, like a
//! firewall that has lost its state or a proxy that hangs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// The message that the proxy drops at a commit: the commit itself or the response to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LostMessage {
    /// The proxy drops the commit, so the commit does not reach the database.
    Commit,
    /// The commit reaches the database. The proxy drops the database's response.
    Response,
}

/// Settings and counters of the proxy.
#[derive(Default)]
struct ProxySettings {
    /// One flag for each open connection. If a flag is set, the proxy drops all later bytes of that
    /// connection.
    connections: Mutex<Vec<Arc<AtomicBool>>>,
    /// Whether the proxy drops all bytes of connections that are opened while this flag is set.
    is_closed: AtomicBool,
    /// Delay of all data that the database sends, in milliseconds.
    delay: AtomicU64,
    /// Number of round trips between the node and the database that the node has begun.
    round_trips: AtomicU64,
    /// A text, and the message that the proxy drops. After a node has sent the text on a
    /// connection, the proxy drops the next commit on this connection or the response to that
    /// commit, and all later bytes of the connection. `None`: no commit is dropped.
    mark: Mutex<Option<(Vec<u8>, LostMessage)>>,
}

pub struct MiddleBox {
    /// The URL with which a node connects to the database through the proxy.
    pub database_url: String,
    settings: Arc<ProxySettings>,
}

impl MiddleBox {
    pub async fn in_front_of(database_url: &str) -> Self {
        let mut url = url::Url::parse(database_url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port()))
            .unwrap();
        let settings = Arc::new(ProxySettings::default());
        let shared = settings.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, shared.clone()));
            }
        });
        Self {
            database_url: url.into(),
            settings,
        }
    }

    /// Drops all later bytes of the connections that are open now. The proxy still forwards the
    /// bytes of connections that open afterwards.
    pub fn drop_open_connections(&self) {
        for is_dropping in self.settings.connections.lock().unwrap().drain(..) {
            is_dropping.store(true, Ordering::SeqCst);
        }
    }

    /// Drops all later bytes of the connections that are open now, and all bytes of connections
    /// that open before [`Self::open`] is called.
    pub fn close(&self) {
        self.settings.is_closed.store(true, Ordering::SeqCst);
        self.drop_open_connections();
    }

    /// Forwards the bytes of connections that open from now on. The proxy keeps dropping the bytes
    /// of connections that it began to drop before.
    pub fn open(&self) {
        self.settings.is_closed.store(false, Ordering::SeqCst);
    }

    /// Makes the proxy pass on all data of the database with the delay `by`.
    pub fn delay(&self, by: Duration) {
        self.settings
            .delay
            .store(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Returns the number of round trips that the node has begun.
    pub fn round_trips(&self) -> u64 {
        self.settings.round_trips.load(Ordering::SeqCst)
    }

    /// Makes the proxy wait for the first connection that sends `mark`. At that connection's next
    /// commit, the proxy drops the message that `lost_message` names, and all later bytes of the
    /// connection.
    pub fn drop_commit(&self, mark: &str, lost_message: LostMessage) {
        *self.settings.mark.lock().unwrap() = Some((mark.as_bytes().to_vec(), lost_message));
    }
}

async fn carry(client: TcpStream, port: u16, settings: Arc<ProxySettings>) {
    let is_dropping = Arc::new(AtomicBool::new(settings.is_closed.load(Ordering::SeqCst)));
    settings
        .connections
        .lock()
        .unwrap()
        .push(is_dropping.clone());
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let is_answered = AtomicBool::new(true);
    tokio::select! {
        () = to_database(from_client, to_server, &is_dropping, &is_answered, &settings) => {}
        () = to_service(from_server, to_client, &is_dropping, &is_answered, &settings) => {}
    }
}

async fn to_database(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_dropping: &AtomicBool,
    is_answered: &AtomicBool,
    settings: &ProxySettings,
) {
    let (mut bytes, mut at_commit) = (vec![0; 64 * 1024], None);
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let chunk = &bytes[..count];
        if is_answered.swap(false, Ordering::SeqCst) {
            settings.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        if let Some((_, lost_message)) = settings
            .mark
            .lock()
            .unwrap()
            .take_if(|(mark, _)| contains_bytes(chunk, mark))
        {
            at_commit = Some(lost_message);
        }
        let commit = at_commit.take_if(|_| contains_bytes(chunk, b"commit\0"));
        if commit == Some(LostMessage::Commit) {
            is_dropping.store(true, Ordering::SeqCst);
        }
        if is_dropping.load(Ordering::SeqCst) {
            continue;
        }
        if commit == Some(LostMessage::Response) {
            is_dropping.store(true, Ordering::SeqCst);
        }
        if to.write_all(chunk).await.is_err() {
            return;
        }
    }
}

async fn to_service(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_dropping: &AtomicBool,
    is_answered: &AtomicBool,
    settings: &ProxySettings,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        is_answered.store(true, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(settings.delay.load(Ordering::SeqCst))).await;
        if !is_dropping.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

fn contains_bytes(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
