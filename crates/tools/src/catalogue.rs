//! The descriptions of the tools, and the decision which tools a caller can list.

use std::collections::BTreeSet;

use engine::access::Access;
use engine::app::App;
use engine::app_state::AppState;
use engine::operation::{Effect, Operation, Surface, inline_generator, tool_limit};
use http::Method;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::compact::{self, CreatingTool};
use super::selection::Selection;

/// Each tool with its operation. The descriptions of the tools are created once, and every caller
/// gets the same ones.
pub(super) struct Catalogue(Vec<(&'static Operation, Tool)>);

impl Catalogue {
    pub(super) fn of(app: &'static App) -> Self {
        Self(
            operations(app)
                .map(|operation| (operation, describe(app, operation)))
                .collect(),
        )
    }

    /// Returns the tools of `selection` for which the caller has the permissions.
    pub(super) fn listed(
        &self,
        selection: &Selection,
        access: &Access,
        app_state: &AppState,
    ) -> Vec<Tool> {
        let is_listed = |operation: &Operation| {
            selection.has(operation)
                && is_offered(operation, app_state)
                && operation.needs.check(access).is_ok()
        };
        self.0
            .iter()
            .filter(|(operation, _)| is_listed(operation))
            .map(|(_, tool)| tool.clone())
            .collect()
    }

    /// Returns the tool with this name, which is the id of its operation; `None` if there is no
    /// such tool.
    pub(super) fn by_name(&self, name: &str) -> Option<&Tool> {
        self.0
            .iter()
            .find(|(operation, _)| operation.id == name)
            .map(|(_, tool)| tool)
    }
}

/// Returns whether the service has the extensions that an operation needs.
pub(super) fn is_offered(operation: &Operation, app_state: &AppState) -> bool {
    operation
        .is_offered
        .is_none_or(|is_offered| is_offered(app_state))
}

/// Returns the descriptions of all tools.
#[must_use]
pub fn describe_all(app: &App) -> Vec<Tool> {
    operations(app)
        .map(|operation| describe(app, operation))
        .collect()
}

/// Returns the names of all toolsets. A toolset is a group of tools.
pub(super) fn toolsets(app: &App) -> BTreeSet<&'static str> {
    operations(app).map(|operation| operation.toolset).collect()
}

/// Returns the operation of the tool with this name; `None` if there is no such tool.
pub(super) fn find_operation(app: &'static App, name: &str) -> Option<&'static Operation> {
    operations(app).find(|operation| operation.id == name)
}

fn operations(app: &App) -> impl Iterator<Item = &Operation> {
    app.operations
        .iter()
        .filter(|operation| operation.surface == Surface::Public && operation.is_tool)
}

/// Describes a tool. The result of every tool is `{data, pagination?}`, without a schema. The
/// description explains `data`.
fn describe(app: &App, operation: &Operation) -> Tool {
    let reads = operation.effect == Effect::Read;
    let annotations = ToolAnnotations::with_title(operation.title)
        .read_only(reads)
        .destructive(operation.is_destructive)
        .open_world(operation.work.calls_another_service());
    // A tool that only reads is always idempotent.
    let annotations = if reads {
        annotations
    } else {
        annotations.idempotent(operation.is_idempotent)
    };
    Tool::new(operation.id, operation.about, arguments(app, operation))
        .with_annotations(annotations)
}

/// Returns the compact schema of the operation's fields, without the fields that tools cannot send.
fn arguments(app: &App, operation: &Operation) -> Map<String, Value> {
    let mut schema = operation.input_schema(&mut inline_generator());
    // Paging works the same way in every tool, so these fields have no description.
    for name in ["limit", "offset"]
        .into_iter()
        .filter(|_| operation.paging.is_some())
    {
        schema["properties"][name]
            .as_object_mut()
            .and_then(|field| field.remove("description"));
    }
    if let Some(limit) = tool_limit(&schema) {
        schema["properties"]["limit"]["default"] = limit.into();
    }
    let is_excluded = |name: &str| operation.not_for_tools.contains(&name);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !is_excluded(name));
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|name| !name.as_str().is_some_and(is_excluded));
    }
    let create_operation = find_create_operation(app, operation);
    let creating_tool = create_operation.map(|create_operation| CreatingTool {
        tool: create_operation.id,
        fields: create_operation.input_schema(&mut inline_generator()),
    });
    // The schema of an update allows null. In a creation, null and a missing field mean the same,
    // so its schema omits null.
    let takes_null = operation.effect == Effect::Write && operation.is_idempotent;
    compact::arguments(&schema, takes_null, creating_tool.as_ref())
}

/// Returns the operation that creates the object which this operation updates.
fn find_create_operation<'a>(app: &'a App, operation: &Operation) -> Option<&'a Operation> {
    let collection_path = operation
        .path
        .strip_suffix("/{id}")
        .filter(|_| operation.method == Method::PATCH)?;
    operations(app).find(|other| other.method == Method::POST && other.path == collection_path)
}
