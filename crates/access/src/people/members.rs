//! Sign-ins with the OpenID provider. This module finds a person's memberships by the mail address
//! that the provider has verified, and begins a session.

use std::collections::BTreeSet;

use engine::access::{Access, Member, Organization, Settings};
use engine::context::{Context, RaisedRevision, System};
use engine::error::Result;
use engine::pipeline::Service;
use engine::values;
use store::{Json, Row, Transaction};
use uuid::Uuid;

use super::refusal::SignInError;
use super::session::{self, SignInMethod};
use super::tickets;
use super::validity::{self, SignInRestriction};

store::statements! {
    /// Selects the members whose mail address, in lower case, is `?1`, with their organizations.
    BY_EMAIL = "select m.id, m.doc, o.id, o.doc from member m
        join organization o on o.id = m.organization_id
        where m.email_key = ?1 and o.erased_at is null order by o.id, m.id limit ?2";
}

/// Maximum number of memberships among which a person can choose at sign-in.
const MAX_MEMBERSHIPS: u32 = 100;

/// A membership of a person in an organization. The person is identified by the mail address.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    pub(super) organization: Organization,
    pub(super) member_id: Uuid,
    /// The stored document of the member.
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

/// Returns those memberships of the person with this mail address that permit sign-in. Ignores
/// letter case. Fails if the person has no such membership.
pub(super) async fn memberships_of_address(
    service: &Service,
    email: &str,
) -> Result<Vec<Membership>, SignInError> {
    if email.contains('\0') {
        // PostgreSQL refuses U+0000 in texts, so no member has an address with this character.
        return Err(SignInError::NoMember);
    }
    let key = email.to_ascii_lowercase();
    let read = move |tx: &mut Transaction<'_>| {
        tx.rows(&BY_EMAIL, &values![key, MAX_MEMBERSHIPS])?
            .iter()
            .map(Membership::from_row)
            .collect()
    };
    let all: Vec<Membership> = service.store.read(read).await?;
    permitted(all)
}

/// Returns the memberships that permit sign-in. If no membership permits sign-in, the error
/// contains the reason. If there are several reasons, the error contains a reason that the person
/// can remove.
fn permitted(all: Vec<Membership>) -> Result<Vec<Membership>, SignInError> {
    let restriction = |membership: &Membership| {
        validity::sign_in_restriction(&membership.member, &membership.organization.settings)
    };
    let reasons = all
        .iter()
        .filter_map(|membership| Some((restriction(membership)?, membership.organization.id)))
        .collect::<Vec<_>>();
    let permitted: Vec<Membership> = all
        .into_iter()
        .filter(|membership| restriction(membership).is_none())
        .collect();
    if !permitted.is_empty() {
        return Ok(permitted);
    }
    // The person can enroll in two-factor authentication, but only another member or the platform
    // can make an inactive member active. So `TwoFactor` is the more helpful reason.
    let reported = reasons
        .iter()
        .find(|(barred, _)| *barred == SignInRestriction::TwoFactor)
        .or_else(|| reasons.first());
    Err(
        reported.map_or(SignInError::NoMember, |(barred, organization)| {
            SignInError::Restricted(*barred, Some(*organization))
        }),
    )
}

/// Begins a session of a member and ends the browser's previous session, whose token is `replaced`.
/// Checks again whether the member may sign in. Returns the token of the new session.
pub(super) async fn begin_session(
    service: &Service,
    membership: &Membership,
    replaced: Option<String>,
    request_id: Uuid,
) -> Result<String, SignInError> {
    let (organization, member, now, app_state) = (
        membership.organization.id,
        membership.member_id,
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
            .ok_or(SignInError::NoMember)?;
        if let Some(replaced) = replaced {
            session::delete_by_token(system.tx, &replaced)?;
        }
        let access = Access::platform();
        let mut context = Context::of_locked(system, locked, &access);
        let current = context.member(member)?.ok_or(SignInError::NoMember)?;
        if let Some(barred) =
            validity::sign_in_restriction(&current, &context.organization.settings)
        {
            return Err(SignInError::Restricted(barred, Some(organization)));
        }
        Ok(session::begin(
            &mut context,
            (member, &current),
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

/// Creates a sign-in ticket for each membership, so that the person can choose an organization.
/// Returns the tickets' tokens in the order of the memberships.
pub(super) async fn create_membership_tickets(
    service: &Service,
    all: &[Membership],
    return_to: &str,
) -> Result<Vec<String>, SignInError> {
    let members: Vec<(Uuid, Uuid)> = all
        .iter()
        .map(|membership| (membership.organization.id, membership.member_id))
        .collect();
    let (return_to, now, app_state) = (
        return_to.to_owned(),
        service.clock.now(),
        service.app_state.clone(),
    );
    let create_tickets = move |tx: &mut Transaction<'_>| {
        let access = Access::platform();
        let mut tokens = Vec::with_capacity(members.len());
        // `members` is sorted by organization. Every transaction locks the organizations in this
        // order, so that no deadlock occurs.
        for (organization, member) in members {
            let system = System {
                tx,
                now,
                app_state: &app_state,
                wake_signals: BTreeSet::new(),
            };
            let mut context =
                Context::for_writing(system, organization, &access, RaisedRevision::Stream)?;
            tokens.push(tickets::create_ticket(&mut context, member, &return_to)?.0);
        }
        Ok::<_, SignInError>(tokens)
    };
    service.store.write(create_tickets).await
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
        let permitted_memberships = permitted(vec![
            membership_with(false, false),
            membership_with(true, false),
            membership_with(true, true),
        ])
        .unwrap();
        assert_eq!(permitted_memberships.len(), 1);
        assert!(matches!(permitted(vec![]), Err(SignInError::NoMember)));
        assert!(matches!(
            permitted(vec![membership_with(false, false)]),
            Err(SignInError::Restricted(SignInRestriction::Inactive, _))
        ));
        assert!(matches!(
            permitted(vec![
                membership_with(false, false),
                membership_with(true, true)
            ]),
            Err(SignInError::Restricted(SignInRestriction::TwoFactor, _))
        ));
    }
}
