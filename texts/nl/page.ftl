### The page for guests. Dutch, addressed as je.

steps-your-details = Je gegevens
steps-identity-check = Bevestig je identiteit
steps-background-check = Achtergrondcheck
steps-other-guests = Andere gasten
steps-authority-reporting = Gasten aanmelden
steps-additional-questions = Een paar vragen
steps-document-upload = Documenten uploaden
steps-agreement = Huurovereenkomst
steps-mandatory-fee = Verplichte kosten
steps-damage-deposit = Borg
steps-screen-and-protect = Bescherming van je verblijf
steps-main = Klaar om in te checken

happens-identity-check = Je gastheer controleert wie er verblijft en laat je weten hoe je je identiteitsbewijs kunt tonen.
happens-background-check = Je gastheer laat een achtergrondcheck uitvoeren met de gegevens van je boeking.
happens-authority-reporting = Je gastheer meldt alle gasten aan bij de autoriteiten, zoals de wet voorschrijft, en kan je om de nodige gegevens vragen.
happens-document-upload = Je gastheer heeft een aantal documenten van je nodig.
happens-mandatory-fee = Voor je verblijf gelden verplichte kosten. Je gastheer rekent die apart af.
happens-damage-deposit = Je gastheer vraagt een borg en laat je weten hoe je die kunt betalen.
happens-screen-and-protect = Een gespecialiseerde dienst controleert en beschermt je verblijf namens je gastheer.
happens-main = Bevestig dat alles klaar is voor je aankomst.

common-yes = Ja
common-no = Nee
common-required = verplicht
common-optional = optioneel
common-choose = Maak een keuze…
common-choose-any = Kies alles wat van toepassing is.
common-no-answer = Geen antwoord
common-send = Versturen
common-remove = Verwijderen
common-continue = Verder
common-skip = Naar de inhoud
common-language = Taal
common-shortcuts = Snelkoppelingen

phase-your-stay = Je verblijf
phase-arrives-today = Vandaag kom je aan
phase-here-until = Je bent hier tot { $date }
phase-departure = Vertrekdag
phase-leave-by = Vertrek uiterlijk om { $time }. Goede reis!
phase-thanks = Bedankt voor je verblijf
phase-thanks-more = Fijn dat je er was. We verwelkomen je graag nog eens.
phase-cancelled = Dit verblijf is geannuleerd.
phase-cancelled-contact = Had je dit niet verwacht? Neem dan contact met ons op.
phase-tentative = Je boeking is nog niet bevestigd.
phase-check-in = Inchecken
phase-check-out = Uitchecken
phase-from-time = vanaf { $time }
phase-until-time = uiterlijk { $time }
phase-nights = { $n ->
    [one] 1 nacht
   *[other] { $n } nachten
}
phase-address = Adres
phase-at-the-door = Bij de deur
phase-getting-there = De weg ernaartoe
phase-before-you-leave = Voor je vertrekt
phase-nothing-yet = Je gastheer heeft deze pagina nog niet ingericht.
phase-instructions = Je aankomst, stap voor stap

precheckin-title = Online inchecken
precheckin-prompt = Rond het online inchecken af voordat je aankomt.
precheckin-progress = { $done } van { $total } klaar
precheckin-next = Volgende: { $title }
precheckin-position = Stap { $n } van { $total }
precheckin-resume = Verdergaan met inchecken
precheckin-save-and-continue = Opslaan en verder
precheckin-more = Opgeslagen. Hier moet nog iets worden ingevuld.
precheckin-confirm = Bevestigen
precheckin-review = Controleer je antwoorden
precheckin-review-hint = Kijk of alles klopt en verstuur het dan.
precheckin-change = Wijzigen
precheckin-change-what = { $title } wijzigen
precheckin-not-answered = Niet beantwoord
precheckin-submit = Online inchecken versturen
precheckin-submit-hint = Je kunt versturen zodra alle stappen klaar zijn.
precheckin-missing = Dit ontbreekt nog:
precheckin-done = Klaar
precheckin-to-do = Nog te doen
precheckin-with-host = Bij je gastheer
precheckin-needs-you = Jij bent aan zet
precheckin-did-not-work = Niet gelukt
precheckin-sent-back = Kijk hier nog eens naar
precheckin-sent-back-message = Een bericht van je gastheer:
precheckin-status = Status
precheckin-not-started = Nog niet begonnen
precheckin-in-progress = Bezig
precheckin-in-review = In behandeling
precheckin-changes-requested = Wijzigingen gevraagd
precheckin-approved = Goedgekeurd
precheckin-outcome-in-review = Je hebt alles verstuurd. Je gastheer kijkt het na.
precheckin-outcome-approved = Je bent online ingecheckt. Er is niets meer te doen.
precheckin-outcome-changes = Je gastheer vraagt je iets te wijzigen. Bekijk de gemarkeerde stappen hieronder en verstuur opnieuw.
precheckin-outcome-new = Er is iets nieuws sinds je dit verstuurde. Vul de gemarkeerde stappen hieronder in en verstuur opnieuw.

