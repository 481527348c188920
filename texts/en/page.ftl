### The page for guests, used where an organization has written nothing. English.
###
### Use one form of address for guests throughout, and name it in the first line of the file. Dates,
### times, amounts and sizes are already formatted for the language. Phrase a sentence so that a
### number does not change its grammar, or give it a form for each category of plurals that the
### language has.

## steps: The titles of steps without a title of their own.

steps-your-details = Your details
steps-identity-check = Verify your identity
steps-background-check = Background check
steps-other-guests = Other guests
steps-authority-reporting = Guest registration
steps-additional-questions = A few questions
steps-document-upload = Upload documents
steps-agreement = Rental agreement
steps-mandatory-fee = Mandatory fees
steps-damage-deposit = Damage deposit
steps-screen-and-protect = Stay protection
steps-main = Ready for check-in

## happens: What happens in a step that the host or another service carries out. Used if the
## organization has written nothing.

happens-identity-check = Your host checks who is staying, and will tell you how to show your identity document.
happens-background-check = Your host uses the details of your booking for a background check.
happens-authority-reporting = Your host registers all guests with the authorities, as the law requires, and may ask you for the details needed.
happens-document-upload = Your host needs some documents from you.
happens-mandatory-fee = Mandatory fees apply to your stay. Your host collects them separately.
happens-damage-deposit = Your host asks for a deposit, and will tell you how to pay it.
happens-screen-and-protect = A specialised service checks and protects your stay on behalf of your host.
happens-main = Confirm that everything is ready for your arrival.

## common: Texts used in many places.

# The answer yes, and the value of a true fact.
common-yes = Yes
# The answer no, and the value of a false fact.
common-no = No
# Marks a required field, in brackets.
common-required = required
# Marks an optional field, in brackets.
common-optional = optional
# The first option of a list with a single choice.
common-choose = Choose…
# The hint of a list with several choices.
common-choose-any = Choose all that apply.
# The option for no answer.
common-no-answer = No answer
# The button that sends.
common-send = Send
# The button that removes something.
common-remove = Remove
# The button or link to the next page.
common-continue = Continue
# The first link of a page, for users of a keyboard or a screen reader.
common-skip = Skip to content
# The label of the language choice.
common-language = Language
# The label of the bar at the bottom.
common-shortcuts = Shortcuts

## phase: The texts at the head of the page, by the phase of the stay.

# The line above the property's name, and the title of a page without one. Also a label in a wallet
# pass.
phase-your-stay = Your stay
# The text on the arrival day.
phase-arrives-today = You arrive today
# During the stay: `{ $date }`.
phase-here-until = You are here until { $date }
# The first sentence on the departure day, in bold.
phase-departure = Departure day
# The text on the departure day, with the time of check-out: `{ $time }`.
phase-leave-by = Please leave by { $time }. Have a good journey!
# The first sentence after the stay, in bold.
phase-thanks = Thank you for staying
# The text below that sentence.
phase-thanks-more = It was a pleasure to have you. We would love to welcome you again.
# The text for a cancelled stay.
phase-cancelled = This stay has been cancelled.
# The second sentence for a cancelled stay, if the portal has contact details.
phase-cancelled-contact = If you did not expect this, please contact us.
# The text for a stay whose booking is not confirmed yet.
phase-tentative = Your booking is not confirmed yet.
# The label of the arrival date.
phase-check-in = Check-in
# The label of the departure date.
phase-check-out = Check-out
# The time from which the guest may arrive: `{ $time }`.
phase-from-time = from { $time }
# The time by which the guest must leave: `{ $time }`.
phase-until-time = by { $time }
# The length of a stay in nights.
phase-nights = { $n ->
    [one] 1 night
   *[other] { $n } nights
}
# The label of the address.
phase-address = Address
# The heading of the instructions for the door.
phase-at-the-door = At the door
# The heading of the directions.
phase-getting-there = Getting there
# The heading of the instructions for departure.
phase-before-you-leave = Before you leave
# The text of a page without a portal.
phase-nothing-yet = Your host has not set up this page yet.
# The heading of the instructions for the arrival.
phase-instructions = Your arrival, step by step

## precheckin: Texts of pre-check-in outside of its steps.

