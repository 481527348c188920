//! Texts of calendar feeds.

use super::words;

words! {
    pub struct Calendars {
        feeds: "Calendar feeds", "Calendarios externos", "Calendriers externes";
        about: "Bookings of other sites come from their calendars. Each calendar is read every few minutes.", "Las reservas de otros sitios llegan de sus calendarios. Cada calendario se lee cada pocos minutos.", "Les réservations d’autres sites viennent de leurs calendriers. Chaque calendrier est lu toutes les quelques minutes.";
        none: "There are no calendar feeds. Add the iCalendar address that a booking site offers for a flat.", "No hay calendarios externos. Añada la dirección iCalendar que un sitio de reservas ofrece para un alojamiento.", "Il n’y a aucun calendrier externe. Ajoutez l’adresse iCalendar qu’un site de réservation propose pour un logement.";
        new: "Add a calendar", "Añadir un calendario", "Ajouter un calendrier";
        flat: "Flat", "Alojamiento", "Logement";
        flat_hint: "The name of the flat.", "El nombre del alojamiento.", "Le nom du logement.";
        url: "Address of the calendar", "Dirección del calendario", "Adresse du calendrier";
        url_hint: "The https address of the export in iCalendar format. It is a secret and is not shown again.", "La dirección https de la exportación en formato iCalendar. Es un secreto y no se vuelve a mostrar.", "L’adresse https de l’export au format iCalendar. C’est un secret, qui n’est plus affiché ensuite.";
        channel: "Channel", "Canal", "Canal";
        channel_hint: "How the bookings are named here, such as airbnb.", "Cómo se llaman aquí las reservas, por ejemplo airbnb.", "Comment les réservations s’appellent ici, par exemple airbnb.";
        ambiguous: "Entries that may be a booking or a closure", "Entradas que pueden ser una reserva o un cierre", "Entrées qui peuvent être une réservation ou une fermeture";
        hold: "Hold them until somebody decides", "Retenerlas hasta que alguien decida", "Les retenir jusqu’à une décision";
        import: "Take them as bookings", "Tomarlas como reservas", "Les prendre comme réservations";
        ignore: "Leave them out", "Dejarlas fuera", "Les laisser de côté";
        working: "Working", "Funciona", "En marche";
        waiting: "Not read yet", "Sin leer aún", "Pas encore lu";
        failing: "Failing", "Falla", "En échec";
        reservations: "Bookings", "Reservas", "Réservations";
        last: "Last read", "Última lectura", "Dernière lecture";
        tried: "Last attempt", "Último intento", "Dernier essai";
        never: "Never", "Nunca", "Jamais";
        in_a_row: "Failures in a row", "Fallos seguidos", "Échecs d’affilée";
        skipped: "Entries left out", "Entradas omitidas", "Entrées laissées de côté";
        warnings: "Entries with a fault", "Entradas con algún fallo", "Entrées avec un défaut";
        no_uid: "without an identifier", "sin identificador", "sans identifiant";
        refresh: "Read now", "Leer ahora", "Lire maintenant";
        held: "Held entries", "Entradas retenidas", "Entrées retenues";
        held_about: "The calendar does not say whether these are bookings. Until somebody decides, they are tentative.", "El calendario no dice si son reservas. Hasta que alguien decida, son provisionales.", "Le calendrier ne dit pas si ce sont des réservations. Jusqu’à une décision, elles sont provisoires.";
        held_none: "Nothing waits for a decision.", "Nada espera una decisión.", "Rien n’attend de décision.";
        confirm: "It is a booking", "Es una reserva", "C’est une réservation";
        refuse: "It is no booking", "No es una reserva", "Ce n’est pas une réservation";
        delete: "Delete", "Eliminar", "Supprimer";
        delete_title: "Delete this calendar?", "¿Eliminar este calendario?", "Supprimer ce calendrier ?";
        delete_about: "Its bookings stay here, and nothing changes them by itself any more.", "Sus reservas se quedan aquí, y ya nada las cambia por sí solo.", "Ses réservations restent ici, et plus rien ne les change automatiquement.";
        cancel_upcoming: "Cancel its bookings that have not begun", "Cancelar sus reservas que no han empezado", "Annuler ses réservations qui n’ont pas commencé";
        which_flat: "“{name}” is not the name of exactly one flat.", "«{name}» no es el nombre de un solo alojamiento.", "« {name} » n’est pas le nom d’un seul logement.";
        e_private: "The address leads into a private network.", "La dirección lleva a una red privada.", "L’adresse mène à un réseau privé.";
        e_redirects: "The server sends to another address; use that address instead.", "El servidor remite a otra dirección; use esa dirección.", "Le serveur renvoie à une autre adresse ; utilisez celle-ci.";
        e_refused: "The server answered with an error.", "El servidor respondió con un error.", "Le serveur a répondu par une erreur.";
        e_timed_out: "The server did not answer in time.", "El servidor no respondió a tiempo.", "Le serveur n’a pas répondu à temps.";
        e_unreachable: "The server could not be reached.", "No se pudo llegar al servidor.", "Le serveur n’a pas pu être joint.";
        e_too_large: "The calendar is too large.", "El calendario es demasiado grande.", "Le calendrier est trop grand.";
        e_no_calendar: "The answer is not a whole calendar in iCalendar format.", "La respuesta no es un calendario completo en formato iCalendar.", "La réponse n’est pas un calendrier complet au format iCalendar.";
        e_not_applied: "The bookings could not be written.", "No se pudieron escribir las reservas.", "Les réservations n’ont pas pu être écrites.";
    }
}

impl Calendars {
    /// Describes why a fetch failed. Returns `None` for an unknown code.
    pub fn failure(&self, code: &str) -> Option<&'static str> {
        Some(match code {
            "private" => self.e_private,
            "redirects" => self.e_redirects,
            "refused" => self.e_refused,
            "timed_out" => self.e_timed_out,
            "unreachable" => self.e_unreachable,
            "too_large" => self.e_too_large,
            "no_calendar" => self.e_no_calendar,
            "not_applied" => self.e_not_applied,
            _ => return None,
        })
    }
}
