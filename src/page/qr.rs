//! Joining the Wi-Fi by pointing a camera at it: a QR code drawn here, so that the password is shown to nobody else.
//!
//! What it holds is the format that phones know: `WIFI:T:WPA;S:<name>;P:<password>;;`, with a backslash before each of
//! `\ ; , : "` in the name and the password.

use std::fmt::Write as _;

use qrcodegen::{QrCode, QrCodeEcc};

/// Light modules around the code, as its standard asks for (ISO/IEC 18004).
const QUIET_ZONE: i32 = 4;

/// What a phone reads: the network, with a password or open.
fn payload(name: &str, password: Option<&str>) -> String {
    match password.filter(|password| !password.is_empty()) {
        Some(password) => format!("WIFI:T:WPA;S:{};P:{};;", escaped(name), escaped(password)),
        None => format!("WIFI:T:nopass;S:{};;", escaped(name)),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | ';' | ',' | ':' | '"') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// An inline SVG by which a phone joins a network, and what it is called for who does not see it (`label`); nothing where the
/// name and the password are longer than a code holds. Dark on light whatever the page's colours: cameras ask for that.
#[must_use]
pub fn wifi(name: &str, password: Option<&str>, label: &str) -> Option<String> {
    let code = QrCode::encode_text(&payload(name, password), QrCodeEcc::Medium).ok()?;
    let side = code.size() + 2 * QUIET_ZONE;
    let label = label.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    Some(format!(
        "<svg class=\"qr\" role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path fill=\"#000\" d=\"{}\"/></svg>",
        path(&code)
    ))
}

/// The dark modules: a stroke for each run of them in a row.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let length = (x..code.size()).take_while(|x| code.get_module(*x, y)).fold(0, |length, _| length + 1);
            if length > 0 {
                // Writing to a string does not fail.
                let _ = write!(path, "M{} {}h{length}v1h-{length}z", x + QUIET_ZONE, y + QUIET_ZONE);
            }
            x += length.max(1);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads the fields of a payload as a phone does.
    fn read(payload: &str) -> Vec<(String, String)> {
        let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), payload.strip_prefix("WIFI:").unwrap().chars());
        let mut key = None;
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => field.push(letters.next().unwrap()),
                ':' if key.is_none() => key = Some(std::mem::take(&mut field)),
                ';' => fields.extend(key.take().map(|key| (key, std::mem::take(&mut field)))),
                _ => field.push(letter),
            }
        }
        fields
    }

    fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn payloads_are_those_of_the_format() {
        assert_eq!(payload("Casa; \"Ana\"", Some(r"a\b,c:d")), r#"WIFI:T:WPA;S:Casa\; \"Ana\";P:a\\b\,c\:d;;"#);
        assert_eq!(payload("Open", None), "WIFI:T:nopass;S:Open;;");
        assert_eq!(payload("Open", Some("")), "WIFI:T:nopass;S:Open;;");
    }

    #[test]
    fn a_drawing_says_what_it_is() {
        let svg = wifi("Casa", Some("secret"), "Join \"Casa\" <now> & here").unwrap();
        assert!(svg.contains("role=\"img\" aria-label=\"Join &quot;Casa&quot; &lt;now> &amp; here\""));
        assert!(!svg.contains("secret"));
        assert!(svg.len() < 12_000, "{}", svg.len());
        assert_eq!(wifi(&"x".repeat(4000), None, ""), None);
    }

    #[test]
    fn the_drawing_is_the_code() {
        let code = QrCode::encode_text(&payload("Casa", Some("secret")), QrCodeEcc::Medium).unwrap();
        let mut drawn = std::collections::BTreeSet::new();
        for run in path(&code).split('M').skip(1) {
            let numbers: Vec<i32> = run.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
            drawn.extend((0..numbers[2]).map(|step| (numbers[0] + step - QUIET_ZONE, numbers[1] - QUIET_ZONE)));
        }
        for (x, y) in (0..code.size()).flat_map(|x| (0..code.size()).map(move |y| (x, y))) {
            assert_eq!(drawn.contains(&(x, y)), code.get_module(x, y), "{x}, {y}");
        }
    }

    proptest! {
        #[test]
        fn a_phone_reads_what_was_written(name in "\\PC{1,32}", password in "\\PC{1,63}") {
            prop_assert_eq!(read(&payload(&name, Some(&password))), fields(&[("T", "WPA"), ("S", &name), ("P", &password)]));
            prop_assert_eq!(read(&payload(&name, None)), fields(&[("T", "nopass"), ("S", &name)]));
        }
    }
}
