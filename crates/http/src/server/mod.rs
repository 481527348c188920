//! The HTTP server: limits on the number of connections and on their idle time.

mod answer;
mod client_address;
mod clients;
mod connections;
mod managed;
mod memory;
mod open_files;
mod tls;

use std::num::NonZeroUsize;
use std::time::Duration;

pub use client_address::TrustedProxies;
pub use connections::accept;
pub use open_files::raise as raise_open_files;
pub use tls::{CertificateFacts, Tls};

/// The resources that clients may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most open connections.
    pub connections: usize,
    /// The most open connections of one address; null means no limit.
    pub connections_per_address: Option<NonZeroUsize>,
    /// Proxies that say for whom they ask. Of a client behind one, requests under way are counted
    /// in place of connections.
    pub trusted_proxies: TrustedProxies,
    /// How long a connection may be without a request. It also limits reading the headers of a
    /// request and a TLS handshake.
    pub idle: Duration,
    /// The progress timeout: how long an answer may wait for a client that reads none of it.
    pub progress_timeout: Duration,
    /// The progress timeout while other answers wait for space in `outbound_bytes`, and during
    /// shutdown.
    pub hurried_progress_timeout: Duration,
    /// The most bytes of answers that wait to be sent.
    pub outbound_bytes: u64,
    /// The most bytes of request bodies in memory.
    pub incoming: u64,
    /// How long a request waits for space among answers or bodies.
    pub room: Duration,
}

/// Open files that are reserved for the database, guests' files and outgoing connections.
const OTHER_FILES: u64 = 256;

impl Limits {
    /// Reduces the number of connections to the open files that the process may have.
    #[must_use]
    pub fn fitted(self, open_files: u64) -> Self {
        let left = open_files.saturating_sub(OTHER_FILES).max(open_files / 2);
        let connections = usize::try_from(left).unwrap_or(usize::MAX);
        Self {
            connections: self.connections.min(connections.max(1)),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: None,
            trusted_proxies: TrustedProxies::default(),
            idle: Duration::from_secs(10),
            progress_timeout: Duration::from_secs(30),
            hurried_progress_timeout: Duration::from_secs(2),
            outbound_bytes: 256 << 20,
            incoming: 128 << 20,
            room: Duration::from_secs(4),
        }
    }
}
