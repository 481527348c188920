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
    // Steps.
    stepType: "Type", "Tipo", "Type"; "Qué pide el paso a los huéspedes. No se puede cambiar cuando alguien ya ha respondido.", "Ce que l’étape demande. Ne peut plus changer dès qu’un voyageur a répondu.";
    isActive: "Active", "Activo", "Actif"; "Si se muestra donde está asignado.", "S’il est affiché là où il est affecté.";
    displayTitle: "Heading for guests", "Título para los huéspedes", "Titre pour les voyageurs"; "En inglés. Vacío: el título propio del tipo.", "En anglais. Vide : le titre propre au type.";
    displayTitleMlTextId: "Heading", "Título", "Titre"; "", "";
    displayTitleLanguage: "Language of the heading", "Idioma del título", "Langue du titre"; "", "";
    guestDescriptionMlTextId: "Text below the heading", "Texto bajo el título", "Texte sous le titre"; "Lo que leen los huéspedes sobre el paso.", "Ce que lisent les voyageurs sur l’étape.";
    sortOrder: "Position", "Posición", "Position"; "Vacío: al final.", "Vide : à la fin.";
    feeProductIds: "Fees", "Tasas", "Frais"; "Lo que se paga en este paso.", "Ce qui est payé à cette étape.";
    feesPaymentAccountId: "Payment account for the fees", "Cuenta de pago de las tasas", "Compte de paiement des frais"; "Sin definir: la cuenta predeterminada.", "Non défini : le compte par défaut.";
    minLos: "Shortest stay", "Estancia mínima", "Séjour le plus court"; "En noches; 0: ninguna.", "En nuits ; 0 : aucun.";
    maxLos: "Longest stay", "Estancia máxima", "Séjour le plus long"; "En noches; 1000: ninguna.", "En nuits ; 1000 : aucun.";
    leadTimeMinDays: "Booked at least so many days ahead", "Reservado al menos con tantos días", "Réservé au moins tant de jours avant"; "Días entre la reserva y la llegada.", "Jours entre la réservation et l’arrivée.";
    leadTimeMaxDays: "Booked at most so many days ahead", "Reservado como máximo con tantos días", "Réservé au plus tant de jours avant"; "Días entre la reserva y la llegada.", "Jours entre la réservation et l’arrivée.";
    inclusionType: "Booking channels", "Canales de reserva", "Canaux de réservation"; "Si los canales deciden quién recibe el paso.", "Si les canaux décident qui reçoit l’étape.";
    excludedSources: "All channels but these", "Todos los canales menos estos", "Tous les canaux sauf ceux-ci"; "Por ejemplo, direct.", "Par exemple, direct.";
    includedSourcesReturning: "Only these channels", "Solo estos canales", "Seulement ces canaux"; "Por ejemplo, direct.", "Par exemple, direct.";
    isReturningGuestExcluded: "Not for returning guests", "No para huéspedes que vuelven", "Pas pour les voyageurs déjà venus"; "Quien ya se alojó no recibe el paso.", "Qui est déjà venu ne reçoit pas l’étape.";
    isAlwaysShown: "For every guest", "Para todos los huéspedes", "Pour tous les voyageurs"; "Sin tener en cuenta las demás reglas; tiene que estar asignado.", "Sans tenir compte des autres règles ; elle doit être affectée.";
    damageWaiverDepositAmountCents: "Deposit with the waiver, in cents", "Fianza con la exención, en céntimos", "Caution avec l’exonération, en centimes"; "", "";
    isDamageWaiverEnabled: "Damage waiver offered", "Ofrecer exención de daños", "Proposer une exonération"; "Los huéspedes pueden elegirla en lugar de la fianza.", "Les voyageurs peuvent la choisir à la place de la caution.";
    damageWaiverCapCents: "Waiver covers at most, in cents", "La exención cubre como máximo, en céntimos", "L’exonération couvre au plus, en centimes"; "", "";
    damageWaiverMinLos: "Shortest stay for the waiver", "Estancia mínima para la exención", "Séjour le plus court pour l’exonération"; "En noches.", "En nuits.";
    damageWaiverPricingBasis: "Waiver is priced", "Precio de la exención", "Prix de l’exonération"; "", "";
    isDamageWaiverWaivable: "Waiver can be let off", "Se puede dispensar la exención", "L’exonération peut être offerte"; "", "";
    damageWaiverPaymentAccountId: "Payment account for the waiver", "Cuenta de pago de la exención", "Compte de paiement de l’exonération"; "Sin definir: la cuenta predeterminada.", "Non défini : le compte par défaut.";
    damageDepositSubtitleMlTextId: "Text below the heading of the deposit", "Texto bajo el título de la fianza", "Texte sous le titre de la caution"; "", "";
    securityDepositAmountCents: "Security deposit, in cents", "Fianza, en céntimos", "Caution, en centimes"; "", "";
    isSecurityDepositEnabled: "Security deposit taken", "Se cobra una fianza", "Une caution est prise"; "", "";
    securityDepositDaysBeforeCheckin: "Taken so many days before check-in", "Se cobra tantos días antes de la llegada", "Prise tant de jours avant l’arrivée"; "", "";
    securityDepositReleaseDaysAfterCheckout: "Released so many days after check-out", "Se devuelve tantos días después de la salida", "Rendue tant de jours après le départ"; "", "";
    securityDepositPaymentAccountId: "Payment account for the deposit", "Cuenta de pago de la fianza", "Compte de paiement de la caution"; "Sin definir: la cuenta predeterminada.", "Non défini : le compte par défaut.";
    securityDepositSubtitleMlTextId: "Text below the security deposit", "Texto bajo la fianza", "Texte sous la caution"; "", "";
    agreementType: "How it is signed", "Cómo se firma", "Comment il est signé"; "", "";
    contractTemplateText: "Text to agree to, in one language", "Texto que aceptar, en un idioma", "Texte à accepter, en une langue"; "El mismo para todos los idiomas.", "Le même pour toutes les langues.";
    contractTemplateTextMlTextId: "Text to agree to", "Texto que aceptar", "Texte à accepter"; "En el idioma del huésped.", "Dans la langue du voyageur.";
    esignATemplateId: "Template at the first provider", "Plantilla del primer proveedor", "Modèle chez le premier prestataire"; "", "";
    esignATitleMlTextId: "Title of the signature", "Título de la firma", "Titre de la signature"; "", "";
    esignASubtitleMlTextId: "Text below the title", "Texto bajo el título", "Texte sous le titre"; "", "";
    esignBTemplateId: "Template at the second provider", "Plantilla del segundo proveedor", "Modèle chez le second prestataire"; "", "";
    esignBHeadingMlTextId: "Heading of the signature", "Encabezado de la firma", "Titre de la signature"; "", "";
    esignBSubtitleMlTextId: "Text below the heading", "Texto bajo el encabezado", "Texte sous le titre"; "", "";
    isMandatorySigning: "Has to be signed", "Firma obligatoria", "Signature obligatoire"; "", "";
    esignPrefillValues: "Filled in beforehand", "Rellenado de antemano", "Prérempli"; "Textos de los campos del documento, por su nombre.", "Textes des champs du document, par leur nom.";
    identityFlagPolicy: "What follows from each check", "Qué sigue a cada comprobación", "Ce qui suit chaque contrôle"; "", "";
    document_expired: "Document has expired", "Documento caducado", "Document expiré"; "", "";
    document_not_official: "Not an official document", "Documento no oficial", "Document non officiel"; "", "";
    document_unreadable: "Document cannot be read", "Documento ilegible", "Document illisible"; "", "";
    face_mismatch: "Face does not match", "La cara no coincide", "Le visage ne correspond pas"; "", "";
    guest_is_local: "Guest lives there", "El huésped vive allí", "Le voyageur habite sur place"; "", "";
    guest_underage: "Guest is too young", "Huésped menor de edad", "Voyageur trop jeune"; "", "";
    name_mismatch: "Name does not match", "El nombre no coincide", "Le nom ne correspond pas"; "", "";
    name_unavailable: "No name to compare", "No hay nombre que comparar", "Pas de nom à comparer"; "", "";
    name_unconfirmed: "Name not confirmed", "Nombre sin confirmar", "Nom non confirmé"; "", "";
    no_face_on_document: "No photo on the document", "Documento sin foto", "Document sans photo"; "", "";
    retake_limit: "No more tries", "Sin más intentos", "Plus d’essais"; "", "";
    selfie_spoof: "Picture is not live", "La foto no es en vivo", "La photo n’est pas prise sur le vif"; "", "";
    verification_unavailable: "Could not be verified", "No se pudo verificar", "Vérification impossible"; "", "";
    minimumGuestAge: "Minimum age", "Edad mínima", "Âge minimal"; "En años.", "En années.";
    backgroundCheckAccountId: "Background-check account", "Cuenta de verificación", "Compte de vérification"; "Un paso activo la necesita.", "Une étape active en a besoin.";
    requiredGuestFields: "What to ask of each guest", "Qué pedir a cada huésped", "Que demander à chaque voyageur"; "Por ejemplo, firstName, birthDate, documentNumber.", "Par exemple, firstName, birthDate, documentNumber.";
    requiredDocumentTypes: "Documents to upload", "Documentos que subir", "Documents à envoyer"; "Con nombres propios.", "Avec vos propres noms.";
    authorityProvider: "Provider that reports", "Proveedor que comunica", "Prestataire qui déclare"; "", "";
    isAuthorityProviderPropertyInfoEmailEnabled: "Provider mails the lead guest", "El proveedor escribe al huésped", "Le prestataire écrit au voyageur"; "Solo un proveedor lo hace.", "Un seul prestataire le fait.";
    // Manuals.
    title: "Title", "Título", "Titre"; "En inglés; se traduce después.", "En anglais ; traduit ensuite.";
    titleId: "Title", "Título", "Titre"; "El título que leen los huéspedes.", "Le titre que lisent les voyageurs.";
    description: "Text", "Texto", "Texte"; "En inglés y Markdown; se traduce después.", "En anglais et Markdown ; traduit ensuite.";
    descriptionId: "Text", "Texto", "Texte"; "En Markdown.", "En Markdown.";
    manualCategoryId: "Category", "Categoría", "Catégorie"; "El título bajo el que se encuentra.", "La rubrique où il se trouve.";
    displayMode: "What is shown", "Qué se muestra", "Ce qui est affiché"; "", "";
    customFieldId: "Custom field", "Campo propio", "Champ personnalisé"; "Su valor en cada alojamiento.", "Sa valeur dans chaque logement.";
    videoUrl: "Video address", "Dirección del vídeo", "Adresse de la vidéo"; "", "";
    internalDescription: "Note for the team", "Nota para el equipo", "Note pour l’équipe"; "Los huéspedes nunca la ven.", "Les voyageurs ne la voient jamais.";
    imageId: "Image record", "Registro de imagen", "Fiche d’image"; "", "";
    imageUrl: "Image address", "Dirección de la imagen", "Adresse de l’image"; "Quita el icono.", "Retire l’icône.";
    iconName: "Icon", "Icono", "Icône"; "Por su nombre en inglés; quita la imagen.", "Par son nom anglais ; retire l’image.";
    visibilityRules: "Rules", "Reglas", "Règles"; "", "";
    propertyId: "Flat", "Alojamiento", "Logement"; "", "";
    startDateRelativeType: "Start counts from", "El inicio cuenta desde", "Le début compte depuis"; "", "";
    daysBefore: "So many", "Cuántos", "Combien"; "", "";
    daysBeforeTimeUnit: "Unit", "Unidad", "Unité"; "", "";
    endDateRelativeType: "End counts from", "El final cuenta desde", "La fin compte depuis"; "", "";
    daysAfter: "So many", "Cuántos", "Combien"; "", "";
    daysAfterTimeUnit: "Unit", "Unidad", "Unité"; "", "";
    seasonalWindows: "Seasons", "Temporadas", "Saisons"; "", "";
    startDate: "From", "Desde", "Du"; "", "";
    endDate: "Until", "Hasta", "Au"; "", "";
    lengthOfStayFromDays: "At least so many nights", "Al menos tantas noches", "Au moins tant de nuits"; "", "";
    lengthOfStayToDays: "At most so many nights", "Como máximo tantas noches", "Au plus tant de nuits"; "", "";
    sourceRuleType: "Which channels", "Qué canales", "Quels canaux"; "", "";
    includedBookingSources: "Only these", "Solo estos", "Seulement ceux-ci"; "Por ejemplo, direct.", "Par exemple, direct.";
    excludedBookingSources: "All but these", "Todos menos estos", "Tous sauf ceux-ci"; "Por ejemplo, direct.", "Par exemple, direct.";
    verificationStatuses: "Any of these", "Cualquiera de estos", "L’un de ceux-ci"; "", "";
};
