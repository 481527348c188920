//! What there is to say of each tool, and which of them a caller is shown.

use std::collections::BTreeSet;

use http::Method;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::lean::{self, Beside};
use super::selection::Selection;
use crate::access::Access;
use crate::app::App;
use crate::operation::{Effect, Operation, Surface, Work, inline_generator};

/// The tools, each beside the operation that it is; described once, because they are the same for all.
pub(super) struct Catalogue(Vec<(&'static Operation, Tool)>);

impl Catalogue {
    pub(super) fn of(app: &'static App) -> Self {
        Self(operations(app).map(|operation| (operation, describe(app, operation))).collect())
    }

    /// Those of a selection that a caller may call, as far as that can be told before a call.
    pub(super) fn listed(&self, selection: &Selection, access: &Access) -> Vec<Tool> {
        let is_listed = |operation: &Operation| selection.has(operation) && operation.needs.check(access).is_ok();
        self.0.iter().filter(|(operation, _)| is_listed(operation)).map(|(_, tool)| tool.clone()).collect()
    }

    /// One by its name.
    pub(super) fn named(&self, name: &str) -> Option<&Tool> {
        self.0.iter().find(|(operation, _)| operation.id == name).map(|(_, tool)| tool)
    }
}

/// Every operation that is a tool, as one.
#[must_use]
pub fn describe_all(app: &App) -> Vec<Tool> {
    operations(app).map(|operation| describe(app, operation)).collect()
}

/// The sets that tools belong to.
pub(super) fn toolsets(app: &App) -> BTreeSet<&'static str> {
    operations(app).map(|operation| operation.toolset).collect()
}

/// The operation that is the tool of this name.
pub(super) fn find(app: &'static App, name: &str) -> Option<&'static Operation> {
    operations(app).find(|operation| operation.id == name)
}

fn operations(app: &App) -> impl Iterator<Item = &Operation> {
    app.operations.iter().filter(|operation| operation.surface == Surface::Public && operation.is_tool)
}

/// Without a schema of what it answers: that is `{data, pagination?}` for all of them, and the description says what `data` is.
fn describe(app: &App, operation: &Operation) -> Tool {
    let reads = operation.effect == Effect::Read;
    let annotations = ToolAnnotations::with_title(operation.title)
        .read_only(reads)
        .destructive(operation.is_destructive)
        .open_world(matches!(operation.work, Work::Provider(_)));
    // Of what only reads it goes without saying.
    let annotations = if reads { annotations } else { annotations.idempotent(operation.is_idempotent) };
    Tool::new(operation.id, operation.about, arguments(app, operation)).with_annotations(annotations)
}

/// The operation's fields, without those a tool caller cannot send.
fn arguments(app: &App, operation: &Operation) -> Map<String, Value> {
    let mut schema = operation.input_schema(&mut inline_generator());
    // Which page is asked for is asked for everywhere in the same way.
    for name in ["limit", "offset"].into_iter().filter(|_| operation.paging.is_some()) {
        schema["properties"][name].as_object_mut().and_then(|field| field.remove("description"));
    }
    let is_left_out = |name: &str| operation.not_for_tools.contains(&name);
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.retain(|name, _| !is_left_out(name));
    }
    if let Some(Value::Array(names)) = schema.get_mut("required") {
        names.retain(|name| !name.as_str().is_some_and(is_left_out));
    }
    let made = maker(app, operation);
    let beside = made.map(|made| Beside { tool: made.id, fields: made.input_schema(&mut inline_generator()) });
    // Where something is made, leaving a field out is as good as null.
    let takes_null = operation.effect == Effect::Write && operation.is_idempotent;
    lean::arguments(&schema, takes_null, beside.as_ref())
}

/// The operation that makes what this one changes.
fn maker<'a>(app: &'a App, operation: &Operation) -> Option<&'a Operation> {
    let above = operation.path.strip_suffix("/{id}").filter(|_| operation.method == Method::PATCH)?;
    operations(app).find(|other| other.method == Method::POST && other.path == above)
}
