//! The cookies of the sign-in pages and the console (RFC 6265; rules: members#sessions).
//!
//! Scripts cannot read the cookies (`HttpOnly`). Browsers send them on top-level navigation, but
//! not with requests that another site embeds (`SameSite=Lax`). They apply to every path
//! (`Path=/`). If the public URL is https, they are `Secure` and named `__Host-…`, so that no other
//! host of the same domain can set them.

use engine::pipeline::Service;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

/// The cookies that the sign-in pages and the console set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The token of the session of the signed-in member.
    Session,
    /// The form secret of a visitor who is not signed in. The token in the visitor's forms is
    /// derived from this secret.
    Forms,
    /// The secret and the return path of a sign-in with the OpenID provider, while this sign-in is
    /// in progress.
    Provider,
    /// The language that the member chose in this browser.
    Language,
}

/// Maximum length of a cookie's value in bytes. The server ignores a longer value.
const MAX_LENGTH: usize = 4_096;
/// A long value is split over several cookies. This is the maximum length of the part in one
/// cookie. Every browser supports a cookie with a name and a value of this length (RFC 6265, 6.1).
const PART_LENGTH: usize = 3_600;
/// Maximum number of cookies over which a value is split.
const MAX_PARTS: usize = 3;
// A value that is split over `MAX_PARTS` cookies has room for a secret of 43 characters, a
// separator, and the longest return path in base64.
const _: () = assert!(
    43 + 1 + super::return_path::MAX_RETURN_PATH_BYTES.div_ceil(3) * 4 <= PART_LENGTH * MAX_PARTS
);

impl Cookie {
    /// Returns the name of the cookie. It has the prefix `__Host-` if the public URL is https.
    pub(super) fn name(self, service: &Service) -> String {
        let name = match self {
            Self::Session => "vestibule_session",
            Self::Forms => "vestibule_forms",
            Self::Provider => "vestibule_provider",
            Self::Language => "vestibule_language",
        };
        if is_secure(service) {
            format!("__Host-{name}")
        } else {
            name.to_owned()
        }
    }

    /// Returns the value that a browser sends. Returns `None` if the browser sends the cookie
    /// twice, because another host of the domain may have set the second cookie.
    pub(super) fn read(self, service: &Service, headers: &HeaderMap) -> Option<String> {
        single_value(headers, &self.name(service))
    }

    /// Returns a value that the server has split over several cookies. Returns `None` if the
    /// browser sends no part of it.
    pub(super) fn read_parts(self, service: &Service, headers: &HeaderMap) -> Option<String> {
        let parts: Vec<String> = (0..MAX_PARTS)
            .map_while(|part| single_value(headers, &self.part_name(service, part)))
            .collect();
        (!parts.is_empty()).then(|| parts.concat())
    }

    /// Returns the `Set-Cookie` header that stores `value` for this many seconds. With 0 seconds,
    /// the header deletes the cookie.
    pub(super) fn set(self, service: &Service, value: &str, seconds: u64) -> Option<HeaderValue> {
        set_cookie(service, &self.name(service), value, seconds)
    }

    /// Returns the `Set-Cookie` headers that store an ASCII value split over several cookies. They
    /// also delete the cookies that an earlier, longer value needed.
    pub(super) fn set_parts(
        self,
        service: &Service,
        value: &str,
        seconds: u64,
    ) -> Vec<HeaderValue> {
        let part = |number: usize| {
            let part = value
                .get(number * PART_LENGTH..value.len().min((number + 1) * PART_LENGTH))
                .unwrap_or_default();
            set_cookie(
                service,
                &self.part_name(service, number),
                part,
                if part.is_empty() { 0 } else { seconds },
            )
        };
        (0..MAX_PARTS).filter_map(part).collect()
    }

    /// Returns the header that deletes the cookie.
    pub(super) fn delete(self, service: &Service) -> Option<HeaderValue> {
        self.set(service, "", 0)
    }

    /// Returns the headers that delete all cookies over which the server can split a value.
    pub(super) fn delete_parts(self, service: &Service) -> Vec<HeaderValue> {
        self.set_parts(service, "", 0)
    }

    fn part_name(self, service: &Service, number: usize) -> String {
        let name = self.name(service);
        if number == 0 {
            name
        } else {
            format!("{name}_{}", number + 1)
        }
    }
}

/// Returns the header that stores a cookie for this many seconds; `None` if the name or the value
/// contains a character that no header can have.
fn set_cookie(service: &Service, name: &str, value: &str, seconds: u64) -> Option<HeaderValue> {
    let secure = if is_secure(service) { "; Secure" } else { "" };
    HeaderValue::from_str(&format!(
        "{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    ))
    .ok()
}

/// Returns whether the public URL of the service is https.
fn is_secure(service: &Service) -> bool {
    service.app_state.public_url.starts_with("https:")
}

/// Returns the value of the cookie `name`. Returns `None` if the cookie is missing, occurs more
/// than once (RFC 6265, 5.4), is empty or too long, or is not UTF-8. Cookies with other names may
/// contain any bytes.
fn single_value(headers: &HeaderMap, name: &str) -> Option<String> {
    let pairs = headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let value = |pair: &'_ [u8]| {
        Some(
            pair.trim_ascii()
                .strip_prefix(name.as_bytes())?
                .strip_prefix(b"=")?
                .to_vec(),
        )
    };
    let mut values = pairs.filter_map(value);
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    String::from_utf8(value)
        .ok()
        .filter(|value| !value.is_empty() && value.len() <= MAX_LENGTH)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cookie_headers(lines: &[&str]) -> HeaderMap {
        lines
            .iter()
            .filter_map(|line| Some((COOKIE, HeaderValue::from_str(line).ok()?)))
            .collect()
    }

    #[test]
    fn a_cookie_is_read_only_if_its_name_occurs_once() {
        let read = |lines: &[&str]| single_value(&cookie_headers(lines), "vestibule_session");
        assert_eq!(
            read(&["a=b; vestibule_session=x; c=d"]).as_deref(),
            Some("x")
        );
        assert_eq!(
            read(&["a=b", "vestibule_session=x=y"]).as_deref(),
            Some("x=y")
        );
        for none in [
            &["a=b"][..],
            &["vestibule_session"],
            &["vestibule_session="],
            &["xvestibule_session=x"],
            &[],
        ] {
            assert_eq!(read(none), None, "{none:?}");
        }
        assert_eq!(read(&["vestibule_session=x; vestibule_session=y"]), None);
        assert_eq!(read(&["vestibule_session=x", "vestibule_session=x"]), None);
    }

    #[test]
    fn invalid_bytes_in_other_cookies_do_no_harm() {
        let line =
            HeaderValue::from_bytes(b"theirs=\xff\xc3; vestibule_session=x; other=\xe9").unwrap();
        assert_eq!(
            single_value(&HeaderMap::from_iter([(COOKIE, line)]), "vestibule_session").as_deref(),
            Some("x")
        );
    }

    proptest! {
        #[test]
        fn reading_cookies_never_panics(line in any::<Vec<u8>>()) {
            if let Ok(value) = HeaderValue::from_bytes(&line) {
                single_value(
                    &HeaderMap::from_iter([(COOKIE, value)]),
                    "vestibule_session",
                );
            }
        }
    }
}
