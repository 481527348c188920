//! Formats dates, hours, amounts and sizes in the guest's language and region, with ICU4X.
//!
//! The patterns come from CLDR. Only the Gregorian calendar is compiled in. English without a
//! region follows Britain (`Monday 23 November`, `15:00`), and Portuguese without a region follows
//! Portugal. Digits are European in every language, like the digits of door codes and phone
//! numbers.
//!
//! ICU4X has no stable formatter for amounts of money. [`DateFormats::money`] therefore formats
//! only the number with ICU4X, and adds the currency's sign itself.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use engine::format::ENGLISH;
use engine::{currency, language};
use icu_calendar::Gregorian;
use icu_datetime::fieldsets::{MD, MDE, MDET, T, YMD, YMDE, YMDET};
use icu_datetime::input::{Date as IcuDate, DateTime as IcuDateTime, Time as IcuTime};
use icu_datetime::{FixedCalendarDateTimeFormatter, NoCalendarFormatter, parts};
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_decimal::options::DecimalFormatterOptions;
use icu_locale_core::Locale;
use jiff::civil::{Date, DateTime, Time};
use quick_cache::sync::Cache;
use writeable::{Part, PartsWrite, Writeable};

use crate::words;

/// The signs of six currencies. An amount in another currency gets its ISO 4217 code, such as
/// `CHF`.
const SIGNS: [(&str, &str); 6] = [
    ("EUR", "€"),
    ("GBP", "£"),
    ("USD", "$"),
    ("ILS", "₪"),
    ("BRL", "R$"),
    ("JPY", "¥"),
];

/// The English-speaking regions for which CLDR uses the formats of the United States. CLDR also
/// returns these formats for a region that it does not know. [`is_known_english`] needs the list to
/// tell the two cases apart: English in an unknown region gets the international formats
/// (`en-001`).
const OWN_ENGLISH: [&str; 13] = [
    "AE", "AS", "BI", "CA", "GU", "JP", "MH", "MP", "PH", "PR", "UM", "US", "VI",
];

/// A cache of the formats of the last used locales. The formats of one locale need a few kilobytes.
static DATES: LazyLock<Cache<String, Arc<DateFormats>>> = LazyLock::new(|| Cache::new(64));

/// The formats of dates and numbers in one language and region.
#[derive(Debug)]
pub struct DateFormats {
    /// The language of the formats. It is one of the languages of the built-in texts.
    language: &'static str,
    region: Option<String>,
    /// The patterns of dates and numbers. A test ensures that every language of the built-in texts
    /// has patterns. Without patterns, dates are written as in ISO 8601.
    patterns: Option<Patterns>,
}

type Formatter<F> = FixedCalendarDateTimeFormatter<Gregorian, F>;

#[derive(Debug)]
struct Patterns {
    day: Formatter<MDE>,
    day_of_year: Formatter<YMDE>,
    day_of_month: Formatter<MD>,
    full: Formatter<YMD>,
    moment: Formatter<MDET>,
    moment_of_year: Formatter<YMDET>,
    time: NoCalendarFormatter<T>,
    number: DecimalFormatter,
}

impl Patterns {
    fn load(locale: &str) -> Option<Self> {
        let locale = &Locale::try_from_str(locale).ok()?;
        // Amounts in English have the same number format in every region. Otherwise a reader would
        // take `¥5.000`, which means five thousand yen in some regions, for five yen.
        let of_numbers = if locale.id.language.as_str() == ENGLISH {
            &Locale::try_from_str(ENGLISH).ok()?
        } else {
            locale
        };
        let time = |fields: MDE| fields.with_time_hm();
        let time_of_year = |fields: YMDE| fields.with_time_hm();
        Some(Self {
            day: Formatter::try_new(locale.into(), MDE::long()).ok()?,
            day_of_year: Formatter::try_new(locale.into(), YMDE::long()).ok()?,
            day_of_month: Formatter::try_new(locale.into(), MD::long()).ok()?,
            full: Formatter::try_new(locale.into(), YMD::long()).ok()?,
            moment: Formatter::try_new(locale.into(), time(MDE::long())).ok()?,
            moment_of_year: Formatter::try_new(locale.into(), time_of_year(YMDE::long())).ok()?,
            time: NoCalendarFormatter::try_new(locale.into(), T::hm()).ok()?,
            number: DecimalFormatter::try_new(
                of_numbers.into(),
                DecimalFormatterOptions::default(),
            )
            .ok()?,
        })
    }
}

/// A formatted date, and the byte range of its day of the month.
#[derive(Debug, Default)]
struct WrittenDay {
    text: String,
    number: Range<usize>,
}

