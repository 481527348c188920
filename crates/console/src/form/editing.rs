//! Shows, checks and saves a form. A refused form is shown again with the reasons and with
//! everything that the member typed.
//!
//! A form contains the values that it showed when it was opened (`base`), and the time of their
//! last change (`updatedAt`). An update sends only the fields that the member changed, with
//! `expectedUpdatedAt`. If another member has changed the resource since the form was opened, the
//! form is shown again with the new values. For a field that both members changed, it shows both
//! versions.
//!
//! A text can change while the resource that uses it stays the same. So before the console writes
//! anything, it also compares each typed value with the stored value.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::operation::Operation;
use features::translations::ENGLISH;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::control::FormView;
use super::fill::{fill, read};
use super::form_view::{FormFieldsView, FormOutcome, Problems, StoredResource, value_in};
use super::layout::Layout;
use super::rules;
use super::spec::{FieldSpec, InputKind, RULE_NAME_FIELD, specs};
use crate::merge::{MergeResult, merge};
use crate::operation_calls;
use crate::refusal::ConsoleRefusal;
use crate::request::{ConsoleFields, ConsoleRequest};
use crate::texts::{self, texts_of_form};

/// A type of resource that a form creates or changes: its operations, and the layout of its form.
pub struct Resource {
    pub create: &'static str,
    /// The operation from whose response the form takes the stored values. If no operation reads a
    /// single resource of this type, this is the operation that lists the resources.
    pub read: &'static str,
    /// Reads the resource with this id.
    pub stored: for<'v> fn(&'v ConsoleRequest, Uuid) -> ReadFuture<'v>,
    pub update: &'static str,
    pub layout: &'static Layout,
}

pub type ReadFuture<'v> = BoxFuture<'v, Result<StoredResource, ConsoleRefusal>>;

pub(super) fn operation(
    request: &ConsoleRequest,
    id: &str,
) -> Result<&'static Operation, ConsoleRefusal> {
    operation_calls::operation(&request.service, id).ok_or_else(ConsoleRefusal::broken)
}

/// Returns whether a form shows a field. Hides a field whose condition on `stepType` is not met,
/// because no form can change that field. Also hides a field whose condition refers to a hidden
/// field. Shows all other fields, because the member can meet their conditions in the form.
fn is_shown(spec: &FieldSpec, all: &[FieldSpec], base: &Map<String, Value>, depth: u8) -> bool {
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

/// Returns the fields in the form that changes a resource. `base` has the values of the resource.
pub(super) fn form_fields<'s>(
    all: &'s [FieldSpec],
    layout: &'s Layout,
    base: &'s Map<String, Value>,
) -> impl Iterator<Item = &'s FieldSpec> {
    all.iter().filter(move |spec| {
        spec.kind != InputKind::Other
            && !layout.omitted.contains(&spec.name.as_str())
            && is_shown(spec, all, base, 3)
    })
}

/// Returns the fields in the form that changes a resource. For each field, [`laid_out`] adds the
/// names for which the form shows checkboxes, and whether the form can show the field's value.
fn shown_specs(
    request: &ConsoleRequest,
    resource: &Resource,
    base: &Map<String, Value>,
) -> Result<Vec<FieldSpec>, ConsoleRefusal> {
    let (update, read) = (
        operation(request, resource.update)?,
        operation(request, resource.read)?,
    );
    let all = specs(update, Some(read));
    Ok(form_fields(&all, resource.layout, base)
        .map(|spec| laid_out(request, spec.clone(), resource.layout, base))
        .collect())
}

/// Adds two facts to a field that its schema does not state. The first is the list of known names,
/// for each of which the form shows a checkbox. The second is whether the form can show a value
/// that the read operation omits. The form can show it if `base`, the values of the resource,
/// contains it.
fn laid_out(
    request: &ConsoleRequest,
    mut spec: FieldSpec,
    layout: &Layout,
    base: &Map<String, Value>,
) -> FieldSpec {
    let names = layout.names_in(&spec.name);
    spec.is_readable |= layout.is_read_elsewhere(&spec.name) && base.contains_key(&spec.name);
    match &mut spec.kind {
        // The page may have read the text of a field separately, because the read operation of the
        // resource omits it. `base` then has the field, so the form can show its text.
        InputKind::Text(_) => spec.is_readable |= base.contains_key(&spec.name),
        InputKind::Lines => spec.kind = names.map_or(InputKind::Lines, InputKind::Names),
        InputKind::Rules(parts) => {
            let list = layout
                .rules_in(&spec.name)
                .and_then(|rules| base.get(rules.list));
            let about = parts.iter_mut().find(|part| part.name == RULE_NAME_FIELD);
            if let Some(about) = about {
                let known = rules::suggested(request.language, names.unwrap_or_default(), list);
                about.kind = InputKind::Suggested(known);
            }
        }
        _ => {}
    }
    spec
}

