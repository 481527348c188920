//! Texts of submissions.

use super::words;

words! {
    pub struct Submissions {
        submissions: "Submissions", "Envíos", "Dossiers";
        about: "Pre-check-ins that guests submitted, longest waiting first.", "Lo que los huéspedes han enviado antes de llegar; primero lo que más tiempo lleva esperando.", "Ce que les voyageurs ont transmis avant l’arrivée, le plus ancien d’abord.";
        all: "All", "Todos", "Tous";
        not_started: "Not started", "Sin empezar", "Pas commencé";
        in_progress: "Started", "Empezado", "Commencé";
        in_review: "In review", "En revisión", "À vérifier";
        changes_requested: "Changes requested", "Cambios pedidos", "Modifications demandées";
        approved: "Approved", "Aprobado", "Approuvé";
        flat: "Flat", "Alojamiento", "Logement";
        which_flat: "Which flat do you mean?", "¿A qué alojamiento se refiere?", "De quel logement s’agit-il ?";
        show: "Show", "Mostrar", "Afficher";
        none: "There are no submissions here.", "Aquí no espera nadie.", "Personne n’attend ici.";
        unknown_guest: "Guest without a name", "Huésped sin nombre", "Voyageur sans nom";
        no_flat: "No flat yet", "Aún sin alojamiento", "Pas encore de logement";
        arrives: "Arrives {day}", "Llega el {day}", "Arrive le {day}";
        arrival: "Arrival", "Llegada", "Arrivée";
        submitted: "Submitted", "Enviado", "Transmis";
        decided: "Decided", "Decidido", "Décidé";
        decided_by: "by {name}", "por {name}", "par {name}";
        asked_for: "What the guest was last asked to change", "Lo último que se pidió cambiar al huésped", "Dernière modification demandée au voyageur";
        to_stay: "The stay, and why the guest sees what they see", "La estancia, y por qué el huésped ve lo que ve", "Le séjour, et pourquoi le voyageur voit ce qu’il voit";
        complete: "Complete", "Completo", "Complet";
        incomplete: "Not complete", "Incompleto", "Incomplet";
        waits_for_others: "Waits for another system", "Espera a otro sistema", "Attend un autre système";
        needs_guest: "Waits for the guest", "Espera al huésped", "Attend le voyageur";
        accepted: "Accepted, as the service recorded it:", "Aceptado, según registró el servicio:", "Accepté, tel que le service l’a enregistré :";
        accepted_text: "Text shown: {language}, SHA-256 {hash}", "Texto mostrado: {language}, SHA-256 {hash}", "Texte affiché : {language}, SHA-256 {hash}";
        flags: "Reasons to look at it", "Motivos para revisarlo", "Raisons de vérifier";
        flags_about: "Raised by the answers of the guest, or by another system.", "Los plantean las respuestas del huésped u otro sistema.", "Soulevées par les réponses du voyageur ou par un autre système.";
        flag_step: "This step is looked at for every guest.", "Este paso se revisa para todos los huéspedes.", "Cette étape est vérifiée pour chaque voyageur.";
        flag_failed: "The background check failed.", "La comprobación de antecedentes ha fallado.", "Le contrôle des antécédents a échoué.";
        opened: "Open to the guest again: {n}", "Pasos abiertos de nuevo al huésped: {n}", "Étapes à nouveau ouvertes au voyageur : {n}";
        opened_about: "Something has changed since the guest submitted. The guest is asked for these steps and submits again.", "Algo ha cambiado desde que el huésped lo envió. Se le piden estos pasos y lo enviará de nuevo.", "Quelque chose a changé depuis l’envoi. Ces étapes sont demandées au voyageur, qui enverra à nouveau.";
        signed: "Signed:", "Firmado:", "Signé :";
        accepted_words: "The text that was accepted", "El texto aceptado", "Le texte accepté";
        text_is_older: "The text has been changed since.", "El texto ha cambiado después.", "Le texte a été modifié depuis.";
        has_arrived: "It is approved already, and can be sent back until the check-in time only. What you typed is still here.", "Ya está aprobado y solo se puede devolver hasta la hora de llegada. Lo que ha escrito sigue aquí.", "C’est déjà approuvé, et ne peut être renvoyé que jusqu’à l’heure d’arrivée. Ce que vous avez écrit est toujours là.";
        open: "Open to the guest", "Abierto al huésped", "Ouvert au voyageur";
        no_longer_shown: "The guest is no longer shown this", "El huésped ya no ve esto", "Le voyageur ne voit plus ceci";
        elsewhere: "Another system carries this out and reports when it is complete.", "Lo lleva otro sistema, que indica cuándo está completo.", "Un autre système s’en charge et signale quand c’est complet.";
        carried_out: "Another system carries this out:", "Lo lleva otro sistema:", "Un autre système s’en charge :";
        told: "Message to the guest:", "Al huésped se le dice:", "Le voyageur lit :";
        pending: "in progress", "en curso", "en cours";
        action_required: "waiting for the guest", "espera al huésped", "attend le voyageur";
        completed: "completed", "completado", "terminé";
        failed: "failed", "fallido", "échoué";
        no_answers: "Nothing was answered.", "No hay respuestas.", "Rien n’a été répondu.";
        no_steps: "This guest gets no steps.", "A este huésped no se le pide nada.", "On ne demande rien à ce voyageur.";
        no_answer: "No answer", "Sin respuesta", "Sans réponse";
        more_answers: "There is more than is shown here; the interface returns everything.", "Hay más; la interfaz lo da completo.", "Il y en a davantage ; l’interface le donne en entier.";
        files: "Files", "Archivos", "Fichiers";
        files_hint: "Each link works for 10 minutes. Load this page again for new links.", "Cada dirección vale 10 minutos. Recargue la página para obtener otras.", "Chaque adresse vaut 10 minutes. Rechargez la page pour en obtenir d’autres.";
        decide: "Your decision", "Su decisión", "Votre décision";
        approve: "Approve", "Aprobar", "Approuver";
        approve_about: "Pre-check-in is then complete, and the guest sees what depends on it.", "El huésped habrá terminado y verá lo que se abre con ello.", "Le voyageur a alors tout fait, et voit ce qui s’ouvre ainsi.";
        ask: "Ask for changes", "Pedir cambios", "Demander des modifications";
        ask_about: "The steps you tick are open to the guest again, with your message; the others stay done.", "Los pasos que marque se abren de nuevo al huésped, con su mensaje; los demás siguen hechos.", "Les étapes cochées s’ouvrent à nouveau au voyageur, avec votre message ; les autres restent faites.";
        steps: "Steps to open again", "Pasos que se abren de nuevo", "Étapes à rouvrir";
        message: "Message to the guest", "Mensaje para el huésped", "Message au voyageur";
        message_hint: "The guest reads the message exactly as you write it. At most 2,000 characters.", "El huésped lo lee tal como lo escriba, hasta 2000 caracteres.", "Le voyageur le lit tel quel, jusqu’à 2 000 caractères.";
        not_done: "This was not done", "No se ha hecho", "Ce n’est pas fait";
        not_in_review: "It is no longer in review: somebody else has decided, or the guest is changing it. What you typed is still here.", "No está en revisión: alguien ha decidido entretanto o el huésped lo está cambiando. Lo que ha escrito sigue aquí.", "Ce n’est plus à vérifier : quelqu’un a décidé entre-temps, ou le voyageur le modifie. Ce que vous avez écrit est toujours là.";
        step_gone: "One of these steps is no longer asked of the guest. What you typed is still here.", "Uno de estos pasos ya no se pide al huésped. Lo que ha escrito sigue aquí.", "L’une de ces étapes n’est plus demandée au voyageur. Ce que vous avez écrit est toujours là.";
        is_wrong: "Tick at least one step and write a message of up to 2,000 characters.", "Marque al menos un paso y escriba un mensaje de hasta 2000 caracteres.", "Cochez au moins une étape et écrivez un message de 2 000 caractères au plus.";
        guest_number: "Guest {number}", "Huésped {number}", "Voyageur {number}";
    }
}

impl Submissions {
    /// Returns the label and the style for the status of a step that another system carries out.
    pub fn state_label(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "completed" => (self.completed, "on"),
            "failed" => (self.failed, "bad"),
            "action_required" => (self.action_required, "off"),
            _ => (self.pending, ""),
        }
    }

    /// Returns the label and the style for the state of a step.
    pub fn state(&self, state: &str) -> (&'static str, &'static str) {
        match state {
            "done" => (self.complete, "on"),
            "pending" => (self.waits_for_others, ""),
            "action_required" => (self.needs_guest, "off"),
            _ => (self.incomplete, ""),
        }
    }

    /// Returns the label and the style for the status of a pre-check-in.
    pub fn status(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "in_progress" => (self.in_progress, ""),
            "in_review" => (self.in_review, "off"),
            "changes_requested" => (self.changes_requested, "off"),
            "approved" => (self.approved, "on"),
            _ => (self.not_started, ""),
        }
    }
}
