### The page for guests. French, addressed as vous.

steps-your-details = Vos coordonnées
steps-identity-check = Vérifiez votre identité
steps-background-check = Vérification des antécédents
steps-other-guests = Autres voyageurs
steps-authority-reporting = Déclaration des voyageurs
steps-additional-questions = Quelques questions
steps-document-upload = Envoyez vos documents
steps-agreement = Contrat de location
steps-mandatory-fee = Frais obligatoires
steps-damage-deposit = Dépôt de garantie
steps-screen-and-protect = Protection du séjour
steps-main = Prêt pour l’arrivée

happens-identity-check = Votre hôte vérifie l’identité des voyageurs et vous indiquera comment présenter votre pièce d’identité.
happens-background-check = Votre hôte fait effectuer une vérification des antécédents à partir des données de votre réservation.
happens-authority-reporting = Votre hôte déclare les voyageurs aux autorités, comme la loi l’exige, et pourra vous demander des informations.
happens-document-upload = Votre hôte a besoin de certains documents.
happens-mandatory-fee = Des frais obligatoires s’appliquent à votre séjour. Votre hôte les encaisse séparément.
happens-damage-deposit = Votre hôte demande un dépôt de garantie et vous indiquera comment le verser.
happens-screen-and-protect = Un service spécialisé vérifie et protège votre séjour pour le compte de votre hôte.
happens-main = Confirmez que tout est prêt pour votre arrivée.

common-yes = Oui
common-no = Non
common-required = obligatoire
common-optional = facultatif
common-choose = Choisir…
common-choose-any = Cochez toutes les réponses qui conviennent.
common-no-answer = Sans réponse
common-send = Envoyer
common-remove = Retirer
common-continue = Continuer
common-skip = Aller au contenu
common-language = Langue
common-shortcuts = Raccourcis

phase-your-stay = Votre séjour
phase-arrives-today = Vous arrivez aujourd’hui
phase-here-until = Vous êtes ici jusqu’au { $date }
phase-departure = Jour du départ
phase-leave-by = Merci de libérer le logement avant { $time }. Bon voyage !
phase-thanks = Merci pour votre séjour
phase-thanks-more = Ce fut un plaisir de vous recevoir. Au plaisir de vous accueillir à nouveau.
phase-cancelled = Ce séjour a été annulé.
phase-cancelled-contact = Si vous ne vous y attendiez pas, contactez-nous.
phase-tentative = Votre réservation n’est pas encore confirmée.
phase-check-in = Arrivée
phase-check-out = Départ
phase-from-time = à partir de { $time }
phase-until-time = avant { $time }
phase-nights = { $n ->
    [1] 1 nuit
   *[other] { $n } nuits
}
phase-address = Adresse
phase-at-the-door = À la porte
phase-getting-there = Comment venir
phase-before-you-leave = Avant de partir
phase-nothing-yet = Votre hôte n’a pas encore préparé cette page.
phase-instructions = Votre arrivée, étape par étape

precheckin-title = Pré-enregistrement
precheckin-prompt = Merci de compléter votre pré-enregistrement avant votre arrivée.
precheckin-progress = { $done } sur { $total } terminés
precheckin-next = À suivre : { $title }
precheckin-position = Étape { $n } sur { $total }
precheckin-resume = Continuer le pré-enregistrement
precheckin-save-and-continue = Enregistrer et continuer
precheckin-more = C’est enregistré. Il reste encore quelque chose à compléter ici.
precheckin-confirm = Confirmer
precheckin-review = Relisez vos réponses
precheckin-review-hint = Vérifiez que tout est exact, puis envoyez.
precheckin-change = Modifier
precheckin-change-what = Modifier { $title }
precheckin-not-answered = Sans réponse
precheckin-submit = Envoyer le pré-enregistrement
precheckin-submit-hint = Vous pourrez l’envoyer une fois toutes les étapes terminées.
precheckin-missing = Il manque encore :
precheckin-done = Terminé
precheckin-to-do = À faire
precheckin-with-host = Chez votre hôte
precheckin-needs-you = À vous d’agir
precheckin-did-not-work = N’a pas fonctionné
precheckin-sent-back = À revoir
precheckin-sent-back-message = Un mot de votre hôte :
precheckin-status = Statut
precheckin-not-started = Pas encore commencé
precheckin-in-progress = En cours
precheckin-in-review = En cours de vérification
precheckin-changes-requested = Modifications demandées
precheckin-approved = Approuvé
precheckin-outcome-in-review = Vous avez envoyé votre pré-enregistrement. Votre hôte est en train de le vérifier.
precheckin-outcome-approved = Votre pré-enregistrement est complet. Il ne vous reste plus rien à faire.
precheckin-outcome-changes = Votre hôte vous demande une modification. Revoyez les étapes signalées ci-dessous, puis envoyez à nouveau.
precheckin-outcome-new = Il y a du nouveau depuis votre envoi. Complétez les étapes signalées ci-dessous, puis envoyez à nouveau.

