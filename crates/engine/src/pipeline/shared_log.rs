//! The log of accepted requests that all nodes share, in Redis. For each request, Redis runs one
//! script, which decides by the rule of [`super::rate_limit`].
//!
//! With Redis, limits are exact across nodes. No request waits long for Redis: if an answer is
//! late, the connection is dropped, and [`keep`](SharedLog::keep) opens a new connection in the
//! background. Until that succeeds, requests do not use Redis.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _, RedisError, Script};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::rate_limit::{Decision, Windows};
use crate::background::BackgroundTask;

/// How long a request waits for an answer of Redis.
const DEADLINE: Duration = Duration::from_millis(50);
/// Time limit for opening a connection. A node waits for the first attempt when it starts.
const CONNECT_DEADLINE: Duration = Duration::from_secs(1);
/// Delay before the next attempt to connect, after a connection was lost or refused.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// Interval of test requests on a connection. They detect a lost connection, and keep Redis or a
/// proxy from closing an idle connection.
const TEST_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of requests in the send queue of a connection. When the queue is full,
/// requests wait for space in it.
const QUEUE: usize = 1_024;

/// The prefix of all keys in Redis.
const PREFIX: &str = "vestibule:rate-limit:";
/// The name of the log that test requests use. A test request shows whether Redis answers. No
/// credential has a log of this name.
const TEST_LOG: &str = "nobody";
const TEST_WINDOWS: Windows = Windows {
    per_minute: 0,
    per_second: u32::MAX,
};

/// The log of accepted requests in Redis, which all nodes share.
pub struct SharedLog {
    client: Client,
    script: Script,
    link: watch::Sender<RedisLink>,
}

/// The state of the connection to Redis.
enum RedisLink {
    /// Connected. The number tells this connection from earlier ones.
    Up(u64, MultiplexedConnection),
    /// Not connected. The text is the reason, for log messages.
    Down(String),
}

impl SharedLog {
    /// Creates the log of requests that all nodes share, in the Redis at a `redis://` or
    /// `rediss://` URL. Does not connect to Redis.
    pub(super) fn new(url: &str) -> Result<Self, String> {
        // The URL may contain a password, so error messages do not quote it.
        let invalid_url = |reason: &dyn Display| {
            format!("--redis-url is not an address such as redis://127.0.0.1:6379/0: {reason}")
        };
        let url = Url::parse(url).map_err(|error| invalid_url(&error))?;
        if !matches!(url.scheme(), "redis" | "rediss") {
            return Err(invalid_url(&"it must begin with redis:// or rediss://"));
        }
        if url.fragment().is_some() {
            return Err(invalid_url(&"it must not have a fragment (#…)"));
        }
        let info = url
            .into_connection_info()
            .map_err(|error| invalid_url(&error))?;
        // Without `TCP_NODELAY`, a small request may wait for the acknowledgement of the request
        // before it, and that could take most of the deadline.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = Client::open(info).map_err(|error| invalid_url(&error))?;
        let (link, _) = watch::channel(RedisLink::Down("no connection has been tried yet".into()));
        Ok(Self {
            client,
            script: Script::new(include_str!("rate_limit.lua")),
            link,
        })
    }

    /// Decides on a request, and counts it if it is accepted. Returns `None` if Redis does not
    /// answer in time.
    ///
    /// `staged` is the time that a test has set. Without it, the script uses the clock of Redis,
    /// because the clocks of nodes differ.
    pub(super) async fn take(
        &self,
        log: &str,
        windows: Windows,
        staged: Option<Duration>,
    ) -> Option<Decision> {
        let (number, connection) = self.connection()?;
        match self.ask(connection, log, windows, staged).await {
            Ok(decision) => Some(decision),
            Err(cause) => {
                self.give_up(number, cause);
                None
            }
        }
    }

    /// Keeps a connection to Redis open, and reconnects after a loss, until `stop` is cancelled.
    /// Logs each loss and each recovery once.
    #[must_use]
    pub fn keep(self: Arc<Self>, stop: CancellationToken) -> BackgroundTask {
        async move {
            stop.run_until_cancelled(self.reconnect_forever()).await;
        }
        .boxed()
    }

