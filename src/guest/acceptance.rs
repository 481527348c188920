//! Proof of an accepted agreement: when it was accepted, and which text was shown (rules:
//! pre-check-in#agreements).
//!
//! The server stores the proof beside the answers, where no guest can write it. It keeps each
//! accepted text once, so that an acceptance is always shown with the text that it belongs to.

use std::fmt::Write as _;

use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::placeholders::{self, Place, Values};
use super::precheckin::{agreement_text, agreement_text_id};
use super::setup::Setup;
use super::stay::Stay;
use crate::precheck::Step;
use crate::translations;

store::statements! {
    /// Keeps a text that a guest accepted.
    KEEP_TEXT = "insert into accepted_text (organization_id, sha256, text) values (?1, ?2, ?3) on conflict do nothing";
}

/// The key of the refusal of an agreement whose text is not the one that the guest read.
pub const TEXT_CHANGED: &str = "agreement.text_changed";

/// Time and text of an accepted agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acceptance {
    /// Acceptance time.
    pub accepted_at: Moment,
    /// SHA-256 of the text as UTF-8, in hexadecimal digits; null where the text is kept elsewhere and
    /// none was shown.
    #[serde(default)]
    pub text_sha256: Option<String>,
    /// The language of the text; null where none was shown.
    #[serde(default)]
    pub language: Option<String>,
}

/// An accepted agreement, with the text that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceView {
    /// Acceptance time.
    pub accepted_at: Moment,
    /// Language of the text; null where none was shown.
    pub language: Option<String>,
    /// SHA-256 of the text as UTF-8, in hexadecimal digits; null where none was shown.
    pub text_sha256: Option<String>,
    /// Name that the guest typed as signature; null without one.
    pub signed_name: Option<String>,
    /// Accepted text; null where none was shown.
    pub text: Option<String>,
    /// Whether today's text in that language is the same.
    pub is_current: bool,
}

impl Acceptance {
    /// Builds the proof that a guest accepts a step's agreement now. A text that is the same in
    /// every language counts as a text in the guest's language.
    pub(super) fn of(step: &Step, setup: &Setup, accepted_at: Moment) -> Self {
        let text = agreement_text(step, &setup.texts);
        let linked = step
            .agreement
            .contract_template_text_ml_text_id
            .and_then(|id| setup.texts.language_of(id));
        let language = text
            .as_ref()
            .map(|_| linked.unwrap_or(&setup.language).to_owned());
        Self {
            accepted_at,
            text_sha256: text.as_deref().map(fingerprint),
            language,
        }
    }

    /// Fails with 409 where the guest read another text than the one that is accepted now. `shown`
    /// is the hash of the text that they read, if the sender says it.
    pub(super) fn require_shown(&self, shown: Option<&str>) -> Result<()> {
        match shown {
            Some(shown) if self.text_sha256.as_deref() != Some(shown) => {
                Err(Error::conflict(Reason::rule(
                    "text_changed",
                    "The text of the agreement has changed since it was shown. Read it again.",
                ))
                .with_key(TEXT_CHANGED))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the accepted text, once for each hash.
    pub(super) fn keep_text(
        &self,
        context: &mut Context<'_, '_>,
        text: Option<&str>,
    ) -> Result<()> {
        match (&self.text_sha256, text) {
            (Some(hash), Some(text)) => {
                context.execute_along(&KEEP_TEXT, values![hash.as_str(), text])
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether today's text of an agreement, in the language that was accepted, is the accepted
/// text.
pub(super) fn is_current(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    (step, setup): (&Step, &Setup),
    accepted: &Acceptance,
) -> Result<bool> {
    let linked = agreement_text_id(step);
    let other = match (linked, accepted.language.as_deref()) {
        (Some(id), Some(language)) if setup.texts.language_of(id) != Some(language) => {
            let texts = translations::texts(context, [id], language)?;
            let flat = placeholders::flat_id(stay.flat.as_deref());
            let custom = placeholders::custom_values(context, flat, texts.all())?;
            let values = Values::of(stay, &custom, language, false);
            Some(texts.filled(|text| values.plain(text, Place::Elsewhere).ok()))
        }
        _ => None,
    };
    let text = agreement_text(step, other.as_ref().unwrap_or(&setup.texts));
    Ok(text.as_deref().map(fingerprint) == accepted.text_sha256)
}

/// Returns the SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .fold(String::new(), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_hex_sha256_of_the_text() {
        assert_eq!(
            fingerprint(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            fingerprint("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
