//! Texts of flats and the other records.

use super::words;
use crate::records::RecordKind;

words! {
    pub struct RecordsWords {
        flats: "Flats", "Alojamientos", "Logements";
        groups: "Groups", "Grupos", "Groupes";
        tags: "Tags", "Etiquetas", "Étiquettes";
        stays: "Stays", "Estancias", "Séjours";
        accounts: "Payment accounts", "Cuentas de cobro", "Comptes d’encaissement";
        domains: "Domains", "Dominios", "Domaines";
        fees: "Fees", "Tasas", "Frais";
        waivers: "Damage waivers", "Exenciones de daños", "Garanties dommages";
        custom_fields: "Custom fields", "Campos propios", "Champs personnalisés";
        extras: "Extras", "Extras", "Extras";
        codes: "Door codes", "Códigos de puerta", "Codes d’accès";
        instructions: "Instructions", "Instrucciones", "Consignes";
        checks: "Background-check accounts", "Cuentas de comprobación", "Comptes de contrôle";
        new_flat: "Add a flat", "Añadir un alojamiento", "Ajouter un logement";
        new_group: "Add a group", "Añadir un grupo", "Ajouter un groupe";
        new_tag: "Add a tag", "Añadir una etiqueta", "Ajouter une étiquette";
        new_stay: "Add a stay", "Añadir una estancia", "Ajouter un séjour";
        new_account: "Add a payment account", "Añadir una cuenta de cobro", "Ajouter un compte d’encaissement";
        new_domain: "Add a domain", "Añadir un dominio", "Ajouter un domaine";
        new_fee: "Add a fee", "Añadir una tasa", "Ajouter des frais";
        new_waiver: "Add a damage waiver", "Añadir una exención", "Ajouter une garantie";
        new_custom_field: "Add a custom field", "Añadir un campo propio", "Ajouter un champ personnalisé";
        new_extra: "Add an extra", "Añadir un extra", "Ajouter un extra";
        new_code: "Add a door code", "Añadir un código", "Ajouter un code";
        new_instruction: "Add an instruction", "Añadir una instrucción", "Ajouter une consigne";
        new_check: "Add an account", "Añadir una cuenta", "Ajouter un compte";
        about: "What your guests book and use. Records of the platform are changed there.", "Lo que sus huéspedes reservan y usan. Los registros de la plataforma se cambian allí.", "Ce que vos voyageurs réservent et utilisent. Les éléments de la plateforme se modifient là-bas.";
        empty_flats: "There is no flat yet. Add the first one, or import a file.", "Aún no hay ningún alojamiento. Añada el primero o importe un archivo.", "Il n’y a encore aucun logement. Ajoutez le premier, ou importez un fichier.";
        empty: "There is nothing here yet.", "Aquí todavía no hay nada.", "Il n’y a encore rien ici.";
        find: "Find by name", "Buscar por nombre", "Chercher par nom";
        clear: "Clear filters", "Quitar los filtros", "Effacer les filtres";
        by_platform: "Platform", "Plataforma", "Plateforme";
        by_calendar: "Calendar", "Calendario", "Calendrier";
        of_platform: "The platform manages this record. It can only be changed there.", "La plataforma gestiona este registro. Solo se puede cambiar allí.", "La plateforme gère cet élément. Il ne peut être modifié que là-bas.";
        stays_of: "Stays in this flat", "Estancias en este alojamiento", "Séjours dans ce logement";
        network: "Wi-Fi", "Wifi", "Wi-Fi";
        settings: "Settings of the flat", "Ajustes del alojamiento", "Réglages du logement";
        page_of: "The page of this stay", "La página de esta estancia", "La page de ce séjour";
        remove_about: "It is removed for good. What points at it then points at nothing.", "Se elimina para siempre. Lo que apunta a ello no apuntará a nada.", "C’est supprimé pour de bon. Ce qui y renvoie ne renverra plus à rien.";
        import: "Import a CSV file", "Importar un archivo CSV", "Importer un fichier CSV";
        import_about: "The first line names the fields, and the column external_id identifies each line. Nothing is written before you have seen what would change.", "La primera línea nombra los campos, y la columna external_id identifica cada línea. No se escribe nada antes de que vea qué cambiaría.", "La première ligne nomme les champs, et la colonne external_id identifie chaque ligne. Rien n’est écrit avant que vous ayez vu ce qui changerait.";
        file: "CSV file", "Archivo CSV", "Fichier CSV";
        columns: "Columns with another name", "Columnas con otro nombre", "Colonnes portant un autre nom";
        columns_hint: "One per line: the header, =, the field. For example: Guest = guest.firstName", "Una por línea: el encabezado, =, el campo. Por ejemplo: Huésped = guest.firstName", "Une par ligne : l’en-tête, =, le champ. Par exemple : Voyageur = guest.firstName";
        dates: "Form of the dates", "Forma de las fechas", "Forme des dates";
        dates_hint: "If they are not like 2026-12-31. For example: %d/%m/%Y", "Si no son como 2026-12-31. Por ejemplo: %d/%m/%Y", "Si elles ne sont pas comme 2026-12-31. Par exemple : %d/%m/%Y";
        fields: "Fields that a column can have", "Campos que puede tener una columna", "Champs qu’une colonne peut avoir";
        look: "Show what would change", "Mostrar qué cambiaría", "Montrer ce qui changerait";
        do_import: "Import {count} records", "Importar {count} registros", "Importer {count} éléments";
        other_file: "Choose another file", "Elegir otro archivo", "Choisir un autre fichier";
        no_moment: "must be a date and a time, such as 2026-12-11 15:00", "debe ser una fecha y una hora, por ejemplo 2026-12-11 15:00", "doit être une date et une heure, par exemple 2026-12-11 15:00";
        no_file: "Choose a file first.", "Elija primero un archivo.", "Choisissez d’abord un fichier.";
        no_text: "The file is not UTF-8. Save it as CSV UTF-8 and choose it again.", "El archivo no es UTF-8. Guárdelo como CSV UTF-8 y elíjalo de nuevo.", "Le fichier n’est pas en UTF-8. Enregistrez-le en CSV UTF-8 et choisissez-le de nouveau.";
        count_new: "New: {count}", "Nuevos: {count}", "Nouveaux : {count}";
        count_changed: "Changed: {count}", "Cambiados: {count}", "Modifiés : {count}";
        count_unchanged: "Unchanged: {count}", "Sin cambios: {count}", "Inchangés : {count}";
        count_wrong: "Errors: {count}", "Errores: {count}", "Erreurs : {count}";
        wrong_about: "A file with errors writes nothing. Correct these cells, and choose the file again.", "Un archivo con errores no escribe nada. Corrija estas celdas y elija el archivo de nuevo.", "Un fichier avec des erreurs n’écrit rien. Corrigez ces cellules et choisissez de nouveau le fichier.";
        nothing_to_do: "The file changes nothing.", "El archivo no cambia nada.", "Le fichier ne change rien.";
        ignored: "Columns that are left out: {names}", "Columnas que se dejan fuera: {names}", "Colonnes laissées de côté : {names}";
        line: "Line {line}", "Línea {line}", "Ligne {line}";
        is_new: "new", "nuevo", "nouveau";
        is_changed: "changed", "cambiado", "modifié";
        is_wrong: "wrong", "erróneo", "erroné";
        imported: "Imported: {added} new, {changed} changed, {unchanged} unchanged.", "Importados: {added} nuevos, {changed} cambiados, {unchanged} sin cambios.", "Importés : {added} nouveaux, {changed} modifiés, {unchanged} inchangés.";
        to_list: "To the list", "A la lista", "Vers la liste";
    }
}