impl WrittenDay {
    fn of(day: &impl Writeable) -> Self {
        let mut written = Self::default();
        // Writing to a String cannot fail.
        let _ = day.write_to_parts(&mut written);
        written
    }

    /// Writes the range from this day to another day of the same month, such as `15–19 December`.
    /// If the language puts a sign after the day of the month, both numbers get the sign: `15.–19.
    /// Dezember`.
    fn through(&self, last: &Self) -> String {
        let (before, after) = (
            &self.text[..self.number.start],
            &last.text[last.number.end..],
        );
        let signs = after
            .find(|letter: char| letter.is_whitespace() || letter == ',')
            .unwrap_or(after.len());
        let first = &self.text[self.number.clone()];
        let second = &last.text[last.number.clone()];
        format!("{before}{first}{}–{second}{after}", &after[..signs])
    }
}

impl fmt::Write for WrittenDay {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.write_str(text)
    }
}

impl PartsWrite for WrittenDay {
    type SubPartsWrite = Self;

    fn with_part(
        &mut self,
        part: Part,
        mut write: impl FnMut(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        let start = self.text.len();
        write(self)?;
        if part == parts::DAY {
            self.number = start..self.text.len();
        }
        Ok(())
    }
}

/// Returns the formats for a language tag. If the product has no texts in the language, returns the
/// formats for English (rules: stays#dates-and-times).
#[must_use]
pub fn in_language(tag: &str) -> Arc<DateFormats> {
    let language = words::in_language(tag).1;
    let region = language::region(tag).filter(|_| words::language_of(tag).is_some());
    let locale = locale(language, region.as_deref());
    if let Some(dates) = DATES.get(&locale) {
        return dates;
    }
    let patterns = Patterns::load(&locale).or_else(|| Patterns::load(language));
    let dates = Arc::new(DateFormats {
        language,
        region,
        patterns,
    });
    DATES.insert(locale, dates.clone());
    dates
}

/// Returns the language tag whose region decides how dates are written (rules:
/// stays#dates-and-times). English without a region gets the region of the browser's English, or
/// else the region of the flat's country. `accepted` are the languages of the browser in the order
/// of preference.
#[must_use]
pub fn regional(tag: &str, accepted: &[String], country: Option<&str>) -> String {
    if tag != ENGLISH {
        return tag.to_owned();
    }
    let of_browser = accepted
        .iter()
        .filter(|accepted| language::is_same(accepted, ENGLISH))
        .find_map(|accepted| language::region(accepted));
    of_browser
        .or_else(|| country.map(str::to_owned))
        .map_or_else(|| tag.to_owned(), |region| format!("{tag}-{region}"))
}

/// Returns the CLDR locale of a language in a region, such as `fr-CA-u-nu-latn`.
fn locale(language: &str, region: Option<&str>) -> String {
    let cycle = |region: &str| {
        if is_counted_to_12(region) {
            "h12"
        } else {
            "h23"
        }
    };
    match (language, region) {
        ("en", None) => "en-GB-u-nu-latn".to_owned(),
        ("pt", None) => "pt-PT-u-nu-latn".to_owned(),
        (language, None) => format!("{language}-u-nu-latn"),
        ("en", Some(region)) if !is_known_english(region) => {
            format!("en-001-u-hc-{}-nu-latn", cycle(region))
        }
        (language, Some(region)) => format!("{language}-{region}-u-nu-latn"),
    }
}

/// Returns whether CLDR has data for English in a region.
fn is_known_english(region: &str) -> bool {
    OWN_ENGLISH.contains(&region) || language::parent(&format!("en-{region}")) != "en"
}

/// Returns whether the main language of a region writes times with a 12-hour clock, such as `3:00
/// PM`.
fn is_counted_to_12(region: &str) -> bool {
    let own = language::of_region(region);
    let noon = IcuTime::try_new(13, 0, 0, 0).ok();
    let written = Locale::try_from_str(&format!("{own}-u-nu-latn"))
        .ok()
        .and_then(|locale| NoCalendarFormatter::try_new((&locale).into(), T::hm()).ok())
        .and_then(|time| Some(time.format(&noon?).to_string()));
    written.is_some_and(|written| !written.contains("13"))
}

/// Replaces the narrow blanks in a formatted text by plain blanks. Some wallets and terminals draw
/// narrow blanks as boxes, and people type plain blanks when they search for a date.
fn plain(written: &str) -> String {
    const DASH: &str = "\u{2009}–\u{2009}";
    let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    let dashed = match written.split_once(DASH) {
        Some((before, behind)) => {
            let has_words = |text: &str| text.contains(char::is_alphabetic);
            // A range within one month has no blanks around the dash: `23–27 November`.
            let is_one_month = is_digit(before.chars().next_back())
                && is_digit(behind.chars().next())
                && !(has_words(before) && has_words(behind));
            format!("{before}{}{behind}", if is_one_month { "–" } else { " – " })
        }
        None => written.to_owned(),
    };
    dashed.replace(['\u{2009}', '\u{202f}'], " ")
}

impl DateFormats {
    /// Writes a day with its weekday: `Monday 23 November`. Adds the year unless it is the year of
    /// `today`.
    #[must_use]
    pub fn day(&self, date: Date, today: Date) -> String {
        if date.year() != today.year() {
            return self.day_of_year(date);
        }
        let written =
            |patterns: &Patterns| Some(patterns.day.format(&gregorian(date)?).to_string());
        self.written(written, || date.to_string())
    }

