//! Uploaded files: which files an operation accepts, where and under which keys they are stored,
//! and how many uploads may be in progress.
//!
//! Each file is stored under a new key, which consists of its organization, the time and a random
//! secret. The file name from the client is only stored as a text. It never becomes part of a path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use files::{Files, Space};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::Owner;
use crate::error::{Error, Result};
use crate::ids::Ids;

/// The maximum number of uploads in progress.
const MAX_UPLOADS: usize = 32;
/// The maximum number of uploads in progress of one caller.
const MAX_UPLOADS_OF_CALLER: usize = 2;
/// The number of random bytes in a storage key.
const KEY_BYTES: usize = 16;
/// The maximum number of characters of a file's name.
const MAX_NAME_LENGTH: usize = 200;
/// The name of a file for which the client sends no usable name.
const NAMELESS: &str = "file";

/// The file that an operation accepts.
#[derive(Clone, Copy)]
pub struct TakesFile {
    /// The name of the input field that contains the file.
    pub field: &'static str,
    /// The greatest accepted size in bytes, a multiple of 1 MiB.
    pub max_bytes: u64,
    /// Returns the media type for the first bytes of a file, or `None` if the type is not accepted.
    /// The argument has [`HEAD`] bytes, or is the whole file if that is shorter.
    pub kind: fn(&[u8]) -> Option<&'static str>,
    /// The accepted types, in words, for error messages.
    pub kinds: &'static str,
}

/// The number of bytes at the start of a file from which the file's media type is detected.
pub const HEAD: usize = 64;

/// An uploaded file, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UploadedFile {
    /// The key in file storage.
    pub key: String,
    /// The file name that the client sent. It is stored as a text and never used as a path.
    pub name: String,
    /// The media type, detected from the first bytes.
    pub content_type: String,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 of the content, in base64url without padding.
    pub digest: String,
}

/// The schema of the input field for an uploaded file. Clients never send this object: they send
/// the file itself, and the pipeline fills the field.
impl JsonSchema for UploadedFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Received".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "maxProperties": 5 })
    }
}

/// File storage, with limits on concurrent uploads and on disk space.
pub struct Uploads {
    pub files: Files,
    /// Number of bytes that uploads leave free on the file system; [`reserved`] gives the default.
    reserve: Option<u64>,
    counter: Arc<UploadCounter>,
}

/// The number of bytes that uploads leave free by default on a file system of 10 GiB or more. On a
/// smaller file system, [`reserved`] leaves a tenth of its size free instead.
const RESERVE: u64 = 1 << 30;

/// Returns the number of bytes that uploads leave free on the file system: the configured number,
/// or else the lesser of 1 GiB and a tenth of the file system.
fn reserved(configured: Option<u64>, total: u64) -> u64 {
    configured.unwrap_or(RESERVE.min(total / 10))
}

impl Uploads {
    /// Adds the limits on uploads to the storage `files`. Uploads leave `reserve` bytes free on the
    /// file system.
    #[must_use]
    pub fn new(files: Files, reserve: Option<u64>) -> Self {
        Self {
            files,
            reserve,
            counter: Arc::default(),
        }
    }

    /// Registers the upload of a file of at most `most` bytes. Refuses the upload if the caller,
    /// the organization or the service has too many uploads in progress. Also refuses it if the
    /// free space of the file system could fall below the reserve.
    pub(crate) fn register(&self, owner: Owner, most: u64) -> Result<UploadGuard> {
        let space = self.files.space().map_err(Error::unavailable)?;
        let mut in_progress = self.counter.in_progress();
        if !has_free_upload(
            in_progress.by_caller.count(owner),
            in_progress.by_organization.count(owner.organization),
            in_progress.all,
        ) {
            return Err(
                Error::unavailable("the limit of concurrent uploads is reached")
                    .with_message("Too many uploads are in progress; try again."),
            );
        }
        if space.is_some_and(|space| !has_space(space, self.reserve, in_progress.all, most)) {
            return Err(
                Error::unavailable("the file system has no free space beyond its reserve")
                    .with_message("The service has no space for files at the moment."),
            );
        }
        in_progress.all += 1;
        in_progress.by_caller.add(owner);
        in_progress.by_organization.add(owner.organization);
        drop(in_progress);
        Ok(UploadGuard {
            counter: self.counter.clone(),
            owner,
        })
    }
}

