//! Trims and checks the text of a setting from a flag, a variable or a file. All settings use this
//! module, so stray characters, such as a line break at the end of a file, have the same effect in
//! all of them.

use std::ffi::OsStr;
use std::fmt::Display;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// The byte order mark that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Quotes around a value. A shell removes them, but they remain in a value from an environment file
/// or a secret file.
const QUOTES: [char; 2] = ['"', '\''];

/// Returns the text of a setting without white space, line breaks and a byte order mark around it.
///
/// Quotes around the text and control characters in it are errors. The message never contains the
/// text, which may be a secret.
pub fn trim_setting(raw: &str) -> Result<&str, String> {
    let text = raw.trim_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
    if text.starts_with(QUOTES) || text.ends_with(QUOTES) {
        return Err("there are quotes around the value; leave them out".into());
    }
    if text.chars().any(char::is_control) {
        return Err("there is a line break or another control character in the value".into());
    }
    Ok(text)
}

/// Returns the lines of a setting with several values, one on each line. Omits blank lines at the
/// beginning and at the end.
pub fn setting_lines(raw: &str) -> Result<Vec<&str>, String> {
    let lines = raw
        .trim_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK)
        .split('\n');
    lines.map(trim_setting).collect()
}

/// Returns the trimmed text of a key, such as an API key. A blank inside the key is an error.
pub fn trim_key(raw: &str) -> Result<&str, String> {
    let text = trim_setting(raw)?;
    if text.contains(char::is_whitespace) {
        return Err("there is a blank in the key".into());
    }
    Ok(text)
}

/// Trims and checks the text of a setting, and parses it into its type.
pub fn parse<T: FromStr<Err: Display>>(raw: &str) -> Result<T, String> {
    trim_setting(raw)?
        .parse()
        .map_err(|error: T::Err| error.to_string())
}

/// A parser for clap. It trims and checks a text by [`trim_setting`], and passes the result to
/// another parser.
#[derive(Clone)]
pub struct TrimmedParser<P>(pub P);

impl<P: TypedValueParser> TypedValueParser for TrimmedParser<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        let Some(raw) = value.to_str() else {
            return self.0.parse_ref(command, argument, value);
        };
        match trim_setting(raw) {
            Ok(text) => self.0.parse_ref(command, argument, OsStr::new(text)),
            Err(reason) => Err(setting_error(command, argument, &reason)),
        }
    }
}

/// Builds the error of clap for a setting that [`trim_setting`] rejects.
fn setting_error(command: &Command, argument: Option<&Arg>, reason: &str) -> Error {
    let name = argument.map_or_else(String::new, ToString::to_string);
    let mut error = Error::raw(ErrorKind::ValueValidation, format!("{name}: {reason}\n"));
    error.insert(ContextKind::InvalidArg, ContextValue::String(name));
    error.with_cmd(command)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_around_a_value_are_trimmed() {
        for raw in [
            "pk_1",
            " pk_1",
            "pk_1\n",
            "pk_1\r\n",
            "\u{feff}pk_1\n\n",
            "\t pk_1\u{a0}",
            "\n\u{feff} pk_1",
        ] {
            assert_eq!(trim_setting(raw), Ok("pk_1"), "{raw:?}");
            assert_eq!(trim_key(raw), Ok("pk_1"), "{raw:?}");
        }
        assert_eq!(trim_setting("a b"), Ok("a b"));
        assert_eq!(setting_lines("\u{feff}a \r\n b\n\n"), Ok(vec!["a", "b"]));
        assert_eq!(setting_lines("a\n\nb"), Ok(vec!["a", "", "b"]));
    }

    #[test]
    fn quotes_and_control_characters_are_bad_values() {
        for raw in ["\"pk_1\"", "'pk_1'", "\"pk_1", "pk_1'", " \"pk_1\" \n"] {
            assert!(trim_setting(raw).unwrap_err().contains("quotes"), "{raw:?}");
        }
        for raw in ["a\nb", "a\tb", "a\u{0}b", "a\u{7f}b"] {
            assert!(
                trim_setting(raw).unwrap_err().contains("control"),
                "{raw:?}"
            );
        }
        assert!(trim_key("a b").unwrap_err().contains("blank"));
        assert!(trim_key("a\u{a0}b").unwrap_err().contains("blank"));
    }

    proptest! {
        #[test]
        fn reading_twice_changes_nothing(raw: String) {
            if let Ok(text) = trim_setting(&raw) {
                prop_assert_eq!(trim_setting(text), Ok(text));
            }
        }
    }
}
