//! Languages by their tags: what each calls itself, and which way it is written.

/// What languages call themselves, for the choice of a language; after CLDR.
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

/// Names that a region or script sets apart from the language's.
const OWN_NAMES_OF_REGIONS: [(&str, &str); 7] = [
    ("en-GB", "English (UK)"),
    ("en-US", "English (US)"),
    ("pt-BR", "Português (Brasil)"),
    ("pt-PT", "Português (Portugal)"),
    ("zh", "中文"),
    ("zh-Hans", "简体中文"),
    ("zh-Hant", "繁體中文"),
];

/// Languages that are written from right to left, where their tag names no script.
const RIGHT_TO_LEFT: [&str; 11] = ["ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ur", "yi"];

/// Scripts that are.
const RIGHT_TO_LEFT_SCRIPTS: [&str; 6] = ["adlm", "arab", "hebr", "nkoo", "syrc", "thaa"];

/// The primary subtag, in lower case: the language, without script and region.
pub(super) fn primary(tag: &str) -> String {
    tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a language is written from right to left.
#[must_use]
pub fn is_right_to_left(tag: &str) -> bool {
    let script = tag.split(['-', '_']).nth(1).filter(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_alphabetic()));
    match script {
        Some(script) => RIGHT_TO_LEFT_SCRIPTS.contains(&script.to_ascii_lowercase().as_str()),
        None => RIGHT_TO_LEFT.contains(&primary(tag).as_str()),
    }
}

/// What a language calls itself; its tag where that is not known.
#[must_use]
pub fn own_name(tag: &str) -> &str {
    let find = |table: &'static [(&'static str, &'static str)], wanted: &str| {
        table.iter().find(|(known, _)| known.eq_ignore_ascii_case(wanted)).map(|(_, name)| *name)
    };
    find(&OWN_NAMES_OF_REGIONS, tag).or_else(|| find(&OWN_NAMES, &primary(tag))).unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_know_their_names() {
        assert_eq!(own_name("ca"), "Català");
        assert_eq!(own_name("es-MX"), "Español");
        assert_eq!(own_name("pt-br"), "Português (Brasil)");
        assert_eq!(own_name("tlh"), "tlh");
    }

    #[test]
    fn a_script_decides_before_the_language() {
        for tag in ["ar", "he-IL", "iw", "fa-AF", "ur", "az-Arab", "pa-arab-PK"] {
            assert!(is_right_to_left(tag), "{tag}");
        }
        for tag in ["en", "ku-Latn", "ar-Latn", "es-419", "sd-Deva", "", "arn"] {
            assert!(!is_right_to_left(tag), "{tag}");
        }
    }
}
