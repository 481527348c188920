//! Signed URLs of review photos. The platform stores the photos. Readers of a review get
//! short-lived URLs of this server, and `files.rs` redirects requests for these URLs to the
//! platform.
//!
//! A URL names the organization, the review and the position of the photo in the review. Its
//! signature covers the organization, the review, the time of expiry and the photo's storage key,
//! which is not part of the URL. If the platform replaces the photo at that position, the key
//! changes. The signature then no longer matches, so the URL stops working.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::ids::Ids;
use engine::values;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;
use store::{Json, Store, Transaction};
use uuid::Uuid;

use super::RecordKind;

/// Time from the signing of a photo's URL until the URL expires.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// The name under which the table `secret` stores the secret that signs the URLs of photos.
const SECRET_NAME: &str = "photo_addresses";
/// Length of the secret in bytes: the output length of SHA-256.
const SECRET_LENGTH: usize = 32;

store::statements! {
    /// Selects a secret of this database by its name.
    SECRET = "select value from secret where name = ?1";
    /// Stores a secret under a name, unless another node has already stored one under this name.
    INSERT_SECRET = "insert into secret (name, value) values (?1, ?2) on conflict do nothing";
    /// Selects the document of a review, without a check of the caller's access.
    REVIEW = "select r.doc from record r join organization o on o.id = r.organization_id
        where r.organization_id = ?1 and r.kind = ?2 and r.id = ?3 and o.erased_at is null";
}

/// Base URL of the photos of reviews, without a trailing slash. A review names each photo by a key.
/// The photo's URL is this URL followed by the key, unless the key is a URL itself.
#[derive(Debug, Clone)]
pub struct FilesUrl(pub String);

/// Signs the URLs of review photos, and verifies the signatures of requested URLs. The secret is
/// stored in the database, so every node accepts URLs that another node has signed.
#[derive(Clone)]
pub struct PhotoSigner(Hmac<Sha256>);

/// Omits the secret, so that no log contains it.
impl fmt::Debug for PhotoSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PhotoSigner(…)")
    }
}

/// The data that the signature in a photo's URL covers.
#[derive(Debug, Clone, Copy)]
struct SignedPhoto<'k> {
    organization: Uuid,
    review: Uuid,
    key: &'k str,
    /// Time of expiry, in Unix seconds. The server refuses the photo's URL from this second on.
    expires: i64,
}

/// The parts of the signed URL of a review photo, as a request has sent them. The signature has not
/// been verified yet.
#[derive(Debug, Clone)]
pub struct PhotoAddress {
    /// The organization to which the review belongs.
    pub organization: Uuid,
    pub review: Uuid,
    /// The photo's index among the photos of the review, from 0.
    pub position: usize,
    /// Time of expiry, in Unix seconds.
    pub expires: i64,
    /// The signature over the other parts of the URL and the photo's storage key.
    pub signature: String,
}

/// The fields of a review that this module reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewPhotos {
    #[serde(default)]
    photo_keys: Option<Vec<String>>,
}

impl PhotoSigner {
    /// Loads the signer's secret from the database. The first node that finds no secret creates it.
    pub async fn open(store: &Store, ids: &Ids) -> Result<Self> {
        let secret = if let Some(secret) = store.read(secret).await? {
            secret
        } else {
            let new_secret = ids.secret::<SECRET_LENGTH>().to_vec();
            store.write(move |tx| store_secret(tx, new_secret)).await?
        };
        Self::with(&secret)
    }

    fn with(secret: &[u8]) -> Result<Self> {
        Hmac::new_from_slice(secret)
            .map(Self)
            .map_err(Error::internal)
    }

