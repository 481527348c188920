### The ready set of steps and manuals.

agreement = Por favor, trate el alojamiento como si fuera suyo. No se fuma dentro, no se hacen fiestas y hay silencio de 22:00 a 8:00. Avísenos enseguida si algo se rompe.
question = ¿A qué hora espera llegar?
wifi-title = Wifi
wifi =
    Red: **{ "{{" }property.wifiName{ "}}" }**
    Contraseña: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = Su llegada
arrival = Puede llegar a partir de las { "{{" }property.checkInTime{ "}}" } el { "{{" }stay.checkIn{ "}}" }. La dirección es { "{{" }property.address{ "}}" }.
leaving-title = Su salida
leaving = Por favor, salga antes de las { "{{" }property.checkOutTime{ "}}" } el { "{{" }stay.checkOut{ "}}" }. Cierre las ventanas, apague las luces y saque la basura.
