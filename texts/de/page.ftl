### The page for guests. German, addressed as Sie.

steps-your-details = Ihre Angaben
steps-identity-check = Identität bestätigen
steps-background-check = Hintergrundprüfung
steps-other-guests = Weitere Gäste
steps-authority-reporting = Anmeldung der Gäste
steps-additional-questions = Ein paar Fragen
steps-document-upload = Dokumente hochladen
steps-agreement = Mietvertrag
steps-mandatory-fee = Pflichtgebühren
steps-damage-deposit = Kaution
steps-screen-and-protect = Schutz für den Aufenthalt
steps-main = Bereit für die Ankunft

happens-identity-check = Ihr Gastgeber prüft, wer hier wohnt, und sagt Ihnen, wie Sie Ihren Ausweis zeigen können.
happens-background-check = Ihr Gastgeber lässt anhand Ihrer Buchungsdaten eine Hintergrundprüfung durchführen.
happens-authority-reporting = Ihr Gastgeber meldet alle Gäste bei den Behörden, wie es das Gesetz verlangt, und fragt Sie vielleicht nach den nötigen Angaben.
happens-document-upload = Ihr Gastgeber braucht einige Dokumente von Ihnen.
happens-mandatory-fee = Für Ihren Aufenthalt fallen Pflichtgebühren an. Ihr Gastgeber rechnet sie gesondert ab.
happens-damage-deposit = Ihr Gastgeber verlangt eine Kaution und sagt Ihnen, wie Sie sie zahlen können.
happens-screen-and-protect = Ein spezialisierter Dienst prüft und schützt Ihren Aufenthalt im Auftrag Ihres Gastgebers.
happens-main = Bestätigen Sie, dass für Ihre Ankunft alles bereit ist.

common-yes = Ja
common-no = Nein
common-required = erforderlich
common-optional = freiwillig
common-choose = Bitte wählen …
common-choose-any = Wählen Sie alles aus, was zutrifft.
common-no-answer = Keine Antwort
common-send = Senden
common-remove = Entfernen
common-continue = Weiter
common-skip = Zum Inhalt springen
common-language = Sprache
common-shortcuts = Schnellzugriffe

phase-your-stay = Ihr Aufenthalt
phase-arrives-today = Heute kommen Sie an
phase-here-until = Sie sind hier bis { $date }
phase-departure = Abreisetag
phase-leave-by = Bitte reisen Sie bis { $time } ab. Gute Fahrt!
phase-thanks = Danke für Ihren Aufenthalt
phase-thanks-more = Schön, dass Sie da waren. Wir würden uns freuen, Sie wieder begrüßen zu dürfen.
phase-cancelled = Dieser Aufenthalt wurde storniert.
phase-cancelled-contact = Wenn Sie damit nicht gerechnet haben, melden Sie sich bitte bei uns.
phase-tentative = Ihre Buchung ist noch nicht bestätigt.
phase-check-in = Anreise
phase-check-out = Abreise
phase-from-time = ab { $time }
phase-until-time = bis { $time }
phase-nights = { $n ->
    [one] 1 Nacht
   *[other] { $n } Nächte
}
phase-address = Adresse
phase-at-the-door = An der Tür
phase-getting-there = Anfahrt
phase-before-you-leave = Vor der Abreise
phase-nothing-yet = Ihr Gastgeber hat diese Seite noch nicht eingerichtet.
phase-instructions = Ihre Ankunft, Schritt für Schritt

precheckin-title = Online-Check-in
precheckin-prompt = Bitte füllen Sie vor Ihrer Ankunft den Online-Check-in aus.
precheckin-progress = { $done } von { $total } erledigt
precheckin-next = Als Nächstes: { $title }
precheckin-position = Schritt { $n } von { $total }
precheckin-resume = Online-Check-in fortsetzen
precheckin-save-and-continue = Speichern und weiter
precheckin-more = Gespeichert. Hier fehlt noch etwas.
precheckin-confirm = Bestätigen
precheckin-review = Ihre Antworten prüfen
precheckin-review-hint = Bitte prüfen Sie, ob alles stimmt, und senden Sie es dann ab.
precheckin-change = Ändern
precheckin-change-what = { $title } ändern
precheckin-not-answered = Nicht beantwortet
precheckin-submit = Online-Check-in absenden
precheckin-submit-hint = Sie können absenden, sobald alle Schritte erledigt sind.
precheckin-missing = Es fehlt noch:
precheckin-done = Erledigt
precheckin-to-do = Offen
precheckin-with-host = Beim Gastgeber
precheckin-needs-you = Sie sind gefragt
precheckin-did-not-work = Hat nicht geklappt
precheckin-sent-back = Bitte noch einmal ansehen
precheckin-sent-back-message = Nachricht von Ihrem Gastgeber:
precheckin-status = Status
precheckin-not-started = Noch nicht begonnen
precheckin-in-progress = In Arbeit
precheckin-in-review = In Prüfung
precheckin-changes-requested = Änderungen erbeten
precheckin-approved = Bestätigt
precheckin-outcome-in-review = Sie haben Ihren Online-Check-in abgesendet. Ihr Gastgeber prüft ihn gerade.
precheckin-outcome-approved = Ihr Online-Check-in ist vollständig. Es gibt nichts mehr zu tun.
precheckin-outcome-changes = Ihr Gastgeber bittet Sie um eine Änderung. Sehen Sie sich die markierten Schritte an und senden Sie noch einmal ab.
precheckin-outcome-new = Seit Ihrem Absenden ist etwas hinzugekommen. Bitte vervollständigen Sie die markierten Schritte und senden Sie noch einmal ab.

