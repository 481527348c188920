//! The built-in texts guests read where an organization has written none of its own: one table ([`Words`]), filled in each of
//! ten languages.
//!
//! How guests are addressed is the same throughout a language, and stands at the head of its file. A sentence is not put
//! together from parts: it is a template whose values stand in braces, filled by [`fill`]. Where a number would bend a sentence,
//! the sentence is turned around it; the few that remain have a form for one and one for any other number.

mod ar;
mod ca;
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

pub use languages::{is_right_to_left, own_name};
pub use table::*;

use crate::portals::Tile;
use crate::precheck::{StepType, YesNo};

/// The words in a guest's language, and the language that they are in: that of the tag (`pt-BR`) as far as it is spoken here
/// (`pt`), else English.
#[must_use]
pub fn in_language(tag: &str) -> (&'static Words, &'static str) {
    match languages::primary(tag).as_str() {
        "ar" => (&ar::WORDS, "ar"),
        "ca" => (&ca::WORDS, "ca"),
        "de" => (&de::WORDS, "de"),
        "es" => (&es::WORDS, "es"),
        "fr" => (&fr::WORDS, "fr"),
        // Its code until 1989, which some devices still send.
        "he" | "iw" => (&he::WORDS, "he"),
        "it" => (&it::WORDS, "it"),
        "nl" => (&nl::WORDS, "nl"),
        "pt" => (&pt::WORDS, "pt"),
        _ => (&en::WORDS, "en"),
    }
}

/// A template with its values in their places. What stands in braces and has no value stays as it is, and a value is not looked
/// at again, whatever it holds.
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

/// What stands before the next braces, within them, and behind.
fn next_place(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, behind) = rest.split_once('}')?;
    Some((before, name, behind))
}

impl Words {
    /// The built-in title of a step.
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

    /// What happens in a step that others carry out; nothing for those that ask the guest everything here.
    #[must_use]
    pub const fn what_happens(&self, step_type: StepType) -> Option<&'static str> {
        Some(match step_type {
            StepType::YourDetails | StepType::OtherGuests | StepType::AdditionalQuestions | StepType::Agreement => return None,
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

    /// What the options of a yes-or-no question are called.
    #[must_use]
    pub const fn yes_or_no(&self, answer: YesNo) -> &'static str {
        match answer {
            YesNo::Yes => self.common.yes,
            YesNo::No => self.common.no,
        }
    }

    /// What a tile is called.
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

    /// What a field of a guest is called, by its name (contract: Steps that are really done); nothing for another name.
    #[must_use]
    pub fn guest_field(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" => fields.first_name,
            "lastName" => fields.last_name,
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

    /// What helps to fill in such a field, where something does.
    #[must_use]
    pub fn guest_field_hint(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" | "lastName" => fields.name_hint,
            "email" => fields.email_hint,
            "phone" => fields.phone_hint,
            "birthDate" => fields.date_hint,
            "documentNumber" => fields.document_number_hint,
            "address" => fields.address_hint,
            _ => return None,
        })
    }

    /// The genders that can be chosen: what is saved, and what it is called.
    #[must_use]
    pub const fn genders(&self) -> [(&'static str, &'static str); 3] {
        [("female", self.fields.female), ("male", self.fields.male), ("unspecified", self.fields.unspecified)]
    }

    /// The kinds of documents that can be chosen: what is saved, and what it is called.
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

    /// How many nights.
    #[must_use]
    pub fn nights(&self, nights: u32) -> String {
        let template = if nights == 1 { self.phase.nights_one } else { self.phase.nights_other };
        fill(template, &[("n", &nights.to_string())])
    }

    /// How many days after departure a deposit is released.
    #[must_use]
    pub fn deposit_released(&self, days: u32) -> String {
        let words = &self.deposit;
        counted(days, words.released_zero, words.released_one, words.released_other)
    }

    /// How many days before arrival a deposit is taken.
    #[must_use]
    pub fn deposit_taken(&self, days: u32) -> String {
        let words = &self.deposit;
        counted(days, words.taken_zero, words.taken_one, words.taken_other)
    }
}

