//! The built-in texts guests read where an organization has written none of its own.

use super::form::{Form, Refused};
use crate::guest::PrecheckinStatus;
use crate::precheck::StepType;

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

/// The words of the guest page.
pub struct PageWords {
    /// Above the property's name.
    pub your_stay: &'static str,
    /// The first day.
    pub check_in: &'static str,
    /// The last.
    pub check_out: &'static str,
    /// Heading of the contact.
    pub contact: &'static str,
    /// Heading of the tiles.
    pub quick_access: &'static str,
    /// Shown where no portal is configured.
    pub nothing_yet: &'static str,
    /// Heading of pre-check-in.
    pub precheckin: &'static str,
    /// Heads what there is to read and has no heading, or no title, of its own.
    pub good_to_know: &'static str,
    /// Leads to the video of a manual.
    pub video: &'static str,
    /// What a stay that is cancelled says.
    pub cancelled: &'static str,
}

/// The page in a guest's language.
#[must_use]
pub fn page(language: &str) -> PageWords {
    let pick = |en, es, fr| Builtin { en, es, fr }.in_language(language);
    PageWords {
        your_stay: pick("Your stay", "Tu estancia", "Votre séjour"),
        check_in: pick("Check-in", "Entrada", "Arrivée"),
        check_out: pick("Check-out", "Salida", "Départ"),
        contact: pick("Contact us", "Contáctanos", "Nous contacter"),
        quick_access: pick("Quick access", "Acceso rápido", "Accès rapide"),
        nothing_yet: pick(
            "Your host has not set up this page yet.",
            "Tu anfitrión aún no ha preparado esta página.",
            "Votre hôte n’a pas encore préparé cette page.",
        ),
        precheckin: pick("Pre-check-in", "Pre-check-in", "Pré-enregistrement"),
        good_to_know: pick("Good to know", "Información útil", "Bon à savoir"),
        video: pick("Watch the video", "Ver el vídeo", "Voir la vidéo"),
        cancelled: pick("This stay has been cancelled.", "Esta estancia se ha cancelado.", "Ce séjour a été annulé."),
    }
}

/// The words of the forms on the guest page.
pub struct FormWords {
    /// Before the status.
    pub status: &'static str,
    /// The mark of a step that is done.
    pub done: &'static str,
    /// The mark of one that is not.
    pub to_do: &'static str,
    /// Behind what must be answered.
    pub required: &'static str,
    /// Where several options can be chosen.
    pub choose_any: &'static str,
    /// The option that answers nothing.
    pub no_answer: &'static str,
    /// Beside the box of an agreement.
    pub accept: &'static str,
    /// Where the page has no text of the agreement.
    pub agreement_elsewhere: &'static str,
    /// Labels of the guest's details.
    pub first_name: &'static str,
    pub last_name: &'static str,
    pub email: &'static str,
    pub phone: &'static str,
    /// Label of who else is staying.
    pub guests: &'static str,
    /// For a guest who travels alone.
    pub guests_hint: &'static str,
    /// Where what was saved is not shown again.
    pub saved_before: &'static str,
    /// After a step was saved that asks for more.
    pub more: &'static str,
    /// Saves a step.
    pub save: &'static str,
    /// Confirms what others carry out.
    pub confirm: &'static str,
    /// Submits.
    pub submit: &'static str,
    /// Why it cannot be submitted yet.
    pub submit_hint: &'static str,
    /// Heading of the message box.
    pub messages: &'static str,
    /// Label of the message.
    pub message: &'static str,
    /// Sends it.
    pub send: &'static str,
    /// After it was sent.
    pub sent: &'static str,
}

