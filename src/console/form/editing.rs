//! Handles a form from its first view until it is saved. A refused form is shown again with the
//! reasons and keeps everything that the member typed.
//!
//! A form carries the values that it was made from (`base`) and the time of their last change
//! (`updatedAt`). An update sends only the fields that the member changed, with
//! `expectedUpdatedAt`. If another member changed the resource in between, the form is shown on the
//! new state. Each field that both changed is shown in both versions.
//!
//! A text can change without a change of the resource that links it. Therefore each typed value is
//! compared with the stored value, field by field, before anything is written.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::operation::Operation;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::control::{FormView, Showing, chosen};
use super::fill::{fill, read};
use super::layout::Layout;
use super::listed::{Listed, Row, look_up};
use super::rules;
use super::spec::{ABOUT, Kind, Spec, specs};
use crate::console::meanwhile::{Fate, fate};
use crate::console::refusal::Refusal;
use crate::console::texts::{self, texts_of_form};
use crate::console::visit::{Fields, Visit, first};
use crate::console::{asking, labels};
use crate::translations::ENGLISH;
use crate::words::fill as fill_in;

/// Maximum number of characters shown of the other member's version. No text is longer.
const LONGEST: usize = 6_000;

/// A kind of resource that a form edits: the operations for it, and the layout of its form.
pub struct Resource {
    pub create: &'static str,
    /// The operation whose answer contains the values. It is a list operation where the interface
    /// has no operation that reads a single resource.
    pub read: &'static str,
    /// Reads one resource by its id.
    pub stored: for<'v> fn(&'v Visit, Uuid) -> Reading<'v>,
    pub update: &'static str,
    pub layout: &'static Layout,
}

/// A future that reads one resource.
pub type Reading<'v> = BoxFuture<'v, Result<Stored, Refusal>>;

/// A resource as it is stored.
pub struct Stored {
    pub id: Uuid,
    /// The resource as its read operation returns it.
    pub value: Map<String, Value>,
}

/// The outcome of a submitted form.
pub enum Outcome<T> {
    /// The operation succeeded.
    Done(T),
    /// The form is shown again, with the reasons of the refusal or with the conflicts.
    Again(Box<FormView>),
}

impl Stored {
    /// Makes a `Stored` from an answer. A value that is not an object counts as an empty object.
    pub fn of(id: Uuid, value: Value) -> Self {
        Self {
            id,
            value: if let Value::Object(value) = value {
                value
            } else {
                Map::new()
            },
        }
    }

    fn updated_at(&self) -> String {
        self.value
            .get("updatedAt")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }
}

/// The fields of a form, and everything that is needed to show them.
struct Drawn<'v> {
    visit: &'v Visit,
    operation: &'static Operation,
    layout: &'static Layout,
    action: String,
    fields: Fields,
    base: Map<String, Value>,
    updated_at: String,
    is_new: bool,
    problems: Problems,
    theirs: HashMap<String, String>,
    /// The rows that a search found, by the name of the field.
    found: HashMap<String, Vec<Row>>,
    conflict: bool,
    /// Whether a part of the form is already saved.
    is_begun: bool,
    /// Whether it cannot be changed, even with every permission.
    is_locked: bool,
}

/// The reasons why a form was refused.
#[derive(Default)]
struct Problems {
    status: u16,
    general: Vec<String>,
    /// Path of the field, and the message.
    fields: Vec<(Vec<String>, String)>,
    notes: Vec<String>,
}

impl Problems {
    fn of(visit: &Visit, refusal: &Refusal) -> Self {
        let words = &visit.words.forms;
        let mut general = Vec::new();
        if refusal.issues.is_empty() {
            general.push(refusal.message.clone());
        }
        if let Some(seconds) = refusal.retry_after {
            general.push(fill_in(
                words.try_later,
                &[("seconds", &seconds.to_string())],
            ));
        }
        if refusal.more > 0 {
            general.push(fill_in(
                words.more_problems,
                &[("count", &refusal.more.to_string())],
            ));
        }
        let below = |path: &[String]| {
            path.strip_prefix(&["data".to_owned()])
                .unwrap_or(path)
                .to_vec()
        };
        let fields = refusal
            .issues
            .iter()
            .map(|issue| (below(&issue.path), issue.message.clone()))
            .collect();
        Self {
            status: refusal.status,
            general,
            fields,
            notes: Vec::new(),
        }
    }
}

