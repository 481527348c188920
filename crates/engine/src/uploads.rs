//! Files that come with a request: what an operation says of the one it takes, where they are kept and under which keys, and how
//! many may arrive at once.
//!
//! A file is kept under a key that is made for it: of its organization, of the moment and of something that nobody can guess.
//! The name that its sender gives it is a text beside it and leads nowhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use files::Files;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::Owner;
use crate::ids::Ids;

/// Files that may arrive at once.
const AT_ONCE: usize = 32;
/// Of these, of one caller.
const OF_ONE: usize = 2;
/// Bytes of a key that nobody can guess.
const SECRET: usize = 16;
/// Characters of a file's name at the most.
const NAME_LENGTH: usize = 200;
/// What a file is called whose sender gives it no name.
const NAMELESS: &str = "file";

/// What an operation says of the file that it takes.
#[derive(Clone, Copy)]
pub struct TakesFile {
    /// The field that it comes in.
    pub field: &'static str,
    /// Its bytes at the most: whole MiB.
    pub most: u64,
    /// Its media type, told by its first bytes, as many as [`HEAD`] or all there are; none for one that is not taken.
    pub kind: fn(&[u8]) -> Option<&'static str>,
    /// What is taken, in words.
    pub kinds: &'static str,
}

/// First bytes of a file by which its kind is told.
pub const HEAD: usize = 64;

/// A file that came with a request, as it has been kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Received {
    /// What it is kept under.
    pub key: String,
    /// What its sender calls it: a text, and no path.
    pub name: String,
    /// What it is by its first bytes.
    pub content_type: String,
    /// Its bytes.
    pub size: u64,
}

/// As it stands in an input: never as a client has sent it, because what a client sends in its place is the file.
impl JsonSchema for Received {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Received".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "maxProperties": 4 })
    }
}

/// Where files are kept, and how many may arrive there at once.
pub struct Uploads {
    /// The place.
    pub files: Files,
    room: Arc<Room>,
}

impl Uploads {
    /// Files in a place.
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self { files, room: Arc::default() }
    }

    /// Room for one more to arrive; none where there are as many of its caller, of its organization or in all as there may be.
    pub(crate) fn enter(&self, owner: Owner) -> Option<Entered> {
        let mut arriving = self.room.arriving();
        if !has_room(arriving.of.count(owner), arriving.within.count(owner.organization), arriving.all) {
            return None;
        }
        arriving.all += 1;
        arriving.of.add(owner);
        arriving.within.add(owner.organization);
        drop(arriving);
        Some(Entered { room: self.room.clone(), owner })
    }
}

/// Whether one more file of a caller may arrive, by what is arriving of the caller, of the organization and in all. An
/// organization has as much room as it leaves to the others, so there is some for whoever comes next.
const fn has_room(of_caller: usize, within: usize, all: usize) -> bool {
    of_caller < OF_ONE && within < AT_ONCE.saturating_sub(all)
}

#[derive(Default)]
struct Room(Mutex<Arriving>);

#[derive(Default)]
struct Arriving {
    all: usize,
    of: Counts<Owner>,
    within: Counts<Uuid>,
}

impl Room {
    fn arriving(&self) -> MutexGuard<'_, Arriving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many there are of each.
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

/// The room of a file, as long as it arrives.
pub(crate) struct Entered {
    room: Arc<Room>,
    owner: Owner,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut arriving = self.room.arriving();
        arriving.all -= 1;
        arriving.of.remove(&self.owner);
        arriving.within.remove(&self.owner.organization);
    }
}

/// A fresh key: the organization's folder, and a name that sorts by the moment and cannot be guessed.
pub(crate) fn fresh_key(ids: &Ids, organization: Uuid, now: Timestamp) -> String {
    let secret = Uuid::from_bytes(ids.secret::<SECRET>());
    format!("{}{}-{}", folder(organization), ids.uuid(now).simple(), secret.simple())
}

/// What the keys of an organization begin with.
#[must_use]
pub fn folder(organization: Uuid) -> String {
    format!("{organization}/")
}

/// When a key was made; none for what is no key of ours.
#[must_use]
pub fn made_at(key: &str) -> Option<Timestamp> {
    let (folder, name) = key.split_once('/')?;
    let (id, secret) = name.split_once('-')?;
    if [folder.len(), id.len(), secret.len()] != [36, 32, 32] || secret.parse::<Uuid>().is_err() || folder.parse::<Uuid>().is_err() {
        return None;
    }
    let (seconds, nanoseconds) = id.parse::<Uuid>().ok()?.get_timestamp()?.to_unix();
    Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanoseconds).ok()?).ok()
}

/// What a file is called, of what its sender says: the last part of a path, without what does not print or turns a line around,
/// up to a length.
pub(crate) fn file_name(sent: Option<&str>) -> String {
    let turns = |letter: char| matches!(letter, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let last = sent.unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
    let printed: String = last.chars().filter(|letter| !letter.is_control() && !turns(*letter)).collect();
    let name: String = printed.trim().chars().take(NAME_LENGTH).collect();
    if name.chars().all(|letter| letter == '.') { NAMELESS.to_owned() } else { name.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Credential;

    #[test]
    fn a_name_is_a_text_and_no_path() {
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
        assert_eq!(file_name(Some(&"ä".repeat(300))).chars().count(), NAME_LENGTH);
    }

    proptest! {
        #[test]
        fn every_name_is_short_and_prints(sent in any::<String>()) {
            let name = file_name(Some(&sent));
            prop_assert!(!name.is_empty() && name.chars().count() <= NAME_LENGTH);
            prop_assert!(!name.contains(['/', '\\']) && !name.contains(char::is_control) && name != ".." && name.trim() == name);
            prop_assert_eq!(file_name(Some(&name)), name);
        }

        #[test]
        fn a_key_says_when_it_was_made(milliseconds in 0_i64..4_000_000_000_000, organization: u128) {
            let now = Timestamp::from_millisecond(milliseconds).unwrap();
            let key = fresh_key(&Ids::default(), Uuid::from_u128(organization), now);
            prop_assert_eq!(made_at(&key), Some(now), "{}", key);
            prop_assert!(key.starts_with(&folder(Uuid::from_u128(organization))));
        }

        #[test]
        fn what_is_no_key_of_ours_was_never_made(text in any::<String>()) {
            prop_assert_eq!(made_at(&text), None);
        }

        /// However many want to, there is room for somebody who has nothing arriving.
        #[test]
        fn there_is_room_for_one_more(wanting in prop::collection::vec((0..5_u128, 0..40_u128), 0..400)) {
            let directory = tempfile::tempdir().unwrap();
            let uploads = Uploads::new(Files::in_directory(directory.path()).unwrap());
            let owner = |organization, guest| Owner { organization: Uuid::from_u128(organization), credential: Credential::Guest { opens: Uuid::from_u128(guest) } };
            let entered: Vec<_> = wanting.into_iter().filter_map(|(organization, guest)| uploads.enter(owner(organization, guest))).collect();
            prop_assert!(entered.len() < AT_ONCE);
            prop_assert!(uploads.enter(owner(9, 9)).is_some());
            drop(entered);
            let arriving = uploads.room.arriving();
            prop_assert!(arriving.all == 0 && arriving.of.0.is_empty() && arriving.within.0.is_empty());
        }
    }

    #[test]
    fn a_caller_has_two_at_once() {
        assert!(has_room(1, 1, 1) && !has_room(2, 2, 2));
        assert!(has_room(0, 15, 15) && !has_room(0, 16, 16) && !has_room(0, 0, AT_ONCE));
    }
}
