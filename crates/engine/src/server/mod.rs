//! HTTP over connections that are bounded in number and in patience.

mod answer;
mod connections;
mod tls;

use std::num::NonZeroUsize;
use std::time::Duration;

pub use connections::accept;
pub use tls::Tls;

/// What clients may take up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Of these, from one address.
    pub connections_per_address: Option<NonZeroUsize>,
    /// How long a connection may be without a request, and how long the headers of a request and a TLS handshake may take.
    pub idle: Duration,
    /// How long an answer may wait for a client that takes nothing of it.
    pub headway: Duration,
    /// The same while others wait for what it takes up, and once the end has begun.
    pub hurried_headway: Duration,
    /// Bytes of answers that wait to be sent.
    pub unsent: u64,
    /// How long a request waits for fewer of them.
    pub room: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: None,
            idle: Duration::from_secs(10),
            headway: Duration::from_secs(30),
            hurried_headway: Duration::from_secs(2),
            unsent: 256 << 20,
            room: Duration::from_secs(4),
        }
    }
}
