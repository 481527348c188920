//! JSON as strictly as the interface reads it.
//!
//! `serde_json` keeps the last of duplicate keys and lets U+0000 through in keys, and neither may be guessed about: both
//! are refused here. U+0000 in a text is an issue of its field ([`null_characters`]). Numbers without a fraction become
//! integers, because `1.0` may be written for `1`.
//!
//! A [`Value`] holds numbers as doubles, and what is kept for somebody else is to come back as it was sent. So where a document
//! is kept, a number that no double is written as stands in it as a text that begins with U+0000, as no text that is let in may:
//! [`exact`] finds such numbers, [`keep`] and [`read_kept`] put them in place, and [`write_kept`] writes them as numbers again.
//! Such documents are compared and written, and never read as anything else.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::error::PathSegment;

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
pub fn null_characters(value: &Value, found: &mut impl FnMut(Vec<PathSegment>)) {
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

fn tell_nulls(value: &Value, path: &mut Vec<PathSegment>, found: &mut impl FnMut(Vec<PathSegment>)) {
    let mut below = |step: PathSegment, value: &Value| {
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

/// What a number stands behind in a document that is kept.
const MARK: char = '\0';
/// Digits and point of a number that is kept exactly; a longer one is rounded to a double, as others are.
const LONGEST_NUMBER: usize = 1_000;

/// A number that no double is written as, and where it stands in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    path: Vec<PathSegment>,
    /// Written without an exponent.
    number: String,
}

/// The numbers of a document that no double is written as. The document is valid JSON.
pub(crate) fn exact(document: &[u8]) -> Vec<Exact> {
    let mut found = Vec::new();
    // Where the reading is: in each object the key that was read last, in each list the index.
    let mut path: Vec<Inside<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = document.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'{' => path.push(Inside::Object(b"")),
            b'[' => path.push(Inside::List(0)),
            b'}' | b']' => drop(path.pop()),
            b',' => {
                if let Some(Inside::List(index)) = path.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                while document.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if document[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                let rest = document.get(at..).unwrap_or_default();
                let is_key = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if is_key && let Some(Inside::Object(key)) = path.last_mut() {
                    *key = document.get(begin..at).unwrap_or_default();
                }
            }
            b'-' | b'0'..=b'9' => {
                while document.get(at).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
                    at += 1;
                }
                let number = std::str::from_utf8(&document[begin..at]).ok().and_then(beyond_a_double);
                if let Some(number) = number {
                    found.push(Exact { path: path.iter().map(Inside::step).collect(), number });
                }
            }
            _ => {}
        }
    }
    found
}

/// A list or an object that a reading is inside of.
enum Inside<'d> {
    /// By the key, as it is written.
    Object(&'d [u8]),
    /// By the index.
    List(usize),
}

impl Inside<'_> {
    fn step(&self) -> PathSegment {
        match self {
            Self::Object(key) => PathSegment::Key(serde_json::from_slice(key).unwrap_or_default()),
            Self::List(index) => PathSegment::Index(*index),
        }
    }
}

/// A number without its exponent, where no 64-bit integer is equal to it and no double is written as it is.
fn beyond_a_double(number: &str) -> Option<String> {
    // Fifteen digits are within any double.
    let is_short = number.len() <= 15 && !number.contains(['e', 'E']);
    if is_short || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return None;
    }
    // Of two shortest ways to write a double, the one that counts is the one it will be written in.
    let written = Number::from_f64(number.parse().ok()?)?.to_string();
    if number.len() > LONGEST_NUMBER || digits(number)? == digits(&written)? {
        return None;
    }
    plain(number).filter(|plain| plain.len() <= LONGEST_NUMBER)
}

/// The digits of a number without the zeros around them, and the place of the first before the point: equal for equal numbers.
fn digits(number: &str) -> Option<(bool, String, i64)> {
    let (whole, fraction, exponent) = parts(number)?;
    let all = [whole.trim_start_matches('-'), fraction].concat();
    let leading = all.len() - all.trim_start_matches('0').len();
    let place = i64::try_from(whole.trim_start_matches('-').len()).ok()? - i64::try_from(leading).ok()? + exponent;
    let significant = all.trim_matches('0').to_owned();
    let is_zero = significant.is_empty();
    Some((number.starts_with('-') && !is_zero, significant, if is_zero { 0 } else { place }))
}

