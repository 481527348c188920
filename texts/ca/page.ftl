### The page for guests. Catalan, addressed as tu.

steps-your-details = Les teves dades
steps-identity-check = Verifica la teva identitat
steps-background-check = Verificació d’antecedents
steps-other-guests = Altres hostes
steps-authority-reporting = Registre de viatgers
steps-additional-questions = Unes quantes preguntes
steps-document-upload = Puja els documents
steps-agreement = Contracte de lloguer
steps-mandatory-fee = Taxes obligatòries
steps-damage-deposit = Fiança
steps-screen-and-protect = Protecció de l’estada
steps-main = A punt per a l’entrada

happens-identity-check = El teu amfitrió comprova qui s’hi allotja i et dirà com ensenyar el document d’identitat.
happens-background-check = El teu amfitrió encarrega una verificació d’antecedents amb les dades de la reserva.
happens-authority-reporting = El teu amfitrió registra els hostes davant les autoritats, com exigeix la llei, i et pot demanar les dades que calguin.
happens-document-upload = El teu amfitrió necessita alguns documents.
happens-mandatory-fee = L’estada inclou taxes obligatòries. El teu amfitrió les cobra a part.
happens-damage-deposit = El teu amfitrió demana una fiança i et dirà com pagar-la.
happens-screen-and-protect = Un servei especialitzat comprova i protegeix l’estada per encàrrec del teu amfitrió.
happens-main = Confirma que tot és a punt per a la teva arribada.

common-yes = Sí
common-no = No
common-required = obligatori
common-optional = opcional
common-choose = Tria…
common-choose-any = Marca totes les opcions que corresponguin.
common-no-answer = Sense resposta
common-send = Envia
common-remove = Treu
common-continue = Continua
common-skip = Ves al contingut
common-language = Idioma
common-shortcuts = Accessos directes

phase-your-stay = La teva estada
phase-arrives-today = Avui arribes
phase-here-until = T’hi estàs fins al { $date }
phase-departure = Dia de sortida
phase-leave-by = Deixa l’allotjament abans d’aquesta hora: { $time }. Bon viatge!
phase-thanks = Gràcies per la teva estada
phase-thanks-more = Ha estat un plaer tenir-te aquí. Ens encantarà tornar-te a rebre.
phase-cancelled = Aquesta estada s’ha cancel·lat.
phase-cancelled-contact = Si no t’ho esperaves, posa’t en contacte amb nosaltres.
phase-tentative = La teva reserva encara no està confirmada.
phase-check-in = Entrada
phase-check-out = Sortida
phase-from-time = des de les { $time }
phase-until-time = fins a les { $time }
phase-nights = { $n ->
    [one] 1 nit
   *[other] { $n } nits
}
phase-address = Adreça
phase-at-the-door = A la porta
phase-getting-there = Com arribar-hi
phase-before-you-leave = Abans de marxar
phase-nothing-yet = El teu amfitrió encara no ha preparat aquesta pàgina.
phase-instructions = La teva arribada, pas a pas

