//! What is said on the first page.

use super::words;

words! {
    /// What is said on the first page.
    pub struct Begin {
        waiting: "Waiting for you", "Le esperan", "En attente de vous";
        waiting_none: "Nobody waits for your decision.", "Nadie espera su decisión.", "Personne n’attend votre décision.";
        waiting_all: "In review: {count}", "En revisión: {count}", "À vérifier : {count}";
        arrivals: "Arrivals today and tomorrow", "Llegadas de hoy y mañana", "Arrivées d’aujourd’hui et de demain";
        arrivals_none: "Nobody arrives today or tomorrow.", "Hoy y mañana no llega nadie.", "Personne n’arrive aujourd’hui ni demain.";
        arrivals_all: "All of these days", "Todas las de estos días", "Toutes celles de ces jours";
        failing: "Deliveries that fail", "Entregas que fallan", "Envois qui échouent";
        failures: "Failed in a row: {count}", "Fallos seguidos: {count}", "Échecs d’affilée : {count}";
        disabled: "Switched off", "Desactivada", "Désactivé";
        lacking: "Steps that cannot do what they are for", "Pasos a los que les falta algo", "Étapes auxquelles il manque quelque chose";
        lacking_more: "and {count} more", "y {count} más", "et {count} de plus";
        untranslated: "Titles that are not translated", "Títulos sin traducir", "Titres non traduits";
        missing_in: "{what}: {count} in {language}", "{what}: {count} en {language}", "{what} : {count} en {language}";
        missing_payment_account: "No account that can be charged to", "Falta una cuenta de cobro", "Aucun compte d’encaissement";
        missing_authenticate_account: "No active account for background checks", "Falta una cuenta activa para comprobar antecedentes", "Aucun compte actif de vérification d’antécédents";
        lacks_something: "Something it needs is not set up", "Falta algo por configurar", "Il manque un réglage";
    }
}

impl Begin {
    /// What a step lacks.
    pub fn issue(&self, key: &str) -> &'static str {
        match key {
            "missing_payment_account" => self.missing_payment_account,
            "missing_authenticate_account" => self.missing_authenticate_account,
            _ => self.lacks_something,
        }
    }
}