    /// Writes a day with its weekday and its year: `Monday 23 November 2026`.
    #[must_use]
    pub fn day_of_year(&self, date: Date) -> String {
        let written =
            |patterns: &Patterns| Some(patterns.day_of_year.format(&gregorian(date)?).to_string());
        self.written(written, || date.to_string())
    }

    /// Writes a day with its year: `27 March 1985`.
    #[must_use]
    pub fn full(&self, date: Date) -> String {
        let written =
            |patterns: &Patterns| Some(patterns.full.format(&gregorian(date)?).to_string());
        self.written(written, || date.to_string())
    }

    /// Writes a range of days: `23–27 November`, `30 November – 2 December`. Writes a single day if
    /// both days are the same. Adds the years unless both days are in the year of `today`. If both
    /// days are in one month, the year is written once, otherwise after each day.
    #[must_use]
    pub fn days(&self, from: Date, until: Date, today: Date) -> String {
        let has_years = from.year() != today.year() || until.year() != today.year();
        let written = |patterns: &Patterns| {
            let (first, last) = (gregorian(from)?, gregorian(until)?);
            let written = |day| {
                if has_years {
                    WrittenDay::of(&patterns.full.format(day))
                } else {
                    WrittenDay::of(&patterns.day_of_month.format(day))
                }
            };
            let (first, last) = (written(&first), written(&last));
            Some(if from == until {
                first.text
            } else if from.first_of_month() == until.first_of_month() {
                first.through(&last)
            } else {
                format!("{} – {}", first.text, last.text)
            })
        };
        self.written(written, || format!("{from} – {until}"))
    }

    /// Writes a range of days that recurs every year, without the year: `15 December – 3 January`.
    #[must_use]
    pub fn days_of_any_year(&self, from: Date, until: Date) -> String {
        if from.year() == until.year() {
            return self.days(from, until, until);
        }
        let day = |patterns: &Patterns, day| {
            Some(patterns.day_of_month.format(&gregorian(day)?).to_string())
        };
        let written = |patterns: &Patterns| {
            Some(format!(
                "{} – {}",
                day(patterns, from)?,
                day(patterns, until)?
            ))
        };
        self.written(written, || format!("{from} – {until}"))
    }

    /// Formats a time of day, such as `15:00` or `3:00 PM`.
    #[must_use]
    pub fn time(&self, time: Time) -> String {
        let written = |patterns: &Patterns| Some(patterns.time.format(&clock(time)?).to_string());
        self.written(written, || time.strftime("%H:%M").to_string())
    }

    /// Writes a day and an hour: `Monday 23 November at 15:00`. Adds the year unless it is the year
    /// of `today`.
    #[must_use]
    pub fn moment(&self, moment: DateTime, today: Date) -> String {
        let written = |patterns: &Patterns| {
            let icu = IcuDateTime {
                date: gregorian(moment.date())?,
                time: clock(moment.time())?,
            };
            Some(if moment.year() == today.year() {
                patterns.moment.format(&icu).to_string()
            } else {
                patterns.moment_of_year.format(&icu).to_string()
            })
        };
        self.written(written, || moment.strftime("%Y-%m-%d %H:%M").to_string())
    }

    fn written(
        &self,
        with: impl FnOnce(&Patterns) -> Option<String>,
        without: impl FnOnce() -> String,
    ) -> String {
        let written = self.patterns.as_ref().and_then(with);
        written.map_or_else(without, |written| plain(&written))
    }

