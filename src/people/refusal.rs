//! Reasons why a person is not signed in, with their pages and log entries.

use engine::error::{Error, ErrorKind};
use store::Error as StoreError;
use texts::Notice;
use texts::sign_in::SignInWords;
use uuid::Uuid;

use super::validity::SignInBar;

/// Maximum length of a provider's error code in the log.
const LONGEST_WORD: usize = 64;

/// A reason why a person is not signed in or gets no page.
#[derive(Debug)]
pub(super) enum SignInRefusal {
    /// The form does not come from this server, or belongs to another session.
    ForeignForm,
    /// The ticket is used, expired or unknown.
    UsedLink,
    /// The set-up link is expired or unknown, or there is an organization already.
    UsedSetupLink,
    /// The member may not be signed in at the moment; with their organization, if known.
    Barred(SignInBar, Option<Uuid>),
    /// The provider does not answer, or its answer is invalid.
    ProviderDown(String),
    /// The provider refused the sign-in with this error code.
    ProviderRefused(String),
    /// This browser has not begun this sign-in at the provider.
    ProviderLost(&'static str),
    /// The provider's claims are not trustworthy.
    Disbelieved(String),
    /// The provider has not verified the mail address. The text says for the log which claim is
    /// missing or wrong.
    Unverified(String),
    /// No member has this mail address.
    NoMember,
    /// There is no such page.
    Missing,
    /// This server failed.
    Failed(Error),
}

impl SignInRefusal {
    /// Returns the status of the page.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::UsedLink => 410,
            Self::ProviderDown(_) => 502,
            Self::Missing | Self::UsedSetupLink => 404,
            Self::Failed(error) => error.kind().status(),
            Self::ForeignForm
            | Self::Barred(..)
            | Self::ProviderRefused(_)
            | Self::ProviderLost(_)
            | Self::Disbelieved(_)
            | Self::Unverified(_)
            | Self::NoMember => 403,
        }
    }

    /// Returns the message of the page.
    pub(super) fn notice(&self, words: &SignInWords) -> Notice {
        match self {
            Self::ForeignForm => words.foreign_form,
            Self::UsedLink => words.used_link,
            Self::UsedSetupLink => words.used_setup_link,
            Self::Barred(SignInBar::Inactive, _) => words.inactive,
            Self::Barred(SignInBar::TwoFactor, _) => words.two_factor,
            Self::ProviderDown(_) | Self::Disbelieved(_) => words.provider_down,
            Self::ProviderRefused(_) => words.provider_refused,
            Self::ProviderLost(_) => words.provider_lost,
            Self::Unverified(_) => words.unverified,
            Self::NoMember => words.no_member,
            Self::Missing => words.missing,
            Self::Failed(_) => words.unavailable,
        }
    }

    /// Logs the refusal once and without secrets.
    pub(super) fn log(&self, request_id: Uuid) {
        let refused = |reason: &str, organization: Option<Uuid>| {
            let organization = organization.map(tracing::field::display);
            tracing::info!(%request_id, organization, reason, "not signed in");
        };
        match self {
            Self::ForeignForm => refused("the form was not given to this browser", None),
            Self::UsedLink => refused(
                "the sign-in link was used, has expired or never existed",
                None,
            ),
            Self::UsedSetupLink => refused(
                "the set-up link has expired or never existed, or there is an organization",
                None,
            ),
            Self::Barred(barred, organization) => refused(barred.reason(), *organization),
            Self::ProviderRefused(error) => {
                refused(&format!("the provider refused: {}", word(error)), None);
            }
            Self::ProviderLost(what) => refused(what, None),
            Self::Disbelieved(cause) => {
                tracing::warn!(%request_id, reason = "the ID token is not valid", cause, "not signed in");
            }
            Self::Unverified(cause) => {
                tracing::info!(%request_id, reason = "the provider has not verified a mail address", cause, "not signed in");
            }
            Self::NoMember => refused("no member has that mail address", None),
            Self::ProviderDown(cause) => {
                tracing::warn!(%request_id, cause, "the sign-in provider is not available");
            }
            Self::Missing => {}
            Self::Failed(error) => {
                let cause = error.cause().unwrap_or_default();
                if error.kind() == ErrorKind::Internal {
                    tracing::error!(%request_id, cause, "a sign-in request failed with an internal error");
                } else {
                    tracing::warn!(%request_id, cause, "a sign-in request failed because a service it needs is not available");
                }
            }
        }
    }
}

/// Cleans an external error code for the log; only harmless characters remain.
fn word(text: &str) -> String {
    text.chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        .take(LONGEST_WORD)
        .collect()
}

impl From<Error> for SignInRefusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for SignInRefusal {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}
