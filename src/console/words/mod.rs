//! The texts of the console in English, Spanish and French. Each line contains one text in all
//! three languages, so that none can be missing. Each subject is a file, and a new subject needs a
//! line in [`subjects`].
//!
//! Labels and help texts of fields come from the schema, and in Spanish and French from
//! [`super::labels`].

mod access;
mod assign;
mod audit;
mod begin;
mod calendars;
mod charges;
mod forms;
mod frame;
mod manuals;
mod portals;
mod records;
mod refused;
mod search;
mod stays;
mod steps;
mod submissions;
mod translations;
mod webhooks;

/// Declares the texts of a subject: a name, then the text in English, Spanish and French.
macro_rules! words {
    ($(#[$doc:meta])* pub struct $subject:ident { $($word:ident: $english:literal, $spanish:literal, $french:literal;)* }) => {
        $(#[$doc])*
        pub struct $subject {
            $(pub $word: &'static str,)*
        }

        impl $subject {
            pub(super) const ENGLISH: Self = Self { $($word: $english,)* };
            pub(super) const SPANISH: Self = Self { $($word: $spanish,)* };
            pub(super) const FRENCH: Self = Self { $($word: $french,)* };
            #[cfg(test)]
            pub(super) const ALL: &'static [(&'static str, [&'static str; 3])] = &[$((stringify!($word), [$english, $spanish, $french]),)*];
        }
    };
}
use words;

use crate::words::fill;
pub use audit::AuditedAction;
pub use begin::Begin;

/// The texts of a subject: each name with the text in the three languages.
#[cfg(test)]
type SubjectTexts = &'static [(&'static str, [&'static str; 3])];

/// Declares [`ConsoleWords`] with one field for each subject.
macro_rules! subjects {
    ($($name:ident: $module:ident::$subject:ident;)*) => {
        /// The texts of all subjects in a language.
        pub struct ConsoleWords {
            $(pub $name: $module::$subject,)*
        }

        static IN_ENGLISH: ConsoleWords = ConsoleWords { $($name: $module::$subject::ENGLISH,)* };
        static IN_SPANISH: ConsoleWords = ConsoleWords { $($name: $module::$subject::SPANISH,)* };
        static IN_FRENCH: ConsoleWords = ConsoleWords { $($name: $module::$subject::FRENCH,)* };

        #[cfg(test)]
        static SUBJECTS: &[(&str, SubjectTexts)] = &[$((stringify!($name), $module::$subject::ALL),)*];
    };
}

subjects! {
    frame: frame::FrameWords;
    forms: forms::FormsWords;
    portals: portals::Portals;
    refused: refused::RefusedWords;
    assign: assign::Assign;
    begin: begin::Begin;
    submissions: submissions::Submissions;
    stays: stays::Stays;
    calendars: calendars::Calendars;
    charges: charges::ChargesWords;
    search: search::SearchWords;
    webhooks: webhooks::Webhooks;
    access: access::Access;
    records: records::RecordsWords;
    audit: audit::Audit;
    steps: steps::Steps;
    manuals: manuals::Manuals;
    translations: translations::Translations;
}

/// Returns the text for a count: `one` for 1, and `more` with the number otherwise.
pub fn counted(count: i64, one: &str, more: &str) -> String {
    if count == 1 {
        one.to_owned()
    } else {
        fill(more, &[("count", &count.to_string())])
    }
}

/// Returns the texts in a language, or in English if the language is not supported.
pub fn of(language: &str) -> &'static ConsoleWords {
    match language {
        "es" => &IN_SPANISH,
        "fr" => &IN_FRENCH,
        _ => &IN_ENGLISH,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn places(text: &str) -> BTreeSet<&str> {
        text.split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn console_texts_are_complete_in_all_three_languages() {
        for (subject, words) in SUBJECTS {
            for (word, [english, spanish, french]) in *words {
                let name = format!("{subject}.{word}");
                assert!(
                    [english, spanish, french]
                        .iter()
                        .all(|text| !text.trim().is_empty()),
                    "{name} says nothing"
                );
                assert_eq!(
                    (places(english), places(english)),
                    (places(spanish), places(french)),
                    "{name}"
                );
                let is_same = english == spanish || english == french;
                // A single word may be the same in two languages, a sentence never is.
                assert!(
                    !is_same || !english.contains(' '),
                    "{name} is not translated"
                );
            }
        }
    }
}
