//! What is said of who did what.

use super::words;

words! {
    /// What is said of who did what.
    pub struct Audit {
        audit: "Audit log", "Registro", "Journal";
        about: "Who did what to what, the newest first.", "Quién hizo qué y sobre qué; primero lo más reciente.", "Qui a fait quoi et sur quoi, le plus récent d’abord.";
        about_one: "What was done to this one thing.", "Lo que se hizo con esta cosa.", "Ce qui a été fait de cette seule chose.";
        show_all: "Show everything", "Mostrarlo todo", "Tout afficher";
        older: "Older", "Más antiguos", "Plus anciens";
        none: "Nothing was done yet.", "Aún no se ha hecho nada.", "Rien n’a encore été fait.";
        none_older: "There is nothing older.", "No hay nada más antiguo.", "Il n’y a rien de plus ancien.";
        changed: "Who changed this", "Quién lo ha cambiado", "Qui l’a modifié";
        all_of_this: "Everything about it", "Todo sobre ello", "Tout à ce sujet";
        fields: "{count} fields", "{count} campos", "{count} champs";
        more: "and {count} more", "y {count} más", "et {count} de plus";
        entries: "{count} entries", "{count} entradas", "{count} entrées";
        added: "{count} added", "{count} añadidos", "{count} ajoutés";
        taken_back: "{count} taken back", "{count} retirados", "{count} retirés";
        nothing: "nothing", "nada", "rien";
        withheld: "not shown", "no se muestra", "non affiché";
        before: "before", "antes", "avant";
        after: "after", "después", "après";
        platform: "The platform", "La plataforma", "La plateforme";
        somebody: "Somebody", "Alguien", "Quelqu’un";
        made: "{who} made {what}", "{who} creó {what}", "{who} a créé {what}";
        edited: "{who} changed {what}", "{who} cambió {what}", "{who} a modifié {what}";
        removed: "{who} removed {what}", "{who} eliminó {what}", "{who} a supprimé {what}";
        moved: "{who} put {what} in order", "{who} ordenó {what}", "{who} a réordonné {what}";
        assigned: "{who} changed the assignments of {what}", "{who} cambió las asignaciones de {what}", "{who} a modifié les affectations de {what}";
        approved: "{who} approved what the guest of {what} handed in", "{who} aprobó lo enviado por el huésped de {what}", "{who} a approuvé ce que le voyageur de {what} a transmis";
        asked: "{who} asked the guest of {what} for changes", "{who} pidió cambios al huésped de {what}", "{who} a demandé des modifications au voyageur de {what}";
        previewed: "{who} looked at a preview of {what}", "{who} miró una vista previa de {what}", "{who} a regardé un aperçu de {what}";
        rotated: "{who} made a new signing secret for {what}", "{who} creó un nuevo secreto de firma para {what}", "{who} a créé un nouveau secret de signature pour {what}";
        replaced: "{who} made a new token for {what}", "{who} creó un nuevo token para {what}", "{who} a créé un nouveau jeton pour {what}";
        about_actor: "What one API key or member did.", "Lo que hizo una clave de API o un miembro.", "Ce qu’a fait une clé d’API ou un membre.";
        resent: "{who} sent something again for {what}", "{who} volvió a enviar algo de {what}", "{who} a renvoyé quelque chose pour {what}";
        pinged: "{who} sent a ping to {what}", "{who} envió un ping a {what}", "{who} a envoyé un ping à {what}";
        signed_in: "{who} signed in", "{who} inició sesión", "{who} s’est connecté";
        signed_out: "{who} signed out", "{who} cerró sesión", "{who} s’est déconnecté";
        allowed: "{who} let an app in for {what}", "{who} dejó entrar una aplicación para {what}", "{who} a laissé entrer une application pour {what}";
        revoked: "{who} gave back a token of {what}", "{who} devolvió un token de {what}", "{who} a rendu un jeton de {what}";
        other: "{who} did {operation} ({what})", "{who} hizo {operation} ({what})", "{who} a fait {operation} ({what})";
        the_portal: "the portal", "el portal", "le portail";
        the_branding: "the branding", "la marca", "l’identité visuelle";
        the_step: "the step", "el paso", "l’étape";
        the_manual: "the manual", "la guía", "le guide";
        the_category: "the category", "la categoría", "la catégorie";
        the_categories: "the categories", "las categorías", "les catégories";
        the_flat: "the flat", "el alojamiento", "le logement";
        the_text: "the text", "el texto", "le texte";
        the_subscription: "the webhook subscription", "la suscripción de webhooks", "l’abonnement webhook";
        the_stay: "a stay", "una estancia", "un séjour";
        the_key: "the API key", "la clave de API", "la clé d’API";
        the_member: "the member", "el miembro", "le membre";
        the_organization: "the organization", "la organización", "l’organisation";
        the_instruction: "the instruction", "la instrucción", "la consigne";
        the_thing: "something", "algo", "quelque chose";
    }
}

impl Audit {
    /// What a thing of a type is called.
    pub fn thing(&self, kind: &str) -> &'static str {
        match kind {
            "portal" | "portal_settings" => self.the_portal,
            "portal_branding" => self.the_branding,
            "precheck_step" => self.the_step,
            "manual" => self.the_manual,
            "manual_category" => self.the_category,
            "manual_category_order" => self.the_categories,
            "property" => self.the_flat,
            "translation" => self.the_text,
            "webhook_subscription" => self.the_subscription,
            "reservation" => self.the_stay,
            "api_key" => self.the_key,
            "member" => self.the_member,
            "organization" => self.the_organization,
            "instruction" => self.the_instruction,
            _ => self.the_thing,
        }
    }

    /// What an operation does, as a sentence with places for who, what, and the operation where it has no sentence of its own.
    pub fn sentence(&self, operation: &str) -> &'static str {
        let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| operation.starts_with(beginning));
        match operation {
            "approvePrecheckin" => self.approved,
            "requestPrecheckinChanges" => self.asked,
            "createPortalPreview" => self.previewed,
            "rotateWebhookSecret" => self.rotated,
            "rotateApiKey" | "rotateTeamApiKey" => self.replaced,
            "pingWebhookSubscription" => self.pinged,
            "signIn" => self.signed_in,
            "signOut" => self.signed_out,
            "allowApp" => self.allowed,
            "revokeToken" => self.revoked,
            _ if operation.ends_with("EntityScopes") || begins(&["assign"]) => self.assigned,
            _ if begins(&["create"]) => self.made,
            _ if begins(&["update", "set", "put"]) => self.edited,
            _ if begins(&["delete", "revoke"]) => self.removed,
            _ if begins(&["reorder"]) => self.moved,
            _ if begins(&["redeliver"]) => self.resent,
            _ => self.other,
        }
    }
}
