//! What is said of what an operation refuses: by what is wrong, never by how that reads in English. Of a field English says it in the
//! interface's own words, which stand beside the field.

use engine::error::{Kind, Reason};

use super::{counted, words};
use crate::words::fill;

words! {
    /// What is said of what an operation refuses.
    pub struct Refused {
        validation: "The request is not valid.", "La petición no es válida.", "La requête n’est pas valide.";
        authentication: "Nobody is signed in.", "Nadie ha iniciado sesión.", "Personne n’est connecté.";
        authorization: "This is not allowed.", "Esto no está permitido.", "Ceci n’est pas permis.";
        two_factor: "The organization requires two-factor authentication.", "La organización exige la autenticación de dos factores.", "L’organisation exige l’authentification à deux facteurs.";
        not_found: "Something that this names is not there.", "Algo de lo que se nombra aquí no existe.", "Quelque chose qui est nommé ici n’existe pas.";
        conflict: "This conflicts with what is there.", "Esto choca con lo que ya hay.", "Ceci entre en conflit avec ce qui existe.";
        business_rule: "This form was sent before with other contents.", "Este formulario ya se envió con otro contenido.", "Ce formulaire a déjà été envoyé avec un autre contenu.";
        rate_limit: "Too many requests; wait a moment.", "Demasiadas peticiones; espere un momento.", "Trop de requêtes ; attendez un instant.";
        provider: "A service this depends on did not answer.", "Un servicio del que esto depende no ha respondido.", "Un service dont ceci dépend n’a pas répondu.";
        unavailable: "This is not available right now.", "No está disponible en este momento.", "Ceci n’est pas disponible pour le moment.";
        internal: "Something went wrong on our side.", "Algo ha fallado por nuestra parte.", "Une erreur s’est produite de notre côté.";
        in_its_words: "{said} The interface says: {english}", "{said} La interfaz dice: {english}", "{said} L’interface dit : {english}";
        permission: "You lack a permission: {wanted}.", "Le falta un permiso: {wanted}.", "Il vous manque une permission : {wanted}.";
        required: "is required", "es obligatorio", "est obligatoire";
        read_only: "cannot be set", "no se puede fijar", "ne peut pas être défini";
        unknown: "is not known here", "no se conoce aquí", "n’est pas connu ici";
        of_type: "has to be {wanted}", "tiene que ser {wanted}", "doit être {wanted}";
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
        twice: "names something twice", "nombra algo dos veces", "nomme quelque chose deux fois";
        minimum: "has to be at least {limit}", "tiene que ser al menos {limit}", "doit être au moins {limit}";
        maximum: "has to be at most {limit}", "tiene que ser como mucho {limit}", "doit être au plus {limit}";
        one_of: "has to be one of {options}", "tiene que ser uno de {options}", "doit être l’un de {options}";
        exactly: "has to be {wanted}", "tiene que ser {wanted}", "doit être {wanted}";
        pattern: "is not written as it has to be", "no está escrito como debe", "n’est pas écrit comme il faut";
        colour: "has to be a colour, such as #0E7490", "tiene que ser un color, como #0E7490", "doit être une couleur, comme #0E7490";
        null_character: "has a character that no text may have", "tiene un carácter que ningún texto admite", "contient un caractère qu’aucun texte n’admet";
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
        f_redirect: "an address that an app may be sent to", "una dirección a la que se pueda enviar una aplicación", "une adresse vers laquelle une application peut être renvoyée";
        f_email: "a mail address", "una dirección de correo", "une adresse e-mail";
        f_zone: "a time zone, such as Europe/Madrid", "una zona horaria, como Europe/Madrid", "un fuseau horaire, comme Europe/Madrid";
        f_country: "a country of two letters", "un país de dos letras", "un pays en deux lettres";
        f_language: "a language, such as pt-BR", "un idioma, como pt-BR", "une langue, comme pt-BR";
        r_title_in_english: "the first title of a step is in English", "el primer título de un paso es en inglés", "le premier titre d’une étape est en anglais";
        r_needed_by_active_step: "an active step of this type needs it", "un paso activo de este tipo lo necesita", "une étape active de ce type en a besoin";
        r_title_twice: "is given beside another title", "se da junto a otro título", "est donné à côté d’un autre titre";
        r_title_missing: "needs a title in this language", "necesita un título en este idioma", "demande un titre dans cette langue";
        r_nights_turned: "the fewest nights are more than the most", "el mínimo de noches supera el máximo", "le minimum de nuits dépasse le maximum";
        r_lead_time_turned: "the shortest lead time is more than the longest", "la antelación mínima supera la máxima", "le délai minimal dépasse le maximal";
        r_needs_channel: "needs at least one channel", "necesita al menos un canal", "demande au moins un canal";
        r_needs_minimum_age: "is needed unless the age of guests is ignored", "hace falta salvo que se ignore la edad de los huéspedes", "est nécessaire sauf si l’âge des voyageurs est ignoré";
        r_not_of_step: "is none of this step", "no es de este paso", "n’est pas de cette étape";
        r_given_twice: "is given twice", "se da dos veces", "est donné deux fois";
        r_kind_stays: "a question keeps its kind", "una pregunta conserva su tipo", "une question garde son type";
        r_yes_no_options: "a yes-or-no question has its own two options", "una pregunta de sí o no tiene sus dos opciones", "une question oui ou non a ses deux propres options";
        r_yes_no_names: "the options of a yes-or-no question have no names of their own", "las opciones de una pregunta de sí o no no tienen nombre propio", "les options d’une question oui ou non n’ont pas de nom propre";
        r_no_options: "a question for a free answer has no options", "una pregunta de respuesta libre no tiene opciones", "une question à réponse libre n’a pas d’options";
        r_not_of_question: "is none of this question", "no es de esta pregunta", "n’est pas de cette question";
        r_condition_form: "has to name an option", "tiene que nombrar una opción", "doit nommer une option";
        r_earlier_option: "has to be an option of an earlier question", "tiene que ser una opción de una pregunta anterior", "doit être une option d’une question précédente";
        r_one_cover: "a manual has one cover: an image or an icon", "un manual tiene una portada: una imagen o un icono", "un guide a une seule couverture : une image ou une icône";
        r_needs_custom_field: "a manual that shows a custom field has to name it", "un manual que muestra un campo propio tiene que nombrarlo", "un guide qui affiche un champ personnalisé doit le nommer";
        r_no_custom_field: "only a manual that shows a custom field has one", "solo lo tiene un manual que muestra un campo propio", "seul un guide qui affiche un champ personnalisé en a un";
        r_needs_title: "is required, but for a manual that shows a custom field", "es obligatorio, salvo en un manual que muestra un campo propio", "est obligatoire, sauf pour un guide qui affiche un champ personnalisé";
        r_category_twice: "is the category of another rule", "es la categoría de otra regla", "est la catégorie d’une autre règle";
        r_needs_start_or_end: "needs a beginning or an end", "necesita un principio o un final", "demande un début ou une fin";
        r_season_turned: "is after the end", "es posterior al final", "est après la fin";
        r_length_turned: "the shortest stay is longer than the longest", "la estancia mínima supera la máxima", "le séjour minimal dépasse le maximal";
        r_needs_number: "this way of contact needs its number", "esta forma de contacto necesita su número", "ce moyen de contact demande son numéro";
        r_no_portal_url: "is no address of a guest portal", "no es una dirección de portal de huéspedes", "n’est pas une adresse de portail voyageurs";
        r_not_for_portals: "cannot be assigned to portals", "no se puede asignar a portales", "ne peut pas être affecté à des portails";
        r_stay_has_flat: "the stay has its own", "la estancia tiene el suyo", "le séjour a le sien";
        r_needs_workflow_step: "is required for this event", "es obligatorio para este evento", "est obligatoire pour cet événement";
        r_no_workflow_step: "is not for this event", "no es para este evento", "n’est pas pour cet événement";
        r_no_flats: "is for other events", "es para otros eventos", "est pour d’autres événements";
        r_other_source: "is a text of something else", "es un texto de otra cosa", "est un texte d’autre chose";
        r_too_long_version: "is too long in one of its languages", "es demasiado largo en uno de sus idiomas", "est trop long dans l’une de ses langues";
        m_in_flight: "The same form is being dealt with at this moment; wait a little.", "El mismo formulario se está procesando en este momento; espere un poco.", "Le même formulaire est en cours de traitement ; attendez un peu.";
        m_outcome_unknown: "Whether this was done is not known. Look whether it is there before you send it again.", "No se sabe si se ha hecho. Mire si está antes de volver a enviarlo.", "On ne sait pas si cela a été fait. Vérifiez avant de l’envoyer à nouveau.";
        m_changed_since: "This has changed since you read it.", "Esto ha cambiado desde que lo leyó.", "Ceci a changé depuis que vous l’avez lu.";
        m_type_locked: "The step is used by stays, so its type stays as it is. Make another step instead.", "Hay estancias que usan el paso, así que su tipo no cambia. Cree otro paso.", "Des séjours utilisent l’étape : son type reste le même. Créez plutôt une autre étape.";
        m_fees_of_others: "The step also serves flats that you do not reach, so its fees are not yours to change.", "El paso también sirve a alojamientos a los que usted no llega; no puede cambiar sus cargos.", "L’étape sert aussi des logements hors de votre portée : ses frais ne sont pas à vous de changer.";
        m_text_shown_elsewhere: "The text is also shown by something that you may not change.", "El texto también lo muestra algo que usted no puede cambiar.", "Le texte est aussi affiché par quelque chose que vous ne pouvez pas modifier.";
        m_category_in_use: "Manuals are filed under this category.", "Hay manuales en esta categoría.", "Des guides sont classés dans cette catégorie.";
        m_category_title_taken: "Another category has this title.", "Otra categoría tiene este título.", "Une autre catégorie a ce titre.";
        m_category_of_others: "Manuals on flats that you do not reach are filed under this category.", "En esta categoría hay manuales de alojamientos a los que usted no llega.", "Des guides de logements hors de votre portée sont classés dans cette catégorie.";
        m_no_event: "You lack a permission: there is no event that you may hear of.", "Le falta un permiso: no hay ningún evento del que se le pueda avisar.", "Il vous manque une permission : aucun événement ne peut vous être signalé.";
        m_event_of_apps: "Only a connected app hears of this event.", "De este evento solo se avisa a una aplicación conectada.", "Seule une application connectée est avertie de cet événement.";
        m_subscription_disabled: "The subscription is disabled: nothing is sent for it any more.", "La suscripción está desactivada: ya no se envía nada.", "L’abonnement est désactivé : plus rien n’est envoyé.";
        m_most_subscriptions: "There are as many active subscriptions as there may be.", "Ya hay tantas suscripciones activas como puede haber.", "Il y a déjà autant d’abonnements actifs qu’il peut y en avoir.";
        m_delivery_pending: "The delivery has not been sent yet: it will be sent as it is.", "La entrega aún no se ha enviado: se enviará tal como está.", "La livraison n’est pas encore partie : elle partira telle quelle.";
        m_not_in_review: "This pre-check-in does not wait for anybody’s decision.", "Este pre-check-in no espera la decisión de nadie.", "Ce pré-check-in n’attend la décision de personne.";
        m_default_branding: "This is the default branding; make another one the default instead.", "Esta es la marca predeterminada; haga predeterminada otra.", "C’est l’identité par défaut ; choisissez-en une autre par défaut.";
        m_default_portal: "This is the only default portal; make another one the default instead.", "Este es el único portal predeterminado; haga predeterminado otro.", "C’est le seul portail par défaut ; choisissez-en un autre par défaut.";
        m_default_portal_of_all: "Only who reaches every flat chooses the default portal.", "Solo elige el portal predeterminado quien llega a todos los alojamientos.", "Seul qui a tous les logements à sa portée choisit le portail par défaut.";
        m_portal_name_taken: "Another portal has this name.", "Otro portal tiene este nombre.", "Un autre portail porte ce nom.";
        m_portal_of_others: "This portal is not yours to assign: it also serves flats that you do not reach.", "No puede asignar este portal: también sirve a alojamientos a los que usted no llega.", "Ce portail n’est pas à vous d’affecter : il sert aussi des logements hors de votre portée.";
        m_keys_of_platform: "API keys are made by the platform here.", "Aquí las claves de API las crea la plataforma.", "Ici, les clés d’API sont créées par la plateforme.";
        m_keys_of_members: "API keys are made by members who are signed in and reach every flat.", "Las claves de API las crean miembros con sesión iniciada que llegan a todos los alojamientos.", "Les clés d’API sont créées par des membres connectés qui ont tous les logements à leur portée.";
        m_key_holds_more: "The key would hold a permission that you do not hold.", "La clave tendría un permiso que usted no tiene.", "La clé aurait une permission que vous n’avez pas.";
        m_no_photos: "No service of stock photos is set up.", "No hay ningún servicio de fotos configurado.", "Aucun service de photos n’est configuré.";
        r_webhook_target: "is no https address that may be reached from here", "no es una dirección https accesible desde aquí", "n’est pas une adresse https joignable d’ici";
    }
}

