//! The way of a form: shown, sent, refused, saved. What was typed stays whatever is refused.
//!
//! A form carries the values it was made of (`base`) and when they last changed (`updatedAt`). Of what comes back only that is sent which
//! is another than it was, with `expectedUpdatedAt`; where somebody else has changed the thing in between, the form is shown on the new
//! state, with both versions of what both have changed. A text may be another while the thing that links it is as it was: so what was
//! typed is held against what is stored, field by field, before anything is written.

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
use super::spec::{Kind, Spec, specs};
use crate::console::meanwhile::{Fate, fate};
use crate::console::refusal::Refusal;
use crate::console::texts::{self, texts_of_form};
use crate::console::visit::{Fields, Visit, first};
use crate::console::{asking, labels};
use crate::translations::ENGLISH;
use crate::words::fill as fill_in;

/// Characters of the other's version that are shown: as long as any text is.
const LONGEST: usize = 6_000;

/// What is edited by a form: the operations for it, and how it is laid out.
pub struct Resource {
    pub create: &'static str,
    /// Whose answer has the values; a list, where there is no read of one.
    pub read: &'static str,
    /// Reads one of them.
    pub stored: for<'v> fn(&'v Visit, Uuid) -> Reading<'v>,
    pub update: &'static str,
    pub layout: &'static Layout,
}

/// A thing on its way.
pub type Reading<'v> = BoxFuture<'v, Result<Stored, Refusal>>;

/// A thing as it is stored.
pub struct Stored {
    pub id: Uuid,
    /// As its read answers it.
    pub value: Map<String, Value>,
}

/// What became of a form.
pub enum Outcome<T> {
    /// It was done.
    Done(T),
    /// It is shown again.
    Again(Box<FormView>),
}

impl Stored {
    /// A thing as it was answered.
    pub fn of(id: Uuid, value: Value) -> Self {
        Self { id, value: if let Value::Object(value) = value { value } else { Map::new() } }
    }

    fn updated_at(&self) -> String {
        self.value.get("updatedAt").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// The fields of a form and what they are shown with.
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
    conflict: bool,
    /// Whether some of it is saved already.
    is_begun: bool,
}

/// What was refused.
#[derive(Default)]
struct Problems {
    status: u16,
    general: Vec<String>,
    /// By the path of the field.
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
            general.push(fill_in(words.try_later, &[("seconds", &seconds.to_string())]));
        }
        if refusal.more > 0 {
            general.push(fill_in(words.more_problems, &[("count", &refusal.more.to_string())]));
        }
        let below = |path: &[String]| path.strip_prefix(&["data".to_owned()]).unwrap_or(path).to_vec();
        let fields = refusal.issues.iter().map(|issue| (below(&issue.path), issue.message.clone())).collect();
        Self { status: refusal.status, general, fields, notes: Vec::new() }
    }
}

fn operation(visit: &Visit, id: &str) -> Result<&'static Operation, Refusal> {
    asking::operation(&visit.service, id).ok_or_else(Refusal::broken)
}

/// Whether a field has an effect, as far as that hangs on the type of the thing, which the form does not change.
fn is_shown(spec: &Spec, all: &[Spec], base: &Map<String, Value>, depth: u8) -> bool {
    let Some((field, values)) = &spec.when else { return true };
    if depth == 0 {
        return true;
    }
    let decides = base.get(field).and_then(Value::as_str).filter(|_| field == "stepType");
    let is_with = decides.is_none_or(|value| values.iter().any(|wanted| wanted == value));
    is_with && all.iter().find(|other| other.name == *field).is_none_or(|other| is_shown(other, all, base, depth - 1))
}

/// The fields of a form that changes a thing.
fn shown_specs(visit: &Visit, resource: &Resource, base: &Map<String, Value>) -> Result<Vec<Spec>, Refusal> {
    let (update, read) = (operation(visit, resource.update)?, operation(visit, resource.read)?);
    let all = specs(update, Some(read));
    let of_form = all.iter().filter(|spec| spec.kind != Kind::Other && !resource.layout.elsewhere.contains(&spec.name.as_str()));
    Ok(of_form.filter(|spec| is_shown(spec, &all, base, 3)).map(|spec| laid_out(spec.clone(), resource.layout, base)).collect())
}

