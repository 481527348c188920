//! Derives the fields of a form from the schema of an operation's input.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use engine::access::Permission;
use engine::operation::{Operation, inline_generator};
use serde_json::{Value, json};

use super::extensions::{self, FormPlace};

/// The form shows a text field with several lines if the text may have more characters than this.
const LONG: u64 = 300;
/// The input field with the `updatedAt` that an update expects the resource to have. No form shows
/// this field.
const EXPECTED: &str = "expectedUpdatedAt";

/// A field of a form, with the facts that its schema states.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    pub name: String,
    /// A label that the organization chose. It replaces the label that is derived from the field's
    /// name.
    pub custom_label: Option<String>,
    /// The English help text of the field.
    pub summary: String,
    pub kind: InputKind,
    pub is_nullable: bool,
    pub is_required: bool,
    /// Whether the read operation returns the field. If not, a form cannot show the stored value.
    /// The member can only leave the value unchanged or replace it.
    pub is_readable: bool,
    /// The condition under which this field has an effect: another field, and the values that the
    /// other field must have.
    pub when: Option<(String, Vec<String>)>,
    /// The permission that a member needs to change this field.
    pub needs: Option<Permission>,
    /// The field of the response with the id of the text that this field writes, such as
    /// `specialOfferTitleId` for `specialOfferTitle`. The form reads the text by this id.
    pub linked_by: Option<String>,
    /// The section of the form that contains the field. `None` puts the field into the last
    /// section.
    pub place: Option<FormPlace>,
}

impl FieldSpec {
    /// Returns the name of the section that contains the field.
    pub fn section(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.section.as_str())
    }
}

/// The type of a field's control.
#[derive(Debug, Clone, PartialEq)]
pub enum InputKind {
    /// A single line of text, with its `inputmode`: `text`, `email`, `tel` or `url`.
    Line(&'static str),
    /// A text with several lines.
    Area,
    Number,
    Switch,
    Choice(Vec<String>),
    Choices(Vec<String>),
    /// A list of texts. The form shows one text per line.
    Lines,
    /// A list of texts. The form shows a checkbox for each of these known texts, and a text area
    /// for other texts.
    Names(&'static [&'static str]),
    /// A single line of text. The form suggests values with their labels. If the stored value is
    /// one of the suggested values, the form shows its label.
    Suggested(Vec<(String, String)>),
    /// An object with texts. The form shows one `name: text` per line.
    Pairs,
    Colour,
    Date,
    /// The id of another object, such as the manual's category. The form offers a list of objects.
    /// The `String` is the id of the operation that returns this list.
    Reference(String),
    /// The ids of several objects that the form offers in a list. The `String` is the id of the
    /// operation that returns this list.
    References(String),
    /// The id of a text. The `String` is the `sourceTable` of the text.
    Text(String),
    Object(Vec<FieldSpec>),
    Objects(Vec<FieldSpec>),
    /// An object whose keys are names of guest fields, such as `email`, and whose values are rules
    /// for these guest fields. The form shows each pair as a row. The first field of the row
    /// contains the key, and the other fields contain the rule.
    Rules(Vec<FieldSpec>),
    /// A value that no form can change.
    Other,
}

/// Returns the input fields of an operation, without path parameters. If the input has a field
/// `data`, returns the fields of `data`. A field counts as readable if the response of the
/// operation with the name `answered` has it, too.
pub fn specs(
    operation: &'static Operation,
    answered: Option<&'static Operation>,
) -> Arc<Vec<FieldSpec>> {
    type Known = HashMap<(&'static str, Option<&'static str>), Arc<Vec<FieldSpec>>>;
    // The cache needs no size limit, because it has one entry for each form of the console.
    static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(RwLock::default);
    let key = (operation.id, answered.map(|operation| operation.id));
    if let Some(specs) = KNOWN
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&key)
    {
        return specs.clone();
    }
    let schema = operation.input_schema(&mut inline_generator());
    let input = schema
        .pointer("/properties/data")
        .filter(|data| data["properties"].is_object())
        .unwrap_or(&schema);
    let output = answered.map(|operation| operation.output_schema(&mut inline_generator()));
    let output = output.as_ref().map(|output| {
        if output["items"].is_object() {
            &output["items"]
        } else {
            output
        }
    });
    let mut specs = of_object(input, output);
    specs.retain(|spec| !operation.is_path_field(&spec.name) && spec.name != EXPECTED);
    let specs = Arc::new(specs);
    KNOWN
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(key, specs.clone());
    specs
}

