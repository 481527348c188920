### The page on which a member connects an app. English.
###
### A notice is a heading, with its meaning or the next action as `.text`.

# The heading of the consent page; `{ $app }` is the app.
title = Connect { $app }?
# The heading of the warning about an unverified app.
caution = Please check carefully.
# The warning about an app that has registered itself.
registered-itself = This app registered itself, and nobody has checked its name. Continue only if you have just started this yourself.
# The warning about an app with a metadata document; `{ $host }` is the document's host.
described-at = This app is described at { $host }. Nobody has checked the name that it gives itself. Continue only if you know this address and have just started this yourself.
# The label of the app's name.
who = App
# The label of the redirect's destination.
sends-to = You will be sent to
# The destination, if it is a program on the same device at `{ $host }`.
local = a program on this device ({ $host })
# The label of the member that the app acts for.
for-member = It acts for
# The label of the interface that the app uses.
through = It uses
# The REST interface.
through-api = the REST interface
# The tool interface.
through-tools = the tools for assistants (MCP)
# The label of the properties that the app can access.
properties = Properties it can access
# All properties.
every-property = all of them, now and later
# No properties.
no-property = none
# Some properties: `{ $names }`, and the number of others, `{ $more }`.
and-more = { $names } and { $more } more
# The heading of the granted permissions.
may = It will be allowed to
# The heading of the requested permissions that are not granted.
may-not = It will not be allowed to
# The reason why they are not granted.
not-given = The app also asks for this. You do not have these permissions yourself, so it does not get them.
# The notice that there is nothing to grant.
nothing = You have none of the permissions that this app asks for, so you cannot give it any.
# The extent and the end of the access; `{ $organization }` is the organization.
lasts = The app can never do more than you can. It stays connected until a person who manages { $organization } disconnects it, or until it has not been used for 30 days.
# The button to approve.
allow = Allow
# The button to deny.
deny = Don’t allow
# The notice about an unknown app.
unknown-client = This app is not known here
    .text = The link that brought you here belongs to an app that this service does not know, or no longer knows. Go back to the app and connect it again. If that does not help, ask the maker of the app.
# The notice about an app whose document cannot be used.
bad-document = This app cannot be checked
    .text = The app names an address with its description, and the description there could not be read or is not valid. You have not been sent anywhere. Try again later, or ask the maker of the app.
# The notice about a redirect address that the app has not registered.
bad-redirect = This link is not correct
    .text = It would send you to an address that the app has not registered. To keep the app’s access safe, you have not been sent there. Ask the maker of the app.
# The notice about a request that cannot be read.
bad-request = This request cannot be read
    .text = Go back to the app and try again. If that does not help, ask the maker of the app.

## scope: What an app may do with a permission.

scope-view-properties = see properties, groups, tags, portals and steps of the pre-check-in
scope-modify-properties = change what is shown for properties, and approve or send back what guests submit
scope-view-guides = read house manuals
scope-modify-guides = write and delete house manuals
scope-modify-tasks = change the steps of the pre-check-in and their questions
scope-manage-organization = change portals and brandings of the whole organization, and see its members and connected apps
scope-view-reservations = see reservations, guests, reviews and what guests submit
scope-view-tasks = see tasks and shifts
scope-view-devices = see devices and lock codes
scope-view-workflows = be notified when a step of a workflow runs
scope-view-analytics = see analytics
