//! What lists read as text beside the documents, written anew where this version of the program writes it otherwise than the
//! one that was here before.
//!
//! The database knows which version of each summary it has. Whoever opens it brings it to the program's, an organization's
//! rows some at a time under that organization's lock, and notes the version at the end: one that is interrupted begins
//! again, and several nodes that start at once do the same work to the same end. A version newer than the program's is left.

use std::sync::Arc;

use uuid::Uuid;

use crate::access::Access;
use crate::app::Summary;
use crate::context::Context;
use crate::error::{Kind, Result};
use crate::operation::Touches;
use crate::pipeline::Service;
use crate::values;

/// Rows written anew in one transaction.
const BATCH: u32 = 200;

store::statements! {
    /// The version that a summary has in this database.
    VERSION = "select version from summary_version where name = ?1";
    /// Notes that it has another.
    NOTE_VERSION = "insert into summary_version (name, version) values (?1, ?2)
        on conflict (name) do update set version = excluded.version where summary_version.version < excluded.version";
    /// The organization after another.
    NEXT_ORGANIZATION = "select id from organization where id > ?1 and erased_at is null order by id limit 1";
}

/// Brings every summary to the version of this program.
pub async fn rebuild(service: &Arc<Service>) -> Result<()> {
    for &summary in &service.app.summaries {
        let known = service.store.read(move |tx| tx.row(&VERSION, &values![summary.name])?.map_or(Ok(0), |row| row.get::<i64>(0))).await?;
        if known >= summary.version {
            continue;
        }
        let mut organization = Uuid::nil();
        while let Some(next) = next_organization(service, organization).await? {
            organization = next;
            let mut after = Some(Uuid::nil());
            while let Some(from) = after {
                let shared = service.clone();
                after = service.store.write(move |tx| some_of(tx, &shared, summary, organization, from)).await?;
            }
        }
        service.store.write(move |tx| tx.execute(&NOTE_VERSION, &values![summary.name, summary.version])).await?;
        if !organization.is_nil() {
            tracing::info!(summary = summary.name, version = summary.version, "summaries were written anew");
        }
    }
    Ok(())
}

async fn next_organization(service: &Service, after: Uuid) -> Result<Option<Uuid>> {
    Ok(service.store.read(move |tx| tx.row(&NEXT_ORGANIZATION, &values![after])?.map(|row| row.get(0)).transpose()).await?)
}

/// Writes some summaries of an organization anew, those behind an id; where to go on, if there may be more.
fn some_of(tx: &mut store::Transaction<'_>, service: &Service, summary: &Summary, organization: Uuid, after: Uuid) -> Result<Option<Uuid>> {
    let (access, system) = (Access::platform(), service.system(tx, service.clock.now()));
    let mut context = match Context::for_writing(system, organization, &access, Touches::Configuration) {
        Ok(context) => context,
        // Erased meanwhile.
        Err(error) if matches!(error.kind(), Kind::NotFound) => return Ok(None),
        Err(error) => return Err(error),
    };
    let rows = context.rows(summary.read, values![after, BATCH])?;
    let mut last = None;
    for row in &rows {
        let id: Uuid = row.get(0)?;
        context.execute(summary.write, values![id, (summary.of)(row)?])?;
        last = Some(id);
    }
    Ok(last)
}
