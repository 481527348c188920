//! Cookies as this chapter keeps them (RFC 6265; contract: People: signing in).
//!
//! Each is the browser's alone (`HttpOnly`), sent to where somebody goes and with nothing that another site embeds
//! (`SameSite=Lax`), and for every path (`Path=/`). Where the public URL is https they are `Secure` and named `__Host-…`, so that
//! no neighbouring host can plant one.

use engine::pipeline::Service;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

/// A cookie, by what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The token of a session.
    Session,
    /// What the forms are bound to of whoever is not signed in.
    Forms,
    /// What a sign-in at the provider is bound to while it is under way.
    Provider,
    /// The language that somebody has chosen.
    Language,
}

/// The longest value that is read.
const LONGEST: usize = 4_096;
/// The longest part of a value that is kept in several: with its name, as much as every browser keeps (RFC 6265, 6.1).
const PART: usize = 3_600;
/// The cookies that such a value is kept in.
const PARTS: usize = 3;
// The longest path to come back to has room there, in base64, beside a secret and what parts them.
const _: () = assert!(43 + 1 + super::return_path::LONGEST.div_ceil(3) * 4 <= PART * PARTS);

impl Cookie {
    /// What it is called.
    pub(super) fn name(self, service: &Service) -> String {
        let name = match self {
            Self::Session => "vestibule_session",
            Self::Forms => "vestibule_forms",
            Self::Provider => "vestibule_provider",
            Self::Language => "vestibule_language",
        };
        if is_secure(service) { format!("__Host-{name}") } else { name.to_owned() }
    }

    /// What a browser sends of it; nothing where it sends two, of which one would be somebody else's.
    pub(super) fn read(self, service: &Service, headers: &HeaderMap) -> Option<String> {
        only(headers, &self.name(service))
    }

    /// What a browser sends of a value that is kept in several.
    pub(super) fn read_parts(self, service: &Service, headers: &HeaderMap) -> Option<String> {
        let parts: Vec<String> = (0..PARTS).map_while(|part| only(headers, &self.part_name(service, part))).collect();
        (!parts.is_empty()).then(|| parts.concat())
    }

    /// Has the browser keep it for so many seconds; for no second, forget it.
    pub(super) fn keep(self, service: &Service, value: &str, seconds: u64) -> Option<HeaderValue> {
        kept(service, &self.name(service), value, seconds)
    }

    /// Has the browser keep a value, of ASCII, that one cookie may be too short for; those that it does not need are forgotten.
    pub(super) fn keep_parts(self, service: &Service, value: &str, seconds: u64) -> Vec<HeaderValue> {
        let part = |number: usize| {
            let part = value.get(number * PART..value.len().min((number + 1) * PART)).unwrap_or_default();
            kept(service, &self.part_name(service, number), part, if part.is_empty() { 0 } else { seconds })
        };
        (0..PARTS).filter_map(part).collect()
    }

    /// Has the browser forget it.
    pub(super) fn forget(self, service: &Service) -> Option<HeaderValue> {
        self.keep(service, "", 0)
    }

    /// Has the browser forget a value that is kept in several.
    pub(super) fn forget_parts(self, service: &Service) -> Vec<HeaderValue> {
        self.keep_parts(service, "", 0)
    }

    fn part_name(self, service: &Service, number: usize) -> String {
        let name = self.name(service);
        if number == 0 { name } else { format!("{name}_{}", number + 1) }
    }
}

/// A cookie that a browser keeps for so many seconds.
fn kept(service: &Service, name: &str, value: &str, seconds: u64) -> Option<HeaderValue> {
    let secure = if is_secure(service) { "; Secure" } else { "" };
    HeaderValue::from_str(&format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")).ok()
}

/// Whether people reach the service by https alone.
fn is_secure(service: &Service) -> bool {
    service.kit.public_url.starts_with("https:")
}

/// The value of the one cookie of a name (RFC 6265, 5.4), whatever bytes the others have.
fn only(headers: &HeaderMap, name: &str) -> Option<String> {
    let pairs = headers.get_all(COOKIE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let value = |pair: &'_ [u8]| Some(pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    let mut values = pairs.filter_map(value);
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    String::from_utf8(value).ok().filter(|value| !value.is_empty() && value.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(lines: &[&str]) -> HeaderMap {
        lines.iter().filter_map(|line| Some((COOKIE, HeaderValue::from_str(line).ok()?))).collect()
    }

    #[test]
    fn the_one_of_a_name_is_read() {
        let read = |lines: &[&str]| only(&sent(lines), "vestibule_session");
        assert_eq!(read(&["a=b; vestibule_session=x; c=d"]).as_deref(), Some("x"));
        assert_eq!(read(&["a=b", "vestibule_session=x=y"]).as_deref(), Some("x=y"));
        for none in [&["a=b"][..], &["vestibule_session"], &["vestibule_session="], &["xvestibule_session=x"], &[]] {
            assert_eq!(read(none), None, "{none:?}");
        }
        assert_eq!(read(&["vestibule_session=x; vestibule_session=y"]), None);
        assert_eq!(read(&["vestibule_session=x", "vestibule_session=x"]), None);
    }

    #[test]
    fn what_neighbours_put_beside_it_does_no_harm() {
        let line = HeaderValue::from_bytes(b"theirs=\xff\xc3; vestibule_session=x; other=\xe9").unwrap();
        assert_eq!(only(&HeaderMap::from_iter([(COOKIE, line)]), "vestibule_session").as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn whatever_a_browser_sends_is_read(line in any::<Vec<u8>>()) {
            if let Ok(value) = HeaderValue::from_bytes(&line) {
                only(&HeaderMap::from_iter([(COOKIE, value)]), "vestibule_session");
            }
        }
    }
}
