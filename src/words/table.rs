//! What there is a word for. Each language fills the whole table (`en.rs` and its neighbours), which the compiler sees to.
//!
//! A text with values names them in braces, as `{date}`, and [`super::fill`] puts them in. Dates, times, amounts and sizes come
//! in as they are written in the language.

/// Declares the groups of the table: the struct of each, and [`Words`] of them all.
macro_rules! table {
    ($($(#[$about:meta])* $place:ident: $group:ident { $($(#[$says:meta])* $word:ident,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug)]
            pub struct $group { $($(#[$says])* pub $word: &'static str,)* }
        )*

        /// Everything the guest's page says by itself, in one language.
        #[derive(Debug)]
        pub struct Words { $($(#[$about])* pub $place: $group,)* }

        #[cfg(test)]
        impl Words {
            /// Each text behind its place in the table.
            pub(super) fn texts(&self) -> Vec<(&'static str, &'static str)> {
                vec![$($((concat!(stringify!($place), ".", stringify!($word)), self.$place.$word),)*)*]
            }
        }
    };
}

table! {
    /// The titles of the steps that have none of their own.
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

    /// What happens in the steps that others carry out, where the organization says nothing of it.
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

    /// What stands in many places.
    common: Common {
        /// The answer, and what is so.
        yes,
        /// The answer, and what is not so.
        no,
        /// Behind what must be answered, in brackets.
        required,
        /// Behind what may be left empty, in brackets.
        optional,
        /// The first option of a list of which one is to be chosen.
        choose,
        /// Where several options can be chosen.
        choose_any,
        /// The option that answers nothing.
        no_answer,
        /// Leads to the page before.
        back,
        /// Saves.
        save,
        /// Sends.
        send,
        /// Takes something out again.
        remove,
        /// Leads on.
        continue_,
        /// Behind a link that leaves the page for another tab.
        new_tab,
        /// Before everything, for who reads by keyboard or ear.
        skip,
        /// Labels the choice of a language.
        language,
        /// Labels the bar at the bottom.
        shortcuts,
        /// Labels the way down the page.
        sections,
    }

    /// What the head of the page says of where the stay stands.
    phase: PhaseWords {
        /// Above the property's name, and the title of a page without one.
        your_stay,
        /// Before the stay: `{date}`.
        begins,
        /// The heading of the arrival day.
        arrival,
        /// On the arrival day.
        arrives_today,
        /// During the stay: `{date}`.
        here_until,
        /// The heading of the departure day.
        departure,
        /// On the departure day, with its hour: `{time}`.
        leave_by,
        /// After the stay.
        thanks,
        /// After the stay, below that.
        thanks_more,
        /// Of a stay that is cancelled.
        cancelled,
        /// Of a stay that is cancelled, where there is somebody to reach.
        cancelled_contact,
        /// The first day.
        check_in,
        /// The last.
        check_out,
        /// From when the flat is ready: `{time}`.
        from_time,
        /// Until when it is the guest's: `{time}`.
        until_time,
        /// One night.
        nights_one,
        /// Several: `{n}`.
        nights_other,
        /// Where the flat is.
        address,
        /// Heads what is needed at the door.
        at_the_door,
        /// Heads the way to the flat.
        getting_there,
        /// Heads what to do before leaving.
        before_you_leave,
        /// Where no portal is configured.
        nothing_yet,
    }

    /// Pre-check-in, around its steps.
    precheckin: PrecheckinWords {
        /// Its heading.
        title,
        /// What asks for it where the portal says nothing.
        prompt,
        /// How far it is: `{done}` of `{total}` steps.
        progress,
        /// The one thing to do next: `{title}` of a step.
        next,
        /// Where a step stands: `{n}` of `{total}`.
        position,
        /// Begins it.
        start,
        /// Goes on with it.
        resume,
        /// Saves a step and leads to the next.
        save_and_continue,
        /// After a step was saved that asks for more.
        more,
        /// Where something was saved.
        saved,
        /// Confirms what others carry out.
        confirm,
        /// Heads the answers before they are submitted.
        review,
        /// Below that.
        review_hint,
        /// Beside an answer, leads to where it is given.
        change,
        /// Behind that, for who does not see where it stands: `{title}` of a step.
        change_what,
        /// In place of an answer that is not there.
        not_answered,
        /// Submits.
        submit,
        /// Why it cannot be submitted yet.
        submit_hint,
        /// The mark of a step that is done.
        done,
        /// The mark of one that is not.
        to_do,
        /// The mark of one that staff sent back.
        sent_back,
        /// Before what staff wrote.
        sent_back_message,
        /// Before the status.
        status,
        /// Nothing has been answered.
        not_started,
        /// Something has.
        in_progress,
        /// Submitted, and held for staff.
        in_review,
        /// Sent back by staff.
        changes_requested,
        /// Submitted, and done.
        approved,
        /// What has become of it: held.
        outcome_in_review,
        /// What has become of it: done.
        outcome_approved,
        /// What has become of it: sent back.
        outcome_changes,
        /// Until the day of arrival: `{date}`.
        nothing_to_do_until,
    }

    /// What is asked of a guest, and how it is chosen.
    fields: FieldWords {
        /// `firstName`.
        first_name,
        /// `lastName`.
        last_name,
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
        /// How a name is written.
        name_hint,
        /// What an e-mail address is for.
        email_hint,
        /// How a phone number is written.
        phone_hint,
        /// How a date is written where a browser has no field for dates.
        date_hint,
        /// Where the number of a document stands.
        document_number_hint,
        /// Which address is meant.
        address_hint,
        /// A gender.
        female,
        /// A gender.
        male,
        /// Neither, or not said.
        unspecified,
        /// A document.
        passport,
        /// A document.
        identity_card,
        /// A document.
        driving_licence,
        /// A document.
        residence_permit,
        /// Any other document.
        other_document,
        /// Heads the fields of a guest besides the one who booked: `{n}`, from 2.
        guest,
        /// One more.
        add_guest,
        /// One less: `{n}` as above.
        remove_guest,
        /// For a guest who travels alone.
        guests_hint,
        /// How many are to be named: `{n}`.
        guests_expected,
    }

    /// What is agreed to.
    agreement: AgreementWords {
        /// Beside the box.
        accept,
        /// Where the page has no text of it.
        elsewhere,
        /// Labels the name that stands for a signature.
        signed_name,
        /// What is written there.
        signed_name_hint,
        /// What was accepted before: `{moment}`.
        accepted_at,
    }

    /// The choice between a deposit and a waiver.
    deposit: DepositWords {
        /// Asks for it.
        question,
        /// The deposit: `{amount}`.
        deposit,
        /// The deposit, where it has no amount.
        deposit_plain,
        /// A waiver: `{name}`, `{price}`.
        waiver,
        /// How the price of a waiver is meant: `{price}`.
        per_night,
        /// How the price of a waiver is meant: `{price}`.
        per_stay,
        /// What a waiver covers: `{amount}`.
        covers,
        /// When the deposit is given back.
        released_zero,
        /// When the deposit is given back.
        released_one,
        /// When the deposit is given back: `{n}` days.
        released_other,
        /// When the deposit is taken.
        taken_zero,
        /// When the deposit is taken.
        taken_one,
        /// When the deposit is taken: `{n}` days.
        taken_other,
        /// That this page takes no money.
        not_charged,
        /// Heads the fees of the stay.
        fees,
    }

    /// Files that a guest hands in.
    files: FileWords {
        /// Chooses one.
        choose,
        /// Opens the camera.
        take_photo,
        /// Sends it.
        upload,
        /// While it is on its way.
        uploading,
        /// Heads those that are there.
        uploaded,
        /// Takes one out again: `{name}`.
        remove,
        /// What is taken: `{size}`.
        hint,
        /// How many: `{n}`.
        limit,
        /// What is still missing: `{types}`.
        missing,
        /// Asks which document it is.
        which,
    }

    /// How a step stands that others carry out.
    progress: ProgressWords {
        /// It has begun, and there is nothing to do.
        pending,
        /// The guest is to do something elsewhere.
        action_required,
        /// Leads there.
        resume,
        /// It is done.
        completed,
        /// It did not work.
        failed,
        /// Nobody has said anything of it.
        host_sees_to_it,
        /// What it costs: `{amount}`.
        amount,
    }

    /// The tiles.
    tiles: TileWords {
        /// Their heading.
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

    /// Ways to reach the host, and the flat.
    contact: ContactWords {
        /// Their heading.
        title,
        /// Rings.
        call,
        /// Writes by WhatsApp, which has one name everywhere.
        whatsapp,
        /// Writes a text message.
        text,
        /// Writes an e-mail.
        email,
        /// Shows the way.
        directions,
        /// Leads to the messages.
        messages,
        /// Shows the address on a map.
        map,
    }

    /// What the guest writes to the host.
    messages: MessageWords {
        /// Its heading.
        title,
        /// Labels the message.
        label,
        /// After it was sent.
        sent,
        /// Heads what was sent before.
        yours,
        /// When: `{moment}`.
        sent_at,
        /// Where answers come.
        answers_elsewhere,
    }

    /// What is broken or missing in the flat.
    ticket: TicketWords {
        /// Its heading.
        title,
        /// Labels what it is about.
        subject,
        /// Labels the description.
        description,
        /// What helps.
        description_hint,
        /// After it was sent.
        sent,
    }

    /// Wi-Fi.
    wifi: WifiWords {
        /// Its heading.
        title,
        /// Its name.
        network,
        /// Its password.
        password,
        /// Copies the password.
        copy,
        /// After that.
        copied,
        /// Beside the drawing.
        scan,
        /// What the drawing is, for who does not see it: `{name}`.
        drawing,
    }

    /// What there is to read.
    manuals: ManualWords {
        /// Heads what has no heading, or no title, of its own.
        good_to_know,
        /// Leads to a video.
        video,
        /// Before the categories to jump to.
        jump,
        /// Heads what is not shown yet.
        later,
        /// When it will be: `{moment}`.
        unlocks,
    }

    /// The offer, and what is asked of guests.
    offer: OfferWords {
        /// Its heading where it has none.
        title,
        /// Leads to it.
        open,
        /// A reminder of it.
        reminder,
        /// After arrival.
        review_checkin,
        /// After departure.
        review_checkout,
        /// Leads to where it is said.
        review_action,
    }

    /// The banner of a preview.
    preview: PreviewWords {
        /// What it is.
        banner,
        /// That forms do nothing.
        forms,
        /// Labels the moment.
        moment,
        /// Shows it.
        show,
        /// Marks what is not active.
        inactive,
    }

    /// The page without a connection, and what is kept of it.
    keep: KeepWords {
        /// How old it is: `{moment}`.
        offline,
        /// That forms need a connection.
        offline_forms,
        /// Puts the stay into a calendar.
        calendar,
        /// Its title there: `{property}`.
        calendar_title,
        /// Its description there: `{url}`.
        calendar_description,
        /// Puts the stay into a wallet.
        wallet,
        /// Prints.
        print,
        /// What is remembered of the guest.
        privacy,
    }

    /// Pages that stand for another.
    pages: PageWords {
        /// There is no such stay.
        missing,
        /// What to do then.
        missing_hint,
        /// There is no such step, or it is not this guest's any more.
        step_missing,
        /// There is no such manual, or it is not shown now.
        manual_missing,
        /// The page has been asked for too often.
        busy,
        /// Something broke.
        unavailable,
        /// Leads to the page of the stay.
        home,
    }

    /// Why a form was refused, and what to do about it.
    errors: ErrorWords {
        /// Heads the list.
        title,
        /// A field: empty.
        required,
        /// A field: none of its options.
        choose_one,
        /// A field: no e-mail address.
        email,
        /// A field: no phone number.
        phone,
        /// A field: no date.
        date,
        /// A field: a date that is still to come.
        date_in_future,
        /// A field: longer than `{max}` characters.
        too_long,
        /// The box of an agreement is not ticked.
        accept,
        /// The name under it is missing.
        sign,
        /// No file was chosen.
        file_missing,
        /// The file is of no kind that is taken.
        file_type,
        /// The file is larger than `{size}`.
        file_size,
        /// There are `{n}` files already.
        file_count,
        /// Fewer guests are named than come.
        guests_missing,
        /// More guests than `{n}`.
        guests_too_many,
        /// Any other field.
        invalid,
        /// What was filled in could not be saved.
        not_saved,
        /// The stay holds as much as it may.
        full,
        /// A message that is empty or too long.
        message,
        /// The stay has as many messages as it may.
        message_full,
        /// The host takes no messages.
        chat_off,
        /// Pre-check-in is off.
        precheckin_off,
        /// The step is not the stay's any more.
        step_gone,
        /// It has been submitted.
        already_submitted,
        /// Some steps are not done.
        not_ready,
        /// Files cannot be taken now.
        uploads_off,
        /// Whatever else it was.
        retry,
    }
}