fn operation(visit: &Visit, id: &str) -> Result<&'static Operation, Refusal> {
    asking::operation(&visit.service, id).ok_or_else(Refusal::broken)
}

/// Returns whether a field has an effect for this type of resource. Only `stepType` is decided
/// here, because a form never changes it. Conditions on other fields count as met. A field that
/// depends on a hidden field is hidden too.
fn is_shown(spec: &Spec, all: &[Spec], base: &Map<String, Value>, depth: u8) -> bool {
    let Some((field, values)) = &spec.when else {
        return true;
    };
    if depth == 0 {
        return true;
    }
    let decides = base
        .get(field)
        .and_then(Value::as_str)
        .filter(|_| field == "stepType");
    let is_with = decides.is_none_or(|value| values.iter().any(|wanted| wanted == value));
    is_with
        && all
            .iter()
            .find(|other| other.name == *field)
            .is_none_or(|other| is_shown(other, all, base, depth - 1))
}

/// Returns the fields of the form that changes a resource.
fn shown_specs(
    visit: &Visit,
    resource: &Resource,
    base: &Map<String, Value>,
) -> Result<Vec<Spec>, Refusal> {
    let (update, read) = (
        operation(visit, resource.update)?,
        operation(visit, resource.read)?,
    );
    let all = specs(update, Some(read));
    let of_form = all.iter().filter(|spec| {
        spec.kind != Kind::Other && !resource.layout.elsewhere.contains(&spec.name.as_str())
    });
    Ok(of_form
        .filter(|spec| is_shown(spec, &all, base, 3))
        .map(|spec| laid_out(visit, spec.clone(), resource.layout, base))
        .collect())
}

/// Adapts a field to the layout of this form and to the values in `base`.
fn laid_out(visit: &Visit, mut spec: Spec, layout: &Layout, base: &Map<String, Value>) -> Spec {
    let names = layout.names_in(&spec.name);
    spec.is_readable |= layout.is_read_elsewhere(&spec.name) && base.contains_key(&spec.name);
    match &mut spec.kind {
        // A text that the read operation omits may be in `base` from another source. Such a text
        // counts as readable.
        Kind::Text(_) => spec.is_readable |= base.contains_key(&spec.name),
        Kind::Lines => spec.kind = names.map_or(Kind::Lines, Kind::Names),
        Kind::Rules(parts) => {
            let list = layout
                .rules_in(&spec.name)
                .and_then(|rules| base.get(rules.list));
            let about = parts.iter_mut().find(|part| part.name == ABOUT);
            if let Some(about) = about {
                let known = rules::suggested(visit.language, names.unwrap_or_default(), list);
                about.kind = Kind::Suggested(known);
            }
        }
        _ => {}
    }
    spec
}

/// Returns the text fields that the answer of the read operation does not contain.
pub fn untold_texts(visit: &Visit, resource: &Resource) -> Result<Vec<String>, Refusal> {
    let (update, read) = (
        operation(visit, resource.update)?,
        operation(visit, resource.read)?,
    );
    let all = specs(update, Some(read));
    Ok(all
        .iter()
        .filter(|spec| matches!(spec.kind, Kind::Text(_)) && !spec.is_readable)
        .map(|spec| spec.name.clone())
        .collect())
}

