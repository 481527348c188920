### The set of steps and manuals that a member can create with one button. It becomes the
### organization's own texts. Markdown is allowed. The names in double braces are values of the
### stay; do not translate them.

# The agreement of the house rules.
agreement = Please treat the flat as your own. No smoking indoors, no parties, and quiet between 22:00 and 8:00. Tell us at once if something breaks.
# The question of the time of arrival.
question = At what time do you expect to arrive?
# The title of the manual of the wireless network.
wifi-title = Wi-Fi
# The manual of the wireless network.
wifi =
    Network: **{ "{{" }property.wifiName{ "}}" }**
    Password: **{ "{{" }property.wifiPassword{ "}}" }**
# The title of the manual of the arrival.
arrival-title = Your arrival
# The manual of the arrival.
arrival = You can come from { "{{" }property.checkInTime{ "}}" } on { "{{" }stay.checkIn{ "}}" }. The address is { "{{" }property.address{ "}}" }.
# The title of the manual of the departure.
leaving-title = Your departure
# The manual of the departure.
leaving = Please leave by { "{{" }property.checkOutTime{ "}}" } on { "{{" }stay.checkOut{ "}}" }. Close the windows, switch off the lights, and take out the rubbish.
