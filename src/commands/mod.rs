//! What each command of the binary does.

mod backup;
mod demo;
mod import;
mod local;

use std::io::Write as _;
use std::sync::Arc;

use engine::clock::Clock;
use engine::server::Tls;
use engine::surface::openapi;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::app;
use crate::config::{Cli, Command, DatabaseFlags, MigrateFlags, ServeFlags};
use crate::server::{self, Server};
pub use backup::backup;
pub use demo::demo;
pub use import::import;

/// Runs a command to its end.
pub async fn run(cli: Cli) -> Result<(), String> {
    match cli.command {
        Command::Serve(flags) => serve(flags).await,
        Command::Demo(flags) => demo(flags).await,
        Command::Migrate(flags) => migrate(flags).await,
        Command::Import(flags) => import(flags).await,
        Command::Backup(flags) => backup(flags).await,
        Command::Openapi(flags) => print(&openapi::json(app(), flags.interface.into(), &flags.public_url)),
    }
}

async fn serve(flags: ServeFlags) -> Result<(), String> {
    let _claim = claim(&flags.database)?;
    let server = Server::start(flags, Clock::system()).await?;
    let signals = Signals::watch(&server)?;
    announce(&server);
    until_told_to_stop(server, signals).await
}

async fn migrate(MigrateFlags { database, citus }: MigrateFlags) -> Result<(), String> {
    let _claim = claim(&database)?;
    if citus {
        let url = database.options()?.direct.map_or_else(|| database.url(), Ok)?;
        let spread = tokio::task::spawn_blocking(move || store::distribute(&url, &crate::migrations(), &crate::SPREAD)).await;
        let tables = spread.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        print(&format!("spread {tables} tables\n"))?;
    }
    let service = server::migrated(&database, Clock::system()).await?;
    settle(service.store.clone()).await
}

/// Holds the database for this process, where it is one that a process has to itself.
fn claim(database: &DatabaseFlags) -> Result<store::Claim, String> {
    store::claim(&database.url()?).map_err(|error| error.to_string())
}

/// Leaves everything that a command has written in the database file itself.
async fn settle(store: store::Store) -> Result<(), String> {
    let settled = tokio::task::spawn_blocking(move || store.settle()).await;
    settled.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Says where the server listens: on standard output for programs, in the log for people.
fn announce(server: &Server) {
    tracing::info!(address = %server.address, "listening");
    tell(&format!("listening on {}\n", server.url()));
}

/// Says something on standard output that a server goes on without.
fn tell(text: &str) {
    if let Err(error) = print(text) {
        tracing::warn!(error, "nobody was told");
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|error| format!("cannot write to standard output: {error}"))
}

/// What tells the process to stop, or to read its certificate anew. Watched before anybody is told where it listens: who knows
/// that may send one.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Where there is no certificate, the system does what it does: a terminal that goes takes the process with it.
    hangup: Option<(Signal, Arc<Tls>)>,
}

impl Signals {
    fn watch(server: &Server) -> Result<Self, String> {
        let watch = |kind| signal(kind).map_err(|error| error.to_string());
        let hangup = server.tls().map(|tls| watch(SignalKind::hangup()).map(|signal| (signal, tls))).transpose()?;
        Ok(Self { terminate: watch(SignalKind::terminate())?, interrupt: watch(SignalKind::interrupt())?, hangup })
    }

    /// Returns when the process is told to stop.
    async fn stop(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                () = reload(&mut self.hangup) => {}
            }
        }
    }
}

/// Waits until the certificate is to be read anew, and does so. What cannot be used is told, and the former one stays.
async fn reload(hangup: &mut Option<(Signal, Arc<Tls>)>) {
    let Some((signal, tls)) = hangup else { return std::future::pending().await };
    signal.recv().await;
    let (tls, now) = (tls.clone(), Clock::system().now());
    let read = tokio::task::spawn_blocking(move || tls.reload(now)).await;
    match read.map_err(|error| error.to_string()).flatten() {
        Ok(()) => tracing::info!("the certificate has been read anew"),
        Err(error) => tracing::error!(error, "the certificate cannot be used; the former one stays"),
    }
}

/// Serves until SIGTERM or SIGINT, reading the certificate anew on SIGHUP, then finishes what is in flight.
async fn until_told_to_stop(server: Server, mut signals: Signals) -> Result<(), String> {
    signals.stop().await;
    tracing::info!("stopping");
    server.stop().await;
    Ok(())
}
