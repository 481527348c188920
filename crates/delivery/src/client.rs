//! The HTTP client of deliveries. It connects only to permitted targets. It sends a request a
//! second time if the receiver did not process the request at the first sending (rules:
//! webhooks#deliveries).

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower::{Layer as _, Service};

use super::failure::{cause, is_cut_off, is_refused};
use super::limiter::HIGHEST_TARGET_LIMIT;
use super::marks::{ConnectionMarks, MarkingConnector};
use super::names::organization;
use super::peer::{GuardedConnector, PeerGuard};
use super::target::Targets;
use super::tls::ClientTls;

/// An idle connection is closed after this time.
const MAX_IDLE_TIME: Duration = Duration::from_secs(15);
/// The interval of TCP keep-alive probes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The HTTP/2 window of one stream: the number of bytes that a receiver may send on the stream
/// before this client has read them.
const STREAM_WINDOW: u32 = 16 * 1024;
/// The HTTP/2 window of one connection, for all its streams together.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The maximum number of header fields of a response. Of these fields, only `Retry-After` is read.
const MAX_HEADERS: usize = 4_096;

type Connector = MarkingConnector<GuardedConnector<HttpsConnector<HttpConnector<Resolver>>>>;
type Pool = legacy::Client<Connector, Full<Bytes>>;

/// Sends requests. A request uses an open connection if there is one. A request that is sent a
/// second time always uses a new connection.
pub(super) struct Client {
    /// The pool for the first attempt of a request. It reuses an open connection if there is one.
    pool: Pool,
    /// The pool for the second attempt of a request. It keeps no idle connection, so each request
    /// opens a new one.
    fresh: Pool,
}

impl Client {
    pub(super) fn new(targets: &Targets, tls: &ClientTls) -> Self {
        let connector = connector(targets, tls);
        // A pool without idle connections opens a new connection for each request.
        Self {
            pool: pool(connector.clone(), HIGHEST_TARGET_LIMIT),
            fresh: pool(connector, 0),
        }
    }

    /// Sends a request. If the receiver has not processed it, sends it a second time over a new
    /// connection.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        let result = match self.pool.request(request.clone()).await {
            Err(error) if is_unprocessed(&error) => self.fresh.request(request).await,
            result => result,
        };
        if let Some(marks) = result
            .as_ref()
            .ok()
            .and_then(|response| response.extensions().get::<ConnectionMarks>())
        {
            marks.mark_answered();
        }
        result
    }
}

/// Returns whether the receiver did not process a failed request: it refused the request without
/// reading it, or had already closed the reused connection.
fn is_unprocessed(error: &legacy::Error) -> bool {
    let cause = cause(error);
    if is_refused(cause) {
        return true;
    }
    let mut extras = Extensions::new();
    if let Some(connected) = error.connect_info() {
        connected.get_extras(&mut extras);
    }
    is_cut_off(cause)
        && extras
            .get::<ConnectionMarks>()
            .is_some_and(ConnectionMarks::is_reused_and_silent)
}

fn pool(connector: Connector, max_idle: usize) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        // For each target, the pool stores as many idle connections as there may be deliveries at
        // once. An idle connection stays open long enough for the next deliveries of a burst.
        .pool_max_idle_per_host(max_idle)
        .pool_idle_timeout(MAX_IDLE_TIME)
        // Malformed headers are accepted, because only the status and `Retry-After` are read.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_max_headers(MAX_HEADERS)
        // Response bodies are not read, so a receiver may send only the first `STREAM_WINDOW` bytes
        // of a body.
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .build(connector)
}

fn connector(targets: &Targets, tls: &ClientTls) -> Connector {
    let mut http = HttpConnector::new_with_resolver(Resolver(targets.clone()));
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_keepalive(Some(KEEP_ALIVE_INTERVAL));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls.without_http_version())
        .https_only()
        .enable_all_versions()
        .wrap_connector(http);
    MarkingConnector::new(PeerGuard::new(targets.clone()).layer(https))
}

/// Resolves host names through the target guard.
#[derive(Clone)]
struct Resolver(Targets);

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<std::net::SocketAddr>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let targets = self.0.clone();
        // The organization is read before the future is created. The HTTP client may run the future
        // in another task, where the task-local `ORGANIZATION` is not set.
        let organization = organization();
        Box::pin(async move {
            let addresses = targets.lookup(name.as_str(), organization).await;
            Ok(addresses?.into_iter())
        })
    }
}
