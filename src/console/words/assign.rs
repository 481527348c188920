//! Texts of the assignments screen.

use super::words;

words! {
    pub struct Assign {
        assignments: "Assignments", "Asignaciones", "Affectations";
        about: "Tick what {name} is assigned to. Your ticks are kept while you search and turn the pages of a list. The button below the list saves them.", "Marque para qué es {name}. Lo que marque se conserva mientras busca y pasa páginas de una lista, y se guarda con el botón que hay debajo.", "Cochez ce à quoi {name} s’applique. Ce que vous cochez est gardé pendant que vous cherchez et tournez les pages d’une liste, et enregistré par le bouton en dessous.";
        properties: "Flats", "Alojamientos", "Logements";
        groups: "Groups", "Grupos", "Groupes";
        tags: "Tags", "Etiquetas", "Étiquettes";
        steps: "Steps", "Pasos", "Étapes";
        manuals: "Manuals", "Manuales", "Guides";
        change: "Change", "Cambiar", "Modifier";
        unused: "It is assigned to nothing yet.", "Aún no está asignado a nada.", "Il n’est encore affecté à rien.";
        find: "Find by name", "Buscar por nombre", "Chercher par nom";
        assigned_only: "Only assigned ones", "Solo los asignados", "Seulement les affectés";
        show: "Show", "Mostrar", "Afficher";
        tick_all: "Tick all on this page", "Marcar todo lo de esta página", "Tout cocher sur cette page";
        untick_all: "Untick all on this page", "Desmarcar todo lo de esta página", "Tout décocher sur cette page";
        assign_found: "Assign all {count} that were found", "Asignar los {count} encontrados", "Affecter les {count} trouvés";
        remove_found: "Unassign all {count} that were found", "Quitar los {count} encontrados", "Retirer les {count} trouvés";
        assign_found_about: "This assigns all {count} that were found, on every page of the list, and saves your other ticks.", "Esto asigna los {count} encontrados, en todas las páginas de la lista, y guarda lo demás que ha marcado.", "Ceci affecte les {count} trouvés, sur toutes les pages de la liste, et enregistre ce que vous avez coché par ailleurs.";
        remove_found_about: "This unassigns all {count} that were found, on every page of the list, and saves your other ticks.", "Esto quita los {count} encontrados, en todas las páginas de la lista, y guarda lo demás que ha marcado.", "Ceci retire les {count} trouvés, sur toutes les pages de la liste, et enregistre ce que vous avez coché par ailleurs.";
        one_portal: "A flat has one portal, so each of these flats loses the portal that it has now.", "Un alojamiento tiene un solo portal: cada uno deja el que tiene ahora.", "Un logement a un seul portail : chacun quitte celui qu’il a maintenant.";
        too_many_found: "At most {most} can be assigned at once. Search for fewer.", "Se pueden asignar de una vez todos los encontrados si son como máximo {most}. Busque menos.", "Tous ceux trouvés peuvent être affectés d’un coup s’ils sont au plus {most}. Cherchez-en moins.";
        too_many_kept: "At most {most} unsaved changes can be kept. Save these first.", "Se conservan como máximo {most} cambios mientras continúa. Guarde antes estos.", "Au plus {most} modifications sont gardées pendant que vous continuez. Enregistrez d’abord celles-ci.";
        unsaved: "Not saved yet: {added} to assign, {removed} to unassign.", "Aún sin guardar: {added} por asignar, {removed} por quitar.", "Pas encore enregistré : {added} à affecter, {removed} à retirer.";
        discard: "Discard these changes", "Descartar estos cambios", "Abandonner ces modifications";
        save: "Save these assignments", "Guardar estas asignaciones", "Enregistrer ces affectations";
    }
}
