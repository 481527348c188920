//! Makes numbers and codes readable in texts that are written from right to left.
//!
//! The punctuation of a number has no direction of its own. In a Hebrew sentence, `*4321#` would be
//! displayed as `4321#*`, and the groups of `+34 600 123 456` in reverse order. So this file puts
//! each number with punctuation into an element with `dir="ltr"` (rules:
//! manuals#texts-as-hosts-write-them).

use std::ops::Range;

use engine::language;

use super::tags;

/// A function that appends a text to a string as escaped HTML.
type Escape = fn(&str, &mut String);

/// Returns a text as HTML. If the text may be displayed from right to left, each number with
/// punctuation is in an element with `dir="ltr"`. `language` is the language of the text, if it is
/// known.
pub(super) fn plain(text: &str, language: Option<&str>) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    if needs_isolation(text, language) {
        push_isolated(text, push_escaped, &mut html);
    } else {
        push_escaped(text, &mut html);
    }
    html
}

/// Puts each number with punctuation in sanitized HTML into an element with `dir="ltr"`, as
/// [`plain`] does with plain text. The tags that the HTML already has do not change.
pub(super) fn in_html(html: String, language: Option<&str>) -> String {
    if !needs_isolation(&html, language) {
        return html;
    }
    let mut isolated = String::with_capacity(html.len() * 2);
    let mut rest = html.as_str();
    while let Some(offset) = rest.find('<') {
        push_isolated(
            &unescaped(&rest[..offset]),
            push_as_sanitized,
            &mut isolated,
        );
        let end = tags::end_of(&rest[offset + 1..]).map_or(rest.len(), |end| offset + 1 + end);
        isolated.push_str(&rest[offset..end]);
        rest = &rest[end..];
    }
    push_isolated(&unescaped(rest), push_as_sanitized, &mut isolated);
    isolated
}

/// Returns whether a text may be displayed from right to left, because of its language or of a
/// letter in it.
fn needs_isolation(text: &str, language: Option<&str>) -> bool {
    language.is_some_and(language::is_right_to_left) || language::has_right_to_left(text)
}

fn push_isolated(text: &str, escape: Escape, html: &mut String) {
    let mut from = 0;
    for number in numbers(text) {
        escape(&text[from..number.start], html);
        html.push_str("<bdi dir=\"ltr\">");
        escape(&text[number.clone()], html);
        html.push_str("</bdi>");
        from = number.end;
    }
    escape(&text[from..], html);
}

/// Appends a text to the HTML, with the same character references that the templates use.
fn push_escaped(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&#38;"),
            '<' => html.push_str("&#60;"),
            '>' => html.push_str("&#62;"),
            '"' => html.push_str("&#34;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

/// Appends a text, escaped in the same way as by the sanitizer.
fn push_as_sanitized(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '\u{a0}' => html.push_str("&nbsp;"),
            other => html.push(other),
        }
    }
}

/// Returns a line of text as HTML, escaped in the same way as by the sanitizer.
pub(super) fn line(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 8);
    push_as_sanitized(text, &mut html);
    in_html(html, None)
}

/// Returns the text of sanitized HTML without escapes. The sanitizer escapes only the characters
/// that this function restores.
fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&")
}

/// Returns the byte ranges of the numbers in a text, such as `+34 600 123 456`, `15:00` or
/// `*4321#`. Leaves out each number that consists of a single group of digits without signs.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let pieces = pieces(text);
    let mut numbers = Vec::new();
    let mut index = 0;
    while let Some(first) = pieces.get(index) {
        let groups = groups_from(text, &pieces[index..]);
        let joined = first.start..pieces[index + groups - 1].end;
        if groups > 1 && is_one_number(&text[joined.clone()]) {
            numbers.push(joined);
            index += groups;
            continue;
        }
        if is_number_with_signs(&text[first.clone()]) {
            numbers.push(first.clone());
        }
        index += 1;
    }
    numbers
}

/// Returns whether a character can be part of a number with punctuation, or of a code with Latin
/// letters.
fn is_of_code(character: char) -> bool {
    character.is_ascii_graphic() || character.is_numeric() || is_dash(character)
}

const fn is_dash(character: char) -> bool {
    matches!(character, '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Returns the ranges of the codes in a text. A code is a run of characters without blanks and
/// without letters of scripts other than Latin. The punctuation of the sentence around a code is
/// not part of the code.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = None;
    for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_of_code(character)) {
            (None, true) => start = Some(offset),
            (Some(from), false) => {
                pieces.extend(code(text, from..offset));
                start = None;
            }
            _ => {}
        }
    }
    pieces
}