    /// Returns a signer for the given purpose, such as tokens of wallet passes or addresses of
    /// guests' files. The secret of the returned signer is derived from the secret of this signer
    /// and the purpose, so a signature for one purpose is not valid for another.
    pub(crate) fn signer(&self, purpose: &'static str) -> Result<AddressSigner> {
        // The derived secret is the MAC of the purpose. The message that a photo's signature covers
        // is always longer than a purpose, so no signature of a photo equals a derived secret.
        let secret = self.0.clone().chain_update(purpose).finalize().into_bytes();
        Hmac::new_from_slice(&secret)
            .map(AddressSigner)
            .map_err(Error::internal)
    }

    fn mac(&self, photo: SignedPhoto<'_>) -> Hmac<Sha256> {
        // The signature covers these four values, one after the other. Only the key has a variable
        // length, and the key is last. So the signatures of two photos never cover the same bytes.
        let SignedPhoto {
            organization,
            review,
            key,
            expires,
        } = photo;
        let mac = self
            .0
            .clone()
            .chain_update(organization.as_bytes())
            .chain_update(review.as_bytes());
        mac.chain_update(expires.to_be_bytes()).chain_update(key)
    }

    fn sign(&self, photo: SignedPhoto<'_>) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(photo).finalize().into_bytes())
    }

    fn is_signed(&self, photo: SignedPhoto<'_>, signature: &str) -> bool {
        let tag = URL_SAFE_NO_PAD.decode(signature);
        tag.is_ok_and(|tag| self.mac(photo).verify_slice(&tag).is_ok())
    }

    /// Returns the storage key of the photo that a signed URL names. Returns `None` if the
    /// signature is wrong, the URL has expired, or the photo no longer exists.
    pub fn find(
        &self,
        tx: &mut Transaction<'_>,
        address: &PhotoAddress,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let PhotoAddress {
            organization,
            review,
            position,
            expires,
            signature,
        } = address;
        if now.as_second() >= *expires {
            return Ok(None);
        }
        let Some(row) = tx.row(
            &REVIEW,
            &values![organization, RecordKind::Review.as_ref(), review],
        )?
        else {
            return Ok(None);
        };
        let Json(ReviewPhotos { photo_keys }) = row.get(0)?;
        let key = photo_keys.unwrap_or_default().into_iter().nth(*position);
        Ok(key.filter(|key| {
            self.is_signed(
                SignedPhoto {
                    organization: *organization,
                    review: *review,
                    key,
                    expires: *expires,
                },
                signature,
            )
        }))
    }
}

/// Signs and verifies the URLs of one purpose, such as photos of reviews, with a secret for this
/// purpose alone.
pub(crate) struct AddressSigner(Hmac<Sha256>);

impl AddressSigner {
    /// Returns the signature of a URL that consists of these parts. The signature covers the parts
    /// without separators. So each part must have the same length in every URL that this signer
    /// signs; otherwise different parts could have the same signature.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(parts).finalize().into_bytes())
    }

    /// Returns whether a signature is valid for a URL that consists of these parts.
    pub(crate) fn is_signed(&self, parts: &[&[u8]], signature: &str) -> bool {
        URL_SAFE_NO_PAD
            .decode(signature)
            .is_ok_and(|tag| self.mac(parts).verify_slice(&tag).is_ok())
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        parts.iter().fold(self.0.clone(), Hmac::chain_update)
    }
}

fn secret(tx: &mut Transaction<'_>) -> Result<Option<Vec<u8>>> {
    Ok(tx
        .row(&SECRET, &values![SECRET_NAME])?
        .map(|row| row.get(0))
        .transpose()?)
}

/// Stores a secret unless another node has already stored one. Returns the stored secret.
fn store_secret(tx: &mut Transaction<'_>, secret_bytes: Vec<u8>) -> Result<Vec<u8>> {
    tx.execute(
        &INSERT_SECRET,
        &values![SECRET_NAME, store::Value::Bytes(secret_bytes)],
    )?;
    secret(tx)?.ok_or_else(|| Error::internal("the secret for photo addresses is missing"))
}

