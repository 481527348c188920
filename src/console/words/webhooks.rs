//! What is said of webhooks.

use super::words;

words! {
    /// What is said of webhooks.
    pub struct Webhooks {
        webhooks: "Webhooks", "Webhooks", "Webhooks";
        about: "What happens is sent to these addresses. You see what you may manage: your own subscriptions and, with the permission to manage the organization, those of its API keys, apps and members.", "Lo que ocurre se envía a estas direcciones. Ve lo que puede gestionar: sus suscripciones y, con el permiso de gestionar la organización, las de sus claves de API, aplicaciones y miembros.", "Ce qui se passe est envoyé à ces adresses. Vous voyez ce que vous pouvez gérer : vos abonnements et, avec l’autorisation de gérer l’organisation, ceux de ses clés d’API, applications et membres.";
        none: "There is no subscription.", "No hay ninguna suscripción.", "Il n’y a aucun abonnement.";
        owner: "Belongs to", "Pertenece a", "Appartient à";
        owner_gone: "somebody who is gone", "alguien que ya no está", "quelqu’un qui n’est plus là";
        owner_key: "API key", "clave de API", "clé d’API";
        owner_app: "app", "aplicación", "application";
        owner_member: "member", "miembro", "membre";
        host: "Address begins with", "La dirección empieza por", "L’adresse commence par";
        state: "State", "Estado", "État";
        any: "Any", "Todos", "Tous";
        find: "Find", "Buscar", "Chercher";
        new: "New subscription", "Nueva suscripción", "Nouvel abonnement";
        events: "Events", "Eventos", "Événements";
        events_about: "What can be subscribed to, with an example of what is sent.", "A qué puede suscribirse, con un ejemplo de lo que se envía.", "Ce à quoi on peut s’abonner, avec un exemple de ce qui est envoyé.";
        needs: "Needs the permission:", "Requiere el permiso:", "Demande l’autorisation :";
        example: "Example", "Ejemplo", "Exemple";
        event: "Event", "Evento", "Événement";
        url: "Address", "Dirección", "Adresse";
        url_hint: "An https address that is reached from the internet.", "Una dirección https accesible desde internet.", "Une adresse https joignable depuis internet.";
        subscribe: "Subscribe", "Suscribir", "S’abonner";
        working: "Working", "Funciona", "En marche";
        failing: "Failing", "Falla", "En échec";
        disabled: "Switched off", "Desactivada", "Désactivé";
        d_failures: "Too many deliveries failed in a row.", "Fallaron demasiadas entregas seguidas.", "Trop d’envois ont échoué d’affilée.";
        d_credential: "Whoever it is of may no longer use the interface.", "Su titular ya no puede usar la interfaz.", "Son titulaire ne peut plus utiliser l’interface.";
        d_permission: "Whoever it is of no longer holds the permission.", "Su titular ya no tiene el permiso.", "Son titulaire n’a plus l’autorisation.";
        d_target: "The address leads into a private network.", "La dirección lleva a una red privada.", "L’adresse mène à un réseau privé.";
        off: "It was switched off on {at}, for good: nothing is sent for it any more, and what was not delivered by then is not sent again.", "Se desactivó el {at}, para siempre: ya no se envía nada por ella, y lo que no se entregó hasta entonces no se vuelve a enviar.", "Il a été désactivé le {at}, définitivement : plus rien n’est envoyé pour lui, et ce qui n’était pas remis alors n’est pas renvoyé.";
        off_way: "Make a new one like it", "Crear otra igual", "En créer un autre identique";
        off_about: "A new subscription goes on from now; it has a signing secret of its own and is yours.", "Una suscripción nueva sigue desde ahora; tiene su propio secreto de firma y es de usted.", "Un nouvel abonnement reprend dès maintenant ; il a son propre secret de signature et vous appartient.";
        of_apps: "workflow.step is for connected apps alone: each names the one step of a workflow whose runs it wants, over the interface.", "workflow.step es solo para aplicaciones conectadas: cada una nombra por la interfaz el paso de un flujo cuyas ejecuciones quiere.", "workflow.step est réservé aux applications connectées : chacune nomme par l’interface l’étape d’automatisation dont elle veut les exécutions.";
        only_flats: "Only of these flats", "Solo de estos alojamientos", "Seulement de ces logements";
        only_flats_hint: "A name a line, at most {count}. Empty: every flat that you see.", "Un nombre por línea, como mucho {count}. Vacío: todos los alojamientos que usted ve.", "Un nom par ligne, {count} au plus. Vide : tous les logements que vous voyez.";
        which_flat: "“{name}” is not the name of one flat.", "«{name}» no es el nombre de un solo alojamiento.", "« {name} » n’est pas le nom d’un seul logement.";
        too_many_flats: "At most {count} flats can be named here.", "Aquí se pueden nombrar como mucho {count} alojamientos.", "On peut nommer ici {count} logements au plus.";
        more_flats: "and {count} more", "y {count} más", "et {count} de plus";
        only_step: "Only this step of a workflow", "Solo este paso de un flujo", "Seulement cette étape d’automatisation";
        in_a_row: "Failures in a row", "Fallos seguidos", "Échecs d’affilée";
        last: "Last delivered", "Última entrega", "Dernier envoi réussi";
        never: "Never", "Nunca", "Jamais";
        made: "Made", "Creada", "Créé";
        secret: "Signing secret", "Secreto de firma", "Secret de signature";
        secret_once: "Copy it now: it is shown this once. Whoever has it can sign as this service.", "Cópielo ahora: solo se muestra esta vez. Quien lo tenga puede firmar como este servicio.", "Copiez-le maintenant : il n’est montré qu’une fois. Quiconque l’a peut signer comme ce service.";
        to_subscription: "To the subscription", "A la suscripción", "Vers l’abonnement";
        ping: "Send a ping", "Enviar un ping", "Envoyer un ping";
        rotate: "New signing secret", "Nuevo secreto de firma", "Nouveau secret de signature";
        rotate_about: "Deliveries are signed with both secrets until the time is over; then the old one signs no more.", "Las entregas se firman con ambos secretos hasta que acabe el plazo; después el antiguo ya no firma.", "Les envois sont signés avec les deux secrets jusqu’à la fin du délai ; ensuite l’ancien ne signe plus.";
        grace: "Hours for which the old one goes on", "Horas que sigue valiendo el antiguo", "Heures pendant lesquelles l’ancien reste valable";
        delete: "Delete", "Eliminar", "Supprimer";
        delete_title: "Delete this subscription?", "¿Eliminar esta suscripción?", "Supprimer cet abonnement ?";
        delete_about: "Its log and whatever is still to be sent go with it, and its signing secret. This cannot be undone.", "Con ella se van su registro, lo que quede por enviar y su secreto de firma. No se puede deshacer.", "Son journal, ce qui reste à envoyer et son secret de signature disparaissent avec lui. C’est définitif.";
        log: "Deliveries", "Entregas", "Envois";
        log_none: "Nothing was sent yet.", "Aún no se ha enviado nada.", "Rien n’a encore été envoyé.";
        pending: "Under way", "En curso", "En cours";
        delivered: "Delivered", "Entregada", "Remis";
        failed: "Failed", "Fallida", "Échoué";
        discarded: "Discarded", "Descartada", "Écarté";
        attempts: "Attempts: {count}", "Intentos: {count}", "Tentatives : {count}";
        next: "Next attempt:", "Próximo intento:", "Prochaine tentative :";
        answered: "answered {status}", "respondió {status}", "a répondu {status}";
        redeliver: "Send again", "Enviar de nuevo", "Renvoyer";
        failed_since: "Send again what failed since", "Enviar de nuevo lo fallido desde", "Renvoyer ce qui a échoué depuis";
        failed_since_hint: "In UTC; at most the 1,000 oldest.", "En UTC; como mucho las 1000 más antiguas.", "En UTC ; au plus les 1 000 plus anciens.";
    }
}

impl Webhooks {
    /// What sort of credential a subscription belongs to.
    pub fn owner_kind(&self, kind: &str) -> &'static str {
        match kind {
            "api_key" => self.owner_key,
            "oauth" => self.owner_app,
            _ => self.owner_member,
        }
    }

    /// How subscriptions stand, as a choice.
    pub fn state(&self, state: &str) -> &'static str {
        match state {
            "working" => self.working,
            "failing" => self.failing,
            _ => self.disabled,
        }
    }

    /// Why a subscription is switched off.
    pub fn disabled_for(&self, reason: &str) -> &'static str {
        match reason {
            "failures" => self.d_failures,
            "permission_lost" => self.d_permission,
            "private_target" => self.d_target,
            _ => self.d_credential,
        }
    }

    /// Where a delivery stands: in words, and how that looks.
    pub fn delivery(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "delivered" => (self.delivered, "on"),
            "failed" => (self.failed, "bad"),
            "discarded" => (self.discarded, ""),
            _ => (self.pending, "off"),
        }
    }
}
