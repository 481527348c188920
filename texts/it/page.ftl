### The page for guests. Italian, addressed as tu.

steps-your-details = I tuoi dati
steps-identity-check = Verifica la tua identità
steps-background-check = Controllo dei precedenti
steps-other-guests = Altri ospiti
steps-authority-reporting = Registrazione degli ospiti
steps-additional-questions = Qualche domanda
steps-document-upload = Carica i documenti
steps-agreement = Contratto di locazione
steps-mandatory-fee = Costi obbligatori
steps-damage-deposit = Deposito cauzionale
steps-screen-and-protect = Protezione del soggiorno
steps-main = Tutto pronto per l’arrivo

happens-identity-check = Il tuo host verifica chi soggiorna e ti dirà come mostrare il documento d’identità.
happens-background-check = Il tuo host fa eseguire un controllo dei precedenti con i dati della prenotazione.
happens-authority-reporting = Il tuo host comunica gli ospiti alle autorità, come richiede la legge, e potrà chiederti i dati necessari.
happens-document-upload = Il tuo host ha bisogno di alcuni documenti.
happens-mandatory-fee = Il soggiorno prevede costi obbligatori. Il tuo host li riscuote a parte.
happens-damage-deposit = Il tuo host chiede un deposito e ti dirà come versarlo.
happens-screen-and-protect = Un servizio specializzato verifica e protegge il tuo soggiorno per conto del tuo host.
happens-main = Conferma che è tutto pronto per il tuo arrivo.

common-yes = Sì
common-no = No
common-required = obbligatorio
common-optional = facoltativo
common-choose = Scegli…
common-choose-any = Seleziona tutte le risposte adatte.
common-no-answer = Nessuna risposta
common-send = Invia
common-remove = Rimuovi
common-continue = Continua
common-skip = Vai al contenuto
common-language = Lingua
common-shortcuts = Scorciatoie

phase-your-stay = Il tuo soggiorno
phase-arrives-today = Oggi arrivi
phase-here-until = Resti qui fino a { $date }
phase-departure = Giorno della partenza
phase-leave-by = Lascia l’alloggio entro quest’ora: { $time }. Buon viaggio!
phase-thanks = Grazie per aver soggiornato da noi
phase-thanks-more = È stato un piacere averti qui. Saremo felici di accoglierti di nuovo.
phase-cancelled = Questo soggiorno è stato annullato.
phase-cancelled-contact = Se non te lo aspettavi, contattaci.
phase-tentative = La tua prenotazione non è ancora confermata.
phase-check-in = Check-in
phase-check-out = Check-out
phase-from-time = dalle { $time }
phase-until-time = entro le { $time }
phase-nights = { $n ->
    [one] 1 notte
   *[other] { $n } notti
}
phase-address = Indirizzo
phase-at-the-door = Alla porta
phase-getting-there = Come arrivare
phase-before-you-leave = Prima di partire
phase-nothing-yet = Il tuo host non ha ancora preparato questa pagina.
phase-instructions = Il tuo arrivo, passo dopo passo

