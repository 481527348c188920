//! Formats of texts, by their names in JSON Schema: `"format": "http-url"`.
//!
//! Formats in [`STATIC`] depend only on the text. [`Contextual`] formats depend on the organization
//! or the network, and the pipeline checks them after the schema.

use std::sync::LazyLock;

use jiff::civil;
use regex::Regex;
use url::{Host, Url};

use crate::{currency, typed};

/// A format that a schema can require of a text, such as `uuid`.
pub struct Format {
    /// The name of the format, as the keyword `format` of a schema states it.
    pub name: &'static str,
    /// Returns whether a text has the format.
    pub accepts: fn(&str) -> bool,
    /// The description of the format in the message "must be …", such as `a UUID`.
    pub description: &'static str,
}

/// All formats that can be checked with the text alone. The [`Contextual`] formats need more.
pub static STATIC: &[Format] = &[
    Format {
        name: "uuid",
        accepts: is_uuid,
        description: "a UUID",
    },
    Format {
        name: "date-time",
        accepts: is_timestamp,
        description: "a timestamp such as 2026-11-21T09:30:00.000Z",
    },
    Format {
        name: "date",
        accepts: |text| is_date(text),
        description: "a date such as 2026-11-21",
    },
    Format {
        name: "time-of-day",
        accepts: is_time,
        description: "a time of day such as 15:00",
    },
    Format {
        name: "http-url",
        accepts: is_http_url,
        description: "an absolute http or https URL",
    },
    Format {
        name: "https-url",
        accepts: is_https_url,
        description: "an absolute https URL",
    },
    Format {
        name: "redirect-uri",
        accepts: is_redirect_uri,
        description: "an https URL, an http URL of a loopback address, or a URL of an app's own \
            scheme (com.example.app:/callback, or app://host.example/callback), without fragment, \
            user name and password",
    },
    Format {
        name: "http-url-or-empty",
        accepts: |text| text.is_empty() || is_http_url(text),
        description: "an absolute http or https URL, or empty",
    },
    Format {
        name: "email",
        accepts: is_email,
        description: "a mail address",
    },
    Format {
        name: "time-zone",
        accepts: is_time_zone,
        description: "an IANA time zone such as Europe/Madrid",
    },
    Format {
        name: "country",
        accepts: is_country,
        description: "a two-letter country code",
    },
    Format {
        name: "currency",
        accepts: |text| currency::code(text).is_some(),
        description: "an ISO 4217 currency code such as EUR",
    },
    Format {
        name: "not-blank",
        accepts: |text| text.is_empty() || !typed::is_blank(text),
        description: "a text with a visible character",
    },
    Format {
        name: "language",
        accepts: |text| language(text).is_some(),
        description: "a BCP 47 language tag",
    },
];

/// Returns a pattern that every text of a format matches. OpenAPI documents contain the pattern,
/// because their readers may not know the format.
#[must_use]
pub fn pattern(name: &str) -> Option<&'static str> {
    Some(match name {
        "language" => "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$",
        "http-url" => r"^[Hh][Tt][Tt][Pp][Ss]?://\S+$",
        "https-url" | "webhook-target" => r"^[Hh][Tt][Tt][Pp][Ss]://\S+$",
        "redirect-uri" => r"^[A-Za-z][A-Za-z0-9+.-]*:\S*$",
        "http-url-or-empty" => r"^([Hh][Tt][Tt][Pp][Ss]?://\S+)?$",
        "time-of-day" => "^([01][0-9]|2[0-3]):[0-5][0-9]$",
        "country" => "^[A-Z]{2}$",
        "future-date-time" => "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
        "phone" | "not-blank" => r"\S",
        _ => return None,
    })
}

/// A format whose check needs the organization's country, the time or a network call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contextual {
    /// A phone number that is valid in its numbering plan.
    Phone,
    /// A time in the future.
    Future,
    /// The name of a format that a module checks ([`crate::app::NetworkFormat`]).
    Other(String),
}

impl Contextual {
    /// Returns the contextual format of this name, or `None` for a format in [`STATIC`].
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "phone" => Some(Self::Phone),
            "future-date-time" => Some(Self::Future),
            _ if STATIC.iter().any(|format| format.name == name) => None,
            _ => Some(Self::Other(name.to_owned())),
        }
    }
}

