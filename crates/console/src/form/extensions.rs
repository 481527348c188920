//! Reads the schema extensions (`x-…`) of a field. They say how a form shows the field. Rust types
//! declare them in an attribute of the field: `#[schemars(extend("x-choices-from" = "listTags"))]`.

use engine::access::Permission;
use engine::field::{PLACE, SECTION};
use serde_json::Value;

/// The section of a form that contains a field, and the position of the field in that section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormPlace {
    /// The name of the section that contains the field.
    pub section: String,
    /// The position of the field in its section. The section sorts its fields by this number.
    pub number: u64,
}

/// Returns `x-applies-to`: the condition under which a field has an effect. The condition names
/// another field, and the values that this other field must have.
pub fn applies_to(field: &Value) -> Option<(String, Vec<String>)> {
    let (other, values) = field["x-applies-to"].as_object()?.iter().next()?;
    let values = values.as_array()?.iter().filter_map(Value::as_str);
    Some((other.clone(), values.map(str::to_owned).collect()))
}

/// Returns `x-choices-from`: the operation that lists the possible values of a field.
pub fn choices_from(field: &Value) -> Option<&str> {
    field["x-choices-from"].as_str()
}

/// Returns `x-text-source`: the `sourceTable` of the text that a field refers to.
pub fn text_source(field: &Value) -> Option<&str> {
    field["x-text-source"].as_str()
}

/// Returns `x-permission`: the permission that a caller needs to change a field.
pub fn permission(field: &Value) -> Option<Permission> {
    field["x-permission"].as_str()?.parse().ok()
}

/// Returns the section of the form that contains a field (`x-section`), and the position of the
/// field in the section (`x-place`). A field in `resource!` declares its section with `in`, as in
/// `sent as Option<EmailAddress>, in contact`.
pub fn place(field: &Value) -> Option<FormPlace> {
    Some(FormPlace {
        section: field[SECTION].as_str()?.to_owned(),
        number: field[PLACE].as_u64().unwrap_or(u64::MAX),
    })
}

/// Returns the English help text of a field. It is `x-summary` if the field has it, otherwise the
/// first clause of the description.
pub fn summary(field: &Value) -> String {
    let summary = field["x-summary"].as_str().map(str::to_owned);
    summary.unwrap_or_else(|| first_clause(field["description"].as_str().unwrap_or_default()))
}

/// Returns the beginning of a text, up to its first full stop or semicolon, as a sentence. Removes
/// backticks.
fn first_clause(text: &str) -> String {
    let end = [". ", "; "]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    let text = text[..end].trim_end_matches(['.', ';']).replace('`', "");
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let sentence: String = first.to_uppercase().chain(letters).collect();
    format!("{sentence}.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extensions_state_what_a_field_depends_on_and_where_its_values_are() {
        let field = json!({
            "description": "For `a` and `b`: id of an account. Null: none.",
            "x-applies-to": { "kind": ["a", "b"] },
            "x-choices-from": "listAccounts",
            "x-text-source": "manual",
            "x-permission": "modify_tasks",
            "x-summary": "The account.",
        });
        let kinds = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!(applies_to(&field), Some(("kind".into(), kinds)));
        assert_eq!(choices_from(&field), Some("listAccounts"));
        assert_eq!(text_source(&field), Some("manual"));
        assert_eq!(permission(&field), Some(Permission::ModifyTasks));
        assert_eq!(summary(&field), "The account.");
        let plain = json!({ "description": "Id of a `manual` translation (`listTexts`)." });
        assert_eq!(applies_to(&plain), None);
        assert_eq!(
            (
                choices_from(&plain),
                text_source(&plain),
                permission(&plain)
            ),
            (None, None, None)
        );
    }

    #[test]
    fn the_first_clause_of_a_description_is_its_summary() {
        for (description, expected) in [
            (
                "Whether guests may write to the host; `false` removes it. Default.",
                "Whether guests may write to the host.",
            ),
            ("text below `title`.", "Text below title."),
            ("", ""),
        ] {
            let field = json!({ "description": description });
            assert_eq!(summary(&field), expected, "{description}");
        }
    }
}
