//! Texts of stays, and of the explanation of a guest's view.

use super::{counted, words};

words! {
    pub struct Stays {
        stays: "Stays", "Estancias", "Séjours";
        about: "All stays of your flats. Find one by its guest, flat, day of arrival or status.", "Todas las estancias que alcanza: busque por huésped, alojamiento, día de llegada o estado.", "Tous les séjours que vous atteignez : cherchez par voyageur, logement, jour d’arrivée ou état.";
        this_week: "These are the arrivals of the next seven days. Clear the two dates to see all.", "Estas son las llegadas de los próximos siete días. Vacíe los días para verlas todas.", "Voici les arrivées des sept prochains jours. Videz les jours pour tout voir.";
        guest: "Guest", "Huésped", "Voyageur";
        from: "Arrival from", "Llegada desde", "Arrivée à partir du";
        until: "Arrival until", "Llegada hasta", "Arrivée jusqu’au";
        status: "Status", "Estado", "État";
        any: "Any", "Cualquiera", "Tous";
        confirmed: "Confirmed", "Confirmada", "Confirmé";
        tentative: "Tentative", "Provisional", "Provisoire";
        cancelled: "Cancelled", "Cancelada", "Annulé";
        find: "Find", "Buscar", "Chercher";
        find_by: "Name, booking code, e-mail or phone", "Nombre, código de reserva, correo o teléfono", "Nom, code de réservation, e-mail ou téléphone";
        is_wrong: "One of these filters is not valid.", "Uno de estos filtros no se puede usar.", "L’un de ces filtres ne peut pas être utilisé.";
        facts: "The stay", "La estancia", "Le séjour";
        dates: "Dates", "Fechas", "Dates";
        flat: "Flat", "Alojamiento", "Logement";
        email: "Email", "Correo", "E-mail";
        phone: "Phone", "Teléfono", "Téléphone";
        guest_language: "Language of the guest", "Idioma del huésped", "Langue du voyageur";
        channel: "Channel", "Canal", "Canal";
        people: "People", "Personas", "Personnes";
        adults_and_children: "{adults} adults, {children} children", "{adults} adultos, {children} niños", "{adults} adultes, {children} enfants";
        booked: "Booked", "Reservada", "Réservé";
        precheckin: "Pre-check-in", "Registro previo", "Pré-enregistrement";
        so_far: "{done} of {all} steps complete", "{done} de {all} pasos completos", "{done} étapes sur {all} complètes";
        read_submission: "The guest’s submission", "Lo que ha dado el huésped", "Ce que le voyageur a donné";
        look: "The guest’s page", "La página del huésped", "La page du voyageur";
        look_about: "The page as the guest sees it, without their answers. To go through all pages, open it in a new tab; its link is valid for an hour.", "Como la ve el huésped, sin lo que ha dado. Para recorrerla, ábrala en otra pestaña: ese enlace vale una hora.", "Telle que le voyageur la voit, sans ce qu’il a donné. Pour la parcourir, ouvrez-la dans un onglet : ce lien vaut une heure.";
        own_language: "The guest’s own language", "El del huésped", "Celle du voyageur";
        at: "At another time", "En otro momento", "À un autre moment";
        at_hint: "In the time zone {zone}. If you leave this empty, it is now.", "En la hora de {zone}. Vacío: ahora.", "À l’heure de {zone}. Vide : maintenant.";
        no_portal_to_look: "No portal serves this stay, so there is no page.", "Ningún portal sirve esta estancia, así que no hay página.", "Aucun portail ne sert ce séjour : il n’y a pas de page.";
        messages: "Messages", "Mensajes", "Messages";
        none_near: "No stay begins in these days.", "En estos días no empieza ninguna estancia.", "Aucun séjour ne commence ces jours-ci.";
        all_stays: "All stays", "Todas las estancias", "Tous les séjours";
        messages_none: "The guest has not written any messages.", "El huésped no ha escrito nada.", "Le voyageur n’a rien écrit.";
        guest_link: "The guest’s link", "El enlace del huésped", "Le lien du voyageur";
        guest_link_about: "Anyone with this link can act as the guest. To look without acting, use the preview of the page.", "Quien lo tiene es el huésped. Para mirar sin actuar, use la página de al lado.", "Quiconque l’a est le voyageur. Pour regarder sans agir, utilisez la page à côté.";
        show_link: "Show the link", "Mostrarlo", "L’afficher";
        why: "Why the guest sees this", "Por qué el huésped ve esto", "Pourquoi le voyageur voit ceci";
        why_about: "Every step and manual, whether this guest gets it, and the rule that decided. If several rules hide it, the first is named.", "Cada paso y manual, si este huésped lo recibe, y la regla que lo decidió: la primera, si hay varias en contra.", "Chaque étape et guide, si ce voyageur le reçoit, et la règle qui a décidé : la première, si plusieurs s’y opposent.";
        why_all: "All reasons", "Cada uno con su motivo", "Chacun avec sa raison";
        steps_shown: "{shown} of {all} steps are shown", "Se muestran {shown} de {all} pasos", "{shown} étapes sur {all} sont affichées";
        manuals_shown: "{shown} of {all} manuals are shown", "Se muestran {shown} de {all} manuales", "{shown} guides sur {all} sont affichés";
        portal: "Portal", "Portal", "Portail";
        no_portal_serves: "No portal", "Ningún portal", "Aucun portail";
        shown: "Shown", "Se muestra", "Affiché";
        hidden: "Not shown", "No se muestra", "Masqué";
        all: "All", "Todos", "Tous";
        name: "Name", "Nombre", "Nom";
        show: "Show", "Mostrar", "Afficher";
        reaches: "Assigned to the flat through:", "Llega al alojamiento por:", "Il atteint le logement par :";
        reaches_not: "Nothing that it is assigned to leads to this flat.", "Nada de lo asignado llega al alojamiento.", "Rien de ce à quoi il est affecté n’atteint le logement.";
        hop_property: "flat {name}", "alojamiento {name}", "logement {name}";
        hop_group: "group {name}", "grupo {name}", "groupe {name}";
        hop_tag: "tag {name}", "etiqueta {name}", "étiquette {name}";
        hop_portal: "portal {name}", "el portal {name}", "portail {name}";
        change: "To change this:", "Qué lo cambiaría:", "Ce qui le changerait :";
        open_it: "Open", "Abrirlo", "L’ouvrir";
        open_assignments: "Its assignments", "Sus asignaciones", "Ses affectations";
        open_rule: "The rule", "La regla", "La règle";
        open_portals: "Portals", "Portales", "Portails";
        open_portal: "The portal", "El portal", "Le portail";
        nights_one: "1 night", "1 noche", "1 nuit";
        nights_more: "{count} nights", "{count} noches", "{count} nuits";
        days_one: "1 day", "1 día", "1 jour";
        days_more: "{count} days", "{count} días", "{count} jours";
        hours_one: "1 hour", "1 hora", "1 heure";
        hours_more: "{count} hours", "{count} horas", "{count} heures";
        booked_before: "{days} before check-in", "{days} antes de la llegada", "{days} avant l’arrivée";
        booked_same: "on the day of check-in", "el mismo día de la llegada", "le jour de l’arrivée";
        c_assign: "assign it to the flat, to its group or to one of its tags.", "asignarlo al alojamiento, a su grupo o a una de sus etiquetas.", "l’affecter au logement, à son groupe ou à l’une de ses étiquettes.";
        c_assign_step: "assign it to the flat, to its group, to one of its tags or to its portal.", "asignarlo al alojamiento, a su grupo, a una de sus etiquetas o a su portal.", "l’affecter au logement, à son groupe, à l’une de ses étiquettes ou à son portail.";
        c_activate: "switch it on.", "activarlo.", "l’activer.";
        c_portal: "assign a portal to the flat, or make one the default.", "asignar un portal al alojamiento, o hacer uno predeterminado.", "affecter un portail au logement, ou en choisir un par défaut.";
        c_precheckin: "switch pre-check-in on in the portal.", "activar el registro previo en el portal.", "activer le pré-enregistrement dans le portail.";
        c_flat: "the platform must set the flat of the stay.", "la plataforma debe indicar el alojamiento de la estancia.", "la plateforme doit indiquer le logement du séjour.";
        c_cancelled: "not possible: a guest of a cancelled stay sees nothing.", "nada: al huésped de una estancia cancelada no se le muestra nada.", "rien : le voyageur d’un séjour annulé ne voit rien.";
        c_rule: "another value of this rule.", "otro valor de esta regla.", "une autre valeur de cette règle.";
        c_hide: "switch it off, remove the assignment, or give it a rule that this stay does not meet.", "desactivarlo, quitar la asignación o darle una regla que esta estancia no cumpla.", "le désactiver, retirer l’affectation ou lui donner une règle que ce séjour ne remplit pas.";
        c_hide_always: "switch it off, remove the assignment, or untick “{always}” and give it a rule that this stay does not meet.", "desactivarlo, quitar la asignación, o desmarcar «{always}» y darle una regla que esta estancia no cumpla.", "la désactiver, retirer l’affectation, ou décocher « {always} » et lui donner une règle que ce séjour ne remplit pas.";
        c_at_most: "{field} of {value} or less, or “{always}” ticked.", "{field} de {value} o menos, o marcar «{always}».", "{field} de {value} ou moins, ou cocher « {always} ».";
        c_at_least: "{field} of {value} or more, or “{always}” ticked.", "{field} de {value} o más, o marcar «{always}».", "{field} de {value} ou plus, ou cocher « {always} ».";
        c_days_at_most: "“{field}” set to {value} or less, or left empty; or “{always}” ticked.", "«{field}» con {value} o menos, o vacío; o marcar «{always}».", "« {field} » à {value} ou moins, ou vide ; ou cocher « {always} ».";
        c_days_at_least: "“{field}” set to {value} or more, or left empty; or “{always}” ticked.", "«{field}» con {value} o más, o vacío; o marcar «{always}».", "« {field} » à {value} ou plus, ou vide ; ou cocher « {always} ».";
        withheld: "The booking is not confirmed yet, so the guest does not get: {values}.", "La reserva aún no está confirmada, así que el huésped no recibe: {values}.", "La réservation n’est pas encore confirmée ; le voyageur ne reçoit donc pas : {values}.";
        w_wifi: "the flat’s wireless network", "la red wifi del alojamiento", "le réseau wifi du logement";
        w_door_codes: "door codes", "códigos de puerta", "codes de porte";
        w_wallet_pass: "a wallet pass", "un pase para el monedero", "une carte de portefeuille";
        outdated: "Translations that the English text has left behind: {languages}.", "Traducciones que el texto inglés ha dejado atrás: {languages}.", "Traductions que le texte anglais a laissées derrière lui : {languages}.";
        c_without: "“{field}” without {name}, or “{always}” ticked.", "«{field}» sin {name}, o marcar «{always}».", "« {field} » sans {name}, ou cocher « {always} ».";
        c_with: "“{field}” with {name}, or “{always}” ticked.", "«{field}» con {name}, o marcar «{always}».", "« {field} » avec {name}, ou cocher « {always} ».";
        c_unticked: "“{field}” not ticked, or “{always}” ticked.", "«{field}» sin marcar, o marcar «{always}».", "« {field} » non coché, ou « {always} » coché.";
        c_length_at_most: "“{field}” set to {value} or less, or left empty.", "«{field}» con {value} o menos, o vacío.", "« {field} » à {value} ou moins, ou vide.";
        c_length_at_least: "“{field}” set to {value} or more, or left empty.", "«{field}» con {value} o más, o vacío.", "« {field} » à {value} ou plus, ou vide.";
        c_lets: "a rule “{rule}” that includes {name}.", "una regla «{rule}» que incluya {name}.", "une règle « {rule} » qui comprend {name}.";
        c_earlier: "an earlier start in the rule “{rule}”; or looking at {at} or later.", "un inicio anterior en la regla «{rule}»; o mirar el {at} o más tarde.", "un début plus tôt dans la règle « {rule} » ; ou regarder le {at} ou plus tard.";
        c_later: "a later end in the rule “{rule}”; or looking before {at}.", "un final posterior en la regla «{rule}»; o mirar antes del {at}.", "une fin plus tard dans la règle « {rule} » ; ou regarder avant le {at}.";
        c_stay_over: "a rule “{rule}” with an end.", "una regla «{rule}» con un final.", "une règle « {rule} » avec une fin.";
        c_season: "a season in the rule “{rule}” that has a night of this stay: {days}.", "una temporada en la regla «{rule}» con alguna noche de esta estancia: {days}.", "une saison dans la règle « {rule} » qui comprend une nuit de ce séjour : {days}.";
        c_value_missing: "a value for {name}, or a text without it.", "un valor para {name}, o un texto sin él.", "une valeur pour {name}, ou un texte sans elle.";
        r_value_missing: "Its text names {name}, which has no value here.", "Su texto nombra {name}, que aquí no tiene valor.", "Son texte nomme {name}, qui n’a pas de valeur ici.";
        hidden_text: "A text of it is hidden: {name} has no value here.", "Uno de sus textos está oculto: {name} no tiene valor aquí.", "Un de ses textes est masqué : {name} n’a pas de valeur ici.";
        r_cancelled: "The stay is cancelled.", "La estancia está cancelada.", "Le séjour est annulé.";
        r_no_property: "The stay has no flat yet.", "La estancia aún no tiene alojamiento.", "Le séjour n’a pas encore de logement.";
        r_not_assigned: "It is not assigned to the flat, its group or its tags.", "No está asignado al alojamiento, a su grupo ni a sus etiquetas.", "Il n’est pas affecté au logement, à son groupe ni à ses étiquettes.";
        r_not_assigned_step: "It is not assigned to the flat, its group, its tags or its portal.", "No está asignado al alojamiento, a su grupo, a sus etiquetas ni a su portal.", "Elle n’est pas affectée au logement, à son groupe, à ses étiquettes ni à son portail.";
        r_inactive: "It is not active.", "No está activo.", "Il n’est pas actif.";
        r_no_portal: "No portal serves the flat.", "Ningún portal sirve el alojamiento.", "Aucun portail ne sert le logement.";
        r_precheckin_disabled: "Pre-check-in is switched off on the portal.", "El registro previo está desactivado en el portal.", "Le pré-enregistrement est désactivé dans le portail.";
        r_always_shown: "The step is always shown; its other rules are ignored.", "El paso se muestra siempre; sus otras reglas se ignoran.", "L’étape est toujours affichée ; ses autres règles sont ignorées.";
        r_all_rules_pass: "It is assigned and active, and the stay meets every rule.", "Está asignado y activo, y todas las reglas lo permiten.", "Elle est affectée et active, et toutes les règles le permettent.";
        r_always_visible: "It is assigned and active, and has no visibility rules.", "Está asignado y activo, y no tiene reglas de visibilidad.", "Il est affecté et actif, et n’a pas de règle de visibilité.";
        r_visible: "It is assigned and active, and every visibility rule is met.", "Está asignado y activo, y se cumplen todas las reglas de visibilidad.", "Il est affecté et actif, et toutes les règles de visibilité sont remplies.";
        r_min_los: "The stay has {nights}; the step is for stays of {limit} or more.", "La estancia tiene {nights}; el paso es para estancias de {limit} o más.", "Le séjour compte {nights} ; l’étape est pour des séjours de {limit} ou plus.";
        r_max_los: "The stay has {nights}; the step is for stays of at most {limit}.", "La estancia tiene {nights}; el paso es para estancias de {limit} como máximo.", "Le séjour compte {nights} ; l’étape est pour des séjours de {limit} au plus.";
        r_lead_time_min: "Booked {booked}; the step asks for at least {limit} ahead.", "Se reservó {booked}; el paso pide al menos {limit} de antelación.", "Réservé {booked} ; l’étape demande au moins {limit} d’avance.";
        r_lead_time_max: "Booked {booked}; the step asks for at most {limit} ahead.", "Se reservó {booked}; el paso pide como máximo {limit} de antelación.", "Réservé {booked} ; l’étape demande au plus {limit} d’avance.";
        r_channel_excluded: "Booked through {name}, which is among “{field}”.", "Se reservó por {name}, que está en «{field}».", "Réservé par {name}, qui est dans « {field} ».";
        r_channel_not_included: "Booked through {name}, which is not among “{field}”.", "Se reservó por {name}, que no está en «{field}».", "Réservé par {name}, qui n’est pas dans « {field} ».";
        r_returning_guest: "The guest stayed before, and returning guests skip the step.", "El huésped ya estuvo antes, y quienes vuelven se saltan el paso.", "Le voyageur est déjà venu, et ceux qui reviennent sautent l’étape.";
        r_too_early: "It is shown from {at}, in the flat’s time zone.", "Se muestra a partir del {at}, hora del alojamiento.", "Il s’affiche à partir du {at}, à l’heure du logement.";
        r_too_late: "It is shown until {at}, in the flat’s time zone.", "Se muestra hasta el {at}, hora del alojamiento.", "Il s’affiche jusqu’au {at}, à l’heure du logement.";
        r_stay_over: "The stay is over, and the manual is about the door or the Wi-Fi.", "La estancia ha terminado y el manual trata de la puerta o del wifi.", "Le séjour est terminé et le guide concerne la porte ou le Wi-Fi.";
        r_out_of_season: "No night of the stay is in one of its seasons.", "Ninguna noche de la estancia cae en sus temporadas.", "Aucune nuit du séjour n’est dans ses saisons.";
        r_stay_too_short: "The stay has {nights}; the manual is for stays of {limit} or more.", "La estancia tiene {nights}; el manual es para estancias de {limit} o más.", "Le séjour compte {nights} ; le guide est pour des séjours de {limit} ou plus.";
        r_stay_too_long: "The stay has {nights}; the manual is for stays of at most {limit}.", "La estancia tiene {nights}; el manual es para estancias de {limit} como máximo.", "Le séjour compte {nights} ; le guide est pour des séjours de {limit} au plus.";
        r_booking_source: "It is not shown for bookings through {name}.", "No se muestra para reservas por {name}.", "Il n’est pas affiché pour les réservations par {name}.";
        r_verification_status: "It is not shown while the guest’s identity is: {name}.", "No se muestra mientras la identidad del huésped esté: {name}.", "Il n’est pas affiché tant que l’identité du voyageur est : {name}.";
        r_property: "The portal is assigned to the flat.", "El portal está asignado al alojamiento.", "Le portail est affecté au logement.";
        r_property_group: "The portal is assigned to the flat’s group {name}.", "El portal está asignado al grupo {name} del alojamiento.", "Le portail est affecté au groupe {name} du logement.";
        r_tag: "The portal is assigned to the flat’s tag {name}.", "El portal está asignado a la etiqueta {name} del alojamiento.", "Le portail est affecté à l’étiquette {name} du logement.";
        r_default: "No portal is assigned to the flat; this is the default.", "Ningún portal está asignado al alojamiento; este es el predeterminado.", "Aucun portail n’est affecté au logement ; c’est celui par défaut.";
    }
}

