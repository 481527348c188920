//! What is said of what guests hand in.

use super::words;

words! {
    /// What is said of what guests hand in.
    pub struct Submissions {
        submissions: "Submissions", "Envíos", "Dossiers";
        about: "What guests handed in before arrival, the longest waiting first.", "Lo que los huéspedes han enviado antes de llegar; primero lo que más tiempo lleva esperando.", "Ce que les voyageurs ont transmis avant l’arrivée, le plus ancien d’abord.";
        all: "All", "Todos", "Tous";
        not_started: "Not started", "Sin empezar", "Pas commencé";
        in_progress: "Started", "Empezado", "Commencé";
        in_review: "In review", "En revisión", "À vérifier";
        changes_requested: "Changes requested", "Cambios pedidos", "Modifications demandées";
        approved: "Approved", "Aprobado", "Approuvé";
        flat: "Flat", "Alojamiento", "Logement";
        which_flat: "Which flat do you mean?", "¿A qué alojamiento se refiere?", "De quel logement s’agit-il ?";
        show: "Show", "Mostrar", "Afficher";
        none: "Nobody waits here.", "Aquí no espera nadie.", "Personne n’attend ici.";
        unknown_guest: "Guest without a name", "Huésped sin nombre", "Voyageur sans nom";
        no_flat: "No flat yet", "Aún sin alojamiento", "Pas encore de logement";
        arrives: "Arrives {day}", "Llega el {day}", "Arrive le {day}";
        arrival: "Arrival", "Llegada", "Arrivée";
        submitted: "Handed in", "Enviado", "Transmis";
        decided: "Decided", "Decidido", "Décidé";
        decided_by: "by {name}", "por {name}", "par {name}";
        asked_for: "What the guest was last asked to change", "Lo último que se pidió cambiar al huésped", "Dernière modification demandée au voyageur";
        to_stay: "The stay, and why the guest sees what they see", "La estancia, y por qué el huésped ve lo que ve", "Le séjour, et pourquoi le voyageur voit ce qu’il voit";
        complete: "Complete", "Completo", "Complet";
        incomplete: "Not complete", "Incompleto", "Incomplet";
        open: "Open to the guest", "Abierto al huésped", "Ouvert au voyageur";
        no_longer_shown: "The guest is no longer shown this", "El huésped ya no ve esto", "Le voyageur ne voit plus ceci";
        elsewhere: "Another system carries this out and says when it is complete.", "Lo lleva otro sistema, que indica cuándo está completo.", "Un autre système s’en charge et signale quand c’est complet.";
        carried_out: "Another system carries this out:", "Lo lleva otro sistema:", "Un autre système s’en charge :";
        told: "The guest is told:", "Al huésped se le dice:", "Le voyageur lit :";
        pending: "under way", "en curso", "en cours";
        action_required: "waits for the guest", "espera al huésped", "attend le voyageur";
        completed: "completed", "completado", "terminé";
        failed: "failed", "fallido", "échoué";
        no_answers: "Nothing was answered.", "No hay respuestas.", "Rien n’a été répondu.";
        no_steps: "This guest is asked nothing.", "A este huésped no se le pide nada.", "On ne demande rien à ce voyageur.";
        no_answer: "No answer", "Sin respuesta", "Sans réponse";
        more_answers: "There is more, which the interface answers in full.", "Hay más; la interfaz lo da completo.", "Il y en a davantage ; l’interface le donne en entier.";
        files: "Files", "Archivos", "Fichiers";
        files_hint: "Each address is good for 10 minutes. Load this page again for new ones.", "Cada dirección vale 10 minutos. Recargue la página para obtener otras.", "Chaque adresse vaut 10 minutes. Rechargez la page pour en obtenir d’autres.";
        decide: "Your decision", "Su decisión", "Votre décision";
        approve: "Approve", "Aprobar", "Approuver";
        approve_about: "The guest has done everything then, and sees what opens with it.", "El huésped habrá terminado y verá lo que se abre con ello.", "Le voyageur a alors tout fait, et voit ce qui s’ouvre ainsi.";
        ask: "Ask for changes", "Pedir cambios", "Demander des modifications";
        ask_about: "The steps you tick are open to the guest again, with your message; the others stay done.", "Los pasos que marque se abren de nuevo al huésped, con su mensaje; los demás siguen hechos.", "Les étapes cochées s’ouvrent à nouveau au voyageur, avec votre message ; les autres restent faites.";
        steps: "Steps to open again", "Pasos que se abren de nuevo", "Étapes à rouvrir";
        message: "Message to the guest", "Mensaje para el huésped", "Message au voyageur";
        message_hint: "The guest reads it as you write it, up to 2,000 characters.", "El huésped lo lee tal como lo escriba, hasta 2000 caracteres.", "Le voyageur le lit tel quel, jusqu’à 2 000 caractères.";
        not_done: "This was not done", "No se ha hecho", "Ce n’est pas fait";
        not_in_review: "It is not in review: somebody has decided meanwhile, or the guest is changing it. What you typed is still here.", "No está en revisión: alguien ha decidido entretanto o el huésped lo está cambiando. Lo que ha escrito sigue aquí.", "Ce n’est plus à vérifier : quelqu’un a décidé entre-temps, ou le voyageur le modifie. Ce que vous avez écrit est toujours là.";
        step_gone: "One of these steps is no longer asked of the guest. What you typed is still here.", "Uno de estos pasos ya no se pide al huésped. Lo que ha escrito sigue aquí.", "L’une de ces étapes n’est plus demandée au voyageur. Ce que vous avez écrit est toujours là.";
        is_wrong: "Tick at least one step and write a message of up to 2,000 characters.", "Marque al menos un paso y escriba un mensaje de hasta 2000 caracteres.", "Cochez au moins une étape et écrivez un message de 2 000 caractères au plus.";
        guest_number: "Guest {number}", "Huésped {number}", "Voyageur {number}";
    }
}

impl Submissions {
    /// How a step stands that another system carries out: in words, and how that looks.
    pub fn standing(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "completed" => (self.completed, "on"),
            "failed" => (self.failed, "bad"),
            "action_required" => (self.action_required, "off"),
            _ => (self.pending, ""),
        }
    }

    /// Where a guest stands with what is asked before arrival: in words, and how that looks.
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