/// Returns the fields of an object, in the order of `schema`. `answer` is the schema of the
/// response with the stored object. A field is readable if `answer` contains it; if `answer` is
/// `None`, all fields are readable.
pub fn of_object(schema: &Value, answer: Option<&Value>) -> Vec<FieldSpec> {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema["properties"].as_object();
    let fields = fields
        .into_iter()
        .flatten()
        .filter(|(_, field)| field["deprecated"] != true && field.get("const").is_none());
    fields
        .map(|(name, field)| {
            let linked_by = answer
                .map(|_| format!("{name}Id"))
                .filter(|id| answer.is_some_and(|answer| answers(answer, id)));
            let is_readable =
                linked_by.is_some() || answer.is_none_or(|answer| answers(answer, name));
            FieldSpec {
                linked_by,
                ..of_field(name, field, required.contains(&name.as_str()), is_readable)
            }
        })
        .collect()
}

/// Returns whether a response schema contains a field. Also searches the flattened parts of the
/// schema (`allOf`).
fn answers(answer: &Value, name: &str) -> bool {
    answer["properties"].get(name).is_some()
        || answer["allOf"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|part| answers(part, name))
}

fn of_field(name: &str, field: &Value, is_required: bool, is_readable: bool) -> FieldSpec {
    let (schema, is_nullable) = without_null(field);
    FieldSpec {
        name: name.to_owned(),
        custom_label: None,
        summary: extensions::summary(field),
        kind: kind(schema, field),
        is_nullable,
        is_required,
        is_readable,
        when: extensions::applies_to(field),
        needs: extensions::permission(field),
        linked_by: None,
        place: extensions::place(field),
    }
}

/// Returns a schema without its null variant, and whether the schema had one.
fn without_null(field: &Value) -> (&Value, bool) {
    let is_null = |schema: &Value| schema["type"] == "null";
    for shapes in ["anyOf", "oneOf"] {
        let shapes = field[shapes]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if let [schema, null] = shapes
            && is_null(null)
        {
            return (schema, true);
        }
    }
    (
        field,
        field["type"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "null")),
    )
}

/// Returns the type of control for a schema without null variant. `field` is the schema of the
/// field, with null variant and extensions.
fn kind(schema: &Value, field: &Value) -> InputKind {
    let is = |wanted: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == wanted),
        kind => kind == wanted,
    };
    // A field that accepts a text or a boolean gets a text field.
    if is("string") && is("boolean") {
        return InputKind::Line("text");
    }
    if is("boolean") {
        return InputKind::Switch;
    }
    if is("integer") || is("number") {
        return InputKind::Number;
    }
    if is("array") {
        return of_items(&schema["items"], field);
    }
    if is("object") {
        return match (&schema["properties"], &schema["additionalProperties"]) {
            (Value::Object(_), _) => InputKind::Object(of_object(schema, None)),
            (_, Value::Object(values)) if values["type"] == "string" => InputKind::Pairs,
            (_, Value::Object(rule)) if rule.contains_key("properties") => {
                let rule = of_object(&schema["additionalProperties"], None);
                InputKind::Rules([name_of_rule()].into_iter().chain(rule).collect())
            }
            _ => InputKind::Other,
        };
    }
    if is("string") {
        of_text(schema, field)
    } else {
        InputKind::Other
    }
}

