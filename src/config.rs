//! Commands and flags (docs/reference/commands.md). Flags take precedence over `VESTIBULE_*`
//! variables, and these over defaults.
//!
//! Each flag with a secret also has a variable that ends with `_FILE`. It names a file that holds
//! the secret. The file is read when the secret is needed, so these flags are read by the methods
//! here.

mod text;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{BoolValueParser, PathBufValueParser, StringValueParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use engine::access::Permission;
use engine::format;
use engine::nearest::nearest;
use engine::operation::Surface;
use engine::traces::Endpoint;
use ipnet::IpNet;
use strum::VariantArray as _;
use url::Url;
use uuid::Uuid;

use self::text::Cleaned;
use crate::people::is_loopback;
use crate::records::Kind;

/// Guest portals for short-term rentals.
#[derive(Debug, Parser)]
#[command(name = "vestibule", version)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve everything. Migrates the database first.
    Serve(ServeFlags),
    /// Serve a ready-made organization built from real listings, on a throwaway database.
    Demo(ServeFlags),
    /// Check settings, database, storage, clock, certificate, public URL and sign-in provider, and
    /// say what to do. Changes nothing. Takes the flags of `serve`.
    Doctor(ServeFlags),
    /// Migrate the database to this version and exit.
    Migrate(MigrateFlags),
    /// Print a link to set up the first organization.
    SetupLink(SetupLinkFlags),
    /// Add organizations.
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Invite members.
    #[command(subcommand)]
    Member(MemberCommand),
    /// Load records of a CSV file, or NDJSON sync records in batches.
    Import(ImportFlags),
    /// Copy a SQLite database into a file, even while it is served; or with the files of guests into
    /// a directory, again and again.
    Backup(BackupFlags),
    /// Put a backup in the place of a SQLite database that is not served.
    Restore(RestoreFlags),
    /// Print an OpenAPI document.
    Openapi(OpenapiFlags),
}

/// Flags of `vestibule migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Distribute the organizations of a PostgreSQL database over the servers that its extension
    /// Citus knows. Stop all nodes first.
    #[arg(long)]
    pub citus: bool,
}

/// Flags of `vestibule setup-link`.
#[derive(Debug, Clone, Args)]
pub struct SetupLinkFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url, default_value = "http://127.0.0.1:8080")]
    pub public_url: String,
}

/// The commands below `vestibule organization`.
#[derive(Debug, Clone, Subcommand)]
pub enum OrganizationCommand {
    /// Add an organization and its first member, and print a sign-in link.
    Create(CreateOrganizationFlags),
}

/// Flags of `vestibule organization create`.
#[derive(Debug, Clone, Args)]
pub struct CreateOrganizationFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url, default_value = "http://127.0.0.1:8080")]
    pub public_url: String,
    /// Name of the organization, as guests know it.
    #[arg(long, value_parser = name)]
    pub name: String,
    /// Country of phone numbers without a prefix, as a two-letter code.
    #[arg(long, default_value = "US", value_parser = country)]
    pub country: String,
    /// Time zone of flats that are added by hand and name none, such as `Europe/Madrid`.
    #[arg(long, value_parser = time_zone)]
    pub timezone: Option<String>,
    /// Languages that guests read, as BCP 47 tags. English is always included.
    #[arg(long, value_delimiter = ',', value_parser = language)]
    pub languages: Vec<String>,
    /// Mail address of the first member. It can be added later, in the console.
    #[arg(long, value_parser = email)]
    pub email: Option<String>,
    /// Name of the first member.
    #[arg(long, value_parser = name)]
    pub member_name: Option<String>,
}

/// The commands below `vestibule member`.
#[derive(Debug, Clone, Subcommand)]
pub enum MemberCommand {
    /// Invite a member, or make another link for one, and print a sign-in link.
    Invite(InviteMemberFlags),
}

/// Flags of `vestibule member invite`.
#[derive(Debug, Clone, Args)]
pub struct InviteMemberFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url, default_value = "http://127.0.0.1:8080")]
    pub public_url: String,
    /// The organization of the member.
    #[arg(long, value_name = "ID")]
    pub organization: Uuid,
    /// Mail address of the member. A member who has it already gets another link.
    #[arg(long, value_parser = email)]
    pub email: String,
    /// Name of the member.
    #[arg(long, value_parser = name)]
    pub name: Option<String>,
    /// Permissions of the member, such as `view_properties,view_reservations` [default: all].
    #[arg(long, value_delimiter = ',', value_parser = permission)]
    pub permissions: Option<Vec<Permission>>,
}

/// Flags of `vestibule openapi`.
#[derive(Debug, Clone, Args)]
pub struct OpenapiFlags {
    /// The interface whose document is printed.
    #[arg(long, value_enum, default_value_t = Interface::Public)]
    pub interface: Interface,
    /// The server's address in the document.
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url, default_value = "http://127.0.0.1:8080")]
    pub public_url: String,
}

