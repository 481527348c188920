//! What the pages for members say, a table a language. None can lack a word: that would not compile.

use engine::format::ENGLISH;

/// The languages there are tables of.
pub const LANGUAGES: [&str; 3] = [ENGLISH, "es", "fr"];

/// What is said when something is not to be had: a heading, and what it means or what to do.
pub type Notice = (&'static str, &'static str);

/// What the pages say in one language.
#[derive(Debug)]
pub struct Words {
    /// The button that signs in, and the title of its page.
    pub sign_in: &'static str,
    /// The button that signs out.
    pub sign_out: &'static str,
    /// Before the name of who is signed in.
    pub signed_in_as: &'static str,
    /// What a member's organization is called.
    pub organization: &'static str,
    /// What their name is called.
    pub name: &'static str,
    /// What their mail address is called.
    pub email: &'static str,
    /// On the page of a ticket, above who it is for.
    pub about_to: &'static str,
    /// On the page of a ticket, for whoever it is not for.
    pub not_you: &'static str,
    /// Where there is a choice of organizations.
    pub choose: Notice,
    /// Where the organization's provider is offered.
    pub with_provider: &'static str,
    /// The way to the provider.
    pub to_provider: &'static str,
    /// How people come in, where there is nothing to offer.
    pub by_link: &'static str,
    /// That somebody is signed in.
    pub signed_in: &'static str,
    /// The way to where somebody wanted to go.
    pub go_on: &'static str,
    /// That nobody is signed in any more.
    pub signed_out: Notice,
    /// Whether to sign out.
    pub sign_out_now: Notice,
    /// The way to where people sign in.
    pub to_sign_in: &'static str,
    /// A form that is not one of ours, or of another session.
    pub foreign_form: Notice,
    /// A link that has been used, has ended or is unknown.
    pub used_link: Notice,
    /// A member who is not active.
    pub inactive: Notice,
    /// A member without the second factor that their organization asks for.
    pub two_factor: Notice,
    /// A provider that does not answer, or whose answer cannot be believed.
    pub provider_down: Notice,
    /// A provider that let nobody in.
    pub provider_refused: Notice,
    /// A sign-in at the provider that this browser did not begin, or began too long ago.
    pub provider_lost: Notice,
    /// Somebody whose address the provider does not vouch for.
    pub unverified: Notice,
    /// Somebody who is no member.
    pub no_member: Notice,
    /// An address that leads nowhere.
    pub missing: Notice,
    /// That something does not work at the moment.
    pub unavailable: Notice,
}

/// The words of a language; those of English where there are none.
#[must_use]
pub fn of(language: &str) -> &'static Words {
    match language {
        "es" => &SPANISH,
        "fr" => &FRENCH,
        _ => &IN_ENGLISH,
    }
}

static IN_ENGLISH: Words = Words {
    sign_in: "Sign in",
    sign_out: "Sign out",
    signed_in_as: "Signed in as",
    organization: "Organization",
    name: "Name",
    email: "Email",
    about_to: "You are about to sign in to this account:",
    not_you: "Is this not you? Then close this page. Nothing happens unless you press the button.",
    choose: ("Choose an organization", "You are a member of more than one. Which one would you like to sign in to?"),
    with_provider: "Use the account that you have with your organization.",
    to_provider: "Continue with your organization’s account",
    by_link: "There are no passwords here. To come in, open the sign-in link in the software that you manage your properties with.",
    signed_in: "You are signed in",
    go_on: "Continue",
    signed_out: ("You are signed out", "You can close this page."),
    sign_out_now: ("Sign out?", "You will be signed out in this browser."),
    to_sign_in: "Go to sign-in",
    foreign_form: ("Please try again", "This page was open for too long, or its form did not come from here. Nothing has been changed."),
    used_link: ("This link no longer works", "A sign-in link works once, and for five minutes. Please ask for a new one."),
    inactive: ("This account is switched off", "You cannot sign in with it at the moment. Please ask whoever manages your organization."),
    two_factor: (
        "Two-factor authentication is needed",
        "Your organization asks for it, and it is not set up for this account yet. Set it up, then sign in again.",
    ),
    provider_down: (
        "Sign-in is not available right now",
        "Your organization’s sign-in service did not answer as it should. Please try again in a moment.",
    ),
    provider_refused: ("You were not signed in", "Your organization’s sign-in service did not let you in. You can try again."),
    provider_lost: ("Please start again", "This sign-in took too long, or was begun in another browser."),
    unverified: (
        "Your email address is not confirmed",
        "Your organization’s sign-in service has not confirmed it. Confirm it there, then sign in again.",
    ),
    no_member: (
        "No account here",
        "Nobody is a member here with your email address. Please ask whoever manages your organization to add you.",
    ),
    missing: ("This page does not exist", "Please check the address."),
    unavailable: ("Not available right now", "Please try again in a moment."),
};

