//! What this guest of this flat sees now.

mod acceptance;
mod bounds;
mod changes;
mod decision;
mod erased;
mod explain;
mod link;
mod manuals;
mod markdown;
mod messages;
mod operations;
mod precheckin;
mod progress;
mod review;
mod setup;
mod stay;
mod submission;
mod view;
mod words;

use engine::chapter::Chapter;

use crate::records::{Kind, OnGone, OnRelinked};
pub use bounds::is_reached;
pub use changes::sweep;
pub(crate) use link::LINK;
pub use manuals::{ManualCategoryView, ManualView, UpcomingView, WifiView};
pub(crate) use operations::{stay_token, stay_url};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};
pub use progress::{Progress, ProgressStatus};
pub use view::{GuestView, language_of};

/// What guests see and hand in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || {
        let of_modules = [operations::operations(), progress::operations(), review::operations(), changes::operations()];
        of_modules.into_iter().flatten().collect()
    },
    statements: || {
        let of_guests = [changes::STATEMENTS, link::STATEMENTS, messages::STATEMENTS, operations::STATEMENTS];
        [of_guests.concat(), [precheckin::STATEMENTS, progress::STATEMENTS, review::STATEMENTS].concat()].concat()
    },
    erased: erased::STATEMENTS,
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
    ..Chapter::new("guest")
};