    /// Writes an amount of money: `€120.00`, `120,00 €`, `CHF 120.00`, `¥120`. `cents` is in the
    /// minor unit of the currency, and `currency` is its ISO 4217 code. Without a currency, writes
    /// only the number and reads `cents` as hundredths.
    #[must_use]
    pub fn money(&self, cents: i64, currency: Option<&str>) -> String {
        let mut amount = Decimal::from(cents);
        let digits = currency.map_or(2, currency::digits);
        amount.multiply_pow10(-i16::from(digits));
        let number = self.number(&amount);
        let Some(currency) = currency.filter(|currency| !currency.is_empty()) else {
            return number;
        };
        let sign = SIGNS
            .iter()
            .find(|(code, _)| currency.eq_ignore_ascii_case(code))
            .map(|(_, sign)| *sign);
        let is_brazil = self.language == "pt" && self.region.as_deref() == Some("BR");
        match (self.language, sign) {
            ("en", Some(sign)) if cents < 0 => {
                format!("-{sign}{}", number.trim_start_matches('-'))
            }
            ("en", Some(sign)) => format!("{sign}{number}"),
            ("en" | "nl", _) => {
                format!("{}\u{a0}{number}", sign.unwrap_or(currency))
            }
            _ if is_brazil => format!("{}\u{a0}{number}", sign.unwrap_or(currency)),
            _ => format!("{number}\u{a0}{}", sign.unwrap_or(currency)),
        }
    }

    /// Writes the size of a file: `10 MB`, `1.5 MB`, `300 KB`. The smallest size is 1 KB.
    #[must_use]
    pub fn size(&self, bytes: u64) -> String {
        let (unit, number) = if bytes >= 1 << 20 {
            let mut tenths = Decimal::from(bytes.saturating_mul(10) >> 20);
            tenths.multiply_pow10(-1);
            tenths.absolute.trim_end();
            (if self.language == "fr" { "Mo" } else { "MB" }, tenths)
        } else {
            (
                if self.language == "fr" { "Ko" } else { "KB" },
                Decimal::from((bytes >> 10).max(1)),
            )
        };
        format!("{}\u{a0}{unit}", self.number(&number))
    }

