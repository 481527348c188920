### The pages on which members sign in. English.
###
### A message is a heading, with its meaning or the next action as `.text`.

# The button to sign in, and the title of its page.
sign-in = Sign in
# The button to sign out.
sign-out = Sign out
# The label before the name of the signed-in member.
signed-in-as = Signed in as
# The label of the organization.
organization = Organization
# The label of the member's name.
name = Name
# The label of the member's mail address.
email = Email
# On the page of a ticket, the text above the member.
about-to = You are about to sign in to this account:
# On the page of a ticket, the text for anybody else.
not-you = If this is not you, close this page. Nothing happens unless you press the button.
# The choice of an organization.
choose = Choose an organization
    .text = You are a member of more than one. Which one would you like to sign in to?
# The offer of the organization's provider.
with-provider = Use your account with your organization.
# The link to the provider.
to-provider = Continue with your organization’s account
# The explanation for a visitor without any way to sign in on this page.
by-link = There are no passwords here. To sign in, open the sign-in link in the software with which you manage your properties.
# The title for a signed-in member.
signed-in = You are signed in
# The link to the page that the visitor wanted.
go-on = Continue
# The message after a sign-out.
signed-out = You are signed out
    .text = You can close this page.
# The question whether to sign out.
sign-out-now = Sign out?
    .text = You will be signed out in this browser.
# The link to the sign-in page.
to-sign-in = Go to sign-in
# A form that does not come from this server, or belongs to another session.
foreign-form = Please try again
    .text = This page was open for too long, or its form did not come from here. Nothing has been changed.
# A link that is used, expired or unknown.
used-link = This link no longer works
    .text = A sign-in link works once, and for five minutes. Please ask for a new one.
# A set-up link that is expired or unknown, or that is no longer needed.
used-setup-link = This set-up link no longer works
    .text = A set-up link works for one hour, and until there is an organization. The command vestibule setup-link prints another.
# A member who is not active.
inactive = This account is switched off
    .text = You cannot sign in with it at the moment. Please ask a person who manages your organization.
# A member without the second factor that their organization requires.
two-factor = Two-factor authentication is required
    .text = Your organization requires it, and it is not set up for this account yet. Set it up, then sign in again.
# A provider that does not answer, or whose answer is not trustworthy.
provider-down = Sign-in is not available right now
    .text = Your organization’s sign-in service did not answer as expected. Please try again in a moment.
# A provider that refused the sign-in.
provider-refused = You were not signed in
    .text = Your organization’s sign-in service refused the sign-in. You can try again.
# A sign-in at the provider that this browser did not begin, or began too long ago.
provider-lost = Please start again
    .text = This sign-in took too long, or was started in another browser.
# A mail address that the provider has not verified.
unverified = Your email address is not confirmed
    .text = Your organization’s sign-in service has not confirmed it. Confirm it there, then sign in again.
# A person who is no member.
no-member = No account here
    .text = No member here has your email address. Please ask a person who manages your organization to add you.
# An unknown address.
missing = This page does not exist
    .text = Please check the address.
# A temporary failure of this server.
unavailable = Not available right now
    .text = Please try again in a moment.

## setup: The page that sets up the first organization.

# The title of the page, and its first sentence.
setup-title = Set up Vestibule
    .text = Your organization, and you as its first member. You can change all of it later.
# The heading of the part of the form about the organization.
setup-part-organization = Organization
# The heading of the part of the form about the member.
setup-part-member = You
# The label and the hint of the name of the organization.
setup-organization = Name
    .hint = As guests know it.
# The label and the hint of the country.
setup-country = Country
    .hint = Two letters, such as ES. Phone numbers without a prefix are read as of this country.
# The label and the hint of the time zone.
setup-timezone = Time zone
    .hint = That of your flats, such as Europe/Madrid.
# The label and the hint of the languages of guests.
setup-languages = Languages
    .hint = The languages that your guests read. English is always included.
# The label and the hint of the name of the member.
setup-name = Your name
    .hint = Guests do not see it unless you write to them.
# The label and the hint of the mail address of the member.
setup-email = Your email address
    .hint = { "" }
# The button.
setup-create = Create and sign in
# The heading above the errors.
setup-problems = Please correct these fields
# The error of an empty field. The name of the field stands before it.
setup-required = is required
# The error of a country that does not exist.
setup-no-country = must be two letters, such as ES
# The error of a time zone that does not exist.
setup-no-timezone = must be a time zone, such as Europe/Madrid
# The error of a text that is no mail address.
setup-no-email = must be an email address
# The error of a text that is too long.
setup-too-long = is too long
