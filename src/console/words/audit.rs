//! Texts of the audit log, and the sentence for an audited operation.

use super::words;
use crate::records::RecordKind;
use crate::words::fill;

words! {
    pub struct Audit {
        audit: "Audit log", "Registro", "Journal";
        about: "All changes and who made them, newest first.", "Quién hizo qué y sobre qué; primero lo más reciente.", "Qui a fait quoi et sur quoi, le plus récent d’abord.";
        about_one: "The changes of this one object.", "Lo que se hizo con esta cosa.", "Ce qui a été fait de cette seule chose.";
        show_all: "Show everything", "Mostrarlo todo", "Tout afficher";
        older: "Older", "Más antiguos", "Plus anciens";
        none: "Nothing has been changed yet.", "Aún no se ha hecho nada.", "Rien n’a encore été fait.";
        none_older: "There is nothing older.", "No hay nada más antiguo.", "Il n’y a rien de plus ancien.";
        changed: "Who changed this", "Quién lo ha cambiado", "Qui l’a modifié";
        all_of_this: "Everything about it", "Todo sobre ello", "Tout à ce sujet";
        fields: "{count} fields", "{count} campos", "{count} champs";
        more: "and {count} more", "y {count} más", "et {count} de plus";
        one_entry: "1 entry", "1 entrada", "1 entrée";
        entries: "{count} entries", "{count} entradas", "{count} entrées";
        added: "{count} added", "{count} añadidos", "{count} ajoutés";
        taken_back: "{count} removed", "{count} retirados", "{count} retirés";
        nothing: "nothing", "nada", "rien";
        withheld: "not shown", "no se muestra", "non affiché";
        before: "before", "antes", "avant";
        after: "after", "después", "après";
        platform: "The platform", "La plataforma", "La plateforme";
        somebody: "Somebody", "Alguien", "Quelqu’un";
        made: "{who} created {what}", "{who} creó {what}", "{who} a créé {what}";
        edited: "{who} changed {what}", "{who} cambió {what}", "{who} a modifié {what}";
        removed: "{who} removed {what}", "{who} eliminó {what}", "{who} a supprimé {what}";
        moved: "{who} reordered {what}", "{who} ordenó {what}", "{who} a réordonné {what}";
        assigned: "{who} changed the assignments of {what}", "{who} cambió las asignaciones de {what}", "{who} a modifié les affectations de {what}";
        pointed: "{who} changed the portal of {what}", "{who} cambió el portal asignado a {what}", "{who} a changé le portail affecté à {what}";
        approved: "{who} approved the submission for {what}", "{who} aprobó lo enviado para {what}", "{who} a approuvé ce qui a été transmis pour {what}";
        asked: "{who} asked for changes to the submission for {what}", "{who} pidió cambios en lo enviado para {what}", "{who} a demandé des modifications à ce qui a été transmis pour {what}";
        previewed: "{who} created a preview of {what}", "{who} creó una vista previa de {what}", "{who} a créé un aperçu de {what}";
        rotated: "{who} created a new signing secret for {what}", "{who} creó un nuevo secreto de firma para {what}", "{who} a créé un nouveau secret de signature pour {what}";
        replaced: "{who} created a new token for {what}", "{who} creó un nuevo token para {what}", "{who} a créé un nouveau jeton pour {what}";
        ended: "{who} revoked {what}", "{who} revocó {what}", "{who} a révoqué {what}";
        about_actor: "The activity of one API key or member.", "Lo que hizo una clave de API o un miembro.", "Ce qu’a fait une clé d’API ou un membre.";
        resent: "{who} sent a delivery again for {what}", "{who} hizo repetir una entrega de {what}", "{who} a fait renvoyer un envoi pour {what}";
        resent_failed: "{who} sent failed deliveries again for {what}", "{who} hizo repetir las entregas fallidas de {what}", "{who} a fait renvoyer les envois échoués pour {what}";
        pinged: "{who} sent a ping to {what}", "{who} envió un ping a {what}", "{who} a envoyé un ping à {what}";
        locked: "{who} locked {what}", "{who} cerró {what}", "{who} a verrouillé {what}";
        unlocked: "{who} unlocked {what}", "{who} abrió {what}", "{who} a déverrouillé {what}";
        tempered: "{who} set the temperature of {what}", "{who} fijó la temperatura de {what}", "{who} a réglé la température de {what}";
        switched: "{who} set the mode of {what}", "{who} fijó el modo de {what}", "{who} a réglé le mode de {what}";
        the_device: "the device", "el dispositivo", "l’appareil";
        signed_in: "{who} signed in", "{who} inició sesión", "{who} s’est connecté";
        signed_out: "{who} signed out", "{who} cerró sesión", "{who} s’est déconnecté";
        linked: "{who} created a sign-in link for {what}", "{who} creó un enlace para entrar para {what}", "{who} a créé un lien de connexion pour {what}";
        allowed: "{who} connected {app} for {what}", "{who} dejó entrar {app} para {what}", "{who} a laissé entrer {app} pour {what}";
        disconnected: "{who} disconnected {app} from {what}", "{who} desconectó {app} de {what}", "{who} a déconnecté {app} de {what}";
        tokened: "{who} created an access token of {app} for {what}", "{who} creó un token de acceso de {app} para {what}", "{who} a créé un jeton d’accès de {app} pour {what}";
        app: "the app {name}", "la aplicación {name}", "l’application {name}";
        an_app: "an app", "una aplicación", "une application";
        by_link: "a sign-in link", "un enlace", "un lien";
        by_provider: "the identity provider", "el proveedor de identidad", "le fournisseur d’identité";
        no_maximum: "no maximum", "sin máximo", "sans maximum";
        revoked: "{who} revoked a token of {what}", "{who} devolvió un token de {what}", "{who} a rendu un jeton de {what}";
        other: "{who} did {operation} ({what})", "{who} hizo {operation} ({what})", "{who} a fait {operation} ({what})";
        the_portal: "the portal", "el portal", "le portail";
        the_branding: "the branding", "la marca", "l’identité visuelle";
        the_step: "the step", "el paso", "l’étape";
        the_manual: "the manual", "el manual", "le guide";
        the_category: "the category", "la categoría", "la catégorie";
        the_categories: "the categories", "las categorías", "les catégories";
        the_flat: "the flat", "el alojamiento", "le logement";
        the_text: "the text", "el texto", "le texte";
        the_subscriptions: "the webhook subscriptions to", "las suscripciones de webhooks a", "les abonnements webhook à";
        the_subscription: "the webhook subscription", "la suscripción de webhooks", "l’abonnement webhook";
        a_stay: "a stay", "una estancia", "un séjour";
        the_stay: "the stay of", "la estancia de", "le séjour de";
        the_key: "the API key", "la clave de API", "la clé d’API";
        the_member: "the member", "el miembro", "le membre";
        the_organization: "the organization", "la organización", "l’organisation";
        the_instruction: "the instruction", "la instrucción", "la consigne";
        imported: "{who} imported records from a file", "{who} importó registros de un archivo", "{who} a importé des éléments d’un fichier";
        by_setup: "the set-up link", "el enlace de configuración", "le lien de configuration";
        the_record: "the record", "el registro", "l’élément";
        the_records: "records", "registros", "des éléments";
        the_feed: "the calendar feed", "el calendario externo", "le calendrier externe";
        fetched: "{who} had {what} read", "{who} hizo leer {what}", "{who} a fait lire {what}";
        the_thing: "something", "algo", "quelque chose";
    }
}

