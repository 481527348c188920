//! Matches the language that a reader requests with the languages of the existing versions of a
//! text (rules: translations#languages). The data about languages is that of CLDR.
//!
//! Tags are compared in canonical form with their likely script and region, from ICU4X's data. A
//! version in another script does not match. Readers of simplified Chinese do not get traditional
//! characters, and readers of Cyrillic Serbian do not get Latin script.

use icu_locale::fallback::{LocaleFallbackConfig, LocaleFallbacker};
use icu_locale::subtags::{Language, Region, Script, language};
use icu_locale::{
    Direction, LanguageIdentifier, Locale, LocaleCanonicalizer, LocaleDirectionality,
    LocaleExpander,
};
use icu_properties::CodePointMapData;
use icu_properties::props::BidiClass;

use crate::format::{self, ENGLISH};

/// Maximum number of tags that are read from an `Accept-Language` header.
const MAX_TAGS: usize = 16;
/// Maximum number of parents of a language tag. The parents are made one after another: each is the
/// previous tag without a variant, without the region or without the script.
const MAX_PARENTS: usize = 8;

static CANONICALIZER: LocaleCanonicalizer = LocaleCanonicalizer::new_extended();
static EXPANDER: LocaleExpander = LocaleExpander::new_extended();
static DIRECTIONALITY: LocaleDirectionality = LocaleDirectionality::new_extended();

/// A tag in canonical form, with its likely script and region.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    canonical: LanguageIdentifier,
    likely: LanguageIdentifier,
}

impl Tag {
    fn parse(text: &str) -> Option<Self> {
        let mut locale = Locale::try_from_str(&text.replace('_', "-")).ok()?;
        CANONICALIZER.canonicalize(&mut locale);
        let mut canonical = locale.id;
        if canonical.language.is_unknown() {
            return None;
        }
        // CLDR treats `no` as a separate language. Its texts are Bokmål, so it is compared as `nb`.
        if canonical.language == language!("no") {
            canonical.language = language!("nb");
        }
        Some(Self::of(canonical))
    }

    fn of(canonical: LanguageIdentifier) -> Self {
        let mut likely = LanguageIdentifier {
            language: canonical.language,
            script: canonical.script,
            region: canonical.region,
            ..LanguageIdentifier::UNKNOWN
        };
        EXPANDER.maximize(&mut likely);
        Self { canonical, likely }
    }

    /// Returns the language and the script. A person who can read texts in the language of one tag
    /// can read the texts of all tags with the same language and script.
    fn language_and_script(&self) -> (Language, Option<Script>) {
        (self.likely.language, self.likely.script)
    }

    /// Returns the language tag and its parents, such as `pt` for `pt-BR`, the nearest first. The
    /// first two items are the tag in canonical form, and the tag with its most likely script and
    /// region.
    fn with_parents(&self) -> Vec<LanguageIdentifier> {
        let fallbacker = LocaleFallbacker::new().for_config(LocaleFallbackConfig::default());
        let mut steps = fallbacker.fallback_for((&self.canonical).into());
        let mut with_parents = vec![self.canonical.clone(), self.likely.clone()];
        for _ in 0..MAX_PARENTS {
            let step = steps.get();
            if step.is_unknown() {
                break;
            }
            let mut parent = LanguageIdentifier {
                language: step.language,
                script: step.script,
                region: step.region,
                ..LanguageIdentifier::UNKNOWN
            };
            if parent.language == language!("no") {
                parent.language = language!("nb");
            }
            with_parents.push(parent);
            steps.step();
        }
        with_parents
    }
}

/// How well a version of a text fits the language that a reader requests. The smallest value fits
/// best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The version has exactly the requested tag.
    Exact,
    /// The version has the requested tag in canonical form, or a parent of that tag. The value is
    /// the number of steps from the tag to the parent; 0 stands for the tag itself.
    Parent(usize),
    /// A version for the default region of the requested language, in the same script.
    DefaultRegion,
    /// A version in the requested language and script, for a region that is neither the requested
    /// region nor the default region of the language.
    OtherRegion,
    /// A version in a related language that the reader can read, such as Bokmål for a reader of
    /// Nynorsk. The value says how well the version fits a request for that related language; the
    /// lowest value fits best.
    Sibling(usize),
    /// A version in English, for a reader of another language. The value says how well the version
    /// fits a request for `en`; the lowest value fits best.
    English(usize),
    /// The version is in a language that the reader cannot be expected to read, and not in English.
    Other,
}

