//! Sign-in tickets: secrets in links, each of which signs a member in once (rules:
//! members#signing-in). This module also has the operation `createSignInLink`, with which the
//! platform requests such a link.

use std::collections::BTreeSet;

use engine::access::{Access, Member, Organization, Settings, hash, owner, token_of};
use engine::audit::Audits;
use engine::context::{Context, RaisedRevision, System};
use engine::error::{Error, Issue, Result};
use engine::moment::Moment;
use engine::operation::{Findings, Operation};
use engine::pipeline::Service;
use engine::sweeping;
use engine::values;
use features::platform::member_target;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Json, Transaction, Value};
use uuid::Uuid;

use super::addresses::{SIGN_IN, with_ticket};
use super::refusal::SignInError;
use super::return_path;
use super::session::{self, SignInMethod};
use super::validity;

store::statements! {
    /// Inserts a ticket.
    INSERT = "insert into sign_in_ticket (organization_id, id, member_id, token_hash, expires_at,
        return_to) values (?1, ?2, ?3, ?4, ?5, ?6)";
    /// Deletes at most `?3` tickets of a member, and keeps the `?4` tickets that expire last. It
    /// runs before a new ticket is inserted, so the member never has more than `?4` + 1 tickets.
    MAKE_ROOM = "delete from sign_in_ticket where organization_id = ?1 and id in
        (select id from sign_in_ticket where organization_id = ?1 and member_id = ?2
        order by expires_at desc, id desc limit ?3 offset ?4)";
    /// Returns a row if the organization has a ticket with this token hash.
    HAS = "select organization_id from sign_in_ticket where organization_id = ?1
        and token_hash = ?2";
    /// Selects the ticket with a token hash, its member and the member's organization.
    BY_TOKEN = "select t.member_id, m.doc, o.id, o.doc, t.return_to from sign_in_ticket t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id where t.organization_id = ?1
        and t.token_hash = ?2 and t.expires_at > ?3 and o.erased_at is null";
    /// Deletes a redeemed ticket.
    BURN = "delete from sign_in_ticket where organization_id = ?1 and token_hash = ?2";
    /// Selects expired tickets.
    ENDED = "select organization_id, id from sign_in_ticket where expires_at <= ?1
        order by expires_at limit ?2";
    /// Deletes a batch of an organization's expired tickets.
    REMOVE = engine::some_old!("sign_in_ticket", "id", "expires_at");
}

/// Lifetime of a ticket that the platform requests or that an OpenID sign-in creates. A ticket in
/// an invitation has [`INVITATION_LIFETIME`].
const LIFETIME: SignedDuration = SignedDuration::from_mins(5);
/// Lifetime of a ticket in an invitation. It is longer than [`LIFETIME`], because the member
/// receives the link later, from another person.
const INVITATION_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// Maximum number of tickets of a member. A new ticket above the maximum deletes the ticket with
/// the earliest expiry.
const MAX_TICKETS: i64 = 100;
/// Maximum number of tickets that the sweep deletes in one transaction. A longer transaction would
/// delay other work.
const SWEEP_BATCH: u32 = 500;
/// The prefix of a ticket's token.
const PREFIX: &str = "st_";

/// A request for a sign-in link of a member.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "returnTo": "/console" }))]
struct CreateSignInLink {
    /// Id of the member's organization.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the member who signs in by the link. An unknown member is a 404, an inactive member a
    /// 409.
    member_id: Uuid,
    /// Path of this service that the member's browser opens after the sign-in, optionally with a
    /// query, such as `/console?tab=keys`. Null or left out: `/console`.
    #[serde(default)]
    return_to: Option<String>,
}

/// A sign-in link of a member with its expiry.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "url": "https://stay.example.com/sign-in?ticket=st_kq3…",
    "expiresAt": "2026-11-21T09:35:00.000Z",
}))]
struct SignInLink {
    /// Address for the member's browser. Anyone with this address can sign in as the member once.
    url: String,
    /// Time at which the link expires.
    expires_at: Moment,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform(
            "createSignInLink",
            Method::POST,
            "/organizations/{organizationId}/members/{memberId}/sign-in-links",
        )
        .summary("Make a link by which a member signs in: good once, for five minutes")
        .creates()
        .touches_stream()
        .rules(|input: CreateSignInLink, _| Findings::sent(return_path_issue(&input)))
        .audited(
            Audits::acts_on(member_target)
                .recording(&["returnTo", "expiresAt"])
                .withholding(&["url"]),
        )
        .run(create),
    ]
}

fn return_path_issue(input: &CreateSignInLink) -> Option<Issue> {
    let message = return_path::return_path_error(input.return_to.as_deref()?)?;
    Some(Issue::new(&["returnTo"], message))
}

fn create(context: &mut Context<'_, '_>, input: CreateSignInLink) -> Result<SignInLink> {
    let member = context
        .member(input.member_id)?
        .ok_or_else(|| Error::not_found("Member"))?;
    if !member.is_active {
        return Err(Error::conflict("The member is not active."));
    }
    let return_to = input.return_to.as_deref().unwrap_or(return_path::DEFAULT);
    let (token, expires_at) = create_ticket(context, input.member_id, return_to)?;
    Ok(SignInLink {
        url: format!("{}{}", context.public_url(), with_ticket(SIGN_IN, &token)),
        expires_at: Moment(expires_at),
    })
}

