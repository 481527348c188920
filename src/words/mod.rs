//! The built-in texts for guests, used where an organization has written none: one table
//! ([`Words`]), filled in ten languages.
//!
//! Each file uses one form of address for guests throughout, which its head names. A sentence is
//! never assembled from parts. It is a template with values in braces, filled by [`fill`].
//! Sentences are phrased so that a number does not change their grammar. The few exceptions have a
//! form for one and a form for any other number.

mod ar;
mod ca;
mod dates;
mod de;
mod en;
mod es;
mod fr;
mod he;
mod it;
mod languages;
mod nl;
mod pt;
mod table;

pub use dates::{DateFormats, in_language as dates_in, regional};
use engine::language::LanguageReader;
pub use languages::own_name;
pub use table::*;

use crate::portals::Tile;
use crate::precheck::{StepType, YesNo};

/// The languages of the table, English first.
pub const LANGUAGES: [&str; 10] = ["en", "ar", "ca", "de", "es", "fr", "he", "it", "nl", "pt"];

/// Returns the words in a guest's language, and that language; English where the table has no
/// language that fits (rules: translations#languages).
#[must_use]
pub fn in_language(tag: &str) -> (&'static Words, &'static str) {
    match language_of(tag).unwrap_or("en") {
        "ar" => (&ar::WORDS, "ar"),
        "ca" => (&ca::WORDS, "ca"),
        "de" => (&de::WORDS, "de"),
        "es" => (&es::WORDS, "es"),
        "fr" => (&fr::WORDS, "fr"),
        "he" => (&he::WORDS, "he"),
        "it" => (&it::WORDS, "it"),
        "nl" => (&nl::WORDS, "nl"),
        "pt" => (&pt::WORDS, "pt"),
        _ => (&en::WORDS, "en"),
    }
}

/// Returns the language of the table that fits a tag; `None` where no language fits.
#[must_use]
pub fn language_of(tag: &str) -> Option<&'static str> {
    // Most pages are in a language of the table.
    LANGUAGES
        .into_iter()
        .find(|language| *language == tag)
        .or_else(|| LanguageReader::of(tag).exact(LANGUAGES))
}

