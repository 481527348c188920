//! Operations on webhook subscriptions: `listWebhookSubscriptions`, `createWebhookSubscription`,
//! `deleteWebhookSubscription` and `rotateWebhookSecret`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use delivery::{DisabledReason, Secrets};
use engine::access::{Access, Credential};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::moment::Moment;
use engine::operation::{Findings, Needs, Nothing, Operation, OperationName};
use engine::values;
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Json, Row};
use strum::VariantArray;
use uuid::Uuid;

use super::DELETIONS;
use super::Event;
use super::audited;
use super::owned::{not_found, require_subscription};
use super::workflow::find_step;
use crate::records::{RecordKind, exists};

/// Lists the subscriptions of the caller.
pub const LIST_WEBHOOK_SUBSCRIPTIONS: OperationName<Vec<WebhookSubscription>> =
    OperationName::new("listWebhookSubscriptions");
/// Subscribes a URL to an event.
pub const CREATE_WEBHOOK_SUBSCRIPTION: OperationName<CreatedWebhookSubscription> =
    OperationName::new("createWebhookSubscription");
/// Gives a subscription a new signing secret.
pub const ROTATE_WEBHOOK_SECRET: OperationName<CreatedWebhookSubscription> =
    OperationName::new("rotateWebhookSecret");

/// Maximum number of active subscriptions of one credential (rules: limits#lengths).
const MAX_ACTIVE: i64 = 100;
/// Maximum number of disabled subscriptions of one credential. Older disabled subscriptions are
/// deleted.
const MAX_DISABLED: i64 = 1_000;
/// Default number of seconds for which the old secret still signs deliveries after it is replaced:
/// a day.
const GRACE_SECONDS: u32 = 86_400;
/// The path of the field `filters.workflowStep` in the issues of a request.
const WORKFLOW_STEP: [&str; 2] = ["filters", "workflowStep"];

store::statements! {
    /// Selects the subscriptions of a credential that are not deleted, the oldest first.
    LIST = "select id, event, target_url, consecutive_failures, disabled_at, disabled_reason,
        last_delivered_at, created_at, doc
        from webhook_subscription where organization_id = ?1 and credential = ?2
        and deleted_at is null order by created_at, id";
    /// Replaces the JSON document of a subscription.
    REPLACE_DOC = "update webhook_subscription set doc = ?3 where organization_id = ?1 and id = ?2
        and deleted_at is null";
    /// Counts the active subscriptions of a credential.
    COUNT_ACTIVE = "select count(*) from webhook_subscription where organization_id = ?1
        and credential = ?2 and disabled_at is null";
    /// Inserts a subscription.
    INSERT = "insert into webhook_subscription
        (organization_id, id, credential, event, target_url, consecutive_failures, created_at, doc)
        values (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)";
    /// Marks a subscription as deleted. The sweep deletes the rows later, because the log of the
    /// subscription may be too long for one transaction.
    DELETE_ONE = "update webhook_subscription set deleted_at = ?3,
        disabled_at = coalesce(disabled_at, ?3)
        where organization_id = ?1 and id = ?2 and deleted_at is null";
    /// Marks as deleted those subscriptions of a credential that have the target URL `?3`. Disables
    /// those of them that are not disabled yet.
    DELETE_BY_TARGET = "update webhook_subscription
        set deleted_at = ?4, disabled_at = coalesce(disabled_at, ?4)
        where organization_id = ?1 and credential = ?2 and target_url = ?3 and deleted_at is null";
    /// Marks disabled subscriptions of a credential as deleted, so that only the `?3` that were
    /// disabled last remain. One execution marks at most `?3` subscriptions.
    DELETE_SURPLUS = "update webhook_subscription set deleted_at = ?4 where organization_id = ?1
        and id in
        (select id from webhook_subscription where organization_id = ?1 and credential = ?2
            and disabled_at is not null and deleted_at is null order by disabled_at desc, id desc
            limit ?3 offset ?3)";
}

