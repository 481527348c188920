//! Two PostgreSQL servers under Patroni: a primary and a synchronous standby, coordinated by etcd.
//! The programs of Patroni and etcd must be where Debian installs them.

use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::choose_tls_provider;
use super::left_out::leave_out;
use super::ports::free_port;
use super::postgres::{binaries, is_root, unprivileged};

/// Time limit of the wait for a primary and a synchronous standby.
const WAIT_LIMIT: Duration = Duration::from_secs(90);
const NAMES: [&str; 2] = ["one", "two"];

/// Two PostgreSQL servers that Patroni manages, and the etcd server that Patroni uses. All of them
/// are stopped when this value is dropped or this process ends.
pub struct PatroniPair {
    /// A database URL with the host and port of both servers.
    pub database_url: String,
    members: [PatroniMember; 2],
    etcd: Child,
    http: reqwest::Client,
    directory: TempDir,
}

struct PatroniMember {
    /// Port of the REST interface of this member's Patroni.
    api: u16,
    /// Port of this member's PostgreSQL.
    port: u16,
    directory: PathBuf,
    patroni: Child,
}

impl PatroniPair {
    /// Starts the two servers. Returns `None` if a program is not installed; the test is then
    /// skipped.
    pub async fn start() -> Option<Self> {
        choose_tls_provider();
        let programs = ["/usr/bin/etcd", "/usr/bin/patroni"];
        let Some(bin) = binaries().filter(|_| programs.iter().all(|path| Path::new(path).exists()))
        else {
            leave_out(
                "Patroni",
                "patroni, etcd or initdb was not found",
                "VESTIBULE_REQUIRE_PATRONI",
            );
            return None;
        };
        let directory = tempfile::Builder::new()
            .prefix("vestibule-patroni")
            .tempdir()
            .unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let [store, peers] = [free_port(), free_port()];
        let etcd = start_etcd(directory.path(), store, peers);
        std::fs::write(directory.path().join("etcd.pid"), etcd.id().to_string()).unwrap();
        end_with_this_process(directory.path());
        let members = NAMES.map(|name| PatroniMember::start(directory.path(), name, store, &bin));
        let [one, two] = members.each_ref().map(|member| member.port);
        let database_url = format!(
            "postgres://vestibule@127.0.0.1:{one},127.0.0.1:{two}/postgres\
                ?target_session_attrs=read-write"
        );
        let pair = Self {
            database_url,
            members,
            etcd,
            http: reqwest::Client::new(),
            directory,
        };
        pair.until_synchronous().await;
        Some(pair)
    }

