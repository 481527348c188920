//! Issues that guests report. Each issue becomes a task of the organization.

use engine::access::Credential;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::Text6000;
use engine::moment::Moment;
use engine::operation::{Object, Operation, OperationName};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::bounds;
use super::changes::{self, ChangeDetails, ChangeKind};
use super::operations::own_reservation;
use super::stay::{Stay, reservation};
use crate::events::{self, Event};
use crate::portals::Portal;
use crate::records::{RecordKind, TaskStatus, add_record, records_as};

/// Lists the issues that the guest of the caller's stay reported.
pub const LIST_OWN_ISSUES: OperationName<Vec<GuestIssue>> = OperationName::new("listOwnIssues");

/// Maximum number of characters in the title of a task.
const TITLE_LENGTH: usize = 120;
/// Value of the field `source` of the tasks that are made from guests' issues.
const SOURCE: &str = "guest_portal";

store::statements! {
    /// Inserts an issue.
    INSERT_ISSUE = "insert into guest_issue
        (organization_id, id, reservation_id, text, created_at, form_key)
        values (?1, ?2, ?3, ?4, ?5, ?6)";
    /// Selects the issue of a stay that an earlier request with the same idempotency key created.
    WITH_KEY = "select id from guest_issue where organization_id = ?1 and reservation_id = ?2
        and form_key = ?3";
    /// Counts the issues of a stay.
    COUNT = "select count(*) from guest_issue where organization_id = ?1 and reservation_id = ?2";
    /// Selects the issues of a stay, oldest first.
    OF_STAY = "select id, text, created_at from guest_issue where organization_id = ?1
        and reservation_id = ?2 order by created_at, id";
    /// Deletes the issues of deleted reservations.
    FORGET = "delete from guest_issue where organization_id = ?1 and reservation_id = any(?2)";
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReportIssue {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// What is wrong, 1 to 6000 characters and not blank. The first line that is not blank becomes
    /// the title of the task. A stay has at most 20 issues.
    text: Text6000,
    /// A UUID that the sender chooses for this issue. If the stay has an issue with the same key,
    /// its id is returned and no issue is made. Left out: every request makes an issue.
    #[serde(default)]
    key: Option<Uuid>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListOwnIssues {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
}

/// The response to the report of an issue.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "id": "0192f0c1-2345-7abc-8def-0123456789ab" }))]
struct ReportedIssue {
    /// Id of the task that the issue became.
    id: Uuid,
}

/// An issue that a guest reported.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = issue_example())]
pub struct GuestIssue {
    /// Id of the task that the issue became.
    pub id: Uuid,
    /// The guest's description of the issue.
    pub text: String,
    /// The status of the task; null if the task is deleted.
    #[schemars(with = "Option<String>")]
    pub status: Option<TaskStatus>,
    /// Time of the report.
    pub created_at: Moment,
}

fn issue_example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab", "text": "The shower drips.", "status": "open",
        "createdAt": "2026-11-21T09:30:00.000Z",
    })
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest("reportIssue", Method::POST, "/stays/{token}/issues")
            .summary("Report an issue of the flat, which becomes a task")
            .creates()
            .touches_stream()
            .run(report),
        Operation::guest(LIST_OWN_ISSUES.id(), Method::GET, "/stays/{token}/issues")
            .summary("The issues that the guest reported, oldest first")
            .run_as(LIST_OWN_ISSUES, list),
    ]
}

/// Returns whether guests of the portal can report issues.
pub(super) const fn allows_issue_reports(portal: &Portal) -> bool {
    portal.is_ticketing_enabled
}

