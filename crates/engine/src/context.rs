//! What an operation works with: an open transaction bound to one organization, the caller, the time, fresh ids.

use std::any::{Any, type_name};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use store::{Ask, Passing, Row, Statement, Transaction, Value};
use uuid::Uuid;

use crate::access::{self, Access, ApiKey, Identified, Member, Organization, Permission, Reach};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::kit::{Bell, Kit, Weighed};

store::statements! {
    /// Begins every write: writers of one organization queue up here. The revision goes forward by a random step, so that
    /// it names the state they leave: were it a count, a database that has lost commits would give its numbers twice.
    LOCK_ORGANIZATION = "update organization set revision = revision + ?2 where id = ?1 and erased_at is null returning doc, revision";
    /// The same for a write that changes nothing configured.
    LOCK_FOR_STREAM = "update organization set stream_revision = stream_revision + ?2 where id = ?1 and erased_at is null returning doc, revision";
    /// LOCK_ORGANIZATION for who does not wait for another.
    LOCK_IF_FREE = "update organization set revision = revision + ?2 where id = ?1 and erased_at is null
        and exists (select 1 from organization o where o.id = ?1 for no key update skip locked) returning doc, revision";
    /// LOCK_FOR_STREAM for who does not wait for another.
    LOCK_FOR_STREAM_IF_FREE = "update organization set stream_revision = stream_revision + ?2 where id = ?1 and erased_at is null
        and exists (select 1 from organization o where o.id = ?1 for no key update skip locked) returning doc, revision";
    /// Notes that something configured, or what that refers to, changed after all.
    RAISE_CONFIGURATION = "update organization set revision = revision + ?2 where id = ?1";
    /// An organization, for a read.
    ORGANIZATION = "select doc, revision from organization where id = ?1 and erased_at is null";
}

/// Statement parameters from values of any fitting type.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::store::Value::from($value)),*] };
}

/// An open transaction that belongs to no organization yet.
pub struct System<'c, 't> {
    /// The transaction.
    pub tx: &'c mut Transaction<'t>,
    /// The time of the request.
    pub now: Timestamp,
    /// What else it has at hand.
    pub kit: &'c Kit,
    /// What is rung once this is committed.
    pub rung: BTreeSet<Bell>,
}

impl<'t> System<'_, 't> {
    /// The same transaction, for something beside what is done in it.
    pub fn again(&mut self) -> System<'_, 't> {
        System { tx: &mut *self.tx, now: self.now, kit: self.kit, rung: BTreeSet::new() }
    }

    /// Locks an organization, as every write on one begins, and raises the revision of what is to change. `None` where it is
    /// not there yet.
    pub fn lock(&mut self, organization: Uuid, touches: Touches) -> Result<Option<Locked>> {
        Lock::of(self.kit, organization, touches).take(self.tx, Vec::new())
    }

    /// A fresh id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.kit.ids.uuid(self.now)
    }
}

/// Which revision of its organization a write raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touches {
    /// That of what is configured.
    Configuration,
    /// That of the records that come and go.
    Stream,
}

/// The lock of an organization that is to be taken.
#[derive(Clone, Copy)]
pub(crate) struct Lock {
    organization: Uuid,
    touches: Touches,
    /// By how much the revision is raised.
    step: i64,
    /// Whether it is waited for only once it has been found taken.
    is_tried_first: bool,
}

impl Lock {
    pub(crate) fn of(kit: &Kit, organization: Uuid, touches: Touches) -> Self {
        Self { organization, touches, step: kit.ids.step(), is_tried_first: false }
    }

    /// The same for a write that may turn out to be none: whoever is told something else waits for no other write. Where another has
    /// it, it is asked for once more.
    pub(crate) fn tried_first(self) -> Self {
        Self { is_tried_first: true, ..self }
    }

    /// How it is asked for, where another is waited for and where not.
    fn statement(self, waits: bool) -> (&'static Statement, [Value; 2]) {
        let statement = match (self.touches, waits) {
            (Touches::Configuration, true) => &LOCK_ORGANIZATION,
            (Touches::Configuration, false) => &LOCK_IF_FREE,
            (Touches::Stream, true) => &LOCK_FOR_STREAM,
            (Touches::Stream, false) => &LOCK_FOR_STREAM_IF_FREE,
        };
        (statement, [self.organization.into(), self.step.into()])
    }

    /// What [`Lock::take`] asks first.
    pub(crate) fn ask(self) -> Ask {
        self.asked(!self.is_tried_first)
    }

    fn asked(self, waits: bool) -> Ask {
        let (statement, params) = self.statement(waits);
        Ask::rows(statement, params)
    }

