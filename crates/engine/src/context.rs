//! The context of an operation: an open transaction bound to one organization, the caller, the
//! time, and fresh ids.

use std::any::{Any, type_name};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use store::{BorrowedRow, Row, Statement, Transaction, Value};
use uuid::Uuid;

use crate::access::{
    self, Access, ApiKey, Identified, Member, Organization, Permission, PropertyScope,
};
use crate::app_state::{AppState, Cacheable, WakeSignal};
use crate::error::{Error, Result};
use crate::ids::Ids;

store::statements! {
    /// Locks an organization and raises its configuration revision. Other writers of the
    /// organization wait for the row lock. The increment `?2` is random, because a failover can
    /// lose the latest commits. With an increment of 1, the next state would get the revision of a
    /// lost state, and caches would return answers of the lost state.
    LOCK_ORGANIZATION = "update organization set revision = revision + ?2 where id = ?1
        and erased_at is null returning doc, revision";
    /// Locks an organization and raises its stream revision, for a write that does not change the
    /// configuration.
    LOCK_FOR_STREAM = "update organization set stream_revision = stream_revision + ?2 where id = ?1
        and erased_at is null returning doc, revision";
    /// Raises the configuration revision in a write that began with `LOCK_FOR_STREAM`.
    RAISE_CONFIGURATION = "update organization set revision = revision + ?2 where id = ?1";
    /// Reads an organization without locking it.
    ORGANIZATION = "select doc, revision from organization where id = ?1 and erased_at is null";
}

/// Creates statement parameters from values of any convertible type.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::store::Value::from($value)),*] };
}

/// An open transaction that is not bound to an organization.
pub struct System<'c, 't> {
    pub tx: &'c mut Transaction<'t>,
    /// The time of the request.
    pub now: Timestamp,
    pub app_state: &'c AppState,
    /// The wake signals to send after the commit.
    pub wake_signals: BTreeSet<WakeSignal>,
}

impl<'t> System<'_, 't> {
    /// Borrows the transaction for a second `System`, which collects its own wake signals.
    pub fn again(&mut self) -> System<'_, 't> {
        System {
            tx: &mut *self.tx,
            now: self.now,
            app_state: self.app_state,
            wake_signals: BTreeSet::new(),
        }
    }

    /// Locks an organization and raises one of its revisions, for work of the service itself. Every
    /// write in an organization begins with this lock, and the pipeline takes it for operations.
    /// Returns `None` if the organization does not exist.
    pub fn lock(
        &mut self,
        organization: Uuid,
        raised_revision: RaisedRevision,
    ) -> Result<Option<Locked>> {
        Lock::of(self.app_state, organization, raised_revision).take(self.tx)
    }

    /// Creates an id. Ids that are created later sort after this id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.app_state.ids.uuid(self.now)
    }
}

/// The revision of an organization that a write raises when it locks the organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaisedRevision {
    /// The revision of the organization's configuration.
    Configuration,
    /// The revision of the records that change often ("stream revision").
    Stream,
}

/// The parameters of the statement that locks an organization.
#[derive(Clone, Copy)]
pub(crate) struct Lock {
    organization: Uuid,
    raised_revision: RaisedRevision,
    /// The random number that the statement `LOCK_ORGANIZATION` adds to the revision.
    increment: i64,
}

impl Lock {
    pub(crate) fn of(
        app_state: &AppState,
        organization: Uuid,
        raised_revision: RaisedRevision,
    ) -> Self {
        Self {
            organization,
            raised_revision,
            increment: app_state.ids.revision_increment(),
        }
    }

