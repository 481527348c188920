//! A connection to a PostgreSQL server, and the way in which this process opens one.
//!
//! Every request to the server has a deadline in this process. A limit that the server enforces
//! (`statement_timeout`) does not help if the statement never reaches the server. A network device
//! may drop every byte of a connection and still acknowledge it. Neither keep-alives nor TCP's own
//! timeout notice such a loss. The thread that waits for the answer drives the socket itself. At
//! the deadline the thread stops waiting and closes the connection.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::topology::servers::Servers;
use crate::WAIT_LIMIT;
use crate::error::{self, Error, Result};

/// Limit for sending the message that closes a connection. If the message is not sent in time, the
/// server notices the closed socket.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// SQLSTATE class 08: connection errors, including those that a pooler reports about its server.
const CONNECTION_ERRORS: &str = "08";

/// The driver's future that reads and writes the socket, with or without TLS.
pub(super) type Wire =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server did not answer in time.
    Silence,
    /// The connection was lost before the request was sent.
    Lost,
    /// The operating system has no resources for a connection.
    System(io::Error),
    /// The server no longer accepts writes.
    Demoted,
    /// The server or the driver reports an error.
    Server(tokio_postgres::Error),
}

impl Failure {
    /// Returns whether no more statements can succeed on this connection: it failed, the server
    /// ended it or is shutting down, or the server no longer accepts writes. Another connection,
    /// perhaps to another server, may succeed.
    fn ends_connection(&self) -> bool {
        let Self::Server(error) = self else {
            return true;
        };
        let Some(server_error) = error.as_db_error() else {
            return false;
        };
        let code = server_error.code();
        matches!(
            server_error.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        ) || code.code().starts_with(CONNECTION_ERRORS)
            || [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::READ_ONLY_SQL_TRANSACTION,
            ]
            .contains(code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("the server did not answer in time"),
            Self::Lost => f.write_str("the connection was lost"),
            Self::Demoted => f.write_str("the server no longer accepts writes"),
            Self::System(error) => error.fmt(f),
            Self::Server(error) => f.write_str(&error::describe(error)),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Server(error) => error.into(),
            temporary => Self::Unavailable(temporary.to_string()),
        }
    }
}

/// A connection to the server.
pub(super) struct Link {
    client: Client,
    wire: Wire,
    /// Whether the future `wire` has ended. An ended future must not be polled again.
    has_ended: bool,
    is_lost: bool,
    runtime: Runtime,
}

impl Link {
    /// Sends a request and waits for the answer until a deadline. If no answer comes in time, marks
    /// the connection as lost, because a late answer would be taken for the answer to the next
    /// request.
    pub(super) fn ask<T, F: Into<Failure>>(
        &mut self,
        until: Instant,
        request: impl AsyncFnOnce(&mut Client) -> Result<T, F>,
    ) -> Result<T, Failure> {
        let answer = self
            .drive(until, request)
            .and_then(|answer| answer.map_err(Into::into));
        self.is_lost |= self.has_ended || answer.as_ref().is_err_and(Failure::ends_connection);
        answer
    }

    /// Does the same as [`Link::ask`], for a request with a result of any type. An error in that
    /// result does not mark the connection as lost.
    pub(super) fn drive<T>(
        &mut self,
        until: Instant,
        request: impl AsyncFnOnce(&mut Client) -> T,
    ) -> Result<T, Failure> {
        let Self {
            client,
            wire,
            has_ended,
            is_lost,
            runtime,
        } = self;
        if *is_lost {
            return Err(Failure::Lost);
        }
        let driven = runtime.block_on(async {
            let mut answer = pin!(request(client));
            let driven = poll_fn(|context| {
                let mut end = None;
                if !*has_ended && let Poll::Ready(ended) = Pin::new(&mut *wire).poll(context) {
                    *has_ended = true;
                    end = ended.err();
                }
                // An answer that arrived before the connection ended is valid.
                match (answer.as_mut().poll(context), end) {
                    (Poll::Ready(answer), _) => Poll::Ready(Ok(answer)),
                    (Poll::Pending, Some(error)) => Poll::Ready(Err(Failure::Server(error))),
                    // There is no answer yet. If the connection (`wire`) has ended without an
                    // error, the driver makes `answer` return an error at a later poll.
                    (Poll::Pending, None) => Poll::Pending,
                }
            });
            timeout_at(until, driven).await
        });
        let answer = driven.unwrap_or(Err(Failure::Silence));
        *is_lost |= answer.is_err();
        answer
    }

    /// Runs statements that have no parameters and return no rows.
    pub(super) fn run(&mut self, until: Instant, sql: &str) -> Result<(), Failure> {
        self.ask(until, async |client| client.batch_execute(sql).await)
    }

