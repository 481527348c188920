//! Why somebody is not signed in: what the page says of it, and what the log does.

use engine::error::{Error, Kind};
use store::Error as StoreError;
use uuid::Uuid;

use super::standing::Barred;
use super::words::{Notice, Words};

/// The longest word of a provider that the log repeats.
const LONGEST_WORD: usize = 64;

/// Why somebody is not signed in, or sees no page.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A form that is none of ours, or was given to another session.
    ForeignForm,
    /// A ticket that was used, has ended or never was.
    UsedLink,
    /// A member who may not be signed in as they are, of this organization where that is known.
    Barred(Barred, Option<Uuid>),
    /// The provider does not answer, or not as it should.
    ProviderDown(String),
    /// The provider let nobody in, and said why in a word.
    ProviderRefused(String),
    /// A sign-in at the provider that this browser has not begun.
    ProviderLost(&'static str),
    /// What the provider says of somebody is not to be believed.
    Disbelieved(String),
    /// The provider does not vouch for a mail address.
    Unverified,
    /// Nobody is a member by that mail address.
    NoMember,
    /// There is no such page.
    Missing,
    /// Something of ours.
    Failed(Error),
}

impl Refusal {
    /// The status of the page.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::UsedLink => 410,
            Self::ProviderDown(_) => 502,
            Self::Missing => 404,
            Self::Failed(error) => error.kind().status(),
            Self::ForeignForm
            | Self::Barred(..)
            | Self::ProviderRefused(_)
            | Self::ProviderLost(_)
            | Self::Disbelieved(_)
            | Self::Unverified
            | Self::NoMember => 403,
        }
    }

    /// What the page says.
    pub(super) fn notice(&self, words: &Words) -> Notice {
        match self {
            Self::ForeignForm => words.foreign_form,
            Self::UsedLink => words.used_link,
            Self::Barred(Barred::Inactive, _) => words.inactive,
            Self::Barred(Barred::TwoFactor, _) => words.two_factor,
            Self::ProviderDown(_) | Self::Disbelieved(_) => words.provider_down,
            Self::ProviderRefused(_) => words.provider_refused,
            Self::ProviderLost(_) => words.provider_lost,
            Self::Unverified => words.unverified,
            Self::NoMember => words.no_member,
            Self::Missing => words.missing,
            Self::Failed(_) => words.unavailable,
        }
    }

    /// Writes it down, once and without a secret.
    pub(super) fn log(&self, request_id: Uuid) {
        let refused = |reason: &str, organization: Option<Uuid>| {
            let organization = organization.map(tracing::field::display);
            tracing::info!(%request_id, organization, reason, "not signed in");
        };
        match self {
            Self::ForeignForm => refused("the form is none that this browser was given", None),
            Self::UsedLink => refused("the ticket was used, has ended or never was", None),
            Self::Barred(barred, organization) => refused(barred.reason(), *organization),
            Self::ProviderRefused(error) => refused(&format!("the provider refused: {}", word(error)), None),
            Self::ProviderLost(what) => refused(what, None),
            Self::Disbelieved(cause) => tracing::warn!(%request_id, reason = "the ID token is not to be believed", cause, "not signed in"),
            Self::Unverified => refused("the provider vouches for no mail address", None),
            Self::NoMember => refused("nobody is a member by that mail address", None),
            Self::ProviderDown(cause) => tracing::warn!(%request_id, cause, "the sign-in provider is not available"),
            Self::Missing => {}
            Self::Failed(error) => {
                let cause = error.cause().unwrap_or_default();
                if error.kind() == Kind::Internal {
                    tracing::error!(%request_id, cause, "failed");
                } else {
                    tracing::warn!(%request_id, cause, "not available");
                }
            }
        }
    }
}

/// A word of somebody else's as the log repeats it: nothing that could be taken for something else.
fn word(text: &str) -> String {
    text.chars().filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')).take(LONGEST_WORD).collect()
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}
