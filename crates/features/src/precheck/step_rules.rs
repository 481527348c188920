//! Values that follow from the fields of a step. Examples are the way of signing the agreement,
//! whether another system carries the step out, and the linked records and texts.

use uuid::Uuid;

use super::step::{AgreementType, Step};
use super::step_type::StepProvider;

impl Step {
    /// Returns the translations that a step links, each with the name of its field. Translations
    /// that the step's questions link are not included.
    #[must_use]
    pub fn linked_texts(&self) -> [(&'static str, Option<Uuid>); 9] {
        let Self {
            charges, agreement, ..
        } = self;
        [
            ("displayTitleMlTextId", self.display_title_ml_text_id),
            (
                "damageDepositSubtitleMlTextId",
                charges.damage_deposit_subtitle_ml_text_id,
            ),
            (
                "securityDepositSubtitleMlTextId",
                charges.security_deposit_subtitle_ml_text_id,
            ),
            (
                "contractTemplateTextMlTextId",
                agreement.contract_template_text_ml_text_id,
            ),
            ("esignATitleMlTextId", agreement.esign_a_title_ml_text_id),
            (
                "esignASubtitleMlTextId",
                agreement.esign_a_subtitle_ml_text_id,
            ),
            (
                "esignBHeadingMlTextId",
                agreement.esign_b_heading_ml_text_id,
            ),
            (
                "esignBSubtitleMlTextId",
                agreement.esign_b_subtitle_ml_text_id,
            ),
            (
                "guestDescriptionMlTextId",
                self.write_only.guest_description_ml_text_id,
            ),
        ]
    }

    /// Returns whether the guest must sign the agreement (rules: pre-check-in#agreements).
    #[must_use]
    pub fn is_signature_required(&self) -> bool {
        self.step_type.takes_agreement() && self.agreement.is_mandatory_signing
    }

    /// Returns how the agreement is signed: by the step's `agreementType`, or else at the
    /// e-signature provider for which the step has a template. If the step has templates of both
    /// providers, the provider is `esign_a`.
    #[must_use]
    pub fn effective_agreement_type(&self) -> AgreementType {
        let agreement = &self.agreement;
        match agreement.agreement_type {
            Some(agreement_type) => agreement_type,
            None if agreement.esign_a_template_id.is_some() => AgreementType::EsignA,
            None if agreement.esign_b_template_id.is_some() => AgreementType::EsignB,
            None => AgreementType::Text,
        }
    }

    /// Returns whether an e-signature provider carries out the agreement and reports its status.
    /// The step can have a contract text as well.
    #[must_use]
    pub fn is_electronic_agreement(&self) -> bool {
        let agreement_type = self.effective_agreement_type();
        self.step_type.can_be_signed_elsewhere()
            && matches!(
                agreement_type,
                AgreementType::EsignA | AgreementType::EsignB
            )
    }

    /// Returns whether the guest signs on the site of an e-signature provider: the provider carries
    /// out the agreement, and the step has no contract text.
    #[must_use]
    pub fn is_signed_elsewhere(&self) -> bool {
        let has_written_text = || {
            let text = self.write_only.contract_template_text.as_deref();
            text.is_some_and(|text| !engine::typed::is_blank(text))
        };
        self.is_electronic_agreement()
            && self.agreement.contract_template_text_ml_text_id.is_none()
            && !has_written_text()
    }

    /// Returns the ids of the texts above the agreement: its title and its subtitle.
    #[must_use]
    pub fn agreement_heading(&self) -> [Option<Uuid>; 2] {
        let agreement = &self.agreement;
        match self.effective_agreement_type() {
            _ if !self.step_type.can_be_signed_elsewhere() => [None, None],
            AgreementType::EsignA => [
                agreement.esign_a_title_ml_text_id,
                agreement.esign_a_subtitle_ml_text_id,
            ],
            AgreementType::EsignB => [
                agreement.esign_b_heading_ml_text_id,
                agreement.esign_b_subtitle_ml_text_id,
            ],
            AgreementType::Template | AgreementType::Text => [None, None],
        }
    }

    /// Returns the document types that a guest must upload. The list is empty if guests upload no
    /// files in the step.
    #[must_use]
    pub fn required_documents(&self) -> &[String] {
        if self.step_type.takes_files() {
            self.write_only
                .required_document_types
                .as_deref()
                .unwrap_or_default()
        } else {
            &[]
        }
    }

    /// Returns whether another system carries out the step and reports its status (rules:
    /// pre-check-in#other-systems).
    #[must_use]
    pub fn is_carried_out_elsewhere(&self) -> bool {
        match self.step_type.step_provider() {
            StepProvider::AnotherSystem
            | StepProvider::IdentityCheck
            | StepProvider::BackgroundCheck => true,
            StepProvider::ServiceOrSignatureProvider => self.is_electronic_agreement(),
            StepProvider::Service => false,
        }
    }

    /// Returns the ids of the payment accounts for the step's damage waivers, its deposit and its
    /// fees. An id is `None` if the step names no account for that purpose.
    #[must_use]
    pub fn payment_accounts(&self) -> [Option<Uuid>; 3] {
        let Self {
            charges,
            write_only,
            ..
        } = self;
        [
            charges.damage_waiver_payment_account_id,
            charges.security_deposit_payment_account_id,
            write_only.fees_payment_account_id,
        ]
    }
}

#[cfg(test)]
mod tests {
    use engine::moment::Moment;

    use super::super::step_type::StepType;
    use super::*;

    #[test]
    fn an_agreement_without_a_type_is_given_as_its_template_says() {
        use AgreementType::{EsignA, EsignB, Template, Text};
        let now = Moment("2026-11-21T09:30:00Z".parse().unwrap());
        let (one, other) = (Some("a-1".to_owned()), Some("b-1".to_owned()));
        for (chosen, first, second, expected) in [
            (None, &None, &None, Text),
            (None, &one, &other, EsignA),
            (None, &None, &other, EsignB),
            (Some(Text), &one, &other, Text),
            (Some(Template), &one, &None, Template),
            (Some(EsignB), &one, &None, EsignB),
        ] {
            let mut step = Step::new(Uuid::nil(), StepType::Agreement, "Rules".into(), now);
            step.agreement.agreement_type = chosen;
            step.agreement.esign_a_template_id.clone_from(first);
            step.agreement.esign_b_template_id.clone_from(second);
            let is_electronic = matches!(expected, EsignA | EsignB);
            assert_eq!(step.effective_agreement_type(), expected);
            assert_eq!(step.is_electronic_agreement(), is_electronic);
            assert_eq!(step.is_signed_elsewhere(), is_electronic);
            step.write_only.contract_template_text = Some(" ".into());
            assert_eq!(step.is_signed_elsewhere(), is_electronic);
            step.write_only.contract_template_text = Some("No parties.".into());
            assert!(!step.is_signed_elsewhere());
            step.step_type = StepType::Main;
            assert!(!step.is_electronic_agreement() && !step.is_carried_out_elsewhere());
        }
    }
}