precheckin-title = Pre-check-in
precheckin-prompt = Completa il pre-check-in prima del tuo arrivo.
precheckin-progress = { $done } di { $total } completati
precheckin-next = Prossimo passo: { $title }
precheckin-position = Passo { $n } di { $total }
precheckin-resume = Continua il pre-check-in
precheckin-save-and-continue = Salva e continua
precheckin-more = Salvato. Qui c’è ancora qualcosa da completare.
precheckin-confirm = Conferma
precheckin-review = Controlla le tue risposte
precheckin-review-hint = Verifica che sia tutto giusto, poi invia.
precheckin-change = Modifica
precheckin-change-what = Modifica { $title }
precheckin-not-answered = Senza risposta
precheckin-submit = Invia il pre-check-in
precheckin-submit-hint = Potrai inviarlo quando avrai completato tutti i passi.
precheckin-missing = Manca ancora:
precheckin-done = Fatto
precheckin-to-do = Da fare
precheckin-with-host = Dal tuo host
precheckin-needs-you = Tocca a te
precheckin-did-not-work = Non è riuscito
precheckin-sent-back = Da rivedere
precheckin-sent-back-message = Un messaggio dal tuo host:
precheckin-status = Stato
precheckin-not-started = Non iniziato
precheckin-in-progress = In corso
precheckin-in-review = In verifica
precheckin-changes-requested = Modifiche richieste
precheckin-approved = Approvato
precheckin-outcome-in-review = Hai inviato il pre-check-in. Il tuo host lo sta verificando.
precheckin-outcome-approved = Il pre-check-in è completo. Non resta altro da fare.
precheckin-outcome-changes = Il tuo host ti chiede di modificare qualcosa. Rivedi i passi segnalati qui sotto e invia di nuovo.
precheckin-outcome-new = C’è qualcosa di nuovo dopo il tuo invio. Completa i passi segnalati qui sotto e invia di nuovo.

fields-first-name = Nome
fields-last-name = Cognome
fields-second-last-name = Secondo cognome
fields-email = E-mail
fields-phone = Telefono
fields-birth-date = Data di nascita
fields-gender = Sesso
fields-nationality = Cittadinanza
fields-document-type = Tipo di documento
fields-document-number = Numero del documento
fields-address = Via e numero civico
fields-city = Città
fields-postal-code = Codice postale
fields-country = Paese
fields-name-hint = Come riportato sul documento d’identità.
fields-either-name-hint = Basta il nome o il cognome.
fields-email-hint = Dove possiamo contattarti per il soggiorno.
fields-phone-hint = Con il prefisso del paese, per esempio +39 312 345 6789.
fields-date-hint = Anno, mese e giorno, per esempio 1985-03-27.
fields-document-number-hint = Come stampato sul documento.
fields-nationality-hint = Le due lettere del Paese, ad esempio ES.
fields-from-age = Necessario dai { $n } anni in su.
fields-up-to-age = Necessario fino ai { $n } anni.
fields-some-guests = Necessario solo per alcuni ospiti.
fields-address-hint = Dove abiti, non dove soggiorni.
fields-female = Femmina
fields-male = Maschio
fields-unspecified = Altro o preferisco non dirlo
fields-passport = Passaporto
fields-identity-card = Carta d’identità
fields-driving-licence = Patente di guida
fields-residence-permit = Permesso di soggiorno
fields-other-document = Altro documento
fields-guest = Ospite { $n }
fields-add-guest = Aggiungi un altro ospite
fields-remove-guest = Rimuovi l’ospite { $n }
fields-guests-hint = Se nessuno viaggia con te, lascia vuoto e salva.
fields-guests-expected = Ospiti da indicare oltre a te: { $n }

agreement-accept = Ho letto e accetto questo contratto.
agreement-elsewhere = Il tuo host ti fornisce il contratto a parte. Leggilo prima di accettarlo.
agreement-sign-elsewhere = Questo contratto si firma con un servizio di firma. Il tuo host ti dirà come.
agreement-consent = Acconsento al controllo dei precedenti.
agreement-signed-name = Il tuo nome completo
agreement-signed-name-hint = Scrivere qui il tuo nome vale come firma.
agreement-accepted-at = Accettato da te: { $moment }.
agreement-text-changed = Il testo è cambiato da quando lo hai accettato. Leggilo e accettalo di nuovo.

deposit-question = Come vuoi coprire eventuali danni?
deposit-deposit = Deposito cauzionale di { $amount }
deposit-deposit-plain = Deposito cauzionale
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } a notte
deposit-per-stay = { $price } per il soggiorno
deposit-in-total = { $amount } in totale per il soggiorno.
deposit-due-at-submission = Da pagare all’invio.
deposit-none = Né cauzione né esonero
deposit-released = { $n ->
    [0] Viene sbloccato il giorno della partenza.
    [one] Viene sbloccato 1 giorno dopo la partenza.
   *[other] Viene sbloccato { $n } giorni dopo la partenza.
}
deposit-due = { $n ->
    [0] Da pagare il giorno dell’arrivo.
    [one] Da pagare 1 giorno prima dell’arrivo.
   *[other] Da pagare { $n } giorni prima dell’arrivo.
}
deposit-not-charged = In questa pagina non si paga nulla. Al pagamento pensa il tuo host.
deposit-fees = Costi del soggiorno
deposit-total = Totale

