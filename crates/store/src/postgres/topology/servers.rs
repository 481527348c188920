//! Chooses one of the servers that a URL names. For a primary's URL that is a server that accepts
//! writes. For a replica's URL it is any server, whose data may lag.
//!
//! The attempts to connect to the servers start [`HEAD_START`] apart, and the first suitable server
//! is used. So a server that accepts a connection and then hangs delays the next attempt only by
//! this time. The server that was used last is tried first. The addresses of one host name are
//! tried in the same way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::link::{Failure, Wire};
use crate::error::{Error, Result};

/// How long an attempt to connect may take before the attempt at the next address starts, while the
/// first attempt continues. A healthy server takes a few milliseconds.
const HEAD_START: Duration = Duration::from_millis(250);
/// Time limit of one attempt to connect, if the URL names several servers. With the limit, a server
/// that hangs leaves time to try all servers again. By then, another server may accept writes.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(1);
/// Maximum number of servers in a URL, and of addresses of a host name. It bounds the number of
/// connections that are tried at the same time.
const MAX_SERVERS: usize = 16;
/// PostgreSQL's default port.
const PORT: u16 = 5432;

/// The PostgreSQL servers that a database URL names.
pub(crate) struct Servers {
    /// One configuration for each server, with its host or address and its port.
    servers: Vec<Config>,
    /// Index of the server that was used last.
    last: AtomicUsize,
}

impl Servers {
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let hosts: Vec<Host> = config.get_hosts().iter().flat_map(split_hosts).collect();
        let (addresses, ports) = (config.get_hostaddrs(), config.get_ports());
        let count = hosts.len().max(addresses.len());
        let is_paired = |count_of_kind: usize| count_of_kind == 0 || count_of_kind == count;
        let problem = if count == 0 {
            Some("the database URL names no host")
        } else if count > MAX_SERVERS {
            Some("the database URL names more than 16 hosts")
        } else if !is_paired(hosts.len()) || !is_paired(addresses.len()) {
            Some("the database URL has different numbers of hosts and addresses (hostaddr)")
        } else if ports.len() > 1 && ports.len() != count {
            Some("the database URL has different numbers of ports and hosts")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(Error::Configuration(problem.into()));
        }
        let server = |index: usize| {
            let mut server = without_hosts(config);
            match hosts.get(index) {
                Some(Host::Tcp(name)) => {
                    server.host(name);
                }
                Some(Host::Unix(path)) => {
                    server.host_path(path);
                }
                None => {}
            }
            if let Some(address) = addresses.get(index) {
                server.hostaddr(*address);
            }
            server.port(ports.get(index).or(ports.first()).copied().unwrap_or(PORT));
            server
        };
        Ok(Self {
            servers: (0..count).map(server).collect(),
            last: AtomicUsize::default(),
        })
    }

    /// Returns the first successful connection to a server that has the required session
    /// attributes. [`first_of`] starts the attempts one after another, beginning with the server of
    /// the last connection.
    pub(crate) async fn connect(&self, tls: &MakeRustlsConnect) -> Result<(Client, Wire), Failure> {
        let first = self.last.load(Ordering::Relaxed);
        let count = self.servers.len();
        let attempts = (0..count)
            .map(|offset| (first + offset) % count)
            .map(async |index| {
                let connecting = connect(&self.servers[index], tls);
                let connected = if count == 1 {
                    Ok(connecting.await)
                } else {
                    timeout(ATTEMPT_LIMIT, connecting).await
                };
                Ok::<_, Failure>((
                    index,
                    connected
                        .map_err(|_| Failure::Silence)?
                        .map_err(Failure::Server)?,
                ))
            });
        let (index, connected) = first_of(attempts).await?;
        self.last.store(index, Ordering::Relaxed);
        Ok(connected)
    }
}

