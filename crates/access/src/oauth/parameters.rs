//! The OAuth parameters of a request, from its query or its form. Each parameter may occur once.

use axum::body::Body;
use http::HeaderMap;
use vestibule_http::browser::read_form;

use super::refusal::OauthError;

/// Maximum length of a parameter's value, in bytes. Some clients store data in `state`, so the
/// limit is high.
const MAX_VALUE_BYTES: usize = 4_096;

/// The name and the value of each parameter of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OauthParameters(Vec<(String, String)>);

impl OauthParameters {
    /// Reads the parameters in the query string of a URL.
    pub(super) fn from_query(query: Option<&str>) -> Self {
        Self::of(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned())
    }

    /// Reads the parameters of a form of at most 64 KiB (RFC 6749, section 4.1.3 and appendix B).
    pub(super) async fn from_form(headers: &HeaderMap, body: Body) -> Result<Self, OauthError> {
        let fields = read_form(headers, body).await;
        fields.map(Self::of).ok_or(OauthError::invalid_request(
            "The body must be application/x-www-form-urlencoded, of at most 64 KiB.",
        ))
    }

    /// Collects the parameters. Omits parameters with an empty value (RFC 6749, sections 3.1 and
    /// 3.2).
    pub(super) fn of(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        )
    }

    /// Returns the value of a parameter. Returns `None` if the parameter is missing, repeated, too
    /// long or not text.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self
            .0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.as_str());
        values
            .next()
            .filter(|value| values.next().is_none() && is_valid_text(value))
    }

    /// Checks that every parameter occurs once (RFC 6749, sections 3.1 and 3.2) and that every
    /// value is text within the size limit.
    pub(super) fn check(&self) -> Result<(), OauthError> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(OauthError::invalid_request(
                "A parameter is sent more than once.",
            ));
        }
        if !self.0.iter().all(|(_, value)| is_valid_text(value)) {
            return Err(OauthError::invalid_request(
                "A parameter is too long, or contains characters that are not allowed.",
            ));
        }
        Ok(())
    }

    /// Returns whether a parameter is present, even if its value is invalid.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Returns every parameter with one of these names, including duplicates.
    pub(super) fn all<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = (&'p str, &'p str)> {
        self.0
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Returns whether a value is text within the size limit. The parser has replaced invalid UTF-8 by
/// U+FFFD, so a value with this character is invalid.
fn is_valid_text(value: &str) -> bool {
    value.len() <= MAX_VALUE_BYTES
        && !value.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_or_invalid_parameters_are_refused() {
        let parameters = |query: &str| OauthParameters::from_query(Some(query));
        assert_eq!(parameters("a=1&b=&c=%20x").get("c"), Some(" x"));
        assert_eq!(parameters("a=1&b=").get("b"), None);
        assert!(parameters("a=1&b=2").check().is_ok() && parameters("a=1&a=").check().is_ok());
        for invalid in [
            "a=1&a=1",
            "a=1&b=1&a=2",
            "a=%00",
            "a=%ff",
            "a=%0d%0aset-cookie:x",
            "a=%7f",
        ] {
            assert!(parameters(invalid).check().is_err(), "{invalid}");
            assert_eq!(parameters(invalid).get("a"), None, "{invalid}");
        }
        let long = "a".repeat(MAX_VALUE_BYTES);
        assert!(
            parameters(&format!("a={long}")).check().is_ok()
                && parameters(&format!("a={long}a")).check().is_err()
        );
        assert_eq!(
            parameters("b=2&a=1&c=3&b=4")
                .all(&["a", "d", "b"])
                .collect::<Vec<_>>(),
            [("b", "2"), ("a", "1"), ("b", "4")]
        );
        assert!(parameters("a=%00").has("a") && !parameters("a=").has("a"));
    }

    proptest! {
        #[test]
        fn a_returned_parameter_is_never_empty_or_invalid(query in ".{0,200}", name in "[a-c]") {
            let parameters = OauthParameters::from_query(Some(&query));
            let are_all_valid = parameters.check().is_ok();
            if let Some(value) = parameters.get(&name) {
                prop_assert!(!value.is_empty() && is_valid_text(value));
            }
            prop_assert!(
                !are_all_valid
                    || parameters
                        .0
                        .iter()
                        .all(|(name, value)| parameters.get(name) == Some(value))
            );
        }
    }
}
