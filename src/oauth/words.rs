//! The texts of this module's pages, in one table per language. The compiler ensures that no table
//! lacks a text.

use engine::access::Permission;

/// A heading, with its meaning or the next action.
pub(super) type ConsentNotice = (&'static str, &'static str);

/// The texts of the pages in one language.
pub(super) struct ConsentWords {
    /// The heading of the consent page; `{app}` is the app.
    pub(super) title: &'static str,
    /// The heading of the warning about an unverified app.
    pub(super) caution: &'static str,
    /// The warning about an app that has registered itself.
    pub(super) registered_itself: &'static str,
    /// The warning about an app with a metadata document; `{host}` is the document's host.
    pub(super) described_at: &'static str,
    /// The label of the app's name.
    pub(super) who: &'static str,
    /// The label of the redirect's destination.
    pub(super) sends_to: &'static str,
    /// The destination, if it is a program on the same device at `{host}`.
    pub(super) local: &'static str,
    /// The label of the member that the app acts for.
    pub(super) for_member: &'static str,
    /// The label of the interface that the app uses.
    pub(super) through: &'static str,
    /// The REST interface.
    pub(super) through_api: &'static str,
    /// The tool interface.
    pub(super) through_tools: &'static str,
    /// The label of the properties that the app can access.
    pub(super) properties: &'static str,
    /// All properties.
    pub(super) every_property: &'static str,
    /// No properties.
    pub(super) no_property: &'static str,
    /// Some properties: `{names}`, and the number of others, `{more}`.
    pub(super) and_more: &'static str,
    /// The heading of the granted permissions.
    pub(super) may: &'static str,
    /// The heading of the requested permissions that are not granted.
    pub(super) may_not: &'static str,
    /// The reason why they are not granted.
    pub(super) not_given: &'static str,
    /// The notice that there is nothing to grant.
    pub(super) nothing: &'static str,
    /// The extent and the end of the access; `{organization}` is the organization.
    pub(super) lasts: &'static str,
    /// The button to approve.
    pub(super) allow: &'static str,
    /// The button to deny.
    pub(super) deny: &'static str,
    /// The description of a scope.
    pub(super) scope: fn(Permission) -> &'static str,
    /// The notice about an unknown app.
    pub(super) unknown_client: ConsentNotice,
    /// The notice about an app whose document cannot be used.
    pub(super) bad_document: ConsentNotice,
    /// The notice about a redirect address that the app has not registered.
    pub(super) bad_redirect: ConsentNotice,
    /// The notice about a request that cannot be read.
    pub(super) bad_request: ConsentNotice,
}

/// Returns the texts in a language, or in English if there are none.
pub(super) fn of(language: &str) -> &'static ConsentWords {
    match language {
        "es" => &SPANISH,
        "fr" => &FRENCH,
        _ => &ENGLISH,
    }
}

static ENGLISH: ConsentWords = ConsentWords {
    title: "Connect {app}?",
    caution: "Please check carefully.",
    registered_itself: "This app registered itself, and nobody has checked its name. Continue only if you have just started this yourself.",
    described_at: "This app is described at {host}. Nobody has checked the name that it gives itself. Continue only if you know this address and have just started this yourself.",
    who: "App",
    sends_to: "You will be sent to",
    local: "a program on this device ({host})",
    for_member: "It acts for",
    through: "It uses",
    through_api: "the REST interface",
    through_tools: "the tools for assistants (MCP)",
    properties: "Properties it can access",
    every_property: "all of them, now and later",
    no_property: "none",
    and_more: "{names} and {more} more",
    may: "It will be allowed to",
    may_not: "It will not be allowed to",
    not_given: "The app also asks for this. You do not have these permissions yourself, so it does not get them.",
    nothing: "You have none of the permissions that this app asks for, so you cannot give it any.",
    lasts: "The app can never do more than you can. It stays connected until a person who manages {organization} disconnects it, or until it has not been used for 30 days.",
    allow: "Allow",
    deny: "Don’t allow",
    scope: |permission| match permission {
        Permission::ViewProperties => {
            "see properties, groups, tags, portals and steps of the pre-check-in"
        }
        Permission::ModifyProperties => {
            "change what is shown for properties, and approve or send back what guests submit"
        }
        Permission::ViewGuides => "read house manuals",
        Permission::ModifyGuides => "write and delete house manuals",
        Permission::ModifyTasks => "change the steps of the pre-check-in and their questions",
        Permission::ManageOrganization => {
            "change portals and brandings of the whole organization, and see its members and connected apps"
        }
        Permission::ViewReservations => "see reservations, guests, reviews and what guests submit",
        Permission::ViewTasks => "see tasks and shifts",
        Permission::ViewDevices => "see devices and lock codes",
        Permission::ViewWorkflows => "be notified when a step of a workflow runs",
        Permission::ViewAnalytics => "see analytics",
    },
    unknown_client: (
        "This app is not known here",
        "The link that brought you here belongs to an app that this service does not know, or no longer knows. Go back to the app and connect it again. If that does not help, ask the maker of the app.",
    ),
    bad_document: (
        "This app cannot be checked",
        "The app names an address with its description, and the description there could not be read or is not valid. You have not been sent anywhere. Try again later, or ask the maker of the app.",
    ),
    bad_redirect: (
        "This link is not correct",
        "It would send you to an address that the app has not registered. To keep the app’s access safe, you have not been sent there. Ask the maker of the app.",
    ),
    bad_request: (
        "This request cannot be read",
        "Go back to the app and try again. If that does not help, ask the maker of the app.",
    ),
};

