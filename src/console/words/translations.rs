//! Texts of the translations screen.

use super::words;
use crate::translations::StayValue;

words! {
    pub struct Translations {
        translations: "Translations", "Traducciones", "Traductions";
        about: "Every text that guests read, in all languages. If you change the English text, its machine translations are made again.", "Todos los textos que leen los huéspedes, en todos los idiomas. Un texto inglés nuevo vuelve a traducir los idiomas traducidos por máquina.", "Tous les textes que lisent les voyageurs, dans toutes les langues. Un nouveau texte anglais fait retraduire les langues traduites par machine.";
        text: "Text", "Texto", "Texte";
        show: "Show", "Mostrar", "Afficher";
        todo: "Only missing, outdated and machine-made translations", "Solo lo que falta, quedó atrás o hizo una máquina", "Seulement ce qui manque, est dépassé ou vient d’une machine";
        all_done: "No translation is missing or outdated here, and none was made by a machine.", "Aquí no falta nada, nada quedó atrás ni hay nada hecho por una máquina.", "Rien ne manque ni n’est dépassé ici, et rien ne vient d’une machine.";
        by_machine: "Translated by machine", "Traducido por máquina", "Traduit par machine";
        outdated: "Older than the English text", "Anterior al texto inglés", "Antérieur au texte anglais";
        still_right: "This text is still right", "Este texto sigue siendo correcto", "Ce texte est toujours juste";
        removing: "Empty a text to remove that translation.", "Vacíe un texto para quitar esa traducción.", "Videz un texte pour retirer cette traduction.";
        placeholders: "Values that texts can name", "Valores que los textos pueden nombrar", "Valeurs que les textes peuvent nommer";
        placeholders_about: "Write one of these into a text, with its braces. Each guest reads the value of their own stay instead. A text is not shown while a value is missing.", "Escriba uno de estos en un texto, con sus llaves. Cada huésped lee en su lugar el valor de su estancia. El texto no se muestra mientras falte un valor.", "Écrivez l’une d’elles dans un texte, avec ses accolades. Chaque voyageur lit à la place la valeur de son séjour. Un texte n’est pas affiché tant qu’une valeur manque.";
        for_flat: "This text for a flat", "Este texto para un alojamiento", "Ce texte pour un logement";
        no_value: "Guests of this flat do not get the text: {name} has no value here.", "Los huéspedes de este alojamiento no reciben el texto: {name} no tiene valor aquí.", "Les voyageurs de ce logement ne reçoivent pas le texte : {name} n’a pas de valeur ici.";
        p_name: "The name of the flat", "El nombre del alojamiento", "Le nom du logement";
        p_address: "The address of the flat", "La dirección del alojamiento", "L’adresse du logement";
        p_check_in_time: "The time from which guests may come", "La hora desde la que se puede llegar", "L’heure à partir de laquelle on peut arriver";
        p_check_out_time: "The time by which guests leave", "La hora hasta la que hay que salir", "L’heure à laquelle il faut partir";
        p_wifi_name: "The name of the wireless network", "El nombre de la red wifi", "Le nom du réseau Wi-Fi";
        p_wifi_password: "Its password, only in manuals with the Wi-Fi icon", "Su contraseña, solo en manuales con el icono del wifi", "Son mot de passe, seulement dans les guides avec l’icône du Wi-Fi";
        p_first_name: "The first name of the guest", "El nombre del huésped", "Le prénom du voyageur";
        p_check_in: "The day of arrival", "El día de llegada", "Le jour d’arrivée";
        p_check_out: "The day of departure", "El día de salida", "Le jour de départ";
        p_nights: "The number of nights", "El número de noches", "Le nombre de nuits";
        p_custom: "The custom field “{name}” of the flat", "El campo propio «{name}» del alojamiento", "Le champ personnalisé « {name} » du logement";
        missing: "Missing", "Aún no existe", "Pas encore disponible";
    }
}

impl Translations {
    /// Returns the meaning of a placeholder.
    pub const fn meaning(&self, value: StayValue) -> &'static str {
        match value {
            StayValue::PropertyName => self.p_name,
            StayValue::PropertyAddress => self.p_address,
            StayValue::CheckInTime => self.p_check_in_time,
            StayValue::CheckOutTime => self.p_check_out_time,
            StayValue::WifiName => self.p_wifi_name,
            StayValue::WifiPassword => self.p_wifi_password,
            StayValue::GuestFirstName => self.p_first_name,
            StayValue::CheckIn => self.p_check_in,
            StayValue::CheckOut => self.p_check_out,
            StayValue::Nights => self.p_nights,
        }
    }
}
