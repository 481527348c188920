//! Texts of steps.

use super::words;

words! {
    pub struct Steps {
        steps: "Steps", "Pasos", "Étapes";
        steps_about: "What guests do before they arrive, in the order that they see.", "Lo que hacen los huéspedes antes de llegar, en el orden en que lo encuentran.", "Ce que font les voyageurs avant d’arriver, dans l’ordre où ils le rencontrent.";
        new: "New step", "Nuevo paso", "Nouvelle étape";
        portal: "Portal", "Portal", "Portail";
        all: "All steps, as the default portal orders them", "Todos los pasos, en el orden del portal predeterminado", "Toutes les étapes, dans l’ordre du portail par défaut";
        show: "Show", "Mostrar", "Afficher";
        automatic: "This portal orders steps by their type. You decide the order within a type.", "Este portal ordena los pasos por tipo; dentro de un tipo decide usted.", "Ce portail ordonne les étapes par type ; au sein d’un type, vous décidez.";
        by_position: "This portal shows steps in the order that you give them.", "Este portal muestra los pasos en el orden que usted les da.", "Ce portail affiche les étapes dans l’ordre que vous leur donnez.";
        active: "Active", "Activo", "Active";
        inactive: "Inactive", "Inactivo", "Inactive";
        missing_payment_account: "No payment account", "Falta una cuenta de pago", "Pas de compte de paiement";
        missing_account: "No background-check account", "Falta la cuenta de verificación", "Pas de compte de vérification";
        too_many: "There are too many steps to order here. Set their positions in their forms.", "No se pueden ordenar tantos pasos a la vez. Deles una posición en sus formularios.", "Impossible d’ordonner autant d’étapes à la fois. Donnez-leur une position dans leur formulaire.";
        what: "What it asks for", "Qué pide", "Ce qu’elle demande";
        who: "Who gets it", "Quién lo recibe", "Qui la reçoit";
        always: "Every guest of the assigned flats gets it, whatever the stay.", "Lo recibe todo huésped de donde está asignado, sea cual sea la estancia.", "Tout voyageur des lieux affectés la reçoit, quel que soit le séjour.";
        everyone: "Every guest of the assigned flats gets it.", "Lo recibe todo huésped de donde está asignado.", "Tout voyageur des lieux affectés la reçoit.";
        those: "For stays {parts}.", "Para estancias {parts}.", "Pour les séjours {parts}.";
        one_flat: "1 flat", "1 alojamiento", "1 logement";
        flats: "{count} flats", "{count} alojamientos", "{count} logements";
        nobody: "It is assigned to no flat yet, so nobody gets it.", "Aún no llega a ningún alojamiento: no lo recibe nadie.", "Elle n’atteint encore aucun logement : personne ne la reçoit.";
        off: "It is switched off, so nobody gets it. When it is on: {who}", "Está desactivado: mientras tanto no lo recibe nadie. Cuando se active: {who}", "Elle est désactivée : personne ne la reçoit pour l’instant. Une fois activée : {who}";
        always_of: "Every guest of {flats} gets it, whatever the stay.", "Lo recibe todo huésped de {flats}, sea cual sea la estancia.", "Tout voyageur de {flats} la reçoit, quel que soit le séjour.";
        everyone_of: "Every guest of {flats} gets it.", "Lo recibe todo huésped de {flats}.", "Tout voyageur de {flats} la reçoit.";
        those_of: "Guests of {flats}, for stays {parts}.", "Huéspedes de {flats}, para estancias {parts}.", "Voyageurs de {flats}, pour les séjours {parts}.";
        texts: "Its texts in all languages", "Sus textos en todos los idiomas", "Ses textes dans toutes les langues";
        nights_from: "of {from} or more", "de {from} o más", "de {from} ou plus";
        nights_to: "of at most {to}", "de {to} como máximo", "de {to} au plus";
        nights_between: "of {from} to {to}", "de {from} a {to}", "de {from} à {to}";
        ahead_from: "booked at least {from} ahead", "reservadas con {from} o más de antelación", "réservés au moins {from} à l’avance";
        ahead_to: "booked at most {to} ahead", "reservadas con {to} de antelación como máximo", "réservés au plus {to} à l’avance";
        ahead_between: "booked {from} to {to} ahead", "reservadas con {from} a {to} de antelación", "réservés de {from} à {to} à l’avance";
        not_by: "not through {channels}", "no por {channels}", "pas par {channels}";
        only_by: "only through {channels}", "solo por {channels}", "seulement par {channels}";
        not_returning: "not of guests who stayed before", "no de huéspedes que ya se alojaron", "pas de voyageurs déjà venus";
        assigned: "Assigned to {what}.", "Asignado a: {what}.", "Affectée à : {what}.";
        unassigned: "Assigned to nothing yet.", "Aún sin asignar.", "Encore affectée à rien.";
        questions: "Questions", "Preguntas", "Questions";
        questions_about: "Questions: {count}.", "Preguntas: {count}.", "Questions : {count}.";
        edit_questions: "Edit the questions", "Editar las preguntas", "Modifier les questions";
        question: "Question", "Pregunta", "Question";
        question_text: "What is asked, in English", "Qué se pregunta, en inglés", "Ce qui est demandé, en anglais";
        kind: "How it is answered", "Cómo se responde", "Comment on y répond";
        needed: "An answer is required", "La respuesta es obligatoria", "Une réponse est nécessaire";
        options: "Options, in English", "Qué se puede elegir, en inglés", "Ce qu’on peut choisir, en anglais";
        option: "Option", "Opción", "Option";
        flagged: "Flags the submission", "Marca el envío", "Signale l’envoi";
        flagged_answers: "Answers that flag the submission for the team", "Respuestas que marcan el envío para el equipo", "Réponses qui signalent l’envoi à l’équipe";
        add_option: "Add an option", "Añadir una opción", "Ajouter une option";
        add_question: "Add a question", "Añadir una pregunta", "Ajouter une question";
        asked_when: "Asked only after one of these answers", "Solo se pregunta tras una de estas respuestas", "Posée seulement après une de ces réponses";
        asked_from: "Answers to another question", "Respuestas de otra pregunta", "Réponses d’une autre question";
        show_answers: "Show its answers", "Mostrar sus respuestas", "Afficher ses réponses";
        options_count: "options: {count}", "opciones: {count}", "options : {count}";
        is_conditional: "asked only after certain answers", "solo tras ciertas respuestas", "posée seulement après certaines réponses";
        no_questions: "There are no questions yet.", "Todavía no hay preguntas.", "Il n’y a pas encore de questions.";
        remove_about: "If you remove a question, guests’ answers to it are no longer shown, and conditions that use it are removed. Nothing is removed before you save.", "Lo que respondieron los huéspedes a una pregunta que se elimina ya no se muestra, y se van las condiciones que la mencionan; nada se elimina hasta que guarde.", "Ce que les voyageurs ont répondu à une question supprimée n’est plus affiché, et les conditions qui la visent disparaissent ; rien n’est supprimé avant l’enregistrement.";
        goes: "Removed when you save, and guests’ answers are no longer shown: {questions}.", "Se elimina al guardar, y lo que respondieron los huéspedes ya no se muestra: {questions}.", "Supprimé à l’enregistrement, et ce que les voyageurs ont répondu n’est plus affiché : {questions}.";
        asked_of_all_now: "Everybody is asked these once you save, because the deciding answers no longer come before them: {questions}.", "Se pregunta a todos cuando guarde, porque antes ya no se piden las respuestas que decidían: {questions}.", "Posé à tous dès l’enregistrement, car les réponses qui décidaient ne sont plus demandées avant : {questions}.";
        fewer_answers: "Fewer answers lead to these once you save: {questions}.", "Menos respuestas llevan a ella cuando guarde: {questions}.", "Moins de réponses y mènent dès l’enregistrement : {questions}.";
        quoted: "“{text}”", "«{text}»", "« {text} »";
        asked_of_all: "asked of everybody", "se pregunta a todos", "posée à tous";
        nothing_asked: "Write what is asked, or remove this question.", "Escriba qué se pregunta o elimine esta pregunta.", "Écrivez ce qui est demandé, ou supprimez cette question.";
        is_back: "You removed this question, and somebody else changed it in the meantime. Remove it again if you do not want it.", "Usted había eliminado esta pregunta y otra persona la ha cambiado mientras tanto. Elimínela de nuevo si debe irse.", "Vous aviez supprimé cette question, et quelqu’un d’autre l’a modifiée entre-temps. Supprimez-la de nouveau si elle doit disparaître.";
        is_removed: "Somebody else removed this question in the meantime. If you save, it is created again with your changes. Remove it if you do not want it.", "Otra persona ha eliminado esta pregunta mientras tanto. Con sus cambios se crea de nuevo; elimínela si no debe volver.", "Quelqu’un d’autre a supprimé cette question entre-temps. Avec vos modifications elle est créée de nouveau ; supprimez-la si elle ne doit pas revenir.";
        not_saved: "Not saved yet.", "Aún sin guardar.", "Pas encore enregistré.";
        theirs: "Nothing is saved yet. Their other changes are already taken over below. If both of you changed a question, choose there which one to keep, then save.", "Aún no se ha guardado nada. Lo que solo ha cambiado la otra persona ya está abajo; donde ambos han cambiado una pregunta, elija allí cuál se queda y guarde.", "Rien n’est encore enregistré. Ce que l’autre seul a modifié est repris ci-dessous ; là où vous avez tous deux modifié une question, choisissez laquelle garder, puis enregistrez.";
        stored_now: "As it is stored now:", "Tal como está guardado ahora:", "Tel que c’est enregistré maintenant :";
        take_theirs: "Discard my changes and use what is stored", "Quedarse con todo lo guardado y nada de lo mío", "Prendre tout ce qui est enregistré, et rien de ma version";
    }
}
