//! The texts of the pages for members, in one table per language. The compiler ensures that no
//! table lacks a text.

use engine::format::ENGLISH;

/// The languages that have a table.
pub const LANGUAGES: [&str; 3] = [ENGLISH, "es", "fr"];

/// A message: a heading, with its meaning or the next action.
pub type SignInNotice = (&'static str, &'static str);

/// The texts of the pages in one language.
#[derive(Debug)]
pub struct SignInWords {
    /// The button to sign in, and the title of its page.
    pub sign_in: &'static str,
    /// The button to sign out.
    pub sign_out: &'static str,
    /// The label before the name of the signed-in member.
    pub signed_in_as: &'static str,
    /// The label of the organization.
    pub organization: &'static str,
    /// The label of the member's name.
    pub name: &'static str,
    /// The label of the member's mail address.
    pub email: &'static str,
    /// On the page of a ticket, the text above the member.
    pub about_to: &'static str,
    /// On the page of a ticket, the text for anybody else.
    pub not_you: &'static str,
    /// The choice of an organization.
    pub choose: SignInNotice,
    /// The offer of the organization's provider.
    pub with_provider: &'static str,
    /// The link to the provider.
    pub to_provider: &'static str,
    /// The explanation for a visitor without any way to sign in on this page.
    pub by_link: &'static str,
    /// The title for a signed-in member.
    pub signed_in: &'static str,
    /// The link to the page that the visitor wanted.
    pub go_on: &'static str,
    /// The message after a sign-out.
    pub signed_out: SignInNotice,
    /// The question whether to sign out.
    pub sign_out_now: SignInNotice,
    /// The link to the sign-in page.
    pub to_sign_in: &'static str,
    /// A form that does not come from this server, or belongs to another session.
    pub foreign_form: SignInNotice,
    /// A link that is used, expired or unknown.
    pub used_link: SignInNotice,
    /// A set-up link that is expired or unknown, or that is no longer needed.
    pub used_setup_link: SignInNotice,
    /// The page that sets up the first organization.
    pub setup: SetupWords,
    /// A member who is not active.
    pub inactive: SignInNotice,
    /// A member without the second factor that their organization requires.
    pub two_factor: SignInNotice,
    /// A provider that does not answer, or whose answer is not trustworthy.
    pub provider_down: SignInNotice,
    /// A provider that refused the sign-in.
    pub provider_refused: SignInNotice,
    /// A sign-in at the provider that this browser did not begin, or began too long ago.
    pub provider_lost: SignInNotice,
    /// A mail address that the provider has not verified.
    pub unverified: SignInNotice,
    /// A person who is no member.
    pub no_member: SignInNotice,
    /// An unknown address.
    pub missing: SignInNotice,
    /// A temporary failure of this server.
    pub unavailable: SignInNotice,
}

/// The texts of the page that sets up the first organization.
#[derive(Debug)]
pub struct SetupWords {
    /// The title of the page, and its first sentence.
    pub title: SignInNotice,
    /// The headings of the two parts of the form.
    pub parts: [&'static str; 2],
    /// The label and the hint of each field.
    pub organization: SignInNotice,
    pub country: SignInNotice,
    pub timezone: SignInNotice,
    pub languages: SignInNotice,
    pub name: SignInNotice,
    pub email: SignInNotice,
    /// The button.
    pub create: &'static str,
    /// The heading above the errors.
    pub problems: &'static str,
    /// The errors: an empty field, no country, no time zone, no mail address, a text that is too
    /// long.
    pub required: &'static str,
    pub no_country: &'static str,
    pub no_timezone: &'static str,
    pub no_email: &'static str,
    pub too_long: &'static str,
}

/// Returns the texts in a language, or in English if there are none.
#[must_use]
pub fn of(language: &str) -> &'static SignInWords {
    match language {
        "es" => &SPANISH,
        "fr" => &FRENCH,
        _ => &IN_ENGLISH,
    }
}

