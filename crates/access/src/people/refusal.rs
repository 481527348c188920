//! Errors of the sign-in pages. Each error has an HTTP status, the text of an error page, and a log
//! entry.

use engine::error::{Error, ErrorKind};
use store::Error as StoreError;
use texts::Notice;
use texts::sign_in::SignInWords;
use uuid::Uuid;

use super::validity::SignInRestriction;

/// Maximum length of a provider's error code in the log, in characters.
const MAX_ERROR_CODE: usize = 64;

/// An error of a sign-in page.
#[derive(Debug)]
pub(super) enum SignInError {
    /// The sent form does not contain the token of this browser or session. So another site may
    /// have sent the form.
    ForeignForm,
    /// The ticket in the sign-in link was used before, has expired, or is unknown.
    InvalidLink,
    /// The set-up link is expired or unknown, or an organization already exists.
    InvalidSetupLink,
    /// The member is inactive or lacks a required second factor. Contains the reason, and the id of
    /// the member's organization if it is known.
    Restricted(SignInRestriction, Option<Uuid>),
    /// The provider does not respond, or its response is invalid.
    ProviderUnavailable(String),
    /// The provider refused the sign-in. Contains the provider's error code.
    ProviderRefused(String),
    /// The browser returned from the provider without a valid cookie of a sign-in in progress.
    /// Contains the reason for the log.
    NoProviderSignIn(&'static str),
    /// The provider's token or claims are invalid. Contains the reason for the log.
    InvalidClaims(String),
    /// The provider has not verified the mail address. The text names the claim that is missing or
    /// wrong, for the log.
    UnverifiedAddress(String),
    /// No member has this mail address.
    NoMember,
    /// The page does not exist.
    PageNotFound,
    /// An internal error of this server, or a failure of a service on which this server depends.
    ServerError(Error),
}

impl SignInError {
    /// Returns the HTTP status of the page.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::InvalidLink => 410,
            Self::ProviderUnavailable(_) => 502,
            Self::PageNotFound | Self::InvalidSetupLink => 404,
            Self::ServerError(error) => error.kind().status(),
            Self::ForeignForm
            | Self::Restricted(..)
            | Self::ProviderRefused(_)
            | Self::NoProviderSignIn(_)
            | Self::InvalidClaims(_)
            | Self::UnverifiedAddress(_)
            | Self::NoMember => 403,
        }
    }

    /// Returns the heading and the text of the error page.
    pub(super) fn notice(&self, words: &SignInWords) -> Notice {
        match self {
            Self::ForeignForm => words.foreign_form,
            Self::InvalidLink => words.used_link,
            Self::InvalidSetupLink => words.used_setup_link,
            Self::Restricted(SignInRestriction::Inactive, _) => words.inactive,
            Self::Restricted(SignInRestriction::TwoFactor, _) => words.two_factor,
            Self::ProviderUnavailable(_) | Self::InvalidClaims(_) => words.provider_down,
            Self::ProviderRefused(_) => words.provider_refused,
            Self::NoProviderSignIn(_) => words.provider_lost,
            Self::UnverifiedAddress(_) => words.unverified,
            Self::NoMember => words.no_member,
            Self::PageNotFound => words.missing,
            Self::ServerError(_) => words.unavailable,
        }
    }

    /// Logs the error without secrets. Call this function once for each request.
    pub(super) fn log(&self, request_id: Uuid) {
        let log_refusal = |reason: &str, organization: Option<Uuid>| {
            let organization = organization.map(tracing::field::display);
            tracing::info!(%request_id, organization, reason, "not signed in");
        };
        match self {
            Self::ForeignForm => log_refusal("the form was not given to this browser", None),
            Self::InvalidLink => log_refusal(
                "the sign-in link was used, has expired or never existed",
                None,
            ),
            Self::InvalidSetupLink => log_refusal(
                "the set-up link has expired or never existed, or there is an organization",
                None,
            ),
            Self::Restricted(barred, organization) => log_refusal(barred.reason(), *organization),
            Self::ProviderRefused(error) => {
                log_refusal(
                    &format!("the provider refused: {}", clean_error_code(error)),
                    None,
                );
            }
            Self::NoProviderSignIn(what) => log_refusal(what, None),
            Self::InvalidClaims(cause) => {
                tracing::warn!(
                    %request_id,
                    reason = "the ID token is not valid",
                    cause,
                    "not signed in"
                );
            }
            Self::UnverifiedAddress(cause) => {
                tracing::info!(
                    %request_id,
                    reason = "the provider has not verified a mail \
                    address",
                    cause,
                    "not signed in"
                );
            }
            Self::NoMember => log_refusal("no member has that mail address", None),
            Self::ProviderUnavailable(cause) => {
                tracing::warn!(%request_id, cause, "the sign-in provider is not available");
            }
            Self::PageNotFound => {}
            Self::ServerError(error) => {
                let cause = error.cause().unwrap_or_default();
                if error.kind() == ErrorKind::Internal {
                    tracing::error!(
                        %request_id,
                        cause,
                        "a sign-in request failed with an internal error"
                    );
                } else {
                    tracing::warn!(
                        %request_id,
                        cause,
                        "a sign-in request failed because a service it needs is not available"
                    );
                }
            }
        }
    }
}

/// Removes all characters from a provider's error code that could forge a line of the log.
fn clean_error_code(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .take(MAX_ERROR_CODE)
        .collect()
}

impl From<Error> for SignInError {
    fn from(error: Error) -> Self {
        Self::ServerError(error)
    }
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        Self::ServerError(error.into())
    }
}
