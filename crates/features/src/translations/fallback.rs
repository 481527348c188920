//! Chooses the version of a text for a reader, and reports the language of each text that is not in
//! the requested language. `engine/src/language.rs` compares languages.

use std::collections::{BTreeMap, HashMap};

use engine::language::{Fit, LanguageReader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns the text that suits a reader of `language` best, and the language of this text. Each
/// entry is a pair of a language and a text.
#[must_use]
pub fn pick<T>(language: &str, entries: Vec<(String, T)>) -> Option<(String, T)> {
    VersionPicker::of(language).pick(entries)
}

/// Chooses the versions of several texts for one reader. Remembers how well each language suits the
/// reader, so that each language is compared only once.
pub(super) struct VersionPicker {
    reader: LanguageReader,
    fits: HashMap<String, Fit>,
}

impl VersionPicker {
    pub(super) fn of(language: &str) -> Self {
        Self {
            reader: LanguageReader::of(language),
            fits: HashMap::new(),
        }
    }

    /// Returns the version of a text that suits the reader best (rules: translations#languages).
    pub(super) fn pick<T>(&mut self, entries: Vec<(String, T)>) -> Option<(String, T)> {
        let Self {
            reader,
            fits: cache,
        } = self;
        let mut fit = |tag: &str| match cache.get(tag) {
            Some(fit) => *fit,
            None => *cache.entry(tag.to_owned()).or_insert(reader.fit(tag)),
        };
        let fits: Vec<Fit> = entries.iter().map(|(tag, _)| fit(tag)).collect();
        let best =
            entries
                .into_iter()
                .zip(fits)
                .min_by(|((one, _), fit), ((other, _), other_fit)| {
                    fit.cmp(other_fit).then_with(|| one.cmp(other))
                });
        best.map(|(entry, _)| entry)
    }
}

/// The language of each text that is not in the requested language, by the field of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TextLanguages(pub(super) BTreeMap<String, String>);

impl TextLanguages {
    /// Returns whether every text is in the requested language.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the language of a field's text; `None` if the text is in the requested language.
    #[must_use]
    pub fn of(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// Records that the text which the field `field` shows is in `language`. Records nothing if
    /// this is the requested language.
    #[must_use]
    pub fn with_text_language(mut self, field: &str, language: &str, requested: &str) -> Self {
        if language != requested {
            self.0.insert(field.to_owned(), language.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picked(language: &str, languages: &[&str]) -> Option<String> {
        let (tag, text) = pick(
            language,
            languages
                .iter()
                .map(|tag| ((*tag).to_owned(), (*tag).to_owned()))
                .collect(),
        )?;
        assert_eq!(tag, text);
        Some(text)
    }

    #[test]
    fn the_nearest_language_is_chosen() {
        for (language, languages, expected) in [
            ("pt-BR", &["en", "pt", "pt-BR"][..], Some("pt-BR")),
            ("pt-BR", &["en", "pt", "pt-PT"], Some("pt")),
            ("pt-BR", &["de", "en", "pt-PT"], Some("pt-PT")),
            ("pt-BR", &["fr", "de"], Some("de")),
            ("iw", &["en", "he"], Some("he")),
            ("zh-CN", &["en", "zh-Hant"], Some("en")),
            ("pt-BR", &[], None),
        ] {
            assert_eq!(
                picked(language, languages).as_deref(),
                expected,
                "{language}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_text_is_chosen_whenever_any_exists(
            language in "[a-z]{2}(-[A-Z]{2})?",
            languages in prop::collection::vec("[a-z]{2}", 1..5),
        ) {
            let tags: Vec<&str> = languages.iter().map(String::as_str).collect();
            prop_assert!(picked(&language, &tags).is_some());
        }
    }
}