/// An audited operation, with the data for its sentence.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditedAction<'d> {
    pub operation: &'d str,
    pub who: &'d str,
    /// The target: its type, whether it is a single resource, and its name.
    pub kind: &'d str,
    pub is_one: bool,
    pub name: Option<&'d str>,
    /// The name of the app that the operation concerns.
    pub app: Option<&'d str>,
    /// Whether the operation created its target.
    pub is_new: bool,
}

impl Audit {
    /// Returns the noun for the type of the target. The sentence puts it before the name.
    fn thing(&self, action: &AuditedAction<'_>) -> &'static str {
        match action.kind {
            "portal" | "portal_settings" => self.the_portal,
            "portal_branding" => self.the_branding,
            "precheck_step" => self.the_step,
            "manual" => self.the_manual,
            "manual_category" => self.the_category,
            "manual_category_order" => self.the_categories,
            "property" => self.the_flat,
            "translation" => self.the_text,
            "webhook_subscription" if action.is_one => self.the_subscription,
            "webhook_subscription" => self.the_subscriptions,
            "reservation" if action.name.is_some() => self.the_stay,
            "reservation" => self.a_stay,
            "api_key" => self.the_key,
            "member" => self.the_member,
            "organization" => self.the_organization,
            "instruction" => self.the_instruction,
            "device" => self.the_device,
            "record" => self.the_records,
            "calendar_feed" => self.the_feed,
            kind if kind.parse::<RecordKind>().is_ok() => self.the_record,
            _ => self.the_thing,
        }
    }

    /// Returns the sentence for an operation.
    pub fn describe(&self, action: &AuditedAction<'_>) -> String {
        let sentence = self
            .sentence(action.operation, action.is_new)
            .unwrap_or(self.other);
        let what = self.thing(action);
        let what = if action.name.is_some() {
            format!("{what} {{name}}")
        } else {
            what.to_owned()
        };
        // Articles are contracted before names are filled in, so that names stay unchanged.
        let sentence = contracted(&sentence.replace("{what}", &what));
        let app = action.app.map_or_else(
            || self.an_app.to_owned(),
            |name| fill(self.app, &[("name", name)]),
        );
        let name = action.name.unwrap_or_default();
        fill(
            &sentence,
            &[
                ("who", action.who),
                ("name", name),
                ("app", &app),
                ("operation", action.operation),
            ],
        )
    }

    /// Returns the sentence of an operation, with placeholders. Returns `None` for an unknown
    /// operation.
    fn sentence(&self, operation: &str, is_new: bool) -> Option<&'static str> {
        Some(match operation {
            "createPortal"
            | "createPortalBranding"
            | "createPrecheckStep"
            | "createPortalManual"
            | "createPortalManualCategory"
            | "createTranslation"
            | "createWebhookSubscription"
            | "createCalendarFeed"
            | "createApiKey"
            | "createTeamApiKey"
            | "createOrganization"
            | "inviteMember"
            | "setUp" => self.made,
            "putOrganization" | "putMember" if is_new => self.made,
            "updatePortal"
            | "updatePortalBranding"
            | "updatePrecheckStep"
            | "updatePortalManual"
            | "updatePortalManualCategory"
            | "setTranslationEntry"
            | "deleteTranslationEntry"
            | "putOrganization"
            | "putMember"
            | "putRecords"
            | "updateMember"
            | "updateRecord" => self.edited,
            "importRecords" => self.imported,
            "deletePortalManualCategory"
            | "deleteInstruction"
            | "deleteCalendarFeed"
            | "deleteWebhookSubscription"
            | "removeMember" => self.removed,
            "revokeApiKey" | "revokeTeamApiKey" => self.ended,
            "reorderPortalManualCategories" => self.moved,
            "updateEntityScopes" | "addEntityScopes" | "removeEntityScopes" => self.assigned,
            "assignPortalToProperty" => self.pointed,
            "approvePrecheckin" => self.approved,
            "requestPrecheckinChanges" => self.asked,
            "createPortalPreview" => self.previewed,
            "rotateWebhookSecret" => self.rotated,
            "rotateApiKey" | "rotateTeamApiKey" => self.replaced,
            "redeliverWebhook" => self.resent,
            "redeliverFailedWebhooks" => self.resent_failed,
            "pingWebhookSubscription" => self.pinged,
            "refreshCalendarFeed" => self.fetched,
            "lockDevice" => self.locked,
            "unlockDevice" => self.unlocked,
            "setDeviceTemperature" => self.tempered,
            "setDeviceMode" => self.switched,
            "signIn" => self.signed_in,
            "signOut" => self.signed_out,
            "createSignInLink" | "createMemberSignInLink" => self.linked,
            "allowApp" => self.allowed,
            "createAccessToken" => self.tokened,
            "deleteConnection" | "disconnect" => self.disconnected,
            "revokeToken" => self.revoked,
            _ => return None,
        })
    }

