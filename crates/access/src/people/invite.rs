//! Organizations and members that an operator adds with `vestibule organization create` and
//! `vestibule member invite` (rules: members#invitations).

use std::collections::BTreeSet;

use engine::access::{Access, Member, Permission};
use engine::audit::{self, Actor, AuditEntryRow, Change, Target};
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, Reason, Result};
use engine::field::{Country, Language};
use engine::pipeline::Service;
use engine::values;
use features::platform::{MemberView, create_organization, save_member, without_duplicates};
use store::{Row, Transaction};
use strum::VariantArray as _;
use uuid::Uuid;

use super::tickets::create_invitation_link;

store::statements! {
    /// Selects the members whose mail address, in lower case, is `?2`. The oldest member comes
    /// first.
    BY_EMAIL = "select id, doc, created_at, updated_at from member where organization_id = ?1
        and email_key = ?2 order by created_at, id";
}

/// The name of a new organization's first member if the command line gives no name.
const OWNER: &str = "Owner";

/// An organization to add, with its first member.
#[derive(Debug, Clone)]
pub struct NewOrganization {
    pub name: String,
    /// The country that is assumed for phone numbers without a country prefix.
    pub country: Country,
    /// The time zone of flats that are added by hand without a time zone.
    pub timezone: Option<String>,
    /// The languages of the organization. English is always added.
    pub languages: Vec<String>,
    /// The mail address of the first member. `None` if the member adds the address later.
    pub email: Option<String>,
    /// The name of the first member; `None` stands for `Owner`.
    pub member_name: Option<String>,
}

/// The member who gets a sign-in link. If no member of the organization has the mail address, the
/// member is added.
#[derive(Debug, Clone)]
pub struct Invitation {
    pub organization: Uuid,
    /// The mail address of the member.
    pub email: String,
    /// The member's name. `None` does not change the name of an existing member.
    pub name: Option<String>,
    /// The member's permissions. `None` does not change the permissions of an existing member, and
    /// gives a new member all permissions.
    pub permissions: Option<Vec<Permission>>,
}

/// An invited member with their sign-in link.
#[derive(Debug, Clone)]
pub struct InvitedMember {
    pub organization: Uuid,
    pub member: Uuid,
    /// Whether the member is new.
    pub is_new: bool,
    /// Whether the member got every permission because the command line named no permissions.
    pub has_every_permission: bool,
    /// The sign-in link. It works once and expires after an hour.
    pub url: String,
}

/// Adds an organization with a first member who has every permission.
pub async fn add_organization(service: &Service, new: NewOrganization) -> Result<InvitedMember> {
    let (now, app_state) = (service.clock.now(), service.app_state.clone());
    let add = move |tx: &mut Transaction<'_>| {
        let mut system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let languages = new.languages.into_iter().map(Language).collect();
        let organization =
            create_organization(&mut system, new.name, new.country, new.timezone, languages)?;
        let access = Access::platform();
        let mut context =
            Context::for_writing(system, organization, &access, RaisedRevision::Configuration)?;
        let member = new_member(
            new.email.unwrap_or_default(),
            new.member_name.unwrap_or_else(|| OWNER.to_owned()),
            Permission::VARIANTS.to_vec(),
        );
        let invited = add_member(&mut context, &member, true);
        let name = context.organization.settings.name.clone();
        let target = Target::new("organization", Some(organization), Some(name.clone()));
        write_audit_entry(
            &mut context,
            "createOrganization",
            target,
            vec![Change::to("name", name.into())],
        )?;
        invited
    };
    service.store.write(add).await
}

/// Invites a person as a member. If a member already has the mail address of the invitation,
/// changes that member's name and permissions to those in the invitation, if it contains any, and
/// creates a new sign-in link. Fails if that member is inactive.
pub async fn invite(service: &Service, invitation: Invitation) -> Result<InvitedMember> {
    let (now, app_state) = (service.clock.now(), service.app_state.clone());
    let share = Some(invitation.organization);
    let invite = move |tx: &mut Transaction<'_>| {
        let system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let access = Access::platform();
        let mut context = Context::for_writing(
            system,
            invitation.organization,
            &access,
            RaisedRevision::Configuration,
        )?;
        invite_or_update(&mut context, invitation)
    };
    service
        .store
        .write_for(share, store::WORK_LIMIT, invite)
        .await
}

