### The ready set of steps and manuals.

agreement = Por favor, trate o alojamento como se fosse seu. Não se fuma no interior, não se fazem festas e há silêncio das 22h às 8h. Avise-nos logo se algo se partir.
question = A que horas espera chegar?
wifi-title = Wi-Fi
wifi =
    Rede: **{ "{{" }property.wifiName{ "}}" }**
    Palavra-passe: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = A sua chegada
arrival = Pode chegar a partir das { "{{" }property.checkInTime{ "}}" } de { "{{" }stay.checkIn{ "}}" }. A morada é { "{{" }property.address{ "}}" }.
leaving-title = A sua partida
leaving = Por favor, saia até às { "{{" }property.checkOutTime{ "}}" } de { "{{" }stay.checkOut{ "}}" }. Feche as janelas, apague as luzes e leve o lixo.