/// The name of the first field in a row of [`InputKind::Rules`]. That field contains the name of
/// the guest field to which the rule of the row applies.
pub const RULE_NAME_FIELD: &str = "field";

fn name_of_rule() -> FieldSpec {
    FieldSpec {
        is_nullable: true,
        ..of_field(RULE_NAME_FIELD, &json!({ "type": "string" }), false, true)
    }
}

fn of_text(schema: &Value, field: &Value) -> InputKind {
    if let Some(values) = values(schema) {
        return InputKind::Choice(values);
    }
    if schema["pattern"]
        .as_str()
        .is_some_and(|pattern| pattern.starts_with("^#"))
    {
        return InputKind::Colour;
    }
    match schema["format"].as_str() {
        Some("uuid") => match (
            extensions::text_source(field),
            extensions::choices_from(field),
        ) {
            (Some(source), _) => InputKind::Text(source.to_owned()),
            (None, Some(list)) => InputKind::Reference(list.to_owned()),
            (None, None) => InputKind::Line("text"),
        },
        Some("date") => InputKind::Date,
        Some("email") => InputKind::Line("email"),
        Some("phone") => InputKind::Line("tel"),
        Some(format) if format.starts_with("http-url") => InputKind::Line("url"),
        _ if schema["maxLength"].as_u64().is_some_and(|most| most > LONG) => InputKind::Area,
        _ => InputKind::Line("text"),
    }
}

fn of_items(items: &Value, field: &Value) -> InputKind {
    if let Some(values) = values(items) {
        return InputKind::Choices(values);
    }
    match (
        &items["type"],
        items["format"].as_str(),
        extensions::choices_from(field),
    ) {
        (kind, Some("uuid"), Some(list)) if kind == "string" => {
            InputKind::References(list.to_owned())
        }
        (kind, _, _) if kind == "string" => InputKind::Lines,
        (kind, _, _) if kind == "object" && items["properties"].is_object() => {
            InputKind::Objects(of_object(items, None))
        }
        _ => InputKind::Other,
    }
}

