//! Everything that a guest sees and sends: the view of a stay, the answers of the guest, their
//! review by staff, and previews.
//!
//! `operations.rs` declares the guest interface. `setup.rs` loads the configuration of a flat,
//! `stay.rs` loads a stay, and `view.rs` builds the guest's view from both. `precheckin.rs` saves
//! and submits answers. `review.rs` has the operations of staff, and `submission.rs` those of the
//! platform. `explain.rs` tells staff why a guest sees a step or manual, or does not see it.

mod abandonment;
mod about;
mod acceptance;
mod audited;
mod bounds;
mod changes;
mod charges;
mod decision;
mod domains;
mod draft;
mod erased;
mod explain;
mod extras;
mod files;
mod flags;
mod hours;
mod instructions;
mod issues;
mod languages;
mod link;
mod manuals;
mod messages;
mod openness;
mod operations;
mod page_view;
pub mod passes;
mod phase;
mod placeholders;
mod postal;
mod precheckin;
mod preview;
mod progress;
mod property_setup;
pub mod pushes;
mod recognition;
mod review;
mod setup;
mod stay;
mod step_of_stay;
mod step_view;
mod stored_answers;
mod submission;
mod surveys;
mod text_preview;
mod view;

use engine::module::Module;

use crate::records::{Dependents, OnChanged, OnDeleted, OnLinksChanged};
pub use abandonment::{CartAbandonmentDelay, run as tell_of_carts, sweep as sweep_carts};
pub use about::ManualSubject;
pub use acceptance::{AcceptanceView, TEXT_CHANGED, text_hash};
pub use bounds::{UploadLimits, is_reached};
pub use changes::sweep;
pub use charges::LIST_RESERVATION_CHARGES;
pub use charges::{
    Charge, ChargeKind, ChargeNoticeWorker, ChargeStatus, DepositView, send_charge_notices,
};
pub(crate) use domains::hosts;
pub(crate) use domains::stay_url;
pub use domains::{gate, page_address};
pub use explain::{
    ExplainedItem, Explanation, Facts as DecidingFacts, HiddenText, Hop as PathHop,
    Reason as DecidingReason, Withheld, WithheldValue,
};
pub use extras::{CartItem, ExtraView};
pub use files::FileView;
pub(crate) use files::remove_folder as remove_files_of;
pub use files::{
    AddressedFile, GET_STEP_FILE, UploadRetention, run as keep_files, sweep as sweep_files,
};
pub use flags::{FlagKind, FlagView};
pub use instructions::InstructionView;
pub use issues::GuestIssue;
pub use issues::LIST_OWN_ISSUES;
pub use languages::best_language;
pub use link::LINK;
pub use manuals::{ManualCategoryView, ManualView, UpcomingView, WifiView};
pub use messages::Message;
pub(crate) use operations::stay_token;
pub use operations::{
    EXPLAIN_GUEST_VIEW, GET_GUEST_LINK, LIST_OWN_MESSAGES, LIST_RESERVATION_MESSAGES,
    SAVE_STEP_ANSWERS,
};
pub use page_view::{GET_PAGE_VIEW, PAGE_VIEW, PageView};
pub use phase::{Phase, phase};
pub use postal::address_lines;
pub use precheckin::{PrecheckinStatus, STAY_OVER};
pub use preview::{CREATE_PORTAL_PREVIEW, PREVIEW_GUEST_VIEW, sweep as sweep_previews};
pub use progress::{Progress, ProgressStatus};
pub use property_setup::GET_PROPERTY_SETUP;
pub use review::{
    GET_PRECHECKIN_SUBMISSION, LIST_PRECHECKIN_SUBMISSIONS, PrecheckinSubmission, ReviewedProgress,
    ReviewedStep, ReviewedSubmission,
};
pub use step_view::{OptionView, QuestionView, StepView};
pub use text_preview::{MissingValue, PREVIEW_TRANSLATION};
pub use view::{BrandingView, OfferView, PropertyView};
pub use view::{GuestView, language_of};

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: || {
        let of_guests = [
            operations::operations(),
            files::operations(),
            changes::operations(),
            charges::operations(),
            issues::operations(),
            surveys::operations(),
            extras::operations(),
            passes::operations(),
        ];
        let of_staff = [
            progress::operations(),
            review::operations(),
            preview::operations(),
            text_preview::operations(),
            property_setup::operations(),
        ];
        of_guests.into_iter().chain(of_staff).flatten().collect()
    },
    statements: || {
        let of_guests = [
            abandonment::STATEMENTS,
            changes::STATEMENTS,
            extras::STATEMENTS,
            instructions::STATEMENTS,
            issues::STATEMENTS,
            passes::STATEMENTS,
            pushes::STATEMENTS,
            surveys::STATEMENTS,
            link::STATEMENTS,
            messages::STATEMENTS,
            operations::STATEMENTS,
        ]
        .concat();
        let of_steps = [
            acceptance::STATEMENTS,
            precheckin::STATEMENTS,
            stored_answers::STATEMENTS,
            progress::STATEMENTS,
            recognition::STATEMENTS,
            review::STATEMENTS,
            preview::STATEMENTS,
        ]
        .concat();
        [
            of_guests,
            of_steps,
            charges::statements(),
            files::statements(),
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(|service| files::routes(service).merge(domains::routes(service))),
    lists: |lists| {
        lists.add(OnDeleted(|context, kind, ids| match kind.dependents() {
            Dependents::Stay => operations::forget_stays(context, ids),
            Dependents::Flat
            | Dependents::Assignments
            | Dependents::Brandings
            | Dependents::None => Ok(()),
        }));
        lists.add(OnLinksChanged(|context, kind, ids| {
            match kind.dependents() {
                Dependents::Stay => review::follow_reservations(context, ids),
                Dependents::Flat
                | Dependents::Assignments
                | Dependents::Brandings
                | Dependents::None => Ok(()),
            }
        }));
        lists.add(OnChanged(charges::follow_stays));
    },
    subjects: &[
        (
            "reservations",
            "Stays: who comes when, what they see and why, what they hand in.",
        ),
        (
            "precheckin-submissions",
            "What guests hand in, to be approved or sent back.",
        ),
        ("charges", "What guests are charged, and when."),
        ("stays", "What the guest of a stay sees and does."),
        (
            "guest-changes",
            "What guests did, in order, to be followed.",
        ),
    ],
    ..Module::new("guest")
};
