### The labels of values to choose from, by the names of the interface. English.
###
### The `.hint` of a category of rules describes the rules. In English it comes from the schema.

whatsapp = WhatsApp
text = Text
phone = Phone call
uber = Uber
report_an_issue = Report an issue
find_parking = Find parking
find_parking_justpark = Find parking with JustPark
rent_baby_gear = Rent baby gear

# Stays.

confirmed = Confirmed
tentative = Tentative
cancelled = Cancelled

# Tasks.

open = Open
completed = Completed

# Types of steps.

your_details = Guest details
identity_check = Identity check
background_check = Background check
other_guests = Other guests
authority_reporting = Report to the authorities
additional_questions = Questions
document_upload = Documents to upload
agreement = Agreement
mandatory_fee = Mandatory fee
damage_deposit = Damage deposit
screen_and_protect = Screen and protect
main = General

# Steps.

lead = The guest who booked
others = Everybody else
per_night = Per night
per_stay = Per stay
template = Template
esign_a = E-signature, first provider
esign_b = E-signature, second provider
all_except_selected = All but the selected ones
only_selected = Only the selected ones
hold = Hold
import = Import
ignore = Ignore
review = Send to the team
fail = Let the guest try again once
single_select = One of several
multi_select = Several of them
yes_no = Yes or no
free_form_input = A text
yes = Yes
no = No

# Manuals.

multi_lingual_text = The text
pms_variable = A custom field of the flat
relative_date = Moment of the stay
seasonal = Season
length_of_stay = Length of stay
booking_source = Booking channel
verification_status = Identity of the guest
before_check_in = Before check-in
after_check_in = After check-in
before_check_out = Before check-out
after_check_out = After check-out
check_in_time = At check-in
check_out_time = At check-out
day = Days
hour = Hours

# Choices of guests.

deposit = Deposit
none = Neither
waiver = Damage waiver
unverified = Not verified
pending = Pending
verified = Verified
failed = Failed
