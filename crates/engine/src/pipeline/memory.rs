//! Caches of callers and responses. With them, a read of unchanged data needs no database query.
//!
//! Two kinds of values are cached, and neither is ever outdated:
//!
//! - the caller of a token, as long as the database has the version that the caller was read in
//!   ([`store::Version`]);
//! - the answer of an operation, under the revisions of its organization. The look-up of a caller
//!   also reads the current revisions, and an answer of other revisions is not used. Surfaces get
//!   the answer as text, and code of this process gets a value. The two forms are cached
//!   separately.
//!
//! An operation declares whether its responses are cached, and which data they depend on
//! ([`crate::operation::CacheBasis`]). A response that depends on the time has an end of validity
//! ([`crate::context::Context::limit_validity`]). It is used only between the time of its creation
//! and that end.

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
use super::compressed_prefix::CompressedPrefix;
use super::envelope;
use super::request::Head;
use crate::access::{Credential, Identified, Permissions, Revisions};
use crate::app_state::sharded;
use crate::error::Result;
use crate::operation::{Answer, AnswerText, CacheBasis, LocalValue, Operation, Surface};

/// The maximum number of callers in the cache.
const MAX_CALLERS: usize = 4_096;
/// The maximum size of the cached responses in bytes, including compressed forms.
const MAX_ANSWER_BYTES: u64 = 32 << 20;
/// The expected number of responses in the cache.
const EXPECTED_ANSWERS: usize = 4_096;
/// The approximate size of an entry without its body, in bytes.
const ENTRY_OVERHEAD: u64 = 512;

/// The caches of callers and of responses.
pub struct Memory {
    callers: Cache<[u8; 32], Arc<CachedState>>,
    answers: Cache<AnswerKey, CachedForm, ByBytes>,
    hits: AtomicU64,
    misses: AtomicU64,
    refusals: AtomicU64,
}

/// Statistics of the response cache since the process started, and the current size of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Number of responses that were sent from the cache.
    pub hits: u64,
    /// Number of look-ups that found no valid response.
    pub misses: u64,
    /// Number of responses that were not stored in the cache. They were too large, or other entries
    /// are used more often.
    pub refusals: u64,
    /// Size of the cached responses in bytes.
    pub bytes: u64,
}

/// The token of a request. `B` is the type of a bearer token: text, or the token parsed for
/// look-ups. `L` is the type of a link's token, which is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PresentedCredential<B, L> {
    /// A bearer token.
    Bearer(B),
    /// The token of a guest's link or of a preview's link, from the path of the request.
    Link(L),
}

struct CachedState {
    version: Version,
    identified: Arc<Identified>,
}

