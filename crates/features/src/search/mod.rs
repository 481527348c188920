//! The operation `search`, which finds resources and records by their names, among those that the
//! caller can see (rules: records#search). `rank.rs` decides which names match, and in which order.
//!
//! The search reads every name of the organization from the database. It folds and compares the
//! names in this process. So both databases give the same results, and neither needs Unicode
//! functions. Reading is cheap, because no document is decoded. The names of records, steps and
//! manuals, which are many, are columns that the database derives from the document. SQLite reads
//! these columns from an index that contains nothing else. PostgreSQL stores them in the row and
//! need not unpack the document. Portals and brandings are few, so their names are read from the
//! documents.
//!
//! Two alternatives were rejected. The first is a table of folded names that every write of a
//! resource updates. It would save the folding, which is the smaller part of the work. It would
//! need a second row for each record, code in every module, and a migration of existing rows. The
//! second is the databases' full-text indexes. They find whole words only, and the two databases
//! find different words.

mod rank;

use std::collections::HashMap;

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::module::Module;
use engine::operation::{Needs, Operation, OperationName};
use engine::typed;
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Row;
use strum::VariantArray as _;
use uuid::Uuid;

pub use self::rank::FoundType;
use self::rank::{BestHits, Hit, Query};
use crate::records::{RecordKind, find_by_reference, name_patterns};
use crate::scopes::{self, Coverage, EntityType, Target, TargetKind};
use crate::translations::ENGLISH;

/// Finds resources and records by their names.
pub const SEARCH: OperationName<Vec<FoundRow>> = OperationName::new("search");

/// Maximum number of reservations whose guests' names the search compares with the search text. If
/// more guests' names match the patterns of the SQL statement, the search compares only the
/// reservations with the latest check-in.
const MAX_RESERVATIONS: i64 = 500;

store::statements! {
    /// Selects the steps, each with its title in a language. A subquery looks up each title,
    /// because for a join the database may plan to read every text of the organization for each
    /// step. The condition `nickname is not null` makes SQLite use the index.
    STEPS = "select id, nickname, (select t.text from translation_entry t
            where t.organization_id = ?1 and t.translation_id = s.title_id and t.language = ?2)
        from precheck_step s where organization_id = ?1 and nickname is not null";
    /// Selects the manuals that have a nickname.
    MANUALS = "select id, nickname from manual where organization_id = ?1 and nickname is not null";
    /// Selects the categories, each with its title in the language `?2`. The title is null if the
    /// category has no title in this language.
    CATEGORIES = "select id, (select t.text from translation_entry t
            where t.organization_id = ?1 and t.translation_id = c.title_id and t.language = ?2)
        from manual_category c where organization_id = ?1";
    /// Selects the portals that have a name.
    PORTALS = "select id, doc ->> 'name' from portal where organization_id = ?1
        and name_key is not null";
    /// Selects the brandings.
    BRANDINGS = "select id, doc ->> 'name', doc ->> 'nickname' from portal_branding
        where organization_id = ?1";
    /// Selects the newest accessible stays whose guest's name matches a pattern. Each stay has its
    /// guest, its property's name and its check-in date. The inner query reads the matching ids
    /// from an index alone, because usually most names do not match. The outer query then reads
    /// only the documents of these stays.
    RESERVATIONS = "with found as materialized
        (select id, check_in from record where organization_id = ?1 and kind = 'reservation'
            and name_key like ?2 escape '!' and name_key like ?3 escape '!'
            and name_key like ?4 escape '!'
            and (?5 or property_id is null or property_id = any(?6))
            order by check_in desc, id desc limit ?7)
        select r.id, r.doc -> 'guest' ->> 'firstName', r.doc -> 'guest' ->> 'lastName',
            (select p.name from record p where p.organization_id = ?1 and p.kind = 'property'
            and p.id = r.property_id),
            r.check_in
        from found join record r on r.organization_id = ?1 and r.kind = 'reservation'
        and r.id = found.id
        order by r.check_in desc, r.id desc";
    /// Selects accessible stays by id, with the columns of [`RESERVATIONS`].
    THESE_RESERVATIONS = "select r.id, r.doc -> 'guest' ->> 'firstName',
        r.doc -> 'guest' ->> 'lastName',
            (select p.name from record p where p.organization_id = ?1 and p.kind = 'property'
            and p.id = r.property_id),
            r.check_in
        from record r where r.organization_id = ?1 and r.kind = 'reservation' and r.id = any(?2)
            and (?3 or r.property_id is null or r.property_id = any(?4))
        order by r.check_in desc, r.id desc";
    /// Selects the id and the name of each record of the kind `?2`, if the record has a name. The
    /// column `name` is null for records of kinds that cannot be searched.
    RECORDS = "select id, name from record where organization_id = ?1 and kind = ?2
        and name is not null";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Search {
    /// Part of a name, or some of its words in any order; case, accents and hyphens do not matter.
    /// 1 to 200 characters. A stay is also found by booking code, e-mail address, phone number or
    /// id, and a property by id or external reference. A word for a type, such as `group`, `manual`
    /// or `guest`, puts results of that type first.
    #[schemars(length(min = 1, max = 200), extend("x-trimmed" = true))]
    query: String,
    /// Maximum number of results, the best matches first.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50), extend("x-page-size" = true))]
    limit: usize,
}

