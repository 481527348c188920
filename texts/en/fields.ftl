### The labels of fields in forms of the console, in refusals and in the audit log, by the names of
### the interface. English.
###
### A field without a label here has one made of its name, and a field without `.hint` has the summary
### of its description in the schema as its help text. An empty hint hides a description that would
### only repeat the label. The other languages have all labels and hints.

# Portals.

isDefault = Default
brandingId = Branding
supportWhatsapp = Support WhatsApp
supportTextPhone = Support text messages
communicationMethod = Contact button opens
isPrecheckinEnabled = Pre-check-in
isPrecheckOrderAutomatic = Automatic order of steps
    .hint = Steps follow the fixed order of their types. Otherwise, they follow the order that you set.
isManualReviewEnabled = Review by the team
isTicketingEnabled = Issue reports
isChatEnabled = Messages to the host
isReviewRequestCheckinEnabled = Review request at check-in
isReviewRequestCheckoutEnabled = Review request at check-out
isConfettiEnabled = Confetti
isCartAbandonmentEnabled = Cart reminders
isWalletPassEnabled = Wallet pass
isUnlockHintShown = Announce what comes later
isSpecialOfferActive = Special offer shown
specialOfferUrl = Special offer link
specialOfferType = Special offer kind
specialOfferCtaText = Special offer call to action
precheckinPromptMessage = Invitation to pre-check-in
excludedQuickAccessTypes = Hidden quick-access tiles

# Brandings.

nickname = Internal name
textColor = Text colour
primaryColor = Primary colour
secondaryColor = Secondary colour
backgroundColor = Background colour
footerColor = Footer colour
logoWhiteUrl = Logo address
facebookUrl = Facebook
linkedinUrl = LinkedIn
instagramUrl = Instagram
customUrlId = Domain
    .hint = Not set: the default domain.
calloutMessage = Callout
calloutMessageId = Callout

# Commands to devices.

celsius = Temperature
    .hint = In degrees Celsius.
mode = Mode

# Steps.

stepType = Type
isActive = Active
displayTitle = Heading for guests
displayTitleMlTextId = Heading
displayTitleLanguage = Language of the heading
guestDescriptionMlTextId = Text below the heading
sortOrder = Position
feeProductIds = Fees
feesPaymentAccountId = Payment account for the fees
minLos = Shortest stay
    .hint = In nights; 0: no minimum.
maxLos = Longest stay
    .hint = In nights; empty: no maximum.
leadTimeMinDays = Booked at least this many days ahead
leadTimeMaxDays = Booked at most this many days ahead
inclusionType = Booking channels
    .hint = Whether booking channels decide who gets the step.
excludedSources = All channels but these
    .hint = For example, direct.
includedSourcesReturning = Only these channels
    .hint = For example, direct.
isReturningGuestExcluded = Not for returning guests
isAlwaysShown = For every guest
damageWaiverDepositAmountCents = Deposit beside waivers, in cents
isDamageWaiverEnabled = Damage waiver offered
damageWaiverCapCents = Waiver costs at most, in cents
damageWaiverMinLos = Shortest stay for the waiver
damageWaiverPricingBasis = Waiver price is
isDamageWaiverWaivable = Guests may choose neither
damageWaiverPaymentAccountId = Payment account for the waiver
damageDepositSubtitleMlTextId = Text below the heading of the deposit
securityDepositAmountCents = Security deposit, in cents
isSecurityDepositEnabled = Security deposit taken
securityDepositDaysBeforeCheckin = Taken this many days before check-in
securityDepositReleaseDaysAfterCheckout = Released this many days after check-out
securityDepositPaymentAccountId = Payment account for the deposit
securityDepositSubtitleMlTextId = Text below the security deposit
agreementType = How it is signed
contractTemplateText = Text to agree to, in one language
contractTemplateTextMlTextId = Text to agree to
esignATemplateId = Template at the first provider
esignATitleMlTextId = Title of the signature
esignASubtitleMlTextId = Text below the title
esignBTemplateId = Template at the second provider
esignBHeadingMlTextId = Heading of the signature
esignBSubtitleMlTextId = Text below the heading
isMandatorySigning = Must be signed
esignPrefillValues = Prefilled values
identityFlagPolicy = What happens if a check fails
document_expired = Document has expired
document_not_official = Not an official document
document_unreadable = Document cannot be read
face_mismatch = Face does not match
guest_is_local = Guest lives where the flat is
guest_underage = Guest is too young
    .hint = The guest is younger than the minimum age.
name_mismatch = Name does not match
name_unavailable = No name to compare
name_unconfirmed = Name not confirmed
no_face_on_document = No photo on the document
retake_limit = No attempts left
selfie_spoof = Picture is not live
verification_unavailable = Could not be verified
minimumGuestAge = Minimum age
    .hint = In years.
backgroundCheckAccountId = Background-check account
guestFieldRules = Which guests to ask
    .hint = A line for each detail that not every guest has to give, for example documents from 14 years on, or the second last name for Spanish documents.
field = Detail
    .hint = Choose a detail that is asked above, or write one of your own as it is asked there.
minimumAge = From this age on
    .hint = In years, on the day of arrival.