/// An https URL outside of private networks. The pipeline checks the URL by the schema format
/// `webhook-target`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct TargetUrl(String);

impl JsonSchema for TargetUrl {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TargetUrl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "webhook-target", "maxLength": 2048 })
    }
}

/// Returns the schema of an event's name. The schema is a single `enum`, so that a validation error
/// lists the names of all events.
pub(super) fn event_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Event::VARIANTS })
}

/// The filters of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default)]
pub struct Filters {
    /// Properties whose events are delivered; `[]` means every property the credential can see.
    pub property_ids: Vec<Uuid>,
    /// For `workflow.step`: the one step whose runs are delivered, as `<workflow id>:<node id>`.
    pub workflow_step: Option<String>,
}

impl Filters {
    /// Returns whether an event with this property and this workflow step matches the filters.
    /// `None` means that the event has no property or no workflow step.
    pub(super) fn matches(&self, property: Option<Uuid>, step: Option<&str>) -> bool {
        let matches_property = self.property_ids.is_empty()
            || property.is_some_and(|id| self.property_ids.contains(&id));
        matches_property
            && self
                .workflow_step
                .as_deref()
                .is_none_or(|filter| step == Some(filter))
    }
}

/// The part of a subscription that is stored as a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredSubscription {
    /// The filters of the subscription.
    #[serde(default)]
    pub filters: Filters,
    /// The secrets that sign the subscription's deliveries.
    #[serde(flatten)]
    pub secrets: Secrets,
}

/// The filters in a request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SentFilters {
    /// Ids of the properties whose events to deliver, at most 100; an inaccessible property is a
    /// 404. Null, `[]` or left out: every property the credential can see. Refused with
    /// `workflow.step`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    property_ids: Option<Vec<Uuid>>,
    /// The step whose runs to deliver, as `<workflow id>:<node id>` from `listWorkflowZapierSteps`.
    /// Required with `workflow.step`, refused with any other event; an unknown step is a 404.
    #[serde(default)]
    #[schemars(length(max = 1100))]
    workflow_step: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "event": "reservation.created", "targetUrl": "https://client.example/hooks/reservations",
    "filters": { "propertyIds": ["0192f0c1-2345-7abc-8def-0123456789ab"] }
}))]
struct CreateWebhookSubscription {
    /// The event to subscribe to. Each event needs the permission to read its record;
    /// `workflow.step` needs an OAuth connection.
    #[schemars(schema_with = "event_name")]
    event: Event,
    /// Where deliveries are posted: an https URL without a user name or password whose host is not
    /// private or loopback.
    target_url: TargetUrl,
    /// Which occurrences of the event to deliver. Null or left out: all that the credential can
    /// see.
    #[serde(default)]
    filters: Option<SentFilters>,
}

/// The fields `event` and `filters` of a create request. Each event allows only some filters.
#[derive(Deserialize)]
struct EventAndFilters {
    #[serde(default)]
    event: Option<Event>,
    #[serde(default)]
    filters: Option<SentFilters>,
}

/// The subscriptions to delete. Exactly one of both fields must be set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteWebhookSubscriptions {
    /// Id of the one subscription to delete. Send exactly one of `id` and `target_url`.
    #[serde(default)]
    id: Option<Uuid>,
    /// Delete every subscription of the credential that posts to exactly this URL, for any event.
    /// Send exactly one of `id` and `target_url`.
    #[serde(default)]
    #[schemars(length(max = 2048))]
    target_url: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "graceSeconds": 3600 }))]
struct RotateWebhookSecret {
    /// Id of the subscription that gets a new signing secret.
    id: Uuid,
    /// Number of seconds for which the old secret signs deliveries too, at most 604800 (7 days).
    /// Null or left out: 86400, a day.
    #[serde(default)]
    #[schemars(range(max = 604_800))]
    grace_seconds: Option<u32>,
}

