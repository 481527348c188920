//! The operation `sync`: the platform sends records, and one transaction writes all of them or
//! none. Changes of the records fire events (rules: sync).

mod schema;

use std::collections::HashSet;
use std::time::Duration;

use engine::context::Context;
use engine::error::{Error, Issue, MAX_ISSUES, PathSegment, Result};
use engine::operation::{Object, Operation};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::batch::{SyncBatch, SyncRecord};
use crate::guest;
use crate::records::{RecordKind, RecordOrigin, canonicalize, is_service_field};

pub use self::schema::schemas;
pub(super) use self::schema::{records_schema, version};

/// Maximum number of records in a request.
pub const MAX_RECORDS: usize = 10_000;
/// Maximum body size of a sync: 16 MiB.
const BODY_LIMIT: usize = 16 << 20;
/// Time limit of a sync. It is long enough for a request of the maximum size, even on a slow disk.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum number of warnings in a response.
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
    /// The records that the validation of the request has skipped
    /// ([`engine::operation::FilteredList`]).
    #[serde(default)]
    left_out: Vec<SkippedRecord>,
}

/// A record that the validation of the request has skipped.
#[derive(Debug, Deserialize)]
struct SkippedRecord {
    index: usize,
    item: Value,
    issues: Vec<Value>,
}

impl SkippedRecord {
    /// Returns the kind and the id of the record, if both are valid.
    fn key(&self) -> Option<(RecordKind, Uuid)> {
        let kind = self.item["kind"].as_str()?.parse().ok()?;
        Some((kind, self.item["id"].as_str()?.parse().ok()?))
    }
}

impl From<SkippedRecord> for Rejected {
    fn from(left_out: SkippedRecord) -> Self {
        Self {
            index: left_out.index,
            id: left_out.item["id"].as_str().map(str::to_owned),
            issues: left_out.issues,
        }
    }
}

/// The effect of an invalid record on its request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnInvalid {
    /// Fail the whole request.
    #[default]
    Refuse,
    /// Skip the record, and the records that refer to it.
    Skip,
}

/// The result of a write of records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Synced {
    /// Number of records that were applied, or with `dryRun` would be applied.
    pub(crate) applied: usize,
    /// Number of webhook events that the changes fired, or with `dryRun` would fire.
    pub(crate) events: usize,
    /// Warnings about unknown fields, which may be misspelt, and about values that may be
    /// unintended. These fields and values are stored nevertheless. At most 100 warnings.
    pub(crate) warnings: Vec<Warning>,
    /// Number of records that were skipped because the service has a newer version; absent if no
    /// record of the request has a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<usize>,
    /// The invalid records that were skipped, in the order of the request, with `onInvalid:
    /// "skip"`; absent otherwise. At most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<Vec<Rejected>>,
    /// Number of invalid records that were skipped, with `onInvalid: "skip"`; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_count: Option<usize>,
}

/// A record that was skipped because it is invalid, or refers to a record that was skipped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rejected {
    /// Index of the record in the request, from 0.
    index: usize,
    /// Id of the record; null if the record has no id, or an id that is not a text.
    id: Option<String>,
    /// Issues of the record: `path` from the body's root, and `message`. At most 20.
    issues: Vec<Value>,
}

impl Rejected {
    /// Maximum number of issues of a record.
    const MAX_ISSUES: usize = 20;

    /// Makes an entry of the response's list of rejected records. The entry has at most
    /// [`Self::MAX_ISSUES`] of the record's issues.
    pub(super) fn from_issues(index: usize, id: Uuid, issues: &[Issue]) -> Self {
        let issue =
            |issue: &Issue| json!({ "path": issue.path, "message": issue.reason.to_string() });
        Self {
            index,
            id: Some(id.to_string()),
            issues: issues.iter().take(Self::MAX_ISSUES).map(issue).collect(),
        }
    }
}

/// A warning about a part of a record that is accepted, but may be unintended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Warning {
    /// Path of the value, from the root of the body.
    #[schemars(with = "Vec<Value>")]
    pub(crate) path: Vec<PathSegment>,
    /// The text of the warning.
    pub(crate) message: String,
}

/// The input of the operation `createGuestLink`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SyncedReservation {
    /// Id of the organization that has the reservation.
    #[expect(dead_code, reason = "the context is opened by it")]
    organization_id: Uuid,
    /// Id of the reservation whose guest link to return.
    reservation_id: Uuid,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StayLink {
    /// Address of the stay's page, for the guest's browser.
    url: String,
    /// The stay token, which is also part of `url`.
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
            .filters_invalid_items("records", "onInvalid", "skip")
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
    let settings = SyncSettings {
        writer: RecordOrigin::Platform,
        fires: !input.is_initial_sync.unwrap_or(false),
        is_dry_run: input.dry_run.unwrap_or(false),
        on_invalid: input.on_invalid.unwrap_or_default(),
    };
    apply_sifted(context, input.records, input.left_out, settings)
}

