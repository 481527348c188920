//! Commands and flags (contract: Commands). Flags first, then `VESTIBULE_*` variables, then defaults.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ipnet::IpNet;
use url::Url;
use uuid::Uuid;

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
    Migrate(DatabaseFlags),
    /// Load NDJSON sync records in batches.
    Import(ImportFlags),
    /// Copy a SQLite database into a file, also while it is served.
    Backup(BackupFlags),
    /// Print the OpenAPI document.
    Openapi,
}

/// Where the data is.
#[derive(Debug, Clone, Args)]
pub struct DatabaseFlags {
    /// `sqlite:PATH`, or `postgres://…` for several nodes on one database.
    #[arg(long, env = "VESTIBULE_DATABASE_URL", default_value = "sqlite:vestibule.db", hide_env_values = true)]
    pub database_url: String,
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
    /// The address guests and webhook receivers see [default: the bound address].
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// The platform interface's key; without one it answers 401 to all.
    #[arg(long, env = "VESTIBULE_PLATFORM_KEY", hide_env_values = true)]
    pub platform_key: Option<String>,
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
    /// A LibreTranslate-compatible service; without one nothing is machine-translated.
    #[arg(long, env = "VESTIBULE_TRANSLATOR_URL", value_name = "URL", value_parser = translator_url)]
    pub translator_url: Option<String>,
    /// That service's API key, where it wants one.
    #[arg(long, env = "VESTIBULE_TRANSLATOR_KEY", value_name = "KEY", hide_env_values = true)]
    pub translator_key: Option<String>,
    /// An Unsplash-compatible service; without one there is no search for stock photos.
    #[arg(long, env = "VESTIBULE_STOCK_PHOTOS_URL", value_name = "URL", value_parser = stock_photos_url)]
    pub stock_photos_url: Option<String>,
    /// That service's access key.
    #[arg(long, env = "VESTIBULE_STOCK_PHOTOS_KEY", value_name = "KEY", hide_env_values = true)]
    pub stock_photos_key: Option<String>,
    /// Requests a minute per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_MINUTE", default_value_t = 1_000)]
    pub rate_limit_per_minute: u32,
    /// Requests a second per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_SECOND", default_value_t = 50)]
    pub rate_limit_per_second: u32,
    /// Where nodes count rate limits together, `redis://…` or `rediss://…`; without it each counts by itself.
    #[arg(long, env = "VESTIBULE_REDIS_URL", value_name = "URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// An origin whose pages may call the interface from a browser; repeatable.
    #[arg(long, env = "VESTIBULE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    pub cors_origin: Vec<String>,
    /// How long an answered idempotency key is remembered.
    #[arg(long, env = "VESTIBULE_IDEMPOTENCY_RETENTION", default_value = "24h", value_parser = duration)]
    pub idempotency_retention: Duration,
    /// Connections from one address at once; 0 is no limit but that of all together.
    #[arg(long, env = "VESTIBULE_CONNECTIONS_PER_ADDRESS", default_value_t = 2_048)]
    pub connections_per_address: usize,
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
            Self::Migrate(_) | Self::Import(_) | Self::Backup(_) | Self::Openapi => None,
        }
    }
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
