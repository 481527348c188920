//! Strict JSON parsing.
//!
//! `serde_json` uses the last of duplicate keys and accepts U+0000 in keys. This parser refuses
//! both, because any guess would lose data. U+0000 in a text is an issue of its field
//! ([`null_characters`]). Numbers without a fraction become integers, because clients may write
//! `1.0` for `1`. If a document is stored as it was sent, a number that would lose digits is an
//! issue of its field ([`overlong_numbers`]).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::error::PathSegment;

/// Parses a complete JSON document. The error is a message for the client.
pub fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("the body begins with a byte order mark".into());
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict
        .deserialize(&mut deserializer)
        .map_err(|error| format!("the body is not valid JSON: {error}"))?;
    deserializer
        .end()
        .map_err(|error| format!("the body is not valid JSON: {error}"))?;
    Ok(value)
}

/// Applies the rules of [`parse`] to a value that another parser returned.
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

fn check_key<E: serde::de::Error>(key: String) -> Result<String, E> {
    if key.contains('\0') {
        Err(E::custom("U+0000 is not allowed in a key"))
    } else {
        Ok(key)
    }
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
        // Beyond 2^53 a float no longer identifies one integer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() <= EXACT {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be whole and in range"
            )]
            return Ok((number as i64).into());
        }
        Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is out of range"))
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
            let key = check_key(key)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key {key:?} occurs twice in one object"
                )));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Calls `on_path` with the path of each text that contains U+0000, which databases cannot store.
pub fn null_characters(value: &Value, on_path: &mut impl FnMut(Vec<PathSegment>)) {
    // Nearly every document is free of U+0000. So `has_null` first searches the document without
    // building paths, which is faster.
    if has_null(value) {
        collect_null_paths(value, &mut Vec::new(), on_path);
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

fn collect_null_paths(
    value: &Value,
    path: &mut Vec<PathSegment>,
    on_path: &mut impl FnMut(Vec<PathSegment>),
) {
    let mut descend = |step: PathSegment, value: &Value| {
        path.push(step);
        collect_null_paths(value, path, on_path);
        path.pop();
    };
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| descend(index.into(), item)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| descend(name.as_str().into(), field)),
        Value::String(text) if text.contains('\0') => on_path(path.clone()),
        _ => {}
    }
}

/// The maximum number of significant digits that a printed double has.
const MAX_DIGITS: usize = 17;

/// Returns the paths of the numbers that neither a 64-bit integer nor a double represents exactly.
/// The document must be valid JSON.
pub(crate) fn overlong_numbers(document: &[u8]) -> Vec<Vec<PathSegment>> {
    let mut paths = Vec::new();
    // The last key of each open object, and the current index of each open list.
    let mut path: Vec<OpenContainer<'_>> = Vec::new();
    let mut position = 0;
    while let Some(byte) = document.get(position) {
        let start = position;
        position += 1;
        match byte {
            b'{' => path.push(OpenContainer::Object(b"")),
            b'[' => path.push(OpenContainer::List(0)),
            b'}' | b']' => drop(path.pop()),
            b',' => {
                if let Some(OpenContainer::List(index)) = path.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                while document.get(position).is_some_and(|byte| *byte != b'"') {
                    position += if document[position] == b'\\' { 2 } else { 1 };
                }
                position += 1;
                let rest = document.get(position..).unwrap_or_default();
                let is_key = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if is_key && let Some(OpenContainer::Object(key)) = path.last_mut() {
                    *key = document.get(start..position).unwrap_or_default();
                }
            }
            b'-' | b'0'..=b'9' => {
                while document.get(position).is_some_and(|byte| {
                    matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
                }) {
                    position += 1;
                }
                if std::str::from_utf8(&document[start..position]).is_ok_and(is_overlong) {
                    paths.push(path.iter().map(OpenContainer::step).collect());
                }
            }
            _ => {}
        }
    }
    paths
}

/// A list or an object that is open at the current position.
enum OpenContainer<'d> {
    /// An object. Contains the JSON text of the key that was read last.
    Object(&'d [u8]),
    /// A list, with the current index.
    List(usize),
}

impl OpenContainer<'_> {
    fn step(&self) -> PathSegment {
        match self {
            Self::Object(key) => PathSegment::Key(serde_json::from_slice(key).unwrap_or_default()),
            Self::List(index) => PathSegment::Index(*index),
        }
    }
}

/// Returns whether a number would lose digits as a 64-bit integer or a double. A number with a
/// fraction may have up to 17 significant digits, because programs print a double with up to 17. A
/// whole number must also have the same digits as the printed double.
fn is_overlong(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return false;
    }
    let (digits, _) = number.split_once(['e', 'E']).unwrap_or((number, ""));
    let count = significant_digits(digits).len();
    let has_fraction = digits
        .split_once('.')
        .is_some_and(|(_, fraction)| fraction.contains(|digit| digit != '0'));
    let is_equal = || {
        let double = number.parse().ok().and_then(Number::from_f64);
        double.is_some_and(|double| {
            let printed = double.to_string();
            let (printed, _) = printed.split_once('e').unwrap_or((&printed, ""));
            significant_digits(printed) == significant_digits(digits)
        })
    };
    count > MAX_DIGITS || (!has_fraction && !is_equal())
}