fields-first-name = Vorname
fields-last-name = Nachname
fields-second-last-name = Zweiter Nachname
fields-email = E-Mail
fields-phone = Telefon
fields-birth-date = Geburtsdatum
fields-gender = Geschlecht
fields-nationality = Staatsangehörigkeit
fields-document-type = Art des Dokuments
fields-document-number = Nummer des Dokuments
fields-address = Straße und Hausnummer
fields-city = Ort
fields-postal-code = Postleitzahl
fields-country = Land
fields-name-hint = So, wie es in Ihrem Ausweis steht.
fields-either-name-hint = Ein Vor- oder ein Nachname genügt.
fields-email-hint = Hier erreichen wir Sie zu Ihrem Aufenthalt.
fields-phone-hint = Mit Landesvorwahl, zum Beispiel +49 30 901820.
fields-date-hint = Jahr, Monat und Tag, zum Beispiel 1985-03-27.
fields-document-number-hint = So, wie sie auf dem Dokument steht.
fields-nationality-hint = Die zwei Buchstaben des Landes, zum Beispiel ES.
fields-from-age = Nötig ab { $n } Jahren.
fields-up-to-age = Nötig bis { $n } Jahre.
fields-some-guests = Nur für manche Gäste nötig.
fields-address-hint = Wo Sie wohnen, nicht wo Sie zu Gast sind.
fields-female = Weiblich
fields-male = Männlich
fields-unspecified = Divers oder keine Angabe
fields-passport = Reisepass
fields-identity-card = Personalausweis
fields-driving-licence = Führerschein
fields-residence-permit = Aufenthaltstitel
fields-other-document = Anderes Dokument
fields-guest = Gast { $n }
fields-add-guest = Weiteren Gast hinzufügen
fields-remove-guest = Gast { $n } entfernen
fields-guests-hint = Wenn niemand mit Ihnen reist, lassen Sie dies leer und speichern Sie.
fields-guests-expected = Anzugebende Gäste außer Ihnen: { $n }

agreement-accept = Ich habe den Vertrag gelesen und nehme ihn an.
agreement-elsewhere = Ihr Gastgeber gibt Ihnen den Vertrag gesondert. Bitte lesen Sie ihn, bevor Sie ihn annehmen.
agreement-sign-elsewhere = Dieser Vertrag wird über einen Signaturdienst unterschrieben. Ihr Gastgeber sagt Ihnen, wie.
agreement-consent = Ich stimme der Hintergrundprüfung zu.
agreement-signed-name = Ihr vollständiger Name
agreement-signed-name-hint = Ihr hier eingegebener Name gilt als Unterschrift.
agreement-accepted-at = Von Ihnen angenommen: { $moment }.
agreement-text-changed = Der Text hat sich geändert, seit Sie ihn angenommen haben. Bitte lesen Sie ihn und nehmen Sie ihn noch einmal an.

deposit-question = Wie möchten Sie mögliche Schäden absichern?
deposit-deposit = Kaution von { $amount }
deposit-deposit-plain = Kaution
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } pro Nacht
deposit-per-stay = { $price } für den Aufenthalt
deposit-in-total = Insgesamt { $amount } für Ihren Aufenthalt.
deposit-due-at-submission = Fällig, wenn Sie absenden.
deposit-none = Ohne Kaution und ohne Absicherung
deposit-released = { $n ->
    [0] Wird am Tag Ihrer Abreise freigegeben.
    [one] Wird 1 Tag nach Ihrer Abreise freigegeben.
   *[other] Wird { $n } Tage nach Ihrer Abreise freigegeben.
}
deposit-due = { $n ->
    [0] Fällig am Tag Ihrer Ankunft.
    [one] Fällig 1 Tag vor Ihrer Ankunft.
   *[other] Fällig { $n } Tage vor Ihrer Ankunft.
}
deposit-not-charged = Auf dieser Seite wird nichts abgebucht. Ihr Gastgeber kümmert sich um die Zahlung.
deposit-fees = Gebühren für Ihren Aufenthalt
deposit-total = Summe