    /// Waits until the standby is synchronous. Returns the index of the primary.
    pub async fn until_synchronous(&self) -> usize {
        let start = Instant::now();
        loop {
            let roles = self.roles().await;
            let with_role = |role_name: &str| {
                roles
                    .iter()
                    .position(|role| role.as_deref() == Some(role_name))
            };
            if let (Some(primary), Some(_)) = (with_role("leader"), with_role("sync_standby")) {
                return primary;
            }
            assert!(start.elapsed() < WAIT_LIMIT, "{roles:?}; {}", self.logs());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits until the server that is not `former` is the primary.
    pub async fn until_replaced(&self, former: usize) {
        let start = Instant::now();
        while self.roles().await[1 - former].as_deref() != Some("leader") {
            assert!(start.elapsed() < WAIT_LIMIT, "{}", self.logs());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Returns the role of each running server. The roles come from the first Patroni that
    /// responds.
    async fn roles(&self) -> [Option<String>; 2] {
        for member in &self.members {
            let url = format!("http://127.0.0.1:{}/cluster", member.api);
            let Ok(answer) = self
                .http
                .get(url)
                .timeout(Duration::from_secs(2))
                .send()
                .await
            else {
                continue;
            };
            let Ok(cluster) = answer.json::<Value>().await else {
                continue;
            };
            let running = |name: &str| {
                let listed = cluster["members"]
                    .as_array()?
                    .iter()
                    .find(|member| member["name"] == name)?;
                let is_well = matches!(listed["state"].as_str(), Some("running" | "streaming"));
                is_well.then(|| listed["role"].as_str().unwrap().to_owned())
            };
            return NAMES.map(running);
        }
        [None, None]
    }

    /// Exchanges the roles of the two servers, as an operator does before maintenance. `primary` is
    /// the index of the server that is the primary now.
    pub async fn switch_over(&self, primary: usize) {
        let url = format!("http://127.0.0.1:{}/switchover", self.members[primary].api);
        let body = json!({ "leader": NAMES[primary], "candidate": NAMES[1 - primary] });
        let response = self
            .http
            .post(url)
            .json(&body)
            .timeout(WAIT_LIMIT)
            .send()
            .await
            .unwrap();
        assert!(
            response.status().is_success(),
            "{}",
            response.text().await.unwrap()
        );
    }

    /// Sends `kill -9` to all processes of a PostgreSQL server. Its Patroni continues to run.
    pub fn kill_server(&self, member: usize) {
        signal("-KILL", &self.members[member].server());
    }

    /// Sends `kill -9` to the PostgreSQL server and the Patroni process of a cluster member, as if
    /// the member's machine had failed.
    pub fn lose_machine(&mut self, member: usize) {
        let member = &mut self.members[member];
        signal(
            "-KILL",
            &[vec![member.patroni.id()], member.server()].concat(),
        );
        member.patroni.wait().unwrap();
    }

    /// Starts Patroni of a member again after [`PatroniPair::lose_machine`].
    pub fn bring_back(&mut self, member: usize) {
        let member = &mut self.members[member];
        member.patroni = start_patroni(&member.directory);
    }

    /// Freezes all processes of one of the two database servers, a member of the Patroni cluster.
    /// The connections of the server stay open.
    pub fn freeze(&self, member: usize) -> Frozen {
        let member = &self.members[member];
        let processes = [vec![member.patroni.id()], member.server()].concat();
        signal("-STOP", &processes);
        Frozen(processes)
    }

    fn logs(&self) -> String {
        let log = |name: &str| {
            std::fs::read_to_string(self.directory.path().join(name).join("log"))
                .unwrap_or_default()
        };
        NAMES
            .map(|name| {
                log(name)
                    .lines()
                    .rev()
                    .take(12)
                    .collect::<Vec<_>>()
                    .join("\n")
            })
            .join("\n---\n")
    }
}

/// The frozen processes of one of the two servers. When this value is dropped, the processes
/// continue.
pub struct Frozen(Vec<u32>);

impl Frozen {
    pub fn resume(self) {
        drop(self);
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

impl Drop for PatroniPair {
    fn drop(&mut self) {
        clean_up(self.directory.path());
        self.etcd.wait().ok();
        for member in &mut self.members {
            member.patroni.wait().ok();
        }
    }
}

impl PatroniMember {
    fn start(directory: &Path, name: &str, store: u16, bin: &Path) -> Self {
        let [api, port] = [free_port(), free_port()];
        let home = directory.join(name);
        std::fs::create_dir(&home).unwrap();
        let settings = json!({
            "scope": "vestibule", "name": name,
            "restapi": {
                "listen": format!("127.0.0.1:{api}"),
                "connect_address": format!("127.0.0.1:{api}"),
            },
            // With the newer interface (`etcd3`), Patroni 3.0 sometimes uses outdated data from its
            // cache and then assigns no standby.
            "etcd": { "host": format!("127.0.0.1:{store}") },
            "bootstrap": {
                "dcs": {
                    // The defaults (30 s, 10 s and 10 s) would make each failover slower.
                    "ttl": 5, "loop_wait": 1, "retry_timeout": 2,
                    "synchronous_mode": true,
                    // Zero means that Patroni does not wait for a killed server to restart if
                    // another server can take over.
                    "primary_start_timeout": 0,
                    "postgresql": {
                        "use_pg_rewind": true, "use_slots": true,
                        "parameters": { "max_connections": 200, "wal_log_hints": "on" },
                    },
                },
                "initdb": [{ "encoding": "UTF8" }, { "locale": "C" }],
            },
            "postgresql": {
                "listen": format!("127.0.0.1:{port}"),
                "connect_address": format!("127.0.0.1:{port}"),
                "data_dir": home.join("data"), "bin_dir": bin, "pgpass": home.join("pgpass"),
                "authentication": {
                    "superuser": { "username": "vestibule" },
                    "replication": { "username": "vestibule" },
                },
                "parameters": { "unix_socket_directories": home, "shared_buffers": "64MB" },
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust", "host \
                    replication all 127.0.0.1/32 trust"],
            },
        });
        std::fs::write(home.join("patroni.json"), settings.to_string()).unwrap();
        if is_root() {
            assert!(
                Command::new("chown")
                    .args(["-R", "postgres"])
                    .arg(&home)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        Self {
            api,
            port,
            patroni: start_patroni(&home),
            directory: home,
        }
    }

    /// Returns the process ids of PostgreSQL. The first one belongs to the postmaster, the parent
    /// of the other processes.
    fn server(&self) -> Vec<u32> {
        let Ok(noted) = std::fs::read_to_string(self.directory.join("data/postmaster.pid")) else {
            return Vec::new();
        };
        let first = noted.lines().next().unwrap();
        let listed = Command::new("ps")
            .args(["-o", "pid=", "--ppid", first])
            .output()
            .unwrap()
            .stdout;
        let numbers = format!("{first}\n{}", String::from_utf8(listed).unwrap());
        numbers
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect()
    }
}

fn signal(signal: &str, processes: &[u32]) {
    // `kill` fails if a process has already ended, so the result is ignored.
    drop(
        Command::new("kill")
            .arg(signal)
            .args(processes.iter().map(u32::to_string))
            .stderr(Stdio::null())
            .status(),
    );
}

fn start_etcd(directory: &Path, clients: u16, peers: u16) -> Child {
    let [clients, peers] = [clients, peers].map(|port| format!("http://127.0.0.1:{port}"));
    let mut command = Command::new("/usr/bin/etcd");
    command
        .args([
            "--name",
            "only",
            "--log-level",
            "error",
            "--unsafe-no-fsync",
            "--enable-v2",
        ])
        .arg("--data-dir")
        .arg(directory.join("etcd"));
    command.args([
        "--listen-client-urls",
        &clients,
        "--advertise-client-urls",
        &clients,
        "--listen-peer-urls",
        &peers,
    ]);
    command.args([
        "--initial-advertise-peer-urls",
        &peers,
        "--initial-cluster",
        &format!("only={peers}"),
    ]);
    let log = File::create(directory.join("etcd.log")).unwrap();
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn start_patroni(home: &Path) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(home.join("log"))
        .unwrap();
    let mut command = unprivileged(Path::new("/usr/bin/patroni"));
    command
        .arg(home.join("patroni.json"))
        .current_dir(home)
        .stdin(Stdio::null());
    let patroni = command
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    std::fs::write(home.join("patroni.pid"), patroni.id().to_string()).unwrap();
    patroni
}

/// A shell script that kills etcd, Patroni and PostgreSQL. It reads their process ids from files
/// below the directory `$0`. It kills Patroni first, because Patroni would restart PostgreSQL.
const CLEAN_UP: &str = "for file in $0/*/patroni.pid $0/etcd.pid $0/*/data/postmaster.pid; do \
                     test -e $file && kill -KILL $(head -1 $file) 2>/dev/null; done";

fn clean_up(directory: &Path) {
    drop(
        Command::new("sh")
            .args(["-c", CLEAN_UP])
            .arg(directory)
            .status(),
    );
}

/// Starts a shell that waits until this process has ended, and then stops the servers. Destructors
/// cannot do this, because a test process ends without running destructors.
#[expect(clippy::zombie_processes, reason = "it is to outlive this process")]
fn end_with_this_process(directory: &Path) {
    let script = format!(
        "while kill -0 {} 2>/dev/null; do sleep 0.5; done; {CLEAN_UP}; sleep 1; rm -rf $0",
        std::process::id()
    );
    let nothing = || Stdio::null();
    let mut command = Command::new("setsid");
    command
        .args(["sh", "-c", &script])
        .arg(directory)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn()
        .unwrap();
}
