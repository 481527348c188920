//! The commands of the binary `vestibule`, a module for each.
//!
//! [`run`] starts the runtime and selects the command. This module also contains the short commands
//! `serve`, `migrate` and `openapi`. `crate::config` declares the flags of every command;
//! `crate::server` starts the service.

mod backup;
pub mod demo;
mod doctor;
mod guest_files;
mod import;
mod local;
mod restore;
mod setup;
mod table;

use std::io::Write as _;
use std::time::Duration;

use access::people;
use engine::clock::Clock;
use tokio::signal::unix::{Signal, SignalKind, signal};
use vestibule_http::surface::openapi;

use crate::app::app;
use crate::config::{
    Cli, DatabaseFlags, MemberCommand, MigrateFlags, OrganizationCommand, ServeCommand, ServeFlags,
    unknown_variables,
};
use crate::server::{self, CertificateSource, Server};
pub use backup::backup;
pub use demo::demo;
pub use doctor::doctor;
pub use import::import;
pub use restore::restore;

/// Runs the command that the command line names, until it ends.
pub fn run(cli: Cli) -> Result<(), String> {
    // Selects the cryptography library for all TLS connections of the process.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider was installed twice")?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(processors) = cli.command.processors() {
        runtime.worker_threads(processors.get());
    }
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    // The command is awaited in this crate and not in the binary, because the compiler compiles an
    // `async fn` where it is awaited.
    runtime.block_on(run_command(cli))
}

async fn run_command(cli: Cli) -> Result<(), String> {
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for message in unknown_variables(variables) {
        tracing::warn!("{message}");
    }
    match cli.command {
        ServeCommand::Serve(flags) => serve(flags).await,
        ServeCommand::Demo(flags) => demo(flags).await,
        ServeCommand::Doctor(flags) => doctor(&flags).await,
        ServeCommand::Migrate(flags) => migrate(flags).await,
        ServeCommand::SetupLink(flags) => setup::setup_link(flags).await,
        ServeCommand::Organization(OrganizationCommand::Create(flags)) => {
            setup::create_organization(flags).await
        }
        ServeCommand::Member(MemberCommand::Invite(flags)) => setup::invite_member(flags).await,
        ServeCommand::Import(flags) => import(flags).await,
        ServeCommand::Backup(flags) => backup(flags).await,
        ServeCommand::Restore(flags) => restore(flags).await,
        ServeCommand::Openapi(flags) => print_text(&openapi::json(
            app(),
            flags.interface.into(),
            &flags.public_url.address()?,
        )),
    }
}

async fn serve(flags: ServeFlags) -> Result<(), String> {
    let _claim = lock_database(&flags.database)?;
    let server = Server::start(flags, Clock::system()).await?;
    let signals = Signals::watch(&server)?;
    print_address(&server);
    offer_setup(&server).await;
    serve_until_signal(server, signals).await
}

async fn migrate(MigrateFlags { database, citus }: MigrateFlags) -> Result<(), String> {
    let _claim = lock_database(&database)?;
    if citus {
        let url = database
            .options()?
            .direct
            .map_or_else(|| database.url(), Ok)?;
        let result = tokio::task::spawn_blocking(move || {
            store::distribute(&url, &crate::migrations(), &crate::SHARDING)
        })
        .await;
        let tables = result
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        print_text(&format!("distributed {tables} tables\n"))?;
    }
    let service = server::migrated_service(&database, Clock::system()).await?;
    checkpoint_database(service.store.clone()).await
}

/// Locks the database for this process, if it is a SQLite database.
fn lock_database(database: &DatabaseFlags) -> Result<store::Claim, String> {
    store::claim(&database.url()?).map_err(|error| error.to_string())
}

