//! Checks that every statement reads and writes rows of only one organization, whose id is `?1`. If
//! organizations are distributed over several servers, PostgreSQL executes each of these statements
//! on one server. This file lists the exceptions with their reasons.

use std::collections::{BTreeMap, BTreeSet};

/// Tables whose rows belong to no organization.
const WITHOUT_ORGANIZATION: [&str; 7] = [
    "domain",
    "duty",
    "oauth_app",
    "secret",
    "setup_ticket",
    "summary_version",
    "unnest",
];

/// Statements that may use rows of every organization, each with its reason. An entry contains the
/// first words of the statement. No other statement begins with these words.
const ACROSS: &[(&str, &str)] = &[
    (
        "select m.id, m.doc, o.id, o.doc from member m join organization o",
        "whoever signs in by an address names no organization",
    ),
    (
        "select id, doc, created_at, updated_at from organization where erased_at is null order by",
        "the platform lists its organizations",
    ),
    ("select count(*) from organization where", "and counts them"),
    (
        "select id from organization where erased_at is null limit",
        "a set-up link is good until there is an organization",
    ),
    (
        "select id from organization where id > ?1",
        "a new version of a summary is written for each",
    ),
    (
        "select id from organization where erased_at is not null",
        "the sweep of erased organizations",
    ),
    (
        "select organization_id, id from oauth_grant where organization_id <> ?1",
        "a member connects an app in one organization at a time",
    ),
    (
        "with free as (select id from oauth_grant where organization_id <> ?1",
        "the same",
    ),
    (
        "select organization_id, id from access_token where organization_id <> ?1",
        "the same",
    ),
    (
        "with free as (select id from access_token where organization_id <> ?1",
        "the same",
    ),
    (
        "select organization_id, id from webhook_subscription where organization_id <> ?1",
        "the same",
    ),
    (
        "with free as (select id from webhook_subscription where organization_id <> ?1",
        "the same",
    ),
    (
        "select organization_id, id from portal_preview where expires_at",
        "a sweep",
    ),
    (
        "select organization_id, id from sign_in_ticket where expires_at",
        "a sweep",
    ),
    (
        "select organization_id, id from member_session where created_at",
        "a sweep",
    ),
    (
        "select organization_id, id from member_session where used_at",
        "a sweep",
    ),
    (
        "select organization_id, id from audit_log where occurred_at",
        "a sweep",
    ),
    (
        "select organization_id, credential, key from idempotency_record where completed_at",
        "a sweep",
    ),
    (
        "select organization_id, cursor from guest_change where occurred_at",
        "a sweep",
    ),
    (
        "select organization_id, id, oauth_app_id from oauth_grant where expires_at",
        "a sweep",
    ),
    (
        "select organization_id, token_hash from oauth_refresh_token where expires_at",
        "a sweep",
    ),
    (
        "select organization_id, id from access_token where expires_at",
        "a sweep",
    ),
    (
        "select distinct oauth_app_id from oauth_grant",
        "a sweep asks who uses an app",
    ),
    ("select distinct oauth_app_id from access_token", "the same"),
    (
        "select organization_id, id from webhook_subscription where deleted_at",
        "a sweep",
    ),
    (
        "select organization_id, id from webhook_delivery where id > ?1",
        "a sweep",
    ),
    (
        "with recursive waiting(id) as",
        "the dispatcher asks for whom something waits",
    ),
    (
        "select s.organization_id, s.id from webhook_due q",
        "the same",
    ),
    (
        "select organization_id from webhook_due where due_at",
        "which of these are to be looked at again",
    ),
    (
        "insert into webhook_due (organization_id, due_at) select",
        "and which are missing, asked now and then",
    ),
    (
        "select organization_id, id from webhook_delivery where status = 'pending' and \
            next_attempt_at > ?1",
        "a sweep after a clock that was ahead",
    ),
    (
        "select organization_id, id from webhook_delivery where leased_until is not null and \
            leased_until > ?1",
        "the same, of leases",
    ),
    (
        "select organization_id, translation_id from translation_job where next_attempt_at > ?1",
        "the same, of translations",
    ),
    (
        "select organization_id, translation_id from translation_job where leased_until is not \
            null and leased_until > ?1",
        "the same, of their leases",
    ),
    (
        "select organization_id, id from calendar_feed where next_fetch_at > ?1",
        "the same, of calendar feeds",
    ),
    (
        "select organization_id, id from calendar_feed where leased_until is not null and \
            leased_until > ?1",
        "the same, of their leases",
    ),
    (
        "select organization_id, device_id from device_timer where online_since > ?1",
        "the same, of timers",
    ),
    (
        "select organization_id, reservation_id from guest_cart where due_at > ?1",
        "the same, of selections of extras",
    ),
    (
        "select organization_id, id from guest_file where due_at > ?1",
        "the same, of files",
    ),
    (
        "select organization_id, id from webhook_delivery where leased_until",
        "it asks which leases have run out",
    ),
    (
        "select leased_until from webhook_delivery",
        "and when the next will have",
    ),
    (
        "select c.organization_id from guest_charge c join organization o",
        "the teller of charges asks whose moment has come",
    ),
    (
        "select c.notice_at from guest_charge c join organization o",
        "and when the next one comes",
    ),
    (
        "select next_attempt_at from webhook_delivery where status = 'pending' and leased_until is \
            null",
        "and when the next delivery is due",
    ),
    (
        "select next_attempt_at from webhook_delivery where status = 'pending' and next_attempt_at \
            <= ?1",
        "a measure",
    ),
    (
        "select count(*) from (select 1 as one from webhook_delivery",
        "a measure",
    ),
    (
        "select f.organization_id, f.id from guest_file f join organization o",
        "a sweep",
    ),
    (
        "select c.organization_id, c.reservation_id from guest_cart c join organization o",
        "carts are looked at once a minute",
    ),
    (
        "select r.organization_id, r.reservation_id, l.token from pass_registration r",
        "a phone asks which of its passes changed",
    ),
    (
        "select distinct r.organization_id, r.reservation_id, l.token, o.revision",
        "a node looks for passes that changed",
    ),
    (
        "select r.organization_id from pass_registration r",
        "and for pushes that are due",
    ),
    (
        "select organization_id, key from file_removal where",
        "a sweep",
    ),
    (
        "select f.key from guest_file f join organization o",
        "a sweep asks whose files lie in the storage",
    ),
    (
        "select organization_id, credential, created_at, id, event from webhook_subscription",
        "every subscription is looked at once a minute",
    ),
    (
        "select t.organization_id from device_timer t",
        "the timekeeper asks whose timer has run out",
    ),
    (
        "select t.online_since from device_timer t",
        "and when the next will have",
    ),
    (
        "select j.organization_id, j.translation_id, j.language from translation_job j",
        "the translator asks what is due",
    ),
    (
        "select next_attempt_at from translation_job",
        "and when more will be",
    ),
    (
        "select f.organization_id, f.id from calendar_feed f join organization o",
        "the fetcher of calendars asks what is due",
    ),
    (
        "select next_fetch_at from calendar_feed",
        "and when more will be",
    ),
    (
        "update calendar_feed set leased_until = null where leased_until is not null",
        "a fetcher that starts alone",
    ),
    (
        "update translation_job set leased_until = null where leased_until is not null",
        "a translator that starts alone",
    ),
];