/// A webhook subscription.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = example())]
pub struct WebhookSubscription {
    pub id: Uuid,
    #[schemars(schema_with = "event_name")]
    pub event: Event,
    pub target_url: String,
    pub filters: Filters,
    /// Number of deliveries that failed since the last success.
    pub consecutive_failures: i64,
    /// When the subscription was disabled; null while it is active. A disabled subscription is
    /// never enabled again.
    pub disabled_at: Option<Moment>,
    pub disabled_reason: Option<DisabledReason>,
    pub last_delivered_at: Option<Moment>,
    pub created_at: Moment,
}

/// A webhook subscription with its new signing secret.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = created_example())]
pub struct CreatedWebhookSubscription {
    #[serde(flatten)]
    pub subscription: WebhookSubscription,
    /// Secret that signs deliveries (Standard Webhooks 1.0). Shown once.
    pub signing_secret: String,
}

/// Number of deleted subscriptions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "deleted": 1 }))]
struct DeletedSubscriptions {
    deleted: u64,
}

impl WebhookSubscription {
    /// Reads a subscription from the columns of [`LIST`].
    fn from_row(row: &Row) -> Result<Self> {
        let Json(StoredSubscription { filters, .. }) = row.get(8)?;
        let reason: Option<String> = row.get(5)?;
        Ok(Self {
            id: row.get(0)?,
            event: event_from_row(row, 1)?,
            target_url: row.get(2)?,
            filters,
            consecutive_failures: row.get(3)?,
            disabled_at: row.get::<Option<_>>(4)?.map(Moment),
            disabled_reason: reason.and_then(|reason| reason.parse().ok()),
            last_delivered_at: row.get::<Option<_>>(6)?.map(Moment),
            created_at: Moment(row.get(7)?),
        })
    }
}

/// Reads the event of a subscription from a column of its row.
pub(super) fn event_from_row(row: &Row, column: usize) -> Result<Event> {
    let name: String = row.get(column)?;
    name.parse()
        .map_err(|_| Error::internal(format!("a subscription names the unknown event {name}")))
}

/// Returns the example of a subscription for the OpenAPI document.
fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ac",
        "event": "reservation.created",
        "targetUrl": "https://client.example/hooks/reservations",
        "filters": { "propertyIds": [], "workflowStep": null },
        "consecutiveFailures": 0,
        "disabledAt": null,
        "disabledReason": null,
        "lastDeliveredAt": "2026-11-21T09:30:00.000Z",
        "createdAt": "2026-11-20T09:30:00.000Z",
    })
}

fn created_example() -> Value {
    let mut example = example();
    example["lastDeliveredAt"] = Value::Null;
    example["signingSecret"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into();
    example
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_WEBHOOK_SUBSCRIPTIONS.id(),
            Method::GET,
            "/webhook-subscriptions",
            Needs::Credential,
        )
        .summary("List the webhook subscriptions of this credential")
        .rest_only()
        .run_as(LIST_WEBHOOK_SUBSCRIPTIONS, list),
        Operation::public(
            CREATE_WEBHOOK_SUBSCRIPTION.id(),
            Method::POST,
            "/webhook-subscriptions",
            Needs::ByBody(check_may_subscribe),
        )
        .summary("Subscribe a URL to an event; the signing secret is shown once")
        .rest_only()
        .creates()
        .rules(|input: EventAndFilters, _| Findings::sent(input.issues()))
        .audited(Audits::makes("webhook_subscription", "targetUrl").withholding(&["signingSecret"]))
        .run_as(CREATE_WEBHOOK_SUBSCRIPTION, create),
        Operation::public(
            "deleteWebhookSubscription",
            Method::DELETE,
            "/webhook-subscriptions",
            Needs::Credential,
        )
        .summary("Delete the subscription of an id, or all that post to a URL")
        .rest_only()
        .audited(Audits::changes(audited::audited_subscriptions))
        .run(delete),
        Operation::public(
            ROTATE_WEBHOOK_SECRET.id(),
            Method::POST,
            "/webhook-subscriptions/{id}/rotate-secret",
            Needs::Credential,
        )
        .summary(
            "Make a new signing secret, shown once; until the grace time is over deliveries bear \
                both signatures",
        )
        .rest_only()
        .audited(Audits::changes(audited::audited_subscriptions).recording(&["graceSeconds"]))
        .run_as(ROTATE_WEBHOOK_SECRET, rotate),
    ]
}

