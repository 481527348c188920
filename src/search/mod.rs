//! search: what the caller can see, found by name (spec: Pagination; contract: Search).
//!
//! Every name of the organization is read, folded and compared here, so that both databases find the same and neither needs
//! a word of Unicode. What makes that cheap is that no document is decoded: the names of records, steps and manuals, of which
//! there are many, are columns that the database derives from the document itself. SQLite keeps them in an index that holds
//! nothing else and reads that alone; PostgreSQL stores them in the row and need not unpack the document beside them. Portals
//! and brandings are few.
//!
//! A table of folded names, written with every resource, would save the folding, which is the smaller part, and cost a second
//! row a record, code in every chapter, and a way to fold what is there already. The databases' own full-text indexes find
//! words, not parts of words, and not the same ones.

mod rank;

use std::collections::HashMap;

use engine::access::Permission;
use engine::chapter::Chapter;
use engine::context::Context;
use engine::error::Result;
use engine::operation::{Needs, Operation};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use self::rank::{Best, FoundType, Hit, Query};
use crate::records::pattern;
use crate::scopes::{self, Coverage, EntityType, Target, TargetKind};
use crate::translations::ENGLISH;

/// Reservations that are looked at: of a name that more guests have, the newest stays.
const MOST_RESERVATIONS: i64 = 500;

store::statements! {
    /// The steps, each with its title in a language, looked up one by one: a join may be planned to read every text of the
    /// organization for each. That a nickname is never null leads SQLite to the index.
    STEPS = "select id, nickname, (select t.text from translation_entry t
            where t.organization_id = ?1 and t.translation_id = s.title_id and t.language = ?2)
        from precheck_step s where organization_id = ?1 and nickname is not null";
    /// The manuals.
    MANUALS = "select id, nickname from manual where organization_id = ?1 and nickname is not null";
    /// The categories, each with its title in a language.
    CATEGORIES = "select id, (select t.text from translation_entry t
            where t.organization_id = ?1 and t.translation_id = c.title_id and t.language = ?2)
        from manual_category c where organization_id = ?1";
    /// The portals that have a name.
    PORTALS = "select id, doc ->> 'name' from portal where organization_id = ?1 and name_key is not null";
    /// The brandings.
    BRANDINGS = "select id, doc ->> 'name', doc ->> 'nickname' from portal_branding where organization_id = ?1";
    /// The newest stays within reach whose guest's name fits a pattern, each with its guest, its property's name and its check-in. Which
    /// ones is read from an index alone, and their documents behind that: mostly there are very many whose names do not fit.
    RESERVATIONS = "with found as materialized (select id, check_in from record where organization_id = ?1 and kind = 'reservation'
            and name_key like ?2 escape '!' and (?3 or property_id is null or property_id = any(?4))
            order by check_in desc, id desc limit ?5)
        select r.id, r.doc -> 'guest' ->> 'firstName', r.doc -> 'guest' ->> 'lastName',
            (select p.name from record p where p.organization_id = ?1 and p.kind = 'property' and p.id = r.property_id),
            r.check_in
        from found join record r on r.organization_id = ?1 and r.kind = 'reservation' and r.id = found.id
        order by r.check_in desc, r.id desc";
    /// The records of a kind. Those of kinds that are not searched have no name here.
    RECORDS = "select id, name from record where organization_id = ?1 and kind = ?2 and name is not null";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Search {
    /// Part of a name or some words of it, in any order, case and spelling of hyphens and accents; 1 to 200 characters. A word for the
    /// sort of thing, such as `group`, `manual` or `guest`, puts things of that sort first.
    #[schemars(length(min = 1, max = 200), extend("x-trimmed" = true))]
    query: String,
    /// How many results at the most, the best matches first.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
}

const fn default_limit() -> usize {
    20
}

/// Something found by its name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchResult", example = json!({
    "type": "property", "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul 2-1",
}))]
struct Found {
    /// What it is.
    #[serde(rename = "type")]
    found_type: FoundType,
    /// Which one.
    id: Uuid,
    /// Its name: the nickname of a step or manual, the English title of a category; of a reservation guest, property and check-in.
    name: String,
}

impl From<Hit> for Found {
    fn from(hit: Hit) -> Self {
        Self { found_type: hit.found_type, id: hit.id, name: hit.name }
    }
}

/// Search.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations,
    statements: || STATEMENTS.to_vec(),
    subjects: &[("search", "Finds steps, manuals, portals and what else has a name.")],
    ..Chapter::new("search")
};

fn operations() -> Vec<Operation> {
    vec![
        Operation::public("search", Method::GET, "/search", Needs::Permission(Permission::ViewProperties))
            .summary(
                "Find steps, manuals, categories, portals, brandings, properties, groups, tags and reservations by name, best match first",
            )
            .tool(
                "search",
                "Find by name",
                "Finds ids by name: steps, manuals, categories, portals, brandings, properties, property groups, tags, and \
                    reservations by guest. A word for the sort of thing (\"group\", \"guest\") narrows. Returns [{type, id, name}], best first. Example: {\"query\": \
                    \"Eixample group\"}",
            )
            .may_lag()
            .run(search),
    ]
}

