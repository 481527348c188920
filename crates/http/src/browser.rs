//! Requests of browsers, and responses for them. The guest's page, the console, the sign-in page
//! and the consent page use this module. So all of them read forms in the same way and have the
//! same security headers. Each page has its own [`Policy`].

mod form;

use std::fmt::Write as _;

use askama::Template;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::error::{Error, Result};
use engine::language;
use http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

pub use self::form::{
    FormLimits, first_value, read_form, read_form_with_files, read_form_within, single_value,
    with_line_feeds,
};

/// The content type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// The permissions policy of pages, which use no feature of the device.
const NO_PERMISSIONS: &str = "accelerometer=(), autoplay=(), camera=(), display-capture=(), \
    encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), magnetometer=(), \
    microphone=(), midi=(), payment=(), publickey-credentials-get=(), serial=(), usb=(), \
    xr-spatial-tracking=()";

/// The content security policy that replaces a policy which is not a valid header value.
const STRICTEST_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; form-action 'none'");

/// The limits of a response in a browser: the sources that it may load, the targets of its forms,
/// the pages that may frame it, and the sites that learn its URL.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The sources from which the response may load content, as directives of a content security
    /// policy, such as `img-src 'self'`. Content of a type without a directive is forbidden.
    pub loads: String,
    pub forms: FormTargets,
    /// Whether pages of this service may show the response in a frame.
    pub is_framed_by_us: bool,
    /// The sites that learn the URL of the response when a person follows a link on the page.
    pub referrer: Referrer,
}

/// The permitted targets of the forms of a page. A browser also checks the targets of redirects
/// that follow a form.
#[derive(Debug, Clone)]
pub enum FormTargets {
    /// The forms may be sent to this service and to the sites in this list.
    Here(Vec<String>),
    /// Any target. Such a form submits to this server. The response redirects the browser to
    /// another service, such as an OAuth app, which may redirect the browser to unknown targets.
    Anywhere,
}

/// The sites that learn the URL of a page when a person follows a link on it.
#[derive(Debug, Clone, Copy)]
pub enum Referrer {
    /// No site learns the URL.
    Nobody,
    /// Only this service learns the URL. With the policy of [`Self::Nobody`], browsers would send
    /// `Origin: null` with a form. The service checks the origin of forms.
    ThisService,
}

impl Referrer {
    const fn header(self) -> HeaderValue {
        match self {
            Self::Nobody => HeaderValue::from_static("no-referrer"),
            Self::ThisService => HeaderValue::from_static("same-origin"),
        }
    }
}

impl Policy {
    /// Returns a policy for a page. `loads` contains the directives of the content security policy
    /// that permit sources, such as `img-src 'self'`. The page's forms may only be sent to this
    /// service.
    #[must_use]
    pub fn new(loads: impl Into<String>, referrer: Referrer) -> Self {
        Self {
            loads: loads.into(),
            forms: FormTargets::Here(Vec::new()),
            is_framed_by_us: false,
            referrer,
        }
    }

    /// Returns this policy, but permits pages of this service to show the response in a frame.
    #[must_use]
    pub fn framed(mut self) -> Self {
        self.is_framed_by_us = true;
        self
    }

    /// Returns the same policy, except that a page may submit its forms to the targets `forms`.
    #[must_use]
    pub fn with_forms(mut self, forms: FormTargets) -> Self {
        self.forms = forms;
        self
    }

    /// Returns the content security policy.
    fn header(&self) -> HeaderValue {
        let mut policy = "default-src 'none'; base-uri 'none'".to_owned();
        // Writing to a String cannot fail.
        let _ = write!(policy, "; frame-ancestors '{}'", self.ancestors());
        if !self.loads.is_empty() {
            let _ = write!(policy, "; {}", self.loads);
        }
        if let FormTargets::Here(sources) = &self.forms {
            let _ = write!(policy, "; form-action 'self'");
            for source in sources.iter().filter(|source| is_single_source(source)) {
                let _ = write!(policy, " {source}");
            }
        }
        HeaderValue::from_str(&policy).unwrap_or(STRICTEST_POLICY)
    }

    const fn ancestors(&self) -> &'static str {
        if self.is_framed_by_us { "self" } else { "none" }
    }

    const fn frame_options(&self) -> HeaderValue {
        if self.is_framed_by_us {
            HeaderValue::from_static("SAMEORIGIN")
        } else {
            HeaderValue::from_static("DENY")
        }
    }
}

/// Returns whether a source can be inserted into the content security policy: it contains no
/// character that would end its directive or the header.
fn is_single_source(source: &str) -> bool {
    source
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')
}

