//! Texts of the frame of every page.

use super::words;

words! {
    pub struct FrameWords {
        colon: ":", ":", " :";
        skip: "Skip to the content", "Ir al contenido", "Aller au contenu";
        menu: "Menu", "Menú", "Menu";
        close: "Close", "Cerrar", "Fermer";
        navigation: "Screens", "Pantallas", "Écrans";
        today: "Today", "Hoy", "Aujourd’hui";
        setup: "What guests get", "Lo que ven los huéspedes", "Ce que voient les voyageurs";
        organization: "Organization", "Organización", "Organisation";
        home: "Home", "Inicio", "Accueil";
        welcome: "Welcome, {name}", "Hola, {name}", "Bonjour, {name}";
        welcome_text: "Here, {organization} sets up what its guests see.", "Aquí {organization} prepara lo que ven sus huéspedes.", "C’est ici que {organization} prépare ce que voient ses voyageurs.";
        search_all: "Search everything", "Buscar en todo", "Rechercher partout";
        sign_out: "Sign out", "Cerrar sesión", "Se déconnecter";
        signed_in_as: "Signed in as", "Sesión de", "Session de";
        language: "Language", "Idioma", "Langue";
        choose: "Change", "Cambiar", "Changer";
        created: "Created.", "Creado.", "Créé.";
        saved: "Saved.", "Guardado.", "Enregistré.";
        unchanged: "There was nothing to change.", "No había nada que cambiar.", "Il n’y avait rien à modifier.";
        removed: "Removed.", "Eliminado.", "Supprimé.";
        moved: "The order was changed.", "El orden ha cambiado.", "L’ordre est modifié.";
        assigned: "The assignments were changed.", "Las asignaciones han cambiado.", "Les affectations sont modifiées.";
        sent: "It is being sent.", "Se está enviando.", "C’est en cours d’envoi.";
        sent_none: "Nothing has failed since then, so nothing is sent again.", "No ha fallado nada desde entonces: no se envía nada.", "Rien n’a échoué depuis : rien n’est envoyé.";
        before: "Previous", "Anteriores", "Précédents";
        behind: "Next", "Siguientes", "Suivants";
        rows: "{first} to {last} of {total}", "{first} a {last} de {total}", "{first} à {last} sur {total}";
        nothing_found: "Nothing was found.", "No se ha encontrado nada.", "Rien n’a été trouvé.";
        session_ended: "Your session has ended", "Su sesión ha terminado", "Votre session est terminée";
        sign_in_again: "Please sign in again.", "Inicie sesión de nuevo.", "Veuillez vous reconnecter.";
        kept: "What you typed is not lost: it is on this page. Sign in again in another window, then come back here and continue. Nothing is saved until you save it.", "Lo que ha escrito no se ha perdido: está en esta página. Inicie sesión en otra ventana, vuelva aquí y continúe. No se guarda nada hasta que usted lo guarde.", "Ce que vous avez saisi n’est pas perdu : c’est sur cette page. Reconnectez-vous dans une autre fenêtre, revenez ici et continuez. Rien n’est enregistré tant que vous ne l’enregistrez pas.";
        sign_in: "Sign in in a new window", "Iniciar sesión en otra ventana", "Se connecter dans une autre fenêtre";
        go_on: "I have signed in; continue", "Ya he iniciado sesión: continuar", "Je suis connecté : continuer";
        is_kept: "This is what you had typed when your session ended. It is not saved yet.", "Esto es lo que había escrito cuando terminó su sesión. Todavía no se ha guardado nada.", "Voici ce que vous aviez saisi quand votre session s’est terminée. Rien n’en est encore enregistré.";
        not_lost: "Your changes could not be saved just now. They are not lost: they are on this page. Wait a moment, then send them again.", "Lo que ha enviado no se ha podido tramitar ahora mismo. No se ha perdido: está en esta página. Espere un momento y vuelva a enviarlo.", "Ce que vous avez envoyé n’a pas pu être traité pour l’instant. Ce n’est pas perdu : c’est sur cette page. Attendez un instant, puis renvoyez-le.";
        send_again: "Send it again", "Enviarlo de nuevo", "Renvoyer";
        too_large: "The form is too large or cannot be read: it may have at most 5,000 fields and 1 MiB. Go back in your browser; what you typed is still there.", "Lo que se ha enviado no es un formulario, o es mayor de lo que se puede leer: como máximo 5000 campos y 1 MiB. Vuelva atrás en el navegador: lo que ha escrito sigue ahí.", "Ce qui a été envoyé n’est pas un formulaire, ou il est plus grand que ce qui peut être lu : au plus 5 000 champs et 1 Mio. Revenez en arrière dans le navigateur : ce que vous avez saisi y est encore.";
        missing: "There is nothing here", "Aquí no hay nada", "Il n’y a rien ici";
        missing_text: "It does not exist, or you may not see it. Check the address, or start from the home page.", "Ya no existe o no puede verlo. Compruebe la dirección o empiece desde el principio.", "Cela n’existe plus, ou n’est pas visible pour vous. Vérifiez l’adresse ou repartez du début.";
        not_allowed: "You may not do this", "No tiene permiso", "Vous n’y êtes pas autorisé";
        not_allowed_text: "A person who manages your organization can give you the permission.", "Quien administra su organización puede darle el permiso.", "La personne qui gère votre organisation peut vous donner cette autorisation.";
        foreign_form: "Please try again", "Inténtelo de nuevo", "Veuillez réessayer";
        foreign_form_text: "This form does not belong to your session. Nothing has been changed. Open the page again and send the form again.", "Este formulario no es de su sesión. No se ha cambiado nada. Abra la página de nuevo y vuelva a enviarlo.", "Ce formulaire n’est pas celui de votre session. Rien n’a été modifié. Rouvrez la page et envoyez-le de nouveau.";
        too_many: "One moment, please", "Un momento, por favor", "Un instant, s’il vous plaît";
        too_many_text: "You sent too many requests in a short time. Nothing has been changed. Try again in a moment.", "Va más rápido de lo que permite el límite de peticiones. No se ha cambiado nada; inténtelo dentro de un momento.", "Vous allez plus vite que la limite de requêtes ne le permet. Rien n’a été modifié ; réessayez dans un instant.";
        unavailable: "Not available right now", "No disponible por ahora", "Indisponible pour le moment";
        unavailable_text: "Please try again in a moment.", "Inténtelo de nuevo dentro de un momento.", "Réessayez dans un instant.";
        broken: "Something went wrong", "Algo ha fallado", "Un problème est survenu";
        broken_text: "This is our fault, not yours. Try again. If it happens again, tell the operator of this service.", "Es culpa nuestra, no suya. Inténtelo de nuevo; si se repite, avise a quien mantiene el servicio.", "C’est de notre fait, pas du vôtre. Réessayez ; si cela se reproduit, prévenez la personne qui gère ce service.";
        refused: "This cannot be done", "Esto no se puede hacer", "C’est impossible";
        refused_text: "Nothing has been changed.", "No se ha cambiado nada.", "Rien n’a été modifié.";
        to_home: "To the home page", "Al principio", "Au début";
        copy: "Copy", "Copiar", "Copier";
        copied: "Copied", "Copiado", "Copié";
        yes: "Yes", "Sí", "Oui";
        no: "No", "No", "Non";
        back: "Back", "Volver", "Retour";
        cancel: "Cancel", "Cancelar", "Annuler";
    }
}

impl FrameWords {
    /// Puts a label before a text, with the colon of the language.
    pub fn labelled(&self, label: &str, text: &str) -> String {
        format!("{label}{} {text}", self.colon)
    }
}