impl Fit {
    /// Returns whether a reader of the requested language can read the version: it is in that
    /// language, or in a related one, as Bokmål is for Nynorsk.
    #[must_use]
    pub const fn is_match(self) -> bool {
        !matches!(self, Self::English(_) | Self::Other)
    }

    /// Returns the rank of a fit to one language. A lower rank is a better fit. [`Fit::Sibling`]
    /// stores the rank of a Bokmål version for a request of Bokmål, although the reader requests
    /// Nynorsk. [`Fit::English`] stores the rank of an English version for a request of `en`.
    const fn rank(self) -> usize {
        match self {
            Self::Exact => 0,
            Self::Parent(steps) => 1 + steps,
            Self::DefaultRegion => 2 * MAX_PARENTS,
            _ => 2 * MAX_PARENTS + 1,
        }
    }
}

/// The language that a reader requests, prepared for comparison with the versions of a text.
#[derive(Debug, Clone)]
pub struct LanguageReader {
    /// The requested language tag, exactly as the request contains it.
    requested: String,
    /// The parsed language; `None` if the requested text is not a tag.
    language: Option<RequestedLanguage>,
}

/// A requested language, with the parts of its tag.
#[derive(Debug, Clone)]
struct RequestedLanguage {
    tag: Tag,
    with_parents: Vec<LanguageIdentifier>,
    /// The region that is most likely, according to CLDR, for the language and the script of the
    /// tag.
    default_region: Option<Region>,
}

impl RequestedLanguage {
    fn of(tag: Tag) -> Self {
        let (language, script) = tag.language_and_script();
        let mut default = LanguageIdentifier {
            language,
            script,
            ..LanguageIdentifier::UNKNOWN
        };
        EXPANDER.maximize(&mut default);
        Self {
            with_parents: tag.with_parents(),
            default_region: default.region,
            tag,
        }
    }

    /// Returns how well a version of a text fits, or `None` if its language or script differs from
    /// the requested one.
    fn fit(&self, version: &Tag) -> Option<Fit> {
        if version.language_and_script() != self.tag.language_and_script() {
            return None;
        }
        let is_version = |language: &LanguageIdentifier| *language == version.canonical;
        // Two tags with the same likely subtags mean the same: `zh-TW` and `zh-Hant` both stand for
        // `zh-Hant-TW`.
        let is_likely =
            |language: &LanguageIdentifier| Tag::of(language.clone()).likely == version.likely;
        let rank = self
            .with_parents
            .iter()
            .position(is_version)
            .or_else(|| self.with_parents.iter().position(is_likely));
        Some(match rank {
            Some(steps) => Fit::Parent(steps),
            None if version.likely.region == self.default_region => Fit::DefaultRegion,
            None => Fit::OtherRegion,
        })
    }
}

impl LanguageReader {
    /// Returns the reader who requests a language.
    #[must_use]
    pub fn of(requested: &str) -> Self {
        Self {
            requested: requested.to_owned(),
            language: Tag::parse(requested).map(RequestedLanguage::of),
        }
    }

    /// Returns how well the version of a text in the language `version` fits this reader.
    #[must_use]
    pub fn fit(&self, version: &str) -> Fit {
        if version.eq_ignore_ascii_case(&self.requested) {
            return Fit::Exact;
        }
        let Some(version) = Tag::parse(version) else {
            return Fit::Other;
        };
        let fit_of = |language: &RequestedLanguage| language.fit(&version);
        let other = |tag: &str| {
            Tag::parse(tag)
                .map(RequestedLanguage::of)
                .as_ref()
                .and_then(fit_of)
        };
        if let Some(fit) = self.language.as_ref().and_then(fit_of) {
            return fit;
        }
        let is_nynorsk = self
            .language
            .as_ref()
            .is_some_and(|language| language.tag.canonical.language == language!("nn"));
        if let Some(fit) = is_nynorsk.then(|| other("nb")).flatten() {
            return Fit::Sibling(fit.rank());
        }
        let is_english = version.canonical.language == language!("en");
        let english = is_english.then(|| other(ENGLISH)).flatten();
        english.map_or(Fit::Other, |fit| Fit::English(fit.rank()))
    }