/// Checks that the caller may subscribe to the event in a request body.
fn check_may_subscribe(body: &Value, access: &Access) -> Result<()> {
    if body.is_null() {
        // The pipeline calls this function without a body to ask whether the caller may use the
        // operation at all.
        let is_any = Event::VARIANTS
            .iter()
            .any(|event| check_may_subscribe_to(*event, access).is_ok());
        return if is_any {
            Ok(())
        } else {
            Err(Error::forbidden(Reason::rule(
                "no_event",
                "Missing permission: this caller cannot subscribe to any event.",
            )))
        };
    }
    let event = body
        .get("event")
        .and_then(Value::as_str)
        .and_then(|name| name.parse::<Event>().ok());
    event.map_or(Ok(()), |event| check_may_subscribe_to(event, access))
}

fn check_may_subscribe_to(event: Event, access: &Access) -> Result<()> {
    access.require(event.permission())?;
    if event == Event::WorkflowStep && !matches!(access.credential, Credential::Connection { .. }) {
        return Err(Error::forbidden(Reason::rule(
            "event_of_apps",
            "Only an OAuth connection can subscribe to the event workflow.step.",
        )));
    }
    Ok(())
}

fn list(context: &mut Context<'_, '_>, _: Nothing) -> Result<Vec<WebhookSubscription>> {
    let credential = context.access.credential.key();
    context
        .rows(&LIST, values![credential])?
        .iter()
        .map(WebhookSubscription::from_row)
        .collect()
}

fn create(
    context: &mut Context<'_, '_>,
    input: CreateWebhookSubscription,
) -> Result<CreatedWebhookSubscription> {
    let (event, credential) = (input.event, context.access.credential);
    let mut filters = Filters::from(input.filters.unwrap_or_default());
    for id in &filters.property_ids {
        if !context.property_scope().covers(*id) || !exists(context, RecordKind::Property, *id)? {
            return Err(Error::not_found("Property").of(*id));
        }
    }
    if let Some(step) = filters.workflow_step.take() {
        filters.workflow_step =
            Some(find_step(context, &step)?.ok_or_else(|| Error::not_found("Workflow step"))?);
    }
    let key = credential.key();
    let active: i64 = context
        .row(&COUNT_ACTIVE, values![&key])?
        .map_or(Ok(0), |row| row.get(0))?;
    if active >= MAX_ACTIVE {
        let message = format!(
            "A credential can have at most {MAX_ACTIVE} active webhook subscriptions; delete one \
                first."
        );
        return Err(Error::conflict(Reason::rule("most_subscriptions", message)));
    }
    let (id, now) = (context.new_id(), context.now());
    let stored = StoredSubscription {
        filters,
        secrets: Secrets::fresh(context.ids()),
    };
    let doc = store::Value::json(&stored)?;
    context.execute_deferred(
        &INSERT,
        values![id, &key, event.as_ref(), &input.target_url.0, now, doc],
    )?;
    // The statement keeps the `MAX_DISABLED` subscriptions that were disabled last, and deletes at
    // most `MAX_DISABLED` others. It need not be repeated, because at most `MAX_ACTIVE`
    // subscriptions were disabled since it last ran for this credential, and `MAX_ACTIVE` is less
    // than `MAX_DISABLED`.
    if context.execute(&DELETE_SURPLUS, values![key, MAX_DISABLED, now])? > 0 {
        context.wake(DELETIONS);
    }
    Ok(CreatedWebhookSubscription {
        signing_secret: stored.secrets.reveal().to_owned(),
        subscription: WebhookSubscription {
            id,
            event,
            target_url: input.target_url.0,
            filters: stored.filters,
            consecutive_failures: 0,
            disabled_at: None,
            disabled_reason: None,
            last_delivered_at: None,
            created_at: Moment(now),
        },
    })
}