/// Returns the values that a form is made from: the values of its fields, and the texts that they
/// link. If the member may not read texts, only the link is included.
async fn base_of(
    visit: &Visit,
    resource: &Resource,
    stored: &Stored,
) -> Result<Map<String, Value>, Refusal> {
    let specs = shown_specs(visit, resource, &stored.value)?;
    let link = |spec: &Spec| match (&spec.linked_by, &spec.kind) {
        (Some(link), _) => Some(link.clone()),
        (None, Kind::Text(_)) => Some(spec.name.clone()),
        _ => None,
    };
    let id = |field: &String| {
        stored
            .value
            .get(field)
            .and_then(Value::as_str)
            .and_then(|id| id.parse::<Uuid>().ok())
    };
    let texts = match texts_of_form(
        visit,
        ENGLISH,
        specs.iter().filter_map(link).filter_map(|field| id(&field)),
    )
    .await
    {
        Ok(texts) => Some(texts),
        Err(refusal) if refusal.status == 403 => None,
        Err(refusal) => return Err(refusal),
    };
    let mut base = Map::new();
    for spec in specs {
        if let Some((link, id)) = link(&spec).and_then(|link| Some((link.clone(), id(&link)?))) {
            let text = texts.as_ref().map(|texts| json!(texts.get(&id)));
            if spec.linked_by.is_some() {
                base.extend(text.map(|text| (spec.name, text)));
                base.insert(link, json!(id));
            } else {
                let linked = [("id".to_owned(), json!(id))]
                    .into_iter()
                    .chain(text.map(|text| ("text".to_owned(), text)));
                base.insert(spec.name, linked.collect::<Map<_, _>>().into());
            }
        } else if let Some(value) = stored.value.get(&spec.name) {
            base.insert(spec.name, value.clone());
        }
    }
    Ok(base)
}

/// Makes the form that changes a resource, with its stored values.
pub async fn edit_form(
    visit: &Visit,
    resource: &Resource,
    stored: &Stored,
    action: String,
) -> Result<FormView, Refusal> {
    let base = base_of(visit, resource, stored).await?;
    let specs = shown_specs(visit, resource, &stored.value)?;
    let mut fields = Fields::new();
    for spec in &specs {
        fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    }
    let updated_at = stored.updated_at();
    draw(visit, resource, action, fields, base, updated_at)
        .view(&specs)
        .await
}

fn draw<'v>(
    visit: &'v Visit,
    resource: &Resource,
    action: String,
    fields: Fields,
    base: Map<String, Value>,
    updated_at: String,
) -> Drawn<'v> {
    Drawn {
        visit,
        // Callers have already refused an operation that does not exist.
        operation: asking::operation(&visit.service, resource.update)
            .unwrap_or(&visit.service.app.operations[0]),
        layout: resource.layout,
        action,
        fields,
        base,
        updated_at,
        is_new: false,
        problems: Problems::default(),
        theirs: HashMap::new(),
        found: HashMap::new(),
        conflict: false,
        is_begun: false,
        is_locked: false,
    }
}

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

/// Returns the values that a form was made from.
fn sent_base(visit: &Visit) -> Map<String, Value> {
    visit
        .sent("base")
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Saves a form that changes a resource. `now` is the resource as it is stored at this moment.
/// Returns whether anything was changed, or the form again.
pub async fn saved(
    visit: &Visit,
    resource: &Resource,
    now: &Stored,
    action: String,
) -> Result<Outcome<bool>, Refusal> {
    let sent: Option<Map<String, Value>> = visit
        .sent("base")
        .and_then(|text| serde_json::from_str(text).ok());
    let (base, updated_at) = if let Some(base) = sent {
        (base, visit.sent("updatedAt").unwrap_or_default().to_owned())
    } else {
        (base_of(visit, resource, now).await?, now.updated_at())
    };
    let specs = shown_specs(visit, resource, &base)?;
    let typed = visit.fields.clone();
    let mut drawn = draw(visit, resource, action, typed, base, updated_at);
    if !visit.may_write() {
        drawn
            .problems
            .notes
            .push(visit.words.frame.is_kept.to_owned());
        return drawn.again(&specs).await;
    }
    if !drawn.look_up(&specs).await? {
        return drawn.again(&specs).await;
    }
    let changes = drawn.changes(&specs);
    let faults = rules::faults(visit, &specs, &drawn.fields);
    if !faults.is_empty() {
        drawn.problems.status = 400;
        drawn.problems.fields = faults;
        return drawn.again(&specs).await;
    }
    if changes.is_empty() {
        return Ok(Outcome::Done(false));
    }
    let current = base_of(visit, resource, now).await?;
    let is_asked = |(spec, typed): &(Spec, Value)| {
        fate(
            &drawn.untouched(spec),
            &value_in(spec, &current),
            &Some(typed.clone()),
        ) == Fate::Asked
    };
    let is_another = !drawn.updated_at.is_empty() && now.updated_at() != drawn.updated_at;
    if is_another || changes.iter().any(is_asked) {
        return drawn.conflicting(&specs, current, now).await;
    }
    let is_guarded = takes_expected(drawn.operation);
    match written(visit, &mut drawn, now.id, changes, is_guarded).await {
        Ok(()) => Ok(Outcome::Done(true)),
        Err(refusal) if refusal.status == 409 && is_guarded && !drawn.is_begun => {
            let now = (resource.stored)(visit, now.id).await?;
            if now.updated_at() == drawn.updated_at {
                drawn.problems = Problems::of(visit, &refusal);
                return drawn.again(&specs).await;
            }
            let current = base_of(visit, resource, &now).await?;
            drawn.conflicting(&specs, current, &now).await
        }
        Err(refusal) => {
            drawn.problems = Problems::of(visit, &refusal);
            if drawn.is_begun {
                drawn
                    .problems
                    .notes
                    .push(visit.words.forms.rest_saved.to_owned());
            }
            drawn.again(&specs).await
        }
    }
}

/// Returns the typed values that differ from the values that the form was made from.
pub fn typed(visit: &Visit, resource: &Resource) -> Result<Map<String, Value>, Refusal> {
    let Some(base) = visit
        .sent("base")
        .and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok())
    else {
        return Ok(Map::new());
    };
    let specs = shown_specs(visit, resource, &base)?;
    let drawn = draw(
        visit,
        resource,
        String::new(),
        visit.fields.clone(),
        base,
        String::new(),
    );
    Ok(drawn
        .changes(&specs)
        .into_iter()
        .map(|(spec, value)| (spec.name, value))
        .collect())
}

