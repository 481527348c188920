//! Measures the service on PostgreSQL: reads from one node in comparison with a bare handler, reads
//! from two nodes, and durable creations in one organization and in many. Creations are compared
//! with `pgbench`, which runs the statements of one creation.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::client::{Client, Coding, PORTALS, PRECHECK_STEPS, RepeatedRequest, Requests};
use crate::guest_page::{self, GUEST_PAGE_CONTENT};
use crate::keys::Keys;
use crate::load;
use crate::measure::Bench;
use crate::report::Line;
use crate::server::Server;
use crate::setup::{self, LIST_LENGTH, ORGANIZATION};

/// Number of connections to the service that create objects.
const CREATE_CONNECTIONS: u32 = 64;
/// Number of database connections for each core, both of the service
/// (`crates/store/src/postgres.rs`) and of `pgbench`.
const CONNECTIONS_PER_CORE: usize = 8;
/// Number of organizations in which portals are created at the same time.
const ORGANIZATIONS: u32 = 64;
/// The minimum rate of creations in one organization, as a multiple of the rate of `pgbench`. The
/// multiple can be above 1, because several creations of one organization are committed together.
const CREATE_TARGET: f64 = 2.0;
/// The minimum rate of creations in many organizations, as a multiple of the rate of `pgbench`.
const MANY_ORGANIZATIONS_TARGET: f64 = 0.8;
/// The minimum rate of requests for the list of steps, as a fraction of the rate of a bare HTTP
/// handler that sends the same bytes.
const LIST_TARGET: f64 = 0.7;
/// The minimum rate of requests for a guest's view of a stay, as a fraction of the rate of a bare
/// HTTP handler that sends the same bytes.
const STAY_TARGET: f64 = 0.25;
/// Number of connections that read, on all nodes together.
const READ_CONNECTIONS: u32 = 32;

/// The statements of the creation of a portal, including authentication. The rows have the same
/// length as the service's. They contain no JSON, because `pgbench` treats a colon as the beginning
/// of a variable.
const STATEMENTS: &str = r"
\set n random(1, 1000000000000)
\set o random(1, ORGANIZATIONS)
select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k
    join organization o on o.id = k.organization_id
    where k.organization_id = ORGANIZATION limit 1;
begin;
select pg_try_advisory_xact_lock(:n);
select fingerprint, status, body, completed_at from idempotency_record
    where organization_id = ORGANIZATION and credential = 'bench' and key = 'bench-' || :n;
update organization set revision = revision + 12345 where id = ORGANIZATION and erased_at is null
    returning doc, revision;
select id from portal where organization_id = ORGANIZATION and name_key = 'bench-' || :n;
insert into portal (organization_id, id, name_key, is_default, created_at, updated_at, summary, doc)
    values (ORGANIZATION, gen_random_uuid(), 'bench-' || :n, false, now(), now(), repeat('x', 130),
        jsonb_build_object('supportNotes', repeat('x', DOCUMENT)))
    on conflict (organization_id, id) do nothing;
insert into audit_log (organization_id, id, occurred_at, target_id, actor_id, doc, actor_name)
    values (ORGANIZATION, gen_random_uuid(), now(), gen_random_uuid(), gen_random_uuid(),
        jsonb_build_object('changes', repeat('x', DOCUMENT)), 'bench');
insert into idempotency_record
    (organization_id, credential, key, fingerprint, status, body, completed_at)
    values (ORGANIZATION, 'bench', 'bench-' || :n, decode(repeat('21', 32), 'hex'), 201,
        repeat('x', ANSWER), now())
    on conflict (organization_id, credential, key) do nothing;
commit;
";
/// An SQL expression for the id of the organization with number `o`, for use in `STATEMENTS`.
const ORGANIZATION_BY_NUMBER: &str =
    "cast('00000000-0000-4000-8000-' || lpad(to_hex(cast(:o as bigint)), 12, '0') as uuid)";
/// The bits that the ids built by `ORGANIZATION_BY_NUMBER` have in common.
const ORGANIZATION_ID_BITS: (u64, u64) = (0x4000, 0x8000_0000_0000_0000);

impl Bench {
    /// Makes all measurements on PostgreSQL. The database must be empty.
    pub async fn postgres(&self, url: &str) -> anyhow::Result<Vec<Line>> {
        let node = Server::on(&self.binary, &self.scratch, url)?;
        let client = setup::organization(&node).await?;
        setup::create_listed_objects(&client).await?;
        let list = format!("`GET {PRECHECK_STEPS}` on PostgreSQL, {LIST_LENGTH} steps");
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
        lines.push(self.creations_in_one_organization(&client, url).await?);
        lines.push(self.creations_in_many_organizations(&node, url).await?);
        let other = Server::on(&self.binary, &self.scratch, url)?;
        lines.push(
            self.reads_from_two_nodes(&client, &client.at(other.address)?)
                .await?,
        );
        drop(other);
        let stay = format!(
            "/guest/v1/stays/{}",
            guest_page::create_guest(&node, &client).await?
        );
        let what = format!("`GET /guest/v1/stays/{{token}}` on PostgreSQL, {GUEST_PAGE_CONTENT}");
        lines.extend(
            self.compare_with_bare(&node, &client, &what, &stay, Coding::Identity, STAY_TARGET)
                .await?,
        );
        Ok(lines)
    }

