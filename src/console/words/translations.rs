//! What is said of translations.

use super::words;

words! {
    /// What is said of translations.
    pub struct Translations {
        translations: "Translations", "Traducciones", "Traductions";
        about: "Every text that guests read, in all languages. A new English text has the languages that a machine translated translated anew.", "Todos los textos que leen los huéspedes, en todos los idiomas. Un texto inglés nuevo vuelve a traducir los idiomas traducidos por máquina.", "Tous les textes que lisent les voyageurs, dans toutes les langues. Un nouveau texte anglais fait retraduire les langues traduites par machine.";
        text: "Text", "Texto", "Texte";
        show: "Show", "Mostrar", "Afficher";
        todo: "Only what is missing or made by a machine", "Solo lo que falta o hizo una máquina", "Seulement ce qui manque ou vient d’une machine";
        all_done: "Nothing is missing here, and nothing was made by a machine.", "Aquí no falta nada ni hay nada hecho por una máquina.", "Rien ne manque ici, et rien ne vient d’une machine.";
        by_machine: "Translated by machine", "Traducido por máquina", "Traduit par machine";
        missing: "Not there yet", "Aún no existe", "Pas encore disponible";
    }
}