/// Fills the values into a template. A placeholder without a value stays as it is. A value that
/// contains braces is not filled again.
#[must_use]
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, name, behind)) = next_place(rest) {
        filled.push_str(before);
        match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => filled.push_str(value),
            None => filled.push_str(&rest[before.len()..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Splits a text at its next placeholder: the text before, the name in the braces, and the text
/// after.
fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, behind) = rest.split_once('}')?;
    Some((before, name, behind))
}

impl Words {
    /// Returns the built-in title of a step.
    #[must_use]
    pub const fn step_title(&self, step_type: StepType) -> &'static str {
        match step_type {
            StepType::YourDetails => self.steps.your_details,
            StepType::IdentityCheck => self.steps.identity_check,
            StepType::BackgroundCheck => self.steps.background_check,
            StepType::OtherGuests => self.steps.other_guests,
            StepType::AuthorityReporting => self.steps.authority_reporting,
            StepType::AdditionalQuestions => self.steps.additional_questions,
            StepType::DocumentUpload => self.steps.document_upload,
            StepType::Agreement => self.steps.agreement,
            StepType::MandatoryFee => self.steps.mandatory_fee,
            StepType::DamageDeposit => self.steps.damage_deposit,
            StepType::ScreenAndProtect => self.steps.screen_and_protect,
            StepType::Main => self.steps.main,
        }
    }

    /// Returns what happens in a step that the host or another service carries out. Returns `None`
    /// for a step that only asks the guest on this page.
    #[must_use]
    pub const fn what_happens(&self, step_type: StepType) -> Option<&'static str> {
        Some(match step_type {
            StepType::YourDetails
            | StepType::OtherGuests
            | StepType::AdditionalQuestions
            | StepType::Agreement => return None,
            StepType::IdentityCheck => self.happens.identity_check,
            StepType::BackgroundCheck => self.happens.background_check,
            StepType::AuthorityReporting => self.happens.authority_reporting,
            StepType::DocumentUpload => self.happens.document_upload,
            StepType::MandatoryFee => self.happens.mandatory_fee,
            StepType::DamageDeposit => self.happens.damage_deposit,
            StepType::ScreenAndProtect => self.happens.screen_and_protect,
            StepType::Main => self.happens.main,
        })
    }

    /// Returns the label of an option of a yes-or-no question.
    #[must_use]
    pub const fn yes_or_no(&self, answer: YesNo) -> &'static str {
        match answer {
            YesNo::Yes => self.common.yes,
            YesNo::No => self.common.no,
        }
    }

    /// Returns the title of a tile.
    #[must_use]
    pub const fn tile(&self, tile: Tile) -> &'static str {
        match tile {
            Tile::Uber => self.tiles.uber,
            Tile::ReportAnIssue => self.tiles.report_an_issue,
            Tile::FindParking => self.tiles.find_parking,
            Tile::FindParkingJustpark => self.tiles.find_parking_justpark,
            Tile::RentBabyGear => self.tiles.rent_baby_gear,
        }
    }

    /// Returns the label of a guest's field, by its name (rules: pre-check-in#details-of-guests).
    /// Returns `None` for another name.
    #[must_use]
    pub fn guest_field(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" => fields.first_name,
            "lastName" => fields.last_name,
            "secondLastName" => fields.second_last_name,
            "email" => fields.email,
            "phone" => fields.phone,
            "birthDate" => fields.birth_date,
            "gender" => fields.gender,
            "nationality" => fields.nationality,
            "documentType" => fields.document_type,
            "documentNumber" => fields.document_number,
            "address" => fields.address,
            "city" => fields.city,
            "postalCode" => fields.postal_code,
            "country" => fields.country,
            _ => return None,
        })
    }

    /// Returns the hint for a guest's field, if there is one.
    #[must_use]
    pub fn guest_field_hint(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" | "lastName" | "secondLastName" => fields.name_hint,
            "email" => fields.email_hint,
            "phone" => fields.phone_hint,
            "birthDate" => fields.date_hint,
            "documentNumber" => fields.document_number_hint,
            "address" => fields.address_hint,
            _ => return None,
        })
    }

    /// Returns the genders to choose from: stored value and label.
    #[must_use]
    pub const fn genders(&self) -> [(&'static str, &'static str); 3] {
        [
            ("female", self.fields.female),
            ("male", self.fields.male),
            ("unspecified", self.fields.unspecified),
        ]
    }

    /// Returns the kinds of documents to choose from: stored value and label.
    #[must_use]
    pub const fn document_types(&self) -> [(&'static str, &'static str); 5] {
        [
            ("passport", self.fields.passport),
            ("identity_card", self.fields.identity_card),
            ("driving_licence", self.fields.driving_licence),
            ("residence_permit", self.fields.residence_permit),
            ("other", self.fields.other_document),
        ]
    }

    /// Returns the number of nights as text.
    #[must_use]
    pub fn nights(&self, nights: u32) -> String {
        let template = if nights == 1 {
            self.phase.nights_one
        } else {
            self.phase.nights_other
        };
        fill(template, &[("n", &nights.to_string())])
    }

    /// Returns how many days after departure a deposit is released.
    #[must_use]
    pub fn deposit_released(&self, days: u32) -> String {
        let words = &self.deposit;
        counted(
            days,
            words.released_zero,
            words.released_one,
            words.released_other,
        )
    }

    /// Returns how many days before arrival a deposit is due.
    #[must_use]
    pub fn deposit_due(&self, days: u32) -> String {
        let words = &self.deposit;
        counted(days, words.due_zero, words.due_one, words.due_other)
    }
}

