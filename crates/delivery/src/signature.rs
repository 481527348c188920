//! Signs deliveries according to Standard Webhooks 1.0. A message has one symmetric signature for
//! each valid secret.

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

/// The prefix of a secret, which lets people and scanners recognize it.
const PREFIX: &str = "whsec_";
/// Length of a secret in bytes. The standard requires at least 192 bits. The base64 form of this
/// length needs no padding, which people could lose when they copy the secret.
const LENGTH: usize = 24;
/// Maximum number of replaced secrets in their grace period. Each of these secrets adds a signature
/// to the header `webhook-signature`, whose size must be limited.
const MAX_RETIRED: usize = 4;

/// A signing secret as text: `whsec_` and the secret's bytes in base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Secret(String);

impl Secret {
    /// Creates a random secret.
    fn fresh(ids: &Ids) -> Self {
        Self(format!(
            "{PREFIX}{}",
            STANDARD.encode(ids.secret::<LENGTH>())
        ))
    }
}

/// Formats the secret without its text, so that logs do not contain it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_…")
    }
}

/// The signing secrets of a subscription: the current one, and replaced ones until their grace
/// periods end. Several replaced secrets may be in their grace period at once: if the response to a
/// rotation is lost, the API client rotates again, and the receiver still uses the secret from
/// before both rotations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    secret: Secret,
    /// Replaced secrets in their grace period, the last replaced one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retiring: Vec<Retiring>,
}

/// A secret that has been replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Retiring {
    secret: Secret,
    /// The end of the secret's grace period.
    until: Moment,
}

impl Secrets {
    /// Creates the secrets of a new subscription: a random current secret, and no replaced secrets.
    #[must_use]
    pub fn fresh(ids: &Ids) -> Self {
        Self {
            secret: Secret::fresh(ids),
            retiring: Vec::new(),
        }
    }

    /// Returns the text of the current secret. The API shows it only in the response that created
    /// the secret.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.secret.0
    }

    /// Replaces the current secret by a new random one. Messages are also signed with the old
    /// secret until its grace period ends. An API client chooses a grace period of zero if a secret
    /// has leaked. Messages are then no longer signed with any older secret.
    pub fn rotate(&mut self, ids: &Ids, now: Timestamp, grace: Duration) {
        let secret = mem::replace(&mut self.secret, Secret::fresh(ids));
        let until = Moment(now.checked_add(grace).unwrap_or(Timestamp::MAX));
        self.retiring.insert(0, Retiring { secret, until });
        self.retiring
            .retain(|old| old.until.0 > now && !grace.is_zero());
        self.retiring.truncate(MAX_RETIRED);
    }

    /// Returns the value of the header `webhook-signature` for a message with this id and body that
    /// is sent at the time `now`. The value has one signature for each secret, the newest secret
    /// first, separated by spaces.
    pub(super) fn sign(&self, id: &str, now: Timestamp, body: &str) -> Result<String> {
        let retiring = self
            .retiring
            .iter()
            .filter(|old| old.until.0 > now)
            .map(|old| &old.secret);
        let signatures = [&self.secret]
            .into_iter()
            .chain(retiring)
            .map(|secret| sign(secret, id, now.as_second(), body));
        Ok(signatures.collect::<Result<Vec<_>>>()?.join(" "))
    }
}