/// A sentence for none, for one, or for any other number.
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

    /// Every language of the table.
    const LANGUAGES: [&str; 10] = ["en", "es", "fr", "de", "it", "pt", "nl", "ca", "ar", "he"];

    fn places(text: &str) -> BTreeSet<&str> {
        let (mut places, mut rest) = (BTreeSet::new(), text);
        while let Some((_, name, behind)) = next_place(rest) {
            places.insert(name);
            rest = behind;
        }
        places
    }

    #[test]
    fn every_language_is_complete() {
        for language in LANGUAGES {
            let (words, spoken) = in_language(language);
            assert_eq!(spoken, language);
            for ((place, english), (_, text)) in en::WORDS.texts().into_iter().zip(words.texts()) {
                assert!(!text.is_empty() && text.trim() == text, "{language}: {place}");
                assert_eq!(places(text), places(english), "{language}: {place}");
                assert_eq!(text.matches(['{', '}']).count(), 2 * places(text).len(), "{language}: {place}");
            }
        }
    }

    /// What stands in a file by mistake is most likely another language's, and most texts of one language are not another's.
    #[test]
    fn no_language_is_a_copy_of_another() {
        let common = |one: &str, other: &str| {
            let (one, other) = (in_language(one).0.texts(), in_language(other).0.texts());
            one.iter().zip(&other).filter(|((_, one), (_, other))| one == other).count()
        };
        for one in LANGUAGES {
            for other in LANGUAGES.into_iter().filter(|other| *other != one) {
                assert!(common(one, other) < en::WORDS.texts().len() / 8, "{one} and {other}");
            }
        }
    }

    #[test]
    fn scripts_are_those_of_their_languages() {
        for (language, letters) in [("ar", '\u{600}'..='\u{6ff}'), ("he", '\u{590}'..='\u{5ff}')] {
            // `WhatsApp` has one name in Hebrew, and so have a few more.
            let foreign =
                in_language(language).0.texts().into_iter().filter(|(_, text)| !text.contains(|letter| letters.contains(&letter)));
            let foreign: Vec<_> = foreign.map(|(place, _)| place).collect();
            assert!(foreign.iter().all(|place| ["contact.whatsapp", "wifi.title", "deposit.waiver"].contains(place)), "{foreign:?}");
        }
    }

    #[test]
    fn a_language_falls_back_to_what_is_spoken() {
        assert_eq!(in_language("pt-BR").1, "pt");
        assert_eq!(in_language("PT_br").1, "pt");
        assert_eq!(in_language("iw").1, "he");
        for unspoken in ["sv", "", "x", "esx", "e"] {
            assert_eq!(in_language(unspoken).1, "en");
        }
    }

    #[test]
    fn steps_and_tiles_have_words_of_their_own() {
        for language in LANGUAGES {
            let words = in_language(language).0;
            let headings: BTreeSet<_> = StepType::VARIANTS.iter().map(|step_type| words.step_title(*step_type)).collect();
            assert_eq!(headings.len(), StepType::VARIANTS.len(), "{language}");
            let tiles: BTreeSet<_> = Tile::VARIANTS.iter().map(|tile| words.tile(*tile)).collect();
            assert_eq!(tiles.len(), Tile::VARIANTS.len(), "{language}");
        }
    }

    #[test]
    fn numbers_are_counted() {
        let words = in_language("en").0;
        assert_eq!([words.nights(1), words.nights(4)], ["1 night", "4 nights"]);
        assert_eq!(words.deposit_released(0), "Released on the day you leave.");
        assert_eq!(words.deposit_released(3), "Released 3 days after you leave.");
        assert_eq!(words.deposit_taken(1), "Taken 1 day before you arrive.");
    }

    #[test]
    fn values_are_put_in_once() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a} and {unknown}", &[("a", "1")]), "1 and {unknown}");
        assert_eq!(fill("no end {a", &[("a", "1")]), "no end {a");
    }

    proptest! {
        #[test]
        fn a_text_without_values_stays_as_it_is(text in "[a-z{} ]{0,20}") {
            prop_assert_eq!(fill(&text, &[]), text);
        }

        #[test]
        fn a_value_is_not_looked_at(before in "[^{}]{0,5}", value in "\\PC{0,8}", behind in "[^{}]{0,5}") {
            prop_assert_eq!(fill(&format!("{before}{{x}}{behind}"), &[("x", &value)]), format!("{before}{value}{behind}"));
        }
    }
}
