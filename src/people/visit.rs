//! A visit to a page for members: what was asked for, in which language, and how it is answered.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::response::Response;
use engine::access::token;
use engine::pipeline::Service;
use engine::surface::{note, query, request_id};
use http::header::{ACCEPT, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use super::cookie::Cookie;
use super::form::{self, sent};
use super::language::{language, words};
use super::pages;
use super::refusal::Refusal;
use super::reply;
use super::return_path;
use super::words::Words;

/// How long a form may stay open of whoever is not signed in.
const FORMS_LAST: u64 = 3_600;
/// How many characters the secret of such forms has.
const SECRET_LENGTH: usize = 43;
/// By what a browser says whose page asks (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What the token of such a form is made for.
const FORM: &str = "form";

/// A request for a page, without its body.
pub(super) struct Visit {
    pub(super) service: Arc<Service>,
    pub(super) request_id: Uuid,
    pub(super) headers: HeaderMap,
    pub(super) language: &'static str,
    pub(super) words: &'static Words,
    query: Vec<(String, String)>,
}

/// The secret that the forms are bound to of whoever is not signed in.
pub(super) struct Forms {
    secret: String,
    cookie: Option<HeaderValue>,
}

impl Forms {
    /// What such a form carries.
    pub(super) fn token(&self) -> String {
        form::derived(&self.secret, FORM)
    }

    /// A page with such forms, with the cookie that they are bound to.
    pub(super) fn on(self, response: Response) -> Response {
        reply::with_cookies(response, self.cookie)
    }
}

impl Visit {
    /// What a request asks for, and its body.
    pub(super) fn of(service: Arc<Service>, request: HttpRequest) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        let (request_id, query) = (request_id(&parts), query(&parts));
        let (language, words) = (language(&service, &parts.headers), words(&service, &parts.headers));
        (Self { service, request_id, headers: parts.headers, language, words, query }, body)
    }

    /// The one value of a name in the query.
    pub(super) fn asks(&self, name: &str) -> Option<&str> {
        sent(&self.query, name)
    }

    /// Where it is to lead back to, where that is a path of this service.
    pub(super) fn return_to(&self) -> Option<&str> {
        self.asks("return_to").and_then(return_path::right)
    }

    /// What the forms of this browser are bound to: what it has already, so that a second page does not void the first.
    pub(super) fn forms(&self) -> Forms {
        let had = Cookie::Forms.read(&self.service, &self.headers).filter(|secret| is_secret(secret));
        let secret = had.unwrap_or_else(|| token("", &self.service.kit.ids));
        let cookie = Cookie::Forms.keep(&self.service, &secret, FORMS_LAST);
        Forms { secret, cookie }
    }

    /// What the form of a ticket is bound to: in a browser a cookie; for whatever looks at a link otherwise, such as what makes a
    /// preview of it, the ticket itself. Nothing is put there.
    pub(super) fn forms_of(&self, ticket: &str) -> Forms {
        let is_browser = self.headers.get_all(ACCEPT).iter().any(|kinds| kinds.to_str().is_ok_and(|kinds| kinds.contains("text/html")));
        if is_browser { self.forms() } else { Forms { secret: ticket.to_owned(), cookie: None } }
    }

    /// Whether a form is one that this browser was given while nobody was signed in. A form can be another site's only in a browser,
    /// and a browser says with every POST where it comes from: what does not is held to the ticket alone.
    pub(super) fn is_own_form(&self, fields: &[(String, String)]) -> bool {
        let Some(form) = sent(fields, "form") else { return false };
        let is_of = |secret: &str| form::is_derived(form, secret, FORM);
        let secret = Cookie::Forms.read(&self.service, &self.headers).filter(|secret| is_secret(secret));
        let is_browser = [ORIGIN, SEC_FETCH_SITE].iter().any(|header| self.headers.contains_key(header));
        secret.is_some_and(|secret| is_of(&secret)) || (!is_browser && sent(fields, "ticket").is_some_and(is_of))
    }

    /// The answer, or the page that says why there is none; noted under a name.
    pub(super) fn answered(&self, operation: &'static str, answer: Result<Response, Refusal>) -> Response {
        let mut response = answer.unwrap_or_else(|refusal| {
            refusal.log(self.request_id);
            pages::refusal(self, &refusal)
        });
        note(&mut response, operation, None);
        response
    }
}

/// Whether a text can be a secret that we gave.
fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
