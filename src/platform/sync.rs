//! Sync: the platform pushes records, all or nothing, and changes become events (rules: sync).

mod schema;

use std::collections::HashSet;
use std::time::Duration;

use engine::context::Context;
use engine::error::{Error, Issue, MOST_ISSUES, PathSegment, Result};
use engine::operation::{Object, Operation};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::batch::{SyncBatch, SyncRecord};
use crate::guest;
use crate::records::{RecordKind, RecordOrigin, canonical, is_set_by_the_service};

pub(crate) use self::schema::schemas;
pub(super) use self::schema::{records_schema, version};

/// Maximum number of records in a request.
pub const MAX_RECORDS: usize = 10_000;
/// Maximum body size of a sync: 16 MiB.
const BODY_LIMIT: usize = 16 << 20;
/// Time limit of a full batch, enough for a slow disk.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of warnings in an answer.
const MAX_WARNINGS: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sync {
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    #[serde(default)]
    is_initial_sync: Option<bool>,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(default)]
    on_invalid: Option<OnInvalid>,
    records: Vec<SyncRecord>,
    /// The records that validation left out ([`engine::operation::Sifts`]).
    #[serde(default)]
    left_out: Vec<LeftOut>,
}

/// A record that validation left out.
#[derive(Debug, Deserialize)]
struct LeftOut {
    index: usize,
    item: Value,
    issues: Vec<Value>,
}

impl LeftOut {
    /// Returns the kind and the id of the record, as far as it has them.
    fn place(&self) -> Option<(RecordKind, Uuid)> {
        let kind = self.item["kind"].as_str()?.parse().ok()?;
        Some((kind, self.item["id"].as_str()?.parse().ok()?))
    }
}

impl From<LeftOut> for Rejected {
    fn from(left_out: LeftOut) -> Self {
        Self {
            index: left_out.index,
            id: left_out.item["id"].as_str().map(str::to_owned),
            issues: left_out.issues,
        }
    }
}

/// The treatment of a request with an invalid record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnInvalid {
    /// The whole request is refused.
    #[default]
    Refuse,
    /// The record is left out, and so are those that refer to it.
    Skip,
}

/// The result of a write of records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Synced {
    /// Number of sent records that were not left out; applied unless `dryRun`.
    pub(crate) applied: usize,
    /// Number of events.
    pub(crate) events: usize,
    /// Fields that the kind does not know, which may be misspelt, and values that may be
    /// unintended; they are kept. At most 100.
    pub(crate) warnings: Vec<Warning>,
    /// Number of records that were left out, because a newer version of them is known; absent where
    /// no record has a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<usize>,
    /// The records that were left out, by place, with `onInvalid: "skip"`; absent otherwise. At
    /// most
    /// 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<Vec<Rejected>>,
    /// Number of records that were left out, with `onInvalid: "skip"`; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_count: Option<usize>,
}

/// A record that was left out because it is invalid, or refers to a record that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rejected {
    /// Place of the record in the request, from 0.
    index: usize,
    /// Id of the record; null if it has no text there.
    id: Option<String>,
    /// Issues of the record: `path` from the body's root, and `message`. At most 20.
    issues: Vec<Value>,
}

impl Rejected {
    /// The most issues of a record.
    const MOST: usize = 20;

    /// Makes an entry from the issues of a record.
    pub(super) fn of(index: usize, id: Uuid, issues: &[Issue]) -> Self {
        let issue =
            |issue: &Issue| json!({ "path": issue.path, "message": issue.reason.to_string() });
        Self {
            index,
            id: Some(id.to_string()),
            issues: issues.iter().take(Self::MOST).map(issue).collect(),
        }
    }
}

/// An accepted part of a record that may be unintended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Warning {
    /// Path from the body's root.
    #[schemars(with = "Vec<Value>")]
    pub(crate) path: Vec<PathSegment>,
    /// The warning itself.
    pub(crate) message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SyncedReservation {
    /// Id of the organization that the reservation is of.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose guest's link is wanted.
    reservation_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StayLink {
    /// Page for the browser.
    url: String,
    /// The stay token.
    token: String,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::platform("sync", Method::POST, "/organizations/{organizationId}/sync")
            .summary(
                "Insert, replace and delete records: all or nothing, or without the invalid ones",
            )
            .bulk(BODY_LIMIT, TIMEOUT)
            .keeps_numbers()
            .sifts("records", "onInvalid", "skip")
            .touches_stream()
            .run(sync),
        Operation::platform(
            "createGuestLink",
            Method::POST,
            "/organizations/{organizationId}/reservations/{reservationId}/guest-link",
        )
        .summary("The guest's link to a stay; the same one each time")
        .run(|context, input: SyncedReservation| {
            let token = guest::stay_token(context, input.reservation_id)?;
            Ok(StayLink {
                url: guest::stay_url(context, input.reservation_id, &token)?,
                token,
            })
        }),
    ]
}

fn sync(context: &mut Context<'_, '_>, input: Sync) -> Result<Synced> {
    let manner = SyncSettings {
        writer: RecordOrigin::Platform,
        fires: !input.is_initial_sync.unwrap_or(false),
        is_dry_run: input.dry_run.unwrap_or(false),
        on_invalid: input.on_invalid.unwrap_or_default(),
    };
    apply_sifted(context, input.records, input.left_out, manner)
}

