//! JSON as strictly as the interface reads it.
//!
//! `serde_json` keeps the last of duplicate keys and lets U+0000 through in keys, and neither may be guessed about: both
//! are refused here. U+0000 in a text is an issue of its field ([`null_characters`]). Numbers without a fraction become integers, because `1.0` may be written for `1`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::error::Step;

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

fn clean<E: serde::de::Error>(key: String) -> Result<String, E> {
    if key.contains('\0') { Err(E::custom("U+0000 is not allowed in a key")) } else { Ok(key) }
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

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
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

/// Where a value has texts with U+0000 in them, which no database keeps: `found` is given the path of each.
pub fn null_characters(value: &Value, found: &mut impl FnMut(Vec<Step>)) {
    // Nearly always there is none, and then no path is written.
    if has_null(value) {
        tell_nulls(value, &mut Vec::new(), found);
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

fn tell_nulls(value: &Value, path: &mut Vec<Step>, found: &mut impl FnMut(Vec<Step>)) {
    let mut below = |step: Step, value: &Value| {
        path.push(step);
        tell_nulls(value, path, found);
        path.pop();
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| below(index.into(), item)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| below(name.as_str().into(), field)),
        Value::String(text) if text.contains('\0') => found(path.clone()),
        _ => {}
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
            (r#"{"\u0000":1}"#, "U+0000"),
            (r#"{"a":[{"b\u0000":"\u0000"}]}"#, "U+0000"),
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
    fn texts_with_a_null_character_are_told_by_their_paths() {
        let told = |text: &str| {
            let mut paths = Vec::new();
            null_characters(&parse(text.as_bytes()).unwrap(), &mut |path| paths.push(json!(path)));
            json!(paths)
        };
        assert_eq!(told(r#"{"a":"x","b":[1,null,"y"]}"#), json!([]));
        assert_eq!(told(r#"{"a":"\u0000","b":["y",{"c":"x\u0000y"},"\u0000"],"d":1}"#), json!([["a"], ["b", 1, "c"], ["b", 2]]));
        assert_eq!(told(r#""\u0000""#), json!([[]]));
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