/// An interface that has a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Interface {
    /// `/api/v1`, for integrators.
    Public,
    /// `/platform/v1`, for the surrounding platform.
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

/// Flags that name the database.
#[derive(Debug, Clone, Args)]
pub struct DatabaseFlags {
    /// `sqlite:PATH`, or `postgres://…` for several nodes on one database [default:
    /// sqlite:vestibule.db] [file: `VESTIBULE_DATABASE_URL_FILE`].
    #[arg(long, env = "VESTIBULE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Maximum number of connections to PostgreSQL, 2 to 256. One of them looks up callers
    /// [default: 8 a processor].
    #[arg(long, env = "VESTIBULE_DATABASE_CONNECTIONS", value_name = "COUNT", value_parser = Cleaned(clap::value_parser!(u16).range(2..=256)))]
    pub database_connections: Option<u16>,
    /// The PostgreSQL server itself, for migrations, if `--database-url` leads to a pooler in
    /// transaction mode [file: `VESTIBULE_DATABASE_DIRECT_URL_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_DATABASE_DIRECT_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub database_direct_url: Option<String>,
}

impl DatabaseFlags {
    /// Returns whether a database was named by a flag, a variable or a file.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        let is_set = |value: std::ffi::OsString| !value.is_empty();
        self.database_url
            .as_ref()
            .is_some_and(|url| !url.is_empty())
            || std::env::var_os("VESTIBULE_DATABASE_URL_FILE").is_some_and(is_set)
    }

    /// Returns the URL of the database.
    pub fn url(&self) -> Result<String, String> {
        let url = one(self.database_url.as_deref(), "VESTIBULE_DATABASE_URL")?;
        Ok(url.unwrap_or_else(|| "sqlite:vestibule.db".to_owned()))
    }

    /// Returns the options for opening the database.
    pub fn options(&self) -> Result<store::Options, String> {
        let direct = one(
            self.database_direct_url.as_deref(),
            "VESTIBULE_DATABASE_DIRECT_URL",
        )?
        .filter(|url| !url.is_empty());
        Ok(store::Options {
            connections: self.database_connections.map(usize::from),
            direct,
            ..store::Options::default()
        })
    }
}

