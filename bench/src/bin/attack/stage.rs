//! The scenarios of the attack, and the function that runs one of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bench::keys::Keys;
use strum::{IntoStaticStr, VariantArray};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::caller::Caller;
use crate::organization::Organization;
use crate::server::{AttackedServer, Limits, PLATFORM_KEY};
use crate::table::Row;
use crate::victim::Victim;
use crate::{connections, ends, limits, neighbours, swapped};

/// The maximum number of a scenario's findings that are printed to standard error.
const MAX_PRINTED_FINDINGS: usize = 5;

/// The settings that are the same for all scenarios: the binary of the server, a directory for
/// data, the URL of a PostgreSQL database if one is used, the length of an attack, and the source
/// of idempotency keys.
pub struct ScenarioSettings {
    binary: PathBuf,
    scratch: PathBuf,
    postgres: Option<String>,
    length: Duration,
    keys: Keys,
}

impl ScenarioSettings {
    pub fn new(
        binary: PathBuf,
        scratch: PathBuf,
        postgres: Option<String>,
        length: Duration,
    ) -> Self {
        Self {
            binary,
            scratch,
            postgres,
            length,
            keys: Keys::default(),
        }
    }
}

/// An attack. Its serialized form is its name in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub enum Scenario {
    #[strum(serialize = "no attack, for comparison")]
    Nothing,
    #[strum(serialize = "connections that send nothing, `P` or half an HTTP/2 preface")]
    Silence,
    #[strum(serialize = "clients that do not read the document: closed HTTP/2 windows, pipelining")]
    Unread,
    #[strum(serialize = "a neighbour who does not read long lists of their own")]
    UnreadLists,
    #[strum(serialize = "bodies that come byte by byte")]
    SlowBodies,
    #[strum(serialize = "a neighbour whose large bodies are refused")]
    RefusedBodies,
    #[strum(serialize = "a neighbour who reads and changes a heavy list")]
    HeavyLists,
    #[strum(serialize = "a neighbour who moves flats between portals")]
    MovedFlats,
    #[strum(serialize = "a guest who floods one stay")]
    Messages,
    #[strum(serialize = "a receiver that hangs, and many events")]
    HangingReceiver,
    #[strum(serialize = "subscriptions with a long log deleted, their organizations erased")]
    LongLogs,
    #[strum(serialize = "ids and keys of the victim, used by a neighbour")]
    SwappedIds,
    #[strum(serialize = "`kill -9` under load")]
    Kills,
    #[strum(serialize = "SIGTERM under load")]
    Ends,
    #[strum(serialize = "a log pipe without a reader, under load")]
    UnreadLog,
    #[strum(serialize = "bodies that never end, without a credential")]
    UnfinishedBodies,
    #[strum(serialize = "a guest who uploads until the stay has no room")]
    FullStay,
    #[strum(serialize = "clients registered from many addresses")]
    Registrations,
    #[strum(serialize = "more silent connections than the process has files")]
    FewFiles,
}

impl Scenario {
    /// Runs the attack. Returns a description of its load, for the results table.
    async fn attack(self, stage: &mut Stage) -> anyhow::Result<String> {
        match self {
            Self::Nothing => {
                tokio::time::sleep_until(stage.begin().into()).await;
                Ok("–".into())
            }
            Self::Silence => connections::silence(stage).await,
            Self::Unread => connections::unread(stage).await,
            Self::UnreadLists => connections::unread_lists(stage).await,
            Self::SlowBodies => connections::slow_bodies(stage).await,
            Self::RefusedBodies => neighbours::refused_bodies(stage).await,
            Self::HeavyLists => neighbours::heavy_lists(stage).await,
            Self::MovedFlats => neighbours::moved_flats(stage).await,
            Self::Messages => neighbours::messages(stage).await,
            Self::HangingReceiver => neighbours::hanging_receiver(stage).await,
            Self::LongLogs => neighbours::long_logs(stage).await,
            Self::SwappedIds => swapped::ids(stage).await,
            Self::Kills => ends::kills(stage).await,
            Self::Ends => ends::orderly(stage).await,
            Self::UnreadLog => ends::unread_log(stage).await,
            Self::UnfinishedBodies => limits::unfinished_bodies(stage).await,
            Self::FullStay => limits::full_stay(stage).await,
            Self::Registrations => limits::registrations(stage).await,
            Self::FewFiles => limits::few_files(stage).await,
        }
    }

