//! What is said of who comes in.

use super::words;

words! {
    /// What is said of who comes in.
    pub struct Access {
        access: "Access", "Acceso", "Accès";
        apps: "Connected apps", "Aplicaciones conectadas", "Applications connectées";
        members: "Members", "Miembros", "Membres";
        apps_about: "Apps and assistants that members have let in, and what each may do.", "Aplicaciones y asistentes que los miembros han dejado entrar, y lo que puede hacer cada uno.", "Applications et assistants que des membres ont laissé entrer, et ce que chacun peut faire.";
        members_about: "Who is of the organization, and what they may do. The platform adds and changes members and API keys.", "Quién es de la organización y qué puede hacer. La plataforma añade y cambia miembros y claves.", "Qui fait partie de l’organisation, et ce que chacun peut faire. La plateforme ajoute et modifie membres et clés.";
        apps_none: "No app is connected.", "No hay aplicaciones conectadas.", "Aucune application n’est connectée.";
        on_behalf: "for {name}, back to {host}", "para {name}, vuelve a {host}", "pour {name}, retour vers {host}";
        since: "Connected", "Conectada", "Connectée";
        last: "Last used", "Último uso", "Dernière utilisation";
        may: "May", "Puede", "Peut";
        nothing: "nothing", "nada", "rien";
        end: "Disconnect", "Desconectar", "Déconnecter";
        end_title: "Disconnect {app}?", "¿Desconectar {app}?", "Déconnecter {app} ?";
        end_about: "Its tokens stop working at once, for everything that {name} has let it do, and the webhook subscriptions it made are switched off. Other members stay connected. To come back it has to be let in again.", "Sus tokens dejan de funcionar enseguida, para todo lo que {name} le permitió, y se desactivan las suscripciones de webhooks que hizo. Los demás miembros siguen conectados. Para volver hay que dejarla entrar de nuevo.", "Ses jetons cessent aussitôt de fonctionner, pour tout ce que {name} lui a permis, et les abonnements webhook qu’elle a créés sont désactivés. Les autres membres restent connectés. Pour revenir, il faudra la laisser entrer à nouveau.";
        inactive: "Switched off", "Desactivado", "Désactivé";
        two_factor: "Two factors", "Dos factores", "Deux facteurs";
        one_factor: "No second factor", "Sin segundo factor", "Pas de second facteur";
        some_flats: "{count} flats", "{count} alojamientos", "{count} logements";
        all_flats: "All flats", "Todos los alojamientos", "Tous les logements";
        view_properties: "see the setup and flats", "ver la configuración y los alojamientos", "voir la configuration et les logements";
        modify_properties: "change the setup", "cambiar la configuración", "modifier la configuration";
        view_guides: "see manuals", "ver guías", "voir les guides";
        modify_guides: "change manuals", "cambiar guías", "modifier les guides";
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
    /// What a permission lets somebody do.
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
