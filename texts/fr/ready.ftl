### The ready set of steps and manuals.

agreement = Merci de prendre soin du logement comme du vôtre. Ne fumez pas à l’intérieur, pas de fêtes, et silence de 22 h à 8 h. Prévenez-nous aussitôt si quelque chose casse.
question = Vers quelle heure pensez-vous arriver ?
wifi-title = Wi-Fi
wifi =
    Réseau : **{ "{{" }property.wifiName{ "}}" }**
    Mot de passe : **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = Votre arrivée
arrival = Vous pouvez arriver à partir de { "{{" }property.checkInTime{ "}}" } le { "{{" }stay.checkIn{ "}}" }. L’adresse est { "{{" }property.address{ "}}" }.
leaving-title = Votre départ
leaving = Merci de partir avant { "{{" }property.checkOutTime{ "}}" } le { "{{" }stay.checkOut{ "}}" }. Fermez les fenêtres, éteignez les lumières et sortez les poubelles.
