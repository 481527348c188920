//! From the schema of an operation's input to the fields of its form.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use engine::access::Permission;
use engine::operation::{Operation, inline_generator};
use serde_json::Value;

use super::said;

/// Texts that may be longer than this are written in several lines.
const LONG: u64 = 300;
/// What is no field of a form: by it an update says what it was made against.
const EXPECTED: &str = "expectedUpdatedAt";

/// A field, as its schema has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub name: String,
    /// What the schema says of it.
    pub description: String,
    pub kind: Kind,
    pub is_nullable: bool,
    pub is_required: bool,
    /// Whether the read of the thing answers it: what it does not answer is set anew or left alone.
    pub is_readable: bool,
    /// The values of another field with which it has an effect.
    pub when: Option<(String, Vec<String>)>,
    /// What is needed to change it.
    pub needs: Option<Permission>,
    /// The field of the answer that links the text which this one writes: by it that is read.
    pub linked_by: Option<String>,
}

/// How a field is filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A line of text, and of what.
    Line(&'static str),
    /// Some lines.
    Area,
    Number,
    Switch,
    Choice(Vec<String>),
    Choices(Vec<String>),
    /// A list of texts, one a line.
    Lines,
    /// A list of texts, of which these are known.
    Names(&'static [&'static str]),
    /// Texts by names, one a line.
    Pairs,
    Colour,
    Date,
    /// One of what an operation lists.
    Reference(String),
    /// Some of what an operation lists.
    References(String),
    /// A text of a source table that is linked by its id.
    Text(String),
    Object(Vec<Spec>),
    Objects(Vec<Spec>),
    /// What no form is made of.
    Other,
}

/// The fields that an operation takes beside those of its path: those of `data`, where it takes such. `answered` are the names of what
/// the read of the thing answers.
pub fn specs(operation: &'static Operation, answered: Option<&'static Operation>) -> Arc<Vec<Spec>> {
    type Known = HashMap<(&'static str, Option<&'static str>), Arc<Vec<Spec>>>;
    // As many as there are forms.
    static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);
    let key = (operation.id, answered.map(|operation| operation.id));
    if let Some(specs) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return specs.clone();
    }
    let schema = operation.input_schema(&mut inline_generator());
    let input = schema.pointer("/properties/data").filter(|data| data["properties"].is_object()).unwrap_or(&schema);
    let output = answered.map(|operation| operation.output_schema(&mut inline_generator()));
    let output = output.as_ref().map(|output| if output["items"].is_object() { &output["items"] } else { output });
    let mut specs = of_object(input, output);
    specs.retain(|spec| !operation.is_path_field(&spec.name) && spec.name != EXPECTED);
    let specs = Arc::new(specs);
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(key, specs.clone());
    specs
}

/// The fields of an object, in the schema's order. Where nothing is said of an answer, everything is taken for readable.
pub fn of_object(schema: &Value, answer: Option<&Value>) -> Vec<Spec> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object();
    let fields = fields.into_iter().flatten().filter(|(_, field)| field["deprecated"] != true && field.get("const").is_none());
    let mut specs: Vec<Spec> = fields
        .map(|(name, field)| {
            let linked_by = answer.map(|_| format!("{name}Id")).filter(|id| answer.is_some_and(|answer| answers(answer, id)));
            let is_readable = linked_by.is_some() || answer.is_none_or(|answer| answers(answer, name));
            Spec { linked_by, ..of_field(name, field, required.contains(&name.as_str()), is_readable) }
        })
        .collect();
    let conditions: Vec<_> = specs.iter().map(|spec| condition(spec, &specs)).collect();
    for (spec, when) in specs.iter_mut().zip(conditions) {
        spec.when = when;
    }
    specs
}

/// Whether an answer has a field, also of a part that is flattened into it.
fn answers(answer: &Value, name: &str) -> bool {
    answer["properties"].get(name).is_some() || answer["allOf"].as_array().into_iter().flatten().any(|part| answers(part, name))
}

fn of_field(name: &str, field: &Value, is_required: bool, is_readable: bool) -> Spec {
    let description = field["description"].as_str().unwrap_or_default().to_owned();
    let (schema, is_nullable) = without_null(field);
    let kind = kind(schema, &description);
    let needs = said::needed(&description);
    Spec { name: name.to_owned(), kind, is_nullable, is_required, is_readable, when: None, needs, linked_by: None, description }
}

/// A schema without the null that it allows.
fn without_null(field: &Value) -> (&Value, bool) {
    let is_null = |schema: &Value| schema["type"] == "null";
    for shapes in ["anyOf", "oneOf"] {
        let shapes = field[shapes].as_array().map(Vec::as_slice).unwrap_or_default();
        if let [schema, null] = shapes
            && is_null(null)
        {
            return (schema, true);
        }
    }
    (field, field["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null")))
}

fn kind(schema: &Value, description: &str) -> Kind {
    let is = |wanted: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == wanted),
        kind => kind == wanted,
    };
    if is("boolean") {
        return Kind::Switch;
    }
    if is("integer") || is("number") {
        return Kind::Number;
    }
    if is("array") {
        return of_items(&schema["items"], description);
    }
    if is("object") {
        return match (&schema["properties"], &schema["additionalProperties"]) {
            (Value::Object(_), _) => Kind::Object(of_object(schema, None)),
            (_, Value::Object(values)) if values["type"] == "string" => Kind::Pairs,
            _ => Kind::Other,
        };
    }
    if is("string") { of_text(schema, description) } else { Kind::Other }
}

