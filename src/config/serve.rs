//! The flags of `vestibule serve`, which `vestibule demo` and `vestibule doctor` have too.
//!
//! `super::values` parses the values of these flags, and `crate::server` uses them.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{BoolValueParser, PathBufValueParser, StringValueParser};
use engine::traces::Endpoint;
use ipnet::IpNet;
use url::Url;

use super::DatabaseFlags;
use super::secrets::{raw_secret, secret_without_blanks, single_line_secret};
use super::text::{self, TrimmedParser};
use super::tls::TlsFlags;
use super::values::{
    apns_url, device_connector_url, duration, endpoint, files_url, issuer, keep_alive, origin,
    public_url, range, sign_in_url, size, stock_photos_url, translator_url,
};

/// Flags of `vestibule serve`, `vestibule demo` and `vestibule doctor`.
#[derive(Debug, Clone, Args)]
pub struct ServeFlags {
    /// The address to listen on. Port 0 picks a free port [default: `127.0.0.1:8080`, or port 443
    /// of all addresses with `--tls-domain`].
    #[arg(
        long,
        env = "VESTIBULE_LISTEN",
        value_name = "ADDRESS",
        value_parser = text::parse::<SocketAddr>
    )]
    pub listen: Option<SocketAddr>,
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
    /// The flags of the TLS certificate.
    #[command(flatten)]
    pub tls: TlsFlags,
    /// The address that guests and webhook receivers see [default: the first
    /// name of `--tls-domain`, or the bound address].
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// The key of the platform interface. Without it the interface answers 401 to every request.
    /// May be given twice while a key is replaced; both keys are then valid. In the variable or the
    /// file, one key a line [file: `VESTIBULE_PLATFORM_KEY_FILE`].
    #[arg(long, env = "VESTIBULE_PLATFORM_KEY", hide_env_values = true)]
    pub platform_key: Vec<String>,
    /// A private address range in which webhook targets are allowed; repeatable.
    #[arg(
        long,
        env = "VESTIBULE_WEBHOOK_ALLOW",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = range
    )]
    pub webhook_allow: Vec<IpNet>,
    /// A PEM file with an additional certificate authority that is trusted for webhook targets.
    #[arg(
        long,
        env = "VESTIBULE_WEBHOOK_CA_FILE",
        value_name = "PEM",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub webhook_ca_file: Option<PathBuf>,
    /// Maximum pause before the first retry of a webhook delivery, unless the receiver asks for a
    /// longer pause. The maximum doubles with each further attempt.
    #[arg(
        long,
        env = "VESTIBULE_WEBHOOK_RETRY_BASE",
        default_value = "30s",
        value_parser = duration
    )]
    pub webhook_retry_base: Duration,
    /// How long a webhook receiver may take to answer.
    #[arg(long, env = "VESTIBULE_WEBHOOK_TIMEOUT", default_value = "10s", value_parser = duration)]
    pub webhook_timeout: Duration,
    /// How long a finished webhook delivery stays in the log, counted from its creation.
    #[arg(
        long,
        env = "VESTIBULE_DELIVERY_RETENTION",
        default_value = "168h",
        value_parser = duration
    )]
    pub delivery_retention: Duration,
    /// How long a device that was offline must be online again before `device.reconnected` fires.
    #[arg(
        long,
        env = "VESTIBULE_DEVICE_RECONNECT_DELAY",
        default_value = "10m",
        value_parser = duration
    )]
    pub device_reconnect_delay: Duration,
    /// URL of the service that sends commands to devices. Without this flag, a request for a
    /// command is answered with 503.
    #[arg(
        long,
        env = "VESTIBULE_DEVICE_CONNECTOR_URL",
        value_name = "URL",
        value_parser = device_connector_url
    )]
    pub device_connector_url: Option<Url>,
    /// Key that this service sends to the device connector, as a bearer token [file:
    /// `VESTIBULE_DEVICE_CONNECTOR_KEY_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_DEVICE_CONNECTOR_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub device_connector_key: Option<String>,
    /// How long a guest's cart stays unchanged before the event `cart_abandoned` fires.
    #[arg(
        long,
        env = "VESTIBULE_CART_ABANDONMENT_DELAY",
        default_value = "24h",
        value_parser = duration
    )]
    pub cart_abandonment_delay: Duration,
    /// Pause between two fetches of a calendar feed.
    #[arg(
        long,
        env = "VESTIBULE_CALENDAR_INTERVAL",
        default_value = "15m",
        value_parser = duration
    )]
    pub calendar_interval: Duration,
    /// Base URL of review photos whose key is not an address itself. Without it, requests for those
    /// photos are answered with 404.
    #[arg(long, env = "VESTIBULE_FILES_URL", value_name = "URL", value_parser = files_url)]
    pub files_url: Option<String>,
    /// Storage for files that guests send: `file:///…`, or `s3://BUCKET/PREFIX` with the usual
    /// `AWS_…` variables [default: beside a SQLite database; with PostgreSQL none, so that uploads
    /// are refused].
    #[arg(
        long,
        env = "VESTIBULE_UPLOADS_URL",
        value_name = "URL",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub uploads_url: Option<String>,
    /// How long files of guests are stored after check-out.
    #[arg(
        long,
        env = "VESTIBULE_UPLOAD_RETENTION",
        default_value = "720h",
        value_parser = duration
    )]
    pub upload_retention: Duration,
    /// Maximum total size of the files of one stay.
    #[arg(
        long,
        env = "VESTIBULE_UPLOADS_PER_STAY",
        value_name = "SIZE",
        default_value = "200MiB",
        value_parser = size
    )]
    pub uploads_per_stay: u64,
    /// Maximum total size of the files of one organization, unless the platform has set another
    /// limit for it.
    #[arg(
        long,
        env = "VESTIBULE_UPLOADS_PER_ORGANIZATION",
        value_name = "SIZE",
        default_value = "20GiB",
        value_parser = size
    )]
    pub uploads_per_organization: u64,
    /// Free space that files of guests must leave on their file system [default: 1GiB, or a tenth
    /// of a smaller file system].
    #[arg(long, env = "VESTIBULE_UPLOADS_RESERVE", value_name = "SIZE", value_parser = size)]
    pub uploads_reserve: Option<u64>,
    /// A PEM file with a pass type certificate from Apple, its private key, and any intermediate
    /// certificates. Without it no pass for Apple Wallet is offered.
    #[arg(
        long,
        env = "VESTIBULE_PASS_CERTIFICATE",
        value_name = "PEM",
        value_parser = TrimmedParser(PathBufValueParser::new())
    )]
    pub pass_certificate: Option<PathBuf>,
    /// URL of Apple's push service, `https://api.push.apple.com`. After a change of a pass, the
    /// push service notifies the phones with this pass. Needs `--pass-certificate`. Without this
    /// flag, a phone learns of a change when it next asks for updates.
    #[arg(long, env = "VESTIBULE_APNS_URL", value_name = "URL", value_parser = apns_url)]
    pub apns_url: Option<Url>,
    /// URL of a LibreTranslate-compatible service. Without it nothing is machine-translated.
    #[arg(
        long,
        env = "VESTIBULE_TRANSLATOR_URL",
        value_name = "URL",
        value_parser = translator_url
    )]
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
    #[arg(
        long,
        env = "VESTIBULE_STOCK_PHOTOS_URL",
        value_name = "URL",
        value_parser = stock_photos_url
    )]
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
    #[arg(
        long,
        env = "VESTIBULE_OIDC_CLIENT_ID",
        value_name = "ID",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
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
    /// Page to which a member without a session is redirected. The parameter `return_to` names the
    /// page for the member's return. Without this flag, a page of the service says how to sign in.
    #[arg(long, env = "VESTIBULE_SIGN_IN_URL", value_name = "URL", value_parser = sign_in_url)]
    pub sign_in_url: Option<Url>,
    /// Lets members who manage the organization create, replace and revoke API keys in the console.
    /// A key has at most the member's own permissions.
    #[arg(
        long,
        env = "VESTIBULE_CONSOLE_KEYS",
        value_parser = TrimmedParser(BoolValueParser::new())
    )]
    pub console_keys: bool,
    /// Maximum number of requests a minute per credential; 0 means no limit.
    #[arg(
        long,
        env = "VESTIBULE_RATE_LIMIT_PER_MINUTE",
        default_value_t = 1_000,
        value_parser = text::parse::<u32>
    )]
    pub rate_limit_per_minute: u32,
    /// Maximum number of requests a second per credential; 0 means no limit.
    #[arg(
        long,
        env = "VESTIBULE_RATE_LIMIT_PER_SECOND",
        default_value_t = 50,
        value_parser = text::parse::<u32>
    )]
    pub rate_limit_per_second: u32,
    /// Maximum number of console pages a minute per member; 0 means no limit. Each page counts as
    /// one request, however many operations it calls, and does not count for
    /// `--rate-limit-per-minute` [default: that of `--rate-limit-per-minute`, at least 600].
    #[arg(long, env = "VESTIBULE_CONSOLE_RATE_LIMIT_PER_MINUTE", value_parser = text::parse::<u32>)]
    pub console_rate_limit_per_minute: Option<u32>,
    /// Maximum number of console pages a second per member; 0 means no limit [default: that of
    /// `--rate-limit-per-second`, at least 20].
    #[arg(long, env = "VESTIBULE_CONSOLE_RATE_LIMIT_PER_SECOND", value_parser = text::parse::<u32>)]
    pub console_rate_limit_per_second: Option<u32>,
    /// Maximum number of requests a minute per stay, over the guest interface and the guest's page;
    /// 0 means no limit [default: that of `--rate-limit-per-minute`, at least 600].
    #[arg(long, env = "VESTIBULE_GUEST_RATE_LIMIT_PER_MINUTE", value_parser = text::parse::<u32>)]
    pub guest_rate_limit_per_minute: Option<u32>,
    /// Redis in which all nodes count requests for the rate limits, `redis://…` or `rediss://…`.
    /// Without this flag, each node counts only its own requests [file:
    /// `VESTIBULE_REDIS_URL_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_REDIS_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub redis_url: Option<String>,
    /// An origin whose pages may call the interface from a browser; repeatable.
    #[arg(
        long,
        env = "VESTIBULE_CORS_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = origin
    )]
    pub cors_origin: Vec<String>,
    /// How long the response to an idempotency key is stored.
    #[arg(
        long,
        env = "VESTIBULE_IDEMPOTENCY_RETENTION",
        default_value = "24h",
        value_parser = duration
    )]
    pub idempotency_retention: Duration,
    /// How long entries of the audit log are stored.
    #[arg(
        long,
        env = "VESTIBULE_AUDIT_RETENTION",
        default_value = "8760h",
        value_parser = duration
    )]
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
    /// How long a connection without a request stays open [default: 10s]. Behind a balancer, this
    /// must be longer than the balancer keeps idle connections to this service. It is also the time
    /// limit for the headers of a request and for a TLS handshake.
    #[arg(long, env = "VESTIBULE_KEEP_ALIVE", value_name = "TIME", value_parser = keep_alive)]
    pub keep_alive: Option<Duration>,
    /// An address range of proxies before this service; repeatable. For a connection from a proxy,
    /// the client is the last address in `X-Forwarded-For` or `Forwarded` that is not a proxy's.
    /// The client's address is used in the log and for the limits by address. Without this flag,
    /// these headers are ignored.
    #[arg(
        long,
        env = "VESTIBULE_TRUSTED_PROXY",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = range
    )]
    pub trusted_proxy: Vec<IpNet>,
    /// Maximum memory for the bodies of incomplete requests [default: 128MiB].
    #[arg(long, env = "VESTIBULE_REQUEST_MEMORY", value_name = "SIZE", value_parser = size)]
    pub request_memory: Option<u64>,
    /// An OpenTelemetry collector that receives traces, as JSON by OTLP over HTTP. Without this
    /// flag, no traces are recorded.
    #[arg(long, env = "VESTIBULE_OTLP_ENDPOINT", value_name = "URL", value_parser = endpoint)]
    pub otlp_endpoint: Option<Endpoint>,
    /// Number of processors to assume, to simulate another machine [default: those of this
    /// machine].
    #[arg(
        long,
        env = "VESTIBULE_PROCESSORS",
        hide = true,
        value_parser = text::parse::<NonZeroUsize>
    )]
    pub processors: Option<NonZeroUsize>,
}

