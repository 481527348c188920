//! Operations of the platform on organizations and their settings. `erasure.rs` deletes the rows of
//! erased organizations.

use engine::access::Settings;
use engine::audit::Audits;
use engine::context::{Context, System};
use engine::error::{Error, Result};
use engine::field::{Country, Currency, Field, Label, Language, StoredAs, TimeZone};
use engine::format;
use engine::moment::Moment;
use engine::operation::{Listing, Nothing, Operation, Page, PageLimits, RaisedRevision};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Json, Row};
use uuid::Uuid;

use super::audited;
use super::credentials::CredentialSuccess;
use crate::records::release_domains;
use crate::{guest, translations};

store::statements! {
    /// Creates an organization or replaces its settings; returns no row while the organization is
    /// being erased.
    PUT_ORGANIZATION = "insert into organization (id, revision, created_at, updated_at, doc)
        values (?1, ?4, ?2, ?2, ?3)
        on conflict (id) do update set updated_at = excluded.updated_at, doc = excluded.doc
        where organization.erased_at is null returning id, doc, created_at, updated_at";
    /// Selects an organization by its id.
    ORGANIZATION = "select id, doc, created_at, updated_at from organization where id = ?1
        and erased_at is null";
    /// Selects a page of the organizations that are not erased, ordered by id.
    LIST = "select id, doc, created_at, updated_at from organization where erased_at is null
        order by id limit ?1 offset ?2";
    /// Counts the organizations that are not erased.
    COUNT = "select count(*) from organization where erased_at is null";
    /// Marks an organization as erased. From then on no query finds it, and the sweep deletes its
    /// rows.
    ERASE = "update organization set erased_at = ?2 where id = ?1 and erased_at is null";
}

/// The page limits of the platform's lists.
pub(super) const PAGES: PageLimits = PageLimits {
    default: 50,
    max: 200,
};

/// The language that every organization must have.
const ENGLISH: &str = "en";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({
    "name": "Casa Mar",
    "country": "ES",
    "languages": ["en", "es", "fr"],
}))]
struct PutOrganization {
    /// Id of the organization, chosen by the caller. A known id changes its organization, and an
    /// unknown id creates an organization.
    organization_id: Uuid,
    /// Name of the organization; may be empty. Required for a new organization; otherwise, null or
    /// left out means no change.
    #[serde(default)]
    name: Option<Label>,
    /// Country whose numbering plan applies to phone numbers without a prefix, as a two-letter
    /// code. Default `US` for a new organization; otherwise, null or left out means no change.
    #[serde(default)]
    country: Option<Country>,
    /// Languages that guest-facing texts are translated into, as BCP 47 tags; replaces the whole
    /// list. English is always included. Default for a new organization: English alone; otherwise,
    /// null or left out means no change.
    #[serde(default)]
    #[schemars(length(max = 100))]
    languages: Option<Vec<Language>>,
    /// Whether members must have enrolled in two-factor authentication for their OAuth tokens to
    /// work. Default `false` for a new organization; otherwise, null or left out means no change.
    #[serde(default)]
    is_two_factor_required: Option<bool>,
    /// Maximum total size of guests' files, in bytes. Null sets the limit of the service; left out
    /// means no change.
    #[serde(default)]
    #[schemars(range(max = 1_125_899_906_842_624_i64))]
    upload_limit_bytes: Field<Option<u64>>,
    /// Currency of amounts for which neither the record nor the payment account has a currency, as
    /// an ISO 4217 code in upper or lower case. Null sets the currency of the country; left out
    /// means no change.
    #[serde(default)]
    currency: Field<Option<Currency>>,
    /// Time zone of flats that are added by hand without a time zone, such as `Europe/Madrid`.
    /// Null: each of these flats needs its own time zone; left out means no change.
    #[serde(default)]
    timezone: Field<Option<TimeZone>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetOrganization {
    /// Id of the organization to read.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EraseOrganization {
    /// Id of the organization to erase, with all its data. An unknown id is no error.
    organization_id: Uuid,
}

/// An organization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OrganizationView {
    id: Uuid,
    #[serde(flatten)]
    settings: Settings,
    created_at: Moment,
    updated_at: Moment,
}

impl OrganizationView {
    /// Reads an organization from the columns `id, doc, created_at, updated_at`.
    fn from_row(row: &Row) -> Result<Self> {
        let Json(mut settings): Json<Settings> = row.get(1)?;
        settings.currency = Some(settings.currency().to_owned());
        Ok(Self {
            id: row.get(0)?,
            settings,
            created_at: Moment(row.get(2)?),
            updated_at: Moment(row.get(3)?),
        })
    }
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("listOrganizations", Method::GET, "/organizations")
            .summary("List the organizations, by id")
            .pages_system(PAGES, list),
        Operation::platform(
            "putOrganization",
            Method::PUT,
            "/organizations/{organizationId}",
        )
        .summary("Create an organization, or change the settings that are named")
        .audited(Audits::changes(audited::audited_organization))
        .run_system(put),
        Operation::platform(
            "getOrganization",
            Method::GET,
            "/organizations/{organizationId}",
        )
        .summary("Read an organization")
        .run(get),
        Operation::platform(
            "eraseOrganization",
            Method::DELETE,
            "/organizations/{organizationId}",
        )
        .summary("Erase an organization: everything of it is gone from every answer at once")
        .run_system(erase),
    ]
}

