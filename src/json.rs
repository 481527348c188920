//! JSON as strictly as the interface reads it.
//!
//! `serde_json` keeps the last of duplicate keys and lets U+0000 through, and neither may be guessed about: both are
//! refused here. Numbers without a fraction become integers, because `1.0` may be written for `1`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// Reads a whole document; the message says what is wrong with it.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("the body begins with a byte order mark".into());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict.deserialize(&mut deserializer).map_err(|error| format!("the body is not valid JSON: {error}"))?;
    deserializer.end().map_err(|error| format!("the body is not valid JSON: {error}"))?;
    Ok(value)
}

/// A value that was parsed by someone else, held to the same rules.
pub fn normal(value: Value) -> Result<Value, String> {
    Strict.deserialize(value).map_err(|error| error.to_string())
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn clean<E: serde::de::Error>(text: String) -> Result<String, E> {
    if text.contains('\0') { Err(E::custom("U+0000 is not allowed in text")) } else { Ok(text) }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        // Beyond 2^53 a float no longer names one integer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() <= EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            return Ok((number as i64).into());
        }
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        clean(text.to_owned()).map(Value::String)
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        clean(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let key = clean(key)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in one object")));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A fingerprint that does not depend on spacing or on the order of keys.
#[must_use]
pub fn fingerprint(value: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    feed(value, &mut hasher);
    hasher.finalize().into()
}

fn feed(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                feed(item, hasher);
                hasher.update(b",");
            }
            hasher.update(b"]");
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            hasher.update(b"{");
            for (key, item) in entries {
                hasher.update(Value::from(key.as_str()).to_string());
                hasher.update(b":");
                feed(item, hasher);
                hasher.update(b",");
            }
            hasher.update(b"}");
        }
        scalar => hasher.update(scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn refuses_what_would_have_to_be_guessed_about() {
        for (text, reason) in [
            (r#"{"a":1,"a":2}"#, "stands twice"),
            (r#"{"a":{"b":1,"b":1}}"#, "stands twice"),
            (r#"{"a":"\u0000"}"#, "U+0000"),
            (r#"{"\u0000":1}"#, "U+0000"),
            (r#"{"a":"\ud800"}"#, "not valid JSON"),
            ("\u{feff}{}", "byte order mark"),
            ("{} {}", "not valid JSON"),
            ("{", "not valid JSON"),
            ("", "not valid JSON"),
            ("1e999", "not valid JSON"),
        ] {
            let message = parse(text.as_bytes()).unwrap_err();
            assert!(message.contains(reason), "{text}: {message}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(parse(b"[1.0, -2e0, 1.5, 1e300]").unwrap(), json!([1, -2, 1.5, 1e300]));
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_never_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_fingerprint_ignores_the_order_of_keys(keys in prop::collection::hash_map("[a-z]{1,3}", 0..9_i64, 0..6)) {
            let pairs: Vec<_> = keys.into_iter().collect();
            let one: Map<_, _> = pairs.iter().cloned().map(|(k, v)| (k, Value::from(v))).collect();
            let other: Map<_, _> = pairs.iter().rev().cloned().map(|(k, v)| (k, Value::from(v))).collect();
            prop_assert_eq!(fingerprint(&Value::Object(one)), fingerprint(&Value::Object(other)));
        }
    }
}
