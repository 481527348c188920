//! Summaries: texts for lists, stored beside the documents. A version of the program that changes
//! the form of a summary rewrites the stored texts.
//!
//! The database stores the version of each summary. When the program starts, it rewrites outdated
//! summaries in batches, each under the lock of its organization. At the end it stores the new
//! version. If a rewrite is interrupted, the next start begins it again. Several nodes that start
//! together do the same work with the same result. Summaries of a version newer than the program's
//! are not changed.

use std::sync::Arc;

use uuid::Uuid;

use crate::access::Access;
use crate::app::Summary;
use crate::context::Context;
use crate::error::{ErrorKind, Result};
use crate::operation::RaisedRevision;
use crate::pipeline::Service;
use crate::values;

/// The maximum number of rows whose summaries one transaction rewrites.
const BATCH: u32 = 200;

store::statements! {
    /// Selects the format version of the stored summaries with the name `?1`.
    VERSION = "select version from summary_version where name = ?1";
    /// Stores the version of a summary format, unless a newer version is stored.
    STORE_VERSION = "insert into summary_version (name, version) values (?1, ?2)
        on conflict (name) do update set version = excluded.version
        where summary_version.version < excluded.version";
    /// Selects the first organization with an id greater than `?1` that is not erased.
    NEXT_ORGANIZATION = "select id from organization where id > ?1 and erased_at is null order by id
        limit 1";
}

/// Rewrites the stored summaries whose format is older than the one that this program writes.
pub async fn rebuild(service: &Arc<Service>) -> Result<()> {
    for &summary in &service.app.summaries {
        let stored_version = service
            .store
            .read(move |tx| {
                tx.row(&VERSION, &values![summary.name])?
                    .map_or(Ok(0), |row| row.get::<i64>(0))
            })
            .await?;
        if stored_version >= summary.version {
            continue;
        }
        let mut organization = Uuid::nil();
        while let Some(next) = next_organization(service, organization).await? {
            organization = next;
            let mut after = Some(Uuid::nil());
            while let Some(from) = after {
                let shared = service.clone();
                after = service
                    .store
                    .write(move |tx| rewrite_batch(tx, &shared, summary, organization, from))
                    .await?;
            }
        }
        service
            .store
            .write(move |tx| tx.execute(&STORE_VERSION, &values![summary.name, summary.version]))
            .await?;
        if !organization.is_nil() {
            tracing::info!(
                summary = summary.name,
                version = summary.version,
                "rebuilt stored summaries for a new version"
            );
        }
    }
    Ok(())
}

async fn next_organization(service: &Service, after: Uuid) -> Result<Option<Uuid>> {
    Ok(service
        .store
        .read(move |tx| {
            tx.row(&NEXT_ORGANIZATION, &values![after])?
                .map(|row| row.get(0))
                .transpose()
        })
        .await?)
}

/// Rewrites up to [`BATCH`] summaries of one organization, in the order of their ids, beginning
/// after a given id. Returns the last rewritten id, or `None` if no rows remain.
fn rewrite_batch(
    tx: &mut store::Transaction<'_>,
    service: &Service,
    summary: &Summary,
    organization: Uuid,
    after: Uuid,
) -> Result<Option<Uuid>> {
    let (access, system) = (Access::platform(), service.system(tx, service.clock.now()));
    let mut context =
        match Context::for_writing(system, organization, &access, RaisedRevision::Configuration) {
            Ok(context) => context,
            // An erased organization has no summaries to rewrite.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => return Ok(None),
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
