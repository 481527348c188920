//! PostgreSQL: a pool of connections, each operation a transaction on one of them, run on a blocking thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use postgres::config::SslMode;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, Result};
use crate::job::{self, Progress};
use crate::many;
use crate::statement::Statement;
use crate::value::{Columns, Row, Value};
use crate::{Handle, Load, Transaction, WAIT_LIMIT};

/// Connections kept a core: enough that a commit's wait for the disk leaves no core idle.
const CONNECTIONS_A_CORE: usize = 8;
/// A statement that waits longer than a caller does is stopped; a transaction whose process has gone releases its locks.
const SESSION: &str = "set statement_timeout = '4500ms'; set lock_timeout = '4s'; set idle_in_transaction_session_timeout = '30s'";
/// Held while migrating, so that of several nodes starting at once one migrates and the others wait.
const MIGRATION_LOCK: i64 = 0x5645_5354_4942_554c;

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Arc<Connections>,
    permits: Arc<Semaphore>,
    queued: Arc<AtomicUsize>,
    size: usize,
}

/// The pool. Saying goodbye to the server blocks, which a thread of an async runtime must not: so another thread does it.
struct Connections(Option<r2d2::Pool<Manager>>);

impl Connections {
    fn get(&self) -> Result<Pooled> {
        let pool = self.0.as_ref().ok_or_else(|| Error::Unavailable("the database is closing".into()))?;
        pool.get().map_err(|error| Error::Unavailable(error.to_string()))
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        let pool = self.0.take();
        std::thread::spawn(move || drop(pool));
    }
}

