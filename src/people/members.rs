//! Members by verified mail address, for sign-ins with the provider.

use std::collections::BTreeSet;

use engine::access::{Access, Member, Organization, Settings};
use engine::context::{Context, RaisedRevision, System};
use engine::error::Result;
use engine::pipeline::Service;
use engine::values;
use store::{Json, Row, Transaction};
use uuid::Uuid;

use super::refusal::SignInRefusal;
use super::session::{self, SignInMethod};
use super::tickets;
use super::validity::{self, SignInBar};

store::statements! {
    /// The members with a mail address (in lower case), with their organizations.
    BY_EMAIL = "select m.id, m.doc, o.id, o.doc from member m join organization o on o.id = m.organization_id
        where m.email_key = ?1 and o.erased_at is null order by o.id, m.id limit ?2";
}

/// Maximum number of memberships to choose from.
const MOST: u32 = 100;

/// A membership of a person, found by their mail address.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    pub(super) organization: Organization,
    /// The member's id.
    pub(super) member_id: Uuid,
    /// The member's data.
    pub(super) member: Member,
}

impl Membership {
    /// Reads a membership from the columns `id, doc` of the member and of the organization.
    fn from_row(row: &Row) -> Result<Self> {
        let (Json(member), Json::<Settings>(settings)) = (row.get(1)?, row.get(3)?);
        Ok(Self {
            organization: Organization {
                id: row.get(2)?,
                settings,
            },
            member_id: row.get(0)?,
            member,
        })
    }
}

/// Returns the memberships that a person may sign in to, by their mail address. Letter case does
/// not matter.
pub(super) async fn of_address(
    service: &Service,
    email: &str,
) -> Result<Vec<Membership>, SignInRefusal> {
    if email.contains('\0') {
        // No text in a database contains this character.
        return Err(SignInRefusal::NoMember);
    }
    let key = email.to_ascii_lowercase();
    let read = move |tx: &mut Transaction<'_>| {
        tx.rows(&BY_EMAIL, &values![key, MOST])?
            .iter()
            .map(Membership::from_row)
            .collect()
    };
    let all: Vec<Membership> = service.store.read(read).await?;
    admitted(all)
}

/// Returns the memberships that may be signed in to. If there is none, the error reveals no more
/// than the person needs for their next step.
fn admitted(all: Vec<Membership>) -> Result<Vec<Membership>, SignInRefusal> {
    let judged = |one: &Membership| validity::barred(&one.member, &one.organization.settings);
    let why = all
        .iter()
        .filter_map(|one| Some((judged(one)?, one.organization.id)))
        .collect::<Vec<_>>();
    let open: Vec<Membership> = all
        .into_iter()
        .filter(|one| judged(one).is_none())
        .collect();
    if !open.is_empty() {
        return Ok(open);
    }
    // A reason that the person can resolve is preferred.
    let worth_saying = why
        .iter()
        .find(|(barred, _)| *barred == SignInBar::TwoFactor)
        .or_else(|| why.first());
    Err(
        worth_saying.map_or(SignInRefusal::NoMember, |(barred, organization)| {
            SignInRefusal::Barred(*barred, Some(*organization))
        }),
    )
}

/// Begins a session of a member in their current state and ends the browser's previous session.
/// Returns the new token.
pub(super) async fn enter(
    service: &Service,
    one: &Membership,
    replaced: Option<String>,
    request_id: Uuid,
) -> Result<String, SignInRefusal> {
    let (organization, member, now, app_state) = (
        one.organization.id,
        one.member_id,
        service.clock.now(),
        service.app_state.clone(),
    );
    let begin = move |tx: &mut Transaction<'_>| {
        let mut system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let locked = system
            .lock(organization, RaisedRevision::Stream)?
            .ok_or(SignInRefusal::NoMember)?;
        if let Some(replaced) = replaced {
            session::end(system.tx, &replaced)?;
        }
        let access = Access::platform();
        let mut context = Context::of_locked(system, locked, &access);
        let now = context.member(member)?.ok_or(SignInRefusal::NoMember)?;
        if let Some(barred) = validity::barred(&now, &context.organization.settings) {
            return Err(SignInRefusal::Barred(barred, Some(organization)));
        }
        Ok(session::begin(
            &mut context,
            (member, &now),
            SignInMethod {
                by: "provider",
                request_id,
            },
        )?)
    };
    service
        .store
        .write_for(Some(organization), store::WORK_LIMIT, begin)
        .await
}

/// Creates a ticket for each membership, so that the person can choose one. Returns the tokens in
/// the order of the memberships.
pub(super) async fn offer(
    service: &Service,
    all: &[Membership],
    return_to: &str,
) -> Result<Vec<String>, SignInRefusal> {
    let members: Vec<(Uuid, Uuid)> = all
        .iter()
        .map(|one| (one.organization.id, one.member_id))
        .collect();
    let (return_to, now, app_state) = (
        return_to.to_owned(),
        service.clock.now(),
        service.app_state.clone(),
    );
    let mint = move |tx: &mut Transaction<'_>| {
        let access = Access::platform();
        let mut tokens = Vec::with_capacity(members.len());
        // The organizations are locked one after another, always in the same order, so that no
        // deadlock occurs.
        for (organization, member) in members {
            let system = System {
                tx,
                now,
                app_state: &app_state,
                wake_signals: BTreeSet::new(),
            };
            let mut context =
                Context::for_writing(system, organization, &access, RaisedRevision::Stream)?;
            tokens.push(tickets::mint(&mut context, member, &return_to)?.0);
        }
        Ok::<_, SignInRefusal>(tokens)
    };
    service.store.write(mint).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership_with(is_active: bool, is_required: bool) -> Membership {
        let settings = Settings {
            is_two_factor_required: is_required,
            ..Settings::default()
        };
        let member = Member {
            is_active,
            ..Member::default()
        };
        Membership {
            organization: Organization {
                id: Uuid::nil(),
                settings,
            },
            member_id: Uuid::nil(),
            member,
        }
    }

    #[test]
    fn only_organizations_that_admit_the_member_are_offered() {
        let open = admitted(vec![
            membership_with(false, false),
            membership_with(true, false),
            membership_with(true, true),
        ])
        .unwrap();
        assert_eq!(open.len(), 1);
        assert!(matches!(admitted(vec![]), Err(SignInRefusal::NoMember)));
        assert!(matches!(
            admitted(vec![membership_with(false, false)]),
            Err(SignInRefusal::Barred(SignInBar::Inactive, _))
        ));
        assert!(matches!(
            admitted(vec![
                membership_with(false, false),
                membership_with(true, true)
            ]),
            Err(SignInRefusal::Barred(SignInBar::TwoFactor, _))
        ));
    }
}
