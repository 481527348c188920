//! Text as it is searched, the same on both databases.

use std::iter;

use caseless::Caseless as _;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// A text as it is searched: in one case, without accents, one blank between words.
///
/// Letter by letter: compatibility decomposition, no combining marks, full case folding. What is dropped are marks with a
/// combining class; the vowel signs of Indic scripts have none, and are no accents.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

/// The same into a string that is at hand.
pub fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    for word in text.split_whitespace() {
        push(' ', folded);
        if word.is_ascii() {
            // Most words are, and the tables have nothing else to say of them.
            folded.push_str(word);
            continue;
        }
        for letter in word.chars() {
            decompose_compatible(letter, |part| {
                if canonical_combining_class(part) == 0 {
                    iter::once(part).default_case_fold().for_each(|part| push(part, folded));
                }
            });
        }
    }
    folded.make_ascii_lowercase();
    if folded.ends_with(' ') {
        folded.pop();
    }
}

fn push(letter: char, folded: &mut String) {
    match letter {
        blank if blank.is_whitespace() => {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        }
        // Read as accented, though Unicode takes none of them apart; and what keyboards have no key for.
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
    fn what_reads_alike_is_folded_alike() {
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

    /// The definition of folding read literally, on the whole text.
    fn literally_folded(text: &str) -> String {
        let bare: String = text.nfkd().filter(|letter| canonical_combining_class(*letter) == 0).default_case_fold().collect();
        let alike = [("ø", "o"), ("ł", "l"), ("đ", "d"), ("ħ", "h"), ("ŧ", "t"), ("ı", "i"), ("æ", "ae"), ("œ", "oe")];
        let plain = alike.into_iter().fold(bare, |text, (from, to)| text.replace(from, to));
        let plain = plain.replace(['‘', '’'], "'").replace(['‐', '‑', '‒', '–', '—', '―'], "-");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn names() -> impl Strategy<Value = String> {
        "[aAáb\u{301}ßsœØ1 -]{0,7}"
    }

    proptest! {
        #[test]
        fn folding_is_what_it_is_defined_to_be(text: String, name in names()) {
            prop_assert_eq!(fold(&text), literally_folded(&text));
            prop_assert_eq!(fold(&name), literally_folded(&name));
        }

        #[test]
        fn folding_twice_is_folding_once(text: String) {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }

        #[test]
        fn neither_case_nor_composition_matters(name in names()) {
            prop_assert_eq!(fold(&name.to_uppercase()), fold(&name));
            prop_assert_eq!(fold(&name.nfc().collect::<String>()), fold(&name));
            prop_assert_eq!(fold(&name.nfd().collect::<String>()), fold(&name));
        }
    }
}