/// Returns the digits of a number without sign, point and leading or trailing zeros.
fn significant_digits(digits: &str) -> String {
    let plain: String = digits.chars().filter(char::is_ascii_digit).collect();
    plain.trim_matches('0').to_owned()
}

/// Returns a hash of a value. White space and the order of keys do not affect it.
#[must_use]
pub fn fingerprint(value: &Value) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hash_value(value, &mut hasher);
    hasher.finalize().into()
}

fn hash_value(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                hash_value(item, hasher);
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
                hash_value(item, hasher);
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
    fn ambiguous_or_invalid_json_is_refused() {
        for (text, reason) in [
            (r#"{"a":1,"a":2}"#, "occurs twice"),
            (r#"{"a":{"b":1,"b":1}}"#, "occurs twice"),
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
    fn null_characters_are_reported_by_path() {
        let paths_of = |text: &str| {
            let mut paths = Vec::new();
            null_characters(&parse(text.as_bytes()).unwrap(), &mut |path| {
                paths.push(json!(path));
            });
            json!(paths)
        };
        assert_eq!(paths_of(r#"{"a":"x","b":[1,null,"y"]}"#), json!([]));
        assert_eq!(
            paths_of(r#"{"a":"\u0000","b":["y",{"c":"x\u0000y"},"\u0000"],"d":1}"#),
            json!([["a"], ["b", 1, "c"], ["b", 2]])
        );
        assert_eq!(paths_of(r#""\u0000""#), json!([[]]));
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(
            parse(b"[1.0, -2e0, 1.5, 1e300]").unwrap(),
            json!([1, -2, 1.5, 1e300])
        );
    }

    #[test]
    fn numbers_beyond_double_precision_are_overlong() {
        for number in [
            "12345678901234567890123",
            "18446744073709551617",
            "-9223372036854775809",
            "0.1000000000000000055511151231257827",
            "-9007199254740993.0",
            "1.50000000000000000000010e3",
            "123456789012345678901.5E1",
        ] {
            assert!(is_overlong(number), "{number}");
            let text = format!(r#"{{"a":[{{"b\\":true}},{number}],"c":"{number}"}}"#);
            assert_eq!(
                overlong_numbers(text.as_bytes()),
                [["a".into(), PathSegment::from(1)]]
            );
        }
        for number in [
            "0",
            "-1.5",
            "0.1",
            "1e300",
            "18446744073709551615",
            "9007199254740993",
            "0.30000000000000004",
            "41.385063812345677",
            "1.0",
            "0e5",
            "-0.0",
        ] {
            assert!(!is_overlong(number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn overlong_numbers_are_found_at_any_depth(
            keys in prop::collection::vec("[a-z\"\\\\ \u{e9}:{,]{0,4}", 1..4),
            index in 0_usize..3,
        ) {
            let number = "0.1000000000000000055511151231257827";
            let zeros = "0,".repeat(index);
            let inner = format!("[{zeros}{number},\"1e999\"]");
            let text = keys.iter().rev().fold(inner, |inner, key| {
                format!("{{ {} : {inner} , \"z\": -1 }}", Value::from(key.as_str()))
            });
            let path: Vec<_> = keys
                .iter()
                .map(|key| PathSegment::from(key.as_str()))
                .chain([PathSegment::from(index)])
                .collect();
            prop_assert_eq!(overlong_numbers(text.as_bytes()), [path]);
        }

        #[test]
        fn a_serialized_double_is_not_overlong(
            double in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
        ) {
            let text = serde_json::to_string(&double).unwrap();
            prop_assert!(!is_overlong(&text), "{}", text);
            prop_assert_eq!(
                serde_json::from_str::<f64>(&text).unwrap().to_bits(),
                double.to_bits()
            );
        }

        #[test]
        fn parsing_arbitrary_bytes_never_panics(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_fingerprint_ignores_the_order_of_keys(
            keys in prop::collection::hash_map("[a-z]{1,3}", 0..9_i64, 0..6),
        ) {
            let pairs: Vec<_> = keys.into_iter().collect();
            let one: Map<_, _> = pairs
                .iter()
                .cloned()
                .map(|(k, v)| (k, Value::from(v)))
                .collect();
            let other: Map<_, _> = pairs
                .iter()
                .rev()
                .cloned()
                .map(|(k, v)| (k, Value::from(v)))
                .collect();
            prop_assert_eq!(
                fingerprint(&Value::Object(one)),
                fingerprint(&Value::Object(other))
            );
        }
    }
}