# The heading.
precheckin-title = Pre-check-in
# The prompt, if the portal has none of its own.
precheckin-prompt = Please complete your pre-check-in before you arrive.
# The progress: `{ $done }` of `{ $total }` steps.
precheckin-progress = { $done } of { $total } done
# The next step: `{ $title }`.
precheckin-next = Next: { $title }
# The position of a step: `{ $n }` of `{ $total }`.
precheckin-position = Step { $n } of { $total }
# The link that continues pre-check-in.
precheckin-resume = Continue pre-check-in
# The button that saves a step and opens the next.
precheckin-save-and-continue = Save and continue
# The notice after saving a step that is still incomplete.
precheckin-more = Saved. There is still something to fill in here.
# The button that confirms a step carried out elsewhere.
precheckin-confirm = Confirm
# The heading of the answers before they are submitted.
precheckin-review = Review your answers
# The text below that heading.
precheckin-review-hint = Please check that everything is right, then submit.
# The link beside an answer to its step.
precheckin-change = Change
# The same link for screen readers, with the `{ $title }` of the step.
precheckin-change-what = Change { $title }
# The text in place of a missing answer.
precheckin-not-answered = Not answered
# The button that submits.
precheckin-submit = Submit pre-check-in
# The reason that it cannot be submitted yet.
precheckin-submit-hint = You can submit once every step is done.
# The heading of the list of steps that are missing for that.
precheckin-missing = Still missing:
# Marks a complete step.
precheckin-done = Done
# Marks an incomplete step.
precheckin-to-do = To do
# Marks a step that waits for the host or another service.
precheckin-with-host = With your host
# Marks a step in which the guest has to act again.
precheckin-needs-you = Needs you
# Marks a step that failed elsewhere.
precheckin-did-not-work = Did not work
# Marks a step that staff sent back.
precheckin-sent-back = Please look at this again
# The label of the message from staff.
precheckin-sent-back-message = A note from your host:
# The label of the status.
precheckin-status = Status
# The status before the first answer.
precheckin-not-started = Not started
# The status after the first answer.
precheckin-in-progress = In progress
# The status of a submission held for review.
precheckin-in-review = In review
# The status of a submission sent back by staff.
precheckin-changes-requested = Changes requested
# The status of an approved submission.
precheckin-approved = Approved
# The explanation of a submission held for review.
precheckin-outcome-in-review = You have submitted your pre-check-in. Your host is reviewing it.
# The explanation of an approved submission.
precheckin-outcome-approved = Your pre-check-in is complete. There is nothing left to do.
# The explanation of a submission sent back.
precheckin-outcome-changes = Your host asks you to change something. Please look at the steps marked below and submit again.
# The explanation of a submission after which steps are open again.
precheckin-outcome-new = Something is new since you submitted. Please complete the steps marked below and submit again.

## fields: Labels, hints and options of a guest's fields.

fields-first-name = First name
fields-last-name = Last name
fields-second-last-name = Second last name
fields-email = Email
fields-phone = Phone
fields-birth-date = Date of birth
fields-gender = Gender
fields-nationality = Nationality
fields-document-type = Type of document
fields-document-number = Document number
fields-address = Street and number
fields-city = Town or city
fields-postal-code = Postal code
fields-country = Country
# The hint for a name.
fields-name-hint = As it is written in your identity document.
# The hint for two names of which one is enough.
fields-either-name-hint = A first or a last name is enough.
# The hint for an e-mail address.
fields-email-hint = Where we can reach you about your stay.
# The hint for a phone number.
fields-phone-hint = With the country code, such as +44 20 7946 0958.
# The hint for a date, if the browser has no field for dates.
fields-date-hint = Year, month and day, such as 1985-03-27.
# The hint for a document number.
fields-document-number-hint = As it is printed on the document.
# The hint for a nationality that other fields depend on.
fields-nationality-hint = The two letters of the country, such as ES.
# The hint for a field that is asked from an age on: `{ $n }`.
fields-from-age = Needed from the age of { $n }.
# The hint for a field that is asked up to an age: `{ $n }`.
fields-up-to-age = Needed up to the age of { $n }.
# The hint for a field that is asked of some guests.
fields-some-guests = Needed for some guests only.
# The hint for an address.
fields-address-hint = Where you live, not where you stay.
# A gender.
fields-female = Female
# A gender.
fields-male = Male
# A gender that is neither, or not stated.
fields-unspecified = Other, or prefer not to say
# A document.
fields-passport = Passport
# A document.
fields-identity-card = Identity card
# A document.
fields-driving-licence = Driving licence
# A document.
fields-residence-permit = Residence permit
# Any other kind of document.
fields-other-document = Another document
# The heading of another guest's fields: `{ $n }`, from 2.
fields-guest = Guest { $n }
# The button that adds a guest.
fields-add-guest = Add another guest
# The button that removes a guest: `{ $n }` as above.
fields-remove-guest = Remove guest { $n }
# The hint for a guest who travels alone.
fields-guests-hint = If nobody is travelling with you, leave this empty and save.
# The number of guests to name: `{ $n }`.
fields-guests-expected = Guests to name besides yourself: { $n }