/// The settings for a write of records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SyncSettings {
    /// The writer, which is the origin of new records.
    pub(crate) writer: RecordOrigin,
    /// Whether changes fire events.
    pub(crate) fires: bool,
    /// Whether everything is judged and nothing is written.
    pub(crate) is_dry_run: bool,
    /// The treatment of a record with an issue.
    pub(crate) on_invalid: OnInvalid,
}

/// Inserts, replaces and deletes records in order.
pub(crate) fn apply_records(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    manner: SyncSettings,
) -> Result<Synced> {
    apply_sifted(context, records, Vec::new(), manner)
}

/// Does the same with records among which validation has left some out.
fn apply_sifted(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    left_out: Vec<LeftOut>,
    manner: SyncSettings,
) -> Result<Synced> {
    let SyncSettings {
        writer,
        fires,
        is_dry_run,
        on_invalid,
    } = manner;
    if is_dry_run {
        context.dry_run();
    }
    let sent = records.len();
    let places = places(sent, &left_out);
    let (records, mut warnings) = made_canonical(records, &places);
    let rewritten = rewritten(&records);
    let has_versions = records.iter().any(|record| record.version.is_some());
    let mut batch = SyncBatch::load(context, &records, writer, on_invalid)?;
    let mut earlier_left_out = left_out.iter().peekable();
    for ((index, record), is_rewritten) in places.into_iter().zip(records).zip(rewritten) {
        while let Some(earlier) = earlier_left_out.next_if(|earlier| earlier.index < index) {
            batch.refuse(earlier.place());
        }
        batch.apply(context, index, record, is_rewritten, fires)?;
    }
    batch.finish();
    if let Some(conflict) = batch.conflict {
        return Err(conflict);
    }
    if !batch.issues.is_empty() {
        return Err(Error::issues(batch.issues));
    }
    let events = batch.happenings.len();
    warnings.append(&mut batch.warnings);
    warnings.truncate(MAX_WARNINGS);
    let stale = batch.stale;
    let applied = sent - stale - batch.rejected.len();
    let mut rejected: Vec<Rejected> = left_out.into_iter().map(Rejected::from).collect();
    rejected.append(&mut batch.rejected);
    rejected.sort_by_key(|rejected| rejected.index);
    let rejected_count = rejected.len();
    rejected.truncate(MOST_ISSUES);
    if !is_dry_run {
        batch.write(context)?;
    }
    let skips = on_invalid == OnInvalid::Skip;
    Ok(Synced {
        applied,
        events,
        warnings,
        stale: has_versions.then_some(stale),
        rejected: skips.then_some(rejected),
        rejected_count: skips.then_some(rejected_count),
    })
}

/// Returns the place in the request of each record that validation has not left out.
fn places(count: usize, left_out: &[LeftOut]) -> Vec<usize> {
    let left_out: HashSet<usize> = left_out.iter().map(|rejected| rejected.index).collect();
    (0..count + left_out.len())
        .filter(|place| !left_out.contains(place))
        .collect()
}

/// Brings records into their canonical form. Returns them with the warnings about their fields, up
/// to the maximum of an answer.
fn made_canonical(
    mut records: Vec<SyncRecord>,
    places: &[usize],
) -> (Vec<SyncRecord>, Vec<Warning>) {
    let mut warnings = warnings(&records, places);
    for (record, place) in records.iter_mut().zip(places) {
        let Some(data) = &mut record.data else {
            continue;
        };
        for (field, message) in canonical(record.kind, data) {
            if warnings.len() < MAX_WARNINGS {
                warnings.push(Warning {
                    path: vec![
                        "records".into(),
                        (*place).into(),
                        "data".into(),
                        field.into(),
                    ],
                    message: message.into(),
                });
            }
        }
    }
    (records, warnings)
}

/// Returns of each record whether it is a deletion, and the record is written again later.
fn rewritten(records: &[SyncRecord]) -> Vec<bool> {
    let mut later = HashSet::new();
    let mut rewritten: Vec<bool> = records
        .iter()
        .rev()
        .map(|record| {
            let place = (record.kind, record.id);
            if record.written().is_some() {
                later.insert(place);
                return false;
            }
            later.contains(&place)
        })
        .collect();
    rewritten.reverse();
    rewritten
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}

/// Returns a warning for each field that its kind does not know, up to the maximum of an answer.
fn warnings(records: &[SyncRecord], places: &[usize]) -> Vec<Warning> {
    let fields = places.iter().zip(records).flat_map(|(index, record)| {
        record
            .written()
            .into_iter()
            .flat_map(Object::keys)
            .map(move |field| (*index, record.kind, field))
    });
    let strange = fields
        .filter(|(_, kind, field)| !kind.knows(field) && !is_set_by_the_service(field))
        .take(MAX_WARNINGS);
    let warning = |(index, kind, field): (usize, RecordKind, &String)| Warning {
        path: vec![
            "records".into(),
            index.into(),
            "data".into(),
            field.as_str().into(),
        ],
        message: format!(
            "is not a known field of {}; it is stored unchanged",
            with_article(&kind.label().to_lowercase())
        ),
    };
    strange.map(warning).collect()
}