const fn default_limit() -> usize {
    20
}

/// A result of the search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchResult", example = json!({
    "type": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul 2-1",
}))]
pub struct FoundRow {
    /// Type of the result.
    #[serde(rename = "type")]
    pub found_type: FoundType,
    /// Id of the resource or record.
    pub id: Uuid,
    /// Name of the result: the nickname of a step or manual, the English title of a category, or
    /// the guest, property and check-in date of a reservation.
    pub name: String,
}

impl From<Hit> for FoundRow {
    fn from(hit: Hit) -> Self {
        Self {
            found_type: hit.found_type,
            id: hit.id,
            name: hit.name,
        }
    }
}

/// The registration of this module.
pub static MODULE: Module = Module {
    operations,
    statements: || STATEMENTS.to_vec(),
    subjects: &[(
        "search",
        "Finds steps, manuals, portals and what else has a name.",
    )],
    ..Module::new("search")
};

fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            SEARCH.id(),
            Method::GET,
            "/search",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary(
            "Find steps, manuals, categories, portals, brandings, properties, groups, tags and \
                reservations by name, best match first",
        )
        .tool(
            "search",
            "Find by name",
            "Finds ids by name: steps, manuals, categories, portals, brandings, properties, \
                property groups, tags, and reservations by guest. A word for the sort of thing \
                (\"group\", \"guest\") narrows. Returns [{type, id, name}], best first. Example: \
                {\"query\": \"Eixample group\"}",
        )
        .may_lag()
        .run_as(SEARCH, search),
    ]
}

fn search(context: &mut Context<'_, '_>, input: Search) -> Result<Vec<FoundRow>> {
    let Some(query) = Query::new(&input.query) else {
        return Ok(Vec::new());
    };
    let mut best = BestHits::new(query, input.limit);
    let coverage = Coverage::load(context)?;
    offer_steps(context, &coverage, &mut best)?;
    if context.access.permissions.has(Permission::ViewGuides) {
        offer_manuals(context, &coverage, &mut best)?;
    }
    offer_portals(context, &mut best)?;
    let referred_ids =
        find_by_reference(context, RecordKind::Property, &input.query)?.unwrap_or_default();
    offer_records(context, &coverage, &referred_ids, &mut best)?;
    if context.access.permissions.has(Permission::ViewReservations) {
        let referred_ids =
            find_by_reference(context, RecordKind::Reservation, &input.query)?.unwrap_or_default();
        offer_reservations(context, referred_ids, &mut best)?;
    }
    Ok(best.into_sorted().into_iter().map(FoundRow::from).collect())
}

