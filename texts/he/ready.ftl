### The ready set of steps and manuals.

agreement = אנא התייחסו לדירה כאילו הייתה שלכם. אין לעשן בפנים, אין לערוך מסיבות, ויש לשמור על שקט בין 22:00 ל־8:00. הודיעו לנו מיד אם משהו נשבר.
question = באיזו שעה אתם צפויים להגיע?
wifi-title = אינטרנט אלחוטי
wifi =
    רשת: **{ "{{" }property.wifiName{ "}}" }**
    סיסמה: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = ההגעה שלכם
arrival = אפשר להגיע החל מ־{ "{{" }property.checkInTime{ "}}" } ב־{ "{{" }stay.checkIn{ "}}" }. הכתובת: { "{{" }property.address{ "}}" }.
leaving-title = העזיבה שלכם
leaving = אנא צאו עד { "{{" }property.checkOutTime{ "}}" } ב־{ "{{" }stay.checkOut{ "}}" }. סגרו את החלונות, כבו את האורות והוציאו את האשפה.
