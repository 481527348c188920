### The ready set of steps and manuals.

agreement = Vi preghiamo di trattare l’alloggio come se fosse vostro. Non si fuma all’interno, niente feste, e silenzio dalle 22 alle 8. Avvisateci subito se qualcosa si rompe.
question = A che ora prevedete di arrivare?
wifi-title = Wi-Fi
wifi =
    Rete: **{ "{{" }property.wifiName{ "}}" }**
    Password: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = Il vostro arrivo
arrival = Potete arrivare dalle { "{{" }property.checkInTime{ "}}" } del { "{{" }stay.checkIn{ "}}" }. L’indirizzo è { "{{" }property.address{ "}}" }.
leaving-title = La vostra partenza
leaving = Vi preghiamo di partire entro le { "{{" }property.checkOutTime{ "}}" } del { "{{" }stay.checkOut{ "}}" }. Chiudete le finestre, spegnete le luci e portate fuori la spazzatura.