fn values(schema: &Value) -> Option<Vec<String>> {
    Some(
        schema["enum"]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;
    use vestibule::app::app;

    use super::*;

    fn of(create: &str, read: &str) -> Arc<Vec<FieldSpec>> {
        specs(app().operation(create).unwrap(), app().operation(read))
    }

    fn named<'s>(specs: &'s [FieldSpec], name: &str) -> &'s FieldSpec {
        specs
            .iter()
            .find(|spec| spec.name == name)
            .unwrap_or_else(|| panic!("no field {name}"))
    }

    #[test]
    fn the_portal_form_is_derived_from_its_schema() {
        let specs = of("updatePortal", "getPortal");
        let kind = |name| named(&specs, name).kind.clone();
        assert_eq!(kind("name"), InputKind::Line("text"));
        assert_eq!(kind("supportPhone"), InputKind::Line("tel"));
        assert_eq!(kind("supportNotes"), InputKind::Area);
        assert_eq!(kind("isChatEnabled"), InputKind::Switch);
        assert_eq!(
            kind("communicationMethod"),
            InputKind::Choice(["whatsapp", "text", "phone"].map(str::to_owned).to_vec())
        );
        assert!(matches!(
            kind("excludedQuickAccessTypes"),
            InputKind::Choices(values) if values.len() == 5
        ));
        assert_eq!(
            kind("brandingId"),
            InputKind::Reference("listPortalBrandings".into())
        );
        assert!(named(&specs, "supportPhone").is_nullable && !named(&specs, "name").is_nullable);
        assert!(named(&specs, "name").is_readable && named(&specs, "name").linked_by.is_none());
        assert_eq!(
            named(&specs, "specialOfferTitle").linked_by.as_deref(),
            Some("specialOfferTitleId")
        );
        assert_eq!(
            named(&specs, "specialOfferTitle").needs,
            Some(Permission::ManageOrganization)
        );
        assert!(specs.iter().all(|spec| spec.name != "id"
            && spec.name != EXPECTED
            && spec.kind != InputKind::Other));
    }

    #[test]
    fn step_fields_depend_on_the_step_type() {
        let specs = of("updatePrecheckStep", "getPrecheckStep");
        let when = |name| named(&specs, name).when.clone();
        assert_eq!(
            when("securityDepositAmountCents"),
            Some(("stepType".into(), vec!["damage_deposit".into()]))
        );
        assert_eq!(
            when("esignATemplateId"),
            Some(("agreementType".into(), vec!["esign_a".into()]))
        );
        assert_eq!(
            when("esignPrefillValues").unwrap().1,
            ["esign_a", "esign_b"]
        );
        assert_eq!(when("minLos"), None);
        assert_eq!(
            named(&specs, "feeProductIds").kind,
            InputKind::References("listFeeProducts".into())
        );
        assert_eq!(
            named(&specs, "contractTemplateTextMlTextId").kind,
            InputKind::Text("precheck_step_detail".into())
        );
        assert!(matches!(
            &named(&specs, "identityFlagPolicy").kind,
            InputKind::Object(checks) if checks.len() == 13
        ));
        assert!(matches!(
            &named(&specs, "guestFieldRules").kind,
            InputKind::Rules(parts) if parts[0].name == RULE_NAME_FIELD && parts.len() == 5
        ));
        assert!(specs.iter().all(|spec| spec.name != "isEnabled"));
    }

    /// A field's description and its extensions must state the same facts. API clients read the
    /// description, and forms read the extensions.
    #[test]
    fn extensions_agree_with_the_descriptions() {
        let forms = [
            "updatePortal",
            "createPortalBranding",
            "updatePrecheckStep",
            "updatePortalManual",
        ];
        let mut count = 0;
        for form in forms {
            let specs = of(form, form);
            let schema = app()
                .operation(form)
                .unwrap()
                .input_schema(&mut inline_generator());
            let data = schema.pointer("/properties/data").unwrap_or(&schema);
            for (name, field) in data["properties"].as_object().unwrap() {
                let description = field["description"].as_str().unwrap_or_default();
                let description = description.replace('\n', " ");
                let says = |text: &str| description.contains(text);
                let applies = extensions::applies_to(field);
                assert_eq!(
                    description.starts_with("For `"),
                    applies.is_some(),
                    "{name}"
                );
                if let Some((other, values)) = applies {
                    let InputKind::Choice(known) = &named(&specs, &other).kind else {
                        panic!("{name} depends on {other}, which is no choice");
                    };
                    for value in values {
                        assert!(
                            known.contains(&value) && says(&format!("`{value}`")),
                            "{name}"
                        );
                    }
                }
                let list = extensions::choices_from(field);
                assert_eq!(says("`list"), list.is_some(), "{name}");
                if let Some(list) = list {
                    assert!(app().operation(list).is_some(), "{name}: {list}");
                    assert!(says(&format!("`{list}`")), "{name}: {list}");
                }
                let source = extensions::text_source(field);
                assert_eq!(
                    says("d of a `") && says("` translation"),
                    source.is_some(),
                    "{name}"
                );
                if let Some(source) = source {
                    assert!(
                        source
                            .parse::<features::translations::SourceTable>()
                            .is_ok(),
                        "{name}: {source}"
                    );
                    assert!(says(&format!("`{source}` translation")), "{name}: {source}");
                }
                let is_needed = |permission: &&Permission| {
                    let name: &str = (*permission).into();
                    says(&format!("needs `{name}`"))
                };
                let needed = Permission::VARIANTS.iter().find(is_needed);
                assert_eq!(extensions::permission(field), needed.copied(), "{name}");
                count += 1;
            }
        }
        assert!(count > 80);
    }
}
