//! Normalizes texts that people type or paste. Such texts may contain invisible characters, and
//! digits of any script.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Returns whether a text has no visible character. White space, control characters and characters
/// without a glyph, such as U+200B and U+3164, are not visible (rules: errors#blank-texts).
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// Returns a text without white space around it. Returns an empty text if nothing is visible.
#[must_use]
pub fn trim(text: &str) -> &str {
    if is_blank(text) { "" } else { text.trim() }
}

/// Returns a number, an address or a code in the form in which it is validated and stored. Digits
/// of any script become ASCII, and every white-space character becomes a space. Invisible
/// characters and white space around the value are removed (rules: pre-check-in#details-of-guests).
#[must_use]
pub fn normalize_input(text: &str) -> String {
    let normalized: String = text
        .chars()
        .filter(|c| c.is_whitespace() || !is_invisible(*c))
        .map(|c| match c {
            blank if blank.is_whitespace() => ' ',
            '\u{ff0b}' => '+',
            other => digit(other).unwrap_or(other),
        })
        .collect();
    normalized.trim().to_owned()
}

/// Returns whether nothing is drawn for a character. The calling functions test for white space
/// first: this function returns true for a line break, but false for a space.
fn is_invisible(c: char) -> bool {
    // Unicode does not list the empty pattern of Braille, the object placeholder and the annotation
    // marks as ignorable, but nothing is drawn for them.
    c.is_control()
        || matches!(c, '\u{2800}' | '\u{fff9}'..='\u{fffc}')
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Converts a decimal digit of any script to an ASCII digit. Returns `None` for any other
/// character.
fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let is_digit = |point: u32| categories.get32(point) == GeneralCategory::DecimalNumber;
    let point = u32::from(c);
    if !is_digit(point) {
        return None;
    }
    // Unicode encodes the decimal digits of a script as ten consecutive characters, from 0 to 9,
    // and several such tens may follow each other. So the number of digits directly before a
    // character, modulo 10, is its value.
    let before = (1..50)
        .take_while(|distance| point.checked_sub(*distance).is_some_and(is_digit))
        .count();
    char::from_digit(u32::try_from(before % 10).ok()?, 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_of_invisible_characters_is_blank() {
        for text in [
            "",
            " \t\n",
            "\u{a0}\u{2003}\u{3000}",
            "\u{200b}\u{feff}\u{2060}",
            "\u{3164}",
            "\u{115f}\u{1160}\u{ffa0}",
            "\u{2800}",
            "\u{ad}\u{200e}\u{202e}",
            "\u{e0020}",
        ] {
            assert!(is_blank(text), "{text:?}");
            assert_eq!(trim(text), "", "{text:?}");
        }
        for text in ["a", " . ", "\u{3164}Ada", "\u{200d}👩", "ㅤ김"] {
            assert!(!is_blank(text), "{text:?}");
        }
        assert_eq!(trim(" \u{a0}Ada "), "Ada");
    }

    #[test]
    fn digits_of_any_script_become_ascii() {
        for (input, expected) in [
            ("+\u{0669}\u{0666}\u{0666}\u{0665}\u{0660}", "+96650"),
            ("+\u{06f9}\u{06f8}", "+98"),
            (
                "\u{ff0b}\u{ff13}\u{ff14} \u{ff16}\u{ff10}\u{ff10}",
                "+34 600",
            ),
            ("\u{0967}\u{0968}\u{096f}", "129"),
            ("\u{1d7d8}\u{1d7e1}\u{1d7e2}\u{1d7ff}", "0909"),
            (" ada@example\u{200b}.com\u{a0}", "ada@example.com"),
            ("\u{202a}+34\u{a0}600\u{2009}123\u{202c}", "+34 600 123"),
            ("X\u{ad}1234567\u{feff}L", "X1234567L"),
            ("½ Ⅳ", "½ Ⅳ"),
        ] {
            assert_eq!(normalize_input(input), expected, "{input:?}");
        }
    }

    proptest! {
        #[test]
        fn tidying_twice_changes_nothing(text: String) {
            prop_assert_eq!(
                normalize_input(&normalize_input(&text)),
                normalize_input(&text)
            );
        }

        #[test]
        fn the_ten_digits_of_a_script_have_their_values(
            digit in 0..10_u32,
            zero in prop::sample::select(vec![
                0x660_u32, 0x6f0, 0x966, 0xe50, 0xff10, 0x1d7ce, 0x1e950,
            ]),
        ) {
            let input = char::from_u32(zero + digit).unwrap();
            prop_assert_eq!(super::digit(input), char::from_digit(digit, 10));
        }

        #[test]
        fn plain_text_is_kept(text in "[!-~]{1,20}") {
            prop_assert_eq!(normalize_input(&text), text);
        }
    }
}
