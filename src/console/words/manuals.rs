//! Texts of manuals and their categories.

use super::words;

words! {
    pub struct Manuals {
        manuals: "Manuals", "Manuales", "Guides";
        manuals_about: "Guests read manuals during their stay. A manual is shown to guests of the flats it is assigned to, when its rules allow it.", "Lo que los huéspedes pueden leer durante la estancia: se muestra donde está asignado y cuando lo dicen sus reglas.", "Ce que les voyageurs peuvent lire pendant leur séjour : affiché là où c’est affecté et quand ses règles le disent.";
        new: "New manual", "Nuevo manual", "Nouveau guide";
        find: "Find by internal name", "Buscar por nombre interno", "Chercher par nom interne";
        show: "Show", "Mostrar", "Afficher";
        read: "What guests read", "Lo que leen los huéspedes", "Ce que lisent les voyageurs";
        cover: "Cover", "Portada", "Couverture";
        active: "Active", "Activo", "Actif";
        inactive: "Inactive", "Inactivo", "Inactif";
        when: "When guests see it", "Cuándo lo ven los huéspedes", "Quand les voyageurs le voient";
        visibility: "When guests see it", "Cuándo lo ven los huéspedes", "Quand les voyageurs le voient";
        visibility_about: "Guests see the manual while all rules that are on are met. Without rules, they always see it.", "Deben cumplirse todas las reglas activadas. Sin ninguna, los huéspedes lo ven siempre.", "Toutes les règles activées doivent être respectées. Sans aucune, les voyageurs le voient toujours.";
        change_rules: "Change the rules", "Cambiar las reglas", "Modifier les règles";
        use_rule: "Use this rule", "Usar esta regla", "Utiliser cette règle";
        stored_now: "Somebody else has changed the rules in the meantime. Stored now: {when} Their other changes are already taken over below. If both of you changed a rule, choose there which one to keep, then save.", "Otra persona ha cambiado las reglas mientras tanto. Guardado ahora: {when} Lo que solo ha cambiado la otra persona ya está abajo; donde ambos han cambiado una regla, elija allí y guarde.", "Quelqu’un d’autre a modifié les règles entre-temps. Enregistré maintenant : {when} Ce que l’autre seul a modifié est repris ci-dessous ; là où vous avez tous deux modifié une règle, choisissez, puis enregistrez.";
        always: "Always.", "Siempre.", "Toujours.";
        from_until: "From {from} until {until}.", "Desde {from} hasta {until}.", "De {from} à {until}.";
        from: "From {from}.", "A partir de: {from}.", "À partir de : {from}.";
        until: "Until {until}.", "Hasta {until}.", "Jusqu’à : {until}.";
        check_in: "check-in", "la llegada", "l’arrivée";
        check_out: "check-out", "la salida", "le départ";
        before: "{time} before {event}", "{time} antes de {event}", "{time} avant {event}";
        after: "{time} after {event}", "{time} después de {event}", "{time} après {event}";
        seasons_over: "All seasons are over: no guest sees it any more.", "Todas las temporadas han pasado: ningún huésped lo ve ya.", "Toutes les saisons sont passées : plus aucun voyageur ne le voit.";
        yearly: "{window}, every year", "{window}, cada año", "{window}, chaque année";
        seasons: "For nights within {windows}.", "Para noches dentro de {windows}.", "Pour des nuits comprises dans {windows}.";
        nights_between: "For stays of {from} to {to}.", "Para estancias de {from} a {to}.", "Pour des séjours de {from} à {to}.";
        nights_from: "For stays of {from} or more.", "Para estancias de {from} o más.", "Pour des séjours de {from} ou plus.";
        nights_to: "For stays of at most {to}.", "Para estancias de {to} como máximo.", "Pour des séjours de {to} au plus.";
        only_by: "Only for bookings through {channels}.", "Solo para reservas por {channels}.", "Seulement pour les réservations par {channels}.";
        not_by: "Not for bookings through {channels}.", "No para reservas por {channels}.", "Pas pour les réservations par {channels}.";
        verified: "While the guest’s identity is: {statuses}.", "Mientras la identidad del huésped esté: {statuses}.", "Tant que l’identité du voyageur est : {statuses}.";
        icon: "Choose an icon", "Elegir un icono", "Choisir une icône";
        choose_cover: "Choose a cover", "Elegir una portada", "Choisir une couverture";
        find_cover: "What the cover should show, in English", "Qué debe mostrar la portada, en inglés", "Ce que doit montrer la couverture, en anglais";
        icons: "Icons", "Iconos", "Icônes";
        photos: "Photos", "Fotos", "Photos";
        photos_found: "Photos found: {count}.", "Fotos encontradas: {count}.", "Photos trouvées : {count}.";
        photos_failed: "Photos cannot be searched right now. Try again in a moment, or choose an icon.", "Ahora mismo no se pueden buscar fotos. Inténtelo dentro de un momento; los iconos sí están.", "Impossible de chercher des photos pour l’instant. Réessayez dans un moment ; les icônes sont là.";
        photo_by: "Photo by {name}", "Foto de {name}", "Photo de {name}";
        use_photo: "Use this photo", "Usar esta foto", "Utiliser cette photo";
        more_photos: "More photos", "Más fotos", "Plus de photos";
        no_photo: "Remove the photo", "Quitar la foto", "Retirer la photo";
        find_icon: "Find an icon by its English name", "Buscar un icono por su nombre en inglés", "Chercher une icône par son nom anglais";
        no_icon: "No icon", "Sin icono", "Sans icône";
        icons_found: "{count} found.", "{count} encontrados.", "{count} trouvées.";
        categories: "Categories", "Categorías", "Catégories";
        categories_about: "Guests see the manuals under these headings, in this order.", "Los títulos bajo los que los huéspedes encuentran los manuales, en este orden.", "Les rubriques sous lesquelles les voyageurs trouvent les guides, dans cet ordre.";
        new_category: "New category, in English", "Nueva categoría, en inglés", "Nouvelle catégorie, en anglais";
        title_in_english: "Title, in English", "Título, en inglés", "Titre, en anglais";
        other_languages: "Title in other languages", "Título en otros idiomas", "Titre dans d’autres langues";
        filed: "manuals: {count}", "manuales: {count}", "guides : {count}";
        remove_category: "Remove this category", "Eliminar esta categoría", "Supprimer cette catégorie";
        remove_about: "This deletes the category and its title in every language for good. A category with manuals cannot be removed; move the manuals to another one first.", "Se elimina para siempre, con su título en todos los idiomas. Una categoría con manuales no se puede eliminar: muévalos antes.", "Elle est supprimée définitivement, avec son titre dans toutes les langues. Une catégorie qui contient des guides ne peut pas être supprimée : classez-les d’abord ailleurs.";
    }
}