/// Chooses the sentence for zero, one, or any other number.
fn counted(number: u32, zero: &str, one: &str, other: &str) -> String {
    let template = match number {
        0 => zero,
        1 => one,
        _ => other,
    };
    fill(template, &[("n", &number.to_string())])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use strum::VariantArray as _;

    use super::*;

    fn places(text: &str) -> BTreeSet<&str> {
        let (mut places, mut rest) = (BTreeSet::new(), text);
        while let Some((_, name, behind)) = next_place(rest) {
            places.insert(name);
            rest = behind;
        }
        places
    }

    #[test]
    fn guest_texts_are_complete_in_every_language() {
        for language in LANGUAGES {
            let (words, spoken) = in_language(language);
            assert_eq!(spoken, language);
            for ((place, english), (_, text)) in en::WORDS.texts().into_iter().zip(words.texts()) {
                assert!(
                    !text.is_empty() && text.trim() == text,
                    "{language}: {place}"
                );
                assert_eq!(places(text), places(english), "{language}: {place}");
                assert_eq!(
                    text.matches(['{', '}']).count(),
                    2 * places(text).len(),
                    "{language}: {place}"
                );
            }
        }
    }

    /// A text copied from another language by mistake would make two languages agree in most of
    /// their texts.
    #[test]
    fn no_two_languages_share_most_texts() {
        let common = |one: &str, other: &str| {
            let (one, other) = (in_language(one).0.texts(), in_language(other).0.texts());
            one.iter()
                .zip(&other)
                .filter(|((_, one), (_, other))| one == other)
                .count()
        };
        for one in LANGUAGES {
            for other in LANGUAGES.into_iter().filter(|other| *other != one) {
                assert!(
                    common(one, other) < en::WORDS.texts().len() / 8,
                    "{one} and {other}"
                );
            }
        }
    }

    #[test]
    fn arabic_and_hebrew_texts_use_their_scripts() {
        for (language, letters) in [("ar", '\u{600}'..='\u{6ff}'), ("he", '\u{590}'..='\u{5ff}')] {
            // Some names, such as `WhatsApp`, are the same in every language.
            let foreign = in_language(language)
                .0
                .texts()
                .into_iter()
                .filter(|(_, text)| !text.contains(|letter| letters.contains(&letter)));
            let foreign: Vec<_> = foreign.map(|(place, _)| place).collect();
            assert!(
                foreign
                    .iter()
                    .all(|place| ["contact.whatsapp", "wifi.title", "deposit.waiver"]
                        .contains(place)),
                "{foreign:?}"
            );
        }
    }

    #[test]
    fn an_unsupported_language_falls_back_to_a_supported_language() {
        assert_eq!(in_language("pt-BR").1, "pt");
        assert_eq!(in_language("PT_br").1, "pt");
        assert_eq!(in_language("iw").1, "he");
        assert_eq!(in_language("spa").1, "es");
        assert_eq!(in_language("ar-Latn").1, "en");
        for unspoken in ["sv", "", "x", "esx", "e"] {
            assert_eq!(in_language(unspoken).1, "en");
        }
    }

    #[test]
    fn step_titles_and_tiles_are_distinct_in_every_language() {
        for language in LANGUAGES {
            let words = in_language(language).0;
            let headings: BTreeSet<_> = StepType::VARIANTS
                .iter()
                .map(|step_type| words.step_title(*step_type))
                .collect();
            assert_eq!(headings.len(), StepType::VARIANTS.len(), "{language}");
            let tiles: BTreeSet<_> = Tile::VARIANTS
                .iter()
                .map(|tile| words.tile(*tile))
                .collect();
            assert_eq!(tiles.len(), Tile::VARIANTS.len(), "{language}");
        }
    }

    #[test]
    fn plural_forms_follow_the_number() {
        let words = in_language("en").0;
        assert_eq!([words.nights(1), words.nights(4)], ["1 night", "4 nights"]);
        assert_eq!(words.deposit_released(0), "Released on the day you leave.");
        assert_eq!(
            words.deposit_released(3),
            "Released 3 days after you leave."
        );
        assert_eq!(words.deposit_due(1), "Due 1 day before you arrive.");
    }

    #[test]
    fn placeholders_are_replaced_once() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a} and {unknown}", &[("a", "1")]), "1 and {unknown}");
        assert_eq!(fill("no end {a", &[("a", "1")]), "no end {a");
    }

    proptest! {
        #[test]
        fn a_text_without_values_is_unchanged(text in "[a-z{} ]{0,20}") {
            prop_assert_eq!(fill(&text, &[]), text);
        }

        #[test]
        fn placeholders_in_a_value_are_not_replaced(before in "[^{}]{0,5}", value in "\\PC{0,8}", behind in "[^{}]{0,5}") {
            prop_assert_eq!(fill(&format!("{before}{{x}}{behind}"), &[("x", &value)]), format!("{before}{value}{behind}"));
        }
    }
}
