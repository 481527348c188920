//! How pages for members are answered: kept by nobody, framed by nobody, with nothing from elsewhere.

use std::fmt::Write as _;

use askama::Template;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use engine::error::{Error, Result};
use engine::pipeline::Service;
use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};

use super::frame::STYLE_HASH;
use super::place::{SIGN_IN, address, returning};
use super::settings;

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Where another chapter's page at a path may lead a browser on to by itself: a source as a policy names it. It is listed by that chapter.
/// A sign-in that comes back to such a page ends there, and browsers hold all the way that a form takes against the form's policy.
pub(crate) struct LeadsOn(pub(crate) fn(&str) -> Option<String>);

/// Where a form that leads to a path of this service may lead by that.
pub(super) fn leads_on(service: &Service, path: &str) -> Vec<String> {
    service.kit.lists.all::<LeadsOn>().iter().filter_map(|LeadsOn(there)| there(path)).collect()
}

/// Where a form may lead whose sender turns out to have to sign in first: where `--sign-in-url` says.
#[must_use]
pub fn sign_in_source(service: &Service) -> Option<String> {
    settings::elsewhere_source(service)
}

/// A page; one that does not render is a 500 that says nothing. Beside this service, its forms may lead to `form_action`: sources
/// as a policy names them, because browsers hold what a form is redirected to against the same list.
#[must_use]
pub fn page(status: u16, html: Result<String>, language: &str, form_action: &[String]) -> Response {
    page_under(policy(form_action), status, html, language)
}

/// The same under a policy of its own.
#[must_use]
pub fn page_under(policy: HeaderValue, status: u16, html: Result<String>, language: &str) -> Response {
    let (status, html) = match html {
        Ok(html) => (status, html),
        Err(error) => {
            tracing::error!(cause = error.cause(), "a page did not render");
            (500, String::new())
        }
    };
    let mut response = kept_by_nobody(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Body::from(html));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(VARY, HeaderValue::from_static("accept-language, cookie"));
    if let Ok(language) = HeaderValue::from_str(language) {
        headers.insert(CONTENT_LANGUAGE, language);
    }
    response
}

/// To another address, by GET: going back or loading it again sends no form twice.
#[must_use]
pub fn redirect(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let mut response = kept_by_nobody(StatusCode::SEE_OTHER, Body::empty());
    response.headers_mut().insert(LOCATION, location);
    response
}

/// To where people sign in first, and come back from to a path of this service with its query: to `/sign-in`, or where
/// `--sign-in-url` says. A path that nobody may be sent back to is left out.
#[must_use]
pub fn sign_in_first(service: &Service, return_to: &str) -> Response {
    let elsewhere = settings::elsewhere(service, Some(return_to));
    redirect(&elsewhere.unwrap_or_else(|| address(service, &returning(SIGN_IN, Some(return_to)))))
}

/// What a template comes to.
pub(super) fn rendered(template: &impl Template) -> Result<String> {
    template.render().map_err(Error::internal)
}

/// With cookies besides.
pub(super) fn with_cookies(mut response: Response, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
    for cookie in cookies {
        response.headers_mut().append(http::header::SET_COOKIE, cookie);
    }
    response
}

/// Kept by nobody in between, and told to no other host: the address may hold a ticket. To this service the browser says where a
/// form comes from.
fn kept_by_nobody(status: StatusCode, body: Body) -> Response {
    let headers = [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_ROBOTS_TAG, HeaderValue::from_static("noindex")),
    ];
    (status, headers, body).into_response()
}

/// No script, the style of the page alone, no frame around it.
fn policy(form_action: &[String]) -> HeaderValue {
    let mut policy = format!(
        "default-src 'none'; style-src '{}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
        *STYLE_HASH
    );
    // A source that could end the directive, or the header, is none.
    for source in form_action.iter().filter(|source| source.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')) {
        // Writing to a String cannot fail.
        let _ = write!(policy, " {source}");
    }
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_here_and_where_it_is_said() {
        let owned = |sources: &[&str]| sources.iter().map(|source| (*source).to_owned()).collect::<Vec<_>>();
        let allowed = |sources: &[&str]| policy(&owned(sources)).to_str().unwrap().rsplit_once("form-action ").unwrap().1.to_owned();
        assert_eq!(allowed(&[]), "'self'");
        assert_eq!(allowed(&["https://app.example", "com.example.app:"]), "'self' https://app.example com.example.app:");
        assert_eq!(allowed(&["https://a.example; script-src *", "a\nb", "https://a.example,b"]), "'self'");
    }
}
