//! Signs wallet passes with a certificate that Apple issued for a pass type.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cms::cert::{CertificateChoices, IssuerAndSerialNumber};
use cms::content_info::{CmsVersion, ContentInfo};
use cms::signed_data::{
    CertificateSet, EncapsulatedContentInfo, SignedData, SignerIdentifier, SignerInfo, SignerInfos,
};
use jiff::Timestamp;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::SigningKey;
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::attr::{Attribute, AttributeValue};
use x509_cert::der::asn1::{Null, ObjectIdentifier, OctetString, SetOfVec, UtcTime};
use x509_cert::der::{self, Any, DateTime, Decode as _, Encode, EncodeValue, Tagged};
use x509_cert::spki::AlgorithmIdentifierOwned;

/// Identifiers of attributes in the subject of a certificate. `USER_ID` identifies the pass type
/// (RFC 4519, 2.39), and `UNIT` the team (RFC 4519, 2.20).
const USER_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.1");
const UNIT: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.11");
/// Object identifiers of content types, signed attributes and algorithms (RFC 5652, 4 and 11; RFC
/// 5754, 2.2 and 3.2).
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");
const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");
const SIGNING_TIME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.5");
const SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// Maximum size of the certificate file in bytes.
const MAX_BYTES: usize = 65_536;

/// The certificate and the key that sign passes. The pass type and the team come from the subject
/// of the certificate.
pub struct PassSigner {
    /// The pass type for which the certificate was issued.
    pub pass_type: String,
    /// The identifier of the Apple developer team that owns the pass type.
    pub team: String,
    certificate: Certificate,
    /// Other certificates in the file, such as Apple's intermediate certificate.
    chain: Vec<Certificate>,
    key: Arc<dyn SigningKey>,
    /// Certificate, chain and key in PEM, with which this service authenticates itself to Apple's
    /// push service.
    identity: String,
}

impl fmt::Debug for PassSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassSigner")
            .field("pass_type", &self.pass_type)
            .field("team", &self.team)
            .finish_non_exhaustive()
    }
}