impl RecordsWords {
    /// Returns the name of the records of a kind.
    pub const fn of(&self, kind: RecordKind) -> &'static str {
        match kind {
            RecordKind::PropertyGroup => self.groups,
            RecordKind::Tag => self.tags,
            RecordKind::Reservation => self.stays,
            RecordKind::PaymentAccount => self.accounts,
            RecordKind::CustomUrl => self.domains,
            RecordKind::FeeProduct => self.fees,
            RecordKind::DamageWaiver => self.waivers,
            RecordKind::CustomField => self.custom_fields,
            RecordKind::Upsell => self.extras,
            RecordKind::LockCode => self.codes,
            RecordKind::Instruction => self.instructions,
            RecordKind::BackgroundCheckAccount => self.checks,
            _ => self.flats,
        }
    }

    /// Returns the label of the button that adds a record of a kind.
    pub const fn adding(&self, kind: RecordKind) -> &'static str {
        match kind {
            RecordKind::PropertyGroup => self.new_group,
            RecordKind::Tag => self.new_tag,
            RecordKind::Reservation => self.new_stay,
            RecordKind::PaymentAccount => self.new_account,
            RecordKind::CustomUrl => self.new_domain,
            RecordKind::FeeProduct => self.new_fee,
            RecordKind::DamageWaiver => self.new_waiver,
            RecordKind::CustomField => self.new_custom_field,
            RecordKind::Upsell => self.new_extra,
            RecordKind::LockCode => self.new_code,
            RecordKind::Instruction => self.new_instruction,
            RecordKind::BackgroundCheckAccount => self.new_check,
            _ => self.new_flat,
        }
    }
}