## agreement: Texts of the agreement step.

# The label of the box.
agreement-accept = I have read and accept this agreement.
# The text if the page does not have the agreement itself.
agreement-elsewhere = Your host gives you the agreement separately. Please read it before you accept.
# The text if the guest signs at a signing service.
agreement-sign-elsewhere = You sign this agreement with a signing service. Your host tells you how.
# The label of the box of a background check.
agreement-consent = I agree to the background check.
# The label of the name that serves as a signature.
agreement-signed-name = Your full name
# The hint for that name.
agreement-signed-name-hint = Typing your name here is your signature.
# The time of an earlier acceptance: `{ $moment }`.
agreement-accepted-at = You accepted this on { $moment }.
# The notice that the text has changed since it was accepted.
agreement-text-changed = The text has changed since you accepted it. Please read it and accept it again.

## deposit: Texts of the choice between a deposit and a waiver.

# The question.
deposit-question = How would you like to cover possible damage?
# The option of a deposit: `{ $amount }`.
deposit-deposit = Security deposit of { $amount }
# The option of a deposit without an amount.
deposit-deposit-plain = Security deposit
# The option of a waiver: `{ $name }`, `{ $price }`.
deposit-waiver = { $name }, { $price }
# The price of a waiver for each night: `{ $price }`.
deposit-per-night = { $price } per night
# The price of a waiver for the whole stay: `{ $price }`.
deposit-per-stay = { $price } for the stay
# The cost of a waiver for the whole stay: `{ $amount }`.
deposit-in-total = { $amount } in total for your stay.
# The moment of a charge that is due with the submission.
deposit-due-at-submission = Due when you submit.
# The option of neither a deposit nor a waiver.
deposit-none = No deposit and no waiver
# The release of the deposit, `{ $n }` days after departure; 0 is the day of departure.
deposit-released = { $n ->
    [0] Released on the day you leave.
    [one] Released 1 day after you leave.
   *[other] Released { $n } days after you leave.
}
# The charge of the deposit, `{ $n }` days before arrival; 0 is the day of arrival.
deposit-due = { $n ->
    [0] Due on the day you arrive.
    [one] Due 1 day before you arrive.
   *[other] Due { $n } days before you arrive.
}
# The notice that this page takes no money.
deposit-not-charged = No money is taken on this page. Your host arranges the payment.
# The heading of the fees of the stay.
deposit-fees = Fees for your stay
# The sum of the fees.
deposit-total = Total

## files: Texts of file uploads.

# The button that chooses a file.
files-choose = Choose a photo or file
# The button that opens the camera.
files-take-photo = Take a photo
# The button that uploads.
files-upload = Upload
# The heading of the uploaded files.
files-uploaded = Uploaded
# The button that removes a file: `{ $name }`.
files-remove = Remove { $name }
# The accepted types and the maximum `{ $size }`.
files-hint = JPEG, PNG, WebP, HEIC or PDF, up to { $size } each.
# The maximum number of files: `{ $n }`.
files-limit = At most { $n } files.
# The documents still missing: `{ $types }`.
files-missing = Still needed: { $types }
# The label of the choice of a document type.
files-which = What does it show?

## progress: The progress of a step that another service carries out.

# It has begun, and the guest has nothing to do.
progress-pending = This is being taken care of. There is nothing for you to do.
# The guest has to do something elsewhere.
progress-action-required = There is something for you to do.
# The link to that place.
progress-resume = Continue
# It is complete.
progress-completed = This is done.
# It failed.
progress-failed = This did not work. Please contact your host.
# No progress has been reported.
progress-host-sees-to-it = Your host takes care of the rest.
# The host looks at a document that cannot be uploaded here.
progress-document-checked = Your host will check your document.
# The amount to pay: `{ $amount }`.
progress-amount = Amount: { $amount }

## tiles: Texts of the quick-access tiles.

# The heading.
tiles-title = Quick access
tiles-uber = Order an Uber
tiles-report-an-issue = Report an issue
tiles-find-parking = Find parking
tiles-find-parking-justpark = Book parking with JustPark
tiles-rent-baby-gear = Rent baby gear