/// Returns the text fields that are missing from the response of the read operation.
pub fn unreadable_texts(
    request: &ConsoleRequest,
    resource: &Resource,
) -> Result<Vec<String>, ConsoleRefusal> {
    let (update, read) = (
        operation(request, resource.update)?,
        operation(request, resource.read)?,
    );
    let all = specs(update, Some(read));
    Ok(all
        .iter()
        .filter(|spec| matches!(spec.kind, InputKind::Text(_)) && !spec.is_readable)
        .map(|spec| spec.name.clone())
        .collect())
}

/// Returns the values that a form shows when it is opened: the values of its fields, and the texts
/// to which the fields refer. Omits texts that the member may not read.
async fn base_of(
    request: &ConsoleRequest,
    resource: &Resource,
    stored: &StoredResource,
) -> Result<Map<String, Value>, ConsoleRefusal> {
    let specs = shown_specs(request, resource, &stored.value)?;
    let link = |spec: &FieldSpec| match (&spec.linked_by, &spec.kind) {
        (Some(link), _) => Some(link.clone()),
        (None, InputKind::Text(_)) => Some(spec.name.clone()),
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
        request,
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

/// Builds the form that changes a resource.
pub async fn edit_form(
    request: &ConsoleRequest,
    resource: &Resource,
    stored: &StoredResource,
    action: String,
) -> Result<FormView, ConsoleRefusal> {
    let base = base_of(request, resource, stored).await?;
    let specs = shown_specs(request, resource, &stored.value)?;
    let mut fields = ConsoleFields::new();
    for spec in &specs {
        fill(spec, base.get(&spec.name), &spec.name, &mut fields);
    }
    let updated_at = stored.updated_at();
    draw(request, resource, action, fields, base, updated_at)
        .view(&specs)
        .await
}

fn draw<'v>(
    request: &'v ConsoleRequest,
    resource: &Resource,
    action: String,
    fields: ConsoleFields,
    base: Map<String, Value>,
    updated_at: String,
) -> FormFieldsView<'v> {
    FormFieldsView {
        request,
        // Every calling function has already checked that the operation exists, so the fallback is
        // never used.
        operation: operation_calls::operation(&request.service, resource.update)
            .unwrap_or(&request.service.app.operations[0]),
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

/// Saves a form that changes a resource. `now` is the resource as it is stored at this moment.
/// Returns whether anything was changed, or the refused form with its messages.
pub async fn save_form(
    request: &ConsoleRequest,
    resource: &Resource,
    now: &StoredResource,
    action: String,
) -> Result<FormOutcome<bool>, ConsoleRefusal> {
    let sent: Option<Map<String, Value>> = request
        .form_value("base")
        .and_then(|text| serde_json::from_str(text).ok());
    let (base, updated_at) = if let Some(base) = sent {
        (
            base,
            request
                .form_value("updatedAt")
                .unwrap_or_default()
                .to_owned(),
        )
    } else {
        (base_of(request, resource, now).await?, now.updated_at())
    };
    let specs = shown_specs(request, resource, &base)?;
    let typed = request.fields.clone();
    let mut view = draw(request, resource, action, typed, base, updated_at);
    if !request.may_write() {
        view.problems
            .notes
            .push(request.texts.frame.is_kept.to_owned());
        return view.again(&specs).await;
    }
    if !view.look_up(&specs).await? {
        return view.again(&specs).await;
    }
    let changes = view.changes(&specs);
    let faults = rules::faults(request, &specs, &view.fields);
    if !faults.is_empty() {
        view.problems.status = 400;
        view.problems.fields = faults;
        return view.again(&specs).await;
    }
    if changes.is_empty() {
        return Ok(FormOutcome::Done(false));
    }
    let current = base_of(request, resource, now).await?;
    let is_asked = |(spec, typed): &(FieldSpec, Value)| {
        merge(
            &view.untouched(spec),
            &value_in(spec, &current),
            &Some(typed.clone()),
        ) == MergeResult::Conflict
    };
    let is_another = !view.updated_at.is_empty() && now.updated_at() != view.updated_at;
    if is_another || changes.iter().any(is_asked) {
        return view.conflicting(&specs, current, now).await;
    }
    let is_guarded = takes_expected(view.operation);
    match written(request, &mut view, now.id, changes, is_guarded).await {
        Ok(()) => Ok(FormOutcome::Done(true)),
        Err(refusal) if refusal.status == 409 && is_guarded && !view.is_begun => {
            let now = (resource.stored)(request, now.id).await?;
            if now.updated_at() == view.updated_at {
                view.problems = Problems::of(request, &refusal);
                return view.again(&specs).await;
            }
            let current = base_of(request, resource, &now).await?;
            view.conflicting(&specs, current, &now).await
        }
        Err(refusal) => {
            view.problems = Problems::of(request, &refusal);
            if view.is_begun {
                view.problems
                    .notes
                    .push(request.texts.forms.rest_saved.to_owned());
            }
            view.again(&specs).await
        }
    }
}

/// Returns the fields whose typed value differs from the value that the form showed when it was
/// opened.
pub fn changed_values(
    request: &ConsoleRequest,
    resource: &Resource,
) -> Result<Map<String, Value>, ConsoleRefusal> {
    let Some(base) = request
        .form_value("base")
        .and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok())
    else {
        return Ok(Map::new());
    };
    let specs = shown_specs(request, resource, &base)?;
    let view = draw(
        request,
        resource,
        String::new(),
        request.fields.clone(),
        base,
        String::new(),
    );
    Ok(view
        .changes(&specs)
        .into_iter()
        .map(|(spec, value)| (spec.name, value))
        .collect())
}

/// Returns whether the input of an update has the field `expectedUpdatedAt`.
fn takes_expected(operation: &'static Operation) -> bool {
    operation.input_schema(&mut engine::operation::inline_generator())["properties"]
        .get("expectedUpdatedAt")
        .is_some()
}

/// Writes the changes: first new texts, then the resource, then existing texts. After each write,
/// the form compares typed values with the written value. So the member can continue if a later
/// write is refused.
async fn written(
    request: &ConsoleRequest,
    view: &mut FormFieldsView<'_>,
    id: Uuid,
    changes: Vec<(FieldSpec, Value)>,
    is_guarded: bool,
) -> Result<(), ConsoleRefusal> {
    let (mut data, mut texts, mut saved) = (Map::new(), Vec::new(), Vec::new());
    for (spec, value) in changes {
        let linked = view
            .base
            .get(&spec.name)
            .and_then(|linked| linked["id"].as_str())
            .map(str::to_owned);
        match (
            &spec.kind,
            linked,
            value["text"].as_str().map(str::to_owned),
        ) {
            (InputKind::Text(_), Some(linked), Some(text)) => texts.push((linked, text, spec.name)),
            (InputKind::Text(source), None, Some(text)) => {
                let created = new_text(request, source, &spec.name, &text)
                    .await
                    .map_err(|refusal| about(refusal, &spec.name))?;
                saved.push((spec.clone(), json!({ "id": created, "text": text })));
                data.insert(spec.name, created.into());
            }
            (InputKind::Text(_), _, None) => {
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
        if is_guarded && !view.updated_at.is_empty() {
            arguments["expectedUpdatedAt"] = view.updated_at.as_str().into();
        }
        let stored = StoredResource::of(id, request.get(view.operation.id, arguments).await?);
        view.rebase(saved, &stored);
    }
    for (id, text, name) in texts {
        texts::write(request, &id, ENGLISH, &text)
            .await
            .map_err(|refusal| about(refusal, &name))?;
        view.base.insert(name, json!({ "id": id, "text": text }));
        view.is_begun = true;
    }
    Ok(())
}

/// Creates a text for a field and returns the id of the text. If the form is sent a second time, no
/// second text is created. Two fields with equal texts get separate texts.
pub async fn new_text(
    request: &ConsoleRequest,
    source: &str,
    place: &str,
    text: &str,
) -> Result<String, ConsoleRefusal> {
    let digest = Sha256::new()
        .chain_update(place)
        .chain_update([0])
        .chain_update(text)
        .finalize();
    let arguments = json!({ "sourceTable": source, "text": text });
    let created: Value = request
        .create(
            "createTranslation",
            arguments,
            &request.key(&URL_SAFE_NO_PAD.encode(&digest[..8])),
        )
        .await?;
    Ok(created["id"].as_str().unwrap_or_default().to_owned())
}

/// Sets the path of every issue in the refusal of a text to `field`, the form field that uses the
/// text. So the form shows the messages at that field.
fn about(mut refusal: ConsoleRefusal, field: &str) -> ConsoleRefusal {
    for issue in &mut refusal.issues {
        issue.path = vec![field.to_owned()];
    }
    refusal
}

/// Builds the form that creates a resource.
pub async fn create_form(
    request: &ConsoleRequest,
    resource: &Resource,
    action: String,
) -> Result<FormView, ConsoleRefusal> {
    create_form_with(request, resource, action, &Map::new()).await
}

/// Builds the form that creates a resource. The form shows `values` at first.
pub async fn create_form_with(
    request: &ConsoleRequest,
    resource: &Resource,
    action: String,
    values: &Map<String, Value>,
) -> Result<FormView, ConsoleRefusal> {
    let specs = specs_of_new(request, resource)?;
    let mut fields = ConsoleFields::new();
    for spec in &specs {
        // A link to this form can contain initial values in its query.
        let initial = request.query_parameter(&spec.name).map(|text| json!(text));
        let initial = initial.as_ref().or_else(|| values.get(&spec.name));
        fill(spec, initial, &spec.name, &mut fields);
    }
    new_view(request, resource, action, fields)?
        .view(&specs)
        .await
}

fn specs_of_new(
    request: &ConsoleRequest,
    resource: &Resource,
) -> Result<Vec<FieldSpec>, ConsoleRefusal> {
    let all = specs(operation(request, resource.create)?, None);
    Ok(resource.layout.of_new(&all).into_iter().cloned().collect())
}

fn new_view<'v>(
    request: &'v ConsoleRequest,
    resource: &Resource,
    action: String,
    fields: ConsoleFields,
) -> Result<FormFieldsView<'v>, ConsoleRefusal> {
    let create = operation(request, resource.create)?;
    Ok(FormFieldsView {
        operation: create,
        is_new: true,
        ..draw(request, resource, action, fields, Map::new(), String::new())
    })
}

/// Creates a resource from a submitted form. Returns the new resource, or the refused form with its
/// messages.
pub async fn create_from_form(
    request: &ConsoleRequest,
    resource: &Resource,
    action: String,
) -> Result<FormOutcome<Value>, ConsoleRefusal> {
    let specs = specs_of_new(request, resource)?;
    let mut view = new_view(request, resource, action, request.fields.clone())?;
    if !request.may_write() {
        view.problems
            .notes
            .push(request.texts.frame.is_kept.to_owned());
        return view.again(&specs).await;
    }
    if !view.look_up(&specs).await? {
        return view.again(&specs).await;
    }
    let text = specs
        .iter()
        .filter_map(|spec| Some((spec, read(spec, &spec.name, &view.fields)?)));
    // An optional field that the member left empty is not sent.
    let text = text.filter(|(spec, value)| !value.is_null() && (spec.is_required || value != ""));
    let arguments: Map<String, Value> = text
        .map(|(spec, value)| (spec.name.clone(), value))
        .collect();
    match request
        .create(resource.create, arguments.into(), &request.key("create"))
        .await
    {
        Ok(made) => Ok(FormOutcome::Done(made)),
        Err(refusal) => {
            view.problems = Problems::of(request, &refusal);
            if refusal.status == 422 {
                // An earlier request to create a resource has used this idempotency key with other
                // values, so the form gets a new key.
                view.fields.retain(|(name, _)| name != "key");
                view.problems.general = vec![request.texts.forms.made_already.to_owned()];
            }
            view.again(&specs).await
        }
    }
}