/// Returns whether an update accepts `expectedUpdatedAt`.
fn takes_expected(operation: &'static Operation) -> bool {
    operation.input_schema(&mut engine::operation::inline_generator())["properties"]
        .get("expectedUpdatedAt")
        .is_some()
}

/// Sends the changes: new texts first, then the resource, then texts that exist already. Each saved
/// value becomes part of the form's base. If a later request is refused, the member can continue
/// from there.
async fn written(
    visit: &Visit,
    drawn: &mut Drawn<'_>,
    id: Uuid,
    changes: Vec<(Spec, Value)>,
    is_guarded: bool,
) -> Result<(), Refusal> {
    let (mut data, mut texts, mut saved) = (Map::new(), Vec::new(), Vec::new());
    for (spec, value) in changes {
        let linked = drawn
            .base
            .get(&spec.name)
            .and_then(|linked| linked["id"].as_str())
            .map(str::to_owned);
        match (
            &spec.kind,
            linked,
            value["text"].as_str().map(str::to_owned),
        ) {
            (Kind::Text(_), Some(linked), Some(text)) => texts.push((linked, text, spec.name)),
            (Kind::Text(source), None, Some(text)) => {
                let made = new_text(visit, source, &spec.name, &text)
                    .await
                    .map_err(|refusal| about(refusal, &spec.name))?;
                saved.push((spec.clone(), json!({ "id": made, "text": text })));
                data.insert(spec.name, made.into());
            }
            (Kind::Text(_), _, None) => {
                saved.push((spec.clone(), Value::Null));
                data.insert(spec.name, Value::Null);
            }
            (_, _, _) => {
                saved.push((spec.clone(), value.clone()));
                data.insert(spec.name, value);
            }
        }
    }
    if !data.is_empty() {
        let mut arguments = json!({ "id": id, "data": data });
        if is_guarded && !drawn.updated_at.is_empty() {
            arguments["expectedUpdatedAt"] = drawn.updated_at.as_str().into();
        }
        let stored = Stored::of(id, visit.get(drawn.operation.id, arguments).await?);
        drawn.rebase(saved, &stored);
    }
    for (id, text, name) in texts {
        texts::write(visit, &id, ENGLISH, &text)
            .await
            .map_err(|refusal| about(refusal, &name))?;
        drawn.base.insert(name, json!({ "id": id, "text": text }));
        drawn.is_begun = true;
    }
    Ok(())
}