/// A field as the form has it.
fn laid_out(mut spec: Spec, layout: &Layout, base: &Map<String, Value>) -> Spec {
    match &spec.kind {
        // Where a text that the read does not tell was found out, it is there as any other.
        Kind::Text(_) => spec.is_readable |= base.contains_key(&spec.name),
        Kind::Lines => spec.kind = layout.names_in(&spec.name).map_or(Kind::Lines, Kind::Names),
        _ => {}
    }
    spec
}

/// The fields whose texts the read of a thing does not tell.
pub fn untold_texts(visit: &Visit, resource: &Resource) -> Result<Vec<String>, Refusal> {
    let (update, read) = (operation(visit, resource.update)?, operation(visit, resource.read)?);
    let all = specs(update, Some(read));
    Ok(all.iter().filter(|spec| matches!(spec.kind, Kind::Text(_)) && !spec.is_readable).map(|spec| spec.name.clone()).collect())
}

/// The values that a form is made of: of the fields it has, with the texts that are linked. Of a text that the member may not read it has
/// the link alone.
async fn base_of(visit: &Visit, resource: &Resource, stored: &Stored) -> Result<Map<String, Value>, Refusal> {
    let specs = shown_specs(visit, resource, &stored.value)?;
    let link = |spec: &Spec| match (&spec.linked_by, &spec.kind) {
        (Some(link), _) => Some(link.clone()),
        (None, Kind::Text(_)) => Some(spec.name.clone()),
        _ => None,
    };
    let id = |field: &String| stored.value.get(field).and_then(Value::as_str).and_then(|id| id.parse::<Uuid>().ok());
    let texts = match texts_of_form(visit, ENGLISH, specs.iter().filter_map(link).filter_map(|field| id(&field))).await {
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
                let linked = [("id".to_owned(), json!(id))].into_iter().chain(text.map(|text| ("text".to_owned(), text)));
                base.insert(spec.name, linked.collect::<Map<_, _>>().into());
            }
        } else if let Some(value) = stored.value.get(&spec.name) {
            base.insert(spec.name, value.clone());
        }
    }
    Ok(base)
}

/// The form of a thing as it is.
pub async fn edit_form(visit: &Visit, resource: &Resource, stored: &Stored, action: String) -> Result<FormView, Refusal> {
    let base = base_of(visit, resource, stored).await?;
    let specs = shown_specs(visit, resource, &stored.value)?;
    let mut fields = Fields::new();
    for spec in &specs {
        fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    }
    let updated_at = stored.updated_at();
    draw(visit, resource, action, fields, base, updated_at).view(&specs).await
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
        // What is not there is refused before.
        operation: asking::operation(&visit.service, resource.update).unwrap_or(&visit.service.app.operations[0]),
        layout: resource.layout,
        action,
        fields,
        base,
        updated_at,
        is_new: false,
        problems: Problems::default(),
        theirs: HashMap::new(),
        conflict: false,
        is_begun: false,
    }
}

/// What becomes of a form that changes a thing, as it is stored now: whether anything was changed, or the form again.
pub async fn saved(visit: &Visit, resource: &Resource, now: &Stored, action: String) -> Result<Outcome<bool>, Refusal> {
    let sent: Option<Map<String, Value>> = visit.sent("base").and_then(|text| serde_json::from_str(text).ok());
    let (base, updated_at) = if let Some(base) = sent {
        (base, visit.sent("updatedAt").unwrap_or_default().to_owned())
    } else {
        (base_of(visit, resource, now).await?, now.updated_at())
    };
    let specs = shown_specs(visit, resource, &base)?;
    let typed = visit.fields.clone();
    let mut drawn = draw(visit, resource, action, typed, base, updated_at);
    if !visit.may_write() {
        drawn.problems.notes.push(visit.words.frame.is_kept.to_owned());
        return drawn.again(&specs).await;
    }
    let changes = drawn.changes(&specs);
    if changes.is_empty() {
        return Ok(Outcome::Done(false));
    }
    let current = base_of(visit, resource, now).await?;
    let is_asked =
        |(spec, typed): &(Spec, Value)| fate(&drawn.untouched(spec), &value_in(spec, &current), &Some(typed.clone())) == Fate::Asked;
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
                drawn.problems.notes.push(visit.words.forms.rest_saved.to_owned());
            }
            drawn.again(&specs).await
        }
    }
}

