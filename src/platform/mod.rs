//! The platform interface: organizations, their credentials, and the records the platform around us keeps in step.

mod batch;
mod credentials;
mod erasure;
mod links;
mod organizations;
mod sync;

use engine::chapter::Chapter;

pub use erasure::sweep;
pub use sync::MAX_RECORDS;

/// What the platform around us does.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: || {
        [organizations::operations(), credentials::operations(), links::operations(), sync::operations()].into_iter().flatten().collect()
    },
    statements: || [batch::STATEMENTS, credentials::STATEMENTS, erasure::STATEMENTS, links::STATEMENTS, organizations::STATEMENTS].concat(),
    subjects: &[
        ("organizations", "Organizations: created, changed, listed, erased."),
        ("members", "People who work for an organization, and what they may do."),
        ("api-keys", "Keys for integrations, shown once."),
        ("oauth-apps", "Apps that members may connect."),
        ("access-tokens", "Tokens of apps for members, shown once."),
        ("connections", "Which apps act for which members."),
        ("guest-links", "Links for guests, many at once."),
        ("sync", "Pushes records, all or nothing."),
    ],
    ..Chapter::new("platform")
};