fn search(context: &mut Context<'_, '_>, input: Search) -> Result<Vec<Found>> {
    let Some(query) = Query::new(&input.query) else { return Ok(Vec::new()) };
    let mut best = Best::new(query, input.limit);
    let coverage = Coverage::load(context)?;
    offer_steps(context, &coverage, &mut best)?;
    if context.access.permissions.has(Permission::ViewGuides) {
        offer_manuals(context, &coverage, &mut best)?;
    }
    offer_portals(context, &mut best)?;
    offer_records(context, &coverage, &mut best)?;
    if context.access.permissions.has(Permission::ViewReservations) {
        offer_reservations(context, &mut best)?;
    }
    Ok(best.into_sorted().into_iter().map(Found::from).collect())
}

/// Steps go by their nickname, and by the title that guests see.
fn offer_steps(context: &mut Context<'_, '_>, coverage: &Coverage, best: &mut Best) -> Result<()> {
    let assigned = Assigned::load(context, EntityType::PrecheckStep)?;
    for row in context.rows(&STEPS, values![ENGLISH])? {
        let (id, nickname, title): (_, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        best.offer(FoundType::PrecheckStep, id, &nickname, title.as_deref(), || assigned.shows(id, coverage));
    }
    Ok(())
}

fn offer_manuals(context: &mut Context<'_, '_>, coverage: &Coverage, best: &mut Best) -> Result<()> {
    let assigned = Assigned::load(context, EntityType::Manual)?;
    for row in context.rows(&MANUALS, [])? {
        let id = row.get(0)?;
        best.offer(FoundType::Manual, id, &row.get::<String>(1)?, None, || assigned.shows(id, coverage));
    }
    for row in context.rows(&CATEGORIES, values![ENGLISH])? {
        if let Some(title) = row.get::<Option<String>>(1)? {
            best.offer(FoundType::ManualCategory, row.get(0)?, &title, None, || true);
        }
    }
    Ok(())
}

fn offer_portals(context: &mut Context<'_, '_>, best: &mut Best) -> Result<()> {
    for row in context.rows(&PORTALS, [])? {
        best.offer(FoundType::Portal, row.get(0)?, &row.get::<String>(1)?, None, || true);
    }
    for row in context.rows(&BRANDINGS, [])? {
        let nickname: Option<String> = row.get(2)?;
        best.offer(FoundType::PortalBranding, row.get(0)?, &row.get::<String>(1)?, nickname.as_deref(), || true);
    }
    Ok(())
}

fn offer_records(context: &mut Context<'_, '_>, coverage: &Coverage, best: &mut Best) -> Result<()> {
    let kinds = [
        (FoundType::Property, TargetKind::Property),
        (FoundType::PropertyGroup, TargetKind::PropertyGroup),
        (FoundType::Tag, TargetKind::Tag),
    ];
    for (found_type, kind) in kinds {
        for row in context.rows(&RECORDS, values![kind.as_ref()])? {
            let id = row.get(0)?;
            best.offer(found_type, id, &row.get::<String>(1)?, None, || coverage.is_visible(kind, id));
        }
    }
    Ok(())
}

/// Reservations go by their guest, and are told apart by flat and check-in.
fn offer_reservations(context: &mut Context<'_, '_>, best: &mut Best) -> Result<()> {
    let wanted = pattern(best.wanted(FoundType::Reservation).text());
    let [all, ids] = context.reach().parameters();
    for row in context.rows(&RESERVATIONS, values![wanted, all, ids, MOST_RESERVATIONS])? {
        let names: [Option<String>; 2] = [row.get(1)?, row.get(2)?];
        let guest = names.iter().flatten().map(|name| name.trim()).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ");
        let turned = names.iter().rev().flatten().map(|name| name.trim()).collect::<Vec<_>>().join(" ");
        let (flat, check_in): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let name = [Some(guest), flat, check_in].into_iter().flatten().collect::<Vec<_>>().join(" · ");
        best.offer(FoundType::Reservation, row.get(0)?, &name, Some(&turned), || true);
    }
    Ok(())
}

/// What the steps or the manuals are assigned to, for a limited caller; whoever sees everything need not know.
struct Assigned(HashMap<Uuid, Vec<Target>>);

impl Assigned {
    fn load(context: &mut Context<'_, '_>, entity_type: EntityType) -> Result<Self> {
        let is_limited = context.reach().is_limited();
        Ok(Self(if is_limited { scopes::all_targets(context, entity_type)? } else { HashMap::new() }))
    }

    /// Whether it reaches one of the caller's properties, or is assigned to nothing (spec: Authentication, 6).
    fn shows(&self, id: Uuid, coverage: &Coverage) -> bool {
        self.0.get(&id).is_none_or(|targets| coverage.cover_of(targets).is_inside)
    }
}
