//! The commands `vestibule setup-link`, `vestibule organization create` and `vestibule member
//! invite`. With them, an operator adds an organization and its members if no platform does so.
//!
//! These commands also work while `vestibule serve` runs. `access::people` does the work.

use std::sync::Arc;

use access::people::{self, Invitation, InvitedMember, NewOrganization};
use engine::clock::Clock;
use engine::error::{Error, ErrorKind};
use engine::field::Country;
use engine::pipeline::Service;

use crate::config::{
    CreateOrganizationFlags, DatabaseFlags, InviteMemberFlags, PublicUrlFlags, SetupLinkFlags,
};
use crate::server;

/// Prints a link to set up the first organization.
pub(super) async fn setup_link(flags: SetupLinkFlags) -> Result<(), String> {
    let service = open(&flags.database, &flags.public_url).await?;
    let link = people::setup_link(&service)
        .await
        .map_err(|error| describe(&error))?;
    let link = link.ok_or(
        "there is an organization already; `vestibule member invite` prints a sign-in link for one \
            of its members",
    )?;
    super::print_text(&format!("set up at {link}\n"))
}

/// Adds an organization and its first member.
pub(super) async fn create_organization(flags: CreateOrganizationFlags) -> Result<(), String> {
    let service = open(&flags.database, &flags.public_url).await?;
    let new = NewOrganization {
        name: flags.name,
        country: Country(flags.country),
        timezone: flags.timezone,
        languages: flags.languages,
        email: flags.email,
        member_name: flags.member_name,
    };
    let invited = people::add_organization(&service, new)
        .await
        .map_err(|error| describe(&error))?;
    super::print_text(&format!(
        "organization {}\n{}",
        invited.organization,
        lines(&invited)
    ))
}

/// Invites a person as a member, or makes another sign-in link for a member.
pub(super) async fn invite_member(flags: InviteMemberFlags) -> Result<(), String> {
    let service = open(&flags.database, &flags.public_url).await?;
    let (organization, email) = (flags.organization, flags.email.clone());
    let invitation = Invitation {
        organization,
        email: flags.email,
        name: flags.name,
        permissions: flags.permissions,
    };
    let invited = people::invite(&service, invitation).await;
    let invited = invited.map_err(|error| match error.kind() {
        ErrorKind::Conflict => format!(
            "{email} is not active, so no link was made. Make them active in the console, at \
                Access, Members, or with `isActive` of the operations updateMember and putMember."
        ),
        ErrorKind::NotFound => format!("there is no organization {organization}"),
        _ => describe(&error),
    })?;
    super::print_text(&lines(&invited))
}

/// Returns the lines to print about a member: the id, whether the member is new and has every
/// permission, and the sign-in link.
fn lines(invited: &InvitedMember) -> String {
    let InvitedMember {
        member,
        is_new,
        has_every_permission,
        url,
        ..
    } = invited;
    let status = match (is_new, has_every_permission) {
        (true, true) => " (new, with every permission)",
        (true, false) => " (new)",
        (false, _) => " (a member already)",
    };
    format!("member {member}{status}\nsign in at {url} (good once, for one hour)\n")
}

async fn open(
    database: &DatabaseFlags,
    public_url: &PublicUrlFlags,
) -> Result<Arc<Service>, String> {
    server::offline_service_at(database, Clock::system(), &public_url.address()?).await
}

fn describe(error: &Error) -> String {
    error
        .cause()
        .map_or_else(|| error.message().to_string(), str::to_owned)
}
