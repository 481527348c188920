//! A visit to a page for members: its parameters, its language and its answer.

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
use vestibule_http::surface::{note, query, request_id};

use super::cookie::Cookie;
use super::form::{self, sent};
use super::language::{language, words};
use super::pages;
use super::refusal::SignInRefusal;
use super::reply;
use super::return_path;

/// Lifetime of a form of a visitor who is not signed in, in seconds.
const FORMS_LAST: u64 = 3_600;
/// Length of the secret of such forms, in characters.
const SECRET_LENGTH: usize = 43;
/// The header in which a browser names the origin of a request (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The purpose of the token of such a form.
const FORM: &str = "form";

/// A request for a page, without its body.
pub(super) struct SignInRequest {
    pub(super) service: Arc<Service>,
    pub(super) request_id: Uuid,
    pub(super) headers: HeaderMap,
    pub(super) language: &'static str,
    pub(super) words: &'static SignInWords,
    query: Vec<(String, String)>,
}

/// The secret of the forms of a visitor who is not signed in.
pub(super) struct FormSecret {
    secret: String,
    cookie: Option<HeaderValue>,
}

impl FormSecret {
    /// Returns the token of such a form.
    pub(super) fn token(&self) -> String {
        form::derived(&self.secret, FORM)
    }

    /// Adds the cookie of such forms to a page.
    pub(super) fn on(self, response: Response) -> Response {
        reply::with_cookies(response, self.cookie)
    }
}

impl SignInRequest {
    /// Splits a request into a visit and its body.
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

    /// Returns the value of a name in the query, if it occurs once.
    pub(super) fn asks(&self, name: &str) -> Option<&str> {
        sent(&self.query, name)
    }

    /// Returns the return path if it is a valid path of this service.
    pub(super) fn return_to(&self) -> Option<&str> {
        self.asks("return_to").and_then(return_path::right)
    }

    /// Returns the secret of this browser's forms. An existing secret is kept, so that a second
    /// page does not invalidate the first.
    pub(super) fn forms(&self) -> FormSecret {
        let had = Cookie::Forms
            .read(&self.service, &self.headers)
            .filter(|secret| is_secret(secret));
        let secret = had.unwrap_or_else(|| token("", &self.service.app_state.ids));
        let cookie = Cookie::Forms.keep(&self.service, &secret, FORMS_LAST);
        FormSecret { secret, cookie }
    }

    /// Returns the secret of a ticket's form. In a browser it is that of a cookie. For other
    /// clients, such as link previews, it is the ticket itself, and no cookie is set.
    pub(super) fn forms_of(&self, ticket: &str) -> FormSecret {
        let is_browser = self.headers.get_all(ACCEPT).iter().any(|kinds| {
            kinds
                .to_str()
                .is_ok_and(|kinds| kinds.contains("text/html"))
        });
        if is_browser {
            self.forms()
        } else {
            FormSecret {
                secret: ticket.to_owned(),
                cookie: None,
            }
        }
    }

    /// Whether this server gave a form to this browser before sign-in. Forgery needs a browser, and
    /// browsers state the origin of every POST. A request without an origin may therefore prove
    /// itself with the ticket alone.
    pub(super) fn is_own_form(&self, fields: &[(String, String)]) -> bool {
        let Some(form) = sent(fields, "form") else {
            return false;
        };
        let is_of = |secret: &str| form::is_derived(form, secret, FORM);
        let secret = Cookie::Forms
            .read(&self.service, &self.headers)
            .filter(|secret| is_secret(secret));
        let is_browser = [ORIGIN, SEC_FETCH_SITE]
            .iter()
            .any(|header| self.headers.contains_key(header));
        secret.is_some_and(|secret| is_of(&secret))
            || (!is_browser && sent(fields, "ticket").is_some_and(is_of))
    }

    /// Returns the answer, or the page that explains the refusal, and records the operation's name.
    pub(super) fn answered(
        &self,
        operation: &'static str,
        answer: Result<Response, SignInRefusal>,
    ) -> Response {
        let mut response = answer.unwrap_or_else(|refusal| {
            refusal.log(self.request_id);
            pages::refusal(self, &refusal)
        });
        note(&mut response, operation, None);
        response
    }
}

/// Whether a text has the form of a secret from this server.
fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