/// Splits the hosts in `?host=a,b`, which the driver treats as one host.
fn split_hosts(host: &Host) -> Vec<Host> {
    match host {
        Host::Tcp(names) => names
            .split(',')
            .map(|name| Host::Tcp(name.to_owned()))
            .collect(),
        path @ Host::Unix(_) => vec![path.clone()],
    }
}

/// Returns a configuration with the user, the password, the database and the other settings of
/// `config`, but without its hosts.
fn without_hosts(config: &Config) -> Config {
    let mut bare = Config::new();
    config.get_user().map(|user| bare.user(user));
    config
        .get_password()
        .map(|password| bare.password(password));
    config.get_dbname().map(|name| bare.dbname(name));
    config.get_options().map(|options| bare.options(options));
    config
        .get_application_name()
        .map(|name| bare.application_name(name));
    config
        .get_connect_timeout()
        .map(|limit| bare.connect_timeout(*limit));
    config
        .get_tcp_user_timeout()
        .map(|limit| bare.tcp_user_timeout(*limit));
    config
        .get_keepalives_interval()
        .map(|interval| bare.keepalives_interval(interval));
    config
        .get_keepalives_retries()
        .map(|retries| bare.keepalives_retries(retries));
    bare.keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle());
    bare.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding());
    bare.target_session_attrs(config.get_target_session_attrs());
    bare
}

/// Connects to one server, at any of its addresses.
async fn connect(
    server: &Config,
    tls: &MakeRustlsConnect,
) -> Result<(Client, Wire), tokio_postgres::Error> {
    let ([Host::Tcp(name)], []) = (server.get_hosts(), server.get_hostaddrs()) else {
        return server.connect(tls.clone()).await;
    };
    let port = server.get_ports().first().copied().unwrap_or(PORT);
    // If the host name cannot be resolved here, the driver tries to resolve it again and returns
    // the error.
    let Ok(addresses) = tokio::net::lookup_host((name.as_str(), port)).await else {
        return server.connect(tls.clone()).await;
    };
    let with_addresses: Vec<Config> = addresses
        .take(MAX_SERVERS)
        .map(|address| {
            let mut with_address = server.clone();
            with_address.hostaddr(address.ip());
            with_address
        })
        .collect();
    if with_addresses.is_empty() {
        return server.connect(tls.clone()).await;
    }
    first_of(
        with_addresses
            .iter()
            .map(async |with_address| with_address.connect(tls.clone()).await),
    )
    .await
}

