//! The audit log, with a sentence for each entry. Also describes the latest changes of a resource,
//! which the screen of the resource shows.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use engine::audit::{ActorKind, Change};
use engine::format;
use features::guest::PrecheckinStatus;
use features::platform::{AuditEntry, LIST_AUDIT_LOG, LastWrite, TargetView};
use features::precheck::NO_MAXIMUM;
use features::words::{fill, own_name};
use serde_json::{Value, json};
use uuid::Uuid;

use super::form::{FieldSpec, InputKind, specs};
use super::frame::ConsoleFrame;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse, resource_address};
use super::stays::{self, StayItem};
use super::texts::texts;
use super::time_format::{self, FormattedTime};
use super::words::{
    AuditedAction, ConsoleWords, describe_action, entrance, named_permission_text,
    precheckin_status,
};
use super::{labels, operation_calls};

pub static SCREEN: Screen = Screen {
    path: "/audit",
    icon: "scroll-text",
    title: |words| words.audit.audit,
    group: ScreenGroup::Organization,
    needs: Some(LIST),
    pages: &[ScreenPage::get("getAuditScreen", "/audit", show)],
};

const LIST: &str = LIST_AUDIT_LOG.id();
/// Limits that make a page short enough to read. `MAX_ENTRIES` is the maximum number of entries per
/// page, `MAX_FIELDS` the maximum number of changed fields per entry, and `MAX_VALUE_LENGTH` the
/// maximum number of characters per value.
const MAX_ENTRIES: usize = 25;
const MAX_FIELDS: usize = 10;
const MAX_VALUE_LENGTH: usize = 120;
/// The page of a resource shows at most `LATEST` changes. It takes them from the last `SCAN_LIMIT`
/// audit entries about the resource. It omits entries of the operation `PREVIEW_OPERATION`, which
/// creates a preview and so changes no resource.
const LATEST: usize = 5;
const SCAN_LIMIT: usize = 20;
const PREVIEW_OPERATION: &str = "createPortalPreview";
/// Operations that delete a resource. A deleted resource has no page, so the audit entries about
/// this resource have no link.
const DELETING: [&str; 2] = ["deletePortalManualCategory", "deleteWebhookSubscription"];
/// The type of a target that is a stay. The log does not contain the name of a stay, because that
/// name contains the guest's name.
const STAY: &str = "reservation";
/// Fields that contain ids, each with the operation that lists the names for these ids. For other
/// fields with ids, the schema names the operation (`x-choices-from`).
const LISTED_BY: [(&str, &str); 2] = [
    ("portalSettingsId", "listPortals"),
    ("oauthAppId", "listConnections"),
];
/// The fields in which an entry lists assigned targets, each with the tab of the assignments screen
/// that shows these targets.
const ASSIGNED: [(&str, &str); 4] = [
    ("propertyIds", "properties"),
    ("propertyGroupIds", "groups"),
    ("tagIds", "tags"),
    ("portalSettingsIds", "portals"),
];

/// Returns the change of the field `field`, if the entry contains one.
fn change_of<'e>(entry: &'e AuditEntry, field: &str) -> Option<&'e Change> {
    entry.changes.iter().find(|change| change.field == field)
}

/// Returns whether the operation of an entry created its target. An operation such as `putMember`
/// either creates or replaces its target. If the operation created the target, the entry lists a
/// change of the field `name` from null.
fn is_new(entry: &AuditEntry) -> bool {
    change_of(entry, "name")
        .is_some_and(|change| change.before.is_null() && !change.after.is_null())
}

/// Returns the id of the app that an entry is about. Also returns the name of the app if the entry
/// contains it.
fn app(entry: &AuditEntry) -> Option<(&str, Option<&str>)> {
    let known = change_of(entry, "app").and_then(|change| {
        Some((
            change.after["oauthAppId"].as_str()?,
            change.after["name"].as_str(),
        ))
    });
    known.or_else(|| {
        change_of(entry, "oauthAppId").and_then(|change| Some((change.after.as_str()?, None)))
    })
}

