//! The set-up of the first organization (rules: organizations#first-start).
//!
//! A person with a set-up link creates the organization and becomes its first member. A link is
//! good for one hour, and only while there is no organization.

use std::collections::BTreeSet;

use engine::access::{Access, Member, Permission, hash, token};
use engine::audit::{self, Actor, AuditEntryRow, Change, Target};
use engine::context::{Context, RaisedRevision, System};
use engine::error::Result;
use engine::field::{Country, Language};
use engine::format;
use engine::pipeline::Service;
use engine::values;
use jiff::{SignedDuration, Timestamp};
use store::{Transaction, Value};
use strum::VariantArray as _;
use uuid::Uuid;

use super::addresses::{SETUP, with_ticket};
use super::form::sent;
use super::refusal::SignInRefusal;
use super::session::{self, SignInMethod};
use crate::platform::{create_organization, save_member};

store::statements! {
    /// Any organization.
    ANY = "select id from organization where erased_at is null limit 1";
    /// A new ticket.
    INSERT = "insert into setup_ticket (token_hash, expires_at) values (?1, ?2)";
    /// Deletes expired tickets.
    FORGET = "delete from setup_ticket where expires_at <= ?1";
    /// A ticket by the hash of its token.
    BY_TOKEN = "select token_hash from setup_ticket where token_hash = ?1 and expires_at > ?2";
    /// Deletes all tickets. Of two concurrent set-ups, the second finds no ticket.
    BURN = "delete from setup_ticket returning token_hash, expires_at";
}

/// Lifetime of a ticket.
const GOOD_FOR: SignedDuration = SignedDuration::from_hours(1);
/// The prefix of a ticket's token.
const PREFIX: &str = "su_";
/// Maximum length of a name, in characters.
const LONGEST: usize = 200;

/// The values that a person typed into the form.
#[derive(Debug, Clone, Default)]
pub(super) struct SetupInput {
    pub(super) organization: String,
    pub(super) country: String,
    pub(super) timezone: String,
    pub(super) languages: Vec<String>,
    pub(super) name: String,
    pub(super) email: String,
}

/// A reason why a field is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidField {
    Required,
    Country,
    Timezone,
    Email,
    TooLong,
}

impl SetupInput {
    /// Reads the fields of a form. Blanks around a value do not count.
    pub(super) fn of(fields: &[(String, String)]) -> Self {
        let text = |name: &str| sent(fields, name).unwrap_or_default().trim().to_owned();
        let languages = fields.iter().filter(|(name, _)| name == "languages");
        Self {
            organization: text("organization"),
            country: text("country").to_ascii_uppercase(),
            timezone: text("timezone"),
            languages: languages.map(|(_, tag)| tag.clone()).collect(),
            name: text("name"),
            email: text("email"),
        }
    }

    /// Returns the fields that are refused, in the order of the form.
    pub(super) fn wrong(&self) -> Vec<(&'static str, InvalidField)> {
        let name = |text: &str| {
            if text.is_empty() {
                Some(InvalidField::Required)
            } else if text.chars().count() > LONGEST || text.contains('\0') {
                Some(InvalidField::TooLong)
            } else {
                None
            }
        };
        let formatted = |text: &str, format: &str, wrong: InvalidField| {
            if text.is_empty() {
                return Some(InvalidField::Required);
            }
            let known = format::STATIC.iter().find(|known| known.name == format);
            (!known.is_some_and(|known| (known.holds)(text))).then_some(wrong)
        };
        let judged = [
            ("organization", name(&self.organization)),
            (
                "country",
                formatted(&self.country, "country", InvalidField::Country),
            ),
            (
                "timezone",
                formatted(&self.timezone, "time-zone", InvalidField::Timezone),
            ),
            ("name", name(&self.name)),
            (
                "email",
                formatted(&self.email, "email", InvalidField::Email),
            ),
        ];
        judged
            .into_iter()
            .filter_map(|(field, wrong)| Some((field, wrong?)))
            .collect()
    }
}

/// Creates a set-up link, or returns `None` if there is an organization.
pub async fn link(service: &Service) -> Result<Option<String>> {
    let token = token(PREFIX, &service.app_state.ids);
    let (hashed, now) = (hash(&token), service.clock.now());
    let offer = move |tx: &mut Transaction<'_>| {
        if tx.row(&ANY, &[])?.is_some() {
            return Ok(false);
        }
        let expires_at = now.checked_add(GOOD_FOR).unwrap_or(Timestamp::MAX);
        tx.execute(&FORGET, &values![now])?;
        tx.execute(&INSERT, &values![Value::Bytes(hashed), expires_at])?;
        Ok::<_, engine::error::Error>(true)
    };
    let is_offered = service.store.write(offer).await?;
    let url = format!(
        "{}{}",
        service.app_state.public_url,
        with_ticket(SETUP, &token)
    );
    Ok(is_offered.then_some(url))
}