fields-first-name = Voornaam
fields-last-name = Achternaam
fields-second-last-name = Tweede achternaam
fields-email = E-mail
fields-phone = Telefoon
fields-birth-date = Geboortedatum
fields-gender = Geslacht
fields-nationality = Nationaliteit
fields-document-type = Soort document
fields-document-number = Documentnummer
fields-address = Straat en huisnummer
fields-city = Plaats
fields-postal-code = Postcode
fields-country = Land
fields-name-hint = Zoals het in je identiteitsbewijs staat.
fields-either-name-hint = Een voornaam of een achternaam is genoeg.
fields-email-hint = Waar we je kunnen bereiken over je verblijf.
fields-phone-hint = Met landnummer, bijvoorbeeld +31 6 12345678.
fields-date-hint = Jaar, maand en dag, bijvoorbeeld 1985-03-27.
fields-document-number-hint = Zoals het op het document staat.
fields-nationality-hint = De twee letters van het land, zoals ES.
fields-from-age = Nodig vanaf { $n } jaar.
fields-up-to-age = Nodig tot en met { $n } jaar.
fields-some-guests = Alleen voor sommige gasten nodig.
fields-address-hint = Waar je woont, niet waar je verblijft.
fields-female = Vrouw
fields-male = Man
fields-unspecified = Anders of liever niet zeggen
fields-passport = Paspoort
fields-identity-card = Identiteitskaart
fields-driving-licence = Rijbewijs
fields-residence-permit = Verblijfsvergunning
fields-other-document = Ander document
fields-guest = Gast { $n }
fields-add-guest = Nog een gast toevoegen
fields-remove-guest = Gast { $n } verwijderen
fields-guests-hint = Reist er niemand met je mee? Laat dit dan leeg en sla op.
fields-guests-expected = Te noemen gasten naast jezelf: { $n }

agreement-accept = Ik heb deze overeenkomst gelezen en ga akkoord.
agreement-elsewhere = Je krijgt de overeenkomst apart van je gastheer. Lees die voordat je akkoord gaat.
agreement-sign-elsewhere = Je ondertekent deze overeenkomst via een ondertekendienst. Je gastheer vertelt je hoe.
agreement-consent = Ik ga akkoord met het achtergrondonderzoek.
agreement-signed-name = Je volledige naam
agreement-signed-name-hint = Je naam hier invullen geldt als je handtekening.
agreement-accepted-at = Je ging akkoord op { $moment }.
agreement-text-changed = De tekst is gewijzigd sinds je akkoord ging. Lees hem en ga opnieuw akkoord.

deposit-question = Hoe wil je mogelijke schade dekken?
deposit-deposit = Borg van { $amount }
deposit-deposit-plain = Borg
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } per nacht
deposit-per-stay = { $price } voor het verblijf
deposit-in-total = { $amount } in totaal voor het verblijf.
deposit-due-at-submission = Te betalen bij het versturen.
deposit-none = Geen borg en geen afkoop
deposit-released = { $n ->
    [0] Wordt vrijgegeven op de dag dat je vertrekt.
    [one] Wordt 1 dag na je vertrek vrijgegeven.
   *[other] Wordt { $n } dagen na je vertrek vrijgegeven.
}
deposit-due = { $n ->
    [0] Te betalen op de dag dat je aankomt.
    [one] Te betalen 1 dag voor je aankomst.
   *[other] Te betalen { $n } dagen voor je aankomst.
}
deposit-not-charged = Op deze pagina wordt niets afgeschreven. Je gastheer regelt de betaling.
deposit-fees = Kosten voor je verblijf
deposit-total = Totaal

