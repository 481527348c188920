//! The types of steps, and the ways in which they differ (rules: steps#fields).
//!
//! A type is declared once, in [`StepType::definition`]. Almost all other code uses the methods
//! below and matches exhaustively over their return values; `words` has texts for each type. If you
//! add a type or a value, the compiler reports each match that must handle it.

engine::stored_enum! {
    /// The type of a step.
    // The variants have the order in which the rules list the types (steps#fields, 1).
    #[derive(PartialOrd, Ord, Hash)]
    pub enum StepType {
        YourDetails,
        IdentityCheck,
        BackgroundCheck,
        OtherGuests,
        AuthorityReporting,
        AdditionalQuestions,
        DocumentUpload,
        Agreement,
        MandatoryFee,
        DamageDeposit,
        ScreenAndProtect,
        // A general step. The guest only confirms it (rules: steps#fields, 1).
        Main,
    }
}

/// The form of a guest's answers to a step. It decides how the answers are checked, and when they
/// complete the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// The guest only confirms the step, and any saved answer completes it.
    Confirmation,
    /// The details of the guest who booked.
    LeadGuest,
    /// The details of the other guests.
    OtherGuests,
    /// The answers to the questions of the step.
    Questions,
    /// The acceptance of a text.
    Agreement,
    /// The consent to a background check.
    Consent,
    /// The choice of a deposit, of a damage waiver, or of neither.
    DepositChoice,
}

/// The use of the files that a guest uploads in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    None,
    /// Files in addition to the answers. If the step requires types of documents, the uploaded
    /// files alone decide whether the step is complete. Otherwise the answers decide.
    Documents,
    /// Files that prove the guest's identity. The step is complete when the guest has uploaded at
    /// least one file, and one of each required document type. If the service has no file storage,
    /// any saved answer completes the step.
    Identity,
}

/// The system that carries a step out (rules: pre-check-in#other-systems).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepProvider {
    /// This service: the guest completes the step on the page.
    Service,
    /// This service, or else an e-signature provider. The agreement settings of the step decide
    /// which of the two carries the step out.
    ServiceOrSignatureProvider,
    /// The system of a provider that checks neither identity nor background, such as a payment
    /// provider. If the system reports a failure, the guest must act.
    AnotherSystem,
    /// A provider of identity checks. After a failure, the submission is flagged, or the guest is
    /// asked to repeat the check.
    IdentityCheck,
    /// A provider of background checks. The step waits for the provider's report, and a failed
    /// check flags the submission.
    BackgroundCheck,
}

/// The condition under which a step with manual review flags a submission (rules: steps#review).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewRule {
    /// The step cannot flag a submission.
    Never,
    /// The step flags every submission.
    Always,
    /// The submission is flagged if the guest has chosen an option that the step marks as flagged.
    /// If the step marks no option, every answer flags the submission.
    Questions,
}

/// The configuration without which an active step cannot work (rules: steps#activation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivationNeed {
    Nothing,
    ContractText,
    Questions,
    FeeProducts,
    BackgroundCheckAccount,
    /// An active payment account. A step can become active without it, but the list of steps then
    /// reports a configuration issue.
    PaymentAccount,
}

/// The kind of amounts that guests pay for steps of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostKind {
    None,
    /// The price of a damage waiver, or a security deposit.
    Deposit,
    /// The prices of fee products.
    Fees,
}

/// The declaration of a step type.
struct StepTypeDefinition {
    /// The number of the type's group in the automatic order. Steps of the same group are ordered
    /// by position.
    order: u8,
    answers: AnswerForm,
    files: FileUse,
    provider: StepProvider,
    review: ReviewRule,
    needs: ActivationNeed,
    costs: CostKind,
}