static SPANISH: ConsentWords = ConsentWords {
    title: "¿Conectar {app}?",
    caution: "Fíjese bien.",
    registered_itself: "Esta aplicación se ha presentado sola y nadie ha comprobado su nombre. Continúe solo si acaba de iniciar esto usted.",
    described_at: "Esta aplicación se describe en {host}. Nadie ha comprobado el nombre que se da. Continúe solo si conoce esta dirección y acaba de iniciar esto usted.",
    who: "Aplicación",
    sends_to: "Se le enviará a",
    local: "un programa en este dispositivo ({host})",
    for_member: "Actúa en nombre de",
    through: "Utiliza",
    through_api: "la interfaz REST",
    through_tools: "las herramientas para asistentes (MCP)",
    properties: "Alojamientos a los que llega",
    every_property: "todos, los de ahora y los futuros",
    no_property: "ninguno",
    and_more: "{names} y {more} más",
    may: "Podrá",
    may_not: "No podrá",
    not_given: "La aplicación también lo pide. Usted no tiene ese permiso, así que no se le concede.",
    nothing: "Usted no tiene ninguno de los permisos que pide esta aplicación, así que no hay nada que concederle.",
    lasts: "La aplicación nunca podrá hacer más que usted. Seguirá conectada hasta que alguien que administre {organization} la desconecte o hasta que pasen 30 días sin uso.",
    allow: "Permitir",
    deny: "No permitir",
    scope: |permission| match permission {
        Permission::ViewProperties => {
            "ver alojamientos, grupos, etiquetas, portales y pasos del registro previo"
        }
        Permission::ModifyProperties => {
            "cambiar lo que se muestra de los alojamientos y decidir sobre lo que entregan los huéspedes"
        }
        Permission::ViewGuides => "leer las guías de la casa",
        Permission::ModifyGuides => "escribir y borrar guías de la casa",
        Permission::ModifyTasks => "cambiar los pasos del registro previo y sus preguntas",
        Permission::ManageOrganization => {
            "cambiar portales y marcas de toda la organización, y ver sus miembros y las aplicaciones conectadas"
        }
        Permission::ViewReservations => {
            "ver reservas, huéspedes, opiniones y lo que entregan los huéspedes"
        }
        Permission::ViewTasks => "ver tareas y turnos",
        Permission::ViewDevices => "ver dispositivos y códigos de cerraduras",
        Permission::ViewWorkflows => "saber cuándo se ejecuta un paso de un flujo de trabajo",
        Permission::ViewAnalytics => "ver estadísticas",
    },
    unknown_client: (
        "Esta aplicación no se conoce aquí",
        "El enlace que le ha traído es de una aplicación que este servicio no conoce o ya no conoce. Vuelva a la aplicación y conéctela de nuevo; si no funciona, pregunte a quien la hace.",
    ),
    bad_document: (
        "No se puede comprobar esta aplicación",
        "La aplicación dice dónde se describe, y allí no hay nada que se pueda leer y creer. No se le ha enviado a ningún sitio. Inténtelo más tarde o pregunte a quien hace la aplicación.",
    ),
    bad_redirect: (
        "Este enlace no es correcto",
        "Le enviaría a una dirección que la aplicación no ha indicado antes. No se le ha enviado allí, para que nadie más reciba lo que es para la aplicación. Pregunte a quien la hace.",
    ),
    bad_request: (
        "No se puede leer esta petición",
        "Vuelva a la aplicación e inténtelo de nuevo; si no funciona, pregunte a quien la hace.",
    ),
};

