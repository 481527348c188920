//! Tokens: what is shown, what of it is stored, and whose it says that it is.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::{Statement, Transaction, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::ids::Ids;

/// The digits in which tokens name organizations.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE: u128 = DIGITS.len() as u128;
/// How many of them.
const NAME: usize = 22;
/// Characters of what nobody can guess.
const SECRET: usize = 43;

/// A new token of no organization: the prefix and 256 bits nobody can guess.
#[must_use]
pub fn token(prefix: &str, ids: &Ids) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(ids.secret::<32>()))
}

/// A new token of an organization, which it names: so it is looked for there and nowhere else.
#[must_use]
pub fn token_of(prefix: &str, organization: Uuid, ids: &Ids) -> String {
    token(&format!("{prefix}{}", written(organization)), ids)
}

/// The organization that a token with this prefix names. One that [`token`] has made names none.
#[must_use]
pub fn named(prefix: &str, token: &str) -> Option<Uuid> {
    let rest = token.strip_prefix(prefix)?;
    if rest.len() != NAME + SECRET {
        return None;
    }
    rest.get(..NAME)?.bytes().try_fold(0_u128, digit_more).map(Uuid::from_u128)
}

/// The organization that has a token: where `has` finds its hash in the one that it names, or where `owner` finds it, if it names
/// none.
pub fn owner(
    tx: &mut Transaction<'_>,
    (prefix, token): (&str, &str),
    has: &'static Statement,
    owner: &'static Statement,
) -> Result<Option<Uuid>> {
    let hash = Value::Bytes(hash(token));
    let row = match named(prefix, token) {
        Some(organization) => tx.row(has, &[organization.into(), hash])?,
        None => tx.row(owner, &[hash])?,
    };
    Ok(row.map(|row| row.get(0)).transpose()?)
}

/// What an organization is called in tokens: its id, in as many digits always.
fn written(organization: Uuid) -> String {
    let (mut left, mut name) = (organization.as_u128(), [b'0'; NAME]);
    for digit in name.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(left % BASE).unwrap_or_default()];
        left /= BASE;
    }
    name.iter().map(|digit| char::from(*digit)).collect()
}

/// A number, with one more digit.
fn digit_more(number: u128, digit: u8) -> Option<u128> {
    let value = DIGITS.iter().position(|known| *known == digit)?;
    number.checked_mul(BASE)?.checked_add(value as u128)
}

/// What of a token is stored.
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
        fn nothing_else_names_one(token in ".{0,80}") {
            if let Some(organization) = named("", &token) {
                prop_assert_eq!(written(organization), token.get(..NAME).unwrap());
            }
        }
    }

    #[test]
    fn tokens_of_before_name_no_organization() {
        assert_eq!(named("sk_", &token("sk_", &Ids::default())), None);
        assert_eq!(named("", &"z".repeat(NAME + SECRET)), None, "there is no such id");
        assert_eq!(named("", &"é".repeat(NAME + SECRET)), None);
    }
}