/// The forms in a guest's language.
#[must_use]
pub fn forms(language: &str) -> FormWords {
    let pick = |en, es, fr| Builtin { en, es, fr }.in_language(language);
    FormWords {
        status: pick("Status", "Estado", "Statut"),
        done: pick("Done", "Hecho", "Terminé"),
        to_do: pick("To do", "Pendiente", "À faire"),
        required: pick("required", "obligatorio", "obligatoire"),
        choose_any: pick(
            "Choose all that apply.",
            "Marca todas las opciones que correspondan.",
            "Cochez toutes les réponses qui conviennent.",
        ),
        no_answer: pick("No answer", "Sin respuesta", "Sans réponse"),
        accept: pick("I have read and accept this agreement.", "He leído y acepto este contrato.", "J’ai lu et j’accepte ce contrat."),
        agreement_elsewhere: pick(
            "Your host gives you the agreement separately. Please read it before you accept.",
            "Tu anfitrión te facilita el contrato por separado. Léelo antes de aceptarlo.",
            "Votre hôte vous remet le contrat séparément. Lisez-le avant de l’accepter.",
        ),
        first_name: pick("First name", "Nombre", "Prénom"),
        last_name: pick("Last name", "Apellidos", "Nom"),
        email: pick("Email", "Correo electrónico", "Adresse e-mail"),
        phone: pick("Phone", "Teléfono", "Téléphone"),
        guests: pick(
            "Names of everyone travelling with you, one per line",
            "Nombres de quienes viajan contigo, uno por línea",
            "Noms des personnes qui voyagent avec vous, un par ligne",
        ),
        guests_hint: pick(
            "If nobody is travelling with you, leave this empty and save.",
            "Si no viaja nadie contigo, deja este campo vacío y guarda.",
            "Si personne ne voyage avec vous, laissez ce champ vide et enregistrez.",
        ),
        saved_before: pick(
            "This has been saved. To change it, fill in the whole form again.",
            "Ya está guardado. Para cambiarlo, vuelve a rellenar todo el formulario.",
            "C’est enregistré. Pour le modifier, remplissez à nouveau tout le formulaire.",
        ),
        more: pick(
            "Saved. There is still something to fill in here.",
            "Guardado. Aún queda algo por completar aquí.",
            "C’est enregistré. Il reste encore quelque chose à compléter ici.",
        ),
        save: pick("Save", "Guardar", "Enregistrer"),
        confirm: pick("Confirm", "Confirmar", "Confirmer"),
        submit: pick("Submit pre-check-in", "Enviar el pre-check-in", "Envoyer le pré-enregistrement"),
        submit_hint: pick(
            "You can submit once every step above is done.",
            "Podrás enviarlo cuando hayas hecho todos los pasos anteriores.",
            "Vous pourrez l’envoyer une fois toutes les étapes ci-dessus terminées.",
        ),
        messages: pick("Message your host", "Escribe a tu anfitrión", "Écrire à votre hôte"),
        message: pick("Your message", "Tu mensaje", "Votre message"),
        send: pick("Send", "Enviar", "Envoyer"),
        sent: pick("Your message has been sent.", "Tu mensaje se ha enviado.", "Votre message a été envoyé."),
    }
}

/// Where a guest stands.
#[must_use]
pub fn status(status: PrecheckinStatus, language: &str) -> &'static str {
    let words = match status {
        PrecheckinStatus::NotStarted => Builtin { en: "Not started", es: "Sin empezar", fr: "Pas encore commencé" },
        PrecheckinStatus::InProgress => Builtin { en: "In progress", es: "En curso", fr: "En cours" },
        PrecheckinStatus::InReview => Builtin { en: "In review", es: "En revisión", fr: "En cours de vérification" },
        PrecheckinStatus::ChangesRequested => {
            Builtin { en: "Changes requested", es: "Cambios solicitados", fr: "Modifications demandées" }
        }
        PrecheckinStatus::Approved => Builtin { en: "Approved", es: "Aprobado", fr: "Approuvé" },
    };
    words.in_language(language)
}