files-choose = Foto oder Datei auswählen
files-take-photo = Foto aufnehmen
files-upload = Hochladen
files-uploaded = Hochgeladen
files-remove = { $name } entfernen
files-hint = JPEG, PNG, WebP, HEIC oder PDF, jeweils bis { $size }.
files-limit = Höchstens { $n } Dateien.
files-missing = Es fehlt noch: { $types }
files-which = Was ist darauf zu sehen?

progress-pending = Das läuft. Sie müssen nichts tun.
progress-action-required = Hier müssen Sie noch etwas tun.
progress-resume = Weiter
progress-completed = Das ist erledigt.
progress-failed = Das hat nicht geklappt. Bitte wenden Sie sich an Ihren Gastgeber.
progress-host-sees-to-it = Um den Rest kümmert sich Ihr Gastgeber.
progress-document-checked = Ihr Gastgeber prüft Ihr Dokument.
progress-amount = Betrag: { $amount }

tiles-title = Schnellzugriff
tiles-uber = Uber bestellen
tiles-report-an-issue = Problem melden
tiles-find-parking = Parkplatz finden
tiles-find-parking-justpark = Parkplatz mit JustPark buchen
tiles-rent-baby-gear = Babyausstattung mieten

contact-title = Kontakt
contact-call = Anrufen
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = E-Mail
contact-directions = Route
contact-messages = Nachrichten
contact-map = Auf der Karte zeigen

messages-title = Nachricht an Ihren Gastgeber
messages-label = Ihre Nachricht
messages-sent = Ihre Nachricht wurde gesendet.
messages-yours = Ihre Nachrichten
messages-sent-at = Gesendet: { $moment }
messages-answers-elsewhere = Ihr Gastgeber antwortet per Telefon, per E-Mail oder über Ihr Buchungsportal.

ticket-title = Problem melden
ticket-description = Was ist passiert?
ticket-description-hint = Wo es ist und seit wann: Das hilft uns, es schnell zu beheben.
ticket-sent = Danke. Ihr Gastgeber weiß Bescheid.
ticket-yours = Ihre Meldungen
ticket-begun = Jemand kümmert sich darum.
ticket-done = Das ist erledigt.
ticket-full = Sie haben so viele Probleme gemeldet, wie diese Seite annimmt. Bitte erreichen Sie Ihren Gastgeber auf anderem Weg.
ticket-off = Hier können im Moment keine Probleme gemeldet werden.

wifi-title = WLAN
wifi-network = Netzwerk
wifi-password = Passwort
wifi-copy = Passwort kopieren
wifi-copied = Kopiert
wifi-scan = Mit einem anderen Telefon scannen, um sich zu verbinden.
wifi-drawing = QR-Code für das WLAN { $name }

manuals-good-to-know = Gut zu wissen
manuals-video = Video ansehen
manuals-jump = Springen zu
manuals-later = Kommt noch
manuals-unlocks = Das sehen Sie ab { $moment }.

offer-title = Ein Angebot für Sie
offer-open = Zum Angebot
offer-review-checkin = Ist bisher alles in Ordnung?
offer-review-checkout = Wie war Ihr Aufenthalt?
offer-review-action = Sagen Sie es uns

survey-overall = Insgesamt
survey-rating-hint = 1 ist schlecht, 5 ist ausgezeichnet.
survey-cleanliness = Sauberkeit
survey-communication = Verständigung
survey-location = Lage
survey-accuracy = Genauigkeit der Beschreibung
survey-value = Preis und Leistung
survey-checkin = Ankunft
survey-public-text = Ihre Bewertung, für alle lesbar
survey-private-text = Nur für Ihren Gastgeber
survey-sent = Danke für Ihre Bewertung.

extras-title = Zusatzleistungen
extras-open = Zusatzleistungen ansehen
extras-quantity = Wie viele?
extras-number = Bitte geben Sie eine ganze Zahl von 0 bis 99 ein.
extras-keep = Auswahl merken
extras-request = Anfragen
extras-kept = Ihre Auswahl ist gemerkt. Sie haben sie noch nicht angefragt.
extras-requested = Ihr Gastgeber hat die Anfrage erhalten und meldet sich bei Ihnen.
extras-empty = Bitte wählen Sie mindestens eine Leistung.