/// Flags of `vestibule serve` and `vestibule demo`.
#[derive(Debug, Clone, Args)]
pub struct ServeFlags {
    /// The address to listen on. Port 0 picks a free port.
    #[arg(long, env = "VESTIBULE_LISTEN", default_value = "127.0.0.1:8080", value_parser = text::parse::<SocketAddr>)]
    pub listen: SocketAddr,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// A PostgreSQL replica of the server at `--database-url`, for reads that need not be current.
    /// Repeatable; in the variable or the file, one URL a line [file:
    /// `VESTIBULE_REPLICA_URL_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_REPLICA_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub replica_url: Vec<String>,
    /// A PEM file with the TLS certificate and its intermediate certificates. Without it
    /// connections are plain. Needs `--tls-key`. Both files are read again on SIGHUP.
    #[arg(long, env = "VESTIBULE_TLS_CERTIFICATE", value_name = "PEM", value_parser = Cleaned(PathBufValueParser::new()))]
    pub tls_certificate: Option<PathBuf>,
    /// A PEM file with the private key of the TLS certificate.
    #[arg(long, env = "VESTIBULE_TLS_KEY", value_name = "PEM", value_parser = Cleaned(PathBufValueParser::new()))]
    pub tls_key: Option<PathBuf>,
    /// The address that guests and webhook receivers see [default: the bound address].
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// The key of the platform interface. Without it the interface answers 401 to every request.
    /// May be given twice while a key is replaced; both keys are then valid. In the variable or the
    /// file, one key a line [file: `VESTIBULE_PLATFORM_KEY_FILE`].
    #[arg(long, env = "VESTIBULE_PLATFORM_KEY", hide_env_values = true)]
    pub platform_key: Vec<String>,
    /// A private address range that webhook targets may use; repeatable.
    #[arg(
        long,
        env = "VESTIBULE_WEBHOOK_ALLOW",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = range
    )]
    pub webhook_allow: Vec<IpNet>,
    /// A PEM file with an additional certificate authority that is trusted for webhook targets.
    #[arg(long, env = "VESTIBULE_WEBHOOK_CA_FILE", value_name = "PEM", value_parser = Cleaned(PathBufValueParser::new()))]
    pub webhook_ca_file: Option<PathBuf>,
    /// Maximum pause before the first retry of a webhook delivery. It doubles with each attempt.
    #[arg(long, env = "VESTIBULE_WEBHOOK_RETRY_BASE", default_value = "30s", value_parser = duration)]
    pub webhook_retry_base: Duration,
    /// How long a webhook receiver may take to answer.
    #[arg(long, env = "VESTIBULE_WEBHOOK_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub webhook_timeout: Duration,
    /// How long a finished webhook delivery stays in the log, from its creation.
    #[arg(long, env = "VESTIBULE_DELIVERY_RETENTION", default_value = "168h", value_parser = duration)]
    pub delivery_retention: Duration,
    /// How long a device that was offline has to be online again before `device.reconnected` fires.
    #[arg(long, env = "VESTIBULE_DEVICE_RECONNECT_DELAY", default_value = "10m", value_parser = duration)]
    pub device_reconnect_delay: Duration,
    /// URL of the service that carries out commands to devices. Without it they are 503.
    #[arg(long, env = "VESTIBULE_DEVICE_CONNECTOR_URL", value_name = "URL", value_parser = device_connector_url)]
    pub device_connector_url: Option<Url>,
    /// Key of the device connector, which gets it as a bearer token [file:
    /// `VESTIBULE_DEVICE_CONNECTOR_KEY_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_DEVICE_CONNECTOR_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub device_connector_key: Option<String>,
    /// How long a guest's selection of extras is left alone until it is told as `cart_abandoned`.
    #[arg(long, env = "VESTIBULE_CART_ABANDONMENT_DELAY", default_value = "24h", value_parser = duration)]
    pub cart_abandonment_delay: Duration,
    /// Pause between two fetches of a calendar feed.
    #[arg(long, env = "VESTIBULE_CALENDAR_INTERVAL", default_value = "15m", value_parser = duration)]
    pub calendar_interval: Duration,
    /// Base URL of review photos whose key is not an address itself. Without it those photos are
    /// 404.
    #[arg(long, env = "VESTIBULE_FILES_URL", value_name = "URL", value_parser = files_url)]
    pub files_url: Option<String>,
    /// Storage for files that guests send: `file:///…`, or `s3://BUCKET/PREFIX` with the usual
    /// `AWS_…` variables [default: beside a SQLite database; with PostgreSQL none, and files are
    /// not taken].
    #[arg(long, env = "VESTIBULE_UPLOADS_URL", value_name = "URL", value_parser = Cleaned(StringValueParser::new()))]
    pub uploads_url: Option<String>,
    /// How long files of guests are kept after check-out.
    #[arg(long, env = "VESTIBULE_UPLOAD_RETENTION", default_value = "720h", value_parser = duration)]
    pub upload_retention: Duration,
    /// Maximum total size of the files of one stay.
    #[arg(long, env = "VESTIBULE_UPLOADS_PER_STAY", value_name = "SIZE", default_value = "200MiB", value_parser = size)]
    pub uploads_per_stay: u64,
    /// Maximum total size of the files of one organization, unless the platform has set another
    /// limit for it.
    #[arg(long, env = "VESTIBULE_UPLOADS_PER_ORGANIZATION", value_name = "SIZE", default_value = "20GiB", value_parser = size)]
    pub uploads_per_organization: u64,
    /// Free space of the file system that files of guests never use [default: 1GiB, or a tenth of a
    /// smaller file system].
    #[arg(long, env = "VESTIBULE_UPLOADS_RESERVE", value_name = "SIZE", value_parser = size)]
    pub uploads_reserve: Option<u64>,
    /// A PEM file with a pass type certificate from Apple, its private key, and any intermediate
    /// certificates. Without it no pass for Apple Wallet is offered.
    #[arg(long, env = "VESTIBULE_PASS_CERTIFICATE", value_name = "PEM", value_parser = Cleaned(PathBufValueParser::new()))]
    pub pass_certificate: Option<PathBuf>,
    /// URL of Apple's push service, `https://api.push.apple.com`, which wakes the phones that have a pass
    /// that changed. Needs `--pass-certificate`. Without it phones learn of changes when they ask.
    #[arg(long, env = "VESTIBULE_APNS_URL", value_name = "URL", value_parser = apns_url)]
    pub apns_url: Option<Url>,
    /// URL of a LibreTranslate-compatible service. Without it nothing is machine-translated.
    #[arg(long, env = "VESTIBULE_TRANSLATOR_URL", value_name = "URL", value_parser = translator_url)]
    pub translator_url: Option<String>,
    /// API key of the translation service, if it needs one [file: `VESTIBULE_TRANSLATOR_KEY_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_TRANSLATOR_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub translator_key: Option<String>,
    /// URL of an Unsplash-compatible service. Without it there is no search for stock photos.
    #[arg(long, env = "VESTIBULE_STOCK_PHOTOS_URL", value_name = "URL", value_parser = stock_photos_url)]
    pub stock_photos_url: Option<String>,
    /// Access key of the stock photo service [file: `VESTIBULE_STOCK_PHOTOS_KEY_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_STOCK_PHOTOS_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub stock_photos_key: Option<String>,
    /// Issuer URL of an OpenID provider for the sign-in of members. It must be https, or http on
    /// this machine. Needs `--oidc-client-id`.
    #[arg(long, env = "VESTIBULE_OIDC_ISSUER", value_name = "URL", value_parser = issuer)]
    pub oidc_issuer: Option<String>,
    /// Client id of this service at the OpenID provider.
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_ID", value_name = "ID", value_parser = Cleaned(StringValueParser::new()))]
    pub oidc_client_id: Option<String>,
    /// Client secret of this service at the OpenID provider, if it has one [file:
    /// `VESTIBULE_OIDC_CLIENT_SECRET_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_OIDC_CLIENT_SECRET",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub oidc_client_secret: Option<String>,
    /// Page to which members without a session are sent, with `return_to` added. Without it they
    /// are told how to sign in.
    #[arg(long, env = "VESTIBULE_SIGN_IN_URL", value_name = "URL", value_parser = sign_in_url)]
    pub sign_in_url: Option<Url>,
    /// Lets members who manage the organization make, replace and revoke API keys in the console. A
    /// key gets at most the member's own permissions.
    #[arg(long, env = "VESTIBULE_CONSOLE_KEYS", value_parser = Cleaned(BoolValueParser::new()))]
    pub console_keys: bool,
    /// Requests a minute per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_MINUTE", default_value_t = 1_000, value_parser = text::parse::<u32>)]
    pub rate_limit_per_minute: u32,
    /// Requests a second per credential; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_RATE_LIMIT_PER_SECOND", default_value_t = 50, value_parser = text::parse::<u32>)]
    pub rate_limit_per_second: u32,
    /// Pages of the console a minute per member; 0 switches the window off. A page counts once,
    /// however much it reads, and not as a request of `--rate-limit-per-minute`.
    #[arg(long, env = "VESTIBULE_CONSOLE_RATE_LIMIT_PER_MINUTE", default_value_t = 600, value_parser = text::parse::<u32>)]
    pub console_rate_limit_per_minute: u32,
    /// Pages of the console a second per member; 0 switches the window off.
    #[arg(long, env = "VESTIBULE_CONSOLE_RATE_LIMIT_PER_SECOND", default_value_t = 20, value_parser = text::parse::<u32>)]
    pub console_rate_limit_per_second: u32,
    /// Requests a minute per stay, over the guest interface and the guest's page; 0 is no limit.
    #[arg(
        long,
        env = "VESTIBULE_GUEST_RATE_LIMIT_PER_MINUTE",
        default_value_t = 600,
        value_parser = text::parse::<u32>
    )]
    pub guest_rate_limit_per_minute: u32,
    /// Redis that nodes share to count rate limits, `redis://…` or `rediss://…`. Without it each
    /// node counts by itself [file: `VESTIBULE_REDIS_URL_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_REDIS_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub redis_url: Option<String>,
    /// An origin whose pages may call the interface from a browser; repeatable.
    #[arg(long, env = "VESTIBULE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    pub cors_origin: Vec<String>,
    /// How long an answered idempotency key is remembered.
    #[arg(long, env = "VESTIBULE_IDEMPOTENCY_RETENTION", default_value = "24h", value_parser = duration)]
    pub idempotency_retention: Duration,
    /// How long entries of the audit log are kept.
    #[arg(long, env = "VESTIBULE_AUDIT_RETENTION", default_value = "8760h", value_parser = duration)]
    pub audit_retention: Duration,
    /// Maximum number of connections from one address. With 0, only the limit on all connections
    /// applies.
    #[arg(
        long,
        env = "VESTIBULE_CONNECTIONS_PER_ADDRESS",
        default_value_t = 2_048,
        value_parser = text::parse::<usize>
    )]
    pub connections_per_address: usize,
    /// How long a connection is kept open without a request [default: 10s]. Behind a balancer, it
    /// must be longer than the balancer keeps idle connections to this service. It also bounds the
    /// time for the headers of a request and for a TLS handshake.
    #[arg(long, env = "VESTIBULE_KEEP_ALIVE", value_name = "TIME", value_parser = keep_alive)]
    pub keep_alive: Option<Duration>,
    /// An address range of proxies before this service; repeatable. For connections from there,
    /// the client is the last address in `X-Forwarded-For` or `Forwarded` that is not in such a
    /// range. Limits by address and the log use it. Without this flag these headers are ignored.
    #[arg(
        long,
        env = "VESTIBULE_TRUSTED_PROXY",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = range
    )]
    pub trusted_proxy: Vec<IpNet>,
    /// Memory for the bodies of incomplete requests [default: 128MiB].
    #[arg(long, env = "VESTIBULE_REQUEST_MEMORY", value_name = "SIZE", value_parser = size)]
    pub request_memory: Option<u64>,
    /// An OpenTelemetry collector that receives traces, as JSON by OTLP over HTTP. Without it no
    /// traces are kept.
    #[arg(long, env = "VESTIBULE_OTLP_ENDPOINT", value_name = "URL", value_parser = endpoint)]
    pub otlp_endpoint: Option<Endpoint>,
    /// Number of processors to assume, to simulate another machine [default: those of this
    /// machine].
    #[arg(long, env = "VESTIBULE_PROCESSORS", hide = true, value_parser = text::parse::<NonZeroUsize>)]
    pub processors: Option<NonZeroUsize>,
}

