//! What is remembered from one request to the next, so that a read of what has not changed asks the database nothing.
//!
//! Two things are remembered, and neither is ever wrong for a moment:
//!
//! - who a token stands for, as long as the database is in the state in which that was read ([`store::Version`]);
//! - what an operation answered, under the revisions of its organization. Whoever is identified comes with the revisions
//!   as they are now, and an answer of other revisions is not given.
//!
//! An operation says whether its answers are kept, and what they are made of ([`crate::operation::Basis`]). What depends on
//! the moment says until when it holds ([`crate::context::Context::holds_until`]), and is given again only between the moment
//! it was made at and that one.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::HeaderValue;
use jiff::Timestamp;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use store::Version;
use uuid::Uuid;

use super::authenticate::TOKEN;
use super::deflated::Deflated;
use super::envelope;
use super::request::Head;
use crate::access::{Credential, Identified, Permissions, Revisions};
use crate::kit::sharded;
use crate::operation::{Answer, Basis, Operation, Surface};

/// Callers remembered at once.
const CALLERS: usize = 4_096;
/// Bytes of answers kept at once, their compressed forms included.
const ANSWERS: u64 = 32 << 20;
/// About how many that is.
const KEPT: usize = 4_096;
/// About what an entry takes besides its body.
const OVERHEAD: u64 = 512;

/// What is remembered.
pub struct Memory {
    callers: Cache<[u8; 32], Arc<Remembered>>,
    answers: Cache<Question, Arc<Kept>, ByBytes>,
    hits: AtomicU64,
    misses: AtomicU64,
    refusals: AtomicU64,
}

/// How answers were given and kept since the process started, and what they take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Given again.
    pub hits: u64,
    /// Not there, or of another state.
    pub misses: u64,
    /// Not kept, because they were too large or because others are asked for more often.
    pub refusals: u64,
    /// Bytes of what is kept now.
    pub bytes: u64,
}

/// What somebody presents to say who they are, as it was sent or as it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Presented<B, L> {
    /// A bearer token.
    Bearer(B),
    /// The token in the path of a link.
    Link(L),
}

struct Remembered {
    version: Version,
    identified: Arc<Identified>,
}

