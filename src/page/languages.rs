//! Which language a page speaks: the one its address asks for, else the guest's own, else the first the browser accepts.

use engine::format;

/// Tags of an `Accept-Language` header that are looked at, at the most.
const MOST_TAGS: usize = 16;

/// The languages of an `Accept-Language` header (RFC 9110, 12.5.4), most wanted first, as tags that the interface takes.
#[must_use]
pub fn accepted(header: &str) -> Vec<String> {
    let wanted = |item: &str| {
        let mut parts = item.split(';').map(str::trim);
        let tag = format::language(parts.next()?)?;
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse::<f32>().ok());
        weight.filter(|weight| *weight > 0.0 && *weight <= 1.0).map(|weight| (weight, tag))
    };
    let mut tags: Vec<(f32, String)> = header.split(',').take(MOST_TAGS).filter_map(wanted).collect();
    tags.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    tags.into_iter().map(|(_, tag)| tag).collect()
}

/// The language without what narrows it down.
#[must_use]
pub fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// The first accepted language that the page has something to say in: one of the organization's, or one with words of our own.
#[must_use]
pub fn best(accepted: &[String], organization: &[String], speaks: impl Fn(&str) -> bool) -> Option<String> {
    let has_texts = |tag: &str| organization.iter().any(|own| primary(own) == primary(tag));
    accepted.iter().find(|tag| has_texts(tag) || speaks(tag)).cloned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_most_wanted_language_comes_first() {
        assert_eq!(accepted("fr;q=0.3, de-ch, en;q=0.8"), ["de-CH", "en", "fr"]);
        assert_eq!(accepted("es;q=0, *, xx_yy, pt-BR;q=2, ca;level=1;q=0.5"), ["ca"]);
        assert!(accepted("").is_empty());
    }

    #[test]
    fn a_language_is_taken_that_the_page_speaks() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let best = |accepted: &[&str], organization: &[&str]| best(&tags(accepted), &tags(organization), |tag| primary(tag) == "fr");
        assert_eq!(best(&["sv", "fr-CA", "en"], &["en"]).as_deref(), Some("fr-CA"));
        assert_eq!(best(&["sv-SE", "fr"], &["en", "sv"]).as_deref(), Some("sv-SE"));
        assert_eq!(best(&["sv"], &["en"]), None);
    }

    proptest! {
        #[test]
        fn whatever_a_browser_sends_is_read(header in ".{0,200}") {
            for tag in accepted(&header) {
                prop_assert_eq!(format::language(&tag), Some(tag));
            }
        }
    }
}