/// Returns whether a text is a hyphenated UUID in lower or upper case. Braces and the prefix `urn:`
/// are not accepted.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

fn is_timestamp(text: &str) -> bool {
    text.parse::<crate::moment::Moment>().is_ok()
}

/// Returns whether a text is a calendar date such as 2026-11-21.
#[must_use]
pub fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(?:[01][0-9]|2[0-3]):[0-5][0-9]$").ok());
    FORM.as_ref().is_some_and(|form| form.is_match(text))
}

/// Entries of some systems' time zone databases that are not IANA names of places. `localtime` is
/// the zone of the machine. Folders such as `posix/` contain copies of all places.
const NOT_PLACES: [&str; 3] = ["localtime", "factory", "posixrules"];
const NOT_PLACE_PREFIXES: [&str; 3] = ["posix/", "right/", "systemv/"];

/// Returns whether a text is the name of a place in the IANA time zone database.
fn is_time_zone(text: &str) -> bool {
    let name = text.to_ascii_lowercase();
    let is_place = !NOT_PLACES.contains(&name.as_str())
        && name != "etc/unknown"
        && !NOT_PLACE_PREFIXES
            .iter()
            .any(|below| name.starts_with(below));
    is_place && jiff::tz::TimeZone::get(text).is_ok()
}

/// Returns whether a text is a bare mail address at a public domain: without a display name and
/// without a numeric host.
#[must_use]
pub fn is_email(text: &str) -> bool {
    let options = email_address::Options::default()
        .without_display_text()
        .without_domain_literal()
        .with_required_tld();
    email_address::EmailAddress::parse_with_options(text, options).is_ok()
}