/// Returns whether `ACROSS` lists a statement. In `text`, single spaces must separate the words.
pub fn is_across(text: &str) -> bool {
    across(text).is_some()
}

fn across(text: &str) -> Option<&'static str> {
    ACROSS
        .iter()
        .map(|(start, _)| *start)
        .find(|start| text.starts_with(start))
}

#[test]
fn every_statement_is_bound_to_a_single_organization() {
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for statement in &vestibule::app::app().statements {
        let text = statement
            .text()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if let Some(start) = across(&text) {
            assert!(used.insert(start), "more than one begins so: {start}");
            continue;
        }
        let unbound = unbound(&text);
        if !unbound.is_empty() {
            wrong.push(format!("{unbound:?} in {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let idle: Vec<_> = ACROSS
        .iter()
        .filter(|(start, _)| !used.contains(start))
        .collect();
    assert!(idle.is_empty(), "no statement begins so: {idle:?}");
}

/// Returns the tables of a statement that are not bound to the organization `?1`, each by its name
/// or alias.
fn unbound(text: &str) -> Vec<String> {
    let mut blocks = vec![Block::default()];
    let mut open = vec![0];
    let words = words(text);
    for (index, word) in words.iter().enumerate() {
        let at = |offset: usize| words.get(index + offset).map_or("", String::as_str);
        let inner = *open.last().unwrap();
        match word.as_str() {
            "(" if at(1) == "select" || at(1) == "with" => {
                open.push(blocks.len());
                blocks.push(Block {
                    within: Some(inner),
                    ..Block::default()
                });
            }
            "(" => open.push(inner),
            ")" => drop(open.pop()),
            // `union` begins another query at the same depth of parentheses.
            "union" => {
                *open.last_mut().unwrap() = blocks.len();
                blocks.push(Block {
                    within: blocks[inner].within,
                    ..Block::default()
                });
            }
            // In `for update`, `for no key update` and `do update`, no table name follows `update`.
            "update" if index > 0 && ["for", "key", "do"].contains(&words[index - 1].as_str()) => {}
            "from" | "join" | "into" | "update"
                if at(1) != "(" && is_name(at(1)) && at(1) != "set" =>
            {
                let is_as = at(2) == "as";
                let alias = if is_as { at(3) } else { at(2) };
                let goes_by = if is_name(alias) && !KEYWORDS.contains(&alias) {
                    alias
                } else {
                    at(1)
                };
                blocks[inner]
                    .tables
                    .push((at(1).to_owned(), goes_by.to_owned()));
                // An insert is limited to one organization if it sets `organization_id` to `?1`, or
                // if it inserts the rows of a query whose first column is the id of an
                // organization.
                if word == "into" {
                    let values = text.split_once(" values (").is_some_and(|(head, values)| {
                        head.contains(&format!("{} (", at(1)))
                            && column_of(head, "organization_id")
                                .zip(column_of(values, "?1"))
                                .is_some_and(|(a, b)| a == b)
                            || at(1) == "organization"
                    });
                    let selected = [
                        "select organization_id,",
                        "select o.id,",
                        "select e.organization_id,",
                    ]
                    .iter()
                    .any(|head| text.contains(head));
                    if values || selected {
                        blocks[inner].bound.insert(goes_by.to_owned());
                    }
                }
            }
            "with" => {
                let name = if at(1) == "recursive" { at(2) } else { at(1) };
                for block in &mut blocks {
                    block.common_tables.insert(name.to_owned());
                }
            }
            "=" => {
                let side = |word: &str| {
                    word.split_once('.')
                        .map(|(of, column)| (of.to_owned(), column.to_owned()))
                };
                let (remaining, right) = (words[index - 1].as_str(), at(1));
                let is_given = right == "?1" || (right == "any" && at(3) == "?1");
                match (side(remaining), side(right)) {
                    (Some((of, column)), _)
                        if is_given && ["organization_id", "id"].contains(&column.as_str()) =>
                    {
                        blocks[inner].bound_columns.push((Some(of), column));
                    }
                    (None, _) if is_given && ["organization_id", "id"].contains(&remaining) => {
                        blocks[inner]
                            .bound_columns
                            .push((None, remaining.to_owned()));
                    }
                    (Some(remaining), Some(right)) => {
                        blocks[inner].equal_columns.push((remaining, right));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let common_tables: BTreeSet<String> = blocks
        .iter()
        .flat_map(|block| block.common_tables.clone())
        .collect();
    let mut wrong = Vec::new();
    for index in 0..blocks.len() {
        let mut bound = bound(&blocks, index);
        bound.extend(blocks[index].bound.clone());
        for (table, goes_by) in &blocks[index].tables {
            if !WITHOUT_ORGANIZATION.contains(&table.as_str())
                && !common_tables.contains(table)
                && !bound.contains(goes_by)
            {
                wrong.push(table.clone());
            }
        }
    }
    wrong
}

/// A query within a statement, with the tables and columns that the parser has found in it.
/// `within` is the index of the surrounding query, and `bound` has the tables that are known to be
/// bound to the organization.
#[derive(Default)]
struct Block {
    within: Option<usize>,
    /// The tables, each with its name in the database and the name that the query uses for it.
    tables: Vec<(String, String)>,
    /// The names of common table expressions.
    common_tables: BTreeSet<String>,
    /// The columns that the query compares with `?1`, each with its table if the query names it.
    bound_columns: Vec<(Option<String>, String)>,
    /// Pairs of columns that the query compares with each other.
    equal_columns: Vec<((String, String), (String, String))>,
    bound: BTreeSet<String>,
}

/// Returns the name of the table's column that contains the id of the organization.
fn owner(table: &str) -> &'static str {
    if table == "organization" {
        "id"
    } else {
        "organization_id"
    }
}

/// Returns the "bound" tables of a query, each by its name in the query. In every row that the
/// query reads from a bound table, the column with the organization's id equals `?1`. The result
/// includes the bound tables of the surrounding queries.
fn bound(blocks: &[Block], index: usize) -> BTreeSet<String> {
    let block = &blocks[index];
    let mut bound = block
        .within
        .map(|outer| bound(blocks, outer))
        .unwrap_or_default();
    let names: BTreeMap<&str, &str> = block
        .tables
        .iter()
        .map(|(table, name)| (name.as_str(), table.as_str()))
        .collect();
    for (of, column) in &block.bound_columns {
        for (name, table) in &names {
            if owner(table) == column && of.as_deref().is_none_or(|of| of == *name) {
                bound.insert((*name).to_owned());
            }
        }
    }
    // A table is also bound to the organization if the query compares its organization column with
    // that of a bound table.
    for _ in 0..names.len() {
        for (left, right) in &block.equal_columns {
            for (one, other) in [(left, right), (right, left)] {
                let is_owner = |(name, column): &(String, String)| {
                    names
                        .get(name.as_str())
                        .is_none_or(|table| owner(table) == column)
                };
                if bound.contains(&one.0)
                    && is_owner(one)
                    && is_owner(other)
                    && names.contains_key(other.0.as_str())
                {
                    bound.insert(other.0.clone());
                }
            }
        }
    }
    bound
}

const KEYWORDS: [&str; 22] = [
    "as",
    "cross",
    "for",
    "group",
    "indexed",
    "inner",
    "join",
    "left",
    "limit",
    "on",
    "order",
    "returning",
    "select",
    "set",
    "union",
    "using",
    "values",
    "where",
    "and",
    "or",
    "not",
    "from",
];

fn is_name(word: &str) -> bool {
    word.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
}

/// Returns the position of `wanted` in a list of columns or values. Commas separate the entries,
/// and a closing parenthesis ends the list.
fn column_of(list: &str, wanted: &str) -> Option<usize> {
    let list = list.split_once('(').map_or(list, |(head, rest)| {
        if head.starts_with("insert ") {
            rest
        } else {
            list
        }
    });
    list.split(')')
        .next()?
        .split(',')
        .position(|column| column.trim() == wanted)
}

/// Splits a statement into words: names with their dots, parameters, and single characters.
/// Literals are omitted.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_text = false;
    for character in text.chars() {
        if character == '\'' {
            is_text = !is_text;
        } else if is_text {
        } else if character.is_ascii_alphanumeric() || ['_', '.', '?'].contains(&character) {
            words.last_mut().unwrap().push(character);
        } else {
            if character != ' ' {
                words.push(character.to_string());
            }
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_check_finds_unbound_statements() {
    for good in [
        "select doc from portal where organization_id = ?1 and id = ?2",
        "select p.doc from portal p join entity_scope s on s.organization_id = p.organization_id \
            where p.organization_id = ?1",
        "insert into portal (organization_id, id) values (?1, ?2)",
        "insert into grant (id, organization_id) values (?2, ?1)",
        "delete from portal where organization_id = ?1 and id in (select id from portal where \
            organization_id = ?1)",
        "with old as (select id from portal where organization_id = ?1) delete from portal where \
            organization_id = ?1 and id in (select id from old)",
        "select id from organization where id = ?1",
    ] {
        assert!(unbound(good).is_empty(), "{good}: {:?}", unbound(good));
    }
    for bad in [
        "select doc from portal where id = ?1",
        "select p.doc from portal p join entity_scope s on s.entity_id = p.id where \
            p.organization_id = ?1",
        "select doc from portal where organization_id = ?1 and id in (select id from record where \
            kind = ?2)",
        "insert into portal (id, organization_id) values (?1, ?2)",
        "with old as (select id from portal where organization_id = ?1) delete from portal where \
            id in (select id from old)",
        "select 1 from portal where organization_id = ?1 union all select 1 from record where kind \
            = ?2",
    ] {
        assert!(!unbound(bad).is_empty(), "{bad}");
    }
}