/// Moves the changes that a command made from the write-ahead log into the SQLite database file.
/// After that, a copy of the database file alone is complete.
async fn checkpoint_database(store: store::Store) -> Result<(), String> {
    let result = tokio::task::spawn_blocking(move || store.checkpoint()).await;
    result
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

/// Reports the address of the server: on standard output for programs, and in the log for people.
fn print_address(server: &Server) {
    tracing::info!(address = %server.address, "listening");
    print_or_warn(&format!("listening on {}\n", server.url()));
}

/// Prints a link to set up the first organization, if no organization exists yet.
async fn offer_setup(server: &Server) {
    match people::setup_link(&server.service).await {
        Ok(Some(link)) => {
            // The failure is only logged, because an operator can run `vestibule setup-link` later.
            if let Err(error) = print_text(&format!("set up at {link}\n")) {
                tracing::debug!(error, "could not print the set-up link");
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(
            cause = error.cause(),
            "could not make a set-up link; `vestibule setup-link` makes another"
        ),
    }
}

/// Prints a text on standard output. An error is only logged, because the server works without this
/// output.
fn print_or_warn(text: &str) {
    if let Err(error) = print_text(text) {
        tracing::warn!(error, "could not print the address; the server continues");
    }
}

/// Prints a text on standard output.
fn print_text(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| format!("cannot write to standard output: {error}"))
}

/// The signals that stop the process or reload the certificate. The process watches them before it
/// announces its address, because a program that reads the address may send a signal immediately.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The signal SIGHUP, and the certificate that it reloads. `None` without TLS: SIGHUP then ends
    /// the process, for example when the terminal closes.
    hangup: Option<(Signal, CertificateSource)>,
}

impl Signals {
    fn watch(server: &Server) -> Result<Self, String> {
        let watch = |kind| signal(kind).map_err(|error| error.to_string());
        let hangup = server
            .certificate_source()
            .map(|source| watch(SignalKind::hangup()).map(|signal| (signal, source)))
            .transpose()?;
        Ok(Self {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup,
        })
    }

    /// Waits for SIGTERM or SIGINT, and meanwhile reloads the certificate on SIGHUP.
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

/// Time limit for reading the files of a certificate.
const RELOAD_LIMIT: Duration = Duration::from_secs(10);

/// Waits for SIGHUP. Then reloads the certificate from its files, or checks whether to obtain a new
/// certificate from the authority. If the new certificate cannot be used, logs the error; the
/// former certificate stays in use.
async fn reload(hangup: &mut Option<(Signal, CertificateSource)>) {
    let Some((signal, source)) = hangup else {
        return std::future::pending().await;
    };
    signal.recv().await;
    let tls = match source {
        CertificateSource::Files(tls) => tls,
        CertificateSource::Authority(renewal) => return renewal.check_now(),
    };
    let (tls, now) = (tls.clone(), Clock::system().now());
    // A separate thread reads the files, because a file system may hang. If a blocking thread of
    // the runtime read them, the runtime would wait for the read at shutdown.
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(tls.reload(now)));
    let result = match tokio::time::timeout(RELOAD_LIMIT, receiver).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err("the files could not be read".into()),
        Err(_) => Err("the files were not read in time".into()),
    };
    match result {
        Ok(()) => tracing::info!("reloaded the TLS certificate"),
        Err(error) => tracing::error!(
            error,
            "cannot use the new TLS certificate; the former one stays in use"
        ),
    }
}

/// Serves until SIGTERM or SIGINT, and reloads the certificate on SIGHUP. Then finishes the
/// requests in progress. A second SIGINT ends the process at once.
async fn serve_until_signal(server: Server, mut signals: Signals) -> Result<(), String> {
    signals.stop().await;
    tracing::info!("stopping");
    tokio::select! {
        () = server.stop() => Ok(()),
        _ = signals.interrupt.recv() => {
            tracing::warn!("interrupted again; requests in progress are given up");
            std::process::exit(INTERRUPTED)
        }
    }
}

/// The exit code that shells report for a process that SIGINT ended: 128 + 2.
const INTERRUPTED: i32 = 130;