/// Describes each change by a sentence. An item of `writes` has the name of the API key that made
/// the change, and the change.
pub async fn last_writes(request: &ConsoleRequest, writes: &[(&str, &LastWrite)]) -> Vec<String> {
    let names = AuditNames(stays_of(request, writes.iter().map(|(_, write)| &write.target)).await);
    let text = |(who, write): &(&str, &LastWrite)| {
        describe_action(
            &request.texts.audit,
            &AuditedAction {
                operation: &write.operation,
                who,
                ..names.deed(&write.target)
            },
        )
    };
    writes.iter().map(text).collect()
}

/// A change of a field, in words.
struct DescribedChange {
    label: String,
    /// The earlier value in words. `None` if the log withholds the values, or if `after` is a count
    /// of added and removed targets.
    before: Option<String>,
    after: String,
    /// The path of a page with details about the change. `None` if there is no such page.
    way: Option<String>,
}

/// An entry of the audit log, as the page shows it: its time, a sentence that describes it, its
/// changed fields, and links to pages about its target.
pub struct AuditLine {
    pub at: FormattedTime,
    pub text: String,
    fields: Vec<DescribedChange>,
    count: String,
    more: Option<String>,
    /// `thing` is the address of the page of the entry's target. `history` is the address of a page
    /// with all log entries about the target.
    thing: Option<String>,
    history: Option<String>,
}

impl AuditLine {
    fn of(request: &ConsoleRequest, entry: &AuditEntry, names: &AuditNames) -> Self {
        let words = &request.texts.audit;
        let who =
            entry
                .actor
                .name
                .as_deref()
                .unwrap_or(if entry.actor.kind == ActorKind::Platform {
                    words.platform
                } else {
                    words.somebody
                });
        let app = app(entry).and_then(|(id, name)| name.or_else(|| names.app(id)));
        let text = describe_action(
            words,
            &AuditedAction {
                operation: &entry.operation,
                who,
                app,
                is_new: is_new(entry),
                ..names.deed(&entry.target)
            },
        );
        let fields = entry
            .changes
            .iter()
            .take(MAX_FIELDS)
            .map(|change| describe(request, entry, change, names))
            .collect();
        let more = entry.changes.len().saturating_sub(MAX_FIELDS);
        let id = entry.target.id.map(|id| id.to_string());
        Self {
            at: time_format::of(request, entry.occurred_at),
            text,
            fields,
            count: match entry.changes.as_slice() {
                [only] => called(request, entry, &only.field),
                all => fill(words.fields, &[("count", &all.len().to_string())]),
            },
            more: (more > 0).then(|| fill(words.more, &[("count", &more.to_string())])),
            thing: id
                .as_deref()
                .and_then(|id| resource_address(request, screen_of(&entry.target.kind)?, id)),
            history: id.map(|id| request.address_with(SCREEN.path, &[("target", &id)])),
        }
    }
}

/// Returns the path of the page for a target of the type `kind`, such as `portal`. `None` if no
/// page shows such targets.
fn screen_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "portal" | "portal_settings" => "/portals/{id}",
        "portal_branding" => "/brandings/{id}",
        "precheck_step" => "/steps/{id}",
        "manual" => "/manuals/{id}",
        "manual_category" => "/categories/{id}",
        "translation" => "/translations/{id}",
        "webhook_subscription" => "/webhooks/{id}",
        "reservation" => "/stays/{id}",
        "calendar_feed" => "/calendars/{id}",
        _ => return None,
    })
}

/// Returns the description of the operation's input field that a change concerns.
fn spec(request: &ConsoleRequest, operation: &str, field: &str) -> Option<FieldSpec> {
    specs(
        operation_calls::operation(&request.service, operation)?,
        None,
    )
    .iter()
    .find(|spec| spec.name == field)
    .cloned()
}

/// The names of the objects that the shown log entries refer to, by the id of the object.
struct AuditNames(HashMap<String, String>);

