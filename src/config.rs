//! The command line: the commands of `vestibule`, and their flags (docs/reference/commands.md).
//!
//! A flag takes precedence over its `VESTIBULE_*` variable, and the variable over the default. Each
//! flag with a secret also has a variable that ends with `_FILE`: the path of a file with the
//! secret. clap does not read this file. So code that needs a secret does not read the flag's
//! field. It calls a method of this module, for example [`DatabaseFlags::url`].
//!
//! The submodule `serve` declares the flags of `vestibule serve`, and `tls` the flags for its
//! certificate. `text` trims and checks the text of a flag, and `values` parses the text. `secrets`
//! reads secrets.

mod secrets;
mod serve;
mod text;
mod tls;
mod values;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::StringValueParser;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use engine::access::Permission;
use engine::nearest::nearest;
use engine::operation::Surface;
use engine::traces::Endpoint;
use features::records::RecordKind;
use uuid::Uuid;

use self::secrets::single_line_secret;
pub use self::serve::{Oidc, ServeFlags};
use self::text::TrimmedParser;
pub use self::tls::{PublicUrlFlags, TlsFlags};
use self::values::{column, country, duration, email, kind, language, name, permission, time_zone};

/// Guest portals for short-term rentals.
#[derive(Debug, Parser)]
#[command(name = "vestibule", version)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: ServeCommand,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Start the service. Migrates the database first.
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
    /// Copy a SQLite database to a file, even while the service runs. With `--every` or `--keep`,
    /// copy the database and the files of guests to a directory, regularly.
    Backup(BackupFlags),
    /// Replace a SQLite database by a backup. The service must not run.
    Restore(RestoreFlags),
    /// Print an OpenAPI document.
    Openapi(OpenapiFlags),
}

/// Flags of `vestibule migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateFlags {
    /// The flags that select the database.
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
    /// The flags that select the database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[command(flatten)]
    pub public_url: PublicUrlFlags,
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
    /// The flags that select the database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[command(flatten)]
    pub public_url: PublicUrlFlags,
    /// Name of the organization, as guests know it.
    #[arg(long, value_parser = name)]
    pub name: String,
    /// Country of phone numbers without a prefix, as a two-letter code.
    #[arg(long, default_value = "US", value_parser = country)]
    pub country: String,
    /// Time zone of flats that are added by hand without a time zone, such as `Europe/Madrid`.
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
    /// Invite a member, or make another link for a member, and print the sign-in link.
    Invite(InviteMemberFlags),
}

/// Flags of `vestibule member invite`.
#[derive(Debug, Clone, Args)]
pub struct InviteMemberFlags {
    /// The flags that select the database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// The address at which browsers reach the service.
    #[command(flatten)]
    pub public_url: PublicUrlFlags,
    /// The organization of the member.
    #[arg(long, value_name = "ID")]
    pub organization: Uuid,
    /// Mail address of the member. An existing member with this address gets another link.
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
    #[command(flatten)]
    pub public_url: PublicUrlFlags,
}

/// An interface for which the service has an OpenAPI document.
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

/// The flags of the database, which most commands have.
#[derive(Debug, Clone, Args)]
pub struct DatabaseFlags {
    /// URL of the database: `sqlite:PATH`, or `postgres://…` for several nodes on one database
    /// [default: sqlite:vestibule.db] [file: `VESTIBULE_DATABASE_URL_FILE`].
    #[arg(long, env = "VESTIBULE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Maximum number of connections to PostgreSQL, 2 to 256. One of the connections is only for
    /// the look-up of callers [default: 8 a processor].
    #[arg(
        long,
        env = "VESTIBULE_DATABASE_CONNECTIONS",
        value_name = "COUNT",
        value_parser = TrimmedParser(clap::value_parser!(u16).range(2..=256))
    )]
    pub database_connections: Option<u16>,
    /// URL of the PostgreSQL server itself, for migrations. Needed if `--database-url` is that of a
    /// pooler in transaction mode [file: `VESTIBULE_DATABASE_DIRECT_URL_FILE`].
    #[arg(
        long,
        env = "VESTIBULE_DATABASE_DIRECT_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub database_direct_url: Option<String>,
}

impl DatabaseFlags {
    /// Returns whether a flag, a variable or a file selects a database.
    #[must_use]
    pub fn is_set(&self) -> bool {
        let is_set = |value: std::ffi::OsString| !value.is_empty();
        self.database_url
            .as_ref()
            .is_some_and(|url| !url.is_empty())
            || std::env::var_os("VESTIBULE_DATABASE_URL_FILE").is_some_and(is_set)
    }

