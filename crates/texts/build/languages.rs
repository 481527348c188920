//! The languages, and the plural categories of each.

/// The plural categories of a language. Each category has a Rust pattern for the numbers that
/// belong to the category. Numbers that match no pattern belong to `other`.
type Categories = &'static [(&'static str, &'static str)];

/// The languages with a folder in `texts/`, English first, each with its plural categories. These
/// are the categories of [CLDR] for whole numbers.
///
/// [CLDR]: https://www.unicode.org/cldr/charts/latest/supplemental/language_plural_rules.html
pub const LANGUAGES: &[(&str, Categories)] = &[
    ("en", ONE),
    ("ar", ARABIC),
    ("ca", ONE_AND_MILLIONS),
    ("de", ONE),
    ("es", ONE_AND_MILLIONS),
    ("fr", ZERO_OR_ONE_AND_MILLIONS),
    ("he", ONE_AND_TWO),
    ("it", ONE_AND_MILLIONS),
    ("nl", ONE),
    // This is European Portuguese. In Brazilian Portuguese, 0 also belongs to the category `one`.
    ("pt", ONE_AND_MILLIONS),
];

const ONE: Categories = &[("one", "1")];
const ONE_AND_TWO: Categories = &[("one", "1"), ("two", "2")];
const ONE_AND_MILLIONS: Categories = &[("one", "1"), MILLIONS];
const ZERO_OR_ONE_AND_MILLIONS: Categories = &[("one", "0 | 1"), MILLIONS];
const ARABIC: Categories = &[
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("few", "n if matches!(n % 100, 3..=10)"),
    ("many", "n if matches!(n % 100, 11..=99)"),
];

const MILLIONS: (&str, &str) = ("many", "n if n != 0 && n % 1_000_000 == 0");

/// Returns the plural categories of a language, or `None` if the language is not in [`LANGUAGES`].
pub fn categories(language: &str) -> Option<Categories> {
    LANGUAGES
        .iter()
        .find(|(known, _)| *known == language)
        .map(|(_, categories)| *categories)
}

/// Returns the Rust pattern for the numbers to which a form of a template applies. `form` is a
/// plural category or a number. Returns `None` if it is a category that the language does not have.
pub fn pattern<'f>(form: &'f str, known: &[(&str, &'f str)]) -> Option<&'f str> {
    if form == "other" {
        return Some("_");
    }
    if form.parse::<u32>().is_ok() {
        return Some(form);
    }
    let category = known.iter().find(|(name, _)| *name == form);
    category.map(|(_, pattern)| *pattern)
}
