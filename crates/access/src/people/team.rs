//! Operations of members on the members of their organization: `inviteMember`, `updateMember` and
//! `createMemberSignInLink` (rules: members#members-in-the-console).
//!
//! Only signed-in members with access to every property may call these operations. They can grant
//! and revoke only permissions that they hold. API keys and OAuth apps cannot call them, because a
//! member that they added would outlive their own access.

use std::collections::BTreeSet;

use engine::access::{Credential, Member, Permission};
use engine::audit::{AuditedObject, Audits, Target};
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::field::{EmailAddress, Field, Text200};
use engine::moment::Moment;
use engine::operation::{Needs, Operation};
use engine::values;
use features::platform::{
    MemberView, audited_member, member_target, save_member, without_duplicates,
};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Row;
use uuid::Uuid;

use super::invite::{by_email, member_inactive, new_member};
use super::tickets::create_invitation_link;

store::statements! {
    /// Selects the member with the id `?2`.
    MEMBER = "select id, doc, created_at, updated_at from member where organization_id = ?1
        and id = ?2";
}

/// The person to invite.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "email": "marta@example.com",
    "name": "Marta",
    "permissions": ["view_properties", "view_reservations"],
}))]
struct InviteMember {
    /// Mail address of the person. It belongs to one member only.
    email: EmailAddress,
    /// Name of the person. Null or left out: the mail address is shown instead.
    #[serde(default)]
    name: Option<Text200>,
    /// Permissions of the member, chosen from your own permissions.
    #[schemars(length(max = 11))]
    permissions: Vec<Permission>,
    /// The properties that the member has access to (`listProperties`), at most 25,000. Null or
    /// left out: every property.
    #[serde(default)]
    #[schemars(
        length(max = 25_000),
        extend(
            "x-choices-from" = "listProperties",
            "x-summary" = "The flats that the member has access to. Not set: all flats.",
        )
    )]
    property_ids: Option<Vec<Uuid>>,
}

/// Changes of a member.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "data": { "isActive": false } }))]
struct UpdateMember {
    /// Id of the member to change.
    id: Uuid,
    /// The fields to change; those left out keep their value.
    data: MemberChanges,
    /// The `updatedAt` that the change is based on: 409 if the member has changed since. Null or
    /// left out: the change overwrites any state.
    #[serde(default)]
    expected_updated_at: Option<Moment>,
}

/// The fields of a member that can be changed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
struct MemberChanges {
    /// Name of the member. Null: the mail address is shown instead.
    #[serde(default)]
    name: Field<Option<Text200>>,
    /// Mail address of the member. It belongs to one member only.
    #[serde(default)]
    email: Field<EmailAddress>,
    /// Permissions of the member: you can grant and revoke only permissions that you hold.
    #[schemars(length(max = 11))]
    #[serde(default)]
    permissions: Field<Vec<Permission>>,
    /// The properties that the member has access to (`listProperties`), at most 25,000. Null: every
    /// property.
    #[schemars(
        length(max = 25_000),
        extend(
            "x-choices-from" = "listProperties",
            "x-summary" = "The flats that the member has access to. Not set: all flats.",
        )
    )]
    #[serde(default)]
    property_ids: Field<Option<Vec<Uuid>>>,
    /// Whether the member may sign in. `false` ends their access at once.
    #[serde(default)]
    is_active: Field<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneTeamMember {
    /// Id of the member who signs in by the link.
    id: Uuid,
}

/// A member with a link by which they sign in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemberInvited {
    #[serde(flatten)]
    member: MemberView,
    /// The sign-in link of the member. It is valid for one use and for an hour, and only this
    /// response has it.
    sign_in_url: String,
}

/// A link by which a member signs in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemberLink {
    /// Address for the member's browser, shown once. Anyone with this address can sign in as the
    /// member once.
    url: String,
    /// Time at which the link expires.
    expires_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    let declare = |id, method, path| {
        Operation::public(
            id,
            method,
            path,
            Needs::Permission(Permission::ManageOrganization),
        )
    };
    vec![
        declare("inviteMember", Method::POST, "/members")
            .summary(
                "Invite a member; the link by which they sign in is shown once. For members who \
                    are signed in",
            )
            .rest_only()
            .creates()
            .audited(Audits::makes("member", "name").withholding(&["signInUrl"]))
            .shows_once("signInUrl", check)
            .run(invite),
        declare("updateMember", Method::PATCH, "/members/{id}")
            .summary(
                "Change a member: permissions, access, whether they may sign in. For members who \
                    are signed in",
            )
            .rest_only()
            .audited(Audits::changes(audited))
            .run(update),
        declare(
            "createMemberSignInLink",
            Method::POST,
            "/members/{id}/sign-in-links",
        )
        .summary(
            "Make a link by which a member signs in, shown once: good once, for an hour. For \
                members who are signed in",
        )
        .rest_only()
        .creates()
        .touches_stream()
        .audited(
            Audits::acts_on(named)
                .recording(&["expiresAt"])
                .withholding(&["url"]),
        )
        .shows_once("url", check)
        .run(link),
    ]
}

/// Describes the member with the input's `id` for the audit log.
fn audited(context: &mut Context<'_, '_>, input: &Value) -> Result<Option<AuditedObject>> {
    audited_member(context, &json!({ "memberId": input["id"] }))
}

/// Returns the audit log's target for the member with the input's `id`.
fn named(context: &mut Context<'_, '_>, input: &Value) -> Result<Target> {
    member_target(context, &json!({ "memberId": input["id"] }))
}

/// Returns 403 if the caller may not manage members.
fn check(context: &Context<'_, '_>) -> Result<()> {
    if context.access.may_act_for_organization() {
        return Ok(());
    }
    Err(Error::forbidden(Reason::rule(
        "members_by_members",
        "Only a signed-in member with access to every property can manage members.",
    )))
}

