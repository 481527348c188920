//! Commands and flags (contract: Commands). Flags first, then `VESTIBULE_*` variables, then defaults.
//!
//! Each flag that holds a secret has a variable with `_FILE` at its end besides, which names a file that holds it. What is
//! in the file is read when it is asked for, so these flags are read by the methods here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::operation::Surface;
use engine::traces::Endpoint;
use ipnet::IpNet;
use url::Url;
use uuid::Uuid;

use crate::people::is_loopback;

/// Guest portals for short-term rentals.
#[derive(Debug, Parser)]
#[command(name = "vestibule", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve everything; migrates the database first.
    Serve(ServeFlags),
    /// Serve a ready-made organization built from real listings, on a throwaway database.
    Demo(ServeFlags),
    /// Bring the database to this version and exit.
    Migrate(MigrateFlags),
    /// Load NDJSON sync records in batches.
    Import(ImportFlags),
    /// Copy a SQLite database into a file, also while it is served.
    Backup(BackupFlags),
    /// Print an OpenAPI document.
    Openapi(OpenapiFlags),
}

/// What is brought to its newest schema.
#[derive(Debug, Clone, Args)]
pub struct MigrateFlags {
    /// Where the data is.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Spread the organizations of a PostgreSQL database over the servers that its extension Citus knows. Nobody else may be using it.
    #[arg(long)]
    pub citus: bool,
}

/// Which document to print.
#[derive(Debug, Clone, Args)]
pub struct OpenapiFlags {
    /// Whose it is.
    #[arg(long, value_enum, default_value_t = Interface::Public)]
    pub interface: Interface,
    /// The address that it names as the server's.
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url, default_value = "http://127.0.0.1:8080")]
    pub public_url: String,
}

/// An interface that has a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Interface {
    /// `/api/v1`, for integrators.
    Public,
    /// `/platform/v1`, for the platform around.
    Platform,
    /// `/guest/v1`, for a guest's browser.
    Guest,
}

impl From<Interface> for Surface {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Public => Self::Public,
            Interface::Platform => Self::Platform,
            Interface::Guest => Self::Guest,
        }
    }
}

/// Where the data is.
#[derive(Debug, Clone, Args)]
pub struct DatabaseFlags {
    /// `sqlite:PATH`, or `postgres://…` for several nodes on one database [default: sqlite:vestibule.db] [file:
    /// `VESTIBULE_DATABASE_URL_FILE`].
    #[arg(long, env = "VESTIBULE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Connections that this process has to PostgreSQL at the most, 2 to 256; one of them looks callers up [default: 8 a
    /// processor].
    #[arg(long, env = "VESTIBULE_DATABASE_CONNECTIONS", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(2..=256))]
    pub database_connections: Option<u16>,
    /// The PostgreSQL server itself, for migrating, where `--database-url` leads to a pooler that works by transaction [file:
    /// `VESTIBULE_DATABASE_DIRECT_URL_FILE`].
    #[arg(long, env = "VESTIBULE_DATABASE_DIRECT_URL", value_name = "URL", hide_env_values = true)]
    pub database_direct_url: Option<String>,
}

impl DatabaseFlags {
    /// Where the data is.
    pub fn url(&self) -> Result<String, String> {
        let url = secret(self.database_url.as_deref(), "VESTIBULE_DATABASE_URL")?;
        Ok(url.unwrap_or_else(|| "sqlite:vestibule.db".to_owned()))
    }

