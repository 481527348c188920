//! Texts of the search.

use super::words;

words! {
    pub struct SearchWords {
        search: "Search", "Búsqueda", "Recherche";
        about: "Steps, manuals, categories, portals, brandings, flats, groups, tags and stays, the best match first.", "Pasos, manuales, categorías, portales, marcas, alojamientos, grupos, etiquetas y estancias; primero lo más parecido.", "Étapes, guides, catégories, portails, identités visuelles, logements, groupes, étiquettes et séjours, le plus proche d’abord.";
        what: "What are you looking for?", "¿Qué busca?", "Que cherchez-vous ?";
        find: "Find", "Buscar", "Chercher";
        for_what: "Results for “{query}”", "Resultados de «{query}»", "Résultats pour « {query} »";
        only_first: "These are the 50 best matches. Add a word to see others.", "Estos son los 50 mejores resultados. Añada una palabra para ver otros.", "Voici les 50 meilleurs résultats. Ajoutez un mot pour en voir d’autres.";
        precheck_step: "Steps", "Pasos", "Étapes";
        manual: "Manuals", "Guías", "Guides";
        manual_category: "Categories", "Categorías", "Catégories";
        portal: "Portals", "Portales", "Portails";
        portal_branding: "Brandings", "Marcas", "Identités visuelles";
        property: "Flats", "Alojamientos", "Logements";
        property_group: "Groups", "Grupos", "Groupes";
        tag: "Tags", "Etiquetas", "Étiquettes";
        reservation: "Stays", "Estancias", "Séjours";
    }
}