/// What has become of what a guest handed in; nothing before.
#[must_use]
pub fn outcome(status: PrecheckinStatus, language: &str) -> Option<&'static str> {
    let words = match status {
        PrecheckinStatus::NotStarted | PrecheckinStatus::InProgress => return None,
        PrecheckinStatus::InReview => Builtin {
            en: "You have submitted your pre-check-in. Your host is reviewing it.",
            es: "Has enviado tu pre-check-in. Tu anfitrión lo está revisando.",
            fr: "Vous avez envoyé votre pré-enregistrement. Votre hôte est en train de le vérifier.",
        },
        PrecheckinStatus::ChangesRequested => Builtin {
            en: "Your host asks you to change something. Please look at the open steps and submit again.",
            es: "Tu anfitrión te pide que cambies algo. Revisa los pasos abiertos y vuelve a enviar tu pre-check-in.",
            fr: "Votre hôte vous demande une modification. Revoyez les étapes ouvertes, puis envoyez à nouveau.",
        },
        PrecheckinStatus::Approved => Builtin {
            en: "Your pre-check-in is complete. There is nothing left to do.",
            es: "Tu pre-check-in está completo. No te queda nada por hacer.",
            fr: "Votre pré-enregistrement est complet. Il ne vous reste plus rien à faire.",
        },
    };
    Some(words.in_language(language))
}

/// What happens in a step that the operator's own systems carry out.
#[must_use]
pub fn what_happens(step_type: StepType, language: &str) -> Option<&'static str> {
    let words = match step_type {
        StepType::YourDetails | StepType::OtherGuests | StepType::AdditionalQuestions | StepType::Agreement => return None,
        StepType::IdentityCheck => Builtin {
            en: "Your host checks who is staying, and will tell you how to show your identity document.",
            es: "Tu anfitrión comprueba quién se aloja y te indicará cómo mostrar tu documento de identidad.",
            fr: "Votre hôte vérifie l’identité des voyageurs et vous indiquera comment présenter votre pièce d’identité.",
        },
        StepType::BackgroundCheck => Builtin {
            en: "Your host has a background check carried out with the details of your booking.",
            es: "Tu anfitrión encarga una verificación de antecedentes con los datos de tu reserva.",
            fr: "Votre hôte fait effectuer une vérification des antécédents à partir des données de votre réservation.",
        },
        StepType::AuthorityReporting => Builtin {
            en: "Your host registers all guests with the authorities, as the law requires, and may ask you for the details needed.",
            es: "Tu anfitrión registra a los huéspedes ante las autoridades, como exige la ley, y puede pedirte los datos que hagan falta.",
            fr: "Votre hôte déclare les voyageurs aux autorités, comme la loi l’exige, et pourra vous demander des informations.",
        },
        StepType::DocumentUpload => Builtin {
            en: "Your host needs some documents from you, and will tell you how to send them.",
            es: "Tu anfitrión necesita algunos documentos y te indicará cómo enviarlos.",
            fr: "Votre hôte a besoin de certains documents et vous indiquera comment les envoyer.",
        },
        StepType::MandatoryFee => Builtin {
            en: "Mandatory fees apply to your stay. Your host collects them separately.",
            es: "Tu estancia incluye tasas obligatorias. Tu anfitrión las cobra por separado.",
            fr: "Des frais obligatoires s’appliquent à votre séjour. Votre hôte les encaisse séparément.",
        },
        StepType::DamageDeposit => Builtin {
            en: "Your host asks for a deposit, and will tell you how to pay it.",
            es: "Tu anfitrión pide una fianza y te indicará cómo abonarla.",
            fr: "Votre hôte demande un dépôt de garantie et vous indiquera comment le verser.",
        },
        StepType::ScreenAndProtect => Builtin {
            en: "A specialised service checks and protects your stay on behalf of your host.",
            es: "Un servicio especializado comprueba y protege tu estancia por encargo de tu anfitrión.",
            fr: "Un service spécialisé vérifie et protège votre séjour pour le compte de votre hôte.",
        },
        StepType::Main => Builtin {
            en: "Confirm that everything is ready for your arrival.",
            es: "Confirma que todo está listo para tu llegada.",
            fr: "Confirmez que tout est prêt pour votre arrivée.",
        },
    };
    Some(words.in_language(language))
}

