//! Folds texts into the form that searches compare, which is the same on both databases.

use std::cmp::Ordering;
use std::iter;

use caseless::Caseless as _;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// Returns a text in the form that searches compare: lower case, without accents, with one space
/// between words.
///
/// The function decomposes each character (Unicode compatibility decomposition), removes combining
/// marks and applies full case folding. It removes only marks with a combining class. The vowel
/// signs of Indic scripts have no combining class, so they stay.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// Compares two names in natural order. Case and accents are ignored, and numbers are compared by
/// their value: "Flat 2" is before "Flat 11".
#[must_use]
pub fn natural(first_text: &str, second_text: &str) -> Ordering {
    let (first_text, second_text) = (fold(first_text), fold(second_text));
    let (mut left, mut right) = (first_text.as_str(), second_text.as_str());
    loop {
        let (first, second) = (piece(left), piece(right));
        if first.is_empty() || second.is_empty() {
            return left.len().cmp(&right.len());
        }
        let order = match (digits(first), digits(second)) {
            // Without leading zeros, the number with more digits is greater.
            (Some(first), Some(second)) => first
                .len()
                .cmp(&second.len())
                .then_with(|| first.cmp(second)),
            _ => first.cmp(second),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[first.len()..], &right[second.len()..]);
    }
}

/// Returns the longest prefix of a text that consists of digits only, or of no digits.
fn piece(text: &str) -> &str {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text.find(|c: char| c.is_ascii_digit() != is_number);
    &text[..end.unwrap_or(text.len())]
}

/// Returns the digits of a piece of a text, without leading zeros. Returns `None` if the piece does
/// not begin with a digit.
fn digits(piece: &str) -> Option<&str> {
    piece
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| piece.trim_start_matches('0'))
}

/// Clears `folded`, and folds a text into it.
pub fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    for word in text.split_whitespace() {
        push(' ', folded);
        if word.is_ascii() {
            // Most words are ASCII. They need no decomposition, and the end of this function
            // converts them to lower case.
            folded.push_str(word);
            continue;
        }
        for c in word.chars() {
            decompose_compatible(c, |part| {
                if canonical_combining_class(part) == 0 {
                    iter::once(part)
                        .default_case_fold()
                        .for_each(|part| push(part, folded));
                }
            });
        }
    }
    folded.make_ascii_lowercase();
    if folded.ends_with(' ') {
        folded.pop();
    }
}

fn push(c: char, folded: &mut String) {
    match c {
        space if space.is_whitespace() => {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        }
        // Unicode does not decompose the following letters, although people read them as plain
        // letters with a mark. Most keyboards lack curly quotes and long dashes, so both become
        // their ASCII forms.
        'ø' => folded.push('o'),
        'ł' => folded.push('l'),
        'đ' => folded.push('d'),
        'ħ' => folded.push('h'),
        'ŧ' => folded.push('t'),
        'ı' => folded.push('i'),
        'æ' => folded.push_str("ae"),
        'œ' => folded.push_str("oe"),
        '\u{2018}' | '\u{2019}' => folded.push('\''),
        '\u{2010}'..='\u{2015}' => folded.push('-'),
        other => folded.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    #[test]
    fn names_are_ordered_as_people_order_them() {
        let mut names = [
            "Flat 11",
            "flat 2",
            "Flat 1a",
            "Ático",
            "Flat 02 B",
            "Flat",
            "9",
            "",
        ];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(
            names,
            [
                "",
                "9",
                "Ático",
                "Flat",
                "Flat 1a",
                "flat 2",
                "Flat 02 B",
                "Flat 11"
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn the_order_of_names_is_total(
            one in "[a0-2 ]{0,6}",
            two in "[a0-2 ]{0,6}",
            three in "[a0-2 ]{0,6}",
        ) {
            proptest::prop_assert_eq!(natural(&one, &two), natural(&two, &one).reverse());
            if natural(&one, &two).is_le() && natural(&two, &three).is_le() {
                proptest::prop_assert!(natural(&one, &three).is_le());
            }
        }
    }

    #[test]
    fn similar_texts_fold_to_the_same_search_text() {
        for (text, folded) in [
            ("  La\u{a0} Móràda\t", "la morada"),
            ("La Mo\u{301}ra\u{300}da", "la morada"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("İstanbul ISPARTA ısı", "istanbul isparta isi"),
            ("Ærø, Łódź, Đurđevac", "aero, lodz, durdevac"),
            ("l\u{2019}Eixample \u{2013} 70m²", "l'eixample - 70m2"),
            ("ﬁn Ｗｉ－Ｆｉ", "fin wi-fi"),
            ("ΟΔΟΣ ὁδός", "οδοσ οδοσ"),
            ("ᾼ ᾳ", "α α"),
            ("कि का", "कि का"),
            ("\u{301}", ""),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    /// Folds the whole text at once, by the steps in the documentation of [`fold`].
    fn fold_by_definition(text: &str) -> String {
        let bare: String = text
            .nfkd()
            .filter(|c| canonical_combining_class(*c) == 0)
            .default_case_fold()
            .collect();
        let alike = [
            ("ø", "o"),
            ("ł", "l"),
            ("đ", "d"),
            ("ħ", "h"),
            ("ŧ", "t"),
            ("ı", "i"),
            ("æ", "ae"),
            ("œ", "oe"),
        ];
        let plain = alike
            .into_iter()
            .fold(bare, |text, (from, to)| text.replace(from, to));
        let plain = plain
            .replace(['‘', '’'], "'")
            .replace(['‐', '‑', '‒', '–', '—', '―'], "-");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn names() -> impl Strategy<Value = String> {
        "[aAáb\u{301}ßsœØ1 -]{0,7}"
    }

    proptest! {
        #[test]
        fn folding_agrees_with_its_definition(text: String, name in names()) {
            prop_assert_eq!(fold(&text), fold_by_definition(&text));
            prop_assert_eq!(fold(&name), fold_by_definition(&name));
        }

        #[test]
        fn folding_a_folded_text_changes_nothing(text: String) {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }

        #[test]
        fn folding_ignores_case_and_unicode_composition(name in names()) {
            prop_assert_eq!(fold(&name.to_uppercase()), fold(&name));
            prop_assert_eq!(fold(&name.nfc().collect::<String>()), fold(&name));
            prop_assert_eq!(fold(&name.nfd().collect::<String>()), fold(&name));
        }
    }
}