static IN_ENGLISH: SignInWords = SignInWords {
    sign_in: "Sign in",
    sign_out: "Sign out",
    signed_in_as: "Signed in as",
    organization: "Organization",
    name: "Name",
    email: "Email",
    about_to: "You are about to sign in to this account:",
    not_you: "If this is not you, close this page. Nothing happens unless you press the button.",
    choose: (
        "Choose an organization",
        "You are a member of more than one. Which one would you like to sign in to?",
    ),
    with_provider: "Use your account with your organization.",
    to_provider: "Continue with your organization’s account",
    by_link: "There are no passwords here. To sign in, open the sign-in link in the software with which you manage your properties.",
    signed_in: "You are signed in",
    go_on: "Continue",
    signed_out: ("You are signed out", "You can close this page."),
    sign_out_now: ("Sign out?", "You will be signed out in this browser."),
    to_sign_in: "Go to sign-in",
    foreign_form: (
        "Please try again",
        "This page was open for too long, or its form did not come from here. Nothing has been changed.",
    ),
    used_link: (
        "This link no longer works",
        "A sign-in link works once, and for five minutes. Please ask for a new one.",
    ),
    used_setup_link: (
        "This set-up link no longer works",
        "A set-up link works for one hour, and until there is an organization. The command vestibule setup-link prints another.",
    ),
    setup: SetupWords {
        title: (
            "Set up Vestibule",
            "Your organization, and you as its first member. You can change all of it later.",
        ),
        parts: ["Organization", "You"],
        organization: ("Name", "As guests know it."),
        country: (
            "Country",
            "Two letters, such as ES. Phone numbers without a prefix are read as of this country.",
        ),
        timezone: ("Time zone", "That of your flats, such as Europe/Madrid."),
        languages: (
            "Languages",
            "The languages that your guests read. English is always included.",
        ),
        name: (
            "Your name",
            "Guests do not see it unless you write to them.",
        ),
        email: ("Your email address", ""),
        create: "Create and sign in",
        problems: "Please correct these fields",
        required: "is required",
        no_country: "must be two letters, such as ES",
        no_timezone: "must be a time zone, such as Europe/Madrid",
        no_email: "must be an email address",
        too_long: "is too long",
    },
    inactive: (
        "This account is switched off",
        "You cannot sign in with it at the moment. Please ask a person who manages your organization.",
    ),
    two_factor: (
        "Two-factor authentication is required",
        "Your organization requires it, and it is not set up for this account yet. Set it up, then sign in again.",
    ),
    provider_down: (
        "Sign-in is not available right now",
        "Your organization’s sign-in service did not answer as expected. Please try again in a moment.",
    ),
    provider_refused: (
        "You were not signed in",
        "Your organization’s sign-in service refused the sign-in. You can try again.",
    ),
    provider_lost: (
        "Please start again",
        "This sign-in took too long, or was started in another browser.",
    ),
    unverified: (
        "Your email address is not confirmed",
        "Your organization’s sign-in service has not confirmed it. Confirm it there, then sign in again.",
    ),
    no_member: (
        "No account here",
        "No member here has your email address. Please ask a person who manages your organization to add you.",
    ),
    missing: ("This page does not exist", "Please check the address."),
    unavailable: ("Not available right now", "Please try again in a moment."),
};

