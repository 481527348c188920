//! Texts of refusals, chosen by the reason and not by its English wording. In English, the message
//! about a field is that of the interface.

use engine::error::{ErrorKind, Reason};

use super::{counted, words};
use crate::words::fill;

words! {
    pub struct RefusedWords {
        validation: "The request is not valid.", "La petición no es válida.", "La requête n’est pas valide.";
        authentication: "Nobody is signed in.", "Nadie ha iniciado sesión.", "Personne n’est connecté.";
        authorization: "This is not allowed.", "Esto no está permitido.", "Ceci n’est pas permis.";
        two_factor: "The organization requires two-factor authentication.", "La organización exige la autenticación de dos factores.", "L’organisation exige l’authentification à deux facteurs.";
        not_found: "Something that this refers to does not exist.", "Algo de lo que se nombra aquí no existe.", "Quelque chose qui est nommé ici n’existe pas.";
        conflict: "This conflicts with the stored data.", "Esto choca con lo que ya hay.", "Ceci entre en conflit avec ce qui existe.";
        business_rule: "This form was already sent with different contents.", "Este formulario ya se envió con otro contenido.", "Ce formulaire a déjà été envoyé avec un autre contenu.";
        rate_limit: "Too many requests; wait a moment.", "Demasiadas peticiones; espere un momento.", "Trop de requêtes ; attendez un instant.";
        provider: "A service that this needs did not answer.", "Un servicio del que esto depende no ha respondido.", "Un service dont ceci dépend n’a pas répondu.";
        unavailable: "This is not available right now.", "No está disponible en este momento.", "Ceci n’est pas disponible pour le moment.";
        internal: "Something went wrong on our side.", "Algo ha fallado por nuestra parte.", "Une erreur s’est produite de notre côté.";
        in_its_words: "{said} The interface says: {english}", "{said} La interfaz dice: {english}", "{said} L’interface dit : {english}";
        permission: "You lack a permission: {wanted}.", "Le falta un permiso: {wanted}.", "Il vous manque une permission : {wanted}.";
        required: "is required", "es obligatorio", "est obligatoire";
        read_only: "cannot be set", "no se puede fijar", "ne peut pas être défini";
        unknown: "is not known here", "no se conoce aquí", "n’est pas connu ici";
        of_type: "must be {wanted}", "tiene que ser {wanted}", "doit être {wanted}";
        wrong_type: "has the wrong form", "no tiene la forma correcta", "n’a pas la bonne forme";
        text: "a text", "un texto", "un texte";
        number: "a number", "un número", "un nombre";
        integer: "a whole number", "un número entero", "un nombre entier";
        switch: "yes or no", "sí o no", "oui ou non";
        list: "a list", "una lista", "une liste";
        object: "a group of fields", "un grupo de campos", "un groupe de champs";
        null: "empty", "vacío", "vide";
        or: " or ", " o ", " ou ";
        empty: "must not be empty", "no puede estar vacío", "ne peut pas être vide";
        min_length: "needs at least {limit} characters", "necesita al menos {limit} caracteres", "doit avoir au moins {limit} caractères";
        max_length: "has more than {limit} characters", "tiene más de {limit} caracteres", "a plus de {limit} caractères";
        min_items: "needs at least {limit}", "necesita al menos {limit}", "doit avoir au moins {limit}";
        max_items: "takes at most {limit}", "admite como mucho {limit}", "accepte au plus {limit}";
        one_item: "1 entry", "1 elemento", "1 élément";
        items: "{count} entries", "{count} elementos", "{count} éléments";
        field_name: "has a name that is not accepted", "tiene un nombre que no se acepta", "a un nom qui n’est pas accepté";
        twice: "must not contain anything twice", "nombra algo dos veces", "nomme quelque chose deux fois";
        minimum: "must be at least {limit}", "tiene que ser al menos {limit}", "doit être au moins {limit}";
        maximum: "must be at most {limit}", "tiene que ser como mucho {limit}", "doit être au plus {limit}";
        one_of: "must be one of {options}", "tiene que ser uno de {options}", "doit être l’un de {options}";
        exactly: "must be {wanted}", "tiene que ser {wanted}", "doit être {wanted}";
        pattern: "does not have the required form", "no está escrito como debe", "n’est pas écrit comme il faut";
        colour: "must be a colour, such as #0E7490", "tiene que ser un color, como #0E7490", "doit être une couleur, comme #0E7490";
        null_character: "contains a character that is not allowed", "tiene un carácter que ningún texto admite", "contient un caractère qu’aucun texte n’admet";
        phone: "is not a phone number", "no es un número de teléfono", "n’est pas un numéro de téléphone";
        passed: "has passed", "ya ha pasado", "est déjà passé";
        repeated: "is given more than once", "se da más de una vez", "est donné plusieurs fois";
        invalid: "is not valid", "no es válido", "n’est pas valide";
        f_uuid: "an id", "un identificador", "un identifiant";
        f_moment: "a moment, such as 2026-11-21T09:30:00.000Z", "un momento, como 2026-11-21T09:30:00.000Z", "un moment, comme 2026-11-21T09:30:00.000Z";
        f_date: "a date, such as 2026-11-21", "una fecha, como 2026-11-21", "une date, comme 2026-11-21";
        f_time: "a time of day, such as 15:00", "una hora, como 15:00", "une heure, comme 15:00";
        f_url: "a full http or https address", "una dirección http o https completa", "une adresse http ou https complète";
        f_https: "a full https address", "una dirección https completa", "une adresse https complète";
        f_url_or_empty: "a full http or https address, or empty", "una dirección http o https completa, o vacío", "une adresse http ou https complète, ou vide";
        f_redirect: "an address that an app can be redirected to", "una dirección a la que se pueda enviar una aplicación", "une adresse vers laquelle une application peut être renvoyée";
        f_email: "a mail address", "una dirección de correo", "une adresse e-mail";
        f_zone: "a time zone, such as Europe/Madrid", "una zona horaria, como Europe/Madrid", "un fuseau horaire, comme Europe/Madrid";
        f_country: "a two-letter country code", "un país de dos letras", "un pays en deux lettres";
        f_currency: "a currency of three letters, such as EUR", "una moneda de tres letras, como EUR", "une devise de trois lettres, comme EUR";
        f_not_blank: "a text that is not blank", "un texto que no esté en blanco", "un texte qui ne soit pas vide";
        f_language: "a language, such as pt-BR", "un idioma, como pt-BR", "une langue, comme pt-BR";
        r_title_in_english: "must be English for the first title of a step", "el primer título de un paso es en inglés", "le premier titre d’une étape est en anglais";
        r_needed_by_active_step: "is required for an active step of this type", "un paso activo de este tipo lo necesita", "une étape active de ce type en a besoin";
        r_title_twice: "must not be sent together with another title", "se da junto a otro título", "est donné à côté d’un autre titre";
        r_title_missing: "must be sent with a title in this language", "necesita un título en este idioma", "demande un titre dans cette langue";
        r_nights_turned: "is not valid: the minimum number of nights is greater than the maximum", "el mínimo de noches supera el máximo", "le minimum de nuits dépasse le maximum";
        r_lead_time_turned: "is not valid: the shortest lead time is longer than the longest", "la antelación mínima supera la máxima", "le délai minimal dépasse le maximal";
        r_needs_channel: "needs at least one channel", "necesita al menos un canal", "demande au moins un canal";
        r_needs_minimum_age: "is required unless the age of guests is ignored", "hace falta salvo que se ignore la edad de los huéspedes", "est nécessaire sauf si l’âge des voyageurs est ignoré";
        r_not_of_step: "does not belong to this step", "no es de este paso", "n’est pas de cette étape";
        r_given_twice: "must not be sent twice", "se da dos veces", "est donné deux fois";
        r_kind_stays: "must not change for an existing question", "una pregunta conserva su tipo", "une question garde son type";
        r_yes_no_options: "must be one of the two options of a yes-or-no question", "una pregunta de sí o no tiene sus dos opciones", "une question oui ou non a ses deux propres options";
        r_yes_no_names: "must not be set for an option of a yes-or-no question", "las opciones de una pregunta de sí o no no tienen nombre propio", "les options d’une question oui ou non n’ont pas de nom propre";
        r_no_options: "must be empty for a question with a free answer", "una pregunta de respuesta libre no tiene opciones", "une question à réponse libre n’a pas d’options";
        r_not_of_question: "does not belong to this question", "no es de esta pregunta", "n’est pas de cette question";
        r_condition_form: "must name an option", "tiene que nombrar una opción", "doit nommer une option";
        r_earlier_option: "must be an option of an earlier question", "tiene que ser una opción de una pregunta anterior", "doit être une option d’une question précédente";
        r_one_cover: "must be the only cover: a manual has an image or an icon", "un manual tiene una portada: una imagen o un icono", "un guide a une seule couverture : une image ou une icône";
        r_needs_custom_field: "is required for a manual that shows a custom field", "un manual que muestra un campo propio tiene que nombrarlo", "un guide qui affiche un champ personnalisé doit le nommer";
        r_no_custom_field: "must be empty unless the manual shows a custom field", "solo lo tiene un manual que muestra un campo propio", "seul un guide qui affiche un champ personnalisé en a un";
        r_needs_title: "is required unless the manual shows a custom field", "es obligatorio, salvo en un manual que muestra un campo propio", "est obligatoire, sauf pour un guide qui affiche un champ personnalisé";
        r_category_twice: "must not be the category of another rule", "es la categoría de otra regla", "est la catégorie d’une autre règle";
        r_needs_start_or_end: "needs a beginning or an end", "necesita un principio o un final", "demande un début ou une fin";
        r_season_turned: "must not be after the end", "es posterior al final", "est après la fin";
        r_length_turned: "must not be longer than the longest stay", "la estancia mínima supera la máxima", "le séjour minimal dépasse le maximal";
        r_needs_number: "is not valid: this way of contact needs its number", "esta forma de contacto necesita su número", "ce moyen de contact demande son numéro";
        r_no_portal_url: "is not an address of a guest portal", "no es una dirección de portal de huéspedes", "n’est pas une adresse de portail voyageurs";
        r_not_for_portals: "cannot be assigned to portals", "no se puede asignar a portales", "ne peut pas être affecté à des portails";
        r_stay_has_flat: "must not be sent with a stay: the stay has its own flat", "la estancia tiene el suyo", "le séjour a le sien";
        r_needs_workflow_step: "is required for this event", "es obligatorio para este evento", "est obligatoire pour cet événement";
        r_workflow_step_form: "must be <workflow id>:<node id>", "tiene que ser <id del flujo>:<id del nodo>", "doit être <identifiant du flux>:<identifiant du nœud>";
        r_no_workflow_step: "is not allowed for this event", "no es para este evento", "n’est pas pour cet événement";
        r_no_flats: "is not allowed for this event", "es para otros eventos", "est pour d’autres événements";
        r_nothing_to_submit: "asks for nothing, so nothing can be submitted", "no pide nada, así que no hay nada que enviar", "ne demande rien, il n’y a donc rien à envoyer";
        r_reserved_guest_field: "may not name id or isRemoved", "no puede nombrar id ni isRemoved", "ne peut pas nommer id ni isRemoved";
        r_rule_without_field: "has a rule for a field that is not asked", "tiene una regla para un dato que no se pide", "a une règle pour une donnée qui n’est pas demandée";
        r_ages_turned: "has an age from which it is asked above the age up to which it is asked", "tiene una edad mínima mayor que la máxima", "a un âge minimal supérieur à l’âge maximal";
        r_text_or_texts: "is sent beside the other form of the text", "se envía junto con la otra forma del texto", "est envoyé avec l’autre forme du texte";
        r_missing_reference: "is not the id of anything that you can see", "es el id de algo que no existe o que no puede ver", "est l’identifiant de quelque chose qui n’existe pas ou que vous ne pouvez pas voir";
        r_other_source: "is a text of another kind", "es un texto de otra cosa", "est un texte d’autre chose";
        m_feed_exists: "The flat has a calendar with this address already.", "El alojamiento ya tiene un calendario con esta dirección.", "Le logement a déjà un calendrier à cette adresse.";
        m_most_feeds: "A flat has at most 20 calendars; delete one first.", "Un alojamiento tiene como mucho 20 calendarios; elimine uno antes.", "Un logement a au plus 20 calendriers ; supprimez-en un d’abord.";
        m_feed_is_fetched: "The calendar is being read; try again in a minute.", "El calendario se está leyendo; inténtelo dentro de un minuto.", "Le calendrier est en cours de lecture ; réessayez dans une minute.";
        r_unknown_placeholder: "names a value in double braces that does not exist", "nombra un valor entre llaves dobles que no existe", "nomme une valeur entre doubles accolades qui n’existe pas";
        r_ambiguous_placeholder: "names a custom field of which there are several with this name", "nombra un campo propio del que hay varios con ese nombre", "nomme un champ personnalisé dont il existe plusieurs de ce nom";
        r_too_long_version: "is too long in one of its languages", "es demasiado largo en uno de sus idiomas", "est trop long dans l’une de ses langues";
        m_in_flight: "The same form is being processed; wait a moment.", "El mismo formulario se está procesando en este momento; espere un poco.", "Le même formulaire est en cours de traitement ; attendez un peu.";
        m_outcome_unknown: "It is not known whether this was done. Check whether it is there before you send it again.", "No se sabe si se ha hecho. Mire si está antes de volver a enviarlo.", "On ne sait pas si cela a été fait. Vérifiez avant de l’envoyer à nouveau.";
        m_changed_since: "This has changed since you read it.", "Esto ha cambiado desde que lo leyó.", "Ceci a changé depuis que vous l’avez lu.";
        m_type_locked: "Stays use the step, so its type cannot change. Create another step instead.", "Hay estancias que usan el paso, así que su tipo no cambia. Cree otro paso.", "Des séjours utilisent l’étape : son type reste le même. Créez plutôt une autre étape.";
        m_fees_of_others: "The step also serves flats that you cannot access, so you cannot change its fees.", "El paso también sirve a alojamientos a los que usted no llega; no puede cambiar sus cargos.", "L’étape sert aussi des logements hors de votre portée : ses frais ne sont pas à vous de changer.";
        m_text_shown_elsewhere: "The text is also shown by something that you cannot change.", "El texto también lo muestra algo que usted no puede cambiar.", "Le texte est aussi affiché par quelque chose que vous ne pouvez pas modifier.";
        m_english_text: "The English text cannot be removed, because other languages are translated from it.", "El texto en inglés no se puede quitar, porque los otros idiomas se traducen de él.", "Le texte anglais ne peut pas être retiré, car les autres langues en sont traduites.";
        m_if_match: "This has changed since you read it.", "Esto ha cambiado desde que lo leyó.", "Ceci a changé depuis que vous l’avez lu.";
        r_blank_for_plus: "has a blank where a plus sign belongs", "tiene un espacio donde va un signo más", "a une espace à la place d’un signe plus";
        m_category_in_use: "Manuals are filed under this category; move them to another one first.", "Hay manuales en esta categoría.", "Des guides sont classés dans cette catégorie.";
        m_category_title_taken: "Another category has this title.", "Otra categoría tiene este título.", "Une autre catégorie a ce titre.";
        m_category_of_others: "Manuals of flats that you cannot access are filed under this category.", "En esta categoría hay manuales de alojamientos a los que usted no llega.", "Des guides de logements hors de votre portée sont classés dans cette catégorie.";
        m_no_event: "You lack a permission: you cannot subscribe to any event.", "Le falta un permiso: no hay ningún evento del que se le pueda avisar.", "Il vous manque une permission : aucun événement ne peut vous être signalé.";
        m_event_of_apps: "Only a connected app can subscribe to this event.", "De este evento solo se avisa a una aplicación conectada.", "Seule une application connectée est avertie de cet événement.";
        m_subscription_disabled: "The subscription is disabled; nothing more is sent for it.", "La suscripción está desactivada: ya no se envía nada.", "L’abonnement est désactivé : plus rien n’est envoyé.";
        m_most_subscriptions: "The limit of active subscriptions is reached; delete one first.", "Ya hay tantas suscripciones activas como puede haber.", "Il y a déjà autant d’abonnements actifs qu’il peut y en avoir.";
        m_webhook_event_differs: "Choose a subscription to the same event.", "Elija una suscripción al mismo evento.", "Choisissez un abonnement au même événement.";
        m_delivery_pending: "The delivery is still pending; it will be sent anyway.", "La entrega aún no se ha enviado: se enviará tal como está.", "La livraison n’est pas encore partie : elle partira telle quelle.";
        m_not_in_review: "This pre-check-in is not in review.", "Este pre-check-in no espera la decisión de nadie.", "Ce pré-check-in n’attend la décision de personne.";
        m_guest_has_arrived: "The check-in time has passed, so this approved pre-check-in stays as it is.", "Ya ha pasado la hora de llegada: este pre-check-in aprobado se queda como está.", "L’heure d’arrivée est passée : ce pré-check-in approuvé reste tel quel.";
        m_stay_over: "The stay is over, so nothing can be changed in its pre-check-in.", "La estancia ha terminado: su pre-check-in ya no se puede cambiar.", "Le séjour est terminé : son pré-check-in ne peut plus être modifié.";
        m_text_changed: "The text of the agreement has changed since it was shown.", "El texto del contrato ha cambiado desde que se mostró.", "Le texte du contrat a changé depuis qu’il a été affiché.";
        m_default_branding: "This is the default branding; make another one the default instead.", "Esta es la marca predeterminada; haga predeterminada otra.", "C’est l’identité par défaut ; choisissez-en une autre par défaut.";
        m_default_portal: "This is the only default portal; make another one the default instead.", "Este es el único portal predeterminado; haga predeterminado otro.", "C’est le seul portail par défaut ; choisissez-en un autre par défaut.";
        m_default_portal_of_all: "Only a member with access to every flat can choose the default portal.", "Solo elige el portal predeterminado quien llega a todos los alojamientos.", "Seul qui a tous les logements à sa portée choisit le portail par défaut.";
        m_portal_name_taken: "Another portal has this name.", "Otro portal tiene este nombre.", "Un autre portail porte ce nom.";
        m_portal_of_others: "You cannot assign this portal, because it also serves flats that you cannot access.", "No puede asignar este portal: también sirve a alojamientos a los que usted no llega.", "Ce portail n’est pas à vous d’affecter : il sert aussi des logements hors de votre portée.";
        m_keys_of_platform: "Only the platform can manage API keys here.", "Aquí las claves de API las crea la plataforma.", "Ici, les clés d’API sont créées par la plateforme.";
        m_keys_of_members: "Only a signed-in member with access to every flat can manage API keys.", "Las claves de API las crean miembros con sesión iniciada que llegan a todos los alojamientos.", "Les clés d’API sont créées par des membres connectés qui ont tous les logements à leur portée.";
        m_key_holds_more: "A key can have only permissions that you have.", "La clave tendría un permiso que usted no tiene.", "La clé aurait une permission que vous n’avez pas.";
        m_managed_by_platform: "The platform manages this record; change it there.", "La plataforma gestiona este registro; cámbielo allí.", "La plateforme gère cet élément ; modifiez-le là-bas.";
        m_records_of_every_property: "Only somebody with access to every flat can change records.", "Solo quien llega a todos los alojamientos puede cambiar registros.", "Seule une personne qui a accès à tous les logements peut modifier les éléments.";
        m_members_by_members: "Only a signed-in member with access to every flat can manage members.", "Solo un miembro con sesión iniciada que llega a todos los alojamientos puede gestionar miembros.", "Seul un membre connecté qui a accès à tous les logements peut gérer les membres.";
        m_member_holds_more: "You can give and take only permissions that you have.", "Solo puede dar y quitar permisos que usted tiene.", "Vous ne pouvez donner et retirer que des permissions que vous avez.";
        m_member_exists: "A member with this email address exists already.", "Ya hay un miembro con este correo electrónico.", "Un membre a déjà cette adresse e-mail.";
        m_own_membership: "You cannot take your own access away; another member can.", "No puede quitarse su propio acceso; otro miembro puede hacerlo.", "Vous ne pouvez pas retirer votre propre accès ; un autre membre le peut.";
        m_member_inactive: "This member is not active; make them active first.", "Este miembro no está activo; actívelo primero.", "Ce membre n’est pas actif ; activez-le d’abord.";
        m_no_photos: "Stock photo search is not configured.", "No hay ningún servicio de fotos configurado.", "Aucun service de photos n’est configuré.";
        r_webhook_target: "must be an https address on the public internet", "no es una dirección https accesible desde aquí", "n’est pas une adresse https joignable d’ici";
        m_remote_control_off: "The remote control of this device is off.", "El control remoto de este dispositivo está desactivado.", "La commande à distance de cet appareil est désactivée.";
        m_device_archived: "This device is archived.", "Este dispositivo está archivado.", "Cet appareil est archivé.";
        r_device_type: "is a device of another type", "es un dispositivo de otro tipo", "est un appareil d’un autre type";
        m_device_refused: "The provider of the device refused the command.", "El proveedor del dispositivo rechazó la orden.", "Le fournisseur de l’appareil a refusé la commande.";
        m_device_unanswered: "The device did not confirm the command.", "El dispositivo no confirmó la orden.", "L’appareil n’a pas confirmé la commande.";
        m_no_device_connector: "No service for devices is set up.", "No hay ningún servicio de dispositivos configurado.", "Aucun service d’appareils n’est configuré.";
    }
}