preview-guest = Gast
preview-banner = Dies ist eine Vorschau. Kein Gast sieht sie.
preview-forms = Formulare haben hier keine Wirkung, und nichts wird gespeichert.
preview-moment = Datum und Uhrzeit
preview-show = Anzeigen
preview-inactive = Nicht aktiv

keep-offline = Sie sind offline. Stand dieser Seite: { $moment }.
keep-offline-forms = Zum Senden brauchen Sie eine Verbindung.
keep-calendar = In den Kalender
keep-google-calendar = Zu Google Kalender hinzufügen
keep-calendar-title = Aufenthalt: { $property }
keep-calendar-description = Alles zu Ihrem Aufenthalt: { $url }
keep-wallet = Zu Apple Wallet hinzufügen
keep-privacy = Diese Seite setzt keine Cookies und verfolgt Sie nicht. Wer ihre Adresse hat, kann sie öffnen: Behalten Sie sie für sich.
keep-door-code = Türcode

pages-missing = Diesen Aufenthalt finden wir nicht.
pages-missing-hint = Prüfen Sie bitte den Link, oder bitten Sie Ihren Gastgeber um einen neuen.
pages-step-missing = Dieser Schritt gehört nicht oder nicht mehr zu Ihrem Online-Check-in.
pages-manual-missing = Das ist gerade nicht verfügbar.
pages-busy = Diese Seite wurde in kurzer Zeit zu oft aufgerufen. Bitte warten Sie eine Minute und versuchen Sie es noch einmal.
pages-unavailable = Diese Seite ist gerade nicht verfügbar. Bitte versuchen Sie es in einigen Minuten noch einmal.
pages-home = Zurück zu Ihrem Aufenthalt

errors-title = Da stimmt etwas nicht
errors-required = Bitte füllen Sie dieses Feld aus.
errors-one-name = Bitte geben Sie einen Vor- oder einen Nachnamen ein.
errors-choose-one = Bitte wählen Sie eine Möglichkeit.
errors-email = Bitte geben Sie eine E-Mail-Adresse ein, zum Beispiel name@example.com.
errors-phone = Bitte geben Sie eine Telefonnummer mit Landesvorwahl ein, zum Beispiel +49 30 901820.
errors-date = Bitte geben Sie ein gültiges Datum ein.
errors-date-range = Bitte geben Sie ein Datum zwischen 1900 und heute ein, mit vierstelliger Jahreszahl.
errors-too-long = Bitte kürzen Sie dies auf { $max } Zeichen.
errors-accept = Bitte setzen Sie das Häkchen, um den Vertrag anzunehmen.
errors-sign = Bitte geben Sie Ihren vollständigen Namen ein.
errors-consent = Bitte setzen Sie das Häkchen, um zuzustimmen.
errors-file-missing = Bitte wählen Sie eine Datei aus.
errors-file-type = Diese Datei ist weder JPEG, PNG, WebP oder HEIC noch PDF.
errors-file-size = Diese Datei ist zu groß. Erlaubt sind höchstens { $size }.
errors-file-count = Es sind schon { $n } Dateien da. Bitte entfernen Sie zuerst eine.
errors-guests-missing = Bitte geben Sie alle an, die mit Ihnen reisen.
errors-invalid = Bitte prüfen Sie dieses Feld.
errors-not-saved = Das konnte nicht gespeichert werden. Bitte prüfen Sie Ihre Eingaben und versuchen Sie es noch einmal.
errors-full = Das ist mehr, als für Ihren Aufenthalt gespeichert werden kann. Bitte kürzen Sie Ihren Text.
errors-message = Die Nachricht konnte nicht gesendet werden. Sie darf weder leer noch zu lang sein.
errors-message-full = Sie haben so viele Nachrichten gesendet, wie diese Seite annimmt. Bitte erreichen Sie Ihren Gastgeber auf anderem Weg.
errors-chat-off = Ihr Gastgeber nimmt hier keine Nachrichten entgegen.
errors-precheckin-off = Der Online-Check-in ist gerade nicht verfügbar.
errors-step-gone = Dieser Schritt gehört nicht mehr zu Ihrem Online-Check-in.
errors-already-submitted = Ihr Online-Check-in wurde bereits abgesendet.
errors-stay-over = Ihr Aufenthalt ist vorbei, daher lässt sich hier nichts mehr ändern.
errors-not-ready = Einige Schritte sind noch nicht erledigt.
errors-uploads-off = Dateien können gerade nicht angenommen werden. Versuchen Sie es später, oder wenden Sie sich an Ihren Gastgeber.
errors-retry = Das hat nicht geklappt. Bitte versuchen Sie es gleich noch einmal.