static FRENCH: ConsentWords = ConsentWords {
    title: "Connecter {app} ?",
    caution: "Regardez bien.",
    registered_itself: "Cette application s’est présentée elle-même et personne n’a vérifié son nom. Ne continuez que si vous venez de lancer cela vous-même.",
    described_at: "Cette application est décrite sur {host}. Personne n’a vérifié le nom qu’elle se donne. Ne continuez que si vous connaissez cette adresse et venez de lancer cela vous-même.",
    who: "Application",
    sends_to: "Vous serez envoyé vers",
    local: "un programme sur cet appareil ({host})",
    for_member: "Elle agit pour",
    through: "Elle utilise",
    through_api: "l’interface REST",
    through_tools: "les outils pour assistants (MCP)",
    properties: "Logements qu’elle atteint",
    every_property: "tous, aujourd’hui et plus tard",
    no_property: "aucun",
    and_more: "{names} et {more} autres",
    may: "Elle pourra",
    may_not: "Elle ne pourra pas",
    not_given: "L’application le demande aussi. Vous n’en avez pas le droit vous-même : cela ne lui est donc pas accordé.",
    nothing: "Vous n’avez aucun des droits que cette application demande : il n’y a rien à lui accorder.",
    lasts: "L’application ne pourra jamais faire plus que vous. Elle reste connectée jusqu’à ce que quelqu’un qui gère {organization} y mette fin, ou jusqu’à 30 jours sans utilisation.",
    allow: "Autoriser",
    deny: "Ne pas autoriser",
    scope: |permission| match permission {
        Permission::ViewProperties => {
            "voir les logements, groupes, étiquettes, portails et étapes du pré-enregistrement"
        }
        Permission::ModifyProperties => {
            "changer ce qui est affiché pour les logements et décider de ce que les voyageurs remettent"
        }
        Permission::ViewGuides => "lire les guides de la maison",
        Permission::ModifyGuides => "écrire et supprimer des guides de la maison",
        Permission::ModifyTasks => "changer les étapes du pré-enregistrement et leurs questions",
        Permission::ManageOrganization => {
            "changer les portails et identités visuelles de toute l’organisation, et voir ses membres et applications connectées"
        }
        Permission::ViewReservations => {
            "voir les réservations, les voyageurs, les avis et ce que les voyageurs remettent"
        }
        Permission::ViewTasks => "voir les tâches et les services",
        Permission::ViewDevices => "voir les appareils et les codes de serrure",
        Permission::ViewWorkflows => "savoir quand une étape d’un flux de travail s’exécute",
        Permission::ViewAnalytics => "voir les statistiques",
    },
    unknown_client: (
        "Cette application n’est pas connue ici",
        "Le lien qui vous a amené ici est celui d’une application que ce service ne connaît pas, ou plus. Revenez à l’application et connectez-la de nouveau ; si cela ne suffit pas, demandez à qui la fait.",
    ),
    bad_document: (
        "Cette application ne peut pas être vérifiée",
        "L’application dit où elle est décrite, et il n’y a rien là-bas que l’on puisse lire et croire. Vous n’avez été envoyé nulle part. Réessayez plus tard, ou demandez à qui fait l’application.",
    ),
    bad_redirect: (
        "Ce lien n’est pas correct",
        "Il vous enverrait à une adresse que l’application n’a pas indiquée auparavant. Vous n’y avez pas été envoyé, pour que personne d’autre ne reçoive ce qui est destiné à l’application. Demandez à qui la fait.",
    ),
    bad_request: (
        "Cette demande ne peut pas être lue",
        "Revenez à l’application et réessayez ; si cela ne suffit pas, demandez à qui la fait.",
    ),
};