fn code(text: &str, run: Range<usize>) -> Option<Range<usize>> {
    let is_letter = |character: char| character.is_alphabetic();
    let mut code = &text[run.clone()];
    // A dash between a word and a number belongs to the word.
    if text[..run.start].ends_with(is_letter) {
        code = code.trim_start_matches(|character| character == '-' || is_dash(character));
    }
    let start = run.end - code.len();
    if text[run.end..].starts_with(is_letter) {
        code = code.trim_end_matches(|character| character == '-' || is_dash(character));
    }
    let (mut start, mut end) = (start, start + code.len());
    loop {
        let code = &text[start..end];
        let is_unclosed =
            |open: char, close: char| code.matches(open).count() > code.matches(close).count();
        let is_unopened =
            |open: char, close: char| code.matches(close).count() > code.matches(open).count();
        if code.starts_with(['"', '\''])
            || code.starts_with('(') && is_unclosed('(', ')')
            || code.starts_with('[') && is_unclosed('[', ']')
        {
            start += 1;
        } else if code.ends_with(['.', ',', ';', ':', '?', '"', '\''])
            || code.ends_with(')') && is_unopened('(', ')')
            || code.ends_with(']') && is_unopened('[', ']')
        {
            end -= 1;
        } else {
            break;
        }
    }
    (start < end).then_some(start..end)
}

/// Returns how many pieces at the beginning of `pieces` form one number, such as the three pieces
/// of `600 123 456`. These pieces have no letters, and one blank separates each from the next.
fn groups_from(text: &str, pieces: &[Range<usize>]) -> usize {
    let is_group = |piece: &Range<usize>| {
        let group = &text[piece.clone()];
        let is_of_signs = group.chars().all(|character| "+*#".contains(character));
        !group.contains(char::is_alphabetic) && (is_of_signs || group.contains(char::is_numeric))
    };
    let mut groups = 1;
    while let [last, next] = pieces.get(groups - 1..=groups).unwrap_or_default() {
        let between = &text[last.end..next.start];
        let is_blank = between.chars().count() == 1 && between.chars().all(char::is_whitespace);
        if !is_blank || between == "\n" || !is_group(last) || !is_group(next) {
            break;
        }
        groups += 1;
    }
    groups
}

/// Returns whether a text of several groups of digits is one number, such as a phone number.
fn is_one_number(text: &str) -> bool {
    let has_digits = text.contains(char::is_numeric);
    let is_sized = text.split_whitespace().all(|group| {
        group
            .chars()
            .filter(|character| character.is_numeric())
            .count()
            > 1
    });
    has_digits
        && (text.starts_with(['+', '*', '#', '(', '0'])
            || is_sized && text.split_whitespace().count() > 2)
}

fn is_number_with_signs(text: &str) -> bool {
    text.contains(char::is_numeric) && text.contains(|character: char| !character.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<&str> {
        numbers(text)
            .into_iter()
            .map(|number| &text[number])
            .collect()
    }

    #[test]
    fn numbers_with_signs_are_found() {
        for (text, expected) in [
            ("הקוד הוא *4321#", &["*4321#"][..]),
            ("טלפון: +34 600 123 456.", &["+34 600 123 456"]),
            ("קוד 1234-5678!", &["1234-5678!"]),
            ("התקשרו (0)20 7946 0958, בבקשה", &["(0)20 7946 0958"]),
            ("600 123 456", &["600 123 456"]),
            ("ב-1234# או B-12", &["1234#", "B-12"]),
            ("(קוד *12#)", &["*12#"]),
            ("בין 10 20 אנשים", &[]),
            ("חדר 12", &[]),
            ("משעה 15:00 עד 11:00.", &["15:00", "11:00"]),
            ("الرمز 5*6*7# ثم 1234-5678", &["5*6*7#", "1234-5678"]),
            ("קומה 2. דירה 3, דלת 4", &[]),
            ("+34\u{a0}600\u{a0}123", &["+34\u{a0}600\u{a0}123"]),
            ("", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_isolated_where_a_text_is_written_from_right_to_left() {
        assert_eq!(
            plain("קוד *12# & <b>", None),
            "קוד <bdi dir=\"ltr\">*12#</bdi> &#38; &#60;b&#62;"
        );
        assert_eq!(plain("*12#", Some("he")), "<bdi dir=\"ltr\">*12#</bdi>");
        assert_eq!(plain("Code *12#", Some("en")), "Code *12#");
        assert_eq!(
            in_html(
                "<p>קוד <code>*12#</code> &amp; <a href=\"/a-1\">5-6</a></p>".into(),
                None
            ),
            "<p>קוד <code><bdi dir=\"ltr\">*12#</bdi></code> &amp; <a href=\"/a-1\"><bdi \
                dir=\"ltr\">5-6</bdi></a></p>"
        );
    }

    proptest! {
        #[test]
        fn isolation_changes_nothing_of_the_text(text in "[א-ת0-9*#+<>&\"' .,()\\-]{0,40}") {
            let html = plain(&text, Some("he"));
            let bare = html.replace("<bdi dir=\"ltr\">", "").replace("</bdi>", "");
            let mut escaped = String::new();
            push_escaped(&text, &mut escaped);
            prop_assert_eq!(bare, escaped);
        }
    }
}