/// Returns a signed URL for each photo of a review, in the order of `keys`, the review's list of
/// photo keys.
pub(super) fn addresses(
    context: &Context<'_, '_>,
    review: Uuid,
    keys: Option<&Value>,
) -> Result<Vec<Value>> {
    let signer = context.extension::<PhotoSigner>()?;
    let organization = context.organization.id;
    let expires = context
        .now()
        .checked_add(LIFETIME)
        .unwrap_or(Timestamp::MAX)
        .as_second();
    let address = |(position, key): (usize, &Value)| {
        let signature = signer.sign(SignedPhoto {
            organization,
            review,
            key: key.as_str()?,
            expires,
        });
        let base = context.public_url();
        Some(Value::from(format!(
            "{base}/files/{organization}/{review}/{position}\
                ?expires={expires}&signature={signature}"
        )))
    };
    Ok(keys
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
        .filter_map(address)
        .collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PHOTO: SignedPhoto<'static> = SignedPhoto {
        organization: Uuid::from_u128(1),
        review: Uuid::from_u128(2),
        key: "a/b.jpg",
        expires: 1_795_253_400,
    };

    fn photos(secret: u8) -> PhotoSigner {
        PhotoSigner::with(&[secret; SECRET_LENGTH]).unwrap()
    }

    #[test]
    fn a_signature_is_valid_only_for_its_photo() {
        let photos = photos(1);
        let signature = photos.sign(PHOTO);
        assert!(photos.is_signed(PHOTO, &signature));
        for other in [
            SignedPhoto {
                organization: Uuid::from_u128(3),
                ..PHOTO
            },
            SignedPhoto {
                review: Uuid::from_u128(3),
                ..PHOTO
            },
            SignedPhoto {
                organization: PHOTO.review,
                review: PHOTO.organization,
                ..PHOTO
            },
            SignedPhoto {
                key: "a/b.jp",
                ..PHOTO
            },
            SignedPhoto { key: "", ..PHOTO },
            SignedPhoto {
                expires: PHOTO.expires + 1,
                ..PHOTO
            },
        ] {
            assert!(!photos.is_signed(other, &signature), "{other:?}");
        }
    }

    #[test]
    fn signatures_depend_on_the_secret_of_the_database() {
        let signature = photos(1).sign(PHOTO);
        assert!(!photos(2).is_signed(PHOTO, &signature));
        assert_eq!(photos(1).sign(PHOTO), signature, "on every node");
        assert_eq!(format!("{:?}", photos(1)), "PhotoSigner(…)");
    }

    #[test]
    fn each_purpose_signs_with_its_own_secret() {
        let (one, other) = (
            photos(1).signer("one").unwrap(),
            photos(1).signer("other").unwrap(),
        );
        let signature = one.sign(&[b"a", b"b"]);
        assert!(
            one.is_signed(&[b"a", b"b"], &signature) && !one.is_signed(&[b"a", b"c"], &signature)
        );
        assert!(
            !other.is_signed(&[b"a", b"b"], &signature)
                && !photos(2)
                    .signer("one")
                    .unwrap()
                    .is_signed(&[b"a", b"b"], &signature)
        );
        assert!(!photos(1).is_signed(PHOTO, &one.sign(&[b"one"])));
    }

    #[test]
    fn invalid_signatures_are_refused() {
        let signature = photos(1).sign(PHOTO);
        let cut = &signature[..signature.len() - 1];
        let padded = format!("{signature}=");
        for text in [
            "",
            "AA",
            cut,
            &padded,
            "not base64!",
            &signature.to_uppercase(),
            &"A".repeat(43),
        ] {
            assert!(!photos(1).is_signed(PHOTO, text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_signature_is_refused(position in 0_usize..43, character in "[A-Za-z0-9_-]") {
            let signature = photos(1).sign(PHOTO);
            let mut changed = signature.clone();
            changed.replace_range(position..=position, &character);
            prop_assert_eq!(photos(1).is_signed(PHOTO, &changed), changed == signature);
        }
    }
}
