//! The names of languages, each in the language itself, by language tag.

/// The name of each language in the language itself. The guest's page offers these names in its
/// choice of languages. The names are those of CLDR.
const OWN_NAMES: [(&str, &str); 50] = [
    ("ar", "العربية"),
    ("bg", "Български"),
    ("bs", "Bosanski"),
    ("ca", "Català"),
    ("cs", "Čeština"),
    ("cy", "Cymraeg"),
    ("da", "Dansk"),
    ("de", "Deutsch"),
    ("el", "Ελληνικά"),
    ("en", "English"),
    ("es", "Español"),
    ("et", "Eesti"),
    ("eu", "Euskara"),
    ("fa", "فارسی"),
    ("fi", "Suomi"),
    ("fr", "Français"),
    ("ga", "Gaeilge"),
    ("gl", "Galego"),
    ("he", "עברית"),
    ("hi", "हिन्दी"),
    ("hr", "Hrvatski"),
    ("hu", "Magyar"),
    ("hy", "Հայերեն"),
    ("id", "Indonesia"),
    ("is", "Íslenska"),
    ("it", "Italiano"),
    ("ja", "日本語"),
    ("ka", "ქართული"),
    ("ko", "한국어"),
    ("lb", "Lëtzebuergesch"),
    ("lt", "Lietuvių"),
    ("lv", "Latviešu"),
    ("mk", "Македонски"),
    ("ms", "Melayu"),
    ("mt", "Malti"),
    ("nb", "Norsk bokmål"),
    ("nl", "Nederlands"),
    ("no", "Norsk"),
    ("pl", "Polski"),
    ("pt", "Português"),
    ("ro", "Română"),
    ("ru", "Русский"),
    ("sk", "Slovenčina"),
    ("sl", "Slovenščina"),
    ("sq", "Shqip"),
    ("sr", "Српски"),
    ("sv", "Svenska"),
    ("th", "ไทย"),
    ("tr", "Türkçe"),
    ("uk", "Українська"),
];

/// Names that apply only to one exact tag, each with this tag: a language with a region or a
/// script, such as `en-GB`, or Chinese without either. Any other tag gets the name of its language.
const OWN_NAMES_OF_REGIONS: [(&str, &str); 7] = [
    ("en-GB", "English (UK)"),
    ("en-US", "English (US)"),
    ("pt-BR", "Português (Brasil)"),
    ("pt-PT", "Português (Portugal)"),
    ("zh", "中文"),
    ("zh-Hans", "简体中文"),
    ("zh-Hant", "繁體中文"),
];

/// Returns the name of a language in the language itself, or its tag if the name is unknown.
#[must_use]
pub fn own_name(tag: &str) -> &str {
    let find = |table: &'static [(&'static str, &'static str)], wanted: &str| {
        table
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(wanted))
            .map(|(_, name)| *name)
    };
    find(&OWN_NAMES_OF_REGIONS, tag)
        .or_else(|| find(&OWN_NAMES, tag.split(['-', '_']).next().unwrap_or_default()))
        .unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_named_in_their_own_language() {
        assert_eq!(own_name("ca"), "Català");
        assert_eq!(own_name("es-MX"), "Español");
        assert_eq!(own_name("pt-br"), "Português (Brasil)");
        assert_eq!(own_name("tlh"), "tlh");
    }
}
