//! Converts names and texts to the forms in which they are compared.

/// Returns a name in the form in which names are compared: trimmed, in NFC, with full case folding.
/// The comparison is the same on SQLite and on PostgreSQL.
#[must_use]
pub fn fold_name(name: &str) -> String {
    fold_case(crate::typed::trim(name))
}

/// Returns a text in NFC with case folding, for comparisons and searches that ignore case. Does not
/// trim the text.
#[must_use]
pub fn fold_case(text: &str) -> String {
    use caseless::Caseless as _;
    use unicode_normalization::UnicodeNormalization as _;
    text.nfc().default_case_fold().nfc().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_compared_without_case_and_composition() {
        assert_eq!(fold_name("  Straße "), fold_name("STRASSE"));
        assert_eq!(fold_name("Caf\u{e9}"), fold_name("CAFE\u{301}"));
        assert_ne!(fold_name("Casa Azul"), fold_name("Casa  Azul"));
    }

    proptest! {
        #[test]
        fn folding_a_folded_name_changes_nothing(name: String) {
            prop_assert_eq!(fold_name(&fold_name(&name)), fold_name(&name));
        }
    }
}
