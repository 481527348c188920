//! The servers of a PostgreSQL database, and programs between them and this program:
//!
//! - [`servers`]: several hosts in one URL, of which one accepts writes
//! - [`pooler`]: a pooler that may give each transaction another connection
//! - [`replicas`]: servers for reads that need not be current
//! - [`citus`]: several servers, each with the rows of some of the organizations
//!
//! Everything that a distributed database does differently is a method of [`Topology`]. A replica
//! needs no method there, because it runs the same statements as the server that it replicates.

pub(crate) mod citus;
pub(super) mod pooler;
pub(super) mod replicas;
pub(super) mod servers;

use std::sync::Arc;

use tokio::time::Instant;

use self::citus::{Citus, Sharding};
use super::link::{Failure, Link};
use super::migration::MigrationFailure;
use crate::error::Result;

/// Location of the organizations' rows: all on one server, or distributed over several servers.
pub(super) trait Topology: Send + Sync {
    /// Returns whether a query without an organization's id is sent to several servers.
    fn is_sharded(&self) -> bool;

    /// Returns the statement that chooses how the server plans look-ups. `None` means that the
    /// server plans them as it plans all other statements.
    fn lookup_plans(&self) -> Option<&'static str>;

    /// Migrates the schema on every server.
    fn migrate(
        &self,
        link: &mut Link,
        until: Instant,
        migrations: &refinery_core::Runner,
    ) -> Result<refinery_core::Report, MigrationFailure>;

    /// Moves tables that a migration has created to the servers on which they belong.
    fn place_tables(&self, link: &mut Link, until: Instant) -> Result<(), MigrationFailure>;

    /// Returns an error if a table is not on the servers on which it belongs.
    fn check(&self, link: &mut Link, until: Instant) -> Result<()>;
}

/// A database whose rows are all on the server that accepts writes.
struct OneServer;

impl Topology for OneServer {
    fn is_sharded(&self) -> bool {
        false
    }

    /// Plans a look-up only once for any number of keys, because its plan is the same for all keys.
    fn lookup_plans(&self) -> Option<&'static str> {
        Some("set plan_cache_mode = force_generic_plan")
    }

    fn migrate(
        &self,
        link: &mut Link,
        until: Instant,
        migrations: &refinery_core::Runner,
    ) -> Result<refinery_core::Report, MigrationFailure> {
        Ok(link.drive(until, async |client| migrations.run_async(client).await)??)
    }

    fn place_tables(&self, _link: &mut Link, _until: Instant) -> Result<(), MigrationFailure> {
        Ok(())
    }

    fn check(&self, _link: &mut Link, _until: Instant) -> Result<()> {
        Ok(())
    }
}

/// Detects whether Citus distributes the tables of a database. `sharding` describes how this
/// program distributes them.
pub(super) fn detect(
    link: &mut Link,
    until: Instant,
    sharding: Option<&'static Sharding>,
) -> Result<Arc<dyn Topology>, Failure> {
    Ok(if citus::is_sharded(link, until)? {
        Arc::new(Citus::new(sharding))
    } else {
        Arc::new(OneServer)
    })
}
