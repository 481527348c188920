//! The HTTP server: connections with and without TLS, the addresses of clients, the sending of
//! responses, and limits on connections, requests, time and memory.

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

/// Limits on the connections, the time and the memory that clients of the server may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The maximum number of open connections.
    pub connections: usize,
    /// The maximum number of open connections of one address. `None` means no limit.
    pub connections_per_address: Option<NonZeroUsize>,
    /// Proxies whose forwarding headers the server trusts. For a client behind such a proxy, the
    /// server limits requests in progress instead of connections.
    pub trusted_proxies: TrustedProxies,
    /// How long a connection may be without a request. The same limit applies to reading the
    /// headers of a request, and to a TLS handshake.
    pub idle: Duration,
    /// The progress timeout: how long a response may wait while the client reads none of it.
    pub progress_timeout: Duration,
    /// The progress timeout while a connection waits for a slot, while a response of the same
    /// organization waits for space in `outbound_bytes`, and during shutdown.
    pub short_progress_timeout: Duration,
    /// The maximum total size of the responses that wait to be sent, in bytes.
    pub outbound_bytes: u64,
    /// The maximum total size of the request bodies in memory, in bytes.
    pub incoming_bytes: u64,
    /// How long a request waits for space in the memory budget of responses or of request bodies.
    pub space_timeout: Duration,
}

/// Open files that are reserved for the database, guests' files and outgoing connections.
const RESERVED_FILES: u64 = 256;

impl Limits {
    /// Reduces the maximum number of connections if the process cannot open enough files for them.
    #[must_use]
    pub fn fitted(self, open_files: u64) -> Self {
        let available = open_files
            .saturating_sub(RESERVED_FILES)
            .max(open_files / 2);
        let connections = usize::try_from(available).unwrap_or(usize::MAX);
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
            short_progress_timeout: Duration::from_secs(2),
            outbound_bytes: 256 << 20,
            incoming_bytes: 128 << 20,
            space_timeout: Duration::from_secs(4),
        }
    }
}