files-choose = Kies een foto of bestand
files-take-photo = Maak een foto
files-upload = Uploaden
files-uploaded = Geüpload
files-remove = { $name } verwijderen
files-hint = JPEG, PNG, WebP, HEIC of PDF, elk tot { $size }.
files-limit = Hoogstens { $n } bestanden.
files-missing = Nog nodig: { $types }
files-which = Wat staat erop?

progress-pending = Hier wordt aan gewerkt. Je hoeft niets te doen.
progress-action-required = Je moet hier nog iets doen.
progress-resume = Verder
progress-completed = Dit is klaar.
progress-failed = Dit is niet gelukt. Neem contact op met je gastheer.
progress-host-sees-to-it = Je gastheer regelt de rest.
progress-document-checked = Je gastheer controleert je document.
progress-amount = Bedrag: { $amount }

tiles-title = Snel naar
tiles-uber = Uber bestellen
tiles-report-an-issue = Probleem melden
tiles-find-parking = Parkeerplaats zoeken
tiles-find-parking-justpark = Parkeerplaats boeken met JustPark
tiles-rent-baby-gear = Babyspullen huren

contact-title = Contact
contact-call = Bellen
contact-whatsapp = WhatsApp
contact-text = Sms
contact-email = E-mail
contact-directions = Route
contact-messages = Berichten
contact-map = Op de kaart tonen

messages-title = Stuur je gastheer een bericht
messages-label = Je bericht
messages-sent = Je bericht is verstuurd.
messages-yours = Je berichten
messages-sent-at = Verstuurd op { $moment }
messages-answers-elsewhere = Je gastheer antwoordt per telefoon, per e-mail of via je boekingssite.

ticket-title = Probleem melden
ticket-description = Wat is er gebeurd?
ticket-description-hint = Als je zegt waar en sinds wanneer, lossen we het sneller op.
ticket-sent = Bedankt. Je gastheer weet ervan.
ticket-yours = Je meldingen
ticket-begun = Er wordt aan gewerkt.
ticket-done = Dit is opgelost.
ticket-full = Je hebt zoveel problemen gemeld als deze pagina aanneemt. Neem op een andere manier contact op met je gastheer.
ticket-off = Je kunt hier op dit moment geen problemen melden.

wifi-title = Wifi
wifi-network = Netwerk
wifi-password = Wachtwoord
wifi-copy = Wachtwoord kopiëren
wifi-copied = Gekopieerd
wifi-scan = Scan met een andere telefoon om verbinding te maken.
wifi-drawing = QR-code voor het wifinetwerk { $name }

manuals-good-to-know = Goed om te weten
manuals-video = Video bekijken
manuals-jump = Ga naar
manuals-later = Komt nog
manuals-unlocks = Je ziet dit vanaf { $moment }.

offer-title = Een aanbieding voor jou
offer-open = Bekijk de aanbieding
offer-review-checkin = Is alles tot nu toe in orde?
offer-review-checkout = Hoe was je verblijf?
offer-review-action = Laat het ons weten

survey-overall = Over het geheel
survey-rating-hint = 1 is slecht, 5 is uitstekend.
survey-cleanliness = Netheid
survey-communication = Communicatie
survey-location = Ligging
survey-accuracy = Juistheid van de beschrijving
survey-value = Prijs-kwaliteitverhouding
survey-checkin = Aankomst
survey-public-text = Je beoordeling, voor iedereen te lezen
survey-private-text = Alleen voor je gastheer
survey-sent = Bedankt voor je beoordeling.