    fn number(&self, number: &Decimal) -> String {
        self.patterns.as_ref().map_or_else(
            || number.to_string(),
            |patterns| patterns.number.format(number).to_string(),
        )
    }
}

fn gregorian(date: Date) -> Option<IcuDate<Gregorian>> {
    IcuDate::try_new_gregorian(
        date.year().into(),
        u8::try_from(date.month()).ok()?,
        u8::try_from(date.day()).ok()?,
    )
    .ok()
}

fn clock(time: Time) -> Option<IcuTime> {
    IcuTime::try_new(
        u8::try_from(time.hour()).ok()?,
        u8::try_from(time.minute()).ok()?,
        u8::try_from(time.second()).ok()?,
        0,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use jiff::ToSpan as _;
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    use super::*;

    /// The languages of the built-in texts, and some regional variants with different formats.
    const TAGS: [&str; 20] = [
        "en", "en-US", "en-GB", "en-ES", "en-AU", "en-GR", "en-TH", "en-JP", "es", "es-MX", "fr",
        "fr-CA", "de", "it", "pt", "pt-BR", "nl", "ca", "ar", "he",
    ];

    const TODAY: Date = date(2026, 11, 21);

    #[test]
    fn every_language_has_date_formats() {
        for tag in TAGS.into_iter().chain(words::LANGUAGES) {
            let dates = in_language(tag);
            assert!(dates.patterns.is_some(), "{tag}");
            assert!(tag.starts_with(dates.language), "{tag}");
        }
        for (tag, language) in [("iw", "he"), ("sv-SE", "en"), ("", "en"), ("pt_br", "pt")] {
            assert_eq!(in_language(tag).language, language, "{tag}");
        }
    }

    #[test]
    fn dates_and_amounts_are_formatted_in_each_language() {
        let (from, until) = (date(2026, 11, 23), date(2026, 11, 27));
        let mut written = String::new();
        for tag in TAGS {
            let dates = in_language(tag);
            let afternoon = time(15, 0, 0, 0);
            let lines = [
                dates.day(from, TODAY),
                dates.day(from, date(2025, 1, 1)),
                dates.full(date(1985, 3, 27)),
                dates.days(from, until, TODAY),
                dates.days(date(2026, 11, 30), date(2026, 12, 2), TODAY),
                dates.days(date(2026, 12, 15), date(2027, 1, 3), TODAY),
                dates.days(date(2027, 12, 15), date(2027, 12, 19), TODAY),
                dates.time(afternoon),
                dates.moment(from.to_datetime(afternoon), TODAY),
                dates.money(123_456, Some("EUR")),
                dates.money(-5_000, Some("CHF")),
                dates.money(5_000, Some("JPY")),
                dates.money(5_000, Some("KWD")),
                dates.size(10 << 20),
            ];
            let _ = writeln!(written, "{tag}\n  {}", lines.join("\n  "));
        }
        insta::assert_snapshot!(written);
    }

    #[test]
    fn plain_english_takes_the_region_of_the_browser_or_of_the_flat() {
        let accepted = ["de-DE", "en-US", "en-GB"].map(str::to_owned);
        assert_eq!(regional("en", &accepted, Some("ES")), "en-US");
        assert_eq!(regional("en", &[], Some("ES")), "en-ES");
        assert_eq!(regional("en", &[], None), "en");
        assert_eq!(regional("en-GB", &accepted, Some("ES")), "en-GB");
        assert_eq!(regional("es", &accepted, Some("MX")), "es");
    }

    #[test]
    fn dates_follow_the_region() {
        let (from, until) = (date(2026, 12, 15), date(2026, 12, 19));
        let written = |tag: &str| {
            let dates = in_language(tag);
            (
                dates.days(from, until, TODAY),
                dates.time(time(15, 0, 0, 0)),
            )
        };
        let both = |days: &str, time: &str| (days.to_owned(), time.to_owned());
        assert_eq!(written("en-US"), both("December 15–19", "3:00 PM"));
        assert_eq!(written("en-GB"), both("15–19 December", "15:00"));
        assert_eq!(written("en-ES"), both("15–19 December", "15:00"));
        assert_eq!(written("en-TH"), both("15–19 December", "15:00"));
    }

    #[test]
    fn years_are_written_where_they_are_not_the_current_one() {
        let english = in_language("en-GB");
        for (from, until, expected) in [
            (
                date(2026, 12, 15),
                date(2027, 12, 15),
                "15 December 2026 – 15 December 2027",
            ),
            (
                date(2027, 12, 15),
                date(2027, 12, 19),
                "15–19 December 2027",
            ),
            (date(2026, 12, 15), date(2026, 12, 19), "15–19 December"),
            (date(2027, 1, 1), date(2027, 1, 1), "1 January 2027"),
        ] {
            assert_eq!(english.days(from, until, TODAY), expected);
        }
        assert!(english.day(date(2027, 1, 1), TODAY).contains("2027"));
        assert!(!english.day(date(2026, 12, 1), TODAY).contains("2026"));
        let moment = date(2027, 1, 1).at(15, 0, 0, 0);
        assert!(english.moment(moment, TODAY).contains("2027"));
    }

    #[test]
    fn sizes_and_amounts_are_formatted_in_english() {
        let english = in_language("en");
        assert_eq!(english.size(3 << 19), "1.5\u{a0}MB");
        assert_eq!(
            [english.size(0), english.size(300 << 10)],
            ["1\u{a0}KB", "300\u{a0}KB"]
        );
        assert_eq!(english.money(-12_000, Some("eur")), "-€120.00");
        assert_eq!(english.money(5_000, Some("JPY")), "¥5,000");
        assert_eq!(english.money(5_000, Some("KWD")), "KWD\u{a0}5.000");
        assert_eq!(english.money(7, None), "0.07");
    }

    proptest! {
        /// Property test: every day of a year can be formatted, and different days get different
        /// texts.
        #[test]
        fn different_days_are_formatted_differently(
            place in 0..TAGS.len(),
            one in 0..365_i32,
            other in 0..365_i32,
        ) {
            let dates = in_language(TAGS[place]);
            let day = |number: i32| date(2026, 1, 1) + number.days();
            prop_assert_eq!(
                dates.day(day(one), TODAY) == dates.day(day(other), TODAY),
                one == other
            );
            prop_assert_eq!(dates.full(day(one)) == dates.full(day(other)), one == other);
        }

        #[test]
        fn every_day_and_time_can_be_formatted(
            place in 0..TAGS.len(),
            days in 0..3_000_000_i32,
            cents: i64,
            bytes: u64,
            minutes in 0..1440_i64,
        ) {
            let dates = in_language(TAGS[place]);
            let day = date(1, 1, 1) + days.days();
            let moment = day.at(0, 0, 0, 0) + minutes.minutes();
            for text in [
                dates.day(day, TODAY),
                dates.full(day),
                dates.moment(moment, TODAY),
                dates.time(moment.time()),
                dates.money(cents, Some("XYZ")),
                dates.size(bytes),
            ] {
                prop_assert!(!text.is_empty());
            }
            prop_assert!(
                dates
                    .days(day, day.saturating_add(3.days()), TODAY)
                    .contains(&day.day().to_string())
            );
        }
    }
}
