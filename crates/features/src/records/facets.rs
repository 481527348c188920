//! Facets: values of a record that lists filter by. Each facet is a column beside the record's
//! document. This module computes the facets on every write of a record.
//!
//! SQLite and PostgreSQL fold the case of a text differently. So this module folds case and strips
//! accents itself, with the function that search uses.

use engine::field::fold_case;
use engine::fold::fold;
use engine::operation::Object;
use jiff::civil;
use serde_json::Value;

use super::RecordKind;

/// Maximum number of bytes of an e-mail address in a facet. A longer address is not indexed.
const MAX_EMAIL_BYTES: usize = 320;
/// Maximum number of characters of a name or a reference in a facet, because a database limits the
/// size of an index entry.
const MAX_KEY_CHARS: usize = 100;

/// The filter columns of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facets {
    /// The status of a reservation.
    pub status: Option<String>,
    /// The check-in day of a reservation, as `2026-11-21`.
    pub check_in: Option<String>,
    /// The name of a property, or of a reservation's guest, in lower case and without accents.
    pub name_key: Option<String>,
    /// The e-mail address of a reservation's guest, in lower case.
    pub guest_email: Option<String>,
    /// The references by which staff find a stay or a flat, such as booking codes and phone numbers
    /// ([`lookup_key`]).
    pub lookup_key: Option<String>,
}

/// The fields of a reservation that contain a code of the booking.
const BOOKING_CODES: [&str; 8] = [
    "bookingCode",
    "bookingReference",
    "code",
    "confirmationCode",
    "externalId",
    "externalReference",
    "reference",
    "reservationCode",
];

/// The fields of a property that contain its id or code in another system, such as a channel
/// manager.
const PROPERTY_CODES: [&str; 5] = [
    "code",
    "externalId",
    "externalReference",
    "listingId",
    "reference",
];

/// Returns the values of the filter columns for a record of this kind with this data.
pub(crate) fn facets(kind: RecordKind, data: &Object) -> Facets {
    let text = |field: &str| data.get(field).and_then(Value::as_str);
    match kind {
        RecordKind::Property => Facets {
            name_key: Some(key(text("name"))),
            lookup_key: lookup_key(PROPERTY_CODES.iter().filter_map(|field| code(data, field))),
            ..Facets::default()
        },
        RecordKind::Reservation => {
            let part = |field: &str| {
                key(data
                    .get("guest")
                    .and_then(|guest| guest.get(field))
                    .and_then(Value::as_str))
            };
            let guest_email = data.get("guest").and_then(email);
            let codes = BOOKING_CODES.iter().filter_map(|field| code(data, field));
            let phone = data
                .get("guest")
                .and_then(|guest| guest.get("phone")?.as_str())
                .map(digits);
            Facets {
                status: text("status").map(str::to_owned),
                check_in: text("checkIn").and_then(canonical_day),
                name_key: Some(full_name(&part("firstName"), &part("lastName"))),
                lookup_key: lookup_key(codes.chain(guest_email.clone()).chain(phone)),
                guest_email,
            }
        }
        RecordKind::PropertyGroup
        | RecordKind::Tag
        | RecordKind::Task
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::PaymentAccount
        | RecordKind::BackgroundCheckAccount
        | RecordKind::FeeProduct
        | RecordKind::DamageWaiver
        | RecordKind::CustomField
        | RecordKind::CustomUrl
        | RecordKind::Image
        | RecordKind::Upsell
        | RecordKind::LockCode
        | RecordKind::TaskTemplate
        | RecordKind::Department
        | RecordKind::Shift
        | RecordKind::ClockedShift
        | RecordKind::Instruction => Facets::default(),
    }
}

/// Returns the case-folded e-mail address of a guest, so that addresses compare without case.
/// Returns `None` if the address is missing, empty or longer than [`MAX_EMAIL_BYTES`].
fn email(guest: &Value) -> Option<String> {
    let email = fold_case(guest.get("email")?.as_str()?.trim());
    (!email.is_empty() && email.len() <= MAX_EMAIL_BYTES).then_some(email)
}

/// Returns a day as `2026-11-21`, the form in which the database compares days. Returns `None` if
/// the text is not a day.
pub(super) fn canonical_day(text: &str) -> Option<String> {
    text.parse::<civil::Date>()
        .ok()
        .map(|date| date.to_string())
}

/// Builds the name key of a guest. It contains the name in both orders: "ada lovelace ada" contains
/// "ada lovelace" and "lovelace ada".
fn full_name(first: &str, last: &str) -> String {
    if first.is_empty() || last.is_empty() {
        [first, last].concat()
    } else {
        run_together(&format!("{first} {last} {first}"))
    }
}