    /// Runs statements without parameters, and returns the first column of the first row. Returns
    /// `None` if there is no row.
    pub(super) fn scalar(&mut self, until: Instant, sql: &str) -> Result<Option<String>, Failure> {
        let messages = self.ask(until, async |client| client.simple_query(sql).await)?;
        Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// Returns whether the connection was lost, so that no more requests can be sent.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns whether the server no longer accepts writes. From PostgreSQL 14 on, a server reports
    /// this together with its answers.
    pub(super) fn is_read_only(&self) -> bool {
        ["in_hot_standby", "default_transaction_read_only"]
            .iter()
            .any(|setting| self.wire.parameter(setting) == Some("on"))
    }

    /// Tells the server that the connection ends, and closes the connection.
    pub(super) fn close(self) {
        let Self {
            client,
            wire,
            runtime,
            is_lost,
            ..
        } = self;
        drop(client);
        if !is_lost {
            // If the server does not read the closing message, it notices the closed socket later.
            drop(runtime.block_on(async { timeout(CLOSE_TIMEOUT, wire).await }));
        }
    }
}

/// Opens connections to the servers of a URL.
pub(super) struct Connector {
    servers: Servers,
    tls: MakeRustlsConnect,
}

impl Connector {
    /// Creates a connector that connects only to servers of the URL that have these session
    /// attributes, such as `read-write`.
    pub(super) fn new(url: &str, attributes: TargetSessionAttrs) -> Result<Self> {
        let (url, tls) = tls_of(url)?;
        let mut config: Config = url
            .parse()
            .map_err(|error| Error::Configuration(error::describe(&error)))?;
        config.ssl_mode(if tls.is_some() {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        config.connect_timeout(WAIT_LIMIT);
        // With this timeout the kernel detects a server that has vanished from the network.
        config.tcp_user_timeout(WAIT_LIMIT);
        config.keepalives_idle(Duration::from_secs(10));
        config.application_name("vestibule");
        let tls = tls.map_or_else(|| tls_trusting(rustls::RootCertStore::empty()), Ok)?;
        config.target_session_attrs(attributes);
        Ok(Self {
            servers: Servers::of(&config)?,
            tls: MakeRustlsConnect::new(tls),
        })
    }

    /// Opens an authenticated connection to one of the servers. Gives up at the time `until`.
    pub(super) fn connect(&self, until: Instant) -> Result<Link, Failure> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::System)?;
        let connected =
            runtime.block_on(async { timeout_at(until, self.servers.connect(&self.tls)).await });
        let failure = match connected {
            Ok(Ok((client, wire))) => {
                return Ok(Link {
                    client,
                    wire,
                    has_ended: false,
                    is_lost: false,
                    runtime,
                });
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Silence,
        };
        // A name server that does not answer may block a thread of this runtime. Do not wait for
        // that thread.
        runtime.shutdown_background();
        Err(failure)
    }
}

/// Returns the URL without its TLS settings `sslmode` and `sslrootcert`, and the TLS configuration
/// that these settings describe; `None` means no TLS. The modes `require`, `verify-ca` and
/// `verify-full` all mean TLS with a verified certificate. `sslrootcert` names a PEM file with
/// authorities that are trusted besides those of the system. Also removes `target_session_attrs`
/// from the URL, because the program itself decides whether the server must accept writes.
fn tls_of(url: &str) -> Result<(String, Option<rustls::ClientConfig>)> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut is_tls, mut root, mut rest) = (false, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", "require" | "verify-ca" | "verify-full")) => is_tls = true,
            Some(
                ("sslmode", "disable" | "allow" | "prefer")
                | ("target_session_attrs", "read-write" | "primary" | "any"),
            ) => {}
            Some(("sslmode", other)) => {
                return Err(Error::Configuration(format!(
                    "sslmode={other} is not supported; use disable, allow, prefer, require, \
                        verify-ca or verify-full"
                )));
            }
            Some(("target_session_attrs", other)) => {
                return Err(Error::Configuration(format!(
                    "target_session_attrs={other} is not supported; use read-write, primary or any"
                )));
            }
            Some(("sslrootcert", path)) => root = Some(path.to_owned()),
            _ => rest.push(pair),
        }
    }
    let url = if rest.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", rest.join("&"))
    };
    Ok((
        url,
        if is_tls {
            Some(verified_tls(root.as_deref())?)
        } else {
            None
        },
    ))
}

fn unusable(what: impl fmt::Display) -> Error {
    Error::Configuration(format!("TLS: {what}"))
}

fn verified_tls(root: Option<&str>) -> Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = root {
        for certificate in CertificateDer::pem_file_iter(path).map_err(unusable)? {
            roots
                .add(certificate.map_err(unusable)?)
                .map_err(unusable)?;
        }
    }
    tls_trusting(roots)
}

fn tls_trusting(roots: rustls::RootCertStore) -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
