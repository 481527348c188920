//! What is said of stays, and of why a guest sees what they see.

use super::words;

words! {
    /// What is said of stays, and of why a guest sees what they see.
    pub struct Stays {
        stays: "Stays", "Estancias", "Séjours";
        about: "Every stay you reach: find one by its guest, flat, day of arrival or status.", "Todas las estancias que alcanza: busque por huésped, alojamiento, día de llegada o estado.", "Tous les séjours que vous atteignez : cherchez par voyageur, logement, jour d’arrivée ou état.";
        this_week: "These are the arrivals of the next seven days. Empty the days to see all.", "Estas son las llegadas de los próximos siete días. Vacíe los días para verlas todas.", "Voici les arrivées des sept prochains jours. Videz les jours pour tout voir.";
        guest: "Guest", "Huésped", "Voyageur";
        from: "Arrival from", "Llegada desde", "Arrivée à partir du";
        until: "Arrival until", "Llegada hasta", "Arrivée jusqu’au";
        status: "Status", "Estado", "État";
        any: "Any", "Cualquiera", "Tous";
        confirmed: "Confirmed", "Confirmada", "Confirmé";
        tentative: "Tentative", "Provisional", "Provisoire";
        cancelled: "Cancelled", "Cancelada", "Annulé";
        find: "Find", "Buscar", "Chercher";
        is_wrong: "One of these filters cannot be used.", "Uno de estos filtros no se puede usar.", "L’un de ces filtres ne peut pas être utilisé.";
        facts: "The stay", "La estancia", "Le séjour";
        dates: "Dates", "Fechas", "Dates";
        flat: "Flat", "Alojamiento", "Logement";
        email: "Mail", "Correo", "E-mail";
        phone: "Phone", "Teléfono", "Téléphone";
        guest_language: "Language of the guest", "Idioma del huésped", "Langue du voyageur";
        channel: "Channel", "Canal", "Canal";
        people: "People", "Personas", "Personnes";
        adults_and_children: "{adults} adults, {children} children", "{adults} adultos, {children} niños", "{adults} adultes, {children} enfants";
        booked: "Booked", "Reservada", "Réservé";
        precheckin: "Pre-check-in", "Registro previo", "Pré-enregistrement";
        so_far: "{done} of {all} steps complete", "{done} de {all} pasos completos", "{done} étapes sur {all} complètes";
        read_submission: "What the guest gave", "Lo que ha dado el huésped", "Ce que le voyageur a donné";
        look: "The guest’s page", "La página del huésped", "La page du voyageur";
        look_about: "As the guest sees it, without what they gave. To walk through it, open it in a tab: that link is good for an hour.", "Como la ve el huésped, sin lo que ha dado. Para recorrerla, ábrala en otra pestaña: ese enlace vale una hora.", "Telle que le voyageur la voit, sans ce qu’il a donné. Pour la parcourir, ouvrez-la dans un onglet : ce lien vaut une heure.";
        own_language: "The guest’s own", "El del huésped", "Celle du voyageur";
        at: "At another moment", "En otro momento", "À un autre moment";
        at_hint: "In the time of {zone}. Empty: now.", "En la hora de {zone}. Vacío: ahora.", "À l’heure de {zone}. Vide : maintenant.";
        no_portal_to_look: "No portal serves this stay, so there is no page.", "Ningún portal sirve esta estancia, así que no hay página.", "Aucun portail ne sert ce séjour : il n’y a pas de page.";
        messages: "Messages", "Mensajes", "Messages";
        messages_none: "The guest has written nothing.", "El huésped no ha escrito nada.", "Le voyageur n’a rien écrit.";
        guest_link: "The guest’s link", "El enlace del huésped", "Le lien du voyageur";
        guest_link_about: "Whoever has it is the guest. To look without acting, use the page beside it.", "Quien lo tiene es el huésped. Para mirar sin actuar, use la página de al lado.", "Quiconque l’a est le voyageur. Pour regarder sans agir, utilisez la page à côté.";
        show_link: "Show it", "Mostrarlo", "L’afficher";
        why: "Why the guest sees this", "Por qué el huésped ve esto", "Pourquoi le voyageur voit ceci";
        why_about: "Every step and manual, whether this guest gets it, and the one rule that decided.", "Cada paso y guía, si este huésped lo recibe, y la regla que lo decidió.", "Chaque étape et guide, si ce voyageur le reçoit, et la règle qui a décidé.";
        why_all: "Each with its reason", "Cada uno con su motivo", "Chacun avec sa raison";
        steps_shown: "{shown} of {all} steps are shown", "Se muestran {shown} de {all} pasos", "{shown} étapes sur {all} sont affichées";
        manuals_shown: "{shown} of {all} manuals are shown", "Se muestran {shown} de {all} guías", "{shown} guides sur {all} sont affichés";
        portal: "Portal", "Portal", "Portail";
        no_portal_serves: "No portal", "Ningún portal", "Aucun portail";
        shown: "Shown", "Se muestra", "Affiché";
        hidden: "Not shown", "No se muestra", "Masqué";
        all: "All", "Todos", "Tous";
        name: "Name", "Nombre", "Nom";
        show: "Show", "Mostrar", "Afficher";
        reaches: "It reaches the flat by:", "Llega al alojamiento por:", "Il atteint le logement par :";
        reaches_not: "Nothing it is assigned to reaches the flat.", "Nada de lo asignado llega al alojamiento.", "Rien de ce à quoi il est affecté n’atteint le logement.";
        hop_property: "flat {name}", "alojamiento {name}", "logement {name}";
        hop_group: "group {name}", "grupo {name}", "groupe {name}";
        hop_tag: "tag {name}", "etiqueta {name}", "étiquette {name}";
        hop_portal: "portal {name}", "el portal {name}", "portail {name}";
        change: "What would change it:", "Qué lo cambiaría:", "Ce qui le changerait :";
        open_it: "Open it", "Abrirlo", "L’ouvrir";
        open_assignments: "Its assignments", "Sus asignaciones", "Ses affectations";
        open_rule: "The rule", "La regla", "La règle";
        open_portals: "Portals", "Portales", "Portails";
        open_portal: "The portal", "El portal", "Le portail";
        c_assign: "assign it to the flat, to its group or to one of its tags.", "asignarlo al alojamiento, a su grupo o a una de sus etiquetas.", "l’affecter au logement, à son groupe ou à l’une de ses étiquettes.";
        c_activate: "switch it on.", "activarlo.", "l’activer.";
        c_portal: "assign a portal to the flat, or make one the default.", "asignar un portal al alojamiento, o hacer uno predeterminado.", "affecter un portail au logement, ou en choisir un par défaut.";
        c_precheckin: "switch pre-check-in on in the portal.", "activar el registro previo en el portal.", "activer le pré-enregistrement dans le portail.";
        c_flat: "the platform has to say in which flat the stay is.", "la plataforma debe indicar el alojamiento de la estancia.", "la plateforme doit indiquer le logement du séjour.";
        c_cancelled: "nothing: a guest of a cancelled stay is shown nothing.", "nada: al huésped de una estancia cancelada no se le muestra nada.", "rien : le voyageur d’un séjour annulé ne voit rien.";
        c_step_rule: "another value of this rule, or showing the step always.", "otro valor de esta regla, o mostrar siempre el paso.", "une autre valeur de cette règle, ou toujours afficher l’étape.";
        c_manual_rule: "another visibility rule, or a moment or stay for which it holds.", "otra regla de visibilidad, o un momento o estancia en que se cumpla.", "une autre règle de visibilité, ou un moment ou séjour où elle est remplie.";
        c_hide: "switch it off, take the assignment back, or give it a rule that this stay does not meet.", "desactivarlo, quitar la asignación o darle una regla que esta estancia no cumpla.", "le désactiver, retirer l’affectation ou lui donner une règle que ce séjour ne remplit pas.";
        r_cancelled: "The stay is cancelled.", "La estancia está cancelada.", "Le séjour est annulé.";
        r_no_property: "The stay has no flat yet.", "La estancia aún no tiene alojamiento.", "Le séjour n’a pas encore de logement.";
        r_not_assigned: "It is not assigned to the flat, its group or its tags.", "No está asignado al alojamiento, a su grupo ni a sus etiquetas.", "Il n’est pas affecté au logement, à son groupe ni à ses étiquettes.";
        r_inactive: "It is not active.", "No está activo.", "Il n’est pas actif.";
        r_no_portal: "No portal serves the flat.", "Ningún portal sirve el alojamiento.", "Aucun portail ne sert le logement.";
        r_precheckin_disabled: "Pre-check-in is switched off on the portal.", "El registro previo está desactivado en el portal.", "Le pré-enregistrement est désactivé dans le portail.";
        r_always_shown: "The step is always shown; its other rules are ignored.", "El paso se muestra siempre; sus otras reglas se ignoran.", "L’étape est toujours affichée ; ses autres règles sont ignorées.";
        r_all_rules_pass: "It is assigned and active, and every rule lets it through.", "Está asignado y activo, y todas las reglas lo permiten.", "Elle est affectée et active, et toutes les règles le permettent.";
        r_always_visible: "It is assigned and active, and has no visibility rules.", "Está asignado y activo, y no tiene reglas de visibilidad.", "Il est affecté et actif, et n’a pas de règle de visibilité.";
        r_visible: "It is assigned and active, and every visibility rule holds.", "Está asignado y activo, y se cumplen todas las reglas de visibilidad.", "Il est affecté et actif, et toutes les règles de visibilité sont remplies.";
        r_min_los: "The stay is shorter than the step takes.", "La estancia es más corta de lo que admite el paso.", "Le séjour est plus court que l’étape ne l’accepte.";
        r_max_los: "The stay is longer than the step takes.", "La estancia es más larga de lo que admite el paso.", "Le séjour est plus long que l’étape ne l’accepte.";
        r_lead_time_min: "It was booked too close to the arrival.", "Se reservó demasiado cerca de la llegada.", "Il a été réservé trop près de l’arrivée.";
        r_lead_time_max: "It was booked too long before the arrival.", "Se reservó demasiado antes de la llegada.", "Il a été réservé trop longtemps avant l’arrivée.";
        r_channel_excluded: "The step leaves out this channel.", "El paso excluye este canal.", "L’étape exclut ce canal.";
        r_channel_not_included: "The step is for other channels.", "El paso es para otros canales.", "L’étape est pour d’autres canaux.";
        r_returning_guest: "The guest stayed before, and returning guests skip the step.", "El huésped ya estuvo antes, y quienes vuelven se saltan el paso.", "Le voyageur est déjà venu, et ceux qui reviennent sautent l’étape.";
        r_too_early: "It is shown later.", "Se muestra más tarde.", "Il s’affiche plus tard.";
        r_too_late: "Its time is over.", "Su tiempo ha pasado.", "Son temps est passé.";
        r_out_of_season: "No night of the stay lies in one of its seasons.", "Ninguna noche de la estancia cae en sus temporadas.", "Aucune nuit du séjour n’est dans ses saisons.";
        r_stay_too_short: "The stay is too short for it.", "La estancia es demasiado corta.", "Le séjour est trop court.";
        r_stay_too_long: "The stay is too long for it.", "La estancia es demasiado larga.", "Le séjour est trop long.";
        r_booking_source: "It is not for this booking channel.", "No es para este canal de reserva.", "Il n’est pas pour ce canal de réservation.";
        r_verification_status: "It is not for guests whose verification stands so.", "No es para huéspedes con esta verificación.", "Il n’est pas pour les voyageurs dont la vérification en est là.";
        r_property: "The portal is assigned to the flat.", "El portal está asignado al alojamiento.", "Le portail est affecté au logement.";
        r_property_group: "The portal is assigned to the flat’s group.", "El portal está asignado al grupo del alojamiento.", "Le portail est affecté au groupe du logement.";
        r_tag: "The portal is assigned to one of the flat’s tags.", "El portal está asignado a una etiqueta del alojamiento.", "Le portail est affecté à une étiquette du logement.";
        r_default: "No portal is assigned to the flat; this is the default.", "Ningún portal está asignado al alojamiento; este es el predeterminado.", "Aucun portail n’est affecté au logement ; c’est celui par défaut.";
    }
}

