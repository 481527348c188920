//! The forms a text can have, by the name its JSON Schema gives: `"format": "http-url"`.
//!
//! Those that can be judged by the text alone are [`STATIC`]. [`Contextual`] ones need the organization or the network,
//! and are judged by the pipeline beside the schema.

use std::sync::LazyLock;

use jiff::civil;
use regex::Regex;
use url::{Host, Url};

/// A format's name, its check, and how to say what is wanted.
pub struct Format {
    /// As in the schema.
    pub name: &'static str,
    /// Whether a text has it.
    pub holds: fn(&str) -> bool,
    /// Completes "must be …".
    pub wanted: &'static str,
}

/// Every format that a text has or has not by itself.
pub static STATIC: &[Format] = &[
    Format { name: "uuid", holds: is_uuid, wanted: "a UUID" },
    Format { name: "date-time", holds: is_timestamp, wanted: "a timestamp such as 2026-11-21T09:30:00.000Z" },
    Format { name: "date", holds: |text| is_date(text), wanted: "a date such as 2026-11-21" },
    Format { name: "time-of-day", holds: is_time, wanted: "a time of day such as 15:00" },
    Format { name: "http-url", holds: is_http_url, wanted: "an absolute http or https URL" },
    Format { name: "https-url", holds: is_https_url, wanted: "an absolute https URL" },
    Format {
        name: "redirect-uri",
        holds: is_redirect_uri,
        wanted: "an https URL, an http URL of a loopback address, or one of a private-use scheme with a dot, without a fragment, name or password",
    },
    Format {
        name: "http-url-or-empty",
        holds: |text| text.is_empty() || is_http_url(text),
        wanted: "an absolute http or https URL, or empty",
    },
    Format { name: "email", holds: is_email, wanted: "a mail address" },
    Format { name: "time-zone", holds: |text| jiff::tz::TimeZone::get(text).is_ok(), wanted: "an IANA time zone" },
    Format { name: "country", holds: is_country, wanted: "a two-letter country code" },
    Format { name: "language", holds: |text| language(text).is_some(), wanted: "a BCP 47 language tag" },
];

/// A format that the text alone does not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contextual {
    /// A phone number, valid in the numbering plan it belongs to.
    Phone,
    /// A moment that has not passed.
    Future,
    /// What is judged elsewhere, by the name of the format.
    Elsewhere(String),
}

impl Contextual {
    /// The contextual format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "phone" => Some(Self::Phone),
            "future-date-time" => Some(Self::Future),
            _ if STATIC.iter().any(|format| format.name == name) => None,
            _ => Some(Self::Elsewhere(name.to_owned())),
        }
    }
}

/// Hyphenated, in either case; no braces, no `urn:`.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

fn is_timestamp(text: &str) -> bool {
    text.parse::<crate::moment::Moment>().is_ok()
}

/// A date of the calendar, written in full.
#[must_use]
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$").ok());
    FORM.as_ref().is_some_and(|form| form.is_match(text))
}

/// An address alone, at a public name: no display name beside it, no numeric host.
#[must_use]
pub fn is_email(text: &str) -> bool {
    let options = email_address::Options::default().without_display_text().without_domain_literal().with_required_tld();
    email_address::EmailAddress::parse_with_options(text, options).is_ok()
}

fn is_http_url(text: &str) -> bool {
    // `Url` forgives surrounding blanks and missing slashes; what is stored is the text as sent, so it must need no forgiveness.
    let begins = |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    (begins("http://") || begins("https://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
        && Url::parse(text).is_ok_and(|url| url.has_host())
}

/// An address of the web that is asked for encrypted.
#[must_use]
pub fn is_https_url(text: &str) -> bool {
    text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://")) && is_http_url(text)
}

/// Bytes of an address to send an app's people back to.
pub const REDIRECT_URI_LENGTH: usize = 2_000;

/// An address that people may be sent back to from an authorization: https, http of the own machine (RFC 8252, section 7.3), or
/// a private-use scheme, which has a dot so that it is its owner's (7.1). It has no fragment (RFC 6749, section 3.1.2), names nobody
/// in front of its host, and its host is such that it may stand in a header.
#[must_use]
pub fn is_redirect_uri(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte);
    if text.len() > REDIRECT_URI_LENGTH || !text.bytes().all(is_plain) {
        return false;
    }
    let Ok(url) = Url::parse(text) else { return false };
    let begins = |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let host_is_plain =
        url.host_str().is_some_and(|host| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte)));
    let is_nobodys = !text.split(['/', '?']).nth(2).unwrap_or_default().contains('@');
    match url.scheme() {
        "https" => begins("https://") && host_is_plain && is_nobodys,
        "http" => begins("http://") && is_nobodys && url.host().is_some_and(|host| is_loopback(&host)),
        scheme => scheme.contains('.') && is_nobodys,
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn is_country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase()) && text.parse::<phonenumber::country::Id>().is_ok()
}

/// The language that every text is in at least.
pub const ENGLISH: &str = "en";

/// Characters in a language tag at the most; nobody's language takes more.
pub const LANGUAGE_LENGTH: usize = 100;

