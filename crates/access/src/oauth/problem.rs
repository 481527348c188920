//! Error pages of the authorization endpoint. They are shown if the browser cannot be redirected to
//! the app.

use askama::Template;
use axum::response::Response;
use engine::error::Error;
use engine::pipeline::Service;
use http::HeaderMap;

use crate::people::{self, SignInFrame, SignedIn};

/// The reason why the authorization endpoint shows an error page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorPageKind {
    /// The client is unknown.
    Client,
    /// The client's metadata document cannot be fetched, or is invalid.
    Document,
    /// The client has not registered the redirect address.
    Redirect,
    /// The body of the request is not form data (`application/x-www-form-urlencoded`), or too long.
    Request,
    /// The authorization request is too long for a return path. The browser needs the return path
    /// to repeat the request after the sign-in.
    TooLong,
    /// The sent consent form does not contain the form token of the member's session.
    Form,
    /// A service that this server needs is not available.
    Unavailable,
}

impl ErrorPageKind {
    /// Returns the error as a text for the log.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Client => "the client is unknown",
            Self::Document => "the client's metadata document cannot be used",
            Self::Redirect => "the redirect_uri is not one of the client's",
            Self::Request => "the request cannot be read",
            Self::TooLong => "the request is too long to be kept during a sign-in",
            Self::Form => "the form belongs to another session, or nobody is signed in",
            Self::Unavailable => "a service that this server needs is not available",
        }
    }

    const fn status(self) -> u16 {
        match self {
            Self::Client | Self::Document | Self::Redirect | Self::Request | Self::TooLong => 400,
            Self::Form => 403,
            Self::Unavailable => 503,
        }
    }
}

#[derive(Template)]
#[template(path = "oauth/problem.html")]
struct ProblemPage<'p> {
    frame: SignInFrame<'p>,
    text: &'static str,
}

/// Returns the page that describes the error `problem`, in the browser's language.
pub(super) fn error_page(
    service: &Service,
    headers: &HeaderMap,
    signed_in: Option<&SignedIn>,
    problem: ErrorPageKind,
) -> Response {
    let language = people::language(service, headers);
    let consent_texts = texts::consent::table(language);
    let frame_texts = SignInFrame::new(service, language, "", None).words;
    let (title, text) = match problem {
        ErrorPageKind::Client => consent_texts.unknown_client,
        ErrorPageKind::Document => consent_texts.bad_document,
        ErrorPageKind::Redirect => consent_texts.bad_redirect,
        ErrorPageKind::Request | ErrorPageKind::TooLong => consent_texts.bad_request,
        ErrorPageKind::Form => frame_texts.foreign_form,
        ErrorPageKind::Unavailable => frame_texts.unavailable,
    };
    let page = ProblemPage {
        frame: SignInFrame::new(service, language, title, signed_in),
        text,
    };
    people::page(
        problem.status(),
        page.render().map_err(Error::internal),
        language,
        &[],
    )
}