    /// Returns the limits that the operating system sets for the server in this scenario.
    fn limits(self) -> Limits {
        match self {
            Self::UnfinishedBodies => Limits {
                address_space: Some(limits::ADDRESS_SPACE),
                ..Limits::default()
            },
            Self::FewFiles => Limits {
                open_files: Some(limits::FEW_FILES),
                ..Limits::default()
            },
            _ => Limits::default(),
        }
    }
}

/// A server with two organizations: the victim and a neighbour.
pub struct Stage {
    pub server: AttackedServer,
    pub victim: Arc<Victim>,
    pub neighbour: Organization,
    pub keys: Keys,
    /// Descriptions of the defects that the attack found.
    pub defects: Vec<String>,
    length: Duration,
    victim_work: Option<(JoinHandle<()>, watch::Sender<bool>)>,
}

impl Stage {
    /// Starts the victim's regular requests. Returns the time when the attack must end.
    pub fn begin(&mut self) -> Instant {
        let (end, stop) = watch::channel(false);
        self.victim_work = Some((tokio::spawn(self.victim.clone().work(stop)), end));
        Instant::now() + self.length
    }

    /// Returns a client that calls the platform interface with the platform's key.
    pub fn platform(&self) -> Caller {
        self.neighbour.platform.clone()
    }
}

/// Runs a scenario on a new server.
pub async fn run_scenario(settings: &ScenarioSettings, scenario: Scenario) -> anyhow::Result<Row> {
    let ScenarioSettings {
        binary,
        scratch,
        postgres,
        length,
        keys,
    } = settings;
    let is_log_read = scenario != Scenario::UnreadLog;
    let server = tokio::task::block_in_place(|| {
        AttackedServer::start(
            binary,
            scratch,
            postgres.as_deref(),
            is_log_read,
            scenario.limits(),
        )
    })?;
    let platform = Caller::new(server.target.clone(), PLATFORM_KEY)?;
    let victim = Organization::new(platform.clone(), keys.clone()).await?;
    let neighbour = Organization::new(platform, keys.clone()).await?;
    let victim = Arc::new(Victim::new(victim, keys.clone())?);
    let mut stage = Stage {
        server,
        victim,
        neighbour,
        keys: keys.clone(),
        defects: Vec::new(),
        length: *length,
        victim_work: None,
    };

    let load = scenario.attack(&mut stage).await?;
    let (victim_work, end) = stage
        .victim_work
        .take()
        .context("the attack did not start the victim's work")?;
    end.send_replace(true);
    victim_work.await?;
    let verdict = stage.victim.audit(&stage.neighbour).await?;
    let mut wrong = [stage.defects, verdict.wrong, stage.server.trouble()?].concat();
    let record = std::mem::take(&mut *stage.victim.record());
    wrong.extend(record.wrong);
    let failures = stage.victim.failures() + stage.neighbour.key.failures();
    wrong.extend((0..failures).map(|_| "a 5xx other than 503".to_owned()));
    for finding in verdict
        .lost
        .iter()
        .chain(&verdict.duplicates)
        .chain(&wrong)
        .take(MAX_PRINTED_FINDINGS)
    {
        eprintln!("  {finding}");
    }
    Ok(Row {
        what: scenario.into(),
        load,
        memory: record.memory,
        times: record.times,
        refused: record.refused,
        lost: verdict.lost.len(),
        duplicates: verdict.duplicates.len(),
        wrong: wrong.len(),
    })
}
