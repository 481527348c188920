//! Reads secrets: from a flag, a variable, or the file that a variable names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::text;

/// Maximum size of a file with a secret, in bytes.
const LONGEST_SECRET: u64 = 65_536;

/// Returns a secret of one line: its text, see [`text::read`].
pub fn one(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let raw = secret(given, variable)?;
    let read = raw.as_deref().map(text::read).transpose();
    read.map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns a secret in which there is no blank, see [`text::key`].
pub fn key(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let raw = secret(given, variable)?;
    let read = raw.as_deref().map(text::key).transpose();
    read.map(|text| text.map(str::to_owned))
        .map_err(|reason| format!("{variable}: {reason}"))
}

/// Returns a secret from its flag or variable, or else from the file that the variable's `_FILE`
/// names.
pub fn secret(given: Option<&str>, variable: &str) -> Result<Option<String>, String> {
    let is_set = |value: &std::ffi::OsString| !value.is_empty();
    let file_variable = format!("{variable}_FILE");
    let Some(file) = std::env::var_os(&file_variable).filter(is_set) else {
        return Ok(given.map(str::to_owned));
    };
    if std::env::var_os(variable).is_some_and(|value| is_set(&value)) {
        return Err(format!(
            "{variable} and {file_variable} are both set; unset one of them"
        ));
    }
    match given.filter(|text| !text.is_empty()) {
        Some(flag) => Ok(Some(flag.to_owned())),
        None => read_secret(&file)
            .map(Some)
            .map_err(|error| format!("{file_variable}: {}: {error}", Path::new(&file).display())),
    }
}

/// Reads the text of a file.
fn read_secret(file: &OsStr) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    file.take(LONGEST_SECRET + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST_SECRET) {
        return Err(format!("holds more than {LONGEST_SECRET} bytes"));
    }
    if text::lines(&text)? == [""] {
        Err("is empty".into())
    } else {
        Ok(text)
    }
}