/// How the pattern of colours begins, as the schema has it.
const OF_COLOURS: &str = "^#";

impl Refused {
    /// What a refusal is as a whole.
    pub const fn kind(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Validation => self.validation,
            Kind::Authentication => self.authentication,
            Kind::Authorization => self.authorization,
            Kind::TwoFactor => self.two_factor,
            Kind::NotFound | Kind::Gone => self.not_found,
            Kind::Conflict => self.conflict,
            Kind::BusinessRule => self.business_rule,
            Kind::RateLimit => self.rate_limit,
            Kind::Internal => self.internal,
            Kind::Provider => self.provider,
            Kind::Unavailable => self.unavailable,
        }
    }

    /// What is wrong with a field or a request; nothing where there are no words for it but the interface's.
    pub fn reason(&self, reason: &Reason) -> Option<String> {
        let limited = |text: &str, limit: &str| fill(text, &[("limit", limit)]);
        let wanted = |text: &str| fill(self.of_type, &[("wanted", text)]);
        Some(match reason {
            Reason::Required => self.required.into(),
            Reason::ReadOnly => self.read_only.into(),
            Reason::Unknown | Reason::InsideData => self.unknown.into(),
            Reason::Type(names) => wanted(&names.split(" or ").map(|name| self.of_name(name)).collect::<Vec<_>>().join(self.or)),
            Reason::WrongType => self.wrong_type.into(),
            Reason::Empty | Reason::Blank => self.empty.into(),
            Reason::MinLength(limit) => limited(self.min_length, &limit.to_string()),
            Reason::MaxLength(limit) => limited(self.max_length, &limit.to_string()),
            Reason::MinItems(limit) => limited(self.min_items, &self.entries(*limit)),
            Reason::MaxItems(limit) | Reason::MaxFields(limit) => limited(self.max_items, &self.entries(*limit)),
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
            Reason::Permission(_) | Reason::Said(_) => return None,
        })
    }

    fn entries(&self, count: u64) -> String {
        counted(i64::try_from(count).unwrap_or(i64::MAX), self.one_item, self.items)
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
            "language" => self.f_language,
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
            "no_workflow_step" => self.r_no_workflow_step,
            "no_flats" => self.r_no_flats,
            "other_source" => self.r_other_source,
            "too_long_version" => self.r_too_long_version,
            "webhook-target" => self.r_webhook_target,
            "in_flight" => self.m_in_flight,
            "outcome_unknown" => self.m_outcome_unknown,
            "changed_since" => self.m_changed_since,
            "type_locked" => self.m_type_locked,
            "fees_of_others" => self.m_fees_of_others,
            "text_shown_elsewhere" => self.m_text_shown_elsewhere,
            "category_in_use" => self.m_category_in_use,
            "category_title_taken" => self.m_category_title_taken,
            "category_of_others" => self.m_category_of_others,
            "no_event" => self.m_no_event,
            "event_of_apps" => self.m_event_of_apps,
            "subscription_disabled" => self.m_subscription_disabled,
            "most_subscriptions" => self.m_most_subscriptions,
            "delivery_pending" => self.m_delivery_pending,
            "not_in_review" => self.m_not_in_review,
            "default_branding" => self.m_default_branding,
            "default_portal" => self.m_default_portal,
            "default_portal_of_all" => self.m_default_portal_of_all,
            "portal_name_taken" => self.m_portal_name_taken,
            "portal_of_others" => self.m_portal_of_others,
            "keys_of_platform" => self.m_keys_of_platform,
            "keys_of_members" => self.m_keys_of_members,
            "key_holds_more" => self.m_key_holds_more,
            "no_photos" => self.m_no_photos,
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

    /// The names of rules in the files of a folder.
    fn named(folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                named(&path, names)?;
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("words/refused.rs") {
                let text = fs::read_to_string(&path)?;
                let begins = text.split("Reason::rule(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
                names.extend(begins.filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned()));
            }
        }
        Ok(())
    }

    #[test]
    fn whatever_can_be_wrong_is_said_in_spanish_and_french() {
        let mut rules = Vec::new();
        for folder in ["src", "crates/engine/src"] {
            named(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut rules).unwrap();
        }
        assert!(rules.len() > 30, "{rules:?}");
        rules.extend(app().lists.all::<NetworkFormat>().iter().map(|format| format.name.to_owned()));
        for words in [Refused::SPANISH, Refused::FRENCH] {
            let unsaid: Vec<_> = rules.iter().filter(|name| words.rule(name).is_none()).collect();
            let formats: Vec<_> = format::STATIC.iter().map(|format| format.name).filter(|name| words.format(name).is_none()).collect();
            assert!(unsaid.is_empty() && formats.is_empty(), "codes without words: {unsaid:?} {formats:?}");
        }
    }

    #[test]
    fn a_reason_is_said_with_what_it_names() {
        let said = |reason| Refused::SPANISH.reason(&reason).unwrap();
        assert_eq!(said(Reason::MaxLength(40)), "tiene más de 40 caracteres");
        assert_eq!(said(Reason::Type("string or null".into())), "tiene que ser un texto o vacío");
        assert_eq!(said(Reason::MinItems(1)), "necesita al menos 1 elemento");
        assert_eq!(said(Reason::MaxItems(3)), "admite como mucho 3 elementos");
        assert_eq!(said(Reason::Pattern("^#(?:[0-9A-Fa-f]{3})$".into())), "tiene que ser un color, como #0E7490");
        assert_eq!(Refused::FRENCH.reason(&"in other words".into()), None);
    }
}