impl AuditNames {
    /// Reads the names of the objects that the first `MAX_FIELDS` changes of each entry refer to.
    /// Calls each list operation once, and reads all texts with one call.
    async fn of(request: &ConsoleRequest, entries: &[AuditEntry]) -> Self {
        let (mut lists, mut linked) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            for change in entry.changes.iter().take(MAX_FIELDS) {
                let listed = LISTED_BY
                    .iter()
                    .find(|(field, _)| *field == change.field)
                    .map(|(_, list)| (*list).to_owned());
                match (
                    listed,
                    spec(request, &entry.operation, &change.field).map(|spec| spec.kind),
                ) {
                    (Some(list), _)
                    | (None, Some(InputKind::Reference(list) | InputKind::References(list))) => {
                        lists.insert(list);
                    }
                    (None, Some(InputKind::Text(_))) => {
                        let ids = [&change.before, &change.after]
                            .into_iter()
                            .filter_map(Value::as_str);
                        linked.extend(ids.filter_map(|id| id.parse::<Uuid>().ok()));
                    }
                    _ => {}
                }
            }
        }
        let mut names = HashMap::new();
        for list in lists.iter().filter(|list| request.may(list)) {
            let rows: Vec<Value> = request.get(list, json!({})).await.unwrap_or_default();
            let name = |row: &Value| {
                ["name", "title", "nickname", "host"]
                    .iter()
                    .find_map(|field| row[*field].as_str())
                    .map(str::to_owned)
            };
            names.extend(rows.iter().filter_map(|row| {
                Some((
                    row["id"]
                        .as_str()
                        .or_else(|| row["oauthAppId"].as_str())?
                        .to_owned(),
                    name(row)?,
                ))
            }));
        }
        names.extend(
            entries
                .iter()
                .filter_map(app)
                .filter_map(|(id, name)| Some((id.to_owned(), name?.to_owned()))),
        );
        names.extend(stays_of(request, entries.iter().map(|entry| &entry.target)).await);
        if !linked.is_empty() {
            names.extend(
                texts(request, linked.into_iter())
                    .await
                    .into_iter()
                    .map(|(id, text)| (id.to_string(), text)),
            );
        }
        Self(names)
    }

    /// Returns an audited action in which only the type and the name of the target are set. The
    /// calling function sets the remaining fields.
    fn deed<'n>(&'n self, target: &'n TargetView) -> AuditedAction<'n> {
        let known = || target.id.and_then(|id| self.0.get(&id.to_string()));
        let name = target
            .name
            .as_deref()
            .or_else(|| known().map(String::as_str));
        AuditedAction {
            kind: &target.kind,
            is_one: target.id.is_some(),
            name,
            ..AuditedAction::default()
        }
    }

    /// Returns the name of an app. If the name is unknown and the id of the app is a URL, returns
    /// the id. Returns `None` instead of a UUID, which would mean nothing to the member.
    fn app<'n>(&'n self, id: &'n str) -> Option<&'n str> {
        self.0
            .get(id)
            .map(String::as_str)
            .or_else(|| Some(id).filter(|id| !format::is_uuid(id)))
    }
}

/// Reads the names of the stays among the targets, by the id of the stay. The audit log does not
/// contain the name of a stay, because that name contains the guest's name. Omits stays that the
/// member cannot access.
async fn stays_of(
    request: &ConsoleRequest,
    targets: impl Iterator<Item = &TargetView>,
) -> HashMap<String, String> {
    let ids: BTreeSet<Uuid> = targets
        .filter(|target| target.kind == STAY)
        .filter_map(|target| target.id)
        .collect();
    if ids.is_empty() || !request.may(stays::LIST) {
        return HashMap::new();
    }
    let named = |stay: StayItem| {
        let days = time_format::days(request, &stay.check_in, &stay.check_out);
        (
            stay.id.to_string(),
            format!("{} ({days})", stay.called(request)),
        )
    };
    let found = request
        .get::<Vec<StayItem>>(stays::LIST, json!({ "ids": ids, "limit": ids.len() }))
        .await;
    found.unwrap_or_default().into_iter().map(named).collect()
}

/// Returns the label of a field. A field such as `title.es` has the text of one language; its label
/// contains the language's own name, such as `Español`.
fn called(request: &ConsoleRequest, entry: &AuditEntry, field: &str) -> String {
    match field.split_once('.') {
        Some((name, language)) => format!(
            "{} ({})",
            labels::label(request.language, name),
            own_name(language)
        ),
        None if entry.target.kind == "translation" && entry.operation != "createTranslation" => {
            own_name(field).to_owned()
        }
        None => labels::label(request.language, field),
    }
}