files-choose = Scegli una foto o un file
files-take-photo = Scatta una foto
files-upload = Carica
files-uploaded = Caricato
files-remove = Rimuovi { $name }
files-hint = JPEG, PNG, WebP, HEIC o PDF, fino a { $size } ciascuno.
files-limit = Al massimo { $n } file.
files-missing = Manca ancora: { $types }
files-which = Che documento è?

progress-pending = È in corso. Non devi fare nulla.
progress-action-required = C’è qualcosa che devi fare.
progress-resume = Continua
progress-completed = Fatto.
progress-failed = Qualcosa non ha funzionato. Contatta il tuo host.
progress-host-sees-to-it = Al resto pensa il tuo host.
progress-document-checked = Il tuo host controllerà il documento.
progress-amount = Importo: { $amount }

tiles-title = Accesso rapido
tiles-uber = Prenota un Uber
tiles-report-an-issue = Segnala un problema
tiles-find-parking = Trova parcheggio
tiles-find-parking-justpark = Prenota un parcheggio con JustPark
tiles-rent-baby-gear = Noleggia articoli per bambini

contact-title = Contattaci
contact-call = Chiama
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = E-mail
contact-directions = Indicazioni
contact-messages = Messaggi
contact-map = Mostra sulla mappa

messages-title = Scrivi al tuo host
messages-label = Il tuo messaggio
messages-sent = Il messaggio è stato inviato.
messages-yours = I tuoi messaggi
messages-sent-at = Inviato: { $moment }
messages-answers-elsewhere = Il tuo host ti risponderà per telefono, per e-mail o sul sito della prenotazione.

ticket-title = Segnala un problema
ticket-description = Che cosa è successo?
ticket-description-hint = Dirci dove e da quando ci aiuta a risolvere in fretta.
ticket-sent = Grazie. Abbiamo avvisato il tuo host.
ticket-yours = Le tue segnalazioni
ticket-begun = Qualcuno se ne sta occupando.
ticket-done = Il problema è risolto.
ticket-full = Hai inviato tutte le segnalazioni che questa pagina accetta. Contatta il tuo host in un altro modo.
ticket-off = Al momento qui non si possono segnalare problemi.

wifi-title = Wi-Fi
wifi-network = Rete
wifi-password = Password
wifi-copy = Copia la password
wifi-copied = Copiata
wifi-scan = Inquadralo con un altro telefono per collegarti.
wifi-drawing = Codice QR per collegarsi alla rete Wi-Fi { $name }

manuals-good-to-know = Buono a sapersi
manuals-video = Guarda il video
manuals-jump = Vai a
manuals-later = Più avanti
manuals-unlocks = Lo vedrai da { $moment }.

offer-title = Un’offerta per te
offer-open = Vedi l’offerta
offer-review-checkin = Va tutto bene finora?
offer-review-checkout = Com’è andato il soggiorno?
offer-review-action = Raccontaci

survey-overall = Nel complesso
survey-rating-hint = 1 è scarso, 5 è eccellente.
survey-cleanliness = Pulizia
survey-communication = Comunicazione
survey-location = Posizione
survey-accuracy = Precisione della descrizione
survey-value = Rapporto qualità-prezzo
survey-checkin = Arrivo
survey-public-text = La tua recensione, visibile a tutti
survey-private-text = Solo per il tuo host
survey-sent = Grazie per la recensione.