/// What the page says of a form that was refused. The refusal's own message is for programs, and in English.
#[must_use]
pub fn refusal(refused: &Refused, is_submitted: bool, language: &str) -> &'static str {
    let words = match (refused.status, refused.form) {
        (400, Form::Message) if refused.is_full => Builtin {
            en: "You have sent as many messages as this page takes. Please contact your host in another way.",
            es: "Ya has enviado tantos mensajes como admite esta página. Contacta con tu anfitrión por otro medio.",
            fr: "Vous avez envoyé autant de messages que cette page en accepte. Contactez votre hôte par un autre moyen.",
        },
        (400, _) if refused.is_full => Builtin {
            en: "This is more than can be saved for your stay. Please shorten what you wrote.",
            es: "Es más de lo que se puede guardar para tu estancia. Acorta lo que has escrito.",
            fr: "C’est plus que ce qui peut être enregistré pour votre séjour. Raccourcissez ce que vous avez écrit.",
        },
        (429, _) => return busy(language),
        (400, Form::Message) => Builtin {
            en: "The message could not be sent. It must be neither empty nor too long.",
            es: "No se ha podido enviar el mensaje. No puede estar vacío ni ser demasiado largo.",
            fr: "Le message n’a pas pu être envoyé. Il ne doit être ni vide ni trop long.",
        },
        (400, _) => Builtin {
            en: "This could not be saved. Please check what you filled in and try again.",
            es: "No se ha podido guardar. Revisa lo que has rellenado e inténtalo de nuevo.",
            fr: "L’enregistrement n’a pas abouti. Vérifiez ce que vous avez saisi et réessayez.",
        },
        (403, Form::Message) => Builtin {
            en: "Your host does not take messages here.",
            es: "Tu anfitrión no recibe mensajes aquí.",
            fr: "Votre hôte ne reçoit pas de messages ici.",
        },
        (403, _) => Builtin {
            en: "Pre-check-in is not available at the moment.",
            es: "El pre-check-in no está disponible en este momento.",
            fr: "Le pré-enregistrement n’est pas disponible pour le moment.",
        },
        (404, _) => Builtin {
            en: "This step is no longer part of your pre-check-in.",
            es: "Este paso ya no forma parte de tu pre-check-in.",
            fr: "Cette étape ne fait plus partie de votre pré-enregistrement.",
        },
        (409, _) if is_submitted => Builtin {
            en: "Your pre-check-in has already been submitted.",
            es: "Tu pre-check-in ya se ha enviado.",
            fr: "Votre pré-enregistrement a déjà été envoyé.",
        },
        (409, _) => Builtin {
            en: "Some steps are not done yet.",
            es: "Todavía hay pasos sin hacer.",
            fr: "Certaines étapes ne sont pas encore terminées.",
        },
        _ => Builtin {
            en: "This did not work. Please try again in a moment.",
            es: "No ha funcionado. Inténtalo de nuevo dentro de un momento.",
            fr: "Cela n’a pas fonctionné. Réessayez dans un instant.",
        },
    };
    words.in_language(language)
}

/// What the page says where it has been asked for too often.
#[must_use]
pub fn busy(language: &str) -> &'static str {
    let words = Builtin {
        en: "This page has been asked for too often in a short time. Please wait a minute and try again.",
        es: "Se ha pedido esta página demasiadas veces en poco tiempo. Espera un minuto y vuelve a intentarlo.",
        fr: "Cette page a été demandée trop souvent en peu de temps. Merci de patienter une minute avant de réessayer.",
    };
    words.in_language(language)
}

/// What a tile is called.
#[must_use]
pub fn tile(tile: crate::portals::Tile, language: &str) -> &'static str {
    use crate::portals::Tile;
    let words = match tile {
        Tile::Uber => Builtin { en: "Order an Uber", es: "Pedir un Uber", fr: "Commander un Uber" },
        Tile::ReportAnIssue => Builtin { en: "Report an issue", es: "Informar de un problema", fr: "Signaler un problème" },
        Tile::FindParking => Builtin { en: "Find parking", es: "Buscar aparcamiento", fr: "Trouver un parking" },
        Tile::FindParkingJustpark => {
            Builtin { en: "Book parking with JustPark", es: "Reservar aparcamiento con JustPark", fr: "Réserver un parking avec JustPark" }
        }
        Tile::RentBabyGear => Builtin { en: "Rent baby gear", es: "Alquilar artículos de bebé", fr: "Louer du matériel pour bébé" },
    };
    words.in_language(language)
}