impl StepType {
    /// Returns the properties of this step type, such as its order and its provider.
    const fn definition(self) -> StepTypeDefinition {
        match self {
            Self::YourDetails => StepTypeDefinition {
                order: 0,
                answers: AnswerForm::LeadGuest,
                files: FileUse::None,
                provider: StepProvider::Service,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::IdentityCheck => StepTypeDefinition {
                order: 1,
                answers: AnswerForm::Confirmation,
                files: FileUse::Identity,
                provider: StepProvider::IdentityCheck,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::BackgroundCheck => StepTypeDefinition {
                order: 2,
                answers: AnswerForm::Consent,
                files: FileUse::None,
                provider: StepProvider::BackgroundCheck,
                review: ReviewRule::Never,
                needs: ActivationNeed::BackgroundCheckAccount,
                costs: CostKind::None,
            },
            Self::OtherGuests => StepTypeDefinition {
                order: 3,
                answers: AnswerForm::OtherGuests,
                files: FileUse::None,
                provider: StepProvider::Service,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::AuthorityReporting => StepTypeDefinition {
                order: 3,
                answers: AnswerForm::Confirmation,
                files: FileUse::None,
                provider: StepProvider::AnotherSystem,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::AdditionalQuestions => StepTypeDefinition {
                order: 4,
                answers: AnswerForm::Questions,
                files: FileUse::None,
                provider: StepProvider::Service,
                review: ReviewRule::Questions,
                needs: ActivationNeed::Questions,
                costs: CostKind::None,
            },
            Self::DocumentUpload => StepTypeDefinition {
                order: 5,
                answers: AnswerForm::Confirmation,
                files: FileUse::Documents,
                provider: StepProvider::Service,
                review: ReviewRule::Always,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::Agreement => StepTypeDefinition {
                order: 6,
                answers: AnswerForm::Agreement,
                files: FileUse::None,
                provider: StepProvider::ServiceOrSignatureProvider,
                review: ReviewRule::Never,
                needs: ActivationNeed::ContractText,
                costs: CostKind::None,
            },
            Self::MandatoryFee => StepTypeDefinition {
                order: 7,
                answers: AnswerForm::Confirmation,
                files: FileUse::None,
                provider: StepProvider::AnotherSystem,
                review: ReviewRule::Never,
                needs: ActivationNeed::FeeProducts,
                costs: CostKind::Fees,
            },
            Self::DamageDeposit => StepTypeDefinition {
                order: 8,
                answers: AnswerForm::DepositChoice,
                files: FileUse::None,
                provider: StepProvider::AnotherSystem,
                review: ReviewRule::Always,
                needs: ActivationNeed::PaymentAccount,
                costs: CostKind::Deposit,
            },
            Self::ScreenAndProtect => StepTypeDefinition {
                order: 8,
                answers: AnswerForm::Confirmation,
                files: FileUse::None,
                provider: StepProvider::AnotherSystem,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
            Self::Main => StepTypeDefinition {
                order: 9,
                answers: AnswerForm::Confirmation,
                files: FileUse::None,
                provider: StepProvider::Service,
                review: ReviewRule::Never,
                needs: ActivationNeed::Nothing,
                costs: CostKind::None,
            },
        }
    }

    /// Returns the number of the group that the type belongs to in the automatic order of steps
    /// (rules: steps#order).
    #[must_use]
    pub const fn order_group(self) -> u8 {
        self.definition().order
    }

    /// Returns the form of the guest's answers.
    #[must_use]
    pub const fn answer_form(self) -> AnswerForm {
        self.definition().answers
    }

    /// Returns whether the guest accepts an agreement in a step of this type.
    #[must_use]
    pub const fn takes_agreement(self) -> bool {
        match self.answer_form() {
            AnswerForm::Agreement => true,
            AnswerForm::Confirmation
            | AnswerForm::LeadGuest
            | AnswerForm::OtherGuests
            | AnswerForm::Questions
            | AnswerForm::Consent
            | AnswerForm::DepositChoice => false,
        }
    }

    /// Returns the files that the guest uploads.
    #[must_use]
    pub const fn file_use(self) -> FileUse {
        self.definition().files
    }

    /// Whether guests upload files for a step of this type.
    #[must_use]
    pub const fn takes_files(self) -> bool {
        match self.file_use() {
            FileUse::Documents | FileUse::Identity => true,
            FileUse::None => false,
        }
    }

    /// Returns the system that carries the step out.
    #[must_use]
    pub const fn step_provider(self) -> StepProvider {
        self.definition().provider
    }

    /// Whether another system carries out every step of this type. For an agreement, the settings
    /// of the step decide: [`super::Step::is_carried_out_elsewhere`].
    #[must_use]
    pub const fn is_carried_out_elsewhere(self) -> bool {
        match self.step_provider() {
            StepProvider::AnotherSystem
            | StepProvider::IdentityCheck
            | StepProvider::BackgroundCheck => true,
            StepProvider::Service | StepProvider::ServiceOrSignatureProvider => false,
        }
    }

    /// Returns whether an e-signature provider can carry out steps of this type.
    #[must_use]
    pub const fn can_be_signed_elsewhere(self) -> bool {
        match self.step_provider() {
            StepProvider::ServiceOrSignatureProvider => true,
            StepProvider::Service
            | StepProvider::AnotherSystem
            | StepProvider::IdentityCheck
            | StepProvider::BackgroundCheck => false,
        }
    }

    /// Returns whether a provider checks the identity of guests in a step of this type. The step's
    /// `identityFlagPolicy` decides the consequences.
    #[must_use]
    pub const fn checks_identity(self) -> bool {
        match self.step_provider() {
            StepProvider::IdentityCheck => true,
            StepProvider::Service
            | StepProvider::ServiceOrSignatureProvider
            | StepProvider::AnotherSystem
            | StepProvider::BackgroundCheck => false,
        }
    }

    /// Returns whether a provider checks the background of guests in a step of this type.
    #[must_use]
    pub const fn checks_background(self) -> bool {
        match self.step_provider() {
            StepProvider::BackgroundCheck => true,
            StepProvider::Service
            | StepProvider::ServiceOrSignatureProvider
            | StepProvider::AnotherSystem
            | StepProvider::IdentityCheck => false,
        }
    }

    /// Returns the condition under which a step of this type flags a submission, if manual review
    /// is switched on for the step.
    #[must_use]
    pub const fn review_rule(self) -> ReviewRule {
        self.definition().review
    }

    /// Returns whether a step of this type can flag a submission, so that the submission waits for
    /// staff review (rules: steps#review).
    #[must_use]
    pub const fn is_reviewable(self) -> bool {
        match self.review_rule() {
            ReviewRule::Always | ReviewRule::Questions => true,
            ReviewRule::Never => false,
        }
    }

    /// Returns the configuration that an active step must have.
    #[must_use]
    pub const fn activation_need(self) -> ActivationNeed {
        self.definition().needs
    }

    /// Returns the kind of costs that the guest pays for the step.
    #[must_use]
    pub const fn cost_kind(self) -> CostKind {
        self.definition().costs
    }
}

#[cfg(test)]
pub(super) mod tests {
    use strum::VariantArray as _;

    use super::*;

    /// The groups of step types in the automatic order of steps (rules: steps#order, 1).
    pub const GROUPS: [&[StepType]; 10] = [
        &[StepType::YourDetails],
        &[StepType::IdentityCheck],
        &[StepType::BackgroundCheck],
        &[StepType::OtherGuests, StepType::AuthorityReporting],
        &[StepType::AdditionalQuestions],
        &[StepType::DocumentUpload],
        &[StepType::Agreement],
        &[StepType::MandatoryFee],
        &[StepType::DamageDeposit, StepType::ScreenAndProtect],
        &[StepType::Main],
    ];

    #[test]
    fn every_step_type_parses_from_its_name() {
        for step_type in StepType::VARIANTS {
            assert_eq!(step_type.as_ref().parse(), Ok(*step_type));
            assert_eq!(serde_json::to_value(step_type).unwrap(), step_type.as_ref());
        }
    }

    #[test]
    fn every_step_type_has_one_group_of_the_automatic_order() {
        for (place, types) in GROUPS.iter().enumerate() {
            for step_type in *types {
                assert_eq!(usize::from(step_type.order_group()), place);
            }
        }
        assert_eq!(GROUPS.concat().len(), StepType::VARIANTS.len());
    }
}