/// What was typed into the form of a thing, as far as it is another than what the form was made of.
pub fn typed(visit: &Visit, resource: &Resource) -> Result<Map<String, Value>, Refusal> {
    let Some(base) = visit.sent("base").and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok()) else {
        return Ok(Map::new());
    };
    let specs = shown_specs(visit, resource, &base)?;
    let drawn = draw(visit, resource, String::new(), visit.fields.clone(), base, String::new());
    Ok(drawn.changes(&specs).into_iter().map(|(spec, value)| (spec.name, value)).collect())
}

/// Whether an update says what it was made against.
fn takes_expected(operation: &'static Operation) -> bool {
    operation.input_schema(&mut engine::operation::inline_generator())["properties"].get("expectedUpdatedAt").is_some()
}

/// Sends what has changed: new texts first, then the thing, then texts that are there already. What is saved the form is based on from
/// then on, so that it goes on where something else is refused.
async fn written(visit: &Visit, drawn: &mut Drawn<'_>, id: Uuid, changes: Vec<(Spec, Value)>, is_guarded: bool) -> Result<(), Refusal> {
    let (mut data, mut texts, mut saved) = (Map::new(), Vec::new(), Vec::new());
    for (spec, value) in changes {
        let linked = drawn.base.get(&spec.name).and_then(|linked| linked["id"].as_str()).map(str::to_owned);
        match (&spec.kind, linked, value["text"].as_str().map(str::to_owned)) {
            (Kind::Text(_), Some(linked), Some(text)) => texts.push((linked, text, spec.name)),
            (Kind::Text(source), None, Some(text)) => {
                let made = new_text(visit, source, &spec.name, &text).await.map_err(|refusal| about(refusal, &spec.name))?;
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
        texts::write(visit, &id, ENGLISH, &text).await.map_err(|refusal| about(refusal, &name))?;
        drawn.base.insert(name, json!({ "id": id, "text": text }));
        drawn.is_begun = true;
    }
    Ok(())
}

/// A new text for a place of the form, made once however often that is sent; its id. Two places that say the same have a text each.
pub async fn new_text(visit: &Visit, source: &str, place: &str, text: &str) -> Result<String, Refusal> {
    let digest = Sha256::new().chain_update(place).chain_update([0]).chain_update(text).finalize();
    let arguments = json!({ "sourceTable": source, "text": text });
    let made: Value = visit.create("createTranslation", arguments, &visit.key(&URL_SAFE_NO_PAD.encode(&digest[..8]))).await?;
    Ok(made["id"].as_str().unwrap_or_default().to_owned())
}

/// A refusal of a text, as one of the field that it is for.
fn about(mut refusal: Refusal, field: &str) -> Refusal {
    for issue in &mut refusal.issues {
        issue.path = vec![field.to_owned()];
    }
    refusal
}

/// The form by which a thing is made.
pub async fn create_form(visit: &Visit, resource: &Resource, action: String) -> Result<FormView, Refusal> {
    let specs = specs_of_new(visit, resource)?;
    let mut fields = Fields::new();
    for spec in &specs {
        // What leads here may say with what it begins.
        let begins = visit.asks(&spec.name).map(|text| json!(text));
        fill(spec, begins.as_ref(), &spec.name, &mut fields);
    }
    drawn_new(visit, resource, action, fields)?.view(&specs).await
}

fn specs_of_new(visit: &Visit, resource: &Resource) -> Result<Vec<Spec>, Refusal> {
    let all = specs(operation(visit, resource.create)?, None);
    Ok(resource.layout.of_new(&all).into_iter().cloned().collect())
}

fn drawn_new<'v>(visit: &'v Visit, resource: &Resource, action: String, fields: Fields) -> Result<Drawn<'v>, Refusal> {
    let create = operation(visit, resource.create)?;
    Ok(Drawn { operation: create, is_new: true, ..draw(visit, resource, action, fields, Map::new(), String::new()) })
}

