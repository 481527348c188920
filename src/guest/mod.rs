//! What this guest of this flat sees now.

mod acceptance;
mod bounds;
mod erased;
mod explain;
mod link;
mod manuals;
mod markdown;
mod messages;
mod operations;
mod precheckin;
mod progress;
mod setup;
mod stay;
mod submission;
mod view;

use engine::chapter::Chapter;

use crate::records::{Kind, OnGone};
pub use bounds::is_reached;
pub(crate) use link::LINK;
pub use manuals::{ManualCategoryView, ManualView, UpcomingView, WifiView};
pub use messages::Message;
pub(crate) use operations::{stay_token, stay_url};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};
pub use progress::{Progress, ProgressStatus};
pub(crate) use view::{BrandingView, ContactView, OfferView, PortalView, StayView};
pub use view::{GuestView, language_of};

/// What guests see and hand in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || [operations::operations(), progress::operations()].into_iter().flatten().collect(),
    statements: || [link::STATEMENTS, messages::STATEMENTS, operations::STATEMENTS, precheckin::STATEMENTS, progress::STATEMENTS].concat(),
    erased: erased::STATEMENTS,
    lists: |lists| {
        lists.add(OnGone(|context, kind, ids| match kind {
            Kind::Reservation => operations::forget_stays(context, ids),
            _ => Ok(()),
        }));
    },
    ..Chapter::new("guest")
};