/// The beginning of the pattern for colours in the schema.
const OF_COLOURS: &str = "^#";

impl RefusedWords {
    /// Returns the text for a kind of refusal.
    pub const fn kind(&self, kind: ErrorKind) -> &'static str {
        match kind {
            ErrorKind::Validation => self.validation,
            ErrorKind::Authentication => self.authentication,
            ErrorKind::Authorization => self.authorization,
            ErrorKind::TwoFactor => self.two_factor,
            ErrorKind::NotFound | ErrorKind::Gone => self.not_found,
            ErrorKind::Conflict => self.conflict,
            ErrorKind::BusinessRule => self.business_rule,
            ErrorKind::RateLimit => self.rate_limit,
            ErrorKind::Internal => self.internal,
            ErrorKind::Provider => self.provider,
            ErrorKind::Unavailable => self.unavailable,
        }
    }

    /// Returns the text for the reason of a field or a request. Returns `None` if only the
    /// interface's message exists.
    pub fn reason(&self, reason: &Reason) -> Option<String> {
        let limited = |text: &str, limit: &str| fill(text, &[("limit", limit)]);
        let wanted = |text: &str| fill(self.of_type, &[("wanted", text)]);
        Some(match reason {
            Reason::Required => self.required.into(),
            Reason::ReadOnly => self.read_only.into(),
            Reason::Unknown | Reason::Misspelt(_) | Reason::InsideData => self.unknown.into(),
            Reason::Type(names) => wanted(
                &names
                    .split(" or ")
                    .map(|name| self.of_name(name))
                    .collect::<Vec<_>>()
                    .join(self.or),
            ),
            Reason::WrongType => self.wrong_type.into(),
            Reason::Empty | Reason::Blank => self.empty.into(),
            Reason::MinLength(limit) => limited(self.min_length, &limit.to_string()),
            Reason::MaxLength(limit) => limited(self.max_length, &limit.to_string()),
            Reason::MinItems(limit) => limited(self.min_items, &self.entries(*limit)),
            Reason::MaxItems(limit) | Reason::MaxFields(limit) => {
                limited(self.max_items, &self.entries(*limit))
            }
            Reason::FieldName(_) => self.field_name.into(),
            Reason::Twice => self.twice.into(),
            Reason::Minimum(limit) => limited(self.minimum, limit),
            Reason::Maximum(limit) => limited(self.maximum, limit),
            Reason::OneOf(options) => fill(self.one_of, &[("options", options)]),
            Reason::Exactly(value) => fill(self.exactly, &[("wanted", value)]),
            Reason::Pattern(pattern) if pattern.starts_with(OF_COLOURS) => self.colour.into(),
            Reason::Pattern(_) => self.pattern.into(),
            Reason::Format(name, _) => wanted(self.format(name)?),
            Reason::NullCharacter => self.null_character.into(),
            Reason::Phone => self.phone.into(),
            Reason::Passed => self.passed.into(),
            Reason::Repeated => self.repeated.into(),
            Reason::NoSwitch => wanted(self.switch),
            Reason::NoInteger => wanted(self.integer),
            Reason::Invalid => self.invalid.into(),
            Reason::Rule(name, _) => self.rule(name)?.into(),
            Reason::Permission(_) | Reason::Text(_) => return None,
        })
    }

    fn entries(&self, count: u64) -> String {
        counted(
            i64::try_from(count).unwrap_or(i64::MAX),
            self.one_item,
            self.items,
        )
    }

    fn of_name(&self, name: &str) -> &'static str {
        match name {
            "string" => self.text,
            "integer" => self.integer,
            "number" => self.number,
            "boolean" => self.switch,
            "array" => self.list,
            "null" => self.null,
            _ => self.object,
        }
    }

    fn format(&self, name: &str) -> Option<&'static str> {
        Some(match name {
            "uuid" => self.f_uuid,
            "date-time" => self.f_moment,
            "date" => self.f_date,
            "time-of-day" => self.f_time,
            "http-url" => self.f_url,
            "https-url" => self.f_https,
            "http-url-or-empty" => self.f_url_or_empty,
            "redirect-uri" => self.f_redirect,
            "email" => self.f_email,
            "time-zone" => self.f_zone,
            "country" => self.f_country,
            "currency" => self.f_currency,
            "language" => self.f_language,
            "not-blank" => self.f_not_blank,
            _ => return None,
        })
    }

    fn rule(&self, name: &str) -> Option<&'static str> {
        Some(match name {
            "title_in_english" => self.r_title_in_english,
            "needed_by_active_step" => self.r_needed_by_active_step,
            "title_twice" => self.r_title_twice,
            "title_missing" => self.r_title_missing,
            "nights_turned" => self.r_nights_turned,
            "lead_time_turned" => self.r_lead_time_turned,
            "needs_channel" => self.r_needs_channel,
            "needs_minimum_age" => self.r_needs_minimum_age,
            "not_of_step" => self.r_not_of_step,
            "given_twice" => self.r_given_twice,
            "kind_stays" => self.r_kind_stays,
            "yes_no_options" => self.r_yes_no_options,
            "yes_no_names" => self.r_yes_no_names,
            "no_options" => self.r_no_options,
            "not_of_question" => self.r_not_of_question,
            "condition_form" => self.r_condition_form,
            "earlier_option" => self.r_earlier_option,
            "one_cover" => self.r_one_cover,
            "needs_custom_field" => self.r_needs_custom_field,
            "no_custom_field" => self.r_no_custom_field,
            "needs_title" => self.r_needs_title,
            "category_twice" => self.r_category_twice,
            "needs_start_or_end" => self.r_needs_start_or_end,
            "season_turned" => self.r_season_turned,
            "length_turned" => self.r_length_turned,
            "needs_number" => self.r_needs_number,
            "no_portal_url" => self.r_no_portal_url,
            "not_for_portals" => self.r_not_for_portals,
            "stay_has_flat" => self.r_stay_has_flat,
            "needs_workflow_step" => self.r_needs_workflow_step,
            "workflow_step_form" => self.r_workflow_step_form,
            "no_workflow_step" => self.r_no_workflow_step,
            "no_flats" => self.r_no_flats,
            "missing_reference" => self.r_missing_reference,
            "text_or_texts" => self.r_text_or_texts,
            "reserved_guest_field" => self.r_reserved_guest_field,
            "rule_without_field" => self.r_rule_without_field,
            "ages_turned" => self.r_ages_turned,
            "nothing_to_submit" => self.r_nothing_to_submit,
            "other_source" => self.r_other_source,
            "feed_exists" => self.m_feed_exists,
            "most_feeds" => self.m_most_feeds,
            "feed_is_fetched" => self.m_feed_is_fetched,
            "unknown_placeholder" => self.r_unknown_placeholder,
            "ambiguous_placeholder" => self.r_ambiguous_placeholder,
            "too_long_version" => self.r_too_long_version,
            "webhook-target" => self.r_webhook_target,
            "in_flight" => self.m_in_flight,
            "outcome_unknown" => self.m_outcome_unknown,
            "changed_since" => self.m_changed_since,
            "type_locked" => self.m_type_locked,
            "fees_of_others" => self.m_fees_of_others,
            "text_shown_elsewhere" => self.m_text_shown_elsewhere,
            "english_text" => self.m_english_text,
            "if_match" => self.m_if_match,
            "blank_for_plus" => self.r_blank_for_plus,
            "category_in_use" => self.m_category_in_use,
            "category_title_taken" => self.m_category_title_taken,
            "category_of_others" => self.m_category_of_others,
            "no_event" => self.m_no_event,
            "event_of_apps" => self.m_event_of_apps,
            "subscription_disabled" => self.m_subscription_disabled,
            "most_subscriptions" => self.m_most_subscriptions,
            "webhook_event_differs" => self.m_webhook_event_differs,
            "delivery_pending" => self.m_delivery_pending,
            "not_in_review" => self.m_not_in_review,
            "guest_has_arrived" => self.m_guest_has_arrived,
            "stay_over" => self.m_stay_over,
            "text_changed" => self.m_text_changed,
            "default_branding" => self.m_default_branding,
            "default_portal" => self.m_default_portal,
            "default_portal_of_all" => self.m_default_portal_of_all,
            "portal_name_taken" => self.m_portal_name_taken,
            "portal_of_others" => self.m_portal_of_others,
            "keys_of_platform" => self.m_keys_of_platform,
            "keys_of_members" => self.m_keys_of_members,
            "key_holds_more" => self.m_key_holds_more,
            "managed_by_platform" => self.m_managed_by_platform,
            "records_of_every_property" => self.m_records_of_every_property,
            "members_by_members" => self.m_members_by_members,
            "member_holds_more" => self.m_member_holds_more,
            "member_exists" => self.m_member_exists,
            "own_membership" => self.m_own_membership,
            "member_inactive" => self.m_member_inactive,
            "no_photos" => self.m_no_photos,
            "remote_control_off" => self.m_remote_control_off,
            "device_archived" => self.m_device_archived,
            "device_type" => self.r_device_type,
            "device_refused" => self.m_device_refused,
            "device_unanswered" => self.m_device_unanswered,
            "no_device_connector" => self.m_no_device_connector,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{fs, io};

    use engine::app::NetworkFormat;
    use engine::format;

    use super::*;
    use crate::app::app;

    /// Collects the names of rules in the files of a folder.
    fn named(folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                named(&path, names)?;
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && !path.ends_with("words/refused.rs")
            {
                let text = fs::read_to_string(&path)?;
                let begins = text
                    .split("Reason::rule(")
                    .skip(1)
                    .filter_map(|rest| rest.trim_start().strip_prefix('"'));
                names.extend(
                    begins
                        .filter_map(|rest| rest.split_once('"'))
                        .map(|(name, _)| name.to_owned()),
                );
            }
        }
        Ok(())
    }

    #[test]
    fn every_reason_and_format_has_a_spanish_and_french_text() {
        let mut rules = Vec::new();
        for folder in ["src", "crates/engine/src"] {
            named(
                &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
                &mut rules,
            )
            .unwrap();
        }
        assert!(rules.len() > 30, "{rules:?}");
        rules.extend(
            app()
                .lists
                .all::<NetworkFormat>()
                .iter()
                .map(|format| format.name.to_owned()),
        );
        for words in [RefusedWords::SPANISH, RefusedWords::FRENCH] {
            let unsaid: Vec<_> = rules
                .iter()
                .filter(|name| words.rule(name).is_none())
                .collect();
            let formats: Vec<_> = format::STATIC
                .iter()
                .map(|format| format.name)
                .filter(|name| words.format(name).is_none())
                .collect();
            assert!(
                unsaid.is_empty() && formats.is_empty(),
                "codes without words: {unsaid:?} {formats:?}"
            );
        }
    }

    #[test]
    fn a_translated_reason_contains_its_values() {
        let text = |reason| RefusedWords::SPANISH.reason(&reason).unwrap();
        assert_eq!(text(Reason::MaxLength(40)), "tiene más de 40 caracteres");
        assert_eq!(
            text(Reason::Type("string or null".into())),
            "tiene que ser un texto o vacío"
        );
        assert_eq!(text(Reason::MinItems(1)), "necesita al menos 1 elemento");
        assert_eq!(text(Reason::MaxItems(3)), "admite como mucho 3 elementos");
        assert_eq!(
            text(Reason::Pattern("^#(?:[0-9A-Fa-f]{3})$".into())),
            "tiene que ser un color, como #0E7490"
        );
        assert_eq!(RefusedWords::FRENCH.reason(&"in other words".into()), None);
    }
}
