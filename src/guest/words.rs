//! The built-in texts guests read where an organization has written none of its own.

use crate::precheck::{StepType, YesNo};

/// A text in the languages the product speaks by itself.
struct Builtin {
    en: &'static str,
    es: &'static str,
    fr: &'static str,
}

impl Builtin {
    /// The text in a guest's language, English where it is none of these.
    fn in_language(&self, language: &str) -> &'static str {
        match language.split('-').next() {
            Some("es") => self.es,
            Some("fr") => self.fr,
            _ => self.en,
        }
    }
}

const PRECHECKIN_PROMPT: Builtin = Builtin {
    en: "Please complete your pre-check-in before you arrive.",
    es: "Completa tu pre-check-in antes de llegar.",
    fr: "Merci de compléter votre pré-enregistrement avant votre arrivée.",
};

/// The prompt of a portal that has none of its own.
#[must_use]
pub fn precheckin_prompt(language: &str) -> &'static str {
    PRECHECKIN_PROMPT.in_language(language)
}

/// What a guest is called who is made up for a preview.
#[must_use]
pub fn made_up_guest(language: &str) -> &'static str {
    Builtin { en: "Guest", es: "Huésped", fr: "Voyageur" }.in_language(language)
}

/// The built-in title of a step.
#[must_use]
pub fn step_title(step_type: StepType, language: &str) -> &'static str {
    let title = match step_type {
        StepType::YourDetails => Builtin { en: "Your details", es: "Tus datos", fr: "Vos coordonnées" },
        StepType::IdentityCheck => Builtin { en: "Verify your identity", es: "Verifica tu identidad", fr: "Vérifiez votre identité" },
        StepType::BackgroundCheck => {
            Builtin { en: "Background check", es: "Verificación de antecedentes", fr: "Vérification des antécédents" }
        }
        StepType::OtherGuests => Builtin { en: "Other guests", es: "Otros huéspedes", fr: "Autres voyageurs" },
        StepType::AuthorityReporting => Builtin { en: "Guest registration", es: "Registro de viajeros", fr: "Déclaration des voyageurs" },
        StepType::AdditionalQuestions => Builtin { en: "A few questions", es: "Algunas preguntas", fr: "Quelques questions" },
        StepType::DocumentUpload => Builtin { en: "Upload documents", es: "Sube tus documentos", fr: "Envoyez vos documents" },
        StepType::Agreement => Builtin { en: "Rental agreement", es: "Contrato de alquiler", fr: "Contrat de location" },
        StepType::MandatoryFee => Builtin { en: "Mandatory fees", es: "Tasas obligatorias", fr: "Frais obligatoires" },
        StepType::DamageDeposit => Builtin { en: "Damage deposit", es: "Fianza", fr: "Dépôt de garantie" },
        StepType::ScreenAndProtect => Builtin { en: "Stay protection", es: "Protección de la estancia", fr: "Protection du séjour" },
        StepType::Main => Builtin { en: "Ready for check-in", es: "Listo para la entrada", fr: "Prêt pour l’arrivée" },
    };
    title.in_language(language)
}

/// What the options of a yes-or-no question are called.
#[must_use]
pub fn yes_or_no(answer: YesNo, language: &str) -> &'static str {
    let word = match answer {
        YesNo::Yes => Builtin { en: "Yes", es: "Sí", fr: "Oui" },
        YesNo::No => Builtin { en: "No", es: "No", fr: "Non" },
    };
    word.in_language(language)
}
