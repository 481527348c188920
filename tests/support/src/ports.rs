//! Ports for programs that the tests start.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// The ports that [`free_port`] chooses from. Operating systems use higher ports for connections
/// to other programs. So such a connection cannot take a chosen port before the started program
/// uses it.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Returns a port on which no program listens at this moment. Returns a different port each time,
/// until this process has used all [`COUNT`] ports.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes that run at the same time begin at different ports.
    let begin = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let offset = begin.wrapping_add(step) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// Calls `start`, which starts a server on the given port and returns `None` if this fails. If
/// another program uses the port before the server does, tries again with another port, up to five
/// times. Returns the port, and what `start` returned.
pub fn on_a_free_port<T>(mut start: impl FnMut(u16) -> Option<T>) -> (u16, T) {
    for _ in 0..5 {
        let port = free_port();
        if let Some(server) = start(port) {
            return (port, server);
        }
    }
    panic!("a server does not start");
}