fn describe(
    request: &ConsoleRequest,
    entry: &AuditEntry,
    change: &Change,
    names: &AuditNames,
) -> DescribedChange {
    let words = &request.texts.audit;
    let label = called(request, entry, &change.field);
    if change.before.is_null() && change.after.is_null() {
        return DescribedChange {
            label,
            before: None,
            after: words.withheld.to_owned(),
            way: None,
        };
    }
    let assigned = ASSIGNED
        .iter()
        .find(|(field, _)| *field == change.field && entry.operation.ends_with("EntityScopes"));
    if let Some((_, to)) = assigned {
        let counted = [
            (&change.after, words.added),
            (&change.before, words.taken_back),
        ]
        .map(|(ids, text)| (count(ids), text));
        let counted = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, text)| fill(text, &[("count", &count.to_string())]));
        return DescribedChange {
            label,
            before: None,
            after: counted.collect::<Vec<_>>().join(", "),
            way: assignments(request, &entry.target, to),
        };
    }
    let spec = spec(request, &entry.operation, &change.field);
    let plain =
        |value: &Value| shortened(&plain(request, &change.field, spec.as_ref(), value, names));
    DescribedChange {
        label,
        before: Some(plain(&change.before)),
        after: plain(&change.after),
        way: None,
    }
}

/// Returns the number of items of a list. In a long list, a text such as `… 12 more` stands for the
/// items that the log omits.
fn count(list: &Value) -> u64 {
    let rest = |text: &str| {
        text.strip_prefix("… ")?
            .strip_suffix(" more")?
            .parse::<u64>()
            .ok()
    };
    list.as_array()
        .into_iter()
        .flatten()
        .map(|item| item.as_str().and_then(rest).unwrap_or(1))
        .sum()
}

/// Returns the address of the screen that changes the assignments of the resource `target`. `to`
/// names the tab of the screen, such as `tags`. Returns `None` if the resource has no such screen,
/// or if the member may not see assignments.
fn assignments(request: &ConsoleRequest, target: &TargetView, to: &str) -> Option<String> {
    let word = match target.kind.as_str() {
        "portal" => "portals",
        "precheck_step" => "steps",
        "manual" => "manuals",
        _ => return None,
    };
    let path = format!("/assignments/{word}/{}", target.id?);
    request
        .may("listEntityScopes")
        .then(|| request.address_with(&path, &[("to", to)]))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_VALUE_LENGTH {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_VALUE_LENGTH).collect();
    format!("{cut}…")
}

/// Returns the label of the status of a submission, or of a record such as a stay.
fn status_label(request: &ConsoleRequest, status: &str) -> String {
    status.parse::<PrecheckinStatus>().map_or_else(
        |_| labels::choice(request.language, status),
        |status| {
            precheckin_status(&request.texts.submissions, status)
                .0
                .to_owned()
        },
    )
}

/// Formats a value of a changed field in words. A text is returned unchanged if it is neither a
/// known id nor a value with a known label or format.
fn plain(
    request: &ConsoleRequest,
    field: &str,
    spec: Option<&FieldSpec>,
    value: &Value,
    names: &AuditNames,
) -> String {
    let words = request.texts;
    let is_choice = spec.is_some_and(|spec| {
        matches!(
            spec.kind,
            InputKind::Choice(_) | InputKind::Choices(_) | InputKind::Object(_)
        )
    });
    match value {
        Value::Null => words.audit.nothing.to_owned(),
        Value::Bool(true) => words.frame.yes.to_owned(),
        Value::Bool(false) => words.frame.no.to_owned(),
        Value::String(text) => match (names.0.get(text), field) {
            (Some(name), _) => name.clone(),
            (None, "by") => entrance(&words.audit, text).unwrap_or(text).to_owned(),
            (None, "permissions") => named_permission_text(&words.access, text).to_owned(),
            (None, "status") => status_label(request, text),
            (None, "language" | "languages") => own_name(text).to_owned(),
            (None, "expiresAt" | "since" | "at") => time_format::timestamp(request, text).text,
            (None, _) if is_choice => labels::choice(request.language, text),
            (None, _) => text.clone(),
        },
        Value::Array(items) if items.is_empty() => words.audit.nothing.to_owned(),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            items
                .iter()
                .map(|item| plain(request, field, spec, item, names))
                .collect::<Vec<_>>()
                .join(", ")
        }
        Value::Array(items) => words.audit.entries.of(items.len()),
        Value::Object(parts) => {
            let part = |(name, value): (&String, &Value)| {
                words.frame.labelled(
                    &labels::label(request.language, name),
                    &plain(request, name, spec, value, names),
                )
            };
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        }
        Value::Number(number)
            if field == "maxLos" && number.as_u64() == Some(NO_MAXIMUM.into()) =>
        {
            words.audit.no_maximum.to_owned()
        }
        Value::Number(number) => number.to_string(),
    }
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage<'v> {
    frame: ConsoleFrame<'v>,
    about: &'static str,
    /// Whether the page shows only the entries about one target, such as one step or one member.
    is_of_one: bool,
    /// The path of the page that shows the log without a filter. `None` if this page has no filter.
    all: Option<String>,
    lines: Vec<AuditLine>,
    is_behind: bool,
    older: Option<String>,
}