    /// Describes a way of signing in.
    pub fn entrance(&self, by: &str) -> Option<&'static str> {
        match by {
            "link" => Some(self.by_link),
            "provider" => Some(self.by_provider),
            "setup" => Some(self.by_setup),
            _ => None,
        }
    }
}

/// Contracts prepositions and articles, as Spanish and French do.
fn contracted(sentence: &str) -> String {
    let together = [
        (" de el ", " del "),
        (" a el ", " al "),
        (" de le ", " du "),
        (" de les ", " des "),
        (" à le ", " au "),
        (" à les ", " aux "),
    ];
    together
        .iter()
        .fold(sentence.to_owned(), |text, (apart, together)| {
            text.replace(apart, together)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::app;

    /// Audited actions that are not operations.
    const BESIDE: [&str; 4] = ["signIn", "signOut", "allowApp", "revokeToken"];

    #[test]
    fn every_audited_operation_has_a_fitting_sentence() {
        let words = Audit::ENGLISH;
        let audited = app()
            .operations
            .iter()
            .filter_map(|operation| Some((operation.id, operation.audits?)));
        let audited: Vec<_> = audited.collect();
        assert!(audited.len() > 30, "{}", audited.len());
        for (id, audits) in audited {
            let text = words
                .sentence(id, false)
                .unwrap_or_else(|| panic!("{id} has no sentence"));
            // A creation has the sentence for creations. An operation that leaves its target
            // unchanged has no sentence about a change of the target.
            assert_eq!(text == words.made, audits.is_making(), "{id}: {text}");
            let is_of_thing = [
                words.made,
                words.edited,
                words.removed,
                words.moved,
                words.assigned,
            ]
            .contains(&text);
            assert!(!(audits.is_leaving() && is_of_thing), "{id}: {text}");
            assert_eq!(
                text == words.removed,
                !audits.is_leaving()
                    && (id.starts_with("delete") || id.starts_with("remove"))
                    // They remove a part of their target.
                    && !id.ends_with("Scopes")
                    && !id.ends_with("Entry"),
                "{id}: {text}"
            );
        }
        assert!(BESIDE.iter().all(|id| words.sentence(id, false).is_some()));
    }

    #[test]
    fn an_audit_entry_is_written_as_a_sentence() {
        let text = |words: &Audit, operation, kind, name| {
            words.describe(&AuditedAction {
                operation,
                who: "Marta",
                kind,
                is_one: true,
                name,
                ..AuditedAction::default()
            })
        };
        let (english, spanish, french) = (Audit::ENGLISH, Audit::SPANISH, Audit::FRENCH);
        assert_eq!(
            text(&english, "createPortal", "portal", Some("Casa {who}")),
            "Marta created the portal Casa {who}"
        );
        assert_eq!(
            text(&english, "putMember", "member", Some("Ada")),
            "Marta changed the member Ada"
        );
        assert_eq!(
            text(&english, "createSignInLink", "member", Some("Ada")),
            "Marta created a sign-in link for the member Ada"
        );
        assert_eq!(
            text(&english, "approvePrecheckin", "reservation", None),
            "Marta approved the submission for a stay"
        );
        assert_eq!(
            text(
                &english,
                "createWebhookSubscription",
                "webhook_subscription",
                Some("https://a")
            ),
            "Marta created the webhook subscription https://a"
        );
        assert_eq!(
            text(&english, "teleport", "moon", None),
            "Marta did teleport (something)"
        );
        assert_eq!(
            text(&spanish, "updateEntityScopes", "portal", Some("de el mar")),
            "Marta cambió las asignaciones del portal de el mar"
        );
        assert_eq!(
            text(&spanish, "assignPortalToProperty", "property", Some("Uno")),
            "Marta cambió el portal asignado al alojamiento Uno"
        );
        assert_eq!(
            text(&french, "updateEntityScopes", "manual", Some("Clés")),
            "Marta a modifié les affectations du guide Clés"
        );
        let of_app = AuditedAction {
            operation: "deleteConnection",
            who: "Marta",
            kind: "member",
            is_one: true,
            name: Some("Ada"),
            ..AuditedAction::default()
        };
        assert_eq!(
            english.describe(&of_app),
            "Marta disconnected an app from the member Ada"
        );
        assert_eq!(
            spanish.describe(&AuditedAction {
                app: Some("Notes"),
                ..of_app
            }),
            "Marta desconectó la aplicación Notes del miembro Ada"
        );
        let new = AuditedAction {
            operation: "putMember",
            who: "The platform",
            is_new: true,
            ..of_app
        };
        assert_eq!(
            english.describe(&new),
            "The platform created the member Ada"
        );
        let several = AuditedAction {
            operation: "deleteWebhookSubscription",
            who: "key",
            kind: "webhook_subscription",
            name: Some("https://a"),
            ..AuditedAction::default()
        };
        assert_eq!(
            english.describe(&several),
            "key removed the webhook subscriptions to https://a"
        );
    }
}