fields-first-name = Prénom
fields-last-name = Nom
fields-second-last-name = Second nom de famille
fields-email = Adresse e-mail
fields-phone = Téléphone
fields-birth-date = Date de naissance
fields-gender = Sexe
fields-nationality = Nationalité
fields-document-type = Type de document
fields-document-number = Numéro du document
fields-address = Rue et numéro
fields-city = Ville
fields-postal-code = Code postal
fields-country = Pays
fields-name-hint = Tel qu’il figure sur votre pièce d’identité.
fields-either-name-hint = Le prénom ou le nom suffit.
fields-email-hint = Où nous pouvons vous joindre au sujet de votre séjour.
fields-phone-hint = Avec l’indicatif du pays, par exemple +33 6 12 34 56 78.
fields-date-hint = Année, mois et jour, par exemple 1985-03-27.
fields-document-number-hint = Tel qu’il est imprimé sur le document.
fields-nationality-hint = Les deux lettres du pays, par exemple ES.
fields-from-age = Nécessaire à partir de { $n } ans.
fields-up-to-age = Nécessaire jusqu’à { $n } ans.
fields-some-guests = Nécessaire pour certains voyageurs seulement.
fields-address-hint = Là où vous habitez, pas là où vous séjournez.
fields-female = Femme
fields-male = Homme
fields-unspecified = Autre ou non précisé
fields-passport = Passeport
fields-identity-card = Carte d’identité
fields-driving-licence = Permis de conduire
fields-residence-permit = Titre de séjour
fields-other-document = Autre document
fields-guest = Voyageur { $n }
fields-add-guest = Ajouter un voyageur
fields-remove-guest = Retirer le voyageur { $n }
fields-guests-hint = Si personne ne voyage avec vous, laissez ce champ vide et enregistrez.
fields-guests-expected = Voyageurs à indiquer en plus de vous : { $n }

agreement-accept = J’ai lu et j’accepte ce contrat.
agreement-elsewhere = Votre hôte vous remet le contrat séparément. Lisez-le avant de l’accepter.
agreement-sign-elsewhere = Ce contrat se signe auprès d’un service de signature. Votre hôte vous dira comment.
agreement-consent = J’accepte le contrôle des antécédents.
agreement-signed-name = Votre nom complet
agreement-signed-name-hint = Votre nom saisi ici vaut signature.
agreement-accepted-at = Vous l’avez accepté le { $moment }.
agreement-text-changed = Le texte a changé depuis que vous l’avez accepté. Lisez-le et acceptez-le à nouveau.

deposit-question = Comment souhaitez-vous couvrir d’éventuels dommages ?
deposit-deposit = Dépôt de garantie de { $amount }
deposit-deposit-plain = Dépôt de garantie
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } par nuit
deposit-per-stay = { $price } pour le séjour
deposit-in-total = { $amount } au total pour le séjour.
deposit-due-at-submission = À payer à l’envoi.
deposit-none = Ni caution ni exonération
deposit-released = { $n ->
    [0] Restitué le jour de votre départ.
    [1] Restitué 1 jour après votre départ.
   *[other] Restitué { $n } jours après votre départ.
}
deposit-due = { $n ->
    [0] À payer le jour de votre arrivée.
    [1] À payer 1 jour avant votre arrivée.
   *[other] À payer { $n } jours avant votre arrivée.
}
deposit-not-charged = Aucun paiement n’est effectué sur cette page. Votre hôte s’en occupe.
deposit-fees = Frais de votre séjour
deposit-total = Total

