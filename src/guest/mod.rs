//! What this guest of this flat sees now, and what one would see.

mod acceptance;
mod audited;
mod bounds;
mod changes;
mod decision;
mod draft;
mod erased;
mod explain;
mod files;
mod link;
mod manuals;
mod markdown;
mod messages;
mod operations;
mod precheckin;
mod preview;
mod progress;
mod review;
mod setup;
mod stay;
mod submission;
mod view;

use engine::chapter::Chapter;

use crate::records::{Kind, OnGone, OnRelinked};
pub use bounds::is_reached;
pub use changes::sweep;
pub use files::FileView;
pub(crate) use files::{UploadRetention, remove_folder as remove_files_of, run as keep_files, sweep as sweep_files};
pub(crate) use link::LINK;
pub use manuals::{ManualCategoryView, ManualView, UpcomingView, WifiView};
pub(crate) use markdown::to_html as markdown_to_html;
pub use messages::Message;
pub(crate) use operations::{stay_token, stay_url};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};
pub(crate) use preview::sweep as sweep_previews;
pub use progress::{Progress, ProgressStatus};
pub(crate) use view::{BrandingView, ContactView, OfferView, PortalView, StayView};
pub use view::{GuestView, language_of};

/// What guests see and hand in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || {
        let of_guests = [operations::operations(), files::operations(), changes::operations()];
        let of_staff = [progress::operations(), review::operations(), preview::operations()];
        of_guests.into_iter().chain(of_staff).flatten().collect()
    },
    statements: || {
        let of_guests = [changes::STATEMENTS, link::STATEMENTS, messages::STATEMENTS, operations::STATEMENTS].concat();
        let of_steps = [precheckin::STATEMENTS, progress::STATEMENTS, review::STATEMENTS, preview::STATEMENTS].concat();
        [of_guests, of_steps, files::statements()].concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(files::routes),
    lists: |lists| {
        lists.add(OnGone(|context, kind, ids| match kind {
            Kind::Reservation => operations::forget_stays(context, ids),
            _ => Ok(()),
        }));
        lists.add(OnRelinked(|context, kind, ids| match kind {
            Kind::Reservation => review::follow(context, ids),
            _ => Ok(()),
        }));
    },
    subjects: &[
        ("reservations", "Stays: who comes when, what they see and why, what they hand in."),
        ("precheckin-submissions", "What guests hand in, to be approved or sent back."),
        ("stays", "What the guest of a stay sees and does."),
        ("guest-changes", "What guests did, in order, to be followed."),
    ],
    ..Chapter::new("guest")
};
