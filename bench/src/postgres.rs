//! Measures PostgreSQL: reads beside a bare handler and from two nodes, and durable creations in
//! one organization and in many. The yardstick of creations is `pgbench` with the statements of one
//! creation.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::client::{Ask, Client, Coding, PORTALS, PRECHECK_STEPS, Requests};
use crate::guest_page::{self, VISITED};
use crate::keys::Keys;
use crate::load;
use crate::measure::Bench;
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, LISTED, ORGANIZATION};

/// Connections to the service that create.
const CREATING: u32 = 64;
/// Database connections per core, of the service and of `pgbench` (`crates/store/src/postgres.rs`).
const A_CORE: usize = 8;
/// Number of organizations that the creations are spread over.
const ORGANIZATIONS: u32 = 64;
/// The least rate of creations in one organization, as a multiple of the rate of `pgbench`. It can
/// be above 1, because the creations share commits.
const CREATE_TARGET: f64 = 2.0;
/// The same, spread over many organizations.
const SPREAD_TARGET: f64 = 0.8;
/// The least rate of the list of steps, as a part of the rate of a bare handler.
const LIST_TARGET: f64 = 0.7;
/// The same for a guest's view of a stay.
const STAY_TARGET: f64 = 0.25;
/// Connections that read, in total.
const READING: u32 = 32;

/// The statements of creating a portal, authentication included, with rows of the same length. They
/// contain no JSON, because `pgbench` reads a colon as the beginning of a variable.
const STATEMENTS: &str = r"
\set n random(1, 1000000000000)
\set o random(1, ORGANIZATIONS)
select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k join organization o on o.id = k.organization_id
    where k.organization_id = ORGANIZATION limit 1;
begin;
select pg_try_advisory_xact_lock(:n);
select fingerprint, status, body, completed_at from idempotency_record where organization_id = ORGANIZATION and credential = 'bench' and key = 'bench-' || :n;
update organization set revision = revision + 12345 where id = ORGANIZATION and erased_at is null returning doc, revision;
select id from portal where organization_id = ORGANIZATION and name_key = 'bench-' || :n;
insert into portal (organization_id, id, name_key, is_default, created_at, updated_at, summary, doc)
    values (ORGANIZATION, gen_random_uuid(), 'bench-' || :n, false, now(), now(), repeat('x', 130), jsonb_build_object('supportNotes', repeat('x', DOCUMENT)))
    on conflict (organization_id, id) do nothing;
insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc, actor_name)
    values (ORGANIZATION, gen_random_uuid(), now(), gen_random_uuid(), gen_random_uuid(), jsonb_build_object('changes', repeat('x', DOCUMENT)), 'bench');
insert into idempotency_record (organization_id, credential, key, fingerprint, status, body, completed_at)
    values (ORGANIZATION, 'bench', 'bench-' || :n, decode(repeat('21', 32), 'hex'), 201, repeat('x', ANSWER), now())
    on conflict (organization_id, credential, key) do nothing;
commit;
";
/// An expression for the id of organization number `o` in these statements.
const NUMBERED: &str =
    "cast('00000000-0000-4000-8000-' || lpad(to_hex(cast(:o as bigint)), 12, '0') as uuid)";
/// The bits that the ids of numbered organizations have in common.
const NUMBERING: (u64, u64) = (0x4000, 0x8000_0000_0000_0000);

impl Bench {
    /// Takes all measurements of PostgreSQL, on an empty database.
    pub async fn postgres(&self, url: &str) -> anyhow::Result<Vec<Line>> {
        let node = Server::on(&self.binary, &self.scratch, url)?;
        let client = setup::organization(&node).await?;
        setup::listed(&client).await?;
        let list = format!("`GET {PRECHECK_STEPS}` on PostgreSQL, {LISTED} steps");
        let mut lines = self
            .compare_with_bare(
                &node,
                &client,
                &list,
                PRECHECK_STEPS,
                Coding::Identity,
                LIST_TARGET,
            )
            .await?;
        lines.push(self.created(&client, url).await?);
        lines.push(self.spread(&node, url).await?);
        let other = Server::on(&self.binary, &self.scratch, url)?;
        lines.push(self.shared(&client, &client.at(other.address)?).await?);
        drop(other);
        let stay = format!(
            "/guest/v1/stays/{}",
            guest_page::visited(&node, &client).await?
        );
        let what = format!("`GET /guest/v1/stays/{{token}}` on PostgreSQL, {VISITED}");
        lines.extend(
            self.compare_with_bare(&node, &client, &what, &stay, Coding::Identity, STAY_TARGET)
                .await?,
        );
        Ok(lines)
    }

    /// Measures durable creations in one organization.
    async fn created(&self, client: &Client, url: &str) -> anyhow::Result<Line> {
        let keys = Keys::default();
        // The first keys are already in the names of the existing portals.
        for _ in 0..LISTED {
            let _ = keys.next();
        }
        let id = ORGANIZATION.rsplit('/').next().unwrap_or_default();
        let requests = Requests {
            client: client.clone(),
            ask: Ask::Create(keys),
        };
        let what = format!(
            "durable `POST {PORTALS}` on PostgreSQL, a key each, {CREATING} connections, one organization"
        );
        self.compare_with_pgbench(
            what,
            requests,
            &format!("cast('{id}' as uuid)"),
            CREATE_TARGET,
            url,
        )
        .await
    }