/// A number written without an exponent, by moving its point.
fn plain(number: &str) -> Option<String> {
    let (whole, fraction, exponent) = parts(number)?;
    if usize::try_from(exponent.unsigned_abs()).ok()? > LONGEST_NUMBER {
        return None;
    }
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let shift = usize::try_from(exponent.unsigned_abs()).ok()?;
    let (whole, fraction) = if exponent < 0 {
        let whole = format!("{}{whole}", "0".repeat(shift));
        let (left, right) = whole.split_at(whole.len() - shift);
        (left.to_owned(), format!("{right}{fraction}"))
    } else {
        let fraction = format!("{fraction}{}", "0".repeat(shift.saturating_sub(fraction.len())));
        let (left, right) = fraction.split_at(shift);
        (format!("{whole}{left}"), right.to_owned())
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

/// A number's digits before the point, with its sign, those behind it, and its exponent.
fn parts(number: &str) -> Option<(&str, &str, i64)> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    Some((whole, fraction, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?))
}

/// Has a document keep numbers that it holds rounded.
pub(crate) fn keep(document: &mut Value, exact: &[Exact]) {
    for Exact { path, number } in exact {
        let place = path.iter().try_fold(&mut *document, |value, step| match step {
            PathSegment::Key(key) => value.get_mut(key),
            PathSegment::Index(index) => value.get_mut(*index),
        });
        if let Some(place) = place {
            *place = Value::String(format!("{MARK}{number}"));
        }
    }
}

/// The number that stands here rounded, where it is kept.
#[must_use]
pub fn rounded(value: &Value) -> Option<Value> {
    let number = value.as_str()?.strip_prefix(MARK)?;
    parse(number.as_bytes()).ok()
}

/// A document as it was kept.
pub fn read_kept(text: &str) -> Result<Value, serde_json::Error> {
    let mut document = serde_json::from_str(text)?;
    keep(&mut document, &exact(text.as_bytes()));
    Ok(document)
}

/// A document as it is kept.
pub fn write_kept(document: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    const BEGIN: &str = "\"\\u0000";
    let text = serde_json::to_string(document)?;
    if !text.contains(BEGIN) {
        return Ok(text);
    }
    let mut written = String::with_capacity(text.len());
    let mut pieces = text.split(BEGIN);
    written.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        written.push_str(number);
        written.push_str(rest);
    }
    Ok(written)
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

    #[test]
    fn a_number_that_no_double_holds_is_kept() {
        for (number, plain) in [
            ("12345678901234567890123", "12345678901234567890123"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("-9007199254740993.0", "-9007199254740993.0"),
            ("1.50000000000000000000010e3", "1500.00000000000000000010"),
            ("-12345678901234567890E-21", "-0.012345678901234567890"),
            ("123456789012345678901.5E1", "1234567890123456789015"),
            ("1e-400", &format!("0.{}1", "0".repeat(399))),
        ] {
            let text = format!(r#"{{"a":[{{"b\\":true}},{number}],"c":"{number}"}}"#);
            let document = read_kept(&text).unwrap();
            assert_eq!(write_kept(&document).unwrap(), text.replacen(number, plain, 1));
            assert_eq!(rounded(&document["a"][1]), parse(number.as_bytes()).ok());
        }
        // Both name the same double, which is written in one way.
        assert_eq!(exact(b"1915953000677714.2"), []);
        assert_eq!(write_kept(&read_kept("1915953000677714.3").unwrap()).unwrap(), "1915953000677714.3");
        for number in ["1", "-1.5", "0.1", "1e300", "18446744073709551615", "9007199254740993", "0.30000000000000004", "1.0", "0e5", "-0.0"]
        {
            assert_eq!(exact(number.as_bytes()), [], "{number}");
        }
        assert_eq!(exact(format!("0.{}1", "0".repeat(2_000)).as_bytes()), [], "too long to be kept");
    }

    proptest! {
        #[test]
        fn what_is_kept_is_found_wherever_it_stands(keys in prop::collection::vec("[a-z\"\\\\ \u{e9}:{,]{0,4}", 1..4), index in 0_usize..3) {
            let number = "0.1000000000000000055511151231257827";
            let zeros = "0,".repeat(index);
            let inner = format!("[{zeros}{number},\"1e999\"]");
            let text = keys.iter().rev().fold(inner, |inner, key| format!("{{ {} : {inner} , \"z\": -1 }}", Value::from(key.as_str())));
            let found = exact(text.as_bytes());
            prop_assert_eq!(found.len(), 1);
            let path: Vec<_> = keys.iter().map(|key| PathSegment::from(key.as_str())).chain([PathSegment::from(index)]).collect();
            prop_assert_eq!(&found[0].path, &path);
        }

        #[test]
        fn a_double_is_written_so_that_it_is_found_again(double in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(exact(serde_json::to_string(&double).unwrap().as_bytes()), []);
        }

        #[test]
        fn a_number_keeps_its_value_without_its_exponent(whole in 0_u32..1_000_000, fraction in "[0-9]{0,12}", exponent in -20_i32..20) {
            let number = if fraction.is_empty() { format!("{whole}e{exponent}") } else { format!("{whole}.{fraction}e{exponent}") };
            prop_assert_eq!(digits(&plain(&number).unwrap()), digits(&number));
        }

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