/// What becomes of a form by which a thing is made: the thing, or the form again.
pub async fn created(visit: &Visit, resource: &Resource, action: String) -> Result<Outcome<Value>, Refusal> {
    let specs = specs_of_new(visit, resource)?;
    let mut drawn = drawn_new(visit, resource, action, visit.fields.clone())?;
    if !visit.may_write() {
        drawn.problems.notes.push(visit.words.frame.is_kept.to_owned());
        return drawn.again(&specs).await;
    }
    let said = specs.iter().filter_map(|spec| Some((spec, read(spec, &spec.name, &visit.fields)?)));
    // Nothing is said of what may be left out and is left empty.
    let said = said.filter(|(spec, value)| !value.is_null() && (spec.is_required || value != ""));
    let arguments: Map<String, Value> = said.map(|(spec, value)| (spec.name.clone(), value)).collect();
    match visit.create(resource.create, arguments.into(), &visit.key("create")).await {
        Ok(made) => Ok(Outcome::Done(made)),
        Err(refusal) => {
            drawn.problems = Problems::of(visit, &refusal);
            if refusal.status == 422 {
                // The key is that of what was made; another one is given with the form.
                drawn.fields.retain(|(name, _)| name != "key");
                drawn.problems.general = vec![visit.words.forms.made_already.to_owned()];
            }
            drawn.again(&specs).await
        }
    }
}

