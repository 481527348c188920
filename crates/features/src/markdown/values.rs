//! Inserts values into a text of a host so that they are never read as formatting.
//!
//! While a text is rendered, a [`mark`] represents each value. A mark is one word of letters, so a
//! value cannot change the formatting of the text.

/// The start and the end of a mark, which stands for a value while the text is rendered. Both
/// consist of letters, because Markdown never reads letters as formatting.
const MARK: (&str, &str) = ("zqvalue", "qz");

/// The schemes of links to a phone number.
const NUMBER_SCHEMES: [&str; 3] = ["tel:", "sms:", "whatsapp:"];

/// Returns the mark that stands for the value with this index while the text is rendered.
#[must_use]
pub fn mark(index: usize) -> String {
    format!("{}{index}{}", MARK.0, MARK.1)
}

/// Replaces each mark in rendered HTML by the value whose index the mark contains, as plain text.
/// Inside the address of a link, the value is percent-encoded.
pub(super) fn insert_values(html: &str, values: &[String]) -> String {
    let mut output = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, after_start)) = rest.split_once(MARK.0) {
        output.push_str(before);
        let value_and_rest = after_start
            .split_once(MARK.1)
            .and_then(|(index, after)| Some((values.get(index.parse::<usize>().ok()?)?, after)));
        let Some((value, after)) = value_and_rest else {
            output.push_str(MARK.0);
            rest = after_start;
            continue;
        };
        let value = super::without_marks(value);
        let replacement = match address(&output) {
            Some("") if value.starts_with("www.") => {
                format!("https://{}", ammonia::clean_text(&value))
            }
            Some(address) if !address.is_empty() => in_address(address, &value),
            _ => ammonia::clean_text(&value),
        };
        output.push_str(&replacement);
        rest = after;
    }
    output.push_str(rest);
    output
}

/// Returns the address of a link or a picture if the HTML ends inside of this address; otherwise
/// `None`.
fn address(html: &str) -> Option<&str> {
    let tag = html.rfind('<').map_or("", |offset| &html[offset..]);
    let (name, value) = tag.rsplit_once("=\"")?;
    let is_open = !tag.contains('>') && !value.contains('"');
    (is_open && (name.ends_with(" href") || name.ends_with(" src"))).then_some(value)
}

/// Percent-encodes a value that is inserted into the URL `address`. If the scheme of the URL is
/// that of a phone number, such as `tel:`, a plus sign is not encoded and blanks are removed.
fn in_address(address: &str, value: &str) -> String {
    let encoded = |text: &str| -> String {
        let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        encoded.replace('+', "%20")
    };
    let is_number = NUMBER_SCHEMES
        .iter()
        .any(|scheme| address.starts_with(scheme));
    if is_number {
        let number = value.replace(char::is_whitespace, "");
        return encoded(&number).replace("%2B", "+");
    }
    encoded(value)
}

/// Returns a value as Markdown that shows the value unchanged after the text `before`. Inside of a
/// code span the value needs no escape.
#[must_use]
pub fn escaped_value(before: &str, value: &str) -> String {
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.matches('`').count() % 2 == 1 {
        return value.to_owned();
    }
    let starts_line = line
        .trim_start_matches([' ', '\t', '>', '-', '*', '+'])
        .is_empty();
    let mut escaped = String::with_capacity(value.len());
    let mut is_number = starts_line;
    for (index, character) in value.chars().enumerate() {
        let is_special = matches!(
            character,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '|' | '&'
        );
        let opens_block = starts_line && index == 0 && matches!(character, '#' | '+' | '-' | '=');
        let ends_number = is_number && index > 0 && matches!(character, '.' | ')');
        is_number = is_number && character.is_ascii_digit();
        if is_special || opens_block || ends_number {
            escaped.push('\\');
        }
        // A line break would end the row of a table or begin a new block.
        escaped.push(if character == '\n' || character == '\r' {
            ' '
        } else {
            character
        });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{to_html, to_html_with};
    use super::*;

    fn html(text: &str, value: &str) -> String {
        to_html_with(text, &[value.to_owned()], None).unwrap()
    }

    #[test]
    fn values_are_never_formatted() {
        let text = format!("Code: {}", mark(0));
        assert_eq!(text, "Code: zqvalue0qz");
        for value in [
            "**4711**",
            "# a",
            "<b>x</b>",
            "[a](https://b.example)",
            "`x`",
            "1. a",
            "a_b_c",
        ] {
            let rendered = html(&text, value);
            assert!(
                !rendered.contains("<b>")
                    && !rendered.contains("<a")
                    && !rendered.contains("<strong>"),
                "{rendered}"
            );
            assert!(
                !rendered.contains("<code>") && !rendered.contains("<li>"),
                "{rendered}"
            );
        }
        assert!(html(&format!("`{}`", mark(0)), "a*b").contains("<code>a*b</code>"));
        let bold = html(&format!("**{}**", mark(0)), "*12#");
        assert_eq!(bold.trim(), "<p><strong>*12#</strong></p>");
    }

    #[test]
    fn a_value_in_an_address_is_encoded() {
        for (address, value, href) in [
            (
                "https://a.example/?q=",
                "Gran 7 & 8",
                "https://a.example/?q=Gran%207%20%26%208",
            ),
            ("tel:", "+34 600 123 456", "tel:+34600123456"),
            ("", "www.example.com", "https://www.example.com"),
            ("", "https://a.example/b", "https://a.example/b"),
        ] {
            let link = html(&format!("[map]({address}{})", mark(0)), value);
            assert!(link.contains(&format!("href=\"{href}\"")), "{link}");
        }
        let script = html(&format!("[map]({})", mark(0)), "javascript:alert(1)");
        assert!(!script.contains("javascript"), "{script}");
    }

    #[test]
    fn a_value_in_a_hebrew_text_is_isolated() {
        let text = format!("הקוד: {}", mark(0));
        let rendered = to_html_with(&text, &["*4321#".to_owned()], Some("he")).unwrap();
        assert!(
            rendered.contains("<bdi dir=\"ltr\">*4321#</bdi>"),
            "{rendered}"
        );
        assert!(!html(&mark(0), "\u{e0f0}Ada").contains("<input"));
    }

    #[test]
    fn values_in_markdown_are_escaped_where_they_would_format() {
        let escaped = escaped_value;
        assert_eq!(escaped("At ", "Casa Azul 2-1"), "Casa Azul 2-1");
        assert_eq!(escaped("At ", "a_b *c*"), "a\\_b \\*c\\*");
        assert_eq!(escaped("Code `", "a_b"), "a_b");
        assert_eq!(escaped("Text\n- ", "# a"), "\\# a");
        assert_eq!(escaped("", "12. May"), "12\\. May");
        assert_eq!(escaped("", "a\n# b"), "a # b");
    }

    proptest! {
        #[test]
        fn a_value_is_read_as_it_is(value in "[!-~]{1,20}") {
            let rendered = html(&format!("Code: {}.", mark(0)), &value);
            let read = rendered
                .trim()
                .trim_start_matches("<p>")
                .trim_end_matches("</p>")
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            prop_assert_eq!(read, format!("Code: {value}."));
        }

        #[test]
        fn a_value_in_markdown_is_not_formatted(value in "[ -~]{1,20}") {
            let value = format!("x{}", value.trim_end());
            let rendered =
                to_html(&format!("Code: {}", escaped_value("Code: ", &value)), None).unwrap();
            prop_assert!(
                !rendered.contains("<em>")
                    && !rendered.contains("<strong>")
                    && !rendered.contains("<code>"),
                "{rendered}"
            );
        }
    }
}