/// Returns the result of the first attempt that succeeds. The next attempt begins when an earlier
/// attempt has failed, or [`HEAD_START`] after the latest one began. If all fail, returns the last
/// error. There must be at least one attempt.
async fn first_of<T, E>(
    attempts: impl ExactSizeIterator<Item = impl Future<Output = Result<T, E>>>,
) -> Result<T, E> {
    let mut attempts = attempts.peekable();
    let mut under_way: FuturesUnordered<_> = attempts.next().into_iter().collect();
    loop {
        let ended = if attempts.peek().is_some() {
            timeout(HEAD_START, under_way.next()).await
        } else {
            Ok(under_way.next().await)
        };
        let failure = match ended {
            Ok(Some(Ok(success))) => return Ok(success),
            Ok(Some(Err(failure))) => Some(failure),
            Ok(None) | Err(_) => None,
        };
        match (attempts.next(), failure) {
            (Some(next), _) => under_way.push(next),
            (None, Some(failure)) if under_way.is_empty() => return Err(failure),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::time::{Instant, sleep};
    use tokio_postgres::config::TargetSessionAttrs;

    use super::*;

    type Attempt = Pin<Box<dyn Future<Output = Result<u32, &'static str>>>>;

    fn after(milliseconds: u64, outcome: Result<u32, &'static str>) -> Attempt {
        Box::pin(async move {
            sleep(Duration::from_millis(milliseconds)).await;
            outcome
        })
    }

    async fn of(attempts: Vec<Attempt>) -> (Result<u32, &'static str>, u128) {
        let began = Instant::now();
        (
            first_of(attempts.into_iter()).await,
            began.elapsed().as_millis(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_delays_the_next_by_a_quarter_second() {
        assert_eq!(of(vec![after(5, Ok(1)), after(5, Ok(2))]).await, (Ok(1), 5));
        assert_eq!(
            of(vec![after(100_000, Ok(1)), after(5, Ok(2))]).await,
            (Ok(2), 255)
        );
        assert_eq!(
            of(vec![after(5, Err("a")), after(5, Ok(2))]).await,
            (Ok(2), 10),
            "the next attempt starts at once after a refusal"
        );
        assert_eq!(
            of(vec![
                after(100_000, Ok(1)),
                after(5, Err("b")),
                after(5, Ok(3))
            ])
            .await,
            (Ok(3), 260)
        );
        assert_eq!(
            of(vec![after(300, Ok(1)), after(5, Err("b"))]).await,
            (Ok(1), 300),
            "a slow attempt may still succeed",
        );
        assert_eq!(
            of(vec![after(5, Err("a")), after(5, Err("b"))]).await,
            (Err("b"), 10)
        );
        assert_eq!(
            of(vec![after(400, Err("a")), after(5, Err("b"))]).await,
            (Err("a"), 400)
        );
        assert_eq!(of(vec![after(7, Err("a"))]).await, (Err("a"), 7));
    }

    fn servers(url: &str) -> Result<Servers, String> {
        let mut config: Config = url.parse().unwrap();
        Servers::of(config.target_session_attrs(TargetSessionAttrs::ReadWrite))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_host_of_a_url_is_a_separate_server() {
        let servers =
            servers("postgres://user:secret@one:5433,two,[::1]:5434/vestibule?connect_timeout=3")
                .unwrap()
                .servers;
        let hosts_and_ports =
            |server: &Config| (server.get_hosts().to_vec(), server.get_ports().to_vec());
        let expected = [("one", 5433), ("two", 5432), ("::1", 5434)]
            .map(|(name, port)| (vec![Host::Tcp(name.into())], vec![port]));
        assert_eq!(
            servers.iter().map(hosts_and_ports).collect::<Vec<_>>(),
            expected
        );
        for server in servers {
            assert_eq!(
                (
                    server.get_user(),
                    server.get_password(),
                    server.get_dbname()
                ),
                (Some("user"), Some(&b"secret"[..]), Some("vestibule"))
            );
            assert_eq!(
                server.get_target_session_attrs(),
                TargetSessionAttrs::ReadWrite
            );
            assert_eq!(server.get_connect_timeout(), Some(&Duration::from_secs(3)));
        }
    }

    #[test]
    fn the_numbers_of_hosts_and_ports_must_match() {
        assert!(
            servers("postgres:///vestibule?host=a,b&port=1,2,3")
                .is_err_and(|reported| reported.contains("numbers of ports"))
        );
        assert!(
            servers("postgres:///vestibule?host=a,b&hostaddr=127.0.0.1")
                .is_err_and(|reported| reported.contains("numbers of hosts"))
        );
        assert!(
            servers("postgres:///vestibule").is_err_and(|reported| reported.contains("no host"))
        );
        assert!(
            servers(&format!(
                "postgres:///vestibule?host={}",
                ["a"; 17].join(",")
            ))
            .is_err_and(|reported| reported.contains("more than 16"))
        );
        assert_eq!(
            servers("postgres:///vestibule?host=a,b,c&port=5555")
                .unwrap()
                .servers
                .len(),
            3
        );
        assert_eq!(
            servers("postgres:///vestibule?hostaddr=127.0.0.1,127.0.0.2")
                .unwrap()
                .servers
                .len(),
            2
        );
        assert_eq!(
            servers("postgres:///vestibule?host=/run/postgresql")
                .unwrap()
                .servers
                .len(),
            1
        );
    }
}
