//! Dates, hours, amounts and sizes as they are written in the guest's language, by ICU4X.
//!
//! Its data are CLDR's, for the languages of [`crate::words`] alone (`data/README.md`): what the libraries bring for all
//! languages is many times the size. English is written as in Britain where nothing says otherwise (`Monday 23 November`,
//! `15:00`), and as in the United States for `en-US`; Portuguese as in Portugal, and for `pt-BR` as in Brazil. Digits are
//! European in every language: so are those of door codes and phone numbers.
//!
//! ICU4X has no stable formatter of amounts of money, nor of a span of days: [`Dates::money`] puts a sign beside the number, and
//! [`Dates::days`] both days into the pattern of one.

use std::sync::LazyLock;

use icu_calendar::Gregorian;
use icu_datetime::fieldsets::{MD, MDE, MDET, T, YMD};
use icu_datetime::input::{Date as IcuDate, DateTime as IcuDateTime, Time as IcuTime};
use icu_datetime::{FixedCalendarDateTimeFormatter, NoCalendarFormatter};
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_decimal::options::DecimalFormatterOptions;
use icu_locale_core::Locale;
use icu_provider_blob::BlobDataProvider;
use jiff::civil::{Date, DateTime, Time};

/// CLDR's patterns, names and symbols for [`LOCALES`].
const DATA: &[u8] = include_bytes!("../../data/cldr.postcard");

/// The locales there are data of, behind the languages that are written so. The first is that of all others.
const LOCALES: [(&str, &str); 12] = [
    ("en", "en-GB"),
    ("en-us", "en"),
    ("es", "es"),
    ("fr", "fr"),
    ("de", "de"),
    ("it", "it"),
    ("pt", "pt-PT"),
    ("pt-br", "pt"),
    ("nl", "nl"),
    ("ca", "ca"),
    ("ar", "ar-u-nu-latn"),
    ("he", "he"),
];

/// Signs of currencies; any other is written by its code.
const SIGNS: [(&str, &str); 6] = [("EUR", "€"), ("GBP", "£"), ("USD", "$"), ("ILS", "₪"), ("BRL", "R$"), ("JPY", "¥")];

/// All of [`LOCALES`], made when the first is asked for.
static DATES: LazyLock<Vec<Dates>> = LazyLock::new(|| {
    let data = BlobDataProvider::try_new_from_static_blob(DATA).ok();
    let made = |(language, locale)| Dates { language, patterns: data.as_ref().and_then(|data| Patterns::load(data, locale)) };
    LOCALES.map(made).into()
});

/// How dates and numbers are written in one language.
#[derive(Debug)]
pub struct Dates {
    language: &'static str,
    /// There for each of [`LOCALES`], as a test sees to; without them everything is written as in ISO 8601.
    patterns: Option<Patterns>,
}

#[derive(Debug)]
struct Patterns {
    day: FixedCalendarDateTimeFormatter<Gregorian, MDE>,
    day_of_month: FixedCalendarDateTimeFormatter<Gregorian, MD>,
    full: FixedCalendarDateTimeFormatter<Gregorian, YMD>,
    moment: FixedCalendarDateTimeFormatter<Gregorian, MDET>,
    time: NoCalendarFormatter<T>,
    number: DecimalFormatter,
}

impl Patterns {
    fn load(data: &BlobDataProvider, locale: &str) -> Option<Self> {
        let locale = Locale::try_from_str(locale).ok()?;
        Some(Self {
            day: FixedCalendarDateTimeFormatter::try_new_with_buffer_provider(data, (&locale).into(), MDE::long()).ok()?,
            day_of_month: FixedCalendarDateTimeFormatter::try_new_with_buffer_provider(data, (&locale).into(), MD::long()).ok()?,
            full: FixedCalendarDateTimeFormatter::try_new_with_buffer_provider(data, (&locale).into(), YMD::long()).ok()?,
            moment: FixedCalendarDateTimeFormatter::try_new_with_buffer_provider(data, (&locale).into(), MDE::long().with_time_hm())
                .ok()?,
            time: NoCalendarFormatter::try_new_with_buffer_provider(data, (&locale).into(), T::hm()).ok()?,
            number: DecimalFormatter::try_new_with_buffer_provider(data, (&locale).into(), DecimalFormatterOptions::default()).ok()?,
        })
    }
}