    /// Returns the version of a text that fits best, and how well it fits. If several versions fit
    /// equally well, returns the one whose tag is first in alphabetical order. Returns `None` if
    /// there are no versions.
    pub fn best<'v>(&self, versions: impl IntoIterator<Item = &'v str>) -> Option<(&'v str, Fit)> {
        versions
            .into_iter()
            .map(|version| (version, self.fit(version)))
            .min_by(|(one, fit), (other, its)| fit.cmp(its).then_with(|| one.cmp(other)))
    }

    /// Returns the version of a text that fits best, if readers of the requested language can read
    /// it. For example, readers of Nynorsk can read Bokmål.
    pub fn exact_match<'v>(&self, versions: impl IntoIterator<Item = &'v str>) -> Option<&'v str> {
        self.best(versions)
            .filter(|(_, fit)| fit.is_match())
            .map(|(version, _)| version)
    }
}

/// Parses a language tag that another system has written with underscores or with surrounding white
/// space. Returns the tag in the case that BCP 47 recommends.
#[must_use]
pub fn parse_lenient(text: &str) -> Option<String> {
    format::language(&crate::typed::normalize_input(text).replace('_', "-"))
}

/// Returns the region in a tag. Returns `None` if the tag is invalid or contains no region.
#[must_use]
pub fn region(tag: &str) -> Option<String> {
    let region = Tag::parse(tag)?.canonical.region?;
    Some(region.to_string())
}

/// Returns the parent of a tag in CLDR. If CLDR has no conventions (such as date formats) for the
/// tag, the conventions of the parent apply. Returns a text that is not a tag unchanged.
#[must_use]
pub fn parent(tag: &str) -> String {
    let Some(tag) = Tag::parse(tag) else {
        return tag.to_owned();
    };
    let fallbacker = LocaleFallbacker::new().for_config(LocaleFallbackConfig::default());
    let mut steps = fallbacker.fallback_for((&tag.canonical).into());
    steps.step();
    steps.get().to_string()
}

/// Returns the tag of the language that most people of a region speak. The region must be a code of
/// ISO 3166-1 or UN M.49.
#[must_use]
pub fn of_region(region: &str) -> String {
    let likely = Tag::of(LanguageIdentifier {
        region: Region::try_from_str(region).ok(),
        ..LanguageIdentifier::UNKNOWN
    });
    likely.likely.to_string()
}

/// Returns the language and script of a tag, such as `zh-Hant` for `zh-TW`. Returns a text that is
/// not a tag unchanged.
#[must_use]
pub fn language_and_script(tag: &str) -> String {
    let Some(tag) = Tag::parse(tag) else {
        return tag.to_owned();
    };
    let (language, script) = tag.language_and_script();
    script.map_or_else(
        || language.to_string(),
        |script| format!("{language}-{script}"),
    )
}

/// Returns whether two tags have the same language and script, so that a reader of one can read the
/// other.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || language_and_script(one) == language_and_script(other)
}

/// Returns whether a language is written from right to left.
#[must_use]
pub fn is_right_to_left(tag: &str) -> bool {
    Tag::parse(tag)
        .is_some_and(|tag| DIRECTIONALITY.get(&tag.canonical) == Some(Direction::RightToLeft))
}

/// Returns whether a text has a letter of a script that is written from right to left.
#[must_use]
pub fn has_right_to_left(text: &str) -> bool {
    let classes = CodePointMapData::<BidiClass>::new();
    !text.is_ascii()
        && text.chars().any(|c| {
            matches!(
                classes.get(c),
                BidiClass::RightToLeft | BidiClass::ArabicLetter
            )
        })
}

