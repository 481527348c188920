//! Creates tokens, hashes them for storage, and finds the organization that a token names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::{Statement, Transaction, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::ids::Ids;

/// The digits of base 62. A token contains the id of its organization in base 62.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE: u128 = DIGITS.len() as u128;
/// The number of digits of an organization's id in a token.
const ID_LENGTH: usize = 22;
/// The number of characters of a token's secret part.
const SECRET_LENGTH: usize = 43;

/// Returns a new token that belongs to no organization: the prefix and 256 random bits.
#[must_use]
pub fn token(prefix: &str, ids: &Ids) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(ids.secret::<32>()))
}

/// Returns a new token that contains the id of its organization. The token is then looked up only
/// in that organization.
#[must_use]
pub fn token_of(prefix: &str, organization: Uuid, ids: &Ids) -> String {
    token(&format!("{prefix}{}", encode(organization)), ids)
}

/// Returns a token of an organization with the given secret of 43 random characters.
#[must_use]
pub fn token_with(prefix: &str, organization: Uuid, secret: &str) -> String {
    debug_assert_eq!(
        secret.len(),
        SECRET_LENGTH,
        "a token has a secret of one length"
    );
    format!("{prefix}{}{secret}", encode(organization))
}

/// Returns the organization whose id a token with this prefix contains. Returns `None` for a token
/// made by [`token`], which contains no such id.
#[must_use]
pub fn organization_of(prefix: &str, token: &str) -> Option<Uuid> {
    let rest = token.strip_prefix(prefix)?;
    if rest.len() != ID_LENGTH + SECRET_LENGTH {
        return None;
    }
    rest.get(..ID_LENGTH)?
        .bytes()
        .try_fold(0_u128, append_digit)
        .map(Uuid::from_u128)
}

/// Returns the organization that a token names, if the statement `has` finds the token's hash in
/// that organization.
pub fn owner(
    tx: &mut Transaction<'_>,
    (prefix, token): (&str, &str),
    has: &'static Statement,
) -> Result<Option<Uuid>> {
    let Some(organization) = organization_of(prefix, token) else {
        return Ok(None);
    };
    let row = tx.row(has, &[organization.into(), Value::Bytes(hash(token))])?;
    Ok(row.map(|_| organization))
}

/// Returns an organization's id in base 62, always with the same number of digits.
fn encode(organization: Uuid) -> String {
    let (mut rest, mut digits) = (organization.as_u128(), [b'0'; ID_LENGTH]);
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(rest % BASE).unwrap_or_default()];
        rest /= BASE;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// Returns `number` times 62 plus the value of `digit`. Returns `None` if `digit` is not a digit of
/// base 62 or the result is too large.
fn append_digit(number: u128, digit: u8) -> Option<u128> {
    let value = DIGITS.iter().position(|other| *other == digit)?;
    number.checked_mul(BASE)?.checked_add(value as u128)
}

/// Returns the hash of a token, which is stored instead of the token.
#[must_use]
pub fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_names_its_organization(organization: u128) {
            let organization = Uuid::from_u128(organization);
            let token = token_of("sk_", organization, &Ids::default());
            prop_assert_eq!(organization_of("sk_", &token), Some(organization));
            prop_assert_eq!(token.len(), 3 + ID_LENGTH + SECRET_LENGTH);
            prop_assert_eq!(organization_of("at_", &token), None);
        }

        #[test]
        fn only_a_well_formed_token_names_an_organization(token in ".{0,80}") {
            if let Some(organization) = organization_of("", &token) {
                prop_assert_eq!(encode(organization), token.get(..ID_LENGTH).unwrap());
            }
        }
    }

    #[test]
    fn tokens_without_an_organization_name_none() {
        assert_eq!(organization_of("sk_", &token("sk_", &Ids::default())), None);
        assert_eq!(
            organization_of("", &"z".repeat(ID_LENGTH + SECRET_LENGTH)),
            None,
            "no id has this form"
        );
        assert_eq!(
            organization_of("", &"é".repeat(ID_LENGTH + SECRET_LENGTH)),
            None
        );
    }
}