precheckin-title = Precheck-in
precheckin-prompt = Completa el precheck-in abans d’arribar.
precheckin-progress = { $done } de { $total } passos fets
precheckin-next = Següent: { $title }
precheckin-position = Pas { $n } de { $total }
precheckin-resume = Continua el precheck-in
precheckin-save-and-continue = Desa i continua
precheckin-more = Desat. Encara falta emplenar alguna cosa aquí.
precheckin-confirm = Confirma
precheckin-review = Revisa les teves respostes
precheckin-review-hint = Comprova que tot sigui correcte i envia-ho.
precheckin-change = Canvia
precheckin-change-what = Canvia { $title }
precheckin-not-answered = Sense resposta
precheckin-submit = Envia el precheck-in
precheckin-submit-hint = Podràs enviar-lo quan hagis fet tots els passos.
precheckin-missing = Encara falta:
precheckin-done = Fet
precheckin-to-do = Pendent
precheckin-with-host = Amb el teu amfitrió
precheckin-needs-you = Et toca a tu
precheckin-did-not-work = No ha funcionat
precheckin-sent-back = Revisa aquest pas
precheckin-sent-back-message = Una nota del teu amfitrió:
precheckin-status = Estat
precheckin-not-started = Sense començar
precheckin-in-progress = En curs
precheckin-in-review = En revisió
precheckin-changes-requested = Canvis sol·licitats
precheckin-approved = Aprovat
precheckin-outcome-in-review = Has enviat el precheck-in. El teu amfitrió l’està revisant.
precheckin-outcome-approved = El precheck-in és complet. No et queda res per fer.
precheckin-outcome-changes = El teu amfitrió et demana que canviïs alguna cosa. Revisa els passos marcats i torna a enviar-lo.
precheckin-outcome-new = Hi ha alguna cosa nova des que ho vas enviar. Completa els passos marcats i torna a enviar-lo.

fields-first-name = Nom
fields-last-name = Cognoms
fields-second-last-name = Segon cognom
fields-email = Correu electrònic
fields-phone = Telèfon
fields-birth-date = Data de naixement
fields-gender = Sexe
fields-nationality = Nacionalitat
fields-document-type = Tipus de document
fields-document-number = Número de document
fields-address = Carrer i número
fields-city = Població
fields-postal-code = Codi postal
fields-country = País
fields-name-hint = Tal com consta al document d’identitat.
fields-either-name-hint = N’hi ha prou amb el nom o els cognoms.
fields-email-hint = On et podem escriure sobre l’estada.
fields-phone-hint = Amb el prefix del país, per exemple +34 612 345 678.
fields-date-hint = Any, mes i dia, per exemple 1985-03-27.
fields-document-number-hint = Tal com està imprès al document.
fields-nationality-hint = Les dues lletres del país, per exemple ES.
fields-from-age = Necessari a partir dels { $n } anys.
fields-up-to-age = Necessari fins als { $n } anys.
fields-some-guests = Necessari només per a alguns hostes.
fields-address-hint = On vius, no on t’allotges.
fields-female = Dona
fields-male = Home
fields-unspecified = Altres o prefereixo no dir-ho
fields-passport = Passaport
fields-identity-card = Document d’identitat
fields-driving-licence = Permís de conduir
fields-residence-permit = Permís de residència
fields-other-document = Un altre document
fields-guest = Hoste { $n }
fields-add-guest = Afegeix un altre hoste
fields-remove-guest = Treu l’hoste { $n }
fields-guests-hint = Si no viatja ningú amb tu, deixa-ho buit i desa.
fields-guests-expected = Hostes que cal indicar, a més de tu: { $n }

agreement-accept = He llegit i accepto aquest contracte.
agreement-elsewhere = El teu amfitrió et facilita el contracte a part. Llegeix-lo abans d’acceptar-lo.
agreement-sign-elsewhere = Aquest contracte se signa amb un servei de signatura. El teu amfitrió et dirà com.
agreement-consent = Accepto la comprovació d’antecedents.
agreement-signed-name = El teu nom complet
agreement-signed-name-hint = Escriure aquí el teu nom equival a la teva signatura.
agreement-accepted-at = Ho vas acceptar el { $moment }.
agreement-text-changed = El text ha canviat des que el vas acceptar. Llegeix-lo i torna’l a acceptar.

deposit-question = Com vols cobrir els possibles danys?
deposit-deposit = Fiança de { $amount }
deposit-deposit-plain = Fiança
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } per nit
deposit-per-stay = { $price } per l’estada
deposit-in-total = { $amount } en total per l’estada.
deposit-due-at-submission = A pagar en enviar-ho.
deposit-none = Ni fiança ni exempció
deposit-released = { $n ->
    [0] S’allibera el dia que marxes.
    [one] S’allibera 1 dia després que marxis.
   *[other] S’allibera { $n } dies després que marxis.
}
deposit-due = { $n ->
    [0] A pagar el dia que arribes.
    [one] A pagar 1 dia abans que arribis.
   *[other] A pagar { $n } dies abans que arribis.
}
deposit-not-charged = En aquesta pàgina no es cobra res. El teu amfitrió s’encarrega del pagament.
deposit-fees = Taxes de l’estada
deposit-total = Total