static SPANISH: SignInWords = SignInWords {
    sign_in: "Iniciar sesión",
    sign_out: "Cerrar sesión",
    signed_in_as: "Sesión iniciada como",
    organization: "Organización",
    name: "Nombre",
    email: "Correo electrónico",
    about_to: "Está a punto de iniciar sesión en esta cuenta:",
    not_you: "¿No es usted? Cierre esta página. No ocurre nada si no pulsa el botón.",
    choose: (
        "Elija una organización",
        "Es miembro de más de una. ¿En cuál quiere iniciar sesión?",
    ),
    with_provider: "Use la cuenta que tiene en su organización.",
    to_provider: "Continuar con la cuenta de su organización",
    by_link: "Aquí no hay contraseñas. Para entrar, abra el enlace de inicio de sesión en el programa con el que gestiona sus alojamientos.",
    signed_in: "Ha iniciado sesión",
    go_on: "Continuar",
    signed_out: ("Ha cerrado la sesión", "Ya puede cerrar esta página."),
    sign_out_now: ("¿Cerrar sesión?", "Se cerrará la sesión en este navegador."),
    to_sign_in: "Ir al inicio de sesión",
    foreign_form: (
        "Inténtelo de nuevo",
        "La página llevaba demasiado tiempo abierta o el formulario no venía de aquí. No se ha cambiado nada.",
    ),
    used_link: (
        "Este enlace ya no funciona",
        "Un enlace de inicio de sesión sirve una sola vez y durante cinco minutos. Pida uno nuevo.",
    ),
    used_setup_link: (
        "Este enlace de configuración ya no funciona",
        "Un enlace de configuración sirve durante una hora y mientras no haya ninguna organización. La orden vestibule setup-link muestra otro.",
    ),
    setup: SetupWords {
        title: (
            "Configurar Vestibule",
            "Su organización, y usted como primer miembro. Podrá cambiarlo todo más tarde.",
        ),
        parts: ["Organización", "Usted"],
        organization: ("Nombre", "Como lo conocen los huéspedes."),
        country: (
            "País",
            "Dos letras, como ES. Los teléfonos sin prefijo se leen como de este país.",
        ),
        timezone: (
            "Zona horaria",
            "La de sus alojamientos, como Europe/Madrid.",
        ),
        languages: (
            "Idiomas",
            "Los idiomas que leen sus huéspedes. El inglés siempre está incluido.",
        ),
        name: (
            "Su nombre",
            "Los huéspedes no lo ven salvo que usted les escriba.",
        ),
        email: ("Su correo electrónico", ""),
        create: "Crear e iniciar sesión",
        problems: "Corrija estos campos",
        required: "es obligatorio",
        no_country: "tiene que ser dos letras, como ES",
        no_timezone: "tiene que ser una zona horaria, como Europe/Madrid",
        no_email: "tiene que ser un correo electrónico",
        too_long: "es demasiado largo",
    },
    inactive: (
        "Esta cuenta está desactivada",
        "Por ahora no puede iniciar sesión con ella. Consulte a quien administra su organización.",
    ),
    two_factor: (
        "Hace falta la verificación en dos pasos",
        "Su organización la exige y esta cuenta aún no la tiene. Actívela y vuelva a iniciar sesión.",
    ),
    provider_down: (
        "Ahora no se puede iniciar sesión",
        "El servicio de acceso de su organización no ha respondido como debería. Inténtelo de nuevo dentro de un momento.",
    ),
    provider_refused: (
        "No se ha iniciado sesión",
        "El servicio de acceso de su organización no le ha dejado entrar. Puede intentarlo de nuevo.",
    ),
    provider_lost: (
        "Empiece de nuevo",
        "El inicio de sesión ha tardado demasiado o se empezó en otro navegador.",
    ),
    unverified: (
        "Su correo electrónico no está confirmado",
        "El servicio de acceso de su organización no lo ha confirmado. Confírmelo allí y vuelva a iniciar sesión.",
    ),
    no_member: (
        "Aquí no hay ninguna cuenta suya",
        "No hay ningún miembro con su correo electrónico. Pida a quien administra su organización que le añada.",
    ),
    missing: ("Esta página no existe", "Compruebe la dirección."),
    unavailable: (
        "No disponible por ahora",
        "Inténtelo de nuevo dentro de un momento.",
    ),
};

