//! The phones that wait for a push about a changed pass (rules: guest-requests#passes, 6).
//!
//! A registration names the last change that was pushed to its phone. A push is due while the pass
//! has a later change. A push is claimed for a while under the lock of the organization, so that
//! one node sends it; a node that ends before it has noted the result leaves the push to the
//! others.

use engine::access::Access;
use engine::context::Context;
use engine::error::Result;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::Transaction;
use uuid::Uuid;

use super::passes::{HeldPass, opened};

/// Registered passes that are read together.
pub(crate) const PAGE: usize = 500;
/// Maximum number of pushes that are claimed together.
const BATCH: i64 = 100;
/// The time for which a claimed push belongs to its node.
const CLAIM: SignedDuration = SignedDuration::from_secs(120);
/// Maximum number of pushes of one change to one phone, the first included.
const MOST_ATTEMPTS: i64 = 5;
/// The pause after the first failure. It doubles with each one.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// The longest time for which a push is claimed or put off. What is later was set by a clock that
/// was ahead, and is due.
const LONGEST: SignedDuration = SignedDuration::from_secs(240);

store::statements! {
    /// The stays whose passes are on a phone, of all organizations, with the revisions of these.
    HELD = "select distinct r.organization_id, r.reservation_id, l.token, o.revision, o.stream_revision from pass_registration r
        join guest_link l on l.organization_id = r.organization_id and l.reservation_id = r.reservation_id
        join organization o on o.id = r.organization_id
        where (r.organization_id, r.reservation_id) > (?1, ?2) and o.erased_at is null
        order by r.organization_id, r.reservation_id limit ?3";
    /// An organization with a push that is due, other than some.
    WAITING = "select r.organization_id from pass_registration r
        join pass_state s on s.organization_id = r.organization_id and s.reservation_id = r.reservation_id
        join organization o on o.id = r.organization_id
        where r.told_at < s.changed_at and (r.next_push_at is null or r.next_push_at <= ?1 or r.next_push_at > ?3)
        and not (r.organization_id = any(?2)) and o.erased_at is null
        order by r.organization_id limit 1";
    /// The pushes of an organization that are due.
    DUE = "select r.reservation_id, r.device_id, r.push_token, r.attempts, s.changed_at from pass_registration r
        join pass_state s on s.organization_id = r.organization_id and s.reservation_id = r.reservation_id
        where r.organization_id = ?1 and r.told_at < s.changed_at
        and (r.next_push_at is null or r.next_push_at <= ?2 or r.next_push_at > ?4)
        order by r.reservation_id, r.device_id limit ?3";
    /// Sets when a push may be sent again, and how often it failed. A registration with another
    /// token is left alone.
    POSTPONE = "update pass_registration set next_push_at = ?5, attempts = ?6
        where organization_id = ?1 and reservation_id = ?2 and device_id = ?3 and push_token = ?4";
    /// Notes the change that a phone knows of.
    NOTIFIED = "update pass_registration set told_at = ?5, attempts = 0, next_push_at = null
        where organization_id = ?1 and reservation_id = ?2 and device_id = ?3 and push_token = ?4";
    /// Removes a phone whose token is not good any more.
    GONE = "delete from pass_registration where organization_id = ?1 and reservation_id = ?2 and device_id = ?3 and push_token = ?4";
}

/// A registered pass, and the state of its organization.
pub(crate) struct Watched {
    pub pass: HeldPass,
    /// The revisions of configuration and records. While they stand, the pass changes by time
    /// alone.
    pub revisions: (i64, i64),
}

/// A push to a phone.
#[derive(Debug, Clone)]
pub(crate) struct Push {
    reservation: Uuid,
    device: String,
    /// The token of the phone.
    pub token: String,
    /// The number of earlier failures of this push.
    attempts: i64,
    /// The time of the change.
    changed_at: Timestamp,
}

/// The outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// The push was accepted, or no retry can help.
    Over,
    /// The registration goes.
    Gone,
    /// The push is sent again, up to a limit.
    Again,
}

/// Returns a page of the registered passes after a stay.
pub(crate) fn watched(
    tx: &mut Transaction<'_>,
    (organization, reservation): (Uuid, Uuid),
) -> Result<Vec<Watched>> {
    let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
    let rows = tx.rows(&HELD, &values![organization, reservation, limit])?;
    let watched = |row: &store::Row| -> Result<Watched> {
        Ok(Watched {
            pass: HeldPass {
                organization: row.get(0)?,
                reservation: row.get(1)?,
                token: row.get(2)?,
            },
            revisions: (row.get(3)?, row.get(4)?),
        })
    };
    rows.iter().map(watched).collect()
}

/// Returns an organization with a push that is due, other than these.
pub(crate) fn waiting(
    tx: &mut Transaction<'_>,
    now: Timestamp,
    except: Vec<Uuid>,
) -> Result<Option<Uuid>> {
    let row = tx.row(&WAITING, &values![now, except, later(now, LONGEST)])?;
    Ok(row.map(|row| row.get(0)).transpose()?)
}

/// Claims the due pushes of an organization, up to a limit.
pub(crate) fn claim(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
) -> Result<Vec<Push>> {
    let access = Access::platform();
    let mut context = opened(tx, service, organization, &access)?;
    let now = context.now();
    let rows = context.rows(&DUE, values![now, BATCH, later(now, LONGEST)])?;
    let mut pushes = Vec::new();
    for row in &rows {
        let push = Push {
            reservation: row.get(0)?,
            device: row.get(1)?,
            token: row.get(2)?,
            attempts: row.get(3)?,
            changed_at: row.get(4)?,
        };
        push.postpone(&mut context, later(now, CLAIM), push.attempts)?;
        pushes.push(push);
    }
    Ok(pushes)
}

/// Notes the results of claimed pushes.
pub(crate) fn settle(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    results: Vec<(Push, PushOutcome)>,
) -> Result<()> {
    let access = Access::platform();
    let mut context = opened(tx, service, organization, &access)?;
    let now = context.now();
    for (push, settled) in results {
        let attempts = push.attempts + 1;
        match settled {
            PushOutcome::Gone => {
                context
                    .execute_deferred(&GONE, values![push.reservation, push.device, push.token])?;
            }
            PushOutcome::Again if attempts < MOST_ATTEMPTS => {
                push.postpone(&mut context, later(now, pause(attempts)), attempts)?;
            }
            PushOutcome::Over | PushOutcome::Again => {
                let reported = values![push.reservation, push.device, push.token, push.changed_at];
                context.execute_deferred(&NOTIFIED, reported)?;
            }
        }
    }
    Ok(())
}

impl Push {
    fn postpone(
        &self,
        context: &mut Context<'_, '_>,
        until: Timestamp,
        attempts: i64,
    ) -> Result<()> {
        let Self {
            reservation,
            device,
            token,
            ..
        } = self;
        let values = values![*reservation, device.clone(), token.clone(), until, attempts];
        context.execute_deferred(&POSTPONE, values)
    }
}

/// Returns the pause after so many failures of a push.
fn pause(failures: i64) -> SignedDuration {
    let doublings = u32::try_from((failures - 1).clamp(0, MOST_ATTEMPTS)).unwrap_or_default();
    PAUSE * 2_i32.pow(doublings)
}

fn later(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.checked_add(pause).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_with_each_failure() {
        let seconds: Vec<_> = (1..=4).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [30, 60, 120, 240]);
    }
}