    /// Locks the organization and adds `increment` to the revision that `raised_revision` names.
    /// Returns `None` if the organization does not exist or is erased.
    pub(crate) fn take(self, tx: &mut Transaction<'_>) -> Result<Option<Locked>> {
        let Self {
            organization,
            raised_revision,
            increment,
        } = self;
        let statement = match raised_revision {
            RaisedRevision::Configuration => &LOCK_ORGANIZATION,
            RaisedRevision::Stream => &LOCK_FOR_STREAM,
        };
        let row_of_lock = tx.row(statement, &[organization.into(), increment.into()])?;
        let Some(row) = row_of_lock else {
            return Ok(None);
        };
        let store::Json(settings) = row.get(0)?;
        let revision: i64 = row.get(1)?;
        let found = if raised_revision == RaisedRevision::Configuration {
            revision - increment
        } else {
            revision
        };
        Ok(Some(Locked {
            organization: Organization {
                id: organization,
                settings,
            },
            revision,
            previous_revision: found,
            raised_revision,
        }))
    }
}

/// An organization that a transaction has locked.
pub struct Locked {
    /// The organization, with its settings.
    pub organization: Organization,
    /// The configuration revision after the commit.
    revision: i64,
    /// The configuration revision before this write.
    pub previous_revision: i64,
    raised_revision: RaisedRevision,
}

/// An open transaction within one organization.
pub struct Context<'c, 't> {
    system: System<'c, 't>,
    /// The organization, with its settings.
    pub organization: Organization,
    /// The caller: its identity, permissions and properties.
    pub access: &'c Access,
    /// The configuration revision. [`Context::cached`] returns only values that were cached under
    /// this revision.
    revision: i64,
    /// The kind of revision that a write raised when it locked the organization. `None` for a read,
    /// which does not lock the organization.
    opened_for: Option<RaisedRevision>,
    touches_configuration: bool,
    /// The end of the period in which the operation's answer may be cached; `Timestamp::MAX` if the
    /// period has no end.
    until: Timestamp,
    /// Warnings about accepted values that the caller may not intend. Each has a field name and a
    /// message.
    warnings: Vec<(&'static str, String)>,
}

impl<'c, 't> Context<'c, 't> {
    /// Opens an organization for an operation that only reads. Does not lock the organization.
    pub fn for_reading(
        system: System<'c, 't>,
        organization: Uuid,
        access: &'c Access,
    ) -> Result<Self> {
        let row = system
            .tx
            .row(&ORGANIZATION, &[organization.into()])?
            .ok_or_else(|| Error::not_found("Organization"))?;
        let store::Json(settings) = row.get(0)?;
        let organization = Organization {
            id: organization,
            settings,
        };
        Ok(Self {
            system,
            organization,
            access,
            revision: row.get(1)?,
            opened_for: None,
            touches_configuration: false,
            until: Timestamp::MAX,
            warnings: Vec::new(),
        })
    }

    /// Opens the organization of a caller who is already identified, for a read.
    #[must_use]
    pub fn of_identified(system: System<'c, 't>, identified: &'c Identified) -> Self {
        let Identified {
            access,
            organization,
            revisions,
            ..
        } = identified;
        let (organization, revision) = (organization.clone(), revisions.configuration);
        Self {
            system,
            organization,
            access,
            revision,
            opened_for: None,
            touches_configuration: false,
            until: Timestamp::MAX,
            warnings: Vec::new(),
        }
    }

    /// Opens an organization for a write: locks it and raises one of its revisions.
    pub fn for_writing(
        mut system: System<'c, 't>,
        organization: Uuid,
        access: &'c Access,
        raised_revision: RaisedRevision,
    ) -> Result<Self> {
        let locked = system
            .lock(organization, raised_revision)?
            .ok_or_else(|| Error::not_found("Organization"))?;
        Ok(Self::of_locked(system, locked, access))
    }

    /// Opens an organization that is already locked, for writing.
    #[must_use]
    pub fn of_locked(system: System<'c, 't>, locked: Locked, access: &'c Access) -> Self {
        let Locked {
            organization,
            revision,
            raised_revision,
            ..
        } = locked;
        let touches_configuration = raised_revision == RaisedRevision::Configuration;
        Self {
            system,
            organization,
            access,
            revision,
            opened_for: Some(raised_revision),
            touches_configuration,
            until: Timestamp::MAX,
            warnings: Vec::new(),
        }
    }

