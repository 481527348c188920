//! On PostgreSQL: durable creations beside `pgbench` running the statements of one, and reads from one node and from two.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::Value;

use crate::client::{Ask, Client, Coding, PORTALS, PRECHECK_STEPS, Requests};
use crate::keys::Keys;
use crate::load;
use crate::measure::Bench;
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, LISTED};

/// Connections that create, to the service.
const CREATING: u32 = 64;
/// Connections to the database, of the service and of `pgbench`: 8 a core (`crates/store/src/postgres.rs`).
const A_CORE: usize = 8;
/// The part of the rate of `pgbench` that creations are to reach.
const CREATE_TARGET: f64 = 0.6;
/// Connections that read, in all.
const READING: u32 = 32;

/// What creating a portal asks of the database, in the two transactions it takes, who asks and the creation; the rows are as
/// long. `pgbench` reads a colon as the beginning of a variable, so that no JSON can stand here.
const STATEMENTS: &str = r"
\set n random(1, 1000000000000)
begin isolation level repeatable read read only;
select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k join organization o on o.id = k.organization_id limit 1;
commit;
begin;
select pg_try_advisory_xact_lock(:n);
select fingerprint, status, body, completed_at from idempotency_record where organization_id = (select id from organization limit 1) and credential = 'bench' and key = 'bench-' || :n;
update organization set revision = revision + 12345 where id = (select id from organization limit 1) and erased_at is null returning doc, revision;
select id from portal where organization_id = (select id from organization limit 1) and name_key = 'bench-' || :n;
insert into portal (organization_id, id, name_key, is_default, created_at, updated_at, summary, doc)
    values ((select id from organization limit 1), gen_random_uuid(), 'bench-' || :n, false, now(), now(), repeat('x', 130), jsonb_build_object('supportNotes', repeat('x', DOCUMENT)))
    on conflict (organization_id, id) do nothing;
insert into idempotency_record (organization_id, credential, key, fingerprint, status, body, completed_at)
    values ((select id from organization limit 1), 'bench', 'bench-' || :n, decode(repeat('21', 32), 'hex'), 201, repeat('x', ANSWER), now())
    on conflict (organization_id, credential, key) do nothing;
commit;
";

impl Bench {
    /// Everything about PostgreSQL, on an empty database.
    pub async fn postgres(&self, url: &str) -> anyhow::Result<Vec<Line>> {
        let node = Server::on(&self.binary, &self.scratch, url)?;
        let client = setup::organization(&node).await?;
        setup::listed(&client).await?;
        let mut lines = vec![self.created(&client, url).await?];
        let other = Server::on(&self.binary, &self.scratch, url)?;
        lines.push(self.shared(&client, &client.at(other.address)?).await?);
        Ok(lines)
    }

    /// Durable creations beside `pgbench`.
    async fn created(&self, client: &Client, url: &str) -> anyhow::Result<Line> {
        let answer = client.ask(Method::POST, PORTALS, Some(&setup::portal("Azul"))).await?;
        let envelope: Value = serde_json::from_slice(answer.body())?;
        let (document, answer) = (envelope["data"].to_string().len(), answer.body().len());
        let script = self.scratch.join("create.sql");
        fs::write(&script, STATEMENTS.replace("DOCUMENT", &document.to_string()).replace("ANSWER", &answer.to_string()))?;
        let keys = Keys::default();
        // The portals that are there have the first of them in their names.
        for _ in 0..LISTED {
            let _ = keys.next();
        }
        let requests = Requests { client: client.clone(), ask: Ask::Create(keys) };
        let connections = A_CORE * std::thread::available_parallelism()?.get();
        let compared = self
            .compare(
                "create on PostgreSQL",
                "/s",
                async |length| Ok(load::round(requests.clone(), CREATING, length, &self.scratch).await?.rate),
                async |length| pgbench(url, &script, connections, length).await,
            )
            .await?;
        let what = format!("durable `POST {PORTALS}` on PostgreSQL, a key each, {CREATING} connections");
        let yardstick = format!("pgbench, the same statements, {connections} connections");
        Ok(compared.line(what, &yardstick, Some(CREATE_TARGET)))
    }

    /// A list from two nodes beside the same one from one of them.
    async fn shared(&self, one: &Client, other: &Client) -> anyhow::Result<Line> {
        let ask = Ask::Read(Arc::from(PRECHECK_STEPS), Coding::Identity);
        let requests = |client: &Client| Requests { client: client.clone(), ask: ask.clone() };
        let compared = self
            .compare(
                "reads on PostgreSQL, two nodes",
                "/s",
                async |length| {
                    let (first, second) = (self.scratch.join("one"), self.scratch.join("other"));
                    fs::create_dir_all(&first)?;
                    fs::create_dir_all(&second)?;
                    let (half, rest) = (READING / 2, READING - READING / 2);
                    let rounds =
                        tokio::join!(load::round(requests(one), half, length, &first), load::round(requests(other), rest, length, &second));
                    Ok(rounds.0?.rate + rounds.1?.rate)
                },
                async |length| Ok(load::round(requests(one), READING, length, &self.scratch).await?.rate),
            )
            .await?;
        let what = format!("`GET {PRECHECK_STEPS}`, {LISTED} steps, two nodes on one PostgreSQL, {READING} connections in all");
        Ok(compared.line(what, "one node", None))
    }
}

/// Transactions a second.
async fn pgbench(url: &str, script: &std::path::Path, connections: usize, length: Duration) -> anyhow::Result<f64> {
    let seconds = length.as_secs().max(1).to_string();
    let mut command = Command::new(program());
    command.args(["-n", "-M", "prepared", "-j", "2", "-T", &seconds, "-c", &connections.to_string(), "-f"]).arg(script).arg(url);
    let ran = tokio::task::spawn_blocking(move || command.output()).await?.context("pgbench, of PostgreSQL's own package")?;
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    ensure!(ran.status.success(), "pgbench: {output}{}", String::from_utf8_lossy(&ran.stderr));
    let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.with_context(|| format!("pgbench says {output}"))
}

/// Where Debian's package keeps the newest, else what is on the path.
fn program() -> std::path::PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin/pgbench"));
    installed.filter(|program| program.exists()).max().unwrap_or_else(|| "pgbench".into())
}
