//! Limits on the data that a guest may store in one stay (rules: stays#messages;
//! pre-check-in#saving).

use engine::error::{Error, Issue, Result};

/// Maximum number of messages that the guest of a stay can send.
pub(super) const MAX_MESSAGES: i64 = 200;
/// Maximum number of issues that the guest of a stay can report.
pub(super) const MAX_ISSUES: i64 = 20;
/// Maximum number of bytes of the answers of a stay, as JSON.
pub(super) const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Maximum number of files of a step.
pub(super) const MAX_FILES: usize = 10;

const MESSAGES_KEY: &str = "guest.messages_limit";
const ISSUES_KEY: &str = "guest.issues_limit";
const ANSWERS_KEY: &str = "guest.answers_limit";
const FILES_KEY: &str = "guest.files_limit";
const STAY_KEY: &str = "guest.stay_storage_limit";
const ORGANIZATION_KEY: &str = "organization.storage_limit";

/// Two numbers of bytes of guests' files: for one stay, and for one organization. As `limits`, they
/// are the maximum numbers; as `used`, they are the numbers of stored bytes.
#[derive(Debug, Clone, Copy)]
pub struct UploadLimits {
    /// Number of bytes of all files of a stay.
    pub per_stay: u64,
    /// Number of bytes of all files of an organization. The settings of an organization can replace
    /// the maximum.
    pub per_organization: u64,
}

/// Refuses a file of `size` bytes that would exceed the limit of its stay or of its organization.
/// `used` has the numbers of bytes that the stay and the organization already use.
pub(super) fn check_space(limits: UploadLimits, used: UploadLimits, size: u64) -> Result<()> {
    for (whose, key, limit, used) in [
        ("stay", STAY_KEY, limits.per_stay, used.per_stay),
        (
            "organization",
            ORGANIZATION_KEY,
            limits.per_organization,
            used.per_organization,
        ),
    ] {
        if used.saturating_add(size) > limit {
            let (limit, used) = (megabytes(limit), megabytes(used));
            let issue = Issue::new(
                &["file"],
                format!(
                    "is too large for the space that is left: the files of the {whose} may use \
                        {limit} MiB, and {used} MiB are in use"
                ),
            );
            return Err(Error::issues(vec![issue])
                .with_message(format!(
                    "There is no space left for this file: the files of the {whose} may use \
                        {limit} MiB."
                ))
                .with_key(key));
        }
    }
    Ok(())
}

const fn megabytes(bytes: u64) -> u64 {
    bytes >> 20
}

/// Returns the error for a guest who reports an issue although the stay already has the maximum
/// number of reported issues.
pub(super) fn too_many_issues() -> Error {
    let issue = Issue::new(&["text"], format!("a stay has at most {MAX_ISSUES} issues"));
    Error::issues(vec![issue])
        .with_message(format!("A guest can report at most {MAX_ISSUES} issues."))
        .with_key(ISSUES_KEY)
}

/// Returns the error for a message of a stay that already has the maximum number of messages.
pub(super) fn too_many_messages() -> Error {
    let issue = Issue::new(
        &["text"],
        format!("cannot be sent: a stay has at most {MAX_MESSAGES} messages"),
    );
    Error::issues(vec![issue])
        .with_message(format!("A guest can send at most {MAX_MESSAGES} messages."))
        .with_key(MESSAGES_KEY)
}

/// Returns the error for answers that exceed the maximum number of bytes of a stay's answers.
pub(super) fn too_long_answers() -> Error {
    let issue = Issue::new(
        &["answers"],
        "must have at most 1 MiB together with the answers of the stay's other steps",
    );
    Error::issues(vec![issue])
        .with_message("A guest can save at most 1 MiB of answers.")
        .with_key(ANSWERS_KEY)
}

/// Returns the error for a file of a step that already has the maximum number of files.
pub(super) fn too_many_files() -> Error {
    let issue = Issue::new(
        &["file"],
        format!("cannot be added: a step has at most {MAX_FILES} files"),
    );
    Error::issues(vec![issue])
        .with_message(format!(
            "A guest can hand in at most {MAX_FILES} files with a step."
        ))
        .with_key(FILES_KEY)
}

/// Returns whether a refusal with this `details.key` says that the stay or its organization has
/// reached a limit.
#[must_use]
pub fn is_reached(key: &str) -> bool {
    [
        MESSAGES_KEY,
        ISSUES_KEY,
        ANSWERS_KEY,
        FILES_KEY,
        STAY_KEY,
        ORGANIZATION_KEY,
    ]
    .contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_fill_but_not_exceed_their_limits() {
        let limits = UploadLimits {
            per_stay: 10,
            per_organization: 100,
        };
        let used = |per_stay, per_organization| UploadLimits {
            per_stay,
            per_organization,
        };
        assert!(check_space(limits, used(4, 94), 6).is_ok());
        assert!(check_space(limits, used(5, 5), 6).is_err());
        assert!(check_space(limits, used(0, 95), 6).is_err());
        assert!(check_space(limits, used(u64::MAX, 0), 1).is_err());
    }
}