    /// Returns a future that completes when the next attempt to connect to Redis has succeeded or
    /// failed.
    pub fn next_attempt(&self) -> impl Future<Output = ()> + use<> {
        let mut link = self.link.subscribe();
        async move {
            // `changed` fails only if the sender was dropped, and the sender lives as long as the
            // process.
            let _ = link.changed().await;
        }
    }

    async fn reconnect_forever(&self) {
        let mut was_up = true;
        for number in 0.. {
            match self.connect().await {
                Ok(connection) => {
                    if !was_up {
                        // This message has the same level as the message about the lost connection,
                        // so that a log filter passes both or neither.
                        tracing::warn!(
                            "Redis answers again; this node shares rate limits with the others"
                        );
                    }
                    was_up = true;
                    self.link.send_replace(RedisLink::Up(number, connection));
                    self.until_lost().await;
                }
                Err(cause) => {
                    self.link.send_replace(RedisLink::Down(cause));
                }
            }
            if was_up {
                tracing::warn!(
                    cause = self.cause(),
                    "Redis does not answer; this node counts rate limits alone until it does"
                );
            }
            was_up = false;
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
    }

    /// Opens a connection and tests it with a request. The test fails if Redis is read-only or
    /// full.
    async fn connect(&self) -> Result<MultiplexedConnection, String> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_DEADLINE))
            .set_pipeline_buffer_size(QUEUE);
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|error| error.to_string())?;
        self.ask(connection.clone(), TEST_LOG, TEST_WINDOWS, None)
            .await?;
        Ok(connection)
    }

    async fn until_lost(&self) {
        let mut link = self.link.subscribe();
        while timeout(
            TEST_INTERVAL,
            link.wait_for(|link| matches!(link, RedisLink::Down(_))),
        )
        .await
        .is_err()
        {
            self.take(TEST_LOG, TEST_WINDOWS, None).await;
        }
    }

    /// Runs the rate limit script in Redis. The error is a text for log messages.
    async fn ask(
        &self,
        mut connection: MultiplexedConnection,
        log: &str,
        windows: Windows,
        staged: Option<Duration>,
    ) -> Result<Decision, String> {
        let mut call = self.script.prepare_invoke();
        call.key(format!("{PREFIX}{log}"))
            .arg(windows.per_minute)
            .arg(windows.per_second);
        if let Some(time) = staged {
            call.arg(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        }
        let result: Result<(u64, u32, u64), RedisError> =
            timeout(DEADLINE, call.invoke_async(&mut connection))
                .await
                .map_err(|_| format!("no answer within {DEADLINE:?}"))?;
        let (wait, used, oldest_leaves_in) = result.map_err(|error| error.to_string())?;
        Ok(Decision {
            wait: (wait > 0).then(|| Duration::from_micros(wait)),
            used,
            oldest_leaves_in: Duration::from_micros(oldest_leaves_in),
        })
    }

    fn connection(&self) -> Option<(u64, MultiplexedConnection)> {
        match &*self.link.borrow() {
            RedisLink::Up(number, connection) => Some((*number, connection.clone())),
            RedisLink::Down(_) => None,
        }
    }

    fn cause(&self) -> String {
        match &*self.link.borrow() {
            RedisLink::Up(..) => String::new(),
            RedisLink::Down(cause) => cause.clone(),
        }
    }

    /// Drops the connection with this number, unless a newer connection has already replaced it.
    fn give_up(&self, number: u64, cause: String) {
        self.link.send_if_modified(|link| {
            let is_current = matches!(link, RedisLink::Up(current, _) if *current == number);
            if is_current {
                *link = RedisLink::Down(cause);
            }
            is_current
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_redis_urls_are_refused_without_showing_secrets() {
        for url in [
            "redis://127.0.0.1",
            "redis://127.0.0.1:6380/1",
            "rediss://user:secret@redis.example:6380/2",
            "redis://[::1]",
        ] {
            assert!(SharedLog::new(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:6379",
            "http://:secret@x",
            "unix:///run/secret",
            "rediss://:secret@x/#insecure",
            "redis://:secret@x/y",
        ] {
            let message = SharedLog::new(url).err().unwrap();
            assert!(
                message.starts_with("--redis-url") && !message.contains("secret"),
                "{url}: {message}"
            );
        }
    }
}