/// How dates and numbers are written in a guest's language; as in British English where it is none of those spoken here.
#[must_use]
pub fn in_language(tag: &str) -> &'static Dates {
    let tag = tag.to_ascii_lowercase().replace('_', "-");
    let primary = crate::words::in_language(&tag).1;
    let find = |wanted: &str| DATES.iter().find(|dates| dates.language == wanted);
    find(&tag).or_else(|| find(primary)).unwrap_or(&DATES[0])
}

impl Dates {
    /// A day by its weekday: `Monday 23 November`.
    #[must_use]
    pub fn day(&self, date: Date) -> String {
        let written = |patterns: &Patterns| Some(patterns.day.format(&gregorian(date)?).to_string());
        self.patterns.as_ref().and_then(written).unwrap_or_else(|| date.to_string())
    }

    /// A day with its year: `27 March 1985`.
    #[must_use]
    pub fn full(&self, date: Date) -> String {
        let written = |patterns: &Patterns| Some(patterns.full.format(&gregorian(date)?).to_string());
        self.patterns.as_ref().and_then(written).unwrap_or_else(|| date.to_string())
    }

    /// From one day to another: `23–27 November`, `30 November – 2 December`; a single day where it is the same.
    #[must_use]
    pub fn days(&self, from: Date, until: Date) -> String {
        let last = self.day_of_month(until);
        if from == until {
            return last;
        }
        // Of a month that is spelled out the only digits are the day's. A day that is an ordinal (`27.`) makes the other one too.
        let place = last.find(|letter: char| letter.is_ascii_digit()).filter(|_| from.first_of_month() == until.first_of_month());
        match place {
            Some(place) => {
                let (before, day) = last.split_at(place);
                let ordinal = if day.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with('.') { "." } else { "" };
                format!("{before}{}{ordinal}–{day}", from.day())
            }
            None => format!("{} – {last}", self.day_of_month(from)),
        }
    }

    fn day_of_month(&self, date: Date) -> String {
        let written = |patterns: &Patterns| Some(patterns.day_of_month.format(&gregorian(date)?).to_string());
        self.patterns.as_ref().and_then(written).unwrap_or_else(|| date.to_string())
    }

    /// An hour: `15:00`, `3:00 PM`.
    #[must_use]
    pub fn time(&self, time: Time) -> String {
        let written = |patterns: &Patterns| Some(patterns.time.format(&clock(time)?).to_string());
        self.patterns.as_ref().and_then(written).unwrap_or_else(|| time.strftime("%H:%M").to_string())
    }

    /// A day and an hour: `Monday 23 November at 15:00`.
    #[must_use]
    pub fn moment(&self, moment: DateTime) -> String {
        let written = |patterns: &Patterns| {
            let moment = IcuDateTime { date: gregorian(moment.date())?, time: clock(moment.time())? };
            Some(patterns.moment.format(&moment).to_string())
        };
        self.patterns.as_ref().and_then(written).unwrap_or_else(|| moment.strftime("%Y-%m-%d %H:%M").to_string())
    }

    /// An amount in hundredths of a currency, named by its code (ISO 4217): `€120.00`, `120,00 €`, `CHF 120.00`. Without a
    /// currency it is the number alone.
    #[must_use]
    pub fn money(&self, cents: i64, currency: Option<&str>) -> String {
        let mut amount = Decimal::from(cents);
        amount.multiply_pow10(-2);
        let number = self.number(&amount);
        let Some(currency) = currency.filter(|currency| !currency.is_empty()) else { return number };
        let sign = SIGNS.iter().find(|(code, _)| currency.eq_ignore_ascii_case(code)).map(|(_, sign)| *sign);
        match (self.language, sign) {
            ("en" | "en-us", Some(sign)) if cents < 0 => format!("-{sign}{}", number.trim_start_matches('-')),
            ("en" | "en-us", Some(sign)) => format!("{sign}{number}"),
            ("en" | "en-us" | "nl" | "pt-br", _) => format!("{}\u{a0}{number}", sign.unwrap_or(currency)),
            _ => format!("{number}\u{a0}{}", sign.unwrap_or(currency)),
        }
    }

