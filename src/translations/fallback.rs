//! Which version of a text a reader gets: `pt-BR`, else `pt`, else English, else whatever there is.

use super::ENGLISH;

/// The text to show to a reader of `language`, with the language that it is in, from pairs of the two.
#[must_use]
pub fn pick<T>(language: &str, entries: Vec<(String, T)>) -> Option<(String, T)> {
    let rank = |entry: &str| {
        let mut candidate = language;
        let mut steps = 0;
        loop {
            if entry.eq_ignore_ascii_case(candidate) {
                return (steps, String::new());
            }
            match candidate.rsplit_once('-') {
                Some((parent, _)) => candidate = parent,
                None => break,
            }
            steps += 1;
        }
        if entry == ENGLISH { (usize::MAX - 1, String::new()) } else { (usize::MAX, entry.to_owned()) }
    };
    entries.into_iter().min_by_key(|(entry, _)| rank(entry))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn picked(language: &str, languages: &[&str]) -> Option<String> {
        let (tag, text) = pick(language, languages.iter().map(|tag| ((*tag).to_owned(), (*tag).to_owned())).collect())?;
        assert_eq!(tag, text);
        Some(text)
    }

    #[test]
    fn the_nearest_language_wins() {
        assert_eq!(picked("pt-BR", &["en", "pt", "pt-BR"]).as_deref(), Some("pt-BR"));
        assert_eq!(picked("pt-BR", &["en", "pt", "pt-PT"]).as_deref(), Some("pt"));
        assert_eq!(picked("pt-BR", &["de", "en", "pt-PT"]).as_deref(), Some("en"));
        assert_eq!(picked("pt-BR", &["fr", "de"]).as_deref(), Some("de"));
        assert_eq!(picked("pt-BR", &[]), None);
    }

    proptest! {
        #[test]
        fn something_is_shown_whenever_there_is_something(language in "[a-z]{2}(-[A-Z]{2})?", languages in prop::collection::vec("[a-z]{2}", 1..5)) {
            let tags: Vec<&str> = languages.iter().map(String::as_str).collect();
            prop_assert!(picked(&language, &tags).is_some());
        }
    }
}