impl Stays {
    /// Describes a number of nights.
    pub fn nights(&self, count: impl Into<i64>) -> String {
        counted(count.into(), self.nights_one, self.nights_more)
    }

    /// Describes a number of days.
    pub fn days(&self, count: impl Into<i64>) -> String {
        counted(count.into(), self.days_one, self.days_more)
    }

    /// Describes a number of hours.
    pub fn hours(&self, count: impl Into<i64>) -> String {
        counted(count.into(), self.hours_one, self.hours_more)
    }

    /// Returns the label and the style of a stay's status.
    pub fn state_label(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "cancelled" => (self.cancelled, "bad"),
            "tentative" => (self.tentative, "off"),
            _ => (self.confirmed, "on"),
        }
    }

    /// Returns the sentence for the rule that decided, with placeholders for its facts. Returns
    /// `None` for an unknown key: the caller then shows the interface's message.
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
            "stay_over" => self.r_stay_over,
            "value_missing" => self.r_value_missing,
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

    /// Returns the change that would show a hidden item, by the key of the rule that decided. The
    /// text has placeholders for the field and for the sufficient value.
    pub fn change(&self, key: &str) -> &'static str {
        match key {
            "cancelled" => self.c_cancelled,
            "no_property" => self.c_flat,
            "not_assigned" => self.c_assign,
            "inactive" => self.c_activate,
            "no_portal" => self.c_portal,
            "precheckin_disabled" => self.c_precheckin,
            "min_los" => self.c_at_most,
            "max_los" => self.c_at_least,
            "lead_time_min" => self.c_days_at_most,
            "lead_time_max" => self.c_days_at_least,
            "channel_excluded" => self.c_without,
            "channel_not_included" => self.c_with,
            "returning_guest" => self.c_unticked,
            "too_early" => self.c_earlier,
            "too_late" => self.c_later,
            "stay_over" => self.c_stay_over,
            "value_missing" => self.c_value_missing,
            "out_of_season" => self.c_season,
            "stay_too_short" => self.c_length_at_most,
            "stay_too_long" => self.c_length_at_least,
            "booking_source" | "verification_status" => self.c_lets,
            _ => self.c_rule,
        }
    }
}