## contact: Ways to reach the host and the flat.

# The heading.
contact-title = Contact us
# The link that calls.
contact-call = Call
# The link that opens WhatsApp.
contact-whatsapp = WhatsApp
# The link that writes a text message.
contact-text = Text
# The link that writes an e-mail.
contact-email = Email
# The link to directions.
contact-directions = Directions
# The link to the messages.
contact-messages = Messages
# The link that shows the address on a map.
contact-map = Show on a map

## messages: Texts of the guest's messages to the host.

# The heading.
messages-title = Message your host
# The label of the message.
messages-label = Your message
# The notice after sending.
messages-sent = Your message has been sent.
# The heading of the messages sent before.
messages-yours = Your messages
# The time of a message: `{ $moment }`.
messages-sent-at = Sent { $moment }
# The notice where the host's answers arrive.
messages-answers-elsewhere = Your host answers by phone, email or your booking site.

## ticket: Texts of reporting an issue in the flat.

# The heading.
ticket-title = Report an issue
# The label of the description.
ticket-description = What happened?
# The hint for the description.
ticket-description-hint = Tell us where it is and when it began, so that we can fix it quickly.
# The notice after sending.
ticket-sent = Thank you. Your host has been informed.
# The heading of the issues reported before.
ticket-yours = Your reports
# The task of an issue has begun.
ticket-begun = Somebody is working on this.
# The task of an issue is complete.
ticket-done = This has been taken care of.
# The stay has the maximum number of issues.
ticket-full = You have reported as many issues as this page takes. Please contact your host in another way.
# The host takes no issues.
ticket-off = Issues cannot be reported here at the moment.

## wifi: Texts of the Wi-Fi card.

# The heading.
wifi-title = Wi-Fi
# The label of the network's name.
wifi-network = Network
# The label of the password.
wifi-password = Password
# The button that copies the password.
wifi-copy = Copy password
# The notice after copying.
wifi-copied = Copied
# The text beside the QR code.
wifi-scan = Scan with another phone to join.
# The description of the QR code for screen readers: `{ $name }`.
wifi-drawing = QR code to join the Wi-Fi network { $name }

## manuals: Texts of the manuals.

# The heading of manuals without a heading or a title of their own.
manuals-good-to-know = Good to know
# The link to a video.
manuals-video = Watch the video
# The label of the list of categories.
manuals-jump = Jump to
# The heading of manuals that are not shown yet.
manuals-later = Still to come
# The time from which a manual is shown: `{ $moment }`.
manuals-unlocks = You will see this from { $moment }.

## offer: Texts of the offer and of the review requests.

# The heading of an offer without a title.
offer-title = An offer for you
# The link to the offer.
offer-open = See the offer
# The review request after arrival.
offer-review-checkin = Has everything been all right so far?
# The review request after departure.
offer-review-checkout = How was your stay?
# The link to the review.
offer-review-action = Tell us

## survey: Texts of a survey about the stay.

# The label of the rating as a whole.
survey-overall = Overall
# The meaning of the numbers.
survey-rating-hint = 1 is poor, 5 is excellent.
# A category.
survey-cleanliness = Cleanliness
# A category.
survey-communication = Communication
# A category.
survey-location = Location
# A category.
survey-accuracy = Accuracy of the description
# A category.
survey-value = Value for money
# A category.
survey-checkin = Arrival
# The label of the text for everyone.
survey-public-text = Your review, for everyone to read
# The label of the text for the host alone.
survey-private-text = For your host alone
# The notice after sending.
survey-sent = Thank you for your review.

## extras: Texts of extras.

# The heading.
extras-title = Extras
# The link to the extras.
extras-open = See the extras
# The hint of a quantity.
extras-quantity = How many?
# The quantity is no whole number from 0 to 99.
extras-number = Please enter a whole number from 0 to 99.
# The button that keeps the selection.
extras-keep = Keep the selection
# The button that asks for the selection.
extras-request = Ask for it
# The notice that a selection is kept.
extras-kept = Your selection is kept. You have not asked for it yet.
# The notice after asking.
extras-requested = Your host has been asked, and will get back to you.
# Nothing is selected.
extras-empty = Please choose at least one extra.

## preview: Texts of a preview.

# The name of the sample guest, and the label of the guest's name in a wallet pass.
preview-guest = Guest
# The banner.
preview-banner = This is a preview. No guest sees it.
# The notice that forms do nothing.
preview-forms = Forms do nothing here, and nothing is stored.
# The label of the chosen moment.
preview-moment = Date and time
# The button that shows the preview.
preview-show = Show
# Marks an inactive item.
preview-inactive = Not active

