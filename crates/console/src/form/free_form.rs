//! Forms whose fields are not derived from an operation, such as the form of a record.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::control::FormView;
use super::editing::operation;
use super::fill::{fill, read};
use super::form_view::{FormFieldsView, FormOutcome, Problems, StoredResource, sent_base};
use super::layout::Layout;
use super::spec::{FieldSpec, InputKind};
use crate::refusal::ConsoleRefusal;
use crate::request::{ConsoleFields, ConsoleRequest};

/// A form whose fields are not derived from an operation's input. The page that contains the form
/// lists the fields in `specs`.
pub struct FreeForm<'f> {
    /// The operation that is called when the form is submitted.
    pub operation: &'static str,
    pub specs: &'f [FieldSpec],
    pub action: String,
    /// Whether the form creates a resource. If false, it changes one.
    pub is_new: bool,
    /// Whether the member can only view the values.
    pub is_locked: bool,
}

/// The layout of a free form. It declares no sections, so the form shows all fields together.
static FREE: Layout = Layout {
    create: &[],
    sections: &[],
    omitted: &[],
    markdown: &[],
    names: &[],
    rules: &[],
};

impl FreeForm<'_> {
    fn view<'v>(
        &self,
        request: &'v ConsoleRequest,
        fields: ConsoleFields,
        base: Map<String, Value>,
    ) -> Result<FormFieldsView<'v>, ConsoleRefusal> {
        let updated_at = base
            .get("updatedAt")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(FormFieldsView {
            request,
            operation: operation(request, self.operation)?,
            layout: &FREE,
            action: self.action.clone(),
            fields,
            base,
            updated_at,
            is_new: self.is_new,
            problems: Problems::default(),
            theirs: HashMap::new(),
            found: HashMap::new(),
            conflict: false,
            is_begun: false,
            is_locked: self.is_locked,
        })
    }

    /// Returns the form as a member sees it before typing anything: each field has its value from
    /// `values`.
    pub async fn begin(
        &self,
        request: &ConsoleRequest,
        values: Map<String, Value>,
    ) -> Result<FormView, ConsoleRefusal> {
        let mut fields = ConsoleFields::new();
        for spec in self.specs {
            fill(spec, values.get(&spec.name), &spec.name, &mut fields);
        }
        self.view(request, fields, values)?.view(self.specs).await
    }

    /// Returns the submitted form, with the messages of a refusal. If there is no refusal, the form
    /// was sent after its session had ended. The form then has a note that nothing was saved yet.
    pub async fn again(
        &self,
        request: &ConsoleRequest,
        refusal: Option<&ConsoleRefusal>,
    ) -> Result<FormView, ConsoleRefusal> {
        let mut view = self.view(request, request.fields.clone(), sent_base(request))?;
        match refusal {
            Some(refusal) => {
                // Look up the names that the member typed, so that the form shows the object that
                // each name identifies.
                view.look_up(self.specs).await?;
                view.problems = Problems::of(request, refusal);
            }
            None => view
                .problems
                .notes
                .push(request.texts.frame.is_kept.to_owned()),
        }
        view.view(self.specs).await
    }

    /// Returns the form that is shown because another member has saved other values since the form
    /// was opened.
    pub async fn conflicting(
        &self,
        request: &ConsoleRequest,
        now: &StoredResource,
    ) -> Result<FormView, ConsoleRefusal> {
        let form_view = self.view(request, request.fields.clone(), sent_base(request))?;
        match form_view
            .conflicting(self.specs, now.value.clone(), now)
            .await?
        {
            FormOutcome::Refused(view) => Ok(*view),
            FormOutcome::Done(_) => Err(ConsoleRefusal::broken()),
        }
    }

    /// Returns the values to send. For a new resource, these are all values except empty texts of
    /// optional fields. For an existing one, these are the values that the member changed. If a
    /// typed name does not identify exactly one row, returns the form with a message instead.
    pub async fn typed(
        &self,
        request: &ConsoleRequest,
    ) -> Result<FormOutcome<Map<String, Value>>, ConsoleRefusal> {
        let mut view = self.view(request, request.fields.clone(), sent_base(request))?;
        if !view.look_up(self.specs).await? {
            return view.again(self.specs).await;
        }
        if self.is_new {
            let text = self
                .specs
                .iter()
                .filter_map(|spec| Some((spec, read(spec, &spec.name, &view.fields)?)));
            let text =
                text.filter(|(spec, value)| !value.is_null() && (spec.is_required || value != ""));
            let typed = text.map(|(spec, value)| (spec.name.clone(), value));
            return Ok(FormOutcome::Done(typed.collect()));
        }
        let changes = view.changes(self.specs).into_iter().map(|(spec, value)| {
            let value = with_cleared(&spec, value);
            (spec.name, value)
        });
        Ok(FormOutcome::Done(changes.collect()))
    }
}

/// Adds null for each part of an object that the member left empty. The update then deletes the
/// stored value of that part.
fn with_cleared(spec: &FieldSpec, value: Value) -> Value {
    match (&spec.kind, value) {
        (InputKind::Object(parts), Value::Object(mut value)) => {
            for part in parts {
                value.entry(part.name.clone()).or_insert(Value::Null);
            }
            Value::Object(value)
        }
        (_, value) => value,
    }
}
