//! What the description of a field says of it beside what it is for: when it has an effect, where its choices are listed, which text it
//! links, what is needed to change it. The descriptions are the schema's own, and a test holds that they are understood.

use engine::access::Permission;

/// The names between backticks at the beginning of a text, up to the colon that ends the clause: `` For `a`, `b` and `c`: ``.
pub fn only_for(description: &str) -> Option<(Vec<String>, &str)> {
    let rest = description.strip_prefix("For `")?;
    let (clause, rest) = rest.split_once("`: ")?;
    let clean = |name: &str| name.trim_matches(|letter: char| letter == '`' || letter == ' ').to_owned();
    let names: Vec<String> = clause.split("`, `").flat_map(|part| part.split("` and `")).map(clean).collect();
    let is_name = |name: &String| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    names.iter().all(is_name).then_some((names, rest))
}

/// The operation that lists what a field may name.
pub fn listed_by(description: &str) -> Option<&str> {
    quoted(description).find(|name| name.starts_with("list") && name.len() > 4)
}

/// The source table of the text that a field links.
pub fn links_text(description: &str) -> Option<&str> {
    let text = only_for(description).map_or(description, |(_, rest)| rest);
    let rest = text.strip_prefix("Id of a `").or_else(|| text.strip_prefix("id of a `"))?;
    rest.split_once("` translation").map(|(source, _)| source).filter(|source| !source.contains(['`', ' ']))
}

/// The permission without which a field cannot be changed.
pub fn needed(description: &str) -> Option<Permission> {
    let (_, rest) = description.split_once("needs `")?;
    rest.split_once('`')?.0.parse().ok()
}

/// What a field is for, in as many words as stand before the first full stop or semicolon; nothing of how it is sent.
pub fn brief(description: &str) -> String {
    let text = only_for(description).map_or(description, |(_, rest)| rest);
    let end = [". ", "; "].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    let text = text[..end].trim_end_matches(['.', ';']);
    // Of a text that is linked, what counts is which one it is.
    let linked = links_text(description).and_then(|_| text.split_once("` translation")).map(|(_, rest)| rest);
    let linked = linked.map(|rest| rest.trim_start_matches([':', ',', ' ']).trim_start_matches("to use as "));
    let text = linked.unwrap_or(text);
    let text = text.strip_prefix("Id of ").or_else(|| text.strip_prefix("id of ")).unwrap_or(text);
    // A note such as (`listThings`) is for whoever asks the interface.
    let text = text.split(" (`").map(|part| part.split_once("`)").map_or(part, |(_, rest)| rest)).collect::<String>();
    let text = text.replace('`', "");
    let mut letters = text.chars();
    let sentence: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if sentence.is_empty() { sentence } else { format!("{sentence}.") }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_what_it_is_for() {
        for (description, expected) in [
            ("For `agreement`: how it is given; x.", Some(vec!["agreement"])),
            ("For `a`, `b` and `c_d`: x.", Some(vec!["a", "b", "c_d"])),
            ("Whether a guest. For `a`: x.", None),
            ("For Anna: x.", None),
        ] {
            let found = only_for(description).map(|(names, _)| names);
            assert_eq!(found, expected.map(|names| names.into_iter().map(str::to_owned).collect()), "{description}");
        }
    }

    #[test]
    fn the_rest_is_found_too() {
        assert_eq!(listed_by("For `a`: id of the account (`listPaymentAccounts`). Null: x."), Some("listPaymentAccounts"));
        assert_eq!(listed_by("The `listing`."), Some("listing"));
        assert_eq!(links_text("Id of a `manual` translation to use."), Some("manual"));
        assert_eq!(links_text("What a `manual` translation is."), None);
        assert_eq!(needed("Text; a change needs `modify_tasks`."), Some(Permission::ModifyTasks));
        assert_eq!(needed("`whatsapp` needs `supportWhatsapp`."), None);
    }

    #[test]
    fn a_description_is_brief() {
        for (description, expected) in [
            ("Whether guests may write to the host; `false` removes it. Default.", "Whether guests may write to the host."),
            ("For `a`: id of the payment account that charges (`listPaymentAccounts`). Null: x.", "The payment account that charges."),
            ("For `a`: id of a `manual` translation, text below the heading. Null unlinks it.", "Text below the heading."),
            ("Id of a `manual` translation to use as the title. Null unlinks it.", "The title."),
            ("", ""),
        ] {
            assert_eq!(brief(description), expected, "{description}");
        }
    }
}