## keep: Texts of the page without a connection, and of saving the page.

# The age of the saved page: `{ $moment }`.
keep-offline = You are offline. This page is from { $moment }.
# The notice that forms need a connection.
keep-offline-forms = You need a connection to send anything.
# The link that adds the stay to a calendar.
keep-calendar = Add to calendar
# The link that adds the stay to Google Calendar.
keep-google-calendar = Add to Google Calendar
# The title of the calendar entry: `{ $property }`.
keep-calendar-title = Stay at { $property }
# The description of the calendar entry: `{ $url }`.
keep-calendar-description = Everything about your stay: { $url }
# The link that adds the stay to a wallet.
keep-wallet = Add to Apple Wallet
# The statement on privacy.
keep-privacy = This page sets no cookies and does not track you. Whoever has its address can open it, so keep it to yourself.
# The label of the door code in a wallet pass.
keep-door-code = Door code

## pages: Texts of error pages.

# The stay does not exist.
pages-missing = We cannot find this stay.
# The advice for that case.
pages-missing-hint = Please check the link, or ask your host for a new one.
# The step does not exist, or is no longer part of this stay.
pages-step-missing = This step is not, or no longer, part of your pre-check-in.
# The manual does not exist, or is not shown now.
pages-manual-missing = This is not available at the moment.
# The rate limit is exceeded.
pages-busy = This page was opened too often in a short time. Please wait a minute and try again.
# The page is unavailable, for example after an internal error.
pages-unavailable = This page is not available at the moment. Please try again in a few minutes.
# The link to the page of the stay.
pages-home = Back to your stay

## errors: Errors of a form, with advice.

# The heading of the list of errors.
errors-title = There is a problem
# The field is empty.
errors-required = Please fill this in.
# Both names of a guest are blank.
errors-one-name = Please enter a first or a last name.
# No option is chosen.
errors-choose-one = Please choose one.
# The text is not an e-mail address.
errors-email = Please enter an email address, such as name@example.com.
# The text is not a phone number.
errors-phone = Please enter a phone number with its country code, such as +44 20 7946 0958.
# The text is not a date.
errors-date = Please enter a real date.
# The date is before 1900 or in the future.
errors-date-range = Please enter a date between 1900 and today, with a year of four figures.
# The text is longer than `{ $max }` characters.
errors-too-long = Please shorten this to { $max } characters.
# The box of an agreement is not ticked.
errors-accept = Please tick the box to accept the agreement.
# The name below the agreement is missing.
errors-sign = Please type your full name.
# The box of a background check is not ticked.
errors-consent = Please tick the box to agree.
# No file was chosen.
errors-file-missing = Please choose a file.
# The file's type is not accepted.
errors-file-type = This file is not a JPEG, PNG, WebP, HEIC or PDF.
# The file is larger than `{ $size }`.
errors-file-size = This file is too large. The limit is { $size }.
# There are `{ $n }` files already.
errors-file-count = There are { $n } files already. Please remove one first.
# Too few guests are named.
errors-guests-missing = Please name everyone who is travelling with you.
# Any other error of a field.
errors-invalid = Please check this.
# The answers could not be saved.
errors-not-saved = This could not be saved. Please check what you filled in and try again.
# The stay holds the maximum amount of data.
errors-full = This is more than can be saved for your stay. Please shorten what you wrote.
# The message is empty or too long.
errors-message = The message could not be sent. It must be neither empty nor too long.
# The stay has the maximum number of messages.
errors-message-full = You have reached the limit of messages on this page. Please contact your host in another way.
# The host accepts no messages.
errors-chat-off = Your host does not accept messages here.
# Pre-check-in is off.
errors-precheckin-off = Pre-check-in is not available at the moment.
# The step is no longer part of the stay.
errors-step-gone = This step is no longer part of your pre-check-in.
# Pre-check-in has been submitted already.
errors-already-submitted = Your pre-check-in has already been submitted.
# The stay is over.
errors-stay-over = Your stay is over, so nothing can be changed here any more.
# Some steps are incomplete.
errors-not-ready = Some steps are not done yet.
# Uploads are unavailable.
errors-uploads-off = Files cannot be uploaded at the moment. Please try again later, or contact your host.
# Any other error.
errors-retry = This did not work. Please try again in a moment.