    /// Measures the rate at which the service creates portals in one organization, and the rate of
    /// the same statements in `pgbench`. The service responds after the commit.
    async fn creations_in_one_organization(
        &self,
        client: &Client,
        url: &str,
    ) -> anyhow::Result<Line> {
        let keys = Keys::default();
        // The names of the portals in the measured list contain the first keys. Skip these keys,
        // because the names of portals must be unique.
        for _ in 0..LIST_LENGTH {
            let _ = keys.next();
        }
        let id = ORGANIZATION.rsplit('/').next().unwrap_or_default();
        let requests = Requests {
            client: client.clone(),
            ask: RepeatedRequest::Create(keys),
        };
        let what = format!(
            "durable `POST {PORTALS}` on PostgreSQL, a key each, {CREATE_CONNECTIONS} connections, \
                one organization"
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

    /// Measures durable creations in many organizations.
    async fn creations_in_many_organizations(
        &self,
        node: &Server,
        url: &str,
    ) -> anyhow::Result<Line> {
        let mut clients = Vec::new();
        for number in 1..=u64::from(ORGANIZATIONS) {
            let id = Uuid::from_u64_pair(ORGANIZATION_ID_BITS.0, ORGANIZATION_ID_BITS.1 | number);
            clients.push(
                setup::organization_at(node, &format!("/platform/v1/organizations/{id}")).await?,
            );
        }
        let client = clients.first().cloned().context("no organization")?;
        let requests = Requests {
            client,
            ask: RepeatedRequest::CreateBy(Keys::default(), clients.into()),
        };
        let what = format!(
            "durable `POST {PORTALS}` on PostgreSQL, a key each, {CREATE_CONNECTIONS} connections, \
                {ORGANIZATIONS} organizations"
        );
        self.compare_with_pgbench(
            what,
            requests,
            ORGANIZATION_BY_NUMBER,
            MANY_ORGANIZATIONS_TARGET,
            url,
        )
        .await
    }

    /// Measures the rate of durable creations of portals, and the rate of the same statements in
    /// `pgbench`. `organization` is the SQL expression for the id of the organization in which
    /// `pgbench` creates.
    async fn compare_with_pgbench(
        &self,
        what: String,
        requests: Requests,
        organization: &str,
        target: f64,
        url: &str,
    ) -> anyhow::Result<Line> {
        let response = requests
            .client
            .request_ok(Method::POST, PORTALS, Some(&setup::portal("Azul")))
            .await?;
        let envelope: Value = serde_json::from_slice(response.body())?;
        let (document_length, response_length) =
            (envelope["data"].to_string().len(), response.body().len());
        let script = self.scratch.join("create.sql");
        let statements = STATEMENTS
            .replace("ORGANIZATIONS", &ORGANIZATIONS.to_string())
            .replace("ORGANIZATION", organization);
        fs::write(
            &script,
            statements
                .replace("DOCUMENT", &document_length.to_string())
                .replace("ANSWER", &response_length.to_string()),
        )?;
        let connections = CONNECTIONS_PER_CORE * std::thread::available_parallelism()?.get();
        let compared = self
            .compare(
                &what,
                "/s",
                async |length| {
                    Ok(
                        load::round(requests.clone(), CREATE_CONNECTIONS, length, &self.scratch)
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

    /// Measures a list that is read from two nodes, and compares it with the same list from one
    /// node.
    async fn reads_from_two_nodes(&self, first: &Client, second: &Client) -> anyhow::Result<Line> {
        let ask = RepeatedRequest::Read(Arc::from(PRECHECK_STEPS), Coding::Identity);
        let requests = |client: &Client| Requests {
            client: client.clone(),
            ask: ask.clone(),
        };
        let compared = self
            .compare(
                "reads on PostgreSQL, two nodes",
                "/s",
                async |length| {
                    let (first_scratch, second_scratch) =
                        (self.scratch.join("one"), self.scratch.join("other"));
                    fs::create_dir_all(&first_scratch)?;
                    fs::create_dir_all(&second_scratch)?;
                    let (first_half, second_half) = (
                        READ_CONNECTIONS / 2,
                        READ_CONNECTIONS - READ_CONNECTIONS / 2,
                    );
                    let rounds = tokio::join!(
                        load::round(requests(first), first_half, length, &first_scratch),
                        load::round(requests(second), second_half, length, &second_scratch)
                    );
                    Ok(rounds.0?.rate + rounds.1?.rate)
                },
                async |length| {
                    Ok(
                        load::round(requests(first), READ_CONNECTIONS, length, &self.scratch)
                            .await?
                            .rate,
                    )
                },
            )
            .await?;
        let what = format!(
            "`GET {PRECHECK_STEPS}`, {LIST_LENGTH} steps, two nodes on one PostgreSQL, \
                {READ_CONNECTIONS} connections in all"
        );
        Ok(compared.line(what, "one node", None))
    }
}

/// Runs `pgbench`. Returns the transactions per second that it reports.
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
    let result = tokio::task::spawn_blocking(move || command.output())
        .await?
        .context("pgbench, of PostgreSQL's own package")?;
    let output = String::from_utf8_lossy(&result.stdout).into_owned();
    ensure!(
        result.status.success(),
        "pgbench: {output}{}",
        String::from_utf8_lossy(&result.stderr)
    );
    let rate = output
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.with_context(|| format!("pgbench printed no rate: {output}"))
}

/// Returns the newest `pgbench` that a Debian package has installed, or else the one on the `PATH`.
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