fn invite_or_update(
    context: &mut Context<'_, '_>,
    invitation: Invitation,
) -> Result<InvitedMember> {
    let Invitation {
        email,
        name,
        permissions,
        ..
    } = invitation;
    let Some(existing) = by_email(context, &email)? else {
        let has_every_permission = permissions.is_none();
        let permissions = permissions.unwrap_or_else(|| Permission::VARIANTS.to_vec());
        let member = new_member(
            email,
            name.unwrap_or_default(),
            without_duplicates(permissions),
        );
        return add_member(context, &member, has_every_permission);
    };
    let before = existing.member;
    if !before.is_active {
        return Err(member_inactive());
    }
    let member = Member {
        name: name.unwrap_or_else(|| before.name.clone()),
        permissions: permissions.map_or_else(|| before.permissions.clone(), without_duplicates),
        ..before.clone()
    };
    let mut changes = Vec::new();
    if member.name != before.name {
        changes.push(Change::to("name", member.name.clone().into()));
    }
    if member.permissions != before.permissions {
        changes.push(Change::to(
            "permissions",
            serde_json::json!(member.permissions),
        ));
    }
    if !changes.is_empty() {
        let at = existing.updated_at.advanced_to(context.now()).0;
        save_member(context, existing.id, &member, at)?;
    }
    make_link(context, existing.id, &member, changes, (false, false))
}

/// Adds a member and makes their sign-in link.
fn add_member(
    context: &mut Context<'_, '_>,
    member: &Member,
    has_every_permission: bool,
) -> Result<InvitedMember> {
    let (id, now) = (context.new_id(), context.now());
    save_member(context, id, member, now)?;
    let changes = vec![
        Change::to("email", member.email.clone().into()),
        Change::to("permissions", serde_json::json!(member.permissions)),
    ];
    make_link(context, id, member, changes, (true, has_every_permission))
}

/// Makes a sign-in link for a member and writes the audit entry of the invitation. `is_new` and
/// `has_every_permission` become fields of the result.
fn make_link(
    context: &mut Context<'_, '_>,
    id: Uuid,
    member: &Member,
    changes: Vec<Change>,
    (is_new, has_every_permission): (bool, bool),
) -> Result<InvitedMember> {
    let (url, _) = create_invitation_link(context, id)?;
    let target = Target::new("member", Some(id), Some(member.display_name().to_owned()));
    let changes = [changes, vec![Change::withheld("url")]].concat();
    write_audit_entry(context, "inviteMember", target, changes)?;
    Ok(InvitedMember {
        organization: context.organization.id,
        member: id,
        is_new,
        has_every_permission,
        url,
    })
}

/// Writes an audit entry with the operator as the actor.
fn write_audit_entry(
    context: &mut Context<'_, '_>,
    operation: &'static str,
    target: Target,
    changes: Vec<Change>,
) -> Result<()> {
    let entry = AuditEntryRow {
        actor: Actor::of(context.access.credential)?,
        operation,
        target,
        changes,
        request_id: context.new_id(),
        at: context.now(),
    };
    audit::write(context, entry)
}

/// Returns the error with status 409 for a sign-in link of an inactive member.
pub(super) fn member_inactive() -> Error {
    Error::conflict(Reason::rule(
        "member_inactive",
        "This member is not active; make them active first.",
    ))
}

/// Returns a new active member with access to every property.
pub(super) fn new_member(email: String, name: String, permissions: Vec<Permission>) -> Member {
    Member {
        name,
        email,
        permissions,
        property_ids: None,
        is_active: true,
        is_two_factor_enrolled: false,
    }
}

/// Returns the member with a mail address, ignoring letter case. Prefers an active member.
pub(super) fn by_email(context: &mut Context<'_, '_>, email: &str) -> Result<Option<MemberView>> {
    let rows = context.rows(&BY_EMAIL, values![email.to_ascii_lowercase()])?;
    let members: Vec<MemberView> = rows
        .iter()
        .map(|row: &Row| MemberView::from_row(row))
        .collect::<Result<_>>()?;
    let active = members
        .iter()
        .position(|existing| existing.member.is_active);
    Ok(members.into_iter().nth(active.unwrap_or(0)))
}
