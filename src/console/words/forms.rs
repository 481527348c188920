//! Texts of forms.

use super::words;

words! {
    pub struct FormsWords {
        save: "Save", "Guardar", "Enregistrer";
        create: "Create", "Crear", "Créer";
        not_set: "Not set", "Sin definir", "Non défini";
        these: "These:", "Estos:", "Ceux-ci :";
        choose: "Choose…", "Elija…", "Choisissez…";
        keep: "Leave as it is", "Dejar como está", "Laisser tel quel";
        write_only: "The present value cannot be shown.", "Lo que hay aquí no se puede mostrar.", "Ce qui est défini ici ne peut pas être affiché.";
        kept_empty: "If you leave this empty, it stays unchanged.", "Si lo deja vacío, se queda como está.", "Laissé vide, cela reste tel quel.";
        kept_unchosen: "If you choose nothing, it stays unchanged. A choice replaces the present value.", "Si no elige nada, se queda como está; lo que elija lo sustituye.", "Si vous ne choisissez rien, cela reste tel quel ; ce que vous choisissez le remplace.";
        to_clear: "To remove it, tick “{clear}”.", "Para quitarlo, marque «{clear}».", "Pour le retirer, cochez « {clear} ».";
        others: "Others, as guests read them, one per line", "Otros, como los leen los huéspedes, uno por línea", "D’autres, comme les voyageurs les lisent, un par ligne";
        clear: "Clear it", "Borrarlo", "L’effacer";
        required: "required", "obligatorio", "obligatoire";
        one_a_line: "One per line.", "Uno por línea.", "Un par ligne.";
        pair_a_line: "One per line: name = text.", "Una línea cada uno: nombre = texto.", "Une ligne chacun : nom = texte.";
        find_one: "Type its name or a part of it.", "Escriba su nombre o una parte de él.", "Saisissez son nom ou une partie de son nom.";
        find_many: "To add some, type their names, one per line.", "Para añadir algunos, escriba sus nombres, uno por línea.", "Pour en ajouter, saisissez leurs noms, un par ligne.";
        find: "Find by name", "Buscar por nombre", "Chercher par nom";
        none_named: "nothing is named “{name}”. Correct the name.", "nada se llama «{name}». Corrija el nombre.", "rien ne s’appelle « {name} ». Corrigez le nom.";
        several_named: "several have “{name}” in their name. Choose here.", "varios tienen «{name}» en su nombre. Elija aquí.", "plusieurs ont « {name} » dans leur nom. Choisissez ici.";
        needs_permission: "To change this, you need the permission {permission}.", "Para cambiarlo necesita el permiso {permission}.", "Pour le modifier, il faut l’autorisation {permission}.";
        more: "More settings", "Más ajustes", "Autres réglages";
        basics: "Basics", "Lo básico", "L’essentiel";
        problems: "This was not saved:", "No se ha guardado:", "Ce n’est pas enregistré :";
        more_problems: "And {count} more.", "Y {count} más.", "Et {count} autres.";
        conflict: "Somebody has changed this while you were typing", "Alguien lo ha cambiado mientras usted escribía", "Quelqu’un a modifié ceci pendant votre saisie";
        conflict_text: "Your changes are not lost. If both of you changed the same field, choose which value to keep, then save.", "No ha perdido nada. Donde ambos han cambiado lo mismo, elija cuál se queda y guarde.", "Rien de ce que vous avez saisi n’est perdu. Là où vous avez tous deux modifié la même chose, choisissez laquelle garder, puis enregistrez.";
        mine: "Mine", "Lo mío", "Ma version";
        theirs: "Theirs: {value}", "Lo suyo: {value}", "L’autre : {value}";
        empty: "(empty)", "(vacío)", "(vide)";
        rest_saved: "Your other changes are saved.", "Lo demás que ha cambiado está guardado.", "Vos autres modifications sont enregistrées.";
        made_already: "This form has already created something. If you press the button again, it creates another one.", "Con este formulario ya se ha creado algo. Si pulsa de nuevo el botón, se creará otro.", "Quelque chose a déjà été créé avec ce formulaire. Si vous appuyez encore, il y en aura un autre.";
        try_later: "Nothing was saved. Try again in {seconds} s.", "No se ha guardado nada. Inténtelo dentro de {seconds} s.", "Rien n’est enregistré. Réessayez dans {seconds} s.";
        text_in_english: "In English. The other languages are under Translations.", "En inglés; los demás idiomas están en Traducciones.", "En anglais ; les autres langues sont sous Traductions.";
        other_languages: "All languages", "Todos los idiomas", "Toutes les langues";
        rule_twice: "There is another line for the same detail. Keep one of them.", "Hay otra línea para el mismo dato. Deje solo una.", "Une autre ligne porte sur la même donnée. N’en gardez qu’une.";
        rule_of_nothing: "Say which detail this line is about.", "Indique a qué dato se refiere esta línea.", "Indiquez à quelle donnée se rapporte cette ligne.";
        edit: "Edit", "Editar", "Modifier";
        remove: "Remove", "Eliminar", "Supprimer";
        up: "Move up", "Subir", "Monter";
        down: "Move down", "Bajar", "Descendre";
        read_only: "You can see this but not change it.", "Puede verlo, pero no cambiarlo.", "Vous pouvez le consulter, sans le modifier.";
    }
}