    /// How it is opened.
    pub fn options(&self) -> Result<store::Options, String> {
        let direct = secret(self.database_direct_url.as_deref(), "VESTIBULE_DATABASE_DIRECT_URL")?.filter(|url| !url.is_empty());
        Ok(store::Options { connections: self.database_connections.map(usize::from), direct, ..store::Options::default() })
    }
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub struct ServeFlags {
    /// Where to listen; port 0 picks one.
    #[arg(long, env = "VESTIBULE_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Where the data is.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// A PostgreSQL server that follows the one at `--database-url`, for reads that need not be current; repeatable, in the variable or the
    /// file a URL a line [file: `VESTIBULE_REPLICA_URL_FILE`].
    #[arg(long, env = "VESTIBULE_REPLICA_URL", value_name = "URL", hide_env_values = true)]
    pub replica_url: Vec<String>,
    /// A PEM file with the certificate to serve TLS with, and those between it and its authority; without one connections are
    /// plain. With it `--tls-key`. Both are read anew on SIGHUP.
    #[arg(long, env = "VESTIBULE_TLS_CERTIFICATE", value_name = "PEM")]
    pub tls_certificate: Option<PathBuf>,
    /// A PEM file with its private key.
    #[arg(long, env = "VESTIBULE_TLS_KEY", value_name = "PEM")]
    pub tls_key: Option<PathBuf>,
    /// The address guests and webhook receivers see [default: the bound address].
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// The platform interface's key; without one it answers 401 to all. Twice while a key is replaced: both are good. In
    /// the variable or the file a key a line [file: `VESTIBULE_PLATFORM_KEY_FILE`].
    #[arg(long, env = "VESTIBULE_PLATFORM_KEY", hide_env_values = true)]
    pub platform_key: Vec<String>,
    /// Lets webhook targets in this range through; repeatable.
    #[arg(long, env = "VESTIBULE_WEBHOOK_ALLOW", value_name = "CIDR", value_delimiter = ',')]
    pub webhook_allow: Vec<IpNet>,
    /// An extra certificate authority trusted for webhook targets.
    #[arg(long, env = "VESTIBULE_WEBHOOK_CA_FILE", value_name = "PEM")]
    pub webhook_ca_file: Option<PathBuf>,
    /// The first pause between two attempts is at most this long; it doubles from there.
    #[arg(long, env = "VESTIBULE_WEBHOOK_RETRY_BASE", default_value = "30s", value_parser = duration)]
    pub webhook_retry_base: Duration,
    /// How long a receiver may take to answer.
    #[arg(long, env = "VESTIBULE_WEBHOOK_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub webhook_timeout: Duration,
    /// How long a delivery that is over stays in the log, from when it was made.
    #[arg(long, env = "VESTIBULE_DELIVERY_RETENTION", default_value = "168h", value_parser = duration)]
    pub delivery_retention: Duration,
    /// How long a device that went offline has to be back before `device.reconnected` fires.
    #[arg(long, env = "VESTIBULE_DEVICE_RECONNECT_DELAY", default_value = "10m", value_parser = duration)]
    pub device_reconnect_delay: Duration,
    /// Where photos of reviews are whose key is no address itself; without it those are 404.
    #[arg(long, env = "VESTIBULE_FILES_URL", value_name = "URL", value_parser = files_url)]
    pub files_url: Option<String>,
    /// Where files are kept that guests hand in: `file:///…`, or `s3://BUCKET/PREFIX` with the usual `AWS_…` variables [default:
    /// beside a SQLite database; with PostgreSQL none, and files are not taken].
    #[arg(long, env = "VESTIBULE_UPLOADS_URL", value_name = "URL")]
    pub uploads_url: Option<String>,
    /// How long files of guests are kept after check-out.
    #[arg(long, env = "VESTIBULE_UPLOAD_RETENTION", default_value = "720h", value_parser = duration)]
    pub upload_retention: Duration,
    /// A PEM file with a pass type certificate of Apple's, its private key, and any certificates between it and the root; without one
    /// no pass for Apple Wallet is offered.
    #[arg(long, env = "VESTIBULE_PASS_CERTIFICATE", value_name = "PEM")]
    pub pass_certificate: Option<PathBuf>,
    /// A LibreTranslate-compatible service; without one nothing is machine-translated.
    #[arg(long, env = "VESTIBULE_TRANSLATOR_URL", value_name = "URL", value_parser = translator_url)]
    pub translator_url: Option<String>,
    /// That service's API key, where it wants one [file: `VESTIBULE_TRANSLATOR_KEY_FILE`].
    #[arg(long, env = "VESTIBULE_TRANSLATOR_KEY", value_name = "KEY", hide_env_values = true)]
    pub translator_key: Option<String>,
    /// An Unsplash-compatible service; without one there is no search for stock photos.
    #[arg(long, env = "VESTIBULE_STOCK_PHOTOS_URL", value_name = "URL", value_parser = stock_photos_url)]
    pub stock_photos_url: Option<String>,
    /// That service's access key [file: `VESTIBULE_STOCK_PHOTOS_KEY_FILE`].
    #[arg(long, env = "VESTIBULE_STOCK_PHOTOS_KEY", value_name = "KEY", hide_env_values = true)]
    pub stock_photos_key: Option<String>,
    /// An OpenID provider that members sign in at, by its issuer; https, or http on this machine. With it `--oidc-client-id`.
    #[arg(long, env = "VESTIBULE_OIDC_ISSUER", value_name = "URL", value_parser = issuer)]
    pub oidc_issuer: Option<String>,
    /// What this service is called at that provider.
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_ID", value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// Its secret there, where it has one [file: `VESTIBULE_OIDC_CLIENT_SECRET_FILE`].
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_SECRET", value_name = "SECRET", hide_env_values = true)]
    pub oidc_client_secret: Option<String>,
    /// Where members are sent who have to sign in, with `return_to` added; without it they are told how to come in.
    #[arg(long, env = "VESTIBULE_SIGN_IN_URL", value_name = "URL", value_parser = sign_in_url)]
    pub sign_in_url: Option<Url>,
    /// Lets members who manage the organization make, replace and revoke API keys in the console, each with at most what they hold.
    #[arg(long, env = "VESTIBULE_CONSOLE_KEYS")]
    pub console_keys: bool,
    /// Requests a minute per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_MINUTE", default_value_t = 1_000)]
    pub rate_limit_per_minute: u32,
    /// Requests a second per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_SECOND", default_value_t = 50)]
    pub rate_limit_per_second: u32,
    /// Requests a minute per stay, of the guest interface and the guest's page; 0 is no limit.
    #[arg(long, env = "VESTIBULE_GUEST_RATE_LIMIT_PER_MINUTE", default_value_t = 600)]
    pub guest_rate_limit_per_minute: u32,
    /// Where nodes count rate limits together, `redis://…` or `rediss://…`; without it each counts by itself [file:
    /// `VESTIBULE_REDIS_URL_FILE`].
    #[arg(long, env = "VESTIBULE_REDIS_URL", value_name = "URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// An origin whose pages may call the interface from a browser; repeatable.
    #[arg(long, env = "VESTIBULE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    pub cors_origin: Vec<String>,
    /// How long an answered idempotency key is remembered.
    #[arg(long, env = "VESTIBULE_IDEMPOTENCY_RETENTION", default_value = "24h", value_parser = duration)]
    pub idempotency_retention: Duration,
    /// How long it is kept who did what.
    #[arg(long, env = "VESTIBULE_AUDIT_RETENTION", default_value = "8760h", value_parser = duration)]
    pub audit_retention: Duration,
    /// Connections from one address at once; 0 is no limit but that of all together.
    #[arg(long, env = "VESTIBULE_CONNECTIONS_PER_ADDRESS", default_value_t = 2_048)]
    pub connections_per_address: usize,
    /// A collector of OpenTelemetry's that traces are sent to, as JSON by OTLP over HTTP; without one none are kept.
    #[arg(long, env = "VESTIBULE_OTLP_ENDPOINT", value_name = "URL", value_parser = Endpoint::at)]
    pub otlp_endpoint: Option<Endpoint>,
    /// How many processors to reckon with, for trying out another machine [default: those there are].
    #[arg(long, env = "VESTIBULE_PROCESSORS", hide = true)]
    pub processors: Option<NonZeroUsize>,
}

impl Command {
    /// How many processors to reckon with, where that is said.
    #[must_use]
    pub fn processors(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) => flags.processors,
            Self::Migrate(_) | Self::Import(_) | Self::Backup(_) | Self::Openapi(_) => None,
        }
    }

    /// Where traces are sent, where that is said.
    #[must_use]
    pub fn otlp_endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) => flags.otlp_endpoint.clone(),
            Self::Migrate(_) | Self::Import(_) | Self::Backup(_) | Self::Openapi(_) => None,
        }
    }
}