impl Postgres {
    pub(crate) fn open(url: &str, migrations: &refinery::Runner) -> Result<Self> {
        let manager = Manager::new(url)?;
        let mut client = manager.client().map_err(|error| Error::Configuration(Error::from(error).to_string()))?;
        migrate(&mut client, migrations)?;
        drop(client);
        let size = CONNECTIONS_A_CORE * std::thread::available_parallelism().map_or(1, usize::from);
        let pool = r2d2::Pool::builder()
            .max_size(u32::try_from(size).unwrap_or(u32::MAX))
            .min_idle(Some(1))
            .connection_timeout(WAIT_LIMIT)
            .test_on_check_out(false)
            .error_handler(Box::new(r2d2::NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self { pool: Arc::new(Connections(Some(pool))), permits: Arc::new(Semaphore::new(size)), queued: Arc::default(), size })
    }

    pub(crate) async fn run<T, E>(
        &self,
        limit: Duration,
        is_read: bool,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let asked = Instant::now();
        self.queued.fetch_add(1, Ordering::Relaxed);
        let permit = tokio::time::timeout(WAIT_LIMIT, self.permits.clone().acquire_owned()).await;
        self.queued.fetch_sub(1, Ordering::Relaxed);
        let Ok(Ok(permit)) = permit else {
            return Err(E::from(Error::Unavailable("every connection is in use".into())));
        };
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        let (begun, pool) = (progress.clone(), self.pool.clone());
        tokio::task::spawn_blocking(move || {
            let outcome = match begin(&pool, is_read) {
                Ok(_) if !begun.begin() => return,
                Ok(connection) => finish(connection, work),
                Err(error) => Ok(Err(E::from(error))),
            };
            // Before the answer: whoever has it may count on the connection being free again.
            drop(permit);
            drop(sender.send(outcome));
        });
        job::answer(asked, limit, progress, receiver).await
    }

    pub(crate) fn load(&self) -> Load {
        let busy = self.size - self.permits.available_permits();
        Load { queued: self.queued.load(Ordering::Relaxed), busy, size: self.size }
    }
}

type Pooled = r2d2::PooledConnection<Manager>;

/// A connection with a transaction begun on it. One that died while it lay in the pool is replaced, once for each that did.
fn begin(pool: &Connections, is_read: bool) -> Result<Pooled> {
    // One snapshot for all the reads of an operation; the locked organization row orders the writes.
    let sql = if is_read { "begin isolation level repeatable read read only" } else { "begin" };
    loop {
        let mut connection = pool.get()?;
        match connection.client.batch_execute(sql) {
            Ok(()) => return Ok(connection),
            Err(_) if connection.client.is_closed() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn finish<T, E: From<Error>>(
    mut connection: Pooled,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
) -> Result<Result<T, E>, job::Panic> {
    let mut transaction = Transaction::new(Handle::Postgres(&mut connection));
    let outcome = job::guarded(work, &mut transaction);
    let is_rehearsal = transaction.is_rehearsal;
    match outcome {
        Ok(Ok(value)) if !is_rehearsal => {
            Ok(connection.client.batch_execute("commit").map(|()| value).map_err(|error| E::from(error.into())))
        }
        undone => {
            if connection.client.batch_execute("rollback").is_err() {
                tracing::debug!("a connection was lost before its rollback");
            }
            undone
        }
    }
}

fn migrate(client: &mut Client, migrations: &refinery::Runner) -> Result<()> {
    let lock: &[&(dyn ToSql + Sync)] = &[&MIGRATION_LOCK];
    client.execute("select pg_advisory_lock($1)", lock)?;
    let outcome = migrations.run(client);
    client.execute("select pg_advisory_unlock($1)", lock)?;
    outcome.map(drop).map_err(|error| Error::Configuration(format!("migration failed: {error}")))
}

/// A client and the statements prepared on it.
pub(crate) struct Connection {
    client: Client,
    prepared: HashMap<usize, postgres::Statement>,
    /// The same for many rows.
    prepared_for_many: HashMap<usize, postgres::Statement>,
}

impl Connection {
    fn prepared(&mut self, statement: &'static Statement) -> Result<postgres::Statement> {
        // Statements are statics, so the address names one; a text as key would be hashed at every use.
        let key = std::ptr::from_ref(statement) as usize;
        if let Some(prepared) = self.prepared.get(&key) {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(statement.postgres())?;
        self.prepared.insert(key, prepared.clone());
        Ok(prepared)
    }

    pub(crate) fn rows(&mut self, statement: &'static Statement, params: &[Value]) -> Result<Vec<Row>> {
        let prepared = self.prepared(statement)?;
        let rows = self.client.query(&prepared, &borrowed(params))?;
        Ok(rows.into_iter().map(|row| Row(Columns::Postgres(row))).collect())
    }

    pub(crate) fn execute(&mut self, statement: &'static Statement, params: &[Value]) -> Result<u64> {
        let prepared = self.prepared(statement)?;
        Ok(self.client.execute(&prepared, &borrowed(params))?)
    }

    /// `None` where it is no insert of one row.
    fn prepared_for_many(&mut self, statement: &'static Statement) -> Result<Option<postgres::Statement>> {
        let key = std::ptr::from_ref(statement) as usize;
        if let Some(prepared) = self.prepared_for_many.get(&key) {
            return Ok(Some(prepared.clone()));
        }
        // The database knows of what type each parameter is, in the statement for one row.
        let for_one = self.prepared(statement)?;
        let Some(text) = many::of_many(statement.postgres(), for_one.params().iter().map(Type::name)) else { return Ok(None) };
        let prepared = self.client.prepare(&text)?;
        self.prepared_for_many.insert(key, prepared.clone());
        Ok(Some(prepared))
    }

    pub(crate) fn execute_many(&mut self, statement: &'static Statement, rows: &[Vec<Value>]) -> Result<u64> {
        let Some(prepared) = self.prepared_for_many(statement)? else {
            return Err(Error::Defect(format!("inserts no values: {}", statement.text())));
        };
        let columns = prepared.params().len();
        if rows.iter().any(|row| row.len() != columns) {
            return Err(Error::Defect(format!("wants {columns} values a row: {}", statement.text())));
        }
        let arrays: Vec<Vec<&Value>> = (0..columns).map(|column| rows.iter().map(|row| &row[column]).collect()).collect();
        let params: Vec<&(dyn ToSql + Sync)> = arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        Ok(self.client.execute(&prepared, &params)?)
    }

    pub(crate) fn try_lock(&mut self, key: i64) -> Result<bool> {
        Ok(self.client.query_one("select pg_try_advisory_xact_lock($1)", &[&key])?.try_get(0)?)
    }

    pub(crate) fn prepare(&mut self, statement: &'static Statement) -> Result<()> {
        let prepared = self.prepared(statement).and_then(|_| self.prepared_for_many(statement));
        prepared.map(drop).map_err(|error| Error::Defect(format!("{error}: {}", statement.text())))
    }
}

fn borrowed(params: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Opens connections for the pool.
struct Manager {
    config: Config,
    tls: Option<MakeRustlsConnect>,
}

impl Manager {
    fn new(url: &str) -> Result<Self> {
        let (url, tls) = tls_of(url)?;
        let mut config: Config = url.parse().map_err(|error: postgres::Error| Error::Configuration(Error::from(error).to_string()))?;
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        config.connect_timeout(WAIT_LIMIT);
        // A server that has vanished behind the network is noticed by the kernel, not by a user's patience.
        config.tcp_user_timeout(WAIT_LIMIT);
        config.keepalives_idle(Duration::from_secs(10));
        config.application_name("vestibule");
        Ok(Self { config, tls: tls.map(MakeRustlsConnect::new) })
    }

    fn client(&self) -> Result<Client, postgres::Error> {
        match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        }
    }
}

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = postgres::Error;

    fn connect(&self) -> Result<Connection, postgres::Error> {
        let mut client = self.client()?;
        client.batch_execute(SESSION)?;
        Ok(Connection { client, prepared: HashMap::new(), prepared_for_many: HashMap::new() })
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), postgres::Error> {
        connection.client.is_valid(WAIT_LIMIT)
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.client.is_closed()
    }
}

/// Splits off the URL's TLS settings: `sslmode` (`require` and the two `verify-` modes ask for TLS with a verified
/// certificate, whatever the mode's name) and `sslrootcert` (a PEM file trusted besides the system's authorities).
fn tls_of(url: &str) -> Result<(String, Option<rustls::ClientConfig>)> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut wanted, mut root, mut rest) = (false, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", "require" | "verify-ca" | "verify-full")) => wanted = true,
            Some(("sslmode", "disable" | "allow" | "prefer")) => {}
            Some(("sslmode", other)) => return Err(Error::Configuration(format!("sslmode {other} is not known"))),
            Some(("sslrootcert", path)) => root = Some(path.to_owned()),
            _ => rest.push(pair),
        }
    }
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    Ok((url, if wanted { Some(verified_tls(root.as_deref())?) } else { None }))
}

fn verified_tls(root: Option<&str>) -> Result<rustls::ClientConfig> {
    let unusable = |what: &dyn std::fmt::Display| Error::Configuration(format!("TLS: {what}"));
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = root {
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(&error))? {
            roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
