//! A request for a page for members, such as the sign-in page. This module reads its parameters and
//! its language, and checks the token in its form.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::response::Response;
use engine::access::token;
use engine::pipeline::Service;
use http::header::{ACCEPT, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue};
use texts::sign_in::SignInWords;
use uuid::Uuid;
use vestibule_http::browser::single_value;
use vestibule_http::surface::{attach_operation, query, request_id};

use super::cookie::Cookie;
use super::form;
use super::language::{language, words};
use super::pages;
use super::refusal::SignInError;
use super::reply;
use super::return_path;

/// Lifetime, in seconds, of the cookie with the form secret. A visitor who is not signed in must
/// send a form within this time. Later, the form is refused.
const FORM_COOKIE_SECONDS: u64 = 3_600;
/// Length of the secret from which form tokens are derived, in characters.
const SECRET_LENGTH: usize = 43;
/// The header with the relation between the origin of a request and this site, such as
/// `same-origin` (Fetch Metadata). Browsers send it, but other clients do not.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The purpose with which a form token is derived from the form secret. A token that was derived
/// with another purpose is not accepted in a form.
const FORM: &str = "form";

/// A request for one of this service's own pages for members, such as the sign-in page. The body of
/// the request is not included.
pub(super) struct SignInRequest {
    pub(super) service: Arc<Service>,
    pub(super) request_id: Uuid,
    pub(super) headers: HeaderMap,
    pub(super) language: &'static str,
    pub(super) words: &'static SignInWords,
    query: Vec<(String, String)>,
}

/// The secret from which the form token of a visitor who is not signed in is derived, and the
/// cookie that stores this secret.
pub(super) struct FormSecret {
    secret: String,
    cookie: Option<HeaderValue>,
}

impl FormSecret {
    /// Returns the token that each form sent by this browser must contain.
    pub(super) fn token(&self) -> String {
        form::derive_token(&self.secret, FORM)
    }

    /// Adds the cookie that stores the form secret to a response.
    pub(super) fn set_cookie_on(self, response: Response) -> Response {
        reply::with_cookies(response, self.cookie)
    }
}

impl SignInRequest {
    /// Splits an HTTP request into a [`SignInRequest`] and the body, which is not read yet.
    pub(super) fn of(service: Arc<Service>, request: HttpRequest) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        let (request_id, query) = (request_id(&parts), query(&parts));
        let (language, words) = (
            language(&service, &parts.headers),
            words(&service, &parts.headers),
        );
        (
            Self {
                service,
                request_id,
                headers: parts.headers,
                language,
                words,
                query,
            },
            body,
        )
    }

    /// Returns the value of a query parameter; `None` if the parameter is missing or occurs more
    /// than once.
    pub(super) fn query_value(&self, name: &str) -> Option<&str> {
        single_value(&self.query, name)
    }

    /// Returns the return path in the query, if it is valid.
    pub(super) fn return_to(&self) -> Option<&str> {
        self.query_value("return_to")
            .and_then(return_path::valid_return_path)
    }

    /// Returns the form secret of this browser. If the browser's cookie has a secret already,
    /// returns that secret. A new secret would invalidate the forms of other pages that are open in
    /// the browser.
    pub(super) fn form_secret(&self) -> FormSecret {
        let existing = Cookie::Forms
            .read(&self.service, &self.headers)
            .filter(|secret| is_secret(secret));
        let secret = existing.unwrap_or_else(|| token("", &self.service.app_state.ids));
        let cookie = Cookie::Forms.set(&self.service, &secret, FORM_COOKIE_SECONDS);
        FormSecret { secret, cookie }
    }

    /// Returns the form secret for the page that a sign-in link opens. If the client is a browser,
    /// this is the secret in its cookie. For other clients, such as programs that create link
    /// previews, it is the ticket itself, and no cookie is set.
    pub(super) fn ticket_form_secret(&self, ticket: &str) -> FormSecret {
        let is_browser = self.headers.get_all(ACCEPT).iter().any(|kinds| {
            kinds
                .to_str()
                .is_ok_and(|kinds| kinds.contains("text/html"))
        });
        if is_browser {
            self.form_secret()
        } else {
            FormSecret {
                secret: ticket.to_owned(),
                cookie: None,
            }
        }
    }

    /// Returns whether a sent form contains the token of this browser.
    ///
    /// If the request has neither the header `Origin` nor `Sec-Fetch-Site`, the token may be
    /// derived from the ticket in the form instead. This is safe, because cross-site request
    /// forgery needs a browser, and browsers send `Origin` with every POST.
    pub(super) fn is_own_form(&self, fields: &[(String, String)]) -> bool {
        let Some(form) = single_value(fields, "form") else {
            return false;
        };
        let is_derived_from = |secret: &str| form::is_derived_token(form, secret, FORM);
        let secret = Cookie::Forms
            .read(&self.service, &self.headers)
            .filter(|secret| is_secret(secret));
        let is_browser = [ORIGIN, SEC_FETCH_SITE]
            .iter()
            .any(|header| self.headers.contains_key(header));
        secret.is_some_and(|secret| is_derived_from(&secret))
            || (!is_browser && single_value(fields, "ticket").is_some_and(is_derived_from))
    }

    /// Returns the response, or the error page if `result` is an error. Logs the error, and sets
    /// `operation` as the name of the operation in the log and the metrics.
    pub(super) fn respond(
        &self,
        operation: &'static str,
        result: Result<Response, SignInError>,
    ) -> Response {
        let mut response = result.unwrap_or_else(|error| {
            error.log(self.request_id);
            pages::refusal(self, &error)
        });
        attach_operation(&mut response, operation, None);
        response
    }
}

/// Returns whether a text has the length and the characters of a form secret.
fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
