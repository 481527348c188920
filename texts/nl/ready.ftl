### The ready set of steps and manuals.

agreement = Behandel de woning alsof het uw eigen woning is. Rook niet binnen, geef geen feesten, en houd het stil tussen 22.00 en 8.00 uur. Laat het ons meteen weten als er iets stukgaat.
question = Hoe laat verwacht u aan te komen?
wifi-title = Wifi
wifi =
    Netwerk: **{ "{{" }property.wifiName{ "}}" }**
    Wachtwoord: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = Uw aankomst
arrival = U kunt op { "{{" }stay.checkIn{ "}}" } vanaf { "{{" }property.checkInTime{ "}}" } komen. Het adres is { "{{" }property.address{ "}}" }.
leaving-title = Uw vertrek
leaving = Vertrek op { "{{" }stay.checkOut{ "}}" } uiterlijk om { "{{" }property.checkOutTime{ "}}" }. Sluit de ramen, doe het licht uit en neem het afval mee.