files-choose = Choisir une photo ou un fichier
files-take-photo = Prendre une photo
files-upload = Envoyer
files-uploaded = Envoyé
files-remove = Retirer { $name }
files-hint = JPEG, PNG, WebP, HEIC ou PDF, { $size } au plus par fichier.
files-limit = Nombre maximal de fichiers : { $n }.
files-missing = Il manque encore : { $types }
files-which = De quel document s’agit-il ?

progress-pending = C’est en cours. Vous n’avez rien à faire.
progress-action-required = Une action de votre part est attendue.
progress-resume = Continuer
progress-completed = C’est fait.
progress-failed = Cela n’a pas fonctionné. Contactez votre hôte.
progress-host-sees-to-it = Votre hôte s’occupe du reste.
progress-document-checked = Votre hôte vérifiera votre document.
progress-amount = Montant : { $amount }

tiles-title = Accès rapide
tiles-uber = Commander un Uber
tiles-report-an-issue = Signaler un problème
tiles-find-parking = Trouver un parking
tiles-find-parking-justpark = Réserver un parking avec JustPark
tiles-rent-baby-gear = Louer du matériel pour bébé

contact-title = Nous contacter
contact-call = Appeler
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = E-mail
contact-directions = Itinéraire
contact-messages = Messages
contact-map = Voir sur une carte

messages-title = Écrire à votre hôte
messages-label = Votre message
messages-sent = Votre message a été envoyé.
messages-yours = Vos messages
messages-sent-at = Envoyé le { $moment }
messages-answers-elsewhere = Votre hôte vous répondra par téléphone, par e-mail ou sur le site où vous avez réservé.

ticket-title = Signaler un problème
ticket-description = Que s’est-il passé ?
ticket-description-hint = Dites-nous où et depuis quand : nous pourrons intervenir plus vite.
ticket-sent = Merci. Votre hôte a été prévenu.
ticket-yours = Vos signalements
ticket-begun = Quelqu’un s’en occupe.
ticket-done = Le problème est réglé.
ticket-full = Vous avez envoyé autant de signalements que cette page en accepte. Contactez votre hôte par un autre moyen.
ticket-off = Il n’est pas possible de signaler un problème ici pour le moment.

wifi-title = Wi-Fi
wifi-network = Réseau
wifi-password = Mot de passe
wifi-copy = Copier le mot de passe
wifi-copied = Copié
wifi-scan = Scannez avec un autre téléphone pour vous connecter.
wifi-drawing = Code QR pour rejoindre le réseau Wi-Fi { $name }

manuals-good-to-know = Bon à savoir
manuals-video = Voir la vidéo
manuals-jump = Aller à
manuals-later = À venir
manuals-unlocks = Vous le verrez à partir du { $moment }.

offer-title = Une offre pour vous
offer-open = Voir l’offre
offer-review-checkin = Tout se passe bien jusqu’ici ?
offer-review-checkout = Comment s’est passé votre séjour ?
offer-review-action = Donnez-nous votre avis

survey-overall = Dans l’ensemble
survey-rating-hint = 1 : mauvais, 5 : excellent.
survey-cleanliness = Propreté
survey-communication = Échanges
survey-location = Emplacement
survey-accuracy = Exactitude de la description
survey-value = Rapport qualité-prix
survey-checkin = Arrivée
survey-public-text = Votre avis, visible par tous
survey-private-text = Pour votre hôte uniquement
survey-sent = Merci pour votre avis.

extras-title = Suppléments
extras-open = Voir les suppléments
extras-quantity = Combien ?
extras-number = Indiquez un nombre entier de 0 à 99.
extras-keep = Garder la sélection
extras-request = Demander
extras-kept = Votre sélection est gardée. Vous ne l’avez pas encore demandée.
extras-requested = La demande a été transmise à votre hôte, qui vous répondra.
extras-empty = Choisissez au moins un supplément.

