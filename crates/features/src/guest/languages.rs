//! Chooses the language of a page from the languages that the browser accepts.

use engine::language::LanguageReader;

use crate::words::LANGUAGES;

/// Returns the first accepted language in which the page has texts: a language of the organization,
/// or a language of the built-in texts.
#[must_use]
pub fn best_language<'t>(
    accepted: impl IntoIterator<Item = &'t str>,
    organization: &[String],
) -> Option<&'t str> {
    let texts = || organization.iter().map(String::as_str).chain(LANGUAGES);
    accepted
        .into_iter()
        .find(|tag| LanguageReader::of(tag).exact_match(texts()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    #[test]
    fn the_first_supported_accepted_language_is_chosen() {
        let best = |accepted: &[&'static str], organization: &[&str]| {
            best_language(accepted.iter().copied(), &tags(organization))
        };
        assert_eq!(best(&["sv", "fr-CA", "en"], &["en"]), Some("fr-CA"));
        assert_eq!(best(&["sv-SE", "fr"], &["en", "sv"]), Some("sv-SE"));
        assert_eq!(best(&["iw"], &["en"]), Some("iw"));
        assert_eq!(best(&["zh-TW"], &["en", "zh"]), None);
        assert_eq!(best(&["sv"], &["en"]), None);
    }
}