impl Stays {
    /// Where a stay stands: in words, and how that looks.
    pub fn standing(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "cancelled" => (self.cancelled, "bad"),
            "tentative" => (self.tentative, "off"),
            _ => (self.confirmed, "on"),
        }
    }

    /// The rule that decided, by its key; one that is not known here says itself.
    pub fn reason(&self, key: &str) -> Option<&'static str> {
        Some(match key {
            "cancelled" => self.r_cancelled,
            "no_property" => self.r_no_property,
            "not_assigned" => self.r_not_assigned,
            "inactive" => self.r_inactive,
            "no_portal" => self.r_no_portal,
            "precheckin_disabled" => self.r_precheckin_disabled,
            "always_shown" => self.r_always_shown,
            "all_rules_pass" => self.r_all_rules_pass,
            "always_visible" => self.r_always_visible,
            "visible" => self.r_visible,
            "min_los" => self.r_min_los,
            "max_los" => self.r_max_los,
            "lead_time_min" => self.r_lead_time_min,
            "lead_time_max" => self.r_lead_time_max,
            "channel_excluded" => self.r_channel_excluded,
            "channel_not_included" => self.r_channel_not_included,
            "returning_guest" => self.r_returning_guest,
            "too_early" => self.r_too_early,
            "too_late" => self.r_too_late,
            "out_of_season" => self.r_out_of_season,
            "stay_too_short" => self.r_stay_too_short,
            "stay_too_long" => self.r_stay_too_long,
            "booking_source" => self.r_booking_source,
            "verification_status" => self.r_verification_status,
            "property" => self.r_property,
            "property_group" => self.r_property_group,
            "tag" => self.r_tag,
            "default" => self.r_default,
            _ => return None,
        })
    }

    /// What would change that something is shown, or that it is not, by the key of the rule that decided.
    pub fn change(&self, key: &str, is_shown: bool) -> &'static str {
        match key {
            _ if is_shown => self.c_hide,
            "cancelled" => self.c_cancelled,
            "no_property" => self.c_flat,
            "not_assigned" => self.c_assign,
            "inactive" => self.c_activate,
            "no_portal" => self.c_portal,
            "precheckin_disabled" => self.c_precheckin,
            "too_early" | "too_late" | "out_of_season" | "stay_too_short" | "stay_too_long" | "booking_source" | "verification_status" => {
                self.c_manual_rule
            }
            _ => self.c_step_rule,
        }
    }
}