fn key(name: Option<&str>) -> String {
    run_together(&fold(name.unwrap_or_default()))
        .chars()
        .take(MAX_KEY_CHARS)
        .collect()
}

/// Removes the blanks between two characters of scripts in which names are written without blanks,
/// such as Chinese.
fn run_together(folded: &str) -> String {
    let mut joined = String::with_capacity(folded.len());
    let mut chars = folded.chars().peekable();
    while let Some(c) = chars.next() {
        let is_between = c == ' '
            && joined.chars().next_back().is_some_and(is_unspaced)
            && chars.peek().copied().is_some_and(is_unspaced);
        if !is_between {
            joined.push(c);
        }
    }
    joined
}

/// Returns whether a character belongs to a script in which people write the same name with or
/// without blanks: Han, kana, or hangul (syllables and jamo).
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

/// Returns three `like … escape '!'` patterns for the words of a query. A name matches the query if
/// it matches all three patterns. The first two words may be anywhere in the name. The third and
/// all following words must be in the order of the query. If folding leaves nothing of the query,
/// as for a query of accents and blanks, the patterns contain the query itself, which matches no
/// name.
pub(crate) fn name_patterns(query: &str) -> [String; 3] {
    let folded = Some(run_together(&fold(query)))
        .filter(|folded| !folded.is_empty())
        .unwrap_or_else(|| query.to_owned());
    let mut words: Vec<&str> = folded
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '、'))
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        words.push(&folded);
    }
    let rest = words.get(2..).unwrap_or_default();
    [
        like(&words[..1]),
        like(words.get(1..2).unwrap_or_default()),
        like(rest),
    ]
}

/// Returns the SQL `like` pattern that matches texts with these words in this order.
fn like(words: &[&str]) -> String {
    let mut pattern = String::from("%");
    for word in words {
        escape(word, &mut pattern);
        pattern.push('%');
    }
    pattern
}

fn escape(text: &str, pattern: &mut String) {
    for c in text.chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
}

/// Builds the lookup key of a record: the values by which a search finds the record besides its
/// name, such as booking codes and the guest's phone number. Each value is between two blanks, so
/// that a pattern can match the beginning of a value. Returns `None` for a record without such
/// values.
fn lookup_key(references: impl Iterator<Item = String>) -> Option<String> {
    let mut key = String::from(" ");
    for reference in references {
        if !reference.is_empty() {
            key.extend(reference.chars().take(MAX_KEY_CHARS));
            key.push(' ');
        }
    }
    (key.len() > 1).then_some(key)
}