    /// Takes it: `None` where the organization is not there yet. What is asked behind it counts only once it is taken, so that is asked
    /// again where it is waited for.
    pub(crate) fn take(self, tx: &mut Transaction<'_>, behind: Vec<Ask>) -> Result<Option<Locked>> {
        let Self { organization, touches, step, is_tried_first } = self;
        let ask = |tx: &mut Transaction<'_>, waits| {
            let (statement, params) = self.statement(waits);
            tx.row(statement, &params)
        };
        let mut taken = if is_tried_first { ask(tx, false)? } else { None };
        if taken.is_none() {
            if is_tried_first {
                tx.foresee([self.asked(true)].into_iter().chain(behind).collect());
            }
            taken = ask(tx, true)?;
        }
        let Some(row) = taken else { return Ok(None) };
        tx.hold();
        let store::Json(settings) = row.get(0)?;
        let revision: i64 = row.get(1)?;
        let found = if touches == Touches::Configuration { revision - step } else { revision };
        Ok(Some(Locked { organization: Organization { id: organization, settings }, revision, found, touches }))
    }
}

/// An organization that a transaction has locked.
pub struct Locked {
    /// The organization, and its settings.
    pub organization: Organization,
    /// Of what is configured, once this is committed.
    revision: i64,
    /// The revision of what is configured that the lock was taken on.
    pub found: i64,
    touches: Touches,
}

/// An open transaction within one organization.
pub struct Context<'c, 't> {
    system: System<'c, 't>,
    /// The organization, and its settings.
    pub organization: Organization,
    /// The caller.
    pub access: &'c Access,
    /// Of what is configured.
    revision: i64,
    /// What the revision was raised for when the transaction was opened; none where it only reads.
    opened_for: Option<Touches>,
    touches_configuration: bool,
    /// Until when what is answered holds.
    until: Timestamp,
}

impl<'c, 't> Context<'c, 't> {
    /// Opens an organization for reading.
    pub fn for_reading(system: System<'c, 't>, organization: Uuid, access: &'c Access) -> Result<Self> {
        let row = system.tx.row(&ORGANIZATION, &[organization.into()])?.ok_or_else(|| Error::not_found("Organization"))?;
        let store::Json(settings) = row.get(0)?;
        let organization = Organization { id: organization, settings };
        Ok(Self {
            system,
            organization,
            access,
            revision: row.get(1)?,
            opened_for: None,
            touches_configuration: false,
            until: Timestamp::MAX,
        })
    }

    /// The organization of a caller that has been identified already, for reading on.
    #[must_use]
    pub fn of_known(system: System<'c, 't>, identified: &'c Identified) -> Self {
        let Identified { access, organization, revisions, .. } = identified;
        let (organization, revision) = (organization.clone(), revisions.configuration);
        Self { system, organization, access, revision, opened_for: None, touches_configuration: false, until: Timestamp::MAX }
    }

    /// Opens an organization for writing: locks it and raises the revision of what is to change.
    pub fn for_writing(mut system: System<'c, 't>, organization: Uuid, access: &'c Access, touches: Touches) -> Result<Self> {
        let locked = system.lock(organization, touches)?.ok_or_else(|| Error::not_found("Organization"))?;
        Ok(Self::of_locked(system, locked, access))
    }

    /// An organization that has been locked already, for writing on.
    #[must_use]
    pub fn of_locked(system: System<'c, 't>, locked: Locked, access: &'c Access) -> Self {
        let Locked { organization, revision, touches, .. } = locked;
        let touches_configuration = touches == Touches::Configuration;
        Self { system, organization, access, revision, opened_for: Some(touches), touches_configuration, until: Timestamp::MAX }
    }

    /// Notes that something configured, or what that refers to, changed in a write that may not have been opened for it.
    pub fn touch_configuration(&mut self) {
        self.touches_configuration = true;
    }

    /// Ends a write: raises the revision that was not raised when it was opened, where it has to be.
    pub fn close(&mut self) -> Result<()> {
        if self.touches_configuration && self.opened_for == Some(Touches::Stream) {
            let step = self.ids().step();
            self.execute_along(&RAISE_CONFIGURATION, [step.into()])?;
        }
        Ok(())
    }

    /// What a key stands for in what is configured: as it was kept under the revision of that, or else as it is loaded.
    ///
    /// A revision names a state, so what was kept under it is what would be loaded. Nothing is kept that was read in a
    /// transaction that writes, whatever it writes: others have written before it in the same commit, and that may fail. In
    /// one that changes what is configured nothing is looked up, either.
    pub fn cached<V: Weighed>(&mut self, key: &str, load: impl FnOnce(&mut Self) -> Result<V>) -> Result<Arc<V>> {
        if self.touches_configuration {
            return load(self).map(Arc::new);
        }
        let (cache, organization, revision) = (&self.system.kit.cache, self.organization.id, self.revision);
        if let Some(kept) = cache.get(organization, key, revision) {
            return Ok(kept);
        }
        let value = Arc::new(load(self)?);
        if self.system.tx.is_read_only() {
            cache.keep(organization, key, revision, &value);
        }
        Ok(value)
    }