files-choose = Tria una foto o un fitxer
files-take-photo = Fes una foto
files-upload = Puja
files-uploaded = Pujat
files-remove = Treu { $name }
files-hint = JPEG, PNG, WebP, HEIC o PDF, de fins a { $size } cadascun.
files-limit = Màxim de fitxers: { $n }.
files-missing = Encara falta: { $types }
files-which = Quin document és?

progress-pending = Està en marxa. No has de fer res.
progress-action-required = Tens una cosa pendent.
progress-resume = Continua
progress-completed = Ja està fet.
progress-failed = No ha funcionat. Posa’t en contacte amb el teu amfitrió.
progress-host-sees-to-it = El teu amfitrió s’encarrega de la resta.
progress-document-checked = El teu amfitrió comprovarà el document.
progress-amount = Import: { $amount }

tiles-title = Accés ràpid
tiles-uber = Demana un Uber
tiles-report-an-issue = Informa d’un problema
tiles-find-parking = Busca aparcament
tiles-find-parking-justpark = Reserva aparcament amb JustPark
tiles-rent-baby-gear = Lloga articles per a nadons

contact-title = Contacta amb nosaltres
contact-call = Truca
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = Correu
contact-directions = Com arribar-hi
contact-messages = Missatges
contact-map = Mostra al mapa

messages-title = Escriu al teu amfitrió
messages-label = El teu missatge
messages-sent = El missatge s’ha enviat.
messages-yours = Els teus missatges
messages-sent-at = Enviat el { $moment }
messages-answers-elsewhere = El teu amfitrió et respondrà per telèfon, per correu o al web on vas reservar.

ticket-title = Informa d’un problema
ticket-description = Què ha passat?
ticket-description-hint = Si ens dius on i des de quan, ho arreglarem abans.
ticket-sent = Gràcies. Hem avisat el teu amfitrió.
ticket-yours = Els teus avisos
ticket-begun = Ja se n’estan ocupant.
ticket-done = Això ja està resolt.
ticket-full = Ja has enviat tants avisos com admet aquesta pàgina. Contacta amb el teu amfitrió d’una altra manera.
ticket-off = Ara mateix no es pot informar de problemes aquí.

wifi-title = Wifi
wifi-network = Xarxa
wifi-password = Contrasenya
wifi-copy = Copia la contrasenya
wifi-copied = Copiada
wifi-scan = Escaneja’l amb un altre telèfon per connectar-te.
wifi-drawing = Codi QR per connectar-se a la xarxa wifi { $name }

manuals-good-to-know = Informació útil
manuals-video = Mira el vídeo
manuals-jump = Ves a
manuals-later = Més endavant
manuals-unlocks = Ho veuràs a partir d’aquest moment: { $moment }.

offer-title = Una oferta per a tu
offer-open = Mira l’oferta
offer-review-checkin = Va tot bé fins ara?
offer-review-checkout = Com ha anat l’estada?
offer-review-action = Explica’ns-ho

survey-overall = En conjunt
survey-rating-hint = 1 és dolent, 5 és excel·lent.
survey-cleanliness = Neteja
survey-communication = Comunicació amb l’amfitrió
survey-location = Ubicació
survey-accuracy = Fidelitat de la descripció
survey-value = Relació qualitat-preu
survey-checkin = Arribada
survey-public-text = La teva opinió, visible per a tothom
survey-private-text = Només per al teu amfitrió
survey-sent = Gràcies per la teva opinió.