impl Drawn<'_> {
    /// What is another than it was, of what was typed.
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

    /// What the form would say of a field that nobody has touched.
    fn untouched(&self, spec: &Spec) -> Option<Value> {
        value_in(spec, &self.base)
    }

    /// Goes on from what is saved: the thing as its update answers it, and what was said of its texts.
    fn rebase(&mut self, saved: Vec<(Spec, Value)>, stored: &Stored) {
        self.updated_at = stored.updated_at();
        self.is_begun = true;
        for (spec, value) in saved {
            let answered = |name: &String| stored.value.get(name).cloned();
            if let Some(link) = &spec.linked_by {
                self.base.extend(answered(link).map(|id| (link.clone(), id)));
                self.base.insert(spec.name, value);
            } else if matches!(spec.kind, Kind::Text(_)) {
                self.base.insert(spec.name, value);
            } else {
                let now = answered(&spec.name).unwrap_or(value);
                self.base.insert(spec.name, now);
            }
        }
    }

    /// The form on the state that somebody else has led to in between.
    async fn conflicting(mut self, specs: &[Spec], current: Map<String, Value>, now: &Stored) -> Result<Outcome<bool>, Refusal> {
        let mut fields = Fields::new();
        for spec in specs {
            let (was, is) = (self.untouched(spec), value_in(spec, &current));
            let typed = read(spec, &spec.name, &self.fields);
            let fate = if typed.is_none() { Fate::Stored } else { fate(&was, &is, &typed) };
            if fate == Fate::Stored {
                fill(spec, current.get(&spec.name), &spec.name, &mut fields);
            } else {
                copy(spec, &self.fields, &mut fields);
            }
            if fate == Fate::Asked {
                self.theirs.insert(spec.name.clone(), shown(spec, current.get(&spec.name)));
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
        self.view(specs).await.map(|view| Outcome::Again(Box::new(view)))
    }

    async fn view(self, specs: &[Spec]) -> Result<FormView, Refusal> {
        let (visit, words) = (self.visit, self.visit.words);
        let listed = listed(visit, specs).await;
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let (mut errors, mut problems): (HashMap<String, Vec<String>>, Vec<_>) = (HashMap::new(), Vec::new());
        problems.extend(self.problems.general.iter().map(|text| (text.clone(), None)));
        for (path, message) in &self.problems.fields {
            let place = place(path, &names, &self.fields);
            let field = path.iter().rfind(|segment| segment.parse::<usize>().is_err()).map_or("", String::as_str);
            let label = || labels::label(visit.language, field);
            let said = if field.is_empty() { message.clone() } else { words.frame.labelled(&label(), message) };
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
                && if spec.linked_by.is_some() { known.is_none() } else { known.is_some_and(|known| known.get("text").is_none()) }
        };
        let unseen: HashSet<String> = specs.iter().filter(is_unseen).map(|spec| spec.name.clone()).collect();
        let is_read_only = !visit.may(self.operation.id);
        let showing = Showing {
            visit,
            fields: &self.fields,
            listed: &listed,
            errors: &errors,
            theirs: &self.theirs,
            texts: &texts,
            unseen: &unseen,
            is_read_only,
            markdown: self.layout.markdown,
        };
        let arranged = if self.is_new { vec![("", specs.iter().collect())] } else { self.layout.arranged(specs, words) };
        let text = |spec: &&Spec| Some((labels::label(visit.language, &spec.name), texts.get(&spec.name)?.parse().ok()?));
        let linked = arranged.iter().flat_map(|(_, specs)| specs.iter().copied()).filter_map(|spec| text(&spec)).collect();
        let sections =
            arranged.into_iter().map(|(title, specs)| (title, specs.into_iter().map(|spec| showing.control(spec, &spec.name)).collect()));
        let sections = sections.collect();
        let key = first(&self.fields, "key").map_or_else(|| visit.new_key(), str::to_owned);
        let mut hidden = vec![("form".to_owned(), visit.signed_in.form_token()), ("key".to_owned(), key)];
        if !self.is_new {
            hidden.push(("base".to_owned(), Value::Object(self.base.clone()).to_string()));
            hidden.push(("updatedAt".to_owned(), self.updated_at.clone()));
        }
        let problems = problems.into_iter().map(|(text, name)| (text, name.map(|name| format!("f-{}", name.replace('.', "-"))))).collect();
        Ok(FormView {
            action: self.action,
            status: if self.problems.status == 0 { 200 } else { self.problems.status },
            hidden,
            texts: linked,
            sections,
            problems,
            notes: self.problems.notes,
            conflict: self.conflict.then_some((words.forms.conflict, words.forms.conflict_text)),
            submit: if self.is_new { words.forms.create } else { words.forms.save },
            is_read_only,
            words,
        })
    }
}

/// What a form says of a field of a value that nobody touches.
fn value_in(spec: &Spec, base: &Map<String, Value>) -> Option<Value> {
    let mut fields = Fields::new();
    fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    read(spec, &spec.name, &fields)
}

/// Takes over what was typed into a field.
fn copy(spec: &Spec, from: &Fields, to: &mut Fields) {
    let below = format!("{}.", spec.name);
    to.extend(from.iter().filter(|(name, _)| *name == spec.name || name.starts_with(&below)).cloned());
}

/// A value in a few words, for somebody to choose by.
fn shown(spec: &Spec, value: Option<&Value>) -> String {
    let mut fields = Fields::new();
    fill(spec, value, &spec.name, &mut fields);
    let is_mark = |name: &str| matches!(name.rsplit_once('.'), Some((_, "here" | "set")));
    let said = fields.into_iter().filter(|(name, value)| !is_mark(name) && !value.is_empty());
    let text = said.map(|(_, value)| value).collect::<Vec<_>>().join(", ");
    text.chars().take(LONGEST).collect()
}

/// The name of the field that a path is about: the longest that it begins with.
fn place(path: &[String], names: &[&str], fields: &Fields) -> Option<String> {
    let is_known = |name: &String| names.contains(&name.as_str()) || fields.iter().any(|(known, _)| known == name);
    (1..=path.len()).rev().map(|length| path[..length].join(".")).find(is_known)
}

/// What operations list that fields name. What is not to be had is typed instead.
async fn listed(visit: &Visit, specs: &[Spec]) -> HashMap<String, Vec<(String, String)>> {
    let mut listed = HashMap::new();
    for spec in specs {
        if let Kind::Reference(list) | Kind::References(list) = &spec.kind
            && !listed.contains_key(list)
            && let Ok(rows) = visit.get::<Vec<Value>>(list, json!({})).await
        {
            listed.insert(list.clone(), rows.iter().filter_map(named).collect());
        }
    }
    listed
}

/// A row of a list as something to choose: its id, and what it is called.
fn named(row: &Value) -> Option<(String, String)> {
    let id = row["id"].as_str()?;
    let name = ["name", "title", "nickname", "host"].iter().find_map(|field| row[*field].as_str()).filter(|name| !name.trim().is_empty());
    Some((id.to_owned(), name.unwrap_or(id).to_owned()))
}