/// Returns whether a caller may upload one more file. The arguments are the numbers of uploads in
/// progress: of the caller, of the caller's organization and in total. The uploads of the caller
/// must be fewer than [`MAX_UPLOADS_OF_CALLER`]. The uploads of an organization must be fewer than
/// the free slots of [`MAX_UPLOADS`]. A slot therefore always remains for another organization.
const fn has_free_upload(of_caller: usize, of_organization: usize, all: usize) -> bool {
    of_caller < MAX_UPLOADS_OF_CALLER && of_organization < MAX_UPLOADS.saturating_sub(all)
}

/// Returns whether the file system has space for one more file, beside the reserved space, if every
/// upload in progress grows to the size limit.
fn has_space(space: Space, reserve: Option<u64>, in_progress: usize, most: u64) -> bool {
    let files = u64::try_from(in_progress)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    space.free.saturating_sub(reserved(reserve, space.total)) >= files.saturating_mul(most)
}

#[derive(Default)]
struct UploadCounter(Mutex<UploadCounts>);

#[derive(Default)]
struct UploadCounts {
    all: usize,
    by_caller: Counts<Owner>,
    by_organization: Counts<Uuid>,
}

impl UploadCounter {
    fn in_progress(&self) -> MutexGuard<'_, UploadCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of uploads in progress of each caller or organization.
struct Counts<K>(HashMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> Counts<K> {
    fn count(&self, key: K) -> usize {
        self.0.get(&key).copied().unwrap_or(0)
    }

    fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    fn remove(&mut self, key: &K) {
        if let Some(count) = self.0.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(key);
            }
        }
    }
}

/// A guard that counts an upload as in progress until it is dropped.
pub(crate) struct UploadGuard {
    counter: Arc<UploadCounter>,
    owner: Owner,
}

impl Drop for UploadGuard {
    fn drop(&mut self) {
        let mut in_progress = self.counter.in_progress();
        in_progress.all -= 1;
        in_progress.by_caller.remove(&self.owner);
        in_progress.by_organization.remove(&self.owner.organization);
    }
}

/// Returns a new key for file storage: the organization's folder, and a name that sorts by time and
/// contains a random secret.
pub(crate) fn fresh_key(ids: &Ids, organization: Uuid, now: Timestamp) -> String {
    let secret = Uuid::from_bytes(ids.secret::<KEY_BYTES>());
    format!(
        "{}{}-{}",
        folder(organization),
        ids.uuid(now).simple(),
        secret.simple()
    )
}

/// Returns the common prefix of the storage keys of an organization's files.
#[must_use]
pub fn folder(organization: Uuid) -> String {
    format!("{organization}/")
}

/// Returns the time at which a storage key was created, or `None` for a key of another form.
#[must_use]
pub fn created_at(key: &str) -> Option<Timestamp> {
    let (folder, name) = key.split_once('/')?;
    let (id, secret) = name.split_once('-')?;
    if [folder.len(), id.len(), secret.len()] != [36, 32, 32]
        || secret.parse::<Uuid>().is_err()
        || folder.parse::<Uuid>().is_err()
    {
        return None;
    }
    let (seconds, nanoseconds) = id.parse::<Uuid>().ok()?.get_timestamp()?.to_unix();
    Timestamp::new(
        i64::try_from(seconds).ok()?,
        i32::try_from(nanoseconds).ok()?,
    )
    .ok()
}

