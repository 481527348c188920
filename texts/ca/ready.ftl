### The ready set of steps and manuals.

agreement = Si us plau, tracti l’allotjament com si fos seu. No es fuma a dins, no es fan festes i hi ha silenci de 22:00 a 8:00. Avisi’ns de seguida si alguna cosa es trenca.
question = A quina hora espera arribar?
wifi-title = Wifi
wifi =
    Xarxa: **{ "{{" }property.wifiName{ "}}" }**
    Contrasenya: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = La seva arribada
arrival = Pot arribar a partir de les { "{{" }property.checkInTime{ "}}" } el { "{{" }stay.checkIn{ "}}" }. L’adreça és { "{{" }property.address{ "}}" }.
leaving-title = La seva sortida
leaving = Si us plau, surti abans de les { "{{" }property.checkOutTime{ "}}" } el { "{{" }stay.checkOut{ "}}" }. Tanqui les finestres, apagui els llums i tregui les escombraries.