/// Returns the languages that a browser accepts, as tags, the most preferred first (RFC 9110,
/// 12.5.4). A language with `q=0` is omitted.
#[must_use]
pub fn accepted_languages(headers: &HeaderMap) -> Vec<String> {
    headers
        .get(ACCEPT_LANGUAGE)
        .and_then(|header| header.to_str().ok())
        .map(language::accepted_languages)
        .unwrap_or_default()
}

/// Returns the hash of an inline style or script in the form of a policy's source: `sha256-…`.
#[must_use]
pub fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Renders a template. A failure is an internal error.
pub fn rendered(template: &impl Template) -> Result<String> {
    template.render().map_err(Error::internal)
}

/// Returns a page. If the page could not be rendered, returns a 500 with the text of `fallback`.
#[must_use]
pub fn page(
    policy: &Policy,
    status: u16,
    html: Result<String>,
    fallback: impl FnOnce() -> String,
) -> Response {
    let (status, html) = match html {
        Ok(html) => (status, html),
        Err(error) => {
            tracing::error!(
                cause = error.cause(),
                "could not render a page; answered 500"
            );
            (500, fallback())
        }
    };
    let mut response = file(policy, HTML, html);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// Returns a file with its content type. No cache may store the file, and no search engine may list
/// it.
#[must_use]
pub fn file(policy: &Policy, content_type: &'static str, body: impl Into<Body>) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, policy.referrer.header()),
        (CONTENT_SECURITY_POLICY, policy.header()),
        (X_FRAME_OPTIONS, policy.frame_options()),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_ROBOTS_TAG, HeaderValue::from_static("noindex")),
        (PERMISSIONS_POLICY, HeaderValue::from_static(NO_PERMISSIONS)),
    ];
    (headers, body.into()).into_response()
}

/// Redirects to another URL by GET, so that the browser does not send a form twice when a person
/// goes back or reloads.
#[must_use]
pub fn redirect(address: &str, referrer: Referrer) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, referrer.header()),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_ROBOTS_TAG, HeaderValue::from_static("noindex")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// Adds cookies to a response.
#[must_use]
pub fn with_cookies(
    mut response: Response,
    cookies: impl IntoIterator<Item = HeaderValue>,
) -> Response {
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Adds `Retry-After` with the seconds until a retry, if they are known.
#[must_use]
pub fn retriable(mut response: Response, retry_after: Option<u64>) -> Response {
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_text(policy: &Policy) -> String {
        policy.header().to_str().unwrap().to_owned()
    }

    #[test]
    fn forms_may_lead_only_to_this_service_and_listed_sources() {
        let allowed = |sources: &[&str]| {
            let sources = sources.iter().map(|&source| source.to_owned()).collect();
            let policy = Policy::new("", Referrer::Nobody).with_forms(FormTargets::Here(sources));
            header_text(&policy)
                .rsplit_once("form-action ")
                .unwrap()
                .1
                .to_owned()
        };
        assert_eq!(allowed(&[]), "'self'");
        assert_eq!(
            allowed(&["https://app.example", "com.example.app:"]),
            "'self' https://app.example com.example.app:"
        );
        assert_eq!(
            allowed(&[
                "https://a.example; script-src *",
                "a\nb",
                "https://a.example,b"
            ]),
            "'self'"
        );
    }

    #[test]
    fn accepted_languages_are_sorted_by_weight() {
        let accepted = |header: HeaderValue| {
            accepted_languages(&HeaderMap::from_iter([(ACCEPT_LANGUAGE, header)]))
        };
        assert_eq!(
            accepted(HeaderValue::from_static("en;q=0.5, fr;q=0, es-ES")),
            ["es-ES", "en"]
        );
        assert!(accepted(HeaderValue::from_bytes(b"\xff").unwrap()).is_empty());
        assert!(accepted_languages(&HeaderMap::new()).is_empty());
    }

    #[test]
    fn only_a_framed_page_names_this_service_as_its_frame() {
        let policy = Policy::new("img-src 'self'", Referrer::Nobody);
        assert_eq!(
            header_text(&policy),
            "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; img-src 'self'; \
                form-action 'self'"
        );
        assert!(header_text(&policy.framed()).contains("frame-ancestors 'self'"));
    }

    #[test]
    fn a_policy_that_is_no_header_allows_nothing() {
        let policy = Policy::new("img-src\n*", Referrer::Nobody);
        assert_eq!(policy.header(), STRICTEST_POLICY);
    }
}