fn of_text(schema: &Value, description: &str) -> Kind {
    if let Some(values) = values(schema) {
        return Kind::Choice(values);
    }
    if schema["pattern"].as_str().is_some_and(|pattern| pattern.starts_with("^#")) {
        return Kind::Colour;
    }
    match schema["format"].as_str() {
        Some("uuid") => match (said::links_text(description), said::listed_by(description)) {
            (Some(source), _) => Kind::Text(source.to_owned()),
            (None, Some(list)) => Kind::Reference(list.to_owned()),
            (None, None) => Kind::Line("text"),
        },
        Some("date") => Kind::Date,
        Some("email") => Kind::Line("email"),
        Some("phone") => Kind::Line("tel"),
        Some(format) if format.starts_with("http-url") => Kind::Line("url"),
        _ if schema["maxLength"].as_u64().is_some_and(|most| most > LONG) => Kind::Area,
        _ => Kind::Line("text"),
    }
}

fn of_items(items: &Value, description: &str) -> Kind {
    if let Some(values) = values(items) {
        return Kind::Choices(values);
    }
    match (&items["type"], items["format"].as_str(), said::listed_by(description)) {
        (kind, Some("uuid"), Some(list)) if kind == "string" => Kind::References(list.to_owned()),
        (kind, _, _) if kind == "string" => Kind::Lines,
        (kind, _, _) if kind == "object" && items["properties"].is_object() => Kind::Objects(of_object(items, None)),
        _ => Kind::Other,
    }
}

fn values(schema: &Value) -> Option<Vec<String>> {
    Some(schema["enum"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// With which values of another field this one has an effect: of the first field that has such values.
fn condition(spec: &Spec, all: &[Spec]) -> Option<(String, Vec<String>)> {
    let (wanted, _) = said::only_for(&spec.description)?;
    let decides = |other: &&Spec| matches!(&other.kind, Kind::Choice(values) if wanted.iter().all(|value| values.contains(value)));
    let other = all.iter().filter(|other| other.name != spec.name).find(decides)?;
    Some((other.name.clone(), wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::app;

    fn of(create: &str, read: &str) -> Arc<Vec<Spec>> {
        specs(app().operation(create).unwrap(), app().operation(read))
    }

    fn named<'s>(specs: &'s [Spec], name: &str) -> &'s Spec {
        specs.iter().find(|spec| spec.name == name).unwrap_or_else(|| panic!("no field {name}"))
    }

    #[test]
    fn a_portal_is_read_from_its_schema() {
        let specs = of("updatePortal", "getPortal");
        let kind = |name| named(&specs, name).kind.clone();
        assert_eq!(kind("name"), Kind::Line("text"));
        assert_eq!(kind("supportPhone"), Kind::Line("tel"));
        assert_eq!(kind("supportNotes"), Kind::Area);
        assert_eq!(kind("isChatEnabled"), Kind::Switch);
        assert_eq!(kind("communicationMethod"), Kind::Choice(["whatsapp", "text", "phone"].map(str::to_owned).to_vec()));
        assert!(matches!(kind("excludedQuickAccessTypes"), Kind::Choices(values) if values.len() == 5));
        assert_eq!(kind("brandingId"), Kind::Reference("listPortalBrandings".into()));
        assert!(named(&specs, "supportPhone").is_nullable && !named(&specs, "name").is_nullable);
        assert!(named(&specs, "name").is_readable && named(&specs, "name").linked_by.is_none());
        assert_eq!(named(&specs, "specialOfferTitle").linked_by.as_deref(), Some("specialOfferTitleId"));
        assert_eq!(named(&specs, "specialOfferTitle").needs, Some(Permission::ManageOrganization));
        assert!(specs.iter().all(|spec| spec.name != "id" && spec.name != EXPECTED && spec.kind != Kind::Other));
    }

    #[test]
    fn a_step_says_which_fields_are_for_which_type() {
        let specs = of("updatePrecheckStep", "getPrecheckStep");
        let when = |name| named(&specs, name).when.clone();
        assert_eq!(when("securityDepositAmountCents"), Some(("stepType".into(), vec!["damage_deposit".into()])));
        assert_eq!(when("esignATemplateId"), Some(("agreementType".into(), vec!["esign_a".into()])));
        assert_eq!(when("esignPrefillValues").unwrap().1, ["esign_a", "esign_b"]);
        assert_eq!(when("minLos"), None);
        assert_eq!(named(&specs, "feeProductIds").kind, Kind::References("listFeeProducts".into()));
        assert_eq!(named(&specs, "contractTemplateTextMlTextId").kind, Kind::Text("precheck_step_detail".into()));
        assert!(matches!(&named(&specs, "identityFlagPolicy").kind, Kind::Object(checks) if checks.len() == 13));
        assert!(specs.iter().all(|spec| spec.name != "isEnabled"));
    }

    /// Whatever a description says with these words is understood, or the form would not have it.
    #[test]
    fn what_descriptions_say_is_understood() {
        let forms = ["updatePortal", "createPortalBranding", "updatePrecheckStep", "updatePortalManual"];
        for spec in forms.iter().flat_map(|form| of(form, form).iter().cloned().collect::<Vec<_>>()) {
            let said = &spec.description;
            assert_eq!(said.starts_with("For `"), spec.when.is_some(), "{}: {said}", spec.name);
            if let Some(list) = said::listed_by(said) {
                assert!(app().operation(list).is_some(), "{}: {list}", spec.name);
            }
            if let Some(source) = said::links_text(said) {
                assert!(source.parse::<crate::translations::SourceTable>().is_ok(), "{}: {source}", spec.name);
            }
        }
    }
}
