//! Texts of portals and brandings.

use super::words;

words! {
    pub struct Portals {
        portals: "Portals", "Portales", "Portails";
        portals_about: "A portal is the page that guests open on their phone: contacts, questions before arrival, and offers.", "Un portal es lo que los huéspedes abren en el móvil: a quién pueden contactar, qué se les pide, qué se les ofrece.", "Un portail est ce que les voyageurs ouvrent sur leur téléphone : qui joindre, ce qu’on leur demande, ce qu’on leur propose.";
        new: "New portal", "Nuevo portal", "Nouveau portail";
        default: "Default", "Predeterminado", "Par défaut";
        contact: "How guests reach you", "Cómo le contactan los huéspedes", "Comment les voyageurs vous joignent";
        precheckin: "Before arrival", "Antes de llegar", "Avant l’arrivée";
        offer: "Special offer", "Oferta especial", "Offre spéciale";
        during: "During the stay", "Durante la estancia", "Pendant le séjour";
        preview: "What guests see", "Lo que ven los huéspedes", "Ce que voient les voyageurs";
        preview_about: "The preview uses what is typed in the form, and saves nothing. To go through all pages, open it in a new tab; its link is valid for an hour.", "Con lo escrito en el formulario; mirarla no guarda nada. Para recorrerla, ábrala en otra pestaña: ese enlace vale una hora.", "Avec ce qui est saisi dans le formulaire ; la regarder n’enregistre rien. Pour la parcourir, ouvrez-la dans un onglet : ce lien vaut une heure.";
        preview_wrong: "This cannot be shown yet", "Aún no se puede mostrar", "Impossible à afficher pour l’instant";
        show_typed: "Show what is typed", "Mostrar lo escrito", "Afficher ce qui est saisi";
        show_preview: "Show", "Mostrar", "Afficher";
        include_inactive: "Include inactive steps and manuals", "Con lo que no está activo", "Avec ce qui n’est pas actif";
        preview_in_tab: "Open in a new tab", "Abrir en otra pestaña", "Ouvrir dans un onglet";
        where_used: "Where it is used", "Dónde se usa", "Où il est utilisé";
        brandings: "Brandings", "Marcas", "Identités visuelles";
        brandings_about: "A branding is how a portal looks: its name, colours, logo and links.", "Una marca es el aspecto de un portal: nombre, colores, logotipo y enlaces.", "Une identité visuelle est l’apparence d’un portail : nom, couleurs, logo et liens.";
        new_branding: "New branding", "Nueva marca", "Nouvelle identité visuelle";
        colours: "Colours", "Colores", "Couleurs";
        links: "Logo and links", "Logotipo y enlaces", "Logo et liens";
        used_by: "Portals that use it", "Portales que la usan", "Portails qui l’utilisent";
        used_by_none: "No portal uses it yet.", "Ningún portal la usa todavía.", "Aucun portail ne l’utilise encore.";
        readable: "Readability", "Qué tal se lee", "Lisibilité";
        readable_about: "Text needs a contrast of at least 4.5. The guest’s page adjusts a colour with less until it can be read.", "El texto necesita 4,5 o más. La página del huésped ajusta un color con menos hasta que se pueda leer.", "Un texte demande au moins 4,5. La page du voyageur ajuste une couleur qui a moins jusqu’à ce qu’elle soit lisible.";
        good: "good", "bien", "bien";
        poor: "adjusted", "se ajusta", "ajustée";
        text_on_background: "Text on the background", "Texto sobre el fondo", "Texte sur le fond";
        primary_on_background: "Primary colour on the background", "Color principal sobre el fondo", "Couleur principale sur le fond";
        secondary_on_background: "Secondary colour on the background", "Color secundario sobre el fondo", "Couleur secondaire sur le fond";
        text_on_footer: "Text on the footer", "Texto sobre el pie", "Texte sur le pied de page";
        text_on_primary: "Text on the primary colour", "Texto sobre el color principal", "Texte sur la couleur principale";
    }
}