maximumAge = Up to this age
    .hint = In years, on the day of arrival.
nationalities = Only these nationalities
    .hint = Country codes of two letters, such as ES.
only = Only for
requiredGuestFields = What to ask of each guest
    .hint = If nothing is ticked, guests are asked the usual details.
requiredDocumentTypes = Documents to upload
    .hint = If nothing is ticked, guests choose what to upload.
authorityProvider = Reporting provider
isAuthorityProviderPropertyInfoEmailEnabled = Provider mails the lead guest

# Manuals.

title = Title
titleId = Title
description = Text
descriptionId = Text
manualCategoryId = Category
displayMode = What is shown
    .hint = What guests see below the title.
customFieldId = Custom field
    .hint = Its value in each flat.
videoUrl = Video address
internalDescription = Note for the team
imageId = Image record
imageUrl = Image address
iconName = Icon
    .hint = By its English name. Setting it removes the image.
visibilityRules = Rules
propertyId = Flat
startDateRelativeType = Start: counted from
    .hint = Not set: shown from the beginning.
daysBefore = Start: how many
    .hint = Empty: exactly that moment.
daysBeforeTimeUnit = Start: unit
    .hint = Not set: days.
endDateRelativeType = End: counted from
    .hint = Not set: shown until the end.
daysAfter = End: how many
    .hint = Empty: exactly that moment.
daysAfterTimeUnit = End: unit
    .hint = Not set: days.
seasonalWindows = Seasons
    .hint = At least one night of the stay must be in one of them.
startDate = From
    .hint = The first night, included.
endDate = Until
    .hint = The last night, included.
isYearly = Every year
    .hint = Month and day count, and the season may run over the end of the year.
lengthOfStayFromDays = At least this many nights
    .hint = Empty: no limit.
lengthOfStayToDays = At most this many nights
    .hint = Empty: no limit.
sourceRuleType = Which channels
    .hint = Which of the two lists below counts.
includedBookingSources = Only these
    .hint = Counts for “Only the selected ones”. For example, direct.
excludedBookingSources = All but these
    .hint = Counts for “All but the selected ones”. For example, direct.

# Questions of a step.

textMlTextId = Question
nameMlTextId = Option
answer = Answer
isRequired = Must be answered

# Answers of guests.

isAccepted = Accepted
isFlagged = Flags the submission
    .hint = Whether choosing it flags what the guest hands in for the team.
isConfirmed = Confirmed by the guest
signedName = Signed by
signature = Signed by
choice = Choice
damageWaiverId = Damage waiver
guests = Guests

# Other inputs, and fields of the audit log.

questions = Questions
propertyIds = Flats
propertyGroupIds = Groups
tagIds = Tags
portalSettingsIds = Portals
portalSettingsId = Portal
reservationId = Stay
memberId = Member
apiKeyId = API key
deliveryId = Delivery
entityId = Object
entityType = Kind of object
oauthAppId = App
scopeId = Assigned to
scopeType = Kind of assignment
stepIds = Steps
orderedIds = Order
ids = Subscriptions
by = Way of signing in
sourceTable = Kind of text
email = Email address
    .hint = { "" }
isTwoFactorRequired = Two-factor authentication required
isTwoFactorEnrolled = Two-factor authentication
at = Moment
expiresAt = Expires
graceSeconds = The old one stays valid, in seconds
toSubscriptionId = To another subscription
redelivered = Sent again
includeInactive = Include inactive steps and manuals
returnTo = Leads to
channel = Channel
    .hint = Where it was booked, such as direct.
ambiguous = Unclear entries
    .hint = What becomes of an event that may be a booking or a closure.
cancelUpcoming = Cancel upcoming bookings
url = Address
tokenType = Kind of token
targetUrl = Address
target_url = Address
verificationStatuses = Any of these

# Records and members.

timezone = Time zone
    .hint = Such as Europe/Madrid. Dates and times of its stays are read in it.
propertyGroupId = Group
address = Address
checkInTime = Check-in from
checkOutTime = Check-out until
latitude = Latitude
longitude = Longitude
photoUrl = Photo address
wifiName = Wi-Fi name
    .hint = { "" }
wifiPassword = Wi-Fi password
    .hint = { "" }
startsAt = In force from
endsAt = In force until
bookedAt = Booked at
    .hint = { "" }
bookingCode = Booking code
    .hint = Code of the booking at its channel.
checkIn = Check-in
checkOut = Check-out
guest = Guest
firstName = First name
    .hint = { "" }
lastName = Last name
    .hint = { "" }
phone = Phone
    .hint = { "" }
isReturningGuest = Has stayed before
adults = Adults
    .hint = { "" }
children = Children
    .hint = { "" }
verificationStatus = Identity
currency = Currency
    .hint = Such as EUR. Not set: that of the organization.
host = Host name
isGuestPortal = For guests
amountCents = Amount in cents
priceCents = Price in cents
value = Value
code = Code
position = Position
kind = Kind
csv = CSV file
columns = Columns
dateFormat = Form of the dates
dryRun = Only look
records = Records
isDeleted = Removed
version = Version of the record
applied = Applied
events = Events
added = New
changed = Changed
signInUrl = Sign-in link
customFields = Custom fields