fn report(context: &mut Context<'_, '_>, input: ReportIssue) -> Result<ReportedIssue> {
    let stay = Stay::load(context, own_reservation(context)?)?;
    let is_enabled = stay.portal().is_some_and(allows_issue_reports);
    let property = stay.reservation.property_id.filter(|_| is_enabled);
    let Some(property) = property else {
        return Err(Error::forbidden("Reporting issues is switched off."));
    };
    if stay.is_cancelled() {
        return Err(Error::forbidden(
            "The stay is cancelled, so no issues are taken.",
        ));
    }
    if let Some(key) = input.key
        && let Some(row) = context.row(&WITH_KEY, values![stay.id, key])?
    {
        return Ok(ReportedIssue { id: row.get(0)? });
    }
    let count: i64 = context
        .row(&COUNT, values![stay.id])?
        .map_or(Ok(0), |row| row.get(0))?;
    if count >= bounds::MAX_ISSUES {
        return Err(bounds::too_many_issues());
    }
    let (id, text) = (context.new_id(), input.text.0);
    context.execute_deferred(
        &INSERT_ISSUE,
        values![id, stay.id, text.as_str(), context.now(), input.key],
    )?;
    let task = task(property, stay.id, &text);
    let links = [
        (RecordKind::Property, property),
        (RecordKind::Reservation, stay.id),
    ];
    add_record(context, RecordKind::Task, id, task, &links)?;
    let details = ChangeDetails {
        task_id: Some(id),
        ..ChangeDetails::default()
    };
    changes::record_with(context, ChangeKind::IssueReported, stay.id, None, &details)?;
    events::fire(
        context,
        Event::TaskCreated,
        RecordKind::Task,
        id,
        Some(property),
    )?;
    Ok(ReportedIssue { id })
}

/// Builds the task that an issue becomes.
fn task(property: Uuid, reservation: Uuid, text: &str) -> Object {
    let Value::Object(task) = json!({
        "propertyId": property,
        "reservationId": reservation,
        "title": title(text),
        "description": text,
        "status": TaskStatus::Open,
        "source": SOURCE,
    }) else {
        return Object::new();
    };
    task
}

/// Returns the first line that is not blank, shortened to the length of a title.
fn title(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    line.chars()
        .take(TITLE_LENGTH)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// Lists the guest's issues. A preview has none.
fn list(context: &mut Context<'_, '_>, _: ListOwnIssues) -> Result<Vec<GuestIssue>> {
    if let Credential::Preview { .. } = context.access.credential {
        return Ok(Vec::new());
    }
    let id = own_reservation(context)?;
    reservation(context, id)?;
    let rows = context.rows(&OF_STAY, values![id])?;
    let ids = rows
        .iter()
        .map(|row| Ok(row.get(0)?))
        .collect::<Result<Vec<Uuid>>>()?;
    let tasks = records_as::<Object>(context, RecordKind::Task, ids)?;
    let issue = |row: &store::Row| -> Result<GuestIssue> {
        let id = row.get(0)?;
        let status = tasks.get(&id).and_then(|task| task.get("status")).cloned();
        Ok(GuestIssue {
            id,
            text: row.get(1)?,
            status: status.and_then(|status| serde_json::from_value(status).ok()),
            created_at: Moment(row.get(2)?),
        })
    };
    rows.iter().map(issue).collect()
}

/// Deletes the issues of deleted reservations. Their tasks stay.
pub(super) fn forget(context: &mut Context<'_, '_>, reservations: &[Uuid]) -> Result<()> {
    context.execute_deferred(&FORGET, values![reservations])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_title_is_the_first_line_that_is_not_blank() {
        assert_eq!(title("\n  \n  No hot water \nsince Monday"), "No hot water");
        assert_eq!(title(&"é".repeat(200)), "é".repeat(TITLE_LENGTH));
    }

    proptest! {
        #[test]
        fn a_title_is_one_line_of_at_most_its_length(text in "\\PC{0,300}") {
            let title = title(&text);
            prop_assert!(title.chars().count() <= TITLE_LENGTH && title.trim() == title);
            prop_assert_eq!(title.is_empty(), text.trim().is_empty());
        }
    }
}