/// Returns the value of a field that contains a code, such as `bookingCode`: in lower case, without
/// accents and punctuation. Returns `None` if the value is neither a text nor a number.
fn code(data: &Object, field: &str) -> Option<String> {
    match data.get(field)? {
        Value::String(text) => Some(letters_and_digits(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn letters_and_digits(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns the digits of a phone number, in any script, without the zeros at the beginning, such as
/// the `00` of an international call.
fn digits(text: &str) -> String {
    let digits: String = fold(text).chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').to_owned()
}

/// Minimum number of letters and digits in a search query. A shorter query is not compared with
/// booking codes and property codes.
const MIN_REFERENCE_CHARS: usize = 4;
/// Minimum number of digits in a search query. A shorter query is not compared with phone numbers.
const MIN_PHONE_DIGITS: usize = 5;

/// Returns the pattern for `like … escape '!'` that finds lookup keys by a search query. The
/// pattern finds e-mail addresses and codes with digits by their beginning, codes without digits
/// only as a whole, and phone numbers by any part. Returns `None` for a query that can only be a
/// name.
pub(super) fn reference_pattern(query: &str) -> Option<String> {
    let query = query.trim();
    let pattern = |before: &str, text: &str, after: &str| {
        let mut pattern = before.to_owned();
        escape(text, &mut pattern);
        pattern + after
    };
    if query.contains('@') && !query.contains(char::is_whitespace) {
        return Some(pattern("% ", &fold_case(query), "%"));
    }
    let is_phone = query
        .chars()
        .all(|c| c.is_numeric() || c.is_whitespace() || "+-()./".contains(c));
    if is_phone {
        let digits = digits(query);
        return (digits.len() >= MIN_PHONE_DIGITS).then(|| pattern("%", &digits, "%"));
    }
    let code = letters_and_digits(query);
    if code.chars().count() < MIN_REFERENCE_CHARS {
        return None;
    }
    let has_digit = code.bytes().any(|byte| byte.is_ascii_digit());
    Some(pattern("% ", &code, if has_digit { "%" } else { " %" }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(kind: RecordKind, data: Value) -> Facets {
        facets(kind, data.as_object().unwrap())
    }

    #[test]
    fn the_name_key_holds_first_and_last_name_in_both_orders() {
        let stay = of(
            RecordKind::Reservation,
            json!({
                "status": "confirmed",
                "checkIn": "2026-12-11",
                "guest": {
                    "firstName": "José ",
                    "lastName": "GARCÍA",
                    "email": " José@Example.com",
                },
            }),
        );
        let expected = Facets {
            status: Some("confirmed".into()),
            check_in: Some("2026-12-11".into()),
            name_key: Some("jose garcia jose".into()),
            guest_email: Some("josé@example.com".into()),
            lookup_key: Some(" josé@example.com ".into()),
        };
        assert_eq!(stay, expected);
        for (guest, key) in [
            (json!({}), ""),
            (json!({ "lastName": "Li" }), "li"),
            (json!({ "firstName": "Bo", "lastName": null }), "bo"),
        ] {
            assert_eq!(
                of(RecordKind::Reservation, json!({ "guest": guest }))
                    .name_key
                    .as_deref(),
                Some(key)
            );
        }
        assert_eq!(
            of(RecordKind::Task, json!({ "name": "x" })),
            Facets::default()
        );
    }

    #[test]
    fn name_keys_are_bounded_in_length() {
        let long = "ﷺ".repeat(1_000);
        let stay = of(
            RecordKind::Reservation,
            json!({ "guest": { "firstName": &long, "lastName": &long } }),
        );
        assert!(stay.name_key.unwrap().len() <= 1_250);
        assert!(
            of(RecordKind::Property, json!({ "name": long }))
                .name_key
                .unwrap()
                .len()
                <= 400
        );
    }

    #[test]
    fn pattern_characters_in_a_query_are_escaped() {
        assert_eq!(name_patterns("100%_b!")[0], "%100!%!_b!!%");
        assert_eq!(name_patterns("\u{301}")[0], "%\u{301}%");
        assert_eq!(name_patterns(", ,")[0], "%, ,%");
    }

    /// Returns whether a query finds a guest with this name. Evaluates the name patterns as the
    /// `like` of both databases does.
    fn finds(query: &str, first: &str, last: &str) -> bool {
        let key = full_name(&key(Some(first)), &key(Some(last)));
        name_patterns(query).iter().all(|pattern| {
            let mut rest = key.as_str();
            pattern.split('%').all(|part| match rest.find(part) {
                Some(offset) => {
                    rest = &rest[offset + part.len()..];
                    true
                }
                None => false,
            })
        })
    }

    #[test]
    fn names_are_found_by_their_words_in_any_order() {
        for query in [
            "garcia, jose",
            "jose garcia",
            "García,José",
            "garc jos",
            "e garc",
            "lopez jose garcia",
        ] {
            assert!(finds(query, "José", "García López"), "{query}");
        }
        for query in ["garcia, maria", "josefa"] {
            assert!(!finds(query, "José", "García López"), "{query}");
        }
        for query in ["王小明", "王 小明", "小明 王", "小明王", "小明"] {
            assert!(finds(query, "小明", "王"), "{query}");
        }
        assert!(finds("김민수", "민수", "김") && finds("민수 김", "민수", "김"));
        assert!(finds("たなか ゆき", "ゆき", "たなか"));
    }

    #[test]
    fn references_are_found_by_their_beginning_or_a_part() {
        let stay = of(
            RecordKind::Reservation,
            json!({
                "bookingCode": "HM-4X 9Q", "reference": 12345, "code": "QWERTZ",
                "guest": { "email": "Ada@Example.com", "phone": "+34 (0)600 123-456" },
            }),
        );
        let key = stay.lookup_key.unwrap();
        assert_eq!(key, " hm4x9q qwertz 12345 ada@example.com 340600123456 ");
        let finds = |query: &str| {
            let pattern = reference_pattern(query)?;
            Some(key.contains(pattern.trim_matches('%')))
        };
        for query in [
            "hm4x9q",
            "HM-4X",
            "ada@",
            "ADA@example.com",
            "600 123",
            "0034 0600",
            "QWERTZ",
            "12345",
        ] {
            assert_eq!(finds(query), Some(true), "{query}");
        }
        for query in ["4x9q", "qwert", "example@", "99999"] {
            assert_eq!(finds(query), Some(false), "{query}");
        }
        for query in ["ada", "", "12", "a@b c"] {
            assert_eq!(finds(query), None, "{query}");
        }
    }
}
