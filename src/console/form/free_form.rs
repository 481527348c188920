//! Forms whose fields no operation declares.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::control::FormView;
use super::drawn::{Drawn, Outcome, Problems, Stored, sent_base};
use super::editing::operation;
use super::fill::{fill, read};
use super::layout::Layout;
use super::spec::{Kind, Spec};
use crate::console::refusal::Refusal;
use crate::console::visit::{Fields, Visit};

/// A form whose fields no operation declares, such as those of a record.
pub struct FreeForm<'f> {
    /// The operation that the form calls.
    pub operation: &'static str,
    pub specs: &'f [Spec],
    pub action: String,
    /// Whether the form creates something.
    pub is_new: bool,
    /// Whether it is shown and cannot be sent.
    pub is_locked: bool,
}

/// The layout of forms whose fields no operation declares: one section.
static FREE: Layout = Layout {
    create: &[],
    sections: &[],
    elsewhere: &[],
    markdown: &[],
    names: &[],
    rules: &[],
};

impl FreeForm<'_> {
    fn drawn<'v>(
        &self,
        visit: &'v Visit,
        fields: Fields,
        base: Map<String, Value>,
    ) -> Result<Drawn<'v>, Refusal> {
        let updated_at = base
            .get("updatedAt")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(Drawn {
            visit,
            operation: operation(visit, self.operation)?,
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

    /// Shows the form with these values.
    pub async fn begin(
        &self,
        visit: &Visit,
        values: Map<String, Value>,
    ) -> Result<FormView, Refusal> {
        let mut fields = Fields::new();
        for spec in self.specs {
            fill(spec, values.get(&spec.name), &spec.name, &mut fields);
        }
        self.drawn(visit, fields, values)?.view(self.specs).await
    }

    /// Shows the form as it was sent, with a refusal. Without one it says that nothing is lost.
    pub async fn again(
        &self,
        visit: &Visit,
        refusal: Option<&Refusal>,
    ) -> Result<FormView, Refusal> {
        let mut drawn = self.drawn(visit, visit.fields.clone(), sent_base(visit))?;
        match refusal {
            Some(refusal) => {
                // The form keeps the rows that the typed names identify.
                drawn.look_up(self.specs).await?;
                drawn.problems = Problems::of(visit, refusal);
            }
            None => drawn
                .problems
                .notes
                .push(visit.words.frame.is_kept.to_owned()),
        }
        drawn.view(self.specs).await
    }

    /// Shows the form on the state that another member saved in between.
    pub async fn conflicting(&self, visit: &Visit, now: &Stored) -> Result<FormView, Refusal> {
        let drawn = self.drawn(visit, visit.fields.clone(), sent_base(visit))?;
        match drawn
            .conflicting(self.specs, now.value.clone(), now)
            .await?
        {
            Outcome::Again(view) => Ok(*view),
            Outcome::Done(_) => Err(Refusal::broken()),
        }
    }

    /// Returns the values that the member typed: of a new thing all that are not empty, else those
    /// that differ from the values that the form was made from. Returns the form again if a typed
    /// name does not identify one row.
    pub async fn typed(&self, visit: &Visit) -> Result<Outcome<Map<String, Value>>, Refusal> {
        let mut drawn = self.drawn(visit, visit.fields.clone(), sent_base(visit))?;
        if !drawn.look_up(self.specs).await? {
            return drawn.again(self.specs).await;
        }
        if self.is_new {
            let said = self
                .specs
                .iter()
                .filter_map(|spec| Some((spec, read(spec, &spec.name, &drawn.fields)?)));
            let said =
                said.filter(|(spec, value)| !value.is_null() && (spec.is_required || value != ""));
            let typed = said.map(|(spec, value)| (spec.name.clone(), value));
            return Ok(Outcome::Done(typed.collect()));
        }
        let changes = drawn.changes(self.specs).into_iter().map(|(spec, value)| {
            let value = with_cleared(&spec, value);
            (spec.name, value)
        });
        Ok(Outcome::Done(changes.collect()))
    }
}

/// Adds null for each part of an object that the member left empty, so that the change clears it.
fn with_cleared(spec: &Spec, value: Value) -> Value {
    match (&spec.kind, value) {
        (Kind::Object(parts), Value::Object(mut value)) => {
            for part in parts {
                value.entry(part.name.clone()).or_insert(Value::Null);
            }
            Value::Object(value)
        }
        (_, value) => value,
    }
}
