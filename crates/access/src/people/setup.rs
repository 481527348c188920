//! The set-up of the first organization (rules: organizations#first-start).
//!
//! `vestibule setup-link` prints a set-up link. A person with this link creates the organization
//! and becomes its first member. A link works for one hour, and only until an organization exists.
//! The page is in `setup_page.rs`.

use std::collections::BTreeSet;

use engine::access::{Access, Member, Permission, hash, token};
use engine::audit::{self, Actor, AuditEntryRow, Change, Target};
use engine::context::{Context, RaisedRevision, System};
use engine::error::Result;
use engine::field::{Country, Language};
use engine::format;
use engine::pipeline::Service;
use engine::values;
use features::platform::{create_organization, save_member};
use jiff::{SignedDuration, Timestamp};
use store::{Transaction, Value};
use strum::VariantArray as _;
use uuid::Uuid;
use vestibule_http::browser::single_value;

use super::addresses::{SETUP, with_ticket};
use super::refusal::SignInError;
use super::session::{self, SignInMethod};

store::statements! {
    /// Selects an organization that is not erased. The set-up is possible only if this statement
    /// returns no row.
    ANY = "select id from organization where erased_at is null limit 1";
    /// Inserts a set-up ticket, with the hash of the secret in a set-up link.
    INSERT = "insert into setup_ticket (token_hash, expires_at) values (?1, ?2)";
    /// Deletes expired set-up tickets.
    FORGET = "delete from setup_ticket where expires_at <= ?1";
    /// Selects the set-up ticket with a token hash, if it has not expired.
    BY_TOKEN = "select token_hash from setup_ticket where token_hash = ?1 and expires_at > ?2";
    /// Deletes all set-up tickets. So if two set-ups run at the same time, the second finds no
    /// ticket and fails.
    BURN = "delete from setup_ticket returning token_hash, expires_at";
}

/// Lifetime of a set-up ticket.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// The prefix of a set-up ticket's token.
const PREFIX: &str = "su_";
/// Maximum length of the organization's name and of the member's name, in characters.
const MAX_NAME_LENGTH: usize = 200;

/// The values that a person typed into the set-up form.
#[derive(Debug, Clone, Default)]
pub(super) struct SetupInput {
    pub(super) organization: String,
    pub(super) country: String,
    pub(super) timezone: String,
    pub(super) languages: Vec<String>,
    pub(super) name: String,
    pub(super) email: String,
}

/// The reason why the value of a field in the set-up form is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidField {
    Required,
    Country,
    Timezone,
    Email,
    TooLong,
}

impl SetupInput {
    /// Reads the fields of the set-up form. Removes blanks around the values.
    pub(super) fn of(fields: &[(String, String)]) -> Self {
        let text = |name: &str| {
            single_value(fields, name)
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
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

    /// Returns each invalid field and its error, in the order of the form.
    pub(super) fn field_errors(&self) -> Vec<(&'static str, InvalidField)> {
        let name = |text: &str| {
            if text.is_empty() {
                Some(InvalidField::Required)
            } else if text.chars().count() > MAX_NAME_LENGTH || text.contains('\0') {
                Some(InvalidField::TooLong)
            } else {
                None
            }
        };
        let formatted = |text: &str, format: &str, error: InvalidField| {
            if text.is_empty() {
                return Some(InvalidField::Required);
            }
            let format = format::STATIC.iter().find(|known| known.name == format);
            (!format.is_some_and(|format| (format.accepts)(text))).then_some(error)
        };
        let checks = [
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
        checks
            .into_iter()
            .filter_map(|(field, error)| Some((field, error?)))
            .collect()
    }
}

/// Creates a set-up link. Returns `None` if an organization exists.
pub async fn link(service: &Service) -> Result<Option<String>> {
    let token = token(PREFIX, &service.app_state.ids);
    let (hashed, now) = (hash(&token), service.clock.now());
    let create_ticket = move |tx: &mut Transaction<'_>| {
        if tx.row(&ANY, &[])?.is_some() {
            return Ok(false);
        }
        let expires_at = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX);
        tx.execute(&FORGET, &values![now])?;
        tx.execute(&INSERT, &values![Value::Bytes(hashed), expires_at])?;
        Ok::<_, engine::error::Error>(true)
    };
    let is_created = service.store.write(create_ticket).await?;
    let url = format!(
        "{}{}",
        service.app_state.public_url,
        with_ticket(SETUP, &token)
    );
    Ok(is_created.then_some(url))
}

/// Returns an error if a set-up ticket is unknown or expired, or if an organization exists.
pub(super) async fn check_setup_ticket(service: &Service, ticket: &str) -> Result<(), SignInError> {
    let (hashed, now) = (hash(ticket), service.clock.now());
    let find = move |tx: &mut Transaction<'_>| {
        let is_valid = tx
            .row(&BY_TOKEN, &values![Value::Bytes(hashed), now])?
            .is_some();
        Ok::<_, SignInError>(is_valid && tx.row(&ANY, &[])?.is_none())
    };
    if service.store.read(find).await? {
        Ok(())
    } else {
        Err(SignInError::InvalidSetupLink)
    }
}

