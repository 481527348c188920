//! Validation of return paths. A return path is the path that a browser opens after a sign-in. An
//! attacker may write the return path in a link. So it must be a path of this service, and no
//! browser or proxy may read it as another address (rules: members#signing-in, 2).

/// The path that a browser opens after a sign-in if the request for the sign-in names no return
/// path.
pub const DEFAULT: &str = "/console";

/// Maximum length of a return path with its query, in bytes. This is enough for the authorization
/// request of an OAuth app with a `state` of 4,096 bytes. A longer path may not fit into cookies or
/// pass proxies.
pub(super) const MAX_RETURN_PATH_BYTES: usize = 8_000;

/// Returns the reason why a text is not a valid return path, if any.
///
/// A valid text is an absolute path and a query of RFC 3986 (3.3, 3.4). Only the last segment of
/// the path may be empty. No segment may consist of one or two dots, or contain an encoded slash
/// (`%2F`), backslash (`%5C`), percent sign or control character. The query may encode anything.
pub fn return_path_error(text: &str) -> Option<&'static str> {
    if text.len() > MAX_RETURN_PATH_BYTES {
        return Some("must have at most 8000 bytes");
    }
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let Some(path) = path.strip_prefix('/') else {
        return Some("must be a path of this service that begins with a slash");
    };
    if !consists_of(path, b"/:@") || !consists_of(query, b"/:@?") {
        return Some("must not contain characters that are not allowed in a path or query");
    }
    // A path may end with a slash, so the last segment may be empty.
    let last = path.split('/').count() - 1;
    let is_ambiguous = path.split('/').enumerate().any(|(number, part)| {
        let decoded_part = decoded(part);
        (decoded_part.is_empty() && number != last)
            || matches!(decoded_part.as_slice(), b"." | b"..")
            || decoded_part
                .iter()
                .any(|byte| matches!(byte, b'/' | b'\\' | b'%') || byte.is_ascii_control())
    });
    is_ambiguous.then_some(
        "must not have a path segment that is empty, consists of dots or contains an encoded \
            separator",
    )
}

/// Returns whether a text is a valid return path.
#[must_use]
pub fn may_return_to(path: &str) -> bool {
    return_path_error(path).is_none()
}

/// Returns the text if it is a valid return path.
pub fn valid_return_path(text: &str) -> Option<&str> {
    return_path_error(text).is_none().then_some(text)
}

/// Returns whether a text consists of unreserved characters, sub-delimiters (RFC 3986, 2.2 and
/// 2.3), complete percent-encodings and the characters in `others`.
fn consists_of(text: &str, others: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(offset, byte)| match byte {
        b'%' => bytes
            .get(offset + 1..offset + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        byte => {
            byte.is_ascii_alphanumeric()
                || b"-._~!$&'()*+,;=".contains(byte)
                || others.contains(byte)
        }
    })
}

/// Decodes a percent-encoded text to bytes. A `%` without two hexadecimal digits stays as it is.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let (bytes, mut output, mut offset) = (text.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(offset) {
        let encoded = digit(bytes.get(offset + 1))
            .zip(digit(bytes.get(offset + 2)))
            .filter(|_| *byte == b'%');
        output.push(encoded.map_or(*byte, |(high, low)| high << 4 | low));
        offset += if encoded.is_some() { 3 } else { 1 };
    }
    output
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    #[test]
    fn paths_of_this_service_are_accepted() {
        for text in [
            "/",
            DEFAULT,
            "/console/",
            "/sign-in",
            "/sign-in?return_to=%2Fconsole",
            "/oauth/authorize?client_id=https%3A%2F%2Fapp.example%2Fclient\
                &redirect_uri=https://app.example/&scope=a%20b",
            "/a/b;c=d/e:f@g?x=//host",
            "/%C3%A9t%C3%A9",
            "/console?x=%0d%0a",
            "/console?",
            "/...",
        ] {
            assert_eq!(return_path_error(text), None, "{text}");
        }
    }

    #[test]
    fn paths_that_could_lead_elsewhere_are_refused() {
        for text in [
            "",
            "console",
            "?x",
            "//evil.example",
            "///evil.example",
            r"/\evil.example",
            r"\/evil.example",
            r"\\evil.example",
            r"/a\b",
            "/\t/evil.example",
            "/\n/evil.example",
            "\t//evil.example",
            " //evil.example",
            "/ /evil.example",
            "/\r\nset-cookie:x=y",
            "/\u{0}",
            "/\u{7f}",
            "/\u{2028}",
            "/\u{3002}",
            "/é",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "data:,x",
            "user@evil.example",
            "//user:password@evil.example",
            "/..//evil.example",
            "/./",
            "/.",
            "/..",
            "/a/../b",
            "/%2e%2e/b",
            "/.%2E/b",
            "/%2F/evil.example",
            "/%2fevil.example",
            "/%5Cevil.example",
            "/a%5c",
            "/%09/evil.example",
            "/a%0d%0ab",
            "/%00",
            "/%252Fevil.example",
            "/a//b",
            "/%",
            "/%2",
            "/%zz",
            "/a?%",
            "/a#b",
            "/a?b#c",
            "/a\"b",
            "/<script>",
            "/a?<script>",
            "/a?b\\c",
            "/a?b c",
        ] {
            assert!(return_path_error(text).is_some(), "{text:?}");
        }
        assert!(
            return_path_error(&format!("/{}", "a".repeat(MAX_RETURN_PATH_BYTES))).is_some()
                && return_path_error(&format!("/{}", "a".repeat(MAX_RETURN_PATH_BYTES - 1)))
                    .is_none()
        );
    }

    /// Generates texts from pieces that URL parsers treat specially.
    fn tricky() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "/",
            "//",
            "\\",
            ".",
            "..",
            "?",
            "#",
            "@",
            ":",
            "%",
            "%2f",
            "%5C",
            "%2e",
            "%09",
            "%00",
            "\t",
            "\n",
            "\r",
            " ",
            "a",
            "console",
            "https:",
            "evil.example",
            "user",
            "&",
            "=",
            ";",
            "é",
            "[",
            "]",
            "|",
            "^",
            "\u{0}",
            "\u{85}",
            "\u{ff0f}",
        ]);
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Resolves each accepted path as a browser does, from several pages of the service. Each
        /// resolved address has the same host and exactly the accepted path.
        #[test]
        fn an_accepted_path_stays_on_its_host_in_every_browser(
            text in prop_oneof![tricky(), "/{0,2}.{0,40}", any::<String>()],
        ) {
            if let Some(path) = valid_return_path(&text) {
                for page in [
                    "https://stay.example",
                    "https://stay.example/sign-in?ticket=x",
                    "http://127.0.0.1:8080/sign-in/",
                ] {
                    let page = Url::parse(page).unwrap();
                    let target = page.join(path).unwrap();
                    prop_assert_eq!(target.origin(), page.origin());
                    prop_assert_eq!(target.username(), "");
                    prop_assert_eq!(
                        &target[url::Position::BeforePath..],
                        path.replace(
                            '\'',
                            if path
                                .split_once('?')
                                .is_some_and(|(_, query)| query.contains('\''))
                            {
                                "%27"
                            } else {
                                "'"
                            }
                        )
                    );
                }
                prop_assert!(http::HeaderValue::from_str(path).is_ok());
            }
        }
    }
}
