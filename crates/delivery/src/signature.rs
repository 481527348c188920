//! How a delivery is signed: Standard Webhooks 1.0, symmetric, with every secret that counts at the moment.

use std::time::Duration;
use std::{fmt, mem};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::error::{Error, Result};
use engine::ids::Ids;
use engine::moment::Moment;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// What a secret begins with, so that people and scanners know one when they see it.
const PREFIX: &str = "whsec_";
/// 192 bits: the least the standard asks for, and a length whose base64 needs no padding to get lost in a copy.
const LENGTH: usize = 24;
/// Secrets that may be in their grace time at once: each is one more signature in a header, which must not grow for good.
const MOST_RETIRING: usize = 4;

/// A signing secret, as its owner was shown it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Secret(String);

impl Secret {
    /// One that nobody can guess.
    fn fresh(ids: &Ids) -> Self {
        Self(format!("{PREFIX}{}", STANDARD.encode(ids.secret::<LENGTH>())))
    }
}

/// A secret that gets into a log by accident is not readable there.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_…")
    }
}

/// What a subscription's deliveries are signed with: the secret its owner was shown last, and those before it until their
/// grace time is over. Several, because an owner whose answer got lost rotates again, and what receivers have is then the
/// one before the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    secret: Secret,
    /// The latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retiring: Vec<Retiring>,
}

/// A secret that has been replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Retiring {
    secret: Secret,
    /// The end of its grace time.
    until: Moment,
}

impl Secrets {
    /// One secret, which nobody can guess.
    #[must_use]
    pub fn fresh(ids: &Ids) -> Self {
        Self { secret: Secret::fresh(ids), retiring: Vec::new() }
    }

    /// The newest secret, to show its owner once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.secret.0
    }

    /// Puts a fresh secret in the place of the newest, which goes on signing until its grace time is over. Without any, no
    /// older one signs either: whoever gives none has reason to.
    pub fn rotate(&mut self, ids: &Ids, now: Timestamp, grace: Duration) {
        let secret = mem::replace(&mut self.secret, Secret::fresh(ids));
        let until = Moment(now.checked_add(grace).unwrap_or(Timestamp::MAX));
        self.retiring.insert(0, Retiring { secret, until });
        self.retiring.retain(|old| old.until.0 > now && !grace.is_zero());
        self.retiring.truncate(MOST_RETIRING);
    }

    /// The value of `webhook-signature` for a message that is sent now: its id, its body. A signature a secret, the newest
    /// first, separated by spaces.
    pub(super) fn sign(&self, id: &str, now: Timestamp, body: &str) -> Result<String> {
        let retiring = self.retiring.iter().filter(|old| old.until.0 > now).map(|old| &old.secret);
        let signatures = [&self.secret].into_iter().chain(retiring).map(|secret| sign(secret, id, now.as_second(), body));
        Ok(signatures.collect::<Result<Vec<_>>>()?.join(" "))
    }
}

/// One signature of a message: its id, the moment it is sent (Unix seconds), its body.
fn sign(secret: &Secret, id: &str, timestamp: i64, body: &str) -> Result<String> {
    let encoded = secret.0.strip_prefix(PREFIX).unwrap_or(&secret.0);
    let key = STANDARD.decode(encoded).map_err(|error| Error::internal(format!("a signing secret does not read: {error}")))?;
    let mac = Hmac::<Sha256>::new_from_slice(&key).map_err(Error::internal)?;
    let tag = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body).finalize().into_bytes();
    Ok(format!("v1,{}", STANDARD.encode(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn now() -> Timestamp {
        "2026-11-21T09:30:00Z".parse().unwrap()
    }

    /// The secrets that sign at a moment.
    fn signing<'s>(known: &[&'s Secret], secrets: &Secrets, at: Timestamp) -> Vec<&'s Secret> {
        let header = secrets.sign("a", at, "{}").unwrap();
        let by = |signature: &str| known.iter().copied().find(|secret| sign(secret, "a", at.as_second(), "{}").unwrap() == signature);
        header.split(' ').map(|signature| by(signature).unwrap()).collect()
    }

    #[test]
    fn signs_as_the_standard_does() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
        let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#).unwrap();
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_fresh_secret_is_long_enough_and_signs() {
        let ids = Ids::default();
        let (one, other) = (Secret::fresh(&ids), Secret::fresh(&ids));
        assert_ne!(one.0, other.0);
        let encoded = one.0.strip_prefix("whsec_").unwrap();
        assert_eq!(STANDARD.decode(encoded).unwrap().len(), LENGTH);
        assert_ne!(sign(&one, "a", 1, "{}").unwrap(), sign(&one, "a", 2, "{}").unwrap());
        assert_ne!(sign(&one, "a", 1, "{}").unwrap(), sign(&other, "a", 1, "{}").unwrap());
    }

    #[test]
    fn a_secret_is_not_readable_in_a_log() {
        let secret = Secret::fresh(&Ids::default());
        assert_eq!(format!("{secret:?}"), "whsec_…");
        let mut secrets = Secrets::fresh(&Ids::default());
        secrets.rotate(&Ids::default(), Timestamp::UNIX_EPOCH, HOUR);
        assert!(!format!("{secrets:?}").contains(secrets.reveal()));
    }

    #[test]
    fn a_replaced_secret_signs_until_its_grace_time_is_over() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        let first = secrets.secret.clone();
        assert_eq!(signing(&[&first], &secrets, now()), [&first]);
        secrets.rotate(&ids, now(), HOUR);
        let second = secrets.secret.clone();
        secrets.rotate(&ids, now(), 2 * HOUR);
        let third = secrets.secret.clone();
        let known = [&first, &second, &third];
        let after = |grace: Duration| signing(&known, &secrets, now().checked_add(grace).unwrap());
        assert_eq!(after(Duration::ZERO), [&third, &second, &first]);
        assert_eq!(after(Duration::from_millis(3_599_999)), [&third, &second, &first]);
        assert_eq!(after(HOUR), [&third, &second]);
        assert_eq!(after(2 * HOUR), [&third]);
    }

    #[test]
    fn without_a_grace_time_a_secret_signs_no_more_at_once() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        secrets.rotate(&ids, now(), Duration::ZERO);
        assert!(secrets.retiring.is_empty());
        assert_eq!(secrets.sign("a", now(), "{}").unwrap().split(' ').count(), 1);
    }

    #[test]
    fn a_header_does_not_grow_for_good() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        let first = secrets.secret.clone();
        for _ in 0..10 {
            secrets.rotate(&ids, now(), HOUR);
        }
        assert_eq!(secrets.sign("a", now(), "{}").unwrap().split(' ').count(), 1 + MOST_RETIRING);
        assert!(secrets.retiring.iter().all(|old| old.secret != first));
    }

    #[test]
    fn one_secret_is_stored_as_it_always_was() {
        let stored = r#"{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#;
        let secrets: Secrets = serde_json::from_str(stored).unwrap();
        assert_eq!(serde_json::to_string(&secrets).unwrap(), stored);
        let mut rotated = secrets;
        rotated.rotate(&Ids::default(), now(), HOUR);
        let read: Secrets = serde_json::from_str(&serde_json::to_string(&rotated).unwrap()).unwrap();
        assert_eq!(read, rotated);
    }

    #[test]
    fn what_is_no_secret_does_not_sign() {
        assert!(sign(&Secret("whsec_not base64!".into()), "a", 1, "{}").is_err());
    }
}
