//! A proxy between a server and its PostgreSQL. It can accept bytes and drop them, like a firewall
//! that has lost its state or a proxy that hangs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Says whether the commit or only its answer is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// The commit does not reach the database.
    Before,
    /// The commit reaches the database, and the answer does not come back.
    After,
}

/// Settings of the proxy.
#[derive(Default)]
struct Orders {
    /// One flag for each open connection. A connection whose flag is set drops all bytes until it
    /// ends.
    connections: Mutex<Vec<Arc<AtomicBool>>>,
    /// Whether new connections drop all bytes, too.
    is_closed: AtomicBool,
    /// Delay in milliseconds before data from the database is passed on.
    delay: AtomicU64,
    /// Number of round trips that the server has begun.
    questions: AtomicU64,
    /// Bytes to look for. The connection that carries them drops all bytes from its commit on.
    marked: Mutex<Option<(Vec<u8>, Around)>>,
}

pub struct MiddleBox {
    /// URL of the database through the proxy.
    pub database_url: String,
    orders: Arc<Orders>,
}

impl MiddleBox {
    pub async fn before(database_url: &str) -> Self {
        let mut url = url::Url::parse(database_url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port()))
            .unwrap();
        let orders = Arc::new(Orders::default());
        let heard = orders.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, heard.clone()));
            }
        });
        Self {
            database_url: url.into(),
            orders,
        }
    }

    /// Drops all bytes on the connections that are open now. New connections work.
    pub fn forget_connections(&self) {
        for is_swallowed in self.orders.connections.lock().unwrap().drain(..) {
            is_swallowed.store(true, Ordering::SeqCst);
        }
    }

    /// Drops all bytes on open and new connections.
    pub fn close(&self) {
        self.orders.is_closed.store(true, Ordering::SeqCst);
        self.forget_connections();
    }

    /// Lets new connections work again.
    pub fn open(&self) {
        self.orders.is_closed.store(false, Ordering::SeqCst);
    }

    /// Delays all data from the database by this duration.
    pub fn delay(&self, by: Duration) {
        self.orders
            .delay
            .store(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Returns the number of round trips that the service has begun to the database.
    pub fn questions(&self) -> u64 {
        self.orders.questions.load(Ordering::SeqCst)
    }

    /// Drops all bytes of one connection from its commit on: the first connection that sends
    /// `mark`.
    pub fn swallow_commit(&self, mark: &str, around: Around) {
        *self.orders.marked.lock().unwrap() = Some((mark.as_bytes().to_vec(), around));
    }
}

async fn carry(client: TcpStream, port: u16, orders: Arc<Orders>) {
    let is_swallowed = Arc::new(AtomicBool::new(orders.is_closed.load(Ordering::SeqCst)));
    orders
        .connections
        .lock()
        .unwrap()
        .push(is_swallowed.clone());
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let is_answered = AtomicBool::new(true);
    tokio::select! {
        () = to_database(from_client, to_server, &is_swallowed, &is_answered, &orders) => {}
        () = to_service(from_server, to_client, &is_swallowed, &is_answered, &orders) => {}
    }
}

async fn to_database(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_swallowed: &AtomicBool,
    is_answered: &AtomicBool,
    orders: &Orders,
) {
    let (mut bytes, mut at_commit) = (vec![0; 64 * 1024], None);
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let chunk = &bytes[..count];
        if is_answered.swap(false, Ordering::SeqCst) {
            orders.questions.fetch_add(1, Ordering::SeqCst);
        }
        if let Some((_, around)) = orders
            .marked
            .lock()
            .unwrap()
            .take_if(|(mark, _)| holds(chunk, mark))
        {
            at_commit = Some(around);
        }
        let commit = at_commit.take_if(|_| holds(chunk, b"commit\0"));
        if commit == Some(Around::Before) {
            is_swallowed.store(true, Ordering::SeqCst);
        }
        if is_swallowed.load(Ordering::SeqCst) {
            continue;
        }
        if commit == Some(Around::After) {
            is_swallowed.store(true, Ordering::SeqCst);
        }
        if to.write_all(chunk).await.is_err() {
            return;
        }
    }
}

async fn to_service(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    is_swallowed: &AtomicBool,
    is_answered: &AtomicBool,
    orders: &Orders,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        is_answered.store(true, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(orders.delay.load(Ordering::SeqCst))).await;
        if !is_swallowed.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
