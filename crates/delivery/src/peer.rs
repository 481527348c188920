//! Checks the address of the other end of a connection, after the connection is open and before any
//! byte is sent.
//!
//! The resolver has checked every address that it returned to the client. This file also checks
//! addresses from other sources: an address in the client's own configuration, a proxy, or a URL
//! that the client parses in another way than the guard.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::Extensions;
use hyper_util::client::legacy::connect::{Connection, HttpInfo};
use tower::{BoxError, Layer, Service};

use super::target::{Refusal, Targets};

/// A layer for a client's connector. It makes the connector check the address of each new
/// connection.
#[derive(Clone)]
pub(super) struct PeerGuard {
    targets: Targets,
}

/// A connector that refuses connections to addresses that are not permitted.
#[derive(Clone)]
pub(super) struct GuardedConnector<S> {
    connector: S,
    targets: Targets,
}

impl PeerGuard {
    pub(super) fn new(targets: Targets) -> Self {
        Self { targets }
    }
}

impl<S> Layer<S> for PeerGuard {
    type Service = GuardedConnector<S>;

    fn layer(&self, connector: S) -> GuardedConnector<S> {
        GuardedConnector {
            connector,
            targets: self.targets.clone(),
        }
    }
}

impl<S, R> Service<R> for GuardedConnector<S>
where
    S: Service<R>,
    S::Response: Connection,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let (connecting, targets) = (self.connector.call(destination), self.targets.clone());
        Box::pin(async move {
            let connection = connecting.await.map_err(Into::<BoxError>::into)?;
            let mut extensions = Extensions::new();
            connection.connected().get_extras(&mut extensions);
            // The connection is also refused if the connector does not report the receiver's IP
            // address for it, because that address cannot be checked.
            let is_allowed = extensions
                .get::<HttpInfo>()
                .is_some_and(|info| targets.allows(info.remote_addr().ip()));
            if is_allowed {
                Ok(connection)
            } else {
                Err(BoxError::from(Refusal::Private))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use reqwest::Client;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use engine::error::innermost;

    /// Returns a client with a [`PeerGuard`]. The client has `address` as a fixed address of the
    /// name `rebound.example`, so no resolver checks the address.
    fn client(targets: Targets, address: SocketAddr) -> Client {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let builder = Client::builder()
            .no_proxy()
            .resolve("rebound.example", address);
        builder
            .connector_layer(PeerGuard::new(targets))
            .build()
            .unwrap()
    }

    #[tokio::test]
    async fn nothing_is_sent_to_a_peer_with_a_private_address() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.map(|_| all)
        });
        let url = format!("http://rebound.example:{}/", address.port());
        let error = client(Targets::default(), address)
            .get(&url)
            .send()
            .await
            .unwrap_err();
        assert!(
            matches!(
                innermost(&error).downcast_ref::<Refusal>(),
                Some(Refusal::Private)
            ),
            "{error:?}"
        );
        assert_eq!(received.await.unwrap().unwrap(), b"");
    }

    #[tokio::test]
    async fn requests_reach_a_peer_in_an_opened_range() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut first = [0];
            stream.read_exact(&mut first).await.map(|_| first)
        });
        let targets = Targets::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let url = format!("http://rebound.example:{}/", address.port());
        client(targets, address).get(&url).send().await.unwrap_err();
        assert_eq!(&received.await.unwrap().unwrap(), b"G");
    }
}
