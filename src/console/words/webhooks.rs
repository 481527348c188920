//! What is said of webhooks.

use super::words;

words! {
    /// What is said of webhooks.
    pub struct Webhooks {
        webhooks: "Webhooks", "Webhooks", "Webhooks";
        about: "What happens is sent to the addresses you subscribe. These subscriptions are your own: those of API keys and apps are theirs.", "Lo que ocurre se envía a las direcciones que suscriba. Estas suscripciones son las suyas; las de claves y aplicaciones son de ellas.", "Ce qui se passe est envoyé aux adresses abonnées. Ces abonnements sont les vôtres ; ceux des clés et des applications sont les leurs.";
        none: "You have no subscription.", "No tiene ninguna suscripción.", "Vous n’avez aucun abonnement.";
        new: "New subscription", "Nueva suscripción", "Nouvel abonnement";
        events: "Events", "Eventos", "Événements";
        events_about: "What can be subscribed to, with an example of what is sent.", "A qué puede suscribirse, con un ejemplo de lo que se envía.", "Ce à quoi on peut s’abonner, avec un exemple de ce qui est envoyé.";
        needs: "Needs the permission:", "Requiere el permiso:", "Demande l’autorisation :";
        example: "Example", "Ejemplo", "Exemple";
        event: "Event", "Evento", "Événement";
        url: "Address", "Dirección", "Adresse";
        url_hint: "An https address that is reached from the internet.", "Una dirección https accesible desde internet.", "Une adresse https joignable depuis internet.";
        subscribe: "Subscribe", "Suscribir", "S’abonner";
        refused: "This was not done", "No se ha hecho", "Ce n’est pas fait";
        working: "Working", "Funciona", "En marche";
        failing: "Failing", "Falla", "En échec";
        disabled: "Switched off", "Desactivada", "Désactivé";
        d_failures: "Too many deliveries failed in a row.", "Fallaron demasiadas entregas seguidas.", "Trop d’envois ont échoué d’affilée.";
        d_credential: "Whoever it is of may no longer use the interface.", "Su titular ya no puede usar la interfaz.", "Son titulaire ne peut plus utiliser l’interface.";
        d_permission: "Whoever it is of no longer holds the permission.", "Su titular ya no tiene el permiso.", "Son titulaire n’a plus l’autorisation.";
        d_target: "The address leads into a private network.", "La dirección lleva a una red privada.", "L’adresse mène à un réseau privé.";
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