/// Returns the name of an uploaded file: the last path segment of the name that the client sent,
/// without control and bidirectional characters, cut at [`MAX_NAME_LENGTH`]. A name of dots alone,
/// or an empty name, becomes [`NAMELESS`].
pub(crate) fn file_name(sent: Option<&str>) -> String {
    let is_bidirectional = |c: char| {
        matches!(
            c,
            '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
    };
    let last = sent
        .unwrap_or_default()
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let printable: String = last
        .chars()
        .filter(|c| !c.is_control() && !is_bidirectional(*c))
        .collect();
    let name: String = printable.trim().chars().take(MAX_NAME_LENGTH).collect();
    if name.chars().all(|c| c == '.') {
        NAMELESS.to_owned()
    } else {
        name.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Credential;

    #[test]
    fn file_names_lose_paths_and_control_characters() {
        for (sent, name) in [
            (None, "file"),
            (Some(""), "file"),
            (Some("passport.jpg"), "passport.jpg"),
            (Some("../../etc/passwd"), "passwd"),
            (Some(r"C:\Users\Ada\pass port.jpg"), "pass port.jpg"),
            (Some("a/.."), "file"),
            (Some("a/"), "file"),
            (Some("a\0b\r\n.jpg"), "ab.jpg"),
            (Some("gpj.\u{202E}exe"), "gpj.exe"),
            (Some("  größe.pdf "), "größe.pdf"),
        ] {
            assert_eq!(file_name(sent), name, "{sent:?}");
        }
        assert_eq!(
            file_name(Some(&"ä".repeat(300))).chars().count(),
            MAX_NAME_LENGTH
        );
    }

    proptest! {
        #[test]
        fn every_file_name_is_short_and_printable(sent in any::<String>()) {
            let name = file_name(Some(&sent));
            prop_assert!(!name.is_empty() && name.chars().count() <= MAX_NAME_LENGTH);
            prop_assert!(
                !name.contains(['/', '\\'])
                    && !name.contains(char::is_control)
                    && name != ".."
                    && name.trim() == name
            );
            prop_assert_eq!(file_name(Some(&name)), name);
        }

        #[test]
        fn a_storage_key_holds_its_creation_time(
            milliseconds in 0_i64..4_000_000_000_000,
            organization: u128,
        ) {
            let now = Timestamp::from_millisecond(milliseconds).unwrap();
            let key = fresh_key(&Ids::default(), Uuid::from_u128(organization), now);
            prop_assert_eq!(created_at(&key), Some(now), "{}", key);
            prop_assert!(key.starts_with(&folder(Uuid::from_u128(organization))));
        }

        #[test]
        fn a_foreign_storage_key_has_no_creation_time(text in any::<String>()) {
            prop_assert_eq!(created_at(&text), None);
        }

        /// A caller who has no upload in progress can always upload a file, however many callers
        /// upload.
        #[test]
        fn uploads_always_leave_a_place_for_another_caller(
            callers in prop::collection::vec((0..5_u128, 0..40_u128), 0..400),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let uploads = Uploads::new(Files::in_directory(directory.path()).unwrap(), Some(0));
            let owner = |organization, guest| Owner {
                organization: Uuid::from_u128(organization),
                credential: Credential::Guest {
                    opens: Uuid::from_u128(guest),
                },
            };
            let guards: Vec<_> = callers
                .into_iter()
                .filter_map(|(organization, guest)| {
                    uploads.register(owner(organization, guest), 1).ok()
                })
                .collect();
            prop_assert!(guards.len() < MAX_UPLOADS);
            prop_assert!(uploads.register(owner(9, 9), 1).is_ok());
            drop(guards);
            let in_progress = uploads.counter.in_progress();
            prop_assert!(
                in_progress.all == 0
                    && in_progress.by_caller.0.is_empty()
                    && in_progress.by_organization.0.is_empty()
            );
        }
    }

    #[test]
    fn uploads_keep_the_disk_reserve_free() {
        const GIB: u64 = 1 << 30;
        assert_eq!(
            [reserved(None, 5 * GIB), reserved(None, 100 * GIB)],
            [GIB / 2, GIB]
        );
        assert_eq!(reserved(Some(7), 100 * GIB), 7);
        let space = |free| Space {
            free,
            total: 100 * GIB,
        };
        assert!(has_space(space(GIB + 20), None, 1, 10));
        assert!(
            !has_space(space(GIB + 20), None, 2, 10),
            "uploads in progress count as well"
        );
        assert!(!has_space(space(GIB - 1), None, 0, 1));
    }

    #[test]
    fn uploads_are_limited_per_caller_organization_and_process() {
        assert!(has_free_upload(1, 1, 1) && !has_free_upload(2, 2, 2));
        assert!(
            has_free_upload(0, 15, 15)
                && !has_free_upload(0, 16, 16)
                && !has_free_upload(0, 0, MAX_UPLOADS)
        );
    }
}