    /// Adds a warning about a field whose value is accepted but may not be intended.
    pub fn warn(&mut self, field: &'static str, message: impl Into<String>) {
        self.warnings.push((field, message.into()));
    }

    /// Removes the warnings that were added so far, and returns them.
    pub(crate) fn take_warnings(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.warnings)
    }

    /// Declares that the write changes the configuration, or a record that the configuration refers
    /// to. [`Context::close`] then raises the configuration revision.
    pub fn touch_configuration(&mut self) {
        self.touches_configuration = true;
    }

    /// Ends a write. If the write changed the configuration but its lock raised only the stream
    /// revision, raises the configuration revision too.
    pub fn close(&mut self) -> Result<()> {
        if self.touches_configuration && self.opened_for == Some(RaisedRevision::Stream) {
            let increment = self.ids().revision_increment();
            self.execute_deferred(&RAISE_CONFIGURATION, [increment.into()])?;
        }
        Ok(())
    }

    /// Returns a value that depends only on the configuration. The value comes from the cache if it
    /// was stored under the current configuration revision, and otherwise from `load`.
    ///
    /// A read-only transaction stores the loaded value in the cache. A write transaction does not,
    /// because its commit may fail. A transaction that changes the configuration also ignores
    /// cached values.
    pub fn cached<V: Cacheable>(
        &mut self,
        key: &str,
        load: impl FnOnce(&mut Self) -> Result<V>,
    ) -> Result<Arc<V>> {
        if self.touches_configuration {
            return load(self).map(Arc::new);
        }
        let (cache, organization, revision) = (
            &self.system.app_state.cache,
            self.organization.id,
            self.revision,
        );
        if let Some(value) = cache.get(organization, key, revision) {
            return Ok(value);
        }
        let value = Arc::new(load(self)?);
        if self.system.tx.is_read_only() {
            cache.store(organization, key, revision, &value);
        }
        Ok(value)
    }

    /// Limits how long the answer of the operation may be cached
    /// ([`crate::operation::Declaration::cached`]). An operation whose answer depends on the time
    /// must call this function.
    pub fn limit_validity(&mut self, time: Timestamp) {
        self.until = self.until.min(time);
    }

    /// Returns the period in which the answer is valid: always, or from now until the limit that
    /// [`Context::limit_validity`] has set.
    #[must_use]
    pub fn validity(&self) -> Range<Timestamp> {
        let from = if self.until == Timestamp::MAX {
            Timestamp::MIN
        } else {
            self.now()
        };
        from..self.until
    }