fn is_http_url(text: &str) -> bool {
    // `Url` trims white space and adds missing slashes, but the text is stored as sent. Only a text
    // that needs no such correction is accepted.
    let begins = |prefix: &str| {
        text.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    (begins("http://") || begins("https://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
        && has_host(text)
        && Url::parse(text).is_ok_and(|url| url.host().is_some_and(|host| is_web_host(&host)))
}

/// Returns whether a text has a host after the scheme. `Url` reads `https:///a` as `https://a`.
fn has_host(text: &str) -> bool {
    let after_scheme = text
        .split_once("://")
        .map_or("", |(_, after_scheme)| after_scheme);
    let authority = after_scheme
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    !host.is_empty() && !host.starts_with(':')
}

/// Returns whether the host of a URL is an IP address, or a name within the length limits of DNS. A
/// dot at the end of the name is allowed.
fn is_web_host(host: &Host<&str>) -> bool {
    let Host::Domain(name) = host else {
        return true;
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    (1..=MAX_NAME_LENGTH).contains(&name.len())
        && name
            .split('.')
            .all(|label| (1..=MAX_LABEL_LENGTH).contains(&label.len()))
}

/// The maximum number of characters of a host name, and of each of its labels (RFC 1035, section
/// 2.3.4).
const MAX_NAME_LENGTH: usize = 253;
const MAX_LABEL_LENGTH: usize = 63;

/// Returns whether a text is an absolute https URL.
#[must_use]
pub fn is_https_url(text: &str) -> bool {
    text.get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("https://"))
        && is_http_url(text)
}

/// The maximum number of bytes of a redirect URI.
pub const REDIRECT_URI_LENGTH: usize = 2_000;

/// Schemes that a browser or an operating system handles itself. A redirect URI must not have such
/// a scheme, because no app owns it.
const SYSTEM_SCHEMES: [&str; 34] = [
    "about",
    "android-app",
    "blob",
    "callto",
    "content",
    "data",
    "facetime",
    "feed",
    "file",
    "filesystem",
    "ftp",
    "ftps",
    "geo",
    "http",
    "intent",
    "itms",
    "itms-apps",
    "javascript",
    "mailto",
    "market",
    "mms",
    "nfs",
    "sftp",
    "sip",
    "sips",
    "smb",
    "sms",
    "ssh",
    "tel",
    "telnet",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

/// Returns whether an authorization may redirect people to an address. Accepts three kinds of URLs:
/// https, http of the local machine (RFC 8252, section 7.3), and private-use schemes.
///
/// The owner of a private-use scheme must be visible. Either the scheme contains a dot (section
/// 7.1), or it is followed by a host with a dot and by a path. The address must have no fragment
/// (RFC 6749, section 3.1.2) and no user name. Its host must be safe in a header.
#[must_use]
pub fn is_redirect_uri(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte);
    if text.len() > REDIRECT_URI_LENGTH || !text.bytes().all(is_plain) {
        return false;
    }
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    let begins = |prefix: &str| {
        text.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let host_is_plain = url.host_str().is_some_and(|host| {
        host.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    });
    let has_no_user = !text
        .split(['/', '?'])
        .nth(2)
        .unwrap_or_default()
        .contains('@');
    match url.scheme() {
        "https" => begins("https://") && host_is_plain && has_no_user,
        "http" => {
            begins("http://") && has_no_user && url.host().is_some_and(|host| is_loopback(&host))
        }
        scheme => {
            // If the scheme has no dot, it must be followed by a host with a dot and by a path.
            let has_owner =
                || host_is_plain && url.host_str().is_some_and(|host| host.contains('.'));
            let has_own_host =
                begins(&format!("{scheme}://")) && has_owner() && url.path().starts_with('/');
            (scheme.contains('.') || has_own_host)
                && has_no_user
                && !SYSTEM_SCHEMES.contains(&scheme)
        }
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
    text.len() == 2
        && text.bytes().all(|byte| byte.is_ascii_uppercase())
        && text.parse::<phonenumber::country::Id>().is_ok()
}

/// The language that every text is available in.
pub const ENGLISH: &str = "en";

/// The maximum number of characters of a language tag. The tags of real languages are shorter.
pub const LANGUAGE_LENGTH: usize = 100;

/// Returns a BCP 47 tag in canonical case, or `None` if it is invalid.
#[must_use]
pub fn language(text: &str) -> Option<String> {
    if text.len() > LANGUAGE_LENGTH || text.contains('_') {
        return None;
    }
    let tag = icu_locale::Locale::try_from_str(text).ok()?;
    (!tag.id.language.is_unknown()).then(|| tag.to_string())
}

/// Returns a phone number in international form; `None` if the number is not valid. A number
/// without a country prefix is read as a number of `country`.
#[must_use]
pub fn phone(text: &str, country: &str) -> Option<String> {
    let text = &typed::normalize_input(text);
    let text = text.strip_prefix("tel:").unwrap_or(text);
    let with_plus = ["+", "\u{ff0b}", "00"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .map(|rest| format!("+{rest}"));
    // A number with a country prefix is checked only against the numbering plan of that country.
    // The plan of the organization's country could misread the first digits.
    let international = with_plus.and_then(|with_plus| {
        // In most countries people dial the `0` of `(0)` only within the country, so `(0)` is
        // removed. In the other countries the `0` is part of the number.
        valid_phone(&with_plus, None)
            .or_else(|| valid_phone(&with_plus.replacen("(0)", "", 1), None))
    });
    international.or_else(|| valid_phone(text, country.parse().ok()))
}

fn valid_phone(text: &str, country: Option<phonenumber::country::Id>) -> Option<String> {
    let number = phonenumber::parse(country, text).ok()?;
    number
        .is_valid()
        .then(|| number.format().mode(phonenumber::Mode::E164).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_belongs_to_its_app() {
        for uri in [
            "https://app.example/cb",
            "http://127.0.0.1:49152/cb",
            "com.example.app:/cb",
            "com.example.app://cb",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "vscode://vscode.github-authentication/did-authenticate",
        ] {
            assert!(is_redirect_uri(uri), "{uri}");
        }
        for uri in [
            "cursor://anysphere/callback",
            "cursor://anysphere.cursor-mcp",
            "cursor:/callback",
            "cursor:anysphere.cursor-mcp/callback",
            "cursor://user@anysphere.cursor-mcp/callback",
            "javascript://a.b/%0aalert(1)",
            "data://a.b/x",
            "vbscript://a.b/x",
            "blob://a.b/x",
            "file://a.b/x",
            "about://a.b/x",
            "ws://a.b/x",
            "wss://a.b/x",
            "ftp://a.b/x",
            "mailto://a.b/x",
            "tel://a.b/x",
            "sms://a.b/x",
            "intent://a.b/x",
            "http://a.b/x",
            "INTENT://a.b/x",
        ] {
            assert!(!is_redirect_uri(uri), "{uri}");
        }
    }

    #[test]
    fn every_valid_redirect_uri_and_target_matches_the_published_pattern() {
        for (name, text) in [
            ("redirect-uri", "https://app.example/cb"),
            ("redirect-uri", "http://[::1]:49152/cb"),
            ("redirect-uri", "com.example.app:/cb"),
            ("redirect-uri", "com.example.app:"),
            ("webhook-target", "https://hooks.example.com/a?b=c"),
            ("webhook-target", "HTTPS://hooks.example.com"),
        ] {
            let pattern = Regex::new(pattern(name).unwrap()).unwrap();
            assert!(pattern.is_match(text), "{name} {text}");
        }
    }

    #[test]
    fn only_hyphenated_uuids_are_valid() {
        assert!(is_uuid("0192F0C1-2345-7abc-8def-0123456789AB"));
        for text in [
            "",
            "0192f0c123457abc8def0123456789ab",
            "{0192f0c1-2345-7abc-8def-0123456789ab}",
            "0192f0c1-2345-7abc-8def-0123456789ag",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }

    #[test]
    fn an_email_is_a_bare_address_with_a_full_domain() {
        assert!(is_email("ada@example.com") && is_email("ada+stay@mail.example.co.uk"));
        for text in [
            "",
            "ada",
            "ada@",
            "ada@localhost",
            "Ada <ada@example.com>",
            "ada@[127.0.0.1]",
            "ada@example.com, b@example.com",
        ] {
            assert!(!is_email(text), "{text}");
        }
    }

    #[test]
    fn http_urls_are_absolute() {
        for text in [
            "https://a.example/x?y#z",
            "HTTP://a.example",
            "http://[::1]:8080/",
        ] {
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
            "https:///x",
            "https://?x",
            "https://user@/x",
            "https://:443/",
            "https://a..b/",
            "https://.a.example/",
            "https://a.example../",
            "https:////a.example/",
        ] {
            assert!(!is_http_url(text), "{text}");
        }
    }

    #[test]
    fn a_time_zone_is_a_place_of_iana() {
        for text in [
            "Europe/Madrid",
            "UTC",
            "America/Argentina/Ushuaia",
            "Asia/Kolkata",
        ] {
            assert!(is_time_zone(text), "{text}");
        }
        for text in [
            "",
            "localtime",
            "Localtime",
            "Factory",
            "posixrules",
            "posix/Europe/Madrid",
            "right/Europe/Madrid",
            "Etc/Unknown",
            "+01:00",
            "Mars/Olympus",
        ] {
            assert!(!is_time_zone(text), "{text}");
        }
    }

    #[test]
    fn times_and_dates_have_an_exact_format() {
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
        assert_eq!(
            phone("+1 (415) 555-2671", "ES").as_deref(),
            Some("+14155552671")
        );
        // The country of the organization does not affect a number with a country prefix.
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
                ("\u{202a}+34\u{2009}934 123 456\u{202c}", "+34934123456"),
                (
                    "+\u{0663}\u{0664} \
                        \u{0669}\u{0663}\u{0664}\u{0661}\u{0662}\u{0663}\u{0664}\u{0665}\u{0666}",
                    "+34934123456",
                ),
            ] {
                assert_eq!(
                    phone(text, country).as_deref(),
                    Some(stored),
                    "{text} in {country}"
                );
            }
        }
        assert_eq!(
            phone("(0)20 7946 0958", "GB").as_deref(),
            Some("+442079460958")
        );
        for text in [
            "",
            "12",
            "not a number",
            "+34 1",
            "+999 123456789",
            "(0)",
            "+44 (0)",
            "+(0)44 20",
            "+44 (0)(0)20 7946 0958 99",
            "(0)(0)(0)",
        ] {
            assert_eq!(phone(text, "ES"), None, "{text}");
        }
    }
}
