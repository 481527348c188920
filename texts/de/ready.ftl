### The ready set of steps and manuals.

agreement = Bitte behandeln Sie die Wohnung wie Ihre eigene. Rauchen Sie nicht in den Räumen, feiern Sie keine Partys, und halten Sie von 22 bis 8 Uhr Ruhe. Sagen Sie uns gleich Bescheid, wenn etwas kaputtgeht.
question = Wann werden Sie voraussichtlich ankommen?
wifi-title = WLAN
wifi =
    Netz: **{ "{{" }property.wifiName{ "}}" }**
    Passwort: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = Ihre Ankunft
arrival = Sie können am { "{{" }stay.checkIn{ "}}" } ab { "{{" }property.checkInTime{ "}}" } kommen. Die Adresse ist { "{{" }property.address{ "}}" }.
leaving-title = Ihre Abreise
leaving = Bitte reisen Sie am { "{{" }stay.checkOut{ "}}" } bis { "{{" }property.checkOutTime{ "}}" } ab. Schließen Sie die Fenster, schalten Sie das Licht aus, und bringen Sie den Müll hinaus.