/// The key of a cached response: the organization, the request, the caller's permissions and scope,
/// and the form in which the response is stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct AnswerKey {
    organization: Uuid,
    operation: &'static str,
    permissions: Permissions,
    /// The credential of a caller who can access only some properties. Every guest is such a
    /// caller. `None` for other callers, who can all access every property.
    limited: Option<Credential>,
    /// Whether the cache stores the response as a value, for code of this process that calls the
    /// operation. Other responses are stored as text.
    takes_value: bool,
    /// The path and query parameters of the request, as they were sent.
    request: Box<str>,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<AnswerKey, CachedForm> for ByBytes {
    fn weight(&self, key: &AnswerKey, entry: &CachedForm) -> u64 {
        let length = match entry {
            CachedForm::Text(entry) => entry.length(),
            CachedForm::Value(entry) => entry.length,
        };
        // The weight of an answer contains twice the length of its text. An answer that is kept as
        // text may also be kept compressed, and the compressed form is at most about as long as the
        // text. An answer that is kept as a value needs about twice the bytes of its text.
        let bytes = key.request.len() + 2 * length;
        ENTRY_OVERHEAD + u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// A cached answer, as text or as a value.
#[derive(Clone)]
pub(super) enum CachedForm {
    /// An answer as text, for a surface.
    Text(Arc<CachedAnswer>),
    /// An answer as a value, for code of this process.
    Value(Arc<CachedValue>),
}

impl CachedForm {
    fn validity(&self) -> &Validity {
        match self {
            Self::Text(entry) => &entry.validity,
            Self::Value(entry) => &entry.validity,
        }
    }
}

/// The revisions and the period for which a cached answer is valid.
#[derive(Debug)]
struct Validity {
    revisions: Revisions,
    period: Range<Timestamp>,
}

/// A cached answer: an envelope without the request id.
#[derive(Debug)]
pub struct CachedAnswer {
    validity: Validity,
    open: Bytes,
    close: Bytes,
    etag: HeaderValue,
    deflated: OnceLock<CompressedPrefix>,
}

/// A cached answer as a value.
pub(super) struct CachedValue {
    validity: Validity,
    pub(super) value: LocalValue,
    pub(super) etag: HeaderValue,
    /// The length of the answer as text, in bytes.
    length: usize,
}

impl Memory {
    /// Creates empty caches for use by this many processors.
    #[must_use]
    pub fn for_processors(processors: usize) -> Self {
        let (hits, misses, refusals) = Default::default();
        Self {
            callers: Cache::new(MAX_CALLERS),
            answers: sharded(EXPECTED_ANSWERS, MAX_ANSWER_BYTES, ByBytes, processors),
            hits,
            misses,
            refusals,
        }
    }

    /// Returns the statistics of the response cache.
    #[must_use]
    pub fn tally(&self) -> CacheStatistics {
        let [hits, misses, refusals] =
            [&self.hits, &self.misses, &self.refusals].map(|count| count.load(Ordering::Relaxed));
        CacheStatistics {
            hits,
            misses,
            refusals,
            bytes: self.answers.weight(),
        }
    }

    /// Returns the cached caller of a token, if the caller was read in this version of the database
    /// and is still valid at `now`.
    pub(super) fn caller(
        &self,
        presented: PresentedCredential<&str, &str>,
        version: Version,
        now: Timestamp,
    ) -> Option<Arc<Identified>> {
        let cached = self.callers.get(&presented.digest())?;
        (cached.version == version && cached.identified.is_valid(now))
            .then(|| cached.identified.clone())
    }

    /// Caches the caller of a token under a version of the database. Read `version` before the
    /// caller, so that the cached caller is not older than `version`.
    pub(super) fn remember_caller(
        &self,
        presented: PresentedCredential<&str, &str>,
        version: Version,
        identified: Arc<Identified>,
    ) {
        self.callers.insert(
            presented.digest(),
            Arc::new(CachedState {
                version,
                identified,
            }),
        );
    }

    /// Returns a cached response, if it is valid at `now` and the data that it depends on has not
    /// changed.
    pub(super) fn answer(
        &self,
        key: &AnswerKey,
        basis: CacheBasis,
        revisions: Revisions,
        now: Timestamp,
    ) -> Option<CachedForm> {
        let response = self.answers.get(key).filter(|response| {
            let validity = response.validity();
            basis.is_unchanged(validity.revisions, revisions) && validity.period.contains(&now)
        });
        let count = if response.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        count.fetch_add(1, Ordering::Relaxed);
        response
    }

    /// Caches a response. It is valid at the times in `holds`, as long as the organization has
    /// these revisions. The revisions were read together with the caller of the request.
    pub(super) fn store(
        &self,
        key: AnswerKey,
        answer: Answer,
        revisions: Revisions,
        holds: Range<Timestamp>,
    ) -> Result<CachedForm> {
        let value = answer.local_value().filter(|_| key.takes_value);
        let text = answer.into_text()?;
        let validity = Validity {
            revisions,
            period: holds,
        };
        let response = if let Some(value) = value {
            CachedForm::Value(Arc::new(CachedValue {
                validity,
                value,
                etag: etag(&text),
                length: text.data.len(),
            }))
        } else {
            let (open, close) = envelope::parts(&text);
            CachedForm::Text(Arc::new(CachedAnswer {
                validity,
                etag: etag(&text),
                open: open.into(),
                close: close.into(),
                deflated: OnceLock::new(),
            }))
        };
        self.answers.insert(key.clone(), response.clone());
        if !self.answers.contains_key(&key) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        Ok(response)
    }
}

impl AnswerKey {
    /// Returns the cache key of a request, or `None` if responses of the operation are not cached.
    pub(super) fn of(
        operation: &Operation,
        identified: &Identified,
        head: &Head,
    ) -> Option<(Self, CacheBasis)> {
        let basis = operation.cached.filter(|_| !head.is_tool_call)?;
        let mut parameters = String::new();
        // The token of a guest's link is left out of the parameters, because the cache key already
        // contains the caller.
        let is_part_of_key =
            |(name, _): &&(String, String)| operation.surface != Surface::Guest || name != TOKEN;
        for (name, value) in head.path.iter().filter(is_part_of_key).chain(&head.query) {
            // The lengths make the text unambiguous: no two parameter lists give the same text.
            // Writing to a string cannot fail.
            let _ = write!(parameters, "{}:{name}{}:{value}", name.len(), value.len());
        }
        let access = &identified.access;
        let key = Self {
            organization: identified.organization.id,
            operation: operation.id,
            permissions: access.permissions,
            limited: access
                .property_scope
                .is_limited()
                .then_some(access.credential),
            takes_value: head.is_local && !operation.answers_text,
            request: parameters.into(),
        };
        Some((key, basis))
    }
}

impl CachedAnswer {
    /// Returns the body: the text before the request id, the id, and the text after it.
    #[must_use]
    pub fn pieces(&self, request_id: Uuid) -> [Bytes; 3] {
        [
            self.open.clone(),
            request_id.to_string().into(),
            self.close.clone(),
        ]
    }

    /// Returns the body in gzip form. The first chunk is compressed once for all requests. The
    /// second chunk contains the request id.
    #[must_use]
    pub fn gzip(&self, request_id: Uuid) -> [Bytes; 2] {
        let deflated = self
            .deflated
            .get_or_init(|| CompressedPrefix::new(&self.open));
        let end = [request_id.to_string().as_bytes(), &self.close].concat();
        deflated.gzip(&end)
    }

    /// Returns the length of the body without the request id.
    #[must_use]
    pub fn length(&self) -> usize {
        self.open.len() + self.close.len()
    }

    #[must_use]
    pub fn etag(&self) -> HeaderValue {
        self.etag.clone()
    }
}

impl PresentedCredential<&str, &str> {
    /// Returns the cache key of a credential. The key depends on the kind of the credential, so a
    /// bearer token and the token of a guest's link never have the same key.
    fn digest(self) -> [u8; 32] {
        let (kind, token) = match self {
            Self::Bearer(token) => (b'b', token),
            Self::Link(token) => (b'l', token),
        };
        Sha256::new_with_prefix([kind])
            .chain_update(token)
            .finalize()
            .into()
    }
}

/// Returns an `ETag` that depends only on the data of an answer, not on the request.
pub(super) fn etag(answer: &AnswerText) -> HeaderValue {
    let pagination = answer
        .pagination
        .map(|pagination| serde_json::to_string(&pagination).unwrap_or_default());
    tag(&[&answer.data, pagination.as_deref().unwrap_or_default()])
}

/// Returns an `ETag` made from the hash of the concatenated texts.
#[must_use]
pub fn tag(texts: &[&str]) -> HeaderValue {
    let hash = texts
        .iter()
        .fold(Sha256::new(), Sha256::chain_update)
        .finalize();
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash[..16]));
    // Base64 text is always a valid header value.
    HeaderValue::try_from(tag).unwrap_or_else(|_| HeaderValue::from_static(""))
}
