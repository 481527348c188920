//! What is said of translations.

use super::words;

words! {
    /// What is said of translations.
    pub struct Translations {
        translations: "Translations", "Traducciones", "Traductions";
        about: "Every text that guests read, in all languages. A new English text has the languages that a machine translated translated anew.", "Todos los textos que leen los huéspedes, en todos los idiomas. Un texto inglés nuevo vuelve a traducir los idiomas traducidos por máquina.", "Tous les textes que lisent les voyageurs, dans toutes les langues. Un nouveau texte anglais fait retraduire les langues traduites par machine.";
        text: "Text", "Texto", "Texte";
        show: "Show", "Mostrar", "Afficher";
        by_machine: "Translated by machine", "Traducido por máquina", "Traduit par machine";
        missing: "Not there yet", "Aún no existe", "Pas encore disponible";
        theirs: "Somebody else has written meanwhile: {text}", "Otra persona ha escrito mientras tanto: {text}", "Quelqu’un d’autre a écrit entre-temps : {text}";
    }
}