impl ServeFlags {
    /// The keys of the platform interface: none, one, or two of which one is being replaced.
    pub fn platform_keys(&self) -> Result<Vec<String>, String> {
        let given = (!self.platform_key.is_empty()).then(|| self.platform_key.join("\n"));
        let keys = secret(given.as_deref(), "VESTIBULE_PLATFORM_KEY")?.unwrap_or_default();
        let keys: Vec<&str> = keys.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        if keys.len() > 1 && keys.contains(&"") {
            return Err("a platform key is blank".into());
        }
        if keys.len() > MOST_PLATFORM_KEYS {
            return Err(format!("there are {} platform keys; {MOST_PLATFORM_KEYS} at the most", keys.len()));
        }
        Ok(keys.into_iter().filter(|key| !key.is_empty()).map(str::to_owned).collect())
    }

    /// The servers that follow.
    pub fn replica_urls(&self) -> Result<Vec<String>, String> {
        let given = (!self.replica_url.is_empty()).then(|| self.replica_url.join("\n"));
        let urls = secret(given.as_deref(), "VESTIBULE_REPLICA_URL")?.unwrap_or_default();
        Ok(urls.lines().filter(|url| !url.is_empty()).map(str::to_owned).collect())
    }

    /// The key of the translator.
    pub fn translator_key(&self) -> Result<Option<String>, String> {
        secret(self.translator_key.as_deref(), "VESTIBULE_TRANSLATOR_KEY")
    }

