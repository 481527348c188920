//! Currencies of ISO 4217: their codes, their minor units, and the currency of each country.

/// The codes of currencies whose minor unit is a hundredth.
const TWO_DIGITS: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN \
    BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP \
    GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP \
    LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR \
    NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
    SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR \
    ZMW ZWG";

/// The codes of currencies with 0, 3 or 4 decimal digits, each group with its number of digits.
const OTHER_DIGITS: [(&str, &str); 3] = [
    (
        "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
        "0",
    ),
    ("BHD IQD JOD KWD LYD OMR TND", "3"),
    ("CLF UYW", "4"),
];

/// Each currency except the US dollar, with the countries that use it. All other countries use the
/// US dollar.
const COUNTRIES: &str = "\
    AED AE|AFN AF|ALL AL|AMD AM|AOA AO|ARS AR|AUD AU CC CX HM KI NF NR TV|AWG AW|AZN AZ|\
    BAM BA|BBD BB|BDT BD|BHD BH|BIF BI|BMD BM|BND BN|BOB BO|BRL BR|BSD BS|BTN BT|BWP BW|\
    BYN BY|BZD BZ|CAD CA|CDF CD|CHF CH LI|CLP CL|CNY CN|COP CO|CRC CR|CUP CU|CVE CV|CZK CZ|\
    DJF DJ|DKK DK FO GL|DOP DO|DZD DZ|EGP EG|ERN ER|ETB ET|\
    EUR AD AT AX BE BG BL CY DE EE ES FI FR GF GP GR HR IE IT \
    LT LU LV MC ME MF MQ MT NL PM PT RE SI SK SM TF VA XK YT|\
    FJD FJ|FKP FK|GBP GB GG IM JE GS|GEL GE|GHS GH|GIP GI|GMD GM|GNF GN|GTQ GT|GYD GY|HKD HK|\
    HNL HN|HTG HT|HUF HU|IDR ID|ILS IL PS|INR IN|IQD IQ|IRR IR|ISK IS|JMD JM|JOD JO|JPY JP|\
    KES KE|KGS KG|KHR KH|KMF KM|KPW KP|KRW KR|KWD KW|KYD KY|KZT KZ|LAK LA|LBP LB|LKR LK|\
    LRD LR|LSL LS|LYD LY|MAD MA EH|MDL MD|MGA MG|MKD MK|MMK MM|MNT MN|MOP MO|MRU MR|MUR MU|\
    MVR MV|MWK MW|MXN MX|MYR MY|MZN MZ|NAD NA|NGN NG|NIO NI|NOK NO BV SJ|NPR NP|\
    NZD CK NU NZ PN TK|OMR OM|PAB PA|PEN PE|PGK PG|PHP PH|PKR PK|PLN PL|PYG PY|QAR QA|RON RO|\
    RSD RS|RUB RU|RWF RW|SAR SA|SBD SB|SCR SC|SDG SD|SEK SE|SGD SG|SHP SH AC TA|SLE SL|SOS SO|\
    SRD SR|SSP SS|STN ST|SYP SY|SZL SZ|THB TH|TJS TJ|TMT TM|TND TN|TOP TO|TRY TR|TTD TT|\
    TWD TW|TZS TZ|UAH UA|UGX UG|UYU UY|UZS UZ|VES VE|VND VN|VUV VU|WST WS|\
    XAF CF CG CM GA GQ TD|XCD AG AI DM GD KN LC MS VC|XCG CW SX|XOF BF BJ CI GW ML NE SN TG|\
    XPF NC PF WF|YER YE|ZAR ZA|ZMW ZM|ZWG ZW";

/// Parses a currency code in upper or lower case. Returns it in capitals, or `None` for a text that
/// is not a currency code.
#[must_use]
pub fn code(text: &str) -> Option<String> {
    let code = text.to_ascii_uppercase();
    find(&code).map(|_| code)
}

/// Returns the number of decimal digits of a currency: 2 for `EUR`, 0 for `JPY`. For an unknown
/// code, returns 2.
#[must_use]
pub fn digits(code: &str) -> u8 {
    find(&code.to_ascii_uppercase()).unwrap_or(2)
}

/// Returns the code of a country's currency, or `USD` for a country that is not in the table. The
/// country is a two-letter ISO 3166-1 code in capitals.
#[must_use]
pub fn of_country(country: &str) -> &'static str {
    COUNTRIES
        .split('|')
        .filter_map(|line| line.split_once(' '))
        .find(|(_, countries)| countries.split(' ').any(|entry| entry == country))
        .map_or("USD", |(code, _)| code)
}

/// Returns the number of decimal digits of a currency; `None` for an unknown code. The code must be
/// in capitals.
fn find(code: &str) -> Option<u8> {
    let is_in = |codes: &str| codes.split_ascii_whitespace().any(|entry| entry == code);
    if is_in(TWO_DIGITS) {
        return Some(2);
    }
    let (_, digits) = OTHER_DIGITS.into_iter().find(|(codes, _)| is_in(codes))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_in_any_case_and_kept_in_capitals() {
        for (text, expected) in [
            ("EUR", Some("EUR")),
            ("usd", Some("USD")),
            ("jPy", Some("JPY")),
            ("KWD", Some("KWD")),
            ("EURO", None),
            ("", None),
            ("XXX", None),
            ("€", None),
            ("EUR ", None),
        ] {
            assert_eq!(code(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_minor_unit_is_that_of_the_currency() {
        for (code, expected) in [("EUR", 2), ("JPY", 0), ("kwd", 3), ("CLF", 4), ("???", 2)] {
            assert_eq!(digits(code), expected, "{code}");
        }
    }

    #[test]
    fn every_country_has_a_currency_that_is_known_and_stands_once() {
        for (country, expected) in [
            ("ES", "EUR"),
            ("US", "USD"),
            ("GB", "GBP"),
            ("CH", "CHF"),
            ("JP", "JPY"),
            ("EC", "USD"),
            ("AQ", "USD"),
        ] {
            assert_eq!(of_country(country), expected, "{country}");
        }
        let mut countries = Vec::new();
        for line in COUNTRIES.split('|') {
            let mut codes = line.split(' ');
            let currency = codes.next().unwrap();
            assert_eq!(code(currency).as_deref(), Some(currency), "{line}");
            for country in codes {
                assert_eq!(country.len(), 2, "{line}");
                countries.push(country);
            }
        }
        let all = countries.len();
        countries.sort_unstable();
        countries.dedup();
        assert_eq!(countries.len(), all);
    }
}
