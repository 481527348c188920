//! Tokens: how they are made, stored as a hash, and assigned to an organization.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::{Statement, Transaction, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::ids::Ids;

/// The digits of an organization's id in a token.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE: u128 = DIGITS.len() as u128;
/// The number of digits of an organization's id in a token.
const NAME: usize = 22;
/// The number of characters of a token's secret part.
const SECRET: usize = 43;

/// Returns a new token that belongs to no organization: the prefix and 256 random bits.
#[must_use]
pub fn token(prefix: &str, ids: &Ids) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(ids.secret::<32>()))
}

/// Returns a new token that contains its organization's id, so that it is looked up only there.
#[must_use]
pub fn token_of(prefix: &str, organization: Uuid, ids: &Ids) -> String {
    token(&format!("{prefix}{}", written(organization)), ids)
}

/// A token of an organization with a secret that was made elsewhere: 43 characters that nobody can guess.
#[must_use]
pub fn token_with(prefix: &str, organization: Uuid, secret: &str) -> String {
    debug_assert_eq!(secret.len(), SECRET, "a token has a secret of one length");
    format!("{prefix}{}{secret}", written(organization))
}

/// Returns the organization in a token with this prefix. `None` for tokens made by [`token`].
#[must_use]
pub fn named(prefix: &str, token: &str) -> Option<Uuid> {
    let rest = token.strip_prefix(prefix)?;
    if rest.len() != NAME + SECRET {
        return None;
    }
    rest.get(..NAME)?
        .bytes()
        .try_fold(0_u128, digit_more)
        .map(Uuid::from_u128)
}

/// Returns the organization that a token names, if `has` finds the token's hash there.
pub fn owner(
    tx: &mut Transaction<'_>,
    (prefix, token): (&str, &str),
    has: &'static Statement,
) -> Result<Option<Uuid>> {
    let Some(organization) = named(prefix, token) else {
        return Ok(None);
    };
    let row = tx.row(has, &[organization.into(), Value::Bytes(hash(token))])?;
    Ok(row.map(|_| organization))
}

/// Returns an organization's id in base 62, always with the same number of digits.
fn written(organization: Uuid) -> String {
    let (mut left, mut name) = (organization.as_u128(), [b'0'; NAME]);
    for digit in name.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(left % BASE).unwrap_or_default()];
        left /= BASE;
    }
    name.iter().map(|digit| char::from(*digit)).collect()
}

/// Appends a digit to a number; `None` if the digit is unknown or the number is too large.
fn digit_more(number: u128, digit: u8) -> Option<u128> {
    let value = DIGITS.iter().position(|known| *known == digit)?;
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
            prop_assert_eq!(named("sk_", &token), Some(organization));
            prop_assert_eq!(token.len(), 3 + NAME + SECRET);
            prop_assert_eq!(named("at_", &token), None);
        }

        #[test]
        fn only_a_well_formed_token_names_an_organization(token in ".{0,80}") {
            if let Some(organization) = named("", &token) {
                prop_assert_eq!(written(organization), token.get(..NAME).unwrap());
            }
        }
    }

    #[test]
    fn tokens_without_an_organization_name_none() {
        assert_eq!(named("sk_", &token("sk_", &Ids::default())), None);
        assert_eq!(
            named("", &"z".repeat(NAME + SECRET)),
            None,
            "there is no such id"
        );
        assert_eq!(named("", &"é".repeat(NAME + SECRET)), None);
    }
}