static SPANISH: Words = Words {
    sign_in: "Iniciar sesión",
    sign_out: "Cerrar sesión",
    signed_in_as: "Sesión iniciada como",
    organization: "Organización",
    name: "Nombre",
    email: "Correo electrónico",
    about_to: "Está a punto de iniciar sesión en esta cuenta:",
    not_you: "¿No es usted? Cierre esta página. No ocurre nada si no pulsa el botón.",
    choose: ("Elija una organización", "Es miembro de más de una. ¿En cuál quiere iniciar sesión?"),
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
    used_link: ("Este enlace ya no funciona", "Un enlace de inicio de sesión sirve una sola vez y durante cinco minutos. Pida uno nuevo."),
    inactive: ("Esta cuenta está desactivada", "Por ahora no puede iniciar sesión con ella. Consulte a quien administra su organización."),
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
    provider_lost: ("Empiece de nuevo", "El inicio de sesión ha tardado demasiado o se empezó en otro navegador."),
    unverified: (
        "Su correo electrónico no está confirmado",
        "El servicio de acceso de su organización no lo ha confirmado. Confírmelo allí y vuelva a iniciar sesión.",
    ),
    no_member: (
        "Aquí no hay ninguna cuenta suya",
        "No hay ningún miembro con su correo electrónico. Pida a quien administra su organización que le añada.",
    ),
    missing: ("Esta página no existe", "Compruebe la dirección."),
    unavailable: ("No disponible por ahora", "Inténtelo de nuevo dentro de un momento."),
};

static FRENCH: Words = Words {
    sign_in: "Se connecter",
    sign_out: "Se déconnecter",
    signed_in_as: "Session de",
    organization: "Organisation",
    name: "Nom",
    email: "Adresse e-mail",
    about_to: "Vous allez vous connecter à ce compte :",
    not_you: "Ce n’est pas vous ? Fermez cette page. Rien ne se passe tant que vous n’appuyez pas sur le bouton.",
    choose: ("Choisissez une organisation", "Vous êtes membre de plusieurs organisations. À laquelle voulez-vous vous connecter ?"),
    with_provider: "Utilisez le compte que vous avez dans votre organisation.",
    to_provider: "Continuer avec le compte de votre organisation",
    by_link: "Il n’y a pas de mot de passe ici. Pour entrer, ouvrez le lien de connexion dans le logiciel avec lequel vous gérez vos logements.",
    signed_in: "Votre session est ouverte",
    go_on: "Continuer",
    signed_out: ("Votre session est fermée", "Vous pouvez fermer cette page."),
    sign_out_now: ("Se déconnecter ?", "Votre session sera fermée dans ce navigateur."),
    to_sign_in: "Aller à la connexion",
    foreign_form: (
        "Veuillez réessayer",
        "Cette page est restée ouverte trop longtemps, ou son formulaire ne venait pas d’ici. Rien n’a été modifié.",
    ),
    used_link: ("Ce lien ne fonctionne plus", "Un lien de connexion sert une seule fois et pendant cinq minutes. Demandez-en un nouveau."),
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
    provider_lost: ("Veuillez recommencer", "Cette connexion a pris trop de temps, ou a été commencée dans un autre navigateur."),
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
