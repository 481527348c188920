//! What this guest of this flat sees now.

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
pub use manuals::{ManualCategoryView, ManualView};
pub(crate) use operations::{stay_token, stay_url};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};
pub use view::{GuestView, language_of};

/// What guests see and hand in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || [operations::operations(), review::operations(), changes::operations()].into_iter().flatten().collect(),
    statements: || {
        [changes::STATEMENTS, link::STATEMENTS, messages::STATEMENTS, operations::STATEMENTS, precheckin::STATEMENTS, review::STATEMENTS]
            .concat()
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