static FRENCH: SignInWords = SignInWords {
    sign_in: "Se connecter",
    sign_out: "Se déconnecter",
    signed_in_as: "Session de",
    organization: "Organisation",
    name: "Nom",
    email: "Adresse e-mail",
    about_to: "Vous allez vous connecter à ce compte :",
    not_you: "Ce n’est pas vous ? Fermez cette page. Rien ne se passe tant que vous n’appuyez pas sur le bouton.",
    choose: (
        "Choisissez une organisation",
        "Vous êtes membre de plusieurs organisations. À laquelle voulez-vous vous connecter ?",
    ),
    with_provider: "Utilisez le compte que vous avez dans votre organisation.",
    to_provider: "Continuer avec le compte de votre organisation",
    by_link: "Il n’y a pas de mot de passe ici. Pour entrer, ouvrez le lien de connexion dans le logiciel avec lequel vous gérez vos logements.",
    signed_in: "Votre session est ouverte",
    go_on: "Continuer",
    signed_out: ("Votre session est fermée", "Vous pouvez fermer cette page."),
    sign_out_now: (
        "Se déconnecter ?",
        "Votre session sera fermée dans ce navigateur.",
    ),
    to_sign_in: "Aller à la connexion",
    foreign_form: (
        "Veuillez réessayer",
        "Cette page est restée ouverte trop longtemps, ou son formulaire ne venait pas d’ici. Rien n’a été modifié.",
    ),
    used_link: (
        "Ce lien ne fonctionne plus",
        "Un lien de connexion sert une seule fois et pendant cinq minutes. Demandez-en un nouveau.",
    ),
    used_setup_link: (
        "Ce lien de configuration ne fonctionne plus",
        "Un lien de configuration fonctionne pendant une heure, et tant qu’il n’y a pas d’organisation. La commande vestibule setup-link en affiche un autre.",
    ),
    setup: SetupWords {
        title: (
            "Configurer Vestibule",
            "Votre organisation, et vous comme premier membre. Vous pourrez tout modifier plus tard.",
        ),
        parts: ["Organisation", "Vous"],
        organization: ("Nom", "Tel que les voyageurs le connaissent."),
        country: (
            "Pays",
            "Deux lettres, comme FR. Les numéros sans indicatif sont lus comme étant de ce pays.",
        ),
        timezone: (
            "Fuseau horaire",
            "Celui de vos logements, comme Europe/Paris.",
        ),
        languages: (
            "Langues",
            "Les langues que lisent vos voyageurs. L’anglais est toujours inclus.",
        ),
        name: (
            "Votre nom",
            "Les voyageurs ne le voient pas, sauf si vous leur écrivez.",
        ),
        email: ("Votre adresse e-mail", ""),
        create: "Créer et se connecter",
        problems: "Veuillez corriger ces champs",
        required: "est obligatoire",
        no_country: "doit être deux lettres, comme FR",
        no_timezone: "doit être un fuseau horaire, comme Europe/Paris",
        no_email: "doit être une adresse e-mail",
        too_long: "est trop long",
    },
    inactive: (
        "Ce compte est désactivé",
        "Vous ne pouvez pas l’utiliser pour le moment. Adressez-vous à la personne qui gère votre organisation.",
    ),
    two_factor: (
        "L’authentification à deux facteurs est requise",
        "Votre organisation l’exige et elle n’est pas encore activée pour ce compte. Activez-la, puis reconnectez-vous.",
    ),
    provider_down: (
        "La connexion est indisponible pour le moment",
        "Le service de connexion de votre organisation n’a pas répondu comme prévu. Réessayez dans un instant.",
    ),
    provider_refused: (
        "La connexion n’a pas abouti",
        "Le service de connexion de votre organisation ne vous a pas laissé entrer. Vous pouvez réessayer.",
    ),
    provider_lost: (
        "Veuillez recommencer",
        "Cette connexion a pris trop de temps, ou a été commencée dans un autre navigateur.",
    ),
    unverified: (
        "Votre adresse e-mail n’est pas confirmée",
        "Le service de connexion de votre organisation ne l’a pas confirmée. Confirmez-la là-bas, puis reconnectez-vous.",
    ),
    no_member: (
        "Aucun compte ici",
        "Personne n’est membre ici avec votre adresse e-mail. Demandez à la personne qui gère votre organisation de vous ajouter.",
    ),
    missing: ("Cette page n’existe pas", "Vérifiez l’adresse."),
    unavailable: ("Indisponible pour le moment", "Réessayez dans un instant."),
};