/// The settings for a write of records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SyncSettings {
    /// The writer, which is the origin of new records.
    pub(crate) writer: RecordOrigin,
    /// Whether changes of records fire webhook events.
    pub(crate) fires: bool,
    /// Whether to check the records without writing them.
    pub(crate) is_dry_run: bool,
    /// Whether a record with an issue makes the whole request fail, or whether the sync skips only
    /// that record.
    pub(crate) on_invalid: OnInvalid,
}

/// Inserts, replaces and deletes records in the order of the request.
pub(crate) fn apply_records(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    settings: SyncSettings,
) -> Result<Synced> {
    apply_sifted(context, records, Vec::new(), settings)
}

/// Inserts, replaces and deletes records in the order of the request. Validation has already
/// removed the invalid records `left_out` from the request.
fn apply_sifted(
    context: &mut Context<'_, '_>,
    records: Vec<SyncRecord>,
    left_out: Vec<SkippedRecord>,
    settings: SyncSettings,
) -> Result<Synced> {
    let SyncSettings {
        writer,
        fires,
        is_dry_run,
        on_invalid,
    } = settings;
    if is_dry_run {
        context.dry_run();
    }
    let count = records.len();
    let indexes = remaining_indexes(count, &left_out);
    let (records, mut warnings) = to_canonical(records, &indexes);
    let rewritten = find_rewritten(&records);
    let has_versions = records.iter().any(|record| record.version.is_some());
    let mut batch = SyncBatch::load(context, &records, writer, on_invalid)?;
    let mut skipped = left_out.iter().peekable();
    for ((index, record), is_rewritten) in indexes.into_iter().zip(records).zip(rewritten) {
        while let Some(record) = skipped.next_if(|record| record.index < index) {
            batch.add_rejected_key(record.key());
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
    let events = batch.record_events.len();
    warnings.append(&mut batch.warnings);
    warnings.truncate(MAX_WARNINGS);
    let stale = batch.stale;
    let applied = count - stale - batch.rejected.len();
    let mut rejected: Vec<Rejected> = left_out.into_iter().map(Rejected::from).collect();
    rejected.append(&mut batch.rejected);
    rejected.sort_by_key(|rejected| rejected.index);
    let rejected_count = rejected.len();
    rejected.truncate(MAX_ISSUES);
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

/// Returns the index in the original request of each of the `count` records that validation has not
/// skipped.
fn remaining_indexes(count: usize, left_out: &[SkippedRecord]) -> Vec<usize> {
    let left_out: HashSet<usize> = left_out.iter().map(|rejected| rejected.index).collect();
    (0..count + left_out.len())
        .filter(|index| !left_out.contains(index))
        .collect()
}

/// Converts records to their canonical form. Returns them with the warnings about their fields, at
/// most [`MAX_WARNINGS`].
fn to_canonical(
    mut records: Vec<SyncRecord>,
    indexes: &[usize],
) -> (Vec<SyncRecord>, Vec<Warning>) {
    let mut warnings = warnings(&records, indexes);
    for (record, index) in records.iter_mut().zip(indexes) {
        let Some(data) = &mut record.data else {
            continue;
        };
        for (field, message) in canonicalize(record.kind, data) {
            if warnings.len() < MAX_WARNINGS {
                warnings.push(Warning {
                    path: vec![
                        "records".into(),
                        (*index).into(),
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

/// Returns a flag for each record: true if the record is a deletion, and the request writes the
/// same record again later.
fn find_rewritten(records: &[SyncRecord]) -> Vec<bool> {
    let mut later_writes = HashSet::new();
    let mut rewritten: Vec<bool> = records
        .iter()
        .rev()
        .map(|record| {
            let key = (record.kind, record.id);
            if record.data_to_write().is_some() {
                later_writes.insert(key);
                return false;
            }
            later_writes.contains(&key)
        })
        .collect();
    rewritten.reverse();
    rewritten
}

/// Puts "a" or "an" before a noun.
fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}

/// Returns a warning for each unknown field, at most [`MAX_WARNINGS`] in total.
fn warnings(records: &[SyncRecord], indexes: &[usize]) -> Vec<Warning> {
    let fields = indexes.iter().zip(records).flat_map(|(index, record)| {
        record
            .data_to_write()
            .into_iter()
            .flat_map(Object::keys)
            .map(move |field| (*index, record.kind, field))
    });
    let unknown_fields = fields
        .filter(|(_, kind, field)| !kind.accepts_field(field) && !is_service_field(field))
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
    unknown_fields.map(warning).collect()
}