/// A BCP 47 tag in canonical case.
#[must_use]
pub fn language(text: &str) -> Option<String> {
    if text.len() > LANGUAGE_LENGTH || text.contains('_') {
        return None;
    }
    let tag = icu_locale::Locale::try_from_str(text).ok()?;
    (!tag.id.language.is_unknown()).then(|| tag.to_string())
}

/// A phone number in international form, read as of `country` where it names none itself.
#[must_use]
pub fn phone(text: &str, country: &str) -> Option<String> {
    let text = text.trim();
    let text = text.strip_prefix("tel:").unwrap_or(text);
    let named = ["+", "\u{ff0b}", "00"].iter().find_map(|prefix| text.strip_prefix(prefix)).map(|rest| format!("+{rest}"));
    // A number that names its country is judged by that country's plan alone: by another's, a first digit of it may be
    // taken for a prefix.
    let abroad = named.and_then(|named| {
        // `(0)` is what is dialled within the country only. Where it is dialled from abroad as well, it is left in.
        valid_phone(&named, None).or_else(|| valid_phone(&named.replacen("(0)", "", 1), None))
    });
    abroad.or_else(|| valid_phone(text, country.parse().ok()))
}

fn valid_phone(text: &str, country: Option<phonenumber::country::Id>) -> Option<String> {
    let number = phonenumber::parse(country, text).ok()?;
    number.is_valid().then(|| number.format().mode(phonenumber::Mode::E164).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_hyphenated() {
        assert!(is_uuid("0192F0C1-2345-7abc-8def-0123456789AB"));
        for text in
            ["", "0192f0c123457abc8def0123456789ab", "{0192f0c1-2345-7abc-8def-0123456789ab}", "0192f0c1-2345-7abc-8def-0123456789ag"]
        {
            assert!(!is_uuid(text), "{text}");
        }
    }

    #[test]
    fn mail_addresses_stand_alone() {
        assert!(is_email("ada@example.com") && is_email("ada+stay@mail.example.co.uk"));
        for text in ["", "ada", "ada@", "ada@localhost", "Ada <ada@example.com>", "ada@[127.0.0.1]", "ada@example.com, b@example.com"] {
            assert!(!is_email(text), "{text}");
        }
    }

    #[test]
    fn urls_are_absolute_and_plain() {
        for text in ["https://a.example/x?y#z", "HTTP://a.example", "http://[::1]:8080/"] {
            assert!(is_http_url(text), "{text}");
        }
        for text in [
            "",
            "ftp://a.example",
            "//a.example",
            "https:a.example",
            "https://",
            " https://a.example",
            "javascript:alert(1)",
            "https://a b/",
        ] {
            assert!(!is_http_url(text), "{text}");
        }
    }

    #[test]
    fn times_and_dates_are_exact() {
        assert!(is_time("00:00") && is_time("23:59"));
        assert!(!is_time("24:00") && !is_time("9:00") && !is_time("09:00:00"));
        assert!(is_date("2024-02-29"));
        assert!(!is_date("2023-02-29") && !is_date("20240229") && !is_date("2024-02-29T00:00"));
    }

    #[test]
    fn languages_are_kept_in_canonical_case() {
        assert_eq!(language("PT-br").as_deref(), Some("pt-BR"));
        assert_eq!(language("zh-hant-tw").as_deref(), Some("zh-Hant-TW"));
        let long = format!("en-x-{}", ["abcdefgh"; 11].join("-"));
        for text in ["", "e", "english-language-tag", "en_US", "und", "12", &long] {
            assert_eq!(language(text), None, "{text}");
        }
    }

    #[test]
    fn phone_numbers_are_stored_internationally() {
        assert_eq!(phone("93 412 34 56", "ES").as_deref(), Some("+34934123456"));
        assert_eq!(phone("+1 (415) 555-2671", "ES").as_deref(), Some("+14155552671"));
        // Whatever country the organization is in.
        for country in ["ES", "US", "GB", "IT"] {
            for (text, stored) in [
                ("+44 (0)20 7946 0958", "+442079460958"),
                ("+44(0)2079460958", "+442079460958"),
                ("0044 (0) 20 7946 0958", "+442079460958"),
                ("+44 161 496 0000", "+441614960000"),
                ("+49 (0) 30 / 901820", "+4930901820"),
                ("+33 (0)1.42.68.53.00", "+33142685300"),
                ("+39 06 6982", "+39066982"),
                ("+39 (0)6 6982", "+39066982"),
                ("+39 (0)347 1234567", "+393471234567"),
                ("tel:+34-934-123-456", "+34934123456"),
                ("\u{ff0b}34 934\u{a0}123\u{a0}456", "+34934123456"),
            ] {
                assert_eq!(phone(text, country).as_deref(), Some(stored), "{text} in {country}");
            }
        }
        assert_eq!(phone("(0)20 7946 0958", "GB").as_deref(), Some("+442079460958"));
        for text in
            ["", "12", "not a number", "+34 1", "+999 123456789", "(0)", "+44 (0)", "+(0)44 20", "+44 (0)(0)20 7946 0958 99", "(0)(0)(0)"]
        {
            assert_eq!(phone(text, "ES"), None, "{text}");
        }
    }
}