/// Creates a text for a field of the form and returns its id. Sending the form again does not
/// create a second text. Two fields with the same wording get a text each.
pub async fn new_text(
    visit: &Visit,
    source: &str,
    place: &str,
    text: &str,
) -> Result<String, Refusal> {
    let digest = Sha256::new()
        .chain_update(place)
        .chain_update([0])
        .chain_update(text)
        .finalize();
    let arguments = json!({ "sourceTable": source, "text": text });
    let made: Value = visit
        .create(
            "createTranslation",
            arguments,
            &visit.key(&URL_SAFE_NO_PAD.encode(&digest[..8])),
        )
        .await?;
    Ok(made["id"].as_str().unwrap_or_default().to_owned())
}

/// Makes the refusal of a text a refusal of the field that the text is for.
fn about(mut refusal: Refusal, field: &str) -> Refusal {
    for issue in &mut refusal.issues {
        issue.path = vec![field.to_owned()];
    }
    refusal
}

/// Makes the form that creates a resource.
pub async fn create_form(
    visit: &Visit,
    resource: &Resource,
    action: String,
) -> Result<FormView, Refusal> {
    let specs = specs_of_new(visit, resource)?;
    let mut fields = Fields::new();
    for spec in &specs {
        // The query of a link to this form can contain initial values.
        let begins = visit.asks(&spec.name).map(|text| json!(text));
        fill(spec, begins.as_ref(), &spec.name, &mut fields);
    }
    drawn_new(visit, resource, action, fields)?
        .view(&specs)
        .await
}

fn specs_of_new(visit: &Visit, resource: &Resource) -> Result<Vec<Spec>, Refusal> {
    let all = specs(operation(visit, resource.create)?, None);
    Ok(resource.layout.of_new(&all).into_iter().cloned().collect())
}

fn drawn_new<'v>(
    visit: &'v Visit,
    resource: &Resource,
    action: String,
    fields: Fields,
) -> Result<Drawn<'v>, Refusal> {
    let create = operation(visit, resource.create)?;
    Ok(Drawn {
        operation: create,
        is_new: true,
        ..draw(visit, resource, action, fields, Map::new(), String::new())
    })
}

/// Creates a resource from a submitted form. Returns the new resource, or the form again.
pub async fn created(
    visit: &Visit,
    resource: &Resource,
    action: String,
) -> Result<Outcome<Value>, Refusal> {
    let specs = specs_of_new(visit, resource)?;
    let mut drawn = drawn_new(visit, resource, action, visit.fields.clone())?;
    if !visit.may_write() {
        drawn
            .problems
            .notes
            .push(visit.words.frame.is_kept.to_owned());
        return drawn.again(&specs).await;
    }
    if !drawn.look_up(&specs).await? {
        return drawn.again(&specs).await;
    }
    let said = specs
        .iter()
        .filter_map(|spec| Some((spec, read(spec, &spec.name, &drawn.fields)?)));
    // An optional field that is left empty is not sent.
    let said = said.filter(|(spec, value)| !value.is_null() && (spec.is_required || value != ""));
    let arguments: Map<String, Value> = said
        .map(|(spec, value)| (spec.name.clone(), value))
        .collect();
    match visit
        .create(resource.create, arguments.into(), &visit.key("create"))
        .await
    {
        Ok(made) => Ok(Outcome::Done(made)),
        Err(refusal) => {
            drawn.problems = Problems::of(visit, &refusal);
            if refusal.status == 422 {
                // The idempotency key belongs to an earlier create with other values. The form gets
                // a new key.
                drawn.fields.retain(|(name, _)| name != "key");
                drawn.problems.general = vec![visit.words.forms.made_already.to_owned()];
            }
            drawn.again(&specs).await
        }
    }
}

