//! The built-in texts for guests in the guest's language, and the formats of dates and amounts. A
//! page shows a built-in text where the organization has not written another text.
//!
//! The sources of the texts are in `texts/`, with one folder for each language. The crate `texts`
//! makes a table of the texts of each language from them.

mod dates;
mod languages;

pub use dates::{DateFormats, in_language as dates_in, regional};
use engine::format::ENGLISH;
use engine::language::LanguageReader;
pub use languages::own_name;
pub use texts::fill;
use texts::page::table;
pub use texts::page::{LANGUAGES, Words};

use crate::portals::Tile;
use crate::precheck::{StepType, YesNo};

/// Returns the built-in texts in the guest's language, and the language of these texts. If the
/// product has none in the guest's language, returns the English texts (rules:
/// translations#languages).
#[must_use]
pub fn in_language(tag: &str) -> (&'static Words, &'static str) {
    let language = language_of(tag).unwrap_or(ENGLISH);
    (table(language), language)
}

/// Returns the language of the built-in texts that fits a language tag; `None` if the texts exist
/// in no fitting language.
#[must_use]
pub fn language_of(tag: &str) -> Option<&'static str> {
    // The exact comparison is fast, and most pages are in one of the languages of the built-in
    // texts.
    LANGUAGES
        .into_iter()
        .find(|language| *language == tag)
        .or_else(|| LanguageReader::of(tag).exact_match(LANGUAGES))
}

/// Returns the built-in title of a step.
#[must_use]
pub const fn step_title(words: &Words, step_type: StepType) -> &'static str {
    match step_type {
        StepType::YourDetails => words.steps.your_details,
        StepType::IdentityCheck => words.steps.identity_check,
        StepType::BackgroundCheck => words.steps.background_check,
        StepType::OtherGuests => words.steps.other_guests,
        StepType::AuthorityReporting => words.steps.authority_reporting,
        StepType::AdditionalQuestions => words.steps.additional_questions,
        StepType::DocumentUpload => words.steps.document_upload,
        StepType::Agreement => words.steps.agreement,
        StepType::MandatoryFee => words.steps.mandatory_fee,
        StepType::DamageDeposit => words.steps.damage_deposit,
        StepType::ScreenAndProtect => words.steps.screen_and_protect,
        StepType::Main => words.steps.main,
    }
}

/// Returns the built-in sentence about a step. The sentence describes the action of the host or of
/// another service, or the confirmation of the guest. Returns `None` for the steps that consist
/// only of the guest's answers.
#[must_use]
pub const fn what_happens(words: &Words, step_type: StepType) -> Option<&'static str> {
    Some(match step_type {
        StepType::YourDetails
        | StepType::OtherGuests
        | StepType::AdditionalQuestions
        | StepType::Agreement => return None,
        StepType::IdentityCheck => words.happens.identity_check,
        StepType::BackgroundCheck => words.happens.background_check,
        StepType::AuthorityReporting => words.happens.authority_reporting,
        StepType::DocumentUpload => words.happens.document_upload,
        StepType::MandatoryFee => words.happens.mandatory_fee,
        StepType::DamageDeposit => words.happens.damage_deposit,
        StepType::ScreenAndProtect => words.happens.screen_and_protect,
        StepType::Main => words.happens.main,
    })
}

/// Returns the label of an option of a yes-or-no question.
#[must_use]
pub const fn yes_or_no(words: &Words, answer: YesNo) -> &'static str {
    match answer {
        YesNo::Yes => words.common.yes,
        YesNo::No => words.common.no,
    }
}

/// Returns the title of a quick-access tile of the guest's page.
#[must_use]
pub const fn tile_title(words: &Words, tile: Tile) -> &'static str {
    match tile {
        Tile::Uber => words.tiles.uber,
        Tile::ReportAnIssue => words.tiles.report_an_issue,
        Tile::FindParking => words.tiles.find_parking,
        Tile::FindParkingJustpark => words.tiles.find_parking_justpark,
        Tile::RentBabyGear => words.tiles.rent_baby_gear,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn every_language_of_the_table_is_found_by_its_tag() {
        for language in LANGUAGES {
            let (words, spoken) = in_language(language);
            assert_eq!(spoken, language);
            assert!(std::ptr::eq(words, table(language)), "{language}");
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
                .map(|step_type| step_title(words, *step_type))
                .collect();
            assert_eq!(headings.len(), StepType::VARIANTS.len(), "{language}");
            let tiles: BTreeSet<_> = Tile::VARIANTS
                .iter()
                .map(|tile| tile_title(words, *tile))
                .collect();
            assert_eq!(tiles.len(), Tile::VARIANTS.len(), "{language}");
        }
    }
}
