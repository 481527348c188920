//! Reads secrets from a flag, from the environment variable of the flag, or from the file whose
//! path is in the variable that ends with `_FILE`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::text;

/// Maximum size of a file with a secret, in bytes.
const MAX_SECRET_BYTES: u64 = 65_536;

/// Returns a secret of one line. [`text::trim_setting`] removes white space around it, and rejects
/// quotes around it and control characters in it.
pub fn single_line_secret(value: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let raw = raw_secret(value, variable)?;
    let result = raw.as_deref().map(text::trim_setting).transpose();
    result
        .map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns a secret that must not contain blanks. [`text::trim_key`] trims and checks it.
pub fn secret_without_blanks(
    value: Option<&str>,
    variable: &str,
) -> Result<Option<String>, String> {
    let raw = raw_secret(value, variable)?;
    let result = raw.as_deref().map(text::trim_key).transpose();
    result
        .map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns the unchanged text of a secret. `value` is the text from the flag or from its variable
/// `variable`. Without a value, reads the file whose path is in the variable with the suffix
/// `_FILE`. Returns `None` if nothing is set, and an error if both variables are set.
pub fn raw_secret(value: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let is_set = |value: &std::ffi::OsString| !value.is_empty();
    let file_variable = format!("{variable}_FILE");
    let Some(file) = std::env::var_os(&file_variable).filter(is_set) else {
        return Ok(value.map(str::to_owned));
    };
    if std::env::var_os(variable).is_some_and(|value| is_set(&value)) {
        return Err(format!(
            "{variable} and {file_variable} are both set; unset one of them"
        ));
    }
    match value.filter(|text| !text.is_empty()) {
        Some(flag) => Ok(Some(flag.to_owned())),
        None => read_secret(&file)
            .map(Some)
            .map_err(|error| format!("{file_variable}: {}: {error}", Path::new(&file).display())),
    }
}

/// Reads a file that contains a secret.
fn read_secret(file: &OsStr) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    file.take(MAX_SECRET_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_SECRET_BYTES) {
        return Err(format!("holds more than {MAX_SECRET_BYTES} bytes"));
    }
    if text::setting_lines(&text)? == [""] {
        Err("is empty".into())
    } else {
        Ok(text)
    }
}
