//! Pushes to phones about changed wallet passes (rules: guest-requests#passes, 6).
//!
//! A registration contains the time of the last change that was pushed to its phone (`told_at`). A
//! push is due if the pass has changed after that time. A node claims a due push for a limited
//! time, under the lock of the organization, so only one node sends it. If that node ends before it
//! stores the result, another node claims the push when the time is over.

use engine::access::Access;
use engine::context::Context;
use engine::error::Result;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::Transaction;
use uuid::Uuid;

use super::passes::{RegisteredPass, open_context};

/// Number of registered passes that one query reads.
pub const PAGE: usize = 500;
/// Maximum number of pushes that are claimed together.
const BATCH_SIZE: i64 = 100;
/// The time for which a node owns a claimed push.
const CLAIM: SignedDuration = SignedDuration::from_secs(120);
/// Maximum number of attempts to push one change to one phone.
const MAX_ATTEMPTS: i64 = 5;
/// The pause after the first failure of a push. Each later failure of the same push doubles the
/// pause.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// The longest time for which a push can be claimed or postponed. If the stored time of a push is
/// further in the future than this, a node whose clock was ahead wrote it. The push is then due at
/// once.
const MAX_DELAY: SignedDuration = SignedDuration::from_secs(240);

store::statements! {
    /// Selects the stays whose passes are on a phone, in all organizations that are not erased,
    /// with the revisions of the organizations.
    REGISTERED = "select distinct r.organization_id, r.reservation_id, l.token, o.revision,
        o.stream_revision from pass_registration r
        join guest_link l on l.organization_id = r.organization_id
        and l.reservation_id = r.reservation_id
        join organization o on o.id = r.organization_id
        where (r.organization_id, r.reservation_id) > (?1, ?2) and o.erased_at is null
        order by r.organization_id, r.reservation_id limit ?3";
    /// Selects an organization with a due push. `?2` lists organizations to skip.
    WAITING = "select r.organization_id from pass_registration r
        join pass_state s on s.organization_id = r.organization_id
        and s.reservation_id = r.reservation_id
        join organization o on o.id = r.organization_id
        where r.told_at < s.changed_at and
        (r.next_push_at is null or r.next_push_at <= ?1 or r.next_push_at > ?3)
        and not (r.organization_id = any(?2)) and o.erased_at is null
        order by r.organization_id limit 1";
    /// Selects the due pushes of an organization.
    DUE = "select r.reservation_id, r.device_id, r.push_token, r.attempts, s.changed_at
        from pass_registration r
        join pass_state s on s.organization_id = r.organization_id
        and s.reservation_id = r.reservation_id
        where r.organization_id = ?1 and r.told_at < s.changed_at
        and (r.next_push_at is null or r.next_push_at <= ?2 or r.next_push_at > ?4)
        order by r.reservation_id, r.device_id limit ?3";
    /// Sets the time from which a push may be sent again, and the number of its failures. Does not
    /// update a registration whose push token has changed in the meantime.
    POSTPONE = "update pass_registration set next_push_at = ?5, attempts = ?6
        where organization_id = ?1 and reservation_id = ?2 and device_id = ?3 and push_token = ?4";
    /// Stores `?5`, the time of the change that was pushed to a phone. Resets the number of
    /// attempts and the time of the next attempt.
    NOTIFIED = "update pass_registration set told_at = ?5, attempts = 0, next_push_at = null
        where organization_id = ?1 and reservation_id = ?2 and device_id = ?3 and push_token = ?4";
    /// Deletes the registration of a phone whose push token is no longer valid.
    GONE = "delete from pass_registration where organization_id = ?1 and reservation_id = ?2
        and device_id = ?3 and push_token = ?4";
}

/// A registered pass, and the revisions of its organization.
pub struct RegisteredPassState {
    pub pass: RegisteredPass,
    /// The revisions of configuration and records. While they are unchanged, only the passage of
    /// time changes the pass.
    pub revisions: (i64, i64),
}

/// A push to a phone.
#[derive(Debug, Clone)]
pub struct Push {
    reservation: Uuid,
    device: String,
    /// The push token of the phone.
    pub token: String,
    /// The number of earlier failures of this push.
    attempts: i64,
    /// The time at which the pass changed.
    changed_at: Timestamp,
}

/// The outcome of an attempt to push a changed pass to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// The push is not tried again: the push service accepted it, or a retry cannot help.
    Over,
    /// The push token is invalid, so the registration is deleted.
    Gone,
    /// The push failed and is tried again, up to a limit.
    Again,
}

/// Returns a page of the registered passes, in the order of organizations and stays. The page
/// begins after the given organization and stay.
pub fn registered_passes(
    tx: &mut Transaction<'_>,
    (organization, reservation): (Uuid, Uuid),
) -> Result<Vec<RegisteredPassState>> {
    let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
    let rows = tx.rows(&REGISTERED, &values![organization, reservation, limit])?;
    let from_row = |row: &store::Row| -> Result<RegisteredPassState> {
        Ok(RegisteredPassState {
            pass: RegisteredPass {
                organization: row.get(0)?,
                reservation: row.get(1)?,
                token: row.get(2)?,
            },
            revisions: (row.get(3)?, row.get(4)?),
        })
    };
    rows.iter().map(from_row).collect()
}

/// Returns an organization with a due push. Skips the organizations in `except`.
pub fn next_due_organization(
    tx: &mut Transaction<'_>,
    now: Timestamp,
    except: Vec<Uuid>,
) -> Result<Option<Uuid>> {
    let row = tx.row(&WAITING, &values![now, except, later(now, MAX_DELAY)])?;
    Ok(row.map(|row| row.get(0)).transpose()?)
}

/// Claims at most [`BATCH_SIZE`] due pushes of an organization.
pub fn claim(tx: &mut Transaction<'_>, service: &Service, organization: Uuid) -> Result<Vec<Push>> {
    let access = Access::platform();
    let mut context = open_context(tx, service, organization, &access)?;
    let now = context.now();
    let rows = context.rows(&DUE, values![now, BATCH_SIZE, later(now, MAX_DELAY)])?;
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

/// Stores the results of claimed pushes.
pub fn save_push_outcomes(
    tx: &mut Transaction<'_>,
    service: &Service,
    organization: Uuid,
    results: Vec<(Push, PushOutcome)>,
) -> Result<()> {
    let access = Access::platform();
    let mut context = open_context(tx, service, organization, &access)?;
    let now = context.now();
    for (push, outcome) in results {
        let attempts = push.attempts + 1;
        match outcome {
            PushOutcome::Gone => {
                context
                    .execute_deferred(&GONE, values![push.reservation, push.device, push.token])?;
            }
            PushOutcome::Again if attempts < MAX_ATTEMPTS => {
                push.postpone(&mut context, later(now, pause(attempts)), attempts)?;
            }
            PushOutcome::Over | PushOutcome::Again => {
                let row = values![push.reservation, push.device, push.token, push.changed_at];
                context.execute_deferred(&NOTIFIED, row)?;
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

/// Returns the pause before the next attempt of a push that has failed this many times.
fn pause(failures: i64) -> SignedDuration {
    let doublings = u32::try_from((failures - 1).clamp(0, MAX_ATTEMPTS)).unwrap_or_default();
    FIRST_PAUSE * 2_i32.pow(doublings)
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