fn list(system: &mut System<'_, '_>, _: Nothing, page: Page) -> Result<Listing<OrganizationView>> {
    let total = system
        .tx
        .row(&COUNT, &[])?
        .map_or(Ok(0), |row| row.get(0))?;
    let rows = system.tx.rows(&LIST, &values![page.limit, page.offset])?;
    Ok(Listing {
        items: rows
            .iter()
            .map(OrganizationView::from_row)
            .collect::<Result<_>>()?,
        total,
    })
}

fn put(system: &mut System<'_, '_>, input: PutOrganization) -> Result<OrganizationView> {
    let id = input.organization_id;
    let before = system
        .lock(id, RaisedRevision::Configuration)?
        .map(|locked| locked.organization.settings);
    let former_languages = before
        .as_ref()
        .map(|before| before.languages.clone())
        .unwrap_or_default();
    let settings = settings(before.clone(), input)?;
    if before.is_some_and(|before| before == settings) {
        let row = system.tx.row(&ORGANIZATION, &values![id])?;
        return OrganizationView::from_row(
            &row.ok_or_else(|| Error::internal("the locked organization does not exist"))?,
        );
    }
    save(system, id, &former_languages, &settings)
}

/// Creates an organization. Guests can read its texts in English and in the languages `tags`.
/// Returns the id of the organization.
pub fn create_organization(
    system: &mut System<'_, '_>,
    name: String,
    country: Country,
    timezone: Option<String>,
    tags: Vec<Language>,
) -> Result<Uuid> {
    let id = system.new_id();
    let settings = Settings {
        name,
        country,
        timezone,
        languages: languages(tags),
        ..Settings::default()
    };
    save(system, id, &[], &settings)?;
    Ok(id)
}

/// Writes an organization. Queues the translation of its texts into languages that are not among
/// `former_languages`, and cancels translations into removed languages.
fn save(
    system: &mut System<'_, '_>,
    id: Uuid,
    former_languages: &[String],
    settings: &Settings,
) -> Result<OrganizationView> {
    let doc = store::Value::json(settings)?;
    // The revision is random, because the new organization may have the id of an erased
    // organization. A node may still have cached responses of the erased organization. The random
    // revision differs from theirs, so the node does not return them.
    let revision = system.app_state.ids.revision_increment();
    let row = system
        .tx
        .row(&PUT_ORGANIZATION, &values![id, system.now, doc, revision])?;
    let row = row.ok_or_else(|| {
        Error::conflict(
            "The organization is being erased; it can be created again when the erasure is \
                complete.",
        )
    })?;
    let view = OrganizationView::from_row(&row)?;
    translations::follow_languages(system, id, former_languages, &view.settings.languages)?;
    Ok(view)
}

/// Returns the new settings: the current settings, with the sent fields replaced.
fn settings(before: Option<Settings>, input: PutOrganization) -> Result<Settings> {
    let PutOrganization {
        name,
        country,
        languages: tags,
        is_two_factor_required,
        upload_limit_bytes,
        currency,
        timezone,
        ..
    } = input;
    if before.is_none() && name.is_none() {
        return Err(Error::invalid(
            &["name"],
            "is required to create an organization",
        ));
    }
    let mut settings = before.unwrap_or_default();
    settings.name = name.map_or(settings.name, |name| name.0);
    settings.country = country.unwrap_or(settings.country);
    settings.languages = tags.map_or(settings.languages, languages);
    settings.is_two_factor_required =
        is_two_factor_required.unwrap_or(settings.is_two_factor_required);
    if let Some(limit) = upload_limit_bytes.sent() {
        settings.upload_limit_bytes = *limit;
    }
    if let Some(currency) = currency.sent() {
        settings.currency = currency.clone().stored();
    }
    if let Some(timezone) = timezone.sent() {
        settings.timezone = timezone.clone().stored();
    }
    Ok(settings)
}

/// Marks the organization as erased, queues the files of its guests for removal, and releases its
/// domains. Succeeds without effect if the organization is unknown or is being erased already.
fn erase(system: &mut System<'_, '_>, input: EraseOrganization) -> Result<CredentialSuccess> {
    if system
        .tx
        .execute(&ERASE, &values![input.organization_id, system.now])?
        > 0
    {
        guest::remove_files_of(system, input.organization_id)?;
        release_domains(system, input.organization_id)?;
    }
    Ok(CredentialSuccess { success: true })
}

fn get(context: &mut Context<'_, '_>, _: GetOrganization) -> Result<OrganizationView> {
    let row = context
        .row(&ORGANIZATION, [])?
        .ok_or_else(|| Error::not_found("Organization"))?;
    OrganizationView::from_row(&row)
}

/// Returns the languages in canonical case, without duplicates and with English.
fn languages(tags: Vec<Language>) -> Vec<String> {
    let mut languages = vec![ENGLISH.to_owned()];
    for tag in tags.iter().filter_map(|tag| format::language(tag)) {
        if !languages.contains(&tag) {
            languages.push(tag);
        }
    }
    languages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_always_a_language_of_an_organization() {
        let tags =
            |texts: &[&str]| languages(texts.iter().map(|text| Language((*text).into())).collect());
        assert_eq!(tags(&[]), ["en"]);
        assert_eq!(tags(&["es", "PT-br", "es"]), ["en", "es", "pt-BR"]);
    }
}