impl From<SentFilters> for Filters {
    /// Returns the filters of a request, without duplicate property ids.
    fn from(input: SentFilters) -> Self {
        let mut property_ids = input.property_ids.unwrap_or_default();
        let mut seen = HashSet::new();
        property_ids.retain(|id| seen.insert(*id));
        Self {
            property_ids,
            workflow_step: input.workflow_step,
        }
    }
}

impl EventAndFilters {
    /// Returns an issue for each filter that the event does not allow, and for a filter that the
    /// event requires but the request lacks (rules: webhooks#workflow-steps).
    fn issues(&self) -> Vec<Issue> {
        let Some(event) = self.event else {
            return Vec::new();
        };
        let filters = self.filters.as_ref();
        let mut issues = Vec::new();
        match (
            event,
            filters.and_then(|filters| filters.workflow_step.as_ref()),
        ) {
            (Event::WorkflowStep, None) => {
                issues.push(Issue::new(
                    &WORKFLOW_STEP,
                    Reason::rule(
                        "needs_workflow_step",
                        "is required for the event workflow.step",
                    ),
                ));
            }
            (Event::WorkflowStep, Some(step)) if !step.contains(':') => {
                issues.push(Issue::new(
                    &WORKFLOW_STEP,
                    Reason::rule(
                        "workflow_step_form",
                        "must be <workflow id>:<node id>, as listWorkflowZapierSteps gives it",
                    ),
                ));
            }
            (Event::WorkflowStep, Some(_)) | (_, None) => {}
            (_, Some(_)) => {
                issues.push(Issue::new(
                    &WORKFLOW_STEP,
                    Reason::rule(
                        "no_workflow_step",
                        "is allowed only for the event workflow.step",
                    ),
                ));
            }
        }
        let property_ids = filters
            .and_then(|filters| filters.property_ids.as_deref())
            .unwrap_or_default();
        if event == Event::WorkflowStep && !property_ids.is_empty() {
            issues.push(Issue::new(
                &["filters", "propertyIds"],
                Reason::rule("no_flats", "is not allowed for the event workflow.step"),
            ));
        }
        issues
    }
}

