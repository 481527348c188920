//! What was shown when an agreement was accepted, for whoever has to prove it later (contract: Steps that are really done).
//!
//! The server notes it beside the answers, where no guest can write it.

use std::fmt::Write as _;

use engine::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::precheckin::agreement_text;
use super::setup::Setup;
use crate::precheck::Step;

/// When an agreement was accepted, and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acceptance {
    /// When the guest accepted.
    pub accepted_at: Moment,
    /// SHA-256 of the text as UTF-8, in hexadecimal digits; null where the text is kept elsewhere and none was shown.
    #[serde(default)]
    pub text_sha256: Option<String>,
    /// The language of the text; null where none was shown.
    #[serde(default)]
    pub language: Option<String>,
}

impl Acceptance {
    /// What a guest accepts now. A text that is the same in every language counts as one in that of the guest.
    pub(super) fn of(step: &Step, setup: &Setup, accepted_at: Moment) -> Self {
        let text = agreement_text(step, &setup.texts);
        let linked = step.agreement.contract_template_text_ml_text_id.and_then(|id| setup.texts.language_of(id));
        let language = text.as_ref().map(|_| linked.unwrap_or(&setup.language).to_owned());
        Self { accepted_at, text_sha256: text.as_deref().map(fingerprint), language }
    }
}

/// The SHA-256 of a text, in hexadecimal digits.
fn fingerprint(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_what_anybody_computes() {
        assert_eq!(fingerprint(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(fingerprint("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