impl Drawn<'_> {
    /// Looks up the names that are typed for rows of long lists. Returns whether each of them
    /// identifies one row.
    async fn look_up(&mut self, specs: &[Spec]) -> Result<bool, Refusal> {
        let looked = look_up(self.visit, specs, &mut self.fields).await?;
        if looked.problems.is_empty() {
            return Ok(true);
        }
        self.found = looked.found;
        self.problems.status = 400;
        self.problems.fields = looked.problems;
        Ok(false)
    }

    /// Returns the fields whose typed value differs from the base.
    fn changes(&self, specs: &[Spec]) -> Vec<(Spec, Value)> {
        let change = |spec: &Spec| {
            if first(&self.fields, &chosen(&spec.name)) == Some("theirs") {
                return None;
            }
            let typed = read(spec, &spec.name, &self.fields)?;
            (self.untouched(spec) != Some(&typed).cloned()).then_some((spec.clone(), typed))
        };
        specs.iter().filter_map(change).collect()
    }

    /// Returns the value that the form would send for an untouched field.
    fn untouched(&self, spec: &Spec) -> Option<Value> {
        value_in(spec, &self.base)
    }

    /// Replaces the base by the saved values: the resource as its update returned it, and the saved
    /// texts.
    fn rebase(&mut self, saved: Vec<(Spec, Value)>, stored: &Stored) {
        self.updated_at = stored.updated_at();
        self.is_begun = true;
        for (spec, value) in saved {
            let answered = |name: &String| stored.value.get(name).cloned();
            if let Some(link) = &spec.linked_by {
                self.base
                    .extend(answered(link).map(|id| (link.clone(), id)));
                self.base.insert(spec.name, value);
            } else if matches!(spec.kind, Kind::Text(_)) {
                self.base.insert(spec.name, value);
            } else {
                let now = answered(&spec.name).unwrap_or(value);
                self.base.insert(spec.name, now);
            }
        }
    }

    /// Shows the form on the state that another member saved in between.
    async fn conflicting(
        mut self,
        specs: &[Spec],
        current: Map<String, Value>,
        now: &Stored,
    ) -> Result<Outcome<bool>, Refusal> {
        let mut fields = Fields::new();
        for spec in specs {
            let (was, is) = (self.untouched(spec), value_in(spec, &current));
            let typed = read(spec, &spec.name, &self.fields);
            let fate = if typed.is_none() {
                Fate::Stored
            } else {
                fate(&was, &is, &typed)
            };
            if fate == Fate::Stored {
                fill(spec, current.get(&spec.name), &spec.name, &mut fields);
            } else {
                copy(spec, &self.fields, &mut fields);
            }
            if fate == Fate::Asked {
                self.theirs
                    .insert(spec.name.clone(), shown(spec, current.get(&spec.name)));
            }
        }
        let key = first(&self.fields, "key").map(str::to_owned);
        fields.extend(key.map(|key| ("key".to_owned(), key)));
        (self.fields, self.base, self.updated_at) = (fields, current, now.updated_at());
        self.conflict = true;
        self.problems.status = 409;
        self.again(specs).await
    }

    async fn again<T>(self, specs: &[Spec]) -> Result<Outcome<T>, Refusal> {
        self.view(specs)
            .await
            .map(|view| Outcome::Again(Box::new(view)))
    }

    async fn view(self, specs: &[Spec]) -> Result<FormView, Refusal> {
        let (visit, words) = (self.visit, self.visit.words);
        let listed = Listed::load(visit, specs, &self.fields, &self.found).await;
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let (mut errors, mut problems): (HashMap<String, Vec<String>>, Vec<_>) =
            (HashMap::new(), Vec::new());
        problems.extend(
            self.problems
                .general
                .iter()
                .map(|text| (text.clone(), None)),
        );
        for (path, message) in &self.problems.fields {
            let path = rules::in_row(path, specs, &self.fields);
            let place = place(&path, &names, &self.fields);
            let field = path
                .iter()
                .rfind(|segment| segment.parse::<usize>().is_err())
                .map_or("", String::as_str);
            let label = || labels::label(visit.language, field);
            let said = if field.is_empty() {
                message.clone()
            } else {
                words.frame.labelled(&label(), message)
            };
            problems.push((said, place.clone()));
            if let Some(name) = place {
                errors.entry(name).or_default().push(message.clone());
            }
        }
        let linked = |spec: &Spec| {
            let id = match &spec.linked_by {
                Some(link) => self.base.get(link)?.as_str()?,
                None => self.base.get(&spec.name)?.get("id")?.as_str()?,
            };
            Some((spec.name.clone(), id.to_owned()))
        };
        let texts: HashMap<String, String> = specs.iter().filter_map(linked).collect();
        let is_unseen = |spec: &&Spec| {
            let known = self.base.get(&spec.name);
            texts.contains_key(&spec.name)
                && if spec.linked_by.is_some() {
                    known.is_none()
                } else {
                    known.is_some_and(|known| known.get("text").is_none())
                }
        };
        let unseen: HashSet<String> = specs
            .iter()
            .filter(is_unseen)
            .map(|spec| spec.name.clone())
            .collect();
        let is_read_only = self.is_locked || !visit.may(self.operation.id);
        let showing = Showing {
            visit,
            fields: &self.fields,
            listed: &listed,
            errors: &errors,
            theirs: &self.theirs,
            texts: &texts,
            unseen: &unseen,
            is_read_only,
            layout: self.layout,
            base: &self.base,
        };
        let arranged = if self.is_new || self.layout.sections.is_empty() {
            vec![("", specs.iter().collect())]
        } else {
            self.layout.arranged(specs, words)
        };
        let text = |spec: &&Spec| {
            Some((
                labels::label(visit.language, &spec.name),
                texts.get(&spec.name)?.parse().ok()?,
            ))
        };
        let linked = arranged
            .iter()
            .flat_map(|(_, specs)| specs.iter().copied())
            .filter_map(|spec| text(&spec))
            .collect();
        let sections = arranged.into_iter().map(|(title, specs)| {
            (
                title,
                specs
                    .into_iter()
                    .map(|spec| showing.control(spec, &spec.name))
                    .collect(),
            )
        });
        let sections = sections.collect();
        let key = first(&self.fields, "key").map_or_else(|| visit.new_key(), str::to_owned);
        let mut hidden = vec![
            ("form".to_owned(), visit.signed_in.form_token()),
            ("key".to_owned(), key),
        ];
        if !self.is_new {
            hidden.push((
                "base".to_owned(),
                Value::Object(self.base.clone()).to_string(),
            ));
            hidden.push(("updatedAt".to_owned(), self.updated_at.clone()));
        }
        let problems = problems
            .into_iter()
            .map(|(text, name)| {
                (
                    text,
                    name.map(|name| format!("f-{}", name.replace('.', "-"))),
                )
            })
            .collect();
        Ok(FormView {
            action: self.action,
            status: if self.problems.status == 0 {
                200
            } else {
                self.problems.status
            },
            hidden,
            texts: linked,
            sections,
            problems,
            notes: self.problems.notes,
            conflict: self
                .conflict
                .then_some((words.forms.conflict, words.forms.conflict_text)),
            submit: if self.is_new {
                words.forms.create
            } else {
                words.forms.save
            },
            is_read_only,
            words,
        })
    }
}

