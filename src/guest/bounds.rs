//! How much a guest may write in one stay (contract: The guest's page).

use engine::error::{Error, Issue};

/// Messages of a stay at the most.
pub(super) const MESSAGES: i64 = 200;
/// Bytes of answers of a stay at the most, as JSON.
pub(super) const ANSWERS: u64 = 1 << 20;

/// Files of a step at the most.
pub(super) const FILES: usize = 10;

const MESSAGES_KEY: &str = "guest.messages_limit";
const ANSWERS_KEY: &str = "guest.answers_limit";
const FILES_KEY: &str = "guest.files_limit";

/// The refusal of one message more than there may be.
pub(super) fn too_many_messages() -> Error {
    let issue = Issue::new(&["text"], format!("a stay has at most {MESSAGES} messages"));
    Error::issues(vec![issue]).with_message(format!("A guest can send at most {MESSAGES} messages.")).with_key(MESSAGES_KEY)
}

/// The refusal of more answers than there may be.
pub(super) fn too_long_answers() -> Error {
    let issue = Issue::new(&["answers"], "a stay has at most 1 MiB of answers in all its steps");
    Error::issues(vec![issue]).with_message("A guest can save at most 1 MiB of answers.").with_key(ANSWERS_KEY)
}

/// The refusal of one file more than a step may have.
pub(super) fn too_many_files() -> Error {
    let issue = Issue::new(&["file"], format!("a step has at most {FILES} files"));
    Error::issues(vec![issue]).with_message(format!("A guest can hand in at most {FILES} files with a step.")).with_key(FILES_KEY)
}

/// Whether a refusal of this `details.key` says that a stay holds as much as it may.
#[must_use]
pub fn is_reached(key: &str) -> bool {
    [MESSAGES_KEY, ANSWERS_KEY, FILES_KEY].contains(&key)
}