fn id_of<'v>(request: &'v ConsoleRequest, name: &str) -> Option<&'v str> {
    request
        .query_parameter(name)
        .filter(|id| format::is_uuid(id))
}

async fn lines(request: &ConsoleRequest, entries: &[AuditEntry]) -> Vec<AuditLine> {
    let names = AuditNames::of(request, entries).await;
    let gone = entries
        .iter()
        .filter(|entry| DELETING.contains(&entry.operation.as_str()))
        .filter_map(|entry| entry.target.id);
    let gone: BTreeSet<Uuid> = gone.collect();
    let line = |entry: &AuditEntry| {
        let mut line = AuditLine::of(request, entry, &names);
        line.thing
            .take_if(|_| entry.target.id.is_some_and(|id| gone.contains(&id)));
        line
    };
    entries.iter().map(line).collect()
}

fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let (after, target, actor) = (
            id_of(request, "after"),
            id_of(request, "target"),
            id_of(request, "actor"),
        );
        // The page asks for one entry more than it shows. If the operation returns that entry, the
        // page has a link to older entries.
        let arguments = json!({
            "after": after,
            "targetId": target,
            "actorId": actor,
            "limit": MAX_ENTRIES + 1,
        });
        let found = request.read(LIST_AUDIT_LOG, arguments).await?;
        let has_more = found.len() > MAX_ENTRIES;
        let entries = &found[..found.len().min(MAX_ENTRIES)];
        let last = entries
            .last()
            .filter(|_| has_more)
            .map(|entry| entry.id.to_string());
        let older = last.map(|last| {
            let narrowed = [
                target.map(|target| ("target", target)),
                actor.map(|actor| ("actor", actor)),
            ];
            let query: Vec<(&str, &str)> = narrowed
                .into_iter()
                .flatten()
                .chain([("after", last.as_str())])
                .collect();
            request.address_with(SCREEN.path, &query)
        });
        let words = &request.texts.audit;
        let page = AuditPage {
            frame: ConsoleFrame::new(request, words.audit),
            about: match (target, actor) {
                (Some(_), _) => words.about_one,
                (None, Some(_)) => words.about_actor,
                (None, None) => words.about,
            },
            is_of_one: target.is_some(),
            all: target.or(actor).map(|_| request.address(SCREEN.path)),
            lines: lines(request, entries).await,
            is_behind: after.is_some(),
            older,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

/// The latest changes of a resource, for the template `console/changed.html`.
pub struct LatestChanges {
    pub lines: Vec<AuditLine>,
    pub all: String,
    pub words: &'static ConsoleWords,
}

impl LatestChanges {
    /// Reads the latest changes of a resource. Returns `None` if there are none, if the member may
    /// not read the log, or if the log cannot be read.
    pub async fn of(request: &ConsoleRequest, target: Uuid) -> Option<Self> {
        if !request.may(LIST) {
            return None;
        }
        let arguments = json!({ "targetId": target, "limit": SCAN_LIMIT });
        let entries = request.read(LIST_AUDIT_LOG, arguments).await.ok()?;
        let changes = entries
            .iter()
            .filter(|entry| entry.operation != PREVIEW_OPERATION)
            .take(LATEST);
        let names = AuditNames(stays_of(request, entries.iter().map(|entry| &entry.target)).await);
        let lines: Vec<AuditLine> = changes
            .map(|entry| AuditLine::of(request, entry, &names))
            .collect();
        let all = request.address_with(SCREEN.path, &[("target", &target.to_string())]);
        (!lines.is_empty()).then_some(Self {
            lines,
            all,
            words: request.texts,
        })
    }
}