preview-guest = Voyageur
preview-banner = Ceci est un aperçu. Aucun voyageur ne le voit.
preview-forms = Les formulaires ne font rien ici et rien n’est enregistré.
preview-moment = Date et heure
preview-show = Afficher
preview-inactive = Inactif

keep-offline = Vous êtes hors connexion. Cette page date du { $moment }.
keep-offline-forms = Il faut une connexion pour envoyer quoi que ce soit.
keep-calendar = Ajouter au calendrier
keep-google-calendar = Ajouter à Google Agenda
keep-calendar-title = Séjour : { $property }
keep-calendar-description = Tout sur votre séjour : { $url }
keep-wallet = Ajouter à Apple Wallet
keep-privacy = Cette page n’utilise pas de cookies et ne vous suit pas. Toute personne qui connaît son adresse peut l’ouvrir : gardez-la pour vous.
keep-door-code = Code de la porte

pages-missing = Ce séjour est introuvable.
pages-missing-hint = Vérifiez le lien ou demandez-en un nouveau à votre hôte.
pages-step-missing = Cette étape ne fait pas, ou plus, partie de votre pré-enregistrement.
pages-manual-missing = Ce contenu n’est pas disponible pour le moment.
pages-busy = Cette page a été demandée trop souvent en peu de temps. Merci de patienter une minute avant de réessayer.
pages-unavailable = Cette page n’est pas disponible pour le moment. Merci de réessayer dans quelques minutes.
pages-home = Retour à votre séjour

errors-title = Il y a un problème
errors-required = Remplissez ce champ.
errors-one-name = Indiquez un prénom ou un nom.
errors-choose-one = Choisissez une réponse.
errors-email = Saisissez une adresse e-mail, par exemple nom@example.com.
errors-phone = Saisissez un numéro de téléphone avec l’indicatif du pays, par exemple +33 6 12 34 56 78.
errors-date = Saisissez une date valable.
errors-date-range = Saisissez une date entre 1900 et aujourd’hui, avec une année à quatre chiffres.
errors-too-long = Raccourcissez ce texte à { $max } caractères.
errors-accept = Cochez la case pour accepter le contrat.
errors-sign = Saisissez votre nom complet.
errors-consent = Cochez la case pour donner votre accord.
errors-file-missing = Choisissez un fichier.
errors-file-type = Ce fichier n’est ni JPEG, ni PNG, ni WebP, ni HEIC, ni PDF.
errors-file-size = Ce fichier est trop volumineux. La limite est de { $size }.
errors-file-count = Il y a déjà { $n } fichiers. Retirez-en un d’abord.
errors-guests-missing = Indiquez toutes les personnes qui voyagent avec vous.
errors-invalid = Vérifiez ce champ.
errors-not-saved = L’enregistrement n’a pas abouti. Vérifiez ce que vous avez saisi et réessayez.
errors-full = C’est plus que ce qui peut être enregistré pour votre séjour. Raccourcissez ce que vous avez écrit.
errors-message = Le message n’a pas pu être envoyé. Il ne doit être ni vide ni trop long.
errors-message-full = Vous avez envoyé autant de messages que cette page en accepte. Contactez votre hôte par un autre moyen.
errors-chat-off = Votre hôte ne reçoit pas de messages ici.
errors-precheckin-off = Le pré-enregistrement n’est pas disponible pour le moment.
errors-step-gone = Cette étape ne fait plus partie de votre pré-enregistrement.
errors-already-submitted = Votre pré-enregistrement a déjà été envoyé.
errors-stay-over = Votre séjour est terminé : plus rien ne peut être modifié ici.
errors-not-ready = Certaines étapes ne sont pas encore terminées.
errors-uploads-off = L’envoi de fichiers est impossible pour le moment. Réessayez plus tard ou contactez votre hôte.
errors-retry = Cela n’a pas fonctionné. Réessayez dans un instant.