extras-title = Serveis addicionals
extras-open = Mostra els serveis
extras-quantity = Quants?
extras-number = Escriu un nombre enter del 0 al 99.
extras-keep = Desa la selecció
extras-request = Demana-ho
extras-kept = La teva selecció està desada. Encara no l’has demanada.
extras-requested = Hem avisat el teu amfitrió, que et respondrà.
extras-empty = Tria almenys un servei.

preview-guest = Hoste
preview-banner = Això és una previsualització. Cap hoste no la veu.
preview-forms = Els formularis no fan res aquí i no es desa res.
preview-moment = Data i hora
preview-show = Mostra
preview-inactive = Inactiu

keep-offline = No tens connexió. Aquesta pàgina és d’aquest moment: { $moment }.
keep-offline-forms = Cal connexió per enviar res.
keep-calendar = Afegeix al calendari
keep-google-calendar = Afegeix a Google Calendar
keep-calendar-title = Estada: { $property }
keep-calendar-description = Tot sobre la teva estada: { $url }
keep-wallet = Afegeix a Apple Wallet
keep-privacy = Aquesta pàgina no fa servir galetes ni et fa cap seguiment. Qui en tingui l’adreça la pot obrir: no la comparteixis.
keep-door-code = Codi de la porta

pages-missing = No trobem aquesta estada.
pages-missing-hint = Comprova l’enllaç o demana’n un de nou al teu amfitrió.
pages-step-missing = Aquest pas no forma part del teu precheck-in o ja no cal.
pages-manual-missing = Ara mateix no està disponible.
pages-busy = Aquesta pàgina s’ha demanat massa vegades en poc temps. Espera un minut i torna-ho a provar.
pages-unavailable = Aquesta pàgina no està disponible ara mateix. Torna-ho a provar d’aquí a uns minuts.
pages-home = Torna a la teva estada

errors-title = Hi ha un problema
errors-required = Emplena aquest camp.
errors-one-name = Escriu un nom o uns cognoms.
errors-choose-one = Tria una opció.
errors-email = Escriu un correu electrònic, per exemple nom@example.com.
errors-phone = Escriu un telèfon amb el prefix del país, per exemple +34 612 345 678.
errors-date = Escriu una data vàlida.
errors-date-range = Escriu una data entre el 1900 i avui, amb l’any de quatre xifres.
errors-too-long = Escurça-ho a { $max } caràcters.
errors-accept = Marca la casella per acceptar el contracte.
errors-sign = Escriu el teu nom complet.
errors-consent = Marca la casella per donar el consentiment.
errors-file-missing = Tria un fitxer.
errors-file-type = Aquest fitxer no és JPEG, PNG, WebP, HEIC ni PDF.
errors-file-size = Aquest fitxer és massa gran. El màxim és { $size }.
errors-file-count = Ja hi ha { $n } fitxers. Primer treu-ne un.
errors-guests-missing = Indica totes les persones que viatgen amb tu.
errors-invalid = Revisa aquest camp.
errors-not-saved = No s’ha pogut desar. Revisa el que has emplenat i torna-ho a provar.
errors-full = És més del que es pot desar per a la teva estada. Escurça el que has escrit.
errors-message = No s’ha pogut enviar el missatge. No pot ser buit ni massa llarg.
errors-message-full = Ja has enviat tants missatges com admet aquesta pàgina. Contacta amb el teu amfitrió d’una altra manera.
errors-chat-off = El teu amfitrió no rep missatges aquí.
errors-precheckin-off = El precheck-in no està disponible ara mateix.
errors-step-gone = Aquest pas ja no forma part del teu precheck-in.
errors-already-submitted = El precheck-in ja s’ha enviat.
errors-stay-over = La teva estada s’ha acabat i aquí ja no es pot canviar res.
errors-not-ready = Encara hi ha passos per fer.
errors-uploads-off = Ara mateix no es poden pujar fitxers. Torna-ho a provar més tard o contacta amb el teu amfitrió.
errors-retry = No ha funcionat. Torna-ho a provar d’aquí a un moment.