/// Returns the value that an untouched form sends for a field with these values.
fn value_in(spec: &Spec, base: &Map<String, Value>) -> Option<Value> {
    let mut fields = Fields::new();
    fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    read(spec, &spec.name, &fields)
}

/// Copies the typed values of a field, with those of its parts.
fn copy(spec: &Spec, from: &Fields, to: &mut Fields) {
    let below = format!("{}.", spec.name);
    to.extend(
        from.iter()
            .filter(|(name, _)| *name == spec.name || name.starts_with(&below))
            .cloned(),
    );
}

/// Returns a short text for a value, so that the member can choose between two versions.
fn shown(spec: &Spec, value: Option<&Value>) -> String {
    let mut fields = Fields::new();
    fill(spec, value, &spec.name, &mut fields);
    let is_mark = |name: &str| matches!(name.rsplit_once('.'), Some((_, "here" | "set")));
    let said = fields
        .into_iter()
        .filter(|(name, value)| !is_mark(name) && !value.is_empty());
    let text = said.map(|(_, value)| value).collect::<Vec<_>>().join(", ");
    text.chars().take(LONGEST).collect()
}

/// Returns the name of the field that a path points to: the longest known prefix of the path.
fn place(path: &[String], names: &[&str], fields: &Fields) -> Option<String> {
    let is_known = |name: &String| {
        names.contains(&name.as_str()) || fields.iter().any(|(known, _)| known == name)
    };
    (1..=path.len())
        .rev()
        .map(|length| path[..length].join("."))
        .find(is_known)
}