    /// The key of the service that stock photos are searched at.
    pub fn stock_photos_key(&self) -> Result<Option<String>, String> {
        secret(self.stock_photos_key.as_deref(), "VESTIBULE_STOCK_PHOTOS_KEY")
    }

    /// The provider that members sign in at.
    pub fn oidc(&self) -> Result<Option<Oidc>, String> {
        let client_secret = secret(self.oidc_client_secret.as_deref(), "VESTIBULE_OIDC_CLIENT_SECRET")?;
        match (&self.oidc_issuer, self.oidc_client_id.as_deref().filter(|id| !id.is_empty())) {
            (Some(issuer), Some(id)) => Ok(Some(Oidc { issuer: issuer.clone(), client_id: id.to_owned(), client_secret })),
            (Some(_), None) => Err("--oidc-issuer needs --oidc-client-id".into()),
            (None, Some(_)) => Err("--oidc-client-id needs --oidc-issuer".into()),
            (None, None) if client_secret.is_some_and(|secret| !secret.is_empty()) => {
                Err("--oidc-client-secret needs --oidc-issuer".into())
            }
            (None, None) => Ok(None),
        }
    }

    /// The files with the certificate to serve TLS with and its key.
    pub fn tls(&self) -> Result<Option<(&Path, &Path)>, String> {
        let is_set = |path: &&PathBuf| !path.as_os_str().is_empty();
        match (self.tls_certificate.as_ref().filter(is_set), self.tls_key.as_ref().filter(is_set)) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (Some(_), None) => Err("--tls-certificate needs --tls-key".into()),
            (None, Some(_)) => Err("--tls-key needs --tls-certificate".into()),
            (None, None) => Ok(None),
        }
    }

    /// Where nodes count rate limits together.
    pub fn redis_url(&self) -> Result<Option<String>, String> {
        secret(self.redis_url.as_deref(), "VESTIBULE_REDIS_URL")
    }
}

/// A provider that members sign in at.
#[derive(Clone)]
pub struct Oidc {
    /// Its issuer, as it writes it.
    pub issuer: String,
    /// What this service is called there.
    pub client_id: String,
    /// Its secret there, where it has one.
    pub client_secret: Option<String>,
}

/// Platform keys that may be good at once: the one that is there and the one that replaces it.
const MOST_PLATFORM_KEYS: usize = 2;
/// The most that a file with a secret may hold, in bytes.
const LONGEST_SECRET: u64 = 65_536;

/// A secret: as it was given by its flag or variable, else what the file holds that the variable's `_FILE` names.
fn secret(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let is_set = |value: &std::ffi::OsString| !value.is_empty();
    let file_variable = format!("{variable}_FILE");
    let Some(file) = std::env::var_os(&file_variable).filter(is_set) else { return Ok(given.map(str::to_owned)) };
    if std::env::var_os(variable).is_some_and(|value| is_set(&value)) {
        return Err(format!("{variable} and {file_variable} are both set; which one is meant?"));
    }
    match given.filter(|text| !text.is_empty()) {
        Some(flag) => Ok(Some(flag.to_owned())),
        None => read_secret(&file).map(Some).map_err(|error| format!("{file_variable}: {}: {error}", Path::new(&file).display())),
    }
}

/// The text of a file without its last line break.
fn read_secret(file: &OsStr) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    file.take(LONGEST_SECRET + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST_SECRET) {
        return Err(format!("holds more than {LONGEST_SECRET} bytes"));
    }
    let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if line.is_empty() { Err("is empty".into()) } else { Ok(line.to_owned()) }
}

