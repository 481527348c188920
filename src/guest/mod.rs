//! What this guest of this flat sees now.

mod bounds;
mod erased;
mod explain;
mod files;
mod link;
mod manuals;
mod markdown;
mod messages;
mod operations;
mod precheckin;
mod setup;
mod stay;
mod submission;
mod view;
mod words;

use engine::chapter::Chapter;

use crate::records::{Kind, OnGone};
pub use bounds::is_reached;
pub use files::FileView;
pub(crate) use files::{UploadRetention, remove_folder as remove_files_of, run as keep_files, sweep as sweep_files};
pub(crate) use link::LINK;
pub use manuals::{ManualCategoryView, ManualView};
pub(crate) use operations::{stay_token, stay_url};
pub use precheckin::{OptionView, PrecheckinStatus, QuestionView, StepView};
pub use view::{GuestView, language_of};

/// What guests see and hand in.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || [operations::operations(), files::operations()].into_iter().flatten().collect(),
    statements: || {
        [
            link::STATEMENTS.to_vec(),
            messages::STATEMENTS.to_vec(),
            operations::STATEMENTS.to_vec(),
            precheckin::STATEMENTS.to_vec(),
            files::statements(),
        ]
        .concat()
    },
    erased: erased::STATEMENTS,
    routes: Some(files::routes),
    lists: |lists| {
        lists.add(OnGone(|context, kind, ids| match kind {
            Kind::Reservation => operations::forget_stays(context, ids),
            _ => Ok(()),
        }));
    },
    ..Chapter::new("guest")
};