impl PassSigner {
    /// Reads a PEM file with a certificate, its key, and optionally its chain. The error describes
    /// the fault of the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let reported = |error: String| format!("--pass-certificate: {}: {error}", path.display());
        let text = std::fs::read(path).map_err(|error| reported(error.to_string()))?;
        Self::parse(&text).map_err(reported)
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("is larger than {MAX_BYTES} bytes"));
        }
        let key_der = PrivateKeyDer::from_pem_slice(text).map_err(
            |_| "contains no private key in PEM, or one that is encrypted with a password",
        )?;
        let key = any_supported_type(&key_der)
            .map_err(|_| "its private key is not of a kind that can sign")?;
        if key
            .choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])
            .is_none()
        {
            return Err("its private key is not an RSA key; passes are signed with RSA".into());
        }
        let own = key
            .public_key()
            .ok_or("its private key does not contain its public key")?;
        let mut chain = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate =
                certificate.map_err(|_| "contains a certificate that is not valid PEM")?;
            chain.push(
                Certificate::from_der(&certificate).map_err(|error| {
                    format!("contains a certificate that cannot be read: {error}")
                })?,
            );
        }
        if chain.is_empty() {
            return Err("contains no certificate in PEM".into());
        }
        let is_own = |certificate: &Certificate| {
            let public = certificate.tbs_certificate.subject_public_key_info.to_der();
            public.is_ok_and(|public| public.as_slice() == own.as_ref())
        };
        let place = chain
            .iter()
            .position(is_own)
            .ok_or("none of its certificates belongs to its private key")?;
        let certificate = chain.swap_remove(place);
        let identity = identity(&certificate, &chain, &key_der)
            .map_err(|error| format!("contains a certificate that cannot be written: {error}"))?;
        let pass_type = named(&certificate, USER_ID)
            .ok_or("its certificate names no pass type (UID of the subject)")?;
        let team =
            named(&certificate, UNIT).ok_or("its certificate names no team (OU of the subject)")?;
        Ok(Self {
            pass_type,
            team,
            certificate,
            chain,
            key,
            identity,
        })
    }

    /// Returns whether the certificate is valid at this time.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        let validity = self.certificate.tbs_certificate.validity;
        let now = since_epoch(now);
        validity.not_before.to_unix_duration() <= now
            && now <= validity.not_after.to_unix_duration()
    }

    /// Returns certificate, chain and key in PEM, in the order in which TLS requires them.
    pub(super) fn identity(&self) -> &[u8] {
        self.identity.as_bytes()
    }

    /// Signs a text. Returns the detached signature, encoded in DER, with the certificates that a
    /// verifier needs (RFC 5652, 5).
    pub fn sign(&self, text: &[u8], now: Timestamp) -> Result<Vec<u8>, String> {
        self.signed(text, now)
            .map_err(|error| error.to_string())?
            .ok_or_else(|| "the private key could not sign the pass".into())
    }

    fn signed(&self, text: &[u8], now: Timestamp) -> der::Result<Option<Vec<u8>>> {
        let time = UtcTime::from_date_time(DateTime::from_unix_duration(since_epoch(now))?)?;
        let attributes = SetOfVec::try_from(vec![
            attribute(CONTENT_TYPE, &DATA)?,
            attribute(SIGNING_TIME, &time)?,
            attribute(
                MESSAGE_DIGEST,
                &OctetString::new(Sha256::digest(text).to_vec())?,
            )?,
        ])?;
        let signer = self.key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let Some(signature) =
            signer.and_then(|signer| signer.sign(&attributes.to_der().ok()?).ok())
        else {
            return Ok(None);
        };
        let sha_256 = AlgorithmIdentifierOwned {
            oid: SHA_256,
            parameters: None,
        };
        let issued = &self.certificate.tbs_certificate;
        let information = SignerInfo {
            version: CmsVersion::V1,
            sid: SignerIdentifier::IssuerAndSerialNumber(IssuerAndSerialNumber {
                issuer: issued.issuer.clone(),
                serial_number: issued.serial_number.clone(),
            }),
            digest_alg: sha_256.clone(),
            signed_attrs: Some(attributes),
            signature_algorithm: AlgorithmIdentifierOwned {
                oid: RSA,
                parameters: Some(Any::from(Null)),
            },
            signature: OctetString::new(signature)?,
            unsigned_attrs: None,
        };
        let certificates = [&self.certificate]
            .into_iter()
            .chain(&self.chain)
            .cloned()
            .map(CertificateChoices::Certificate);
        let content = SignedData {
            version: CmsVersion::V1,
            digest_algorithms: SetOfVec::try_from(vec![sha_256])?,
            encap_content_info: EncapsulatedContentInfo {
                econtent_type: DATA,
                econtent: None,
            },
            certificates: Some(CertificateSet(SetOfVec::try_from(
                certificates.collect::<Vec<_>>(),
            )?)),
            crls: None,
            signer_infos: SignerInfos(SetOfVec::try_from(vec![information])?),
        };
        ContentInfo {
            content_type: SIGNED_DATA,
            content: Any::encode_from(&content)?,
        }
        .to_der()
        .map(Some)
    }
}

/// Formats certificates and a key as PEM. The signer's certificate comes first.
fn identity(
    own: &Certificate,
    chain: &[Certificate],
    key: &PrivateKeyDer<'_>,
) -> der::Result<String> {
    let mut pem = String::new();
    for certificate in [own].into_iter().chain(chain) {
        pem += &section("CERTIFICATE", &certificate.to_der()?);
    }
    let label = match key {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    Ok(pem + &section(label, key.secret_der()))
}

fn section(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// Builds an attribute that the signature covers (RFC 5652, 5.3).
fn attribute(oid: ObjectIdentifier, value: &(impl EncodeValue + Tagged)) -> der::Result<Attribute> {
    Ok(Attribute {
        oid,
        values: SetOfVec::try_from(vec![AttributeValue::encode_from(value)?])?,
    })
}

/// Returns the attribute `oid` of a certificate's subject; `None` if the subject lacks it.
fn named(certificate: &Certificate, oid: ObjectIdentifier) -> Option<String> {
    let names = certificate
        .tbs_certificate
        .subject
        .0
        .iter()
        .flat_map(|names| names.0.iter());
    let value = names
        .into_iter()
        .find(|name| name.oid == oid)?
        .value
        .value();
    std::str::from_utf8(value)
        .ok()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

fn since_epoch(now: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_pass_certificate_is_refused_with_a_reason() {
        let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
        for (text, reported) in [
            (String::new(), "no private key"),
            ("not PEM".into(), "no private key"),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE \
                    KEY-----\n"
                    .into(),
                "encrypted with a password",
            ),
            (key, "is not an RSA key"),
            ("x".repeat(MAX_BYTES + 1), "larger than 65536 bytes"),
        ] {
            let error = PassSigner::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(reported), "{error}");
        }
        let error = PassSigner::read(Path::new("/nowhere/pass.pem")).unwrap_err();
        assert!(
            error.starts_with("--pass-certificate: /nowhere/pass.pem: "),
            "{error}"
        );
    }
}
