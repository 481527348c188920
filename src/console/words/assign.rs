//! What is said of assignments.

use super::words;

words! {
    /// What is said of assignments.
    pub struct Assign {
        assignments: "Assignments", "Asignaciones", "Affectations";
        about: "Tick what {name} is for. What is on other pages of the list stays as it is.", "Marque para qué es {name}. Lo que está en otras páginas de la lista no cambia.", "Cochez ce à quoi {name} s’applique. Ce qui est sur les autres pages de la liste ne change pas.";
        properties: "Flats", "Alojamientos", "Logements";
        groups: "Groups", "Grupos", "Groupes";
        tags: "Tags", "Etiquetas", "Étiquettes";
        steps: "Steps", "Pasos", "Étapes";
        manuals: "Manuals", "Manuales", "Guides";
        change: "Change", "Cambiar", "Modifier";
        unused: "It is assigned to nothing yet.", "Aún no está asignado a nada.", "Il n’est encore affecté à rien.";
        find: "Find by name", "Buscar por nombre", "Chercher par nom";
        assigned_only: "Assigned ones only", "Solo los asignados", "Seulement les affectés";
        show: "Show", "Mostrar", "Afficher";
        save: "Save these assignments", "Guardar estas asignaciones", "Enregistrer ces affectations";
    }
}
