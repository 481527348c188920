//! Something between a server and its PostgreSQL that swallows bytes and acknowledges them, as a firewall does that has lost
//! its state, or a proxy that hangs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Which side of a commit is the last that passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Around {
    /// The commit does not reach the database.
    Before,
    /// It does, and its answer does not come back.
    After,
}

/// What the box has been told to do.
#[derive(Default)]
struct Orders {
    /// Every connection, of those that are there: whether it is one whose bytes are swallowed. That is for good.
    connections: Mutex<Vec<Arc<AtomicBool>>>,
    /// Those that come are such ones, too.
    is_closed: AtomicBool,
    /// Milliseconds that what the database says takes.
    delay: AtomicU64,
    /// How often the service has said something and waited for the answer.
    questions: AtomicU64,
    /// The connection on which this passes becomes one at its commit.
    marked: Mutex<Option<(Vec<u8>, Around)>>,
}

/// The box.
pub struct MiddleBox {
    /// The database, through the box.
    pub database_url: String,
    orders: Arc<Orders>,
}

impl MiddleBox {
    pub async fn before(database_url: &str) -> Self {
        let mut url = url::Url::parse(database_url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let orders = Arc::new(Orders::default());
        let heard = orders.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, port, heard.clone()));
            }
        });
        Self { database_url: url.into(), orders }
    }

    /// From now on nothing passes on the connections that are there. New ones are let through.
    pub fn forget_connections(&self) {
        for is_swallowed in self.orders.connections.lock().unwrap().drain(..) {
            is_swallowed.store(true, Ordering::SeqCst);
        }
    }

    /// From now on nothing passes, on new connections neither.
    pub fn close(&self) {
        self.orders.is_closed.store(true, Ordering::SeqCst);
        self.forget_connections();
    }

    /// New connections are let through again.
    pub fn open(&self) {
        self.orders.is_closed.store(false, Ordering::SeqCst);
    }

    /// From now on whatever the database says takes so long.
    pub fn delay(&self, by: Duration) {
        self.orders.delay.store(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// How often the service has said something and waited for the answer.
    pub fn questions(&self) -> u64 {
        self.orders.questions.load(Ordering::SeqCst)
    }

    /// Nothing passes any more on the connection of the transaction that mentions `mark`, from its commit on.
    pub fn swallow_commit(&self, mark: &str, around: Around) {
        *self.orders.marked.lock().unwrap() = Some((mark.as_bytes().to_vec(), around));
    }
}

async fn carry(client: TcpStream, port: u16, orders: Arc<Orders>) {
    let is_swallowed = Arc::new(AtomicBool::new(orders.is_closed.load(Ordering::SeqCst)));
    orders.connections.lock().unwrap().push(is_swallowed.clone());
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
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
        if let Some((_, around)) = orders.marked.lock().unwrap().take_if(|(mark, _)| holds(chunk, mark)) {
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

async fn to_service(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, is_swallowed: &AtomicBool, is_answered: &AtomicBool, orders: &Orders) {
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