/// Creates the organization and its first member, and begins a session of the member. Returns the
/// token of the session, the id of the organization and the id of the member.
pub(super) async fn set_up_organization(
    service: &Service,
    ticket: &str,
    input: SetupInput,
    request_id: Uuid,
) -> Result<(String, Uuid, Uuid), SignInError> {
    let (hashed, now, app_state) = (hash(ticket), service.clock.now(), service.app_state.clone());
    let make = move |tx: &mut Transaction<'_>| {
        use_ticket(tx, &hashed, now)?;
        let mut system = System {
            tx,
            now,
            app_state: &app_state,
            wake_signals: BTreeSet::new(),
        };
        let languages = input.languages.into_iter().map(Language).collect();
        let organization = create_organization(
            &mut system,
            input.organization,
            Country(input.country),
            Some(input.timezone),
            languages,
        )?;
        let access = Access::platform();
        let mut context =
            Context::for_writing(system, organization, &access, RaisedRevision::Configuration)?;
        let member = Member {
            name: input.name,
            email: input.email,
            permissions: Permission::VARIANTS.to_vec(),
            property_ids: None,
            is_active: true,
            is_two_factor_enrolled: false,
        };
        let id = context.new_id();
        save_member(&mut context, id, &member, now)?;
        write_audit_entry(&mut context, id, request_id)?;
        let method = SignInMethod {
            by: "setup",
            request_id,
        };
        let session = session::begin(&mut context, (id, &member), method)?;
        Ok((session, organization, id))
    };
    service.store.write(make).await
}

/// Redeems a set-up ticket. Deletes all set-up tickets, because the set-up happens only once.
/// Returns an error if the redeemed ticket is unknown or expired, or if an organization exists.
fn use_ticket(tx: &mut Transaction<'_>, hashed: &[u8], now: Timestamp) -> Result<(), SignInError> {
    let mut is_valid = false;
    for row in tx.rows(&BURN, &[])? {
        let (token_hash, expires_at): (Vec<u8>, Timestamp) = (row.get(0)?, row.get(1)?);
        is_valid |= token_hash == hashed && expires_at > now;
    }
    if is_valid && tx.row(&ANY, &[])?.is_none() {
        Ok(())
    } else {
        Err(SignInError::InvalidSetupLink)
    }
}

/// Writes the audit entry of a set-up.
fn write_audit_entry(context: &mut Context<'_, '_>, member: Uuid, request_id: Uuid) -> Result<()> {
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

    fn input_with(changes: &[(&str, &str)]) -> SetupInput {
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
        let input = input_with(&[]);
        assert_eq!(
            (input.name.as_str(), input.country.as_str()),
            ("Marta", "ES")
        );
        assert_eq!(input.languages, ["es", "fr"]);
        assert_eq!(input.field_errors(), []);
    }

    #[test]
    fn each_wrong_field_is_named_once() {
        let long = "x".repeat(MAX_NAME_LENGTH + 1);
        for (field, value, wrong) in [
            ("organization", " ", InvalidField::Required),
            ("organization", long.as_str(), InvalidField::TooLong),
            ("country", "Spain", InvalidField::Country),
            ("timezone", "Madrid", InvalidField::Timezone),
            ("email", "marta", InvalidField::Email),
            ("name", "", InvalidField::Required),
        ] {
            assert_eq!(
                input_with(&[(field, value)]).field_errors(),
                [(field, wrong)]
            );
        }
    }
}
