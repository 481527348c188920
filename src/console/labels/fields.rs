//! Fields by their names.

use super::Label;

/// A line a field: its name; what it is called in English, Spanish and French; what it is for in Spanish and French.
macro_rules! fields {
    ($($name:ident: $english:literal, $spanish:literal, $french:literal; $about_spanish:literal, $about_french:literal;)*) => {
        &[$(Label { name: stringify!($name), called: [$english, $spanish, $french], about: [$about_spanish, $about_french] },)*]
    };
}

#[rustfmt::skip]
pub(super) static FIELDS: &[Label] = fields! {
    // Portals.
    name: "", "Nombre", "Nom"; "Así lo encuentra su equipo.", "C’est ainsi que votre équipe le retrouve.";
    isDefault: "Default", "Predeterminado", "Par défaut"; "Vale para todo lo que no tiene otro.", "Vaut pour tout ce qui n’en a pas d’autre.";
    brandingId: "Branding", "Marca", "Identité visuelle"; "La marca que muestra el portal.", "L’identité visuelle du portail.";
    supportEmail: "", "Correo de atención", "E-mail d’assistance"; "Dirección a la que pueden escribir los huéspedes.", "Adresse à laquelle les voyageurs peuvent écrire.";
    supportPhone: "", "Teléfono de atención", "Téléphone d’assistance"; "Número al que pueden llamar los huéspedes.", "Numéro que les voyageurs peuvent appeler.";
    supportWhatsapp: "Support WhatsApp", "WhatsApp de atención", "WhatsApp d’assistance"; "Número en el que atiende por WhatsApp.", "Numéro joignable par WhatsApp.";
    supportTextPhone: "Support text messages", "Mensajes de texto", "SMS d’assistance"; "Número al que se pueden enviar mensajes de texto.", "Numéro auquel envoyer des SMS.";
    supportNotes: "", "Notas de atención", "Notes d’assistance"; "Lo que leen los huéspedes sobre la ayuda, por ejemplo el horario.", "Ce que lisent les voyageurs sur l’assistance, par exemple les horaires.";
    communicationMethod: "Contact button opens", "El botón de contacto abre", "Le bouton de contact ouvre"; "Necesita el número correspondiente.", "Nécessite le numéro correspondant.";
    isPrecheckinEnabled: "Pre-check-in", "Registro previo", "Préenregistrement"; "Si se pide a los huéspedes que se registren antes de llegar.", "Si les voyageurs sont invités à s’enregistrer avant leur arrivée.";
    isPrecheckOrderAutomatic: "Automatic order of steps", "Orden automático de los pasos", "Ordre automatique des étapes"; "Los pasos siguen el orden fijo de sus tipos; si no, el que usted les dé.", "Les étapes suivent l’ordre fixe de leurs types ; sinon, celui que vous leur donnez.";
    isManualReviewEnabled: "Review by the team", "Revisión por el equipo", "Vérification par l’équipe"; "Lo enviado espera a que el equipo lo apruebe; si no, se aprueba al momento.", "Ce qui est envoyé attend l’approbation de l’équipe ; sinon, c’est approuvé aussitôt.";
    isTicketingEnabled: "Issue reports", "Avisos de incidencias", "Signalements"; "Si los huéspedes pueden avisar de incidencias.", "Si les voyageurs peuvent signaler des problèmes.";
    isChatEnabled: "Messages to the host", "Mensajes al anfitrión", "Messages à l’hôte"; "Si los huéspedes pueden escribirle.", "Si les voyageurs peuvent vous écrire.";
    isReviewRequestCheckinEnabled: "Review request at check-in", "Pedir opinión a la llegada", "Demande d’avis à l’arrivée"; "Si se pide una opinión a la llegada.", "Si un avis est demandé à l’arrivée.";
    isReviewRequestCheckoutEnabled: "Review request at check-out", "Pedir opinión a la salida", "Demande d’avis au départ"; "Si se pide una opinión a la salida.", "Si un avis est demandé au départ.";
    isConfettiEnabled: "Confetti", "Confeti", "Confettis"; "Si se celebra con confeti el registro terminado.", "Si le préenregistrement terminé est fêté avec des confettis.";
    isCartAbandonmentEnabled: "Cart reminders", "Recordar el carrito", "Rappel du panier"; "Si se recuerda a los huéspedes un carrito que dejaron.", "Si un panier laissé est rappelé aux voyageurs.";
    isWalletPassEnabled: "Wallet pass", "Pase para el móvil", "Pass mobile"; "Si se ofrece un pase de la estancia para el móvil.", "Si un pass du séjour est proposé pour le téléphone.";
    isUnlockHintShown: "Announce what comes later", "Anunciar lo que llega después", "Annoncer ce qui viendra"; "Si se dice a los huéspedes qué manuales podrán leer más adelante.", "Si les voyageurs sont informés des guides qu’ils pourront lire plus tard.";
    isSpecialOfferActive: "Special offer shown", "Mostrar la oferta", "Afficher l’offre"; "Si los huéspedes ven la oferta especial.", "Si les voyageurs voient l’offre spéciale.";
    specialOfferUrl: "Special offer link", "Enlace de la oferta", "Lien de l’offre"; "Adónde lleva la oferta.", "Où mène l’offre.";
    specialOfferTitle: "", "Título de la oferta", "Titre de l’offre"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    specialOfferType: "Special offer kind", "Tipo de oferta", "Type d’offre"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    specialOfferCtaText: "Special offer call to action", "Llamada a la acción", "Appel à l’action"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    precheckinPromptMessage: "Invitation to pre-check-in", "Invitación al registro previo", "Invitation au préenregistrement"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    excludedQuickAccessTypes: "Hidden quick-access tiles", "Accesos rápidos ocultos", "Accès rapides masqués"; "Lo que los huéspedes no ven. Sin definir: solo ven avisar de un problema.", "Ce que les voyageurs ne voient pas. Non défini : ils ne voient que le signalement.";
    // Brandings.
    nickname: "Internal name", "Nombre interno", "Nom interne"; "Los huéspedes nunca lo ven.", "Les voyageurs ne le voient jamais.";
    textColor: "Text colour", "Color del texto", "Couleur du texte"; "", "";
    primaryColor: "Primary colour", "Color principal", "Couleur principale"; "Cabecera y botones.", "En-tête et boutons.";
    secondaryColor: "Secondary colour", "Color secundario", "Couleur secondaire"; "", "";
    backgroundColor: "Background colour", "Color de fondo", "Couleur de fond"; "Sin definir: blanco.", "Non défini : blanc.";
    footerColor: "Footer colour", "Color del pie", "Couleur du pied de page"; "", "";
    logoWhiteUrl: "Logo address", "Dirección del logotipo", "Adresse du logo"; "Un logotipo claro, para fondos oscuros.", "Un logo clair, pour les fonds sombres.";
    facebookUrl: "Facebook", "Facebook", "Facebook"; "", "";
    linkedinUrl: "LinkedIn", "LinkedIn", "LinkedIn"; "", "";
    instagramUrl: "Instagram", "Instagram", "Instagram"; "", "";
    customUrlId: "Domain", "Dominio", "Domaine"; "Sin definir: el de siempre.", "Non défini : celui par défaut.";
    calloutMessage: "Callout", "Mensaje destacado", "Message mis en avant"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    calloutMessageId: "Callout", "Mensaje destacado", "Message mis en avant"; "Lo que los huéspedes leen primero.", "Ce que les voyageurs lisent en premier.";
};
