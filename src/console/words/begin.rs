//! Texts of the home page.

use super::words;

words! {
    pub struct Begin {
        first: "Getting started", "Primeros pasos", "Premiers pas";
        first_branding: "Choose the colours of your brand", "Elija los colores de su marca", "Choisissez les couleurs de votre marque";
        first_portal: "Create the portal that guests open", "Cree el portal que abren los huéspedes", "Créez le portail que les voyageurs ouvrent";
        first_flat: "Add your flats", "Añada sus alojamientos", "Ajoutez vos logements";
        first_step: "Decide what guests do before they arrive", "Decida qué hacen los huéspedes antes de llegar", "Décidez de ce que les voyageurs font avant d’arriver";
        first_manual: "Write the first manual, such as the Wi-Fi", "Escriba el primer manual, como el de la wifi", "Écrivez le premier guide, comme celui du Wi-Fi";
        first_preview: "Look at the page as a guest", "Mire la página como un huésped", "Regardez la page comme un voyageur";
        first_stay: "Add a stay, and send its link to the guest", "Añada una estancia y envíe su enlace al huésped", "Ajoutez un séjour, et envoyez son lien au voyageur";
        ready: "Start with a ready set", "Empezar con un conjunto preparado", "Commencer avec un ensemble prêt";
        ready_about: "It creates steps for guest details, house rules and the time of arrival, and manuals for the Wi-Fi, the arrival and the departure, in the languages of your organization.", "Crea pasos para los datos del huésped, las normas de la casa y la hora de llegada, y manuales de la wifi, la llegada y la salida, en los idiomas de su organización.", "Cela crée des étapes pour les coordonnées, le règlement et l’heure d’arrivée, et des guides pour le Wi-Fi, l’arrivée et le départ, dans les langues de votre organisation.";
        ready_inactive: "Guests see nothing of it until you have looked at it and made it active.", "Los huéspedes no ven nada hasta que usted lo haya mirado y activado.", "Les voyageurs n’en voient rien tant que vous ne l’avez pas relu et activé.";
        ready_make: "Create the set", "Crear el conjunto", "Créer l’ensemble";
        first_done: "done", "hecho", "fait";
        backed_up: "The last backup was made on {at}.", "La última copia de seguridad es del {at}.", "La dernière sauvegarde date du {at}.";
        backup_failed: "The last attempt at a backup failed, on {at}.", "El último intento de copia de seguridad falló el {at}.", "La dernière tentative de sauvegarde a échoué le {at}.";
        no_backup: "No backup was made yet.", "Aún no se ha hecho ninguna copia de seguridad.", "Aucune sauvegarde n’a encore été faite.";
        waiting: "Waiting for you", "Le esperan", "En attente de vous";
        waiting_none: "Nothing waits for your decision.", "Nadie espera su decisión.", "Personne n’attend votre décision.";
        waiting_all: "In review: {count}", "En revisión: {count}", "À vérifier : {count}";
        arrivals: "Arrivals today and tomorrow", "Llegadas de hoy y mañana", "Arrivées d’aujourd’hui et de demain";
        arrivals_none: "Nobody arrives today or tomorrow.", "Hoy y mañana no llega nadie.", "Personne n’arrive aujourd’hui ni demain.";
        arrivals_all: "All arrivals of these days", "Todas las de estos días", "Toutes celles de ces jours";
        failing: "Failing webhook deliveries", "Entregas que fallan", "Envois qui échouent";
        failures: "Failures in a row: {count}", "Fallos seguidos: {count}", "Échecs d’affilée : {count}";
        disabled: "Switched off", "Desactivada", "Désactivé";
        lacking: "Steps with missing settings", "Pasos a los que les falta algo", "Étapes auxquelles il manque quelque chose";
        lacking_more: "and {count} more", "y {count} más", "et {count} de plus";
        untranslated: "Titles that are not translated", "Títulos sin traducir", "Titres non traduits";
        missing_in: "{what}: {count} in {language}", "{what}: {count} en {language}", "{what} : {count} en {language}";
        missing_payment_account: "No payment account", "Falta una cuenta de cobro", "Aucun compte d’encaissement";
        missing_authenticate_account: "No active account for background checks", "Falta una cuenta activa para comprobar antecedentes", "Aucun compte actif de vérification d’antécédents";
        lacks_something: "A setting that it needs is missing", "Falta algo por configurar", "Il manque un réglage";
    }
}

impl Begin {
    /// Describes the missing setting of a step.
    pub fn issue(&self, key: &str) -> &'static str {
        match key {
            "missing_payment_account" => self.missing_payment_account,
            "missing_authenticate_account" => self.missing_authenticate_account,
            _ => self.lacks_something,
        }
    }
}