extras-title = Servizi extra
extras-open = Vedi i servizi extra
extras-quantity = Quanti?
extras-number = Inserisci un numero intero da 0 a 99.
extras-keep = Conserva la selezione
extras-request = Richiedi
extras-kept = La tua selezione è conservata. Non l’hai ancora richiesta.
extras-requested = Abbiamo inoltrato la richiesta al tuo host, che ti risponderà.
extras-empty = Scegli almeno un servizio.

preview-guest = Ospite
preview-banner = Questa è un’anteprima. Nessun ospite la vede.
preview-forms = Qui i moduli non fanno nulla e nulla viene salvato.
preview-moment = Data e ora
preview-show = Mostra
preview-inactive = Non attivo

keep-offline = Sei offline. Questa pagina è aggiornata a: { $moment }.
keep-offline-forms = Per inviare qualcosa serve una connessione.
keep-calendar = Aggiungi al calendario
keep-google-calendar = Aggiungi a Google Calendar
keep-calendar-title = Soggiorno: { $property }
keep-calendar-description = Tutto sul tuo soggiorno: { $url }
keep-wallet = Aggiungi ad Apple Wallet
keep-privacy = Questa pagina non usa cookie e non ti traccia. Chiunque ne abbia l’indirizzo può aprirla: tienilo per te.
keep-door-code = Codice della porta

pages-missing = Non troviamo questo soggiorno.
pages-missing-hint = Controlla il link o chiedine uno nuovo al tuo host.
pages-step-missing = Questo passo non fa parte del tuo pre-check-in, o non più.
pages-manual-missing = Al momento non è disponibile.
pages-busy = Questa pagina è stata richiesta troppe volte in poco tempo. Aspetta un minuto e riprova.
pages-unavailable = Questa pagina al momento non è disponibile. Riprova tra qualche minuto.
pages-home = Torna al tuo soggiorno

errors-title = C’è un problema
errors-required = Compila questo campo.
errors-one-name = Inserisci un nome o un cognome.
errors-choose-one = Scegli un’opzione.
errors-email = Inserisci un indirizzo e-mail, per esempio nome@example.com.
errors-phone = Inserisci un numero di telefono con il prefisso del paese, per esempio +39 312 345 6789.
errors-date = Inserisci una data valida.
errors-date-range = Inserisci una data tra il 1900 e oggi, con l’anno di quattro cifre.
errors-too-long = Accorcia il testo a { $max } caratteri.
errors-accept = Spunta la casella per accettare il contratto.
errors-sign = Scrivi il tuo nome completo.
errors-consent = Spunta la casella per dare il consenso.
errors-file-missing = Scegli un file.
errors-file-type = Questo file non è JPEG, PNG, WebP, HEIC o PDF.
errors-file-size = Questo file è troppo grande. Il massimo è { $size }.
errors-file-count = Ci sono già { $n } file. Prima rimuovine uno.
errors-guests-missing = Indica tutte le persone che viaggiano con te.
errors-invalid = Controlla questo campo.
errors-not-saved = Non è stato possibile salvare. Controlla quello che hai inserito e riprova.
errors-full = È più di quanto si possa salvare per il tuo soggiorno. Accorcia quello che hai scritto.
errors-message = Non è stato possibile inviare il messaggio. Non può essere vuoto né troppo lungo.
errors-message-full = Hai inviato tutti i messaggi che questa pagina accetta. Contatta il tuo host in un altro modo.
errors-chat-off = Il tuo host non riceve messaggi qui.
errors-precheckin-off = Il pre-check-in al momento non è disponibile.
errors-step-gone = Questo passo non fa più parte del tuo pre-check-in.
errors-already-submitted = Il pre-check-in è già stato inviato.
errors-stay-over = Il tuo soggiorno è finito: qui non si può più modificare nulla.
errors-not-ready = Alcuni passi non sono ancora completati.
errors-uploads-off = Al momento non è possibile caricare file. Riprova più tardi o contatta il tuo host.
errors-retry = Non ha funzionato. Riprova tra un momento.