fn delete(
    context: &mut Context<'_, '_>,
    input: DeleteWebhookSubscriptions,
) -> Result<DeletedSubscriptions> {
    let (key, now) = (context.access.credential.key(), context.now());
    let deleted = match (input.id, input.target_url) {
        (Some(id), None) => {
            require_subscription(context, id)?;
            context.execute(&DELETE_ONE, values![id, now])?
        }
        (None, Some(url)) => context.execute(&DELETE_BY_TARGET, values![key, url, now])?,
        (None, None) => {
            return Err(Error::invalid(
                &["id"],
                "is required unless target_url is sent",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Error::invalid(
                &["target_url"],
                "must not be sent together with id",
            ));
        }
    };
    if deleted == 0 {
        return Err(not_found());
    }
    context.wake(DELETIONS);
    Ok(DeletedSubscriptions { deleted })
}

fn rotate(
    context: &mut Context<'_, '_>,
    input: RotateWebhookSecret,
) -> Result<CreatedWebhookSubscription> {
    let row = require_subscription(context, input.id)?;
    let Json(mut stored): Json<StoredSubscription> = row.get(8)?;
    let grace = Duration::from_secs(input.grace_seconds.unwrap_or(GRACE_SECONDS).into());
    stored.secrets.rotate(context.ids(), context.now(), grace);
    let doc = store::Value::json(&stored)?;
    if context.execute(&REPLACE_DOC, values![input.id, doc])? == 0 {
        // A receiver's 410 may have deleted the subscription after the query above found it.
        return Err(not_found());
    }
    let subscription = WebhookSubscription::from_row(&row)?;
    Ok(CreatedWebhookSubscription {
        subscription,
        signing_secret: stored.secrets.reveal().to_owned(),
    })
}

/// Returns the 409 error for an operation that needs an active subscription.
pub(super) fn subscription_disabled() -> Error {
    Error::conflict(Reason::rule(
        "subscription_disabled",
        "The webhook subscription is disabled; nothing more is sent for it.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::access::Permission;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn filters_must_fit_the_event() {
        let (properties, step) = (
            json!(["filters", "propertyIds"]),
            json!(["filters", "workflowStep"]),
        );
        for (event, filters, expected) in [
            ("task.created", json!(null), vec![]),
            ("task.created", json!({ "propertyIds": [id(1)] }), vec![]),
            (
                "task.created",
                json!({ "workflowStep": "a:b" }),
                vec![&step],
            ),
            (
                "workflow.step",
                json!({ "workflowStep": "a:b", "propertyIds": [] }),
                vec![],
            ),
            ("workflow.step", json!(null), vec![&step]),
            (
                "workflow.step",
                json!({ "workflowStep": "greeting" }),
                vec![&step],
            ),
            (
                "workflow.step",
                json!({ "propertyIds": [id(1)] }),
                vec![&step, &properties],
            ),
        ] {
            let mut input = json!({ "event": event, "targetUrl": "https://client.example" });
            if !filters.is_null() {
                input["filters"] = filters;
            }
            let input: EventAndFilters = serde_json::from_value(input).unwrap();
            let paths: Vec<Value> = input
                .issues()
                .iter()
                .map(|issue| serde_json::to_value(&issue.path).unwrap())
                .collect();
            assert_eq!(paths.iter().collect::<Vec<_>>(), expected, "{event}");
        }
        let twice = SentFilters {
            property_ids: Some(vec![id(1), id(2), id(1)]),
            workflow_step: None,
        };
        assert_eq!(Filters::from(twice).property_ids, [id(1), id(2)]);
    }

    #[test]
    fn a_filter_admits_only_its_properties_or_step() {
        let all = Filters::default();
        assert!(
            all.matches(Some(id(1)), None)
                && all.matches(None, None)
                && all.matches(None, Some("a:b"))
        );
        let some = Filters {
            property_ids: vec![id(1), id(2)],
            workflow_step: None,
        };
        assert!(some.matches(Some(id(2)), None));
        assert!(!some.matches(Some(id(3)), None) && !some.matches(None, None));
        let step = Filters {
            property_ids: Vec::new(),
            workflow_step: Some("a:b".into()),
        };
        assert!(step.matches(None, Some("a:b")));
        assert!(!step.matches(None, Some("a:c")) && !step.matches(None, None));
    }

    #[test]
    fn subscribing_needs_the_event_permission_or_a_connection() {
        let with = |credential: Credential, permission: Permission| Access {
            credential,
            permissions: [permission].into_iter().collect(),
            ..Access::platform()
        };
        let key = Credential::ApiKey(id(1));
        let connection = Credential::Connection {
            app: id(1),
            member: id(2),
        };
        let offline = json!({ "event": "device.offline" });
        assert!(check_may_subscribe(&offline, &with(key, Permission::ViewDevices)).is_ok());
        assert!(check_may_subscribe(&offline, &with(key, Permission::ViewTasks)).is_err());
        let workflow = json!({ "event": "workflow.step" });
        assert!(check_may_subscribe(&workflow, &with(key, Permission::ViewWorkflows)).is_err());
        assert!(
            check_may_subscribe(&workflow, &with(connection, Permission::ViewWorkflows)).is_ok()
        );
        for body in [
            json!({}),
            json!({ "event": 1 }),
            json!({ "event": "nothing.happened" }),
            json!([]),
        ] {
            assert!(
                check_may_subscribe(&body, &with(key, Permission::ViewTasks)).is_ok(),
                "{body}"
            );
        }
    }
}
