//! Pages that say what is wrong to a person, where nobody can be sent back to an app.

use askama::Template;
use axum::response::Response;
use engine::error::Error;
use engine::pipeline::Service;
use http::HeaderMap;

use super::words;
use crate::people::{self, Frame, SignedIn};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The client is unknown.
    Client,
    /// The client's metadata document is of no use.
    Document,
    /// The address is none that the client has named.
    Redirect,
    /// The request cannot be read.
    Request,
    /// The request is too long for somebody who has to sign in first.
    TooLong,
    /// The form is not one of ours, or of another session.
    Form,
    /// Something of ours does not work at the moment.
    Unavailable,
}

impl Problem {
    /// As the log has it.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Client => "the client is unknown",
            Self::Document => "the client's document is of no use",
            Self::Redirect => "the redirect_uri is none of the client's",
            Self::Request => "the request cannot be read",
            Self::TooLong => "the request is too long to come back to after signing in",
            Self::Form => "the form is of another session, or of nobody here",
            Self::Unavailable => "not available",
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
struct Page<'p> {
    frame: Frame<'p>,
    text: &'static str,
}

/// The page of a problem.
pub(super) fn page(service: &Service, headers: &HeaderMap, signed_in: Option<&SignedIn>, problem: Problem) -> Response {
    let language = people::language(service, headers);
    let own = words::of(language);
    let around = Frame::new(service, language, "", None).words;
    let (title, text) = match problem {
        Problem::Client => own.unknown_client,
        Problem::Document => own.bad_document,
        Problem::Redirect => own.bad_redirect,
        Problem::Request | Problem::TooLong => own.bad_request,
        Problem::Form => around.foreign_form,
        Problem::Unavailable => around.unavailable,
    };
    let page = Page { frame: Frame::new(service, language, title, signed_in), text };
    people::page(problem.status(), page.render().map_err(Error::internal), language, &[])
}
