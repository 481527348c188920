//! The table of built-in texts. Each language fills the whole table (`en.rs` and its neighbours),
//! and the compiler checks that none is missing.
//!
//! A text with values has placeholders such as `{date}`, which [`super::fill`] replaces. Dates,
//! times, amounts and sizes are already formatted for the language.

/// Declares the groups of the table: a struct for each, and [`Words`] with all of them.
macro_rules! table {
    ($($(#[$about:meta])* $place:ident: $group:ident { $($(#[$says:meta])* $word:ident,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug)]
            pub struct $group { $($(#[$says])* pub $word: &'static str,)* }
        )*

        /// All built-in texts of the guest's page, in one language.
        #[derive(Debug)]
        pub struct Words { $($(#[$about])* pub $place: $group,)* }

        #[cfg(test)]
        impl Words {
            /// Returns each text with its path in the table.
            pub(super) fn texts(&self) -> Vec<(&'static str, &'static str)> {
                vec![$($((concat!(stringify!($place), ".", stringify!($word)), self.$place.$word),)*)*]
            }
        }
    };
}

table! {
    /// The titles of steps without a title of their own.
    steps: StepTitles {
        /// `your_details`.
        your_details,
        /// `identity_check`.
        identity_check,
        /// `background_check`.
        background_check,
        /// `other_guests`.
        other_guests,
        /// `authority_reporting`.
        authority_reporting,
        /// `additional_questions`.
        additional_questions,
        /// `document_upload`.
        document_upload,
        /// `agreement`.
        agreement,
        /// `mandatory_fee`.
        mandatory_fee,
        /// `damage_deposit`.
        damage_deposit,
        /// `screen_and_protect`.
        screen_and_protect,
        /// `main`.
        main,
    }

    /// What happens in a step that the host or another service carries out. Used if the
    /// organization has written nothing.
    happens: StepSentences {
        /// `identity_check`.
        identity_check,
        /// `background_check`.
        background_check,
        /// `authority_reporting`.
        authority_reporting,
        /// `document_upload`.
        document_upload,
        /// `mandatory_fee`.
        mandatory_fee,
        /// `damage_deposit`.
        damage_deposit,
        /// `screen_and_protect`.
        screen_and_protect,
        /// `main`.
        main,
    }

    /// Texts used in many places.
    common: Common {
        /// The answer yes, and the value of a true fact.
        yes,
        /// The answer no, and the value of a false fact.
        no,
        /// Marks a required field, in brackets.
        required,
        /// Marks an optional field, in brackets.
        optional,
        /// The first option of a list with a single choice.
        choose,
        /// The hint of a list with several choices.
        choose_any,
        /// The option for no answer.
        no_answer,
        /// The link to the previous page.
        back,
        /// The button that saves.
        save,
        /// The button that sends.
        send,
        /// The button that removes something.
        remove,
        /// The button or link to the next page.
        continue_,
        /// Marks a link that opens another tab.
        new_tab,
        /// The first link of a page, for users of a keyboard or a screen reader.
        skip,
        /// The label of the language choice.
        language,
        /// The label of the bar at the bottom.
        shortcuts,
        /// The label of the list of sections.
        sections,
    }

    /// The texts at the head of the page, by the phase of the stay.
    phase: PhaseWords {
        /// The line above the property's name, and the title of a page without one. Also a label in
        /// a wallet pass.
        your_stay,
        /// Before the stay: `{date}`.
        begins,
        /// The heading on the arrival day.
        arrival,
        /// The text on the arrival day.
        arrives_today,
        /// During the stay: `{date}`.
        here_until,
        /// The heading on the departure day.
        departure,
        /// The text on the departure day, with the time of check-out: `{time}`.
        leave_by,
        /// The heading after the stay.
        thanks,
        /// The text below that heading.
        thanks_more,
        /// The text for a cancelled stay.
        cancelled,
        /// The second sentence for a cancelled stay, if the portal has contact details.
        cancelled_contact,
        /// The text for a stay whose booking is not confirmed yet.
        tentative,
        /// The label of the arrival date.
        check_in,
        /// The label of the departure date.
        check_out,
        /// The time from which the guest may arrive: `{time}`.
        from_time,
        /// The time by which the guest must leave: `{time}`.
        until_time,
        /// The length of a stay of one night.
        nights_one,
        /// The length of a stay of several nights: `{n}`.
        nights_other,
        /// The label of the address.
        address,
        /// The heading of the instructions for the door.
        at_the_door,
        /// The heading of the directions.
        getting_there,
        /// The heading of the instructions for departure.
        before_you_leave,
        /// The text of a page without a portal.
        nothing_yet,
        /// The heading of the instructions for the arrival.
        instructions,
    }

    /// Texts of pre-check-in outside of its steps.
    precheckin: PrecheckinWords {
        /// The heading.
        title,
        /// The prompt, if the portal has none of its own.
        prompt,
        /// The progress: `{done}` of `{total}` steps.
        progress,
        /// The next step: `{title}`.
        next,
        /// The position of a step: `{n}` of `{total}`.
        position,
        /// The link that starts pre-check-in.
        start,
        /// The link that continues it.
        resume,
        /// The button that saves a step and opens the next.
        save_and_continue,
        /// The notice after saving a step that is still incomplete.
        more,
        /// The notice after saving.
        saved,
        /// The button that confirms a step carried out elsewhere.
        confirm,
        /// The heading of the answers before they are submitted.
        review,
        /// The text below that heading.
        review_hint,
        /// The link beside an answer to its step.
        change,
        /// The same link for screen readers, with the `{title}` of the step.
        change_what,
        /// The text in place of a missing answer.
        not_answered,
        /// The button that submits.
        submit,
        /// The reason that it cannot be submitted yet.
        submit_hint,
        /// The heading of the list of steps that are missing for that.
        missing,
        /// Marks a complete step.
        done,
        /// Marks an incomplete step.
        to_do,
        /// Marks a step that waits for the host or another service.
        with_host,
        /// Marks a step in which the guest has to act again.
        needs_you,
        /// Marks a step that failed elsewhere.
        did_not_work,
        /// Marks a step that staff sent back.
        sent_back,
        /// The label of the message from staff.
        sent_back_message,
        /// The label of the status.
        status,
        /// The status before the first answer.
        not_started,
        /// The status after the first answer.
        in_progress,
        /// The status of a submission held for review.
        in_review,
        /// The status of a submission sent back by staff.
        changes_requested,
        /// The status of an approved submission.
        approved,
        /// The explanation of a submission held for review.
        outcome_in_review,
        /// The explanation of an approved submission.
        outcome_approved,
        /// The explanation of a submission sent back.
        outcome_changes,
        /// The explanation of a submission after which steps are open again.
        outcome_new,
        /// The notice that nothing is left to do until the arrival: `{date}`.
        nothing_to_do_until,
    }

    /// Labels, hints and options of a guest's fields.
    fields: FieldWords {
        /// `firstName`.
        first_name,
        /// `lastName`.
        last_name,
        /// `secondLastName`.
        second_last_name,
        /// `email`.
        email,
        /// `phone`.
        phone,
        /// `birthDate`.
        birth_date,
        /// `gender`.
        gender,
        /// `nationality`.
        nationality,
        /// `documentType`.
        document_type,
        /// `documentNumber`.
        document_number,
        /// `address`.
        address,
        /// `city`.
        city,
        /// `postalCode`.
        postal_code,
        /// `country`.
        country,
        /// The hint for a name.
        name_hint,
        /// The hint for two names of which one is enough.
        either_name_hint,
        /// The hint for an e-mail address.
        email_hint,
        /// The hint for a phone number.
        phone_hint,
        /// The hint for a date, if the browser has no field for dates.
        date_hint,
        /// The hint for a document number.
        document_number_hint,
        /// The hint for a nationality that other fields depend on.
        nationality_hint,
        /// The hint for a field that is asked from an age on: `{n}`.
        from_age,
        /// The hint for a field that is asked up to an age: `{n}`.
        up_to_age,
        /// The hint for a field that is asked of some guests.
        some_guests,
        /// The hint for an address.
        address_hint,
        /// A gender.
        female,
        /// A gender.
        male,
        /// A gender that is neither, or not stated.
        unspecified,
        /// A document.
        passport,
        /// A document.
        identity_card,
        /// A document.
        driving_licence,
        /// A document.
        residence_permit,
        /// Any other kind of document.
        other_document,
        /// The heading of another guest's fields: `{n}`, from 2.
        guest,
        /// The button that adds a guest.
        add_guest,
        /// The button that removes a guest: `{n}` as above.
        remove_guest,
        /// The hint for a guest who travels alone.
        guests_hint,
        /// The number of guests to name: `{n}`.
        guests_expected,
    }

    /// Texts of the agreement step.
    agreement: AgreementWords {
        /// The label of the box.
        accept,
        /// The text if the page does not have the agreement itself.
        elsewhere,
        /// The text if the guest signs at a signing service.
        sign_elsewhere,
        /// The label of the box of a background check.
        consent,
        /// The label of the name that serves as a signature.
        signed_name,
        /// The hint for that name.
        signed_name_hint,
        /// The time of an earlier acceptance: `{moment}`.
        accepted_at,
        /// The notice that the text has changed since it was accepted.
        text_changed,
    }

    /// Texts of the choice between a deposit and a waiver.
    deposit: DepositWords {
        /// The question.
        question,
        /// The option of a deposit: `{amount}`.
        deposit,
        /// The option of a deposit without an amount.
        deposit_plain,
        /// The option of a waiver: `{name}`, `{price}`.
        waiver,
        /// The price of a waiver for each night: `{price}`.
        per_night,
        /// The price of a waiver for the whole stay: `{price}`.
        per_stay,
        /// The cost of a waiver for the whole stay: `{amount}`.
        in_total,
        /// The moment of a charge that is due with the submission.
        due_at_submission,
        /// The option of neither a deposit nor a waiver.
        none,
        /// The release of the deposit on the day of departure.
        released_zero,
        /// The release of the deposit one day after departure.
        released_one,
        /// The release of the deposit `{n}` days after departure.
        released_other,
        /// The charge of the deposit on the day of arrival.
        due_zero,
        /// The charge of the deposit one day before arrival.
        due_one,
        /// The charge of the deposit `{n}` days before arrival.
        due_other,
        /// The notice that this page takes no money.
        not_charged,
        /// The heading of the fees of the stay.
        fees,
        /// The sum of the fees.
        total,
    }

    /// Texts of file uploads.
    files: FileWords {
        /// The button that chooses a file.
        choose,
        /// The button that opens the camera.
        take_photo,
        /// The button that uploads.
        upload,
        /// The notice during an upload.
        uploading,
        /// The heading of the uploaded files.
        uploaded,
        /// The button that removes a file: `{name}`.
        remove,
        /// The accepted types and the maximum `{size}`.
        hint,
        /// The maximum number of files: `{n}`.
        limit,
        /// The documents still missing: `{types}`.
        missing,
        /// The label of the choice of a document type.
        which,
    }

    /// The progress of a step that another service carries out.
    progress: ProgressWords {
        /// It has begun, and the guest has nothing to do.
        pending,
        /// The guest has to do something elsewhere.
        action_required,
        /// The link to that place.
        resume,
        /// It is complete.
        completed,
        /// It failed.
        failed,
        /// No progress has been reported.
        host_sees_to_it,
        /// The host looks at a document that cannot be uploaded here.
        document_checked,
        /// The amount to pay: `{amount}`.
        amount,
    }

    /// Texts of the quick-access tiles.
    tiles: TileWords {
        /// The heading.
        title,
        /// `uber`.
        uber,
        /// `report_an_issue`.
        report_an_issue,
        /// `find_parking`.
        find_parking,
        /// `find_parking_justpark`.
        find_parking_justpark,
        /// `rent_baby_gear`.
        rent_baby_gear,
    }

    /// Ways to reach the host and the flat.
    contact: ContactWords {
        /// The heading.
        title,
        /// The link that calls.
        call,
        /// The link that opens WhatsApp.
        whatsapp,
        /// The link that writes a text message.
        text,
        /// The link that writes an e-mail.
        email,
        /// The link to directions.
        directions,
        /// The link to the messages.
        messages,
        /// The link that shows the address on a map.
        map,
    }

    /// Texts of the guest's messages to the host.
    messages: MessageWords {
        /// The heading.
        title,
        /// The label of the message.
        label,
        /// The notice after sending.
        sent,
        /// The heading of the messages sent before.
        yours,
        /// The time of a message: `{moment}`.
        sent_at,
        /// The notice where the host's answers arrive.
        answers_elsewhere,
    }

    /// Texts of reporting an issue in the flat.
    ticket: TicketWords {
        /// The heading.
        title,
        /// The label of the description.
        description,
        /// The hint for the description.
        description_hint,
        /// The notice after sending.
        sent,
        /// The heading of the issues reported before.
        yours,
        /// The task of an issue has begun.
        begun,
        /// The task of an issue is complete.
        done,
        /// The stay has the maximum number of issues.
        full,
        /// The host takes no issues.
        off,
    }

    /// Texts of the Wi-Fi card.
    wifi: WifiWords {
        /// The heading.
        title,
        /// The label of the network's name.
        network,
        /// The label of the password.
        password,
        /// The button that copies the password.
        copy,
        /// The notice after copying.
        copied,
        /// The text beside the QR code.
        scan,
        /// The description of the QR code for screen readers: `{name}`.
        drawing,
    }

    /// Texts of the manuals.
    manuals: ManualWords {
        /// The heading of manuals without a heading or a title of their own.
        good_to_know,
        /// The link to a video.
        video,
        /// The label of the list of categories.
        jump,
        /// The heading of manuals that are not shown yet.
        later,
        /// The time from which a manual is shown: `{moment}`.
        unlocks,
    }

    /// Texts of the offer and of the review requests.
    offer: OfferWords {
        /// The heading of an offer without a title.
        title,
        /// The link to the offer.
        open,
        /// The reminder of the offer.
        reminder,
        /// The review request after arrival.
        review_checkin,
        /// The review request after departure.
        review_checkout,
        /// The link to the review.
        review_action,
    }

    /// Texts of a survey about the stay.
    survey: SurveyWords {
        /// The label of the rating as a whole.
        overall,
        /// The meaning of the numbers.
        rating_hint,
        /// A category.
        cleanliness,
        /// A category.
        communication,
        /// A category.
        location,
        /// A category.
        accuracy,
        /// A category.
        value,
        /// A category.
        checkin,
        /// The label of the text for everyone.
        public_text,
        /// The label of the text for the host alone.
        private_text,
        /// The notice after sending.
        sent,
    }

    /// Texts of extras.
    extras: ExtraWords {
        /// The heading.
        title,
        /// The link to the extras.
        open,
        /// The hint of a quantity.
        quantity,
        /// The quantity is no whole number from 0 to 99.
        number,
        /// The button that keeps the selection.
        keep,
        /// The button that asks for the selection.
        request,
        /// The notice that a selection is kept.
        kept,
        /// The notice after asking.
        requested,
        /// Nothing is selected.
        empty,
    }

    /// Texts of a preview.
    preview: PreviewWords {
        /// The name of the sample guest, and the label of the guest's name in a wallet pass.
        guest,
        /// The banner.
        banner,
        /// The notice that forms do nothing.
        forms,
        /// The label of the chosen moment.
        moment,
        /// The button that shows the preview.
        show,
        /// Marks an inactive item.
        inactive,
    }

    /// Texts of the page without a connection, and of saving or printing it.
    keep: KeepWords {
        /// The age of the saved page: `{moment}`.
        offline,
        /// The notice that forms need a connection.
        offline_forms,
        /// The link that adds the stay to a calendar.
        calendar,
        /// The link that adds the stay to Google Calendar.
        google_calendar,
        /// The title of the calendar entry: `{property}`.
        calendar_title,
        /// The description of the calendar entry: `{url}`.
        calendar_description,
        /// The link that adds the stay to a wallet.
        wallet,
        /// The button that prints.
        print,
        /// The statement on privacy.
        privacy,
        /// The label of the door code in a wallet pass.
        door_code,
    }

    /// Texts of error pages.
    pages: PageWords {
        /// The stay does not exist.
        missing,
        /// The advice for that case.
        missing_hint,
        /// The step does not exist, or is no longer part of this stay.
        step_missing,
        /// The manual does not exist, or is not shown now.
        manual_missing,
        /// The rate limit is exceeded.
        busy,
        /// The page is unavailable, for example after an internal error.
        unavailable,
        /// The link to the page of the stay.
        home,
    }

    /// Errors of a form, with advice.
    errors: ErrorWords {
        /// The heading of the list of errors.
        title,
        /// The field is empty.
        required,
        /// Both names of a guest are blank.
        one_name,
        /// No option is chosen.
        choose_one,
        /// The text is not an e-mail address.
        email,
        /// The text is not a phone number.
        phone,
        /// The text is not a date.
        date,
        /// The date is before 1900 or in the future.
        date_range,
        /// The text is longer than `{max}` characters.
        too_long,
        /// The box of an agreement is not ticked.
        accept,
        /// The name below the agreement is missing.
        sign,
        /// The box of a background check is not ticked.
        consent,
        /// No file was chosen.
        file_missing,
        /// The file's type is not accepted.
        file_type,
        /// The file is larger than `{size}`.
        file_size,
        /// There are `{n}` files already.
        file_count,
        /// Too few guests are named.
        guests_missing,
        /// More than `{n}` guests are named.
        guests_too_many,
        /// Any other error of a field.
        invalid,
        /// The answers could not be saved.
        not_saved,
        /// The stay holds the maximum amount of data.
        full,
        /// The message is empty or too long.
        message,
        /// The stay has the maximum number of messages.
        message_full,
        /// The host accepts no messages.
        chat_off,
        /// Pre-check-in is off.
        precheckin_off,
        /// The step is no longer part of the stay.
        step_gone,
        /// Pre-check-in has been submitted already.
        already_submitted,
        /// The stay is over.
        stay_over,
        /// Some steps are incomplete.
        not_ready,
        /// Uploads are unavailable.
        uploads_off,
        /// Any other error.
        retry,
    }
}
