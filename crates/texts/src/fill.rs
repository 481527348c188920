//! Fills values into templates.

/// Replaces the placeholders of a template by values. A placeholder without a value is not
/// replaced. Braces inside a value are not treated as placeholders.
#[must_use]
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, behind)) = next_place(rest) {
        filled.push_str(before);
        match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => filled.push_str(value),
            None => filled.push_str(&rest[before.len()..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Splits a text at its first placeholder. Returns the text before the placeholder, the name of the
/// placeholder, and the text after it; `None` if the text has no placeholder.
fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, behind) = rest.split_once('}')?;
    Some((before, name, behind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn placeholders_are_replaced_once() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a} and {unknown}", &[("a", "1")]), "1 and {unknown}");
        assert_eq!(fill("no end {a", &[("a", "1")]), "no end {a");
    }

    proptest! {
        #[test]
        fn a_text_without_values_is_unchanged(text in "[a-z{} ]{0,20}") {
            prop_assert_eq!(fill(&text, &[]), text);
        }

        #[test]
        fn placeholders_in_a_value_are_not_replaced(
            before in "[^{}]{0,5}",
            value in "\\PC{0,8}",
            behind in "[^{}]{0,5}",
        ) {
            prop_assert_eq!(
                fill(&format!("{before}{{x}}{behind}"), &[("x", &value)]),
                format!("{before}{value}{behind}")
            );
        }
    }
}
