//! Texts of the access screen.

use super::words;

words! {
    pub struct Access {
        access: "Access", "Acceso", "Accès";
        apps: "Connected apps", "Aplicaciones conectadas", "Applications connectées";
        keys: "API keys", "Claves de API", "Clés d’API";
        members: "Members", "Miembros", "Membres";
        apps_about: "Apps and assistants that members have connected, and what each may do.", "Aplicaciones y asistentes que los miembros han dejado entrar, y lo que puede hacer cada uno.", "Applications et assistants que des membres ont laissé entrer, et ce que chacun peut faire.";
        members_about: "The members of the organization, and what they may do.", "Quién es de la organización y qué puede hacer.", "Qui fait partie de l’organisation, et ce que chacun peut faire.";
        keys_about: "With an API key, another system acts in the whole organization. The time of last use is exact to the minute.", "Claves con las que otros sistemas actúan en toda la organización. El último uso se conoce al minuto.", "Clés par lesquelles d’autres systèmes agissent dans toute l’organisation. La dernière utilisation est connue à la minute.";
        keys_of_platform: "The platform creates and revokes them.", "La plataforma las crea y las revoca.", "La plateforme les crée et les révoque.";
        keys_none: "There are no API keys.", "No hay ninguna clave de API.", "Il n’y a aucune clé d’API.";
        never: "Never", "Nunca", "Jamais";
        made: "Created", "Creada", "Créée";
        expires: "Expires", "Caduca", "Expire";
        expired: "Expired", "Caducada", "Expirée";
        expires_hint: "In UTC. If you leave this empty, the key never expires.", "En UTC. Si se deja vacío: nunca.", "En UTC. Laissé vide : jamais.";
        last_write: "Last change", "Último cambio", "Dernière modification";
        history: "Its activity", "Lo que hizo", "Ce qu’elle a fait";
        new_key: "New API key", "Nueva clave de API", "Nouvelle clé d’API";
        make_key: "Create the key", "Crear la clave", "Créer la clé";
        key_name: "Name", "Nombre", "Nom";
        key_name_hint: "Say what the key is for, so that you can recognize it.", "Para qué es, para distinguirla de otras.", "À quoi elle sert, pour la distinguer des autres.";
        key_may_hint: "You can give only permissions that you have yourself.", "Como mucho lo que usted puede hacer.", "Au plus ce que vous pouvez faire vous-même.";
        token: "Token of the key", "Token de la clave", "Jeton de la clé";
        token_once: "Copy it now: it is shown only once. Anyone who has the token can act with this key.", "Cópielo ahora: solo se muestra esta vez. Quien lo tenga actúa como esta clave.", "Copiez-le maintenant : il n’est montré qu’une fois. Quiconque l’a agit comme cette clé.";
        token_shown: "The token was shown when this form was sent the first time, and is not stored. If you do not have it, create a new one.", "El token se mostró la primera vez que se envió este formulario y no se guarda en ninguna parte. Si no lo tiene, cree uno nuevo.", "Le jeton a été montré au premier envoi de ce formulaire et n’est conservé nulle part. Si vous ne l’avez pas, créez-en un nouveau.";
        to_keys: "To the API keys", "A las claves de API", "Vers les clés d’API";
        rotate: "New token", "Nuevo token", "Nouveau jeton";
        rotate_about: "The key keeps its subscriptions and limits. Its present token works until the time below is over.", "La clave sigue siendo la misma, con sus suscripciones y límites. El token actual funciona hasta que acabe el plazo.", "La clé reste la même, avec ses abonnements et ses limites. Le jeton actuel fonctionne jusqu’à la fin du délai.";
        grace: "Hours for which the old token still works", "Horas que sigue valiendo el token antiguo", "Heures pendant lesquelles l’ancien jeton reste valable";
        revoke: "Revoke", "Revocar", "Révoquer";
        revoke_about: "It stops working with the next request, and its webhook subscriptions are switched off. This cannot be undone.", "Deja de funcionar con la próxima petición y se desactivan sus suscripciones de webhooks. No se puede deshacer.", "Elle cesse de fonctionner dès la prochaine requête, et ses abonnements webhook sont désactivés. C’est définitif.";
        invite: "Invite a member", "Invitar a un miembro", "Inviter un membre";
        link: "Sign-in link", "Enlace para entrar", "Lien de connexion";
        make_link: "Make a sign-in link", "Crear un enlace para entrar", "Créer un lien de connexion";
        make_link_about: "Without mail, you pass the link on yourself. It works once, for one hour.", "Sin correo, usted mismo entrega el enlace. Funciona una vez, durante una hora.", "Sans e-mail, vous transmettez le lien vous-même. Il fonctionne une fois, pendant une heure.";
        link_once: "Copy it now and pass it on: it is shown only once, and works once, for one hour.", "Cópielo ahora y entréguelo: solo se muestra esta vez y funciona una vez, durante una hora.", "Copiez-le maintenant et transmettez-le : il n’est montré qu’une fois et fonctionne une fois, pendant une heure.";
        link_shown: "The link was shown when this form was sent the first time. If you do not have it, make another one.", "El enlace se mostró la primera vez que se envió este formulario. Si no lo tiene, cree otro.", "Le lien a été montré au premier envoi de ce formulaire. Si vous ne l’avez pas, créez-en un autre.";
        to_members: "To the members", "A los miembros", "Vers les membres";
        apps_how: "How to connect an assistant", "Cómo conectar un asistente", "Comment connecter un assistant";
        keys_how: "How keys are made", "Cómo se crean las claves", "Comment les clés sont créées";
        apps_none: "No app is connected.", "No hay aplicaciones conectadas.", "Aucune application n’est connectée.";
        on_behalf: "for {name}, back to {host}", "para {name}, vuelve a {host}", "pour {name}, retour vers {host}";
        since: "Connected", "Conectada", "Connectée";
        last: "Last used", "Último uso", "Dernière utilisation";
        may: "May", "Puede", "Peut";
        nothing: "nothing", "nada", "rien";
        end: "Disconnect", "Desconectar", "Déconnecter";
        end_title: "Disconnect {app}?", "¿Desconectar {app}?", "Déconnecter {app} ?";
        end_about: "The tokens that {name} gave it stop working at once, and the webhook subscriptions that it created are switched off. Other members stay connected. To use the app again, {name} must connect it again.", "Sus tokens dejan de funcionar enseguida, para todo lo que {name} le permitió, y se desactivan las suscripciones de webhooks que hizo. Los demás miembros siguen conectados. Para volver hay que dejarla entrar de nuevo.", "Ses jetons cessent aussitôt de fonctionner, pour tout ce que {name} lui a permis, et les abonnements webhook qu’elle a créés sont désactivés. Les autres membres restent connectés. Pour revenir, il faudra la laisser entrer à nouveau.";
        inactive: "Switched off", "Desactivado", "Désactivé";
        two_factor: "Two-factor authentication", "Dos factores", "Deux facteurs";
        one_factor: "No two-factor authentication", "Sin segundo factor", "Pas de second facteur";
        one_flat: "1 flat", "1 alojamiento", "1 logement";
        some_flats: "{count} flats", "{count} alojamientos", "{count} logements";
        all_flats: "All flats", "Todos los alojamientos", "Tous les logements";
        view_properties: "see the setup and flats", "ver la configuración y los alojamientos", "voir la configuration et les logements";
        modify_properties: "change the setup", "cambiar la configuración", "modifier la configuration";
        view_guides: "see manuals", "ver manuales", "voir les guides";
        modify_guides: "change manuals", "cambiar manuales", "modifier les guides";
        modify_tasks: "change tasks", "cambiar tareas", "modifier les tâches";
        manage_organization: "manage the organization", "gestionar la organización", "gérer l’organisation";
        view_reservations: "see stays", "ver estancias", "voir les séjours";
        view_tasks: "see tasks", "ver tareas", "voir les tâches";
        view_devices: "see devices", "ver dispositivos", "voir les appareils";
        view_workflows: "see workflows", "ver flujos de trabajo", "voir les automatisations";
        view_analytics: "see analytics", "ver estadísticas", "voir les statistiques";
        other_permission: "something else", "otra cosa", "autre chose";
    }
}

impl Access {
    /// Describes a permission.
    pub fn permission(&self, name: &str) -> &'static str {
        match name {
            "view_properties" => self.view_properties,
            "modify_properties" => self.modify_properties,
            "view_guides" => self.view_guides,
            "modify_guides" => self.modify_guides,
            "modify_tasks" => self.modify_tasks,
            "manage_organization" => self.manage_organization,
            "view_reservations" => self.view_reservations,
            "view_tasks" => self.view_tasks,
            "view_devices" => self.view_devices,
            "view_workflows" => self.view_workflows,
            "view_analytics" => self.view_analytics,
            _ => self.other_permission,
        }
    }
}