    /// Measures durable creations over many organizations.
    async fn spread(&self, node: &Server, url: &str) -> anyhow::Result<Line> {
        let mut clients = Vec::new();
        for number in 1..=u64::from(ORGANIZATIONS) {
            let id = Uuid::from_u64_pair(NUMBERING.0, NUMBERING.1 | number);
            clients.push(
                setup::organization_at(node, &format!("/platform/v1/organizations/{id}")).await?,
            );
        }
        let client = clients.first().cloned().context("no organization")?;
        let requests = Requests {
            client,
            ask: Ask::CreateBy(Keys::default(), clients.into()),
        };
        let what = format!(
            "durable `POST {PORTALS}` on PostgreSQL, a key each, {CREATING} connections, {ORGANIZATIONS} organizations"
        );
        self.compare_with_pgbench(what, requests, NUMBERED, SPREAD_TARGET, url)
            .await
    }

    /// Measures durable creations beside `pgbench`. `organization` is the SQL expression of the
    /// organization's id.
    async fn compare_with_pgbench(
        &self,
        what: String,
        requests: Requests,
        organization: &str,
        target: f64,
        url: &str,
    ) -> anyhow::Result<Line> {
        let answer = requests
            .client
            .ask(Method::POST, PORTALS, Some(&setup::portal("Azul")))
            .await?;
        let envelope: Value = serde_json::from_slice(answer.body())?;
        let (document, answer) = (envelope["data"].to_string().len(), answer.body().len());
        let script = self.scratch.join("create.sql");
        let statements = STATEMENTS
            .replace("ORGANIZATIONS", &ORGANIZATIONS.to_string())
            .replace("ORGANIZATION", organization);
        fs::write(
            &script,
            statements
                .replace("DOCUMENT", &document.to_string())
                .replace("ANSWER", &answer.to_string()),
        )?;
        let connections = A_CORE * std::thread::available_parallelism()?.get();
        let compared = self
            .compare(
                &what,
                "/s",
                async |length| {
                    Ok(
                        load::round(requests.clone(), CREATING, length, &self.scratch)
                            .await?
                            .rate,
                    )
                },
                async |length| pgbench(url, &script, connections, length).await,
            )
            .await?;
        let yardstick = format!("pgbench, the same statements, {connections} connections");
        Ok(compared.line(what, &yardstick, Some(target)))
    }

    /// Measures a list read from two nodes beside the same list read from one.
    async fn shared(&self, one: &Client, other: &Client) -> anyhow::Result<Line> {
        let ask = Ask::Read(Arc::from(PRECHECK_STEPS), Coding::Identity);
        let requests = |client: &Client| Requests {
            client: client.clone(),
            ask: ask.clone(),
        };
        let compared = self
            .compare(
                "reads on PostgreSQL, two nodes",
                "/s",
                async |length| {
                    let (first, second) = (self.scratch.join("one"), self.scratch.join("other"));
                    fs::create_dir_all(&first)?;
                    fs::create_dir_all(&second)?;
                    let (half, rest) = (READING / 2, READING - READING / 2);
                    let rounds = tokio::join!(
                        load::round(requests(one), half, length, &first),
                        load::round(requests(other), rest, length, &second)
                    );
                    Ok(rounds.0?.rate + rounds.1?.rate)
                },
                async |length| {
                    Ok(load::round(requests(one), READING, length, &self.scratch)
                        .await?
                        .rate)
                },
            )
            .await?;
        let what = format!(
            "`GET {PRECHECK_STEPS}`, {LISTED} steps, two nodes on one PostgreSQL, {READING} connections in all"
        );
        Ok(compared.line(what, "one node", None))
    }
}

/// Runs `pgbench` and returns its transactions per second.
async fn pgbench(
    url: &str,
    script: &Path,
    connections: usize,
    length: Duration,
) -> anyhow::Result<f64> {
    let seconds = length.as_secs().max(1).to_string();
    let mut command = Command::new(program());
    command
        .args([
            "-n",
            "-M",
            "prepared",
            "-j",
            "2",
            "-T",
            &seconds,
            "-c",
            &connections.to_string(),
            "-f",
        ])
        .arg(script)
        .arg(url);
    let ran = tokio::task::spawn_blocking(move || command.output())
        .await?
        .context("pgbench, of PostgreSQL's own package")?;
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    ensure!(
        ran.status.success(),
        "pgbench: {output}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.with_context(|| format!("pgbench says {output}"))
}

/// Returns the newest `pgbench` of Debian's packages, else the one on the path.
fn program() -> std::path::PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/pgbench"));
    installed
        .filter(|program| program.exists())
        .max()
        .unwrap_or_else(|| "pgbench".into())
}