/// Returns a message for each variable that looks like a setting and is none, among these names.
#[must_use]
pub fn unknown_variables(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let command = Cli::command();
    let arguments = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments);
    let mut known: Vec<String> = arguments
        .filter_map(|argument| Some(argument.get_env()?.to_str()?.to_owned()))
        .collect();
    known.push("VESTIBULE_LOG".to_owned());
    let secrets: Vec<String> = known.iter().map(|name| format!("{name}_FILE")).collect();
    known.extend(secrets);
    let is_unknown = |name: &String| name.starts_with("VESTIBULE_") && !known.contains(name);
    let unknown = names.into_iter().filter(is_unknown);
    unknown
        .map(|name| {
            let near = nearest(&name, known.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("{name} is not a setting and has no effect{near}")
        })
        .collect()
}

impl Command {
    /// Returns the number of processors to assume, if the flag is given.
    #[must_use]
    pub fn processors(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) | Self::Doctor(flags) => flags.processors,
            _ => None,
        }
    }

    /// Returns the address that receives traces, if the flag is given.
    #[must_use]
    pub fn otlp_endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) => flags.otlp_endpoint.clone(),
            _ => None,
        }
    }
}

impl ServeFlags {
    /// Returns the keys of the platform interface: none, one, or two while one is being replaced.
    pub fn platform_keys(&self) -> Result<Vec<String>, String> {
        let given = (!self.platform_key.is_empty()).then(|| self.platform_key.join("\n"));
        let keys = secret(given.as_deref(), "VESTIBULE_PLATFORM_KEY")?.unwrap_or_default();
        let named = |reason: String| format!("--platform-key: {reason}");
        let lines = text::lines(&keys).map_err(named)?;
        let keys: Vec<&str> = lines
            .into_iter()
            .map(|line| text::key(line).map_err(named))
            .collect::<Result<_, _>>()?;
        if keys.len() > 1 && keys.contains(&"") {
            return Err("a platform key must not be blank".into());
        }
        if keys.len() > MOST_PLATFORM_KEYS {
            return Err(format!(
                "there are {} platform keys; at most {MOST_PLATFORM_KEYS} are allowed",
                keys.len()
            ));
        }
        Ok(keys
            .into_iter()
            .filter(|key| !key.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Returns the URLs of the replicas.
    pub fn replica_urls(&self) -> Result<Vec<String>, String> {
        let given = (!self.replica_url.is_empty()).then(|| self.replica_url.join("\n"));
        let urls = secret(given.as_deref(), "VESTIBULE_REPLICA_URL")?.unwrap_or_default();
        let urls = text::lines(&urls).map_err(|reason| format!("--replica-url: {reason}"))?;
        Ok(urls
            .into_iter()
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Returns the API key of the translation service.
    pub fn translator_key(&self) -> Result<Option<String>, String> {
        key(self.translator_key.as_deref(), "VESTIBULE_TRANSLATOR_KEY")
    }

    /// Returns the access key of the stock photo service.
    pub fn stock_photos_key(&self) -> Result<Option<String>, String> {
        key(
            self.stock_photos_key.as_deref(),
            "VESTIBULE_STOCK_PHOTOS_KEY",
        )
    }

    /// Returns the key of the device connector.
    pub fn device_connector_key(&self) -> Result<Option<String>, String> {
        secret(
            self.device_connector_key.as_deref(),
            "VESTIBULE_DEVICE_CONNECTOR_KEY",
        )
    }

    /// Returns the OpenID provider for the sign-in of members.
    pub fn oidc(&self) -> Result<Option<Oidc>, String> {
        let client_secret = one(
            self.oidc_client_secret.as_deref(),
            "VESTIBULE_OIDC_CLIENT_SECRET",
        )?;
        match (
            &self.oidc_issuer,
            self.oidc_client_id.as_deref().filter(|id| !id.is_empty()),
        ) {
            (Some(issuer), Some(id)) => Ok(Some(Oidc {
                issuer: issuer.clone(),
                client_id: id.to_owned(),
                client_secret,
            })),
            (Some(_), None) => Err("--oidc-issuer needs --oidc-client-id".into()),
            (None, Some(_)) => Err("--oidc-client-id needs --oidc-issuer".into()),
            (None, None) if client_secret.is_some_and(|secret| !secret.is_empty()) => {
                Err("--oidc-client-secret needs --oidc-issuer".into())
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns the files with the TLS certificate and its key.
    pub fn tls(&self) -> Result<Option<(&Path, &Path)>, String> {
        let is_set = |path: &&PathBuf| !path.as_os_str().is_empty();
        match (
            self.tls_certificate.as_ref().filter(is_set),
            self.tls_key.as_ref().filter(is_set),
        ) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (Some(_), None) => Err("--tls-certificate needs --tls-key".into()),
            (None, Some(_)) => Err("--tls-key needs --tls-certificate".into()),
            (None, None) => Ok(None),
        }
    }

    /// Returns the URL of the Redis in which nodes count rate limits.
    pub fn redis_url(&self) -> Result<Option<String>, String> {
        one(self.redis_url.as_deref(), "VESTIBULE_REDIS_URL")
    }
}

/// An OpenID provider for the sign-in of members.
#[derive(Clone)]
pub struct Oidc {
    /// The provider's issuer, exactly as the provider writes it.
    pub issuer: String,
    /// Client id of this service at the provider.
    pub client_id: String,
    /// Client secret of this service at the provider, if it has one.
    pub client_secret: Option<String>,
}

/// Maximum number of valid platform keys: the present one and the one that replaces it.
const MOST_PLATFORM_KEYS: usize = 2;
/// The longest time that a connection is kept open without a request.
const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(3_600);
/// Maximum size of a file with a secret, in bytes.
const LONGEST_SECRET: u64 = 65_536;

/// Returns a secret of one line: its text, see [`text::read`].
fn one(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let raw = secret(given, variable)?;
    let read = raw.as_deref().map(text::read).transpose();
    read.map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns a secret in which there is no blank, see [`text::key`].
fn key(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let raw = secret(given, variable)?;
    let read = raw.as_deref().map(text::key).transpose();
    read.map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns a secret from its flag or variable, or else from the file that the variable's `_FILE`
/// names.
fn secret(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let is_set = |value: &std::ffi::OsString| !value.is_empty();
    let file_variable = format!("{variable}_FILE");
    let Some(file) = std::env::var_os(&file_variable).filter(is_set) else {
        return Ok(given.map(str::to_owned));
    };
    if std::env::var_os(variable).is_some_and(|value| is_set(&value)) {
        return Err(format!(
            "{variable} and {file_variable} are both set; unset one of them"
        ));
    }
    match given.filter(|text| !text.is_empty()) {
        Some(flag) => Ok(Some(flag.to_owned())),
        None => read_secret(&file)
            .map(Some)
            .map_err(|error| format!("{file_variable}: {}: {error}", Path::new(&file).display())),
    }
}

/// Reads the text of a file.
fn read_secret(file: &OsStr) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    file.take(LONGEST_SECRET + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST_SECRET) {
        return Err(format!("holds more than {LONGEST_SECRET} bytes"));
    }
    if text::lines(&text)? == [""] {
        Err("is empty".into())
    } else {
        Ok(text)
    }
}

/// Flags of `vestibule import`.
#[derive(Debug, Clone, Args)]
pub struct ImportFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The organization of the records.
    #[arg(long, value_name = "ID")]
    pub organization: Uuid,
    /// Imports history: fires no events.
    #[arg(long)]
    pub initial_sync: bool,
    /// Validate everything and apply nothing. Limited to the size of one batch, 10,000 records or
    /// 15 MiB.
    #[arg(long)]
    pub dry_run: bool,
    /// Leave out invalid records and those that refer to them, and import the others. Each
    /// record that is left out is written to standard error as NDJSON, with its issues and its line.
    #[arg(long)]
    pub skip_invalid: bool,
    /// NDJSON file with one sync record a line; `-` for standard input.
    #[arg(required_unless_present = "csv", conflicts_with = "csv")]
    pub file: Option<PathBuf>,
    /// A CSV file with a header line and one record a line; `-` for standard input. Needs `--kind`.
    #[arg(
        long,
        value_name = "FILE",
        requires = "kind",
        conflicts_with = "initial_sync"
    )]
    pub csv: Option<PathBuf>,
    /// The kind of the records of a CSV file, such as `property` or `reservation`.
    #[arg(long, requires = "csv", value_parser = kind)]
    pub kind: Option<Kind>,
    /// The field of a column whose header does not name it; repeatable.
    #[arg(long, value_name = "HEADER=FIELD", requires = "csv", value_parser = column)]
    pub column: Vec<(String, String)>,
    /// The form of dates that are not ISO 8601, such as `%d/%m/%Y`.
    #[arg(long, value_name = "PATTERN", requires = "csv")]
    pub date_format: Option<String>,
    /// Print the result as JSON.
    #[arg(long, requires = "csv")]
    pub json: bool,
}

/// Flags of `vestibule backup`.
#[derive(Debug, Clone, Args)]
pub struct BackupFlags {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Storage of the files that guests sent: `file:///…`, as `serve` has it [default: beside the
    /// database]. Files in a bucket are not copied.
    #[arg(long, env = "VESTIBULE_UPLOADS_URL", value_name = "URL", value_parser = Cleaned(StringValueParser::new()))]
    pub uploads_url: Option<String>,
    /// Make a backup now and each time this much time has passed, in a directory.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub every: Option<Duration>,
    /// Number of backups that stay in the directory; older ones are removed.
    #[arg(long, value_name = "COUNT")]
    pub keep: Option<NonZeroUsize>,
    /// The file to write, which must not exist yet; with `--every` or `--keep` the directory of the
    /// backups.
    #[arg(value_name = "FILE_OR_DIRECTORY")]
    pub file: PathBuf,
}

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 200;

/// Parses a name that is not blank.
fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.contains('\0') || name.chars().count() > LONGEST_NAME {
        return Err(format!("a name has 1 to {LONGEST_NAME} characters"));
    }
    Ok(name.to_owned())
}

/// Parses a text of a named format.
fn formatted(text: &str, name: &str) -> Result<String, String> {
    let format = format::STATIC.iter().find(|known| known.name == name);
    match format {
        Some(format) if !(format.holds)(text) => Err(format!("must be {}", format.wanted)),
        _ => Ok(text.to_owned()),
    }
}

fn country(text: &str) -> Result<String, String> {
    formatted(&text.trim().to_ascii_uppercase(), "country")
}

fn time_zone(text: &str) -> Result<String, String> {
    formatted(text.trim(), "time-zone")
}

fn language(text: &str) -> Result<String, String> {
    formatted(text.trim(), "language")
}

fn email(text: &str) -> Result<String, String> {
    formatted(text.trim(), "email")
}

fn permission(text: &str) -> Result<Permission, String> {
    text.trim().parse().map_err(|_| {
        let known: Vec<&str> = Permission::VARIANTS.iter().map(AsRef::as_ref).collect();
        format!("must be one of {}", known.join(", "))
    })
}

fn kind(text: &str) -> Result<Kind, String> {
    text.trim().parse().map_err(|_| {
        let known: Vec<&str> = Kind::VARIANTS.iter().map(AsRef::as_ref).collect();
        format!("must be one of {}", known.join(", "))
    })
}

/// Parses a column and its field. The field follows the last `=`.
fn column(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((header, field)) if !header.trim().is_empty() && !field.trim().is_empty() => {
            Ok((header.trim().to_owned(), field.trim().to_owned()))
        }
        _ => Err("must be Header=field, such as \"Guest name=guest.firstName\"".to_owned()),
    }
}

/// Flags of `vestibule restore`.
#[derive(Debug, Clone, Args)]
pub struct RestoreFlags {
    /// The database to restore.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Storage of the files that guests sent: `file:///…`, as `serve` has it [default: beside the
    /// database].
    #[arg(long, env = "VESTIBULE_UPLOADS_URL", value_name = "URL", value_parser = Cleaned(StringValueParser::new()))]
    pub uploads_url: Option<String>,
    /// Restore in the place of an existing database, which is kept under another name.
    #[arg(long)]
    pub replace: bool,
    /// A backup: a file, a backup in a directory, or the directory, for its newest backup.
    #[arg(value_name = "BACKUP")]
    pub from: PathBuf,
}

/// Parses a duration, such as `500ms`, `30s`, `10m` or `24h`.
fn duration(raw: &str) -> Result<Duration, String> {
    let text = text::read(raw)?;
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
    number
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(wrong)
}

/// Parses the time that a connection is kept open without a request.
fn keep_alive(raw: &str) -> Result<Duration, String> {
    let time = duration(raw)?;
    if time.is_zero() || time > LONGEST_KEEP_ALIVE {
        return Err("must be longer than 0 and at most 1h".into());
    }
    Ok(time)
}

/// Parses a number of bytes, such as `512KiB`, `200MiB` or `20GiB`.
fn size(raw: &str) -> Result<u64, String> {
    let text = text::read(raw)?;
    let wrong = || format!("{text:?} is not a size such as 512KiB, 200MiB or 20GiB");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let bytes = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(bytes).ok_or_else(wrong)
}

/// Parses an origin as browsers send it: scheme, host and port, such as `https://app.example` or
/// `http://localhost:3000`.
fn origin(raw: &str) -> Result<String, String> {
    let text = text::read(raw)?;
    let origin = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .map(|url| url.origin().ascii_serialization());
    match origin {
        Some(origin) if origin.eq_ignore_ascii_case(text) => Ok(origin),
        _ => Err(format!(
            "{text:?} is not an origin such as https://app.example"
        )),
    }
}

/// Parses an address range such as `10.0.0.0/8`, or one address.
fn range(raw: &str) -> Result<IpNet, String> {
    let text = text::read(raw)?;
    let range = text.parse::<IpNet>().ok();
    range
        .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
        .ok_or_else(|| format!("{text:?} is not an address range such as 10.0.0.0/8"))
}

fn endpoint(raw: &str) -> Result<Endpoint, String> {
    Endpoint::at(text::read(raw)?)
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

/// Parses an issuer of OpenID Connect Discovery (3): an address without query and fragment. Secrets
/// are sent there, so it must be https, except on this machine. A slash at its end is part of it.
fn issuer(raw: &str) -> Result<String, String> {
    let text = text::read(raw)?;
    let wrong = || {
        format!(
            "{text:?} is not an issuer such as https://id.example.com; http is allowed for a loopback address only"
        )
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    let is_plain = url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty();
    if is_safe && is_plain {
        Ok(with_lower_origin(text))
    } else {
        Err(wrong())
    }
}

fn device_connector_url(raw: &str) -> Result<Url, String> {
    connector_url(raw, "https://devices.example.com/commands")
}

fn apns_url(raw: &str) -> Result<Url, String> {
    let example = "https://api.push.apple.com";
    let url = connector_url(raw, example)?;
    if url.query().is_some() {
        return Err(format!(
            "{url} has a query; it is an address such as {example}"
        ));
    }
    Ok(url)
}

fn connector_url(raw: &str, example: &str) -> Result<Url, String> {
    let text = text::read(raw)?;
    let is_plain = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let url = Url::parse(text).ok().filter(is_plain);
    url.ok_or_else(|| format!("{text:?} is not an address such as {example}"))
}

/// Returns an address with its scheme and host in lower case, and the rest as it was written.
fn with_lower_origin(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A name and a password before the host keep their case.
    let (before, host) = authority.split_at(authority.rfind('@').unwrap_or_default());
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    format!("{scheme}://{before}{host}{path}")
}

fn sign_in_url(raw: &str) -> Result<Url, String> {
    let text = text::read(raw)?;
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| format!("{text:?} is not an address such as https://app.example.com/sign-in"))
}

/// Parses an http or https address that paths are appended to. Removes a slash at its end.
fn address(raw: &str, example: &str) -> Result<String, String> {
    let text = text::read(raw)?;
    let is_base = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
            && text.contains("://")
            && !text.contains(char::is_whitespace)
    };
    match Url::parse(text) {
        Ok(url) if is_base(&url) => Ok(with_lower_origin(text).trim_end_matches('/').to_owned()),
        _ => Err(format!("{text:?} is not an address such as {example}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn url_flags_are_validated_and_normalized() {
        assert_eq!(
            origin("https://app.example").as_deref(),
            Ok("https://app.example")
        );
        assert_eq!(
            public_url("https://stay.example.com/guests/").as_deref(),
            Ok("https://stay.example.com/guests")
        );
        assert_eq!(
            translator_url("http://localhost:5000/").as_deref(),
            Ok("http://localhost:5000")
        );
        assert_eq!(
            stock_photos_url("https://api.unsplash.com").as_deref(),
            Ok("https://api.unsplash.com")
        );
        assert_eq!(
            files_url("https://files.example.com/photos/").as_deref(),
            Ok("https://files.example.com/photos")
        );
        for text in [
            "*",
            "null",
            "not an origin",
            "https://app.example/",
            "https://app.example/path",
            "ftp://x",
            "app.example",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
        for text in [
            "",
            "not a url",
            "ftp://x",
            "stay.example.com",
            "https://stay.example.com/?x",
        ] {
            assert!(
                public_url(text).is_err() && translator_url(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn issuer_and_sign_in_urls_must_be_secure() {
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
        for text in [
            "",
            "/sign-in",
            "javascript:alert(1)",
            "data:text/html,x",
            "app.example.com",
        ] {
            assert!(sign_in_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size("0B"), Ok(0));
        assert_eq!(size("200MiB"), Ok(200 << 20));
        assert_eq!(size("20GiB"), Ok(20 << 30));
        for text in [
            "",
            "20",
            "MiB",
            "-1MiB",
            "1.5GiB",
            "1GB",
            "1 GiB",
            "99999999999TiB",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "30 s",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
