//! The log of accepted requests that all nodes share, in Redis: one script a request, which judges as [`super::rate_limit`].
//!
//! Redis makes limits exact across nodes, and nothing waits for it longer than a moment. A request that gets no answer in
//! time gives the connection up, and [`keep`](SharedLog::keep) looks for another in the background: until one answers,
//! requests do not ask at all.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _, RedisError, Script};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::rate_limit::{Decision, Windows};

/// How long a request waits for its answer.
const DEADLINE: Duration = Duration::from_millis(50);
/// How long a connection may take to be made; a node that starts waits for that once.
const CONNECT_DEADLINE: Duration = Duration::from_secs(1);
/// How long nothing is asked after a connection was lost or refused.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a connection is tried, so that one that has gone is noticed, and none is closed for being idle.
const TRY_EVERY: Duration = Duration::from_secs(5);
/// Requests that wait to be sent; more wait in line for that.
const QUEUE: usize = 1_024;

/// What the keys of this service begin with.
const PREFIX: &str = "vestibule:rate-limit:";
/// A log that is nobody's: what a connection is tried with.
const NOBODY: &str = "nobody";
const NOBODYS: Windows = Windows { per_minute: 0, per_second: u32::MAX };

/// The log, wherever it is.
pub struct SharedLog {
    client: Client,
    script: Script,
    link: watch::Sender<Link>,
}

/// How Redis is reached at the moment.
enum Link {
    /// By the connection of this number.
    Up(u64, MultiplexedConnection),
    /// Not at all, for this reason.
    Down(String),
}

impl SharedLog {
    /// The log in the Redis of a `redis://` or `rediss://` URL. Nothing is connected yet.
    pub(super) fn new(url: &str) -> Result<Self, String> {
        // The URL may hold a password, so what is said of it does not quote it.
        let wrong = |what: &dyn Display| format!("--redis-url is not an address such as redis://127.0.0.1:6379/0: {what}");
        let url = Url::parse(url).map_err(|error| wrong(&error))?;
        if !matches!(url.scheme(), "redis" | "rediss") {
            return Err(wrong(&"it begins with redis:// or rediss://"));
        }
        if url.fragment().is_some() {
            return Err(wrong(&"nothing may stand behind #"));
        }
        let info = url.into_connection_info().map_err(|error| wrong(&error))?;
        // Without this a small request may wait for the receipt of the one before, which takes most of the deadline.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = Client::open(info).map_err(|error| wrong(&error))?;
        let (link, _) = watch::channel(Link::Down("it has not been tried".into()));
        Ok(Self { client, script: Script::new(include_str!("rate_limit.lua")), link })
    }

    /// Judges a request, and counts it if it is accepted. `None` where there is no answer in time.
    ///
    /// `staged` is the moment where a test says what time it is; otherwise the clock of Redis is the one that counts, because
    /// those of nodes differ.
    pub(super) async fn take(&self, log: &str, windows: Windows, staged: Option<Duration>) -> Option<Decision> {
        let (number, connection) = self.connection()?;
        match self.ask(connection, log, windows, staged).await {
            Ok(decision) => Some(decision),
            Err(cause) => {
                self.give_up(number, cause);
                None
            }
        }
    }

    /// Keeps a connection, or looks for one, until `stop` is cancelled. What changes is said once each time.
    pub async fn keep(self: Arc<Self>, stop: CancellationToken) {
        stop.run_until_cancelled(self.keep_on()).await;
    }

    /// The end of the next attempt to connect, however it goes.
    pub fn next_attempt(&self) -> impl Future<Output = ()> + use<> {
        let mut link = self.link.subscribe();
        async move {
            // The sender is gone only when the process ends.
            let _ = link.changed().await;
        }
    }

    async fn keep_on(&self) {
        let mut was_up = true;
        for number in 0.. {
            match self.connect().await {
                Ok(connection) => {
                    if !was_up {
                        // As loud as the loss, so that whoever heard of that hears of this.
                        tracing::warn!("Redis answers again: this node shares rate limits with the others");
                    }
                    was_up = true;
                    self.link.send_replace(Link::Up(number, connection));
                    self.until_lost().await;
                }
                Err(cause) => {
                    self.link.send_replace(Link::Down(cause));
                }
            }
            if was_up {
                tracing::warn!(cause = self.cause(), "Redis does not answer: this node counts rate limits by itself");
            }
            was_up = false;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A connection over which a request has been judged, which a Redis that only reads or is full does not do.
    async fn connect(&self) -> Result<MultiplexedConnection, String> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_DEADLINE)).set_pipeline_buffer_size(QUEUE);
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await.map_err(|error| error.to_string())?;
        self.ask(connection.clone(), NOBODY, NOBODYS, None).await?;
        Ok(connection)
    }

    async fn until_lost(&self) {
        let mut link = self.link.subscribe();
        while timeout(TRY_EVERY, link.wait_for(|link| matches!(link, Link::Down(_)))).await.is_err() {
            self.take(NOBODY, NOBODYS, None).await;
        }
    }

    /// Asks over a connection; the reason where that comes to nothing.
    async fn ask(
        &self,
        mut connection: MultiplexedConnection,
        log: &str,
        windows: Windows,
        staged: Option<Duration>,
    ) -> Result<Decision, String> {
        let mut call = self.script.prepare_invoke();
        call.key(format!("{PREFIX}{log}")).arg(windows.per_minute).arg(windows.per_second);
        if let Some(moment) = staged {
            call.arg(u64::try_from(moment.as_micros()).unwrap_or(u64::MAX));
        }
        let answer: Result<(u64, u32, u64), RedisError> =
            timeout(DEADLINE, call.invoke_async(&mut connection)).await.map_err(|_| format!("no answer within {DEADLINE:?}"))?;
        let (wait, used, leaves) = answer.map_err(|error| error.to_string())?;
        Ok(Decision { wait: (wait > 0).then(|| Duration::from_micros(wait)), used, leaves: Duration::from_micros(leaves) })
    }

    fn connection(&self) -> Option<(u64, MultiplexedConnection)> {
        match &*self.link.borrow() {
            Link::Up(number, connection) => Some((*number, connection.clone())),
            Link::Down(_) => None,
        }
    }

    fn cause(&self) -> String {
        match &*self.link.borrow() {
            Link::Up(..) => String::new(),
            Link::Down(cause) => cause.clone(),
        }
    }

    /// Lets a connection go, unless another has taken its place since.
    fn give_up(&self, number: u64, cause: String) {
        self.link.send_if_modified(|link| {
            let is_it = matches!(link, Link::Up(current, _) if *current == number);
            if is_it {
                *link = Link::Down(cause);
            }
            is_it
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_redis_addresses_and_are_not_repeated() {
        for url in ["redis://127.0.0.1", "redis://127.0.0.1:6380/1", "rediss://user:secret@redis.example:6380/2", "redis://[::1]"] {
            assert!(SharedLog::new(url).is_ok(), "{url}");
        }
        for url in ["", "127.0.0.1:6379", "http://:secret@x", "unix:///run/secret", "rediss://:secret@x/#insecure", "redis://:secret@x/y"] {
            let message = SharedLog::new(url).err().unwrap();
            assert!(message.starts_with("--redis-url") && !message.contains("secret"), "{url}: {message}");
        }
    }
}