/// Adds the steps that match the query to `best`. Compares the query with the nickname of each step
/// and with its title in English.
fn offer_steps(
    context: &mut Context<'_, '_>,
    coverage: &Coverage,
    best: &mut BestHits,
) -> Result<()> {
    let assigned = LimitedAssignments::load(context, EntityType::PrecheckStep)?;
    for row in context.rows(&STEPS, values![ENGLISH])? {
        let (id, nickname, title): (_, String, Option<String>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        best.offer(
            FoundType::PrecheckStep,
            id,
            &nickname,
            title.as_deref(),
            || assigned.shows(id, coverage),
        );
    }
    Ok(())
}

fn offer_manuals(
    context: &mut Context<'_, '_>,
    coverage: &Coverage,
    best: &mut BestHits,
) -> Result<()> {
    let assigned = LimitedAssignments::load(context, EntityType::Manual)?;
    for row in context.rows(&MANUALS, [])? {
        let id = row.get(0)?;
        best.offer(FoundType::Manual, id, &row.get::<String>(1)?, None, || {
            assigned.shows(id, coverage)
        });
    }
    for row in context.rows(&CATEGORIES, values![ENGLISH])? {
        if let Some(title) = row.get::<Option<String>>(1)? {
            best.offer(FoundType::ManualCategory, row.get(0)?, &title, None, || {
                true
            });
        }
    }
    Ok(())
}

fn offer_portals(context: &mut Context<'_, '_>, best: &mut BestHits) -> Result<()> {
    for row in context.rows(&PORTALS, [])? {
        best.offer(
            FoundType::Portal,
            row.get(0)?,
            &row.get::<String>(1)?,
            None,
            || true,
        );
    }
    for row in context.rows(&BRANDINGS, [])? {
        let nickname: Option<String> = row.get(2)?;
        best.offer(
            FoundType::PortalBranding,
            row.get(0)?,
            &row.get::<String>(1)?,
            nickname.as_deref(),
            || true,
        );
    }
    Ok(())
}

fn offer_records(
    context: &mut Context<'_, '_>,
    coverage: &Coverage,
    referred_ids: &[Uuid],
    best: &mut BestHits,
) -> Result<()> {
    for kind in TargetKind::VARIANTS.iter().copied() {
        let Some(record_kind) = kind.record() else {
            continue;
        };
        let found_type = found_type(kind);
        for row in context.rows(&RECORDS, values![record_kind.as_ref()])? {
            let (id, name): (Uuid, String) = (row.get(0)?, row.get(1)?);
            if found_type != FoundType::Property || !referred_ids.contains(&id) {
                best.offer(found_type, id, &name, None, || {
                    coverage.is_visible(kind, id)
                });
            } else if coverage.is_visible(kind, id) {
                best.add_exact(found_type, id, &name);
            }
        }
    }
    Ok(())
}

/// Returns the type that a search result has if it is a target of this kind.
const fn found_type(kind: TargetKind) -> FoundType {
    match kind {
        TargetKind::Property => FoundType::Property,
        TargetKind::PropertyGroup => FoundType::PropertyGroup,
        TargetKind::Tag => FoundType::Tag,
        TargetKind::Portal => FoundType::Portal,
    }
}

/// Adds to `best` the reservations in `referred_ids`, to which the search text refers directly, for
/// example by a booking code. Also compares the search text with the guests' names of at most
/// [`MAX_RESERVATIONS`] other reservations, and adds those that match.
fn offer_reservations(
    context: &mut Context<'_, '_>,
    referred_ids: Vec<Uuid>,
    best: &mut BestHits,
) -> Result<()> {
    let [all, ids] = context.property_scope().parameters();
    if !referred_ids.is_empty() {
        let params = values![referred_ids.clone(), all.clone(), ids.clone()];
        for row in context.rows(&THESE_RESERVATIONS, params)? {
            let stay = NamedStay::read(&row)?;
            best.add_exact(FoundType::Reservation, stay.id, &stay.name);
        }
    }
    let [first, second, rest] = name_patterns(best.query_for(FoundType::Reservation).text());
    let params = values![first, second, rest, all, ids, MAX_RESERVATIONS];
    for row in context.rows(&RESERVATIONS, params)? {
        let stay = NamedStay::read(&row)?;
        if !referred_ids.contains(&stay.id) {
            best.offer(
                FoundType::Reservation,
                stay.id,
                &stay.name,
                Some(&stay.reversed_guest),
                || true,
            );
        }
    }
    Ok(())
}

/// A stay, and the names by which it can be found.
struct NamedStay {
    id: Uuid,
    /// The guest, the property and the check-in date, which together identify the stay for a
    /// reader.
    name: String,
    /// The guest's name, with the family name first.
    reversed_guest: String,
}

impl NamedStay {
    fn read(row: &Row) -> Result<Self> {
        let names: [Option<String>; 2] = [row.get(1)?, row.get(2)?];
        let [first, last] = names.map(|name| typed::trim(&name.unwrap_or_default()).to_owned());
        let joined = |names: [&str; 2]| names.join(" ").trim().to_owned();
        let guest = Some(joined([&first, &last])).filter(|guest| !guest.is_empty());
        let (flat, check_in): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let name = [guest, flat, check_in]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" · ");
        Ok(Self {
            id: row.get(0)?,
            name,
            reversed_guest: joined([&last, &first]),
        })
    }
}

/// The assignments of the steps or of the manuals, for a limited caller. The map is empty for an
/// unlimited caller, who sees all of them.
struct LimitedAssignments(HashMap<Uuid, Vec<Target>>);

impl LimitedAssignments {
    fn load(context: &mut Context<'_, '_>, entity_type: EntityType) -> Result<Self> {
        let is_limited = context.property_scope().is_limited();
        Ok(Self(if is_limited {
            scopes::all_targets(context, entity_type)?
        } else {
            HashMap::new()
        }))
    }

    /// Returns whether a limited caller can see a resource: it is assigned to one of the caller's
    /// properties, or to nothing (rules: access#limited-callers, 5).
    fn shows(&self, id: Uuid, coverage: &Coverage) -> bool {
        self.0
            .get(&id)
            .is_none_or(|targets| coverage.combined_coverage(targets).is_inside)
    }
}