extras-title = Extra’s
extras-open = Bekijk de extra’s
extras-quantity = Hoeveel?
extras-number = Vul een heel getal van 0 tot 99 in.
extras-keep = Selectie bewaren
extras-request = Aanvragen
extras-kept = Je selectie is bewaard. Je hebt haar nog niet aangevraagd.
extras-requested = Je gastheer heeft de aanvraag ontvangen en laat het je weten.
extras-empty = Kies minstens één extra.

preview-guest = Gast
preview-banner = Dit is een voorbeeld. Geen enkele gast ziet het.
preview-forms = Formulieren doen hier niets en er wordt niets opgeslagen.
preview-moment = Datum en tijd
preview-show = Tonen
preview-inactive = Niet actief

keep-offline = Je bent offline. Deze pagina is van { $moment }.
keep-offline-forms = Je hebt verbinding nodig om iets te versturen.
keep-calendar = In je agenda zetten
keep-google-calendar = Aan Google Agenda toevoegen
keep-calendar-title = Verblijf: { $property }
keep-calendar-description = Alles over je verblijf: { $url }
keep-wallet = Toevoegen aan Apple Wallet
keep-privacy = Deze pagina plaatst geen cookies en volgt je niet. Wie het adres heeft, kan haar openen: houd het dus voor jezelf.
keep-door-code = Deurcode

pages-missing = We kunnen dit verblijf niet vinden.
pages-missing-hint = Controleer de link of vraag je gastheer om een nieuwe.
pages-step-missing = Deze stap hoort niet of niet meer bij je check-in.
pages-manual-missing = Dit is op dit moment niet beschikbaar.
pages-busy = Deze pagina is in korte tijd te vaak opgevraagd. Wacht een minuut en probeer het opnieuw.
pages-unavailable = Deze pagina is op dit moment niet beschikbaar. Probeer het over een paar minuten opnieuw.
pages-home = Terug naar je verblijf

errors-title = Er is een probleem
errors-required = Vul dit in.
errors-one-name = Vul een voornaam of een achternaam in.
errors-choose-one = Kies een van de mogelijkheden.
errors-email = Vul een e-mailadres in, bijvoorbeeld naam@example.com.
errors-phone = Vul een telefoonnummer met landnummer in, bijvoorbeeld +31 6 12345678.
errors-date = Vul een bestaande datum in.
errors-date-range = Vul een datum tussen 1900 en vandaag in, met een jaartal van vier cijfers.
errors-too-long = Kort dit in tot { $max } tekens.
errors-accept = Vink het vakje aan om akkoord te gaan.
errors-sign = Vul je volledige naam in.
errors-consent = Vink het vakje aan om toestemming te geven.
errors-file-missing = Kies een bestand.
errors-file-type = Dit bestand is geen JPEG, PNG, WebP, HEIC of PDF.
errors-file-size = Dit bestand is te groot. Het mag hoogstens { $size } zijn.
errors-file-count = Er zijn al { $n } bestanden. Verwijder er eerst een.
errors-guests-missing = Noem iedereen die met je meereist.
errors-invalid = Controleer dit.
errors-not-saved = Dit kon niet worden opgeslagen. Controleer wat je hebt ingevuld en probeer het opnieuw.
errors-full = Dit is meer dan er voor je verblijf kan worden opgeslagen. Kort in wat je hebt geschreven.
errors-message = Het bericht kon niet worden verstuurd. Het mag niet leeg en niet te lang zijn.
errors-message-full = Je hebt zoveel berichten verstuurd als deze pagina aanneemt. Neem op een andere manier contact op met je gastheer.
errors-chat-off = Je gastheer ontvangt hier geen berichten.
errors-precheckin-off = Online inchecken is op dit moment niet beschikbaar.
errors-step-gone = Deze stap hoort niet meer bij je check-in.
errors-already-submitted = Je hebt je check-in al verstuurd.
errors-stay-over = Je verblijf is voorbij; hier kan niets meer worden gewijzigd.
errors-not-ready = Sommige stappen zijn nog niet klaar.
errors-uploads-off = Bestanden kunnen nu niet worden aangenomen. Probeer het later of neem contact op met je gastheer.
errors-retry = Dit is niet gelukt. Probeer het zo nog eens.