/// Returns the languages of an `Accept-Language` header (RFC 9110, 12.5.4) as tags that the
/// interface accepts, the most preferred first.
#[must_use]
pub fn accepted_languages(header: &str) -> Vec<String> {
    let parse_item = |item: &str| {
        let mut parts = item.split(';').map(str::trim);
        let tag = format::language(parts.next()?)?;
        let weight = parts
            .find_map(|part| part.strip_prefix("q="))
            .map_or(Some(1.0), |weight| weight.parse::<f32>().ok());
        weight
            .filter(|weight| *weight > 0.0 && *weight <= 1.0)
            .map(|weight| (weight, tag))
    };
    let mut tags: Vec<(f32, String)> = header
        .split(',')
        .take(MAX_TAGS)
        .filter_map(parse_item)
        .collect();
    tags.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    tags.into_iter().map(|(_, tag)| tag).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn best<'v>(requested: &str, versions: &[&'v str]) -> Option<&'v str> {
        LanguageReader::of(requested)
            .best(versions.iter().copied())
            .map(|(version, _)| version)
    }

    #[test]
    fn a_reader_gets_the_nearest_version() {
        for (requested, versions, expected) in [
            ("pt-BR", &["en", "pt", "pt-BR"][..], "pt-BR"),
            ("pt-BR", &["en", "pt", "pt-PT"], "pt"),
            ("pt-BR", &["de", "en", "pt-PT"], "pt-PT"),
            ("pt", &["en", "pt-BR"], "pt-BR"),
            ("pt", &["en", "pt-BR", "pt-PT"], "pt-BR"),
            ("pt-AO", &["en", "pt-BR", "pt-PT"], "pt-PT"),
            ("es-MX", &["en", "es", "es-419"], "es-419"),
            ("es-AR", &["en", "es-ES"], "es-ES"),
            ("es", &["en", "es-CO", "es-AR"], "es-AR"),
            ("fr-CA", &["en", "fr-BE", "fr-FR"], "fr-FR"),
            ("zh-TW", &["en", "zh", "zh-Hant"], "zh-Hant"),
            ("zh-Hant", &["en", "zh", "zh-TW"], "zh-TW"),
            ("zh-HK", &["en", "zh", "zh-TW"], "zh-TW"),
            ("zh-Hant", &["en", "zh", "zh-HK", "zh-TW"], "zh-TW"),
            ("zh", &["en", "zh-CN", "zh-TW"], "zh-CN"),
            ("zh-SG", &["en", "zh-Hans"], "zh-Hans"),
            ("iw", &["en", "he"], "he"),
            ("he", &["en", "iw"], "iw"),
            ("in", &["en", "id"], "id"),
            ("no", &["en", "nb"], "nb"),
            ("nb", &["en", "no"], "no"),
            ("nb-NO", &["en", "no"], "no"),
            ("nn", &["en", "nb"], "nb"),
            ("nn", &["en", "nb", "nn"], "nn"),
            ("nn-NO", &["en", "no"], "no"),
            ("spa", &["en", "es"], "es"),
            ("tl", &["en", "fil"], "fil"),
            ("mo", &["en", "ro"], "ro"),
            ("sr-ME", &["en", "sr-Latn"], "sr-Latn"),
            ("sh", &["en", "sr-Latn"], "sr-Latn"),
            ("en-AU", &["de", "en-GB", "en-US"], "en-US"),
            ("en_GB", &["en", "en-GB"], "en-GB"),
            ("ca-valencia", &["ca", "en"], "ca"),
            ("de-u-co-phonebk", &["de", "en"], "de"),
        ] {
            assert_eq!(
                best(requested, versions),
                Some(expected),
                "{requested} of {versions:?}"
            );
        }
    }

    #[test]
    fn a_version_in_another_script_is_no_match() {
        for (requested, versions, expected) in [
            ("zh-CN", &["en", "zh-Hant"][..], "en"),
            ("zh", &["en", "zh-TW"], "en"),
            ("zh-TW", &["en", "zh"], "en"),
            ("zh-Hant", &["en", "zh-CN"], "en"),
            ("sr-Latn", &["en", "sr-Cyrl"], "en"),
            ("sr", &["en", "sr-Latn"], "en"),
            ("sr-Latn", &["en", "sr"], "en"),
            ("uz-Cyrl", &["en", "uz"], "en"),
            ("ar-Latn", &["ar", "en"], "en"),
        ] {
            assert_eq!(
                best(requested, versions),
                Some(expected),
                "{requested} of {versions:?}"
            );
            assert_eq!(
                LanguageReader::of(requested).exact_match(versions.iter().copied()),
                None,
                "{requested}"
            );
        }
    }

    #[test]
    fn without_a_match_a_reader_gets_english_or_whatever_there_is() {
        assert_eq!(best("sv", &["de", "en", "fr"]), Some("en"));
        assert_eq!(best("sv", &["de", "en-US", "en-GB"]), Some("en-US"));
        assert_eq!(best("sv", &["fr", "de"]), Some("de"));
        assert_eq!(best("", &["de", "en"]), Some("en"));
        assert_eq!(best("sv", &[]), None);
    }

    #[test]
    fn tags_are_read_as_systems_write_them() {
        for (text, expected) in [
            ("en_US", Some("en-US")),
            (" es ", Some("es")),
            ("pt_br", Some("pt-BR")),
            ("zh_Hant_TW\u{200b}", Some("zh-Hant-TW")),
            ("English", None),
            ("", None),
            ("en US", None),
            ("German (Germany)", None),
            ("e", None),
        ] {
            assert_eq!(parse_lenient(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_script_decides_the_direction_before_the_language() {
        for tag in [
            "ar",
            "he-IL",
            "iw",
            "fa-AF",
            "ur",
            "az-Arab",
            "pa-arab-PK",
            "yi",
            "dv",
        ] {
            assert!(is_right_to_left(tag), "{tag}");
        }
        for tag in ["en", "ku-Latn", "ar-Latn", "es-419", "sd-Deva", "", "zh"] {
            assert!(!is_right_to_left(tag), "{tag}");
        }
    }

    #[test]
    fn languages_are_the_same_in_one_script() {
        assert!(is_same("zh-TW", "zh-Hant-HK") && is_same("pt", "pt-BR") && is_same("no", "nb"));
        assert!(!is_same("zh", "zh-TW") && !is_same("es", "ca") && !is_same("sr", "sr-Latn"));
        assert_eq!(region("en-US").as_deref(), Some("US"));
        assert_eq!(region("zh_hant_tw").as_deref(), Some("TW"));
        assert_eq!(region("en"), None);
        assert_eq!(parent("en-ES"), "en-150");
        assert_eq!(parent("en-US"), "en");
        assert_eq!(of_region("JP"), "ja-Jpan-JP");
    }

    #[test]
    fn accepted_languages_are_sorted_by_weight() {
        assert_eq!(
            accepted_languages("fr;q=0.3, de-ch, en;q=0.8"),
            ["de-CH", "en", "fr"]
        );
        assert_eq!(
            accepted_languages("es;q=0, *, xx_yy, pt-BR;q=2, ca;level=1;q=0.5"),
            ["ca"]
        );
        assert!(accepted_languages("").is_empty());
    }

    proptest! {
        #[test]
        fn accepted_languages_are_valid_for_any_header(header in ".{0,200}") {
            for tag in accepted_languages(&header) {
                prop_assert_eq!(format::language(&tag), Some(tag));
            }
        }

        #[test]
        fn an_existing_version_is_always_found_by_its_own_tag(
            language in "[a-z]{2}",
            region in "(-[A-Z]{2})?",
            others in prop::collection::vec("[a-z]{2}", 0..4),
        ) {
            let tag = format!("{language}{region}");
            let mut versions: Vec<&str> = others.iter().map(String::as_str).collect();
            versions.push(&tag);
            prop_assert_eq!(best(&tag, &versions), Some(tag.as_str()));
            prop_assert!(best(&tag, &[versions[0]]).is_some());
        }
    }
}