    /// The size of a file: `10 MB`, `1.5 MB`, `300 KB`; what is less is one.
    #[must_use]
    pub fn size(&self, bytes: u64) -> String {
        let (unit, number) = if bytes >= 1 << 20 {
            let mut tenths = Decimal::from(bytes.saturating_mul(10) >> 20);
            tenths.multiply_pow10(-1);
            tenths.absolute.trim_end();
            (if self.language == "fr" { "Mo" } else { "MB" }, tenths)
        } else {
            (if self.language == "fr" { "Ko" } else { "KB" }, Decimal::from((bytes >> 10).max(1)))
        };
        format!("{}\u{a0}{unit}", self.number(&number))
    }

    fn number(&self, number: &Decimal) -> String {
        self.patterns.as_ref().map_or_else(|| number.to_string(), |patterns| patterns.number.format_to_string(number))
    }
}

fn gregorian(date: Date) -> Option<IcuDate<Gregorian>> {
    IcuDate::try_new_gregorian(date.year().into(), u8::try_from(date.month()).ok()?, u8::try_from(date.day()).ok()?).ok()
}

fn clock(time: Time) -> Option<IcuTime> {
    IcuTime::try_new(u8::try_from(time.hour()).ok()?, u8::try_from(time.minute()).ok()?, u8::try_from(time.second()).ok()?, 0).ok()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use jiff::ToSpan as _;
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_language_has_its_data() {
        assert!(DATES.iter().all(|dates| dates.patterns.is_some()));
        for language in ["en", "es", "fr", "de", "it", "pt", "nl", "ca", "ar", "he"] {
            assert_eq!(in_language(language).language, language);
        }
        let found = ["en-US", "en_us", "EN-gb", "pt-BR", "pt-AO", "es-MX", "iw", "sv", ""].map(|tag| in_language(tag).language);
        assert_eq!(found, ["en-us", "en-us", "en", "pt-br", "pt", "es", "he", "en", "en"]);
    }

    #[test]
    fn each_language_writes_in_its_own_way() {
        let (from, until) = (date(2026, 11, 23), date(2026, 11, 27));
        let mut written = String::new();
        for dates in DATES.iter() {
            let afternoon = time(15, 0, 0, 0);
            let lines = [
                dates.day(from),
                dates.full(date(1985, 3, 27)),
                dates.days(from, until),
                dates.days(date(2026, 11, 30), date(2026, 12, 2)),
                dates.time(afternoon),
                dates.moment(from.to_datetime(afternoon)),
                dates.money(123_456, Some("EUR")),
                dates.money(-5_000, Some("CHF")),
                dates.size(10 << 20),
            ];
            let _ = writeln!(written, "{}\n  {}", dates.language, lines.join("\n  "));
        }
        insta::assert_snapshot!(written);
    }

    #[test]
    fn sizes_and_amounts_are_short() {
        let english = in_language("en");
        assert_eq!(english.size(3 << 19), "1.5\u{a0}MB");
        assert_eq!([english.size(0), english.size(300 << 10)], ["1\u{a0}KB", "300\u{a0}KB"]);
        assert_eq!(english.money(-12_000, Some("eur")), "-€120.00");
        assert_eq!(english.money(7, None), "0.07");
    }

    proptest! {
        /// No value is too far out, and none is written as another.
        #[test]
        fn days_that_differ_are_written_differently(place in 0..LOCALES.len(), one in 0..365_i32, other in 0..365_i32) {
            let dates = &DATES[place];
            let day = |number: i32| date(2026, 1, 1) + number.days();
            prop_assert_eq!(dates.day(day(one)) == dates.day(day(other)), one == other);
            prop_assert_eq!(dates.full(day(one)) == dates.full(day(other)), one == other);
        }

        #[test]
        fn whatever_there_is_is_written(place in 0..LOCALES.len(), days in 0..3_000_000_i32, cents: i64, bytes: u64, minutes in 0..1440_i64) {
            let dates = &DATES[place];
            let day = date(1, 1, 1) + days.days();
            let moment = day.at(0, 0, 0, 0) + minutes.minutes();
            for text in [dates.day(day), dates.full(day), dates.moment(moment), dates.time(moment.time()), dates.money(cents, Some("XYZ")), dates.size(bytes)] {
                prop_assert!(!text.is_empty());
            }
            prop_assert!(dates.days(day, day.saturating_add(3.days())).contains(&day.day().to_string()));
        }
    }
}