/// Returns the signature of a message with one of the secrets. `timestamp` is the time of sending
/// in Unix seconds.
fn sign(secret: &Secret, id: &str, timestamp: i64, body: &str) -> Result<String> {
    let encoded = secret.0.strip_prefix(PREFIX).unwrap_or(&secret.0);
    let key = STANDARD
        .decode(encoded)
        .map_err(|error| Error::internal(format!("cannot decode a signing secret: {error}")))?;
    let mac = Hmac::<Sha256>::new_from_slice(&key).map_err(Error::internal)?;
    let tag = mac
        .chain_update(format!("{id}.{timestamp}."))
        .chain_update(body)
        .finalize()
        .into_bytes();
    Ok(format!("v1,{}", STANDARD.encode(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn now() -> Timestamp {
        "2026-11-21T09:30:00Z".parse().unwrap()
    }

    /// Returns those of `candidates` with which `secrets` signs a message at the time `at`.
    fn signing<'s>(candidates: &[&'s Secret], secrets: &Secrets, at: Timestamp) -> Vec<&'s Secret> {
        let header = secrets.sign("a", at, "{}").unwrap();
        let by = |signature: &str| {
            candidates
                .iter()
                .copied()
                .find(|secret| sign(secret, "a", at.as_second(), "{}").unwrap() == signature)
        };
        header
            .split(' ')
            .map(|signature| by(signature).unwrap())
            .collect()
    }

    #[test]
    fn the_signature_matches_the_standard_webhooks_example() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
        let signature = sign(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        )
        .unwrap();
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn fresh_secrets_differ_have_full_length_and_sign() {
        let ids = Ids::default();
        let (first, second) = (Secret::fresh(&ids), Secret::fresh(&ids));
        assert_ne!(first.0, second.0);
        let encoded = first.0.strip_prefix("whsec_").unwrap();
        assert_eq!(STANDARD.decode(encoded).unwrap().len(), LENGTH);
        assert_ne!(
            sign(&first, "a", 1, "{}").unwrap(),
            sign(&first, "a", 2, "{}").unwrap()
        );
        assert_ne!(
            sign(&first, "a", 1, "{}").unwrap(),
            sign(&second, "a", 1, "{}").unwrap()
        );
    }

    #[test]
    fn debug_output_hides_secrets() {
        let secret = Secret::fresh(&Ids::default());
        assert_eq!(format!("{secret:?}"), "whsec_…");
        let mut secrets = Secrets::fresh(&Ids::default());
        secrets.rotate(&Ids::default(), Timestamp::UNIX_EPOCH, HOUR);
        assert!(!format!("{secrets:?}").contains(secrets.reveal()));
    }

    #[test]
    fn a_replaced_secret_signs_until_its_grace_period_ends() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        let first = secrets.secret.clone();
        assert_eq!(signing(&[&first], &secrets, now()), [&first]);
        secrets.rotate(&ids, now(), HOUR);
        let second = secrets.secret.clone();
        secrets.rotate(&ids, now(), 2 * HOUR);
        let third = secrets.secret.clone();
        let secrets_in_order = [&first, &second, &third];
        let after = |grace: Duration| {
            signing(
                &secrets_in_order,
                &secrets,
                now().checked_add(grace).unwrap(),
            )
        };
        assert_eq!(after(Duration::ZERO), [&third, &second, &first]);
        assert_eq!(
            after(Duration::from_millis(3_599_999)),
            [&third, &second, &first]
        );
        assert_eq!(after(HOUR), [&third, &second]);
        assert_eq!(after(2 * HOUR), [&third]);
    }

    #[test]
    fn a_secret_without_grace_period_stops_signing_at_once() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        secrets.rotate(&ids, now(), Duration::ZERO);
        assert!(secrets.retiring.is_empty());
        assert_eq!(
            secrets.sign("a", now(), "{}").unwrap().split(' ').count(),
            1
        );
    }

    #[test]
    fn the_number_of_signatures_is_bounded() {
        let ids = Ids::default();
        let mut secrets = Secrets::fresh(&ids);
        let first = secrets.secret.clone();
        for _ in 0..10 {
            secrets.rotate(&ids, now(), HOUR);
        }
        assert_eq!(
            secrets.sign("a", now(), "{}").unwrap().split(' ').count(),
            1 + MAX_RETIRED
        );
        assert!(secrets.retiring.iter().all(|old| old.secret != first));
    }

    #[test]
    fn stored_secrets_read_back_before_and_after_rotation() {
        let stored = r#"{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#;
        let secrets: Secrets = serde_json::from_str(stored).unwrap();
        assert_eq!(serde_json::to_string(&secrets).unwrap(), stored);
        let mut rotated = secrets;
        rotated.rotate(&Ids::default(), now(), HOUR);
        let read: Secrets =
            serde_json::from_str(&serde_json::to_string(&rotated).unwrap()).unwrap();
        assert_eq!(read, rotated);
    }

    #[test]
    fn an_invalid_secret_does_not_sign() {
        assert!(sign(&Secret("whsec_not base64!".into()), "a", 1, "{}").is_err());
    }
}
