//! Draws a QR code with which a phone joins the Wi-Fi. The server draws the code, so that the Wi-Fi
//! password is not sent to another service.
//!
//! The content of the code has the format that phones know: `WIFI:T:WPA;S:<name>;P:<password>;;`,
//! with a backslash before each of `\ ; , : "` in the name and the password.

use std::fmt::Write as _;

use qrcodegen::{QrCode, QrCodeEcc};

/// Width of the light border around the code in modules (ISO/IEC 18004).
const QUIET_ZONE: i32 = 4;

/// Returns the content of the QR code. If there is no password, the content describes a Wi-Fi
/// network without a password.
fn payload(name: &str, password: Option<&str>) -> String {
    match password.filter(|password| !password.is_empty()) {
        Some(password) => format!("WIFI:T:WPA;S:{};P:{};;", escaped(name), escaped(password)),
        None => format!("WIFI:T:nopass;S:{};;", escaped(name)),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | ';' | ',' | ':' | '"') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the code as inline SVG. `label` describes the code to assistive technology. Returns
/// `None` if name and password are too long for a QR code. The code is dark on light even in dark
/// mode, because many cameras cannot read a light code on a dark background.
#[must_use]
pub fn wifi(name: &str, password: Option<&str>, label: &str) -> Option<String> {
    let code = QrCode::encode_text(&payload(name, password), QrCodeEcc::Medium).ok()?;
    let side = code.size() + 2 * QUIET_ZONE;
    let label = label
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;");
    Some(format!(
        "<svg class=\"qr\" role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {side} {side}\" \
            shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path \
            fill=\"#000\" d=\"{}\"/></svg>",
        path(&code)
    ))
}

/// Returns the SVG path of the dark modules. Adjacent modules of a row form one rectangle.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let length = (x..code.size())
                .take_while(|x| code.get_module(*x, y))
                .fold(0, |length, _| length + 1);
            if length > 0 {
                // Writing to a string cannot fail.
                let _ = write!(
                    path,
                    "M{} {}h{length}v1h-{length}z",
                    x + QUIET_ZONE,
                    y + QUIET_ZONE
                );
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

    /// Parses the content of a QR code as a phone does.
    fn read(payload: &str) -> Vec<(String, String)> {
        let (mut fields, mut field, mut letters) = (
            Vec::new(),
            String::new(),
            payload.strip_prefix("WIFI:").unwrap().chars(),
        );
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
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn wifi_payloads_are_escaped() {
        assert_eq!(
            payload("Casa; \"Ana\"", Some(r"a\b,c:d")),
            r#"WIFI:T:WPA;S:Casa\; \"Ana\";P:a\\b\,c\:d;;"#
        );
        assert_eq!(payload("Open", None), "WIFI:T:nopass;S:Open;;");
        assert_eq!(payload("Open", Some("")), "WIFI:T:nopass;S:Open;;");
    }

    #[test]
    fn a_qr_code_has_a_label_without_the_password() {
        let svg = wifi("Casa", Some("secret"), "Join \"Casa\" <now> & here").unwrap();
        assert!(
            svg.contains("role=\"img\" aria-label=\"Join &quot;Casa&quot; &lt;now> &amp; here\"")
        );
        assert!(!svg.contains("secret"));
        assert!(svg.len() < 12_000, "{}", svg.len());
        assert_eq!(wifi(&"x".repeat(4000), None, ""), None);
    }

    #[test]
    fn the_drawn_squares_are_those_of_the_qr_code() {
        let code =
            QrCode::encode_text(&payload("Casa", Some("secret")), QrCodeEcc::Medium).unwrap();
        let mut drawn = std::collections::BTreeSet::new();
        for run in path(&code).split('M').skip(1) {
            let numbers: Vec<i32> = run
                .split(|character: char| !character.is_ascii_digit())
                .filter_map(|part| part.parse().ok())
                .collect();
            drawn.extend(
                (0..numbers[2])
                    .map(|step| (numbers[0] + step - QUIET_ZONE, numbers[1] - QUIET_ZONE)),
            );
        }
        for (x, y) in (0..code.size()).flat_map(|x| (0..code.size()).map(move |y| (x, y))) {
            assert_eq!(drawn.contains(&(x, y)), code.get_module(x, y), "{x}, {y}");
        }
    }

    proptest! {
        #[test]
        fn a_wifi_payload_reads_back(name in "\\PC{1,32}", password in "\\PC{1,63}") {
            prop_assert_eq!(
                read(&payload(&name, Some(&password))),
                fields(&[("T", "WPA"), ("S", &name), ("P", &password)])
            );
            prop_assert_eq!(
                read(&payload(&name, None)),
                fields(&[("T", "nopass"), ("S", &name)])
            );
        }
    }
}