    /// Returns the URL of the database. Without a setting, this is the SQLite file `vestibule.db`
    /// in the working directory.
    pub fn url(&self) -> Result<String, String> {
        let url = single_line_secret(self.database_url.as_deref(), "VESTIBULE_DATABASE_URL")?;
        Ok(url.unwrap_or_else(|| "sqlite:vestibule.db".to_owned()))
    }

    /// Returns the options for opening the database.
    pub fn options(&self) -> Result<store::Options, String> {
        let direct = single_line_secret(
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

/// Returns a message for each environment variable in `names` that looks like a setting but is
/// unknown.
#[must_use]
pub fn unknown_variables(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let command = Cli::command();
    let arguments = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments);
    let mut settings: Vec<String> = arguments
        .filter_map(|argument| Some(argument.get_env()?.to_str()?.to_owned()))
        .collect();
    settings.push("VESTIBULE_LOG".to_owned());
    let secrets: Vec<String> = settings.iter().map(|name| format!("{name}_FILE")).collect();
    settings.extend(secrets);
    let is_unknown = |name: &String| name.starts_with("VESTIBULE_") && !settings.contains(name);
    let unknown = names.into_iter().filter(is_unknown);
    unknown
        .map(|name| {
            let suggestion = nearest(&name, settings.iter().map(String::as_str));
            let suggestion = suggestion.map_or(String::new(), |suggestion| {
                format!("; did you mean {suggestion}?")
            });
            format!("{name} is not a setting and has no effect{suggestion}")
        })
        .collect()
}

impl ServeCommand {
    /// Returns the value of `--processors`, for the commands that have this flag.
    #[must_use]
    pub fn processors(&self) -> Option<NonZeroUsize> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) | Self::Doctor(flags) => flags.processors,
            _ => None,
        }
    }

    /// Returns the value of `--otlp-endpoint`: the address that receives traces. Returns `None`
    /// without the flag.
    #[must_use]
    pub fn otlp_endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Serve(flags) | Self::Demo(flags) => flags.otlp_endpoint.clone(),
            _ => None,
        }
    }
}

/// Flags of `vestibule import`.
#[derive(Debug, Clone, Args)]
pub struct ImportFlags {
    /// The flags that select the database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Id of the organization to which the records are added.
    #[arg(long, value_name = "ID")]
    pub organization: Uuid,
    /// Fire no events, because the records are history.
    #[arg(long)]
    pub initial_sync: bool,
    /// Validate everything and apply nothing. Limited to the size of one batch, 10,000 records or
    /// 15 MiB.
    #[arg(long)]
    pub dry_run: bool,
    /// Skip invalid records and records that refer to them, and import the others. Each skipped
    /// record is written to standard error as NDJSON, with its issues and the number of its line.
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
    pub kind: Option<RecordKind>,
    /// The field of a column whose header is not the name of the field; repeatable.
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
    /// The flags that select the database.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Storage of the files that guests sent: `file:///…` or `s3://…`, the same value as for
    /// `vestibule serve` [default: beside the database].
    #[arg(
        long,
        env = "VESTIBULE_UPLOADS_URL",
        value_name = "URL",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub uploads_url: Option<String>,
    /// Make a backup in a directory now, and again after each interval of this length.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub every: Option<Duration>,
    /// Maximum number of backups in the directory. The oldest backups above this number are
    /// deleted.
    #[arg(long, value_name = "COUNT")]
    pub keep: Option<NonZeroUsize>,
    /// The file to write, which must not exist yet. With `--every` or `--keep`, the directory of
    /// the backups.
    #[arg(value_name = "FILE_OR_DIRECTORY")]
    pub file: PathBuf,
}

/// Flags of `vestibule restore`.
#[derive(Debug, Clone, Args)]
pub struct RestoreFlags {
    /// The database to restore.
    #[command(flatten)]
    pub database: DatabaseFlags,
    /// Storage of the files that guests sent: `file:///…` or `s3://…`, the same value as for
    /// `vestibule serve` [default: beside the database].
    #[arg(
        long,
        env = "VESTIBULE_UPLOADS_URL",
        value_name = "URL",
        value_parser = TrimmedParser(StringValueParser::new())
    )]
    pub uploads_url: Option<String>,
    /// Restore even if the database exists. The existing database is kept under another name.
    #[arg(long)]
    pub replace: bool,
    /// The backup to restore: a file, or a backup in a directory. For the directory itself, its
    /// newest backup is restored.
    #[arg(value_name = "BACKUP")]
    pub from: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