/// Returns 403 if the request would grant or revoke a permission that the caller lacks.
fn check_permissions<'p>(
    context: &Context<'_, '_>,
    permissions: impl IntoIterator<Item = &'p Permission>,
) -> Result<()> {
    let own = context.access.permissions;
    match permissions
        .into_iter()
        .find(|permission| !own.has(**permission))
    {
        None => Ok(()),
        Some(missing) => Err(Error::forbidden(Reason::rule(
            "member_holds_more",
            format!(
                "You do not have the permission {}; you can give and take only permissions that \
                    you have.",
                missing.as_ref()
            ),
        ))),
    }
}

/// Returns 409 if a member other than `own` has the mail address.
fn check_address(context: &mut Context<'_, '_>, email: &str, own: Option<Uuid>) -> Result<()> {
    let existing = by_email(context, email)?;
    if existing.is_none_or(|existing| Some(existing.id) == own) {
        return Ok(());
    }
    Err(Error::conflict(Reason::rule(
        "member_exists",
        "A member with this mail address exists already.",
    )))
}

fn invite(context: &mut Context<'_, '_>, input: InviteMember) -> Result<MemberInvited> {
    check(context)?;
    check_permissions(context, &input.permissions)?;
    check_address(context, &input.email, None)?;
    let name = input.name.map(|name| name.0).unwrap_or_default();
    let member = Member {
        property_ids: input.property_ids.map(without_duplicates),
        ..new_member(input.email.0, name, without_duplicates(input.permissions))
    };
    let (id, now) = (context.new_id(), context.now());
    let member = save_member(context, id, &member, now)?;
    let (sign_in_url, _) = create_invitation_link(context, id)?;
    Ok(MemberInvited {
        member,
        sign_in_url,
    })
}

fn require_member(context: &mut Context<'_, '_>, id: Uuid) -> Result<MemberView> {
    let row = context.row(&MEMBER, values![id])?;
    row.as_ref()
        .map(|row: &Row| MemberView::from_row(row))
        .transpose()?
        .ok_or_else(|| Error::not_found("Member"))
}

fn update(context: &mut Context<'_, '_>, input: UpdateMember) -> Result<MemberView> {
    let stored = require_member(context, input.id)?;
    check(context)?;
    let (before, after) = (&stored.member, merge(&stored.member, input.data));
    let is_in = |permission: &&Permission, all: &[Permission]| all.contains(permission);
    let granted = after
        .permissions
        .iter()
        .filter(|permission| !is_in(permission, &before.permissions));
    let revoked = before
        .permissions
        .iter()
        .filter(|permission| !is_in(permission, &after.permissions));
    check_permissions(context, granted.chain(revoked))?;
    if context.access.credential == Credential::Member(stored.id) {
        check_own(before, &after)?;
    } else if before.is_active != after.is_active
        || before.email != after.email
        || !have_same_properties(before, &after)
    {
        // A change of the mail address, the properties or the activation affects everything that
        // the member may do. So the caller must hold all permissions of the member.
        check_permissions(context, &before.permissions)?;
    }
    if before.email != after.email {
        check_address(context, &after.email, Some(stored.id))?;
    }
    if input
        .expected_updated_at
        .is_some_and(|expected| expected != stored.updated_at)
    {
        return Err(Error::conflict(Reason::rule(
            "changed_since",
            "The member has changed since they were read.",
        )));
    }
    if *before == after {
        return Ok(stored);
    }
    let at = stored.updated_at.advanced_to(context.now()).0;
    save_member(context, stored.id, &after, at)
}

/// Returns the member `before` with the changed fields of the request.
fn merge(before: &Member, data: MemberChanges) -> Member {
    let mut member = before.clone();
    if let Some(name) = data.name.into_sent() {
        member.name = name.map(|name| name.0).unwrap_or_default();
    }
    if let Some(email) = data.email.into_sent() {
        member.email = email.0;
    }
    if let Some(permissions) = data.permissions.into_sent() {
        member.permissions = without_duplicates(permissions);
    }
    if let Some(ids) = data.property_ids.into_sent() {
        member.property_ids = ids.map(without_duplicates);
    }
    if let Some(is_active) = data.is_active.into_sent() {
        member.is_active = is_active;
    }
    member
}

/// Returns whether two versions of a member have access to the same properties.
fn have_same_properties(one: &Member, other: &Member) -> bool {
    let ids = |member: &Member| -> Option<BTreeSet<Uuid>> {
        Some(member.property_ids.as_ref()?.iter().copied().collect())
    };
    ids(one) == ids(other)
}

/// Returns 409 if a change of the caller's own membership would remove the right to manage the
/// organization. So at least one member can always manage the organization.
fn check_own(before: &Member, after: &Member) -> Result<()> {
    let manages = |member: &Member| {
        member.is_active
            && member.property_ids.is_none()
            && member.permissions.contains(&Permission::ManageOrganization)
    };
    if manages(after) || !manages(before) {
        return Ok(());
    }
    Err(Error::conflict(Reason::rule(
        "own_membership",
        "You cannot take your own access away; another member can.",
    )))
}

fn link(context: &mut Context<'_, '_>, input: OneTeamMember) -> Result<MemberLink> {
    let stored = require_member(context, input.id)?;
    check(context)?;
    check_permissions(context, &stored.member.permissions)?;
    if !stored.member.is_active {
        return Err(member_inactive());
    }
    let (url, expires_at) = create_invitation_link(context, stored.id)?;
    Ok(MemberLink {
        url,
        expires_at: Moment(expires_at),
    })
}
