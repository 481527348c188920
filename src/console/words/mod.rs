//! What the console says by itself, in English, Spanish and French: a line a word, the three beside each other, so that none can be
//! without the others. A subject is a file; a new one is a line of [`subjects`].
//!
//! What fields are called and what they are for says the schema; for Spanish and French that is in [`super::labels`].

mod access;
mod assign;
mod audit;
mod begin;
mod forms;
mod frame;
mod manuals;
mod portals;
mod refused;
mod search;
mod stays;
mod steps;
mod submissions;
mod translations;
mod webhooks;

/// Declares the words of a subject: a name, then what is said in English, Spanish and French.
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
pub use audit::Deed;

/// The words of a subject: a name of each, and what is said in the three languages.
#[cfg(test)]
type Said = &'static [(&'static str, [&'static str; 3])];

/// Puts the subjects together.
macro_rules! subjects {
    ($($name:ident: $module:ident::$subject:ident;)*) => {
        /// The words of a language.
        pub struct Words {
            $(pub $name: $module::$subject,)*
        }

        static IN_ENGLISH: Words = Words { $($name: $module::$subject::ENGLISH,)* };
        static IN_SPANISH: Words = Words { $($name: $module::$subject::SPANISH,)* };
        static IN_FRENCH: Words = Words { $($name: $module::$subject::FRENCH,)* };

        #[cfg(test)]
        static SUBJECTS: &[(&str, Said)] = &[$((stringify!($name), $module::$subject::ALL),)*];
    };
}

subjects! {
    frame: frame::Frame;
    forms: forms::Forms;
    portals: portals::Portals;
    refused: refused::Refused;
    assign: assign::Assign;
    begin: begin::Begin;
    submissions: submissions::Submissions;
    stays: stays::Stays;
    search: search::Search;
    webhooks: webhooks::Webhooks;
    access: access::Access;
    audit: audit::Audit;
    steps: steps::Steps;
    manuals: manuals::Manuals;
    translations: translations::Translations;
}

/// A number of things: in the words for one, or in those for any other number.
pub fn counted(count: i64, one: &str, more: &str) -> String {
    if count == 1 { one.to_owned() } else { fill(more, &[("count", &count.to_string())]) }
}

/// The words of a language; those of English where there are none.
pub fn of(language: &str) -> &'static Words {
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
        text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
    }

    #[test]
    fn all_three_languages_are_complete() {
        for (subject, words) in SUBJECTS {
            for (word, [english, spanish, french]) in *words {
                let name = format!("{subject}.{word}");
                assert!([english, spanish, french].iter().all(|text| !text.trim().is_empty()), "{name} says nothing");
                assert_eq!((places(english), places(english)), (places(spanish), places(french)), "{name}");
                let is_same = english == spanish || english == french;
                // A word of one syllable may be the same; a sentence never is.
                assert!(!is_same || !english.contains(' '), "{name} is not translated");
            }
        }
    }
}