/// Creates a sign-in ticket for a member. Returns the token and the expiry of the ticket.
pub(super) fn create_ticket(
    context: &mut Context<'_, '_>,
    member: Uuid,
    return_to: &str,
) -> Result<(String, Timestamp)> {
    mint_for(context, member, return_to, LIFETIME)
}

/// Creates the sign-in link of an invitation. The person who invites the member passes the link on
/// to the member. Returns the URL of the link, and the time at which it expires.
pub(super) fn create_invitation_link(
    context: &mut Context<'_, '_>,
    member: Uuid,
) -> Result<(String, Timestamp)> {
    let (token, expires_at) = mint_for(context, member, return_path::DEFAULT, INVITATION_LIFETIME)?;
    let url = format!("{}{}", context.public_url(), with_ticket(SIGN_IN, &token));
    Ok((url, expires_at))
}

fn mint_for(
    context: &mut Context<'_, '_>,
    member: Uuid,
    return_to: &str,
    lifetime: SignedDuration,
) -> Result<(String, Timestamp)> {
    let (id, token) = (
        context.new_id(),
        token_of(PREFIX, context.organization.id, context.ids()),
    );
    let expires_at = context
        .now()
        .checked_add(lifetime)
        .unwrap_or(Timestamp::MAX);
    context.execute_deferred(&MAKE_ROOM, values![member, MAX_TICKETS, MAX_TICKETS - 1])?;
    context.execute_deferred(
        &INSERT,
        values![
            id,
            member,
            Value::Bytes(hash(&token)),
            expires_at,
            return_to
        ],
    )?;
    Ok((token, expires_at))
}

/// The content of a sign-in ticket: the member who signs in with the ticket, and the return path.
#[derive(Debug)]
pub(super) struct TicketGrant {
    pub(super) organization: Organization,
    pub(super) member_id: Uuid,
    pub(super) member: Member,
    /// The path that the browser opens after the sign-in.
    pub(super) return_to: String,
}

/// Returns the member and the return path of a valid ticket, without redeeming the ticket.
pub(super) async fn find_ticket(
    service: &Service,
    ticket: &str,
) -> Result<TicketGrant, SignInError> {
    let (ticket, now) = (ticket.to_owned(), service.clock.now());
    service.store.read(move |tx| find(tx, &ticket, now)).await
}

fn find(
    tx: &mut Transaction<'_>,
    ticket: &str,
    now: Timestamp,
) -> Result<TicketGrant, SignInError> {
    let organization = owner(tx, (PREFIX, ticket), &HAS)?.ok_or(SignInError::InvalidLink)?;
    let row = tx
        .row(
            &BY_TOKEN,
            &values![organization, Value::Bytes(hash(ticket)), now],
        )?
        .ok_or(SignInError::InvalidLink)?;
    let (Json(member), id, Json::<Settings>(settings)) = (row.get(1)?, row.get(2)?, row.get(3)?);
    if let Some(barred) = validity::sign_in_restriction(&member, &settings) {
        return Err(SignInError::Restricted(barred, Some(id)));
    }
    let organization = Organization { id, settings };
    Ok(TicketGrant {
        organization,
        member_id: row.get(0)?,
        member,
        return_to: row.get(4)?,
    })
}

/// Redeems a ticket. Deletes the ticket, begins a session, and ends the browser's previous session,
/// whose token is `replaced`. If a ticket is sent twice at the same time, only one request
/// succeeds.
///
/// Returns the token of the new session, and the ticket's member and return path.
pub(super) async fn redeem(
    service: &Service,
    ticket: &str,
    replaced: Option<String>,
    request_id: Uuid,
) -> Result<(String, TicketGrant), SignInError> {
    let organization = find_ticket(service, ticket).await?.organization.id;
    let (ticket, now, app_state) = (
        ticket.to_owned(),
        service.clock.now(),
        service.app_state.clone(),
    );
    let redeem = move |tx: &mut Transaction<'_>| {
        let mut system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let locked = system
            .lock(organization, RaisedRevision::Stream)?
            .ok_or(SignInError::InvalidLink)?;
        let grant = find(system.tx, &ticket, now)?;
        if let Some(replaced) = replaced {
            session::delete_by_token(system.tx, &replaced)?;
        }
        let access = Access::platform();
        let mut context = Context::of_locked(system, locked, &access);
        context.execute_deferred(&BURN, values![Value::Bytes(hash(&ticket))])?;
        let method = SignInMethod {
            by: "link",
            request_id,
        };
        let session = session::begin(&mut context, (grant.member_id, &grant.member), method)?;
        Ok((session, grant))
    };
    service
        .store
        .write_for(Some(organization), store::WORK_LIMIT, redeem)
        .await
}

/// Deletes a batch of expired tickets. Returns true if more expired tickets may remain.
pub fn sweep(tx: &mut Transaction<'_>, now: Timestamp) -> Result<bool> {
    Ok(sweeping::remove::<Uuid>(tx, &ENDED, &REMOVE, now, SWEEP_BATCH)? >= u64::from(SWEEP_BATCH))
}
