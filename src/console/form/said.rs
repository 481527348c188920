//! Reads the facts that a field's description states in fixed phrases: when the field has an
//! effect, which operation lists its choices, which text it links, which permission a change needs.
//! The descriptions are those of the schema. A test proves that they are understood.

use engine::access::Permission;

/// Returns the names in the clause that begins a description, and the text after its colon. The
/// clause has the form `` For `a`, `b` and `c`: ``.
pub fn only_for(description: &str) -> Option<(Vec<String>, &str)> {
    let rest = description.strip_prefix("For `")?;
    let (clause, rest) = rest.split_once("`: ")?;
    let clean = |name: &str| {
        name.trim_matches(|letter: char| letter == '`' || letter == ' ')
            .to_owned()
    };
    let names: Vec<String> = clause
        .split("`, `")
        .flat_map(|part| part.split("` and `"))
        .map(clean)
        .collect();
    let is_name = |name: &String| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '_')
    };
    names.iter().all(is_name).then_some((names, rest))
}

/// Returns the operation that lists the possible values of a field.
pub fn listed_by(description: &str) -> Option<&str> {
    quoted(description).find(|name| name.starts_with("list") && name.len() > 4)
}

/// Returns the source table of the text that a field links.
pub fn links_text(description: &str) -> Option<&str> {
    let text = only_for(description).map_or(description, |(_, rest)| rest);
    let rest = text
        .strip_prefix("Id of a `")
        .or_else(|| text.strip_prefix("id of a `"))?;
    rest.split_once("` translation")
        .map(|(source, _)| source)
        .filter(|source| !source.contains(['`', ' ']))
}

/// Returns the permission that a change of a field needs.
pub fn needed(description: &str) -> Option<Permission> {
    let (_, rest) = description.split_once("needs `")?;
    rest.split_once('`')?.0.parse().ok()
}

/// Returns the purpose of a field: its description up to the first full stop or semicolon. Notes on
/// how the field is sent are left out.
pub fn brief(description: &str) -> String {
    let text = only_for(description).map_or(description, |(_, rest)| rest);
    let end = [". ", "; "]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min()
        .unwrap_or(text.len());
    let text = text[..end].trim_end_matches(['.', ';']);
    // For a linked text, only the words after the source table say which text it is.
    let linked = links_text(description)
        .and_then(|_| text.split_once("` translation"))
        .map(|(_, rest)| rest);
    let linked = linked.map(|rest| {
        rest.trim_start_matches([':', ',', ' '])
            .trim_start_matches("to use as ")
    });
    let text = linked.unwrap_or(text);
    let text = text
        .strip_prefix("Id of ")
        .or_else(|| text.strip_prefix("id of "))
        .unwrap_or(text);
    // A note such as (`listThings`) is for callers of the interface.
    let text = text
        .split(" (`")
        .map(|part| part.split_once("`)").map_or(part, |(_, rest)| rest))
        .collect::<String>();
    let text = text.replace('`', "");
    let mut letters = text.chars();
    let sentence: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    if sentence.is_empty() {
        sentence
    } else {
        format!("{sentence}.")
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_the_types_that_a_field_is_for() {
        for (description, expected) in [
            (
                "For `agreement`: how it is given; x.",
                Some(vec!["agreement"]),
            ),
            ("For `a`, `b` and `c_d`: x.", Some(vec!["a", "b", "c_d"])),
            ("Whether a guest. For `a`: x.", None),
            ("For Anna: x.", None),
        ] {
            let found = only_for(description).map(|(names, _)| names);
            assert_eq!(
                found,
                expected.map(|names| names.into_iter().map(str::to_owned).collect()),
                "{description}"
            );
        }
    }

    #[test]
    fn a_description_names_choices_texts_and_permissions() {
        assert_eq!(
            listed_by("For `a`: id of the account (`listPaymentAccounts`). Null: x."),
            Some("listPaymentAccounts")
        );
        assert_eq!(listed_by("The `listing`."), Some("listing"));
        assert_eq!(
            links_text("Id of a `manual` translation to use."),
            Some("manual")
        );
        assert_eq!(links_text("What a `manual` translation is."), None);
        assert_eq!(
            needed("Text; a change needs `modify_tasks`."),
            Some(Permission::ModifyTasks)
        );
        assert_eq!(needed("`whatsapp` needs `supportWhatsapp`."), None);
    }

    #[test]
    fn descriptions_are_shortened_to_their_first_clause() {
        for (description, expected) in [
            (
                "Whether guests may write to the host; `false` removes it. Default.",
                "Whether guests may write to the host.",
            ),
            (
                "For `a`: id of the payment account that charges (`listPaymentAccounts`). Null: x.",
                "The payment account that charges.",
            ),
            (
                "For `a`: id of a `manual` translation, text below the heading. Null unlinks it.",
                "Text below the heading.",
            ),
            (
                "Id of a `manual` translation to use as the title. Null unlinks it.",
                "The title.",
            ),
            ("", ""),
        ] {
            assert_eq!(brief(description), expected, "{description}");
        }
    }
}