/// What to import, and where to.
#[derive(Debug, Clone, Args)]
pub struct ImportFlags {
    /// Where the data is.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The organization the records are of.
    #[arg(long, value_name = "ID")]
    pub organization: Uuid,
    /// History: fires no events.
    #[arg(long)]
    pub initial_sync: bool,
    /// Judge everything and apply nothing; for what goes into one batch, 10,000 records or 15 MiB.
    #[arg(long)]
    pub dry_run: bool,
    /// NDJSON, a sync record a line; `-` for standard input.
    pub file: PathBuf,
}

/// What to back up, and where to.
#[derive(Debug, Clone, Args)]
pub struct BackupFlags {
    /// Where the data is.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The file to write; there must be none yet.
    pub file: PathBuf,
}

/// `500ms`, `30s`, `10m`, `24h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration such as 500ms, 30s, 10m or 24h");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(milliseconds).map(Duration::from_millis).ok_or_else(wrong)
}

/// `https://app.example` or `http://localhost:3000`: scheme, host and port, as a browser sends them.
fn origin(text: &str) -> Result<String, String> {
    let origin = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).map(|url| url.origin().ascii_serialization());
    match origin {
        Some(origin) if origin == text => Ok(origin),
        _ => Err(format!("{text:?} is not an origin such as https://app.example")),
    }
}

fn public_url(text: &str) -> Result<String, String> {
    address(text, "https://stay.example.com")
}

fn translator_url(text: &str) -> Result<String, String> {
    address(text, "https://translate.example.com")
}

fn files_url(text: &str) -> Result<String, String> {
    address(text, "https://files.example.com")
}

fn stock_photos_url(text: &str) -> Result<String, String> {
    address(text, "https://api.unsplash.com")
}

/// An issuer as OpenID Connect Discovery has it (3): an address without query and fragment. What goes there is secret, so it is
/// https but on this machine. Its last slash is part of it.
fn issuer(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not an issuer such as https://id.example.com; http is for this machine alone");
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let is_plain = url.has_host() && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if is_safe && is_plain { Ok(text.to_owned()) } else { Err(wrong()) }
}

fn sign_in_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{text:?} is not an address such as https://app.example.com/sign-in"))
}

/// An http or https address that paths are put behind, without a slash at its end.
fn address(text: &str, example: &str) -> Result<String, String> {
    let is_base =
        |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none() && url.fragment().is_none();
    match Url::parse(text) {
        Ok(url) if is_base(&url) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(format!("{text:?} is not an address such as {example}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn addresses_are_what_they_are_to_be() {
        assert_eq!(origin("https://app.example").as_deref(), Ok("https://app.example"));
        assert_eq!(public_url("https://stay.example.com/guests/").as_deref(), Ok("https://stay.example.com/guests"));
        assert_eq!(translator_url("http://localhost:5000/").as_deref(), Ok("http://localhost:5000"));
        assert_eq!(stock_photos_url("https://api.unsplash.com").as_deref(), Ok("https://api.unsplash.com"));
        assert_eq!(files_url("https://files.example.com/photos/").as_deref(), Ok("https://files.example.com/photos"));
        for text in ["*", "null", "not an origin", "https://app.example/", "https://app.example/path", "ftp://x", "app.example"] {
            assert!(origin(text).is_err(), "{text}");
        }
        for text in ["", "not a url", "ftp://x", "stay.example.com", "https://stay.example.com/?x"] {
            assert!(public_url(text).is_err() && translator_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_issuer_is_where_secrets_may_go() {
        for text in [
            "https://id.example.com",
            "https://id.example.com/",
            "https://id.example.com/realms/a",
            "http://127.0.0.1:9000",
            "http://[::1]:9",
            "http://localhost:9",
        ] {
            assert_eq!(issuer(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "id.example.com",
            "http://id.example.com",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "https://a?b",
            "https://a#b",
            "https://u@a",
            "ftp://a",
        ] {
            assert!(issuer(text).is_err(), "{text}");
        }
        assert!(sign_in_url("https://app.example.com/sign-in?from=stay").is_ok());
        for text in ["", "/sign-in", "javascript:alert(1)", "data:text/html,x", "app.example.com"] {
            assert!(sign_in_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for text in ["", "30", "s", "-1s", "1.5s", "1d", "30 s", "99999999999999999999h", "18446744073709551615h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