/// What was asked, and with what permissions and reach.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    organization: Uuid,
    operation: &'static str,
    permissions: Permissions,
    /// For a limited caller, as everybody is who has come by a link; all others reach the same.
    limited: Option<Credential>,
    /// Parameters of path and query as they were sent.
    asked: Box<str>,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Question, Arc<Kept>> for ByBytes {
    fn weight(&self, question: &Question, kept: &Arc<Kept>) -> u64 {
        // The compressed form is at most about as long as the other.
        let bytes = question.asked.len() + 2 * (kept.open.len() + kept.close.len());
        OVERHEAD + u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// An answer that is kept: an envelope without its request id.
#[derive(Debug)]
pub struct Kept {
    revisions: Revisions,
    holds: Range<Timestamp>,
    open: Bytes,
    close: Bytes,
    etag: HeaderValue,
    deflated: OnceLock<Deflated>,
}

impl Memory {
    /// Nothing is remembered yet; this many processors will ask.
    #[must_use]
    pub fn seeing(processors: usize) -> Self {
        let (hits, misses, refusals) = Default::default();
        Self { callers: Cache::new(CALLERS), answers: sharded(KEPT, ANSWERS, ByBytes, processors), hits, misses, refusals }
    }

    /// How it went so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let [hits, misses, refusals] = [&self.hits, &self.misses, &self.refusals].map(|count| count.load(Ordering::Relaxed));
        Tally { hits, misses, refusals, bytes: self.answers.weight() }
    }

    /// Who comes with a token, if that was read from the state the database is in.
    pub(super) fn caller(&self, presented: Presented<&str, &str>, version: Version, now: Timestamp) -> Option<Arc<Identified>> {
        let remembered = self.callers.get(&presented.digest())?;
        (remembered.version == version && remembered.identified.is_valid(now)).then(|| remembered.identified.clone())
    }

    /// Remembers who comes with a token; `version` is the database's from before that was read.
    pub(super) fn remember_caller(&self, presented: Presented<&str, &str>, version: Version, identified: Arc<Identified>) {
        self.callers.insert(presented.digest(), Arc::new(Remembered { version, identified }));
    }

    /// The answer to a question, if it is kept, holds at this time, and nothing it is made of has changed.
    pub(super) fn answer(&self, question: &Question, basis: Basis, revisions: Revisions, now: Timestamp) -> Option<Arc<Kept>> {
        let kept = self.answers.get(question);
        let kept = kept.filter(|kept| basis.is_unchanged(kept.revisions, revisions) && kept.holds.contains(&now));
        let count = if kept.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        kept
    }

    /// Keeps an answer under the revisions that its caller was identified with, for as long as it holds.
    pub(super) fn keep(&self, question: Question, answer: &Answer, revisions: Revisions, holds: Range<Timestamp>) -> Arc<Kept> {
        let (open, close) = envelope::parts(answer);
        let kept = Kept { revisions, holds, etag: etag(answer), open: open.into(), close: close.into(), deflated: OnceLock::new() };
        let kept = Arc::new(kept);
        self.answers.insert(question.clone(), kept.clone());
        if !self.answers.contains_key(&question) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        kept
    }
}

impl Question {
    /// The question that a request asks, where answers to it are kept.
    pub(super) fn of(operation: &Operation, identified: &Identified, head: &Head) -> Option<(Self, Basis)> {
        let basis = operation.kept.filter(|_| !head.is_tool_call)?;
        let mut asked = String::new();
        // The token of a link is who asks, not what is asked.
        let is_asked = |(name, _): &&(String, String)| operation.surface != Surface::Guest || name != TOKEN;
        for (name, value) in head.path.iter().filter(is_asked).chain(&head.query) {
            // Lengths, so that no value can be read as the beginning of another.
            // Writing to a string cannot fail.
            let _ = write!(asked, "{}:{name}{}:{value}", name.len(), value.len());
        }
        let access = &identified.access;
        let question = Self {
            organization: identified.organization.id,
            operation: operation.id,
            permissions: access.permissions,
            limited: access.reach.is_limited().then_some(access.credential),
            asked: asked.into(),
        };
        Some((question, basis))
    }
}

impl Kept {
    /// The body, in three pieces.
    #[must_use]
    pub fn pieces(&self, request_id: Uuid) -> [Bytes; 3] {
        [self.open.clone(), request_id.to_string().into(), self.close.clone()]
    }

    /// The body, compressed, in two pieces.
    #[must_use]
    pub fn gzip(&self, request_id: Uuid) -> [Bytes; 2] {
        let deflated = self.deflated.get_or_init(|| Deflated::new(&self.open));
        let end = [request_id.to_string().as_bytes(), &self.close].concat();
        deflated.gzip(&end)
    }

    /// How long the body is, without its request id.
    #[must_use]
    pub fn length(&self) -> usize {
        self.open.len() + self.close.len()
    }

    /// Names the state of what is answered.
    #[must_use]
    pub fn etag(&self) -> HeaderValue {
        self.etag.clone()
    }
}

impl Presented<&str, &str> {
    /// Tells it from all others. What is good as the one is not as the other, so they never stand for one another.
    fn digest(self) -> [u8; 32] {
        let (how, token) = match self {
            Self::Bearer(token) => (b'b', token),
            Self::Link(token) => (b'l', token),
        };
        Sha256::new_with_prefix([how]).chain_update(token).finalize().into()
    }
}

/// Names the data of an answer: the same for the same data, whatever the request.
pub(super) fn etag(answer: &Answer) -> HeaderValue {
    let pagination = answer.pagination.map(|pagination| serde_json::to_string(&pagination).unwrap_or_default());
    tag(&[&answer.data, pagination.as_deref().unwrap_or_default()])
}

/// An `ETag` for these texts together.
#[must_use]
pub fn tag(texts: &[&str]) -> HeaderValue {
    let hash = texts.iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash[..16]));
    // What base64 writes is always the value of a header.
    HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static(""))
}