    /// Returns the rows of a query. The organization is `?1`, and the parameters follow.
    pub fn rows<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
    ) -> Result<Vec<Row>> {
        Ok(self
            .system
            .tx
            .rows(statement, &self.with_organization(params))?)
    }

    /// Returns the rows of a query whose number of parameters is known only at run time. The
    /// organization is `?1`, and the parameters follow.
    pub fn rows_by(
        &mut self,
        statement: &'static Statement,
        params: Vec<Value>,
    ) -> Result<Vec<Row>> {
        Ok(self
            .system
            .tx
            .rows(statement, &self.with_organization(params))?)
    }

    /// Calls `take` with each row of a query, one by one. The organization is `?1`, and the
    /// parameters follow.
    pub fn each<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
        take: impl FnMut(&BorrowedRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let params = self.with_organization(params);
        self.system.tx.each(statement, &params, take)
    }

    /// Returns the first row of a query. The organization is `?1`, and the parameters follow.
    pub fn row<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
    ) -> Result<Option<Row>> {
        Ok(self
            .system
            .tx
            .row(statement, &self.with_organization(params))?)
    }

    /// Returns whether a query returns a row. The organization is `?1`, and the parameters follow.
    pub fn exists<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
    ) -> Result<bool> {
        Ok(self.row(statement, params)?.is_some())
    }

    /// Runs a change and returns the number of affected rows. The organization is `?1`, and the
    /// parameters follow.
    pub fn execute<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
    ) -> Result<u64> {
        Ok(self
            .system
            .tx
            .execute(statement, &self.with_organization(params))?)
    }

    /// Runs a change and does not return the number of affected rows. The change is therefore sent
    /// together with the next statement. The organization is `?1`, and the parameters follow.
    pub fn execute_deferred<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
    ) -> Result<()> {
        let params = self.with_organization(params);
        Ok(self.system.tx.execute_deferred(statement, params)?)
    }

    /// Runs an insert for each of these rows and returns the number of affected rows. In the
    /// statement, `?1` is the organization, and the values of a row follow.
    pub fn execute_many<const N: usize>(
        &mut self,
        statement: &'static Statement,
        rows: Vec<[Value; N]>,
    ) -> Result<u64> {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|params| self.with_organization(params))
            .collect();
        Ok(self.system.tx.execute_many(statement, &rows)?)
    }

    /// Tries to acquire a lock that lasts until the end of this transaction. All transactions on
    /// this database see the lock. Returns false if another transaction has it.
    pub fn try_lock(&mut self, key: i64) -> Result<bool> {
        Ok(self.system.tx.try_lock(key)?)
    }

    /// Makes the transaction a dry run: it is rolled back at its end. The caller gets the answer
    /// that a committed transaction would give.
    pub fn dry_run(&mut self) {
        self.system.tx.dry_run();
    }

    fn with_organization(&self, params: impl IntoIterator<Item = Value>) -> Vec<Value> {
        std::iter::once(Value::Uuid(self.organization.id))
            .chain(params)
            .collect()
    }

    /// Returns whether organizations are distributed over several database servers.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.system.tx.is_sharded()
    }

    /// Returns the time of the request.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.system.now
    }

    /// Creates an id. Later ids sort after it.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.system.new_id()
    }

    /// Returns the source of fresh ids and secrets.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.system.app_state.ids
    }

    /// Returns the time of an API key's last use, if this process has recorded that use but not yet
    /// stored it in the database.
    #[must_use]
    pub fn last_use(&self, key: Uuid) -> Option<Timestamp> {
        self.system
            .app_state
            .last_uses
            .of(self.organization.id, key)
    }

    /// Returns the public URL of the service, without a trailing slash.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.system.app_state.public_url
    }

    /// Returns the extension of this type. Fails if no module registered one.
    pub fn extension<T: Any + Send + Sync>(&self) -> Result<&'c T> {
        self.system
            .app_state
            .extension()
            .ok_or_else(|| Error::internal(format!("no module registered a {}", type_name::<T>())))
    }

    /// Returns all values of the type `T` that modules offer in the lists of the application state.
    #[must_use]
    pub fn listed<T: Any + Send + Sync>(&self) -> &'static [T] {
        self.system.app_state.lists.all()
    }

    /// Returns an API key of the organization, or `None` if the id is unknown.
    pub fn api_key(&mut self, id: Uuid) -> Result<Option<ApiKey>> {
        access::key(self.system.tx, self.organization.id, id)
    }

    /// Returns a member of the organization, or `None` if the id is unknown.
    pub fn member(&mut self, id: Uuid) -> Result<Option<Member>> {
        access::member(self.system.tx, self.organization.id, id)
    }

    /// Returns the properties that the caller may access.
    #[must_use]
    pub fn property_scope(&self) -> &'c PropertyScope {
        &self.access.property_scope
    }

    /// Returns 403 if the caller lacks the permission.
    pub fn require(&self, permission: Permission) -> Result<()> {
        self.access.require(permission)
    }

    /// Sends a wake signal after the commit.
    pub fn wake(&mut self, wake_signal: WakeSignal) {
        self.system.wake_signals.insert(wake_signal);
    }

    /// Removes the wake signals to send after the commit, and returns them.
    pub fn take_wake_signals(&mut self) -> BTreeSet<WakeSignal> {
        std::mem::take(&mut self.system.wake_signals)
    }
}
