//! Proof of an accepted agreement: when it was accepted, and which text was shown (rules:
//! pre-check-in#agreements).
//!
//! The server stores the proof beside the answers, where a guest cannot write it. Each accepted
//! text is stored once, so staff see an acceptance with the text that was accepted, not with
//! today's text.

use std::fmt::Write as _;

use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::placeholders::{self, TextPlacement, Values};
use super::setup::GuestSetup;
use super::stay::Stay;
use super::step_view::{agreement_text, agreement_text_id};
use crate::precheck::Step;
use crate::translations::{self, has_placeholders};

store::statements! {
    /// Stores a text that a guest accepted.
    KEEP_TEXT = "insert into accepted_text (organization_id, sha256, text) values (?1, ?2, ?3)
        on conflict do nothing";
}

/// The key of the error for an agreement whose current text is not the text that the guest read.
pub const TEXT_CHANGED: &str = "agreement.text_changed";

/// Time and text of an accepted agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acceptance {
    /// Acceptance time.
    pub accepted_at: Moment,
    /// SHA-256 of the text as UTF-8, in hexadecimal digits; null if no text was shown, because only
    /// an e-signature provider has the text.
    #[serde(default)]
    pub text_sha256: Option<String>,
    /// The language of the text; null if no text was shown.
    #[serde(default)]
    pub language: Option<String>,
}

/// The acceptance of an agreement as it is stored: the proof of acceptance, and the language of the
/// values that were filled into the text, such as dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredAcceptance {
    #[serde(flatten)]
    pub proof: Acceptance,
    /// The language of the values that were filled into the text, such as dates. `None`: the
    /// language of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_language: Option<String>,
}

/// An accepted agreement, with the text that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceView {
    /// Acceptance time.
    pub accepted_at: Moment,
    /// Language of the text; null if no text was shown.
    pub language: Option<String>,
    /// SHA-256 of the text as UTF-8, in hexadecimal digits; null if no text was shown.
    pub text_sha256: Option<String>,
    /// Name that the guest typed as signature; null without a signature.
    pub signed_name: Option<String>,
    /// Accepted text; null if no text was shown.
    pub text: Option<String>,
    /// Whether the current text of the agreement, in the same language, equals the accepted text.
    pub is_current: bool,
}

impl StoredAcceptance {
    /// Builds the proof that a guest accepts a step's agreement at `accepted_at`. If the language
    /// of the agreement's text is unknown, the proof names the language of the guest.
    pub(super) fn of(step: &Step, setup: &GuestSetup, accepted_at: Moment) -> Self {
        let text = agreement_text(step, &setup.texts);
        let linked = step
            .agreement
            .contract_template_text_ml_text_id
            .and_then(|id| setup.texts.language_of(id));
        let language = text
            .as_ref()
            .map(|_| linked.unwrap_or(&setup.language).to_owned());
        let values_language = Some(&setup.language).filter(|values| {
            language
                .as_ref()
                .is_some_and(|language| language != *values)
        });
        Self {
            values_language: values_language.cloned(),
            proof: Acceptance {
                accepted_at,
                text_sha256: text.as_deref().map(text_hash),
                language,
            },
        }
    }

    /// Fails with 409 if the agreement's text has changed since the guest read it. `read_hash` is
    /// the hash of the text that the guest read. If it is `None`, the texts are not compared.
    pub(super) fn require_shown(&self, read_hash: Option<&str>) -> Result<()> {
        match read_hash {
            Some(read_hash) if self.proof.text_sha256.as_deref() != Some(read_hash) => {
                Err(Error::conflict(Reason::rule(
                    "text_changed",
                    "The text of the agreement has changed since it was shown. Read it again.",
                ))
                .with_key(TEXT_CHANGED))
            }
            _ => Ok(()),
        }
    }

    /// Stores the accepted text under its hash, unless the organization has a text with this hash
    /// already.
    pub(super) fn keep_text(
        &self,
        context: &mut Context<'_, '_>,
        text: Option<&str>,
    ) -> Result<()> {
        match (&self.proof.text_sha256, text) {
            (Some(hash), Some(text)) => {
                context.execute_deferred(&KEEP_TEXT, values![hash.as_str(), text])
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the agreement still has the text that the guest accepted. For the comparison,
/// this function writes the current text in the language of the accepted text, and values such as
/// dates in the language of the page on which the guest accepted. In other languages, an unchanged
/// agreement would look changed.
pub(super) fn is_current(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    (step, setup): (&Step, &GuestSetup),
    accepted: &StoredAcceptance,
) -> Result<bool> {
    let language = accepted.proof.language.as_deref();
    let linked = agreement_text_id(step);
    let is_language = match (linked, language) {
        (Some(id), Some(language)) => setup.texts.language_of(id) == Some(language),
        _ => true,
    };
    let values_language = accepted.values_language.as_deref().or(language);
    let is_in_setup_language = is_language
        && values_language.is_none_or(|values_language| setup.language == values_language);
    let text = match (language, values_language) {
        (Some(language), Some(values_language)) if !is_in_setup_language => {
            written_in(context, stay, (step, setup), (language, values_language))?
        }
        _ => agreement_text(step, &setup.texts),
    };
    Ok(text.as_deref().map(text_hash) == accepted.proof.text_sha256)
}

/// Returns the current text of an agreement in `language`, with filled placeholders. Values such as
/// dates are in `values_language`. Returns `None` if the agreement has no text, or if a placeholder
/// has no value.
fn written_in(
    context: &mut Context<'_, '_>,
    stay: &Stay,
    (step, setup): (&Step, &GuestSetup),
    (language, values_language): (&str, &str),
) -> Result<Option<String>> {
    let source = setup.source();
    let original = source
        .steps
        .iter()
        .find(|candidate| candidate.id == step.id);
    let step = original.map_or(step, AsRef::as_ref);
    let texts = match agreement_text_id(step) {
        Some(id) => Some(translations::texts(context, [id], language)?),
        None => None,
    };
    let Some(text) = agreement_text(step, texts.as_ref().unwrap_or(&source.texts)) else {
        return Ok(None);
    };
    if !has_placeholders(&text) {
        return Ok(Some(text));
    }
    let flat = placeholders::flat_id(stay.flat.as_deref());
    let custom = placeholders::custom_values(context, flat, std::iter::once(text.as_str()))?;
    let values = Values::of(stay, &custom, values_language, false);
    Ok(values.plain(&text, TextPlacement::Elsewhere).ok())
}

/// Returns the SHA-256 of a text, in hexadecimal digits.
#[must_use]
pub fn text_hash(text: &str) -> String {
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
            text_hash(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            text_hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