impl ServeFlags {
    /// Returns the keys of the platform interface. There may be none, and there are two while the
    /// operator replaces a key.
    pub fn platform_keys(&self) -> Result<Vec<String>, String> {
        let text = (!self.platform_key.is_empty()).then(|| self.platform_key.join("\n"));
        let keys = raw_secret(text.as_deref(), "VESTIBULE_PLATFORM_KEY")?.unwrap_or_default();
        let describe = |reason: String| format!("--platform-key: {reason}");
        let lines = text::setting_lines(&keys).map_err(describe)?;
        let keys: Vec<&str> = lines
            .into_iter()
            .map(|line| text::trim_key(line).map_err(describe))
            .collect::<Result<_, _>>()?;
        if keys.len() > 1 && keys.contains(&"") {
            return Err("a platform key must not be blank".into());
        }
        if keys.len() > MAX_PLATFORM_KEYS {
            return Err(format!(
                "there are {} platform keys; at most {MAX_PLATFORM_KEYS} are allowed",
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
        let text = (!self.replica_url.is_empty()).then(|| self.replica_url.join("\n"));
        let urls = raw_secret(text.as_deref(), "VESTIBULE_REPLICA_URL")?.unwrap_or_default();
        let urls =
            text::setting_lines(&urls).map_err(|reason| format!("--replica-url: {reason}"))?;
        Ok(urls
            .into_iter()
            .filter(|url| !url.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Returns the API key of the translation service; `None` if no key is set.
    pub fn translator_key(&self) -> Result<Option<String>, String> {
        secret_without_blanks(self.translator_key.as_deref(), "VESTIBULE_TRANSLATOR_KEY")
    }

    /// Returns the access key of the stock photo service.
    pub fn stock_photos_key(&self) -> Result<Option<String>, String> {
        secret_without_blanks(
            self.stock_photos_key.as_deref(),
            "VESTIBULE_STOCK_PHOTOS_KEY",
        )
    }

    /// Returns the key of the device connector.
    pub fn device_connector_key(&self) -> Result<Option<String>, String> {
        raw_secret(
            self.device_connector_key.as_deref(),
            "VESTIBULE_DEVICE_CONNECTOR_KEY",
        )
    }

    /// Returns the OpenID provider for the sign-in of members.
    pub fn oidc(&self) -> Result<Option<Oidc>, String> {
        let client_secret = single_line_secret(
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

    /// Returns the maximum number of console pages in a minute and in a second.
    #[must_use]
    pub fn console_rate_limits(&self) -> (u32, u32) {
        let per_minute = self.console_rate_limit_per_minute;
        let per_second = self.console_rate_limit_per_second;
        (
            per_minute.unwrap_or_else(|| at_least(600, self.rate_limit_per_minute)),
            per_second.unwrap_or_else(|| at_least(20, self.rate_limit_per_second)),
        )
    }

    /// Returns the maximum number of requests of a stay in a minute.
    #[must_use]
    pub fn guest_rate_limit(&self) -> u32 {
        self.guest_rate_limit_per_minute
            .unwrap_or_else(|| at_least(600, self.rate_limit_per_minute))
    }

    /// Returns the URL of the Redis in which nodes count rate limits.
    pub fn redis_url(&self) -> Result<Option<String>, String> {
        single_line_secret(self.redis_url.as_deref(), "VESTIBULE_REDIS_URL")
    }
}

/// Returns `limit`, or `minimum` if `minimum` is higher. A limit of 0 stays 0, because it means no
/// limit.
fn at_least(minimum: u32, limit: u32) -> u32 {
    if limit == 0 { 0 } else { limit.max(minimum) }
}

/// An OpenID provider for the sign-in of members.
#[derive(Clone)]
pub struct Oidc {
    /// The provider's issuer, exactly as the provider writes it.
    pub issuer: String,
    /// The client id with which the service is registered at the OpenID provider.
    pub client_id: String,
    /// Client secret of this service at the provider; `None` if the service is registered there
    /// without a secret.
    pub client_secret: Option<String>,
}

/// Maximum number of valid platform keys: the current key, and the key that replaces it.
const MAX_PLATFORM_KEYS: usize = 2;

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::{Cli, ServeCommand};
    use super::*;

    fn flags(arguments: &[&str]) -> ServeFlags {
        let all = ["vestibule", "serve"].iter().chain(arguments);
        let Ok(cli) = Cli::try_parse_from(all) else {
            panic!("{arguments:?} can be parsed")
        };
        let ServeCommand::Serve(flags) = cli.command else {
            panic!("serve was given")
        };
        flags
    }

    #[test]
    fn limits_of_pages_follow_the_limits_of_requests_unless_they_are_set() {
        let set = flags(&[]);
        assert_eq!(set.console_rate_limits(), (1_000, 50));
        assert_eq!(set.guest_rate_limit(), 1_000);
        let set = flags(&["--rate-limit-per-minute=9", "--rate-limit-per-second=9"]);
        assert_eq!(
            (set.console_rate_limits(), set.guest_rate_limit()),
            ((600, 20), 600)
        );
        let set = flags(&["--rate-limit-per-minute=9000", "--rate-limit-per-second=0"]);
        assert_eq!(
            (set.console_rate_limits(), set.guest_rate_limit()),
            ((9_000, 0), 9_000)
        );
        let set = flags(&[
            "--rate-limit-per-minute=9",
            "--console-rate-limit-per-minute=7",
            "--console-rate-limit-per-second=6",
            "--guest-rate-limit-per-minute=5",
        ]);
        assert_eq!(
            (set.console_rate_limits(), set.guest_rate_limit()),
            ((7, 6), 5)
        );
    }
}
