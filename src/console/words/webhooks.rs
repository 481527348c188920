//! Texts of webhooks.

use super::words;

words! {
    pub struct Webhooks {
        webhooks: "Webhooks", "Webhooks", "Webhooks";
        about: "Events are sent to these addresses. These are your own subscriptions; a key or an app manages its own over the interface.", "Lo que ocurre se envía a estas direcciones. Estas son sus propias suscripciones; una clave o una aplicación gestiona las suyas por la interfaz.", "Ce qui se passe est envoyé à ces adresses. Ce sont vos propres abonnements ; une clé ou une application gère les siens par l’interface.";
        none: "There are no subscriptions.", "No hay ninguna suscripción.", "Il n’y a aucun abonnement.";
        host: "Address begins with", "La dirección empieza por", "L’adresse commence par";
        state: "State", "Estado", "État";
        any: "Any", "Todos", "Tous";
        find: "Find", "Buscar", "Chercher";
        new: "New subscription", "Nueva suscripción", "Nouvel abonnement";
        events: "Events", "Eventos", "Événements";
        events_about: "The events that you can subscribe to, with an example of what is sent.", "A qué puede suscribirse, con un ejemplo de lo que se envía.", "Ce à quoi on peut s’abonner, avec un exemple de ce qui est envoyé.";
        needs: "Needs the permission:", "Requiere el permiso:", "Demande l’autorisation :";
        example: "Example", "Ejemplo", "Exemple";
        event: "Event", "Evento", "Événement";
        url: "Address", "Dirección", "Adresse";
        url_hint: "An https address that can be reached from the internet.", "Una dirección https accesible desde internet.", "Une adresse https joignable depuis internet.";
        subscribe: "Subscribe", "Suscribir", "S’abonner";
        working: "Working", "Funciona", "En marche";
        failing: "Failing", "Falla", "En échec";
        disabled: "Switched off", "Desactivada", "Désactivé";
        d_failures: "Too many deliveries failed in a row.", "Fallaron demasiadas entregas seguidas.", "Trop d’envois ont échoué d’affilée.";
        d_credential: "Its owner may no longer use the interface.", "Su titular ya no puede usar la interfaz.", "Son titulaire ne peut plus utiliser l’interface.";
        d_permission: "Its owner no longer has the permission.", "Su titular ya no tiene el permiso.", "Son titulaire n’a plus l’autorisation.";
        d_target: "The address leads into a private network.", "La dirección lleva a una red privada.", "L’adresse mène à un réseau privé.";
        off: "It was switched off on {at} for good. Nothing more is sent for it, and undelivered events are not sent again.", "Se desactivó el {at}, para siempre: ya no se envía nada por ella, y lo que no se entregó hasta entonces no se vuelve a enviar.", "Il a été désactivé le {at}, définitivement : plus rien n’est envoyé pour lui, et ce qui n’était pas remis alors n’est pas renvoyé.";
        off_way: "Create a new one like it", "Crear otra igual", "En créer un autre identique";
        off_about: "A new subscription starts now. It has its own signing secret and belongs to you.", "Una suscripción nueva sigue desde ahora; tiene su propio secreto de firma y es de usted.", "Un nouvel abonnement reprend dès maintenant ; il a son propre secret de signature et vous appartient.";
        of_apps: "Only connected apps can subscribe to workflow.step. Over the interface, each app names the workflow step whose runs it wants.", "workflow.step es solo para aplicaciones conectadas: cada una nombra por la interfaz el paso de un flujo cuyas ejecuciones quiere.", "workflow.step est réservé aux applications connectées : chacune nomme par l’interface l’étape d’automatisation dont elle veut les exécutions.";
        only_flats: "Only for these flats", "Solo de estos alojamientos", "Seulement de ces logements";
        only_flats_hint: "One name per line, at most {count}. If you leave this empty, all flats that you can see.", "Un nombre por línea, como mucho {count}. Vacío: todos los alojamientos que usted ve.", "Un nom par ligne, {count} au plus. Vide : tous les logements que vous voyez.";
        which_flat: "“{name}” is not the name of exactly one flat.", "«{name}» no es el nombre de un solo alojamiento.", "« {name} » n’est pas le nom d’un seul logement.";
        too_many_flats: "At most {count} flats can be named here.", "Aquí se pueden nombrar como mucho {count} alojamientos.", "On peut nommer ici {count} logements au plus.";
        more_flats: "and {count} more", "y {count} más", "et {count} de plus";
        only_step: "Only this step of a workflow", "Solo este paso de un flujo", "Seulement cette étape d’automatisation";
        in_a_row: "Failures in a row", "Fallos seguidos", "Échecs d’affilée";
        last: "Last delivered", "Última entrega", "Dernier envoi réussi";
        never: "Never", "Nunca", "Jamais";
        made: "Created", "Creada", "Créé";
        secret: "Signing secret", "Secreto de firma", "Secret de signature";
        secret_once: "Copy it now: it is shown only once. Anyone who has the secret can sign as this service.", "Cópielo ahora: solo se muestra esta vez. Quien lo tenga puede firmar como este servicio.", "Copiez-le maintenant : il n’est montré qu’une fois. Quiconque l’a peut signer comme ce service.";
        to_subscription: "To the subscription", "A la suscripción", "Vers l’abonnement";
        ping: "Send a ping", "Enviar un ping", "Envoyer un ping";
        rotate: "New signing secret", "Nuevo secreto de firma", "Nouveau secret de signature";
        rotate_about: "Deliveries are signed with both secrets until the time below is over, and then only with the new one.", "Las entregas se firman con ambos secretos hasta que acabe el plazo; después el antiguo ya no firma.", "Les envois sont signés avec les deux secrets jusqu’à la fin du délai ; ensuite l’ancien ne signe plus.";
        grace: "Hours for which the old secret still signs", "Horas que sigue valiendo el antiguo", "Heures pendant lesquelles l’ancien reste valable";
        delete: "Delete", "Eliminar", "Supprimer";
        delete_title: "Delete this subscription?", "¿Eliminar esta suscripción?", "Supprimer cet abonnement ?";
        delete_about: "This also deletes its log, its signing secret and the deliveries that are still to be sent. It cannot be undone.", "Con ella se van su registro, lo que quede por enviar y su secreto de firma. No se puede deshacer.", "Son journal, ce qui reste à envoyer et son secret de signature disparaissent avec lui. C’est définitif.";
        log: "Deliveries", "Entregas", "Envois";
        log_none: "Nothing was sent yet.", "Aún no se ha enviado nada.", "Rien n’a encore été envoyé.";
        pending: "In progress", "En curso", "En cours";
        delivered: "Delivered", "Entregada", "Remis";
        failed: "Failed", "Fallida", "Échoué";
        discarded: "Discarded", "Descartada", "Écarté";
        attempts: "Attempts: {count}", "Intentos: {count}", "Tentatives : {count}";
        next: "Next attempt:", "Próximo intento:", "Prochaine tentative :";
        answered: "answered {status}", "respondió {status}", "a répondu {status}";
        redeliver: "Send again", "Enviar de nuevo", "Renvoyer";
        failed_since: "Send again all that failed since", "Enviar de nuevo lo fallido desde", "Renvoyer ce qui a échoué depuis";
        failed_since_hint: "In UTC. At most the 1,000 oldest are sent.", "En UTC; como mucho las 1000 más antiguas.", "En UTC ; au plus les 1 000 plus anciens.";
    }
}

impl Webhooks {
    /// Returns the label of a state in the filter.
    pub fn state(&self, state: &str) -> &'static str {
        match state {
            "working" => self.working,
            "failing" => self.failing,
            _ => self.disabled,
        }
    }

    /// Describes why a subscription is disabled.
    pub fn disabled_for(&self, reason: &str) -> &'static str {
        match reason {
            "failures" => self.d_failures,
            "permission_lost" => self.d_permission,
            "private_target" => self.d_target,
            _ => self.d_credential,
        }
    }

    /// Returns the label and the style of a delivery's status.
    pub fn delivery(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "delivered" => (self.delivered, "on"),
            "failed" => (self.failed, "bad"),
            "discarded" => (self.discarded, ""),
            _ => (self.pending, "off"),
        }
    }
}