    /// Says that what is answered holds until a moment only, however little changes: for an answer that is kept
    /// ([`crate::operation::Declaration::kept`]) and depends on the time.
    pub fn holds_until(&mut self, moment: Timestamp) {
        self.until = self.until.min(moment);
    }

    /// When what is answered holds, as far as the time decides: always, or else from now until it has been said to.
    #[must_use]
    pub fn holds(&self) -> Range<Timestamp> {
        let from = if self.until == Timestamp::MAX { Timestamp::MIN } else { self.now() };
        from..self.until
    }

    /// The rows of a query; the organization is `?1`, the given parameters follow.
    pub fn rows<const N: usize>(&mut self, statement: &'static Statement, params: [Value; N]) -> Result<Vec<Row>> {
        Ok(self.system.tx.rows(statement, &self.bound(params))?)
    }

    /// Hands over the rows of a query one after the other; the organization is `?1`.
    pub fn each<const N: usize>(
        &mut self,
        statement: &'static Statement,
        params: [Value; N],
        take: impl FnMut(&Passing<'_>) -> Result<()>,
    ) -> Result<()> {
        let params = self.bound(params);
        self.system.tx.each(statement, &params, take)
    }

    /// The first row of a query; the organization is `?1`.
    pub fn row<const N: usize>(&mut self, statement: &'static Statement, params: [Value; N]) -> Result<Option<Row>> {
        Ok(self.system.tx.row(statement, &self.bound(params))?)
    }

    /// Whether a query finds anything; the organization is `?1`.
    pub fn exists<const N: usize>(&mut self, statement: &'static Statement, params: [Value; N]) -> Result<bool> {
        Ok(self.row(statement, params)?.is_some())
    }

    /// Runs a change; the organization is `?1`. The number of rows it touched.
    pub fn execute<const N: usize>(&mut self, statement: &'static Statement, params: [Value; N]) -> Result<u64> {
        Ok(self.system.tx.execute(statement, &self.bound(params))?)
    }

    /// Runs a change of which nobody asks how many rows it touched, along with the next statement; the organization is `?1`.
    pub fn execute_along<const N: usize>(&mut self, statement: &'static Statement, params: [Value; N]) -> Result<()> {
        let params = self.bound(params);
        Ok(self.system.tx.execute_along(statement, params)?)
    }

    /// Runs a statement that inserts one row for each of these rows; the organization is `?1` of each. The number of rows it
    /// touched.
    pub fn execute_many<const N: usize>(&mut self, statement: &'static Statement, rows: Vec<[Value; N]>) -> Result<u64> {
        let rows: Vec<_> = rows.into_iter().map(|params| self.bound(params)).collect();
        Ok(self.system.tx.execute_many(statement, &rows)?)
    }

    /// Has everything that is done here undone in the end, and answered as if it were not.
    pub fn rehearse(&mut self) {
        self.system.tx.rehearse();
    }

    fn bound<const N: usize>(&self, params: [Value; N]) -> Vec<Value> {
        std::iter::once(Value::Uuid(self.organization.id)).chain(params).collect()
    }

    /// Whether organizations are on several servers.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        self.system.tx.is_spread()
    }

    /// The time of the request.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.system.now
    }

    /// A fresh id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.system.new_id()
    }

    /// Fresh ids and secrets.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.system.kit.ids
    }

    /// When an API key of the organization was last used, as far as this process knows and nobody has written down.
    #[must_use]
    pub fn last_use(&self, key: Uuid) -> Option<Timestamp> {
        self.system.kit.uses.of(self.organization.id, key)
    }

    /// The address guests and receivers see, without a slash at its end.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.system.kit.public_url
    }

    /// What a chapter has put there for its operations.
    pub fn part<T: Any + Send + Sync>(&self) -> Result<&'c T> {
        self.system.kit.part().ok_or_else(|| Error::internal(format!("nothing of {} is there", type_name::<T>())))
    }

    /// All of a type that the chapters have listed.
    #[must_use]
    pub fn listed<T: Any + Send + Sync>(&self) -> &'static [T] {
        self.system.kit.lists.all()
    }

    /// An API key of the organization.
    pub fn api_key(&mut self, id: Uuid) -> Result<Option<ApiKey>> {
        access::key(self.system.tx, self.organization.id, id)
    }

    /// A member of the organization.
    pub fn member(&mut self, id: Uuid) -> Result<Option<Member>> {
        access::member(self.system.tx, self.organization.id, id)
    }

    /// What the caller reaches.
    #[must_use]
    pub fn reach(&self) -> &'c Reach {
        &self.access.reach
    }

    /// 403 without the permission.
    pub fn require(&self, permission: Permission) -> Result<()> {
        self.access.require(permission)
    }

    /// Rings a bell once this is committed.
    pub fn ring(&mut self, bell: Bell) {
        self.system.rung.insert(bell);
    }

    /// What is to be rung once this is committed.
    pub fn rung(&mut self) -> BTreeSet<Bell> {
        std::mem::take(&mut self.system.rung)
    }
}