/// Refuses a ticket that is not good.
pub(super) async fn check(service: &Service, ticket: &str) -> Result<(), SignInRefusal> {
    let (hashed, now) = (hash(ticket), service.clock.now());
    let find = move |tx: &mut Transaction<'_>| {
        let is_good = tx
            .row(&BY_TOKEN, &values![Value::Bytes(hashed), now])?
            .is_some();
        Ok::<_, SignInRefusal>(is_good && tx.row(&ANY, &[])?.is_none())
    };
    if service.store.read(find).await? {
        Ok(())
    } else {
        Err(SignInRefusal::UsedSetupLink)
    }
}

/// Creates the organization and its first member, and begins a session of the member. Returns its
/// token, and the ids of both.
pub(super) async fn make(
    service: &Service,
    ticket: &str,
    typed: SetupInput,
    request_id: Uuid,
) -> Result<(String, Uuid, Uuid), SignInRefusal> {
    let (hashed, now, app_state) = (hash(ticket), service.clock.now(), service.app_state.clone());
    let make = move |tx: &mut Transaction<'_>| {
        burn(tx, &hashed, now)?;
        let mut system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let languages = typed.languages.into_iter().map(Language).collect();
        let organization = create_organization(
            &mut system,
            typed.organization,
            Country(typed.country),
            Some(typed.timezone),
            languages,
        )?;
        let access = Access::platform();
        let mut context =
            Context::for_writing(system, organization, &access, RaisedRevision::Configuration)?;
        let member = Member {
            name: typed.name,
            email: typed.email,
            permissions: Permission::VARIANTS.to_vec(),
            property_ids: None,
            is_active: true,
            is_two_factor_enrolled: false,
        };
        let id = context.new_id();
        save_member(&mut context, id, &member, now)?;
        note(&mut context, id, request_id)?;
        let entrance = SignInMethod {
            by: "setup",
            request_id,
        };
        let session = session::begin(&mut context, (id, &member), entrance)?;
        Ok((session, organization, id))
    };
    service.store.write(make).await
}

/// Deletes all tickets. Fails if this one is not good, or if there is an organization.
fn burn(tx: &mut Transaction<'_>, hashed: &[u8], now: Timestamp) -> Result<(), SignInRefusal> {
    let mut is_good = false;
    for row in tx.rows(&BURN, &[])? {
        let (known, until): (Vec<u8>, Timestamp) = (row.get(0)?, row.get(1)?);
        is_good |= known == hashed && until > now;
    }
    if is_good && tx.row(&ANY, &[])?.is_none() {
        Ok(())
    } else {
        Err(SignInRefusal::UsedSetupLink)
    }
}

/// Writes the audit entry of a set-up.
fn note(context: &mut Context<'_, '_>, member: Uuid, request_id: Uuid) -> Result<()> {
    let organization = context.organization.clone();
    let name = organization.settings.name.clone();
    let changes = vec![
        Change::to("name", name.clone().into()),
        Change::to("country", organization.settings.country.0.clone().into()),
    ];
    let entry = AuditEntryRow {
        actor: Actor::session(member),
        operation: "setUp",
        target: Target::new("organization", Some(organization.id), Some(name)),
        changes,
        request_id,
        at: context.now(),
    };
    audit::write(context, entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(changes: &[(&str, &str)]) -> SetupInput {
        let mut fields = vec![
            ("organization", "Casa Mar"),
            ("country", "es"),
            ("timezone", "Europe/Madrid"),
            ("languages", "es"),
            ("languages", "fr"),
            ("name", " Marta "),
            ("email", "marta@example.com"),
        ];
        for (name, value) in changes {
            fields.retain(|(known, _)| known != name);
            fields.push((name, value));
        }
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        SetupInput::of(&fields)
    }

    #[test]
    fn fields_are_read_without_blanks_around_them() {
        let typed = typed(&[]);
        assert_eq!(
            (typed.name.as_str(), typed.country.as_str()),
            ("Marta", "ES")
        );
        assert_eq!(typed.languages, ["es", "fr"]);
        assert_eq!(typed.wrong(), []);
    }

    #[test]
    fn each_wrong_field_is_named_once() {
        let long = "x".repeat(LONGEST + 1);
        for (field, value, wrong) in [
            ("organization", " ", InvalidField::Required),
            ("organization", long.as_str(), InvalidField::TooLong),
            ("country", "Spain", InvalidField::Country),
            ("timezone", "Madrid", InvalidField::Timezone),
            ("email", "marta", InvalidField::Email),
            ("name", "", InvalidField::Required),
        ] {
            assert_eq!(typed(&[(field, value)]).wrong(), [(field, wrong)]);
        }
    }
}
